"""What was simulated of the rows of a data set, and the figures of it."""
import dataclasses

import scores
from datasets import Dataset


@dataclasses.dataclass
class Result:
    """A row, and what was simulated of it."""
    row: dict
    job: dict              # all its keys
    sweep: str             # the sweep it belongs to
    measured: float        # seconds; None: no time was measured
    oom: bool              # None: not known
    time: float            # simulated seconds
    fits: bool
    ideal: float           # what the step would take at an MFU of 1: model FLOPs over peak
    shipped: float         # simulated seconds with the presets of cluster and framework alone

    @property
    def ratio(self):
        return self.time / self.measured


@dataclasses.dataclass
class Scored:
    """A data set with its results."""
    dataset: Dataset
    results: list
    carried: bool
    figures: dict = dataclasses.field(default_factory=dict)

    @property
    def name(self):
        return self.dataset.name + ("" if self.carried else " *")

    @property
    def timed(self):
        return [r for r in self.results if r.measured is not None]


def by(results, label):
    groups = {}
    for r in results:
        groups.setdefault(label(r), []).append(r)
    return groups


def pairs(results, simulated=lambda r: r.time):
    return [(r.measured, simulated(r)) for r in results if r.measured is not None]


def choices(scored):
    """What a choice by simulation loses in each sweep, in points of MFU, what any layout loses
    there, and how many choices did not run."""
    return scores.regret([
        [(r.time, r.fits, r.measured, r.ideal / r.measured if r.measured else None)
         for r in group]
        for s in scored if s.dataset.layouts
        for group in by(s.results, lambda r: r.sweep).values()])


def outcomes(results):
    """Counts of what happened, and what was simulated."""
    known = [r for r in results if r.oom is not None]
    counts = {name: sum(r.oom == oom and r.fits == fits for r in known)
              for oom, fits, name in [(False, True, "ran_fits"), (False, False, "ran_refused"),
                                      (True, False, "oom_refused"), (True, True, "oom_fits")]}
    return counts | {"known": len(known), "wrong": counts["ran_refused"] + counts["oom_fits"]}


def score(scored):
    timed = scored.timed
    figures = scores.errors(pairs(timed))

    def per_token(r):
        work = float(r.job["model.sequence"]) * float(r.job["layout.global_batch"])
        return r.measured / work, r.time / work

    figures["spearman"], figures["sweeps"] = scores.spearman_within(
        [[per_token(r) for r in group] for group in by(timed, lambda r: r.sweep).values()])
    figures["one_factor"], figures["factor"] = scores.scaled_error(pairs(timed))
    figures["constant_mfu"], _ = scores.scaled_error([(r.measured, r.ideal) for r in timed])
    figures["constant_time"], _ = scores.scaled_error([(r.measured, 1.0) for r in timed])
    figures |= outcomes(scored.results)
    lost, any_lost, failed = choices([scored])
    if lost or failed:
        figures["regret"] = sum(lost) / len(lost) if lost else None
        figures["regret_worst"] = max(lost) if lost else None
        figures["regret_any"] = sum(any_lost) / len(lost) if lost else None
        figures["regret_sweeps"], figures["chose_oom"] = len(lost) + failed, failed
    return figures
