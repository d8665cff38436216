/* text.c - texts of a profile, each kept once, and arrays that grow. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/profile/read/read.h"

#define SLOTS        4096u
#define ELEMENTS_MAX (UINT64_MAX / 32) /* what no GPU holds */

int ty_profile_store_init(struct ty_profile_store *store)
{
    *store = (struct ty_profile_store){.n_slots = SLOTS, .n_texts = 1, .cap_texts = SLOTS / 2};
    store->slot = calloc(store->n_slots, sizeof(*store->slot));
    store->text = calloc(store->cap_texts, sizeof(*store->text));
    store->len = calloc(store->cap_texts, sizeof(*store->len));
    if (store->slot == NULL || store->text == NULL || store->len == NULL) {
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
    free(store->len);
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

/* Where a text is, or would be. */
static uint32_t slot_of(const struct ty_profile_store *store, const char *text, size_t len)
{
    uint32_t at = (uint32_t)hash(text, len) & (store->n_slots - 1);
    for (uint32_t i; (i = store->slot[at]) != 0; at = (at + 1) & (store->n_slots - 1)) {
        if (store->len[i] == len && memcmp(store->text[i], text, len) == 0) {
            break;
        }
    }
    return at;
}

static bool widen(struct ty_profile_store *store)
{
    uint32_t cap_texts = store->cap_texts, cap_len = store->cap_texts;
    uint32_t *slot = calloc((size_t)2 * store->n_slots, sizeof(*slot));
    if (slot == NULL || !TY_PROFILE_GROW(store->text, store->n_texts, cap_texts) ||
        !TY_PROFILE_GROW(store->len, store->n_texts, cap_len)) {
        free(slot);
        return false;
    }
    free(store->slot);
    store->slot = slot;
    store->n_slots *= 2;
    store->cap_texts = cap_len;
    for (uint32_t i = 1; i < store->n_texts; i++) {
        store->slot[slot_of(store, store->text[i], store->len[i])] = i;
    }
    return true;
}

uint32_t ty_profile_intern(struct ty_profile_store *store, const char *text, size_t len)
{
    if (len == 0) {
        return 0;
    }
    if (len > UINT32_MAX || (store->n_texts == store->cap_texts && !widen(store))) {
        return TY_PROFILE_NONE;
    }
    const uint32_t at = slot_of(store, text, len);
    if (store->slot[at] == 0) {
        store->text[store->n_texts] = ty_arena_strndup(&store->arena, text, len);
        if (store->text[store->n_texts] == NULL) {
            return TY_PROFILE_NONE;
        }
        store->len[store->n_texts] = (uint32_t)len;
        store->slot[at] = store->n_texts++;
    }
    return store->slot[at];
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

/* `scalar`: of no dimensions. */
static uint64_t product(const uint64_t *dim, int n, uint64_t scalar)
{
    uint64_t product = n > 0 ? 1 : scalar;
    for (int i = 0; i < n; i++) {
        product = dim[i] == 0 || product > ELEMENTS_MAX / dim[i] ? 0 : product * dim[i];
    }
    return product;
}

uint64_t ty_profile_elements(const char *dims, uint32_t i, uint64_t scalar)
{
    uint64_t dim[TY_PROFILE_DIMS], sum = 0;
    int n = ty_profile_dims(dims, i, TY_PROFILE_NONE, dim);
    if (n >= 0) {
        return product(dim, n, 0);
    }
    for (uint32_t inner = 0; (n = ty_profile_dims(dims, i, inner, dim)) >= 0; inner++) {
        const uint64_t more = product(dim, n, scalar);
        sum = more > ELEMENTS_MAX - sum ? 0 : sum + more;
    }
    return sum;
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
