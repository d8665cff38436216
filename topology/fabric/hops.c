/* hops.c - the hops of a collective between the nodes of its group.
 *
 * Trees are two that mirror each other, each with half of the bytes, so that a node that is inner
 * in one is a leaf in the other and none sends more than the tensor up and down. Parents lie a
 * power of two away: the binary tree whose in-order walk is the order of the nodes.
 *
 * Source: Sanders, Speck & Traeff 2009 (two trees); NCCL builds the same. */
#include "topology/fabric/internal.h"

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

double ty_fabric_pair_Bps(const struct ty_fabric_layout *l)
{
    double pairs = 0;
    for (uint32_t i = 0; i < l->k; i++) {
        pairs += (double)l->w->members[i] * (l->n - l->w->members[i]);
    }
    return l->net_Bps / (pairs * l->times); /* of whole numbers: exact */
}

static void pair_hops(struct ty_fabric_layout *l, ty_fabric_hop_fn *hop)
{
    const double Bps = ty_fabric_pair_Bps(l);
    for (uint32_t a = 0; a < l->k; a++) {
        for (uint32_t b = 0; b < l->k; b++) {
            if (a != b) {
                hop(l, a, b, Bps * l->w->members[a] * l->w->members[b]);
            }
        }
    }
}

void ty_fabric_each_hop(struct ty_fabric_layout *l, ty_fabric_hop_fn *hop)
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
