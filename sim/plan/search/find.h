/* find.h - a plan from its options to its answer. */
#ifndef TY_PLAN_FIND_H
#define TY_PLAN_FIND_H

#include "sim/plan/search/search.h"

#define TY_PLAN_TOP_MOST 10000u

/* Reads the run file for every number of GPUs that the options name, searches each, and joins the
 * results. Fails with TY_EINFEASIBLE where nothing fits, naming the layout that comes nearest. Of a
 * crew only the first member gets the answer. To be released in any case. */
int ty_plan_find(struct ty_plan_answer *answer, const struct ty_plan_options *options,
                 struct ty_err *err);
void ty_plan_answer_release(struct ty_plan_answer *answer);

#endif
