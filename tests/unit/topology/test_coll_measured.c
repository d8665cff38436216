/* test_coll_measured.c - logs of nccl-tests: every version's columns, every mistake's message, and
 * the times that come out of them. */
#include "topology/collectives/measured.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "tests/unit/cluster_preset.h"

/* ---- logs, written as nccl-tests does ---- */

#define NEW_HEAD                                                                                   \
    "# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703\n"                          \
    "# Collective test starting: all_reduce_perf\n"                                                \
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: "   \
    "20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
#define RANK(r, group, host, device)                                                               \
    "#  Rank  " #r " Group  " #group " Pid   3141 on " host " device  " #device                    \
    " [0x07] NVIDIA A100-SXM4-80GB\n"
#define PAIR RANK(0, 0, "node-a", 0) RANK(1, 0, "node-a", 1)
#define COLUMNS                                                                                    \
    "#\n#                                              out-of-place                in-place\n"     \
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     "    \
    "time   algbw   busbw #wrong\n"                                                                \
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "    \
    "(us)  (GB/s)  (GB/s)\n"
#define SMALL " 1024 256 float sum -1 20.00 0.05 0.05 0 21.00 0.05 0.05 0\n"
#define LARGE " 1048576 262144 float sum -1 44.21 23.72 23.72 0 45.10 23.25 23.25 0\n"
#define TAIL  "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 11.8\n#\n"

static int read_log(struct ty_coll_log *log, const char *file, const char *text,
                    struct ty_arena *arena, struct ty_err *err)
{
    *err = (struct ty_err)TY_ERR_NONE;
    return ty_coll_log_read(log, file, text, strlen(text), arena, err);
}

static struct ty_coll_log good_log(const char *file, const char *text, struct ty_arena *arena)
{
    struct ty_err err;
    struct ty_coll_log log;
    ck_assert_msg(read_log(&log, file, text, arena, &err) == 0, "%s", err.text);
    return log;
}

TEST(head_and_rows_are_read)
{
    struct ty_arena arena = {0};
    const struct ty_coll_log log =
        good_log("a.log",
                 "host:1:1 [0] NCCL INFO chatter\n" NEW_HEAD PAIR COLUMNS
                 " 0 0 float sum -1 8.52 0.00 0.00 0 8.53 0.00 0.00 0\n" SMALL LARGE TAIL,
                 &arena);
    ck_assert_int_eq(log.coll, TY_COLL_ALL_REDUCE);
    ck_assert_uint_eq(log.ranks, 2);
    ck_assert_uint_eq(log.nodes, 1);
    ck_assert_uint_eq(log.per_node, 2);
    ck_assert_uint_eq(log.sharing, 1);
    ck_assert_str_eq(log.type, "float");
    ck_assert_uint_eq(log.n, 2);
    ck_assert(log.size_B[1] == 1048576);
    ck_assert_double_eq_tol(log.time_s[1], 44.21e-6, 1e-12);
    ty_arena_release(&arena);
}

/* No test name, no groups, "error" for "#wrong", rows without redop and root; Windows line ends. */
TEST(old_versions_are_read)
{
    static const char head[] = "# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor)\r\n"
                               "#   Rank  0 Pid  31415 on     node1 device  0 [0x07] A100\r\n"
                               "#   Rank  1 Pid  31415 on     node1 device  1 [0x0f] A100\r\n";
    static const char rows[] =
        "# size count type redop root time algbw busbw error time algbw busbw error\r\n"
        " 2048 256 float 20.0 0.10 0.05 5e-07 20.0 0.10 0.05 5e-07\r\n"
        " 2097152 262144 float 100.0 20.97 10.49 N/A 100.0 20.97 10.49 N/A\r\n";
    static const char *const names[] = {"/x.d/all_gather_2.log", "AllGather.txt", "all-gather"};
    struct ty_arena arena = {0};
    char text[2000];
    snprintf(text, sizeof(text), "%s%s%s", head, rows, TAIL);
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const struct ty_coll_log log = good_log(names[i], text, &arena);
        ck_assert_int_eq(log.coll, TY_COLL_ALL_GATHER);
        ck_assert_uint_eq(log.ranks, 2);
        ck_assert_double_eq_tol(log.time_s[1], 100e-6, 1e-12);
    }
    ty_arena_release(&arena);
}

TEST(groups_that_ran_at_once_are_told_apart)
{
    struct ty_arena arena = {0};
    const struct ty_coll_log log =
        good_log("a.log",
                 NEW_HEAD RANK(0, 0, "a", 0) RANK(1, 1, "a", 1) RANK(2, 0, "b", 0)
                     RANK(3, 1, "b", 1) COLUMNS SMALL LARGE TAIL,
                 &arena);
    ck_assert_uint_eq(log.ranks, 2);
    ck_assert_uint_eq(log.nodes, 2);
    ck_assert_uint_eq(log.per_node, 1);
    ck_assert_uint_eq(log.sharing, 2);
    ty_arena_release(&arena);
}

TEST(repeated_sizes_are_averaged_and_ordered)
{
    struct ty_arena arena = {0};
    const struct ty_coll_log log =
        good_log("a.log",
                 NEW_HEAD PAIR COLUMNS LARGE SMALL
                 " 1024 256 float sum -1 30.00 0.03 0.03 0 21.00 0.05 0.05 0\n" TAIL,
                 &arena);
    ck_assert_uint_eq(log.n, 2);
    ck_assert(log.size_B[0] == 1024 && log.size_B[1] == 1048576);
    ck_assert_double_eq_tol(log.time_s[0], 25e-6, 1e-12);
    ty_arena_release(&arena);
}

static const struct {
    const char *file, *text, *message;
} mistakes[] = {
    {"a.log", "",
     "a.log:1:1: no table (\"# size count type ... time algbw busbw\") up to "
     "here; give what nccl-tests printed, without prefixes of a launcher"},
    {"a.log", PAIR COLUMNS SMALL LARGE TAIL,
     "a.log: which collective is this? Neither a line \"# Collective test starting:\" nor the "
     "file's name says so; give it a name with one of all_reduce_perf, all_gather_perf, "
     "reduce_scatter_perf, alltoall_perf, broadcast_perf, reduce_perf or sendrecv_perf"},
    {"all_reduce_and_all_gather.log", PAIR COLUMNS SMALL LARGE TAIL,
     "all_reduce_and_all_gather.log: which collective is this?"},
    {"a.log", "# Collective test starting: gather_perf\n",
     "a.log:1:29: a log of gather_perf, which no run of this simulator uses; give one of "},
    {"a.log", NEW_HEAD NEW_HEAD,
     "a.log:7:29: a second test in one log (all_reduce_perf); put each into a file of its own"},
    {"a.log", NEW_HEAD COLUMNS SMALL LARGE TAIL,
     "a.log:14:1: no \"# Rank\" lines up to here: how many ranks on how many nodes took part "
     "is unknown; keep the head of the log"},
    {"a.log", NEW_HEAD RANK(0, 0, "a", 0) COLUMNS SMALL LARGE TAIL,
     "a.log:15:1: a group of one rank: nothing was sent; start nccl-tests with -g, or build it "
     "with MPI=1 and start it with mpirun"},
    {"a.log", NEW_HEAD "# Rank 0 Pid 1\n",
     "a.log:6:1: a rank without its host; nccl-tests writes \"# Rank 0 Group 0 Pid 1 on HOST "
     "device 0 ...\""},
    {"a.log", NEW_HEAD PAIR RANK(2, 1, "a", 2) COLUMNS SMALL LARGE TAIL,
     "a.log:17:1: groups of different size or spread ran together; split the ranks evenly"},
    {"a.log", NEW_HEAD PAIR COLUMNS SMALL LARGE,
     "a.log:13:1: the log ends here without \"# Avg bus bandwidth\": the test did not finish, "
     "or the copy is cut"},
    {"a.log", NEW_HEAD PAIR COLUMNS SMALL " 1048576 262144 float sum\n",
     "a.log:13:2: a row of 4 cells under a header of 13; the log is cut or was edited"},
    {"a.log", NEW_HEAD PAIR COLUMNS SMALL TAIL,
     "a.log:15:1: fewer than two sizes above zero up to here; measure a range, such as -b 1M "
     "-e 1G -f 2"},
    {"a.log",
     NEW_HEAD PAIR COLUMNS SMALL
     " 1048576 262144 double sum -1 44.21 23.72 23.72 0 45.10 23.25 23.25 0\n" TAIL,
     "a.log:13:17: a second type (double after float); run nccl-tests with one type, such as "
     "-d bfloat16"},
    {"a.log", NEW_HEAD PAIR COLUMNS " 1024 256 float sum -1 -20.00 0.05 0.05 0 1 1 1 0\n",
     "a.log:12:24: time: negative (-20.00); it must be at least 0"},
    {"a.log", NEW_HEAD PAIR COLUMNS " 1024 256 float sum -1 0.00 0.05 0.05 0 1 1 1 0\n",
     "a.log:12:24: time: not positive; it is in microseconds"},
    {"a.log", NEW_HEAD PAIR COLUMNS " 1024 256 float sum -1 N/A N/A N/A 0 1 1 1 0\n",
     "a.log:12:24: time: not a number (N/A); a whole log of nccl-tests is needed, as it was "
     "printed"},
    {"a.log", NEW_HEAD PAIR COLUMNS " 1024 256 float sum -1 20.00 nan 0.05 0 1 1 1 0\n",
     "a.log:12:30: algbw: not a number (nan); a whole log"},
    {"a.log", NEW_HEAD PAIR COLUMNS " 1048576 262144 float sum -1 0.04421 23.72 23.72 0 1 1 1 0\n",
     "a.log:12:30: 1048576 B in 0.04421 us are 23718.07 GB/s, but algbw says 23.72; sizes must "
     "be in bytes and times in microseconds, as nccl-tests prints them"},
    {"a.log", NEW_HEAD PAIR COLUMNS " 1024 256 float sum -1 20.00 0.05 0.05 7 1 1 1 0\n",
     "a.log:12:40: 7 wrong results; such a run measures nothing, repeat it"},
    {"a.log", NEW_HEAD PAIR COLUMNS SMALL LARGE "# Out of bounds values : 3 FAILED\n",
     "a.log:14:28: the test found wrong results; such a run measures nothing, repeat it"},
    {"a.log", NEW_HEAD PAIR COLUMNS SMALL LARGE COLUMNS,
     "a.log:16:1: a second table in one log; put each test into a file of its own"},
    {"a.log", NEW_HEAD PAIR "# size count type time\n",
     "a.log:8:1: a table without one of the columns type, time, algbw, busbw; a whole log of "
     "nccl-tests is needed"},
    {"a.log", NEW_HEAD PAIR "# size time algbw busbw type redop root\n 1024 1 2 3 float\n" TAIL,
     "a.log:8:1: columns in an order that nccl-tests does not write; it is size, count, type, "
     "redop, root, time, algbw, busbw"},
    {"all_gather.log", PAIR COLUMNS SMALL LARGE TAIL,
     "all_gather.log: busbw is 1 times algbw, but 0.5 for all-gather over 2 ranks; the log is "
     "of another collective, or lines of its head are missing"},
    {"a.log", "caf\xe9\n", "a.log:1:4: not UTF-8 text (byte 0xE9); save the file as UTF-8"},
};

TEST(every_mistake_has_a_place_and_a_remedy)
{
    for (size_t i = 0; i < TY_COUNT(mistakes); i++) {
        struct ty_arena arena = {0};
        struct ty_coll_log log;
        struct ty_err err;
        ck_assert_int_eq(read_log(&log, mistakes[i].file, mistakes[i].text, &arena, &err),
                         TY_EINPUT);
        ck_assert_uint_eq(err.n, 1);
        ck_assert_msg(strncmp(err.text, mistakes[i].message, strlen(mistakes[i].message)) == 0,
                      "row %zu: %s\nexpected %s", i, err.text, mistakes[i].message);
        ty_arena_release(&arena);
    }
}

/* ---- times ---- */

/* A log in memory. */
static struct ty_coll_table table_of(enum ty_coll coll, uint32_t ranks, uint32_t nodes,
                                     const double *size_B, const double *time_s, uint32_t n,
                                     struct ty_arena *arena)
{
    struct ty_err err = TY_ERR_NONE;
    struct ty_coll_table table = {
        .log = {"x", coll, ranks, nodes, ranks / nodes, 1, "float", n, size_B, time_s}};
    ck_assert_msg(ty_coll_table_init(&table, arena, &err) == 0, "%s", err.text);
    return table;
}

#define SIZES 26u

TEST(the_fit_finds_latency_and_bandwidth)
{
    /* ranks, latency in us, bus bandwidth in GB/s; from latency-bound to bandwidth-bound logs */
    static const double rows[][3] = {{8, 25, 230}, {2, 4, 12}, {512, 3000, 90}, {16, 60, 3000}};
    struct ty_arena arena = {0};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const uint32_t ranks = (uint32_t)rows[i][0];
        double size[SIZES], time[SIZES];
        for (uint32_t k = 0; k < SIZES; k++) {
            size[k] = 64.0 * (1u << k);
            time[k] = rows[i][1] * 1e-6 + 2 * (ranks - 1.0) / ranks * size[k] / (rows[i][2] * 1e9);
        }
        const struct ty_coll_table table =
            table_of(TY_COLL_ALL_REDUCE, ranks, 1, size, time, SIZES, &arena);
        ck_assert_double_eq_tol(table.fit.latency_s / (rows[i][1] * 1e-6), 1, 1e-6);
        ck_assert_double_eq_tol(table.fit.bus_Bps / (rows[i][2] * 1e9), 1, 1e-6);
        ck_assert_double_eq_tol(ty_coll_fit_seconds(&table.fit, &table.log, size[7]) / time[7], 1,
                                1e-6);
    }
    ty_arena_release(&arena);
}

/* Every MiB up to 1 GiB, and three small sizes that alone know the latency. */
TEST(a_crowded_decade_does_not_drown_the_others)
{
    struct ty_arena arena = {0};
    static double size[1027], time[1027];
    for (uint32_t k = 0; k < 1027; k++) {
        size[k] = k < 3 ? 1000 * pow(10, k) : (k - 2) * 1048576.0;
        /* above 100 MB a network that is 20 % slower than the rest of the line */
        const double bandwidth = size[k] > 1e8 ? 80e9 : 100e9;
        time[k] = 20e-6 + size[k] / bandwidth;
    }
    const struct ty_coll_table table = table_of(TY_COLL_ALL_REDUCE, 2, 1, size, time, 1027, &arena);
    ck_assert_double_eq_tol(table.fit.latency_s / 20e-6, 1, 0.05);
    ck_assert(table.fit.bus_Bps > 84e9); /* all rows alike: 80.3 */
    ty_arena_release(&arena);
}

TEST(times_are_those_measured_and_extend_as_documented)
{
    static const double size[] = {1e3, 1e6, 1.9e6, 2e6}, time[] = {20e-6, 60e-6, 90e-6, 100e-6};
    struct ty_arena arena = {0};
    const struct ty_coll_table table = table_of(TY_COLL_ALL_GATHER, 4, 1, size, time, 4, &arena);
    for (size_t i = 0; i < TY_COUNT(size); i++) {
        ck_assert_double_eq_tol(ty_coll_table_seconds(&table, size[i]) / time[i], 1, 1e-12);
    }
    ck_assert_double_eq_tol(ty_coll_table_seconds(&table, 1) / 20e-6, 1, 1e-12);
    ck_assert_double_eq_tol(ty_coll_table_seconds(&table, 0) / 20e-6, 1, 1e-12);
    /* the slope from 1 MB, half of 2 MB: 40 us per MB */
    ck_assert_double_eq_tol(ty_coll_table_seconds(&table, 5e6) / 220e-6, 1, 1e-12);
    ty_arena_release(&arena);
}

/* ---- choice ---- */

static const double two_sizes[] = {1e6, 1e9};
static const double two_times[] = {1e-3, 1};

static struct ty_coll_cost cost_on(const struct ty_cluster *cluster, enum ty_coll coll,
                                   struct ty_reach reach, double bytes)
{
    struct ty_coll_cost cost;
    ty_coll_cost(cluster, NULL, coll, bytes, &reach, &cost);
    return cost;
}

TEST(a_log_replaces_the_model_of_its_reach_only)
{
    struct ty_arena arena = {0};
    struct ty_cluster cluster = cluster_preset("dgx-a100-80g", "nodes: 4\ncollectives: ring");
    const struct ty_reach same = {4, 1, 4, 2, 4, 0, 0}, wider = {8, 1, 8, 1, 8, 0, 0},
                          across = {4, 2, 2, 4, 2, 0, 0};
    const struct ty_coll_cost model = cost_on(&cluster, TY_COLL_ALL_REDUCE, same, 1e6);
    struct ty_coll_table table =
        table_of(TY_COLL_ALL_REDUCE, 4, 1, two_sizes, two_times, 2, &arena);
    const struct ty_coll_measured measured = {&table, 1, NULL};
    cluster.collectives.measured = &measured;
    const struct ty_coll_cost cost = cost_on(&cluster, TY_COLL_ALL_REDUCE, same, 1e6);
    ck_assert_str_eq(cost.algorithm->name, "measured");
    ck_assert_double_eq_tol(ty_coll_seconds(&cost), 1e-3, 1e-15);
    ck_assert(cost.nvlink_B == model.nvlink_B && cost.net_B == 0);
    ck_assert_ptr_eq(cost_on(&cluster, TY_COLL_ALL_GATHER, same, 1e6).algorithm, &ty_coll_ring);
    ck_assert_ptr_eq(cost_on(&cluster, TY_COLL_ALL_REDUCE, wider, 1e6).algorithm, &ty_coll_ring);
    ck_assert_ptr_eq(cost_on(&cluster, TY_COLL_ALL_REDUCE, across, 1e6).algorithm, &ty_coll_ring);
    ty_arena_release(&arena);
}

/* The floor of the models is a preset's; a log of a quicker machine is believed. */
TEST(what_was_measured_may_be_below_the_floor)
{
    struct ty_arena arena = {0};
    struct ty_cluster cluster = cluster_preset("dgx-a100-80g", "nvlink_floor: 1 s");
    const struct ty_reach node = {4, 1, 4, 1, 4, 0, 0};
    struct ty_coll_table table =
        table_of(TY_COLL_ALL_REDUCE, 4, 1, two_sizes, two_times, 2, &arena);
    const struct ty_coll_measured measured = {&table, 1, NULL};
    struct ty_coll_cost cost = cost_on(&cluster, TY_COLL_ALL_REDUCE, node, 1e6);
    ck_assert_double_eq_tol(ty_coll_seconds(&cost), 1, 1e-12);
    cluster.collectives.measured = &measured;
    cost = cost_on(&cluster, TY_COLL_ALL_REDUCE, node, 1e6);
    ck_assert_double_eq_tol(ty_coll_seconds(&cost), 1e-3, 1e-15);
    ty_arena_release(&arena);
}

TEST(groups_that_share_nics_need_a_log_that_did)
{
    struct ty_arena arena = {0};
    struct ty_coll_table table =
        table_of(TY_COLL_ALL_REDUCE, 2, 2, two_sizes, two_times, 2, &arena);
    const struct ty_coll_measured measured = {&table, 1, NULL};
    const struct ty_reach alone = {2, 2, 1, 1, 1, 0, 0}, crowd = {2, 2, 1, 8, 1, 0, 0};
    static const struct {
        const char *text;
        bool crowd_too;
    } rows[] = {{"nodes: 2\nnics_per_node: 8", true}, {"nodes: 2\nnics_per_node: 4", false}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_cluster cluster = cluster_preset("dgx-a100-80g", rows[i].text);
        cluster.collectives.measured = &measured;
        ck_assert_ptr_nonnull(ty_coll_measured_find(&cluster, TY_COLL_ALL_REDUCE, &alone));
        ck_assert_int_eq(ty_coll_measured_find(&cluster, TY_COLL_ALL_REDUCE, &crowd) != NULL,
                         rows[i].crowd_too);
        table.log.sharing = 8;
        ck_assert_ptr_nonnull(ty_coll_measured_find(&cluster, TY_COLL_ALL_REDUCE, &crowd));
        table.log.sharing = 1;
    }
    ty_arena_release(&arena);
}

TEST(messages_take_what_sendrecv_measured)
{
    struct ty_arena arena = {0};
    struct ty_cluster cluster = cluster_preset("dgx-a100-80g", "nodes: 2");
    struct ty_coll_table table = table_of(TY_COLL_SEND_RECV, 2, 2, two_sizes, two_times, 2, &arena);
    const struct ty_coll_measured measured = {&table, 1, NULL};
    struct ty_coll_cost cost;
    cluster.collectives.measured = &measured;
    ty_p2p_cost(&cluster, false, 1e9, &cost);
    ck_assert_str_eq(cost.algorithm->name, "measured");
    ck_assert_double_eq_tol(ty_coll_seconds(&cost), 1, 1e-12);
    ck_assert(cost.net_B == 1e9 && cost.nvlink_B == 0);
    ty_p2p_cost(&cluster, true, 1e9, &cost);
    ck_assert_ptr_eq(cost.algorithm, &ty_coll_direct);
    /* and a shift round more ranks, of which half send to their own node */
    cost = cost_on(&cluster, TY_COLL_SEND_RECV, (struct ty_reach){4, 2, 2, 1, 2, 0, 0}, 1e9);
    ck_assert_str_eq(cost.algorithm->name, "measured");
    ck_assert_double_eq_tol(ty_coll_seconds(&cost), 1, 1e-12);
    ck_assert(cost.net_B == 5e8 && cost.nvlink_B == 5e8);
    ty_arena_release(&arena);
}

/* "What if NVLink were twice as fast": the measured time follows as the model's does. */
TEST(a_changed_machine_scales_what_was_measured)
{
    struct ty_arena arena = {0};
    const struct ty_cluster on = cluster_preset("dgx-a100-80g", NULL);
    struct ty_cluster faster = on;
    struct ty_coll_table table =
        table_of(TY_COLL_ALL_REDUCE, 8, 1, two_sizes, two_times, 2, &arena);
    const struct ty_coll_measured measured = {&table, 1, &on};
    const struct ty_reach reach = {8, 1, 8, 1, 8, 0, 0};
    faster.nvlink.bandwidth *= 2;
    const struct ty_coll_cost before = cost_on(&on, TY_COLL_ALL_REDUCE, reach, 1e9);
    const struct ty_coll_cost after = cost_on(&faster, TY_COLL_ALL_REDUCE, reach, 1e9);
    faster.collectives.measured = &measured;
    const struct ty_coll_cost cost = cost_on(&faster, TY_COLL_ALL_REDUCE, reach, 1e9);
    ck_assert_double_eq_tol(ty_coll_seconds(&cost),
                            ty_coll_seconds(&after) / ty_coll_seconds(&before), 1e-12);
    ck_assert(ty_coll_seconds(&cost) < 0.6);
    ty_arena_release(&arena);
}

TY_SUITE("coll_measured")
