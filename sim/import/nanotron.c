/* nanotron.c - `trainyard import nanotron`: the YAML of a run. Words are those of two published
 * files (nanotron 2411b022: config_tiny_llama.yaml, config_2.8b_llama.yaml), others and all
 * defaults from memory. */
#include <string.h>
#include <strings.h>

#include "sim/import/flag_rows.h"
#include "sim/import/trainer.h"

#define RULE        "default of nanotron, from memory"
#define MODEL(word) "model.model_config." word

static const struct ty_flag_row rows[] = {
    KEY(MODEL("num_hidden_layers"), "model.layers"),
    KEY(MODEL("hidden_size"), "model.hidden"),
    KEY(MODEL("num_attention_heads"), "model.heads"),
    KEY(MODEL("num_key_value_heads"), "model.kv_heads"),
    KEY(MODEL("intermediate_size"), "model.ffn"),
    KEY(MODEL("head_dim"), "model.head_dim"),
    KEY(MODEL("sliding_window"), "model.window"),
    TAKEN(MODEL("vocab_size")),
    TAKEN(MODEL("tie_word_embeddings")),
    TAKEN(MODEL("attention_bias")),
    TAKEN(MODEL("is_llama_config")),
    TAKEN(MODEL("is_qwen2_config")),
    TAKEN(MODEL("is_starcoder2_config")),
    TAKEN(MODEL("moe_config.*")),
    NO_KEY(MODEL("z_loss_enabled"), "a further loss of logits is not counted"),
    NO_KEY(MODEL("no_rope_layer"), "layers without rotary embeddings are not told apart"),
    IDLE("model.model_config.*"),
    TAKEN("model.make_vocab_size_divisible_by"),
    TAKEN("model.dtype"),
    TAKEN("model.ddp_bucket_cap_mb"),
    IDLE("model.init_method.*"),
    TAKEN("parallelism.dp"),
    TAKEN("parallelism.tp"),
    TAKEN("parallelism.pp"),
    TAKEN("parallelism.context_parallel_size"),
    TAKEN("parallelism.expert_parallel_size"),
    TAKEN("parallelism.expert_tensor_parallel_size"),
    TAKEN("parallelism.pp_engine"),
    TAKEN("parallelism.tp_mode"),
    TAKEN("parallelism.tp_linear_async_communication"),
    TAKEN("parallelism.tp_recompute_allgather"),
    TAKEN("parallelism.recompute_layer"),
    IDLE("parallelism.moe_layer_recompute"),
    TAKEN("optimizer.zero_stage"),
    TAKEN("optimizer.accumulate_grad_in_fp32"),
    TAKEN("optimizer.torch_adam_is_fused"),
    TAKEN("optimizer.optimizer_factory.torch_adam_is_fused"),
    IDLE("optimizer.*"),
    TAKEN("tokens.micro_batch_size"),
    TAKEN("tokens.batch_accumulation_per_replica"),
    TAKEN("tokens.sequence_length"),
    IDLE("tokens.*"),
    IDLE("checkpoints.*"),
    IDLE("data.*"),
    IDLE("data_stages*"),
    IDLE("doremi.*"),
    IDLE("general.*"),
    IDLE("lighteval.*"),
    IDLE("logging.*"),
    IDLE("metrics_logging.*"),
    IDLE("profiler.*"),
    IDLE("s3_upload.*"),
    IDLE("slurm.*"),
    IDLE("tokenizer.*"),
    LAST,
};

static void set_count(struct ty_flags *words, const char *word, const char *key, uint32_t otherwise)
{
    const struct ty_draft_from from = ty_flags_from(words, word, RULE);
    ty_draft_set(words->draft, key, &from, "%u", (unsigned)ty_flags_count(words, word, otherwise));
}

/* ---- the model ---- */

/* Rows of the embedding are padded so that tensor ranks get equal shares. */
static void import_vocabulary(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const uint64_t step = (uint64_t)ty_flags_count(words, "model.make_vocab_size_divisible_by", 1) *
                          ty_flags_count(words, "parallelism.tp", 1);
    const struct ty_draft_from from = ty_flags_from(words, MODEL("vocab_size"), RULE);
    uint64_t rows_of = ty_flags_count(words, MODEL("vocab_size"), 0);
    if (rows_of == 0) {
        const struct ty_draft_from model = {.word = MODEL("vocab_size")};
        ty_draft_refuse(d, &model, "no file says it; without it there is no model");
        return;
    }
    rows_of = step > 0 ? (rows_of + step - 1) / step * step : rows_of;
    ty_draft_set(d, "model.vocabulary", &from, "%llu", (unsigned long long)rows_of);
    ty_draft_explain(d, "model.vocabulary", "in whole %llu", (unsigned long long)step);
}

static void import_experts(struct ty_flags *words)
{
    static const struct {
        const char *word, *key;
    } sizes[] = {
        {MODEL("moe_config.num_experts"), "model.experts"},
        {MODEL("moe_config.top_k"), "model.experts_per_token"},
        {MODEL("moe_config.moe_intermediate_size"), "model.expert_ffn"},
    };
    if (ty_flags_find(words, sizes[0].word) == NULL) {
        return;
    }
    for (size_t i = 0; i < TY_COUNT(sizes); i++) {
        ty_flags_set_count(words, sizes[i].word, sizes[i].key);
    }
    if (ty_words_true(words, MODEL("moe_config.enable_shared_expert"), false)) {
        ty_flags_set_count(words, MODEL("moe_config.shared_expert_intermediate_size"),
                           "model.shared_ffn");
    }
    set_count(words, "parallelism.expert_parallel_size", "layout.expert", 1);
    set_count(words, "parallelism.expert_tensor_parallel_size", "layout.expert_tensor",
              ty_flags_count(words, "parallelism.tp", 1));
}

static void import_model(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const bool starcoder = ty_words_true(words, MODEL("is_starcoder2_config"), false);
    const struct ty_draft_from kind = ty_flags_from(
        words, starcoder ? MODEL("is_starcoder2_config") : MODEL("is_llama_config"), RULE);
    if (ty_flags_find(words, MODEL("num_hidden_layers")) == NULL) {
        const struct ty_draft_from none = {.word = MODEL("num_hidden_layers")};
        ty_draft_refuse(d, &none, "no file says it; without it there is no model");
        return;
    }
    ty_draft_set(d, "model.mlp", &kind, starcoder ? "gelu" : "swiglu");
    ty_draft_set(d, "model.norm_kind", &kind, starcoder ? "layernorm" : "rmsnorm");
    const bool bias = ty_words_true(words, MODEL("attention_bias"), false);
    const struct ty_draft_from biases = ty_flags_from(words, MODEL("attention_bias"), RULE);
    ty_draft_set(d, "model.bias", starcoder ? &kind : &biases,
                 starcoder ? "true"
                 : bias    ? "qkv"
                           : "false");
    const struct ty_draft_from tied = ty_flags_from(words, MODEL("tie_word_embeddings"), RULE);
    ty_draft_set(d, "model.tied", &tied, "%s",
                 ty_words_true(words, MODEL("tie_word_embeddings"), starcoder) ? "true" : "false");
    set_count(words, "tokens.sequence_length", "model.sequence", 2048);
    const char *type = ty_flags_text(words, "model.dtype", "bfloat16");
    const struct ty_draft_from types = ty_flags_from(words, "model.dtype", RULE);
    ty_draft_set(d, "model.dtype", &types, "%s",
                 strcmp(type, "bfloat16") == 0  ? "bf16"
                 : strcmp(type, "float16") == 0 ? "fp16"
                                                : "fp32");
    import_vocabulary(words);
    import_experts(words);
}

/* ---- the layout ---- */

static void import_layout(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    set_count(words, "parallelism.tp", "layout.tensor", 1);
    set_count(words, "parallelism.pp", "layout.pipeline", 1);
    set_count(words, "parallelism.context_parallel_size", "layout.context", 1);
    const uint64_t dp = ty_flags_count(words, "parallelism.dp", 1);
    const uint64_t world = dp * ty_draft_count(d, "layout.tensor", 1) *
                           ty_draft_count(d, "layout.pipeline", 1) *
                           ty_draft_count(d, "layout.context", 1);
    if (world > 0 && world < UINT32_MAX) {
        d->gpus = (uint32_t)world;
        d->gpus_from = ty_flags_from(words, "parallelism.dp", RULE);
    }
    const char *mode = ty_flags_text(words, "parallelism.tp_mode", "ALL_REDUCE");
    const struct ty_draft_from from = ty_flags_from(words, "parallelism.tp_mode", RULE);
    const bool scattered =
        strcasecmp(mode, "REDUCE_SCATTER") == 0 && ty_draft_count(d, "layout.tensor", 1) > 1;
    ty_draft_set(d, "layout.sequence_parallel", &from, scattered ? "true" : "false");
    set_count(words, "optimizer.zero_stage", "layout.zero", 0);
    const bool full = ty_words_true(words, "parallelism.recompute_layer", false);
    const struct ty_draft_from again = ty_flags_from(words, "parallelism.recompute_layer", RULE);
    ty_draft_set(d, "layout.recompute", &again, full ? "full" : "none");
}

static void import_batch(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const uint64_t replicas = ty_trainer_replicas(d);
    const uint64_t steps = ty_flags_count(words, "tokens.batch_accumulation_per_replica", 1);
    if (ty_flags_find(words, "tokens.micro_batch_size") == NULL) {
        const struct ty_draft_from none = {.word = "tokens.micro_batch_size"};
        ty_draft_refuse(d, &none, "no file says it");
        return;
    }
    ty_flags_set_count(words, "tokens.micro_batch_size", "layout.micro_batch");
    const struct ty_draft_from from =
        ty_flags_from(words, "tokens.batch_accumulation_per_replica", RULE);
    if (replicas > 0) {
        ty_draft_set(
            d, "layout.global_batch", &from, "%llu",
            (unsigned long long)(replicas * steps * ty_draft_count(d, "layout.micro_batch", 1)));
        ty_draft_explain(d, "layout.global_batch", "times micro_batch_size on each of %u replicas",
                         (unsigned)replicas);
    }
}

static void import_pipeline(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const char *engine = ty_flags_text(words, "parallelism.pp_engine", "1f1b");
    const struct ty_draft_from from = ty_flags_from(words, "parallelism.pp_engine", RULE);
    if (ty_draft_count(d, "layout.pipeline", 1) == 1) {
        return;
    }
    if (strcasecmp(engine, "1f1b") != 0 && strcasecmp(engine, "afab") != 0) {
        ty_draft_refuse(d, &from, "'%s' is neither 1f1b nor afab", engine);
        return;
    }
    ty_draft_set(d, "schedule.name", &from, strcasecmp(engine, "1f1b") == 0 ? "1f1b" : "gpipe");
}

/* ---- the stack ---- */

static void import_stack(struct ty_flags *words)
{
    static const char *const fused[] = {"optimizer.torch_adam_is_fused",
                                        "optimizer.optimizer_factory.torch_adam_is_fused"};
    struct ty_draft *d = words->draft;
    const struct ty_draft_from stack = {.word = "nanotron"};
    ty_draft_set(d, "framework.preset", &stack, "nanotron");
    const bool wide = ty_words_true(words, "optimizer.accumulate_grad_in_fp32", true);
    const struct ty_draft_from from =
        ty_flags_from(words, "optimizer.accumulate_grad_in_fp32", RULE);
    ty_draft_set(d, "framework.grad_dtype", &from, wide ? "fp32" : "model");
    ty_draft_set(d, "framework.reduce_dtype", &from, wide ? "fp32" : "model");
    ty_words_set_truth(words, "parallelism.tp_linear_async_communication",
                       "framework.overlap_tensor_reduce");
    ty_words_set_truth(words, "parallelism.tp_recompute_allgather", "framework.regather_inputs");
    for (size_t i = 0; i < TY_COUNT(fused); i++) {
        ty_words_set_truth(words, fused[i], "framework.fused_optimizer");
    }
    if (ty_flags_find(words, "model.ddp_bucket_cap_mb") != NULL &&
        ty_draft_is(d, "layout.zero", "0")) {
        const struct ty_draft_from bucket = ty_flags_from(words, "model.ddp_bucket_cap_mb", "");
        ty_draft_set(d, "framework.bucket", &bucket, "%u MiB",
                     (unsigned)ty_flags_count(words, "model.ddp_bucket_cap_mb", 25));
    }
}

static void read_nanotron(struct ty_draft *d)
{
    struct ty_flags words = {.draft = d};
    for (uint32_t i = 0; i < d->n_files; i++) {
        ty_words_read(&words, &d->files[i]);
    }
    if (d->code < 0) {
        return;
    }
    ty_flags_apply(&words, rows, NULL);
    import_model(&words);
    import_layout(&words);
    import_batch(&words);
    import_pipeline(&words);
    import_stack(&words);
}

const struct ty_importer ty_import_nanotron = {
    .name = "nanotron", .title = "nanotron", .read = read_nanotron};
