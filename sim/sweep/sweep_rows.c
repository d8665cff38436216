/* sweep_rows.c - `trainyard sweep`: many runs, one row each, on several threads and processes.
 *
 * Threads take rows in order and finish them in any; sweep_store.c keeps the finished ones, and the
 * first process puts them in order. So a sweep that resumes, one that merges shards, and processes
 * that share the rows all write the same table as one process would.
 *
 * A row's bytes depend neither on threads and processes nor on time. A failure that says nothing
 * about the row (a disk, a limit of the machine, memory) ends the sweep, since the table would keep
 * a wrong answer for good. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/config/stack.h"
#include "sim/sweep/crew.h"
#include "sim/sweep/inputs.h"
#include "sim/sweep/sweep_bands.h"
#include "sim/sweep/sweep_line.h"
#include "sim/sweep/sweep_space.h"
#include "sim/sweep/sweep_store.h"

struct job {
    const struct ty_sweep_options *options;
    struct ty_sweep_table table;
    struct ty_row_source rows;
    struct ty_sweep_store store;
    pthread_mutex_t lock;
    struct ty_memory_semaphore gate;
    struct ty_worker_pool workers;
    struct ty_sweep_summary summary;
    struct ty_sweep_best best;
    struct ty_sweep_bands bands;
    struct ty_sweep_columns with; /* columns that some row or the options ask for */
    struct ty_err fault;          /* of the first row that could not be answered */
    size_t
        changed; /* index of the first of store.sample that comes out differently; SIZE_MAX: none */
    bool gathers;       /* rows read now were simulated by other processes of this sweep */
    bool by_layout;     /* the layout of some row chose its framework */
    uint32_t n_due;     /* rows of this sweep or of its shard */
    uint32_t wrong_row; /* the first row whose answer is an error; UINT32_MAX: none */
    char message[TY_ROW_MESSAGE]; /* that error */
};

/* ---- one row ---- */

/* The line of a row, and what the row adds to the summary. */
struct outcome {
    struct ty_text text;
    struct ty_sweep_figures figures;
    bool answers;
    bool by_layout;               /* its layout chose another framework than the usual one */
    char message[TY_ROW_MESSAGE]; /* of the error */
};

static void take_figures(const struct ty_run *run, void *arg)
{
    struct outcome *out = arg;
    ty_sweep_line_take(&out->figures, run);
    out->answers = true;
    out->by_layout = ty_stack_by_layout(run->config);
}

/* Adds a row to the summary. Under the lock, once threads run. */
static void add_outcome(struct job *job, uint32_t row, struct outcome *out)
{
    out->figures.row = row;
    job->by_layout = job->by_layout || out->by_layout;
    if (!out->answers && row <= job->wrong_row) {
        job->wrong_row = row;
        memcpy(job->message, out->message, sizeof(job->message));
    }
    job->summary.n_invalid += !out->answers;
    job->summary.n_fit += out->answers && out->figures.fits;
    job->summary.n_not += out->answers && !out->figures.fits;
    if (out->answers) {
        ty_sweep_best_add(&job->best, &out->figures);
        ty_sweep_bands_note(&job->bands, &out->figures);
    }
}

static void put_inputs(struct ty_text *t, const struct job *job, uint32_t row)
{
    for (uint32_t k = 0; k < job->table.csv.n_columns; k++) {
        ty_text_add(t, k == 0 ? "" : ",");
        ty_sweep_line_cell(t, ty_csv_cell(&job->table.csv, row, k));
    }
}

static bool no_memory(struct ty_err *err)
{
    ty_fail_memory(err);
    return false;
}

/* Returns the line of a row. NULL: it has no answer, and err says why. */
static char *make_line(struct job *job, uint32_t row, struct outcome *out, struct ty_err *err)
{
    struct ty_text *t = &out->text;
    put_inputs(t, job, row);
    int rc = ty_row_run(&job->rows, row, NULL, 0, take_figures, out, err);
    if (rc == 0) {
        rc = ty_sweep_bands_find(&job->bands, row, &out->figures, err);
    }
    if (rc < 0 && ty_err_is_transient(rc)) { /* it says nothing about the row */
        ty_text_release(t);
        return NULL;
    }
    if (rc < 0) {
        out->answers = false;
        ty_row_message(err, out->message);
        ty_sweep_line_error(t, out->message, job->with);
    } else {
        ty_sweep_line_put(t, &out->figures, job->with);
    }
    ty_text_add(t, "\n");
    char *line = ty_text_take(t);
    if (line == NULL) {
        no_memory(err);
    }
    return line;
}

/* Keeps the first failure that ends the sweep. Under the lock. */
static void keep_fault(struct job *job, uint32_t row, const struct ty_err *err)
{
    char message[TY_ROW_MESSAGE] = "memory is exhausted";
    if (job->fault.code != 0) {
        return;
    }
    if (err != NULL) {
        ty_row_message(err, message);
    }
    ty_fail(&job->fault, err != NULL ? err->code : TY_ENOMEM, "row %" PRIu32 ": %s", row + 1,
            message);
}

static bool is_stopped(struct job *job)
{
    const volatile int *stop = job->options->stop;
    if (stop == NULL || *stop == 0) {
        return false;
    }
    pthread_mutex_lock(&job->lock);
    if (job->fault.code == 0) {
        ty_fail(&job->fault, TY_EIO, "stopped before all rows were simulated");
    }
    pthread_mutex_unlock(&job->lock);
    return true;
}

/* Returns the share of the work that is done. Of a crew, all rows before the one just taken count
 * as done, although others may still simulate a few of them. */
static double share_done(const struct job *job, uint32_t row)
{
    if (job->options->crew != NULL) {
        return (row + 1.0) / job->table.csv.n_rows;
    }
    return (double)(job->summary.n_rows + job->summary.n_kept) / job->n_due;
}

/* Returns whether a row is of this sweep: of all, or of its shard. */
static bool has_row(const struct job *job, uint32_t row)
{
    const struct ty_sweep_options *o = job->options;
    return o->n_shards == 0 || row % o->n_shards == o->shard - 1;
}

/* Simulates a row that is not there yet and adds it to the store (ty_pool_fn). */
static bool simulate_row(void *arg, uint32_t row)
{
    struct job *job = arg;
    struct outcome out = {.text = {.data = NULL}};
    if (job->store.rows.line[row] != NULL || !has_row(job, row)) {
        return true;
    }
    if (is_stopped(job)) {
        return false;
    }
    struct ty_err *err = ty_err_new();
    char *line = err != NULL ? make_line(job, row, &out, err) : NULL;
    pthread_mutex_lock(&job->lock);
    if (line == NULL) {
        keep_fault(job, row, err);
    } else if (ty_sweep_store_add(&job->store, row, line)) {
        job->summary.n_rows++;
        add_outcome(job, row, &out);
    }
    if (job->options->progress != NULL) {
        job->options->progress(job->options->progress_arg, share_done(job, row));
    }
    const bool more = job->store.error == 0 && job->fault.code == 0;
    pthread_mutex_unlock(&job->lock);
    ty_err_free(err);
    return more;
}

/* ---- rows of earlier sweeps ---- */

/* Adds a row that was read to the summary, if it has the inputs of this sweep's row
 * (ty_sweep_look). */
static int read_row(void *arg, uint32_t row, const char *line)
{
    struct job *job = arg;
    struct ty_text inputs = {.data = NULL};
    struct outcome out = {.answers = false};
    put_inputs(&inputs, job, row);
    const bool failed = inputs.failed;
    const bool same = !failed && (inputs.len == 0 || strncmp(line, inputs.data, inputs.len) == 0);
    const enum ty_sweep_read read =
        same ? ty_sweep_line_read(line + inputs.len, job->with, &out.figures, out.message)
             : TY_SWEEP_NONSENSE;
    ty_text_release(&inputs);
    if (read == TY_SWEEP_NONSENSE) {
        return failed ? TY_ENOMEM : TY_EINPUT;
    }
    out.answers = read == TY_SWEEP_ANSWER;
    job->summary.n_kept += !job->gathers;
    job->summary.n_rows += job->gathers;
    add_outcome(job, row, &out);
    return out.answers;
}

/* Simulates store.sample[i] again. A change of the run file, of a file that it names or of this
 * program shows in no other way, and one table must not mix two of them. */
static bool check_sample(void *arg, uint32_t i)
{
    struct job *job = arg;
    struct outcome out = {.text = {.data = NULL}};
    const uint32_t row = job->store.sample[i].row;
    struct ty_err *err = ty_err_new();
    char *line = err != NULL ? make_line(job, row, &out, err) : NULL;
    pthread_mutex_lock(&job->lock);
    if (line == NULL) {
        keep_fault(job, row, err);
    } else if (strcmp(job->store.rows.line[row], line) != 0 && i < job->changed) {
        job->changed = i;
    }
    pthread_mutex_unlock(&job->lock);
    const bool more = line != NULL;
    free(line);
    ty_err_free(err);
    return more;
}

/* Fails if rows could not be answered or written. */
static int fail_rows(const struct job *job, struct ty_err *err)
{
    if (job->store.error != 0) {
        return ty_sweep_store_fail(&job->store, err);
    }
    if (job->fault.code != 0) {
        ty_fail(err, job->fault.code, "%s", job->fault.text);
        ty_sweep_store_hint(&job->store, err);
        if (job->options->jobs != 1) {
            ty_hint(err, "fewer --jobs take less memory and fewer files at once");
        }
        return job->fault.code;
    }
    if (job->changed != SIZE_MAX) {
        return ty_fail(err, TY_EINPUT,
                       "%s: row %" PRIu32 " comes out differently now: the run file, a file that "
                       "it names, or this program is not what it was; remove it to start anew",
                       job->store.sample[job->changed].path,
                       job->store.sample[job->changed].row + 1);
    }
    return 0;
}

/* ---- the table ---- */

static char *make_header(const struct job *job)
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

static void remark_broken(struct job *job, struct ty_arena *arena)
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
static void remark_stack(struct job *job, struct ty_arena *arena)
{
    if (job->by_layout) {
        ty_sweep_remark(
            &job->table, arena,
            "framework.preset is not named: rows with layout.zero 3 are of %s, others of "
            "%s (column framework)",
            ty_framework_default(3), ty_framework_default(0));
    }
}

/* Remarks why the first row without an answer has none. */
static void remark_wrong(struct job *job, struct ty_arena *arena)
{
    const bool none = job->summary.n_fit + job->summary.n_not == 0;
    if (job->wrong_row != UINT32_MAX) {
        ty_sweep_remark(&job->table, arena, "%srow %" PRIu32 ": %s",
                        none ? "no row can be simulated; " : "", job->wrong_row + 1, job->message);
    }
}

#define ROWS_NAMED 8u

/* Checks that every row is there which others were to simulate; `advice` where one is not. */
static int demand_all(const struct job *job, const char *advice, struct ty_err *err)
{
    struct ty_text rows = {.data = NULL}; /* "2, 10, 18" */
    char lacking[64], all[64];
    uint32_t n = 0;
    for (uint32_t row = 0; row < job->table.csv.n_rows; row++) {
        if (job->store.rows.line[row] != NULL || !has_row(job, row)) {
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

static int open_store(struct job *job, const char *header, struct ty_arena *arena,
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

/* Reads and checks everything before anything is written. */
static int prepare(struct job *job, const struct ty_sweep_earlier *earlier, const char *header,
                   struct ty_arena *arena, struct ty_err *err)
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
        ty_crew_run(o->crew, (uint32_t)job->store.n_samples, o->jobs, check_sample, job);
        rc = fail_rows(job, err);
    }
    return rc;
}

static int simulate(struct job *job, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    if (o->n_merge == 0) {
        ty_crew_run(o->crew, job->table.csv.n_rows, o->jobs, simulate_row, job);
    }
    const int rc = fail_rows(job, err);
    return rc < 0 || ty_crew_leads(o->crew) ? rc : ty_sweep_store_hand_over(&job->store, err);
}

/* Concludes the sweep in the first process, once all rows are there. */
static int conclude(struct job *job, const struct ty_sweep_earlier *earlier, struct ty_arena *arena,
                    struct ty_err *err)
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
static int sweep(struct job *job, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    const struct ty_sweep_earlier earlier = {.resume = o->resume,
                                             .merge = o->merge,
                                             .n_merge = o->n_merge,
                                             .look = read_row,
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

/* Copies the lines of a remark that fit. */
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

/* Fills in the summary of a sweep that ended with rc. */
static void sum_up(struct job *job, int rc)
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
    struct job job = {
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
                 .workers = &job.workers},
    };
    struct ty_arena arena = {.head = NULL};
    int rc = check_streams(options, err);
    rc = rc < 0 ? rc : ty_source_hold(&job.rows.source, options->crew, &arena, err);
    ty_worker_pool_init(&job.workers, &job.rows.source);
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
        job.n_due += has_row(&job, row);
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
    ty_worker_pool_release(&job.workers);
    ty_arena_release(&arena);
    return rc;
}
