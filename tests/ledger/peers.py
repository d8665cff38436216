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
# Rows of Hagemann et al. that the authors of the model did not have, an earlier version of it
# scored from outside: what, rows, best peer, trainyard.
KEPT_BACK = [("hagemann, kept back: step times", 256, "11.2 %", "7.0 %"),
             ("hagemann, kept back: fits or not, foretold", 691, "83.3 %", "88.9 %")]


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
    for what, rows, theirs, ours in KEPT_BACK:
        lines.append([what, rows, "the best of several", theirs, "-", ours, "-",
                      "scored from outside, an earlier version of this model; no row is given "
                      "here"])
    context.page("peers", table(["what", "rows", "peer", "peer's mean", "worst",
                                 "trainyard's mean", "worst", "the peer's figure is from"], lines))
