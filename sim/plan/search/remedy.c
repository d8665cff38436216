/* remedy.c - finds changes that would make a plan fit.
 *
 * A candidate is one change (change.h) or two. `plan`'s verdict says in microseconds whether it
 * fits, and its bound how long its step takes at least. Candidates are then taken in the order of
 * their bounds. A program is made of those whose memory only a program knows, and those that the
 * budget allows are executed, until so many are known to be faster than the bound of the rest. The
 * budget is counted in tasks, so the answer is the same on every machine. */
#include "sim/plan/search/remedy.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/plan/bound.h"
#include "sim/plan/verdict.h"
#include "sim/run/offload.h"
#include "sim/search/trial.h"

/* Seconds of a core that a task takes where links are shared, and where they are not; measured. */
#define TASK_SHARED_S 160e-9
#define TASK_S        6e-9

#define WANTED        5u  /* remedies that are executed, if the budget is never spent */
#define PROGRAMS_MOST 24u /* made for their memory alone */
/* What the host adds to a step, as a share, where that was not simulated: a guess, as bounds leave
 * hosts out. Such candidates come last. */
#define HOST_SLOWER 1.0
#define PROGRAM_S   4e-3 /* of a core that one takes; measured, 2 to 20 ms */

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

/* Models that a change makes another of: each has its own costs. */
enum {
    MODEL_FLASH = 1,
    MODEL_NORM = 2,
    N_MODELS = 4
};

struct candidate {
    uint16_t i, k;   /* of changes; equal: one change */
    uint32_t number; /* in the order of the table */
    bool by_program; /* only a program knows what it needs; it may not fit */
    double bound_s;  /* of its step; HUGE_VAL: unknown */
    double order_s;  /* the bound, and what hosts may add */
    double peak_B;
};

struct search {
    const struct ty_config *original;
    struct ty_config alone; /* without other jobs, in no more detail than differences need */
    struct ty_config model[N_MODELS];      /* without noise, for bounds */
    struct ty_plan_costs *costs[N_MODELS]; /* NULL: nobody asked for it */
    enum ty_verdict verdict;
    double seconds; /* of a step of the plan as it is: executed, or its bound */
    double budget_s;
    bool folds; /* one member of each gang stands for all */
    struct ty_arena *arena;
    struct candidate *candidate;
    uint32_t n, n_programs;
    double least; /* percent of the optimizer that must leave the fullest GPU of the last plan */
};

/* ---- a candidate ---- */

/* Makes a change in a copy. Returns 1 if it applies, 0, or TY_ENOMEM. */
static int make_change(const struct search *s, enum ty_change_kind kind, int to,
                       struct ty_config *c, struct ty_remedy *r)
{
    assert(r->change.n < TY_CHANGE_SETS);
    struct ty_config before = *c;
    if (!ty_change_make(c, kind, to)) {
        return 0;
    }
    const int rc = ty_change_note(&r->change, &before, c, s->arena);
    return rc < 0 ? rc : 1;
}

/* Changes a copy, with a share of the optimizer below 100 % that leaves the GPU, and completes it.
 * Returns 1, 0 if the changes do not apply or the layout cannot be, or TY_ENOMEM. */
static int make_set(const struct search *s, size_t i, size_t k, int share, struct ty_config *c,
                    struct ty_remedy *r)
{
    *c = s->alone;
    *r = (struct ty_remedy){.simulated = false};
    int rc = make_change(s, changes[i].kind, changes[i].to, c, r);
    if (rc > 0 && i != k) {
        rc = make_change(s, changes[k].kind, changes[k].to, c, r);
    }
    if (rc > 0 && share < 100) {
        rc = make_change(s, TY_CHANGE_OFFLOAD_SHARE, share, c, r);
    }
    if (rc <= 0) {
        return rc;
    }
    rc = ty_change_finish(&r->change, s->original, c, s->arena, NULL);
    return rc == 0 ? 1 : rc == TY_ENOMEM ? rc : 0;
}

static bool is_zero_offload(size_t i, size_t k)
{
    assert(i < N_CHANGES && k < N_CHANGES);
    const size_t which = changes[i].kind == TY_CHANGE_OFFLOAD ? i : k;
    return changes[which].kind == TY_CHANGE_OFFLOAD && changes[which].to == TY_OFFLOAD_ZERO_OFFLOAD;
}

static bool leaves_the_gpu(size_t i)
{
    return changes[i].kind == TY_CHANGE_OFFLOAD || changes[i].kind == TY_CHANGE_OFFLOAD_ACTIVATIONS;
}

/* ---- by the costs of plan ---- */

static unsigned model_of(size_t i)
{
    return changes[i].kind == TY_CHANGE_FLASH_ATTENTION ? MODEL_FLASH
           : changes[i].kind == TY_CHANGE_NORM          ? MODEL_NORM
                                                        : 0;
}

/* The costs of the model of a changed configuration; NULL without memory. */
static struct ty_plan_costs *costs_of(struct search *s, unsigned model, const struct ty_config *c)
{
    if (s->costs[model] == NULL) {
        s->model[model] = *c;
        (void)ty_trial_disable_noise(&s->model[model], HUGE_VAL);
        (void)ty_plan_costs_new(&s->costs[model], &s->model[model], NULL);
    }
    return s->costs[model];
}

/* HUGE_VAL where no bound is known. */
static int find_bound(struct ty_plan_costs *costs, const struct ty_config *c, double *bound_s)
{
    const int rc = ty_plan_bound(costs, &c->layout, &c->schedule, bound_s, NULL);
    *bound_s = rc < 0 || *bound_s <= 0 ? HUGE_VAL : *bound_s;
    return rc == TY_ENOMEM ? rc : 0;
}

/* Adds changes i and k to the candidates where they make the plan fit, or may. */
static int screen(struct search *s, size_t i, size_t k)
{
    struct ty_config c;
    struct ty_remedy r;
    struct ty_plan_verdict v;
    int rc = make_set(s, i, k, 100, &c, &r);
    if (rc <= 0) {
        return rc;
    }
    struct ty_plan_costs *costs = costs_of(s, model_of(i) | model_of(k), &c);
    if (costs == NULL) {
        return TY_ENOMEM;
    }
    rc = ty_plan_verdict(costs, &c.layout, &c.schedule, &v, NULL);
    if (rc < 0 || ty_memory_verdict(v.peak_B, v.capacity_B) >= s->verdict) {
        return rc == TY_ENOMEM ? rc : 0;
    }
    assert(s->n < N_CHANGES * (N_CHANGES + 1) / 2);
    struct candidate *new = &s->candidate[s->n];
    *new = (struct candidate){.i = (uint16_t)i,
                              .k = (uint16_t)k,
                              .number = s->n,
                              .by_program = v.whole_bill,
                              .peak_B = v.peak_B};
    s->n++;
    return find_bound(costs, &c, &new->bound_s);
}

static int most_promising_first(const void *first, const void *second)
{
    const struct candidate *x = first, *y = second;
    if (x->order_s != y->order_s) {
        return x->order_s > y->order_s ? 1 : -1;
    }
    return (x->number > y->number) - (x->number < y->number);
}

static bool differ_in_key(size_t i, size_t k)
{
    return strcmp(changes[i].key, changes[k].key) != 0;
}

/* Pairs that may be faster than every single change, whose least bound is best_s. */
static int screen_pairs(struct search *s, double best_s)
{
    int rc = 0;
    for (size_t i = 0; i < N_CHANGES; i++) {
        for (size_t k = i + 1; k < N_CHANGES && rc == 0; k++) {
            const uint32_t n = s->n;
            rc = differ_in_key(i, k) ? screen(s, i, k) : 0;
            s->n -= s->n > n && s->candidate[n].bound_s >= best_s ? 1 : 0;
        }
    }
    return rc;
}

/* The least bound of a candidate that is sure to fit; HUGE_VAL: none. */
static double least_bound_s(const struct search *s)
{
    double best_s = HUGE_VAL;
    for (uint32_t n = 0; n < s->n; n++) {
        const struct candidate *a = &s->candidate[n];
        best_s = a->by_program ? best_s : fmin(best_s, a->bound_s);
    }
    return best_s;
}

static void sort(struct search *s)
{
    for (uint32_t n = 0; n < s->n; n++) {
        struct candidate *a = &s->candidate[n];
        const bool hosts = leaves_the_gpu(a->i) || leaves_the_gpu(a->k);
        a->order_s = a->bound_s + (hosts && s->seconds < HUGE_VAL ? HOST_SLOWER * s->seconds : 0);
    }
    qsort(s->candidate, s->n, sizeof(s->candidate[0]), most_promising_first);
}

/* Every change alone, and pairs where none of those is cheap. */
static int screen_all(struct search *s, struct ty_remedies *out)
{
    double own_s;
    struct ty_plan_costs *costs = costs_of(s, 0, &s->alone);
    int rc = costs == NULL ? TY_ENOMEM : find_bound(costs, &s->alone, &own_s);
    for (size_t i = 0; i < N_CHANGES && rc == 0; i++) {
        rc = screen(s, i, i);
    }
    if (rc < 0) {
        return rc;
    }
    assert(own_s > 0);
    const double best_s = least_bound_s(s);
    s->seconds = s->seconds > 0 ? s->seconds : own_s;
    out->pairs = !(best_s <= own_s * (1 + TY_REMEDY_CHEAP));
    rc = out->pairs ? screen_pairs(s, best_s) : 0;
    sort(s);
    return rc;
}

/* ---- by programs ---- */

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

/* Seconds of a core that an execution takes, about. */
static double cost_s(const struct search *s, const struct ty_run *run)
{
    const struct ty_program *p = &run->lowered.program;
    const double tasks = (double)p->n_tasks * (s->folds ? (double)p->n_gangs / p->n_ranks : 1);
    const bool shared = run->config->run.contention && run->config->run.engine != TY_ENGINE_SWEEP;
    return tasks * (shared ? TASK_SHARED_S : TASK_S);
}

static double makespan_s(const struct ty_run *run)
{
    return ty_s_from_ps(run->timeline.makespan) / run->lowered.program.n_steps;
}

/* Executes a plan if the budget is enough for it. */
static int execute(struct search *s, struct ty_run *run, struct ty_remedy *r)
{
    const double cost = cost_s(s, run);
    if (cost > s->budget_s) {
        return 0;
    }
    assert(cost > 0);
    s->budget_s -= cost;
    const int rc = ty_run_execute_folded(run, NULL);
    if (rc == 0) {
        r->simulated = true;
        r->step_s = makespan_s(run);
    }
    return rc;
}

/* Makes the program of a changed configuration, and executes it if that is wanted and the budget
 * allows it. Returns 1 if its verdict is better, 0 if it is not or cannot be planned, or
 * TY_ENOMEM. */
static int try_program(struct search *s, const struct ty_config *c, bool wanted,
                       struct ty_remedy *r)
{
    struct ty_run *run = NULL;
    struct ty_bill bill;
    int rc = ty_run_plan(&run, c, NULL, NULL);
    if (rc < 0) {
        return rc == TY_ENOMEM ? rc : 0;
    }
    s->least = least_share(run, ty_run_fullest(run, &bill), &bill);
    r->peak_B = bill.total_B;
    const bool better = ty_run_verdict(run, &bill) < s->verdict && offloads(run);
    rc = better && wanted ? execute(s, run, r) : 0;
    ty_run_free(run);
    return rc == TY_ENOMEM ? rc : rc == 0 && better;
}

static void add(const struct search *s, const struct ty_remedy *r, double order_s,
                struct ty_remedies *out)
{
    if (out->n < TY_REMEDIES_MAX) {
        struct ty_remedy *item = &out->item[out->n++];
        const bool known = r->step_s < HUGE_VAL && s->seconds < HUGE_VAL;
        *item = *r;
        item->order_s = r->simulated ? r->step_s : order_s;
        item->slower = known ? r->step_s / s->seconds - 1 : HUGE_VAL;
        item->more_s = known ? r->step_s - s->seconds : HUGE_VAL;
    }
}

/* Adds a candidate. If its optimizer leaves the GPU, also adds the plan in which the least share
 * does. */
static int try_candidate(struct search *s, const struct candidate *a, bool wanted,
                         struct ty_remedies *out)
{
    struct ty_config c;
    struct ty_remedy r;
    int rc = make_set(s, a->i, a->k, 100, &c, &r);
    r.peak_B = a->peak_B;
    const double least_s = leaves_the_gpu(a->i) || leaves_the_gpu(a->k) ? HUGE_VAL : a->bound_s;
    r.step_s = least_s;
    if (rc > 0 && (a->by_program || wanted)) {
        rc = try_program(s, &c, wanted, &r);
    }
    if (rc <= 0) {
        return rc;
    }
    add(s, &r, a->order_s, out);
    const double least = s->least;
    rc = 0;
    for (size_t n = 0; is_zero_offload(a->i, a->k) && n < TY_COUNT(shares) && rc == 0; n++) {
        rc = shares[n] < least ? 0 : make_set(s, a->i, a->k, shares[n], &c, &r);
        r.step_s = least_s;
        rc = rc > 0 ? try_program(s, &c, wanted, &r) : rc;
    }
    if (rc > 0) {
        add(s, &r, a->order_s, out);
    }
    return rc < 0 ? rc : 0;
}

static int fastest_first(const void *first, const void *second)
{
    const struct ty_remedy *x = first, *y = second;
    if (x->order_s != y->order_s) {
        return x->order_s > y->order_s ? 1 : -1;
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

/* Returns whether enough remedies are known to be faster than a candidate can be. */
static bool is_ruled_out(const struct ty_remedies *out, const struct candidate *a)
{
    uint32_t faster = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        faster += out->item[i].simulated && out->item[i].step_s <= a->bound_s;
    }
    return faster >= WANTED;
}

/* Sorts the remedies. Those that no simulation has placed are untried, unless enough are faster. */
static void rank(struct ty_remedies *out)
{
    qsort(out->item, out->n, sizeof(out->item[0]), fastest_first);
    for (uint32_t i = 0, simulated = 0; i < out->n && simulated < WANTED; i++) {
        simulated += out->item[i].simulated;
        out->untried += !out->item[i].simulated;
    }
}

static int find(struct search *s, struct ty_remedies *out)
{
    int rc = screen_all(s, out);
    for (uint32_t n = 0; n < s->n && rc == 0; n++) {
        const struct candidate *a = &s->candidate[n];
        const bool slower = is_ruled_out(out, a);
        const bool wanted = s->budget_s > 0 && !slower;
        if (a->by_program && !wanted && (out->n >= WANTED || s->n_programs >= PROGRAMS_MOST)) {
            out->untried += !slower;
            continue;
        }
        s->n_programs += a->by_program;
        s->budget_s -= a->by_program ? PROGRAM_S : 0;
        rc = try_candidate(s, a, wanted, out);
    }
    rank(out);
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

/* The step of the plan as it is, executed as its variants are. */
static int execute_alone(struct search *s, struct ty_err *err)
{
    struct ty_run *again = NULL;
    struct ty_remedy own = {.step_s = 0};
    int rc = ty_run_plan(&again, &s->alone, NULL, err);
    if (rc == 0) {
        rc = execute(s, again, &own);
        s->seconds = own.step_s;
    }
    ty_run_free(again);
    return rc;
}

/* Reads what the plan as it is takes; its bound where it was not executed. */
static int begin(struct search *s, const struct ty_run *run, struct ty_err *err)
{
    struct ty_bill bill;
    ty_run_fullest(run, &bill);
    s->verdict = ty_run_verdict(run, &bill);
    s->alone.n_jobs = 0;
    s->alone.run.detail = TY_RUN_FLOWS;
    const bool calm = ty_trial_disable_noise(&s->alone, (double)run->lowered.program.n_tasks);
    s->folds = calm || run->lockstep;
    assert(s->verdict != TY_VERDICT_FITS); /* nobody asks of a plan that fits */
    s->candidate = ty_arena_array(s->arena, struct candidate, N_CHANGES * (N_CHANGES + 1) / 2);
    if (s->candidate == NULL) {
        return ty_fail_memory(err);
    }
    if (!calm && is_like_its_variants(run)) {
        s->seconds = makespan_s(run);
    }
    return s->seconds > 0 || s->budget_s <= 0 ? 0 : execute_alone(s, err);
}

int ty_run_remedies(const struct ty_run *run, double budget_s, struct ty_remedies *out,
                    struct ty_arena *arena, struct ty_err *err)
{
    struct search *s = ty_arena_array(arena, struct search, 1);
    *out = (struct ty_remedies){.n = 0};
    if (s == NULL) {
        return ty_fail_memory(err);
    }
    s->original = run->config;
    s->alone = *run->config;
    s->arena = arena;
    s->budget_s = run->executed ? budget_s : 0;
    int rc = begin(s, run, err);
    rc = rc < 0 ? rc : find(s, out) == 0 ? 0 : ty_fail_memory(err);
    for (size_t m = 0; m < N_MODELS; m++) {
        ty_plan_costs_free(s->costs[m]);
    }
    return rc;
}
