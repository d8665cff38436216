/* plan.h - the forms of a plan's answer. */
#ifndef TY_REPORT_PLAN_H
#define TY_REPORT_PLAN_H

#include "sim/base/text.h"
#include "sim/plan/search/answer.h"

/* Appends the answer as a table for people. */
void ty_plan_table(const struct ty_plan_answer *answer, struct ty_text *t);

#endif
