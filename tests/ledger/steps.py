"""Step times and memory outcomes of whole runs: each data set, simulated and scored."""
import scores
import tables
from page import cell, percent, table
from datasets import DATASETS

# What the page calls a large bias: in percent, over so many rows.
WORST_BIAS, WORST_ROWS, WORST_SHOWN = 10, 5, 20


def run(context, dataset):
    """Rows of the data set with what was simulated, or None without its table."""
    try:
        rows, carried = context.tables.read(dataset.table)
    except tables.Missing:
        return None, False
    rows = [row for row in rows if dataset.keep(row)]
    out = tables.sweep(context.binary, dataset.base, [dataset.keys(row) for row in rows])
    results = []
    for row, simulated in zip(rows, out):
        measured, time = dataset.seconds(row), float(simulated["step_time_s"])
        results.append({
            "row": row, "measured": measured, "time": time,
            "fits": simulated["fits"] == "1", "oom": dataset.oom(row),
            # What the step would take at an MFU of 1: model FLOPs over peak.
            "ideal": time * float(simulated["mfu"]), "sweep": dataset.sweep(row)})
    return results, carried


def by(results, label):
    groups = {}
    for r in results:
        groups.setdefault(label(r), []).append(r)
    return groups


def pairs(results):
    return [(r["measured"], r["time"]) for r in results if r["measured"] is not None]


def score(dataset, results):
    timed = [r for r in results if r["measured"] is not None]
    figures = scores.errors(pairs(timed))
    tokens = "model.sequence", "layout.global_batch"

    def per_token(r):
        keys = dataset.keys(r["row"])
        work = float(keys[tokens[0]]) * float(keys[tokens[1]])
        return r["measured"] / work, r["time"] / work

    sweeps = by(results, lambda r: r["sweep"])
    rho, n = scores.spearman_within(
        [[per_token(r) for r in group if r["measured"] is not None] for group in sweeps.values()])
    figures |= {"spearman": rho, "sweeps": n}
    figures["one_factor"], figures["factor"] = scores.scaled_error(pairs(timed))
    figures["constant_mfu"], best = scores.scaled_error([(r["measured"], r["ideal"])
                                                         for r in timed])
    figures["mfu"] = 1 / best
    figures["constant_time"], _ = scores.scaled_error([(r["measured"], 1.0) for r in timed])
    known = [r for r in results if r["oom"] is not None]
    for oom, fits, name in [(False, True, "ran_fits"), (False, False, "ran_refused"),
                            (True, False, "oom_refused"), (True, True, "oom_fits")]:
        figures[name] = sum(r["oom"] == oom and r["fits"] == fits for r in known)
    figures["wrong"] = figures["ran_refused"] + figures["oom_fits"]
    if dataset.layouts:
        lost, failed = scores.regret([
            [(r["time"], r["fits"], r["measured"],
              r["ideal"] / r["measured"] if r["measured"] else None) for r in group]
            for group in sweeps.values()])
        figures["regret"] = sum(lost) / len(lost) if lost else None
        figures["regret_worst"] = max(lost) if lost else None
        figures["regret_sweeps"], figures["chose_oom"] = len(lost) + failed, failed
    return figures


def details(dataset, results, worst):
    """Tables of the errors by group; adds (bias, cells) of the larger ones to `worst`."""
    lines = []
    for title, label in dataset.groups.items():
        rows = []
        for name, group in sorted(by([r for r in results if r["measured"] is not None],
                                     lambda r, f=label: f(r["row"])).items(), key=natural):
            figures = scores.errors(pairs(group))
            rows.append([name, figures["n"], percent(figures["mean"]),
                         percent(figures["median"]), percent(figures["p90"]),
                         percent(figures["bias"], True)])
            if figures["n"] >= WORST_ROWS and abs(figures["bias"]) >= WORST_BIAS:
                worst.append((abs(figures["bias"]), [dataset.name, *rows[-1][:3], rows[-1][-1]]))
        lines.append(table([title, "rows", "mean", "median", "p90", "bias"], rows))
    return "\n".join(lines)


def natural(item):
    """Sorts 'tensor 16' behind 'tensor 8'."""
    words = item[0].replace(",", " ").split()
    return [(0, int(word), "") if word.isdigit() else (1, 0, word) for word in words]


def run_as(dataset):
    """The presets of the run file, and what is written beside them."""
    lines = dict(line.split(": ", 1) for line in dataset.base.splitlines())
    return "; ".join(lines[section].strip("{}").removeprefix("preset: ")
                     for section in ("cluster", "framework"))


def measure(context):
    times, fits, choice, about, parts, worst = [], [], [], [], [], []
    for dataset in DATASETS:
        results, carried = run(context, dataset)
        if results is None:
            continue
        f = score(dataset, results)
        context.record("steps", dataset.name, f, carried)
        name = dataset.name + ("" if carried else " *")
        times.append([name, f["n"], percent(f["mean"]), percent(f["median"]), percent(f["p90"]),
                      percent(f["bias"], True), cell(f["spearman"], "{:.3f}"),
                      percent(f["one_factor"]), percent(f["constant_mfu"]),
                      percent(f["constant_time"])])
        if f["ran_fits"] + f["ran_refused"] + f["oom_refused"] + f["oom_fits"]:
            fits.append([name, f["ran_fits"], f["ran_refused"], f["oom_refused"], f["oom_fits"]])
        if f.get("regret") is not None:
            choice.append([name, f["regret_sweeps"], f"{f['regret']:.1f}",
                           f"{f['regret_worst']:.1f}", f["chose_oom"]])
        about.append([name, dataset.machine, run_as(dataset), dataset.role, dataset.notes or "-",
                      dataset.source])
        parts.append(f"### {name}\n\n{details(dataset, results, worst)}")
    context.page("step times", table(
        ["data", "rows", "mean", "median", "p90", "bias", "rank", "one factor", "constant MFU",
         "constant time"], times))
    context.page("choices", table(
        ["data", "sweeps", "MFU points lost, mean", "worst", "choices that did not run"], choice))
    context.page("fits", table(
        ["data", "ran, fits", "ran, refused", "out of memory, refused", "out of memory, fits"],
        fits))
    context.page("data sets", table(
        ["data", "machine", "cluster; framework", "role", "notes", "source"], about))
    worst = [cells for _, cells in sorted(worst, key=lambda w: -w[0])]
    context.page("worst", table(["data", "group", "rows", "mean", "bias"], worst[:WORST_SHOWN]))
    context.page("by group", "\n".join(parts))
