/* experts.h - which expert ranks the others wait for, as JSON. */
#ifndef TY_REPORT_EXPERTS_H
#define TY_REPORT_EXPERTS_H

#include "sim/document/json.h"
#include "sim/run/experts.h"

/* An array "experts" with a row for each layer; nothing where all ranks get as much. TY_ENOMEM. */
int ty_report_experts_json(const struct ty_run *run, struct ty_json *json, struct ty_err *err);

#endif
