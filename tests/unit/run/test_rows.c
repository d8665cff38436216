/* test_rows.c - a row is what its own values make it, whatever the worker was used for before. */
#include "sim/sweep/row_run.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char dense[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, layers: 8, sequence: 1024}\n"
                            "layout: {tensor: 2, pipeline: 2, global_batch: 32}\n";

static const char sparse[] = "cluster: {preset: dgx-h100, nodes: 2}\n"
                             "model: {preset: mixtral-8x7b, layers: 4, sequence: 1024}\n"
                             "layout: {tensor: 2, pipeline: 2, expert: 4, global_batch: 32}\n";

/* Keys and values, of which a row has some; "" is none. */
static const char *const keys[][5] = {
    {"layout.tensor", "1", "4", "8", "2"},
    {"layout.pipeline", "1", "4", "2", "8"},
    {"layout.micro_batch", "2", "4", "1", "8"},
    {"layout.zero", "1", "3", "0", "2"},
    {"layout.recompute", "full", "none", "core_attn", "norm"},
    {"layout.sequence_parallel", "true", "false", "true", "true"},
    {"schedule.name", "interleaved", "zb-v", "gpipe", "seq1f1b"},
    {"schedule.chunks", "2", "auto", "4", "auto"},
    {"model.sequence", "2048", "512", "1024", "2048"},
    {"model.attention", "flash2", "fused-softmax", "flash1", "unfused"},
    {"cluster.nodes", "1", "4", "2", "3"},
    {"cluster.derate", "1.1", "1.3", "1", "1.2"},
    {"framework.overlap_grad_reduce", "false", "true", "false", "true"},
    {"run.contention", "false", "true", "false", "true"},
    {"run.jitter", "0.01", "0", "0", "0"},
    {"run.steps", "2", "1", "1", "1"},
};

struct answer {
    int rc;
    struct ty_figures figures;
    double peak_B[16];
    char message[TY_ROW_MESSAGE];
};

static void see(const struct ty_run *run, void *arg)
{
    struct answer *a = arg;
    ty_run_figures(run, &a->figures);
    a->figures.run = NULL;
    a->figures.peak_rss_B = 0; /* of the process */
    for (uint32_t s = 0; s < run->lowered.program.n_gangs && s < TY_COUNT(a->peak_B); s++) {
        struct ty_bill bill;
        ty_run_bill(run, s, &bill);
        a->peak_B[s] = bill.total_B;
    }
}

static struct answer answer_of(const struct ty_row_source *rows, const char *const *sets, size_t n)
{
    struct answer a;
    struct ty_err err;
    memset(&a, 0, sizeof(a));
    ty_err_init(&err);
    a.rc = ty_row_run(rows, 0, sets, n, see, &a, &err);
    if (a.rc < 0) {
        ty_row_message(&err, a.message);
    }
    return a;
}

static uint32_t check(const char *text, uint32_t n)
{
    static const struct ty_sweep_table none = {.remark = NULL};
    struct temp_dir dir;
    char path[192];
    uint32_t right = 0;
    temp_dir_make(&dir);
    (void)snprintf(path, sizeof(path), "%s", temp_dir_file(&dir, "run.yaml"));
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    struct ty_worker_pool used, fresh;
    struct ty_row_source kept = {.source = {.path = path}, .table = &none, .workers = &used};
    struct ty_row_source alone = {.source = {.path = path}, .table = &none, .workers = &fresh};
    ty_worker_pool_init(&used, &kept.source);
    for (uint64_t i = 0; i < n; i++) {
        char set[4][64];
        const char *sets[4];
        for (uint32_t k = 0; k < 4; k++) {
            const uint64_t which = ty_hash4(i, k, 3, 0);
            const char *const *key = keys[which % TY_COUNT(keys)];
            (void)snprintf(set[k], sizeof(set[k]), "%s=%s", key[0], key[1 + (which >> 32) % 4]);
            sets[k] = set[k];
        }
        ty_worker_pool_init(&fresh, &alone.source);
        const struct answer a = answer_of(&kept, sets, 4), b = answer_of(&alone, sets, 4);
        ty_worker_pool_release(&fresh);
        ck_assert_msg(memcmp(&a, &b, sizeof(a)) == 0, "row %u: %s %s %s %s: %s, %s", (unsigned)i,
                      set[0], set[1], set[2], set[3], a.message, b.message);
        right += a.rc == 0;
    }
    ty_worker_pool_release(&used);
    temp_dir_remove(&dir);
    return right;
}

TEST(a_row_does_not_depend_on_those_before_it)
{
    const uint32_t n = suite_part(1600, 8);
    const uint32_t right = check(dense, n);
    ck_assert(right > n / 4 && right < n - n / 20);
    ck_assert_uint_gt(check(sparse, n / 2), n / 20);
}

TY_SUITE("rows")
