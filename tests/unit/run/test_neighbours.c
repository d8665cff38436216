/* test_neighbours.c - plans one step away: what stands beside a run is what comes out when it is
 * typed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/search/neighbours.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char piped[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, layers: 16, sequence: 2048}\n"
                            "framework: {preset: megatron-deepspeed}\n"
                            "layout: {tensor: 2, pipeline: 4, zero: 1, global_batch: 16}\n";

static const char sharded[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                              "model: {preset: llama-7b, layers: 8, sequence: 2048}\n"
                              "framework: {preset: fsdp}\n"
                              "layout: {zero: 3, data: 16, micro_batch: 2, global_batch: 64}\n";

struct found {
    struct quick_run run;
    struct ty_arena arena;
    struct ty_neighbours all;
};

static struct found find(const char *yaml, const char *const *sets, uint32_t threads)
{
    struct found f = {.run = quick_run(yaml, NULL, sets)};
    struct ty_err err = TY_ERR_NONE;
    ty_run_threads(f.run.run, threads);
    ck_assert_msg(ty_run_neighbours(f.run.run, false, &f.all, &f.arena, &err) == 0, "%s", err.text);
    return f;
}

static void release(struct found *f)
{
    quick_run_free(&f->run);
    ty_arena_release(&f->arena);
}

/* The neighbour that one setting makes; NULL: there is none. */
static const struct ty_neighbour *with(const struct found *f, const char *set)
{
    for (uint32_t i = 0; i < f->all.n; i++) {
        const struct ty_change *change = &f->all.item[i].change;
        if (change->n > 0 && strcmp(change->set[0], set) == 0) {
            return &f->all.item[i];
        }
    }
    return NULL;
}

/* Types every change over a run file, and compares. Returns how many there were. */
static uint32_t retype(const char *yaml, const char *const *sets)
{
    struct found f = find(yaml, sets, 0);
    for (uint32_t i = 0; i < f.all.n; i++) {
        const struct ty_neighbour *n = &f.all.item[i];
        const char *typed[TY_CHANGE_SETS + 4] = {NULL};
        size_t k = 0;
        for (; sets[k] != NULL; k++) {
            typed[k] = sets[k];
        }
        memcpy(&typed[k], n->change.set, n->change.n * sizeof(*typed));
        struct quick_run q = quick_run(yaml, NULL, typed);
        struct ty_bill bill;
        ty_run_fullest(q.run, &bill);
        const char *first = n->change.n > 0 ? n->change.set[0] : "as it is";
        ck_assert_msg(n->trial.step_s == q.figures.step_s, "%s: %.9g, typed %.9g", first,
                      n->trial.step_s, q.figures.step_s);
        ck_assert_msg(n->trial.peak_B == bill.total_B, "%s: %.9g B, typed %.9g", first,
                      n->trial.peak_B, bill.total_B);
        ck_assert_int_eq(n->trial.verdict, ty_memory_verdict(bill.total_B, bill.capacity_B));
        ck_assert(i == 0 || f.all.item[i - 1].trial.step_s <= n->trial.step_s);
        quick_run_free(&q);
    }
    ck_assert_uint_eq(f.all.item[f.all.own].change.n, 0);
    ck_assert_uint_eq(f.all.left_out, 0);
    const uint32_t n = f.all.n;
    release(&f);
    return n;
}

TEST(what_is_typed_takes_as_long_and_as_much_memory)
{
    ck_assert_uint_gt(retype(piped, SETS("run.seed=1")), 30);
    ck_assert_uint_gt(retype(sharded, SETS("run.seed=1")), 12);
}

TEST(keys_that_were_given_are_given_anew)
{
    ck_assert_uint_gt(
        retype(piped, SETS("layout.data=2", "schedule.name=interleaved", "schedule.chunks=2")), 30);
    ck_assert_uint_gt(retype(piped, SETS("layout.stage_layers=[4,4,5,3]", "run.steps=2")), 30);
}

TEST(the_usual_steps_are_there)
{
    struct found f = find(piped, SETS("run.seed=1"), 0);
    const char *const sets[] = {"layout.tensor=4",
                                "layout.tensor=1",
                                "layout.pipeline=8",
                                "layout.pipeline=2",
                                "layout.micro_batch=2",
                                "layout.recompute=full",
                                "layout.recompute=selective",
                                "layout.zero=0",
                                "layout.sequence_parallel=true",
                                "schedule.name=zb-v",
                                "schedule.name=gpipe",
                                "schedule.name=interleaved",
                                "framework.overlap_grad_reduce=true"};
    for (size_t i = 0; i < TY_COUNT(sets); i++) {
        ck_assert_msg(with(&f, sets[i]) != NULL, "%s is missing", sets[i]);
    }
    ck_assert_str_eq(with(&f, "layout.tensor=4")->change.was[0], "2");
    release(&f);
}

/* Half a micro-batch, a schedule for two chunks of one layer, or updates with stale weights. */
TEST(what_cannot_be_is_not_offered)
{
    struct found f = find(piped, SETS("model.layers=4"), 0);
    ck_assert_ptr_null(with(&f, "layout.micro_batch=0"));
    ck_assert_ptr_null(with(&f, "layout.pipeline=8"));
    ck_assert_ptr_null(with(&f, "schedule.name=zb-v"));
    ck_assert_ptr_null(with(&f, "schedule.name=pipedream"));
    ck_assert_ptr_null(with(&f, "layout.zero=2")); /* not of DeepSpeed beside a pipeline */
    ck_assert_ptr_nonnull(with(&f, "schedule.name=zb-1p"));
    release(&f);
    f = find(sharded, SETS("run.seed=1"), 0);
    ck_assert_ptr_null(with(&f, "schedule.name=gpipe"));
    release(&f);
}

TEST(what_does_not_fit_is_ranked_and_says_so)
{
    struct found f = find(piped, SETS("layout.global_batch=512", "layout.micro_batch=4"), 0);
    const struct ty_neighbour *gpipe = with(&f, "schedule.name=gpipe");
    ck_assert_ptr_nonnull(gpipe);
    ck_assert_int_eq(gpipe->trial.verdict, TY_VERDICT_SHORT);
    ck_assert_double_gt(gpipe->trial.peak_B, gpipe->trial.capacity_B);
    ck_assert_int_ne(f.all.item[f.all.own].trial.verdict, TY_VERDICT_SHORT);
    release(&f);
}

/* A large vocabulary's logits: the last stage should have fewer layers. */
TEST(layers_leave_the_stage_that_all_wait_for)
{
    struct found f = find(piped, SETS("model.vocabulary=96000"), 0);
    const struct ty_neighbour *moved = NULL;
    for (uint32_t i = 0; i < f.all.n; i++) {
        moved = f.all.item[i].topic == TY_NEIGHBOUR_BALANCE ? &f.all.item[i] : moved;
    }
    ck_assert_ptr_nonnull(moved);
    const struct ty_uint_list *layers = &moved->trial.config.layout.stage_layers;
    ck_assert_uint_eq(layers->n, 4);
    ck_assert_uint_eq(layers->item[0] + layers->item[1] + layers->item[2] + layers->item[3], 16);
    ck_assert_uint_lt(layers->item[3], 4);
    ck_assert_double_lt(moved->trial.step_s, 0.97 * f.run.figures.step_s);
    /* and no layer more or less on the last stage is better */
    for (int by = -1; by <= 1; by += 2) {
        char set[64];
        (void)snprintf(set, sizeof(set), "layout.stage_layers=[%u,%u,%u,%d]",
                       (unsigned)layers->item[0], (unsigned)layers->item[1],
                       (unsigned)layers->item[2] - (unsigned)by, (int)layers->item[3] + by);
        struct quick_run q = quick_run(piped, NULL, SETS("model.vocabulary=96000", set));
        ck_assert_double_ge(q.figures.step_s, moved->trial.step_s);
        quick_run_free(&q);
    }
    release(&f);
}

TEST(threads_change_nothing)
{
    char *text[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct quick_run q = quick_run(piped, NULL, SETS("run.jitter=3 %"));
        ty_run_threads(q.run, i == 0 ? 1 : 7);
        ck_assert_int_eq(ty_run_report(q.run, "explain", &text[i], NULL), 0);
        quick_run_free(&q);
    }
    ck_assert_str_eq(text[0], text[1]);
    ck_assert_ptr_nonnull(strstr(text[0], "as it is\n"));
    ty_text_free(text[0]);
    ty_text_free(text[1]);
}

/* Every rank of such a run draws its own durations: there is no fold, and thousands of ranks. */
TEST(large_runs_are_tried_without_dice)
{
    if (!suite_whole()) {
        return;
    }
    struct found f =
        find(piped, SETS("cluster.nodes=128", "layout.global_batch=4096", "run.jitter=3 %"), 0);
    struct quick_run calm =
        quick_run(piped, NULL, SETS("cluster.nodes=128", "layout.global_batch=4096"));
    ck_assert(f.all.no_noise);
    ck_assert_double_eq(f.all.item[f.all.own].trial.step_s, calm.figures.step_s);
    ck_assert_double_lt(calm.figures.step_s, f.run.figures.step_s);
    quick_run_free(&calm);
    release(&f);
}

/* A run of which no member can stand for the others, and too many tasks for forty such runs. */
TEST(of_runs_that_cannot_fold_only_some_are_tried)
{
    if (!suite_whole()) {
        return;
    }
    struct found f = find(
        piped,
        SETS("cluster.nodes=128", "layout.global_batch=4096", "cluster.exceptions=[gpu 5 at 80 %]"),
        0);
    ck_assert(!f.all.no_noise);
    ck_assert_uint_gt(f.all.left_out, 0);
    ck_assert_uint_ge(f.all.n, 9);
    release(&f);
}

static const char sparse[] = "cluster: {preset: dgx-h100, nodes: 2}\n"
                             "model: {preset: qwen2-57b-a14b, layers: 8, sequence: 2048}\n"
                             "layout: {expert: 16, pipeline: 1, zero: 1, global_batch: 16}\n";

/* What a stack can do for experts is offered where it is allowed. */
TEST(experts_are_tried_with_other_dispatchers)
{
    struct found f = find(sparse, NULL, 0);
    ck_assert_ptr_nonnull(with(&f, "framework.dispatcher=deepep"));
    ck_assert_ptr_nonnull(with(&f, "framework.dispatcher=allgather"));
    ck_assert_ptr_nonnull(with(&f, "framework.shared_overlap=true"));
    ck_assert_ptr_nonnull(with(&f, "layout.recompute=moe_act"));
    ck_assert_ptr_null(with(&f, "framework.dispatcher=alltoall"));
    release(&f);
    f = find(sparse, SETS("framework.shared_overlap=true"), 0);
    ck_assert_ptr_null(with(&f, "framework.dispatcher=allgather"));
    release(&f);
    f = find(piped, NULL, 0);
    ck_assert_ptr_null(with(&f, "framework.dispatcher=deepep"));
    release(&f);
    ck_assert_uint_gt(retype(sparse, SETS("run.seed=1")), 10);
}

TY_SUITE("neighbours")
