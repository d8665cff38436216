/* out.c - a buffered file that appears under its name only when it is whole. */
#define _XOPEN_SOURCE 700 /* realpath */

#include "traces/out/out.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/file.h"
#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "traces/out/gz.h"

const char ty_digit_pairs[201] = "0001020304050607080910111213141516171819"
                                 "2021222324252627282930313233343536373839"
                                 "4041424344454647484950515253545556575859"
                                 "6061626364656667686970717273747576777879"
                                 "8081828384858687888990919293949596979899";

#define AN_INPUT        (-1) /* no errno */
#define TEMPORARY_TRIES 100u /* names tried next to the target; more means something is wrong */

/* ---- opening ---- */

static char *copy(const char *s)
{
    const size_t n = strlen(s) + 1;
    char *c = malloc(n);
    if (c != NULL) {
        memcpy(c, s, n);
    }
    return c;
}

/* Opens a new file next to the target, readable like any file the user creates. 0 or an errno. */
static int open_temporary(struct ty_out *out)
{
    const size_t size = strlen(out->path) + 48;
    out->temporary = malloc(size);
    if (out->temporary == NULL) {
        return ENOMEM;
    }
    for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
        snprintf(out->temporary, size, "%s.part-%ld-%u", out->path, (long)getpid(), i);
        out->fd = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (out->fd >= 0) {
            return 0;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    const int error = errno;
    free(out->temporary);
    out->temporary = NULL;
    return error;
}

/* Forgets an open file that was not meant to stay. */
static void remove_temporary(struct ty_out *out)
{
    assert(out->temporary != NULL);
    close(out->fd);
    unlink(out->temporary);
}

/* Opens the target by what is there now: nothing or a file (replaced at the end, through links), or
 * something else (written to as it is). 0 or an errno. */
static int open_target(struct ty_out *out, const char *path)
{
    struct stat st;
    const bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        return EISDIR;
    }
    if (exists && ty_inputs_have(path)) {
        return AN_INPUT;
    }
    if (exists && !S_ISREG(st.st_mode)) {
        out->path = copy(path);
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? errno : 0;
    }
    out->path = exists ? realpath(path, NULL) : copy(path);
    return out->path == NULL ? errno : open_temporary(out);
}

static int fail(struct ty_err *err, const char *path, int error)
{
    return error == AN_INPUT ? ty_fail_overwrites(err, path) : ty_fail_write(err, path, error);
}

static void release(struct ty_out *out)
{
    ty_gz_free(out->gz);
    free(out->buf);
    free(out->path);
    free(out->temporary);
    *out = (struct ty_out){.fd = -1, .total = out->total, .stored = out->stored};
}

int ty_out_open(struct ty_out *out, const char *path, struct ty_err *err)
{
    *out = (struct ty_out){.fd = -1};
    int error = 0;
    if (strcmp(path, "null:") == 0) {
        out->discard_bytes = true;
    } else if (strcmp(path, "-") == 0) {
        out->fd = STDOUT_FILENO;
    } else {
        error = open_target(out, path);
    }
    if (error != 0) {
        release(out);
        return fail(err, path, error);
    }
    out->buf = malloc(TY_OUT_BUFFER + TY_OUT_SLACK);
    const bool compressed = ty_path_ends(path, ".gz");
    out->gz = compressed ? ty_gz_new() : NULL;
    if (out->buf == NULL || (compressed && out->gz == NULL)) {
        ty_out_discard(out);
        return ty_fail_memory(err);
    }
    return 0;
}

void ty_out_threads(struct ty_out *out, uint32_t threads)
{
    if (out->gz != NULL) {
        ty_gz_threads(out->gz, threads);
    }
}

int ty_out_check(const char *path, struct ty_err *err)
{
    struct ty_out out = {.fd = -1};
    struct stat st;
    int error = 0;
    if (strcmp(path, "null:") == 0 || strcmp(path, "-") == 0) {
        return 0;
    }
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        error = access(path, W_OK) == 0 ? 0 : errno; /* opening a pipe would wait for its reader */
    } else {
        error = open_target(&out, path);
    }
    if (out.fd >= 0) {
        remove_temporary(&out);
    }
    out.fd = -1;
    release(&out);
    return error == 0 ? 0 : fail(err, path, error);
}

/* ---- closing ---- */

void ty_out_flush(struct ty_out *out)
{
    if (out->stop != NULL && *out->stop != 0 && out->error == 0) {
        out->error = EINTR;
    }
    out->total += out->len;
    if (out->len > 0 && out->error == 0 && !out->discard_bytes) {
        out->error = out->gz != NULL ? ty_gz_write(out->gz, out->fd, out->buf, out->len, out->stop)
                                     : ty_fd_write(out->fd, out->buf, out->len, out->stop);
    }
    out->len = 0;
    if (out->progress != NULL && out->expected > 0) {
        out->progress(out->progress_arg, (double)out->total / out->expected);
    }
}

static void close_file(struct ty_out *out)
{
    if (out->fd >= 0 && out->fd != STDOUT_FILENO && close(out->fd) != 0 && out->error == 0) {
        out->error = errno;
    }
    out->fd = -1;
}

void ty_out_finish(struct ty_out *out)
{
    if (out->buf == NULL) {
        return; /* another thread has done it */
    }
    ty_out_flush(out);
    if (out->gz != NULL && out->error == 0) {
        out->error = ty_gz_write(out->gz, out->fd, NULL, 0, out->stop);
    }
    close_file(out);
    out->stored = out->gz != NULL ? ty_gz_stored(out->gz) : out->total;
    ty_gz_free(out->gz);
    free(out->buf);
    out->gz = NULL;
    out->buf = NULL;
}

int ty_out_commit(struct ty_out *out, struct ty_err *err)
{
    ty_out_finish(out);
    if (out->temporary != NULL && out->error == 0 &&
        ty_file_rename(out->temporary, out->path) != 0) {
        out->error = errno;
    }
    int rc = 0;
    if (out->error != 0) {
        rc = ty_fail_write(err, out->path != NULL ? out->path : "standard output", out->error);
        if (out->temporary != NULL) {
            unlink(out->temporary);
        }
    }
    release(out);
    return rc;
}

void ty_out_discard(struct ty_out *out)
{
    close_file(out);
    if (out->temporary != NULL) {
        unlink(out->temporary);
    }
    release(out);
}

/* ---- putting ---- */

void ty_out_bytes(struct ty_out *out, const char *bytes, size_t n)
{
    while (n > 0) {
        char *p = ty_out_room(out, TY_OUT_SLACK);
        const size_t room = TY_OUT_BUFFER + TY_OUT_SLACK - out->len, part = n < room ? n : room;
        memcpy(p, bytes, part);
        out->len += part;
        bytes += part;
        n -= part;
    }
}

void ty_out_str(struct ty_out *out, const char *s)
{
    ty_out_bytes(out, s, strlen(s));
}

void ty_out_u64(struct ty_out *out, uint64_t x)
{
    ty_out_advance(out, ty_put_u64(ty_out_room(out, 20), x));
}

void ty_out_printf(struct ty_out *out, const char *format, ...)
{
    char *p = ty_out_room(out, TY_OUT_SLACK);
    va_list args;
    va_start(args, format);
    const int n = ty_vsnprintf(p, TY_OUT_SLACK, format, args);
    va_end(args);
    if (n >= 0 && (size_t)n < TY_OUT_SLACK) {
        out->len += (size_t)n;
        return;
    }
    char *whole = n < 0 ? NULL : malloc((size_t)n + 1);
    if (whole == NULL) {
        out->error = out->error != 0 ? out->error : n < 0 ? EINVAL : ENOMEM;
        return;
    }
    va_start(args, format);
    ty_vsnprintf(whole, (size_t)n + 1, format, args);
    va_end(args);
    ty_out_bytes(out, whole, (size_t)n);
    free(whole);
}

static void put_bytes(void *out, const char *bytes, size_t n)
{
    ty_out_bytes(out, bytes, n);
}

void ty_out_json_string(struct ty_out *out, const char *s)
{
    ty_json_string(put_bytes, out, s, "");
}

struct ty_json ty_out_html_json(struct ty_out *out)
{
    return (struct ty_json){.put = put_bytes, .to = out, .also = "<>&", .tight = true};
}

void ty_out_json_number(struct ty_out *out, double x)
{
    char text[TY_JSON_NUMBER];
    ty_out_str(out, ty_json_number(x, text));
}
