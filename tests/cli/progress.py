#!/usr/bin/env python3
"""Progress: on a terminal; elsewhere one line, of what takes long.

usage: progress.py TRAINYARD FAST_CLOCK

FAST_CLOCK is the library of fast_clock.c: by its clock every write and every search is long.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "common"))
import needs  # noqa: E402
from tap import Test  # noqa: E402

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/llama-30b-256xa100.yaml"


def on_terminal(words, clock=None):
    """Everything that comes out of standard error when it is a terminal, and the exit status."""
    ours, theirs = needs.terminal()
    env = {**os.environ, "LD_PRELOAD": clock} if clock else None
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=theirs, env=env) as done:
        os.close(theirs)
        reader = threading.Thread(target=done.stdout.read)
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


def redirected(test, words, clock):
    """Of what is long a line that stays is told, and nothing else."""
    done = test.call(None, *words, env={**os.environ, "LD_PRELOAD": clock})
    test.check("nothing that is rewritten is redirected", len(done.stdout) > 1e6
               and "\r" not in done.stderr + done.stdout and "\x1b" not in done.stderr + done.stdout
               and "writing" not in done.stderr, done.stderr)
    words = ["fleet", words[1], "--days", "1", "--runs", "500", "-j", "1"]
    done = test.call(None, *words, env={**os.environ, "LD_PRELOAD": clock})
    test.check("but how long it will take, once", re.fullmatch(
        r"playing histories takes about \d+ (s|min) in all; Ctrl-C stops it\n", done.stderr),
        done.stderr)
    done = test.call(None, *words, "-q", env={**os.environ, "LD_PRELOAD": clock})
    test.check("and nothing with --quiet", done.stderr == "", done.stderr)


def told(test, words, clock):
    said, status = on_terminal([test.binary, *words], clock)
    shares = [int(x) for x in re.findall(r"writing (\d+) %", said)]
    test.check("a long write tells how far it is", status in (0, 1) and len(shares) >= 2
               and shares == sorted(shares) and shares[-1] <= 100, (status, said))
    test.check("and how long it will take", re.search(r"writing \d+ %, \d+ (s|min) left", said), said)
    test.check("on one line that is gone in the end",
               not any("writing" in line for line in left_on_screen(said)), left_on_screen(said))
    said, status = on_terminal([test.binary, *words, "-q"], clock)
    test.check("--quiet is silent on a terminal", status in (0, 1) and said == "", said)
    said, status = on_terminal([test.binary, "schedule", "1f1b", "-p", "4", "-m", "8"])
    test.check("what is over at once shows nothing", status == 0 and said == "", said)


def planned(test, clock):
    """A search of which nobody knows how many simulations it will take."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as run_file:
        run_file.write("cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                       "model: {preset: llama-13b}\nlayout: {global_batch: 64}\n")
        run_file.flush()
        said, status = on_terminal([test.binary, "plan", run_file.name, "-j", "1", "--top", "1"],
                                   clock)
    shares = [int(x) for x in re.findall(r"planning (\d+) %", said)]
    test.check("a search goes on as far as it tells", status == 0 and len(shares) >= 2
               and shares == sorted(shares) and 55 < shares[-1] <= 100, (status, shares))


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    words = ["run", str(EXAMPLE), "-o", "/dev/null", "--trace", "chrome:-"]
    clock = str(pathlib.Path(sys.argv[2]).resolve())
    redirected(test, words, clock)
    try:
        told(test, words, clock)
        planned(test, clock)
    except needs.Missing as why:
        test.n += 1
        test.failed += needs.told(test.n, "progress on a terminal", why)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
