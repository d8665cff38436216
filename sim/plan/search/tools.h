/* tools.h - what each thread of a search works with: prices and costs that layouts have in common,
 * kept from one to the next. */
#ifndef TY_PLAN_TOOLS_H
#define TY_PLAN_TOOLS_H

#include <pthread.h>

#include "sim/run/run.h"
#include "sim/plan/costs.h"
#include "sim/plan/search/answer.h"
#include "sim/sweep/row_run.h"

struct ty_plan_tool {
    struct ty_price_book *book;
    struct ty_plan_costs *costs;
    struct ty_plan_tool *next;
};

/* Tools nobody uses at the moment; any number of threads takes from it. */
struct ty_plan_tools {
    const struct ty_config *base;
    struct ty_plan_tool *idle;
    pthread_mutex_t lock;
    struct ty_memory_semaphore gate; /* runs beside each other take no more than there is */
};

void ty_plan_tools_init(struct ty_plan_tools *tools, const struct ty_config *base);
void ty_plan_tools_release(struct ty_plan_tools *tools); /* all have been given back */

/* NULL: no memory. Giving NULL back does nothing. */
struct ty_plan_tool *ty_plan_tools_take(struct ty_plan_tools *tools);
void ty_plan_tools_give(struct ty_plan_tools *tools, struct ty_plan_tool *tool);

/* Simulates a point, behind the gate (NULL: at once); its number is the caller's. */
int ty_plan_simulate_with(const struct ty_plan_space *space, uint32_t point,
                          struct ty_plan_tool *tool, struct ty_memory_semaphore *gate,
                          struct ty_plan_row *row, struct ty_err *err);

#endif
