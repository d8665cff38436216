/* compiler.h - the only place where compiler extensions are named, but for the export of symbols in
 * sim/trainyard.h, which stands alone.
 *
 * Everything else in the tree is plain C11. A compiler that knows none of these still builds
 * trainyard; it loses diagnostics and some speed, never behaviour. */
#ifndef TY_BASE_COMPILER_H
#define TY_BASE_COMPILER_H

#if defined(__GNUC__) || defined(__clang__)
#define TY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define TY_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#define TY_PREFETCH(p)       __builtin_prefetch(p) /* the line at p is read soon */
#else
#define TY_PRINTF(fmt, args)
#define TY_UNLIKELY(x) (x)
#define TY_PREFETCH(p) ((void)(p))
#endif

/* The number of the lowest bit that is set; x != 0. */
#if defined(__GNUC__) || defined(__clang__)
#define ty_lowest_bit(x) ((unsigned)__builtin_ctzll(x))
#else
static inline unsigned ty_lowest_bit(unsigned long long x)
{
    unsigned n = 0;
    while ((x >> n & 1) == 0) {
        n++;
    }
    return n;
}
#endif

/* Number of elements of a real array. */
#define TY_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* -1, 0 or 1: a before, with or behind b. By several keys: 2 * TY_ORDER(first) + TY_ORDER(next). */
#define TY_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
