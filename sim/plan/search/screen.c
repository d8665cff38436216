/* screen.c - see screen.h. */
#include "sim/plan/search/screen.h"

#include "sim/plan/bound.h"
#include "sim/plan/verdict.h"
#include "sim/run/offload.h"
#include "sim/run/bill.h"

/* The bill of what is beside the GPUs, where that is what does not fit. */
static void put_away(const struct ty_run *run, struct ty_plan_screen *out)
{
    const struct ty_offload_memory *beside = ty_run_offload_short(run);
    if (beside != NULL && out->peak_B <= out->capacity_B) {
        out->peak_B = beside->total_B;
        out->capacity_B = beside->capacity_B;
        out->away = beside->key;
    }
}

/* Of what a program alone knows, the bill of one: woven pairs that may take turns, schedules
 * without flush. */
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
