/* words.c - fields of NeMo, Megatron-Bridge and neuronx-distributed-training as Megatron-LM flags.
 *
 * Most are called as the flag is; the table has the others. Sources: six files of
 * NeMo-Framework-Launcher (26e42fa9), and notes on it, on NeMo (8cfedd72) and Megatron-Bridge
 * (067f987d). Words of their configuration objects that these do not name (grad_reduce_in_fp32,
 * pipeline_dtype, should_pad_vocab, ...), and most of neuronx-distributed-training, are from
 * memory. */
#include <string.h>
#include <strings.h>

#include "sim/import/nemo/nemo.h"

enum how {
    VALUE,    /* the flag has the word's value */
    IF_TRUE,  /* the flag is there when the word is true */
    IF_FALSE, /* or when it is false */
    NONZERO,  /* as VALUE, but 0 is none */
    IDLE,
    NO_KEY,
    CODE, /* below */
};

static const struct row {
    const char *word; /* behind the section; "x*": all that begin so */
    enum how how;
    const char *flag; /* "--flag" or "--flag value"; of NO_KEY what is to be said */
} rows[] = {
    {"encoder_seq_length", VALUE, "--seq-length"},
    {"data.seq_length", CODE, NULL},
    {"data.sequence_length", CODE, NULL},
    {"num_query_groups", CODE, NULL},
    {"bias", IF_FALSE, "--disable-bias-linear"},
    {"add_bias_linear", IF_FALSE, "--disable-bias-linear"},
    {"share_embeddings_and_output_weights", IF_FALSE, "--untie-embeddings-and-output-weights"},
    {"activation", CODE, NULL},
    {"gated_linear_unit", IF_TRUE, "--swiglu"},
    {"activation_func", IDLE, NULL},
    {"normalization", VALUE, "--normalization"},
    {"layernorm_zero_centered_gamma", IF_TRUE, "--apply-layernorm-1p"},
    {"tensor_parallelism", VALUE, "--tensor-model-parallel-size"},
    {"pipeline_parallelism", VALUE, "--pipeline-model-parallel-size"},
    {"virtual_pipeline_parallelism", NONZERO, "--num-virtual-stages-per-pipeline-rank"},
    {"virtual_pipeline_model_parallel_size", CODE, NULL},
    {"context_parallelism", VALUE, "--context-parallel-size"},
    {"expert_parallelism", VALUE, "--expert-model-parallel-size"},
    {"sequence_parallelism", IF_TRUE, "--sequence-parallel"},
    {"expert_tensor_parallel_size", VALUE, "--expert-tensor-parallel-size"},
    {"num_layers_in_first_pipeline_stage", VALUE, "--decoder-first-pipeline-num-layers"},
    {"num_layers_in_last_pipeline_stage", VALUE, "--decoder-last-pipeline-num-layers"},
    {"num_moe_experts", NONZERO, "--num-experts"},
    {"moe_shared_expert_intermediate_size", NONZERO, "--moe-shared-expert-intermediate-size"},
    {"activations_checkpoint_granularity", VALUE, "--recompute-granularity"},
    {"activations_checkpoint_method", VALUE, "--recompute-method"},
    {"activations_checkpoint_num_layers", NONZERO, "--recompute-num-layers"},
    {"activations_checkpoint_layers_per_pipeline", NO_KEY, "later stages recompute fewer layers"},
    {"num_micro_batches_with_partial_activation_checkpoints", NO_KEY,
     "micro-batches differ in what is recomputed"},
    {"rampup_batch_size", VALUE, "--rampup-batch-size"},
    {"data.micro_batch_size", VALUE, "--micro-batch-size"},
    {"data.global_batch_size", VALUE, "--global-batch-size"},
    {"use_flash_attention", IF_TRUE, "--use-flash-attn"},
    {"fusions.flash_attention", IF_TRUE, "--use-flash-attn"},
    {"fusions.*", IDLE, NULL},
    {"fp8", CODE, NULL},
    {"fp8_e4m3", IDLE, NULL},
    {"fp8_hybrid", IDLE, NULL},
    {"fp8_recipe", VALUE, "--fp8-recipe"},
    {"fp8_params", IF_TRUE, "--fp8-param-gather"},
    {"fp8_*", IDLE, NULL},
    {"reduce_amax", IDLE, NULL},
    {"use_emha", IDLE, NULL},
    {"precision", CODE, NULL},
    {"trainer.precision", CODE, NULL},
    {"precision.type", CODE, NULL},
    {"mixed_precision", CODE, NULL},
    {"mixed_precision.*", IDLE, NULL},
    {"precision.*", IDLE, NULL},
    {"bf16", IF_TRUE, "--bf16"},
    {"fp16", IF_TRUE, "--fp16"},
    {"params_dtype*", IDLE, NULL},
    {"activation_func.*", IDLE, NULL},
    {"activations_checkpoint_recompute", IDLE, NULL},
    {"model_config", NO_KEY, "the model is in that config.json; name it as a further file"},
    {"compiler_*", IDLE, NULL},
    {"aync_exec_*", IDLE, NULL}, /* as its files spell it */
    {"async_exec_*", IDLE, NULL},
    {"pipeline_dtype", IDLE, NULL},
    {"autocast_dtype", IDLE, NULL},
    {"ub_tp_comm_overlap", IF_TRUE, "--tp-comm-overlap"},
    {"tp_comm_overlap", IF_TRUE, "--tp-comm-overlap"},
    {"tp_comm_overlap_*", IDLE, NULL},
    {"ub_tp_comm_overlap_cfg*", IDLE, NULL},
    {"comm_overlap.tp_comm_overlap", IF_TRUE, "--tp-comm-overlap"},
    {"comm_overlap.overlap_grad_reduce", IF_TRUE, "--overlap-grad-reduce"},
    {"comm_overlap.overlap_param_gather", IF_TRUE, "--overlap-param-gather"},
    {"comm_overlap.overlap_moe_expert_parallel_comm", IF_TRUE,
     "--overlap-moe-expert-parallel-comm"},
    {"comm_overlap.delay_wgrad_compute", IF_TRUE, "--delay-wgrad-compute"},
    {"comm_overlap.*", IDLE, NULL},
    {"overlap_p2p_comm", IF_FALSE, "--no-overlap-p2p-communication"},
    {"batch_p2p_comm", IDLE, NULL},
    {"gradient_accumulation_fusion", IF_FALSE, "--no-gradient-accumulation-fusion"},
    {"apply_rope_fusion", IF_FALSE, "--no-rope-fusion"},
    {"cross_entropy_loss_fusion", IF_TRUE, "--cross-entropy-loss-fusion"},
    {"defer_embedding_wgrad_compute", IF_TRUE, "--defer-embedding-wgrad-compute"},
    {"grad_reduce_in_fp32", IF_FALSE, "--grad-reduce-in-bf16"},
    {"use_distributed_optimizer", IF_TRUE, "--use-distributed-optimizer"},
    {"optim.use_distributed_optimizer", IF_TRUE, "--use-distributed-optimizer"},
    {"zero1", IF_TRUE, "--use-distributed-optimizer"},
    {"kv_replicator", NO_KEY, "copies of key and value heads over tensor ranks are not told apart"},
    {"optim.name", CODE, NULL},
    {"optim.overlap_grad_sync", IF_TRUE, "--overlap-grad-reduce"},
    {"optim.overlap_param_sync", IF_TRUE, "--overlap-param-gather"},
    {"optim.grad_sync_dtype", CODE, NULL},
    {"optim.bucket_cap_mb", NO_KEY, "buckets are as large as Megatron-LM makes them"},
    {"optim.optimizer", VALUE, "--optimizer"},
    {"optim.*", IDLE, NULL},
    {"bucket_size", VALUE, "--ddp-bucket-size"},
    {"fsdp", IF_TRUE, "--use-torch-fsdp2"},
    {"fsdp_*", IDLE, NULL},
    {"use_megatron_fsdp", IF_TRUE, "--use-megatron-fsdp"},
    {"tokenizer.type", VALUE, "--tokenizer-type"},
    {"tokenizer.model", VALUE, "--tokenizer-model"},
    {"tokenizer.tokenizer_type", VALUE, "--tokenizer-type"},
    {"tokenizer.tokenizer_model", VALUE, "--tokenizer-model"},
    {"tokenizer.vocab_size", VALUE, "--vocab-size"},
    {"tokenizer.*", IDLE, NULL},
    {"vocab_size", VALUE, "--vocab-size"},
    {"override_vocab_size", VALUE, "--vocab-size"},
    {"should_pad_vocab", IDLE, NULL},
    {"trainer.num_nodes", VALUE, "--nnodes"},
    {"trainer.devices", VALUE, "--nproc-per-node"},
    {"num_nodes", VALUE, "--nnodes"},
    {"num_gpus_per_node", VALUE, "--nproc-per-node"},
    {"gpus_per_node", VALUE, "--nproc-per-node"},
    {"devices", VALUE, "--nproc-per-node"},
    {"trainer.accumulate_grad_batches", IDLE, NULL},
    {"trainer.*", IDLE, NULL},
    {"data.*", IDLE, NULL},
    {"mcore_customization_config.new_decoder_architecture", IF_TRUE, "--spec falcon"},
    {"mcore_customization_config.parallel_attention", IF_TRUE, "--spec falcon"},
    {"ffn_dropout", IDLE, NULL},
    {"transformer_block_type", IDLE, NULL},
    {"attention_type", IDLE, NULL},
    {"headscale", IDLE, NULL},
    {"mcore_gpt", IDLE, NULL},
    {"transformer_engine", IDLE, NULL},
    {"megatron_amp_O2", IDLE, NULL},
    {"native_amp_*", IDLE, NULL},
    {"grad_allreduce_chunk_size_mb", IDLE, NULL},
    {"grad_div_ar_fusion", IDLE, NULL},
    {"bias_activation_fusion", IDLE, NULL},
    {"bias_dropout*", IDLE, NULL},
    {"masked_softmax_fusion", IDLE, NULL},
    {"get_attention_mask_from_fusion", IDLE, NULL},
    {"gradient_as_bucket_view", IDLE, NULL},
    {"async_grad_allreduce", IDLE, NULL},
    {"sync_batch_comm", IDLE, NULL},
    {"apex_transformer_log_level", IDLE, NULL},
    {"pre_process", IDLE, NULL},
    {"post_process", IDLE, NULL},
    {"persist_layer_norm", IDLE, NULL},
    {"do_layer_norm_weight_decay", IDLE, NULL},
    {"use_scaled_init_method", IDLE, NULL},
    {"init_method*", IDLE, NULL},
    {"normalize_attention_scores", IDLE, NULL},
    {"scale_positional_embedding", IDLE, NULL},
    {"seq_len_interpolation_factor", IDLE, NULL},
    {"resume_from_checkpoint", IDLE, NULL},
    {"wgrad_deferral_limit", IDLE, NULL},
    {"deterministic_mode", IDLE, NULL},
    {"deteministic_mode", IDLE, NULL}, /* as the launcher's files spell it */
    {"gc_interval", IDLE, NULL},
    {"nsys_profile.*", IDLE, NULL},
    {"sharp", IDLE, NULL},
    {"make_vocab_size_divisible_by", VALUE, "--make-vocab-size-divisible-by"},
    {"reset_*", IDLE, NULL},
    {"_target_", IDLE, NULL},
    {"average_in_collective", IDLE, NULL},
    {"check_for_nan_in_grad", IDLE, NULL},
    {"model_type", IDLE, NULL},
    {"model_source", IDLE, NULL},
    {"name", IDLE, NULL},
    {"plugins", CODE, NULL},
    {"strategy", IDLE, NULL},
    {"config", IDLE, NULL},
    {"target", IDLE, NULL},
    {"model", IDLE, NULL},
    {"trainer", IDLE, NULL},
    {"tokenizer", IDLE, NULL},
    {"log", IDLE, NULL},
    {"resume", IDLE, NULL},
    {"performance_mode", IDLE, NULL},
    {"pipeline_parallelism_type", IDLE, NULL},
    {"use_distributed_sampler", IDLE, NULL},
    {"dir", IDLE, NULL},
    {"max_*", IDLE, NULL},
    {"log_*", IDLE, NULL},
    {"val_*", IDLE, NULL},
    {"limit_*", IDLE, NULL},
    {"callbacks", IDLE, NULL},
    {"fn", IDLE, NULL},
    {"accelerator", IDLE, NULL},
    {"defaults", IDLE, NULL},
};

/* ---- sections ---- */

/* Sections whose fields are flags by themselves, and those whose fields keep their section; any
 * other section has no part in a step. */
static const struct {
    const char *prefix, *instead; /* NULL: none */
} sections[] = {
    {"model.data.", "data."},
    {"model.optim.", "optim."},
    {"model.", ""},
    {"distributed_strategy.", ""},
    {"trainer.strategy.", ""},
    {"trainer.", "trainer."},
    {"train.", ""},
    {"ddp.", ""},
    {"optimizer.", "optim."},
    {"optim.", "optim."},
    {"dataset.", "data."},
    {"data.", "data."},
    {"tokenizer.", "tokenizer."},
    {"mixed_precision", "mixed_precision"},
    {"precision.", "precision."},
    {"comm_overlap.", "comm_overlap."},
};

/* A word without its section; NULL: it is of a section without a part. */
static const char *field_of(struct ty_draft *d, const char *name)
{
    for (size_t i = 0; i < TY_COUNT(sections); i++) {
        if (ty_text_begins(name, sections[i].prefix)) {
            return ty_draft_text(d, "%s%s", sections[i].instead, name + strlen(sections[i].prefix));
        }
    }
    return strchr(name, '.') == NULL ? name : NULL; /* an argument in Python */
}

static const struct row *row_of(const char *field)
{
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const size_t n = strlen(rows[i].word);
        const bool begins = rows[i].word[n - 1] == '*' && strncmp(rows[i].word, field, n - 1) == 0;
        if (begins || strcmp(rows[i].word, field) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* ---- words to flags ---- */

/* A flag that stands where the word does. */
static void put(struct ty_megatron *m, const char *flag, const struct ty_flag *word, bool values)
{
    const char *blank = strchr(flag, ' ');
    const char *name =
        blank != NULL ? ty_draft_text(m->draft, "%.*s", (int)(blank - flag), flag) : flag;
    const uint32_t before = m->flags.n;
    ty_flags_put(&m->flags, name, &word->from, word->doubt);
    if (m->flags.n == before) {
        return;
    }
    if (blank != NULL) {
        ty_flags_value(&m->flags, blank + 1, NULL);
    }
    for (uint32_t i = 0; values && i < word->n_values; i++) {
        ty_flags_value(&m->flags, word->values[i].text, word->values[i].doubt);
    }
}

static bool is_word(const struct ty_flag *word, const char *text)
{
    return word->n_values > 0 && strcasecmp(word->values[0].text, text) == 0;
}

static bool has(const struct ty_flag *word, const char *part)
{
    return word->n_values > 0 && strstr(word->values[0].text, part) != NULL;
}

static void put_activation(struct ty_megatron *m, const struct ty_flag *word)
{
    if (has(word, "squared-relu") || has(word, "squared_relu")) {
        put(m, "--squared-relu", word, false);
    } else if (has(word, "swiglu")) {
        put(m, "--swiglu", word, false);
    } else if (has(word, "glu")) {
        put(m, "--quick-geglu", word, false);
    }
}

/* "bf16-mixed", "bf16_with_fp8_current_scaling_mixed", 16, autocast, mixed_precision, ... */
static void put_precision(struct ty_megatron *m, const struct ty_flag *word)
{
    static const struct {
        const char *has, *flag;
    } recipes[] = {{"current", "--fp8-recipe tensorwise"},
                   {"delayed", "--fp8-recipe delayed"},
                   {"subchannel", "--fp8-recipe blockwise"},
                   {"blockwise", "--fp8-recipe blockwise"},
                   {"mxfp8", "--fp8-recipe mxfp8"}};
    const bool half = (has(word, "16") && !has(word, "bf16")) || is_word(word, "16");
    if (is_word(word, "32") || is_word(word, "fp32") || is_word(word, "32-true")) {
        return;
    }
    put(m, half ? "--fp16" : "--bf16", word, false);
    if (has(word, "fp8")) {
        put(m, "--fp8-format hybrid", word, false);
        for (size_t i = 0; i < TY_COUNT(recipes); i++) {
            if (has(word, recipes[i].has)) {
                put(m, recipes[i].flag, word, false);
            }
        }
    }
}

static void put_groups(struct ty_megatron *m, const struct ty_flag *word)
{
    put(m, "--group-query-attention", word, false);
    put(m, "--num-query-groups", word, true);
}

/* The length of the data, where the model does not say its own. */
static void put_length(struct ty_megatron *m, const struct ty_flag *word)
{
    if (ty_flags_find(&m->flags, "--seq-length") == NULL) {
        put(m, "--seq-length", word, true);
    }
}

static void put_chunks(struct ty_megatron *m, const struct ty_flag *word)
{
    if (!is_word(word, "1") && !is_word(word, "0")) {
        put(m, "--num-virtual-stages-per-pipeline-rank", word, true);
    }
}

static void put_fp8(struct ty_megatron *m, const struct ty_flag *word)
{
    if (!is_word(word, "false")) {
        put(m, is_word(word, "e4m3") ? "--fp8-format e4m3" : "--fp8-format hybrid", word, false);
    }
}

static void put_optimizer(struct ty_megatron *m, const struct ty_flag *word)
{
    if (has(word, "distributed")) {
        put(m, "--use-distributed-optimizer", word, false);
    }
}

static void put_sync(struct ty_megatron *m, const struct ty_flag *word)
{
    if (is_word(word, "bf16") || is_word(word, "fp16")) {
        put(m, "--grad-reduce-in-bf16", word, false);
    }
}

/* Words that code is about. */
static void put_code(struct ty_megatron *m, const char *field, const struct ty_flag *word)
{
    static const struct {
        const char *field;
        void (*put)(struct ty_megatron *m, const struct ty_flag *word);
    } codes[] = {
        {"num_query_groups", put_groups},
        {"data.seq_length", put_length},
        {"data.sequence_length", put_length},
        {"activation", put_activation},
        {"virtual_pipeline_model_parallel_size", put_chunks},
        {"fp8", put_fp8},
        {"precision", put_precision},
        {"trainer.precision", put_precision},
        {"precision.type", put_precision},
        {"mixed_precision", put_precision},
        {"plugins", put_precision},
        {"optim.name", put_optimizer},
        {"optim.grad_sync_dtype", put_sync},
    };
    for (size_t i = 0; i < TY_COUNT(codes); i++) {
        if (strcmp(codes[i].field, field) == 0) {
            codes[i].put(m, word);
        }
    }
}

static bool is_true(const struct ty_flag *word)
{
    return is_word(word, "true") || is_word(word, "1");
}

static void put_row(struct ty_megatron *m, const struct row *row, const char *field,
                    const struct ty_flag *word)
{
    switch (row->how) {
    case VALUE:
        put(m, row->flag, word, true);
        return;
    case NONZERO:
        if (!is_word(word, "0")) {
            put(m, row->flag, word, true);
        }
        return;
    case IF_TRUE:
    case IF_FALSE:
        if (word->n_values > 0 && word->values[0].doubt != NULL) {
            ty_draft_refuse(m->draft, &word->from, "its value is not known: %s",
                            word->values[0].doubt);
        } else if (is_true(word) == (row->how == IF_TRUE)) {
            put(m, row->flag, word, false);
        }
        return;
    case IDLE:
        ty_draft_idle(m->draft, &word->from);
        return;
    case NO_KEY:
        ty_draft_remark(m->draft, &word->from, "%s", row->flag);
        return;
    case CODE:
        put_code(m, field, word);
        return;
    }
}

/* A field that is called as a flag is; true and false are a flag that is there or not. */
static bool put_same(struct ty_megatron *m, const char *field, const struct ty_flag *word)
{
    const char *dashed = ty_draft_text(m->draft, "--%s", field);
    char *flag = ty_arena_strndup(m->draft->arena, dashed, strlen(dashed));
    for (char *c = flag; c != NULL && *c != '\0'; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    if (flag == NULL || (ty_flags_row(ty_megatron_rows, flag) == NULL &&
                         ty_flags_row(ty_megatron_idle_rows, flag) == NULL)) {
        return false;
    }
    if (!is_word(word, "false")) {
        put(m, flag, word, !is_word(word, "true"));
    } else {
        ty_draft_idle(m->draft, &word->from);
    }
    return true;
}

void ty_nemo_words(struct ty_megatron *m, struct ty_flags *words)
{
    for (uint32_t i = 0; i < words->n; i++) {
        const struct ty_flag *word = &words->item[i];
        const char *field = field_of(m->draft, word->name);
        const struct row *row = field != NULL ? row_of(field) : NULL;
        if (strcmp(word->name, TY_NEMO_MODEL) == 0) {
            continue; /* of which one is the model, and the others are none */
        }
        if (field == NULL) {
            ty_draft_idle(m->draft, &word->from);
        } else if (row != NULL) {
            put_row(m, row, field, word);
        } else if (!put_same(m, field, word)) {
            ty_draft_unknown(m->draft, &word->from, word->n_values > 0 ? word->values[0].text : "");
        }
    }
}
