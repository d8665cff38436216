/* test_trace_matrix.c - traces of every schedule at every detail, of many ranks, orders and
 * windows: every rule holds, both formats hold the same, sums are those of the timeline, messages
 * are as many as their closed forms say. */
#include "tests/common/quick_run.h"
#include "tests/unit/broken_trace.h"
#include "tests/unit/native_trace.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char yaml[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                           "model: {preset: gpt3-1.3b, layers: 8, tied: false}\n"
                           "layout: {tensor: 2, pipeline: 4, micro_batch: 1, global_batch: 16}\n";
enum {
    P = 4,
    M = 8,
    REPLICAS = 4 /* tensor x data */
};

/* Messages of a micro-batch in either direction: one for every boundary between virtual stages that
 * lies between ranks. A V turns round on the last rank; slices of a sequence travel alone. */
static const struct schedule {
    const char *name, *chunks, *slices;
    unsigned boundaries;
} schedules[] = {
    {"gpipe", "1", "1", P - 1},
    {"1f1b", "1", "1", P - 1},
    {"eager-1f1b", "1", "1", P - 1},
    {"interleaved", "2", "1", 2 * P - 1},
    {"bfs", "2", "1", 2 * P - 1},
    {"zb-1p", "1", "1", P - 1},
    {"zb-2p", "1", "1", P - 1},
    {"zb-v", "2", "1", 2 * P - 2},
    {"v-half", "2", "1", 2 * P - 2},
    {"v-min", "2", "1", 2 * P - 2},
    {"interleaved-zb", "2", "1", 2 * P - 1},
    {"chimera", "1", "1", P - 1},
    {"dualpipe", "1", "1", P - 1},
    {"dualpipev", "2", "1", 2 * P - 2},
    {"seq1f1b", "1", "2", 2 * (P - 1)},
    {"pipedream", "1", "1", P - 1},
    {"pipedream-2bw", "1", "1", P - 1},
};
#define N_SCHEDULES ((int)(sizeof(schedules) / sizeof(schedules[0])))

static const char *const details[] = {"stage", "microbatch", "layer", "op"};

static struct quick_run run_schedule(const struct schedule *s)
{
    char name[64], chunks[64], slices[64];
    snprintf(name, sizeof(name), "schedule.name=%s", s->name);
    snprintf(chunks, sizeof(chunks), "schedule.chunks=%s", s->chunks);
    snprintf(slices, sizeof(slices), "schedule.slices=%s", s->slices);
    const char *const sets[] = {name, chunks, slices, NULL};
    return quick_run(yaml, NULL, sets);
}

static char *write_trace(const struct quick_run *q, const char *format,
                         const struct ty_trace_options *options, size_t *n)
{
    struct temp_dir dir;
    struct ty_err *err = ty_err_new();
    char target[512];
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "trace");
    snprintf(target, sizeof(target), "%s:%s", format, path);
    ck_assert_msg(ty_run_trace(q->run, target, options, NULL, err) == 0, "%s", ty_err_text(err));
    ty_err_free(err);
    char *text = file_text(path, n);
    temp_dir_remove(&dir);
    return text;
}

struct checked {
    struct rules rules;
    char *text;
};

/* Both formats; the Chrome trace keeps the rules, and the other one has the same events. */
static struct checked check_both(const struct quick_run *q, const struct ty_trace_options *options)
{
    struct checked c;
    struct bag chrome = {.n = 0}, native = {.n = 0};
    size_t n, m;
    c.text = write_trace(q, "chrome", options, &n);
    ck_assert_msg(rules_check(&c.rules, c.text, n), "%s", c.rules.why);
    chrome_bag(&c.rules, &chrome);
    char *data = write_trace(q, "perfetto", options, &m);
    const char *why = native_bag(data, m, &native);
    ck_assert_msg(why == NULL, "%s", why);
    const char *missing = bag_missing(&chrome, &native);
    ck_assert_msg(missing == NULL, "not in the native trace: %.200s", missing);
    ck_assert_uint_eq(chrome.n, native.n);
    bag_free(&chrome);
    bag_free(&native);
    free(data);
    return c;
}

static void checked_free(struct checked *c)
{
    rules_release(&c->rules);
    free(c->text);
}

TESTS(every_schedule_detail_and_selection_keeps_the_rules, N_SCHEDULES)
{
    static const char *const ranks[] = {"all",       "0-5,9",         "dp=0",
                                        "tp=0,dp=0", "one-per-stage", "slowest:3"};
    static const size_t shown[] = {16, 7, 8, 4, 4, 3};
    struct quick_run q = run_schedule(&schedules[_i]);
    for (int d = 0; d < 4; d++) {
        for (size_t r = 0; r < sizeof(ranks) / sizeof(ranks[0]); r++) {
            if (((size_t)d + r + (size_t)_i) % 6 != 0 && !suite_whole()) {
                continue;
            }
            const struct ty_trace_options options = {.ranks = ranks[r], .detail = details[d]};
            struct checked c = check_both(&q, &options);
            ck_assert_uint_eq(c.rules.n_ranks, shown[r]);
            ck_assert_uint_eq(c.rules.n_holes, 0);
            ck_assert_uint_eq(c.rules.n_lonely, 0);
            ck_assert_uint_eq(c.rules.from, 0); /* busy and idle make the makespan */
            ck_assert_uint_eq(c.rules.to, q.run->timeline.makespan / 1000);
            ck_assert_uint_eq(c.rules.path, q.run->timeline.makespan / 1000);
            checked_free(&c);
        }
    }
    quick_run_free(&q);
}

/* pp, node and rank of the process with that place in the order. */
static void place(const struct rules *r, size_t index, unsigned at[3])
{
    for (size_t i = 0; i < r->n_namings; i++) {
        const struct rules_event *e = &r->namings[i];
        unsigned long long found;
        if (!js_is(e->name, "process_sort_index") || e->pid < RULES_RANK ||
            !js_whole(js_get(e->args, "sort_index"), &found) || found != index) {
            continue;
        }
        for (size_t k = 0; k < r->n_namings; k++) {
            const struct rules_event *m = &r->namings[k];
            if (m->pid == e->pid && js_is(m->name, "process_name")) {
                ck_assert_int_eq(sscanf(js_need(m->args, "name")->raw,
                                        "rank %u \xc2\xb7 pp%u dp%*u tp%*u \xc2\xb7 node%u/",
                                        &at[2], &at[0], &at[1]),
                                 3);
                return;
            }
        }
    }
    ck_abort_msg("nobody has place %zu", index);
}

TESTS(every_order_and_window_keeps_the_rules, N_SCHEDULES)
{
    static const char *const orders[] = {"stage", "node", "rank"};
    struct quick_run q = run_schedule(&schedules[_i]);
    const double end = ty_s_from_ps(q.run->timeline.makespan);
    for (int k = 0; k < 12; k++) {
        if ((k + _i) % 3 != 0 && !suite_whole()) { /* one order, all details */
            continue;
        }
        const int fifth = k / 3;
        char window[64];
        snprintf(window, sizeof(window), "%.9fs:%.9fs", end * fifth / 5, end * (fifth + 2) / 5);
        const struct ty_trace_options options = {
            .order = orders[k % 3], .window = window, .detail = details[k % 4], .ranks = "all"};
        struct checked c = check_both(&q, &options);
        ck_assert_uint_eq(c.rules.n_holes, 0);
        ck_assert_uint_eq(c.rules.path, c.rules.to - c.rules.from);
        unsigned before[3] = {0, 0, 0}, at[3] = {0, 0, 0};
        for (size_t i = 0; i < c.rules.n_ranks; i++) {
            place(&c.rules, i, at);
            ck_assert_uint_ge(at[k % 3], before[k % 3]);
            memcpy(before, at, sizeof(at));
        }
        checked_free(&c);
    }
    quick_run_free(&q);
}

TESTS(messages_are_as_many_as_their_closed_form, N_SCHEDULES)
{
    const struct schedule *s = &schedules[_i];
    struct quick_run q = run_schedule(s);
    const struct ty_trace_options options = {.ranks = "all", .detail = "microbatch"};
    struct checked c = check_both(&q, &options);
    ck_assert_uint_eq(c.rules.n_flows, 2 * (size_t)s->boundaries * M * REPLICAS);
    checked_free(&c);
    quick_run_free(&q);
}

/* Nanoseconds by row and category: single tasks, which on the compute row are the slices that
 * nothing is inside of. */
struct sums {
    uint64_t ns[16][TY_N_STREAMS][TY_N_CATEGORIES];
};

static void add_slice(struct sums *sums, const struct rules_event *e)
{
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        for (uint32_t c = 0; c < TY_N_CATEGORIES; c++) {
            if (e->tid == 11 + s && js_is(e->cat, ty_transformer_words.categories[c].name)) {
                sums->ns[e->pid - RULES_RANK][s][c] += e->dur;
            }
        }
    }
}

TESTS(sums_by_rank_and_kind_are_those_of_the_statistics, N_SCHEDULES)
{
    static struct sums ours, theirs;
    struct quick_run q = run_schedule(&schedules[_i]);
    const struct ty_trace_options options = {.ranks = "all", .detail = "op"};
    struct checked c = check_both(&q, &options);
    memset(&ours, 0, sizeof(ours));
    memset(&theirs, 0, sizeof(theirs));
    for (size_t i = 0; i < c.rules.n_slices; i++) {
        const struct rules_event *e = &c.rules.events[i], *next = e + 1;
        const bool inside = i + 1 < c.rules.n_slices && next->pid == e->pid &&
                            next->tid == e->tid && next->ts < e->ts + e->dur;
        if (e->pid >= RULES_RANK && !inside) {
            add_slice(&ours, e);
        }
    }
    for (uint32_t rank = 0; rank < 16; rank++) { /* cut as in the file, from the timeline itself */
        struct ty_span_cursor cursor = ty_spans_of(&q.run->timeline, rank);
        struct ty_span span;
        ty_ps busy[TY_N_STREAMS] = {0};
        while (ty_span_next(&cursor, &span)) {
            theirs.ns[rank][span.op->stream][span.kind->category] +=
                (span.start + span.dur) / 1000 - span.start / 1000;
            busy[span.op->stream] += span.dur;
        }
        for (uint32_t s = 0; s < TY_N_STREAMS; s++) { /* and that is what the statistics sum up */
            ck_assert_uint_eq(busy[s], q.run->stats.rank[rank].stream_busy[s]);
        }
    }
    ck_assert_mem_eq(&ours, &theirs, sizeof(ours));
    checked_free(&c);
    quick_run_free(&q);
}

TEST(a_difference_between_the_formats_is_noticed)
{
    static const struct broken rows[] = {
        {"\"mb\":0,\"stage\":0", "\"mb\":0,\"stage\":1", "", 0},
        {"\"name\":\"forward 0\"", "\"name\":\"forward 1\"", "", 0},
        {"\"cat\":\"compute.forward\"", "\"cat\":\"compute.backward\"", "", 0},
        {"\"critical\":true", "\"more\":true", "", 0},
        {"\"id\":1,", "\"id\":1000001,", "", 1},
        {"\"name\":\"pipeline send\"", "\"name\":\"send\"", "", 0},
        {"\"tid\":14,\"ts\":", "\"tid\":14,\"ts\":1", "", 0},
        {"\"name\":\"step start\"", "\"name\":\"step begin\"", "", 0},
        {"\"dur\":", "\"dur\":1", "", 0},
    };
    struct quick_run q = run_schedule(&schedules[1]);
    const struct ty_trace_options options = {
        .ranks = "tp=0,dp=0", .detail = "microbatch", .args = "full"};
    size_t n, m;
    char *text = write_trace(&q, "chrome", &options, &n);
    char *data = write_trace(&q, "perfetto", &options, &m);
    struct bag native = {.n = 0};
    ck_assert_ptr_null(native_bag(data, m, &native));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *copy = broken_text(text, &rows[i]);
        struct bag chrome = {.n = 0};
        struct rules rules;
        rules_check(&rules, copy, strlen(copy)); /* some differences break rules, too */
        chrome_bag(&rules, &chrome);
        ck_assert_msg(chrome.n == 0 || bag_missing(&chrome, &native) != NULL, "%s", rows[i].with);
        rules_release(&rules);
        bag_free(&chrome);
        free(copy);
    }
    bag_free(&native);
    for (size_t cut = 1; cut < 40; cut++) { /* a file that ends early */
        struct bag half = {.n = 0};
        ck_assert_ptr_nonnull(native_bag(data, m - cut, &half));
        bag_free(&half);
    }
    free(text);
    free(data);
    quick_run_free(&q);
}

TY_SUITE("trace_matrix")
