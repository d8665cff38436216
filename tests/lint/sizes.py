#!/usr/bin/env python3
"""Fails on a function of more than 80 lines (a test may be a table of cases), and on a file of more
than 900: sizes.py TOP

What belongs in a file is decided by its idea (ideas.py); this limit only stops one that has grown
unseen."""
import pathlib
import re
import sys

FILE_LINES, FUNCTION_LINES = 900, 80
FOLDERS = ["sim", "topology", "model", "traces", "tests"]


def functions(lines):
    """(name, first line, length) of every function: a brace in column 0 opens its body."""
    start, name = None, ""
    for number, line in enumerate(lines, 1):
        if line == "{" and start is None:
            start = number
            head = " ".join(lines[max(0, number - 6):number - 1])
            names = re.findall(r"(\w+)\(", head)
            name = names[-1] if names else "?"
        elif line.startswith("}") and start is not None:
            yield name, start, number - start + 1
            start = None


def main():
    root = pathlib.Path(sys.argv[1])
    bad = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            lines = path.read_text(encoding="utf-8").splitlines()
            if len(lines) > FILE_LINES:
                bad.append(f"{path.relative_to(root)}: {len(lines)} lines, limit {FILE_LINES}")
            for name, start, length in functions(lines):
                if length > FUNCTION_LINES and name not in ("TEST", "TESTS"):
                    bad.append(f"{path.relative_to(root)}:{start}: {name} has {length} lines, "
                               f"limit {FUNCTION_LINES}")
    print("\n".join(bad) if bad else "sizes ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
