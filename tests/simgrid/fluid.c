/* fluid.c - islands of flows as a fluid over the max-min solver: between two events speeds do not
 * change, so the next event is the first start or the first end. */
#include <math.h>
#include <stdbool.h>

#include "sim/core/execute/maxmin.h"
#include "tests/simgrid/flows.h"
#include "tests/unit/asserts.h"

enum state {
    WAITS,
    MOVES,
    IS_DONE
};

struct stream {
    const struct sg_flow *flow;
    double *finish_s;
    struct ty_use uses[ROUTE_MAX];
    double Bps; /* at full speed */
    double begins_s, weight, left_B;
    uint32_t number;
    enum state state;
};

struct fluid {
    struct ty_arena arena;
    struct ty_link *links;
    struct stream *streams;
    uint32_t n_links, n_streams;
    struct ty_maxmin *m;
    double now_s;
};

static void add_stream(struct fluid *fluid, struct sg_island *island, uint32_t f,
                       uint32_t first_link)
{
    const struct sg_flow *flow = &island->flows[f];
    struct stream *s = &fluid->streams[fluid->n_streams++];
    double latency_s = 0, narrowest_Bps = HUGE_VAL;
    for (uint32_t i = 0; i < flow->n_links; i++) {
        latency_s += island->latency_s[flow->links[i]];
        narrowest_Bps = fmin(narrowest_Bps, island->capacity_Bps[flow->links[i]]);
    }
    s->Bps = flow->rate_Bps > 0 ? flow->rate_Bps : narrowest_Bps;
    for (uint32_t i = 0; i < flow->n_links; i++) {
        s->uses[i] = (struct ty_use){first_link + flow->links[i], s->Bps};
    }
    s->flow = flow;
    s->finish_s = &island->finish_s[f];
    s->begins_s = flow->start_s + latency_s;
    s->weight = (latency_s > 0 ? 1 / latency_s : 1) / s->Bps;
    s->left_B = (double)flow->bytes;
    s->state = WAITS;
}

static void add_islands(struct fluid *fluid, struct sg_island *islands, uint32_t n)
{
    fluid->links = ty_arena_array(&fluid->arena, struct ty_link, (size_t)n * LINKS_MAX);
    fluid->streams = ty_arena_array(&fluid->arena, struct stream, (size_t)n * FLOWS_MAX);
    ck_assert(fluid->links != NULL && fluid->streams != NULL);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t f = 0; f < islands[i].n_flows; f++) {
            add_stream(fluid, &islands[i], f, fluid->n_links);
        }
        for (uint32_t l = 0; l < islands[i].n_links; l++) {
            fluid->links[fluid->n_links++].capacity = islands[i].capacity_Bps[l];
        }
    }
    fluid->m = ty_maxmin_new(fluid->links, fluid->n_links, fluid->n_streams,
                             (uint64_t)fluid->n_streams * ROUTE_MAX, &fluid->arena);
    ck_assert_ptr_nonnull(fluid->m);
}

static double next_event_s(const struct fluid *fluid, const struct stream *s)
{
    return s->state == WAITS
               ? s->begins_s
               : fluid->now_s + s->left_B / (ty_maxmin_speed(fluid->m, s->number) * s->Bps);
}

static void ignore(void *arg, uint32_t flow, double now)
{
    (void)arg, (void)flow, (void)now;
}

/* To the next event; whether there was one. */
static bool step(struct fluid *fluid)
{
    struct stream *first = NULL;
    double first_s = HUGE_VAL;
    for (uint32_t i = 0; i < fluid->n_streams; i++) {
        struct stream *s = &fluid->streams[i];
        if (s->state != IS_DONE && next_event_s(fluid, s) < first_s) {
            first = s;
            first_s = next_event_s(fluid, s);
        }
    }
    if (first == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < fluid->n_streams; i++) {
        struct stream *s = &fluid->streams[i];
        if (s->state == MOVES) {
            s->left_B -= (first_s - fluid->now_s) * ty_maxmin_speed(fluid->m, s->number) * s->Bps;
        }
    }
    fluid->now_s = first_s;
    if (first->state == WAITS) {
        first->state = MOVES;
        first->number = ty_maxmin_add(fluid->m, first->uses, first->flow->n_links, first->weight);
    } else {
        first->state = IS_DONE;
        *first->finish_s = first_s;
        ty_maxmin_remove(fluid->m, first->number);
    }
    ty_maxmin_solve(fluid->m, ignore, NULL);
    return true;
}

void run_fluid(struct sg_island *islands, uint32_t n)
{
    struct fluid fluid = {.arena = {.head = NULL}};
    add_islands(&fluid, islands, n);
    while (step(&fluid)) {}
    ty_arena_release(&fluid.arena);
}
