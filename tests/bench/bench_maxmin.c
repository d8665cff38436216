/* bench_maxmin.c - the cost of one change among flows that share links.
 *
 * usage: bench_maxmin FLOWS GPUS ring|random|pairs [uses] Nodes of 8 GPUs and 4 NICs; every GPU has
 * an NVLink port in and out (300 GB/s), every NIC 25 GB/s each way. A change is one flow that ends
 * and another that begins in its place, with the solve after it: of the component that changed, by
 * the library, and of the whole set, by progressive filling in plain arrays; both end with the same
 * speeds or the program fails. Patterns: ring, GPU i to i + 1; random, any to any; pairs, as ring
 * but with two GPUs of a node sending to the next node by one NIC, so that every flow meets
 * another. With `uses`, a collective with so many uses shares the first links all the time (0:
 * none). */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/core/execute/maxmin.h"

#define PORT_BPS 300e9
#define NIC_BPS  25e9

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t draw(void)
{
    static uint64_t z = 88172645463325252u;
    z ^= z << 13;
    z ^= z >> 7;
    z ^= z << 17;
    return (uint32_t)(z >> 32);
}

struct path {
    struct ty_use uses[4];
    uint32_t n;
    double weight;
};

struct bench {
    uint32_t n_gpus, n_flows, n_uses, n_links;
    const char *pattern;
    struct ty_link *links;
    struct path *paths;
    struct ty_use *wide;
};

/* Links: ports out, ports in, NICs out, NICs in. */
static void draw_path(const struct bench *b, struct path *p, uint32_t flow)
{
    const uint32_t gpus = b->n_gpus, nics = gpus / 2;
    uint32_t from = flow % gpus, to = (flow + 1) % gpus;
    if (strcmp(b->pattern, "pairs") == 0) {
        to = (from + 8) % gpus;
    } else if (strcmp(b->pattern, "random") == 0) {
        from = draw() % gpus;
        to = draw() % gpus;
        to = to == from ? (from + 1) % gpus : to;
    }
    const bool crosses = from / 8 != to / 8;
    const double Bps = crosses ? NIC_BPS : PORT_BPS;
    p->n = 0;
    p->weight = 1 / Bps;
    p->uses[p->n++] = (struct ty_use){from, Bps};
    p->uses[p->n++] = (struct ty_use){gpus + to, Bps};
    if (crosses) {
        p->uses[p->n++] = (struct ty_use){2 * gpus + from / 2, Bps};
        p->uses[p->n++] = (struct ty_use){2 * gpus + nics + to / 2, Bps};
    }
}

/* ---- the whole set ---- */

/* A bound is a link of its own. Narrowest ports bound the messages anyway; the wide flow has one
 * that nobody else uses, after the others. */
struct whole {
    double *left; /* [n_links + 1] B/s */
    uint32_t *n_rising;
    double *Bps; /* [n_flows + 1], the last that of the wide one */
    bool *is_full, *stopped;
};

static const struct ty_use *uses_of(const struct bench *b, uint32_t f, uint32_t *n)
{
    *n = f < b->n_flows ? b->paths[f].n : b->n_uses + 1;
    return f < b->n_flows ? b->paths[f].uses : b->wide;
}

/* Marks the links that are full first, at the B/s that come back. */
static double lowest_level(const struct bench *b, const struct whole *w)
{
    double lowest = HUGE_VAL;
    for (uint32_t l = 0; l <= b->n_links; l++) {
        if (w->n_rising[l] > 0 && w->left[l] < lowest * w->n_rising[l]) {
            lowest = w->left[l] / w->n_rising[l];
        }
    }
    for (uint32_t l = 0; l <= b->n_links; l++) {
        w->is_full[l] = w->n_rising[l] > 0 && w->left[l] <= lowest * w->n_rising[l] * (1 + 1e-12);
    }
    return lowest;
}

static void solve_whole(const struct bench *b, const struct whole *w)
{
    const uint32_t n_flows = b->n_flows + (b->n_uses > 0);
    uint32_t n;
    for (uint32_t l = 0; l <= b->n_links; l++) {
        w->left[l] = l < b->n_links ? b->links[l].capacity : NIC_BPS;
        w->n_rising[l] = 0;
    }
    for (uint32_t f = 0; f < n_flows; f++) {
        const struct ty_use *uses = uses_of(b, f, &n);
        for (uint32_t i = 0; i < n; i++) {
            w->n_rising[uses[i].link]++;
        }
        w->stopped[f] = false;
    }
    for (uint32_t n_stopped = 0; n_stopped < n_flows;) {
        const double level = lowest_level(b, w);
        for (uint32_t f = 0; f < n_flows; f++) {
            bool stops = false;
            const struct ty_use *uses = uses_of(b, f, &n);
            for (uint32_t i = 0; i < n && !w->stopped[f] && !stops; i++) {
                stops = w->is_full[uses[i].link];
            }
            for (uint32_t i = 0; i < n && stops; i++) {
                w->left[uses[i].link] -= level;
                w->n_rising[uses[i].link]--;
            }
            if (stops) {
                w->stopped[f] = true;
                w->Bps[f] = level;
                n_stopped++;
            }
        }
    }
}

/* ---- runs ---- */

static void count(void *arg, uint32_t flow, double now)
{
    (void)flow, (void)now;
    ++*(uint64_t *)arg;
}

static double time_whole(const struct bench *b, const struct whole *w, uint64_t n_changes)
{
    const double t0 = cpu_s();
    for (uint64_t i = 0; i < n_changes; i++) {
        const uint32_t f = draw() % b->n_flows;
        draw_path(b, &b->paths[f], f);
        solve_whole(b, w);
    }
    return (cpu_s() - t0) / (double)n_changes * 1e6;
}

static double time_component(const struct bench *b, struct ty_maxmin *m, uint32_t *flows,
                             uint64_t n_changes, uint64_t *n_told)
{
    *n_told = 0;
    const double t0 = cpu_s();
    for (uint64_t i = 0; i < n_changes; i++) {
        const uint32_t f = draw() % b->n_flows;
        ty_maxmin_remove(m, flows[f]);
        draw_path(b, &b->paths[f], f);
        flows[f] = ty_maxmin_add(m, b->paths[f].uses, b->paths[f].n, b->paths[f].weight);
        ty_maxmin_solve(m, count, n_told);
    }
    return (cpu_s() - t0) / (double)n_changes * 1e6;
}

static bool same_speeds(const struct bench *b, const struct whole *w, const struct ty_maxmin *m,
                        const uint32_t *flows)
{
    for (uint32_t f = 0; f < b->n_flows; f++) {
        const double Bps = ty_maxmin_speed(m, flows[f]) * b->paths[f].uses[0].Bps;
        if (fabs(Bps - w->Bps[f]) > 1e-9 * Bps) {
            fprintf(stderr, "flow %u: %.17g B/s, whole set %.17g\n", (unsigned)f, Bps, w->Bps[f]);
            return false;
        }
    }
    return true;
}

static struct whole new_whole(const struct bench *b, struct ty_arena *arena)
{
    return (struct whole){
        .left = ty_arena_array(arena, double, b->n_links + 1),
        .n_rising = ty_arena_array(arena, uint32_t, b->n_links + 1),
        .is_full = ty_arena_array(arena, bool, b->n_links + 1),
        .Bps = ty_arena_array(arena, double, b->n_flows + 1),
        .stopped = ty_arena_array(arena, bool, b->n_flows + 1),
    };
}

static int run(struct bench *b)
{
    struct ty_arena arena = {.head = NULL};
    b->n_links = 3 * b->n_gpus;
    b->links = ty_arena_array(&arena, struct ty_link, b->n_links);
    b->paths = ty_arena_array(&arena, struct path, b->n_flows);
    b->wide = ty_arena_array(&arena, struct ty_use, b->n_links + 1);
    uint32_t *flows = ty_arena_array(&arena, uint32_t, b->n_flows);
    for (uint32_t l = 0; l < b->n_links; l++) {
        b->links[l].capacity = l < 2 * b->n_gpus ? PORT_BPS : NIC_BPS;
        b->wide[l] = (struct ty_use){l, NIC_BPS};
    }
    b->wide[b->n_uses] = (struct ty_use){b->n_links, NIC_BPS};
    const struct whole w = new_whole(b, &arena);
    struct ty_maxmin *m = ty_maxmin_new(b->links, b->n_links, b->n_flows + 1,
                                        4 * (uint64_t)b->n_flows + b->n_uses, &arena);
    if (m == NULL || w.stopped == NULL) {
        return EXIT_FAILURE;
    }
    if (b->n_uses > 0) {
        ty_maxmin_add(m, b->wide, b->n_uses, 1 / NIC_BPS);
    }
    for (uint32_t f = 0; f < b->n_flows; f++) {
        draw_path(b, &b->paths[f], f);
        flows[f] = ty_maxmin_add(m, b->paths[f].uses, b->paths[f].n, b->paths[f].weight);
    }
    uint64_t n_told;
    const uint64_t n_changes = strcmp(b->pattern, "random") == 0 ? 30000 : 1000000;
    const double component_us = time_component(b, m, flows, n_changes, &n_told);
    solve_whole(b, &w);
    const bool same = same_speeds(b, &w, m, flows);
    const double whole_us = time_whole(b, &w, 1 + 2000000 / (b->n_flows * 40));
    printf(
        "%-6s flows %u gpus %u uses %u: a change costs %.4f us (%.1f speeds change), solving the "
        "whole set %.2f us\n",
        b->pattern, (unsigned)b->n_flows, (unsigned)b->n_gpus, (unsigned)b->n_uses, component_us,
        (double)n_told / (double)n_changes, whole_us);
    ty_arena_release(&arena);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench_maxmin FLOWS GPUS ring|random|pairs [uses]\n");
        return 2;
    }
    struct bench b = {.n_flows = (uint32_t)atoi(argv[1]),
                      .n_gpus = (uint32_t)atoi(argv[2]),
                      .n_uses = argc > 4 ? (uint32_t)atoi(argv[4]) : 0,
                      .pattern = argv[3]};
    if (b.n_flows == 0 || b.n_gpus < 8 || b.n_gpus % 8 != 0 || b.n_uses > 3 * b.n_gpus) {
        fprintf(stderr, "whole nodes of 8 GPUs, at least one flow, at most a use of every link\n");
        return 2;
    }
    return run(&b);
}
