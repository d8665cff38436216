/* ranks.h - the ranks of a run and where they sit, for the page of a run. */
#ifndef TY_REPORT_RANKS_H
#define TY_REPORT_RANKS_H

#include "sim/document/json.h"
#include "sim/run/run.h"

/* Puts the member `places`: axes, and the nodes that the page draws, those of the first replica
 * where all are too many. Each node is its number, then a list for each GPU: rank, place and group
 * (-1: none) along every axis. 0 or TY_ENOMEM. */
int ty_report_places_page(struct ty_json *json, const struct ty_run *run, struct ty_err *err);

#endif
