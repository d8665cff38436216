/* test_critical.c - the critical path in traces: a row without a gap, as long as the run, whose
 * steps are slices of ranks. */
#include "tests/common/random_program.h"
#include "tests/unit/broken_trace.h"
#include "tests/unit/chrome_text.h"
#include "traces/view/view.h"

static const struct tiny shapes[] = {
    {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1},
    {.p = 1, .t = 4, .d = 2, .m = 3, .layers = 2, .data = true},
    {.p = 4, .t = 2, .d = 2, .m = 8, .layers = 2, .data = true, .recompute = true},
    {.p = 3, .t = 2, .d = 3, .m = 5, .layers = 1, .data = true, .steps = 3},
    /* from here on the path goes to the slowest member, in the middle of passes */
    {.p = 4, .t = 2, .d = 2, .m = 6, .layers = 2, .data = true, .jitter = 0.2, .seed = 3},
    {.p = 4, .t = 2, .d = 1, .m = 6, .layers = 2, .data = true, .scale = 1, .jitter = 0.3},
};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))
#define N_STEADY 4u

static void begin_path(struct tiny_trace *c, const struct tiny *shape)
{
    begin(c, shape);
    c->trace.critical = &c->run.timeline;
}

/* ---- the row ---- */

struct row {
    uint64_t from, until, sum, n;
    bool broken;
};

static void follow(void *arg, const struct ty_view_step *step)
{
    struct row *row = arg;
    row->broken =
        row->broken || step->end <= step->start || (row->n > 0 && step->start != row->until);
    row->from = row->n == 0 ? step->start : row->from;
    row->until = step->end;
    row->sum += step->end - step->start;
    row->n++;
}

TEST(the_row_of_random_programs_has_no_gap_and_spans_the_run)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_program program;
        struct ty_timeline t;
        ck_assert_int_eq(random_program(&program, seed, &arena, &err), 0);
        ck_assert_int_eq(ty_timeline_init(&t, &program, &err), 0);
        ck_assert_int_eq(ty_sweep(&t, &err), 0);
        for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
            const uint32_t rank = 0;
            const struct ty_trace trace = {.timeline = &t,
                                           .critical = &t,
                                           .ranks = &rank,
                                           .n_ranks = 1,
                                           .detail = (enum ty_detail)detail,
                                           .window_to = UINT64_MAX};
            struct ty_view view;
            struct row row = {.n = 0};
            ck_assert_int_eq(ty_view_init(&view, &trace, &err), 0);
            ck_assert_int_eq(ty_view_find_path(&view, &err), 0);
            ty_view_critical(&view, follow, &row);
            ck_assert_msg(!row.broken && row.from == 0 && row.sum == t.makespan / 1000,
                          "seed %lu, detail %d", (unsigned long)seed, detail);
            ty_view_release(&view);
        }
        ty_timeline_release(&t);
        ty_arena_release(&arena);
    }
}

TEST(the_row_is_as_long_as_the_run_and_made_of_slices)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        struct tiny_trace c;
        begin_path(&c, &shapes[i]);
        for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
            struct rules rules;
            c.trace.detail = (enum ty_detail)detail;
            free(checked(&c.trace, &rules));
            ck_assert_uint_eq(rules.path, c.run.timeline.makespan / 1000);
            ck_assert_uint_gt(rules.n_steps, 0);
            if (detail == TY_DETAIL_OP) { /* every step is a task, and every task is shown */
                ck_assert_uint_eq(rules.n_seen, rules.n_steps);
                ck_assert_uint_eq(rules.n_equal, rules.n_steps);
            } else if (i < N_STEADY) {
                ck_assert_uint_eq(rules.n_equal, rules.n_seen);
            }
        }
        tiny_release(&c.run);
    }
}

TEST(a_message_on_its_way_is_a_step)
{
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[2]);
    for (uint32_t i = 0; i < c.run.program.n_channels; i++) {
        c.run.program.channels[i].delay = 7000;
    }
    ck_assert_int_eq(ty_sweep(&c.run.timeline, &err), 0);
    ck_assert_int_eq(ty_stats_compute(&c.run.stats, &c.run.timeline, &c.run.arena, &err), 0);
    c.trace.critical = &c.run.timeline;
    char *text = checked(&c.trace, &rules);
    const char *at = strstr(text, "{\"name\":\"in flight 0\"");
    ck_assert_uint_eq(rules.path, c.run.timeline.makespan / 1000);
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(strncmp(strstr(at, "\"why\""), "\"why\":\"message act 0 is on its way\"", 35),
                     0);
    ck_assert_ptr_nonnull(strstr(text, ",\"dur\":0.0069},"));
    ck_assert_ptr_nonnull(strstr(text, "\"why\":\"message act 0 arrived from rank 0\",\"from\":0"));
    free(text);
    tiny_release(&c.run);
}

TEST(steps_say_how_the_path_came_to_them)
{
    static const char *const lines[] = {
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":2,\"tid\":10,\"args\":{\"name\":"
        "\"critical "
        "path\"}}",
        "{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":2,\"tid\":10,\"args\":{\"sort_"
        "index\":"
        "-1}}",
        "{\"name\":\"forward 0\",\"cat\":\"compute.forward\",\"cname\":\"thread_state_running\","
        "\"ph\":\"X\",\"tid\":10,\"args\":{\"rank\":0,\"row\":\"compute\",\"stage\":0,\"mb\":0,"
        "\"why\":\"start of the run\"},\"pid\":2,\"ts\":0.000,",
        "\"row\":\"pipeline send\",\"stage\":0,\"mb\":0,\"why\":\"waited for all-reduce\"",
        "\"row\":\"pipeline recv\",\"stage\":1,\"mb\":0,\"why\":\"message act 0 arrived from rank "
        "0\","
        "\"from\":0}",
        "\"row\":\"compute\",\"stage\":1,\"mb\":0,\"why\":\"waited for recv act 0\",\"from\":2}",
        ("\"name\":\"optimizer step\",\"cat\":\"optimizer\",\"cname\":\"rail_load\","
         "\"ph\":\"X\",\"tid\":10,"),
    };
    struct tiny_trace c;
    struct rules rules;
    begin_path(&c, &shapes[2]);
    c.trace.detail = TY_DETAIL_MICROBATCH;
    char *text = checked(&c.trace, &rules);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ck_assert_msg(strstr(text, lines[i]) != NULL, "missing: %s", lines[i]);
    }
    free(text);
    tiny_release(&c.run);
}

TEST(a_collective_starts_with_its_last_member)
{
    struct tiny_trace c;
    struct rules rules;
    begin_path(&c, &shapes[4]);
    char *text = checked(&c.trace, &rules);
    ck_assert_ptr_nonnull(strstr(text, "\"why\":\"the last to join was rank "));
    free(text);
    tiny_release(&c.run);
}

TEST(a_window_clips_the_row)
{
    for (size_t i = 1; i < N_SHAPES; i++) {
        struct tiny_trace c;
        begin_path(&c, &shapes[i]);
        const ty_ps makespan = c.run.timeline.makespan;
        for (unsigned k = 0; k < 9; k++) {
            struct rules rules;
            c.trace.window_from = makespan * k / 11;
            c.trace.window_to = makespan * (k + 3) / 11;
            const ty_ps to = c.trace.window_to < makespan ? c.trace.window_to : makespan;
            free(checked(&c.trace, &rules));
            ck_assert_uint_eq(rules.path, to / 1000 - c.trace.window_from / 1000);
        }
        tiny_release(&c.run);
    }
}

TEST(ranks_that_are_not_shown_are_on_the_row_all_the_same)
{
    struct tiny_trace c;
    struct rules rules;
    begin_path(&c, &shapes[2]);
    const uint32_t chosen[] = {2}; /* stage 1 */
    c.trace.ranks = chosen;
    c.trace.n_ranks = 1;
    char *text = checked(&c.trace, &rules);
    ck_assert_uint_eq(rules.path, c.run.timeline.makespan / 1000);
    ck_assert_uint_gt(rules.n_seen, 0);
    ck_assert_uint_lt(rules.n_seen, rules.n_steps);
    ck_assert_ptr_nonnull(strstr(text, "\"args\":{\"rank\":0,\"row\""));
    free(text);
    tiny_release(&c.run);
}

TEST(without_the_path_a_trace_does_not_mention_it)
{
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[2]);
    char *text = checked(&c.trace, &rules);
    ck_assert_ptr_null(strstr(text, "critical"));
    ck_assert_uint_eq(rules.n_steps, 0);
    free(text);
    tiny_release(&c.run);
}

TEST(the_estimates_count_it)
{
    const struct ty_trace_format *const formats[] = {&ty_trace_chrome, &ty_trace_perfetto};
    for (size_t i = 1; i < N_STEADY; i++) {
        struct tiny_trace c;
        begin_path(&c, &shapes[i]);
        c.trace.n_ranks = 1;
        for (int k = 0; k < 2 * TY_DETAIL_OP + 2; k++) {
            const struct ty_trace_format *f = formats[k % 2];
            uint64_t bytes;
            c.trace.detail = (enum ty_detail)(k / 2);
            ck_assert_int_eq(ty_trace_write(f, &c.trace, "null:", NULL, &bytes, &err), 0);
            const double ratio = f->estimate(&c.trace) / (double)bytes;
            ck_assert_msg(ratio < 1.5 && ratio > 1 / 1.5, "%s, shape %zu: %g", f->name, i, ratio);
        }
        tiny_release(&c.run);
    }
}

/* ---- the rules ---- */

TEST(the_rules_of_the_path_catch_what_they_are_for)
{
    static const struct broken rows[] = {
        {"\"pid\":2,\"ts\":0.000,\"dur\":209.9999", "\"pid\":2,\"ts\":0.000,\"dur\":199.9999",
         "the critical path has a gap", 0},
        {"\"pid\":2,\"ts\":0.000,\"dur\":209.9999", "\"pid\":2,\"ts\":0.000,\"dur\":210.9999",
         "overlaps the slice before it", 0},
        {"\"pid\":2,\"ts\":0.000,\"dur\":209.9999", "\"pid\":2,\"ts\":0.001,\"dur\":209.9989",
         "the critical path begins with the compute rows", 0},
        {"{\"rank\":0,\"row\":\"compute\"", "{\"rank\":2,\"row\":\"compute\"",
         "a step of the path that is no slice", 0},
        {"{\"rank\":0,\"row\":\"compute\"", "{\"row\":\"compute\"", "a step of the path has rank",
         0},
        {"\"why\":\"start of the run\"", "\"why\":\"\"", "a step of the path has rank", 0},
        {"\"why\":\"start of the run\"", "\"why\":\"by itself\"", "a step of the path says from",
         0},
        {",\"critical\":true}", "}", "a slice on the critical path does not say so", 0},
        {",\"critical\":true}", ",\"critical\":1}", "unknown argument", 0},
        {"\"group\":\"tp 2\"},\"pid\":1003", "\"critical\":true,\"group\":\"tp 2\"},\"pid\":1003",
         "not on the critical path", 0},
        {"\"sort_index\":-1", "\"sort_index\":-2", "sort indices are", 0},
        {"\"pid\":2,\"tid\":10", "\"pid\":2,\"tid\":11", "pid or tid out of range", 0},
        {"\"pid\":2,\"tid\":10", "\"pid\":1004,\"tid\":10", "pid or tid out of range", 0},
    };
    const struct tiny shape = {.p = 2, .t = 2, .d = 1, .m = 2, .layers = 2};
    struct tiny_trace c;
    struct rules rules;
    begin_path(&c, &shape);
    char *text = checked(&c.trace, &rules);
    broken_check(text, rows, sizeof(rows) / sizeof(rows[0]));
    free(text);
    tiny_release(&c.run);
}

TY_SUITE("critical")
