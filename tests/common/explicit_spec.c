/* explicit_spec.c - see explicit_spec.h. */
#include "tests/common/explicit_spec.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct explicit_spec explicit_spec_default(void)
{
    return (struct explicit_spec){
        .platform = EXPLICIT_TWO_LEVEL,
        .hosts = 256,
        .bytes = 1e9,
        .reps = 1,
        .rings = 1,
        .stages = 8,
        .micro_batches = 64,
        .replicas = 32,
        .layers = 10,
        .sends = 1,
        .forward_s = 1e-3,
        .message_bytes = 33554432, /* 2048 tokens of 8192 halves */
    };
}

/* ---- words ---- */

static const struct {
    const char *name;
    size_t offset;
} NUMBERS[] = {
    {"hosts", offsetof(struct explicit_spec, hosts)},
    {"reps", offsetof(struct explicit_spec, reps)},
    {"rings", offsetof(struct explicit_spec, rings)},
    {"stages", offsetof(struct explicit_spec, stages)},
    {"micro_batches", offsetof(struct explicit_spec, micro_batches)},
    {"replicas", offsetof(struct explicit_spec, replicas)},
    {"layers", offsetof(struct explicit_spec, layers)},
    {"sends", offsetof(struct explicit_spec, sends)},
};

static bool set(struct explicit_spec *spec, const char *key, size_t length, const char *value)
{
    char *end;
    const double number = strtod(value, &end);
    for (size_t i = 0; i < sizeof(NUMBERS) / sizeof(NUMBERS[0]); i++) {
        if (strncmp(key, NUMBERS[i].name, length) == 0 && NUMBERS[i].name[length] == '\0') {
            const uint32_t n = number >= 1 && number < 1e9 ? (uint32_t)number : 0;
            memcpy((char *)spec + NUMBERS[i].offset, &n, sizeof(n));
            return *end == '\0' && n > 0;
        }
    }
    if (strncmp(key, "jitter=", length + 1) == 0) {
        spec->jitter = number;
        return *end == '\0' && number >= 0 && number < 1;
    }
    return false;
}

static uint32_t unit_of(const struct explicit_spec *spec)
{
    return spec->platform == EXPLICIT_TWO_LEVEL ? EXPLICIT_NODE : EXPLICIT_LEAF;
}

static bool is_job(const struct explicit_spec *spec)
{
    if (spec->hosts % unit_of(spec) != 0 && spec->hosts > unit_of(spec)) {
        return false;
    }
    if (spec->pipe) {
        return spec->stages > 1 && spec->stages * spec->replicas == spec->hosts;
    }
    return EXPLICIT_NODE % spec->rings == 0 && spec->hosts >= unit_of(spec);
}

bool explicit_spec_parse(struct explicit_spec *spec, int n, const char *const *words)
{
    bool good = true;
    for (int i = 0; i < n && good; i++) {
        const char *equals = strchr(words[i], '=');
        if (strcmp(words[i], "job=pipe") == 0 || strcmp(words[i], "job=ring") == 0) {
            spec->pipe = words[i][4] == 'p';
        } else if (strcmp(words[i], "platform=fat-tree") == 0) {
            spec->platform = EXPLICIT_FAT_TREE;
        } else if (strcmp(words[i], "platform=two-level") == 0) {
            spec->platform = EXPLICIT_TWO_LEVEL;
        } else if (strcmp(words[i], "order=shuffled") == 0) {
            spec->shuffled = true;
        } else {
            good = equals != NULL && set(spec, words[i], (size_t)(equals - words[i]), equals + 1);
        }
    }
    return good && is_job(spec);
}

/* ---- what is drawn ---- */

static uint64_t draw(uint64_t *state)
{
    /* xorshift64: Marsaglia 2003, with the state he begins with */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
#define FIRST_STATE UINT64_C(88172645463325252)

uint32_t *explicit_ring_hosts(const struct explicit_spec *spec)
{
    const uint32_t unit = unit_of(spec), size = explicit_ring_size(spec), part = unit / spec->rings;
    uint32_t *hosts = malloc(spec->hosts * sizeof(*hosts));
    for (uint32_t i = 0; i < spec->hosts; i++) {
        const uint32_t ring = i / size, position = i % size;
        hosts[i] = position / part * unit + ring * part + position % part;
    }
    uint64_t state = FIRST_STATE;
    for (uint32_t i = spec->hosts; spec->shuffled && i > 1; i--) {
        const uint32_t k = (uint32_t)(draw(&state) % i), host = hosts[k];
        hosts[k] = hosts[i - 1];
        hosts[i - 1] = host;
    }
    return hosts;
}

uint64_t *explicit_ring_bytes(const struct explicit_spec *spec)
{
    const size_t n = (size_t)explicit_ring_steps(spec) * spec->hosts;
    uint64_t *bytes = malloc(n * sizeof(*bytes)), state = FIRST_STATE;
    const double whole = spec->bytes / explicit_ring_size(spec);
    for (size_t i = 0; i < n; i++) {
        const double uniform =
            spec->jitter > 0 ? (double)(draw(&state) >> 11) * 0x1p-52 : 1; /* < 2 */
        bytes[i] = (uint64_t)(whole * (1 + spec->jitter * (uniform - 1)));
    }
    return bytes;
}

/* ---- 1F1B ---- */

struct explicit_slot *explicit_pipe_slots(const struct explicit_spec *spec, uint32_t stage)
{
    const uint32_t m = spec->micro_batches, ahead = spec->stages - 1 - stage;
    const uint32_t warm_up = ahead < m ? ahead : m;
    struct explicit_slot *slots = malloc(2 * (size_t)m * sizeof(*slots));
    uint32_t n = 0;
    for (uint32_t f = 0; f < warm_up; f++) {
        slots[n++] = (struct explicit_slot){true, f};
    }
    for (uint32_t b = 0; b < m; b++) {
        if (warm_up + b < m) {
            slots[n++] = (struct explicit_slot){true, warm_up + b};
        }
        slots[n++] = (struct explicit_slot){false, b};
    }
    return slots;
}
