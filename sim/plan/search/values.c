/* values.c - a key of the model or the run with several values. See values.h. */
#include "sim/plan/search/values.h"

#include <string.h>

/* "run.packing=first_fit,balanced" */
static bool is_value(const char *list)
{
    return strchr(list, '=') != NULL &&
           (strncmp(list, "model.", 6) == 0 || strncmp(list, "run.", 4) == 0);
}

static int split(struct ty_plan_values *out, const char *list, struct ty_arena *arena,
                 struct ty_err *err)
{
    const int key = (int)(strchr(list, '=') - list);
    for (const char *at = list + key; *at != '\0';) {
        const size_t n = strcspn(++at, ",");
        if (n == 0 || out->n == TY_PLAN_RESULTS_MOST) {
            return ty_fail(err, TY_EUSAGE,
                           "--over %.80s: not KEY=V1,V2 with up to %u values; write it like "
                           "model.lora.rank=8,16",
                           list, TY_PLAN_RESULTS_MOST);
        }
        out->set[out->n] = ty_arena_printf(arena, "%.*s=%.*s", key, list, (int)n, at);
        if (out->set[out->n++] == NULL) {
            return ty_fail_memory(err);
        }
        at += n;
    }
    return 0;
}

int ty_plan_values(struct ty_plan_values *out, const struct ty_plan_options *options,
                   struct ty_arena *arena, struct ty_err *err)
{
    const char **over = ty_arena_array(arena, const char *, options->n_over + 1);
    *out = (struct ty_plan_values){.over = over};
    for (size_t i = 0; over != NULL && i < options->n_over; i++) {
        const char *list = options->over[i];
        if (!is_value(list)) {
            over[out->n_over++] = list;
            continue;
        }
        if (out->n > 0) {
            return ty_fail(err, TY_EUSAGE,
                           "--over %.80s: another key of the model or the run; give one of them, "
                           "and the other by --set",
                           list);
        }
        const int rc = split(out, list, arena, err);
        if (rc < 0) {
            return rc;
        }
    }
    return over != NULL ? 0 : ty_fail_memory(err);
}

int ty_plan_values_set(struct ty_source *source, const char *set, struct ty_arena *arena,
                       struct ty_err *err)
{
    const char **sets = ty_arena_array(arena, const char *, source->n_sets + 1);
    if (sets == NULL || set == NULL) {
        return ty_fail_memory(err);
    }
    for (size_t i = 0; i < source->n_sets; i++) {
        sets[i] = source->sets[i];
    }
    sets[source->n_sets++] = set;
    source->sets = sets;
    return 0;
}

double ty_plan_worth(const struct ty_plan_answer *a, const struct ty_plan_result *r,
                     const struct ty_plan_row *row)
{
    const double gpus = a->objective == TY_PLAN_COST ? ty_plan_gpus(&r->space) : 1;
    const double tokens = r->base->arch.sequence * (double)r->base->layout.global_batch;
    return a->objective == TY_PLAN_MEMORY ? row->peak_B : gpus * row->step_s / tokens;
}

int ty_plan_rank(struct ty_plan_answer *a, uint32_t top, struct ty_err *err)
{
    const struct ty_plan_result *best = &a->result[a->best];
    uint32_t next[TY_PLAN_RESULTS_MOST] = {0}, n = 0, of = a->best;
    struct ty_plan_row *rank = ty_arena_array(&a->arena, struct ty_plan_row, top + 1);
    uint32_t *rank_of = ty_arena_array(&a->arena, uint32_t, top + 1);
    if (rank == NULL || rank_of == NULL) {
        return ty_fail_memory(err);
    }
    a->rank = best->set == NULL ? best->row : rank;
    a->rank_of = best->set == NULL ? NULL : rank_of;
    a->n_rank = best->n_rows;
    while (best->set != NULL && n < top && next[of] < a->result[of].n_rows) {
        rank_of[n] = of;
        rank[n++] = a->result[of].row[next[of]++];
        for (uint32_t i = 0; i < a->n_results; i++) { /* the best of those that are left */
            const struct ty_plan_result *r = &a->result[i], *x = &a->result[of];
            const bool left = next[i] < r->n_rows;
            if (left && (next[of] >= x->n_rows || ty_plan_worth(a, r, &r->row[next[i]]) <
                                                      ty_plan_worth(a, x, &x->row[next[of]]))) {
                of = i;
            }
        }
        a->n_rank = n;
    }
    return 0;
}
