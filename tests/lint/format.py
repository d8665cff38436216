#!/usr/bin/env python3
"""Fails on a C file that clang-format would write otherwise: format.py TOP"""
import pathlib
import sys

import tools


def main():
    root = pathlib.Path(sys.argv[1])
    if not tools.present(["clang-format"]):
        return tools.verdict([], ["clang-format"], "")
    files = tools.tree(root, ".c", ".h")
    out, status = tools.run(["clang-format", "--dry-run", "-Werror", *map(str, files)], root)
    found = [line for line in out.splitlines() if ": error: " in line]
    if status != 0 and not found:
        found = [out]
    return tools.verdict(found, [], f"{len(files)} C files are as clang-format writes them")


if __name__ == "__main__":
    sys.exit(main())
