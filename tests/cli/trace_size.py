#!/usr/bin/env python3
"""Sizes of traces: estimates against what is written, the refusal and whether what it names fits,
the warning, what `check` says beforehand, and memory that does not grow with the trace.

usage: trace_size.py TRAINYARD [--all]

Without --all every run has one of the four details, and one of the four limits, of some formats;
and the long examples are shortened.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from few import shortened, thinned
from tap import Test

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
RUNS = [("llama-30b-256xa100.yaml", ["--ranks", "one-per-stage"]),
        ("llama3-8b-fsdp-8xh100.yaml", []),
        ("custom-cluster.yaml", ["--ranks", "one-per-stage", "--no-bubbles"]),
        ("gpipe-memory.yaml", ["--ranks", "0-3", "--args", "full"]),
        ("stragglers.yaml", ["--ranks", "dp=1", "--flows", "none", "--args", "none"])]
FORMATS = {"chrome": "json", "perfetto": "pftrace", "csv": "csv", "kineto": "kin"}
DETAILS = ["stage", "microbatch", "layer", "op"]


def number(size, unit):
    return float(size) * UNITS[unit]


def limit_of(text):
    size, unit = text.split()
    return float(size) * (1e6 if unit == "MB" else 1e3), "B"


def said_sizes(text):
    return [number(*m) for m in re.findall(r"([\d.]+) ([KMGT]?i?B)\b", text)]


def estimates(test):
    """What a limit of 1 kB makes the refusal say, beside the size of the file (null: counts)."""
    for run, (example, options) in enumerate(RUNS):
        for detail in thinned(DETAILS, 4, run):
            words = ["run", EXAMPLES / example, "-o", "/dev/null", "--detail", detail,
                     *shortened(example, options)]
            all_formats = [w for name in FORMATS for w in ("--trace", f"{name}:null:")]
            written = test.call(None, *words, *all_formats, "--force")
            bad = []
            for name in FORMATS:
                refused = test.call(None, *words, "--trace", f"{name}:null:",
                                    "--set", "output.trace_limit=1 kB")
                told = said_sizes(refused.stderr)[0] if refused.returncode == 3 else 0
                size = re.search(rf"^{name} trace: .*", written.stderr, re.M)
                true = said_sizes(size[0])[-1] if size else 0
                if not true / 1.5 < told < true * 1.5:
                    bad.append((name, told, true, refused.stderr, written.stderr))
            test.check(f"{example} {detail} {' '.join(options)}: estimates are within 1.5",
                       not bad, bad)


def refusals(test):
    """What is named fits: asked for, the trace is written, and it has about the size promised."""
    for run, (example, extra) in enumerate(
            (("llama-30b-256xa100.yaml", ["--ranks", "all", "--detail", "op"]),
             ("llama3-8b-fsdp-8xh100.yaml", ["--args", "full"]),
             ("gpipe-memory.yaml", ["--set", "run.steps=3"]))):
        for k, name in enumerate(FORMATS):
            for limit in thinned(("100 MB", "20 MB", "2 MB", "300 kB"), 4, run + k):
                words = ["run", EXAMPLES / example, "-o", "/dev/null", "--trace", f"{name}:null:",
                         "--set", f"output.trace_limit={limit}"]
                refused = test.call(None, *words, *extra)
                if refused.returncode != 3:
                    continue
                named = re.search(r"; (--.*) makes it about ([\d.]+) ([KMGT]?i?B)", refused.stderr)
                if named is None:
                    test.check(f"{example} {name} {limit}: nothing fits, and that is said",
                               "too little for any" in refused.stderr, refused.stderr)
                    continue
                taken = named[1].split()
                left = [w for i, w in enumerate(extra) if w not in taken[::2]
                        and (i == 0 or extra[i - 1] not in taken[::2])]
                written = test.call(None, *words, *left, *taken)
                true = said_sizes(written.stderr)
                promised = number(named[2], named[3])
                window = "--window" in taken  # estimated by its share of the run
                test.check(f"{example} {name} {limit}: {named[1]} fits",
                           written.returncode in (0, 1) and true
                           and (window or true[-1] / 1.5 < promised < true[-1] * 1.5)
                           and true[-1] < number(*limit_of(limit)) * (1 if window else 1.5),
                           (refused.stderr, written.stderr))


def warning(test):
    words = ["run", EXAMPLES / "llama-65b-256xa100.yaml", "-o", "/dev/null", "--ranks", "all",
             "--trace", "chrome:/dev/null", "--force"]
    loud, quiet = test.call(None, *words), test.call(None, *words, "-q")
    test.check("a trace above 256 MB is told with what would be less",
               loud.returncode in (0, 1) and "much for a viewer; --" in loud.stderr
               and quiet.stderr == "", (loud.stderr, quiet.stderr))


def packed(test):
    """What is told of a packed folder is what is on the disk."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "k.gz"
        done = test.call(None, "run", EXAMPLES / "gpipe-memory.yaml", "-o", "/dev/null", "--trace",
                         f"kineto:{folder}")
        true = sum(p.stat().st_size for p in folder.iterdir())
        told = said_sizes(done.stderr)
        test.check("a packed folder has the size that is told", told
                   and abs(told[-1] / true - 1) < 0.01, (done.stderr, true))


def beforehand(test):
    """`check` simulates nothing, so it guesses idle time and links."""
    for example in ("llama-30b-256xa100.yaml", "llama3-8b-fsdp-8xh100.yaml", "gpipe-memory.yaml"):
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{name}:{folder}/t.{end}" for name, end in FORMATS.items()]
            words = [EXAMPLES / example, "--set", f"output.trace=[{', '.join(paths)}]"]
            told = test.call(None, "check", *words).stdout
            there = os.listdir(folder)
            done = test.call(None, "run", *words, "-o", "/dev/null")
            bad = []
            for path in paths:
                guess = re.search(rf"^trace {re.escape(path)}: about (.*)$", told, re.M)
                true = re.search(rf"{re.escape(path.split(':')[1])} \((.*?)[;)]", done.stderr)
                ratio = (said_sizes(guess[1])[0] / said_sizes(true[1])[0]
                         if guess and true else 0)
                if not 0.5 < ratio < 2:
                    bad.append((path, guess and guess[0], true and true[0]))
            test.check(f"check {example} says about how large traces will be, and writes none",
                       not bad and not there, (bad, there, told[-500:]))


def memory(test):
    """Peak memory of a run that writes a file of 10 MB and one of 1 GB, less that of the run."""
    def peak(*words):
        code = ("import resource,subprocess,sys;"
                "subprocess.run(sys.argv[1:],check=False,stderr=subprocess.DEVNULL);"
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        done = subprocess.run([sys.executable, "-c", code, test.binary, *map(str, words)],
                              capture_output=True, text=True, check=False)
        return int(done.stdout.split()[-1]) / 1024  # MiB
    base = ["run", EXAMPLES / "llama-65b-256xa100.yaml", "-q", "-o", "/dev/null", "--force",
            "--counters", "memory"]
    bare = peak(*base, "--trace", "digest:/dev/null")  # of every rank, and of no file
    for name in ("chrome", "perfetto"):
        few = peak(*base, "--trace", f"{name}:/dev/null", "--ranks", "0-1")
        many = peak(*base, "--trace", f"{name}:/dev/null", "--ranks", "all")
        test.check(f"{name}: a hundred times the slices take no more memory",
                   few - bare < 24 and many - bare < 24, (bare, few, many))


def main():
    test = Test(str(pathlib.Path(sys.argv[1]).resolve()))
    for part in (estimates, refusals, warning, packed, beforehand, memory):
        part(test)
    print(f"1..{test.n}")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
