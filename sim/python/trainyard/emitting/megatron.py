"""Flags of Megatron-LM, as they were in August 2026 (sources, some of them memory:
importing/megatron_rows.py). Defaults are written out where forgetting one changes the job."""
import re
from itertools import groupby

from . import Emission

MODULES = {"core_attn": "core_attn", "norm": "layernorm", "mla_up": "mla_up_proj",
           "moe_act": "moe_act", "mlp": "mlp", "moe": "moe", "shared_experts": "shared_experts"}
STRATEGIES = ("no_shard", "optim", "optim_grads", "optim_grads_params")
METHODS = {"zigzag": "p2p", "ring": "p2p", "all-gather": "allgather", "ulysses": "a2a",
           "hybrid": "a2a+p2p"}


def parts_of(e: Emission) -> "list[str]":
    """What layers recompute, part by part."""
    found = re.split(r"[\[\], +]+", e.key("layout.recompute").strip("[]"))
    return ["core_attn" if part == "selective" else part for part in found]


# ---- what Megatron-LM and its forks share ----

def transformer(e: Emission) -> None:
    """The model, pipeline and tensor ranks, the batch."""
    positions, rotary = e.d("positions"), e.derived["rotary"]
    e.flag(f"--num-layers {e.key('model.layers')}", f"--hidden-size {e.key('model.hidden')}",
           f"--num-attention-heads {e.key('model.heads')}", f"--ffn-hidden-size "
           f"{e.key('model.ffn')}", f"--seq-length {e.key('model.sequence')}",
           f"--max-position-embeddings {positions or e.key('model.sequence')}",
           "--position-embedding-type "
           f"{'learned_absolute' if positions else 'rope' if rotary > 0 else 'none'}")
    e.switch(f"--rotary-percent {rotary:g}", not positions and 0 < rotary < 1)
    e.switch("--swiglu", e.key("model.mlp") == "swiglu")
    e.switch("--untie-embeddings-and-output-weights", not e.on("model.tied"))
    e.switch("--disable-bias-linear", e.key("model.bias") not in ("true", "attention"))
    e.flag(*(f"--{kind}-dropout {e.derived['dropout']:g}" for kind in ("hidden", "attention")))
    for key, unsaid in (("norm_kind", e.key("model.norm_kind") not in ("layernorm", "rmsnorm")),
                        ("norms", e.d("norms") == 4),
                        ("qk_norm_kind", e.on("model.qk_norm") and
                         e.key("model.qk_norm_kind") != "head"),
                        ("embedding_norm", e.on("model.embedding_norm")),
                        ("head_bias", e.on("model.head_bias")),
                        ("full_layers", e.key("model.full_layers") != "none")):
        if unsaid:
            e.no_key("model." + key)
    e.flag(f"--tensor-model-parallel-size {e.key('layout.tensor')}")
    if e.key("layout.tensor_scheme") != "1d":
        e.no_key("layout.tensor_scheme", "it splits GEMMs in one dimension")
    e.flag(f"--pipeline-model-parallel-size {e.key('layout.pipeline')}")
    e.switch("--sequence-parallel",
             e.on("layout.sequence_parallel") and e.n("layout.tensor") > 1)
    e.flag(f"--micro-batch-size {e.key('layout.micro_batch')}",
           f"--global-batch-size {e.key('layout.global_batch')}")
    dtype = e.key("model.dtype")
    e.switch("--fp16" if dtype == "fp16" else "--bf16", dtype != "fp32")


# ---- Megatron-LM ----

def vocabulary(e: Emission) -> None:
    """Rows of the embedding, which tensor ranks share evenly."""
    words, tensor = e.n("model.vocabulary"), e.n("layout.tensor")
    rows = -(-words // tensor) * tensor
    e.flag(f"--padded-vocab-size {rows}")
    if rows != words:
        e.no_key("model.vocabulary", f"{tensor} tensor ranks share whole rows, {rows}")


def attention(e: Emission) -> None:
    kernel, heads, width = e.key("model.attention"), e.n("model.heads"), e.n("model.head_dim")
    e.flag("--normalization "
           f"{'RMSNorm' if e.key('model.norm_kind') == 'rmsnorm' else 'LayerNorm'}",
           f"--attention-backend {'unfused' if 'fused' in kernel else 'flash'}")
    e.switch("--no-masked-softmax-fusion", kernel == "unfused")
    if e.latent:
        e.flag("--multi-latent-attention")
        e.switch(f"--q-lora-rank {e.key('model.query_latent')}", e.n("model.query_latent"))
        e.flag(f"--kv-lora-rank {e.key('model.kv_latent')}", f"--qk-head-dim {width}",
               f"--qk-pos-emb-head-dim {e.key('model.head_rope')}",
               f"--v-head-dim {e.d('head_value')}")
        return
    e.switch(f"--kv-channels {width}", width * heads != e.n("model.hidden"))
    if e.n("model.kv_heads") != heads:
        e.flag("--group-query-attention", f"--num-query-groups {e.key('model.kv_heads')}")
    e.switch("--add-qkv-bias", e.key("model.bias") == "qkv")
    e.switch("--qk-layernorm", e.on("model.qk_norm"))


def context(e: Emission) -> None:
    method = e.key("layout.context_method")
    if e.n("layout.context") > 1:
        e.flag(f"--context-parallel-size {e.key('layout.context')}",
               f"--cp-comm-type {METHODS[method]}")
        if method == "ring":
            e.no_key("layout.context_method", "its p2p assigns chunks as zigzag does")


def experts(e: Emission) -> None:
    e.flag(f"--num-experts {e.key('model.experts')}",
           f"--moe-router-topk {e.key('model.experts_per_token')}",
           f"--moe-ffn-hidden-size {e.d('expert_ffn')}")
    e.switch(f"--moe-shared-expert-intermediate-size {e.key('model.shared_ffn')}",
             e.n("model.shared_ffn"))
    layers = e.derived["expert_layers"]
    if "0" in layers:  # stretches of layers without and with experts, as a Python expression
        stretches = "+".join(f"[{kind}]*{len(list(group))}" for kind, group in groupby(layers))
        e.flag(f"--moe-layer-freq '({stretches})'")
    if e.d("expert_groups") > 1:
        e.flag(f"--moe-router-num-groups {e.d('expert_groups')}",
               f"--moe-router-group-topk {e.d('group_limit')}")
    if e.on("model.router_bias"):  # it asks for the sigmoid
        e.flag("--moe-router-score-function sigmoid", "--moe-router-enable-expert-bias")
    dispatcher = e.key("framework.dispatcher")
    flex = dispatcher in ("deepep", "hybridep")
    e.flag(f"--expert-model-parallel-size {e.key('layout.expert')}",
           f"--expert-tensor-parallel-size {e.key('layout.expert_tensor')}",
           f"--moe-token-dispatcher-type {'flex' if flex else dispatcher}")
    e.switch(f"--moe-flex-dispatcher-backend {dispatcher}", flex)
    for flag, key in (("--moe-grouped-gemm", "fused_experts"),
                      ("--moe-permute-fusion", "fused_permute"),
                      ("--moe-router-fusion", "fused_router"),
                      ("--moe-shared-expert-overlap", "shared_overlap"),
                      ("--overlap-moe-expert-parallel-comm", "expert_overlap")):
        e.switch(flag, e.on("framework." + key))
    if e.derived["capacity"] > 0:
        e.flag(f"--moe-expert-capacity-factor {e.derived['capacity']:g}")
        e.switch("--moe-pad-expert-input-to-capacity", e.on("framework.pad_to_capacity"))


def order(e: Emission) -> None:
    """The grid of ranks: Megatron-LM knows two orders."""
    axes = e.key("layout.order").strip("[]").split(", ")
    if axes[:2] != ["tensor", "context"]:
        e.no_key("layout.order", "ranks are numbered tensor, context, data, pipeline")
    else:
        e.switch("--use-tp-pp-dp-mapping", axes[2] == "pipeline")


def schedule(e: Emission) -> None:
    name, layers = e.derived["schedule"], e.list("layout.stage_layers")
    if e.pipeline == 1:
        if e.chunks > 1:
            e.no_word(f"schedule.name {name} of {e.chunks} chunks: it interleaves in a pipeline alone")
        return
    if layers:  # stages behind each other, a bar between two
        stages = [f"t*{n}" if n else "" for n in layers]
        tail = "mL" if e.n("model.mtp") else "L"
        e.flag(f"--pipeline-model-parallel-layout 'E{'|'.join(stages)}{tail}'")
    if name == "interleaved":
        e.switch(f"--num-virtual-stages-per-pipeline-rank {e.chunks}", not layers)
        e.switch(f"--microbatch-group-size-per-vp-stage {e.d('group')}",
                 e.d("group") not in (0, e.pipeline))
        overlaps = e.key("framework.overlap_p2p")
        e.switch("--no-overlap-p2p-communication",
                 not (overlaps == "true" or (overlaps == "auto" and e.chunks > 1)))
    elif name != "1f1b":
        e.no_word(f"schedule.name {name}: its pipelines are 1f1b and interleaved")


def recompute(e: Emission) -> None:
    parts, counts = parts_of(e), e.list("layout.recompute_layers")
    if e.key("layout.recompute_layers") != "auto":
        if parts == ["full"] and len(set(counts)) == 1:  # one number for all stages
            e.flag("--recompute-granularity full", "--recompute-method block",
                   f"--recompute-num-layers {counts[0]}")
        else:
            e.no_key("layout.recompute_layers",
                     "stages recompute fully, as many layers each")
        return
    if parts == ["full"]:
        e.flag("--recompute-granularity full", "--recompute-method uniform",
               "--recompute-num-layers 1")
        return
    modules = [module for part, module in MODULES.items() if part in parts]
    if modules:
        e.flag("--recompute-granularity selective", f"--recompute-modules {' '.join(modules)}")
    if "ffn" in parts:
        e.no_word("layout.recompute ffn: it recomputes the whole MLP (mlp) or none of it")


def sharding(e: Emission) -> None:
    zero = e.n("layout.zero")
    e.switch("--use-distributed-optimizer", zero)  # which the next ones ask for
    if zero == 1 and e.d("replicas") > 1:
        e.flag(f"--num-distributed-optimizer-instances {e.d('replicas')}")
    elif zero > 1:
        e.flag("--use-megatron-fsdp", f"--data-parallel-sharding-strategy {STRATEGIES[zero]}")
    e.switch("--tp-comm-overlap", e.on("framework.overlap_tensor_products")
             and e.on("layout.sequence_parallel") and e.n("layout.tensor") > 1)
    e.switch("--overlap-grad-reduce", e.d("overlap_grad_reduce"))
    e.switch("--overlap-param-gather", zero and e.on("framework.overlap_param_gather"))
    # bytes at 16 bit; the flag counts parameters
    e.switch(f"--ddp-bucket-size {e.derived['bucket'] / 2:.0f}", e.derived["bucket"] > 0)


def precision(e: Emission) -> None:
    recipe, dtype = e.key("framework.fp8_recipe"), e.key("model.dtype")
    if dtype == "fp8":
        blocks = recipe in ("blockwise", "mxfp8")
        e.flag(f"--fp8-format {'e4m3' if blocks else 'hybrid'}", "--fp8-recipe " + (
            "blockwise" if blocks else "tensorwise" if recipe == "current" else "delayed"))
        e.switch("--fp8-param-gather", e.on("framework.fp8_weights"))
    e.switch("--grad-reduce-in-bf16", not e.d("reduce_fp32") and dtype != "fp32")
    e.switch("--cross-entropy-loss-fusion", e.on("framework.fused_loss"))
    e.switch("--no-gradient-accumulation-fusion", not e.on("framework.fused_accumulation"))


def emit(e: Emission) -> None:
    e.add("MEGATRON_ARGS=(")
    for part in (transformer, vocabulary, attention, context):
        part(e)
    if e.moe:
        experts(e)
    e.switch(f"--mtp-num-layers {e.key('model.mtp')}", e.n("model.mtp"))
    for part in (order, schedule, recompute, sharding, precision):
        part(e)
    e.add(")")
    if e.d("window"):
        e.no_word(f"model.window {e.d('window')}")
