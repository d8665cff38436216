/* replay.h - steps of a replay: what kernels are called, in which rows and passes they are. */
#ifndef TY_PROFILE_REPLAY_H
#define TY_PROFILE_REPLAY_H

#include "model/vocabulary.h"
#include "sim/profile/read/profile.h"
#include "sim/profile/recording.h"

#define TY_REPLAY_DROPPED UINT8_MAX

/* A kernel that is replayed: which it is, its row (enum ty_stream) and pass. */
struct ty_replay_item {
    const struct ty_profile_kernel *kernel;
    int64_t start_ns, end_ns; /* the end is cut where clocks make neighbours overlap a little */
    uint8_t row, phase;       /* enum ty_stream or TY_REPLAY_DROPPED; enum ty_phase of its pass */
    bool begins;              /* a pass begins with it */
};

/* Gives every item a row, and rows names: names[TY_N_STREAMS]. Returns how many found none. 0 or
 * TY_ENOMEM in *rc. rows.c */
uint64_t ty_replay_rows(struct ty_replay_item *items, uint32_t n, const char **names,
                        struct ty_arena *arena, int *rc);

/* Says where passes begin. pause_ns: what computes nothing for longer ends a pass. passes.c */
void ty_replay_passes(struct ty_replay_item *items, uint32_t n, int64_t pause_ns);

/* ---- kinds.c ---- */

struct ty_replay_group {
    const char *name; /* "tp", "dp", "pp", "cp", "ep" */
    enum ty_category category;
    bool told; /* its name says so; else it counts as data */
};

#endif
