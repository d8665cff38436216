"""A run file in the words of the stack that is to run it: `trainyard plan --emit`.

What that stack has no word for is told in comments at the end, so that nothing is lost without a line
that says so. Words are those that trainyard.importing reads, from the same sources.
"""
import importlib
from typing import Any, Dict, List, NamedTuple, Sequence

from ..importing import engine


class Stack(NamedTuple):
    module: str
    title: str
    habits: Sequence[str]  # presets of framework that are it, the usual one first
    offloads: bool = False  # it has words for states beside the GPU


STACKS = {
    "megatron": Stack("megatron", "Megatron-LM",
                      ("megatron-lm", "nemo", "megatron-bridge", "megascale", "deepseek")),
    "deepspeed": Stack("deepspeed", "DeepSpeed", ("megatron-deepspeed",), True),
    "torchtitan": Stack("torchtitan", "torchtitan", ("torchtitan", "fsdp")),
}


class Emission:
    """A text under way: every key as it counts, and what follows from keys."""

    def __init__(self, keys: Dict[str, str], derived: Dict[str, Any]) -> None:
        self.keys, self.derived = keys, derived
        self.lines: List[str] = []
        self.unsaid: List[str] = []
        self.moe, self.latent = self.n("model.experts") > 0, self.n("model.kv_latent") > 0
        self.chunks, self.pipeline = self.d("chunks"), self.n("layout.pipeline")

    def key(self, name: str) -> str:
        return self.keys[name]

    def n(self, name: str) -> int:
        """A key that is a whole number; of auto and none 0."""
        text = self.keys[name]
        return int(text) if text.isdigit() else 0

    def on(self, name: str) -> bool:
        return self.keys[name] == "true"

    def d(self, name: str) -> int:
        return int(self.derived[name])

    def list(self, name: str) -> List[int]:
        """A key that is a list of whole numbers; of auto, and of a list of lists, []."""
        items = self.keys[name].strip("[]").split(", ")
        return [int(item) for item in items] if all(item.isdigit() for item in items) else []

    def add(self, *lines: str) -> None:
        self.lines += lines

    def flag(self, *flags: str) -> None:
        """Lines of a bash array."""
        self.lines += ["    " + flag for flag in flags]

    def switch(self, flag: str, on: object) -> None:
        if on:
            self.flag(flag)

    def no_word(self, text: str) -> None:
        self.unsaid.append("#   " + text)

    def no_key(self, name: str, why: str = "") -> None:
        """Of a key with its value."""
        self.no_word(f"{name} {self.keys[name]}{': ' * bool(why)}{why}")


def emit(stack: str, text: str, name: str = "the run file") -> str:
    """A complete configuration of a run file, in the words of a stack."""
    row = STACKS[stack]
    keys, derived = engine.values(name, text)
    e = Emission(keys, derived)
    if ", NOT exact," in text.partition("\n")[0]:
        e.add("# NOT exact: the search ended early; the best so far")
    each = min(e.d("ranks"), e.n("cluster.gpus_per_node"))
    model = keys["model.name"]
    e.add(f"# trainyard {engine.version()}, configuration {derived['digest']}: "
          f"{model if model != '-' else 'a model'} on {e.d('ranks')} GPUs",
          f"# started by: torchrun --nnodes {-(-e.d('ranks') // each)} --nproc_per_node {each} ...")
    importlib.import_module("." + row.module, __name__).emit(e)
    # Step times are those of the stack that was simulated, which may be another.
    own = keys["framework.preset"]
    if own not in row.habits:
        e.add(f"# simulated with the framework defaults of {own if own != '-' else 'no framework'}; --set "
              f"framework.preset={row.habits[0]} has those of {row.title}")
    if not row.offloads and derived["offloaded"]:
        e.no_key("layout.offload", "states beside the GPU")
    if e.n("model.lora"):
        e.no_key("model.lora", f"adapters beside {keys['model.lora.targets']}, all else frozen; "
                               f"frozen_dtype {keys['model.frozen_dtype']}")
    elif keys["model.frozen"] != "none":
        e.no_key("model.frozen")
    if "unlike" in derived:
        e.no_word(f"stages of different shape: {derived['unlike']}")
    if e.unsaid:
        e.add(f"# {row.title} has no option for", *e.unsaid)
    return "\n".join(e.lines) + "\n"
