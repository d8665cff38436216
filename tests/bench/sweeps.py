#!/usr/bin/env python3
"""Many configurations in one command: layouts of LLaMA 65B on 256 GPUs, all the same or with a
spread of GPUs, which every member of a gang has to be executed for; and one layout with more and
more micro-batches, of which a period is executed however many there are.

usage: sweeps.py BINARY. Prints one line per job: CPU seconds (user + system, the least of three, or of
one that takes longer than LONG), rows, milliseconds per row.
"""
import os
import pathlib
import resource
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/llama-65b-256xa100.yaml"
LAYOUTS = ["--over", "layout.tensor=1,2,4,8", "--over", "layout.pipeline=2,4,8,16", "--over",
           "layout.micro_batch=1,2", "--over", "layout.recompute=none,full", "--over",
           "schedule.name=gpipe,1f1b"]
EIGHT = ["--over", "layout.recompute=none,full", "--over", "layout.zero=0,1", "--over",
         "layout.sequence_parallel=false,true"]
JOBS = [
    ("128 layouts", LAYOUTS),
    ("128 layouts, GPUs of unequal speed", LAYOUTS + ["--set", "run.gpu_spread=1 %"]),
]
JOBS += [(f"8 layouts, {n} micro-batches", EIGHT + ["--set", f"layout.global_batch={8 * n}"])
         for n in (64, 256, 1024, 4096)]


LONG = 20  # seconds: with every member of 256 GPUs a row takes nearly one


def measure(binary, options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([binary, "sweep", str(EXAMPLE), "-q", "--jobs", "1"] + options,
                          capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, len(done.stdout.splitlines()) - 1


def main():
    binary = os.path.abspath(sys.argv[1])
    for name, options in JOBS:
        cpu, rows = measure(binary, options)
        if cpu < LONG:
            cpu, rows = min([(cpu, rows)] + [measure(binary, options) for _ in range(2)])
        print(f"{name:36} {cpu:7.3f} s CPU   {rows:5} rows   {cpu / rows * 1e3:7.2f} ms/row",
              flush=True)


if __name__ == "__main__":
    main()
