/* sweep_store.h - where the rows of a sweep go as they finish.
 *
 * Of a file PATH, every row is in PATH.partial as soon as it is finished, in any order and with its
 * number in front: whatever ends the process, no finished row is lost. When all are there they are
 * put in order under PATH, and PATH.partial goes. One sweep at a time holds it.
 *
 * Standard output, and what is no file, takes rows in order, as soon as all before them are
 * there. */
#ifndef TY_SWEEP_STORE_H
#define TY_SWEEP_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

struct ty_sweep_store {
    const char *path, *partial, *ordered; /* NULL: no file; ordered: PATH while it is written */
    const char *name;                     /* of what is written to, for messages */
    const char *header;                   /* line of the table, borrowed */
    const char *head;                     /* line of PATH.partial */
    char **line;                          /* [n_rows] that are finished, and not written in order */
    uint32_t n_rows, next;                /* next: the first not written, of standard output */
    int fd, error;                        /* errno of the first failed write */
    int64_t end;                          /* of PATH.partial */
    size_t broken_B;                      /* at the end of what an earlier sweep left */
};

/* Looks at the line of row `row` that an earlier sweep left. 0; TY_EINPUT: it is not of this sweep;
 * TY_ENOMEM. */
typedef int ty_sweep_look(void *arg, uint32_t row, const char *line);

/* Opens `output` (NULL or "-": standard output) for n_rows rows, and changes nothing in what is
 * there; memory is the arena's. An error when another sweep has it. The store has to be released,
 * whatever comes back. */
int ty_sweep_store_open(struct ty_sweep_store *store, const char *output, uint32_t n_rows,
                        const char *header, struct ty_arena *arena, struct ty_err *err);

/* To be called once, before rows are added. With `look`, whole rows of PATH.partial stay, and one
 * that belongs to another sweep is an error; without, rows that are there are one. */
int ty_sweep_store_begin(struct ty_sweep_store *store, ty_sweep_look *look, void *arg,
                         struct ty_err *err);

/* Adds a finished row, its line of the table; takes the text. One call at a time. False: it could
 * not be written, and store->error says why. */
bool ty_sweep_store_add(struct ty_sweep_store *store, uint32_t row, char *line);

/* Puts all rows in order under the name of the output. On failure PATH.partial stays. */
int ty_sweep_store_finish(struct ty_sweep_store *store, struct ty_err *err);

/* The message for store->error. */
int ty_sweep_store_fail(const struct ty_sweep_store *store, struct ty_err *err);

/* Below a message: that finished rows are not lost. */
void ty_sweep_store_hint(const struct ty_sweep_store *store, struct ty_err *err);

void ty_sweep_store_release(struct ty_sweep_store *store);

#endif
