/* link_meter.h - what contended links carry while messages are played, as it happens.
 *
 * When messages began and at which speeds they ran is in no timeline, so their peaks cannot be
 * found afterwards: the executor tells of every flow and speed, and what a link carries is their
 * sum once all that happens at an instant has been shared out. */
#ifndef TY_CORE_EXECUTE_LINK_METER_H
#define TY_CORE_EXECUTE_LINK_METER_H

#include "sim/core/execute/contention.h"
#include "sim/core/program/timeline.h"

struct ty_link_meter;

/* For flows of `shared`, numbered as its solver does. Results go to timeline->peak, a row for each
 * link of the program, that of a link which is never contended below 0; they are the timeline's.
 * The meter is the arena's. NULL: no memory. */
struct ty_link_meter *ty_link_meter_new(struct ty_timeline *timeline,
                                        const struct ty_contention *shared, struct ty_arena *arena);

#endif
