/* interleaved_zb.c - interleaved 1F1B whose weight gradients wait for the holes at the end.
 *
 *     p = 2, m = 4, v = 2
 *     rank 0 |F0 F1 f0 f1 .. i0 w0 F2 i1 w1 F3 I0 W0 f2 I1 W1 f3 i2 w2 i3 w3 I2 W2 I3 W3|
 *     rank 1 |.. F0 F1 f0 i0 f1 i1 w0 F2 I0 w1 F3 I1 W0 f2 i2 W1 f3 i3 w2 I2 w3 I3 W2 W3|
 *
 * A group of g micro-batches goes through the first chunks of all ranks, then through the second
 * chunks, and so on. Counted in this order rank r warms up with (v - 1)g + p - 1 - r forwards,
 * then alternates a forward and an input gradient (I; its groups go through the chunks from the
 * last to the first) and runs the weight gradients (W) r pieces late. So the bubble of ZB-1P is
 * divided by v: in times of one chunk it stays (p - 1) max(tF, tI, tF + tI - tW). Every rank
 * holds min(mv, (v - 1)g + p) pieces.
 * Without a group size the m micro-batches are split into max(1, floor(m / p)) groups as equal as
 * they can be, the larger ones first; g is then the size of the first. m < p is one short group.
 * Source: pytorch torch/distributed/pipelining/schedules.py, ScheduleInterleavedZeroBubble, which
 * asks for equal groups; Qi et al., "Zero bubble pipeline parallelism", ICLR 2024, for W. */
#include <stdio.h>

#include "model/schedule/formulas.h"

/* Micro-batches in groups. Group i has `size` ones, plus one where i < more; the last has
 * `last`. */
struct groups {
    uint32_t n, size, more, last;
};

static struct groups split(const struct ty_sched_shape *shape)
{
    const uint32_t m = shape->m, g = shape->group;
    if (g != 0) {
        const uint32_t n = (m + g - 1) / g;
        return (struct groups){.n = n, .size = g, .last = m - (n - 1) * g};
    }
    const uint32_t n = m < shape->p ? 1 : m / shape->p;
    return (struct groups){.n = n, .size = m / n, .more = m % n, .last = m / n};
}

static uint32_t group_size(const struct groups *groups, uint32_t i)
{
    return i == groups->n - 1 ? groups->last : groups->size + (i < groups->more);
}

/* Piece number k of the order in which a rank runs forwards: chunk and micro-batch. */
struct piece {
    uint16_t mb, chunk;
};

static void fill_pieces(struct piece *piece, const struct ty_sched_shape *shape)
{
    const struct groups groups = split(shape);
    uint32_t first = 0, k = 0;
    for (uint32_t i = 0; i < groups.n; i++) {
        const uint32_t size = group_size(&groups, i);
        for (uint32_t c = 0; c < shape->v; c++) {
            for (uint32_t j = 0; j < size; j++) {
                piece[k++] = (struct piece){(uint16_t)(first + j), (uint16_t)c};
            }
        }
        first += size;
    }
}

static int check(const struct ty_sched_shape *shape, struct ty_err *err)
{
    const uint32_t p = shape->p, m = shape->m, g = shape->group;
    if (g == 0 || (g == m && m < p)) {
        return 0;
    }
    if (g < p || g > m) {
        return ty_fail(err, TY_EUSAGE,
                       "interleaved-zb: groups of %u micro-batches; a group has at least "
                       "as many as there are ranks (%u) and at most all %u",
                       (unsigned)g, (unsigned)p, (unsigned)m);
    }
    if (m % g != 0 && m % g < p) {
        const uint32_t small = m / (m / p), large = (m + m / p - 1) / (m / p);
        char sizes[32];
        const int n = snprintf(sizes, sizeof(sizes), "%u", (unsigned)small);
        if (large > small && n > 0) {
            snprintf(sizes + n, sizeof(sizes) - (size_t)n, " or %u", (unsigned)large);
        }
        return ty_fail(err, TY_EUSAGE,
                       "interleaved-zb: groups of %u leave %u of %u micro-batches for the "
                       "last group, fewer than the %u ranks; leave the group size out for groups "
                       "of %s",
                       (unsigned)g, (unsigned)(m % g), (unsigned)m, (unsigned)p, sizes);
    }
    return 0;
}

static uint32_t warm_up(const struct ty_sched_shape *shape, uint32_t rank)
{
    const struct groups groups = split(shape);
    const uint64_t all = (uint64_t)shape->m * shape->v;
    const uint64_t warm = (uint64_t)(shape->v - 1) * group_size(&groups, 0) + shape->p - 1 - rank;
    return (uint32_t)(warm < all ? warm : all);
}

static int generate(const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                    struct ty_slots *slots, struct ty_arena *arena, struct ty_err *err)
{
    (void)times;
    const uint32_t p = shape->p, n = shape->m * shape->v, top = shape->v - 1;
    struct piece *piece = ty_arena_array(arena, struct piece, n);
    if (piece == NULL) {
        return ty_fail_memory(err);
    }
    fill_pieces(piece, shape);
    for (uint32_t r = 0; r < p; r++) {
        const uint32_t warm = warm_up(shape, r);
        for (uint32_t k = 0; k < warm; k++) {
            ty_slots_add(slots, r, TY_PHASE_FORWARD, piece[k].mb, piece[k].chunk * p + r);
        }
        for (uint32_t k = 0; k < n + r; k++) {
            if (warm + k < n) {
                const struct piece *f = &piece[warm + k];
                ty_slots_add(slots, r, TY_PHASE_FORWARD, f->mb, f->chunk * p + r);
            }
            if (k < n) {
                ty_slots_add(slots, r, TY_PHASE_DGRAD, piece[k].mb, (top - piece[k].chunk) * p + r);
            }
            if (k >= r) {
                ty_slots_add(slots, r, TY_PHASE_WGRAD, piece[k - r].mb,
                             (top - piece[k - r].chunk) * p + r);
            }
        }
    }
    return 0;
}

static uint32_t in_flight(const struct ty_sched_shape *shape, uint32_t rank)
{
    (void)rank;
    const uint32_t all = shape->m * shape->v, held = warm_up(shape, 0) + 1;
    return held < all ? held : all;
}

extern const struct ty_sched ty_sched_interleaved_zb;
const struct ty_sched ty_sched_interleaved_zb = {
    .name = "interleaved-zb",
    .grouped = true,
    .summary = "interleaved 1F1B with late weight gradients; bubble of ZB-1P divided by v",
    .source = "pytorch ScheduleInterleavedZeroBubble; Qi et al. 2024",
    .placement = TY_PLACE_LOOPED,
    .auto_chunks = 2,
    .reduced = "zb-1p",
    .check = check,
    .generate = generate,
    .formula = "m v(tF + tI + tW) + (p - 1)max(tF, tI, tF + tI - tW), times of a chunk",
    .domain = "equal stages, m >= p",
    .makespan = ty_sched_late_weights,
    .in_domain = ty_sched_fills_ranks,
    .in_flight = in_flight,
};
