/* band.h - how sure a step time is: a 90 % band, and what it is due to.
 *
 * Every value that may be off (sim/config/uncertainty.h) is moved down and up by its standard
 * deviation, each by a run of its own with the same seed. m_k is half the difference of the logs of
 * the two step times; with correlations C and the scatter that no key explains the variance of log
 * step time is m'Cm + each^2 + shared^2. Differences over a whole deviation average over kinks
 * (something stops being hidden) that a derivative would miss, and nothing is drawn at random: 2 n
 * runs say exactly whose part is how large, and of two layouts which moves are the same and cancel.
 *
 * Half the bandwidth costs more than twice of it gains: so the slow end of the band is made of what
 * each value does where it makes the step slower, the fast end of the other side (asymmetric
 * errors as in Barlow 2003, arXiv:physics/0306138). */
#ifndef TY_SWEEP_BAND_H
#define TY_SWEEP_BAND_H

#include "sim/base/text.h"
#include "sim/config/scatter.h"
#include "sim/document/json.h"
#include "sim/sweep/row_run.h"

#define TY_BAND_SHARE 0.9                /* of what may come lies within */
#define TY_SWEEP_TIED 0.05               /* chance of being faster above which two rows are tied */
#define TY_BAND_HALF  1.6448536269514722 /* half its width, in standard deviations */

struct ty_band_key {
    struct ty_uncertain_key is;
    double down_s, up_s; /* the step with the value a deviation lower, and higher */
    double move;         /* of the step's logarithm, by a deviation of the value's: the mean, ... */
    double slow, fast;   /* ... and on the side where it makes the step slower, and faster */
    double share;        /* of the variance; of correlated ones the sum alone means much */
};

struct ty_band {
    struct ty_band_key *key;   /* [n] in the order of the files, guesses last */
    const double *correlation; /* [n][n] */
    uint32_t n;
    struct ty_scatter scatter;            /* that no key explains */
    double step_s, deviation, slow, fast; /* deviations: of its logarithm, and to either side */
    uint64_t model, cluster;              /* equal models share the second; equal both ... */
    double apart; /* ... have no more than this scatter between their layouts */
};

/* Of a row of a table; arrays and texts are the arena's. Runs on `jobs` threads, with `extra`
 * settings (NULL: none). */
int ty_band_find(struct ty_band *band, const struct ty_row_source *rows, uint32_t row,
                 const char *extra, uint32_t jobs, struct ty_arena *arena, struct ty_err *err);

/* The same of rows->source alone, whose workers live as long as the call. Once *stop is not 0, no
 * run begins. */
int ty_band_alone(struct ty_band *band, struct ty_row_source *rows, const char *set,
                  uint32_t threads, const volatile int *stop, struct ty_arena *arena,
                  struct ty_err *err);

/* The ends of the band of a time, such as the step's; of a speed they are the other way round. */
struct ty_band_ends {
    double fast_s, slow_s;
};
struct ty_band_ends ty_band_ends(const struct ty_band *band, double time_s);

/* The chance that a run is faster than another, whose log time is `ahead` less by the simulator:
 * what both share cancels. */
double ty_band_faster(const struct ty_band *a, const struct ty_band *than, double ahead);

/* The same as a band of its own. */
struct ty_band_gap {
    double low, high; /* of the step over that of the other one, minus 1 */
    double faster;    /* the chance that it is */
};
struct ty_band_gap ty_band_gap(const struct ty_band *a, const struct ty_band *than, double ahead);

/* Whether a gap is one: neither run may well be the faster one. */
static inline bool ty_band_told_apart(const struct ty_band_gap *gap)
{
    return gap->faster <= TY_SWEEP_TIED || gap->faster >= 1 - TY_SWEEP_TIED;
}

/* Appends a line: a name, the ends of the step, and, unless NULL, the gap to another run. */
void ty_band_line(struct ty_text *t, const char *name, const struct ty_band_ends *step,
                  const struct ty_band_gap *gap);

/* Adds the members of both, or of the one that is not NULL, to an object. */
void ty_band_members(struct ty_json *j, const struct ty_band_ends *step,
                     const struct ty_band_gap *gap);

#endif
