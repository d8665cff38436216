/* neox.c - `trainyard import neox`: YAML of GPT-NeoX, whose words are written with "-" or "_". Some
 * mean what Megatron-LM's flags do; defaults and the width of gated MLPs are its own. Sources: of
 * degrees and that width notes on its repository (ea7aefd8); of other words, and of all defaults,
 * memory. */
#include <string.h>
#include <strings.h>

#include "sim/import/flag_rows.h"
#include "sim/import/megatron/megatron.h"
#include "sim/import/tokenizers.h"
#include "sim/import/trainer.h"

#define RULE "default of GPT-NeoX, from memory"

static const struct ty_flag_row rows[] = {
    KEY("num_layers", "model.layers"),
    KEY("hidden_size", "model.hidden"),
    KEY("num_attention_heads", "model.heads"),
    KEY("num_kv_heads", "model.kv_heads"),
    KEY("seq_length", "model.sequence"),
    TAKEN("max_position_embeddings"),
    TAKEN("pos_emb"),
    TAKEN("rotary_pct"),
    TAKEN("no_weight_tying"),
    TAKEN("norm"),
    TAKEN("gpt_j_residual"),
    TAKEN("gpt_j_tied"),
    TAKEN("activation"),
    TAKEN("intermediate_size"),
    TAKEN("mlp_multiple_of"),
    TAKEN("mlp_type"),
    TAKEN("use_bias_in_attn_linear"),
    TAKEN("use_bias_in_mlp"),
    NO_KEY("use_bias_in_norms", "norms are those of norm_kind"),
    NO_KEY("use_qk_layernorm", "norms of queries and keys: say them by model.qk_norm"),
    NO_KEY("sliding_window_width", "say it by model.window"),
    TAKEN("attention_config"),
    TAKEN("scaled_upper_triang_masked_softmax_fusion"),
    TAKEN("hidden_dropout"),
    TAKEN("attention_dropout"),
    TAKEN("make_vocab_size_divisible_by"),
    TAKEN("tokenizer_type"),
    TAKEN("vocab_file"),
    TAKEN("precision"),
    TAKEN("fp16.enabled"),
    TAKEN("fp16.fp16"),
    TAKEN("bf16.enabled"),
    IDLE("fp16.*"),
    IDLE("bf16.*"),
    NO_KEY("fp32_allreduce", "gradients cross the wire as framework.reduce_dtype says"),
    TAKEN("model_parallel_size"),
    TAKEN("pipe_parallel_size"),
    TAKEN("context_parallel_size"),
    TAKEN("sequence_parallel"),
    TAKEN("moe_num_experts"),
    NO_KEY("pipe_partition_method", "layers are dealt evenly, as type:transformer does"),
    TAKEN("train_batch_size"),
    TAKEN("train_micro_batch_size_per_gpu"),
    TAKEN("gradient_accumulation_steps"),
    TAKEN("gas"),
    TAKEN("global_num_gpus"),
    TAKEN("num_gpus"),
    TAKEN("num_nodes"),
    TAKEN("zero_optimization.*"),
    TAKEN("checkpoint_activations"),
    TAKEN("checkpoint_num_layers"),
    NO_KEY("partition_activations", "kept inputs are not shared by tensor ranks"),
    NO_KEY("checkpoint_in_cpu", "say it by layout.offload_activations"),
    IDLE("synchronize_each_layer"),
    IDLE("rotary_*"),
    IDLE("output_layer_parallelism"),
    IDLE("bias_*_fusion"),
    IDLE("bias_gelu_fusion"),
    IDLE("bias_dropout_fusion"),
    IDLE("rope_fusion"),
    NO_KEY("num_unique_layers", "layers do not share their weights here"),
    NO_KEY("contiguous_checkpointing", "fragmentation is that of cluster.fragmentation"),
    NO_KEY("amp*", "say the type by model.dtype"),
    IDLE("scaled_masked_softmax_fusion"),
    IDLE("dynamic_loss_scale"),
    IDLE("master_addr"),
    IDLE("use_mup"),
    IDLE("mup_*"),
    IDLE("opt_pos_emb_offset"),
    IDLE("use_shared_fs"),
    IDLE("s3_*"),
    IDLE("label_data_paths"),
    IDLE("weight_by_num_documents"),
    IDLE("weighted_sampler_alpha"),
    IDLE("memory_profiling"),
    IDLE("profile*"),
    IDLE("autotuning"),
    IDLE("flops_profiler*"),
    IDLE("char_level_ppl"),
    IDLE("no_ssh_check"),
    IDLE("comment"),
    IDLE("git_hash"),
    IDLE("include"),
    IDLE("exclude"),
    IDLE("zero_allow_untested_optimizer"),
    IDLE("prescale_gradients"),
    IDLE("csv_monitor*"),
    IDLE("comms_logger*"),
    IDLE("override_lr_scheduler"),
    IDLE("use_checkpoint_lr_scheduler"),
    IDLE("text_gen_type"),
    IDLE("maximum_tokens"),
    IDLE("mmap_warmup"),
    IDLE("adlr_autoresume*"),
    IDLE("lazy_mpu_init"),
    IDLE("eod_mask_loss"),
    IDLE("min_scale"),
    IDLE("loss_scale"),
    IDLE("apply_query_key_layer_scaling"),
    IDLE("fp16_lm_cross_entropy"),
    IDLE("gradient_noise_scale_*"),
    IDLE("exit_interval"),
    IDLE("return_data_index"),
    IDLE("split"),
    IDLE("use_flashattn_swiglu"),
    IDLE("rms_norm_epsilon"),
    IDLE("layernorm_epsilon"),
    IDLE("layernorm_fusion"),
    IDLE("rmsnorm_fusion"),
    IDLE("init_method*"),
    IDLE("output_layer_init_method"),
    IDLE("optimizer.*"),
    IDLE("scheduler.*"),
    IDLE("min_lr"),
    IDLE("lr_decay_*"),
    IDLE("warmup"),
    IDLE("weight_decay"),
    IDLE("gradient_clipping"),
    IDLE("train_iters"),
    IDLE("distributed_backend"),
    IDLE("checkpoint_*"),
    IDLE("extra_save_iters"),
    IDLE("eval_*"),
    IDLE("log_*"),
    IDLE("steps_per_print"),
    IDLE("keep_last_n_checkpoints"),
    IDLE("wall_clock_breakdown"),
    IDLE("tensorboard_*"),
    IDLE("use_wandb"),
    IDLE("wandb_*"),
    IDLE("save*"),
    IDLE("load*"),
    IDLE("data_*"),
    IDLE("train_data*"),
    IDLE("valid_data*"),
    IDLE("test_data*"),
    IDLE("merge_file"),
    IDLE("launcher"),
    IDLE("deepspeed_*"),
    IDLE("hostfile"),
    IDLE("finetune"),
    IDLE("seed"),
    IDLE("num_workers"),
    IDLE("attention_softmax_in_fp32"),
    IDLE("hysteresis"),
    LAST,
};

/* ---- the model ---- */

static void import_shape(struct ty_flags *words)
{
    static const char *const needed[] = {"num_layers", "hidden_size", "num_attention_heads"};
    for (size_t i = 0; i < TY_COUNT(needed); i++) {
        if (ty_flags_find(words, needed[i]) == NULL) {
            const struct ty_draft_from from = {.word = needed[i]};
            ty_draft_refuse(words->draft, &from, "no file says it; without it there is no model");
        }
    }
    if (ty_flags_count(words, "moe_num_experts", 1) > 1) {
        const struct ty_draft_from from = ty_flags_from(words, "moe_num_experts", "");
        ty_draft_refuse(words->draft, &from, "experts of GPT-NeoX are not read");
    }
}

/* A gated MLP has two thirds of the width for gate and up together, half of that each. */
static void import_mlp(struct ty_flags *words)
{
    static const char *const gates[] = {"geglu", "swiglu", "reglu", "bilinear", "glu"};
    struct ty_draft *d = words->draft;
    const char *activation = ty_flags_text(words, "activation", "gelu");
    const bool llama = ty_text_begins(ty_flags_text(words, "mlp_type", "regular"), "llama");
    const uint64_t hidden = ty_flags_count(words, "hidden_size", 0);
    const bool given = ty_flags_find(words, "intermediate_size") != NULL;
    const uint64_t ff = given ? ty_flags_count(words, "intermediate_size", 0) : 4 * hidden;
    const uint64_t unit = ty_flags_count(words, "mlp_multiple_of", llama ? 256 : 1);
    bool gated = llama;
    for (size_t i = 0; i < TY_COUNT(gates); i++) {
        gated = gated || strcasecmp(activation, gates[i]) == 0;
    }
    const struct ty_draft_from by = ty_flags_from(words, llama ? "mlp_type" : "activation", RULE);
    const struct ty_draft_from from = ty_flags_from(words, "intermediate_size", RULE);
    uint64_t width = !gated ? ff : llama ? (given ? ff : 2 * ff / 3) : 2 * ff / 3 / 2;
    width = unit > 0 ? (width + unit - 1) / unit * unit : width;
    ty_draft_set(d, "model.mlp", &by, gated ? "swiglu" : "gelu");
    ty_draft_set(d, "model.ffn", &from, "%llu", (unsigned long long)width);
    if (gated && !llama) {
        ty_draft_explain(d, "model.ffn", "gated: a third of %llu", (unsigned long long)ff);
    }
}

static void import_positions(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const char *kind = ty_flags_text(words, "pos_emb", "learned");
    const struct ty_draft_from from = ty_flags_from(words, "pos_emb", RULE);
    if (strcmp(kind, "learned") == 0) {
        const struct ty_draft_from table = ty_flags_from(words, "max_position_embeddings", RULE);
        ty_draft_set(d, "model.positions", &table, "%u",
                     (unsigned)ty_flags_count(words, "max_position_embeddings", 2048));
        return;
    }
    ty_draft_set(d, "model.positions", &from, "none");
    if (strcmp(kind, "rotary") == 0) {
        const struct ty_draft_from share = ty_flags_from(words, "rotary_pct", RULE);
        ty_draft_set(d, "model.rotary", &share, "%g", ty_flags_real(words, "rotary_pct", 1));
        return;
    }
    ty_draft_set(d, "model.rotary", &from, "0");
    if (strcmp(kind, "alibi") == 0) {
        ty_draft_set(d, "model.full_attention", &from, "true");
    }
}

static void import_blocks(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const bool attention = ty_words_true(words, "use_bias_in_attn_linear", true);
    const bool mlp = ty_words_true(words, "use_bias_in_mlp", true);
    const struct ty_draft_from bias = ty_flags_from(words, "use_bias_in_attn_linear", RULE);
    const struct ty_draft_from tied = ty_flags_from(words, "no_weight_tying", RULE);
    const struct ty_draft_from kind = ty_flags_from(words, "norm", RULE);
    const bool rms = strstr(ty_flags_text(words, "norm", "layernorm"), "rms") != NULL;
    ty_draft_set(d, "model.bias", &bias, "%s",
                 attention ? (mlp ? "true" : "attention") : (mlp ? "mlp" : "false"));
    ty_draft_set(d, "model.tied", &tied, "%s",
                 ty_words_true(words, "no_weight_tying", false) ? "false" : "true");
    ty_draft_set(d, "model.norm_kind", &kind, rms ? "rmsnorm" : "layernorm");
    if (ty_words_true(words, "gpt_j_residual", false)) {
        const struct ty_draft_from beside = ty_flags_from(words, "gpt_j_residual", "");
        const struct ty_draft_from norms = ty_flags_from(words, "gpt_j_tied", RULE);
        ty_draft_set(d, "model.block", &beside, "parallel");
        ty_draft_set(d, "model.norms", &norms, "%s",
                     ty_words_true(words, "gpt_j_tied", false) ? "1" : "2");
    }
}

static void import_attention(struct ty_flags *words)
{
    static const char mask[] = "scaled_upper_triang_masked_softmax_fusion";
    struct ty_draft *d = words->draft;
    const bool flash = ty_words_list(words, "attention_config", "flash");
    const bool fused = ty_words_true(words, mask, false);
    const struct ty_draft_from from = ty_flags_from(words, flash ? "attention_config" : mask, RULE);
    const double dropout = ty_flags_real(words, "hidden_dropout", 0);
    const struct ty_draft_from drops = ty_flags_from(words, "hidden_dropout", RULE);
    ty_draft_set(d, "model.attention", &from,
                 flash   ? "flash2"
                 : fused ? "fused-softmax"
                         : "unfused");
    ty_draft_set(d, "model.dropout", &drops, "%g", dropout);
    if (ty_flags_real(words, "attention_dropout", 0) != dropout) {
        const struct ty_draft_from other = ty_flags_from(words, "attention_dropout", RULE);
        ty_draft_remark(d, &other, "one dropout is for all; it is hidden_dropout's");
    }
}

static void import_types(struct ty_flags *words)
{
    static const struct {
        const char *word, *type;
    } switches[] = {{"fp16.enabled", "fp16"}, {"fp16.fp16", "fp16"}, {"bf16.enabled", "bf16"}};
    const char *given = ty_flags_text(words, "precision", NULL);
    struct ty_draft_from from = ty_flags_from(words, "precision", RULE);
    const char *type = given == NULL ? "fp32" : strcmp(given, "bfloat16") == 0 ? "bf16" : given;
    for (size_t i = 0; i < TY_COUNT(switches) && given == NULL; i++) {
        if (ty_words_true(words, switches[i].word, false)) {
            type = switches[i].type;
            from = ty_flags_from(words, switches[i].word, "");
        }
    }
    ty_draft_set(words->draft, "model.dtype", &from, "%s", type);
}

/* A tokenizer that no name tells is taken for its own; rows are padded like Megatron-LM's. */
static void import_vocabulary(struct ty_flags *words)
{
    struct ty_megatron m = {.draft = words->draft, .flags = {.draft = words->draft}};
    static const char *const names[][2] = {
        {"make_vocab_size_divisible_by", "--make-vocab-size-divisible-by"},
        {"tokenizer_type", "--tokenizer-type"},
        {"vocab_file", "--vocab-file"}};
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const struct ty_flag *word = ty_flags_get(words, names[i][0]);
        if (word != NULL && word->n_values > 0) {
            ty_flags_put(&m.flags, names[i][1], &word->from, NULL);
            ty_flags_value(&m.flags, word->values[0].text, NULL);
        }
    }
    const char *file = ty_flags_text(words, "vocab_file", "");
    const char *type = ty_flags_text(words, "tokenizer_type", "GPT2BPETokenizer");
    const char *whose = NULL;
    const bool own = strcmp(type, "HFTokenizer") == 0 && ty_tokenizer_words(file, &whose) == 0;
    const uint32_t n = ty_tokenizer_words(own ? "gpt-neox" : file, &whose);
    if (own && ty_draft_env(words->draft, "VOCAB_SIZE") == NULL) {
        const struct ty_draft_from from = ty_flags_from(words, "vocab_file", "tokenizer_type");
        ty_flags_put(&m.flags, "--vocab-size", &from, NULL);
        ty_flags_value(&m.flags, ty_draft_text(words->draft, "%u", (unsigned)n), NULL);
        ty_draft_remark(words->draft, &from,
                        "how many words the tokenizer has is in its files: %u, a guess: %s; "
                        "--env VOCAB_SIZE=N says it",
                        (unsigned)n, whose);
    }
    ty_megatron_vocabulary(&m);
}

/* ---- the layout ---- */

static void set_degree(struct ty_flags *words, const char *word, const char *key)
{
    const struct ty_draft_from from = ty_flags_from(words, word, RULE);
    const uint32_t n = ty_flags_count(words, word, 1);
    ty_draft_set(words->draft, key, &from, "%u", (unsigned)(n > 0 ? n : 1)); /* 0: no pipeline */
}

/* What the file says of GPUs; else they follow from the batch, where all of it is given. */
static void import_world(struct ty_flags *words, uint64_t micro, uint64_t steps)
{
    struct ty_draft *d = words->draft;
    const uint64_t batch = ty_flags_count(words, "train_batch_size", 0);
    const uint64_t each = (uint64_t)ty_draft_count(d, "layout.tensor", 1) *
                          ty_draft_count(d, "layout.pipeline", 1) *
                          ty_draft_count(d, "layout.context", 1);
    const double gpus = ty_flags_real(words, "num_gpus", -1);
    const double nodes = ty_flags_real(words, "num_nodes", -1);
    uint64_t world = ty_flags_count(words, "global_num_gpus", 0);
    const char *word = "global_num_gpus";
    if (world == 0 && gpus > 0 && nodes > 0) {
        world = (uint64_t)(gpus * nodes);
        d->per_node = (uint32_t)gpus;
        word = "num_nodes";
    } else if (world == 0 && batch > 0 && micro > 0 && steps > 0 && batch % (micro * steps) == 0) {
        world = batch / (micro * steps) * each;
        word = "train_batch_size";
    }
    if (world > 0 && world < UINT32_MAX) {
        d->gpus = (uint32_t)world;
        d->gpus_from = ty_flags_from(words, word, "");
    } else {
        d->no_world = "the launcher says it (hostfile)";
    }
}

static void import_batch(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const char *word = ty_flags_find(words, "gas") != NULL ? "gas" : "gradient_accumulation_steps";
    const uint64_t micro = ty_flags_count(words, "train_micro_batch_size_per_gpu", 0);
    const uint64_t given = ty_flags_count(words, word, 0);
    import_world(words, micro, given);
    const uint64_t replicas = ty_trainer_replicas(d);
    const uint64_t steps = given > 0 ? given : 1;
    const uint64_t all = ty_flags_count(words, "train_batch_size", 0);
    const uint64_t batch = all > 0 ? all : micro * steps * replicas;
    const uint64_t one = micro > 0      ? micro
                         : replicas > 0 ? all / (replicas * steps)
                                        : 0; /* floors, as there */
    const struct ty_draft_from from =
        ty_flags_from(words, "train_micro_batch_size_per_gpu", "train_batch_size for all");
    const struct ty_draft_from whole =
        ty_flags_from(words, all > 0 ? "train_batch_size" : word, RULE);
    if (micro == 0 && all == 0) {
        ty_draft_refuse(d, &from, "no file says the batch");
    } else if (one > 0 && batch > 0) {
        ty_draft_set(d, "layout.micro_batch", &from, "%llu", (unsigned long long)one);
        ty_draft_set(d, "layout.global_batch", &whole, "%llu", (unsigned long long)batch);
    }
}

static void import_layout(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    set_degree(words, "model_parallel_size", "layout.tensor");
    set_degree(words, "pipe_parallel_size", "layout.pipeline");
    set_degree(words, "context_parallel_size", "layout.context");
    if (ty_words_true(words, "sequence_parallel", false) &&
        ty_draft_count(d, "layout.tensor", 1) > 1) {
        const struct ty_draft_from from = ty_flags_from(words, "sequence_parallel", "");
        ty_draft_set(d, "layout.sequence_parallel", &from, "true");
    }
    const struct ty_draft_from zero = ty_flags_from(words, "zero_optimization.stage", RULE);
    ty_draft_set(d, "layout.zero", &zero, "%u",
                 (unsigned)ty_flags_count(words, "zero_optimization.stage", 0));
    const bool full = ty_words_true(words, "checkpoint_activations", false);
    const struct ty_draft_from again = ty_flags_from(words, "checkpoint_activations", RULE);
    ty_draft_set(d, "layout.recompute", &again, full ? "full" : "none");
    if (full && ty_flags_count(words, "checkpoint_num_layers", 1) > 1) {
        const struct ty_draft_from many = ty_flags_from(words, "checkpoint_num_layers", "");
        ty_draft_remark(d, &many, "layers that run again together; here each runs alone");
    }
    ty_words_set_truth(words, "zero_optimization.overlap_comm", "framework.overlap_grad_reduce");
    if (ty_flags_find(words, "zero_optimization.reduce_bucket_size") != NULL) {
        const struct ty_draft_from bucket =
            ty_flags_from(words, "zero_optimization.reduce_bucket_size", "");
        ty_draft_set(d, "framework.bucket", &bucket, "%.0f B",
                     2 * ty_flags_real(words, "zero_optimization.reduce_bucket_size", 0));
    }
    import_batch(words);
}

static void read_neox(struct ty_draft *d)
{
    static const struct ty_draft_from stack = {.word = "GPT-NeoX"};
    struct ty_flags words = {.draft = d};
    for (uint32_t i = 0; i < d->n_files; i++) {
        ty_words_read(&words, &d->files[i]);
    }
    for (uint32_t i = 0; i < words.n; i++) { /* "pipe-parallel-size" is pipe_parallel_size */
        char *name = ty_arena_strndup(d->arena, words.item[i].name, strlen(words.item[i].name));
        for (char *c = name; c != NULL && *c != '\0'; c++) {
            *c = *c == '-' ? '_' : *c;
        }
        words.item[i].name = name != NULL ? name : words.item[i].name;
    }
    if (d->code < 0) {
        return;
    }
    ty_flags_apply(&words, rows, NULL);
    ty_draft_set(d, "framework.preset", &stack, "megatron-deepspeed");
    import_shape(&words);
    import_mlp(&words);
    import_positions(&words);
    import_blocks(&words);
    import_attention(&words);
    import_types(&words);
    import_layout(&words);
    import_vocabulary(&words);
}

const struct ty_importer ty_import_neox = {.name = "neox", .title = "GPT-NeoX", .read = read_neox};
