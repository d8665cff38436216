/* quick_run.h - a run from a text and a few settings, executed, with its figures. */
#ifndef TY_TESTS_QUICK_RUN_H
#define TY_TESTS_QUICK_RUN_H

#include "sim/run/figures.h"

struct quick_run {
    struct ty_config *config;
    struct ty_run *run;
    struct ty_figures figures;
};

/* Plans and executes `yaml` under up to eight "section.key=value" settings, which end with NULL.
 * Aborts with the messages when anything fails. Under "events", durations are those of "sweep":
 * what is shared is estimated beforehand; under NULL it is simulated. */
struct quick_run quick_run(const char *yaml, const char *engine, const char *const *sets);
void quick_run_free(struct quick_run *q);

/* Demands that both executors give one step time, and that its buckets sum to it. */
void quick_run_demand_same(const char *yaml, const char *const *sets);

/* All bytes that ranks send over a kind of group in a step, over either class of link. */
double quick_run_traffic(const struct quick_run *q, const char *group);

#endif
