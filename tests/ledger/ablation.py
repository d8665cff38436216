"""Which terms of the model matter: each one taken away, nothing refitted.

Scored by the mean error after one factor for the whole set, so that a term counts for what it
tells apart, not for the time it adds."""
import scores
import sheets
import tables
from page import table

SETS = ["hagemann 13B", "hagemann 30B", "hagemann 65B", "vtrain multi", "vtrain 39B",
        "vtrain single", "llm-foundry a100-80g", "llm-foundry h100"]

# name, keys that take the term away
TERMS = [
    ("whole model", {}),
    ("norms free", {"cluster.norm_passes": "0.1", "cluster.norm_passes_unfused": "0.1"}),
    ("unfused norms as fused", {"cluster.norm_passes_unfused": "3.09"}),
    ("other elementwise kernels at full bandwidth",
     {"cluster.add_efficiency": "100 %", "cluster.activation_efficiency": "100 %",
      "cluster.rope_efficiency": "100 %", "framework.fused_activation": "true",
      "framework.fused_rotary": "true"}),
    ("collectives ten times as fast", {"cluster.collective_derate": "0.1"}),
    ("latency of collectives in a node",
     {"cluster.nvlink_latency": "0 s", "cluster.nvlink_latency_per_rank": "0 s",
      "cluster.nvlink_ll_latency": "0 s", "cluster.nvlink_ll_latency_per_rank": "0 s",
      "cluster.nvlink_floor": "0 s", "cluster.nvlink_gather_latency": "0 s"}),
    ("gate and up in one matrix", {"framework.fused_gate": "true"}),
    ("backward all-reduces beside weight gradients", {"framework.overlap_tensor_reduce": "true"}),
    ("messages never block", {"framework.overlap_p2p": "true"}),
    ("no idle time at the start of passes", {"framework.pass_overhead": "0 s"}),
    ("no floor of the host", {"framework.layer_floor": "0 s"}),
    ("gradients added in the GEMMs", {"framework.fused_accumulation": "true"}),
    ("fixed time, ramp and waves of GEMMs",
     {"cluster.gemm_overhead": "0 s", "cluster.gemm_ramp": "0", "cluster.gemm_wave": "0"}),
    ("no slow-down beside collectives",
     {"cluster.nvlink_overlap_slowdown": "0", "cluster.net_overlap_slowdown": "0"}),
    ("fused optimizer", {"framework.fused_optimizer": "true"}),
    ("attention causal where it is full", {"model.full_attention": "false"}),
    ("ideal framework", {"framework.preset": "ideal"}),
]


def one_factor(context, dataset, taken):
    rows, _ = context.tables.read(dataset.table)
    rows = [r for r in rows if dataset.keep(r) and dataset.seconds(r) is not None]
    out = tables.sweep(context.binary, dataset.base, [dataset.keys(r) | taken for r in rows])
    pairs = [(dataset.seconds(r), float(o["step_time_s"])) for r, o in zip(rows, out)]
    return scores.scaled_error(pairs)[0]


def measure(context):
    known = {d.name: d for d in sheets.everything(context.tables)}
    datasets = [known[name] for name in SETS]
    lines, whole = [], {}
    for name, taken in TERMS:
        cells = []
        for dataset in datasets:
            try:
                error = one_factor(context, dataset, taken)
            except tables.Missing:
                cells.append("-")
                continue
            whole.setdefault(dataset.name, error)
            change = error - whole[dataset.name]
            cells.append(f"{error:.1f} %" + (f" ({change:+.1f})" if abs(change) >= 0.05 else ""))
        lines.append([name, *cells])
    context.page("ablation", table(["taken away", *(d.name for d in datasets)], lines))
