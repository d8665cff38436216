#!/usr/bin/env python3
"""Checks scripts without running them: scripts.py TOP

Python must compile and satisfy pyflakes (names that are not defined, imports not used), and no file
may have the name of a standard module, which those beside it would import in its place. Shell
scripts must satisfy shellcheck, JavaScript node's parser. Jobs that `trainyard import` is tested
with are written as carelessly as those of others, and are left out.
"""
import pathlib
import sys

import tools

JOBS = pathlib.PurePosixPath("tests/cli/jobs")

# All of them in one node, which takes a while to start.
PARSE = """const {Script} = require("vm"), {readFileSync} = require("fs");
for (const filename of process.argv.slice(1)) new Script(readFileSync(filename, "utf8"), {filename});"""


def interpreter(path):
    """The first line of a script, or nothing."""
    with open(path, "rb") as file:
        line = file.readline(200)
    return line.decode("utf-8", "replace") if line.startswith(b"#!") else ""


def not_compiled(root, paths):
    for path in paths:
        try:
            compile((root / path).read_text(encoding="utf-8"), str(path), "exec")
        except SyntaxError as error:
            yield f"{path}:{error.lineno}: {error.msg}"


def shadowing(paths):
    for path in paths:
        # io is loaded before any script
        if path.stem in sys.stdlib_module_names and path.stem != "io":
            yield f"{path}: hides a standard module from the scripts beside it"


def complaints(command, root, paths):
    """What a tool prints about them."""
    if not paths:
        return []
    out, status = tools.run([*command, *map(str, paths)], root)
    return out.rstrip("\n").splitlines() if status != 0 else []


def main():
    root = pathlib.Path(sys.argv[1])
    needed = ["node", "pyflakes3", "shellcheck"]
    have = tools.present(needed)
    files = [path for path in tools.tree(root, "") if path.parent != JOBS]
    first = {path: interpreter(root / path) for path in files}
    python = [path for path in files if path.suffix == ".py" or "python" in first[path]]
    shell = [path for path in files if path.suffix in (".sh", ".bash") or
             first[path].rstrip().endswith(("bash", "/sh", " sh"))]
    javascript = [path for path in files if path.suffix == ".js"]
    found = list(not_compiled(root, python)) + list(shadowing(python))
    if "pyflakes3" in have:
        found += complaints(["pyflakes3"], root, python)
    if "shellcheck" in have:
        found += complaints(["shellcheck"], root, shell)
    if "node" in have:
        found += complaints(["node", "-e", PARSE], root, javascript)
    return tools.verdict(found, [tool for tool in needed if tool not in have],
                         f"{len(python)} Python, {len(shell)} shell and {len(javascript)} "
                         "JavaScript files are clean")


if __name__ == "__main__":
    sys.exit(main())
