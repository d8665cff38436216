#!/usr/bin/env python3
"""Progress: on a terminal, and nowhere else.

usage: progress.py TRAINYARD
"""
import os
import pathlib
import pty
import re
import subprocess
import sys
import threading
import time

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/llama-30b-256xa100.yaml"
SLOW_S = 3  # how long the reader of a trace takes, whatever the machine


def on_terminal(words, size=0):
    """Everything that comes out of standard error when it is a terminal, and the exit status.
    A reader takes `size` bytes from standard output as slowly as to need SLOW_S for them."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs) as done:
        os.close(theirs)

        def take():
            while part := os.read(done.stdout.fileno(), 65536):
                time.sleep(SLOW_S * len(part) / size if size > 0 else 0)

        reader = threading.Thread(target=take)
        reader.start()
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # closed by the last one that had it
                break
            if not part:
                break
            said += part
        reader.join()
    os.close(ours)
    return said.decode(), done.returncode


def left_on_screen(said):
    """Of each line, what follows the last time it was taken away."""
    return [line.split("\r\x1b[K")[-1].strip("\r") for line in said.split("\n")]


def main():
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    n = failed = 0

    def check(name, good, seen):
        nonlocal n, failed
        n += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {n} - {name}" + ("" if good else f": {seen!r}"[:900]),
              flush=True)

    words = [binary, "run", str(EXAMPLE), "-o", "/dev/null", "--trace", "chrome:-"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    size = len(done.stdout)
    check("nothing of it is redirected", size > 1e6 and "\r" not in done.stderr + done.stdout
          and "\x1b" not in done.stderr + done.stdout and "writing" not in done.stderr,
          done.stderr)
    said, status = on_terminal(words, size)
    shares = [int(x) for x in re.findall(r"writing (\d+) %", said)]
    check("a long write tells how far it is", status in (0, 1) and len(shares) >= 2
          and shares == sorted(shares) and shares[-1] <= 100, (status, said))
    check("and how long it will take", re.search(r"writing \d+ %, \d+ (s|min) left", said), said)
    check("on one line that is gone in the end",
          not any("writing" in line for line in left_on_screen(said)), left_on_screen(said))
    said, status = on_terminal(words + ["-q"], size)
    check("--quiet is silent on a terminal", status in (0, 1) and said == "", said)
    said, status = on_terminal([binary, "schedule", "1f1b", "-p", "4", "-m", "8"])
    check("what is over at once shows nothing", status == 0 and said == "", said)
    print(f"1..{n}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
