/* rooms.c - see rooms.h. */
#include "sim/run/rooms.h"

#include <math.h>
#include <stdlib.h>

#include "sim/run/offload.h"

/* Sums of many ranks are as exact as that. */
#define ROUNDING 1e-9

struct ty_lower_room *ty_run_spare_memory(const struct ty_run *warm, struct ty_arena *arena)
{
    const uint32_t n = warm->lowered.program.n_gangs;
    const double filled = warm->config->layout.offload_room;
    const double fragmentation = warm->config->cluster.overhead.fragmentation;
    struct ty_lower_room *room = ty_arena_array(arena, struct ty_lower_room, n);
    for (uint32_t stage = 0; room != NULL && stage < n; stage++) {
        struct ty_bill bill;
        ty_run_bill(warm, stage, &bill);
        const double left = filled * bill.capacity_B - bill.total_B;
        room[stage].gpu_B = fmax(0, left) / (1 + fragmentation);
        room[stage].host_B = INFINITY;
    }
    return room;
}

int ty_run_host_rooms(const struct ty_run *run, struct ty_lower_room *room, bool *small,
                      struct ty_err *err)
{
    const uint32_t n = run->lowered.program.n_gangs;
    *small = false;
    if (run->config->cluster.nvme.capacity <= 0 || ty_run_offload_short(run) == NULL) {
        return 0;
    }
    double *share = calloc(n, sizeof(*share));
    const int rc = share == NULL ? ty_fail_memory(err) : ty_run_host_shares(run, share, err);
    for (uint32_t stage = 0; rc == 0 && stage < n; stage++) {
        const struct ty_state_bytes *s = &run->lowered.stage[stage].away.host;
        if (share[stage] < 1) {
            room[stage].host_B =
                (1 - ROUNDING) * share[stage] * (s->weights + s->grads + s->optimizer);
            *small = true;
        }
    }
    free(share);
    return rc;
}
