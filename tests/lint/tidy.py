#!/usr/bin/env python3
"""Fails on what clang-tidy finds with the checks of .clang-tidy: tidy.py TOP BUILD [PART...]

Every C file of a build, tests too, with the headers it includes; or those whose path has a PART.
What an assertion says is believed.
"""
import pathlib
import re
import sys

import compiled
import tools

FOUND = re.compile(r": (warning|error): .*\[")


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    parts = sys.argv[3:]
    if not tools.present(["clang-tidy"]):
        return tools.verdict([], ["clang-tidy"], "")
    commands = {path: words for path, words in compiled.commands(root, build).items()
                if not parts or any(part in path for part in parts)}
    results = tools.in_parallel(lambda pair: tools.run(
        ["clang-tidy", "--quiet", "--warnings-as-errors=*", str(root / pair[0]), "--", *pair[1],
         "-UNDEBUG"],
        build), commands.items())
    lines = {line.replace(f"{root}/", "") for out, _ in results for line in out.splitlines()
             if FOUND.search(line)}
    failed = [f"{path}: clang-tidy failed: {out}" for path, (out, status) in zip(commands, results)
              if status != 0 and not FOUND.search(out)]
    return tools.verdict(sorted(lines) + failed, [],
                         f"{len(commands)} C files give clang-tidy nothing to say")


if __name__ == "__main__":
    sys.exit(main())
