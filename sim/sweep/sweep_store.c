/* sweep_store.c - see sweep_store.h.
 *
 * PATH.partial has records (sweep_records.h) as rows finish. The table in order is on the disk
 * (fsync) before it takes its name, and PATH.partial goes after that. */
#define _DEFAULT_SOURCE     /* flock */
#define _XOPEN_SOURCE   700 /* ftruncate, realpath */

#include "sim/sweep/sweep_store.h"

#include <dirent.h>
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

#define LOCK_TRIES 100u /* names that changed hands while they were opened */
#define ANEW       "remove it to start anew"

/* ---- opening ---- */

/* The files that a sweep into PATH has. */
static int name_files(struct ty_sweep_store *store, const char *path, struct ty_err *err)
{
    char number[16] = "";
    if (store->is.member > 0) {
        (void)snprintf(number, sizeof(number), ".%" PRIu32, store->is.member);
    }
    store->path = ty_arena_printf(store->arena, "%s", path);
    store->partial = ty_arena_printf(store->arena, "%s.partial%s", path, number);
    store->ordered = ty_arena_printf(store->arena, "%s.partial.ordered", path);
    return store->path == NULL || store->partial == NULL || store->ordered == NULL
               ? ty_fail_memory(err)
               : 0;
}

/* Where rows go: standard output; a file, through links; or something that is no file, as it is. */
static int find_target(struct ty_sweep_store *store, struct ty_err *err)
{
    const char *output = store->is.output;
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
    store->fd = -1;
    const int rc = name_files(store, real != NULL ? real : output, err);
    free(real);
    return rc;
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
                           "%s: another %s writes it; wait for it, or name another output",
                           store->partial, store->is.what);
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

/* Bytes of a file; -1: there is none. */
static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

int ty_sweep_store_open(struct ty_sweep_store *store, const struct ty_sweep_target *target,
                        struct ty_arena *arena, struct ty_err *err)
{
    *store = (struct ty_sweep_store){.is = *target, .arena = arena, .fd = -1};
    store->rows = (struct ty_sweep_records){
        .what = target->what,
        .head = ty_sweep_records_head(target->header, arena),
        .line = ty_arena_array(arena, char *, (size_t)target->n_rows + 1),
        .n_rows = target->n_rows,
    };
    if (store->rows.line == NULL || store->rows.head == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = find_target(store, err);
    return rc < 0 || store->partial == NULL ? rc : open_partial(store, err);
}

/* ---- what was there before ---- */

/* Whether `name` is "BASE.partial" or "BASE.partial.N", and not the one that is this process's. */
static bool is_other(const struct ty_sweep_store *store, const char *base, const char *name)
{
    static const char partial[] = ".partial";
    const size_t n = strlen(base), m = sizeof(partial) - 1;
    if (strncmp(name, base, n) != 0 || strncmp(name + n, partial, m) != 0) {
        return false;
    }
    const char *end = name + n + m;
    if (end[0] == '\0') {
        return store->is.member != 0;
    }
    return end[0] == '.' && end[1] != '\0' && end[1 + strspn(end + 1, "0123456789")] == '\0' &&
           strtoul(end + 1, NULL, 10) != store->is.member;
}

static int add_other(struct ty_sweep_store *store, size_t *room, const char *path,
                     struct ty_err *err)
{
    if (path != NULL && store->n_others == *room) {
        const char **more = ty_arena_array(store->arena, const char *, *room * 2 + 8);
        if (more != NULL && store->n_others > 0) {
            memcpy(more, store->others, store->n_others * sizeof(*more));
        }
        *room = *room * 2 + 8;
        store->others = more;
    }
    if (path == NULL || store->others == NULL) {
        return ty_fail_memory(err);
    }
    store->others[store->n_others++] = path;
    return 0;
}

/* What other processes have or had beside PATH: in the order of the folder, as nothing depends on
 * it. */
static int find_others(struct ty_sweep_store *store, struct ty_err *err)
{
    const char *slash = strrchr(store->path, '/');
    const size_t n = slash == NULL ? 0 : (size_t)(slash - store->path) + 1;
    char *folder = n == 0 ? ty_arena_strndup(store->arena, ".", 1)
                          : ty_arena_strndup(store->arena, store->path, n);
    size_t room = 0;
    int rc = 0;
    store->n_others = 0;
    if (folder == NULL) {
        return ty_fail_memory(err);
    }
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        return ty_fail(err, TY_EIO, "%s: %s", folder, strerror(errno));
    }
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
        if (is_other(store, store->path + n, entry->d_name)) {
            rc = add_other(
                store, &room,
                ty_arena_printf(store->arena, "%.*s%s", (int)n, store->path, entry->d_name), err);
        }
    }
    (void)closedir(dir);
    return rc;
}

static int read_file(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                     const char *path, const char *otherwise, struct ty_sweep_found *found,
                     struct ty_err *err)
{
    const int rc = ty_sweep_records_read(&store->rows, path, earlier->look, earlier->arg, otherwise,
                                         found, err);
    if (rc == 0 && found->sample != UINT32_MAX) {
        store->sample[store->n_samples++] =
            (struct ty_sweep_sample){.path = path, .row = found->sample};
    }
    return rc;
}

static int read_others(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                       struct ty_err *err)
{
    struct ty_sweep_found found;
    int rc = 0;
    for (size_t i = 0; i < store->n_others && rc == 0; i++) {
        rc = read_file(store, earlier, store->others[i], ANEW, &found, err);
    }
    return rc;
}

static int read_partial(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                        struct ty_err *err)
{
    struct ty_sweep_found found;
    const int rc = read_file(store, earlier, store->partial, ANEW, &found, err);
    if (rc == 0 && size_of(store->partial) != (int64_t)found.size) {
        return ty_fail(err, TY_EINPUT, "%s: not what a %s wrote; " ANEW, store->partial,
                       store->is.what);
    }
    store->end = (int64_t)found.whole;
    store->broken_B = found.size - found.whole;
    return rc;
}

static int fail_rows_there(const struct ty_sweep_store *store, const char *path, struct ty_err *err)
{
    return ty_fail(err, TY_EIO,
                   "%s: rows that an earlier %s finished; --resume goes on from there, or "
                   "remove it to start anew",
                   path, store->is.what);
}

/* That there is nothing which a sweep that starts anew would throw away. */
static int demand_no_rows(const struct ty_sweep_store *store, struct ty_err *err)
{
    const int64_t n = (int64_t)strlen(store->rows.head);
    if (size_of(store->partial) > n) {
        return fail_rows_there(store, store->partial, err);
    }
    for (size_t i = 0; i < store->n_others; i++) {
        if (size_of(store->others[i]) > n) {
            return fail_rows_there(store, store->others[i], err);
        }
    }
    return 0;
}

int ty_sweep_store_read(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                        struct ty_err *err)
{
    int rc = store->partial != NULL ? find_others(store, err) : 0;
    if (rc < 0) {
        return rc;
    }
    store->sample = ty_arena_array(store->arena, struct ty_sweep_sample,
                                   store->n_others + earlier->n_merge + 1);
    if (store->sample == NULL) {
        return ty_fail_memory(err);
    }
    if (store->partial != NULL && earlier->resume) {
        rc = read_partial(store, earlier, err);
        rc = rc < 0 ? rc : read_others(store, earlier, err);
    } else if (store->partial != NULL) {
        rc = demand_no_rows(store, err);
    }
    for (size_t i = 0; i < earlier->n_merge && rc == 0; i++) {
        struct ty_sweep_found found;
        const char *otherwise =
            ty_arena_printf(store->arena, "merge the shards of one %s", store->is.what);
        rc = otherwise == NULL
                 ? ty_fail_memory(err)
                 : read_file(store, earlier, earlier->merge[i], otherwise, &found, err);
    }
    return rc;
}

/* Every finished row that has none unfinished before it. */
static void write_in_order(struct ty_sweep_store *store)
{
    while (store->next < store->rows.n_rows && store->rows.line[store->next] != NULL) {
        char *line = store->rows.line[store->next];
        if (store->error == 0) {
            store->error = ty_fd_write(store->fd, line, strlen(line), NULL);
        }
        free(line);
        store->rows.line[store->next++] = NULL;
    }
}

int ty_sweep_store_begin(struct ty_sweep_store *store, struct ty_err *err)
{
    const char *begins = store->partial != NULL ? store->rows.head : store->is.header;
    const size_t n = strlen(begins);
    if (store->partial != NULL && ftruncate(store->fd, (off_t)store->end) != 0) {
        return ty_fail_write(err, store->partial, errno);
    }
    if (store->end == 0) {
        store->error = ty_fd_write(store->fd, begins, n, NULL);
        store->end = (int64_t)n;
    }
    if (store->partial == NULL) {
        write_in_order(store);
    }
    return store->error != 0 ? ty_sweep_store_fail(store, err) : 0;
}

/* ---- rows ---- */

/* At the end of PATH.partial; what went wrong leaves it as it was. */
static void add_record(struct ty_sweep_store *store, uint32_t row, const char *line)
{
    struct ty_text record = {.data = NULL};
    ty_sweep_records_put(&record, row, line);
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

bool ty_sweep_store_add(struct ty_sweep_store *store, uint32_t row, char *line)
{
    store->rows.line[row] = line;
    if (store->partial != NULL) {
        add_record(store, row, line);
    } else {
        write_in_order(store);
    }
    return store->error == 0;
}

/* ---- from one process to another ---- */

int ty_sweep_store_hand_over(struct ty_sweep_store *store, struct ty_err *err)
{
    if (store->error == 0 && fsync(store->fd) != 0 && errno != EINVAL) {
        store->error = errno;
    }
    /* closed, not only written: that is when a network file system shows it to others */
    if (store->error == 0 && close(store->fd) != 0) {
        store->error = errno;
    }
    store->fd = store->error == 0 ? -1 : store->fd;
    return store->error == 0 ? 0 : ty_sweep_store_fail(store, err);
}

int ty_sweep_store_gather(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                          struct ty_err *err)
{
    int rc = find_others(store, err);
    if (rc < 0) {
        return rc;
    }
    store->n_samples = 0;
    store->sample = ty_arena_array(store->arena, struct ty_sweep_sample, store->n_others + 1);
    return store->sample == NULL ? ty_fail_memory(err) : read_others(store, earlier, err);
}

void ty_sweep_store_drop(struct ty_sweep_store *store, uint32_t row)
{
    free(store->rows.line[row]);
    store->rows.line[row] = NULL;
}

/* ---- the table in order ---- */

static int write_text(int to, struct ty_text *text)
{
    const int error = text->failed ? ENOMEM : ty_fd_write(to, text->data, text->len, NULL);
    ty_text_release(text);
    return error;
}

/* Header and rows to an empty file, and the file to the disk. 0 or an errno. */
static int write_ordered(const struct ty_sweep_store *store, int to)
{
    const char *header = store->is.numbered ? store->rows.head : store->is.header;
    int error = ty_fd_write(to, header, strlen(header), NULL);
    for (uint32_t row = 0; row < store->rows.n_rows && error == 0; row++) {
        const char *line = store->rows.line[row];
        struct ty_text record = {.data = NULL};
        if (line != NULL && store->is.numbered) {
            ty_sweep_records_put(&record, row, line);
            error = write_text(to, &record);
        } else if (line != NULL) {
            error = ty_fd_write(to, line, strlen(line), NULL);
        }
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
            for (size_t i = 0; i < store->n_others; i++) {
                (void)unlink(store->others[i]);
            }
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
    ty_sweep_records_release(&store->rows);
    if (store->fd >= 0 && store->partial != NULL && size_of(store->partial) == 0) {
        (void)unlink(store->partial); /* nothing came of it */
    }
    if (store->fd >= 0 && store->fd != STDOUT_FILENO) {
        (void)close(store->fd);
    }
    store->fd = -1;
}
