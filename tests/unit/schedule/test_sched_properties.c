/* test_sched_properties.c - what holds for every schedule and every shape that it accepts.
 *
 * Shapes: p up to 8, or 16 if everything is asked for, m up to 8 p, v up to 4, q up to 3. */
#include "model/orders/program.h"
#include "sim/core/analyse/stats.h"
#include "sim/core/execute/execute.h"
#include "tests/unit/sched_play.h"

typedef void property(struct play *p);

static struct ty_err err;

/* A small generator (numerical recipes' LCG): the same durations in every run. */
static uint64_t seed = 1;
static uint64_t random_below(uint64_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* Every stage has times of its own; tB = tI + tW. */
static struct play_times uneven(void)
{
    struct play_times t = {.edge = random_below(4)};
    for (size_t s = 0; s < PLAY_STAGES; s++) {
        t.f[s] = 1 + random_below(20);
        t.i[s] = 1 + random_below(20);
        t.w[s] = 1 + random_below(20);
        t.b[s] = t.i[s] + t.w[s];
    }
    return t;
}

/* ---- shapes ---- */

static uint32_t try_shape(const char *name, const struct ty_sched_shape *shape,
                          const struct play_times *times, property *holds)
{
    struct play p;
    err.code = 0;
    err.n = err.n_dropped = 0;
    err.len = 0;
    const bool accepted = play_begin(&p, name, shape, times, &err) == 0;
    if (accepted) {
        ck_assert_msg(p.done, "%s p=%u m=%u v=%u: a rank waits for ever", name, (unsigned)shape->p,
                      (unsigned)shape->m, (unsigned)shape->v);
        holds(&p);
    }
    play_end(&p);
    return accepted ? 1 : 0;
}

/* m = 1 .. 2 p + 2 and then every p-th, beside and on the multiples of p. */
static uint32_t next_m(uint32_t m, uint32_t p)
{
    return m < 2 * p + 2 ? m + 1 : m + (p > 3 ? p / 2 + 1 : 2);
}

/* Calls a property on every accepted shape of every schedule; each accepts some. */
static void for_all(const struct play_times *times, property *holds)
{
    static const uint32_t ranks[] = {1, 2, 3, 4, 5, 8, 16};
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        const bool sliced = strcmp(ty_schedules[i]->name, "seq1f1b") == 0;
        const uint32_t v_first = ty_schedules[i]->chunks == 0 ? 1 : ty_schedules[i]->chunks;
        const uint32_t v_last = ty_schedules[i]->chunks == 0 ? 4 : v_first;
        uint32_t accepted = 0;
        for (size_t k = 0; k < TY_COUNT(ranks) - (suite_whole() ? 0 : 1); k++) {
            const uint32_t p = ranks[k], step = p == 16 ? 2 * p : 1;
            for (uint32_t m = step; m <= 8 * p; m = p == 16 ? m + step : next_m(m, p)) {
                for (uint32_t v = v_first; v <= v_last; v++) {
                    for (uint32_t q = 1; q <= (sliced ? 3u : 1u); q++) {
                        const struct ty_sched_shape shape = {p, m, v, 0, q};
                        accepted += try_shape(ty_schedules[i]->name, &shape, times, holds);
                    }
                }
            }
        }
        ck_assert_msg(accepted > 15, "%s accepts %u shapes", ty_schedules[i]->name,
                      (unsigned)accepted);
    }
}

/* ---- orders ---- */

/* Each piece once per phase, in its place, F before B or I before W. */
static void order_is_complete(struct play *p)
{
    const uint32_t directions = ty_sched_directions(p->sched->placement);
    uint8_t *seen = ty_arena_array(&p->arena, uint8_t, play_n_keys(p)); /* F 1, B or I 2, W 4 */
    size_t pieces = 0;
    for (uint32_t r = 0; r < p->shape.p; r++) {
        for (uint32_t i = 0; i < p->slots.rank[r].n; i++) {
            const struct ty_slot *s = &p->slots.rank[r].slot[i];
            ck_assert(s->direction < directions && s->stage < ty_sched_stages(&p->shape));
            ck_assert(s->mb < p->shape.m / directions && s->slice < p->shape.slices);
            ck_assert_uint_eq(play_owner(p, s), r);
            uint8_t *piece = &seen[play_key(p, s)];
            const bool forward = s->phase == TY_PHASE_FORWARD, w = s->phase == TY_PHASE_WGRAD;
            ck_assert_uint_eq(*piece, forward ? 0 : w ? 3 : 1);
            *piece = forward ? 1 : s->phase == TY_PHASE_DGRAD ? 3 : 7;
            pieces += *piece == 7;
        }
    }
    ck_assert_uint_eq(pieces, (size_t)p->shape.m * ty_sched_stages(&p->shape) * p->shape.slices);
}

TEST(every_piece_has_its_passes_once_in_place_and_order)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for_all(&times, order_is_complete);
}

/* An overlapped slot is a forward and a full backward of different pieces. */
static void pairs_are_independent(struct play *p)
{
    for (uint32_t r = 0; r < p->shape.p; r++) {
        const struct ty_rank_slots *order = &p->slots.rank[r];
        for (uint32_t i = 0; i < order->n; i++) {
            const struct ty_slot *s = &order->slot[i];
            if (s->paired) {
                ck_assert_uint_lt(i + 1, order->n);
                ck_assert(s[0].phase == TY_PHASE_FORWARD && s[1].phase == TY_PHASE_BACKWARD);
                ck_assert(!s[1].paired);
                ck_assert_uint_ne(play_key(p, &s[0]), play_key(p, &s[1]));
            }
        }
    }
}

TEST(overlapped_slots_join_a_forward_and_a_backward_of_different_pieces)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for_all(&times, pairs_are_independent);
}

/* Calls per message that a pass takes or hands over: its kind (0 forward, 1 backward), the other
 * rank, and the key of the piece on the receiving side. */
static bool message(const struct play *p, const struct ty_slot *s, bool in, uint32_t *other,
                    size_t *key)
{
    const bool forward = s->phase == TY_PHASE_FORWARD, up = forward != in;
    struct ty_slot there = *s;
    if (s->phase == TY_PHASE_WGRAD ||
        (up ? s->stage + 1u == ty_sched_stages(&p->shape) : s->stage == 0)) {
        return false;
    }
    there.stage = (uint16_t)(up ? s->stage + 1 : s->stage - 1);
    *other = play_owner(p, &there);
    *key = play_key(p, in ? s : &there) * 2 + (forward ? 0 : 1);
    return *other != play_owner(p, s);
}

/* Messages of one rank pair and kind are taken in the order in which they were sent. */
static void queues_are_first_in_first_out(struct play *p)
{
    static uint32_t sent[2][16][16], taken[2][16][16];
    uint32_t *ticket = ty_arena_array(&p->arena, uint32_t, 2 * play_n_keys(p)), other = 0;
    size_t key = 0;
    memset(sent, 0, sizeof(sent));
    memset(taken, 0, sizeof(taken));
    for (uint32_t receive = 0; receive < 2; receive++) {
        for (uint32_t r = 0; r < p->shape.p; r++) {
            for (uint32_t i = 0; i < p->slots.rank[r].n; i++) {
                const struct ty_slot *s = &p->slots.rank[r].slot[i];
                const uint32_t kind = s->phase == TY_PHASE_FORWARD ? 0 : 1;
                if (!message(p, s, receive == 1, &other, &key)) {
                    continue;
                }
                if (receive == 0) {
                    ticket[key] = sent[kind][r][other]++;
                } else {
                    ck_assert_uint_eq(ticket[key], taken[kind][other][r]++);
                }
            }
        }
    }
    ck_assert_mem_eq(sent, taken, sizeof(sent));
}

TEST(messages_of_a_rank_pair_and_kind_form_a_queue)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for_all(&times, queues_are_first_in_first_out);
}

/* ---- memory ---- */

/* Orders found by search under a cap may stay below it; all others meet their rule exactly. */
static bool is_capped(const struct ty_sched *sched)
{
    static const char *const names[] = {"zb-v", "v-half", "v-min"};
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        if (strcmp(sched->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void peak_is_the_rule(struct play *p)
{
    for (uint32_t r = 0; r < p->shape.p; r++) {
        const uint32_t until_w = ty_slots_peak(&p->slots.rank[r], TY_PHASE_WGRAD);
        ck_assert_uint_le(ty_slots_peak(&p->slots.rank[r], TY_PHASE_DGRAD), until_w);
        const uint32_t rule = ty_sched_in_flight(p->sched, &p->shape, r);
        ck_assert_uint_gt(rule, 0);
        ck_assert_msg(until_w == rule || (until_w < rule && is_capped(p->sched)),
                      "%s p=%u m=%u v=%u rank %u holds %u, by rule %u", p->sched->name,
                      (unsigned)p->shape.p, (unsigned)p->shape.m, (unsigned)p->shape.v, (unsigned)r,
                      (unsigned)until_w, (unsigned)rule);
    }
}

TEST(peaks_are_those_of_the_rules)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for_all(&times, peak_is_the_rule);
}

/* ---- time ---- */

/* A rank is busy with its passes and nothing else; none starts before the fill reaches it (except
 * where micro-batches enter at both ends), and one micro-batch takes all stages. */
static void time_is_conserved(struct play *p)
{
    const uint32_t directions = ty_sched_directions(p->sched->placement);
    const uint64_t passes = (uint64_t)p->shape.m / directions * p->shape.slices;
    uint64_t through = 0, fill = 0, busy[PLAY_STAGES] = {0};
    for (uint32_t s = 0; s < ty_sched_stages(&p->shape); s++) {
        const uint64_t both = p->times->f[s] + p->times->i[s] + p->times->w[s];
        through += p->times->f[s] + p->times->i[s];
        for (uint32_t d = 0; d < directions; d++) {
            busy[ty_sched_owner(p->sched->placement, &p->shape, d, s)] += passes * both;
        }
    }
    ck_assert_uint_ge(p->makespan, through);
    for (uint32_t r = 0; r < p->shape.p; r++) {
        ck_assert_uint_eq(p->busy[r], busy[r]);
        ck_assert_uint_ge(p->makespan, busy[r] + (directions == 1 ? fill : 0));
        fill += p->times->f[r];
    }
}

TEST(ranks_are_busy_with_their_passes_after_the_fill)
{
    const struct play_times times = uneven();
    for_all(&times, time_is_conserved);
}

static void formula_holds_where_it_says(struct play *p)
{
    const struct ty_sched *s = p->sched;
    const struct ty_sched_times t = {.forward = (double)p->times->f[0],
                                     .backward = (double)p->times->b[0],
                                     .input = (double)p->times->i[0],
                                     .weight = (double)p->times->w[0],
                                     .overlap =
                                         p->times->overlap == 0 ? -1.0 : (double)p->times->overlap};
    if (s->makespan != NULL && (s->in_domain == NULL || s->in_domain(&p->shape, &t))) {
        const double right = s->makespan(&p->shape, &t);
        ck_assert_msg((double)p->makespan >= right && (double)p->makespan <= right,
                      "%s p=%u m=%u v=%u q=%u tF=%g tI=%g tW=%g: %llu, published %s = %g", s->name,
                      (unsigned)p->shape.p, (unsigned)p->shape.m, (unsigned)p->shape.v,
                      (unsigned)p->shape.slices, t.forward, t.input, t.weight,
                      (unsigned long long)p->makespan, s->formula, right);
    }
}

TEST(published_makespans_are_exact_in_their_domains)
{
    static const uint64_t rows[][4] = {
        {1, 1, 1, 0}, {7, 7, 7, 0}, {7, 4, 3, 0}, {5, 3, 8, 0},
        {9, 8, 2, 0}, {2, 9, 9, 0}, {4, 4, 4, 9}, {4, 4, 4, 12}, /* tF, tI, tW, tFB */
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct play_times times = play_even(rows[i][0], rows[i][1], rows[i][2], 0);
        times.overlap = rows[i][3];
        for_all(&times, formula_holds_where_it_says);
    }
}

/* The orders stay; times change. */
static void longer_times_never_help(struct play *p)
{
    const struct play_times *before = p->times;
    const uint64_t makespan = p->makespan;
    struct play_times longer = *before, scaled = *before;
    const uint32_t stage = (uint32_t)random_below(ty_sched_stages(&p->shape));
    uint64_t *const one[] = {&longer.f[stage], &longer.i[stage], &longer.w[stage], &longer.edge};
    *one[random_below(TY_COUNT(one))] += 1 + random_below(30);
    longer.b[stage] = longer.i[stage] + longer.w[stage];
    p->times = &longer;
    play_run(p);
    ck_assert_uint_ge(p->makespan, makespan);
    for (size_t s = 0; s < PLAY_STAGES; s++) {
        scaled.f[s] *= 7;
        scaled.b[s] *= 7;
        scaled.i[s] *= 7;
        scaled.w[s] *= 7;
    }
    scaled.edge *= 7;
    p->times = &scaled;
    play_run(p);
    ck_assert_uint_eq(p->makespan, 7 * makespan);
    p->times = before;
}

TEST(longer_passes_never_end_a_run_earlier_and_scaling_scales_it)
{
    const struct play_times times = uneven();
    for_all(&times, longer_times_never_help);
}

/* Gradients of the inputs wait for those of the weights: never faster. */
static void merged_backwards_never_help(struct play *p)
{
    const uint64_t makespan = p->makespan;
    for (uint32_t r = 0; r < p->shape.p; r++) {
        struct ty_rank_slots *order = &p->slots.rank[r];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < order->n; i++) {
            struct ty_slot s = order->slot[i];
            const bool merges = s.phase == TY_PHASE_DGRAD && i + 1 < order->n &&
                                order->slot[i + 1].phase == TY_PHASE_WGRAD &&
                                play_key(p, &s) == play_key(p, &order->slot[i + 1]);
            s.phase = merges ? TY_PHASE_BACKWARD : s.phase;
            order->slot[kept++] = s;
            i += merges ? 1 : 0;
        }
        order->n = kept;
    }
    play_run(p);
    ck_assert(p->done);
    ck_assert_uint_ge(p->makespan, makespan);
}

TEST(merging_split_backwards_never_ends_a_run_earlier)
{
    const struct play_times times = uneven();
    for_all(&times, merged_backwards_never_help);
}

static void one_rank_or_piece_takes_no_bubble(struct play *p)
{
    const uint64_t both = p->times->f[0] + p->times->b[0];
    const uint64_t pieces = (uint64_t)p->shape.m * p->shape.v * p->shape.slices;
    if (p->shape.p == 1) {
        ck_assert_uint_eq(p->makespan, pieces * both);
    } else if (pieces == 1 && ty_sched_directions(p->sched->placement) == 1) {
        ck_assert_uint_le(p->makespan, p->shape.p * both);
    }
}

TEST(one_rank_has_no_bubble_and_one_micro_batch_takes_p_stages)
{
    const struct play_times times = play_even(5, 3, 8, 0);
    for_all(&times, one_rank_or_piece_takes_no_bubble);
}

/* ---- the simulator ---- */

/* Plays the orders in the simulator: the same makespan, and the same pieces held. */
static void simulate(struct play *p, const struct ty_sched_durations *d)
{
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_stats stats;
    ck_assert_msg(ty_sched_program_of(&program, p->sched->placement, &p->shape, &p->slots, d,
                                      &p->arena, &err) == 0,
                  "%s", err.text);
    ck_assert_int_eq(ty_timeline_init(&timeline, &program, &err), 0);
    ck_assert_msg(ty_sweep(&timeline, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(timeline.makespan, p->makespan);
    ck_assert_int_eq(ty_stats_compute(&stats, &timeline, &p->arena, &err), 0);
    for (uint32_t r = 0; r < p->shape.p; r++) {
        ck_assert_uint_eq(stats.memory[r].peak_held,
                          ty_slots_peak(&p->slots.rank[r], TY_PHASE_WGRAD));
    }
    ty_timeline_release(&timeline);
}

static void simulator_agrees(struct play *p)
{
    const struct ty_sched_durations d = {.forward = p->times->f[0],
                                         .backward = p->times->b[0],
                                         .input = p->times->i[0],
                                         .weight = p->times->w[0],
                                         .overlap = UINT64_MAX,
                                         .edge = p->times->edge};
    simulate(p, &d);
}

TEST(the_simulator_agrees_with_a_player_that_knows_only_the_rules)
{
    const struct play_times times = play_even(7, 4, 3, 2);
    for_all(&times, simulator_agrees);
}

static void simulator_agrees_stage_by_stage(struct play *p)
{
    const struct ty_sched_durations d = {.overlap = UINT64_MAX,
                                         .edge = p->times->edge,
                                         .of_stage = {[TY_PHASE_FORWARD] = p->times->f,
                                                      [TY_PHASE_BACKWARD] = p->times->b,
                                                      [TY_PHASE_DGRAD] = p->times->i,
                                                      [TY_PHASE_WGRAD] = p->times->w}};
    simulate(p, &d);
}

TEST(the_simulator_agrees_when_every_stage_has_times_of_its_own)
{
    const struct play_times times = uneven();
    for_all(&times, simulator_agrees_stage_by_stage);
}

TY_SUITE("sched_properties")
