"""Logs of nanotron.

Checked against the source (trainer.py): the fields of a step, printed with K, M, B or T behind three
digits, or in full by old versions. From memory: the line's head, and the dump "Config(general=...".
"""
import re
from typing import Any, Dict, List, Optional

from .. import nanotron
from ..facts import Facts, File
from .blocks import parse, settings_file
from .measure import Step
from .runs import Log, Run, Writer
from .stream import Block, Line

_FIELD = re.compile(r"\b(\w+): *([\d.]+(?:[eE][+-]?\d+)?)([KMBT]?)(?= |$)")
_SCALE = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
ENGINES = {"OneForwardOneBackwardPipelineEngine": "1f1b",
           "AllForwardAllBackwardPipelineEngine": "afab"}


def step(log: Log, line: Line) -> None:
    found = {name: float(value) * _SCALE[unit] for name, value, unit in _FIELD.findall(line.text)}
    log.step("nanotron", line, Step(
        int(found.get("iteration", -1)), found.get("elapsed_time_per_iteration_ms", 0) / 1e3,
        line.number, batch=int(found.get("global_batch_size", 0)),
        tokens_per_s=found.get("tokens_per_sec", 0),
        tokens_per_s_per_gpu=found.get("tokens_per_sec_per_gpu", 0),
        flops=1e12 * found.get("model_tflops_per_gpu", 0)))


def dump(log: Log, line: Line) -> Optional[Block]:
    return log.capture("nanotron", line, line.text[line.text.index("Config(general="):],
                       brackets="()")


def memory(log: Log, line: Line) -> None:
    """ "Memory usage: 1.0MiB. Peak allocated 2.0MiB. Peak reserved: 3.0MiB" """
    rank = re.search(r"\|DP=(\d+)\|PP=(\d+)\|TP=(\d+)\|", line.text)
    for of, name in ((log.run.memory, "allocated"), (log.run.reserved, "reserved")):
        found = re.search(rf"Peak {name}:? *([\d.]+) ?MiB", line.text)
        if found and (rank is None or set(rank.groups()) == {"0"}):
            log.keep_most(of, "0", float(found[1]) * 2**20)


def configure(f: Facts, run: Run, more: List[File]) -> bool:
    block = run.blocks.get("nanotron")
    found: Optional[Dict[str, Any]] = parse(block.text) if block else None
    if not found or block is None:
        return False
    engine = found.get("parallelism", {}).get("pp_engine")
    if engine in ENGINES:
        found["parallelism"]["pp_engine"] = ENGINES[engine]
    f.files = [settings_file(block, found)]
    nanotron.read(f)
    return True


NANOTRON = Writer("nanotron", "nanotron", {
    "elapsed_time_per_iteration_ms: ": step, "Config(general=": dump,
    "Peak allocated": memory}, configure, "nanotron")
