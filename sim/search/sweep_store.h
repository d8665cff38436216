/* sweep_store.h - where the rows of a sweep go as they finish.
 *
 * Of a file PATH, every row is in PATH.partial as soon as it is finished, in any order and with its
 * number in front: whatever ends the process, no finished row is lost. When all are there they are
 * put in order under PATH, and PATH.partial goes. One sweep at a time holds it.
 *
 * Standard output, and what is no file, takes rows in order, as soon as all before them are
 * there. */
#ifndef TY_SEARCH_SWEEP_STORE_H
#define TY_SEARCH_SWEEP_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

struct ty_sweep_line {
    char *text;   /* finished, and waits for those before it; standard output only */
    int64_t at;   /* in PATH.partial, behind the number */
    uint32_t len; /* 0: not finished, or not in a file */
};

struct ty_sweep_store {
    const char *path, *partial, *ordered; /* NULL: no file; ordered: PATH while it is written */
    const char *name;                     /* of what is written to, for messages */
    const char *header;                   /* line of the table, borrowed */
    uint32_t n_rows, next;                /* next: the first not written, of standard output */
    struct ty_sweep_line *line;           /* [n_rows] */
    int fd, error;                        /* errno of the first failed write */
    int64_t end;                          /* of PATH.partial */
    uint32_t n_damaged;                   /* lines of an earlier sweep that make no sense */
};

/* What becomes of a line of an earlier sweep. */
enum ty_sweep_kept {
    TY_SWEEP_KEPT,
    TY_SWEEP_DAMAGED,
    TY_SWEEP_FOREIGN,
    TY_SWEEP_NO_MEMORY /* to look at it */
};

/* Looks at row `row` of an earlier sweep: its line of the table, len bytes with the newline. */
typedef enum ty_sweep_kept ty_sweep_look(void *arg, uint32_t row, const char *line, size_t len);

/* Opens `output` (NULL or "-": standard output) for n_rows rows, and changes nothing in what is
 * there; memory is the arena's. An error when another sweep has it. The store has to be released,
 * whatever comes back. */
int ty_sweep_store_open(struct ty_sweep_store *store, const char *output, uint32_t n_rows,
                        const char *header, struct ty_arena *arena, struct ty_err *err);

/* To be called once, before rows are added. With `look`, lines of PATH.partial that it keeps stay,
 * and one that belongs to another sweep is an error; without, rows that are there are one. */
int ty_sweep_store_begin(struct ty_sweep_store *store, ty_sweep_look *look, void *arg,
                         struct ty_err *err);

/* Whether the row is there already. */
bool ty_sweep_store_has(const struct ty_sweep_store *store, uint32_t row);

/* Adds a finished row, its line of the table; takes the text. One call at a time. False: it could
 * not be written, and store->error says why. */
bool ty_sweep_store_add(struct ty_sweep_store *store, uint32_t row, char *text);

/* Whether a kept row is this line, byte for byte: *same. TY_EIO when it cannot be read. */
int ty_sweep_store_equals(const struct ty_sweep_store *store, uint32_t row, const char *line,
                          bool *same, struct ty_err *err);

/* Puts all rows in order under the name of the output. On failure PATH.partial stays. */
int ty_sweep_store_finish(struct ty_sweep_store *store, struct ty_err *err);

/* The message for store->error. */
int ty_sweep_store_fail(const struct ty_sweep_store *store, struct ty_err *err);

/* Below a message: that finished rows are not lost. */
void ty_sweep_store_hint(const struct ty_sweep_store *store, struct ty_err *err);

void ty_sweep_store_release(struct ty_sweep_store *store);

#endif
