/* gaps.c - why a compute stream was idle: a replay of a finished timeline.
 *
 * Operations are visited in issue order with the ends of the events, as in the sweep, but with all
 * start times known. A gap before an operation is split along the events it waited for, in the
 * order they are listed: each takes the part up to its own end that earlier ones left open. The
 * event of a message counts as waiting for the neighbour until the message was sent, and as
 * exposed communication from then on; that of a meeting as waiting for the others until the last
 * arrived. Of a collective in the bucket `awaited` of the vocabulary the part before its last
 * member was ready is told, too.
 *
 * Where ranks have different work that part is a bucket of its own.
 *
 * Passes of a block are often alike from some operation on, but for when that was: what was idle
 * then is what was before. */
#include "sim/core/analyse/gaps.h"

#include <string.h>

#include "sim/core/analyse/observed.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/program/peers.h"

/* ---- stretches of a block that wait for nothing but themselves ---- */

/*
 *     recv   host  A  B  AR  C  D  AR  E  send
 *                  `------ a stretch ---' */

/* Whether an operation waits for what was recorded from `first` on, recorded[] being 1 + by whom,
 * and for nothing and nobody else. */
static bool waits_within(const struct ty_program *p, const struct ty_op *op, uint32_t first,
                         const uint32_t *recorded)
{
    bool within = op->sync == TY_SYNC_LOCAL || (op->sync == TY_SYNC_GROUP && !ty_is_awaited(p, op));
    for (uint32_t k = 0; k < TY_WAITS && op->wait[k] != TY_NO_EVENT; k++) {
        within = within && recorded[op->wait[k]] > first;
    }
    return within;
}

/* The longest stretch of a block; record[]: its records. */
static struct ty_gap_stretch find_stretch(const struct ty_program *p, const struct ty_block *block,
                                          uint32_t *record)
{
    const struct ty_op *ops = p->ops + block->first;
    struct ty_gap_stretch longest = {.end = 0};
    uint32_t recorded[TY_EVENTS] = {0}, first = UINT32_MAX;
    for (uint32_t k = 0; k < block->n_ops; k++) {
        if (first == UINT32_MAX || !waits_within(p, &ops[k], first, recorded)) {
            first = ops[k].stream == TY_STREAM_COMPUTE ? k : UINT32_MAX;
        } else if (k - first >= longest.end - longest.first) {
            longest.first = first;
            longest.end = k + 1;
        }
        if (ops[k].record != TY_NO_EVENT) {
            recorded[ops[k].record] = k + 1;
        }
    }
    uint32_t known = 0;
    for (uint32_t k = longest.end; k > longest.first; k--) {
        const struct ty_op *op = &ops[k - 1];
        longest.last = op->stream == TY_STREAM_COMPUTE && longest.last == 0 ? k - 1 : longest.last;
        if (op->record != TY_NO_EVENT && (known >> op->record & 1) == 0) {
            known |= 1u << op->record;
            record[longest.n_records++] = k - 1;
        }
    }
    return longest;
}

/* The stretches of all blocks. 0 or TY_ENOMEM. */
static int gaps_find_stretches(struct ty_gaps *gaps, struct ty_arena *arena)
{
    const struct ty_program *p = gaps->timeline->program;
    struct ty_gap_stretch *stretch = ty_arena_array(arena, struct ty_gap_stretch, p->n_blocks);
    uint32_t *record = ty_arena_array(arena, uint32_t, p->n_ops);
    for (uint32_t b = 0; stretch != NULL && record != NULL && b < p->n_blocks; b++) {
        stretch[b] = find_stretch(p, &p->blocks[b], record + p->blocks[b].first);
    }
    gaps->stretch = stretch;
    gaps->record = record;
    return stretch == NULL || record == NULL ? TY_ENOMEM : 0;
}

/* Ordinal of the send of every message, within the sending gang. */
static int index_sends(struct ty_gaps *gaps, struct ty_arena *arena)
{
    const struct ty_program *p = gaps->timeline->program;
    gaps->send_ordinal = ty_arena_array(arena, uint32_t, p->n_slots);
    uint32_t *sends = ty_arena_array(arena, uint32_t, p->n_ops);      /* op numbers, by block */
    uint32_t *n_sends = ty_arena_array(arena, uint32_t, p->n_blocks); /* from block->first on */
    if (gaps->send_ordinal == NULL || sends == NULL || n_sends == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t b = 0; b < p->n_blocks; b++) {
        const struct ty_block *block = &p->blocks[b];
        for (uint32_t k = 0; k < block->n_ops; k++) {
            if (p->ops[block->first + k].sync == TY_SYNC_SEND) {
                sends[block->first + n_sends[b]++] = k;
            }
        }
    }
    for (uint32_t i = 0; i < p->n_passes; i++) {
        const struct ty_pass *pass = &p->passes[i];
        for (uint32_t s = 0; s < n_sends[pass->block]; s++) {
            const uint32_t k = sends[p->blocks[pass->block].first + s];
            const struct ty_op *op = &ty_pass_ops(p, pass)[k];
            gaps->send_ordinal[ty_op_slot(p, pass, op)] = pass->first_op + k;
        }
    }
    return 0;
}

static int make_rows(struct ty_gaps *gaps, uint32_t width, struct ty_arena *arena)
{
    const struct ty_program *p = gaps->timeline->program;
    gaps->walked = ty_arena_array(arena, struct ty_gap_walked, p->n_blocks);
    gaps->gap = ty_arena_array(arena, struct ty_gap, (size_t)p->n_ops / 2 + p->n_blocks);
    gaps->width = width;
    gaps->end = ty_arena_array(arena, ty_ps, (size_t)TY_EVENTS * gaps->width);
    gaps->from = ty_arena_array(arena, ty_ps, (size_t)TY_EVENTS * gaps->width);
    gaps->ready = ty_arena_array(arena, ty_ps, (size_t)TY_AWAITED * gaps->width);
    gaps->begun = ty_arena_array(arena, ty_ps, (size_t)TY_AWAITED * gaps->width);
    return gaps->end == NULL || gaps->from == NULL || gaps->ready == NULL || gaps->begun == NULL ||
                   gaps->walked == NULL || gaps->gap == NULL
               ? TY_ENOMEM
               : 0;
}

int ty_gaps_init_beside(struct ty_gaps *gaps, const struct ty_gaps *first, struct ty_arena *arena)
{
    *gaps = *first;
    return make_rows(gaps, first->width, arena);
}

int ty_gaps_init(struct ty_gaps *gaps, const struct ty_timeline *timeline, struct ty_arena *arena)
{
    *gaps = (struct ty_gaps){.timeline = timeline, .step = 1};
    if (make_rows(gaps, timeline->program->slot_width, arena) < 0) {
        return TY_ENOMEM;
    }
    gaps->over = ty_arena_array(arena, ty_ps, (size_t)timeline->program->n_tenants + 1);
    if (gaps->over == NULL) {
        return TY_ENOMEM;
    }
    gaps->over[0] = timeline->makespan - timeline->left_out;
    for (uint32_t t = 0; t < timeline->program->n_tenants; t++) {
        const struct ty_tenant *tenant = &timeline->program->tenants[t];
        gaps->over[t] = ty_timeline_end(timeline, tenant->first_gang, tenant->n_gangs);
    }
    return gaps_find_stretches(gaps, arena) < 0 ? TY_ENOMEM : index_sends(gaps, arena);
}

/* What an event stands for, by the operation that recorded it last. */
struct cause {
    uint8_t idle;    /* bucket until `from` */
    uint8_t exposed; /* bucket from `from` on */
    bool recorded;
    bool awaited; /* as the vocabulary says, of this layer and stream */
    uint16_t layer;
    uint8_t stream;
};

struct walk {
    struct ty_gaps *gaps;
    const struct ty_program *p;
    const struct ty_gang *gang;
    uint32_t first, n, step; /* members: the i-th is first + i * step */
    struct cause cause[TY_EVENTS];
    /* the last compute operation: where the next gap begins */
    const struct ty_op *last;
    uint64_t last_ordinal;
    /* of each stream the last collective that is awaited; streams of the last so many of all */
    const struct ty_op *exchange[TY_MAX_STREAMS];
    uint64_t exchange_ordinal[TY_MAX_STREAMS];
    uint8_t exchange_stream[TY_AWAITED];
    uint32_t n_exchanges;
    const struct ty_pass *pass;
    uint32_t times;              /* that it happened */
    bool filled;                 /* the gang has computed in this step */
    uint32_t peers;              /* gangs of its program, itself among them */
    struct ty_gap_walked *noted; /* what is idle goes there, too; NULL: nowhere */
    struct ty_gap *note;         /* room for so many: */
    uint32_t room;
    ty_gap_fn *visit;
    void *arg;
};

static uint32_t member_of(const struct walk *w, uint32_t i)
{
    assert(i < w->n);
    return w->first + i * w->step;
}

/* End of an operation, which may be none, on a member. */
static ty_ps end_of(const struct walk *w, const struct ty_op *op, uint64_t ordinal, uint32_t member)
{
    const struct ty_timeline *t = w->gaps->timeline;
    return op == NULL ? 0
                      : ty_timeline_starts(t, w->gang, ordinal)[member] +
                            ty_timeline_dur(t, w->gang, op, ordinal, member);
}

/* When each member was ready for a collective, which began when all were. */
static void note_ready(struct walk *w, const struct ty_op *op, uint64_t ordinal)
{
    const ty_ps *start = ty_timeline_starts(w->gaps->timeline, w->gang, ordinal);
    const uint32_t number = w->n_exchanges++ % TY_AWAITED;
    const size_t row = (size_t)number * w->gaps->width;
    const struct ty_op *before = w->exchange[op->stream];
    for (uint32_t i = 0; i < w->n; i++) {
        ty_ps ready = end_of(w, before, w->exchange_ordinal[op->stream], member_of(w, i));
        for (uint32_t k = 0; k < TY_WAITS && op->wait[k] != TY_NO_EVENT; k++) {
            const ty_ps end = w->gaps->end[(size_t)op->wait[k] * w->gaps->width + i];
            ready = w->cause[op->wait[k]].recorded && end > ready ? end : ready;
        }
        w->gaps->ready[row + i] = ready;
        assert(ready <= start[member_of(w, i)]);
        w->gaps->begun[row + i] = start[member_of(w, i)];
    }
    w->exchange[op->stream] = op;
    w->exchange_ordinal[op->stream] = ordinal;
    w->exchange_stream[number] = op->stream;
}

/* When the last of the messages that each member receives was sent, by a gang of another size. */
static void note_sends(const struct walk *w, const struct ty_op *op, const ty_ps *sent, ty_ps *from)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const struct ty_peers senders = ty_op_peers(w->p, op, member_of(w, i));
        from[i] = sent[senders.first];
        for (uint32_t k = 1; k < senders.n; k++) {
            const ty_ps other = sent[senders.first + k];
            from[i] = other > from[i] ? other : from[i];
        }
    }
}

/* Notes the end of the event that `op` records, member by member. */
static void record(struct walk *w, const struct ty_op *op, uint64_t ordinal)
{
    const struct ty_timeline *t = w->gaps->timeline;
    const ty_ps *start = ty_timeline_starts(t, w->gang, ordinal);
    ty_ps *end = w->gaps->end + (size_t)op->record * w->gaps->width;
    ty_ps *from = w->gaps->from + (size_t)op->record * w->gaps->width;
    assert(op->record < TY_EVENTS && w->n <= w->gaps->width);
    struct cause *cause = &w->cause[op->record];
    const uint8_t bucket = ty_kind_bucket(w->p, &w->p->kinds[op->kind]);
    const bool awaited = ty_is_awaited(w->p, op);
    if (awaited) {
        note_ready(w, op, ordinal); /* by ends of events that this one may be among */
    }
    *cause = (struct cause){w->p->words->stall, bucket, true, awaited, op->layer, op->stream};
    const ty_ps *sent = NULL, *several = NULL;
    if (op->sync == TY_SYNC_RECV) {
        const struct ty_gang *sender = &w->p->gangs[w->p->channels[op->link].from];
        sent = ty_timeline_starts(t, sender, w->gaps->send_ordinal[ty_op_slot(w->p, w->pass, op)]);
        if (sender->n_ranks != w->gang->n_ranks) {
            several = sent;
            sent = NULL;
        }
        cause->idle = w->filled ? w->p->words->stall : w->p->words->fill;
    } else if (op->sync == TY_SYNC_MEET && w->p->meets[op->link].n_gangs > 1) {
        cause->idle = w->p->words->drain;
        sent = start;
    }
    for (uint32_t i = 0; i < w->n; i++) {
        const uint32_t m = member_of(w, i);
        end[i] = start[m] + ty_timeline_dur(t, w->gang, op, ordinal, m);
        from[i] = sent != NULL ? sent[m] : 0;
    }
    if (several != NULL) {
        note_sends(w, op, several, from);
    }
}

/* Of from..to, in which a member waited for a collective, how long that one, and those before it on
 * its stream, waited for their last members. */
static ty_ps waited(const struct walk *w, uint32_t number, ty_ps from, ty_ps to, uint8_t event)
{
    ty_ps sum = 0;
    if (event == TY_NO_EVENT || !w->cause[event].awaited) {
        return 0;
    }
    for (uint32_t k = 0; k < TY_AWAITED && k < w->n_exchanges; k++) {
        if (w->exchange_stream[k] != w->cause[event].stream) {
            continue;
        }
        const size_t i = (size_t)k * w->gaps->width + number;
        const ty_ps since = w->gaps->ready[i] > from ? w->gaps->ready[i] : from;
        const ty_ps until = w->gaps->begun[i] < to ? w->gaps->begun[i] : to;
        sum += until > since ? until - since : 0;
    }
    return sum;
}

/* Where there is no room it is as if the stretch had not been walked. */
static void note_gap(struct walk *w, const struct ty_gap *gap)
{
    if (w->noted->n_gaps == w->room) {
        w->noted->row = 0;
        w->noted = NULL;
        return;
    }
    assert(gap->dur > 0 && gap->waited <= gap->dur);
    w->note[w->noted->n_gaps++] = *gap;
}

static void tell(struct walk *w, uint32_t number, struct ty_gap gap)
{
    if (gap.dur > 0) {
        assert(gap.bucket < w->p->words->n_buckets);
        w->visit(w->arg, member_of(w, number), &gap);
        if (w->noted != NULL) {
            note_gap(w, &gap);
        }
    }
}

/* Of a program of uneven ranks: what was waited for last members, and what is left between. */
static void tell_uneven(struct walk *w, uint32_t number, struct ty_gap gap)
{
    const uint32_t n = w->n_exchanges < TY_AWAITED ? w->n_exchanges : TY_AWAITED;
    const ty_ps to = gap.start + gap.dur;
    const uint8_t bucket = gap.bucket;
    gap.waited = 0;
    for (uint32_t back = n; back > 0; back--) { /* in the order of time */
        const uint32_t k = (w->n_exchanges - back) % TY_AWAITED;
        const size_t i = (size_t)k * w->gaps->width + number;
        const ty_ps since = w->gaps->ready[i] > gap.start ? w->gaps->ready[i] : gap.start;
        const ty_ps until = w->gaps->begun[i] < to ? w->gaps->begun[i] : to;
        if (w->exchange_stream[k] == w->cause[gap.event].stream && until > since) {
            gap.dur = since - gap.start;
            gap.bucket = bucket;
            tell(w, number, gap);
            gap.start = since;
            gap.dur = until - since;
            gap.bucket = w->p->words->uneven;
            tell(w, number, gap);
            gap.start = until;
        }
    }
    gap.dur = to - gap.start;
    gap.bucket = bucket;
    tell(w, number, gap);
}

static void emit(struct walk *w, uint32_t number, ty_ps from, ty_ps to, uint8_t bucket,
                 const struct ty_op *op, uint8_t event)
{
    if (to > from) {
        const struct ty_gap gap = {.start = from,
                                   .dur = to - from,
                                   .waited = waited(w, number, from, to, event),
                                   .layer = event == TY_NO_EVENT ? TY_NONE : w->cause[event].layer,
                                   .bucket = bucket,
                                   .before = op == NULL ? NULL : w->pass,
                                   .op = op,
                                   .event = event,
                                   .times = w->times};
        if (w->p->uneven && gap.waited > 0) {
            tell_uneven(w, number, gap);
        } else {
            tell(w, number, gap);
        }
    }
}

/* End of the last compute operation on the i-th member; 0 before the first. */
static ty_ps computed_until(const struct walk *w, uint32_t i)
{
    return end_of(w, w->last, w->last_ordinal, member_of(w, i));
}

/* Splits the gap of one member before `op`, which started at `start`. */
static void split(struct walk *w, const struct ty_op *op, uint32_t i, ty_ps start)
{
    ty_ps t = computed_until(w, i);
    for (uint32_t k = 0; k < TY_WAITS && op->wait[k] != TY_NO_EVENT; k++) {
        const uint8_t event = op->wait[k];
        const ty_ps end = w->gaps->end[(size_t)event * w->gaps->width + i];
        if (!w->cause[event].recorded || end <= t) {
            continue;
        }
        ty_ps from = w->gaps->from[(size_t)event * w->gaps->width + i];
        from = from < t ? t : from > end ? end : from;
        emit(w, i, t, from, w->cause[event].idle, op, event);
        emit(w, i, from, end, w->cause[event].exposed, op, event);
        t = end;
    }
    assert(t <= start); /* what it waited for had happened */
    /* a collective on the compute stream itself waits for its slowest member */
    const uint8_t own = op->sync == TY_SYNC_LOCAL ? w->p->words->stall
                                                  : ty_kind_bucket(w->p, &w->p->kinds[op->kind]);
    emit(w, i, t, start, own, op, TY_NO_EVENT);
}

static void visit_op(struct walk *w, const struct ty_op *op, uint64_t ordinal)
{
    if (op->stream == TY_STREAM_COMPUTE) {
        const bool may_wait = op->wait[0] != TY_NO_EVENT || op->sync != TY_SYNC_LOCAL;
        const ty_ps *start = ty_timeline_starts(w->gaps->timeline, w->gang, ordinal);
        for (uint32_t i = 0; may_wait && i < w->n; i++) {
            split(w, op, i, start[member_of(w, i)]);
        }
        w->last = op;
        w->last_ordinal = ordinal;
        w->filled = true;
    }
    if (op->record != TY_NO_EVENT) {
        record(w, op, ordinal);
    }
}

/* The last operations of streams whose work may go on after the last computation. */
struct lasts {
    const struct ty_op *op[TY_MAX_STREAMS]; /* by stream; NULL: none */
    uint64_t ordinal[TY_MAX_STREAMS];
};

static void find_lasts(const struct walk *w, struct lasts *lasts)
{
    const struct ty_program *p = w->p;
    uint32_t left = 0;
    for (uint32_t l = 0; l < p->n_lanes; l++) {
        const uint8_t stream = p->stream_of[l];
        left |= (stream == p->words->closes ? 1u << stream : 0) | (p->words->beside & 1u << stream);
    }
    for (uint32_t i = w->gang->n_passes; i > 0 && left != 0; i--) {
        const struct ty_pass *pass = &ty_gang_passes(p, w->gang)[i - 1];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        for (uint32_t k = p->blocks[pass->block].n_ops; k > 0; k--) {
            const uint8_t stream = ops[k - 1].stream;
            if ((left >> stream & 1) != 0) {
                lasts->op[stream] = &ops[k - 1];
                lasts->ordinal[stream] = pass->first_op + k - 1;
                left &= ~(1u << stream);
            }
        }
    }
}

/* From the last compute operation to the makespan: what is done off the GPU, data communication
 * that still runs, then nothing. */
static void tail(struct walk *w, const struct lasts *lasts)
{
    const struct ty_vocabulary *words = w->p->words;
    for (uint32_t i = 0; i < w->n; i++) {
        const uint32_t m = member_of(w, i);
        const ty_ps until = computed_until(w, i);
        ty_ps beside = until;
        for (uint32_t s = 0; words->beside >> s != 0; s++) {
            const ty_ps end =
                s == words->closes ? 0 : end_of(w, lasts->op[s], lasts->ordinal[s], m);
            beside = end > beside ? end : beside;
        }
        const ty_ps end = end_of(w, lasts->op[words->closes], lasts->ordinal[words->closes], m);
        const ty_ps busy = end > beside ? end : beside;
        emit(w, i, until, beside, words->besides, NULL, TY_NO_EVENT);
        emit(w, i, beside, busy, words->closing, NULL, TY_NO_EVENT);
        emit(w, i, busy, w->gaps->over[w->gang->tenant],
             w->peers > 1 ? words->drain : words->closing, NULL, TY_NO_EVENT);
    }
}

/* ---- passes ---- */

/* Whether n operations from one row on took place as those from another, later by a constant. */
static bool is_again(const struct ty_timeline *t, uint64_t row, uint64_t was, uint32_t n)
{
    const ty_ps later = t->start[row] - t->start[was];
    bool same = t->dur == NULL || memcmp(t->dur + row, t->dur + was, n * sizeof(*t->dur)) == 0;
    for (uint32_t i = 0; i < n && same; i++) {
        same = t->start[row + i] - t->start[was + i] == later;
    }
    return same;
}

/* A stretch behind its first operation, from what was idle when it was walked. */
static void walk_again(struct walk *w, const struct ty_op *ops, const struct ty_gap_stretch *s,
                       const struct ty_gap_walked *walked, uint64_t row)
{
    const ty_ps *start = w->gaps->timeline->start;
    const ty_ps later = start[row] - start[walked->row - 1];
    for (uint32_t i = 0; i < walked->n_gaps; i++) {
        struct ty_gap gap = w->note[i];
        gap.start += later;
        gap.before = w->pass;
        gap.times = w->times;
        w->visit(w->arg, w->first, &gap);
    }
    for (uint32_t i = 0; i < s->n_records; i++) {
        const uint32_t k = w->gaps->record[(ops - w->p->ops) + i];
        record(w, &ops[k], w->pass->first_op + k);
    }
    w->last = &ops[s->last];
    w->last_ordinal = w->pass->first_op + s->last;
}

/* Where the one member of a gang begins a stretch. Returns the operation to go on with. */
static uint32_t begin_stretch(struct walk *w, const struct ty_op *ops,
                              const struct ty_gap_stretch *s)
{
    const struct ty_block *block = &w->p->blocks[w->pass->block];
    struct ty_gap_walked *walked = &w->gaps->walked[w->pass->block];
    const uint64_t row = w->gang->first_task + w->pass->first_op + s->first;
    w->note = w->gaps->gap + block->first / 2 + w->pass->block;
    w->room = (block->n_ops + 1) / 2;
    if (walked->row > 0 && is_again(w->gaps->timeline, row, walked->row - 1, s->end - s->first)) {
        walk_again(w, ops, s, walked, row);
        return s->end;
    }
    *walked = (struct ty_gap_walked){.row = row + 1};
    w->noted = walked;
    return s->first + 1;
}

static void walk_pass(struct walk *w)
{
    const struct ty_op *ops = ty_pass_ops(w->p, w->pass);
    const struct ty_gap_stretch *s = &w->gaps->stretch[w->pass->block];
    const bool one = w->gang->n_ranks == 1 && s->end > 0;
    for (uint32_t k = 0; k < w->p->blocks[w->pass->block].n_ops;) {
        if (one && k == s->first + 1) {
            k = begin_stretch(w, ops, s);
        }
        w->noted = k < s->end ? w->noted : NULL;
        if (k < w->p->blocks[w->pass->block].n_ops) {
            visit_op(w, &ops[k], w->pass->first_op + k);
        }
        k++;
    }
    w->noted = NULL;
}

void ty_gaps_walk(struct ty_gaps *gaps, uint32_t gang, uint32_t first, uint32_t n, ty_gap_fn *visit,
                  void *arg)
{
    const struct ty_program *p = gaps->timeline->program;
    struct walk w = {.gaps = gaps,
                     .p = p,
                     .gang = &p->gangs[gang],
                     .first = first,
                     .n = n,
                     .step = gaps->step,
                     .visit = visit,
                     .arg = arg};
    const struct ty_tenant *tenant = p->n_tenants > 0 ? &p->tenants[w.gang->tenant] : NULL;
    const bool overlapping = tenant != NULL ? tenant->overlapping_steps : p->overlapping_steps;
    struct lasts lasts = {.op = {NULL}};
    if (tenant != NULL ? tenant->observed : p->observed) {
        for (uint32_t i = 0; i < n; i++) {
            ty_observed_walk(gaps->timeline, gang, member_of(&w, i), gaps->over[w.gang->tenant],
                             visit, arg);
        }
        return;
    }
    w.peers = tenant != NULL ? tenant->n_gangs : p->n_gangs;
    memset(gaps->walked, 0, p->n_blocks * sizeof(*gaps->walked));
    for (uint32_t i = 0; i < w.gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, w.gang)[i];
        if (w.pass != NULL && w.pass->step != pass->step && !overlapping) {
            w.filled = false;
        }
        w.pass = pass;
        w.times = ty_pass_times(gaps->timeline, gang, i);
        walk_pass(&w);
    }
    w.times = 1;
    find_lasts(&w, &lasts);
    tail(&w, &lasts);
}
