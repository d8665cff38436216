/* coll.c - "all-reduce:0-1:64MiB": a collective between pipeline ranks, in a schedule file.
 *
 * Name, group and size stand at every rank that issues it, as they do in a training script. Whether
 * all ranks say the same is not looked at here: like NCCL, the simulated ranks find out. */
#include <stdio.h>
#include <string.h>

#include "model/orders/internal.h"
#include "sim/base/text.h"
#include "topology/collectives/coll.h"

#define SIZE_BYTES 64u /* longest text of a size, and more */

static const char form[] = "write a collective as its name, pipeline ranks and size, such as "
                           "all-reduce:0-1:64MiB or all-gather:0,2-3:1MB; names are all-reduce, "
                           "all-gather, reduce-scatter, broadcast, reduce, all-to-all";
static const char ranks_form[] = "write the ranks of a collective in ascending order, at least "
                                 "two of them, such as 0-3 or 0,2";

bool ty_slots_is_coll(const struct ty_slots_word *word)
{
    const size_t n = (size_t)(word->end - word->at);
    return *word->at >= 'a' && *word->at <= 'z' &&
           (memchr(word->at, ':', n) != NULL || memchr(word->at, '-', n) != NULL);
}

static bool read_name(const char *at, const char *end, uint8_t *coll)
{
    for (int i = 0; i < TY_N_COLLECTIVES; i++) {
        const char *name = ty_coll_name((enum ty_coll)i);
        if (i != TY_COLL_SEND_RECV && strlen(name) == (size_t)(end - at) &&
            memcmp(name, at, strlen(name)) == 0) {
            *coll = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* "0-1,3" into spans: ascending; neighbours become one. */
static bool read_ranks(const char *at, const char *end, struct ty_rank_span *spans,
                       struct ty_slot_coll *c)
{
    for (;;) {
        struct ty_rank_span span;
        if (!ty_scan_number(&at, end, TY_SLOTS_MAX_RANK, &span.first)) {
            return false;
        }
        span.last = span.first;
        if (at < end && *at == '-') {
            at++;
            if (!ty_scan_number(&at, end, TY_SLOTS_MAX_RANK, &span.last) ||
                span.last <= span.first) {
                return false;
            }
        }
        struct ty_rank_span *before = c->n_spans > 0 ? &spans[c->n_spans - 1] : NULL;
        if (before != NULL && span.first <= before->last) {
            return false;
        }
        c->n_ranks += span.last - span.first + 1;
        if (before != NULL && span.first == before->last + 1) {
            before->last = span.last;
        } else {
            spans[c->n_spans++] = span;
        }
        if (at == end) {
            return c->n_ranks >= 2;
        }
        if (*at++ != ',') {
            return false;
        }
    }
}

static char *write_ranks(const struct ty_slot_coll *c, struct ty_arena *arena)
{
    char *text = ty_arena_alloc(arena, (size_t)c->n_spans * 12 + 1, 1); /* "65535-65535," */
    char *p = text;
    for (uint32_t i = 0; text != NULL && i < c->n_spans; i++) {
        if (i > 0) {
            *p++ = ',';
        }
        p = ty_slots_write_number(p, c->spans[i].first);
        if (c->spans[i].last > c->spans[i].first) {
            *p++ = '-';
            p = ty_slots_write_number(p, c->spans[i].last);
        }
    }
    if (text != NULL) {
        *p = '\0';
    }
    return text;
}

static bool read_size(const char *at, const char *end, double *bytes)
{
    char text[SIZE_BYTES], why[160];
    const size_t n = (size_t)(end - at);
    if (n >= sizeof(text)) {
        return false;
    }
    memcpy(text, at, n);
    text[n] = '\0';
    return ty_quantity_parse(text, TY_DIM_BYTES, bytes, why, sizeof(why)) == 0 && *bytes > 0;
}

/* Name, group and size between the colons. NULL, or what would be right. */
static const char *read_coll(const struct ty_slots_word *word, struct ty_rank_span *spans,
                             struct ty_slot_coll *c)
{
    const char *first = memchr(word->at, ':', (size_t)(word->end - word->at));
    const char *second =
        first == NULL ? NULL : memchr(first + 1, ':', (size_t)(word->end - first - 1));
    if (second == NULL || !read_name(word->at, first, &c->coll)) {
        return form;
    }
    if (!read_ranks(first + 1, second, spans, c)) {
        return ranks_form;
    }
    return read_size(second + 1, word->end, &c->bytes) ? NULL
                                                       : "write its size in bytes, such as 64MiB";
}

const char *ty_slots_put_coll(struct ty_slots_reader *reader, const struct ty_slots_word *word)
{
    struct ty_slots_row *row = &reader->row[reader->n_rows - 1];
    if (row->n == 0) {
        return "a collective is issued at the end of a pass; write it behind one";
    }
    if (reader->n_colls == reader->cap_colls && reader->cap_colls == TY_SLOTS_MAX_COLLS) {
        reader->stopped = true;
        return "a file may have 16384 collectives";
    }
    /* a rank takes two bytes of text at least */
    struct ty_rank_span *spans =
        ty_arena_array(reader->arena, struct ty_rank_span, (size_t)(word->end - word->at) / 2 + 1);
    struct ty_slot_coll c = {.after = row->n, .spans = spans};
    const char *remedy = spans == NULL ? "memory is exhausted" : read_coll(word, spans, &c);
    if (remedy == NULL && (c.ranks = write_ranks(&c, reader->arena)) == NULL) {
        remedy = "memory is exhausted";
    }
    if (remedy == NULL && reader->n_colls < reader->cap_colls) {
        reader->coll[reader->n_colls] = c;
        reader->coll_mark[reader->n_colls++] = word->mark;
        row->n_colls++;
    }
    return remedy;
}

static bool has(const struct ty_slot_coll *c, uint32_t rank)
{
    for (uint32_t i = 0; i < c->n_spans; i++) {
        if (rank >= c->spans[i].first && rank <= c->spans[i].last) {
            return true;
        }
    }
    return false;
}

void ty_slots_check_colls(struct ty_slots_reader *reader, const struct ty_slots_row *row)
{
    for (uint32_t i = row->first_coll; i < row->first_coll + row->n_colls; i++) {
        const struct ty_slot_coll *c = &reader->coll[i];
        const struct ty_slot_mark mark = reader->coll_mark[i];
        const struct ty_place at = {reader->file, reader->source, mark.line, mark.col};
        const uint32_t last = c->spans[c->n_spans - 1].last;
        const bool outside = last >= reader->n_rows;
        if (!outside && has(c, row->rank)) {
            continue;
        }
        ty_slots_reader_fails(reader, TY_EINPUT);
        if (ty_err_is_full(reader->err)) {
            return;
        }
        if (outside) {
            (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                             "%s over ranks %.60s: there is no rank %u; this schedule has ranks 0 "
                             "to %u",
                             ty_coll_name((enum ty_coll)c->coll), c->ranks, (unsigned)last,
                             (unsigned)(reader->n_rows - 1));
        } else {
            (void)ty_fail_at(reader->err, TY_EINPUT, &at,
                             "%s over ranks %.60s: rank %u is not one of them; only they issue it",
                             ty_coll_name((enum ty_coll)c->coll), c->ranks, (unsigned)row->rank);
        }
    }
}
