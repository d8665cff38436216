/* screen.c - see screen.h. */
#include "sim/plan/search/screen.h"

#include <assert.h>

#include "sim/plan/bound.h"
#include "sim/plan/verdict.h"

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
    assert(!verdict.whole_bill); /* uneven routing was set aside */
    *out = (struct ty_plan_screen){
        .peak_B = verdict.peak_B,
        .capacity_B = verdict.capacity_B,
        .fits = verdict.fits,
    };
    return verdict.fits ? ty_plan_bound(tool->costs, &layout, &schedule, &out->bound_s, err) : 0;
}
