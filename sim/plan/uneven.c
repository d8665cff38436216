/* uneven.c - see uneven.h. */
#include "sim/plan/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/config/vary.h"
#include "sim/plan/bound.h"
#include "sim/plan/cuts.h"
#include "sim/plan/verdict.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "sim/run/run.h"

#define CUTS_MOST      2048u /* of a layout, that are looked at one by one */
#define SIMULATED_MOST 128u  /* of them */

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
    double promise; /* that, or where it is loose what its even form cannot be faster than */
    uint32_t point;
};

static int soonest(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->promise < y->promise   ? -1
           : x->promise > y->promise ? 1
                                     : (x->point > y->point) - (x->point < y->point);
}

struct finding {
    const struct ty_plan_space *space;
    struct ty_plan_costs *costs;
    struct ty_plan_modes modes;
    double step_s; /* of the best that is known */
    const volatile int *stop;
    struct ty_price_book *book;
    struct ty_plan_uneven *out;
    struct ty_arena *arena;
};

static bool stops(const struct finding *f)
{
    return f->stop != NULL && *f->stop != 0;
}

/* Whether layers may repeat it. */
static bool is_mode(const struct ty_plan_modes *modes, uint32_t mode)
{
    bool any = false;
    for (uint32_t k = 0; k < modes->n; k++) {
        any = any || modes->mode[k] == mode;
    }
    return any;
}

/* With several chunks the bound of all cuts says little of which layout is fast. */
static int bound_even(const struct finding *f, const struct ty_plan_point *point, double *seconds,
                      struct ty_err *err)
{
    struct ty_layout layout;
    struct ty_sched_options schedule;
    const int rc = ty_plan_complete(f->space, point, &layout, &schedule, err);
    return rc < 0 ? rc : ty_plan_bound(f->costs, &layout, &schedule, seconds, err);
}

/* Layouts in the first mode that something can be dealt in, by the bounds of all their cuts: those
 * that some cut of may be faster than what is known. */
static int find_candidates(const struct finding *f, struct candidate *all, uint32_t *n,
                           struct ty_err *err)
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
        const bool asked = point->recompute == f->modes.mode[0] && !stops(f);
        if (asked) {
            rc = ty_plan_cuts_bound(f->costs, space, point, &f->modes, f->step_s, &bound, err);
        }
        f->out->layouts++;
        f->out->left_out += bound <= 0;
        if (bound > 0 && bound < f->step_s) {
            struct candidate *one = &all[(*n)++];
            *one = (struct candidate){bound, bound, i};
            rc = point->chunks > 1 ? bound_even(f, point, &one->promise, err) : 0;
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

/* Something faster was found; config: of it, to be worded. */
static int keep(struct finding *f, uint32_t point, const struct ty_plan_stages *stages,
                const struct ty_config *config, struct ty_err *err)
{
    f->step_s = stages->step_s;
    f->out->found = true;
    f->out->point = point;
    f->out->stages = *stages;
    return ty_plan_uneven_word(config, f->out, f->arena, err);
}

static int deal(struct finding *f, const struct candidate *one, struct ty_err *err)
{
    struct ty_plan_uneven *out = f->out;
    struct ty_config config;
    struct ty_plan_stages stages = {.found = false};
    int rc = ty_plan_apply(f->space, &f->space->point[one->point], &config, err);
    if (rc == 0) {
        rc = ty_plan_stages(&config, f->modes.mode, f->modes.n, f->book, &stages, f->arena, err);
    }
    TY_DEBUG_CHECK(!stages.found || one->bound <= stages.step_s);
    out->dealt++;
    out->simulated += stages.simulated;
    if (rc == 0 && stages.found && stages.step_s < f->step_s) {
        rc = ty_plan_stages_apply(&stages, &config, err);
        rc = rc < 0 ? rc : keep(f, one->point, &stages, &config, err);
    }
    ty_config_drop(&config);
    return rc;
}

/* ---- all cuts of a layout ---- */

/* One of them: its lists are the arena's. */
struct cut {
    struct ty_plan_stages stages;
    double bound;
};
struct cuts {
    struct finding *f;
    uint32_t n_stages, n;
    struct cut cut[CUTS_MOST];
};

static bool note(void *arg, const uint32_t *layers, const uint32_t *again)
{
    struct cuts *all = arg;
    const uint32_t n = all->n_stages;
    const struct ty_plan_modes *modes = &all->f->modes;
    uint32_t *own = ty_arena_array(all->f->arena, uint32_t, n);
    struct ty_counts *counts = ty_arena_array(all->f->arena, struct ty_counts, n);
    if (all->n == CUTS_MOST || own == NULL || counts == NULL) {
        return false;
    }
    struct cut *cut = &all->cut[all->n++];
    memcpy(own, layers, n * sizeof(*own));
    for (uint32_t s = 0; s < n; s++) {
        counts[s].n = 1;
        counts[s].item[0].set = again[s] > 0 ? modes->mode[1] : TY_COUNTS_PLAIN;
        counts[s].item[0].n = again[s];
    }
    *cut = (struct cut){.stages = {.recompute = modes->mode[0], .stage_layers = {n, own}}};
    if (modes->n > 1) {
        cut->stages.recompute_layers = (struct ty_counts_list){n, counts};
    }
    return true;
}

static int first_bound(const void *a, const void *b)
{
    const struct cut *x = a, *y = b;
    return (x->bound > y->bound) - (x->bound < y->bound);
}

static int configure(struct finding *f, uint32_t point, const struct cut *cut,
                     struct ty_config *config, struct ty_err *err)
{
    const int rc = ty_plan_apply(f->space, &f->space->point[point], config, err);
    return rc < 0 ? rc : ty_plan_stages_apply(&cut->stages, config, err);
}

/* HUGE_VAL: it does not fit. */
static int bound_cut(struct finding *f, uint32_t point, struct cut *cut, struct ty_err *err)
{
    struct ty_config config;
    struct ty_plan_verdict verdict = {.fits = false};
    int rc = configure(f, point, cut, &config, err);
    if (rc == 0) {
        rc = ty_plan_verdict(f->costs, &config.layout, &config.schedule, &verdict, err);
    }
    cut->bound = HUGE_VAL;
    if (rc == 0 && verdict.fits) {
        rc = ty_plan_bound(f->costs, &config.layout, &config.schedule, &cut->bound, err);
    }
    ty_config_drop(&config);
    return rc;
}

static int simulate(struct finding *f, uint32_t point, struct cut *cut, struct ty_err *err)
{
    struct ty_config config;
    struct ty_figures figures;
    struct ty_bill bill;
    struct ty_run *run = NULL;
    int rc = configure(f, point, cut, &config, err);
    rc = rc < 0 ? rc : ty_run_plan(&run, &config, f->book, err);
    if (rc == 0 && ty_run_fits(run)) {
        rc = ty_run_execute_folded(run, err);
        f->out->simulated++;
        if (rc == 0) {
            ty_run_figures(run, &figures);
            ty_run_fullest(run, &bill);
            TY_DEBUG_CHECK(cut->bound <= figures.step_s);
            cut->stages.found = true;
            cut->stages.step_s = figures.step_s;
            cut->stages.peak_B = bill.total_B;
            cut->stages.capacity_B = bill.capacity_B;
            rc = figures.step_s < f->step_s ? keep(f, point, &cut->stages, &config, err) : 0;
        }
    }
    ty_run_free(run);
    ty_config_drop(&config);
    return rc;
}

/* Where few cuts of a layout may be faster than what is known: each is bounded for itself, and
 * simulated unless that rules it out. The layout's bound is then that of the first that was not; of
 * none, what is known. */
static int look_at_cuts(struct finding *f, struct candidate *one, struct ty_err *err)
{
    const struct ty_plan_point *point = &f->space->point[one->point];
    struct cuts *all = ty_arena_array(f->arena, struct cuts, 1);
    bool whole = false;
    if (all == NULL) {
        return ty_fail_memory(err);
    }
    *all = (struct cuts){.f = f, .n_stages = point->pipeline};
    int rc =
        ty_plan_cuts_each(f->costs, f->space, point, &f->modes, f->step_s, note, all, &whole, err);
    for (uint32_t i = 0; i < all->n && rc == 0 && whole; i++) {
        rc = bound_cut(f, one->point, &all->cut[i], err);
    }
    if (rc < 0 || !whole) {
        return rc;
    }
    qsort(all->cut, all->n, sizeof(*all->cut), first_bound);
    uint32_t i = 0;
    for (;
         i < all->n && i < SIMULATED_MOST && all->cut[i].bound < f->step_s && rc == 0 && !stops(f);
         i++) {
        rc = simulate(f, one->point, &all->cut[i], err);
    }
    one->bound = i < all->n ? fmax(one->bound, all->cut[i].bound) : HUGE_VAL;
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
        return 0; /* the run file deals them */
    }
    struct candidate *all = ty_arena_array(arena, struct candidate, space->n_points);
    f.book = ty_price_book_new();
    int rc = all == NULL || f.book == NULL ? ty_fail_memory(err) : 0;
    rc = rc < 0 ? rc : ty_plan_costs_new(&f.costs, space->base, err);
    rc = rc < 0 ? rc : find_candidates(&f, all, &n, err);
    for (uint32_t i = 0; i < n && rc == 0 && out->dealt < most; i++) {
        if (stops(&f)) {
            break;
        }
        if (all[i].bound >= f.step_s) {
            continue;
        }
        rc = deal(&f, &all[i], err);
        rc = rc < 0 ? rc : look_at_cuts(&f, &all[i], err);
    }
    out->bound_s = f.step_s;
    for (uint32_t i = 0; i < n; i++) {
        out->bound_s = fmin(out->bound_s, all[i].bound);
    }
    ty_plan_costs_free(f.costs);
    ty_price_book_free(f.book);
    return rc;
}
