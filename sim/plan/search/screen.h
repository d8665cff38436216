/* screen.h - what is known of one layout: before it is simulated, and by simulating it. */
#ifndef TY_PLAN_SCREEN_H
#define TY_PLAN_SCREEN_H

#include <pthread.h>

#include "sim/run/run.h"
#include "sim/plan/costs.h"
#include "sim/plan/search/answer.h"
#include "sim/sweep/row_run.h"

/* Prices and costs that layouts have in common. A thread keeps them from one layout to the next. */
struct ty_plan_tool {
    struct ty_price_book *book;
    struct ty_plan_costs *costs;
    struct ty_plan_tool *next;
};

/* The tools that no thread uses at the moment. Any number of threads may take from them. */
struct ty_plan_tools {
    const struct ty_config *base;
    struct ty_plan_tool *idle;
    pthread_mutex_t lock;
    struct ty_memory_semaphore gate; /* limits the memory of concurrent runs */
};

void ty_plan_tools_init(struct ty_plan_tools *tools, const struct ty_config *base);

/* All tools must have been given back. */
void ty_plan_tools_release(struct ty_plan_tools *tools);

/* Returns NULL without memory. Giving NULL back does nothing. */
struct ty_plan_tool *ty_plan_tools_take(struct ty_plan_tools *tools);
void ty_plan_tools_give(struct ty_plan_tools *tools, struct ty_plan_tool *tool);

struct ty_plan_screen {
    double peak_B,
        capacity_B;   /* of the fullest stage's GPU; of a node's host memory or NVMe if that
                                * alone is too small */
    const char *away; /* the key of that capacity; NULL: of a GPU */
    double bound_s;   /* lower bound of the step; 0: unknown, or the layout does not fit */
    bool fits;
};

/* Estimates the memory of a point and, if it fits, bounds its step. */
int ty_plan_screen(const struct ty_plan_space *space, const struct ty_plan_point *point,
                   struct ty_plan_tool *tool, struct ty_plan_screen *out, struct ty_err *err);

/* Simulates a point once the gate (or NULL) admits it. The caller sets the row's number. */
int ty_plan_simulate_with(const struct ty_plan_space *space, uint32_t point,
                          struct ty_plan_tool *tool, struct ty_memory_semaphore *gate,
                          struct ty_plan_row *row, struct ty_err *err);

#endif
