"""Single kernels: GEMMs, attention, elementwise operations, each alone on a GPU.

Compared without `derate` and `gemm_sustained`, which stand for what a kernel benchmark does not
show; the bias with them is printed beside. The yardstick is one rate per row of the table, fitted to that row."""
import scores
import tables
from page import percent, table

RUN = ("cluster: {{preset: {preset}}}\n"
       "model: {{layers: 1, hidden: 128, heads: 1, vocabulary: 100, dtype: {dtype}, "
       "mlp: {mlp}, attention: {attention}}}\n"
       "layout: {{global_batch: 72}}\nframework: {{preset: ideal, norm_speed: 1}}\n")  # the kernels alone, no habits of a stack
VIDUR_OPS = {"add": "add", "attn_rope": "rope", "input_layernorm": "norm", "mlp_act": "activation"}
SIMUMAX_ROLES = {"TN": "forward", "NN": "dgrad", "NT": "wgrad"}
ATTENTION_TYPES = {"bf16": 0, "fp8": 1, "mxfp8": 2}
FLASH_WORK = {"forward": 4, "backward": 10}  # FLOPs over b s^2 a d, as SimuMax counts: not causal


def vidur(row):
    """(group, question, seconds, work)"""
    m, n = float(row["m"]), float(row["n"])
    seconds = float(row["time_us"]) * 1e-6
    if row["op"].startswith("gemm"):
        k = float(row["k"])
        size = "1024 rows and more" if m >= 1024 else "256 and 512 rows"
        return f"GEMMs, {size}", f"gemm forward {m} {n} {k}", seconds, m * n * k
    kernel = VIDUR_OPS[row["op"]]
    return kernel, f"{kernel} {m} {n:.0f}", seconds, m * n


def simumax(row):
    rate = float(row["tflops"]) * 1e12
    if row["op"] == "matmul":
        b, m, n, k = (float(row[c]) for c in ("b", "m", "n", "k"))
        role = SIMUMAX_ROLES[row["layout"]]
        work = 2 * b * m * n * k
        return f"GEMMs, {role}", f"gemm {role} {b * m} {n} {k}", work / rate, work
    direction = "forward" if row["op"] == "sdp_fwd" else "backward"
    b, s, a, kv, d = (int(float(row[c])) for c in ("b", "seq", "heads", "kv_heads", "qk_dim"))
    work = FLASH_WORK[direction] * b * s * s * a * d
    return f"attention, {direction}", f"flash {direction} {b} {s} {a} {kv} {d}", work / rate, work


def experts(row):
    rate = float(row["tflops"]) * 1e12
    if row["op"] == "flash":
        s, a, d, v = (int(row[c]) for c in ("seq", "heads", "qk_dim", "v_dim"))
        work = s * s * a * (d + v if row["role"] == "forward" else 3 * d + 2 * v)
        return (f"attention, values of {v} and keys of {d}, {row['role']}",
                f"flash {row['role']} 1 {s} {a} {a} {d} {v}", work / rate, work)
    m, n, k = (int(row[c]) for c in ("m", "n", "k"))
    if row["op"] == "gemm":
        size = "1024 rows and more" if m >= 1024 else "64 and 128 rows"
        return (f"GEMMs in fp8, {row['source']}, {size}", f"gemm forward {m} {n} {k}",
                2 * m * n * k / rate, m * n * k)
    groups = int(row["groups"])
    work = 2 * groups * m * n * k
    few = "" if m >= 1024 else ", 256 and 512 rows"
    kind = "GEMMs of experts" + (f" in fp8{few}" if row["dtype"] == "fp8" else "")
    return (f"{kind}, {row['role']}",
            f"grouped {row['role']} {groups} {groups * m} {k} {n} {row['calls']} {row['sum_B']}",
            work / rate, work)


def attention(row):
    b, s, w, a, kv, d, v = (int(row[c]) for c in ("batch", "seq", "window", "heads", "kv_heads",
                                                  "qk_dim", "v_dim"))
    pairs = w * s - w * w / 2 if w else s * s / 2
    group = f"attention, operands in {row['dtype']}{', in windows' if w else ''}, both passes"
    return (group, f"flash both {b} {s} {a} {kv} {d} {v} {w} {ATTENTION_TYPES[row['dtype']]}",
            1e-3 * (float(row["forward_ms"]) + float(row["backward_ms"])),
            b * pairs * a * (8 * d + 6 * v))


# table, GPU in it, preset, attention, row -> question, kept, what was fitted
SETS = [
    ("kernels_vidur", "A100", "dgx-a100-80g", "flash2", vidur, lambda r: True, "fitted"),
    ("kernels_vidur", "H100", "dgx-h100", "flash3", vidur, lambda r: True, "fitted"),
    ("kernels_simumax", "A100-PCIe-80GB", "dgx-a100-80g", "flash2", simumax,
     lambda r: r["qk_dim"] == r["v_dim"], "ratios fitted"),
    ("kernels_simumax", "B200-SXM", "dgx-b200", "flash3", simumax,
     lambda r: r["qk_dim"] == r["v_dim"], "fitted"),
    ("kernels_experts", "A100-PCIe-80GB", "dgx-a100-80g", "flash2", experts,
     lambda r: r["role"] != "wgrad", "not fitted"),
    ("kernels_experts", "A100-PCIe-80GB", "dgx-a100-80g", "flash2", experts,
     lambda r: r["role"] == "wgrad", "wgrad_result fitted"),
    ("kernels_experts", "B200-SXM", "dgx-b200", "flash3", experts,
     lambda r: r["role"] != "wgrad", "not fitted"),
    ("kernels_experts", "B200-SXM", "dgx-b200", "flash3", experts,
     lambda r: r["role"] == "wgrad", "wgrad_result fitted"),
    ("kernels_experts", "H800", "dgx-h100", "flash3", experts,
     lambda r: int(r["m"]) >= 1024, "fp8_ramp fitted"),
    ("kernels_experts", "H800", "dgx-h100", "flash3", experts,
     lambda r: int(r["m"]) < 1024, "not fitted"),
    ("kernels_experts", "H100", "dgx-h100", "flash3", experts, lambda r: True, "not fitted"),
    ("kernels_experts", "H200", "dgx-h200", "flash3", experts, lambda r: True, "not fitted"),
    ("kernels_experts", "Hopper", "dgx-h100", "flash3", experts, lambda r: True, "not fitted"),
    ("kernels_experts", "Blackwell", "gb200-nvl72", "flash3", experts, lambda r: True,
     "fitted"),
    ("kernels_experts", "GB200", "gb200-nvl72", "flash3", experts, lambda r: True, "not fitted"),
    ("kernels_experts", "GB300", "gb300-nvl72", "flash3", experts, lambda r: True, "not fitted"),
    ("kernels_attention", "H200", "dgx-h200", "flash3", attention, lambda r: True, "not fitted"),
    ("kernels_attention", "B200", "dgx-b200", "flash3", attention, lambda r: True,
     "fp8_attention fitted"),
    ("kernels_attention", "GB200", "gb200-nvl72", "flash3", attention, lambda r: True,
     "fp8 and MXFP8 fitted"),
    ("kernels_attention", "GB300", "gb300-nvl72", "flash3", attention, lambda r: True, "fitted"),
]


def run_of(row):
    """Activation and type of the run that a row is asked in; phi-2 is the one model with a GELU."""
    return ("gelu" if "phi" in row.get("model", "") else "swiglu",
            "fp8" if row.get("dtype") == "fp8" and "cudnn" not in row else "bf16")


def ask(context, preset, attention, mlp, dtype, questions):
    run = RUN.format(preset=preset, attention=attention, mlp=mlp, dtype=dtype)
    answers = tables.ask(context.programs / "kernel_times", run, questions)
    return [tuple(float(word) for word in line.split()) for line in answers]


def measure(context):
    lines = []
    for name, gpu, preset, attention, question, keep, role in SETS:
        rows, carried = context.tables.read(name)
        rows = [row for row in rows if row["gpu"] == gpu and keep(row)]
        groups = {}
        for mlp, dtype in sorted({run_of(row) for row in rows}):
            asked = [question(row) for row in rows if run_of(row) == (mlp, dtype)]
            answers = ask(context, preset, attention, mlp, dtype, [a[1] for a in asked])
            for (group, _, seconds, work), (plain, in_step) in zip(asked, answers):
                groups.setdefault(group, []).append((seconds, plain, in_step, work))
        for group, found in sorted(groups.items()):
            figures = scores.errors([(f[0], f[1]) for f in found])
            in_step = scores.errors([(f[0], f[2]) for f in found])
            constant, _ = scores.scaled_error([(f[0], f[3]) for f in found])
            context.record("kernels", f"{gpu}, {group}", figures, carried)
            lines.append([gpu, group, figures["n"], percent(figures["mean"]),
                          percent(figures["median"]), percent(figures["p90"]),
                          percent(figures["bias"], True), percent(in_step["bias"], True),
                          percent(constant), name.removeprefix("kernels_") + ", " + role])
    context.page("kernels", table(
        ["GPU", "kernels", "rows", "mean", "median", "p90", "bias", "bias in a step",
         "constant rate", "source"], lines))
