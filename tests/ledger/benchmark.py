#!/usr/bin/env python3
"""Writes the benchmark: rows of the ledger that may be passed on, and the baselines' predictions.

    benchmark.py BUILD/trainyard [--bands] [--check]

Rows go to tests/ledger/rows, one table for each data set; predictions of trainyard, of a constant
MFU for each GPU, and those that a source prints beside its measurements to tests/ledger/predictions.
--bands also asks for 90 % bands, which takes many minutes;
--check writes nothing and fails where rows differ from the ledger's tables; it simulates nothing."""
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


def checked(binary, keys, *options):
    """What `check` says of a model on one GPU of its kind."""
    run = datasets.run_file({k: v for k, v in keys.items() if k.startswith("model.") and v != ""} |
                            {"cluster.preset": keys["cluster.preset"], "cluster.nodes": 1,
                             "cluster.gpus_per_node": 1, "layout.global_batch": 1})
    with tables.run_file(run) as path:
        return tables.output(binary, "check", path, *options, answers=(0, 1))


def parameters(binary, keys):
    found = re.search(r"([\d,]+) parameters", checked(binary, keys))
    return found.group(1).replace(",", "")


def shapes(binary, keys):
    """Sizes that a preset stands for, so that a row can be read without trainyard."""
    shown = checked(binary, keys, "--show-config")
    words = [line.split(None, 2)[:2] for line in shown.splitlines() if "." in line]
    wanted = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary", "head_dim", "experts",
              "experts_per_token", "expert_ffn", "shared_ffn", "dense_layers")
    return ({f"model.{name}": value for name in wanted for key, value in words
             if key == f"model.{name}" and value not in ("none", "auto", "0")},
            dict(words).get("cluster.gpu", ""))


def row_of(binary, dataset, at, row, known):
    job = {k: str(v) for k, v in dataset.job(row).items() if not k.startswith("uncertainty")}
    of_preset = job.get("model.preset", ""), job["cluster.preset"]
    if of_preset not in known:
        known[of_preset] = shapes(binary, job)
    sizes, gpu = known[of_preset]
    model = tuple(sorted((k, v) for k, v in job.items() if k.startswith("model.") and k != "model.sequence"))
    if model not in known:
        known[model] = parameters(binary, job)
    job = {k: v for k, v in job.items() if v != ""}
    job = (sizes if "model.preset" in job else {}) | {k: v for k, v in job.items() if k != "model.preset"}
    oom = dataset.oom(row)
    held = row.get("measured_mem_gib") or row.get("mem_gib") or row.get("mem_gb") or ""
    name = dataset.name.replace(",", "").replace(" ", "-").lower()
    return {"id": f"{name}-{at}", "source": row.get("source") or dataset.source,
            "licence": of(dataset.table, LICENCES), "noise": of(dataset.table, NOISE), "gpu": gpu,
            "gpus": int(job["cluster.nodes"]) * int(job.get("cluster.gpus_per_node", 8)),
            "sweep": f"{name}: {dataset.sweep(row)}", "layouts": int(dataset.layouts),
            "measured_s": f"{dataset.seconds(row):.6g}" if dataset.seconds(row) else "",
            "peak_memory_gib": held,
            "oom": "" if oom is None else int(oom), "power_w": row.get("power_w") or "",
            "params": known[model]} | (
                {"memory_kind": of(dataset.table, MEMORY)} if held else {}) | job


def collect(binary):
    """[(dataset, its table, rows of the benchmark)] of what the repository carries."""
    own, known, found = tables.Tables(None), {}, []
    for dataset in sheets.everything(own):
        try:
            rows = [row for row in own.read(dataset.table)[0] if dataset.keep(row)]
        except tables.Missing:
            continue
        found.append((dataset, rows, [row_of(binary, dataset, at, row, known)
                                      for at, row in enumerate(rows, 1)]))
    return found


def text_of(rows, first):
    columns = first + sorted({c for row in rows for c in row} - set(first))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def file_of(dataset):
    return dataset.name.replace(",", "").replace(" ", "-").lower() + ".csv"


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
    for dataset, source, rows in found:
        for name, base, keys_of in (("trainyard-shipped", dataset.shipped, dataset.stated),
                                    ("trainyard-documented", dataset.base, dataset.keys)):
            keys = [keys_of(row) for row in source]
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


def check(found):
    """TAP: rows are those of the ledger's tables."""
    print(f"1..{len(found)}")
    failed = 0
    for at, (dataset, _, rows) in enumerate(found, 1):
        path = HERE / "rows" / file_of(dataset)
        there = list(csv.DictReader(path.open(encoding="utf-8", newline=""))) if path.exists() else []
        same = [{k: v for k, v in row.items() if v and k != "ideal_s"} for row in there] == \
            [{k: str(v) for k, v in row.items() if v != ""} for row in rows]
        failed += not same
        print(f"{'ok' if same else 'not ok'} {at} - {path.name} has the ledger's rows; else benchmark.py")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trainyard", help="the program, in its build directory")
    parser.add_argument("--bands", action="store_true", help="with 90 %% bands, in many minutes")
    parser.add_argument("--check", action="store_true", help="compare rows, write nothing")
    args = parser.parse_args()
    binary = pathlib.Path(args.trainyard).resolve()
    found = collect(binary)
    if args.check:
        return check(found)
    said = simulate(binary, found, args.bands)
    for folder in ("rows", "predictions"):
        (HERE / folder).mkdir(exist_ok=True)
        for path in (HERE / folder).glob("*.csv"):
            path.unlink()
    for dataset, _, rows in found:
        ledger.write(HERE / "rows" / file_of(dataset), text_of(rows, FIRST))
    said["constant-mfu"] = constant_mfu(read_rows(HERE / "rows"))
    for name, lines in said.items():
        ledger.write(HERE / "predictions" / f"{name}.csv", text_of(lines, ["id", "step_time_s"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
