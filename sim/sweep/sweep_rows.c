/* sweep_rows.c - `trainyard sweep`: many runs, one row each, on several threads and processes.
 *
 * Threads take rows in order and finish them in any; sweep_store.c keeps the finished ones, and the
 * first process puts them in order. So a sweep that resumes, one that merges shards, and processes
 * that share the rows all write the same table as one process would.
 *
 * A row's bytes depend neither on threads and processes nor on time. A failure that says nothing
 * about the row (a disk, a limit of the machine, memory) ends the sweep, since the table would keep
 * a wrong answer for good. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/offload.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/config/stack.h"
#include "sim/document/json.h"
#include "sim/sweep/crew.h"
#include "sim/sweep/inputs.h"
#include "sim/sweep/sweep_bands.h"
#include "sim/sweep/sweep_line.h"
#include "sim/sweep/sweep_space.h"
#include "sim/sweep/sweep_store.h"

/* ---- lines of CSV ----
 *
 * Writes the figures of a row as cells of CSV, and reads them back.
 *
 * ",1.5,0.4,0.5,9e5,0.1,7e10,1,fsdp,\n": six numbers, whether it fits, the stack, an empty error.
 * ",,,,,,,,,message\n": nothing but the error. */

#define OTHERS 3u /* fits, framework, error */

struct columns {
    const struct ty_figure_row *row[TY_FIGURES_MAX];
    uint32_t n_plain, n; /* `fits` and `framework` stand between those and what is asked for */
};

/* `fleet`: with what a fleet section asks for. */
static struct columns columns_of(bool fleet)
{
    struct columns c = {.n_plain = 0};
    c.n = ty_figure_rows(TY_IN_SWEEP, c.row);
    while (c.n_plain < c.n && !c.row[c.n_plain]->asked) {
        c.n_plain++;
    }
    c.n = fleet ? c.n : c.n_plain;
    return c;
}

/* A name that outlives the configuration. */
static const char *stack_name(const struct ty_run *run)
{
    const struct ty_preset *preset = ty_framework_presets;
    while (preset->name != NULL &&
           strcmp(preset->name, run->config->layout.framework.preset) != 0) {
        preset++;
    }
    return preset->name != NULL ? preset->name : "";
}

/* Takes the figures of an executed run. */
static void sweep_line_take(struct ty_sweep_figures *figures, const struct ty_run *run)
{
    const struct columns c = columns_of(true);
    struct ty_figures f;
    ty_run_numbers(run, &f);
    *figures = (struct ty_sweep_figures){.fits = ty_run_fits(run), .framework = stack_name(run)};
    for (uint32_t i = 0; i < c.n; i++) {
        figures->value[i] = ty_figure_value(c.row[i], &f);
    }
}

double ty_sweep_line_value(const struct ty_sweep_figures *figures, const char *name)
{
    const struct columns c = columns_of(true);
    uint32_t i = 0;
    while (i < c.n && strcmp(c.row[i]->name, name) != 0) {
        i++;
    }
    assert(i < c.n);
    return figures->value[i];
}

void ty_sweep_line_cell(struct ty_text *t, const char *s)
{
    const bool quoted = strpbrk(s, ",\"\r\n") != NULL;
    ty_text_bytes(t, "\"", quoted);
    while (*s != '\0') {
        const size_t n = strcspn(s, "\"");
        ty_text_bytes(t, s, n);
        ty_text_bytes(t, "\"\"", s[n] == '"' ? 2 : 0);
        s += n + (s[n] == '"');
    }
    ty_text_bytes(t, "\"", quoted);
}

/* Appends the names of the columns. */
static void sweep_line_head(struct ty_text *t, struct ty_sweep_columns with)
{
    const struct columns c = columns_of(with.fleet);
    for (uint32_t i = 0; i < c.n_plain; i++) {
        ty_text_add(t, ",%s", c.row[i]->name);
    }
    ty_text_add(t, ",fits,framework");
    for (uint32_t i = c.n_plain; i < c.n; i++) {
        ty_text_add(t, ",%s", c.row[i]->name);
    }
    ty_text_add(t, with.bands ? ",step_low_s,step_high_s,error" : ",error");
}

static void sweep_line_put(struct ty_text *t, const struct ty_sweep_figures *f,
                           struct ty_sweep_columns with)
{
    const struct columns c = columns_of(with.fleet);
    char number[TY_JSON_NUMBER];
    for (uint32_t i = 0; i < c.n_plain; i++) {
        ty_text_add(t, ",%s", ty_json_number(f->value[i], number));
    }
    ty_text_add(t, ",%d,%s", f->fits ? 1 : 0, f->framework);
    for (uint32_t i = c.n_plain; i < c.n; i++) {
        ty_text_add(t, ",%s", f->value[i] > 0 ? ty_json_number(f->value[i], number) : "");
    }
    if (with.bands) {
        ty_text_add(t, ",%s", ty_json_number(f->low_s, number));
        ty_text_add(t, ",%s", ty_json_number(f->high_s, number));
    }
    ty_text_add(t, ",");
}

/* Columns of a row without an answer that are empty. */
static uint32_t empty_columns(struct ty_sweep_columns with)
{
    return columns_of(with.fleet).n + OTHERS + (with.bands ? 2 : 0);
}

/* Appends the columns of an answer, or of an error: a comma before each, but no end of line. */
static void sweep_line_error(struct ty_text *t, const char *message, struct ty_sweep_columns with)
{
    const uint32_t n = empty_columns(with);
    for (uint32_t i = 0; i < n; i++) {
        ty_text_add(t, ",");
    }
    ty_sweep_line_cell(t, message);
}

/* ---- and back ---- */

/* The number behind a comma; 0 where there is none and it may lack. */
static bool read_number(const char **p, bool may_lack, double *value)
{
    char *rest;
    *value = 0;
    if (**p != ',') {
        return false;
    }
    if (may_lack && (*p)[1] == ',') {
        (*p)++;
        return true;
    }
    *value = ty_strtod(*p + 1, &rest);
    const bool found = rest > *p + 1;
    *p = rest;
    return found;
}

/* ",1,fsdp" */
static bool read_stack(const char **p, struct ty_sweep_figures *f)
{
    if (strncmp(*p, ",0,", 3) != 0 && strncmp(*p, ",1,", 3) != 0) {
        return false;
    }
    f->fits = (*p)[1] == '1';
    *p += 3;
    const size_t n = strcspn(*p, ",");
    for (const struct ty_preset *preset = ty_framework_presets; preset->name != NULL; preset++) {
        if (strlen(preset->name) == n && strncmp(*p, preset->name, n) == 0) {
            f->framework = preset->name;
            *p += n;
            return true;
        }
    }
    return false;
}

/* ",1.3,1.7" */
static bool read_band(const char **p, struct ty_sweep_figures *f)
{
    return read_number(p, false, &f->low_s) && read_number(p, false, &f->high_s) && f->low_s > 0 &&
           f->high_s >= f->low_s;
}

/* A cell up to the end of the line, without its quotes. */
static void read_cell(const char *p, char *text, size_t size)
{
    const bool quoted = *p == '"';
    size_t n = 0;
    for (p += quoted; *p != '\0' && (quoted || *p != '\n') && n + 1 < size; p++) {
        if (quoted && *p == '"' && *++p != '"') {
            break;
        }
        text[n++] = *p;
    }
    text[n] = '\0';
}

/* Reads what those wrote, up to the end of the line; of an error the message alone. */
static enum ty_sweep_read sweep_line_read(const char *text, struct ty_sweep_columns with,
                                          struct ty_sweep_figures *f, char message[TY_ROW_MESSAGE])
{
    const struct columns c = columns_of(with.fleet);
    const size_t n_empty = empty_columns(with);
    const char *p = text;
    *f = (struct ty_sweep_figures){.framework = ""};
    if (strspn(text, ",") >= n_empty) {
        read_cell(text + n_empty, message, TY_ROW_MESSAGE);
        return message[0] != '\0' ? TY_SWEEP_ERROR : TY_SWEEP_NONSENSE;
    }
    bool ok = true;
    for (uint32_t i = 0; i < c.n_plain && ok; i++) {
        ok = read_number(&p, false, &f->value[i]);
    }
    ok = ok && read_stack(&p, f);
    for (uint32_t i = c.n_plain; i < c.n && ok; i++) {
        ok = read_number(&p, true, &f->value[i]);
    }
    ok = ok && (!with.bands || read_band(&p, f));
    ok = ok && ty_sweep_line_value(f, "step_time_s") > 0 && strcmp(p, ",\n") == 0;
    return ok ? TY_SWEEP_ANSWER : TY_SWEEP_NONSENSE;
}

static int sweep_bands_init(struct ty_sweep_bands *b, const struct ty_row_source *rows,
                            struct ty_err *err)
{
    /* ---- bands ----
 *
 * Finds the bands of rows, and the rows that may be as fast as the fastest. */

    const uint32_t n = rows->table->csv.n_rows;
    *b = (struct ty_sweep_bands){.rows = rows,
                                 .band = calloc((size_t)n + 1, sizeof(*b->band)),
                                 .arena = calloc((size_t)n + 1, sizeof(*b->arena)),
                                 .speed = calloc((size_t)n + 1, sizeof(*b->speed)),
                                 .deviation = calloc((size_t)n + 1, sizeof(*b->deviation)),
                                 .n = n};
    return b->band && b->arena && b->speed && b->deviation ? 0 : ty_fail_memory(err);
}

/* 0 or TY_ENOMEM. */
static void sweep_bands_release(struct ty_sweep_bands *b)
{
    for (uint32_t i = 0; i < b->n && b->arena != NULL; i++) {
        ty_arena_release(&b->arena[i]);
    }
    free(b->band);
    free(b->arena);
    free(b->speed);
    free(b->deviation);
}

/* Finds the band of a row and notes its ends, if bands are asked for. For several threads. */
static int sweep_bands_find(struct ty_sweep_bands *b, uint32_t row, struct ty_sweep_figures *f,
                            struct ty_err *err)
{
    if (b->rows == NULL) {
        return 0;
    }
    struct ty_band *band = &b->band[row];
    const int rc = ty_band_find(band, b->rows, row, NULL, 1, &b->arena[row], err);
    if (rc == 0) {
        const struct ty_band_ends ends = ty_band_ends(band, band->step_s);
        f->low_s = ends.fast_s;
        f->high_s = ends.slow_s;
    }
    return rc;
}

/* Notes a row of the table, simulated or of an earlier sweep. */
static void sweep_bands_note(struct ty_sweep_bands *b, const struct ty_sweep_figures *f)
{
    if (b->rows != NULL && f->fits) {
        b->speed[f->row] = ty_sweep_line_value(f, "tokens_per_s");
        b->deviation[f->row] = log(f->high_s / f->low_s) / (2 * TY_BAND_HALF);
    }
}

/* ---- the fastest and the others ---- */

/* A row of an earlier sweep has its ends in the table, and no more. */
static int complete(struct ty_sweep_bands *b, uint32_t row, uint32_t jobs, struct ty_err *err)
{
    return b->band[row].step_s > 0
               ? 0
               : ty_band_find(&b->band[row], b->rows, row, NULL, jobs, &b->arena[row], err);
}

/* Chance that a row is faster than the fastest; one that cannot be tied is not looked at: what two
 * rows differ by varies by no more than both together (with room for bands that are askew). */
static int faster(struct ty_sweep_bands *b, uint32_t row, uint32_t best, uint32_t jobs,
                  double *chance, struct ty_err *err)
{
    const double ahead = log(b->speed[best] / b->speed[row]);
    *chance = 0;
    if (ahead > 2 * TY_BAND_HALF * (b->deviation[row] + b->deviation[best])) {
        return 0;
    }
    const int rc = complete(b, row, jobs, err);
    *chance = rc == 0 ? ty_band_faster(&b->band[row], &b->band[best], ahead) : 0;
    return rc;
}

/* Notes in `best` how likely each row is faster than the first, and how many rows are tied with it.
 * On `jobs` threads. */
static int sweep_bands_judge(struct ty_sweep_bands *b, struct ty_sweep_best *best, uint32_t jobs,
                             struct ty_err *err)
{
    if (b->rows == NULL || best->n == 0) {
        return 0;
    }
    const uint32_t first = best->row[0].row;
    int rc = complete(b, first, jobs, err);
    best->judged = true;
    for (uint32_t row = 0; row < b->n && rc == 0; row++) {
        double chance;
        if (row == first || b->speed[row] <= 0) {
            continue;
        }
        rc = faster(b, row, first, jobs, &chance, err);
        best->n_tied += chance > TY_SWEEP_TIED;
        best->n_others++;
        for (uint32_t i = 0; i < best->n; i++) {
            best->faster[i] = best->row[i].row == row ? chance : best->faster[i];
        }
    }
    return rc;
}

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
    sweep_line_take(&out->figures, run);
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
        sweep_bands_note(&job->bands, &out->figures);
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
    if (rc == 0 && isnan(ty_sweep_line_value(&out->figures, "hfu"))) { /* see sum_of in whole.c */
        rc = ty_fail_memory(err);
    }
    if (rc == 0) {
        rc = sweep_bands_find(&job->bands, row, &out->figures, err);
    }
    if (rc < 0 && ty_err_is_transient(rc)) { /* it says nothing about the row */
        ty_text_release(t);
        return NULL;
    }
    if (rc < 0) {
        out->answers = false;
        ty_row_message(err, out->message);
        sweep_line_error(t, out->message, job->with);
    } else {
        sweep_line_put(t, &out->figures, job->with);
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
        same ? sweep_line_read(line + inputs.len, job->with, &out.figures, out.message)
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
                       "%s: row %" PRIu32 " has another result now: the run file, a file that "
                       "it names, or this program changed; remove it to start again",
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
    sweep_line_head(&t, job->with);
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
            ty_offload_framework(TY_OFFLOAD_NONE, 3), ty_offload_framework(TY_OFFLOAD_NONE, 0));
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
                        "the shards that have them are not named, or did not finish: continue them "
                        "with --resume, then merge all",
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
    return rc < 0 ? rc : sweep_bands_judge(&job->bands, &job->best, job->options->jobs, err);
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
                       "--resume continues the PATH.partial of -o PATH; name the table, such as -o "
                       "table.csv");
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
        rc = sweep_bands_init(&job.bands, &job.rows, err);
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
    sweep_bands_release(&job.bands);
    ty_worker_pool_release(&job.workers);
    ty_arena_release(&arena);
    return rc;
}
