/* answer.h - what a search found: the interface to those who print, draw or emit it. */
#ifndef TY_PLAN_ANSWER_H
#define TY_PLAN_ANSWER_H

#include "model/vocabulary.h"
#include "sim/plan/uneven.h"

/* A layout that was simulated in full, with contention. */
struct ty_plan_row {
    uint32_t row; /* number in the search, from 0: of all spaces one after the other */
    struct ty_plan_point point;
    double step_s, tokens_per_s, mfu, bubble_fraction;
    double peak_B, capacity_B;     /* of the fullest stage, and what its GPUs have */
    uint32_t stage;                /* which one that is */
    double bucket_s[TY_N_BUCKETS]; /* where the step goes, mean over GPUs */
};

/* How long a step of the Pareto set may be over the fastest. Beyond lie layouts that nobody would
 * take, tensor groups over many nodes, and their simulation is the longest. */
#define TY_PLAN_SLOWEST 1.5

/* The answer for one number of GPUs. */
struct ty_plan_result {
    struct ty_config *base;
    struct ty_plan_space space;
    struct ty_arena arena;         /* of both */
    uint32_t first;                /* number of its first row */
    uint32_t n_billed;             /* of space.n_points; fewer: it was interrupted */
    uint32_t n_fit;                /* of space.n_points, those that memory permits ... */
    uint32_t n_bounded;            /* ... of which a bound says that they are no answer */
    uint32_t n_simulated;          /* ... and that were simulated */
    const struct ty_plan_row *row; /* [n_rows] best first */
    uint32_t n_rows;
    const struct ty_plan_row *pareto; /* [n_pareto] no other is as fast with as little memory;
                                       * fastest first, up to TY_PLAN_SLOWEST times as long unless
                                       * memory is the objective */
    uint32_t n_pareto;
    uint32_t nearest; /* nothing fits: the point that lacks least ... */
    double nearest_peak_B, nearest_capacity_B;
    const char *nearest_away; /* the key of the room beside GPUs that it is; NULL: of a GPU */
};

enum ty_plan_objective {
    TY_PLAN_TIME,
    TY_PLAN_COST,
    TY_PLAN_MEMORY
};

struct ty_plan_answer {
    struct ty_plan_result *result; /* [n_results] in the order asked for */
    uint32_t n_results;
    enum ty_plan_objective objective;
    uint32_t best;                    /* the result whose first row is best of all */
    const struct ty_plan_row *pareto; /* [n_pareto] of all results: by time, memory, GPUs, cost */
    const uint32_t *pareto_of;        /* [n_pareto] the result of each */
    uint32_t n_pareto;
    struct ty_plan_uneven uneven; /* what dealing layers anew adds to that result */
    bool exact;                   /* nothing of the spaces was left undone */
    bool no_dice;                 /* chance was set aside (ty_trial_disable_noise) */
    uint32_t shard, n_shards;     /* rows i with i mod n_shards = shard; 0 of 1: all */
    double seconds;               /* that it took */
    struct ty_arena arena;
};

/* The point of the best result's fastest layout, whose stages may be unequal (uneven). */
static inline const struct ty_plan_point *ty_plan_best_point(const struct ty_plan_answer *answer)
{
    const struct ty_plan_result *best = &answer->result[answer->best];
    return answer->uneven.found ? &best->space.point[answer->uneven.point] : &best->row[0].point;
}

/* What a step costs, in the currency of fleet.price; 0: no price is given. */
static inline double ty_plan_cost(const struct ty_plan_result *result,
                                  const struct ty_plan_row *row)
{
    return result->base->fleet.price * ty_plan_gpus(&result->space) * row->step_s / 3600;
}

#endif
