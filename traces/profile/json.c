/* json.c - a Kineto file as it streams by.
 *
 * yajl turns bytes into tokens; a state says where in the document a token is. Values that are
 * wanted are kept as text until their event ends, and looked at then, when its category is known
 * whatever the order of keys; all others are passed over. Of two equal keys the last one counts,
 * as in Python's json. Of what bounds memory against a hostile file, the depth and the bytes of an
 * event are here, the rest in stream.c. */
#include "traces/profile/json.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH   200u
#define MAX_EVENT   (8u << 20) /* bytes kept of one event */
#define MAX_GROUPS  (1u << 20)
#define MAX_MEMBERS (1u << 24)

/* ---- texts of the event ---- */

static bool keep(struct ty_profile_reader *r, const char *bytes, size_t n)
{
    while (r->scratch_cap - r->scratch_n < n + 1) {
        if (r->scratch_cap >= MAX_EVENT) {
            return false;
        }
        char *larger = realloc(r->scratch, 2 * (size_t)r->scratch_cap);
        if (larger == NULL) {
            (void)ty_profile_no_memory(r);
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

/* What keep could not keep: told here unless it was. */
static int too_long(struct ty_profile_reader *r)
{
    if (r->code != 0) {
        return 0;
    }
    return ty_profile_wrong_event(r, -1, "more than %u MiB in one event; no profiler writes that",
                                  MAX_EVENT >> 20);
}

static int keep_value(struct ty_profile_reader *r, enum ty_profile_value kind, const char *bytes,
                      size_t n)
{
    if (r->key == TY_KEY_CAT && r->field[r->key].kind != TY_VALUE_NONE) {
        return ty_profile_wrong_event(r, TY_KEY_CAT, "a second one; an event is of one category");
    }
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

/* A whole number from 0; -1: the text is none. */
static int64_t whole(const char *text, size_t n)
{
    char buf[32];
    int64_t number = -1;
    const size_t kept = n < sizeof(buf) ? n : sizeof(buf) - 1;
    memcpy(buf, text, kept);
    buf[kept] = '\0';
    const bool is_number = n < sizeof(buf) && ty_profile_integer(buf, &number);
    return is_number && number >= 0 ? number : -1;
}

/* Notes a text under its number. */
static int note_text(struct ty_profile_reader *r, const char *text, size_t n, uint32_t *out)
{
    *out = ty_profile_intern(r->store, text, n);
    return *out != TY_PROFILE_NONE ? 1 : ty_profile_no_memory(r);
}

/* The process group that is being read. */
static struct ty_profile_pg *last_group(const struct ty_profile_file *file)
{
    assert(file->n_pgs > 0);
    return &file->pgs[file->n_pgs - 1];
}

/* A number or a string that is no part of an event. */
static int other_value(struct ty_profile_reader *r, const char *text, size_t n, bool string)
{
    struct ty_profile_file *file = r->file;
    const int64_t number = whole(text, n);
    switch (r->key) {
    case TY_OTHER_RANK:
        if (number < 0 || number > INT32_MAX - 1) {
            return ty_profile_fail_here(r, "distributedInfo.rank: not the number of a rank");
        }
        file->has_rank = true;
        file->rank.rank = (uint32_t)number;
        return 1;
    case TY_OTHER_WORLD:
        if (number < 0 || number > INT32_MAX) {
            return ty_profile_fail_here(r, "distributedInfo.world_size: not a number of ranks");
        }
        file->rank.world = (uint32_t)number;
        return 1;
    case TY_OTHER_BASE:
        if (number < 0 || number >= TY_PROFILE_MAX_NS) {
            return ty_profile_fail_here(
                r, "baseTimeNanoseconds: not a number of nanoseconds since 1970");
        }
        file->base_ns = number;
        return 1;
    case TY_OTHER_GROUP_NAME:
        return note_text(r, text, n, &last_group(file)->name);
    case TY_OTHER_GROUP_DESC:
        return note_text(r, text, n, &last_group(file)->desc);
    case TY_OTHER_GROUP_SIZE:
        if (number < 0 || number > MAX_MEMBERS) {
            return ty_profile_fail_here(r, "pg_size: not a number of ranks");
        }
        if (last_group(file)->ranks == NULL) {
            last_group(file)->n = (uint32_t)number;
        }
        return 1;
    case TY_OTHER_GPU:
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
    struct ty_profile_pg *pg = last_group(r->file);
    char buf[32];
    int64_t rank;
    const size_t kept = n < sizeof(buf) ? n : sizeof(buf) - 1;
    memcpy(buf, text, kept);
    buf[kept] = '\0';
    if (!ty_profile_integer(buf, &rank) || rank < 0 || rank >= INT32_MAX || pg->n >= MAX_MEMBERS) {
        return ty_profile_fail_here(r, "pg_config: not the number of a rank");
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
    case TY_IN_EVENT:
    case TY_IN_ARGS:
        return wanted(r) ? keep_value(r, kind, text, n) : 1;
    case TY_IN_LIST:
        return wanted(r) ? keep_item(r, text, n) : 1;
    case TY_IN_RANKS:
        return kind == TY_VALUE_NUMBER || kind == TY_VALUE_STRING
                   ? add_member(r, text, n)
                   : ty_profile_fail_here(r, "not a rank");
    case TY_IN_START:
        return ty_profile_fail_here(
            r, "not a trace: a single value; a PyTorch profile is a JSON object with "
               "traceEvents");
    case TY_IN_EVENTS:
        return ty_profile_fail_here(r, "traceEvents: an event that is no object");
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

static int on_key(void *ctx, const unsigned char *key, size_t n)
{
    struct ty_profile_reader *r = ctx;
    r->last_value_at = r->chunk_at;
    if (r->skip == 0) {
        r->key = ty_profile_find_key(r, key, n);
        r->file->own = r->file->own || r->key == TY_OTHER_OWN;
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
        return ty_profile_fail_here(r, message);
    }
    return 1;
}

static int begin_event(struct ty_profile_reader *r)
{
    r->where = TY_IN_EVENT;
    memset(r->field, 0, sizeof(r->field));
    r->scratch_n = 0;
    r->cat = TY_EVENT_UNKNOWN;
    r->complete = false;
    ty_profile_count(r);
    r->event_line = r->line;
    r->event_col = r->col > 1 ? r->col - 1 : 1; /* of the brace, which is behind us */
    return 1;
}

static int begin_group(struct ty_profile_reader *r)
{
    struct ty_profile_file *file = r->file;
    if (file->n_pgs >= MAX_GROUPS ||
        !ty_profile_grow(&file->pgs, file->n_pgs, &file->cap_pgs, sizeof(*file->pgs))) {
        return ty_profile_no_memory(r);
    }
    file->pgs[file->n_pgs++] = (struct ty_profile_pg){.n = 0};
    r->where = TY_IN_GROUP;
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
        case TY_IN_START:
            r->where = TY_IN_TOP;
            return 1;
        case TY_IN_EVENTS:
            return begin_event(r);
        case TY_IN_GROUPS:
            return begin_group(r);
        case TY_IN_DEVICES:
            r->where = TY_IN_DEVICE;
            return 1;
        case TY_IN_TOP:
            if (key == TY_OTHER_DISTRIBUTED && r->seen_info) {
                return ty_profile_fail_here(r, "distributedInfo: a second one");
            }
            if (key == TY_OTHER_DISTRIBUTED) {
                r->seen_info = true;
                r->where = TY_IN_INFO;
                return 1;
            }
            break;
        case TY_IN_EVENT:
            if (key == TY_OTHER_ARGS) {
                r->where = TY_IN_ARGS;
                return 1;
            }
            break;
        default:
            break;
        }
        if ((r->where == TY_IN_EVENT || r->where == TY_IN_ARGS) && wanted(r) &&
            !keep_value(r, TY_VALUE_OTHER, "", 0)) {
            return 0;
        }
    }
    r->skip++;
    return 1;
}

/* A list that the reader follows where it stands: what is in it, or TY_IN_START. */
static enum ty_profile_where list_here(const struct ty_profile_reader *r)
{
    static const struct {
        enum ty_profile_where where, inside;
        int key;
    } lists[] = {
        {TY_IN_TOP, TY_IN_EVENTS, TY_OTHER_TRACE_EVENTS},
        {TY_IN_TOP, TY_IN_DEVICES, TY_OTHER_DEVICES},
        {TY_IN_INFO, TY_IN_GROUPS, TY_OTHER_PG_CONFIG},
        {TY_IN_GROUP, TY_IN_RANKS, TY_OTHER_GROUP_RANKS},
    };
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        if (r->where == lists[i].where && r->key == lists[i].key) {
            return lists[i].inside;
        }
    }
    return TY_IN_START;
}

static int enter_list(struct ty_profile_reader *r, enum ty_profile_where inside)
{
    if (inside == TY_IN_EVENTS && r->seen_events) {
        return ty_profile_fail_here(r, "traceEvents: a second one");
    }
    r->seen_events = r->seen_events || inside == TY_IN_EVENTS;
    r->where = (uint8_t)inside;
    if (inside == TY_IN_RANKS) {
        last_group(r->file)->n = 0;
        last_group(r->file)->ranks = NULL;
    }
    return 1;
}

static int on_array(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    if (!deeper(r)) {
        return 0;
    }
    const enum ty_profile_where inside = list_here(r);
    if (r->skip > 0) {
        r->skip++;
    } else if (r->where == TY_IN_START) {
        return ty_profile_fail_here(
            r, "a list of events, not a Kineto trace: that is an object with "
               "traceEvents; record with torch.profiler of a PyTorch that has Kineto");
    } else if (inside != TY_IN_START) {
        return enter_list(r, inside);
    } else if (r->where == TY_IN_EVENTS) {
        return ty_profile_fail_here(r, "traceEvents: an event that is no object");
    } else if (r->where == TY_IN_ARGS && wanted(r)) {
        r->where = TY_IN_LIST;
        r->list = 1;
        r->field[r->key] = (struct ty_profile_field){.from = r->scratch_n, .kind = TY_VALUE_LIST};
        return keep(r, "[", in_lines(r) ? 0 : 1) ? 1 : too_long(r);
    } else if (r->where == TY_IN_LIST) {
        r->list++;
        return in_lines(r) ? 1 : keep_item(r, "[", 1);
    } else {
        if (r->where == TY_IN_EVENT && wanted(r) && !keep_value(r, TY_VALUE_OTHER, "", 0)) {
            return 0;
        }
        r->skip++;
    }
    return 1;
}

static int on_map_end(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    static const uint8_t outer[] = {
        [TY_IN_TOP] = TY_IN_END,        [TY_IN_INFO] = TY_IN_TOP,     [TY_IN_GROUP] = TY_IN_GROUPS,
        [TY_IN_DEVICE] = TY_IN_DEVICES, [TY_IN_EVENT] = TY_IN_EVENTS, [TY_IN_ARGS] = TY_IN_EVENT};
    r->depth--;
    if (r->skip > 0) {
        r->skip--;
        return 1;
    }
    if (r->where == TY_IN_EVENT) {
        const int go_on = ty_profile_event_end(r);
        r->event++;
        r->where = TY_IN_EVENTS;
        return go_on;
    }
    r->where = outer[r->where];
    r->key = -1;
    return 1;
}

static int on_array_end(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    static const uint8_t outer[] = {[TY_IN_GROUPS] = TY_IN_INFO,
                                    [TY_IN_RANKS] = TY_IN_GROUP,
                                    [TY_IN_DEVICES] = TY_IN_TOP,
                                    [TY_IN_EVENTS] = TY_IN_TOP};
    r->depth--;
    if (r->skip > 0) {
        r->skip--;
    } else if (r->where != TY_IN_LIST) {
        if (r->where == TY_IN_RANKS) {
            last_group(r->file)->whole = last_group(r->file)->n > 0;
        }
        r->where = outer[r->where];
        r->key = -1;
    } else {
        r->list--;
        if (!in_lines(r) && !keep_item(r, "]", 1)) {
            return 0;
        }
    }
    if (r->where == TY_IN_LIST && r->list == 0) {
        r->scratch_n++; /* its zero */
        r->where = TY_IN_ARGS;
        r->key = -1;
    }
    return 1;
}

const yajl_callbacks ty_profile_callbacks = {
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
