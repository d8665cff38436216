/* sweep_rows.c - `trainyard sweep`: many runs, one row each, on several threads.
 *
 * Workers take rows in order and finish them in any; sweep_store.c keeps what is finished, and puts
 * it in order. A row's bytes depend neither on threads nor on time, so a sweep that goes on from
 * what an earlier one left writes the same table. A failure that says nothing about the row (a
 * disk, a limit of the machine, memory) ends the sweep: it would be a wrong answer in the table for
 * good. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/pool.h"
#include "sim/base/text.h"
#include "sim/config/stack.h"
#include "sim/document/json.h"
#include "sim/sweep/inputs.h"
#include "sim/sweep/sweep_bands.h"
#include "sim/sweep/sweep_line.h"
#include "sim/sweep/sweep_space.h"
#include "sim/sweep/sweep_store.h"

struct sweep_job {
    const struct ty_sweep_options *options;
    struct ty_sweep_table table;
    struct ty_row_source rows;
    struct ty_sweep_store store;
    pthread_mutex_t lock;
    struct ty_row_gate gate;
    struct ty_row_desks desks;
    struct ty_sweep_summary summary;
    struct ty_sweep_best best;
    struct ty_sweep_bands bands;
    struct ty_sweep_columns with; /* what some row asks for, or the options do */
    struct ty_err fault;          /* of the first row that could not be answered */
    uint32_t last;  /* of the rows that an earlier sweep left; the one to be looked at again */
    bool any_times; /* it has times */
    bool by_layout; /* the layout of some row chose its stack */
    uint32_t
        wrong_row; /* the first whose answer is an error, and what that says; UINT32_MAX: none */
    char message[TY_ROW_MESSAGE];
};

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
static void add_outcome(struct sweep_job *job, uint32_t row, struct outcome *out)
{
    out->figures.row = row;
    job->summary.n_invalid += !out->answers;
    job->summary.n_fit += out->answers && out->figures.fits;
    job->summary.n_not += out->answers && !out->figures.fits;
    if (out->answers) {
        ty_sweep_best_add(&job->best, &out->figures);
        ty_sweep_bands_note(&job->bands, &out->figures);
    }
}

static void put_inputs(struct ty_text *t, const struct sweep_job *job, uint32_t row)
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
static char *make_line(struct sweep_job *job, uint32_t row, struct outcome *out, struct ty_err *err)
{
    struct ty_text *t = &out->text;
    put_inputs(t, job, row);
    int rc = ty_row_run(&job->rows, row, NULL, 0, take_figures, out, err);
    if (rc == 0) {
        rc = ty_sweep_bands_find(&job->bands, row, &out->figures, err);
    }
    if (rc < 0 && ty_is_of_machine(rc)) { /* nothing about the row: it may come out another time */
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
static void keep_fault(struct sweep_job *job, uint32_t row, const struct ty_err *err)
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

static bool do_row(void *arg, uint32_t row)
{
    struct sweep_job *job = arg;
    struct outcome out = {.text = {.data = NULL}};
    if (job->store.line[row] != NULL) { /* an earlier sweep did */
        return true;
    }
    struct ty_err *err = ty_err_new();
    char *line = err != NULL ? make_line(job, row, &out, err) : NULL;
    pthread_mutex_lock(&job->lock);
    if (line == NULL) {
        keep_fault(job, row, err);
    } else if (ty_sweep_store_add(&job->store, row, line)) {
        job->summary.n_rows++;
        add_outcome(job, row, &out);
        job->by_layout = job->by_layout || out.by_layout;
        if (out.message[0] != '\0' && row <= job->wrong_row) {
            job->wrong_row = row;
            memcpy(job->message, out.message, sizeof(job->message));
        }
    }
    if (job->options->progress != NULL) {
        const uint32_t done = job->summary.n_rows + job->summary.n_kept;
        job->options->progress(job->options->progress_arg, (double)done / job->table.csv.n_rows);
    }
    const bool more = job->store.error == 0 && job->fault.code == 0;
    pthread_mutex_unlock(&job->lock);
    ty_err_free(err);
    return more;
}

/* ---- the table ---- */

static char *make_header(const struct sweep_job *job)
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

/* ---- what an earlier sweep left ---- */

/* Adds a row of an earlier sweep to the summary, if it has the inputs of this sweep's row. */
static int look_at_row(void *arg, uint32_t row, const char *line)
{
    struct sweep_job *job = arg;
    struct ty_text inputs = {.data = NULL};
    struct outcome out;
    put_inputs(&inputs, job, row);
    const bool failed = inputs.failed;
    const bool same = !failed && (inputs.len == 0 || strncmp(line, inputs.data, inputs.len) == 0);
    const enum ty_sweep_read read =
        same ? ty_sweep_line_read(line + inputs.len, job->with, &out.figures) : TY_SWEEP_NONSENSE;
    ty_text_release(&inputs);
    if (read == TY_SWEEP_NONSENSE) {
        return failed ? TY_ENOMEM : TY_EINPUT;
    }
    out.answers = read == TY_SWEEP_ANSWER;
    job->summary.n_kept++;
    add_outcome(job, row, &out);
    if (out.answers || !job->any_times) { /* a row with times tells more than one that failed */
        job->last = row;
        job->any_times = out.answers;
    }
    return 0;
}

/* Simulates one of the kept rows once more: what changed since in the run file, in a file that it
 * names or in this program shows in no other way, and one table must not be of two of them. */
static int check_kept(struct sweep_job *job, struct ty_err *err)
{
    struct outcome out = {.text = {.data = NULL}};
    if (job->summary.n_kept == 0) {
        return 0;
    }
    struct ty_err *own = ty_err_new();
    char *line = own != NULL ? make_line(job, job->last, &out, own) : NULL;
    int rc = 0;
    if (line == NULL) {
        keep_fault(job, job->last, own);
    } else if (strcmp(job->store.line[job->last], line) != 0) {
        rc = ty_fail(err, TY_EINPUT,
                     "%s: row %" PRIu32 " comes out differently now: the run file, a file that it "
                     "names, or this program is not what it was; remove it to start anew",
                     job->store.partial, job->last + 1);
    }
    free(line);
    ty_err_free(own);
    return rc;
}

/* ---- the sweep ---- */

static int finish(struct sweep_job *job, struct ty_err *err)
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
    return ty_sweep_store_finish(&job->store, err);
}

static void remark_broken(struct sweep_job *job, struct ty_arena *arena)
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
static void remark_stack(struct sweep_job *job, struct ty_arena *arena)
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
static void remark_wrong(struct sweep_job *job, struct ty_arena *arena)
{
    const bool none = job->summary.n_fit + job->summary.n_not == 0;
    if (job->wrong_row != UINT32_MAX) {
        ty_sweep_remark(&job->table, arena, "%srow %" PRIu32 ": %s",
                        none ? "no row can be simulated; " : "", job->wrong_row + 1, job->message);
    }
}

static int sweep(struct sweep_job *job, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    char *header = make_header(job);
    if (header == NULL) {
        return ty_fail_memory(err);
    }
    int rc = ty_sweep_store_open(&job->store, o->output, job->table.csv.n_rows, header, arena, err);
    /* what the table grows in may not take the place of what rows are made from, either */
    if (rc == 0) {
        rc = ty_rows_spare(&job->rows, job->store.partial, err);
    }
    if (rc == 0) {
        rc = ty_sweep_store_begin(&job->store, o->resume ? look_at_row : NULL, job, err);
    }
    if (rc == 0) {
        rc = check_kept(job, err);
    }
    if (rc == 0) {
        remark_broken(job, arena);
        if (job->fault.code == 0) {
            ty_pool_run(0, job->table.csv.n_rows, o->jobs, do_row, job);
        }
        remark_stack(job, arena);
        remark_wrong(job, arena);
        rc = finish(job, err);
        rc = rc < 0 ? rc : ty_sweep_bands_judge(&job->bands, &job->best, o->jobs, err);
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
static void sum_up(struct sweep_job *job, int rc)
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

int ty_sweep_rows(const struct ty_sweep_options *options, struct ty_err *err)
{
    struct sweep_job job = {
        .options = options,
        .store = {.fd = -1},
        .wrong_row = UINT32_MAX,
        .rows = {.source = {.path = options->path,
                            .with = options->with,
                            .n_with = options->n_with,
                            .sets = options->sets,
                            .n_sets = options->n_sets},
                 .table = &job.table,
                 .gate = &job.gate,
                 .desks = &job.desks},
    };
    struct ty_arena arena = {.head = NULL};
    if (strcmp(options->path, "-") == 0) {
        return ty_fail(err, TY_EUSAGE,
                       "a sweep reads its run file many times; write a file instead of -");
    }
    if (options->resume && (options->output == NULL || strcmp(options->output, "-") == 0)) {
        return ty_fail(err, TY_EUSAGE,
                       "--resume goes on from the PATH.partial of -o PATH; name the table, such as "
                       "-o table.csv");
    }
    ty_row_desks_init(&job.desks, &job.rows.source);
    int rc = ty_sweep_table(&job.table, options->rows, options->over, options->n_over, &arena, err);
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
    if (rc == 0) {
        pthread_mutex_init(&job.lock, NULL);
        ty_row_gate_init(&job.gate);
        rc = sweep(&job, &arena, err);
        ty_row_gate_release(&job.gate);
        pthread_mutex_destroy(&job.lock);
    }
    sum_up(&job, rc);
    ty_sweep_bands_release(&job.bands);
    ty_row_desks_release(&job.desks);
    ty_arena_release(&arena);
    return rc;
}
