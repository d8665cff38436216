"""Single collectives and messages, by decade of size."""
import scores
import tables
from page import cell, percent, table

MIB = 1048576
DECADES = [("below 1 MiB", 0, MIB), ("1 to 10 MiB", MIB, 10 * MIB),
           ("10 to 100 MiB", 10 * MIB, 100 * MIB), ("100 MiB to 1 GiB", 100 * MIB, 1024 * MIB),
           ("1 GiB and more", 1024 * MIB, float("inf"))]
BUS = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n,
       "reduce_scatter": lambda n: (n - 1) / n, "all_to_all": lambda n: (n - 1) / n,
       "send_recv": lambda n: 1}
# What messages take with the settings that are best for all-to-alls (env5), as fitted on 2 and 8
# nodes: those of the preset are with the ones best for the others (env4).
ENV5 = "preset: polaris, net_message: 24 us, net_rendezvous: 17 us"


def one_node(row):
    return row["nodes"] == "1"


def source(text, more=lambda row: True):
    return lambda row: text in row["source"] and row["collective"] in BUS and more(row)


def polaris(row):
    """The settings that the authors call best for the collective."""
    return row["setting"].startswith("env5" if row["collective"] == "all_to_all" else "env4")


def fitted(row):
    return row["source"] == "vTrain"


# name, table, cluster, kept, what was fitted
SETS = [
    ("8 A100 (vTrain)", "collectives", "preset: dgx-a100-80g",
     lambda r: fitted(r) and r["gpu"] == "A100", "fitted"),
    ("8 V100 (vTrain)", "collectives", "preset: dgx1-v100",
     lambda r: fitted(r) and r["gpu"] == "V100", "fitted"),
    ("8 A100 (vidur)", "collectives", "preset: dgx-a100-80g",
     lambda r: r["source"] == "a100_dgx" and one_node(r), "messages fitted"),
    ("8 H100 (vidur)", "collectives", "preset: dgx-h100",
     lambda r: r["source"] == "h100_dgx", "fitted"),
    ("8 H100 (nccl-tests-cluster)", "nccl_h100_1_2_nodes", "preset: dgx-h100", one_node, "blind"),
    ("8 A100 (Azure)", "collectives_misc", "preset: dgx-a100-80g",
     source("Azure_Results/ND_A100"), "blind"),
    ("8 H100 (Azure)", "collectives_misc", "preset: dgx-h100",
     source("Azure_Results/ND_H100"), "blind"),
    ("8 H200 (Azure)", "collectives_misc", "preset: dgx-h200",
     source("Azure_Results/ND_H200"), "blind"),
    ("8 A100 (ml-engineering)", "collectives_misc", "preset: dgx-a100-80g",
     source("README.md (A100 node)"), "blind"),
    ("8 H200 (ml-engineering)", "collectives_misc", "preset: dgx-h200",
     source("README.md (8x H200)"), "fitted"),
    ("8 B200 (ml-engineering)", "collectives_misc", "preset: dgx-b200",
     source("AWS P6-B200", one_node), "fitted"),
    ("4 nodes of B200 (ml-engineering)", "collectives_misc", "preset: aws-p6-b200",
     source("AWS P6-B200", lambda r: not one_node(r)), "latency fitted"),
    ("2 nodes of A100 (AWS, 4 x 100 Gb/s)", "collectives_misc", "preset: aws-p4de",
     source("awsome-distributed", lambda r: r["gpu"].startswith("A100")), "latency fitted"),
    ("2 nodes of H100 (AWS, 8 x 400 Gb/s)", "collectives_misc", "preset: aws-p5",
     source("awsome-distributed", lambda r: r["gpu"].startswith("H100")), "latency fitted"),
    ("4 nodes of 8 GPUs (ml-engineering, machine not named)", "collectives_misc",
     "preset: dgx-a100-80g, nics_per_node: 4", source("benchmarks/README.md (4 nodes)"),
     "bandwidth read off, rest blind"),
    ("72 GB200 (CoreWeave)", "collectives_misc", "preset: gb200-nvl72",
     source("NVL72 one rack"), "fitted"),
    ("2 and 8 nodes of 4 A100 (Polaris)", "nccl_polaris_2_8_128_nodes", "preset: polaris",
     lambda r: polaris(r) and r["nodes"] in ("2", "8"), "fitted"),
    ("128 nodes of 4 A100 (Polaris)", "nccl_polaris_2_8_128_nodes", ENV5,
     lambda r: r["nodes"] == "128", "fitted on 2 and 8 nodes; seen"),
]


def kind(row):
    """Rows of the table: vTrain measured every number of GPUs, and a V100's links differ."""
    name = row["collective"].replace("_", "-")
    gpus = int(float(row["gpus"]))
    if row["source"] != "vTrain":
        return name
    return f"{name}, {gpus} GPUs" if gpus in (2, 4, 8) else f"{name}, 3, 5, 6, 7 GPUs"


def seconds(row):
    if row["time_us"]:
        return float(row["time_us"]) * 1e-6
    if not row.get("busbw_gb_s") or float(row["busbw_gb_s"]) <= 0:
        return None
    ranks = int(float(row["gpus"]))
    return BUS[row["collective"]](ranks) * float(row["size_bytes"]) / float(row["busbw_gb_s"]) / 1e9


def question(row):
    ranks = int(float(row["gpus"]))
    per_node = max(1, ranks // int(float(row["nodes"])))
    if row["gpu"] == "GB200":  # one NVLink domain, whatever its trays
        per_node = ranks
    if row["collective"] == "send_recv" and row["nodes"] != "1":
        ranks, per_node = 2, 1
    return f"{row['collective'].replace('_', '-')} {ranks} {per_node} {row['size_bytes']}"


def ask(context, cluster, questions):
    run = (f"cluster: {{{cluster}}}\n"
           "model: {layers: 1, hidden: 128, heads: 1, vocabulary: 100, dtype: fp16}\n"
           "layout: {global_batch: 72}\n")
    return [float(line.split()[0])
            for line in tables.ask(context.programs / "coll_times", run, questions)]


def line(context, name, title, found, role, carried):
    """A row of the table from (bytes, measured, simulated)."""
    large = [(m, s) for size, m, s in found if size >= MIB]
    figures = scores.errors(large) if large else None
    if figures:
        context.record("collectives", f"{name}, {title}", figures, carried)
    cells = [name + ("" if carried else " *"), title, len(found)]
    for _, low, high in DECADES:
        part = [(m, s) for size, m, s in found if low <= size < high]
        cells.append(percent(scores.errors(part)["mean"]) if part else "-")
    cells += [cell(figures and figures["mean"], "{:.1f} %"),
              cell(figures and figures["bias"], "{:+.1f} %"), role]
    return cells


def measure(context):
    lines = []
    for name, table_name, cluster, keep, role in SETS:
        try:
            rows, carried = context.tables.read(table_name)
        except tables.Missing:
            continue
        rows = [r for r in rows if keep(r) and r["collective"] in BUS
                and float(r["size_bytes"]) > 0 and seconds(r)]
        answers = ask(context, cluster, [question(row) for row in rows])
        kinds = {}
        for row, simulated in zip(rows, answers):
            kinds.setdefault(kind(row), []).append(
                (float(row["size_bytes"]), seconds(row), simulated))
        for title, found in sorted(kinds.items()):
            lines.append(line(context, name, title, found, role, carried))
    lines += simai(context)
    context.page("collectives", table(
        ["machine", "collective", "rows", *[words for words, _, _ in DECADES], "1 MiB and more",
         "bias", "role"], lines))


def simai(context):
    """SimAI's table of shares of the NICs' bandwidth, read as an all-gather over whole nodes of 8
    GPUs and 8 NICs of 400 Gb/s. Neither its origin nor its machine is documented."""
    rows, carried = context.tables.read("simai_busbw_ratio")
    found = []
    rows = [r for r in rows if r["file"] == "nic" and "Node-" in r["topology"]]
    ranks = [int(r["topology"].split("-")[1].split("GPU")[0]) for r in rows]
    answers = ask(context, "preset: dgx-h100",
                  [f"all-gather {n} 8 {r['size_bytes']}" for n, r in zip(ranks, rows)])
    for n, row, simulated in zip(ranks, rows, answers):
        size = float(row["size_bytes"])
        rate = float(row["fraction_of_link_bandwidth"]) * 8 * 50e9
        found.append((size, size * (n - 1) / n / rate, simulated))
    return [line(context, "2 to 128 nodes (SimAI's ratios)", "all-gather", found,
                 "blind; a sanity check", carried)]
