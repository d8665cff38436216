/* remedy.c - what would make a plan fit.
 *
 * Changes (change.h) are planned alone, and in pairs where that is not enough. */
#include "sim/search/remedy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- changes ---- */

/* More of it only: less takes more memory. */
static bool recompute(struct ty_config *c, int to)
{
    return ty_change_recompute(c, (int)c->layout.recompute | to);
}

static bool shard(struct ty_config *c, int to)
{
    return c->layout.zero < (uint32_t)to && ty_change_zero(c, to);
}

/* Kernels that write the scores are the large ones. */
static bool flash_attention(struct ty_config *c, int to)
{
    return c->arch.attention < TY_ATTENTION_FLASH1 && ty_change_attention(c, to);
}

/* The schedule that holds least without splitting the backward. */
static bool one_forward_one_backward(struct ty_config *c, int to)
{
    int index = 0;
    (void)to;
    return c->schedule.custom == NULL && ty_word_value(ty_sched_words, "1f1b", &index) &&
           ty_change_schedule(c, index);
}

/* What changes, to what, and the key that says so. */
static const struct {
    ty_change_fn *make;
    int to;
    const char *key;
} changes[] = {
    {flash_attention, TY_ATTENTION_FLASH2, "model.attention"},
    {ty_change_norm, TY_FUSED, "model.norm"},
    {ty_change_fused_loss, true, "framework.fused_loss"},
    {recompute, TY_RECOMPUTE_CORE, "layout.recompute"},
    {recompute, TY_RECOMPUTE_FFN, "layout.recompute"},
    {recompute, TY_RECOMPUTE_FULL, "layout.recompute"},
    {shard, 1, "layout.zero"},
    {shard, 2, "layout.zero"},
    {shard, 3, "layout.zero"},
    {ty_change_sequence_parallel, true, "layout.sequence_parallel"},
    {ty_change_micro_batch, -2, "layout.micro_batch"},
    {ty_change_tensor, 2, "layout.tensor"},
    {ty_change_tensor, 4, "layout.tensor"},
    {ty_change_tensor, 8, "layout.tensor"},
    {ty_change_context, 2, "layout.context"},
    {ty_change_context, 4, "layout.context"},
    {ty_change_context, 8, "layout.context"},
    {ty_change_expert, 2, "layout.expert"},
    {ty_change_expert, 4, "layout.expert"},
    {ty_change_expert, 8, "layout.expert"},
    {ty_change_pipeline, 2, "layout.pipeline"},
    {ty_change_pipeline, 4, "layout.pipeline"},
    {ty_change_pipeline, 8, "layout.pipeline"},
    {one_forward_one_backward, 0, "schedule.name"},
};

/* ---- plans ---- */

/* Time of a step of a plan: executed, one member of each gang. */
static int step_s(struct ty_run *run, double *seconds, struct ty_err *err)
{
    const int rc = ty_run_execute_folded(run, err);
    *seconds = rc == 0 ? ty_s_from_ps(run->timeline.makespan) / run->lowered.program.n_steps : 0;
    return rc;
}

/* The plan as it is, and what is changed of it: by itself, and in no more detail than the
 * differences need, as there are many to try. */
struct search {
    const struct ty_config *original;
    struct ty_config alone;
    enum ty_verdict verdict;
    double seconds;
    struct ty_arena *arena;
};

/* Completes and plans a changed configuration. 1: its verdict is better, 0: it is not, or cannot be
 * planned, nobody asks why; or TY_ENOMEM. */
static int try_plan(const struct search *s, struct ty_config *c, struct ty_remedy *r)
{
    struct ty_run *run = NULL;
    struct ty_bill bill;
    int rc = ty_change_finish(&r->change, s->original, c, s->arena, NULL);
    if (rc == 0) {
        rc = ty_run_new(&run, c, NULL);
    }
    if (rc < 0) {
        return rc == TY_ENOMEM ? rc : 0;
    }
    ty_run_fullest(run, &bill);
    r->peak_B = bill.total_B;
    const bool better = ty_bill_verdict(&bill, bill.capacity_B) < s->verdict;
    double seconds = 0;
    rc = better ? step_s(run, &seconds, NULL) : 0;
    r->slower = seconds / s->seconds - 1;
    ty_run_free(run);
    if (rc < 0) {
        return rc == TY_ENOMEM ? rc : 0;
    }
    return better;
}

/* Makes change number i in a copy. 1: it applies, 0, or TY_ENOMEM. */
static int make_change(const struct search *s, size_t i, struct ty_config *c, struct ty_remedy *r)
{
    struct ty_config before = *c;
    if (!changes[i].make(c, changes[i].to)) {
        return 0;
    }
    const int rc = ty_change_note(&r->change, &before, c, s->arena);
    return rc < 0 ? rc : 1;
}

/* Changes number i and, unless it is the same, number k. Adds the plan when its verdict is better
 * and it is faster than `limit`. */
static int try_changes(const struct search *s, size_t i, size_t k, double limit,
                       struct ty_remedies *out)
{
    struct ty_config changed = s->alone;
    struct ty_remedy remedy = {.peak_B = 0};
    if (i != k && strcmp(changes[i].key, changes[k].key) == 0) {
        return 0;
    }
    int rc = make_change(s, i, &changed, &remedy);
    if (rc > 0 && i != k) {
        rc = make_change(s, k, &changed, &remedy);
    }
    if (rc > 0) {
        rc = try_plan(s, &changed, &remedy);
    }
    if (rc > 0 && remedy.slower < limit && out->n < TY_REMEDIES_MAX) {
        out->item[out->n++] = remedy;
    }
    return rc < 0 ? rc : 0;
}

static int fastest_first(const void *first, const void *second)
{
    const struct ty_remedy *x = first, *y = second;
    if (x->slower != y->slower) {
        return x->slower > y->slower ? 1 : -1;
    }
    const struct ty_change *a = &x->change, *b = &y->change;
    const int order = strcmp(a->set[0], b->set[0]);
    return order != 0 || a->n < 2 || b->n < 2 ? order : strcmp(a->set[1], b->set[1]);
}

static int find(const struct search *s, struct ty_remedies *out)
{
    double best = HUGE_VAL;
    int rc = 0;
    *out = (struct ty_remedies){.n = 0};
    for (size_t i = 0; i < TY_COUNT(changes) && rc == 0; i++) {
        rc = try_changes(s, i, i, HUGE_VAL, out);
    }
    for (uint32_t i = 0; i < out->n; i++) {
        best = out->item[i].slower < best ? out->item[i].slower : best;
    }
    out->pairs = best > TY_REMEDY_CHEAP;
    for (size_t i = 0; i < TY_COUNT(changes) && rc == 0 && out->pairs; i++) {
        for (size_t k = i + 1; k < TY_COUNT(changes) && rc == 0; k++) {
            rc = try_changes(s, i, k, best, out);
        }
    }
    qsort(out->item, out->n, sizeof(out->item[0]), fastest_first);
    return rc;
}

int ty_run_remedies(const struct ty_run *run, struct ty_remedies *out, struct ty_arena *arena,
                    struct ty_err *err)
{
    struct ty_bill bill;
    struct ty_run *again = NULL;
    struct search s = {.original = run->config, .alone = *run->config, .arena = arena};
    ty_run_fullest(run, &bill);
    s.verdict = ty_bill_verdict(&bill, bill.capacity_B);
    s.alone.n_jobs = 0;
    s.alone.run.detail = TY_RUN_FLOWS;
    int rc = ty_run_new(&again, &s.alone, err);
    if (rc == 0) {
        rc = step_s(again, &s.seconds, err);
    }
    ty_run_free(again);
    if (rc < 0) {
        return rc;
    }
    return find(&s, out) == 0 ? 0 : ty_fail_memory(err);
}
