#!/usr/bin/env python3
"""Runs the commands that the guides show with their output, and compares.

A block whose first line is "$ trainyard ..." or "$ cat ..." holds what that command prints when
it is typed in the repository root: standard output, then standard error, without the lines that
speak of the machine it ran on. `readme.py BINARY TOP GUIDE...` checks, with --update it writes the
blocks anew. A pipe is part of the command. Figures of README.md's table of errors are those of a row
of docs/ACCURACY.md.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```\n\$ ((?:trainyard|cat) [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANSWERS = (0, 1, 3, 4)  # done; done and it does not fit; bad input or a deadlock, to be shown


def output(command, folder, top):
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, shell=True, cwd=top, env={**os.environ, "PATH": path},
                          capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode not in ANSWERS:
        raise SystemExit(f"$ {command}\n{done.stderr}exit status {done.returncode}")
    lines = [line for line in (done.stdout + done.stderr).splitlines()
             if not line.startswith("simulated ")]
    return "\n".join(lines).strip("\n") + "\n"


def check(guide, folder, top, update):
    """Returns whether the guide shows what trainyard prints; after an update it does."""
    text = (top / guide).read_text(encoding="utf-8")
    fresh = BLOCK.sub(lambda m: f"```\n$ {m[1]}\n{output(m[1], folder, top)}```", text)
    if update:
        (top / guide).write_text(fresh, encoding="utf-8")
    elif fresh != text:
        print(f"{guide} shows output that trainyard no longer prints; run readme.py --update")
        print("\n".join(difflib.unified_diff(text.splitlines(), fresh.splitlines(), "shown",
                                             "printed", n=0, lineterm="")))
        return False
    blocks = len(BLOCK.findall(text))
    print(f"{blocks} blocks of {guide} are what trainyard prints")
    return blocks > 0


def cells(text, n):
    """Rows of tables with n cells, without the first."""
    for line in re.findall(r"^\| (.*) \|$", text, re.MULTILINE):
        row = line.split(" | ")
        if len(row) == n and row[1].isdigit():
            yield row[1:]


def strange(top):
    """Errors that README.md tells and docs/ACCURACY.md does not: runs, mean, median, one factor."""
    known = [[row[i] for i in (0, 1, 2, 6)] for row in
             cells((top / "docs/ACCURACY.md").read_text(encoding="utf-8"), 10)]
    told = list(cells((top / "README.md").read_text(encoding="utf-8"), 5))
    return [row for row in told if row not in known] if told else ["no table of errors"]


def main():
    binary, top, *guides = [word for word in sys.argv[1:] if word != "--update"]
    folder = pathlib.Path(binary).resolve().parent
    unknown = strange(pathlib.Path(top)) if "README.md" in guides else []
    for row in unknown:
        print(f"README.md: {row} is no row of docs/ACCURACY.md")
    results = [not unknown] + [check(guide, folder, pathlib.Path(top), "--update" in sys.argv) for guide in guides]
    return 0 if len(results) > 1 and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
