/* internal.h - shared by the files that lower a layout; see lower.h. */
#ifndef TY_MODEL_LOWER_INTERNAL_H
#define TY_MODEL_LOWER_INTERNAL_H

#include "model/block/buckets.h"
#include "model/block/optimizer.h"
#include "model/issue/issue.h"
#include "model/lower/chunks.h"
#include "model/lower/comm.h"
#include "model/lower/lower.h"
#include "model/schedule/edges.h"
#include "model/vocabulary.h"
#include "model/zero.h"
#include "topology/exceptions.h"

/* Communication kinds of one pipeline rank. TY_NONE where the layout has none. */
struct ty_comm_kinds {
    /* By slot. Of an exchange whose pass may be woven: the kind after it overlaps computation. */
    uint16_t op[TY_N_UNIT_KINDS][TY_UNIT_OPS][TY_OP_COMMS];
    uint16_t gather[2];              /* tensor: messages that were sent in parts; TY_NONE */
    uint16_t norm_grads;             /* tensor: gradients of norms under sequence parallelism */
    uint16_t send[2][2], recv[2][2]; /* [0] activations, [1] gradients; to or from the next rank,
                                      * the previous rank */
    uint16_t grad_norm, expert_norm, tied, mirror;
    uint16_t
        muon[TY_MUON_GROUPS]; /* momentum of matrices: tensor and data group, the same of experts */
};

/* Kinds of one operator in one slice of a sequence (the whole, when there is one), TY_NONE where it
 * has no such pass. A full backward keeps what no collective separates in one operation. */
struct ty_op_kinds {
    uint16_t kind[TY_N_OP_PASSES];
    /* Of an operator in rounds `kind` is its first round, `next` the second, and `apart` how far
     * apart the kinds of further rounds are: 0 where they are alike. Of one in pieces `next` is any
     * piece, and `kind` what is left. */
    uint16_t next[TY_N_OP_PASSES], apart;
};
/* Gradients that travel together: reduced once the backward of a part has run, gathered (ZeRO-1,
 * -2) before its forward. A kind is TY_NONE where the layout has no such collective. */
struct ty_grad_bucket {
    uint8_t group; /* enum ty_comm_group */
    uint16_t reduce, regain;
    uint16_t replicate; /* hybrid sharding: the shard, between replicas */
    bool stays;         /* gemini: on the GPU, which updates it */
    /* of its reduction or leaving, and of the bucket before: two in turn, a stage ends with even */
    uint8_t event, before;
    double params;
    /* kinds of what the host does with its share: TY_NONE where it does not. Gradients go down, and
     * on to a drive; the optimizer's state is read, updated, written; parameters come up */
    uint16_t down, spill, read, update, write, up;
};

/* What gradients and weights wait for: the attention of a layer, its MLP or experts, or a whole
 * unit. Buckets are those that close in its backward. */
struct ty_unit_part {
    enum ty_part part;
    struct ty_grad_bucket bucket[TY_PIECES + 1u]; /* of the last part what is left, too */
    uint32_t n_buckets;
};

/* Kinds of a layer with experts that have different loads: those that layers share, or others. */
struct ty_routed_kinds {
    uint16_t comm[TY_UNIT_OPS][TY_OP_COMMS];
    struct ty_op_kinds (*slice)[TY_UNIT_OPS]; /* [2 x slices], as struct ty_gpu_mix has them */
};

/* Loads over the mean: of a member, and the largest of a rank and of a node that it exchanges rows
 * with. */
struct ty_member_load {
    double own, rank, node;
};

/* A unit of parameters: what ZeRO-3 gathers, and reduces as one bucket. */
struct ty_unit {
    enum ty_unit_kind kind;
    uint16_t layer;                     /* of layers: global number; else TY_NONE */
    uint16_t gather, gather_experts;    /* ZeRO-3: kinds of their all-gathers, else TY_NONE */
    uint16_t stash, stow, recall, back; /* of what it keeps, where that waits off the GPU */
    uint16_t read, fetch;        /* of parameters that live off the GPU: from a drive, to the GPU */
    bool stays;                  /* gemini: none of it ever leaves the GPU */
    struct ty_unit_part part[2]; /* [n_parts] in forward order */
    uint32_t n_parts;
    const struct ty_routed_kinds *routed; /* NULL: kinds of its like */
    const struct ty_layer_load *load;     /* NULL: all ranks get as much */
};

/* One virtual stage of one direction. */
struct ty_vstage {
    struct ty_unit *units; /* [n_units] in forward order */
    uint8_t *kinds;        /* [n_units] of them */
    uint32_t n_units;
    struct ty_stage_edges edges;
    uint32_t number; /* direction x stages + stage */
};

struct ty_compute_kinds {
    struct ty_op_kinds op[TY_N_UNIT_KINDS][TY_UNIT_OPS];
    uint16_t host[TY_N_PHASES]; /* the GPU waits for its host before a pass; TY_NONE: it does not */
};

/* The kinds of GPU among the members of a gang, and the kinds of computation of gangs that are
 * alike in this. */
struct ty_gpu_mix {
    uint8_t *generation;                 /* [members]; NULL: all the same */
    uint8_t used[TY_GENERATIONS_MAX];    /* [n_used] generations, that of member 0 first ... */
    uint32_t member[TY_GENERATIONS_MAX]; /* ... and a member with such a GPU */
    uint32_t n_used;
    struct ty_compute_kinds *slice;  /* [2 x slices]: alone, then in an overlapped slot */
    struct ty_packed_kinds **packed; /* [packs], NULL: not made yet; see packed.c */
};

/* Kinds of the attention of a micro-batch of packed documents, by kind of unit. */
struct ty_packed_kinds {
    uint32_t op[TY_N_UNIT_KINDS];                 /* UINT32_MAX: it has none */
    struct ty_op_kinds slice[2][TY_N_UNIT_KINDS]; /* alone, then in an overlapped slot */
};

/* ZeRO-3: parameters of its stage that a pass finds gathered. */
enum ty_found {
    TY_FOUND_NONE,
    TY_FOUND_LAST, /* the last unit: a backward right after a forward of the same stage */
    TY_FOUND_ALL,  /* the pass before was of the same chunk, and chunks are kept whole */
    TY_N_FOUND
};

/* Which block a pass needs. */
struct ty_block_want {
    const struct ty_vstage *v;
    const struct ty_vstage *partner; /* other half of a slot whose passes run one after the other */
    bool woven;                      /* half of a slot whose passes run over each other */
    enum ty_phase phase;
    uint32_t slice;
    uint32_t pack; /* whose documents: micro-batches of all steps; 0 where they do not differ */
    bool edge; /* the first forward of the stage in a step: parameters may have to be gathered; its
                * last backward: gradients are reduced */
    enum ty_found found;
    const bool *miss; /* gemini: [units] parameters that have to be brought; NULL: all. Equal ones
                       * of a rank are the same */
};

/* A group of ranks (model/parallel.h). */
struct ty_lower_group {
    uint16_t link;
    uint32_t times; /* parts like the one that the program has: 1, or those of the window */
    const struct ty_reach *at;    /* [ranks of the grid]; NULL: the layout has no such group */
    const struct ty_reach *reach; /* [members], of the pipeline rank being lowered */
};

/* The pipeline rank being lowered. */
struct ty_lower_rank {
    uint32_t rank;
    uint32_t *rank_of;             /* [members] */
    const struct ty_gpu_mix *gpus; /* what its members sit on */
    uint32_t first_kind;           /* kinds of communication depend on where it sits */
    struct ty_comm_kinds comm;
    uint16_t orthogonalize;      /* momentum of matrices; TY_NONE */
    uint16_t optimizer, host;    /* host: TY_NONE */
    uint32_t *block, *like;      /* made so far, and what they are copies of; see passes.c */
    struct ty_lower_pair *pairs; /* the same, of woven slots */
    uint32_t own_next;           /* of its collectives in the user's file */
    uint32_t own_first_block;    /* blocks from here on may be one of theirs */
    struct ty_lower_chunks chunks;
};

/* Costs of the members of a routed operator: [members] when all get as much, and as it is. */
struct ty_routed_scratch {
    struct ty_op_costs *mean, *now;
};

/* A forward and a backward over each other, in pieces; see pair.c. */
struct ty_lower_pair {
    struct ty_lower_pair *next;
    struct ty_block_want want[2]; /* forward, backward */
    uint32_t first[2], n[2];      /* blocks: the pieces of each */
};

/* The block being built, and the pass that it belongs to. */
struct ty_lower_block {
    const struct ty_compute_kinds *kinds;
    struct ty_issuer issuer;
    const struct ty_packed_kinds *packed; /* NULL: attention of all micro-batches is alike */
    const struct ty_unit *unit;           /* whose operators are issued */
    struct ty_modules *modules; /* ZeRO-3: matrices that it gathers one by one; NULL: units */
    bool fresh;                 /* nothing of the pass has been computed or is to be hidden */
    bool cut;                   /* the next operation begins a piece */
    bool last;                  /* gradients of the stage are complete when it ends */
    uint32_t behind[TY_EVENTS]; /* what each event has waited for itself: bit e is event e */
};

/* A window: ranks that tell what all do (window.c). */
struct ty_lower_window {
    const struct ty_grid *seen; /* its ranks; NULL: all are looked at */
    uint32_t *node_of, n_nodes; /* [nodes]: number among the n_nodes nodes of the window */
    struct ty_term *sent;       /* [2 x members] scratch; NULL: no window is told of */
    bool differs;               /* there must be none: what it stands for is not alike */
};

/* Shapes of pipeline ranks (lower.c). */
struct ty_lower_shapes {
    struct ty_lower_stage_shape *shape; /* [n]; NULL: all pipeline ranks are of one shape */
    uint32_t *of, n;                    /* of[p] */
};

/* Who communicates with whom (lower.c, own.c). */
struct ty_lower_links {
    struct ty_lower_group group[TY_N_COMM_GROUPS];
    /* [ranks]: those that hold one copy of the model's states; of its experts, where these are
     * others, else NULL */
    const struct ty_reach *norm_at, *expert_norm_at;
    struct ty_sched_edges edges;
    uint16_t norm_meet, expert_norm_meet, tied_meet;
    uint16_t *mirror_meet;    /* [p]: with whom a rank shares its weights, two-way schedules */
    struct ty_own_group *own; /* [n_own] of collectives in the user's file */
    uint32_t n_own;
};

/* Kinds of computation of all mixes of GPUs so far (gpus.c), and of those slowed by collectives
 * (overlap.c). */
struct ty_lower_gpus {
    struct ty_gpu_mix *mix; /* [n] */
    uint32_t n;
    uint32_t first_slowed; /* kinds from here on may be of computation during collectives */
    uint16_t slowed_by_overlap[64]; /* by what they are made of, the last of such; 0: none */
};

/* A layout that is being lowered. */
struct ty_lowering {
    /* what does not change once the first pipeline rank is lowered, but from shape to shape */
    const struct ty_lower_input *in;
    const struct ty_sched *sched;
    struct ty_sched_shape shape;
    const struct ty_zero *zero;
    const struct ty_prices *prices;
    uint32_t most_members; /* ranks of the largest gang */
    uint32_t members;      /* ranks per gang, of the window where there is one */
    bool weaves;           /* passes of a slot run over each other; else one after the other: */
    size_t n_partners;     /* 1, or 1 + virtual stages when slots overlap */
    uint32_t n_packs;      /* micro-batches of all steps that differ; 1: they do not */
    struct ty_lower_window window;
    struct ty_lower_shapes shapes;
    struct ty_lower_links links;

    /* what grows from rank to rank */
    struct ty_builder b;
    struct ty_arena *arena;
    struct ty_lowered *out;
    struct ty_lower_gpus gpus;
    struct ty_vstage *vstage;     /* [directions x stages]; filled rank by rank */
    struct ty_lower_size size;    /* so far */
    struct ty_coll_cost *cost_of; /* [members]: scratch */
    struct ty_routed_scratch routed;
    uint32_t node_ranks; /* on a node, all stages; 0: not counted yet */

    struct ty_lower_rank here;
    struct ty_lower_block emit;
};

static inline struct ty_route ty_route_group(const struct ty_lower_group *group)
{
    return (struct ty_route){.of = TY_ROUTE_GROUP, .group = group->link, .times = group->times};
}

static inline bool ty_lower_is_hybrid(const struct ty_lowering *l)
{
    return ty_layout_replicas(l->in->layout) > 1;
}

static inline bool ty_lower_is_mesh(const struct ty_lowering *l)
{
    return ty_layout_is_mesh(l->in->layout);
}

static inline bool ty_lower_has_tensor(const struct ty_lowering *l)
{
    return l->in->layout->tensor > 1;
}

/* Virtual stages of both directions. */
static inline uint32_t ty_lower_n_vstages(const struct ty_lowering *l)
{
    return ty_sched_directions(l->sched->placement) * ty_sched_stages(&l->shape);
}

/* Virtual stage number of an atom. */
static inline uint32_t ty_lower_vstage_of(const struct ty_lowering *l, const struct ty_slot *slot)
{
    return slot->direction * ty_sched_stages(&l->shape) + slot->stage;
}

/* gpus.c: prices of the layout, as l->prices. Need the grid and where groups lie. */
int ty_lower_price(struct ty_lowering *l);

/* lower.c: groups, for each shape of a pipeline rank, and meetings, before any rank; those of
 * two-way schedules, in which rank r and rank p - 1 - r hold the same two stages; where the groups
 * of all ranks lie. Need the grid. */
/* Whether a rank has anyone in its group. */
bool ty_lower_is_shared(const struct ty_lowering *l, enum ty_comm_group group);

/* gpus.c: kinds of computation with their durations. Finds what GPUs the members of l->here.rank
 * have, as l->here.gpus, and makes the kinds of such a gang when it is the first. Needs
 * l->here.rank_of. */
int ty_lower_gpus(struct ty_lowering *l);
/* The kind of GPU that a rank sits on: 0 is the cluster's own. */
uint32_t ty_lower_generation(const struct ty_lowering *l, uint32_t rank);
/* Durations of a kind from those on each GPU in use: [l->here.gpus->n_used]. */
void ty_lower_durations(struct ty_lowering *l, const ty_ps *dur, struct ty_kind *kind);
/* A kind that costs cost[generation]. */
uint16_t ty_lower_compute_kind(struct ty_lowering *l, const char *name, enum ty_category category,
                               enum ty_phase phase, const struct ty_cost *cost);
/* The optimizer step over so many parameters. */
uint16_t ty_lower_optimizer_kind(struct ty_lowering *l, double params);
uint16_t ty_lower_host_kind(struct ty_lowering *l); /* at the end of a step; may be TY_NONE */

/* routed.c: all passes of an operator, from the kinds `k` of others like it, where members have the
 * costs of `s`; `work`: FLOPs over those of these kinds. */
void ty_lower_kinds_like(struct ty_lowering *l, const struct ty_unit_op *op, double by, double work,
                         const struct ty_routed_scratch *s, uint16_t kind[TY_N_OP_PASSES]);
/* Room for costs of members; NULL: no memory, which is noted. */
struct ty_routed_scratch *ty_lower_scratch(struct ty_lowering *l);
/* packed.c: whether micro-batches differ in documents; kinds of one; NULL: no memory. */
bool ty_lower_is_packed(const struct ty_lowering *l);
const struct ty_packed_kinds *ty_lower_packed(struct ty_lowering *l, uint32_t pack);

/* routed.c: kinds of the layers of a stage whose experts have different loads. Needs those that
 * layers share. */
int ty_lower_route(struct ty_lowering *l, struct ty_vstage *v);

/* steps.c: the messages of a collective, where run.detail asks for them, into kind->script
 * and kind->first_flow; cost[members]: of all its calls, with the links to itself. False: it is one
 * flow, because its algorithm has no messages (sums in switches, measured times), groups differ, or
 * it is between pipeline ranks. */
bool ty_lower_script(struct ty_lowering *l, struct ty_kind *kind, const struct ty_collective *c,
                     const struct ty_coll_cost *cost);

/* kinds.c: kinds of communication of the pipeline rank l->here.rank. What fails is remembered by
 * the builder; the kind returned then is never used. */
uint16_t ty_lower_add_kind(struct ty_lowering *l, const struct ty_kind *kind);
/* A collective of a group, made once; what has a root has each member for it in turn. */
uint16_t ty_lower_group_kind(struct ty_lowering *l, const struct ty_priced_comm *what);
/* What moves rows of experts, where members have different loads: [members]. `like`: as layers
 * share it, which is kept where it holds. */
uint16_t ty_lower_loaded_kind(struct ty_lowering *l, const struct ty_priced_comm *what,
                              uint16_t like, const struct ty_member_load *load);
/* A collective of equal members of several pipeline ranks. */
struct ty_stages {
    const char *name; /* one for all collectives of the group */
    const uint32_t *rank;
    uint32_t n;
};
/* lower.c: the GPU, and its node, of what corresponds to a member on another pipeline rank;
 * where the groups of all members lie: [members], NULL: no memory. */
uint32_t ty_lower_gpu_on(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank);
const struct ty_reach *ty_lower_stages_reaches(struct ty_lowering *l,
                                               const struct ty_stages *stages);
uint16_t ty_lower_stages_kind(struct ty_lowering *l, const struct ty_stages *stages,
                              enum ty_coll coll, enum ty_phase phase, double bytes);
ty_ps ty_lower_ps(struct ty_lowering *l, double seconds);
int ty_lower_rank_kinds(struct ty_lowering *l);

/* units.c: parameters of a stage, in units and buckets. */
int ty_lower_units(struct ty_lowering *l, uint32_t stage, struct ty_vstage *out);

/* emit.c: single operations. A new block, the first of a pass. */
uint32_t ty_lower_begin(struct ty_lowering *l, const struct ty_block *block);
/* The next computation waits for `event` (as last recorded when it is issued). */
static inline void ty_lower_need(struct ty_lowering *l, uint8_t event)
{
    ty_issuer_need(&l->emit.issuer, event);
}
/* The same, of an event that either half of an earlier pair may have recorded. */
void ty_lower_need_either(struct ty_lowering *l, uint8_t event);
void ty_lower_emit(struct ty_lowering *l, struct ty_op op, const uint8_t *waits, uint32_t n_waits);
/* A computation: waits for what is needed, and records `record`. */
void ty_lower_compute(struct ty_lowering *l, uint16_t kind, uint16_t layer, enum ty_part part,
                      uint8_t record);
/* A collective of a group, after `waits`. */
void ty_lower_collective(struct ty_lowering *l, enum ty_comm_group group, uint16_t kind,
                         uint16_t layer, enum ty_part part, uint8_t record, const uint8_t *waits,
                         uint32_t n_waits);

/* The operations of a part of a unit, in one kind of pass: `issue` is of model/issue/issue.h. */
void ty_lower_part(struct ty_lowering *l, const struct ty_unit *unit, enum ty_part part,
                   ty_issuer_part_fn *issue);

/* block.c: collectives between replicas. A pass begins with ty_lower_gather_begin, once its
 * first computation may start, and calls ty_lower_gather before each part in the order of use:
 * number 2 unit + part forward, from the last to the first backward. */
struct ty_gathers {
    const struct ty_block_want *want;
    uint32_t ahead; /* gathers issued before they are needed */
    uint32_t at, issued, used;
};
void ty_lower_gather_begin(struct ty_lowering *l, struct ty_gathers *g,
                           const struct ty_block_want *want);
void ty_lower_gather(struct ty_lowering *l, struct ty_gathers *g, uint32_t at);
/* modules.c: where parameters are gathered matrix by matrix; before an operator computes; all of a
 * unit whose parameters come from the host, false: there are none. */
void ty_lower_modules_begin(struct ty_lowering *l, const struct ty_block_want *want);
void ty_lower_use(struct ty_lowering *l, uint32_t op, enum ty_op_pass pass);
bool ty_lower_gather_modules(struct ty_lowering *l, const struct ty_unit *unit, uint8_t event,
                             const uint8_t *waits, uint32_t n_waits);
/* ZeRO-3: the computation waits for all reductions issued so far. */
/* Gemini: for those that stay on the GPU. */
/* ZeRO-2, before a pass that reduces those of a run: the run before has been reduced, so that the
 * gradients of no more than two chunks are whole. */
/* Whether a pass reduces the gradients it makes. */
/* Buckets that close in the backward of part `k` of unit `u`; all those of a stage. */
/* After the last backward of a rank: what no backward has reduced. */
/* Before a forward: parameters that came back at the end of the last step; ZeRO-1 and -2: and were
 * gathered. */
/* Whether updated parameters come back during the next forward pass. */
/* After the optimizer: they are gathered, unless the next forward does. */
void ty_lower_regain_bucket(struct ty_lowering *l, const struct ty_grad_bucket *bucket,
                            uint16_t layer);

/* overlap.c: slows the computations of finished blocks, issued in this order, that run during
 * collectives. */
void ty_lower_overlap(struct ty_lowering *l, const uint32_t *block, uint32_t n);

/* pair.c: the passes of a slot over each other: forward, backward. */
void ty_lower_pair(struct ty_lowering *l, const struct ty_block_want want[2],
                   struct ty_pass pass[2]);

/* order.c: passes of an order [order->n]: edges, the first forward and the last backward of a stage
 * in each step, m micro-batches; what each finds gathered. NULL: no memory. */
bool *ty_lower_edges(struct ty_lowering *l, const struct ty_rank_slots *order, uint32_t m);
enum ty_found *ty_lower_gathered_at_pass(struct ty_lowering *l, const struct ty_rank_slots *order,
                                         const bool *edge);
/* Whether a pass is an edge, or ends a run after which gradients are reduced. */
bool ty_lower_is_edge(const struct ty_lowering *l, const struct ty_rank_slots *order,
                      const bool *edge, uint32_t i);

/* own.c: collectives that the user's schedule file asks for. Their groups, before any rank;
 * at the start of each step of a rank; and those that stand behind its first `after` atoms, whose
 * passes are built already. */
int ty_lower_own_groups(struct ty_lowering *l, const struct ty_slots *slots);
void ty_lower_own_begin(struct ty_lowering *l);
void ty_lower_own(struct ty_lowering *l, const struct ty_rank_slots *order, uint32_t after);

/* lower.c: whether virtual stage k (direction x stages + stage) sits on this rank. */
bool ty_lower_is_mine(const struct ty_lowering *l, uint32_t k);

/* passes.c: orders of all ranks; the passes of one; what the pass of a slot wants. */
int ty_lower_orders(struct ty_lowering *l, struct ty_slots *slots);
int ty_lower_passes(struct ty_lowering *l, const struct ty_rank_slots *order, uint32_t block);
struct ty_block_want ty_lower_want(const struct ty_lowering *l, const struct ty_slot *slot,
                                   bool edge, enum ty_found found);

/* block.c: leaves of what is wanted only what matters in this layout. */
void ty_lower_plain(const struct ty_lowering *l, struct ty_block_want *want);
/* Another block with the operations of one. */
uint32_t ty_lower_again(struct ty_lowering *l, uint32_t block);
/* Whole passes. Returns the index of the block. */
uint32_t ty_lower_block(struct ty_lowering *l, const struct ty_block_want *want);
uint32_t ty_lower_meeting(struct ty_lowering *l, uint16_t kind, uint16_t meet);
uint32_t ty_lower_step(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n);

#endif
