/* model.c - a model that stands elsewhere, as the flags that would describe it: settings that come
 * behind them count. */
#include <stdlib.h>
#include <string.h>

#include "sim/import/nemo/nemo.h"

/* ---- lines of the section `model` ---- */

static const struct {
    const char *key, *value; /* of the line; NULL: any value */
    const char *flag, *more; /* what it is; more: a flag that goes with it, or NULL */
} meanings[] = {
    {"layers", NULL, "--num-layers", NULL},
    {"hidden", NULL, "--hidden-size", NULL},
    {"heads", NULL, "--num-attention-heads", NULL},
    {"kv_heads", NULL, "--num-query-groups", "--group-query-attention"},
    {"ffn", NULL, "--ffn-hidden-size", NULL},
    {"vocabulary", NULL, "--vocab-size", NULL},
    {"sequence", NULL, "--seq-length", NULL},
    {"positions", NULL, "--max-position-embeddings", NULL},
    {"mlp", "swiglu", "--swiglu", NULL},
    {"norm_kind", "rmsnorm", "--normalization RMSNorm", NULL},
    {"bias", "false", "--disable-bias-linear", NULL},
    {"bias", "qkv", "--add-qkv-bias", "--disable-bias-linear"},
    {"tied", "false", "--untie-embeddings-and-output-weights", NULL},
    {"qk_norm", "true", "--qk-layernorm", NULL},
    {"experts", NULL, "--num-experts", NULL},
    {"experts_per_token", NULL, "--moe-router-topk", NULL},
    {"expert_ffn", NULL, "--moe-ffn-hidden-size", NULL},
    {"shared_ffn", NULL, "--moe-shared-expert-intermediate-size", NULL},
    {"router_bias", "true", "--moe-router-enable-expert-bias", NULL},
    {"expert_groups", NULL, "--moe-router-num-groups", NULL},
    {"group_limit", NULL, "--moe-router-group-topk", NULL},
    {"query_latent", NULL, "--q-lora-rank", NULL},
    {"kv_latent", NULL, "--kv-lora-rank", "--multi-latent-attention"},
    {"head_rope", NULL, "--qk-pos-emb-head-dim", NULL},
    {"head_value", NULL, "--v-head-dim", NULL},
};

/* Without the places of the values, which are this program's. */
static void put(struct ty_megatron *m, const char *flag, const char *value,
                const struct ty_draft_from *from)
{
    const char *blank = strchr(flag, ' ');
    const char *name =
        blank != NULL ? ty_draft_text(m->draft, "%.*s", (int)(blank - flag), flag) : flag;
    const uint32_t before = m->flags.n;
    ty_flags_put(&m->flags, name, from, NULL);
    if (m->flags.n > before && (blank != NULL || value != NULL)) {
        ty_flags_value(&m->flags, blank != NULL ? blank + 1 : value, NULL);
    }
}

/* "layers: 32" of lines, or NULL. */
static const char *value_of(struct ty_draft *d, const char *lines, const char *key)
{
    const size_t n = strlen(key);
    for (const char *line = lines; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, key, n) == 0 && line[n] == ':') {
            size_t bytes = strcspn(line + n + 1, "\n#");
            const char *value = ty_text_trim(line + n + 1, &bytes);
            return ty_draft_text(d, "%.*s", (int)bytes, value);
        }
        line += length + (line[length] == '\n');
    }
    return NULL;
}

/* The flag of a line, unless it says what would be without it. */
static void put_line(struct ty_megatron *m, size_t which, const char *value,
                     const struct ty_draft_from *from)
{
    const char *only = meanings[which].value;
    if (value == NULL || strcmp(value, only != NULL ? only : value) != 0 ||
        strcmp(value, "0") == 0) {
        return;
    }
    put(m, meanings[which].flag, only == NULL ? value : NULL, from);
    if (meanings[which].more != NULL) {
        put(m, meanings[which].more, NULL, from);
    }
}

/* Dense layers before those with experts, as a sum of lists. */
static void put_dense(struct ty_megatron *m, const char *lines, const struct ty_draft_from *from)
{
    const char *dense = value_of(m->draft, lines, "dense_layers");
    const char *layers = value_of(m->draft, lines, "layers");
    if (dense != NULL && layers != NULL && strcmp(dense, "0") != 0) {
        const unsigned long all = strtoul(layers, NULL, 10), first = strtoul(dense, NULL, 10);
        put(m, "--moe-layer-freq",
            ty_draft_text(m->draft, "([0]*%lu+[1]*%lu)", first, all > first ? all - first : 0),
            from);
    }
}

void ty_nemo_lines(struct ty_megatron *m, const char *lines, const struct ty_draft_from *from)
{
    const bool latent = value_of(m->draft, lines, "kv_latent") != NULL;
    const char *head = value_of(m->draft, lines, "head_dim");
    const char *dropout = value_of(m->draft, lines, "dropout");
    for (size_t i = 0; i < TY_COUNT(meanings); i++) {
        put_line(m, i, value_of(m->draft, lines, meanings[i].key), from);
    }
    if (head != NULL) {
        put(m, latent ? "--qk-head-dim" : "--kv-channels", head, from);
    }
    if (latent) {
        put(m, "--qk-layernorm", NULL, from);
    }
    put_dense(m, lines, from);
    if (value_of(m->draft, lines, "positions") == NULL) {
        put(m, "--position-embedding-type rope", NULL, from);
    }
    put(m, "--hidden-dropout", dropout != NULL ? dropout : "0", from);
    put(m, "--attention-dropout", dropout != NULL ? dropout : "0", from);
}
