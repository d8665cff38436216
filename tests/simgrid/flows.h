/* flows.h - flows with start times over links, run by trainyard's solver and by SimGrid: the same
 * problem for both, in terms of neither. */
#ifndef TY_TESTS_SIMGRID_FLOWS_H
#define TY_TESTS_SIMGRID_FLOWS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ROUTE_MAX = 4,
    LINKS_MAX = 12,
    FLOWS_MAX = 24
};

/* CM02 (Casanova & Marchal 2002, as SimGrid has it): the latencies of the route pass first, then
 * the flow takes its share of every link; among flows that meet, shares are as 1 / latency of the
 * route, equal where latencies are 0. A flow is bounded by `rate_Bps`, 0: by its links alone. */
struct sg_flow {
    uint32_t links[ROUTE_MAX], n_links; /* none twice */
    double start_s, rate_Bps;
    uint64_t bytes;
};

/* Nothing is shared between islands. */
struct sg_island {
    double capacity_Bps[LINKS_MAX], latency_s[LINKS_MAX];
    uint32_t n_links, n_flows;
    struct sg_flow flows[FLOWS_MAX];
    double finish_s[FLOWS_MAX]; /* the result */
};

/* All islands at once. */
void run_fluid(struct sg_island *islands, uint32_t n);

/* Once per process: SimGrid has one engine. */
void run_simgrid(struct sg_island *islands, uint32_t n);

#ifdef __cplusplus
}
#endif

#endif
