/* trace_rows.h - the rules of rows, processes and counters of a Chrome trace: what nests, what
 * fills a row, names and order. */
#ifndef TY_TESTS_TRACE_ROWS_H
#define TY_TESTS_TRACE_ROWS_H

#include "sim/core/program/program.h"
#include "tests/unit/trace_events.h"

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
    for (size_t i = 0; i < r->n_namings; i++) {
        const struct rules_event *e = &r->namings[i];
        if (e->pid == pid && e->tid == tid && js_is(e->name, name)) {
            return true;
        }
    }
    return false;
}

/* The row with that name of a process, by its tid; 0: not shown. */
static inline unsigned long long rules_row_of(const struct rules *r, unsigned long long pid,
                                              const struct js *name)
{
    for (size_t i = 0; i < r->n_namings; i++) {
        const struct rules_event *e = &r->namings[i];
        if (e->pid == pid && js_is(e->name, "thread_name") &&
            js_same(js_need(e->args, "name"), name)) {
            return e->tid;
        }
    }
    return 0;
}

static inline bool rules_process(const struct rules *r, unsigned long long pid)
{
    for (size_t i = 0; i < r->n_namings; i++) {
        if (r->namings[i].pid == pid) {
            return true;
        }
    }
    return false;
}

/* The name of the job before "rank 3" or "stage 3" in the name of a process; none: "". */
static inline struct js rules_job(const struct rules *r, unsigned long long pid)
{
    struct js job = {.type = JS_STRING, .raw = "", .raw_len = 0};
    for (size_t i = 0; i < r->n_namings; i++) {
        const struct rules_event *e = &r->namings[i];
        const struct js *name =
            e->pid == pid && js_is(e->name, "process_name") ? js_get(e->args, "name") : NULL;
        for (size_t k = 0; name != NULL && k + 5 <= name->raw_len; k++) {
            if (memcmp(name->raw + k, "rank ", 5) == 0 ||
                (name->raw_len - k > 5 && memcmp(name->raw + k, "stage ", 6) == 0)) {
                job.raw = name->raw;
                job.raw_len = k;
                return job;
            }
        }
    }
    return job;
}

/* Whose job is called so has rows of CUDA streams, with names of their own. */
static inline bool rules_measured(const struct rules *r, unsigned long long pid)
{
    static const char word[] = "measured ";
    const struct js job = rules_job(r, pid);
    const size_t n = sizeof(word) - 1;
    return job.raw_len >= n && memcmp(job.raw + job.raw_len - n, word, n) == 0;
}

/* Passes and bubbles, the outermost slices of the compute row. */
static inline bool rules_outer(struct rules *r, const struct rules_event *e)
{
    static const char *const outer[] = {"forward",        "backward", "dgrad",  "wgrad",
                                        "optimizer step", "other",    "bubble", NULL};
    size_t words;
    bool number;
    rules_name(e->name, &words, &number);
    const struct js part = {.type = JS_STRING, .raw = e->name->raw, .raw_len = words};
    return rules_listed(&part, outer) || rules_fail(r, e, "neither a pass nor a bubble");
}

/* What operations may be inside of. */
static inline bool rules_part(const struct rules_event *e)
{
    static const char *const parts[] = {
#define X(id, name, ...) name,
        TY_PARTS(X)
#undef X
            "recompute",
        NULL};
    return rules_listed(e->name, parts);
}

/* What is wrong with a slice inside another, `depth` deep, or NULL. */
static inline const char *rules_inside(const struct rules_event *e, const struct rules_event *up,
                                       size_t depth)
{
    if (e->ts + e->dur > up->ts + up->dur) {
        return "overlaps the slice before it";
    }
    if (e->tid != 11 || js_is(e->cat, "bubble") || js_is(up->cat, "bubble")) {
        return "nested where nothing nests";
    }
    return depth == 3 || (depth == 2 && !rules_part(up)) ? "inside what is no part of a pass"
                                                         : NULL;
}

/* The end of a slice as readers of JSON work it out, counted from some start. */
static inline double rules_end(const struct rules_event *e, double from)
{
    return e->start - from + e->length;
}

/* Sums of doubles keep the order of slices, also when times count from the first slice of the
 * row: one ends before the one that follows begins. */
static inline bool rules_closed(struct rules *r, const struct rules_event *e,
                                const struct rules_event *next, double from)
{
    return (rules_end(e, 0) < next->start && rules_end(e, from) < next->start - from) ||
           rules_fail(r, next, "as doubles, begins before the slice before it ends");
}

/* And before the one around it ends: lengths fall short by a tenth of ns a slice around them. */
static inline bool rules_shortfall(struct rules *r, const struct rules_event *e,
                                   const struct rules_event *up, size_t depth, double from)
{
    if (e->shortfall != depth + 1) {
        return rules_fail(r, e, "dur falls short by a tenth for itself and each slice around it");
    }
    return up == NULL ||
           (rules_end(e, 0) < rules_end(up, 0) && rules_end(e, from) < rules_end(up, from)) ||
           rules_fail(r, e, "as doubles, ends after the slice around it");
}

/* Compute rows of one job begin and end together. */
static inline bool rules_extent(struct rules *r, const struct rules_event *first,
                                unsigned long long until)
{
    const struct js job = rules_job(r, first->pid); /* each ends when it is done */
    const bool known =
        r->to > 0 && r->job.raw_len == job.raw_len && memcmp(r->job.raw, job.raw, job.raw_len) == 0;
    r->job = job;
    if (known && (r->from != first->ts || r->to != until)) {
        return rules_fail(r, first, "compute rows of different extent");
    }
    r->from = first->ts;
    r->to = until;
    return true;
}

/* The outermost slices of a compute row follow each other without a hole when there are bubbles. */
static inline bool rules_follows(struct rules *r, const struct rules_event *e, bool first,
                                 unsigned long long until)
{
    if (!rules_outer(r, e)) {
        return false;
    }
    const bool hole = !first && e->ts != until;
    r->n_holes += hole;
    return r->n_bubbles == 0 || !hole ||
           rules_fail(r, e, "hole before this slice: neither pass nor bubble");
}

/* Slices that a row is in: pass, part, operation. */
struct rules_stack {
    const struct rules_event *e[3];
    size_t depth;
};

/* Leaves those that have ended when e begins, and enters e. */
static inline bool rules_enter(struct rules *r, struct rules_stack *s, const struct rules_event *e,
                               double from)
{
    while (s->depth > 0 && e->ts >= s->e[s->depth - 1]->ts + s->e[s->depth - 1]->dur) {
        if (!rules_closed(r, s->e[--s->depth], e, from)) {
            return false;
        }
    }
    const struct rules_event *up = s->depth > 0 ? s->e[s->depth - 1] : NULL;
    const char *wrong = up != NULL ? rules_inside(e, up, s->depth) : NULL;
    if (wrong != NULL) {
        return rules_fail(r, e, "%s", wrong);
    }
    if (!rules_shortfall(r, e, up, s->depth, from)) {
        return false;
    }
    s->e[s->depth++] = e;
    return true;
}

/* One row: slices nest or are disjoint. events[first .. end). */
static inline bool rules_row(struct rules *r, size_t first, size_t end)
{
    const struct rules_event *e = r->events;
    struct rules_stack stack = {.depth = 0};
    unsigned long long until = 0;
    const bool compute = e[first].tid == 11;
    if (!rules_named(r, "thread_name", e[first].pid, e[first].tid) ||
        !rules_named(r, "thread_sort_index", e[first].pid, e[first].tid)) {
        return rules_fail(r, &e[first], "row without thread_name or thread_sort_index");
    }
    for (size_t i = first; i < end; i++) {
        if (!rules_enter(r, &stack, &e[i], e[first].start)) {
            return false;
        }
        if (compute && stack.depth == 1) {
            if (!rules_follows(r, &e[i], i == first, until)) {
                return false;
            }
            until = e[i].ts + e[i].dur;
        }
    }
    return !compute || r->n_bubbles == 0 || rules_extent(r, &e[first], until);
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

/* ---- names ---- */

static inline int rules_by_naming(const void *a, const void *b)
{
    const struct rules_event *x = a, *y = b;
    if (x->pid != y->pid) {
        return x->pid < y->pid ? -1 : 1;
    }
    if (x->tid != y->tid) {
        return x->tid < y->tid ? -1 : 1;
    }
    return js_same(x->name, y->name) ? 0 : js_before(x->name, y->name) ? -1 : 1;
}

/* "rank 12" with its own number, which ranks of other jobs do not have. */
static inline bool rules_rank_name(const struct rules_event *e, const struct js *name)
{
    char own[32];
    const int n = snprintf(own, sizeof(own), "rank %llu", e->pid - RULES_RANK);
    return e->pid < RULES_RANK || name->raw_len < 5 || memcmp(name->raw, "rank ", 5) != 0 ||
           (memcmp(name->raw, own, (size_t)n) == 0 &&
            (name->raw_len == (size_t)n || name->raw[n] == ' '));
}

/* What is wrong with one naming, or NULL. */
static inline const char *rules_misnamed(const struct rules *r, const struct rules_event *e)
{
    static const char *const rows[] = {"critical path", "compute",       "tensor comm",
                                       "data comm",     "pipeline send", "pipeline recv",
                                       "replica comm",  "context comm",  "expert comm",
                                       "row comm",      "column comm",   "depth comm"};
    const struct js *name = js_get(e->args, "name"), *labels = js_get(e->args, "labels");
    if (js_is(e->name, "thread_name") &&
        (name == NULL || e->tid > 21 ||
         (!js_is(name, rows[e->tid - 10]) && !rules_measured(r, e->pid)))) {
        return "a row has the name of its tid";
    }
    if (js_is(e->name, "process_name") && (name == NULL || !rules_rank_name(e, name))) {
        return "the name of a rank has its number";
    }
    if (labels != NULL && memchr(labels->raw, ',', labels->raw_len) != NULL) {
        return "labels are split at commas";
    }
    return NULL;
}

/* Names are given once, rows have that of their tid, and all that is shown has one. */
static inline bool rules_names(struct rules *r)
{
    struct rules_event *all = ty_arena_array(&r->arena, struct rules_event, r->n);
    size_t n = 0;
    unsigned long long known = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct rules_event *e = &r->events[i];
        if (e->ph != 'M' && e->pid != known && !rules_process(r, e->pid)) {
            return rules_fail(r, e, "a process without a name");
        }
        known = e->pid;
        if (e->ph != 'M') {
            continue;
        }
        all[n++] = *e;
        const char *wrong = rules_misnamed(r, e);
        if (wrong != NULL) {
            return rules_fail(r, e, "%s", wrong);
        }
    }
    qsort(all, n, sizeof(*all), rules_by_naming);
    for (size_t i = 1; i < n; i++) {
        if (rules_by_naming(&all[i - 1], &all[i]) == 0) {
            return rules_fail(r, &all[i], "named twice");
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

/* Sort indices are 0, 1, ... each once; the critical path is above all. */
static inline bool rules_sorted(struct rules *r, const struct rules_event *e, bool *taken)
{
    const struct js *sort = js_get(e->args, "sort_index");
    unsigned long long index;
    if (e->pid == RULES_PATH && sort != NULL && sort->raw_len == 2 &&
        memcmp(sort->raw, "-1", 2) == 0) {
        return true;
    }
    if (!js_whole(sort, &index) || index >= r->n_processes || taken[index]) {
        return false;
    }
    taken[index] = true;
    return true;
}

/* Whether a counter says after another of its kind what is new. */
static inline bool rules_changes(const struct rules_event *before, const struct rules_event *e)
{
    if (before->ph != 'C' || before->pid != e->pid || !js_same(before->name, e->name)) {
        return true;
    }
    return before->ts != e->ts && (before->args->raw_len != e->args->raw_len ||
                                   memcmp(before->args->raw, e->args->raw, e->args->raw_len) != 0);
}

static inline bool rules_processes(struct rules *r)
{
    bool *taken = ty_arena_array(&r->arena, bool, r->n_processes + 1);
    for (size_t i = 0; i < r->n; i++) {
        const struct rules_event *e = &r->events[i];
        if (e->ph == 'M' && js_is(e->name, "process_sort_index") && !rules_sorted(r, e, taken)) {
            return rules_fail(r, e, "sort indices are 0, 1, ... each once");
        }
        if (e->ph == 'M' && js_is(e->name, "process_name") &&
            (!rules_named(r, "process_sort_index", e->pid, e->tid) ||
             !rules_named(r, "process_labels", e->pid, e->tid))) {
            return rules_fail(r, e, "process without sort index or labels");
        }
        if (e->ph == 'C' && i > 0 && !rules_changes(&r->events[i - 1], e)) {
            return rules_fail(r, e, "counter written without a change");
        }
    }
    return true;
}

#endif
