/* uneven.c - chooses the layouts to repartition, and keeps the fastest result. */
#include "sim/plan/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/config/vary.h"
#include "sim/plan/bound.h"
#include "sim/plan/verdict.h"
#include "sim/run/run.h"

#define HOPELESS 1.5 /* promise over the fastest step: no repartition gains as much. Guess */

/* What layers may recompute: modes of enum ty_recompute. */
struct modes {
    uint32_t mode[4], n; /* TY_DEAL_MODES */
};

/* Finds what layers may recompute: whatever some layout of the space recomputes, nothing first.
 * Where all layouts recompute something, layers recompute what the first layout does. */
static struct modes find_modes(const struct ty_plan_space *space)
{
    struct modes m = {.mode = {TY_RECOMPUTE_NONE}, .n = 1};
    bool none = false;
    for (uint32_t i = 0; i < space->n_points; i++) {
        const uint32_t own = space->point[i].recompute;
        uint32_t k = 0;
        none = none || own == TY_RECOMPUTE_NONE;
        while (k < m.n && m.mode[k] != own) {
            k++;
        }
        if (k == m.n && m.n < TY_COUNT(m.mode)) {
            m.mode[m.n++] = own;
        }
    }
    if (!none && m.n > 1) {
        m.mode[0] = m.mode[1];
        m.n = 1;
    }
    return m;
}

struct candidate {
    bool fits;        /* its even layout does, in some mode */
    double promise_s; /* estimate of its step */
    uint32_t point;
};

/* Layouts that fit come first. */
static int by_promise(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->fits != y->fits             ? y->fits - x->fits
           : x->promise_s != y->promise_s ? (x->promise_s > y->promise_s ? 1 : -1)
                                          : (x->point > y->point) - (x->point < y->point);
}

struct finding {
    const struct ty_plan_space *space;
    struct ty_plan_costs *costs;
    struct modes modes;
    double step_s; /* of the fastest layout so far */
    const volatile int *stop;
    struct ty_price_book *book;
    struct ty_plan_uneven *out;
    struct ty_arena *arena;
};

static bool stops(const struct finding *f)
{
    return f->stop != NULL && *f->stop != 0;
}

/* The even layout of a point with all layers in one mode. */
struct even {
    double bound_s; /* 0: no bound is known */
    double peak_B, capacity_B;
};

/* 1: the model has no such mode. */
static int look_at_even(const struct finding *f, uint32_t point, uint32_t mode, struct even *out,
                        struct ty_err *err)
{
    struct ty_plan_point even = f->space->point[point];
    struct ty_layout layout;
    struct ty_sched_options schedule;
    struct ty_plan_verdict verdict;
    even.recompute = mode;
    if (ty_plan_complete(f->space, &even, &layout, &schedule, NULL) < 0) {
        return 1;
    }
    int rc = ty_plan_verdict(f->costs, &layout, &schedule, &verdict, err);
    rc = rc < 0 ? rc : ty_plan_bound(f->costs, &layout, &schedule, &out->bound_s, err);
    out->peak_B = verdict.peak_B;
    out->capacity_B = (1 - f->space->margin) * verdict.capacity_B;
    return rc;
}

/* Estimates the step of a point's layers repartitioned: the bound of its even layout in the first
 * mode. Where that layout lacks memory, as many layers are recomputed in another mode as free the
 * missing bytes, and the step is interpolated between the bounds of both. A promise of 0: no bound
 * is known. */
static int estimate(const struct finding *f, uint32_t point, struct candidate *out,
                    struct ty_err *err)
{
    struct even first = {.bound_s = 0}, other;
    int rc = look_at_even(f, point, f->modes.mode[0], &first, err);
    const double lacks_B = first.peak_B - first.capacity_B;
    *out = (struct candidate){lacks_B <= 0, first.bound_s, point};
    for (uint32_t k = 1; k < f->modes.n && rc >= 0 && lacks_B > 0 && first.bound_s > 0; k++) {
        rc = look_at_even(f, point, f->modes.mode[k], &other, err);
        if (rc == 0 && other.peak_B <= other.capacity_B) {
            assert(other.peak_B < first.peak_B);
            const double share = lacks_B / (first.peak_B - other.peak_B);
            const double step_s = first.bound_s + share * (other.bound_s - first.bound_s);
            out->promise_s = out->fits ? fmin(out->promise_s, step_s) : step_s;
            out->fits = true;
        }
    }
    return rc < 0 ? rc : 0;
}

/* The points that a repartition can change, most promising first. Points that differ in what they
 * recompute alone are one candidate. */
static int find_candidates(const struct finding *f, struct candidate *all, uint32_t *n,
                           struct ty_err *err)
{
    const struct ty_plan_space *space = f->space;
    int rc = 0;
    for (uint32_t i = 0; i < space->n_points && rc == 0 && !stops(f); i++) {
        const struct ty_plan_point *point = &space->point[i];
        if (point->recompute == f->modes.mode[0] && (point->pipeline > 1 || f->modes.n > 1)) {
            rc = estimate(f, i, &all[*n], err);
            *n += rc == 0 && all[*n].promise_s > 0;
        }
    }
    qsort(all, *n, sizeof(*all), by_promise);
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

/* Notes a faster layout, whose configuration is given. */
static int keep(struct finding *f, uint32_t point, const struct ty_plan_stages *stages,
                const struct ty_config *config, struct ty_err *err)
{
    assert(stages->step_s < f->step_s && point < f->space->n_points);
    f->step_s = stages->step_s;
    f->out->found = true;
    f->out->point = point;
    f->out->stages = *stages;
    return ty_plan_uneven_word(config, f->out, f->arena, err);
}

static int repartition(struct finding *f, uint32_t point, struct ty_err *err)
{
    struct ty_plan_uneven *out = f->out;
    struct ty_config config;
    struct ty_plan_stages stages = {.found = false};
    int rc = ty_plan_apply(f->space, &f->space->point[point], &config, err);
    if (rc == 0) {
        rc = ty_plan_stages(&config, f->space->margin, f->modes.mode, f->modes.n, f->book, &stages,
                            f->arena, err);
    }
    assert(rc < 0 || !stages.found || stages.peak_B <= stages.capacity_B);
    out->dealt++;
    out->simulated += stages.simulated;
    if (rc == 0 && stages.found && stages.step_s < f->step_s) {
        rc = ty_plan_stages_apply(&stages, &config, err);
        rc = rc < 0 ? rc : keep(f, point, &stages, &config, err);
    }
    ty_config_drop(&config);
    return rc;
}

int ty_plan_uneven(const struct ty_plan_space *space, double step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    const struct ty_layout *given = &space->base->given.layout;
    struct finding f = {.space = space,
                        .modes = find_modes(space),
                        .step_s = step_s,
                        .stop = stop,
                        .out = out,
                        .arena = arena};
    uint32_t n = 0;
    *out = (struct ty_plan_uneven){.found = false};
    if (given->stage_layers.n > 0 || given->recompute_layers.n > 0) {
        return 0; /* the run file partitions the layers itself */
    }
    struct candidate *all = ty_arena_array(arena, struct candidate, space->n_points);
    f.book = ty_price_book_new();
    int rc = all == NULL || f.book == NULL ? ty_fail_memory(err) : 0;
    rc = rc < 0 ? rc : ty_plan_costs_new(&f.costs, space->base, err);
    rc = rc < 0 ? rc : find_candidates(&f, all, &n, err);
    for (uint32_t i = 0; i < n && rc == 0 && out->dealt < most && !stops(&f); i++) {
        if (all[i].promise_s < HOPELESS * f.step_s) {
            rc = repartition(&f, all[i].point, err);
        }
    }
    ty_plan_costs_free(f.costs);
    ty_price_book_free(f.book);
    return rc;
}
