/* sweep_job.h - a sweep while it runs: its rows, simulated here or read from what others wrote. */
#ifndef TY_SWEEP_JOB_H
#define TY_SWEEP_JOB_H

#include "sim/sweep/crew.h"
#include "sim/sweep/sweep_bands.h"
#include "sim/sweep/sweep_line.h"
#include "sim/sweep/sweep_store.h"

struct ty_sweep_job {
    const struct ty_sweep_options *options;
    struct ty_sweep_table table;
    struct ty_row_source rows;
    struct ty_sweep_store store;
    pthread_mutex_t lock;
    struct ty_memory_semaphore gate;
    struct ty_worker_pool desks;
    struct ty_sweep_summary summary;
    struct ty_sweep_best best;
    struct ty_sweep_bands bands;
    struct ty_sweep_columns with; /* what some row asks for, or the options do */
    struct ty_err fault;          /* of the first row that could not be answered */
    size_t changed; /* the first of store.sample that comes out differently; SIZE_MAX: none */
    bool gathers;   /* rows that are read now were simulated by this call's other processes */
    bool by_layout; /* the layout of some row chose its stack */
    uint32_t n_due; /* rows of the table that this sweep is to have */
    /* the first row whose answer is an error, and what that says; UINT32_MAX: none */
    uint32_t wrong_row;
    char message[TY_ROW_MESSAGE];
};

/* Whether a row is of this sweep: of all, or of its shard. */
bool ty_sweep_job_has(const struct ty_sweep_job *job, uint32_t row);

/* Simulates a row that is not there yet and adds it to the store; false: no further row is to be
 * begun. For several threads. */
bool ty_sweep_job_row(void *job, uint32_t row);

/* Adds a row that was read to the summary, if it has the inputs of this sweep's row: a
 * ty_sweep_look. */
int ty_sweep_job_look(void *job, uint32_t row, const char *line);

/* Simulates store.sample[i] once more: what changed since in the run file, in a file that it names
 * or in this program shows in no other way, and one table must not be of two of them. As
 * ty_sweep_job_row. */
bool ty_sweep_job_check(void *job, uint32_t i);

/* Why rows could not be answered or written, if that happened: 0 or a failure. */
int ty_sweep_job_fault(const struct ty_sweep_job *job, struct ty_err *err);

#endif
