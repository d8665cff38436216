#!/usr/bin/env python3
"""Fails on a warning of gcc or clang, at -O0 and -O2: compilers.py TOP BUILD

Compiles every C file of a build once more for each, and every header alone, and throws the result
away. What gcc sees with -O2 it cannot see without: values that may be null or not be set.
"""
import pathlib
import sys

import compiled
import tools

COMPILERS = ["gcc", "clang"]
WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion",
        "-Wdouble-promotion", "-Wnull-dereference", "-Wformat=2", "-Wundef", "-Wvla", "-Wcast-qual",
        "-Wpointer-arith", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Wwrite-strings"]
SAME = ["-fdiagnostics-color=never", "-fvisibility=hidden", "-ffp-contract=off"]
# Assertions are compiled in one and left out in the other.
LEVELS = {"-O0": ["-O0", "-UNDEBUG"], "-O2": ["-O2", "-DNDEBUG"]}
HEADERS = ["sim", "topology", "model", "traces"]
UNIT = "extern int one;\n"  # what follows a header: C wants a declaration, and one has macros only


def jobs(root, build, compilers):
    """(label, command) of every compilation."""
    commands = compiled.commands(root, build)
    for compiler in compilers:
        for level, options in LEVELS.items():
            for path, words in commands.items():
                yield f"{compiler} {level}", [compiler, *words, *options, *WARN, *SAME, "-c",
                                              str(root / path), "-o", "/dev/null"]
        for header in (path for top in HEADERS for path in sorted((root / top).rglob("*.h"))):
            yield f"{compiler}, header alone", [
                compiler, "-std=c11", "-D_POSIX_C_SOURCE=200809L", f"-I{root}", *WARN, *SAME,
                "-Wno-unused-function", "-fsyntax-only", "-include", str(header), "-x", "c", "-"]


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    compilers = tools.present(COMPILERS)
    listed = list(jobs(root, build, compilers))
    results = tools.in_parallel(lambda job: tools.run(job[1], build, UNIT), listed)
    found = [f"{label}: {line}" for (label, _), (out, _) in zip(listed, results)
             for line in out.splitlines() if ": warning: " in line or "error: " in line]
    found += [f"{label}: exit status {status}: {command}"
              for (label, command), (_, status) in zip(listed, results) if status != 0]
    # A header's warnings come with each file that includes it.
    return tools.verdict(sorted(set(found)), [tool for tool in COMPILERS if tool not in compilers],
                         f"{len(listed)} compilations without a warning")


if __name__ == "__main__":
    sys.exit(main())
