"""Change one thing: does the step time move the right way, and about as far?

Layouts are those of Hagemann et al. 2023 (LLaMA 13B on 64, 65B on 128 A100, 2048 tokens, 2048
sequences a step); pairs differ in one choice, and both sides fit. The quartiles are of measured
pairs. Tensor 16 against 8 comes from the rows of vTrain, measured and simulated."""
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


def ratios(context, first, second, keep):
    """Step time of the second over the first, wherever both fit."""
    grid = [k for k in layouts() if keep(k)]
    base = ("cluster: {preset: dgx-a100-80g}\nmodel: {preset: llama-13b, sequence: 2048}\n"
            "layout: {global_batch: 2048, zero: 1}\nframework: {preset: megatron-deepspeed}\n")
    out = tables.sweep(context.binary, base,
                       [k | first for k in grid] + [k | second for k in grid])
    pairs = zip(out[:len(grid)], out[len(grid):])
    return [float(b["step_time_s"]) / float(a["step_time_s"]) for a, b in pairs
            if a["fits"] == "1" and b["fits"] == "1"]


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


def measure(context):
    lines = [line(context, name, ratios(context, first, second, keep), low, high, source)
             for name, first, second, keep, (low, high), source in DIRECTIONS]
    lines.append(tensor_16(context))
    context.page("directions", table(
        ["second against first", "pairs", "measured quartiles", "simulated quartiles", "median",
         "slower, as measured", "source"], lines))
