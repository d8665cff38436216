"""Does a run know how far off it is? Of the rows of each set, how many were measured inside the
band that nine of ten should lie in."""
import math
import statistics

import tables
from blocks import APART
from page import percent, table
from results import by


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
    found = [s for s in found if s.dataset.layouts and s.dataset.name != APART]
    lines = [(s.name, within(s, lambda r: r.shipped), within(s, lambda r: r.time)) for s in found]
    medians = [statistics.median(line[k] for line in lines) for k in (1, 2)]
    return table(["data", "presets alone", "documented keys"],
                 [[name, percent(a), percent(b)] for name, a, b in [*lines, ("median", *medians)]])


def measure(context):
    context.page("sweeps", sweeps(context.scored))
    found = [(s.name, rows_of(context, s)) for s in context.scored]
    found.append((f"all but {APART}", [row for name, rows in found if name != APART
                                       for row in rows]))
    context.page("bands", table(["data", "rows", "inside", "measured faster", "measured slower",
                                 "half width, median"], [line(*pair) for pair in found]))
