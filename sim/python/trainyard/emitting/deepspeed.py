"""DeepSpeed's JSON and the flags of Megatron-DeepSpeed that go with it: DeepSpeed itself has no words
for models and pipelines. Sources: those of trainyard.importing."""
from ..importing.facts import truth
from . import Emission
from .megatron import parts_of, transformer


def offload(e: Emission) -> str:
    """What lives beside the GPU. It prefetches by bytes, not by units: stage3_prefetch_bucket_size."""
    optimizer, parameters, activations = (
        e.derived["home_" + what] for what in ("optimizer", "parameters", "activations"))
    found = ""
    if optimizer != "none":
        found += (f',\n    "offload_optimizer": {{"device": "{optimizer}", "pin_memory": true, '
                  f'"ratio": {e.derived["offload_share"]:g}}}')
    if parameters != "none":
        found += f',\n    "offload_param": {{"device": "{parameters}", "pin_memory": true}}'
    for unsaid, text in (
            (optimizer == "nvme" and e.n("layout.zero") < 3,
             "layout.offload_optimizer nvme: only with layout.zero 3"),
            (e.key("layout.offload") == "gemini",
             "layout.offload gemini: it keeps all of it on the host"),
            (activations != "none",
             "layout.offload_activations: activation_checkpointing.cpu_checkpointing sends "
             "checkpoints only"),
            (e.on("layout.offload_delay"), "layout.offload_delay: its update is not delayed")):
        if unsaid:
            e.no_word(text)
    return found


def config(e: Emission) -> None:
    zero, dtype = e.n("layout.zero"), e.key("model.dtype")
    states = f'    "stage": {zero}'
    if zero > 0:
        states += (f',\n    "overlap_comm": {truth(e.d("overlap_grad_reduce"))}'
                   f',\n    "reduce_scatter": {e.key("framework.reduce_scatter")}'
                   f',\n    "reduce_bucket_size": {e.derived["bucket_params"]:.0f}')
    states += offload(e)
    if e.d("replicas") > 1:
        if zero == 3:
            states += f',\n    "mics_shard_size": {e.d("shards")}'
        else:
            e.no_key("layout.shard", "stages below 3 share among all replicas")
    wire = "fp32" if e.d("reduce_fp32") else "fp16" if dtype == "fp16" else "bf16"
    e.add("cat > ds_config.json <<'JSON'", "{",
          f'  "train_batch_size": {e.key("layout.global_batch")},',
          f'  "train_micro_batch_size_per_gpu": {e.key("layout.micro_batch")},',
          f'  "gradient_accumulation_steps": {e.d("micro_batches")},',
          '  "zero_optimization": {', states, "  },",
          f'  "bf16": {{"enabled": {truth(dtype in ("bf16", "fp8"))}}},',
          f'  "fp16": {{"enabled": {truth(dtype == "fp16")}}},',
          f'  "communication_data_type": "{wire}"', "}", "JSON")
    if dtype == "fp8":
        e.no_word("model.dtype fp8")


def vocabulary(e: Emission) -> None:
    """Its tokenizer says how many words there are; rows are padded to whole multiples of the flag
    times the tensor ranks, which must not add any."""
    unit = 128  # as it is by itself
    while unit > 1 and e.n("model.vocabulary") % (unit * e.n("layout.tensor")):
        unit //= 2
    e.switch(f"--make-vocab-size-divisible-by {unit}", unit < 128)


def experts(e: Emission) -> None:
    e.flag(f"--num-experts {e.key('model.experts')}", f"--topk {e.key('model.experts_per_token')}",
           "--expert-interval 1", f"--moe-expert-parallel-size {e.key('layout.expert')}")
    if (e.d("expert_ffn") != e.n("model.ffn") or e.n("model.shared_ffn")
            or "0" in e.derived["expert_layers"]):
        e.no_word("model.expert_ffn, shared_ffn, dense_layers: experts are as wide as the MLP, and "
                  "in every layer")
    if e.n("layout.expert_tensor") > 1:
        e.no_key("layout.expert_tensor")


def pipeline(e: Emission) -> None:
    if e.pipeline == 1:
        e.flag("--no-pipeline-parallel")
        return
    if e.derived["schedule"] != "1f1b":
        e.no_word(f"schedule.name {e.derived['schedule']}: its pipeline is 1f1b")
    if e.list("layout.stage_layers"):
        e.no_key("layout.stage_layers")


def recompute(e: Emission) -> None:
    parts = parts_of(e)
    if e.key("layout.recompute_layers") != "auto":
        e.no_key("layout.recompute_layers", "a stage recomputes all of its layers")
    if parts == ["full"]:
        e.flag("--checkpoint-activations", "--deepspeed-activation-checkpointing")
    elif parts == ["core_attn"]:
        e.flag("--recompute-granularity selective")
    elif parts != ["none"]:
        e.no_key("layout.recompute", "it knows full and selective")


def emit(e: Emission) -> None:
    e.add(f"# with a tokenizer of {e.key('model.vocabulary')} words, or as many fewer as padding "
          "adds")
    config(e)
    heads, width = e.n("model.heads"), e.n("model.head_dim")
    e.add("DEEPSPEED_ARGS=(")
    e.flag("--deepspeed", "--deepspeed_config ds_config.json",
           f"--zero-stage {e.key('layout.zero')}")
    transformer(e)
    e.flag("--normalization "
           f"{'rmsnorm' if e.key('model.norm_kind') == 'rmsnorm' else 'layernorm'}")
    vocabulary(e)
    e.switch(f"--kv-channels {width}", width * heads != e.n("model.hidden") and not e.latent)
    e.switch(f"--num-key-value-heads {e.key('model.kv_heads')}", e.n("model.kv_heads") != heads)
    e.switch("--use-flash-attn-v2", "fused" not in e.key("model.attention"))
    if e.n("layout.context") > 1:
        method = e.key("layout.context_method")
        if method == "ulysses":
            e.flag(f"--ds-sequence-parallel-size {e.key('layout.context')}")
        else:
            e.no_word(f"layout.context {e.key('layout.context')} by {method}: its sequence "
                      "parallelism is ulysses")
    if e.moe:
        experts(e)
    pipeline(e)
    recompute(e)
    e.add(")")
    if e.latent:
        e.no_word("model.kv_latent: latent attention")
    if e.n("model.mtp"):
        e.no_key("model.mtp")
