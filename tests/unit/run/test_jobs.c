/* test_jobs.c - several jobs on one cluster: each as by itself where they share nothing, slower
 * where they share NICs or uplinks. */
#include "sim/config/jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/execute/fold.h"
#include "sim/core/program/owners.h"
#include "tests/unit/jobs_text.h"

static const char second[] =
    CLUSTER("8") MODEL "layout: {nodes: 2-3, tensor: 4, pipeline: 1, global_batch: 32, zero: 1}\n";

/* Half of the GPUs of every node each, and one NIC for all of them. */
static const char mixed[] =
    CLUSTER("1") MODEL "layout: {gpus: 0-3, tensor: 2, global_batch: 32, zero: 1}\n"
                       "jobs:\n"
                       "  - name: b\n"
                       "    layout: {gpus: 4-7, tensor: 4}\n";
static const char mixed_first[] =
    CLUSTER("1") MODEL "layout: {gpus: 0-3, tensor: 2, global_batch: 32, zero: 1}\n";
static const char mixed_second[] =
    CLUSTER("1") MODEL "layout: {gpus: 4-7, tensor: 4, global_batch: 32, zero: 1}\n";

static void check_equal(const struct ty_timeline *a, const struct ty_timeline *b)
{
    const struct ty_program *p = a->program;
    ck_assert_uint_eq(p->n_tasks, b->program->n_tasks);
    ck_assert_uint_eq(a->makespan, b->makespan);
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        struct ty_span_cursor i = ty_spans_of(a, rank), k = ty_spans_of(b, rank);
        struct ty_span x, y;
        while (ty_span_next(&i, &x) && ty_span_next(&k, &y)) {
            ck_assert_uint_eq(x.start, y.start);
            ck_assert_uint_eq(x.dur, y.dur);
        }
    }
}

/* ---- nothing shared ---- */

static void check_apart(const char *engine, const char *const *sets)
{
    struct quick_run both = quick_run(apart, engine, sets);
    char seed[48], steps[32];
    const char *b_sets[8] = {"model.layers=6", seed, steps};
    for (uint32_t i = 0; sets != NULL && sets[i] != NULL; i++) {
        b_sets[3 + i] = sets[i];
    }
    snprintf(seed, sizeof(seed), "run.seed=%llu",
             (unsigned long long)other(&both, 0)->config.run.seed);
    snprintf(steps, sizeof(steps), "run.steps=%u", (unsigned)other(&both, 0)->config.run.steps);
    struct quick_run a = quick_run(first, engine, sets);
    struct quick_run b = quick_run(second, engine, b_sets);
    check_equal(&both.run->timeline, &a.run->timeline);
    check_equal(&other(&both, 0)->run->timeline, &b.run->timeline);
    ck_assert_double_eq(both.figures.step_s, a.figures.step_s);
    ck_assert_double_eq(both.figures.mfu, a.figures.mfu);
    ck_assert_double_eq(both.run->jobs->own_alone_s, a.figures.step_s);
    ck_assert_double_eq(other(&both, 0)->step_s, other(&both, 0)->alone_s);
    quick_run_free(&both);
    quick_run_free(&a);
    quick_run_free(&b);
}

TEST(jobs_on_nodes_of_their_own_are_each_as_alone)
{
    check_apart("sweep", NULL);
    check_apart("events", NULL);
    check_apart(NULL, NULL);
}

TEST(and_so_are_their_draws)
{
    check_apart("sweep", SETS("run.jitter=5 %", "run.gpu_spread=3 %"));
    check_apart(NULL, SETS("run.jitter=5 %", "run.gpu_spread=3 %"));
}

TEST(jobs_draw_different_numbers)
{
    struct quick_run q = quick_run(CLUSTER("8") MODEL "layout: {nodes: 0-1, global_batch: 32}\n"
                                                      "jobs: [{name: twin}]\n",
                                   "sweep", SETS("run.gpu_spread=3 %"));
    ck_assert_uint_eq(q.run->lowered.program.n_ranks, 16);
    const double *a = q.run->lowered.program.spread_of;
    const double *b = other(&q, 0)->run->lowered.program.spread_of;
    for (uint32_t r = 0; r < 16; r++) {
        ck_assert_double_ne(a[r], b[r]);
    }
    quick_run_free(&q);
}

/* ---- shared NICs ---- */

TEST(jobs_on_one_nic_slow_each_other_down)
{
    struct quick_run both = quick_run(mixed, NULL, SETS("run.steps=3"));
    struct quick_run a = quick_run(mixed_first, NULL, SETS("run.steps=3"));
    char steps[32];
    snprintf(steps, sizeof(steps), "run.steps=%u", (unsigned)other(&both, 0)->n_in_time);
    struct quick_run b = quick_run(mixed_second, NULL, SETS(steps));
    ck_assert_str_eq(both.run->engine, "events");
    ck_assert_double_eq_tol(both.run->jobs->own_alone_s, a.figures.step_s, 1e-12);
    ck_assert_double_eq_tol(other(&both, 0)->alone_s, b.figures.step_s, 0.01 * b.figures.step_s);
    ck_assert_double_gt(both.figures.step_s, 1.02 * a.figures.step_s);
    ck_assert_double_gt(other(&both, 0)->step_s, 1.02 * other(&both, 0)->alone_s);
    /* never worse than one after the other */
    ck_assert_double_lt(ty_s_from_ps(both.run->timeline.makespan),
                        3 * a.figures.step_s +
                            other(&both, 0)->config.run.steps * other(&both, 0)->alone_s);
    quick_run_free(&both);
    quick_run_free(&a);
    quick_run_free(&b);
}

TEST(twins_are_slowed_alike)
{
    struct quick_run q =
        quick_run(CLUSTER("1") MODEL "layout: {gpus: 0-3, tensor: 4, global_batch: 32}\n"
                                     "jobs: [{name: twin, layout: {gpus: 4-7}}]\n",
                  NULL, SETS("run.steps=2"));
    const struct ty_other_job *o = other(&q, 0);
    ck_assert_double_gt(q.figures.step_s, 1.02 * q.run->jobs->own_alone_s);
    ck_assert_uint_eq(o->n_in_time, 2);
    ck_assert_double_eq(o->step_s, q.figures.step_s);
    ck_assert_double_eq(o->alone_s, q.run->jobs->own_alone_s);
    quick_run_free(&q);
}

TEST(so_are_jobs_whose_collectives_are_messages)
{
    check_apart(NULL, SETS("run.detail=steps"));
    struct quick_run q = quick_run(mixed, NULL, SETS("run.detail=steps"));
    ck_assert_uint_gt(q.run->all.program->n_scripts, 1);
    ck_assert_double_gt(q.figures.step_s, 1.02 * q.run->jobs->own_alone_s);
    quick_run_free(&q);
}

TEST(with_a_nic_for_every_gpu_they_do_not)
{
    struct quick_run q = quick_run(mixed, NULL, SETS("cluster.nics_per_node=8"));
    ck_assert_double_eq(q.figures.step_s, q.run->jobs->own_alone_s);
    ck_assert_double_eq(other(&q, 0)->step_s, other(&q, 0)->alone_s);
    quick_run_free(&q);
}

/* ---- shared uplinks ---- */

/* Two leaves of two nodes, and twins that have a node below each; or each a leaf. */
#define LEAVES(own, twin)                                                                          \
    CLUSTER("8")                                                                                   \
    MODEL "fabric: {topology: fat-tree, leaf_nodes: 2, oversubscription: 2}\n"                     \
          "layout: {nodes: " own ", tensor: 4, global_batch: 32}\n"                                \
          "jobs: [{name: twin, layout: {nodes: " twin "}}]\n"

static void check_sharing(const char *yaml, const char *const *sets, bool slower)
{
    struct quick_run q = quick_run(yaml, NULL, sets);
    const struct ty_other_job *o = other(&q, 0);
    if (slower) {
        ck_assert_double_gt(q.figures.step_s, 1.02 * q.run->jobs->own_alone_s);
        ck_assert_double_gt(o->step_s, 1.02 * o->alone_s);
    } else {
        ck_assert_double_eq(q.figures.step_s, q.run->jobs->own_alone_s);
        ck_assert_double_eq(o->step_s, o->alone_s);
    }
    quick_run_free(&q);
}

TEST(jobs_below_the_same_leaves_divide_the_uplinks)
{
    check_sharing(LEAVES("[0, 2]", "[1, 3]"), NULL, true);
    check_sharing(LEAVES("[0, 2]", "[1, 3]"), SETS("fabric.oversubscription=1"), false);
    check_sharing(LEAVES("0-1", "2-3"), NULL, false);
}

/* The network is the cluster's, whatever the file of a job says. */
TEST(all_jobs_have_the_run_files_network)
{
    struct quick_run q =
        quick_run(LEAVES("[0, 2]", "[1, 3]"), "sweep", SETS("fabric.oversubscription=5"));
    ck_assert_double_eq(other(&q, 0)->config.fabric.oversubscription, 5);
    ck_assert_int_eq(other(&q, 0)->config.fabric.topology, q.config->fabric.topology);
    ck_assert_uint_eq(other(&q, 0)->run->lowered.fabric.n_links, q.run->lowered.fabric.n_links);
    quick_run_free(&q);
}

/* One member of each gang for all, of all jobs. */
TEST(jobs_fold_together_where_members_see_links_alike)
{
    static const struct {
        const char *yaml;
        bool alike;
    } cases[] = {
        {LEAVES("[0, 2]", "[1, 3]"), true},
        {mixed, true},
        /* a NIC for two GPUs: tensor rank 0 has a neighbour at its own, tensor rank 1 has none */
        {CLUSTER("4") MODEL "layout: {gpus: [0, 2], tensor: 2, global_batch: 32}\n"
                            "jobs: [{name: b, layout: {gpus: 1, tensor: 1}}]\n",
         false},
    };
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        struct quick_run q = quick_run(cases[i].yaml, NULL, NULL);
        const struct ty_program *p = q.run->all.program;
        struct ty_err err = TY_ERR_NONE;
        struct ty_arena arena = {.head = NULL};
        struct ty_program folded;
        struct ty_contention shared;
        struct ty_timeline whole;
        bool alike = false;
        ck_assert(ty_program_folds(p));
        ck_assert_int_eq(ty_program_fold(&folded, p, &arena, &err), 0);
        ck_assert_int_eq(ty_program_fold_links(&folded, p, &alike, &arena, &err), 0);
        ck_assert_msg(alike == cases[i].alike, "case %zu", i);
        ck_assert_int_eq(ty_contention_find(&shared, p, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&whole, p, &err), 0);
        ck_assert_int_eq(ty_events_shared(&whole, &shared, &err), 0);
        check_equal(&q.run->all, &whole);
        ty_timeline_release(&whole);
        ty_arena_release(&arena);
        quick_run_free(&q);
    }
}

/* What a program puts on every link, in all its steps: bytes[n_links]; with a timeline, how long
 * the link has anything to carry, at most: busy[n_links], ps. */
static double *bytes_of(const struct ty_program *p, const struct ty_timeline *t, double *busy)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    const struct ty_owner *owner = NULL;
    ck_assert_int_eq(ty_owners_find(&owner, p, &arena, &err), 0);
    double *bytes = calloc(p->n_links, sizeof(*bytes));
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
            for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
                const struct ty_op *op = &ty_pass_ops(p, pass)[k];
                const struct ty_kind *kind = &p->kinds[op->kind];
                for (uint32_t m = 0; owner[op->kind].gang == g && m < gang->n_ranks; m++) {
                    if (!ty_owner_is_first(p, &owner[op->kind], m)) {
                        continue;
                    }
                    const struct ty_flow *flow = ty_kind_flow(p, kind, m);
                    const ty_ps alone = ty_kind_alone(kind, m);
                    const double s = ty_s_from_ps(alone > flow->lead ? alone - flow->lead : 0);
                    for (uint32_t u = 0; u < flow->n_uses; u++) {
                        const struct ty_use *use = &p->uses[flow->first_use + u];
                        bytes[use->link] += use->Bps * s;
                        if (t != NULL) {
                            const uint64_t ordinal = (uint64_t)pass->first_op + k;
                            busy[use->link] +=
                                (double)(ty_timeline_dur(t, gang, op, ordinal, m) - flow->lead);
                        }
                    }
                }
            }
        }
    }
    ty_arena_release(&arena);
    return bytes;
}

TEST(no_byte_is_lost_and_no_link_carries_more_than_it_can)
{
    struct quick_run q = quick_run(mixed, NULL, SETS("run.steps=2"));
    const struct ty_program *p = q.run->all.program;
    double *busy = calloc(p->n_links, sizeof(*busy));
    double *all = bytes_of(p, &q.run->all, busy);
    double *a = bytes_of(&q.run->lowered.program, NULL, NULL);
    double *b = bytes_of(&other(&q, 0)->run->lowered.program, NULL, NULL);
    uint32_t used_by_both = 0;
    for (uint32_t l = 0; l < p->n_links; l++) {
        ck_assert_double_eq_tol(all[l], a[l] + b[l], 1e-9 * all[l]);
        used_by_both += a[l] > 0 && b[l] > 0;
        /* the time of all flows together, and in the whole run */
        ck_assert_double_le(all[l], p->links[l].capacity * busy[l] * 1e-12 * (1 + 1e-9));
        ck_assert_double_le(all[l], p->links[l].capacity * ty_s_from_ps(q.run->all.makespan));
    }
    ck_assert_uint_eq(used_by_both, 8); /* the NIC of each of four nodes, in and out */
    free(busy);
    free(all);
    free(a);
    free(b);
    quick_run_free(&q);
}

/* ---- steps of the others ---- */

TEST(a_background_job_goes_on_until_the_first_is_done)
{
    static const char yaml[] =
        CLUSTER("1") MODEL "layout: {gpus: 0-3, tensor: 2, global_batch: 128, zero: 1}\n"
                           "jobs:\n"
                           "  - {name: small, layout: {gpus: 4-7, global_batch: 16}%s}\n";
    char text[600];
    ty_ps own = 0;
    /* left to itself, or any number that is enough: the first job takes the same time */
    const char *const steps[] = {"", ", steps: 40", ", steps: 60", ", steps: 2"};
    for (uint32_t i = 0; i < TY_COUNT(steps); i++) {
        snprintf(text, sizeof(text), yaml, steps[i]);
        struct quick_run q = quick_run(text, NULL, SETS("run.steps=4"));
        const struct ty_other_job *o = other(&q, 0);
        own = i == 0 ? q.run->timeline.makespan : own;
        ck_assert_uint_eq(o->job->steps, i == 0 ? 0 : o->config.run.steps);
        ck_assert_uint_eq(o->early, i == 3);
        if (i < 3) {
            ck_assert_uint_gt(o->n_in_time, 3);
            ck_assert_uint_eq(q.run->timeline.makespan, own);
            ck_assert_double_ge(o->end_s, ty_s_from_ps(own));
        } else {
            ck_assert_uint_eq(o->n_in_time, 2);
            ck_assert_uint_lt(q.run->timeline.makespan, own);
        }
        quick_run_free(&q);
    }
}

TEST(three_jobs_and_twice_the_same_figures)
{
    static const char yaml[] = CLUSTER("1") MODEL
        "layout: {gpus: 0-3, tensor: 2, global_batch: 32}\n"
        "jobs:\n"
        "  - {name: b, layout: {gpus: 4-5}}\n"
        "  - {name: c, layout: {gpus: 6-7, tensor: 1}, schedule: {name: gpipe}}\n";
    struct quick_run q = quick_run(yaml, NULL, NULL), again = quick_run(yaml, NULL, NULL);
    struct quick_run two = quick_run(yaml, NULL, SETS("cluster.nics_per_node=8"));
    ck_assert_uint_eq(q.run->all.program->n_ranks, 32);
    ck_assert_uint_eq(q.run->all.program->n_tenants, 3);
    ck_assert_uint_eq(q.run->all.makespan, again.run->all.makespan);
    ck_assert_int_eq(
        memcmp(q.run->all.start, again.run->all.start, q.run->all.program->n_tasks * sizeof(ty_ps)),
        0);
    ck_assert_double_gt(q.figures.step_s, q.run->jobs->own_alone_s);
    ck_assert_double_eq(two.figures.step_s, two.run->jobs->own_alone_s);
    quick_run_free(&q);
    quick_run_free(&again);
    quick_run_free(&two);
}

TEST(figures_alone_are_those_of_the_whole_run)
{
    struct quick_run q = quick_run(mixed, NULL, NULL);
    struct ty_run *run = NULL;
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_run_new(&run, q.config, &err), 0);
    ck_assert_int_eq(ty_run_execute_folded(run, &err), 0);
    ck_assert_uint_eq(run->timeline.makespan, q.run->timeline.makespan);
    ty_run_free(run);
    quick_run_free(&q);
}

TY_SUITE("jobs")
