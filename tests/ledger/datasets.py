"""The end-to-end data sets: one entry each, from the columns of a table to keys of a run file.

Everything that a source states about its runs is set; what it does not state is left to the
preset named, and the notes say so. No value here is fitted."""
import dataclasses
import math
from collections.abc import Callable


@dataclasses.dataclass
class Dataset:
    name: str           # short, of the report and of expected.json
    table: str          # NAME.csv
    base: str           # run file that every row starts from
    keys: Callable      # row -> {key: value}
    sweep: Callable     # row -> label of the sweep it belongs to: one job, many layouts
    groups: dict        # title -> (row -> label): tables of the details
    machine: str
    source: str
    role: str           # fitted | partly fitted | blind, and on what
    keep: Callable = lambda row: True
    seconds: Callable = lambda row: number(row["step_time_s"])
    oom: Callable = lambda row: None  # True, False, or None: not known
    layouts: bool = True              # rows of a sweep are layouts to choose from
    notes: str = ""


def number(text):
    return float(text) if text else None


def whole(text):
    return int(float(text))


def common(row):
    """What all tables say in the same columns."""
    gpus = whole(row["gpus"])
    return {
        "cluster.nodes": math.ceil(gpus / 8), "cluster.gpus_per_node": min(8, gpus),
        "model.layers": row["layers"], "model.hidden": row["hidden"], "model.heads": row["heads"],
        "model.kv_heads": row["kv_heads"], "model.ffn": row["ffn"],
        "model.vocabulary": row["vocab"], "model.sequence": row["seq"],
        "layout.tensor": row["tp"], "layout.pipeline": row["pp"], "layout.data": row["dp"],
        "layout.micro_batch": whole(row["micro_batch"]),
        "layout.global_batch": whole(row["global_batch"]),
    }


def base(cluster, model="", layout="", framework="", schedule=""):
    """A run file; sizes are only there to be replaced by each row's."""
    return (f"cluster: {{{cluster}}}\n"
            f"model: {{layers: 1, hidden: 64, heads: 1, vocabulary: 100{', ' * bool(model)}"
            f"{model}}}\n"
            f"layout: {{global_batch: 1{', ' * bool(layout)}{layout}}}\n"
            f"framework: {{{framework}}}\n" + (f"schedule: {{{schedule}}}\n" if schedule else ""))


def shape(*columns):
    return lambda row: " ".join(row[c] for c in columns)


LLAMA = "mlp: swiglu, norm_kind: rmsnorm"
TENSOR = {"tensor degree": lambda row: f"tensor {row['tp']}"}
PIPELINE = {"pipeline depth": lambda row: f"pipeline {row['pp']}"}

# ---- Hagemann et al. 2023 -----------------------------------------------------------------------

HAGEMANN_KERNELS = {
    "FA2+fusedRMSNorm": ("flash2", "fused"), "FA2": ("flash2", "unfused"),
    "FA1.0.8": ("flash1", "unfused"), "unfused torch": ("unfused", "unfused"),
    "Megatron fused softmax": ("fused-softmax", "unfused"),
}


def hagemann_keys(row):
    attention, norm = HAGEMANN_KERNELS[row["attention_kernel"]]
    return common(row) | {"model.attention": attention, "model.norm": norm,
                          "layout.recompute": "full" if row["act_ckpt"] == "full" else "none"}


def hagemann_oom(row):
    if row["step_time_s"]:
        return False
    return True if float(row["oom"] or 0) == 1 else None


def hagemann(name, model, role, notes=""):
    return Dataset(
        name=name, table="hagemann_13b64_65b128",
        base=base("preset: dgx-a100-80g", LLAMA, "zero: 1", "preset: megatron-deepspeed"),
        keys=hagemann_keys, keep=lambda row: row["model"] == model, oom=hagemann_oom,
        sweep=lambda row: f"{model}, {row['attention_kernel']}",
        groups={"kernels": shape("attention_kernel"),
                "recomputation": lambda row: f"recompute {row['act_ckpt'] or 'none'}"}
        | TENSOR | PIPELINE,
        machine="64 or 128 A100 80 GB, HDR InfiniBand", role=role, notes=notes,
        source="Hagemann et al. 2023, github.com/Aleph-Alpha/NeurIPS-WANT-submission-"
               "efficient-parallelization-layouts")


# ---- vTrain -------------------------------------------------------------------------------------

def vtrain(name, table, **rest):
    return Dataset(
        name=name, table=table,
        base=base("preset: dgx-a100-80g, nics_per_node: 4",
                  "dtype: fp16, attention: fused-softmax, bias: true, tied: true, dropout: 0.1",
                  "recompute: full",
                  "preset: megatron-lm, layer_floor: 1.05 ms, overlap_grad_reduce: false"),
        keys=lambda row: common(row) | {"model.positions": row["seq"]},
        source="github.com/VIA-Research/vTrain data/ground_truth", **rest)


# ---- llm-foundry --------------------------------------------------------------------------------

MOSAIC_CLUSTER = {"a100_80gb": "dgx-a100-80g", "a100_40gb": "dgx-a100-40g",
                  "h100_80gb": "dgx-h100"}


def mosaic_keys(row):
    return common(row) | {
        "model.positions": row["seq"],  # stands for ALiBi: no rotary embedding
        "model.dtype": "fp8" if "fp8" in row["precision"] else "bf16",
        "layout.zero": 3 if "FULL_SHARD" in row["zero_or_fsdp"] else 2,
        "layout.recompute": row["act_ckpt"],
        # FSDP mixed precision DEFAULT reduces in 32 bit, PURE in 16.
        "framework.reduce_dtype": "model" if "PURE" in row["precision"] else "fp32",
    }


def mosaic(gpu, role):
    return Dataset(
        name=f"llm-foundry {MOSAIC_CLUSTER[gpu].removeprefix('dgx-')}", table="mosaic_llm_foundry",
        base=base(f"preset: {MOSAIC_CLUSTER[gpu]}",
                  "tied: true, attention: flash2, full_attention: true", "",
                  "preset: fsdp"),
        keys=mosaic_keys, keep=lambda row: row["gpu"] == gpu and "outlier" not in row["notes"],
        oom=lambda row: False, sweep=lambda row: f"{row['model']} on {row['gpus']}",
        layouts=False,
        groups={"nodes": lambda row: "1 node" if whole(row["gpus"]) <= 8 else "2 and more nodes",
                "model": shape("model"),
                "sequence": lambda row: f"sequence {row['seq']}",
                "precision": lambda row: "fp8" if "fp8" in row["precision"] else "bf16",
                "recomputation": lambda row: f"recompute {row['act_ckpt']}",
                "sharding": shape("zero_or_fsdp")},
        machine="A100 (1600 Gb/s RoCE a node)" if gpu[0] == "a" else "H100",
        source="github.com/mosaicml/llm-foundry scripts/train/benchmarking", role=role,
        notes="MPT with ALiBi, which keeps its attention kernel from skipping masked scores "
              "(inferred from long sequences); fused cross-entropy.")


# ---- others -------------------------------------------------------------------------------------

def torchtitan_keys(row):
    return common(row) | {"layout.recompute": "selective" if "selective" in row["act_ckpt"]
                          else row["act_ckpt"]}


def nanotron_keys(row):
    return common(row) | {
        "layout.zero": 1 if row["zero_or_fsdp"] == "ZeRO-1" else 0,
        "layout.sequence_parallel": "true" if row["seq_parallel"].startswith("yes") else "false"}


def simumax_keys(row):
    return common(row) | {
        "layout.sequence_parallel": "true" if row["seq_parallel"] == "True" else "false"}


# ---- context parallelism ------------------------------------------------------------------------

CONTEXT = {"ranks of a sequence": lambda row: f"context {row['cp']}"}


def context_keys(row, **more):
    return common(row) | {"layout.context": row["cp"], "model.dtype": row["precision"].split("-")[0]} | more


def per_token(row):
    """Seconds of a step, where the source prints tokens per second and GPU."""
    tokens = float(row["seq"]) * float(row["global_batch"])
    return number(row["step_time_s"]) or (
        tokens / float(row["gpus"]) / float(row["tokens_per_s_per_gpu"]))


def nemo_row(row):
    """Eight micro-batches of one sequence for each replica: a guess, the source has no batch."""
    return row | {"micro_batch": "1", "global_batch": str(8 * int(row["dp"]))}


def nemo_seconds(row):
    """Of the TFLOPS printed: 6 N + 12 L h s a token, with attention in full."""
    row = nemo_row(row)
    layers, h, f, v, s = (float(row[c]) for c in ("layers", "hidden", "ffn", "vocab", "seq"))
    weights = layers * (4 * h * h + 3 * h * f) + 2 * v * h
    flops = (6 * weights + 12 * layers * h * s) * s * float(row["global_batch"])
    return flops / float(row["gpus"]) / float(row["model_tflops_per_gpu"]) * 1e-12


def context_steps(name, text, **rest):
    rest = {"role": "blind", "keys": context_keys, "seconds": per_token, "sweep": shape("model"),
            "groups": CONTEXT, "oom": lambda row: False, "layouts": False} | rest
    return Dataset(name=name, table="context_steps",
                   keep=lambda row: row["source"].split(" ", maxsplit=1)[0] == text, **rest)


def korthikanti_keys(row):
    chunks = int(row["vpp"])
    return common(row) | {
        "layout.recompute": row["act_ckpt"],
        "layout.sequence_parallel": "true" if row["seq_parallel"] == "yes" else "false",
        "schedule.name": "interleaved" if chunks > 1 else "1f1b", "schedule.chunks": chunks}


DATASETS = [
    hagemann("hagemann 13B", "LLaMA-13B",
             "fitted: derate, norm_passes_unfused, softmax of unfused attention; memory"),
    hagemann("hagemann 65B", "LLaMA-65B",
             "step times not fitted, but looked at; memory is fitted on its outcomes too"),
    Dataset(
        name="korthikanti", table="korthikanti_table5",
        base=base("preset: dgx-a100-80g", "attention: fused-softmax, bias: true, tied: true, "
                  "dropout: 0.1, positions: 2048", "", "preset: megatron-lm"),
        keys=korthikanti_keys, oom=lambda row: False, layouts=False, sweep=shape("act_ckpt"),
        groups={"model": shape("model"), "recomputation": shape("act_ckpt")},
        machine="8 to 512 A100 80 GB, 8 x 200 Gb/s a node",
        role="not fitted, but looked at: overlap_p2p",
        source="Korthikanti et al. 2022, tables 3 and 5",
        notes="Full recomputation without, selective with sequence parallelism; interleaved "
              "schedule with three chunks for 175B and 530B."),
    vtrain("vtrain multi", "vtrain_multi_3.6b_18.4b",
           sweep=shape("model"),
           groups={"model and tensor degree": lambda r: f"{r['model']}, tensor {r['tp']}",
                   "micro-batch": lambda r: f"micro-batch {r['micro_batch']}"} | PIPELINE,
           machine="64 and 256 A100, 800 Gb/s a node",
           role="partly fitted: bytes of the fused softmax, two_node_tree",
           notes="An older Megatron: the host's floor of the single-node runs, gradients reduced "
                 "after the backward."),
    vtrain("vtrain single", "vtrain_single_node",
           sweep=shape("layers", "hidden", "gpus", "global_batch"),
           groups={"hidden and tensor degree": lambda r: f"hidden {r['hidden']}, tensor {r['tp']}",
                   "micro-batch": lambda r: f"micro-batch {r['micro_batch']}"} | PIPELINE,
           machine="2 to 8 A100 of one node", role="fitted: layer_floor, pass_overhead",
           notes="Models of 0.2 to 1.3 billion parameters: the host sets the pace."),
    mosaic("a100_40gb", "not fitted, but looked at: full_attention"),
    mosaic("a100_80gb", "not fitted, but looked at: full_attention"),
    mosaic("h100_80gb", "fitted: the derate of H100"),
    Dataset(
        name="torchtitan", table="torchtitan_a100",
        base=base("preset: dgx-a100-80g", LLAMA + ", norm: unfused", "zero: 3", "preset: fsdp"),
        keys=torchtitan_keys, keep=lambda row: row["act_ckpt"] != "selective (every 2nd layer)",
        seconds=lambda row: number(row["step_time_derived_s"]),
        oom=lambda row: "out of memory, footnote" in row["notes"], layouts=False,
        sweep=shape("model"), groups={"model": shape("model"),
                                      "recomputation": shape("act_ckpt")},
        machine="64 A100 80 GB, network not stated", role="blind",
        source="github.com/pytorch/torchtitan docs/performance.md",
        notes="Its selective mode keeps every second product; `selective` here keeps all. Eager "
              "norms are a guess."),
    Dataset(
        name="nanotron best", table="nanotron_best",
        base=base("preset: dgx-h100", LLAMA, "",
                  "preset: megatron-lm, overlap_grad_reduce: false, overlap_param_gather: false"),
        keys=nanotron_keys,
        keep=lambda row: not ("80.0B" in row["model"] and row["gpus"] == "32"),
        seconds=lambda row: number(row["step_time_derived_s"]), layouts=False,
        sweep=shape("model"),
        groups={"model": shape("model"), "GPUs": lambda row: f"{row['gpus']} GPUs"} | TENSOR,
        oom=lambda row: False,
        machine="8 to 512 H100", role="blind",
        source="github.com/huggingface/nanotron docs/benchmark_summary.svg",
        notes="Best layout of each cell only; shapes are reconstructed; the stack is taken to "
              "behave like Megatron-LM that reduces gradients after the backward (inferred from "
              "these rows)."),
    Dataset(
        name="vocab parallel", table="vocab_parallel_1f1b",
        base=base("preset: dgx-a100-80g", "bias: true", "", "preset: megatron-lm"),
        keys=lambda row: common(row) | {"model.positions": row["seq"]},
        keep=lambda row: row["schedule"] == "1F1B (baseline)" and "outl" not in row["notes"],
        oom=lambda row: False, layouts=False, sweep=shape("seq"),
        groups={"vocabulary": lambda row: f"vocabulary {row['vocab']}",
                "sequence": lambda row: f"sequence {row['seq']}"},
        machine="8 A100 80 GB", role="blind",
        source="github.com/sail-sg/VocabularyParallelism artifact/example-results",
        notes="Even layers, so the head makes the last stage the slowest; flash attention and no "
              "dropout are guesses."),
    Dataset(
        name="simumax B200", table="simumax_b200_e2e",
        base=base("preset: dgx-b200", LLAMA + ", attention: flash3", "zero: 1",
                  "preset: megatron-lm, overlap_grad_reduce: false, overlap_param_gather: false, "
                  "overlap_tensor_reduce: false, fused_loss: true"),
        keys=simumax_keys, keep=lambda row: row["cp"] == "1",
        oom=lambda row: False, sweep=shape("model", "global_batch"),
        groups={"model": shape("model")} | TENSOR | PIPELINE,
        machine="8 B200 of one node", role="fitted: the derate of B200",
        source="github.com/MooreThreads/SimuMax docs/b200",
        notes="Truncated Llama 3 models; all overlap switched off, fused cross-entropy."),
    Dataset(
        name="simumax B200, context", table="simumax_b200_e2e",
        base=base("preset: dgx-b200", LLAMA + ", attention: flash3",
                  "zero: 1, context_method: ulysses",
                  "preset: megatron-lm, overlap_grad_reduce: false, overlap_param_gather: false, "
                  "overlap_tensor_reduce: false, fused_loss: true"),
        keys=lambda row: simumax_keys(row) | {"layout.context": row["cp"]},
        keep=lambda row: row["cp"] != "1",
        oom=lambda row: False, sweep=shape("model", "seq"),
        groups={"sequence": lambda row: f"sequence {row['seq']}"} | CONTEXT,
        machine="8 B200 of one node", role="blind; the derate of B200 is of the set above",
        source="github.com/MooreThreads/SimuMax docs/b200",
        notes="The rows of the set above that share sequences, by all-to-all."),
    context_steps(
        "nemo 7B, context", "NeMo",
        base=base("preset: dgx-h100", LLAMA + ", attention: flash2", "zero: 1",
                  "preset: megatron-lm"),
        keys=lambda row: context_keys(nemo_row(row)) | {
            "layout.sequence_parallel": "true" if row["tp"] != "1" else "false"},
        seconds=nemo_seconds, machine="4 to 512 H100",
        source="github.com/NVIDIA/NeMo docs, performance_long_sequence (container 24.03)",
        notes="Only TFLOPS are printed, and not how they count; attention is taken in full: 549 "
              "with half of it would be more than kernels of that year reached. Batches are a "
              "guess, flash2 goes by the year."),
    context_steps(
        "megatron-bridge 405B, context", "Megatron-Bridge",
        base=base("preset: dgx-h100", LLAMA + ", attention: flash3",
                  "zero: 1, sequence_parallel: true", "preset: megatron-lm",
                  "name: interleaved, chunks: 8"),
        machine="1024 H100", groups={"release": shape("source")},
        source="github.com/NVIDIA-NeMo/Megatron-Bridge docs/performance-summary",
        notes="One layout in three releases, fp8: tensor 8, context 2, pipeline 8 of 8 chunks, "
              "8192 tokens."),
    context_steps(
        "automodel 70B, context", "Automodel",
        base=base("preset: dgx-h100", LLAMA + ", attention: flash3", "zero: 3, recompute: full",
                  "preset: fsdp"),
        machine="64 H100", source="github.com/NVIDIA-NeMo/Automodel docs/performance-summary",
        notes="Context 2, 8192 tokens. Recomputation is not stated; without it a GPU would need "
              "135 GiB."),
    context_steps(
        "torchtitan H100, context", "torchtitan",
        base=base("preset: dgx-h100, memory_bandwidth: 2.4 TB/s, memory: 94 GiB",
                  LLAMA + ", attention: flash2", "zero: 3, recompute: full",
                  "preset: fsdp, fused_activation: true, fused_rotary: true"),
        machine="8 H100 of 96 GB and 500 W",
        source="github.com/pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan",
        notes="fp8, compiled. The run without context parallelism is 24 % too fast already; how "
              "keys went round is not stated."),
]
