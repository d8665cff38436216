/* test_sched_zb.c - schedules that split the backward pass, against what their papers and reference
 * implementations reach: makespans, spans, peaks; and what the searched ones must keep for any
 * durations. Orders are drawn in the sources and tested there; orders of the references differ. */
#include <math.h>

#include "model/schedule/greedy.h"
#include "tests/unit/sched_play.h"

static struct ty_err err;

/* A small generator: the same durations in every run. */
static uint64_t seed = 1;
static uint64_t random_below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

static struct play_times random_times(uint64_t most, uint64_t edge)
{
    const uint64_t f = 1 + random_below(most), i = 1 + random_below(most);
    return play_even(f, i, 1 + random_below(most), edge == 0 ? 0 : random_below(edge));
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Plays a schedule that must be accepted and must end. */
static struct play played(const char *name, const struct ty_sched_shape *shape,
                          const struct play_times *times)
{
    struct play p;
    ck_assert_msg(play_begin(&p, name, shape, times, &err) == 0, "%s", err.text);
    ck_assert_msg(p.done, "%s p=%u m=%u v=%u: a rank waits for ever", name, (unsigned)shape->p,
                  (unsigned)shape->m, (unsigned)shape->v);
    return p;
}

/* Longest time from a rank's first pass to the end of its last. */
static uint64_t longest_span(const struct play *p)
{
    uint64_t span = 0;
    for (uint32_t r = 0; r < p->shape.p; r++) {
        const struct ty_rank_slots *rank = &p->slots.rank[r];
        const uint32_t last = rank->n - 1;
        const uint64_t end = p->start[r][last] + play_duration(p, &rank->slot[last]);
        span = later(span, end - p->start[r][0]);
    }
    return span;
}

static uint32_t highest_peak(const struct play *p, enum ty_phase until)
{
    uint32_t peak = 0;
    for (uint32_t r = 0; r < p->shape.p; r++) {
        const uint32_t own = ty_slots_peak(&p->slots.rank[r], until);
        peak = own > peak ? own : peak;
    }
    return peak;
}

/* ---- figures of the reference implementations ---- */

/* tF = tI = tW = 1, in passes and pieces of one chunk; span 0: not one without idle time. */
static const struct {
    const char *name;
    struct ty_sched_shape shape;
    uint64_t makespan, span;
    uint32_t peak_i; /* of rank 0, freed by I */
    uint32_t peak_w; /* of all, freed by W */
} figures[] = {
    {"zb-1p", {8, 32, 1, 0, 1}, 103, 0, 8, 8},
    {"zb-2p", {8, 32, 1, 0, 1}, 103, 96, 15, 16},
    {"interleaved-zb", {8, 32, 2, 0, 1}, 199, 0, 16, 16}, /* 99.5, 8 */
    {"interleaved-zb", {8, 32, 4, 0, 1}, 391, 0, 32, 32}, /* 97.75, 8 */
    {"zb-v", {8, 32, 2, 0, 1}, 199, 192, 16, 16},         /* 99.5, 8 */
    {"v-half", {8, 32, 2, 0, 1}, 209, 0, 10, 10},         /* 104.5, 5 */
    {"v-min", {8, 32, 2, 0, 1}, 219, 0, 7, 8},            /* 109.5, 3.5 and 4 */
    {"zb-1p", {4, 8, 1, 0, 1}, 27, 0, 4, 4},
    {"zb-2p", {4, 8, 1, 0, 1}, 27, 24, 7, 8},
    {"zb-v", {4, 8, 2, 0, 1}, 51, 48, 8, 8}, /* 25.5 */
    {"v-half", {2, 8, 2, 0, 1}, 49, 0, 4, 4},
    {"v-half", {4, 16, 2, 0, 1}, 101, 0, 6, 6},
    {"v-min", {4, 16, 2, 0, 1}, 107, 0, 4, 4},
};

TEST(figures_are_those_of_the_references)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        struct play p = played(figures[i].name, &figures[i].shape, &times);
        const uint32_t peak_i = ty_slots_peak(&p.slots.rank[0], TY_PHASE_DGRAD);
        ck_assert_msg(p.makespan == figures[i].makespan, "%s: %u, not %u", figures[i].name,
                      (unsigned)p.makespan, (unsigned)figures[i].makespan);
        ck_assert(figures[i].span == 0 || longest_span(&p) == figures[i].span);
        ck_assert_uint_eq(highest_peak(&p, TY_PHASE_WGRAD), figures[i].peak_w);
        if (strcmp(figures[i].name, "v-min") == 0) {
            ck_assert_uint_le(peak_i, figures[i].peak_i);
        } else {
            ck_assert_uint_eq(peak_i, figures[i].peak_i);
        }
        play_end(&p);
    }
}

/* The references leave 3 passes on two ranks (sail) or 2 (Primus); 1 is the skew of the ranks. */
TEST(v_min_over_two_ranks_loses_no_more_than_the_skew)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    const struct ty_sched_shape shape = {2, 8, 2, 0, 1};
    struct play p = played("v-min", &shape, &times);
    ck_assert_uint_eq(p.makespan, 6 * 8 + 1);
    ck_assert_uint_eq(highest_peak(&p, TY_PHASE_WGRAD), 4);
    play_end(&p);
}

/* In groups of g no rank of ZB-1P has more than g micro-batches between I and W; smaller groups
 * hold less and take longer, and one of all ranks is none. */
TEST(a_group_limits_the_weight_gradients_that_wait)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    struct ty_sched_shape shape = {8, 32, 1, 0, 1};
    struct play p = played("zb-1p", &shape, &times);
    uint64_t before = p.makespan;
    play_end(&p);
    for (shape.group = 8; shape.group > 0; shape.group--) {
        p = played("zb-1p", &shape, &times);
        ck_assert(shape.group < 8 ? p.makespan >= before : p.makespan == before);
        before = p.makespan;
        for (uint32_t r = 0; r < shape.p; r++) {
            const uint32_t late = r < shape.group ? r : shape.group - 1;
            ck_assert_uint_eq(ty_slots_peak(&p.slots.rank[r], TY_PHASE_DGRAD), shape.p - r);
            ck_assert_uint_eq(ty_slots_peak(&p.slots.rank[r], TY_PHASE_WGRAD), shape.p - r + late);
        }
        play_end(&p);
    }
    ck_assert_uint_eq(before, 32 * 3 + 7 * 2); /* F and I of the ranks behind */
}

/* ---- ZB-1P and its interleaved form: closed forms for any times ---- */

static uint64_t zb_makespan(const struct ty_sched_shape *shape, const struct play_times *t)
{
    const uint64_t f = t->f[0], i = t->i[0], w = t->w[0];
    const uint64_t step = later(later(f, i), f + i > w ? f + i - w : 0);
    return (uint64_t)shape->m * shape->v * (f + i + w) + (shape->p - 1) * step;
}

TEST(makespan_of_zb_1p_has_a_closed_form_for_any_times)
{
    for (uint32_t p = 1; p <= 16; p++) {
        for (uint32_t m = p; m <= 8 * p; m += 1 + p / 4) {
            const struct ty_sched_shape shape = {p, m, 1, 0, 1};
            const struct play_times t = random_times(9, 0);
            const uint64_t makespan = play_makespan("zb-1p", &shape, &t);
            ck_assert_uint_eq(makespan, zb_makespan(&shape, &t));
            if (t.i[0] <= t.f[0] || t.w[0] <= t.f[0]) { /* the published one, tW > tI included */
                const uint64_t rest = t.i[0] > t.w[0] ? t.i[0] - t.w[0] : 0;
                ck_assert_uint_eq(makespan, m * (t.f[0] + t.b[0]) + (p - 1) * (t.f[0] + rest));
            }
        }
    }
}

TEST(zb_1p_holds_p_micro_batches_until_w_and_those_of_1f1b_until_i)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (uint32_t p = 1; p <= 16; p++) {
        for (uint32_t m = 1; m <= 3 * p; m++) {
            const struct ty_sched_shape shape = {p, m, 1, 0, 1};
            struct play play = played("zb-1p", &shape, &times);
            for (uint32_t r = 0; r < p; r++) {
                const struct ty_rank_slots *rank = &play.slots.rank[r];
                ck_assert_uint_eq(ty_slots_peak(rank, TY_PHASE_WGRAD), lesser(m, p));
                ck_assert_uint_eq(ty_slots_peak(rank, TY_PHASE_DGRAD), lesser(m, p - r));
            }
            play_end(&play);
        }
    }
}

static void check_group(const struct ty_sched_shape *shape, uint32_t group)
{
    const struct play_times times = random_times(9, 0);
    struct play p = played("interleaved-zb", shape, &times);
    const uint32_t all = shape->m * shape->v, held = (shape->v - 1) * group + shape->p;
    ck_assert_uint_eq(p.makespan, zb_makespan(shape, &times));
    ck_assert_uint_eq(highest_peak(&p, TY_PHASE_WGRAD), lesser(all, held));
    play_end(&p);
}

TEST(interleaved_zb_divides_the_bubble_with_every_legal_group)
{
    for (uint32_t p = 1; p <= 16; p += 1 + p / 4) {
        for (uint32_t v = 1; v <= 4 && p * v <= PLAY_STAGES; v++) {
            for (uint32_t m = p; m <= 8 * p; m += 1 + p / 3) {
                const uint32_t groups = m / p;
                const struct ty_sched_shape shape = {p, m, v, 0, 1};
                check_group(&shape, (m + groups - 1) / groups);
            }
            for (uint32_t g = p; g <= 3 * p; g += 1 + p / 3) {
                for (uint32_t m = g; m <= 4 * g; m++) {
                    if (m % g == 0 || m % g >= p) {
                        const struct ty_sched_shape shape = {p, m, v, g, 1};
                        check_group(&shape, g);
                    }
                    m += p / 2;
                }
            }
        }
    }
}

TEST(one_chunk_of_interleaved_zb_is_zb_1p)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    static char a[1 << 14], b[1 << 14];
    for (uint32_t p = 1; p <= 8; p++) {
        for (uint32_t m = 1; m <= 4 * p; m++) {
            const struct ty_sched_shape shape = {p, m, 1, 0, 1};
            struct play x = played("interleaved-zb", &shape, &times);
            struct play y = played("zb-1p", &shape, &times);
            for (uint32_t r = 0; r < p; r++) {
                play_text(&x.slots.rank[r], a, sizeof(a));
                play_text(&y.slots.rank[r], b, sizeof(b));
                ck_assert_str_eq(a, b);
            }
            play_end(&x);
            play_end(&y);
        }
    }
}

/* ---- ZB-2P and ZB-V: no idle time inside a span ---- */

TEST(zb_2p_and_zb_v_leave_nothing_but_the_skew)
{
    const struct play_times times = play_even(5, 5, 5, 0);
    for (uint32_t p = 1; p <= 16; p++) {
        for (uint32_t m = 2 * p - 1; m <= 8 * p; m += 1 + p / 4) {
            const struct ty_sched_shape one = {p, m, 1, 0, 1}, two = {p, m, 2, 0, 1};
            struct play x = played("zb-2p", &one, &times), y = played("zb-v", &two, &times);
            ck_assert_uint_eq(longest_span(&x), 15 * m);
            ck_assert_uint_eq(longest_span(&y), 30 * m);
            ck_assert_uint_eq(x.makespan, 15 * m + 5 * (p - 1));
            ck_assert_uint_eq(y.makespan, 30 * m + 5 * (p - 1));
            ck_assert_uint_eq(highest_peak(&x, TY_PHASE_WGRAD), lesser(m, 2 * p));
            for (uint32_t r = 0; r < p; r++) {
                ck_assert_uint_eq(ty_slots_peak(&y.slots.rank[r], TY_PHASE_WGRAD), 2 * p);
            }
            play_end(&x);
            play_end(&y);
        }
    }
}

/* Input gradients no longer than forwards, weight gradients at least half of them. */
TEST(makespan_of_zb_2p_has_a_closed_form_in_its_domain)
{
    const struct ty_sched *sched = ty_sched_find("zb-2p");
    for (uint32_t p = 1; p <= 16; p++) {
        for (uint32_t m = 2 * p - 1; m <= 8 * p; m += 1 + p / 4) {
            const uint64_t f = 2 + random_below(12);
            const struct play_times t =
                play_even(f, 1 + random_below(f), (f + 1) / 2 + random_below(12), 0);
            const struct ty_sched_times guide = {
                .forward = (double)f, .input = (double)t.i[0], .weight = (double)t.w[0]};
            const struct ty_sched_shape shape = {p, m, 1, 0, 1};
            ck_assert(sched->in_domain(&shape, &guide));
            ck_assert_uint_eq(play_makespan("zb-2p", &shape, &t), m * (f + t.b[0]) + (p - 1) * f);
        }
    }
}

/* What a delay of c per message adds, found by playing the reference orders: not proven. */
TEST(delays_cost_zb_1p_two_round_trips_and_zb_v_five_skews)
{
    for (uint32_t p = 2; p <= 12; p++) {
        for (uint32_t m = 2 * p - 1; m <= 6 * p; m += 1 + p / 3) {
            const struct ty_sched_shape one = {p, m, 1, 0, 1}, two = {p, m, 2, 0, 1};
            for (uint64_t c = 0; c <= 10; c++) { /* to tF / 2 and 0.3 tF */
                const struct play_times times = play_even(20, 20, 20, c);
                if (m > p) {
                    ck_assert_uint_eq(play_makespan("zb-1p", &one, &times),
                                      20 * (3 * m + p - 1) + 4 * (p - 1) * c);
                }
                if (c > 0 && c <= 6) {
                    ck_assert_uint_eq(play_makespan("zb-v", &two, &times),
                                      20 * (6 * m + p - 1) + (5 * p - 7) * c);
                }
            }
        }
    }
}

/* ---- searched schedules, any durations ---- */

static uint32_t cap_of(const char *name, uint32_t p)
{
    return strcmp(name, "v-half") == 0  ? p + 2 - p % 2
           : strcmp(name, "v-min") == 0 ? 2 * ((p + 4) / 3)
                                        : 2 * p;
}

/* Each piece has its F, I and W, in this order; the player has seen that the rest fits. */
static void check_complete(const struct play *p)
{
    for (uint32_t r = 0; r < p->shape.p; r++) {
        uint32_t n[3] = {0};
        static uint8_t seen[PLAY_STAGES * 512];
        memset(seen, 0, sizeof(seen));
        for (uint32_t i = 0; i < p->slots.rank[r].n; i++) {
            const struct ty_slot *s = &p->slots.rank[r].slot[i];
            const uint32_t step = s->phase == TY_PHASE_FORWARD ? 0
                                  : s->phase == TY_PHASE_DGRAD ? 1
                                                               : 2;
            ck_assert_uint_eq(play_owner(p, s), r);
            ck_assert_uint_eq(seen[play_key(p, s)]++, step);
            n[step]++;
        }
        for (uint32_t step = 0; step < 3; step++) {
            ck_assert_uint_eq(n[step], p->shape.m * p->shape.v);
        }
    }
}

TEST(searched_schedules_are_complete_and_keep_their_caps_for_any_times)
{
    static const char *const names[] = {"zb-v", "v-half", "v-min"};
    for (uint32_t p = 1; p <= 16; p++) {
        for (uint32_t m = 1; m <= 8 * p; m = m < 3 * p ? m + 1 + p / 8 : m + p + 1) {
            const struct ty_sched_shape shape = {p, m, 2, 0, 1};
            for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                const struct play_times times = random_times(m % 3 == 0 ? 30 : 4, 5);
                struct play play = played(names[i], &shape, &times);
                const uint64_t work = 2 * (uint64_t)m * (times.f[0] + times.i[0] + times.w[0]);
                check_complete(&play);
                for (uint32_t r = 0; r < p; r++) {
                    ck_assert_uint_eq(play.busy[r], work);
                    ck_assert_uint_le(ty_slots_peak(&play.slots.rank[r], TY_PHASE_WGRAD),
                                      lesser(cap_of(names[i], p), 2 * m));
                }
                play_end(&play);
            }
        }
    }
}

/* The published order is the one for equal times; played with the given times it is an upper
 * bound of what the search may take. */
TEST(zb_v_is_never_slower_than_its_published_order)
{
    const struct play_times equal = play_even(1, 1, 1, 0);
    uint32_t n_faster = 0;
    for (uint32_t p = 1; p <= 12; p++) {
        for (uint32_t m = 2 * p - 1; m <= 6 * p; m += 1 + p / 3) {
            const struct ty_sched_shape shape = {p, m, 2, 0, 1};
            const struct play_times times = random_times(10, 3);
            struct play play = played("zb-v", &shape, &equal);
            play.times = &times;
            play.makespan = 0;
            play_run(&play);
            const uint64_t searched = play_makespan("zb-v", &shape, &times);
            ck_assert_uint_le(searched, play.makespan);
            n_faster += searched < play.makespan;
            play_end(&play);
        }
    }
    ck_assert_uint_gt(n_faster, 50);
}

/* With few micro-batches the published order waits where there is work. */
TEST(zb_v_fills_the_holes_that_few_micro_batches_leave)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    const struct ty_sched_shape shape = {4, 4, 2, 0, 1};
    ck_assert_uint_eq(play_makespan("zb-v", &shape, &times), 27); /* published order: 30 */
}

TEST(v_half_trades_memory_for_a_bubble_between_zb_v_and_v_min)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (uint32_t p = 2; p <= 16; p++) {
        const struct ty_sched_shape shape = {p, 6 * p, 2, 0, 1};
        const uint64_t zb_v = play_makespan("zb-v", &shape, &times);
        const uint64_t v_half = play_makespan("v-half", &shape, &times);
        const uint64_t v_min = play_makespan("v-min", &shape, &times);
        ck_assert_uint_le(zb_v, v_half);
        ck_assert_uint_le(v_half, v_min);
        ck_assert_uint_lt(v_min, 6 * shape.m + 4 * p); /* the reference: 11 on 4, 27 on 8 ranks */
    }
}

/* ---- the player ---- */

TEST(an_order_that_cannot_be_run_never_ends)
{
    const struct ty_sched_shape shape = {1, 1, 2, 0, 1};
    const struct ty_sched_times times = {.forward = 1, .input = 1, .weight = 1};
    const struct ty_greedy_rules rules = {.overtaking = TY_OVERTAKE_NEVER};
    struct ty_arena arena = {0};
    struct ty_slots order, out;
    struct ty_greedy greedy;
    ck_assert_int_eq(ty_slots_init(&order, &shape, &arena, &err), 0);
    ck_assert_int_eq(ty_slots_init(&out, &shape, &arena, &err), 0);
    ck_assert_int_eq(ty_greedy_init(&greedy, TY_PLACE_V, &shape, &times, 2, &arena, &err), 0);
    ty_slots_add(&order, 0, TY_PHASE_FORWARD, 0, 0);
    ty_slots_add(&order, 0, TY_PHASE_DGRAD, 0, 1);
    ty_slots_add(&order, 0, TY_PHASE_FORWARD, 0, 1);
    ty_slots_add(&order, 0, TY_PHASE_DGRAD, 0, 0);
    ck_assert(isinf(ty_greedy_play(&greedy, &order, 1, &rules, HUGE_VAL, &out)));
    order.rank[0].slot[1].phase = TY_PHASE_FORWARD;
    order.rank[0].slot[2].phase = TY_PHASE_DGRAD;
    ck_assert_double_eq_tol(ty_greedy_play(&greedy, &order, 1, &rules, HUGE_VAL, &out), 6, 1e-12);
    ty_arena_release(&arena);
}

/* What a play wrote takes, run as it stands, what the play took: in sweeps over the ranks
 * instead of in the order of time. */
TEST(a_played_order_takes_the_same_when_it_is_followed)
{
    const struct ty_sched_shape shape = {6, 40, 2, 0, 1};
    const struct ty_greedy_rules rules = {.overtaking = TY_OVERTAKE_NEVER};
    for (int edge = 0; edge < 2; edge++) {
        const struct ty_sched_times times = {
            .forward = 3, .input = 4, .weight = 2.5, .overlap = -1, .edge = 0.7 * edge};
        struct ty_arena arena = {0};
        struct ty_slots order, out;
        struct ty_greedy greedy;
        ck_assert_int_eq(
            ty_sched_slots(ty_sched_find("v-half"), &shape, &times, &order, &arena, &err), 0);
        for (uint32_t r = 0; r < shape.p; r++) { /* without W */
            struct ty_rank_slots *rank = &order.rank[r];
            uint32_t n = 0;
            for (uint32_t i = 0; i < rank->n; i++) {
                if (rank->slot[i].phase != TY_PHASE_WGRAD) {
                    rank->slot[n++] = rank->slot[i];
                }
            }
            rank->n = n;
        }
        ck_assert_int_eq(ty_slots_init(&out, &shape, &arena, &err), 0);
        ck_assert_int_eq(ty_greedy_init(&greedy, TY_PLACE_V, &shape, &times, 12, &arena, &err), 0);
        const double takes = ty_greedy_play(&greedy, &order, shape.m, &rules, HUGE_VAL, &out);
        ck_assert(takes < HUGE_VAL);
        ck_assert_double_eq_tol(ty_greedy_follow(&greedy, &out, shape.m), takes, 1e-9 * takes);
        const struct ty_slot first = out.rank[0].slot[0]; /* its last pass needs its first one */
        out.rank[0].slot[0] = out.rank[0].slot[out.rank[0].n - 2];
        out.rank[0].slot[out.rank[0].n - 2] = first;
        ck_assert(isinf(ty_greedy_follow(&greedy, &out, shape.m)));
        ty_arena_release(&arena);
    }
}

/* Durations in any unit: what counts is their proportion. */
TEST(searched_orders_do_not_depend_on_the_unit_of_time)
{
    static const struct ty_sched_times seconds = {
        .forward = 0.1, .backward = 0.3, .input = 0.2, .weight = 0.1, .overlap = -1, .edge = 0.1};
    static const struct ty_sched_times tenths = {
        .forward = 1, .backward = 3, .input = 2, .weight = 1, .overlap = -1, .edge = 1};
    static const char *const names[] = {"zb-v", "v-half", "v-min"};
    const struct ty_sched_shape shape = {6, 40, 2, 0, 1};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct ty_sched *sched = ty_sched_find(names[i]);
        struct ty_arena arena = {0};
        struct ty_slots a, b;
        ck_assert_int_eq(ty_sched_slots(sched, &shape, &seconds, &a, &arena, &err), 0);
        ck_assert_int_eq(ty_sched_slots(sched, &shape, &tenths, &b, &arena, &err), 0);
        for (uint32_t r = 0; r < shape.p; r++) {
            ck_assert_mem_eq(a.rank[r].slot, b.rank[r].slot, a.rank[r].n * sizeof(struct ty_slot));
        }
        ty_arena_release(&arena);
    }
}

/* ---- refusals ---- */

static const struct play_refusal refusals[] = {
    {"interleaved-zb",
     {4, 10, 2, 4, 1},
     "interleaved-zb: groups of 4 leave 2 of 10 micro-batches for the last group, fewer "
     "than the 4 ranks; leave the group size out for groups of 5"},
    {"interleaved-zb",
     {4, 11, 2, 9, 1},
     "interleaved-zb: groups of 9 leave 2 of 11 micro-batches for the last group, fewer "
     "than the 4 ranks; leave the group size out for groups of 5 or 6"},
    {"interleaved-zb",
     {4, 8, 2, 3, 1},
     "interleaved-zb: groups of 3 micro-batches; a group has at least as many as there "
     "are "
     "ranks (4) and at most all 8"},
    {"interleaved-zb",
     {4, 8, 2, 9, 1},
     "interleaved-zb: groups of 9 micro-batches; a group has at least as many as there "
     "are "
     "ranks (4) and at most all 8"},
    {"zb-1p", {4, 8, 2, 0, 1}, "zb-1p: 2 virtual stages per rank; it has exactly 1"},
    {"zb-v", {4, 8, 1, 0, 1}, "zb-v: 1 virtual stage per rank; it has exactly 2"},
};

TEST(impossible_shapes_are_refused_with_what_would_be_right)
{
    play_refusals(refusals, sizeof(refusals) / sizeof(refusals[0]));
}

TY_SUITE("sched_zb")
