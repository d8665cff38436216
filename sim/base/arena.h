/* arena.h - memory with one lifetime: allocate piecewise, free all at once.
 *
 * A run owns one arena; whatever lives as long as the run is in it and is never freed alone. */
#ifndef TY_BASE_ARENA_H
#define TY_BASE_ARENA_H

#include <stddef.h>

#include "sim/base/compiler.h"

struct ty_arena_chunk;

/* Zero-initialise. */
struct ty_arena {
    struct ty_arena_chunk *head;
    size_t total; /* bytes taken from the heap */
};

/* Zeroed memory for n elements of `size` bytes, aligned to 64 bytes when the array is larger than
 * that; NULL when memory is exhausted or n * size overflows. Owned by the arena. */
void *ty_arena_alloc(struct ty_arena *arena, size_t n, size_t size);

#define ty_arena_array(arena, type, n) ((type *)ty_arena_alloc((arena), (n), sizeof(type)))

/* A copy of the first `len` bytes of s, zero-terminated; NULL when memory is exhausted. */
char *ty_arena_strndup(struct ty_arena *arena, const char *s, size_t len);

/* A formatted string; NULL when memory is exhausted. */
char *ty_arena_printf(struct ty_arena *arena, const char *format, ...) TY_PRINTF(2, 3);

/* Frees everything; the arena is empty and usable again. */
void ty_arena_release(struct ty_arena *arena);

/* The same, but keeps one chunk as large as all together: what serves many similar jobs, one after
 * the other, asks the heap for memory only while they grow. */
void ty_arena_reset(struct ty_arena *arena);

#endif
