/* plan.h - the forms of a plan's answer. */
#ifndef TY_REPORT_PLAN_H
#define TY_REPORT_PLAN_H

#include "sim/base/text.h"
#include "sim/plan/search/answer.h"

/* Appends the answer as a table for people. */
void ty_plan_table(const struct ty_plan_answer *answer, struct ty_text *t);

/* Appends the answer as one JSON object. Without `seconds` it is the same for any number of
 * threads, and after a kill and --resume. */
void ty_plan_json(const struct ty_plan_answer *answer, bool seconds, struct ty_text *t);

/* Appends a picture: the layouts of each number of GPUs that no other beats in time and memory, the
 * best rows, the memory that a GPU has, and a table of those that are numbered. */
void ty_plan_svg(struct ty_text *t, const struct ty_plan_answer *answer);

/* Appends a page with that picture and the table: HTML that needs no other file. */
void ty_plan_page(struct ty_text *t, const struct ty_plan_answer *answer);

#endif
