/* trace_events.h - the rules that single events of a Chrome trace have to keep: keys, names,
 * categories, colours, the form of numbers. trace_rules.h has those between events. */
#ifndef TY_TESTS_TRACE_EVENTS_H
#define TY_TESTS_TRACE_EVENTS_H

#include <stdarg.h>
#include <stdint.h>

#include "model/vocabulary.h"
#include "sim/base/compiler.h"
#include "tests/unit/json_tree.h"

struct rules_event {
    char ph;
    const struct js *node, *name, *cat, *args;
    unsigned long long pid, tid, ts, dur, id; /* ts and dur in ns */
    unsigned shortfall;                       /* of dur as it is written, in tenths of ns */
    double start, length;                     /* us, as readers of JSON have them */
    bool hit;                                 /* a step of the critical path is it */
};

enum {
    RULES_PATH = 2, /* pid of the critical path */
    RULES_PATH_ROW = 10,
    RULES_RANK = 1000 /* pid of rank 0 */
};

/* What was found; `why` is the first violation, empty when there is none. */
struct rules {
    struct ty_arena arena;
    struct rules_event *events; /* [n] slices first, by row, start, longest first */
    size_t n, n_slices, n_flows, n_counters, n_marks, n_ranks, n_bubbles, n_collectives,
        n_processes, n_loads;          /* of ranks, nodes and switches; values of links */
    const struct rules_event *namings; /* [n_namings] of processes and rows */
    size_t n_namings;
    size_t n_holes;                  /* on compute rows, neither pass nor bubble */
    size_t n_lonely;                 /* receives without an arrow, whose sender is shown */
    size_t n_steps, n_seen, n_equal; /* of the critical path: all; those whose row is shown; those
                                      * that are whole slices of it */
    unsigned long long path;         /* length of the critical path's row */
    unsigned long long from, to; /* extent of the compute rows; of several jobs, the last one's */
    struct js job;               /* its name */
    unsigned long long idle;     /* length of all bubbles */
    char why[512];
};

static inline bool rules_fail(struct rules *r, const struct rules_event *e, const char *format, ...)
    TY_PRINTF(3, 4);
static inline bool rules_fail(struct rules *r, const struct rules_event *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(r->why, sizeof(r->why), format, args);
    va_end(args);
    if (e != NULL && n > 0 && (size_t)n < sizeof(r->why)) {
        snprintf(r->why + n, sizeof(r->why) - (size_t)n, ": %.*s", (int)e->node->raw_len,
                 e->node->raw);
    }
    return false;
}

/* ---- single events ---- */

/* `digits.ddd` microseconds as whole nanoseconds. */
static inline bool rules_ns(const struct js *node, unsigned long long *ns)
{
    if (node == NULL || node->type != JS_NUMBER || node->raw_len < 5 || node->raw_len > 20 ||
        node->raw[node->raw_len - 4] != '.') {
        return false;
    }
    *ns = 0;
    if (node->raw[0] == '0' && node->raw_len > 5) {
        return false;
    }
    for (size_t i = 0; i < node->raw_len; i++) {
        if (i != node->raw_len - 4) {
            if (node->raw[i] < '0' || node->raw[i] > '9') {
                return false;
            }
            *ns = *ns * 10 + (unsigned long long)(node->raw[i] - '0');
        }
    }
    return true;
}

/* `digits.dddd` microseconds as whole nanoseconds and the tenths that are missing: up to three. */
static inline bool rules_length(const struct js *node, unsigned long long *ns, unsigned *shortfall)
{
    if (node == NULL || node->raw_len < 6 || node->raw[node->raw_len - 1] < '7' ||
        node->raw[node->raw_len - 1] > '9') {
        return false;
    }
    struct js whole = *node;
    whole.raw_len--;
    *shortfall = (unsigned)('9' + 1 - node->raw[node->raw_len - 1]);
    const bool good = rules_ns(&whole, ns);
    ++*ns;
    return good;
}

static inline bool rules_listed(const struct js *node, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (js_is(node, words[i])) {
            return true;
        }
    }
    return false;
}

/* Every key is one of the words. */
static inline bool rules_keys(const struct js *node, const char *const *words)
{
    for (const struct js *k = node->first; k != NULL; k = k->next) {
        struct js key = {.type = JS_STRING, .raw = k->key, .raw_len = k->key_len};
        if (!rules_listed(&key, words)) {
            return false;
        }
    }
    return true;
}

/* Splits `words 12` into the length of the words and whether a number follows. */
static inline bool rules_name(const struct js *name, size_t *words, bool *number)
{
    size_t n = name->raw_len;
    *words = 0;
    while (n > 0 && name->raw[n - 1] >= '0' && name->raw[n - 1] <= '9') {
        n--;
    }
    *number = n < name->raw_len;
    if (*number && (n < 2 || name->raw[n - 1] != ' ')) {
        return false;
    }
    *words = *number ? n - 1 : n;
    for (size_t i = 0; i < *words; i++) {
        const char ch = name->raw[i];
        if (!((ch >= 'a' && ch <= 'z') || ch == '-' || (ch == ' ' && i > 0))) {
            return false;
        }
    }
    return *words > 0;
}

static inline bool rules_numbered(const struct js *name, size_t words)
{
    static const char *const with[] = {"forward", "backward", "dgrad",     "wgrad", "recompute",
                                       "send",    "recv",     "in flight", NULL};
    const struct js part = {.type = JS_STRING, .raw = name->raw, .raw_len = words};
    return rules_listed(&part, with);
}

/* Arguments of slices, and those that only the row of the critical path has. */
static inline bool rules_args(const struct rules_event *e)
{
    static const char *const keys[] = {
        "mb",    "stage", "layer", "layers", "step",     "bytes",          "algo", "seq",
        "group", "peer",  "why",   "kind",   "critical", "measured_group", "way",  NULL};
    static const char *const path[] = {"rank",  "row", "stage", "mb", "step",
                                       "layer", "why", "from",  NULL};
    const struct js *critical = js_get(e->args, "critical");
    return rules_keys(e->args, e->pid == RULES_PATH ? path : keys) &&
           (critical == NULL || (critical->type == JS_BOOL && critical->raw[0] == 't'));
}

/* Category and colour are of the lists. */
static inline bool rules_category(const struct rules_event *e, const struct js *colour)
{
    static const char *const cats[] = {
#define X(id, name, ...) name,
        TY_CATEGORIES(X)
#undef X
            "bubble",
        NULL};
    static const char *const colours[] = {
#define X(id, name, colour, ...) colour,
        TY_CATEGORIES(X)
#undef X
            "grey",
        "yellow", NULL};
    return rules_listed(e->cat, cats) && (colour == NULL || rules_listed(colour, colours));
}

static inline bool rules_called(const struct js *name, bool *number)
{
    size_t words;
    return name != NULL && rules_name(name, &words, number) &&
           (!*number || rules_numbered(name, words));
}

/* A bubble is idle time, and says more than other slices. */
static inline bool rules_bubble(struct rules *r, const struct rules_event *e)
{
    if (!js_is(e->cat, "bubble")) {
        return true;
    }
    r->n_bubbles++;
    r->idle += e->dur;
    return js_get(e->args, "why") != NULL && js_get(e->args, "kind") != NULL;
}

static inline bool rules_slice(struct rules *r, struct rules_event *e)
{
    static const char *const keys[] = {"name", "cat", "cname", "ph",  "tid",
                                       "args", "pid", "ts",    "dur", NULL};
    bool number;
    if (!rules_keys(e->node, keys) ||
        !rules_length(js_get(e->node, "dur"), &e->dur, &e->shortfall)) {
        return rules_fail(r, e, "a slice has exactly the usual keys, and dur as us.dddd");
    }
    e->start = strtod(js_need(e->node, "ts")->raw, NULL);
    e->length = strtod(js_need(e->node, "dur")->raw, NULL);
    if (e->args != NULL && !rules_args(e)) {
        return rules_fail(r, e, "unknown argument");
    }
    const struct js *colour = js_get(e->node, "cname");
    if (!rules_category(e, colour)) {
        return rules_fail(r, e, "unknown category or colour");
    }
    if (!rules_called(e->name, &number)) {
        return rules_fail(r, e, "a name is `kind` or `kind number`");
    }
    if (colour == NULL &&
        (e->tid != 11 || number || js_is(e->cat, "bubble") || js_is(e->name, "mlp"))) {
        return rules_fail(r, e, "communication, a pass, a bubble or an mlp without a colour");
    }
    if (!rules_bubble(r, e)) {
        return rules_fail(r, e, "a bubble says why, and of what kind it is");
    }
    r->n_slices++;
    return true;
}

/* A counter of links: of a node, or of what lies between nodes. */
static inline bool rules_links(struct rules *r, struct rules_event *e)
{
    static const char *const names[] = {"NVLink",       "PCIe",        "NIC",
                                        "leaf uplinks", "pod uplinks", NULL};
    static const char *const series[] = {"GB/s", NULL};
    static const char *const keys[] = {"name", "ph", "args", "pid", "ts", NULL};
    const struct js *value = e->args != NULL ? e->args->first : NULL;
    if (!rules_listed(e->name, names) || !rules_keys(e->node, keys) || value == NULL ||
        e->args->n != 1 || !rules_keys(e->args, series) || value->type != JS_NUMBER ||
        value->raw[0] == '-') {
        return rules_fail(r, e, "a counter of links is of a class, in GB/s, not negative");
    }
    r->n_loads++;
    return true;
}

static inline bool rules_counter(struct rules *r, struct rules_event *e)
{
    static const char *const series[] = {"weights_GB", "grads_GB", "optimizer_GB", "activations_GB",
                                         NULL};
    static const char *const keys[] = {"name", "ph", "args", "pid", "ts", NULL};
    if (!js_is(e->name, "memory") || !rules_keys(e->node, keys) || e->args == NULL ||
        e->args->n != 4 || !rules_keys(e->args, series)) {
        return rules_fail(r, e, "a counter is `memory` with exactly its four series");
    }
    for (const struct js *v = e->args->first; v != NULL; v = v->next) {
        if (v->type != JS_NUMBER || v->raw[0] == '-') {
            return rules_fail(r, e, "a counter is a number, not negative");
        }
    }
    r->n_counters++;
    return true;
}

static inline bool rules_mark(struct rules *r, struct rules_event *e)
{
    static const char *const names[] = {"step start",    "step end", "peak memory",
                                        "out of memory", "deadlock", NULL};
    if (!js_is(js_get(e->node, "s"), "p") || !rules_listed(e->name, names)) {
        return rules_fail(r, e, "an instant has scope p and a known name");
    }
    r->n_marks++;
    return true;
}

static inline bool rules_flow(struct rules *r, struct rules_event *e)
{
    size_t words;
    bool number;
    if (!js_is(e->cat, "p2p") || !js_whole(js_get(e->node, "id"), &e->id) || e->name == NULL ||
        !rules_name(e->name, &words, &number) || !number) {
        return rules_fail(r, e, "a flow has category p2p, a whole id and a numbered name");
    }
    if ((e->ph == 'f') != js_is(js_get(e->node, "bp"), "e")) {
        return rules_fail(r, e, "the end of a flow, and only it, has bp e");
    }
    r->n_flows += e->ph == 's';
    return true;
}

static inline bool rules_naming(struct rules *r, struct rules_event *e)
{
    static const char *const names[] = {"process_name", "process_sort_index", "process_labels",
                                        "thread_name",  "thread_sort_index",  NULL};
    unsigned long long index;
    if (!rules_listed(e->name, names) || e->args == NULL || e->args->n != 1) {
        return rules_fail(r, e, "metadata event with an unknown name or without its argument");
    }
    r->n_processes += js_is(e->name, "process_name");
    r->n_ranks += js_is(e->name, "process_name") && e->pid >= RULES_RANK;
    if (js_is(e->name, "thread_sort_index") &&
        (!js_whole(js_get(e->args, "sort_index"), &index) || index != e->tid)) {
        return rules_fail(r, e, "thread_sort_index is the tid");
    }
    return true;
}

/* Counters belong to a process; all else to a row of a rank, or to that of the critical path. */
static inline bool rules_place(const struct rules_event *e, bool counter, bool links)
{
    const bool path = e->pid == RULES_PATH && e->ph == 'X';
    if (e->pid == 0 || (e->pid < RULES_RANK && e->ph != 'M' && !links && !path)) {
        return false;
    }
    return counter || (e->pid != e->tid && e->tid >= 10 && e->tid <= 21 &&
                       (e->tid == RULES_PATH_ROW) == (e->pid == RULES_PATH));
}

static inline bool rules_event(struct rules *r, const struct js *node, struct rules_event *e)
{
    const struct js *ph = js_get(node, "ph");
    *e = (struct rules_event){.node = node,
                              .name = js_get(node, "name"),
                              .cat = js_get(node, "cat"),
                              .args = js_get(node, "args")};
    e->ph = ph != NULL && ph->type == JS_STRING && ph->raw_len == 1 ? ph->raw[0] : '?';
    const bool counter = e->ph == 'C'; /* belongs to a process, not to a row */
    if (e->name == NULL || !js_whole(js_get(node, "pid"), &e->pid) ||
        (!counter && !js_whole(js_get(node, "tid"), &e->tid))) {
        return rules_fail(r, e, "an event has a name, a pid and a tid");
    }
    const bool links = counter && !js_is(e->name, "memory");
    if (!rules_place(e, counter, links)) {
        return rules_fail(r, e, "pid or tid out of range");
    }
    if (e->ph != 'M' && !rules_ns(js_get(node, "ts"), &e->ts)) {
        return rules_fail(r, e, "ts is not us.ddd");
    }
    switch (e->ph) {
    case 'X':
        return rules_slice(r, e);
    case 'C':
        return links ? rules_links(r, e) : rules_counter(r, e);
    case 'i':
        return rules_mark(r, e);
    case 's':
    case 'f':
        return rules_flow(r, e);
    case 'M':
        return rules_naming(r, e);
    default:
        return rules_fail(r, e, "event of a kind that trainyard does not write");
    }
}

#endif
