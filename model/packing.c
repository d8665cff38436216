/* packing.c - draws documents, packs them into sequences and deals these to data ranks. */
#include "model/packing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/check.h"
#include "sim/base/noise.h"
#include "sim/base/number_text.h"
#include "sim/base/units.h"
#include "sim/document/csv.h"

const struct ty_word ty_packing_words[] = {
    {"first_fit", TY_PACKING_FIRST_FIT, "a document goes to the first sequence where it fits"},
    {"balanced", TY_PACKING_BALANCED,
     "documents and sequences are assigned so that attention costs all ranks the same"},
    {NULL, 0, NULL},
};

/* ---- what a user writes ---- */

/* Numbers behind a word: least and most of each. */
static const struct {
    const char *name, *example;
    uint32_t n;
    const char *what[2];
    double min[2], max[2];
} methods[] = {
    [TY_LENGTHS_WHOLE] = {"whole", "whole", 0, {NULL}, {0}, {0}},
    [TY_LENGTHS_FIXED] = {"fixed", "fixed:1024", 1, {"tokens"}, {1}, {1e9}},
    [TY_LENGTHS_UNIFORM] =
        {"uniform", "uniform:128:2048", 2, {"tokens", "tokens"}, {1, 1}, {1e9, 1e9}},
    [TY_LENGTHS_LOGNORMAL] = {"lognormal",
                              "lognormal:900:1.2",
                              2,
                              {"a mean in tokens", "a coefficient of variation"},
                              {1, 0},
                              {1e9, 10}},
    [TY_LENGTHS_FILE] = {"file", "file:lengths.txt", 0, {NULL}, {0}, {0}},
};

static int fail_like(enum ty_lengths_method i, const char *text, const struct ty_place *at,
                     struct ty_err *err)
{
    return ty_fail_at(err, TY_EINPUT, at,
                      "run.lengths: not as %s takes it (%.60s); write it like "
                      "%s",
                      methods[i].name, text, methods[i].example);
}

/* The numbers behind the word, each behind a colon. */
static int read_numbers(struct ty_lengths *lengths, const char *rest, const char *text,
                        const struct ty_place *at, struct ty_err *err)
{
    const enum ty_lengths_method i = lengths->method;
    double *const to[] = {&lengths->first, &lengths->second};
    for (uint32_t k = 0; k < methods[i].n; k++) {
        char *end = NULL;
        if (*rest != ':' || rest[1] == '\0') {
            return fail_like(i, text, at, err);
        }
        *to[k] = ty_strtod(rest + 1, &end);
        if (end == rest + 1 || !isfinite(*to[k])) {
            return fail_like(i, text, at, err);
        }
        if (*to[k] < methods[i].min[k] || *to[k] > methods[i].max[k]) {
            return ty_fail_at(err, TY_EINPUT, at,
                              "run.lengths: %s: out of range (%.*s); write %s from %g to %g, such "
                              "as %s",
                              methods[i].name, (int)(end - rest - 1), rest + 1, methods[i].what[k],
                              methods[i].min[k], methods[i].max[k], methods[i].example);
        }
        rest = end;
    }
    return *rest == '\0' ? 0 : fail_like(i, text, at, err);
}

/* No document is longer than what holds it. */
static int check_longest(const struct ty_lengths *lengths, uint32_t sequence,
                         const struct ty_place *at, struct ty_err *err)
{
    const enum ty_lengths_method i = lengths->method;
    const double most = i == TY_LENGTHS_UNIFORM ? lengths->second : lengths->first;
    if (i == TY_LENGTHS_UNIFORM && lengths->second < lengths->first) {
        return ty_fail_at(err, TY_EINPUT, at,
                          "run.lengths: uniform: the second number (%g) is below the first (%g); "
                          "write the shortest first, such as %s",
                          lengths->second, lengths->first, methods[i].example);
    }
    if (i != TY_LENGTHS_FILE && most > sequence) {
        return ty_fail_at(err, TY_EINPUT, at,
                          "run.lengths: %s: longer than model.sequence (%g tokens, of %u); write "
                          "at most that, or a longer sequence",
                          methods[i].name, most, (unsigned)sequence);
    }
    return 0;
}

int ty_lengths_read(struct ty_lengths *lengths, const char *text, uint32_t sequence,
                    const struct ty_place *at, struct ty_err *err)
{
    const size_t len = strcspn(text, ":");
    size_t i = 0;
    while (i < TY_COUNT(methods) &&
           (strlen(methods[i].name) != len || memcmp(methods[i].name, text, len) != 0)) {
        i++;
    }
    if (i == TY_COUNT(methods)) {
        return ty_fail_at(err, TY_EINPUT, at,
                          "run.lengths: unknown (%.40s); write whole, fixed:N, uniform:MIN:MAX, "
                          "lognormal:MEAN:CV or file:PATH",
                          text);
    }
    *lengths = (struct ty_lengths){.method = (enum ty_lengths_method)i};
    if (i == TY_LENGTHS_FILE && text[len] == ':' && text[len + 1] != '\0') {
        lengths->path = text + len + 1;
        return 0;
    }
    int rc = i == TY_LENGTHS_FILE ? fail_like(TY_LENGTHS_FILE, text, at, err)
                                  : read_numbers(lengths, text + len, text, at, err);
    return rc < 0 ? rc : check_longest(lengths, sequence, at, err);
}

/* ---- a file of lengths ---- */

int ty_lengths_load(struct ty_lengths *lengths, const char *path, uint32_t sequence,
                    struct ty_arena *arena, struct ty_err *err)
{
    struct ty_csv csv; /* of one column, the header of which is a length as well */
    int rc = ty_csv_load(&csv, path, arena, err);
    if (rc < 0) {
        ty_hint(err, "lengths are one whole number of tokens a line");
    }
    uint32_t *of = rc == 0 ? ty_arena_array(arena, uint32_t, csv.n_rows + 1) : NULL;
    if (rc < 0 || of == NULL) {
        return rc < 0 ? rc : ty_fail_memory(err);
    }
    for (uint32_t i = 0; i <= csv.n_rows; i++) {
        const char *text = csv.cell[(size_t)i * csv.n_columns], *at = text + strspn(text, " \t");
        const bool number = ty_scan_number(&at, text + strlen(text), UINT32_MAX, &of[i]);
        const bool good = number && of[i] > 0 && at[strspn(at, " \t")] == '\0';
        if (!good || csv.n_columns > 1 || of[i] > sequence) {
            const struct ty_place place = ty_csv_place(&csv, i, 0);
            rc = ty_fail_at(err, TY_EINPUT, &place,
                            good && csv.n_columns == 1
                                ? "longer than model.sequence (%.40s tokens, of %u); cut the "
                                  "document there, or set a longer sequence"
                                : "not a length (%.40s); write one whole number of tokens a line, "
                                  "from 1 to model.sequence (%u)",
                            text, (unsigned)sequence);
        }
    }
    lengths->of = of;
    lengths->n = csv.n_rows + 1;
    return rc;
}

uint64_t ty_lengths_digest(const struct ty_lengths *lengths)
{
    uint64_t h = 0;
    for (uint32_t i = 0; i < lengths->n; i++) {
        h = ty_hash4(h, lengths->of[i], i, lengths->n);
    }
    return h;
}

/* ---- documents ---- */

#define DRAW 0x646f63u /* a stream of random numbers of its own */

/* Tokens of the i-th document. */
static uint32_t draw(const struct ty_lengths *lengths, const struct ty_packing_order *o, uint64_t i)
{
    const double u = ty_hash4_uniform(o->seed, DRAW, i, 0),
                 range = lengths->second - lengths->first;
    double x = lengths->first;
    switch (lengths->method) {
    case TY_LENGTHS_UNIFORM:
        x += floor(u * (range + 1));
        break;
    case TY_LENGTHS_LOGNORMAL:
        x = round(x * ty_noise_lognormal(lengths->second, o->seed, DRAW, i, 0));
        break;
    case TY_LENGTHS_FILE:
        x = lengths->of[(uint32_t)(u * lengths->n)];
        break;
    default:
        break;
    }
    return (uint32_t)fmin(fmax(x, 1), o->sequence);
}

static void add(struct ty_pack *to, const struct ty_pack *x)
{
    to->sequences += x->sequences;
    to->documents += x->documents;
    to->tokens += x->tokens;
    to->pairs[0] += x->pairs[0];
    to->pairs[1] += x->pairs[1];
}

static struct ty_pack document(double n, double window)
{
    return (struct ty_pack){.documents = 1,
                            .tokens = n,
                            .pairs = {n * n / 2, window > 0 && window < n
                                                     ? window * n - window * window / 2
                                                     : n * n / 2}};
}

/* ---- packing ---- */

/* Values of sequences, of which the first that has so much, or the largest, is found at once: node
 * k has the larger of nodes 2k and 2k + 1; leaves begin at `size`. */
struct tree {
    double *node; /* [2 size] */
    uint32_t size;
};

static bool tree_make(struct tree *t, uint32_t n, double value)
{
    for (t->size = 1; t->size < n; t->size *= 2) {}
    t->node = calloc(2 * (size_t)t->size, sizeof(*t->node));
    for (uint32_t i = 0; t->node != NULL && i < t->size; i++) {
        t->node[t->size + i] = i < n ? value : -HUGE_VAL;
    }
    for (uint32_t k = t->size; t->node != NULL && k-- > 1;) {
        t->node[k] = fmax(t->node[2 * k], t->node[2 * k + 1]);
    }
    return t->node != NULL;
}

static void tree_add(struct tree *t, uint32_t i, double value)
{
    uint32_t k = t->size + i;
    t->node[k] += value;
    for (k /= 2; k > 0; k /= 2) {
        t->node[k] = fmax(t->node[2 * k], t->node[2 * k + 1]);
    }
}

static double tree_at(const struct tree *t, uint32_t i)
{
    return t->node[t->size + i];
}

/* The first with `least` or more; UINT32_MAX: none has. The largest: least = node[1]. */
static uint32_t tree_first(const struct tree *t, double least)
{
    uint32_t k = 1;
    if (t->node[1] < least) {
        return UINT32_MAX;
    }
    while (k < t->size) {
        k = 2 * k + (t->node[2 * k] < least);
    }
    return k - t->size;
}

struct packer {
    const struct ty_lengths *lengths;
    const struct ty_packing_order *o;
    struct ty_pack *sequence; /* [n] */
    uint32_t n;
    struct tree room, work;               /* of all; of a step: tokens left, pairs below zero */
    uint32_t *document, n_documents, cap; /* those of the n sequences, each with where it is: */
    uint32_t *where;
};

static bool keep(struct packer *p, uint32_t tokens, uint32_t where)
{
    if (p->n_documents == p->cap) {
        const uint32_t cap = p->cap * 2 + 1024;
        uint32_t *document = realloc(p->document, cap * sizeof(*document));
        p->document = document != NULL ? document : p->document;
        uint32_t *at = realloc(p->where, cap * sizeof(*at));
        p->where = at != NULL ? at : p->where;
        if (document == NULL || at == NULL) {
            return false;
        }
        p->cap = cap;
    }
    p->document[p->n_documents] = tokens;
    p->where[p->n_documents++] = where;
    return true;
}

/* Until a document finds no room in twice as many sequences as are wanted. */
static bool first_fit(struct packer *p)
{
    bool made = tree_make(&p->room, 2 * p->n, p->o->sequence);
    for (uint64_t i = 0; made; i++) {
        const uint32_t tokens = draw(p->lengths, p->o, i);
        const uint32_t at = tree_first(&p->room, tokens);
        if (at == UINT32_MAX) {
            break;
        }
        tree_add(&p->room, at, -(double)tokens);
        made = at >= p->n || keep(p, tokens, at);
    }
    return made;
}

static int by_step_and_length(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] < y[1]) - (x[1] > y[1]);
}

/* Documents of a step, and those left over by the one before, the longest first. Returns how many
 * are left over, in place of the first of them. */
static uint32_t balance(struct packer *p, uint32_t (*of)[2], uint32_t n, uint32_t step)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t tokens = of[i][1];
        const struct ty_pack x = document(tokens, p->o->window);
        uint32_t at = tree_first(&p->work, p->work.node[1]);
        if (tree_at(&p->room, at) < tokens) {
            at = tree_first(&p->room, p->room.node[1]);
        }
        if (tree_at(&p->room, at) < tokens) {
            of[left][0] = step + 1;
            of[left++][1] = tokens;
            continue;
        }
        tree_add(&p->room, at, -(double)tokens);
        tree_add(&p->work, at, -x.pairs[0]);
        add(&p->sequence[(size_t)step * p->o->batch + at], &x);
    }
    return left;
}

static int by_pairs(const void *a, const void *b)
{
    const struct ty_pack *x = a, *y = b;
    return x->pairs[0] != y->pairs[0] ? (x->pairs[0] < y->pairs[0]) - (x->pairs[0] > y->pairs[0])
                                      : (x->tokens < y->tokens) - (x->tokens > y->tokens);
}

/* The same documents once more, step by step. */
static bool rebalance(struct packer *p)
{
    const uint32_t batch = p->o->batch, n = p->n_documents;
    uint32_t(*of)[2] = malloc((n + 1) * sizeof(*of));
    bool made = of != NULL;
    for (uint32_t i = 0; made && i < n; i++) {
        of[i][0] = p->where[i] / batch;
        of[i][1] = p->document[i];
    }
    for (uint32_t step = 0, first = 0, end = 0; made && step < p->o->steps; step++) {
        qsort(of + first, n - first, sizeof(*of), by_step_and_length);
        for (end = first; end < n && of[end][0] == step; end++) {}
        free(p->room.node);
        free(p->work.node);
        made = tree_make(&p->work, batch, 0);
        made = tree_make(&p->room, batch, p->o->sequence) && made;
        const uint32_t left = made ? balance(p, of + first, end - first, step) : 0;
        memmove(of + end - left, of + first, left * sizeof(*of));
        first = end - left;
        qsort(p->sequence + (size_t)step * batch, batch, sizeof(*p->sequence), by_pairs);
    }
    free(of);
    return made;
}

int ty_packing_make(struct ty_packing *out, const struct ty_lengths *lengths,
                    const struct ty_packing_order *order, struct ty_arena *arena,
                    struct ty_err *err)
{
    struct packer p = {.lengths = lengths, .o = order, .n = order->steps * order->batch};
    struct ty_pack *all = ty_arena_array(arena, struct ty_pack, 1);
    p.sequence = ty_arena_array(arena, struct ty_pack, p.n);
    bool made = all != NULL && p.sequence != NULL && first_fit(&p);
    for (uint32_t i = 0; made && i < p.n; i++) {
        p.sequence[i].sequences = 1;
    }
    if (order->method == TY_PACKING_BALANCED) {
        made = made && rebalance(&p);
    } else {
        for (uint32_t i = 0; made && i < p.n_documents; i++) {
            const struct ty_pack x = document(p.document[i], order->window);
            add(&p.sequence[p.where[i]], &x);
        }
    }
    for (uint32_t i = 0; made && i < p.n; i++) {
        add(all, &p.sequence[i]);
    }
    free(p.room.node);
    free(p.work.node);
    free(p.document);
    free(p.where);
    *out = (struct ty_packing){.sequence = p.sequence,
                               .n = p.n,
                               .batch = order->batch,
                               .balanced = order->method == TY_PACKING_BALANCED,
                               .all = all};
    return made ? 0 : ty_fail_memory(err);
}

/* ---- who gets what ---- */

/* Loaders give the sequences of a step to the data ranks in turn, a micro-batch each, and again
 * (Megatron-LM's MegatronPretrainingSampler). Balanced ones go there and back, row by row:
 *
 *     sequences, falling    0 1 2 3 | 7 6 5 4 | 8 9 ... */
static size_t number_of(const struct ty_packing *packing, const struct ty_layout *layout,
                        uint32_t mb, uint32_t data, uint32_t k)
{
    const size_t ranks = layout->data, cells = ranks * layout->micro_batches;
    if (!packing->balanced) {
        return (mb * ranks + data) * layout->micro_batch + k;
    }
    const size_t cell = mb * ranks + (mb % 2 == 0 ? data : ranks - 1 - data);
    return k * cells + (k % 2 == 0 ? cell : cells - 1 - cell);
}

struct ty_pack ty_packing_micro_batch(const struct ty_packing *packing,
                                      const struct ty_layout *layout, uint32_t step, uint32_t mb,
                                      uint32_t data)
{
    struct ty_pack sum = {.sequences = 0};
    for (uint32_t k = 0; k < layout->micro_batch; k++) {
        const size_t i = (size_t)step * packing->batch + number_of(packing, layout, mb, data, k);
        add(&sum, &packing->sequence[i % packing->n]);
    }
    return sum;
}

double ty_packing_slowest(const struct ty_packing *packing, const struct ty_layout *layout,
                          uint32_t steps)
{
    double most = 0;
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t mb = 0; mb < layout->micro_batches; mb++) {
            for (uint32_t d = 0; d < layout->data; d++) {
                const struct ty_pack x = ty_packing_micro_batch(packing, layout, step, mb, d);
                most = fmax(most, x.pairs[0] / x.sequences);
            }
        }
    }
    return most * packing->all->sequences / packing->all->pairs[0];
}

/* Equal documents of n tokens have n / 2 pairs a token, or w - w^2 / 2n with a window w below n. */
static double length_of(const struct ty_pack *pack, double window)
{
    const double pairs = pack->pairs[window > 0] / pack->tokens;
    return window > 0 && pairs > window / 2 ? window * window / (2 * (window - pairs)) : 2 * pairs;
}

void ty_pack_core(const struct ty_pack *from, const struct ty_pack *to, double context,
                  struct ty_attention_core *core)
{
    const double now = length_of(to, core->window);
    const double length = from != NULL ? length_of(from, core->window) : core->tokens * context;
    const double was = from != NULL ? from->tokens / from->sequences : length;
    const double sequences = core->sequences * length / was;
    core->tokens *= now / length;
    core->queries *= now / length;
    core->sequences = sequences * to->tokens / to->sequences / now;
}

int ty_packing_check(const struct ty_layout *layout, const struct ty_section *section,
                     uint32_t slices, struct ty_err *err)
{
    const bool ring = layout->context > 1 && layout->context_method == TY_CONTEXT_RING;
    const char *key = ring                                         ? "context_method"
                      : ty_layout_is_mesh(layout)                  ? "tensor_scheme"
                      : layout->unlike && layout->stage_data.n > 0 ? "stage_data"
                      : layout->unlike                             ? "stage_tensor"
                                                                   : NULL;
    if (key != NULL) {
        return ty_check_fail(section, key, err,
                             "not simulated where run.lengths packs documents; leave it out, or "
                             "write run.lengths whole");
    }
    return slices <= 1 ? 0
                       : ty_fail(err, TY_EINPUT,
                                 "schedule.slices: %u: documents that run.lengths packs are not "
                                 "cut; write another schedule, or run.lengths whole",
                                 (unsigned)slices);
}
