/* test_writers.c - table of formats, CSV, digest and text Gantt. */
#include "model/vocabulary.h"
#include "traces/out/writer.h"

#include "tests/unit/tiny_trace.h"
#include "traces/view/gantt.h"

static char *text_of(const struct ty_trace *trace, const char *format)
{
    size_t n;
    return write_text(trace, format, &n);
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text != '\0'; text++) {
        n += *text == '\n';
    }
    return n;
}

TEST(every_format_is_found_by_its_name_and_described)
{
    size_t n = 0;
    for (; ty_trace_formats[n] != NULL; n++) {
        ck_assert_ptr_eq(ty_trace_format(ty_trace_formats[n]->name), ty_trace_formats[n]);
        ck_assert_ptr_nonnull(ty_trace_formats[n]->summary);
        ck_assert_ptr_nonnull(ty_trace_formats[n]->extension);
    }
    ck_assert_uint_ge(n, 4);
    ck_assert_ptr_null(ty_trace_format("crome"));
}

/* ---- CSV ---- */

TEST(csv_rows_are_written_exactly_so)
{
    static const char expected[] =
        "rank,stream,phase,micro_batch,stage,step,layer,name,category,start_ps,dur_ps,bytes,flops,"
        "group\n"
        "0,compute,forward,0,0,0,0,qkv,compute.forward,0,210000000,,1000000000,\n"
        "0,compute,forward,0,0,0,0,attention core,compute.forward,210000000,160000000,,1000000000,"
        "\n"
        "0,compute,forward,0,0,0,0,proj,compute.forward,370000000,90000000,,1000000000,\n"
        "0,tensor comm,forward,0,0,0,0,all-reduce,comm.tp,460000000,70000000,33554432,,tp\n";
    const struct tiny shape = {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1};
    struct tiny_trace c;
    begin(&c, &shape);
    char *text = text_of(&c.trace, "csv");
    ck_assert_mem_eq(text, expected, sizeof(expected) - 1);
    free(text);
    tiny_release(&c.run);
}

TEST(csv_has_every_task_and_sums_to_the_statistics)
{
    const struct tiny shape = {
        .p = 3, .t = 2, .d = 2, .m = 5, .layers = 2, .data = true, .jitter = 0.1};
    struct tiny_trace c;
    begin(&c, &shape);
    char *text = text_of(&c.trace, "csv");
    ck_assert_uint_eq(lines(text), c.run.program.n_tasks + 1);
    ty_ps busy[64] = {0};
    for (char *line = strchr(text, '\n') + 1; *line != '\0'; line = strchr(line, '\n') + 1) {
        unsigned rank;
        unsigned long long dur;
        const bool compute =
            strstr(line, ",compute,") != NULL && strstr(line, ",compute,") < strchr(line, '\n');
        ck_assert_int_eq(sscanf(line, "%u,%*[^,],%*[^,],%*[^,]", &rank), 1);
        char *at = line; /* eleventh cell */
        for (int i = 0; i < 10; i++) {
            at = strchr(at, ',') + 1;
        }
        ck_assert_int_eq(sscanf(at, "%llu,", &dur), 1);
        busy[rank] += compute ? dur : 0;
    }
    for (uint32_t r = 0; r < c.run.program.n_ranks; r++) {
        ck_assert_uint_eq(busy[r], c.run.stats.rank[r].stream_busy[TY_STREAM_COMPUTE]);
    }
    const double ratio = ty_trace_csv.estimate(&c.trace) / (double)strlen(text);
    ck_assert(ratio > 1 / 1.5 && ratio < 1.5);
    free(text);
    tiny_release(&c.run);
}

TEST(csv_has_whole_tasks_of_the_window_and_quotes_what_it_must)
{
    const struct tiny shape = {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1};
    struct tiny_trace c;
    begin(&c, &shape);
    c.run.program.kinds[TINY_CORE].name = "a,\"b\"";
    c.trace.window_from = 300000000;
    c.trace.window_to = 365000001;
    char *text = text_of(&c.trace, "csv");
    ck_assert_str_eq(
        strchr(text, '\n') + 1,
        "0,compute,forward,0,0,0,0,\"a,\"\"b\"\"\",compute.forward,210000000,160000000,,"
        "1000000000,\n");
    free(text);
    tiny_release(&c.run);
}

/* ---- digest ---- */

static void digest_of(const struct tiny *shape, char out[32])
{
    struct tiny_trace c;
    begin(&c, shape);
    char *text = text_of(&c.trace, "digest");
    ck_assert_uint_eq(strlen(text), 17);
    ck_assert_uint_eq(strspn(text, "0123456789abcdef"), 16);
    ck_assert_int_eq(text[16], '\n');
    strcpy(out, text);
    free(text);
    tiny_release(&c.run);
}

TEST(equal_runs_have_equal_digests_and_other_runs_others)
{
    static const struct tiny shapes[] = {
        {.p = 2, .t = 2, .d = 2, .m = 4, .layers = 2, .jitter = 0.1, .seed = 1},
        {.p = 2, .t = 2, .d = 2, .m = 4, .layers = 2, .jitter = 0.1, .seed = 2},
        {.p = 2, .t = 2, .d = 2, .m = 4, .layers = 2, .jitter = 0.2, .seed = 1},
        {.p = 2, .t = 2, .d = 2, .m = 4, .layers = 2},
        {.p = 2, .t = 2, .d = 2, .m = 5, .layers = 2},
        {.p = 2, .t = 1, .d = 4, .m = 4, .layers = 2},
        {.p = 2, .t = 2, .d = 2, .m = 4, .layers = 2, .data = true},
        {.p = 2, .t = 2, .d = 2, .m = 4, .layers = 2, .scale = 1001},
    };
    enum {
        N = sizeof(shapes) / sizeof(shapes[0])
    };
    char digest[N][32], again[32];
    for (size_t i = 0; i < N; i++) {
        digest_of(&shapes[i], digest[i]);
        digest_of(&shapes[i], again);
        ck_assert_str_eq(digest[i], again);
        for (size_t k = 0; k < i; k++) {
            ck_assert_str_ne(digest[i], digest[k]);
        }
    }
}

TEST(the_digest_sees_one_picosecond_and_no_filter)
{
    const struct tiny shape = {.p = 2, .t = 2, .d = 2, .m = 4, .layers = 2};
    struct tiny_trace c;
    begin(&c, &shape);
    char *whole = text_of(&c.trace, "digest");
    c.trace.n_ranks = 1;
    c.trace.window_to = 5;
    char *filtered = text_of(&c.trace, "digest");
    ck_assert_str_eq(whole, filtered);
    for (uint64_t i = 0; i < c.run.program.n_tasks; i++) {
        c.run.timeline.start[i] ^= 1;
        char *other = text_of(&c.trace, "digest");
        ck_assert_str_ne(whole, other);
        c.run.timeline.start[i] ^= 1;
        free(other);
    }
    free(whole);
    free(filtered);
    tiny_release(&c.run);
}

TEST(both_executors_give_one_digest)
{
    const struct tiny shape = {
        .p = 3, .t = 2, .d = 2, .m = 5, .layers = 2, .data = true, .jitter = 0.3, .steps = 2};
    struct tiny_trace c;
    begin(&c, &shape);
    char *sweep = text_of(&c.trace, "digest");
    ck_assert_int_eq(ty_events(&c.run.timeline, &err), 0);
    char *events = text_of(&c.trace, "digest");
    ck_assert_str_eq(sweep, events);
    free(sweep);
    free(events);
    tiny_release(&c.run);
}

/* ---- Gantt ---- */

static void expect_gantt(const struct tiny *shape, const struct ty_gantt *options,
                         const char *expected)
{
    struct tiny_trace c;
    struct ty_text text = {.data = NULL};
    begin(&c, shape);
    ck_assert_int_eq(ty_gantt(&c.run.timeline, options, &text, &err), 0);
    char *picture = ty_text_take(&text);
    ck_assert_str_eq(picture, expected);
    free(picture);
    tiny_release(&c.run);
}

static const struct tiny lesson = {.p = 4, .t = 1, .d = 1, .m = 6, .layers = 1, .unit = true};

TEST(a_unit_of_time_is_a_cell_and_boxes_are_as_long_as_passes)
{
    const struct ty_gantt options = {.unit = 1000, .ascii = true};
    expect_gantt(&lesson, &options,
                 "time     0     2     4     6     8     10    12    14    16    18    20    22    "
                 "24    26\n"
                 "stage 0 |F0 F1 F2 F3 .. .. .. .. .. .. B0=== F4 B1=== F5 B2=== .. B3=== .. B4=== "
                 ".. B5===|\n"
                 "stage 1 |.. F0 F1 F2 .. .. .. .. B0=== F3 B1=== F4 B2=== F5 B3=== .. B4=== .. "
                 "B5=== .. ..|\n"
                 "stage 2 |.. .. F0 F1 .. .. B0=== F2 B1=== F3 B2=== F4 B3=== F5 B4=== .. B5=== .. "
                 ".. .. ..|\n"
                 "stage 3 |.. .. .. F0 B0=== F1 B1=== F2 B2=== F3 B3=== F4 B4=== F5 B5=== .. .. .. "
                 ".. .. ..|\n"
                 "F forward   B backward   . idle   one cell is one time unit\n"
                 "makespan 27, idle 33.3 %\n");
}

TEST(box_drawing_characters_draw_the_same_picture)
{
    const struct tiny shape = {.p = 2, .t = 1, .d = 1, .m = 2, .layers = 1, .unit = true};
    const struct ty_gantt options = {.unit = 1000};
    expect_gantt(&shape, &options,
                 "time     0     2     4     6     8\n"
                 "stage 0 │F0 F1 ·· ·· B0═══ ·· B1═══│\n"
                 "stage 1 │·· F0 B0═══ F1 B1═══ ·· ··│\n"
                 "F forward   B backward   · idle   one cell is one time unit\n"
                 "makespan 9, idle 33.3 %\n");
}

TEST(a_narrow_picture_stays_exact_while_a_unit_has_a_column)
{
    const struct ty_gantt options = {.unit = 1000, .ascii = true, .width = 40};
    expect_gantt(&lesson, &options,
                 "time     0         10        20\n"
                 "stage 0 |FFFF......B0FB1FB2.B3.B4.B5|\n"
                 "stage 1 |.FFF....B0FB1FB2FB3.B4.B5..|\n"
                 "stage 2 |..FF..B0FB1FB2FB3FB4.B5....|\n"
                 "stage 3 |...FB0FB1FB2FB3FB4FB5......|\n"
                 "F forward   B backward   . idle   1 column is one time unit; micro-batch numbers "
                 "need a width of 91\n"
                 "makespan 27, idle 33.3 %\n");
}

TEST(a_picture_that_is_too_long_is_scaled_and_says_so)
{
    const struct tiny shape = {.p = 2, .t = 1, .d = 1, .m = 20, .layers = 1, .unit = true};
    const struct ty_gantt options = {.unit = 1000, .ascii = true, .width = 50};
    expect_gantt(
        &shape, &options,
        "time     0     10     20    30    40     50    60\n"
        "stage 0 |F.BFBFBFBFBFBB6B7B8BFBFBFBFBFBFBFBB=B=B=|\n"
        "stage 1 |FBFBFBB3B4B5BFBFBFBFBFBFBFBB=B=B=BFBFB..|\n"
        "F forward   B backward   . idle   scaled to fit: one column is about 1.57 time units; "
        "exact from a width of 73; 15 passes are shorter than a column and not drawn\n"
        "makespan 63, idle 4.8 %\n");
}

TEST(a_stretch_is_cut_out_and_the_optimizer_step_is_shown)
{
    const struct tiny shape = {
        .p = 2, .t = 1, .d = 2, .m = 2, .layers = 1, .unit = true, .data = true};
    const uint32_t ranks[] = {0, 2, 1};
    const struct ty_gantt options = {
        .ascii = true, .from = 4000, .to = 10000, .ranks = ranks, .n_ranks = 3};
    expect_gantt(&shape, &options,
                 "time     4     6     8     10\n"
                 "stage 0 |B0=== .. B1=== S#|\n"
                 "stage 1 |F1 B1=== .. .. S#|\n"
                 "F forward   B backward   S optimizer step   . idle   one cell is 1 ns\n"
                 "stretch of 6 ns, idle 25.0 %; ranks that do the same share a row\n");
}

TEST(ranks_of_a_stage_that_differ_have_rows_of_their_own)
{
    struct tiny_trace c;
    struct ty_text text = {.data = NULL};
    const struct tiny shape = {.p = 2, .t = 1, .d = 3, .m = 1, .layers = 1, .unit = true};
    const struct ty_gantt options = {.ascii = true};
    const struct ty_gantt all = {.ascii = true, .ranks = c.ranks, .n_ranks = 6};
    begin(&c, &shape);
    c.run.timeline.start[c.run.program.gangs[1].first_task + 3 + 1] += 1000; /* its first compute */
    ck_assert_int_eq(ty_gantt(&c.run.timeline, &all, &text, &err), 0);
    char *picture = ty_text_take(&text);
    ck_assert_ptr_nonnull(strstr(picture, "\nstage 0 |F0 .. .. .. B0===|\n"));
    ck_assert_ptr_nonnull(strstr(picture, "\nrank 1  |.. F0 B0=== .. ..|\n"));
    ck_assert_ptr_nonnull(strstr(picture, "\nrank 3  |.. .. B0=== .. ..|\n"));
    ck_assert_ptr_null(strstr(picture, "rank 5")); /* the same as rank 1 */
    free(picture);
    ck_assert_int_eq(ty_gantt(&c.run.timeline, &options, &text, &err), 0);
    ck_assert_ptr_nonnull(strstr(text.data, "\nstage 1 |.. F0 B0=== .. ..|\n"));
    ty_text_release(&text);
    tiny_release(&c.run);
}

TEST(the_trace_format_draws_the_shown_ranks)
{
    struct tiny_trace c;
    const struct tiny shape = {.p = 2, .t = 1, .d = 1, .m = 1, .layers = 1, .unit = true};
    begin(&c, &shape);
    char *text = text_of(&c.trace, "gantt");
    ck_assert_str_eq(text, "time     0     2     4     6\n"
                           "stage 0 |F0 .. .. .. B0===|\n"
                           "stage 1 |.. F0 B0=== .. ..|\n"
                           "F forward   B backward   . idle   one cell is 1 ns\n"
                           "makespan 6 ns, idle 50.0 %\n");
    free(text);
    tiny_release(&c.run);
}

TY_SUITE("writers")
