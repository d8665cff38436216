#!/usr/bin/env python3
"""Draws how busy each pipeline stage computes over a step.

    python3 utilization.py run.yaml picture.png [section.key=value ...]

Needs numpy and matplotlib (Debian: python3-matplotlib), and trainyard.py beside it.
"""
import sys

import matplotlib
import numpy

import trainyard

BINS = 200


def utilization(tasks, rank, until_ps):
    """Share of each of BINS stretches of the run in which the rank's compute stream is busy."""
    stream = numpy.frombuffer(tasks.stream, dtype=numpy.uint8)
    mine = ((numpy.frombuffer(tasks.rank, dtype=numpy.uint32) == rank)
            & (stream == tasks.stream_names.index("compute")))
    start = numpy.frombuffer(tasks.start_ps, dtype=numpy.uint64)[mine].astype(float)
    end = start + numpy.frombuffer(tasks.dur_ps, dtype=numpy.uint64)[mine]
    edges = numpy.linspace(0, until_ps, BINS + 1)
    # busy time before each edge: whole tasks that began before it, less what lies beyond it
    before = [numpy.minimum(end, edge)[start < edge].sum() - start[start < edge].sum()
              for edge in edges]
    return edges[:-1] * 1e-12, numpy.diff(before) / numpy.diff(edges)


def main():
    matplotlib.use("Agg")
    from matplotlib import pyplot

    path, picture, *sets = sys.argv[1:]
    run = trainyard.Run(path, *sets)
    tasks = run.tasks("one-per-stage")
    ranks = sorted(set(tasks.rank))
    until = max(int(s) + int(d) for s, d in zip(tasks.start_ps, tasks.dur_ps))
    figure, rows = pyplot.subplots(len(ranks), sharex=True, squeeze=False,
                                   figsize=(8, 1.2 * len(ranks) + 1))
    for stage, (rank, row) in enumerate(zip(ranks, rows[:, 0])):
        seconds, share = utilization(tasks, rank, until)
        row.fill_between(seconds, 100 * share, step="post")
        row.set_ylim(0, 105)
        row.set_ylabel(f"stage {stage}\n%")
        print(f"stage {stage}: computes {100 * share.mean():.2f} % of the run")
    rows[-1, 0].set_xlabel("seconds")
    figure.suptitle(f"computing, {path}: MFU {100 * run.figure('mfu'):.1f} %")
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    return 0


if __name__ == "__main__":
    sys.exit(main())
