/* nearest.h - where nothing fits: what comes nearest, and what would make it fit. */
#ifndef TY_PLAN_NEAREST_H
#define TY_PLAN_NEAREST_H

#include "sim/plan/search/answer.h"

/* Says so: TY_EINFEASIBLE. */
int ty_plan_fail_nearest(const struct ty_plan_answer *answer, struct ty_err *err);

#endif
