/* test_routed.c - steps of models whose experts have different loads: what waits for whom, and what
 * that costs. */
#include <stdio.h>
#include <string.h>

#include "sim/core/execute/fold.h"
#include "sim/run/bill.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

#define LAYERS  4u
#define EXPERTS 16u
#define RANKS   8u

/* Two experts a rank, many tokens, no host that sets the pace. */
static const char small[] =
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "model: {layers: 4, hidden: 2048, heads: 16, ffn: 4096, vocabulary: 32000, sequence: 4096,\n"
    "  mlp: swiglu, experts: 16, experts_per_token: 2, expert_ffn: 4096}\n"
    "layout: {expert: 8, global_batch: 16}\n"
    "framework: {layer_floor: 0 s}\n";

static double step_s(const struct quick_run *q)
{
    return q->figures.step_s;
}

/* A run whose routing is what `set` says, and one more setting or NULL. */
static struct quick_run run_with(const char *set, const char *more)
{
    const char *const sets[] = {set, more, NULL};
    return quick_run(small, NULL, sets);
}

/* Loads in which rank hot[layer] has `x` times the rows of the mean, the others what is left. */
static struct quick_run run_of(const uint32_t hot[LAYERS], double x, const char *more)
{
    struct temp_dir dir;
    char set[256];
    temp_dir_make(&dir);
    FILE *file = fopen(temp_dir_file(&dir, "loads.csv"), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("layer,expert,load\n", file), 0);
    for (uint32_t i = 0; i < LAYERS; i++) {
        for (uint32_t e = 0; e < EXPERTS; e++) {
            const double load = e / (EXPERTS / RANKS) == hot[i] ? x : (RANKS - x) / (RANKS - 1);
            ck_assert_int_ge(fprintf(file, "%u,%u,%.9f\n", (unsigned)i, (unsigned)e, load), 0);
        }
    }
    ck_assert_int_eq(fclose(file), 0);
    snprintf(set, sizeof(set), "run.routing=file:%s", dir.file);
    const struct quick_run q = run_with(set, more);
    temp_dir_remove(&dir);
    return q;
}

TEST(balanced_steps_know_no_seed_and_equal_loads_are_balanced)
{
    static const uint32_t none[LAYERS] = {0, 0, 0, 0};
    struct quick_run a = run_with("run.seed=1", NULL), b = run_with("run.seed=2", NULL);
    struct quick_run c = run_of(none, 1, NULL);
    ck_assert_uint_eq(a.run->timeline.makespan, b.run->timeline.makespan);
    ck_assert_uint_eq(a.run->timeline.makespan, c.run->timeline.makespan);
    ck_assert(ty_program_folds(&a.run->lowered.program));
    ck_assert(ty_program_folds(&c.run->lowered.program));
    ck_assert_double_eq(a.run->stats.waited_s, 0);
    quick_run_free(&a);
    quick_run_free(&b);
    quick_run_free(&c);
}

TEST(drawn_steps_belong_to_their_seed)
{
    struct quick_run a = run_with("run.routing=dirichlet:0.5", "run.seed=1");
    struct quick_run b = run_with("run.routing=dirichlet:0.5", "run.seed=1");
    struct quick_run c = run_with("run.routing=dirichlet:0.5", "run.seed=2");
    ck_assert_uint_eq(a.run->timeline.makespan, b.run->timeline.makespan);
    ck_assert_uint_ne(a.run->timeline.makespan, c.run->timeline.makespan);
    ck_assert(!ty_program_folds(&a.run->lowered.program));
    quick_run_free(&a);
    quick_run_free(&b);
    quick_run_free(&c);
}

/* In every layer all wait for its slowest rank: whether that is always the same one, or another in
 * each, the step is as long, though in the second case every rank has as much to do in all. */
TEST(a_step_costs_the_sum_of_the_maxima_of_its_layers)
{
    static const uint32_t same[LAYERS] = {3, 3, 3, 3}, other[LAYERS] = {0, 2, 4, 6};
    struct quick_run even = run_of(same, 1, NULL);
    struct quick_run a = run_of(same, 2, NULL), b = run_of(other, 2, NULL);
    ck_assert_double_gt(step_s(&a), 1.1 * step_s(&even));
    ck_assert_double_eq_tol(step_s(&b), step_s(&a), 0.02 * step_s(&a));
    ck_assert_double_gt(b.run->stats.waited_s, 0.05 * step_s(&b));
    quick_run_free(&even);
    quick_run_free(&a);
    quick_run_free(&b);
}

/* Seconds of a step that a rank spends on routed operators and exchanges. */
static double routed_s(const struct quick_run *q)
{
    const struct ty_program *p = &q->run->lowered.program;
    struct ty_span_cursor cursor = ty_spans_of(&q->run->timeline, 0);
    struct ty_span span;
    double sum = 0;
    while (ty_span_next(&cursor, &span)) {
        if (strncmp(span.kind->name, "experts", 7) == 0 ||
            (ty_kind_bucket(p, span.kind) == TY_BUCKET_EXPOSED_EXPERT &&
             strcmp(span.kind->name, "counts") != 0)) {
            sum += ty_s_from_ps(span.dur);
        }
    }
    return sum;
}

/* step x (1 + phi (x - 1)), phi the share of routed work and exchanges; latencies, and weights that
 * are read or added up, are in phi and do not grow. */
TEST(a_step_grows_by_what_its_fullest_ranks_have_more)
{
    static const uint32_t hot[LAYERS] = {0, 2, 4, 6};
    struct quick_run even = run_of(hot, 1, NULL);
    const double phi = routed_s(&even) / step_s(&even);
    ck_assert_double_gt(phi, 0.2);
    for (double x = 1.2; x < 3; x += 0.6) {
        struct quick_run q = run_of(hot, x, NULL);
        const double closed = step_s(&even) * (1 + phi * (x - 1));
        ck_assert_msg(step_s(&q) < 1.01 * closed && step_s(&q) > 0.94 * closed,
                      "x %.1f: %.4f s for %.4f", x, step_s(&q), closed);
        quick_run_free(&q);
    }
    quick_run_free(&even);
}

/* What is waited is idle time of others, not time of links: faster ones change nothing of it. */
TEST(all_who_wait_are_told_apart_from_links)
{
    static const uint32_t same[LAYERS] = {3, 3, 3, 3};
    struct quick_run q = run_of(same, 2, NULL);
    const struct ty_rank_stats *rank = q.run->stats.rank;
    for (uint32_t r = 0; r < RANKS; r++) {
        ck_assert_uint_le(rank[r].waited, rank[r].bucket[TY_BUCKET_EXPOSED_EXPERT]);
        ck_assert(r == 3 || rank[r].waited > 10 * rank[3].waited);
    }
    quick_run_free(&q);
}

/* What is above the room is dropped, what is below it is filled: all experts work alike. */
TEST(padded_steps_know_no_routing)
{
    static const char *const pad[] = {"framework.capacity=1.5", "framework.pad_to_capacity=true",
                                      "framework.dispatcher=alltoall", "run.routing=dirichlet:1",
                                      NULL};
    static const char *const even[] = {"framework.capacity=1.5", "framework.pad_to_capacity=true",
                                       "framework.dispatcher=alltoall", NULL};
    struct quick_run a = quick_run(small, NULL, even), b = quick_run(small, NULL, pad);
    ck_assert_uint_eq(a.run->timeline.makespan, b.run->timeline.makespan);
    ck_assert_double_eq(b.figures.expert_imbalance, 1);
    ck_assert_double_gt(b.figures.expert_dropped, 0);
    quick_run_free(&a);
    quick_run_free(&b);
}

TEST(imbalance_is_the_mean_over_groups)
{
    struct quick_run q = run_with("run.routing=dirichlet:0.5", "cluster.nodes=2");
    const struct ty_stage_plan *stage = &q.run->lowered.stage[0];
    double sum = 0;
    ck_assert_uint_eq(stage->n_loads, LAYERS);
    for (uint32_t i = 0; i < LAYERS; i++) {
        for (uint32_t group = 0; group < 2; group++) {
            double most = 0;
            for (uint32_t r = 0; r < RANKS; r++) {
                const double rows = stage->load[i].rows[group * RANKS + r];
                most = rows > most ? rows : most;
            }
            sum += most / stage->load[i].mean;
        }
    }
    ck_assert_double_eq_tol(q.figures.expert_imbalance, sum / (2 * LAYERS), 1e-12);
    quick_run_free(&q);
}

TEST(a_capacity_drops_what_is_above_it)
{
    static const uint32_t same[LAYERS] = {3, 3, 3, 3};
    struct quick_run even = run_of(same, 1, NULL);
    struct quick_run all = run_of(same, 2, NULL);
    struct quick_run some = run_of(same, 2, "framework.capacity=1.25");
    const struct ty_layer_load *load = some.run->lowered.stage[0].load;
    /* of a rank with twice the mean three quarters of the mean go: of all, an eighth of that */
    ck_assert_double_eq_tol(load->dropped, 0.75 / RANKS, 1e-3);
    ck_assert_double_eq_tol(load->rows[3] / load->mean, 1.25, 1e-3);
    ck_assert_double_lt(step_s(&some), step_s(&all));
    ck_assert_double_gt(step_s(&some), step_s(&even));
    struct quick_run half =
        quick_run(small, NULL, (const char *const[]){"framework.capacity=0.5", NULL});
    ck_assert_double_eq_tol(half.figures.expert_dropped, 0.5, 1e-3);
    quick_run_free(&half);
    quick_run_free(&even);
    quick_run_free(&all);
    quick_run_free(&some);
}

/* Bytes of the tensors that are as large as what comes to the experts, and of the buffer, which has
 * room for 1.2 times that. */
static void routed_B(const struct quick_run *q, double *exact, double *buffer)
{
    static const char *const names[] = {"rows of the experts", "experts' gate", "experts' up",
                                        "experts' gated output", "gradients in the experts"};
    struct ty_bill bill;
    ty_run_bill(q->run, 0, &bill);
    ck_assert_int_eq(bill.kind, TY_PEAK_LAYER);
    *exact = *buffer = 0;
    for (uint32_t i = 0; i < bill.n_parts; i++) {
        for (size_t k = 0; k < TY_COUNT(names); k++) {
            *exact += strcmp(bill.part[i].what, names[k]) == 0 ? bill.part[i].bytes : 0;
        }
        if (strcmp(bill.part[i].what, "gradients of rows that arrive") == 0) {
            *buffer = bill.part[i].bytes;
        }
    }
    ck_assert_double_gt(*buffer, 0);
}

static const struct ty_bill_item *rows_above(const struct quick_run *q, struct ty_bill *bill)
{
    ty_run_bill(q->run, 0, bill);
    for (uint32_t i = 0; i < bill->n; i++) {
        if (strcmp(bill->item[i].what, "rows above the mean") == 0) {
            return &bill->item[i];
        }
    }
    return NULL;
}

TEST(the_fullest_rank_counts_for_memory)
{
    static const uint32_t same[LAYERS] = {3, 3, 3, 3}, other[LAYERS] = {1, 3, 5, 7};
    static const char small_head[] = "model.vocabulary=1024";
    struct quick_run even = run_of(same, 1, small_head), twice = run_of(same, 2, small_head);
    struct quick_run little = run_of(same, 1.1, small_head), one = run_of(other, 2, small_head);
    struct ty_bill bill, mean;
    double exact, buffer;
    routed_B(&even, &exact, &buffer);
    ck_assert_ptr_null(rows_above(&even, &mean));
    const struct ty_bill_item *item = rows_above(&twice, &bill);
    ck_assert_ptr_nonnull(item);
    ck_assert_double_eq_tol(item->bytes, exact + (2 / 1.2 - 1) * buffer, 1e-3 * exact);
    ck_assert_str_eq(item->note, "rank 3: x 2.00 of a balanced load");
    ck_assert_double_gt(bill.total_B, mean.total_B + item->bytes); /* fragmentation grows too */
    item = rows_above(&little, &bill);
    ck_assert_ptr_nonnull(item);
    ck_assert_double_eq_tol(item->bytes, 0.1 * exact, 1e-3 * exact);
    item = rows_above(&one, &bill); /* fullest in one layer of four: the sum spreads less */
    ck_assert_ptr_nonnull(item);
    ck_assert_ptr_nonnull(strstr(item->note, "x 1.14 of"));
    quick_run_free(&even);
    quick_run_free(&twice);
    quick_run_free(&little);
    quick_run_free(&one);
}

TY_SUITE("routed")
