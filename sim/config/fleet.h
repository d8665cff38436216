/* fleet.h - the `fleet` section: a whole training, of which a run is one step. Nothing of it
 * changes that step. */
#ifndef TY_CONFIG_FLEET_H
#define TY_CONFIG_FLEET_H

#include "sim/document/fields.h"

struct ty_fleet_options {
    double price;  /* of a GPU for an hour, in whatever currency; 0: not given */
    double tokens; /* of the whole training; 0: not given */
};

extern const struct ty_field ty_fleet_fields[];
extern const uint32_t ty_n_fleet_fields;

/* What follows from the speed of a step, if it were all that takes time; 0: not asked for. */
struct ty_fleet_figures {
    double days_for_tokens, gpu_hours; /* of all tokens */
    double cost;                       /* of these GPU-hours */
    double cost_per_billion_tokens;
};
struct ty_fleet_figures ty_fleet_figures(const struct ty_fleet_options *fleet, double tokens_per_s,
                                         double gpus);

#endif
