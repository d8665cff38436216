"""Does a run know how far off it is? Of the rows of each set, how many were measured inside the
band that nine of ten should lie in."""
import statistics

import tables
from blocks import APART
from page import percent, table


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


def measure(context):
    found = [(s.name, rows_of(context, s)) for s in context.scored]
    found.append((f"all but {APART}", [row for name, rows in found if name != APART
                                       for row in rows]))
    context.page("bands", table(["data", "rows", "inside", "measured faster", "measured slower",
                                 "half width, median"], [line(*pair) for pair in found]))
