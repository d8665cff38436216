"""The schedule engine alone: measured passes in, the measured iteration out.

No model of kernels, memory or links takes part; what is off is the order of passes, or what the
source left out of its profile (optimizer, messages)."""
import json

import scores
import tables
from page import percent, table

# Schedule here, column of the source, the source's name. ZB-H2 is made by hand, ZB-2p by a search.
BUBBLES = [("1f1b", "bubble_1F1B", "1F1B"), ("zb-1p", "bubble_ZB_1p", "ZB-1p"),
           ("zb-2p", "bubble_ZB_H2", "ZB-H2"), ("zb-2p", "bubble_ZB_2p", "ZB-2p")]


def one_forward_one_backward(context):
    """Lines of the table for per-stage profiles of sail-sg/VocabularyParallelism."""
    rows, carried = context.tables.read("vocab_parallel_stage_timings")
    rows = [r for r in rows if r["method"] in ("base", "redis")]
    questions = [f"1f1b {r['pp']} {int(r['global_batch']) // int(r['micro_batch'])} 0 "
                 f"{r['F_us_per_stage']} {r['B_us_per_stage']}" for r in rows]
    answers = tables.ask(context.programs / "stage_times", None, questions)
    lines = []
    for method, words in [("base", "even layers, the head on the last stage"),
                          ("redis", "layers moved away from the head")]:
        pairs = [(float(r["iter_time_s_from_tflops"]), float(a))
                 for r, a in zip(rows, answers) if r["method"] == method]
        # The yardstick: micro-batches x the slowest stage, as if there were no pipeline.
        floor = [(float(r["iter_time_s_from_tflops"]),
                  int(r["global_batch"]) // int(r["micro_batch"]) * 1e-6
                  * max(int(f) + int(b) for f, b in zip(r["F_us_per_stage"].split(),
                                                        r["B_us_per_stage"].split())))
                 for r in rows if r["method"] == method]
        f = scores.errors(pairs)
        context.record("engine", f"1f1b, {method}", f, carried)
        lines.append([f"iteration, 1F1B, {words} *", f["n"], percent(f["mean"]),
                      percent(max(abs(100 * (s / m - 1)) for m, s in pairs)),
                      percent(f["bias"], True), percent(scores.errors(floor)["mean"])])
    return lines


def bubble(context, schedule, row):
    """Bubble share for profiled tF, tI, tW and message delay, as the source defines it: of the
    longest time from a rank's first pass to its last (Qi et al. 2023, section 5)."""
    f, b, w = (float(row[c]) for c in ("T_F_ms", "T_B_ms", "T_W_ms"))
    out = tables.output(
        context.binary, "schedule", schedule, "-p", row["pp"], "-m", row["micro_batches"],
        "--times", f"F={f},B={b + w:.3f},I={b},W={w},C={row['T_comm_ms']}", "--format", "json")
    span = json.loads(out)["max_rank_span"]
    return 1 - int(row["micro_batches"]) * (f + b + w) / span


def zero_bubble(context):
    rows, carried = context.tables.read("zero_bubble_profile_table5_6")
    lines = []
    for schedule, column, published in BUBBLES:
        # 1 - bubble is useful time over the step, so its ratio is that of step times
        pairs = [(1 - float(r[column]), 1 - bubble(context, schedule, r)) for r in rows]
        f = scores.errors(pairs)
        context.record("engine", f"{schedule} as {published}", f, carried)
        lines.append([f"1 - bubble, {schedule} against {published} *", f["n"], percent(f["mean"]),
                      percent(max(abs(100 * (s / m - 1)) for m, s in pairs)),
                      percent(f["bias"], True), "-"])
    return lines


def measure(context):
    lines = []
    for part in (one_forward_one_backward, zero_bubble):
        try:
            lines += part(context)
        except tables.Missing:
            pass
    context.page("engine", table(
        ["what", "rows", "mean", "largest", "bias", "slowest stage only"], lines))
