/* test_trace_broken.c - every rule of trace_rules.h refuses a trace in which it alone is broken. */
#include "tests/unit/broken_trace.h"
#include "tests/unit/tiny_trace.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Two stages of two tensor ranks, two micro-batches: rank 1002 is the first of stage 1. */
static char *small_trace(struct tiny_trace *c)
{
    static const struct tiny shape = {.p = 2, .t = 2, .d = 1, .m = 2, .layers = 2};
    struct rules rules;
    size_t n;
    begin(c, &shape);
    char *text = write_text(&c->trace, "chrome", &n);
    ck_assert_msg(rules_check(&rules, text, n), "%s", rules.why);
    rules_release(&rules);
    return text;
}

static void refuse(const struct broken *rows, size_t n)
{
    struct tiny_trace c;
    char *text = small_trace(&c);
    broken_check(text, rows, n);
    free(text);
    tiny_release(&c.run);
}

#define LAST       "\n]}\n"
#define MORE(line) ",\n" line "\n]}\n" /* one more line in the end */

TEST(the_document)
{
    static const struct broken rows[] = {
        {"\"displayTimeUnit\":\"ms\"", "\"displayTimeUnit\":\"us\"", "displayTimeUnit is ms", 0},
        {"\"displayTimeUnit\"", "\"displaytimeunit\"", "the document has", 0},
        {"\"metadata\":{}", "\"metadata\":{\"a\":1}", "metadata and otherData differ", 0},
        {"{}", "{\"a\":{}}", "metadata is flat", 1},
        {"{}", "{\"a\":NaN}", "line ", 1},
        {"{}", "{\"a\":1e999}", "a number that is not finite", 1},
        {LAST, "\n],\"more\":1}\n", "displayTimeUnit is ms, and nothing follows", 0},
        {"},\n{\"name\":\"forward 0\"", "}, {\"name\":\"forward 0\"", "one event per line", 0},
        {"},\n{\"name\":\"forward 0\"", "}\n{\"name\":\"forward 0\"", "line ", 0},
        {LAST, ",\n]}\n", "line ", 0},
        {"\"name\":\"tensor comm\"", "\"name\":\"tensor \xff\"", "line ", 0},
    };
    refuse(rows, COUNT(rows));
}

TEST(single_events)
{
    static const struct broken rows[] = {
        {"\"ph\":\"X\"", "\"ph\":\"B\"", "event of a kind", 0},
        {"\"ph\":\"X\"", "\"ph\":\"E\"", "event of a kind", 0},
        {"\"ph\":\"X\"", "\"ph\":\"b\"", "event of a kind", 0},
        {"\"pid\":1000,\"ts\":0.000", "\"ts\":0.000", "an event has a name, a pid and a tid", 0},
        {"\"pid\":1000,\"ts\":0.000", "\"pid\":0,\"ts\":0.000", "pid or tid out of range", 0},
        {"\"pid\":1000,\"ts\":0.000", "\"pid\":-1000,\"ts\":0.000", "an event has a name, a pid",
         0},
        {"\"pid\":1000,\"ts\":0.000", "\"pid\":11,\"ts\":0.000", "pid or tid out of range", 0},
        {"\"tid\":12,\"args\":{\"layer\"", "\"tid\":0,\"args\":{\"layer\"", "pid or tid", 0},
        {"\"ts\":2240.000", "\"ts\":-2240.000", "ts is not us.ddd", 0},
        {"\"ts\":2240.000", "\"ts\":2240.00", "ts is not us.ddd", 0},
        {"\"ts\":2240.000", "\"ts\":02240.000", "line ", 0},
        {"\"ts\":2240.000", "\"ts\":2.240e3", "ts is not us.ddd", 0},
        {"\"dur\":459.9998", "\"dur\":460.5", "a slice has exactly the usual keys", 0},
        {"\"dur\":459.9998", "\"dur\":0.0000", "a slice has exactly the usual keys", 0},
        {"\"dur\":459.9998", "\"dur\":460.0000", "a slice has exactly the usual keys", 0},
        {"\"dur\":459.9998}", "\"dur\":459.9998,\"tdur\":1}", "a slice has exactly the usual keys",
         0},
        {"thread_state_running", "green", "unknown category or colour", 0},
        {"compute.forward", "compute,forward", "unknown category or colour", 0},
        {"\"name\":\"attention\"", "\"name\":\"attention 3\"", "a name is `kind`", 0},
        {"\"name\":\"forward 0\"", "\"name\":\"forward 0 1\"", "a name is `kind`", 0},
        {"\"name\":\"forward 0\"", "\"name\":\"forward0\"", "a name is `kind`", 0},
        {"\"name\":\"mlp core\"", "\"name\":\"mlp 2 core\"", "a name is `kind`", 0},
        {"\"bytes\":33554432,", "\"size\":33554432,", "unknown argument", 0},
        {"\"why\":\"recv act 0\",", "", "a bubble says why", 0},
    };
    refuse(rows, COUNT(rows));
}

TEST(counters_instants_and_names)
{
    static const char *const line = "{\"name\":\"NIC\",\"ph\":\"C\",\"args\":{\"GB/s\":";
    char negative[256], forever[256], unit[256];
    snprintf(negative, sizeof(negative), MORE("%s-1.0},\"pid\":1000,\"ts\":0.000}"), line);
    snprintf(forever, sizeof(forever), MORE("%s1.0},\"pid\":1000,\"ts\":0.000}"), line);
    snprintf(unit, sizeof(unit), MORE("%s1.0,\"more\":1},\"pid\":1000,\"ts\":0.000}"), line);
    const struct broken rows[] = {
        {LAST, negative, "a counter of links is", 0},
        {LAST, unit, "a counter of links is", 0},
        {LAST, forever, "a link carries something for ever", 0},
        {"\"weights_GB\":10,", "", "a counter is `memory`", 0},
        {"\"weights_GB\":10,", "\"weights_GB\":-10.000000,", "a counter is a number", 0},
        {"\"activations_GB\":2.75},\"pid\":1002,\"ts\":2250.000",
         "\"activations_GB\":1},\"pid\":1002,\"ts\":2250.000", "counter written without", 0},
        {"\"ph\":\"i\",\"s\":\"p\"", "\"ph\":\"i\",\"s\":\"g\"", "an instant has scope p", 0},
        {"\"name\":\"step start\"", "\"name\":\"begin\"", "an instant has scope p", 0},
        {"\"name\":\"process_labels\"", "\"name\":\"process_label\"", "metadata event", 0},
        {"\"sort_index\":11", "\"sort_index\":12", "thread_sort_index is the tid", 0},
        {"\"args\":{\"sort_index\":1}", "\"args\":{\"sort_index\":0}", "sort indices are 0, 1", 0},
        {"\"name\":\"pipeline send\"", "\"name\":\"pipeline recv\"", "a row has the name of", 0},
        {"{\"name\":\"rank 2\"}", "{\"name\":\"rank 3\"}", "the name of a rank has its number", 0},
        {"{\"labels\":\"stage 0\"}", "{\"labels\":\"stage 0, 2 %\"}", "labels are split", 0},
        {"\"process_labels\",\"ph\":\"M\",\"pid\":1001,",
         "\"process_name\",\"ph\":\"M\",\"pid\":1001,", "the name of a rank has its number", 0},
        {"\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":1001",
         "\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":1002", "named twice", 0},
        {"\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":1001,\"tid\":11",
         "\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":1001,\"tid\":12",
         "process without sort index or labels", 0},
        {"\"activations_GB\":2.75},\"pid\":1002", "\"activations_GB\":2.75},\"pid\":1009",
         "a process without a name", 0},
        {"\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1003,\"tid\":14",
         "\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1004,\"tid\":14", "row without thread_name",
         0},
    };
    refuse(rows, COUNT(rows));
}

TEST(rows_of_slices)
{
    static const struct broken rows[] = {
        {"\"pid\":1000,\"ts\":0.000,\"dur\":459.9998", "\"pid\":1000,\"ts\":0.000,\"dur\":559.9998",
         "overlaps the slice before it", 0},
        {"\"pid\":1003,\"ts\":2710.000,\"dur\":69.9999",
         "\"pid\":1003,\"ts\":2710.000,\"dur\":9998.9999", "nested where nothing nests", 0},
        {"\"name\":\"forward 0\"", "\"name\":\"warm-up\"", "neither a pass nor a bubble", 0},
        {"\"pid\":1002,\"ts\":2160.000,\"dur\":89.9999",
         "\"pid\":1002,\"ts\":2160.000,\"dur\":89.9989", "hole before this slice", 0},
        {"\"dur\":459.9998", "\"dur\":459.9999", "dur falls short by a tenth for itself", 0},
        {"\"pid\":1002,\"ts\":0.000,\"dur\":2159.9999",
         "\"pid\":1002,\"ts\":0.001,\"dur\":2159.9989", "compute rows of different extent", 0},
    };
    struct tiny_trace c;
    refuse(rows, COUNT(rows));
    /* a slice of the same extent as its parent has to come after it */
    char *text = small_trace(&c);
    char *parent = strstr(text, "{\"name\":\"mlp\""),
         *child = strstr(text, "{\"name\":\"mlp core\"");
    const size_t a = strcspn(parent, "\n"), b = strcspn(child, "\n");
    char *copy = malloc(strlen(text) + 1);
    ck_assert(parent < child && copy != NULL);
    snprintf(copy, strlen(text) + 1, "%.*s%.*s%.*s%.*s%s", (int)(parent - text), text, (int)b,
             child, (int)(child - parent - (long)a), parent + a, (int)a, parent, child + b);
    struct rules rules;
    ck_assert(!rules_check(&rules, copy, strlen(copy)));
    ck_assert_int_eq(strncmp(rules.why, "dur falls short by a tenth for itself", 37), 0);
    rules_release(&rules);
    free(copy);
    free(text);
    tiny_release(&c.run);
}

/* The trace, so much later: its doubles have no room left for tenths of nanoseconds. */
static char *later(const char *text, double us)
{
    char *copy = malloc(2 * strlen(text)), *q = copy;
    ck_assert_ptr_nonnull(copy);
    for (const char *at; (at = strstr(text, "\"ts\":")) != NULL;) {
        at += sizeof("\"ts\":") - 1;
        char *rest;
        const double ts = strtod(at, &rest);
        memcpy(q, text, (size_t)(at - text));
        q += at - text;
        q += sprintf(q, "%.0f", floor(ts) + us);
        at += strcspn(at, ".");
        memcpy(q, at, (size_t)(rest - at));
        q += rest - at;
        text = rest;
    }
    memcpy(q, text, strlen(text) + 1);
    return copy;
}

TEST(sums_of_doubles)
{
    static const struct {
        double us;
        const char *why; /* "": none */
    } rows[] = {{1e6, ""}, {1e9, ""}, {3e11, ""}, {4e14, "as doubles, "}};
    struct tiny_trace c;
    struct rules rules;
    char *text = small_trace(&c);
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *copy = later(text, rows[i].us);
        ck_assert(rules_check(&rules, copy, strlen(copy)) == (rows[i].why[0] == '\0'));
        ck_assert_msg(strncmp(rules.why, rows[i].why, strlen(rows[i].why)) == 0, "%s", rules.why);
        rules_release(&rules);
        free(copy);
    }
    free(text);
    tiny_release(&c.run);
}

#define TWICE                                                                                      \
    "{\"name\":\"act 0\",\"cat\":\"p2p\",\"id\":99,\"ph\":\"s\",\"pid\":1000,\"tid\":14,\"ts\":"   \
    "2239.999},\n{\"name\":\"act 0\",\"cat\":\"p2p\",\"id\":99,\"ph\":\"f\",\"bp\":\"e\",\"pid\":" \
    "1002,\"tid\":15,\"ts\":2240.000}"

TEST(between_rows)
{
    static const struct broken rows[] = {
        {"\"id\":1,\"ph\":\"s\"", "\"id\":2,\"ph\":\"s\"", "a flow id has one start", 0},
        {"\"id\":1,\"ph\":\"s\"", "\"id\":\"1\",\"ph\":\"s\"", "a flow has category p2p", 0},
        {"\"name\":\"act 0\",\"cat\":\"p2p\"", "\"name\":\"act\",\"cat\":\"p2p\"", "a flow has", 0},
        {"\"bp\":\"e\",", "", "the end of a flow, and only it", 0},
        {"\"ts\":2239.999", "\"ts\":2240.000", "a flow starts in the last nanosecond", 0},
        {"\"name\":\"act 0\"", "\"name\":\"act 1\"", "a flow starts in the last nanosecond", 0},
        {"\"tid\":15,\"ts\":2240.000", "\"tid\":15,\"ts\":2240.001", "a flow ends at the start", 0},
        {"\"ts\":2240.000", "\"ts\":2239.000", "a flow goes forward in time", 1},
        {"\"peer\":0},\"pid\":1002", "\"peer\":1},\"pid\":1002", "a flow connects a slice and", 0},
        {LAST, MORE(TWICE), "a message has one flow", 0},
        {"\"seq\":4,", "", "a collective has args.group", 0},
        {"\"pid\":1003,\"ts\":2710.000,\"dur\":69.9999",
         "\"pid\":1003,\"ts\":2710.000,\"dur\":69.9989", "members of one collective differ", 0},
        {"\"pid\":1003,\"ts\":2710.000,\"dur\":69.9999",
         "\"pid\":1003,\"ts\":2710.001,\"dur\":69.9989", "members of one collective differ", 0},
        {"{\"name\":\"all-reduce\"", "{\"name\":\"all-gather\"", "members of one collective", 0},
    };
    refuse(rows, COUNT(rows));
}

TEST(a_message_without_its_arrow_is_counted)
{
    struct tiny_trace c;
    struct rules rules;
    char *text = small_trace(&c);
    const char *s = strstr(text, "{\"name\":\"act 0\",\"cat\":\"p2p\",\"id\":1,\"ph\":\"s\"");
    const char *f = strstr(text, "{\"name\":\"act 0\",\"cat\":\"p2p\",\"id\":1,\"ph\":\"f\"");
    const size_t a = strcspn(s, "\n") + 1, b = strcspn(f, "\n") + 1;
    ck_assert(f == s + a);
    char *copy = malloc(strlen(text) + 1);
    snprintf(copy, strlen(text) + 1, "%.*s%s", (int)(s - text), text, f + b);
    ck_assert_msg(rules_check(&rules, copy, strlen(copy)), "%s", rules.why);
    ck_assert_uint_eq(rules.n_lonely, 1);
    rules_release(&rules);
    ck_assert_msg(rules_check(&rules, text, strlen(text)), "%s", rules.why);
    ck_assert_uint_eq(rules.n_lonely, 0);
    rules_release(&rules);
    free(copy);
    free(text);
    tiny_release(&c.run);
}

TY_SUITE("trace_broken")
