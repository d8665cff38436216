/* passes.c - the columns of an executed schedule. A pass is a row; of two that overlap each has a
 * row, and both the time of the slot that they share: the second half begins nowhere else. */
#include "sim/schedule/passes.h"

#include "model/orders/text.h"

/* The columns while they are filled. */
struct columns {
    double *start, *duration;
    uint16_t *micro_batch, *stage;
    uint8_t *slice, *direction, *half;
    char *phase;
};

static bool make_columns(struct columns *c, struct ty_arena *arena, size_t n)
{
    *c = (struct columns){ty_arena_array(arena, double, n),   ty_arena_array(arena, double, n),
                          ty_arena_array(arena, uint16_t, n), ty_arena_array(arena, uint16_t, n),
                          ty_arena_array(arena, uint8_t, n),  ty_arena_array(arena, uint8_t, n),
                          ty_arena_array(arena, uint8_t, n),  ty_arena_array(arena, char, n)};
    return c->start != NULL && c->duration != NULL && c->micro_batch != NULL && c->stage != NULL &&
           c->slice != NULL && c->direction != NULL && c->half != NULL && c->phase != NULL;
}

static enum ty_slot_half half_of(const struct ty_rank_slots *order, uint32_t i)
{
    if (i > 0 && order->slot[i - 1].paired) {
        return TY_SLOT_SECOND;
    }
    return order->slot[i].paired && i + 1 < order->n ? TY_SLOT_FIRST : TY_SLOT_WHOLE;
}

static void put_slot(const struct columns *c, size_t row, const struct ty_rank_slots *order,
                     uint32_t i)
{
    const struct ty_slot *slot = &order->slot[i];
    c->micro_batch[row] = slot->mb;
    c->stage[row] = slot->stage;
    c->slice[row] = slot->slice;
    c->direction[row] = slot->direction;
    c->phase[row] = ty_phase_letter((enum ty_phase)slot->phase);
    c->half[row] = (uint8_t)half_of(order, i);
}

/* The computations of a rank, in their order, from a row on. */
static void fill_rank(const struct columns *c, size_t row, const struct ty_sched_run *r,
                      uint32_t rank, struct ty_sched_rank_times *times)
{
    const struct ty_rank_slots *order = &r->slots.rank[rank];
    struct ty_span_cursor cursor = ty_spans_of(&r->timeline, rank);
    struct ty_span span;
    ty_ps first_half = 0;
    *times = (struct ty_sched_rank_times){.first = r->timeline.makespan};
    for (uint32_t i = 0; ty_span_next(&cursor, &span);) {
        if (span.op->stream != TY_STREAM_COMPUTE) {
            continue;
        }
        put_slot(c, row, order, i);
        c->start[row] = ty_sched_units(span.start);
        c->duration[row] = ty_sched_units(span.dur);
        if (c->half[row] == TY_SLOT_FIRST) {
            first_half = span.dur;
        } else if (c->half[row] == TY_SLOT_SECOND) {
            c->start[row] = c->start[row - 1];
            c->duration[row - 1] = c->duration[row] = ty_sched_units(first_half + span.dur);
        }
        times->busy += span.dur;
        times->first = span.start < times->first ? span.start : times->first;
        times->last = span.start + span.dur;
        row++;
        i++;
    }
}

int ty_sched_passes_fill(struct ty_sched_passes *passes, const struct ty_sched_run *r,
                         struct ty_err *err)
{
    struct ty_arena *arena = &passes->arena;
    const uint32_t p = r->shape.p;
    uint32_t *first = ty_arena_array(arena, uint32_t, (size_t)p + 1);
    passes->ranks = ty_arena_array(arena, struct ty_sched_rank_times, p);
    if (first == NULL || passes->ranks == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t rank = 0; rank < p; rank++) {
        first[rank + 1] = first[rank] + r->slots.rank[rank].n;
    }
    struct columns c;
    if (!make_columns(&c, arena, first[p])) {
        return ty_fail_memory(err);
    }
    for (uint32_t rank = 0; rank < p; rank++) {
        fill_rank(&c, first[rank], r, rank, &passes->ranks[rank]);
    }
    passes->public = (struct ty_schedule_passes){.n = first[p],
                                                 .start = c.start,
                                                 .duration = c.duration,
                                                 .micro_batch = c.micro_batch,
                                                 .stage = c.stage,
                                                 .phase = c.phase,
                                                 .slice = c.slice,
                                                 .direction = c.direction,
                                                 .half = c.half,
                                                 .first = first,
                                                 .n_ranks = p};
    return 0;
}
