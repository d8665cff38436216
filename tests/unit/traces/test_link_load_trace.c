/* test_link_load_trace.c - counters of traces add up to what links carry. */
#include <string.h>

#include "sim/report/links.h"
#include "sim/run/links.h"
#include "tests/unit/json_tree.h"
#include "tests/unit/link_load_runs.h"
#include "tests/unit/temp_dir.h"
#include "traces/out/writer.h"

static struct ty_err err;

/* ---- traces ---- */

#define SWITCHES 63u /* in the place of a node */

struct load {
    double bytes[64][TY_N_LINK_CLASSES]; /* by node */
    double value[64][TY_N_LINK_CLASSES], since[64][TY_N_LINK_CLASSES];
    size_t n;
};

/* Adds up the counters of a trace, event by event in the order of the file. */
static void read_counters(const struct quick_run *q, const char *detail, const char *window,
                          struct load *out)
{
    struct temp_dir dir;
    struct ty_arena arena = {.head = NULL};
    char target[256], why[256], *note;
    size_t n;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "trace.json");
    const struct ty_trace_options options = {
        .detail = detail, .ranks = "all", .window = window, .counters = "net"};
    snprintf(target, sizeof(target), "chrome:%s", path);
    ck_assert_msg(ty_run_trace(q->run, target, &options, &note, &err) == 0, "%s", err.text);
    ty_text_free(note);
    char *text = file_text(path, &n);
    const struct js *root = js_parse(&arena, text, n, why, sizeof(why));
    ck_assert_msg(root != NULL, "%s", why);
    *out = (struct load){.n = 0};
    for (const struct js *e = js_need(root, "traceEvents")->first; e != NULL; e = e->next) {
        uint32_t class = 0;
        ck_assert(!js_is(js_get(e, "name"), "memory"));
        if (!js_is(js_get(e, "ph"), "C")) {
            continue;
        }
        while (!js_is(js_get(e, "name"), ty_link_class_title((enum ty_link_class) class))) {
            ck_assert_uint_lt(++class, TY_N_LINK_CLASSES);
        }
        const unsigned long pid = strtoul(js_need(e, "pid")->raw, NULL, 10);
        const uint32_t node = pid == 1 ? SWITCHES : (uint32_t)pid - 100;
        const double t = strtod(js_need(e, "ts")->raw, NULL);
        ck_assert_uint_lt(node, 64);
        ck_assert(out->value[node][class] == 0 || t > out->since[node][class]);
        out->bytes[node][class] += out->value[node][class] * 1e3 * (t - out->since[node][class]);
        out->value[node][class] = strtod(js_need(js_get(e, "args"), "GB/s")->raw, NULL);
        out->since[node][class] = t;
        out->n++;
    }
    free(text);
    temp_dir_remove(&dir);
    ty_arena_release(&arena);
}

TEST(a_counter_times_time_is_bytes_and_ends_at_zero)
{
    static const char *const details[] = {"stage", "layer"};
    uint32_t between = 0;
    for (size_t v = 0; v < TY_COUNT(variants); v++) {
        struct quick_run q = run_variant(v, NULL);
        const struct ty_program *p = &q.run->lowered.program;
        struct naive *naive = naive_links(&q.run->all);
        for (size_t d = 0; d < TY_COUNT(details); d++) {
            struct load load;
            double want[64][TY_N_LINK_CLASSES] = {{0}};
            for (uint32_t l = 0; l < p->n_links; l++) {
                const uint32_t node = p->links[l].node;
                want[node == TY_NO_NODE ? SWITCHES : node][p->links[l].class] += naive[l].bytes;
            }
            read_counters(&q, details[d], NULL, &load);
            for (uint32_t n = 0; n < 64; n++) {
                for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
                    ck_assert(load.value[n][c] == 0);
                    ASSERT_NEAR(load.bytes[n][c], want[n][c], 1e-6);
                }
            }
            between += load.bytes[SWITCHES][TY_LINK_LEAF] > 0;
            ck_assert_uint_le(d == 0 ? load.n : 0, 5 * 4098 * TY_N_LINK_CLASSES);
        }
        for (uint32_t l = 0; l < p->n_links; l++) {
            free(naive[l].edge);
        }
        free(naive);
        quick_run_free(&q);
    }
    ck_assert_uint_ge(between, 4);
}

TEST(windows_cut_a_counter_into_what_adds_up_again)
{
    static const char *const windows[] = {"0 s:0.1 s", "0.1 s:0.15 s", "0.15 s:100 s"};
    struct quick_run q = run_variant(0, NULL);
    struct load whole, part;
    double sum[64][TY_N_LINK_CLASSES] = {{0}};
    ck_assert(ty_s_from_ps(q.run->timeline.makespan) > 0.2);
    for (size_t w = 0; w < TY_COUNT(windows); w++) {
        read_counters(&q, "layer", windows[w], &part);
        ck_assert_uint_gt(part.n, 0);
        for (uint32_t n = 0; n < 64; n++) {
            for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
                sum[n][c] += part.bytes[n][c];
                ck_assert(part.value[n][c] == 0);
            }
        }
    }
    read_counters(&q, "layer", NULL, &whole);
    for (uint32_t n = 0; n < 64; n++) {
        for (uint32_t c = 0; c < TY_N_LINK_CLASSES; c++) {
            ASSERT_NEAR(sum[n][c], whole.bytes[n][c], 1e-6);
        }
    }
    quick_run_free(&q);
}

TEST(the_estimate_of_a_trace_counts_the_values_of_links)
{
    for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_LAYER; detail++) {
        struct quick_run q = run_variant(0, NULL);
        const struct ty_link_load *load;
        struct ty_out out;
        const uint32_t ranks[] = {0, 9};
        struct ty_trace trace = {.timeline = &q.run->all,
                                 .stats = &q.run->stats,
                                 .ranks = ranks,
                                 .n_ranks = 2,
                                 .detail = (enum ty_detail)detail,
                                 .window_to = UINT64_MAX,
                                 .counters = TY_COUNTERS_NONE};
        ck_assert_int_eq(ty_run_link_load(q.run, &load, &err), 0);
        trace.link_load = load;
        const double without = ty_trace_chrome.estimate(&trace);
        ck_assert_int_eq(ty_out_open(&out, "null:", &err), 0);
        ck_assert_int_eq(ty_trace_chrome.write(&trace, &out, &err), 0);
        ck_assert_int_eq(ty_out_commit(&out, &err), 0);
        const double base = (double)out.total;
        trace.counters = TY_COUNTERS_NET;
        const double with = ty_trace_chrome.estimate(&trace);
        ck_assert_int_eq(ty_out_open(&out, "null:", &err), 0);
        ck_assert_int_eq(ty_trace_chrome.write(&trace, &out, &err), 0);
        ck_assert_int_eq(ty_out_commit(&out, &err), 0);
        const double ratio = (with - without) / ((double)out.total - base);
        ck_assert_msg(ratio < 1.5 && ratio > 1 / 1.5, "detail %d: %g", detail, ratio);
        quick_run_free(&q);
    }
}

TY_SUITE("load in traces")
