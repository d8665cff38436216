/* json.c - a Kineto file as it streams by.
 *
 * yajl turns bytes into tokens; a state says where in the document a token is. Values that are
 * wanted are kept as text until their event ends, and looked at then, when its category is known
 * whatever the order of keys; all others are passed over. Of two equal keys the last one counts,
 * as in Python's json. Of what bounds memory against a hostile file, the depth and the bytes of an
 * event are here, the rest in stream.c. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/profile/read/read.h"

#define MAX_DEPTH   200u
#define MAX_EVENT   (8u << 20) /* bytes kept of one event */
#define MAX_GROUPS  (1u << 20)
#define MAX_MEMBERS (1u << 24)
#define NO_KEY      0xFFu /* in a slot */

static const struct {
    uint8_t outer;
    bool list;
    int8_t key;
} places[] = {
#define X(id, outer, key, list) [TY_IN_##id] = {TY_IN_##outer, list, TY_KEY_##key},
    TY_PROFILE_PLACES(X)
#undef X
};

static const struct {
    const char *text;
    uint8_t len, place;
} keys[TY_N_KEYS] = {
#define X(id, place, key) [TY_KEY_##id] = {key, sizeof(key) - 1, TY_IN_##place},
    TY_PROFILE_FIELDS(X) TY_PROFILE_OTHER_KEYS(X)
#undef X
};

/* ---- keys ---- */

/* Found by trying: keys that PyTorch writes meet none in their slot that they are not. */
static uint8_t key_hash(unsigned place, const unsigned char *key, size_t n)
{
    const size_t first = key[0], middle = key[n / 2], last = key[n - 1];
    return (uint8_t)(place * 17 + n * 9 + first * 6 + middle * 30 + last * 42);
}

void ty_profile_make_keys(struct ty_profile_reader *r)
{
    memset(r->key_slot, NO_KEY, sizeof(r->key_slot));
    for (int k = 0; k < TY_N_KEYS; k++) {
        uint8_t at = key_hash(keys[k].place, (const unsigned char *)keys[k].text, keys[k].len);
        while (r->key_slot[at] != NO_KEY) {
            at++;
        }
        r->key_slot[at] = (uint8_t)k;
    }
}

static int find_key(const struct ty_profile_reader *r, const unsigned char *key, size_t n)
{
    uint8_t at = n > 0 ? key_hash(r->where, key, n) : 0;
    for (; n > 0 && r->key_slot[at] != NO_KEY; at++) {
        const int k = r->key_slot[at];
        if (keys[k].place == r->where && keys[k].len == n && memcmp(keys[k].text, key, n) == 0) {
            return k == TY_KEY_EXTERNAL_1_11 ? TY_KEY_EXTERNAL : k;
        }
    }
    return TY_KEY_NONE;
}

int ty_profile_wrong_event(struct ty_profile_reader *r, int key, const char *format, ...)
{
    const bool of_args = key >= 0 && keys[key].place == TY_IN_ARGS;
    char message[400];
    va_list args;
    va_start(args, format);
    (void)ty_vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    const struct ty_place at = {.file = r->path, .line = r->event_line, .col = r->event_col};
    r->code = ty_fail_at(r->err, TY_EINPUT, &at, "traceEvents[%llu]%s%s%s: %s",
                         (unsigned long long)r->event, of_args ? ".args" : "", key >= 0 ? "." : "",
                         key >= 0 ? keys[key].text : "", message);
    return 0;
}

/* ---- texts of the event ---- */

static int keep(struct ty_profile_reader *r, const char *bytes, size_t n)
{
    while (r->scratch_cap - r->scratch_n < n + 1) {
        if (r->scratch_cap >= MAX_EVENT) {
            return ty_profile_wrong_event(r, TY_KEY_NONE,
                                          "more than %u MiB in one event; no profiler writes that",
                                          MAX_EVENT >> 20);
        }
        char *larger = realloc(r->scratch, 2 * (size_t)r->scratch_cap);
        if (larger == NULL) {
            return ty_profile_no_memory(r);
        }
        r->scratch = larger;
        r->scratch_cap *= 2;
    }
    memcpy(r->scratch + r->scratch_n, bytes, n);
    r->scratch_n += (uint32_t)n;
    r->scratch[r->scratch_n] = '\0';
    return 1;
}

static int keep_value(struct ty_profile_reader *r, enum ty_profile_value kind, const char *bytes,
                      size_t n)
{
    if (r->key == TY_KEY_CAT && r->field[r->key].kind != TY_VALUE_NONE) {
        return ty_profile_wrong_event(r, TY_KEY_CAT, "a second one; an event is of one category");
    }
    r->field[r->key] = (struct ty_profile_field){.from = r->scratch_n, .kind = (uint8_t)kind};
    if (!keep(r, bytes, n)) {
        return 0;
    }
    r->scratch_n++; /* its zero */
    if (r->key == TY_KEY_CAT) {
        r->cat = (uint8_t)ty_profile_cat_of(r->scratch + r->field[r->key].from);
    } else if (r->key == TY_KEY_PH) {
        r->complete = n == 1 && bytes[0] == 'X';
    }
    return 1;
}

/* Lists of texts are kept as lines, others as they stand: "[1,[2,3]]". */
static bool in_lines(const struct ty_profile_reader *r)
{
    return r->key == TY_KEY_TYPES || r->key == TY_KEY_VALUES;
}

static int keep_item(struct ty_profile_reader *r, const char *bytes, size_t n)
{
    if (in_lines(r)) {
        return keep(r, bytes, n) && keep(r, "\n", 1);
    }
    const char last = r->scratch_n > 0 ? r->scratch[r->scratch_n - 1] : '[';
    const bool first = last == '[' || last == '\0' || bytes[0] == ']';
    return (first || keep(r, ",", 1)) && keep(r, bytes, n);
}

/* ---- values ---- */

/* Whether the value of this key is a field of an event that may count. */
static bool wanted(const struct ty_profile_reader *r)
{
    return (r->where == TY_IN_EVENT || r->where == TY_IN_ARGS) && r->key >= 0 &&
           r->key < TY_N_FIELDS && r->cat != TY_EVENT_NOTHING;
}

/* Notes a text under its number. */
static int note_text(struct ty_profile_reader *r, const char *text, size_t n, uint32_t *out)
{
    *out = ty_profile_intern(r->store, text, strnlen(text, n)); /* "\u0000" ends a text */
    return *out != TY_PROFILE_NONE ? 1 : ty_profile_no_memory(r);
}

/* The process group that is being read. */
static struct ty_profile_pg *last_group(const struct ty_profile_file *file)
{
    assert(file->n_pgs > 0);
    return &file->pgs[file->n_pgs - 1];
}

/* A number outside of events. */
static int take_number(struct ty_profile_reader *r, const char *text, size_t n)
{
    static const struct {
        int key;
        int64_t most;
        const char *wrong;
    } numbers[] = {
        {TY_KEY_RANK, INT32_MAX - 1, "distributedInfo.rank: not the number of a rank"},
        {TY_KEY_WORLD, INT32_MAX, "distributedInfo.world_size: not a number of ranks"},
        {TY_KEY_BASE, TY_PROFILE_MAX_NS - 1,
         "baseTimeNanoseconds: not a number of nanoseconds since 1970"},
        {TY_KEY_LISTED_SIZE, MAX_MEMBERS, "pg_size: not a number of ranks"},
    };
    struct ty_profile_file *file = r->file;
    int64_t number;
    const bool whole = ty_profile_integer(text, n, &number) && number >= 0;
    for (size_t i = 0; i < TY_COUNT(numbers); i++) {
        if (r->key == numbers[i].key && (!whole || number > numbers[i].most)) {
            return ty_profile_fail_here(r, "%s", numbers[i].wrong);
        }
    }
    if (r->key == TY_KEY_RANK) {
        file->has_rank = true;
        file->rank.rank = (uint32_t)number;
    } else if (r->key == TY_KEY_WORLD) {
        file->rank.world = (uint32_t)number;
    } else if (r->key == TY_KEY_BASE) {
        file->base_ns = number;
    } else if (last_group(file)->ranks == NULL) {
        last_group(file)->n = (uint32_t)number;
    }
    return 1;
}

/* A number or a string that is no part of an event. */
static int other_value(struct ty_profile_reader *r, const char *text, size_t n, bool string)
{
    struct ty_profile_file *file = r->file;
    switch (r->key) {
    case TY_KEY_RANK:
    case TY_KEY_WORLD:
    case TY_KEY_BASE:
    case TY_KEY_LISTED_SIZE:
        return take_number(r, text, n);
    case TY_KEY_LISTED_NAME:
        return note_text(r, text, n, &last_group(file)->name);
    case TY_KEY_LISTED_DESC:
        return note_text(r, text, n, &last_group(file)->desc);
    case TY_KEY_GPU:
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
    int64_t rank;
    if (!ty_profile_integer(text, n, &rank) || rank < 0 || rank >= INT32_MAX ||
        pg->n >= MAX_MEMBERS) {
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

/* A step that trainyard wrote a part of. */
static int add_cut(struct ty_profile_reader *r, const char *text, size_t n)
{
    struct ty_profile_file *file = r->file;
    int64_t step;
    if (!ty_profile_integer(text, n, &step) || step < 0 || step >= TY_PROFILE_STEPS) {
        return ty_profile_fail_here(r, "trainyardCutSteps: not the number of a step");
    }
    if (!TY_PROFILE_GROW(file->cuts, file->n_cuts, file->cap_cuts)) {
        return ty_profile_no_memory(r);
    }
    file->cuts[file->n_cuts++] = (uint32_t)step;
    return 1;
}

static int scalar(struct ty_profile_reader *r, enum ty_profile_value kind, const char *text,
                  size_t n)
{
    const bool told = kind == TY_VALUE_NUMBER || kind == TY_VALUE_STRING;
    r->last_value_at = r->chunk_at;
    if (r->skip > 0) {
        return 1;
    }
    switch (r->where) {
    case TY_IN_EVENT:
    case TY_IN_ARGS:
        return wanted(r) ? keep_value(r, kind, text, n) : 1;
    case TY_IN_LIST:
        return keep_item(r, text, n);
    case TY_IN_RANKS:
        return told ? add_member(r, text, n) : ty_profile_fail_here(r, "not a rank");
    case TY_IN_CUT:
        return add_cut(r, text, n);
    case TY_IN_START:
        return ty_profile_fail_here(
            r, "not a trace: a single value; a PyTorch profile is a JSON object with "
               "traceEvents");
    case TY_IN_EVENTS:
        return ty_profile_fail_here(r, "traceEvents: an event that is no object");
    default:
        return told ? other_value(r, text, n, kind == TY_VALUE_STRING) : 1;
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
        r->key = find_key(r, key, n);
        r->file->own = r->file->own || r->key == TY_KEY_OWN;
    }
    return 1;
}

/* ---- objects and lists ---- */

static int begin_event(struct ty_profile_reader *r)
{
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
    if (file->n_pgs >= MAX_GROUPS || !TY_PROFILE_GROW(file->pgs, file->n_pgs, file->cap_pgs)) {
        return ty_profile_no_memory(r);
    }
    file->pgs[file->n_pgs++] = (struct ty_profile_pg){.n = 0};
    return 1;
}

static int enter(struct ty_profile_reader *r, enum ty_profile_place place)
{
    const bool once = place == TY_IN_EVENTS || place == TY_IN_INFO;
    if (once && (r->seen >> place & 1u) != 0) {
        return ty_profile_fail_here(r, "%s: a second one", keys[r->key].text);
    }
    r->seen |= 1u << place;
    r->where = (uint8_t)place;
    if (place == TY_IN_RANKS) {
        last_group(r->file)->n = 0;
        last_group(r->file)->ranks = NULL;
    }
    return place == TY_IN_EVENT ? begin_event(r) : place == TY_IN_GROUP ? begin_group(r) : 1;
}

/* A list or an object without a row in `places`. */
static int pass_over(struct ty_profile_reader *r, bool list)
{
    if (list && r->where == TY_IN_START) {
        return ty_profile_fail_here(
            r, "a list of events, not a Kineto trace: that is an object with "
               "traceEvents; record with torch.profiler of a PyTorch that has Kineto");
    }
    if (list && r->where == TY_IN_EVENTS) {
        return ty_profile_fail_here(r, "traceEvents: an event that is no object");
    }
    if (wanted(r) && !keep_value(r, TY_VALUE_OTHER, "", 0)) {
        return 0;
    }
    r->skip++;
    return 1;
}

static int begin(struct ty_profile_reader *r, bool list)
{
    r->last_value_at = r->chunk_at;
    if (++r->depth > MAX_DEPTH) {
        return ty_profile_fail_here(r, "nested more than %u deep; no profiler writes that",
                                    MAX_DEPTH);
    }
    if (r->skip > 0) {
        r->skip++;
        return 1;
    }
    if (list && r->where == TY_IN_LIST) {
        r->list++;
        return in_lines(r) || keep_item(r, "[", 1);
    }
    if (list && r->where == TY_IN_ARGS && wanted(r)) {
        r->where = TY_IN_LIST;
        r->list = 1;
        r->field[r->key] = (struct ty_profile_field){.from = r->scratch_n, .kind = TY_VALUE_LIST};
        return keep(r, "[", in_lines(r) ? 0 : 1);
    }
    for (size_t i = TY_IN_TOP; i < TY_COUNT(places); i++) {
        if (places[i].outer == r->where && places[i].list == list &&
            (places[i].key == TY_KEY_NONE || places[i].key == r->key)) {
            return enter(r, (enum ty_profile_place)i);
        }
    }
    return pass_over(r, list);
}

/* Out of a place; 0 stops the reader. */
static int leave(struct ty_profile_reader *r)
{
    const enum ty_profile_place place = (enum ty_profile_place)r->where;
    int go_on = 1;
    if (place == TY_IN_EVENT) {
        go_on = ty_profile_event_end(r);
        r->event++;
    } else if (place == TY_IN_RANKS) {
        last_group(r->file)->whole = last_group(r->file)->n > 0;
    }
    r->where = place == TY_IN_TOP ? TY_IN_END : places[place].outer;
    r->key = TY_KEY_NONE;
    return go_on;
}

static int on_end(void *ctx)
{
    struct ty_profile_reader *r = ctx;
    r->depth--;
    if (r->skip > 0) {
        r->skip--;
        return 1;
    }
    if (r->where != TY_IN_LIST) {
        return leave(r);
    }
    if (!in_lines(r) && !keep_item(r, "]", 1)) {
        return 0;
    }
    if (--r->list == 0) {
        r->scratch_n++; /* its zero */
        r->where = TY_IN_ARGS;
        r->key = TY_KEY_NONE;
    }
    return 1;
}

static int on_map(void *ctx)
{
    return begin(ctx, false);
}

static int on_array(void *ctx)
{
    return begin(ctx, true);
}

const yajl_callbacks ty_profile_callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_end,
};
