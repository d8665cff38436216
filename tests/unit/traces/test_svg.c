/* test_svg.c - what a picture shows adds up, before and after it is put on paper. */
#include "model/vocabulary.h"
#include "tests/unit/tiny_trace.h"
#include "traces/svg/internal.h"

/* ---- items ---- */

/* Items of a row tile it, and stand for what the statistics have of that rank. */
static void check_row(const struct tiny_trace *c, const struct ty_svg_items *items, uint32_t row,
                      const struct ty_rank_stats *stats)
{
    const struct ty_svg_row *r = &items->row[row];
    ty_ps at = 0, time[TY_SVG_N_KINDS] = {0};
    for (size_t i = 0; i < r->n; i++) {
        const struct ty_svg_item *item = &items->item[r->first + i];
        ck_assert_uint_eq(item->start, at);
        ck_assert_uint_gt(item->end, item->start);
        at = item->end;
        time[item->kind] += item->end - item->start;
    }
    ck_assert_uint_eq(at, c->run.timeline.makespan);
    ty_ps boxes = 0, inside = 0;
    for (uint32_t k = 0; k < TY_SVG_CAUSE; k++) {
        boxes += time[k];
    }
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        inside += items->inside[b];
    }
    ck_assert_uint_eq(boxes, stats->stream_busy[TY_STREAM_COMPUTE] + inside);
    for (uint32_t b = TY_BUCKET_EXPOSED_TENSOR; b < TY_N_BUCKETS; b++) {
        ck_assert_uint_eq(time[TY_SVG_CAUSE + b] + items->inside[b], stats->bucket[b]);
    }
}

TEST(boxes_and_idle_stretches_tile_every_row_and_equal_the_statistics)
{
    static const struct tiny shapes[] = {
        {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1},
        {.p = 4, .t = 1, .d = 1, .m = 8, .layers = 1, .unit = true},
        {.p = 3, .t = 2, .d = 2, .m = 5, .layers = 2, .data = true, .jitter = 0.1, .seed = 7},
        {.p = 2, .t = 2, .d = 1, .m = 6, .layers = 3, .data = true, .gpipe = true, .steps = 3},
        {.p = 1, .t = 4, .d = 2, .m = 4, .layers = 2, .data = true, .recompute = true},
    };
    for (size_t s = 0; s < TY_COUNT(shapes); s++) {
        struct tiny_trace c;
        begin(&c, &shapes[s]);
        for (uint32_t rank = 0; rank < c.run.program.n_ranks; rank++) {
            struct ty_arena arena = {.head = NULL};
            struct ty_svg_items items;
            const struct ty_svg_panel panel = {
                .timeline = &c.run.timeline, .ranks = &rank, .n_ranks = 1};
            ck_assert_int_eq(ty_svg_collect(&items, &panel, 0, c.run.timeline.makespan, &arena), 0);
            ck_assert_uint_eq(items.n_rows, 1);
            check_row(&c, &items, 0, &c.run.stats.rank[rank]);
            ty_arena_release(&arena);
        }
        tiny_release(&c.run);
    }
}

TEST(windows_side_by_side_show_what_the_whole_shows)
{
    const struct tiny shape = {
        .p = 3, .t = 2, .d = 2, .m = 5, .layers = 2, .data = true, .jitter = 0.1, .seed = 3};
    struct tiny_trace c;
    begin(&c, &shape);
    const ty_ps end = c.run.timeline.makespan;
    struct ty_arena arena = {.head = NULL};
    for (uint32_t rank = 0; rank < c.trace.n_ranks; rank++) {
        const struct ty_svg_panel panel = {
            .timeline = &c.run.timeline, .ranks = &rank, .n_ranks = 1};
        struct ty_svg_items whole;
        ty_ps time[TY_SVG_N_KINDS] = {0}, inside[TY_MAX_BUCKETS] = {0};
        ck_assert_int_eq(ty_svg_collect(&whole, &panel, 0, end, &arena), 0);
        for (uint32_t part = 0; part < 7; part++) {
            struct ty_svg_items items;
            ck_assert_int_eq(
                ty_svg_collect(&items, &panel, end * part / 7, end * (part + 1) / 7, &arena), 0);
            for (uint32_t k = 0; k < TY_SVG_N_KINDS; k++) {
                time[k] += items.time[k];
            }
            for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
                inside[b] += items.inside[b];
            }
        }
        ck_assert_mem_eq(time, whole.time, sizeof(time));
        ck_assert_mem_eq(inside, whole.inside, sizeof(inside));
    }
    ty_arena_release(&arena);
    tiny_release(&c.run);
}

/* ---- marks ---- */

/* Area of the marks of a kind over the height of the row: um. */
static double area(const struct ty_svg_marks *marks, uint32_t kind, const struct ty_svg_frame *f)
{
    double sum = 0;
    for (size_t i = 0; i < marks->n; i++) {
        const struct ty_svg_mark *m = &marks->mark[i];
        ck_assert_int_ge(m->x0, f->left);
        ck_assert_int_le(m->x1, f->left + f->width);
        ck_assert_int_ge(m->y0, f->y0);
        ck_assert_int_le(m->y1, f->y1);
        sum += m->kind == kind ? (double)(m->x1 - m->x0) * (m->y1 - m->y0) / (f->y1 - f->y0) : 0;
    }
    return sum;
}

TEST(merging_keeps_areas_and_bounds_the_number_of_marks)
{
    static const struct {
        uint32_t m;
        bool merged;
    } lengths[] = {{20, false}, {3000, true}};
    for (size_t s = 0; s < TY_COUNT(lengths); s++) {
        const struct tiny shape = {
            .p = 2, .t = 1, .d = 1, .m = lengths[s].m, .layers = 1, .unit = true};
        struct tiny_trace c;
        begin(&c, &shape);
        struct ty_arena arena = {.head = NULL};
        struct ty_svg_items items;
        const struct ty_svg_panel panel = {.timeline = &c.run.timeline};
        const struct ty_svg_frame frame = {.to = c.run.timeline.makespan,
                                           .left = 1000,
                                           .width = 150000,
                                           .y0 = 500,
                                           .y1 = 6500,
                                           .thin = TY_SVG_THIN_UM};
        ck_assert_int_eq(ty_svg_collect(&items, &panel, 0, frame.to, &arena), 0);
        for (uint32_t r = 0; r < items.n_rows; r++) {
            struct ty_svg_marks marks = {.n = 0};
            ck_assert_int_eq(ty_svg_mark_row(&marks, &items, &items.row[r], &frame, &arena), 0);
            ck_assert_uint_eq(marks.n_boxes, 2 * lengths[s].m);
            ck_assert_uint_eq(marks.n_merged, lengths[s].merged ? marks.n_boxes : 0);
            ck_assert_uint_le(marks.n, lengths[s].merged ? 20 : 2 * lengths[s].m + 10);
            const double um_per_ps = 150000.0 / (double)frame.to;
            const double forward = 1000.0 * lengths[s].m * um_per_ps;
            ck_assert_double_eq_tol(area(&marks, TY_PHASE_FORWARD, &frame), forward, 30);
            ck_assert_double_eq_tol(area(&marks, TY_PHASE_BACKWARD, &frame), 2 * forward, 30);
        }
        ty_arena_release(&arena);
        tiny_release(&c.run);
    }
}

/* ---- text ---- */

TEST(lengths_are_written_short_and_exact)
{
    static const struct {
        int64_t um;
        const char *text;
    } rows[] = {{0, "0"},          {1, ".001"},   {500, ".5"},     {1000, "1"},
                {12345, "12.345"}, {-70, "-.07"}, {170000, "170"}, {-1010, "-1.01"}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_text text = {.data = NULL};
        ty_svg_put_um(&text, rows[i].um);
        ck_assert_str_eq(text.data, rows[i].text);
        ty_text_release(&text);
    }
}

TEST(no_text_breaks_the_file)
{
    static const struct {
        const char *text, *escaped;
    } rows[] = {
        {"a < b && \"c\" > d", "a &lt; b &amp;&amp; &quot;c&quot; &gt; d"},
        {"tab\tbell\a", "tab?bell?"},
        {"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x9A\x82", "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x9A\x82"},
        {"\xC3", "?"},           /* cut off */
        {"\xC0\xAF", "??"},      /* overlong */
        {"\xED\xA0\x80", "???"}, /* half of a pair */
        {"\xEF\xBF\xBF", "?"},   /* no character */
        {"\xF5\x80\x80\x80", "????"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_text text = {.data = NULL};
        ty_svg_put_escaped(&text, rows[i].text);
        ck_assert_str_eq(text.data, rows[i].escaped);
        ty_text_release(&text);
    }
}

TEST(an_axis_may_be_longer_than_the_run)
{
    const struct tiny shape = {.p = 2, .t = 1, .d = 1, .m = 3, .layers = 1, .unit = true};
    struct tiny_trace c;
    begin(&c, &shape);
    size_t n;
    char *alone = write_text(&c.trace, "svg", &n);
    c.trace.window_to = 2 * c.run.timeline.makespan;
    char *longer = write_text(&c.trace, "svg", &n);
    /* 12 ns: the last tick is 12, or 24; the figures are of the run in both */
    ck_assert_ptr_nonnull(strstr(alone, ">12</text>"));
    ck_assert_ptr_null(strstr(alone, ">24</text>"));
    ck_assert_ptr_nonnull(strstr(longer, ">20</text>"));
    ck_assert_ptr_nonnull(strstr(alone, ">12 ns, idle 25.0 %: fill 4.2, stall 12.5, drain 8.3<"));
    ck_assert_ptr_nonnull(strstr(longer, ">12 ns, idle 25.0 %: fill 4.2, stall 12.5, drain 8.3<"));
    free(alone);
    free(longer);
    tiny_release(&c.run);
}

TEST(a_stretch_in_which_nothing_happens_says_so)
{
    const struct tiny shape = {.p = 2, .t = 1, .d = 1, .m = 3, .layers = 1, .unit = true};
    struct tiny_trace c;
    begin(&c, &shape);
    c.trace.window_from = 2 * c.run.timeline.makespan;
    c.trace.window_to = 3 * c.run.timeline.makespan;
    size_t n;
    char *text = write_text(&c.trace, "svg", &n);
    ck_assert_ptr_nonnull(strstr(text, ">nothing happens</text>"));
    ck_assert_ptr_null(strstr(text, "nan"));
    free(text);
    tiny_release(&c.run);
}

TY_SUITE("svg")
