/* noise.c - a hash of identity, pushed through an inverse distribution function. */
#include "sim/base/noise.h"

#include <math.h>
#include <stddef.h>

#include <gsl/gsl_cdf.h>

/* Finaliser and increment of splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014, figure 14 (variant 13 of Stafford's mixers). */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t ty_hash4(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio, odd */
    uint64_t h = mix(a + gamma);
    h = mix(h + b + gamma);
    h = mix(h + c + gamma);
    return mix(h + d + gamma);
}

uint64_t ty_hash_text(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* offset basis and prime of the 64-bit variant */
    for (; text != NULL && *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return h;
}

double ty_noise_normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    return gsl_cdf_ugaussian_Pinv(ty_hash4_uniform(seed, a, b, c));
}

double ty_noise_slow_host(double share, double by, uint64_t seed, uint64_t host)
{
    /* One of the four words is far from those of normal draws. */
    const double u = (double)(ty_hash4(seed, UINT64_MAX - 1, host, 0) >> 12) * 0x1p-52;
    return u < share ? 1 + by : 1;
}

double ty_noise_lognormal(double cv, uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
    if (cv == 0.0) {
        return 1.0;
    }
    /* Mean exp(mu + sigma^2 / 2) = 1 and variance (exp(sigma^2) - 1) = cv^2. */
    const double variance = log1p(cv * cv);
    return exp(sqrt(variance) * ty_noise_normal(seed, a, b, c) - variance / 2);
}
