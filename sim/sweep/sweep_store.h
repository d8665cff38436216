/* sweep_store.h - where the rows of a sweep go as they finish.
 *
 * With an output file PATH, a finished row is written to PATH.partial at once, in any order and
 * with its number in front. Whatever ends the process, no finished row is lost. When all rows are
 * there they are written in order under PATH, and PATH.partial is removed. Only one sweep at a time
 * uses it. Of processes that share the rows the first has PATH.partial, the others PATH.partial.1,
 * .2, ...; a sweep that resumes reads them all, however many they were.
 *
 * Standard output, a pipe or a device takes each row in order, once all before it are there. */
#ifndef TY_SWEEP_STORE_H
#define TY_SWEEP_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

/* What is written. */
struct ty_sweep_target {
    const char *what;   /* "sweep", "plan": what messages call it */
    const char *output; /* NULL or "-": standard output */
    const char *header; /* line of the table, borrowed */
    uint32_t n_rows;
    uint32_t member; /* of processes that share them; 0: the first, who writes the table */
    bool numbered;   /* the table of a shard: rows keep their numbers */
};

/* Reads the line of a row. Returns 1 if it has an answer, 0 if it says why it has none, TY_EINPUT
 * if it is not of this sweep, or TY_ENOMEM. */
typedef int ty_sweep_look(void *arg, uint32_t row, const char *line);

/* What earlier sweeps left. */
struct ty_sweep_earlier {
    bool resume;              /* keep the rows of PATH.partial and of PATH.partial.N */
    const char *const *merge; /* [n_merge] tables of shards, finished or not */
    size_t n_merge;
    ty_sweep_look *look;
    void *arg;
};

/* A row that a file had. */
struct ty_sweep_sample {
    const char *path;
    uint32_t row;
};

/* Rows that were read or simulated. */
struct ty_sweep_records {
    const char *what; /* "sweep", "plan": what messages call it */
    const char *head; /* first line of a file of records */
    char **line; /* [n_rows] lines of the table; NULL: not finished, or written in order already */
    uint32_t n_rows;
};

struct ty_sweep_store {
    struct ty_sweep_target is;
    struct ty_sweep_records rows;
    const char *path, *partial, *ordered; /* NULL: no file; ordered: PATH while it is written */
    const char *name;                     /* of what is written to, for messages */
    const char **others;                  /* [n_others] PATH.partial.N that are not its own */
    struct ty_sweep_sample *sample;       /* [n_samples] one of each file that had rows */
    struct ty_arena *arena;
    size_t n_others, n_samples;
    uint32_t next;   /* the first row not written, of standard output */
    int fd, error;   /* errno of the first failed write */
    int64_t end;     /* of PATH.partial */
    size_t broken_B; /* at the end of what an earlier sweep left in it */
};

/* Opens the output and changes nothing in it; memory is the arena's. An error if another sweep uses
 * it. The store has to be released in any case. */
int ty_sweep_store_open(struct ty_sweep_store *store, const struct ty_sweep_target *target,
                        struct ty_arena *arena, struct ty_err *err);

/* Reads the rows of earlier sweeps. An error if they are of another table, or if there are some and
 * the sweep neither resumes nor merges. */
int ty_sweep_store_read(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                        struct ty_err *err);

/* To be called once, before rows are added and after all processes that share them have read. */
int ty_sweep_store_begin(struct ty_sweep_store *store, struct ty_err *err);

/* Adds a finished row and takes its line of the table. One call at a time. Returns false if it
 * could not be written; store->error says why. */
bool ty_sweep_store_add(struct ty_sweep_store *store, uint32_t row, char *line);

/* Lets other processes read the rows of this one. */
int ty_sweep_store_hand_over(struct ty_sweep_store *store, struct ty_err *err);

/* Reads what the other processes have handed over. */
int ty_sweep_store_gather(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                          struct ty_err *err);

/* Leaves a row that was read out of the table. */
void ty_sweep_store_drop(struct ty_sweep_store *store, uint32_t row);

/* Writes all rows in order under the name of the output. On failure all PATH.partial stay. */
int ty_sweep_store_finish(struct ty_sweep_store *store, struct ty_err *err);

/* Fails with the message for store->error. */
int ty_sweep_store_fail(const struct ty_sweep_store *store, struct ty_err *err);

/* Adds to a message that finished rows are not lost. */
void ty_sweep_store_hint(const struct ty_sweep_store *store, struct ty_err *err);

void ty_sweep_store_release(struct ty_sweep_store *store);

#endif
