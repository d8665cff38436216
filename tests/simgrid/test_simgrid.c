/* The same flows over the same links end at the same times under SimGrid's CM02 model and under the
 * max-min solver. Each test is a process of its own, as SimGrid has one engine per process. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tests/simgrid/flows.h"
#include "tests/unit/suite.h"

/* SimGrid is asked for 1e-9 of its rates and rounds ends of flows to 1e-12 s. */
#define CLOSE 1e-7

enum {
    N_ISLANDS = 60
};

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    assert(n > 0);
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % n);
}

static double draw_between(double low, double high)
{
    return low + (high - low) * draw(1000001) / 1e6;
}

static void draw_route(const struct sg_island *island, struct sg_flow *flow)
{
    uint32_t links[LINKS_MAX] = {0};
    for (uint32_t l = 0; l < island->n_links; l++) {
        const uint32_t k = draw(l + 1);
        links[l] = links[k];
        links[k] = l;
    }
    flow->n_links = 1 + draw(island->n_links < ROUTE_MAX ? island->n_links : ROUTE_MAX);
    memcpy(flow->links, links, flow->n_links * sizeof(links[0]));
}

/* Rates from a tenth of a link to twice a link, so that a flow alone is slowed by its own bound or
 * by its links. Some flows start together. */
static void draw_island(struct sg_island *island, double latency_s)
{
    island->n_links = 1 + draw(LINKS_MAX);
    island->n_flows = 1 + draw(FLOWS_MAX);
    for (uint32_t l = 0; l < island->n_links; l++) {
        island->capacity_Bps[l] = draw(2) ? 25e9 : draw_between(1e9, 300e9);
        island->latency_s[l] = latency_s * draw_between(0.5, 2);
    }
    for (uint32_t f = 0; f < island->n_flows; f++) {
        struct sg_flow *flow = &island->flows[f];
        draw_route(island, flow);
        flow->start_s = draw(4) == 0 ? 1 : draw_between(0, 3);
        flow->bytes = (uint64_t)draw_between(1e9, 20e9);
        flow->rate_Bps = draw(2) ? 0 : island->capacity_Bps[flow->links[0]] * draw_between(0.1, 2);
    }
}

/* Both results side by side. */
static void compare(struct sg_island *ours, uint32_t n)
{
    static struct sg_island theirs[N_ISLANDS];
    memcpy(theirs, ours, n * sizeof(*ours));
    run_simgrid(theirs, n);
    run_fluid(ours, n);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t f = 0; f < ours[i].n_flows; f++) {
            const double a = ours[i].finish_s[f], b = theirs[i].finish_s[f];
            ck_assert_msg(a > 0 && fabs(a - b) <= CLOSE * b,
                          "island %u flow %u: ends at %.12g s, in SimGrid at %.12g s", (unsigned)i,
                          (unsigned)f, a, b);
        }
    }
}

/* One after the other on a link of 10 GB/s: 1 s alone, 2 s at half speed, 1 s alone. */
TEST(two_overlapping_messages_end_as_computed_by_hand)
{
    static struct sg_island island = {
        .capacity_Bps = {10e9},
        .n_links = 1,
        .n_flows = 2,
        .flows = {{.links = {0}, .n_links = 1, .start_s = 1, .bytes = UINT64_C(20000000000)},
                  {.links = {0}, .n_links = 1, .start_s = 2, .bytes = UINT64_C(20000000000)}},
    };
    compare(&island, 1);
    ck_assert_double_eq_tol(island.finish_s[0], 4, 1e-9);
    ck_assert_double_eq_tol(island.finish_s[1], 5, 1e-9);
}

static struct sg_island islands[N_ISLANDS];

TEST(messages_of_equal_weight_end_at_the_same_times)
{
    state = 1;
    for (uint32_t i = 0; i < N_ISLANDS; i++) {
        draw_island(&islands[i], 0);
    }
    compare(islands, N_ISLANDS);
}

TEST(messages_weighted_by_latency_end_at_the_same_times)
{
    state = 2;
    for (uint32_t i = 0; i < N_ISLANDS; i++) {
        draw_island(&islands[i], 0.01);
    }
    compare(islands, N_ISLANDS);
}

TY_SUITE("simgrid")
