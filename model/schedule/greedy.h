/* greedy.h - plays an order in time and lets weight gradients fill its holes.
 *
 * Schedules that split the backward pass leave open when weight gradients (W) run: nobody waits
 * for them, but a micro-batch holds its activations until its last one. Given the order of
 * forwards (F) and input gradients (I) of each rank and the durations, the player starts each pass
 * as soon as it can; a rank with nothing to start runs its oldest W, and so does a rank that may
 * hold no more. What ran when becomes the order of the schedule. */
#ifndef TY_MODEL_SCHEDULE_GREEDY_H
#define TY_MODEL_SCHEDULE_GREEDY_H

#include "model/schedule/schedule.h"

/* Whether a later F or I of the order may go before one that has to wait. */
enum ty_greedy_overtaking {
    TY_OVERTAKE_NEVER,
    TY_OVERTAKE_IDLE, /* if there is no W to run */
    TY_OVERTAKE_EAGER /* rather than run a W */
};

struct ty_greedy_rules {
    enum ty_greedy_overtaking overtaking;
    double patience; /* a rank waits for a pass that can start within this share of tW */
};

/* State of one play: columns by virtual stage and micro-batch, by rank, and by place in an order.
 * Lives in an arena; serves any number of plays of at most the shape it was made for.
 * At most 32 virtual stages per rank. */
struct ty_greedy {
    struct ty_sched_shape shape;
    struct ty_sched_times times;
    uint32_t cap;          /* pieces a rank may hold until W */
    double *end_f, *end_i; /* [stage * m + mb]; HUGE_VAL: not started */
    bool *moved;           /* [rank * per_rank + place]: ran before its turn */
    struct ty_slot *queue; /* [rank * per_rank + ..]: I whose W has not run yet, oldest first */
    struct ty_greedy_rank *rank; /* [p] */
    uint32_t *owner;             /* [stage] */
    double *first;               /* [2 * leaves]: when a rank can act; HUGE_VAL: asleep, done */
    uint32_t *acts;              /* [2 * leaves]: the rank that acts first of those below */
    uint32_t leaves;
    size_t per_rank; /* F and I of a rank */
    double slack;    /* times that differ by less are the same */
};

/* TY_ENOMEM. */
int ty_greedy_init(struct ty_greedy *greedy, enum ty_sched_placement placement,
                   const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                   uint32_t cap, struct ty_arena *arena, struct ty_err *err);

/* Plays `order` for m micro-batches and replaces `out` by what ran when. Returns the makespan, in
 * the unit of the times; HUGE_VAL: some rank waits for ever, or the makespan is found to exceed
 * `limit`, and `out` is useless. An order that can be run, and holds no more than `cap` pieces when
 * they are freed by I, ends under any rules. O(log p) per pass, and O(cap) when a rank has to
 * wait. */
double ty_greedy_play(struct ty_greedy *greedy, const struct ty_slots *order, uint32_t m,
                      const struct ty_greedy_rules *rules, double limit, struct ty_slots *out);

/* The makespan of an order that has its W, run as it stands; HUGE_VAL: some rank waits for ever. */
double ty_greedy_follow(struct ty_greedy *greedy, const struct ty_slots *order, uint32_t m);

#endif
