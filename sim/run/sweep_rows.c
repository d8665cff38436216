/* sweep_rows.c - `trainyard sweep`: many runs, one row each, in order, on several threads.
 *
 * Workers take rows in order and finish them in any; finished rows are written as soon as all
 * before them are, so that what is on disk is always a beginning of the final table. With a path it
 * is written to PATH.partial and renamed at the end; a sweep that was killed leaves PATH.partial,
 * and --resume keeps its whole rows and goes on. A row's bytes do not depend on threads or time. */
#define _XOPEN_SOURCE 700 /* ftruncate, realpath */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/fd.h"
#include "sim/base/file.h"
#include "sim/base/json.h"
#include "sim/base/number_text.h"
#include "sim/base/pool.h"
#include "sim/base/text.h"
#include "sim/run/bill.h"
#include "sim/run/row_run.h"

#define N_FIGURES 6 /* columns of numbers, between the inputs and `fits` */

struct sweep_job {
    const struct ty_sweep_options *options;
    struct ty_sweep_table table;
    struct ty_row_source rows;
    pthread_mutex_t lock;
    uint32_t written;           /* rows on disk */
    char **line;                /* [n_rows]: finished and not yet written */
    int fd, error;              /* errno of the first failed write */
    const char *path, *partial; /* NULL: no file, written as it is */
    struct ty_sweep_summary summary;
    bool no_memory;
};

/* ---- one row ---- */

/* A cell as CSV: quoted when it has to be. */
static void put_cell(struct ty_text *t, const char *s)
{
    if (strpbrk(s, ",\"\r\n") == NULL) {
        ty_text_add(t, "%s", s);
        return;
    }
    ty_text_add(t, "\"");
    for (; *s != '\0'; s++) {
        ty_text_add(t, *s == '"' ? "\"\"" : "%c", *s);
    }
    ty_text_add(t, "\"");
}

/* One row's text, and what it adds to the summary. */
struct outcome {
    struct ty_text text;
    double step_s; /* 0: an error */
    bool fits;
};

static void put_figures(const struct ty_run *run, void *arg)
{
    struct outcome *out = arg;
    struct ty_text *t = &out->text;
    struct ty_figures f;
    struct ty_bill bill;
    ty_run_figures(run, &f);
    ty_run_fullest(run, &bill);
    const double values[N_FIGURES] = {f.step_s,          f.mfu,       f.hfu, f.tokens_per_s,
                                      f.bubble_fraction, bill.total_B};
    for (size_t i = 0; i < N_FIGURES; i++) {
        char buf[TY_JSON_NUMBER];
        ty_text_add(t, ",%s", ty_json_number(values[i], buf));
    }
    out->step_s = f.step_s;
    out->fits = ty_run_fits(run);
    ty_text_add(t, ",%d,", out->fits ? 1 : 0);
}

/* Under the lock, once threads run. */
static void add_outcome(struct ty_sweep_summary *s, uint32_t row, const struct outcome *out)
{
    s->n_invalid += out->step_s <= 0;
    s->n_fit += out->step_s > 0 && out->fits;
    s->n_not += out->step_s > 0 && !out->fits;
    const bool best = s->fastest == 0 || out->step_s < s->fastest_s ||
                      (out->step_s == s->fastest_s && row + 1 < s->fastest);
    if (out->step_s > 0 && out->fits && best) {
        s->fastest = row + 1;
        s->fastest_s = out->step_s;
    }
}

static void put_inputs(struct ty_text *t, const struct sweep_job *job, uint32_t row)
{
    for (uint32_t k = 0; k < job->table.csv.n_columns; k++) {
        ty_text_add(t, k == 0 ? "" : ",");
        put_cell(t, ty_csv_cell(&job->table.csv, row, k));
    }
}

static char *make_line(const struct sweep_job *job, uint32_t row, struct outcome *out)
{
    struct ty_text *t = &out->text;
    struct ty_err *err = ty_err_new();
    if (err == NULL) {
        return NULL;
    }
    put_inputs(t, job, row);
    const int rc = ty_row_run(&job->rows, row, NULL, 0, put_figures, out, err);
    if (rc == TY_ENOMEM) { /* nothing about the row: it may come out when fewer run at once */
        ty_text_release(t);
        ty_err_free(err);
        return NULL;
    }
    if (rc < 0) {
        char message[TY_ROW_MESSAGE];
        ty_row_message(err, message);
        ty_text_add(t, ",,,,,,,,");
        put_cell(t, message);
    }
    ty_text_add(t, "\n");
    ty_err_free(err);
    return ty_text_take(t);
}

/* ---- writing ---- */

/* Writes every finished row that has none unfinished before it. Under the lock. */
static void write_finished(struct sweep_job *job)
{
    while (job->written < job->table.csv.n_rows && job->line[job->written] != NULL) {
        char *line = job->line[job->written];
        if (job->error == 0) {
            job->error = ty_fd_write(job->fd, line, strlen(line), NULL);
        }
        free(line);
        job->line[job->written++] = NULL;
    }
}

static bool do_row(void *arg, uint32_t row)
{
    struct sweep_job *job = arg;
    struct outcome out = {.text = {.data = NULL}};
    char *line = make_line(job, row, &out);
    pthread_mutex_lock(&job->lock);
    job->summary.n_rows++;
    add_outcome(&job->summary, row, &out);
    job->no_memory = job->no_memory || line == NULL;
    job->line[row] = line;
    write_finished(job);
    if (job->options->progress != NULL) {
        job->options->progress(job->options->progress_arg,
                               (double)job->summary.n_rows / job->table.csv.n_rows);
    }
    const bool more = job->error == 0 && !job->no_memory;
    pthread_mutex_unlock(&job->lock);
    return more;
}

/* ---- the table ---- */

static char *make_header(const struct sweep_job *job)
{
    struct ty_text t = {.data = NULL};
    for (uint32_t k = 0; k < job->table.csv.n_columns; k++) {
        ty_text_add(&t, k == 0 ? "" : ",");
        put_cell(&t, ty_csv_header(&job->table.csv, k));
    }
    ty_text_add(&t, ",step_time_s,mfu,hfu,tokens_per_s,bubble_fraction,peak_memory_bytes,fits,"
                    "error\n");
    return ty_text_take(&t);
}

/* Where the row that begins at from ends, one past its newline; 0 when it is not whole. */
static size_t row_end(const char *text, size_t len, size_t from)
{
    bool quoted = false;
    for (size_t i = from; i < len; i++) {
        quoted = quoted != (text[i] == '"');
        if (text[i] == '\n' && !quoted) {
            return i + 1;
        }
    }
    return 0;
}

/* What an earlier sweep wrote of a row, behind its inputs. */
static struct outcome read_figures(const char *text)
{
    struct outcome out = {.step_s = *text == ',' ? 0 : ty_strtod(text, NULL)};
    for (int commas = 0; text != NULL && commas < N_FIGURES; commas++) {
        text = strchr(text, ',');
        text = text != NULL ? text + 1 : NULL;
    }
    out.fits = text != NULL && *text == '1';
    return out;
}

/* Adds a whole row of an earlier sweep to the summary; false: it does not begin with the inputs of
 * this sweep's row. */
static bool keep_row(struct sweep_job *job, uint32_t row, const char *text, size_t len)
{
    struct ty_text t = {.data = NULL};
    put_inputs(&t, job, row);
    ty_text_add(&t, ",");
    char *inputs = ty_text_take(&t);
    const size_t n = inputs != NULL ? strlen(inputs) : 0;
    const bool same = inputs != NULL && n <= len && memcmp(text, inputs, n) == 0;
    if (same) {
        const struct outcome out = read_figures(text + n);
        job->summary.n_kept++;
        add_outcome(&job->summary, row, &out);
    }
    free(inputs);
    return same;
}

/* Counts the whole lines of an earlier sweep, header included, and finds where the last one ends.
 * Refuses a text that was not written for this table: its figures would stand in wrong rows. */
static int keep(struct sweep_job *job, const char *path, const char *header, const char *text,
                size_t len, uint32_t *lines, size_t *end, struct ty_err *err)
{
    *lines = 0;
    *end = 0;
    for (size_t next; (next = row_end(text, len, *end)) != 0; *end = next, (*lines)++) {
        if (*lines == 0 && (next != strlen(header) || memcmp(text, header, next) != 0)) {
            return ty_fail(err, TY_EINPUT,
                           "%s: its columns are not those of this sweep; run without --resume to "
                           "start anew",
                           path);
        }
        if (*lines > 0 && (*lines > job->table.csv.n_rows ||
                           !keep_row(job, *lines - 1, text + *end, next - *end))) {
            return ty_fail(err, TY_EINPUT,
                           "%s: its row %" PRIu32 " is not that of this sweep; run without "
                           "--resume to start anew",
                           path, *lines);
        }
    }
    return 0;
}

/* Where rows go: standard output; a file, under its name's .partial until it is whole, through
 * links; or something that is no file, as it is. */
static int find_target(struct sweep_job *job, const char *path, struct ty_arena *arena,
                       struct ty_err *err)
{
    struct stat st;
    const bool there = path != NULL && strcmp(path, "-") != 0 && stat(path, &st) == 0;
    job->fd = STDOUT_FILENO;
    if (path == NULL || strcmp(path, "-") == 0) {
        return 0;
    }
    if (there && !S_ISREG(st.st_mode)) {
        job->fd = open(path, O_WRONLY | O_CLOEXEC);
        return job->fd < 0 ? ty_fail(err, TY_EIO, "cannot write '%s': %s", path, strerror(errno))
                           : 0;
    }
    char *real = there ? realpath(path, NULL) : NULL;
    job->path = ty_arena_printf(arena, "%s", real != NULL ? real : path);
    job->partial = ty_arena_printf(arena, "%s.partial", real != NULL ? real : path);
    free(real);
    return job->path == NULL || job->partial == NULL
               ? ty_fail(err, TY_ENOMEM, "memory is exhausted")
               : 0;
}

/* Opens PATH.partial, keeping what an earlier sweep finished when resuming. */
static int open_partial(struct sweep_job *job, const char *header, struct ty_arena *arena,
                        struct ty_err *err)
{
    const char *partial = job->partial;
    const char *text = "";
    size_t len = 0, end = 0;
    int rc = 0;
    if (job->options->resume && access(partial, R_OK) == 0) {
        rc = ty_file_read(arena, partial, TY_CSV_MAX_BYTES, &text, &len, err);
    }
    uint32_t rows = 0;
    rc = rc < 0 ? rc : keep(job, partial, header, text, len, &rows, &end, err);
    if (rc < 0) {
        return rc;
    }
    job->fd = open(partial, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (job->fd < 0 || ftruncate(job->fd, (off_t)end) != 0 ||
        lseek(job->fd, 0, SEEK_END) == (off_t)-1) {
        return ty_fail(err, ty_code_of_errno(errno), "cannot write '%s': %s", partial,
                       strerror(errno));
    }
    job->written = rows > 0 ? rows - 1 : 0;
    job->error = rows > 0 ? 0 : ty_fd_write(job->fd, header, strlen(header), NULL);
    return 0;
}

static int finish(struct sweep_job *job, struct ty_err *err)
{
    if (job->no_memory) {
        ty_fail(err, TY_ENOMEM, "memory is exhausted in row %" PRIu32, job->written + 1);
        if (job->partial != NULL) {
            ty_hint(err,
                    "the rows before it are in %s; --resume goes on from there, with fewer "
                    "--jobs if that is what it takes",
                    job->partial);
        }
        return TY_ENOMEM;
    }
    if (job->fd != STDOUT_FILENO && close(job->fd) != 0 && job->error == 0) {
        job->error = errno;
    }
    if (job->error == 0 && job->partial != NULL && rename(job->partial, job->path) != 0) {
        job->error = errno;
    }
    const char *output = job->options->output != NULL ? job->options->output : "-";
    return job->error == 0 ? 0
                           : ty_fail(err, TY_EIO, "cannot write '%s': %s",
                                     job->partial != NULL       ? job->partial
                                     : strcmp(output, "-") != 0 ? output
                                                                : "standard output",
                                     strerror(job->error));
}

static int sweep(struct sweep_job *job, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    char *header = make_header(job);
    job->line = ty_arena_array(arena, char *, (size_t)job->table.csv.n_rows + 1);
    int rc = header == NULL || job->line == NULL ? ty_fail(err, TY_ENOMEM, "memory is exhausted")
                                                 : find_target(job, o->output, arena, err);
    if (rc == 0 && job->partial != NULL) {
        rc = open_partial(job, header, arena, err);
    } else if (rc == 0) {
        job->error = ty_fd_write(job->fd, header, strlen(header), NULL);
    }
    free(header);
    if (rc < 0) {
        return rc;
    }
    if (job->error == 0) {
        ty_pool_run(job->written, job->table.csv.n_rows, o->jobs, do_row, job);
    }
    return finish(job, err);
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

int ty_sweep_rows(const struct ty_sweep_options *options, struct ty_err *err)
{
    struct sweep_job job = {
        .options = options,
        .rows = {.source = {.path = options->path,
                            .with = options->with,
                            .n_with = options->n_with,
                            .sets = options->sets,
                            .n_sets = options->n_sets},
                 .table = &job.table},
    };
    struct ty_arena arena = {.head = NULL};
    if (strcmp(options->path, "-") == 0) {
        return ty_fail(err, TY_EUSAGE, "a sweep reads its run file many times; - will not do");
    }
    int rc = ty_sweep_table(&job.table, options->rows, options->over, options->n_over, &arena, err);
    if (rc == 0) {
        pthread_mutex_init(&job.lock, NULL);
        rc = sweep(&job, &arena, err);
        pthread_mutex_destroy(&job.lock);
    }
    if (options->summary != NULL) {
        *options->summary = job.summary;
        copy_remark(options->summary, rc == 0 && job.table.remark != NULL ? job.table.remark : "");
    }
    ty_arena_release(&arena);
    return rc;
}
