"""Logs of torchtitan.

Checked against the source (00fbaafa, torchtitan/components/metrics.py): the line of a step, whose tps
are tokens of a GPU in a second, whose memory is what the allocator reserved at most, and which has a
sister for validation. From memory: "wps" for it until 2024, the dump behind "Running with args:" or
"Running with configs:", and the lines that say the same where --job.print_args is off: "Building llama3
8B with", "Building 2-D device mesh with", "Trainer is initialized with", "Applied ... activation
checkpointing", "Compiling each TransformerBlock", "Model ... size: N total parameters".
"""
import math
import re
from typing import Any, Dict, List, Optional

from .. import torchtitan
from ..facts import Facts, File
from .blocks import parse, settings, settings_file
from .measure import Step
from .runs import Log, Run, Writer, number, rank_of, source
from .stream import Block, Line

_STEP = re.compile(r"\bstep: *([\d,]+)")
_TPS = re.compile(r"\b[tw]ps: *([\d,.]+)")
_MFU = re.compile(r"\bmfu: *([\d.]+)%")
_FLOPS = re.compile(r"\btflops: *([\d,.]+)")
_MEMORY = re.compile(r"memory: *([\d.]+)GiB")


def step(log: Log, line: Line) -> None:
    at = _STEP.search(line.text)
    if at and "validate" in line.text:
        log.run.event = True
    elif at:
        log.step("torchtitan", line, Step(
            int(at[1].replace(",", "")), 0, line.number, mfu=number(_MFU, line.text) / 100,
            tokens_per_s_per_gpu=number(_TPS, line.text), flops=1e12 * number(_FLOPS, line.text)))
        reserved = number(_MEMORY, line.text) * 2**30
        if reserved:
            log.keep_most(log.run.reserved, rank_of(line), reserved)


def dump(log: Log, line: Line) -> Optional[Block]:
    return log.capture("torchtitan", line, line.text[line.text.index("{"):], brackets="{}")


def _fact(name: str, pattern: str) -> Any:
    compiled = re.compile(pattern)

    def handler(log: Log, line: Line) -> None:
        found = compiled.search(line.text)
        if found:
            log.find(name, line, "\n".join(found.groups() or ("true",)))
    return handler


DEGREES = {"dp_replicate": "data_parallel_replicate_degree", "dp_shard": "data_parallel_shard_degree",
           "cp": "context_parallel_degree", "tp": "tensor_parallel_degree", "dp":
           "data_parallel_shard_degree", "pp": "pipeline_parallel_degree",
           "ep": "expert_parallel_degree"}


def mesh(run: Run) -> Dict[str, int]:
    """Degrees out of "with ['dp_shard', 'tp'], [8, 2]" or "with parallelism: pp=1, dp_shard=8"."""
    text = run.found["mesh"].value if "mesh" in run.found else ""
    pairs = re.findall(r"(\w+)=(\d+)", text) or list(zip(re.findall(r"'(\w+)'", text),
                                                          re.findall(r"\b(\d+)\b", text)))
    return {key: int(size) for key, size in pairs if key in DEGREES and key != "ep"}


def told(run: Run) -> Dict[str, Any]:
    """Settings out of single lines, where there is no dump."""
    def parts(name: str) -> List[str]:
        return run.found[name].value.split("\n") if name in run.found else []
    if not parts("building"):
        return {}
    name, flavor = parts("building")
    training: Dict[str, Any] = {}
    if parts("trainer"):
        local, every, length = parts("trainer")
        training = {"local_batch_size": local, "global_batch_size": every, "seq_len": length}
    parallelism: Dict[str, Any] = {DEGREES[key]: size for key, size in mesh(run).items()}
    if parallelism:
        parallelism.setdefault("data_parallel_shard_degree", 1)
    schedule = parts("schedule")
    if schedule:
        parallelism["pipeline_parallel_schedule"] = schedule[0]
    return {"model": {"name": name, "flavor": flavor}, "training": training,
            "parallelism": parallelism,
            "activation_checkpoint": {"mode": (parts("recompute") or ["none"])[0]},
            "compile": {"enable": "compile" in run.found}}


def configure(f: Facts, run: Run, more: List[File]) -> bool:
    block, found = run.blocks.get("torchtitan"), None
    if block is not None:
        found = parse(block.text)
        if found is not None:
            f.files = [settings_file(block, found), *more]
    elif (found := told(run)):
        line = run.found["building"].line
        lines, numbers = settings(found, {}, line.number)
        f.files = [File(line.file, "\n".join(lines), numbers), *more]
    if not found:
        return False
    if "mesh" in run.found and not f.known_gpus():
        f.gpus = math.prod(mesh(run).values())
        f.gpus_from = source(run.found["mesh"].line, "device mesh")
    if "capacity" in run.found:
        f.notice_gpu(run.found["capacity"].value, source(run.found["capacity"].line, "GPU"))
    torchtitan.read(f)
    return True


TITAN = Writer("torchtitan", "torchtitan", {
    "tps: ": step, "wps: ": step, "Running with args: {": dump, "Running with configs: {": dump,
    "Running with config: {": dump,
    " device mesh with ": _fact("mesh", r"mesh with (.*)"),
    "Building ": _fact("building", r"Building (\w+) (\S+) with "),
    "Trainer is initialized with ": _fact("trainer", r"local batch size (\d+), global batch size (\d+)"
                                          r".*sequence length (\d+)"),
    " activation checkpointing": _fact("recompute", r"Applied (\w+) activation checkpointing"),
    "Using pipeline schedule ": _fact("schedule", r"pipeline schedule (\w+)"),
    "Compiling each ": _fact("compile", r"torch\.compile"),
    "CUDA capacity: ": _fact("capacity", r"capacity: (.*?)(?: with|$)"),
    "saved the checkpoint": lambda log, line: setattr(log.run, "event", True),
    "Saving the checkpoint": lambda log, line: setattr(log.run, "event", True),
}, configure, "torchtitan")
