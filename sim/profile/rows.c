/* rows.c - kernels in rows in which nothing overlaps.
 *
 * A CUDA stream of a GPU is a row: the one that computes longest is the compute row, the others
 * follow in the order of their numbers. A rank nearly always has one GPU. Kernels of one stream may
 * still overlap, as those of a CUDA graph do; they move to a row that is free. Where clocks alone
 * make neighbours overlap, by a microsecond at most, the first one is cut. */
#include <stdlib.h>
#include <string.h>

#include "sim/profile/replay.h"

#define SLACK_NS   1000 /* Kineto's times come from two clocks and were whole microseconds once */
#define STREAM_MAX 64u  /* streams of a rank that are told apart */

/* Rows after the compute row, in the order in which they are given away: those that every detail
 * shows come first. */
static const uint8_t row_order[] = {TY_STREAM_DATA, TY_STREAM_SEND, TY_STREAM_RECV,
                                    TY_STREAM_REPLICA, TY_STREAM_TENSOR};
_Static_assert(sizeof(row_order) + 1 == TY_REPLAY_ROWS, "the compute row, and these");

struct stream {
    uint32_t device, number;
    int64_t computes_ns;
    uint64_t n_comm;
    uint8_t row;
};

struct rows {
    struct stream stream[STREAM_MAX];
    uint32_t n_streams, main;
    bool devices; /* there are several */
    int64_t end_ns[TY_N_STREAMS];
    struct ty_replay_item *last[TY_N_STREAMS];
};

static struct stream *stream_of(struct rows *r, const struct ty_profile_kernel *k)
{
    uint32_t i = 0;
    while (i < r->n_streams &&
           (r->stream[i].number != k->stream || r->stream[i].device != k->device)) {
        i++;
    }
    if (i == STREAM_MAX) {
        return &r->stream[STREAM_MAX - 1];
    }
    if (i == r->n_streams) {
        r->stream[r->n_streams++] =
            (struct stream){.device = k->device, .number = k->stream, .row = TY_REPLAY_DROPPED};
        r->devices = r->devices || k->device != r->stream[0].device;
    }
    return &r->stream[i];
}

static int by_number(const void *a, const void *b)
{
    const struct stream *x = a, *y = b;
    return 2 * TY_ORDER(x->device, y->device) + TY_ORDER(x->number, y->number);
}

static void find_streams(struct rows *r, const struct ty_replay_item *items, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_profile_kernel *k = items[i].kernel;
        struct stream *s = stream_of(r, k);
        s->computes_ns += k->class == TY_PROFILE_COMPUTE ? k->dur_ns : 0;
        s->n_comm += k->class == TY_PROFILE_COMMUNICATION;
    }
    qsort(r->stream, r->n_streams, sizeof(*r->stream), by_number);
    for (uint32_t i = 1; i < r->n_streams; i++) {
        r->main = r->stream[i].computes_ns > r->stream[r->main].computes_ns ? i : r->main;
    }
}

/* The compute row for the main stream; a row each for as many others as there are rows. */
static void give_rows(struct rows *r)
{
    size_t next = 0;
    for (uint32_t i = 0; i < r->n_streams; i++) {
        if (i == r->main) {
            r->stream[i].row = TY_STREAM_COMPUTE;
        } else if (next < TY_COUNT(row_order)) {
            r->stream[i].row = row_order[next++];
        }
    }
}

static bool is_free(const struct rows *r, uint8_t row, const struct ty_replay_item *item)
{
    return row != TY_REPLAY_DROPPED && r->end_ns[row] <= item->start_ns;
}

/* Its own row; cut short what overlaps by a little; else any row but the compute row. */
static uint8_t find_row(struct rows *r, const struct ty_replay_item *item)
{
    const uint8_t own = stream_of(r, item->kernel)->row;
    if (own != TY_REPLAY_DROPPED && r->end_ns[own] <= item->start_ns + SLACK_NS &&
        (r->last[own] == NULL || r->last[own]->start_ns < item->start_ns ||
         is_free(r, own, item))) {
        if (!is_free(r, own, item)) {
            r->last[own]->end_ns = item->start_ns;
        }
        return own;
    }
    for (size_t i = 0; i < TY_COUNT(row_order); i++) {
        if (is_free(r, row_order[i], item)) {
            return row_order[i];
        }
    }
    return TY_REPLAY_DROPPED;
}

/* "comm (stream 20)", of several GPUs "comm (GPU 1, stream 20)". */
static int name_rows(const struct rows *r, const char **names, struct ty_arena *arena)
{
    for (uint32_t i = 0; i < r->n_streams; i++) {
        const struct stream *s = &r->stream[i];
        if (s->row == TY_REPLAY_DROPPED) {
            continue;
        }
        const char *what = i == r->main ? "compute" : s->n_comm > 0 ? "comm" : "other";
        names[s->row] = r->devices
                            ? ty_arena_printf(arena, "%s (GPU %u, stream %u)", what,
                                              (unsigned)s->device, (unsigned)s->number)
                            : ty_arena_printf(arena, "%s (stream %u)", what, (unsigned)s->number);
        if (names[s->row] == NULL) {
            return TY_ENOMEM;
        }
    }
    for (uint32_t row = 0; row < TY_N_STREAMS; row++) {
        names[row] = names[row] != NULL ? names[row] : "overlapping kernels";
    }
    return 0;
}

uint64_t ty_replay_rows(struct ty_replay_item *items, uint32_t n, const char **names,
                        struct ty_arena *arena, int *rc)
{
    struct rows r = {.n_streams = 0};
    uint64_t dropped = 0;
    find_streams(&r, items, n);
    give_rows(&r);
    for (uint32_t i = 0; i < n; i++) {
        struct ty_replay_item *item = &items[i];
        item->row = find_row(&r, item);
        if (item->row == TY_REPLAY_DROPPED) {
            dropped++;
            continue;
        }
        r.end_ns[item->row] = item->end_ns;
        r.last[item->row] = item;
    }
    *rc = name_rows(&r, names, arena);
    return dropped;
}
