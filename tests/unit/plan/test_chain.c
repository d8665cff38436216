/* test_chain.c - stages on submeshes, beside every plan there is. */
#include "sim/plan/chain.h"

#include <math.h>

#include "sim/base/noise.h"
#include "tests/unit/suite.h"

/* Seconds drawn by a hash of what they are of, so that both sides ask for the same. */
struct drawn {
    uint64_t seed;
    double room;
};

static double draw(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return (double)(ty_hash4(seed, a, b, c) >> 11) / 9007199254740992.0;
}

/* More layers take longer, more devices are faster, and what does not fit depends on how many
 * micro-batches are held. */
static double stage(const void *arg, uint32_t from, uint32_t to, uint32_t scheme, uint32_t behind)
{
    const struct drawn *d = arg;
    double sum = 0;
    for (uint32_t i = from; i < to; i++) {
        sum += 0.2 + draw(d->seed, i, scheme, 1);
    }
    return sum * behind > d->room * (1 + scheme) ? HUGE_VAL : sum / (1 + 0.5 * scheme);
}

static double between(const void *arg, uint32_t at, uint32_t used, uint32_t before, uint32_t after)
{
    const struct drawn *d = arg;
    return 0.3 * draw(d->seed, at, before * 8 + after, used + 2);
}

/* All plans of layers from `from` on, `devices` and `behind` stages. */
static double slowly(const struct ty_chain *c, uint32_t from, uint32_t devices, uint32_t behind,
                     uint32_t before, double most, double sum)
{
    double best = HUGE_VAL;
    if (behind == 0) {
        return from == c->n_layers && devices == 0 ? c->rounds * most + sum : HUGE_VAL;
    }
    for (uint32_t k = 0; k < c->n_schemes; k++) {
        for (uint32_t to = from + 1; to <= c->n_layers && c->scheme[k].devices <= devices; to++) {
            const double w = c->stage(c->arg, from, to, k, behind);
            const double way =
                from > 0 ? c->between(c->arg, from, c->n_devices - devices, before, k) : 0;
            if (w < HUGE_VAL) {
                best = fmin(best, slowly(c, to, devices - c->scheme[k].devices, behind - 1, k,
                                         fmax(most, w), sum + w + way));
            }
        }
    }
    return best;
}

TEST(plans_are_the_best_of_all)
{
    static const struct ty_chain_scheme schemes[] = {{1}, {2}, {2}, {4}};
    uint32_t none = 0, unlike = 0;
    for (uint32_t i = 0; i < 60; i++) {
        const struct drawn d = {i, 0.3 + 3 * draw(i, 0, 0, 3)};
        const struct ty_chain c = {.n_layers = 2 + i % 4,
                                   .n_devices = 2 + i % 5,
                                   .n_stages = 4,
                                   .scheme = schemes,
                                   .n_schemes = 4,
                                   .rounds = i % 9,
                                   .stage = stage,
                                   .between = between,
                                   .arg = &d};
        struct ty_arena arena = {.head = NULL};
        struct ty_chain_result out;
        double best = HUGE_VAL;
        for (uint32_t s = 1; s <= c.n_stages; s++) {
            best = fmin(best, slowly(&c, 0, c.n_devices, s, 0, 0, 0));
        }
        ck_assert_int_eq(ty_chain(&c, &out, &arena), 0);
        ck_assert(out.fits == (best < HUGE_VAL));
        none += !out.fits;
        if (out.fits) {
            uint32_t layers = 0, devices = 0;
            for (uint32_t s = 0; s < out.n_stages; s++) {
                layers += out.stage[s].layers;
                devices += schemes[out.stage[s].scheme].devices;
                unlike +=
                    schemes[out.stage[s].scheme].devices != schemes[out.stage[0].scheme].devices;
            }
            ck_assert_uint_eq(layers, c.n_layers);
            ck_assert_uint_eq(devices, c.n_devices);
            ck_assert_double_eq_tol(c.rounds * out.most + out.sum, best, 1e-9 * best);
        }
        ty_arena_release(&arena);
    }
    ck_assert_uint_gt(none, 3);
    ck_assert_uint_lt(none, 30);
    ck_assert_uint_gt(unlike, 20);
}

TY_SUITE("chain")
