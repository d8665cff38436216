/* sweep_rows.c - `trainyard sweep`: many runs, one row each, on several threads and processes.
 *
 * Workers take rows in order and finish them in any; sweep_store.c keeps what is finished, and the
 * first process puts it in order. So a sweep that goes on from what an earlier one left, shards
 * that are merged, and processes that share the rows all write the table that one would. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/config/stack.h"
#include "sim/sweep/inputs.h"
#include "sim/sweep/sweep_job.h"
#include "sim/sweep/sweep_space.h"

/* ---- the table ---- */

static char *make_header(const struct ty_sweep_job *job)
{
    struct ty_text t = {.data = NULL};
    for (uint32_t k = 0; k < job->table.csv.n_columns; k++) {
        ty_text_add(&t, k == 0 ? "" : ",");
        ty_sweep_line_cell(&t, ty_csv_header(&job->table.csv, k));
    }
    ty_sweep_line_head(&t, job->with);
    ty_text_add(&t, "\n");
    return ty_text_take(&t);
}

/* ---- the sweep ---- */

static void remark_broken(struct ty_sweep_job *job, struct ty_arena *arena)
{
    if (job->store.broken_B > 0) {
        ty_sweep_remark(
            &job->table, arena,
            "%s: its last %zu bytes are no whole rows; those that they were are simulated "
            "again",
            job->store.partial, job->store.broken_B);
    }
}

/* A sweep over layouts is meant to compare layouts alone. */
static void remark_stack(struct ty_sweep_job *job, struct ty_arena *arena)
{
    if (job->by_layout) {
        ty_sweep_remark(
            &job->table, arena,
            "framework.preset is not named: rows with layout.zero 3 are of %s, others of "
            "%s (column framework)",
            ty_framework_default(3), ty_framework_default(0));
    }
}

/* Why the first row without an answer has none. */
static void remark_wrong(struct ty_sweep_job *job, struct ty_arena *arena)
{
    const bool none = job->summary.n_fit + job->summary.n_not == 0;
    if (job->wrong_row != UINT32_MAX) {
        ty_sweep_remark(&job->table, arena, "%srow %" PRIu32 ": %s",
                        none ? "no row can be simulated; " : "", job->wrong_row + 1, job->message);
    }
}

#define ROWS_NAMED 8u

/* That every row is there, of what others were to simulate; `advice` where one is not. */
static int demand_all(const struct ty_sweep_job *job, const char *advice, struct ty_err *err)
{
    struct ty_text rows = {.data = NULL}; /* "2, 10, 18" */
    char lacking[64], all[64];
    uint32_t n = 0;
    for (uint32_t row = 0; row < job->table.csv.n_rows; row++) {
        if (job->store.rows.line[row] != NULL || !ty_sweep_job_has(job, row)) {
            continue;
        }
        if (n++ < ROWS_NAMED) {
            ty_text_add(&rows, "%s%" PRIu32, n == 1 ? "" : ", ", row + 1);
        }
    }
    int rc = 0;
    if (rows.failed) {
        rc = ty_fail_memory(err);
    } else if (n > 0) {
        rc = ty_fail(err, TY_EINPUT, "%s: %s of %s rows are missing: %s%s", job->store.name,
                     ty_words_count(n, lacking, sizeof(lacking)),
                     ty_words_count(job->table.csv.n_rows, all, sizeof(all)), rows.data,
                     n > ROWS_NAMED ? ", ..." : "");
        ty_hint(err, "%s", advice);
    }
    ty_text_release(&rows);
    return rc;
}

static int open_store(struct ty_sweep_job *job, const char *header, struct ty_arena *arena,
                      struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    const struct ty_sweep_target target = {.what = "sweep",
                                           .output = o->output,
                                           .header = header,
                                           .n_rows = job->table.csv.n_rows,
                                           .member = o->crew != NULL ? o->crew->member : 0,
                                           .numbered = o->n_shards > 0};
    const int rc = ty_sweep_store_open(&job->store, &target, arena, err);
    if (rc == 0 && job->store.path == NULL && (o->crew != NULL || o->n_shards > 0)) {
        return ty_fail(err, TY_EUSAGE, "%s; name the table, such as -o table.csv",
                       o->n_shards > 0 ? "--shard leaves its rows in a file, to be merged"
                                       : "processes that share rows put them into a file");
    }
    return rc;
}

/* All that is to be known before anything is written. */
static int prepare(struct ty_sweep_job *job, const struct ty_sweep_earlier *earlier,
                   const char *header, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    int rc = open_store(job, header, arena, err);
    /* what the table grows in may not take the place of what rows are made from, either */
    if (rc == 0) {
        rc = ty_rows_spare(&job->rows, job->store.partial, err);
    }
    if (rc == 0) {
        rc = ty_sweep_store_read(&job->store, earlier, err);
    }
    if (rc == 0 && o->n_merge > 0) {
        rc = demand_all(job,
                        "the shards that have them are not named, or were ended: go on with "
                        "--resume, then merge all",
                        err);
    }
    if (rc == 0) {
        ty_crew_run(o->crew, (uint32_t)job->store.n_samples, o->jobs, ty_sweep_job_check, job);
        rc = ty_sweep_job_fault(job, err);
    }
    return rc;
}

static int simulate(struct ty_sweep_job *job, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    if (o->n_merge == 0) {
        ty_crew_run(o->crew, job->table.csv.n_rows, o->jobs, ty_sweep_job_row, job);
    }
    const int rc = ty_sweep_job_fault(job, err);
    return rc < 0 || ty_crew_leads(o->crew) ? rc : ty_sweep_store_hand_over(&job->store, err);
}

/* By the first process, once all rows are there. */
static int conclude(struct ty_sweep_job *job, const struct ty_sweep_earlier *earlier,
                    struct ty_arena *arena, struct ty_err *err)
{
    int rc = 0;
    if (job->options->crew != NULL) {
        job->gathers = true;
        rc = ty_sweep_store_gather(&job->store, earlier, err);
        if (rc == 0) {
            rc = demand_all(job,
                            "processes that share rows need a folder that all of them see; is "
                            "that of the table one?",
                            err);
        }
    }
    if (rc == 0) {
        remark_broken(job, arena);
        remark_stack(job, arena);
        remark_wrong(job, arena);
        rc = ty_sweep_store_finish(&job->store, err);
    }
    return rc < 0 ? rc : ty_sweep_bands_judge(&job->bands, &job->best, job->options->jobs, err);
}

/* Processes that share the rows have met when all know what is to be done. They meet before the
 * first of them writes (all have read what was there), before rows are taken (all can write), when
 * none is left, and when the table is there. */
static int sweep(struct ty_sweep_job *job, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    const struct ty_sweep_earlier earlier = {.resume = o->resume,
                                             .merge = o->merge,
                                             .n_merge = o->n_merge,
                                             .look = ty_sweep_job_look,
                                             .arg = job};
    char *header = make_header(job);
    int rc = header == NULL ? ty_fail_memory(err) : prepare(job, &earlier, header, arena, err);
    rc = ty_crew_meet(o->crew, rc);
    if (rc == 0) {
        rc = ty_crew_meet(o->crew, ty_sweep_store_begin(&job->store, err));
    }
    if (rc == 0) {
        rc = ty_crew_meet(o->crew, simulate(job, err));
    }
    if (rc == 0) {
        rc = ty_crew_leads(o->crew) ? conclude(job, &earlier, arena, err) : 0;
        rc = ty_crew_meet(o->crew, rc);
    }
    ty_sweep_store_release(&job->store);
    free(header);
    return rc;
}

/* The lines of a remark that have room. */
static void copy_remark(struct ty_sweep_summary *summary, const char *remark)
{
    static const char more[] = "\n(and others)";
    const size_t room = sizeof(summary->remark) - sizeof(more);
    size_t n = strlen(remark);
    const bool whole = n < sizeof(summary->remark);
    n = whole ? n : room;
    while (!whole && n > 0 && remark[n] != '\n') {
        n--;
    }
    (void)snprintf(summary->remark, sizeof(summary->remark), "%.*s%s", (int)n, remark,
                   whole ? "" : more + (n == 0));
}

/* What the caller is told, of a sweep that ended with rc. */
static void sum_up(struct ty_sweep_job *job, int rc)
{
    struct ty_sweep_summary *summary = job->options->summary;
    if (summary == NULL) {
        return;
    }
    if (rc == 0 && job->best.n > 0) {
        job->summary.fastest = job->best.row[0].row + 1;
        job->summary.fastest_s = ty_sweep_line_value(&job->best.row[0], "step_time_s");
        job->summary.best = ty_sweep_best_text(&job->best, &job->table);
    }
    *summary = job->summary;
    copy_remark(summary, rc == 0 && job->table.remark != NULL ? job->table.remark : "");
}

/* Standard input can be read once, by one process, and standard output not be resumed. */
static int check_streams(const struct ty_sweep_options *options, struct ty_err *err)
{
    const bool piped = options->rows != NULL && strcmp(options->rows, "-") == 0;
    if (piped && (options->crew != NULL || strcmp(options->path, "-") == 0)) {
        return ty_fail(
            err, TY_EUSAGE,
            options->crew != NULL
                ? "--rows -: processes that share work have no standard input in common; "
                  "write a file"
                : "-: the run file and --rows are both standard input; write a file for "
                  "one of them");
    }
    if (options->resume && (options->output == NULL || strcmp(options->output, "-") == 0)) {
        return ty_fail(err, TY_EUSAGE,
                       "--resume goes on from the PATH.partial of -o PATH; name the table, such as "
                       "-o table.csv");
    }
    return 0;
}

int ty_sweep_rows(const struct ty_sweep_options *options, struct ty_err *err)
{
    struct ty_sweep_job job = {
        .options = options,
        .store = {.fd = -1},
        .changed = SIZE_MAX,
        .wrong_row = UINT32_MAX,
        .rows = {.source = {.path = options->path,
                            .text = options->text,
                            .with = options->with,
                            .n_with = options->n_with,
                            .sets = options->sets,
                            .n_sets = options->n_sets},
                 .table = &job.table,
                 .gate = &job.gate,
                 .desks = &job.desks},
    };
    struct ty_arena arena = {.head = NULL};
    int rc = check_streams(options, err);
    rc = rc < 0 ? rc : ty_source_hold(&job.rows.source, options->crew, &arena, err);
    ty_worker_pool_init(&job.desks, &job.rows.source);
    rc = rc < 0 ? rc
                : ty_sweep_table(&job.table, options->rows, options->over, options->n_over, &arena,
                                 err);
    if (rc == 0) {
        rc = ty_config_readable(&job.rows.source, err);
    }
    if (rc == 0) {
        rc = ty_rows_mention(&job.rows, "fleet", &job.with.fleet, err);
    }
    if (rc == 0) {
        rc = ty_rows_spare(&job.rows, options->output, err);
    }
    if (rc == 0) {
        rc = ty_sweep_space(&job.rows, &job.table, options->jobs, job.summary.left_out,
                            sizeof(job.summary.left_out), &arena, err);
    }
    if (rc == 0 && options->uncertain) {
        job.with.bands = true;
        rc = ty_sweep_bands_init(&job.bands, &job.rows, err);
    }
    for (uint32_t row = 0; rc == 0 && row < job.table.csv.n_rows; row++) {
        job.n_due += ty_sweep_job_has(&job, row);
    }
    rc = ty_crew_meet(options->crew, rc);
    if (rc == 0) {
        pthread_mutex_init(&job.lock, NULL);
        ty_memory_semaphore_init(&job.gate);
        rc = sweep(&job, &arena, err);
        ty_memory_semaphore_release(&job.gate);
        pthread_mutex_destroy(&job.lock);
    }
    sum_up(&job, rc);
    ty_sweep_bands_release(&job.bands);
    ty_worker_pool_release(&job.desks);
    ty_arena_release(&arena);
    return rc;
}
