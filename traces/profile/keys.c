/* keys.c - which keys of a Kineto file are read. */
#include <string.h>

#include "traces/profile/json.h"

static uint8_t key_hash(const unsigned char *key, size_t n)
{
    return (uint8_t)(n * 37 + (size_t)key[0] * 11 + (size_t)key[n / 2] * 5 + key[n - 1]);
}

static const struct {
    const char *key;
    uint8_t len;
} event_keys[TY_N_KEYS] = {
#define X(id, key) {key, sizeof(key) - 1},
    TY_PROFILE_EVENT_KEYS(X) TY_PROFILE_ARG_KEYS(X)
#undef X
};

void ty_profile_make_keys(struct ty_profile_reader *r)
{
    memset(r->key_slot, 0xFF, sizeof(r->key_slot));
    for (int k = TY_KEY_EXTERNAL; k < TY_N_KEYS; k++) {
        uint8_t at = key_hash((const unsigned char *)event_keys[k].key, event_keys[k].len);
        while (r->key_slot[at] != 0xFF) {
            at++;
        }
        r->key_slot[at] = (uint8_t)k;
    }
}

static int find_arg(const struct ty_profile_reader *r, const unsigned char *key, size_t n)
{
    if (n == 0) {
        return -1;
    }
    for (uint8_t at = key_hash(key, n); r->key_slot[at] != 0xFF; at++) {
        const int k = r->key_slot[at];
        if (event_keys[k].len == n && memcmp(event_keys[k].key, key, n) == 0) {
            return k;
        }
    }
    /* up to PyTorch 1.11 */
    return n == 11 && memcmp(key, "external id", n) == 0 ? TY_KEY_EXTERNAL : -1;
}

int ty_profile_find_key(const struct ty_profile_reader *r, const unsigned char *key, size_t n)
{
    static const struct {
        const char *key;
        uint8_t where, len;
    } others[] = {
#define X(id, place, key) {key, place, sizeof(key) - 1},
        TY_PROFILE_OTHER_KEYS(X)
#undef X
    };
    if (r->where == TY_IN_ARGS) {
        return find_arg(r, key, n);
    }
    for (int k = 0; r->where == TY_IN_EVENT && k < TY_KEY_EXTERNAL; k++) {
        if (event_keys[k].len == n && memcmp(event_keys[k].key, key, n) == 0) {
            return k;
        }
    }
    for (size_t k = 0; k < TY_COUNT(others); k++) {
        if (others[k].where == r->where && others[k].len == n &&
            memcmp(others[k].key, key, n) == 0) {
            return TY_KEY_FIRST_OTHER + 1 + (int)k;
        }
    }
    return -1;
}
