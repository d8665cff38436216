/* find.h - a plan from its options to its answer. */
#ifndef TY_PLAN_FIND_H
#define TY_PLAN_FIND_H

#include "sim/plan/search/search.h"

#define TY_PLAN_TOP_MOST 10000u

/* Reads the run file for every number of GPUs that is asked for, searches each, and puts together
 * what was found. The options, as the public header has them. TY_EINFEASIBLE where nothing fits,
 * with what comes nearest. Of a crew the first member has the answer, others nothing. To be
 * released whatever comes back. */
int ty_plan_find(struct ty_plan_answer *answer, const struct ty_plan_options *options,
                 struct ty_err *err);
void ty_plan_answer_release(struct ty_plan_answer *answer);

#endif
