/* remedy.h - the smallest change that would make a plan fit: one key changed, planned again. */
#ifndef TY_SEARCH_REMEDY_H
#define TY_SEARCH_REMEDY_H

#include "sim/run/bill.h"
#include "sim/search/change.h"

#define TY_REMEDIES_MAX 100u

/* A single change that costs no more than this share of the time ends the search. */
#define TY_REMEDY_CHEAP 0.05

/* A plan with a better verdict: it fits, or one that was tight is clear of the limit. */
struct ty_remedy {
    struct ty_change change;
    double peak_B; /* of its fullest stage */
    double slower; /* its step time over that of the plan as it is, minus 1; */
    double more_s; /* and minus that of the plan */
};

struct ty_remedies {
    struct ty_remedy item[TY_REMEDIES_MAX]; /* fastest first */
    uint32_t n;
    bool pairs;    /* two changes together were tried, too */
    bool left_out; /* not all of them: there would be too much to do */
};

/* Plans every single change, and if none of them helps and is cheap pairs, of which those are
 * listed that are faster than any single change. Plans that fit are executed, one member of each
 * gang where members cannot differ, large ones without dice (ty_trial_disable_noise). 0, or a
 * negative code when the plan as it is cannot be executed. Texts are the arena's. */
int ty_run_remedies(const struct ty_run *run, struct ty_remedies *out, struct ty_arena *arena,
                    struct ty_err *err);

#endif
