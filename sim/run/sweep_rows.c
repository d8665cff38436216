/* sweep_rows.c - `trainyard sweep`: many runs, one row each, in order, on several threads.
 *
 * Workers take rows in order and finish them in any; finished rows are written as soon as all
 * before them are, so that what is on disk is always a beginning of the final table. With a path it
 * is written to PATH.partial and renamed at the end; a sweep that was killed leaves PATH.partial,
 * and --resume keeps its whole rows and goes on. A row's bytes do not depend on threads or time. */
#define _XOPEN_SOURCE 700 /* ftruncate */

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
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/run/bill.h"
#include "sim/run/sweep_table.h"

#define KEYS_MAX 256u

struct sweep_job {
    const struct ty_sweep_options *options;
    struct ty_sweep_table table;
    pthread_mutex_t lock;
    uint32_t next, written; /* rows taken, rows on disk */
    char **line;            /* [n_rows]: finished and not yet written */
    int fd, error;          /* errno of the first failed write */
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

/* The first message, without the place inside a --set that no user wrote. */
static void put_error(struct ty_text *t, const struct ty_err *err)
{
    char first[512];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(err->text, "\n"), err->text);
    const char *message = first;
    if (strncmp(first, "--set ", 6) == 0) {
        const char *key = strchr(first, ':');
        for (int colons = 0; key != NULL && colons < 2; colons++) {
            key = strchr(key + 1, ':');
        }
        message = key != NULL && key[1] == ' ' ? key + 2 : first;
    }
    put_cell(t, message);
}

static void put_figures(struct ty_text *t, const struct ty_run *run)
{
    struct ty_figures f;
    struct ty_bill bill;
    ty_run_figures(run, &f);
    ty_run_fullest(run, &bill);
    const double values[] = {f.step_s,       f.mfu,    f.hfu, f.tokens_per_s, f.bubble_fraction,
                             bill.total_B};
    for (size_t i = 0; i < TY_COUNT(values); i++) {
        char buf[TY_JSON_NUMBER];
        ty_text_add(t, ",%s", ty_json_number(values[i], buf));
    }
    ty_text_add(t, ",%d,", ty_run_fits(run) ? 1 : 0);
}

/* What sets this row apart, as "key=value". Returns how many, or -1 without memory. */
static int row_sets(const struct sweep_job *job, uint32_t row, struct ty_arena *arena,
                    const char **sets)
{
    const struct ty_sweep_options *o = job->options;
    size_t n = 0;
    for (; n < o->n_sets; n++) {
        sets[n] = o->sets[n];
    }
    for (uint32_t k = 0; k < job->table.csv.n_columns; k++) {
        const char *value = ty_csv_cell(&job->table.csv, row, k);
        if (job->table.is_key[k] && value[0] != '\0') {
            sets[n] = ty_arena_printf(arena, "%s=%s", ty_csv_header(&job->table.csv, k), value);
            if (sets[n++] == NULL) {
                return -1;
            }
        }
    }
    return (int)n;
}

static int simulate(const struct sweep_job *job, uint32_t row, struct ty_arena *arena,
                    struct ty_text *t, struct ty_err *err)
{
    const char *sets[2 * KEYS_MAX];
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    const int n = row_sets(job, row, arena, sets);
    int rc = n < 0 ? ty_fail(err, TY_ENOMEM, "memory is exhausted")
                   : ty_config_load(&config, job->options->path, sets, (size_t)n, err);
    rc = rc < 0 ? rc : ty_run_new(&run, config, err);
    rc = rc < 0 ? rc : ty_run_execute(run, NULL, err);
    if (rc == 0) {
        put_figures(t, run);
    }
    ty_run_free(run);
    ty_config_free(config);
    return rc;
}

static void put_inputs(struct ty_text *t, const struct sweep_job *job, uint32_t row)
{
    for (uint32_t k = 0; k < job->table.csv.n_columns; k++) {
        ty_text_add(t, k == 0 ? "" : ",");
        put_cell(t, ty_csv_cell(&job->table.csv, row, k));
    }
}

static char *make_line(const struct sweep_job *job, uint32_t row)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_text t = {.data = NULL};
    struct ty_err *err = ty_err_new();
    if (err == NULL) {
        return NULL;
    }
    put_inputs(&t, job, row);
    if (simulate(job, row, &arena, &t, err) < 0) {
        ty_text_add(&t, ",,,,,,,,");
        put_error(&t, err);
    }
    ty_text_add(&t, "\n");
    ty_err_free(err);
    ty_arena_release(&arena);
    return ty_text_take(&t);
}

/* ---- writing ---- */

/* Writes every finished row that has none unfinished before it. Under the lock. */
static void write_finished(struct sweep_job *job)
{
    while (job->written < job->table.csv.n_rows && job->line[job->written] != NULL) {
        char *line = job->line[job->written];
        if (job->error == 0) {
            job->error = ty_fd_write(job->fd, line, strlen(line));
        }
        free(line);
        job->line[job->written++] = NULL;
    }
}

static void *work(void *arg)
{
    struct sweep_job *job = arg;
    for (;;) {
        pthread_mutex_lock(&job->lock);
        const bool more =
            job->next < job->table.csv.n_rows && job->error == 0 && !job->no_memory;
        const uint32_t row = more ? job->next++ : 0;
        pthread_mutex_unlock(&job->lock);
        if (!more) {
            return NULL;
        }
        char *line = make_line(job, row);
        pthread_mutex_lock(&job->lock);
        job->no_memory = job->no_memory || line == NULL;
        job->line[row] = line;
        write_finished(job);
        pthread_mutex_unlock(&job->lock);
    }
}

static void run_workers(struct sweep_job *job, uint32_t jobs)
{
    pthread_t threads[64];
    uint32_t n = 0;
    while (n + 1 < jobs && n < TY_COUNT(threads) &&
           pthread_create(&threads[n], NULL, work, job) == 0) {
        n++;
    }
    work(job);
    for (uint32_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
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

static bool begins_with_inputs(const struct sweep_job *job, uint32_t row, const char *text,
                               size_t len)
{
    struct ty_text t = {.data = NULL};
    put_inputs(&t, job, row);
    ty_text_add(&t, ",");
    char *inputs = ty_text_take(&t);
    const bool same =
        inputs != NULL && strlen(inputs) <= len && memcmp(text, inputs, strlen(inputs)) == 0;
    free(inputs);
    return same;
}

/* Counts the whole lines of an earlier sweep, header included, and finds where the last one ends.
 * Refuses a text that was not written for this table: its figures would stand in wrong rows. */
static int keep(const struct sweep_job *job, const char *path, const char *header,
                const char *text, size_t len, uint32_t *lines, size_t *end, struct ty_err *err)
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
                           !begins_with_inputs(job, *lines - 1, text + *end, next - *end))) {
            return ty_fail(err, TY_EINPUT,
                           "%s: its row %" PRIu32 " is not that of this sweep; run without "
                           "--resume to start anew",
                           path, *lines);
        }
    }
    return 0;
}

/* Opens PATH.partial, keeping what an earlier sweep finished when resuming. */
static int open_partial(struct sweep_job *job, const char *partial, const char *header,
                        struct ty_arena *arena, struct ty_err *err)
{
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
        return ty_fail(err, TY_EIO, "cannot write '%s': %s", partial, strerror(errno));
    }
    job->next = job->written = rows > 0 ? rows - 1 : 0;
    job->error = rows > 0 ? 0 : ty_fd_write(job->fd, header, strlen(header));
    return 0;
}

static int finish(struct sweep_job *job, const char *partial, const char *path,
                  struct ty_err *err)
{
    if (job->no_memory) {
        return ty_fail(err, TY_ENOMEM, "memory is exhausted");
    }
    if (partial != NULL && close(job->fd) != 0 && job->error == 0) {
        job->error = errno;
    }
    if (job->error == 0 && partial != NULL && rename(partial, path) != 0) {
        job->error = errno;
    }
    return job->error == 0 ? 0
                           : ty_fail(err, TY_EIO, "cannot write '%s': %s",
                                     partial != NULL ? partial : "standard output",
                                     strerror(job->error));
}

static int sweep(struct sweep_job *job, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_sweep_options *o = job->options;
    const bool to_file = o->output != NULL && strcmp(o->output, "-") != 0;
    const char *partial = to_file ? ty_arena_printf(arena, "%s.partial", o->output) : NULL;
    char *header = make_header(job);
    job->line = ty_arena_array(arena, char *, (size_t)job->table.csv.n_rows + 1);
    job->fd = STDOUT_FILENO;
    int rc = header == NULL || job->line == NULL || (to_file && partial == NULL)
                 ? ty_fail(err, TY_ENOMEM, "memory is exhausted")
                 : 0;
    if (rc == 0 && to_file) {
        rc = open_partial(job, partial, header, arena, err);
    } else if (rc == 0) {
        job->error = ty_fd_write(job->fd, header, strlen(header));
    }
    free(header);
    if (rc < 0) {
        return rc;
    }
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    run_workers(job, o->jobs > 0 ? o->jobs : cores > 0 ? (uint32_t)cores : 1);
    return finish(job, partial, o->output, err);
}

int ty_sweep_rows(const struct ty_sweep_options *options, struct ty_err *err)
{
    struct sweep_job job = {.options = options};
    struct ty_arena arena = {.head = NULL};
    if (strcmp(options->path, "-") == 0) {
        return ty_fail(err, TY_EUSAGE, "a sweep reads its run file many times; - will not do");
    }
    int rc = ty_sweep_table(&job.table, options->rows, options->over, options->n_over, &arena, err);
    if (rc == 0 && job.table.csv.n_columns + options->n_sets > 2 * KEYS_MAX) {
        rc = ty_fail(err, TY_ELIMIT, "a sweep may set at most %u keys", 2 * KEYS_MAX);
    }
    if (rc == 0) {
        pthread_mutex_init(&job.lock, NULL);
        rc = sweep(&job, &arena, err);
        pthread_mutex_destroy(&job.lock);
    }
    ty_arena_release(&arena);
    return rc;
}
