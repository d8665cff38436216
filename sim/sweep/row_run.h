/* row_run.h - one row of a table as a run: what sweeps and calibrations repeat. */
#ifndef TY_SWEEP_ROW_RUN_H
#define TY_SWEEP_ROW_RUN_H

#include <pthread.h>

#include "sim/config/vary.h"
#include "sim/run/run.h"
#include "sim/sweep/sweep_table.h"

/* What a thread keeps from one run to the next. */
struct ty_worker {
    struct ty_config_bases *bases; /* NULL: no files are read */
    struct ty_price_book *book;
    struct ty_worker *next; /* that nobody sits at */
};

/* As many as threads ask for at a time. */
struct ty_worker_pool {
    const struct ty_source *source; /* of the run files; NULL: there are none */
    pthread_mutex_t lock;
    struct ty_worker *unused;
};
void ty_worker_pool_init(struct ty_worker_pool *desks, const struct ty_source *source);
void ty_worker_pool_release(struct ty_worker_pool *desks);

/* A desk for the calling thread, until it leaves it; NULL: no memory. */
struct ty_worker *ty_worker_acquire(struct ty_worker_pool *desks);
void ty_worker_release(struct ty_worker_pool *desks, struct ty_worker *desk);

/* A table of runs. Cells beat the source's own settings. */
struct ty_row_source {
    struct ty_source source; /* path must be a file: runs read it */
    const struct ty_sweep_table *table;
    struct ty_memory_semaphore *gate; /* NULL: runs may be beside each other, whatever they take */
    struct ty_worker_pool *desks;     /* of `source` */
};

/* Runs of one table that are executed beside each other take no more together than one of them may:
 * a run waits until there is room. */
struct ty_memory_semaphore {
    pthread_mutex_t lock;
    pthread_cond_t left;
    double taken;             /* B */
    const volatile int *stop; /* ends executions behind it (ty_run_stop); NULL, as at first */
};
void ty_memory_semaphore_init(struct ty_memory_semaphore *gate);
void ty_memory_semaphore_release(struct ty_memory_semaphore *gate);

/* The configuration of a row at a desk; to be freed before the desk is left. */
int ty_row_read(const struct ty_row_source *rows, struct ty_worker *desk, uint32_t row,
                const char *const *extra, size_t n_extra, struct ty_config **config,
                struct ty_err *err);

/* Settings of the source, then of the row, then the extra ones; NULL without memory. */
const char **ty_row_sets(const struct ty_row_source *rows, uint32_t row, const char *const *extra,
                         size_t n_extra, struct ty_arena *arena, size_t *n_sets);

/* What looks at an executed run before it is freed. */
typedef void ty_row_fn(const struct ty_run *run, void *arg);

/* Executes a plan behind the gate (NULL: at once), for figures only (ty_run_execute_folded), shows
 * it and frees it. */
int ty_row_execute(struct ty_run *run, struct ty_memory_semaphore *gate, ty_row_fn *see, void *arg,
                   struct ty_err *err);

/* Reads, plans and executes row `row` under `extra` settings, which beat its cells, and shows the
 * run. Different rows may run on different threads. */
int ty_row_run(const struct ty_row_source *rows, uint32_t row, const char *const *extra,
               size_t n_extra, ty_row_fn *see, void *arg, struct ty_err *err);

/* The first message of err on one line, without the place inside a setting that no user wrote. */
#define TY_ROW_MESSAGE 512
void ty_row_message(const struct ty_err *err, char buf[TY_ROW_MESSAGE]);

#endif
