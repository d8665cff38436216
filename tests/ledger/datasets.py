"""The end-to-end data sets: one entry each, from the columns of a table to keys of a run file.

Everything that a source states about its runs is set. What it does not state, and what matters, is
an input of the set, with how its value was found; the rest is left to the preset named."""
import dataclasses
import math
import re
from collections.abc import Callable

# What a set's rows were used for. Fitted: a value or a switch was chosen so that they come out
# right. Seen: looked at while the model was written. Blind: scored by others, from tables that
# the authors of the model did not have.
ROLES = FITTED, SEEN, BLIND = "fitted", "seen", "blind"


@dataclasses.dataclass
class Input:
    """A key of the run file that the source of a set does not state."""
    value: str
    how: str         # guess, inferred from what, or fitted on what
    error: str = ""  # standard error of the value, "20 %"; empty: not stated


@dataclasses.dataclass
class Dataset:
    name: str           # short, of the report and of expected.json
    family: str         # sets that are one line where space is short
    table: str          # NAME.csv
    base: str           # run file that every row starts from: a line for each section
    keys: Callable      # row -> {key: value}
    sweep: Callable     # row -> label of the sweep it belongs to: one job, many layouts
    machine: str
    source: str
    time: str = SEEN    # role of the step times
    memory: str = SEEN  # role of what fits and what does not
    role: str = ""      # more about both
    inputs: dict = dataclasses.field(default_factory=dict)  # key -> Input
    groups: dict = dataclasses.field(default_factory=dict)  # title -> (row -> label), of details
    keep: Callable = lambda row: True
    seconds: Callable = lambda row: number(row["step_time_s"])
    oom: Callable = lambda row: None  # True, False, or None: not known
    layouts: bool = True              # rows of a sweep are layouts to choose from
    fitted: tuple = ()                # keys of rows that are left out with presets alone
    slow: bool = False                # left out by --quick
    notes: str = ""
    left_out: str = ""                # which rows of the table `keep` leaves out, and why

    def __post_init__(self):
        self.shipped = with_presets_alone(self.base)
        if self.inputs:
            self.base = with_inputs(self.base, self.inputs)

    def stated(self, row):
        """Keys of a row without what was fitted on its set."""
        return {k: v for k, v in self.keys(row).items() if k not in self.fitted}

    def job(self, row):
        """All keys of a row that are in sight: those of the base, then its own."""
        return written(self.base) | self.keys(row)


def written(text):
    """{key: value} of a run file of two levels, in lines or in braces."""
    keys, section = {}, ""
    for line in text.splitlines():
        outer = re.match(r"(\w+):\s*(.*)", line)
        section, rest = outer.groups() if outer else (section, line)
        for key, value in re.findall(r"([\w.]+):\s+([^,{}#]+)", rest):
            keys[f"{section}.{key}"] = value.strip()
    return keys


# What a run file needs of a cluster and a framework; every other key of theirs overrides a preset.
NEEDED = ("cluster.preset", "cluster.nodes", "cluster.gpus_per_node", "framework.preset")


def run_file(keys, more=""):
    """The lines of a run file, sections in the order of the keys."""
    sections = {}
    for key, value in keys.items():
        section, _, name = key.partition(".")
        sections.setdefault(section, []).append(f"  {name}: {value}\n")
    return "".join(f"{section}:\n{''.join(lines)}" for section, lines in sections.items()) + more


def with_presets_alone(text):
    """The run file without what it sets over the presets of cluster and framework."""
    return run_file({key: value for key, value in written(text).items()
                     if key in NEEDED or not key.startswith(("cluster.", "framework."))})


def with_inputs(text, inputs):
    """The run file with inputs as lines of it, and their errors where it says what is not sure."""
    errors = "".join(f"    - {key} {i.error}\n" for key, i in inputs.items() if i.error)
    return run_file(written(text) | {key: i.value for key, i in inputs.items()},
                    f"uncertainty:\n  errors:\n{errors}" if errors else "")


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
    """A run file; sizes are each row's."""
    return (f"cluster: {{{cluster}}}\nmodel: {{{model}}}\nlayout: {{{layout}}}\n"
            f"framework: {{{framework}}}\n" + (f"schedule: {{{schedule}}}\n" if schedule else ""))


def shape(*columns):
    return lambda row: " ".join(row[c] for c in columns)


LLAMA = "mlp: swiglu, norm_kind: rmsnorm"

# ---- Hagemann et al. 2023 -----------------------------------------------------------------------

HAGEMANN = "LLaMA 13B to 65B, Hagemann et al."
HAGEMANN_STACK = "preset: aleph-alpha-scaling"
HAGEMANN_BASE = base("preset: dgx-a100-80g", LLAMA, "zero: 1", HAGEMANN_STACK)
HAGEMANN_SOURCE = ("Hagemann et al. 2023, github.com/Aleph-Alpha/NeurIPS-WANT-submission-"
                   "efficient-parallelization-layouts")
HAGEMANN_INPUTS = {
    "cluster.nics_per_node": Input("1", "fitted on all three sizes: the source says HDR InfiniBand "
                                        "and no more; 8 in the sheets of 13B with "
                                        "FlashAttention 2, [which were run apart]"
                                        "(#where-it-errs)"),
    "cluster.nic_bandwidth": Input("233 Gb/s", "fitted with it: 28 GB/s a node for what data ranks "
                                               "and stages send; 200 Gb/s where there are 8"),
    "cluster.derate": Input("0.94", "fitted with both: what one would take for the other", "3 %"),
}
# Of 13B on 64 GPUs these were run apart from the others (trials 132173 to 132405 against 97343 to
# 104149). All is inferred: with two stages they take (m + 1)/m times as long as with one if a step
# has 256 sequences, and then gradients cost next to nothing: they move beside the passes, over a
# network of its own.
HAGEMANN_LATE = {"cluster.nics_per_node": "8", "cluster.nic_bandwidth": "200 Gb/s",
                 "framework.overlap_grad_reduce": "true", "framework.overlap_param_gather": "true",
                 "framework.bucket": "100 MB"}  # beside activations, and one layout fits only just
HAGEMANN_LATE_BATCH = 256
HAGEMANN_KERNELS = {
    "FA2+fusedRMSNorm": ("flash2", "fused"), "FA2": ("flash2", "unfused"),
    "FA1.0.8": ("flash1", "unfused"), "unfused torch": ("unfused", "unfused"),
    "Megatron fused softmax": ("fused-softmax", "unfused"),
}


def hagemann_batch(row):
    """Sequences a step; one of the late layouts, which is out of memory, needs more."""
    late = row["model"] == "LLaMA-13B" and row["attention_kernel"].startswith("FA2")
    if not late:
        return whole(row["global_batch"])
    return max(HAGEMANN_LATE_BATCH, whole(row["dp"]) * whole(row["micro_batch"]))


def hagemann_keys(row):
    attention, norm = HAGEMANN_KERNELS[row["attention_kernel"]]
    batch = hagemann_batch(row)
    late = batch != whole(row["global_batch"])
    return common(row) | (HAGEMANN_LATE if late else {}) | {
        "layout.global_batch": batch, "model.attention": attention, "model.norm": norm,
        "layout.recompute": "full" if row["act_ckpt"] == "full" else "none"}


def hagemann_seconds(row):
    """The table's times are those of 2,048 sequences, which the paper states."""
    time = number(row["step_time_s"])
    return time and time * hagemann_batch(row) / whole(row["global_batch"])


def hagemann_oom(row):
    if row["step_time_s"]:
        return False
    return True if float(row["oom"] or 0) == 1 else None


def hagemann(name, model, gpus, **rest):
    return Dataset(
        name=name, family=HAGEMANN, table="hagemann_13b64_65b128", base=HAGEMANN_BASE,
        inputs=HAGEMANN_INPUTS, keys=hagemann_keys, keep=lambda row: row["model"] == model,
        seconds=hagemann_seconds, oom=hagemann_oom, fitted=tuple(HAGEMANN_LATE),
        sweep=lambda row: f"{model}, {row['attention_kernel']}",
        groups={"kernels": shape("attention_kernel")},
        machine=f"{gpus} A100 80 GB, HDR InfiniBand", source=HAGEMANN_SOURCE, **rest)


# ---- vTrain -------------------------------------------------------------------------------------

VTRAIN = "GPT 3.6B to 39B, vTrain"
VTRAIN_SINGLE = "small GPT on one node, vTrain"
VTRAIN_BASE = base("preset: dgx-a100-80g, nics_per_node: 4",
                   "dtype: fp16, attention: fused-softmax, bias: true, tied: true, dropout: 0.1, "
                   "positions: 2048", "recompute: full",
                   "preset: megatron-lm, overlap_grad_reduce: false")
VTRAIN_INPUTS = {
    "framework.layer_floor": Input("1.05 ms", "fitted on vtrain single"),
}
VTRAIN_SOURCE = "github.com/VIA-Research/vTrain data/ground_truth"
VTRAIN_STACK = ("An older Megatron: the host's floor of the single-node runs, gradients reduced "
                "after the backward.")


def vtrain(name, table, **rest):
    return Dataset(
        name=name, table=table, base=VTRAIN_BASE, inputs=VTRAIN_INPUTS, source=VTRAIN_SOURCE,
        keys=lambda row: common(row) | {"model.positions": row["seq"]}, **rest)


# ---- llm-foundry --------------------------------------------------------------------------------

MOSAIC_CLUSTER = {"a100_80gb": "dgx-a100-80g", "a100_40gb": "dgx-a100-40g",
                  "h100_80gb": "dgx-h100"}


def mosaic_keys(row):
    return common(row) | {
        "model.rotary": "0 %",  # ALiBi has no weights
        "model.dtype": "fp8" if "fp8" in row["precision"] else "bf16",
        "layout.zero": 3 if "FULL_SHARD" in row["zero_or_fsdp"] else 2,
        "layout.recompute": row["act_ckpt"],
        # FSDP mixed precision DEFAULT reduces in 32 bit, PURE in 16.
        "framework.reduce_dtype": "model" if "PURE" in row["precision"] else "fp32",
    }


def mosaic(gpu, role):
    return Dataset(
        name=f"llm-foundry {MOSAIC_CLUSTER[gpu].removeprefix('dgx-')}",
        family="MPT with FSDP, LLM Foundry", table="mosaic_llm_foundry",
        base=base(f"preset: {MOSAIC_CLUSTER[gpu]}", "tied: true, attention: flash2", "",
                  "preset: fsdp"),
        inputs={"model.full_attention": Input("true", "inferred from its long sequences"),
                "framework.loss_metrics": Input("2", "Composer updates LanguageCrossEntropy and "
                                                     "LanguagePerplexity with every micro-batch, "
                                                     "which llm-foundry could not switch off then "
                                                     "(pull request 642)")},
        keys=mosaic_keys, keep=lambda row: row["gpu"] == gpu and "outlier" not in row["notes"],
        left_out="a row that its table marks as an outlier" if gpu == "a100_40gb" else "",
        oom=lambda row: False, sweep=lambda row: f"{row['model']} on {row['gpus']}",
        layouts=False,
        groups={"model": shape("model"),
                "precision": lambda row: "fp8" if "fp8" in row["precision"] else "bf16",
                "sharding": shape("zero_or_fsdp")},
        machine="A100 (1600 Gb/s RoCE a node)" if gpu[0] == "a" else "H100",
        source="github.com/mosaicml/llm-foundry scripts/train/benchmarking",
        time=FITTED, memory=FITTED, role=role,
        notes="MPT with ALiBi, which keeps its attention kernel from skipping masked scores; "
              "fused cross-entropy. From 128 to 512 H100 steps grow by 3 to 11 %, simulated ones by "
              "0 to 3 %; not known why.")


# ---- others -------------------------------------------------------------------------------------

OTHERS = "torchtitan, nanotron, vocabulary parallelism"


def torchtitan_keys(row):
    return common(row) | {"layout.recompute": "selective" if "selective" in row["act_ckpt"]
                          else row["act_ckpt"]}


def nanotron_keys(row):
    sharded = row["zero_or_fsdp"] == "ZeRO-1"  # else PyTorch's DDP reduces gradients
    return common(row) | {
        "layout.zero": 1 if sharded else 0, "framework.bucket": "1 KiB" if sharded else "25 MiB",
        "layout.sequence_parallel": "true" if row["seq_parallel"].startswith("yes") else "false"}


SIMUMAX = "Llama 3 on 8 B200, SimuMax"


def simumax_keys(row):
    return common(row) | {
        "layout.sequence_parallel": "true" if row["seq_parallel"] == "True" else "false"}


def simumax(name, layout, **rest):
    return Dataset(
        name=name, family=SIMUMAX, table="simumax_b200_e2e",
        base=base("preset: dgx-b200", LLAMA + ", attention: flash3", layout,
                  "preset: megatron-lm, overlap_grad_reduce: false, overlap_param_gather: false, "
                  "overlap_tensor_reduce: false, fused_loss: true"),
        oom=lambda row: False, machine="8 B200 of one node",
        source="github.com/MooreThreads/SimuMax docs/b200", **rest)


# ---- context parallelism ------------------------------------------------------------------------

CONTEXT = {"ranks of a sequence": lambda row: f"context {row['cp']}"}


def context_keys(row, **more):
    dtype, _, scaling = row["precision"].partition("-")
    recipe = {"framework.fp8_recipe": "current"} if scaling == "cs" else {}
    return common(row) | {"layout.context": row["cp"], "model.dtype": dtype} | recipe | more


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
    rest = {"keys": context_keys, "seconds": per_token, "sweep": shape("model"),
            "groups": CONTEXT, "oom": lambda row: False, "layouts": False} | rest
    return Dataset(name=name, family="long sequences on H100, NVIDIA and torchtitan",
                   table="context_steps",
                   keep=lambda row: row["source"].split(" ", maxsplit=1)[0] == text, **rest)


# ---- published runs -----------------------------------------------------------------------------

PUBLISHED = "published runs of GPT, 18B to 1T"


def korthikanti_keys(row):
    chunks = int(row["vpp"])
    return common(row) | {
        "layout.recompute": row["act_ckpt"],
        "layout.sequence_parallel": "true" if row["seq_parallel"] == "yes" else "false",
        "schedule.name": "interleaved" if chunks > 1 else "1f1b", "schedule.chunks": chunks}


DATASETS = [
    hagemann("hagemann 13B", "LLaMA-13B", 64, time=FITTED, memory=FITTED,
             role="the network and a derate; norm_passes_unfused, softmax of unfused attention; "
                  "memory"),
    hagemann("hagemann 65B", "LLaMA-65B", 128, time=FITTED, memory=FITTED,
             role="the network and a derate; memory"),
    Dataset(
        name="korthikanti", family=PUBLISHED, table="korthikanti_table5",
        base=base("preset: dgx-a100-80g", "attention: fused-softmax, bias: true, tied: true, "
                  "dropout: 0.1, positions: 2048", "", "preset: megatron-lm"),
        keys=korthikanti_keys, oom=lambda row: False, layouts=False, sweep=shape("act_ckpt"),
        groups={"model": shape("model")},
        machine="8 to 512 A100 80 GB, 8 x 200 Gb/s a node", time=FITTED,
        role="overlap_p2p was chosen after a look at them",
        source="Korthikanti et al. 2022, tables 3 and 5",
        notes="Full recomputation without, selective with sequence parallelism; interleaved "
              "schedule with three chunks for 175B and 530B."),
    vtrain("vtrain multi", "vtrain_multi_3.6b_18.4b", family=VTRAIN, sweep=shape("model"),
           groups={"model": shape("model")},
           machine="64 and 256 A100, 800 Gb/s a node", time=FITTED,
           role="in part: bytes of the fused softmax, two_node_tree", notes=VTRAIN_STACK),
    vtrain("vtrain single", "vtrain_single_node", family=VTRAIN_SINGLE,
           sweep=shape("layers", "hidden", "gpus", "global_batch"),
           groups={"hidden and tensor": lambda r: f"hidden {r['hidden']}, tensor {r['tp']}"},
           machine="2 to 8 A100 of one node", time=FITTED, role="layer_floor, pass_overhead",
           notes="Models of 0.2 to 1.3 billion parameters: the host sets the pace."),
    mosaic("a100_40gb", "full_attention, fused_loss"),
    mosaic("a100_80gb", "full_attention, fused_loss"),
    mosaic("h100_80gb", "gemm_sustained of H100, in part"),
    Dataset(
        name="torchtitan", family=OTHERS, table="torchtitan_a100",
        base=base("preset: dgx-a100-80g", LLAMA, "zero: 3", "preset: fsdp"),
        inputs={"model.norm": Input("unfused", "guess: it runs eagerly")},
        keys=torchtitan_keys, keep=lambda row: row["act_ckpt"] != "selective (every 2nd layer)",
        left_out="rows that recompute every second layer: no such mode here",
        seconds=lambda row: number(row["step_time_derived_s"]),
        oom=lambda row: "out of memory, footnote" in row["notes"], layouts=False,
        sweep=shape("model"), groups={"model": shape("model"),
                                      "selection": shape("act_ckpt")},
        machine="64 A100 80 GB, network not stated",
        source="github.com/pytorch/torchtitan docs/performance.md",
        notes="Its selective mode keeps every second GEMM; `selective` here keeps all."),
    Dataset(
        name="nanotron best", family=OTHERS, table="nanotron_best",
        base=base("preset: dgx-h100", LLAMA, "", "preset: nanotron"),
        keys=nanotron_keys,
        keep=lambda row: not ("80.0B" in row["model"] and row["gpus"] == "32"),
        left_out="80B on 32 GPUs: half the MFU of its neighbours",
        seconds=lambda row: number(row["step_time_derived_s"]), layouts=False,
        sweep=shape("model"), groups={"model": shape("model")}, oom=lambda row: False,
        machine="8 to 512 H100", time=FITTED, role="what overlaps",
        source="github.com/huggingface/nanotron docs/benchmark_summary.svg",
        notes="Best layout of each cell only; shapes are reconstructed; that nothing hides the "
              "reductions is inferred from these rows."),
    Dataset(
        name="vocab parallel", family=OTHERS, table="vocab_parallel_1f1b",
        base=base("preset: dgx-a100-80g", "bias: true", "",
                  "preset: megatron-lm, wgrad_placeholders: false"),
        keys=lambda row: common(row) | {"model.positions": row["seq"]},
        keep=lambda row: row["schedule"] == "1F1B (baseline)" and "outl" not in row["notes"],
        left_out="rows with a split vocabulary: no such schedule here; a row that its table marks "
                 "as an outlier",
        oom=lambda row: False, layouts=False, sweep=shape("seq"),
        groups={"vocabulary": lambda row: f"vocabulary {row['vocab']}"},
        machine="8 A100 80 GB",
        source="github.com/sail-sg/VocabularyParallelism artifact/example-results",
        notes="Even layers, so the head makes the last stage the slowest; flash attention, no "
              "dropout and Transformer Engine 1 are guesses."),
    simumax("simumax B200", "zero: 1", keys=simumax_keys, keep=lambda row: row["cp"] == "1",
            sweep=shape("model", "global_batch"), groups={"model": shape("model")},
            time=FITTED, role="gemm_sustained of B200",
            notes="Truncated Llama 3 models; all overlap switched off, fused cross-entropy."),
    simumax("simumax B200, context", "zero: 1, context_method: ulysses",
            keys=lambda row: simumax_keys(row) | {"layout.context": row["cp"]},
            keep=lambda row: row["cp"] != "1", sweep=shape("model", "seq"), groups=CONTEXT,
            role="gemm_sustained of B200, with the set above",
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
                  "zero: 1, sequence_parallel: true", "preset: nemo, fp8_recipe: current",
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
                  "preset: torchtitan, fused_activation: true, fused_rotary: true, "
                  "fp8_recipe: current, fp8_activations: false"),
        machine="8 H100 of 96 GB and 500 W",
        source="github.com/pytorch/torchtitan benchmarks/llama3_h100_202412_torchtitan",
        notes="fp8, compiled. The run without context parallelism is 24 % too fast already; how "
              "keys went round is not stated."),
]
