"""Steps of models with experts: one table of several stacks, a set for each.

What is compared is tokens per second. Nearly all of these runs force balanced routing or drop
tokens at a capacity of one; those that do not are a set of their own."""
from datasets import FITTED, SEEN, Dataset, Input, base, shape, whole

FAMILY = "models with experts"
# What the GPUs sit in: a preset, and keys beside it.
CLUSTERS = {
    "H100-80GB-SXM": ("dgx-h100", 8), "H800-80GB-SXM": ("dgx-h800", 8),
    "B200-SXM": ("dgx-b200", 8), "B300-SXM": ("dgx-b300", 8),
    "GB200": ("gb200-nvl72", 4), "GB300": ("gb300-nvl72", 4),
}
RECOMPUTED = {"rmsnorm": "norm+moe_act", "mla_up_proj": "mla_up", "dense mlp": "mlp", "(+offload)": "",
              "part": "none", "": "none"}
DTYPES = {"bf16": {}, "fp8": {"framework.fp8_recipe": "current"},
          "fp8-cs": {"framework.fp8_recipe": "current"}, "mxfp8": {"framework.fp8_recipe": "mxfp8"},
          "fp8-blockwise": {"framework.fp8_recipe": "blockwise"}}


# How uneven a router is that nobody forces. Real: of the pairs below. Balanced by biases: a guess.
ROUTING = {"dropless real routing": "dirichlet:1.5", "aux-loss-free, no drop": "dirichlet:0.1"}


def recomputed(text):
    """The key's spelling of what a source says is computed again."""
    words = [RECOMPUTED.get(word, word) for word in text.replace(" (", ",(").split(",")]
    return "+".join(word for word in words if word) or "none"


def cluster(row):
    """Whole racks of 72 are not filled by these runs: 64 GPUs of each are."""
    name, _ = CLUSTERS[row["gpu"]]
    gpus = whole(row["gpus"])
    domain = 64 if "nvl72" in name else 8
    return {"cluster.preset": name, "cluster.nodes": -(-gpus // domain),
            "cluster.gpus_per_node": min(domain, gpus)}


def schedule(row):
    if row["vpp"] == "dualpipe":
        return {"schedule.name": "dualpipe"}
    chunks = int(row["vpp"] or 1)
    interleaved = chunks > 1 and row["pp"] != "1"
    return {"schedule.name": "interleaved" if interleaved else "1f1b",
            "schedule.chunks": chunks if interleaved else 1}


def keys(row):
    model, _, mtp = row["preset"].partition("+")
    dtype = row["precision"]
    sharded = "FSDP" in row["fsdp"]
    return cluster(row) | schedule(row) | {
        "model.preset": model, "model.mtp": 1 if mtp else 0, "model.sequence": row["seq"],
        "model.dtype": "bf16" if dtype == "bf16" else "fp8",
        "layout.tensor": row["tp"], "layout.context": row["cp"], "layout.pipeline": row["pp"],
        "layout.data": row["dp"], "layout.expert": row["ep"] or row["gpus"],
        "layout.expert_tensor": row["etp"] or 1, "layout.zero": 3 if sharded else 1,
        "layout.sequence_parallel": "true" if row["tp"] != "1" else "false",
        "layout.micro_batch": row["micro_batch"] or 1, "layout.global_batch": row["global_batch"],
        "layout.recompute": recomputed(row["recompute"]),
        "framework.dispatcher": row["dispatcher"].removesuffix("-like, node-limited 4") or guess(row),
        "framework.capacity": 1 if "drop," in row["routing"] or row["routing"] == "token drop"
        else "none",
        "framework.expert_overlap": "true" if row["ep_overlap"] == "1" else "false",
        # Recipes of Megatron-FSDP say grad-reduce-in-bf16; in 32 bit nothing would hide it.
        "framework.reduce_dtype": "model" if sharded else "auto",
        "run.routing": ROUTING.get(row["routing"], "balanced"),
    } | DTYPES[dtype] | recipe(row)


def recipe(row):
    """What Megatron-Bridge's recipes have beside the table. From 26.06 on (perf_recipes of each GPU):
    one kernel for the MLPs of experts, exchanges beside the passes of another micro-batch, attention
    in fp8, but not of DeepSeek-V3 on GB200, and heads in fp8, but not of Qwen3."""
    source, _, container = row["source"].rpartition(" ")
    if source != "Megatron-Bridge":
        return {}
    keys = {"framework.grad_dtype": "model"}  # grad_reduce_in_fp32 = False
    gpus = ("GB200", "GB300", "B300-SXM") if row["preset"] == "qwen3-30b-a3b" else ("GB200", "GB300")
    if row["preset"] == "qwen3-235b-a22b" and row["gpu"] in ("B200-SXM", "B300-SXM"):
        keys["framework.layer_floor"] = "0.3 ms"  # cuda_graph_impl: none
    if container >= "26.06" and row["precision"] == "mxfp8" and row["gpu"] in gpus:
        beside = "true" if row["preset"].startswith("deepseek") or int(row["pp"]) > 1 else "false"
        wide = row["preset"].startswith("deepseek") and row["gpu"] == "GB200"
        keys |= {"framework.fused_experts": "true", "framework.fused_expert_mlp": "true",
                 "framework.fp8_attention": "false" if wide else "true",
                 "framework.fp8_head": "false" if row["preset"].startswith("qwen") else "true",
                 "framework.expert_overlap": beside}
    return keys


def guess(row):
    """A source that does not name it: what its recipes of that release set, as far as known."""
    if row["gpu"] in ("GB200", "GB300"):
        return "hybridep"
    return "alltoall" if "token drop" in row["routing"] else "deepep"


def dense_flops(row):
    """FLOPs of a token of Mixtral 8x22B, causal: that table has MFU and no times."""
    layers, h, f, v, kv, s = 56, 6144, 16384, 32768, 1024, float(row["seq"])
    weights = layers * (2 * h * h + 2 * h * kv + 2 * 3 * h * f) + h * v
    return 6 * weights + 3 * s * layers * 2 * h


def seconds(row):
    tokens = float(row["seq"]) * float(row["global_batch"])
    if row["step_time_s"]:
        return float(row["step_time_s"])
    return tokens * dense_flops(row) / (float(row["gpus"]) * float(row["mfu"]) * 989.4e12)


def steps(name, keep, **rest):
    about = {"family": FAMILY, "table": "expert_steps",
             "base": base("preset: dgx-h100", "attention: flash3", "", "preset: megatron-lm"),
             "keys": keys, "seconds": seconds, "oom": lambda row: False if row["recompute"] else None, "layouts": False,
             "sweep": shape("preset", "seq", "gpus"), "groups": {"model": shape("preset")},
             "keep": keep, "time": FITTED}
    return Dataset(name=name, **(about | rest))


def of(*sources, gpus=("H100-80GB-SXM", "H800-80GB-SXM"), real=False):
    return lambda row: (row["source"].startswith(sources) and row["gpu"] in gpus
                        and ("real" in row["routing"]) == real)


BLACKWELL = ("B200-SXM", "B300-SXM", "GB200", "GB300")
DATASETS = [
    steps("modelzoo, experts", of("ModelZoo", "arXiv 2603"), machine="256 H100",
          source="github.com/yanring/Megatron-MoE-ModelZoo; arXiv 2603.07685, table 11",
          role="framework.expert_floor, on one row",
          notes="Qwen3 235B, routing forced to be balanced."),
    steps("modelzoo, real routing", of("ModelZoo", real=True), machine="256 H100", slow=True,
          role="run.routing", fitted=("run.routing",),
          source="github.com/yanring/Megatron-MoE-ModelZoo",
          notes="The pairs of four of the rows above, with the loads of a real router; how uneven "
                "those are is not stated."),
    steps("megatron-bridge, experts", of("Megatron-Bridge"), machine="16 to 256 H100",
          source="github.com/NVIDIA-NeMo/Megatron-Bridge docs/performance-summary",
          role="framework.expert_floor, on three rows",
          notes="Qwen3 30B and 235B, gpt-oss 120B. Releases of one layout differ by 40 %, one by a "
                "factor of two from those before and after it. Dispatchers, recomputation and "
                "overlap are those of the recipes, by release as far as known."),
    steps("automodel, experts", of("Automodel"), machine="8 to 256 H100",
          base=base("preset: dgx-h100", "attention: flash3", "", "preset: fsdp"),
          source="github.com/NVIDIA-NeMo/Automodel docs/performance-summary", time=SEEN,
          notes="Without a number of expert ranks (gpt-oss) all are taken: whole experts gathered "
                "in every layer would take twice the step."),
    steps("folding, mixtral", of("arXiv 2504"), machine="128 to 1024 H100",
          inputs={"layout.micro_batch": Input("1", "guess")},
          keys=lambda row: keys(row) | ({"schedule.name": "interleaved", "schedule.chunks": 7}
                                        if row["pp"] != "1" else {}),
          source="arXiv 2504.14960, tables 3 and 4",
          left_out="eight rows of long sequences (table 5): the paper prints the same figures for "
                   "another model",
          notes="Mixtral 8x22B with tokens dropped. Only MFU is printed; attention is counted by "
                "half. Seven chunks are a guess: layers divide so."),
    steps("deepseek-v3", of("arXiv 2412"), machine="2048 H800", slow=True,
          base=base("preset: dgx-h800", "attention: flash3", "", "preset: deepseek, dispatch_dtype: fp8"),
          source="arXiv 2505.09343, table 4; arXiv 2412.19437", time=SEEN,
          inputs={"layout.stage_layers": Input("[3" + 14 * ", 4" + ", 2]",
                                               "guess: not published; an even split is 13 % "
                                               "too fast, and its first stage does not fit")},
          left_out="DeepSeek-V2 (arXiv 2405.04434): its number of GPUs is not published",
          notes="Stages, schedule, dispatch and types as published, but for the layers of a stage. "
                "That biases keep routers within a CV of 0.1 is a guess."),
    steps("blackwell, experts", of("arXiv 2603", "Megatron-Bridge", gpus=BLACKWELL), time=SEEN,
          machine="8 to 256 B200, B300, GB200, GB300",
          inputs={"framework.layer_floor": Input("0 s", "guess: the recipes capture CUDA graphs, but "
                                               "0.3 ms for Qwen3 235B on B200 and B300, where "
                                               "they do not")},
          source="arXiv 2603.07685, tables 11, 17, 20; github.com/NVIDIA-NeMo/Megatron-Bridge "
                 "docs/performance-summary",
          notes="Dispatchers, recomputation, overlap and fused GEMMs of Megatron-Bridge are those of "
                "its recipes, by release as far as known."),
]
