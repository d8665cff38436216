#!/usr/bin/env python3
"""The whole command on LLaMA 65B: file in, statistics out, and a Chrome trace of every rank.

usage: run.py BINARY. Prints one line per job: CPU seconds of the process (user + system, the least
of three), tasks, nanoseconds and bytes per task. Traces go to a counting sink, "null:".
"""
import json
import os
import pathlib
import resource
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/llama-65b-256xa100.yaml"
ALL = ["--trace", "chrome:null:", "--ranks", "all", "--force"]
EACH = ["--trace", "chrome:null:", "--ranks", "0", "--detail", "stage"]  # executed, hardly shown
JOBS = [
    ("256 GPUs, statistics", []),
    ("256 GPUs, events engine", ["--engine", "events"]),
    ("256 GPUs, every rank", EACH),
    ("256 GPUs, every rank, sweep", EACH + ["--engine", "sweep"]),
    ("256 GPUs, jitter 1.5 %", ["--set", "run.jitter=1.5 %"]),
    ("256 GPUs, jitter 1.5 %, sweep", ["--set", "run.jitter=1.5 %", "--engine", "sweep"]),
    ("256 GPUs, no two alike", ["--set", "run.gpu_spread=1 %"]),
    ("1,024 GPUs, 4 x the batch", ["--set", "cluster.nodes=128", "--set",
                                   "layout.global_batch=8192"]),
    ("4,096 GPUs, 16 x the batch", ["--set", "cluster.nodes=512", "--set",
                                    "layout.global_batch=32768"]),
    ("256 GPUs, trace of all, layers", ALL),
    ("256 GPUs, trace of all, every task", ALL + ["--detail", "op"]),
]


def measure(binary, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([binary, "run", str(EXAMPLE), "--stats", "json"] + options,
                          capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, json.loads(done.stdout)


def main():
    binary = os.path.abspath(sys.argv[1])
    for name, options in JOBS:
        cpu, figures = min((measure(binary, options) for _ in range(3)), key=lambda m: m[0])
        tasks = figures["tasks"]
        print(f"{name:36} {cpu:7.3f} s CPU   {tasks:12,} tasks   {cpu / tasks * 1e9:6.1f} ns/task   "
              f"{figures['peak_rss_bytes'] / 2**20:7.0f} MiB   "
              f"{figures['peak_rss_bytes'] / tasks:5.1f} B/task", flush=True)


if __name__ == "__main__":
    main()
