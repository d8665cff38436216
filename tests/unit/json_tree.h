/* json_tree.h - strict JSON (RFC 8259) into a tree, for tests: nothing lenient, UTF-8 checked.
 *
 * Nodes keep the raw text, so that a test can tell "1.500" from "1.5". */
#ifndef TY_TESTS_JSON_TREE_H
#define TY_TESTS_JSON_TREE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"

enum js_type {
    JS_NULL,
    JS_BOOL,
    JS_NUMBER,
    JS_STRING,
    JS_ARRAY,
    JS_OBJECT
};

struct js {
    enum js_type type;
    const char *key, *raw; /* raw: the value as written; of strings without quotes */
    size_t key_len, raw_len;
    struct js *first, *next;
    size_t n; /* children */
};

struct js_reader {
    const char *p, *end;
    struct ty_arena *arena;
    int depth;
    const char *problem; /* NULL: none */
    const char *at;
};

static inline struct js *js_fail(struct js_reader *r, const char *problem)
{
    if (r->problem == NULL) {
        r->problem = problem;
        r->at = r->p;
    }
    return NULL;
}

static inline void js_space(struct js_reader *r)
{
    while (r->p < r->end && strchr(" \t\r\n", *r->p) != NULL && *r->p != '\0') {
        r->p++;
    }
}

static inline bool js_take(struct js_reader *r, char ch)
{
    js_space(r);
    if (r->p < r->end && *r->p == ch) {
        r->p++;
        return true;
    }
    return false;
}

/* Length of the UTF-8 character at p, 0 when it is none. */
static inline size_t js_utf8(const char *p, const char *end)
{
    const unsigned char c = (unsigned char)*p;
    const size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (n == 0 || (size_t)(end - p) < n) {
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return n;
}

static inline bool js_string(struct js_reader *r, const char **raw, size_t *len)
{
    if (!js_take(r, '"')) {
        js_fail(r, "a string is due");
        return false;
    }
    *raw = r->p;
    while (r->p < r->end && *r->p != '"') {
        if ((unsigned char)*r->p < 0x20) {
            js_fail(r, "control character in a string");
            return false;
        }
        if (*r->p == '\\') {
            const bool hex = r->end - r->p > 6 && r->p[1] == 'u';
            if (r->end - r->p < 2 || strchr("\"\\/bfnrtu", r->p[1]) == NULL ||
                (r->p[1] == 'u' && (!hex || strspn(r->p + 2, "0123456789abcdefABCDEF") < 4))) {
                js_fail(r, "bad escape in a string");
                return false;
            }
            r->p += hex ? 6 : 2;
            continue;
        }
        const size_t n = js_utf8(r->p, r->end);
        if (n == 0) {
            js_fail(r, "not UTF-8");
            return false;
        }
        r->p += n;
    }
    *len = (size_t)(r->p - *raw);
    if (r->p >= r->end) {
        js_fail(r, "unfinished string");
        return false;
    }
    r->p++;
    return true;
}

static inline size_t js_digits(struct js_reader *r)
{
    const char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') {
        r->p++;
    }
    return (size_t)(r->p - from);
}

/* Moves behind a character if it is one of these. */
static inline bool js_one_of(struct js_reader *r, const char *these)
{
    const bool found = r->p < r->end && *r->p != '\0' && strchr(these, *r->p) != NULL;
    r->p += found;
    return found;
}

static inline bool js_number(struct js_reader *r)
{
    js_one_of(r, "-");
    const bool zero = r->p < r->end && *r->p == '0';
    const size_t whole = js_digits(r);
    if (whole == 0 || (zero && whole > 1)) {
        return false;
    }
    if (js_one_of(r, ".") && js_digits(r) == 0) {
        return false;
    }
    if (js_one_of(r, "eE")) {
        js_one_of(r, "-+");
        return js_digits(r) > 0;
    }
    return true;
}

static inline struct js *js_value(struct js_reader *r);

static inline struct js *js_members(struct js_reader *r, struct js *node, char close)
{
    struct js **tail = &node->first;
    if (++r->depth > 64) {
        return js_fail(r, "nested too deep");
    }
    if (!js_take(r, close)) {
        do {
            const char *key = NULL;
            size_t key_len = 0;
            if (close == '}' && (!js_string(r, &key, &key_len) || !js_take(r, ':'))) {
                return js_fail(r, "key and ':' are due");
            }
            struct js *child = js_value(r);
            if (child == NULL) {
                return NULL;
            }
            child->key = key;
            child->key_len = key_len;
            for (struct js *k = node->first; close == '}' && k != NULL; k = k->next) {
                if (k->key_len == key_len && memcmp(k->key, key, key_len) == 0) {
                    return js_fail(r, "the same key twice");
                }
            }
            *tail = child;
            tail = &child->next;
            node->n++;
        } while (js_take(r, ','));
        if (!js_take(r, close)) {
            return js_fail(r, "',' or the end of the list is due");
        }
    }
    r->depth--;
    return node;
}

static inline struct js *js_value(struct js_reader *r)
{
    static const char *const words[] = {"null", "true", "false"};
    struct js *node = ty_arena_alloc(r->arena, 1, sizeof(*node));
    js_space(r);
    if (node == NULL || r->p >= r->end) {
        return js_fail(r, "a value is due");
    }
    node->raw = r->p;
    if (*r->p == '"') {
        node->type = JS_STRING;
        return js_string(r, &node->raw, &node->raw_len) ? node : NULL;
    }
    if (*r->p == '{' || *r->p == '[') {
        const bool object = *r->p == '{';
        node->type = object ? JS_OBJECT : JS_ARRAY;
        r->p++;
        if (js_members(r, node, object ? '}' : ']') == NULL) {
            return NULL;
        }
        node->raw_len = (size_t)(r->p - node->raw);
        return node;
    }
    for (size_t i = 0; i < 3; i++) {
        const size_t n = strlen(words[i]);
        if ((size_t)(r->end - r->p) >= n && memcmp(r->p, words[i], n) == 0) {
            node->type = i == 0 ? JS_NULL : JS_BOOL;
            node->raw_len = n;
            r->p += n;
            return node;
        }
    }
    node->type = JS_NUMBER;
    if (!js_number(r)) {
        return js_fail(r, "not a value");
    }
    node->raw_len = (size_t)(r->p - node->raw);
    return node;
}

/* The tree of a whole document, or NULL and why[]. text[n] must be zero-terminated. */
static inline struct js *js_parse(struct ty_arena *arena, const char *text, size_t n, char *why,
                                  size_t why_size)
{
    struct js_reader r = {.p = text, .end = text + n, .arena = arena};
    struct js *root = js_value(&r);
    js_space(&r);
    if (root != NULL && r.p != r.end) {
        root = js_fail(&r, "text after the document");
    }
    if (root == NULL) {
        unsigned line = 1;
        for (const char *q = text; q < r.at; q++) {
            line += *q == '\n';
        }
        snprintf(why, why_size, "line %u: %s", line, r.problem);
    }
    return root;
}

static inline const struct js *js_get(const struct js *node, const char *key)
{
    const size_t n = strlen(key);
    for (const struct js *k = node == NULL ? NULL : node->first; k != NULL; k = k->next) {
        if (k->key_len == n && memcmp(k->key, key, n) == 0) {
            return k;
        }
    }
    return NULL;
}

/* A member that must be there. */
static inline const struct js *js_need(const struct js *node, const char *key)
{
    const struct js *found = js_get(node, key);
    if (found == NULL) {
        fprintf(stderr, "no member %s\n", key);
        abort();
    }
    return found;
}

static inline bool js_is(const struct js *node, const char *text)
{
    return node != NULL && node->type == JS_STRING && node->raw_len == strlen(text) &&
           memcmp(node->raw, text, node->raw_len) == 0;
}

/* A whole number >= 0; false when the node is anything else. */
static inline bool js_whole(const struct js *node, unsigned long long *out)
{
    char digits[24];
    if (node == NULL || node->type != JS_NUMBER || node->raw_len >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, node->raw, node->raw_len);
    digits[node->raw_len] = '\0';
    *out = strtoull(digits, NULL, 10);
    return strspn(digits, "0123456789") == node->raw_len;
}

#endif
