/* test_measured.c - files of measurements named by a run file: found beside it, checked, reported
 * and part of the digest. */
#include "sim/config/measured.h"

#include <stdio.h>
#include <string.h>

#include "sim/trainyard.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"
#include "topology/collectives/measured.h"

#define HEAD "cluster: {preset: dgx-a100-80g, nodes: 2"
#define REST                                                                                       \
    "}\nmodel: {preset: llama-7b}\nlayout: {tensor: 2, pipeline: 2, global_batch: 16, zero: 1}\n"

static const char pair_log[] =
    "# Collective test starting: all_reduce_perf\n"
    "#  Rank  0 Group  0 Pid   3141 on node-a device  0 [0x07] NVIDIA A100-SXM4-80GB\n"
    "#  Rank  1 Group  0 Pid   3142 on node-a device  1 [0x0f] NVIDIA A100-SXM4-80GB\n"
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    " 1024 256 float sum -1 20.00 0.05 0.05 0 21.00 0.05 0.05 0\n"
    " 1048576 262144 float sum -1 44.21 23.72 23.72 0 45.10 23.25 23.25 0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 11.8\n";

struct folder {
    struct temp_dir dir;
    struct ty_config *config;
    struct ty_err err;
};

static void put(struct folder *f, const char *name, const char *text)
{
    FILE *file = fopen(temp_dir_file(&f->dir, name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static int load(struct folder *f, const char *cluster_keys, const char *set)
{
    char text[1000];
    snprintf(text, sizeof(text), "%s%s%s", HEAD, cluster_keys, REST);
    put(f, "run.yaml", text);
    f->err = (struct ty_err)TY_ERR_NONE;
    return ty_config_read(&f->config,
                          &(struct ty_source){.path = temp_dir_file(&f->dir, "run.yaml"),
                                              .sets = &set,
                                              .n_sets = set != NULL},
                          &f->err);
}

static struct folder begin(void)
{
    struct folder f = {.config = NULL};
    temp_dir_make(&f.dir);
    put(&f, "a.log", pair_log);
    return f;
}

/* The error's text without the folder's name. */
static const char *said(struct folder *f)
{
    const size_t n = strlen(f->dir.path) + 1;
    for (char *p = f->err.text; (p = strstr(p, f->dir.path)) != NULL;) {
        memmove(p, p + n, strlen(p + n) + 1);
    }
    return f->err.text;
}

TEST(logs_lie_beside_the_run_file)
{
    static const struct {
        const char *keys, *set;
        uint32_t n;
        int collectives;
    } rows[] = {
        {"", NULL, 0, 0},
        {", collectives: ring", NULL, 0, 1},
        {", collectives: {measured: a.log}", NULL, 1, 0},
        {", collectives: {algorithm: tree, measured: [a.log]}", NULL, 1, 2},
        {", collectives: ring", "cluster.collectives.measured=a.log", 1, 1},
        {", collectives: {measured: a.log}", "cluster.collectives=ring", 1, 1},
        {", collectives: {measured: a.log}", "cluster.collectives.algorithm=ring", 1, 1},
        {", collectives: {measured: a.log}", "cluster.collectives.measured=none", 0, 0},
    };
    struct folder f = begin();
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ck_assert_msg(load(&f, rows[i].keys, rows[i].set) == 0, "row %zu: %s", i, f.err.text);
        const struct ty_cluster *c = &f.config->cluster;
        ck_assert_uint_eq(c->collectives.measured != NULL ? c->collectives.measured->n : 0,
                          rows[i].n);
        ck_assert_int_eq(c->collectives.algorithm, rows[i].collectives);
        ty_config_free(f.config);
    }
    temp_dir_remove(&f.dir);
}

TEST(wrong_names_and_files_are_reported)
{
    static const struct {
        const char *keys, *message;
    } rows[] = {
        {", collectives: {measure: a.log}",
         "run.yaml:1:57: cluster.collectives.measure: unknown key; hint: did you mean "
         "\"collectives.measured\"?"},
        {", collectives: {algorithm: rings}",
         "run.yaml:1:68: cluster.collectives.algorithm: unknown word (rings); write one of auto, "
         "ring, tree, "
         "hierarchical, nvls, ring-ll128, ring-ll, tree-ll, nvls-tree, sharp, pat; hint: did you "
         "mean "
         "\"ring\"?"},
        {", collectives: {measured: {a: b}}",
         "run.yaml:1:67: cluster.collectives.measured: a mapping where one value is due; write "
         "texts in brackets, like [a, b], or none"},
        {", collectives: {measured: b.log}",
         "b.log: cannot be opened (No such file or directory)\nhint: the file is named by "
         "cluster.collectives.measured at run.yaml:1"},
        {", collectives: {measured: cut.log}",
         "cut.log:3:1: no table (\"# size count type ... time algbw busbw\") up to here; give what "
         "nccl-tests printed, without prefixes of a launcher"},
        {", collectives: {measured: [a.log, same.log]}",
         "run.yaml:1:67: cluster.collectives.measured: two logs of all-reduce over 2 ranks on 1 "
         "node (a.log, same.log); keep one"},
    };
    struct folder f = begin();
    char cut[300];
    snprintf(cut, sizeof(cut), "%.206s", pair_log);
    *(strrchr(cut, '\n') + 1) = '\0';
    put(&f, "cut.log", cut);
    put(&f, "same.log", pair_log);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        ck_assert_int_lt(load(&f, rows[i].keys, NULL), 0);
        ck_assert_int_eq(ty_exit_status(f.err.code), 3);
        ck_assert_msg(strncmp(said(&f), rows[i].message, strlen(rows[i].message)) == 0,
                      "row %zu: %s\nexpected %s", i, f.err.text, rows[i].message);
    }
    temp_dir_remove(&f.dir);
}

static uint64_t digest(struct folder *f, const char *keys)
{
    ck_assert_msg(load(f, keys, NULL) == 0, "%s", f->err.text);
    const uint64_t h = ty_config_digest(f->config);
    ty_config_free(f->config);
    return h;
}

TEST(the_digest_depends_on_what_was_measured_not_on_names)
{
    struct folder f = begin();
    char other[sizeof(pair_log)];
    put(&f, "same.log", pair_log);
    memcpy(other, pair_log, sizeof(other));
    memcpy(strstr(other, "44.21"), "44.22", 5);
    put(&f, "other.log", other);
    const uint64_t none = digest(&f, ""), a = digest(&f, ", collectives: {measured: a.log}");
    ck_assert(a != none);
    ck_assert(a == digest(&f, ", collectives: {measured: same.log}"));
    ck_assert(a != digest(&f, ", collectives: {measured: other.log}"));
    temp_dir_remove(&f.dir);
}

static char *described(struct folder *f, const char *keys)
{
    struct ty_run *run;
    char *text;
    ck_assert_msg(load(f, keys, NULL) == 0, "%s", f->err.text);
    ck_assert_msg(ty_run_new(&run, f->config, &f->err) == 0, "%s", f->err.text);
    ck_assert_int_eq(ty_run_report(run, "check", &text, &f->err), 0);
    ty_run_free(run);
    ty_config_free(f->config);
    return text;
}

TEST(check_tells_what_a_log_covers)
{
    static const char *const lines[] = {
        "\n  a.log: all-reduce, 2 ranks on 1 node, 2 sizes from 1.0 KiB to 1.0 MiB, float\n"
        "    fit: latency 19.98 us, bus bandwidth 43.27 GB/s\n"
        "    its largest error from 1 kB: +0.0 %, 1 MB: +0.0 %\n",
        "\n  tp all-reduce           2 ranks on 1 node: measured, a.log\n",
        "\n  dp all-gather           4 ranks on 1 node: model (ring), no log of this\n",
        "\n  pp send                 model (direct), no log of this\n",
    };
    struct folder f = begin();
    char *text = described(&f, ", collectives: {measured: a.log}");
    for (size_t i = 0; i < TY_COUNT(lines); i++) {
        ck_assert_msg(strstr(text, lines[i]) != NULL, "no %s in\n%s", lines[i], text);
    }
    ty_text_free(text);
    text = described(&f, "");
    ck_assert_ptr_null(strstr(text, "measured"));
    ty_text_free(text);
    temp_dir_remove(&f.dir);
}

#define ROWS                                                                                       \
    "op,role,dtype,ranks,nodes,bytes,time_us\nall-reduce,,,2,1,1048576,80\n"                       \
    "all-reduce,,,2,1,2097152,100\nsend-recv,,,2,1,4194304,50\n"

/* In a table of kernels, or as one of the logs. */
TEST(collectives_of_a_table_are_like_those_of_logs)
{
    static const char *const keys[] = {", operators: t.csv", ", collectives: {measured: t.csv}"};
    for (size_t i = 0; i < TY_COUNT(keys); i++) {
        struct folder f = begin();
        put(&f, "t.csv", ROWS);
        ck_assert_msg(load(&f, keys[i], NULL) == 0, "%s", f.err.text);
        const struct ty_coll_measured *measured = f.config->cluster.collectives.measured;
        ck_assert(measured != NULL && measured->n == 2);
        const struct ty_coll_table *pair = &measured->table[0], *message = &measured->table[1];
        ck_assert(pair->log.coll == TY_COLL_ALL_REDUCE && pair->log.ranks == 2);
        ck_assert_double_eq_tol(ty_coll_table_seconds(pair, 1048576), 80e-6, 1e-15);
        ck_assert_double_eq_tol(ty_coll_table_seconds(pair, 3 * 1048576), 120e-6, 1e-12);
        /* One size: nothing tells latency from transfer, so all of it is transfer. */
        ck_assert_double_eq(message->fit.latency_s, 0);
        ck_assert_double_eq_tol(ty_coll_table_seconds(message, 8388608), 100e-6, 1e-12);
        ck_assert_double_eq_tol(ty_coll_table_seconds(message, 1024), 50e-6, 1e-12);
        ck_assert_ptr_eq(ty_coll_measured_p2p(&f.config->cluster, true), message);
        ty_config_free(f.config);
        temp_dir_remove(&f.dir);
    }
}

TEST(a_table_and_a_log_of_one_group_are_refused)
{
    struct folder f = begin();
    put(&f, "t.csv", ROWS);
    ck_assert_int_eq(load(&f, ", operators: t.csv, collectives: {measured: a.log}", NULL),
                     TY_EINPUT);
    ck_assert_msg(
        strstr(said(&f), "two logs of all-reduce over 2 ranks on 1 node (a.log, t.csv)") != NULL,
        "%s", f.err.text);
    put(&f, "t.csv", "op,role,dtype,elements,time_us\nnorm,forward,bf16,1024,5\n");
    ck_assert_int_eq(load(&f, ", collectives: {measured: t.csv}", NULL), TY_EINPUT);
    ck_assert_msg(strstr(said(&f), "a table without collectives (t.csv)") != NULL, "%s",
                  f.err.text);
    temp_dir_remove(&f.dir);
}

TY_SUITE("measured")
