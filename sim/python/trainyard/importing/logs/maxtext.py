"""Logs of MaxText.

Checked against the source (metric_logger.py, train.py): "completed step: N, seconds: X,
TFLOP/s/device: Y, Tokens/s/device: Z", the third since 2024. From memory: "Config param NAME: VALUE",
"Num_devices: N", and the names of the parameters.
"""
import re
from typing import Dict, List

from ..facts import Facts, File, From, truth, whole_number
from .measure import Step
from .runs import Log, Run, Writer, number, source
from .stream import Line

_STEP = re.compile(r"completed step: *(\d+), seconds: *([\d.]+)")
_FLOPS = re.compile(r"TFLOP/s/device: *([\d.]+)")
_TOKENS = re.compile(r"Tokens/s/device: *([\d.]+)")
_PARAMETER = re.compile(r"Config param (\w+): *(.*?)\s*$")
COUNTS = {"base_num_decoder_layers": "model.layers", "base_emb_dim": "model.hidden",
          "base_num_query_heads": "model.heads", "base_num_kv_heads": "model.kv_heads",
          "head_dim": "model.head_dim", "base_mlp_dim": "model.ffn", "vocab_size": "model.vocabulary",
          "max_target_length": "model.sequence", "num_experts": "model.experts",
          "num_experts_per_tok": "model.experts_per_token"}
AXES = {"tensor": "layout.tensor", "context": "layout.context", "pipeline": "layout.pipeline",
        "expert": "layout.expert"}
RECOMPUTE = {"full": "full", "none": "none", "minimal": "selective"}


def step(log: Log, line: Line) -> None:
    found = _STEP.search(line.text)
    if found:
        log.step("maxtext", line, Step(
            int(found[1]), float(found[2]), line.number, flops=1e12 * number(_FLOPS, line.text),
            tokens_per_s_per_gpu=number(_TOKENS, line.text)))


def parameter(log: Log, line: Line) -> None:
    found = _PARAMETER.search(line.text)
    if found and (any(log.run.steps.values()) or "maxtext." + found[1] in log.run.found):
        before = log.run.found.get("maxtext." + found[1])
        if any(log.run.steps.values()) and before:
            log.runs.append(Run())
    if found and (found[1] in WANTED or found[1].startswith(("ici_", "dcn_"))):
        log.find("maxtext." + found[1], line, found[2])


def devices(log: Log, line: Line) -> None:
    found = re.search(r"Num_devices: *(\d+)", line.text)
    if found:
        log.find("world", line, found[1])


WANTED = set(COUNTS) | set("""per_device_batch_size gradient_accumulation_steps remat_policy dtype
    mlp_activations logits_via_embedding model_name attention sliding_window_size""".split())


def configure(f: Facts, run: Run, more: List[File]) -> bool:
    said: Dict[str, str] = {name[8:]: found.value for name, found in run.found.items()
                            if name.startswith("maxtext.")}
    if "base_num_decoder_layers" not in said:
        return False

    def at(name: str) -> From:
        return source(run.found["maxtext." + name].line, name) if name in said else From(
            "default of MaxText, from memory")
    for name, key in COUNTS.items():
        if whole_number(said.get(name, "")) not in (None, 0) and not (
                key.startswith("model.experts") and said.get("num_experts") == "1"):
            f.set(key, at(name), said[name])
    f.set("model.mlp", at("mlp_activations"), "swiglu" if "linear" in said.get("mlp_activations", "")
          else "gelu")
    f.set("model.norm_kind", From("MaxText"), "rmsnorm")
    f.set("model.bias", From("MaxText"), "false")
    f.set("model.attention", at("attention"), "flash2" if said.get("attention") != "dot_product"
          else "unfused")
    f.set("model.tied", at("logits_via_embedding"), truth(said.get("logits_via_embedding") == "True"))
    f.set("model.dtype", at("dtype"), {"bfloat16": "bf16", "float32": "fp32"}.get(
        said.get("dtype", "bfloat16"), "bf16"))
    degrees = {axis: int(float(said.get(f"ici_{axis}_parallelism", "1") or 1)) *
               int(float(said.get(f"dcn_{axis}_parallelism", "1") or 1)) for axis in AXES}
    for axis, key in AXES.items():
        if degrees[axis] > 1:
            f.set(key, at(f"ici_{axis}_parallelism"), degrees[axis])
    shard = said.get("ici_fsdp_parallelism", "1")
    f.set("layout.zero", at("ici_fsdp_parallelism"), "0" if shard == "1" else "3")
    policy = said.get("remat_policy", "full")
    f.set("layout.recompute", at("remat_policy"), RECOMPUTE.get(policy, "full"),
          "" if policy in RECOMPUTE else f"a guess: {policy} keeps some of it")
    if "world" in run.found:
        f.gpus, f.gpus_from = run.count("world"), source(run.found["world"].line, "Num_devices")
    times = int(float(said.get("gradient_accumulation_steps", "1")))
    each = float(said.get("per_device_batch_size", "1"))
    batch = each * f.known_gpus() * times  # of all devices, whatever they share
    if f.replicas():
        f.set("layout.micro_batch", at("per_device_batch_size"),
              max(1, round(batch / times / f.replicas())))
        f.set("layout.global_batch", at("per_device_batch_size"), max(1, round(batch)))
    f.set("framework.preset", From("guess"), "fsdp", "MaxText has no preset")
    f.remark(From("MaxText"), "what XLA fuses and overlaps is not known: framework fsdp is a guess")
    return True


MAXTEXT = Writer("maxtext", "MaxText", {
    "completed step: ": step, "Config param ": parameter, "Num_devices: ": devices,
    "saved a checkpoint at step": lambda log, line: setattr(log.run, "event", True),
    "eval metrics after step": lambda log, line: setattr(log.run, "event", True)}, configure)
