/* uneven.c - see uneven.h. */
#include "sim/plan/uneven.h"

#include <stdlib.h>

#include "sim/config/vary.h"
#include "sim/plan/bound.h"
#include "sim/run/deal.h"
#include "sim/run/run.h"

/* What layers may repeat: values of the axis with none first; without none among them, or where
 * the run file says it, that alone. */
static uint32_t find_modes(const struct ty_plan_space *space, uint32_t mode[TY_DEAL_MODES])
{
    const struct ty_plan_axis *axis = &space->axis[TY_PLAN_RECOMPUTE];
    uint32_t n = 1;
    bool none = false;
    mode[0] = axis->searched ? TY_RECOMPUTE_NONE : space->base->layout.recompute;
    for (uint32_t i = 0; i < axis->n && axis->searched; i++) {
        none = none || axis->value[i] == TY_RECOMPUTE_NONE;
        if (axis->value[i] != TY_RECOMPUTE_NONE && n < TY_DEAL_MODES) {
            mode[n++] = axis->value[i];
        }
    }
    if (axis->searched && axis->n > 0 && !none) {
        mode[0] = axis->value[0];
        n = 1;
    }
    return n;
}

struct candidate {
    double bound;
    uint32_t point;
};

static int soonest(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->bound < y->bound   ? -1
           : x->bound > y->bound ? 1
                                 : (x->point > y->point) - (x->point < y->point);
}

/* Layouts in the first mode that something can be dealt in, by their bounds; without one nothing
 * is known of a layout, and it is left out. */
static int find_candidates(const struct ty_plan_space *space, uint32_t mode, uint32_t n_modes,
                           struct candidate *out, uint32_t *n, struct ty_err *err)
{
    struct ty_plan_costs *costs;
    int rc = ty_plan_costs_new(&costs, space->base, err);
    for (uint32_t i = 0; i < space->n_points && rc == 0; i++) {
        const struct ty_plan_point *point = &space->point[i];
        struct ty_layout layout;
        struct ty_sched_options schedule;
        double bound = 0;
        if (point->recompute != mode || (point->pipeline == 1 && n_modes == 1)) {
            continue;
        }
        rc = ty_plan_complete(space, point, &layout, &schedule, err);
        if (rc == 0) {
            rc = ty_plan_bound(costs, &layout, &schedule, &bound, err);
        }
        if (rc == 0 && bound > 0) {
            out[(*n)++] = (struct candidate){bound, i};
        }
    }
    ty_plan_costs_free(costs);
    if (rc == 0) {
        qsort(out, *n, sizeof(*out), soonest);
    }
    return rc;
}

static int deal(const struct ty_plan_space *space, uint32_t point, const uint32_t *mode,
                uint32_t n_modes, struct ty_price_book *book, double *step_s,
                struct ty_plan_uneven *out, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_config config;
    struct ty_plan_stages stages = {.found = false};
    int rc = ty_plan_apply(space, &space->point[point], &config, err);
    if (rc == 0) {
        rc = ty_plan_stages(&config, mode, n_modes, book, &stages, arena, err);
    }
    ty_config_drop(&config);
    out->dealt++;
    out->simulated += stages.simulated;
    if (rc == 0 && stages.found && stages.step_s < *step_s) {
        *step_s = stages.step_s;
        out->found = true;
        out->point = point;
        out->stages = stages;
    }
    return rc;
}

int ty_plan_uneven(const struct ty_plan_space *space, double step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    const struct ty_layout *given = &space->base->given.layout;
    uint32_t mode[TY_DEAL_MODES], n = 0;
    const uint32_t n_modes = find_modes(space, mode);
    *out = (struct ty_plan_uneven){.found = false};
    if (given->stage_layers.n > 0 || given->recompute_layers.n > 0) {
        return 0; /* the run file deals them */
    }
    struct candidate *all = ty_arena_array(arena, struct candidate, space->n_points);
    struct ty_price_book *book = ty_price_book_new();
    int rc = all == NULL || book == NULL ? ty_fail_memory(err) : 0;
    if (rc == 0) {
        rc = find_candidates(space, mode[0], n_modes, all, &n, err);
    }
    for (uint32_t i = 0; i < n && rc == 0 && out->dealt < most; i++) {
        if (all[i].bound >= step_s || (stop != NULL && *stop != 0)) {
            break;
        }
        rc = deal(space, all[i].point, mode, n_modes, book, &step_s, out, arena, err);
    }
    ty_price_book_free(book);
    return rc;
}
