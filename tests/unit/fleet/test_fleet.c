/* test_fleet.c - goodput in closed form and played, beside tables that other programs made. */
#include <math.h>
#include <string.h>

#include "sim/base/compiler.h"
#include "sim/fleet/days.h"
#include "sim/fleet/fleet.h"
#include "sim/fleet/renewal.h"
#include "sim/fleet/stragglers.h"
#include "sim/run/pass_times.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

/* Jobs of 256 to 131,072 GPUs with four kinds of checkpoints: goodput at tau to six digits, played
 * for 40,000 failures, with its standard error; the best interval, Young's and Daly's. */
static const struct golden {
    double mtbf, stall, durable, wait, restart, tau, goodput, played, error, best, young, daly;
} golden[] = {
    {712968.750, 120, 0, 0, 600, 13081, 0.980939, 0.980951, 0.000058, 13001.1203, 13080.9977,
     13001.1200},
    {712968.750, 30, 0, 0, 600, 6540, 0.990021, 0.989975, 0.000026, 6520.5141, 6540.4988,
     6520.5141},
    {712968.750, 5, 60, 0, 600, 2670, 0.995338, 0.995341, 0.000013, 2666.8152, 2670.1475,
     2666.8152},
    {712968.750, 0.5, 40, 120, 300, 844, 0.998172, 0.998179, 0.000006, 844.0415, 844.3748,
     844.0415},
    {178242.188, 120, 0, 0, 600, 6540, 0.960512, 0.960556, 0.000106, 6460.7447, 6540.4988,
     6460.7435},
    {178242.188, 30, 0, 0, 600, 3270, 0.978465, 0.978352, 0.000078, 3250.2801, 3270.2494,
     3250.2800},
    {178242.188, 5, 60, 0, 600, 1335, 0.988860, 0.988843, 0.000036, 1331.7425, 1335.0737,
     1331.7425},
    {178242.188, 0.5, 40, 120, 300, 422, 0.995062, 0.995030, 0.000022, 421.8541, 422.1874,
     421.8541},
    {44560.547, 120, 0, 0, 600, 3270, 0.915959, 0.915712, 0.000265, 3190.7435, 3270.2494,
     3190.7387},
    {44560.547, 30, 0, 0, 600, 1635, 0.950861, 0.950929, 0.000119, 1615.1862, 1635.1247, 1615.1859},
    {44560.547, 5, 60, 0, 600, 668, 0.970611, 0.970690, 0.000109, 664.2077, 667.5369, 664.2077},
    {44560.547, 0.5, 40, 120, 300, 211, 0.985052, 0.985034, 0.000058, 210.7605, 211.0937, 210.7605},
    {11140.137, 120, 0, 0, 600, 1635, 0.815064, 0.814031, 0.000591, 1556.1225, 1635.1247,
     1556.1032},
    {11140.137, 30, 0, 0, 600, 818, 0.879695, 0.880076, 0.000450, 797.6859, 817.5624, 797.6847},
    {11140.137, 5, 60, 0, 600, 334, 0.914518, 0.914114, 0.000378, 330.4435, 333.7684, 330.4434},
    {11140.137, 0.5, 40, 120, 300, 106, 0.950541, 0.950291, 0.000223, 105.2138, 105.5468, 105.2138},
    {6490.283, 120, 0, 0, 600, 1248, 0.747148, 0.746631, 0.000770, 1169.3809, 1248.0657, 1169.3477},
    {6490.283, 30, 0, 0, 600, 624, 0.826786, 0.827038, 0.000719, 604.1952, 624.0328, 604.1931},
    {6490.283, 5, 60, 0, 600, 255, 0.868311, 0.867694, 0.000500, 251.4380, 254.7603, 251.4379},
    {6490.283, 0.5, 40, 120, 300, 81, 0.920217, 0.920130, 0.000305, 80.2293, 80.5623, 80.2293},
    {811.285, 120, 0, 0, 600, 441, 0.260322, 0.259521, 0.001761, 365.1542, 441.2579, 364.8839},
    {811.285, 30, 0, 0, 600, 221, 0.358604, 0.357620, 0.000896, 201.0989, 220.6289, 201.0822},
    {811.285, 5, 60, 0, 600, 90, 0.395853, 0.396994, 0.001413, 86.7693, 90.0714, 86.7689},
    {811.285, 0.5, 40, 120, 300, 28, 0.553026, 0.552599, 0.001447, 28.1507, 28.4831, 28.1507},
    {1080.000, 120, 0, 0, 600, 509, 0.342140, 0.342767, 0.001456, 432.4621, 509.1169, 432.2596},
    {1080.000, 30, 0, 0, 600, 255, 0.448599, 0.447722, 0.000968, 234.9638, 254.5584, 234.9513},
    {1080.000, 5, 60, 0, 600, 104, 0.492158, 0.491751, 0.000942, 100.6168, 103.9230, 100.6164},
    {1080.000, 0.5, 40, 120, 300, 33, 0.637142, 0.637031, 0.001198, 32.5309, 32.8634, 32.5309},
};

static struct ty_renewal renewal_of(const struct golden *g)
{
    return (struct ty_renewal){.rate = 1 / g->mtbf,
                               .every_s = g->tau,
                               .stall_s = g->stall,
                               .durable_after_s = g->durable,
                               .wait_s = g->wait,
                               .restart_s = g->restart,
                               .store_every = 1};
}

static struct ty_days days_of(const struct ty_renewal *r)
{
    return (struct ty_days){.rate = r->rate,
                            .shape = 1,
                            .every_s = r->every_s,
                            .stall_s = r->memory_stall_s,
                            .store_every = r->store_every,
                            .store_stall_s = r->stall_s,
                            .durable_after_s = r->durable_after_s,
                            .from_memory = r->from_memory,
                            .n_causes = 1,
                            .cause = {{"nodes", r->rate, r->wait_s, true}},
                            .restart_s = r->restart_s,
                            .memory_restart_s = r->memory_restart_s,
                            .planned_every_s = r->stops > 0 ? 1 / r->stops : 0,
                            .spares = TY_FLEET_SPARES_ENOUGH};
}

static double sum_of(const struct ty_renewal_shares *s)
{
    return s->goodput + s->checkpoints + s->lost_work + s->wait + s->restart;
}

TEST(closed_form_is_that_of_the_table)
{
    for (size_t i = 0; i < TY_COUNT(golden); i++) {
        const struct golden *g = &golden[i];
        const struct ty_renewal r = renewal_of(g);
        const struct ty_renewal_shares s = ty_renewal_shares(&r);
        ck_assert_double_eq_tol(s.goodput, g->goodput, 5.01e-7);
        ck_assert_double_eq_tol(sum_of(&s), 1, 1e-12);
        ck_assert_double_eq_tol(ty_best_interval(&r), g->best, 1e-4 + 1e-6 * g->best);
        ck_assert_double_eq_tol(ty_young_interval(r.rate, r.stall_s), g->young,
                                1e-4 + 1e-6 * g->young);
        ck_assert_double_eq_tol(ty_daly_interval(r.rate, r.stall_s), g->daly,
                                1e-4 + 1e-6 * g->daly);
    }
}

/* The form of Kokolis et al. (2025) leaves out all of second order: it is good to 4e-3 where
 * little is lost, to 7e-3 down to a goodput of 0.8. */
static double first_order_of(const struct golden *g)
{
    const double lost = (g->restart + g->wait + g->tau / 2) / g->mtbf;
    return (1 - lost) / (1 + g->stall / g->tau);
}

TEST(first_order_is_near_where_little_is_lost)
{
    uint32_t near = 0;
    for (size_t i = 0; i < TY_COUNT(golden); i++) {
        const struct ty_renewal r = renewal_of(&golden[i]);
        const double goodput = ty_renewal_shares(&r).goodput;
        const double apart = fabs(first_order_of(&golden[i]) - goodput);
        near += goodput > 0.8;
        ck_assert(goodput <= 0.85 || apart < 4e-3);
        ck_assert(goodput <= 0.8 || apart < 7e-3);
    }
    ck_assert_uint_eq(near, 19);
}

static double goodput_at(struct ty_renewal r, double every_s)
{
    r.every_s = every_s;
    return ty_renewal_shares(&r).goodput;
}

TEST(no_other_interval_is_better)
{
    for (size_t i = 0; i < TY_COUNT(golden); i++) {
        struct ty_renewal r = renewal_of(&golden[i]);
        for (int two = 0; two < 2; two++) {
            const double best = ty_best_interval(&r), most = goodput_at(r, best);
            for (double x = 0.5; x < 2; x *= 1.01) {
                ck_assert_double_ge(most, goodput_at(r, x * best) - 1e-12);
            }
            ck_assert_double_gt(most, goodput_at(r, best * 1.01));
            ck_assert_double_gt(most, goodput_at(r, best / 1.01));
            r.store_every = 7;
            r.memory_stall_s = r.stall_s / 20;
            r.from_memory = 0.8;
            r.memory_restart_s = r.restart_s / 3;
        }
    }
}

TEST(days_come_to_what_the_closed_form_says)
{
    for (size_t i = 0; i < TY_COUNT(golden); i++) {
        const struct ty_renewal r = renewal_of(&golden[i]);
        const struct ty_renewal_shares s = ty_renewal_shares(&r);
        const struct ty_days d = days_of(&r);
        struct ty_days_mean m;
        ck_assert_int_eq(ty_days_mean(&d, 200 / r.rate, 1 + i, 50, 1, NULL, &m), 0);
        ck_assert_double_eq_tol(m.share[TY_FLEET_WORK], s.goodput, 4 * m.standard_error);
        /* The other shares have about the spread of the goodput, which they leave. */
        ck_assert_double_eq_tol(m.share[TY_FLEET_CHECKPOINT], s.checkpoints, 4 * m.standard_error);
        ck_assert_double_eq_tol(m.share[TY_FLEET_LOST], s.lost_work, 4 * m.standard_error);
        ck_assert_double_eq_tol(m.share[TY_FLEET_RESTART], s.restart, 4 * m.standard_error);
        double all = 0;
        for (int k = 0; k < TY_N_FLEET_STATES; k++) {
            all += m.share[k];
        }
        ck_assert_double_eq_tol(all, 1, 1e-12);
    }
}

/* Checkpoints to memory every 120 s, of which every k-th goes to storage, 60,000 failures each by
 * another program, whose error is about 2e-4. */
TEST(two_levels_are_those_of_the_table)
{
    static const struct {
        double q, played;
        uint32_t k;
    } rows[] = {{0, 0.889891, 10}, {0.9, 0.962212, 10}, {0.99, 0.970247, 60}, {1, 0.973777, 60}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_renewal r = {.rate = 1 / 11124.0,
                                     .every_s = 120,
                                     .stall_s = 5,
                                     .restart_s = 600,
                                     .memory_stall_s = 0.5,
                                     .memory_restart_s = 180,
                                     .from_memory = rows[i].q,
                                     .store_every = rows[i].k};
        const struct ty_renewal_shares s = ty_renewal_shares(&r);
        ck_assert_double_eq_tol(s.goodput, rows[i].played, 8e-4);
        ck_assert_double_eq_tol(sum_of(&s), 1, 1e-12);
        const struct ty_days d = days_of(&r);
        struct ty_days_mean m;
        ck_assert_int_eq(ty_days_mean(&d, 1000 / r.rate, 3, 40, 1, NULL, &m), 0);
        ck_assert_double_eq_tol(m.share[TY_FLEET_WORK], s.goodput, 4 * m.standard_error);
        ck_assert_double_eq_tol(m.share[TY_FLEET_RESTART], s.restart, 4 * m.standard_error);
    }
}

/* Stops that save the work, from one between two checkpoints to one in many; the last rows have no
 * checkpoints, and no failures. Without what stops save the first rows are off by 16 errors. */
TEST(planned_stops_save_what_is_done)
{
    static const struct ty_renewal rows[] = {
        {1 / 11143.0, 1800, 0.5, 3, 600, 240, 5 / 86400.0, 1, 0, 0, 0},
        {1 / 11143.0, 7200, 60, 600, 600, 240, 20 / 86400.0, 1, 0, 0, 0},
        {1 / 3000.0, 900, 30, 0, 100, 600, 1 / 4000.0, 1, 0, 0, 0},
        {1 / 3000.0, 600, 30, 0, 100, 600, 1 / 1000.0, 1, 0, 0, 0},
        {1 / 3000.0, 300, 60, 0, 60, 600, 1 / 2000.0, 8, 5, 0.7, 90},
        {1 / 3000.0, 300, 60, 0, 60, 600, 1 / 9000.0, 20, 5, 1, 90},
        {1 / 3000.0, 300, 60, 0, 60, 600, 1 / 500.0, 3, 5, 0, 90},
        {1 / 3000.0, INFINITY, 60, 0, 60, 600, 1 / 2000.0, 1, 0, 0, 0},
        {0, 300, 60, 0, 0, 0, 1 / 700.0, 2, 10, 0, 0},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_renewal *r = &rows[i];
        const struct ty_renewal_shares s = ty_renewal_shares(r);
        const struct ty_days d = days_of(r);
        struct ty_days_mean m;
        ck_assert_double_eq_tol(sum_of(&s), 1, 1e-12);
        ck_assert_int_eq(ty_days_mean(&d, 2000 / (r->rate + r->stops), 1 + i, 100, 1, NULL, &m), 0);
        const double near = 4 * m.standard_error;
        ck_assert_double_eq_tol(m.share[TY_FLEET_WORK], s.goodput, near);
        ck_assert_double_eq_tol(m.share[TY_FLEET_CHECKPOINT], s.checkpoints, near);
        ck_assert_double_eq_tol(m.share[TY_FLEET_LOST], s.lost_work, near);
        ck_assert_double_eq_tol(m.share[TY_FLEET_RESTART], s.restart, near);
        const double best = ty_best_interval(r);
        for (double x = 0.5; r->rate > 0 && x < 2; x *= 1.01) {
            ck_assert_double_ge(goodput_at(*r, best), goodput_at(*r, x * best) - 1e-12);
        }
    }
}

/* Evaluations take their share of the work that is kept, and of nothing else. */
TEST(evaluations_are_a_share_of_the_work)
{
    struct ty_days d = {.rate = 1 / 3000.0,
                        .n_causes = 1,
                        .cause = {{"all", 1 / 3000.0, 60, 0, 0}},
                        .shape = 1,
                        .every_s = 300,
                        .store_stall_s = 20,
                        .store_every = 1,
                        .restart_s = 100,
                        .spares = TY_FLEET_SPARES_ENOUGH};
    struct ty_days_mean without, with;
    ck_assert_int_eq(ty_days_mean(&d, 1e6, 1, 10, 1, NULL, &without), 0);
    d.evaluation = 0.1;
    ck_assert_int_eq(ty_days_mean(&d, 1e6, 1, 10, 1, NULL, &with), 0);
    const double kept = without.share[TY_FLEET_WORK];
    ck_assert_double_eq_tol(with.share[TY_FLEET_WORK], 0.9 * kept, 1e-12);
    ck_assert_double_eq_tol(with.share[TY_FLEET_EVALUATION], 0.1 * kept, 1e-12);
    ck_assert_double_eq(with.share[TY_FLEET_LOST], without.share[TY_FLEET_LOST]);
}

/* One GPU's forward passes over a batch are those of its step; through two stages they
 * take the fill, too. */
TEST(an_evaluation_takes_its_forward_passes)
{
    static const char one[] = "cluster: {preset: dgx-h100, nodes: 1}\n"
                              "model: {layers: 4, hidden: 2048, heads: 16, ffn: 8192,\n"
                              "  vocabulary: 32000, sequence: 2048}\n"
                              "layout: {gpus: [0], global_batch: 8}\n";
    static const char *const two[] = {"layout.gpus=[0-1]", "layout.pipeline=2", NULL};
    struct quick_run a = quick_run(one, NULL, NULL), b = quick_run(one, NULL, two);
    const double forward = a.figures.bucket_s[TY_BUCKET_COMPUTE_FORWARD];
    ck_assert_double_eq_tol(ty_stage_times_evaluation(a.run, 8), forward, 1e-6 * forward);
    ck_assert_double_eq_tol(ty_stage_times_evaluation(a.run, 3), 3 * forward / 8, 1e-6 * forward);
    const struct ty_rank_stats *rank = b.run->stats.rank;
    const double first = ty_s_from_ps(rank[0].bucket[TY_BUCKET_COMPUTE_FORWARD]) / 8;
    const double last = ty_s_from_ps(rank[1].bucket[TY_BUCKET_COMPUTE_FORWARD]) / 8;
    const double all = first + 8 * last; /* which has the head */
    ck_assert_double_gt(last, first);
    ck_assert_double_eq_tol(ty_stage_times_evaluation(b.run, 8), all, 1e-6 * all);
    quick_run_free(&a);
    quick_run_free(&b);
}

/* The share of stops is what was asked for, however much of the time is spent in failures. */
TEST(as_many_stops_as_were_planned)
{
    const struct ty_days d = {.rate = 1 / 3000.0,
                              .shape = 0.7,
                              .every_s = 300,
                              .store_every = 1,
                              .store_stall_s = 10,
                              .n_causes = 1,
                              .cause = {{"nodes", 1 / 3000.0, 3000, true}},
                              .restart_s = 600,
                              .repair_s = 20000,
                              .spares = 2,
                              .planned_every_s = 5000,
                              .planned_s = 1000};
    struct ty_days_mean m;
    ck_assert_int_eq(ty_days_mean(&d, 1e8, 1, 20, 1, NULL, &m), 0);
    ck_assert_double_eq_tol(m.share[TY_FLEET_PLANNED], 1000 / 6000.0, 1e-3);
}

TEST(nothing_fails)
{
    struct ty_renewal r = {.every_s = 1800, .stall_s = 30, .restart_s = 600, .store_every = 1};
    ck_assert(ty_renewal_shares(&r).goodput == 1800.0 / 1830.0);
    ck_assert(isinf(ty_best_interval(&r)));
    const struct ty_days d = days_of(&r);
    struct ty_days_mean m;
    ck_assert_int_eq(ty_days_mean(&d, 1830.0 * 1000, 1, 2, 1, NULL, &m), 0);
    ck_assert_double_eq_tol(m.share[TY_FLEET_WORK], 1800.0 / 1830.0, 1e-12);
    ck_assert_double_eq(m.standard_error, 0);
    r.every_s = INFINITY;
    ck_assert(ty_renewal_shares(&r).goodput == 1);
}

/* Nodes, spares, hours between failures of a node and of a repair; the share of time without
 * enough nodes. */
TEST(spares_follow_erlang)
{
    static const struct {
        uint32_t nodes, spares;
        double node_h, repair_h, share;
    } rows[] = {{2048, 4, 6332.4538, 24, 0.46690583},  {2048, 8, 6332.4538, 24, 0.16085771},
                {2048, 14, 6332.4538, 24, 0.00732523}, {2048, 20, 6332.4538, 24, 0.00004074},
                {32, 0, 6332.4538, 24, 0.10816210},    {32, 1, 6332.4538, 24, 0.00651621},
                {1536, 10, 3692.3077, 48, 0.49376367}, {1536, 30, 3692.3077, 48, 0.00533103}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double load = rows[i].nodes * rows[i].repair_h / rows[i].node_h;
        ck_assert_double_eq_tol(ty_erlang_loss(rows[i].spares + 1, load), rows[i].share, 2e-8);
        const struct ty_days d = {
            .rate = rows[i].nodes / rows[i].node_h / 3600,
            .shape = 1,
            .every_s = INFINITY,
            .store_every = 1,
            .n_causes = 1,
            .cause = {{"nodes", rows[i].nodes / rows[i].node_h / 3600, 0, true}},
            .repair_s = rows[i].repair_h * 3600,
            .spares = rows[i].spares};
        struct ty_days_mean m;
        ck_assert_int_eq(ty_days_mean(&d, 2000 / d.rate, 5, 40, 1, NULL, &m), 0);
        /* It begins with all of them. */
        ck_assert_double_eq_tol(m.share[TY_FLEET_SPARES], rows[i].share,
                                0.03 * rows[i].share + 3e-4);
    }
}

static void check_order(void *arg, enum ty_fleet_state state, double start_s, double end_s,
                        double lost_s, double begun_s)
{
    (void)begun_s;
    double *const last = arg;
    ck_assert_double_eq(start_s, *last);
    ck_assert_double_gt(end_s, start_s);
    ck_assert(lost_s == 0 || state == TY_FLEET_WORK);
    *last = end_s;
}

TEST(a_history_has_no_holes)
{
    const struct ty_days d = {
        .rate = 1 / 20000.0,
        .shape = 0.7,
        .every_s = 900,
        .stall_s = 20,
        .store_every = 3,
        .store_stall_s = 40,
        .from_memory = 0.5,
        .n_causes = 2,
        .cause = {{"nodes", 0.9 / 20000, 600, true}, {"job", 0.1 / 20000, 300, false}},
        .restart_s = 300,
        .memory_restart_s = 60,
        .repair_s = 86400,
        .spares = 4,
        .planned_every_s = 86000,
        .planned_s = 400};
    struct ty_days_sums sums;
    double last = 0, all = 0;
    ck_assert_int_eq(ty_days_play(&d, 90 * 86400.0, 1, 0, check_order, &last, &sums), 0);
    ck_assert_double_eq_tol(last, 90 * 86400.0, 1e-6);
    for (int i = 0; i < TY_N_FLEET_STATES; i++) {
        const bool not_asked = i == TY_FLEET_REPLICAS || i >= TY_FLEET_SLOW;
        ck_assert(not_asked ? sums.s[i] == 0 : sums.s[i] > 0);
        all += sums.s[i];
    }
    ck_assert_double_eq_tol(all, last, 1e-6);
    struct ty_days_mean one, two;
    ck_assert_int_eq(ty_days_mean(&d, 1e7, 1, 20, 1, NULL, &one), 0);
    ck_assert_int_eq(ty_days_mean(&d, 1e7, 1, 20, 2, NULL, &two), 0);
    ck_assert(memcmp(&one, &two, sizeof(one)) == 0);
}

/* Elastic jobs: rows with spares enough, too few of them, replicas without which the job waits,
 * failures of the whole job between, stops. Played within four standard errors, and within what
 * leaving out the time that others stand while one regroups comes to. */
TEST(replicas_leave_and_return_as_the_closed_form_says)
{
    static const struct {
        uint32_t replicas, nodes, spares;
        double least, regroup_s, job_per_day, planned_per_day, near;
    } rows[] = {{16, 32, TY_FLEET_SPARES_ENOUGH, 0.5, 1e-3, 0, 0, 0},
                {16, 32, TY_FLEET_SPARES_ENOUGH, 0.5, 60, 2, 2, 2e-4},
                {512, 1, TY_FLEET_SPARES_ENOUGH, 0.99, 30, 0.3, 0, 2e-4},
                {16, 32, 4, 0.5, 30, 0.3, 0, 1e-3},
                {512, 1, 8, 0.2, 30, 0.3, 0, 2e-4},
                {4, 128, TY_FLEET_SPARES_ENOUGH, 1, 30, 0.3, 0, 2e-4}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const uint32_t nodes = rows[i].replicas * rows[i].nodes;
        const struct ty_fleet_options o = {
            .failures_per_1000_node_days = 15,
            .job_failures_per_day = rows[i].job_per_day,
            .failure_shape = 1,
            .checkpoint = {.every_s = 900, .stall_s = 10, .store_every = 1},
            .detect_s = 300,
            .restart_s = 900,
            .spares = rows[i].spares,
            .repair_s = 86400,
            .drained = 0.8,
            .elastic = {true, rows[i].nodes, rows[i].regroup_s, rows[i].least},
            .planned = {rows[i].planned_per_day, 600}};
        struct ty_fleet_job job;
        ty_fleet_job(&o, nodes, 8 * nodes, &job);
        struct ty_days_mean m;
        ck_assert_int_eq(ty_days_mean(&job.days, 3650 * TY_DAY_S, 1 + i, 20, 1, NULL, &m), 0);
        double closed = 0, played = 0;
        for (int k = 0; k < TY_N_FLEET_STATES; k++) {
            ck_assert_double_eq_tol(m.share[k], job.share[k], 4 * m.standard_error + rows[i].near);
            closed += job.share[k];
            played += m.share[k];
        }
        ck_assert_double_eq_tol(closed, 1, 1e-12);
        ck_assert_double_eq_tol(played, 1, 1e-9);
        ck_assert_double_gt(job.share[TY_FLEET_REPLICAS], 0);
    }
}

/* A replica that is away cannot fail, and one that is alone is the job. */
TEST(of_a_job_that_is_not_elastic_nothing_leaves)
{
    struct ty_fleet_options o = {.failures_per_1000_node_days = 15,
                                 .failure_shape = 1,
                                 .checkpoint = {.every_s = 900, .stall_s = 10, .store_every = 1},
                                 .detect_s = 300,
                                 .restart_s = 900,
                                 .spares = TY_FLEET_SPARES_ENOUGH,
                                 .repair_s = 86400,
                                 .drained = 1};
    struct ty_fleet_job plain, alone;
    ty_fleet_job(&o, 64, 512, &plain);
    o.elastic.on = true;
    o.elastic.nodes = 64;
    ty_fleet_job(&o, 64, 512, &alone);
    ck_assert(memcmp(plain.share, alone.share, sizeof(plain.share)) == 0);
    ck_assert(plain.share[TY_FLEET_REPLICAS] == 0);
}

/* Of n normals, as quoted to a few thousandths (that of 1,024 is 3.248). Of hosts with 1 %, one in
 * 200 slower by 10 %: as often drawn, to 5e-4. */
TEST(the_slowest_of_many)
{
    static const struct {
        double n, most;
    } normals[] = {{8, 1.425},    {64, 2.345},   {256, 2.828},
                   {1024, 3.250}, {4096, 3.628}, {16384, 3.973}};
    for (size_t i = 0; i < TY_COUNT(normals); i++) {
        const struct ty_stragglers s = {.spread = 0.01, .per_host = 1};
        ck_assert_double_eq_tol(ty_slowest(&s, normals[i].n), 1 + 0.01 * normals[i].most, 3e-5);
    }
    static const struct {
        double hosts, slowest;
    } hosts[] = {{32, 1.0323}, {256, 1.0830}, {2048, 1.1167}};
    for (size_t i = 0; i < TY_COUNT(hosts); i++) {
        const struct ty_stragglers s = {0.01, 0.005, 0.1, 1};
        ck_assert_double_eq_tol(ty_slowest(&s, hosts[i].hosts), hosts[i].slowest, 5e-4);
    }
    const struct ty_stragglers alike = {.per_host = 8}, slow = {0, 0.005, 0.1, 8};
    ck_assert(ty_slowest(&alike, 1e6) == 1);
    ck_assert_double_eq_tol(ty_slowest(&slow, 1024), 1.1, 1e-3);
}

TY_SUITE("fleet")
