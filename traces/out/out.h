/* out.h - a buffered file that appears under its name only when it is whole.
 *
 * Writes go to a temporary name next to the target; commit renames, discard removes. A path ending
 * in ".gz" is compressed (gz.c). "-" is standard
 * output; "null:" counts bytes and keeps none. What exists and is no regular file (a pipe,
 * /dev/null) is written to directly, never replaced. The put functions never fail: the first error
 * is kept and reported by commit. */
#ifndef TY_TRACES_OUT_OUT_H
#define TY_TRACES_OUT_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/document/json.h"
#include "traces/out/put.h"

#define TY_OUT_BUFFER (1u << 20)
#define TY_OUT_SLACK  4096u /* every single put of a fixed piece fits in this */

struct ty_gz;

struct ty_out {
    char *buf;                                 /* [TY_OUT_BUFFER + TY_OUT_SLACK] */
    size_t len;                                /* bytes in buf */
    uint64_t total;                            /* bytes handed on, before compression */
    uint64_t stored;                           /* bytes of the finished file */
    int fd;                                    /* -1: none */
    struct ty_gz *gz;                          /* NULL: not compressed */
    int error;                                 /* errno of the first failure */
    char *path, *temporary;                    /* temporary NULL: written to directly */
    bool discard_bytes;                        /* count only */
    double expected;                           /* bytes in all, about; for progress */
    void (*progress)(void *arg, double share); /* told at each flush; NULL: nobody */
    void *progress_arg;
    const volatile int *stop; /* not NULL and not 0: writing ends, with the error EINTR */
};

/* Opens for writing. TY_EIO or TY_ENOMEM with a message that names the path; `out` then needs no
 * release. */
int ty_out_open(struct ty_out *out, const char *path, struct ty_err *err);

/* So many threads to compress it, where it is; 0, as at first: one per core. */
void ty_out_threads(struct ty_out *out, uint32_t threads);

/* Whether ty_out_open would succeed, found by trying where that leaves nothing behind; to be asked
 * before a long run. 0 or TY_EIO with its message. */
int ty_out_check(const char *path, struct ty_err *err);

/* Flushes and closes; the name is still the temporary one, and a commit or a discard has to follow.
 * Frees the buffer: nothing can be put any more. Errors are kept for the commit. */
void ty_out_finish(struct ty_out *out);

/* Flushes, closes and renames; `total` and `stored` stay readable. On failure the temporary file is
 * removed. */
int ty_out_commit(struct ty_out *out, struct ty_err *err);

/* Closes and removes what was written. Safe after commit (does nothing). */
void ty_out_discard(struct ty_out *out);

/* Hands the buffer on. Called when it is full. */
void ty_out_flush(struct ty_out *out);

/* A pointer with room for at least `n` <= TY_OUT_SLACK bytes; advance with ty_out_advance. */
static inline char *ty_out_room(struct ty_out *out, size_t n)
{
    if (TY_UNLIKELY(out->len + n > TY_OUT_BUFFER)) {
        ty_out_flush(out);
    }
    return out->buf + out->len;
}
static inline void ty_out_advance(struct ty_out *out, const char *end)
{
    out->len = (size_t)(end - out->buf);
}

void ty_out_bytes(struct ty_out *out, const char *bytes, size_t n); /* any length */
void ty_out_str(struct ty_out *out, const char *s);
void ty_out_u64(struct ty_out *out, uint64_t x);
void ty_out_printf(struct ty_out *out, const char *format, ...) TY_PRINTF(2, 3);

/* s as a JSON string with quotes. */
void ty_out_json_string(struct ty_out *out, const char *s);

/* A writer of JSON inside an HTML script element: without blanks, and with <, > and & escaped. */
struct ty_json ty_out_html_json(struct ty_out *out);

/* As ty_json_number writes it: what reads back equal; NaN and infinities become null. */
void ty_out_json_number(struct ty_out *out, double x);

#endif
