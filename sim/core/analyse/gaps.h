/* gaps.h - replaying a timeline to say why compute streams were idle. */
#ifndef TY_CORE_ANALYSE_GAPS_H
#define TY_CORE_ANALYSE_GAPS_H

#include "sim/core/analyse/stats.h"

/* Operations of a block, from a computation on, of which those behind the first wait for nothing
 * but what is recorded among them. */
struct ty_gap_stretch {
    uint32_t first, end; /* end == 0: there are none */
    uint32_t last;       /* computation */
    uint32_t n_records;  /* operations that record an event last */
};

/* One that was walked, and what was idle within. */
struct ty_gap_walked {
    uint64_t row; /* 1 + that of its first operation; 0: none */
    uint32_t n_gaps;
};

/* Scratch of a replay; make it once, walk as often as needed. Owned by the arena. */
struct ty_gaps {
    const struct ty_timeline *timeline;
    uint32_t width; /* members that are visited at once: of the largest gang */
    uint32_t step;  /* from one member to the next that is visited: 1, unless the caller sets it */
    ty_ps *end, *from; /* [TY_EVENTS][width] */
    /* [TY_AWAITED][width] of the last so many collectives that are told apart: when a member was
     * ready, when all were */
    ty_ps *ready, *begun;
    uint32_t *send_ordinal;               /* [n_slots] */
    const struct ty_gap_stretch *stretch; /* [n_blocks] */
    const uint32_t *record;       /* of each block, from its first operation on: its n_records */
    struct ty_gap_walked *walked; /* [n_blocks] of the gang at hand */
    struct ty_gap *gap; /* of each block, from half of its first operation and its number on */
    ty_ps *over;        /* [n_tenants]: when each is done; [0] without tenants. Of a shortened
                             * timeline by its columns, without what was left out */
};

int ty_gaps_init(struct ty_gaps *gaps, const struct ty_timeline *timeline, struct ty_arena *arena);

/* Another of the same timeline, for another thread; it lives as long as the first. */
int ty_gaps_init_beside(struct ty_gaps *gaps, const struct ty_gaps *first, struct ty_arena *arena);

typedef void ty_gap_fn(void *arg, uint32_t member, const struct ty_gap *gap);

/* Visits the gaps of n members of a gang from the first on, `step` apart; those of one member
 * come in time order. Never calls visit with an empty gap. */
void ty_gaps_walk(struct ty_gaps *gaps, uint32_t gang, uint32_t first, uint32_t n, ty_gap_fn *visit,
                  void *arg);

#endif
