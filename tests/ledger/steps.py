"""Step times and memory outcomes of whole runs: each data set, simulated and scored."""
import blocks
import plot
import sheets
import tables
from results import Result, Scored, score


def run(context, dataset):
    rows, carried = context.tables.read(dataset.table)
    rows = [row for row in rows if dataset.keep(row)]
    try:
        out, alone = [
            tables.sweep(context.binary, base, [keys(row) for row in rows])
            for base, keys in ((dataset.base, dataset.keys), (dataset.shipped, dataset.stated))]
    except RuntimeError as error:
        raise RuntimeError(f"{dataset.table}.csv: {error}") from error
    return Scored(dataset, [
        Result(row, dataset.job(row), dataset.sweep(row), dataset.seconds(row), dataset.oom(row),
               float(o["step_time_s"]), o["fits"] == "1",
               float(o["step_time_s"]) * float(o["mfu"]), float(a["step_time_s"]))
        for row, o, a in zip(rows, out, alone)], carried)



def measure(context):
    found = []
    for dataset in sheets.everything(context.tables):
        if context.quick and dataset.slow:
            context.left_out.add(f"steps: {dataset.name}")
            continue
        try:
            scored = run(context, dataset)
        except tables.Missing:
            continue
        if not scored.timed:
            raise RuntimeError(f"{dataset.table}.csv: no row has a measured time")
        scored.figures = score(scored)
        context.record("steps", dataset.name, scored.figures, scored.carried)
        found.append(scored)
    families = list(dict.fromkeys(s.dataset.family for s in found))
    found.sort(key=lambda s: families.index(s.dataset.family))
    context.scored = found
    for name, text in blocks.all_of(found).items():
        context.page(name, text)
    context.picture("docs/internals/accuracy.svg", plot.draw(found))
