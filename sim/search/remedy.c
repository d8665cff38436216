/* remedy.c - finds changes that would make a plan fit.
 *
 * Changes (change.h) are planned alone, and in pairs where that is not enough: first the pairs
 * whose changes cost least alone. Their number depends on the program alone, so the answer is the
 * same on every machine. */
#include "sim/search/remedy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/run/offload.h"
#include "sim/search/trial.h"

/* Tasks to execute, of changes alone and of pairs: about 10 s and 1 s of a core where links are
 * shared, where a task costs 25 times as much as in the sweep. */
#define TASKS_ALONE    64e6
#define TASKS_PAIRS    3e6
#define TASKS_UNSHARED 0.04

/* What the host adds to a step, as a share, if unknown: such pairs come last. */
#define HOST_SLOWER 1

/* ---- changes ---- */

/* The changes, their values, and the key that each sets. */
static const struct {
    enum ty_change_kind kind;
    int to;
    const char *key;
} changes[] = {
    {TY_CHANGE_FLASH_ATTENTION, TY_ATTENTION_FLASH2, "model.attention"},
    {TY_CHANGE_NORM, TY_FUSED, "model.norm"},
    {TY_CHANGE_FUSED_LOSS, true, "framework.fused_loss"},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_CORE, "layout.recompute"},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_FFN, "layout.recompute"},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_FULL, "layout.recompute"},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_MOE_ACT, "layout.recompute"},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_NORM | TY_RECOMPUTE_MLA_UP, "layout.recompute"},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_MOE, "layout.recompute"},
    {TY_CHANGE_MORE_ZERO, 1, "layout.zero"},
    {TY_CHANGE_MORE_ZERO, 2, "layout.zero"},
    {TY_CHANGE_MORE_ZERO, 3, "layout.zero"},
    {TY_CHANGE_OFFLOAD, TY_OFFLOAD_ZERO_OFFLOAD, "layout.offload"},
    {TY_CHANGE_OFFLOAD, TY_OFFLOAD_ZERO3_OFFLOAD, "layout.offload"},
    {TY_CHANGE_OFFLOAD, TY_OFFLOAD_GEMINI, "layout.offload"},
    {TY_CHANGE_OFFLOAD, TY_OFFLOAD_ZERO_INFINITY, "layout.offload"},
    {TY_CHANGE_OFFLOAD_ACTIVATIONS, TY_HOME_CPU, "layout.offload_activations"},
    {TY_CHANGE_SEQUENCE_PARALLEL, true, "layout.sequence_parallel"},
    {TY_CHANGE_MICRO_BATCH, -2, "layout.micro_batch"},
    {TY_CHANGE_TENSOR, 2, "layout.tensor"},
    {TY_CHANGE_TENSOR, 4, "layout.tensor"},
    {TY_CHANGE_TENSOR, 8, "layout.tensor"},
    {TY_CHANGE_CONTEXT, 2, "layout.context"},
    {TY_CHANGE_CONTEXT, 4, "layout.context"},
    {TY_CHANGE_CONTEXT, 8, "layout.context"},
    {TY_CHANGE_EXPERT, 2, "layout.expert"},
    {TY_CHANGE_EXPERT, 4, "layout.expert"},
    {TY_CHANGE_EXPERT, 8, "layout.expert"},
    {TY_CHANGE_PIPELINE, 2, "layout.pipeline"},
    {TY_CHANGE_PIPELINE, 4, "layout.pipeline"},
    {TY_CHANGE_PIPELINE, 8, "layout.pipeline"},
    {TY_CHANGE_ONE_F_ONE_B, 0, "schedule.name"},
    {TY_CHANGE_V_FOR_TWO_WAY, 0, "schedule.name"},
};
#define N_CHANGES TY_COUNT(changes)

/* Twin-Flow: percent of the optimizer that leave the GPU, where all of it may. */
static const int shares[] = {20, 40, 60, 80};

/* ---- plans ---- */

static double makespan_s(const struct ty_run *run)
{
    return ty_s_from_ps(run->timeline.makespan) / run->lowered.program.n_steps;
}

/* Executes one member of each gang for the seconds of a step. */
static int step_s(struct ty_run *run, double *seconds, struct ty_err *err)
{
    const int rc = ty_run_execute_folded(run, err);
    *seconds = rc == 0 ? makespan_s(run) : 0;
    return rc;
}

/* Returns the cost of an execution, in tasks. */
static double tasks_of(const struct ty_run *run)
{
    const uint64_t n = run->lockstep ? run->folded.n_tasks : run->lowered.program.n_tasks;
    return (double)n * (run->sharing == TY_SHARING_SIMULATED ? 1 : TASKS_UNSHARED);
}

/* A search for changes of a plan, which is executed without other jobs and in no more detail than
 * the differences need. */
struct search {
    const struct ty_config *original;
    struct ty_config alone;
    enum ty_verdict verdict;
    double seconds;
    struct ty_arena *arena;
    double alone_slower[N_CHANGES]; /* 0: unknown, as the change alone does not help */
    double tasks;                   /* executed so far */
    double least; /* percent of the optimizer that must leave the fullest GPU of the last plan */
};

/* Returns whether a plan that may offload does. Where GPUs have room for everything Gemini is
 * ZeRO-3, which is a change of its own. */
static bool offloads(const struct ty_run *run)
{
    return run->away == NULL || run->away[TY_OFFLOAD_HOST].total_B > 0 ||
           run->away[TY_OFFLOAD_NVME].total_B > 0;
}

static double least_share(const struct ty_run *run, uint32_t stage, const struct ty_bill *bill)
{
    const struct ty_state_bytes *away = &run->lowered.stage[stage].away.host;
    return 100 * (1 - (bill->capacity_B - bill->total_B) / (away->optimizer + away->grads));
}

/* Completes and plans a changed configuration. Returns 1 if its verdict is better, 0 if it is not
 * or cannot be planned, or TY_ENOMEM. */
static int try_plan(struct search *s, struct ty_config *c, struct ty_remedy *r)
{
    struct ty_run *run = NULL;
    struct ty_bill bill;
    int rc = ty_change_finish(&r->change, s->original, c, s->arena, NULL);
    if (rc == 0) {
        rc = ty_run_plan(&run, c, NULL, NULL);
    }
    if (rc < 0) {
        return rc == TY_ENOMEM ? rc : 0;
    }
    s->least = least_share(run, ty_run_fullest(run, &bill), &bill);
    r->peak_B = bill.total_B;
    const bool better = ty_run_verdict(run, &bill) < s->verdict && offloads(run);
    double seconds = 0;
    rc = better ? step_s(run, &seconds, NULL) : 0;
    s->tasks += better && rc == 0 ? tasks_of(run) : 0;
    r->slower = seconds / s->seconds - 1;
    r->more_s = seconds - s->seconds;
    ty_run_free(run);
    if (rc < 0) {
        return rc == TY_ENOMEM ? rc : 0;
    }
    return better;
}

/* Makes a change in a copy. Returns 1 if it applies, 0, or TY_ENOMEM. */
static int make_change(const struct search *s, enum ty_change_kind kind, int to,
                       struct ty_config *c, struct ty_remedy *r)
{
    struct ty_config before = *c;
    if (!ty_change_make(c, kind, to)) {
        return 0;
    }
    const int rc = ty_change_note(&r->change, &before, c, s->arena);
    return rc < 0 ? rc : 1;
}

/* Tries change i together with change k (equal: alone), and with a share of the optimizer below 100
 * % that leaves the GPU. Returns 1 if the verdict is better, 0, or TY_ENOMEM. */
static int try_set(struct search *s, size_t i, size_t k, int share, struct ty_remedy *remedy)
{
    struct ty_config changed = s->alone;
    *remedy = (struct ty_remedy){.peak_B = 0};
    int rc = make_change(s, changes[i].kind, changes[i].to, &changed, remedy);
    if (rc > 0 && i != k) {
        rc = make_change(s, changes[k].kind, changes[k].to, &changed, remedy);
    }
    if (rc > 0 && share < 100) {
        rc = make_change(s, TY_CHANGE_OFFLOAD_SHARE, share, &changed, remedy);
    }
    return rc > 0 ? try_plan(s, &changed, remedy) : rc;
}

static void add(struct ty_remedies *out, const struct ty_remedy *remedy, double limit)
{
    if (remedy->slower < limit && out->n < TY_REMEDIES_MAX) {
        out->item[out->n++] = *remedy;
    }
}

static bool is_zero_offload(size_t i, size_t k)
{
    const size_t which = changes[i].kind == TY_CHANGE_OFFLOAD ? i : k;
    return changes[which].kind == TY_CHANGE_OFFLOAD && changes[which].to == TY_OFFLOAD_ZERO_OFFLOAD;
}

/* Adds the plan if its verdict is better and it is faster than `limit`. If its optimizer leaves the
 * GPU, also adds the plan in which the least share does. */
static int try_changes(struct search *s, size_t i, size_t k, double limit, struct ty_remedies *out)
{
    struct ty_remedy remedy;
    if (i != k && strcmp(changes[i].key, changes[k].key) == 0) {
        return 0;
    }
    int rc = try_set(s, i, k, 100, &remedy);
    if (rc <= 0) {
        return rc;
    }
    add(out, &remedy, limit);
    const double least = s->least;
    rc = 0;
    for (size_t n = 0; is_zero_offload(i, k) && n < TY_COUNT(shares) && rc == 0; n++) {
        rc = shares[n] < least ? 0 : try_set(s, i, k, shares[n], &remedy);
    }
    if (rc > 0) {
        add(out, &remedy, limit);
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
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        const int order = strcmp(a->set[i], b->set[i]);
        if (order != 0) {
            return order;
        }
    }
    return (a->n > b->n) - (a->n < b->n);
}

static bool leaves_the_gpu(size_t i)
{
    return changes[i].kind == TY_CHANGE_OFFLOAD || changes[i].kind == TY_CHANGE_OFFLOAD_ACTIVATIONS;
}

static int try_alone(struct search *s, struct ty_remedies *out)
{
    int rc = 0;
    for (size_t i = 0; i < N_CHANGES && rc == 0; i++) {
        const uint32_t before = out->n;
        if (s->tasks > TASKS_ALONE) {
            out->left_out = true;
            break;
        }
        rc = try_changes(s, i, i, HUGE_VAL, out);
        s->alone_slower[i] = out->n > before     ? out->item[before].slower
                             : leaves_the_gpu(i) ? HOST_SLOWER
                                                 : 0;
    }
    return rc;
}

struct pair {
    size_t i, k;
    double slower; /* if each costs what it does alone */
};

static int promising_first(const void *first, const void *second)
{
    const struct pair *x = first, *y = second;
    if (x->slower != y->slower) {
        return x->slower > y->slower ? 1 : -1;
    }
    return x->k != y->k ? (x->k > y->k) - (x->k < y->k) : (x->i > y->i) - (x->i < y->i);
}

static int try_pairs(struct search *s, double limit, struct ty_remedies *out)
{
    struct pair pair[N_CHANGES * (N_CHANGES - 1) / 2];
    size_t n = 0;
    for (size_t i = 0; i < N_CHANGES; i++) {
        for (size_t k = i + 1; k < N_CHANGES; k++) {
            pair[n++] = (struct pair){i, k, s->alone_slower[i] + s->alone_slower[k]};
        }
    }
    qsort(pair, n, sizeof(pair[0]), promising_first);
    s->tasks = 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (s->tasks > TASKS_PAIRS) {
            out->left_out = true;
            break;
        }
        rc = try_changes(s, pair[i].i, pair[i].k, limit, out);
    }
    return rc;
}

static int find(struct search *s, struct ty_remedies *out)
{
    double best = HUGE_VAL;
    *out = (struct ty_remedies){.n = 0};
    int rc = try_alone(s, out);
    for (uint32_t i = 0; i < out->n; i++) {
        best = out->item[i].slower < best ? out->item[i].slower : best;
    }
    out->pairs = best > TY_REMEDY_CHEAP;
    if (rc == 0 && out->pairs) {
        rc = try_pairs(s, best, out);
    }
    qsort(out->item, out->n, sizeof(out->item[0]), fastest_first);
    return rc;
}

/* Returns whether a run was executed as its variants are: alone, no collective message by message,
 * with the engine of the run file. */
static bool is_like_its_variants(const struct ty_run *run)
{
    const struct ty_run_options *o = &run->config->run;
    return run->executed && run->jobs == NULL && o->detail == TY_RUN_FLOWS &&
           o->engine == TY_ENGINE_AUTO && (run->sharing != TY_SHARING_ESTIMATED || !o->contention);
}

/* Executes the plan as it is, without other jobs and in no more detail than its variants. */
static int execute_alone(struct search *s, struct ty_err *err)
{
    struct ty_run *again = NULL;
    int rc = ty_run_plan(&again, &s->alone, NULL, err);
    if (rc == 0) {
        rc = step_s(again, &s->seconds, err);
    }
    ty_run_free(again);
    return rc;
}

int ty_run_remedies(const struct ty_run *run, struct ty_remedies *out, struct ty_arena *arena,
                    struct ty_err *err)
{
    struct ty_bill bill;
    struct search s = {.original = run->config, .alone = *run->config, .arena = arena};
    ty_run_fullest(run, &bill);
    s.verdict = ty_run_verdict(run, &bill);
    s.alone.n_jobs = 0;
    s.alone.run.detail = TY_RUN_FLOWS;
    const bool calm = ty_trial_disable_noise(&s.alone, (double)run->lowered.program.n_tasks);
    int rc = 0;
    if (!calm && is_like_its_variants(run)) {
        s.seconds = makespan_s(run);
    } else {
        rc = execute_alone(&s, err);
    }
    return rc < 0 ? rc : find(&s, out) == 0 ? 0 : ty_fail_memory(err);
}
