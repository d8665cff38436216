"""What `trainyard plan` would have chosen among the layouts that were measured.

Plan searches the grid that the layouts of a sweep span, proves its order, and its first row that
was measured is its choice. Rows of the grid that nobody measured say nothing and are passed over.
Plan must rank as the sweep of steps.py simulates, refusals included: else that is an error."""
import json
import statistics

import datasets
from page import table
from results import by
from tables import output, run_file

FAMILIES = [datasets.HAGEMANN, datasets.VTRAIN, datasets.VTRAIN_SINGLE]
POINT = 1.0  # of MFU: what loses more has a reason
LINES = 20   # of the page for one set: one with more sweeps has one, and answers for their mean
SLACK = 0.1  # of a point, by which a figure below may move
# Keys that plan searches; what a table does not vary stays as a run has it.
SEARCHED = {"layout.tensor": "1", "layout.context": "1", "layout.pipeline": "1",
            "layout.micro_batch": "1", "schedule.name": "1f1b", "schedule.chunks": "1",
            "layout.zero": "0", "layout.recompute": "none", "layout.sequence_parallel": "false"}
ORDER = "layout.order=[tensor, context, data, pipeline]"
FOLLOWS = "layout.data"  # from the others and the GPUs
MOST = 10000             # rows: all that plan keeps

# (set, sweep): points that plan's choice loses there, None where it did not run, and why.
LOSES = {
    ("hagemann 13B", "unfused torch"): (2.3,
        "Times. The choice ran 8 % longer than simulated, as scores in memory without "
        "recomputation do at pipeline 1; the best one is within 1 %"),
    ("hagemann 13B", "Megatron fused softmax"): (None,
        "Out of memory at 71.4 of 79.2 GiB. Two rows of this kernel without recomputation ask for "
        "3.5 B a score. What is known to be kept is the result of 2 B; a dropout of 0 keeps "
        "neither mask nor output, and no source says that these runs had another"),
    ("hagemann 65B", "FA1.0.8"): (None,
        "Out of memory at 78.8 of 79.2 GiB, which is called tight. The same layout with "
        "FlashAttention 2, which needs as much, ran and was the fastest"),
    ("hagemann 30B", "model.attention=flash2, model.norm=fused"): (2.7,
        "Times. The choice ran 10 % longer than simulated and the best one 3 % shorter. Neither "
        "memory nor gradients explain it: other layouts with as much of them are not slow"),
    ("vtrain multi", "GPT 18.4B"): (1.4,
        "Times. The choice ran 10 % longer than simulated and the best one 3 % shorter"),
}


def layout(job):
    """What plan varies, of a row of a table or of its own answer."""
    return tuple(str(job.get(key, usual)).lower() for key, usual in SEARCHED.items())


def grid(dataset, results):
    """Arguments of plan: what the rows of a sweep share, and the values of what they do not."""
    given = dataset.keys(results[0].row)
    words = ["--set", ORDER]
    for key in given:
        if key not in SEARCHED and key != FOLLOWS:
            words += ["--set", f"{key}={given[key]}"]
    for key, values in zip(SEARCHED, zip(*(layout(r.job) for r in results))):
        words += ["--over", f"{key}={','.join(sorted(set(values)))}"]
    return words


def ranked(context, dataset, results):
    """The layouts of a sweep in plan's order."""
    with run_file(dataset.base) as path:
        answer = json.loads(output(context.binary, "plan", path, *grid(dataset, results), "--top",
                                   MOST, "--margin", "0", "--stats", "json", "--quiet"))
    known = {layout(r.job): r for r in results}
    rows = [(known[layout(row)], row) for row in answer["rows"] if layout(row) in known]
    if not answer["exact"] or len(rows) != sum(r.fits for r in known.values()):
        raise RuntimeError("plan does not rank all layouts of a sweep that fit")
    for r, row in rows:
        if abs(row["step_time_s"] / r.time - 1) > 1e-9:
            raise RuntimeError(f"plan says {row['step_time_s']} s of what sweep says {r.time} s")
    return [r for r, _ in rows]


def short(labels):
    """{label: what tells it from the others}"""
    words = {label: label.split(", ") for label in labels}
    shared = set.intersection(*(set(w) for w in words.values())) if len(words) > 1 else set()
    return {label: ", ".join(word for word in w if word not in shared)
            if len(words) > 1 else "all" for label, w in words.items()}


def mfu(r):
    return r.ideal / r.measured


def name_of(r):
    """Tensor, pipeline, micro-batch, and what else is not as usual."""
    job = dict(zip(SEARCHED, layout(r.job)))
    sizes = [job.pop("layout." + key) for key in ("tensor", "pipeline", "micro_batch")]
    more = [f"{key.split('.')[1]} {value}" for key, value in job.items()
            if value != SEARCHED[key] and key != "layout.zero"]
    return ", ".join(sizes + more)


def choices(context, scored):
    """(sweep, its rows, plan's choice, the best one, points lost or None where it did not run)"""
    groups = by(scored.results, lambda r: r.sweep)
    names = short(groups)
    for label, results in groups.items():
        ran = [r for r in results if r.measured is not None]
        if len(ran) < 2 or not any(r.fits for r in results):
            continue
        choice, best = ranked(context, scored.dataset, results)[0], max(ran, key=mfu)
        lost = None if choice.measured is None else 100 * (mfu(best) - mfu(choice))
        yield names[label], results, choice, best, lost


def why(name, sweep, points):
    """The reason of a loss. One without, or one that grew, is an error; so is an idle reason."""
    held, reason = LOSES.get((name, sweep), (POINT, None))
    worst = float("inf") if held is None else held + SLACK if reason else POINT
    lost = float("inf") if points is None else points
    if lost > worst:
        raise RuntimeError(f"choosing.py: plan's choice for {name}, {sweep} "
                           f"{'does not run' if points is None else f'loses {points:.2f} points'}")
    if reason and lost <= POINT:
        raise RuntimeError(f"choosing.py: {name}, {sweep} loses no more than a point: drop why")
    return reason or "-"


def lost_by(scored, found):
    """Lines of the page for the choices of one set."""
    held = scored.dataset.time != datasets.BLIND
    if len(found) > LINES:
        lost = [points for *_, points in found]
        mean = None if None in lost else statistics.mean(lost)
        reason = why(scored.dataset.name, "all", mean) if held else "-"
        told = f"{mean:.1f} in the mean, {max(lost):.1f} at most" if mean is not None else \
            f"{lost.count(None)} did not run"
        yield [scored.name, f"{len(found)} sweeps", sum(len(results) for _, results, *_ in found),
               "", "", told, reason]
        return
    for sweep, results, choice, best, points in found:
        reason = why(scored.dataset.name, sweep, points) if held else "-"
        yield [scored.name, sweep, len(results), name_of(choice), name_of(best),
               "did not run" if points is None else f"{points:.1f}", reason]


def measure(context):
    lines, lost, sheets = [], [], {}
    for scored in context.scored:
        if scored.dataset.family not in FAMILIES or not scored.dataset.layouts:
            continue
        found = list(choices(context, scored))
        lines += lost_by(scored, found)
        lost += [points for *_, points in found]
        sheets.setdefault(scored.dataset.table, []).extend(points for *_, points in found)
    ran = [points for points in lost if points is not None]
    if ran:
        means = [statistics.mean(p for p in points if p is not None) for points in sheets.values()]
        lines.append(["all", f"{len(lost)} sweeps", "", "", "",
                      f"{statistics.mean(ran):.2f}; {len(lost) - len(ran)} did not run", ""])
        lines.append(["all, a sheet at a time", f"{len(means)} sheets", "", "", "",
                      f"{statistics.mean(means):.2f}", ""])
    context.page("plan", table(["data", "sweep", "layouts", "plan's choice", "best measured",
                                "MFU points lost", "why"], lines))
