"""Does a run know how far off it is? Of the rows of each set, how many were measured inside the
band that nine of ten should lie in."""
import json
import math
import statistics

import tables
from blocks import APART, gpus
from page import percent, table
from results import by
from scores import percentile

HALF = 1.645  # of a 90 % band, in standard deviations


def line(name, rows):
    """Of (measured, simulated, low, high)."""
    slower = sum(measured > high for measured, _, _, high in rows)
    faster = sum(measured < low for measured, _, low, _ in rows)
    inside = len(rows) - slower - faster
    half = statistics.median(100 * ((high / low) ** 0.5 - 1) for _, _, low, high in rows)
    return [name, len(rows), percent(100 * inside / len(rows)), faster, slower, percent(half)]


def rows_of(context, scored):
    out = tables.sweep(context.binary, scored.dataset.base,
                       [scored.dataset.keys(r.row) for r in scored.timed], "--uncertain")
    return [(r.measured, float(o["step_time_s"]), float(o["step_low_s"]), float(o["step_high_s"]))
            for r, o in zip(scored.timed, out)]


def within(scored, simulated):
    """Standard deviation of the log error inside the sweeps of a set, in percent."""
    sweeps = [[math.log(simulated(r) / r.measured) for r in rows]
              for rows in by(scored.timed, lambda r: r.sweep).values() if len(rows) > 1]
    squares = sum((x - statistics.mean(rows)) ** 2 for rows in sweeps for x in rows)
    return 100 * math.sqrt(squares / sum(len(rows) - 1 for rows in sweeps))


def sweeps(found):
    """What layouts of one job do not share: uncertainty.layout_scatter is the median of a column."""
    found = [s for s in found if s.dataset.layouts and s.dataset.name != APART
             and len(by(s.timed, lambda r: r.sweep)) < len(s.timed)]
    lines = [(s.name, within(s, lambda r: r.shipped), within(s, lambda r: r.time)) for s in found]
    medians = [statistics.median(line[k] for line in lines) for k in (1, 2)]
    return table(["data", "presets alone", "documented keys"],
                 [[name, percent(a), percent(b)] for name, a, b in [*lines, ("median", *medians)]])


def tokens_of_a_replica(keys):
    """That it trains on in a step."""
    ranks = math.prod(int(keys.get(f"layout.{k}", 1)) for k in ("tensor", "pipeline", "context"))
    return int(keys["layout.global_batch"]) * int(keys["model.sequence"]) * ranks / gpus(keys)


def kind_of(context, dataset, row, known):
    """The kind of run that a row is, and the scatter of that kind."""
    keys = {k: str(v) for k, v in dataset.job(row).items() if v != ""}
    traits = tuple(keys.get(k, "") for k in ("cluster.preset", "cluster.nodes", "model.dtype",
                                             "model.preset", "model.experts", "framework.preset"))
    traits += (gpus(keys) >= 128 and tokens_of_a_replica(keys) <= 8192,)
    if traits not in known:
        with tables.run_file(dataset.shipped) as path:
            sets = [f"--set={k}={v}" for k, v in dataset.stated(row).items() if v != ""]
            said = json.loads(tables.output(context.binary, "run", path, "--uncertain", "--stats", "json",
                                            "--set=uncertainty.guesses=false", *sets, answers=(0, 1)))
        known[traits] = (said["uncertainty"]["scatter_of"], math.hypot(
            said["uncertainty"]["scatter"], said["uncertainty"]["shared_scatter"]))
    return known[traits]


def outside(errors, groups):
    """The share of errors within the band that those of other groups ask for, group by group."""
    hit = total = 0
    for left in set(groups):
        rest = [abs(e) for e, g in zip(errors, groups) if g != left]
        own = [abs(e) for e, g in zip(errors, groups) if g == left]
        if rest:
            hit += sum(e <= percentile(rest, 0.9) for e in own)
            total += len(own)
    return percent(100 * hit / total) if total else "-"


def kinds(context):
    """A line for each kind: the scatter that holds nine of ten, and rows and sets left out."""
    known, found = {}, {}
    for scored in context.scored:
        for r in scored.timed:
            kind = kind_of(context, scored.dataset, r.row, known)
            found.setdefault(kind, []).append((math.log(r.measured / r.time), scored.name))
    lines = []
    for (kind, scatter), rows in sorted(found.items()):
        errors, sets = [e for e, _ in rows], [name for _, name in rows]
        sample = range(0, len(rows), 1 + len(rows) // 400)  # of 1440 alike every fourth is enough
        lines.append([kind, len(rows), len(set(sets)), percent(100 * scatter),
                      percent(100 * percentile([abs(e) for e in errors], 0.9) / HALF),
                      percent(100 * statistics.mean(abs(e) <= HALF * scatter for e in errors)),
                      outside([errors[i] for i in sample], list(sample)),
                      outside(errors, sets) if len(set(sets)) > 1 else "-"])
    context.page("band kinds", table(["kind of run", "rows", "sets", "scatter", "nine of ten need", "inside",
                                      "rows left out", "sets left out"], lines))


def measure(context):
    kinds(context)
    context.page("sweeps", sweeps(context.scored))
    found = [(s.name, rows_of(context, s)) for s in context.scored]
    found.append((f"all but {APART}", [row for name, rows in found if name != APART
                                       for row in rows]))
    context.page("bands", table(["data", "rows", "inside", "measured faster", "measured slower",
                                 "half width, median"], [line(*pair) for pair in found]))
