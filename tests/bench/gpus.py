#!/usr/bin/env python3
"""What the number of GPUs costs: GPT-3 175B, tensor 8 and pipeline 16, with more and more replicas.

usage: gpus.py BINARY. Prints one line per command and cluster: CPU seconds (user + system, the least
of five) and the most memory that was resident. A row of a sweep, `check` and `run` should cost about
the same everywhere, `fleet` what the days of so many nodes cost to play.
"""
import os
import pathlib
import subprocess
import sys

EXAMPLE = str(pathlib.Path(__file__).resolve().parents[2] / "docs/examples/gpt3-175b-1024xa100.yaml")
COMMANDS = [("check", ["check", EXAMPLE, "-q"]),
            ("row of a sweep", ["sweep", EXAMPLE, "-q", "--jobs", "1", "--over", "run.seed=1"]),
            ("fleet", ["fleet", EXAMPLE, "-q"]),
            ("run", ["run", EXAMPLE, "-q"])]


def measure(binary, words):
    with subprocess.Popen([binary, *words], stdout=subprocess.DEVNULL) as done:
        _, status, usage = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: exit status {done.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def main():
    binary = os.path.abspath(sys.argv[1])
    for name, words in COMMANDS:
        for nodes in (128, 2048, 16384):
            sets = ["--set", f"cluster.nodes={nodes}", "--set", f"layout.global_batch={nodes // 2}"]
            cpu, peak = min(measure(binary, words + sets) for _ in range(5))
            print(f"{name:16} {8 * nodes:7,} GPUs   {cpu:7.3f} s CPU   {peak / 1024:6.0f} MiB",
                  flush=True)


if __name__ == "__main__":
    main()
