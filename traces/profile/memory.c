/* memory.c - see memory.h. */
#include "traces/profile/memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* What stands before every piece: its neighbours in the list of all. */
struct ty_profile_block {
    struct ty_profile_block *before, *after;
    max_align_t piece[];
};

static void enter(struct ty_profile_memory *memory, struct ty_profile_block *block)
{
    block->before = NULL;
    block->after = memory->first;
    if (memory->first != NULL) {
        memory->first->before = block;
    }
    memory->first = block;
}

static void leave(struct ty_profile_memory *memory, struct ty_profile_block *block)
{
    if (block->before != NULL) {
        block->before->after = block->after;
    } else {
        memory->first = block->after;
    }
    if (block->after != NULL) {
        block->after->before = block->before;
    }
}

static struct ty_profile_block *block_of(void *piece)
{
    return (struct ty_profile_block *)(void *)((char *)piece -
                                               offsetof(struct ty_profile_block, piece));
}

/* A piece of the size, in place of an old one (NULL: of none). */
static void *resize(void *ctx, void *old, size_t size)
{
    struct ty_profile_memory *memory = ctx;
    struct ty_profile_block *from = old != NULL ? block_of(old) : NULL;
    if (from != NULL) {
        leave(memory, from);
    }
    struct ty_profile_block *block =
        size <= SIZE_MAX - sizeof(*block) ? realloc(from, sizeof(*block) + size) : NULL;
    if (block == NULL) {
        free(from);
        longjmp(memory->failed, 1);
    }
    enter(memory, block);
    return block->piece;
}

static void *make(void *ctx, size_t size)
{
    return resize(ctx, NULL, size);
}

static void drop(void *ctx, void *piece)
{
    if (piece != NULL) {
        leave(ctx, block_of(piece));
        free(block_of(piece));
    }
}

void ty_profile_memory_init(struct ty_profile_memory *memory)
{
    memory->first = NULL;
    memory->calls =
        (yajl_alloc_funcs){.malloc = make, .realloc = resize, .free = drop, .ctx = memory};
}

void ty_profile_memory_release(struct ty_profile_memory *memory)
{
    while (memory->first != NULL) {
        struct ty_profile_block *block = memory->first;
        memory->first = block->after;
        free(block);
    }
}
