/* deadlock.h - the report of an execution that cannot finish. */
#ifndef TY_CORE_DEADLOCK_DEADLOCK_H
#define TY_CORE_DEADLOCK_DEADLOCK_H

#include "sim/core/program/timeline.h"

/* Says why an executor came to a halt: how many ranks, when the last of them moved, who waits for
 * whom in a circle or for what never comes, and who waits behind those; at most 20 lines. Cuts the
 * timeline to what had been executed (ty_timeline_cut). What is said depends on the program and on
 * the start times only, so it is the same whichever executor it was. Once for a timeline.
 * Returns TY_EDEADLOCK, or TY_ENOMEM. */
int ty_deadlock_report(struct ty_timeline *timeline, struct ty_err *err);

#endif
