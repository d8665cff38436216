/* row_run.h - one row of a table as a run: what sweeps and calibrations repeat. */
#ifndef TY_SWEEP_ROW_RUN_H
#define TY_SWEEP_ROW_RUN_H

#include <pthread.h>

#include "sim/config/vary.h"
#include "sim/run/run.h"
#include "sim/sweep/sweep_table.h"

/* What a thread keeps from one run to the next. Each is used by one thread at a time. */
struct ty_worker {
    struct ty_config_bases *bases; /* NULL: no files are read */
    struct ty_price_book *book;
    struct ty_worker *next; /* in the list of unused ones */
};

/* A pool that makes as many workers as threads ask for at a time. */
struct ty_worker_pool {
    const struct ty_source *source; /* of the run files; or NULL */
    pthread_mutex_t lock;
    struct ty_worker *unused;
};
void ty_worker_pool_init(struct ty_worker_pool *workers, const struct ty_source *source);
void ty_worker_pool_release(struct ty_worker_pool *workers);

/* Returns a worker for the calling thread until it releases it. NULL: no memory. */
struct ty_worker *ty_worker_acquire(struct ty_worker_pool *workers);
void ty_worker_release(struct ty_worker_pool *workers, struct ty_worker *worker);

/* A table of runs. Cells beat the source's own settings. */
struct ty_row_source {
    struct ty_source source; /* path must be a file: runs read it */
    const struct ty_sweep_table *table;
    struct ty_memory_semaphore *gate; /* limits the memory of concurrent runs; or NULL */
    struct ty_worker_pool *workers;   /* of `source` */
};

/* Concurrent runs of a table together take no more memory than one of them may: a run waits until
 * there is enough. */
struct ty_memory_semaphore {
    pthread_mutex_t lock;
    pthread_cond_t left;
    double taken;             /* bytes */
    const volatile int *stop; /* ends the runs that it admits (ty_run_stop); NULL at first */
};
void ty_memory_semaphore_init(struct ty_memory_semaphore *gate);
void ty_memory_semaphore_release(struct ty_memory_semaphore *gate);

/* Reads the configuration of a row with a worker. Free it before the worker is released. */
int ty_row_read(const struct ty_row_source *rows, struct ty_worker *worker, uint32_t row,
                const char *const *extra, size_t n_extra, struct ty_config **config,
                struct ty_err *err);

/* Returns the settings of the source, then of the row, then the extra ones. NULL: no memory. */
const char **ty_row_sets(const struct ty_row_source *rows, uint32_t row, const char *const *extra,
                         size_t n_extra, struct ty_arena *arena, size_t *n_sets);

/* Called with an executed run before it is freed. */
typedef void ty_row_fn(const struct ty_run *run, void *arg);

/* Executes a planned run once the gate (or NULL) admits it, for figures only
 * (ty_run_execute_folded), calls `see` with it and frees it. */
int ty_row_execute(struct ty_run *run, struct ty_memory_semaphore *gate, ty_row_fn *see, void *arg,
                   struct ty_err *err);

/* Reads, plans and executes a row with `extra` settings, which override its cells, and calls `see`
 * with the run. Different rows may run on different threads. */
int ty_row_run(const struct ty_row_source *rows, uint32_t row, const char *const *extra,
               size_t n_extra, ty_row_fn *see, void *arg, struct ty_err *err);

/* Writes the first message of err on one line. Leaves out places in settings that no user wrote. */
#define TY_ROW_MESSAGE 512
void ty_row_message(const struct ty_err *err, char buf[TY_ROW_MESSAGE]);

#endif
