#!/usr/bin/env python3
"""Reports cyclomatic complexity and length of all functions; fails on one that is too complex.

complexity.py TOP. pmccabe counts 1, and one for each if, loop, switch, &&, || and ?: of a function.
Half of the functions of this tree are at 3 or less, 99 of 100 at 15 or less; the others did several
things one after another and read better apart, so none is exempt. Lengths have their limit in
sizes.py.
"""
import pathlib
import re
import sys

import tools

COMPLEXITY = 15
NAMED = 5  # functions that the report names
ROW = re.compile(r"^(\d+)\t\d+\t\d+\t(\d+)\t(\d+)\t\S+ (?:\w+::)*(\w+)$", re.MULTILINE)
# TEST(fact) and TESTS(fact, times) open a function; pmccabe does not expand macros.
TEST = re.compile(r"^TESTS?\((\w+)(?:, .*)?\)$", re.MULTILINE)
# It reads the first branch of a condition alone, and C++ not at all.
UNSEEN = re.compile(r"^(#else|extern \"C\" \{)$", re.MULTILINE)
BODY = re.compile(r"^\{$", re.MULTILINE)


def functions(path, text):
    """(complexity, lines, place, name) of each function of a C file."""
    text = UNSEEN.sub("", TEST.sub(r"static void \1(void)", text))
    out, _ = tools.run(["pmccabe"], text=text)
    return [(int(m[1]), int(m[3]), f"{path}:{m[2]}", m[4]) for m in ROW.finditer(out)]


def judge(path, text, rows):
    """What is wrong with the functions of a file. Where macros confuse pmccabe it complains and
    goes on; that it missed none is seen in a tree that clang-format wrote, where a brace in the
    first column opens a function."""
    bodies = len(BODY.findall(text))
    if bodies > len(rows):
        yield f"{path}: pmccabe sees {len(rows)} functions of {bodies}"
    for complexity, _, place, name in rows:
        if complexity > COMPLEXITY:
            yield f"{place}: {name} has complexity {complexity}, limit {COMPLEXITY}"


def report(rows):
    """A line for each measure: how it is distributed, and the functions with most of it."""
    for what, at in (("complexity", 0), ("lines", 1)):
        values = sorted(row[at] for row in rows)
        half, ninety, last = (values[len(values) * k // 100] for k in (50, 90, 99))
        worst = sorted(rows, key=lambda row: row[at], reverse=True)[:NAMED]
        names = ", ".join(f"{row[3]} {row[at]}" for row in worst)
        print(f"{what} of {len(rows)} functions: median {half}, "
              f"90 of 100 up to {ninety}, 99 up to {last}; most {names}")


def main():
    root = pathlib.Path(sys.argv[1])
    if not tools.present(["pmccabe"]):
        return tools.verdict([], ["pmccabe"], "")
    files = tools.tree(root, ".c", ".h")
    texts = [(root / path).read_text(encoding="utf-8") for path in files]
    rows = tools.in_parallel(lambda pair: functions(*pair), zip(files, texts))
    report([row for part in rows for row in part])
    found = [line for triple in zip(files, texts, rows) for line in judge(*triple)]
    return tools.verdict(found, [], f"none above {COMPLEXITY}")


if __name__ == "__main__":
    sys.exit(main())
