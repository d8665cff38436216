#!/usr/bin/env python3
"""Figures of papers beside simulations of the same runs.

    papers.py BUILD/trainyard [--only PART] [--write docs/internals/papers.md] [--check docs/internals/papers.md]

--only prints one part; --write renews the tables of the page; --check fails when one of them is
out of date, or when an error exceeds what the page states. Published figures are here, or in tests/ledger/data."""
import argparse
import json
import pathlib
import sys

import claims
import datasets
import tables
from page import fill, folded, percent, table

A100 = 312e12

# ---- Narayanan et al. 2021, table 1 ----

# Billions of parameters, heads, hidden, layers, tensor, pipeline, GPUs, batch, TFLOP/s per GPU as
# printed; micro-batch and chunks per pipeline rank as in the authors' released run_table_1.sh.
SC21 = [
    (1.7, 24, 2304, 24, 1, 1, 32, 512, 137, 16, 1),
    (3.6, 32, 3072, 30, 2, 1, 64, 512, 138, 16, 1),
    (7.5, 32, 4096, 36, 4, 1, 128, 512, 142, 16, 1),
    (18.4, 48, 6144, 40, 8, 1, 256, 1024, 135, 8, 1),
    (39.1, 64, 8192, 48, 8, 2, 512, 1536, 138, 4, 1),
    (76.1, 80, 10240, 60, 8, 4, 1024, 1792, 140, 2, 3),
    (145.6, 96, 12288, 80, 8, 8, 1536, 2304, 148, 2, 2),
    (310.1, 128, 16384, 96, 8, 16, 1920, 2160, 155, 1, 2),
    (529.6, 128, 20480, 105, 8, 35, 2520, 2520, 163, 1, 3),
    (1008.0, 160, 25600, 128, 8, 64, 3072, 3072, 163, 1, 1),
]
SEQUENCE, VOCABULARY = 2048, 51200
GPT = ("attention: fused-softmax, bias: true, tied: true, dropout: 0.1, positions: 2048, "
       "dtype: fp16")
SC21_STACK = ("preset: megatron-lm, overlap_grad_reduce: false, overlap_param_gather: false, "
              "overlap_p2p: false, overlap_tensor_reduce: false, fused_accumulation: false, "
              "layer_floor: 1.05 ms")
SC21_LIMIT = 13.0  # percent


def sc21_parameters(hidden, layers):
    """Equation 2 of the paper."""
    return 12 * layers * hidden**2 * (1 + 13 / (12 * hidden)
                                      + (VOCABULARY + SEQUENCE) / (12 * layers * hidden))


def sc21_flops(batch, hidden, layers):
    """Equation 3: of a step, with activations computed again."""
    return 96 * batch * SEQUENCE * layers * hidden**2 * (
        1 + SEQUENCE / (6 * hidden) + VOCABULARY / (16 * layers * hidden))


def gpt_keys(heads, hidden, layers, tensor, pipeline, gpus, batch, micro_batch, chunks):
    return {"cluster.nodes": max(gpus // 8, 1), "cluster.gpus_per_node": min(gpus, 8),
            "model.layers": layers, "model.hidden": hidden, "model.heads": heads,
            "model.vocabulary": VOCABULARY, "model.sequence": SEQUENCE, "layout.tensor": tensor,
            "layout.pipeline": pipeline, "layout.micro_batch": micro_batch,
            "layout.global_batch": batch, "layout.recompute": "full",
            "schedule.name": "interleaved" if chunks > 1 else "1f1b", "schedule.chunks": chunks}


def table_1(context):
    base = datasets.base("preset: dgx-a100-80g", GPT, "", SC21_STACK)
    results = tables.sweep(context.binary, base, [
        {**gpt_keys(heads, hidden, layers, t, p, gpus, batch, b, v),
         "framework.overlap_grad_reduce": str(p == 1).lower()}  # PyTorch's DDP there, its own else
        for _, heads, hidden, layers, t, p, gpus, batch, _, b, v in SC21])
    rows = []
    for (billions, _, hidden, layers, t, p, gpus, batch, tflops, b, v), result in zip(SC21, results):
        counted = sc21_parameters(hidden, layers) / 1e9
        context.claim(f"{counted:.2f} billion parameters are printed as {billions:g}",
                      round(counted, 1 if billions < 1000 else 0) == billions)
        flops, simulated = sc21_flops(batch, hidden, layers), float(result["step_time_s"])
        step = flops / gpus / (tflops * 1e12)
        error = context.hold(f"table 1, {billions}B", 100 * (simulated / step - 1), SC21_LIMIT)
        rows.append([f"{billions:g}B", gpus, f"{t}, {p}, {v}", f"{batch}, {b}", tflops,
                     f"{flops / gpus / simulated / 1e12:.0f}", f"{step:.2f} s",
                     f"{simulated:.2f} s", percent(error, True)])
    context.page(
        "table 1", ["model", "GPUs", "tensor, pipeline, chunks", "batch, micro-batch", "TFLOP/s, paper",
         "simulated", "step, from these", "simulated", "error"], rows)


# ---- Narayanan et al. 2021, table 2 ----

# Heads, hidden, layers, data-parallel rows of ZeRO-3 (GPUs, micro-batch, TFLOP/s per GPU), stages of
# PTD-P with tensor 8 and its rows. A ZeRO-3 rank has one micro-batch, which is the batch.
TABLE_2 = [
    ("175B", 96, 12288, 96, [(384, 4, 144), (768, 2, 88), (1536, 1, 44)], 12,
     [(384, 1536, 153), (768, 1536, 149), (1536, 1536, 141)]),
    ("530B", 128, 20480, 105, [(640, 4, 138), (1120, 2, 98), (2240, 1, 48)], 35,
     [(560, 2240, 171), (1120, 2240, 167), (2240, 2240, 159)]),
]
TABLE_2_LIMIT = {"ZeRO-3, 175B": 15.0, "ZeRO-3, 530B": 18.0, "PTD-P, 175B": 15.0,
                 "PTD-P, 530B": 15.0}


def table_2(context):
    """ZeRO-3 of early 2021 without model parallelism beside tensor and pipeline parallelism."""
    runs = []
    for model, heads, hidden, layers, sharded, stages, ptd in TABLE_2:
        for gpus, micro, tflops in sharded:
            keys = gpt_keys(heads, hidden, layers, 1, 1, gpus, gpus * micro, micro, 1)
            runs.append(("ZeRO-3", model, gpus, micro, tflops, sc21_flops(gpus * micro, hidden, layers),
                         {**keys, "layout.zero": 3, "framework.preset": "deepspeed-zero3-2021"}))
        for gpus, batch, tflops in ptd:
            keys = gpt_keys(heads, hidden, layers, 8, stages, gpus, batch, 1, 1)
            runs.append(("PTD-P", model, gpus, 1, tflops, sc21_flops(batch, hidden, layers),
                         {**keys, "layout.zero": 0, "framework.preset": "megatron-lm"}))
    results = [row for scheme, stack in (("ZeRO-3", "layer_floor: 1.05 ms"), ("PTD-P", SC21_STACK))
               for row in tables.sweep(context.binary,
                                       datasets.base("preset: dgx-a100-80g", GPT, "", stack),
                                       [run[-1] for run in runs if run[0] == scheme])]
    runs.sort(key=lambda run: run[0] != "ZeRO-3")
    rows, rate = [], {}
    for (scheme, model, gpus, micro, tflops, flops, _), result in zip(runs, results):
        simulated, step = float(result["step_time_s"]), flops / gpus / (tflops * 1e12)
        rate.setdefault((scheme, model), []).append(flops / gpus / simulated / 1e12)
        error = context.hold(f"table 2, {scheme}, {model} on {gpus}", 100 * (simulated / step - 1),
                             TABLE_2_LIMIT[f"{scheme}, {model}"])
        rows.append([scheme, model, gpus, micro, tflops, f"{rate[scheme, model][-1]:.0f}",
                     f"{step:.1f} s", f"{simulated:.1f} s", percent(error, True)])
    for model in ("175B", "530B"):
        zero3, ptd = rate["ZeRO-3", model], rate["PTD-P", model]
        lead = [b / a for a, b in zip(zero3, ptd)]
        context.claim(f"{model}: PTD-P is faster by more the more GPUs there are, and at no size slower "
                      "by more than 2 %", lead == sorted(lead) and lead[0] > 0.98 and lead[1] > 1)
    context.page("table 2", ["scheme", "model", "GPUs", "micro-batch", "TFLOP/s, paper", "simulated",
                             "step, from these", "simulated", "error"], rows)


# ---- Korthikanti et al. 2022, table 5 ----

KORTHIKANTI_LIMIT = 10.0


def table_5(context):
    data = next(d for d in datasets.DATASETS if d.name == "korthikanti")
    published, _ = tables.Tables(None).read(data.table)
    results = tables.sweep(context.binary, data.base, [data.keys(row) for row in published])
    rows, times = [], {}
    for row, result in zip(published, results):
        model, how = row["model"], row["act_ckpt"]
        step, simulated = float(row["step_time_s"]), float(result["step_time_s"])
        times[model, how] = step, simulated
        error = context.hold(f"table 5, {model} {how}", 100 * (simulated / step - 1),
                             KORTHIKANTI_LIMIT)
        gain = ["", ""]
        if how == "selective":
            gain = [percent(100 * (times[model, "full"][k] / times[model, how][k] - 1), True)
                    for k in (0, 1)]
        rows.append([model, row["gpus"], how + (", sequence parallel" * (how == "selective")),
                     f"{step:.2f} s", f"{simulated:.2f} s", percent(error, True), *gain])
    context.page("table 5", ["model", "GPUs", "recomputation", "step, paper", "simulated",
                             "error", "throughput gained, paper", "simulated"], rows)


# ---- Narayanan et al. 2021, interleaving ----

CHUNKS = 4  # two layers each

def interleaving(context):
    """175 billion parameters, 12 stages of 8 GPUs, one replica: the authors' run_figure_12.sh."""
    batches = [12, 24, 36, 48, 60]
    base = datasets.base("preset: dgx-a100-80g", GPT, "", SC21_STACK)
    results = tables.sweep(context.binary, base, [
        gpt_keys(96, 12288, 96, 8, 12, 96, batch, 1, v) for batch in batches for v in (1, CHUNKS)])
    steps = [float(result["step_time_s"]) for result in results]
    gains = [100 * (plain / chunked - 1) for plain, chunked in zip(steps[::2], steps[1::2])]
    context.claim("interleaving gains more than 10 % at the smallest batch", gains[0] > 10)
    context.claim("and less the larger the batch", gains == sorted(gains, reverse=True))
    context.claim("but gains at all of them", gains[-1] > 0)
    context.page(
        "interleaving", ["batch", "1F1B", f"interleaved, {CHUNKS} chunks", "throughput gained", f"bubble by formula, 1 and "
         f"{CHUNKS} chunks"],
        [[batch, f"{plain:.2f} s", f"{chunked:.2f} s", percent(gain, True),
          f"{100 * 11 / (batch + 11):.1f} %, {100 * 11 / (CHUNKS * batch + 11):.1f} %"]
         for batch, plain, chunked, gain in zip(batches, steps[::2], steps[1::2], gains)])


# ---- Narayanan et al. 2021, scatter/gather ----


def scatter_gather(context):
    """The same model, whose interleaved messages block, as they did until 2023, or overlap."""
    base = datasets.base("preset: dgx-a100-80g", GPT, "", SC21_STACK)
    cases = [(chunks, overlap) for overlap in ("false", "auto") for chunks in (2, 4)]
    results = tables.sweep(context.binary, base, [
        {**gpt_keys(96, 12288, 96, 8, 12, 96, 60, 1, chunks), "framework.overlap_p2p": overlap,
         "framework.scatter_gather_p2p": parts}
        for chunks, overlap in cases for parts in ("false", "true")])
    steps = [float(result["step_time_s"]) for result in results]
    gains = [100 * (whole / parts - 1) for whole, parts in zip(steps[::2], steps[1::2])]
    context.claim("messages that block gain 3 to 11 %", 3 < gains[0] < gains[1] < 11)
    context.claim("those that overlap gain less than 1 %", max(gains[2:]) < 1)
    context.page(
        "scatter gather", ["messages", "chunks", "whole", "scattered and gathered", "throughput gained"],
        [["block" if overlap == "false" else "overlap", chunks, f"{whole:.2f} s", f"{parts:.2f} s",
          percent(gain, True)] for (chunks, overlap), whole, parts, gain
         in zip(cases, steps[::2], steps[1::2], gains)])


# ---- Chowdhery et al. 2022 (PaLM), MFU ----

PALM = {"layers": 118, "hidden": 18432, "heads": 48, "kv_heads": 1, "head_dim": 256,
        "ffn": 73728, "vocabulary": 256000, "sequence": 2048}
PALM_LIMIT = 1.2


def palm(context):
    tokens_per_s, chips, peak, published = 238.3e3, 6144, 275e12, 46.2
    n = PALM["layers"] * PALM["hidden"] * (2 * PALM["heads"] * PALM["head_dim"]
                                           + 2 * PALM["head_dim"] + 3 * PALM["ffn"])
    n += PALM["vocabulary"] * PALM["hidden"]  # one matrix, for input and output
    paper = 6 * n + 12 * PALM["layers"] * PALM["heads"] * PALM["head_dim"] * PALM["sequence"]
    model = ", ".join(f"{key}: {value}" for key, value in PALM.items())
    # any GPUs will do to ask how many FLOPs a token has
    run = (f"cluster: {{preset: dgx-a100-80g, nodes: 2}}\n"
           f"model: {{{model}, mlp: swiglu, tied: true, bias: false}}\n"
           "layout: {tensor: 8, pipeline: 2, global_batch: 2}\nframework: {preset: megatron-lm}\n")
    said = context.run(run)
    ours = said["model_tflops_per_gpu"] * 1e12 / said["tokens_per_s_per_gpu"]
    rows = []
    for name, flops in [("6 N + 12 L H Q T, N = 540.35 billion", paper),
                        ("trainyard, which counts input and output matrix both", ours)]:
        mfu = 100 * tokens_per_s * flops / chips / peak
        error = context.hold(f"PaLM, {name}", 100 * (mfu / published - 1), PALM_LIMIT)
        rows.append([name, f"{flops / 1e12:.3f} TFLOP", f"{mfu:.1f} %", f"{published} %",
                     percent(error, True)])
    context.page("palm", ["FLOPs of a token by", "FLOPs", "MFU at 238.3 thousand tokens/s",
                          "paper", "error"], rows)


# ---- Rajbhandari et al. 2020 (ZeRO), figure 1 ----

ZERO = [(0, "data parallel", 120.0), (1, "P_os", 31.4), (2, "P_os+g", 16.6), (3, "P_os+g+p", 1.9)]
ZERO_LIMIT = 2.0


def zero(context):
    """Bytes of a parameter, from a model of about that size, times 7.5 billion."""
    rows, parameters = [], None
    for stage, words, published in ZERO:
        said = context.run(
            "cluster: {preset: dgx-a100-80g, nodes: 8}\n"
            "model: {layers: 36, hidden: 4096, heads: 32, vocabulary: 51200, sequence: 1024, "
            "tied: true, dtype: fp16}\n"
            f"layout: {{global_batch: 64, zero: {stage}}}\nframework: {{preset: megatron-lm}}\n")
        what = dict(said["memory"]["largest"]["what"])
        parameters = parameters or what["weights"] / 2
        states = sum(what[item] for item in ("weights", "gradients", "optimizer"))
        simulated = states / parameters * 7.5
        error = context.hold(f"ZeRO stage {stage}", 100 * (simulated / published - 1), ZERO_LIMIT)
        rows.append([words, stage, f"{published:g} GB", f"{simulated:.2f} GB", percent(error, True)])
    context.page("zero", ["what is shared", "layout.zero", "paper", "trainyard", "error"],
                 rows)


# ---- Hagemann et al. 2023, what they conclude ----


def best(results, **fixed):
    """Step time of the fastest layout that fits."""
    times = [float(r["step_time_s"]) for r in results
             if r["fits"] == "1" and all(r["layout." + k] == str(v) for k, v in fixed.items())]
    return min(times)


def conclusions(context):
    def layouts(model, nodes, own, **more):
        base = (f"cluster: {{preset: dgx-a100-80g, nodes: {nodes}}}\n"
                f"model: {{preset: {model}, sequence: 2048, attention: flash2, norm: fused, "
                "vocabulary: 128000}\n"
                "layout: {zero: 1}\n"
                f"framework: {{{datasets.HAGEMANN_STACK}}}\n")
        rows = [own | {"layout.tensor": t, "layout.pipeline": p, "layout.micro_batch": b,
                 "layout.recompute": r, "layout.sequence_parallel": s}
                for t in (1, 2, 4, 8) for p in (1, 2, 4, 8) for b in (1, 2, 4)
                for r in ("none", "full") for s in more.get("shared", ("false",))
                if s == "false" or t > 1]
        return tables.sweep(context.binary, base, rows)
    small = layouts("llama-13b", 8, datasets.HAGEMANN_LATE
                    | {"layout.global_batch": datasets.HAGEMANN_LATE_BATCH})
    large = layouts("llama-65b", 16, {"layout.global_batch": 2048}, shared=("false", "true"))
    rows = []

    def add(words, gain):
        rows.append([words, percent(gain, True), "yes" if gain > 0 else "no"])
    for name, results in (("13B on 64 GPUs", small), ("65B on 128 GPUs", large)):
        add(f"{name}: the best layout computes nothing again",
            100 * (best(results, recompute="full") / best(results, recompute="none") - 1))
        add(f"{name}: its micro-batch is 1",
            100 * (min(best(results, micro_batch=b) for b in (2, 4))
                   / best(results, micro_batch=1) - 1))
    add("65B on 128 GPUs: sequence parallelism helps",
        100 * (best(large, sequence_parallel="false") / best(large, sequence_parallel="true") - 1))
    context.page("conclusions", ["they conclude", "how much slower the best layout without is",
                                 "simulated so"], rows)


# ---- every claim ----


def all_claims(context):
    rows = claims.ask(context)
    context.page("claims", ["", "source", "claim", "source's value", "trainyard's", "comes out"],
                 [row[:6] for row in rows])
    count = {word: sum(row[5] == word for row in rows) for word in ("yes", "partly")}
    said = f"{count['yes']} of {len(rows)} claims come out, {count['partly']} partly."
    context.blocks["claims"] = f"{said}\n\n{context.blocks['claims']}"
    context.blocks["commands"] = folded("by number of the claim", "".join(
        f"{row[0]}. " + "<br>".join(f"`{command}`" for command in row[6]) + "\n" for row in rows))
    print(f"# {said}")


# ---- the page ----

PARTS = {"table 1": table_1, "table 2": table_2, "table 5": table_5,
         "interleaving": interleaving,
         "scatter gather": scatter_gather, "palm": palm, "zero": zero, "conclusions": conclusions,
         "claims": all_claims}


class Context:
    def __init__(self, binary):
        self.binary = pathlib.Path(binary).resolve()
        self.blocks, self.checks, self.known = {}, [], {}

    def page(self, name, head, rows):
        self.blocks[name], self.known[name] = table(head, rows), rows

    def rows(self, name):
        """Of a part's table, which is made first where it is not yet there."""
        if name not in self.known:
            PARTS[name](self)
        return self.known[name]

    def hold(self, what, error, limit):
        self.checks.append((f"{what}: {error:+.2f} %, at most {limit:g} %", abs(error) <= limit))
        return error

    def claim(self, what, holds):
        self.checks.append((what, holds))

    def run(self, text):
        with tables.run_file(text) as path:
            done = tables.output(self.binary, "run", path, "--stats", "json", "-q",
                                 answers=(0, 1))  # what it is asked here need not fit
        return json.loads(done)


def check(context, page):
    """TAP: that what the page shows is what comes out, and that every statement holds."""
    text = page.read_text(encoding="utf-8")
    checks = [("docs/internals/papers.md shows these figures; else papers.py --write renews it",
               fill([text], context.blocks) == [text]), *context.checks]
    print(f"1..{len(checks)}")
    for number, (what, good) in enumerate(checks, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {what}")
    return 0 if all(good for _, good in checks) else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("trainyard", help="the program")
    parser.add_argument("--write", metavar="PAGE", type=pathlib.Path, help="renew its tables")
    parser.add_argument("--check", metavar="PAGE", type=pathlib.Path,
                        help="fail when its tables are out of date, or an error is too large")
    parser.add_argument("--only", metavar="PART", choices=PARTS, help="print one part")
    args = parser.parse_args()
    context = Context(args.trainyard)
    for part in [args.only] if args.only else PARTS:
        context.rows(part)
    if args.write:
        (text,) = fill([args.write.read_text(encoding="utf-8")], context.blocks)
        args.write.write_text(text, encoding="utf-8")
    if args.check:
        return check(context, args.check)
    if not args.write:
        for name, text in context.blocks.items():
            print(f"## {name}\n\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
