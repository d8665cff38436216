/* sum.c - adds many equal terms with the rounding that a loop would have. */
#include "sim/base/sum.h"

#include <math.h>

/* The next power of two above; of 0 the smallest number there is. */
static double top_of(double sum)
{
    int exponent;
    (void)frexp(sum, &exponent);
    return sum > 0 ? ldexp(1, exponent) : 0;
}

/* How many rounds of so many that add the same can be made at once, as nothing reaches `top` in
 * them: one less than fit, as the quotient is rounded. */
static uint64_t rounds_below(double top, double sum, double round, uint64_t left)
{
    const double fit = floor((top - sum) / round) - 1;
    return fit < 1 ? 0 : fit < (double)left ? (uint64_t)fit : left;
}

typedef double round_fn(double sum, const void *arg);

/* `make` so many times. Two rounds in a row that stay below one power of two tell the others. */
static double repeat(double sum, uint64_t times, round_fn *make, const void *arg)
{
    double top = 0;
    for (uint64_t k = 0; k < times; k++) {
        const double before = sum, above = top;
        sum = make(before, arg);
        if (sum <= before) { /* nor will any other change it */
            return sum;
        }
        top = top_of(before);
        if (sum < top && above == top) { /* the round before stayed there, too */
            const uint64_t more = rounds_below(top, sum, sum - before, times - k - 1);
            sum += (double)more * (sum - before);
            k += more;
        }
    }
    return sum;
}

static double add(double sum, const void *x)
{
    return sum + *(const double *)x;
}

double ty_sum_equal(double sum, double x, uint64_t n)
{
    return n == 1 ? sum + x : repeat(sum, n, add, &x);
}

struct terms {
    const struct ty_term *term;
    size_t n;
};

static double add_terms(double sum, const void *arg)
{
    const struct terms *terms = arg;
    for (size_t i = 0; i < terms->n; i++) {
        sum = ty_sum_equal(sum, terms->term[i].x, terms->term[i].n);
    }
    return sum;
}

double ty_sum_terms(double sum, const struct ty_term *terms, size_t n, uint64_t times)
{
    const struct terms all = {terms, n};
    return times == 1 ? add_terms(sum, &all) : repeat(sum, times, add_terms, &all);
}
