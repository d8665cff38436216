#!/usr/bin/env python3
"""Draws how busy each pipeline stage computes over a step.

    python3 utilization.py run.yaml picture.png [section.key=value ...]

Needs the package trainyard (docs/guides/python.md) and matplotlib.
"""
import sys

import matplotlib
import numpy
import trainyard

BINS = 200


def utilization(tasks, rank, until_ps):
    """Share of each of BINS stretches of the run in which the rank's compute stream is busy."""
    mine = tasks.of(stream="compute") & (tasks.rank == rank)
    start = tasks.start_ps[mine].astype(float)
    end = start + tasks.dur_ps[mine]
    edges = numpy.linspace(0, until_ps, BINS + 1)
    # busy time before each edge: whole tasks that began before it, less what lies beyond it
    before = [numpy.minimum(end, edge)[start < edge].sum() - start[start < edge].sum()
              for edge in edges]
    return edges[:-1] * 1e-12, numpy.diff(before) / numpy.diff(edges)


def main():
    matplotlib.use("Agg")
    from matplotlib import pyplot

    path, picture, *sets = sys.argv[1:]
    result = trainyard.run(path, sets)
    tasks = result.tasks("one-per-stage")
    ranks = numpy.unique(tasks.rank)
    until = (tasks.start_ps + tasks.dur_ps).max()
    figure, rows = pyplot.subplots(len(ranks), sharex=True, squeeze=False,
                                   figsize=(8, 1.2 * len(ranks) + 1))
    for stage, (rank, row) in enumerate(zip(ranks, rows[:, 0])):
        seconds, share = utilization(tasks, rank, until)
        row.fill_between(seconds, 100 * share, step="post")
        row.set_ylim(0, 105)
        row.set_ylabel(f"stage {stage}\n%")
        print(f"stage {stage}: computes {100 * share.mean():.2f} % of the run")
    rows[-1, 0].set_xlabel("seconds")
    figure.suptitle(f"computing, {path}: MFU {100 * result.mfu:.1f} %")
    figure.tight_layout()
    figure.savefig(picture, dpi=120)
    return 0


if __name__ == "__main__":
    sys.exit(main())
