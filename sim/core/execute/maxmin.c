/* maxmin.c - keeps the graph of flows and links, and finds what a change affects.
 *
 * A use is a node of two lists: the uses of its link, and, while the link is crowded, the crowded
 * uses of its flow. A link is crowded when its flows at full speed would ask more than it has. Only
 * crowded links can stop a flow, so only they couple flows: a component is what the crowded links
 * reach, and a collective of a thousand uses that meets a message on one NIC costs one use, not a
 * thousand. Flows without crowded links run at exactly 1.
 *
 *     link 0   crowded   A . B          component 1: A, B, C over links 0 and 2
 *     link 1             . . B . D      (D meets B on link 1, which has enough for both)
 *     link 2   crowded   . C B
 *
 * Shares are fractions of a capacity, so the slack of every link is on one scale, and whatever is
 * summed over the flows of a link is summed in whole numbers (parts, maxmin_internal.h). So nothing
 * drifts however often flows come and go, and a component's speeds are the same to the bit in
 * whatever order its flows came. */
#include "sim/core/execute/maxmin.h"

#include <math.h>

#include "sim/base/check.h"
#include "sim/core/execute/maxmin_internal.h"

#define ROUNDED 1e-9 /* of a capacity: sums of speeds */

/* ---- flows come and go ---- */

/* In parts. A share beyond two capacities crowds its link whatever else is there. */
static uint64_t parts_of(double share)
{
    return (uint64_t)(int64_t)((share < 2 ? share : 2) * CAPACITY_PARTS);
}

static void ask(struct link *l, double share)
{
    const uint64_t sum = l->demand + parts_of(share);
    l->demand_whole += (uint32_t)(sum >> CAPACITY_BITS);
    l->demand = sum % CAPACITY_PARTS;
}

static void ask_no_more(struct link *l, double share)
{
    const uint64_t parts = parts_of(share), rest = parts % CAPACITY_PARTS;
    assert(l->demand_whole >= (parts >> CAPACITY_BITS) + (l->demand < rest));
    l->demand_whole -= (uint32_t)(parts >> CAPACITY_BITS) + (l->demand < rest);
    l->demand = (l->demand - rest) % CAPACITY_PARTS;
}

static bool asks_too_much(const struct link *l)
{
    const uint64_t enough = (uint64_t)(ENOUGH * CAPACITY_PARTS);
    return l->demand_whole > 1 || (l->demand_whole == 1 && l->demand > enough);
}

static void chain_free(struct ty_maxmin *m, uint64_t max_uses)
{
    for (uint64_t e = 0; e < max_uses; e++) {
        m->nodes[e].sibling = e + 1 < max_uses ? (uint32_t)(e + 1) : NONE;
    }
    m->free_node = max_uses > 0 ? 0 : NONE;
    for (uint32_t f = 0; f < m->max_flows; f++) {
        m->flows[f].uses = m->flows[f].crowded = NONE;
        m->free[f / 64] |= UINT64_C(1) << f % 64;
        m->free_words[f / 4096] |= UINT64_C(1) << f / 64 % 64;
    }
}

struct ty_maxmin *ty_maxmin_new(const struct ty_link *links, uint32_t n, uint32_t max_flows,
                                uint64_t max_uses, struct ty_arena *arena)
{
    assert(max_uses < NONE && max_flows < NONE);
    struct ty_maxmin *m = ty_arena_array(arena, struct ty_maxmin, 1);
    if (m == NULL) {
        return NULL;
    }
    m->capacities = links;
    m->n_links = n;
    m->max_flows = max_flows;
    m->links = ty_arena_array(arena, struct link, (size_t)n + 2); /* aligned also when few */
    m->nodes = ty_arena_array(arena, struct node, (size_t)max_uses + 1);
    m->flows = ty_arena_array(arena, struct flow, (size_t)max_flows + 1);
    m->told = ty_arena_array(arena, double, (size_t)max_flows + 1);
    m->free = ty_arena_array(arena, uint64_t, (size_t)max_flows / 64 + 1);
    m->free_words = ty_arena_array(arena, uint64_t, (size_t)max_flows / 4096 + 1);
    m->dirty = ty_arena_array(arena, uint32_t, (size_t)n + 1);
    m->fresh = ty_arena_array(arena, uint32_t, (size_t)max_flows + 1);
    m->reached = ty_arena_array(arena, uint32_t, (size_t)max_flows + 1);
    m->heap = ty_arena_array(arena, struct waiting, (size_t)n + 1);
    if (m->links == NULL || m->nodes == NULL || m->flows == NULL || m->told == NULL ||
        m->free == NULL || m->free_words == NULL || m->dirty == NULL || m->fresh == NULL ||
        m->reached == NULL || m->heap == NULL) {
        return NULL;
    }
    chain_free(m, max_uses);
    for (uint32_t l = 0; l < n; l++) {
        assert(links[l].capacity > 0);
        m->links[l].head = NONE;
    }
    m->stamp = 1;
    return m;
}

static uint32_t take_number(struct ty_maxmin *m)
{
    uint32_t group = 0;
    while (m->free_words[group] == 0) {
        group++;
        assert(group <= m->max_flows / 4096);
    }
    const uint32_t word = group * 64 + ty_lowest_bit(m->free_words[group]);
    const uint32_t f = word * 64 + ty_lowest_bit(m->free[word]);
    m->free[word] &= m->free[word] - 1;
    if (m->free[word] == 0) {
        m->free_words[group] &= m->free_words[group] - 1;
    }
    return f;
}

static void give_number(struct ty_maxmin *m, uint32_t f)
{
    m->free[f / 64] |= UINT64_C(1) << f % 64;
    m->free_words[f / 4096] |= UINT64_C(1) << f / 64 % 64;
}

static void crowd(struct ty_maxmin *m, uint32_t e)
{
    struct flow *f = &m->flows[m->nodes[e].flow];
    m->nodes[e].crowded_prev = NONE;
    m->nodes[e].crowded_next = f->crowded;
    if (f->crowded != NONE) {
        m->nodes[f->crowded].crowded_prev = e;
    }
    f->crowded = e;
}

static void uncrowd(struct ty_maxmin *m, uint32_t e)
{
    const struct node *x = &m->nodes[e];
    if (x->crowded_next != NONE) {
        m->nodes[x->crowded_next].crowded_prev = x->crowded_prev;
    }
    if (x->crowded_prev != NONE) {
        m->nodes[x->crowded_prev].crowded_next = x->crowded_next;
    } else {
        m->flows[x->flow].crowded = x->crowded_next;
    }
}

static void mark_dirty(struct ty_maxmin *m, uint32_t l)
{
    if (m->links[l].stamp != m->stamp) {
        m->links[l].stamp = m->stamp;
        m->dirty[m->n_dirty++] = l;
    }
}

static void add_use(struct ty_maxmin *m, uint32_t f, uint32_t e, const struct ty_use *use)
{
    struct link *l = &m->links[use->link];
    struct node *x = &m->nodes[e];
    assert(use->link < m->n_links && use->Bps > 0);
    x->flow = f;
    x->link = use->link;
    x->share = use->Bps / m->capacities[use->link].capacity;
    x->prev = NONE;
    x->next = l->head;
    if (l->head != NONE) {
        m->nodes[l->head].prev = e;
    }
    l->head = e;
    ask(l, x->share);
    if (l->crowded) {
        crowd(m, e);
        mark_dirty(m, use->link);
    } else if (asks_too_much(l)) {
        mark_dirty(m, use->link);
    }
}

uint32_t ty_maxmin_add(struct ty_maxmin *m, const struct ty_use *uses, uint32_t n, double weight)
{
    const uint32_t number = take_number(m);
    struct flow *f = &m->flows[number];
    assert(n > 0 && weight > 0);
    f->weight = weight;
    f->crowded = NONE;
    f->speed = m->told[number] = 0;
    f->uses = m->free_node;
    uint32_t last = NONE;
    for (uint32_t i = 0; i < n; i++) {
        last = m->free_node;
        assert(last != NONE);
        m->free_node = m->nodes[last].sibling;
        add_use(m, number, last, &uses[i]);
    }
    m->nodes[last].sibling = NONE;
    if (f->stamp != m->stamp) {
        f->stamp = m->stamp;
        m->fresh[m->n_fresh++] = number;
    }
    m->is_dirty = true;
    return number;
}

static void remove_use(struct ty_maxmin *m, const struct node *x)
{
    struct link *l = &m->links[x->link];
    if (x->next != NONE) {
        m->nodes[x->next].prev = x->prev;
    }
    if (x->prev != NONE) {
        m->nodes[x->prev].next = x->next;
    } else {
        l->head = x->next;
    }
    ask_no_more(l, x->share);
    if (l->crowded) {
        mark_dirty(m, x->link);
    }
}

void ty_maxmin_remove(struct ty_maxmin *m, uint32_t flow)
{
    const uint32_t first = m->flows[flow].uses;
    assert(flow < m->max_flows && first != NONE);
    uint32_t last = first;
    for (uint32_t e = first; e != NONE; e = m->nodes[e].sibling) {
        remove_use(m, &m->nodes[e]);
        last = e;
    }
    m->nodes[last].sibling = m->free_node;
    m->free_node = first;
    m->flows[flow].uses = m->flows[flow].crowded = NONE;
    give_number(m, flow);
    m->is_dirty = true;
}

/* ---- components ---- */

/* Links that became crowded, or are no longer. Those that neither were nor are do not matter. */
static void settle_crowded(struct ty_maxmin *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_dirty; i++) {
        struct link *l = &m->links[m->dirty[i]];
        const bool was_crowded = l->crowded, is_crowded = asks_too_much(l);
        if (was_crowded || is_crowded) {
            m->dirty[n++] = m->dirty[i];
        }
        if (was_crowded == is_crowded) {
            continue;
        }
        l->crowded = is_crowded;
        for (uint32_t e = l->head; e != NONE; e = m->nodes[e].next) {
            (is_crowded ? crowd : uncrowd)(m, e);
        }
    }
    m->n_dirty = n;
}

static void reach_flow(struct ty_maxmin *m, uint32_t number)
{
    struct flow *f = &m->flows[number];
    if (f->stamp != m->stamp + 1) {
        f->stamp = m->stamp + 1;
        f->speed = -1;
        m->reached[m->n_reached++] = number;
    }
}

static void reach_link(struct ty_maxmin *m, uint32_t number)
{
    struct link *l = &m->links[number];
    if (l->stamp == m->stamp + 1) {
        return;
    }
    l->stamp = m->stamp + 1;
    for (uint32_t e = l->head; e != NONE; e = m->nodes[e].next) {
        reach_flow(m, m->nodes[e].flow);
    }
    m->heap[m->n_waiting++].link = number;
}

/* All that the flows in `reached` are coupled with. */
static void reach_component(struct ty_maxmin *m)
{
    for (uint32_t i = 0; i < m->n_reached; i++) {
        uint32_t e = m->flows[m->reached[i]].crowded;
        for (; e != NONE; e = m->nodes[e].crowded_next) {
            reach_link(m, m->nodes[e].link);
        }
    }
}

/* ---- solving ---- */

static void report(struct ty_maxmin *m, uint32_t flow, double now, ty_maxmin_changed_fn *changed,
                   void *arg)
{
    if (fabs(now - m->told[flow]) > SAME_SPEED * now) {
        m->told[flow] = now;
        changed(arg, flow, now);
    }
}

/* The component of the flows reached so far, or a flow without crowded links. */
static void solve_component(struct ty_maxmin *m, ty_maxmin_changed_fn *changed, void *arg)
{
    reach_component(m);
    if (m->n_waiting > 0) {
        ty_maxmin_fill(m);
    } else if (m->n_reached > 0) {
        m->flows[m->reached[0]].speed = 1;
    }
    for (uint32_t i = 0; i < m->n_reached; i++) {
        report(m, m->reached[i], m->flows[m->reached[i]].speed, changed, arg);
    }
    m->n_reached = m->n_waiting = 0;
}

/* The components of a link that has changed: one if it is crowded, else one for each flow that it
 * no longer holds together. */
static void solve_around(struct ty_maxmin *m, uint32_t link, ty_maxmin_changed_fn *changed,
                         void *arg)
{
    if (m->links[link].crowded) {
        reach_link(m, link);
        solve_component(m, changed, arg);
        return;
    }
    for (uint32_t e = m->links[link].head; e != NONE; e = m->nodes[e].next) {
        reach_flow(m, m->nodes[e].flow);
        solve_component(m, changed, arg);
    }
}

/* Stamps start over long before they would repeat. */
static void advance_stamp(struct ty_maxmin *m)
{
    m->stamp += 2;
    if (m->stamp < UINT32_MAX - 2) {
        return;
    }
    for (uint32_t l = 0; l < m->n_links; l++) {
        m->links[l].stamp = 0;
    }
    for (uint32_t f = 0; f < m->max_flows; f++) {
        m->flows[f].stamp = 0;
    }
    m->stamp = 1;
}

/* What holds of a solved link: its demand is that of its flows, to the part, and they take no more
 * than there is. */
static bool is_within(const struct ty_maxmin *m, uint32_t link)
{
    struct link sum = {.head = NONE};
    double taken = 0;
    for (uint32_t e = m->links[link].head; e != NONE; e = m->nodes[e].next) {
        ask(&sum, m->nodes[e].share);
        taken += m->nodes[e].share * m->flows[m->nodes[e].flow].speed;
    }
    return sum.demand == m->links[link].demand && sum.demand_whole == m->links[link].demand_whole &&
           taken < 1 + ROUNDED;
}

static bool are_within(const struct ty_maxmin *m)
{
    bool within = true;
    for (uint32_t i = 0; i < m->n_dirty; i++) {
        within = within && is_within(m, m->dirty[i]);
    }
    return within;
}

void ty_maxmin_solve(struct ty_maxmin *m, ty_maxmin_changed_fn *changed, void *arg)
{
    if (!m->is_dirty) {
        return;
    }
    settle_crowded(m);
    for (uint32_t i = 0; i < m->n_dirty; i++) {
        solve_around(m, m->dirty[i], changed, arg);
    }
    for (uint32_t i = 0; i < m->n_fresh; i++) {
        const uint32_t f = m->fresh[i];
        if (m->flows[f].stamp == m->stamp && m->flows[f].uses != NONE) {
            m->flows[f].speed = 1;
            report(m, f, 1, changed, arg);
        }
    }
    TY_DEBUG_CHECK(are_within(m));
    m->n_dirty = m->n_fresh = 0;
    m->is_dirty = false;
    advance_stamp(m);
}

bool ty_maxmin_is_dirty(const struct ty_maxmin *m)
{
    return m->is_dirty;
}

double ty_maxmin_speed(const struct ty_maxmin *m, uint32_t flow)
{
    return m->flows[flow].speed;
}
