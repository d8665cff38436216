"""Dispatch and combine of experts' tokens, by library and ranks."""
import scores
import tables
from page import cell, percent, table

EXPERTS = 256  # DeepSeek-V3's, whose routing all of them use
MACHINES = {"H100": "dgx-h100", "GB200": "gb200-nvl72", "H800": "dgx-h800", "SM90": "dgx-h100",
            "SM100": "dgx-b200"}
RANKS = (8, 16, 32, 64)
# For decoding: messages of one token, as soon as it is there.
LEFT_OUT = "low latency"


def row_bytes(row):
    """Of a token; 8 bits have a 32-bit scale for 128 of them."""
    return float(row["hidden"]) * {"bf16": 2, "fp8": 1 + 4 / 128}[row["dtype"]]


def groups(row):
    """(groups, of which so many): DeepEP's tests draw groups only between nodes, a node each."""
    if row["library"].startswith("deepep"):
        nodes = int(row["nodes"])
        return nodes, min(nodes, 4)
    return 8, 4


def question(row):
    method = "all-to-all" if row["library"].startswith("nccl") else "per-node"
    ranks, nodes = int(row["ep"]), int(row["nodes"])
    return (f"{row['direction']} {method} {ranks} {ranks // nodes} {row['tokens_per_rank']} "
            f"{row_bytes(row)} {EXPERTS} {row['topk']} {' '.join(map(str, groups(row)))}")


def seconds(row, nodes_of_a_token, ranks_of_a_token):
    """As published, or from a rate: DeepEP counts a token for each node that has it, its own too,
    in a node for each rank."""
    if row["time_us"]:
        return float(row["time_us"]) * 1e-6
    copies = ranks_of_a_token if row["nodes"] == "1" else nodes_of_a_token
    return copies * float(row["tokens_per_rank"]) * row_bytes(row) / float(row["published_gb_s"]) / 1e9


def role(library, rows):
    """What an all-to-all takes was there before; within nodes nothing was fitted."""
    blind = library.startswith("nccl") or all(row["nodes"] == "1" for row in rows)
    return "blind" if blind else "share of NICs fitted"


def ask(context, preset, rows):
    run = (f"cluster: {{preset: {preset}, nodes: 8}}\n"
           "model: {layers: 1, hidden: 128, heads: 1, vocabulary: 100, dtype: fp16}\n"
           "layout: {global_batch: 1152}\n")
    return [[float(word) for word in line.split()[:3]]
            for line in tables.ask(context.programs / "coll_times", run, [question(row) for row in rows])]


def measure(context):
    try:
        rows, carried = context.tables.read("moe/ep_all_to_all")
    except tables.Missing:
        rows, carried = [], False
    sets = {}
    for row in rows:
        if LEFT_OUT not in row["library"]:
            sets.setdefault((row["library"], row["gpu"]), []).append(row)
    lines = []
    for (library, gpu), members in sets.items():
        found = {}
        for row, (time, nodes, ranks) in zip(members, ask(context, MACHINES[gpu], members)):
            found.setdefault(int(row["ep"]), []).append((seconds(row, nodes, ranks), time))
        figures = scores.errors([pair for pairs in found.values() for pair in pairs])
        context.record("exchanges", f"{library}, {gpu}", figures, carried)
        by_ranks = [percent(scores.errors(found[n])["bias"], signed=True) if n in found else "-"
                    for n in RANKS]
        lines.append([library, gpu, len(members), *by_ranks, percent(figures["mean"]),
                      cell(figures["bias"], "{:+.1f} %"),
                      role(library, members)])
    context.page("exchanges", table(
        ["library", "GPU", "rows", *[f"{n} ranks" for n in RANKS], "mean", "bias", "role"], lines))
