/* carriers_yaml.c - flags that stand in YAML. */
#include <string.h>

#include "sim/document/yaml.h"
#include "sim/import/megatron/carriers.h"

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

/* `true` is a bare flag, `false` none; of a flag that is on by itself it is --no-... */
static void put_flag(struct ty_draft *d, struct ty_flags *flags, const char *name,
                     const struct ty_node *node, const struct ty_place *at)
{
    const bool scalar = node->kind == TY_NODE_SCALAR && !node->quoted;
    if (node->kind == TY_NODE_MAP ||
        (scalar && (strcmp(node->text, "false") == 0 || strcmp(node->text, "null") == 0 ||
                    strcmp(node->text, "") == 0))) {
        return;
    }
    ty_flags_add(flags, name, at, NULL);
    if (!scalar || strcmp(node->text, "true") != 0) {
        put_values(d, flags, node);
    }
}

/* ---- MODEL_ARGS ---- */

static void read_args(struct ty_draft *d, const struct ty_doc *doc, const struct ty_node *args,
                      struct ty_flags *flags)
{
    for (const struct ty_node *node = args->first; node != NULL; node = node->next) {
        const struct ty_place at = ty_node_key_place(doc, node);
        if (strncmp(node->key, "--", 2) == 0) {
            put_flag(d, flags, node->key, node, &at);
        } else { /* arguments by mode: MODEL_ARGS: {pretrain: {--x: ...}} */
            read_args(d, doc, node, flags);
        }
    }
}

/* ---- --yaml-cfg ---- */

/* Sections of a file for --yaml-cfg call a few flags otherwise. */
static const struct {
    const char *key, *flag;
    const char *only; /* the value that means the flag; NULL: any */
} others[] = {
    {"num_attention_heads", "--num-attention-heads", NULL},
    {"num_query_groups", "--num-query-groups", NULL},
    {"add_bias_linear", "--disable-bias-linear", "false"},
    {"add_qkv_bias", "--add-qkv-bias", "true"},
    {"activation_func", "--swiglu", "swiglu"},
    {"gated_linear_unit", "--swiglu", "true"},
    {"untie_embeddings_and_output_weights", "--untie-embeddings-and-output-weights", "true"},
    {"encoder_seq_length", "--seq-length", NULL},
    {"virtual_pipeline_model_parallel_size", "--num-virtual-stages-per-pipeline-rank", NULL},
    {"gradient_accumulation_fusion", "--no-gradient-accumulation-fusion", "false"},
    {"apply_rope_fusion", "--no-rope-fusion", "false"},
    {"masked_softmax_fusion", "--no-masked-softmax-fusion", "false"},
    {"overlap_p2p_comm", "--no-overlap-p2p-communication", "false"},
};

static void put_key(struct ty_draft *d, const struct ty_doc *doc, const struct ty_node *node,
                    struct ty_flags *flags)
{
    const struct ty_place at = ty_node_key_place(doc, node);
    const char *text = node->kind == TY_NODE_SCALAR ? node->text : "";
    for (size_t i = 0; i < TY_COUNT(others); i++) {
        if (strcmp(node->key, others[i].key) == 0) {
            if (others[i].only == NULL) {
                put_flag(d, flags, others[i].flag, node, &at);
            } else if (strcmp(text, others[i].only) == 0) {
                ty_flags_add(flags, others[i].flag, &at, NULL);
            }
            return;
        }
    }
    put_flag(d, flags, ty_draft_text(d, "--%s", node->key), node, &at);
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
    if (groups != NULL && groups->kind == TY_NODE_SCALAR && strcmp(groups->text, "null") != 0) {
        const struct ty_place at = ty_node_key_place(doc, groups);
        ty_flags_add(flags, "--group-query-attention", &at, NULL);
    }
}

void ty_carriers_yaml(struct ty_draft *d, const struct ty_draft_file *file, struct ty_flags *flags)
{
    struct ty_doc *doc = ty_arena_array(d->arena, struct ty_doc, 1);
    const int rc = doc != NULL
                       ? ty_doc_parse(doc, d->arena, file->path, file->text, file->len, d->err)
                       : ty_fail_memory(d->err);
    const struct ty_draft_from from = {.word = file->path};
    if (rc < 0) {
        d->code = d->code < 0 ? d->code : rc;
        return;
    }
    if (doc->root == NULL || doc->root->kind != TY_NODE_MAP) {
        ty_draft_refuse(d, &from, "no mapping; MODEL_ARGS with flags, or sections of --yaml-cfg");
        return;
    }
    const struct ty_node *args = ty_node_child(doc->root, "MODEL_ARGS");
    if (args != NULL) {
        read_args(d, doc, args, flags);
    } else {
        read_sections(d, doc, doc->root, flags);
    }
}
