/* trace_rules.h - every rule that a Chrome trace has to keep, checked on the text of one.
 *
 * The rules are those that viewers need (see traces/chrome/chrome.c) and those that trainyard
 * promises: names, rows, arguments, counters, arrows, and that passes and bubbles fill every
 * compute row. */
#ifndef TY_TESTS_TRACE_RULES_H
#define TY_TESTS_TRACE_RULES_H

#include <math.h>

#include "tests/unit/trace_path.h"

/* ---- the document ---- */

static inline bool rules_document(struct rules *r, const struct js *root)
{
    static const char *const order[] = {"displayTimeUnit", "metadata", "otherData", "traceEvents"};
    const struct js *k = root->type == JS_OBJECT ? root->first : NULL;
    for (size_t i = 0; i < 4; i++, k = k->next) {
        if (k == NULL || strlen(order[i]) != k->key_len ||
            memcmp(k->key, order[i], k->key_len) != 0) {
            return rules_fail(r, NULL,
                              "the document has displayTimeUnit, metadata, otherData and "
                              "traceEvents, in this order");
        }
    }
    const struct js *meta = js_need(root, "metadata"), *other = js_need(root, "otherData");
    if (k != NULL || !js_is(js_get(root, "displayTimeUnit"), "ms")) {
        return rules_fail(r, NULL, "displayTimeUnit is ms, and nothing follows traceEvents");
    }
    if (meta->raw_len != other->raw_len || memcmp(meta->raw, other->raw, meta->raw_len) != 0) {
        return rules_fail(r, NULL, "metadata and otherData differ");
    }
    for (k = meta->first; k != NULL; k = k->next) {
        if (k->type == JS_OBJECT || k->type == JS_ARRAY) {
            return rules_fail(r, NULL, "metadata is flat");
        }
        if (k->type == JS_NUMBER && !isfinite(strtod(k->raw, NULL))) {
            return rules_fail(r, NULL, "a number that is not finite");
        }
    }
    return js_need(root, "traceEvents")->type == JS_ARRAY;
}

/* One event per line, and nothing else on it. */
static inline bool rules_lines(struct rules *r, const char *text, const struct js *events)
{
    for (const struct js *e = events->first; e != NULL; e = e->next) {
        const char *end = e->raw + e->raw_len;
        end += *end == ',';
        if (e->raw == text || e->raw[-1] != '\n' || *end != '\n' ||
            memchr(e->raw, '\n', e->raw_len) != NULL) {
            return rules_fail(r, NULL, "one event per line: %.*s", (int)e->raw_len, e->raw);
        }
    }
    return true;
}

/* ---- all ---- */

/* Checks text[n] (zero-terminated). True when every rule holds; else r->why names the first
 * violation. Either way rules_release. */
static inline bool rules_check(struct rules *r, const char *text, size_t n)
{
    *r = (struct rules){.n = 0};
    const struct js *root = js_parse(&r->arena, text, n, r->why, sizeof(r->why));
    if (root == NULL || !rules_document(r, root)) {
        return false;
    }
    const struct js *events = js_need(root, "traceEvents");
    r->events = ty_arena_array(&r->arena, struct rules_event, events->n);
    for (const struct js *e = events->first; e != NULL; e = e->next) {
        if (!rules_event(r, e, &r->events[r->n++])) {
            return false;
        }
    }
    qsort(r->events, r->n, sizeof(*r->events), rules_order);
    for (size_t i = r->n_slices; i < r->n; i++) { /* they are side by side */
        if (r->events[i].ph == 'M') {
            r->namings = r->n_namings++ == 0 ? &r->events[i] : r->namings;
        }
    }
    return rules_lines(r, text, events) && rules_names(r) && rules_rows(r) && rules_processes(r) &&
           rules_idle(r) && rules_flows(r) && rules_collectives(r) && rules_path(r);
}

static inline void rules_release(struct rules *r)
{
    ty_arena_release(&r->arena);
}

#endif
