/* test_page.c - slices of a page add up to the statistics, start when what they waited for ends,
 * and come back from their columns as they went in. */
#include "model/vocabulary.h"
#include "traces/page/page.h"

#include "sim/core/analyse/crit.h"
#include "tests/unit/tiny_trace.h"

static const struct tiny shapes[] = {
    {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1},
    {.p = 1, .t = 4, .d = 2, .m = 3, .layers = 2, .data = true},
    {.p = 4, .t = 2, .d = 2, .m = 8, .layers = 2, .data = true, .recompute = true},
    {.p = 3, .t = 2, .d = 3, .m = 5, .layers = 1, .data = true, .steps = 3},
    {.p = 4, .t = 2, .d = 2, .m = 6, .layers = 2, .data = true, .jitter = 0.2, .seed = 3},
    {.p = 4, .t = 1, .d = 2, .m = 8, .layers = 1, .data = true, .gpipe = true},
    {.p = 4, .t = 1, .d = 2, .m = 8, .layers = 1, .scale = 333, .unit = true},
};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void collect(struct ty_page *page, struct tiny_trace *c, enum ty_detail detail)
{
    c->trace.detail = detail;
    const int rc = ty_page_collect(page, &c->trace, c->trace.timeline, NULL, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
}

static ty_ps end_of(const struct ty_page *page, uint32_t i)
{
    return page->slice[i].start + page->slice[i].dur;
}

TEST(slices_of_a_rank_sum_to_its_statistics)
{
    for (size_t n = 0; n < N_SHAPES; n++) {
        for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
            struct tiny_trace c;
            struct ty_page page;
            begin(&c, &shapes[n]);
            collect(&page, &c, (enum ty_detail)detail);
            ty_ps sum[256][TY_N_BUCKETS] = {{0}};
            for (uint32_t i = 0; i < page.n_slices; i++) {
                const struct ty_page_slice *s = &page.slice[i];
                if (page.kind[s->kind].sort == TY_PAGE_IDLE) {
                    sum[s->row][page.kind[s->kind].category] += s->dur;
                }
                ty_ps of_pass = 0;
                for (uint32_t b = 0; s->mix != TY_PAGE_NONE && b < TY_N_BUCKETS; b++) {
                    sum[s->row][b] += page.mix[s->mix].bucket[b];
                    of_pass += page.mix[s->mix].bucket[b];
                }
                /* a page writes only one of the two */
                ck_assert(s->mix == TY_PAGE_NONE || of_pass == s->dur);
            }
            for (uint32_t r = 0; r < c.trace.n_ranks; r++) {
                for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
                    ck_assert_uint_eq(sum[r][b], c.run.stats.rank[r].bucket[b]);
                }
            }
            ty_page_release(&page);
            tiny_release(&c.run);
        }
    }
}

TEST(slices_start_when_what_they_waited_for_ends)
{
    for (size_t n = 0; n < N_SHAPES; n++) {
        struct tiny_trace c;
        struct ty_page page;
        uint32_t n_causes = 0;
        begin(&c, &shapes[n]);
        collect(&page, &c, TY_DETAIL_OP);
        for (uint32_t i = 0; i < page.n_slices; i++) {
            const struct ty_page_slice *s = &page.slice[i];
            if (page.kind[s->kind].sort == TY_PAGE_IDLE) {
                continue;
            }
            ck_assert_uint_eq(s->via, TY_PAGE_NONE); /* everybody is shown */
            if (s->before == TY_PAGE_NONE) {
                ck_assert_uint_eq(s->start, 0);
                continue;
            }
            if (shapes[n].unit) { /* what takes no time is not shown, but gone through */
                ck_assert_uint_le(page.slice[s->before].start, s->start);
            } else {
                ck_assert_uint_eq(end_of(&page, s->before) + s->delay, s->start);
            }
            n_causes++;
        }
        ck_assert_uint_gt(n_causes, 0);
        ty_page_release(&page);
        tiny_release(&c.run);
    }
}

TEST(idle_time_before_a_pass_ends_with_what_it_waited_for)
{
    struct tiny_trace c;
    struct ty_page page;
    uint32_t n_idle = 0;
    begin(&c, &shapes[2]);
    collect(&page, &c, TY_DETAIL_LAYER); /* with all communication */
    for (uint32_t i = 0; i < page.n_slices; i++) {
        const struct ty_page_slice *s = &page.slice[i];
        const bool idle = page.kind[s->kind].sort == TY_PAGE_IDLE;
        if (idle && s->event != TY_NO_EVENT) {
            ck_assert_uint_ne(s->before, TY_PAGE_NONE);
            ck_assert_uint_ge(end_of(&page, s->before), end_of(&page, i));
            n_idle++;
        }
    }
    ck_assert_uint_gt(n_idle, 4);
    ty_page_release(&page);
    tiny_release(&c.run);
}

TEST(the_path_is_as_long_as_the_run_whoever_is_shown)
{
    for (size_t n = 0; n < N_SHAPES; n++) {
        for (uint32_t shown = 1; shown <= 2; shown++) {
            struct tiny_trace c;
            struct ty_page page;
            ty_ps sum = 0;
            begin(&c, &shapes[n]);
            c.trace.n_ranks = shown == 1 ? 1 : c.trace.n_ranks;
            collect(&page, &c, TY_DETAIL_MICROBATCH);
            for (uint32_t i = 0; i < page.n_path; i++) {
                sum += page.path[i].dur;
            }
            ck_assert_uint_eq(sum, c.run.timeline.makespan);
            ty_page_release(&page);
            tiny_release(&c.run);
        }
    }
}

/* The nearest shown slice that a slice leads back to, task by task. */
static uint32_t walk_back(const struct ty_page *page, uint32_t i)
{
    const struct ty_page_slice *s = &page->slice[i];
    struct ty_crit_task at = {.gang = page->seat[s->row].gang,
                              .member = page->seat[s->row].member,
                              .pass = s->pass,
                              .op = s->op};
    bool found = s->event != TY_NO_EVENT ? ty_critical_recorder(page->timeline, &at, s->event, &at)
                                         : ty_critical_cause(page->timeline, &at, &at);
    for (; found; found = ty_critical_cause(page->timeline, &at, &at)) {
        const struct ty_gang *gang = &page->program->gangs[at.gang];
        const uint32_t row = page->row_of[gang->rank_of[at.member]];
        const uint32_t ordinal = ty_gang_passes(page->program, gang)[at.pass].first_op + at.op;
        if (row != TY_PAGE_NONE && page->slice_of[row][ordinal] != TY_PAGE_NONE) {
            return page->slice_of[row][ordinal];
        }
    }
    return TY_PAGE_NONE;
}

TEST(what_is_not_shown_is_gone_around)
{
    /* stages 0 and 3 of four: their messages go by way of the others */
    struct tiny_trace c;
    struct ty_page page;
    const struct tiny shape = {.p = 4, .t = 1, .d = 1, .m = 6, .layers = 1};
    uint32_t n_by_way = 0;
    begin(&c, &shape);
    c.ranks[1] = 3;
    c.trace.n_ranks = 2;
    collect(&page, &c, TY_DETAIL_STAGE);
    for (uint32_t i = 0; i < page.n_slices; i++) {
        const struct ty_page_slice *s = &page.slice[i];
        if (s->via != TY_PAGE_NONE) {
            ck_assert(s->via == 1 || s->via == 2);
            ck_assert_uint_eq(s->how, TY_PAGE_HOW_MESSAGE);
            ck_assert_uint_ne(s->before, TY_PAGE_NONE);
            ck_assert_uint_eq(s->before, walk_back(&page, i));
            n_by_way++;
        }
    }
    ck_assert_uint_gt(n_by_way, 6);
    ty_page_release(&page);
    tiny_release(&c.run);
}

TEST(strings_cannot_end_the_element_they_are_in)
{
    struct temp_dir dir;
    struct ty_out out;
    size_t n;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "strings");
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    struct ty_json json = ty_out_html_json(&out);
    ty_json_text(&json, NULL, "</script>&\"\\\n\xc3\xa9");
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    char *text = file_text(path, &n);
    ck_assert_str_eq(text, "\"\\u003c/script\\u003e\\u0026\\\"\\\\\\u000a\xc3\xa9\"");
    free(text);
    temp_dir_remove(&dir);
}

TY_SUITE("page")
