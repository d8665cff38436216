/* test_exchanges.c - tokens on their way to experts in whole runs: bytes counted with a pen, on
 * groups and on links. */
#include <math.h>
#include <string.h>

#include "sim/core/analyse/link_load.h"
#include "sim/core/program/issue.h"
#include "sim/run/traffic.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

/* 32 ranks that have a copy of the rest each: 4 micro-batches of 1024 tokens, 2 layers of experts,
 * rows of 2048 B. */
#define RUN                                                                                        \
    "cluster: {preset: dgx-h100, nodes: 4}\n"                                                      \
    "model: {layers: 3, hidden: 1024, heads: 8, vocabulary: 4096, sequence: 1024, ffn: 4096, "     \
    "dtype: bf16, dense_layers: 1, experts: 64, experts_per_token: 4, expert_ffn: 512, "           \
    "expert_groups: 8, group_limit: 2}\n"                                                          \
    "layout: {tensor: 1, expert: 32, global_batch: 128, micro_batch: 1}\n"                         \
    "framework: {preset: megatron-lm}\n"
#define ROWS (32 * 4 * 2 * 1024 * 2048.0) /* B, of all tokens once, one way in one direction */

static struct ty_err err;

static const char *const dispatchers[] = {"framework.dispatcher=alltoall",
                                          "framework.dispatcher=deepep"};

/* What all ranks send of an operation in a step. */
static struct ty_traffic_row sent(const struct quick_run *q, const char *group,
                                  const char *operation)
{
    struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
    const uint32_t n = ty_traffic_rows(&q->run->lowered.program, 1, rows);
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(rows[i].group, group) == 0 && strcmp(rows[i].operation, operation) == 0) {
            return rows[i];
        }
    }
    ck_abort_msg("no %s of %s", operation, group);
}

/* Groups of four nodes: a node has 16 experts, a rank 2, a group 8; two of eight are chosen. */
TEST(bytes_are_those_of_copies)
{
    static const char *const ways[] = {"dispatch", "combine", "combine backward",
                                       "dispatch backward"};
    const struct ty_exchange x = {.experts = 64, .top_k = 4, .groups = 8, .group_limit = 2};
    const double nodes = ty_exchange_copies(&x, 4), ranks = ty_exchange_copies(&x, 32);
    for (size_t d = 0; d < TY_COUNT(dispatchers); d++) {
        struct quick_run q = quick_run(RUN, "sweep", (const char *[]){dispatchers[d], NULL});
        for (size_t w = 0; w < TY_COUNT(ways); w++) {
            const struct ty_traffic_row row = sent(&q, "ep", ways[w]);
            const double net = d == 0 ? 4 * 3 / 4.0 : nodes * 3 / 4;
            const double nvlink = d == 0 ? 4 * 7 / 32.0 : ranks * 7 / 8;
            ck_assert_double_eq_tol(row.net_B / ROWS, net, 1e-9);
            ck_assert_double_eq_tol(row.nvlink_B / ROWS, nvlink, 1e-9);
        }
        quick_run_free(&q);
    }
}

/* Groups of 4 on half a node use no NIC; every other rank of 16 makes a group of 8 on two nodes. */
TEST(groups_lie_where_the_grid_of_experts_puts_them)
{
    struct quick_run half = quick_run(RUN, "sweep", (const char *[]){"layout.expert=4", NULL});
    ck_assert(sent(&half, "ep", "dispatch").net_B <= 0);
    ck_assert_double_eq_tol(sent(&half, "ep", "dispatch").nvlink_B / ROWS, 4 * 3 / 4.0, 1e-9);
    quick_run_free(&half);
    struct quick_run folded = quick_run(
        RUN, "sweep", (const char *[]){"layout.expert=8", "layout.expert_tensor=2", NULL});
    ck_assert_double_eq_tol(sent(&folded, "ep", "dispatch").net_B / ROWS, 4 / 2.0, 1e-9);
    ck_assert_double_eq_tol(sent(&folded, "ep", "dispatch").nvlink_B / ROWS, 4 * 3 / 8.0, 1e-9);
    quick_run_free(&folded);
}

/* Bytes of exchanges on the links that lead out of, or into, a node's NICs or all GPUs of it. */
static double on_links(const struct quick_run *q, const struct ty_link_load *load,
                       enum ty_link_class class, uint32_t node, bool out)
{
    const struct ty_program *p = &q->run->lowered.program;
    double bytes = 0;
    for (uint32_t l = 0; l < p->n_links; l++) {
        if (p->links[l].class != class || p->links[l].node != node ||
            ty_fabric_leads_out(&q->run->lowered.fabric, l) != out) {
            continue;
        }
        for (uint32_t i = load->first_part[l]; i < load->first_part[l + 1]; i++) {
            const struct ty_link_load_part *part = &load->part[i];
            const bool exchange = strcmp(p->kinds[part->kind].group, "ep") == 0;
            bytes += exchange ? part->bytes * (double)load->times[part->kind] : 0;
        }
    }
    return bytes;
}

/* Whatever leaves a node enters another, and links carry what ranks send. Messages of an all-to-all
 * that are played one by one have one rate for all, above that of a NIC, which is taken whole then:
 * no more than what is sent is counted there. */
TEST(links_carry_what_ranks_send)
{
    static const char *const details[] = {"run.detail=flows", "run.detail=steps"};
    for (size_t i = 0; i < TY_COUNT(dispatchers) * TY_COUNT(details); i++) {
        const char *const sets[] = {dispatchers[i % 2], details[i / 2], NULL};
        struct quick_run q = quick_run(RUN, NULL, sets);
        struct ty_arena arena = {0};
        struct ty_link_load load;
        double nvlink_B = 0, net_B = 0, nvlink = 0, net = 0;
        ck_assert_int_eq(ty_link_load_init(&load, &q.run->lowered.program, &arena, &err), 0);
        struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
        const uint32_t n = ty_traffic_rows(&q.run->lowered.program, 1, rows);
        for (uint32_t r = 0; r < n; r++) {
            nvlink_B += strcmp(rows[r].group, "ep") == 0 ? rows[r].nvlink_B : 0;
            net_B += strcmp(rows[r].group, "ep") == 0 ? rows[r].net_B : 0;
        }
        for (uint32_t node = 0; node < 4; node++) {
            const double out = on_links(&q, &load, TY_LINK_NIC, node, true);
            ck_assert_double_eq_tol(on_links(&q, &load, TY_LINK_NIC, node, false) / out, 1, 1e-6);
            net += out;
            nvlink += on_links(&q, &load, TY_LINK_NVLINK, node, true);
        }
        ck_assert_double_le(net / net_B, 1 + 1e-6);
        ck_assert_double_ge(net / net_B, q.run->lowered.program.n_messages > 0 ? 0.7 : 1 - 1e-6);
        ck_assert_double_eq_tol(nvlink / nvlink_B, 1, 1e-6);
        ty_arena_release(&arena);
        quick_run_free(&q);
    }
}

/* Computation runs beside exchanges of passes that are woven; elsewhere it waits for them. */
TEST(exchanges_beside_computation_take_longer)
{
    static const char *const sets[] = {"layout.pipeline=2",
                                       "layout.expert=16",
                                       "schedule.name=dualpipe",
                                       "framework.expert_overlap=true",
                                       "framework.dispatcher=deepep",
                                       "cluster.exchange_overlap_slowdown=50 %",
                                       "model.layers=8",
                                       NULL};
    struct quick_run q = quick_run(RUN, "sweep", sets);
    const struct ty_program *p = &q.run->lowered.program;
    ty_ps seconds[2] = {0, 0};
    for (struct ty_issue at = ty_issue_of(p, &p->gangs[0]); ty_issue_next(&at);) {
        const struct ty_kind *kind = &p->kinds[at.op->kind];
        if (strcmp(kind->name, "dispatch") == 0) {
            const bool woven = at.pass->resumed || at.pass->interrupted;
            ck_assert(seconds[woven] == 0 || seconds[woven] == kind->dur);
            seconds[woven] = kind->dur;
        }
    }
    const struct ty_reach reach = {.ranks = 16, .nodes = 2, .per_node = 8, .sharing = 1};
    const struct ty_exchange x = {.method = TY_EXCHANGE_PER_NODE,
                                  .tokens = 1024,
                                  .row_B = 2048,
                                  .experts = 64,
                                  .top_k = 4,
                                  .groups = 8,
                                  .group_limit = 2};
    struct ty_coll_cost cost;
    ty_exchange_cost(&q.config->cluster, &x, &reach, &cost);
    ck_assert_double_eq_tol((double)seconds[0] * 1e-12, ty_coll_seconds(&cost), 1e-11);
    ck_assert_double_eq_tol((double)(seconds[1] - seconds[0]) * 1e-12, cost.transfer_s, 1e-11);
    quick_run_free(&q);
}

/* Their kernels hold SMs, also where other collectives slow nothing down. */
TEST(computation_lacks_the_sms_of_an_exchange)
{
    static const char *const sets[] = {"layout.expert=16",
                                       "framework.dispatcher=deepep",
                                       "framework.overlap_dispatch=true",
                                       "cluster.nvlink_overlap_slowdown=0",
                                       "cluster.net_overlap_slowdown=0",
                                       NULL};
    struct quick_run q = quick_run(RUN, "sweep", sets);
    const struct ty_program *p = &q.run->lowered.program;
    const double left = 1 - 20.0 / q.config->cluster.gpu.sms;
    uint32_t n = 0;
    for (struct ty_issue at = ty_issue_of(p, &p->gangs[0]); ty_issue_next(&at);) {
        const struct ty_kind *kind = &p->kinds[at.op->kind];
        if (strcmp(kind->name, "experts wgrad") == 0) {
            ck_assert_int_gt(kind->dur, kind->alone);
            ck_assert_double_le((double)kind->dur, (double)kind->alone / left + 1);
            n += kind->alone > 0;
        }
    }
    ck_assert_uint_gt(n, 0);
    quick_run_free(&q);
}

TY_SUITE("exchanges")
