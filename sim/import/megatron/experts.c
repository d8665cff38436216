/* experts.c - experts: Megatron-LM's flags, DeepSpeed's (--topk, --expert-interval) and
 * megablocks' (--moe-num-experts, --moe-top-k). */
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/import/megatron/megatron.h"

#define RULE       "default of Megatron-LM"
#define LAYERS_MAX 10000u

/* ---- which layers ---- */

/* Python's lists of 0 and 1: ([0]*3+[1]*58), [1, 0] * 12, with brackets inside each other. `at` is
 * behind what was read. Appends to is[*n]; false: it is none of these. */
static bool read_sum(const char **at, char *is, uint32_t *n, int depth);

static void skip(const char **at)
{
    *at += strspn(*at, " \t");
}

static bool read_list(const char **at, char *is, uint32_t *n)
{
    for (++*at;;) {
        skip(at);
        if ((**at != '0' && **at != '1') || *n == LAYERS_MAX) {
            return false;
        }
        is[(*n)++] = **at == '1';
        ++*at;
        skip(at);
        if (**at == ']') {
            ++*at;
            return true;
        }
        if (*(*at)++ != ',') {
            return false;
        }
    }
}

static bool repeat(char *is, uint32_t *n, uint32_t begin, uint32_t times)
{
    const uint32_t each = *n - begin;
    if ((uint64_t)begin + (uint64_t)each * times > LAYERS_MAX) {
        return false;
    }
    for (uint32_t i = 1; i < times; i++) {
        memcpy(is + begin + i * each, is + begin, each);
    }
    *n = begin + each * times;
    return true;
}

static bool read_product(const char **at, char *is, uint32_t *n, int depth)
{
    const uint32_t begin = *n;
    bool good = false;
    skip(at);
    if (**at == '[') {
        good = read_list(at, is, n);
    } else if (**at == '(' && depth < 8) {
        ++*at;
        good = read_sum(at, is, n, depth + 1);
        skip(at);
        good = good && *(*at)++ == ')';
    }
    while (good) {
        uint32_t times;
        skip(at);
        if (**at != '*') {
            break;
        }
        ++*at;
        skip(at);
        good = ty_scan_number(at, NULL, LAYERS_MAX, &times) && repeat(is, n, begin, times);
    }
    return good;
}

static bool read_sum(const char **at, char *is, uint32_t *n, int depth)
{
    for (;;) {
        if (!read_product(at, is, n, depth)) {
            return false;
        }
        skip(at);
        if (**at != '+') {
            return true;
        }
        ++*at;
    }
}

/* A list with the layers that have experts: dense ones may come first, or be scattered. */
static void set_layers(struct ty_megatron *m, const struct ty_draft_from *from, const char *is,
                       uint32_t n)
{
    const uint32_t layers = ty_draft_count(m->draft, "model.layers", 0);
    uint32_t first = 0;
    while (first < n && !is[first]) {
        first++;
    }
    if (n != layers) {
        ty_draft_refuse(m->draft, from, "it says something of %u layers; there are %u", (unsigned)n,
                        (unsigned)layers);
        return;
    }
    const char *rest = "";
    for (uint32_t i = first; i < n; i++) {
        if (!is[i]) {
            rest =
                ty_draft_text(m->draft, "%s%s%u", rest, rest[0] != '\0' ? ", " : "", (unsigned)i);
        }
    }
    if (first > 0) {
        ty_draft_set(m->draft, "model.dense_layers", from, "%u", (unsigned)first);
    }
    if (rest[0] != '\0') {
        ty_draft_set(m->draft, "model.mlp_layers", from, "[%s]", rest);
    }
}

/* Every n-th layer has experts: Megatron-LM counts from the first one, DeepSpeed's fork to the
 * n-th. */
static void every(struct ty_megatron *m, const struct ty_draft_from *from, uint32_t period,
                  uint32_t begin)
{
    const uint32_t layers = ty_draft_count(m->draft, "model.layers", 0);
    char is[LAYERS_MAX];
    if (period == 0 || layers > LAYERS_MAX) {
        ty_draft_refuse(m->draft, from, "0 is no distance of layers; write 1 or more");
        return;
    }
    for (uint32_t i = 0; i < layers; i++) {
        is[i] = i % period == begin;
    }
    set_layers(m, from, is, layers);
}

static void import_layers(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *freq = ty_flags_text(f, "--moe-layer-freq", NULL);
    if (m->deepspeed) {
        const struct ty_draft_from from =
            ty_flags_from(f, "--expert-interval", "--expert-interval");
        const uint32_t interval = ty_flags_count(f, "--expert-interval", 2);
        every(m, &from, interval, interval > 0 ? interval - 1 : 0);
    } else if (freq != NULL) {
        const struct ty_draft_from from = ty_flags_from(f, "--moe-layer-freq", RULE);
        const char *at = freq;
        char is[LAYERS_MAX];
        uint32_t n = 0;
        if (ty_scan_number(&at, NULL, LAYERS_MAX, &n) && *at == '\0') {
            every(m, &from, n, 0);
            return;
        }
        at = freq;
        n = 0;
        const bool good = read_sum(&at, is, &n, 0);
        skip(&at);
        if (!good || *at != '\0') {
            ty_draft_refuse(m->draft, &from,
                            "'%s' is neither a whole number nor a sum of lists of 0 and 1, such as "
                            "([0]*3+[1]*58)",
                            freq);
            return;
        }
        set_layers(m, &from, is, n);
    }
}

/* ---- experts and how tokens get there ---- */

static void import_router(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *topk = m->deepspeed                     ? "--topk"
                       : ty_flags_has(f, "--moe-top-k") ? "--moe-top-k"
                                                        : "--moe-router-topk";
    const bool one = m->deepspeed || ty_flags_has(f, "--moe-num-experts");
    const struct ty_draft_from from =
        ty_flags_from(f, topk, m->deepspeed ? "default of Megatron-DeepSpeed" : RULE);
    ty_draft_set(m->draft, "model.experts_per_token", &from, "%u",
                 (unsigned)ty_flags_count(f, topk, one ? 1 : 2));
    if (ty_flags_has(f, "--moe-router-enable-expert-bias")) {
        const struct ty_draft_from bias = ty_flags_from(f, "--moe-router-enable-expert-bias", RULE);
        ty_draft_set(m->draft, "model.router_bias", &bias, "true");
    }
    ty_flags_set_count(f, "--moe-router-num-groups", "model.expert_groups");
    ty_flags_set_count(f, "--moe-router-group-topk", "model.group_limit");
}

static void import_dispatcher(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *type = ty_flags_text(
        f, "--moe-token-dispatcher-type",
        m->deepspeed || ty_flags_has(f, "--moe-num-experts") ? "alltoall" : "allgather");
    const char *backend = ty_flags_text(f, "--moe-flex-dispatcher-backend", "deepep");
    const struct ty_draft_from from = ty_flags_from(f, "--moe-token-dispatcher-type", RULE);
    const bool flex = strcmp(type, "flex") == 0 || ty_flags_has(f, "--moe-enable-deepep");
    ty_draft_set(m->draft, "framework.dispatcher", &from, "%s",
                 flex                             ? backend
                 : strcmp(type, "allgather") == 0 ? "allgather"
                                                  : "alltoall");
}

static void import_capacity(struct ty_megatron *m)
{
    static const char *const names[] = {"--moe-expert-capacity-factor",
                                        "--moe-train-capacity-factor", "--moe-capacity-factor"};
    struct ty_flags *f = &m->flags;
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const double factor = ty_flags_real(f, names[i], 0);
        if (factor > 0) {
            const struct ty_draft_from from = ty_flags_from(f, names[i], RULE);
            ty_draft_set(m->draft, "framework.capacity", &from, "%g", factor);
        }
    }
    const bool drops = !ty_flags_has(f, "--disable-moe-token-dropping");
    if (m->deepspeed && drops) { /* its buffers have a place for every row of the capacity */
        const struct ty_draft_from from = {.word = "default of Megatron-DeepSpeed"};
        if (ty_draft_get(m->draft, "framework.capacity") == NULL) {
            ty_draft_set(m->draft, "framework.capacity", &from, "1");
        }
        ty_draft_set(m->draft, "framework.pad_to_capacity", &from, "true");
    }
    if (ty_flags_has(f, "--moe-pad-expert-input-to-capacity")) {
        const struct ty_draft_from from =
            ty_flags_from(f, "--moe-pad-expert-input-to-capacity", RULE);
        ty_draft_set(m->draft, "framework.pad_to_capacity", &from, "true");
    }
}

static void import_products(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const struct ty_draft_from grouped = ty_flags_from(f, "--moe-grouped-gemm", RULE);
    const struct ty_draft_from permute = ty_flags_from(f, "--moe-permute-fusion", RULE);
    if (!m->deepspeed) {
        ty_draft_set(m->draft, "framework.fused_experts", &grouped, "%s",
                     ty_flags_has(f, "--moe-grouped-gemm") ? "true" : "false");
        ty_draft_set(m->draft, "framework.fused_permute", &permute, "%s",
                     ty_flags_has(f, "--moe-permute-fusion") ? "true" : "false");
    }
}

void ty_megatron_experts(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *count =
        ty_flags_has(f, "--moe-num-experts") ? "--moe-num-experts" : "--num-experts";
    if (!ty_flags_has(f, count) || ty_flags_count(f, count, 0) == 0 ||
        (m->deepspeed && ty_flags_count(f, count, 0) == 1)) { /* a list there, [1]: an MLP */
        return;
    }
    ty_flags_set_count(f, count, "model.experts");
    import_router(m);
    if (ty_flags_has(f, "--moe-ffn-hidden-size")) {
        ty_flags_set_count(f, "--moe-ffn-hidden-size", "model.expert_ffn");
    }
    ty_flags_set_count(f, "--moe-shared-expert-intermediate-size", "model.shared_ffn");
    import_layers(m);
    import_dispatcher(m);
    import_capacity(m);
    import_products(m);
    if (ty_flags_text(f, "--mlp-type", NULL) != NULL &&
        strcmp(ty_flags_text(f, "--mlp-type", ""), "residual") == 0) {
        const struct ty_draft_from from = ty_flags_from(f, "--mlp-type", RULE);
        ty_draft_set(m->draft, "model.shared_ffn", &from, "%s",
                     ty_draft_get(m->draft, "model.ffn")->value);
        ty_draft_explain(m->draft, "model.shared_ffn", "the MLP beside the experts");
        ty_draft_remark(m->draft, &from, "the weights that mix the two are not counted");
    }
}
