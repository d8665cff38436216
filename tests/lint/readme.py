#!/usr/bin/env python3
"""Runs the commands that README.md shows with their output, and compares.

A block whose first line is "$ trainyard ..." holds what that command prints, without lines that
speak of the machine it ran on. `readme.py --update BINARY TOP` writes the blocks anew.
"""
import pathlib
import re
import shlex
import subprocess
import sys

BLOCK = re.compile(r"^```\n\$ trainyard ([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def output(binary, command, top):
    done = subprocess.run([binary] + shlex.split(command), cwd=top, capture_output=True,
                          text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("simulated ")]
    return "\n".join(lines).strip("\n") + "\n"


def main():
    words = [w for w in sys.argv[1:] if w != "--update"]
    binary, top = str(pathlib.Path(words[0]).resolve()), pathlib.Path(words[1])
    text = (top / "README.md").read_text(encoding="utf-8")
    fresh = BLOCK.sub(lambda m: f"```\n$ trainyard {m[1]}\n{output(binary, m[1], top)}```", text)
    if "--update" in sys.argv:
        (top / "README.md").write_text(fresh, encoding="utf-8")
        return 0
    if fresh != text:
        print("README.md shows output that trainyard no longer prints; run readme.py --update")
        return 1
    print(f"{len(BLOCK.findall(text))} blocks of README.md are what trainyard prints")
    return 0


if __name__ == "__main__":
    sys.exit(main())
