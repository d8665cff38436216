/* model.c - a model that stands elsewhere or is only named, as the flags that would describe it:
 * settings that come behind them count. */
#include <stdlib.h>
#include <string.h>

#include "sim/config/config.h"
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

/* Lines that no flag says: they are told, unless they say what is usual. */
static void tell_others(struct ty_megatron *m, const char *lines, const struct ty_draft_from *from)
{
    static const char *const usual[] = {"name:",      "head_dim:",  "dense_layers:",
                                        "dropout:",   "mlp: gelu",  "norm_kind: layernorm",
                                        "bias: true", "tied: true", "qk_norm: false",
                                        "attention:"};
    for (const char *line = lines; *line != '\0';) {
        const size_t n = strcspn(line, "\n"), key = strcspn(line, ":");
        bool said = n == 0;
        for (size_t i = 0; i < TY_COUNT(usual); i++) {
            said = said || ty_text_begins(line, usual[i]);
        }
        for (size_t i = 0; i < TY_COUNT(meanings); i++) {
            const char *only = meanings[i].value;
            said = said ||
                   (strlen(meanings[i].key) == key && strncmp(meanings[i].key, line, key) == 0 &&
                    (only == NULL || strncmp(line + key + 2, only, strlen(only)) == 0));
        }
        if (!said) {
            ty_draft_remark(m->draft, from,
                            "%.*s: no field of NeMo says it; add it to the run file", (int)n, line);
        }
        line += n + (line[n] == '\n');
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
    tell_others(m, lines, from);
}

/* ---- names ---- */

/* Names of models in classes, recipes and on the hub, without what is no letter or digit and
 * without "config"; the first that is inside counts, so longer ones come first. */
static const struct {
    const char *has, *preset;
} models[] = {
    {"llama31405b", "llama3-405b"},
    {"llama3405b", "llama3-405b"},
    {"llama3170b", "llama3-70b"},
    {"llama370b", "llama3-70b"},
    {"llama318b", "llama3-8b"},
    {"llama38b", "llama3-8b"},
    {"llama270b", "llama2-70b"},
    {"mixtral8x22b", "mixtral-8x22b"},
    {"mixtral8x7b", "mixtral-8x7b"},
    {"deepseekv2lite", "deepseek-v2-lite"},
    {"deepseekv2", "deepseek-v2"},
    {"deepseekv3", "deepseek-v3"},
    {"kimik2", "kimi-k2"},
    {"qwen3235b", "qwen3-235b-a22b"},
    {"qwen330b", "qwen3-30b-a3b"},
    {"qwen3moe235b", "qwen3-235b-a22b"},
    {"qwen3moe30b", "qwen3-30b-a3b"},
    {"gptoss120b", "gpt-oss-120b"},
    {"gptoss20b", "gpt-oss-20b"},
    {"gpt3175b", "gpt3-175b"},
    {"gpt175b", "gpt3-175b"},
};

static const char *plain_name(struct ty_draft *d, const char *name)
{
    char *plain = ty_arena_strndup(d->arena, name, strlen(name));
    size_t n = 0;
    for (const char *c = name; plain != NULL && *c != '\0'; c++) {
        const char low = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
        if ((low >= 'a' && low <= 'z') || (low >= '0' && low <= '9')) {
            plain[n++] = low;
        }
        if (n >= 6 && memcmp(plain + n - 6, "config", 6) == 0) {
            n -= 6;
        }
    }
    if (plain != NULL) {
        plain[n] = '\0';
    }
    return plain != NULL ? plain : "";
}

void ty_nemo_named(struct ty_megatron *m, const char *name, const struct ty_draft_from *from)
{
    const char *plain = plain_name(m->draft, name);
    for (size_t i = 0; i < TY_COUNT(models); i++) {
        if (strstr(plain, models[i].has) != NULL) {
            const struct ty_preset *preset =
                ty_preset_find(ty_config_presets(TY_SECTION_MODEL, "preset"), models[i].preset);
            if (preset != NULL) {
                ty_nemo_lines(m, preset->text, from);
                ty_draft_remark(m->draft, from, "the sizes are those of trainyard's %s",
                                models[i].preset);
            }
            return;
        }
    }
}
