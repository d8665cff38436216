/* pairs.c - finds the rings that links between pairs of GPUs close.
 *
 * A ring is laid GPU by GPU, lowest first, over links that are left; when it closes, the next one
 * is begun; where none closes, the last step is taken back. No more rings than links leave the
 * poorest GPU: the search ends when it has as many, or after so many steps that a larger node than
 * any with such links would not be searched through; NCCL's search has a limit, too.
 *
 * Sources: NVIDIA/nccl src/graph/search.cc (rings along links, a limit to the search), topo.h
 * (QPI_BW), paths.cc (PATH_NVB: a hop over another GPU); NVIDIA DGX-1 with Tesla V100 system
 * architecture (the mesh). */
#include "topology/collectives/pairs.h"

#include <math.h>

#define STEPS_MAX 100000u
#define HOST_Bps  6e9 /* between the sockets of a Broadwell node: NCCL's QPI_BW */

struct search {
    uint8_t left[TY_PAIRED_MAX][TY_PAIRED_MAX]; /* links that no ring uses, from row to column */
    uint32_t n, bound, best, steps;
    bool relays;
};

static void lay_ring(struct search *s, uint32_t at, uint32_t seen, uint32_t rings);

/* From `at` to `to`, straight or over one GPU; then the rest. */
static void hop(struct search *s, uint32_t at, uint32_t to, uint32_t seen, uint32_t rings)
{
    if (s->left[at][to] > 0) {
        s->left[at][to]--;
        lay_ring(s, to, seen | 1u << to, rings);
        s->left[at][to]++;
        return;
    }
    for (uint32_t over = 0; s->relays && over < s->n; over++) {
        if (s->left[at][over] > 0 && s->left[over][to] > 0) {
            s->left[at][over]--;
            s->left[over][to]--;
            lay_ring(s, to, seen | 1u << to, rings);
            s->left[at][over]++;
            s->left[over][to]++;
        }
    }
}

static bool done(const struct search *s)
{
    return s->best >= s->bound || s->steps >= STEPS_MAX;
}

/* The ring at hand has come to `at`; `rings` are closed. The first GPU is seen when it is back. */
static void lay_ring(struct search *s, uint32_t at, uint32_t seen, uint32_t rings)
{
    const uint32_t all = (1u << s->n) - 1;
    s->steps++;
    if (seen == all) {
        s->best = rings + 1 > s->best ? rings + 1 : s->best;
        at = 0;
        seen = 0;
        rings++;
    }
    for (uint32_t plenty = 2; plenty > 0; plenty--) { /* pairs of several links first: soon found */
        for (uint32_t to = 1; to < s->n && !done(s); to++) {
            if ((seen >> to & 1) == 0 && (s->left[at][to] > 1) == (plenty > 1)) {
                hop(s, at, to, seen, rings);
            }
        }
    }
    if (seen == all - 1 && !done(s)) {
        hop(s, at, 0, seen, rings);
    }
}

/* Most rings that leave the poorest GPU. */
static uint32_t fewest_links(const struct search *s)
{
    uint32_t fewest = UINT32_MAX;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t links = 0;
        for (uint32_t k = 0; k < s->n; k++) {
            links += s->left[i][k];
        }
        fewest = links < fewest ? links : fewest;
    }
    return fewest;
}

uint32_t ty_coll_pair_rings(const struct ty_nvlink *nvlink, uint32_t gpus)
{
    struct search s = {.n = 0};
    uint32_t gpu[TY_PAIRED_MAX];
    for (uint32_t i = 0; i < nvlink->n_paired; i++) {
        if (gpus >> i & 1) {
            gpu[s.n++] = i;
        }
    }
    for (uint32_t i = 0; i < s.n; i++) {
        for (uint32_t k = 0; k < s.n; k++) {
            s.left[i][k] = nvlink->paired[gpu[i]][gpu[k]];
        }
    }
    s.bound = s.n < 2 ? 0 : fewest_links(&s);
    for (int relays = 0; relays < 2 && s.best == 0 && s.bound > 0; relays++) {
        s.relays = relays == 1;
        s.steps = 0;
        lay_ring(&s, 0, 0, 0);
    }
    return s.best;
}

double ty_coll_pair_rate(const struct ty_nvlink *nvlink, uint32_t gpus)
{
    const uint32_t rings = ty_coll_pair_rings(nvlink, gpus);
    const double link_Bps =
        nvlink->bandwidth * nvlink->efficiency / fmax(nvlink->links_of_a_gpu, 1);
    return rings > 0 ? rings * link_Bps : HOST_Bps;
}
