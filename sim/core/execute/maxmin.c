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

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "sim/base/check.h"

#define NONE UINT32_MAX

/* Relative tolerances, far above the rounding of a few hundred sums and far below what a duration
 * in picoseconds can show. That for full speed is the largest: a flow that was slower and is now at
 * full speed has always changed. */
#define SAME_LEVEL 1e-12 /* of a link's capacity: it is full at this level, too */
#define SAME_SPEED 1e-12 /* not reported as a change */
#define FULL_SPEED 3e-12 /* below 1: is 1 */
#define ENOUGH     1e-12 /* above capacity: not crowded */

/* A capacity in parts. Whatever is summed over the flows of a link is a whole number of parts: such
 * sums have no order, and taking away leaves what was there before adding. */
#define CAPACITY_BITS  61
#define CAPACITY_PARTS (INT64_C(1) << CAPACITY_BITS)

/* A use of a link by a flow: 40 bytes. */
struct node {
    uint32_t next, prev;                 /* uses of the link */
    uint32_t crowded_next, crowded_prev; /* crowded uses of the flow */
    uint32_t sibling;                    /* the flow's next use; of free nodes: the next free one */
    uint32_t flow, link;
    double share; /* of the link's capacity, at full speed */
};

/* One cache line: all that coming and going of lone flows touches of a link. */
struct link {
    uint64_t demand;       /* sum of shares at full speed: parts beyond the whole capacities */
    uint32_t demand_whole; /* whole capacities */
    uint32_t head;         /* its uses */
    uint32_t stamp;        /* see below */
    uint32_t crowded;      /* its uses are in the lists of their flows */
    uint32_t n_rising;     /* uses by flows that have not stopped in this solve */
    float slope_shrunk;    /* below this the sums are taken again */
    int64_t left;          /* parts, after the flows that have stopped */
    int64_t slope;         /* sum of weight * share over the rising flows, times slope_scale */
    double slope_scale;    /* a power of two */
    double weight_max;     /* over the rising flows, or more */
};
_Static_assert(sizeof(struct link) == 64, "a link is a cache line");

struct flow {
    double weight;
    double speed; /* in the last solve that reached it; < 0: rising */
    uint32_t uses, crowded;
    uint32_t stamp;
};

struct waiting {
    double level;
    uint32_t link;
};

struct ty_maxmin {
    const struct ty_link *capacities; /* borrowed */
    struct link *links;
    struct node *nodes;
    struct flow *flows;
    double *told; /* [max_flows], speeds as last reported */
    uint32_t n_links, max_flows;
    uint32_t free_node;
    /* free flow numbers: bit f of `free`; bit w of `free_words`: free[w] has one */
    uint64_t *free, *free_words;
    /* what happened since the last solve; `stamp`: it is in these lists, stamp + 1: it has been
     * reached by this solve */
    uint32_t stamp;
    uint32_t n_dirty, n_fresh;
    uint32_t *dirty; /* links that were or are crowded and whose flows are others now */
    uint32_t *fresh; /* flows that began */
    bool is_dirty;
    /* the component that is being solved */
    uint32_t *reached; /* its flows */
    struct waiting *heap;
    uint32_t n_reached, n_waiting, n_rising;
    double level_left, level_slope; /* the level is their quotient: halves stay exact halves */
};

/* ---- progressive filling of one component of coupled flows ---- */

/* First in rounds: all links say at which level they would be full if their flows went on rising,
 * the lowest is the level reached, and the links that are full there stop their flows. Collectives
 * that all look alike are done after two or three. When a round stops few, the links that are left
 * wait in a heap by that level. Stops of flows only make it higher, so what the heap holds is a
 * lower bound: the top is looked at again and put back until its level is true.
 *
 * Of the flows of a full link, those that have reached full speed on the way stop there first,
 * unhindered since every other link is full later; the others stop at the level. So a link may be
 * walked more than once: that is Newton's method for its level as a function of which flows are at
 * full speed, concave and piecewise linear, a few walks. In the heap a link is looked at again only
 * after one of its flows has stopped elsewhere, and rounds end when they stop little, so U uses
 * cost O(U log U) however many links are full in the end.
 *
 * Which flows stop together and at which level follows from sums that have no order, so the order
 * of the lists does not show. */

/* Sums of a link are taken again when they have shrunk so much that rounding might show. */
#define SHRUNK 0.0625f

/* Rounds go on while each is done with one in so many of the links. */
#define ROUND_PAYS 16

static bool is_before(const struct waiting *a, const struct waiting *b)
{
    return (a->level < b->level) | ((a->level == b->level) & (a->link < b->link));
}

static void sift_down(struct ty_maxmin *m, uint32_t i, struct waiting w)
{
    const uint32_t n = m->n_waiting;
    struct waiting *heap = m->heap;
    for (uint32_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        child += child + 1 < n && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &w)) {
            break;
        }
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = w;
}

static void drop_top(struct ty_maxmin *m)
{
    const struct waiting last = m->heap[--m->n_waiting];
    if (m->n_waiting > 0) {
        sift_down(m, 0, last);
    }
}

static int64_t fill_parts(double share)
{
    return (int64_t)(share * CAPACITY_PARTS);
}

/* Of 1. */
static double left_of(const struct link *l)
{
    return (double)l->left / CAPACITY_PARTS;
}

/* At which it is full if all its flows go on rising. */
static double level_of(const struct link *l)
{
    return left_of(l) * l->slope_scale / (double)l->slope;
}

/* Rises to the level at which this link is full. */
static void rise(struct ty_maxmin *m, const struct link *l)
{
    m->level_left = left_of(l);
    m->level_slope = (double)l->slope / l->slope_scale;
}

/* Whether the link is full at the level that has been reached. */
static bool is_full(const struct ty_maxmin *m, const struct link *l)
{
    return (left_of(l) - SAME_LEVEL) * m->level_slope * l->slope_scale <=
           (double)l->slope * m->level_left;
}

/* The flow stops, and its links have less left for fewer. */
static void stop(struct ty_maxmin *m, struct flow *f, double speed)
{
    assert(f->speed < 0 && speed > 0 && speed <= 1 && m->n_rising > 0);
    f->speed = speed;
    m->n_rising--;
    for (uint32_t e = f->crowded; e != NONE; e = m->nodes[e].crowded_next) {
        const struct node *x = &m->nodes[e];
        struct link *l = &m->links[x->link];
        assert(l->n_rising > 0);
        l->left -= fill_parts(speed * x->share);
        l->slope -= (int64_t)(f->weight * x->share * l->slope_scale);
        l->n_rising--;
    }
}

/* The flows of a link that reach full speed before the level; whether there were any. */
static bool stop_at_full_speed(struct ty_maxmin *m, struct link *l)
{
    const double full = (1 - FULL_SPEED) * m->level_slope;
    const uint32_t n_before = m->n_rising;
    if (l->weight_max * m->level_left < full) {
        return false;
    }
    double weight_max = 0;
    for (uint32_t e = l->head; e != NONE; e = m->nodes[e].next) {
        struct flow *f = &m->flows[m->nodes[e].flow];
        if (f->speed >= 0) {
            continue;
        }
        if (f->weight * m->level_left >= full) {
            stop(m, f, 1);
        } else if (f->weight > weight_max) {
            weight_max = f->weight;
        }
    }
    l->weight_max = weight_max;
    return m->n_rising < n_before;
}

static void stop_at_level(struct ty_maxmin *m, uint32_t number)
{
    for (uint32_t e = m->links[number].head; e != NONE; e = m->nodes[e].next) {
        struct flow *f = &m->flows[m->nodes[e].flow];
        if (f->speed < 0) {
            stop(m, f, f->weight * m->level_left / m->level_slope);
        }
    }
}

/* A power of two by which n terms of at most `most` are scaled so that their sum fits in 62 bits:
 * put together from the bits of an IEEE 754 double, frexp() and ldexp() cost more than the sum. */
static double scale_for(uint32_t n, double most)
{
    uint64_t word;
    int bits = 0;
    memcpy(&word, &most, sizeof(word));
    const int exponent = (int)(word >> 52) - 1022; /* most < 2^exponent */
    while (bits < 32 && n >> bits != 0) {
        bits++;
    }
    assert(exponent > -900 && exponent < 900);
    word = (uint64_t)(62 - bits - exponent + 1023) << 52;
    double scale;
    memcpy(&scale, &word, sizeof(scale));
    return scale;
}

/* Parts of the slope are so fine that its largest terms keep what a double has of them; when
 * these have stopped it is taken again in finer parts. */
static void take_sums(struct ty_maxmin *m, struct link *l)
{
    double most = 0, weight_max = 0;
    l->left = CAPACITY_PARTS;
    l->slope = 0;
    l->n_rising = 0;
    for (uint32_t e = l->head; e != NONE; e = m->nodes[e].next) {
        const struct node *x = &m->nodes[e];
        const struct flow *f = &m->flows[x->flow];
        if (f->speed >= 0) {
            l->left -= fill_parts(f->speed * x->share);
            continue;
        }
        l->n_rising++;
        most = f->weight * x->share > most ? f->weight * x->share : most;
        weight_max = f->weight > weight_max ? f->weight : weight_max;
    }
    l->weight_max = weight_max;
    if (l->n_rising == 0) {
        return;
    }
    l->slope_scale = scale_for(l->n_rising, most);
    for (uint32_t e = l->head; e != NONE; e = m->nodes[e].next) {
        const struct node *x = &m->nodes[e];
        const struct flow *f = &m->flows[x->flow];
        if (f->speed < 0) {
            l->slope += (int64_t)(f->weight * x->share * l->slope_scale);
        }
    }
    l->slope_shrunk = (float)l->slope * SHRUNK;
}

/* ---- in rounds ---- */

/* The first link to be full, by number among equals; those without rising flows are dropped. */
static uint32_t look_at_all(struct ty_maxmin *m)
{
    struct waiting first = {HUGE_VAL, NONE};
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_waiting; i++) {
        struct link *l = &m->links[m->heap[i].link];
        if (l->n_rising == 0) {
            continue;
        }
        if ((float)l->slope < l->slope_shrunk) {
            take_sums(m, l);
        }
        m->heap[n] = (struct waiting){level_of(l), m->heap[i].link};
        if (is_before(&m->heap[n], &first)) {
            first = m->heap[n];
        }
        n++;
    }
    m->n_waiting = n;
    return first.link;
}

/* Moves those of the first n links that are full to the front: how many. */
static uint32_t gather_full(struct ty_maxmin *m, uint32_t n)
{
    uint32_t n_full = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct waiting w = m->heap[i];
        if (is_full(m, &m->links[w.link])) {
            m->heap[i] = m->heap[n_full];
            m->heap[n_full++] = w;
        }
    }
    return n_full;
}

/* All flows stop that do at the lowest level. Whether so many links are done with that another such
 * round is cheaper than a heap. */
static bool round_pays(struct ty_maxmin *m)
{
    const uint32_t n_before = m->n_waiting, first = look_at_all(m);
    if (!is_full(m, &m->links[first])) {
        rise(m, &m->links[first]);
    }
    uint32_t n_full = gather_full(m, m->n_waiting);
    bool any = false;
    for (uint32_t i = 0; i < n_full; i++) {
        any |= stop_at_full_speed(m, &m->links[m->heap[i].link]);
    }
    n_full = any ? gather_full(m, n_full) : n_full;
    for (uint32_t i = 0; i < n_full; i++) {
        stop_at_level(m, m->heap[i].link);
    }
    return n_before - m->n_waiting + n_full >= n_before / ROUND_PAYS;
}

/* ---- one by one ---- */

static void build_heap(struct ty_maxmin *m)
{
    for (uint32_t i = m->n_waiting / 2; i-- > 0;) {
        sift_down(m, i, m->heap[i]);
    }
}

/* The level at which the top link is full is the one reached, unless another link is full before:
 * then that one is the top now. */
static bool rise_to_top(struct ty_maxmin *m)
{
    const uint32_t top = m->heap[0].link;
    const double level = level_of(&m->links[top]);
    if (level != m->heap[0].level) {
        sift_down(m, 0, (struct waiting){level, top});
        if (m->heap[0].link != top) {
            return false;
        }
    }
    rise(m, &m->links[top]);
    return true;
}

static void stop_at_top(struct ty_maxmin *m)
{
    const uint32_t top = m->heap[0].link;
    struct link *l = &m->links[top];
    if (l->n_rising == 0) {
        drop_top(m);
        return;
    }
    if ((float)l->slope < l->slope_shrunk) {
        take_sums(m, l);
    }
    if ((is_full(m, l) || rise_to_top(m)) && !stop_at_full_speed(m, l)) {
        stop_at_level(m, top);
        drop_top(m);
    }
}

/* Progressive filling of the component in `reached` and `heap`: the speed of its
 * flows, which are all rising. There is at least one link; levels in the heap are not yet known. */
static void maxmin_fill(struct ty_maxmin *m)
{
    for (uint32_t i = 0; i < m->n_waiting; i++) {
        take_sums(m, &m->links[m->heap[i].link]);
    }
    m->n_rising = m->n_reached;
    m->level_left = 0;
    m->level_slope = 1;
    bool in_rounds = true;
    while (m->n_rising > 0 && in_rounds) {
        in_rounds = round_pays(m);
    }
    build_heap(m);
    while (m->n_rising > 0) {
        stop_at_top(m);
    }
}

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
        maxmin_fill(m);
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
