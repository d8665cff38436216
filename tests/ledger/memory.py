"""Bytes: what a GPU held at its peak, and what one more layer adds.

The GPU's context and fragmentation are left out where the source counts allocated bytes."""
import datasets
import scores
import tables
from page import percent, table

MIB = 1048576
GIB = 1073741824
# A reserve of nothing would mean the usual one.
ALLOCATED = ", reserve: 1 B, fragmentation: 0 %"
RESERVED = ", reserve: 1 B"


def peaks(context, name, title, more, bytes_of):
    """Rows of a data set of whole runs: its own peak beside the simulated one."""
    dataset = next(d for d in datasets.DATASETS if d.name == name)
    rows, carried = context.tables.read(dataset.table)
    rows = [r for r in rows if dataset.keep(r) and bytes_of(r)]
    base = dataset.base.replace("}", more + "}", 1)
    out = tables.sweep(context.binary, base, [dataset.keys(r) for r in rows])
    pairs = [(bytes_of(r), float(o["peak_memory_bytes"])) for r, o in zip(rows, out)]
    return [(title, pairs, carried)]


def galvatron_run(row):
    """LLaMA 2 7B of so many layers, as Hetu-Galvatron profiled it. Its file name says nothing of
    tokens; a checkpointed layer keeps 32 MiB, which are 4096 tokens of 4096 16-bit values on each
    GPU, twice what the table's own columns give."""
    recompute = "full" if "c" in row["flags"].split("_") else "none"
    return (
        "cluster: {preset: dgx-a100-80g}\n"
        "model: {hidden: 4096, heads: 32, ffn: 11008, vocabulary: 32000, mlp: swiglu, "
        f"norm_kind: rmsnorm, layers: {row['layers']}, sequence: 4096}}\n"
        f"layout: {{tensor: {row['tp']}, data: {row['dp']}, global_batch: {row['global_batch']}, "
        f"micro_batch: {int(row['global_batch']) // int(row['dp'])}, recompute: {recompute}, "
        f"sequence_parallel: {'true' if int(row['tp']) > 1 else 'false'}}}\n"
        "framework: {preset: megatron-lm}\n")


def galvatron(context):
    """Two layers less one: what a layer keeps for its backward, free of all constants."""
    rows, carried = context.tables.read("galvatron_memory_llama7b")
    by_layers = {}
    for row in rows:
        if row["pp"] == "1" and row["rank"] == "0":
            key = row["tp"], row["flags"]
            by_layers.setdefault(key, {})[row["layers"]] = row
    kept = {"none": [], "full": []}
    for pair in by_layers.values():
        text = galvatron_run(pair["2"])
        with tables.run_file(text) as path:
            simulated = float(tables.output(context.programs / "activation_bytes", path))
        measured = MIB * (float(pair["2"]["activation_MB"]) - float(pair["1"]["activation_MB"]))
        kind = "full" if "recompute: full" in text else "none"
        kept[kind].append((measured, simulated))
    return [(f"bytes a layer keeps, LLaMA 2 7B, recompute {kind} (Galvatron)", pairs, carried)
            for kind, pairs in kept.items() if pairs]


def measure(context):
    parts = [
        lambda: peaks(context, "simumax B200", "peak allocated, Llama 3 on 8 B200 (SimuMax)",
                      ALLOCATED, lambda r: float(r["mem_gb"]) * GIB),
        lambda: peaks(context, "simumax B200, context", "peak allocated, the same with shared "
                      "sequences (SimuMax)", ALLOCATED, lambda r: float(r["mem_gb"]) * GIB),
        lambda: peaks(context, "vocab parallel", "peak reserved, GPT 4B on 8 A100 (vocabulary "
                      "parallelism)", RESERVED, lambda r: float(r["mem_gb"]) * GIB),
        lambda: galvatron(context),
    ]
    lines = []
    for part in parts:
        try:
            found = part()
        except tables.Missing:
            continue
        for title, pairs, carried in found:
            f = scores.errors(pairs)
            constant, _ = scores.scaled_error([(m, 1.0) for m, _ in pairs])
            context.record("memory", title, f, carried)
            lines.append([title + ("" if carried else " *"), f["n"], percent(f["mean"]),
                          percent(f["median"]), percent(f["p90"]), percent(f["bias"], True),
                          percent(constant)])
    context.page("memory", table(
        ["what", "rows", "mean", "median", "p90", "bias", "constant"], lines))
