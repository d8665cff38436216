/* jobs.h - other jobs of a run file, executed with its own on one fabric.
 *
 * Each job is planned by itself and the programs are merged (sim/core/program/merge.h). The run's
 * own job takes its steps once; the others begin with it and repeat theirs until it is done, unless
 * they have a number of steps of their own. What they take is read off the steps that were over by
 * then, so that nobody is timed while half of the fabric has gone home. */
#ifndef TY_RUN_JOBS_H
#define TY_RUN_JOBS_H

#include "sim/core/program/merge.h"
#include "sim/run/run.h"

struct ty_other_job {
    const struct ty_job *job;
    struct ty_config config; /* the job's, on the run's cluster, with the steps it takes */
    struct ty_run *run;      /* its plan; executed: its part of the timeline, and statistics */
    uint32_t n_in_time;      /* steps that were over before the run's own job; at least 1 */
    double step_s, alone_s;  /* mean of these: together, and without the other jobs (0: not run) */
    double end_s;            /* of all its steps */
    bool early;              /* it ended before the run's own job did */
};

struct ty_run_jobs {
    struct ty_arena arena; /* owns the program */
    struct ty_program program;
    struct ty_other_job *other; /* [n] */
    uint32_t n;
    double own_alone_s; /* a step of the run's own job without the others */
    bool unshared;      /* nothing was shared because the user would not have it */
};

/* Whether a job of a run file keeps something off its GPUs: links are those of all jobs. */
bool ty_run_jobs_tiers(const struct ty_config *config);

/* Plans the other jobs of run->config next to its own, which is planned: run->jobs. */
int ty_run_jobs_new(struct ty_run *run, struct ty_err *err);
void ty_run_jobs_free(struct ty_run_jobs *jobs);

/* Executes all jobs together, after each alone; `alone` says whether the others are executed alone
 * with as many steps, too. On return run->all is the timeline of all of them, run->timeline that of
 * its own job. */
int ty_run_jobs_execute(struct ty_run *run, const char *engine, bool alone, struct ty_err *err);

/* Ranks of all jobs, numbered one job after the other, the run's own first; the plan a rank is of,
 * its number there, and the name of the job (NULL: the run's own). Fine for a job alone, too. */
struct ty_located {
    const struct ty_run *run;
    const char *job;
    uint32_t rank, number; /* number of the job: 0 the run's own */
};
uint32_t ty_run_jobs_ranks(const struct ty_run *run);
struct ty_located ty_run_jobs_locate(const struct ty_run *run, uint32_t rank);

#endif
