#!/usr/bin/env python3
"""Writes Chrome traces of the examples in many forms and applies the rules to each.

usage: traces.py TRAINYARD CHECK_TRACE [--all]
"""
import gzip
import pathlib
import subprocess
import sys
import tempfile

from few import shortened

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
FORMS = [
    ("llama-30b-256xa100.yaml", []),
    ("llama-30b-256xa100.yaml", ["--detail", "op", "--ranks", "one-per-stage"]),
    ("llama-30b-256xa100.yaml", ["--detail", "stage", "--ranks", "all"]),
    ("llama-30b-256xa100.yaml", ["--window", "0.5s:2s", "--order", "node"]),
    ("llama-65b-256xa100.yaml", ["--detail", "microbatch", "--ranks", "slowest:3"]),
    ("llama3-8b-fsdp-8xh100.yaml", ["--detail", "op"]),
    ("stragglers.yaml", ["--detail", "layer", "--ranks", "dp=1"]),
    ("custom-cluster.yaml", ["--no-bubbles", "--order", "rank"]),
    ("gpipe-memory.yaml", ["--set", "run.steps=2", "--ranks", "0-3,8"]),
    ("gpipe-memory.yaml", ["--set", "run.steps=3", "--steps", "1", "--args", "full"]),
    ("llama-30b-256xa100.yaml", ["--detail", "op", "--args", "full", "--flows", "none"]),
    ("deadlock/circle.yaml", ["--detail", "op"]),
    ("deadlock/agree.yaml", ["--detail", "op", "--ranks", "all"]),
    ("deadlock/group.yaml", ["--engine", "events", "--ranks", "dp=1"]),
    ("gpt3-175b-1024xa100.yaml", ["--ranks", "one-per-stage", "--window", "0s:5s"]),
    ("background-job.yaml", ["--detail", "op", "--ranks", "one-per-stage", "--set", "run.steps=3"]),
    ("background-job.yaml", ["--set", "layout.global_batch=128"]),
]


def size(path):
    """As sizes are told."""
    value, unit = path.stat().st_size, 0
    while value >= 1024:
        value, unit = value / 1024, unit + 1
    return f"{value:.{1 if unit else 0}f} {('B', 'KiB', 'MiB', 'GiB')[unit]}"


def main():
    binary, check = (str(pathlib.Path(w).resolve()) for w in sys.argv[1:3])
    failed = 0
    for number, (example, options) in enumerate(FORMS, 1):
        with tempfile.TemporaryDirectory() as folder:
            packed, plain = pathlib.Path(folder, "t.json.gz"), pathlib.Path(folder, "t.json")
            done = subprocess.run([binary, "run", str(EXAMPLES / example), "-o", "/dev/null",
                                   "--trace", f"chrome:{plain}", "--trace", f"chrome:{packed}"]
                                  + shortened(example, options), capture_output=True, text=True,
                                  check=False)
            good = done.returncode in ((0, 4) if "deadlock" in example else (0, 1))
            said = done.stderr
            if good:
                same = gzip.decompress(packed.read_bytes()) == plain.read_bytes()
                told = [f"{path} ({size(path)}" in done.stderr for path in (plain, packed)]
                ruled = subprocess.run([check, str(plain)], capture_output=True, text=True,
                                       check=False)
                said = ruled.stdout + ruled.stderr + ("" if same else "gzip differs from plain") + (
                    "" if all(told) else "a size is not that of its file: " + done.stderr)
                good = same and all(told) and ruled.returncode == 0
            failed += not good
            print(f"{'ok' if good else 'not ok'} {number} - {example} {' '.join(options)}: "
                  f"{said.strip()}")
    print(f"1..{len(FORMS)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
