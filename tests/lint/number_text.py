#!/usr/bin/env python3
"""Fails where the library writes or reads a real number by the locale of the program.

sim/base/number_text.h has the functions that do not; this finds calls of the others.
"""
import pathlib
import re
import sys

FOLDERS = ["sim", "topology", "model", "traces"]
# Its home; programs of the C locale; a header whose examples print.
APART = {"sim/base/number_text.c", "sim/cli", "sim/trainyard.h"}
CALL = re.compile(r"(?<!\w)(v?s?n?printf|strto[df]|strtold|atof|v?sscanf)\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
REAL = re.compile(r"%[-+ #0-9.*]*l*[aefgAEFG]")


def arguments(text, start):
    """What stands from start, behind the opening parenthesis, to the closing one."""
    depth, i = 1, start
    while depth > 0:
        if text[i] == '"':
            i = STRING.match(text, i).end()
            continue
        depth += (text[i] == "(") - (text[i] == ")")
        i += 1
    return text[start:i - 1]


def violations(path):
    text = path.read_text(encoding="utf-8")
    for call in CALL.finditer(text):
        formats = "".join(STRING.findall(arguments(text, call.end())))
        if call[1] != "snprintf" or REAL.search(formats):
            yield f"{path}:{text.count(chr(10), 0, call.start()) + 1}: {call[1]}; ty_{call[1]} " \
                  "of sim/base/number_text.h does not depend on the locale"


def main():
    root = pathlib.Path(sys.argv[1])
    bad = [line for folder in FOLDERS for path in sorted((root / folder).rglob("*.[ch]"))
           if not APART & {path.relative_to(root).as_posix(),
                           path.parent.relative_to(root).as_posix()}
           for line in violations(path)]
    print("\n".join(bad) if bad else "numbers ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
