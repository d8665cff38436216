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

#include "sim/profile/read/read.h"
#include "sim/profile/read/words.h"

/* Where an operator has what one rank gives, or, with `output`, what one rank gets. */
static const struct issuer {
    const char *name; /* its beginning */
    uint8_t argument;
    bool output;
} issuers[] = {
    {"c10d::allgather_", 1, false},     {"c10d::_allgather_base_", 1, false},
    {"c10d::reduce_scatter_", 0, true}, {"c10d::_reduce_scatter_base_", 1, false},
    {"c10d::alltoall_", 1, false},      {"c10d::allreduce_", 0, false},
    {"c10d::broadcast_", 0, false},     {"c10d::send", 0, false},
    {"c10d::recv_", 0, false},          {"nccl:", 0, false},
    {"record_param_comms", 0, false},   {"symm_mem::", 0, false},
};

/* What a kernel that reduces has in its name: "ncclKernel_AllReduce_RING_LL_Sum_float(...)",
 * "ncclDevKernel_AllReduce_Sum_bf16_RING_LL". Others are called by bytes whatever they carry. */
static uint8_t bytes_in_name(const char *kernel)
{
    static const struct ty_profile_words types[] = {
        {4, {"_Sum_float", "_Sum_f32"}},
        {2, {"_Sum_half", "_Sum_f16", "_Sum___nv_bfloat16", "_Sum_bf16", "_Sum_hip_bfloat16"}},
        {2, {"_Sum___half"}},
        {8, {"_Sum_double", "_Sum_f64"}},
    };
    const bool reduces = strstr(kernel, "Reduce") != NULL;
    return (uint8_t)(reduces ? ty_profile_meaning(types, TY_COUNT(types), TY_MATCH_PART, kernel, 0)
                             : 0);
}

/* Both sides of one rank, by what one of them is. */
static void take_side(struct ty_profile_comm *comm, uint8_t coll, uint64_t n, bool output)
{
    const uint64_t ranks = comm->group_size > 0 ? comm->group_size : 1;
    const bool grows = coll == TY_PROFILE_COLL_ALL_GATHER;
    const bool shrinks = coll == TY_PROFILE_COLL_REDUCE_SCATTER;
    comm->in_nelems = output && shrinks ? n * ranks : output && grows ? n / ranks : n;
    comm->out_nelems = output ? n : grows ? n * ranks : shrinks ? n / ranks : n;
    /* what many ranks share needs their number */
    const bool whole = output ? shrinks : grows;
    comm->has_size = !whole || comm->group_size > 0;
}

static void take_size(struct ty_profile_comm *comm, uint8_t coll, const struct issuer *issuer,
                      const char *dims, const char *types)
{
    char type[64];
    const uint64_t n = ty_profile_elements(dims, issuer->argument, 0);
    if (!comm->has_size && n > 0) {
        take_side(comm, coll, n, issuer->output);
    }
    if (comm->element_B == 0) {
        comm->element_B =
            ty_profile_element_bytes(ty_profile_line(types, issuer->argument, type, sizeof(type)));
    }
}

static const struct issuer *issuer_of(const char *op)
{
    for (size_t i = 0; i < TY_COUNT(issuers); i++) {
        if (ty_text_begins(op, issuers[i].name)) {
            return &issuers[i];
        }
    }
    return NULL;
}

/* From the innermost operator outwards; the first that tells something is believed. */
static void profile_name_comm(struct ty_profile_rank *rank, const struct ty_profile_store *store,
                              struct ty_profile_kernel *kernel)
{
    struct ty_profile_comm *comm = &rank->comms[kernel->comm];
    const char *name = store->text[kernel->name];
    bool named = comm->name != 0;
    for (uint32_t i = kernel->op; i != TY_PROFILE_NONE && !named; i = rank->ops[i].parent) {
        const char *op = store->text[rank->ops[i].name];
        named = ty_text_begins(op, "nccl:") || ty_text_begins(op, "c10d::");
        if (named) {
            kernel->coll = (uint8_t)ty_profile_coll_of("", name, op);
        }
    }
    for (uint32_t i = kernel->op; i != TY_PROFILE_NONE; i = rank->ops[i].parent) {
        const struct ty_profile_op *op = &rank->ops[i];
        const struct issuer *issuer = issuer_of(store->text[op->name]);
        if (issuer != NULL) {
            take_size(comm, kernel->coll, issuer, store->text[op->dims], store->text[op->types]);
        }
    }
    comm->element_B = comm->element_B > 0 ? comm->element_B : bytes_in_name(name);
}

#define MAX_NEST 1000u
#define MAX_SAME 1000u /* guess: far more operators than a layer has between two nodes */
#define EVALUATE "autograd::engine::evaluate_function"

/* An operator by a number that it carries. */
struct carrier {
    int64_t number, start_ns;
    uint32_t op;
};

struct linker {
    struct ty_profile_file *file;
    struct ty_profile_rank *rank; /* the file's */
    const struct ty_profile_store *store;
    struct ty_arena arena;
    struct carrier *externals, *sequences; /* in order */
    uint32_t n_externals, n_sequences;
    bool own_steps; /* kernels name them */
};

/* How many rows, which are in order, are not behind one. */
static uint32_t up_to(const void *rows, uint32_t n, size_t size, const void *one,
                      int (*order)(const void *, const void *))
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (order((const char *)rows + middle * size, one) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void sort(void *rows, uint32_t n, size_t size, int (*order)(const void *, const void *))
{
    if (n > 0) {
        qsort(rows, n, size, order);
    }
}

static const char *op_name(const struct linker *l, const struct ty_profile_op *op)
{
    return l->store->text[op->name];
}

static int64_t end_of(const struct ty_profile_op *op)
{
    return op->start_ns + op->dur_ns;
}

/* ---- operators ---- */

static int op_start_order(const void *a, const void *b)
{
    const struct ty_profile_op *x = a, *y = b;
    return 2 * TY_ORDER(x->thread, y->thread) + TY_ORDER(x->start_ns, y->start_ns);
}

/* What encloses comes first; else as in the file. */
static int op_order(const void *a, const void *b)
{
    const struct ty_profile_op *x = a, *y = b;
    return 4 * op_start_order(a, b) + 2 * TY_ORDER(y->dur_ns, x->dur_ns) +
           TY_ORDER(x->parent, y->parent);
}

static uint8_t phase_of(const struct linker *l, const struct ty_profile_op *op)
{
    const char *name = op_name(l, op);
    const uint8_t around =
        op->parent != TY_PROFILE_NONE ? l->rank->ops[op->parent].phase : TY_PROFILE_OTHER;
    if (ty_text_begins(name, "Optimizer.")) {
        return TY_PROFILE_OPTIMIZER;
    }
    if (ty_text_begins(name, EVALUATE) || op->has_fwd_thread) {
        return TY_PROFILE_BACKWARD;
    }
    if (op->sequence >= 0 && around == TY_PROFILE_BACKWARD) {
        return TY_PROFILE_RECOMPUTE;
    }
    return op->sequence >= 0 && around == TY_PROFILE_OTHER ? TY_PROFILE_FORWARD : around;
}

/* False when memory is exhausted; *deepest: operators around one at most. */
static bool nest(struct linker *l, uint32_t *deepest)
{
    struct ty_profile_op *ops = l->rank->ops;
    const uint32_t n = l->rank->n_ops;
    uint32_t *depth = ty_arena_array(&l->arena, uint32_t, n);
    sort(ops, n, sizeof(*ops), op_order);
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
    return depth != NULL;
}

static bool trains(const struct linker *l, const struct ty_profile_op *op)
{
    const char *name = op_name(l, op);
    return op->phase == TY_PROFILE_BACKWARD || op->phase == TY_PROFILE_OPTIMIZER ||
           strstr(name, "Backward") != NULL || strstr(name, "_backward") != NULL;
}

/* Without gradients autograd numbers nothing: where a rank has no backward and no optimizer, all
 * that it computes is forward. */
static void only_forward(struct linker *l)
{
    for (uint32_t i = 0; i < l->rank->n_ops; i++) {
        if (trains(l, &l->rank->ops[i])) {
            return;
        }
    }
    for (uint32_t i = 0; i < l->rank->n_ops; i++) {
        l->rank->ops[i].phase = TY_PROFILE_FORWARD;
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
            return ty_text_begins(b, "Backward");
        }
        if (tolower((unsigned char)*f) != tolower((unsigned char)*b)) {
            return false;
        }
    }
}

static int carrier_order(const void *a, const void *b)
{
    const struct carrier *x = a, *y = b;
    return 4 * TY_ORDER(x->number, y->number) + 2 * TY_ORDER(x->start_ns, y->start_ns) +
           TY_ORDER(x->op, y->op);
}

/* Of operators with the same sequence number the last one that fits. Not all are looked at: whoever
 * gives every operator the same number would make this take the square of their count. */
static void find_forward(const struct linker *l, struct ty_profile_op *op)
{
    const struct carrier latest = {op->sequence, op->start_ns, TY_PROFILE_NONE};
    const char *name = op_name(l, op), *space = strrchr(name, ' ');
    name = ty_text_begins(name, EVALUATE) && space != NULL ? space + 1 : name;
    const uint32_t from =
        up_to(l->sequences, l->n_sequences, sizeof(latest), &latest, carrier_order);
    for (uint32_t i = from;
         i > 0 && from - i < MAX_SAME && l->sequences[i - 1].number == op->sequence; i--) {
        const uint32_t other = l->sequences[i - 1].op;
        if (is_backward_of(name, op_name(l, &l->rank->ops[other]))) {
            op->forward = other;
            return;
        }
    }
}

static bool index_ops(struct linker *l)
{
    const uint32_t n = l->rank->n_ops;
    l->externals = ty_arena_array(&l->arena, struct carrier, n);
    l->sequences = ty_arena_array(&l->arena, struct carrier, n);
    if (l->externals == NULL || l->sequences == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ty_profile_op *op = &l->rank->ops[i];
        if (op->external > 0) {
            l->externals[l->n_externals++] = (struct carrier){op->external, op->start_ns, i};
        }
        if (op->sequence >= 0 && !op->has_fwd_thread) {
            l->sequences[l->n_sequences++] = (struct carrier){op->sequence, op->start_ns, i};
        }
    }
    sort(l->externals, l->n_externals, sizeof(*l->externals), carrier_order);
    sort(l->sequences, l->n_sequences, sizeof(*l->sequences), carrier_order);
    for (uint32_t i = 0; i < n; i++) {
        struct ty_profile_op *op = &l->rank->ops[i];
        if (op->sequence >= 0 && op->has_fwd_thread) {
            find_forward(l, op);
        }
    }
    return true;
}

/* ---- steps ---- */

static int step_start_order(const void *a, const void *b)
{
    const struct ty_profile_step *x = a, *y = b;
    return TY_ORDER(x->start_ns, y->start_ns);
}

static int step_order(const void *a, const void *b)
{
    const struct ty_profile_step *x = a, *y = b;
    return 2 * step_start_order(a, b) + TY_ORDER(x->number, y->number);
}

static uint32_t step_at(const struct ty_profile_rank *rank, int64_t at)
{
    const struct ty_profile_step now = {.start_ns = at};
    const uint32_t n = up_to(rank->steps, rank->n_steps, sizeof(now), &now, step_start_order);
    return n > 0 && at < rank->steps[n - 1].end_ns ? n - 1 : TY_PROFILE_NONE;
}

/* Steps as the kernels themselves name them, which only trainyard's own files do: each from its
 * first kernel to the end of its last, in place of the marks of a host that only launches. Numbers
 * become places in `steps`. */
static bool steps_of_kernels(struct linker *l)
{
    struct ty_profile_rank *rank = l->rank;
    uint32_t *place = ty_arena_array(&l->arena, uint32_t, TY_PROFILE_STEPS); /* and 1; 0: none */
    for (uint32_t i = 0; i < rank->n_kernels && place != NULL; i++) {
        struct ty_profile_kernel *k = &rank->kernels[i];
        const uint32_t number = k->step;
        if (number == TY_PROFILE_NONE) {
            continue;
        }
        if (place[number] == 0) {
            if (!TY_PROFILE_GROW(rank->steps, rank->n_steps, l->file->cap_steps)) {
                return false;
            }
            rank->steps[rank->n_steps] = (struct ty_profile_step){
                .start_ns = INT64_MAX, .end_ns = INT64_MIN, .number = number};
            place[number] = ++rank->n_steps;
            l->own_steps = true;
        }
        struct ty_profile_step *step = &rank->steps[place[number] - 1];
        const int64_t end = k->start_ns + k->dur_ns;
        step->start_ns = k->start_ns < step->start_ns ? k->start_ns : step->start_ns;
        step->end_ns = end > step->end_ns ? end : step->end_ns;
        k->step = place[number] - 1;
    }
    for (uint32_t i = 0; i < l->file->n_cuts && place != NULL; i++) {
        const uint32_t at = place[l->file->cuts[i]];
        if (at != 0) {
            rank->steps[at - 1].cut = true;
        }
    }
    return place != NULL;
}

static bool find_steps(struct linker *l)
{
    if (l->rank->n_steps == 0 || l->file->own) {
        l->rank->n_steps = 0;
        return steps_of_kernels(l);
    }
    sort(l->rank->steps, l->rank->n_steps, sizeof(*l->rank->steps), step_order);
    return true;
}

/* ---- kernels ---- */

static int call_order(const void *a, const void *b)
{
    const struct ty_profile_call *x = a, *y = b;
    return 2 * TY_ORDER(x->correlation, y->correlation) + TY_ORDER(x->start_ns, y->start_ns);
}

static const struct ty_profile_call *call_of(const struct linker *l, int64_t correlation)
{
    const struct ty_profile_file *file = l->file;
    const struct ty_profile_call last = {.correlation = correlation, .start_ns = INT64_MAX};
    const uint32_t n = up_to(file->calls, file->n_calls, sizeof(last), &last, call_order);
    const bool found = correlation > 0 && n > 0 && file->calls[n - 1].correlation == correlation;
    return found ? &file->calls[n - 1] : NULL;
}

static uint32_t op_by_external(const struct linker *l, int64_t external)
{
    const struct carrier last = {external, INT64_MAX, TY_PROFILE_NONE};
    const uint32_t n = up_to(l->externals, l->n_externals, sizeof(last), &last, carrier_order);
    const bool found = external > 0 && n > 0 && l->externals[n - 1].number == external;
    return found ? l->externals[n - 1].op : TY_PROFILE_NONE;
}

/* The innermost operator of a thread at a time. */
static uint32_t op_around(const struct linker *l, uint32_t thread, int64_t at)
{
    const struct ty_profile_op *ops = l->rank->ops, now = {.thread = thread, .start_ns = at};
    const uint32_t n = up_to(ops, l->rank->n_ops, sizeof(now), &now, op_start_order);
    uint32_t op = n > 0 && ops[n - 1].thread == thread ? n - 1 : TY_PROFILE_NONE;
    while (op != TY_PROFILE_NONE && end_of(&ops[op]) <= at) {
        op = ops[op].parent;
    }
    return op;
}

static void link_kernel(struct linker *l, uint32_t i)
{
    struct ty_profile_rank *rank = l->rank;
    struct ty_profile_kernel *k = &rank->kernels[i];
    const struct ty_profile_launch *launch = &l->file->launches[i];
    const struct ty_profile_call *call = call_of(l, launch->correlation);
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
        profile_name_comm(rank, l->store, k);
    }
}

static int kernel_order(const void *a, const void *b)
{
    const struct ty_profile_kernel *x = a, *y = b;
    return 8 * TY_ORDER(x->start_ns, y->start_ns) + 4 * TY_ORDER(x->stream, y->stream) +
           2 * TY_ORDER(x->dur_ns, y->dur_ns) + TY_ORDER(x->name, y->name);
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

/* The new place of an operator that has moved. */
static uint32_t moved_to(const uint32_t *place, uint32_t op)
{
    return op != TY_PROFILE_NONE ? place[op] : TY_PROFILE_NONE;
}

/* Operators that launched something, and those around them; moved to the front in order. */
static bool drop_idle_ops(struct linker *l)
{
    struct ty_profile_rank *rank = l->rank;
    bool *used = ty_arena_array(&l->arena, bool, rank->n_ops);
    uint32_t *place = ty_arena_array(&l->arena, uint32_t, rank->n_ops), n = 0;
    if (used == NULL || place == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        for (uint32_t op = rank->kernels[i].op; op != TY_PROFILE_NONE && !used[op];
             op = rank->ops[op].parent) {
            used[op] = true;
        }
    }
    for (uint32_t i = 0; i < rank->n_ops; i++) {
        place[i] = used[i] ? n : TY_PROFILE_NONE;
        rank->ops[n] = rank->ops[i];
        n += used[i];
    }
    rank->n_ops = n;
    for (uint32_t i = 0; i < n; i++) {
        rank->ops[i].parent = moved_to(place, rank->ops[i].parent);
        rank->ops[i].forward = moved_to(place, rank->ops[i].forward);
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        rank->kernels[i].op = moved_to(place, rank->kernels[i].op);
    }
    return true;
}

static bool link_all(struct linker *l)
{
    struct ty_profile_rank *rank = l->rank;
    only_forward(l);
    sort(l->file->calls, l->file->n_calls, sizeof(*l->file->calls), call_order);
    if (!index_ops(l) || !find_steps(l)) {
        return false;
    }
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        link_kernel(l, i);
    }
    sort(rank->kernels, rank->n_kernels, sizeof(*rank->kernels), kernel_order);
    count_overlaps(rank);
    return drop_idle_ops(l);
}

int ty_profile_link(struct ty_profile_file *file, const struct ty_profile_store *store,
                    struct ty_err *err)
{
    struct linker l = {.file = file, .rank = &file->rank, .store = store};
    uint32_t deepest = 0;
    int rc = nest(&l, &deepest) ? 0 : ty_fail_memory(err);
    if (deepest > MAX_NEST) {
        rc =
            ty_fail(err, TY_EINPUT, "%s: operators nested %u deep; no profiler writes more than %u",
                    l.rank->file, (unsigned)deepest, MAX_NEST);
    }
    if (rc == 0 && !link_all(&l)) {
        rc = ty_fail_memory(err);
    }
    ty_arena_release(&l.arena);
    return rc;
}
