/* jobs.c - other jobs of a run file, executed with its own on one fabric (jobs.h). */
#include "sim/run/jobs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/check.h"
#include "sim/run/limits.h"

#define ROUNDS    12u    /* until all jobs outlast the run's own */
#define STEPS_MAX 65535u /* the number of a step has 16 bits */

bool ty_run_jobs_tiers(const struct ty_config *config)
{
    bool any = config->tiers || ty_layout_is_offloaded(&config->layout);
    for (uint32_t i = 0; i < config->n_jobs; i++) {
        any = any || ty_layout_is_offloaded(&config->jobs[i].config->layout);
    }
    return any;
}

/* ---- plans ---- */

/* Plans a job with that many steps. */
static int plan(struct ty_other_job *o, const struct ty_run *run, uint32_t steps,
                struct ty_err *err)
{
    ty_run_free(o->run);
    o->run = NULL;
    o->config = *o->job->config;
    o->config.cluster = run->config->cluster;
    o->config.fabric = run->config->fabric;
    o->config.run = run->config->run;
    o->config.run.seed = o->job->config->run.seed;
    o->config.run.steps = steps;
    o->config.tiers = ty_run_jobs_tiers(run->config);
    const int rc = ty_run_new(&o->run, &o->config, err);
    if (rc < 0) {
        ty_hint(err, "this is about the job %s at %s:%u", o->job->name, o->job->at.file,
                (unsigned)o->job->at.line);
    }
    return rc;
}

static int merge(struct ty_run *run, struct ty_err *err)
{
    struct ty_run_jobs *t = run->jobs;
    struct ty_arena arena = {.head = NULL};
    struct ty_merge_part *parts = ty_arena_array(&arena, struct ty_merge_part, (size_t)t->n + 1);
    int rc = parts == NULL ? ty_fail_memory(err) : 0;
    ty_timeline_release(&run->all); /* of the program that was */
    run->timeline = run->all;
    ty_arena_release(&t->arena);
    t->arena = (struct ty_arena){.head = NULL};
    for (uint32_t i = 0; rc == 0 && i <= t->n; i++) {
        parts[i] = i == 0 ? (struct ty_merge_part){"", &run->lowered.program}
                          : (struct ty_merge_part){t->other[i - 1].job->name,
                                                   &t->other[i - 1].run->lowered.program};
    }
    if (rc == 0) {
        rc = ty_program_merge(&t->program, parts, t->n + 1, &t->arena, err);
    }
    ty_arena_release(&arena);
    const struct ty_limit_use use = {.engine = (enum ty_engine)run->config->run.engine,
                                     .plan = (double)(run->arena.total + t->arena.total)};
    return rc < 0 ? rc : ty_limit_check_program(run->config, &t->program, &use, err);
}

int ty_run_jobs_new(struct ty_run *run, struct ty_err *err)
{
    struct ty_run_jobs *t = calloc(1, sizeof(*t));
    const uint32_t n = run->config->n_jobs;
    if (t == NULL) {
        return ty_fail_memory(err);
    }
    run->jobs = t;
    t->other = calloc(n, sizeof(*t->other));
    if (t->other == NULL) {
        return ty_fail_memory(err);
    }
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const struct ty_job *job = &run->config->jobs[i];
        struct ty_other_job *o = &t->other[t->n++];
        o->job = job;
        rc = plan(o, run, job->steps > 0 ? job->steps : 1, err);
    }
    return rc < 0 ? rc : merge(run, err);
}

void ty_run_jobs_free(struct ty_run_jobs *t)
{
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        ty_run_free(t->other[i].run);
    }
    ty_arena_release(&t->arena);
    free(t->other);
    free(t);
}

uint32_t ty_run_jobs_ranks(const struct ty_run *run)
{
    uint32_t n = ty_run_ranks(run);
    for (uint32_t i = 0; run->jobs != NULL && i < run->jobs->n; i++) {
        n += run->jobs->other[i].run->lowered.program.n_ranks;
    }
    return n;
}

struct ty_located ty_run_jobs_locate(const struct ty_run *run, uint32_t rank)
{
    struct ty_located at = {run, NULL, rank, 0};
    while (run->jobs != NULL && at.rank >= at.run->lowered.program.n_ranks &&
           at.number < run->jobs->n) {
        const struct ty_other_job *o = &run->jobs->other[at.number++];
        at.rank -= at.run->lowered.program.n_ranks;
        at.run = o->run;
        at.job = o->job->name;
    }
    return at;
}

/* ---- execution ---- */

/* Steps of a job that takes `seconds` for one, to outlast the run's own. */
static uint32_t steps_for(double own_s, double seconds)
{
    const double n = seconds > 0 ? ceil(own_s / seconds) : 1;
    return (uint32_t)fmin(fmax(n, 1), STEPS_MAX);
}

/* Jobs without a number of steps get as many as they need, as far as their steps take as long as
 * in the run at hand. *more: some got more than they had. */
static int give_steps(struct ty_run *run, double own_s, bool *more, struct ty_err *err)
{
    struct ty_run_jobs *t = run->jobs;
    int rc = 0;
    *more = false;
    for (uint32_t i = 0; i < t->n && rc == 0; i++) {
        struct ty_other_job *o = &t->other[i];
        const uint32_t had = o->config.run.steps;
        const uint32_t need = steps_for(own_s, o->end_s / had);
        if (o->job->steps == 0 && o->end_s < own_s && had < STEPS_MAX) {
            *more = true;
            rc = plan(o, run, need > had ? need : had + 1, err);
        }
    }
    return rc;
}

/* One by itself. A deadlock is not told: it comes again, with all jobs. */
static int execute_one(struct ty_run *run, const char *engine, struct ty_err *err)
{
    const struct ty_program *p = &run->lowered.program;
    const int rc = ty_run_execute_program(run, p, engine, NULL);
    return rc == 0 || rc == TY_EDEADLOCK ? rc : ty_run_execute_program(run, p, engine, err);
}

/* Each by itself: how long it takes. */
static int execute_alone(struct ty_run *run, const char *engine, struct ty_err *err)
{
    struct ty_run_jobs *t = run->jobs;
    int rc = execute_one(run, engine, err);
    t->own_alone_s = ty_s_from_ps(run->all.makespan) / run->lowered.program.n_steps;
    for (uint32_t i = 0; i < t->n && rc == 0; i++) {
        struct ty_other_job *o = &t->other[i];
        rc = execute_one(o->run, engine, err);
        o->end_s = ty_s_from_ps(o->run->all.makespan);
        ty_timeline_release(&o->run->all); /* it may be as large as that of all jobs together */
        o->run->timeline = o->run->all;
    }
    return rc;
}

static int execute_merged(struct ty_run *run, const char *engine, struct ty_err *err)
{
    struct ty_run_jobs *t = run->jobs;
    int rc = merge(run, err);
    if (rc == 0) {
        rc = ty_run_execute_program(run, &t->program, engine, err);
    }
    for (uint32_t i = 0; i < t->n && rc == 0; i++) {
        const struct ty_tenant *tenant = &t->program.tenants[i + 1];
        t->other[i].end_s =
            ty_s_from_ps(ty_timeline_end(&run->all, tenant->first_gang, tenant->n_gangs));
    }
    return rc;
}

/* Mean time of a job's first n steps; *n 0: of those that are over by `until`, at least one. */
static int mean_step(const struct ty_timeline *timeline, ty_ps until, uint32_t *n, double *seconds,
                     struct ty_err *err)
{
    const uint32_t steps = timeline->program->n_steps;
    ty_ps *end = calloc(steps, sizeof(*end));
    if (end == NULL) {
        return ty_fail_memory(err);
    }
    ty_timeline_step_ends(timeline, end);
    if (*n == 0) {
        *n = 1;
        while (*n < steps && end[*n] <= until) {
            ++*n;
        }
    }
    *seconds = ty_s_from_ps(end[*n - 1]) / *n;
    free(end);
    return 0;
}

/* A job's part of the timeline of all, and statistics of it. */
static int take_part(struct ty_run *run, uint32_t i, struct ty_err *err)
{
    struct ty_run *other = run->jobs->other[i].run;
    assert(other != NULL);
    ty_timeline_release(&other->all);
    int rc = ty_timeline_part(&other->timeline, &run->all, i + 1, &other->lowered.program,
                              &other->arena, err);
    if (rc == 0) {
        rc = ty_stats_compute(&other->stats, &other->timeline, &other->arena, err);
    }
    other->executed = rc == 0 && other->timeline.halt == NULL;
    return rc;
}

/* What a job took, alone first if that is wanted. */
static int measure(struct ty_run *run, uint32_t i, const char *engine, bool alone,
                   struct ty_err *err)
{
    struct ty_other_job *o = &run->jobs->other[i];
    const struct ty_program *p = &o->run->lowered.program;
    o->n_in_time = 0;
    o->alone_s = 0;
    int rc = take_part(run, i, err);
    if (rc < 0) {
        return rc;
    }
    const struct ty_timeline part = o->run->timeline;
    o->early = part.makespan < run->timeline.makespan;
    rc = mean_step(&part, run->timeline.makespan, &o->n_in_time, &o->step_s, err);
    if (rc == 0 && alone) {
        rc = ty_run_execute_program(o->run, p, engine, err);
        if (rc == 0) {
            rc = mean_step(&o->run->all, 0, &o->n_in_time, &o->alone_s, err);
        }
        ty_timeline_release(&o->run->all);
        o->run->timeline = part;
        o->run->executed = rc == 0;
    }
    return rc;
}

static int take_own_part(struct ty_run *run, struct ty_err *err)
{
    return ty_timeline_part(&run->timeline, &run->all, 0, &run->lowered.program, &run->arena, err);
}

/* Some job can never finish: all of them, as far as they get, for what is told and traced. */
static int halt_all(struct ty_run *run, const char *engine, struct ty_err *err)
{
    const int rc = execute_merged(run, engine, err);
    int part_rc = rc == TY_EDEADLOCK ? take_own_part(run, err) : 0;
    for (uint32_t i = 0; rc == TY_EDEADLOCK && i < run->jobs->n && part_rc == 0; i++) {
        part_rc = take_part(run, i, err);
    }
    if (part_rc < 0) { /* nothing to trace */
        ty_timeline_release(&run->all);
        run->timeline = run->all;
    }
    return rc == 0 ? ty_fail(err, TY_EBUG, "a job that deadlocks alone does not with others")
                   : ty_check_first(part_rc, rc);
}

/* Again, with more steps of those that are done too early. */
static int execute_rounds(struct ty_run *run, const char *engine, struct ty_err *err)
{
    const struct ty_tenant *own = NULL;
    double own_s = ty_s_from_ps(run->all.makespan);
    bool more = true;
    int rc = give_steps(run, own_s, &more, err);
    more = true;
    for (uint32_t round = 0; rc == 0 && more && round < ROUNDS; round++) {
        rc = execute_merged(run, engine, err);
        if (rc == 0) {
            own = &run->jobs->program.tenants[0];
            own_s = ty_s_from_ps(ty_timeline_end(&run->all, own->first_gang, own->n_gangs));
            rc = round + 1 < ROUNDS ? give_steps(run, own_s, &more, err) : 0;
        }
    }
    return rc;
}

int ty_run_jobs_execute(struct ty_run *run, const char *engine, bool alone, struct ty_err *err)
{
    struct ty_run_jobs *t = run->jobs;
    run->executed = false;
    int rc = execute_alone(run, engine, err);
    if (rc == TY_EDEADLOCK) {
        return halt_all(run, engine, err);
    }
    if (rc == 0) {
        rc = execute_rounds(run, engine, err);
    }
    if (rc == 0) {
        rc = take_own_part(run, err);
    }
    t->unshared = !run->config->run.contention ||
                  (engine != NULL ? strcmp(engine, "sweep") == 0
                                  : run->config->run.engine == TY_ENGINE_SWEEP);
    for (uint32_t i = 0; i < t->n && rc == 0; i++) {
        rc = measure(run, i, engine, alone, err);
    }
    return rc;
}
