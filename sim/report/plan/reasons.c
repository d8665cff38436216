/* reasons.c - what a plan's answer says of its best layout: why the second loses, what the first is
 * bound by and how little memory it leaves, what other stages than equal ones would bring. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/words.h"
#include "sim/plan/search/row_text.h"
#include "sim/report/plan/plan.h"
#include "sim/run/bill.h"

#define CELL          64u
#define REASONS_SHOWN 4u
#define REASON_LEAST  0.02 /* of the largest */

/* ---- why ---- */

/* Where a step goes. A pipeline's idle time is one: layouts trade its kinds for each other. */
struct part {
    const char *name;
    double s;
};

static uint32_t read_parts(const double bucket_s[TY_N_BUCKETS], struct part part[TY_N_BUCKETS])
{
    double bubble_s = 0;
    uint32_t n = 0;
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        if (b == TY_BUCKET_BUBBLE_FILL || b == TY_BUCKET_BUBBLE_STALL ||
            b == TY_BUCKET_BUBBLE_DRAIN) {
            bubble_s += bucket_s[b];
        } else {
            part[n++] = (struct part){ty_transformer_words.buckets[b].name, bucket_s[b]};
        }
    }
    part[n++] = (struct part){"bubble", bubble_s};
    return n;
}

/* Largest first. */
static int by_length(const void *a, const void *b)
{
    const double x = fabs(((const struct part *)a)->s), y = fabs(((const struct part *)b)->s);
    return (x < y) - (x > y);
}

static void put_signed(struct ty_text *t, double s)
{
    char words[CELL];
    ty_text_add(t, "%s%s", s < 0 ? "-" : "+", ty_words_seconds(fabs(s), words, sizeof(words)));
}

/* The parts of a step in which two differ most, and what is left to their sum. */
static void put_differences(struct ty_text *t, const double *a, const double *b)
{
    double difference_s[TY_N_BUCKETS], rest_s = 0;
    struct part part[TY_N_BUCKETS];
    for (uint32_t k = 0; k < TY_N_BUCKETS; k++) {
        difference_s[k] = b[k] - a[k];
    }
    const uint32_t n = read_parts(difference_s, part);
    qsort(part, n, sizeof(part[0]), by_length);
    for (uint32_t i = 0; i < n; i++) {
        if (i < REASONS_SHOWN && fabs(part[i].s) > REASON_LEAST * fabs(part[0].s)) {
            ty_text_add(t, "%s%s ", i > 0 ? ", " : "", part[i].name);
            put_signed(t, part[i].s);
        } else {
            rest_s += part[i].s;
        }
    }
    if (fabs(rest_s) > REASON_LEAST * fabs(part[0].s)) {
        ty_text_add(t, ", the rest ");
        put_signed(t, rest_s);
    }
}

/* Why b does not stand before a, which is better by the objective. */
static void put_against(struct ty_text *t, const struct ty_plan_answer *answer,
                        const struct ty_plan_row *a, const struct ty_plan_row *b)
{
    const bool by_memory = answer->objective == TY_PLAN_MEMORY;
    const double more_B = b->peak_B - a->peak_B;
    char words[CELL], share[CELL];
    ty_text_add(t, "row %u against row %u: ", (unsigned)b->row + 1, (unsigned)a->row + 1);
    ty_words_bytes(fabs(more_B), words, sizeof(words));
    if (b->step_s == a->step_s && more_B == 0) {
        ty_text_add(t, "as fast to the picosecond with as much memory; the earlier row stands "
                       "first\n");
        return;
    }
    if (by_memory) {
        ty_words_share(b->peak_B / a->peak_B - 1, share, sizeof(share));
        ty_text_add(t, more_B == 0 ? "as much memory, " : "%s more of memory (%s), ", words, share);
    }
    if (b->step_s == a->step_s) {
        ty_text_add(t,
                    by_memory ? "as fast to the picosecond\n"
                              : "as fast to the picosecond, with %s more of memory\n",
                    words);
        return;
    }
    put_signed(t, b->step_s - a->step_s);
    ty_words_share(fabs(b->step_s / a->step_s - 1), share, sizeof(share));
    ty_text_add(t, " a step (%s): ", share);
    put_differences(t, a->bucket_s, b->bucket_s);
    ty_text_add(t, "\n");
}

/* Why the second stands second; where that is a draw, also why the first behind it does. */
static void put_second(struct ty_text *t, const struct ty_plan_answer *answer)
{
    const struct ty_plan_result *r = &answer->result[answer->best];
    const struct ty_plan_row *first = &r->row[0];
    uint32_t i = 1;
    if (r->n_rows > 1) {
        put_against(t, answer, first, &r->row[1]);
    }
    while (i < r->n_rows && r->row[i].step_s == first->step_s) {
        i++;
    }
    if (i > 1 && i < r->n_rows) {
        put_against(t, answer, first, &r->row[i]);
    }
}

static void put_binding(struct ty_text *t, const struct ty_plan_row *row)
{
    char has[CELL], of[CELL], share[CELL], words[CELL];
    struct part part[TY_N_BUCKETS];
    const uint32_t n = read_parts(row->bucket_s, part);
    qsort(part, n, sizeof(part[0]), by_length);
    const struct part *most = part; /* computing is what it is for */
    while (strncmp(most->name, "compute", 7) == 0) {
        most++;
    }
    ty_words_seconds(most->s, words, sizeof(words));
    ty_words_share(most->s / row->step_s, share, sizeof(share));
    ty_words_bytes(row->peak_B, has, sizeof(has));
    ty_words_bytes(row->capacity_B, of, sizeof(of));
    ty_text_add(t,
                "row %u is bound by %s (%s, %s of the step) beside computation; memory: stage "
                "%u has %s of %s\n",
                (unsigned)row->row + 1, most->name, words, share, (unsigned)row->stage, has, of);
}

/* That the first may fail for want of memory, and what is the fastest that is clear of the limit:
 * as no other is as fast with as little memory, it is of the Pareto set. */
static void put_tight(struct ty_text *t, const struct ty_plan_result *r)
{
    const struct ty_plan_row *row = &r->row[0], *clear = NULL;
    char share[CELL], more[CELL], words[CELL], has[CELL];
    if (ty_memory_verdict(row->peak_B, row->capacity_B) != TY_VERDICT_TIGHT) {
        return;
    }
    for (uint32_t i = 0; i < r->n_pareto && clear == NULL; i++) {
        const struct ty_plan_row *next = &r->pareto[i];
        clear = ty_memory_verdict(next->peak_B, next->capacity_B) == TY_VERDICT_FITS ? next : NULL;
    }
    ty_words_share(1 - row->peak_B / row->capacity_B, share, sizeof(share));
    ty_text_add(t, "row %u is TIGHT: %s of the memory is free, below %.0f %% it may fail; ",
                (unsigned)row->row + 1, share, 100 * TY_FITS_TIGHT);
    if (clear == NULL) {
        ty_text_add(t, "no layout below has more\n");
        return;
    }
    ty_words_seconds(clear->step_s - row->step_s, words, sizeof(words));
    ty_words_share(clear->step_s / row->step_s - 1, more, sizeof(more));
    ty_words_bytes(clear->peak_B, has, sizeof(has));
    ty_text_add(t, "the fastest with more is row %u: +%s a step (%s), %s\n",
                (unsigned)clear->row + 1, words, more, has);
}

/* ---- unequal stages ---- */

/* What was found by dealing layers anew, as keys of a run file. */
static void put_uneven(struct ty_text *t, const struct ty_plan_answer *a)
{
    const struct ty_plan_uneven *u = &a->uneven;
    const struct ty_plan_result *r = &a->result[a->best];
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE], has[CELL], of[CELL], share[CELL];
    ty_text_add(
        t,
        "\nunequal stages: %u layout%s dealt anew (exact where costs add up, then simulated; "
        "not of the space above): ",
        (unsigned)u->dealt, u->dealt == 1 ? "" : "s");
    if (!u->found) {
        ty_text_add(t, "none is faster\n");
        return;
    }
    ty_text_add(t, "%s, %s less, %s of %s\n ",
                ty_words_seconds(u->stages.step_s, value, sizeof(value)),
                ty_words_share(1 - u->stages.step_s / r->row[0].step_s, share, sizeof(share)),
                ty_words_bytes(u->stages.peak_B, has, sizeof(has)),
                ty_words_bytes(u->stages.capacity_B, of, sizeof(of)));
    for (uint32_t k = 0; k < TY_PLAN_N_KEYS; k++) {
        const bool experts = k == TY_PLAN_EXPERT || k == TY_PLAN_EXPERT_TENSOR;
        const bool told = ty_plan_key_is_told(&r->space, k);
        if (told && !ty_plan_uneven_replaces(u, &r->space, k) &&
            (!experts || ty_arch_is_moe(&r->base->arch))) {
            ty_text_add(t, " %s %s,", ty_plan_key_short(k, name),
                        ty_plan_key_value(&r->space, &r->space.point[u->point], k, value));
        }
    }
    for (uint32_t i = 0; i < u->n_keys; i++) {
        ty_text_add(t, "%s %s %s", i > 0 ? "," : "", u->key[i].name + strlen("layout."),
                    u->key[i].value);
    }
    ty_text_add(t, "\n");
}

void ty_plan_reasons(const struct ty_plan_answer *a, struct ty_text *t)
{
    const struct ty_plan_result *best = &a->result[a->best];
    put_second(t, a);
    put_binding(t, &best->row[0]);
    put_tight(t, best);
    if (a->uneven.dealt > 0) {
        put_uneven(t, a);
    }
}
