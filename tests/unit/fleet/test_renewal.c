/* test_renewal.c - the closed form where hardly anything is progress. */
#include <math.h>

#include "sim/base/noise.h"
#include "sim/fleet/renewal.h"
#include "tests/unit/suite.h"

static double any(uint64_t key, uint64_t what, double low, double high)
{
    return low * pow(high / low, (double)(ty_hash4(3, 1, key, what) >> 12) * 0x1p-52);
}

/* Whatever may be written: a thousand times the time between failures, none between them. */
TEST(shares_are_numbers_whatever_is_asked)
{
    for (uint32_t i = 0; i < 20000; i++) {
        struct ty_renewal r = {.rate = any(i, 0, 1e-9, 10),
                               .every_s = i % 7 == 0 ? INFINITY : any(i, 1, 1e-3, 1e8),
                               .stall_s = any(i, 2, 1e-20, 1e8),
                               .durable_after_s = any(i, 3, 1e-3, 1e8),
                               .wait_s = any(i, 4, 1e-3, 1e8),
                               .restart_s = any(i, 5, 1e-3, 1e8),
                               .stops = i % 2 == 0 ? 0 : any(i, 6, 1e-6, 1),
                               .store_every = i % 3 == 0 ? 1 : (uint32_t)any(i, 7, 2, 1e6)};
        if (r.store_every > 1) {
            r.memory_stall_s = i % 5 == 0 ? 0 : any(i, 8, 1e-3, 1e8);
            r.memory_restart_s = any(i, 9, 1e-3, 1e8);
            r.from_memory = i % 4 == 0 ? 1 : i % 4 == 1 ? 0 : 1 - any(i, 10, 1e-9, 1);
        }
        const struct ty_renewal_shares s = ty_renewal_shares(&r);
        ck_assert_double_eq_tol(s.goodput + s.checkpoints + s.lost_work + s.wait + s.restart, 1,
                                1e-12);
        ck_assert(s.goodput >= 0 && s.checkpoints >= 0 && s.lost_work >= 0 && s.wait >= 0 &&
                  s.restart >= 0);
        if (i % 20 == 0) {
            const double best = ty_best_interval(&r);
            ck_assert(best > 0 && best <= 130 / r.rate);
        }
    }
}

/* At 39 times M formula (1) is 5e-16, not nothing and not nan. */
TEST(hardly_anything_is_progress_and_still_exact)
{
    for (double times = 10; times < 150; times *= 1.5) {
        const struct ty_renewal r = {.rate = 1e-4,
                                     .every_s = times * 1e4,
                                     .stall_s = 20,
                                     .durable_after_s = 100,
                                     .wait_s = 600,
                                     .restart_s = 300,
                                     .store_every = 1};
        const double exact =
            r.every_s * exp(-0.01) / (10600 * exp(0.03) * expm1(times + 20 * 1e-4));
        ck_assert_double_eq_tol(ty_renewal_shares(&r).goodput / exact, 1, 1e-12);
    }
    const struct ty_renewal stalls = {.rate = 1, .stall_s = 300, .store_every = 1};
    ck_assert_double_eq_tol(ty_best_interval(&stalls), 1, 1e-9);
}

TY_SUITE("renewal")
