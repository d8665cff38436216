/* cuts_internal.h - shared by the files of cuts.h. Times in ps. */
#ifndef TY_PLAN_CUTS_INTERNAL_H
#define TY_PLAN_CUTS_INTERNAL_H

#include "sim/plan/bound_parts.h"
#include "sim/plan/cuts.h"
#include "sim/run/deal.h"

#define TY_CUT_CHAINS  16u
#define TY_CUT_MOMENTS TY_PLAN_PHASES /* the fullest in each phase */

/* A chain through a rank of one stage: so many of its passes, one after the other, with what comes
 * before and behind in other stages: all forwards of those before; forwards and backwards of those
 * behind, as often; backwards of those before, unless it ends with the rank. */
struct ty_cut_chain {
    uint32_t n[TY_PLAN_PHASES];
    uint32_t down, up; /* times that its own forward, its own backward is on the way */
    uint32_t behind;
    bool leaves;
};

/* What replicas say to each other, of a stage with certain layers. */
struct ty_cut_replicas {
    struct ty_plan_costs *costs;
    struct ty_layout layout;
    struct ty_plan_look look;
    bool waits;    /* whole backwards reduce, and wait for it */
    bool late;     /* reductions begin behind the last backward */
    double passes; /* that each reduce, */
    bool gathers;  /* and gather, on one stream */
    bool regains;  /* updated weights come back behind the optimizer */
};

struct ty_cut_stage {
    double own[TY_PLAN_PHASES]; /* what a pass takes of the rank beside its layers */
    double down, up;            /* and on the way to the next stage, and to the one before */
    double alone, with_send;    /* of a backward: less what it computes; and its message */
    double after, after_none;   /* behind its last pass: a chain that leaves; its own */
    uint32_t least;             /* layers */
    struct ty_cut_chain chain[TY_CUT_CHAINS];
    uint32_t n_chains;
};

/* All that is asked of a layout. */
struct ty_cut {
    uint32_t n_layers;
    uint32_t n_stages;            /* 0: of stages nothing is known, but of all together: */
    double mean;                  /* of the ranks' work, with what is before and behind it */
    double *time[TY_PLAN_PHASES]; /* [n_layers + 1] of the layers before, each at its least, */
    double *up;                   /* and of what the stage before waits for */
    struct ty_cut_stage *stage;   /* [n_stages] */
    /* What memory asks for: seconds are ps that a layer takes more in a mode, stages have room for
     * what is held at a moment. */
    struct ty_deal deal[TY_CUT_MOMENTS];
    uint32_t n_deals;
    struct ty_cut_replicas *replicas; /* NULL: there are none */
    double rest;                      /* norm and optimizer, */
    double update;                    /* of that the latter: of the mean rank */
};

/* ---- between the files that make it ---- */

#define TY_CUT_OWN 304u /* units of a stage beside layers, at most: model.mtp is 100 */

/* A layout with all layers in each mode, looked up. */
struct ty_cut_maker {
    struct ty_plan_costs *costs;
    const struct ty_arch *arch;
    struct ty_layout layout; /* in the first mode */
    struct ty_plan_look look;
    const struct ty_plan_layer *mode[TY_DEAL_MODES];  /* [n_modes] */
    const struct ty_plan_times *times[TY_DEAL_MODES]; /* [n_modes] */
    uint32_t n_modes, back;
    struct ty_plan_messages messages;
    struct ty_cut *cut;
    uint8_t *unit;      /* [n_layers] in the first mode */
    uint8_t *kind_of;   /* [n_layers] those without holes */
    uint8_t *unit_list; /* scratch: of all that a stage has */
    struct ty_deal_kind kind[TY_LAYER_KINDS];
    uint8_t unit_of[TY_LAYER_KINDS]; /* [n_kinds] */
    uint32_t n_kinds;
    struct ty_arena *arena;
    struct ty_err *err;
};

/* What a stage has beside layers. Returns how many units. */
uint32_t ty_cut_own(const struct ty_cut_maker *m, uint32_t stage, uint8_t unit[TY_CUT_OWN]);

/* A unit in a pass of a slice, in a mode; at its least; and what is behind its last computation, at
 * most. In a slot with another pass computation alone is known: bound.c. */
double ty_cut_ps(const struct ty_cut_maker *m, uint32_t mode, uint32_t unit, uint32_t phase,
                 uint32_t slice);
double ty_cut_least_ps(const struct ty_cut_maker *m, uint32_t unit, uint32_t phase);
double ty_cut_behind(const struct ty_cut_maker *m, uint32_t unit, uint32_t phase);

/* Bytes of a unit's tensors of a life, in a mode. */
double ty_cut_bytes(const struct ty_cut_maker *m, uint32_t mode, uint32_t unit,
                    enum ty_tensor_life life);

/* Bytes of a unit's weights, gradients and optimizer. */
double ty_cut_states(const struct ty_cut_maker *m, uint32_t unit);

/* cuts_ranks.c: the deals, of stages; one of ranks with several, where layers are equal. */
int ty_cut_rooms(struct ty_cut_maker *m);
int ty_cut_rank_rooms(struct ty_cut_maker *m);

/* The mean of struct ty_cut, where a micro-batch repeats so much; and how much that is at least, by
 * the rooms of ranks. */
double ty_cut_mean(const struct ty_cut_maker *m, double repeated);
int ty_cut_repeated(const struct ty_cut_maker *m, double *ps);

/* ---- for cuts.c ---- */

/* cuts_costs.c: what a layout's chains are made of, unless the mean of its ranks is behind the
 * limit already. *known: false where nothing is. */
int ty_cut_make(struct ty_plan_costs *costs, const struct ty_plan_space *space,
                const struct ty_plan_point *point, const struct ty_plan_modes *modes,
                double limit_ps, struct ty_cut *out, bool *known, struct ty_arena *arena,
                struct ty_err *err);

/* What the replicas of a stage with layers [from, to) say; NULL: no memory. */
const struct ty_plan_traffic *ty_cut_traffic(const struct ty_cut *cut, uint32_t s, uint32_t from,
                                             uint32_t to);

/* What the optimizer of a stage, and weights on their way back, take more than `rest` has. */
double ty_cut_update(const struct ty_cut *cut, uint32_t s, uint32_t from, uint32_t to,
                     const struct ty_plan_traffic *traffic);

/* cuts.c: the least over all cuts of the longest chain, less a millionth; HUGE_VAL: none fits. From
 * the limit on, the limit. TY_ENOMEM. */
int ty_cut_least(const struct ty_cut *cut, double limit_ps, double *ps, struct ty_arena *arena);

#endif
