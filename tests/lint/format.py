#!/usr/bin/env python3
"""Fails on a C file that clang-format would write otherwise, and on lines, comments above all, which
it leaves alone, of more than 100 characters: format.py TOP"""
import pathlib
import sys

import tools

WIDTH = 100


def wide(path, root):
    """Lines that are too long, each as a finding."""
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    return [f"{path}:{n}: {len(line)} characters, not at most {WIDTH}"
            for n, line in enumerate(lines, 1) if len(line) > WIDTH]


def main():
    root = pathlib.Path(sys.argv[1])
    files = tools.tree(root, ".c", ".h")
    too_wide = [finding for path in files for finding in wide(path, root)]
    if not tools.present(["clang-format"]):
        return tools.verdict(too_wide, ["clang-format"], "")
    out, status = tools.run(["clang-format", "--dry-run", "-Werror", *map(str, files)], root)
    found = [line for line in out.splitlines() if ": error: " in line]
    if status != 0 and not found:
        found = [out]
    return tools.verdict(too_wide + found, [], f"{len(files)} C files are as clang-format writes them")


if __name__ == "__main__":
    sys.exit(main())
