/* Noise: a function of identity with the right moments. */
#include "sim/base/noise.h"

#include <math.h>

#include "tests/unit/suite.h"

#define N 20000

TEST(the_mixer_is_splitmix64)
{
    /* The first output of splitmix64 from state 0: Vigna, splitmix64.c, prng.di.unimi.it. With
     * three further zero words the chain is mix(.. + gamma) applied four times. */
    uint64_t h = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t z = h + UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        h = z ^ (z >> 31);
        if (i == 0) {
            ck_assert_uint_eq(h, UINT64_C(0xe220a8397b1dcdaf));
        }
    }
    ck_assert_uint_eq(ty_hash4(0, 0, 0, 0), h);
}

TEST(every_word_and_its_position_matter)
{
    const uint64_t h = ty_hash4(1, 2, 3, 4);
    ck_assert_uint_eq(h, ty_hash4(1, 2, 3, 4));
    ck_assert_uint_ne(h, ty_hash4(2, 1, 3, 4));
    ck_assert_uint_ne(h, ty_hash4(1, 3, 2, 4));
    ck_assert_uint_ne(h, ty_hash4(1, 2, 4, 3));
    ck_assert_uint_ne(h, ty_hash4(0, 2, 3, 4));
}

TEST(one_changed_bit_changes_half_of_the_hash)
{
    double flipped = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const uint64_t d = ty_hash4(i, 1, 2, 3) ^ ty_hash4(i, 1, 2, 3 ^ (UINT64_C(1) << i % 64));
        for (int bit = 0; bit < 64; bit++) {
            flipped += (double)(d >> bit & 1);
        }
    }
    /* 64000 fair coins: standard deviation 0.002; 5 of them */
    ck_assert_double_eq_tol(flipped / 64000, 0.5, 0.01);
}

TEST(normal_deviates_have_mean_0_and_variance_1)
{
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double z = ty_noise_normal(42, i, 7, 9);
        ck_assert(isfinite(z));
        sum += z;
        squares += z * z;
    }
    /* standard errors 0.007 and 0.01; 5 of them */
    ck_assert_double_eq_tol(sum / N, 0, 0.035);
    ck_assert_double_eq_tol(squares / N, 1, 0.05);
}

TEST(log_normal_factors_have_mean_1_and_their_cv)
{
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double f = ty_noise_lognormal(0.1, 42, i, 1, 2);
        ck_assert(f > 0);
        sum += f;
        squares += f * f;
    }
    const double mean = sum / N;
    ck_assert_double_eq_tol(mean, 1, 0.0036); /* 5 x 0.1 / sqrt(N) */
    ck_assert_double_eq_tol(sqrt(squares / N - mean * mean), 0.1, 0.004);
    ck_assert(ty_noise_lognormal(0, 42, 1, 2, 3) == 1.0);
}

TEST(seeds_and_identities_give_other_numbers)
{
    const double f = ty_noise_lognormal(0.1, 1, 2, 3, 4);
    ck_assert(f == ty_noise_lognormal(0.1, 1, 2, 3, 4));
    ck_assert(f != ty_noise_lognormal(0.1, 2, 2, 3, 4));
    ck_assert(f != ty_noise_lognormal(0.1, 1, 3, 3, 4));
}

/* Test vectors of RFC 9923, 64 bits. */
TEST(texts_are_hashed_by_fnv_1a)
{
    ck_assert_uint_eq(ty_hash_text(""), UINT64_C(0xcbf29ce484222325));
    ck_assert_uint_eq(ty_hash_text(NULL), ty_hash_text(""));
    ck_assert_uint_eq(ty_hash_text("a"), UINT64_C(0xaf63dc4c8601ec8c));
    ck_assert_uint_eq(ty_hash_text("foobar"), UINT64_C(0x85944171f73967e8));
}

TY_SUITE("noise")
