/* schedule.h - pipeline schedules: in which order a rank runs its passes.
 *
 * A schedule is an order of slots per rank and nothing else. What a slot expands to (layers,
 * collectives), what it costs and where messages go are other modules' business; dependencies are
 * implied by micro-batch, stage, direction and slice, never stored:
 *
 *     F(mb, s, q)    after F(mb, s - 1, q) and F(mb, s, q - 1)
 *     B, I(mb, s, q) after F(mb, s, q), B or I(mb, s + 1, q) and B or I(mb, s, q + 1)
 *     W(mb, s, q)    after I(mb, s, q)
 *
 * A schedule is one file <name>.c ending in one descriptor, and one row below. */
#ifndef TY_MODEL_SCHEDULE_SCHEDULE_H
#define TY_MODEL_SCHEDULE_SCHEDULE_H

#include "sim/core/program/vocabulary.h"
#include "sim/document/fields.h"

/* descriptor suffix, name */
#define TY_SCHEDULES(X)                                                                            \
    X(gpipe, "gpipe")                                                                              \
    X(1f1b, "1f1b")                                                                                \
    X(eager_1f1b, "eager-1f1b")                                                                    \
    X(interleaved, "interleaved")                                                                  \
    X(bfs, "bfs")                                                                                  \
    X(zb_1p, "zb-1p")                                                                              \
    X(zb_2p, "zb-2p")                                                                              \
    X(zb_v, "zb-v")                                                                                \
    X(v_half, "v-half")                                                                            \
    X(v_min, "v-min")                                                                              \
    X(interleaved_zb, "interleaved-zb")                                                            \
    X(chimera, "chimera")                                                                          \
    X(dualpipe, "dualpipe")                                                                        \
    X(dualpipev, "dualpipev")                                                                      \
    X(seq1f1b, "seq1f1b")                                                                          \
    X(terapipe, "terapipe")                                                                        \
    X(pipedream, "pipedream")                                                                      \
    X(pipedream_2bw, "pipedream-2bw")

/* Number of ranks and pieces. m counts the micro-batches of both directions. */
struct ty_sched_shape {
    uint32_t p;      /* pipeline ranks */
    uint32_t m;      /* micro-batches */
    uint32_t v;      /* virtual stages (model chunks) per rank */
    uint32_t group;  /* interleaved: micro-batches that go through a chunk together; zb-1p: that
                      * wait for weight gradients at most; 0: p */
    uint32_t slices; /* slices of a sequence; 1: whole sequences */
};

/* Where stages sit. Virtual stages are numbered 0 .. p v - 1 in the order a micro-batch visits. */
enum ty_sched_placement {
    TY_PLACE_LOOPED, /* stage s on rank s mod p */
    TY_PLACE_V,      /* v = 2: down the ranks and back: stage s on rank min(s, 2 p - 1 - s) */
    TY_PLACE_TWO_WAY /* v = 1, two copies: stage s of direction 0 on rank s, of 1 on p - 1 - s */
};

/* One pass of one micro-batch through one stage. Two atoms form one overlapped slot when the first
 * has `paired` set: it is a forward, the second a backward, and both deliver at the slot's end. */
struct ty_slot {
    uint16_t mb;       /* micro-batch, 0-based, within its direction */
    uint16_t stage;    /* virtual stage, in its direction */
    uint8_t phase;     /* enum ty_phase: FORWARD, BACKWARD, DGRAD, WGRAD */
    uint8_t direction; /* 0, or 1 for the second pipe of a two-way schedule */
    uint8_t slice;
    bool paired;
};
_Static_assert(sizeof(struct ty_slot) == 8, "a slot is 8 bytes");

/* A collective between pipeline ranks that the user's file asks for: each of them with those of the
 * others that have its tensor, context and data coordinates. It is issued at the end of the pass
 * before it; the optimizer waits for it. */
struct ty_rank_span {
    uint32_t first, last;
};
struct ty_slot_coll {
    uint32_t after;                   /* atoms before it on its rank, at least one */
    uint8_t coll;                     /* enum ty_coll (topology/collectives/coll.h) */
    uint32_t n_ranks;                 /* whom it connects, at least two ... */
    const struct ty_rank_span *spans; /* ... [n_spans], ascending, not adjacent; */
    uint32_t n_spans;
    const char *ranks; /* the same as "0-1,3": equal texts are equal groups */
    double bytes;      /* size as nccl-tests mean it */
};

/* The orders of all ranks. Owned by the arena it was built in. */
struct ty_rank_slots {
    struct ty_slot *slot; /* [cap] */
    uint32_t n, cap;
    const struct ty_slot_coll *coll; /* [n_colls] by `after`; a file's only */
    uint32_t n_colls;
};
struct ty_slots {
    struct ty_rank_slots *rank; /* [p] */
    uint32_t p;
};

/* Room for every atom a shape can have (F, I and W of each piece on each rank). TY_ENOMEM. */
int ty_slots_init(struct ty_slots *slots, const struct ty_sched_shape *shape,
                  struct ty_arena *arena, struct ty_err *err);

/* Appends to a rank's order; generators never exceed the room. */
static inline void ty_slots_add(struct ty_slots *slots, uint32_t rank, enum ty_phase phase,
                                uint32_t mb, uint32_t stage)
{
    struct ty_rank_slots *r = &slots->rank[rank];
    r->slot[r->n++] =
        (struct ty_slot){.mb = (uint16_t)mb, .stage = (uint16_t)stage, .phase = (uint8_t)phase};
}

/* Durations of one pass of one virtual stage (of one slice), any unit. */
struct ty_sched_times {
    double forward;
    double backward; /* full backward; input + weight where it is split */
    double input, weight;
    double overlap; /* of an overlapped slot; negative: forward + backward */
    double edge;    /* delay of a message between ranks */
};

/* "F=1,B=2,I=1,W=1,FB=3,C=0" as `key` has it, for messages. What was not given follows: B = I + W,
 * and half of B each for I and W; NULL: all as there. TY_EUSAGE. */
int ty_sched_times_read(const char *key, const char *text, struct ty_sched_times *times,
                        struct ty_err *err);

/* factors[n], kept in the arena, of a list such as "1,1,1.5,1": one for each virtual stage; or,
 * where `shared`, for each of some equal parts of the model, of which a stage has the mean of those
 * that it covers. TY_EUSAGE, TY_ENOMEM. */
int ty_sched_factors_read(const char *key, const char *text, uint32_t n, bool shared,
                          struct ty_arena *arena, double **factors, struct ty_err *err);

/* Overlapped slots of a schedule. */
enum ty_sched_pairs {
    TY_PAIRS_NONE,
    TY_PAIRS_ASKED, /* framework.expert_overlap makes them of neighbours: ty_slots_pair */
    TY_PAIRS_ALWAYS
};

struct ty_sched {
    const char *name, *summary, *source;
    enum ty_sched_placement placement;
    uint32_t chunks; /* virtual stages per rank it needs; 0: any number, ... */
    uint32_t
        auto_chunks; /* ... and where nobody says how many: the fewest that make it what it is */
    uint32_t auto_slices; /* slices where nobody says how many; 0: whole sequences */
    const char *reduced;  /* the schedule that one chunk, or one slice, makes of it; NULL: none */
    bool whole_chunks; /* runs a chunk's passes in one go: its weights are gathered once before and
                        * its gradients reduced once after, whatever the ZeRO stage */
    bool grouped;      /* it heeds shape.group */
    enum ty_sched_pairs pairs;
    bool sliced;       /* works on slices of a sequence; others refuse more than one */
    bool asynchronous; /* no flush: weights are updated while micro-batches are in flight, ... */
    bool usual;        /* every framework has it: a plan tries it unasked */
    bool updates_each; /* ... after every backward; false: after those of a batch */
    /* Refuses shapes that the schedule does not know: TY_EUSAGE with what would be right. NULL: p,
     * m >= 1 suffice (chunks is checked by the caller). */
    int (*check)(const struct ty_sched_shape *shape, struct ty_err *err);
    bool steered; /* its order depends on how long passes last, else on the shape alone */
    /* Orders of all ranks into initialised slots. `times` steers those that are found by search.
     * NULL: those of the frame of 1F1B (steady.h), by the two answers below. */
    int (*generate)(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err);
    /* Forwards that a rank runs before its first backward, if there are as many. */
    uint32_t (*warm_up)(const struct ty_sched_shape *shape, uint32_t rank);
    /* The k-th forward or backward of a rank, counted from 0 in the order it runs them. */
    struct ty_slot (*piece)(const struct ty_sched_shape *shape, uint32_t rank, uint32_t k,
                            enum ty_phase phase);
    /* Micro-batches after which pieces repeat, but for a last few; NULL: one. */
    uint32_t (*period)(const struct ty_sched_shape *shape);
    /* Published makespan without message delays: text, value, and where it is claimed to hold.
     * NULL: nothing published. */
    const char *formula, *domain;
    double (*makespan)(const struct ty_sched_shape *shape, const struct ty_sched_times *times);
    bool (*in_domain)(const struct ty_sched_shape *shape, const struct ty_sched_times *times);
    /* For ty_sched_in_flight; NULL: that of the frame of 1F1B, else no rule. */
    uint32_t (*in_flight)(const struct ty_sched_shape *shape, uint32_t rank);
    /* Copies of its weights that a rank holds; NULL: one. */
    uint32_t (*weight_copies)(const struct ty_sched_shape *shape, uint32_t rank);
};

extern const struct ty_sched *const ty_schedules[]; /* ends with NULL */
extern const struct ty_word ty_sched_words[];       /* value: index into ty_schedules */

/* By name, or NULL. */
const struct ty_sched *ty_sched_find(const char *name);

/* Checks the shape and generates the orders into the arena. */
int ty_sched_slots(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                   const struct ty_sched_times *times, struct ty_slots *out, struct ty_arena *arena,
                   struct ty_err *err);

/* Most pieces (micro-batch, stage, slice) whose activations a rank holds until the end of W (or B),
 * by rule; 0: the schedule has no rule. */
uint32_t ty_sched_in_flight(const struct ty_sched *sched, const struct ty_sched_shape *shape,
                            uint32_t rank);

/* Pieces of a rank. */
static inline uint32_t ty_sched_pieces(const struct ty_sched_shape *shape)
{
    return shape->m * shape->v * shape->slices;
}

/* Virtual stages of one direction, and the rank of one. */
static inline uint32_t ty_sched_stages(const struct ty_sched_shape *shape)
{
    return shape->p * shape->v;
}
uint32_t ty_sched_owner(enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                        uint32_t direction, uint32_t stage);

/* Number of directions: 2 for two-way placement. */
static inline uint32_t ty_sched_directions(enum ty_sched_placement placement)
{
    return placement == TY_PLACE_TWO_WAY ? 2 : 1;
}

/* Makes each backward and the forward behind it one overlapped slot. The forward then runs one slot
 * sooner, and one more piece is in flight. */
void ty_slots_pair(struct ty_slots *slots);

/* True when some slot is an overlapped pair. */
bool ty_slots_paired(const struct ty_slots *slots);

/* Most pieces held by a rank when they are freed at the end of B or I (`until` DGRAD), or only at
 * the end of B or W (`until` WGRAD). */
uint32_t ty_slots_peak(const struct ty_rank_slots *rank, enum ty_phase until);

/* An order of the user's own, as read from a file: a schedule that need not be generated. */
struct ty_sched_custom {
    struct ty_sched sched;       /* name "file", placement; nothing else */
    const char *name, *text;     /* of the file, and what is in it */
    struct ty_sched_shape shape; /* as the file has it */
    struct ty_slots slots;
    const char *fault; /* what is wrong between its ranks, in words: they wait for each other, or
                        * one lacks what another has; NULL: nothing */
};

/* The `schedule` section. */
struct ty_sched_options {
    int name;                             /* index into ty_schedules */
    const char *file;                     /* path or content; NULL: the schedule of that name */
    const struct ty_sched_custom *custom; /* its content, or NULL */
    uint32_t chunks, slices;              /* 0: auto */
    uint32_t group;
    bool barrier;               /* ranks wait for the gradient norm of all before they update */
    double overlap_cost;        /* of an overlapped slot, as share of forward + backward */
    const char *times, *stages; /* when it is drawn alone, as ty_sched_times_read and
                                 * ty_sched_factors_read take them; NULL: none */

    /* filled by whoever reads them, too: framework.expert_overlap; whether the host updates
     * parameters (layout.offload_optimizer) */
    bool overlaps, updates_away;
};
/* The schedule that the options name, or the user's own. */
const struct ty_sched *ty_sched_of(const struct ty_sched_options *options);

/* Virtual stages per rank and slices of a sequence: what is configured, or what the schedule
 * needs. */
uint32_t ty_sched_chunks(const struct ty_sched_options *options);
uint32_t ty_sched_slices(const struct ty_sched_options *options);

/* Virtual stages per rank, and slices, of a schedule that was given `n` of them; 0: nothing was
 * said. */
uint32_t ty_sched_chunks_of(const struct ty_sched *sched, uint32_t n);
uint32_t ty_sched_slices_of(const struct ty_sched *sched, uint32_t n);

/* The shape that the options give to so many ranks and micro-batches. */
struct ty_sched_shape ty_sched_shape_of(const struct ty_sched_options *options, uint32_t pipeline,
                                        uint32_t micro_batches);

/* Whether neighbours are paired: the schedule has no overlapped slots of its own. */
bool ty_sched_pairs(const struct ty_sched_options *options);

/* Whether the published makespan is claimed for such a shape; never once neighbours are paired. */
bool ty_sched_in_domain(const struct ty_sched_options *options, const struct ty_sched_shape *shape,
                        const struct ty_sched_times *times);

/* Checks that the schedule reduces each gradient once a step, on one pipe, where the host updates
 * with it; reported at the place of its name. Part of ty_sched_finish. */
int ty_sched_check_updates(const struct ty_sched_options *options, const struct ty_section *section,
                           struct ty_err *err);

/* Checks that the schedule knows the shape it is given by the layout; reported at the place of its
 * name in the run file. `sequence`: tokens, which slices must divide. */
int ty_sched_finish(const struct ty_sched_options *options, const struct ty_section *section,
                    uint32_t pipeline, uint32_t micro_batches, uint32_t sequence,
                    struct ty_err *err);

extern const struct ty_field ty_sched_fields[];
extern const uint32_t ty_n_sched_fields;

/* "F3.1", with "^" for direction 1 and "#2" for slice 2. Returns buf. */
char *ty_slot_text(const struct ty_slot *slot, char *buf, size_t size);

#endif
