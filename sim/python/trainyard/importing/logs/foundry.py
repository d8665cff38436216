"""Logs of llm-foundry, which Composer prints.

Checked against the source (Composer 02c872e4, loggers/console_logger.py, callbacks/speed_monitor.py):
"[batch=10/100]:" and behind it a line "Train NAME: VALUE" each; "Config:" and YAML between lines of
stars; throughput/* are means over the last steps. From memory: the keys of the YAML, and that memory is
in units of 1e9 bytes.
"""
import re
from typing import List, Optional

from ..facts import Facts, File, From, truth
from ..flags import Flags
from ..trees import read_words
from .measure import Step
from .runs import Log, Run, Writer, excerpt, rank_of, source
from .stream import Block, Line

_BATCH = re.compile(r"\[(?:epoch=\d+\]\[)?batch=(\d+)(?:/\d+)?\]")
_METRIC = re.compile(r"Train ([\w/]+): *([\d.]+(?:[eE][+-]?\d+)?)")
COUNTS = {"n_layers": "model.layers", "d_model": "model.hidden", "n_heads": "model.heads",
          "max_seq_len": "model.sequence", "vocab_size": "model.vocabulary"}


def batch(log: Log, line: Line) -> Optional[Block]:
    """The metrics of a step are the lines behind it."""
    at = _BATCH.search(line.text)
    if at is None or "Eval" in line.text:
        log.run.event = log.run.event or "Eval" in line.text
        return None

    def done(block: Block) -> None:
        found = {name: float(value) for name, value in _METRIC.findall(block.text)}
        rate = found.get("throughput/batches_per_sec", 0)
        if rate:
            log.step("foundry", line, Step(
                int(at[1]), 1 / rate, line.number, mfu=found.get("throughput/device/mfu", 0),
                tokens_per_s=found.get("throughput/tokens_per_sec", 0),
                tokens_per_s_per_gpu=found.get("throughput/device/tokens_per_sec", 0),
                samples_per_s=found.get("throughput/samples_per_sec", 0),
                flops=found.get("throughput/device/flops_per_sec", 0)))
        for of, name in ((log.run.memory, "allocated"), (log.run.reserved, "reserved")):
            size = found.get(f"memory/peak_{name}_mem", 0)
            if size:
                log.keep_most(of, rank_of(line), size * 1e9)
        if found.get("throughput/device/tokens_per_sec"):
            gpus = found["throughput/tokens_per_sec"] / found["throughput/device/tokens_per_sec"]
            log.find("world", line, str(round(gpus)))
    return Block(line, done, ends=r"^(?!\s*Train )")


def dump(log: Log, line: Line) -> Optional[Block]:
    if line.text[len(line.label):].strip() != "Config:":
        return None
    return log.capture("foundry", line, ends=r"^\*{10,}|^\[batch=|^\d{4}-\d\d-\d\d|^(?![\s\w\"'#-])")


def shape(f: Facts, w: Flags) -> None:
    for name, key in COUNTS.items():
        word = next((word for word in ("model." + name, "model.config_overrides." + name, name)
                     if w.find(word) is not None), name)
        w.set_count(key, word)
    kind = w.text("model.attn_config.attn_impl", "flash")
    f.set("model.attention", w.source("model.attn_config.attn_impl", "default of llm-foundry, from "
                                      "memory"), "flash2" if kind == "flash" else "fused-softmax")
    w.set_count("model.kv_heads", "model.attn_config.kv_n_heads")
    mlp = w.text("model.ffn_config.ffn_type", "mptmlp")
    gated = "glu" in mlp
    f.set("model.mlp", w.source("model.ffn_config.ffn_type", "MPT"), "swiglu" if gated else "gelu")
    ratio, hidden = w.real("model.expansion_ratio", 4), f.count("model.hidden", 0)
    width = w.count("model.ffn_config.ffn_hidden_size")
    f.set("model.ffn", w.source("model.expansion_ratio", "4 d_model"), width or int(ratio * hidden))
    rms = "rms" in w.text("model.norm_type", "low_precision_layernorm")
    f.set("model.norm_kind", w.source("model.norm_type", "MPT"), "rmsnorm" if rms else "layernorm")
    f.set("model.bias", w.source("model.no_bias", "MPT"), truth(not w.true("model.no_bias", True)))
    f.set("model.tied", w.source("model.tie_word_embeddings", "MPT"),
          truth(w.true("model.tie_word_embeddings", True)))
    if w.true("model.attn_config.alibi") or w.true("model.attn_config.rope"):
        f.set("model.positions", w.source("model.attn_config.alibi", "rope"), "none")
    f.set("model.dtype", w.source("precision", "default"),
          "fp8" if "fp8" in w.text("precision") else "fp16" if "fp16" in w.text("precision") else
          "bf16")


def layout(f: Facts, w: Flags) -> None:
    strategy = w.text("fsdp_config.sharding_strategy", "FULL_SHARD")
    f.set("layout.zero", w.source("fsdp_config.sharding_strategy", "default of Composer"),
          {"NO_SHARD": "0", "SHARD_GRAD_OP": "2"}.get(strategy, "3"))
    f.set("layout.recompute", w.source("fsdp_config.activation_checkpointing", "default of Composer"),
          "full" if w.true("fsdp_config.activation_checkpointing") else "none")
    w.set_count("layout.global_batch", "global_train_batch_size")
    micro = "device_train_microbatch_size"
    each = f.count("layout.global_batch", 0) // (f.known_gpus() or 1)
    if w.text(micro).isdigit():
        w.set_count("layout.micro_batch", micro)
    elif each:
        f.set("layout.micro_batch", w.source(micro, "guess"), each, "a guess: auto is the largest "
                                                                    "that fits")
        f.remark(w.source(micro, "guess"), "auto: what a GPU takes at once is not in the log")
    f.set("framework.preset", From("llm-foundry"), "fsdp")


def configure(f: Facts, run: Run, more: List[File]) -> bool:
    block = run.blocks.get("foundry")
    if block is None:
        return False
    words = Flags(f)
    root = read_words(words, excerpt(block))
    if root is None or words.find("model.name") is None and words.find("model.n_layers") is None:
        return False
    words.rename(lambda name: name.replace("llmfoundry.", "").replace("variables.", "")
                 .replace("parallelism_config.fsdp.", "fsdp_config."))
    nodes, per_node = words.count("num_nodes"), words.count("num_gpus_per_node")
    if nodes and per_node:
        f.gpus, f.gpus_from, f.per_node = nodes * per_node, words.source("num_nodes"), per_node
    elif "world" in run.found:
        f.gpus = run.count("world")
        f.gpus_from = source(run.found["world"].line, "tokens_per_sec of all and of a device")
    hub = words.text("model.pretrained_model_name_or_path")
    if words.find("model.n_layers") is None and hub:
        from .trainer import model_by_name
        if not model_by_name(f, hub, words.source("model.pretrained_model_name_or_path"), more):
            return True
        words.set_count("model.sequence", "max_seq_len")
    else:
        shape(f, words)
    layout(f, words)
    return True


FOUNDRY = Writer("foundry", "llm-foundry", {"[batch=": batch, "][batch=": batch, "Config:": dump},
                 configure)
