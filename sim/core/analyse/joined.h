/* joined.h - timelines of runs that know nothing of each other on one clock.
 *
 * The whole is a merged program (merge.h) with the starts that its parts had: each part is a
 * tenant, time 0 is the same for all. What is said of links is left out, as each part has its own.
 * So whatever reads a timeline reads several side by side. */
#ifndef TY_CORE_ANALYSE_JOINED_H
#define TY_CORE_ANALYSE_JOINED_H

#include "sim/core/program/timeline.h"

struct ty_beside_part {
    const char *name; /* stands before the names of its gangs; "": they keep theirs */
    const struct ty_timeline *timeline;
};

/* Parts that halted are halted in the whole. Its columns are new, to be released; the program is
 * the arena's, its kinds and names stay the parts'. TY_ENOMEM, or TY_ELIMIT when there are more
 * rows than can be numbered. */
int ty_timeline_beside(struct ty_timeline *out, const struct ty_beside_part *parts, uint32_t n,
                       struct ty_arena *arena, struct ty_err *err);

#endif
