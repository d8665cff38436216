/* rooms.c - see rooms.h. */
#include "sim/run/rooms.h"

#include <math.h>

#include "sim/run/bill.h"

const double *ty_run_rooms(const struct ty_run *warm, struct ty_arena *arena)
{
    const uint32_t n = warm->lowered.program.n_gangs;
    const double filled = warm->config->layout.offload_room;
    const double fragmentation = warm->config->cluster.overhead.fragmentation;
    double *room_B = ty_arena_array(arena, double, n);
    for (uint32_t stage = 0; room_B != NULL && stage < n; stage++) {
        struct ty_bill bill;
        ty_run_bill(warm, stage, &bill);
        const double left = filled * bill.capacity_B - bill.total_B;
        room_B[stage] = fmax(0, left) / (1 + fragmentation);
    }
    return room_B;
}
