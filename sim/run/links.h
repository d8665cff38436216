/* links.h - what the links carried in a run, found when it is first asked for: the report and every
 * trace tell of the same, and most runs of a sweep tell nobody. */
#ifndef TY_RUN_LINKS_H
#define TY_RUN_LINKS_H

#include "sim/core/analyse/link_load.h"
#include "sim/run/run.h"

/* The load of an executed run with all jobs in it, to go with ty_run_link_times; replayed where
 * links were shared; of a run that halted, of what was issued. It is the run's, until that is
 * executed again or freed. 0, TY_ENOMEM, or as ty_link_load_init. */
int ty_run_link_load(const struct ty_run *run, const struct ty_link_load **load,
                     struct ty_err *err);

/* When everything happened, once the load was found: run->all, or what it stands for. */
const struct ty_timeline *ty_run_link_times(const struct ty_run *run);

/* To be found anew, if ever. NULL is nothing to forget. */
void ty_run_link_load_forget(struct ty_run_link_load *load);

#endif
