/* sweep_store.h - where the rows of a sweep go as they finish.
 *
 * Of a file PATH, every row is in PATH.partial as soon as it is finished, in any order and with its
 * number in front: whatever ends the process, no finished row is lost. When all are there they are
 * put in order under PATH, and PATH.partial goes. One sweep at a time holds it. Of processes that
 * share the rows the first has PATH.partial and the others PATH.partial.1, .2, ...; whoever goes on
 * from what they left reads them all, however many they were.
 *
 * Standard output, and what is no file, takes rows in order, as soon as all before them are
 * there. */
#ifndef TY_SWEEP_STORE_H
#define TY_SWEEP_STORE_H

#include "sim/base/arena.h"
#include "sim/sweep/sweep_records.h"

/* What is written. */
struct ty_sweep_target {
    const char *what;   /* "sweep", "plan": what messages call it */
    const char *output; /* NULL or "-": standard output */
    const char *header; /* line of the table, borrowed */
    uint32_t n_rows;
    uint32_t member; /* of processes that share them; 0: the first, who writes the table */
    bool numbered;   /* the table of a shard: rows keep their numbers */
};

/* What was there before. */
struct ty_sweep_earlier {
    bool resume;              /* go on from the rows of PATH.partial and of PATH.partial.N */
    const char *const *merge; /* [n_merge] tables of shards, or what there is of them */
    size_t n_merge;
    ty_sweep_look *look;
    void *arg;
};

/* A row that some file brought. */
struct ty_sweep_sample {
    const char *path;
    uint32_t row;
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

/* Opens what is to be written, and changes nothing in what is there; memory is the arena's. An
 * error when another sweep has it. The store has to be released, whatever comes back. */
int ty_sweep_store_open(struct ty_sweep_store *store, const struct ty_sweep_target *target,
                        struct ty_arena *arena, struct ty_err *err);

/* Reads what was there before. An error when it is of another sweep, and when nobody asked to go on
 * from rows that are there. */
int ty_sweep_store_read(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                        struct ty_err *err);

/* To be called once, before rows are added; where processes share the rows, when all have read. */
int ty_sweep_store_begin(struct ty_sweep_store *store, struct ty_err *err);

/* Adds a finished row, its line of the table; takes the text. One call at a time. False: it could
 * not be written, and store->error says why. */
bool ty_sweep_store_add(struct ty_sweep_store *store, uint32_t row, char *line);

/* Hands the rows of this process over: they can be read by others. */
int ty_sweep_store_hand_over(struct ty_sweep_store *store, struct ty_err *err);

/* Reads what the other processes have handed over. */
int ty_sweep_store_gather(struct ty_sweep_store *store, const struct ty_sweep_earlier *earlier,
                          struct ty_err *err);

/* Forgets a row that was there before: it will not be in the table. */
void ty_sweep_store_drop(struct ty_sweep_store *store, uint32_t row);

/* Puts all rows that there are in order under the name of the output. On failure all PATH.partial
 * stay. */
int ty_sweep_store_finish(struct ty_sweep_store *store, struct ty_err *err);

/* The message for store->error. */
int ty_sweep_store_fail(const struct ty_sweep_store *store, struct ty_err *err);

/* Below a message: that finished rows are not lost. */
void ty_sweep_store_hint(const struct ty_sweep_store *store, struct ty_err *err);

void ty_sweep_store_release(struct ty_sweep_store *store);

#endif
