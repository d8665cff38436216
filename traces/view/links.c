/* links.c - what the links of each node carry over time, in and out together.
 *
 * For every node that has a shown rank a counter for each class of its links that carry anything,
 * and the same for the links between switches. Values are GB/s (1e9 bytes); there is one where the
 * load changes, and the last one is 0. Each communication's bytes lie between
 * its nanoseconds, so that a counter times time is bytes.
 *
 * Where tensor collectives are not shown as slices, a counter shows means over 1/4096 of the
 * stretch shown instead of thousands of changes for each pass; bytes are kept all the same. */
#include <stdlib.h>

#include "sim/core/program/issue.h"
#include "traces/view/view.h"

#define SAMPLES 4096u

/* ---- one counter ---- */

struct series {
    const struct ty_view_links_sink *sink;
    struct ty_view_link link;
    uint64_t from, to, step; /* ns */
    uint64_t start, at;      /* of the sample; until when it is added up */
    double rate, sum;        /* GB/s = bytes per ns; bytes of the sample */
    uint64_t told;           /* kB/s */
    bool any;
};

static void tell_value(struct series *s, uint64_t ns, double GBps)
{
    const uint64_t kBps = (uint64_t)(GBps * 1e6 + 0.5);
    if (s->any && kBps == s->told) {
        return;
    }
    s->sink->value(s->sink->arg, &s->link, ns, kBps);
    s->told = kBps;
    s->any = true;
}

/* The sample ends. */
static void close_sample(struct series *s, uint64_t ns)
{
    tell_value(s, s->start, s->sum / (double)(ns - s->start));
    s->start = s->at = ns;
    s->sum = 0;
}

/* The rate has held until ns. A sample of several rates is as long as a step, or a little longer;
 * one of a single rate as long as that holds. */
static void advance(struct series *s, uint64_t ns)
{
    const uint64_t bound = s->start + s->step;
    if (ns <= s->at) {
        return;
    }
    if (s->at > s->start && bound < ns) {
        s->sum += s->rate * (double)(bound - s->at);
        close_sample(s, bound);
    }
    s->sum += s->rate * (double)(ns - s->at);
    s->at = ns;
    if (ns - s->start >= s->step) {
        close_sample(s, ns);
    }
}

static void load_changes(void *arg, ty_ps t, double Bps)
{
    struct series *s = arg;
    const uint64_t ns = t / 1000;
    advance(s, ns < s->to ? ns : s->to);
    s->rate = Bps * 1e-9;
}

static void finish(struct series *s)
{
    if (s->at > s->start) {
        close_sample(s, s->at);
    }
    if (s->any) {
        tell_value(s, s->at, 0);
    }
}

/* ---- which counters ---- */

struct links {
    struct ty_view *v;
    const struct ty_link_load *load;
    uint32_t n_nodes;
    uint32_t *first; /* [places + 1]: where the links of a place begin in link[] */
    uint32_t *link;  /* [n_links] */
    bool *shown;     /* [n_nodes + 1] */
};

/* A node and a class; what belongs to no node comes after all nodes. */
static size_t place_of(const struct links *l, uint32_t node, uint8_t class)
{
    return (size_t)(node == TY_NO_NODE ? l->n_nodes : node) * TY_N_LINK_CLASSES + class;
}

static int sort_links(struct links *l)
{
    const struct ty_program *p = l->v->program;
    for (uint32_t i = 0; i < p->n_links; i++) {
        const uint32_t node = p->links[i].node;
        l->n_nodes = node != TY_NO_NODE && node >= l->n_nodes ? node + 1 : l->n_nodes;
    }
    const size_t places = ((size_t)l->n_nodes + 1) * TY_N_LINK_CLASSES;
    l->first = ty_arena_array(&l->v->arena, uint32_t, places + 2);
    l->link = ty_arena_array(&l->v->arena, uint32_t, (size_t)p->n_links + 1);
    l->shown = ty_arena_array(&l->v->arena, bool, (size_t)l->n_nodes + 1);
    if (l->first == NULL || l->link == NULL || l->shown == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < p->n_links; i++) {
        l->first[place_of(l, p->links[i].node, p->links[i].class) + 2]++;
    }
    for (size_t i = 2; i < places + 2; i++) {
        l->first[i] += l->first[i - 1];
    }
    for (uint32_t i = 0; i < p->n_links; i++) {
        l->link[l->first[place_of(l, p->links[i].node, p->links[i].class) + 1]++] = i;
    }
    return 0;
}

static void choose_nodes(struct links *l)
{
    const struct ty_trace *trace = l->v->trace;
    for (uint32_t i = 0; trace->node_of != NULL && i < trace->n_ranks; i++) {
        const uint32_t node = trace->node_of[trace->ranks[i]];
        if (node < l->n_nodes) {
            l->shown[node] = true;
        }
    }
    for (uint32_t n = 0; n <= l->n_nodes; n++) {
        l->shown[n] = l->shown[n] || trace->node_of == NULL || n == l->n_nodes;
    }
}

static int prepare(struct links *l, struct ty_view *v)
{
    *l = (struct links){.v = v, .load = v->trace->link_load};
    if (sort_links(l) < 0) {
        return TY_ENOMEM;
    }
    choose_nodes(l);
    return 0;
}

/* The links of a place that carry anything; returns how many, from `*links` on. */
static uint32_t links_of(const struct links *l, size_t place, const uint32_t **links)
{
    const uint32_t n = l->first[place + 1] - l->first[place];
    double bytes = 0;
    *links = l->link + l->first[place];
    for (uint32_t i = 0; i < n; i++) {
        bytes += l->load->bytes[(*links)[i]];
    }
    return bytes > 0 ? n : 0;
}

/* Nanoseconds that one value stands for at least; 0: every change shows. */
static uint64_t step_of(const struct ty_view *v)
{
    const uint64_t end = v->timeline->makespan / 1000;
    const uint64_t to = v->to_ns < end ? v->to_ns : end;
    const bool every = v->trace->detail >= TY_DETAIL_LAYER;
    return every || to <= v->from_ns ? 0 : (to - v->from_ns) / SAMPLES + 1;
}

/* ---- telling ---- */

/* The counters of a node; *any: there is one. */
static int tell_node(const struct links *l, const struct ty_view_links_sink *sink, uint32_t node,
                     uint32_t position, bool *any)
{
    struct ty_view *v = l->v;
    int rc = 0;
    *any = false;
    for (uint8_t class = 0; class < TY_N_LINK_CLASSES && rc == 0; class ++) {
        const uint32_t *links;
        const uint32_t n = links_of(l, (size_t)node * TY_N_LINK_CLASSES + class, &links);
        if (n == 0) {
            continue;
        }
        struct series s = {.sink = sink,
                           .link = {.node = node,
                                    .n_nodes = l->n_nodes,
                                    .position = position,
                                    .title = ty_link_class_title((enum ty_link_class) class),
                                    .first = !*any},
                           .to = v->to_ns,
                           .step = step_of(v),
                           .start = v->from_ns,
                           .at = v->from_ns};
        *any = true;
        sink->start(sink->arg, &s.link);
        rc = ty_link_load_walk(l->load, v->timeline, links, n, 1000, load_changes, &s, NULL);
        finish(&s);
    }
    return rc;
}

int ty_view_links(struct ty_view *v, const struct ty_view_links_sink *sink)
{
    struct links l;
    uint32_t position = 0;
    int rc = 0;
    if (v->trace->link_load == NULL) {
        return 0;
    }
    rc = prepare(&l, v);
    for (uint32_t n = 0; rc == 0 && n <= l.n_nodes; n++) {
        bool any = false;
        rc = l.shown[n] ? tell_node(&l, sink, n, position, &any) : 0;
        position += any;
    }
    return rc;
}

/* ---- size ---- */

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Changes of a place: two for every execution of a kind by another leader, all in step as one. */
static double changes_of(const struct links *l, const uint32_t *links, uint32_t n)
{
    struct ty_arena arena = {.head = NULL};
    size_t rows = 0, at = 0;
    double changes = 0;
    for (uint32_t i = 0; i < n; i++) {
        rows += l->load->first_part[links[i] + 1] - l->load->first_part[links[i]];
    }
    uint64_t *key = ty_arena_array(&arena, uint64_t, rows + 1);
    for (uint32_t i = 0; key != NULL && i < n; i++) {
        for (uint32_t k = l->load->first_part[links[i]]; k < l->load->first_part[links[i] + 1];
             k++) {
            const struct ty_link_load_part *part = &l->load->part[k];
            key[at++] = (uint64_t)part->kind << 32 | (l->load->lockstep ? 0 : part->member);
        }
    }
    if (key != NULL) {
        qsort(key, rows, sizeof(*key), by_number);
    }
    for (size_t i = 0; key != NULL && i < rows; i++) {
        if (i == 0 || key[i] != key[i - 1]) {
            changes += 2.0 * (double)l->load->times[key[i] >> 32];
        }
    }
    ty_arena_release(&arena);
    return changes;
}

/* Before execution. Guess: each communication of a gang changes what its node's links carry twice,
 * and half of these changes meet. */
static double guess(const struct ty_view *v)
{
    const bool samples = v->trace->detail < TY_DETAIL_LAYER;
    double events = 0;
    for (uint32_t g = 0; g < v->program->n_gangs; g++) {
        const struct ty_view_shown *shown = &v->shown[g];
        double n = 0;
        uint32_t nodes = 0;
        for (uint32_t i = 0; i < shown->n && v->trace->node_of != NULL; i++) {
            const uint32_t node = v->trace->node_of[shown->gang->rank_of[shown->member[i]]];
            const uint32_t before =
                i > 0 ? v->trace->node_of[shown->gang->rank_of[shown->member[i - 1]]]
                      : TY_VIEW_NONE;
            nodes += node != before;
        }
        struct ty_issue at = ty_issue_of(v->program, shown->gang);
        while (nodes > 0 && ty_issue_next(&at)) {
            n += at.op->stream != TY_STREAM_COMPUTE && at.op->stream != v->program->words->receives;
        }
        events += nodes * (samples && n > SAMPLES ? SAMPLES : n);
    }
    return events;
}

double ty_view_count_links(struct ty_view *v)
{
    struct links l;
    double events = 0;
    if (v->timeline->start == NULL) {
        return guess(v);
    }
    if (v->trace->link_load == NULL || prepare(&l, v) < 0) {
        return 0;
    }
    const bool samples = step_of(v) > 0;
    for (size_t place = 0; place < ((size_t)l.n_nodes + 1) * TY_N_LINK_CLASSES; place++) {
        const uint32_t *links;
        const uint32_t n = l.shown[place / TY_N_LINK_CLASSES] ? links_of(&l, place, &links) : 0;
        if (n > 0) {
            const double changes = changes_of(&l, links, n) * ty_trace_window_share(v->trace);
            events += samples && changes > SAMPLES ? SAMPLES : changes;
        }
    }
    return events;
}
