/* test_tasks.c - the public interface: columns of tasks, figures by name, runs side by side on
 * threads. */
#include "sim/trainyard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/suite.h"

/* A run and what it is of, for a test to take apart. */
struct subject {
    struct ty_config *config;
    struct ty_run *run;
    struct ty_err *err;
};

static struct subject start(const char *example, const char *set)
{
    char path[1024];
    struct subject s = {.err = ty_err_new()};
    snprintf(path, sizeof(path), "%s/docs/examples/%s", getenv("TRAINYARD_SOURCE"), example);
    ck_assert_msg(ty_config_read(&s.config,
                                 &(struct ty_source){.path = path, .sets = &set, .n_sets = 1},
                                 s.err) == 0,
                  "%s", ty_err_text(s.err));
    ck_assert_int_eq(ty_run_new(&s.run, s.config, s.err), 0);
    ck_assert_int_eq(ty_run_execute(s.run, NULL, s.err), 0);
    return s;
}

static void stop(struct subject *s)
{
    ty_run_free(s->run);
    ty_config_free(s->config);
    ty_err_free(s->err);
}

static double figure(const struct subject *s, const char *name)
{
    double x = -1;
    ck_assert_int_eq(ty_run_figure(s->run, name, &x, s->err), 0);
    return x;
}

TEST(columns_hold_every_task_once_and_end_when_the_run_does)
{
    struct subject s = start("llama3-8b-fsdp-8xh100.yaml", "layout.global_batch=16");
    struct ty_tasks *t;
    uint64_t end = 0;
    size_t per_rank[8] = {0};
    ck_assert_int_eq(ty_run_tasks(s.run, "all", &t, s.err), 0);
    for (size_t i = 0; i < t->n; i++) {
        end = t->start_ps[i] + t->dur_ps[i] > end ? t->start_ps[i] + t->dur_ps[i] : end;
        ck_assert_uint_lt(t->rank[i], 8);
        ck_assert_uint_lt(t->kind[i], t->n_kinds);
        ck_assert_uint_lt(t->stream[i], t->n_streams);
        ck_assert_uint_lt(t->phase[i], t->n_phases);
        ck_assert_uint_lt(t->category[i], t->n_categories);
        per_rank[t->rank[i]]++;
    }
    ck_assert(end == (uint64_t)(figure(&s, "step_time_s") * 1e12 + 0.5));
    for (int r = 1; r < 8; r++) {
        ck_assert_uint_eq(per_rank[r], per_rank[0]);
    }
    ty_tasks_free(t);
    stop(&s);
}

TEST(tasks_of_one_stream_follow_each_other)
{
    struct subject s = start("llama-30b-256xa100.yaml", "layout.global_batch=256");
    struct ty_tasks *t;
    ck_assert_int_eq(ty_run_tasks(s.run, "one-per-stage", &t, s.err), 0);
    uint64_t busy_until[256][16] = {{0}};
    for (size_t i = 0; i < t->n; i++) {
        uint64_t *until = &busy_until[t->rank[i]][t->stream[i]];
        ck_assert(t->start_ps[i] >= *until);
        *until = t->start_ps[i] + t->dur_ps[i];
        ck_assert(i == 0 || t->rank[i] != t->rank[i - 1] || t->pass[i] >= t->pass[i - 1]);
    }
    ty_tasks_free(t);
    stop(&s);
}

TEST(what_cannot_be_answered_is_an_error_with_words)
{
    struct subject s = start("llama3-8b-fsdp-8xh100.yaml", "layout.global_batch=16");
    struct ty_tasks *t;
    double x;
    ck_assert_int_lt(ty_run_tasks(s.run, "dp=99", &t, s.err), 0);
    ck_assert_ptr_null(t);
    ck_assert_int_lt(ty_run_figure(s.run, "step_time", &x, s.err), 0);
    ck_assert_ptr_nonnull(strstr(ty_err_text(s.err), "did you mean \"step_time_s\"?"));
    double bytes[] = {0, 0};
    ck_assert_uint_eq(ty_run_stage_memory(s.run, NULL, 0), 1);
    ck_assert_uint_eq(ty_run_stage_memory(s.run, bytes, 2), 1);
    ck_assert(bytes[0] > 1e9 && bytes[1] == 0);
    ty_tasks_free(NULL);
    stop(&s);
}

TEST(before_execution_there_are_no_times)
{
    struct ty_config *config;
    struct ty_run *run;
    struct ty_tasks *t;
    struct ty_err *err = ty_err_new();
    double x;
    char path[1024];
    snprintf(path, sizeof(path), "%s/docs/examples/%s", getenv("TRAINYARD_SOURCE"),
             "llama3-8b-fsdp-8xh100.yaml");
    ck_assert_int_eq(ty_config_read(&config, &(struct ty_source){.path = path}, err), 0);
    ck_assert_int_eq(ty_run_new(&run, config, err), 0);
    ck_assert_int_lt(ty_run_tasks(run, NULL, &t, err), 0);
    ck_assert_int_lt(ty_run_figure(run, "mfu", &x, err), 0);
    ty_run_free(run);
    ty_config_free(config);
    ty_err_free(err);
}

/* ---- threads ---- */

static const char *const settings[] = {"layout.global_batch=256", "schedule.name=gpipe",
                                       "run.jitter=2 %", "layout.tensor=4"};
#define N_THREADS 4

/* A sum that depends on every start and its place. */
static uint64_t digest(const struct ty_tasks *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->n; i++) {
        sum = sum * 31 + t->start_ps[i];
    }
    return sum;
}

struct job {
    const char *set;
    const struct ty_config *config; /* that several share; NULL: one of its own */
    uint64_t sum;
    bool failed;
};

/* No assertions here: Check's leave by longjmp, on the main thread only. */
static void *simulate(void *arg)
{
    struct job *job = arg;
    char path[1024];
    struct subject s = {.err = ty_err_new()};
    struct ty_tasks *t = NULL;
    snprintf(path, sizeof(path), "%s/docs/examples/slow-gpu.yaml", getenv("TRAINYARD_SOURCE"));
    int rc = job->config != NULL
                 ? 0
                 : ty_config_read(&s.config,
                                  &(struct ty_source){.path = path, .sets = &job->set, .n_sets = 1},
                                  s.err);
    const struct ty_config *config = job->config != NULL ? job->config : s.config;
    rc = rc < 0 ? rc : ty_run_new(&s.run, config, s.err);
    rc = rc < 0 ? rc : ty_run_execute(s.run, NULL, s.err);
    rc = rc < 0 ? rc : ty_run_tasks(s.run, "one-per-stage", &t, s.err);
    job->failed = rc < 0;
    job->sum = rc == 0 ? digest(t) : 0;
    ty_tasks_free(t);
    ty_run_free(s.run);
    ty_config_free(s.config);
    ty_err_free(s.err);
    return NULL;
}

TEST(distinct_runs_on_distinct_threads_do_not_meet)
{
    pthread_t thread[N_THREADS];
    struct job job[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        job[i] = (struct job){.set = settings[i]};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, simulate, &job[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        ck_assert(!job[i].failed);
        struct job alone = {.set = settings[i]};
        simulate(&alone);
        ck_assert(!alone.failed && alone.sum == job[i].sum);
        ck_assert(i == 0 || job[i].sum != job[i - 1].sum);
    }
}

TEST(runs_of_one_configuration_on_distinct_threads_do_not_meet)
{
    pthread_t thread[N_THREADS];
    struct job job[N_THREADS];
    struct subject s = start("llama-30b-256xa100.yaml", "layout.global_batch=256");
    for (int i = 0; i < N_THREADS; i++) {
        job[i] = (struct job){.config = s.config};
        ck_assert_int_eq(pthread_create(&thread[i], NULL, simulate, &job[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
        ck_assert(!job[i].failed && job[i].sum == job[0].sum);
    }
    stop(&s);
}

TY_SUITE("tasks")
