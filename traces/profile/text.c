/* text.c - texts of a profile, each kept once, and arrays that grow. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "traces/profile/internal.h"

#define SLOTS 4096u

int ty_profile_store_init(struct ty_profile_store *store)
{
    *store = (struct ty_profile_store){.n_slots = SLOTS, .n_texts = 1, .cap_texts = SLOTS / 2};
    store->slot = calloc(store->n_slots, sizeof(*store->slot));
    store->text = calloc(store->cap_texts, sizeof(*store->text));
    if (store->slot == NULL || store->text == NULL) {
        ty_profile_store_release(store);
        return TY_ENOMEM;
    }
    store->text[0] = "";
    return 0;
}

void ty_profile_store_release(struct ty_profile_store *store)
{
    free(store->slot);
    free(store->text);
    ty_arena_release(&store->arena);
    *store = (struct ty_profile_store){.n_texts = 0};
}

/* FNV-1a, eight bytes at a time. */
static uint64_t hash(const char *text, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u ^ len;
    for (; len >= 8; len -= 8, text += 8) {
        uint64_t word;
        memcpy(&word, text, sizeof(word));
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; len > 0; len--, text++) {
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    }
    return h ^ h >> 32;
}

static bool widen(struct ty_profile_store *store)
{
    const uint32_t n_slots = 2 * store->n_slots, cap = n_slots / 2;
    uint32_t *slot = calloc(n_slots, sizeof(*slot));
    const char **text = slot != NULL ? realloc(store->text, cap * sizeof(*text)) : NULL;
    if (text == NULL) {
        free(slot);
        return false;
    }
    for (uint32_t i = 1; i < store->n_texts; i++) {
        uint32_t at = (uint32_t)hash(text[i], strlen(text[i])) & (n_slots - 1);
        while (slot[at] != 0) {
            at = (at + 1) & (n_slots - 1);
        }
        slot[at] = i;
    }
    free(store->slot);
    store->slot = slot;
    store->text = text;
    store->n_slots = n_slots;
    store->cap_texts = cap;
    return true;
}

uint32_t ty_profile_intern(struct ty_profile_store *store, const char *text, size_t len)
{
    const char *zero = len > 0 ? memchr(text, '\0', len) : NULL;
    len = zero != NULL ? (size_t)(zero - text) : len; /* "\u0000" ends a text */
    if (len == 0) {
        return 0;
    }
    if (store->n_texts == store->cap_texts && !widen(store)) {
        return TY_PROFILE_NONE;
    }
    uint32_t at = (uint32_t)hash(text, len) & (store->n_slots - 1);
    for (; store->slot[at] != 0; at = (at + 1) & (store->n_slots - 1)) {
        const char *other = store->text[store->slot[at]];
        if (strncmp(other, text, len) == 0 && other[len] == '\0') {
            return store->slot[at];
        }
    }
    char *copy = ty_arena_strndup(&store->arena, text, len);
    if (copy == NULL) {
        return TY_PROFILE_NONE;
    }
    store->text[store->n_texts] = copy;
    store->slot[at] = store->n_texts;
    return store->n_texts++;
}

bool ty_profile_grow(void *array, uint32_t n, uint32_t *cap, size_t size)
{
    void *data;
    if (n < *cap) {
        return true;
    }
    if (*cap > UINT32_MAX / 4 * 3) {
        return false;
    }
    const uint32_t larger = *cap == 0 ? 256 : *cap > UINT32_MAX / 2 ? UINT32_MAX : 2 * *cap;
    memcpy(&data, array, sizeof(data)); /* a pointer to a pointer of any type */
    void *const moved = realloc(data, larger * size);
    if (moved == NULL) {
        return false;
    }
    memcpy(array, &moved, sizeof(moved));
    *cap = larger;
    return true; /* cppcheck-suppress memleak ; what `array` points to owns it */
}

const char *ty_profile_text(const struct ty_profile *profile, uint32_t text)
{
    return text < profile->store->n_texts ? profile->store->text[text] : "";
}

uint32_t ty_profile_texts(const struct ty_profile *profile)
{
    return profile->store->n_texts;
}

/* ---- arguments in texts ---- */

/* Past the i-th element of the list that begins behind p; NULL when there is none. */
static const char *element(const char *p, uint32_t i)
{
    uint32_t depth = 0;
    if (*p == ']' || *p == '\0') {
        return NULL;
    }
    for (; i > 0; p++) {
        if (*p == '\0' || (*p == ']' && depth == 0)) {
            return NULL;
        }
        depth += *p == '[';
        depth -= *p == ']';
        i -= *p == ',' && depth == 0;
    }
    return p;
}

int ty_profile_dims(const char *dims, uint32_t i, uint32_t inner, uint64_t dim[TY_PROFILE_DIMS])
{
    const char *p = *dims == '[' ? element(dims + 1, i) : NULL;
    if (p != NULL && inner != TY_PROFILE_NONE) {
        p = *p == '[' && p[1] == '[' ? element(p + 1, inner) : NULL;
    }
    if (p == NULL || *p != '[') {
        return -1;
    }
    int n = 0;
    for (p++; *p != ']'; n++) {
        char *end;
        if (*p < '0' || *p > '9' || n == (int)TY_PROFILE_DIMS) {
            return -1;
        }
        dim[n] = strtoull(p, &end, 10);
        p = *end == ',' ? end + 1 : end;
    }
    return n;
}

char *ty_profile_line(const char *lines, uint32_t i, char *buf, size_t cap)
{
    for (; i > 0 && lines != NULL; i--) {
        lines = strchr(lines, '\n');
        lines = lines != NULL ? lines + 1 : NULL;
    }
    assert(cap > 0);
    const size_t len = lines != NULL ? strcspn(lines, "\n") : 0;
    const size_t kept = len < cap ? len : cap - 1;
    memcpy(buf, kept > 0 ? lines : "", kept);
    buf[kept] = '\0';
    return buf;
}
