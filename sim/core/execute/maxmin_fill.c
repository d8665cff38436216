/* maxmin_fill.c - progressive filling of one component of coupled flows.
 *
 * First in rounds: all links say at which level they would be full if their flows went on rising,
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
#include <assert.h>
#include <math.h>
#include <string.h>

#include "sim/core/execute/maxmin_internal.h"

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

static int64_t parts_of(double share)
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
        l->left -= parts_of(speed * x->share);
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
            l->left -= parts_of(f->speed * x->share);
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

void ty_maxmin_fill(struct ty_maxmin *m)
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
