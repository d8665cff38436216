/* test_native.c - protobuf by hand, and the size of Perfetto and Kineto files. What is in them is
 * held against other formats by tests/cli/native.py and kineto.py. */
#include "tests/unit/tiny_trace.h"
#include "traces/perfetto/proto.h"

static const struct tiny shapes[] = {
    {.p = 1, .t = 4, .d = 2, .m = 3, .layers = 2, .data = true},
    {.p = 4, .t = 2, .d = 2, .m = 8, .layers = 2, .data = true, .recompute = true},
    {.p = 3, .t = 2, .d = 3, .m = 5, .layers = 1, .data = true, .steps = 3},
    {.p = 4, .t = 2, .d = 2, .m = 64, .layers = 6, .data = true, .jitter = 0.2, .seed = 3},
};
#define N_SHAPES (sizeof(shapes) / sizeof(shapes[0]))

TEST(numbers_are_written_as_the_encoding_says)
{
    /* the examples of protobuf.dev, "Encoding": 150 in field 1, "testing" in field 2 */
    char out[64];
    ck_assert_uint_eq((size_t)(ty_proto_u64(out, 1, 150) - out), 3);
    ck_assert_mem_eq(out, "\x08\x96\x01", 3);
    ck_assert_uint_eq((size_t)(ty_proto_str(out, 2, "testing") - out), 9);
    ck_assert_mem_eq(out, "\x12\x07testing", 9);
    ck_assert_uint_eq((size_t)(ty_proto_u64(out, 1, UINT64_MAX) - out), 11);
    ck_assert_mem_eq(out, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    ck_assert_uint_eq((size_t)(ty_proto_double(out, 44, 1.0) - out), 10);
    ck_assert_mem_eq(out, "\xe1\x02\x00\x00\x00\x00\x00\x00\xf0\x3f", 10);
    for (unsigned bits = 0; bits < 64; bits++) {
        const uint64_t x = UINT64_C(1) << bits;
        ck_assert_uint_eq(ty_proto_size(x), (size_t)(ty_proto_varint(out, x) - out));
        ck_assert_uint_eq(ty_proto_size(x - 1), (size_t)(ty_proto_varint(out, x - 1) - out));
    }
}

TEST(the_estimates_are_within_half_of_the_sizes)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        struct tiny_trace c;
        begin(&c, &shapes[i]);
        for (int detail = TY_DETAIL_STAGE; detail <= TY_DETAIL_OP; detail++) {
            for (int kineto = 0; kineto < 2; kineto++) {
                const struct ty_trace_format *f = kineto ? &ty_trace_kineto : &ty_trace_perfetto;
                uint64_t bytes;
                c.trace.detail = (enum ty_detail)detail;
                ck_assert_int_eq(ty_trace_write(f, &c.trace, "null:", NULL, &bytes, &err), 0);
                const double ratio = f->estimate(&c.trace) / (double)bytes;
                ck_assert_msg(ratio < 1.5 && ratio > 1 / 1.5, "%s, shape %zu, detail %d: %g",
                              f->name, i, detail, ratio);
            }
        }
        tiny_release(&c.run);
    }
}

TEST(equal_traces_are_equal_files)
{
    struct tiny_trace c;
    size_t n, again;
    begin(&c, &shapes[1]);
    char *first = write_text(&c.trace, "perfetto", &n);
    char *second = write_text(&c.trace, "perfetto", &again);
    ck_assert_uint_eq(n, again);
    ck_assert_mem_eq(first, second, n);
    free(first);
    free(second);
    tiny_release(&c.run);
}

TEST(a_kineto_file_is_of_one_rank)
{
    struct tiny_trace c;
    struct ty_out out;
    begin(&c, &shapes[0]);
    ck_assert_int_eq(ty_out_open(&out, "null:", &err), 0);
    ck_assert_int_eq(ty_trace_kineto.write(&c.trace, &out, &err), TY_EBUG);
    ck_assert_str_eq(err.text, "trace: a Kineto file is of one rank");
    ty_out_discard(&out);
    tiny_release(&c.run);
}

TY_SUITE("native")
