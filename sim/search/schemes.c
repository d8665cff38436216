/* schemes.c - compares tensor schemes: bytes by closed forms, times by execution.
 *
 * Bytes are those of the closed forms, of products of K x N on M tokens (docs/internals/model.md),
 * forward and backward, without what runs again: elements that a rank receives for a layer are
 *
 *     1d      8 (p - 1)/p M h              and 2 (p - 1)/p M h where inputs are gathered again
 *     2.5d    3 (q - 1)/q^2 (sum MK / d + sum KN) + 2 (d - 1)/d sum KN / q^2      2d: d = 1
 *     3d      2 (q - 1)/q^3 (sum MK + sum KN + sum MN)    and (q - 1)/q^3 (sum MK + sum KN) where
 *             what was gathered is not kept */
#include "sim/search/schemes.h"

#include <string.h>

#include "model/block/block.h"
#include "model/parallel/kinds.h"
#include "sim/base/text.h"

/* ---- closed forms ---- */

struct sums {
    double MK, KN, MN; /* over the products of a layer */
};

/* The products of a layer, one by one: whether there is a next, with the operator it is of. */
struct product {
    const struct ty_unit_op *op;
    const struct ty_kernel *kernel;
};

static bool next_product(const struct ty_units *units, struct product *at)
{
    const struct ty_unit_ops *layer = &units->kind[TY_UNIT_LAYER];
    uint32_t i = at->op != NULL ? (uint32_t)(at->op - layer->op) : 0;
    uint32_t k = at->op != NULL ? (uint32_t)(at->kernel - at->op->kernel) + 1 : 0;
    for (; i < layer->n; i++, k = 0) {
        for (; k < layer->op[i].n_kernels; k++) {
            if (layer->op[i].kernel[k].op == TY_OPERATOR_MATMUL) {
                *at = (struct product){&layer->op[i], &layer->op[i].kernel[k]};
                return true;
            }
        }
    }
    return false;
}

static struct sums whole_sums(const struct ty_config *c, struct ty_units *units)
{
    struct ty_layout whole = c->layout;
    struct product at = {.op = NULL};
    struct sums sum = {0, 0, 0};
    whole.tensor = 1;
    whole.sequence_parallel = false;
    ty_units_make(units, &c->arch, &whole);
    while (next_product(units, &at)) {
        const struct ty_matmul *m = &at.kernel->matmul;
        sum.MK += m->rows * m->in;
        sum.KN += m->in * m->out;
        sum.MN += m->rows * m->out;
    }
    return sum;
}

static double layer_elements(const struct ty_config *c, struct ty_units *units)
{
    const struct ty_layout *l = &c->layout;
    const struct ty_mesh mesh = ty_layout_mesh(l);
    const struct sums sum = whole_sums(c, units);
    const double p = l->tensor, q = mesh.side, d = mesh.depth;
    const double states = units->shard.tokens * c->arch.hidden;
    switch (mesh.scheme) {
    case TY_TENSOR_1D:
        break;
    case TY_TENSOR_2D:
    case TY_TENSOR_25D:
        return 3 * (q - 1) / (q * q) * (sum.MK / d + sum.KN) + 2 * (d - 1) / d * sum.KN / (q * q);
    case TY_TENSOR_3D:
        return (q - 1) / (q * q * q) *
               (2 * (sum.MK + sum.KN + sum.MN) + (l->keep_gathered ? 0 : sum.MK + sum.KN));
    }
    const bool again = l->sequence_parallel && l->framework.regather_inputs;
    return (8 + (again ? 2 : 0)) * (p - 1) / p * states;
}

static void find_bytes(struct ty_scheme *scheme, struct ty_units *units)
{
    const struct ty_config *c = &scheme->trial.config;
    const double layers = (double)c->arch.layers / c->layout.pipeline;
    scheme->received_B = layer_elements(c, units) * layers * c->layout.micro_batches *
                         ty_dtype_bytes((enum ty_dtype)c->arch.dtype);
}

static void find_product(struct ty_scheme *scheme, struct ty_units *units)
{
    const struct ty_config *c = &scheme->trial.config;
    struct product at = {.op = NULL};
    ty_units_make(units, &c->arch, &c->layout);
    while (next_product(units, &at)) {
        const struct ty_matmul *m = &at.kernel->matmul;
        const uint32_t pieces = at.op->steps.n > 0 ? at.op->steps.n : 1;
        const double size = pieces * m->rows * m->in * m->out;
        if (size > scheme->pieces * scheme->rows * scheme->in * scheme->out) {
            const struct ty_cost cost = ty_kernel_cost(&c->cluster.gpu, at.kernel, TY_FORWARD);
            scheme->rows = m->rows;
            scheme->in = m->in;
            scheme->out = m->out;
            scheme->pieces = pieces;
            scheme->product_FLOPs = cost.flops / cost.seconds;
        }
    }
}

/* ---- which there are ---- */

struct search {
    const struct ty_run *run;
    struct ty_config base;
    struct ty_schemes *out;
    struct ty_units *units;
    struct ty_arena *arena;
    struct ty_err why; /* of the last one that was refused */
    int rc;
};

/* The same micro-batch, or the next larger one that a scheme can deal out and the batch takes. */
static void fit_micro_batch(struct ty_layout *l)
{
    const struct ty_mesh mesh = ty_layout_mesh(l);
    const uint32_t parts = mesh.scheme == TY_TENSOR_1D ? 1 : mesh.side * mesh.depth;
    const uint32_t most = l->global_batch / l->data;
    uint32_t b = l->micro_batch;
    while (b <= most && (b % parts != 0 || most % b != 0)) {
        b++;
    }
    l->micro_batch = b <= most ? b : l->micro_batch;
}

/* What is wrong, without the place in the file: "run.yaml:3:7: layout.tensor: 4 ..." */
static const char *reason(struct search *s)
{
    const char *text = ty_err_text(&s->why), *at = strstr(text, ": layout.");
    const char *start = at != NULL ? at + 2 : text;
    return ty_arena_strndup(s->arena, start, strcspn(start, "\n"));
}

/* A copy of the plan with that scheme: kept if it can be, else why not. */
static void keep(struct search *s, struct ty_scheme *item)
{
    struct ty_config *c = &item->trial.config;
    ty_err_init(&s->why);
    int rc = ty_change_note(&item->change, &s->base, c, s->arena);
    if (rc == 0) {
        rc = ty_change_finish(&item->change, s->run->config, c, s->arena, &s->why);
    }
    if (rc == 0) {
        find_product(item, s->units);
        find_bytes(item, s->units);
        s->out->n++;
    } else if (rc == TY_ENOMEM || rc == TY_EBUG) {
        s->rc = rc;
    } else if (s->out->refused == NULL) {
        s->out->refused = reason(s);
    }
}

static void try_scheme(struct search *s, enum ty_tensor_scheme scheme, uint32_t depth,
                       bool sequence_parallel, const char *name)
{
    struct ty_scheme *item = &s->out->item[s->out->n];
    if (s->rc < 0 || s->out->n == TY_SCHEMES_MAX) {
        return;
    }
    *item = (struct ty_scheme){.name = name};
    item->trial.config = s->base;
    struct ty_layout *l = &item->trial.config.layout;
    const bool own = l->tensor_scheme == (int)scheme && l->tensor_depth == depth &&
                     l->sequence_parallel == sequence_parallel;
    l->tensor_scheme = (int)scheme;
    l->tensor_depth = depth;
    l->sequence_parallel = sequence_parallel;
    if (!own && s->base.schedule.custom == NULL) {
        fit_micro_batch(l);
    }
    s->out->own = own ? s->out->n : s->out->own;
    s->rc = name == NULL ? TY_ENOMEM : s->rc;
    keep(s, item);
}

/* How many grids there can be: their number is `depth`. */
static void try_grids(struct search *s, uint32_t ranks)
{
    for (uint32_t side = ty_root(ranks, 2); side >= 2; side--) {
        const uint32_t depth = ranks / (side * side);
        if (depth * side * side == ranks && depth == 1) {
            const bool grids = s->base.layout.tensor_scheme == TY_TENSOR_25D &&
                               s->base.layout.tensor_depth == 1; /* the same */
            try_scheme(s, grids ? TY_TENSOR_25D : TY_TENSOR_2D, 1, false,
                       ty_arena_printf(s->arena, "2d, %u x %u", (unsigned)side, (unsigned)side));
        } else if (depth * side * side == ranks) {
            try_scheme(s, TY_TENSOR_25D, depth, false,
                       ty_arena_printf(s->arena, "2.5d, %u x %u x %u", (unsigned)side,
                                       (unsigned)side, (unsigned)depth));
        }
    }
    const uint32_t side = ty_root(ranks, 3);
    if (side >= 2 && side * side * side == ranks) {
        try_scheme(s, TY_TENSOR_3D, 1, false,
                   ty_arena_printf(s->arena, "3d, %u x %u x %u", (unsigned)side, (unsigned)side,
                                   (unsigned)side));
    }
}

/* ---- their times ---- */

static bool before(const struct ty_scheme *a, const struct ty_scheme *b)
{
    return a->trial.rc == 0 && (b->trial.rc < 0 || a->trial.step_s < b->trial.step_s);
}

/* Fastest first, those that did not run behind all others; these go. */
static void rank(struct ty_schemes *out)
{
    for (uint32_t i = 1; i < out->n; i++) {
        for (uint32_t k = i; k > 0 && before(&out->item[k], &out->item[k - 1]); k--) {
            const struct ty_scheme faster = out->item[k];
            out->item[k] = out->item[k - 1];
            out->item[k - 1] = faster;
            out->own = out->own == k ? k - 1 : out->own == k - 1 ? k : out->own;
        }
    }
    while (out->n > 0 && out->item[out->n - 1].trial.rc < 0) {
        out->n--;
    }
}

int ty_run_schemes(const struct ty_run *run, struct ty_schemes *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    struct ty_trial *trial[TY_SCHEMES_MAX];
    struct search s = {.run = run, .base = ty_trial_config(run), .out = out, .arena = arena};
    const uint32_t ranks = s.base.layout.tensor;
    *out = (struct ty_schemes){.n = 0};
    s.units = ty_arena_array(arena, struct ty_units, 1);
    if (s.units == NULL) {
        return ty_fail_memory(err);
    }
    out->no_noise = ty_trial_disable_noise(&s.base, (double)ty_run_program(run)->n_tasks);
    try_grids(&s, ranks);
    const bool any = out->n > 0 || out->refused != NULL;
    if (any) {
        try_scheme(&s, TY_TENSOR_1D, 1, false, "1d");
        try_scheme(&s, TY_TENSOR_1D, 1, true, "1d, sequence_parallel");
    }
    for (uint32_t i = 0; i < out->n; i++) {
        trial[i] = &out->item[i].trial;
    }
    if (s.rc < 0) {
        return s.rc == TY_ENOMEM ? ty_fail_memory(err)
                                 : ty_fail(err, s.rc, "a tensor scheme changes too many keys");
    }
    const int rc = ty_trials_execute(run, trial, out->n, err);
    if (rc == 0) {
        rank(out);
    }
    return rc;
}
