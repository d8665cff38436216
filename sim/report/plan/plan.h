/* plan.h - the forms of a plan's answer. */
#ifndef TY_REPORT_PLAN_H
#define TY_REPORT_PLAN_H

#include "sim/base/text.h"
#include "sim/plan/search/answer.h"

/* Appends the answer as a table for people. */
void ty_plan_table(const struct ty_plan_answer *answer, struct ty_text *t);

/* plan_page.c, made of the files here and in traces/page: what comes before and after the
 * data. */
extern const unsigned char ty_plan_page_head[], ty_plan_page_tail[];
extern const size_t ty_plan_page_head_len, ty_plan_page_tail_len;

#endif
