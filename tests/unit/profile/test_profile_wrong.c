/* test_profile_wrong.c - how PyTorch profiles are refused that are wrong, cut, or made to do
 * harm. */
#include "tests/unit/profile_text.h"
#include "tests/unit/suite.h"

#define EVENT_OF(text) PROFILE_HEAD text PROFILE_TAIL

static const struct {
    const char *text, *said;
} wrong[] = {
    {"", "a.json: empty"},
    {"  \n ", "a.json:2:2: the file ends here"},
    {"hello", "a.json:1:1: not JSON from here on; a PyTorch profile is needed"},
    {"3", "a.json:1:2: not a trace"},
    {"[{\"name\": \"aten::zeros\", \"ph\": \"X\"}]", "a.json:1:2: a list of events, not a Kineto"},
    {"{\"traceEvents\": []}", "a.json: no kernels of a GPU"},
    {"{\"schemaVersion\": 1}\n", "a.json:2:1: no traceEvents"},
    {"{\"traceEvents\": [1]}", "traceEvents: an event that is no object"},
    {"{\"traceEvents\": [[]]}", "traceEvents: an event that is no object"},
    {"{\"traceEvents\": [], \"traceEvents\": []}", "traceEvents: a second one"},
    {"{\"distributedInfo\": {}, \"distributedInfo\": {}}", "distributedInfo: a second one"},
    {"{\"distributedInfo\": {\"rank\": -1}}", "distributedInfo.rank: not the number of a rank"},
    {"{\"distributedInfo\": {\"rank\": 99999999999999999999}}", "distributedInfo.rank"},
    {"{\"distributedInfo\": {\"world_size\": 1.5}}", "distributedInfo.world_size"},
    {"{\"baseTimeNanoseconds\": 1e30}", "baseTimeNanoseconds: not a number"},
    {"{\"trainyardCutSteps\": [0, -1]}", "trainyardCutSteps: not the number of a step"},
    {"{\"trainyardCutSteps\": [65536]}", "trainyardCutSteps: not the number of a step"},
    {"{\"traceEvents\": [{\"ph\": \"X\"", "the file ends here, in the middle"},
    {"{\"traceEvents\": []} x", "a.json:1:"},
    {"{\"traceEvents\": [],}", "a.json:1:"},
    {"{\"traceEvents\":\n [{\"ts\": NaN}]}", "a.json:2:"},
    {"{\"a\": \"\xFF\"}", "not JSON from here on (bytes that are not UTF-8)"},
    {"{\"a\": \"\n\"}", "a.json:1:"},
    {EVENT_OF("{\"ph\": \"X\", \"cat\": \"kernel\", \"cat\": \"cpu_op\"}"),
     "a.json:8:1: traceEvents[0].cat: a second one"},
    {EVENT_OF("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": 1, \"dur\": 1}"),
     "a.json:8:1: traceEvents[0].args.stream: missing"},
    {EVENT_OF("{},\n\n {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"ts\": -1, \"dur\": "
              "1, \"args\": {\"stream\": 7}}"),
     "a.json:10:2: traceEvents[1].ts: not a time (-1)"},
    {EVENT_OF(KERNEL("k", "1e400", "1", 7, 1)), "ts: not a time (1e400)"},
    {EVENT_OF(KERNEL("k", "99999999999999999999", "1", 7, 1)), "ts: not a time"},
    {EVENT_OF(KERNEL("k", "1", "-2", 7, 1)), "dur: not a time (-2)"},
    {EVENT_OF(KERNEL("k", "1", "1e15", 7, 1)), "longer than two years"},
    {EVENT_OF(KERNEL("k", "1", "3e11", 7, 1) "," KERNEL("k", "1", "3e11", 8, 1)),
     "a.json: kernels run for more than five days"},
    {EVENT_OF(KERNEL("k", "1", "1", 7, 1) "," KERNEL("k", "6e11", "1", 7, 1)),
     "a.json: from the first kernel to the last are 6e+05 s, more than five days"},
    {EVENT_OF(KERNEL("k", "\"1\"", "1", 7, 1)), "ts: not a time (1)"},
    {EVENT_OF(KERNEL("k", "{}", "1", 7, 1)), "ts: not a time ()"},
    {EVENT_OF(KERNEL("k", "1", "1", -1, 1)), "args.stream: not a stream (-1)"},
    {EVENT_OF("{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": 5, \"ts\": 1, \"dur\": 1}"),
     "name: not a text"},
    {EVENT_OF("{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"ts\": 1}"), "dur: missing"},
};

TESTS(a_wrong_file_is_refused_with_its_place, sizeof(wrong) / sizeof(wrong[0]))
{
    struct profile_case c;
    profile_begin(&c);
    profile_write(&c, "a.json", wrong[_i].text, strlen(wrong[_i].text));
    profile_read(&c);
    refused(&c, wrong[_i].said);
    profile_end(&c);
}

TEST(a_file_cut_anywhere_is_refused)
{
    static const char text[] =
        PROFILE_HEAD OP("aten::mm", "1", "1", 1,
                        ", \"Input Dims\": [[1]]") ",\n" KERNEL("k", "1", "1", 7, 1) PROFILE_TAIL;
    struct profile_case c;
    profile_begin(&c);
    for (size_t n = 0; n + 2 < sizeof(text) - 1; n += 3) {
        profile_write(&c, "a.json", text, n);
        profile_read(&c);
        ck_assert_int_eq(ty_exit_status(c.code), 3);
    }
    profile_end(&c);
}

/* A megabyte of brackets must not cost a megabyte of stack. */
TEST(deep_nesting_is_refused)
{
    const size_t n = 1u << 20;
    char *text = malloc(n);
    struct profile_case c;
    profile_begin(&c);
    for (int object = 0; object < 2; object++) {
        size_t len = (size_t)sprintf(text, "{\"a\":");
        while (len + 5 < n) {
            len += (size_t)sprintf(text + len, object != 0 ? "{\"a\":" : "[");
        }
        profile_write(&c, "a.json", text, len);
        profile_read(&c);
        refused(&c, "nested more than 200 deep");
    }
    free(text);
    profile_end(&c);
}

/* Ten thousand operators, each inside the one before. */
TEST(deep_nesting_of_operators_is_refused)
{
    struct profile_case c;
    const size_t cap = 4u << 20;
    char *text = malloc(cap);
    size_t n = (size_t)sprintf(text, PROFILE_HEAD);
    for (int i = 0; i < 10000; i++) {
        n += (size_t)sprintf(text + n,
                             "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", "
                             "\"tid\": 1, \"ts\": %d, \"dur\": %d},\n",
                             i, 30000 - 2 * i);
    }
    sprintf(text + n, KERNEL("k", "1", "1", 7, 1) PROFILE_TAIL);
    profile_begin(&c);
    profile_write(&c, "a.json", text, strlen(text));
    profile_read(&c);
    refused(&c, "operators nested 9999 deep");
    free(text);
    profile_end(&c);
}

/* ---- compressed ---- */

static void write_gz(struct profile_case *c, const char *name, const char *text, size_t n,
                     size_t repeats)
{
    gzFile gz = gzopen(temp_dir_file(&c->dir, name), "wb9");
    for (size_t i = 0; i < repeats; i++) {
        ck_assert_int_eq(gzwrite(gz, text, (unsigned)n), (int)n);
    }
    ck_assert_int_eq(gzclose(gz), Z_OK);
}

TEST(a_compressed_file_is_read_and_a_damaged_one_refused)
{
    static const char text[] = PROFILE_HEAD KERNEL("k", "1", "1", 7, 1) PROFILE_TAIL;
    struct profile_case c;
    size_t n;
    profile_begin(&c);
    write_gz(&c, "a.json.gz", text, sizeof(text) - 1, 1);
    profile_read(&c);
    ck_assert_msg(c.code == 0, "%s", c.err.text);
    ck_assert_uint_eq(c.profile->ranks[0].n_kernels, 1);
    char *packed = file_text(temp_dir_file(&c.dir, "a.json.gz"), &n);
    profile_write(&c, "a.json.gz", packed, n / 2);
    profile_read(&c);
    refused(&c, "the compressed file is damaged or cut");
    packed[n / 2] = (char)~packed[n / 2];
    profile_write(&c, "a.json.gz", packed, n);
    profile_read(&c);
    ck_assert_int_eq(ty_exit_status(c.code), 3);
    free(packed);
    profile_end(&c);
}

/* Little that unpacks to much: blanks, one string without an end, a list of zeros. */
TEST(a_bomb_is_refused_before_it_fills_memory)
{
    static char blanks[1u << 20];
    struct profile_case c;
    profile_begin(&c);
    memset(blanks, ' ', sizeof(blanks));
    write_gz(&c, "a.json.gz", blanks, sizeof(blanks), 64);
    profile_read(&c);
    refused(&c, "MiB up to here without a value");
    memset(blanks, 'x', sizeof(blanks));
    memcpy(blanks, "{\"a\": \"", 7);
    write_gz(&c, "a.json.gz", blanks, sizeof(blanks), 1);
    profile_read(&c);
    refused(&c, "the file ends here");
    for (size_t i = 0; i < sizeof(blanks); i++) {
        blanks[i] = i % 2 == 0 ? '0' : ',';
    }
    gzFile gz = gzopen(temp_dir_file(&c.dir, "a.json.gz"), "wb1");
    gzputs(gz, "{\"a\": [");
    for (int i = 0; i < 300; i++) {
        gzwrite(gz, blanks, sizeof(blanks));
    }
    gzputs(gz, "0], \"traceEvents\": []}");
    ck_assert_int_eq(gzclose(gz), Z_OK);
    profile_read(&c);
    refused(&c, "a.json.gz: 200 times smaller than its content");
    profile_end(&c);
}

TY_SUITE("profile_wrong")
