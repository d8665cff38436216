/* worth.h - what a better fleet would be worth: goodput in closed form with one thing changed. */
#ifndef TY_FLEET_WORTH_H
#define TY_FLEET_WORTH_H

#include "sim/fleet/fleet.h"

#define TY_FLEET_CHANGES 8u

struct ty_fleet_change {
    const char *what; /* "a minute less to find a failure" */
    double gain;      /* of goodput: a share of the time */
};

/* Those that would be worth something, most first; returns how many. The interval between
 * checkpoints is the best again where it is auto. */
uint32_t ty_fleet_changes(const struct ty_fleet *fleet,
                          struct ty_fleet_change change[TY_FLEET_CHANGES]);

#endif
