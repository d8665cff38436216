/* uneven.c - see uneven.h. */
#include "sim/plan/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/config/vary.h"
#include "sim/plan/cuts.h"
#include "sim/run/run.h"

/* What layers may repeat: all that those of some layout of the space do, nothing first; where they
 * always repeat something, what they do in the first one. */
static struct ty_plan_modes find_modes(const struct ty_plan_space *space)
{
    struct ty_plan_modes m = {.mode = {TY_RECOMPUTE_NONE}, .n = 1};
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
    struct ty_plan_modes modes;
    double step_s; /* of the best that is known */
    struct ty_plan_uneven *out;
};

/* Whether layers may repeat it. */
static bool is_mode(const struct ty_plan_modes *modes, uint32_t mode)
{
    bool any = false;
    for (uint32_t k = 0; k < modes->n; k++) {
        any = any || modes->mode[k] == mode;
    }
    return any;
}

/* Layouts in the first mode that something can be dealt in, by the bounds of all their cuts: those
 * that some cut of may be faster than what is known. */
static int find_candidates(const struct finding *f, const volatile int *stop, struct candidate *all,
                           uint32_t *n, struct ty_err *err)
{
    const struct ty_plan_space *space = f->space;
    int rc = 0;
    for (uint32_t i = 0; i < space->n_points && rc == 0; i++) {
        const struct ty_plan_point *point = &space->point[i];
        double bound = 0;
        if ((point->pipeline == 1 && f->modes.n == 1) ||
            (point->recompute != f->modes.mode[0] && is_mode(&f->modes, point->recompute))) {
            continue;
        }
        const bool asked = point->recompute == f->modes.mode[0] && (stop == NULL || *stop == 0);
        if (asked) {
            rc = ty_plan_cuts_bound(f->costs, space, point, &f->modes, f->step_s, &bound, err);
        }
        f->out->layouts++;
        f->out->left_out += bound <= 0;
        if (bound > 0 && bound < f->step_s) {
            all[(*n)++] = (struct candidate){bound, i};
        }
    }
    if (rc == 0) {
        qsort(all, *n, sizeof(*all), soonest);
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

static int deal(struct finding *f, const struct candidate *one, struct ty_price_book *book,
                struct ty_arena *arena, struct ty_err *err)
{
    struct ty_plan_uneven *out = f->out;
    struct ty_config config;
    struct ty_plan_stages stages = {.found = false};
    int rc = ty_plan_apply(f->space, &f->space->point[one->point], &config, err);
    if (rc == 0) {
        rc = ty_plan_stages(&config, f->modes.mode, f->modes.n, book, &stages, arena, err);
    }
    TY_DEBUG_CHECK(!stages.found || one->bound <= stages.step_s);
    out->dealt++;
    out->simulated += stages.simulated;
    if (rc == 0 && stages.found && stages.step_s < f->step_s) {
        f->step_s = stages.step_s;
        out->found = true;
        out->point = one->point;
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
    struct finding f = {.space = space, .modes = find_modes(space), .step_s = step_s, .out = out};
    uint32_t n = 0;
    *out = (struct ty_plan_uneven){.found = false};
    if (given->stage_layers.n > 0 || given->recompute_layers.n > 0) {
        return 0; /* the run file deals them */
    }
    struct candidate *all = ty_arena_array(arena, struct candidate, space->n_points);
    struct ty_price_book *book = ty_price_book_new();
    int rc = all == NULL || book == NULL ? ty_fail_memory(err) : 0;
    rc = rc < 0 ? rc : ty_plan_costs_new(&f.costs, space->base, err);
    rc = rc < 0 ? rc : find_candidates(&f, stop, all, &n, err);
    for (uint32_t i = 0; i < n && rc == 0 && out->dealt < most; i++) {
        if (all[i].bound >= f.step_s || (stop != NULL && *stop != 0)) {
            break;
        }
        rc = deal(&f, &all[i], book, arena, err);
    }
    out->bound_s = n > 0 ? fmin(all[0].bound, f.step_s) : f.step_s;
    ty_plan_costs_free(f.costs);
    ty_price_book_free(book);
    return rc;
}
