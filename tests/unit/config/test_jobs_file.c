/* test_jobs_file.c - the list `jobs` of a run file: where each of them sits, what an entry has from
 * whom, and what is said of them. */
#include "sim/config/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/table.h"
#include "tests/unit/jobs_text.h"
#include "tests/unit/temp_dir.h"

/* ---- where they sit ---- */

static uint32_t seat(const struct ty_config *c, uint32_t rank)
{
    return c->layout.gpu_of != NULL ? c->layout.gpu_of[rank] : rank;
}

TEST(a_job_sits_after_the_one_before)
{
    struct quick_run q =
        quick_run(CLUSTER("8") MODEL "layout: {tensor: 2, data: 4, global_batch: 32}\n"
                                     "jobs:\n"
                                     "  - {name: b, layout: {tensor: 4, data: 2}}\n"
                                     "  - {name: c, layout: {data: auto}}\n",
                  "sweep", NULL);
    ck_assert_uint_eq(q.config->layout.ranks, 8);
    ck_assert_uint_eq(q.config->jobs[0].config->layout.ranks, 8);
    ck_assert_uint_eq(seat(q.config->jobs[0].config, 0), 8);
    ck_assert_uint_eq(q.config->jobs[1].config->layout.ranks, 16);
    ck_assert_uint_eq(seat(q.config->jobs[1].config, 0), 16);
    ck_assert_uint_eq(seat(q.config->jobs[1].config, 15), 31);
    quick_run_free(&q);
}

TEST(nodes_and_gpus_name_the_seats_of_one_job_too)
{
    struct quick_run q = quick_run(CLUSTER("8") MODEL
                                   "layout: {nodes: [0, 2-3], gpus: [1, 6-7], global_batch: 36}\n",
                                   "sweep", NULL);
    const uint32_t gpu_of[] = {1, 6, 7, 17, 22, 23, 25, 30, 31};
    ck_assert_uint_eq(q.config->layout.ranks, 9);
    for (uint32_t r = 0; r < 9; r++) {
        ck_assert_uint_eq(seat(q.config, r), gpu_of[r]);
    }
    quick_run_free(&q);
}

/* ---- what a job is ---- */

TEST(settings_of_the_command_line_are_those_of_the_first_job)
{
    struct quick_run q = quick_run(
        apart, "sweep",
        SETS("model.sequence=2048", "layout.micro_batch=2", "cluster.nic_bandwidth=100 Gb/s"));
    const struct ty_config *b = q.config->jobs[0].config;
    ck_assert_uint_eq(q.config->arch.sequence, 2048);
    ck_assert_uint_eq(b->arch.sequence, 1024);
    ck_assert_uint_eq(b->layout.micro_batch, 1);
    ck_assert_uint_eq(b->layout.zero, 1);
    ck_assert_uint_eq(b->arch.layers, 6);
    ck_assert_double_eq(b->cluster.net.nic_bandwidth, 12.5e9);
    quick_run_free(&q);
}

static void put(struct temp_dir *dir, const char *name, const char *text)
{
    FILE *file = fopen(temp_dir_file(dir, name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

TEST(a_job_may_be_another_run_file)
{
    struct temp_dir dir;
    struct ty_err err = TY_ERR_NONE;
    struct ty_config *config = NULL;
    temp_dir_make(&dir);
    put(&dir, "run.yaml",
        CLUSTER("8") MODEL "layout: {nodes: 0-1, global_batch: 32, zero: 2}\n"
                           "jobs:\n"
                           "  - {name: b, file: other.yaml, layout: {tensor: 8}, steps: 3}\n");
    put(&dir, "other.yaml",
        "cluster: {preset: dgx-h100, nodes: 99}\n"
        "model: {preset: llama-13b}\n"
        "layout: {nodes: 2-3, tensor: 2, global_batch: 64}\n"
        "run: {steps: 7}\n");
    ck_assert_msg(ty_config_read(&config,
                                 &(struct ty_source){.path = temp_dir_file(&dir, "run.yaml")},
                                 &err) == 0,
                  "%s", err.text);
    const struct ty_config *b = config->jobs[0].config;
    ck_assert_str_eq(b->arch.preset, "llama-13b");
    ck_assert_uint_eq(b->arch.layers, 40); /* nothing of the run file's own */
    ck_assert_uint_eq(b->layout.zero, 0);
    ck_assert_uint_eq(b->layout.tensor, 8);
    ck_assert_uint_eq(b->layout.global_batch, 64);
    ck_assert_uint_eq(seat(b, 0), 16);
    ck_assert_uint_eq(b->cluster.nodes, 4);
    ck_assert_str_eq(b->cluster.preset, "dgx-a100-80g");
    ck_assert_uint_eq(config->jobs[0].steps, 3);
    ty_config_free(config);
    temp_dir_remove(&dir);
}

TEST(the_digest_is_of_all_jobs)
{
    struct quick_run q = quick_run(apart, "sweep", NULL), alone = quick_run(first, "sweep", NULL);
    ck_assert_uint_ne(ty_config_digest(q.config), ty_config_digest(alone.config));
    const uint64_t before = ty_config_digest(q.config);
    q.config->jobs[0].config->layout.micro_batch = 2;
    ck_assert_uint_ne(ty_config_digest(q.config), before);
    quick_run_free(&q);
    quick_run_free(&alone);
}

/* ---- what is said of them ---- */

TEST(the_explanation_tells_what_each_job_costs)
{
    struct quick_run q =
        quick_run(CLUSTER("1") MODEL "layout: {gpus: 0-3, tensor: 2, global_batch: 32}\n"
                                     "jobs:\n"
                                     "  - {name: loud, layout: {gpus: 4-5}}\n"
                                     "  - {name: silent, layout: {nodes: 3, gpus: 6-7}}\n",
                  NULL, NULL);
    struct ty_err err = TY_ERR_NONE;
    char *text = NULL;
    ck_assert_int_eq(ty_run_report(q.run, "explain", &text, &err), 0);
    const char *loud = strstr(text, "\n  loud"), *silent = strstr(text, "\n  silent");
    ck_assert(loud != NULL && silent != NULL);
    ck_assert_double_gt(strtod(loud + strlen("\n  loud"), NULL), 1);
    ck_assert_double_eq(strtod(silent + strlen("\n  silent"), NULL), 0);
    free(text);
    quick_run_free(&q);
}

TEST(a_neighbour_that_does_not_fit_is_told_of)
{
    static const char *const layers[] = {"4", "96"};
    for (size_t i = 0; i < TY_COUNT(layers); i++) {
        char yaml[512];
        (void)snprintf(yaml, sizeof(yaml),
                       CLUSTER("8") MODEL
                       "layout: {nodes: 0-1, tensor: 4, global_batch: 32}\n"
                       "jobs: [{name: b, model: {preset: gpt3-175b, layers: %s},\n"
                       "  layout: {nodes: 2-3}}]\n",
                       layers[i]);
        struct quick_run q = quick_run(yaml, NULL, NULL);
        struct ty_text text = {.data = NULL};
        ty_report_jobs_table(q.run, q.figures.step_s, &text);
        ck_assert_int_eq(strstr(text.data, "b does not fit in memory") != NULL, i == 1);
        ty_text_release(&text);
        quick_run_free(&q);
    }
}

TY_SUITE("jobs_file")
