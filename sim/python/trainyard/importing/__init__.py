"""Jobs of other stacks as run files: `trainyard import`.

Each stack is a module with a function read(facts), and a row of FORMATS. Modules are loaded when
they are asked for. Nothing of a file that is read is ever executed.
"""
import importlib
import re
from typing import Dict, Iterable, NamedTuple, Optional, Tuple

from .facts import Facts, File, Refused, read_file

# Name: module of this package, what a run file calls the stack.
FORMATS: Dict[str, Tuple[str, str]] = {
    "megatron": ("megatron", "Megatron-LM"),
    "deepspeed": ("deepspeed", "DeepSpeed"),
    "torchtitan": ("torchtitan", "torchtitan"),
    "nanotron": ("nanotron", "nanotron"),
    "accelerate": ("accelerate", "Accelerate"),
    "huggingface": ("huggingface", "Hugging Face"),
    "nemo": ("nemo", "NeMo"),
    "neox": ("neox", "GPT-NeoX"),
    "axolotl": ("axolotl", "axolotl"),
    "llamafactory": ("llamafactory", "LLaMA-Factory"),
    "torchtune": ("torchtune", "torchtune"),
}


class Job(NamedTuple):
    """A job of another stack as a run file, and lines about what is not in it as it stood there."""
    run_file: str
    notes: str


def read_env(settings: Iterable[str]) -> Dict[str, str]:
    """Of "NAME=VALUE" each; the last one of a name counts."""
    env = {}
    for given in settings:
        name, equals, value = given.partition("=")
        if not name or not equals:
            raise Refused(f"--env {given}: no NAME=VALUE; write one, such as NNODES=4", 2)
        env[name] = value
    return env


def check_form(form: str) -> None:
    if form not in FORMATS:
        raise Refused(f"unknown form ({form}); write one of kineto, log, {', '.join(FORMATS)}, then "
                      "FILE...", 2)


# What only files of one stack have, in the order in which it is looked for: stack, pattern.
_MARKS = (
    ("torchtitan", r"^\s*\[(parallelism|activation_checkpoint)\]"),
    ("nemo", r"^\s*(exp_manager|megatron_amp_O2)\s*:|target:\s*megatron\."),
    ("neox", r'^\s*"?(pipe[-_]parallel[-_]size|model[-_]parallel[-_]size)"?\s*:'),
    ("nanotron", r"^\s*model_config\s*:(?s:.*)^(parallelism|tokens)\s*:"),
    ("torchtune", r"^\s*_component_\s*:\s*torchtune\."),
    ("llamafactory", r"^\s*(--)?(finetuning_type|cutoff_len)\b"),
    ("axolotl", r"^(base_model|sequence_len|sample_packing)\s*:"),
    ("accelerate", r'^(compute_environment|distributed_type)\s*:|"peft_type"\s*:'),
    ("megatron", r"--(num-layers|micro-batch-size|tensor-model-parallel-size)\b|pretrain_gpt\.py"),
    ("deepspeed", r'^[{\s]*"(train_micro_batch_size_per_gpu|train_batch_size|zero_optimization)"\s*:'),
    ("huggingface", r'"(model_type|architectures)"\s*:'),
)


def stack_of(text: str) -> Optional[str]:
    """The stack whose file a text seems to be."""
    return next((form for form, mark in _MARKS if re.search(mark, text, re.M)), None)


def _blame_form(form: str, files: Iterable[File], why: Refused) -> Refused:
    """What was wrong, unless the files are of another stack than was said: then that is told."""
    found = {stack_of(file.text): file for file in files}
    taken = {form, None} | ({"deepspeed"} if form == "neox" else set())  # which has its keys, too
    if not found or taken & set(found):
        return why
    other, file = next((str(other), file) for other, file in found.items())
    return Refused(f"{file.path}: seems to be of {FORMATS[other][1]}, not of {FORMATS[form][1]}; write "
                   f"trainyard import {other}")


def read_job(form: str, files: Iterable[File], gpus: int = 0, cluster: Optional[str] = None,
             env: Optional[Dict[str, str]] = None) -> Job:
    """A job of files that are in memory. Raises Refused."""
    from . import settle, write
    check_form(form)
    module, title = FORMATS[form]
    files = list(files)
    facts = Facts(files, gpus, cluster, env or {})
    try:
        importlib.import_module("." + module, __name__).read(facts)
        facts.stop_if_refused()
    except Refused as why:
        raise _blame_form(form, files, why) from None
    settle.settle(facts)
    facts.stop_if_refused()
    text = write.run_file(facts, title)
    write.check(facts, text)
    return Job(text, write.notes(facts))


def import_job(form: str, paths: Iterable[str], gpus: int = 0, cluster: Optional[str] = None,
               env: Iterable[str] = (), run: int = 0) -> Job:
    """A run file of scripts and configurations, or of a log, with the origin of each value beside
    it, which loads. `run` says which of a log's runs, 0 the last. Raises Refused."""
    if form == "log":
        from . import logs
        return Job(*logs.read_job(list(paths), gpus, cluster, read_env(env), run))
    check_form(form)
    settings = read_env(env)
    return read_job(form, [read_file(path) for path in paths], gpus, cluster, settings)
