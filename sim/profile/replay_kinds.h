/* replay_kinds.h - names of measured kernels, and whom they connect. */
#ifndef TY_PROFILE_REPLAY_KINDS_H
#define TY_PROFILE_REPLAY_KINDS_H

#include "sim/core/program/program.h"
#include "sim/profile/read/profile.h"

struct ty_replay_group {
    const char *name; /* "tp", "dp", "pp", "cp", "ep" */
    enum ty_category category;
    bool told; /* its name says so; else it counts as data */
};

/* Of a kernel that communicates. */
struct ty_replay_group ty_replay_group_of(const struct ty_profile *profile,
                                          const struct ty_profile_rank *rank,
                                          const struct ty_profile_kernel *kernel);

/* What its name is made of: equal numbers, equal names. */
uint32_t ty_replay_name_text(const struct ty_profile_rank *rank,
                             const struct ty_profile_kernel *kernel);

/* Letters, blanks and hyphens; NULL: no memory. */
const char *ty_replay_name(const struct ty_profile *profile, const struct ty_profile_rank *rank,
                           const struct ty_profile_kernel *kernel, struct ty_arena *arena);

#endif
