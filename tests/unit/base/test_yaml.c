/* YAML: the tree, the places, and every message. */
#include "sim/document/yaml.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/noise.h"
#include "sim/base/text.h"
#include "tests/unit/suite.h"

/* The tree in one line: {key@line:col value@line:col ...}. */
static void dump(struct ty_text *out, const struct ty_node *node)
{
    static const char *const brackets[] = {"''", "[]", "{}"};
    if (node->key) {
        ty_text_add(out, "%s@%u:%u ", node->key, (unsigned)node->key_line, (unsigned)node->key_col);
    }
    if (node->kind == TY_NODE_SCALAR) {
        ty_text_add(out, node->quoted ? "'%s'" : "%s", node->text);
    } else {
        ty_text_add(out, "%c", brackets[node->kind][0]);
        for (const struct ty_node *child = node->first; child; child = child->next) {
            dump(out, child);
            ty_text_add(out, child->next ? " " : "");
        }
        ty_text_add(out, "%c", brackets[node->kind][1]);
    }
    ty_text_add(out, "@%u:%u", (unsigned)node->line, (unsigned)node->col);
}

TEST(every_node_knows_its_place)
{
    static const struct {
        const char *text, *tree;
    } rows[] = {
        {"a: 1\nb:\n  c: x y\n", "{a@1:1 1@1:4 b@2:1 {c@3:3 x y@3:6}@3:3}@1:1"},
        {"- 1\n- [2, '3']\n", "[1@1:3 [2@2:4 '3'@2:7]@2:3]@1:1"},
        {"{\"a\": [1, {\"b\": null}], \"c\": true}",
         "{a@1:2 [1@1:8 {b@1:12 null@1:17}@1:11]@1:7 c@1:25 true@1:30}@1:1"},
        {"a:\nb: ''\n", "{a@1:1 @1:3 b@2:1 ''@2:4}@1:1"},
        {"# comment\n---\na: 1 # more\n...\n", "{a@3:1 1@3:4}@3:1"},
        {"\xC3\xA9: \xC2\xB5s\n", "{\xC3\xA9@1:1 \xC2\xB5s@1:4}@1:1"},
        {"a: 1\r\nb: 2\r\n", "{a@1:1 1@1:4 b@2:1 2@2:4}@1:1"},
        /* the value of an anchor, with the places where it was written */
        {"a: &x {c: 1}\nb: *x\nd: [*x]\n",
         "{a@1:1 {c@1:8 1@1:11}@1:4 b@2:1 {c@1:8 1@1:11}@1:4 d@3:1 [{c@1:8 1@1:11}@1:4]@3:4}@1:1"},
        /* the latest anchor of a name counts */
        {"a: &x 1\nb: &x 2\nc: *x\n", "{a@1:1 1@1:4 b@2:1 2@2:4 c@3:1 2@2:4}@1:1"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_arena arena = {0};
        struct ty_doc doc;
        struct ty_err err = TY_ERR_NONE;
        struct ty_text text = {0};
        ck_assert_int_eq(ty_doc_parse(&doc, &arena, "f", rows[i].text, strlen(rows[i].text), &err),
                         0);
        dump(&text, doc.root);
        char *tree = ty_text_take(&text);
        ck_assert_str_eq(tree, rows[i].tree);
        free(tree);
        ty_arena_release(&arena);
    }
}

TEST(empty_documents_have_no_root)
{
    static const char *const texts[] = {"", "\n\n", "# only a comment\n", "---\n", "--- \n...\n"};
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        struct ty_arena arena = {0};
        struct ty_doc doc;
        ck_assert_int_eq(ty_doc_parse(&doc, &arena, "f", texts[i], strlen(texts[i]), NULL), 0);
        ck_assert_ptr_null(doc.root);
        ty_arena_release(&arena);
    }
}

TEST(every_mistake_has_its_message)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"a: 1\nb: [1, 2\nc: 3\n",
         "f:3:2: a [ is not closed; write a comma between items and ] at the end (in the flow "
         "sequence from line 2, column 4)\n    c: 3\n     ^"},
        {"a: [1, 2\n", "f:1:4: a [ is not closed; write a comma between items and ] at the end\n   "
                       " a: [1, 2\n       ^"},
        {"a: 'x\n",
         "f:1:4: a quote that is not closed; write it at the end, too\n    a: 'x\n       ^"},
        {"a:\n\tb: 1\n", "f:2:1: a tab where YAML allows only spaces; indent with spaces\n"
                         "     b: 1\n    ^"},
        {"a: @x\n",
         "f:1:4: a value cannot begin with this character; put it in quotes\n    a: @x\n       ^"},
        {"a: b: c\n",
         "f:1:5: a second \": \" on a line, a line indented too far, or no blank behind the colon "
         "of the line before; put text with a colon in quotes\n    a: b: c\n"
         "        ^"},
        {"c:\n  a:b\n  c: d\n",
         "f:2:4: no blank behind the colon; write \"a: b\"\n      a:b\n       ^"},
        {"a:[b]\r\nc: d\r\n",
         "f:1:2: no blank behind the colon; write \"a: [b]\"\n    a:[b]\n     ^"},
        {"a: 1\n  c: d\n",
         "f:2:4: a second \": \" on a line, a line indented too far, or no blank behind the colon "
         "of the line before; put text with a colon in quotes\n      c: d\n       ^"},
        {"a: 1\nb: 2\nc:\n  d: 1\n  d: 2\na: 3\na: 4\n",
         "f:5:3: c.d: duplicate key, first given on line 4; keep one\n      d: 2\n      ^\n"
         "f:6:1: a: duplicate key, first given on line 1; keep one, or indent keys of a section\n  "
         "  a: 3\n    ^\n"
         "f:7:1: a: duplicate key, first given on line 1; keep one, or indent keys of a section\n  "
         "  a: 4\n    ^"},
        {"a: {b: 1\nc: 2\n", "f:2:2: a { is not closed; write a comma between entries and } at the "
                             "end (in the flow mapping from line 1, column 4)\n    c: 2\n     ^"},
        {"a:\n    b: 1\n  c: 2\n",
         "f:3:3: indented differently from its neighbours; keys of one mapping begin in one column "
         "(in the block mapping from line 1, column 1)\n      c: 2\n      ^"},
        {"a: {b: 1} c\n", "f:1:11: indented differently from its neighbours; keys of one mapping "
                          "begin in one column (in the block mapping from line 1, column 1)\n"
                          "    a: {b: 1} c\n              ^"},
        {"a: \"\\q\"\n", "f:1:5: a backslash that begins no escape; write it twice, or use single "
                         "quotes (in the quoted scalar from line 1, column 4)\n"
                         "    a: \"\\q\"\n        ^"},
        {"a: - b\n", "f:1:4: a list cannot begin here; write its \"- \" on a line of its own\n"
                     "    a: - b\n       ^"},
        {"a: *x\n", "f:1:4: a: unknown alias (*x); define it before with &x\n    a: *x\n       ^"},
        {"a: &x [*x]\n", "f:1:8: a: an alias inside its own anchor (*x); a value cannot contain "
                         "itself\n    a: &x [*x]\n           ^"},
        {"a: !!int 3\n",
         "f:1:4: a: tags are not read (!!int); write the plain value\n    a: !!int 3\n       ^"},
        {"a: !mine 3\n",
         "f:1:4: a: tags are not read (!mine); write the plain value\n    a: !mine 3\n       ^"},
        {"a: &x {b: 1}\nc:\n  <<: *x\n",
         "f:3:3: c: merge keys are not read (<<); write the keys out, or alias single values\n"
         "      <<: *x\n      ^"},
        {"? [a]\n: 1\n",
         "f:1:3: a key that is not plain text; write key: value\n    ? [a]\n      ^"},
        {"a: 1\n---\nb: 2\n",
         "f:2:1: a second document begins here; write each to a file of its own\n    ---\n    ^"},
        {"a: \"x\\0y\"\n",
         "f:1:4: a: a zero character in a value; remove it\n    a: \"x\\0y\"\n       ^"},
        {"\"x\\0y\": 1\n", "f:1:1: a zero character in a key; remove it\n    \"x\\0y\": 1\n    ^"},
        {"a: 1\nb: \xff\n", "f:2:4: not UTF-8 text (byte 0xFF); save the file as UTF-8"},
        {"\xFF\xFE"
         "a\0:\0",
         "f: UTF-16 text; save the file as UTF-8"},
        {"PK\3\4", "f: a zip archive or a spreadsheet; save a sheet as CSV in UTF-8"},
        {"\x1F\x8B\x08", "f: compressed by gzip; unpack the file first"},
        {"a: \xC3", "f:1:4: not UTF-8 text (byte 0xC3); save the file as UTF-8"},
        {"a: \xC0\x80", "f:1:4: not UTF-8 text (byte 0xC0); save the file as UTF-8"},
        {"a: \xED\xA0\x80", "f:1:4: not UTF-8 text (byte 0xED); save the file as UTF-8"},
        {"a: x\x01\n", "f:1:5: a control character (byte 0x01); remove it"},
        {"a: \xC2\x85\n", "f:1:4: a control character (byte 0xC2); remove it"},
        {"a: \xE2\x80\xA8\n", "f:1:4: a control character (byte 0xE2); remove it"},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
         "f:1:33: nested too deep; at most 32 levels are read\n"
         "    [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n"
         "                                    ^"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_arena arena = {0};
        struct ty_doc doc;
        struct ty_err err = TY_ERR_NONE;
        ck_assert_int_lt(ty_doc_parse(&doc, &arena, "f", rows[i].text, strlen(rows[i].text), &err),
                         0);
        ck_assert_str_eq(err.text, rows[i].message);
        ty_arena_release(&arena);
    }
}

/* Parses a text that must fail with a limit, and whose message must contain `words`. */
static void expect_limit(const char *text, const char *words)
{
    struct ty_arena arena = {0};
    struct ty_doc doc;
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_doc_parse(&doc, &arena, "f", text, strlen(text), &err), TY_ELIMIT);
    ck_assert_msg(strstr(err.text, words) != NULL, "%s", err.text);
    ty_arena_release(&arena);
}

TEST(aliases_cannot_expand_or_nest_without_limit)
{
    struct ty_text text = {0};
    ty_text_add(&text, "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for (int i = 1; i < 10; i++) {
        ty_text_add(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 10; k++) {
            ty_text_add(&text, "*a%d%s", i - 1, k < 9 ? ", " : "]\n");
        }
    }
    char *laughs = ty_text_take(&text);
    expect_limit(laughs, "f:5:10: aliases expand too far; they may stand for at most 20000 values");
    free(laughs);

    ty_text_add(&text, "a0: &a0 [1]\n");
    for (int i = 1; i < 40; i++) {
        ty_text_add(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    }
    char *deep = ty_text_take(&text);
    expect_limit(deep, "aliases nest too deep; at most 32 levels are read");
    free(deep);

    ty_text_add(&text, "- &x 1\n");
    for (int i = 0; i < 1001; i++) {
        ty_text_add(&text, "- &x%d 1\n", i);
    }
    char *many = ty_text_take(&text);
    expect_limit(many, "too many anchors; a file may have at most 1000");
    free(many);
}

TEST(a_wide_mapping_is_checked_for_duplicates_quickly)
{
    struct ty_text text = {0};
    for (int i = 0; i < 60000; i++) {
        ty_text_add(&text, "k%d: 1\n", i);
    }
    ty_text_add(&text, "k7: 1\n");
    char *wide = ty_text_take(&text);
    struct ty_arena arena = {0};
    struct ty_doc doc;
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_doc_parse(&doc, &arena, "f", wide, strlen(wide), &err), TY_EINPUT);
    ck_assert_str_eq(err.text, "f:60001:1: k7: duplicate key, first given on line 8; keep one, or "
                               "indent keys of a section\n    k7: 1\n"
                               "    ^");
    ty_arena_release(&arena);
    free(wide);
}

TEST(of_foreign_files_the_last_of_equal_keys_counts)
{
    static const char text[] = "a: 1\nb: {c: 2, c: 3, d: 4, c: 5}\na: 6\n";
    struct ty_arena arena = {0};
    struct ty_doc doc;
    ck_assert_int_eq(ty_doc_parse_foreign(&doc, &arena, "f", text, strlen(text), NULL), 0);
    ck_assert_uint_eq(doc.root->n_children, 2);
    ck_assert_str_eq(ty_node_child(doc.root, "a")->text, "6");
    ck_assert_str_eq(doc.root->first->key, "b");
    ck_assert_uint_eq(doc.root->first->n_children, 2);
    ck_assert_str_eq(ty_node_child(doc.root->first, "c")->text, "5");
    ck_assert_uint_eq(doc.again->key_line, 3);
    ty_arena_release(&arena);
}

TEST(a_single_value_counts_columns_from_the_start_of_its_text)
{
    struct ty_arena arena = {0};
    struct ty_doc doc;
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_doc_parse_value(&doc, &arena, "--set x.y=[1, 2]", "x.y=[1, 2]", 4, &err),
                     0);
    ck_assert_int_eq(doc.root->kind, TY_NODE_LIST);
    ck_assert_uint_eq(doc.root->col, 5);
    ck_assert_uint_eq(doc.root->first->next->col, 9);
    ck_assert_int_eq(ty_doc_parse_value(&doc, &arena, "x", "\xC3\xA9.y=[1", 5, &err), TY_EINPUT);
    ck_assert_str_eq(err.text, "x:1:5: a [ is not closed; write a comma between items and ] at the "
                               "end\n    \xC3\xA9.y=[1\n        ^");
    ck_assert_int_eq(ty_doc_parse_value(&doc, &arena, "--set", "x.y=", 4, &err), 0);
    ck_assert_ptr_null(doc.root);
    ty_arena_release(&arena);
}

TEST(children_are_found_by_key)
{
    static const char text[] = "a: 1\nb: 2\n";
    struct ty_arena arena = {0};
    struct ty_doc doc;
    ck_assert_int_eq(ty_doc_parse(&doc, &arena, "f", text, strlen(text), NULL), 0);
    const struct ty_node *b = ty_node_child(doc.root, "b");
    ck_assert_str_eq(b->text, "2");
    ck_assert_ptr_null(ty_node_child(doc.root, "c"));
    ck_assert_ptr_null(ty_node_child(b, "c"));
    ck_assert_ptr_null(ty_node_child(NULL, "c"));
    const struct ty_place value = ty_node_place(&doc, b), key = ty_node_key_place(&doc, b);
    ck_assert_uint_eq(value.col, 4);
    ck_assert_uint_eq(key.col, 1);
    ck_assert_uint_eq(key.line, 2);
    ty_arena_release(&arena);
}

TEST(files_are_read_whole_or_refused)
{
    char path[] = "/tmp/ty-yaml-XXXXXX";
    const int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "a: 1\n", 5), 5);
    struct ty_arena arena = {0};
    struct ty_doc doc;
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_doc_load(&doc, &arena, path, &err), 0);
    ck_assert_str_eq(doc.file, path);
    ck_assert_str_eq(doc.source, "a: 1\n");
    ck_assert_int_eq(ftruncate(fd, (off_t)TY_YAML_MAX_BYTES + 1), 0);
    ck_assert_int_eq(ty_doc_load(&doc, &arena, path, &err), TY_ELIMIT);
    char expected[200];
    (void)snprintf(expected, sizeof(expected), "%s: too large; a file may have at most 4 MiB",
                   path);
    ck_assert_str_eq(err.text, expected);
    close(fd);
    unlink(path);

    struct ty_err missing = TY_ERR_NONE;
    ck_assert_int_eq(ty_doc_load(&doc, &arena, "/nonexistent/x.yaml", &missing), TY_EINPUT);
    ck_assert_str_eq(missing.text,
                     "/nonexistent/x.yaml: cannot be opened (No such file or directory)");
    struct ty_err folder = TY_ERR_NONE;
    ck_assert_int_eq(ty_doc_load(&doc, &arena, "/tmp", &folder), TY_EINPUT);
    ck_assert_str_eq(folder.text, "/tmp: a folder, not a file; name a file in it");
    ty_arena_release(&arena);
}

/* What is taken to be plain the parser reads as itself, in the same place. */
TEST(plain_texts_are_what_the_parser_reads)
{
    static const char letters[] = "aZ09_./%-+ :#,[]{}'!&*~|>@`\"\\";
    uint32_t n_plain = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        char text[16] = "k=";
        const size_t n = 1 + ty_hash4(i, 0, 0, 0) % 6, of = i % 4 == 0 ? sizeof(letters) - 1 : 11;
        for (size_t k = 0; k < n; k++) {
            text[2 + k] = letters[ty_hash4(i, k, 1, 0) % of];
        }
        text[2 + n] = '\0';
        if (!ty_text_is_plain(text + 2)) {
            continue;
        }
        struct ty_arena arena = {.head = NULL};
        struct ty_doc quick, slow;
        char blanked[16];
        (void)snprintf(blanked, sizeof(blanked), "  %s", text + 2);
        ck_assert_int_eq(ty_doc_parse_value(&quick, &arena, "f", text, 2, NULL), 0);
        ck_assert_int_eq(ty_doc_parse(&slow, &arena, "f", blanked, strlen(blanked), NULL), 0);
        struct ty_text a = {.data = NULL}, b = {.data = NULL};
        ck_assert(quick.root != NULL && slow.root != NULL);
        dump(&a, quick.root);
        dump(&b, slow.root);
        ck_assert_str_eq(a.data, b.data);
        ty_text_release(&a);
        ty_text_release(&b);
        ty_arena_release(&arena);
        n_plain++;
    }
    ck_assert_uint_gt(n_plain, 5000);
}

TY_SUITE("yaml")
