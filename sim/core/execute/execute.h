/* execute.h - two executors, one meaning.
 *
 * sweep  every gang runs ahead, all members abreast, until something has not arrived, and then its
 *        streams go on by themselves; no queue. Exact whenever durations do not depend on what else
 *        is running: the fast path, and the oracle of the other.
 * events a queue of completions in time order, task by task. With fixed durations its start times
 *        equal the sweep's to the bit; with shared links and GPUs, durations are what comes out of
 *        the sharing. */
#ifndef TY_CORE_EXECUTE_EXECUTE_H
#define TY_CORE_EXECUTE_EXECUTE_H

#include "sim/core/execute/contention.h"
#include "sim/core/program/timeline.h"

enum ty_engine {
    TY_ENGINE_AUTO, /* sweep where nothing can be shared, else events */
    TY_ENGINE_SWEEP,
    TY_ENGINE_EVENTS,
};

/* Executes a sealed program into an initialised timeline. TY_EDEADLOCK names ranks, streams and
 * what each waits for. TY_EIO where the timeline's progress was told to end. */
int ty_sweep(struct ty_timeline *timeline, struct ty_err *err);
int ty_events(struct ty_timeline *timeline, struct ty_err *err);

/* The second with everything shared that `shared` says can be; tasks start from what they take
 * alone. Equals the others to the bit where nothing is shared and `alone` is not given. */
int ty_events_shared(struct ty_timeline *timeline, const struct ty_contention *shared,
                     struct ty_err *err);

#endif
