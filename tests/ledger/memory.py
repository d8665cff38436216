"""Bytes: what a GPU held at its peak, and what one more layer adds.

The GPU's context and fragmentation are left out where the source counts allocated bytes."""
import scores
import sheets
import tables
from page import percent, table

MIB = 1048576
GIB = 1073741824
# A reserve of nothing would mean the usual one.
RESERVED = {"cluster.reserve": "1 B"}
ALLOCATED = RESERVED | {"cluster.fragmentation": "0 %"}


def peaks(context, name, title, more, bytes_of):
    """Rows of a data set of whole runs: its own peak beside the simulated one."""
    dataset = next((d for d in sheets.everything(context.tables) if d.name == name), None)
    if dataset is None:
        raise tables.Missing(name)
    rows, carried = context.tables.read(dataset.table)
    rows = [r for r in rows if dataset.keep(r) and bytes_of(r)]
    out = tables.sweep(context.binary, dataset.base, [dataset.keys(r) | more for r in rows])
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


# Of DeepSeek-V3 on 256 H100 (arXiv 2603.07685, tables 3 and 4): PP4 VPP4 EP64, micro-batch 1. Which
# rank it is of is not stated: the third stage, of 15 layers with experts, has their 36.4 GB of
# weights and gradients. What a change saves is so many activations less.
DEEPSEEK = ("cluster: {preset: dgx-h100, nodes: 32}\n"
            "model: {preset: deepseek-v3, sequence: 4096, attention: flash3}\n"
            "layout: {pipeline: 4, expert: 64, zero: 1, global_batch: 1024}\n"
            "schedule: {name: interleaved, chunks: 4}\n")
DEEPSEEK_STAGE = 2
KEPT = ["framework.scale_activation=false"]  # its table's own start
HELD = {
    "weights and gradients": ["weights", "expert weights", "gradients", "expert gradients"],
    "main weights and optimizer states": ["optimizer", "expert optimizer"],
    "activations": ["activations"],
}
SAVED = {  # with, without
    "saved by memory-efficient permutation": ([], KEPT),
    "saved by fp8 inputs of linear layers": (
        ["model.dtype=fp8"], ["model.dtype=fp8", "framework.fp8_activations=false"]),
    "saved by recomputing MLA up projection": (["layout.recompute=mla_up"], []),
    "saved by recomputing norms": (["layout.recompute=norm"], []),
    "saved by recomputing SwiGLU": (["layout.recompute=moe_act"], []),
}


def deepseek(context):
    """Its published memory, item by item."""
    rows, carried = context.tables.read("moe/moe_memory")
    with tables.run_file(DEEPSEEK) as path:
        def held(items, sets):
            text = tables.output(context.programs / "stage_bytes", path, DEEPSEEK_STAGE, *sets)
            lines = [line.split(" ", 1) for line in text.splitlines()]
            return sum(float(size) for size, what in lines if what in items)

        def simulated(what):
            if what in HELD:
                return held(HELD[what], KEPT)
            less, more = SAVED[what]
            return held(HELD["activations"], more) - held(HELD["activations"], less)

        found = [(r["what"], float(r["gb"]), simulated(r["what"]) * 1e-9) for r in rows]
    context.page("deepseek memory", table(
        ["DeepSeek-V3, GB of a GPU *", "published", "simulated", "error"],
        [[what, f"{gb:.1f}", f"{ours:.1f}", percent(100 * (ours / gb - 1), True)]
         for what, gb, ours in found]))
    return [("memory of DeepSeek-V3 on 256 H100", [(gb, ours) for _, gb, ours in found], carried)]


def measure(context):
    parts = [
        lambda: peaks(context, "simumax B200", "peak allocated, Llama 3 on 8 B200 (SimuMax)",
                      ALLOCATED, lambda r: float(r["mem_gb"]) * GIB),
        lambda: peaks(context, "simumax B200, context", "peak allocated, the same with shared "
                      "sequences (SimuMax)", ALLOCATED, lambda r: float(r["mem_gb"]) * GIB),
        lambda: peaks(context, "mlperf LoRA", "peak allocated, LoRA of Llama 2 70B on 8 B200 (MLPerf)",
                      ALLOCATED, lambda r: float(r["measured_mem_gib"] or 0) * GIB),
        lambda: peaks(context, "vocab parallel", "peak reserved, GPT 4B on 8 A100 (vocabulary "
                      "parallelism)", RESERVED, lambda r: float(r["mem_gb"]) * GIB),
        lambda: galvatron(context),
        lambda: deepseek(context),
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
