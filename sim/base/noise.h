/* noise.h - randomness as a function of identity, never of order.
 *
 * A value depends on the seed and on who asks (rank, pass, layer), so both executors, any thread
 * count and any evaluation order see the same number. Counter-based in the manner of Salmon et
 * al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; the mixer is splitmix64's
 * finaliser (Steele et al., OOPSLA 2014). */
#ifndef TY_BASE_NOISE_H
#define TY_BASE_NOISE_H

#include <stdint.h>
#include <string.h>

/* The bits of a double, to be hashed or compared. */
static inline uint64_t ty_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

/* 64 mixed bits of four words. */
uint64_t ty_hash4(uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* Uniform between 0 and 1, and neither: their top 52 bits, at the middle of a cell. */
static inline double ty_hash4_uniform(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return ((double)(ty_hash4(a, b, c, d) >> 12) + 0.5) * 0x1p-52;
}

/* 64 bits of a text, NULL being empty: FNV-1a (Fowler, Noll, Vo; RFC 9923). */
uint64_t ty_hash_text(const char *text);

/* A standard normal deviate for an identity, by GSL's inverse distribution function. */
double ty_noise_normal(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* 1 + by for the share of hosts that are drawn slow, 1 for the others. */
double ty_noise_slow_host(double share, double by, uint64_t seed, uint64_t host);

/* A log-normal factor with mean 1 and coefficient of variation cv (>= 0; 0 gives exactly 1). */
double ty_noise_lognormal(double cv, uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

#endif
