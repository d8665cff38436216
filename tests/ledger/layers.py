"""One transformer layer: four layers less two, optimizer left out, halved."""
import json

import scores
import tables
from page import percent, table


def run(row, layers):
    """Korthikanti et al. 2022, table 4: 22B on the 8 A100 of a node."""
    sequence_parallel = "true" if row["seq_parallel"] == "yes" else "false"
    return (
        "cluster: {preset: dgx-a100-80g}\n"
        f"model: {{layers: {layers}, hidden: {row['hidden']}, heads: {row['heads']}, "
        f"vocabulary: 51200, sequence: {row['seq']}, positions: {row['seq']}, dropout: 0.1, "
        "bias: true, attention: fused-softmax}\n"
        f"layout: {{tensor: {row['tp']}, micro_batch: {row['micro_batch']}, "
        f"global_batch: {row['micro_batch']}, recompute: {row['act_ckpt']}, "
        f"sequence_parallel: {sequence_parallel}}}\n"
        "framework: {preset: megatron-lm}\n")


def seconds(context, row, layers):
    with tables.run_file(run(row, layers)) as path:
        report = json.loads(tables.output(context.binary, "run", path, "--stats", "json"))
    return report["step_time_s"] - report["breakdown"]["optimizer"]


def measure(context):
    lines = []
    try:
        rows, carried = context.tables.read("korthikanti2022_table4_layer")
    except tables.Missing:
        rows, carried = [], False
    pairs = []
    for row in rows:
        measured = 1e-3 * float(row["total_ms"])
        simulated = (seconds(context, row, 4) - seconds(context, row, 2)) / 2
        pairs.append((measured, simulated))
        lines.append([f"recompute {row['act_ckpt']}, sequence parallel {row['seq_parallel']} *",
                      f"{1e3 * measured:.1f} ms", f"{1e3 * simulated:.1f} ms",
                      percent(100 * (simulated / measured - 1), True)])
    if pairs:
        context.record("layers", "22B", scores.errors(pairs), carried)
    context.page("layers", table(["layer of GPT 22B, tensor 8, 4 sequences", "measured",
                                  "simulated", "error"], lines))
