"""`trainyard import nanotron`: the YAML of a run. Words are those of two published files (nanotron
2411b022: config_tiny_llama.yaml, config_2.8b_llama.yaml), others and all defaults from memory."""
from .facts import UINT_MAX, Facts, From, truth
from .flags import Flags, Table
from .trees import read_words

RULE = "default of nanotron, from memory"
M = "model.model_config."
EXPERTS = {"num_experts": "experts", "top_k": "experts_per_token",
           "moe_intermediate_size": "expert_ffn"}
ROWS = Table(
    keys={M + "num_hidden_layers": "model.layers", M + "hidden_size": "model.hidden",
          M + "num_attention_heads": "model.heads", M + "num_key_value_heads": "model.kv_heads",
          M + "intermediate_size": "model.ffn", M + "head_dim": "model.head_dim",
          M + "sliding_window": "model.window"},
    no_key={M + "z_loss_enabled": "a further loss of logits is not counted",
            M + "no_rope_layer": "layers without rotary embeddings make no difference here"},
    taken=" ".join(M + word for word in (
        "vocab_size tie_word_embeddings attention_bias is_llama_config is_qwen2_config "
        "is_starcoder2_config moe_config.*").split()) + """
        model.make_vocab_size_divisible_by model.dtype model.ddp_bucket_cap_mb parallelism.dp
        parallelism.tp parallelism.pp parallelism.context_parallel_size
        parallelism.expert_parallel_size parallelism.expert_tensor_parallel_size
        parallelism.pp_engine parallelism.tp_mode parallelism.tp_linear_async_communication
        parallelism.tp_recompute_allgather parallelism.recompute_layer optimizer.zero_stage
        optimizer.accumulate_grad_in_fp32 optimizer.torch_adam_is_fused
        optimizer.optimizer_factory.torch_adam_is_fused tokens.micro_batch_size
        tokens.batch_accumulation_per_replica tokens.sequence_length""",
    idle="""model.model_config.* model.init_method.* parallelism.moe_layer_recompute optimizer.*
        tokens.* checkpoints.* data.* data_stages* doremi.* general.* lighteval.* logging.*
        metrics_logging.* profiler.* s3_upload.* slurm.* tokenizer.*""")


def vocabulary(f: Facts, w: Flags) -> None:
    """Rows of the embedding are padded so that tensor ranks get equal shares."""
    step = w.count("model.make_vocab_size_divisible_by", 1) * w.count("parallelism.tp", 1)
    rows = w.count(M + "vocab_size")
    if rows == 0:
        f.refuse(From(M + "vocab_size"), "no file says it; without it there is no model")
        return
    f.set("model.vocabulary", w.source(M + "vocab_size", RULE), -(-rows // step) * step if step else
          rows, f"rounded up to a multiple of {step}")


def experts(w: Flags) -> None:
    if w.find(M + "moe_config.num_experts") is None:
        return
    for word, key in EXPERTS.items():
        w.set_count("model." + key, M + "moe_config." + word)
    if w.true(M + "moe_config.enable_shared_expert"):
        w.set_count("model.shared_ffn", M + "moe_config.shared_expert_intermediate_size")
    w.set_count_or("layout.expert", "parallelism.expert_parallel_size", 1, RULE)
    w.set_count_or("layout.expert_tensor", "parallelism.expert_tensor_parallel_size",
                   w.count("parallelism.tp", 1), RULE)


def model(f: Facts, w: Flags) -> None:
    starcoder = w.true(M + "is_starcoder2_config")
    kind = w.source(M + ("is_starcoder2_config" if starcoder else "is_llama_config"), RULE)
    if not w.require(M + "num_hidden_layers"):
        return
    f.set("model.mlp", kind, "gelu" if starcoder else "swiglu")
    f.set("model.norm_kind", kind, "layernorm" if starcoder else "rmsnorm")
    bias = w.true(M + "attention_bias")
    f.set("model.bias", kind if starcoder else w.source(M + "attention_bias", RULE),
          "true" if starcoder else "qkv" if bias else "false")
    f.set("model.tied", w.source(M + "tie_word_embeddings", RULE),
          truth(w.true(M + "tie_word_embeddings", starcoder)))
    w.set_count_or("model.sequence", "tokens.sequence_length", 2048, RULE)
    types = {"bfloat16": "bf16", "float16": "fp16"}
    f.set("model.dtype", w.source("model.dtype", RULE),
          types.get(w.text("model.dtype", "bfloat16"), "fp32"))
    vocabulary(f, w)
    experts(w)


def layout(f: Facts, w: Flags) -> None:
    for key, word in (("tensor", "tp"), ("pipeline", "pp"), ("context", "context_parallel_size")):
        w.set_count_or("layout." + key, "parallelism." + word, 1, RULE)
    world = w.count("parallelism.dp", 1) * f.product("tensor", "pipeline", "context")
    if 0 < world < UINT_MAX:
        f.gpus, f.gpus_from = world, w.source("parallelism.dp", RULE)
    mode = w.text("parallelism.tp_mode", "ALL_REDUCE")
    f.set("layout.sequence_parallel", w.source("parallelism.tp_mode", RULE),
          truth(mode.upper() == "REDUCE_SCATTER" and f.count("layout.tensor") > 1))
    w.set_count_or("layout.zero", "optimizer.zero_stage", 0, RULE)
    f.set("layout.recompute", w.source("parallelism.recompute_layer", RULE),
          "full" if w.true("parallelism.recompute_layer") else "none")


def batch(f: Facts, w: Flags) -> None:
    word = "tokens.batch_accumulation_per_replica"
    steps = w.count(word, 1)
    if w.find("tokens.micro_batch_size") is None:
        f.refuse(From("tokens.micro_batch_size"), "no file says it")
        return
    w.set_count("layout.micro_batch", "tokens.micro_batch_size")
    if f.replicas():
        f.set("layout.global_batch", w.source(word, RULE),
              f.replicas() * steps * f.count("layout.micro_batch"),
              f"times micro_batch_size on each of {f.replicas()} replicas")


def pipeline(f: Facts, w: Flags) -> None:
    engine = w.text("parallelism.pp_engine", "1f1b")
    names = {"1f1b": "1f1b", "afab": "gpipe"}
    source = w.source("parallelism.pp_engine", RULE)
    if f.count("layout.pipeline") == 1:
        return
    if engine.lower() not in names:
        f.refuse(source, f"'{engine}' is neither 1f1b nor afab")
    else:
        f.set("schedule.name", source, names[engine.lower()])


def stack(f: Facts, w: Flags) -> None:
    f.set("framework.preset", From("nanotron"), "nanotron")
    wide = "fp32" if w.true("optimizer.accumulate_grad_in_fp32", True) else "model"
    for key in ("framework.grad_dtype", "framework.reduce_dtype"):
        f.set(key, w.source("optimizer.accumulate_grad_in_fp32", RULE), wide)
    w.set_true("framework.overlap_tensor_reduce", "parallelism.tp_linear_async_communication")
    w.set_true("framework.regather_inputs", "parallelism.tp_recompute_allgather")
    for word in ("optimizer.torch_adam_is_fused", "optimizer.optimizer_factory.torch_adam_is_fused"):
        w.set_true("framework.fused_optimizer", word)
    if w.find("model.ddp_bucket_cap_mb") is not None and f.get("layout.zero") == "0":
        f.set("framework.bucket", w.source("model.ddp_bucket_cap_mb"),
              f"{w.count('model.ddp_bucket_cap_mb', 25)} MiB")


def read(f: Facts) -> None:
    words = Flags(f)
    for file in f.files:
        read_words(words, file)
    if f.refused:
        return
    words.apply(ROWS)
    model(f, words)
    layout(f, words)
    batch(f, words)
    pipeline(f, words)
    stack(f, words)
