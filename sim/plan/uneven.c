/* uneven.c - see uneven.h. */
#include "sim/plan/uneven.h"

#include <stdlib.h>
#include <string.h>

#include "sim/config/vary.h"
#include "sim/plan/bound.h"
#include "sim/plan/verdict.h"
#include "sim/run/deal.h"
#include "sim/run/run.h"

#define LACKS_LITTLE 1.05 /* of its memory: what a cut may move, guess */

/* What layers may repeat: all that those of some layout of the space do, nothing first; where they
 * always repeat something, what they do in the first one. */
static uint32_t find_modes(const struct ty_plan_space *space, uint32_t mode[TY_DEAL_MODES])
{
    uint32_t n = 1;
    bool none = false;
    mode[0] = TY_RECOMPUTE_NONE;
    for (uint32_t i = 0; i < space->n_points; i++) {
        const uint32_t own = space->point[i].recompute;
        uint32_t k = 0;
        none = none || own == TY_RECOMPUTE_NONE;
        while (k < n && mode[k] != own) {
            k++;
        }
        if (k == n && n < TY_DEAL_MODES) {
            mode[n++] = own;
        }
    }
    if (!none && n > 1) {
        mode[0] = mode[1];
    }
    return none ? n : 1;
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

struct finding {
    const struct ty_plan_space *space;
    struct ty_plan_costs *costs;
    uint32_t mode[TY_DEAL_MODES], n_modes;
};

/* Whether dealing layers anew may make a layout fit: in some mode it does, evenly, or its fullest
 * stage lacks little. */
static int may_fit(const struct finding *f, const struct ty_plan_point *point, bool *may,
                   struct ty_err *err)
{
    int rc = 0;
    *may = false;
    for (uint32_t k = 0; k < f->n_modes && !*may && rc == 0; k++) {
        struct ty_plan_point one = *point;
        struct ty_layout layout;
        struct ty_sched_options schedule;
        struct ty_plan_verdict verdict;
        one.recompute = f->mode[k];
        if (ty_plan_complete(f->space, &one, &layout, &schedule, NULL) == 0) {
            rc = ty_plan_verdict(f->costs, &layout, &schedule, &verdict, err);
            *may = rc == 0 && verdict.peak_B <= LACKS_LITTLE * verdict.capacity_B;
        }
    }
    return rc;
}

static int bound_of(const struct finding *f, const struct ty_plan_point *point, double *bound,
                    struct ty_err *err)
{
    struct ty_layout layout;
    struct ty_sched_options schedule;
    const int rc = ty_plan_complete(f->space, point, &layout, &schedule, err);
    return rc < 0 ? rc : ty_plan_bound(f->costs, &layout, &schedule, bound, err);
}

/* Layouts in the first mode that something can be dealt in, by their bounds; without one nothing
 * is known of a layout, and it is left out. */
static int find_candidates(const struct finding *f, struct candidate *out, uint32_t *n,
                           struct ty_err *err)
{
    const struct ty_plan_space *space = f->space;
    int rc = 0;
    for (uint32_t i = 0; i < space->n_points && rc == 0; i++) {
        const struct ty_plan_point *point = &space->point[i];
        double bound = 0;
        bool may;
        if (point->recompute != f->mode[0] || (point->pipeline == 1 && f->n_modes == 1)) {
            continue;
        }
        rc = may_fit(f, point, &may, err);
        if (rc == 0 && may) {
            rc = bound_of(f, point, &bound, err);
        }
        if (bound > 0) {
            out[(*n)++] = (struct candidate){bound, i};
        }
    }
    if (rc == 0) {
        qsort(out, *n, sizeof(*out), soonest);
    }
    return rc;
}

int ty_plan_uneven_word(const struct ty_config *config, struct ty_plan_uneven *out,
                        struct ty_arena *arena, struct ty_err *err)
{
    static const char *const keys[] = {"recompute",    "stage_layers", "recompute_layers",
                                       "stage_tensor", "stage_data",   "tensor",
                                       "pipeline",     "micro_batch"};
    const size_t n = out->stages.stage_tensor.n > 0 ? TY_COUNT(keys) : 3; /* of different shape */
    const struct ty_section *section = &config->sections[TY_SECTION_LAYOUT];
    out->n_keys = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ty_field *field = ty_section_field(section, keys[i]);
        char value[TY_CONFIG_VALUE];
        if (i > 0 && ty_field_is_blank(section, field)) {
            continue;
        }
        ty_field_format(section, field, value, sizeof(value));
        out->key[out->n_keys].name = ty_arena_printf(arena, "layout.%s", keys[i]);
        out->key[out->n_keys].value = ty_arena_strndup(arena, value, strlen(value));
        if (out->key[out->n_keys].name == NULL || out->key[out->n_keys].value == NULL) {
            return ty_fail_memory(err);
        }
        out->n_keys++;
    }
    return 0;
}

const char *ty_plan_uneven_value(const struct ty_plan_uneven *uneven, const char *section,
                                 const char *key)
{
    const size_t n = strlen(section);
    for (uint32_t i = 0; i < uneven->n_keys; i++) {
        const char *name = uneven->key[i].name; /* "layout.stage_layers" */
        if (strncmp(name, section, n) == 0 && name[n] == '.' && strcmp(name + n + 1, key) == 0) {
            return uneven->key[i].value;
        }
    }
    return NULL;
}

bool ty_plan_uneven_replaces(const struct ty_plan_uneven *uneven, const struct ty_plan_space *space,
                             uint32_t axis)
{
    if (axis >= TY_PLAN_N_AXES) {
        return false;
    }
    const struct ty_plan_axis *x = &space->axis[axis];
    const bool data = axis == TY_PLAN_DATA && uneven->stages.stage_data.n > 0;
    return data || ty_plan_uneven_value(uneven, ty_config_section_name(x->section), x->key) != NULL;
}

static int deal(const struct finding *f, uint32_t point, struct ty_price_book *book, double *step_s,
                struct ty_plan_uneven *out, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_config config;
    struct ty_plan_stages stages = {.found = false};
    int rc = ty_plan_apply(f->space, &f->space->point[point], &config, err);
    if (rc == 0) {
        rc = ty_plan_stages(&config, f->mode, f->n_modes, book, &stages, arena, err);
    }
    out->dealt++;
    out->simulated += stages.simulated;
    if (rc == 0 && stages.found && stages.step_s < *step_s) {
        *step_s = stages.step_s;
        out->found = true;
        out->point = point;
        out->stages = stages;
        rc = ty_plan_stages_apply(&stages, &config, err);
        rc = rc < 0 ? rc : ty_plan_uneven_word(&config, out, arena, err);
    }
    ty_config_drop(&config);
    return rc;
}

int ty_plan_uneven(const struct ty_plan_space *space, double step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    const struct ty_layout *given = &space->base->given.layout;
    struct finding f = {.space = space};
    uint32_t n = 0;
    f.n_modes = find_modes(space, f.mode);
    *out = (struct ty_plan_uneven){.found = false};
    if (given->stage_layers.n > 0 || given->recompute_layers.n > 0) {
        return 0; /* the run file deals them */
    }
    struct candidate *all = ty_arena_array(arena, struct candidate, space->n_points);
    struct ty_price_book *book = ty_price_book_new();
    int rc = all == NULL || book == NULL ? ty_fail_memory(err) : 0;
    rc = rc < 0 ? rc : ty_plan_costs_new(&f.costs, space->base, err);
    rc = rc < 0 ? rc : find_candidates(&f, all, &n, err);
    for (uint32_t i = 0; i < n && rc == 0 && out->dealt < most; i++) {
        if (all[i].bound >= step_s || (stop != NULL && *stop != 0)) {
            break;
        }
        rc = deal(&f, all[i].point, book, &step_s, out, arena, err);
    }
    ty_plan_costs_free(f.costs);
    ty_price_book_free(book);
    return rc;
}
