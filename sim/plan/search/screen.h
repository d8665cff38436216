/* screen.h - what is known of a layout before it is simulated. */
#ifndef TY_PLAN_SCREEN_H
#define TY_PLAN_SCREEN_H

#include "sim/plan/search/tools.h"

struct ty_plan_screen {
    double peak_B, capacity_B; /* of the fullest stage; where that fits and what is beside GPUs does
                                * not, of a node's memory or drives: */
    const char *away;          /* the key of their room; NULL: of a GPU */
    double bound_s;            /* its step takes no less; 0: not asked, as it does not fit */
    bool fits;
};

int ty_plan_screen(const struct ty_plan_space *space, const struct ty_plan_point *point,
                   struct ty_plan_tool *tool, struct ty_plan_screen *out, struct ty_err *err);

#endif
