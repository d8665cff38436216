/* test_equals.c - ranks that cannot differ, executed once, and planned once: every report and
 * figure is that of all ranks, byte for byte, on layouts drawn at random with whatever makes ranks
 * differ or only seem to. */
#include <stdio.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/cli_api.h"
#include "sim/run/figures.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

#define SETS_MAX 24u
#define RUNS     300u

static const char yaml[] = "cluster: {preset: dgx-a100-80g, nodes: 8}\n"
                           "model: {preset: llama-7b, layers: 8, sequence: 512}\n"
                           "layout: {global_batch: 128}\n";
static const char experts[] = "cluster: {preset: dgx-h100, nodes: 4}\n"
                              "model: {preset: mixtral-8x7b, layers: 8, sequence: 512}\n"
                              "layout: {global_batch: 64}\n";

/* One of the two as a file of the folder, whose name is good until the next is asked for. */
static const char *write_file(struct temp_dir *dir, const char *text)
{
    const char *path = temp_dir_file(dir, "run.yaml");
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    return path;
}

/* Of each row one setting is drawn; "": none. */
static const char *const choices[][12] = {
    {"", "layout.tensor=2", "layout.tensor=4", "layout.tensor=8", "layout.tensor=2"},
    {"", "layout.pipeline=2", "layout.pipeline=4", "layout.pipeline=2"},
    {"", "", "", "layout.context=2", "layout.context=4"},
    {"", "", "layout.context_method=all-gather", "layout.context_method=ulysses"},
    {"", "layout.zero=1", "layout.zero=2", "layout.zero=3"},
    {"", "", "layout.shard=2", "layout.shard=4", "layout.shard=8"},
    {"", "", "layout.micro_batch=2"},
    {"", "schedule.name=gpipe", "schedule.name=interleaved", "schedule.name=zb-1p",
     "schedule.name=zb-v", "schedule.name=dualpipe", "schedule.name=chimera",
     "schedule.name=pipedream-2bw", "schedule.name=1f1b"},
    {"", "", "layout.sequence_parallel=true"},
    {"", "", "layout.order=[data, tensor, context, pipeline]",
     "layout.order=[tensor, context, pipeline, data]"},
    {"", "", "run.steps=2"},
    {"", "", "", "", "", "", "cluster.exceptions=[gpu 3 at 90 %]",
     "cluster.exceptions=[nic 1.2 dead]", "cluster.exceptions=[gpu 5 at 100 %]"},
    {"", "", "", "", "", "run.jitter=2 %", "run.contention=false", "run.engine=sweep",
     "run.engine=events"},
    {"", "", "", "", "cluster.nics_per_node=4", "cluster.nodes=3"},
    {"", "", "", "", "fabric.topology=rail-only", "fabric.topology=rail-optimized"},
    {"", "", "framework.overlap_grad_reduce=true", "framework.preset=ddp"},
    {"", "", "model.tied=true"},
    {"", "", "", "", "layout.offload_optimizer=cpu", "layout.offload_activations=cpu"},
    {"", "", "", "fabric.pcie_bandwidth=25 GB/s"},
    {"", "", "", "cluster.nodes=12", "cluster.nodes=32"},
    {"", "layout.expert=2", "layout.expert=4", "layout.expert=8"}, /* of models with experts */
};

struct drawn {
    const char *yaml, *set[SETS_MAX];
    size_t n;
};

static struct drawn draw(uint64_t seed)
{
    const bool sparse = ty_hash4(seed, 1, 0, 0) % 6 == 0;
    struct drawn d = {.yaml = sparse ? experts : yaml};
    for (size_t i = 0; i < TY_COUNT(choices) - !sparse; i++) {
        size_t n = 0;
        while (n < TY_COUNT(choices[i]) && choices[i][n] != NULL) {
            n++;
        }
        const char *set = choices[i][ty_hash4(seed, 2, i, 0) % n];
        if (set[0] != '\0') {
            d.set[d.n++] = set;
        }
    }
    return d;
}

/* A report of a run without the lines that tell what it took. */
static char *report_of(struct ty_run *run, const char *format, struct ty_err *err)
{
    static const char *const own[] = {
        "\"wall_s\"",       "\"peak_rss_bytes\"", "\"executed_ranks\"",
        " (sweep engine, ", " (events engine, ",  "ranks that cannot differ were executed once"};
    char *text = NULL;
    ck_assert_msg(ty_run_report(run, format, &text, err) == 0, "%s", ty_err_text(err));
    uint32_t left_out = 0;
    for (size_t i = 0; i < TY_COUNT(own); i++) {
        char *line = strstr(text, own[i]);
        while (line != NULL && line > text && line[-1] != '\n') {
            line--;
        }
        char *end = line != NULL ? strchr(line, '\n') : NULL;
        if (end != NULL) {
            memmove(line, end + 1, strlen(end));
            left_out++;
        }
    }
    const bool explains = strcmp(format, "explain") == 0;
    ck_assert_uint_ge(left_out, strcmp(format, "json") == 0 ? 3 : !explains);
    return text;
}

#define EXPLAINED 8 /* of so many runs one is explained, too */

/* Whether one of many stood for others; false, too, of what cannot be run. */
static bool demand_equal(const char *path, const struct drawn *d, uint64_t seed)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    bool once = false;
    int rc = ty_config_read(
        &config,
        &(struct ty_source){.path = path, .sets = (const char *const *)d->set, .n_sets = d->n},
        err);
    if (rc == 0) {
        rc = ty_run_new(&run, config, err);
    }
    ck_assert_msg(rc == 0 || ty_err_exit_status(err) <= 3, "%s", ty_err_text(err));
    if (rc == 0 && ty_run_execute(run, NULL, err) == 0) {
        static const char *const formats[] = {"json", "explain"};
        const size_t n = seed % EXPLAINED == 0 ? 2 : 1;
        char *all[2];
        for (size_t i = 0; i < n; i++) {
            all[i] = report_of(run, formats[i], err);
        }
        ck_assert_int_eq(ty_run_execute(run, &(struct ty_execute_options){.figures = true}, err),
                         0);
        for (size_t i = 0; i < n; i++) {
            char *one = report_of(run, formats[i], err);
            ck_assert_msg(strcmp(all[i], one) == 0, "seed %u:\n%s\n%s", (unsigned)seed, all[i],
                          one);
            ty_text_free(all[i]);
            ty_text_free(one);
        }
        once = run->all.program->n_ranks < run->lowered.program.n_ranks;
    }
    ty_run_free(run);
    ty_config_free(config);
    ty_err_free(err);
    return once;
}

TEST(reports_of_one_rank_for_all_are_those_of_all)
{
    struct temp_dir dir;
    const uint64_t runs = suite_part(RUNS, 5);
    uint32_t once = 0;
    temp_dir_make(&dir);
    for (uint64_t seed = 0; seed < runs; seed++) {
        const struct drawn d = draw(seed);
        once += demand_equal(write_file(&dir, d.yaml), &d, seed);
    }
    ck_assert_uint_gt(once, runs / 8);
    temp_dir_remove(&dir);
}

/* What a row of a sweep is made of, from a plan of all ranks or, `window`, of some. */
static struct ty_run *folded(const struct ty_config *config, bool window, struct ty_err *err)
{
    struct ty_run *run = NULL;
    int rc = window ? ty_run_plan(&run, config, NULL, err) : ty_run_new(&run, config, err);
    if (rc == 0) {
        rc = ty_run_execute_folded(run, err);
    }
    if (rc < 0) {
        ty_run_free(run);
        run = NULL;
    }
    return run;
}

static void demand_same_figures(const struct ty_run *a, const struct ty_run *b, uint64_t seed)
{
    struct ty_figures f, g;
    ty_run_figures(a, &f);
    ty_run_figures(b, &g);
    for (uint32_t i = 0; i < ty_n_figures; i++) {
        const struct ty_figure_row *row = &ty_figure_table[i];
        ck_assert_msg(row->name == NULL ||
                          ty_bits(ty_figure_value(row, &f)) == ty_bits(ty_figure_value(row, &g)),
                      "seed %u: %s", (unsigned)seed, row->name);
    }
    ck_assert_mem_eq(f.bucket_s, g.bucket_s, sizeof(f.bucket_s));
    ck_assert_uint_eq(ty_run_ranks(a), ty_run_ranks(b));
    for (uint32_t i = 0; i < f.n_traffic; i++) { /* in rows of sweeps nobody is told of it */
        const struct ty_traffic *x = &f.traffic[i], *y = &g.traffic[i];
        ck_assert_str_eq(x->group, y->group);
        ck_assert_double_eq_tol(x->nvlink_B, y->nvlink_B, 1e-12 * x->nvlink_B + 1e-9);
        ck_assert_double_eq_tol(x->net_B, y->net_B, 1e-12 * x->net_B + 1e-9);
    }
}

TEST(a_window_of_ranks_tells_the_figures_of_all)
{
    struct temp_dir dir;
    const uint64_t runs = suite_part(RUNS, 5);
    uint32_t windows = 0;
    temp_dir_make(&dir);
    for (uint64_t seed = 0; seed < runs; seed++) {
        const struct drawn d = draw(seed);
        struct ty_err *err = ty_err_new();
        struct ty_config *config = NULL;
        const char *path = write_file(&dir, d.yaml);
        const int rc = ty_config_read(
            &config,
            &(struct ty_source){.path = path, .sets = (const char *const *)d.set, .n_sets = d.n},
            err);
        struct ty_run *all = rc == 0 ? folded(config, false, err) : NULL;
        struct ty_run *some = rc == 0 ? folded(config, true, err) : NULL;
        ck_assert_msg((all == NULL) == (some == NULL), "seed %u", (unsigned)seed);
        if (all != NULL) {
            ck_assert_uint_eq(all->lowered.window.times, 1);
            demand_same_figures(all, some, seed);
            windows += some->lowered.window.times > 1;
        }
        ty_run_free(all);
        ty_run_free(some);
        ty_config_free(config);
        ty_err_free(err);
    }
    ck_assert_uint_gt(windows, runs / 8);
    temp_dir_remove(&dir);
}

/* What `fleet` is told by a run that was executed for numbers. */
static char *fleet_of(const struct ty_run *run, struct ty_err *err)
{
    const struct ty_fleet_request request = {.form = "json", .days = 2, .runs = 1, .jobs = 1};
    char *text = NULL;
    ck_assert_msg(ty_run_fleet(run, &request, &text, err) == 0, "%s", ty_err_text(err));
    return text;
}

/* `all`: executed rank by rank; `some`: for figures. */
static void demand_same_reports(struct ty_run *all, struct ty_run *some, uint64_t seed,
                                struct ty_err *err)
{
    for (int i = 0; i < 3; i++) {
        static const char *const format[] = {"json", "table"};
        char *a = i < 2 ? report_of(all, format[i], err) : fleet_of(all, err);
        char *b = i < 2 ? report_of(some, format[i], err) : fleet_of(some, err);
        size_t same = 0;
        while (a[same] != '\0' && a[same] == b[same]) {
            same++;
        }
        ck_assert_msg(strcmp(a, b) == 0, "seed %u: %.200s\nnot %.200s", (unsigned)seed, a + same,
                      b + same);
        ty_text_free(a);
        ty_text_free(b);
    }
}

/* To the last bit, as sums are rounded as if every rank had come in its turn. */
TEST(a_window_of_ranks_tells_the_reports_of_all)
{
    struct temp_dir dir;
    const uint64_t runs = suite_part(RUNS, 5);
    uint32_t windows = 0;
    temp_dir_make(&dir);
    for (uint64_t seed = 0; seed < runs; seed++) {
        const struct drawn d = draw(seed);
        struct ty_err *err = ty_err_new();
        struct ty_config *config = NULL;
        struct ty_run *all = NULL, *some = NULL;
        const char *path = write_file(&dir, d.yaml);
        int rc = ty_config_read(
            &config,
            &(struct ty_source){.path = path, .sets = (const char *const *)d.set, .n_sets = d.n},
            err);
        rc = rc < 0 ? rc : ty_run_new(&all, config, err);
        if (rc == 0 && ty_run_execute(all, NULL, err) == 0) {
            ck_assert_int_eq(ty_run_outline(&some, config, err), 0);
            ck_assert_int_eq(
                ty_run_execute(some, &(struct ty_execute_options){.figures = true}, err), 0);
            demand_same_reports(all, some, seed, err);
            windows += some->lowered.window.times > 1;
        }
        ty_run_free(all);
        ty_run_free(some);
        ty_config_free(config);
        ty_err_free(err);
    }
    ck_assert_uint_gt(windows, runs / 8);
    temp_dir_remove(&dir);
}

/* An outline says what a plan of all ranks does, and becomes one when it is executed. */
TEST(an_outline_is_described_and_executed_as_a_plan_of_all)
{
    struct temp_dir dir;
    struct ty_err *err = ty_err_new();
    struct ty_config *config;
    struct ty_run *all, *some;
    char *text[2];
    temp_dir_make(&dir);
    ck_assert_int_eq(
        ty_config_read(&config, &(struct ty_source){.path = write_file(&dir, yaml)}, err), 0);
    ck_assert_int_eq(ty_run_new(&all, config, err), 0);
    ck_assert_int_eq(ty_run_outline(&some, config, err), 0);
    ck_assert_uint_gt(some->lowered.window.times, 1);
    ck_assert_int_eq(ty_run_report(all, "check", &text[0], err), 0);
    ck_assert_int_eq(ty_run_report(some, "check", &text[1], err), 0);
    ck_assert_str_eq(text[0], text[1]);
    ty_text_free(text[0]);
    ck_assert_int_lt(ty_run_report(some, "traffic", &text[0], err), 0);
    ck_assert_int_lt(ty_run_trace_check(some, "csv:null:", NULL, err), 0);
    ck_assert_int_eq(ty_run_execute(all, NULL, err), 0);
    ck_assert_int_eq(ty_run_execute(some, NULL, err), 0);
    demand_same_figures(all, some, 0);
    ck_assert_uint_eq(some->all.program->n_ranks, all->all.program->n_ranks);
    ty_text_free(text[1]);
    ty_run_free(all);
    ty_run_free(some);
    ty_config_free(config);
    ty_err_free(err);
    temp_dir_remove(&dir);
}

/* Single ranks are not to be had of such a run. */
TEST(what_shows_single_ranks_says_that_it_needs_all)
{
    struct temp_dir dir;
    struct ty_err *err = ty_err_new();
    struct ty_config *config;
    struct ty_run *run;
    struct ty_tasks *tasks;
    temp_dir_make(&dir);
    ck_assert_int_eq(
        ty_config_read(&config, &(struct ty_source){.path = write_file(&dir, yaml)}, err), 0);
    ck_assert_int_eq(ty_run_new(&run, config, err), 0);
    ck_assert_int_eq(ty_run_execute(run, &(struct ty_execute_options){.figures = true}, err), 0);
    ck_assert_uint_eq(run->all.program->n_ranks, 1);
    ck_assert_int_lt(ty_run_trace(run, "csv:null:", NULL, NULL, err), 0);
    ck_assert_ptr_nonnull(strstr(ty_err_text(err), "a trace needs every rank"));
    ck_assert_int_lt(ty_run_tasks(run, NULL, &tasks, err), 0);
    ck_assert_int_eq(ty_run_execute(run, NULL, err), 0);
    ck_assert_int_eq(ty_run_tasks(run, NULL, &tasks, err), 0);
    ty_tasks_free(tasks);
    ty_run_free(run);
    ty_config_free(config);
    ty_err_free(err);
    temp_dir_remove(&dir);
}

TY_SUITE("equals")
