/* row_run.c - workers, the limit on their memory, and a row from settings to a run. */
#include "sim/sweep/row_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/execute/fold.h"
#include "sim/run/jobs.h"
#include "sim/run/limits.h"

const char **ty_row_sets(const struct ty_row_source *rows, uint32_t row, const char *const *extra,
                         size_t n_extra, struct ty_arena *arena, size_t *n_sets)
{
    const struct ty_csv *csv = &rows->table->csv;
    const size_t most = rows->source.n_sets + csv->n_columns + n_extra;
    const char **sets = ty_arena_array(arena, const char *, most + 1);
    size_t n = 0;
    for (size_t i = 0; sets != NULL && i < rows->source.n_sets; i++) {
        sets[n++] = rows->source.sets[i];
    }
    for (uint32_t k = 0; sets != NULL && k < csv->n_columns; k++) {
        const char *value = ty_csv_cell(csv, row, k);
        if (rows->table->is_key[k] && value[0] != '\0') {
            sets[n] = ty_arena_printf(arena, "%s=%s", ty_csv_header(csv, k), value);
            sets = sets[n++] != NULL ? sets : NULL;
        }
    }
    for (size_t i = 0; sets != NULL && i < n_extra; i++) {
        sets[n++] = extra[i];
    }
    *n_sets = n;
    return sets;
}

/* ---- workers ---- */

void ty_worker_pool_init(struct ty_worker_pool *workers, const struct ty_source *source)
{
    workers->source = source;
    workers->unused = NULL;
    pthread_mutex_init(&workers->lock, NULL);
}

static void free_worker(struct ty_worker *worker)
{
    ty_config_bases_free(worker->bases);
    ty_price_book_free(worker->book);
    free(worker);
}

void ty_worker_pool_release(struct ty_worker_pool *workers)
{
    while (workers->unused != NULL) {
        struct ty_worker *worker = workers->unused;
        workers->unused = worker->next;
        free_worker(worker);
    }
    pthread_mutex_destroy(&workers->lock);
}

static struct ty_worker *new_worker(const struct ty_source *source)
{
    struct ty_worker *worker = calloc(1, sizeof(*worker));
    if (worker == NULL) {
        return NULL;
    }
    worker->bases = source != NULL ? ty_config_bases_new(source) : NULL;
    worker->book = ty_price_book_new();
    if (worker->book == NULL || (source != NULL && worker->bases == NULL)) {
        free_worker(worker);
        return NULL;
    }
    return worker;
}

struct ty_worker *ty_worker_acquire(struct ty_worker_pool *workers)
{
    pthread_mutex_lock(&workers->lock);
    struct ty_worker *worker = workers->unused;
    workers->unused = worker != NULL ? worker->next : NULL;
    pthread_mutex_unlock(&workers->lock);
    return worker != NULL ? worker : new_worker(workers->source);
}

void ty_worker_release(struct ty_worker_pool *workers, struct ty_worker *worker)
{
    pthread_mutex_lock(&workers->lock);
    worker->next = workers->unused;
    workers->unused = worker;
    pthread_mutex_unlock(&workers->lock);
}

/* ---- the gate ---- */

void ty_memory_semaphore_init(struct ty_memory_semaphore *gate)
{
    gate->taken = 0;
    gate->stop = NULL;
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->left, NULL);
}

void ty_memory_semaphore_release(struct ty_memory_semaphore *gate)
{
    pthread_cond_destroy(&gate->left);
    pthread_mutex_destroy(&gate->lock);
}

/* One run is always admitted, so no run waits for ever. */
static void enter(struct ty_memory_semaphore *gate, double need, const struct ty_config *config)
{
    if (gate == NULL) {
        return;
    }
    pthread_mutex_lock(&gate->lock);
    while (gate->taken > 0 && !ty_limit_allows(config, gate->taken + need)) {
        pthread_cond_wait(&gate->left, &gate->lock);
    }
    gate->taken += need;
    pthread_mutex_unlock(&gate->lock);
}

static void leave(struct ty_memory_semaphore *gate, double need)
{
    if (gate == NULL) {
        return;
    }
    pthread_mutex_lock(&gate->lock);
    gate->taken -= need;
    pthread_cond_broadcast(&gate->left);
    pthread_mutex_unlock(&gate->lock);
}

/* Returns the memory that the execution of a row takes, other jobs included. */
static double takes(const struct ty_run *run)
{
    const bool jobs = run->jobs != NULL;
    const struct ty_program *p = jobs ? &run->jobs->program : &run->lowered.program;
    const struct ty_limit_use use = {.engine = (enum ty_engine)run->config->run.engine,
                                     .folded = !jobs && ty_program_folds(p)};
    return (double)run->arena.total + ty_limit_execution_B(run->config, p, &use);
}

int ty_row_execute(struct ty_run *run, struct ty_memory_semaphore *gate, ty_row_fn *see, void *arg,
                   struct ty_err *err)
{
    const double need = takes(run);
    enter(gate, need, run->config);
    ty_run_stop(run, gate != NULL ? gate->stop : NULL);
    const int rc = ty_run_execute_folded(run, err);
    if (rc == 0) {
        see(run, arg);
    }
    ty_run_free(run);
    leave(gate, need);
    return rc;
}

int ty_row_read(const struct ty_row_source *rows, struct ty_worker *worker, uint32_t row,
                const char *const *extra, size_t n_extra, struct ty_config **config,
                struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const size_t own = rows->source.n_sets; /* the bases have them */
    size_t n = 0;
    const char **sets = ty_row_sets(rows, row, extra, n_extra, &arena, &n);
    const int rc = sets == NULL
                       ? ty_fail_memory(err)
                       : ty_config_bases_read(config, worker->bases, sets + own, n - own, err);
    ty_arena_release(&arena);
    return rc;
}

int ty_row_run(const struct ty_row_source *rows, uint32_t row, const char *const *extra,
               size_t n_extra, ty_row_fn *see, void *arg, struct ty_err *err)
{
    struct ty_worker *worker = ty_worker_acquire(rows->workers);
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    if (worker == NULL) {
        return ty_fail_memory(err);
    }
    int rc = ty_row_read(rows, worker, row, extra, n_extra, &config, err);
    if (rc == 0) {
        rc = ty_run_plan(&run, config, worker->book, err);
    }
    if (rc == 0) {
        rc = ty_row_execute(run, rows->gate, see, arg, err);
    }
    ty_config_free(config);
    ty_worker_release(rows->workers, worker);
    return rc;
}

void ty_row_message(const struct ty_err *err, char buf[TY_ROW_MESSAGE])
{
    char first[TY_ROW_MESSAGE];
    snprintf(first, sizeof(first), "%.*s", (int)strcspn(err->text, "\n"), err->text);
    const char *message = first;
    if (strncmp(first, "--set ", 6) == 0) {
        const char *key = strstr(first, ": ");
        message = key != NULL ? key + 2 : first;
    }
    memmove(buf, message, strlen(message) + 1);
}
