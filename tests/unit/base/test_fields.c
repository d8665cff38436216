/* Fields: reading each type, each message, defaults, requirements, origins, writing out. */
#include "sim/document/fields.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/suite.h"

enum colour {
    RED = 3,
    GREEN = 5,
    BLUE = 7
};
static const struct ty_word colours[] = {
    {"red", RED, ""}, {"green", GREEN, ""}, {"blue", BLUE, ""}, {NULL, 0, NULL}};
static const struct ty_word shades[] = {{"none", 0, ""}, {"all", 7, ""}, {"light", 1, ""},
                                        {"dark", 2, ""}, {"dim", 2, ""}, {NULL, 0, NULL}};

struct sample {
    uint32_t tensor, data, nodes, floor;
    uint64_t seed;
    double bandwidth, latency, share;
    bool on;
    int colour;
    struct ty_word_list order;
    uint32_t shade;
    const char *name;
    struct ty_uint_list layers;
    struct ty_string_list trace;
};

#define AT(member) .offset = offsetof(struct sample, member)
static const struct ty_field fields[] = {
    {.key = "tensor",
     .type = TY_TYPE_UINT,
     AT(tensor),
     .min = 1,
     .max = 1024,
     .fallback = "1",
     .doc = "tensor-parallel ranks"},
    {.key = "data",
     .type = TY_TYPE_UINT,
     AT(data),
     .min = 1,
     .max = 65536,
     .fallback = "auto",
     .blank = "auto",
     .doc = "replicas"},
    {.key = "nodes",
     .type = TY_TYPE_UINT,
     AT(nodes),
     .min = 1,
     .max = 4,
     .required = true,
     .doc = "number of nodes"},
    {.key = "floor", .type = TY_TYPE_UINT, AT(floor), .min = 10, .doc = "at least ten"},
    {.key = "seed", .type = TY_TYPE_UINT64, AT(seed), .fallback = "1", .doc = "seed"},
    {.key = "bandwidth",
     .type = TY_TYPE_QUANTITY,
     .dim = TY_DIM_BYTES_PER_S,
     AT(bandwidth),
     .min = 1e6,
     .max = 1e13,
     .doc = "per direction"},
    {.key = "latency",
     .type = TY_TYPE_QUANTITY,
     .dim = TY_DIM_SECONDS,
     AT(latency),
     .max = 1,
     .fallback = "2 us",
     .doc = "of a message"},
    {.key = "share",
     .type = TY_TYPE_QUANTITY,
     .dim = TY_DIM_RATIO,
     AT(share),
     .max = 1,
     .fallback = "none",
     .blank = "none",
     .doc = "a share"},
    {.key = "on", .type = TY_TYPE_BOOL, AT(on), .fallback = "false", .doc = "a switch"},
    {.key = "colour",
     .type = TY_TYPE_WORD,
     AT(colour),
     .words = colours,
     .fallback = "green",
     .doc = "a colour"},
    {.key = "order",
     .type = TY_TYPE_WORDS,
     AT(order),
     .words = colours,
     .fallback = "[red, green, blue]",
     .doc = "of colours"},
    {.key = "shade",
     .type = TY_TYPE_SET,
     AT(shade),
     .words = shades,
     .fallback = "none",
     .doc = "of a colour"},
    {.key = "name", .type = TY_TYPE_STRING, AT(name), .doc = "a name"},
    {.key = "layers",
     .type = TY_TYPE_UINTS,
     AT(layers),
     .min = 1,
     .max = 99,
     .fallback = "auto",
     .blank = "auto",
     .doc = "per stage"},
    {.key = "trace", .type = TY_TYPE_STRINGS, AT(trace), .fallback = "[]", .doc = "files"},
};

struct fixture {
    struct sample sample;
    struct ty_origin origins[TY_COUNT(fields)];
    struct ty_section section;
    struct ty_arena arena;
    struct ty_err err;
    struct ty_doc doc;
};

static void start(struct fixture *f)
{
    *f = (struct fixture){.arena = {0}};
    f->section = (struct ty_section){
        .name = "s",
        .doc = "a section",
        .fields = fields,
        .n_fields = TY_COUNT(fields),
        .base = &f->sample,
        .origins = f->origins,
        .at = {.file = "f"},
    };
}

static int apply(struct fixture *f, const char *text)
{
    ck_assert_int_eq(ty_doc_parse(&f->doc, &f->arena, "f", text, strlen(text), &f->err), 0);
    const struct ty_value_source source = {&f->doc, TY_ORIGIN_FILE, "f"};
    return ty_section_apply(&f->section, &source, f->doc.root, &f->arena, &f->err);
}

TEST(every_type_is_read)
{
    struct fixture f;
    start(&f);
    ck_assert_int_eq(apply(&f, "tensor: 8\ndata: 16\nseed: 18446744073709551615\n"
                               "bandwidth: 200 Gb/s\nlatency: \"3 us\"\nshare: 3 %\non: true\n"
                               "colour: blue\norder: [green, red, blue]\nname: a name\n"
                               "layers: [1, 99]\ntrace: [chrome:x.json, 'csv:y']\n"),
                     0);
    ck_assert_uint_eq(f.sample.tensor, 8);
    ck_assert_uint_eq(f.sample.data, 16);
    ck_assert_uint_eq(f.sample.seed, UINT64_MAX);
    ck_assert(f.sample.bandwidth == 25e9);
    ck_assert(f.sample.latency == 3e-6);
    ck_assert(f.sample.share == 0.03);
    ck_assert(f.sample.on);
    ck_assert_int_eq(f.sample.colour, BLUE);
    ck_assert_uint_eq(f.sample.order.n, 3);
    ck_assert_int_eq(f.sample.order.item[0], GREEN);
    ck_assert_int_eq(f.sample.order.item[1], RED);
    ck_assert_str_eq(f.sample.name, "a name");
    ck_assert_uint_eq(f.sample.layers.n, 2);
    ck_assert_uint_eq(f.sample.layers.item[1], 99);
    ck_assert_uint_eq(f.sample.trace.n, 2);
    ck_assert_str_eq(f.sample.trace.item[1], "csv:y");
    ty_arena_release(&f.arena);
}

TEST(blank_words_clear_and_a_list_of_one_needs_no_brackets)
{
    struct fixture f;
    start(&f);
    ck_assert_int_eq(apply(&f, "data: 16\nshare: 0.5\nlayers: [1, 2]\n"), 0);
    ck_assert_int_eq(apply(&f, "data: auto\nshare: none\nlayers: auto\ntrace: chrome:x\n"), 0);
    ck_assert_uint_eq(f.sample.data, 0);
    ck_assert(f.sample.share == 0);
    ck_assert_uint_eq(f.sample.layers.n, 0);
    ck_assert_uint_eq(f.sample.trace.n, 1);
    ck_assert_str_eq(f.sample.trace.item[0], "chrome:x");
    ty_arena_release(&f.arena);
}

/* One wrong line; the message without place and excerpt. */
static const struct {
    const char *text, *place, *message;
} wrong[] = {
    {"tensor: 3.5",
     "f:1:9: ", "s.tensor: not a whole number (3.5); write one from 1 to 1024, such as 8"},
    {"tensor: -1",
     "f:1:9: ", "s.tensor: too small (-1); write a whole number from 1 to 1024, such as 8"},
    {"tensor: 1e3",
     "f:1:9: ", "s.tensor: not a whole number (1e3); write one from 1 to 1024, such as 8"},
    {"tensor: 0",
     "f:1:9: ", "s.tensor: too small (0); write a whole number from 1 to 1024, such as 8"},
    {"tensor: 1025",
     "f:1:9: ", "s.tensor: too large (1025); write a whole number from 1 to 1024, such as 8"},
    {"nodes: 9", "f:1:8: ", "s.nodes: too large (9); write a whole number from 1 to 4, such as 4"},
    {"floor: 9",
     "f:1:8: ", "s.floor: too small (9); write a whole number of at least 10, such as 10"},
    {"floor: 4294967296",
     "f:1:8: ", "s.floor: too large (4294967296); write a whole number of at least 10, such as 10"},
    {"seed: 18446744073709551616", "f:1:7: ",
     "s.seed: too large (18446744073709551616); write a whole number of at least 0, such as 8"},
    {"data: all",
     "f:1:7: ", "s.data: not a whole number (all); write one from 1 to 65536, such as 8, or auto"},
    {"tensor:", "f:1:8: ", "s.tensor: no value; write a whole number from 1 to 1024, such as 8"},
    {"tensor: null",
     "f:1:9: ", "s.tensor: no value; write a whole number from 1 to 1024, such as 8"},
    {"tensor: ~", "f:1:9: ", "s.tensor: no value; write a whole number from 1 to 1024, such as 8"},
    {"tensor: [8]", "f:1:9: ",
     "s.tensor: a list where one value is due; write a whole number from 1 to 1024, such as 8"},
    {"tensor: {x: 8}", "f:1:9: ",
     "s.tensor: a mapping where one value is due; write a whole number from 1 to 1024, such as 8"},
    {"bandwidth: 200", "f:1:12: ",
     "s.bandwidth: a bare number where a unit is due (200); write it like 300 GB/s or 200 Gb/s"},
    {"bandwidth: 1 kB/s",
     "f:1:12: ", "s.bandwidth: too small (1 kB/s); write one from 1 MB/s to 10 TB/s"},
    {"bandwidth: 1 PB/s",
     "f:1:12: ", "s.bandwidth: too large (1 PB/s); write one from 1 MB/s to 10 TB/s"},
    {"bandwidth: [1]",
     "f:1:12: ", "s.bandwidth: a list where one value is due; write it like 300 GB/s or 200 Gb/s"},
    {"latency: -1 us", "f:1:10: ", "s.latency: too small (-1 us); write one from 0 s to 1 s"},
    {"share: 3 s",
     "f:1:8: ", "s.share: a unit of another kind (3 s); write it like 3 % or 0.03, or none"},
    {"share: 101 %", "f:1:8: ", "s.share: too large (101 %); write one from 0 % to 100 %, or none"},
    {"on: tRUE", "f:1:5: ", "s.on: neither true nor false (tRUE); write true or false"},
    {"on: yes", "f:1:5: ", "s.on: neither true nor false (yes); write true or false"},
    {"colour: gren", "f:1:9: ",
     "s.colour: unknown word (gren); write one of red, green, blue; hint: did you mean \"green\"?"},
    {"colour: 7", "f:1:9: ", "s.colour: unknown word (7); write one of red, green, blue"},
    {"order: [red, blue]", "f:1:8: ",
     "s.order: not given (green); write each of red, green, blue once, like [red, green, blue]"},
    {"order: [red, green, red]", "f:1:21: ",
     "s.order: given twice (red); write each of red, green, blue once, like [red, green, blue]"},
    {"order: [red, [green], blue]", "f:1:14: ",
     "s.order: a list where one value is due; write each of red, green, blue once, like [red, "
     "green, blue]"},
    {"order: [red, green, bleu]", "f:1:21: ",
     "s.order: unknown word (bleu); write each of red, green, blue once, like [red, green, blue]; "
     "hint: did you mean \"blue\"?"},
    {"order: [red, red, red, red, red, red, red, red, red]",
     "f:1:8: ", "s.order: a list of 9 items; write at most 8"},
    {"shade: darc+light", "f:1:8: ",
     "s.shade: unknown word (darc); write one or more of none, all, light, dark, dim, like a+b; "
     "hint: did you mean \"dark\"?"},
    {"shade: [light, none]", "f:1:16: ",
     "s.shade: given beside others (none); write one or more of none, all, light, dark, dim, like "
     "a+b"},
    {"shade: light+",
     "f:1:8: ", "s.shade: no value; write one or more of none, all, light, dark, dim, like a+b"},
    {"name: [a]", "f:1:7: ", "s.name: a list where one value is due; write a text"},
    {"layers: [1, x]",
     "f:1:13: ", "s.layers: not a whole number (x); write one from 1 to 99, like [8, 8], or auto"},
    {"layers: [0]",
     "f:1:10: ", "s.layers: too small (0); write whole numbers from 1 to 99, like [8, 8], or auto"},
    {"trace: {a: b}",
     "f:1:8: ", "s.trace: a mapping where one value is due; write texts in brackets, like [a, b]"},
    {"tensro: 8", "f:1:1: ", "s.tensro: unknown key; hint: did you mean \"tensor\"?"},
    {"completely: 8", "f:1:1: ", "s.completely: unknown key; \"trainyard list keys s\" shows all"},
    {"tensor: 0123456789012345678901234567890123456789x", "f:1:9: ",
     "s.tensor: not a whole number (0123456789012345678901234567890123456...); write one from 1 to "
     "1024, such as 8"},
    {"colour: \"a\\nb\"", "f:1:9: ", "s.colour: unknown word (a b); write one of red, green, blue"},
};

TEST(every_mistake_has_its_message)
{
    for (size_t i = 0; i < TY_COUNT(wrong); i++) {
        struct fixture f;
        start(&f);
        ck_assert_int_eq(apply(&f, wrong[i].text), TY_EINPUT);
        char expected[1000];
        (void)snprintf(expected, sizeof(expected), "%s%s\n", wrong[i].place, wrong[i].message);
        const size_t n = strcspn(f.err.text, "\n") + 1;
        ck_assert_uint_eq(f.err.n, 1);
        f.err.text[n] = '\0';
        ck_assert_str_eq(f.err.text, expected);
        /* nothing was written */
        static const struct sample none;
        ck_assert_mem_eq(&f.sample, &none, sizeof(none));
        ty_arena_release(&f.arena);
    }
}

TEST(all_mistakes_of_a_section_come_at_once)
{
    struct fixture f;
    start(&f);
    ck_assert_int_eq(apply(&f, "tensor: x\nlatency: 3\ncolour: red\nbandwith: 1\n"), TY_EINPUT);
    ck_assert_str_eq(
        f.err.text, "f:1:9: s.tensor: not a whole number (x); write one from 1 to 1024, such as 8\n"
                    "    tensor: x\n"
                    "            ^\n"
                    "f:2:10: s.latency: a bare number where a unit is due (3); write it like 2 us\n"
                    "    latency: 3\n"
                    "             ^\n"
                    "f:4:1: s.bandwith: unknown key; hint: did you mean \"bandwidth\"?\n"
                    "    bandwith: 1\n"
                    "    ^");
    ck_assert_int_eq(f.sample.colour, RED);
    ty_arena_release(&f.arena);
}

TEST(a_section_is_a_mapping)
{
    struct fixture f;
    start(&f);
    ck_assert_int_eq(apply(&f, "[1, 2]"), TY_EINPUT);
    ck_assert_int_eq(apply(&f, "word"), TY_EINPUT);
    ck_assert_str_eq(f.err.text, "f:1:1: s: a list where a mapping is due; write \"key: value\" "
                                 "lines below it\n    [1, 2]\n    ^\n"
                                 "f:1:1: s: one value where a mapping is due; write \"key: value\" "
                                 "lines below it\n    word\n    ^");
    ty_arena_release(&f.arena);
}

TEST(defaults_fill_only_what_is_unset)
{
    struct fixture f;
    start(&f);
    ck_assert_int_eq(apply(&f, "tensor: 8\ncolour: red\n"), 0);
    ck_assert_int_eq(ty_section_defaults(&f.section, &f.arena, &f.err), 0);
    ck_assert_uint_eq(f.sample.tensor, 8);
    ck_assert_int_eq(f.sample.colour, RED);
    ck_assert_uint_eq(f.sample.data, 0);
    ck_assert_uint_eq(f.sample.seed, 1);
    ck_assert(f.sample.latency == 2e-6);
    ck_assert_uint_eq(f.sample.order.n, 3);
    ck_assert_int_eq(f.sample.order.item[2], BLUE);
    ck_assert_ptr_null(f.sample.name);
    ty_arena_release(&f.arena);
}

TEST(a_default_that_cannot_be_read_is_our_bug)
{
    static const struct ty_field broken[] = {
        {.key = "k", .type = TY_TYPE_UINT, .fallback = "many", .doc = "d"}};
    uint32_t value = 0;
    struct ty_origin origin = {0};
    const struct ty_section section = {
        .name = "s", .fields = broken, .n_fields = 1, .base = &value, .origins = &origin};
    struct ty_arena arena = {0};
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_section_defaults(&section, &arena, &err), TY_EBUG);
    ck_assert_str_eq(err.text, "the default of s.k cannot be read:\n"
                               "default:1:1: s.k: not a whole number (many); write one of "
                               "at least 0, such as 8\n    many\n    ^");
    ty_arena_release(&arena);
}

TEST(missing_keys_are_asked_for_once)
{
    struct fixture f;
    start(&f);
    f.section.at = (struct ty_place){"f", "s:\n  tensor: 8\n", 1, 1};
    ck_assert_int_eq(ty_section_require(&f.section, &f.err), TY_EINPUT);
    ck_assert_str_eq(f.err.text, "f:1:1: s.nodes: missing (number of nodes); write a whole number "
                                 "from 1 to 4, such as 4\n    s:\n    ^");
    /* a wrong value is not missing, too */
    struct fixture g;
    start(&g);
    ck_assert_int_eq(apply(&g, "nodes: x\n"), TY_EINPUT);
    ck_assert_int_eq(ty_section_require(&g.section, &g.err), 0);
    ck_assert_uint_eq(g.err.n, 1);
    ty_arena_release(&f.arena);
    ty_arena_release(&g.arena);
}

TEST(values_are_written_as_users_write_them)
{
    static const struct {
        const char *key, *text;
    } rows[] = {
        {"tensor", "8"},
        {"data", "auto"},
        {"seed", "18446744073709551615"},
        {"bandwidth", "25 GB/s"},
        {"latency", "2 us"},
        {"share", "none"},
        {"on", "true"},
        {"colour", "blue"},
        {"order", "[green, red, blue]"},
        {"name", "-"},
        {"layers", "[1, 99]"},
        {"trace", "[chrome:x.json, csv:y]"},
    };
    struct fixture f;
    start(&f);
    ck_assert_int_eq(apply(&f, "tensor: 8\nseed: 18446744073709551615\nbandwidth: 200 Gb/s\n"
                               "on: true\ncolour: blue\norder: [green, red, blue]\n"
                               "layers: [1, 99]\ntrace: [chrome:x.json, 'csv:y']\n"),
                     0);
    ck_assert_int_eq(ty_section_defaults(&f.section, &f.arena, &f.err), 0);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        char buf[200], again[200];
        const struct ty_field *field = ty_section_field(&f.section, rows[i].key);
        ck_assert_str_eq(ty_field_format(&f.section, field, buf, sizeof(buf)), rows[i].text);
        /* and the text is cut, never written behind the end */
        ty_field_format(&f.section, field, again, 4);
        ck_assert_uint_le(strlen(again), 3);
    }
    ty_arena_release(&f.arena);
}

/* Brackets or a plus, and a word of all of it where there is one. */
TEST(a_set_is_the_words_that_are_in_it)
{
    static const struct {
        const char *text, *written;
        uint32_t set;
    } rows[] = {{"shade: light", "light", 1},
                {"shade: [dark]", "dark", 2},
                {"shade: dim+light", "light+dim", 3},
                {"shade: [light, dim, dark]", "light+dim", 3},
                {"shade: [all, dark]", "all", 7},
                {"shade: none", "none", 0},
                {"shade: []", "none", 0}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct fixture f;
        char buf[40];
        start(&f);
        ck_assert_int_eq(apply(&f, rows[i].text), 0);
        ck_assert_uint_eq(f.sample.shade, rows[i].set);
        const struct ty_field *field = ty_section_field(&f.section, "shade");
        ck_assert_str_eq(ty_field_format(&f.section, field, buf, sizeof(buf)), rows[i].written);
        ty_arena_release(&f.arena);
    }
}

TEST(origins_are_remembered)
{
    struct fixture f;
    char buf[100];
    start(&f);
    ck_assert_int_eq(apply(&f, "on: true\ntensor: 8\n"), 0);
    ck_assert_int_eq(ty_section_defaults(&f.section, &f.arena, &f.err), 0);
    const struct ty_origin *tensor =
        ty_field_origin(&f.section, ty_section_field(&f.section, "tensor"));
    ck_assert_str_eq(ty_origin_format(tensor, buf, sizeof(buf)), "f:2");
    ck_assert_uint_eq(tensor->at.col, 9);
    const struct ty_origin *seed =
        ty_field_origin(&f.section, ty_section_field(&f.section, "seed"));
    ck_assert_str_eq(ty_origin_format(seed, buf, sizeof(buf)), "default");
    ck_assert_uint_eq(seed->at.line, 0);
    const struct ty_origin *name =
        ty_field_origin(&f.section, ty_section_field(&f.section, "name"));
    ck_assert_str_eq(ty_origin_format(name, buf, sizeof(buf)), "not set");
    ck_assert_uint_eq(ty_section_place(&f.section, "tensor").line, 2);
    ck_assert_uint_eq(ty_section_place(&f.section, "seed").line, 0);
    ck_assert_str_eq(ty_section_place(&f.section, "seed").file, "f");
    const struct ty_origin preset = {.kind = TY_ORIGIN_PRESET, .name = "dgx-a100-80g"};
    ck_assert_str_eq(ty_origin_format(&preset, buf, sizeof(buf)), "preset dgx-a100-80g");
    const struct ty_origin command = {.kind = TY_ORIGIN_COMMAND, .name = "--set s.on=true"};
    ck_assert_str_eq(ty_origin_format(&command, buf, sizeof(buf)), "--set");
    ty_arena_release(&f.arena);
}

TEST(a_preset_overrides_any_key_of_the_one_it_starts_from)
{
    static const struct ty_preset presets[] = {{.name = "c", .base = "b", .text = "nodes: 3\n"},
                                               {.name = "b",
                                                .base = "a",
                                                .text = "tensor: 2 # b\n"
                                                        "  # and why\n"},
                                               {.name = "a",
                                                .text = "tensor: 1 # a\n"
                                                        "# more of a\n"
                                                        "tensor_2: 1\n"
                                                        "nodes: 1\n"},
                                               {.name = NULL}};
    struct ty_arena arena = {.head = NULL};
    ck_assert_ptr_eq(ty_preset_text(presets, &presets[2], &arena), presets[2].text);
    ck_assert_str_eq(ty_preset_text(presets, &presets[1], &arena),
                     "tensor_2: 1\nnodes: 1\ntensor: 2 # b\n  # and why\n");
    ck_assert_str_eq(ty_preset_text(presets, &presets[0], &arena),
                     "tensor_2: 1\ntensor: 2 # b\n  # and why\nnodes: 3\n");
    ty_arena_release(&arena);
}

TEST(booleans_have_the_spellings_of_the_core_schema)
{
    static const char *const texts[2][3] = {{"on: false\n", "on: False\n", "on: FALSE\n"},
                                            {"on: true\n", "on: True\n", "on: TRUE\n"}};
    for (size_t value = 0; value < 2; value++) {
        for (size_t i = 0; i < 3; i++) {
            struct fixture f;
            start(&f);
            f.sample.on = value == 0;
            ck_assert_int_eq(apply(&f, texts[value][i]), 0);
            ck_assert(f.sample.on == (value == 1));
            ty_arena_release(&f.arena);
        }
    }
}

TY_SUITE("fields")
