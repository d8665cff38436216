#!/usr/bin/env python3
"""What sharing the rows of a sweep costs: layouts of LLaMA 65B on 256 GPUs by one process and by
1, 2 and 4 ranks of trainyard-mpi.

usage: ranks.py TRAINYARD TRAINYARD_MPI [ROUNDS]. Prints a line for each: least of some rounds of
wall-clock time, and of CPU seconds (user + system) of the process that was started with all of its
children. Ranks that wait do so in a loop: their waiting is in the CPU time. What mpirun takes to
start and end ranks that do nothing is told apart.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "docs/examples/llama-65b-256xa100.yaml"
AXES = (("layout.tensor", (1, 2, 4, 8)), ("layout.pipeline", (2, 4, 8, 16)),
        ("layout.micro_batch", (1, 2)), ("layout.recompute", ("none", "full")),
        ("layout.zero", (0, 1)), ("schedule.name", ("gpipe", "1f1b", "zb-1p")))


def table():
    """All combinations as rows, so that nobody asks first which of them can be."""
    rows = [[]]
    for _, values in AXES:
        rows = [row + [str(value)] for row in rows for value in values]
    return "\n".join(",".join(row) for row in [[name for name, _ in AXES], *rows]) + "\n", len(rows)


def measure(words):
    before, t0 = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    wall, after = time.monotonic() - t0, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    binary, mpi = (os.path.abspath(word) for word in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with tempfile.TemporaryDirectory() as name:
        text, n_rows = table()
        rows, output = pathlib.Path(name) / "rows.csv", pathlib.Path(name) / "table.csv"
        rows.write_text(text)
        sweep = ["sweep", str(EXAMPLE), "--rows", str(rows), "-o", str(output), "-q"]

        def ranks(n, *words):
            return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(n), mpi, *words]

        jobs = [("one process", [binary, *sweep, "--jobs", "1"], None)]
        jobs += [(f"{n} rank{'s' if n > 1 else ''}", ranks(n, *sweep), ranks(n, "--version"))
                 for n in (1, 2, 4)]
        best = {}
        for _ in range(rounds):  # in turns, as other work comes and goes
            for label, words, idle in jobs:
                for key, command in ((label, words), (label + " idle", idle)):
                    if command is not None:
                        seen = measure(command)
                        best[key] = tuple(map(min, seen, best.get(key, seen)))
        print(f"{n_rows} rows, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        alone = best["one process"][1]
        for label, _, idle in jobs:
            wall, cpu = best[label]
            start = best[label + " idle"][1] if idle else 0.0
            print(f"{label:12} {wall:7.3f} s   {cpu:7.3f} s CPU, {start:5.3f} of them to start   "
                  f"{1e3 * (cpu - start) / n_rows:6.3f} ms/row   "
                  f"{100 * alone / (cpu - start):5.1f} % of it rows", flush=True)


if __name__ == "__main__":
    main()
