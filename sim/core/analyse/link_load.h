/* link_load.h - what the communications of a program put on each link, and when.
 *
 * Each time a flow runs it moves, over each of its links, the rate it takes there times what its
 * operation takes alone after the lead. How much that is in a run does not depend on when things
 * happen: it is counted by kinds of operations, without looking at a task. When it happens comes
 * from a timeline: what one execution moves is spread over the time that it really took after its
 * lead. Either way no byte is lost.
 *
 * Spread evenly, which is exact where nothing is shared or a share stays the same; or, after a
 * replay, at the speeds it ran at as neighbours came and went. Without one, sums of means may lie
 * above what a link has. Of a collective that is played message by message, what a member sends is
 * spread evenly over its part of it. */
#ifndef TY_CORE_ANALYSE_LINK_LOAD_H
#define TY_CORE_ANALYSE_LINK_LOAD_H

#include "sim/core/execute/contention.h"
#include "sim/core/program/owners.h"
#include "sim/core/program/timeline.h"

/* What one execution of a kind by a member of its owner's gang puts on a link. */
struct ty_link_load_part {
    uint32_t kind, member;
    double bytes;
};

/* From t on a flow ran at this share of its full speed, until its next change or its end. */
struct ty_speed_change {
    ty_ps t;
    double speed;
    uint32_t next; /* 1 + index of the next one of that leader and stream; 0: none */
};

struct ty_link_load {
    const struct ty_program *program; /* whole, also when the timeline is of a folded one */
    const struct ty_owner *owner;     /* [n_kinds] */
    bool lockstep;  /* set by the caller: members of a gang do everything at the same times, so that
                    * one of them is looked at for all */
    uint32_t twins; /* set by the caller: the same of so many neighbours in a gang; 0: of none */
    uint64_t *times; /* [n_kinds] executions by a member of the owner's gang, all steps */
    double *bytes;   /* [n_links] in all steps */
    /* parts of link l: part[first_part[l] .. first_part[l + 1] - 1], by kind, then member */
    struct ty_link_load_part *part;
    uint32_t *first_part; /* [n_links + 1] */
    /* operations with flows of a block, lane by lane: numbers within the block */
    uint32_t *op;
    uint32_t *first_op; /* [n_blocks x n_lanes + 1] */
    /* of a replay; NULL: none */
    struct ty_speed_change *speed_change; /* [n_speed_changes] */
    uint32_t n_speed_changes, cap_speed_changes;
    uint32_t *first_lane;         /* [n_gangs + 1] */
    uint32_t *first_speed_change; /* [lanes] 1 + index of its first change */
};

/* Number of a lane of a member, in a replay. */
static inline uint32_t ty_link_load_lane(const struct ty_link_load *load, uint32_t gang,
                                         uint32_t member, uint8_t lane)
{
    return load->first_lane[gang] + member * load->program->n_lanes + lane;
}

/* Of a sealed program, which is borrowed. Owned by the arena; O(operations of blocks + uses). 0,
 * TY_ENOMEM, or TY_EBUG as ty_owners_find. */
int ty_link_load_init(struct ty_link_load *load, const struct ty_program *program,
                      struct ty_arena *arena, struct ty_err *err);

/* Finds the speeds of flows that shared links: `timeline` was executed with `shared` of the load's
 * program, or, members in lockstep, of its fold, which is then `program`. Does nothing where
 * messages are played. Kept by the arena. 0 or TY_ENOMEM. */
int ty_link_load_replay(struct ty_link_load *load, const struct ty_program *program,
                        const struct ty_contention *shared, const struct ty_timeline *timeline,
                        struct ty_arena *arena, struct ty_err *err);

/* From t on, until the next call, the links together carry Bps. Times increase; the last call has
 * 0. */
typedef void ty_link_load_fn(void *arg, ty_ps t, double Bps);

/* How some links fare together over a timeline of the program, or of its fold. Times of begin and
 * end are rounded down to whole multiples of `quantum` before bytes are spread. Nothing is called
 * for links that nobody uses. Memory in proportion to the flows that use the links at a time. 0 or
 * TY_ENOMEM. */
int ty_link_load_walk(const struct ty_link_load *load, const struct ty_timeline *timeline,
                      const uint32_t *links, uint32_t n, ty_ps quantum, ty_link_load_fn *visit,
                      void *arg, struct ty_err *err);

/* Of every link: out[n_links]: as measured while messages were played, else found by a walk. Links
 * that are used alike, at the same times, are followed once. */
int ty_link_load_peaks(const struct ty_link_load *load, const struct ty_timeline *timeline,
                       struct ty_link_load_peak *out, struct ty_err *err);

#endif
