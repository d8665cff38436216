/* trace_path.h - the rules between rows of a Chrome trace: arrows, collectives, the critical
 * path. */
#ifndef TY_TESTS_TRACE_PATH_H
#define TY_TESTS_TRACE_PATH_H

#include "tests/unit/trace_rows.h"

/* ---- arrows ---- */

/* The slice of a row that starts at or before t, last. */
static inline struct rules_event *rules_slice_at(const struct rules *r, const struct rules_event *e)
{
    struct rules_event *found = NULL;
    for (size_t low = 0, high = r->n_slices; low < high;) {
        const size_t mid = low + (high - low) / 2;
        struct rules_event *s = &r->events[mid];
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

static inline bool rules_peer(const struct rules_event *e, unsigned long long pid)
{
    unsigned long long peer;
    return js_whole(js_get(e->args, "peer"), &peer) && peer + RULES_RANK == pid;
}

/* Receives without an arrow though their sender is shown: none, where the window is the run and
 * messages last. Takes the hits away. */
static inline void rules_lonely(struct rules *r)
{
    for (size_t i = 0; i < r->n_slices; i++) {
        struct rules_event *e = &r->events[i];
        unsigned long long peer;
        if (e->tid == 15 && !e->hit && js_whole(js_get(e->args, "peer"), &peer) &&
            rules_process(r, peer + RULES_RANK)) {
            r->n_lonely++;
        }
        e->hit = false;
    }
}

/* What is wrong with the start and the end of a message, or NULL. */
static inline const char *rules_pair(struct rules *r, const struct rules_event *s,
                                     const struct rules_event *f)
{
    struct rules_event *from = rules_slice_at(r, s), *to = rules_slice_at(r, f);
    if (from == NULL || s->ts + 1 != from->ts + from->dur ||
        !rules_matches(from->name, "send", s->name)) {
        return "a flow starts in the last nanosecond of its send";
    }
    if (to == NULL || f->ts != to->ts || !rules_matches(to->name, "recv", f->name)) {
        return "a flow ends at the start of its receive";
    }
    if (f->ts <= s->ts || f->pid == s->pid) {
        return "a flow goes forward in time, to another rank";
    }
    if (!rules_peer(from, f->pid) || !rules_peer(to, s->pid)) {
        return "a flow connects a slice and its peer";
    }
    if (from->hit || to->hit) {
        return "a message has one flow";
    }
    from->hit = to->hit = true;
    return NULL;
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
        const char *wrong = rules_pair(r, s, f);
        if (wrong != NULL) {
            return rules_fail(r, s, "%s", wrong);
        }
    }
    rules_lonely(r);
    return true;
}

/* ---- collectives ---- */

static inline int rules_by_instance(const void *a, const void *b)
{
    const struct rules_event *x = a, *y = b;
    const struct js *g = js_need(x->args, "group"), *h = js_need(y->args, "group");
    const size_t n = g->raw_len < h->raw_len ? g->raw_len : h->raw_len;
    const int by_name = memcmp(g->raw, h->raw, n);
    if (by_name != 0 || g->raw_len != h->raw_len) {
        return by_name != 0 ? by_name : g->raw_len < h->raw_len ? -1 : 1;
    }
    return x->id != y->id ? (x->id < y->id ? -1 : 1) : x->pid < y->pid ? -1 : 1;
}

/* Whether two are members of one collective, and differ where members may not. */
static inline bool rules_differ(const struct rules_event *a, const struct rules_event *b)
{
    const struct js *g = js_need(a->args, "group"), *h = js_need(b->args, "group");
    if (a->id != b->id || !js_same(g, h)) {
        return false;
    }
    return a->ts != b->ts || a->dur != b->dur || a->pid == b->pid || !js_same(a->name, b->name);
}

/* Members of one collective are found by group and seq: same name, same time, other rank. */
static inline bool rules_collectives(struct rules *r)
{
    struct rules_event *all = ty_arena_array(&r->arena, struct rules_event, r->n_slices);
    size_t n = 0;
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct rules_event *e = &r->events[i];
        if (e->tid == 12 || e->tid == 13 || e->tid >= 16) {
            all[n] = *e;
            if (js_get(e->args, "measured_group") != NULL) {
                continue; /* nobody knows who took part */
            }
            if (js_get(e->args, "group") == NULL || !js_whole(js_get(e->args, "seq"), &all[n].id)) {
                return rules_fail(r, e, "a collective has args.group and args.seq");
            }
            n++;
        }
    }
    qsort(all, n, sizeof(*all), rules_by_instance);
    for (size_t i = 1; i < n; i++) {
        if (rules_differ(&all[i - 1], &all[i])) {
            return rules_fail(r, &all[i], "members of one collective differ");
        }
    }
    r->n_collectives = n;
    return true;
}

/* ---- the critical path ---- */

/* The slice of a rank that a step is in: innermost first. */
static inline struct rules_event *rules_step_slice(struct rules *r, const struct rules_event *step,
                                                   unsigned long long pid, unsigned long long tid)
{
    const struct rules_event at = {.pid = pid, .tid = tid, .ts = step->ts};
    struct rules_event *s = rules_slice_at(r, &at);
    for (; s != NULL && s >= r->events && s->pid == pid && s->tid == tid; s--) {
        if (js_same(s->name, step->name) && js_same(s->cat, step->cat) &&
            s->ts + s->dur >= step->ts + step->dur) {
            return s;
        }
    }
    return NULL;
}

static inline bool rules_step(struct rules *r, const struct rules_event *e)
{
    const struct js *row = js_get(e->args, "row"), *why = js_get(e->args, "why");
    unsigned long long rank, from;
    if (!js_whole(js_get(e->args, "rank"), &rank) || why == NULL || why->raw_len == 0 ||
        js_get(e->args, "stage") == NULL ||
        (row == NULL) != rules_matches(e->name, "in flight", e->name)) {
        return rules_fail(r, e, "a step of the path has rank, stage, row and why");
    }
    if (row != NULL && js_is(why, "start of the run") == js_whole(js_get(e->args, "from"), &from)) {
        return rules_fail(r, e, "a step of the path says from where");
    }
    const unsigned long long tid = row != NULL ? rules_row_of(r, rank + RULES_RANK, row) : 0;
    if (tid == 0) {
        return true;
    }
    struct rules_event *slice = rules_step_slice(r, e, rank + RULES_RANK, tid);
    if (slice == NULL) {
        return rules_fail(r, e, "a step of the path that is no slice of its rank");
    }
    if (js_get(slice->args, "critical") == NULL) {
        return rules_fail(r, slice, "a slice on the critical path does not say so");
    }
    slice->hit = true;
    r->n_seen++;
    r->n_equal += slice->ts == e->ts && slice->dur == e->dur;
    return true;
}

/* No slice says that it is on the path but those that steps were found in. */
static inline bool rules_off_path(struct rules *r)
{
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct rules_event *e = &r->events[i];
        if (!e->hit && e->args != NULL && js_get(e->args, "critical") != NULL) {
            return rules_fail(r, e, "not on the critical path");
        }
    }
    return true;
}

/* Steps follow each other without a gap, as long as the compute rows, and are slices of their
 * ranks; no other slice says that it is on the path. */
static inline bool rules_path(struct rules *r)
{
    const struct rules_event *before = NULL;
    const bool whole = r->n_bubbles > 0 && r->job.raw_len == 0; /* other jobs end elsewhere */
    for (size_t i = 0; i < r->n_slices; i++) {
        const struct rules_event *e = &r->events[i];
        if (e->pid != RULES_PATH) {
            continue;
        }
        if (before != NULL && before->ts + before->dur != e->ts) {
            return rules_fail(r, e, "the critical path has a gap");
        }
        if (!rules_step(r, e)) {
            return false;
        }
        if (before == NULL && whole && e->ts != r->from) {
            return rules_fail(r, e, "the critical path begins with the compute rows");
        }
        before = e;
        r->n_steps++;
        r->path += e->dur;
    }
    if (before != NULL && whole && before->ts + before->dur != r->to) {
        return rules_fail(r, before, "the critical path ends with the compute rows");
    }
    return rules_off_path(r);
}

#endif
