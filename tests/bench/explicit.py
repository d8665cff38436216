#!/usr/bin/env python3
"""The same jobs, message by message, under trainyard and under SimGrid.

usage: explicit.py BENCH_EXPLICIT EXPLICIT_JOBS [--runs N]

Runs both in turn, N times (3), and prints a line per job: simulated time of both, messages per
second of CPU, building included, at the median, and their ratio. SimGrid runs with actors and
without; the faster one counts. Exit status 1: simulated times differ by more than a part in 10^6.

The job marked ~ has hundreds of flows in one component, whose speeds all follow from each other: one
byte more in one of its messages moves its end by parts in 10^4. There a part in 10^3 is allowed.
"""
import argparse
import json
import statistics
import subprocess
import sys

SAME, SAME_WHERE_SENSITIVE = 1e-6, 1e-3
TWO, TREE = "platform=two-level", "platform=fat-tree"
# name, words, whether it is sensitive
JOBS = [
    ("ring, two-level", [TWO], False),
    ("ring, two-level, jitter 10 %", [TWO, "jitter=0.1"], False),
    ("ring, fat tree", [TREE], False),
    ("ring, fat tree, jitter 10 %", [TREE, "jitter=0.1"], False),
    ("ten rings in a row, two-level", [TWO, "reps=10"], False),
    ("8 rings on each NIC, jitter 10 %", [TWO, "rings=8", "jitter=0.1"], False),
    ("ring in random order, fat tree, jitter 10 %", [TREE, "order=shuffled", "jitter=0.1"], False),
    ("ring in random order, two-level, jitter 10 % ~", [TWO, "order=shuffled", "jitter=0.1"], True),
    ("1F1B, two-level", [TWO, "job=pipe"], False),
    ("1F1B, fat tree", [TREE, "job=pipe", "sends=4"], False),
]
QUIET = "--log=root.threshold:error"


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(" ".join(command) + ": " + done.stderr)
    return json.loads(done.stdout)


def seconds(runs):
    return statistics.median(r["build_s"] + r["run_s"] for r in runs)


def compare(ours, theirs, job, n_runs):
    """Prints the line of a job; whether the simulated times agree."""
    name, words, sensitive = job
    commands = {"trainyard": [ours] + words,
                "actors": [theirs, QUIET, "actors"] + words,
                "chained": [theirs, QUIET, "chained"] + words}
    runs = {who: [] for who in commands}
    for _ in range(n_runs):
        for who, command in commands.items():
            runs[who].append(run(command))
    style = min("actors", "chained", key=lambda who: seconds(runs[who]))
    messages = runs["trainyard"][0]["messages"]
    here, there = (runs[who][0]["simulated_s"] for who in ("trainyard", style))
    rates = [messages / seconds(runs[who]) for who in ("trainyard", style)]
    print(f"{name:46} {messages:9,} {here * 1e3:15.9f} {there * 1e3:15.9f} {here / there - 1:9.1e}"
          f" {rates[0]:12,.0f} {rates[1]:10,.0f} {style:8} {rates[0] / rates[1]:6.1f}", flush=True)
    return abs(here / there - 1) <= (SAME_WHERE_SENSITIVE if sensitive else SAME)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trainyard")
    parser.add_argument("simgrid")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"{'job':46} {'messages':>9} {'trainyard, ms':>15} {'SimGrid, ms':>15} {'apart':>9}"
          f" {'messages/s':>12} {'SimGrid':>10} {'with':8} {'ratio':>6}")
    agree = [compare(options.trainyard, options.simgrid, job, options.runs) for job in JOBS]
    if not all(agree):
        print("simulated times differ", file=sys.stderr)
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
