/* sweep_store.c - writes the rows of a sweep as they finish, and reads what earlier ones left.
 *
 * PATH.partial and the tables of shards are tables, too: their columns, then a record for each row,
 * in any order:
 *
 *     row,bytes,crc32,layout.tensor,step_time_s,...
 *     2,118,9ae2f30c,4,1.263,...
 *
 * A record is the number of the row, from 1, the length of its line of the table and a check of
 * both. Records are only ever added, each by one write. A kill or a crash of the machine can
 * therefore leave a record that is cut, or blocks of zeros: all records before the first broken one
 * count.
 *
 * The table in order is on the disk (fsync) before it takes its name, and PATH.partial is removed
 * after that. */
#define _DEFAULT_SOURCE     /* flock */
#define _XOPEN_SOURCE   700 /* ftruncate, realpath, strndup */

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

#include <zlib.h>

#include "sim/base/file.h"
#include "sim/base/text.h"

#define LOCK_TRIES 100u /* of a name that another sweep replaces while it is opened */
#define ANEW       "remove it to start again"
#define MAX_BYTES  ((size_t)1 << 30) /* of a file: a million rows take about 200 MB */

/* ---- records ---- */

/* What was in a file. */
struct found {
    size_t size, whole; /* B; of them up to the first broken record */
    uint32_t sample;    /* a row that it brought, with an answer if one has; UINT32_MAX: none */
};

struct record {
    uint32_t row;
    const char *line; /* of the table */
    size_t n;         /* bytes of the line */
};

/* A file that is being read. */
struct reading {
    struct ty_sweep_records *records;
    const char *path, *otherwise;
    ty_sweep_look *look;
    void *arg;
    struct found *found;
    bool any_answer;
};

static uint32_t check_of(uint32_t row, const char *line, size_t n)
{
    return (uint32_t)crc32_z(row + 1, (const Bytef *)line, n);
}

static const char *head_records(const char *header, struct ty_arena *arena)
{
    return ty_arena_printf(arena, "row,bytes,crc32,%s", header);
}

static void put_records(struct ty_text *t, uint32_t row, const char *line)
{
    const size_t n = strlen(line);
    ty_text_add(t, "%" PRIu32 ",%zu,%08" PRIx32 ",", row + 1, n, check_of(row, line, n));
    ty_text_bytes(t, line, n);
}

/* Reads the record that begins at `at`. Returns false if there is no whole one. */
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

static int fail_foreign(const struct reading *of, uint32_t row, struct ty_err *err)
{
    return ty_fail(err, TY_EINPUT, "%s: its row %" PRIu32 " is not that of this %s; %s", of->path,
                   row + 1, of->records->what, of->otherwise);
}

/* Keeps the line of a record that belongs to this sweep. */
static int keep_record(struct reading *of, const struct record *r, struct ty_err *err)
{
    struct ty_sweep_records *records = of->records;
    const char *there = r->row < records->n_rows ? records->line[r->row] : NULL;
    if (there != NULL) {
        const bool same = strlen(there) == r->n && memcmp(there, r->line, r->n) == 0;
        return same ? 0
                    : ty_fail(err, TY_EINPUT, "%s: its row %" PRIu32 " differs from one before; %s",
                              of->path, r->row + 1, of->otherwise);
    }
    char *line = strndup(r->line, r->n);
    if (line == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = r->row < records->n_rows ? of->look(of->arg, r->row, line) : TY_EINPUT;
    if (rc < 0) {
        free(line);
        return rc == TY_ENOMEM ? ty_fail_memory(err) : fail_foreign(of, r->row, err);
    }
    records->line[r->row] = line;
    if (rc > 0 || !of->any_answer) { /* a row with times checks more than one that failed */
        of->found->sample = r->row;
        of->any_answer = rc > 0;
    }
    return 0;
}

/* Returns whether a first line may be the head of such a file, cut or overwritten with zeros. */
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
static int keep(struct reading *of, const char *text, size_t len, struct ty_err *err)
{
    const char *head = of->records->head;
    const size_t n = strlen(head);
    struct record r;
    if (!began_right(head, text, len)) {
        return ty_fail(err, TY_EINPUT, "%s: its columns are not those of this %s; %s", of->path,
                       of->records->what, of->otherwise);
    }
    const char *at = text, *end = text + len;
    if (len >= n && memcmp(text, head, n) == 0) {
        at += n;
        while (read_record(at, end, &r)) {
            const int rc = keep_record(of, &r, err);
            if (rc < 0) {
                return rc;
            }
            at = r.line + r.n;
        }
    }
    of->found->size = len;
    of->found->whole = (size_t)(at - text);
    return 0;
}

static int read_records(struct ty_sweep_records *records, const char *path, ty_sweep_look *look,
                        void *arg, const char *otherwise, struct found *found, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct reading of = {.records = records,
                         .path = path,
                         .otherwise = otherwise,
                         .look = look,
                         .arg = arg,
                         .found = found};
    const char *text = "";
    size_t len = 0;
    *found = (struct found){.sample = UINT32_MAX};
    int rc = ty_file_read(&arena, path, MAX_BYTES, &text, &len, err);
    if (rc == 0) {
        rc = keep(&of, text, len, err);
    }
    ty_arena_release(&arena);
    return rc;
}

static void release_records(struct ty_sweep_records *records)
{
    for (uint32_t row = 0; records->line != NULL && row < records->n_rows; row++) {
        free(records->line[row]);
    }
}

/* ---- opening ---- */

/* Names the files of a sweep into PATH. */
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

/* Finds where rows go: standard output; a file, through links; or a device or pipe as it is. */
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
    if (there && ty_inputs_have(output)) {
        return ty_fail_overwrites(err, output);
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
        if (is_still_named(store)) { /* another sweep may just have removed it */
            return 0;
        }
        (void)close(store->fd);
        store->fd = -1;
        errno = EBUSY;
    }
    return ty_fail_write(err, store->partial, errno);
}

/* Returns the bytes of a file; -1: there is none. */
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
        .head = head_records(target->header, arena),
        .line = ty_arena_array(arena, char *, (size_t)target->n_rows + 1),
        .n_rows = target->n_rows,
    };
    if (store->rows.line == NULL || store->rows.head == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = find_target(store, err);
    return rc < 0 || store->partial == NULL ? rc : open_partial(store, err);
}

/* ---- rows of earlier sweeps ---- */

/* Returns whether `name` is "BASE.partial" or "BASE.partial.N" of another process. */
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

/* What other processes have or had next to PATH: in the order of the folder, as nothing depends on
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
        return ty_fail(err, ty_code_of_errno(errno), "%s: cannot be opened (%s)", folder,
                       ty_errno_text(errno));
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
                     const char *path, const char *otherwise, struct found *found,
                     struct ty_err *err)
{
    const int rc =
        read_records(&store->rows, path, earlier->look, earlier->arg, otherwise, found, err);
    if (rc == 0 && found->sample != UINT32_MAX) {
        store->sample[store->n_samples++] =
            (struct ty_sweep_sample){.path = path, .row = found->sample};
    }
    return rc;
}

static int read_others(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                       struct ty_err *err)
{
    struct found found;
    int rc = 0;
    for (size_t i = 0; i < store->n_others && rc == 0; i++) {
        rc = read_file(store, earlier, store->others[i], ANEW, &found, err);
    }
    return rc;
}

static int read_partial(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                        struct ty_err *err)
{
    struct found found;
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
                   "%s: rows that an earlier %s finished; --resume continues there, or remove it "
                   "to start again",
                   path, store->is.what);
}

/* Checks that a sweep that starts anew would discard no rows. */
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
        struct found found;
        const char *otherwise =
            ty_arena_printf(store->arena, "merge the shards of one %s", store->is.what);
        rc = otherwise == NULL
                 ? ty_fail_memory(err)
                 : read_file(store, earlier, earlier->merge[i], otherwise, &found, err);
    }
    return rc;
}

/* Writes every finished row that has none unfinished before it. */
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
        store->end = store->error == 0 ? (int64_t)n : 0;
    }
    if (store->partial != NULL && store->error != 0) {
        (void)ftruncate(store->fd, (off_t)store->end);
    }
    if (store->partial == NULL) {
        write_in_order(store);
    }
    return store->error != 0 ? ty_sweep_store_fail(store, err) : 0;
}

/* ---- rows ---- */

/* Appends to PATH.partial. A failed write leaves the file as it was. */
static void add_record(struct ty_sweep_store *store, uint32_t row, const char *line)
{
    struct ty_text record = {.data = NULL};
    put_records(&record, row, line);
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
    /* a network file system shows a file to others once it is closed */
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

/* Writes header and rows to an empty file, and the file to the disk. Returns 0 or an errno. */
static int write_ordered(const struct ty_sweep_store *store, int to)
{
    const char *header = store->is.numbered ? store->rows.head : store->is.header;
    int error = ty_fd_write(to, header, strlen(header), NULL);
    for (uint32_t row = 0; row < store->rows.n_rows && error == 0; row++) {
        const char *line = store->rows.line[row];
        struct ty_text record = {.data = NULL};
        if (line != NULL && store->is.numbered) {
            put_records(&record, row, line);
            error = write_text(to, &record);
        } else if (line != NULL) {
            error = ty_fd_write(to, line, strlen(line), NULL);
        }
    }
    /* a special file system may not support this (EINVAL) */
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
    if (store->partial != NULL && size_of(store->partial) > 0) {
        ty_hint(err, "the rows that are finished are in %s; --resume continues there",
                store->partial);
    }
}

void ty_sweep_store_release(struct ty_sweep_store *store)
{
    release_records(&store->rows);
    if (store->fd >= 0 && store->partial != NULL && size_of(store->partial) == 0) {
        (void)unlink(store->partial); /* it has no rows */
    }
    if (store->fd >= 0 && store->fd != STDOUT_FILENO) {
        (void)close(store->fd);
    }
    store->fd = -1;
}
