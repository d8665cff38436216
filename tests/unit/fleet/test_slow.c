/* test_slow.c - hosts that become slow and launches that drift, in closed form and played. */
#include <math.h>

#include "sim/base/compiler.h"
#include "sim/fleet/fleet.h"
#include "tests/unit/suite.h"

static struct ty_fleet_options slow_options(void)
{
    return (struct ty_fleet_options){
        .failures_per_1000_node_days = 15,
        .job_failures_per_day = 0.3,
        .failure_shape = 1,
        .checkpoint = {.every_s = 900, .stall_s = 10, .store_every = 1},
        .detect_s = 300,
        .restart_s = 600,
        .spares = TY_FLEET_SPARES_ENOUGH,
        .repair_s = 86400,
        .drained = 1,
        .stragglers = {.slow_by = 0.25, .found_s = 3600, .evict = true}};
}

/* Hosts that become slow and are evicted, late, at once, or left alone; launches that drift; with
 * checkpoints that are rare, and durable late; elastic, with stops. Those of no `near` are exact.
 * Each share is within four standard errors of its own of 40 histories, which are drawn apart. */
TEST(slow_steps_cost_what_the_closed_form_says)
{
    static const struct {
        double per_1000, found_s, drift, every_s, durable_s, planned, near;
        bool evict, elastic;
    } rows[] = {{20, 3600, 0, 900, 0, 0, 0, true, false},
                {20, 600, 0, 3600, 0, 0, 0, true, false},
                {40, 7200, 0.3, 3600, 60, 0, 1e-4, true, false},
                {20, 3600, 0, 900, 0, 0, 0, false, false},
                {5, 3600, 2, 7200, 0, 0, 0, false, false},
                {0, 3600, 1, 900, 100, 0, 0, true, false},
                {10, 3600, 1, 900, 0, 2, 0, false, false},
                {10, 3600, 1, 7200, 0, 8, 1e-4, false, false},
                {20, 3600, 0, 900, 0, 0, 5e-4, true, true}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_fleet_options o = slow_options();
        o.stragglers.per_1000_node_days = rows[i].per_1000;
        o.stragglers.found_s = rows[i].found_s;
        o.stragglers.evict = rows[i].evict;
        o.stragglers.drift_per_day = rows[i].drift;
        o.checkpoint.every_s = rows[i].every_s;
        o.checkpoint.durable_after_s = rows[i].durable_s;
        o.planned.per_day = rows[i].planned;
        o.planned.each_s = 600;
        if (rows[i].elastic) {
            o.elastic.on = true;
            o.elastic.nodes = 16;
            o.elastic.regroup_s = 30;
            o.elastic.least = 0.2;
        }
        struct ty_fleet_job job;
        ty_fleet_job(&o, 512, 4096, &job);
        struct ty_days_mean one, m = {.standard_error = 0};
        double squares[TY_N_FLEET_STATES] = {0}, closed = 0;
        const uint32_t runs = 40;
        for (uint32_t n = 0; n < runs; n++) {
            ck_assert_int_eq(ty_days_mean(&job.days, 730 * TY_DAY_S, 100 * i + n, 1, 1, NULL, &one),
                             0);
            for (int k = 0; k < TY_N_FLEET_STATES; k++) {
                m.share[k] += one.share[k] / runs;
                squares[k] += one.share[k] * one.share[k] / runs;
            }
        }
        for (int k = 0; k < TY_N_FLEET_STATES; k++) {
            const double error = sqrt(fmax(squares[k] - m.share[k] * m.share[k], 0) / (runs - 1));
            ck_assert_msg(fabs(m.share[k] - job.share[k]) <= 4 * error + rows[i].near + 1e-9,
                          "row %u %s: %.6f closed, %.6f played +- %.6f", (unsigned)i,
                          ty_fleet_state_name((enum ty_fleet_state)k), job.share[k], m.share[k],
                          error);
            closed += job.share[k];
        }
        ck_assert_double_eq_tol(closed, 1, 1e-12);
        ck_assert((job.share[TY_FLEET_SLOW] > 1e-4) == (rows[i].per_1000 > 0));
        ck_assert((job.share[TY_FLEET_DRIFT] > 1e-4) == (rows[i].drift > 0));
    }
}

/* One cause alone, of which arithmetic says what it costs. */
TEST(slow_steps_by_hand)
{
    struct ty_fleet_options o = slow_options();
    struct ty_fleet_job job, none;
    o.failures_per_1000_node_days = 0;
    o.job_failures_per_day = 0;
    o.planned.per_day = 1;
    o.planned.each_s = 3600;
    ty_fleet_job(&o, 512, 4096, &none);
    o.stragglers.drift_per_day = 0.1;
    ty_fleet_job(&o, 512, 4096, &job);
    /* Stops in 23 hours of the mean, steps 1.1^(1 / 24) longer each hour: the mean of 1.1^-t. */
    const double mean = 24 / 23.0 / (24 / 23.0 + log(1.1));
    ck_assert_double_eq_tol(job.share[TY_FLEET_WORK], none.share[TY_FLEET_WORK] * mean, 1e-12);
    o.stragglers.drift_per_day = 0;
    o.stragglers.evict = false;
    o.stragglers.per_1000_node_days = 1e6; /* one at once, of 25 %: a fifth of the time */
    ty_fleet_job(&o, 512, 4096, &job);
    ck_assert_double_eq_tol(job.share[TY_FLEET_SLOW], 0.2 * none.share[TY_FLEET_WORK], 1e-5);
    o.stragglers.evict = true;
    o.stragglers.found_s = 0; /* found at once: failures */
    o.stragglers.per_1000_node_days = 2;
    ty_fleet_job(&o, 512, 4096, &job);
    o.failures_per_1000_node_days = 2;
    o.detect_s = 0;
    o.stragglers.per_1000_node_days = 0;
    ty_fleet_job(&o, 512, 4096, &none);
    ck_assert_double_eq_tol(job.share[TY_FLEET_WORK], none.share[TY_FLEET_WORK], 1e-12);
    ck_assert(job.share[TY_FLEET_SLOW] == 0);
}

TY_SUITE("slow")
