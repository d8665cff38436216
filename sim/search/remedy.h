/* remedy.h - the changes that would make a plan fit: of one key, or of two. */
#ifndef TY_SEARCH_REMEDY_H
#define TY_SEARCH_REMEDY_H

#include "sim/run/bill.h"
#include "sim/search/change.h"

#define TY_REMEDIES_MAX 100u

/* A single change that costs no more than this share of the time ends the search. */
#define TY_REMEDY_CHEAP 0.05

/* A changed plan with a better verdict: it fits, or a tight one is clear of the limit. */
struct ty_remedy {
    struct ty_change change;
    double peak_B; /* of its fullest stage */
    double slower; /* its step over that of the plan as it is, minus 1 */
    double more_s; /* seconds that its step takes more */
};

struct ty_remedies {
    struct ty_remedy item[TY_REMEDIES_MAX]; /* fastest first */
    uint32_t n;
    bool pairs;    /* two changes together were tried, too */
    bool left_out; /* not all were tried, as that would take too long */
};

/* Plans every single change. If none of them helps and is cheap, also plans pairs, and lists those
 * that are faster than any single change. Plans that fit are executed, one member of each gang
 * where members cannot differ, large ones without noise (ty_trial_disable_noise). Returns 0, or a
 * negative code if the plan as it is cannot be executed. Texts are the arena's. */
int ty_run_remedies(const struct ty_run *run, struct ty_remedies *out, struct ty_arena *arena,
                    struct ty_err *err);

#endif
