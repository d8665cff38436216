/* profile_json.c - a Kineto file as it streams by.
 *
 * yajl turns bytes into tokens; a state says where in the document a token is. Values that are
 * wanted are kept as text until their event ends, and looked at then, when its category is known
 * whatever the order of keys; all others are passed over. Of two equal keys the last one counts,
 * as in Python's json. What bounds memory against a hostile file: the depth, the bytes of an event,
 * and the bytes without a value, since yajl gathers a string before it hands it over. */
#include "traces/profile_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define CHUNK       (256u << 10)
#define MAX_DEPTH   200u
#define MAX_SILENCE (32u << 20) /* bytes without a value */
#define MAX_EVENT   (8u << 20)  /* bytes kept of one event */
#define RATIO_FROM  ((uint64_t)256 << 20)
#define MAX_RATIO   200u /* profiles compress 10 to 30 times, made-up ones up to 1030 */
#define MAX_GROUPS  (1u << 20)
#define MAX_MEMBERS (1u << 24)

enum where {
    START,
    TOP,
    INFO,
    GROUPS,
    GROUP,
    RANKS,
    DEVICES,
    DEVICE,
    EVENTS,
    EVENT,
    ARGS,
    LIST,
    END
};

/* Keys outside of events: id, place, key. */
#define OTHER_KEYS(X)                                                                              \
    X(TRACE_EVENTS, TOP, "traceEvents")                                                            \
    X(DISTRIBUTED, TOP, "distributedInfo")                                                         \
    X(DEVICES, TOP, "deviceProperties")                                                            \
    X(BASE, TOP, "baseTimeNanoseconds")                                                            \
    X(RANK, INFO, "rank")                                                                          \
    X(WORLD, INFO, "world_size")                                                                   \
    X(PG_CONFIG, INFO, "pg_config")                                                                \
    X(GROUP_NAME, GROUP, "pg_name")                                                                \
    X(GROUP_DESC, GROUP, "pg_desc")                                                                \
    X(GROUP_SIZE, GROUP, "pg_size")                                                                \
    X(GROUP_RANKS, GROUP, "ranks")                                                                 \
    X(GPU, DEVICE, "name")                                                                         \
    X(ARGS, EVENT, "args")

enum other_key {
    FIRST_OTHER = TY_N_KEYS,
#define X(id, place, key) OTHER_##id,
    OTHER_KEYS(X)
#undef X
};

/* ---- places and errors ---- */

/* Counts lines and characters up to byte `to` of the chunk. */
static void count_to(struct ty_profile_reader *r, size_t to)
{
    const unsigned char *p = r->chunk;
    for (size_t i = r->counted; i < to;) {
        const unsigned char *end = memchr(p + i, '\n', to - i);
        const size_t stop = end != NULL ? (size_t)(end - p) : to;
        uint32_t characters = 0;
        for (size_t k = i; k < stop; k++) {
            characters += (p[k] & 0xC0u) != 0x80u;
        }
        r->col += characters;
        i = stop;
        if (end != NULL) {
            r->line++;
            r->col = 1;
            i++;
        }
    }
    r->counted = to > r->counted ? to : r->counted;
}

static void count_to_token(struct ty_profile_reader *r)
{
    const size_t to = yajl_get_bytes_consumed(r->yajl);
    count_to(r, to < r->chunk_len ? to : r->chunk_len);
}

static int fail_here(struct ty_profile_reader *r, const char *message)
{
    count_to_token(r);
    const struct ty_place at = {.file = r->path, .line = r->line, .col = r->col};
    r->code = ty_fail_at(r->err, TY_EINPUT, &at, "%s", message);
    return 0;
}

int ty_profile_no_memory(struct ty_profile_reader *r)
{
    r->code = ty_fail(r->err, TY_ENOMEM, "%s: memory is exhausted", r->path);
    return 0;
}

int ty_profile_wrong_event(struct ty_profile_reader *r, int key, const char *format, ...)
{
    static const char *const names[TY_N_KEYS] = {
#define X(id, key) key,
        TY_PROFILE_EVENT_KEYS(X)
#undef X
#define X(id, key) "args." key,
            TY_PROFILE_ARG_KEYS(X)
#undef X
    };
    char message[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct ty_place at = {.file = r->path, .line = r->event_line, .col = r->event_col};
    r->code = ty_fail_at(r->err, TY_EINPUT, &at, "traceEvents[%llu]%s%s: %s",
                         (unsigned long long)r->event, key >= 0 ? "." : "",
                         key >= 0 ? names[key] : "", message);
    return 0;
}

/* ---- texts of the event ---- */

static bool keep(struct ty_profile_reader *r, const char *bytes, size_t n)
{
    while (r->scratch_cap - r->scratch_n < n + 1) {
        if (r->scratch_cap >= MAX_EVENT) {
            return false;
        }
        char *larger = realloc(r->scratch, 2 * (size_t)r->scratch_cap);
        if (larger == NULL) {
            return false;
        }
        r->scratch = larger;
        r->scratch_cap *= 2;
    }
    memcpy(r->scratch + r->scratch_n, bytes, n);
    r->scratch_n += (uint32_t)n;
    r->scratch[r->scratch_n] = '\0';
    return true;
}

static int too_long(struct ty_profile_reader *r)
{
    return ty_profile_wrong_event(r, -1, "more than %u MiB in one event; no profiler writes that",
                                  MAX_EVENT >> 20);
}

static int keep_value(struct ty_profile_reader *r, enum ty_profile_value kind, const char *bytes,
                      size_t n)
{
    r->field[r->key] = (struct ty_profile_field){.from = r->scratch_n, .kind = (uint8_t)kind};
    if (!keep(r, bytes, n)) {
        return too_long(r);
    }
    r->scratch_n++; /* its zero */
    if (r->key == TY_KEY_CAT) {
        r->cat = (uint8_t)ty_profile_cat_of(bytes, n);
    } else if (r->key == TY_KEY_PH) {
        r->complete = n == 1 && bytes[0] == 'X';
    }
    return 1;
}

/* Lists of texts are kept as lines. */
static bool in_lines(const struct ty_profile_reader *r)
{
    return r->key == TY_KEY_TYPES || r->key == TY_KEY_VALUES;
}

/* Within a list that is kept: "[1,[2,3]]", or a line for each text. */
static int keep_item(struct ty_profile_reader *r, const char *bytes, size_t n)
{
    bool ok = true;
    if (in_lines(r)) {
        ok = keep(r, bytes, n) && keep(r, "\n", 1);
    } else {
        const char last = r->scratch_n > 0 ? r->scratch[r->scratch_n - 1] : '[';
        ok = (last == '[' || bytes[0] == ']' || last == '\0' || keep(r, ",", 1)) &&
             keep(r, bytes, n);
    }
    return ok ? 1 : too_long(r);
}

/* ---- values ---- */

static bool wanted(const struct ty_profile_reader *r)
{
    return r->key >= 0 && r->key < TY_N_KEYS && r->cat != TY_EVENT_NOTHING;
}

/* A number or a string that is no part of an event. */
static int other_value(struct ty_profile_reader *r, const char *text, size_t n, bool string)
{
    struct ty_profile_file *file = r->file;
    struct ty_profile_pg *pg = file->n_pgs > 0 ? &file->pgs[file->n_pgs - 1] : NULL;
    char buf[32];
    int64_t number = -1;
    const size_t kept = n < sizeof(buf) ? n : sizeof(buf) - 1;
    memcpy(buf, text, kept);
    buf[kept] = '\0';
    const bool is_number = n < sizeof(buf) && ty_profile_integer(buf, &number) && number >= 0;
    switch (r->key) {
    case OTHER_RANK:
    case OTHER_WORLD:
        if (!is_number || number > (r->key == OTHER_RANK ? INT32_MAX - 1 : INT32_MAX)) {
            return fail_here(r, r->key == OTHER_RANK
                                    ? "distributedInfo.rank: not the number of a rank"
                                    : "distributedInfo.world_size: not a number of ranks");
        }
        file->has_rank = file->has_rank || r->key == OTHER_RANK;
        *(r->key == OTHER_RANK ? &file->rank.rank : &file->rank.world) = (uint32_t)number;
        return 1;
    case OTHER_BASE:
        if (!is_number || number >= TY_PROFILE_MAX_NS) {
            return fail_here(r, "baseTimeNanoseconds: not a number of nanoseconds since 1970");
        }
        file->has_base = true;
        file->base_ns = number;
        return 1;
    case OTHER_GROUP_NAME:
        pg->name = ty_profile_intern(r->store, text, n);
        return pg->name != TY_PROFILE_NONE ? 1 : ty_profile_no_memory(r);
    case OTHER_GROUP_DESC:
        pg->desc = ty_profile_intern(r->store, text, n);
        return pg->desc != TY_PROFILE_NONE ? 1 : ty_profile_no_memory(r);
    case OTHER_GROUP_SIZE:
        if (!is_number || number > MAX_MEMBERS) {
            return fail_here(r, "pg_size: not a number of ranks");
        }
        pg->n = pg->ranks == NULL ? (uint32_t)number : pg->n;
        return 1;
    case OTHER_GPU:
        if (string && file->rank.gpu == NULL) {
            file->rank.gpu = ty_arena_strndup(&r->store->arena, text, n);
            return file->rank.gpu != NULL ? 1 : ty_profile_no_memory(r);
        }
        return 1;
    default:
        return 1;
    }
}

static int add_member(struct ty_profile_reader *r, const char *text, size_t n)
{
    struct ty_profile_pg *pg = &r->file->pgs[r->file->n_pgs - 1];
    char buf[32];
    int64_t rank;
    const size_t kept = n < sizeof(buf) ? n : sizeof(buf) - 1;
    memcpy(buf, text, kept);
    buf[kept] = '\0';
    if (!ty_profile_integer(buf, &rank) || rank < 0 || rank >= INT32_MAX || pg->n >= MAX_MEMBERS) {
        return fail_here(r, "pg_config: not the number of a rank");
    }
    if ((pg->n & (pg->n - 1)) == 0) { /* grown by doubling; `n` counts what is there */
        uint32_t *larger = ty_arena_array(&r->store->arena, uint32_t, pg->n > 0 ? 2 * pg->n : 1);
        if (larger == NULL) {
            return ty_profile_no_memory(r);
        }
        memcpy(larger, pg->ranks != NULL ? pg->ranks : larger, pg->n * sizeof(*larger));
        pg->ranks = larger;
    }
    pg->ranks[pg->n++] = (uint32_t)rank;
    return 1;
}

static int scalar(struct ty_profile_reader *r, enum ty_profile_value kind, const char *text,
                  size_t n)
{
    r->last_value_at = r->chunk_at;
    if (r->skip > 0) {
        return 1;
    }
    switch (r->where) {
    case EVENT:
    case ARGS:
        return wanted(r) ? keep_value(r, kind, text, n) : 1;
    case LIST:
        return wanted(r) ? keep_item(r, text, n) : 1;
    case RANKS:
        return kind == TY_VALUE_NUMBER || kind == TY_VALUE_STRING ? add_member(r, text, n)
                                                                  : fail_here(r, "not a rank");
    case START:
        return fail_here(r, "not a trace: a single value; a PyTorch profile is a JSON object with "
                            "traceEvents");
    case EVENTS:
        return fail_here(r, "traceEvents: an event that is no object");
    default:
        return kind == TY_VALUE_NUMBER || kind == TY_VALUE_STRING
                   ? other_value(r, text, n, kind == TY_VALUE_STRING)
                   : 1;
    }
}

static int on_null(void *ctx)
{
    return scalar(ctx, TY_VALUE_OTHER, "", 0);
}

static int on_boolean(void *ctx, int value)
{
    return scalar(ctx, TY_VALUE_OTHER, value ? "True" : "False", value ? 4 : 5);
}

static int on_number(void *ctx, const char *text, size_t n)
{
    return scalar(ctx, TY_VALUE_NUMBER, text, n);
}

static int on_string(void *ctx, const unsigned char *text, size_t n)
{
    return scalar(ctx, TY_VALUE_STRING, (const char *)text, n);
}

/* ---- keys ---- */

static uint8_t key_hash(const unsigned char *key, size_t n)
{
    return (uint8_t)(n * 37 + key[0] * 11u + key[n / 2] * 5u + key[n - 1]);
}

static const struct {
    const char *key;
    uint8_t len;
} event_keys[TY_N_KEYS] = {
#define X(id, key) {key, sizeof(key) - 1},
    TY_PROFILE_EVENT_KEYS(X) TY_PROFILE_ARG_KEYS(X)
#undef X
};

static void make_key_slots(struct ty_profile_reader *r)
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

static int find_key(const struct ty_profile_reader *r, const unsigned char *key, size_t n)
{
    static const struct {
        const char *key;
        uint8_t where, len;
    } others[] = {
#define X(id, place, key) {key, place, sizeof(key) - 1},
        OTHER_KEYS(X)
#undef X
    };
    if (r->where == ARGS) {
        return find_arg(r, key, n);
    }
    for (int k = 0; r->where == EVENT && k < TY_KEY_EXTERNAL; k++) {
        if (event_keys[k].len == n && memcmp(event_keys[k].key, key, n) == 0) {
            return k;
        }
    }
    for (size_t k = 0; k < TY_COUNT(others); k++) {
        if (others[k].where == r->where && others[k].len == n &&
            memcmp(others[k].key, key, n) == 0) {
            return FIRST_OTHER + 1 + (int)k;
        }
    }
    return -1;
}

static int on_key(void *ctx, const unsigned char *key, size_t n)
{
    struct ty_profile_reader *r = ctx;
    r->last_value_at = r->chunk_at;
    if (r->skip == 0) {
        r->key = find_key(r, key, n);
    }
    return 1;
}

/* ---- objects and lists ---- */

static int deeper(struct ty_profile_reader *r)
{
    r->last_value_at = r->chunk_at;
    if (++r->depth > MAX_DEPTH) {
        char message[100];
        snprintf(message, sizeof(message), "nested more than %u deep; no profiler writes that",
                 MAX_DEPTH);
        return fail_here(r, message);
    }
    return 1;
}

static int begin_event(struct ty_profile_reader *r)
{
    r->where = EVENT;
    memset(r->field, 0, sizeof(r->field));
    r->scratch_n = 0;
    r->cat = TY_EVENT_UNKNOWN;
    r->complete = false;
    count_to_token(r);
    r->event_line = r->line;
    r->event_col = r->col > 1 ? r->col - 1 : 1; /* of the brace, which is behind us */
    return 1;
}

static int begin_group(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    if (file->n_pgs >= MAX_GROUPS ||
        !ty_profile_room(&file->pgs, file->n_pgs, &file->cap_pgs, sizeof(*file->pgs))) {
        return ty_profile_no_memory(r);
    }
    file->pgs[file->n_pgs++] = (struct ty_profile_pg){.n = 0};
    r->where = GROUP;
    return 1;
}

static int on_map(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    if (!deeper(r)) {
        return 0;
    }
    if (r->skip == 0) {
        const int key = r->key;
        switch (r->where) {
        case START:
            r->where = TOP;
            return 1;
        case EVENTS:
            return begin_event(r);
        case GROUPS:
            return begin_group(r);
        case DEVICES:
            r->where = DEVICE;
            return 1;
        case TOP:
            if (key == OTHER_DISTRIBUTED && r->seen_info) {
                return fail_here(r, "distributedInfo: a second one");
            }
            if (key == OTHER_DISTRIBUTED) {
                r->seen_info = true;
                r->where = INFO;
                return 1;
            }
            break;
        case EVENT:
            if (key == OTHER_ARGS) {
                r->where = ARGS;
                return 1;
            }
            break;
        default:
            break;
        }
        if ((r->where == EVENT || r->where == ARGS) && wanted(r) &&
            !keep_value(r, TY_VALUE_OTHER, "", 0)) {
            return 0;
        }
    }
    r->skip++;
    return 1;
}

static int on_array(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    if (!deeper(r)) {
        return 0;
    }
    if (r->skip > 0) {
        r->skip++;
    } else if (r->where == START) {
        return fail_here(r, "a list of events, not a Kineto trace: that is an object with "
                            "traceEvents; record with torch.profiler of a PyTorch that has Kineto");
    } else if (r->where == TOP && r->key == OTHER_TRACE_EVENTS) {
        if (r->seen_events) {
            return fail_here(r, "traceEvents: a second one");
        }
        r->seen_events = true;
        r->where = EVENTS;
    } else if (r->where == TOP && r->key == OTHER_DEVICES) {
        r->where = DEVICES;
    } else if (r->where == INFO && r->key == OTHER_PG_CONFIG) {
        r->where = GROUPS;
    } else if (r->where == GROUP && r->key == OTHER_GROUP_RANKS) {
        r->where = RANKS;
        r->file->pgs[r->file->n_pgs - 1].n = 0;
        r->file->pgs[r->file->n_pgs - 1].ranks = NULL;
    } else if (r->where == EVENTS) {
        return fail_here(r, "traceEvents: an event that is no object");
    } else if (r->where == ARGS && wanted(r)) {
        r->where = LIST;
        r->list = 1;
        r->field[r->key] = (struct ty_profile_field){.from = r->scratch_n, .kind = TY_VALUE_LIST};
        return keep(r, "[", in_lines(r) ? 0 : 1) ? 1 : too_long(r);
    } else if (r->where == LIST) {
        r->list++;
        return in_lines(r) ? 1 : keep_item(r, "[", 1);
    } else {
        if (r->where == EVENT && wanted(r) && !keep_value(r, TY_VALUE_OTHER, "", 0)) {
            return 0;
        }
        r->skip++;
    }
    return 1;
}

static int on_map_end(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    static const uint8_t outer[] = {[TOP] = END,        [INFO] = TOP,     [GROUP] = GROUPS,
                                    [DEVICE] = DEVICES, [EVENT] = EVENTS, [ARGS] = EVENT};
    r->depth--;
    if (r->skip > 0) {
        r->skip--;
        return 1;
    }
    if (r->where == EVENT) {
        const int go_on = ty_profile_event_end(r);
        r->event++;
        r->where = EVENTS;
        return go_on;
    }
    r->where = outer[r->where];
    r->key = -1;
    return 1;
}

static int on_array_end(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    static const uint8_t outer[] = {
        [GROUPS] = INFO, [RANKS] = GROUP, [DEVICES] = TOP, [EVENTS] = TOP};
    r->depth--;
    if (r->skip > 0) {
        r->skip--;
    } else if (r->where != LIST) {
        if (r->where == RANKS) {
            r->file->pgs[r->file->n_pgs - 1].whole = r->file->pgs[r->file->n_pgs - 1].n > 0;
        }
        r->where = outer[r->where];
        r->key = -1;
    } else {
        r->list--;
        if (!in_lines(r) && !keep_item(r, "]", 1)) {
            return 0;
        }
    }
    if (r->where == LIST && r->list == 0) {
        r->scratch_n++; /* its zero */
        r->where = ARGS;
        r->key = -1;
    }
    return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_map_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

/* ---- the file ---- */

/* yajl's sentence for what is wrong, without its line end; and what people meet most often. */
static int syntax_error(struct ty_profile_reader *r)
{
    const size_t at = yajl_get_bytes_consumed(r->yajl);
    unsigned char *said = yajl_get_error(r->yajl, 0, r->chunk, r->chunk_len);
    char message[200];
    snprintf(message, sizeof(message), "%s", said != NULL ? (const char *)said : "not JSON");
    yajl_free_error(r->yajl, said);
    message[strcspn(message, "\n")] = '\0';
    const char *near = (const char *)r->chunk + (at > 0 && at <= r->chunk_len ? at - 1 : 0);
    const bool not_finite = r->chunk_len > 0 && (*near == 'N' || *near == 'I');
    count_to(r, at > 0 && at <= r->chunk_len ? at - 1 : r->counted); /* yajl is behind it */
    const struct ty_place place = {.file = r->path, .line = r->line, .col = r->col};
    r->code = ty_fail_at(r->err, TY_EINPUT, &place, "%s", message);
    if (not_finite) {
        ty_hint(r->err, "JSON has no NaN and no Infinity; a script wrote this file, not PyTorch");
    }
    return r->code;
}

static int parse_chunk(struct ty_profile_reader *r, const unsigned char *chunk, size_t n)
{
    r->chunk = chunk;
    r->chunk_len = n;
    r->counted = 0;
    const yajl_status status = yajl_parse(r->yajl, chunk, n);
    if (status == yajl_status_client_canceled) {
        return r->code;
    }
    if (status != yajl_status_ok) {
        return syntax_error(r);
    }
    count_to(r, n);
    r->chunk_at += n;
    if (r->chunk_at - r->last_value_at > MAX_SILENCE) {
        const struct ty_place at = {.file = r->path, .line = r->line, .col = r->col};
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "%u MiB up to here without a value; no profiler writes that",
                          MAX_SILENCE >> 20);
    }
    return 0;
}

/* After the last byte. */
static int finish(struct ty_profile_reader *r)
{
    const struct ty_place at = {.file = r->path, .line = r->line, .col = r->col};
    if (r->chunk_at == 0) {
        return ty_fail(r->err, TY_EINPUT, "%s: empty; a PyTorch profile is needed", r->path);
    }
    if (yajl_complete_parse(r->yajl) != yajl_status_ok || r->where != END) {
        return r->code != 0
                   ? r->code
                   : ty_fail_at(r->err, TY_EINPUT, &at,
                                "the file ends here, in the middle; it was cut, or the profiler "
                                "was stopped while it wrote");
    }
    if (!r->seen_events) {
        return ty_fail_at(r->err, TY_EINPUT, &at,
                          "no traceEvents up to here; a PyTorch profile is needed");
    }
    return 0;
}

static int unzip_error(struct ty_profile_reader *r, gzFile in)
{
    int code = Z_OK;
    const char *said = gzerror(in, &code);
    const struct ty_place at = {.file = r->path, .line = r->line, .col = r->col};
    return code == Z_ERRNO
               ? ty_fail(r->err, TY_EIO, "%s: cannot be read (%s)", r->path, strerror(errno))
               : ty_fail_at(r->err, TY_EINPUT, &at,
                            "the compressed file is damaged or cut behind what says "
                            "this (%s)",
                            said);
}

static int read_all(struct ty_profile_reader *r, gzFile in, unsigned char *buf)
{
    int rc = 0, n = 0;
    while (rc == 0 && (n = gzread(in, buf, CHUNK)) > 0) {
        const bool mark = r->chunk_at == 0 && n >= 3 && memcmp(buf, "\xEF\xBB\xBF", 3) == 0;
        rc = parse_chunk(r, buf + (mark ? 3 : 0), (size_t)n - (mark ? 3 : 0));
        const z_off_t packed = gzoffset(in);
        if (rc == 0 && r->chunk_at > RATIO_FROM && packed > 0 &&
            r->chunk_at / (uint64_t)packed > MAX_RATIO) {
            rc = ty_fail(r->err, TY_EINPUT,
                         "%s: %u times smaller than its content; no profile compresses like this",
                         r->path, MAX_RATIO);
        }
    }
    int code = Z_OK;
    (void)gzerror(in, &code);
    if (rc == 0 && (n < 0 || code != Z_OK)) {
        rc = unzip_error(r, in);
    }
    return rc == 0 ? finish(r) : rc;
}

int ty_profile_parse(struct ty_profile_file *file, struct ty_profile_store *store, const char *path,
                     struct ty_err *err)
{
    struct ty_profile_reader r = {
        .file = file, .store = store, .path = path, .err = err, .line = 1, .col = 1, .key = -1};
    errno = 0;
    gzFile in = strcmp(path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (in == NULL) {
        return ty_fail(err, TY_EIO, "%s: cannot be opened (%s)", path,
                       errno != 0 ? strerror(errno) : "memory is exhausted");
    }
    unsigned char *buf = malloc(CHUNK);
    r.scratch_cap = 1u << 16;
    r.scratch = malloc(r.scratch_cap);
    r.yajl = yajl_alloc(&callbacks, NULL, &r);
    make_key_slots(&r);
    int rc = TY_ENOMEM;
    if (buf != NULL && r.scratch != NULL && r.yajl != NULL) {
        (void)gzbuffer(in, CHUNK);
        rc = read_all(&r, in, buf);
    } else {
        (void)ty_profile_no_memory(&r);
    }
    file->rank.file = ty_arena_strndup(&store->arena, path, strlen(path));
    file->rank.gpu = file->rank.gpu != NULL ? file->rank.gpu : "";
    file->rank.json_B = r.chunk_at;
    if (rc == 0 && file->rank.file == NULL) {
        (void)ty_profile_no_memory(&r);
        rc = TY_ENOMEM;
    }
    if (r.yajl != NULL) {
        yajl_free(r.yajl);
    }
    free(buf);
    free(r.scratch);
    free(r.threads);
    (void)gzclose(in);
    return rc;
}
