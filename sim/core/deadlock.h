/* deadlock.h - the report of an execution that cannot finish. */
#ifndef TY_CORE_DEADLOCK_H
#define TY_CORE_DEADLOCK_H

#include "sim/core/program.h"

/* Where a gang stopped: the operation that can never start. pass == n_passes: it finished. */
struct ty_stop {
    uint32_t pass, op;
};

/* Reports every gang that did not finish: ranks, stream, operation and what it waits for, with
 * `arrived` of a meeting's gangs by slot. stop[n_gangs]. Returns TY_EDEADLOCK. */
int ty_deadlock_report(const struct ty_program *p, const struct ty_stop *stop,
                       const uint32_t *arrived, struct ty_err *err);

#endif
