/* page.c - `trainyard report`: one or two runs as a page of their own, data between the two halves
 * of the template (traces/page). */
#include "sim/report/page/page.h"

#include <stdio.h>

#include "sim/base/path.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/run/figures.h"
#include "sim/run/jobs.h"
#include "sim/run/links.h"

#define RANKS "one-per-stage" /* unless the user chooses */

static const struct ty_page_options no_options;

static int read_options(const struct ty_run *run, const struct ty_page_options *options,
                        struct ty_arena *arena, struct ty_selection *selection,
                        enum ty_detail *detail, struct ty_err *err)
{
    const char *ranks = options->ranks != NULL ? options->ranks : RANKS;
    int value = TY_DETAIL_MICROBATCH;
    const int rc = ty_select_ranks(run, ranks, options->order, arena, selection, err);
    if (rc < 0) {
        return rc;
    }
    if (ty_word_read("--detail", options->detail, ty_detail_words, &value, err) < 0) {
        return TY_EUSAGE;
    }
    *detail = (enum ty_detail)value;
    return 0;
}

/* The slices of one run and everything else about it; `variants`: with other schedules. */
static int put_run(struct ty_json *j, const struct ty_shown_run *shown,
                   const struct ty_page_options *options, bool variants, uint32_t *n_ranks,
                   struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_selection selection = {.n = 0};
    struct ty_page page = {.n_slices = 0};
    struct ty_trace trace = {.timeline = &shown->run->all, .window_to = UINT64_MAX};
    int rc = read_options(shown->run, options, &arena, &selection, &trace.detail, err);
    trace.ranks = selection.ranks;
    trace.n_ranks = *n_ranks = selection.n;
    if (rc == 0) {
        rc = ty_page_collect(&page, &trace, &shown->run->timeline, options->stop, err);
    }
    if (rc == 0) {
        ty_json_object(j, NULL);
        ty_json_text(j, "file", ty_path_shown(shown->name));
        ty_json_text(j, "trouble", shown->trouble != NULL ? shown->trouble : "");
        ty_json_bool(j, "halted", ty_run_halted(shown->run));
        rc = ty_page_put_run(j, shown->run, &selection, variants, err);
    }
    if (rc == 0) {
        rc = ty_page_put(&page, j, err);
        ty_json_end(j);
    }
    ty_page_release(&page);
    ty_arena_release(&arena);
    return rc;
}

/* How the figures of runs are shown: label, name, unit, whether more of it is better. */
static void put_figure_rows(struct ty_json *j)
{
    const struct ty_figure_row *rows[TY_FIGURES_MAX];
    const uint32_t n = ty_figure_rows(TY_IN_PAGE, rows);
    ty_json_array(j, "figure_rows");
    for (uint32_t i = 0; i < n; i++) {
        ty_json_array(j, NULL);
        ty_json_text(j, NULL, rows[i]->in[TY_IN_PAGE].label);
        ty_json_text(j, NULL, rows[i]->name);
        ty_json_text(j, NULL, ty_figure_unit_word(rows[i]->unit));
        ty_json_real(j, NULL, rows[i]->better);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static int put_page(struct ty_out *out, const struct ty_shown_run *runs, size_t n,
                    const struct ty_page_options *options, uint32_t *n_ranks, struct ty_err *err)
{
    struct ty_json j = ty_out_html_json(out);
    int rc = 0;
    ty_out_bytes(out, (const char *)ty_page_head, ty_page_head_len);
    ty_json_object(&j, NULL);
    ty_json_text(&j, "version", TRAINYARD_VERSION);
    ty_json_text(&j, "command", options->command != NULL ? options->command : "");
    ty_json_line(&j, 0);
    put_figure_rows(&j);
    ty_json_line(&j, 0);
    ty_json_array(&j, "runs");
    ty_json_rows(&j);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = put_run(&j, &runs[i], options, i == 0, n_ranks, err); /* two are an answer already */
    }
    if (rc < 0) {
        return rc;
    }
    ty_json_end(&j);
    ty_json_end(&j);
    ty_out_bytes(out, (const char *)ty_page_tail, ty_page_tail_len);
    return rc;
}

/* Where the page is and whom it shows. */
static char *make_note(const struct ty_shown_run *runs, size_t n, const char *path, uint64_t bytes,
                       uint32_t n_ranks, const struct ty_page_options *options)
{
    struct ty_text t = {.data = NULL};
    const uint32_t all = ty_run_jobs_ranks(runs[n - 1].run);
    char size[64];
    bool halted = false;
    ty_text_add(&t, "report: %s (%s", path, ty_words_bytes((double)bytes, size, sizeof(size)));
    for (size_t i = 0; i < n; i++) {
        halted = halted || ty_run_halted(runs[i].run);
    }
    if (options->ranks == NULL && n_ranks < all) {
        ty_text_add(&t, "; %u of %u ranks: one of each stage, choose others with --ranks",
                    (unsigned)n_ranks, (unsigned)all);
    }
    ty_text_add(&t, "%s)", halted ? "; incomplete: what ran before the deadlock" : "");
    return ty_text_take(&t);
}

int ty_run_page_check(const struct ty_run *run, const struct ty_page_options *options,
                      struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_selection selection = {.n = 0};
    enum ty_detail detail;
    options = options != NULL ? options : &no_options;
    int rc = ty_run_check_model(run, "a page", err);
    rc = rc < 0 ? rc : read_options(run, options, &arena, &selection, &detail, err);
    /* a deadlock of a schedule of one's own leaves a page of what ran before */
    if (rc == 0 && !run->executed && run->jobs == NULL && run->config->schedule.custom == NULL) {
        const struct ty_timeline planned = {.program = &run->lowered.program};
        const struct ty_trace trace = {.timeline = &planned,
                                       .ranks = selection.ranks,
                                       .n_ranks = selection.n,
                                       .detail = detail};
        rc = ty_page_check(&trace, err);
    }
    ty_arena_release(&arena);
    return rc;
}

int ty_run_page(const struct ty_shown_run *runs, size_t n, const char *path,
                const struct ty_page_options *options, char **note, struct ty_err *err)
{
    struct ty_out out;
    uint64_t bytes = 0;
    uint32_t n_ranks = 0;
    *note = NULL;
    options = options != NULL ? options : &no_options;
    for (size_t i = 0; i < n; i++) {
        int rc = ty_run_check_model(runs[i].run, "a page", err);
        rc = rc < 0 ? rc : ty_run_check_ranks(runs[i].run, "a page", true, err);
        if (rc < 0) {
            return rc;
        }
    }
    int rc = ty_out_open(&out, path, err);
    if (rc < 0) {
        return rc;
    }
    out.stop = options->stop;
    rc = put_page(&out, runs, n, options, &n_ranks, err);
    if (rc == 0) {
        rc = ty_out_commit(&out, err);
        bytes = out.stored;
    }
    ty_out_discard(&out);
    if (rc == 0 && strcmp(path, "-") != 0) {
        *note = make_note(runs, n, path, bytes, n_ranks, options);
    }
    return rc;
}
