/* write.c - a trace under its name: one file, or a folder with a file for each rank.
 *
 * Of a folder, all files are written, by several threads, under temporary names before the first
 * gets its own: a full disk leaves what was there. Readers take every file of a folder for a rank
 * of one run, so a file that this run would not replace is refused, not mixed in. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/path.h"
#include "sim/base/pool.h"
#include "traces/out/writer.h"

static int write_file(const struct ty_trace_format *format, const struct ty_trace *trace,
                      const char *path, const volatile int *stop, uint64_t *bytes,
                      struct ty_err *err)
{
    struct ty_out out;
    int rc = ty_out_open(&out, path, err);
    if (rc < 0) {
        return rc;
    }
    out.stop = stop;
    ty_out_threads(&out, trace->threads);
    if (trace->progress != NULL && format->estimate != NULL) {
        out.expected = format->estimate(trace);
        out.progress = trace->progress;
        out.progress_arg = trace->progress_arg;
    }
    rc = format->write(trace, &out, err);
    if (rc == 0) {
        rc = ty_out_commit(&out, err);
        *bytes = out.stored;
    }
    ty_out_discard(&out);
    return rc;
}

/* ---- folders ---- */

struct folder {
    const struct ty_trace_format *format;
    const struct ty_trace *trace;
    const char *path;
    const volatile int *stop;
    bool made;
    struct ty_arena arena;
    char **name;        /* [trace->n_ranks] kept: the trace tells one at a time; NULL: none */
    struct ty_out *out; /* [trace->n_ranks] */
    uint32_t packers;   /* threads that compress a file */
    pthread_t caller;   /* it is told of progress */
    pthread_mutex_t lock;
    /* under it */
    uint32_t n_written;
    uint32_t failed; /* the first rank that did, by its place; n_ranks: none */
    int rc;
    struct ty_err first; /* what is wrong there */
};

/* "rank-12.json", or "rank-12.json.gz" in a folder whose name ends so. */
static void name_file(const struct folder *f, uint32_t rank, char name[64])
{
    snprintf(name, 64, "rank-%u.%s%s", (unsigned)rank, f->format->extension,
             ty_path_ends(f->path, ".gz") ? ".gz" : "");
}

/* Whether this run writes a file of that name. */
static bool is_ours(const struct folder *f, const char *name)
{
    char own[64];
    const char *digits = name + (strncmp(name, "rank-", 5) == 0 ? 5 : 0);
    const unsigned long rank = strtoul(digits, NULL, 10);
    for (uint32_t i = 0; i < f->trace->n_ranks; i++) {
        if (f->trace->ranks[i] == rank) {
            name_file(f, f->trace->ranks[i], own);
            return strcmp(name, own) == 0;
        }
    }
    return false;
}

static int check_strangers(const struct folder *f, struct ty_err *err)
{
    DIR *dir = opendir(f->path);
    int rc = dir == NULL ? ty_fail_write(err, f->path, errno) : 0;
    for (const struct dirent *e = NULL; rc == 0 && (e = readdir(dir)) != NULL;) {
        const bool read = ty_path_ends(e->d_name, ".json") || ty_path_ends(e->d_name, ".gz");
        if (read && !is_ours(f, e->d_name)) {
            rc = ty_fail(err, TY_EIO,
                         "%s: holds %s, which would be read as a rank of this run; remove it, or "
                         "name another folder",
                         f->path, e->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

/* Whether files can be made in it, found by trying. */
static int try_file(const struct folder *f, struct ty_err *err)
{
    const size_t size = strlen(f->path) + 16;
    char *path = malloc(size);
    if (path == NULL) {
        return ty_fail_memory(err);
    }
    snprintf(path, size, "%s/rank.json", f->path);
    const int rc = ty_out_check(path, err);
    free(path);
    return rc;
}

/* Makes it, or looks at what is there. */
static int open_folder(struct folder *f, struct ty_err *err)
{
    struct stat st;
    if (strcmp(f->path, "-") == 0) {
        return ty_fail(err, TY_EUSAGE,
                       "-: standard output is no folder for a file of each rank; name one");
    }
    if (strcmp(f->path, "null:") == 0) {
        return 0;
    }
    if (mkdir(f->path, 0777) == 0) {
        f->made = true;
        return 0;
    }
    if (errno != EEXIST || stat(f->path, &st) != 0) {
        return ty_fail_write(err, f->path, errno);
    }
    if (!S_ISDIR(st.st_mode)) {
        return ty_fail(err, TY_EIO, "%s: a file, not a folder; name a folder", f->path);
    }
    return check_strangers(f, err);
}

static const char *kept_name(void *arg, uint32_t rank)
{
    (void)rank; /* a file is of one */
    return arg;
}

static int write_rank(struct folder *f, uint32_t i, struct ty_err *err)
{
    struct ty_trace one = *f->trace;
    const size_t size = strlen(f->path) + 80;
    char name[64], *path = malloc(size);
    if (path == NULL) {
        return ty_fail_memory(err);
    }
    name_file(f, f->trace->ranks[i], name);
    snprintf(path, size, "%s/%s", f->path, name);
    struct ty_out *out = &f->out[i];
    int rc = ty_out_open(out, strcmp(f->path, "null:") == 0 ? "null:" : path, err);
    free(path);
    if (rc < 0) {
        return rc;
    }
    out->stop = f->stop;
    ty_out_threads(out, f->packers);
    one.ranks = &f->trace->ranks[i];
    one.n_ranks = 1;
    if (f->name[i] != NULL) {
        one.rank_name = kept_name;
        one.arg = f->name[i];
    }
    rc = f->format->write(&one, out, err);
    ty_out_finish(out);
    /* a full disk need not be filled by the others */
    return rc == 0 && out->error != 0 ? ty_out_commit(out, err) : rc;
}

static bool write_piece(void *arg, uint32_t i)
{
    struct folder *f = arg;
    struct ty_err err;
    ty_err_init(&err);
    const int rc = write_rank(f, i, &err);
    pthread_mutex_lock(&f->lock);
    const double share = (double)++f->n_written / f->trace->n_ranks;
    if (rc < 0 && i < f->failed) {
        f->failed = i;
        f->rc = rc;
        f->first = err;
    }
    pthread_mutex_unlock(&f->lock);
    if (f->trace->progress != NULL && pthread_equal(pthread_self(), f->caller)) {
        f->trace->progress(f->trace->progress_arg, share);
    }
    return rc == 0;
}
/* What the pieces need, before the first. */
static int prepare_pieces(struct folder *f)
{
    const struct ty_trace *trace = f->trace;
    const uint32_t n = trace->n_ranks, threads = ty_pool_threads(trace->threads);
    f->packers = n > 0 && threads > n ? threads / n : 1;
    f->failed = n;
    f->caller = pthread_self();
    f->out = ty_arena_array(&f->arena, struct ty_out, n);
    f->name = ty_arena_alloc(&f->arena, n, sizeof(*f->name));
    if (f->out == NULL || f->name == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        f->out[i].fd = -1;
        if (trace->rank_name != NULL) {
            f->name[i] =
                ty_arena_printf(&f->arena, "%s", trace->rank_name(trace->arg, trace->ranks[i]));
            if (f->name[i] == NULL) {
                return TY_ENOMEM;
            }
        }
    }
    return 0;
}

/* All files under temporary names, and then under their own. */
static int write_pieces(struct folder *f, uint64_t *bytes, struct ty_err *err)
{
    const uint32_t n = f->trace->n_ranks;
    pthread_mutex_init(&f->lock, NULL);
    ty_pool_run(0, n, f->trace->threads, write_piece, f);
    pthread_mutex_destroy(&f->lock);
    int rc = f->rc < 0 ? ty_fail(err, f->rc, "%s", f->first.text) : 0;
    *bytes = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = ty_out_commit(&f->out[i], err);
        *bytes += f->out[i].stored;
    }
    for (uint32_t i = 0; i < n; i++) {
        ty_out_discard(&f->out[i]);
    }
    return rc;
}

static int write_folder(struct folder *f, uint64_t *bytes, struct ty_err *err)
{
    int rc = open_folder(f, err);
    if (rc < 0) {
        return rc;
    }
    rc = prepare_pieces(f);
    rc = rc < 0 ? ty_fail_memory(err) : write_pieces(f, bytes, err);
    ty_arena_release(&f->arena);
    if (rc != 0 && f->made) {
        rmdir(f->path); /* fails where it is not empty, rightly */
    }
    return rc;
}

int ty_trace_write_check(const struct ty_trace_format *format, const struct ty_trace *trace,
                         const char *path, struct ty_err *err)
{
    struct folder f = {.format = format, .trace = trace, .path = path};
    if (!format->per_rank) {
        return ty_out_check(path, err);
    }
    int rc = open_folder(&f, err);
    if (rc == 0 && strcmp(path, "null:") != 0) {
        rc = try_file(&f, err);
    }
    if (f.made) {
        rmdir(path);
    }
    return rc;
}

int ty_trace_write(const struct ty_trace_format *format, const struct ty_trace *trace,
                   const char *path, const volatile int *stop, uint64_t *bytes, struct ty_err *err)
{
    struct folder f = {.format = format, .trace = trace, .path = path, .stop = stop};
    return format->per_rank ? write_folder(&f, bytes, err)
                            : write_file(format, trace, path, stop, bytes, err);
}
