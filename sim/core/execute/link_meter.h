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

/* Flow `number` begins, at speed 0. */
void ty_link_meter_begin(struct ty_link_meter *m, uint32_t number, const struct ty_flow *flow);

/* It runs at `speed`, a share of its full speed in (0, 1]. */
void ty_link_meter_speed(struct ty_link_meter *m, uint32_t number, double speed);

void ty_link_meter_end(struct ty_link_meter *m, uint32_t number);

/* Every change at time `now` has been reported. Times do not decrease. */
void ty_link_meter_read(struct ty_link_meter *m, ty_ps now);

#endif
