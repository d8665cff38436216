/* costs_internal.h - the tables behind costs.h. Times are picoseconds in doubles: whole numbers, so
 * that sums are exact. */
#ifndef TY_PLAN_COSTS_INTERNAL_H
#define TY_PLAN_COSTS_INTERNAL_H

#include "model/block/buckets.h"
#include "sim/plan/costs.h"
#include "sim/plan/unit_times.h"
#include "topology/exceptions.h"

/* Without a call, and of numbers only. */
static inline double ty_plan_larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- values by the bytes of their keys ---- */

struct ty_plan_entry {
    uint64_t hash;
    const void *key; /* NULL: free */
    void *value;
};
struct ty_plan_map {
    size_t key_size; /* keys have no padding, or padding of zeros */
    struct ty_plan_entry *entry;
    uint32_t n, cap;
    uint32_t last; /* entry that was found last: neighbours in a space have most in common */
};
/* NULL: it is not there. */
void *ty_plan_map_find(struct ty_plan_map *map, const void *key);
/* Both are the arena's. TY_ENOMEM. */
int ty_plan_map_add(struct ty_plan_map *map, const void *key, void *value, struct ty_arena *arena,
                    struct ty_err *err);

/* ---- where groups lie ---- */

/* How the groups of one kind lie: that of rank 0, and all ways there are, as many as matter. Each
 * of 32 GPUs of a node (ty_reach.places) may have its own group across nodes, in two ways. */
#define TY_PLAN_REACHES 64u
struct ty_plan_group {
    struct ty_reach first;
    struct ty_reach reach[TY_PLAN_REACHES]; /* [n] */
    uint32_t n; /* 0: there is no such group; more than there is room for: anything */
};

enum {
    TY_PLAN_NEAR = 1, /* some ranks of the stage have the next stage's on their node, */
    TY_PLAN_FAR = 2   /* some on another */
};
struct ty_plan_grid {
    const struct ty_plan_group *group[TY_N_COMM_GROUPS]; /* equal ones are one object */
    const struct ty_plan_group *norm, *ends;             /* ends: who has the same embedding */
    uint8_t *hop;     /* [pipeline]: to the next rank, the last to the first; TY_PLAN_NEAR, FAR */
    double *memory_B; /* [pipeline]: of the smallest GPU */
    double *slower; /* [pipeline]: what computation takes on the slowest GPU, by exceptions: 1 .. */
    bool used[TY_GENERATIONS_MAX];
};

/* ---- units of a micro-batch on a rank ---- */

#define TY_PLAN_SLICES 8u

struct ty_plan_unit {
    struct ty_stage_params params; /* norms included */
    bool cuts;                     /* woven, its backward is of several pieces */
};
/* What only those ask for whose layouts fit. */
struct ty_plan_times {
    struct ty_unit_times *unit[TY_N_UNIT_KINDS]; /* [slices] */
    struct ty_sched_times generator; /* what generators of orders are told, of one layer */
    double host_ps;                  /* the GPU waits before every pass of a pipeline */
};
struct ty_plan_layer {
    struct ty_plan_unit unit[TY_N_UNIT_KINDS];
    struct ty_placeholders placeholders;
    struct ty_tensor *tensor; /* [n_tensors] sums: one for each life in each kind of unit */
    uint32_t n_tensors;
    const struct ty_grads *grads; /* as the pieces go; what is added up depends on more than a
                                   * layer. Equal ones are one object */
    double hidden_B;              /* of a message between stages, whole */
    struct ty_plan_times *times;  /* NULL: nobody has asked for them */
    struct ty_plan_map stages;    /* struct ty_plan_stage, by type */
};

/* costs_times.c: those of a layer that the layout has; at most TY_PLAN_SLICES. NULL: no memory. */
const struct ty_plan_times *ty_plan_times(struct ty_plan_costs *costs,
                                          const struct ty_layout *layout,
                                          const struct ty_plan_grid *grid,
                                          struct ty_plan_layer *layer, uint32_t slices,
                                          struct ty_err *err);

/* The least time of a collective, without others on its links. 0 where groups lie anyhow. */
double ty_plan_collective_ps(struct ty_plan_costs *costs, const struct ty_plan_group *group,
                             enum ty_coll coll, double bytes);

/* ---- which units a virtual stage has, and their sums ---- */

struct ty_plan_type {
    uint32_t count[TY_N_UNIT_KINDS];
    uint32_t first, last;    /* kinds of the first and the last unit */
    struct ty_layers layers; /* of one such stage */
    uint8_t *unit;           /* [n_units] */
    uint32_t n_units;
};
struct ty_plan_deal {
    const struct ty_plan_type **stage; /* [stages] */
};

#define TY_PLAN_CHUNKS_MOST 128u /* most virtual stages of a rank: 64 of each direction */
#define TY_PLAN_PHASES      4u   /* forward, backward, its two parts */
struct ty_plan_stage {
    struct ty_stage_params params;
    double kept_B, waiting_B;       /* of a micro-batch: from forward to backward; between the
                                     * halves of a split one */
    double brief_B[TY_PLAN_PHASES]; /* while the pass runs */
    double split_B;                 /* the block that the allocator loses */
    bool in_bytes;                  /* all of these are whole numbers: their sums are exact */
    bool cuts;
    struct ty_unit_time *time; /* [slices][phases] of passes; NULL: nobody has asked for them */
};

/* Its times, once. */
static inline const struct ty_unit_time *ty_plan_time(const struct ty_plan_stage *stage,
                                                      uint32_t phase, uint32_t slice)
{
    return &stage->time[slice * TY_PLAN_PHASES + phase];
}

/* ---- costs_order.c: what the order of passes says, whatever they last ---- */

/* A place in a rank's order: before the first or the last pass of a kind. */
struct ty_plan_mark {
    uint16_t chunk;
    uint8_t phase, slice;
    bool first;              /* what is before it in time is known; else what comes after */
    uint32_t work, work_end; /* of ty_plan_rank.work: passes since the mark before it */
};
struct ty_plan_work {
    uint32_t pass; /* (chunk x slices + slice) x TY_PLAN_PHASES + phase */
    uint32_t n;
};

struct ty_plan_rank {
    uint16_t *stage; /* [n_chunks]: virtual stages it has */
    uint8_t *direction;
    uint32_t n_chunks;
    struct ty_plan_mark *mark; /* [n_marks] in order; the last is the end */
    uint32_t n_marks;
    uint32_t steady; /* the first mark of a last pass: what passes repeat is before it */
    struct ty_plan_work *work;
};
struct ty_plan_order {
    struct ty_sched_shape shape;
    const struct ty_sched *sched;
    bool paired, split; /* slots overlap; backwards are of two parts */
    uint32_t more;      /* micro-batches that are not in the work of ranks: each is one more pass of
                    * every kind before the mark `steady` */
    struct ty_plan_rank *rank; /* [p] */
    struct ty_plan_held *held; /* [p] */
};
/* Of each kind of work before a mark, what is not in its number. */
static inline uint32_t ty_plan_more(const struct ty_plan_order *order,
                                    const struct ty_plan_rank *rank, uint32_t i_mark)
{
    return i_mark == rank->steady ? order->more : 0;
}

/* layer: what a layer takes, for those that durations steer. NULL in *out: of the user's own. */
int ty_plan_order(struct ty_plan_costs *costs, const struct ty_sched_options *schedule,
                  const struct ty_sched_shape *shape, const struct ty_sched_times *layer,
                  const struct ty_plan_order **out, struct ty_err *err);

/* ---- costs_held.c: what is held when most is ---- */

/* A pass that holds most: no other of the same stage and phase holds as much of all. */
struct ty_plan_moment {
    uint16_t stage; /* index into those of struct ty_plan_held */
    uint8_t phase;
    uint32_t *kept, *waiting; /* [n_stages]: passes whose tensors are held, of split backwards
                               * between their halves */
};
/* Of a rank, by its virtual stages, or by kinds of them. */
struct ty_plan_held {
    uint16_t *stage; /* [n_stages]: one of each kind */
    uint32_t n_stages;
    struct ty_plan_moment *moment; /* [n_moments] */
    uint32_t n_moments;
};

/* By virtual stages. chunk_of[directions x stages]: of this rank. */
int ty_plan_held_read(const struct ty_plan_rank *rank, const struct ty_rank_slots *slots,
                      const uint32_t *chunk_of, uint32_t stages, struct ty_arena *arena,
                      struct ty_arena *scratch, struct ty_plan_held *out, struct ty_err *err);

/* ---- collectives of replicas (bound.c) ---- */

struct ty_plan_traffic {
    double reduce;  /* of all buckets of a stage */
    double exposed; /* of that, what is left when the backward is over */
    /* Where every backward reduces, and few buckets may be under way: until its last computation
     * ends, 0 where it waits for none of them; what is left of its reductions then. */
    double piled, piled_exposed;
    double regain; /* all-gathers of updated weights; ZeRO-3: of all weights, once; 0: none */
};

/* ---- costs.c ---- */

/* Of a space there is one for each ZeRO stage at most. */
#define TY_PLAN_FRAMEWORKS 8u

/* An order that durations steered. Neighbours in a space share so many in turns, one for each
 * schedule; more would hold memory that nobody asks for again. */
#define TY_PLAN_STEERED 8u
struct ty_plan_steered {
    unsigned char key[64];
    struct ty_plan_order *order; /* of the arena; NULL: none */
    struct ty_arena arena;
};

struct ty_plan_costs {
    const struct ty_config *base;
    struct ty_plan_costs *low; /* of micro-batches whose attention costs no more than that of any,
                                * for bounds of packed documents; NULL: none */
    bool known;                /* simulations last what is priced, or longer */
    struct ty_arena arena, scratch; /* the second: of what is being worked out */
    struct ty_units *units;         /* [2] scratch: of whole sequences, of slices */
    struct ty_plan_map groups, grids, layers, types, deals, orders, helds, traffics;
    struct ty_plan_map prices;                         /* of collectives */
    struct ty_plan_map grads;                          /* struct ty_grads, by themselves */
    struct ty_tensors *tensors;                        /* scratch: of a layer */
    struct ty_framework framework[TY_PLAN_FRAMEWORKS]; /* [n_frameworks] that were seen */
    uint32_t n_frameworks;
    uint8_t *unit_list;            /* scratch: kinds of all units of a model */
    struct ty_plan_deal *own_deal; /* scratch: of stages that a layout lists */
    uint32_t own_stages;
    struct ty_plan_stage **stage;           /* scratch: [n_stages] of the layout looked at last */
    const struct ty_plan_traffic **traffic; /* the same: [n_traffic] */
    double *times;                          /* scratch: [n_times] */
    size_t n_stages, n_traffic, n_times;
    struct ty_plan_steered steered[TY_PLAN_STEERED]; /* the latest first */
};

/* The number of a framework: layouts that have equal ones get the same. */
int ty_plan_framework(struct ty_plan_costs *costs, const struct ty_framework *framework,
                      uint32_t *number, struct ty_err *err);

/* All that a layout's verdict and bound need. */
struct ty_plan_look {
    const struct ty_plan_grid *grid;
    struct ty_plan_layer *layer;
    const struct ty_plan_deal *deal;
    const struct ty_plan_order *order; /* NULL: the user's own */
};
int ty_plan_look(struct ty_plan_costs *costs, const struct ty_layout *layout,
                 const struct ty_sched_options *schedule, struct ty_plan_look *out,
                 struct ty_err *err);

/* Sums of all virtual stages of a direction, [stages]: until they are asked for again. Those of
 * times as well where the times of the layer are given; NULL: nobody asks for them. */
int ty_plan_sums(struct ty_plan_costs *costs, const struct ty_plan_look *look,
                 const struct ty_plan_times *times, const struct ty_plan_stage *const **out,
                 struct ty_err *err);

/* costs_held.c: what ranks hold, [p], until it is asked for again. Of stages of one kind together,
 * where that gives the same sums; stage[stages]: sums of the layout. */
int ty_plan_held(struct ty_plan_costs *costs, const struct ty_plan_look *look,
                 const struct ty_plan_stage *const *stage, const struct ty_plan_held **out,
                 struct ty_err *err);

#endif
