/* crew.h - pieces of work shared by threads, and by processes where a crew has been formed
 * (struct ty_crew of sim/trainyard.h). A crew of NULL is this process alone. */
#ifndef TY_SWEEP_CREW_H
#define TY_SWEEP_CREW_H

#include "sim/base/err.h"
#include "sim/base/pool.h"
#include "sim/trainyard.h"

/* The member that writes what all have found. */
static inline bool ty_crew_leads(const struct ty_crew *crew)
{
    return crew == NULL || crew->member == 0;
}

/* Calls work(arg, i) for i = 0 .. n-1 as ty_pool_run, each of them in one of the processes. Where
 * work says false no member takes further ones. Before it is called again all have to meet. */
void ty_crew_run(const struct ty_crew *crew, uint32_t n, uint32_t jobs, ty_pool_fn *work,
                 void *arg);

/* Waits until all members are here; rc: how this one fared. 0 when all fared well, else a failure:
 * its own, or, without a message, TY_EIO: another member has one, and tells it. */
int ty_crew_meet(const struct ty_crew *crew, int rc);

#endif
