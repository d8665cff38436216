"""Logs of the Trainer of transformers (TRL, axolotl, LLaMA-Factory), and of DeepSpeed alone.

Checked against sources: the lines behind "***** Running training *****" (examples of transformers that
print the same), "RunningAvgSamplesPerSec=..., CurrSamplesPerSec=..., MemAllocated=..GB" in both of
DeepSpeed's forms (utils/timer.py and logs of 2022). From memory: train_runtime and
train_samples_per_second, the bar of tqdm, trainer_state.json, "Model config LlamaConfig {",
TrainingArguments(, "DeepSpeedEngine configuration" and "json = {", iter time of the pipeline engine.
"""
import os
import re
import tempfile
from typing import Any, Dict, List, Optional

from .. import huggingface
from ..accelerate import Accelerate, DS, LENGTHS
from ..deepspeed import STEPS
from ..facts import Facts, File, From, Place
from ..flags import Flags
from .blocks import parse, settings_file
from .measure import Step
from .megatron import inline_timers
from .runs import Log, Run, Writer, number, rank_of, source
from .stream import Block, Line

_BAR = re.compile(r"\| *(\d+)/(\d+) \[([\d:]+)<[^,\]]*, *([\d.]+) *(s/it|it/s)")
_SUMMARY = re.compile(r"'(train_\w+)': *'?([\d.]+)")
_HEAD = {"Total optimization steps": "steps", "Instantaneous batch size per device": "micro",
         "Gradient Accumulation steps": "accumulation", "Total train batch size": "batch"}
_CURRENT = re.compile(r"(?:Curr)?SamplesPerSec=([\d.]+(?:e[+-]?\d+)?), *(?:Mem|$)")
_PIPE = re.compile(r"steps: *(\d+).*?iter time \(s\): *([\d.]+)")


def head(log: Log, line: Line) -> None:
    name, _, value = line.text.partition(" = ")
    for words, key in _HEAD.items():
        if words in name:
            log.find("hf." + key, line, value.strip().replace(",", ""))


def starts(log: Log, line: Line) -> None:
    if any(log.run.steps.values()) and log.run.steps.get("trainer"):
        before = log.run
        log.runs.append(Run())
        log.run.blocks = before.blocks
    log.run.found = {k: v for k, v in log.run.found.items() if not k.startswith("hf.")}


def bar(log: Log, line: Line) -> None:
    """A bar over as many steps as there are to optimise; others are of evaluations and data."""
    found, steps = _BAR.search(line.text), log.run.count("hf.steps")
    if found and steps and int(found[2]) == steps and int(found[1]):
        seconds = float(found[4]) if found[5] == "s/it" else 1 / max(float(found[4]), 1e-9)
        log.step("trainer", line._replace(label=""), Step(int(found[1]), seconds, line.number))


def summary(log: Log, line: Line) -> None:
    for name, value in _SUMMARY.findall(line.text):
        log.find("hf." + name, line, value)


def deepspeed_step(log: Log, line: Line) -> None:
    rate = number(_CURRENT, line.text)
    at = re.search(r"global_step=(\d+)|\b\d+/(\d+), ", line.text)
    if rate:
        log.step("deepspeed", line, Step(int(at[1] or at[2]) if at else -1, 0, line.number,
                                         samples_per_s=rate))
    most = re.search(r"MaxMemAllocated=([\d.]+)GB", line.text)
    if most:
        log.keep_most(log.run.memory, rank_of(line), float(most[1]) * 2**30)


def pipe_step(log: Log, line: Line) -> None:
    found = _PIPE.search(line.text)
    if found:
        log.step("deepspeed pipeline", line, Step(int(found[1]), float(found[2]), line.number))


def _block(kind: str, opening: str = "{", brackets: str = "{}") -> Any:
    def handler(log: Log, line: Line) -> Optional[Block]:
        at = line.text.find(opening)
        known = kind in log.run.blocks and not log.run.steps
        if at < 0 or known:  # a tokenizer or a second model prints its own
            return None
        return log.capture(kind, line, line.text[at:], brackets=brackets)
    return handler


def training_arguments(log: Log, line: Line) -> Optional[Block]:
    at = line.text.find("Arguments(")
    return log.capture("hf.arguments", line, line.text[at + 9:], brackets="()") if at >= 0 else None


def world(log: Log, line: Line) -> None:
    found = re.search(r"world[_ ]size[ .:=]+(\d+)", line.text)
    if found:
        log.find("world", line, found[1])


# ---- configuration ----

def set_model(f: Facts, text: str, name: str, at: From) -> None:
    """The section `model` of a config.json that a log holds."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        before = set(f.facts)
        huggingface.set_model(f, File(path, text))
    for key in set(f.facts) - before:
        f.facts[key] = f.facts[key]._replace(source=at)
    f.refusals[:] = [why.replace(path, name) for why in f.refusals]


def model_files(f: Facts, more: List[File]) -> bool:
    """Whether a further file is the model's config.json."""
    for file in more:
        if file.name.endswith(".json") and ('"model_type"' in file.text or
                                            '"architectures"' in file.text):
            huggingface.set_model(f, file)
            return True
    return False


def model_by_name(f: Facts, name: str, at: From, more: List[File]) -> bool:
    """A model of the hub by its name; its config.json, as a further file, counts instead."""
    if model_files(f, more) or huggingface.name_model(f, at, name):
        return True
    f.refuse(at, f"the model is called {name}, and its sizes are not in the log: give its config.json "
                 "as a further file")
    return False


def arguments_of(run: Run) -> Dict[str, "tuple[str, int]"]:
    """TrainingArguments, whose values are printed without quotes, and axolotl's configuration."""
    block = run.blocks.get("hf.arguments")
    found: Dict[str, "tuple[str, int]"] = {}
    for text, line in zip(block.lines, block.numbers) if block else ():
        for match in re.finditer(r"(?:^|[(,]\s*)(\w+)=([^,]*),?", text):
            found[match[1]] = (match[2].strip("'\" "), line)
    other = run.blocks.get("hf.config")
    values = parse(other.text) if other else None
    for name, value in (values or {}).items():
        if isinstance(value, (str, int, float, bool)) and other:
            called = {"micro_batch_size": "per_device_train_batch_size"}.get(name, name)
            found.setdefault(called, (str(value), other.first.number))
    return found


def flags_of(f: Facts, run: Run) -> Flags:
    """What the log resolved, as flags of a training script."""
    flags = Flags(f)
    block = run.blocks.get("hf.arguments") or run.blocks.get("hf.config")
    log = File(block.first.file, "") if block else None
    wanted = {"gradient_checkpointing", "bf16", "fp16", *LENGTHS.replace("-", "_").split()}
    values = arguments_of(run)
    if values.get("adapter", ("", 0))[0] in ("lora", "qlora"):  # axolotl's
        wanted |= {"lora_r", "lora_dropout", "load_in_4bit", "load_in_8bit"}
        if values.get("lora_target_linear", ("", 0))[0].lower() == "true":
            values["lora_target_modules"] = "all-linear", values["lora_target_linear"][1]
            wanted.add("lora_target_modules")
    for name, (value, line) in values.items():
        if name in wanted and value.lower() not in ("false", "none", ""):
            flags.put("--" + name.replace("_", "-"), From(name, Place(log, line, 1, False)), value)
    for words, name in _HEAD.items():
        flag = {"micro": huggingface.FLAG, "accumulation": STEPS}.get(name)
        if flag and "hf." + name in run.found:
            flags.put(flag, source(run.found["hf." + name].line, words), run.found["hf." + name].value)
    return flags


def find_world(f: Facts, run: Run) -> None:
    micro, batch = run.count("hf.micro"), run.count("hf.batch")
    each = micro * max(run.count("hf.accumulation"), 1)
    if "world" in run.found:
        f.gpus, f.gpus_from = run.count("world"), source(run.found["world"].line, "world size")
    elif each and batch and batch % each == 0:
        f.gpus = batch // each
        f.gpus_from = source(run.found["hf.batch"].line, "Total train batch size")


def configure(f: Facts, run: Run, more: List[File]) -> bool:
    block, zero = run.blocks.get("hf.model"), run.blocks.get("deepspeed")
    name = arguments_of(run).get("base_model") or arguments_of(run).get("model_name_or_path")
    if not (block or zero or name or "hf.micro" in run.found):
        return False
    where = block or zero or run.blocks.get("hf.config") or run.blocks.get("hf.arguments")
    first = where.first if where else run.found["hf.micro"].line
    if block:
        set_model(f, block.text, f"{first.file}:{first.number}", source(first, "Model config"))
    elif name:
        if not model_by_name(f, name[0], source(first, "the model's name"), more):
            return True
    elif not model_files(f, more):
        f.refuse(source(first, ""), "the log does not print the model's configuration: give its "
                                    "config.json as a further file")
        return True
    if run.found.get("capacity"):
        f.notice_gpu(run.found["capacity"].value, source(run.found["capacity"].line, "GPU"))
    find_world(f, run)
    flags, words = flags_of(f, run), Flags(f)
    f.files = [File(first.file, "")]
    at = source(first, "the log")
    words.put("distributed_type", at, "DEEPSPEED" if zero else
              "FSDP" if arguments_of(run).get("fsdp", ("[]", 0))[0] not in ("[]", "", "False")
              else "MULTI_GPU")
    for kind in ("bf16", "fp16"):
        if flags.find("--" + kind) is not None:
            words.put("mixed_precision", flags.source("--" + kind), kind)
    if zero:
        found = parse(zero.text.partition("{")[1] + zero.text.partition("{")[2]) or {}
        f.files.append(settings_file(zero, found))
        f.files[-1].path = f.files[-1].name = "deepspeed.json"
        words.put(DS + "deepspeed_config_file", at, "deepspeed.json")
    Accelerate(f, words, flags, f.files[0]).read()
    if zero:
        f.files[-1].path = f.files[-1].name = f.files[0].name
    return True


TRAINER = Writer("trainer", "the Trainer of transformers", {
    "***** Running training *****": starts, "s/it": bar, "it/s": bar, "'train_runtime'": summary,
    **{f"{words}": head for words in _HEAD},
    "Model config ": _block("hf.model"), "Arguments(": training_arguments,
    "config:{": _block("hf.config"), "***** Running Evaluation *****":
    lambda log, line: setattr(log.run, "event", True),
    "Saving model checkpoint to": lambda log, line: setattr(log.run, "event", True)}, configure)
DEEPSPEED = Writer("deepspeed", "DeepSpeed", {
    "SamplesPerSec=": deepspeed_step, "iter time (s): ": pipe_step, "json = {": _block("deepspeed"),
    "world_size ...": world, "time (ms) | ": inline_timers}, configure)
