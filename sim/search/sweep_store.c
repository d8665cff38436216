/* sweep_store.c - see sweep_store.h.
 *
 * PATH.partial is a table too: the columns of PATH behind one with the number of the row, from 1.
 * It is only ever added to, so what a kill or a crash of the machine can leave is a last line that
 * is cut, or blocks of zeros: lines that make no sense are passed over, and their rows simulated
 * again. The table in order is on the disk (fsync) before it takes its name, and PATH.partial goes
 * after that. */
#define _DEFAULT_SOURCE     /* flock */
#define _XOPEN_SOURCE   700 /* ftruncate, pread, realpath */

#include "sim/search/sweep_store.h"

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

#include "sim/base/file.h"
#include "sim/document/yaml.h"

#define MAX_BYTES  ((size_t)1 << 30) /* of PATH.partial: a million rows have some 200 MB */
#define BLOCK      ((size_t)1 << 16)
#define LOCK_TRIES 100u /* names that changed hands while they were opened */

static const char number[] = "row,"; /* the column in front */

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
        store->fd = open(store->partial, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
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

/* ---- what an earlier sweep left ---- */

/* Where the line that begins at from ends, one past its newline; 0 when it is not whole. */
static size_t line_end(const char *text, size_t len, size_t from)
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

/* "12,": the number of a row that there is, and its length; 0: it is none. */
static size_t read_number(const char *text, size_t len, uint32_t *row)
{
    uint64_t x = 0;
    size_t n = 0;
    while (n < len && n < 10 && text[n] >= '0' && text[n] <= '9') {
        x = 10 * x + (uint64_t)(text[n++] - '0');
    }
    *row = (uint32_t)(x - 1);
    return n > 0 && n < len && text[n] == ',' && x > 0 && x <= UINT32_MAX ? n + 1 : 0;
}

/* Whether it begins as PATH.partial of this table does; *len: of that line. */
static bool begins_right(const struct ty_sweep_store *store, const char *text, size_t end)
{
    const size_t n = strlen(number), rest = strlen(store->header);
    return end == n + rest && memcmp(text, number, n) == 0 &&
           memcmp(text + n, store->header, rest) == 0;
}

static enum ty_sweep_kept keep_line(struct ty_sweep_store *store, const char *text, size_t from,
                                    size_t end, ty_sweep_look *look, void *arg)
{
    uint32_t row;
    const size_t n = read_number(text + from, end - from, &row);
    if (n == 0 || end - from > INT32_MAX) {
        return TY_SWEEP_DAMAGED;
    }
    if (row >= store->n_rows) {
        return TY_SWEEP_FOREIGN;
    }
    if (store->line[row].len > 0) {
        return TY_SWEEP_KEPT;
    }
    const enum ty_sweep_kept kept = look(arg, row, text + from + n, end - from - n);
    if (kept == TY_SWEEP_KEPT) {
        store->line[row] =
            (struct ty_sweep_line){.at = (int64_t)(from + n), .len = (uint32_t)(end - from - n)};
    }
    return kept;
}

/* Finds the whole lines. Refuses a text that was not written for this table: its figures would
 * stand in wrong rows. */
static int keep(struct ty_sweep_store *store, const char *text, size_t len, ty_sweep_look *look,
                void *arg, struct ty_err *err)
{
    size_t end = line_end(text, len, 0), next;
    if (end > 0 && !begins_right(store, text, end) && memchr(text, '\0', end) == NULL) {
        return ty_fail(err, TY_EINPUT,
                       "%s: its columns are not those of this sweep; remove it to start anew",
                       store->partial);
    }
    if (end == 0 || !begins_right(store, text, end)) { /* not even the first line is whole */
        store->n_damaged += end > 0;
        return 0;
    }
    for (uint32_t n = 1; (next = line_end(text, len, end)) != 0; end = next, n++) {
        const enum ty_sweep_kept kept = keep_line(store, text, end, next, look, arg);
        store->n_damaged += kept == TY_SWEEP_DAMAGED;
        if (kept == TY_SWEEP_NO_MEMORY) {
            return ty_fail_memory(err);
        }
        if (kept == TY_SWEEP_FOREIGN) {
            return ty_fail(err, TY_EINPUT,
                           "%s: its row %" PRIu32 " is not that of this sweep; remove it to "
                           "start anew",
                           store->partial, n);
        }
    }
    store->end = (int64_t)end;
    return 0;
}

static int read_partial(struct ty_sweep_store *store, ty_sweep_look *look, void *arg,
                        struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct stat st;
    const char *text = "";
    size_t len = 0;
    int rc = ty_file_read(&arena, store->partial, MAX_BYTES, &text, &len, err);
    if (rc == 0 && (fstat(store->fd, &st) != 0 || (uint64_t)st.st_size != len)) {
        rc = ty_fail(err, TY_EINPUT, "%s: not what a sweep wrote; remove it to start anew",
                     store->partial);
    }
    rc = rc < 0 ? rc : keep(store, text, len, look, arg, err);
    ty_arena_release(&arena);
    return rc;
}

/* Cuts PATH.partial behind the last whole line, and sees that it begins with one. */
static int begin_partial(struct ty_sweep_store *store, struct ty_err *err)
{
    if (ftruncate(store->fd, (off_t)store->end) != 0 ||
        lseek(store->fd, (off_t)store->end, SEEK_SET) == (off_t)-1) {
        return ty_fail_write(err, store->partial, errno);
    }
    if (store->end == 0) {
        store->error = ty_fd_write(store->fd, number, strlen(number), NULL);
        store->error = store->error != 0
                           ? store->error
                           : ty_fd_write(store->fd, store->header, strlen(store->header), NULL);
        store->end = (int64_t)(strlen(number) + strlen(store->header));
    }
    return store->error != 0 ? ty_sweep_store_fail(store, err) : 0;
}

/* Whether an earlier sweep left more than the line of columns. */
static bool has_rows(const struct ty_sweep_store *store)
{
    struct stat st;
    return fstat(store->fd, &st) == 0 &&
           (uint64_t)st.st_size > strlen(number) + strlen(store->header);
}

int ty_sweep_store_open(struct ty_sweep_store *store, const char *output, uint32_t n_rows,
                        const char *header, struct ty_arena *arena, struct ty_err *err)
{
    *store = (struct ty_sweep_store){.n_rows = n_rows, .header = header, .fd = -1};
    store->line = ty_arena_array(arena, struct ty_sweep_line, (size_t)n_rows + 1);
    const int rc =
        store->line != NULL ? find_target(store, output, arena, err) : ty_fail_memory(err);
    return rc < 0 || store->partial == NULL ? rc : open_partial(store, err);
}

int ty_sweep_store_begin(struct ty_sweep_store *store, ty_sweep_look *look, void *arg,
                         struct ty_err *err)
{
    if (store->partial == NULL) {
        store->error = ty_fd_write(store->fd, store->header, strlen(store->header), NULL);
        return store->error != 0 ? ty_sweep_store_fail(store, err) : 0;
    }
    if (look == NULL && has_rows(store)) {
        return ty_fail(err, TY_EIO,
                       "%s: rows that an earlier sweep finished; --resume goes on from there, or "
                       "remove it to start anew",
                       store->partial);
    }
    const int rc = look == NULL ? 0 : read_partial(store, look, arg, err);
    return rc < 0 ? rc : begin_partial(store, err);
}

/* ---- rows ---- */

bool ty_sweep_store_has(const struct ty_sweep_store *store, uint32_t row)
{
    return store->line[row].len > 0;
}

static int write_numbered(const struct ty_sweep_store *store, uint32_t row, const char *text,
                          size_t n)
{
    char front[16];
    const int k = snprintf(front, sizeof(front), "%" PRIu32 ",", row + 1);
    const int error = ty_fd_write(store->fd, front, (size_t)k, NULL);
    return error != 0 ? error : ty_fd_write(store->fd, text, n, NULL);
}

/* At the end of PATH.partial; what went wrong leaves it as it was. */
static void add_numbered(struct ty_sweep_store *store, uint32_t row, const char *text)
{
    const size_t n = strlen(text);
    const int error = write_numbered(store, row, text, n);
    const off_t end = error == 0 ? lseek(store->fd, 0, SEEK_CUR) : (off_t)-1;
    if (error == 0 && end != (off_t)-1) {
        store->line[row] =
            (struct ty_sweep_line){.at = (int64_t)end - (int64_t)n, .len = (uint32_t)n};
        store->end = (int64_t)end;
        return;
    }
    store->error = store->error != 0 ? store->error : error != 0 ? error : errno;
    if (ftruncate(store->fd, (off_t)store->end) == 0) {
        (void)lseek(store->fd, (off_t)store->end, SEEK_SET);
    }
}

/* Every finished row that has none unfinished before it. */
static void write_in_order(struct ty_sweep_store *store)
{
    while (store->next < store->n_rows && store->line[store->next].text != NULL) {
        char *text = store->line[store->next].text;
        if (store->error == 0) {
            store->error = ty_fd_write(store->fd, text, strlen(text), NULL);
        }
        free(text);
        store->line[store->next++].text = NULL;
    }
}

bool ty_sweep_store_add(struct ty_sweep_store *store, uint32_t row, char *text)
{
    if (store->partial != NULL) {
        add_numbered(store, row, text);
        free(text);
    } else {
        store->line[row].text = text;
        write_in_order(store);
    }
    return store->error == 0;
}

/* ---- the table in order ---- */

/* All of it, or an errno. */
static int read_at(int fd, char *bytes, size_t n, int64_t at)
{
    while (n > 0) {
        const ssize_t got = pread(fd, bytes, n, (off_t)at);
        if (got <= 0 && (got == 0 || errno != EINTR)) {
            return got == 0 ? EIO : errno;
        }
        if (got > 0) {
            bytes += got;
            at += got;
            n -= (size_t)got;
        }
    }
    return 0;
}

int ty_sweep_store_equals(const struct ty_sweep_store *store, uint32_t row, const char *line,
                          bool *same, struct ty_err *err)
{
    const struct ty_sweep_line *kept = &store->line[row];
    char block[4096]; /* no allocation: short memory is not another row */
    *same = kept->len == strlen(line);
    for (uint32_t done = 0; done < kept->len && *same;) {
        const size_t left = kept->len - done, n = left < sizeof(block) ? left : sizeof(block);
        const int error = read_at(store->fd, block, n, kept->at + done);
        if (error != 0) {
            return ty_fail(err, TY_EIO, "%s: cannot be read (%s)", store->partial,
                           ty_errno_text(error));
        }
        *same = memcmp(block, line + done, n) == 0;
        done += (uint32_t)n;
    }
    return 0;
}

struct copy {
    const struct ty_sweep_store *store;
    int to;
    char block[BLOCK];
    size_t n;
};

static int flush_copy(struct copy *c)
{
    const int error = ty_fd_write(c->to, c->block, c->n, NULL);
    c->n = 0;
    return error;
}

static int copy_line(struct copy *c, const struct ty_sweep_line *line)
{
    int error = 0;
    for (uint32_t done = 0; done < line->len && error == 0;) {
        const size_t left = line->len - done, room = BLOCK - c->n, n = left < room ? left : room;
        error = read_at(c->store->fd, c->block + c->n, n, line->at + done);
        c->n += error == 0 ? n : 0;
        done += (uint32_t)n;
        error = error == 0 && c->n == BLOCK ? flush_copy(c) : error;
    }
    return error;
}

/* Header and rows to an empty file, and the file to the disk. 0 or an errno. */
static int write_ordered(const struct ty_sweep_store *store, int to)
{
    struct copy c = {.store = store, .to = to};
    int error = ty_fd_write(to, store->header, strlen(store->header), NULL);
    for (uint32_t row = 0; row < store->n_rows && error == 0; row++) {
        error = copy_line(&c, &store->line[row]);
    }
    error = error != 0 ? error : flush_copy(&c);
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
        free(store->line[row].text);
    }
    if (store->fd >= 0 && store->fd != STDOUT_FILENO) {
        (void)close(store->fd);
    }
    store->fd = -1;
}
