/* remedy.h - the changes that would make a plan fit: of one key, or of two. */
#ifndef TY_PLAN_SEARCH_REMEDY_H
#define TY_PLAN_SEARCH_REMEDY_H

#include "sim/run/bill.h"
#include "sim/search/change.h"

#define TY_REMEDIES_MAX 100u

/* A single change that costs no more than this share of the time is enough. */
#define TY_REMEDY_CHEAP 0.05

/* A changed plan with a better verdict: it fits, or a tight one is clear of the limit. */
struct ty_remedy {
    struct ty_change change;
    double peak_B; /* of its fullest stage */
    bool simulated;
    double step_s;  /* of a step; not simulated: at least, HUGE_VAL where no bound is known */
    double order_s; /* what it is sorted by: step_s, and what hosts may add to a bound */
    double slower;  /* its step over that of the plan as it is, minus 1; HUGE_VAL: unknown */
    double more_s;  /* seconds that its step takes more; HUGE_VAL: unknown */
};

struct ty_remedies {
    struct ty_remedy item[TY_REMEDIES_MAX]; /* fastest first */
    uint32_t n;
    bool pairs;       /* two changes together were looked at, too */
    uint32_t untried; /* candidates that could be among the fastest and were not simulated */
};

/* Every single change, and pairs that may be faster where none of those is cheap. Memory and bounds
 * are those of `plan`. The most promising are executed for about budget_s seconds of a core, which
 * are counted in tasks: one member of each gang where members cannot differ, large ones without
 * noise (ty_trial_disable_noise). A run that was not executed is compared by bounds alone. Returns
 * 0 or a negative code. Texts are the arena's. */
int ty_run_remedies(const struct ty_run *run, double budget_s, struct ty_remedies *out,
                    struct ty_arena *arena, struct ty_err *err);

#endif
