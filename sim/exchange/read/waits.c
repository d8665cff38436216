/* waits.c - see waits.h.
 *
 * A stream knows how far every other stream must have come before its last node: what it has waited
 * for, and what that has waited for. A dependency that it knows already needs no event. */
#include "sim/exchange/read/waits.h"

#include <stdlib.h>
#include <string.h>

/* How far a node's start and end are on their stream: 2 k + 1 and 2 k + 2, k of them before. */
struct search {
    const struct ty_traced_rank *rank;
    struct ty_traced_waits *out;
    uint32_t *place;                   /* [n] of the start */
    uint32_t (*known)[TY_MAX_STREAMS]; /* [n] what its stream knows once it is issued */
    uint32_t last[TY_MAX_STREAMS];     /* node before on the stream, or TY_TRACED_NONE */
    uint32_t n_waits;
};

static uint32_t place_of(const struct search *s, uint32_t dep)
{
    return s->place[dep & ~TY_TRACED_START] + ((dep & TY_TRACED_START) == 0);
}

/* Adds a wait, and all that it implies. */
static void wait_for(struct search *s, uint32_t node, uint32_t dep)
{
    const uint32_t other = dep & ~TY_TRACED_START;
    const uint8_t stream = s->rank->node[other].stream;
    uint32_t *known = s->known[node];
    if (known[stream] >= place_of(s, dep)) {
        return;
    }
    for (uint32_t i = 0; i < TY_MAX_STREAMS; i++) {
        known[i] = known[i] > s->known[other][i] ? known[i] : s->known[other][i];
    }
    known[stream] = place_of(s, dep) > known[stream] ? place_of(s, dep) : known[stream];
    s->out->wait[s->n_waits++] = dep;
    (*((dep & TY_TRACED_START) != 0 ? &s->out->start_waiters[other]
                                    : &s->out->end_waiters[other]))++;
}

/* The latest dependencies first: they know most. */
static void look_at(struct search *s, uint32_t node)
{
    const struct ty_traced_node *n = &s->rank->node[node];
    const uint32_t last = s->last[n->stream];
    uint32_t *known = s->known[node];
    if (last != TY_TRACED_NONE) {
        memcpy(known, s->known[last], sizeof(s->known[last]));
        known[n->stream] = s->place[last] + 1;
        s->place[node] = s->place[last] + 2;
    } else {
        s->place[node] = 1;
    }
    s->out->first[node] = s->n_waits;
    for (;;) {
        uint32_t best = TY_TRACED_NONE, far = 0;
        for (uint32_t k = 0; k < n->n_deps; k++) {
            const uint32_t dep = s->rank->dep[n->first_dep + k];
            const uint8_t stream = s->rank->node[dep & ~TY_TRACED_START].stream;
            const uint32_t place = place_of(s, dep);
            if (stream != n->stream && place > known[stream] &&
                (best == TY_TRACED_NONE || place - known[stream] > far)) {
                best = dep;
                far = place - known[stream];
            }
        }
        if (best == TY_TRACED_NONE) {
            break;
        }
        wait_for(s, node, best);
    }
    s->last[n->stream] = node;
}

/* ---- order of issue ---- */

/* Whoever waits for an event is issued soon after it, with all that has to come before, so that
 * events are open for a short time: what is on top of the stack first. */
struct issue {
    const struct ty_traced_rank *rank;
    const struct ty_traced_waits *waits;
    const uint32_t *queue;                 /* nodes by stream, in the order of time */
    uint32_t next[TY_MAX_STREAMS];         /* rows of it: the next of a stream */
    const uint32_t *first_of, *waiting_of; /* [n + 1], [..] who waits for a node */
    bool *issued;
    uint32_t n_issued;
    uint32_t *stack;
    size_t n_stack, cap;
    int code;
};

static void push(struct issue *i, uint32_t node)
{
    if (i->n_stack == i->cap) {
        const size_t cap = i->cap > 0 ? 2 * i->cap : 256;
        uint32_t *larger = realloc(i->stack, cap * sizeof(*larger));
        if (larger == NULL) {
            i->code = TY_ENOMEM;
            return;
        }
        i->stack = larger;
        i->cap = cap;
    }
    i->stack[i->n_stack++] = node;
}

static void issue_node(struct issue *i, uint32_t node)
{
    i->issued[node] = true;
    i->waits->issue[i->n_issued++] = node;
    i->next[i->rank->node[node].stream]++;
    for (uint32_t k = i->first_of[node]; k < i->first_of[node + 1]; k++) {
        push(i, i->waiting_of[k]);
    }
}

/* One step towards what is on top: the next of its stream, or what that waits for. */
static void go_on(struct issue *i)
{
    const uint32_t target = i->stack[i->n_stack - 1];
    if (i->issued[target]) {
        i->n_stack--;
        return;
    }
    const uint32_t node = i->queue[i->next[i->rank->node[target].stream]];
    for (uint32_t k = i->waits->first[node]; k < i->waits->first[node + 1]; k++) {
        const uint32_t other = i->waits->wait[k] & ~TY_TRACED_START;
        if (!i->issued[other]) {
            push(i, other);
            return;
        }
    }
    issue_node(i, node);
}

/* Rows of who waits for each node. */
static int turn_round(struct issue *i, struct ty_arena *arena)
{
    const uint32_t n = i->rank->n, n_waits = i->waits->first[n];
    uint32_t *first = ty_arena_array(arena, uint32_t, n + 2u);
    uint32_t *waiting = ty_arena_array(arena, uint32_t, n_waits + 1u);
    if (first == NULL || waiting == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t k = 0; k < n_waits; k++) {
        first[(i->waits->wait[k] & ~TY_TRACED_START) + 2]++;
    }
    for (uint32_t k = 1; k < n + 2; k++) {
        first[k] += first[k - 1];
    }
    for (uint32_t node = 0; node < n; node++) {
        for (uint32_t k = i->waits->first[node]; k < i->waits->first[node + 1]; k++) {
            waiting[first[(i->waits->wait[k] & ~TY_TRACED_START) + 1]++] = node;
        }
    }
    i->first_of = first;
    i->waiting_of = waiting;
    return 0;
}

/* Rows of waits were made in the order of time; here they become rows by node. */
static int sort_rows(struct search *s, const uint32_t *order, struct ty_arena *arena)
{
    const uint32_t n = s->rank->n;
    uint32_t *rows = ty_arena_array(arena, uint32_t, s->n_waits + 1u);
    uint32_t *first = ty_arena_array(arena, uint32_t, n + 1u);
    if (rows == NULL || first == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < n; i++) { /* lengths first */
        const uint32_t next = i + 1 < n ? s->out->first[order[i + 1]] : s->n_waits;
        first[order[i] + 1] = next - s->out->first[order[i]];
    }
    for (uint32_t i = 0; i < n; i++) {
        first[i + 1] += first[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        memcpy(rows + first[i], s->out->wait + s->out->first[i],
               (first[i + 1] - first[i]) * sizeof(*rows));
    }
    s->out->wait = rows;
    s->out->first = first;
    return 0;
}

static int find_issue(struct ty_traced_waits *out, const struct ty_traced_rank *rank,
                      const uint32_t *order, struct ty_arena *arena)
{
    uint32_t at[TY_MAX_STREAMS + 1u] = {0};
    uint32_t *queue = ty_arena_array(arena, uint32_t, rank->n + 1u);
    struct issue i = {.rank = rank, .waits = out, .queue = queue};
    i.issued = ty_arena_array(arena, bool, rank->n + 1u);
    if (queue == NULL || i.issued == NULL || turn_round(&i, arena) < 0) {
        return TY_ENOMEM;
    }
    for (uint32_t k = 0; k < rank->n; k++) {
        at[rank->node[k].stream + 1]++;
    }
    for (uint32_t s = 0; s < TY_MAX_STREAMS; s++) {
        at[s + 1] += at[s];
        i.next[s] = at[s];
    }
    for (uint32_t k = 0; k < rank->n; k++) {
        queue[at[rank->node[order[k]].stream]++] = order[k];
    }
    for (uint32_t k = 0; k < rank->n && i.code == 0; k++) {
        push(&i, order[k]);
        while (i.n_stack > 0 && i.code == 0) {
            go_on(&i);
        }
    }
    free(i.stack);
    return i.code;
}

int ty_traced_find_waits(struct ty_traced_waits *out, const struct ty_traced_rank *rank,
                         const uint32_t *order, struct ty_arena *arena)
{
    struct search s = {.rank = rank, .out = out};
    out->first = ty_arena_array(arena, uint32_t, rank->n + 1u);
    out->wait = ty_arena_array(arena, uint32_t, rank->n_deps + 1u);
    out->end_waiters = ty_arena_array(arena, uint32_t, rank->n + 1u);
    out->start_waiters = ty_arena_array(arena, uint32_t, rank->n + 1u);
    out->issue = ty_arena_array(arena, uint32_t, rank->n + 1u);
    s.place = ty_arena_array(arena, uint32_t, rank->n + 1u);
    s.known = ty_arena_alloc(arena, rank->n + 1u, sizeof(*s.known));
    if (!out->first || !out->wait || !out->end_waiters || !out->start_waiters || !out->issue ||
        !s.place || !s.known) {
        return TY_ENOMEM;
    }
    memset(s.last, 0xff, sizeof(s.last));
    for (uint32_t i = 0; i < rank->n; i++) {
        look_at(&s, order[i]);
    }
    const int rc = sort_rows(&s, order, arena);
    return rc < 0 ? rc : find_issue(out, rank, order, arena);
}
