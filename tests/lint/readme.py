#!/usr/bin/env python3
"""Runs the commands that the guides show with their output, and compares.

A block whose first line is "$ trainyard ..." or "$ cat ..." holds what that command prints when
it is typed in the repository root: standard output, then standard error, without the lines that
speak of the machine it ran on. `readme.py BINARY TOP GUIDE...` checks, with --update it writes the
blocks anew. A pipe is part of the command. README.md's table of errors is that of docs/internals/accuracy.md.
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
    if not any(lines):
        raise SystemExit(f"$ {command}\nprints nothing")
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


def errors(top, page):
    """The table of errors that the ledger writes into a page."""
    text = (top / page).read_text(encoding="utf-8")
    found = re.search(r"^<!-- ledger: headline -->\n(\|.*?)^<!-- end -->$", text, re.M | re.S)
    return found[1] if found else None


def main():
    binary, top, *guides = [word for word in sys.argv[1:] if word != "--update"]
    folder = pathlib.Path(binary).resolve().parent
    top = pathlib.Path(top)
    told = {errors(top, page) for page in ("README.md", "docs/internals/accuracy.md")}
    same = len(told) == 1 and None not in told
    if not same:
        print("README.md and docs/internals/accuracy.md do not have the same table of errors; "
              "tests/ledger/ledger.py --write . puts it into both")
    results = [check(guide, folder, top, "--update" in sys.argv) for guide in guides]
    return 0 if same and results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
