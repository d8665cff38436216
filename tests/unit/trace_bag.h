/* trace_bag.h - a trace as a bag of numbers: a hash for each slice (row, times, name, category,
 * arguments), each end of an arrow and each instant. Equal traces have equal bags, whatever their
 * format and order; this is that of a Chrome trace. */
#ifndef TY_TESTS_TRACE_BAG_H
#define TY_TESTS_TRACE_BAG_H

#include "tests/unit/trace_rules.h"

/* ---- bags ---- */

struct bag {
    uint64_t *hash;
    const char **what; /* [n] for messages: where it is in its file; NULL: native */
    size_t n, cap;
};

static inline void bag_add(struct bag *bag, uint64_t hash, const char *what)
{
    if (bag->n == bag->cap) {
        bag->cap = bag->cap == 0 ? 4096 : 2 * bag->cap;
        bag->hash = realloc(bag->hash, bag->cap * sizeof(*bag->hash));
        bag->what = realloc(bag->what, bag->cap * sizeof(*bag->what));
    }
    if (bag->hash == NULL || bag->what == NULL) {
        abort();
    }
    bag->hash[bag->n] = hash;
    bag->what[bag->n++] = what;
}

static inline void bag_free(struct bag *bag)
{
    free(bag->hash);
    free(bag->what);
}

struct text {
    const char *s;
    size_t n;
};

static inline struct text text_of(const char *s)
{
    return (struct text){s, strlen(s)};
}

/* FNV-1a over a text and its length. */
static inline uint64_t hash_text(uint64_t h, struct text t)
{
    for (size_t i = 0; i < t.n; i++) {
        h = (h ^ (unsigned char)t.s[i]) * 0x100000001b3u;
    }
    return (h ^ t.n) * 0x100000001b3u;
}

static inline uint64_t hash_number(uint64_t h, uint64_t x)
{
    for (unsigned i = 0; i < 8; i++, x >>= 8) {
        h = (h ^ (x & 0xff)) * 0x100000001b3u;
    }
    return h;
}

#define HASH_START 0xcbf29ce484222325u

static inline uint64_t hash_row(struct text process, struct text row, char sort)
{
    return hash_text(hash_text(hash_number(HASH_START, (uint64_t)sort), process), row);
}

/* ---- Chrome ---- */

struct row_name {
    struct text process, row;
};

static inline struct row_name chrome_row(const struct rules *r, const struct rules_event *e)
{
    struct row_name out = {{"", 0}, {"", 0}};
    for (size_t i = 0; i < r->n_namings; i++) {
        const struct rules_event *m = &r->namings[i];
        const struct js *name = js_get(m->args, "name");
        if (m->pid == e->pid && js_is(m->name, "process_name")) {
            out.process = (struct text){name->raw, name->raw_len};
        } else if (m->pid == e->pid && m->tid == e->tid && js_is(m->name, "thread_name")) {
            out.row = (struct text){name->raw, name->raw_len};
        }
    }
    return out;
}

/* Keys and values, in any order. */
static inline uint64_t chrome_args(const struct js *args)
{
    uint64_t sum = 0;
    for (const struct js *k = args != NULL ? args->first : NULL; k != NULL; k = k->next) {
        const uint64_t h = hash_text(HASH_START, (struct text){k->key, k->key_len});
        const bool real = k->type == JS_NUMBER && memchr(k->raw, '.', k->raw_len) != NULL;
        sum += real ? hash_number(h, (uint64_t)(strtod(k->raw, NULL) * 1e3 + 0.5))
                    : hash_text(h, (struct text){k->raw, k->raw_len});
    }
    return sum;
}

static inline void chrome_bag(const struct rules *r, struct bag *bag)
{
    struct row_name at = {{"", 0}, {"", 0}};
    unsigned long long pid = 0, tid = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct rules_event *e = &r->events[i];
        const bool flow = e->ph == 's' || e->ph == 'f';
        if (e->ph != 'X' && e->ph != 'i' && !flow) {
            continue;
        }
        if (e->pid != pid || e->tid != tid) {
            at = chrome_row(r, e);
            pid = e->pid;
            tid = e->tid;
        }
        uint64_t h = hash_row(at.process, e->ph == 'i' ? text_of("") : at.row, e->ph);
        h = hash_number(h, e->ts);
        if (flow) {
            h = hash_number(h, e->id);
        } else {
            h = hash_number(h, e->dur);
            h = hash_text(h, (struct text){e->name->raw, e->name->raw_len});
            h = hash_text(h, (struct text){e->cat->raw, e->cat->raw_len}) + chrome_args(e->args);
        }
        bag_add(bag, h, e->node->raw);
    }
}

#endif
