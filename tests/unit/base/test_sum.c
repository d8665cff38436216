/* Sums of equal terms: to the last bit those of a loop, and not in the time of one. */
#include "sim/base/sum.h"

#include <math.h>

#include "sim/base/noise.h"
#include "tests/unit/suite.h"

static double loop(double sum, const struct ty_term *terms, size_t n, uint64_t times)
{
    for (uint64_t k = 0; k < times; k++) {
        for (size_t i = 0; i < n; i++) {
            for (uint64_t m = 0; m < terms[i].n; m++) {
                sum += terms[i].x;
            }
        }
    }
    return sum;
}

/* Between 1e-9 and 1e9, or one with few bits, which makes sums that lie between two doubles. */
static double draw(uint64_t seed, uint64_t i)
{
    const uint64_t h = ty_hash4(seed, i, 1, 0);
    const double share = (double)(h >> 11) * 0x1p-53;
    switch (h % 4) {
    case 0:
        return 0;
    case 1:
        return ldexp((double)(1 + h / 4 % 7), (int)(h / 64 % 60) - 50);
    case 2:
        return 1e-3 * share;
    default:
        return pow(10, 18 * share - 9);
    }
}

TEST(equal_terms_add_up_as_in_a_loop)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const uint64_t n = ty_hash4(seed, 2, 0, 0) % 5000;
        const struct ty_term term = {draw(seed, 0), n};
        const double sum = draw(seed, 1);
        ck_assert_uint_eq(ty_bits(ty_sum_equal(sum, term.x, n)), ty_bits(loop(sum, &term, 1, 1)));
    }
}

/* With the unit of a double at 1: half a unit goes to the even neighbour, at first up, then not. */
TEST(halves_go_to_the_even_neighbour)
{
    const double odd = 0x1p52 + 1;
    ck_assert_uint_eq(ty_bits(ty_sum_equal(odd, 0.5, 1)), ty_bits(odd + 1));
    ck_assert_uint_eq(ty_bits(ty_sum_equal(odd, 0.5, 1000000)), ty_bits(odd + 1));
    ck_assert_uint_eq(ty_bits(ty_sum_equal(odd, 1.5, 1000)), ty_bits(odd + 1 + 999 * 2));
}

TEST(patterns_add_up_as_in_a_loop)
{
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const size_t n = 1 + ty_hash4(seed, 2, 0, 0) % 6;
        const uint64_t times = ty_hash4(seed, 3, 0, 0) % 400;
        struct ty_term terms[6];
        for (size_t i = 0; i < n; i++) {
            terms[i] = (struct ty_term){draw(seed, i), ty_hash4(seed, 4, i, 0) % 9};
        }
        const double sum = draw(seed, 9);
        ck_assert_uint_eq(ty_bits(ty_sum_terms(sum, terms, n, times)),
                          ty_bits(loop(sum, terms, n, times)));
    }
}

/* More than a loop could do. */
TEST(many_are_as_quick_as_few)
{
    const uint64_t many = UINT64_C(1) << 50;
    const struct ty_term terms[] = {{3, many}, {0, many}, {5, 1}};
    ck_assert_uint_eq(ty_bits(ty_sum_equal(0, 3, many)), ty_bits(3 * (double)many));
    ck_assert_uint_eq(ty_bits(ty_sum_equal(0, 0, many)), 0);
    ck_assert_uint_eq(ty_bits(ty_sum_terms(0, terms, 3, 2)), ty_bits(6 * (double)many + 10));
}

TY_SUITE("sum")
