/* observed.h - where the time of a rank went, as one who only sees it would say.
 *
 * A measured profile tells when kernels ran and not what waited for what. So a stretch without
 * computation is charged to the communication that ran on the rank at the time, of several to the
 * one that began first; where nothing ran it is idle (the bucket of stalls, whatever the reason).
 * Simulated timelines can be seen like that, too, which makes the two comparable. */
#ifndef TY_CORE_ANALYSE_OBSERVED_H
#define TY_CORE_ANALYSE_OBSERVED_H

#include "sim/core/analyse/stats.h"

typedef void ty_observed_fn(void *arg, uint32_t member, const struct ty_gap *gap);

/* The stretches between operations on the compute stream of a member, until `over`, in order of
 * time and none empty. Computation on another stream is no idle time: its own bucket. */
void ty_observed_walk(const struct ty_timeline *timeline, uint32_t gang, uint32_t member,
                      ty_ps over, ty_observed_fn *visit, void *arg);

/* Busy and other time of a rank together: they sum to `over`. */
void ty_observed_buckets(const struct ty_timeline *timeline, uint32_t gang, uint32_t member,
                         ty_ps over, ty_ps bucket[TY_MAX_BUCKETS]);

#endif
