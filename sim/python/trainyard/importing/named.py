"""Models that a job only names: on the hub, as a class, as a component of a recipe. Sizes are those of
presets, of torchtitan's flavors, and of the config.json of each row, which
tests/unit/model/families_dense.h has, too."""
import re
from typing import Dict, Tuple

from . import engine
from .titan_flavors import LLAMA, QWEN3, flavors

# Parts of names without what is no letter or digit: preset.
PRESETS = dict(pair.split("=") for pair in """llama31405b=llama3-405b llama3405b=llama3-405b
    llama3370b=llama3-70b llama3170b=llama3-70b llama370b=llama3-70b llama318b=llama3-8b
    llama38b=llama3-8b llama270b=llama2-70b llama7b=llama-7b llama13b=llama-13b llama30b=llama-30b
    llama65b=llama-65b mixtral8x22b=mixtral-8x22b mixtral8x7b=mixtral-8x7b
    deepseekv2lite=deepseek-v2-lite deepseekv2=deepseek-v2 deepseekv3=deepseek-v3 kimik2=kimi-k2
    qwen3235b=qwen3-235b-a22b qwen330b=qwen3-30b-a3b qwen3moe235b=qwen3-235b-a22b
    qwen3moe30b=qwen3-30b-a3b gptoss120b=gpt-oss-120b gptoss20b=gpt-oss-20b gpt3175b=gpt3-175b
    gpt175b=gpt3-175b""".split())
QWEN2 = {**LLAMA, "bias": "qkv"}
FAMILIES = {"llama": LLAMA, "qwen2": QWEN2, "qwen3": QWEN3}
# Name, family, layers, hidden, heads, kv_heads, ffn, vocabulary; then other keys.
ROWS = """
llama27b llama 32 4096 32 32 11008 32000
llama213b llama 40 5120 40 40 13824 32000
llama321b llama 16 2048 32 8 8192 128256 tied=true
llama323b llama 28 3072 24 8 8192 128256 tied=true
tinyllama11b llama 22 2048 32 4 5632 32000
mistral7b llama 32 4096 32 8 14336 32000
qwen2515b qwen2 28 1536 12 2 8960 151936 tied=true
qwen253b qwen2 36 2048 16 2 11008 151936 tied=true
qwen257b qwen2 28 3584 28 4 18944 152064
qwen2514b qwen2 48 5120 40 8 13824 152064
qwen2532b qwen2 64 5120 40 8 27648 152064
qwen2572b qwen2 80 8192 64 8 29568 152064
"""
SHAPE = ("layers", "hidden", "heads", "kv_heads", "ffn", "vocabulary")


def plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower()).replace("config", "")


def _known() -> Dict[str, Tuple[str, str]]:
    """Part of a name: lines of a section `model`, and whose sizes these are."""
    found = {}
    for row in ROWS.strip().splitlines():
        name, family, *rest = row.split()
        keys = {**FAMILIES[family], **dict(zip(SHAPE, rest)),
                **dict(pair.split("=") for pair in rest[len(SHAPE):])}
        found[name] = "\n".join(f"{key}: {value}" for key, value in keys.items()), "its published file"
    for flavor in flavors():
        name = plain(flavor.name + flavor.flavor)
        if flavor.name == "qwen3" and "experts" not in flavor.keys:
            found[name] = ("\n".join(f"{key}: {value}" for key, value in flavor.keys.items()),
                           f"torchtitan's {flavor.name} {flavor.flavor}{flavor.sure}")
    return found


def model_of(name: str) -> Tuple[str, str]:
    """Lines of the section `model` for what a name says, and whose sizes they are; "", "": it is not
    known here. The longest part of the name that is known counts."""
    has, rows = plain(name), _known()
    best = max((part for part in (*PRESETS, *rows) if part in has), key=len, default="")
    if best in rows:
        return rows[best]
    text = engine.preset("models", PRESETS[best]) if best else ""
    lines = [re.sub(" +#.*", "", line.strip()) for line in text.splitlines()
             if line.startswith(" ")]
    return "\n".join(lines), f"trainyard's {PRESETS[best]}" if best else ""
