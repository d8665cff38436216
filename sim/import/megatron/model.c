/* model.c - the transformer that flags describe. Defaults are Megatron-LM's; where its
 * fork for DeepSpeed has others, `deepspeed` says so. */
#include <string.h>
#include <strings.h>

#include "sim/base/number_text.h"
#include "sim/import/megatron/megatron.h"

#define RULE "default of Megatron-LM"

static void required(struct ty_megatron *m, const char *flag, const char *key)
{
    if (ty_flags_find(&m->flags, flag) == NULL) {
        const struct ty_draft_from from = {.word = flag};
        ty_draft_refuse(m->draft, &from, "no file says it; without it there is no model");
        return;
    }
    ty_flags_set_count(&m->flags, flag, key);
}

/* ---- attention ---- */

static void import_latent(struct ty_megatron *m)
{
    static const struct {
        const char *flag, *key;
        uint32_t otherwise;
    } widths[] = {
        {"--kv-lora-rank", "model.kv_latent", 32}, /* the dataclass says 512, the flag wins */
        {"--qk-head-dim", "model.head_dim", 128},
        {"--qk-pos-emb-head-dim", "model.head_rope", 64},
        {"--v-head-dim", "model.head_value", 128},
    };
    struct ty_flags *f = &m->flags;
    ty_flags_set_count(f, "--q-lora-rank", "model.query_latent");
    for (size_t i = 0; i < TY_COUNT(widths); i++) {
        const struct ty_draft_from from = ty_flags_from(f, widths[i].flag, RULE);
        ty_draft_set(m->draft, widths[i].key, &from, "%u",
                     (unsigned)ty_flags_count(f, widths[i].flag, widths[i].otherwise));
    }
    if (!ty_flags_has(f, "--qk-layernorm")) {
        const struct ty_draft_from from = ty_flags_from(f, "--multi-latent-attention", RULE);
        ty_draft_remark(m->draft, &from,
                        "without --qk-layernorm there are no norms of latents; here there are");
    }
}

static void import_heads(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const bool grouped = ty_flags_has(f, "--group-query-attention");
    if (grouped) {
        const struct ty_draft_from from = ty_flags_from(f, "--num-query-groups", RULE);
        ty_draft_set(m->draft, "model.kv_heads", &from, "%u",
                     (unsigned)ty_flags_count(f, "--num-query-groups", 1));
    } else if (ty_flags_has(f, "--num-query-groups")) {
        const struct ty_draft_from from = ty_flags_from(f, "--num-query-groups", RULE);
        ty_draft_remark(m->draft, &from, "groups count only with --group-query-attention");
    }
    ty_flags_set_count(f, "--num-key-value-heads", "model.kv_heads");
    if (ty_flags_has(f, "--multi-latent-attention")) {
        import_latent(m);
        return;
    }
    ty_flags_set_count(f, "--kv-channels", "model.head_dim");
    if (ty_flags_has(f, "--qk-layernorm")) {
        const struct ty_draft_from from = ty_flags_from(f, "--qk-layernorm", RULE);
        const char *kind = ty_flags_text(f, "--normalization", "LayerNorm");
        ty_draft_set(m->draft, "model.qk_norm", &from,
                     strcasecmp(kind, "RMSNorm") == 0 ? "true" : "layernorm");
    }
}

/* Which kernels: Megatron-LM's own choice is flash or cuDNN's; forks have to be asked for it. */
static void import_kernels(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *layers = ty_flags_text(f, "--transformer-impl", m->deepspeed ? "local" : "");
    const bool own = strcmp(layers, "local") == 0; /* layers without Transformer Engine's kernels */
    const char *backend = ty_flags_text(f, "--attention-backend", own ? "local" : "auto");
    const bool unfused = strcmp(backend, "unfused") == 0 || strcmp(backend, "local") == 0;
    struct ty_draft_from from = ty_flags_from(f,
                                              own && ty_flags_find(f, "--attention-backend") == NULL
                                                  ? "--transformer-impl"
                                                  : "--attention-backend",
                                              RULE);
    const bool masked = ty_flags_find(f, "--no-masked-softmax-fusion") == NULL;
    static const char *const flash[] = {"--use-flash-attn", "--use-flash-attn-v1",
                                        "--use-flash-attn-v2", "--use-flash-attn-builder",
                                        "--use-flash-attn-triton"};
    bool fused = !unfused;
    for (size_t i = 0; i < TY_COUNT(flash); i++) {
        if (ty_flags_has(f, flash[i])) {
            from = ty_flags_from(f, flash[i], RULE);
            fused = true;
        }
    }
    const bool first = fused && strcmp(from.word, "--use-flash-attn-v1") == 0;
    ty_draft_set(m->draft, "model.attention", &from, "%s",
                 first    ? "flash1"
                 : fused  ? "flash2"
                 : masked ? "fused-softmax"
                          : "unfused");
}

/* ---- positions ---- */

/* A table of positions has as many rows as --max-position-embeddings, whatever is read. */
static void import_positions(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *type = ty_flags_text(f, "--position-embedding-type", "learned_absolute");
    struct ty_draft_from from = ty_flags_from(f, "--position-embedding-type", RULE);
    if (ty_flags_has(f, "--use-rotary-position-embeddings")) {
        from = ty_flags_from(f, "--use-rotary-position-embeddings", RULE);
        type = "rope";
    } else if (strcmp(type, "learned_absolute") == 0 &&
               ty_flags_has(f, "--no-position-embedding")) {
        from = ty_flags_from(f, "--no-position-embedding", RULE);
        type = "none";
    }
    if (strcmp(type, "learned_absolute") == 0 || strcmp(type, "absolute") == 0) {
        const struct ty_draft_fact *sequence = ty_draft_get(m->draft, "model.sequence");
        const char *rows = ty_flags_text(f, "--max-position-embeddings",
                                         sequence != NULL ? sequence->value : "2048");
        from = ty_flags_from(f, "--max-position-embeddings", RULE);
        ty_draft_set(m->draft, "model.positions", &from, "%s", rows);
        return;
    }
    ty_draft_set(m->draft, "model.positions", &from, "none");
    if (strcmp(type, "alibi") == 0) {
        ty_draft_set(m->draft, "model.rotary", &from, "0");
        ty_draft_set(m->draft, "model.full_attention", &from, "true");
        ty_draft_explain(m->draft, "model.full_attention", "ALiBi: flash kernels cannot skip");
    } else if (strcmp(type, "none") == 0 || strcmp(type, "relative") == 0) {
        ty_draft_set(m->draft, "model.rotary", &from, "0");
    } else if (ty_flags_has(f, "--rotary-percent")) {
        const struct ty_draft_from share = ty_flags_from(f, "--rotary-percent", RULE);
        ty_draft_set(m->draft, "model.rotary", &share, "%g",
                     ty_flags_real(f, "--rotary-percent", 1));
    }
}

/* ---- the MLP ---- */

static void import_mlp(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *glu = ty_flags_text(f, "--glu-activation", NULL);
    const char *gate = glu != NULL                        ? "--glu-activation"
                       : ty_flags_has(f, "--swiglu")      ? "--swiglu"
                       : ty_flags_has(f, "--quick-geglu") ? "--quick-geglu"
                                                          : NULL;
    const uint32_t hidden = ty_draft_count(m->draft, "model.hidden", 0);
    struct ty_draft_from from = ty_flags_from(f, gate != NULL ? gate : "--squared-relu", RULE);
    ty_draft_set(m->draft, "model.mlp", &from, gate != NULL ? "swiglu" : "gelu");
    if (gate == NULL && ty_flags_has(f, "--squared-relu")) {
        ty_draft_explain(m->draft, "model.mlp", "two matrices, as with a GELU");
    } else if (gate != NULL && strcmp(gate, "--swiglu") != 0) {
        ty_draft_explain(m->draft, "model.mlp", "gated, whatever the activation");
    }
    if (ty_flags_has(f, "--ffn-hidden-size")) {
        ty_flags_set_count(f, "--ffn-hidden-size", "model.ffn");
    } else if (gate == NULL) {
        ty_draft_set(m->draft, "model.ffn", &from, "%llu", 4ull * hidden);
        ty_draft_explain(m->draft, "model.ffn", "4 --hidden-size");
    } else { /* two thirds of it, in whole 64s, of --swiglu alone */
        const bool cut = strcmp(gate, "--swiglu") == 0;
        ty_draft_set(m->draft, "model.ffn", &from, "%llu",
                     cut ? (unsigned long long)(hidden * 8.0 / 3 / 64) * 64 : 4ull * hidden);
        ty_draft_explain(m->draft, "model.ffn",
                         cut ? "int(8 --hidden-size / 3 / 64) 64" : "4 --hidden-size");
    }
}

/* ---- norms, biases, types ---- */

static void import_norms(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *kind = ty_flags_text(f, "--normalization", "LayerNorm");
    const struct ty_draft_from from = ty_flags_from(f, "--normalization", RULE);
    ty_draft_set(m->draft, "model.norm_kind", &from, "%s",
                 strcasecmp(kind, "RMSNorm") == 0 ? "rmsnorm" : "layernorm");
    if (ty_flags_has(f, "--embed-layernorm")) {
        const struct ty_draft_from norm = ty_flags_from(f, "--embed-layernorm", RULE);
        ty_draft_set(m->draft, "model.embedding_norm", &norm, "true");
    }
}

static void import_biases(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const bool none = ty_flags_has(f, "--disable-bias-linear");
    const bool qkv = none && ty_flags_has(f, "--add-qkv-bias");
    const struct ty_draft_from from =
        ty_flags_from(f, qkv ? "--add-qkv-bias" : "--disable-bias-linear", RULE);
    ty_draft_set(m->draft, "model.bias", &from, qkv ? "qkv" : none ? "false" : "true");
    const bool untied = ty_flags_has(f, "--untie-embeddings-and-output-weights");
    const struct ty_draft_from tied =
        ty_flags_from(f, "--untie-embeddings-and-output-weights", RULE);
    ty_draft_set(m->draft, "model.tied", &tied, untied ? "false" : "true");
}

static void import_dropout(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const double hidden = ty_flags_real(f, "--hidden-dropout", 0.1);
    const double attention = ty_flags_real(f, "--attention-dropout", 0.1);
    const struct ty_draft_from from = ty_flags_from(f, "--hidden-dropout", RULE);
    ty_draft_set(m->draft, "model.dropout", &from, "%g", hidden);
    if (hidden != attention) {
        const struct ty_draft_from other = ty_flags_from(f, "--attention-dropout", RULE);
        ty_draft_remark(m->draft, &other, "%g: one dropout is for all; it is --hidden-dropout's",
                        attention);
    }
}

static void import_types(struct ty_megatron *m)
{
    static const char *const fp8[] = {"--fp8-format", "--fp8-hybrid", "--fp8-e4m3"};
    struct ty_flags *f = &m->flags;
    const char *flag = ty_flags_has(f, "--bf16") ? "--bf16" : "--fp16";
    const char *type = ty_flags_has(f, "--bf16")   ? "bf16"
                       : ty_flags_has(f, "--fp16") ? "fp16"
                                                   : "fp32";
    for (size_t i = 0; i < TY_COUNT(fp8); i++) {
        if (ty_flags_has(f, fp8[i])) {
            flag = fp8[i];
            type = "fp8";
        }
    }
    if (ty_draft_get(m->draft, "model.dtype") == NULL || ty_flags_find(f, flag) != NULL) {
        const struct ty_draft_from from = ty_flags_from(f, flag, RULE);
        ty_draft_set(m->draft, "model.dtype", &from, "%s", type);
    }
}

/* "(W, 0)" or "W 0": W tokens to the left, beside a token's own. */
static void import_window(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *window = ty_flags_text(f, "--window-size", NULL);
    uint32_t left = 0;
    if (window == NULL) {
        return;
    }
    const struct ty_draft_from from = ty_flags_from(f, "--window-size", RULE);
    window += strcspn(window, "0123456789");
    if (!ty_scan_number(&window, NULL, 100000000, &left)) {
        ty_draft_refuse(m->draft, &from, "'%s' is no pair of whole numbers, such as 4096,0",
                        ty_flags_text(f, "--window-size", ""));
        return;
    }
    ty_draft_set(m->draft, "model.window", &from, "%u", (unsigned)left + 1);
    const char *skip = ty_flags_text(f, "--window-attn-skip-freq", NULL);
    if (skip != NULL) {
        const struct ty_draft_from freq = ty_flags_from(f, "--window-attn-skip-freq", RULE);
        ty_draft_set(m->draft, "model.window_period", &freq, "%s", skip);
    }
}

void ty_megatron_model(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    required(m, "--num-layers", "model.layers");
    required(m, "--hidden-size", "model.hidden");
    required(m, "--num-attention-heads", "model.heads");
    required(m,
             ty_flags_find(f, "--encoder-seq-length") != NULL ? "--encoder-seq-length"
                                                              : "--seq-length",
             "model.sequence");
    import_heads(m);
    import_kernels(m);
    import_positions(m);
    import_mlp(m);
    import_norms(m);
    import_biases(m);
    import_dropout(m);
    import_types(m);
    import_window(m);
}
