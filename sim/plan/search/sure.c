/* sure.c - runs the best rows of a plan with each uncertain value moved. */
#include "sim/plan/search/sure.h"

#include <math.h>

#include "sim/plan/search/row_text.h"

/* The source of a row: that of its result, with the values of the searched keys. */
static int source_of(const struct ty_plan_result *r, const struct ty_plan_row *row,
                     struct ty_source *out, struct ty_arena *arena, struct ty_err *err)
{
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    const char **sets = ty_arena_array(arena, const char *, r->source.n_sets + TY_PLAN_N_AXES);
    *out = r->source;
    out->sets = sets;
    for (size_t i = 0; sets != NULL && i < r->source.n_sets; i++) {
        sets[i] = r->source.sets[i];
    }
    for (uint32_t i = 0; sets != NULL && i < TY_PLAN_N_AXES; i++) {
        if (i == TY_PLAN_DATA || !r->space.axis[i].searched) { /* data follows from the others */
            continue;
        }
        const char *set = ty_arena_printf(arena, "%s=%s", ty_plan_key_name(i, name),
                                          ty_plan_key_value(&r->space, &row->point, i, value));
        if (set == NULL) {
            return ty_fail_memory(err);
        }
        sets[out->n_sets++] = set;
    }
    return sets != NULL ? 0 : ty_fail_memory(err);
}

static int find_band(const struct ty_plan_result *r, const struct ty_plan_row *row, uint32_t jobs,
                     const volatile int *stop, struct ty_band *band, struct ty_arena *arena,
                     struct ty_err *err)
{
    struct ty_row_source rows = {.table = NULL};
    const int rc = source_of(r, row, &rows.source, arena, err);
    return rc < 0 ? rc : ty_band_alone(band, &rows, NULL, jobs, stop, arena, err);
}

int ty_plan_sure(struct ty_plan_answer *a, uint32_t jobs, const volatile int *stop,
                 struct ty_err *err)
{
    const struct ty_plan_result *r = &a->result[a->best];
    struct ty_band *band = ty_arena_array(&a->arena, struct ty_band, r->n_rows + 1);
    struct ty_plan_sure *sure = ty_arena_array(&a->arena, struct ty_plan_sure, r->n_rows + 1);
    int rc = band == NULL || sure == NULL ? ty_fail_memory(err) : 0;
    for (uint32_t i = 0; i < r->n_rows && rc == 0; i++) {
        rc = find_band(r, &r->row[i], jobs, stop, &band[i], &a->arena, err);
        if (rc == 0) {
            sure[i].step = ty_band_ends(&band[i], r->row[i].step_s);
            sure[i].gap = ty_band_gap(&band[i], &band[0], log(r->row[i].step_s / r->row[0].step_s));
        }
    }
    a->sure = rc == 0 ? sure : NULL;
    return rc;
}
