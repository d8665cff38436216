/* costs_map.c - values by the bytes of their keys: open addressing, at most half full. */
#include <stdlib.h>
#include <string.h>

#include "sim/plan/costs_internal.h"

static uint64_t hash_of(const void *key, size_t size)
{
    const unsigned char *at = key;
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    for (; size > 0; size--, at++) {
        hash = (hash ^ *at) * 0xff51afd7ed558ccdu;
    }
    return hash ^ hash >> 29;
}

static uint32_t place_of(const struct ty_plan_map *map, const void *key, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (map->cap - 1);
    while (map->entry[i].key != NULL &&
           (map->entry[i].hash != hash || memcmp(map->entry[i].key, key, map->key_size) != 0)) {
        i = (i + 1) & (map->cap - 1);
    }
    return i;
}

void *ty_plan_map_find(struct ty_plan_map *map, const void *key)
{
    if (map->n == 0) {
        return NULL;
    }
    const struct ty_plan_entry *last = &map->entry[map->last];
    if (last->key != NULL && memcmp(last->key, key, map->key_size) == 0) {
        return last->value;
    }
    const uint32_t i = place_of(map, key, hash_of(key, map->key_size));
    map->last = map->entry[i].key != NULL ? i : map->last;
    return map->entry[i].value;
}

static int grow(struct ty_plan_map *map)
{
    struct ty_plan_map more = *map;
    more.cap = map->cap == 0 ? 64 : 2 * map->cap;
    more.entry = calloc(more.cap, sizeof(*more.entry));
    if (more.entry == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < map->cap; i++) {
        if (map->entry[i].key != NULL) {
            more.entry[place_of(&more, map->entry[i].key, map->entry[i].hash)] = map->entry[i];
        }
    }
    free(map->entry);
    more.last = 0;
    *map = more;
    return 0;
}

int ty_plan_map_add(struct ty_plan_map *map, const void *key, void *value, struct ty_arena *arena,
                    struct ty_err *err)
{
    void *own = ty_arena_alloc(arena, 1, map->key_size);
    if (own == NULL || (2 * map->n >= map->cap && grow(map) < 0)) {
        return ty_fail_memory(err);
    }
    memcpy(own, key, map->key_size);
    const uint64_t hash = hash_of(key, map->key_size);
    const uint32_t i = place_of(map, key, hash);
    map->entry[i] = (struct ty_plan_entry){hash, own, value};
    map->n++;
    map->last = i;
    return 0;
}

void ty_plan_map_release(struct ty_plan_map *map)
{
    free(map->entry);
    map->entry = NULL;
    map->n = map->cap = 0;
}
