"""Sheets: tables that need no code, for their columns are keys of the run file.

    measured_s     seconds of a step; empty where there is none
    oom            1: it ran out of memory; 0: it ran, or failed otherwise; left out: not known
    layout.tensor, model.preset, ...
                   keys; an empty cell is not set. cluster.nodes, model.sequence and
                   layout.global_batch must be among them

All other columns are for people. Rows start from NAME.yaml, a run file beside NAME.csv; without
one from that of the family whose prefix the name has; else from nothing, so that the columns say
all. A sheet that is not in KNOWN was not seen while the model was written: it is blind."""
import dataclasses

import datasets
import experts
from datasets import BLIND, FITTED, SEEN, Dataset, number, shape

MEASURED, OOM = "measured_s", "oom"


@dataclasses.dataclass
class Family:
    name: str
    base: str
    source: str
    inputs: dict


BRIDGE = ("github.com/NVIDIA-NeMo/Megatron-Bridge docs/performance-summary and its archive, "
          "containers 26.02 to 26.08")
MLPERF = "MLPerf Training {} logs, github.com/mlcommons/training_results"


def nvidia(model, family="NVIDIA's recipes: MLPerf, Megatron-Bridge"):
    """What its rows of MLPerf and of Megatron-Bridge have in common."""
    return {"family": family, "memory": SEEN,
            "base": datasets.base("", model, "zero: 1", "preset: nemo")}


NOTHING = Family("", datasets.base(""), "given from outside", {})
FAMILIES = {
    "hagemann": Family(datasets.HAGEMANN, datasets.HAGEMANN_BASE, datasets.HAGEMANN_SOURCE,
                       datasets.HAGEMANN_INPUTS),
    "vtrain_multi": Family(datasets.VTRAIN, datasets.VTRAIN_BASE, datasets.VTRAIN_SOURCE,
                           datasets.VTRAIN_INPUTS),
}
KNOWN = {
    "hagemann_30b256": {
        "name": "hagemann 30B", "time": FITTED, "memory": SEEN,
        "role": "the network and a derate",
        "machine": "256 A100 80 GB, HDR InfiniBand",
        "groups": {"kernels": lambda r: f"{r['model.attention']}, {r['model.norm']} norms"}},
    "vtrain_multi_39.1b": {
        "name": "vtrain 39B", "slow": True, "time": SEEN, "memory": SEEN,
        "machine": "512 A100, 800 Gb/s a node",
        "notes": datasets.VTRAIN_STACK + " Seven rows of tensor 1 and 2 are in no order that "
                                         "anything explains; they are kept."},
    "large_runs": {
        "name": "large runs", "slow": True, "family": datasets.PUBLISHED, "time": SEEN,
        "memory": SEEN,
        "base": datasets.base("", "bias: true, tied: true, dropout: 0.1, positions: 2048", "",
                              "preset: megatron-lm"),
        "machine": "128 to 3072 GPUs of A100 and H100 systems",
        "groups": {"source": lambda r: r["source"].split(";")[0]},
        "source": "Narayanan et al. 2021; Korthikanti et al. 2022; Jiang et al. 2024 (MegaScale), "
                  "its rows of Megatron-LM; NVIDIA dgxc-benchmarking v25.02.02",
        "notes": "One row a run. The recomputation of MegaScale's rows and the attention kernel "
                 "of NVIDIA's are guesses, see the column `guessed`."},
    "mlperf_gpt3": {
        **nvidia("attention: flash3, tied: true"), "name": "mlperf GPT-3", "slow": True,
        "time": FITTED, "role": "the attention kernel and SMs of sums, among what was possible then",
        "machine": "512 to 3584 H100", "source": MLPERF.format("3.0"),
        "notes": "Buckets, ranks, weights in bf16 and sums of pieces by kernels as in the files of "
                 "v3.0 and v3.1; of multiprocessors Transformer Engine's default. No CUDA graphs "
                 "yet: launches and passes take what megatron-lm's do (guess), and attention what "
                 "FlashAttention 2 does (guess: the kernels of 2024 were to come)."},
    "mlperf_llama3_8b": {
        **nvidia("preset: llama3-8b, attention: flash3"), "name": "mlperf 8B", "time": FITTED,
        "role": "cluster.fp4_efficiency, one value for four GPUs; cluster.fp8_efficiency was not",
        "machine": "8 and 16 B200, B300, GB200, GB300", "source": MLPERF.format("5.1"),
        "groups": {"GPU": shape("gpu"), "type": shape("model.dtype")},
        "notes": "fp8 with one current scale a tensor, or NVFP4 in all layers; flags as in each "
                 "configuration."},
    "mlperf_llama2_70b_lora": {
        **nvidia("preset: llama2-70b, attention: flash3"),
        "name": "mlperf LoRA", "time": FITTED, "fitted": ("cluster.fp8_efficiency",),
        "role": "the fp8 recipe, of two; cluster.fp8_efficiency of B200 in v4.1 and v5.0, on six rows",
        "machine": "4 to 1024 H100 and 8 to 128 B200",
        "source": MLPERF.format("4.0 to 5.1"), "groups": {"GPU": shape("gpu"),
                                                         "type": shape("model.dtype")},
        "notes": "Rank, targets and dropout are the benchmark's rules. The fp8 recipe, inputs of SwiGLU in "
                 "fp8 and all_to_all are guesses, no row says; the first two were chosen with these "
                 "rows in view. Kernels of Blackwell's first year reach 0.87 of today's fp8 rate: "
                 "v4.1 and v5.0 on B200 run with cluster.fp8_efficiency 0.62, not 0.71; GB200 takes "
                 "0.56 by the same share."},
    "mlperf_v6_experts": {
        **nvidia("attention: flash3", experts.FAMILY), "name": "mlperf v6.0, experts", "time": FITTED,
        "fitted": ("framework.step_overhead",),
        "role": "framework.step_overhead of DeepSeek-V3, one value",
        "machine": "256 to 2048 GB200, GB300; 64 B200", "source": MLPERF.format("6.0"),
        "groups": {"model": shape("model.preset")},
        "notes": "Real routers, simulated balanced. Exchanges beside passes as the configurations "
                 "say; fused GEMMs of experts and fp8 attention as Megatron-Bridge 26.06 (guess), "
                 "but gpt-oss-20b in 16 bit: Transformer Engine then had no sinks in fp8. "
                 "DeepSeek-V3's head is in fp8 on GB300 (FP8_OUTPUT_PROJ). Its steps have a constant "
                 "of 1.6 s that nothing explains, step_overhead: 512 and 2,048 GB200 differ by 0.121 "
                 "s a micro-batch and no more."},
    "megatron_bridge_dense": {
        **nvidia("preset: llama3-70b, attention: flash3"), "name": "megatron-bridge 70B",
        "time": FITTED, "role": "cluster.mxfp8_speed", "machine": "32 and 64 H100, GB200, GB300",
        "source": BRIDGE, "groups": {"GPU": shape("gpu"), "type": shape("model.dtype")},
        "left_out": "LoRA: its rows are those of MLPerf",
        "notes": "Llama 3 70B, trained and fine-tuned. Releases differ by 9 % in one layout."},
    "megatron_bridge_hybrid": {
        **nvidia("", experts.FAMILY), "name": "megatron-bridge Nemotron",
        "base": datasets.base("", "preset: nemotron-3-nano, attention: flash3", "zero: 1",
                              "preset: nemo, dispatcher: hybridep"),
        "time": SEEN, "machine": "16 H100, 8 B200 and B300",
        "source": BRIDGE, "groups": {"GPU": shape("gpu")},
        "left_out": "Nemotron 3 Ultra: activations of experts go to the host by size",
        "notes": "Nemotron 3 Nano 30B-A3B. Dispatcher and recomputation as in "
                 "scripts/performance/configs/nemotronh."},
    "megatron_bridge_experts": {
        **nvidia("attention: flash3", experts.FAMILY), "name": "megatron-bridge 26, experts",
        "slow": True,
        "time": FITTED, "role": "cluster.gemm_sustained of GB300",
        "machine": "64 and 256 H100, B200, B300, GB300", "source": BRIDGE,
        "groups": {"GPU": shape("gpu"), "model": shape("model.preset")},
        "notes": "Dispatcher, recomputation, graphs and fused GEMMs are those of the recipes of "
                 "its performance scripts, by release as far as known. One layout differs by 1.4 "
                 "and by 1.6 times between releases. gpt-oss in bf16 is 8 to 13 % too fast on all "
                 "GPUs, with experts over nodes more: not known why."},
}


def everything(tables):
    """All data sets: those with code, and sheets."""
    return [*datasets.DATASETS, *experts.DATASETS, *sets(tables)]


def sets(tables):
    """A data set for every sheet that is known or found."""
    found = [*KNOWN, *(name for name in tables.names() if name not in KNOWN)]
    return [sheet(tables, name) for name in found if name in KNOWN or is_sheet(tables, name)]


def is_sheet(tables, name):
    columns = tables.columns(name)
    return MEASURED in columns and any("." in column for column in columns)


def sheet(tables, name):
    prefix = max((p for p in FAMILIES if name.startswith(p)), key=len, default="")
    family, known = FAMILIES.get(prefix, NOTHING), KNOWN.get(name)
    title = name.replace("_", " ")
    own = tables.run_file(name)
    about = {"name": title, "family": family.name or f"{title}, from outside",
             "base": own or family.base, "inputs": {} if own else family.inputs,
             "source": family.source, "machine": "-"}
    about |= known if known is not None else {"time": BLIND, "memory": BLIND}
    return Dataset(table=name, keys=keys, sweep=job, oom=oom,
                   seconds=lambda row: number(row[MEASURED]), **about)


def keys(row):
    return {column: value for column, value in row.items() if "." in column and value}


def job(row):
    """What a layout is chosen for: everything but the layout."""
    choices = "layout.", "schedule."
    return ", ".join(f"{key}={value}" for key, value in keys(row).items()
                     if key == "layout.global_batch" or not key.startswith(choices))


def oom(row):
    if row[MEASURED]:
        return False
    return True if number(row.get(OOM, "")) == 1 else None
