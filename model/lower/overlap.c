/* overlap.c - computation that shares its GPU with a collective is slower.
 *
 * A collective is kernels too: they hold SMs and move memory while they run. Every block (of a
 * woven pair all its pieces in turn) is played once, alone, as an executor would (rows.h, of one
 * member), and each computation loses, for the time it has a collective next to it, the share of
 * its speed that the collective's kind says:
 *
 *     compute     |  wgrad 1000 us  |             |  wgrad 1000 us + 110 us  |
 *     tensor comm |all-reduce 500 us|      ->     |all-reduce 500 us|
 *
 * with nvlink_overlap_slowdown 18 %: 500 us x 0.18 / 0.82. Collectives left over from the pass
 * before are not seen, and collectives themselves are not slowed down. A gang with GPUs of several
 * generations is played once with each, as if all were like it. */
#include "model/lower/internal.h"

#include <string.h>

#include "sim/core/execute/rows.h"

#define NO_SPAN UINT32_MAX

struct span {
    ty_ps start, end;
    double lost;   /* seconds of computation lost per second next to it */
    uint32_t next; /* on the same stream, so later */
};

struct overlap {
    const struct ty_program *program;
    uint32_t member; /* whose durations are played */
    struct ty_rows rows;
    struct span *comm; /* [n_comm]: collectives so far that slow others */
    uint32_t n_comm;
    uint32_t first[TY_N_STREAMS], last[TY_N_STREAMS]; /* of a stream; first: that has not ended */
    uint8_t stream[TY_N_STREAMS];                     /* [n_streams] that have some */
    uint32_t n_streams;
};

static double lost_beside(const struct ty_kind *kind)
{
    return kind->slows / (1 - kind->slows);
}

static bool is_slowing(const struct ty_program *p, const struct ty_op *op)
{
    const bool collective = op->sync == TY_SYNC_GROUP || op->sync == TY_SYNC_MEET;
    return collective && p->kinds[op->kind].slows > 0;
}

/* In their order: sums are the same whichever speaks first. */
static void add_stream(struct overlap *play, uint8_t stream)
{
    uint32_t at = play->n_streams++;
    for (; at > 0 && play->stream[at - 1] > stream; at--) {
        play->stream[at] = play->stream[at - 1];
    }
    play->stream[at] = stream;
}

static void add_span(struct overlap *play, uint8_t stream, ty_ps start, ty_ps end, double lost)
{
    const uint32_t i = play->n_comm++;
    play->comm[i] = (struct span){start, end, lost, NO_SPAN};
    if (play->last[stream] == NO_SPAN) {
        add_stream(play, stream);
    }
    if (play->first[stream] == NO_SPAN) {
        play->first[stream] = i;
    } else {
        play->comm[play->last[stream]].next = i;
    }
    play->last[stream] = i;
}

/* Time that a computation from `start` for `dur` loses; never more than if it were next to one
 * collective all along. Computations come in order of time, so what has ended is passed for good,
 * and what begins later ends the look at a stream. */
static ty_ps lost(struct overlap *play, ty_ps start, ty_ps dur)
{
    double sum = 0, most = 0;
    for (uint32_t k = 0; k < play->n_streams; k++) {
        const uint8_t s = play->stream[k];
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

static bool same_times(const struct ty_lowering *l, const ty_ps *a, const ty_ps *b)
{
    return a == b || (a != NULL && b != NULL && memcmp(a, b, l->members * sizeof(*a)) == 0);
}

/* Gangs may have the same GPUs in another order, so tables are compared whole. */
static bool same_durations(const struct ty_lowering *l, const struct ty_kind *a,
                           const struct ty_kind *b)
{
    return a->dur == b->dur && a->alone == b->alone && same_times(l, a->dur_of, b->dur_of) &&
           same_times(l, a->alone_of, b->alone_of);
}

/* Durations of members that do not take what the one played does: without work, or with another
 * load. They lose as much of theirs as it does. */
static void keep_shares(struct ty_lowering *l, const struct ty_kind *like, const ty_ps *dur,
                        struct ty_kind *kind)
{
    const struct ty_gpu_mix *mix = l->here.gpus;
    ty_ps *table = like->dur_of != NULL ? ty_arena_array(l->arena, ty_ps, l->members) : NULL;
    for (uint32_t i = 0; i < l->members && table != NULL; i++) {
        uint32_t k = 0;
        while (mix->generation != NULL && mix->used[k] != mix->generation[i]) {
            k++;
        }
        const ty_ps own = like->dur_of[i], played = like->dur_of[mix->member[k]];
        table[i] =
            own == played ? dur[k] : (ty_ps)((double)own * ((double)dur[k] / (double)played) + 0.5);
    }
    if (table != NULL) {
        kind->dur_of = table;
    } else if (like->dur_of != NULL) {
        ty_build_no_memory(&l->b);
    }
}

static bool same_kind(const struct ty_lowering *l, const struct ty_kind *a, const struct ty_kind *b)
{
    return a->name == b->name && a->category == b->category && a->phase == b->phase &&
           a->flops == b->flops && same_durations(l, a, b);
}

/* The kind like `like` that takes dur[] on the GPUs in use: one made before, or a new one. Layers
 * are alike, so the last one made of `like` is nearly always the one. */
static uint16_t kind_lasting(struct ty_lowering *l, uint16_t like, const ty_ps *dur)
{
    const struct ty_program *p = &l->out->program;
    struct ty_kind kind = p->kinds[like];
    kind.alone = kind.dur;
    kind.alone_of = kind.dur_of;
    ty_lower_durations(l, dur, &kind);
    keep_shares(l, &p->kinds[like], dur, &kind);
    uint16_t *last = &l->gpus.slowed_by_overlap[like % TY_COUNT(l->gpus.slowed_by_overlap)];
    if (*last >= l->gpus.first_slowed && same_kind(l, &p->kinds[*last], &kind)) {
        return *last;
    }
    for (uint32_t i = p->n_kinds; i > l->gpus.first_slowed; i--) {
        if (same_kind(l, &p->kinds[i - 1], &kind)) {
            return *last = (uint16_t)(i - 1);
        }
    }
    return *last = ty_lower_add_kind(l, &kind);
}

/* Plays an operation; returns what it loses. */
static ty_ps play_op(struct overlap *play, const struct ty_op *op)
{
    const struct ty_kind *kind = &play->program->kinds[op->kind];
    const ty_ps dur = ty_kind_duration(kind, play->member);
    ty_ps start = 0, more = 0;
    ty_rows_ready(&play->rows, op, &start);
    if (is_slowing(play->program, op)) {
        add_span(play, op->stream, start, start + dur, lost_beside(kind));
    } else if (op->stream == TY_STREAM_COMPUTE) {
        more = lost(play, start, dur);
    }
    ty_rows_finish(&play->rows, op, &start, dur + more, NULL);
    return more;
}

/* Blocks in the order of issue. */
struct sequence {
    const uint32_t *block; /* [n] */
    uint32_t n, n_ops;
};

/* Plays them with the durations of one member: more[] of every operation. */
static void play_blocks(const struct ty_program *program, const struct sequence *all,
                        uint32_t member, struct span *comm, ty_ps *more)
{
    ty_ps stream[TY_N_STREAMS] = {0}, event[TY_EVENTS + 1] = {0};
    struct overlap play = {
        .program = program, .member = member, .rows = {1, stream, event}, .comm = comm};
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        play.first[s] = play.last[s] = NO_SPAN;
    }
    for (uint32_t b = 0; b < all->n; b++) {
        const struct ty_block *block = &program->blocks[all->block[b]];
        for (uint32_t i = 0; i < block->n_ops; i++) {
            *more++ = play_op(&play, &program->ops[block->first + i]);
        }
    }
}

/* Gives an operation, number i of n_ops, a kind that lasts more[GPU in use][i] longer. */
static void stretch(struct ty_lowering *l, struct ty_op *op, uint32_t i, uint32_t n_ops,
                    const ty_ps *more)
{
    ty_ps dur[TY_GENERATIONS_MAX];
    bool any = false;
    for (uint32_t k = 0; k < l->here.gpus->n_used; k++) {
        const struct ty_kind *kind = &l->out->program.kinds[op->kind];
        const ty_ps plus = more[(size_t)k * n_ops + i];
        dur[k] = ty_kind_duration(kind, l->here.gpus->member[k]) + plus;
        any = any || plus > 0;
    }
    op->kind = any ? kind_lasting(l, op->kind, dur) : op->kind;
}

void ty_lower_overlap(struct ty_lowering *l, const uint32_t *block, uint32_t n)
{
    const struct ty_program *p = &l->out->program;
    struct sequence s = {.block = block, .n = n};
    uint32_t n_slowing = 0, at = 0;
    if (l->b.code < 0) {
        return;
    }
    for (uint32_t b = 0; b < n; b++) {
        const struct ty_block *one = &p->blocks[block[b]];
        for (uint32_t i = 0; i < one->n_ops; i++) {
            n_slowing += is_slowing(p, &p->ops[one->first + i]);
        }
        s.n_ops += one->n_ops;
    }
    if (n_slowing == 0) {
        return;
    }
    struct span *comm = ty_arena_array(l->arena, struct span, n_slowing);
    ty_ps *more = ty_arena_array(l->arena, ty_ps, (size_t)l->here.gpus->n_used * s.n_ops + 1);
    if (comm == NULL || more == NULL) {
        ty_build_no_memory(&l->b);
        return;
    }
    for (uint32_t k = 0; k < l->here.gpus->n_used; k++) {
        play_blocks(p, &s, l->here.gpus->member[k], comm, &more[(size_t)k * s.n_ops]);
    }
    for (uint32_t b = 0; b < n; b++) {
        for (uint32_t i = 0; i < p->blocks[block[b]].n_ops; i++) {
            stretch(l, &p->ops[p->blocks[block[b]].first + i], at++, s.n_ops, more);
        }
    }
}
