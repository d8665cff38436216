/* sweep_job.c - see sweep_job.h.
 *
 * A row's bytes depend neither on threads and processes nor on time. A failure that says nothing
 * about the row (a disk, a limit of the machine, memory) ends the sweep: it would be a wrong answer
 * in the table for good. */
#include "sim/sweep/sweep_job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config/stack.h"

/* ---- one row ---- */

/* One row's text, and what it adds to the summary. */
struct outcome {
    struct ty_text text;
    struct ty_sweep_figures figures;
    bool answers;
    bool by_layout;               /* nobody named its stack, and it is not the usual one */
    char message[TY_ROW_MESSAGE]; /* of the error */
};

static void take_figures(const struct ty_run *run, void *arg)
{
    struct outcome *out = arg;
    ty_sweep_line_take(&out->figures, run);
    out->answers = true;
    out->by_layout = ty_stack_by_layout(run->config);
}

/* Under the lock, once threads run. */
static void add_outcome(struct ty_sweep_job *job, uint32_t row, struct outcome *out)
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

static void put_inputs(struct ty_text *t, const struct ty_sweep_job *job, uint32_t row)
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

/* The line of a row; NULL: it has no answer, and err says why. */
static char *make_line(struct ty_sweep_job *job, uint32_t row, struct outcome *out,
                       struct ty_err *err)
{
    struct ty_text *t = &out->text;
    put_inputs(t, job, row);
    int rc = ty_row_run(&job->rows, row, NULL, 0, take_figures, out, err);
    if (rc == 0) {
        rc = ty_sweep_bands_find(&job->bands, row, &out->figures, err);
    }
    if (rc < 0 &&
        ty_err_is_transient(rc)) { /* nothing about the row: it may come out another time */
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

/* Under the lock. */
static void keep_fault(struct ty_sweep_job *job, uint32_t row, const struct ty_err *err)
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

static bool is_stopped(struct ty_sweep_job *job)
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

/* How much of the work is done. Of a crew's the rows before one that was just taken are, but for
 * the few that others have in their hands. */
static double share_done(const struct ty_sweep_job *job, uint32_t row)
{
    if (job->options->crew != NULL) {
        return (row + 1.0) / job->table.csv.n_rows;
    }
    return (double)(job->summary.n_rows + job->summary.n_kept) / job->n_due;
}

bool ty_sweep_job_has(const struct ty_sweep_job *job, uint32_t row)
{
    const struct ty_sweep_options *o = job->options;
    return o->n_shards == 0 || row % o->n_shards == o->shard - 1;
}

bool ty_sweep_job_row(void *arg, uint32_t row)
{
    struct ty_sweep_job *job = arg;
    struct outcome out = {.text = {.data = NULL}};
    if (job->store.rows.line[row] != NULL || !ty_sweep_job_has(job, row)) {
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

/* ---- rows that were read ---- */

int ty_sweep_job_look(void *arg, uint32_t row, const char *line)
{
    struct ty_sweep_job *job = arg;
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

bool ty_sweep_job_check(void *arg, uint32_t i)
{
    struct ty_sweep_job *job = arg;
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

int ty_sweep_job_fault(const struct ty_sweep_job *job, struct ty_err *err)
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
