/* lower.h - from a layout to a program: what every rank of every stage issues.
 *
 *     schedule order of passes  x  blocks of operations  =  program
 *
 * One gang per pipeline rank holds all its tensor and data ranks. Blocks: the forward and the
 * backward of each stage, the backward that also reduces gradients, and the optimizer step. All
 * overlap comes out of the streams and events emitted here; there is no overlap ratio anywhere. */
#ifndef TY_MODEL_LOWER_H
#define TY_MODEL_LOWER_H

#include "model/block/memory.h"
#include "model/price/book.h"
#include "model/packing.h"
#include "model/routing.h"
#include "model/schedule/schedule.h"
#include "sim/core/program/program.h"
#include "topology/fabric/fabric.h"

/* How large a program is going to be, as far as its pipeline ranks are known. */
struct ty_lower_size {
    double ops;    /* of one member of each of them, over all steps */
    double most;   /* of the one that has most */
    double passes; /* of them, over all steps */
    double share;  /* of all layers that they hold */
    uint32_t members;
    bool flows; /* links are used */
};

/* layout.offload gemini: bytes that a rank has for what may live off its GPU: of its GPU, of the
 * memory of its node. */
struct ty_lower_room {
    double gpu_B, host_B;
};

struct ty_lower_input {
    const struct ty_cluster *cluster;
    const struct ty_fabric_options *fabric;
    const struct ty_arch *arch;
    const struct ty_layout *layout;
    const struct ty_sched_options *schedule;
    const struct ty_token_routing *routing; /* NULL: balanced */
    const struct ty_packing *packing;       /* NULL, or of no sequence: one document each */
    uint32_t steps;
    bool tiers; /* links lead to what is off GPUs: somebody keeps something there */
    const struct ty_lower_room *room; /* [pipeline] of a rank of each stage; NULL: nothing on the
                                       * GPU, everything in the node's memory (a warm-up) */
    bool messages; /* collectives are played message by message where they can be */
    uint64_t seed;
    bool window; /* ranks that tell what all do are enough, where others repeat them (window.c) */
    bool told;   /* their traffic is going to be reported: means over members are rounded as if all
                  * of them had been looked at */
    double jitter, gpu_spread;  /* coefficient of variation, standard deviation; 0: none */
    double slow_hosts, slow_by; /* share of nodes whose GPUs take so much longer; 0: none */
    /* Asked for each pipeline rank in turn when the passes of its first step are made, before those
     * of all others are: what is not 0 ends the lowering. NULL: nothing is too large. */
    int (*allow)(const void *arg, const struct ty_lower_size *size, struct ty_err *err);
    const void *allow_arg;
    struct ty_price_book *book; /* of layouts before, which `units` of the result leans on; NULL */
};

/* What routing brings to the members of a pipeline rank in one layer: rows of one pass. */
struct ty_layer_load {
    uint32_t layer;
    double *rows;        /* [members] that come to a member's experts */
    double *expert_rows; /* [groups][experts] of each expert; groups hold all of them once */
    double mean;         /* rows of a member when all get as many, nothing dropped */
    double dropped;      /* share of all rows: above the capacity of their experts */
};
/* Of the experts of a member: [experts / layout.expert] rows. */
const double *ty_layer_load_experts(const struct ty_layer_load *load,
                                    const struct ty_layout *layout, uint32_t experts,
                                    uint32_t member);

/* The largest load of a member over the mean, and whose. */
double ty_layer_load_most(const struct ty_layer_load *load, uint32_t members, uint32_t *where);

/* What a pipeline rank holds. */
struct ty_stage_plan {
    struct ty_layer_load *load; /* [n_loads] of its layers with experts; 0: all ranks get as much */
    uint32_t n_loads;
    const struct ty_units *units; /* what the model consists of there, a micro-batch at a time */
    struct ty_layers *chunk;      /* [n_chunks]: layers of each virtual stage it holds */
    uint32_t n_chunks, n_layers;
    uint32_t weight_copies;          /* of which it keeps, for schedules that do not flush */
    double params;                   /* trained, per rank, before data-parallel sharding */
    double experts;                  /* of these, parameters of experts, */
    double whole;                    /* those that every tensor rank has, */
    double ends;                     /* and those of embedding and head */
    double frozen;                   /* parameters beside these that are not trained */
    uint32_t count[TY_N_UNIT_KINDS]; /* its units */
    struct ty_state_bytes states, expert_states; /* all; of these, those of experts */
    double buffers_B, placeholders_B;
    double split_B;            /* the block that the allocator loses (ty_memory_split) */
    struct ty_away_bytes away; /* next to the GPU, of a rank; */
    double pinned_B;           /* and buffers on the way there; */
    double stashed_B;          /* activations at the fullest moment */
};

/* Which ranks are in a program: of a job, or those that tell what all of its ranks do, numbered
 * anew, with the links of their nodes only. Its nodes lie in stretches, side by side, each of which
 * comes `times` times: */
struct ty_window {
    uint32_t times;   /* ranks of the job that a rank of the program stands for */
    uint32_t stretch; /* nodes */
    bool *spread;     /* [groups of the program] of which it has one part of so many; NULL: none */
};
#define TY_WINDOW_ALL ((struct ty_window){1, UINT32_MAX, NULL})

/* The number in the cluster of a node of the window, or of its k-th like, k < times. */
static inline uint32_t ty_window_node(const struct ty_window *w, uint32_t node, uint32_t k)
{
    return w->times == 1 ? node
                         : (node / w->stretch * w->times + k) * w->stretch + node % w->stretch;
}

/* Result; everything is owned by the arena. */
struct ty_lowered {
    struct ty_program program; /* sealed; gang s is pipeline rank s */
    struct ty_grid grid;
    struct ty_fabric fabric;      /* whose links the program shares */
    struct ty_window window;      /* of all ranks, unless that was asked for */
    struct ty_stage_plan *stage;  /* [pipeline] */
    const struct ty_units *units; /* what the model consists of on the first stage */
};

int ty_lower(struct ty_lowered *out, const struct ty_lower_input *in, struct ty_arena *arena,
             struct ty_err *err);

#endif
