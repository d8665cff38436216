/* pair.c - what differs between two sides, sorted, and what to know before reading
 * it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/words.h"
#include "sim/config/stack.h"
#include "sim/diff/diff.h"

/* Kept in the arena; NULL: no memory. */
static const char *value_of(const struct ty_section *section, const struct ty_field *field,
                            struct ty_arena *arena)
{
    char value[TY_CONFIG_VALUE];
    const bool unset = section->origins[field - section->fields].kind == TY_ORIGIN_UNSET &&
                       !field->blank && ty_field_is_blank(section, field);
    const char *text = unset ? "-" : ty_field_format(section, field, value, sizeof(value));
    return ty_arena_strndup(arena, text, strlen(text));
}

static bool given(const struct ty_section *section, const struct ty_field *field)
{
    const enum ty_origin_kind kind = ty_field_origin(section, field)->kind;
    return kind == TY_ORIGIN_FILE || kind == TY_ORIGIN_COMMAND;
}

/* A row when the values differ, but for a title that nobody gave: what it follows from has one. */
static int compare_field(struct ty_diff_pair *pair, const struct ty_section *a,
                         const struct ty_section *b, uint32_t k, struct ty_arena *arena)
{
    const struct ty_field *field = &a->fields[k];
    struct ty_diff_key key = {.a = value_of(a, field, arena),
                              .b = value_of(b, &b->fields[k], arena),
                              .given = given(a, field) || given(b, &b->fields[k])};
    if (key.a == NULL || key.b == NULL) {
        return TY_ENOMEM;
    }
    const bool title =
        field->type == TY_TYPE_STRING && strcmp(field->key, "name") == 0 && !key.given;
    if (strcmp(key.a, key.b) == 0 || title) {
        return 0;
    }
    key.key = ty_arena_printf(arena, "%s.%s", a->name, field->key);
    pair->key[pair->n_keys++] = key;
    pair->n_given += key.given;
    return key.key != NULL ? 0 : TY_ENOMEM;
}

/* Given ones first; else in the order of the tables, which is that of their places. */
static void order_keys(struct ty_diff_pair *pair, struct ty_diff_key *scratch)
{
    uint32_t n = 0;
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < pair->n_keys; i++) {
            if (pair->key[i].given == (round == 0)) {
                scratch[n++] = pair->key[i];
            }
        }
    }
    pair->key = scratch;
}

/* keys.c: the keys of two configurations that differ, but for output; measured runs have
 * none. */
static int diff_keys(struct ty_diff_pair *pair, struct ty_arena *arena, struct ty_err *err)
{
    if (pair->a->from->run == NULL || pair->b->from->run == NULL) {
        return 0;
    }
    const struct ty_config *a = pair->a->from->run->config, *b = pair->b->from->run->config;
    uint32_t n = 0;
    int rc = 0;
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        n += a->sections[i].n_fields;
    }
    struct ty_diff_key *scratch = ty_arena_array(arena, struct ty_diff_key, (size_t)n + 1);
    pair->key = ty_arena_array(arena, struct ty_diff_key, (size_t)n + 1);
    if (pair->key == NULL || scratch == NULL) {
        return ty_fail_memory(err);
    }
    for (int i = 0; i < TY_N_SECTIONS && rc == 0; i++) {
        for (uint32_t k = 0;
             ty_config_matters((enum ty_section_index)i) && k < a->sections[i].n_fields && rc == 0;
             k++) {
            rc = compare_field(pair, &a->sections[i], &b->sections[i], k, arena);
        }
    }
    order_keys(pair, scratch);
    return rc == 0 ? 0 : ty_fail_memory(err);
}

/* ---- remarks ---- */

static void remark(struct ty_diff_pair *pair, const char *text, int *rc)
{
    *rc = text == NULL ? TY_ENOMEM : *rc;
    if (text != NULL && pair->n_remarks < TY_COUNT(pair->remark)) {
        pair->remark[pair->n_remarks++] = text;
    }
}

static bool model_differs(const struct ty_diff_pair *pair)
{
    static const char *const shape[] = {"layers",       "hidden",
                                        "heads",        "kv_heads",
                                        "head_dim",     "ffn",
                                        "vocabulary",   "sequence",
                                        "mlp",          "tied",
                                        "bias",         "qk_norm",
                                        "experts",      "experts_per_token",
                                        "expert_ffn",   "shared_ffn",
                                        "dense_layers", "query_latent",
                                        "kv_latent",    "head_rope",
                                        "head_value",   "mtp",
                                        "head_bias",    "norms",
                                        "norm_kind",    "embedding_norm",
                                        "mlp_layers",   "qk_norm_kind",
                                        "full_layers"};
    for (uint32_t i = 0; i < pair->n_keys; i++) {
        for (size_t k = 0; k < TY_COUNT(shape); k++) {
            if (strncmp(pair->key[i].key, "model.", 6) == 0 &&
                strcmp(pair->key[i].key + 6, shape[k]) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The work of a step, and who does it. */
static void remark_work(struct ty_diff_pair *pair, struct ty_arena *arena, int *rc)
{
    const struct ty_diff_side *a = pair->a, *b = pair->b;
    char x[64], y[64];
    if (model_differs(pair)) {
        remark(pair, "the models differ: a step is not the same work", rc);
    }
    if (a->tokens < b->tokens || a->tokens > b->tokens) {
        remark(pair,
               ty_arena_printf(arena, "a step of %c has %s tokens, one of %c %s: compare tokens/s",
                               a->letter, ty_words_count(a->tokens, x, sizeof(x)), b->letter,
                               ty_words_count(b->tokens, y, sizeof(y))),
               rc);
    }
    if (a->n_gpus != b->n_gpus) {
        remark(pair,
               ty_arena_printf(arena, "%c has %u GPUs, %c %u: all times are means over GPUs",
                               a->letter, (unsigned)a->n_gpus, b->letter, (unsigned)b->n_gpus),
               rc);
    }
}

/* What of exposed_expert is nobody's transfer. */
static void remark_experts(struct ty_diff_pair *pair, struct ty_arena *arena, int *rc)
{
    const struct ty_diff_side *a = pair->a, *b = pair->b;
    char x[64], y[64];
    if (a->expert_wait_s <= 0 && b->expert_wait_s <= 0) {
        return;
    }
    remark(pair,
           ty_arena_printf(arena,
                           "of exposed_expert %s of %c and %s of %c are waiting for the expert "
                           "rank with most rows, the rest is transfer",
                           ty_words_seconds(a->expert_wait_s, x, sizeof(x)), a->letter,
                           ty_words_seconds(b->expert_wait_s, y, sizeof(y)), b->letter),
           rc);
}

/* ---- measured next to simulated ---- */

/* Whose work a profile is taken to do, or cannot have done. */
static void remark_work_of(struct ty_diff_pair *pair, const struct ty_diff_side *side,
                           struct ty_arena *arena, int *rc)
{
    char text[64];
    if (side->assumed != 0) {
        remark(pair,
               ty_arena_printf(arena,
                               "%c is assumed to train the same model as %c: tokens/s and MFU "
                               "follow from it",
                               side->letter, side->assumed),
               rc);
    } else if (side->unlike != 0 && side->unlike_flops > 1) {
        remark(pair,
               ty_arena_printf(arena,
                               "%c does not train what %c does: its GEMMs alone are %s of the "
                               "FLOPs of a step of %c, so its tokens/s and MFU are not known",
                               side->letter, side->unlike,
                               ty_words_share(side->unlike_flops, text, sizeof(text)),
                               side->unlike),
               rc);
    } else if (side->unlike != 0) {
        remark(pair,
               ty_arena_printf(arena,
                               "%c does not train what %c does: its MFU would be %s, so its "
                               "tokens/s and MFU are not known; compare with its own model",
                               side->letter, side->unlike,
                               ty_words_share(side->unlike_mfu, text, sizeof(text))),
               rc);
    }
}

static void remark_recording(struct ty_diff_pair *pair, const struct ty_diff_side *side,
                             struct ty_arena *arena, int *rc)
{
    const struct ty_recording *r = side->from->recording;
    const double unphased = r->computed_s > 0 ? r->unphased_s / r->computed_s : 0;
    char text[64];
    remark_work_of(pair, side, arena, rc);
    if (!r->marked) {
        const struct ty_diff_side *other = side == pair->a ? pair->b : pair->a;
        char several[160] = "";
        if (other->n_steps > 1) {
            snprintf(several, sizeof(several),
                     ", while %c has %u; if it recorded as many, its step time is that many times "
                     "too long",
                     other->letter, (unsigned)other->n_steps);
        }
        remark(pair,
               ty_arena_printf(arena, "no step is marked in %c: all of it is taken as one%s",
                               side->letter, several),
               rc);
    }
    if (r->marked && r->n_unmarked > 0) {
        remark(pair,
               ty_arena_printf(
                   arena, "in %c %u of %u ranks %s no step marked: nothing of %s is counted",
                   side->letter, (unsigned)r->n_unmarked, (unsigned)r->n_ranks,
                   r->n_unmarked == 1 ? "has" : "have", r->n_unmarked == 1 ? "it" : "them"),
               rc);
    }
    if (r->n_cut_steps > 0) {
        remark(pair,
               ty_arena_printf(arena,
                               "in %c %u steps (over all ranks) are not whole: --window or --steps "
                               "cut them, or a deadlock; its step time is of what is there",
                               side->letter, (unsigned)r->n_cut_steps),
               rc);
    }
    if (!pair->lumped && unphased >= 0.01) {
        remark(pair,
               ty_arena_printf(arena, "of %s of the computation in %c the phase is not known",
                               ty_words_share(unphased, text, sizeof(text)), side->letter),
               rc);
    }
    if (r->group_unknown) {
        remark(pair,
               ty_arena_printf(arena,
                               "%c has groups whose names say nothing: they count as "
                               "data parallel",
                               side->letter),
               rc);
    }
    if (r->n_left_out > 0) {
        remark(pair,
               ty_arena_printf(arena,
                               "%llu kernels in %c run beside more than %u others and "
                               "are left out",
                               (unsigned long long)r->n_left_out, side->letter, TY_REPLAY_ROWS - 1),
               rc);
    }
}

static void remark_observed(struct ty_diff_pair *pair, struct ty_arena *arena, int *rc)
{
    const struct ty_diff_side *sides[] = {pair->a, pair->b};
    remark(pair,
           "idle time is attributed to what ran meanwhile, in both: a profile does not record what "
           "waited for what",
           rc);
    if (pair->lumped) {
        remark(pair, "no phases are known: forward, backward and the others are one part, compute",
               rc);
    }
    for (size_t i = 0; i < TY_COUNT(sides); i++) {
        if (sides[i]->from->recording != NULL) {
            remark_recording(pair, sides[i], arena, rc);
        } else if (sides[i]->counted != NULL) {
            remark(pair,
                   ty_arena_printf(arena,
                                   "%u of %u ranks were measured; all times are means "
                                   "over these",
                                   (unsigned)sides[i]->n_counted, (unsigned)sides[i]->n_gpus),
                   rc);
        }
    }
}

/* ---- simulated both ---- */

static void remark_runs(struct ty_diff_pair *pair, struct ty_arena *arena, int *rc)
{
    const struct ty_config *a = pair->a->from->run->config, *b = pair->b->from->run->config;
    const struct ty_diff_side *sides[] = {pair->a, pair->b};
    if (a->n_jobs > 0 || b->n_jobs > 0) {
        remark(pair, "other jobs share the cluster; all figures are of the run files' own", rc);
    }
    for (size_t i = 0; i < TY_COUNT(sides); i++) {
        if (!sides[i]->fits) {
            remark(pair,
                   ty_arena_printf(arena, "%c does not fit into the memory of its GPUs",
                                   sides[i]->letter),
                   rc);
        }
    }
    if (pair->n_keys == 0) {
        remark(pair,
               ty_config_digest(a) == ty_config_digest(b)
                   ? "no key differs: both are the same run"
                   : "no key differs, but what is in files that they name, or their other jobs",
               rc);
    }
}

/* One that nobody named, or two that differ, are told before the keys blame anything else. */
static void remark_stacks(struct ty_diff_pair *pair, struct ty_arena *arena, int *rc)
{
    const struct ty_diff_side *sides[] = {pair->a, pair->b};
    for (size_t i = 0; i < TY_COUNT(sides); i++) {
        const struct ty_config *c = sides[i]->from->run->config;
        if (ty_stack_by_layout(c)) {
            remark(pair,
                   ty_arena_printf(arena,
                                   "%c names no framework.preset: layout.zero %u makes it %s",
                                   sides[i]->letter, (unsigned)c->layout.zero, sides[i]->stack),
                   rc);
        }
    }
    if (strcmp(pair->a->stack, pair->b->stack) != 0) {
        remark(pair,
               ty_arena_printf(arena,
                               "the frameworks differ (%s, %s), which explains part of the "
                               "difference; --set framework.preset=%s is for both",
                               pair->a->stack, pair->b->stack, pair->a->stack),
               rc);
    }
}

/* remarks.c */
static int diff_remarks(struct ty_diff_pair *pair, struct ty_arena *arena)
{
    int rc = 0;
    remark_work(pair, arena, &rc);
    if (pair->observed) {
        remark_observed(pair, arena, &rc);
    }
    if (pair->a->from->run != NULL && pair->b->from->run != NULL) {
        remark_stacks(pair, arena, &rc);
        remark_runs(pair, arena, &rc);
        remark_experts(pair, arena, &rc);
    }
    return rc;
}

/* ---- pairs ---- */

/* ---- rows ---- */

static int order(double x, double y)
{
    return x > y ? -1 : x < y;
}

static int by_difference_of_parts(const void *a, const void *b)
{
    const struct ty_diff_part *x = a, *y = b;
    return order(fabs(x->b - x->a), fabs(y->b - y->a));
}

static int by_difference_of_kinds(const void *a, const void *b)
{
    const struct ty_diff_both *x = a, *y = b;
    const int far = order(fabs(x->b.seconds - x->a.seconds), fabs(y->b.seconds - y->a.seconds));
    return far != 0 ? far : ty_diff_kind_order(&x->a, &y->a);
}

static const char *part_name(const struct ty_diff_pair *pair, uint32_t bucket)
{
    if (pair->lumped && bucket == TY_BUCKET_COMPUTE_FORWARD) {
        return "compute";
    }
    return pair->observed && bucket == TY_BUCKET_BUBBLE_STALL
               ? "idle"
               : ty_transformer_words.buckets[bucket].name;
}

/* In the order of the list where differences are equal: qsort may not keep it. */
static void add_parts(struct ty_diff_pair *pair)
{
    for (uint32_t i = 0; i < TY_N_BUCKETS; i++) {
        const double a = pair->a->part_s[i], b = pair->b->part_s[i];
        if (a > 0 || b > 0) {
            const struct ty_diff_part part = {part_name(pair, i), a, b};
            uint32_t at = pair->n_parts++;
            while (at > 0 && by_difference_of_parts(&pair->part[at - 1], &part) > 0) {
                pair->part[at] = pair->part[at - 1];
                at--;
            }
            pair->part[at] = part;
        }
    }
}

/* The other side of a kind that only one has. */
static struct ty_diff_kind none_of(const struct ty_diff_kind *kind)
{
    struct ty_diff_kind none = *kind;
    none.count = none.seconds = 0;
    return none;
}

static int add_kinds(struct ty_diff_pair *pair, struct ty_arena *arena)
{
    const struct ty_diff_kind *a = pair->a->kind, *b = pair->b->kind;
    const struct ty_diff_kind *a_end = a + pair->a->n_kinds, *b_end = b + pair->b->n_kinds;
    pair->kind =
        ty_arena_array(arena, struct ty_diff_both, (size_t)pair->a->n_kinds + pair->b->n_kinds + 1);
    if (pair->kind == NULL) {
        return TY_ENOMEM;
    }
    while (a < a_end || b < b_end) {
        struct ty_diff_both *both = &pair->kind[pair->n_kinds++];
        const bool only_a = b == b_end || (a < a_end && ty_diff_kind_order(a, b) < 0);
        const bool only_b = a == a_end || (b < b_end && ty_diff_kind_order(a, b) > 0);
        both->a = only_b ? none_of(b) : *a;
        both->b = only_a ? none_of(a) : *b;
        a += !only_b;
        b += !only_a;
    }
    qsort(pair->kind, pair->n_kinds, sizeof(*pair->kind), by_difference_of_kinds);
    return 0;
}

int ty_diff_pair(struct ty_diff_pair *pair, struct ty_arena *arena, struct ty_err *err)
{
    int rc = diff_keys(pair, arena, err);
    if (rc < 0) {
        return rc;
    }
    add_parts(pair);
    if (diff_remarks(pair, arena) < 0 || add_kinds(pair, arena) < 0) {
        return ty_fail_memory(err);
    }
    return 0;
}
