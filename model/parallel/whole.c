/* whole.c - counts the parameters and FLOPs of a whole model from its lists of operators. */
#include "model/parallel/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/parallel/kinds.h"

void ty_units_make_whole(struct ty_units *units, const struct ty_arch *arch,
                         const struct ty_layout *like)
{
    struct ty_layout alone = {.tensor = 1,
                              .context = 1,
                              .pipeline = 1,
                              .data = 1,
                              .expert = 1,
                              .expert_tensor = 1,
                              .micro_batch = 1};
    if (like != NULL) {
        alone.recompute = like->recompute;
        alone.recompute_layers = like->recompute_layers;
        alone.stage_layers = like->stage_layers;
        alone.stages = like->stages;
        alone.n_modes = like->n_modes;
        memcpy(alone.mode, like->mode, sizeof(alone.mode));
        alone.framework = like->framework;
    }
    ty_units_make(units, arch, &alone);
}

/* The units of a whole model and how many of each it has. A megabyte, so it is not on the stack. */
struct model {
    struct ty_units units;
    uint32_t count[TY_N_UNIT_KINDS];
};

/* Of the model itself adapters are no part. */
static void leave_adapters(struct ty_units *units)
{
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        for (uint32_t i = 0; i < units->kind[k].n; i++) {
            struct ty_unit_op *op = &units->kind[k].op[i];
            op->n_kernels = op->adapter ? 0 : op->n_kernels;
            op->n_weights = op->adapter ? 0 : op->n_weights;
        }
    }
}

/* NULL: no memory; to be freed. */
static struct model *model_new(const struct ty_arch *arch, const struct ty_layout *like)
{
    const struct ty_layers all = {.count = arch->layers};
    struct model *m = malloc(sizeof(*m));
    if (m == NULL) {
        return NULL;
    }
    ty_units_make_whole(&m->units, arch, like);
    if (like == NULL) {
        leave_adapters(&m->units);
    }
    if (like != NULL) {
        ty_model_count(arch, like, m->count);
    } else {
        ty_stage_count(arch, &all, true, true, m->count);
    }
    return m;
}

/* A sum over the units of a model; `way` is what the function makes of it. NaN: no memory. */
typedef double sum_fn(const struct model *m, const struct ty_arch *arch, bool way);

static double sum_of(const struct ty_arch *arch, const struct ty_layout *like, bool way,
                     sum_fn *sum)
{
    struct model *m = model_new(arch, like);
    const double value = m != NULL ? sum(m, arch, way) : (double)NAN;
    free(m);
    return value;
}

/* ---- parameters ---- */

static double layer_params(const struct model *m, const struct ty_arch *arch, bool ends)
{
    const struct ty_layers all = {.count = arch->layers};
    const struct ty_stage_params sum = ty_stage_params(&m->units, arch, &all, ends, ends);
    return sum.all + sum.frozen;
}

static double embedding_params(const struct model *m, const struct ty_arch *arch, bool unused)
{
    (void)arch;
    (void)unused;
    return ty_unit_params(&m->units.kind[TY_UNIT_EMBEDDING]);
}

static double head_params(const struct model *m, const struct ty_arch *arch, bool unused)
{
    (void)arch;
    (void)unused;
    return ty_unit_params(&m->units.kind[TY_UNIT_HEAD]);
}

static double active_params(const struct model *m, const struct ty_arch *arch, bool embedding)
{
    const struct ty_layers all = {.count = arch->layers};
    uint32_t count[TY_N_UNIT_KINDS];
    double sum = 0;
    ty_stage_count(arch, &all, embedding || arch->tied, true, count);
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        sum += count[k] * ty_unit_active_params(&m->units.kind[k], arch);
    }
    return sum;
}

double ty_arch_layer_params(const struct ty_arch *arch)
{
    return sum_of(arch, NULL, false, layer_params) / arch->layers;
}

double ty_arch_embedding_params(const struct ty_arch *arch)
{
    return sum_of(arch, NULL, false, embedding_params);
}

double ty_arch_head_params(const struct ty_arch *arch)
{
    return sum_of(arch, NULL, false, head_params);
}

double ty_arch_params(const struct ty_arch *arch)
{
    return sum_of(arch, NULL, true, layer_params);
}

static double trained_params(const struct model *m, const struct ty_arch *arch, bool unused)
{
    const struct ty_layers all = {.count = arch->layers};
    (void)unused;
    return ty_stage_params(&m->units, arch, &all, true, true).all;
}

static double expert_params(const struct model *m, const struct ty_arch *arch, bool unused)
{
    const struct ty_layers all = {.count = arch->layers};
    (void)unused;
    return ty_stage_params(&m->units, arch, &all, true, true).experts;
}

double ty_arch_trained_params(const struct ty_arch *arch, const struct ty_layout *layout)
{
    const bool shared = arch->lora.rank > 0 && arch->lora.experts == TY_LORA_SHARED;
    const double others = shared && layout->expert > 1 ? layout->expert - 1 : 0;
    return sum_of(arch, layout, false, trained_params) +
           (others > 0 ? others * sum_of(arch, layout, false, expert_params) : 0);
}

double ty_arch_active_params(const struct ty_arch *arch, bool embedding)
{
    return sum_of(arch, NULL, embedding, active_params);
}

/* ---- FLOPs ---- */

/* Keys that a query looks at, mean over a sequence and counted twice, as if it also saw those after
 * it: the sequence, or what a window leaves of it. */
static double span(const struct ty_attention_core *core)
{
    const double s = core->tokens, w = core->window;
    return w > 0 ? 2 * w - w * w / s : s;
}

/* Scores and their product with the values, forward, per token. */
static double attention(const struct ty_attention_core *core, bool causal)
{
    const double value_dim = core->value_dim > 0 ? core->value_dim : core->head_dim;
    const double full = 2 * core->heads * (core->head_dim + value_dim) * span(core);
    return causal ? full / 2 : full;
}

/* Of a state: its decay, what a key and a value add, and what a query reads (Megatron-LM counts 7
 * of Mamba, training.py). */
static double recurrence(const struct ty_scan *scan)
{
    return 7 * scan->heads * scan->key * scan->value;
}

/* Multiply-adds of a matrix product per token. */
static double product(const struct ty_kernel *kernel, double tokens)
{
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return kernel->matmul.rows / tokens * kernel->matmul.in * kernel->matmul.out;
    case TY_OPERATOR_GROUPED:
        return kernel->grouped.rows / tokens * kernel->grouped.in * kernel->grouped.out;
    default:
        return 0;
    }
}

/* A router's product counts for nothing. */
static bool is_router(const struct ty_unit_op *op)
{
    bool is = false;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        is = is || op->kernel[i].op == TY_OPERATOR_ROUTER;
    }
    return is;
}

/* Whose FLOPs count: all, or those that no parameter stands for. */
enum counted {
    ALL_WORK,
    WITHOUT_WEIGHTS
};

/* FLOPs per token, forward, of some of an operator's kernels: bits. */
static double work(const struct ty_unit_op *op, uint32_t kernels, double tokens,
                   enum counted counted, bool causal)
{
    const bool products = !is_router(op) && (counted == ALL_WORK || op->n_weights == 0);
    double sum = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        const struct ty_kernel *kernel = &op->kernel[i];
        if ((kernels >> i & 1u) == 0) {
            continue;
        }
        if (kernel->op == TY_OPERATOR_ATTENTION) {
            sum += attention(&kernel->attention, causal);
        } else if (kernel->op == TY_OPERATOR_SCAN) {
            sum += recurrence(&kernel->scan);
        } else if (products) {
            sum += 2 * product(kernel, tokens);
        }
    }
    return sum;
}

/* ---- the conventions ---- */

/* Passes over an operator, of three, that frozen weights leave out. */
static double left_out(const struct ty_unit_op *op)
{
    return op->n_weights == 0 ? (ty_op_has_backward(op) ? 0 : 2)
                              : (op->frozen ? 1.0 : 0) + (op->lowest ? 1.0 : 0);
}

/* What a token does in the forward and both gradients of all units, by their operators. */
static double passes_work(const struct model *m, enum counted counted, bool causal)
{
    double sum = 0, less = 0;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        for (uint32_t i = 0; i < m->units.kind[k].n; i++) {
            const struct ty_unit_op *op = &m->units.kind[k].op[i];
            const double one =
                m->count[k] * work(op, UINT32_MAX, m->units.shard.tokens, counted, causal);
            sum += one;
            less += one * left_out(op);
        }
    }
    return 3 * sum - less;
}

/* The same by parameters: 2 a pass; of the input matrix as of the output matrix. */
static double frozen_work(const struct model *m, const struct ty_arch *arch)
{
    const double matrix = (double)arch->vocabulary * arch->hidden;
    double sum = ty_arch_freezes(arch, TY_FREEZE_EMBEDDING) ? 2 * matrix : 0;
    sum += ty_arch_freezes(arch, TY_FREEZE_HEAD) ? 2 * matrix : 0;
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k <= TY_UNIT_MTP && arch->frozen != 0; k++) {
        for (uint32_t i = 0; i < m->units.kind[k].n; i++) {
            const struct ty_unit_op *op = &m->units.kind[k].op[i];
            sum += 2.0 * m->count[k] * left_out(op) * ty_op_active_params(op, arch);
        }
    }
    return sum;
}

static double model_work(const struct model *m, const struct ty_arch *arch, bool causal)
{
    if (causal && ty_flops_by_work(arch)) {
        return passes_work(m, ALL_WORK, true);
    }
    double params = 2.0 * arch->vocabulary * arch->hidden;
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k <= TY_UNIT_MTP; k++) {
        params += m->count[k] * ty_unit_active_params(&m->units.kind[k], arch);
    }
    return 6 * params + passes_work(m, WITHOUT_WEIGHTS, causal) - frozen_work(m, arch);
}

double ty_flops_model(const struct ty_arch *arch, bool causal)
{
    return sum_of(arch, NULL, causal, model_work);
}

const char *const ty_flops_convention_words[] = {"palm", "megatron", "sc21", "nanotron",
                                                 "torchtitan"};
const char *const ty_flops_convention_docs[] = {
    "6 N + 12 L h s",
    "GEMMs and half of attention",
    "GEMMs and attention, times 4/3 with recomputation",
    "GEMMs and attention",
    "6 N without the input embedding, and 12 L h s",
};

/* NVIDIA/Megatron-LM training.py, num_floating_point_operations (since March 2025), which
 * NVIDIA-NeMo/Megatron-Bridge flop_utils.py repeats; microsoft/Megatron-DeepSpeed utils.py,
 * throughput_calculator (equation 3 of Narayanan et al. 2021); huggingface/nanotron
 * models/llama.py, get_flops; pytorch/torchtitan models/utils.py,
 * get_dense_model_nparams_and_flops and that of experts. mosaicml/llm-foundry (fsdp) counts as
 * PaLM does. */
static const struct {
    const char *preset;
    enum ty_flops_convention convention;
} counts_as[] = {
    {"megatron-lm", TY_FLOPS_MEGATRON},     {"nemo", TY_FLOPS_MEGATRON},
    {"megatron-bridge", TY_FLOPS_MEGATRON}, {"megatron-deepspeed", TY_FLOPS_SC21},
    {"nanotron", TY_FLOPS_NANOTRON},        {"torchtitan", TY_FLOPS_TORCHTITAN},
};

enum ty_flops_convention ty_flops_convention(const char *preset)
{
    for (size_t i = 0; i < TY_COUNT(counts_as); i++) {
        if (strcmp(counts_as[i].preset, preset) == 0) {
            return counts_as[i].convention;
        }
    }
    return TY_FLOPS_PALM;
}

static double all_products(const struct model *m, const struct ty_arch *arch, bool causal)
{
    (void)arch;
    return passes_work(m, ALL_WORK, causal);
}

/* A matrix that is both input and output is one of torch's embeddings, too: neither counts. */
static double without_embedding(const struct model *m, const struct ty_arch *arch, bool causal)
{
    double params = 0;
    for (enum ty_unit_kind k = TY_UNIT_EMBEDDING + 1; k < TY_N_UNIT_KINDS; k++) {
        params += m->count[k] * ty_unit_active_params(&m->units.kind[k], arch);
    }
    return 6 * params + passes_work(m, WITHOUT_WEIGHTS, causal) - frozen_work(m, arch);
}

double ty_flops_counted(const struct ty_arch *arch, enum ty_flops_convention convention,
                        bool recomputes)
{
    switch (convention) {
    case TY_FLOPS_SC21:
        return sum_of(arch, NULL, false, all_products) * (recomputes ? 4.0 / 3 : 1);
    case TY_FLOPS_MEGATRON:
        return sum_of(arch, NULL, true, all_products);
    case TY_FLOPS_NANOTRON:
        return sum_of(arch, NULL, false, all_products);
    case TY_FLOPS_TORCHTITAN:
        return sum_of(arch, NULL, false, without_embedding);
    default:
        return ty_flops_model(arch, false);
    }
}

/* ---- what runs again ---- */

static bool runs_again_whole(const struct ty_unit_ops *unit)
{
    bool whole = true;
    for (uint32_t i = 0; i < unit->n; i++) {
        whole = whole && unit->op[i].again == (1u << unit->op[i].n_kernels) - 1;
    }
    return whole;
}

static double repeated_work(const struct model *m, const struct ty_arch *arch, bool causal)
{
    double sum = 0;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        const struct ty_unit_ops *unit = &m->units.kind[k];
        const bool by_params =
            ty_unit_is_layer(k) && runs_again_whole(unit) && !(causal && ty_flops_by_work(arch));
        for (uint32_t i = 0; i < unit->n; i++) {
            const struct ty_unit_op *op = &unit->op[i];
            sum += m->count[k] * work(op, op->again, m->units.shard.tokens,
                                      by_params ? WITHOUT_WEIGHTS : ALL_WORK, causal);
        }
        sum += by_params ? 2.0 * m->count[k] * ty_unit_active_params(unit, arch) : 0;
    }
    return sum;
}

double ty_flops_repeated(const struct ty_arch *arch, const struct ty_layout *layout, bool causal)
{
    return sum_of(arch, layout, causal, repeated_work);
}
