/* continue.h - the run file of the best layout, to continue with. */
#ifndef TY_PLAN_CONTINUE_H
#define TY_PLAN_CONTINUE_H

#include "sim/base/text.h"
#include "sim/plan/search/answer.h"

/* Appends a run file of the best layout that runs as it is: what the user gave, in files and on the
 * command line, and what was found. Files that it names are named from the root. */
int ty_plan_continue(const struct ty_plan_answer *answer, struct ty_text *out, struct ty_err *err);

#endif
