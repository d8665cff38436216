/* program.h - what every rank issues, in the form a CUDA program has: streams and events.
 *
 * EXECUTION SEMANTICS (the contract of sim/core)
 *   A rank issues operations in order to its streams. An operation starts when
 *     - the operation issued before it on the same stream has ended,
 *     - the events it waits for, as last recorded before it in issue order, have happened, and
 *     - its partners are ready (below);
 *   it ends its duration later, and then records its event. Partners:
 *     LOCAL   none.
 *     GROUP   a collective over ranks of one gang: all members start together, when the last is
 *             ready.
 *     MEET    a collective that spans gangs: the same.
 *     SEND    none: sending is asynchronous. The message arrives `delay` after the send ends.
 *     RECV    starts when the message has arrived, too.
 *   Issuing costs no time and never blocks, and what waits on one stream holds up no other: an
 *   operation waits for those issued before it on its own stream and for what is listed here, and
 *   for nothing else. These must be free of cycles (as NCCL demands of communicators used side by
 *   side); a cycle, a missing message or a missing partner is a deadlock and is reported, never
 *   waited for. Messages are received on the receive stream, which does nothing else.
 *
 * IMPLICIT FORM. Ranks that issue the same operations form a gang (a pipeline stage: all its
 * tensor and data ranks). A gang's program is a list of passes (forward of micro-batch 3, ...);
 * a pass points to a block, the operations of such a pass, stored once. A task is one operation of
 * one pass on one rank; it is never stored. Everything is read-only while executing. */
#ifndef TY_CORE_PROGRAM_PROGRAM_H
#define TY_CORE_PROGRAM_PROGRAM_H

#include <assert.h>
#include <stdbool.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"
#include "sim/base/units.h"
#include "sim/core/program/links.h"
#include "sim/core/program/script.h"
#include "sim/core/program/vocabulary.h"

#define TY_NONE     UINT16_MAX
#define TY_WAITS    4u
#define TY_EVENTS   32u /* events a rank can record */
#define TY_NO_EVENT UINT8_MAX

enum ty_sync {
    TY_SYNC_LOCAL,
    TY_SYNC_GROUP, /* link: index of a group */
    TY_SYNC_MEET,  /* link: index of a meet */
    TY_SYNC_SEND,  /* link: index of a channel */
    TY_SYNC_RECV,  /* link: index of a channel */
};

/* A kind of operation: name, cost, labels. Durations are equal for all members of a gang, or given
 * member by member.
 *
 * GPUs and links are shared, and `dur` has an estimate of that in it: computation during a
 * collective is slower, groups that use the same NICs divide them. An executor that finds out by
 * itself starts from `alone`, what the operation takes with the GPU and the links to itself. */
struct ty_kind {
    const char *name;       /* "all-reduce", "qkv": no digits */
    uint8_t category;       /* of the vocabulary */
    uint8_t phase;          /* enum ty_phase it belongs to, for names on communication rows */
    const char *group;      /* "tp", "dp", ...: whom a collective connects; NULL: nobody */
    const char *collective; /* "all-to-all", ..., whatever the name says it is for; NULL */
    const char *algorithm;  /* "ring", ...; NULL */
    ty_ps dur;
    const ty_ps *dur_of;            /* [n_ranks of the gang], or NULL: `dur` holds for all */
    double flops, energy_uJ;        /* per rank; the second whole, so that sums are exact */
    double bytes;                   /* of the tensor a collective or message carries, per rank */
    uint32_t ranks, nodes, sharing; /* of the collective of the first member: ranks, nodes they are
                                     * on, such groups at once on a node; 0: no collective */
    double nvlink_B, net_B;         /* sent by a rank inside and between nodes, mean over members */
    ty_ps latency;                  /* of a collective's dur, what its bytes do not cover */
    ty_ps alone;                    /* 0: as dur */
    const ty_ps *alone_of;          /* [n_ranks of the gang], or NULL: `alone` holds for all */
    uint32_t first_flow; /* 1 + row of member 0 in the program's flows, followed by those of the
                            * others (members of a group: the same); 0: it takes no link */
    double slows;        /* share of its speed that computation during it loses */
    uint32_t
        script; /* 1 + the messages of a collective, of which each pair has a flow: first_flow is
                      * pair 0 of the first group, then come the other pairs, then the other groups
                      * in the order of their first members; 0: it is one flow */
};

/* One operation of a block: 16 bytes, read once for all members of a gang. */
struct ty_op {
    uint16_t kind;
    uint8_t stream;         /* of the vocabulary */
    uint8_t sync;           /* enum ty_sync */
    uint8_t wait[TY_WAITS]; /* events, TY_NO_EVENT */
    uint8_t record;         /* event, or TY_NO_EVENT */
    uint8_t part;           /* of a layer, of the vocabulary */
    uint16_t layer;         /* global layer number, or TY_NONE */
    uint16_t link;          /* group, meet or channel, by `sync`; else TY_NONE */
    bool second;            /* its message is numbered by the pass's second micro-batch */
    uint8_t lane;           /* its stream among those in use, once sealed; before: its stream */
};
_Static_assert(sizeof(struct ty_op) == 16, "an operation is 16 bytes");

/* The operations of a pass, and what it does to the memory of a rank. Bytes are per rank. */
struct ty_block {
    uint32_t first, n_ops;
    double acquire_B;           /* activations held from the start of the pass ... */
    double release_B;           /* ... and given back at its end */
    double transient_B;         /* held during the pass only, above what is acquired */
    const char *transient_what; /* name of the largest part of transient_B; NULL: nothing */
};

/* One entry of a gang's order. */
struct ty_pass {
    uint32_t block;
    uint32_t first_op; /* ordinal of its first operation within the gang's program */
    uint32_t seq;      /* which message of a channel it sends or takes: step * m + micro-batch */
    uint32_t seq2;     /* the same for operations marked `second`: those of the other half of a
                        * slot in which a forward and a backward overlap */
    uint16_t mb, mb2;  /* micro-batches of the same, 0-based, within their step; TY_NONE: unknown */
    uint16_t stage;    /* global virtual stage */
    uint16_t step;
    uint8_t phase;     /* enum ty_phase */
    uint8_t direction; /* 1: the second pipe of a two-way schedule */
    bool resumed;      /* goes on with a pass that others have interrupted ... */
    bool interrupted;  /* ... and is itself to be gone on with: pieces of one pass, which is held
                        * from its first to its last */
};

/* Groups within a gang: members are split into runs of `stride * count`; member i belongs with
 * those that differ from it by multiples of stride within its run. count == 1: alone. */
struct ty_group {
    const char *name;
    uint32_t stride, count;
};

/* A collective over several gangs: in each, members first combine over `group` (an index, or
 * TY_NONE), then equal member numbers combine over all `n_gangs` gangs that issue it. Its instances
 * are numbered by ty_pass.step or, where it says how many there are, by ty_pass.seq. Or all members
 * of these gangs combine, which may then be of different size. */
struct ty_meet {
    const char *name;
    uint16_t group;
    uint32_t n_gangs;
    uint32_t first_slot;   /* filled by ty_program_seal */
    const uint32_t *gangs; /* [n_gangs] who they are, ascending; NULL: whoever issues it */
    uint32_t n_seq;        /* instances; 0: one a step */
    uint32_t n_members;    /* of these gangs together, all of whom combine; 0: as above */
};

/* Messages from members of one gang to those of another, numbered 0 .. n_seq-1: from member i to
 * member i. Where one gang has k times as many members, each member of the other has k neighbours
 * there for partners,
 *
 *     0   1   2   3
 *      \ /     \ /        members k i .. k i + k - 1 and member i
 *       0       1
 *
 * to all of which it sends at once, or from all of which it receives at once. A slot has a time for
 * each member of the larger gang. */
struct ty_channel {
    const char *name;  /* "act", "grad" */
    uint32_t from, to; /* gangs */
    uint32_t n_seq;
    ty_ps delay;         /* from the end of the send to the arrival */
    uint32_t first_slot; /* filled by ty_program_seal */
};

/* Static memory of a rank of a gang, by kind (of what passes hold: what is always held, such as
 * communication buffers). */
struct ty_gang {
    const char *name; /* "stage 0" */
    uint32_t n_ranks;
    const uint32_t *rank_of; /* [n_ranks] global rank of each member */
    uint32_t first_pass, n_passes;
    uint32_t n_ops;      /* operations in all its passes; filled by ty_program_seal */
    uint64_t first_task; /* filled by ty_program_seal */
    uint32_t tenant;     /* of a merged program: which of the programs it was of; else 0 */
    double static_B[TY_MAX_MEMORY];
    const char *const *row; /* [streams] what its streams are called; NULL: as ever */
};

/* Random spread of compute durations. All zero: none. */
struct ty_jitter {
    uint64_t seed;
    double cv;      /* log-normal, one factor per (jitter group, pass, layer) */
    double spread;  /* normal, one factor per rank for the whole run */
    uint16_t group; /* members of this group share the first factor; TY_NONE: each its own */
};

/* One of the programs that were merged into one (merge.h): its rows, and what is its own. */
struct ty_tenant {
    const char *name;
    uint32_t first_gang, n_gangs;
    uint32_t first_rank, n_ranks;
    bool overlapping_steps, observed;
    struct ty_jitter jitter; /* its group is one of the merged program */
};

/* The whole program. Columns are owned by the arena they were built in. */
struct ty_program {
    const struct ty_vocabulary *words; /* borrowed; what its numbers mean */
    struct ty_kind *kinds;
    struct ty_op *ops;
    struct ty_block *blocks;
    struct ty_pass *passes;
    struct ty_group *groups;
    struct ty_meet *meets;
    struct ty_channel *channels;
    struct ty_gang *gangs;
    struct ty_flow *flows;
    struct ty_use *uses;
    struct ty_script *scripts;
    struct ty_message *messages;
    uint32_t *sends, *afters;    /* see struct ty_script, struct ty_message */
    const struct ty_link *links; /* [n_links], borrowed */
    uint32_t n_kinds, n_ops, n_blocks, n_passes, n_groups, n_meets, n_channels, n_gangs;
    uint32_t n_flows, n_uses, n_links, n_scripts, n_messages, n_sends, n_afters;
    uint32_t n_steps;
    bool overlapping_steps; /* passes of different steps interleave: there is one fill only */
    bool observed; /* read off a measurement, or some tenant is: never to be executed. Streams are
                    * rows in which nothing overlaps, what waits for what is not known */
    bool uneven;   /* ranks have different work: that they wait for each other in collectives is a
                    * bucket of its own */
    bool traced;   /* read from a trace: a pass is one node of it, whose number there is seq2 */
    bool matched;  /* partners of messages and collectives mean the same: whoever built it sees to
                   * it. False: it is to be looked at (mismatch.h) before it is executed */
    struct ty_jitter jitter;
    const struct ty_tenant *tenants; /* [n_tenants]; 0 of them: not merged */
    uint32_t n_tenants;
    const double *slow_of; /* [n_ranks] given factor on the compute times of a global rank, for the
                            * whole run; NULL: 1 */

    /* filled by ty_program_seal */
    uint32_t n_ranks;
    uint32_t n_lanes; /* streams in use: the compute stream, those that an operation is on, and
                       * with channels the one that receives. Other streams cost nothing */
    uint8_t stream_of[TY_MAX_STREAMS]; /* [n_lanes] ascending: lane 0 computes */
    uint32_t receive_lane;             /* with channels: where messages are received */
    uint64_t n_tasks;
    uint32_t n_slots;    /* message and meeting slots ... */
    uint32_t slot_width; /* ... each of so many members */
    const double
        *spread_of; /* [n_ranks] lasting factor: drawn spread times what is given; NULL: 1 */
};

/* A program that grows, and how many kinds, ops, ... it has room for. Columns grow through
 * ty_build_* only; each returns the index of the new row, or a negative code and a message when
 * memory or an index width is exhausted. The first call with a zeroed program starts it. */
struct ty_builder {
    struct ty_program *program;
    struct ty_arena *arena;
    struct ty_err *err;
    uint32_t cap_kinds, cap_ops, cap_blocks, cap_passes, cap_groups, cap_meets, cap_channels,
        cap_gangs, cap_flows, cap_uses, cap_scripts, cap_messages, cap_sends, cap_afters;
    int code; /* of the first call that failed, and gave its message; later ones do nothing */
};

/* Remembers that something else failed while building: rc < 0, its message has been given. Returns
 * the code of the first failure, 0 if there is none. */
static inline int ty_build_note(struct ty_builder *b, int rc)
{
    b->code = b->code < 0 ? b->code : rc;
    return b->code;
}

/* Memory ran out while building: reported once. */
int ty_build_no_memory(struct ty_builder *b);

int ty_build_kind(struct ty_builder *b, const struct ty_kind *kind);
int ty_build_group(struct ty_builder *b, const struct ty_group *group);
int ty_build_meet(struct ty_builder *b, const struct ty_meet *meet);
int ty_build_channel(struct ty_builder *b, const struct ty_channel *channel);
int ty_build_gang(struct ty_builder *b, const struct ty_gang *gang);    /* passes follow */
int ty_build_block(struct ty_builder *b, const struct ty_block *block); /* operations follow */
int ty_build_op(struct ty_builder *b, const struct ty_op *op);          /* into the last block */
int ty_build_pass(struct ty_builder *b, const struct ty_pass *pass);    /* into the last gang */
/* Room for n more passes in one piece: where there are many, most of the memory of a program. */
int ty_build_reserve(struct ty_builder *b, size_t n);
int ty_build_flow(struct ty_builder *b, const struct ty_flow *flow); /* its uses come first */
int ty_build_use(struct ty_builder *b, const struct ty_use *use);
/* Afters, messages and sends come first. */
int ty_build_script(struct ty_builder *b, const struct ty_script *script);
int ty_build_message(struct ty_builder *b, const struct ty_message *message);
int ty_build_send(struct ty_builder *b, uint32_t first_message);
int ty_build_after(struct ty_builder *b, uint32_t message);

/* Numbers tasks and slots, works out lasting factors, and checks that every index is in range,
 * every event is recorded on one stream only, ranks are a permutation, channels join gangs of one
 * size, or of a multiple of it. Returns 0, or TY_EBUG, TY_ELIMIT or TY_ENOMEM with a message.
 * Call once, before executing. */
int ty_program_seal(struct ty_program *program, struct ty_arena *arena, struct ty_err *err);

/* The numbers alone, of a copy of a sealed program whose gangs or passes are others: tasks, slots
 * and lasting factors. Whoever made it vouches for all that sealing checks. */
int ty_program_number(struct ty_program *program, struct ty_arena *arena, struct ty_err *err);

/* An operation that no event, group, message or layer concerns. */
#define TY_OP_INIT                                                                                 \
    {                                                                                              \
        .wait = {TY_NO_EVENT, TY_NO_EVENT, TY_NO_EVENT, TY_NO_EVENT}, .record = TY_NO_EVENT,       \
        .layer = TY_NONE, .link = TY_NONE                                                          \
    }

static inline const struct ty_pass *ty_gang_passes(const struct ty_program *p,
                                                   const struct ty_gang *gang)
{
    assert(gang->first_pass + gang->n_passes <= p->n_passes);
    return p->passes + gang->first_pass;
}

static inline const char *ty_stream_name(const struct ty_program *p, uint32_t stream)
{
    assert(stream < p->words->n_streams);
    return p->words->streams[stream].name;
}

static inline const struct ty_category_row *ty_category(const struct ty_program *p,
                                                        uint32_t category)
{
    assert(category < p->words->n_categories);
    return &p->words->categories[category];
}

static inline const struct ty_bucket_row *ty_bucket(const struct ty_program *p, uint32_t bucket)
{
    assert(bucket < p->words->n_buckets);
    return &p->words->buckets[bucket];
}

/* The bucket of time spent on a kind of operation: busy for computation, else exposed. */
static inline uint8_t ty_kind_bucket(const struct ty_program *p, const struct ty_kind *kind)
{
    return p->words->categories[kind->category].bucket;
}

/* Whether waiting for the last member of a collective is told apart. */
static inline bool ty_is_awaited(const struct ty_program *p, const struct ty_op *op)
{
    const uint8_t bucket = ty_kind_bucket(p, &p->kinds[op->kind]);
    return op->sync == TY_SYNC_GROUP &&
           (bucket == p->words->awaited || (p->uneven && bucket == p->words->closing));
}

static inline bool ty_kind_computes(const struct ty_program *p, const struct ty_kind *kind)
{
    return ty_bucket(p, ty_kind_bucket(p, kind))->pace == TY_PACE_COMPUTES;
}

/* Whether computation takes other than nominal times: drawn anew for every pass, or lasting. */
static inline bool ty_program_varies(const struct ty_program *p)
{
    return p->jitter.cv > 0 || p->jitter.spread > 0 || p->slow_of != NULL;
}

/* Factors on the compute operations of one layer in one pass (number within the gang), for all
 * members, into out[n_ranks]. Only for programs that vary. O(n_ranks) deviates at most. */
void ty_program_factors(const struct ty_program *p, const struct ty_gang *gang, uint32_t pass,
                        uint16_t layer, double *out);

/* Nominal duration of a kind for a member, before any factor. */
static inline ty_ps ty_kind_duration(const struct ty_kind *kind, uint32_t member)
{
    return kind->dur_of != NULL ? kind->dur_of[member] : kind->dur;
}

/* The same with the GPU and the links to itself. */
static inline ty_ps ty_kind_alone(const struct ty_kind *kind, uint32_t member)
{
    if (kind->alone_of != NULL) {
        return kind->alone_of[member];
    }
    return kind->alone != 0 ? kind->alone : ty_kind_duration(kind, member);
}

/* What a member's operation of this kind takes of links; NULL: nothing, or message by message. */
static inline const struct ty_flow *ty_kind_flow(const struct ty_program *p,
                                                 const struct ty_kind *kind, uint32_t member)
{
    assert(kind->first_flow == 0 || kind->script != 0 || kind->first_flow + member <= p->n_flows);
    return kind->first_flow == 0 || kind->script != 0 ? NULL
                                                      : &p->flows[kind->first_flow - 1 + member];
}

/* Which of the groups of a gang a member belongs to, in the order of their first members, and which
 * position it has there. */
static inline uint32_t ty_group_number(const struct ty_group *g, uint32_t member)
{
    assert(g->stride > 0 && g->count > 0);
    return member / (g->stride * g->count) * g->stride + member % g->stride;
}
static inline uint32_t ty_group_position(const struct ty_group *g, uint32_t member)
{
    assert(g->stride > 0 && g->count > 0);
    return member / g->stride % g->count;
}

/* First member of the group that a member belongs to. */
static inline uint32_t ty_group_first(const struct ty_group *g, uint32_t member)
{
    return member - ty_group_position(g, member) * g->stride;
}

/* Row in the program's flows of pair 0 of a member's group, for a kind with a script. */
static inline uint32_t ty_script_flow(const struct ty_program *p, const struct ty_kind *kind,
                                      const struct ty_group *g, uint32_t member)
{
    assert(kind->script > 0 && kind->script <= p->n_scripts);
    assert(kind->first_flow > 0);
    return kind->first_flow - 1 + ty_group_number(g, member) * p->scripts[kind->script - 1].n_pairs;
}

/* Walks the messages that one member sends, those to the same receiver together. */
struct ty_sender {
    const struct ty_message *messages; /* of the script */
    uint32_t first, end; /* of the run at hand: messages first .. end - 1 of the script ... */
    uint32_t flow;       /* ... take this row of the program's flows */
    uint32_t first_flow, last;
};
static inline struct ty_sender ty_script_sender(const struct ty_program *p,
                                                const struct ty_kind *kind,
                                                const struct ty_group *g, uint32_t member)
{
    const struct ty_script *script = &p->scripts[kind->script - 1];
    const uint32_t *send = p->sends + script->first_send + ty_group_position(g, member);
    return (struct ty_sender){.messages = p->messages + script->first,
                              .end = send[0],
                              .first_flow = ty_script_flow(p, kind, g, member),
                              .last = send[1]};
}
/* Moves to the next run; false at the end. */
static inline bool ty_sender_next(struct ty_sender *s)
{
    s->first = s->end;
    assert(s->first <= s->last);
    if (s->first == s->last) {
        return false;
    }
    const uint32_t pair = s->messages[s->first].pair;
    while (s->end < s->last && s->messages[s->end].pair == pair) {
        s->end++;
    }
    s->flow = s->first_flow + pair;
    return true;
}

/* A duration under a factor, rounded half up. */
static inline ty_ps ty_jittered(ty_ps dur, double factor)
{
    assert(factor > 0);
    return (ty_ps)((double)dur * factor + 0.5);
}

/* The operations of a pass. */
static inline const struct ty_op *ty_pass_ops(const struct ty_program *p,
                                              const struct ty_pass *pass)
{
    assert(pass->block < p->n_blocks);
    return p->ops + p->blocks[pass->block].first;
}

/* Number and micro-batch of the message of an operation with SEND or RECV; for any other operation
 * those of its pass. */
static inline uint32_t ty_op_seq(const struct ty_pass *pass, const struct ty_op *op)
{
    return op->second ? pass->seq2 : pass->seq;
}
static inline uint16_t ty_op_mb(const struct ty_pass *pass, const struct ty_op *op)
{
    return op->second ? pass->mb2 : pass->mb;
}

/* How often a meeting takes place. */
static inline uint32_t ty_meet_instances(const struct ty_program *p, const struct ty_meet *meet)
{
    return meet->n_seq > 0 ? meet->n_seq : p->n_steps;
}

/* Which instance of its meeting an operation with MEET belongs to. */
static inline uint32_t ty_meet_number(const struct ty_program *p, const struct ty_pass *pass,
                                      const struct ty_op *op)
{
    assert(op->sync == TY_SYNC_MEET && op->link < p->n_meets);
    return p->meets[op->link].n_seq > 0 ? pass->seq : pass->step;
}

/* The slot of a message or meeting, for an operation with SEND, RECV or MEET. */
static inline uint32_t ty_op_slot(const struct ty_program *p, const struct ty_pass *pass,
                                  const struct ty_op *op)
{
    if (op->sync == TY_SYNC_MEET) {
        return p->meets[op->link].first_slot + ty_meet_number(p, pass, op);
    }
    assert(op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV);
    assert(ty_op_seq(pass, op) < p->channels[op->link].n_seq);
    return p->channels[op->link].first_slot + ty_op_seq(pass, op);
}

#endif
