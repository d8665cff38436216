/* native_trace.h - reads a .pftrace by the wire format alone, and holds what is in it against the
 * Chrome trace of the same run, event by event.
 *
 * Either trace becomes a bag (trace_bag.h). Values of counters are compared by
 * tests/cli/native.py. */
#ifndef TY_TESTS_NATIVE_TRACE_H
#define TY_TESTS_NATIVE_TRACE_H

#include "tests/unit/trace_bag.h"

/* ---- protobuf ---- */

struct field {
    uint32_t number, type;
    uint64_t x; /* varint or fixed64 */
    struct text bytes;
};

static inline bool pf_varint(struct text *t, uint64_t *x)
{
    *x = 0;
    for (unsigned shift = 0; t->n > 0 && shift < 64; shift += 7) {
        const unsigned char byte = (unsigned char)*t->s++;
        t->n--;
        *x |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* Takes the next field; false: none, or (bad) none that can be read. */
static inline bool pf_field(struct text *t, struct field *f, bool *bad)
{
    uint64_t tag, n = 8;
    if (t->n == 0 || *bad) {
        return false;
    }
    *bad = !pf_varint(t, &tag);
    *f = (struct field){.number = (uint32_t)(tag >> 3), .type = tag & 7};
    if (f->type == 0) {
        *bad = *bad || !pf_varint(t, &f->x);
        return !*bad;
    }
    *bad =
        *bad || (f->type != 1 && f->type != 2) || (f->type == 2 && !pf_varint(t, &n)) || n > t->n;
    if (*bad) {
        return false;
    }
    f->bytes = (struct text){t->s, (size_t)n};
    for (unsigned i = 0; f->type == 1 && i < 8; i++) {
        f->x |= (uint64_t)(unsigned char)t->s[i] << 8 * i;
    }
    t->s += n;
    t->n -= (size_t)n;
    return true;
}

/* ---- native ---- */

enum {
    PF_IDS = 256,  /* most strings of a table ... */
    PF_MANY = 4096 /* ... and sequences, tracks, in a test */
};

/* Tables of strings, by field of InternedData. */
enum pf_table {
    PF_CATEGORY,
    PF_NAME,
    PF_KEY,
    PF_VALUE,
    PF_OTHER,
    PF_TABLES
};

static inline enum pf_table pf_table(uint32_t field)
{
    return field == 1    ? PF_CATEGORY
           : field == 2  ? PF_NAME
           : field == 3  ? PF_KEY
           : field == 29 ? PF_VALUE
                         : PF_OTHER;
}

struct pf_track {
    uint64_t uuid, parent;
    struct text name;
    char plain[128]; /* that of a track below no other: without its place and its padding */
    unsigned depth;
    struct {
        uint64_t hash, start, ids[2]; /* of the arrows that leave and arrive; 0: none */
        struct text name, category;
        uint64_t args;
    } open[4];
};

struct pf_sequence {
    bool known, differences;
    uint64_t track, time;
    struct text strings[PF_TABLES][PF_IDS];
};

struct native {
    struct pf_track track[PF_MANY];
    size_t n_tracks;
    struct pf_sequence *sequence[PF_MANY];
    struct bag *bag;
    const char *why; /* NULL: fine */
};

static inline struct pf_track *native_track(struct native *n, uint64_t uuid)
{
    for (size_t i = 0; i < n->n_tracks; i++) {
        if (n->track[i].uuid == uuid) {
            return &n->track[i];
        }
    }
    return NULL;
}

/* "no.  3 · rank  8" as "rank 8". */
static inline void native_plain(struct pf_track *track)
{
    const char *s = track->name.s;
    size_t n = track->name.n, k = 0;
    if (n > 3 && memcmp(s, "no.", 3) == 0) {
        for (; n > 0 && memcmp(s, "rank", 4) != 0; s++, n--) {}
    }
    for (size_t i = 0; i < n && k < sizeof(track->plain) - 1; i++) {
        if (s[i] != ' ' || i == 0 || s[i - 1] != ' ') {
            track->plain[k++] = s[i];
        }
    }
    track->plain[k] = '\0';
}

static inline void native_descriptor(struct native *n, struct text t)
{
    struct pf_track track = {.uuid = 0};
    struct field f;
    bool bad = n->n_tracks == PF_MANY;
    while (pf_field(&t, &f, &bad)) {
        track.uuid = f.number == 1 ? f.x : track.uuid;
        track.parent = f.number == 5 ? f.x : track.parent;
        track.name = f.number == 2 ? f.bytes : track.name;
    }
    if (bad || native_track(n, track.uuid) != NULL) {
        n->why = "a track that cannot be read, or comes twice";
        return;
    }
    native_plain(&track);
    n->track[n->n_tracks++] = track;
}

static inline void native_strings(struct native *n, struct pf_sequence *s, struct text t)
{
    struct field f, e;
    bool bad = false;
    while (pf_field(&t, &f, &bad)) {
        uint64_t id = 0;
        struct text text = {"", 0};
        while (pf_field(&f.bytes, &e, &bad)) {
            id = e.number == 1 ? e.x : id;
            text = e.number == 2 ? e.bytes : text;
        }
        if (id == 0 || id >= PF_IDS) {
            n->why = "a string without a number";
            return;
        }
        s->strings[pf_table(f.number)][id] = text;
    }
}

static inline uint64_t native_arg(const struct pf_sequence *s, struct text t)
{
    struct text key = {"", 0};
    struct field f, value = {.number = 0};
    char digits[24];
    bool bad = false;
    while (pf_field(&t, &f, &bad)) {
        key = f.number == 10 ? f.bytes : f.number == 1 ? s->strings[PF_KEY][f.x % PF_IDS] : key;
        value = f.number != 10 && f.number != 1 ? f : value;
    }
    const uint64_t h = hash_text(HASH_START, key);
    double real;
    switch (value.number) {
    case 2:
        return hash_text(h, text_of(value.x != 0 ? "true" : "false"));
    case 3:
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value.x);
        return hash_text(h, text_of(digits));
    case 5:
        memcpy(&real, &value.x, sizeof(real));
        return hash_number(h, (uint64_t)(real * 1e3 + 0.5));
    default:
        return hash_text(h,
                         value.number == 17 ? s->strings[PF_VALUE][value.x % PF_IDS] : value.bytes);
    }
}

/* The names of the process and the row that a track stands for: one below no other is the critical
 * path, or a rank and its computation. */
static inline struct row_name native_row(struct native *n, const struct pf_track *track)
{
    const struct pf_track *up = native_track(n, track->parent);
    const bool path = up == NULL && strcmp(track->plain, "critical path") == 0;
    return (struct row_name){text_of(up == NULL ? track->plain : up->plain),
                             up != NULL ? track->name
                             : path     ? text_of(track->plain)
                                        : text_of("compute")};
}

static inline void native_end(struct native *n, struct pf_track *track, uint64_t ns)
{
    if (track->depth == 0) {
        n->why = "an end without a beginning";
        return;
    }
    const struct row_name at = native_row(n, track);
    track->depth--;
    const uint64_t start = track->open[track->depth].start;
    uint64_t h = hash_number(hash_number(hash_row(at.process, at.row, 'X'), start), ns - start);
    h = hash_text(hash_text(h, track->open[track->depth].name), track->open[track->depth].category);
    bag_add(n->bag, h + track->open[track->depth].args, NULL);
    for (unsigned end = 0; end < 2; end++) {
        const uint64_t id = track->open[track->depth].ids[end];
        if (id != 0) {
            h = hash_row(at.process, at.row, end == 0 ? 's' : 'f');
            bag_add(n->bag, hash_number(hash_number(h, end == 0 ? ns - 1 : start), id), NULL);
        }
    }
}

/* TrackEvent. */
struct pf_event {
    uint64_t type, uuid, args, ids[2];
    struct text name, category;
};

/* The fields of one; false: they cannot be read. */
static inline bool native_fields(const struct pf_sequence *s, struct text t, struct pf_event *e)
{
    struct field f;
    bool bad = false;
    *e = (struct pf_event){.uuid = s->track, .name = text_of(""), .category = text_of("")};
    while (pf_field(&t, &f, &bad)) {
        switch (f.number) {
        case 3:
            e->category = s->strings[PF_CATEGORY][f.x % PF_IDS];
            break;
        case 4:
            e->args += native_arg(s, f.bytes);
            break;
        case 9:
            e->type = f.x;
            break;
        case 10:
            e->name = s->strings[PF_NAME][f.x % PF_IDS];
            break;
        case 11:
            e->uuid = f.x;
            break;
        case 22:
            e->category = f.bytes;
            break;
        case 23:
            e->name = f.bytes;
            break;
        case 47:
        case 48:
            e->ids[f.number - 47] = f.x;
            break;
        default:
            break;
        }
    }
    return !bad;
}

static inline void native_event(struct native *n, const struct pf_sequence *s, uint64_t ns,
                                struct text t)
{
    struct pf_event e;
    const bool read = native_fields(s, t, &e);
    struct pf_track *track = native_track(n, e.uuid);
    if (!read || track == NULL || (e.type == 1 && track->depth == 4)) {
        n->why = "an event that cannot be read, or on no track";
    } else if (e.type == 1) {
        track->open[track->depth].start = ns;
        track->open[track->depth].name = e.name;
        track->open[track->depth].category = e.category;
        track->open[track->depth].args = e.args;
        memcpy(track->open[track->depth++].ids, e.ids, sizeof(e.ids));
    } else if (e.type == 2) {
        native_end(n, track, ns);
    } else if (e.type == 3 && !(e.category.n == 8 && memcmp(e.category.s, "metadata", 8) == 0)) {
        const struct row_name at = native_row(n, track);
        uint64_t h = hash_number(hash_number(hash_row(at.process, text_of(""), 'i'), ns), 0);
        bag_add(n->bag, hash_text(hash_text(h, e.name), e.category) + e.args, NULL);
    }
}

static inline void native_defaults(struct pf_sequence *s, struct text t)
{
    struct field f, e;
    bool bad = false;
    while (pf_field(&t, &f, &bad)) {
        s->differences = f.number == 58 ? f.x == 64 : s->differences;
        while (f.number == 11 && pf_field(&f.bytes, &e, &bad)) {
            s->track = e.number == 11 ? e.x : s->track;
        }
    }
}

static inline void native_packet(struct native *n, struct text t)
{
    uint64_t id = 0, ns = 0;
    struct text event = {NULL, 0}, track = {NULL, 0}, strings = {NULL, 0}, defaults = {NULL, 0};
    struct field f;
    bool bad = false;
    while (pf_field(&t, &f, &bad)) {
        id = f.number == 10 ? f.x : id;
        ns = f.number == 8 ? f.x : ns;
        event = f.number == 11 ? f.bytes : event;
        track = f.number == 60 ? f.bytes : track;
        strings = f.number == 12 ? f.bytes : strings;
        defaults = f.number == 59 ? f.bytes : defaults;
    }
    if (bad || id == 0 || id >= PF_MANY) {
        n->why = "a packet that cannot be read";
        return;
    }
    if (n->sequence[id] == NULL) {
        n->sequence[id] = calloc(1, sizeof(*n->sequence[id]));
    }
    struct pf_sequence *s = n->sequence[id];
    if (track.s != NULL) {
        native_descriptor(n, track);
    }
    native_defaults(s, defaults);
    native_strings(n, s, strings);
    if (event.s != NULL) {
        s->time = s->differences ? s->time + ns : ns;
        native_event(n, s, s->time, event);
    }
}

/* Everything in data[size] into the bag. NULL, or what is wrong with it. */
static inline const char *native_bag(const char *data, size_t size, struct bag *bag)
{
    struct native *n = calloc(1, sizeof(*n));
    struct text t = {data, size};
    struct field f;
    bool bad = false;
    if (n == NULL) {
        return "out of memory";
    }
    n->bag = bag;
    while (n->why == NULL && pf_field(&t, &f, &bad)) {
        native_packet(n, f.bytes);
    }
    for (size_t i = 0; i < n->n_tracks && n->why == NULL; i++) {
        n->why = n->track[i].depth > 0 ? "a slice never ends" : NULL;
    }
    for (size_t i = 0; i < PF_MANY; i++) {
        free(n->sequence[i]);
    }
    const char *why = bad ? "not protobuf" : n->why;
    free(n);
    return why;
}

/* ---- both ---- */

static inline int bag_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* An event of the Chrome trace that the native one lacks, or NULL: none. */
static inline const char *bag_missing(const struct bag *chrome, const struct bag *native)
{
    uint64_t *sorted = malloc((native->n + 1) * sizeof(*sorted));
    const char *missing = NULL;
    memcpy(sorted, native->hash, native->n * sizeof(*sorted));
    qsort(sorted, native->n, sizeof(*sorted), bag_order);
    for (size_t i = 0; i < chrome->n && missing == NULL; i++) {
        if (bsearch(&chrome->hash[i], sorted, native->n, sizeof(*sorted), bag_order) == NULL) {
            missing = chrome->what[i];
        }
    }
    free(sorted);
    return missing;
}

#endif
