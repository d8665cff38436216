/* screen.c - screens a layout by memory and bound, or simulates it. */
#include "sim/plan/search/screen.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/config/vary.h"
#include "sim/plan/bound.h"
#include "sim/plan/verdict.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "sim/run/offload.h"

/* ---- tools ---- */

void ty_plan_tools_init(struct ty_plan_tools *tools, const struct ty_config *base)
{
    *tools = (struct ty_plan_tools){.base = base};
    pthread_mutex_init(&tools->lock, NULL);
    ty_memory_semaphore_init(&tools->gate);
}

static void release(struct ty_plan_tool *tool)
{
    ty_price_book_free(tool->book);
    ty_plan_costs_free(tool->costs);
    free(tool);
}

void ty_plan_tools_release(struct ty_plan_tools *tools)
{
    while (tools->idle != NULL) {
        struct ty_plan_tool *next = tools->idle->next;
        release(tools->idle);
        tools->idle = next;
    }
    pthread_mutex_destroy(&tools->lock);
    ty_memory_semaphore_release(&tools->gate);
}

static struct ty_plan_tool *make(const struct ty_config *base)
{
    struct ty_plan_tool *tool = calloc(1, sizeof(*tool));
    if (tool == NULL) {
        return NULL;
    }
    tool->book = ty_price_book_new();
    if (tool->book == NULL || ty_plan_costs_new(&tool->costs, base, NULL) < 0) {
        release(tool);
        return NULL;
    }
    return tool;
}

struct ty_plan_tool *ty_plan_tools_take(struct ty_plan_tools *tools)
{
    pthread_mutex_lock(&tools->lock);
    struct ty_plan_tool *tool = tools->idle;
    tools->idle = tool != NULL ? tool->next : NULL;
    pthread_mutex_unlock(&tools->lock);
    return tool != NULL ? tool : make(tools->base);
}

void ty_plan_tools_give(struct ty_plan_tools *tools, struct ty_plan_tool *tool)
{
    if (tool != NULL) {
        pthread_mutex_lock(&tools->lock);
        tool->next = tools->idle;
        tools->idle = tool;
        pthread_mutex_unlock(&tools->lock);
    }
}

/* ---- before a simulation ---- */

/* Notes the memory off the GPUs where only that does not fit. */
static void put_away(const struct ty_run *run, struct ty_plan_screen *out)
{
    const struct ty_offload_memory *away = ty_run_offload_short(run);
    if (away != NULL && out->peak_B <= out->capacity_B) {
        out->peak_B = away->total_B;
        out->capacity_B = away->capacity_B;
        out->away = away->key;
    }
}

/* Plans a run for its memory estimate, where the verdict is a lower bound only: woven pairs that
 * may take turns, schedules without flush, uneven routing, offloading. */
static int ask_bill(const struct ty_plan_space *space, const struct ty_plan_point *point,
                    struct ty_plan_tool *tool, struct ty_plan_screen *out, struct ty_err *err)
{
    struct ty_config config;
    struct ty_run *run = NULL;
    struct ty_bill bill;
    int rc = ty_plan_apply(space, point, &config, err);
    if (rc < 0) {
        return rc;
    }
    rc = ty_run_plan(&run, &config, tool->book, err);
    if (rc == 0) {
        ty_run_fullest(run, &bill);
        assert(out->peak_B < bill.total_B + 1); /* the verdict is a lower bound, but for rounding */
        out->peak_B = bill.total_B;
        out->capacity_B = bill.capacity_B;
        out->fits = ty_run_fits(run);
        put_away(run, out);
        ty_run_free(run);
    }
    ty_config_drop(&config);
    return rc;
}

int ty_plan_screen(const struct ty_plan_space *space, const struct ty_plan_point *point,
                   struct ty_plan_tool *tool, struct ty_plan_screen *out, struct ty_err *err)
{
    struct ty_layout layout;
    struct ty_sched_options schedule;
    struct ty_plan_verdict verdict;
    int rc = ty_plan_complete(space, point, &layout, &schedule, err);
    if (rc == 0) {
        rc = ty_plan_verdict(tool->costs, &layout, &schedule, &verdict, err);
    }
    if (rc < 0) {
        return rc;
    }
    *out = (struct ty_plan_screen){
        .peak_B = verdict.peak_B,
        .capacity_B = verdict.capacity_B,
        .fits = verdict.fits,
    };
    if (verdict.whole_bill) {
        rc = ask_bill(space, point, tool, out, err);
    }
    return rc == 0 && out->fits ? ty_plan_bound(tool->costs, &layout, &schedule, &out->bound_s, err)
                                : rc;
}

/* ---- a simulation ---- */

static void see(const struct ty_run *run, void *arg)
{
    struct ty_plan_row *row = arg;
    struct ty_figures f;
    struct ty_bill bill;
    ty_run_figures(run, &f);
    assert(f.step_s > 0 && f.mfu >= 0 && f.bubble_fraction >= 0 && f.bubble_fraction < 1);
    row->stage = ty_run_fullest(run, &bill);
    row->step_s = f.step_s;
    row->tokens_per_s = f.tokens_per_s;
    row->mfu = f.mfu;
    row->bubble_fraction = f.bubble_fraction;
    row->peak_B = bill.total_B;
    row->capacity_B = bill.capacity_B;
    memcpy(row->bucket_s, f.bucket_s, sizeof(row->bucket_s));
}

int ty_plan_simulate_with(const struct ty_plan_space *space, uint32_t point,
                          struct ty_plan_tool *tool, struct ty_memory_semaphore *gate,
                          struct ty_plan_row *row, struct ty_err *err)
{
    struct ty_config config;
    struct ty_run *run = NULL;
    *row = (struct ty_plan_row){.point = space->point[point]};
    int rc = ty_plan_apply(space, &row->point, &config, err);
    if (rc == 0) {
        rc = ty_run_plan(&run, &config, tool->book, err);
    }
    if (rc == 0) {
        rc = ty_row_execute(run, gate, see, row, err);
    }
    ty_config_drop(&config);
    return rc;
}
