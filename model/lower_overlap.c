/* lower_overlap.c - computation that shares its GPU with a collective is slower.
 *
 * A collective is kernels too: they hold SMs and move memory while they run. Every block is played
 * once, alone, and each computation loses, for the time it has a collective beside it, the share
 * of its speed that the cluster says:
 *
 *     compute     |  wgrad 1000 us  |             |  wgrad 1000 us + 110 us  |
 *     tensor comm |all-reduce 500 us|      ->     |all-reduce 500 us|
 *
 * with nvlink_overlap_slowdown 18 %: 500 us x 0.18 / 0.82. Collectives left over from the pass before
 * are not seen, and collectives themselves are not slowed down. */
#include "model/lower_internal.h"

#define NO_SPAN UINT32_MAX

struct span {
    ty_ps start, end;
    double lost;   /* seconds of computation lost per second beside it */
    uint32_t next; /* on the same stream, so later */
};

struct play {
    struct ty_lowering *l;
    ty_ps free_at[TY_N_STREAMS], event[TY_EVENTS];
    struct span *comm; /* [n_comm]: collectives so far */
    uint32_t n_comm;
    uint32_t first[TY_N_STREAMS], last[TY_N_STREAMS]; /* of a stream; first: that has not ended */
};

static double lost_beside(const struct ty_kind *kind)
{
    return kind->slows / (1 - kind->slows);
}

static bool is_collective(const struct ty_op *op)
{
    return op->sync == TY_SYNC_GROUP || op->sync == TY_SYNC_MEET;
}

static void add_span(struct play *play, uint8_t stream, ty_ps start, ty_ps end, double lost)
{
    const uint32_t i = play->n_comm++;
    play->comm[i] = (struct span){start, end, lost, NO_SPAN};
    if (play->first[stream] == NO_SPAN) {
        play->first[stream] = i;
    } else {
        play->comm[play->last[stream]].next = i;
    }
    play->last[stream] = i;
}

/* Time that a computation from `start` for `dur` loses; never more than if it were beside one
 * collective all along. Computations come in order of time, so what has ended is passed for good,
 * and what begins later ends the look at a stream. */
static ty_ps lost(struct play *play, ty_ps start, ty_ps dur)
{
    double sum = 0, most = 0;
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        while (play->first[s] != NO_SPAN && play->comm[play->first[s]].end <= start) {
            play->first[s] = play->comm[play->first[s]].next;
        }
        for (uint32_t i = play->first[s]; i != NO_SPAN && play->comm[i].start < start + dur;
             i = play->comm[i].next) {
            const struct span *comm = &play->comm[i];
            const ty_ps from = comm->start > start ? comm->start : start;
            const ty_ps to = comm->end < start + dur ? comm->end : start + dur;
            if (from < to) {
                sum += comm->lost * (double)(to - from);
                most = comm->lost > most ? comm->lost : most;
            }
        }
    }
    const double limit = most * (double)dur;
    return (ty_ps)(sum < limit ? sum : limit);
}

/* The kind like `like` that takes `dur`: one made before, or a new one. */
static uint16_t kind_lasting(struct ty_lowering *l, uint16_t like, ty_ps dur)
{
    const struct ty_program *p = &l->out->program;
    struct ty_kind kind = p->kinds[like];
    kind.alone = kind.dur;
    kind.dur = dur;
    for (uint32_t i = p->n_kinds; i > l->first_stretched; i--) {
        const struct ty_kind *other = &p->kinds[i - 1];
        if (other->name == kind.name && other->dur == dur && other->category == kind.category &&
            other->phase == kind.phase && other->flops == kind.flops) {
            return (uint16_t)(i - 1);
        }
    }
    return ty_lower_add_kind(l, &kind);
}

static void play_op(struct play *play, struct ty_op *op)
{
    const struct ty_kind *kind = &play->l->out->program.kinds[op->kind];
    ty_ps start = play->free_at[op->stream], dur = kind->dur;
    for (uint32_t w = 0; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
        const ty_ps at = play->event[op->wait[w]];
        start = at > start ? at : start;
    }
    if (is_collective(op)) {
        add_span(play, op->stream, start, start + dur, lost_beside(kind));
    } else if (op->stream == TY_STREAM_COMPUTE) {
        const ty_ps more = lost(play, start, dur);
        dur += more;
        op->kind = more > 0 ? kind_lasting(play->l, op->kind, dur) : op->kind;
    }
    play->free_at[op->stream] = start + dur;
    if (op->record != TY_NO_EVENT) {
        play->event[op->record] = start + dur;
    }
}

void ty_lower_overlap(struct ty_lowering *l, uint32_t block)
{
    struct ty_program *p = &l->out->program;
    struct play play = {.l = l};
    uint32_t n_collectives = 0;
    if (l->b.failed || (l->in->cluster->nvlink_overlap_slowdown <= 0 &&
                        l->in->cluster->net_overlap_slowdown <= 0)) {
        return;
    }
    for (uint32_t i = 0; i < p->blocks[block].n_ops; i++) {
        n_collectives += is_collective(&p->ops[p->blocks[block].first + i]);
    }
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        play.first[s] = NO_SPAN;
    }
    play.comm = ty_arena_array(l->arena, struct span, (size_t)n_collectives + 1);
    if (play.comm == NULL) {
        l->b.failed = true;
        ty_fail(l->b.err, TY_ENOMEM, "lowering: out of memory");
        return;
    }
    for (uint32_t i = 0; i < p->blocks[block].n_ops; i++) {
        play_op(&play, &p->ops[p->blocks[block].first + i]);
    }
}
