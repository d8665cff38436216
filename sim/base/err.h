/* err.h - what went wrong, in words a tired person understands at once.
 *
 * Fallible functions return 0 or a negative TY_E... code and take `struct ty_err *err` last. The
 * error collects complete messages, one per line group, each ready to print: nobody outside
 * sim/cli prints. Several messages may be collected (all errors of a run file in one go); the code
 * of the first one decides the exit status; after TY_ERR_MAX messages the rest are only counted. */
#ifndef TY_BASE_ERR_H
#define TY_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/compiler.h"

/* code, exit status of the command line, sentence for the manual */
#define TY_ERRORS(X)                                                                               \
    X(INFEASIBLE, 1, "the question was answered, and the answer is no")                            \
    X(USAGE, 2, "the command line is wrong")                                                       \
    X(INPUT, 3, "a file or a value in it is wrong")                                                \
    X(IO, 3, "a file cannot be read or written")                                                   \
    X(LIMIT, 3, "the job is larger than a stated limit")                                           \
    X(DEADLOCK, 4, "some ranks can never finish")                                                  \
    X(NOMEM, 4, "memory is exhausted")                                                             \
    X(BUG, 4, "an internal check failed")

enum ty_code_index {
#define X(name, status, text) TY_CODE_INDEX_##name,
    TY_ERRORS(X)
#undef X
};

/* Codes are negative: TY_EINFEASIBLE, TY_EUSAGE, TY_EINPUT, TY_EIO, TY_ELIMIT, ... */
enum ty_code {
#define X(name, status, text) TY_E##name = -1 - (int)TY_CODE_INDEX_##name,
    TY_ERRORS(X)
#undef X
};

#define TY_ERR_MAX 20 /* messages kept; more are counted in `n_dropped` */

/* Errors collected so far. Begins with ty_err_init, or as zeros; owns nothing on the heap. */
struct ty_err {
    int code;           /* of the first message; 0: no error */
    uint32_t n;         /* messages kept in `text` */
    uint32_t n_dropped; /* messages not kept */
    size_t len;         /* bytes used in `text` */
    char text[24576];   /* complete lines, each ending in '\n' except the last */
};
#define TY_ERR_NONE                                                                                \
    {                                                                                              \
        .code = 0                                                                                  \
    }

/* No error yet. Costs nothing, where TY_ERR_NONE fills 24 KB with zeros. */
static inline void ty_err_init(struct ty_err *err)
{
    err->code = 0;
    err->n = err->n_dropped = 0;
    err->len = 0;
    err->text[0] = '\0';
}

/* A place in a text file: 1-based line and column; line 0 means "no place". `source` is the whole
 * text, for the excerpt with the caret; NULL: no excerpt. Borrowed. */
struct ty_place {
    const char *file;
    const char *source;
    uint32_t line, col;
};

/* Appends a message without a place. Returns `code`, so that callers write `return ty_fail(..)`.
 * `err` may be NULL: then only the code is returned. */
int ty_fail(struct ty_err *err, int code, const char *format, ...) TY_PRINTF(3, 4);

/* Appends `FILE:LINE:COL: message`, then the source line and a caret under the place. A `file` that
 * begins with -- is an option of the command line as it was typed: it stands for itself, without
 * line, column and excerpt. */
int ty_fail_at(struct ty_err *err, int code, const struct ty_place *at, const char *format, ...)
    TY_PRINTF(4, 5);

/* Memory is exhausted: ty_fail with TY_ENOMEM, which it returns. */
int ty_fail_memory(struct ty_err *err);

/* PATH: cannot be written (why): `error` is an errno. Returns TY_ENOMEM or TY_EIO. */
int ty_fail_write(struct ty_err *err, const char *path, int error);

#ifdef __clang_analyzer__ /* which sees one file at a time: what comes back is an error */
#define ty_fail(err, code, ...)         ((void)ty_fail(err, code, __VA_ARGS__), (code))
#define ty_fail_at(err, code, at, ...)  ((void)ty_fail_at(err, code, at, __VA_ARGS__), (code))
#define ty_fail_memory(err)             ((void)ty_fail_memory(err), TY_ENOMEM)
#define ty_fail_write(err, path, error) ((void)ty_fail_write(err, path, error), TY_EIO)
#endif

/* Appends "hint: ..." below the last message. */
void ty_hint(struct ty_err *err, const char *format, ...) TY_PRINTF(2, 3);

/* Appends "hint: the file is named by KEY at FILE:LINE" below messages about a file that a value of
 * the run file names, or by the option that does. */
void ty_hint_named(struct ty_err *err, const char *key, const struct ty_place *at);

/* The code for a failed call of the operating system by its errno: TY_ENOMEM or TY_EIO. */
int ty_code_of_errno(int error);

/* What the system says of it, in its words. Static. */
const char *ty_errno_text(int error);

/* Whether a code speaks of the machine, not of the input: the same may succeed another time. */
bool ty_err_is_transient(int code);

/* Exit status of the contract for a code: 0 for 0, else the status in TY_ERRORS. */
int ty_exit_status(int code);

/* "EINPUT" and the like, static; "E?" for an unknown code. */
const char *ty_code_name(int code);

/* The entry of names[0..n) nearest to `word` by edit distance (insert, delete, replace, swap of
 * neighbours; upper and lower case hardly differ), or NULL when none is near enough to be a likely
 * misspelling: at most a third of the longer word may differ, one edit is always allowed; or one of
 * the two stands in the other as whole words ("h100", "dgx-h100"). names[i] may be NULL
 * (skipped). */
const char *ty_nearest(const char *word, const char *const *names, size_t n);

/* The end of a message about a word that is not one of the names: "; hint: did you mean \"nodes\"?"
 * for the nearest of them, or "". Returns buf. */
#define TY_SUGGESTION 96
const char *ty_suggestion(const char *word, const char *const *names, size_t n,
                          char buf[TY_SUGGESTION]);

#endif
