/* test_figures.c - the table of figures: what its rows promise each other, and that reports and
 * ty_run_figure read the same. */
#include "sim/run/figures.h"

#include <string.h>

#include "tests/common/quick_run.h"
#include "tests/unit/json_tree.h"
#include "tests/unit/suite.h"

static const char yaml[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                           "model: {preset: llama-7b, layers: 4, sequence: 512}\n"
                           "layout: {tensor: 2, pipeline: 2, global_batch: 8}\n"
                           "fleet: {tokens: 1e12, price: 2.5}\n";

TEST(a_row_says_all_that_is_shown_of_it)
{
    for (uint32_t i = 0; i < ty_n_figures; i++) {
        const struct ty_figure_row *row = &ty_figure_table[i];
        const bool people_only = row->in[TY_IN_TABLE].at > 0 && row->name == NULL;
        ck_assert_msg(people_only || (row->name != NULL && row->doc != NULL), "row %u", i);
        ck_assert(row->name == NULL || ty_figure_row(row->name) == row);
        for (enum ty_figure_place place = 0; place < TY_N_FIGURE_PLACES; place++) {
            const bool labelled =
                place == TY_IN_TABLE || place == TY_IN_PAGE || place == TY_IN_BEST;
            ck_assert_msg(!labelled || row->in[place].at == 0 || row->in[place].label != NULL,
                          "row %u, place %u", i, (unsigned)place);
        }
        /* what a sweep shows is read back from what it wrote, and a page from its JSON */
        ck_assert_msg(row->in[TY_IN_BEST].at == 0 || row->in[TY_IN_SWEEP].at > 0, "row %u", i);
        ck_assert_msg(row->in[TY_IN_PAGE].at == 0 || row->in[TY_IN_JSON].at > 0, "row %u", i);
    }
}

TEST(columns_that_are_asked_for_stand_behind_the_others)
{
    const struct ty_figure_row *rows[TY_FIGURES_MAX];
    const uint32_t n = ty_figure_rows(TY_IN_SWEEP, rows);
    ck_assert_uint_gt(n, 8);
    for (uint32_t i = 1; i < n; i++) {
        ck_assert_msg(!rows[i - 1]->asked || rows[i]->asked, "%s", rows[i]->name);
        ck_assert_int_le(rows[i - 1]->in[TY_IN_SWEEP].at, rows[i]->in[TY_IN_SWEEP].at);
    }
}

TEST(json_and_the_library_have_the_same_figures)
{
    struct quick_run q = quick_run(yaml, NULL, NULL);
    struct ty_arena arena = {.head = NULL};
    char *text, why[128];
    uint32_t n = 0;
    ck_assert_int_eq(ty_run_report(q.run, "json", &text, NULL), 0);
    const struct js *root = js_parse(&arena, text, strlen(text), why, sizeof(why));
    ck_assert_msg(root != NULL, "%s", why);
    for (uint32_t i = 0; i < ty_n_figures; i++) {
        const struct ty_figure_row *row = &ty_figure_table[i];
        double value;
        if (row->in[TY_IN_JSON].at > 0) {
            ck_assert_int_eq(ty_run_figure(q.run, row->name, &value, NULL), 0);
            ck_assert_msg(strtod(js_need(root, row->name)->raw, NULL) == value, "%s", row->name);
            n++;
        }
    }
    ck_assert_uint_gt(n, 12);
    ty_text_free(text);
    ty_arena_release(&arena);
    quick_run_free(&q);
}

TY_SUITE("figures")
