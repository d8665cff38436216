/* energy.h - what a fleet draws: per token, and at once where all GPUs stop. */
#ifndef TY_FLEET_ENERGY_H
#define TY_FLEET_ENERGY_H

#include "sim/fleet/fleet.h"

struct ty_fleet_energy {
    double working_W;   /* a node in a step, mean */
    double idle_W;      /* a node that waits for a restart, and a spare */
    double facility_W;  /* all nodes and what is around them, mean over the training */
    double per_token_J; /* of that, per token kept */
    double drop_W;      /* of all nodes, when they stop together */
};

/* All 0 where the power of nodes or of their GPUs is not known. */
struct ty_fleet_energy ty_fleet_energy(const struct ty_fleet *fleet);

#endif
