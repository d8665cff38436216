/* answer.h - what a search found: the interface to those who print, draw or emit it. */
#ifndef TY_PLAN_ANSWER_H
#define TY_PLAN_ANSWER_H

#include <math.h>

#include "model/vocabulary.h"
#include "sim/plan/uneven.h"
#include "sim/sweep/band.h"

/* A layout that was simulated in full, with contention. */
struct ty_plan_row {
    uint32_t row; /* number of the layout, from 0, counted through all spaces */
    struct ty_plan_point point;
    double step_s, tokens_per_s, mfu, bubble_fraction;
    double peak_B, capacity_B;     /* of the fullest stage, and of its GPUs */
    uint32_t stage;                /* the fullest */
    double bucket_s[TY_N_BUCKETS]; /* seconds of the step in each bucket, mean over GPUs */
};

/* The longest step of the Pareto set, over the fastest. Slower layouts, such as tensor groups over
 * many nodes, are of no use and take longest to simulate. */
#define TY_PLAN_SLOWEST 1.5

/* The answer for one number of GPUs, and one value of a key that is no layout's. */
struct ty_plan_result {
    const char *set; /* "model.lora.rank=8"; NULL: the file gives all values */
    struct ty_config *base;
    struct ty_source source; /* that base was read from */
    struct ty_plan_space space;
    struct ty_arena arena; /* of base and space */
    uint32_t first;        /* number of its first row */
    uint32_t n_screened;   /* points whose memory is known; fewer: interrupted */
    uint32_t n_fit;        /* points that fit */
    uint32_t n_bounded;    /* points that fit and that a bound rules out */
    uint32_t n_simulated;  /* points that fit and had to be simulated */
    double
        left_s; /* what none of those that are left undecided can beat; 0: not known, or none is */
    const struct ty_plan_row *row; /* [n_rows] best first */
    uint32_t n_rows;
    const struct ty_plan_row *tight; /* [n_tight] without the margin, but ahead of the last row */
    uint32_t n_tight;
    /* [n_pareto] Layouts to which no other is as fast with as little memory, fastest first. Ends at
     * TY_PLAN_SLOWEST, unless memory is the objective. */
    const struct ty_plan_row *pareto;
    uint32_t n_pareto;
    /* Where nothing fits: the point that lacks least memory, what it needs and has, and the key of
     * that capacity (NULL: of a GPU). */
    uint32_t nearest;
    double nearest_peak_B, nearest_capacity_B;
    const char *nearest_away;
};

enum ty_plan_objective {
    TY_PLAN_TIME,
    TY_PLAN_COST,
    TY_PLAN_MEMORY
};

/* How sure a row is: its step, and the gap to the first row. */
struct ty_plan_sure {
    struct ty_band_ends step;
    struct ty_band_gap gap;
};

struct ty_plan_answer {
    struct ty_plan_result *result; /* [n_results] in the order asked for */
    uint32_t n_results;
    enum ty_plan_objective objective;
    uint32_t best;                  /* index of the result whose first row is best */
    const struct ty_plan_row *rank; /* [n_rank] the best, best first: of all values of a key, */
    const uint32_t *rank_of;        /* [n_rank] and the result of each; NULL: of the best result */
    uint32_t n_rank;
    const struct ty_plan_row *pareto; /* [n_pareto] of all results, by time, memory and GPUs */
    const uint32_t *pareto_of;        /* [n_pareto] index of the result of each */
    uint32_t n_pareto;
    struct ty_plan_uneven uneven;    /* what unequal stages add to the best result */
    const struct ty_plan_sure *sure; /* [rows of the best result]; NULL: not asked for */
    bool exact;                      /* no search was interrupted */
    bool no_noise;                   /* without jitter and the like (ty_trial_disable_noise) */
    uint32_t shard, n_shards;        /* rows i with i mod n_shards = shard; 0 of 1: all */
    double seconds;                  /* of the whole plan */
    struct ty_plan_own { /* the file as it stands; step_s 0: it is no layout of its own */
        double step_s, peak_B;
        bool fits, tight;
    } own;
    struct ty_arena arena;
};

/* Returns the point of the best result's fastest layout, whose stages may be unequal (uneven). */
static inline const struct ty_plan_point *ty_plan_best_point(const struct ty_plan_answer *answer)
{
    const struct ty_plan_result *best = &answer->result[answer->best];
    return answer->uneven.found ? &best->space.point[answer->uneven.point] : &best->row[0].point;
}

/* Returns the share of the best step that a layout left undecided could gain at most; -1: exact, or
 * not known. */
static inline double ty_plan_gap(const struct ty_plan_answer *answer)
{
    const struct ty_plan_result *best = &answer->result[answer->best];
    const bool known = answer->n_results == 1 && best->left_s > 0 && best->n_rows > 0;
    return known ? fmax(0, 1 - best->left_s / best->row[0].step_s) : -1;
}

/* Returns the cost of a step in the currency of fleet.price; 0: no price is given. */
static inline double ty_plan_cost(const struct ty_plan_result *result,
                                  const struct ty_plan_row *row)
{
    return result->base->fleet.price * ty_plan_gpus(&result->space) * row->step_s / 3600;
}

#endif
