/* sweep_store.c - see sweep_store.h.
 *
 * PATH.partial is a table, too: its columns, then a record for each row, as they finish:
 *
 *     row,bytes,crc32,layout.tensor,step_time_s,...
 *     2,118,9ae2f30c,4,1.263,...
 *
 * which is the number of the row, from 1, the length of its line of the table and a check of both.
 * One write adds a record, and nothing but records is ever added, so what a kill or a crash of the
 * machine can leave is a record that is cut, or blocks of zeros: all before the first broken one
 * counts. The table in order is on the disk (fsync) before it takes its name, and PATH.partial goes
 * after that. */
#define _DEFAULT_SOURCE     /* flock */
#define _XOPEN_SOURCE   700 /* ftruncate, realpath, strndup */

#include "sim/sweep/sweep_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "sim/base/file.h"
#include "sim/base/text.h"

#define MAX_BYTES  ((size_t)1 << 30) /* of PATH.partial: a million rows have some 200 MB */
#define LOCK_TRIES 100u              /* names that changed hands while they were opened */

/* ---- opening ---- */

/* Where rows go: standard output; a file, through links; or something that is no file, as it is. */
static int find_target(struct ty_sweep_store *store, const char *output, struct ty_arena *arena,
                       struct ty_err *err)
{
    struct stat st;
    const bool named = output != NULL && strcmp(output, "-") != 0;
    const bool there = named && stat(output, &st) == 0;
    store->fd = STDOUT_FILENO;
    store->name = named ? output : "standard output";
    if (!named) {
        return 0;
    }
    if (there && !S_ISREG(st.st_mode)) {
        store->fd = open(output, O_WRONLY | O_CLOEXEC);
        return store->fd < 0 ? ty_fail_write(err, output, errno) : 0;
    }
    char *real = there ? realpath(output, NULL) : NULL;
    if (there && real == NULL) {
        return ty_fail_write(err, output, errno);
    }
    const char *path = real != NULL ? real : output;
    store->fd = -1;
    store->path = ty_arena_printf(arena, "%s", path);
    store->partial = ty_arena_printf(arena, "%s.partial", path);
    store->ordered = ty_arena_printf(arena, "%s.partial.ordered", path);
    free(real);
    return store->path == NULL || store->partial == NULL || store->ordered == NULL
               ? ty_fail_memory(err)
               : 0;
}

static bool is_still_named(const struct ty_sweep_store *store)
{
    struct stat open, named;
    return fstat(store->fd, &open) == 0 && stat(store->partial, &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/* Opens PATH.partial for this sweep alone. A file system without locks has none. */
static int open_partial(struct ty_sweep_store *store, struct ty_err *err)
{
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        store->fd = open(store->partial, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        if (store->fd < 0) {
            break;
        }
        if (flock(store->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            return ty_fail(err, TY_EIO,
                           "%s: another sweep writes it; wait for it, or name another output",
                           store->partial);
        }
        if (is_still_named(store)) { /* and not what a sweep that has just ended removed */
            return 0;
        }
        (void)close(store->fd);
        store->fd = -1;
        errno = EBUSY;
    }
    return ty_fail_write(err, store->partial, errno);
}

static int64_t size_of(const struct ty_sweep_store *store)
{
    struct stat st;
    return fstat(store->fd, &st) == 0 ? (int64_t)st.st_size : -1;
}

/* ---- what an earlier sweep left ---- */

struct record {
    uint32_t row;
    const char *line; /* of the table */
    size_t n;         /* bytes of it */
};

static uint32_t check_of(uint32_t row, const char *line, size_t n)
{
    return (uint32_t)crc32_z(row + 1, (const Bytef *)line, n);
}

/* The record that begins at `at`; false: what is there is none, or not whole. */
static bool read_record(const char *at, const char *end, struct record *r)
{
    char *p;
    const unsigned long row = strtoul(at, &p, 10);
    if (*p != ',' || row == 0 || row > UINT32_MAX) {
        return false;
    }
    r->row = (uint32_t)row - 1;
    r->n = strtoul(p + 1, &p, 10);
    if (*p != ',') {
        return false;
    }
    const unsigned long check = strtoul(p + 1, &p, 16);
    r->line = p + 1;
    return *p == ',' && r->n > 0 && r->n <= (size_t)(end - r->line) && r->line[r->n - 1] == '\n' &&
           memchr(r->line, '\0', r->n) == NULL && check == check_of(r->row, r->line, r->n);
}

/* Takes the line of a record over, if it is one of this sweep. */
static int keep_record(struct ty_sweep_store *store, const struct record *r, ty_sweep_look *look,
                       void *arg, struct ty_err *err)
{
    if (r->row < store->n_rows && store->line[r->row] != NULL) {
        return 0;
    }
    char *line = strndup(r->line, r->n);
    if (line == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = r->row < store->n_rows ? look(arg, r->row, line) : TY_EINPUT;
    if (rc == 0) {
        store->line[r->row] = line;
        return 0;
    }
    free(line);
    return rc == TY_ENOMEM
               ? ty_fail_memory(err)
               : ty_fail(err, TY_EINPUT,
                         "%s: its row %" PRIu32 " is not that of this sweep; remove it to "
                         "start anew",
                         store->partial, r->row + 1);
}

/* Whether a first line could have been ours, before it was cut or overwritten with zeros. */
static bool began_right(const char *head, const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && head[i] != '\0' && (text[i] == head[i] || text[i] == '\0')) {
        i++;
    }
    return i == len || head[i] == '\0';
}

/* Keeps the records before the first broken one. Refuses a text that was not written for this
 * table: its figures would stand in wrong rows. */
static int keep(struct ty_sweep_store *store, const char *text, size_t len, ty_sweep_look *look,
                void *arg, struct ty_err *err)
{
    const size_t n = strlen(store->head);
    struct record r;
    if (!began_right(store->head, text, len)) {
        return ty_fail(err, TY_EINPUT,
                       "%s: its columns are not those of this sweep; remove it to start anew",
                       store->partial);
    }
    const char *at = text, *end = text + len;
    if (len >= n && memcmp(text, store->head, n) == 0) {
        at += n;
        while (read_record(at, end, &r)) {
            const int rc = keep_record(store, &r, look, arg, err);
            if (rc < 0) {
                return rc;
            }
            at = r.line + r.n;
        }
    }
    store->end = at - text;
    store->broken_B = (size_t)(end - at);
    return 0;
}

static int read_partial(struct ty_sweep_store *store, ty_sweep_look *look, void *arg,
                        struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const char *text = "";
    size_t len = 0;
    int rc = ty_file_read(&arena, store->partial, MAX_BYTES, &text, &len, err);
    if (rc == 0 && size_of(store) != (int64_t)len) {
        rc = ty_fail(err, TY_EINPUT, "%s: not what a sweep wrote; remove it to start anew",
                     store->partial);
    }
    if (rc == 0) {
        rc = keep(store, text, len, look, arg, err);
    }
    ty_arena_release(&arena);
    return rc;
}

int ty_sweep_store_open(struct ty_sweep_store *store, const char *output, uint32_t n_rows,
                        const char *header, struct ty_arena *arena, struct ty_err *err)
{
    *store = (struct ty_sweep_store){.n_rows = n_rows, .header = header, .fd = -1};
    store->line = ty_arena_array(arena, char *, (size_t)n_rows + 1);
    store->head = ty_arena_printf(arena, "row,bytes,crc32,%s", header);
    if (store->line == NULL || store->head == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = find_target(store, output, arena, err);
    return rc < 0 || store->partial == NULL ? rc : open_partial(store, err);
}

int ty_sweep_store_begin(struct ty_sweep_store *store, ty_sweep_look *look, void *arg,
                         struct ty_err *err)
{
    const char *begins = store->partial != NULL ? store->head : store->header;
    const int64_t n = (int64_t)strlen(begins);
    if (store->partial != NULL && look == NULL && size_of(store) > n) {
        return ty_fail(err, TY_EIO,
                       "%s: rows that an earlier sweep finished; --resume goes on from there, or "
                       "remove it to start anew",
                       store->partial);
    }
    if (store->partial != NULL && look != NULL) {
        const int rc = read_partial(store, look, arg, err);
        if (rc < 0) {
            return rc;
        }
    }
    if (store->partial != NULL && ftruncate(store->fd, (off_t)store->end) != 0) {
        return ty_fail_write(err, store->partial, errno);
    }
    if (store->end == 0) {
        store->error = ty_fd_write(store->fd, begins, (size_t)n, NULL);
        store->end = n;
    }
    return store->error != 0 ? ty_sweep_store_fail(store, err) : 0;
}

/* ---- rows ---- */

/* At the end of PATH.partial; what went wrong leaves it as it was. */
static void add_record(struct ty_sweep_store *store, uint32_t row, const char *line)
{
    struct ty_text record = {.data = NULL};
    const size_t n = strlen(line);
    ty_text_add(&record, "%" PRIu32 ",%zu,%08" PRIx32 ",", row + 1, n, check_of(row, line, n));
    ty_text_bytes(&record, line, n);
    const int error =
        record.failed ? ENOMEM : ty_fd_write(store->fd, record.data, record.len, NULL);
    if (error == 0) {
        store->end += (int64_t)record.len;
    } else if (store->error == 0) {
        store->error = error;
        (void)ftruncate(store->fd, (off_t)store->end);
    }
    ty_text_release(&record);
}

/* Every finished row that has none unfinished before it. */
static void write_in_order(struct ty_sweep_store *store)
{
    while (store->next < store->n_rows && store->line[store->next] != NULL) {
        char *line = store->line[store->next];
        if (store->error == 0) {
            store->error = ty_fd_write(store->fd, line, strlen(line), NULL);
        }
        free(line);
        store->line[store->next++] = NULL;
    }
}

bool ty_sweep_store_add(struct ty_sweep_store *store, uint32_t row, char *line)
{
    store->line[row] = line;
    if (store->partial != NULL) {
        add_record(store, row, line);
    } else {
        write_in_order(store);
    }
    return store->error == 0;
}

/* ---- the table in order ---- */

/* Header and rows to an empty file, and the file to the disk. 0 or an errno. */
static int write_ordered(const struct ty_sweep_store *store, int to)
{
    int error = ty_fd_write(to, store->header, strlen(store->header), NULL);
    for (uint32_t row = 0; row < store->n_rows && error == 0; row++) {
        error = ty_fd_write(to, store->line[row], strlen(store->line[row]), NULL);
    }
    /* what cannot be synchronised (EINVAL, a special file system) is as safe as it gets */
    return error != 0 || fsync(to) == 0 || errno == EINVAL ? error : errno;
}

static int order(struct ty_sweep_store *store)
{
    const int to = open(store->ordered, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = to < 0 ? errno : write_ordered(store, to);
    if (to >= 0 && close(to) != 0 && error == 0) {
        error = errno;
    }
    if (error == 0 && rename(store->ordered, store->path) != 0) {
        error = errno;
    }
    if (error != 0 && to >= 0) {
        (void)unlink(store->ordered);
    }
    return error;
}

int ty_sweep_store_finish(struct ty_sweep_store *store, struct ty_err *err)
{
    if (store->partial != NULL && store->error == 0) {
        sigset_t all, before;
        sigfillset(&all); /* Ctrl-C waits until the table has its name */
        pthread_sigmask(SIG_SETMASK, &all, &before);
        store->error = order(store);
        if (store->error == 0) {
            (void)unlink(store->partial); /* the table is there; a --resume would find all rows */
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    } else if (store->error == 0 && store->fd != STDOUT_FILENO) {
        store->error = close(store->fd) != 0 ? errno : 0;
        store->fd = -1;
    }
    return store->error == 0 ? 0 : ty_sweep_store_fail(store, err);
}

int ty_sweep_store_fail(const struct ty_sweep_store *store, struct ty_err *err)
{
    const char *name = store->path != NULL ? store->path : store->name;
    const int code = ty_fail_write(err, name, store->error);
    ty_sweep_store_hint(store, err);
    return code;
}

void ty_sweep_store_hint(const struct ty_sweep_store *store, struct ty_err *err)
{
    if (store->partial != NULL) {
        ty_hint(err, "the rows that are finished are in %s; --resume goes on from there",
                store->partial);
    }
}

void ty_sweep_store_release(struct ty_sweep_store *store)
{
    for (uint32_t row = 0; store->line != NULL && row < store->n_rows; row++) {
        free(store->line[row]);
    }
    if (store->fd >= 0 && store->fd != STDOUT_FILENO) {
        (void)close(store->fd);
    }
    store->fd = -1;
}
