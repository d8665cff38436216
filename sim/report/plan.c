/* plan.c - `trainyard plan`: the answer on paper, and in a folder. */
#include "sim/report/plan.h"

#include <stdlib.h>
#include <string.h>

#include "sim/plan/search/continue.h"
#include "sim/plan/search/find.h"

static int check_form(const char *stats, struct ty_err *err)
{
    return stats == NULL || strcmp(stats, "table") == 0 || strcmp(stats, "json") == 0
               ? 0
               : ty_fail(err, TY_EUSAGE, "--stats %.40s: write table or json", stats);
}

static int write_text(struct ty_text *t, const char *folder, const char *name, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const char *path = ty_arena_printf(&arena, "%s/%s", folder, name);
    char *text = ty_text_take(t);
    const int rc =
        path == NULL || text == NULL ? ty_fail_memory(err) : ty_text_write(text, path, err);
    ty_text_free(text);
    ty_arena_release(&arena);
    return rc;
}

/* What an interrupted search would leave out is not written: --resume finds its rows. */
static int write_folder(const struct ty_plan_answer *answer, const struct ty_plan_options *options,
                        struct ty_err *err)
{
    struct ty_text json = {.data = NULL}, best = {.data = NULL};
    if (options->folder == NULL || !answer->exact) {
        return 0;
    }
    ty_plan_json(answer, false, &json);
    int rc = write_text(&json, options->folder, "plan.json", err);
    if (rc == 0) {
        rc = ty_plan_continue(answer, &best, err);
    }
    if (rc == 0) {
        rc = write_text(&best, options->folder, "best.yaml", err);
    }
    ty_text_release(&best);
    return rc;
}

int ty_plan(const struct ty_plan_options *options, char **report, struct ty_err *err)
{
    struct ty_plan_answer answer = {.n_results = 0};
    struct ty_text t = {.data = NULL};
    const bool json = options->stats != NULL && strcmp(options->stats, "json") == 0;
    *report = NULL;
    int rc = check_form(options->stats, err);
    rc = rc < 0 ? rc : ty_plan_find(&answer, options, err);
    const bool leads = ty_crew_leads(options->crew);
    rc = rc < 0 || !leads ? rc : write_folder(&answer, options, err);
    if (!leads) {
        ty_text_add(&t, "%s", "");
    } else if (rc == 0 && json) {
        ty_plan_json(&answer, true, &t);
    } else if (rc == 0) {
        ty_plan_table(&answer, &t);
    }
    ty_plan_answer_release(&answer);
    *report = rc == 0 ? ty_text_take(&t) : NULL;
    return rc == 0 && *report == NULL ? ty_fail_memory(err) : rc;
}
