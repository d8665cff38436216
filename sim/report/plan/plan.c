/* plan.c - `trainyard plan`: the answer as a report, and in a folder. */
#include "sim/report/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "sim/cli_api.h"
#include "sim/plan/search/continue.h"
#include "sim/plan/search/find.h"

static int check_form(const char *stats, struct ty_err *err)
{
    return stats == NULL || strcmp(stats, "table") == 0 || strcmp(stats, "json") == 0
               ? 0
               : ty_fail(err, TY_EUSAGE, "--stats %.40s: write table or json", stats);
}

static int check_emit(const struct ty_plan_options *options, struct ty_err *err)
{
    if (options->emit != NULL && options->stats != NULL) {
        return ty_fail(err, TY_EUSAGE,
                       "--emit prints a layout in place of a report; leave --stats out");
    }
    return options->emit == NULL || strcmp(options->emit, "yaml") == 0
               ? 0
               : ty_fail(err, TY_EUSAGE, "emit: a run file is all that is emitted; write yaml");
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

/* Writes the files of the folder. An interrupted search writes none: --resume finds its rows. */
static int write_folder(const struct ty_plan_answer *answer, const struct ty_plan_options *options,
                        struct ty_err *err)
{
    struct ty_text json = {.data = NULL}, best = {.data = NULL}, svg = {.data = NULL},
                   page = {.data = NULL};
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
    if (rc == 0) {
        ty_plan_svg(&svg, answer);
        rc = write_text(&svg, options->folder, "pareto.svg", err);
    }
    if (rc == 0) {
        ty_plan_page(&page, answer);
        rc = write_text(&page, options->folder, "plan.html", err);
    }
    ty_text_release(&best);
    return rc;
}

/* Writes the best layout as a run file. */
static int emit(const struct ty_plan_answer *answer, struct ty_text *t, struct ty_err *err)
{
    return answer->result[answer->best].n_rows > 0
               ? ty_plan_continue(answer, t, err)
               : ty_fail(err, TY_EIO, "interrupted before a layout was simulated: --emit has none");
}

/* Writes the report in the form that the options ask for. */
static int tell(const struct ty_plan_answer *answer, const struct ty_plan_options *options,
                struct ty_text *t, struct ty_err *err)
{
    if (options->emit != NULL) {
        return emit(answer, t, err);
    }
    if (options->stats != NULL && strcmp(options->stats, "json") == 0) {
        ty_plan_json(answer, true, t);
    } else {
        ty_plan_table(answer, t);
    }
    return 0;
}

int ty_plan(const struct ty_plan_options *options, char **report, struct ty_err *err)
{
    struct ty_plan_answer answer = {.n_results = 0};
    struct ty_text t = {.data = NULL};
    *report = NULL;
    int rc = check_form(options->stats, err);
    rc = rc < 0 ? rc : check_emit(options, err);
    rc = rc < 0 ? rc : ty_plan_find(&answer, options, err);
    if (rc == 0 && ty_crew_leads(options->crew)) {
        rc = write_folder(&answer, options, err);
        rc = rc < 0 ? rc : tell(&answer, options, &t, err);
    }
    ty_plan_answer_release(&answer);
    *report = rc == 0 ? ty_text_take(&t) : NULL;
    ty_text_release(&t);
    return rc == 0 && *report == NULL ? ty_fail_memory(err) : rc;
}
