/* sure.h - how sure a plan is of its rows (sim/sweep/band.h). */
#ifndef TY_PLAN_SEARCH_SURE_H
#define TY_PLAN_SEARCH_SURE_H

#include "sim/plan/search/answer.h"

/* Finds the bands of the best result's rows, each by runs of its own on `jobs` threads, and
 * compares them with the first. Arrays are the answer's. Once *stop is not 0, no run begins. */
int ty_plan_sure(struct ty_plan_answer *answer, uint32_t jobs, const volatile int *stop,
                 struct ty_err *err);

#endif
