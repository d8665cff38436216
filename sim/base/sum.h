/* sum.h - sums of many equal terms as a loop would round them.
 *
 * What thousands of GPUs do alike is added once, and reports still have to say what they say where
 * each of them comes in its turn, to the last bit. A product n x is rounded once, where a loop
 * rounds n times: they differ. But a loop repeats itself. While sums stay between two powers of two
 * all are multiples of one unit, and how an addition rounds depends on the fraction of that unit in
 * the term, and where that is a half on whether the sum is odd. After such a half it is even. So
 * from its second round on whatever is added again and again adds the same, and only the first two
 * rounds between two powers of two have to be made. */
#ifndef TY_BASE_SUM_H
#define TY_BASE_SUM_H

#include <stddef.h>
#include <stdint.h>

/* x, so many times in a row. */
struct ty_term {
    double x;
    uint64_t n;
};

/* sum + x + x + ..., n times: what a loop of additions comes to, rounded to nearest. Neither is
 * negative or infinite. O(log n). */
double ty_sum_equal(double sum, double x, uint64_t n);

/* The same of terms[n], one after the other, and of all that so many times. O(n log times). */
double ty_sum_terms(double sum, const struct ty_term *terms, size_t n, uint64_t times);

#endif
