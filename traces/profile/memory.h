/* memory.h - memory for yajl, which does not look whether it got any.
 *
 * An allocation that fails leaves the parser by longjmp, to where `failed` was set, before yajl can
 * write through what it did not get. All that was handed out is known and freed at the end, so that
 * nothing is lost on that way; the parser is not to be used or freed any more. */
#ifndef TY_TRACES_PROFILE_MEMORY_H
#define TY_TRACES_PROFILE_MEMORY_H

#include <setjmp.h>
#include <yajl/yajl_parse.h>

struct ty_profile_block;

struct ty_profile_memory {
    jmp_buf failed;
    struct ty_profile_block *first;
    yajl_alloc_funcs calls; /* for yajl_alloc */
};

void ty_profile_memory_init(struct ty_profile_memory *memory);

/* Frees all that was handed out, the parser included. */
void ty_profile_memory_release(struct ty_profile_memory *memory);

#endif
