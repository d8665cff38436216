/* Weighted max-min fair speeds on random graphs: a slow textbook solver, the properties that define
 * the allocation, and that history leaves no trace. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tests/unit/maxmin_net.h"
#include "tests/unit/suite.h"

#define CLOSE 1e-9 /* relative, of sums over up to a hundred flows in different orders */

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

/* 10^-1.5 .. 10^1.5 */
static double draw_spread(void)
{
    return pow(10, (double)draw(3001) / 1000 - 1.5);
}

/* Every other kind of graph has few values, so that links and flows stop together. */
static void draw_net(struct net *net, uint32_t max_links, uint32_t max_flows, struct wish *wishes,
                     uint32_t *n)
{
    const bool even = draw(2) == 0;
    net->n_links = 1 + draw(draw(2) ? max_links : 6);
    *n = 1 + draw(draw(2) ? max_flows : 8);
    for (uint32_t l = 0; l < net->n_links; l++) {
        net->links[l] = (struct ty_link){.capacity = even ? 25e9 * (1 + draw(4)) : draw_spread()};
    }
    for (uint32_t f = 0; f < *n; f++) {
        struct wish *w = &wishes[f];
        w->n = 1 + draw(draw(2) ? MAX_USES : 2);
        w->weight = even ? 1 / (25e9 * (1 + draw(2))) : draw_spread();
        for (uint32_t i = 0; i < w->n; i++) {
            const uint32_t l = draw(net->n_links);
            const double share = even ? 0.25 * (1 + draw(4)) : 0.1 * draw_spread();
            w->uses[i] = (struct ty_use){l, share * net->links[l].capacity};
        }
    }
}

/* Progressive filling as the textbook has it: in each round every link and every flow says at which
 * level it would stop the rise, and the lowest has its way. */
struct textbook {
    double speed[MAX_FLOWS];
    bool stopped[MAX_FLOWS];
};

static double level_of_link(const struct net *net, const struct wish *wishes, uint32_t n,
                            const struct textbook *t, uint32_t link)
{
    double left = net->links[link].capacity, per_level = 0;
    for (uint32_t f = 0; f < n; f++) {
        for (uint32_t i = 0; i < wishes[f].n; i++) {
            const struct ty_use *u = &wishes[f].uses[i];
            if (u->link == link && t->stopped[f]) {
                left -= t->speed[f] * u->Bps;
            } else if (u->link == link) {
                per_level += wishes[f].weight * u->Bps;
            }
        }
    }
    return per_level > 0 ? fmax(left, 0) / per_level : HUGE_VAL;
}

static void solve_by_textbook(const struct net *net, const struct wish *wishes, uint32_t n,
                              struct textbook *t)
{
    memset(t, 0, sizeof(*t));
    for (uint32_t n_stopped = 0; n_stopped < n;) {
        double levels[MAX_LINKS] = {0}, lowest = HUGE_VAL;
        for (uint32_t l = 0; l < net->n_links; l++) {
            levels[l] = level_of_link(net, wishes, n, t, l);
            lowest = fmin(lowest, levels[l]);
        }
        for (uint32_t f = 0; f < n; f++) {
            lowest = t->stopped[f] ? lowest : fmin(lowest, 1 / wishes[f].weight);
        }
        for (uint32_t f = 0; f < n; f++) {
            double mine = 1 / wishes[f].weight;
            for (uint32_t i = 0; i < wishes[f].n; i++) {
                mine = fmin(mine, levels[wishes[f].uses[i].link]);
            }
            if (!t->stopped[f] && mine <= lowest * (1 + 1e-13)) {
                t->stopped[f] = true;
                t->speed[f] = wishes[f].weight * mine;
                n_stopped++;
            }
        }
    }
}

static double carried(const struct net *net, const struct wish *wishes, uint32_t n, uint32_t link)
{
    double sum = 0;
    for (uint32_t f = 0; f < n; f++) {
        for (uint32_t i = 0; i < wishes[f].n; i++) {
            sum += wishes[f].uses[i].link == link ? speed(net, f) * wishes[f].uses[i].Bps : 0;
        }
    }
    return sum / net->links[link].capacity;
}

static bool uses_link(const struct wish *w, uint32_t link)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (w->uses[i].link == link) {
            return true;
        }
    }
    return false;
}

/* Whether a link is full, and none of its flows is better off than `mine`. */
static bool is_bottleneck(const struct net *net, const struct wish *wishes, uint32_t n,
                          uint32_t link, double mine)
{
    bool holds = carried(net, wishes, n, link) >= 1 - CLOSE;
    for (uint32_t g = 0; g < n && holds; g++) {
        holds =
            !uses_link(&wishes[g], link) || speed(net, g) / wishes[g].weight <= mine * (1 + CLOSE);
    }
    return holds;
}

/* The definition: a flow below full speed has a full link on which no flow is better off. */
static void check_properties(const struct net *net, const struct wish *wishes, uint32_t n)
{
    for (uint32_t l = 0; l < net->n_links; l++) {
        ck_assert(carried(net, wishes, n, l) <= 1 + CLOSE);
    }
    for (uint32_t f = 0; f < n; f++) {
        bool holds = speed(net, f) == 1;
        ck_assert(speed(net, f) > 0 && speed(net, f) <= 1);
        for (uint32_t i = 0; i < wishes[f].n && !holds; i++) {
            holds = is_bottleneck(net, wishes, n, wishes[f].uses[i].link,
                                  speed(net, f) / wishes[f].weight);
        }
        ck_assert_msg(holds, "flow %u could be faster, and no other slower", (unsigned)f);
    }
}

/* Counts flows below full speed. */
static uint32_t check_by_textbook(struct net *net, const struct wish *wishes, uint32_t n)
{
    static struct textbook t;
    uint32_t n_slowed = 0;
    open_solver(net, MAX_FLOWS);
    for (uint32_t f = 0; f < n; f++) {
        ck_assert_uint_eq(add(net, &wishes[f]), f);
    }
    solve(net);
    solve_by_textbook(net, wishes, n, &t);
    for (uint32_t f = 0; f < n; f++) {
        const double x = speed(net, f);
        if (fabs(x - t.speed[f]) > CLOSE * t.speed[f]) {
            ck_abort_msg("flow %u: %.17g, textbook %.17g", (unsigned)f, x, t.speed[f]);
        }
        n_slowed += x < 1;
    }
    check_properties(net, wishes, n);
    close_net(net);
    return n_slowed;
}

TEST(random_graphs_are_solved_as_by_the_textbook)
{
    static struct net net;
    static struct wish wishes[MAX_FLOWS];
    uint64_t n_flows = 0, n_slowed = 0;
    for (uint32_t seed = 0; seed < suite_part(3000, 4); seed++) {
        uint32_t n;
        state = seed;
        draw_net(&net, FEW_LINKS, FEW_FLOWS, wishes, &n);
        n_slowed += check_by_textbook(&net, wishes, n);
        n_flows += n;
    }
    ck_assert_uint_gt(n_slowed, 1250); /* the graphs have both */
    ck_assert_uint_gt(n_flows - n_slowed, 1250);
}

/* Hundreds of links, each full at a level of its own. */
TEST(large_random_graphs_are_solved_as_by_the_textbook)
{
    static struct net net;
    static struct wish wishes[MAX_FLOWS];
    for (uint32_t seed = 0; seed < 60; seed++) {
        uint32_t n;
        state = 4000000 + seed;
        draw_net(&net, MAX_LINKS, MAX_FLOWS, wishes, &n);
        check_by_textbook(&net, wishes, n);
    }
}

/* ---- history leaves no trace ---- */

static bool same_bits(double a, double b)
{
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are what is meant */
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* The flows of `wishes` that are there, in another order, in a solver that has seen nothing
 * else. */
static void check_from_scratch(const struct net *net, const struct wish *wishes, uint32_t n,
                               const uint32_t *flow_of)
{
    static struct net other;
    uint32_t order[MAX_FLOWS], flows[MAX_FLOWS] = {0};
    memcpy(other.links, net->links, sizeof(other.links));
    other.n_links = net->n_links;
    open_solver(&other, MAX_FLOWS);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = draw(i + 1);
        order[i] = k < i ? order[k] : i;
        order[k] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (flow_of[order[i]] != NO_LINK) {
            flows[order[i]] = add(&other, &wishes[order[i]]);
        }
    }
    solve(&other);
    for (uint32_t i = 0; i < n; i++) {
        if (flow_of[i] != NO_LINK) {
            ck_assert_msg(same_bits(speed(net, flow_of[i]), speed(&other, flows[i])),
                          "%.17g after changes, %.17g from scratch", speed(net, flow_of[i]),
                          speed(&other, flows[i]));
        }
    }
    close_net(&other);
}

TEST(solving_again_is_solving_from_scratch_to_the_bit)
{
    static struct net net;
    static struct wish wishes[MAX_FLOWS];
    for (uint32_t seed = 0; seed < suite_part(2000, 4); seed++) {
        const bool large = seed % 40 == 0;
        uint32_t n, flow_of[MAX_FLOWS];
        state = 1000000 + seed;
        draw_net(&net, large ? MAX_LINKS : FEW_LINKS, large ? MAX_FLOWS : FEW_FLOWS, wishes, &n);
        open_solver(&net, MAX_FLOWS);
        memset(flow_of, 0xFF, sizeof(flow_of));
        for (uint32_t change = 0; change < 4 * n; change++) {
            const uint32_t i = draw(n);
            if (flow_of[i] == NO_LINK) {
                flow_of[i] = add(&net, &wishes[i]);
            } else {
                ty_maxmin_remove(net.m, flow_of[i]);
                flow_of[i] = NO_LINK;
            }
            if (draw(2) == 0) {
                solve(&net);
            }
        }
        solve(&net);
        check_from_scratch(&net, wishes, n, flow_of);
        for (uint32_t i = 0; i < n; i++) { /* what was told adds up to what is */
            if (flow_of[i] != NO_LINK) {
                const double x = speed(&net, flow_of[i]);
                ck_assert(fabs(net.told[flow_of[i]] - x) <= 1e-12 * x);
            }
        }
        close_net(&net);
    }
}

TEST(a_flow_that_comes_and_goes_leaves_the_bits_as_they_were)
{
    static struct net net;
    static struct wish wishes[MAX_FLOWS];
    for (uint32_t seed = 0; seed < suite_part(1000, 4); seed++) {
        uint32_t n;
        double before[MAX_FLOWS];
        state = 2000000 + seed;
        draw_net(&net, FEW_LINKS, FEW_FLOWS, wishes, &n);
        open_solver(&net, MAX_FLOWS);
        for (uint32_t f = 1; f < n; f++) {
            add(&net, &wishes[f]);
        }
        solve(&net);
        for (uint32_t f = 0; f + 1 < n; f++) {
            before[f] = speed(&net, f);
        }
        const uint32_t guest = add(&net, &wishes[0]);
        solve(&net);
        ty_maxmin_remove(net.m, guest);
        solve(&net);
        for (uint32_t f = 0; f + 1 < n; f++) {
            ck_assert(same_bits(before[f], speed(&net, f)));
        }
        close_net(&net);
    }
}

TEST(flows_elsewhere_do_not_show_in_the_bits)
{
    static struct net net;
    static struct wish wishes[MAX_FLOWS];
    for (uint32_t seed = 0; seed < suite_part(1000, 4); seed++) {
        uint32_t n, flows[MAX_FLOWS];
        double alone[MAX_FLOWS];
        state = 3000000 + seed;
        draw_net(&net, FEW_LINKS, FEW_FLOWS, wishes, &n);
        n = n > FEW_FLOWS / 2 ? FEW_FLOWS / 2 : n;
        net.n_links = net.n_links > FEW_LINKS / 2 ? FEW_LINKS / 2 : net.n_links;
        for (uint32_t f = 0; f < n; f++) {
            for (uint32_t i = 0; i < wishes[f].n; i++) {
                wishes[f].uses[i].link %= net.n_links;
            }
        }
        open_solver(&net, MAX_FLOWS);
        for (uint32_t f = 0; f < n; f++) {
            flows[f] = add(&net, &wishes[f]);
        }
        solve(&net);
        for (uint32_t f = 0; f < n; f++) {
            alone[f] = speed(&net, flows[f]);
        }
        close_net(&net);
        memcpy(net.links + net.n_links, net.links, net.n_links * sizeof(net.links[0]));
        const uint32_t shift = net.n_links;
        net.n_links *= 2;
        open_solver(&net, MAX_FLOWS);
        for (uint32_t f = 0; f < n; f++) { /* between them, somebody else on the other half */
            struct wish other = wishes[draw(n)];
            for (uint32_t i = 0; i < other.n; i++) {
                other.uses[i].link += shift;
            }
            const uint32_t guest = ty_maxmin_add(net.m, other.uses, other.n, other.weight);
            flows[f] = add(&net, &wishes[f]);
            if (draw(3) == 0) {
                ty_maxmin_remove(net.m, guest);
            }
        }
        solve(&net);
        for (uint32_t f = 0; f < n; f++) {
            ck_assert(same_bits(alone[f], speed(&net, flows[f])));
        }
        close_net(&net);
    }
}

TY_SUITE("maxmin_graphs")
