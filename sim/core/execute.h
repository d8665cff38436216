/* execute.h - two executors, one meaning.
 *
 * sweep  every gang runs ahead, all members abreast, until something has not arrived; no queue.
 *        Exact whenever durations do not depend on what else is running: the fast path, and the
 *        oracle of the other.
 * events a queue of completions in time order, task by task: the executor that shared links will
 *        need. Start times equal the sweep's to the bit. */
#ifndef TY_CORE_EXECUTE_H
#define TY_CORE_EXECUTE_H

#include "sim/core/timeline.h"

enum ty_engine {
    TY_ENGINE_AUTO, /* sweep: nothing in today's model shares links */
    TY_ENGINE_SWEEP,
    TY_ENGINE_EVENTS,
};

/* Executes a sealed program into an initialised timeline. TY_EDEADLOCK names ranks, streams and
 * what each waits for. */
int ty_sweep(struct ty_timeline *timeline, struct ty_err *err);
int ty_events(struct ty_timeline *timeline, struct ty_err *err);

#endif
