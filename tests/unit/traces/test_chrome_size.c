/* test_chrome_size.c - how many bytes traces have: as estimated, packed, and for each slice. */
#include <zlib.h>

#include "tests/unit/chrome_text.h"

static const struct tiny shapes[] = {
    {.p = 1, .t = 1, .d = 1, .m = 1, .layers = 1},
    {.p = 1, .t = 4, .d = 2, .m = 3, .layers = 2, .data = true},
    {.p = 2, .t = 1, .d = 1, .m = 4, .layers = 1, .recompute = true},
    {.p = 4, .t = 2, .d = 2, .m = 8, .layers = 2, .data = true, .recompute = true},
    {.p = 3, .t = 2, .d = 3, .m = 5, .layers = 1, .data = true, .steps = 3},
    {.p = 4, .t = 2, .d = 2, .m = 6, .layers = 2, .data = true, .jitter = 0.2, .seed = 3},
};

TEST(the_estimate_is_within_half_of_the_size)
{
    for (size_t i = 0; i < TY_COUNT(shapes); i++) {
        struct tiny_trace c;
        begin(&c, &shapes[i]);
        for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
            size_t n;
            c.trace.detail = (enum ty_detail)detail;
            free(write_text(&c.trace, "chrome", &n));
            const double ratio = ty_trace_chrome.estimate(&c.trace) / (double)n;
            ck_assert_msg(ratio < 1.5 && ratio > 1 / 1.5, "shape %zu detail %d: %g", i, detail,
                          ratio);
        }
        tiny_release(&c.run);
    }
}

TEST(gz_holds_the_same_trace)
{
    struct tiny_trace c;
    struct temp_dir dir;
    struct ty_out out;
    size_t n;
    begin(&c, &shapes[3]);
    char *plain = write_text(&c.trace, "chrome", &n);
    char *unpacked = malloc(n + 2);
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "trace.json.gz");
    ck_assert_int_eq(ty_out_open(&out, path, &err), 0);
    ck_assert_int_eq(ty_trace_chrome.write(&c.trace, &out, &err), 0);
    ck_assert_int_eq(ty_out_commit(&out, &err), 0);
    gzFile gz = gzopen(path, "rb");
    ck_assert_int_eq(gzread(gz, unpacked, (unsigned)(n + 1)), (int)n);
    gzclose(gz);
    ck_assert_mem_eq(plain, unpacked, n);
    free(plain);
    free(unpacked);
    temp_dir_remove(&dir);
    tiny_release(&c.run);
}

TEST(short_slices_leave_out_what_name_row_and_parent_say)
{
    static const char *const lines[] = {
        "\n{\"name\":\"forward 0\",\"cat\":\"compute.forward\",\"cname\":\"thread_state_running\","
        "\"ph\":\"X\",\"tid\":11,\"pid\":1002,\"ts\":2250.000,\"dur\":2089.9999},\n",
        "\n{\"name\":\"all-reduce\",\"cat\":\"comm.tp\",\"cname\":\"thread_state_iowait\",\"ph\":"
        "\"X\",\"tid\":12,\"args\":{"
        "\"layer\":2,"
        "\"seq\":4,\"group\":\"tp 2\"},\"pid\":1003,\"ts\":2710.000,\"dur\":69.9999},\n",
        "\n{\"name\":\"recv 0\",\"cat\":\"comm.pp\",\"cname\":\"thread_state_uninterruptible\","
        "\"ph\":\"X\",\"tid\":15,\"args\":{\"bytes\":33554432,\"peer\":1},\"pid\":1003,\"ts\":2240."
        "000,\"dur\":9.9999},\n",
        "\n{\"name\":\"qkv\",\"cat\":\"compute.forward\",\"ph\":\"X\",\"tid\":11,\"pid\":1002,"
        "\"ts\":",
        "\n{\"name\":\"attention\",\"cat\":\"compute.forward\",\"ph\":\"X\",\"tid\":11,\"args\":{"
        "\"layer\":2},\"pid\":1002,\"ts\":2250.000,\"dur\":459.9998},\n",
    };
    static const char *const rows[] = {"11", "12", "13", "14", "15"};
    static const char slice[] = "\"ph\":\"X\"";
    const struct tiny shape = {.p = 2, .t = 2, .d = 1, .m = 2, .layers = 2, .data = true};
    struct tiny_trace c;
    struct rules rules;
    size_t n;
    begin(&c, &shape);
    char *full = write_text(&c.trace, "chrome", &n);
    c.trace.args = TY_ARGS_SHORT;
    char *text = checked(&c.trace, &rules);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ck_assert_msg(strstr(text, lines[i]) != NULL, "missing: %s", lines[i]);
    }
    c.trace.args = TY_ARGS_NONE;
    c.trace.flows = TY_FLOWS_NONE;
    c.trace.counters = TY_COUNTERS_NONE;
    char *bare = write_text(&c.trace, "chrome", &n);
    ck_assert_uint_eq(count(full, slice), count(text, slice));
    ck_assert_uint_eq(count(full, slice), count(bare, slice));
    for (size_t i = 0; i < 5; i++) {
        char with[64];
        snprintf(with, sizeof(with), "%s,\"tid\":%s,\"args\"", slice, rows[i]);
        ck_assert_uint_gt(count(full, with), 0);
        ck_assert_uint_eq(count(bare, with), 0);
    }
    c.trace.critical = &c.run.timeline;
    char *path = write_text(&c.trace, "chrome", &n);
    ck_assert_uint_eq(count(path, "\"critical\":true"), 0);
    ck_assert_uint_gt(count(path, "\"tid\":10,"), 0);
    c.trace.args = TY_ARGS_SHORT;
    char *marked = write_text(&c.trace, "chrome", &n);
    ck_assert_uint_gt(count(marked, "\"critical\":true"), 0);
    free(path);
    free(marked);
    ck_assert(strstr(bare, "\"ph\":\"s\"") == NULL && strstr(text, "\"ph\":\"s\"") != NULL);
    free(full);
    free(text);
    free(bare);
    tiny_release(&c.run);
}

static double size_of(const struct ty_trace *trace, const struct ty_trace_format *format)
{
    uint64_t bytes;
    ck_assert_int_eq(ty_trace_write(format, trace, "null:", NULL, &bytes, &err), 0);
    return (double)bytes;
}

/* Bytes per slice: of the whole file, and of what slices add to one without any. */
static void measure(const struct tiny_trace *c, const struct ty_trace_format *format, double out[2])
{
    struct ty_trace trace = c->trace;
    size_t n;
    char *text = write_text(&trace, "chrome", &n);
    const double slices = (double)count(text, "\"ph\":\"X\"");
    free(text);
    out[0] = size_of(&trace, format) / slices;
    trace.counters = TY_COUNTERS_NONE;
    trace.flows = TY_FLOWS_NONE;
    out[1] = size_of(&trace, format);
    trace.window_from = c->run.timeline.makespan + 1000;
    out[1] = (out[1] - size_of(&trace, format)) / slices;
}

TEST(a_slice_takes_at_most_165_bytes_and_60_in_the_native_format)
{
    static const struct {
        const struct ty_trace_format *format;
        double most;
    } limits[] = {{&ty_trace_chrome, 165}, {&ty_trace_perfetto, 60}};
    /* numbers as long as those of the reference job of 256 GPUs: seconds, ordinals of five
     * digits */
    const struct tiny shape = {.p = 8, .t = 1, .d = 1, .m = 256, .layers = 10, .data = true};
    struct tiny_trace c;
    begin(&c, &shape);
    c.trace.args = TY_ARGS_SHORT;
    for (size_t i = 0; i < 2; i++) {
        for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
            double bytes[2];
            c.trace.detail = (enum ty_detail)detail;
            measure(&c, limits[i].format, bytes);
            ck_assert_msg(bytes[1] <= limits[i].most, "%s, detail %d: %g", limits[i].format->name,
                          detail, bytes[1]);
            /* coarser, arrows and values are as many as slices: they are no slices */
            ck_assert_msg(detail < TY_DETAIL_LAYER || bytes[0] <= limits[i].most,
                          "%s with arrows and memory, detail %d: %g", limits[i].format->name,
                          detail, bytes[0]);
        }
    }
    tiny_release(&c.run);
}

TY_SUITE("chrome size")
