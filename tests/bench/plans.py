#!/usr/bin/env python3
"""Plans of whole grids on one core: LLaMA 13B on 64 and 65B on 256 GPUs, GPT-3 175B on 256.

usage: plans.py BINARY. Prints one line per job: CPU seconds (user + system, the least of three),
layouts, those that fit, those simulated.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

JOBS = [("llama-13b", 8, 2048), ("llama-65b", 32, 2048), ("gpt3-175b", 32, 1536)]
RUN = """\
cluster: {{preset: dgx-a100-80g, nodes: {1}}}
model: {{preset: {0}}}
layout: {{global_batch: {2}, order: [tensor, context, data, pipeline]}}
"""


def measure(binary, path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([binary, "plan", path, "-q", "--jobs", "1", "--stats", "json"],
                          capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = json.loads(done.stdout)
    return cpu, found["space"], found["fit"], found["simulated"]


def main():
    binary = os.path.abspath(sys.argv[1])
    for job in JOBS:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(RUN.format(*job))
            file.flush()
            cpu, space, fit, simulated = min(measure(binary, file.name) for _ in range(3))
        print(f"{job[0]:12} {8 * job[1]:5} GPUs {cpu:8.3f} s CPU {space:7} layouts {fit:7} fit "
              f"{simulated:6} simulated", flush=True)


if __name__ == "__main__":
    main()
