/* script.c - sorts the messages of a collective by sender, with what each waits for. */
#include "topology/collectives/script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_MAX (1u << 24)
#define TREE_CHUNK_B 524288.0 /* NCCL's Simple protocol: see ring.c */
#define TREE_CHUNKS  16u      /* at most: a longer pipeline is about as full (guess) */

/* A message as it is emitted, and its number in the script. */
struct row {
    uint32_t step, chunk, from, to, number;
    double bytes;
};

struct writer {
    struct ty_coll_script *out;
    uint32_t per_node;
    double
        *port; /* [2][nodes]: when the way out of a node, and into it, is free; NULL: never asked */
    struct row *row; /* [n] */
    uint32_t n, ranks, root, chunk, n_chunks;
};

static void count(void *arg, const struct ty_coll_step *step)
{
    (void)step;
    ((struct writer *)arg)->n++;
}

/* As emitted the root is rank 0. Odd chunks take the mirrored tree: who is inner in one is a leaf
 * in the other. */
static void put(void *arg, const struct ty_coll_step *step)
{
    struct writer *w = arg;
    const bool mirrored = w->chunk % 2 == 1;
    const uint32_t from = (step->from + w->root) % w->ranks, to = (step->to + w->root) % w->ranks;
    w->row[w->n++] = (struct row){
        .step = step->step,
        .chunk = w->chunk,
        .from = mirrored ? w->ranks - 1 - from : from,
        .to = mirrored ? w->ranks - 1 - to : to,
        .bytes = step->bytes,
    };
}

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* In time: chunks follow each other a step apart. What a message waits for comes before it. */
static int by_time(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int c = compare(x->step + x->chunk, y->step + y->chunk);
    c = c != 0 ? c : compare(x->chunk, y->chunk);
    return c != 0 ? c : compare(x->number, y->number);
}

static int by_sender(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int c = compare(x->from, y->from);
    return c != 0 ? c : by_time(a, b);
}

static int by_receiver(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int c = compare(x->to, y->to);
    c = c != 0 ? c : compare(x->chunk, y->chunk);
    c = c != 0 ? c : compare(x->step, y->step);
    return c != 0 ? c : compare(x->number, y->number);
}

bool ty_coll_has_script(const struct ty_coll_cost *cost, const struct ty_reach *reach)
{
    const struct ty_coll_algorithm *a = cost->algorithm;
    const bool even = ty_reach_fewest(reach) == reach->per_node;
    return a != NULL && a->steps != NULL && a->one_rate && reach->ranks > 1 &&
           (even || cost->pattern == TY_PATTERN_RING || cost->pattern == TY_PATTERN_CHAIN);
}

/* ---- who sends what ---- */

static int emit_rows(struct writer *w, const struct ty_coll_cost *cost, enum ty_coll coll,
                     double bytes, uint32_t per_node, struct ty_arena *arena, struct ty_err *err)
{
    struct writer probe = {.ranks = w->ranks};
    cost->algorithm->steps(coll, w->ranks, per_node, bytes, count, &probe);
    w->n_chunks = 1;
    if (cost->pattern == TY_PATTERN_TREES) {
        const double chunks = ceil(bytes / TREE_CHUNK_B / 2) * 2;
        w->n_chunks = (uint32_t)fmin(fmax(chunks, 2), TREE_CHUNKS);
    }
    const uint64_t n = (uint64_t)probe.n * w->n_chunks;
    if (n > MESSAGES_MAX) {
        return ty_fail(err, TY_ELIMIT,
                       "a collective of %u ranks is %llu messages, more than the %u that can be "
                       "simulated; set run.detail: flows",
                       (unsigned)w->ranks, (unsigned long long)n, MESSAGES_MAX);
    }
    w->row = ty_arena_array(arena, struct row, n);
    if (w->row == NULL) {
        return ty_fail_memory(err);
    }
    for (w->chunk = 0; w->chunk < w->n_chunks; w->chunk++) {
        cost->algorithm->steps(coll, w->ranks, per_node, bytes / w->n_chunks, put, w);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        w->row[i].number = i; /* as emitted, so that the order is one */
    }
    qsort(w->row, w->n, sizeof(*w->row), by_sender);
    return 0;
}

/* Numbers messages, and pairs of ranks that have any. last[ranks]: 1 + who last sent there; its
 * pair. Zeroed. */
static void list_messages(struct writer *w, uint32_t *last, uint32_t *pair_of)
{
    struct ty_coll_script *out = w->out;
    uint32_t sender = 0;
    out->send[0] = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        struct row *row = &w->row[i];
        row->number = i;
        while (sender < row->from) {
            out->send[++sender] = i;
        }
        if (last[row->to] != row->from + 1) {
            last[row->to] = row->from + 1;
            pair_of[row->to] = out->n_pairs;
            out->pair_from[out->n_pairs] = row->from;
            out->pair_to[out->n_pairs++] = row->to;
        }
        out->message[i] = (struct ty_coll_message){
            .from = row->from, .to = row->to, .pair = pair_of[row->to], .bytes = row->bytes};
    }
    while (sender < w->ranks) {
        out->send[++sender] = w->n;
    }
    out->n = w->n;
}

/* ---- what a message waits for ---- */

/* First of the messages to a rank in a chunk that belong to this step or a later one. */
static uint32_t first_to(const struct row *to, uint32_t n, const struct row *at, uint32_t step)
{
    const struct row key = {.to = at->from, .chunk = at->chunk, .step = step};
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (by_receiver(&to[middle], &key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Counts them into n_after, or writes their numbers into after[]. A message waits for what arrives
 * in the steps from that of its sender's last one in the chunk, which waited for all before, to the
 * one before its own. */
static void find_afters(struct writer *w, const struct row *to, uint32_t *last_step,
                        uint32_t *after)
{
    struct ty_coll_script *out = w->out;
    out->n_after = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        const struct row *row = &w->row[i];
        struct ty_coll_message *m = &out->message[i];
        if (i == out->send[row->from]) {
            memset(last_step, 0, w->n_chunks * sizeof(*last_step));
        }
        m->first_after = out->n_after;
        uint32_t k = first_to(to, w->n, row, last_step[row->chunk]);
        for (; k < w->n && to[k].to == row->from && to[k].chunk == row->chunk &&
               to[k].step < row->step;
             k++) {
            if (after != NULL) {
                after[out->n_after] = to[k].number;
            }
            out->n_after++;
        }
        m->n_after = out->n_after - m->first_after;
        last_step[row->chunk] = row->step;
    }
}

/* ---- how long a message takes ---- */

/* Both ways a message takes between nodes: one at a time, as of trees several members of a node
 * send at once. Rings leave a node at one member. */
static double through_ports(const struct writer *w, const struct ty_coll_message *m, double start,
                            double moves_s)
{
    const uint32_t from = m->from / w->per_node, to = m->to / w->per_node;
    if (w->port == NULL || from == to) {
        return start;
    }
    double *out = &w->port[from], *in = &w->port[w->ranks / w->per_node + to];
    start = fmax(start, fmax(*out, *in));
    *out = *in = start + moves_s;
    return start;
}

/* Seconds of the whole, alone. `timed` are the rows in order of time; end[n] is scratch. */
static double play(const struct writer *w, const struct row *timed, double latency_s,
                   double s_per_B, double *end)
{
    const struct ty_coll_script *out = w->out;
    double last = 0;
    if (w->port != NULL) {
        memset(w->port, 0, (size_t)2 * (w->ranks / w->per_node) * sizeof(*w->port));
    }
    for (uint32_t i = 0; i < w->n; i++) {
        const uint32_t number = timed[i].number;
        const struct ty_coll_message *m = &out->message[number];
        double start = number > out->send[m->from] ? end[number - 1] : 0;
        for (uint32_t k = 0; k < m->n_after; k++) {
            start = fmax(start, end[out->after[m->first_after + k]]);
        }
        start = through_ports(w, m, start, m->bytes * s_per_B);
        end[number] = start + latency_s + m->bytes * s_per_B;
        last = fmax(last, end[number]);
    }
    return last;
}

static void find_times(struct writer *w, const struct ty_coll_cost *cost, struct row *timed,
                       double *end)
{
    struct ty_coll_script *out = w->out;
    memcpy(timed, w->row, w->n * sizeof(*timed));
    qsort(timed, w->n, sizeof(*timed), by_time);
    out->latency_s = cost->latency_s / play(w, timed, 1, 0, end);
    out->s_per_B = cost->transfer_s / play(w, timed, 0, 1, end);
    /* the chain of most messages need not be that of most bytes */
    const double whole = play(w, timed, out->latency_s, out->s_per_B, end);
    const double scale = whole > 0 ? ty_coll_seconds(cost) / whole : 1;
    out->latency_s *= scale;
    out->s_per_B *= scale;
}

static int complete(struct writer *w, const struct ty_coll_cost *cost, struct ty_arena *arena,
                    struct ty_arena *scratch)
{
    struct ty_coll_script *out = w->out;
    const size_t n = w->n, ranks = w->ranks;
    out->message = ty_arena_array(arena, struct ty_coll_message, n);
    out->send = ty_arena_array(arena, uint32_t, ranks + 1);
    out->pair_from = ty_arena_array(arena, uint32_t, n);
    out->pair_to = ty_arena_array(arena, uint32_t, n);
    struct row *rows = ty_arena_array(scratch, struct row, n);
    uint32_t *last = ty_arena_array(scratch, uint32_t, ranks + w->n_chunks);
    uint32_t *pair_of = ty_arena_array(scratch, uint32_t, ranks);
    double *end = ty_arena_array(scratch, double, n);
    w->port = cost->pattern == TY_PATTERN_TREES ? ty_arena_array(scratch, double, 2 * ranks) : NULL;
    if ((cost->pattern == TY_PATTERN_TREES && w->port == NULL) || !out->message || !out->send ||
        !out->pair_from || !out->pair_to || !rows || !last || !pair_of || !end) {
        return TY_ENOMEM;
    }
    list_messages(w, last, pair_of);
    memcpy(rows, w->row, n * sizeof(*rows));
    qsort(rows, n, sizeof(*rows), by_receiver);
    find_afters(w, rows, last, NULL);
    out->after = ty_arena_array(arena, uint32_t, (size_t)out->n_after + 1);
    if (out->after == NULL) {
        return TY_ENOMEM;
    }
    find_afters(w, rows, last, out->after);
    find_times(w, cost, rows, end);
    return 0;
}

int ty_coll_script(struct ty_coll_script *out, const struct ty_coll_cost *cost, enum ty_coll coll,
                   double bytes, const struct ty_reach *reach, struct ty_arena *arena,
                   struct ty_err *err)
{
    struct ty_arena scratch = {.head = NULL};
    struct writer w = {
        .out = out, .ranks = reach->ranks, .root = reach->root, .per_node = reach->per_node};
    *out = (struct ty_coll_script){.n = 0};
    int rc = emit_rows(&w, cost, coll, bytes, reach->per_node, &scratch, err);
    if (rc == 0 && complete(&w, cost, arena, &scratch) < 0) {
        rc = ty_fail_memory(err);
    }
    ty_arena_release(&scratch);
    return rc;
}
