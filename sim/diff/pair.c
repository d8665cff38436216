/* pair.c - what differs between two sides, sorted, and what to know before reading it
 * (remarks.c). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/diff/diff.h"

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
    int rc = ty_diff_keys(pair, arena, err);
    if (rc < 0) {
        return rc;
    }
    add_parts(pair);
    if (ty_diff_remarks(pair, arena) < 0 || add_kinds(pair, arena) < 0) {
        return ty_fail_memory(err);
    }
    return 0;
}
