/* link.c - who launched a kernel, in which phase and which step.
 *
 * A kernel names the operator that launched it by its External id; where that says nothing, its
 * correlation names the call of the CUDA runtime, and that the operator around it. Operators of a
 * thread nest by time. Autograd tells phases: what runs inside evaluate_function is backward; an
 * operator with a sequence number of its own was run with gradients on, which inside a backward
 * only recomputation is; a backward node carries the sequence number of its forward operator.
 * What is not told stays OTHER. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "traces/profile/internal.h"

#define MAX_NEST 1000u
#define MAX_SAME 1000u /* guess: far more operators than a layer has between two nodes */
#define EVALUATE "autograd::engine::evaluate_function"

struct pair {
    int64_t key;
    int64_t start_ns;
    uint32_t index;
};

struct linker {
    struct ty_profile_file *file;
    const struct ty_profile_store *store;
    struct pair *externals, *calls, *sequences; /* sorted */
    uint32_t n_externals, n_calls, n_sequences;
    bool own_steps; /* kernels name them */
};

static int by_pair(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

/* How many pairs are below (key, start_ns), or equal to it. */
static uint32_t up_to(const struct pair *pairs, uint32_t n, int64_t key, int64_t start_ns)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct pair *p = &pairs[middle];
        const bool below = p->key < key || (p->key == key && p->start_ns <= start_ns);
        low = below ? middle + 1 : low;
        high = below ? high : middle;
    }
    return low;
}

static const char *text(const struct linker *l, uint32_t number)
{
    return l->store->text[number];
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

/* ---- operators ---- */

struct order {
    int64_t start_ns, dur_ns;
    uint32_t thread, index;
};

static int by_start(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->dur_ns != y->dur_ns) {
        return x->dur_ns > y->dur_ns ? -1 : 1; /* what encloses comes first */
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool sort_ops(struct ty_profile_file *file)
{
    const uint32_t n = file->rank.n_ops;
    struct order *order = malloc((n + 1) * sizeof(*order));
    struct ty_profile_op *ops = malloc((n + 1) * sizeof(*ops));
    int64_t *externals = malloc((n + 1) * sizeof(*externals));
    const bool ok = order != NULL && ops != NULL && externals != NULL;
    for (uint32_t i = 0; i < n && ok; i++) {
        const struct ty_profile_op *op = &file->rank.ops[i];
        order[i] = (struct order){op->start_ns, op->dur_ns, op->thread, i};
    }
    if (ok) {
        qsort(order, n, sizeof(*order), by_start);
    }
    for (uint32_t i = 0; i < n && ok; i++) {
        ops[i] = file->rank.ops[order[i].index];
        externals[i] = file->externals[order[i].index];
    }
    free(order);
    if (!ok) {
        free(ops);
        free(externals);
        return false;
    }
    free(file->rank.ops);
    free(file->externals);
    file->rank.ops = ops;
    file->externals = externals;
    return true;
}

static int64_t end_of(const struct ty_profile_op *op)
{
    return op->start_ns + op->dur_ns;
}

static uint8_t phase_of(const struct linker *l, const struct ty_profile_op *op)
{
    const char *name = text(l, op->name);
    const uint8_t around =
        op->parent != TY_PROFILE_NONE ? l->file->rank.ops[op->parent].phase : TY_PROFILE_OTHER;
    if (begins(name, "Optimizer.")) {
        return TY_PROFILE_OPTIMIZER;
    }
    if (begins(name, EVALUATE) || op->has_fwd_thread) {
        return TY_PROFILE_BACKWARD;
    }
    if (op->sequence >= 0) {
        return around == TY_PROFILE_BACKWARD ? TY_PROFILE_RECOMPUTE
               : around == TY_PROFILE_OTHER  ? TY_PROFILE_FORWARD
                                             : around;
    }
    return around;
}

/* False when memory is exhausted; *deepest: operators around one at most. */
static bool nest(struct linker *l, uint32_t *deepest)
{
    struct ty_profile_op *ops = l->file->rank.ops;
    const uint32_t n = l->file->rank.n_ops;
    uint32_t *depth = malloc(((size_t)n + 1) * sizeof(*depth));
    *deepest = 0;
    for (uint32_t i = 0; i < n && depth != NULL; i++) {
        uint32_t around = i > 0 && ops[i - 1].thread == ops[i].thread ? i - 1 : TY_PROFILE_NONE;
        while (around != TY_PROFILE_NONE && end_of(&ops[around]) <= ops[i].start_ns) {
            around = ops[around].parent;
        }
        ops[i].parent = around;
        ops[i].phase = phase_of(l, &ops[i]);
        depth[i] = around != TY_PROFILE_NONE ? depth[around] + 1 : 0;
        *deepest = depth[i] > *deepest ? depth[i] : *deepest;
    }
    free(depth);
    return depth != NULL;
}

static bool trains(const struct linker *l, const struct ty_profile_op *op)
{
    const char *name = text(l, op->name);
    return op->phase == TY_PROFILE_BACKWARD || op->phase == TY_PROFILE_OPTIMIZER ||
           strstr(name, "Backward") != NULL || strstr(name, "_backward") != NULL;
}

/* Without gradients autograd numbers nothing: where a rank has no backward and no optimizer, all
 * that it computes is forward. */
static void only_forward(struct linker *l)
{
    struct ty_profile_op *ops = l->file->rank.ops;
    for (uint32_t i = 0; i < l->file->rank.n_ops; i++) {
        if (trains(l, &ops[i])) {
            return;
        }
    }
    for (uint32_t i = 0; i < l->file->rank.n_ops; i++) {
        ops[i].phase = TY_PROFILE_FORWARD;
    }
}

/* "AddmmBackward0" is the backward of "aten::addmm": equal but for case and underscores. */
static bool is_backward_of(const char *backward, const char *forward)
{
    const char *colon = strrchr(forward, ':');
    const char *f = colon != NULL ? colon + 1 : forward, *b = backward;
    for (;; f++, b++) {
        f += strspn(f, "_");
        b += strspn(b, "_");
        if (*f == '\0') {
            return begins(b, "Backward");
        }
        if (tolower((unsigned char)*f) != tolower((unsigned char)*b)) {
            return false;
        }
    }
}

/* Of operators with the same sequence number the last one that fits. Not all are looked at: whoever
 * gives every operator the same number would make this take the square of their count. */
static void find_forward(const struct linker *l, struct ty_profile_op *op)
{
    const char *name = text(l, op->name), *space = strrchr(name, ' ');
    name = begins(name, EVALUATE) && space != NULL ? space + 1 : name;
    const uint32_t from = up_to(l->sequences, l->n_sequences, op->sequence, op->start_ns);
    for (uint32_t i = from; i > 0 && from - i < MAX_SAME && l->sequences[i - 1].key == op->sequence;
         i--) {
        const uint32_t other = l->sequences[i - 1].index;
        if (is_backward_of(name, text(l, l->file->rank.ops[other].name))) {
            op->forward = other;
            return;
        }
    }
}

static bool index_ops(struct linker *l)
{
    const uint32_t n = l->file->rank.n_ops;
    l->externals = malloc((n + 1) * sizeof(*l->externals));
    l->sequences = malloc((n + 1) * sizeof(*l->sequences));
    if (l->externals == NULL || l->sequences == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_profile_op *op = &l->file->rank.ops[i];
        if (l->file->externals[i] > 0) {
            l->externals[l->n_externals++] = (struct pair){l->file->externals[i], op->start_ns, i};
        }
        if (op->sequence >= 0 && !op->has_fwd_thread) {
            l->sequences[l->n_sequences++] = (struct pair){op->sequence, op->start_ns, i};
        }
    }
    qsort(l->externals, l->n_externals, sizeof(struct pair), by_pair);
    qsort(l->sequences, l->n_sequences, sizeof(struct pair), by_pair);
    for (uint32_t i = 0; i < n; i++) {
        struct ty_profile_op *op = &l->file->rank.ops[i];
        if (op->sequence >= 0 && op->has_fwd_thread) {
            find_forward(l, op);
        }
    }
    return true;
}

/* ---- kernels ---- */

static bool index_calls(struct linker *l)
{
    l->n_calls = l->file->n_calls;
    l->calls = malloc((l->n_calls + 1) * sizeof(*l->calls));
    for (uint32_t i = 0; i < l->n_calls && l->calls != NULL; i++) {
        const struct ty_profile_call *call = &l->file->calls[i];
        l->calls[i] = (struct pair){call->correlation, call->start_ns, i};
    }
    if (l->calls != NULL) {
        qsort(l->calls, l->n_calls, sizeof(struct pair), by_pair);
    }
    return l->calls != NULL;
}

static uint32_t op_by_external(const struct linker *l, int64_t external)
{
    const uint32_t i = up_to(l->externals, l->n_externals, external, INT64_MAX);
    return external > 0 && i > 0 && l->externals[i - 1].key == external ? l->externals[i - 1].index
                                                                        : TY_PROFILE_NONE;
}

/* The innermost operator of a thread at a time. */
static uint32_t op_around(const struct linker *l, uint32_t thread, int64_t at)
{
    const struct ty_profile_op *ops = l->file->rank.ops;
    uint32_t low = 0, high = l->file->rank.n_ops;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const bool before = ops[middle].thread < thread ||
                            (ops[middle].thread == thread && ops[middle].start_ns <= at);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    uint32_t op = low > 0 && ops[low - 1].thread == thread ? low - 1 : TY_PROFILE_NONE;
    while (op != TY_PROFILE_NONE && end_of(&ops[op]) <= at) {
        op = ops[op].parent;
    }
    return op;
}

static uint32_t step_at(const struct ty_profile_rank *rank, int64_t at)
{
    uint32_t low = 0, high = rank->n_steps;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const bool before = rank->steps[middle].start_ns <= at;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low > 0 && at < rank->steps[low - 1].end_ns ? low - 1 : TY_PROFILE_NONE;
}

/* Steps as the kernels themselves name them, which only trainyard's own files do: each from its
 * first kernel to the end of its last. Numbers become places in `steps`. */
static bool steps_of_kernels(struct ty_profile_file *file, bool *told)
{
    struct ty_profile_rank *rank = &file->rank;
    uint32_t *place = calloc(TY_PROFILE_STEPS, sizeof(*place)); /* and 1; 0: not seen yet */
    for (uint32_t i = 0; i < rank->n_kernels && place != NULL; i++) {
        struct ty_profile_kernel *k = &rank->kernels[i];
        const uint32_t number = k->step;
        if (number == TY_PROFILE_NONE) {
            continue;
        }
        if (place[number] == 0) {
            if (!ty_profile_grow(&rank->steps, rank->n_steps, &file->cap_steps,
                                 sizeof(*rank->steps))) {
                free(place);
                return false;
            }
            rank->steps[rank->n_steps] = (struct ty_profile_step){
                .start_ns = INT64_MAX, .end_ns = INT64_MIN, .number = number};
            place[number] = ++rank->n_steps;
            *told = true;
        }
        struct ty_profile_step *step = &rank->steps[place[number] - 1];
        const int64_t end = k->start_ns + k->dur_ns;
        step->start_ns = k->start_ns < step->start_ns ? k->start_ns : step->start_ns;
        step->end_ns = end > step->end_ns ? end : step->end_ns;
        k->step = place[number] - 1;
    }
    free(place);
    return place != NULL;
}

static void link_kernel(struct linker *l, uint32_t i)
{
    struct ty_profile_rank *rank = &l->file->rank;
    struct ty_profile_kernel *k = &rank->kernels[i];
    const struct ty_profile_launch *launch = &l->file->launches[i];
    const uint32_t at = up_to(l->calls, l->n_calls, launch->correlation, INT64_MAX);
    const struct ty_profile_call *call =
        launch->correlation > 0 && at > 0 && l->calls[at - 1].key == launch->correlation
            ? &l->file->calls[l->calls[at - 1].index]
            : NULL;
    int64_t issued_ns = k->start_ns;
    k->op = op_by_external(l, launch->external);
    if (call != NULL) {
        issued_ns = call->start_ns;
        k->op = k->op != TY_PROFILE_NONE ? k->op : op_by_external(l, call->external);
        k->op = k->op != TY_PROFILE_NONE ? k->op : op_around(l, call->thread, call->start_ns);
    } else if (k->op != TY_PROFILE_NONE) {
        issued_ns = rank->ops[k->op].start_ns;
    }
    k->step = l->own_steps ? k->step : step_at(rank, issued_ns);
    if (k->op != TY_PROFILE_NONE) {
        k->phase = rank->ops[k->op].phase;
    } else {
        rank->n_unlinked += k->class == TY_PROFILE_COMPUTE;
    }
    if (k->class == TY_PROFILE_COMMUNICATION) {
        ty_profile_name_comm(rank, l->store, k);
    }
}

static int kernel_order(const void *a, const void *b)
{
    const struct ty_profile_kernel *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    if (x->dur_ns != y->dur_ns) {
        return x->dur_ns < y->dur_ns ? -1 : 1;
    }
    return x->name < y->name ? -1 : x->name > y->name;
}

static int step_order(const void *a, const void *b)
{
    const struct ty_profile_step *x = a, *y = b;
    return x->start_ns != y->start_ns ? (x->start_ns < y->start_ns ? -1 : 1)
                                      : (x->number > y->number) - (x->number < y->number);
}

/* Kernels that begin before the one before them on their stream has ended: Hopper starts one early
 * where it may (programmatic dependent launch). Streams beyond the first few hundred are not
 * looked at. */
static void count_overlaps(struct ty_profile_rank *rank)
{
    struct {
        uint64_t stream;
        int64_t end_ns;
    } last[256];
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        const uint64_t stream = (uint64_t)k->device << 32 | k->stream;
        uint32_t s = 0;
        while (s < n && last[s].stream != stream) {
            s++;
        }
        if (s == TY_COUNT(last)) {
            continue;
        }
        if (s == n) {
            last[n].stream = stream;
            last[n++].end_ns = k->start_ns;
        }
        rank->n_overlaps += k->start_ns < last[s].end_ns;
        const int64_t end = k->start_ns + k->dur_ns;
        last[s].end_ns = end > last[s].end_ns ? end : last[s].end_ns;
    }
}

/* ---- what stays ---- */

/* Operators that launched something, and those around them; moved to the front in order. */
static bool drop_idle_ops(struct ty_profile_rank *rank)
{
    uint32_t *moved = malloc(((size_t)rank->n_ops + 1) * sizeof(*moved));
    if (moved == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        moved[i] = TY_PROFILE_NONE;
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        for (uint32_t op = rank->kernels[i].op; op != TY_PROFILE_NONE && moved[op] != 0;
             op = rank->ops[op].parent) {
            moved[op] = 0;
        }
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        if (moved[i] == 0) {
            moved[i] = n;
            rank->ops[n++] = rank->ops[i];
        }
    }
    rank->n_ops = n;
    for (uint32_t i = 0; i < n; i++) {
        struct ty_profile_op *op = &rank->ops[i];
        op->parent = op->parent != TY_PROFILE_NONE ? moved[op->parent] : TY_PROFILE_NONE;
        op->forward = op->forward != TY_PROFILE_NONE ? moved[op->forward] : TY_PROFILE_NONE;
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        struct ty_profile_kernel *k = &rank->kernels[i];
        k->op = k->op != TY_PROFILE_NONE ? moved[k->op] : TY_PROFILE_NONE;
    }
    free(moved);
    return true;
}

int ty_profile_link(struct ty_profile_file *file, const struct ty_profile_store *store,
                    struct ty_err *err)
{
    struct linker l = {.file = file, .store = store};
    struct ty_profile_rank *rank = &file->rank;
    uint32_t deepest = 0;
    bool ok = sort_ops(file) && nest(&l, &deepest);
    if (deepest > MAX_NEST) {
        return ty_fail(err, TY_EINPUT,
                       "%s: operators nested %u deep; no profiler writes more than %u", rank->file,
                       (unsigned)deepest, MAX_NEST);
    }
    if (ok) {
        only_forward(&l);
    }
    ok = ok && index_ops(&l) && index_calls(&l);
    if (ok && rank->n_steps == 0) {
        ok = steps_of_kernels(file, &l.own_steps);
    } else if (ok) {
        qsort(rank->steps, rank->n_steps, sizeof(*rank->steps), step_order);
    }
    for (uint32_t i = 0; i < rank->n_kernels && ok; i++) {
        link_kernel(&l, i);
    }
    ok = ok && drop_idle_ops(rank);
    if (ok && rank->n_kernels > 0) {
        qsort(rank->kernels, rank->n_kernels, sizeof(*rank->kernels), kernel_order);
        count_overlaps(rank);
    }
    free(l.externals);
    free(l.calls);
    free(l.sequences);
    return ok ? 0 : ty_fail_memory(err);
}
