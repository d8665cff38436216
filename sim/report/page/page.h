/* page.h - what a page says of a run besides its slices. */
#ifndef TY_REPORT_PAGE_PAGE_H
#define TY_REPORT_PAGE_PAGE_H

#include "sim/run/run.h"
#include "sim/run/select.h"
#include "traces/page/page.h"

/* Members of the run's object in the data of the page: who it is, figures,
 * formula, stages, rows (the chosen ranks), links, and with `variants` what other schedules would
 * do. TY_ENOMEM or what finding the links' use or executing the schedules met. */
int ty_page_put_run(struct ty_json *json, const struct ty_run *run,
                    const struct ty_selection *selection, bool variants, struct ty_err *err);

/* page_schedules.c: the member `schedules` of an executed run: each schedule that
 * it could have, executed, and the shares of idle time that formulas give them. */
int ty_page_put_schedules(struct ty_json *json, const struct ty_run *run, struct ty_err *err);

#endif
