/* trace_rules.h - every rule that a Chrome trace has to keep, checked on the text of one.
 *
 * The rules are those that viewers need (see traces/chrome.c) and those that trainyard promises:
 * names, rows, arguments, counters, arrows, and that passes and bubbles fill every compute row. */
#ifndef TY_TESTS_TRACE_RULES_H
#define TY_TESTS_TRACE_RULES_H

#include "tests/unit/trace_events.h"

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
    const struct js *meta = js_get(root, "metadata"), *other = js_get(root, "otherData");
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
    }
    return js_get(root, "traceEvents")->type == JS_ARRAY;
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

/* ---- rows ---- */

static inline bool js_same(const struct js *a, const struct js *b)
{
    return a->raw_len == b->raw_len && memcmp(a->raw, b->raw, a->raw_len) == 0;
}

static inline bool js_before(const struct js *a, const struct js *b)
{
    const size_t n = a->raw_len < b->raw_len ? a->raw_len : b->raw_len;
    const int order = memcmp(a->raw, b->raw, n);
    return order < 0 || (order == 0 && a->raw_len < b->raw_len);
}

static inline int rules_order(const void *a, const void *b)
{
    const struct rules_event *x = a, *y = b;
    const bool sx = x->ph == 'X', sy = y->ph == 'X';
#define BY(p, q)                                                                                   \
    if ((p) != (q)) {                                                                              \
        return (p) < (q) ? -1 : 1;                                                                 \
    }
    BY(!sx, !sy)
    BY(sx ? 0 : x->ph, sy ? 0 : y->ph)
    BY(x->pid, y->pid)
    BY(sx ? x->tid : 0, sy ? y->tid : 0)
    if (x->ph == 'C' && !js_same(x->name, y->name)) {
        return js_before(x->name, y->name) ? -1 : 1;
    }
    BY(x->ts, y->ts)
    BY(y->dur, x->dur)
#undef BY
    return x->node->raw < y->node->raw ? -1 : 1;
}

static inline bool rules_named(const struct rules *r, const char *name, unsigned long long pid,
                               unsigned long long tid)
{
    for (size_t i = r->n_slices; i < r->n; i++) {
        if (r->events[i].ph == 'M' && r->events[i].pid == pid && r->events[i].tid == tid &&
            js_is(r->events[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* The name of the job that stands before "rank 3" in the name of a process; none: "". */
static inline struct js rules_job(const struct rules *r, unsigned long long pid)
{
    struct js job = {.type = JS_STRING, .raw = "", .raw_len = 0};
    for (size_t i = r->n_slices; i < r->n; i++) {
        const struct rules_event *e = &r->events[i];
        const struct js *name = e->ph == 'M' && e->pid == pid && js_is(e->name, "process_name")
                                    ? js_get(e->args, "name")
                                    : NULL;
        for (size_t k = 0; name != NULL && k + 5 <= name->raw_len; k++) {
            if (memcmp(name->raw + k, "rank ", 5) == 0) {
                job.raw = name->raw;
                job.raw_len = k;
                return job;
            }
        }
    }
    return job;
}

/* Passes and bubbles, the outermost slices of the compute row. */
static inline bool rules_outer(struct rules *r, const struct rules_event *e)
{
    static const char *const outer[] = {"forward",        "backward", "dgrad", "wgrad",
                                        "optimizer step", "bubble",   NULL};
    size_t words;
    bool number;
    rules_name(e->name, &words, &number);
    const struct js part = {.type = JS_STRING, .raw = e->name->raw, .raw_len = words};
    return rules_listed(&part, outer) || rules_fail(r, e, "neither a pass nor a bubble");
}

/* One row: slices nest or are disjoint; on the compute row the outermost ones follow each other
 * without a hole when there are bubbles. events[first .. end). */
static inline bool rules_row(struct rules *r, size_t first, size_t end)
{
    const struct rules_event *e = r->events;
    size_t stack[64], depth = 0;
    unsigned long long until = 0;
    const bool compute = e[first].tid == 11;
    if (!rules_named(r, "thread_name", e[first].pid, e[first].tid) ||
        !rules_named(r, "thread_sort_index", e[first].pid, e[first].tid)) {
        return rules_fail(r, &e[first], "row without thread_name or thread_sort_index");
    }
    for (size_t i = first; i < end; i++) {
        while (depth > 0 && e[i].ts >= e[stack[depth - 1]].ts + e[stack[depth - 1]].dur) {
            depth--;
        }
        if (depth > 0) {
            const struct rules_event *up = &e[stack[depth - 1]];
            if (e[i].ts + e[i].dur > up->ts + up->dur) {
                return rules_fail(r, &e[i], "overlaps the slice before it");
            }
            if (!compute || js_is(e[i].cat, "bubble") || js_is(up->cat, "bubble")) {
                return rules_fail(r, &e[i], "nested where nothing nests");
            }
            if (e[i].ts == up->ts && e[i].dur == up->dur && e[i].node->raw < up->node->raw) {
                return rules_fail(r, &e[i], "child written before its parent");
            }
        } else if (compute) {
            if (!rules_outer(r, &e[i])) {
                return false;
            }
            if (r->n_bubbles > 0 && i > first && e[i].ts != until) {
                return rules_fail(r, &e[i], "hole before this slice: neither pass nor bubble");
            }
            until = e[i].ts + e[i].dur;
        }
        if (depth == 64) {
            return rules_fail(r, &e[i], "nested too deep");
        }
        stack[depth++] = i;
    }
    if (compute && r->n_bubbles > 0) {
        const struct js job = rules_job(r, e[first].pid); /* each ends when it is done */
        const bool known = r->to > 0 && r->job.raw_len == job.raw_len &&
                           memcmp(r->job.raw, job.raw, job.raw_len) == 0;
        r->job = job;
        if (known && (r->from != e[first].ts || r->to != until)) {
            return rules_fail(r, &e[first], "compute rows of different extent");
        }
        r->from = e[first].ts;
        r->to = until;
    }
    return true;
}

static inline bool rules_rows(struct rules *r)
{
    for (size_t i = 0, end; i < r->n_slices; i = end) {
        for (end = i + 1; end < r->n_slices && r->events[end].pid == r->events[i].pid &&
                          r->events[end].tid == r->events[i].tid;
             end++) {}
        if (!rules_row(r, i, end)) {
            return false;
        }
    }
    return true;
}

/* ---- processes, counters ---- */

/* Links are idle in the end: the last value of such a counter is 0. */
static inline bool rules_idle(struct rules *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct rules_event *e = &r->events[i], *after = &r->events[i + 1];
        const bool last = i + 1 == r->n || after->ph != 'C' || after->pid != e->pid ||
                          !js_same(after->name, e->name);
        if (e->ph == 'C' && !js_is(e->name, "memory") && last &&
            strtod(e->args->first->raw, NULL) > 0) {
            return rules_fail(r, e, "a link carries something for ever");
        }
    }
    return true;
}

static inline bool rules_processes(struct rules *r)
{
    bool *taken = ty_arena_array(&r->arena, bool, r->n_processes + 1);
    for (size_t i = 0; i < r->n; i++) {
        const struct rules_event *e = &r->events[i];
        unsigned long long index;
        if (e->ph == 'M' && js_is(e->name, "process_sort_index")) {
            if (!js_whole(js_get(e->args, "sort_index"), &index) || index >= r->n_processes ||
                taken[index]) {
                return rules_fail(r, e, "sort indices are 0, 1, ... each once");
            }
            taken[index] = true;
        }
        if (e->ph == 'M' && js_is(e->name, "process_name") &&
            (!rules_named(r, "process_sort_index", e->pid, e->tid) ||
             !rules_named(r, "process_labels", e->pid, e->tid))) {
            return rules_fail(r, e, "process without sort index or labels");
        }
        if (e->ph == 'C' && i > 0 && r->events[i - 1].ph == 'C' && r->events[i - 1].pid == e->pid &&
            js_same(r->events[i - 1].name, e->name)) {
            const struct rules_event *before = &r->events[i - 1];
            if (before->ts == e->ts ||
                (before->args->raw_len == e->args->raw_len &&
                 memcmp(before->args->raw, e->args->raw, e->args->raw_len) == 0)) {
                return rules_fail(r, e, "counter written without a change");
            }
        }
    }
    return true;
}

/* ---- arrows ---- */

/* The slice of a row that starts at or before t, last. */
static inline const struct rules_event *rules_slice_at(const struct rules *r,
                                                       const struct rules_event *e)
{
    const struct rules_event *found = NULL;
    for (size_t low = 0, high = r->n_slices; low < high;) {
        const size_t mid = low + (high - low) / 2;
        const struct rules_event *s = &r->events[mid];
        const bool before = s->pid != e->pid
                                ? s->pid < e->pid
                                : (s->tid != e->tid ? s->tid < e->tid : s->ts <= e->ts);
        if (before) {
            found = s;
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return found != NULL && found->pid == e->pid && found->tid == e->tid ? found : NULL;
}

/* Names end with the same number, and the slice's begins with `word`. */
static inline bool rules_matches(const struct js *slice, const char *word, const struct js *flow)
{
    size_t a, b;
    bool na, nb;
    rules_name(slice, &a, &na);
    rules_name(flow, &b, &nb);
    return a == strlen(word) && memcmp(slice->raw, word, a) == 0 &&
           slice->raw_len - a == flow->raw_len - b &&
           memcmp(slice->raw + a, flow->raw + b, slice->raw_len - a) == 0;
}

static inline int rules_by_id(const void *a, const void *b)
{
    const struct rules_event *x = a, *y = b;
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : (y->ph > x->ph ? 1 : -1); /* s before f */
}

static inline bool rules_flows(struct rules *r)
{
    struct rules_event *flows = ty_arena_array(&r->arena, struct rules_event, r->n);
    size_t n = 0;
    for (size_t i = r->n_slices; i < r->n; i++) {
        if (r->events[i].ph == 's' || r->events[i].ph == 'f') {
            flows[n++] = r->events[i];
        }
    }
    qsort(flows, n, sizeof(*flows), rules_by_id);
    for (size_t i = 0; i < n; i += 2) {
        const struct rules_event *s = &flows[i], *f = &flows[i + 1];
        if (i + 1 >= n || s->ph != 's' || f->ph != 'f' || s->id != f->id ||
            (i > 0 && flows[i - 1].id == s->id)) {
            return rules_fail(r, s, "a flow id has one start and one end");
        }
        const struct rules_event *from = rules_slice_at(r, s), *to = rules_slice_at(r, f);
        if (from == NULL || s->ts + 1 != from->ts + from->dur ||
            !rules_matches(from->name, "send", s->name)) {
            return rules_fail(r, s, "a flow starts in the last nanosecond of its send");
        }
        if (to == NULL || f->ts != to->ts || !rules_matches(to->name, "recv", f->name)) {
            return rules_fail(r, f, "a flow ends at the start of its receive");
        }
        if (f->ts <= s->ts || f->pid == s->pid) {
            return rules_fail(r, f, "a flow goes forward in time, to another rank");
        }
    }
    return true;
}

/* ---- collectives ---- */

static inline int rules_by_instance(const void *a, const void *b)
{
    const struct rules_event *x = a, *y = b;
    const struct js *g = js_get(x->args, "group"), *h = js_get(y->args, "group");
    const size_t n = g->raw_len < h->raw_len ? g->raw_len : h->raw_len;
    const int by_name = memcmp(g->raw, h->raw, n);
    if (by_name != 0 || g->raw_len != h->raw_len) {
        return by_name != 0 ? by_name : g->raw_len < h->raw_len ? -1 : 1;
    }
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->pid < y->pid ? -1 : 1;
}

/* Members of one collective are found by group and seq: same name, same time, other rank. */
static inline bool rules_collectives(struct rules *r)
{
    struct rules_event *all = ty_arena_array(&r->arena, struct rules_event, r->n_slices);
    size_t n = 0;
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct rules_event *e = &r->events[i];
        if (e->tid == 12 || e->tid == 13) {
            all[n] = *e;
            if (js_get(e->args, "group") == NULL || !js_whole(js_get(e->args, "seq"), &all[n].id)) {
                return rules_fail(r, e, "a collective has args.group and args.seq");
            }
            n++;
        }
    }
    qsort(all, n, sizeof(*all), rules_by_instance);
    for (size_t i = 1; i < n; i++) {
        const struct js *g = js_get(all[i - 1].args, "group"), *h = js_get(all[i].args, "group");
        if (all[i].id == all[i - 1].id && g->raw_len == h->raw_len &&
            memcmp(g->raw, h->raw, g->raw_len) == 0 &&
            (all[i].ts != all[i - 1].ts || all[i].pid == all[i - 1].pid ||
             all[i].name->raw_len != all[i - 1].name->raw_len)) {
            return rules_fail(r, &all[i], "members of one collective differ");
        }
    }
    r->n_collectives = n;
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
    const struct js *events = js_get(root, "traceEvents");
    r->events = ty_arena_array(&r->arena, struct rules_event, events->n);
    for (const struct js *e = events->first; e != NULL; e = e->next) {
        if (!rules_event(r, e, &r->events[r->n++])) {
            return false;
        }
    }
    qsort(r->events, r->n, sizeof(*r->events), rules_order);
    return rules_lines(r, text, events) && rules_rows(r) && rules_processes(r) && rules_idle(r) &&
           rules_flows(r) && rules_collectives(r);
}

static inline void rules_release(struct rules *r)
{
    ty_arena_release(&r->arena);
}

#endif
