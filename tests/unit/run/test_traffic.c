/* test_traffic.c - who talks: rows against the figures of a run, places against counts by hand. */
#include "sim/run/traffic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/program/issue.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

static struct ty_err err;

#define RUN                                                                                        \
    "cluster:\n  preset: dgx-a100-80g\n  nodes: 4\n"                                               \
    "model:\n  preset: llama-13b\n  layers: 8\n  sequence: 2048\n"                                 \
    "layout:\n  tensor: 2\n  pipeline: 4\n  global_batch: 64\n  zero: 1\n"                         \
    "framework:\n  preset: megatron-deepspeed\n"

struct want {
    const char *group, *operation;
    uint32_t ranks, groups, straddling, fewest, most, senders;
};

static const struct {
    const char *sets[5];
    struct want want[4];
} cases[] = {
    /* a stage is a node; neighbours are other nodes: 3 pairs of stages x 8 ranks x 2 ways */
    {{NULL},
     {{"tp", "all-reduce", 2, 16, 0, 0, 0, 32},
      {"dp", "all-reduce", 4, 8, 0, 0, 0, 32},
      {"pp", "send", 2, 48, 48, 2, 2, 32},
      {"world", "all-reduce", 32, 1, 1, 4, 4, 32}}},
    /* a stage is two nodes: one data rank on each */
    {{"layout.tensor=8", "layout.pipeline=2", NULL},
     {{"tp", "all-reduce", 8, 4, 0, 0, 0, 32},
      {"dp", "all-reduce", 2, 16, 16, 2, 2, 32},
      {"pp", "send", 2, 32, 32, 2, 2, 32}}},
    /* a pipeline fills half a node */
    {{"layout.order=[pipeline,tensor,context,data]", NULL},
     {{"tp", "all-reduce", 2, 16, 0, 0, 0, 32},
      {"dp", "all-reduce", 4, 8, 8, 4, 4, 32},
      {"pp", "send", 2, 48, 0, 0, 0, 32}}},
    /* pipelines of five on nodes of eight: ranks 7-8, 15-16, 23-24 and 31-32 are cut, both ways */
    {{"layout.order=[pipeline,tensor,context,data]", "layout.tensor=1", "layout.pipeline=5",
      "cluster.nodes=5", NULL},
     {{"pp", "send", 2, 64, 8, 2, 2, 40}, {"dp", "all-reduce", 8, 5, 5, 5, 5, 40}}},
    /* first and last stage share a matrix */
    {{"layout.tensor=1", "layout.pipeline=2", "model.tied=true", NULL},
     {{"embedding", "all-reduce", 2, 16, 16, 2, 2, 32}, {"pp", "send", 2, 32, 32, 2, 2, 32}}},
};

TEST(groups_lie_where_counting_by_hand_finds_them)
{
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        struct quick_run q = quick_run(RUN, "sweep", cases[i].sets);
        struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
        struct ty_traffic_place at[TY_TRAFFIC_ROWS];
        const uint32_t n = ty_traffic_rows(&q.run->lowered.program, 1, rows);
        ck_assert_int_eq(ty_traffic_places(q.run, rows, n, at, &err), 0);
        for (const struct want *w = cases[i].want; w < cases[i].want + 4 && w->group != NULL; w++) {
            uint32_t r = 0;
            while (r < n && (strcmp(rows[r].group, w->group) != 0 ||
                             strcmp(rows[r].operation, w->operation) != 0)) {
                r++;
            }
            ck_assert_msg(r < n, "case %zu: no %s %s", i, w->group, w->operation);
            ck_assert_msg(
                at[r].ranks == w->ranks && at[r].n_groups == w->groups &&
                    at[r].n_straddling == w->straddling && at[r].fewest_nodes == w->fewest &&
                    at[r].most_nodes == w->most && at[r].n_senders == w->senders,
                "case %zu %s %s: %u ranks, %u groups, %u straddling (%u to %u), %u send", i,
                w->group, w->operation, (unsigned)at[r].ranks, (unsigned)at[r].n_groups,
                (unsigned)at[r].n_straddling, (unsigned)at[r].fewest_nodes,
                (unsigned)at[r].most_nodes, (unsigned)at[r].n_senders);
        }
        quick_run_free(&q);
    }
}

TEST(rows_add_up_to_the_figures_to_the_bit)
{
    for (size_t i = 0; i < TY_COUNT(cases); i++) {
        struct quick_run q = quick_run(RUN, "sweep", cases[i].sets);
        struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
        const uint32_t n = ty_traffic_rows(&q.run->lowered.program, 1, rows);
        uint32_t counted = 0;
        for (uint32_t t = 0; t < q.figures.n_traffic; t++) {
            double nvlink = 0, net = 0;
            for (uint32_t r = 0; r < n; r++) {
                const bool of = strcmp(rows[r].group, q.figures.traffic[t].group) == 0;
                nvlink += of ? rows[r].nvlink_B : 0;
                net += of ? rows[r].net_B : 0;
                counted += of;
            }
            ck_assert(nvlink == q.figures.traffic[t].nvlink_B);
            ck_assert(net == q.figures.traffic[t].net_B);
        }
        ck_assert_uint_eq(counted, n);
        ck_assert_uint_gt(n, 2);
        quick_run_free(&q);
    }
}

/* A pipeline of 4 x 2 ranks in 4 replicas: 16 micro-batches, 3 boundaries there and back, one
 * hidden state of 2048 tokens in bf16 from each of 8 ranks; or in parts, half of it from each, and
 * the other half fetched from the neighbour who received that. */
TEST(messages_are_counted_as_a_pen_does)
{
    const double whole = 16.0 * 3 * 2 * 8 * 2048 * 5120 * 2;
    const struct {
        const char *set;
        double sent, gathered;
    } ways[] = {{"framework.scatter_gather_p2p=false", whole, 0},
                {"framework.scatter_gather_p2p=true", whole / 2, whole / 2}};
    for (size_t i = 0; i < TY_COUNT(ways); i++) {
        struct quick_run q = quick_run(RUN, "sweep", (const char *[]){ways[i].set, NULL});
        struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
        const uint32_t n = ty_traffic_rows(&q.run->lowered.program, 1, rows);
        double sent = 0, gathered = 0;
        for (uint32_t r = 0; r < n; r++) {
            if (strcmp(rows[r].group, "pp") == 0) {
                sent += rows[r].net_B;
                ck_assert(rows[r].nvlink_B == 0);
            }
            if (strcmp(rows[r].group, "tp") == 0 && strcmp(rows[r].operation, "all-gather") == 0) {
                gathered += rows[r].nvlink_B;
            }
        }
        ck_assert_double_eq_tol(sent, ways[i].sent, 1e-9 * whole);
        ck_assert_double_eq_tol(gathered, ways[i].gathered, 1e-9 * whole);
        quick_run_free(&q);
    }
}

/* The last column, "in all", of that line of that group; "": there is none. */
static void in_all(const char *table, const char *group, const char *over, char out[16])
{
    const char *row = strstr(table, group);
    out[0] = '\0';
    for (bool first = true; row != NULL && (first || strncmp(row, "\n            ", 13) == 0);
         first = false) {
        const char *end = strchr(row + 1, '\n');
        const char *found = strstr(row + 1, over);
        if (found != NULL && end != NULL && found < end) {
            snprintf(out, 16, "%.12s", end - 12);
        }
        row = end;
    }
}

/* Bytes of all ways of one direction times a factor. */
static void scale_uses(struct quick_run *q, bool out, double factor)
{
    struct ty_program *p = &q->run->lowered.program;
    for (uint32_t u = 0; u < p->n_uses; u++) {
        if (ty_fabric_leads_out(&q->run->lowered.fabric, p->uses[u].link) == out) {
            p->uses[u].Bps *= factor;
        }
    }
}

/* Two stages of two nodes, each below a leaf: all messages cross, of the data groups nothing does.
 * What comes down is not counted. */
TEST(what_climbs_is_listed_where_there_are_uplinks)
{
    static const char *const sets[] = {"fabric.topology=fat-tree",
                                       "fabric.leaf_nodes=2",
                                       "layout.tensor=8",
                                       "layout.pipeline=2",
                                       "framework.scatter_gather_p2p=false",
                                       NULL};
    struct quick_run q = quick_run(RUN, "sweep", sets);
    char *text, *down, *up, network[16], climbs[16], again[16], twice[16];
    ck_assert_int_eq(ty_run_report(q.run, "traffic", &text, &err), 0);
    in_all(text, "\n  dp ", "leaf uplinks", climbs);
    ck_assert_str_eq(climbs, "");
    in_all(text, "\n  pp ", "network", network);
    in_all(text, "\n  pp ", "leaf uplinks", climbs);
    ck_assert_str_eq(network, "    20.0 GiB"); /* 32 micro-batches x 2 pipelines x 2 ways x 8
                                                * ranks x 20 MiB */
    ck_assert_str_eq(climbs, network);
    scale_uses(&q, false, 3);
    ck_assert_int_eq(ty_run_report(q.run, "traffic", &down, &err), 0);
    in_all(down, "\n  pp ", "leaf uplinks", again);
    ck_assert_str_eq(again, climbs);
    scale_uses(&q, true, 2);
    ck_assert_int_eq(ty_run_report(q.run, "traffic", &up, &err), 0);
    in_all(up, "\n  pp ", "leaf uplinks", twice);
    ck_assert_str_eq(twice, "    40.0 GiB");
    ty_text_free(text);
    ty_text_free(down);
    ty_text_free(up);
    quick_run_free(&q);
}

/* Rings over four leaves of one node: of 8 members on each, every node has one hop to the next, all
 * of it climbs, and the network row is its sum. */
TEST(every_byte_between_nodes_climbs_where_each_has_a_leaf)
{
    static const char *const sets[] = {
        "fabric.topology=fat-tree", "fabric.leaf_nodes=1", "layout.tensor=1",
        "layout.pipeline=1",        "layout.zero=3",       NULL};
    struct quick_run q = quick_run(RUN, "sweep", sets);
    char *text, network[16], climbs[16];
    ck_assert_int_eq(ty_run_report(q.run, "traffic", &text, &err), 0);
    in_all(text, "\n  dp ", "network", network);
    in_all(text, "\n  dp ", "leaf uplinks", climbs);
    ck_assert_str_ne(network, "");
    ck_assert_str_eq(climbs, network);
    ty_text_free(text);
    quick_run_free(&q);
}

/* Blocks counted once and multiplied are the sums of their operations in the order of issue, to the
 * bit; also where groups of three make bytes that are no whole numbers. */
TEST(rows_are_sums_over_operations_to_the_bit)
{
    static const char *const whole[] = {NULL};
    static const char *const thirds[] = {"cluster.nodes=3", "layout.global_batch=72", NULL};
    const char *const *const sets[] = {whole, thirds};
    for (size_t i = 0; i < TY_COUNT(sets); i++) {
        struct quick_run q = quick_run(RUN, "sweep", sets[i]);
        const struct ty_program *p = &q.run->lowered.program;
        struct ty_traffic_row rows[TY_TRAFFIC_ROWS];
        double sum[TY_TRAFFIC_ROWS][2] = {{0}};
        const uint32_t n = ty_traffic_rows(p, 1, rows);
        for (uint32_t g = 0; g < p->n_gangs; g++) {
            for (struct ty_issue at = ty_issue_of(p, &p->gangs[g]); ty_issue_next(&at);) {
                const struct ty_traffic_row *row = ty_traffic_row_of(rows, n, p, at.op);
                const struct ty_kind *kind = &p->kinds[at.op->kind];
                if (row != NULL) {
                    sum[row - rows][0] += kind->nvlink_B * at.gang->n_ranks / p->n_steps;
                    sum[row - rows][1] += kind->net_B * at.gang->n_ranks / p->n_steps;
                }
            }
        }
        bool fraction = false;
        for (uint32_t r = 0; r < n; r++) {
            ck_assert(rows[r].nvlink_B == sum[r][0] && rows[r].net_B == sum[r][1]);
            fraction = fraction || sum[r][0] != floor(sum[r][0]) || sum[r][1] != floor(sum[r][1]);
        }
        ck_assert(n > 2 && fraction == (i == 1));
        quick_run_free(&q);
    }
}

TY_SUITE("traffic")
