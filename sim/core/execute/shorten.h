/* shorten.h - a run of m micro-batches costs its warm-up, one period and its drain.
 *
 * With constant durations the steady state of a pipeline repeats exactly, in integers. A folded
 * program whose gangs all repeat a stretch of their passes is executed with few repetitions; where
 * its timeline shows that the state of everything at one time is the state a period earlier, those
 * that were left out would have been like the last, each a period later. Nothing is assumed: the
 * timeline is looked at (shorten_verify.c has what is compared, and why that is enough), and
 * programs that do not repeat, or not soon enough, are executed whole.
 *
 *     gang 0   F F F F [B F][B F][B F][B F][B F][B F] ... [B F][B F] B B B
 *     executed F F F F [B F][B F][B F] B B B
 *
 *     struct ty_shortening s;
 *     ty_shorten_begin(&s, folded, &arena, err);
 *     while (ty_shorten_next(&s, &program, err) > 0) {
 *         ... execute `program` into `timeline` ...
 *         if (ty_shorten_holds(&s, &timeline, err) > 0) {
 *             the timeline stands for that of `folded`
 *         }
 *     }
 *     execute `folded`
 */
#ifndef TY_CORE_EXECUTE_SHORTEN_H
#define TY_CORE_EXECUTE_SHORTEN_H

#include "sim/core/program/timeline.h"

/* Passes of a gang that come `times` times, n of them each time. */
struct ty_stretch {
    uint32_t first, n, times;
    int64_t shift; /* of the number of every message from one time to the next; 0: there is none */
};

/* A steady state: what all gangs repeat side by side. */
struct ty_steady {
    struct ty_stretch *of; /* [n_gangs] */
    uint32_t least;        /* times, of the gang that has fewest */
    uint32_t kept;         /* of these, in the shortened program: least - kept are left out */
    bool failed;           /* it did not hold when it was tried last */
    uint32_t *at;          /* [n_gangs] first pass of the stretch in the shortened program */
};

struct ty_shorten_block; /* shorten_internal.h */

struct ty_shortening {
    const struct ty_program *whole; /* folded */
    struct ty_arena *arena;
    struct ty_shorten_block *block; /* [n_blocks] */
    struct ty_steady *steady;       /* [n], in the order of every gang's passes */
    uint32_t n;
    uint64_t tried;            /* passes of all attempts */
    struct ty_program program; /* the shortened one */
};

/* Finds what a folded program repeats. What is kept is the arena's. 0 or TY_ENOMEM. */
int ty_shorten_begin(struct ty_shortening *s, const struct ty_program *folded,
                     struct ty_arena *arena, struct ty_err *err);

/* The next program to try, sealed: 1; 0: none is worth it; or TY_ENOMEM. */
int ty_shorten_next(struct ty_shortening *s, const struct ty_program **program, struct ty_err *err);

/* Whether the timeline of the program tried last stands for that of the whole: 1, and it says how
 * (ty_timeline.repeat), its makespan is that of the whole. 0: more repetitions are needed. Or
 * TY_ENOMEM. */
int ty_shorten_holds(struct ty_shortening *s, struct ty_timeline *timeline, struct ty_err *err);

/* The times of a shortened timeline for all that it stands for: into an initialised timeline of the
 * folded program, with durations if it has them. 0 or TY_ENOMEM. */
int ty_timeline_lengthen(struct ty_timeline *out, const struct ty_timeline *shortened,
                         struct ty_err *err);

#endif
