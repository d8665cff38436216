/* TOML: the tree, the places, what is refused. */
#include "sim/document/toml.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "tests/unit/suite.h"

/* The tree in one line: {key value ...}; with `places` @line:col behind keys and values. */
static void dump(struct ty_text *out, const struct ty_node *node, bool places)
{
    static const char brackets[][3] = {"''", "[]", "{}"};
    if (node->key != NULL) {
        ty_text_add(out, "%s", node->key);
        if (places) {
            ty_text_add(out, "@%u:%u", (unsigned)node->key_line, (unsigned)node->key_col);
        }
        ty_text_add(out, " ");
    }
    if (node->kind == TY_NODE_SCALAR) {
        ty_text_add(out, node->quoted ? "'" : "");
        ty_text_bytes(out, node->text, strlen(node->text)); /* as it is, tabs and all */
        ty_text_add(out, node->quoted ? "'" : "");
    } else {
        ty_text_add(out, "%c", brackets[node->kind][0]);
        for (const struct ty_node *child = node->first; child != NULL; child = child->next) {
            dump(out, child, places);
            ty_text_add(out, child->next != NULL ? " " : "");
        }
        ty_text_add(out, "%c", brackets[node->kind][1]);
    }
    if (places) {
        ty_text_add(out, "@%u:%u", (unsigned)node->line, (unsigned)node->col);
    }
}

static void expect_tree(const char *toml, const char *tree, bool places)
{
    struct ty_arena arena = {0};
    struct ty_doc doc;
    struct ty_err err = TY_ERR_NONE;
    struct ty_text text = {0};
    const int rc = ty_toml_parse(&doc, &arena, "f", toml, strlen(toml), &err);
    ck_assert_msg(rc == 0, "%s\n%s", toml, err.text);
    dump(&text, doc.root, places);
    char *got = ty_text_take(&text);
    ck_assert_str_eq(got, tree);
    free(got);
    ty_arena_release(&arena);
}

START_TEST(every_node_knows_its_place)
{
    expect_tree("a = 1\n[b]\n  c.d = \"x\" # more\n",
                "{a@1:1 1@1:5 b@2:2 {c@3:3 {d@3:5 'x'@3:9}@3:3}@2:2}@1:1", true);
    expect_tree("\"\xC3\xA9\" = '\xC2\xB5' \r\nb = [\n 1,\n  {x = 2}]\r\n",
                "{\xC3\xA9@1:1 '\xC2\xB5'@1:7 b@2:1 [1@3:2 {x@4:4 2@4:8}@4:3]@2:5}@1:1", true);
}
END_TEST

START_TEST(values_are_what_they_stand_for)
{
    static const struct {
        const char *value, *tree;
    } rows[] = {
        {"70_000", "70000"},
        {"-0.5e+1_0", "-0.5e+10"},
        {"3e-4", "3e-4"},
        {"+inf", "+inf"},
        {"0xDEAD_beef", "0xDEADbeef"},
        {"0b1_0", "0b10"},
        {"true", "true"},
        {"1979-05-27", "1979-05-27"},
        {"2000-02-29", "2000-02-29"},
        {"23:59:60", "23:59:60"},
        {"1979-05-27 07:32:00.5+01:00", "1979-05-27 07:32:00.5+01:00"},
        {"07:32:00", "07:32:00"},
        {"\"a\\tb\\\"\\\\ \\u00e9\\U0001F600\"", "'a\tb\"\\ \xC3\xA9\xF0\x9F\x98\x80'"},
        {"'C:\\new \"x\"'", "'C:\\new \"x\"'"},
        {"\"\"", "''"},
        {"\"\"\"\nRoses\n  \\\n   are \"\"red\"\"\"\"", "'Roses\n  are \"\"red\"'"},
        {"'''\r\nno \\ escape'''", "'no \\ escape'"},
        {"[]", "[]"},
        {"[1, [2, 'x'], # why\n\n 3,]", "[1 [2 'x'] 3]"},
        {"{}", "{}"},
        {"{a.b = 1, a.c = [2], 'd e' = {}}", "{a {b 1 c [2]} d e {}}"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        char toml[128], tree[128];
        (void)snprintf(toml, sizeof(toml), "k = %s", rows[i].value);
        (void)snprintf(tree, sizeof(tree), "{k %s}", rows[i].tree);
        expect_tree(toml, tree, false);
    }
}
END_TEST

START_TEST(tables_come_together_from_headers_and_dotted_keys)
{
    expect_tree("", "{}", false);
    expect_tree("[a.b]\nx = 1\n[a]\ny = 2\n[a.c]\n", "{a {b {x 1} y 2 c {}}}", false);
    expect_tree("[ a . 'b' ]\n3.14 = 1\n", "{a {b {3 {14 1}}}}", false);
    expect_tree("[f]\na.c = 1\na.t.s = true\n[f.a.more]\nx = 1\n",
                "{f {a {c 1 t {s true} more {x 1}}}}", false);
    expect_tree("[[p]]\nn = 1\n[[p]]\n[[p.q]]\nm = 2\n[p.r]\nk = 3\n",
                "{p [{n 1} {q [{m 2}] r {k 3}}]}", false);
}
END_TEST

START_TEST(every_mistake_has_its_message)
{
    static const struct {
        const char *toml, *message;
    } rows[] = {
        {"a = 1\na = 2\n", "f:2:1: a: given before, on line 1; keep one, and keys of a table "
                           "together"},
        {"[a]\n[b]\n[a]\n", "f:3:2: a: given before, on line 1"},
        {"[a]\nb.c = 1\n[a.b]\n", "f:3:4: b: given before, on line 2"},
        {"[a.b.c]\nz = 9\n[a]\nb.c.t = 1\n", "f:4:1: b: given before, on line 1"},
        {"a = {x = 1}\n[a.b]\n", "f:2:2: a: given before, on line 1"},
        {"a = {x = 1}\na.y = 2\n", "f:2:1: a: given before, on line 1"},
        {"a = [1]\n[[a]]\n", "f:2:3: a: given before, on line 1"},
        {"[[a]]\n[a]\n", "f:2:2: a: given before, on line 1"},
        {"[a]\n[[a]]\n", "f:2:3: a: given before, on line 1"},
        {"a = \n", "f:1:5: no value; write a number, true, false, a string in quotes"},
        {"a\n", "f:1:2: no = behind the key a; write key = value"},
        {"= 1\n", "f:1:1: no key; write letters, digits, - and _"},
        {"a = True\n",
         "f:1:5: True is no value; write text in quotes, and true and false in small"},
        {"a = bfloat16\n", "f:1:5: bfloat16 is no value; write text in quotes"},
        {"a = 012\n", "f:1:5: 012 is no value"},
        {"a = 1__0\n", "f:1:5: 1__0 is no value"},
        {"a = .5\n", "f:1:5: .5 is no value"},
        {"a = 1.\n", "f:1:5: 1. is no value"},
        {"a = 0x\n", "f:1:5: 0x is no value"},
        {"a = 1979-05-27T07:32\n", "f:1:5: 1979-05-27T07:32 is no value"},
        {"a = 1979-02-29\n", "f:1:5: 1979-02-29 is no value"},
        {"a = 1979-13-01\n", "f:1:5: 1979-13-01 is no value"},
        {"a = 1979-04-31\n", "f:1:5: 1979-04-31 is no value"},
        {"a = 24:00:00\n", "f:1:5: 24:00:00 is no value"},
        {"a = 1979-05-27T07:60:00Z\n", "f:1:5: 1979-05-27T07:60:00Z is no value"},
        {"a = 1979-05-27T07:00:00+24:00\n", "f:1:5: 1979-05-27T07:00:00+24:00 is no value"},
        {"a = 1 2\n", "f:1:7: more behind what ends here; write it on a line of its own"},
        {"[a\n", "f:1:3: a header is not closed; write ] at its end"},
        {"[[a]\n", "f:1:4: a header is not closed; write ]] at its end"},
        {"a = [1, 2\nb = 3\n", "f:1:5: a [ is not closed; write a comma between items and ]"},
        {"a = {b = 1,}\n", "f:1:12: a comma before }; remove it"},
        {"a = {b = 1\n}\n", "f:1:5: a { is not closed in its line"},
        {"a = \"x\nb = 1\n", "f:1:5: a string is not closed; write \" at its end"},
        {"a = '''x\n", "f:1:5: a string is not closed; write three times ' at its end"},
        {"a = \"\\q\"\n", "f:1:7: a backslash before q; write \\\\ for one"},
        {"a = \"\\uD800\"\n", "f:1:7: \\uD800 is no character"},
        {"a = \"\\u0000\"\n", "f:1:7: \\u0000 is no character"},
        {"a = \"\\u12\"\n", "f:1:7: \\u is followed by 2 hexadecimal digits; write 4"},
        {"\"\"\"a\"\"\" = 1\n", "f:1:1: a key of several lines; write it in one"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_arena arena = {0};
        struct ty_doc doc;
        struct ty_err err = TY_ERR_NONE;
        ck_assert_int_eq(ty_toml_parse(&doc, &arena, "f", rows[i].toml, strlen(rows[i].toml), &err),
                         TY_EINPUT);
        ck_assert_uint_eq(err.n, 1);
        ck_assert_msg(strstr(err.text, rows[i].message) == err.text, "%s\ngot %s\nexpected %s",
                      rows[i].toml, err.text, rows[i].message);
        ty_arena_release(&arena);
    }
}
END_TEST

/* n times a piece of text. */
static void expect_refusal(const char *before, const char *piece, uint32_t n, const char *message)
{
    struct ty_arena arena = {0};
    struct ty_doc doc;
    struct ty_err err = TY_ERR_NONE;
    struct ty_text text = {0};
    ty_text_add(&text, "%s", before);
    for (uint32_t i = 0; i < n; i++) {
        ty_text_add(&text, "%s", piece);
    }
    char *toml = ty_text_take(&text);
    ck_assert_int_eq(ty_toml_parse(&doc, &arena, "f", toml, strlen(toml), &err), TY_EINPUT);
    ck_assert_msg(strstr(err.text, message) != NULL, "%s", err.text);
    free(toml);
    ty_arena_release(&arena);
}

START_TEST(depth_and_size_are_limited)
{
    expect_refusal("a = ", "[", 100000, "nested too deep; at most 32 levels are read");
    expect_refusal("a = ", "{b=", 100000, "nested too deep; at most 32 levels are read");
    expect_refusal("a", ".a", 100000, "nested too deep; at most 32 levels are read");
    expect_refusal("[a", ".a", 100000, "nested too deep; at most 32 levels are read");
    expect_refusal("a = [", "1,", 100000, "a file may have at most 10000 values");
}
END_TEST

TY_SUITE("toml", every_node_knows_its_place, values_are_what_they_stand_for,
         tables_come_together_from_headers_and_dotted_keys, every_mistake_has_its_message,
         depth_and_size_are_limited)
