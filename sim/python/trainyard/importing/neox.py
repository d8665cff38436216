"""`trainyard import neox`: YAML of GPT-NeoX, whose words are written with "-" or "_". Some mean what
Megatron-LM's flags do; defaults and the width of gated MLPs are its own. Sources: of degrees and that
width notes on its repository (ea7aefd8); of other words, and of all defaults, memory."""
from typing import Tuple

from . import tokenizers
from .facts import UINT_MAX, Facts, From, truth
from .flags import Flags, Table, short
from .megatron import Megatron
from .trees import read_words

RULE = "default of GPT-NeoX, from memory"
ROWS = Table(
    keys={"num_layers": "model.layers", "hidden_size": "model.hidden",
          "num_attention_heads": "model.heads", "num_kv_heads": "model.kv_heads",
          "seq_length": "model.sequence"},
    taken="""max_position_embeddings pos_emb rotary_pct no_weight_tying norm gpt_j_residual gpt_j_tied
        activation intermediate_size mlp_multiple_of mlp_type use_bias_in_attn_linear
        use_bias_in_mlp attention_config scaled_upper_triang_masked_softmax_fusion hidden_dropout
        attention_dropout make_vocab_size_divisible_by tokenizer_type vocab_file precision
        fp16.enabled fp16.fp16 bf16.enabled model_parallel_size pipe_parallel_size
        context_parallel_size sequence_parallel moe_num_experts train_batch_size
        train_micro_batch_size_per_gpu gradient_accumulation_steps gas global_num_gpus num_gpus
        num_nodes zero_optimization.* checkpoint_activations checkpoint_num_layers""",
    no_key={"use_bias_in_norms": "norms are those of norm_kind",
            "use_qk_layernorm": "norms of queries and keys: say them by model.qk_norm",
            "sliding_window_width": "say it by model.window",
            "fp32_allreduce": "gradients cross the wire as framework.reduce_dtype says",
            "pipe_partition_method": "layers are assigned evenly, as type:transformer does",
            "partition_activations": "kept inputs are not shared by tensor ranks",
            "checkpoint_in_cpu": "say it by layout.offload_activations",
            "num_unique_layers": "layers do not share their weights here",
            "contiguous_checkpointing": "fragmentation is that of cluster.fragmentation",
            "amp*": "say the type by model.dtype"},
    idle="""fp16.* bf16.* synchronize_each_layer rotary_* output_layer_parallelism bias_*_fusion
        bias_gelu_fusion bias_dropout_fusion rope_fusion scaled_masked_softmax_fusion
        dynamic_loss_scale master_addr use_mup mup_* opt_pos_emb_offset use_shared_fs s3_*
        label_data_paths weight_by_num_documents weighted_sampler_alpha memory_profiling profile*
        autotuning flops_profiler* char_level_ppl no_ssh_check comment git_hash include exclude
        zero_allow_untested_optimizer prescale_gradients csv_monitor* comms_logger*
        override_lr_scheduler use_checkpoint_lr_scheduler text_gen_type maximum_tokens mmap_warmup
        adlr_autoresume* lazy_mpu_init eod_mask_loss min_scale loss_scale
        apply_query_key_layer_scaling fp16_lm_cross_entropy gradient_noise_scale_* exit_interval
        return_data_index split use_flashattn_swiglu rms_norm_epsilon layernorm_epsilon
        layernorm_fusion rmsnorm_fusion init_method* output_layer_init_method optimizer.*
        scheduler.* min_lr lr_decay_* warmup weight_decay gradient_clipping train_iters
        distributed_backend checkpoint_* extra_save_iters eval_* log_* steps_per_print
        keep_last_n_checkpoints wall_clock_breakdown tensorboard_* use_wandb wandb_* save* load*
        data_* train_data* valid_data* test_data* merge_file launcher deepspeed_* hostfile finetune
        seed num_workers attention_softmax_in_fp32 hysteresis""")
GATES = ("geglu", "swiglu", "reglu", "bilinear", "glu")
MICRO = "train_micro_batch_size_per_gpu"


def shape(f: Facts, w: Flags) -> None:
    for word in ("num_layers", "hidden_size", "num_attention_heads"):
        w.require(word)
    if w.count("moe_num_experts", 1) > 1:
        f.refuse(w.source("moe_num_experts"), "experts of GPT-NeoX are not read")


def mlp(f: Facts, w: Flags) -> None:
    """A gated MLP has two thirds of the width for gate and up together, half of that each."""
    activation = w.text("activation", "gelu")
    llama = w.text("mlp_type", "regular").startswith("llama")
    given = w.find("intermediate_size") is not None
    width = w.count("intermediate_size") if given else 4 * w.count("hidden_size")
    unit = w.count("mlp_multiple_of", 256 if llama else 1)
    gated = llama or activation.lower() in GATES
    found = (width if not gated or (llama and given) else 2 * width // 3 if llama else
             2 * width // 3 // 2)
    found = -(-found // unit) * unit if unit else found
    f.set("model.mlp", w.source("mlp_type" if llama else "activation", RULE),
          "swiglu" if gated else "gelu")
    f.set("model.ffn", w.source("intermediate_size", RULE), found,
          f"gated: a third of {width}" if gated and not llama else "")


def positions(f: Facts, w: Flags) -> None:
    kind, source = w.text("pos_emb", "learned"), w.source("pos_emb", RULE)
    if kind == "learned":
        w.set_count_or("model.positions", "max_position_embeddings", 2048, RULE)
        return
    f.set("model.positions", source, "none")
    if kind == "rotary":
        f.set("model.rotary", w.source("rotary_pct", RULE), short(w.real("rotary_pct", 1)))
        return
    f.set("model.rotary", source, "0")
    if kind == "alibi":
        f.set("model.full_attention", source, "true")


def blocks(f: Facts, w: Flags) -> None:
    biases = {(True, True): "true", (True, False): "attention", (False, True): "mlp",
              (False, False): "false"}
    f.set("model.bias", w.source("use_bias_in_attn_linear", RULE),
          biases[w.true("use_bias_in_attn_linear", True), w.true("use_bias_in_mlp", True)])
    f.set("model.tied", w.source("no_weight_tying", RULE), truth(not w.true("no_weight_tying")))
    f.set("model.norm_kind", w.source("norm", RULE),
          "rmsnorm" if "rms" in w.text("norm", "layernorm") else "layernorm")
    if w.true("gpt_j_residual"):
        f.set("model.block", w.source("gpt_j_residual"), "parallel")
        f.set("model.norms", w.source("gpt_j_tied", RULE), "1" if w.true("gpt_j_tied") else "2")


def attention(f: Facts, w: Flags) -> None:
    mask, flash = "scaled_upper_triang_masked_softmax_fusion", w.lists("attention_config", "flash")
    fused, dropout = w.true(mask), w.real("hidden_dropout")
    f.set("model.attention", w.source("attention_config" if flash else mask, RULE),
          "flash2" if flash else "fused-softmax" if fused else "unfused")
    f.set("model.dropout", w.source("hidden_dropout", RULE), short(dropout))
    if w.real("attention_dropout") != dropout:
        f.remark(w.source("attention_dropout", RULE),
                 "one dropout is for all; it is hidden_dropout's")


def types(f: Facts, w: Flags) -> None:
    given, source = w.opt("precision"), w.source("precision", RULE)
    kind = "fp32" if given is None else "bf16" if given == "bfloat16" else given
    for word, name in (("fp16.enabled", "fp16"), ("fp16.fp16", "fp16"), ("bf16.enabled", "bf16")):
        if given is None and w.true(word):
            kind, source = name, w.source(word)
    f.set("model.dtype", source, kind)


def vocabulary(f: Facts, w: Flags) -> None:
    """A tokenizer that no name tells is taken for its own; rows are padded like Megatron-LM's."""
    flags = Flags(f)
    for name in ("make_vocab_size_divisible_by", "tokenizer_type", "vocab_file"):
        word = w.get(name)
        if word is not None and word.values:
            flags.put("--" + name.replace("_", "-"), word.source, word.first)
    own = (w.text("tokenizer_type", "GPT2BPETokenizer") == "HFTokenizer"
           and not tokenizers.words_of(w.text("vocab_file"))[0])
    if own and "VOCAB_SIZE" not in f.env:
        words, whose = tokenizers.words_of("gpt-neox")
        source = w.source("vocab_file", "tokenizer_type")
        flags.put("--vocab-size", source, str(words))
        f.remark(source, f"how many words the tokenizer has is in its files: {words}, a guess: "
                         f"{whose}; --env VOCAB_SIZE=N says it")
    Megatron(f, flags).vocabulary()


def world(f: Facts, w: Flags, micro: int, steps: int) -> Tuple[int, str]:
    """What the file says of GPUs; else they follow from the batch, where all of it is given."""
    batch, gpus, nodes = (w.count("train_batch_size"), w.real("num_gpus", -1),
                          w.real("num_nodes", -1))
    found = w.count("global_num_gpus")
    if found:
        return found, "global_num_gpus"
    if gpus > 0 and nodes > 0:
        f.per_node = int(gpus)
        return int(gpus * nodes), "num_nodes"
    if batch and micro and steps and batch % (micro * steps) == 0:
        each = f.product("tensor", "pipeline", "context")
        return batch // (micro * steps) * each, "train_batch_size"
    return 0, ""


def batch(f: Facts, w: Flags) -> None:
    word = w.first_of("gas", "gradient_accumulation_steps")
    word = word if w.find(word) is not None else "gradient_accumulation_steps"
    micro, steps = w.count(MICRO), w.count(word)
    found, said = world(f, w, micro, steps)
    if 0 < found < UINT_MAX:
        f.gpus, f.gpus_from = found, w.source(said)
    else:
        f.no_world = "the launcher says it (hostfile)"
    steps, every = steps or 1, w.count("train_batch_size")
    whole = every or micro * steps * f.replicas()
    one = micro or (every // (f.replicas() * steps) if f.replicas() else 0)  # floors, as there
    source = w.source(MICRO, "train_batch_size for all")
    if not micro and not every:
        f.refuse(source, "no file says the batch")
    elif one and whole:
        f.set("layout.micro_batch", source, one)
        f.set("layout.global_batch", w.source("train_batch_size" if every else word, RULE), whole)


def layout(f: Facts, w: Flags) -> None:
    for word, key in (("model", "tensor"), ("pipe", "pipeline"), ("context", "context")):
        name = word + "_parallel_size"
        f.set("layout." + key, w.source(name, RULE), w.count(name, 1) or 1)  # 0: no pipeline
    if w.true("sequence_parallel") and f.count("layout.tensor") > 1:
        f.set("layout.sequence_parallel", w.source("sequence_parallel"), "true")
    w.set_count_or("layout.zero", "zero_optimization.stage", 0, RULE)
    full = w.true("checkpoint_activations")
    f.set("layout.recompute", w.source("checkpoint_activations", RULE), "full" if full else "none")
    if full and w.count("checkpoint_num_layers", 1) > 1:
        f.remark(w.source("checkpoint_num_layers"),
                 "layers that run again together; here each runs alone")
    w.set_true("framework.overlap_grad_reduce", "zero_optimization.overlap_comm")
    bucket = "zero_optimization.reduce_bucket_size"
    if w.find(bucket) is not None:
        f.set("framework.bucket", w.source(bucket), f"{2 * w.real(bucket):.0f} B")
    batch(f, w)


def read(f: Facts) -> None:
    words = Flags(f)
    for file in f.files:
        read_words(words, file)
    words.rename(lambda name: name.replace("-", "_"))
    if f.refused:
        return
    words.apply(ROWS)
    f.set("framework.preset", From("GPT-NeoX"), "megatron-deepspeed")
    for part in (shape, mlp, positions, blocks, attention, types, layout, vocabulary):
        part(f, words)
