#!/usr/bin/env python3
"""Generating, checking and executing every schedule alone: 64 ranks, 1,024 micro-batches.

usage: schedules.py BINARY. CPU seconds of the whole command (the least of three) and atoms per
second; the output is counted and dropped.
"""
import os
import resource
import subprocess
import sys

SHAPE = ["-p", "64", "-m", "1024", "--format", "slots", "-o", "null:"]
EXTRA = {"interleaved": ["-v", "4"], "bfs": ["-v", "4"], "interleaved-zb": ["-v", "4"],
         "seq1f1b": ["--slices", "4"]}
SPLIT = {"zb-1p", "zb-2p", "zb-v", "v-half", "v-min", "interleaved-zb"}


def cpu(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    binary = os.path.abspath(sys.argv[1])
    listed = subprocess.run([binary, "list", "schedules"], capture_output=True, text=True,
                            check=True).stdout
    for name in (line.split()[0] for line in listed.splitlines()):
        pieces = 4 if name in EXTRA else 2 if name in {"zb-v", "v-half", "v-min", "dualpipev"} else 1
        atoms = 64 * 1024 * pieces * (3 if name in SPLIT else 2)
        best = min(cpu([binary, "schedule", name] + SHAPE + EXTRA.get(name, [])) for _ in range(3))
        print(f"{name:16} {best:6.3f} s CPU   {atoms:9,} atoms   {atoms / best / 1e6:6.1f} M atoms/s",
              flush=True)


if __name__ == "__main__":
    main()
