/* exchange.c - counts the copies of tokens that experts need on other ranks, and times them.
 *
 * By node, with n ranks on k nodes, g of them on each, b bytes of tokens a rank:
 *
 *     over the NIC    b x distinct nodes x (k-1)/k      the own node is one of them
 *     over NVLink     b x distinct ranks x (g-1)/g      the GPU that has the copy is one of them
 *     time            latency + the longer of both
 *
 * Chunks go on over NVLink as they arrive, so the shorter hides. Before the rows go their counts,
 * which buffers wait for: a launch and a crossing of the network twice. 44 us within a node of H100
 * (41 by nccl-tests), 72 across nodes.
 *
 * Rates over NVLink are those of an all-to-all, whatever the library: 0.9 of a ring's bus bandwidth
 * (DeepEP's 134 to 138 GB/s on H800, its own rank taken out of them, HybridEP's 282 to 299 on H100
 * and 477 to 630 on GB200). Over NICs exchange_efficiency says what chunks on their way through the
 * receiver's buffers lose. */
#include "topology/collectives/exchange.h"

#include <math.h>

#include "topology/collectives/protocol.h"

/* ---- copies ---- */

/* Probability that k of m things, drawn without putting back, miss all of `taken`. */
static double missed(double m, double taken, uint32_t k)
{
    double p = 1;
    for (uint32_t i = 0; i < k && p > 0; i++) {
        p *= fmax(m - taken - i, 0) / (m - i);
    }
    return p;
}

static double choose(double n, double k)
{
    double ways = k < 0 || k > n ? 0 : 1;
    for (double i = 1; i <= k && ways > 0; i++) {
        ways *= (n - k + i) / i;
    }
    return ways;
}

/* Probability that a token has none of experts [first, end), of limited routing: over which of the
 * groups that they touch are chosen. Those in the middle are whole and alike. */
static double missed_limited(const struct ty_exchange *x, uint32_t first, uint32_t end)
{
    const uint32_t size = x->experts / x->groups, limit = x->group_limit;
    const uint32_t a = first / size, b = (end - 1) / size;
    const uint32_t ends = a == b ? 1 : 2, middle = b - a + 1 - ends;
    const double part[2] = {a == b ? end - first : (a + 1) * size - first, end - b * size};
    double p = 0;
    for (uint32_t chosen = 0; chosen < 1u << ends; chosen++) {
        const double n_ends = (chosen & 1) + (chosen >> 1);
        const double of_ends = (chosen & 1) * part[0] + (chosen >> 1) * part[1];
        for (uint32_t m = 0; m <= middle; m++) {
            const double ways = choose(middle, m) * choose((double)x->groups - ends - middle,
                                                           (double)limit - n_ends - m);
            p += ways * missed((double)limit * size, of_ends + (double)m * size, x->top_k);
        }
    }
    return p / choose(x->groups, limit);
}

/* What is known of the last stretch of experts: most are alike, by their length and by where in a
 * group they begin if they reach into the next. */
struct known {
    uint32_t n, at;
    double p; /* probability that a token has one of them */
};

/* Probability that a token has one of experts [first, end). */
static double hit(const struct ty_exchange *x, uint32_t first, uint32_t end, struct known *last)
{
    const bool limited = x->group_limit > 0 && x->group_limit < x->groups;
    const uint32_t n = end - first, size = limited ? x->experts / x->groups : x->experts;
    const uint32_t at = first % size + n > size ? first % size : 0;
    if (last->n != n || last->at != at) {
        const double none = limited && n > 0 ? missed_limited(x, first, end)
                                             : missed(x->experts, (double)n, x->top_k);
        *last = (struct known){n, at, 1 - none};
    }
    return last->p;
}

/* The first expert of a part. */
static uint32_t first_of(const struct ty_exchange *x, uint32_t part, uint32_t parts)
{
    return (uint32_t)((uint64_t)x->experts * part / parts);
}

double ty_exchange_copies(const struct ty_exchange *x, uint32_t parts)
{
    struct known last = {.n = 0};
    double sum = 0;
    for (uint32_t i = 0; i < parts; i++) {
        sum += hit(x, first_of(x, i, parts), first_of(x, i + 1, parts), &last);
    }
    return sum;
}

/* ---- all-to-all ---- */

double ty_exchange_bytes(const struct ty_exchange *x, uint32_t ranks)
{
    const bool all = x->method == TY_EXCHANGE_ALL_TO_ALL;
    return x->tokens * x->row_B * (all ? x->top_k : ty_exchange_copies(x, ranks));
}

static double load_of(const struct ty_exchange *x)
{
    return fmax(x->load, 1);
}

/* How many more copies come to one of `parts` parts to which `load` times as many tokens of the
 * same number of tokens go, where a part gets one copy of each: 1 - (1 - p)^load of them for p. */
static double more_copies(const struct ty_exchange *x, uint32_t parts, double load)
{
    const double p = ty_exchange_copies(x, parts) / parts;
    return load > 1 ? (1 - pow(1 - p, load)) / p : 1;
}

/* Priced as what the busiest rank sends; the others send less of it. */
static void all_to_all(const struct ty_cluster *cluster, const struct ty_exchange *x,
                       const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const double load = load_of(x);
    ty_coll_cost(cluster, NULL, TY_COLL_ALL_TO_ALL, ty_exchange_bytes(x, reach->ranks) * load,
                 reach, out);
    out->nvlink_B /= load;
    out->net_B /= load;
}

/* ---- by node ---- */

/* Members of a node, and how many there are on those before it. Nodes with the most come first;
 * exact where no node has a number between the most and the fewest. */
struct node {
    uint32_t members, before;
};

static struct node node_at(const struct ty_reach *reach, uint32_t i)
{
    const uint32_t most = reach->per_node, fewest = ty_reach_fewest(reach);
    const uint32_t n_most =
        most == fewest ? reach->nodes : (reach->ranks - reach->nodes * fewest) / (most - fewest);
    return i < n_most ? (struct node){most, i * most}
                      : (struct node){fewest, n_most * most + (i - n_most) * fewest};
}

/* Probability that a token has an expert on that node. */
static double node_hit(const struct ty_exchange *x, const struct ty_reach *reach, uint32_t i,
                       struct known *last)
{
    const struct node node = node_at(reach, i);
    return hit(x, first_of(x, node.before, reach->ranks),
               first_of(x, node.before + node.members, reach->ranks), last);
}

/* Of what other collectives reach. */
static double net_efficiency(const struct ty_cluster *cluster)
{
    return cluster->net.all_to_all_efficiency * cluster->collectives.exchange_efficiency;
}

/* Copies of a token that leave its node. */
static double remote_copies(const struct ty_exchange *x, const struct ty_reach *reach)
{
    struct known last = {.n = 0};
    double sum = 0;
    for (uint32_t i = 0; i < reach->nodes; i++) {
        sum +=
            node_hit(x, reach, i, &last) * (1 - (double)node_at(reach, i).members / reach->ranks);
    }
    return sum;
}

/* Seconds in which the slowest node sends and receives those of its members, for each byte of
 * tokens of a rank. */
static double net_s_per_B(const struct ty_cluster *cluster, const struct ty_exchange *x,
                          const struct ty_reach *reach)
{
    struct known last = {.n = 0};
    double nodes = 0, most = 0; /* distinct nodes of a token */
    for (uint32_t i = 0; i < reach->nodes; i++) {
        nodes += node_hit(x, reach, i, &last);
    }
    for (uint32_t i = 0; i < reach->nodes; i++) {
        const double h = node_hit(x, reach, i, &last), g = node_at(reach, i).members;
        const double rows = fmax(g * (nodes - h), (reach->ranks - g) * h);
        most = fmax(most, rows / ty_coll_node_net_rate(cluster, reach, (uint32_t)g));
    }
    return most / net_efficiency(cluster);
}

/* Launch, and a way over NVLink and the network: once for counts, once for rows. */
static double per_node_latency(const struct ty_cluster *cluster, const struct ty_reach *reach,
                               double message_B)
{
    const struct ty_coll_protocol p = ty_coll_protocol_ring(cluster);
    const double peers = reach->nodes - 1.0;
    double s = 2 * (cluster->nvlink.gather_latency + cluster->nvlink.step);
    if (reach->nodes > 1) {
        s += ty_coll_crossing_s(cluster, &p, peers, 0) +
             ty_coll_crossing_s(cluster, &p, peers, message_B);
    }
    return s;
}

static void per_node(const struct ty_cluster *cluster, const struct ty_exchange *x,
                     const struct ty_reach *reach, struct ty_coll_cost *out)
{
    const double rank_B = x->tokens * x->row_B;
    const double rows_B = ty_exchange_bytes(x, reach->ranks);
    const double n = reach->ranks, most = reach->per_node;
    double nvlink_s = 0, net_s = 0;
    *out =
        (struct ty_coll_cost){.algorithm = &ty_coll_per_node, .pattern = ty_coll_per_node.pattern};
    out->nvlink_B = rows_B * (n - reach->nodes) / n;
    if (most > 1) {
        nvlink_s = rows_B * (most - 1) / most /
                   ty_coll_all_to_all_rate(cluster, reach->per_node, reach->places);
    }
    if (reach->nodes > 1) {
        out->net_B = rank_B * remote_copies(x, reach);
        out->net_idle = 1 - net_efficiency(cluster);
        net_s = rank_B * net_s_per_B(cluster, x, reach);
    }
    out->latency_s = per_node_latency(cluster, reach, out->net_B / fmax(1, reach->nodes - 1.0));
    nvlink_s *= more_copies(x, reach->ranks, load_of(x));
    net_s *= more_copies(x, reach->nodes, x->node_load > 0 ? x->node_load : load_of(x));
    out->transfer_s = fmax(nvlink_s, net_s);
}

void ty_exchange_cost(const struct ty_cluster *cluster, const struct ty_exchange *x,
                      const struct ty_reach *reach, struct ty_coll_cost *out)
{
    *out = (struct ty_coll_cost){0};
    if (reach->ranks < 2) {
        return;
    }
    if (x->method == TY_EXCHANGE_ALL_TO_ALL) {
        all_to_all(cluster, x, reach, out);
    } else {
        per_node(cluster, x, reach, out);
    }
    if (x->overlapped) {
        out->transfer_s /= 1 - cluster->collectives.exchange_slowdown;
    }
}

static bool equal(double a, double b)
{
    return !(a < b || a > b);
}

bool ty_exchange_is(const struct ty_exchange *a, const struct ty_exchange *b)
{
    return a->method == b->method && equal(a->tokens, b->tokens) && equal(a->row_B, b->row_B) &&
           a->experts == b->experts && a->top_k == b->top_k && a->groups == b->groups &&
           a->group_limit == b->group_limit && equal(a->load, b->load) &&
           equal(a->node_load, b->node_load) && a->sms == b->sms && a->overlapped == b->overlapped;
}

/* Chosen by exchanges, never for a collective. */
static bool applies(const struct ty_cluster *cluster, enum ty_coll coll,
                    const struct ty_reach *reach)
{
    (void)cluster;
    (void)coll;
    (void)reach;
    return false;
}

const struct ty_coll_algorithm ty_coll_per_node = {
    .name = "per-node",
    .summary = "a copy of a token for each node over the NIC, for each rank over NVLink: dispatch, "
               "combine",
    .source = "deepseek-ai/DeepEP; NVIDIA HybridEP, arXiv 2603.07685",
    .on_request = true,
    .pattern = TY_PATTERN_LIKES,
    .applies = applies,
};

#define MOST_SMS 0.9 /* some are always left: a rate is divided by their share */

double ty_exchange_slows(const struct ty_cluster *cluster, const struct ty_exchange *exchange,
                         bool between_nodes)
{
    if (exchange->sms > 0) {
        return fmin(MOST_SMS, (double)exchange->sms / cluster->gpu.sms);
    }
    return between_nodes ? cluster->net.overlap_slowdown : cluster->nvlink.overlap_slowdown;
}
