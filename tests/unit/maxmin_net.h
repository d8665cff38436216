/* maxmin_net.h - a max-min solver in a test: links, wishes of flows, and what the solver tells. */
#ifndef TY_TESTS_MAXMIN_NET_H
#define TY_TESTS_MAXMIN_NET_H

#include <stdint.h>
#include <string.h>

#include "sim/core/execute/maxmin.h"
#include "tests/unit/asserts.h"

#define NO_LINK UINT32_MAX

enum {
    MAX_LINKS = 300,
    MAX_FLOWS = 400,
    MAX_USES = 6,
    MANY = 3000,
    FEW_LINKS = 40, /* most random graphs are small */
    FEW_FLOWS = 64,
};

struct wish {
    struct ty_use uses[MAX_USES];
    uint32_t n;
    double weight;
};

struct net {
    struct ty_arena arena;
    struct ty_link links[MAX_LINKS];
    uint32_t n_links;
    struct ty_maxmin *m;
    double told[MANY]; /* as the callback says */
    uint32_t n_told;
    uint32_t last_told;
    double last_before, last_now;
};

static inline void hear(void *arg, uint32_t flow, double now)
{
    struct net *net = arg;
    ck_assert(now != net->told[flow]);
    net->last_before = net->told[flow];
    net->told[flow] = net->last_now = now;
    net->last_told = flow;
    net->n_told++;
}

static inline void open_solver(struct net *net, uint32_t max_flows)
{
    net->arena = (struct ty_arena){.head = NULL};
    net->m = ty_maxmin_new(net->links, net->n_links, max_flows, (uint64_t)max_flows * MAX_USES,
                           &net->arena);
    ck_assert_ptr_nonnull(net->m);
    memset(net->told, 0, sizeof(net->told));
}

static inline void open_net(struct net *net, uint32_t n_links, const double *capacities)
{
    net->n_links = n_links;
    for (uint32_t l = 0; l < n_links; l++) {
        net->links[l] = (struct ty_link){.capacity = capacities[l]};
    }
    open_solver(net, MAX_FLOWS);
}

static inline uint32_t add(struct net *net, const struct wish *w)
{
    const uint32_t flow = ty_maxmin_add(net->m, w->uses, w->n, w->weight);
    net->told[flow] = 0;
    return flow;
}

static inline void solve(struct net *net)
{
    net->n_told = 0;
    ty_maxmin_solve(net->m, hear, net);
}

static inline double speed(const struct net *net, uint32_t flow)
{
    return ty_maxmin_speed(net->m, flow);
}

static inline void close_net(struct net *net)
{
    ty_arena_release(&net->arena);
}

#endif
