"""Models that torchtitan has in Python, of which a file only says name and flavor.

Sources: Llama 3 8B to 405B, Qwen3 32B, DeepSeek-V3 16B and 671B are in notes on 238fa995 (February
2026); Qwen3 0.6B and 30B-A3B, DeepSeek-V2 (236B), Llama 4 Scout and gpt-oss 20b have the sizes of
their config.json, and names from memory; all the rest is from memory, and told so. Inner widths of
Llama follow from dim: roundup(int(m int(2/3 4 dim)), multiple_of).
"""
from typing import Dict, Iterator, NamedTuple

SHAPE = ("layers", "hidden", "heads", "kv_heads", "ffn")
GATED = {"mlp": "swiglu", "norm_kind": "rmsnorm", "bias": "false"}
LLAMA = {"tied": "false", **GATED}
LATENT = {"kv_latent": "512", "head_dim": "128", "head_rope": "64", "head_value": "128", **LLAMA}
QWEN3 = {"vocabulary": "151936", "head_dim": "128", "qk_norm": "true", "tied": "false", **GATED}
GPT_OSS = {"vocabulary": "201088", "head_dim": "64", "window": "128", "window_period": "2",
           "sinks": "true", "router_bias": "true", "mlp": "swiglu", "norm_kind": "rmsnorm",
           "bias": "true", "tied": "false"}
FAMILIES = {
    "llama2": {"vocabulary": "32000", **LLAMA}, "llama3": {"vocabulary": "128256", **LLAMA},
    "qwen3": QWEN3, "deepseek_v3": LATENT, "llama4": LLAMA, "gpt_oss": GPT_OSS,
}
# Name, flavor (a star: from memory), layers, hidden, heads, kv_heads, ffn; then other keys.
ROWS = """
llama2 7B* 32 4096 32 32 11008
llama2 13B* 40 5120 40 40 13824
llama2 26B* 80 5120 40 40 13824
llama2 70B* 80 8192 64 8 28672
llama3 debugmodel* 6 256 16 16 768 vocabulary=2048
llama3 8B 32 4096 32 8 14336
llama3 70B 80 8192 64 8 28672
llama3 405B 126 16384 128 8 53248
qwen3 0.6B 28 1024 16 8 3072 tied=true
qwen3 1.7B* 28 2048 16 8 6144 tied=true
qwen3 4B* 36 2560 32 8 9728 tied=true
qwen3 8B* 36 4096 32 8 12288
qwen3 14B* 40 5120 40 8 17408
qwen3 32B 64 5120 64 8 25600
qwen3 30B-A3B 48 2048 32 4 6144 experts=128 experts_per_token=8 expert_ffn=768
qwen3 235B-A22B* 94 4096 64 4 12288 experts=128 experts_per_token=8 expert_ffn=1536
deepseek_v3 16B 27 2048 16 16 10944 vocabulary=102400 dense_layers=1 shared_ffn=2816 experts=64 \
experts_per_token=6 expert_ffn=1408
deepseek_v3 236B 60 5120 128 128 12288 vocabulary=102400 dense_layers=1 shared_ffn=3072 \
query_latent=1536 expert_groups=8 group_limit=3 experts=160 experts_per_token=6 expert_ffn=1536
deepseek_v3 671B 61 7168 128 128 18432 vocabulary=129280 dense_layers=3 shared_ffn=2048 \
query_latent=1536 expert_groups=8 group_limit=4 router_bias=true experts=256 experts_per_token=8 \
expert_ffn=2048
llama4 17bx16e 48 5120 40 8 16384 vocabulary=202048 shared_ffn=8192 experts=16 \
experts_per_token=1 expert_ffn=8192
llama4 17bx128e* 48 5120 40 8 16384 vocabulary=202048 shared_ffn=8192 dense_layers=1 \
mlp_layers=EVEN experts=128 experts_per_token=1 expert_ffn=8192
gpt_oss 20b 24 2880 64 8 2880 experts=32 experts_per_token=4 expert_ffn=2880
gpt_oss 120b* 36 2880 64 8 2880 experts=128 experts_per_token=4 expert_ffn=2880
"""
EVEN = str(list(range(2, 48, 2)))  # experts in every second layer, from the second on


class Flavor(NamedTuple):
    name: str
    flavor: str
    sure: str  # how sure its sizes are, "" or ", from memory"
    keys: Dict[str, str]  # of the section `model`


def flavors() -> Iterator[Flavor]:
    for row in ROWS.strip().splitlines():
        name, flavor, *rest = row.split()
        keys = dict(zip(SHAPE, rest))
        more = dict(pair.split("=") for pair in rest[len(SHAPE):])
        keys.update(FAMILIES[name])
        keys.update({key: EVEN if value == "EVEN" else value for key, value in more.items()})
        yield Flavor(name, flavor.rstrip("*"), ", from memory" if "*" in flavor else "", keys)
