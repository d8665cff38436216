"""How good a set of predictions is: error figures, ranks, regret, yardsticks.

Errors are relative, simulated / measured - 1, in percent. Nothing here knows where rows come
from."""
import statistics


def percentile(values, share):
    """Linear between order statistics."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def errors(pairs):
    """Figures over (measured, simulated) pairs."""
    relative = [100 * (simulated / measured - 1) for measured, simulated in pairs]
    absolute = [abs(e) for e in relative]
    return {"n": len(pairs), "mean": statistics.mean(absolute),
            "median": statistics.median(absolute), "p90": percentile(absolute, 0.9),
            "bias": statistics.mean(relative)}


def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for at in range(start, end + 1):
            out[order[at]] = (start + end) / 2 + 1
        start = end + 1
    return out


def spearman(pairs):
    """Rank correlation of (measured, simulated); None where either side is constant."""
    a, b = ranks([p[0] for p in pairs]), ranks([p[1] for p in pairs])
    mean = (len(pairs) + 1) / 2
    cross = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    own = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return cross / own ** 0.5 if own > 0 else None


def spearman_within(groups, least=4, constant=None):
    """Mean over the groups of at least `least` rows, weighted by their sizes: (rho, groups). One
    where a side does not differ counts as `constant`, or not at all."""
    found = [(spearman(g), len(g)) for g in groups if len(g) >= least]
    found = [(constant if rho is None else rho, n) for rho, n in found]
    found = [(rho, n) for rho, n in found if rho is not None]
    if not found:
        return None, 0
    return sum(rho * n for rho, n in found) / sum(n for _, n in found), len(found)


def best_factor(ratios):
    """The factor f that makes the mean of |f r - 1| least: a weighted median of 1 / r."""
    ordered = sorted(ratios, reverse=True)
    half, total = sum(ordered) / 2, 0.0
    for ratio in ordered:
        total += ratio
        if total >= half:
            return 1 / ratio
    return 1 / ordered[-1]


def scaled_error(pairs):
    """Mean absolute error when every prediction is multiplied by the best single factor."""
    factor = best_factor([s / m for m, s in pairs])
    return statistics.mean(100 * abs(factor * s / m - 1) for m, s in pairs), factor


def regret(groups):
    """What a user loses who takes the layout that is simulated fastest among those simulated to
    fit. A group is a list of (simulated s, fits, measured s or None, measured MFU or None).

    Returns points of MFU lost in each group where the choice ran, what any layout that ran loses
    there in the mean, and how many choices did not run when they were measured."""
    lost, any_lost, failed = [], [], 0
    for group in groups:
        ran = [row for row in group if row[2] is not None]
        allowed = [row for row in group if row[1]]
        if len(ran) < 2 or not allowed:
            continue
        choice = min(allowed, key=lambda row: row[0])
        if choice[2] is None:
            failed += 1
            continue
        best = max(row[3] for row in ran)
        lost.append(100 * (best - choice[3]))
        any_lost.append(100 * statistics.mean(best - row[3] for row in ran))
    return lost, any_lost, failed
