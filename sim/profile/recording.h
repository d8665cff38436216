/* recording.h - a measured profile as a program and its timeline, as if an executor had made it.
 *
 *     struct ty_profile -- rows --> kernels in rows without overlap
 *                       -- passes --> stretches of a phase
 *                       -- replay --> struct ty_program (observed), struct ty_timeline
 *
 * A gang is a rank, an operation is a kernel, and its start and duration are what was measured.
 * Time 0 is the start of the first kernel of the first step that the profiler marked, on whichever
 * rank, and the end is that of the last one; without marks all kernels are one step. */
#ifndef TY_PROFILE_RECORDING_H
#define TY_PROFILE_RECORDING_H

#include "sim/core/program/timeline.h"
#include "sim/trainyard.h"

struct ty_profile;

#define TY_REPLAY_ROWS 6u /* of a rank: computation, and five for what runs during it */

struct ty_recording {
    struct ty_profile *profile;
    struct ty_arena arena; /* owns the program and what follows */
    struct ty_program program;
    struct ty_timeline timeline;
    uint32_t *rank;   /* [n_ranks] number of each rank in its job, ascending */
    const char **gpu; /* [n_ranks] what its device is called, "" when that is not said */
    uint32_t n_ranks, world;
    uint64_t n_left_out;     /* kernels that found no free row */
    double computed_s;       /* by all ranks ... */
    double unphased_s;       /* ... of which nobody said in which phase */
    double product_flops;    /* of all ranks, in matrix products whose shapes were recorded */
    bool marked;             /* the profiler marked steps, on one rank at least */
    uint32_t n_unmarked;     /* ranks of a marked recording without marks: left out */
    uint32_t n_cut_steps;    /* of all ranks: only a part was written, or executed */
    bool group_unknown;      /* communication of a group whose name says nothing counts as data */
    int64_t base_ns, end_ns; /* by the profile's clock */
};

/* Whether the rank of that number in its job was measured. */
bool ty_recording_has(const struct ty_recording *recording, uint32_t rank);

#endif
