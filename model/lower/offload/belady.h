/* belady.h - which chunks stay in a memory that is too small for all, when the order in which they
 * are used is known.
 *
 * A chunk that is used and not there is brought. Once it has been used it stays if there is room;
 * where there is not, what is used again latest goes, which may be itself (Belady 1966). Chunks of
 * one size: no rule brings fewer. What goes has a copy where it came from, and costs nothing. */
#ifndef TY_MODEL_LOWER_OFFLOAD_BELADY_H
#define TY_MODEL_LOWER_OFFLOAD_BELADY_H

#include <stdbool.h>
#include <stdint.h>

struct ty_arena;

struct ty_belady {
    const uint32_t *use; /* [n_uses]: chunks in their order */
    uint32_t n_uses;
    const double *bytes; /* [n_chunks] */
    uint32_t n_chunks;
    double room; /* bytes for chunks between uses */
};

/* Fills miss[n_uses]: it has to be brought. Returns the most bytes that stay at a time; negative:
 * no memory. */
double ty_belady_find(const struct ty_belady *order, bool *miss, struct ty_arena *arena);

#endif
