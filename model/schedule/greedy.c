/* greedy.c - plays an order in time and lets weight gradients fill its holes.
 *
 * Ranks act in the order of the time at which they next can (ties: lower rank first), kept in a
 * tree: leaf k is rank k, a node the earlier of its two. Each action starts one pass, or puts the
 * rank to sleep until the first message that it knows of, or that another rank starts.
 *
 * Why it ends: an order that can be run has, at any moment, a pass of which all needs have ended
 * and that is next on its rank; it is started unless it is an F on a rank that holds all it may,
 * which then has a W to run, since the order alone never holds more than the cap. A pass that
 * overtakes leaves the rest of its rank's order within the cap (scan), and brings nothing forward
 * that waits for something later. */
#include "model/schedule/greedy.h"

#include <math.h>
#include <string.h>

struct ty_greedy_rank {
    uint32_t next;                /* place of the next pass in its order */
    uint32_t held;                /* pieces not yet freed by W */
    uint32_t n_queued, n_weighed; /* I started, W started */
    bool asleep;
    double left; /* how long it still computes */
    double free; /* when its last pass ends */
};

int ty_greedy_init(struct ty_greedy *greedy, enum ty_sched_placement placement,
                   const struct ty_sched_shape *shape, const struct ty_sched_times *times,
                   uint32_t cap, struct ty_arena *arena, struct ty_err *err)
{
    const size_t n = (size_t)ty_sched_stages(shape) * shape->m;
    struct ty_greedy g = {.shape = *shape,
                          .times = *times,
                          .cap = cap,
                          .leaves = 1,
                          .per_rank = (size_t)2 * shape->v * shape->m};
    while (g.leaves < shape->p) {
        g.leaves *= 2;
    }
    /* far below any duration, far above the rounding of sums of them */
    g.slack = 1e-9 * (times->forward + times->input + times->weight);
    g.end_f = ty_arena_array(arena, double, n);
    g.end_i = ty_arena_array(arena, double, n);
    g.moved = ty_arena_array(arena, bool, g.per_rank * shape->p);
    g.queue = ty_arena_array(arena, struct ty_slot, g.per_rank / 2 * shape->p);
    g.rank = ty_arena_array(arena, struct ty_greedy_rank, shape->p);
    g.owner = ty_arena_array(arena, uint32_t, ty_sched_stages(shape));
    g.first = ty_arena_array(arena, double, (size_t)2 * g.leaves);
    g.acts = ty_arena_array(arena, uint32_t, (size_t)2 * g.leaves);
    if (g.end_f == NULL || g.end_i == NULL || g.moved == NULL || g.queue == NULL ||
        g.rank == NULL || g.owner == NULL || g.first == NULL || g.acts == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t s = 0; s < ty_sched_stages(shape); s++) {
        g.owner[s] = ty_sched_owner(placement, shape, 0, s);
    }
    *greedy = g;
    return 0;
}

static double when(const struct ty_greedy *g, uint32_t rank)
{
    return g->first[g->leaves + rank];
}

/* Sets when a rank acts, and the nodes above it: the earlier of two, of equals the left one. */
static void set_when(struct ty_greedy *g, uint32_t rank, double time)
{
    uint32_t node = g->leaves + rank, first = rank;
    g->first[node] = time;
    for (; node > 1; node /= 2) {
        const double other = g->first[node ^ 1u];
        const uint32_t ahead = (other < time) | ((other == time) & node); /* odd: it is right */
        first = ahead != 0 ? g->acts[node ^ 1u] : first;
        time = other < time ? other : time;
        g->first[node / 2] = time;
        g->acts[node / 2] = first;
    }
}

/* No pass has started. */
static void forget(struct ty_greedy *g, uint32_t m)
{
    g->shape.m = m;
    const size_t n = (size_t)ty_sched_stages(&g->shape) * m;
    for (size_t i = 0; i < n; i++) {
        g->end_f[i] = g->end_i[i] = HUGE_VAL;
    }
    memset(g->rank, 0, g->shape.p * sizeof(*g->rank));
}

static void begin(struct ty_greedy *g, struct ty_slots *out)
{
    memset(g->moved, 0, g->per_rank * g->shape.p * sizeof(*g->moved));
    for (uint32_t node = 0; node < 2 * g->leaves; node++) {
        g->first[node] = HUGE_VAL;
        g->acts[node] = node - g->leaves; /* of leaves alone, until the ranks begin */
    }
    for (uint32_t r = 0; r < g->shape.p; r++) {
        out->rank[r].n = 0;
        g->rank[r].left =
            (double)g->shape.m * g->shape.v * (g->times.forward + g->times.input + g->times.weight);
        set_when(g, r, 0);
    }
}

/* When all that a pass needs has arrived at its rank; HUGE_VAL: not known yet. */
static inline double arrival(const struct ty_greedy *g, uint32_t rank, const struct ty_slot *s)
{
    const uint32_t m = g->shape.m, last = ty_sched_stages(&g->shape) - 1;
    if (s->phase == TY_PHASE_WGRAD || (s->phase == TY_PHASE_FORWARD && s->stage == 0)) {
        return 0; /* its own I stands before it */
    }
    if (s->phase == TY_PHASE_DGRAD && s->stage == last) {
        return g->end_f[(size_t)last * m + s->mb];
    }
    const bool forward = s->phase == TY_PHASE_FORWARD;
    const uint32_t from = forward ? s->stage - 1u : s->stage + 1u;
    const double end = (forward ? g->end_f : g->end_i)[(size_t)from * m + s->mb];
    return end + (g->times.edge > 0 && g->owner[from] != rank ? g->times.edge : 0);
}

/* Looks through the next pass of each kind of a rank, in the order given. Returns the place of the
 * first behind `next` that can start now without ever holding more than the cap, or UINT32_MAX;
 * *ready: when it arrived; *wake: the first time, after now, at which one that is known to come
 * arrives. */
static uint32_t scan(const struct ty_greedy *g, const struct ty_rank_slots *order, uint32_t r,
                     double now, double *ready, double *wake)
{
    const struct ty_greedy_rank *rank = &g->rank[r];
    const uint32_t kinds = 2 * g->shape.v;
    uint32_t held = rank->held - (rank->n_queued - rank->n_weighed), most = held, n_seen = 0;
    uint64_t seen = 0; /* one bit per chunk and phase */
    *wake = HUGE_VAL;
    for (uint32_t i = rank->next; i < order->n && n_seen < kinds; i++) {
        const struct ty_slot *s = &order->slot[i];
        if (g->moved[r * g->per_rank + i]) {
            continue;
        }
        const bool forward = s->phase == TY_PHASE_FORWARD;
        const uint64_t bit = UINT64_C(1) << (2 * (s->stage / g->shape.p) + forward);
        if ((seen & bit) == 0) {
            const double at = arrival(g, r, s);
            const bool fits = !forward || (most < g->cap && rank->held < g->cap);
            if (at > now + g->slack) {
                *wake = at < *wake ? at : *wake;
            } else if (fits && i > rank->next) {
                *ready = at;
                return i;
            }
            seen |= bit;
            n_seen++;
        }
        held += forward ? 1u : UINT32_MAX; /* an I frees one */
        most = held > most ? held : most;
    }
    return UINT32_MAX;
}

/* What a rank does at a time: which pass starts, or none; if none, when to look again. */
struct choice {
    const struct ty_slot *slot; /* NULL: none */
    uint32_t place;             /* in the order; UINT32_MAX: a W out of the queue */
    double ready;               /* when all that it needs has arrived */
    double wake;
};

static struct choice take(const struct ty_rank_slots *order, uint32_t place, double ready)
{
    return (struct choice){.slot = &order->slot[place], .place = place, .ready = ready};
}

static struct choice choose(const struct ty_greedy *g, const struct ty_rank_slots *order,
                            uint32_t r, double now, const struct ty_greedy_rules *rules)
{
    const struct ty_greedy_rank *rank = &g->rank[r];
    const bool has_weight = rank->n_weighed < rank->n_queued;
    const struct ty_slot *weight = &g->queue[r * (g->per_rank / 2) + rank->n_weighed];
    struct choice none = {.place = UINT32_MAX, .wake = HUGE_VAL};
    if (rank->next < order->n) {
        const struct ty_slot *head = &order->slot[rank->next];
        const double at = arrival(g, r, head);
        const bool full = head->phase == TY_PHASE_FORWARD && rank->held >= g->cap;
        if (at <= now + g->slack && !full) {
            return take(order, rank->next, at);
        }
        none.wake = full || at <= now + g->slack ? HUGE_VAL : at;
        if (rules->overtaking != TY_OVERTAKE_NEVER &&
            (rules->overtaking == TY_OVERTAKE_EAGER || !has_weight)) {
            double ready;
            const uint32_t place = scan(g, order, r, now, &ready, &none.wake);
            if (place != UINT32_MAX) {
                return take(order, place, ready);
            }
        }
        if (!full && at < now + rules->patience * g->times.weight) {
            none.wake = at;
            return none;
        }
    }
    return has_weight ? (struct choice){.slot = weight, .place = UINT32_MAX} : none;
}

static double duration(const struct ty_greedy *g, const struct ty_slot *s)
{
    switch (s->phase) {
    case TY_PHASE_FORWARD:
        return g->times.forward;
    case TY_PHASE_DGRAD:
        return g->times.input;
    default:
        return g->times.weight;
    }
}

/* Tells the rank that waits for a pass, if it sleeps, when the message will be there. */
static void notify(struct ty_greedy *g, uint32_t from, const struct ty_slot *s, double end)
{
    const bool forward = s->phase == TY_PHASE_FORWARD;
    const uint32_t last = ty_sched_stages(&g->shape) - 1;
    if (s->phase == TY_PHASE_WGRAD || s->stage == (forward ? last : 0)) {
        return;
    }
    const uint32_t to = g->owner[forward ? s->stage + 1u : s->stage - 1u];
    const double at = end + g->times.edge;
    if (to != from && g->rank[to].asleep && at < when(g, to)) {
        set_when(g, to, at);
    }
}

/* Starts a pass on a rank, of which all needs have arrived at `ready`; returns its end. */
static double start(struct ty_greedy *g, uint32_t r, const struct ty_slot *s, double ready,
                    double now, struct ty_rank_slots *out)
{
    struct ty_greedy_rank *rank = &g->rank[r];
    const double takes = duration(g, s), end = (ready > now ? ready : now) + takes;
    rank->left -= takes;
    const size_t key = (size_t)s->stage * g->shape.m + s->mb;
    out->slot[out->n++] = *s;
    if (s->phase == TY_PHASE_FORWARD) {
        g->end_f[key] = end;
        rank->held++;
    } else if (s->phase == TY_PHASE_WGRAD) {
        rank->held--;
        rank->n_weighed++;
    } else {
        g->end_i[key] = end;
        struct ty_slot *w = &g->queue[r * (g->per_rank / 2) + rank->n_queued++];
        *w = *s;
        w->phase = TY_PHASE_WGRAD;
    }
    rank->asleep = false;
    set_when(g, r, end);
    notify(g, r, s, end);
    return end;
}

/* Marks a place of a rank's order as run. */
static void pass_by(struct ty_greedy *g, const struct ty_rank_slots *order, uint32_t r,
                    uint32_t place)
{
    struct ty_greedy_rank *rank = &g->rank[r];
    if (place != rank->next) {
        g->moved[r * g->per_rank + place] = true;
        return;
    }
    do {
        rank->next++;
    } while (rank->next < order->n && rank->next < g->per_rank &&
             g->moved[r * g->per_rank + rank->next]);
}

double ty_greedy_play(struct ty_greedy *greedy, const struct ty_slots *order, uint32_t m,
                      const struct ty_greedy_rules *rules, double limit, struct ty_slots *out)
{
    const double beyond = limit * (1 + 1e-9); /* far above the rounding of sums of durations */
    double makespan = 0;
    forget(greedy, m);
    begin(greedy, out);
    while (greedy->first[1] < HUGE_VAL) {
        const double now = greedy->first[1];
        const uint32_t r = greedy->acts[1];
        const struct choice choice = choose(greedy, &order->rank[r], r, now, rules);
        if (choice.slot == NULL) {
            greedy->rank[r].asleep = true;
            set_when(greedy, r, choice.wake);
            continue;
        }
        const double end = start(greedy, r, choice.slot, choice.ready, now, &out->rank[r]);
        if (end + greedy->rank[r].left > beyond) {
            return HUGE_VAL;
        }
        makespan = end > makespan ? end : makespan;
        if (choice.place != UINT32_MAX) {
            pass_by(greedy, &order->rank[r], r, choice.place);
        }
    }
    for (uint32_t r = 0; r < order->p; r++) {
        if (out->rank[r].n != 3 * m * greedy->shape.v) {
            return HUGE_VAL;
        }
    }
    return makespan;
}

/* Runs the passes of a rank until one waits for another rank; whether any ran. */
static bool follow(struct ty_greedy *g, const struct ty_rank_slots *order, uint32_t r)
{
    struct ty_greedy_rank *rank = &g->rank[r];
    const uint32_t first = rank->next;
    for (; rank->next < order->n; rank->next++) {
        const struct ty_slot *s = &order->slot[rank->next];
        const double ready = arrival(g, r, s);
        if (ready == HUGE_VAL) {
            break;
        }
        rank->free = (ready > rank->free ? ready : rank->free) + duration(g, s);
        if (s->phase != TY_PHASE_WGRAD) {
            double *end = s->phase == TY_PHASE_FORWARD ? g->end_f : g->end_i;
            end[(size_t)s->stage * g->shape.m + s->mb] = rank->free;
        }
    }
    return rank->next > first;
}

double ty_greedy_follow(struct ty_greedy *greedy, const struct ty_slots *order, uint32_t m)
{
    double makespan = 0;
    forget(greedy, m);
    /* forwards go up the ranks of a V and down again, so a sweep does the same */
    for (bool ran = true; ran;) {
        ran = false;
        for (uint32_t i = 0; i < 2 * order->p; i++) {
            const uint32_t r = i < order->p ? i : 2 * order->p - 1 - i;
            ran |= follow(greedy, &order->rank[r], r);
        }
    }
    for (uint32_t r = 0; r < order->p; r++) {
        if (greedy->rank[r].next < order->rank[r].n) {
            return HUGE_VAL;
        }
        makespan = fmax(makespan, greedy->rank[r].free);
    }
    return makespan;
}
