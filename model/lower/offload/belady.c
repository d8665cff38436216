/* belady.c - which chunks stay in a memory that is too small for all, when the order in which they
 * are used is known (belady.h). */
#include "model/lower/offload/belady.h"

#include <math.h>

#include "model/lower/offload.h"

#define NEVER UINT32_MAX

/* What is in the memory. */
struct held {
    const struct ty_belady *order;
    uint32_t *next; /* [n_chunks]: when one is used again; of those that are not there nothing */
    bool *there;    /* [n_chunks] */
    double bytes;
};

/* The one that is used again latest. */
static uint32_t latest(const struct held *h)
{
    uint32_t chunk = NEVER;
    for (uint32_t i = 0; i < h->order->n_chunks; i++) {
        if (h->there[i] && (chunk == NEVER || h->next[i] > h->next[chunk])) {
            chunk = i;
        }
    }
    return chunk;
}

static void drop(struct held *h, uint32_t chunk)
{
    h->there[chunk] = false;
    h->bytes -= h->order->bytes[chunk];
}

static void used(struct held *h, uint32_t chunk, uint32_t again)
{
    h->bytes += h->there[chunk] ? 0 : h->order->bytes[chunk];
    h->there[chunk] = true;
    h->next[chunk] = again;
    if (again == NEVER) {
        drop(h, chunk);
    }
    while (h->bytes > h->order->room && (chunk = latest(h)) != NEVER) {
        drop(h, chunk);
    }
}

/* When each use's chunk is used again. */
static void find_next(const struct ty_belady *o, uint32_t *last, uint32_t *again)
{
    for (uint32_t i = 0; i < o->n_chunks; i++) {
        last[i] = NEVER;
    }
    for (uint32_t i = o->n_uses; i > 0; i--) {
        again[i - 1] = last[o->use[i - 1]];
        last[o->use[i - 1]] = i - 1;
    }
}

double ty_belady_find(const struct ty_belady *o, bool *miss, struct ty_arena *arena)
{
    uint32_t *again = ty_arena_array(arena, uint32_t, o->n_uses + 1);
    struct held h = {.order = o,
                     .next = ty_arena_array(arena, uint32_t, o->n_chunks + 1),
                     .there = ty_arena_array(arena, bool, o->n_chunks + 1)};
    double most = 0;
    if (again == NULL || h.next == NULL || h.there == NULL) {
        return -1;
    }
    find_next(o, h.next, again);
    for (uint32_t i = 0; i < o->n_uses; i++) {
        miss[i] = !h.there[o->use[i]];
        used(&h, o->use[i], again[i]);
        most = fmax(most, h.bytes);
    }
    return most;
}
