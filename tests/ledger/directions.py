"""Change one thing: does the step time move the right way, and about as far?

Layouts are those of Hagemann et al. 2023 (LLaMA 13B on 64, 65B on 128 A100, 2048 tokens, 2048
sequences a step); pairs differ in one choice, and both sides fit. The quartiles are of measured
pairs. Tensor 16 against 8 comes from the rows of vTrain, measured and simulated.

Context parallelism against recomputing everything: bars of a figure in Megatron-LM's documentation,
GPT-3 175B, read to 0.01. Pipeline, batch and, with fp8, heads of keys are not stated: 8 stages and
512 sequences a step on 256 GPUs (16384 tokens) or 512, and 8 heads, are guesses."""
import statistics

import datasets
import scores
import tables
from page import table

# model, nodes, tensor, pipeline, micro-batch
LAYOUTS = [("llama-13b", 8, 1, 2, 1), ("llama-13b", 8, 2, 1, 1), ("llama-13b", 8, 2, 2, 1),
           ("llama-13b", 8, 2, 2, 2), ("llama-65b", 16, 2, 4, 1), ("llama-65b", 16, 4, 2, 1),
           ("llama-65b", 16, 4, 4, 1), ("llama-65b", 16, 8, 2, 1), ("llama-65b", 16, 8, 4, 2)]
UNFUSED = {"model.attention": "flash2", "model.norm": "unfused"}
FUSED = {"model.attention": "flash2", "model.norm": "fused"}
CHECKPOINTED = UNFUSED | {"layout.recompute": "full"}

# name, keys of the first, keys of the second, kept, quartiles of second / first, source
DIRECTIONS = [
    ("recompute full against none", UNFUSED, CHECKPOINTED,
     lambda k: True, (1.26, 1.36), "Hagemann et al. 2023"),
    ("unfused against fused norms", FUSED, UNFUSED, lambda k: True, (1.14, 1.18),
     "Hagemann et al. 2023"),
    ("without against with sequence parallelism", FUSED | {"layout.sequence_parallel": "true"},
     FUSED, lambda k: k["layout.tensor"] > 1, (1.037, 1.106), "Hagemann et al. 2023"),
    ("tensor 8, pipeline 2 against 2, 8",
     CHECKPOINTED | {"layout.tensor": 2, "layout.pipeline": 8},
     CHECKPOINTED | {"layout.tensor": 8, "layout.pipeline": 2},
     lambda k: k["model.preset"] == "llama-65b" and k["layout.tensor"] == 8, (1.44, 1.62),
     "Hagemann et al. 2023, 8 pairs of 65B"),
]


def layouts():
    for preset, nodes, tensor, pipeline, batch in LAYOUTS:
        yield {"model.preset": preset, "model.vocabulary": 128000, "cluster.nodes": nodes,
               "layout.tensor": tensor, "layout.pipeline": pipeline,
               "layout.micro_batch": batch}


BASE = ("cluster: {preset: dgx-a100-80g}\nmodel: {preset: llama-13b, sequence: 2048}\n"
        f"layout: {{global_batch: 2048, zero: 1}}\nframework: {{{datasets.HAGEMANN_STACK}}}\n")


def ratios(context):
    """Of every direction the step times of the second over the first, wherever both fit. Rows
    that several directions need are simulated once."""
    pairs = [[(k | first, k | second) for k in layouts() if keep(k)]
             for _, first, second, keep, _, _ in DIRECTIONS]
    rows = {str(sorted(row.items())): row for direction in pairs for pair in direction
            for row in pair}
    out = dict(zip(rows, tables.sweep(context.binary, BASE, list(rows.values()))))
    found = [[[out[str(sorted(row.items()))] for row in pair] for pair in direction]
             for direction in pairs]
    return [[float(b["step_time_s"]) / float(a["step_time_s"]) for a, b in direction
             if a["fits"] == "1" and b["fits"] == "1"] for direction in found]


def line(context, name, simulated, low, high, source):
    median = statistics.median(simulated)
    outside = max(0.0, low - median, median - high)
    wrong = sum(r <= 1 for r in simulated)
    context.record("directions", name, {"wrong_sign": wrong, "outside": 100 * outside}, True)
    quartiles = [scores.percentile(simulated, q) for q in (0.25, 0.75)]
    return [name, len(simulated), f"{low:.2f} to {high:.2f}",
            f"{quartiles[0]:.2f} to {quartiles[1]:.2f}", f"{median:.2f}",
            f"{len(simulated) - wrong} of {len(simulated)}", source]


def tensor_16(context):
    dataset = next(d for d in datasets.DATASETS if d.name == "vtrain multi")
    rows, _ = context.tables.read(dataset.table)
    by = {(r["model"], r["micro_batch"], r["tp"]): r for r in rows if r["pp"] == "1"}
    pairs = [(by[model, batch, "8"], r) for (model, batch, tensor), r in by.items()
             if tensor == "16" and (model, batch, "8") in by]
    out = tables.sweep(context.binary, dataset.base,
                       [dataset.keys(r) for pair in pairs for r in pair])
    measured = [float(b["step_time_s"]) / float(a["step_time_s"]) for a, b in pairs]
    simulated = [float(b["step_time_s"]) / float(a["step_time_s"])
                 for a, b in zip(out[::2], out[1::2])]
    low, high = (scores.percentile(measured, q) for q in (0.25, 0.75))
    return line(context, "tensor 16 across nodes against 8 inside", simulated, low, high,
                "vTrain, same model and micro-batch")


READ_TO = 0.01  # of the bars
BARS = ("cluster: {preset: dgx-h100}\n"
        "model: {vocabulary: 51200, attention: flash3, bias: true, layers: 1, hidden: 128, "
        "heads: 1}\n"
        "layout: {global_batch: 512, pipeline: 8, zero: 1, sequence_parallel: true}\n"
        "framework: {preset: megatron-lm}\n")


def bar_keys(row):
    return {"cluster.nodes": 32 if row["seq"] == "16384" else 64,
            "model.layers": row["layers"], "model.hidden": row["hidden"],
            "model.heads": row["heads"], "model.kv_heads": row["kv_heads"] or 8,
            "model.sequence": row["seq"], "model.dtype": row["precision"],
            "layout.tensor": row["tp"], "layout.context": row["cp"],
            "layout.recompute": row["recompute"]}


def bar_name(row):
    return f"tensor {row['tp']}" + (f", context {row['cp']}" if row["cp"] != "1" else "")


def context_bars(context):
    """Each bar against the one of its chart that recomputes, and the fastest two."""
    rows, _ = context.tables.read("context_steps")
    rows = [row for row in rows if row["relative_speed"]]
    out = tables.sweep(context.binary, BARS, [bar_keys(row) for row in rows])
    times = {id(row): float(o["step_time_s"]) for row, o in zip(rows, out)}
    charts, pairs = {}, []
    for row in rows:
        charts.setdefault((row["seq"], row["precision"]), []).append(row)
    for base, *others in charts.values():
        pairs += [(base, row) for row in others]
        pairs += [tuple(others[-2:])] if len(others) > 2 else []
    lines = []
    for pair in pairs:
        fast, slow = sorted(pair, key=lambda row: -float(row["relative_speed"]))
        ratio = float(fast["relative_speed"]) / float(slow["relative_speed"])
        names = [bar_name(row) + (" and recomputing" if row["recompute"] == "full" else "")
                 for row in (slow, fast)]
        lines.append(line(
            context, f"{names[0]} against {names[1]}: 175B, {slow['seq']} tokens, "
            f"{slow['precision']}", [times[id(slow)] / times[id(fast)]], ratio - READ_TO,
            ratio + READ_TO, "Megatron-LM docs, context_parallel"))
    return lines


def measure(context):
    lines = [line(context, name, simulated, low, high, source)
             for (name, _, _, _, (low, high), source), simulated in zip(DIRECTIONS,
                                                                       ratios(context))]
    lines.append(tensor_16(context))
    lines += context_bars(context)
    context.page("directions", table(
        ["second against first", "pairs", "measured quartiles", "simulated quartiles", "median",
         "slower, as measured", "source"], lines))
