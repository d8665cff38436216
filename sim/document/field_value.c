/* field_value.c - one value: from YAML into memory, by its type.
 *
 * One function a type reads a single scalar; lists are read item by item with the same functions.
 * Messages are `section.key: what is wrong (value); what would be right`. */
#include "sim/document/field_value.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/base/number_text.h"
#include "sim/base/utf8.h"

/* ---- what a user may write for a key ---- */

/* " from 1 to 1024", " of at least 1" or "", in the unit of the field. */
static void range_text(const struct ty_field *field, char *buf, size_t size)
{
    char low[64], high[64];
    const bool whole = field->type != TY_TYPE_QUANTITY;
    if (whole) {
        (void)ty_snprintf(low, sizeof(low), "%.0f", field->min);
        (void)ty_snprintf(high, sizeof(high), "%.0f", field->max);
    } else {
        ty_quantity_format(field->min, field->dim, low, sizeof(low));
        ty_quantity_format(field->max, field->dim, high, sizeof(high));
    }
    if (field->max != 0) {
        (void)snprintf(buf, size, " from %s to %s", low, high);
    } else {
        (void)snprintf(buf, size, " of at least %s", low);
    }
}

/* A whole number that reads naturally as an example: 8, or what comes nearest in the range. */
static double example_of(const struct ty_field *field)
{
    const double wanted = 8;
    if (wanted < field->min) {
        return field->min;
    }
    return field->max != 0 && wanted > field->max ? field->max : wanted;
}

const char *ty_field_example(const struct ty_field *field)
{
    const char *text = field->fallback;
    const bool number =
        text != NULL && text[0] >= '0' && text[0] <= '9' && strpbrk(text, "123456789") != NULL;
    const bool ranges = field->dim == TY_DIM_COUNT || field->dim == TY_DIM_SECONDS;
    return ranges && number ? text : ty_dimension_example(field->dim);
}

/* "a, b, c". */
static void words_text(const struct ty_field *field, char *buf, size_t size)
{
    size_t len = 0;
    buf[0] = '\0';
    for (const struct ty_word *w = field->words; w->name && len + 1 < size; w++) {
        const int n = snprintf(buf + len, size - len, "%s%s", len > 0 ? ", " : "", w->name);
        len += n > 0 ? (size_t)n : 0;
    }
}

/* ty_field_expects with another noun: "one" for "a whole number"; NULL: its own. */
static void value_expects(const struct ty_field *field, const char *noun, char *buf, size_t size)
{
    char range[160], words[400] = "";
    range_text(field, range, sizeof(range));
    if (field->words) {
        words_text(field, words, sizeof(words));
    }
    switch (field->type) {
    case TY_TYPE_UINT:
    case TY_TYPE_UINT64:
        (void)ty_snprintf(buf, size, "%s%s, such as %.0f", noun ? noun : "a whole number", range,
                          example_of(field));
        break;
    case TY_TYPE_QUANTITY:
        if (noun) {
            (void)snprintf(buf, size, "%s%s", noun, range);
        } else {
            (void)snprintf(buf, size, "it like %s", ty_field_example(field));
        }
        break;
    case TY_TYPE_BOOL:
        (void)snprintf(buf, size, "true or false");
        break;
    case TY_TYPE_WORD:
        (void)snprintf(buf, size, "one of %s", words);
        break;
    case TY_TYPE_WORDS:
        (void)snprintf(buf, size, "each of %s once, like [%s]", words, words);
        break;
    case TY_TYPE_SET:
        (void)snprintf(buf, size, "one or more of %s, like %s", words,
                       field->example ? field->example : "a+b");
        break;
    case TY_TYPE_STRING:
        (void)snprintf(buf, size, "a text");
        break;
    case TY_TYPE_UINTS:
        (void)ty_snprintf(buf, size, "%s%s, like [%.0f, %.0f]", noun ? noun : "whole numbers",
                          range, example_of(field), example_of(field));
        break;
    case TY_TYPE_COUNTS:
        (void)snprintf(buf, size, "%s%s, alone or behind some of %s, like %s",
                       noun ? noun : "whole numbers", range, words,
                       field->example ? field->example : "[a+b:2, 3]");
        break;
    case TY_TYPE_STRINGS:
        (void)snprintf(buf, size, "texts in brackets, like %s",
                       field->example ? field->example : "[a, b]");
        break;
    }
    if (field->blank) {
        const size_t len = strlen(buf);
        (void)snprintf(buf + len, size - len, ", or %s", field->blank);
    }
}

char *ty_field_expects(const struct ty_field *field, char *buf, size_t size)
{
    value_expects(field, NULL, buf, size);
    return buf;
}

#define MESSAGE_BYTES 512
#define SHOWN_BYTES   40 /* of a wrong value */

/* ---- what is wrong ---- */

/* The text of a scalar on one line, cut when it is long. */
static const char *shown(const struct ty_node *node, char *buf)
{
    const char *text = node->text ? node->text : "";
    size_t n = strlen(text) <= SHOWN_BYTES ? strlen(text) : SHOWN_BYTES - 3;
    while (n > 0 && text[n] != '\0' && !ty_utf8_begins(text[n])) {
        n--; /* not in the middle of a character */
    }
    memcpy(buf, text, n);
    for (size_t i = 0; i < n; i++) {
        buf[i] = buf[i] == '\n' ? ' ' : buf[i];
    }
    memcpy(buf + n, text[n] != '\0' ? "..." : "", text[n] != '\0' ? 4 : 1);
    return buf;
}

static int TY_PRINTF(3, 4) value_fail(const struct ty_value_context *c, const struct ty_node *node,
                                      const char *format, ...)
{
    char message[2 * MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct ty_place at = ty_node_place(c->doc, node);
    const char *inner = c->field->inner;
    return ty_fail_at(c->err, TY_EINPUT, &at, "%s.%s%s%s: %s", c->section, c->field->key,
                      inner ? "." : "", inner ? inner : "", message);
}

/* "what (value); write noun from 1 to 1024, such as 8". */
static int wrong(const struct ty_value_context *c, const struct ty_node *node, const char *what,
                 const char *noun)
{
    char value[SHOWN_BYTES + 8], right[MESSAGE_BYTES];
    value_expects(c->field, noun, right, sizeof(right));
    return value_fail(c, node, "%s (%s); write %s", what, shown(node, value), right);
}

/* A scalar that says nothing: "key:", "~", "null". */
static bool is_null(const struct ty_node *node)
{
    static const char *const spellings[] = {"", "~", "null", "Null", "NULL"};
    bool found = !node->text;
    for (size_t i = 0; i < TY_COUNT(spellings) && !found; i++) {
        found = strcmp(node->text, spellings[i]) == 0;
    }
    return node->kind == TY_NODE_SCALAR && !node->quoted && found;
}

/* Reports a node that is no scalar with a value. */
static int check_scalar(const struct ty_value_context *c, const struct ty_node *node)
{
    char right[MESSAGE_BYTES];
    const bool null = is_null(node);
    if (node->kind == TY_NODE_SCALAR && !null) {
        return 0; /* nearly always: what would be right is worth its words only where it is told */
    }
    value_expects(c->field, NULL, right, sizeof(right));
    if (null) {
        return value_fail(c, node, "no value; write %s", right);
    }
    return value_fail(c, node, "%s where one value is due; write %s",
                      node->kind == TY_NODE_LIST ? "a list" : "a mapping", right);
}

/* ---- scalars ---- */

/* The number that the first `digits` of a text are, times `unit`; false: above the limit. */
static bool whole_of(const char *text, size_t digits, unsigned unit, uint64_t limit, uint64_t *out)
{
    uint64_t x = 0;
    for (size_t i = 0; i < digits; i++) {
        const unsigned digit = (unsigned)(text[i] - '0');
        if (x > (limit - digit) / 10) {
            return false;
        }
        x = x * 10 + digit;
    }
    *out = x * unit;
    return x <= limit / unit;
}

/* What stands behind the digits, as a factor; 0: nothing that may. */
static unsigned unit_of(const struct ty_field *field, const char *rest)
{
    const bool kilo = field->tokens && (strcmp(rest, "k") == 0 || strcmp(rest, "K") == 0);
    return kilo ? 1024 : rest[0] == '\0' ? 1 : 0;
}

static int read_whole(const struct ty_value_context *c, const struct ty_node *node, uint64_t *out)
{
    const struct ty_field *field = c->field;
    const uint64_t limit = field->type == TY_TYPE_UINT64 ? UINT64_MAX : UINT32_MAX;
    const size_t digits = strspn(node->text, "0123456789");
    const unsigned unit = unit_of(field, node->text + digits);
    if (node->text[0] == '-' && node->text[1] != '\0' &&
        node->text[1 + strspn(node->text + 1, "0123456789")] == '\0') {
        return wrong(c, node, "too small", NULL);
    }
    if (digits == 0 || unit == 0) {
        return wrong(c, node, "not a whole number", "one");
    }
    uint64_t x;
    if (!whole_of(node->text, digits, unit, limit, &x) ||
        (field->max != 0 && (double)x > field->max)) {
        return wrong(c, node, "too large", NULL);
    }
    if ((double)x < field->min) {
        return wrong(c, node, "too small", NULL);
    }
    *out = x;
    return 0;
}

static int read_uint(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    uint64_t x = 0;
    const int rc = read_whole(c, node, &x);
    if (rc == 0) {
        *(uint32_t *)slot = (uint32_t)x;
    }
    return rc;
}

static int read_uint64(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    return read_whole(c, node, slot);
}

static int read_quantity(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    char why[MESSAGE_BYTES];
    double value;
    const struct ty_field *field = c->field;
    if (ty_quantity_parse_like(node->text, field->dim, ty_field_example(field), &value, why,
                               sizeof(why)) != 0) {
        const bool asks = why[strlen(why) - 1] == '?'; /* for a unit: the blank was not meant */
        const bool blank = field->blank && !asks;
        return value_fail(c, node, "%s%s%s", why, blank ? ", or " : "", blank ? field->blank : "");
    }
    if (field->max != 0 && value > field->max) {
        return wrong(c, node, "too large", "one");
    }
    if (value < field->min) {
        return wrong(c, node, "too small", "one");
    }
    *(double *)slot = value == 0 ? field->zero : value;
    return 0;
}

/* The spellings of the core schema (YAML 1.2.2, 10.3.2); Python writes True. */
static int read_bool(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    static const struct {
        const char *text;
        bool value;
    } spellings[] = {{"true", true},   {"True", true},   {"TRUE", true},
                     {"false", false}, {"False", false}, {"FALSE", false}};
    for (size_t i = 0; i < TY_COUNT(spellings); i++) {
        if (strcmp(node->text, spellings[i].text) == 0) {
            *(bool *)slot = spellings[i].value;
            return 0;
        }
    }
    return wrong(c, node, "neither true nor false", NULL);
}

static int read_word(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    const char *names[64];
    size_t n = 0;
    for (const struct ty_word *w = c->field->words; w->name; w++) {
        if ((c->field->any_case ? strcasecmp : strcmp)(w->name, node->text) == 0) {
            *(int *)slot = w->value;
            return 0;
        }
        if (n + 1 < TY_COUNT(names)) {
            names[n++] = w->name;
        }
    }
    if (c->field->blank) {
        names[n++] = c->field->blank;
    }
    char value[SHOWN_BYTES + 8], right[MESSAGE_BYTES], hint[TY_SUGGESTION];
    value_expects(c->field, NULL, right, sizeof(right));
    return value_fail(c, node, "unknown word (%s); write %s%s", shown(node, value), right,
                      ty_suggestion(node->text, names, n, hint));
}

static int read_string(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    const char *copy = ty_arena_strndup(c->arena, node->text, strlen(node->text));
    if (!copy) {
        return ty_fail_memory(c->err);
    }
    *(const char **)slot = copy;
    return 0;
}

/* ---- lists ---- */

/* One item need not be put in brackets. */
static const struct ty_node *first_item(const struct ty_node *node)
{
    return node->kind == TY_NODE_LIST ? node->first : node;
}

static uint32_t count_items(const struct ty_node *node)
{
    return node->kind == TY_NODE_LIST ? node->n_children : 1;
}

/* Reads every item, also behind one that is wrong; returns the first failure. `items` has room for
 * them all. */
static int read_items(const struct ty_value_context *c, const struct ty_node *node, void *items,
                      size_t item_size,
                      int (*read)(const struct ty_value_context *, const struct ty_node *, void *))
{
    const struct ty_node *item = first_item(node);
    int code = 0;
    for (uint32_t i = 0; i < count_items(node); i++, item = item->next) {
        int rc = check_scalar(c, item);
        if (rc == 0) {
            rc = read(c, item, (char *)items + i * item_size);
        }
        code = code < 0 ? code : rc;
    }
    return code;
}

static int check_count(const struct ty_value_context *c, const struct ty_node *node, uint32_t max)
{
    const uint32_t n = count_items(node);
    return n <= max ? 0
                    : value_fail(c, node, "a list of %u items; write at most %u", (unsigned)n,
                                 (unsigned)max);
}

/* Of a list of numbers: an empty one would pass for a key that is left out. */
static int check_numbers(const struct ty_value_context *c, const struct ty_node *node)
{
    char right[MESSAGE_BYTES];
    if (count_items(node) > 0) {
        return check_count(c, node, TY_LIST_MAX);
    }
    value_expects(c->field, NULL, right, sizeof(right));
    return value_fail(c, node, "an empty list; write %s", right);
}

static int read_uints(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    const uint32_t n = count_items(node);
    int rc = check_numbers(c, node);
    if (rc < 0) {
        return rc;
    }
    uint32_t *item = ty_arena_array(c->arena, uint32_t, n);
    if (item == NULL) {
        return ty_fail_memory(c->err);
    }
    rc = read_items(c, node, item, sizeof(*item), read_uint);
    if (rc == 0) {
        *(struct ty_uint_list *)slot = (struct ty_uint_list){n, item};
    }
    return rc;
}

static int read_strings(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    const uint32_t n = count_items(node);
    int rc = check_count(c, node, TY_LIST_MAX);
    if (rc < 0) {
        return rc;
    }
    const char **item = ty_arena_array(c->arena, const char *, n);
    struct ty_list_place *at = ty_arena_array(c->arena, struct ty_list_place, n);
    if (item == NULL || at == NULL) {
        return ty_fail_memory(c->err);
    }
    rc = read_items(c, node, item, sizeof(*item), read_string);
    const struct ty_node *text = first_item(node);
    for (uint32_t i = 0; i < n; i++, text = text->next) {
        at[i] = (struct ty_list_place){text->line, text->col};
    }
    if (rc == 0) {
        *(struct ty_string_list *)slot = (struct ty_string_list){n, item, at};
    }
    return rc;
}

/* Every word of the field must be there exactly once. */
static int read_words(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    struct ty_word_list list = {.n = count_items(node)};
    int rc = check_count(c, node, TY_COUNT(list.item));
    if (rc == 0) {
        rc = read_items(c, node, list.item, sizeof(list.item[0]), read_word);
    }
    if (rc < 0) {
        return rc;
    }
    const struct ty_node *item = first_item(node);
    for (uint32_t i = 0; i < list.n; i++, item = item->next) {
        for (uint32_t j = 0; j < i; j++) {
            if (list.item[i] == list.item[j]) {
                return wrong(c, item, "given twice", NULL);
            }
        }
    }
    for (const struct ty_word *w = c->field->words; w->name; w++) {
        bool found = false;
        for (uint32_t i = 0; i < list.n; i++) {
            found = found || list.item[i] == w->value;
        }
        if (!found) {
            char right[MESSAGE_BYTES];
            value_expects(c->field, NULL, right, sizeof(right));
            return value_fail(c, node, "not given (%s); write %s", w->name, right);
        }
    }
    *(struct ty_word_list *)slot = list;
    return 0;
}

/* One word of a set, which is joined to those before it. */
static int read_member(const struct ty_value_context *c, const struct ty_node *node, bool alone,
                       uint32_t *set)
{
    int value = 0;
    int rc = check_scalar(c, node);
    if (rc == 0) {
        rc = read_word(c, node, &value);
    }
    if (rc == 0 && value == 0 && !alone) {
        return wrong(c, node, "given beside others", NULL);
    }
    *set |= (uint32_t)value;
    return rc;
}

/* "a+b": where lists are hard to write, on command lines and in tables. */
static int read_joined(const struct ty_value_context *c, const struct ty_node *node, uint32_t *set)
{
    const char *p = node->text;
    const bool alone = strchr(p, '+') == NULL;
    int code = 0;
    for (bool more = true; more;) {
        const size_t n = strcspn(p, "+");
        struct ty_node word = *node;
        word.text = ty_arena_strndup(c->arena, p, n);
        if (word.text == NULL) {
            return ty_fail_memory(c->err);
        }
        const int rc = read_member(c, &word, alone, set);
        code = code < 0 ? code : rc;
        more = p[n] == '+';
        p += n + more;
    }
    return code;
}

static int read_set(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    uint32_t set = 0;
    int code = 0;
    if (node->kind != TY_NODE_LIST) {
        code = read_joined(c, node, &set);
    } else {
        for (const struct ty_node *item = node->first; item != NULL; item = item->next) {
            const int rc = read_member(c, item, node->n_children == 1, &set);
            code = code < 0 ? code : rc;
        }
    }
    if (code == 0) {
        *(uint32_t *)slot = set;
    }
    return code;
}

/* A part of a node's text as a node of its own; false: no memory. */
static bool cut_node(const struct ty_value_context *c, const struct ty_node *node, const char *text,
                     size_t n, struct ty_node *out)
{
    *out = *node;
    out->text = ty_arena_strndup(c->arena, text, n);
    return out->text != NULL;
}

/* "a+b:2+c:3": every set ends with its number. */
static int read_sets(const struct ty_value_context *c, const struct ty_node *node,
                     struct ty_counts *out)
{
    const char *p = node->text;
    uint32_t set = 0;
    bool first = true; /* of its set */
    int rc = 0;
    for (bool more = true; more && rc == 0; p += more) {
        const size_t n = strcspn(p, "+:");
        const bool ends = p[n] == ':';
        struct ty_node word, number;
        if (!cut_node(c, node, p, n, &word) ||
            !cut_node(c, node, p + n + ends, ends ? strcspn(p + n + 1, "+") : 0, &number)) {
            return ty_fail_memory(c->err);
        }
        rc = read_member(c, &word, first && ends, &set);
        first = ends;
        p += n + ends + strlen(number.text);
        more = *p == '+';
        if (rc == 0 && ends && out->n < TY_COUNTS_SETS) {
            out->item[out->n].set = set;
            set = 0;
            rc = read_uint(c, &number, &out->item[out->n++].n);
        } else if (rc == 0 && (ends || !more)) {
            rc = wrong(c, node, ends ? "too many sets of words" : "no number behind the last word",
                       NULL);
        }
    }
    return rc;
}

static int read_count(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    struct ty_counts *out = slot;
    *out = (struct ty_counts){.n = 0};
    if (node->text[strspn(node->text, "-0123456789")] != '\0') {
        return read_sets(c, node, out);
    }
    out->n = 1;
    out->item[0].set = TY_COUNTS_PLAIN;
    return read_uint(c, node, &out->item[0].n);
}

static int read_counts(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    const uint32_t n = count_items(node);
    int rc = check_numbers(c, node);
    if (rc < 0) {
        return rc;
    }
    struct ty_counts *item = ty_arena_array(c->arena, struct ty_counts, n);
    if (item == NULL) {
        return ty_fail_memory(c->err);
    }
    rc = read_items(c, node, item, sizeof(*item), read_count);
    if (rc == 0) {
        *(struct ty_counts_list *)slot = (struct ty_counts_list){n, item};
    }
    return rc;
}

/* ---- by type ---- */

static const struct {
    int (*read)(const struct ty_value_context *, const struct ty_node *, void *);
    size_t size;
    bool is_list;
} types[] = {
    [TY_TYPE_UINT] = {read_uint, sizeof(uint32_t), false},
    [TY_TYPE_UINT64] = {read_uint64, sizeof(uint64_t), false},
    [TY_TYPE_QUANTITY] = {read_quantity, sizeof(double), false},
    [TY_TYPE_BOOL] = {read_bool, sizeof(bool), false},
    [TY_TYPE_WORD] = {read_word, sizeof(int), false},
    [TY_TYPE_WORDS] = {read_words, sizeof(struct ty_word_list), true},
    [TY_TYPE_SET] = {read_set, sizeof(uint32_t), true},
    [TY_TYPE_STRING] = {read_string, sizeof(const char *), false},
    [TY_TYPE_UINTS] = {read_uints, sizeof(struct ty_uint_list), true},
    [TY_TYPE_STRINGS] = {read_strings, sizeof(struct ty_string_list), true},
    [TY_TYPE_COUNTS] = {read_counts, sizeof(struct ty_counts_list), true},
};

size_t ty_value_size(enum ty_field_type type)
{
    return types[type].size;
}

int ty_value_read(const struct ty_value_context *c, const struct ty_node *node, void *slot)
{
    const struct ty_field *field = c->field;
    if (field->blank && node->kind == TY_NODE_SCALAR && node->text &&
        strcmp(node->text, field->blank) == 0) {
        memset(slot, 0, types[field->type].size);
        return 0;
    }
    if (!types[field->type].is_list || node->kind != TY_NODE_LIST) {
        const int rc = check_scalar(c, node);
        if (rc < 0) {
            return rc;
        }
    }
    return types[field->type].read(c, node, slot);
}
