/* test_sched.c - schedules against what is published: orders, makespans, peaks, refusals. */
#include "tests/unit/sched_play.h"

static struct ty_err err;

/* Orders written down by hand from the rules, rank by rank. */
static const struct {
    const char *name;
    struct ty_sched_shape shape;
    const char *rank[4];
} orders[] = {
    {"1f1b", {2, 3, 1, 0, 1}, {"F0.0 F1.0 B0.0 F2.0 B1.0 B2.0", "F0.1 B0.1 F1.1 B1.1 F2.1 B2.1"}},
    {"1f1b", /* fewer micro-batches than ranks */
     {4, 2, 1, 0, 1},
     {"F0.0 F1.0 B0.0 B1.0", "F0.1 F1.1 B0.1 B1.1", "F0.2 F1.2 B0.2 B1.2", "F0.3 B0.3 F1.3 B1.3"}},
    {"eager-1f1b",
     {2, 4, 1, 0, 1},
     {"F0.0 F1.0 F2.0 B0.0 F3.0 B1.0 B2.0 B3.0", "F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1"}},
    {"interleaved",
     {2, 4, 2, 0, 1},
     {"F0.0 F1.0 F0.2 F1.2 F2.0 B0.2 F3.0 B1.2 F2.2 B0.0 F3.2 B1.0 B2.2 B3.2 B2.0 B3.0",
      "F0.1 F1.1 F0.3 B0.3 F1.3 B1.3 F2.1 B0.1 F3.1 B1.1 F2.3 B2.3 F3.3 B3.3 B2.1 B3.1"}},
    {"interleaved", /* last group of 2 after one of 3 */
     {2, 5, 2, 3, 1},
     {"F0.0 F1.0 F2.0 F0.2 F1.2 F2.2 B0.2 F3.0 B1.2 F4.0 B2.2 F3.2 B0.0 F4.2 B1.0 B2.0 B3.2 B4.2 "
      "B3.0 B4.0",
      "F0.1 F1.1 F2.1 F0.3 B0.3 F1.3 B1.3 F2.3 B2.3 F3.1 B0.1 F4.1 B1.1 F3.3 B2.1 F4.3 B3.3 B4.3 "
      "B3.1 B4.1"}},
    {"interleaved", /* fewer micro-batches than ranks: one group */
     {3, 2, 2, 0, 1},
     {"F0.0 F1.0 F0.3 F1.3 B0.3 B1.3 B0.0 B1.0", "F0.1 F1.1 F0.4 F1.4 B0.4 B1.4 B0.1 B1.1",
      "F0.2 F1.2 F0.5 B0.5 F1.5 B1.5 B0.2 B1.2"}},
    {"interleaved", /* one rank */
     {1, 2, 2, 0, 1},
     {"F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 B1.1 B1.0"}},
    {"bfs",
     {2, 2, 2, 0, 1},
     {"F0.0 F1.0 F0.2 F1.2 B1.2 B0.2 B1.0 B0.0", "F0.1 F1.1 F0.3 F1.3 B1.3 B0.3 B1.1 B0.1"}},
    {"chimera", /* figure 3 of the paper */
     {4, 4, 1, 0, 1},
     {"F0.0 F1.0 F0.3^ B0.3^ F1.3^ B1.3^ B0.0 B1.0", "F0.1 F0.2^ F1.1 F1.2^ B0.2^ B0.1 B1.2^ B1.1",
      "F0.1^ F0.2 F1.1^ F1.2 B0.2 B0.1^ B1.2 B1.1^",
      "F0.0^ F1.0^ F0.3 B0.3 F1.3 B1.3 B0.0^ B1.0^"}},
    {"dualpipe",
     {2, 4, 1, 0, 1},
     {"F0.0 F0.1^ F1.0 B0.1^ (F1.1^|B0.0) B1.1^ I1.0 W1.0",
      "F0.0^ F0.1 F1.0^ B0.1 (F1.1|B0.0^) B1.1 I1.0^ W1.0^"}},
    {"dualpipe",
     {4, 8, 1, 0, 1},
     {"F0.0 F1.0 F2.0 F0.3^ I0.3^ W0.3^ F1.3^ (F3.0|B1.3^) (F2.3^|B0.0) B2.3^ (F3.3^|B1.0) B3.3^ "
      "I2.0 W2.0 I3.0 W3.0",
      "F0.1 F0.2^ F1.1 F1.2^ F2.1 B0.2^ (F2.2^|B0.1) (F3.1|B1.2^) (F3.2^|B1.1) B2.2^ B2.1 I3.2^ "
      "I3.1 W3.2^ W3.1",
      "F0.1^ F0.2 F1.1^ F1.2 F2.1^ B0.2 (F2.2|B0.1^) (F3.1^|B1.2) (F3.2|B1.1^) B2.2 B2.1^ I3.2 "
      "I3.1^ W3.2 W3.1^",
      "F0.0^ F1.0^ F2.0^ F0.3 I0.3 W0.3 F1.3 (F3.0^|B1.3) (F2.3|B0.0^) B2.3 (F3.3|B1.0^) B3.3 "
      "I2.0^ W2.0^ I3.0^ W3.0^"}},
    {"dualpipev", {1, 2, 2, 0, 1}, {"F0.0 F0.1 F1.0 B0.1 (F1.1|B0.0) B1.1 I1.0 W1.0"}},
    {"seq1f1b",
     {2, 2, 1, 0, 2},
     {"F0.0 F0.0#1 F1.0 B0.0#1 F1.0#1 B0.0 B1.0#1 B1.0",
      "F0.1 F0.1#1 B0.1#1 F1.1 B0.1 F1.1#1 B1.1#1 B1.1"}},
};

TEST(orders_are_those_of_the_rules_by_hand)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    char text[1024];
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct play p;
        ck_assert_int_eq(play_begin(&p, orders[i].name, &orders[i].shape, &times, &err), 0);
        for (uint32_t r = 0; r < p.shape.p; r++) {
            play_text(&p.slots.rank[r], text, sizeof(text));
            ck_assert_str_eq(text, orders[i].rank[r]);
        }
        play_end(&p);
    }
}

/* DeepSpeed derives 1F1B from numbered steps: F(k) of rank r in step 2 k + r, B(k) in step
 * 2 k + 2 p - 1 - r (microsoft/DeepSpeed, runtime/pipe/schedule.py, TrainSchedule). */
TEST(the_order_of_1f1b_is_that_of_numbered_steps)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (uint32_t p = 1; p <= 16; p++) {
        for (uint32_t m = 1; m <= 40; m++) {
            const struct ty_sched_shape shape = {p, m, 1, 0, 1};
            struct play play;
            ck_assert_int_eq(play_begin(&play, "1f1b", &shape, &times, &err), 0);
            for (uint32_t r = 0; r < p; r++) {
                uint32_t at = 0;
                for (uint32_t step = 0; step < 2 * (m + p); step++) {
                    const bool forward = step % 2 == r % 2;
                    const uint32_t first = forward ? r : 2 * p - 1 - r;
                    if (step >= first && (step - first) / 2 < m) {
                        const struct ty_slot *s = &play.slots.rank[r].slot[at++];
                        ck_assert_uint_eq(s->mb, (step - first) / 2);
                        ck_assert_uint_eq(s->phase == TY_PHASE_FORWARD, forward);
                    }
                }
                ck_assert_uint_eq(at, play.slots.rank[r].n);
            }
            play_end(&play);
        }
    }
}

/* Megatron-LM lists (micro-batch, chunk) in a table that forwards walk as it is and backwards with
 * the chunks reversed, `warm` entries behind. */
static void check_interleaved(const struct ty_sched_shape *shape, uint32_t group)
{
    static uint32_t mb[2048], chunk[2048];
    const struct play_times times = play_even(1, 1, 1, 0);
    const uint32_t v = shape->v;
    uint32_t n = 0;
    for (uint32_t first = 0; first < shape->m; first += group) {
        const uint32_t end = first + group < shape->m ? first + group : shape->m;
        for (uint32_t c = 0; c < v; c++) {
            for (uint32_t i = first; i < end; i++) {
                mb[n] = i;
                chunk[n++] = c;
            }
        }
    }
    struct play p;
    ck_assert_int_eq(play_begin(&p, "interleaved", shape, &times, &err), 0);
    ck_assert(p.done);
    for (uint32_t r = 0; r < shape->p; r++) {
        const struct ty_slot *s = p.slots.rank[r].slot;
        const uint32_t asked = 2 * (shape->p - r - 1) + (v - 1) * group,
                       warm = asked < n ? asked : n;
        for (uint32_t k = 0; k < n; k++) { /* the k-th forward and the k-th backward */
            const struct ty_slot *f = k < warm ? &s[k] : &s[2 * k - warm];
            const struct ty_slot *b = k < n - warm ? &s[2 * k + warm + 1] : &s[n + k];
            ck_assert(f->phase == TY_PHASE_FORWARD && b->phase == TY_PHASE_BACKWARD);
            ck_assert(f->mb == mb[k] && f->stage == chunk[k] * shape->p + r);
            ck_assert(b->mb == mb[k] && b->stage == (v - 1 - chunk[k]) * shape->p + r);
        }
        ck_assert_uint_eq(p.slots.rank[r].n, 2 * n);
    }
    play_end(&p);
}

TEST(interleaved_walks_the_table_of_megatron_with_every_legal_group)
{
    for (uint32_t p = 1; p <= 6; p++) {
        for (uint32_t m = 1; m <= 4 * p; m++) {
            for (uint32_t v = 2; v <= 4; v++) {
                if (m < p) { /* one group, as in PyTorch */
                    check_interleaved(&(struct ty_sched_shape){p, m, v, 0, 1}, m);
                }
                for (uint32_t g = p; g <= m; g++) {
                    if (m % g == 0 || m % g >= p) {
                        check_interleaved(&(struct ty_sched_shape){p, m, v, g, 1}, g);
                    }
                }
            }
        }
    }
}

/* Both orders, atom by atom, whatever the directions. */
static void check_same(const struct ty_rank_slots *a, const struct ty_rank_slots *b)
{
    ck_assert_uint_eq(a->n, b->n);
    for (uint32_t i = 0; i < a->n; i++) {
        const struct ty_slot *x = &a->slot[i], *y = &b->slot[i];
        ck_assert(x->mb == y->mb && x->stage == y->stage && x->phase == y->phase);
        ck_assert(x->slice == y->slice && x->paired == y->paired);
    }
}

static void check_identity(const char *a, const char *b, uint32_t p, uint32_t m)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    const struct ty_sched_shape shape = {p, m, 1, 0, 1};
    struct play x, y;
    ck_assert_int_eq(play_begin(&x, a, &shape, &times, &err), 0);
    ck_assert_int_eq(play_begin(&y, b, &shape, &times, &err), 0);
    for (uint32_t r = 0; r < p; r++) {
        if (strcmp(a, "gpipe") == 0) { /* ours is first in, first out */
            struct ty_slot *back = x.slots.rank[r].slot + m;
            for (uint32_t k = 0; k < m; k++) {
                back[k].mb = (uint16_t)(m - 1 - k);
            }
        }
        check_same(&x.slots.rank[r], &y.slots.rank[r]);
    }
    play_end(&x);
    play_end(&y);
}

TEST(some_schedules_are_others_at_the_edge_of_their_range)
{
    for (uint32_t p = 1; p <= 12; p++) {
        for (uint32_t m = 1; m <= 30; m++) {
            check_identity("gpipe", "bfs", p, m);
            check_identity("1f1b", "seq1f1b", p, m);
            check_identity("1f1b", "pipedream", p, m);
            check_identity("eager-1f1b", "interleaved", p, m);
            if (m >= p) {
                check_identity("1f1b", "pipedream-2bw", p, m);
            }
        }
    }
}

TEST(dualpipe_is_its_own_mirror_and_two_dualpipev)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (uint32_t p = 2; p <= 16; p += 2) {
        for (uint32_t m = 2 * p; m <= 8 * p; m += 2) {
            const struct ty_sched_shape whole = {p, m, 1, 0, 1}, half = {p / 2, m / 2, 2, 0, 1};
            struct play x, y;
            ck_assert_int_eq(play_begin(&x, "dualpipe", &whole, &times, &err), 0);
            ck_assert_int_eq(play_begin(&y, "dualpipev", &half, &times, &err), 0);
            for (uint32_t r = 0; r < p / 2; r++) {
                const struct ty_rank_slots *left = &x.slots.rank[r];
                const struct ty_rank_slots *right = &x.slots.rank[p - 1 - r];
                check_same(left, &y.slots.rank[r]);
                check_same(left, right);
                for (uint32_t i = 0; i < left->n; i++) {
                    ck_assert_uint_eq(left->slot[i].direction + right->slot[i].direction, 1);
                    ck_assert_uint_eq(left->slot[i].direction, left->slot[i].stage >= p / 2);
                }
            }
            ck_assert_uint_eq(x.makespan, y.makespan);
            play_end(&x);
            play_end(&y);
        }
    }
}

/* p = 8, m = 32 and p = 4, m = 8 with tF = tI = tW = 1 per rank and micro-batch, in v-ths or q-ths;
 * peak: of rank 0, in the same pieces. Obtained by running the reference implementations. */
static const struct {
    const char *name;
    struct ty_sched_shape shape;
    uint64_t makespan;
    uint32_t peak;
} figures[] = {
    {"gpipe", {8, 32, 1, 0, 1}, 117, 32},
    {"1f1b", {8, 32, 1, 0, 1}, 117, 8},
    {"eager-1f1b", {8, 32, 1, 0, 1}, 117, 15},
    {"interleaved", {8, 32, 2, 0, 1}, 213, 23}, /* 106.5, 11.5 */
    {"interleaved", {8, 32, 4, 0, 1}, 405, 39}, /* 101.25, 9.75 */
    {"bfs", {8, 32, 2, 0, 1}, 213, 64},         /* 106.5, 32 */
    {"bfs", {8, 32, 4, 0, 1}, 405, 128},        /* 101.25, 32 */
    {"seq1f1b", {8, 32, 1, 0, 4}, 405, 11},     /* 101.25, 2.75 */
    {"dualpipe", {8, 32, 1, 0, 1}, 102, 9},
    {"dualpipev", {8, 32, 2, 0, 1}, 206, 17}, /* 103, 8.5 */
    {"gpipe", {4, 8, 1, 0, 1}, 33, 8},
    {"1f1b", {4, 8, 1, 0, 1}, 33, 4},
    {"interleaved", {4, 8, 2, 0, 1}, 57, 11}, /* 28.5 */
    {"dualpipe", {4, 8, 1, 0, 1}, 26, 5},
    {"chimera", {4, 8, 1, 0, 1}, 30, 3},
};

TEST(overview_figures_are_those_of_the_references)
{
    const struct play_times times = play_even(1, 1, 1, 0);
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        struct play p;
        ck_assert_int_eq(play_begin(&p, figures[i].name, &figures[i].shape, &times, &err), 0);
        ck_assert_msg(p.makespan == figures[i].makespan, "%s: %llu, not %llu", figures[i].name,
                      (unsigned long long)p.makespan, (unsigned long long)figures[i].makespan);
        ck_assert_uint_eq(ty_slots_peak(&p.slots.rank[0], TY_PHASE_DGRAD), figures[i].peak);
        ck_assert_uint_eq(ty_slots_peak(&p.slots.rank[0], TY_PHASE_WGRAD), figures[i].peak);
        play_end(&p);
    }
}

/* What a delay of c per message adds to the makespan, with tF = 6 and tB = 9. */
static void check_delay(const char *name, const struct ty_sched_shape *shape, uint64_t c,
                        uint64_t expected)
{
    const struct play_times without = play_even(6, 4, 5, 0), with = play_even(6, 4, 5, c);
    const uint64_t extra = play_makespan(name, shape, &with) - play_makespan(name, shape, &without);
    ck_assert_msg(extra == expected, "%s p=%u m=%u v=%u g=%u c=%u: %u more, not %u", name,
                  (unsigned)shape->p, (unsigned)shape->m, (unsigned)shape->v,
                  (unsigned)shape->group, (unsigned)c, (unsigned)extra, (unsigned)expected);
}

static void check_delays_of_flat_pipes(uint32_t p, uint32_t m)
{
    const struct ty_sched_shape shape = {p, m, 1, 0, 1};
    for (uint64_t c = 1; c <= 45; c += 4) { /* up to 3 (tF + tB) */
        const uint64_t round_trip = 2 * (p - 1) * c;
        check_delay("gpipe", &shape, c, round_trip);
        if (2 * c <= 15) {
            check_delay("eager-1f1b", &shape, c, round_trip);
        }
        if (m % p == 0) {
            check_delay("1f1b", &shape, c, 2 * c * ((uint64_t)(p - 1) * (m / p) + p - 2));
        }
    }
}

TEST(delays_cost_one_round_trip_or_one_per_round)
{
    for (uint32_t p = 2; p <= 9; p++) {
        for (uint32_t m = 1; m <= 4 * p; m++) {
            check_delays_of_flat_pipes(p, m);
        }
    }
}

/* Breadth-first waits at each turn of the loop for its own first micro-batch, if a trip around the
 * p ranks takes longer than m passes: with m > p a small enough delay is hidden. */
TEST(breadth_first_pays_a_delay_once_and_what_it_cannot_hide_at_each_turn)
{
    for (uint32_t p = 2; p <= 8; p++) {
        for (uint32_t m = 1; m <= 3 * p; m++) {
            for (uint32_t v = 1; v <= 4; v++) {
                for (uint64_t c = 0; c <= 45; c += 3) { /* tF = 6, tB = 9 */
                    const struct play_times times = play_even(6, 4, 5, c);
                    const uint64_t turns =
                        play_later(m * 6, p * (6 + c)) + play_later(m * 9, p * (9 + c));
                    const struct ty_sched_shape shape = {p, m, v, 0, 1};
                    ck_assert_uint_eq(play_makespan("bfs", &shape, &times),
                                      (v - 1) * turns + (m + p - 1) * 15 + 2 * (p - 1) * c);
                }
            }
        }
    }
}

TEST(interleaved_pays_a_delay_once_or_with_groups_of_p_at_each_turn)
{
    for (uint32_t p = 2; p <= 8; p++) {
        for (uint32_t v = 2; v <= 4; v++) {
            for (uint32_t g = p; g <= 3 * p; g++) {
                for (uint64_t c = 1; c <= 6; c++) { /* up to tF */
                    const uint64_t once = 2 * (p - 1) * c, around = 2 * ((uint64_t)p * v - 1) * c;
                    for (uint32_t m = g; m <= 4 * g; m += g) {
                        const struct ty_sched_shape shape = {p, m, v, g, 1};
                        if (g == p || p * c <= (g - p) * 6) {
                            check_delay("interleaved", &shape, c, g == p ? around : once);
                        }
                    }
                }
            }
        }
    }
}

TEST(units_of_chimera_join_without_a_gap_only_when_passes_are_equal)
{
    const struct play_times twice = play_even(7, 7, 7, 0);
    for (uint32_t p = 2; p <= 12; p += 2) {
        for (uint32_t units = 1; units <= 6; units++) {
            const struct ty_sched_shape shape = {p, units * p, 1, 0, 1};
            const uint64_t bubble = (uint64_t)(p - 2) * (units + 1);
            ck_assert_uint_eq(play_makespan("chimera", &shape, &twice),
                              7 * (3 * (uint64_t)units * p + bubble));
        }
    }
}

TEST(copies_of_weights_are_counted)
{
    static const struct {
        const char *name;
        uint32_t copies[4]; /* by rank */
        bool asynchronous;
    } rows[] = {
        {"chimera", {2, 2, 2, 2}, false},  {"dualpipe", {2, 2, 2, 2}, false},
        {"pipedream", {4, 3, 2, 1}, true}, {"pipedream-2bw", {2, 2, 2, 2}, true},
        {"1f1b", {1, 1, 1, 1}, false},     {"dualpipev", {1, 1, 1, 1}, false},
    };
    const struct ty_sched_shape shape = {4, 8, 1, 0, 1};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ty_sched *sched = ty_sched_find(rows[i].name);
        ck_assert_int_eq(sched->asynchronous, rows[i].asynchronous);
        for (uint32_t r = 0; r < 4; r++) {
            const uint32_t n = sched->weight_copies == NULL ? 1 : sched->weight_copies(&shape, r);
            ck_assert_uint_eq(n, rows[i].copies[r]);
        }
    }
}

static const struct play_refusal refusals[] = {
    {"interleaved",
     {4, 10, 2, 0, 1},
     "interleaved: 10 micro-batches in groups of 4 leave a last group of 2, fewer than "
     "the "
     "4 ranks; group 5, 6 or 10 would do, or 8 or 12 micro-batches"},
    {"interleaved",
     {4, 6, 2, 0, 1},
     "interleaved: 6 micro-batches in groups of 4 leave a last group of 2, fewer than the "
     "4 "
     "ranks; group 6 would do, or 4 or 8 micro-batches"},
    {"interleaved",
     {4, 8, 2, 3, 1},
     "interleaved: groups of 3 micro-batches; a group has at least 4 (pipeline ranks) and "
     "at most 8 (micro-batches): group 4 or 8"},
    {"interleaved",
     {4, 8, 3, 9, 1},
     "interleaved: groups of 9 micro-batches; a group has at least 4 (pipeline ranks) and "
     "at most 8 (micro-batches): group 4 or 8"},
    {"interleaved",
     {4, 3, 2, 4, 1},
     "interleaved: groups of 4 micro-batches; 3 micro-batches, fewer than the 4 ranks, "
     "form "
     "one group: group 3"},
    {"chimera",
     {3, 4, 1, 0, 1},
     "chimera: 3 pipeline ranks; two opposite pipes interlock over an even number of "
     "ranks: "
     "4, for example"},
    {"chimera",
     {4, 5, 1, 0, 1},
     "chimera: 5 micro-batches; half of them enter at either end, so their number is "
     "even: "
     "6, for example"},
    {"dualpipe",
     {5, 20, 1, 0, 1},
     "dualpipe: 5 pipeline ranks; two opposite pipes fold over an even number of ranks: "
     "6, "
     "for example"},
    {"dualpipe",
     {4, 6, 1, 0, 1},
     "dualpipe: 6 micro-batches over 4 ranks; both directions together have an even "
     "number "
     "of at least 8: 8, for example"},
    {"dualpipe",
     {4, 11, 1, 0, 1},
     "dualpipe: 11 micro-batches over 4 ranks; both directions together have an even "
     "number "
     "of at least 8: 12, for example"},
    {"dualpipev",
     {4, 7, 2, 0, 1},
     "dualpipev: 7 micro-batches over 4 ranks; it needs two per rank, 8, or more"},
    {"dualpipev", {4, 8, 1, 0, 1}, "dualpipev: 1 virtual stage per rank; it has exactly 2"},
    {"pipedream-2bw",
     {4, 3, 1, 0, 1},
     "pipedream-2bw: 3 micro-batches per update over 4 ranks; two versions of the weights "
     "suffice for 4 micro-batches or more"},
};

TEST(impossible_shapes_are_refused_with_what_would_be_right)
{
    play_refusals(refusals, sizeof(refusals) / sizeof(refusals[0]));
}

TY_SUITE("sched")
