/* test_deal.c - layers dealt to stages, beside every way to deal them. */
#include <math.h>
#include <string.h>

#include "sim/run/deal.h"
#include "tests/unit/suite.h"

#define LAYERS_MAX 160u

static uint64_t state = 1;

/* Evenly in [0, 1): xorshift64* (Vigna 2016). */
static double draw(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (double)(state * 0x2545F4914F6CDD1DULL >> 11) / 9007199254740992.0;
}

static uint32_t draw_to(uint32_t n)
{
    return (uint32_t)(draw() * n);
}

struct problem {
    struct ty_deal deal;
    uint8_t layer[LAYERS_MAX];
    struct ty_deal_kind kind[4];
    struct ty_deal_stage stage[16];
};

/* Modes that run again take longer and keep less; what they give up comes back. */
static void draw_problem(struct problem *p, uint32_t layers, uint32_t kinds, uint32_t modes,
                         uint32_t stages, double tight)
{
    double all = 0;
    for (uint32_t k = 0; k < kinds; k++) {
        struct ty_deal_kind *kind = &p->kind[k];
        *kind = (struct ty_deal_kind){
            .seconds = {0.5 + draw()}, .kept_B = {0.5 + draw()}, .states_B = draw()};
        for (uint32_t m = 1; m < modes; m++) {
            kind->seconds[m] = kind->seconds[0] * (1 + 0.5 * draw());
            kind->kept_B[m] = kind->kept_B[0] * draw();
            kind->again_B[m] = kind->kept_B[0] - kind->kept_B[m];
            kind->waiting_B[m] = kind->kept_B[0] * draw();
        }
    }
    for (uint32_t i = 0; i < layers; i++) {
        p->layer[i] = (uint8_t)draw_to(kinds);
        all += p->kind[p->layer[i]].states_B + 2 * p->kind[p->layer[i]].kept_B[0];
    }
    for (uint32_t s = 0; s < stages; s++) {
        const bool splits = draw() < 0.4;
        p->stage[s] = (struct ty_deal_stage){.seconds = 2 * draw() * draw(),
                                             .room_B = all / stages * (tight + draw()),
                                             .held = stages - s,
                                             .waiting = splits && draw() < 0.5 ? 1 : 0,
                                             .turns = splits ? 0.5 : 0,
                                             .spare_B = draw() < 0.3 ? draw() : 0,
                                             .least = s > 0 && s + 1 < stages};
    }
    p->deal = (struct ty_deal){.layer = p->layer,
                               .n_layers = layers,
                               .kind = p->kind,
                               .n_kinds = kinds,
                               .n_modes = modes,
                               .stage = p->stage,
                               .n_stages = stages,
                               .rounds = draw_to(20)};
}

/* ---- the slow way ---- */

/* Whether layers [from, to) in these modes fit a stage, and their seconds. */
static double stage_with(const struct ty_deal *d, uint32_t s, uint32_t from, uint32_t to,
                         const uint32_t *mode)
{
    const struct ty_deal_stage *stage = &d->stage[s];
    double bytes = 0, seconds = stage->seconds, brief = 0;
    bool again = false, alike = true;
    for (uint32_t i = from; i < to; i++) {
        const struct ty_deal_kind *kind = &d->kind[d->layer[i]];
        const uint32_t m = mode[i - from];
        bytes += kind->states_B + stage->held * kind->kept_B[m] +
                 stage->waiting * kind->waiting_B[m] +
                 stage->turns * fmax(0, kind->waiting_B[m] - kind->kept_B[m]);
        seconds += kind->seconds[m];
        again = again || m > 0;
        alike = alike && d->layer[i] == d->layer[from];
    }
    for (uint32_t k = 0; k < d->n_kinds; k++) {
        for (uint32_t m = 1; m < d->n_modes; m++) {
            brief = fmax(brief, d->kind[k].again_B[m]);
        }
    }
    const bool freed = alike && to > from && mode[to - from - 1] == 0 && stage->turns <= 0;
    bytes += again && !freed ? fmax(0, brief - stage->spare_B) : 0;
    return bytes <= stage->room_B + 1e-12 ? seconds : HUGE_VAL;
}

/* The least over all assignments of modes; `runs`: of two runs and a rest that does not run
 * again. */
static double stage_slowly(const struct ty_deal *d, uint32_t s, uint32_t from, uint32_t to,
                           bool runs)
{
    uint32_t mode[LAYERS_MAX] = {0};
    double best = HUGE_VAL;
    for (;;) {
        uint32_t changes = 0;
        bool ends = false, wrong = false;
        for (uint32_t i = 0; i < to - from; i++) {
            wrong = wrong || (ends && mode[i] > 0);
            ends = ends || mode[i] == 0;
            changes += mode[i] > 0 && (i == 0 || mode[i] != mode[i - 1]);
        }
        if (!runs || (!wrong && changes <= 2)) {
            best = fmin(best, stage_with(d, s, from, to, mode));
        }
        uint32_t at = 0;
        while (at < to - from && ++mode[at] == d->n_modes) {
            mode[at++] = 0;
        }
        if (at == to - from) {
            return best;
        }
    }
}

/* Cuts of what is left from stage s on. */
static double cut_slowly(const struct ty_deal *d, uint32_t s, uint32_t from, double most,
                         double sum, bool runs)
{
    double best = HUGE_VAL;
    if (s == d->n_stages) {
        return from == d->n_layers ? d->rounds * most + sum : HUGE_VAL;
    }
    for (uint32_t to = from + d->stage[s].least; to <= d->n_layers; to++) {
        const double w = stage_slowly(d, s, from, to, runs);
        if (w < HUGE_VAL) {
            best = fmin(best, cut_slowly(d, s + 1, to, fmax(most, w), sum + w, runs));
        }
    }
    return best;
}

static double solve(const struct ty_deal *d, struct ty_deal_result *out)
{
    struct ty_arena arena = {0};
    ck_assert_int_eq(ty_deal(d, out, &arena), 0);
    uint32_t layers = 0;
    for (uint32_t s = 0; s < d->n_stages && out->fits; s++) {
        layers += out->share[s].layers;
    }
    ck_assert_uint_eq(layers, out->fits ? d->n_layers : 0);
    ty_arena_release(&arena);
    return out->fits ? d->rounds * out->most + out->sum : HUGE_VAL;
}

static void demand(double found, double best)
{
    ck_assert_msg(found == best || fabs(found - best) <= 1e-9 * best, "%.12g, not %.12g", found,
                  best);
}

TEST(cuts_are_the_best_of_all)
{
    uint32_t none = 0;
    for (uint32_t i = 0; i < 800; i++) {
        struct problem p;
        struct ty_deal_result out;
        draw_problem(&p, 2 + draw_to(10), 1 + draw_to(4), 1, 1 + draw_to(5), i % 3 * 0.4);
        const double best = cut_slowly(&p.deal, 0, 0, 0, 0, false);
        demand(solve(&p.deal, &out), best);
        none += best == HUGE_VAL;
    }
    ck_assert_uint_gt(none, 50);
    ck_assert_uint_lt(none, 600);
}

/* Of equal layers all assignments of four modes. */
TEST(counts_are_the_best_of_all_assignments)
{
    uint32_t some = 0;
    for (uint32_t i = 0; i < 400; i++) {
        struct problem p;
        struct ty_deal_share share;
        uint64_t steps = 0;
        draw_problem(&p, 1 + draw_to(6), 1, 4, 2, 0.8 * draw());
        const double best = stage_slowly(&p.deal, 0, 0, p.deal.n_layers, false);
        demand(ty_deal_least(&p.deal, 0, 0, p.deal.n_layers, &share, &steps), best);
        some += best < HUGE_VAL && share.n_again > 0;
    }
    ck_assert_uint_gt(some, 100);
}

/* Of equal layers over all cuts and all assignments; of unlike ones over runs. */
TEST(cuts_and_counts_together_are_the_best_of_all)
{
    uint32_t some = 0;
    for (uint32_t i = 0; i < 200; i++) {
        struct problem p;
        struct ty_deal_result out;
        const bool unlike = i % 2 == 1;
        draw_problem(&p, 2 + draw_to(5), unlike ? 2 : 1, 1 + draw_to(3), 1 + draw_to(3),
                     0.6 * draw());
        const double best = cut_slowly(&p.deal, 0, 0, 0, 0, false);
        const double runs = unlike ? cut_slowly(&p.deal, 0, 0, 0, 0, true) : best;
        const double found = solve(&p.deal, &out);
        ck_assert_double_ge(found, best * (1 - 1e-9));
        /* stages of equal layers have more than two runs */
        ck_assert(found <= runs * (1 + 1e-9));
        if (!unlike) {
            demand(found, best);
        }
        for (uint32_t s = 0; s < p.deal.n_stages && out.fits; s++) {
            some += best < HUGE_VAL;
        }
    }
    ck_assert_uint_gt(some, 100);
}

/* Steps of the search, for layers of one kind: as deep as it may be. */
static uint64_t steps_of(uint32_t layers, uint32_t stages, uint32_t modes, double share)
{
    struct problem p = {.kind = {{.seconds = {1, 1.1, 1.33},
                                  .kept_B = {1, 0.6, 0.1},
                                  .again_B = {0, 0.4, 0.9},
                                  .states_B = 1}}};
    struct ty_deal_result out;
    for (uint32_t s = 0; s < stages; s++) {
        const double each = (double)layers / stages;
        p.stage[s] = (struct ty_deal_stage){.seconds = s == 0            ? 0.2
                                                       : s + 1 == stages ? 1.3
                                                                         : 0,
                                            .room_B = each * (1 + share * stages) + 2,
                                            .held = stages - s,
                                            .least = s > 0 && s + 1 < stages};
    }
    p.deal = (struct ty_deal){.layer = p.layer,
                              .n_layers = layers,
                              .kind = p.kind,
                              .n_kinds = 1,
                              .n_modes = modes,
                              .stage = p.stage,
                              .n_stages = stages,
                              .rounds = 63};
    ck_assert(solve(&p.deal, &out) < HUGE_VAL);
    return out.steps;
}

TEST(more_equal_layers_are_no_more_work)
{
    const uint64_t few = steps_of(32, 8, 1, 1), many = steps_of(126, 8, 1, 1);
    const uint64_t few_counted = steps_of(32, 8, 3, 0.5), many_counted = steps_of(126, 8, 3, 0.5);
    ck_assert_msg(5 * many <= 6 * few, "%lu and %lu", (unsigned long)many, (unsigned long)few);
    ck_assert_msg(5 * many_counted <= 6 * few_counted, "%lu and %lu", (unsigned long)many_counted,
                  (unsigned long)few_counted);
}

TY_SUITE("deal")
