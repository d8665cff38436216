"""Logs of MLPerf Training: lines ":::MLLOG" and JSON.

From memory: the keys global_batch_size, max_sequence_length, gradient_accumulation_steps,
submission_benchmark and submission_platform ("4xDGXH100"), tracked_stats with train_step_time and
throughput, block_start and block_stop with samples_count, eval_start; the variables of a submission's
config_*.sh, which is given as a further file.
"""
import json
import re
from typing import Any, Dict, List

from ..facts import Facts, File, From, truth
from .measure import Step
from .runs import Found, Log, Run, Writer, source
from .stream import Line

MODELS = {"llama31_405b": "llama3-405b", "llama3.1_405b": "llama3-405b", "llama31_8b": "llama3-8b",
          "llama3.1_8b": "llama3-8b", "llama2_70b": "llama2-70b", "gpt3": "gpt3-175b"}
RULES = From("MLPerf's rules for LoRA, from memory")
WANTED = {"global_batch_size", "max_sequence_length", "gradient_accumulation_steps",
          "submission_benchmark", "submission_platform", "tensor_model_parallel_size",
          "pipeline_model_parallel_size", "micro_batch_size", "lora_rank"}


def entry(log: Log, line: Line) -> None:
    try:
        found = json.loads(line.text[line.text.index("{"):].strip())
        key, value, meta = found["key"], found.get("value"), found.get("metadata") or {}
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    run = log.run
    if key == "init_start" and any(run.steps.values()) and line.label == run.rank.get("mlperf", ""):
        log.runs.append(Run())
    elif key in WANTED:
        log.find("mlperf." + key, line, str(value))
    elif key == "tracked_stats" and isinstance(value, dict):
        tracked(log, line, value, meta)
    elif key in ("block_start", "block_stop"):
        block(log, line, key, found.get("time_ms"), meta)
    elif key == "eval_start":
        run.event = True


def _real(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0


def tracked(log: Log, line: Line, value: Dict[str, Any], meta: Dict[str, Any]) -> None:
    seconds, rate = _real(value.get("train_step_time")), _real(value.get("throughput"))
    if seconds or rate:  # throughput is in samples, and covers what is since the last line
        log.step("mlperf", line, Step(int(_real(meta.get("step") or meta.get("samples_count"))),
                                      seconds, line.number, samples_per_s=rate))


def block(log: Log, line: Line, key: str, time_ms: Any, meta: Dict[str, Any]) -> None:
    """A block is training alone; evaluations stand between blocks."""
    run = log.run
    counted = _real(meta.get("samples_count") or meta.get("first_epoch_num"))
    if key == "block_start":
        run.found["block"] = Found(f"{_real(time_ms)} {counted}", line)
    elif "block" in run.found and run.found["block"].value:
        start, before = map(float, run.found["block"].value.split())
        samples, seconds = counted - before, (_real(time_ms) - start) / 1e3
        if samples > 0 and seconds > 0:
            log.step("mlperf blocks", line, Step(int(counted), 0, line.number,
                                                 samples_per_s=samples / seconds))


_EXPORT = re.compile(r"^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)=[\"']?(?:\$\{\w+:-)?([\w.-]*)", re.M)
KEYS = {"TENSOR_MODEL_PARALLEL": "layout.tensor", "TP": "layout.tensor",
        "PIPELINE_MODEL_PARALLEL": "layout.pipeline", "PP": "layout.pipeline",
        "CONTEXT_PARALLEL": "layout.context", "CP": "layout.context",
        "INTERLEAVED_PIPELINE": "schedule.chunks", "VP": "schedule.chunks",
        "MICRO_BATCH_SIZE": "layout.micro_batch"}


def variables(f: Facts, more: List[File]) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for file in more:
        for match in _EXPORT.finditer(file.text):
            found[match[1]] = match[2]
            at = From(match[1], file.place(match.start(1)))
            if match[1] in KEYS and match[2].isdigit() and match[2] not in ("0",):
                f.set(KEYS[match[1]], at, match[2])
            elif match[1] in ("SEQ_PARALLEL",):
                f.set("layout.sequence_parallel", at, truth(match[2] in ("True", "1")))
            elif match[1] == "FP8" and match[2] in ("True", "1"):
                f.set("model.dtype", at, "fp8")
    if f.get("layout.sequence_parallel") == "true" and f.count("layout.tensor") == 1:
        f.set("layout.sequence_parallel", From("one tensor rank"), "false")
    if f.count("schedule.chunks") > 1:
        f.set("schedule.name", From("INTERLEAVED_PIPELINE"), "interleaved")
    else:
        f.facts.pop("schedule.chunks", None)
    return found


def world(f: Facts, run: Run, found: Dict[str, str]) -> None:
    nodes, each = found.get("DGXNNODES", ""), found.get("DGXNGPU", "")
    platform = run.found.get("mlperf.submission_platform")
    count = re.match(r"(\d+)x", platform.value) if platform else None
    if nodes.isdigit() and each.isdigit():
        f.gpus, f.gpus_from, f.per_node = int(nodes) * int(each), From("DGXNNODES"), int(each)
    elif platform and count:
        f.per_node = 72 if "NVL72" in platform.value else 8
        f.gpus = int(count[1]) * f.per_node
        f.gpus_from = source(platform.line, "submission_platform")
        f.remark(f.gpus_from, f"{platform.value}: {f.per_node} GPUs of a node are a guess")
    if platform:
        f.notice_gpu(re.sub("(DGX|HGX|x)", " ", platform.value),
                     source(platform.line, "submission_platform"))


def configure(f: Facts, run: Run, more: List[File]) -> bool:
    if "nemo" in run.blocks:
        from .megatron import nemo_configure
        return nemo_configure(f, run, more)
    kind = run.found.get("mlperf.submission_benchmark")
    preset = next((MODELS[name] for name in MODELS if kind and kind.value.startswith(name)), None)
    if kind is None:
        return False
    at = source(kind.line, "submission_benchmark")
    if preset is None:
        f.refuse(at, f"{kind.value} is not read; the benchmarks of language models are: "
                     f"{', '.join(MODELS)}")
        return True
    f.set("model.preset", at, preset)
    f.set("model.dtype", From("guess"), "bf16")
    for name, key in (("max_sequence_length", "model.sequence"),
                      ("global_batch_size", "layout.global_batch")):
        said = run.found.get("mlperf." + name)
        if said:
            f.set(key, source(said.line, name), said.value)
    if "lora" in kind.value:
        rank = run.found.get("mlperf.lora_rank")
        f.set("model.lora", source(rank.line, "lora_rank") if rank else RULES,
              rank.value if rank else "16")
        f.set("model.lora.targets", RULES, "[qkv, proj]")
        f.set("model.lora.dropout", RULES, "0.1")
    found = variables(f, more)
    world(f, run, found)
    if not found:
        f.remark(at, "how the model is laid out is in the submission's config_*.sh: give it as a "
                     "further file; without it, one tensor and one pipeline rank")
    f.set("layout.zero", From("guess"), "1")
    f.set("framework.preset", From("guess"), "megatron-lm")
    if "layout.micro_batch" not in f.facts:
        f.set("layout.micro_batch", From("guess"), "1")
    return True


MLPERF = Writer("mlperf", "MLPerf", {":::MLLOG": entry}, configure)
