/* arena.c - memory with one lifetime.
 *
 * A list of chunks from the heap. Small requests are carved from the newest chunk; a request that
 * would waste much of a chunk gets one of its own, put behind the newest so that this keeps being
 * filled. Chunks come from calloc, so large columns cost no pages until they are touched. */
#include "sim/base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"

#define CHUNK_BYTES ((size_t)64 * 1024)
#define LINE_BYTES  ((size_t)64) /* cache line; alignment of arrays larger than one */
#define UNIT_BYTES  ((size_t)16) /* alignment of everything else: enough for any C type */

struct ty_arena_chunk {
    struct ty_arena_chunk *next;
    size_t used, size; /* bytes of data[] */
    unsigned char data[];
};

static void *chunk_carve(struct ty_arena_chunk *chunk, size_t bytes, size_t align)
{
    const uintptr_t at = (uintptr_t)(chunk->data + chunk->used);
    const size_t skip = (size_t)(-at & (align - 1));
    if (chunk->size - chunk->used < skip || chunk->size - chunk->used - skip < bytes) {
        return NULL;
    }
    void *memory = chunk->data + chunk->used + skip;
    chunk->used += skip + bytes;
    return memory;
}

static struct ty_arena_chunk *chunk_new(struct ty_arena *arena, size_t size)
{
    if (size > SIZE_MAX - sizeof(struct ty_arena_chunk)) {
        return NULL;
    }
    struct ty_arena_chunk *chunk = calloc(1, sizeof(*chunk) + size);
    if (!chunk) {
        return NULL;
    }
    chunk->size = size;
    arena->total += sizeof(*chunk) + size;
    return chunk;
}

void *ty_arena_alloc(struct ty_arena *arena, size_t n, size_t size)
{
    if (size != 0 && n > (SIZE_MAX - LINE_BYTES) / size) {
        return NULL;
    }
    const size_t bytes = n * size != 0 ? n * size : 1;
    const size_t align = bytes > LINE_BYTES ? LINE_BYTES : UNIT_BYTES;
    if (arena->head) {
        void *memory = chunk_carve(arena->head, bytes, align);
        if (memory) {
            return memory;
        }
    }
    const bool alone = bytes > CHUNK_BYTES / 4;
    struct ty_arena_chunk *chunk = chunk_new(arena, alone ? bytes + align : CHUNK_BYTES);
    if (!chunk) {
        return NULL;
    }
    if (alone && arena->head) {
        chunk->next = arena->head->next;
        arena->head->next = chunk;
    } else {
        chunk->next = arena->head;
        arena->head = chunk;
    }
    return chunk_carve(chunk, bytes, align);
}

char *ty_arena_strndup(struct ty_arena *arena, const char *s, size_t len)
{
    if (len == SIZE_MAX) {
        return NULL;
    }
    char *copy = ty_arena_alloc(arena, len + 1, 1);
    if (copy && len > 0) {
        memcpy(copy, s, len);
    }
    return copy;
}

char *ty_arena_printf(struct ty_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = ty_vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = n < 0 ? NULL : ty_arena_alloc(arena, (size_t)n + 1, 1);
    if (!text) {
        return NULL;
    }
    va_start(args, format);
    (void)ty_vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void ty_arena_release(struct ty_arena *arena)
{
    struct ty_arena_chunk *chunk = arena->head;
    while (chunk) {
        struct ty_arena_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    *arena = (struct ty_arena){0};
}

void ty_arena_reset(struct ty_arena *arena)
{
    struct ty_arena_chunk *chunk = arena->head;
    const size_t total = arena->total;
    if (chunk != NULL && chunk->next == NULL) {
        memset(chunk->data, 0, chunk->used);
        chunk->used = 0;
        return;
    }
    ty_arena_release(arena);
    if (total > 0) { /* no memory: as after a release */
        arena->head = chunk_new(arena, total);
    }
}
