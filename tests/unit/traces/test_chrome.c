/* test_chrome.c - Chrome traces of small programs keep every rule of trace_rules.h. */
#include "model/vocabulary.h"
#include "traces/out/writer.h"

#include "tests/unit/chrome_text.h"

static const struct tiny shapes[] = {
    {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1},
    {.p = 1, .t = 4, .d = 2, .m = 3, .layers = 2, .data = true},
    {.p = 2, .t = 1, .d = 1, .m = 4, .layers = 1, .recompute = true},
    {.p = 4, .t = 2, .d = 2, .m = 8, .layers = 2, .data = true, .recompute = true},
    {.p = 3, .t = 2, .d = 3, .m = 5, .layers = 1, .data = true, .steps = 3},
    {.p = 4, .t = 2, .d = 2, .m = 6, .layers = 2, .data = true, .jitter = 0.2, .seed = 3},
    /* durations around and below a nanosecond: many slices round to nothing */
    {.p = 4, .t = 2, .d = 1, .m = 6, .layers = 2, .data = true, .scale = 1, .jitter = 0.3},
    {.p = 4, .t = 1, .d = 2, .m = 8, .layers = 1, .data = true, .scale = 333, .unit = true},
};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

TEST(every_shape_and_detail_keeps_the_rules)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        struct tiny_trace c;
        begin(&c, &shapes[i]);
        for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
            for (int bubbles = 0; bubbles < 2; bubbles++) {
                struct rules rules;
                c.trace.detail = (enum ty_detail)detail;
                c.trace.bubbles = bubbles == 1;
                free(checked(&c.trace, &rules));
                ck_assert_uint_eq(rules.n_ranks, c.run.program.n_ranks);
            }
        }
        tiny_release(&c.run);
    }
}

TEST(busy_and_idle_make_the_makespan_on_every_rank)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        struct tiny_trace c;
        struct rules rules;
        begin(&c, &shapes[i]);
        free(checked(&c.trace, &rules));
        if (rules.n_bubbles > 0) { /* rules: rows without holes, all of this extent */
            ck_assert_uint_eq(rules.from, 0);
            ck_assert_uint_eq(rules.to, c.run.timeline.makespan / 1000);
        } else {
            ck_assert_uint_eq(i, 0); /* one rank, one micro-batch: nothing to wait for */
        }
        tiny_release(&c.run);
    }
}

TEST(bubbles_last_as_long_as_the_statistics_say)
{
    /* without tensor collectives, every gap lies between passes */
    struct tiny_trace c;
    struct rules rules;
    const struct tiny shape = {
        .p = 4, .t = 1, .d = 2, .m = 8, .layers = 3, .unit = true, .scale = 1000000, .data = true};
    begin(&c, &shape);
    free(checked(&c.trace, &rules));
    ty_ps idle = 0;
    for (uint32_t r = 0; r < c.run.program.n_ranks; r++) {
        idle += c.run.timeline.makespan - c.run.stats.rank[r].stream_busy[TY_STREAM_COMPUTE];
    }
    ck_assert_uint_eq(rules.idle * 1000, idle);
    tiny_release(&c.run);
}

TEST(every_message_between_shown_ranks_has_its_arrow)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        const struct tiny *s = &shapes[i];
        struct tiny_trace c;
        struct rules rules;
        const size_t steps = s->steps == 0 ? 1 : s->steps;
        const size_t messages = 2 * (size_t)(s->p - 1) * s->m * steps * s->t * s->d;
        begin(&c, s);
        free(checked(&c.trace, &rules));
        if (s->scale == 0) {
            ck_assert_uint_eq(rules.n_flows, messages);
        } else if (s->unit) {
            ck_assert_uint_eq(rules.n_flows, 0); /* messages take no time: no slices */
        }
        tiny_release(&c.run);
    }
}

TEST(only_listed_ranks_are_shown_in_the_order_listed)
{
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[3]); /* ranks of stage s: 2 s, 2 s + 1, 8 + 2 s, 8 + 2 s + 1 */
    const uint32_t chosen[] = {9, 2, 0, 14};
    c.trace.ranks = chosen;
    c.trace.n_ranks = 4;
    char *text = checked(&c.trace, &rules);
    ck_assert_uint_eq(rules.n_ranks, 4);
    ck_assert_uint_eq(count(text, "\"pid\":1009,\"tid\":11,\"args\":{\"sort_index\":0}"), 1);
    ck_assert_uint_eq(count(text, "\"pid\":1014,\"tid\":11,\"args\":{\"sort_index\":3}"), 1);
    ck_assert_uint_eq(count(text, "\"pid\":1001,"), 0);
    ck_assert_uint_eq(rules.n_flows, 2 * 8);           /* between 0 and 2 only */
    ck_assert_uint_gt(count(text, "\"peer\":11}"), 0); /* hidden peers are still named */
    free(text);
    tiny_release(&c.run);
}

TEST(a_rank_that_does_not_exist_is_refused)
{
    struct tiny_trace c;
    struct ty_out out;
    begin(&c, &shapes[0]);
    c.ranks[0] = 7;
    ck_assert_int_eq(ty_out_open(&out, "null:", &err), 0);
    ck_assert_int_eq(ty_trace_chrome.write(&c.trace, &out, &err), TY_EBUG);
    ck_assert_str_eq(err.text, "trace: rank 7 does not exist or is listed twice");
    ty_out_discard(&out);
    tiny_release(&c.run);
}

TEST(a_window_clips_slices_and_keeps_the_rules)
{
    for (size_t i = 1; i < N_SHAPES; i++) {
        struct tiny_trace c;
        begin(&c, &shapes[i]);
        const ty_ps makespan = c.run.timeline.makespan;
        for (unsigned k = 0; k < 8; k++) {
            struct rules rules;
            c.trace.window_from = makespan * k / 11;
            c.trace.window_to = makespan * (k + 3) / 11;
            char *text = checked(&c.trace, &rules);
            if (rules.n_bubbles > 0) {
                ck_assert_uint_eq(rules.from, c.trace.window_from / 1000);
                ck_assert_uint_eq(rules.to, c.trace.window_to / 1000);
            }
            ck_assert_uint_ge(rules.n_counters, rules.n_ranks);
            free(text);
        }
        tiny_release(&c.run);
    }
}

TEST(a_window_beyond_the_end_shows_ranks_without_slices)
{
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[3]);
    c.trace.window_from = c.run.timeline.makespan + 1000;
    free(checked(&c.trace, &rules));
    ck_assert_uint_eq(rules.n_slices, 0);
    ck_assert_uint_eq(rules.n_flows, 0);
    ck_assert_uint_eq(rules.n_ranks, 16);
    tiny_release(&c.run);
}

TEST(detail_adds_slices_and_never_changes_those_above)
{
    struct tiny_trace c;
    size_t before = 0;
    begin(&c, &shapes[3]);
    for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
        struct rules rules;
        c.trace.detail = (enum ty_detail)detail;
        char *text = checked(&c.trace, &rules);
        const bool messages = detail >= TY_DETAIL_MICROBATCH, layers = detail >= TY_DETAIL_LAYER;
        ck_assert_uint_gt(rules.n_slices, before);
        before = rules.n_slices;
        ck_assert_uint_eq(count(text, "{\"name\":\"forward "), 16 * 8);
        ck_assert_uint_eq(count(text, "{\"name\":\"backward "), 16 * 8);
        ck_assert_uint_eq(count(text, "{\"name\":\"optimizer step\""), 16);
        ck_assert_uint_eq(count(text, "{\"name\":\"send "), messages ? 2 * 3 * 8 * 4 : 0);
        ck_assert_uint_eq(count(text, "{\"name\":\"reduce-scatter\""), messages ? 16 : 0);
        ck_assert_uint_eq(count(text, "\"cat\":\"comm.tp\""), layers ? 16 * 8 * 2 * 4 : 0);
        ck_assert_uint_eq(count(text, "{\"name\":\"attention\""), layers ? 16 * 8 * 2 * 2 : 0);
        ck_assert_uint_eq(count(text, "{\"name\":\"recompute\""), layers ? 16 * 8 * 2 : 0);
        ck_assert_uint_eq(count(text, "{\"name\":\"qkv\""),
                          detail == TY_DETAIL_OP ? 16 * 8 * 2 * 2 : 0);
        free(text);
    }
    tiny_release(&c.run);
}

TEST(events_are_written_exactly_so)
{
    static const char *const lines[] = {
        "\n{\"name\":\"forward 0\",\"cat\":\"compute.forward\",\"cname\":\"thread_state_running\","
        "\"ph\":\"X\",\"tid\":11,\"args\":{\"mb\":0,\"stage\":1,\"layers\":\"2-3\"},\"pid\":1002,"
        "\"ts\":2250.000,\"dur\":2089.9999},\n",
        "\n{\"name\":\"all-reduce\",\"cat\":\"comm.tp\",\"cname\":\"thread_state_iowait\",\"ph\":"
        "\"X\",\"tid\":12,\"args\":{\"layer\":2,\"mb\":0,\"bytes\":33554432,\"algo\":\"ring\","
        "\"seq\":4,\"group\":\"tp 2\"},\"pid\":1003,\"ts\":2710.000,\"dur\":69.9999},\n",
        "\n{\"name\":\"recv 0\",\"cat\":\"comm.pp\",\"cname\":\"thread_state_uninterruptible\","
        "\"ph\":\"X\",\"tid\":15,\"args\":{\"mb\":0,\"bytes\":33554432,\"algo\":\"ring\",\"peer\":"
        "1},\"pid\":1003,\"ts\":2240.000,\"dur\":9.9999},\n",
        "\n{\"name\":\"bubble\",\"cat\":\"bubble\",\"cname\":\"grey\",\"ph\":\"X\",\"tid\":11,"
        "\"args\":{\"why\":\"first micro-batch: recv act 0\",\"kind\":\"fill\"},\"pid\":1002,"
        "\"ts\":0.000,\"dur\":2159.9999},\n",
        "\n{\"name\":\"bubble\",\"cat\":\"bubble\",\"cname\":\"grey\",\"ph\":\"X\",\"tid\":11,"
        "\"args\":{\"why\":\"recv act 0\",\"kind\":\"exposed p2p\"},\"pid\":1002,"
        "\"ts\":2160.000,\"dur\":89.9999},\n",
        "\n{\"name\":\"memory\",\"ph\":\"C\",\"args\":{"
        "\"weights_GB\":10,\"grads_GB\":20,\"optimizer_GB\":30,\"activations_GB\":2.75},"
        "\"pid\":1002,\"ts\":2250.000},\n",
        "\n{\"name\":\"act 0\",\"cat\":\"p2p\",\"id\":1,\"ph\":\"s\",\"pid\":1000,\"tid\":14,"
        "\"ts\":2239.999},\n",
        "\n{\"name\":\"act 0\",\"cat\":\"p2p\",\"id\":1,\"ph\":\"f\",\"bp\":\"e\",\"pid\":1002,"
        "\"tid\":15,\"ts\":2240.000},\n",
        "\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1003,\"tid\":14,\"args\":{\"name\":"
        "\"pipeline send\"}},\n",
    };
    const struct tiny shape = {.p = 2, .t = 2, .d = 1, .m = 2, .layers = 2};
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shape);
    char *text = checked(&c.trace, &rules);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ck_assert_msg(strstr(text, lines[i]) != NULL, "missing: %s", lines[i]);
    }
    free(text);
    tiny_release(&c.run);
}

TEST(bubbles_say_what_they_wait_for)
{
    static const char *const reasons[] = {
        "{\"why\":\"first micro-batch: recv act 0\",\"kind\":\"fill\"}",
        "{\"why\":\"recv grad 3\",\"kind\":\"stall\"}",
        "{\"why\":\"recv grad 3\",\"kind\":\"exposed p2p\"}",
        "{\"why\":\"other stages\",\"kind\":\"drain\"}",
        "{\"why\":\"all-reduce\",\"kind\":\"exposed data\"}",
        "{\"why\":\"all-reduce\",\"kind\":\"exposed tensor\"}",
        "{\"why\":\"data communication\",\"kind\":\"exposed data\"}",
    };
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[3]);
    char *text = checked(&c.trace, &rules);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        ck_assert_msg(strstr(text, reasons[i]) != NULL, "missing: %s", reasons[i]);
    }
    free(text);
    tiny_release(&c.run);
}

TEST(the_counter_peaks_where_the_statistics_do)
{
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[3]);
    char *text = checked(&c.trace, &rules);
    double peak = 0; /* of rank 0: first stage */
    for (const char *p = strstr(text, "\"activations_GB\":"); p != NULL;
         p = strstr(p + 1, "\"activations_GB\":")) {
        double value;
        unsigned pid;
        ck_assert_int_eq(sscanf(p, "\"activations_GB\":%lf},\"pid\":%u", &value, &pid), 2);
        peak = pid == 1000 && value > peak ? value : peak;
    }
    /* 1F1B, stage 0 of 4: 4 micro-batches of 1.5 GB, 1 GB always, 0.5 GB while backward runs */
    ck_assert_double_eq_tol(peak, 7.5, 1e-9);
    ck_assert_double_eq_tol(peak * 1e9, c.run.stats.memory[0].peak_activations_B, 1);
    ck_assert_uint_eq(count(text, "{\"name\":\"peak memory\""), 16);
    free(text);
    tiny_release(&c.run);
}

static void fill(double capacity[16], double bytes)
{
    for (uint32_t rank = 0; rank < 16; rank++) {
        capacity[rank] = bytes;
    }
}

TEST(out_of_memory_is_marked_where_it_happens_first)
{
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[3]); /* 67.5 GB at the peak of stage 0, 63 GB on the last stage */
    char *text = checked(&c.trace, &rules);
    ck_assert_uint_eq(count(text, "out of memory"), 0); /* capacity unknown */
    free(text);
    double capacity[16];
    fill(capacity, 67.5e9);
    c.trace.capacity_B = capacity;
    text = checked(&c.trace, &rules);
    ck_assert_uint_eq(count(text, "out of memory"), 0);
    free(text);
    fill(capacity, 65e9);
    text = checked(&c.trace, &rules);
    ck_assert_uint_eq(count(text, "{\"name\":\"out of memory\""), 2 * 4); /* stages 0 and 1 */
    ck_assert_ptr_nonnull(strstr(text, "\"args\":{\"memory_GB\":65.750}"));
    free(text);
    fill(capacity, 67.5e9); /* one GPU is smaller: nobody else runs out */
    capacity[c.run.program.gangs[0].rank_of[1]] = 65e9;
    text = checked(&c.trace, &rules);
    ck_assert_uint_eq(count(text, "{\"name\":\"out of memory\""), 1);
    free(text);
    tiny_release(&c.run);
}

static const char *name_of(void *arg, uint32_t rank)
{
    snprintf(arg, 64, "rank %u · \"pp1\"", (unsigned)rank);
    return arg;
}

static const char *label_of(void *arg, uint32_t rank)
{
    snprintf(arg, 64, "stage %u/2", (unsigned)rank + 1);
    return arg;
}

TEST(metadata_names_and_labels_are_json)
{
    const struct ty_meta meta[] = {{.key = "generator", .text = "train\"yard\\"},
                                   {.key = "step_time_us", .number = 38880.5},
                                   {.key = "mfu", .number = 0.0 / 0.0}};
    char buf[64];
    struct tiny_trace c;
    struct rules rules;
    begin(&c, &shapes[0]);
    c.trace.meta = meta;
    c.trace.n_meta = 3;
    c.trace.rank_name = name_of;
    c.trace.rank_label = label_of;
    c.trace.arg = buf;
    char *text = checked(&c.trace, &rules);
    const char head[] =
        "{\"displayTimeUnit\":\"ms\",\n\"metadata\":{\"generator\":\"train\\\"yard\\\\"
        "\",\"step_time_us\":38880.5,\"mfu\":null},\n\"otherData\":{";
    ck_assert_mem_eq(text, head, sizeof(head) - 1);
    ck_assert_uint_eq(count(text, "{\"name\":\"rank 0 · \\\"pp1\\\"\"}"), 1);
    ck_assert_uint_eq(count(text, "{\"labels\":\"stage 1/2\"}"), 1);
    free(text);
    tiny_release(&c.run);
}

TEST(names_of_the_program_cannot_break_the_document)
{
    struct tiny_trace c;
    struct rules rules;
    char longest[2000];
    begin(&c, &shapes[3]);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    c.run.program.kinds[TINY_QKV].name = longest;
    c.run.program.kinds[TINY_REDUCE].name = longest;
    c.run.program.kinds[TINY_REDUCE].algorithm = longest;
    c.run.program.kinds[TINY_RECV].algorithm = "ri\"ng\\\n";
    c.run.program.groups[0].name = "tp\"\\";
    c.run.program.groups[1].name = longest;
    free(checked(&c.trace, &rules));
    tiny_release(&c.run);
}

TY_SUITE("chrome")
