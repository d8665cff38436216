/* columns.c - slices as columns of variable-length numbers, deflated, in base64.
 *
 * A number is cut into groups of seven bits, the lowest first; the top bit of a byte says that more
 * follow. Signed numbers z are written as 2 z or -2 z - 1. Columns:
 *
 *   dense    one number a slice
 *   tokens   the same where few values recur: 2 i is value i of those seen, 2 x + 1 the new value x
 *   sparse   pairs: slices skipped since the last one that has a value, and the value
 *
 * Micro-batches, stages and causes go on in a regular way, so what is written is how far each is
 * from what one would expect after the last slice of that kind in its lane: the next micro-batch,
 * the same stage, the next cause. A slice is expected to start when its cause has ended, where that
 * one is written before it, and else when its lane is free. A pass lasts as long as its mix: only
 * others have a duration of their own. Rows of a pipeline repeat each other, which is what deflate
 * is good at. */
#include <stdlib.h>
#include <zlib.h>

#include "traces/page/page.h"

#define PACK_LEVEL  9            /* columns are a few MB at most */
#define PACK_WINDOW (-MAX_WBITS) /* negative: no wrapper (zlib manual, deflateInit2) */
#define PACK_MEMORY 9            /* zlib's most */

static void put_base64(struct ty_out *out, const unsigned char *s, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t x = (uint32_t)s[i] << 16 | (left > 1 ? (uint32_t)s[i + 1] << 8 : 0) |
                           (left > 2 ? s[i + 2] : 0);
        const char four[4] = {digits[x >> 18], digits[x >> 12 & 63],
                              left > 1 ? digits[x >> 6 & 63] : '=',
                              left > 2 ? digits[x & 63] : '='};
        ty_out_bytes(out, four, 4);
    }
}

/* Bytes[n] by raw deflate, as base64: letters, digits, + / =. TY_ENOMEM. */
static int page_put_packed(struct ty_out *out, const char *bytes, size_t n)
{
    z_stream z = {.next_in = Z_NULL};
    /* zlib takes a non-const pointer unless ZLIB_CONST is defined, and only reads through it */
    union {
        const char *in;
        unsigned char *z;
    } cast = {.in = bytes};
    if (deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, PACK_WINDOW, PACK_MEMORY, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return TY_ENOMEM;
    }
    const uLong room = deflateBound(&z, (uLong)n);
    unsigned char *packed = malloc(room);
    if (packed != NULL) {
        z.next_in = cast.z;
        z.avail_in = (uInt)n; /* of at most a million slices: far below 4 GiB */
        z.next_out = packed;
        z.avail_out = (uInt)room;
        (void)deflate(&z, Z_FINISH); /* cannot run out of room */
        put_base64(out, packed, (size_t)z.total_out);
    }
    deflateEnd(&z);
    free(packed);
    return packed != NULL ? 0 : TY_ENOMEM;
}

/* ---- columns ---- */

static void add_number(struct ty_text *t, uint64_t x)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (char)((x & 0x7f) | (x > 0x7f ? 0x80 : 0));
        x >>= 7;
    } while (x > 0);
    ty_text_bytes(t, bytes, n);
}

static uint64_t zigzag(int64_t z)
{
    return z < 0 ? 2 * (uint64_t)(-(z + 1)) + 1 : 2 * (uint64_t)z;
}

#define TOKENS_BACK 64u /* a value is looked for among so many; it may be written again */

struct tokens {
    uint64_t back[TOKENS_BACK];
    uint64_t n;
};

static void add_token(struct ty_text *t, struct tokens *tokens, uint64_t x)
{
    for (uint64_t k = 1; k <= tokens->n && k <= TOKENS_BACK; k++) {
        if (tokens->back[(tokens->n - k) % TOKENS_BACK] == x) {
            add_number(t, 2 * (tokens->n - k));
            return;
        }
    }
    tokens->back[tokens->n++ % TOKENS_BACK] = x;
    add_number(t, 2 * x + 1);
}

/* Writes a column and empties it. */
static int put_column(struct ty_json *j, const char *name, struct ty_text *t)
{
    ty_json_key(j, name);
    ty_out_str(j->to, "\"");
    const int rc = t->failed ? TY_ENOMEM : page_put_packed(j->to, t->data, t->len);
    ty_out_str(j->to, "\"");
    ty_text_release(t);
    return rc;
}

/* What the last slice of each kind had in the lane at hand; before the first, zeros. */
struct last {
    int64_t mb, stage, before;
};

struct columns {
    const struct ty_page *page;
    struct ty_text text;
    struct tokens tokens;
    struct last *last; /* [kinds] */
    int64_t next_mix;  /* after the last slice that has one */
};

static bool begins_lane(const struct ty_page *page, uint32_t i)
{
    const struct ty_page_slice *s = &page->slice[i];
    return i == 0 || s[-1].row != s->row || s[-1].lane != s->lane;
}

/* Of the lane at hand; the caller goes through slices in order. */
static struct last *last_of(struct columns *c, uint32_t i)
{
    if (begins_lane(c->page, i)) {
        memset(c->last, 0, c->page->n_kinds * sizeof(*c->last));
    }
    return &c->last[c->page->slice[i].kind];
}

/* ---- dense columns ---- */

static ty_ps end_of(const struct ty_page_slice *s)
{
    return s->start + s->dur;
}

/* Of an idle stretch the cause is what ended it. */
static ty_ps expected_start(const struct ty_page *page, uint32_t i)
{
    const struct ty_page_slice *s = &page->slice[i];
    if (s->before < i && page->kind[s->kind].sort != TY_PAGE_IDLE) {
        return end_of(&page->slice[s->before]) + s->delay;
    }
    return begins_lane(page, i) ? 0 : end_of(s - 1);
}

static void add_start(struct columns *c, uint32_t i)
{
    const int64_t off = (int64_t)(c->page->slice[i].start - expected_start(c->page, i));
    add_token(&c->text, &c->tokens, zigzag(off));
}

static void add_dur(struct columns *c, uint32_t i)
{
    const struct ty_page_slice *s = &c->page->slice[i];
    if (s->mix == TY_PAGE_NONE) {
        add_token(&c->text, &c->tokens, s->dur);
    }
}

static void add_kind(struct columns *c, uint32_t i)
{
    add_number(&c->text, c->page->slice[i].kind);
}

/* How, in the lowest three bits; then how far the cause is from the one expected, counting causes
 * from 1 and none as 0. */
static void add_cause(struct columns *c, uint32_t i)
{
    const struct ty_page_slice *s = &c->page->slice[i];
    struct last *last = last_of(c, i);
    const int64_t before = s->before == TY_PAGE_NONE ? 0 : (int64_t)s->before + 1;
    add_number(&c->text, zigzag(before - last->before - 1) * 8 + s->how);
    last->before = before;
}

static const struct {
    const char *name;
    void (*add)(struct columns *c, uint32_t i);
} dense[] = {{"start", add_start}, {"dur", add_dur}, {"kind", add_kind}, {"cause", add_cause}};

/* ---- sparse columns: a value, 0 being none ---- */

static uint64_t value_of_mb(struct columns *c, uint32_t i)
{
    struct last *last = last_of(c, i);
    const uint16_t mb = c->page->slice[i].mb;
    const int64_t value = mb == TY_NONE ? 0 : (int64_t)mb + 1, off = value - last->mb - 1;
    last->mb = value;
    return zigzag(off);
}

static uint64_t value_of_stage(struct columns *c, uint32_t i)
{
    struct last *last = last_of(c, i);
    const uint16_t stage = c->page->slice[i].stage;
    const int64_t value = stage == TY_NONE ? 0 : (int64_t)stage + 1, off = value - last->stage;
    last->stage = value;
    return zigzag(off);
}

static uint64_t value_of_layer(struct columns *c, uint32_t i)
{
    const uint16_t layer = c->page->slice[i].layer;
    return layer == TY_NONE ? 0 : (uint64_t)layer + 1;
}

static uint64_t value_of_step(struct columns *c, uint32_t i)
{
    return c->page->slice[i].step;
}

static uint64_t value_of_mix(struct columns *c, uint32_t i)
{
    const uint32_t mix = c->page->slice[i].mix;
    if (mix == TY_PAGE_NONE) {
        return 0;
    }
    const uint64_t off = zigzag((int64_t)mix - c->next_mix);
    c->next_mix = (int64_t)mix + 1;
    return off + 1;
}

static uint64_t value_of_via(struct columns *c, uint32_t i)
{
    const uint32_t via = c->page->slice[i].via;
    return via == TY_PAGE_NONE ? 0 : (uint64_t)via + 1;
}

static uint64_t value_of_delay(struct columns *c, uint32_t i)
{
    return c->page->slice[i].delay;
}

static uint64_t value_of_open(struct columns *c, uint32_t i)
{
    return c->page->slice[i].open;
}

static const struct {
    const char *name;
    uint64_t (*value)(struct columns *c, uint32_t i);
} sparse[] = {{"mb", value_of_mb},       {"stage", value_of_stage}, {"layer", value_of_layer},
              {"step", value_of_step},   {"mix", value_of_mix},     {"via", value_of_via},
              {"delay", value_of_delay}, {"open", value_of_open}};

static void add_sparse(struct columns *c, uint64_t (*value)(struct columns *c, uint32_t i))
{
    uint32_t skipped = 0;
    for (uint32_t i = 0; i < c->page->n_slices; i++) {
        const uint64_t x = value(c, i);
        if (x != 0) {
            add_number(&c->text, skipped);
            add_number(&c->text, x);
        }
        skipped = x != 0 ? 0 : skipped + 1;
    }
}

static int put_columns(const struct ty_page *page, struct ty_json *j)
{
    struct columns c = {.page = page, .last = calloc((size_t)page->n_kinds + 1, sizeof(*c.last))};
    int rc = c.last == NULL ? TY_ENOMEM : 0;
    ty_json_line(j, 0);
    ty_json_object(j, "columns");
    ty_json_rows(j);
    for (size_t k = 0; k < TY_COUNT(dense) && rc == 0; k++) {
        c.tokens.n = 0;
        for (uint32_t i = 0; i < page->n_slices; i++) {
            dense[k].add(&c, i);
        }
        rc = put_column(j, dense[k].name, &c.text);
    }
    for (size_t k = 0; k < TY_COUNT(sparse) && rc == 0; k++) {
        add_sparse(&c, sparse[k].value);
        rc = put_column(j, sparse[k].name, &c.text);
    }
    ty_json_end(j);
    free(c.last);
    return rc;
}

/* ---- what columns refer to ---- */

static void put_lanes(const struct ty_page *page, struct ty_json *j)
{
    const struct ty_program *p = page->program;
    ty_json_line(j, 0);
    ty_json_array(j, "lanes");
    for (uint32_t i = 0, first = 0; i < page->n_slices; i++) {
        const struct ty_page_slice *s = &page->slice[i];
        if (i + 1 == page->n_slices || s[1].row != s->row || s[1].lane != s->lane) {
            ty_json_array(j, NULL);
            ty_json_whole(j, NULL, s->row);
            ty_json_whole(j, NULL, s->lane);
            ty_json_whole(j, NULL, i + 1 - first);
            ty_json_end(j);
            first = i + 1;
        }
    }
    ty_json_end(j);
    ty_json_line(j, 0);
    ty_json_array(j, "lane_names");
    ty_json_text(j, NULL, ty_stream_name(p, TY_STREAM_COMPUTE));
    ty_json_text(j, NULL, "parts of layers");
    ty_json_text(j, NULL, "operations");
    for (uint32_t l = 1; l < p->n_lanes; l++) {
        ty_json_text(j, NULL, ty_stream_name(p, p->stream_of[l]));
    }
    ty_json_end(j);
}

static void put_kind(const struct ty_page *page, const struct ty_page_kind *kind, struct ty_json *j)
{
    static const char *const sorts[] = {
#define X(id, word) word,
        TY_PAGE_SORTS(X)
#undef X
    };
    ty_json_object(j, NULL);
    ty_json_text(j, "sort", sorts[kind->sort]);
    ty_json_text(j, "name", kind->name);
    if (kind->sort != TY_PAGE_IDLE) {
        ty_json_text(j, "cat", ty_category(page->program, kind->category)->name);
    }
    if (kind->group != NULL) {
        ty_json_text(j, "group", kind->group);
    }
    if (kind->algorithm != NULL) {
        ty_json_text(j, "algorithm", kind->algorithm);
    }
    if (kind->bytes > 0) {
        ty_json_real(j, "bytes", kind->bytes);
    }
    if (kind->block != TY_PAGE_NONE) {
        const struct ty_block *block = &page->program->blocks[kind->block];
        ty_json_real(j, "acquire", block->acquire_B);
        ty_json_real(j, "release", block->release_B);
        ty_json_real(j, "transient", block->transient_B);
    }
    ty_json_end(j);
}

static void put_kinds(const struct ty_page *page, struct ty_json *j)
{
    ty_json_line(j, 0);
    ty_json_array(j, "kinds");
    ty_json_rows(j);
    for (uint32_t i = 0; i < page->n_kinds; i++) {
        put_kind(page, &page->kind[i], j);
    }
    ty_json_end(j);
}

/* How many buckets; each with its time. */
static int put_mixes(const struct ty_page *page, struct ty_json *j)
{
    struct ty_text t = {.data = NULL};
    for (uint32_t i = 0; i < page->n_mixes; i++) {
        const ty_ps *bucket = page->mix[i].bucket;
        uint32_t n = 0;
        for (uint32_t b = 0; b < page->program->words->n_buckets; b++) {
            n += bucket[b] > 0;
        }
        add_number(&t, n);
        for (uint32_t b = 0; b < page->program->words->n_buckets; b++) {
            if (bucket[b] > 0) {
                add_number(&t, b);
                add_number(&t, bucket[b]);
            }
        }
    }
    ty_json_line(j, 0);
    return put_column(j, "mixes", &t);
}

static void put_words(const struct ty_vocabulary *words, struct ty_json *j)
{
    static const char *const hows[] = {
#define X(id, word) word,
        TY_PAGE_HOWS(X)
#undef X
    };
    ty_json_line(j, 0);
    ty_json_array(j, "buckets");
    for (uint32_t b = 0; b < words->n_buckets; b++) {
        ty_json_text(j, NULL, words->buckets[b].name);
    }
    ty_json_end(j);
    ty_json_line(j, 0);
    ty_json_array(j, "hows");
    for (size_t h = 0; h < TY_COUNT(hows); h++) {
        ty_json_text(j, NULL, hows[h]);
    }
    ty_json_end(j);
}

/* Slice + 1 (0: not shown), rank where it is not shown, time. */
static int put_path(const struct ty_page *page, struct ty_json *j)
{
    struct ty_text t = {.data = NULL};
    for (uint32_t i = 0; i < page->n_path; i++) {
        const struct ty_page_step *step = &page->path[i];
        const bool hidden = step->slice == TY_PAGE_NONE;
        add_number(&t, hidden ? 0 : (uint64_t)step->slice + 1);
        if (hidden) {
            add_number(&t, step->rank);
        }
        add_number(&t, step->dur);
    }
    ty_json_line(j, 0);
    return put_column(j, "path", &t);
}

int ty_page_put(const struct ty_page *page, struct ty_json *j, struct ty_err *err)
{
    ty_json_line(j, 0);
    ty_json_whole(j, "n_slices", page->n_slices);
    put_lanes(page, j);
    put_words(page->program->words, j);
    put_kinds(page, j);
    if (put_mixes(page, j) < 0 || put_columns(page, j) < 0 || put_path(page, j) < 0) {
        return ty_fail_memory(err);
    }
    return 0;
}
