#!/usr/bin/env python3
"""Writes the benchmark: rows of the ledger that may be passed on, and the baselines' predictions.

    benchmark.py BUILD/trainyard [--bands] [--check]

Rows go to tests/ledger/rows, one table for each data set, machines to tests/ledger/machines.csv;
predictions of trainyard, of a constant MFU for each GPU, and those that a source prints beside its
measurements to tests/ledger/predictions.
--bands also asks for 90 % bands, which takes many minutes;
--check writes nothing. It fails where rows differ from the ledger's tables, or where a model's columns
alone give other parameters or another step than its preset."""
import argparse
import csv
import io
import pathlib
import re
import sys

import datasets
import ledger
import scores
import memory
import sheets
import tables
from score import by, read_rows

HERE = pathlib.Path(__file__).resolve().parent
MACHINES = HERE / "machines.csv"
FIRST = ["id", "source", "licence", "noise", "gpu", "gpus", "sweep", "layouts", "measured_s",
         "peak_memory_gib", "oom", "power_w", "params", "ideal_s"]
LICENCES = {"vtrain": "MIT", "mosaic": "Apache-2.0", "simumax": "Apache-2.0", "context": "Apache-2.0",
            "expert": "MIT, Apache-2.0; facts of papers", "korthikanti": "facts of a paper",
            "large": "facts of papers", "mlperf": "Apache-2.0", "megatron": "Apache-2.0"}
# What the peak of a GPU counts: PyTorch's max_memory_allocated, or all that it reserved.
MEMORY = {"simumax": "allocated", "mlperf": "allocated", "vocab": "reserved"}
OF_KIND = {"allocated": memory.ALLOCATED, "reserved": memory.RESERVED, "": {}}
# Relative noise of a step time, where exact repeats say so.
NOISE = {"mlperf": "0.003"}


def of(table, prefixes):
    return next((text for prefix, text in prefixes.items() if table.startswith(prefix)), "")


# A run file that says nothing, so that the columns say all.
NOTHING = "cluster: {}\nmodel: {}\nlayout: {}\n"
UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "Gi": 2**30}


def checked(binary, keys, *options):
    """What `check` says of a model on one GPU of its kind."""
    run = datasets.run_file({k: v for k, v in keys.items() if k.startswith("model.") and v != ""} |
                            {"cluster.preset": keys["cluster.preset"], "cluster.nodes": 1,
                             "cluster.gpus_per_node": 1, "layout.global_batch": 1})
    with tables.run_file(run) as path:
        return tables.output(binary, "check", path, *options, answers=(0, 1))


def config(text):
    """{key: (value, where it is from)} of --show-config."""
    return {key: (value, origin) for key, value, origin in
            re.findall(r"^(\S+) +(.*?) +# (.*)$", text, re.M)}


def parameters(binary, keys):
    found = re.search(r"([\d,]+) parameters", checked(binary, keys))
    return found.group(1).replace(",", "")


def shapes(binary, keys):
    """All that a preset of a model stands for, so that a row can be read without trainyard."""
    shown = config(checked(binary, keys, "--show-config"))
    return ({key: value for key, (value, origin) in shown.items()
             if key.startswith("model.") and origin.startswith("preset ")}, shown["cluster.gpu"][0])


def invented(found):
    """{(key, value)} that were chosen so that rows of some set come out right."""
    return {(key, i.value) for d in found for key, i in d.inputs.items() if i.how.startswith("fitted")}


def stated(dataset, row, fitted):
    """Keys of a row: what its set says of all, but for inputs that no source has, then its own."""
    keys = {k: v for k, v in datasets.written(dataset.base).items()
            if k not in dataset.inputs and not k.startswith("uncertainty")}
    keys |= {k: str(v) for k, v in dataset.stated(row).items() if v != ""}
    return {k: v for k, v in keys.items() if (k, v) not in fitted}


def row_of(binary, dataset, at, row, keys, known):
    of_preset = keys.get("model.preset", ""), keys["cluster.preset"]
    if of_preset not in known:
        known[of_preset] = shapes(binary, keys)
    sizes, gpu = known[of_preset]
    job = sizes | {k: v for k, v in keys.items() if k != "model.preset"}
    model = tuple(sorted((k, v) for k, v in job.items() if k.startswith("model.") and k != "model.sequence"))
    if model not in known:
        known[model] = parameters(binary, job)
    oom = dataset.oom(row)
    held = row.get("measured_mem_gib") or row.get("mem_gib") or row.get("mem_gb") or ""
    name = name_of(dataset)
    sweeps = known.setdefault(name, [])
    if dataset.sweep(row) not in sweeps:
        sweeps.append(dataset.sweep(row))
    return {"id": f"{name}-{at}", "source": row.get("source") or dataset.source,
            "licence": of(dataset.table, LICENCES), "noise": of(dataset.table, NOISE), "gpu": gpu,
            "gpus": int(job["cluster.nodes"]) * int(job.get("cluster.gpus_per_node", 8)),
            "sweep": f"{name} {1 + sweeps.index(dataset.sweep(row))}", "layouts": int(dataset.layouts),
            "measured_s": f"{dataset.seconds(row):.6g}" if dataset.seconds(row) else "",
            "peak_memory_gib": held,
            "oom": "" if oom is None else int(oom), "power_w": row.get("power_w") or "",
            "params": known[model]} | (
                {"memory_kind": of(dataset.table, MEMORY)} if held else {}) | job


def name_of(dataset):
    return dataset.name.replace(",", "").replace(" ", "-").lower()


def columns(row):
    return {k: v for k, v in row.items() if "." in k}


def collect(binary):
    """[(dataset, its table, what it states, rows of the benchmark)] of what the repository carries."""
    own, known, found = tables.Tables(None), {}, []
    fitted = invented(sheets.everything(own))
    for dataset in sheets.everything(own):
        try:
            rows = [row for row in own.read(dataset.table)[0] if dataset.keep(row)]
        except tables.Missing:
            continue
        keys = [stated(dataset, row, fitted) for row in rows]
        found.append((dataset, rows, keys, [row_of(binary, dataset, at, row, own_keys, known)
                                            for at, (row, own_keys) in enumerate(zip(rows, keys), 1)]))
    return found


def text_of(rows, first):
    rows = list(rows)
    first = first or list(rows[0])
    names = first + sorted({c for row in rows for c in row} - set(first))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def amount(text):
    """"2.5 PFLOP/s" in FLOP/s, "none" as nothing."""
    number, _, unit = text.partition(" ")
    prefix = re.match(r"(?:[kMGTP]i?)?", unit)[0]
    return float(number) * UNITS.get(prefix, 1) if number != "none" else 0


def machines(binary):
    """A line for each preset of a cluster: what its data sheets say, and where they are."""
    def sources(what):
        return dict(re.findall(r"^(\S+) .*\[(.*)\]$", tables.output(binary, "list", what), re.M))
    gpus = sources("gpus")
    for name, source in sources("clusters").items():
        keys = {"cluster.preset": name, "model.preset": "llama3-8b", "layout.global_batch": 144,
                "model.sequence": 4096, "model.dtype": "fp16"}
        with tables.run_file(datasets.run_file(keys | {"cluster.nodes": 1})) as path:
            shown = config(tables.output(binary, "check", path, "--show-config", answers=(0, 1)))
        value = {key.removeprefix("cluster."): text for key, (text, _) in shown.items()}
        size = int(value["gpus_per_node"])
        nics = int(value["nics_per_node"]) if value["nics_per_node"] != "auto" else size
        yield {"cluster.preset": name, "gpu": value["gpu"], "gpus_per_node": size} | {
            f"{kind}_tflop_per_s": f"{amount(value['peak_' + kind]) / 1e12:g}" if
            amount(value["peak_" + kind]) else "" for kind in ("fp16", "bf16", "fp8", "fp4")} | {
                "memory_gib": f"{amount(value['memory']) / 2**30:g}",
                "memory_gb_per_s": f"{amount(value['memory_bandwidth']) / 1e9:g}",
                "nvlink_gb_per_s": f"{amount(value['nvlink_bandwidth']) / 1e9:g}",
                "nic_gbit_per_s_per_gpu": f"{8 * nics * amount(value['nic_bandwidth']) / size / 1e9:g}",
                "source": "; ".join(dict.fromkeys(
                    part for part in f"{gpus[value['gpu']]}; {source}".split("; ")
                    if not part.startswith(("kernel figures", "links of"))))}


def constant_mfu(rows):
    """One MFU for each model of GPU, which makes the mean error of its own rows least."""
    said = []
    for group in by([r for r in rows.values() if r["ideal_s"] and r["measured_s"]], "gpu").values():
        factor = scores.best_factor([r["ideal_s"] / r["measured_s"] for r in group])
        said += [{"id": r["id"], "step_time_s": f"{factor * r['ideal_s']:.6g}"} for r in group]
    return said


def told(row, out, held, bands):
    """A prediction from a line of a sweep, its bytes from one that counts as the source does."""
    said = {"id": row["id"], "step_time_s": f"{float(out['step_time_s']):.6g}",
            "peak_memory_gib": f"{float(held['peak_memory_bytes']) / 2**30:.5g}", "fits": out["fits"]}
    if bands:
        said |= {"low_s": out["step_low_s"], "high_s": out["step_high_s"]}
    return said


def simulate(binary, found, bands):
    """Fills in what a step would take at the GPU's peak; predictions of trainyard and of sources."""
    options = ["--uncertain"] if bands else []
    said = {"trainyard-shipped": [], "trainyard-documented": [], "simumax-1.2": []}
    for dataset, source, _, rows in found:
        for name, base, keys in (
                ("trainyard-documented", dataset.base, [dataset.keys(row) for row in source]),
                ("trainyard-shipped", NOTHING, [columns(row) for row in rows])):
            out = tables.sweep(binary, base, keys, *options)
            counted = [key | OF_KIND[row.get("memory_kind", "")] for key, row in zip(keys, rows)]
            held = out if counted == keys else tables.sweep(binary, base, counted)
            said[name] += [told(*line, bands) for line in zip(rows, out, held)]
        for row, o in zip(rows, out):
            row["ideal_s"] = f"{float(o['step_time_s']) * float(o['mfu']):.6g}"
        said["simumax-1.2"] += [
            {"id": row["id"], "step_time_s": f"{1e-3 * float(r['simumax_pred_ms']):.6g}",
             "peak_memory_gib": r["simumax_pred_alloc_gib"]}
            for row, r in zip(rows, source) if r.get("simumax_pred_ms")]
    return said


def whole(binary, dataset, keys, rows):
    """Whether columns alone give the parameters of the presets, and steps where they take no minutes:
    of a row of each model."""
    first = {row["params"]: (own, columns(row)) for own, row in zip(keys, rows) if "model.preset" in own}
    if list(first) != [parameters(binary, own) for own, _ in first.values()]:
        return False
    steps = [[line["step_time_s"] for line in tables.sweep(binary, NOTHING, list(said))]
             for said in zip(*first.values()) if not dataset.slow]
    return steps[:1] == steps[1:]


def check(binary, found):
    """TAP: rows are those of the ledger's tables."""
    print(f"1..{len(found) + 1}")
    failed = 0
    for at, (dataset, _, keys, rows) in enumerate(found, 1):
        path = HERE / "rows" / f"{name_of(dataset)}.csv"
        there = list(csv.DictReader(path.open(encoding="utf-8", newline=""))) if path.exists() else []
        same = [{k: v for k, v in row.items() if v and k != "ideal_s"} for row in there] == \
            [{k: str(v) for k, v in row.items() if v != ""} for row in rows]
        good = same and whole(binary, dataset, keys, rows)
        failed += not good
        print(f"{'ok' if good else 'not ok'} {at} - {path.name} has the ledger's rows; else benchmark.py"
              f"{'' if good or not same else ' # its columns do not say all that its presets do'}")
    same = MACHINES.exists() and MACHINES.read_text(encoding="utf-8") == text_of(machines(binary), [])
    print(f"{'ok' if same else 'not ok'} {len(found) + 1} - {MACHINES.name} has the presets' machines")
    return 1 if failed or not same else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trainyard", help="the program, in its build directory")
    parser.add_argument("--bands", action="store_true", help="with 90 %% bands, in 12 minutes")
    parser.add_argument("--check", action="store_true", help="compare rows, write nothing")
    args = parser.parse_args()
    binary = pathlib.Path(args.trainyard).resolve()
    found = collect(binary)
    if args.check:
        return check(binary, found)
    said = simulate(binary, found, args.bands)
    for folder in ("rows", "predictions"):
        (HERE / folder).mkdir(exist_ok=True)
    for dataset, *_, rows in found:
        ledger.write(HERE / "rows" / f"{name_of(dataset)}.csv", text_of(rows, FIRST))
    ledger.write(MACHINES, text_of(machines(binary), []))
    said["constant-mfu"] = constant_mfu(read_rows(HERE / "rows"))  # those of others, too
    for name, lines in said.items():
        ledger.write(HERE / "predictions" / f"{name}.csv", text_of(lines, ["id", "step_time_s"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
