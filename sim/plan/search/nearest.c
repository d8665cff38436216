/* nearest.c - see nearest.h. */
#include "sim/plan/search/nearest.h"

#include <stdio.h>

#include "sim/base/words.h"
#include "sim/config/vary.h"
#include "sim/plan/search/row_text.h"
#include "sim/search/remedy.h"

#define SHOWN 3u

/* "--set layout.tensor=8 --set ..." of what a plan searches. */
static void put_layout(struct ty_text *t, const struct ty_plan_result *r)
{
    char name[TY_PLAN_VALUE], value[TY_PLAN_VALUE];
    for (uint32_t i = 0; i < TY_PLAN_N_AXES; i++) {
        if (i != TY_PLAN_DATA && ty_plan_key_varies(&r->space, i)) {
            ty_text_add(t, "%s%s %s", t->len > 0 ? ", " : "", ty_plan_key_name(i, name),
                        ty_plan_key_value(&r->space, &r->space.point[r->nearest], i, value));
        }
    }
}

static void hint_remedies(const struct ty_remedies *list, struct ty_err *err)
{
    for (uint32_t i = 0; i < list->n && i < SHOWN; i++) {
        struct ty_text t = {.data = NULL};
        for (uint32_t k = 0; k < list->item[i].change.n; k++) {
            ty_text_add(&t, " --set ");
            ty_change_put(&t, list->item[i].change.set[k]);
        }
        char *sets = ty_text_take(&t);
        if (sets != NULL) {
            ty_hint(err, "the nearest would fit with%s", sets);
        }
        ty_text_free(sets);
    }
    if (list->n == 0) {
        ty_hint(err, "no single change makes it fit; more GPUs (--gpus N), a smaller "
                     "layout.global_batch or model.sequence may");
    }
}

/* What changes would make the nearest layout fit. */
static int find_remedies(const struct ty_plan_result *r, struct ty_remedies *list,
                         struct ty_arena *arena)
{
    struct ty_config config;
    struct ty_run *run = NULL;
    int rc = ty_plan_apply(&r->space, &r->space.point[r->nearest], &config, NULL);
    rc = rc < 0 ? rc : ty_run_plan(&run, &config, NULL, NULL);
    rc = rc < 0 ? rc : ty_run_execute_folded(run, NULL);
    rc = rc < 0 ? rc : ty_run_remedies(run, list, arena, NULL);
    ty_run_free(run);
    ty_config_drop(&config);
    return rc;
}

int ty_plan_fail_nearest(const struct ty_plan_answer *a, struct ty_err *err)
{
    const struct ty_plan_result *r = &a->result[0];
    struct ty_arena arena = {.head = NULL};
    struct ty_remedies list = {.n = 0};
    struct ty_text layout = {.data = NULL};
    char all[32], has[64], needs[64];
    for (uint32_t i = 1; i < a->n_results; i++) {
        const struct ty_plan_result *x = &a->result[i];
        const bool less =
            x->nearest_peak_B - x->nearest_capacity_B < r->nearest_peak_B - r->nearest_capacity_B;
        r = less ? x : r;
    }
    put_layout(&layout, r);
    char *words = ty_text_take(&layout);
    if (words == NULL) {
        return ty_fail_memory(err);
    }
    const char *away = r->nearest_away;
    const unsigned gpus = ty_plan_gpus(&r->space), n = r->space.n_points;
    ty_fail(err, TY_EINFEASIBLE,
            "none of %s layout%s fits on %u GPU%s; nearest is %s, with %s of %s%s%s",
            ty_words_count(n, all, sizeof(all)), n == 1 ? "" : "s", gpus, gpus == 1 ? "" : "s",
            words[0] != '\0' ? words : "that one",
            ty_words_bytes(r->nearest_peak_B, needs, sizeof(needs)),
            ty_words_bytes(r->nearest_capacity_B, has, sizeof(has)),
            away != NULL ? " that a node has: " : "", away != NULL ? away : "");
    ty_text_free(words);
    if (find_remedies(r, &list, &arena) == 0) {
        hint_remedies(&list, err);
    }
    ty_arena_release(&arena);
    return TY_EINFEASIBLE;
}
