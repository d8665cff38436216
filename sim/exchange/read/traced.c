/* traced.c - a job as others wrote it down: what every rank does, and what that waits for
 * (traced.h). */
#include "sim/exchange/read/traced.h"

#include <string.h>

#include "sim/base/noise.h"

/* Room for one more row of `size` bytes; the arena keeps the old rows. */
static void *grow(void *rows, uint32_t n, uint32_t *cap, size_t size, struct ty_arena *arena)
{
    if (n < *cap) {
        return rows;
    }
    const uint32_t larger = *cap > 0 ? 2 * *cap : 64;
    void *copy = ty_arena_alloc(arena, larger, size);
    if (copy != NULL && n > 0) {
        memcpy(copy, rows, n * size);
    }
    *cap = copy != NULL ? larger : *cap;
    return copy;
}

struct ty_traced_node *ty_traced_add(struct ty_traced_rank *rank, struct ty_arena *arena)
{
    struct ty_traced_node *rows = grow(rank->node, rank->n, &rank->cap, sizeof(*rank->node), arena);
    if (rows == NULL) {
        return NULL;
    }
    rank->node = rows;
    rows[rank->n] = (struct ty_traced_node){.first_dep = rank->n_deps};
    return &rows[rank->n++];
}

int ty_traced_depend(struct ty_traced_rank *rank, uint32_t dep, struct ty_arena *arena)
{
    uint32_t *rows = grow(rank->dep, rank->n_deps, &rank->cap_deps, sizeof(*rank->dep), arena);
    if (rows == NULL) {
        return TY_ENOMEM;
    }
    rank->dep = rows;
    rows[rank->n_deps++] = dep;
    rank->node[rank->n - 1].n_deps++;
    return 0;
}

static uint64_t hash_node(uint64_t h, const struct ty_traced_rank *rank,
                          const struct ty_traced_node *n)
{
    h = ty_hash4(h, n->dur, ty_bits(n->bytes), ty_bits(n->flops));
    h = ty_hash4(h, (uint64_t)n->peer << 32 | n->tag, n->group,
                 (uint64_t)n->what << 16 | (uint64_t)n->coll << 8 | n->stream);
    for (uint32_t i = 0; i < n->n_deps; i++) {
        h = ty_hash4(h, rank->dep[n->first_dep + i], i, 1);
    }
    return h;
}

uint64_t ty_traced_digest(const struct ty_traced *job)
{
    uint64_t h = job->n_ranks;
    for (uint32_t r = 0; r < job->n_ranks; r++) {
        for (uint32_t i = 0; i < job->rank[r].n; i++) {
            h = hash_node(h, &job->rank[r], &job->rank[r].node[i]);
        }
    }
    for (uint32_t g = 0; g < job->n_groups; g++) {
        for (uint32_t i = 0; i < job->group[g].n; i++) {
            h = ty_hash4(h, g, i, job->group[g].rank[i]);
        }
    }
    return h;
}
