"""Kernels of one layer of DeepSeek-V3 in the training trace that DeepSeek published.

Sums over four layers of a pair of micro-batches on H800, tensor 1, 64 expert ranks, 4096 tokens,
routing forced equal. Exchanges run beside them on 20 of 132 SMs: what is bound by the others takes
132 / 112 as long, products also what they lose in a step (`gemm_sustained`). A question for each
kernel is in the table, as kernel_times.c has them."""
import scores
import tables
from page import percent, table

RUN = ("cluster: {preset: dgx-h100}\n"  # an H800 but for its NVLink
       "model: {layers: 1, hidden: 128, heads: 1, vocabulary: 100, dtype: fp8, mlp: swiglu, "
       "attention: flash3}\n"
       "layout: {global_batch: 8}\nframework: {preset: ideal, norm_speed: 1}\n")
SMS, TAKEN = 132, 20  # of the exchanges: DeepEP's default


def seconds(question, answer):
    """(alone, in its place)"""
    alone, in_step = answer
    return alone, in_step if "permute" in question else in_step * SMS / (SMS - TAKEN)


def measure(context):
    rows, carried = context.tables.read("deepseek_v3_kernels")
    asked = [question for row in rows for question in row["questions"].split(";")]
    lines = tables.ask(context.programs / "kernel_times", RUN, asked)
    answers = iter([seconds(question, [float(word) for word in line.split()])
                    for question, line in zip(asked, lines)])
    printed, pairs = [], []
    for row in rows:
        found = [next(answers) for _ in row["questions"].split(";")]
        alone, placed = (1e6 * sum(times) for times in zip(*found))
        measured = float(row["us"])
        if row["role"] == "predicted":
            pairs.append((measured, placed))
        printed.append([row["phase"], row["kernels"], f"{measured:.0f} us", f"{alone:.0f} us",
                        f"{placed:.0f} us", percent(100 * (placed / measured - 1), True),
                        row["role"]])
    context.record("trace", "DeepSeek-V3 on H800", scores.errors(pairs), carried)
    context.page("trace", table(["pass", "kernels", "measured", "alone", "in place", "error", ""],
                                printed))
