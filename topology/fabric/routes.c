/* routes.c - which links a communication takes, and how much of each.
 *
 * A collective is laid out in four steps: its members are counted by node; its pattern gives hops
 * from node to node, whose bytes per second add up to net_B of all members; what
 * leaves and enters a node is spread over its NICs; a hop between leaves takes uplinks.
 *
 * NICs: a member drives those of its place. GPU i of a node with more NICs than GPUs has NICs i r
 * to (i+1) r, r = NICs / GPUs; with fewer it has the share i r .. (i+1) r of one. What these cannot
 * carry, when the cost says that the group gets more of the node (ty_coll_net_rate), goes over all
 * NICs of the node in equal parts. So the NICs of a node carry what its members send, and a group
 * alone asks of no NIC more than it has. Measured times may be better than what the model says a
 * port has: then the group takes all of the port.
 *
 * Dead NICs: what they would carry goes over those of the node that work, in equal parts, and the
 * group is as slow as they are then. A worse NIC or port carries what it always did.
 *
 * Rails: members on other rails are reached over NVLink, through the GPU of that rail in the
 * sender's node; of all-to-alls that is nearly everything (Wang et al. 2023). */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "sim/base/noise.h"
#include "topology/exceptions.h"
#include "topology/fabric/internal.h"

/* ---- the hops of a collective between the nodes of its group ---- */

/* Trees are two that mirror each other, each with half of the bytes, so that a node that is inner
 * in one is a leaf in the other and none sends more than the tensor up and down. Parents lie a
 * power of two away: the binary tree whose in-order walk is the order of the nodes.
 *
 * Source: Sanders, Speck & Traeff 2009 (two trees); NCCL builds the same. */

/* Of position p > 0 among k: the next position whose lowest set bit is twice as high. */
static uint32_t tree_parent(uint32_t p, uint32_t k)
{
    const uint32_t bit = p & (~p + 1), without = p ^ bit;
    const uint32_t up = without | bit << 1;
    return up < k ? up : without;
}

/* The node at position p: the second tree is mirrored, of an odd number of nodes shifted by one. */
static uint32_t tree_node(uint32_t p, uint32_t k, int tree)
{
    const uint32_t other = k % 2 == 0 ? k - 1 - p : (p + 1) % k;
    return tree == 0 ? p : other;
}

static void tree_hops(struct ty_fabric_layout *l, ty_fabric_hop_fn *hop)
{
    const uint32_t k = l->k;
    const double Bps = l->net_Bps / (4.0 * k); /* inner nodes have four hops, up and down */
    for (int tree = 0; tree < 2; tree++) {
        for (uint32_t p = 1; p < k; p++) {
            const uint32_t child = tree_node(p, k, tree);
            const uint32_t parent = tree_node(tree_parent(p, k), k, tree);
            hop(l, child, parent, Bps);
            hop(l, parent, child, Bps);
        }
    }
}

static double fabric_pair_Bps(const struct ty_fabric_layout *l)
{
    double pairs = 0;
    for (uint32_t i = 0; i < l->k; i++) {
        pairs += (double)l->w->members[i] * (l->n - l->w->members[i]);
    }
    return l->net_Bps / (pairs * l->times); /* of whole numbers: exact */
}

static void pair_hops(struct ty_fabric_layout *l, ty_fabric_hop_fn *hop)
{
    const double Bps = fabric_pair_Bps(l);
    for (uint32_t a = 0; a < l->k; a++) {
        for (uint32_t b = 0; b < l->k; b++) {
            if (a != b) {
                hop(l, a, b, Bps * l->w->members[a] * l->w->members[b]);
            }
        }
    }
}

static void fabric_each_hop(struct ty_fabric_layout *l, ty_fabric_hop_fn *hop)
{
    const uint32_t k = l->k;
    const uint32_t hops = l->pattern == TY_PATTERN_RING ? k : k - 1;
    switch (l->pattern) {
    case TY_PATTERN_RING:
    case TY_PATTERN_CHAIN:
        for (uint32_t i = 0; i < hops; i++) {
            hop(l, i, (i + 1) % k, l->net_Bps / hops);
        }
        break;
    case TY_PATTERN_TREES:
        tree_hops(l, hop);
        break;
    case TY_PATTERN_ALL_PAIRS:
    case TY_PATTERN_LIKES:
        pair_hops(l, hop);
        break;
    case TY_PATTERN_SWITCH:
        break; /* between a node and switches */
    }
}

/* ---- what crosses from leaf to leaf, and from pod to pod ---- */

/* A hop takes the uplinks of the rails of its sender's NICs: up from one leaf, down to the other.
 * Under ECMP each queue pair between two NICs is hashed onto a spine by the two NICs and its own
 * number: the same in every run. Pods are joined by one link each, up and down.
 *
 * All pairs: every two members of different nodes exchange the same bytes; totals by leaf and pod
 * are sums and need no pairs. ECMP hashes pairs one by one while these are few; of many, equal
 * parts go over each spine.
 *
 * SHARP: a leaf adds what its nodes send, so one sum climbs from each leaf, and one from each
 * pod. */

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

/* From leaf to leaf of one rail, over the spines that the hash of (a, b) chooses. */
static void fabric_climb(const struct ty_fabric *f, uint32_t rail, uint32_t from, uint32_t to,
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

static void fabric_climb_pods(const struct ty_fabric *f, uint32_t from, uint32_t to, double Bps)
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
            fabric_climb(l->f, c % s->rails, a, b, (uint64_t)l->w->node[from] * s->nics + c,
                         (uint64_t)l->w->node[to] * s->nics + c, part);
        }
    }
    fabric_climb_pods(l->f, a, b, Bps);
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
    const double Bps = fabric_pair_Bps(l);
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
                fabric_climb(l->f, c % s->rails, block, block, leaf, SUM_KEY, part);
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

/* From the pod of one block to that of another, where they differ. */
static void fabric_take_uplinks(struct ty_fabric_layout *l)
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
        fabric_each_hop(l, climb_hop);
    }
}

#define ROUNDING 1e-9 /* relative: no other NIC is touched for less, no link is exceeded by it */

void ty_fabric_take(struct ty_fabric_scratch *w, uint32_t link, double Bps)
{
    if (Bps > 0) {
        if (w->load[link] == 0) {
            w->touched[w->n_touched++] = link;
        }
        w->load[link] += Bps;
    }
}

/* ---- members by node ---- */

static void count_members(struct ty_fabric_layout *l)
{
    struct ty_fabric_scratch *w = l->w;
    l->k = 0;
    for (uint32_t i = 0; i < l->listed; i++) {
        const uint32_t node = l->gpus[i] / l->s->gpus;
        if (w->slot[node] == 0) {
            const uint32_t at = l->k++;
            w->slot[node] = at + 1;
            w->node[at] = node;
            w->members[at] = 0;
            w->rate[OUT][at] = w->rate[IN][at] = 0;
        }
        w->members[w->slot[node] - 1]++;
    }
}

static void forget_members(struct ty_fabric_layout *l)
{
    for (uint32_t i = 0; i < l->k; i++) {
        l->w->slot[l->w->node[i]] = 0;
    }
}

static void add_hop(struct ty_fabric_layout *l, uint32_t from, uint32_t to, double Bps)
{
    l->w->rate[OUT][from] += Bps;
    l->w->rate[IN][to] += Bps;
}

/* What leaves and enters each node. Of two mirrored trees every node but the two roots has as many
 * hops as all others: what the roots lack is spread over the nodes, so that members stay alike. */
static void node_rates(struct ty_fabric_layout *l)
{
    struct ty_fabric_scratch *w = l->w;
    if (l->times == 1 && (l->pattern == TY_PATTERN_RING || l->pattern == TY_PATTERN_CHAIN)) {
        fabric_each_hop(l, add_hop);
        return;
    }
    const bool pairs = ty_fabric_is_pairs(l);
    const double Bps = pairs ? fabric_pair_Bps(l) : 0;
    for (uint32_t i = 0; i < l->k; i++) {
        const double m = w->members[i];
        w->rate[OUT][i] = w->rate[IN][i] =
            pairs ? Bps * m * (l->n - m) : l->net_Bps / (l->k * l->times);
    }
}

/* ---- NICs ---- */

/* Counts into row[nics] how much of each NIC is this GPU's, in 1 / gpus of a NIC: its interval
 * [i nics, (i+1) nics) against [c gpus, (c+1) gpus). */
static void own_nics(const struct ty_fabric_shape *s, uint32_t place, double *row)
{
    const uint32_t low = place * s->nics, high = low + s->nics;
    for (uint32_t c = low / s->gpus; c * s->gpus < high; c++) {
        const uint32_t from = c * s->gpus, to = from + s->gpus;
        row[c] += (high < to ? high : to) - (low > from ? low : from);
    }
}

/* Turns counts into shares of a node's rate; so much is spread evenly as a NIC could not carry. */
static void spread(const struct ty_fabric_shape *s, double Bps, double *row)
{
    const double even = 1.0 / s->nics;
    double sum = 0, most = 0;
    for (uint32_t c = 0; c < s->nics; c++) {
        sum += row[c];
        most = fmax(most, row[c]);
    }
    most /= sum;
    const double allowed = fmax(s->nic_Bps / Bps, even);
    const double spilt = most > allowed * (1 + ROUNDING) ? (most - allowed) / (most - even) : 0;
    for (uint32_t c = 0; c < s->nics; c++) {
        row[c] = (1 - spilt) * row[c] / sum + spilt * even;
    }
}

/* The most that the model grants a group on a node; only a measured time can say more. */
static double granted_Bps(const struct ty_fabric_layout *l)
{
    const struct ty_fabric_shape *s = l->s;
    uint32_t busiest = 1;
    for (uint32_t i = 0; i < l->k; i++) {
        busiest = l->w->members[i] > busiest ? l->w->members[i] : busiest;
    }
    return s->nic_Bps * busiest * fmax(1, (double)s->nics / s->gpus);
}

static void nic_shares(struct ty_fabric_layout *l)
{
    const struct ty_fabric_shape *s = l->s;
    struct ty_fabric_scratch *w = l->w;
    for (uint32_t i = 0; i < l->k * s->nics; i++) {
        w->share[i] = 0;
    }
    for (uint32_t i = 0; i < l->listed; i++) {
        const uint32_t at = w->slot[l->gpus[i] / s->gpus] - 1;
        own_nics(s, l->gpus[i] % s->gpus, &w->share[(size_t)at * s->nics]);
    }
    const double granted = granted_Bps(l);
    for (uint32_t i = 0; i < l->k; i++) {
        const double Bps = fmax(w->rate[OUT][i], w->rate[IN][i]);
        if (Bps > 0) {
            spread(s, fmin(Bps, granted), &w->share[(size_t)i * s->nics]);
        }
    }
}

/* Takes no more of a NIC than it has when it is whole. */
static void fit_nics(struct ty_fabric_layout *l)
{
    struct ty_fabric_scratch *w = l->w;
    double most = 0;
    for (uint32_t i = 0; i < l->k; i++) {
        for (uint32_t c = 0; c < l->s->nics; c++) {
            most = fmax(most, fmax(w->rate[OUT][i], w->rate[IN][i]) * ty_fabric_share(l, i, c));
        }
    }
    const double part = most > l->s->nic_Bps ? l->s->nic_Bps / most : 1;
    l->net_Bps *= part;
    for (uint32_t i = 0; i < l->k; i++) {
        w->rate[OUT][i] *= part;
        w->rate[IN][i] *= part;
    }
}

static void avoid_dead(struct ty_fabric_layout *l)
{
    const struct ty_cluster *cluster = l->f->cluster;
    const uint32_t nics = l->s->nics;
    for (uint32_t i = 0; i < l->k; i++) {
        const uint32_t node = l->w->node[i], working = ty_exceptions_nics(cluster, node);
        double *row = &l->w->share[(size_t)i * nics], dead = 0;
        for (uint32_t c = 0; c < nics && working < nics; c++) {
            if (ty_exceptions_nic_share(cluster, node, c) <= 0) {
                dead += row[c];
                row[c] = 0;
            }
        }
        for (uint32_t c = 0; c < nics && dead > 0; c++) {
            row[c] += ty_exceptions_nic_share(cluster, node, c) > 0 ? dead / working : 0;
        }
    }
}

static void take_nics(struct ty_fabric_layout *l)
{
    const struct ty_fabric_shape *s = l->s;
    for (int way = OUT; way <= IN; way++) {
        for (uint32_t i = 0; i < l->k; i++) {
            for (uint32_t c = 0; c < s->nics; c++) {
                ty_fabric_take(l->w, ty_fabric_nic(l->f, l->w->node[i], c, way),
                               l->w->rate[way][i] * ty_fabric_share(l, i, c));
            }
        }
        for (uint32_t i = 0; i < l->listed && s->pcie_groups > 0; i++) {
            const uint32_t at = l->w->slot[l->gpus[i] / s->gpus] - 1;
            ty_fabric_take(l->w, ty_fabric_pcie(l->f, l->gpus[i], way),
                           l->w->rate[way][at] / l->w->members[at]);
        }
    }
}

/* ---- lists ---- */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Most of one class among what was taken. */
static double most(const struct ty_fabric *f, enum ty_link_class class)
{
    double Bps = 0;
    for (uint32_t i = 0; i < f->scratch->n_touched; i++) {
        const uint32_t link = f->scratch->touched[i];
        Bps = f->links[link].class == class ? fmax(Bps, f->scratch->load[link]) : Bps;
    }
    return Bps;
}

static int reserve(struct ty_use_list *out, uint32_t n, struct ty_arena *arena, struct ty_err *err)
{
    out->n = 0;
    if (n > out->cap) {
        const uint32_t cap = n > 2 * out->cap ? n : 2 * out->cap;
        struct ty_use *row = ty_arena_array(arena, struct ty_use, cap);
        if (row == NULL) {
            return ty_fail_memory(err);
        }
        *out = (struct ty_use_list){.row = row, .cap = cap};
    }
    return 0;
}

/* A port is never asked for more than it has when it is whole, and what exceeds a link by rounding
 * alone does not. */
int ty_fabric_hand_over(const struct ty_fabric *f, struct ty_use_list *out, double *weight,
                        struct ty_arena *arena, struct ty_err *err)
{
    struct ty_fabric_scratch *w = f->scratch;
    const double nvlink = most(f, TY_LINK_NVLINK), nic = most(f, TY_LINK_NIC);
    const double in_node = nvlink > f->shape.nvlink_Bps ? f->shape.nvlink_Bps / nvlink : 1;
    const double port = nic > 0 ? nic : nvlink * in_node;
    *weight = port > 0 ? 1 / port : 1;
    const int rc = reserve(out, w->n_touched, arena, err);
    qsort(w->touched, w->n_touched, sizeof(*w->touched), by_number);
    for (uint32_t i = 0; i < w->n_touched; i++) {
        const uint32_t link = w->touched[i];
        const double capacity = f->links[link].capacity;
        double Bps = w->load[link] * (f->links[link].class == TY_LINK_NVLINK ? in_node : 1);
        Bps = Bps > capacity && Bps <= capacity * (1 + ROUNDING) ? capacity : Bps;
        if (rc == 0) {
            out->row[out->n++] = (struct ty_use){.link = link, .Bps = Bps};
        }
        w->load[link] = 0;
    }
    w->n_touched = 0;
    return rc;
}

/* The first NIC of a place in a node; own_nics. */
static uint32_t nic_of_gpu(const struct ty_fabric_shape *s, uint32_t place)
{
    return (uint32_t)((uint64_t)place * s->nics / s->gpus);
}

static uint32_t rail_of(const struct ty_fabric_shape *s, uint32_t gpu)
{
    return nic_of_gpu(s, gpu % s->gpus) % s->rails;
}

/* ---- collectives ---- */

/* Of all pairs, those with a member on another rail reach that over NVLink first. */
static void take_relays(struct ty_fabric_layout *l)
{
    const struct ty_fabric_shape *s = l->s;
    uint32_t *on_rail = l->w->on_rail;
    if (s->rails == 1 || l->pattern != TY_PATTERN_ALL_PAIRS || s->nvlink_Bps <= 0) {
        return;
    }
    for (uint32_t i = 0; i < l->listed; i++) {
        on_rail[rail_of(s, l->gpus[i])]++;
    }
    for (uint32_t i = 0; i < l->listed; i++) {
        const double others = 1 - (double)on_rail[rail_of(s, l->gpus[i])] / l->listed;
        for (int way = OUT; way <= IN; way++) {
            ty_fabric_take(l->w, ty_fabric_nvlink(l->f, l->gpus[i], way),
                           l->net_Bps / l->n * others);
        }
    }
    for (uint32_t i = 0; i < l->listed; i++) {
        on_rail[rail_of(s, l->gpus[i])] = 0;
    }
}

static void take_nvlink(struct ty_fabric_layout *l, double Bps)
{
    for (uint32_t i = 0; i < l->listed && l->s->nvlink_Bps > 0; i++) {
        for (int way = OUT; way <= IN; way++) {
            ty_fabric_take(l->w, ty_fabric_nvlink(l->f, l->gpus[i], way), Bps);
        }
    }
}

int ty_fabric_collective(const struct ty_fabric *fabric, const struct ty_coll_cost *cost,
                         const uint32_t *gpus, uint32_t listed, uint32_t times,
                         struct ty_use_list *out, double *weight, struct ty_arena *arena,
                         struct ty_err *err)
{
    const bool moves = cost->transfer_s > 0;
    const uint32_t n = listed * times;
    struct ty_fabric_layout l = {
        .f = fabric,
        .s = &fabric->shape,
        .w = fabric->scratch,
        .pattern = cost->pattern,
        .gpus = gpus,
        .listed = listed,
        .times = times,
        .n = n,
        .net_Bps = moves ? cost->net_B / cost->transfer_s * n / (1 - cost->net_idle) : 0,
    };
    if (l.net_Bps > 0) {
        count_members(&l);
        if (l.k * times > 1) {
            node_rates(&l);
            nic_shares(&l);
            fit_nics(&l);
            avoid_dead(&l);
            take_nics(&l);
            take_relays(&l);
            fabric_take_uplinks(&l);
        }
        forget_members(&l);
    }
    take_nvlink(&l, moves ? cost->nvlink_B / cost->transfer_s / (1 - cost->port_idle) : 0);
    return ty_fabric_hand_over(fabric, out, weight, arena, err);
}

/* ---- messages ---- */

static bool works(const struct ty_fabric *f, uint32_t node, uint32_t nic)
{
    return ty_exceptions_nic_share(f->cluster, node, nic) > 0;
}

/* That NIC of a node, or if it is dead one that works: dead ones take turns among these. */
static uint32_t working_nic(const struct ty_fabric *f, uint32_t node, uint32_t nic)
{
    uint32_t dead = 0, turn;
    if (works(f, node, nic)) {
        return nic;
    }
    for (uint32_t c = 0; c < nic; c++) {
        dead += !works(f, node, c);
    }
    turn = dead % ty_exceptions_nics(f->cluster, node);
    for (nic = 0; !works(f, node, nic) || turn > 0; nic++) {
        turn -= works(f, node, nic);
    }
    return nic;
}

/* A NIC of a node on the rail of another, the nearest to `own`; UINT32_MAX: none works. */
static uint32_t nic_on_rail(const struct ty_fabric *f, uint32_t node, uint32_t own, uint32_t other)
{
    const struct ty_fabric_shape *s = &f->shape;
    const uint32_t nearest = own - own % s->rails + other % s->rails;
    for (uint32_t i = 0; i < s->nics; i += s->rails) {
        const uint32_t nic = (nearest + i) % s->nics;
        if (works(f, node, nic)) {
            return nic;
        }
    }
    return UINT32_MAX;
}

/* The NICs of a message between nodes a and b: one of each on the same rail, where rails have one
 * that works at both ends. */
static void nics_of_message(const struct ty_fabric *f, uint32_t from, uint32_t to, uint32_t *out,
                            uint32_t *in)
{
    const struct ty_fabric_shape *s = &f->shape;
    const uint32_t a = from / s->gpus, b = to / s->gpus;
    const uint32_t own = nic_of_gpu(s, from % s->gpus), first = nic_of_gpu(s, to % s->gpus);
    *out = working_nic(f, a, own);
    *in = working_nic(f, b, first);
    for (uint32_t i = 0; i < s->nics && s->rails > 1; i++) {
        const uint32_t far = i == 0 ? *in : (first + i) % s->nics;
        const uint32_t near = nic_on_rail(f, a, own, far);
        if (works(f, b, far) && near != UINT32_MAX) {
            *out = near;
            *in = far;
            return;
        }
    }
}

/* The first GPU of a node whose NIC that is; own_nics. */
static uint32_t gpu_of_nic(const struct ty_fabric_shape *s, uint32_t nic)
{
    return (uint32_t)((uint64_t)nic * s->gpus / s->nics);
}

static void pass_on(const struct ty_fabric *f, uint32_t from, uint32_t to, double Bps)
{
    if (from != to && f->shape.nvlink_Bps > 0) {
        ty_fabric_take(f->scratch, ty_fabric_nvlink(f, from, OUT), Bps);
        ty_fabric_take(f->scratch, ty_fabric_nvlink(f, to, IN), Bps);
    }
}

static void between_nodes(const struct ty_fabric *f, uint32_t from, uint32_t to, double Bps)
{
    const struct ty_fabric_shape *s = &f->shape;
    const uint32_t a = from / s->gpus, b = to / s->gpus;
    const uint32_t block = a / s->leaf_nodes, other = b / s->leaf_nodes;
    uint32_t nic, in;
    assert(s->rails > 0);
    nics_of_message(f, from, to, &nic, &in);
    const bool own = s->rails == 1 || nic == nic_of_gpu(s, from % s->gpus);
    const uint32_t relay = own ? from : a * s->gpus + gpu_of_nic(s, nic);
    pass_on(f, from, relay, Bps);
    if (s->pcie_groups > 0) {
        ty_fabric_take(f->scratch, ty_fabric_pcie(f, relay, OUT), Bps);
        ty_fabric_take(f->scratch, ty_fabric_pcie(f, to, IN), Bps);
    }
    ty_fabric_take(f->scratch, ty_fabric_nic(f, a, nic, OUT), Bps);
    ty_fabric_take(f->scratch, ty_fabric_nic(f, b, in, IN), Bps);
    if (block != other) {
        fabric_climb(f, in % s->rails, block, other, (uint64_t)a * s->nics + nic,
                     (uint64_t)b * s->nics + in, Bps);
        fabric_climb_pods(f, block, other, Bps);
    }
}

int ty_fabric_message(const struct ty_fabric *fabric, const struct ty_coll_cost *cost,
                      uint32_t from, const uint32_t *to, uint32_t n, struct ty_use_list *out,
                      double *weight, struct ty_arena *arena, struct ty_err *err)
{
    const double bytes = (cost->nvlink_B + cost->net_B) / n;
    const double Bps = cost->transfer_s > 0 ? bytes / cost->transfer_s : 0;
    for (uint32_t i = 0; i < n && Bps > 0; i++) {
        const bool same = from / fabric->shape.gpus == to[i] / fabric->shape.gpus;
        if (same && from != to[i]) {
            pass_on(fabric, from, to[i], Bps);
        } else if (!same) {
            between_nodes(fabric, from, to[i], fmin(Bps, fabric->shape.nic_Bps));
        }
    }
    return ty_fabric_hand_over(fabric, out, weight, arena, err);
}
