/* carriers_yaml.c - flags that stand in YAML. */
#include <string.h>

#include "sim/import/megatron/carriers.h"
#include "sim/import/words.h"

/* A value as a flag's: the words of the script that it becomes. */
static void put_values(struct ty_draft *d, struct ty_flags *flags, const struct ty_node *node)
{
    if (node->kind == TY_NODE_LIST) {
        for (const struct ty_node *item = node->first; item != NULL; item = item->next) {
            if (item->kind == TY_NODE_SCALAR) {
                ty_flags_value(flags, item->text, NULL);
            }
        }
        return;
    }
    const char *dollar = strchr(node->text, '$');
    ty_flags_value(flags, node->text,
                   dollar != NULL ? ty_draft_text(d, "%s is filled in by whoever runs it", dollar)
                                  : NULL);
}

/* Whether a value is one of the words for true and false, rather than 1 or 0, which are numbers:
 * 1 or 0; -1: it is none. */
static int truth_of(const struct ty_node *node)
{
    return node->kind == TY_NODE_SCALAR && !node->quoted && strchr("01", node->text[0]) == NULL
               ? ty_words_truth(node->text)
               : -1;
}

/* `true` is a bare flag, `false` none; of a flag that is on by itself it is --no-... */
static void put_flag(struct ty_draft *d, struct ty_flags *flags, const char *name,
                     const struct ty_draft_from *from, const struct ty_node *node)
{
    const uint32_t before = flags->n;
    if (node->kind == TY_NODE_MAP || ty_words_is_null(node) || truth_of(node) == 0) {
        return;
    }
    ty_flags_put(flags, name, from, NULL);
    if (flags->n > before && truth_of(node) != 1) {
        put_values(d, flags, node);
    }
}

/* "--num-layers" of "--num_layers" or of "num_layers". */
static const char *flag_name(struct ty_draft *d, const char *key)
{
    char *name = ty_arena_strndup(d->arena, key, strlen(key));
    for (char *c = name; c != NULL && *c != '\0'; c++) {
        *c = *c == '_' ? '-' : *c;
    }
    return name == NULL ? "" : ty_text_begins(name, "--") ? name : ty_draft_text(d, "--%s", name);
}

/* ---- MODEL_ARGS ---- */

static void read_args(struct ty_draft *d, const struct ty_doc *doc, const struct ty_node *args,
                      struct ty_flags *flags)
{
    for (const struct ty_node *node = args->first; node != NULL; node = node->next) {
        const struct ty_draft_from from = {.word = node->key, .at = ty_node_key_place(doc, node)};
        if (ty_text_begins(node->key, "--")) {
            put_flag(d, flags, flag_name(d, node->key), &from, node);
        } else { /* arguments by mode: MODEL_ARGS: {pretrain: {--x: ...}} */
            read_args(d, doc, node, flags);
        }
    }
}

/* ---- --yaml-cfg ---- */

/* Sections of a file for --yaml-cfg call a few flags otherwise, and have fields that no flag is
 * for: those that are true by themselves matter where they are false. */
static const struct {
    const char *key, *flag; /* NULL: no part in a step */
    const char *only;       /* the value that means the flag; NULL: any */
} others[] = {
    {"num_moe_experts", "--num-experts", NULL},
    {"add_bias_linear", "--disable-bias-linear", "false"},
    {"activation_func", "--swiglu", "swiglu"},
    {"activation_func", "--squared-relu", "squaredrelu"},
    {"gated_linear_unit", "--swiglu", "true"},
    {"layernorm_zero_centered_gamma", "--apply-layernorm-1p", "true"},
    {"encoder_seq_length", "--seq-length", NULL},
    {"virtual_pipeline_model_parallel_size", "--num-virtual-stages-per-pipeline-rank", NULL},
    {"microbatch_group_size_per_vp_stage", "--microbatch-group-size-per-vp-stage", NULL},
    {"fp8", "--fp8-format", NULL},
    {"fp8_wgrad", NULL, NULL},
    {"gradient_accumulation_fusion", "--no-gradient-accumulation-fusion", "false"},
    {"apply_rope_fusion", "--no-rope-fusion", "false"},
    {"bias_swiglu_fusion", "--no-bias-swiglu-fusion", "false"},
    {"masked_softmax_fusion", "--no-masked-softmax-fusion", "false"},
    {"overlap_p2p_comm", "--no-overlap-p2p-communication", "false"},
    {"scatter_gather_tensors_in_pipeline", "--no-scatter-gather-tensors-in-pipeline", "false"},
    {"async_tensor_model_parallel_allreduce", "--no-async-tensor-model-parallel-allreduce",
     "false"},
    {"moe_token_dropping", NULL, NULL}, /* the capacity says it */
    {"tp_comm_split_ag", NULL, NULL},   /* how tp_comm_overlap does it */
    {"tp_comm_split_rs", NULL, NULL},
    {"tp_comm_atomic_ag", NULL, NULL},
    {"tp_comm_atomic_rs", NULL, NULL},
    {"tp_comm_bulk_wgrad", NULL, NULL},
    {"tp_comm_bulk_dgrad", NULL, NULL},
    {"cpu_offloading_activations", NULL, NULL}, /* what cpu_offloading takes */
    {"cpu_offloading_num_layers", "--cpu-offloading-num-layers", NULL},
    {"bias_activation_fusion", NULL, NULL},
    {"bias_dropout_fusion", NULL, NULL},
    {"persist_layer_norm", NULL, NULL},
    {"memory_efficient_layer_norm", NULL, NULL},
    {"clone_scatter_output_in_embedding", NULL, NULL},
    {"enable_autocast", NULL, NULL},
    {"batch_p2p_comm", NULL, NULL},
    {"batch_p2p_sync", NULL, NULL},
    {"deallocate_pipeline_outputs", NULL, NULL},
    {"delay_param_gather", NULL, NULL},
    {"standalone_embedding_stage", NULL, NULL},
    {"adlr_autoresume*", NULL, NULL},
    {"retriever_seq_length", NULL, NULL},
    {"sample_rate", NULL, NULL},
    {"rotary_interleaved", NULL, NULL},
    {"params_dtype", NULL, NULL}, /* fp16 and bf16 say it */
    {"pipeline_dtype", NULL, NULL},
    {"autocast_dtype", NULL, NULL},
};

static bool is_key(const char *key, const char *of)
{
    const size_t n = strlen(of);
    return of[n - 1] == '*' ? strncmp(key, of, n - 1) == 0 : strcmp(key, of) == 0;
}

/* Whether the value is the one that means the flag. */
static bool means(const struct ty_node *node, const char *only)
{
    const int truth = truth_of(node), wanted = ty_words_truth(only);
    return wanted >= 0 ? truth == wanted
                       : node->kind == TY_NODE_SCALAR && strcmp(node->text, only) == 0;
}

static void put_key(struct ty_draft *d, const struct ty_doc *doc, const struct ty_node *node,
                    struct ty_flags *flags)
{
    const struct ty_draft_from from = {.word = node->key, .at = ty_node_key_place(doc, node)};
    const uint32_t before = flags->n;
    bool known = false;
    for (size_t i = 0; i < TY_COUNT(others); i++) {
        if (!is_key(node->key, others[i].key)) {
            continue;
        }
        known = true;
        if (others[i].flag != NULL && others[i].only == NULL) {
            put_flag(d, flags, others[i].flag, &from, node);
        } else if (others[i].flag != NULL && means(node, others[i].only)) {
            ty_flags_put(flags, others[i].flag, &from, NULL);
        }
    }
    if (!known) {
        put_flag(d, flags, flag_name(d, node->key), &from, node);
    } else if (flags->n == before) {
        ty_draft_idle(d, &from);
    }
}

static void read_sections(struct ty_draft *d, const struct ty_doc *doc, const struct ty_node *map,
                          struct ty_flags *flags)
{
    for (const struct ty_node *node = map->first; node != NULL; node = node->next) {
        if (node->kind == TY_NODE_MAP) {
            read_sections(d, doc, node, flags);
        } else {
            put_key(d, doc, node, flags);
        }
    }
    const struct ty_node *groups = ty_node_child(map, "num_query_groups");
    if (groups != NULL && !ty_words_is_null(groups)) { /* the flag is not asked for there */
        const struct ty_draft_from from = {.word = groups->key,
                                           .at = ty_node_key_place(doc, groups)};
        ty_flags_put(flags, "--group-query-attention", &from, NULL);
    }
}

void ty_carriers_yaml(struct ty_draft *d, const struct ty_draft_file *file, struct ty_flags *flags)
{
    const struct ty_doc *doc = ty_words_doc(d, file);
    if (doc == NULL) {
        return;
    }
    const struct ty_node *args = ty_node_child(doc->root, "MODEL_ARGS");
    if (args != NULL) {
        read_args(d, doc, args, flags);
    } else {
        read_sections(d, doc, doc->root, flags);
    }
}
