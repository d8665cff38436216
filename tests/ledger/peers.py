"""Other simulators on the same rows.

SimuMax prints a prediction beside every measurement, so both are scored alike. Of the others there
is only what they, or who scored them, say of all rows together."""
import memory
import scores
from page import percent, table

# Said of rows that are scored here, too: set, peer, mean, worst, source.
SAID = [
    ("korthikanti", "Calculon", "3.7 %", "8.9 %",
     "its own validation command, version of February 2024"),
    ("vtrain single", "vTrain", "8.4 %", "-",
     "its paper (MICRO 2024), cited from memory and not checked again"),
]
# All 401 step times and 964 outcomes of Hagemann et al., scored by others with release 0.1.0: what,
# rows, peer, the peer's figure, trainyard's (presets alone), of how many rows the peer takes.
OUTSIDE = [
    ("hagemann, all rows: step times", 401, "SimuMax", "11.2 % of the 383 it takes", "4.6 % (6.1 %)"),
    ("hagemann, all rows: step times", 401, "Calculon", "22.1 %", "4.6 % (6.1 %)"),
    ("hagemann, all rows: fits or not", 964, "SimuMax", "83.3 % of the 904 it takes", "93.9 %"),
    ("hagemann, all rows: fits or not", 964, "Calculon", "72.2 %", "93.9 %")]


def worst(pairs):
    return max(abs(100 * (s / m - 1)) for m, s in pairs)


def line(what, peer, theirs, ours, source):
    """Both scored from (measured, simulated) of the same rows."""
    return [what, len(ours), peer, percent(scores.errors(theirs)["mean"]), percent(worst(theirs)),
            percent(scores.errors(ours)["mean"]), percent(worst(ours)), source]


def simumax(context, scored):
    """Lines of step times and of memory."""
    source = "its docs/b200, printed beside the measurement"
    times = [(r.measured, r.time) for r in scored.timed]
    said = [(r.measured, 1e-3 * float(r.row["simumax_pred_ms"])) for r in scored.timed]
    ((_, peaks, _),) = memory.peaks(context, scored.dataset.name, "", memory.ALLOCATED,
                                    lambda row: float(row["mem_gb"]) * memory.GIB)
    bytes_said = [(float(r.row["mem_gb"]), float(r.row["simumax_pred_alloc_gib"]))
                  for r in scored.results]
    return [line(f"{scored.name}: step times", "SimuMax 1.2", said, times, source),
            line(f"{scored.name}: peak memory", "SimuMax 1.2", bytes_said, peaks, source)]


def measure(context):
    found = {s.dataset.name: s for s in context.scored}
    lines = []
    for name in ("simumax B200", "simumax B200, context"):
        lines += simumax(context, found[name])
    for name, peer, mean, most, source in SAID:
        ours = [(r.measured, r.time) for r in found[name].timed]
        lines.append([f"{found[name].name}: step times", len(ours), peer, mean, most,
                      percent(scores.errors(ours)["mean"]), percent(worst(ours)), source])
    lines += [[what, rows, peer, theirs, "-", ours, "-", "scored by others on the same rows, release "
               "0.1.0; in brackets presets alone"] for what, rows, peer, theirs, ours in OUTSIDE]
    context.page("peers", table(["what", "rows", "peer", "peer's mean", "worst",
                                 "trainyard's mean", "worst", "the peer's figure is from"], lines))
