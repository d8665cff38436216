/* test_api.c - what sim/trainyard.h promises of all its functions: options may be left out, and
 * nothing is handed out on failure. */
#include <string.h>

#include "sim/cli_api.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

static const char yaml[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                           "model: {preset: llama-7b, layers: 4, sequence: 512}\n"
                           "layout: {tensor: 2, pipeline: 2, global_batch: 8}\n";

TEST(options_may_be_left_out)
{
    struct quick_run q = quick_run(yaml, NULL, NULL);
    const struct ty_shown_run runs[] = {{.run = q.run, .name = "a"}, {.run = q.run, .name = "b"}};
    const struct ty_shown_run page = {.run = q.run, .name = "a"};
    struct ty_err *err = ty_err_new();
    char *text = NULL;
    double bytes;
    ck_assert_int_eq(ty_run_trace_check(q.run, "chrome:null:", NULL, err), 0);
    ck_assert_int_eq(ty_run_trace(q.run, "chrome:null:", NULL, NULL, err), 0);
    ck_assert_int_eq(ty_run_trace_size(q.run, "chrome:null:", NULL, &bytes, &text, err), 0);
    ck_assert(bytes > 0 && text == NULL);
    ck_assert_int_eq(ty_diff_trace_check(runs, 2, "csv:null:", NULL, err), 0);
    ck_assert_int_eq(ty_diff_trace(runs, 2, "csv:null:", NULL, NULL, err), 0);
    ck_assert_int_eq(ty_run_page_check(q.run, NULL, err), 0);
    ck_assert_int_eq(ty_run_page(&page, 1, "null:", NULL, &text, err), 0);
    ty_text_free(text);
    ck_assert_str_eq(ty_err_text(err), "");
    ck_assert_int_eq(ty_err_exit_status(err), 0);
    ty_err_free(err);
    quick_run_free(&q);
}

/* For a caller that has no files: a page in a browser, a program that makes run files. */
TEST(a_text_takes_the_place_of_a_file_and_messages_call_it_by_its_name)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *config;
    struct ty_source source = {.path = "job", .text = yaml};
    ck_assert_int_eq(ty_config_read(&config, &source, err), 0);
    ck_assert_str_eq(ty_config_input(config, 0), "job");
    ty_config_free(config);
    source.text = "model: {preset: llama-7b, layer: 4}\n";
    ck_assert_int_lt(ty_config_read(&config, &source, err), 0);
    ck_assert_ptr_nonnull(strstr(ty_err_text(err), "job:1:27: model.layer: unknown key"));
    ty_err_clear(err);
    char *text;
    struct ty_schedule_options schedule = {
        .name = "by hand", .text = "rank 0: F0.0 B0.0\n", .format = "slots"};
    ck_assert_int_eq(ty_schedule_show(&schedule, &text, err), 0);
    ck_assert_ptr_nonnull(strstr(text, "rank 0: F0.0 B0.0\n"));
    ty_text_free(text);
    schedule.text = "rank 0: B0.0 F0.0\n";
    ck_assert_int_lt(ty_schedule_show(&schedule, &text, err), 0);
    ck_assert_ptr_nonnull(strstr(ty_err_text(err), "by hand"));
    ty_err_free(err);
}

TEST(messages_add_up_until_they_are_cleared)
{
    struct quick_run q = quick_run(yaml, NULL, NULL);
    struct ty_err *err = ty_err_new();
    double value;
    ck_assert_int_lt(ty_run_figure(q.run, "nope", &value, err), 0);
    ck_assert_int_lt(ty_path_check("/nowhere/at/all", err), 0);
    ck_assert_ptr_nonnull(strstr(ty_err_text(err), "unknown figure (nope)"));
    ck_assert_ptr_nonnull(strstr(ty_err_text(err), "/nowhere/at/all"));
    ck_assert_int_eq(ty_err_exit_status(err), 2);
    ty_err_clear(err);
    ty_err_clear(NULL);
    ck_assert_str_eq(ty_err_text(err), "");
    ck_assert_int_eq(ty_err_exit_status(err), 0);
    ck_assert_int_lt(ty_path_check("/nowhere/at/all", err), 0);
    ck_assert_int_eq(ty_err_exit_status(err), 3);
    ty_err_free(err);
    quick_run_free(&q);
}

TEST(an_engine_that_there_is_not_leaves_the_run_as_it_was)
{
    struct quick_run q = quick_run(yaml, NULL, NULL);
    double before, after;
    ck_assert_int_eq(ty_run_figure(q.run, "step_time_s", &before, NULL), 0);
    ck_assert_int_lt(ty_run_execute(q.run, &(struct ty_execute_options){.engine = "steam"}, NULL),
                     0);
    ck_assert_int_eq(ty_run_figure(q.run, "step_time_s", &after, NULL), 0);
    ck_assert(before > 0 && before == after);
    quick_run_free(&q);
}

TEST(a_word_ends_executions_and_what_they_are_made_of)
{
    static const char *const engines[] = {"sweep", "events"};
    struct quick_run q = quick_run(yaml, NULL, NULL);
    struct ty_err *err = ty_err_new();
    volatile int stop = 0;
    double before, after;
    char *text;
    ck_assert_int_eq(ty_run_figure(q.run, "step_time_s", &before, NULL), 0);
    struct ty_execute_options options = {.stop = &stop};
    ck_assert_int_eq(ty_run_execute(q.run, &options, err), 0);
    stop = 1;
    ck_assert_int_lt(ty_run_report(q.run, "explain", &text, err), 0);
    ck_assert_ptr_null(text);
    for (size_t i = 0; i < 2; i++) {
        ty_err_clear(err);
        options.engine = engines[i];
        ck_assert_int_lt(ty_run_execute(q.run, &options, err), 0);
        ck_assert_int_eq(ty_err_exit_status(err), 3);
        ck_assert_ptr_nonnull(strstr(ty_err_text(err), "stopped before the step was executed"));
        ck_assert_int_lt(ty_run_figure(q.run, "step_time_s", &after, NULL), 0);
        ck_assert(!ty_run_halted(q.run));
    }
    stop = 0;
    ck_assert_int_eq(ty_run_execute(q.run, NULL, err), 0);
    ck_assert_int_eq(ty_run_figure(q.run, "step_time_s", &after, NULL), 0);
    ck_assert(before > 0 && before == after);
    ty_err_free(err);
    quick_run_free(&q);
}

/* Not NULL, and nothing to look at. */
#define POISON ((void *)(uintptr_t)1)

#define REFUSED(call, out)                                                                         \
    do {                                                                                           \
        (out) = POISON;                                                                            \
        ck_assert_int_lt(call, 0);                                                                 \
        ck_assert_ptr_null(out);                                                                   \
    } while (0)

TEST(what_is_asked_too_early_is_refused_and_nothing_handed_out)
{
    struct quick_run q = quick_run(yaml, NULL, NULL);
    struct ty_run *run;
    char *text;
    struct ty_tasks *tasks;
    struct ty_err *err = ty_err_new();
    double value;
    ck_assert_int_eq(ty_run_new(&run, q.config, err), 0);
    const struct ty_shown_run runs[] = {{.run = run, .name = "a"}, {.run = run, .name = "b"}};
    const struct ty_shown_run page = {.run = run, .name = "a"};
    REFUSED(ty_run_report(run, "table", &text, err), text);
    REFUSED(ty_run_report(run, "explain", &text, err), text);
    REFUSED(ty_run_trace(run, "csv:null:", NULL, &text, err), text);
    REFUSED(ty_run_page(&page, 1, "null:", NULL, &text, err), text);
    REFUSED(ty_diff_report(runs, 2, "table", &text, err), text);
    REFUSED(ty_diff_trace(runs, 2, "csv:null:", NULL, &text, err), text);
    REFUSED(ty_run_tasks(run, NULL, &tasks, err), tasks);
    ck_assert_int_lt(ty_run_figure(run, "mfu", &value, err), 0);
    ck_assert_int_eq(ty_err_exit_status(err), 2);
    ty_err_free(err);
    ty_run_free(run);
    quick_run_free(&q);
}

TEST(what_is_not_there_is_not_handed_out)
{
    static const char missing[] = "/nonexistent/file";
    static const char *const paths[] = {missing};
    const struct ty_schedule_options schedule = {
        .name = "no-such-schedule", .pipeline = 2, .micro_batches = 2};
    const struct ty_calibrate_options calibrate = {.source = {.path = missing}};
    const struct ty_import_options import = {.paths = paths, .n_paths = 1};
    struct ty_config *config;
    struct ty_recording *recording;
    char *text, *other = POISON;
    REFUSED(ty_config_read(&config, &(struct ty_source){.path = missing}, NULL), config);
    REFUSED(ty_recording_read(&recording, missing, NULL), recording);
    REFUSED(ty_schedule_show(&schedule, &text, NULL), text);
    REFUSED(ty_schedule_compare(&schedule, &text, NULL), text);
    REFUSED(ty_list("no such list", NULL, &text, NULL), text);
    REFUSED(ty_calibrate(&calibrate, &text, &other, NULL), text);
    ck_assert_ptr_null(other);
    other = POISON;
    REFUSED(ty_import_kineto(&import, &text, &other, NULL), text);
    ck_assert_ptr_null(other);
}

/* Two halves share the time of their slot, and begin together. */
TEST(passes_of_a_schedule_are_rows)
{
    struct ty_schedule_passes *c;
    const struct ty_schedule_options alone = {.name = "1f1b", .pipeline = 2, .micro_batches = 2};
    ck_assert_int_eq(ty_schedule_passes(&alone, false, &c, NULL), 0);
    ck_assert_uint_eq(c->n_ranks, 2);
    ck_assert_uint_eq(c->n, 8);
    ck_assert_uint_eq(c->first[1], 4);
    ck_assert_mem_eq(c->phase, "FFBBFBFB", 8);
    ck_assert(c->start[4] == 1 && c->duration[5] == 2 && c->start[3] == 7);
    ck_assert_ptr_nonnull(strstr(c->figures, "\"makespan\": 9"));
    ck_assert_ptr_null(strstr(c->figures, "actions"));
    ty_schedule_passes_free(c);

    const struct ty_schedule_options pairs = {
        .name = "dualpipe", .pipeline = 4, .micro_batches = 8};
    uint32_t seconds = 0;
    ck_assert_int_eq(ty_schedule_passes(&pairs, false, &c, NULL), 0);
    for (size_t i = 0; i < c->n; i++) {
        if (c->half[i] == TY_SLOT_SECOND) {
            ck_assert_uint_eq(c->half[i - 1], TY_SLOT_FIRST);
            ck_assert(c->start[i] == c->start[i - 1] && c->duration[i] == c->duration[i - 1]);
            ck_assert(c->duration[i] == 3);
            seconds++;
        }
    }
    ck_assert_uint_gt(seconds, 0);
    ty_schedule_passes_free(c);
    ty_schedule_passes_free(NULL);
}

/* Of a model whose second half takes twice as long, cut into two stages or four: the same work. */
TEST(stages_that_are_shared_are_parts_of_the_model)
{
    const struct ty_schedule_options two = {
        .name = "1f1b", .pipeline = 2, .micro_batches = 4, .stages = "1,2"};
    struct ty_schedule_options four = two;
    struct ty_schedule_passes *one, *other;
    four.name = "zb-v";
    ck_assert_int_eq(ty_schedule_passes(&two, true, &one, NULL), 0);
    ck_assert_int_eq(ty_schedule_passes(&four, true, &other, NULL), 0);
    double work[2] = {0, 0};
    for (size_t i = 0; i < one->n; i++) {
        work[0] += one->duration[i];
    }
    for (size_t i = 0; i < other->n; i++) {
        work[1] += other->duration[i];
    }
    ck_assert(work[0] == 4 * 3 * 3 && work[1] == work[0]);
    ty_schedule_passes_free(one);
    ty_schedule_passes_free(other);
    ck_assert_int_lt(ty_schedule_passes(&four, false, &other, NULL), 0);
    ck_assert_ptr_null(other);
}

TEST(a_text_is_made_fit_to_be_shown_in_place)
{
    char text[] = "a\x1b[2J\n\xFF\xC2\x9B.";
    ck_assert_ptr_eq(ty_text_plain(text), text);
    ck_assert_str_eq(text, "a?[2J\n??.");
}

TY_SUITE("api")
