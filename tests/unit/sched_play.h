/* sched_play.h - plays the orders of a schedule, straight from the rules at the top of
 * model/schedule/schedule.h and apart from the simulator: repeat, until nothing moves, for each
 * rank: start the next slot if all that it needs has a known end. Slow and obvious: an oracle.
 * Times are integers and may differ from stage to stage. */
#ifndef TY_TESTS_SCHED_PLAY_H
#define TY_TESTS_SCHED_PLAY_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model/schedule/schedule.h"
#include "tests/unit/suite.h"

#define PLAY_STAGES 64 /* p v at most */
#define PLAY_NEVER  UINT64_MAX

/* Times of a virtual stage, indexed by the letters of a pass. */
struct play_times {
    uint64_t f[PLAY_STAGES], b[PLAY_STAGES], i[PLAY_STAGES], w[PLAY_STAGES];
    uint64_t overlap; /* of an overlapped slot; 0: sum of its two passes */
    uint64_t edge;
};

struct play {
    const struct ty_sched *sched;
    struct ty_sched_shape shape;
    const struct play_times *times;
    struct ty_slots slots;
    struct ty_arena arena;
    uint64_t *start[PLAY_STAGES]; /* [rank][index in its order] */
    uint64_t *end_f, *end_b;      /* [key]; PLAY_NEVER: not yet */
    uint64_t makespan, busy[PLAY_STAGES];
    bool done; /* false: some rank waits for ever */
};

static inline size_t play_key(const struct play *p, const struct ty_slot *s)
{
    const size_t stages = ty_sched_stages(&p->shape);
    return (((size_t)s->direction * p->shape.m + s->mb) * stages + s->stage) * p->shape.slices +
           s->slice;
}

static inline size_t play_n_keys(const struct play *p)
{
    return (size_t)ty_sched_directions(p->sched->placement) * p->shape.m *
           ty_sched_stages(&p->shape) * p->shape.slices;
}

static inline uint32_t play_owner(const struct play *p, const struct ty_slot *s)
{
    return ty_sched_owner(p->sched->placement, &p->shape, s->direction, s->stage);
}

static inline uint64_t play_later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* When the result `ends` of another pass reaches slot `s`. */
static inline uint64_t play_arrival(const struct play *p, const uint64_t *ends,
                                    const struct ty_slot *s, const struct ty_slot *from)
{
    const uint64_t end = ends[play_key(p, from)];
    const bool crosses = play_owner(p, s) != play_owner(p, from);
    return end == PLAY_NEVER || !crosses ? end : end + p->times->edge;
}

/* Earliest start by dependencies; PLAY_NEVER: not known yet. */
static inline uint64_t play_ready(const struct play *p, const struct ty_slot *s)
{
    struct ty_slot from = *s;
    uint64_t ready = 0;
    if (s->phase == TY_PHASE_WGRAD) {
        return p->end_b[play_key(p, s)];
    }
    const bool forward = s->phase == TY_PHASE_FORWARD;
    const uint64_t *ends = forward ? p->end_f : p->end_b;
    if (!forward) {
        ready = p->end_f[play_key(p, s)];
    }
    if (forward ? s->stage > 0 : s->stage + 1u < ty_sched_stages(&p->shape)) {
        from.stage = (uint16_t)(forward ? s->stage - 1 : s->stage + 1);
        ready = play_later(ready, play_arrival(p, ends, s, &from));
        from = *s;
    }
    if (forward ? s->slice > 0 : s->slice + 1u < p->shape.slices) {
        from.slice = (uint8_t)(forward ? s->slice - 1 : s->slice + 1);
        ready = play_later(ready, ends[play_key(p, &from)]);
    }
    return ready;
}

static inline uint64_t play_duration(const struct play *p, const struct ty_slot *s)
{
    switch (s->phase) {
    case TY_PHASE_FORWARD:
        return p->times->f[s->stage];
    case TY_PHASE_BACKWARD:
        return p->times->b[s->stage];
    case TY_PHASE_DGRAD:
        return p->times->i[s->stage];
    default:
        return p->times->w[s->stage];
    }
}

/* Runs the slot at index `at` of a rank if it can; returns its atoms, 0 if it cannot. */
static inline uint32_t play_slot(struct play *p, uint32_t rank, uint32_t at, uint64_t *free_at)
{
    const struct ty_slot *s = &p->slots.rank[rank].slot[at];
    const uint32_t n = s->paired ? 2 : 1;
    uint64_t begin = *free_at, duration = 0;
    for (uint32_t k = 0; k < n; k++) {
        begin = play_later(begin, play_ready(p, &s[k]));
        duration += play_duration(p, &s[k]);
    }
    if (begin == PLAY_NEVER) {
        return 0;
    }
    if (n == 2 && p->times->overlap != 0) {
        duration = p->times->overlap;
    }
    *free_at = begin + duration;
    for (uint32_t k = 0; k < n; k++) {
        p->start[rank][at + k] = begin;
        if (s[k].phase != TY_PHASE_WGRAD) {
            uint64_t *ends = s[k].phase == TY_PHASE_FORWARD ? p->end_f : p->end_b;
            ends[play_key(p, &s[k])] = *free_at;
        }
    }
    p->busy[rank] += duration;
    p->makespan = play_later(p->makespan, *free_at);
    return n;
}

/* Plays the orders with the times of p->times; may be repeated with others. */
static inline void play_run(struct play *p)
{
    uint32_t next[PLAY_STAGES] = {0};
    uint64_t free_at[PLAY_STAGES] = {0};
    bool moved = true;
    p->makespan = 0;
    memset(p->busy, 0, sizeof(p->busy));
    for (size_t k = 0; k < play_n_keys(p); k++) {
        p->end_f[k] = p->end_b[k] = PLAY_NEVER;
    }
    while (moved) {
        moved = false;
        for (uint32_t r = 0; r < p->shape.p; r++) {
            uint32_t n = 1;
            while (next[r] < p->slots.rank[r].n && n != 0) {
                n = play_slot(p, r, next[r], &free_at[r]);
                next[r] += n;
                moved |= n != 0;
            }
        }
    }
    p->done = true;
    for (uint32_t r = 0; r < p->shape.p; r++) {
        p->done &= next[r] == p->slots.rank[r].n;
    }
}

/* Generates and plays; 0, or the code of the refusal. play_end frees. */
static inline int play_begin(struct play *p, const char *name, const struct ty_sched_shape *shape,
                             const struct play_times *times, struct ty_err *err)
{
    *p = (struct play){.sched = ty_sched_find(name), .shape = *shape, .times = times};
    ck_assert_msg(p->sched != NULL, "no schedule %s", name);
    ck_assert_uint_le(ty_sched_stages(shape), PLAY_STAGES);
    const struct ty_sched_times guide = {
        .forward = (double)times->f[0],
        .backward = (double)times->b[0],
        .input = (double)times->i[0],
        .weight = (double)times->w[0],
        .overlap = times->overlap != 0 ? (double)times->overlap : -1,
        .edge = (double)times->edge,
    };
    const int rc = ty_sched_slots(p->sched, shape, &guide, &p->slots, &p->arena, err);
    if (rc != 0) {
        return rc;
    }
    p->end_f = ty_arena_array(&p->arena, uint64_t, play_n_keys(p));
    p->end_b = ty_arena_array(&p->arena, uint64_t, play_n_keys(p));
    for (uint32_t r = 0; r < shape->p; r++) {
        p->start[r] = ty_arena_array(&p->arena, uint64_t, p->slots.rank[r].n + 1);
    }
    play_run(p);
    return 0;
}

static inline void play_end(struct play *p)
{
    ty_arena_release(&p->arena);
}

/* The same times for all stages; tB = tI + tW. */
static inline struct play_times play_even(uint64_t f, uint64_t i, uint64_t w, uint64_t edge)
{
    struct play_times t = {.edge = edge};
    for (size_t s = 0; s < PLAY_STAGES; s++) {
        t.f[s] = f;
        t.i[s] = i;
        t.w[s] = w;
        t.b[s] = i + w;
    }
    return t;
}

/* Makespan of a schedule that must be accepted and must end. */
static inline uint64_t play_makespan(const char *name, const struct ty_sched_shape *shape,
                                     const struct play_times *times)
{
    static struct ty_err err;
    struct play p;
    ck_assert_msg(play_begin(&p, name, shape, times, &err) == 0, "%s", err.text);
    ck_assert_msg(p.done, "%s p=%u m=%u v=%u: a rank waits for ever", name, (unsigned)shape->p,
                  (unsigned)shape->m, (unsigned)shape->v);
    play_end(&p);
    return p.makespan;
}

/* The order of a rank as text: "F0.0 (F1.0|B0.1) B1.0". */
static inline void play_text(const struct ty_rank_slots *rank, char *buf, size_t size)
{
    char word[32];
    size_t len = 0;
    buf[0] = '\0';
    for (uint32_t i = 0; i < rank->n && len < size; i++) {
        const bool second = i > 0 && rank->slot[i - 1].paired;
        const char *before = second ? "|" : i > 0 ? " " : "";
        len += (size_t)snprintf(
            buf + len, size - len, "%s%s%s%s", before, rank->slot[i].paired ? "(" : "",
            ty_slot_text(&rank->slot[i], word, sizeof(word)), second ? ")" : "");
    }
}

/* A shape that a schedule refuses, and what it says. */
struct play_refusal {
    const char *name;
    struct ty_sched_shape shape;
    const char *message;
};

static inline void play_refusals(const struct play_refusal *refusals, size_t n)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (size_t i = 0; i < n; i++) {
        struct play p;
        struct ty_err err = TY_ERR_NONE;
        ck_assert_int_eq(play_begin(&p, refusals[i].name, &refusals[i].shape, &times, &err),
                         TY_EUSAGE);
        ck_assert_str_eq(err.text, refusals[i].message);
        play_end(&p);
    }
}

#endif
