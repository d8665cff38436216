/* units.h - numbers as people write them: "80 GiB", "200 Gb/s", "2 us", "312 TFLOP/s", "3 %".
 *
 * One table of units and prefixes serves reading and writing. SI prefixes (k M G T P, and m u n p
 * for seconds) mean powers of 1000, Ki Mi Gi Ti powers of 1024; b is bits, B is bytes. Case counts.
 * "us" and "µs" are the same. The space between number and unit is optional. A bare number where
 * a unit is due is an error. */
#ifndef TY_BASE_UNITS_H
#define TY_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t ty_ps; /* time in picoseconds; 2^64 ps is 213 days */

/* dimension, base unit, example for messages */
#define TY_DIMENSIONS(X)                                                                           \
    X(COUNT, "", "8")       /* no unit */                                                          \
    X(SECONDS, "s", "2 us") /* double seconds */                                                   \
    X(BYTES, "B", "80 GiB") /* double bytes */                                                     \
    X(BYTES_PER_S, "B/s", "300 GB/s or 200 Gb/s")                                                  \
    X(METRES, "m", "170 mm") /* double metres */                                                   \
    X(FLOPS, "FLOP/s", "312 TFLOP/s")                                                              \
    X(WATTS, "W", "10.2 kW")                                                                       \
    X(RATIO, "", "3 % or 0.03") /* a share: "3 %" and "0.03" are the same */

enum ty_dimension {
#define X(name, base, example) TY_DIM_##name,
    TY_DIMENSIONS(X)
#undef X
    TY_N_DIMENSIONS
};

/* Reads `text` as a quantity of dimension `dim` into base units (s, B, B/s, m, FLOP/s, 1). Returns
 * 0, or -1 and a message without a place in why[0..why_size): what is wrong; what would be right.
 * Never accepts NaN, infinities, hexadecimal, trailing characters. Locale-independent. */
int ty_quantity_parse(const char *text, enum ty_dimension dim, double *out, char *why,
                      size_t why_size);

/* The same, with an example of one's own for the message. */
int ty_quantity_parse_like(const char *text, enum ty_dimension dim, const char *example,
                           double *out, char *why, size_t why_size);

/* Writes `value` (base units) with the unit that gives the shortest exact reading, such as
 * "24 GB/s", "80 GiB", "2 us", "3 %"; at most 6 significant digits. Bytes take binary prefixes
 * when they give a whole number, else decimal ones. Returns `buf`. */
char *ty_quantity_format(double value, enum ty_dimension dim, char *buf, size_t size);

/* How a quantity of this dimension is written, for messages: "2 us", "300 GB/s or 200 Gb/s". */
const char *ty_dimension_example(enum ty_dimension dim);

/* The base unit: "s", "B", "B/s", "m", "FLOP/s", or "" for counts and shares. */
const char *ty_dimension_base(enum ty_dimension dim);

/* Seconds to picoseconds, rounded half up. Returns 0, or -1 when s is negative, NaN or above
 * 2^62 ps; *out is then unchanged. */
int ty_ps_from_s(double s, ty_ps *out);

/* Picoseconds to seconds. */
static inline double ty_s_from_ps(ty_ps t)
{
    return (double)t * 1e-12;
}

#endif
