/* history.h - one of the trainings that are played, stretch by stretch. */
#ifndef TY_FLEET_HISTORY_H
#define TY_FLEET_HISTORY_H

#include <stddef.h>

#include "sim/fleet/days.h"

/* Work with its checkpoints is one stretch; LOST is what of it is done again. */
struct ty_fleet_stretch {
    enum ty_fleet_state state;
    double start_s, end_s;
    double begun_s; /* of work: at its start, into a round of checkpoints */
};

struct ty_fleet_history {
    struct ty_fleet_stretch *item; /* [n] one after the other, without holes; to be freed */
    size_t n, cap;
    double length_s;
    struct ty_days_sums sums;
    bool failed; /* no memory */
};

/* The first of those that ty_days_mean plays. 0 or TY_ENOMEM. */
int ty_fleet_history(const struct ty_days *days, double length_s, uint64_t seed,
                     struct ty_fleet_history *history);

/* Time in checkpoints from one time to another within a stretch of work. */
double ty_fleet_stall_s(const struct ty_days *days, const struct ty_fleet_stretch *stretch,
                        double from_s, double to_s);

/* The k-th checkpoint of a stretch of work, from 0: when it begins and ends, as far as it lies in
 * the stretch; false: there is none. */
bool ty_fleet_checkpoint_at(const struct ty_days *days, const struct ty_fleet_stretch *stretch,
                            uint32_t k, double *begin_s, double *end_s);

#endif
