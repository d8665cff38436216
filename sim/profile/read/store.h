/* store.h - texts and other runs of bytes, each kept once and known by a number. */
#ifndef TY_PROFILE_READ_STORE_H
#define TY_PROFILE_READ_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/arena.h"

struct ty_profile_store {
    struct ty_arena arena;
    const char **text; /* [n_texts], a zero behind each */
    uint32_t *len;     /* [n_texts] */
    uint32_t *slot;    /* [n_slots] open addressing: number of a text, 0 when empty */
    uint32_t n_texts, cap_texts, n_slots;
};

int ty_profile_store_init(struct ty_profile_store *store);
void ty_profile_store_release(struct ty_profile_store *store);

/* The number of a text, the same for equal ones, counted from 1 as they come; 0 for an empty one;
 * TY_PROFILE_NONE when memory is exhausted. */
uint32_t ty_profile_intern(struct ty_profile_store *store, const char *text, size_t len);

#endif
