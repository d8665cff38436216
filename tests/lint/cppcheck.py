#!/usr/bin/env python3
"""Fails on what cppcheck finds: cppcheck.py TOP BUILD

Errors, and what it calls warnings, performance and portability. Its "style" is left out: most of it
asks to declare variables later than this tree does, or to shadow no function, on which the
compilers have the word.
"""
import os
import pathlib
import sys

import tools

FOLDERS = ["sim", "topology", "model", "traces", "tests"]
COMMAND = ["cppcheck", "--std=c11", "--language=c", "--enable=warning,performance,portability",
           "--inline-suppr", "--quiet", "--error-exitcode=1", "--library=posix", "-I.",
           "-D__GNUC__",
           "--suppress=readdirCalled",  # safe on streams of one's own, and readdir_r is deprecated
           "--template={file}:{line}:{column}: {severity}: {message} [{id}]"]


def main():
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    if not tools.present(["cppcheck"]):
        return tools.verdict([], ["cppcheck"], "")
    files = [str(path) for path in tools.tree(root, ".c") if path.parts[0] in FOLDERS]
    listed = build / "cppcheck-files.txt"
    listed.write_text("\n".join(files) + "\n", encoding="utf-8")
    out, status = tools.run([*COMMAND, f"-j{os.cpu_count()}", f"--file-list={listed}"], root)
    return tools.verdict(out.splitlines() or ["cppcheck failed"] if status != 0 else [], [],
                         f"{len(files)} C files give cppcheck nothing to say")


if __name__ == "__main__":
    sys.exit(main())
