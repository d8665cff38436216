/* test_calibrate_collectives.c - keys recovered from collectives that the model itself timed,
 * through the public interface. */
#include "sim/base/noise.h"
#include "sim/base/text.h"
#include "tests/unit/calibration.h"
#include "topology/collectives/coll.h"

#define REST "model: {preset: llama-7b}\nlayout: {tensor: 8, global_batch: 64, zero: 1}\n"
static const char base[] =
    "cluster: {preset: dgx-a100-80g, nodes: 4, derate: 1.3, collective_derate: 1.2}\n" REST;

#define LOGS 6u

static const struct log {
    const char *name, *test;
    enum ty_coll coll;
    uint32_t ranks, nodes;
} logs[LOGS] = {
    {"ar8.log", "all_reduce_perf", TY_COLL_ALL_REDUCE, 8, 1},
    {"ar2.log", "all_reduce_perf", TY_COLL_ALL_REDUCE, 2, 1},
    {"ag8.log", "all_gather_perf", TY_COLL_ALL_GATHER, 8, 1},
    {"ar16.log", "all_reduce_perf", TY_COLL_ALL_REDUCE, 16, 2},
    {"rs32.log", "reduce_scatter_perf", TY_COLL_REDUCE_SCATTER, 32, 4},
    {"p2p.log", "sendrecv_perf", TY_COLL_SEND_RECV, 2, 2},
};

static double seconds_of(const struct ty_config *config, const struct log *log, double bytes)
{
    const uint32_t per_node = log->ranks / log->nodes;
    const struct ty_reach reach = {log->ranks, log->nodes, per_node, 1, per_node, 0, 0};
    struct ty_coll_cost cost;
    if (log->coll == TY_COLL_SEND_RECV) {
        ty_p2p_cost(&config->cluster, log->nodes == 1, bytes, &cost);
    } else {
        ty_coll_cost(&config->cluster, NULL, log->coll, bytes, &reach, &cost);
    }
    return ty_coll_seconds(&cost);
}

/* What nccl-tests would print on such a machine, with more digits. */
static void put_log(struct place *p, const struct log *log, const struct ty_config *config,
                    double noise)
{
    struct ty_text text = {.data = NULL};
    ty_text_add(&text, "# Collective test starting: %s\n", log->test);
    for (uint32_t r = 0; r < log->ranks; r++) {
        ty_text_add(&text, "#  Rank %u Group 0 Pid %u on node-%u device %u [0x07] A100\n",
                    (unsigned)r, (unsigned)r, (unsigned)(r / (log->ranks / log->nodes)),
                    (unsigned)r % 8);
    }
    ty_text_add(&text, "# size count type redop root time algbw busbw #wrong\n");
    for (uint32_t i = 0; i < 19; i++) {
        const double bytes = 4096 << i;
        const double s =
            seconds_of(config, log, bytes) * exp(noise * ty_noise_normal(11, i, log->ranks, 0));
        ty_text_add(&text, "%.0f %.0f float none -1 %.9g %.6f %.6f 0\n", bytes, bytes / 4, 1e6 * s,
                    1e-9 * bytes / s, ty_coll_bus_factor(log->coll, log->ranks) * 1e-9 * bytes / s);
    }
    ty_text_add(&text, "# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1\n");
    char *whole = ty_text_take(&text);
    ck_assert_ptr_nonnull(whole);
    put(temp_dir_file(&p->dir, log->name), whole);
    ty_text_free(whole);
}

static void put_logs(struct place *p, const char *const *sets, double noise)
{
    struct ty_config *config = machine(p, NULL, sets);
    for (uint32_t i = 0; i < LOGS; i++) {
        put_log(p, &logs[i], config, noise);
    }
    ty_config_free(config);
}

/* Fits to logs[from..to). */
static int fit_logs(struct place *p, uint32_t from, uint32_t to, const char *fit, double prior,
                    uint32_t jobs, struct ty_err *err)
{
    char list[LOGS * 200] = "";
    for (uint32_t i = from; i < to; i++) {
        strcat(strcat(list, i > from ? "," : ""), temp_dir_file(&p->dir, logs[i].name));
    }
    const struct ty_calibrate_options o = {
        .collectives = list, .fit = fit, .prior = prior, .jobs = jobs};
    return place_calibrate(p, &o, err);
}

static const struct truth links[] = {
    {"cluster.nvlink_efficiency", 0.6, "cluster.nvlink_efficiency=0.6"},
    {"cluster.nvlink_pair_efficiency", 0.5, "cluster.nvlink_pair_efficiency=0.5"},
    {"cluster.nic_efficiency", 0.7, "cluster.nic_efficiency=0.7"},
    {"cluster.nvlink_gather_latency", 30e-6, "cluster.nvlink_gather_latency=30 us"},
    {"cluster.net_step", 20e-6, "cluster.net_step=20 us"},
    {"cluster.net_p2p_latency", 25e-6, "cluster.net_p2p_latency=25 us"},
    {"cluster.net_p2p_efficiency", 0.6, "cluster.net_p2p_efficiency=0.6"},
};

TEST(collectives_give_back_the_links)
{
    const char *sets[TY_COUNT(links) + 1];
    struct place p;
    struct ty_err err;
    place_make(&p, base);
    sets_of(links, TY_COUNT(links), sets);
    put_logs(&p, sets, 0);
    ck_assert_msg(fit_logs(&p, 0, LOGS, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    check_truth(&p, links, TY_COUNT(links), 0.01);
    /* no log of several full nodes with an NVSwitch, and what training adds */
    ck_assert(key_of(&p, "cluster.nvls_efficiency") == NULL);
    ck_assert(key_of(&p, "cluster.collective_derate") == NULL);
    ck_assert(js_is(js_get(p.report, "measured"), "collectives"));
    ck_assert(number(p.report, "rows_used") == 19 * LOGS);
    ck_assert(number(js_get(p.report, "before"), "mape") > 0.1);
    ck_assert(number(js_get(p.report, "after"), "mape") < 2e-3);
    const struct js *groups = js_need(p.report, "groups");
    ck_assert(groups->n == LOGS && js_is(groups->first, "ar8.log"));
    place_remove(&p);
}

static bool lists(const struct js *list, const char *name)
{
    for (const struct js *k = list->first; k != NULL; k = k->next) {
        if (js_is(k, name)) {
            return true;
        }
    }
    return false;
}

/* A fixed time and one per rank are one number in a log of eight ranks. */
TEST(one_log_fits_what_one_log_can_tell)
{
    struct place p;
    struct ty_err err;
    place_make(&p, base);
    put_logs(&p, NULL, 0.01);
    ck_assert_msg(fit_logs(&p, 0, 1, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    ck_assert(key_of(&p, "cluster.nvlink_efficiency") != NULL);
    ck_assert(key_of(&p, "cluster.nvlink_latency") != NULL);
    ck_assert(key_of(&p, "cluster.nvlink_latency_per_rank") == NULL);
    ck_assert(key_of(&p, "cluster.nic_efficiency") == NULL);
    for (const struct js *k = js_need(p.report, "keys")->first; k != NULL; k = k->next) {
        ck_assert(is_identified(k));
    }
    ck_assert(lists(js_need(p.report, "left_as_they_are"), "cluster.nvlink_latency_per_rank"));
    ck_assert(!lists(js_need(p.report, "left_as_they_are"), "cluster.nic_efficiency"));
    ck_assert(js_is(js_need(p.report, "groups")->first, "from 1 kB"));
    ck_assert_uint_eq(js_need(p.report, "groups")->n, 7);
    /* asked for by name they are fitted, and said to be one */
    ck_assert_msg(fit_logs(&p, 0, 1, "cluster.nvlink_latency,cluster.nvlink_latency_per_rank", 0.2,
                           0, &err) == 0,
                  "%s", err.text);
    ck_assert(!is_identified(key_of(&p, "cluster.nvlink_latency")));
    ck_assert(!is_identified(key_of(&p, "cluster.nvlink_latency_per_rank")));
    place_remove(&p);
}

TEST(logs_of_the_run_file_do_not_answer)
{
    struct place p;
    struct ty_err err;
    size_t n;
    place_make(&p, base);
    put_logs(&p, NULL, 0.02);
    ck_assert_msg(fit_logs(&p, 0, LOGS, NULL, 0.2, 1, &err) == 0, "%s", err.text);
    ck_assert(js_need(p.report, "set_aside")->type == JS_NULL);
    char *without = file_text(p.overlay, &n);
    put(p.rows, "op,role,dtype,elements,time_us\nnorm,forward,bf16,100,1\n");
    put(p.run, "cluster: {preset: dgx-a100-80g, nodes: 4, operators: rows.csv,\n"
               "  collectives: {measured: [ar8.log, p2p.log]}}\n" REST);
    ck_assert_msg(fit_logs(&p, 0, LOGS, NULL, 0.2, 5, &err) == 0, "%s", err.text);
    ck_assert(
        js_is(js_get(p.report, "set_aside"), "cluster.operators and cluster.collectives.measured"));
    char *with = file_text(p.overlay, &n);
    ck_assert_str_eq(strstr(without, "\ncluster:"), strstr(with, "\ncluster:"));
    free(without);
    free(with);
    place_remove(&p);
}

TEST(mistakes_have_their_message)
{
    static const struct {
        struct ty_calibrate_options o;
        const char *run, *message;
        int code;
    } rows[] = {
        {{.prior = 0.2}, base, "no measurements are given; give --rows", TY_EUSAGE},
        {{.rows = "a", .measured = "b", .operators = "c"},
         base,
         "several kinds of measurements are given",
         TY_EUSAGE},
        {{.rows = "a"}, base, "--rows needs --measured", TY_EUSAGE},
        {{.operators = "a", .measured = "b"}, base, "--measured: a column of --rows", TY_EUSAGE},
        {{.collectives = "a", .group = "b"}, base, "--group: a column of --rows", TY_EUSAGE},
        {{.collectives = "a"},
         "cluster: {}\n",
         "cluster: memory, memory_bandwidth and gpus_per_node are missing",
         TY_EINPUT},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct place p;
        struct ty_err err;
        place_make(&p, rows[i].run);
        ck_assert_int_eq(place_calibrate(&p, &rows[i].o, &err), rows[i].code);
        ck_assert_msg(strstr(err.text, rows[i].message) != NULL, "%s", err.text);
        place_remove(&p);
    }
}

/* The run file must have the groups that were measured. */
TEST(logs_of_another_machine_are_refused)
{
    static const struct log uneven = {"uneven.log", "all_reduce_perf", TY_COLL_ALL_REDUCE, 8, 1};
    struct place p;
    struct ty_err err;
    size_t n;
    place_make(&p, base);
    put_logs(&p, NULL, 0);
    put(p.run, "cluster: {preset: dgx-a100-80g, nodes: 4, gpus_per_node: 4}\n" REST);
    ck_assert_int_eq(fit_logs(&p, 0, 2, NULL, 0.2, 0, &err), TY_EINPUT);
    ck_assert_msg(strstr(err.text, "ar8.log: 8 ranks on a node, but cluster.gpus_per_node is 4"),
                  "%s", err.text);
    ck_assert_uint_eq(err.n, 1);
    put(p.run, "cluster: {gpu: a100-sxm-80g, nvlink_bandwidth: 300 GB/s, gpus_per_node: 8}\n"
               "model: {preset: llama-7b}\nlayout: {tensor: 8, global_batch: 64}\n");
    ck_assert_int_eq(fit_logs(&p, 3, 4, NULL, 0.2, 0, &err), TY_EINPUT);
    ck_assert_msg(strstr(err.text, "cluster.nic_bandwidth is missing") != NULL, "%s", err.text);
    /* the last two ranks move to a node of their own */
    put(p.run, base);
    struct ty_config *config = machine(&p, NULL, NULL);
    put_log(&p, &uneven, config, 0);
    ty_config_free(config);
    char *text = file_text(temp_dir_file(&p.dir, uneven.name), &n);
    for (int device = 6; device < 8; device++) {
        char host[32];
        snprintf(host, sizeof(host), "on node-0 device %d", device);
        char *at = strstr(text, host);
        ck_assert_ptr_nonnull(at);
        at[strlen("on node-")] = '1';
    }
    put(temp_dir_file(&p.dir, uneven.name), text);
    free(text);
    const struct ty_calibrate_options o = {.collectives = temp_dir_file(&p.dir, uneven.name)};
    ck_assert_int_eq(place_calibrate(&p, &o, &err), TY_EINPUT);
    ck_assert_msg(strstr(err.text, "as many ranks on each node") != NULL, "%s", err.text);
    place_remove(&p);
}

TY_SUITE("calibrate_collectives")
