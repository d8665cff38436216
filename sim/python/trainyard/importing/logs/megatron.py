"""Logs of Megatron-LM, its forks, GPT-NeoX, and of NeMo and Megatron-Bridge, which run its steps.

Checked against the sources: the line of an iteration, with its fields in the order of training_log()
(Megatron-LM 001b00c2, megatron/training/training.py; GPT-NeoX 018b8a9e, megatron/logging.py, which
begins it with samples/sec and prints "approx flops per GPU"). From memory: the block of arguments and
what names in it are called on the command line, older lines of forks (BLOOM's seconds, TFLOPs,
tokens-per-second-per-gpu), lines of memory and timers, padded vocabulary, the configuration that NeMo
and Megatron-Bridge print, and NeMo's train_step_timing.
"""
import re
from typing import Dict, List, Optional

from ..facts import Facts, File, From, Place
from ..flags import Flags
from ..megatron import Megatron
from ..megatron_rows import KEYS, NO_KEY, TAKEN
from .measure import Step
from .runs import Log, Run, Writer, excerpt, number, rank_of, source
from .stream import Block, Line

_NUMBER = r"([\d.]+(?:[eE][+-]?\d+)?)"
_ITERATION = re.compile(r"\biteration +(\d+)/ *(\d+)")
_ELAPSED = re.compile(r"elapsed time per iteration \((ms|s)\): *" + _NUMBER)
_BATCH = re.compile(r"global[ _]batch[ _]size: *(\d+)")
_LENGTH = re.compile(r"(?:actual seqlen|curriculum[ _]seqlen): *(\d+)")
_FLOPS = re.compile(r"(?:(?:throughput|compute) per GPU \(TFLOP/s/GPU\)|TFLOPs|"
                    r"approx flops per GPU): *" + _NUMBER + "([TGP]?)")
_SAMPLES = re.compile(r"samples(?: per second|/sec): *" + _NUMBER)
_PER_GPU = re.compile(r"(?:tokens-per-second-per-gpu|tokens per gpu per second \(tgs\)|"
                      r"tokens per GPU \(tokens/s/GPU\)): *" + _NUMBER)
_SKIPPED = re.compile(r"number of skipped iterations: *(\d+)")


def iteration(log: Log, line: Line) -> None:
    text = line.text
    at, elapsed = _ITERATION.search(text), _ELAPSED.search(text)
    if not at or not elapsed:
        return
    flops = _FLOPS.search(text)
    scale = {"G": 1e9, "P": 1e15}.get(flops[2], 1e12) if flops else 0
    log.step("megatron", line, Step(
        int(at[1]), float(elapsed[2]) * (1e-3 if elapsed[1] == "ms" else 1), line.number,
        batch=int(number(_BATCH, text)), sequence=int(number(_LENGTH, text)),
        samples_per_s=number(_SAMPLES, text), tokens_per_s_per_gpu=number(_PER_GPU, text),
        flops=float(flops[1]) * scale if flops else 0, skipped=number(_SKIPPED, text) > 0))


_NEMO = re.compile(r"train_step_timing in s['\"]?[=:] *" + _NUMBER)
_AT = re.compile(r"global_step['\"]?[=:] *(\d+)|iteration (\d+)/|\| *(\d+)/\d+ \[")
_NEMO_FLOPS = re.compile(r"(?i)tflops_per_(?:sec_per_)?gpu['\"]?[=:] *" + _NUMBER)


def nemo_step(log: Log, line: Line) -> None:
    at = _AT.search(line.text)
    seconds = number(_NEMO, line.text)
    if seconds and "Validation" not in line.text:
        log.step("nemo", line, Step(
            int(at[1] or at[2] or at[3]) if at else -1, seconds, line.number,
            batch=int(number(_BATCH, line.text)), flops=1e12 * number(_NEMO_FLOPS, line.text)))


_BRIDGE = re.compile(r"Step Time : *([\d.]+) *s.*?GPU utilization: *([\d.]+)")


def bridge_step(log: Log, line: Line) -> None:
    found = _BRIDGE.search(line.text)
    if found:
        log.step("bridge", line, Step(-1, float(found[1]), line.number, flops=1e12 * float(found[2])))


# ---- memory, timers, the world ----

_UNITS = {"MB": 2.0**20, "GB": 1e9}  # Megatron-LM divides by 1024 twice, Megatron-Bridge by 1e9


def memory(log: Log, line: Line) -> None:
    rank, unit = re.search(r"\[?Rank (\d+)\]?", line.text), re.search(r"\((MB|GB)\)", line.text)
    scale = _UNITS[unit[1]] if unit else 2.0**20
    for name, of in (("allocated", log.run.memory), ("reserved", log.run.reserved)):
        found = re.search(rf"max[ -]{name}(?:-gigabytes)?: *([\d.]+)", line.text)
        if found:
            log.keep_most(of, rank[1] if rank else rank_of(line), float(found[1]) * scale)


_TIMER = re.compile(r"^\s*([\w-]+) ?\.*: *\(?([\d.]+)(?:, *([\d.]+)\))?\s*$")


def timers(log: Log, line: Line) -> Optional[Block]:
    """ "(min, max) time across ranks (ms):", then a line for each: the slowest rank counts."""
    run = log.run

    def done(block: Block) -> None:
        for text in block.lines:
            found = _TIMER.match(text)
            if found:
                keep_timer(run, found[1], float(found[3] or found[2]) / 1e3)
    return Block(line, done, ends=r"^(?!\s*[\w-]+ ?\.*: *\(?[\d.]+)")


def keep_timer(run: Run, name: str, seconds: float) -> None:
    if name in run.timers or len(run.timers) < 100:
        run.timers.setdefault(name, [])
        if len(run.timers[name]) < 10000:
            run.timers[name].append(seconds)


def inline_timers(log: Log, line: Line) -> None:
    """ "time (ms) | forward: 1.2 | backward: 3.4" of GPT-NeoX and DeepSpeed."""
    for name, value in re.findall(r"\| *([a-z][\w -]*?): *([\d.]+)", line.text):
        keep_timer(log.run, name.replace(" ", "-"), float(value) / 1e3)


def world(log: Log, line: Line) -> None:
    found = re.search(r"using world size: *(\d+)", line.text)
    if found:
        log.find("world", line, found[1])


def padded(log: Log, line: Line) -> None:
    found = re.search(r"\(new size: *(\d+)\)", line.text)
    if found:
        log.find("padded", line, found[1])


def parameters(log: Log, line: Line) -> None:
    found = re.search(r"umber of parameters[^:]*: *([\d.]+)", line.text)
    if found and "total" in line.text.lower():
        log.find("billions", line, found[1])


def event(log: Log, line: Line) -> None:
    log.run.event = True


# ---- configuration ----

def arguments(log: Log, line: Line) -> Optional[Block]:
    return log.capture("arguments", line, ends="-+ end of arguments -+")


def dump(log: Log, line: Line) -> Optional[Block]:
    """The YAML of NeMo's experiment manager, or of Megatron-Bridge."""
    return log.capture("nemo", line, lead=True,
                       ends=r"^(?:\[NeMo |-{10,}$|\*{10,}$|\[\d{4}-|\d{4}-\d\d-)")


# What resolved arguments are called, and the flag that says so. A "!" is a flag for false.
RENAMED = {"add_bias_linear": "!disable-bias-linear", "fp8": "fp8-format",
           "masked_softmax_fusion": "!no-masked-softmax-fusion",
           "overlap_p2p_comm": "!no-overlap-p2p-communication",
           "gradient_accumulation_fusion": "!no-gradient-accumulation-fusion",
           "apply_rope_fusion": "!no-rope-fusion",
           "bias_swiglu_fusion": "!no-bias-swiglu-fusion",
           "add_position_embedding": "!no-position-embedding",
           "scatter_gather_tensors_in_pipeline": "!no-scatter-gather-tensors-in-pipeline",
           "virtual_pipeline_model_parallel_size": "num-virtual-stages-per-pipeline-rank",
           "grad_reduce_in_fp32": "!grad-reduce-in-bf16"}
# Resolved arguments that repeat another one, or say nothing about a step where they are resolved.
REPEATED = set("""encoder_num_layers encoder_seq_length decoder_num_layers decoder_seq_length spec
    num_layers_per_virtual_pipeline_stage vocab_size nnodes nproc_per_node yaml_cfg deepspeed_config
    hybrid_attention_ratio hybrid_mlp_ratio world_size overlap_p2p_communication
    batch_size model_parallel_size checkpoint_activations deepspeed_activation_checkpointing
    moe_router_topk_limited_devices glu_activation""".split())
KNOWN = set(TAKEN.split()) | set(KEYS) | {name for names in NO_KEY for name in names.split()}
NOTHING = ("None", "False", "", "[]", "AttnBackend.auto")
_ARGUMENT = re.compile(r"^\s*(\w+) \.* ?(.*?)\s*$")
_NEOX = re.compile(r"\.*(?:default|updated)$")


def arguments_of(run: Run) -> Dict[str, "tuple[str, int]"]:
    """Values of the block, with their lines."""
    block = run.blocks["arguments"]
    found = (( _ARGUMENT.match(text), n) for text, n in zip(block.lines, block.numbers))
    return {match[1]: (match[2], n) for match, n in found if match}


def put(flags: Flags, name: str, value: str, at: From) -> None:
    flag = RENAMED.get(name, name.replace("_", "-"))
    if flag.startswith("!"):
        if value == "False":
            flags.put("--" + flag[1:], at)
    elif flag in KNOWN and name not in REPEATED and value not in NOTHING:
        if value == "True":
            flags.put("--" + flag, at)
        elif flag not in NO_KEY:
            values = re.findall(r"[^\s,\[\]()'\"]+", value) if value[0] in "[(" else [
                re.sub(r"^\w+\.(?=\w+$)", "", value) if re.match("[A-Z]", value) else value]
            flags.put("--" + flag, at, *values)


def forked(flags: Flags, values: Dict[str, "tuple[str, int]"]) -> bool:
    """Whether it is a fork by DeepSpeed, whose names for recomputation and width differ."""
    return "deepspeed" in values or "zero_stage" in values


def configure(f: Facts, run: Run, more: List[File]) -> bool:
    if "arguments" not in run.blocks:
        return False
    values, flags = arguments_of(run), Flags(f)
    block = run.blocks["arguments"]
    if "num_gpus" in values or "pipe_parallel_size" in values:
        return neox(f, run, values)
    log = File(block.first.file, "")
    if values.get("group_query_attention", ("", 0))[0] == "False":
        values.pop("num_query_groups", None)
    for name, (value, line) in values.items():
        put(flags, name, value, From(name, Place(log, line, 1, False)))
    if values.get("padded_vocab_size", ("None", 0))[0] in NOTHING and "padded" in run.found:
        flags.put("--padded-vocab-size", source(run.found["padded"].line, "padded vocab"),
                  run.found["padded"].value)
    fork = forked(flags, values)
    if values.get("recompute_granularity", ("None", 0))[0] in NOTHING and values.get(
            "checkpoint_activations", ("", 0))[0] == "True":
        flags.put("--checkpoint-activations", From("checkpoint_activations"))
    said = run.found.get("world")
    if "world_size" in values:
        value, line = values["world_size"]
        f.gpus, f.gpus_from = int(value), From("world_size", Place(log, line, 1, False))
    elif said:
        f.gpus, f.gpus_from = int(said.value), source(said.line, "using world size")
    if values.get("nproc_per_node", ("None", 0))[0].isdigit():
        f.per_node = int(values["nproc_per_node"][0])
    Megatron(f, flags, fork).read()
    if fork and flags.has("--zero-stage") and flags.count("--zero-stage"):
        flags.set_count("layout.zero", "--zero-stage")
    return True


def neox(f: Facts, run: Run, values: Dict[str, "tuple[str, int]"]) -> bool:
    """The arguments as a file of settings of GPT-NeoX, for its own reader."""
    from .. import neox as reader
    from .blocks import literal, settings
    block = run.blocks["arguments"]
    found = {name: literal(_NEOX.sub("", value)) for name, (value, _) in values.items()}
    lines, numbers = settings(found, {name: line for name, (_, line) in values.items()})
    f.files = [File(block.first.file, "\n".join(lines), numbers)]
    reader.read(f)
    return True


def nemo_configure(f: Facts, run: Run, more: List[File]) -> bool:
    from .. import nemo
    if "nemo" not in run.blocks:
        return False
    if "world" in run.found and not f.known_gpus():
        f.gpus = run.count("world")
        f.gpus_from = source(run.found["world"].line, "using world size")
    f.files = [excerpt(run.blocks["nemo"]), *more]
    nemo.read(f)
    return True


MEGATRON = Writer("megatron", "Megatron-LM", {
    "elapsed time per iteration (": iteration, "- arguments -": arguments,
    "max allocated: ": memory, "mem-max-allocated": memory,
    "time across ranks (ms)": timers, " time (ms) | ": inline_timers,
    "using world size: ": world, "dummy tokens (new size: ": padded,
    "umber of parameters": parameters, "validation loss at": event,
    "saving checkpoint at": event, "successfully saved checkpoint": event}, configure, "megatron")
BRIDGE = Writer("bridge", "Megatron-Bridge", {
    "GPU utilization: ": bridge_step, "Task Configuration": dump}, nemo_configure, "nemo")
NEMO = Writer("nemo", "NeMo", {
    "train_step_timing in s": nemo_step, "Experiment configuration": dump}, nemo_configure, "nemo")
