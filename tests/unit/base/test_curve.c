/* test_curve.c - measured curves: through every point, monotone, straight for powers. */
#include "sim/base/curve.h"

#include <math.h>

#include "tests/unit/suite.h"

static struct ty_curve curve_of(struct ty_arena *arena, const double *x, const double *y,
                                uint32_t n)
{
    struct ty_err err = TY_ERR_NONE;
    struct ty_curve curve;
    ck_assert_msg(ty_curve_init(&curve, x, y, n, arena, &err) == 0, "%s", err.text);
    return curve;
}

TEST(a_power_of_x_is_met_between_its_points)
{
    static const double x[] = {1, 3, 10, 200, 1e5};
    struct ty_arena arena = {0};
    double y[TY_COUNT(x)];
    for (size_t i = 0; i < TY_COUNT(x); i++) {
        y[i] = 7 * pow(x[i], 1.5);
    }
    for (uint32_t n = 2; n <= TY_COUNT(x); n++) {
        const struct ty_curve curve = curve_of(&arena, x, y, n);
        for (double at = 1; at <= x[n - 1]; at *= 1.3) {
            ck_assert_double_eq_tol(ty_curve_at(&curve, at) / (7 * pow(at, 1.5)), 1, 1e-12);
        }
    }
    ty_arena_release(&arena);
}

TEST(noise_is_met_and_never_overshot)
{
    static const double x[] = {8, 16, 32, 64, 128, 256, 512};
    static const double y[] = {20, 19, 21, 21, 90, 95, 300};
    struct ty_arena arena = {0};
    const struct ty_curve curve = curve_of(&arena, x, y, TY_COUNT(x));
    for (size_t i = 0; i < TY_COUNT(x); i++) {
        ck_assert_double_eq_tol(ty_curve_at(&curve, x[i]) / y[i], 1, 1e-12);
    }
    for (size_t i = 0; i + 1 < TY_COUNT(x); i++) {
        const double low = fmin(y[i], y[i + 1]), high = fmax(y[i], y[i + 1]);
        for (double at = x[i]; at <= x[i + 1]; at *= 1.01) {
            const double value = ty_curve_at(&curve, at);
            ck_assert(value >= low * (1 - 1e-12) && value <= high * (1 + 1e-12));
        }
    }
    ty_arena_release(&arena);
}

TEST(outside_the_ends_hold)
{
    static const double x[] = {10, 20}, y[] = {3, 5};
    struct ty_arena arena = {0};
    const struct ty_curve curve = curve_of(&arena, x, y, 2);
    ck_assert_double_eq_tol(ty_curve_at(&curve, 1), 3, 1e-12);
    ck_assert_double_eq_tol(ty_curve_at(&curve, 0), 3, 1e-12);
    ck_assert_double_eq_tol(ty_curve_at(&curve, 21), 5, 1e-12);
    const struct ty_curve point = curve_of(&arena, x, y, 1);
    ck_assert_double_eq_tol(ty_curve_at(&point, 15), 3, 1e-12);
    ty_arena_release(&arena);
}

/* 10^15 and its successors are different numbers of bytes and one logarithm. */
TEST(points_too_near_to_be_told_apart_are_one)
{
    static const double x[] = {1e3, 1e15, 1e15 + 1, 1e15 + 2, 1e18}, y[] = {1, 5, 6, 7, 9};
    struct ty_arena arena = {0};
    const struct ty_curve curve = curve_of(&arena, x, y, TY_COUNT(x));
    ck_assert_double_eq_tol(ty_curve_at(&curve, 1e15), 5, 1e-12);
    ck_assert_double_eq_tol(ty_curve_at(&curve, 1e18), 9, 1e-12);
    const struct ty_curve pair = curve_of(&arena, x + 1, y + 1, 2);
    ck_assert_double_eq_tol(ty_curve_at(&pair, 1e15), 5, 1e-12);
    ty_arena_release(&arena);
}

TY_SUITE("curve")
