/* nearest.h - measured runs that are most like a run, and how far off simulations of them are. */
#ifndef TY_REPORT_NEAREST_H
#define TY_REPORT_NEAREST_H

#include "sim/base/text.h"
#include "sim/document/json.h"
#include "sim/run/run.h"

/* Both add nothing where the run has no model, or shares its cluster with other jobs. */
void ty_report_nearest(const struct ty_run *run, struct ty_text *t);
void ty_report_nearest_json(const struct ty_run *run, struct ty_json *j);

#endif
