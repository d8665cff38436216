/* crit.h - the critical path: the chain of tasks that makes the run as long as it is.
 *
 * Found by walking back from the last task: what ended exactly when this one started? An earlier
 * task of the same stream, an event it waited for, the send of its message, or, for a collective,
 * one of these on the slowest member. Times are integers, so the answer is exact. */
#ifndef TY_CORE_ANALYSE_CRIT_H
#define TY_CORE_ANALYSE_CRIT_H

#include "sim/core/program/timeline.h"

/* One task on the path. */
struct ty_crit_task {
    uint32_t gang, member;
    uint32_t pass, op; /* pass within the gang, operation within its block */
    ty_ps start, dur;
    ty_ps delay; /* of the message it sent, before the next task on the path could start */
};

typedef void ty_crit_fn(void *arg, const struct ty_crit_task *task);

/* Visits the path from its end to its start. The durations and delays of the tasks sum to the
 * makespan. Returns 0, or TY_EBUG when a start has no cause (which would be an executor's
 * fault). */
int ty_critical_path(const struct ty_timeline *timeline, ty_crit_fn *visit, void *arg,
                     struct ty_err *err);

/* What a task waited for last: the task that ended, or whose message arrived, exactly when this one
 * started. Only where the task is (gang, member, pass, op) is read. False for tasks that start at
 * time 0, and where a deadlock cut the cause off. */
bool ty_critical_cause(const struct ty_timeline *timeline, const struct ty_crit_task *task,
                       struct ty_crit_task *cause);

/* The task of the same member that last recorded `event` before this one was issued; false:
 * none. */
bool ty_critical_recorder(const struct ty_timeline *timeline, const struct ty_crit_task *task,
                          uint8_t event, struct ty_crit_task *recorder);

#endif
