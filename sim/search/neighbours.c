/* neighbours.c - makes, executes and ranks the neighbours of a run.
 *
 * A neighbour costs what a folded run costs. Where members of a gang differ, a fold is impossible
 * and each costs a whole run. Noise is then disabled in large runs, in the plan as it is, too;
 * where even that is not enough only the first neighbours are executed. Their number depends on the
 * program alone, so the answer is the same on every machine. */
#include "sim/search/neighbours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/run/balance.h"

/* Tasks to execute: about 10 s of a core where links are shared, 1 s where they are not. */
#define TASKS_MAX      64e6
#define EXECUTED_LEAST 8u /* neighbours, whatever they cost */
#define CAP            96u

struct step {
    enum ty_change_kind kind;
    int to;
};

/* Steps in the order of execution. One by a factor can be undone by another step. */
static const struct step layout_steps[] = {
    {TY_CHANGE_MICRO_BATCH, 2},
    {TY_CHANGE_MICRO_BATCH, -2},
    {TY_CHANGE_RECOMPUTE, TY_RECOMPUTE_NONE},
    {TY_CHANGE_RECOMPUTE, TY_RECOMPUTE_CORE},
    {TY_CHANGE_RECOMPUTE, TY_RECOMPUTE_FFN},
    {TY_CHANGE_RECOMPUTE, TY_RECOMPUTE_FULL},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_MOE_ACT},
    {TY_CHANGE_RECOMPUTE_MORE, TY_RECOMPUTE_MOE},
    {TY_CHANGE_TENSOR, 2},
    {TY_CHANGE_TENSOR, -2},
    {TY_CHANGE_CONTEXT, 2},
    {TY_CHANGE_CONTEXT, -2},
    {TY_CHANGE_CONTEXT_METHOD, TY_CONTEXT_ZIGZAG},
    {TY_CHANGE_CONTEXT_METHOD, TY_CONTEXT_ALL_GATHER},
    {TY_CHANGE_CONTEXT_METHOD, TY_CONTEXT_ULYSSES},
    {TY_CHANGE_CONTEXT_METHOD, TY_CONTEXT_HYBRID},
    {TY_CHANGE_EXPERT, 2},
    {TY_CHANGE_EXPERT, -2},
    {TY_CHANGE_EXPERT_TENSOR, 2},
    {TY_CHANGE_EXPERT_TENSOR, -2},
    {TY_CHANGE_PIPELINE, 2},
    {TY_CHANGE_PIPELINE, -2},
    {TY_CHANGE_TRADE, 2},
    {TY_CHANGE_TRADE, -2},
    {TY_CHANGE_SEQUENCE_PARALLEL, true},
    {TY_CHANGE_SEQUENCE_PARALLEL, false},
};

static const struct step stack_steps[] = {
    {TY_CHANGE_OVERLAP_GRAD_REDUCE, true},
    {TY_CHANGE_OVERLAP_GRAD_REDUCE, false},
    {TY_CHANGE_OVERLAP_PARAM_GATHER, true},
    {TY_CHANGE_OVERLAP_PARAM_GATHER, false},
    {TY_CHANGE_OVERLAP_TENSOR_REDUCE, true},
    {TY_CHANGE_OVERLAP_TENSOR_REDUCE, false},
    {TY_CHANGE_OVERLAP_TENSOR_PRODUCTS, true},
    {TY_CHANGE_OVERLAP_TENSOR_PRODUCTS, false},
    {TY_CHANGE_OVERLAP_P2P, true},
    {TY_CHANGE_OVERLAP_P2P, false},
    {TY_CHANGE_EXPERT_OVERLAP, true},
    {TY_CHANGE_EXPERT_OVERLAP, false},
    {TY_CHANGE_DISPATCHER, TY_DISPATCHER_ALL_TO_ALL},
    {TY_CHANGE_DISPATCHER, TY_DISPATCHER_ALL_GATHER},
    {TY_CHANGE_DISPATCHER, TY_DISPATCHER_DEEPEP},
    {TY_CHANGE_DISPATCHER, TY_DISPATCHER_HYBRIDEP},
    {TY_CHANGE_SHARED_OVERLAP, true},
    {TY_CHANGE_SHARED_OVERLAP, false},
    {TY_CHANGE_OVERLAP_DISPATCH, true},
    {TY_CHANGE_OVERLAP_DISPATCH, false},
    {TY_CHANGE_REDUCE_SCATTER, true},
    {TY_CHANGE_REDUCE_SCATTER, false},
    {TY_CHANGE_RESHARD, true},
    {TY_CHANGE_RESHARD, false},
    {TY_CHANGE_ATTENTION, TY_ATTENTION_FLASH2},
    {TY_CHANGE_NORM, TY_FUSED},
    {TY_CHANGE_FUSED_LOSS, true},
};

struct search {
    const struct ty_run *run;
    struct ty_config base; /* the plan as it is, as it is tried */
    struct ty_neighbours *out;
    struct ty_arena *arena;
    int rc;
};

static struct ty_neighbour *add_item(struct search *s, enum ty_neighbour_topic topic)
{
    struct ty_neighbours *out = s->out;
    if (out->n == out->cap) {
        s->rc = TY_EBUG;
        return NULL;
    }
    struct ty_neighbour *item = &out->item[out->n];
    *item = (struct ty_neighbour){.topic = topic};
    item->trial.config = s->base;
    return item;
}

/* Keeps a changed copy if the layout and the schedule accept it. */
static void keep(struct search *s, struct ty_neighbour *item)
{
    struct ty_config *c = &item->trial.config;
    int rc = ty_change_note(&item->change, &s->base, c, s->arena);
    if (rc == 0) {
        rc = ty_change_finish(&item->change, s->run->config, c, s->arena, NULL);
    }
    if (rc == TY_ENOMEM || rc == TY_EBUG) {
        s->rc = rc;
    }
    s->out->n += rc == 0;
}

static void try_step(struct search *s, enum ty_neighbour_topic topic, struct step step)
{
    struct ty_neighbour *item = s->rc == 0 ? add_item(s, topic) : NULL;
    if (item != NULL && ty_change_make(&item->trial.config, step.kind, step.to)) {
        keep(s, item);
    }
}

static void try_steps(struct search *s, enum ty_neighbour_topic topic, const struct step *step,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        try_step(s, topic, step[i]);
    }
}

/* Tries one ZeRO stage more, one less, and states sharded within a node, if they are not yet. */
static void try_sharding(struct search *s)
{
    const struct ty_layout *l = &s->base.layout;
    const uint32_t node = s->base.cluster.gpus_per_node;
    const uint32_t in_node = l->tensor <= node ? node / l->tensor : 1; /* data ranks of a node */
    const bool hybrid = l->shard < l->data;
    try_step(s, TY_NEIGHBOUR_LAYOUT, (struct step){TY_CHANGE_ZERO, (int)l->zero + 1});
    try_step(s, TY_NEIGHBOUR_LAYOUT, (struct step){TY_CHANGE_ZERO, (int)l->zero - 1});
    if (hybrid || (in_node < l->data && in_node > 1)) {
        try_step(s, TY_NEIGHBOUR_LAYOUT, (struct step){TY_CHANGE_SHARD, hybrid ? 0 : (int)in_node});
    }
}

/* Tries schedules that flush; all schedules if this one does not flush. One without flush computes
 * something else. */
static void try_schedules(struct search *s)
{
    const bool stale = ty_sched_of(&s->base.schedule)->asynchronous;
    for (int i = 0; ty_schedules[i] != NULL; i++) {
        if (ty_schedules[i]->asynchronous == stale || stale) {
            try_step(s, TY_NEIGHBOUR_SCHEDULE, (struct step){TY_CHANGE_SCHEDULE, i});
        }
    }
    const uint32_t chunks = ty_sched_chunks(&s->base.schedule);
    if (chunks > 1) {
        try_step(s, TY_NEIGHBOUR_SCHEDULE, (struct step){TY_CHANGE_CHUNKS, 2});
    }
    if (chunks > 2) { /* one chunk is another schedule */
        try_step(s, TY_NEIGHBOUR_SCHEDULE, (struct step){TY_CHANGE_CHUNKS, -2});
    }
}

static void try_balance(struct search *s)
{
    uint32_t *layers = ty_arena_array(s->arena, uint32_t, TY_LIST_MAX);
    if (layers == NULL) {
        s->rc = TY_ENOMEM;
        return;
    }
    const uint32_t n = ty_balance_layers(s->run, layers);
    struct ty_neighbour *item = s->rc == 0 && n > 0 ? add_item(s, TY_NEIGHBOUR_BALANCE) : NULL;
    if (item != NULL) {
        item->trial.config.layout.stage_layers = (struct ty_uint_list){n, layers};
        keep(s, item);
    }
}

/* Leaves out the neighbours that would take too long; `each`: tasks of one. */
static void leave_out(struct ty_neighbours *out, double each)
{
    const double most = TASKS_MAX / each;
    const uint32_t n = (uint32_t)fmin(fmax(most, EXECUTED_LEAST), CAP);
    for (uint32_t i = n + 1; i < out->n; i++) { /* the plan as it is comes first */
        out->left_out++;
    }
    out->n -= out->left_out;
}

/* Returns the tasks of an execution. */
static double tasks_of(const struct ty_run *run, bool folds)
{
    const struct ty_program *p = ty_run_program(run);
    return folds ? (double)p->n_tasks * p->n_gangs / p->n_ranks : (double)p->n_tasks;
}

/* ---- ranking ---- */

/* Returns whether a comes before b; i and k are their places. */
static bool before(const struct ty_neighbour *a, const struct ty_neighbour *b, uint32_t i,
                   uint32_t k)
{
    return a->trial.step_s != b->trial.step_s ? a->trial.step_s < b->trial.step_s : i < k;
}

/* Sorts the neighbours that ran. Others were refused after the checks, such as for memory. */
static int rank(struct ty_neighbours *out, struct ty_arena *arena)
{
    struct ty_neighbour *sorted = ty_arena_array(arena, struct ty_neighbour, out->n);
    uint32_t n = 0;
    if (sorted == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < out->n; i++) {
        uint32_t at = 0;
        for (uint32_t k = 0; k < out->n; k++) {
            const bool ran = out->item[k].trial.rc == 0;
            at += ran && before(&out->item[k], &out->item[i], k, i);
        }
        if (out->item[i].trial.rc == 0) {
            sorted[at] = out->item[i];
            out->own = i == 0 ? at : out->own;
            n++;
        }
    }
    out->left_out += out->n - n;
    out->item = sorted;
    out->n = n;
    return 0;
}

static int execute(const struct ty_run *run, struct ty_neighbours *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    struct ty_trial **trial = ty_arena_array(arena, struct ty_trial *, out->n);
    if (trial == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < out->n; i++) {
        trial[i] = &out->item[i].trial;
    }
    return ty_trials_execute(run, trial, out->n, err);
}

static int find(struct search *s, bool schedules)
{
    struct ty_neighbour *own = add_item(s, TY_NEIGHBOUR_LAYOUT);
    s->out->n += own != NULL;
    try_schedules(s);
    try_balance(s);
    if (!schedules) {
        try_steps(s, TY_NEIGHBOUR_LAYOUT, layout_steps, TY_COUNT(layout_steps));
        try_sharding(s);
        try_steps(s, TY_NEIGHBOUR_STACK, stack_steps, TY_COUNT(stack_steps));
        const int prefetch = (int)s->base.layout.framework.prefetch;
        try_step(s, TY_NEIGHBOUR_STACK, (struct step){TY_CHANGE_PREFETCH, prefetch + 1});
        try_step(s, TY_NEIGHBOUR_STACK, (struct step){TY_CHANGE_PREFETCH, prefetch - 1});
    }
    return s->rc;
}

int ty_run_neighbours(const struct ty_run *run, bool schedules, struct ty_neighbours *out,
                      struct ty_arena *arena, struct ty_err *err)
{
    struct search s = {.run = run, .base = ty_trial_config(run), .out = out, .arena = arena};
    *out =
        (struct ty_neighbours){.cap = CAP, .item = ty_arena_array(arena, struct ty_neighbour, CAP)};
    if (out->item == NULL) {
        return ty_fail_memory(err);
    }
    out->no_noise = ty_trial_disable_noise(&s.base, tasks_of(run, false));
    int rc = find(&s, schedules);
    if (rc < 0) {
        return rc == TY_ENOMEM ? ty_fail_memory(err) : ty_fail(err, rc, "too many changes");
    }
    leave_out(out, tasks_of(run, run->lockstep || out->no_noise));
    rc = execute(run, out, arena, err);
    return rc == 0 && rank(out, arena) < 0 ? ty_fail_memory(err) : rc;
}
