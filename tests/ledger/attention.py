"""The attention core alone, of ranks that share a sequence.

One layer on eight ranks; from the trace of the rank that computes longest come the rounds, their
messages, the merges and the exchanges, from the first of them to the last, forward and backward.
Kernels without `derate`, as in their own table. The yardstick is an eighth of the whole sequence's
time on one GPU: work shared evenly, nothing else."""
import csv

import scores
import tables
from page import percent, table

# H800: an H100 with NVLink of 400 GB/s both ways.
CLUSTERS = {"H800": "preset: dgx-h100, nvlink_bandwidth: 200 GB/s, derate: 1",
            "A100": "preset: dgx-a100-80g, derate: 1"}
RUN = ("cluster: {{{cluster}, nodes: 1}}\n"
       "model: {{layers: 1, heads: {heads}, kv_heads: {kv_heads}, head_dim: {head_dim}, "
       "hidden: {hidden}, vocabulary: 100, sequence: {seq}, dtype: bf16, attention: flash2}}\n"
       "layout: {{{layout}, micro_batch: {batch}, global_batch: {sequences}}}\n"
       "framework: {{preset: ideal, fused_merge: false}}\n")  # both sources merge by operators

# Why a row is not scored, the first that is true of it.
UNSCORED = [
    ("packed documents, of lengths that are not stated: counted as whole sequences, one A100 would "
     "reach 94 % of its peak", lambda row: row["api"] == "varlen"),
    ("8192 and 32768 tokens on A100: no sum of a fixed time, one a token and one a score grows as "
     "these times do, with 131072 tokens, at a rate below the GPU's peak",
     lambda row: row["source"] == "long-context-attention" and int(row["seq"]) < 131072),
    ("striped rings: no such method here",
     lambda row: "stripe" in row["method"] and int(row["ring"]) > 1),
    ("exchanges of heads inside a plain ring: the hybrid here has a zigzag",
     lambda row: row["method"] == "ulysses+ring" and int(row["ring"]) > 1),
]


def layout(row):
    """Of eight ranks, by what the row's name and its two degrees say."""
    inner, ring = int(row["ulysses"]), int(row["ring"])
    if ring == 1:
        return "ulysses", f"context: {inner}, context_method: ulysses"
    if inner > 1:
        return "hybrid", (f"context: {inner * ring}, context_method: hybrid, "
                          f"context_inner: {inner}")
    return row["method"], f"context: {ring}, context_method: {row['method']}"


def core_seconds(context, row, ranks):
    """{phase: seconds} of the rank that computes longest."""
    batch = int(row["batch"])
    text = RUN.format(**row | {
        "cluster": CLUSTERS[row["gpu"]], "hidden": int(row["heads"]) * int(row["head_dim"]),
        "layout": ranks, "sequences": batch if "context" in ranks else 8 * batch})
    with tables.run_file(text) as path:
        trace = path.with_name("trace.csv")
        tables.output(context.binary, "run", path, "--trace", f"csv:{trace}")
        with open(trace, newline="", encoding="utf-8") as file:
            tasks = [t for t in csv.DictReader(file)
                     if t["name"].startswith("attention core") or t["category"] == "comm.cp"]
    busy = {}
    for task in tasks:
        if task["category"] != "comm.cp":
            busy[task["rank"]] = busy.get(task["rank"], 0) + int(task["dur_ps"])
    spans = {}
    for task in tasks:
        if task["rank"] == max(busy, key=busy.get):
            start = int(task["start_ps"])
            spans.setdefault(task["phase"], []).append((start, start + int(task["dur_ps"])))
    return {phase: 1e-12 * (max(end for _, end in times) - min(start for start, _ in times))
            for phase, times in spans.items()}


def seconds(context, row, ranks, known):
    """Of an iteration; `known` keeps what has been run."""
    shape = "gpu", "heads", "kv_heads", "head_dim", "batch", "seq"
    key = ranks, *(row[c] for c in shape)
    if key not in known:
        known[key] = core_seconds(context, row, ranks)
    phases = ["forward", "backward"] if row["pass"] == "fwd+bwd" else ["forward"]
    return sum(known[key][phase] for phase in phases)


def one_gpu(row):
    """The sources' own yardstick: a rank's tokens alone on a GPU, eight times, have the FLOPs of
    its share."""
    gpus = int(row["gpus"])
    return row | {"seq": str(int(row["seq"]) // gpus), "method": "-",
                  "iters_per_s": str(gpus * float(row["one_gpu_iters_per_s"]))}


def simulate(context, rows):
    """{(source, method, pass): [(measured, simulated, yardstick)]}"""
    known, groups = {}, {}
    for row in rows:
        method, ranks = layout(row)
        whole = seconds(context, row, "data: 8", known) / int(row["gpus"])
        groups.setdefault((row["gpu"], row["source"], method, row["pass"]), []).append(
            (1 / float(row["iters_per_s"]), seconds(context, row, ranks, known), whole))
        if row["one_gpu_iters_per_s"]:
            alone = one_gpu(row)
            groups[row["gpu"], row["source"], "one GPU", row["pass"]] = [
                (1 / float(alone["iters_per_s"]), seconds(context, alone, "data: 8", known), None)]
    return groups


def line(cells, found):
    f = scores.errors([(measured, simulated) for measured, simulated, _ in found])
    shared = [(measured, whole) for measured, _, whole in found if whole]
    return [*cells, f["n"], percent(f["mean"]), percent(f["median"]), percent(f["bias"], True),
            percent(scores.errors(shared)["mean"] if shared else None)], f


def measure(context):
    rows, carried = context.tables.read("context_attention")
    reasons = {row_number: next((why for why, is_so in UNSCORED if is_so(row)), None)
               for row_number, row in enumerate(rows)}
    groups = simulate(context, [row for i, row in enumerate(rows) if reasons[i] is None])
    lines = []
    for (gpu, source, method, passes), found in sorted(groups.items()):
        words = {"fwd": "forward", "fwd+bwd": "both"}[passes]
        cells, figures = line([f"8 {gpu} ({source})", method, words], found)
        context.record("attention", f"{gpu}, {source}, {method}, {words}", figures, carried)
        lines.append(cells)
    everything = [pair for key, found in groups.items() if "one GPU" not in key for pair in found]
    cells, figures = line(["all", "all but one GPU", ""], everything)
    context.record("attention", "all of ranks that share sequences", figures, carried)
    context.page("attention", table(
        ["machine", "method", "pass", "rows", "mean", "median", "bias", "an eighth of one GPU"],
        [*lines, cells]))
    context.page("attention, not scored", table(
        ["rows", "why"], [[sum(r == why for r in reasons.values()), why] for why, _ in UNSCORED]))
