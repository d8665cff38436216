/* order.c - in which order the nodes of a rank take their resources; see plan.h.
 *
 * A trace says what waits for what; of several that are ready, a simulator takes one when its
 * resource is free. Streams of a program have their order beforehand. So the job is played once on
 * idle links, where durations are fixed, and streams get the order that came about; executed with
 * links that are shared they keep it. Receives occupy nothing and come in the order in which they
 * are over. What never becomes ready is put behind, in the order of dependencies: the executor then
 * halts there, and tells why. */
#include <stdlib.h>
#include <string.h>

#include "sim/exchange/read/plan.h"

struct event {
    ty_ps time;
    uint64_t serial; /* simultaneous ones: first come, first served */
    uint32_t rank, node;
    bool arrives; /* a message, for the node that receives it */
};

/* Where a rank is. */
struct player {
    const struct ty_traced_rank *rank;
    struct ty_traced_meetings *meet;
    uint32_t *missing;                /* [n] dependencies that hold it up */
    uint32_t *first, *waiting;        /* [n + 1], [n_deps]: who waits for a node */
    uint32_t *ready;                  /* [n] a heap of each stream */
    uint32_t at[TY_MAX_STREAMS + 1u]; /* where it begins */
    uint32_t n_ready[TY_MAX_STREAMS];
    bool busy[TY_MAX_STREAMS];
    uint8_t *state; /* [n] enum state */
    uint32_t n_order;
};

enum state {
    WAITS,
    POSTED,  /* a receive without its message */
    ARRIVED, /* a message that nobody has asked for yet */
    ORDERED,
};

/* Members of a call that have come. */
struct call {
    uint32_t n, first; /* first: row of `comers` */
};

struct game {
    struct ty_traced_plan *plan;
    struct player *player; /* [n_ranks] */
    struct event *event;   /* [n_events] a heap */
    size_t n_events, cap_events;
    uint64_t serial;
    struct call *call;    /* [calls of all groups] */
    uint32_t *first_call; /* [n_groups] */
    uint32_t *comers;     /* nodes of members by position */
    uint32_t **called;    /* [n_groups][members] calls so far */
    int code;
};

static bool is_before(const struct event *a, const struct event *b)
{
    return a->time != b->time ? a->time < b->time : a->serial < b->serial;
}

static void put_event(struct game *g, struct event e)
{
    if (g->n_events == g->cap_events) {
        const size_t cap = g->cap_events > 0 ? 2 * g->cap_events : 1024;
        struct event *larger = realloc(g->event, cap * sizeof(*larger));
        if (larger == NULL) {
            g->code = TY_ENOMEM;
            return;
        }
        g->event = larger;
        g->cap_events = cap;
    }
    size_t i = g->n_events++;
    e.serial = g->serial++;
    for (; i > 0 && is_before(&e, &g->event[(i - 1) / 2]); i = (i - 1) / 2) {
        g->event[i] = g->event[(i - 1) / 2];
    }
    g->event[i] = e;
}

static struct event take_event(struct game *g)
{
    const struct event first = g->event[0], last = g->event[--g->n_events];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < g->n_events; i = child) {
        child += child + 1 < g->n_events && is_before(&g->event[child + 1], &g->event[child]);
        if (!is_before(&g->event[child], &last)) {
            break;
        }
        g->event[i] = g->event[child];
    }
    g->event[i] = last;
    return first;
}

/* ---- who is ready ---- */

static void put_ready(struct player *p, uint32_t node)
{
    const uint8_t s = p->rank->node[node].stream;
    uint32_t *heap = p->ready + p->at[s];
    uint32_t i = p->n_ready[s]++;
    for (; i > 0 && node < heap[(i - 1) / 2]; i = (i - 1) / 2) {
        heap[i] = heap[(i - 1) / 2];
    }
    heap[i] = node;
}

static uint32_t take_ready(struct player *p, uint8_t s)
{
    uint32_t *heap = p->ready + p->at[s];
    const uint32_t first = heap[0], n = --p->n_ready[s], last = heap[n];
    uint32_t i = 0;
    for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (last <= heap[child]) {
            break;
        }
        heap[i] = heap[child];
    }
    heap[i] = last;
    return first;
}

/* Those that waited for a node's start, or its end. */
static void release(struct player *p, uint32_t node, uint32_t which)
{
    for (uint32_t k = p->first[node]; k < p->first[node + 1]; k++) {
        const uint32_t other = p->waiting[k] & ~TY_TRACED_START;
        if ((p->waiting[k] & TY_TRACED_START) == which && --p->missing[other] == 0) {
            put_ready(p, other);
        }
    }
}

static void keep_order(struct player *p, uint32_t node)
{
    p->meet->order[p->n_order++] = node;
    p->state[node] = ORDERED;
}

/* ---- what happens ---- */

static uint32_t position_of(const struct ty_traced_group *g, uint32_t rank)
{
    uint32_t low = 0, high = g->n;
    while (low + 1 < high) {
        const uint32_t middle = low + (high - low) / 2;
        low = g->rank[middle] <= rank ? middle : low;
        high = g->rank[middle] <= rank ? high : middle;
    }
    return low;
}

/* The call that a collective is of its rank, when it comes to it. */
static struct call *come(struct game *g, uint32_t rank, uint32_t node)
{
    const struct ty_traced_node *n = &g->player[rank].rank->node[node];
    const struct ty_traced_group *group = &g->plan->job->group[n->group];
    const uint32_t position = position_of(group, rank);
    const uint32_t number = g->called[n->group][position]++;
    struct call *call = &g->call[g->first_call[n->group] + number];
    g->player[rank].meet->link[node] = n->group;
    g->player[rank].meet->seq[node] = number;
    g->comers[call->first + position] = node;
    call->n++;
    return call;
}

static void start_coll(struct game *g, uint32_t rank, uint32_t node, ty_ps now)
{
    const struct ty_traced_node *n = &g->player[rank].rank->node[node];
    const struct ty_traced_group *group = &g->plan->job->group[n->group];
    const struct call *call = come(g, rank, node);
    struct ty_coll_cost cost;
    ty_ps takes = 0;
    if (call->n < group->n) {
        return;
    }
    ty_traced_coll_cost(g->plan, n, &cost);
    (void)ty_ps_from_s(ty_coll_seconds(&cost), &takes);
    for (uint32_t i = 0; i < group->n; i++) {
        put_event(g, (struct event){.time = now + takes,
                                    .rank = group->rank[i],
                                    .node = g->comers[call->first + i]});
    }
}

static void start_message(struct game *g, uint32_t rank, uint32_t node, ty_ps now)
{
    struct player *p = &g->player[rank];
    const struct ty_traced_node *n = &p->rank->node[node];
    const bool sends = n->what == TY_TRACED_SEND;
    struct ty_coll_cost cost;
    ty_ps takes = 0;
    ty_traced_message_cost(g->plan, rank, n->peer, n->bytes, &cost);
    (void)ty_ps_from_s(sends ? cost.transfer_s : cost.latency_s, &takes);
    if (!sends && p->state[node] != ARRIVED) {
        p->state[node] = POSTED;
        return;
    }
    put_event(g, (struct event){.time = now + takes, .rank = rank, .node = node});
    const uint32_t partner = p->meet->partner[node];
    if (sends && partner != TY_TRACED_NONE) {
        put_event(g, (struct event){
                         .time = now + takes, .rank = n->peer, .node = partner, .arrives = true});
    }
}

static void start(struct game *g, uint32_t rank, uint32_t node, ty_ps now)
{
    struct player *p = &g->player[rank];
    const struct ty_traced_node *n = &p->rank->node[node];
    if (n->what != TY_TRACED_RECV) {
        p->busy[n->stream] = true;
        keep_order(p, node);
        release(p, node, TY_TRACED_START);
    }
    if (n->what == TY_TRACED_CALC) {
        put_event(g, (struct event){
                         .time = now + ty_traced_calc_ps(g->plan, n), .rank = rank, .node = node});
    } else if (n->what == TY_TRACED_COLL) {
        start_coll(g, rank, node, now);
    } else {
        start_message(g, rank, node, now);
    }
}

/* Starts whatever can. */
static void look(struct game *g, uint32_t rank, ty_ps now)
{
    struct player *p = &g->player[rank];
    for (bool any = true; any;) {
        any = false;
        for (uint8_t s = 0; s < TY_MAX_STREAMS; s++) {
            while (p->n_ready[s] > 0 && !p->busy[s]) {
                start(g, rank, take_ready(p, s), now);
                any = true;
            }
        }
    }
}

static void happen(struct game *g, const struct event *e)
{
    struct player *p = &g->player[e->rank];
    const struct ty_traced_node *n = &p->rank->node[e->node];
    if (e->arrives) {
        const bool posted = p->state[e->node] == POSTED;
        p->state[e->node] = ARRIVED;
        if (posted) {
            start_message(g, e->rank, e->node, e->time);
        }
        return;
    }
    if (n->what == TY_TRACED_RECV) {
        keep_order(p, e->node);
    }
    p->busy[n->stream] = false;
    release(p, e->node, 0);
    look(g, e->rank, e->time);
}

/* ---- before and after ---- */

static int count_calls(struct game *g)
{
    const struct ty_traced *job = g->plan->job;
    struct ty_arena *arena = g->plan->arena;
    size_t n_calls = 0, n_comers = 0;
    g->called = ty_arena_array(arena, uint32_t *, job->n_groups + 1u);
    g->first_call = ty_arena_array(arena, uint32_t, job->n_groups + 1u);
    for (uint32_t i = 0; i < job->n_groups; i++) {
        if (g->called == NULL || g->first_call == NULL ||
            (g->called[i] = ty_arena_array(arena, uint32_t, job->group[i].n + 1u)) == NULL) {
            return TY_ENOMEM;
        }
    }
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        for (uint32_t i = 0; i < job->rank[r].n; i++) {
            const struct ty_traced_node *n = &job->rank[r].node[i];
            if (n->what == TY_TRACED_COLL) {
                const uint32_t calls = ++g->called[n->group][position_of(&job->group[n->group], r)];
                g->plan->calls[n->group] =
                    calls > g->plan->calls[n->group] ? calls : g->plan->calls[n->group];
            }
        }
    }
    for (uint32_t i = 0; i < job->n_groups; i++) {
        memset(g->called[i], 0, job->group[i].n * sizeof(**g->called));
        g->first_call[i] = (uint32_t)n_calls;
        n_calls += g->plan->calls[i];
        n_comers += (size_t)g->plan->calls[i] * job->group[i].n;
    }
    g->call = ty_arena_array(arena, struct call, n_calls + 1);
    g->comers = ty_arena_array(arena, uint32_t, n_comers + 1);
    if (g->call == NULL || g->comers == NULL || n_comers > UINT32_MAX) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0, row = 0; i < job->n_groups; i++) {
        for (uint32_t k = 0; k < g->plan->calls[i]; k++, row += job->group[i].n) {
            g->call[g->first_call[i] + k].first = row;
        }
    }
    return 0;
}

/* Who waits for each node of a rank, and the room of its heaps. */
static int prepare(struct game *g, uint32_t number)
{
    struct player *p = &g->player[number];
    const struct ty_traced_rank *rank = &g->plan->job->rank[number];
    struct ty_arena *arena = g->plan->arena;
    *p = (struct player){.rank = rank, .meet = &g->plan->rank[number]};
    p->missing = ty_arena_array(arena, uint32_t, rank->n + 1u);
    p->first = ty_arena_array(arena, uint32_t, rank->n + 2u);
    p->waiting = ty_arena_array(arena, uint32_t, rank->n_deps + 1u);
    p->ready = ty_arena_array(arena, uint32_t, rank->n + 1u);
    p->state = ty_arena_array(arena, uint8_t, rank->n + 1u);
    if (!p->missing || !p->first || !p->waiting || !p->ready || !p->state) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < rank->n; i++) {
        p->missing[i] = rank->node[i].n_deps;
        p->at[rank->node[i].stream + 1]++;
        for (uint32_t k = 0; k < rank->node[i].n_deps; k++) {
            p->first[(rank->dep[rank->node[i].first_dep + k] & ~TY_TRACED_START) + 2]++;
        }
    }
    for (uint32_t s = 0; s < TY_MAX_STREAMS; s++) {
        p->at[s + 1] += p->at[s];
    }
    for (uint32_t i = 1; i < rank->n + 2; i++) {
        p->first[i] += p->first[i - 1];
    }
    for (uint32_t i = 0; i < rank->n; i++) { /* first[i + 1] moves from its beginning to its end */
        for (uint32_t k = 0; k < rank->node[i].n_deps; k++) {
            const uint32_t dep = rank->dep[rank->node[i].first_dep + k];
            p->waiting[p->first[(dep & ~TY_TRACED_START) + 1]++] = i | (dep & TY_TRACED_START);
        }
    }
    return 0;
}

/* Whether some node waits for itself, by way of others of its rank: then none of these is ever
 * ready. */
static int check_circles(struct game *g, uint32_t number)
{
    struct player *p = &g->player[number];
    const struct ty_traced_rank *rank = p->rank;
    uint32_t *left = malloc(((size_t)rank->n + 1) * sizeof(*left)), *list = p->meet->order, n = 0;
    if (left == NULL) {
        return TY_ENOMEM;
    }
    memcpy(left, p->missing, rank->n * sizeof(*left));
    for (uint32_t i = 0; i < rank->n; i++) {
        if (left[i] == 0) {
            list[n++] = i;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = p->first[list[i]]; k < p->first[list[i] + 1]; k++) {
            const uint32_t other = p->waiting[k] & ~TY_TRACED_START;
            if (--left[other] == 0) {
                list[n++] = other;
            }
        }
    }
    uint32_t stuck = 0;
    while (stuck < rank->n && left[stuck] == 0) {
        stuck++;
    }
    free(left);
    return stuck == rank->n
               ? 0
               : ty_fail(g->plan->err, TY_EINPUT,
                         "%s: rank %u: node %llu (%.60s): waits for itself, by way of others",
                         rank->file, (unsigned)number, (unsigned long long)rank->node[stuck].id,
                         rank->node[stuck].name);
}

/* What was never ready goes behind the rest, each behind what it waits for. */
static void add_rest(struct game *g, uint32_t number)
{
    struct player *p = &g->player[number];
    uint32_t next = p->n_order; /* of those whose dependents have not been looked at */
    for (uint32_t i = 0; i < p->rank->n; i++) {
        p->missing[i] = 0;
        for (uint32_t k = 0; k < p->rank->node[i].n_deps; k++) {
            const uint32_t dep = p->rank->dep[p->rank->node[i].first_dep + k] & ~TY_TRACED_START;
            p->missing[i] += p->state[dep] != ORDERED;
        }
    }
    for (uint32_t i = 0; i < p->rank->n; i++) {
        if (p->state[i] != ORDERED && p->missing[i] == 0) {
            p->meet->order[p->n_order++] = i;
        }
    }
    for (; next < p->n_order; next++) {
        const uint32_t node = p->meet->order[next];
        if (p->rank->node[node].what == TY_TRACED_COLL) {
            (void)come(g, number, node);
        }
        for (uint32_t k = p->first[node]; k < p->first[node + 1]; k++) {
            const uint32_t other = p->waiting[k] & ~TY_TRACED_START;
            if (--p->missing[other] == 0) {
                p->meet->order[p->n_order++] = other;
            }
        }
    }
}

int ty_traced_order(struct ty_traced_plan *plan)
{
    const uint32_t n = plan->job->n_ranks;
    struct game g = {.plan = plan, .player = ty_arena_array(plan->arena, struct player, n)};
    g.code = g.player != NULL ? count_calls(&g) : TY_ENOMEM;
    for (uint32_t r = 0; r < n && g.code == 0; r++) {
        g.code = prepare(&g, r);
        g.code = g.code < 0 ? g.code : check_circles(&g, r);
        for (uint32_t i = 0; g.code == 0 && i < g.player[r].rank->n; i++) {
            if (g.player[r].missing[i] == 0) {
                put_ready(&g.player[r], i);
            }
        }
    }
    for (uint32_t r = 0; r < n && g.code == 0; r++) {
        look(&g, r, 0);
    }
    while (g.n_events > 0 && g.code == 0) {
        const struct event e = take_event(&g);
        happen(&g, &e);
    }
    for (uint32_t r = 0; r < n && g.code == 0; r++) {
        add_rest(&g, r);
    }
    free(g.event);
    return g.code == TY_ENOMEM ? ty_fail_memory(plan->err) : g.code;
}
