/* uplinks.c - what crosses from leaf to leaf, and from pod to pod.
 *
 * A hop takes the uplinks of the rails of its sender's NICs: up from one leaf, down to the other.
 * Under ECMP each queue pair between two NICs is hashed onto a spine by the two NICs and its own
 * number: the same in every run. Pods are joined by one link each, up and down.
 *
 * All pairs: every two members of different nodes exchange the same bytes; totals by leaf and pod
 * are sums and need no pairs. ECMP hashes pairs one by one while these are few; of many, equal
 * parts go over each spine.
 *
 * SHARP: a leaf adds what its nodes send, so one sum climbs from each leaf, and one from each
 * pod. */
#include "topology/fabric/internal.h"

#include "sim/base/noise.h"

#define PAIRS_HASHED 4096u      /* nodes squared; a guess: 64 nodes even the spines out */
#define SUM_KEY      UINT64_MAX /* a stream of sums has no destination to hash */

static uint32_t block_of(const struct ty_fabric_layout *l, uint32_t i)
{
    return l->w->node[i] / l->s->leaf_nodes;
}

static uint32_t pod_of(const struct ty_fabric_shape *s, uint32_t block)
{
    return s->pods > 0 ? block / s->pod_blocks : 0;
}

void ty_fabric_climb(const struct ty_fabric *f, uint32_t rail, uint32_t from, uint32_t to,
                     uint64_t a, uint64_t b, double Bps)
{
    const struct ty_fabric_shape *s = &f->shape;
    const uint32_t paths = s->ecmp_paths > 0 ? s->ecmp_paths : 1;
    for (uint32_t q = 0; q < paths; q++) {
        const uint32_t spine = s->ecmp_paths > 0 ? (uint32_t)(ty_hash4(a, b, q, 0) % s->spines) : 0;
        ty_fabric_take(f->scratch, ty_fabric_leaf(f, from, rail, spine, OUT), Bps / paths);
        ty_fabric_take(f->scratch, ty_fabric_leaf(f, to, rail, spine, IN), Bps / paths);
    }
}

void ty_fabric_climb_pods(const struct ty_fabric *f, uint32_t from, uint32_t to, double Bps)
{
    const uint32_t a = pod_of(&f->shape, from), b = pod_of(&f->shape, to);
    if (a != b) {
        ty_fabric_take(f->scratch, ty_fabric_pod(f, a, OUT), Bps);
        ty_fabric_take(f->scratch, ty_fabric_pod(f, b, IN), Bps);
    }
}

static void climb_hop(struct ty_fabric_layout *l, uint32_t from, uint32_t to, double Bps)
{
    const struct ty_fabric_shape *s = l->s;
    const uint32_t a = block_of(l, from), b = block_of(l, to);
    if (a == b) {
        return;
    }
    for (uint32_t c = 0; c < s->nics; c++) {
        const double part = Bps * ty_fabric_share(l, from, c);
        if (part > 0) {
            ty_fabric_climb(l->f, c % s->rails, a, b, (uint64_t)l->w->node[from] * s->nics + c,
                            (uint64_t)l->w->node[to] * s->nics + c, part);
        }
    }
    ty_fabric_climb_pods(l->f, a, b, Bps);
}

static void count_blocks(struct ty_fabric_layout *l)
{
    for (uint32_t i = 0; i < l->s->blocks; i++) {
        l->w->in_block[i] = 0;
        l->w->in_pod[pod_of(l->s, i)] = 0;
    }
    for (uint32_t i = 0; i < l->k; i++) {
        l->w->in_block[block_of(l, i)] += l->w->members[i];
        l->w->in_pod[pod_of(l->s, block_of(l, i))] += l->w->members[i];
    }
}

/* One leaf of a block, up and down alike, in equal parts over its spines. */
static void climb_evenly(struct ty_fabric_layout *l, uint32_t block, uint32_t rail, double Bps)
{
    for (uint32_t spine = 0; spine < l->s->spines; spine++) {
        ty_fabric_take(l->w, ty_fabric_leaf(l->f, block, rail, spine, OUT), Bps / l->s->spines);
        ty_fabric_take(l->w, ty_fabric_leaf(l->f, block, rail, spine, IN), Bps / l->s->spines);
    }
}

/* All pairs, by sums: a node exchanges with all members outside of its leaf, and of its pod. */
static void climb_sums(struct ty_fabric_layout *l)
{
    const struct ty_fabric_shape *s = l->s;
    const double Bps = ty_fabric_pair_Bps(l);
    count_blocks(l);
    for (uint32_t i = 0; i < l->k; i++) {
        const uint32_t block = block_of(l, i), pod = pod_of(s, block);
        const double each = Bps * l->w->members[i];
        for (uint32_t c = 0; c < s->nics && l->w->in_block[block] < l->n; c++) {
            climb_evenly(l, block, c % s->rails,
                         each * (l->n - l->w->in_block[block]) * ty_fabric_share(l, i, c));
        }
        if (l->w->in_pod[pod] < l->n) {
            ty_fabric_take(l->w, ty_fabric_pod(l->f, pod, OUT), each * (l->n - l->w->in_pod[pod]));
            ty_fabric_take(l->w, ty_fabric_pod(l->f, pod, IN), each * (l->n - l->w->in_pod[pod]));
        }
    }
}

/* SHARP: the first node of each leaf stands for the sum of all, and so for the pod. */
static void climb_sharp(struct ty_fabric_layout *l)
{
    const struct ty_fabric_shape *s = l->s;
    count_blocks(l);
    for (uint32_t i = 0; i < l->k; i++) {
        const uint32_t block = block_of(l, i), pod = pod_of(s, block);
        const bool leaves = l->w->in_block[block] > 0 && l->w->in_block[block] < l->n;
        const bool leaves_pod = l->w->in_pod[pod] > 0 && l->w->in_pod[pod] < l->n;
        for (uint32_t c = 0; c < s->nics && leaves; c++) {
            const uint64_t leaf = (uint64_t)block * s->rails + c % s->rails;
            const double part = l->w->rate[OUT][i] * ty_fabric_share(l, i, c);
            if (part > 0) {
                ty_fabric_climb(l->f, c % s->rails, block, block, leaf, SUM_KEY, part);
            }
        }
        if (leaves && leaves_pod) {
            ty_fabric_take(l->w, ty_fabric_pod(l->f, pod, OUT), l->w->rate[OUT][i]);
            ty_fabric_take(l->w, ty_fabric_pod(l->f, pod, IN), l->w->rate[IN][i]);
            l->w->in_pod[pod] = 0;
        }
        l->w->in_block[block] = leaves ? 0 : l->w->in_block[block];
    }
}

void ty_fabric_take_uplinks(struct ty_fabric_layout *l)
{
    const bool hashed = l->s->ecmp_paths > 0 && l->k <= PAIRS_HASHED / l->k;
    if (l->s->blocks == 1) {
        return;
    }
    if (l->pattern == TY_PATTERN_SWITCH) {
        climb_sharp(l);
    } else if (ty_fabric_is_pairs(l) && !hashed) {
        climb_sums(l);
    } else {
        ty_fabric_each_hop(l, climb_hop);
    }
}
