/* replay.h - a measured profile as a program and its timeline, as if an executor had made it.
 *
 *     struct ty_profile --replay_rows--> kernels in rows without overlap
 *                       --replay_passes--> stretches of a phase
 *                       --replay--> struct ty_program (observed), struct ty_timeline
 *
 * A gang is a rank, an operation is a kernel, and its start and duration are what was measured.
 * Time 0 is the start of the first kernel of the first step that the profiler marked, on whichever
 * rank, and the end is that of the last one; without marks all kernels are one step. */
#ifndef TY_PROFILE_REPLAY_H
#define TY_PROFILE_REPLAY_H

#include "sim/core/program/timeline.h"
#include "sim/trainyard.h"
#include "sim/profile/read/profile.h"

struct ty_recording {
    struct ty_profile *profile;
    struct ty_arena arena; /* owns the program and what follows */
    struct ty_program program;
    struct ty_timeline timeline;
    uint32_t *rank; /* [n_ranks] number of each rank in its job, ascending */
    uint32_t n_ranks, world;
    uint64_t n_left_out;     /* kernels that found no free row */
    double computed_s;       /* by all ranks ... */
    double unphased_s;       /* ... of which nobody said in which phase */
    bool marked;             /* the profiler marked steps, on one rank at least */
    uint32_t n_unmarked;     /* ranks of a marked recording without marks: left out */
    bool group_unknown;      /* communication of a group whose name says nothing counts as data */
    int64_t base_ns, end_ns; /* by the profile's clock */
};

/* Whether the rank of that number in its job was measured. */
bool ty_recording_has(const struct ty_recording *recording, uint32_t rank);

/* ---- steps of a replay ---- */

#define TY_REPLAY_DROPPED UINT8_MAX

/* A kernel that is replayed: which it is, its row (enum ty_stream) and pass. */
struct ty_replay_item {
    const struct ty_profile_kernel *kernel;
    int64_t start_ns, end_ns; /* the end is cut where clocks make neighbours overlap a little */
    uint8_t row, phase;       /* enum ty_stream or TY_REPLAY_DROPPED; enum ty_phase of its pass */
    bool begins;              /* a pass begins with it */
};

/* Gives every item a row, and rows names: names[TY_N_STREAMS]. Returns how many found none. 0 or
 * TY_ENOMEM in *rc. */
uint64_t ty_replay_rows(struct ty_replay_item *items, uint32_t n, const char **names,
                        struct ty_arena *arena, int *rc);

/* Says where passes begin. pause_ns: what computes nothing for longer ends a pass. */
void ty_replay_passes(struct ty_replay_item *items, uint32_t n, int64_t pause_ns);

#endif
