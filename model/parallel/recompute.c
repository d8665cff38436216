/* recompute.c - which kernels run again before the backward pass of their operator.
 *
 * layout.recompute is a set of parts of a layer, and every operator says which of them it belongs
 * to (block.h); layout.recompute_layers says of how many layers, so every unit has a set of its
 * own. Of a part that an operator belongs to these run again:
 *
 *     norm            norms, not the addition before them
 *     moe_act         the activation
 *     ffn             up to the activation: nobody needs what comes after it again, nor keeps what
 *                     an activation that is an operator of its own gives
 *     the others      all, with the collectives around them */
#include "model/block/maker.h"
#include "model/check.h"

static uint32_t all_of(const struct ty_unit_op *op)
{
    return (1u << op->n_kernels) - 1;
}

/* Kernels of a kind, and those up to the last one of it. */
static uint32_t only(const struct ty_unit_op *op, enum ty_operator kind)
{
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        kernels |= op->kernel[i].op == kind ? 1u << i : 0;
    }
    return kernels;
}

static uint32_t up_to(const struct ty_unit_op *op, enum ty_operator last)
{
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        kernels = op->kernel[i].op == last ? (2u << i) - 1 : kernels;
    }
    return kernels;
}

/* Whether a kernel casts what another one gives to fp8, and not weights. */
static bool casts_result(const struct ty_kernel *kernel)
{
    return kernel->op == TY_OPERATOR_CAST && kernel->gradients > 0;
}

/* With the casts behind them, and without those of weights that are there from the forward. */
static uint32_t with_casts(const struct ty_unit_op *op, uint32_t kernels, bool kept)
{
    for (uint32_t i = 0; i < op->n_kernels; i++) {
        const struct ty_kernel *kernel = &op->kernel[i];
        const bool behind = i > 0 && (kernels >> (i - 1) & 1u) != 0;
        kernels |= casts_result(kernel) && behind ? 1u << i : 0;
        if (kernel->op == TY_OPERATOR_CAST && !casts_result(kernel) && kept) {
            kernels &= ~(1u << i);
        }
    }
    return kernels;
}

static uint32_t again(const struct ty_unit_op *op, uint32_t parts)
{
    static const uint32_t some = TY_RECOMPUTE_NORM | TY_RECOMPUTE_MOE_ACT | TY_RECOMPUTE_FFN;
    uint32_t kernels = (parts & ~some) != 0 ? all_of(op) : 0;
    kernels |= (parts & TY_RECOMPUTE_NORM) != 0 ? only(op, TY_OPERATOR_NORM) : 0;
    kernels |= (parts & TY_RECOMPUTE_MOE_ACT) != 0 ? only(op, TY_OPERATOR_ACTIVATION) : 0;
    if ((parts & TY_RECOMPUTE_FFN) != 0) {
        const uint32_t wide = up_to(op, TY_OPERATOR_ACTIVATION);
        kernels |= wide != 0 ? wide : all_of(op);
    }
    return kernels;
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const uint32_t set = b->out->recompute;
    if (ty_unit_is_head(b->kind) && set == TY_RECOMPUTE_FULL) { /* the loss does not */
        op->again = b->layout->framework.recompute_head
                        ? up_to(op, TY_OPERATOR_NORM) | up_to(op, TY_OPERATOR_MATMUL)
                        : 0;
    }
    if (ty_unit_is_layer(b->kind) || b->kind == TY_UNIT_MTP) {
        const uint32_t parts = (op->recompute | TY_RECOMPUTE_LAYER) & set;
        op->again = with_casts(op, again(op, parts), b->layout->zero < 3);
        op->drops = (parts & TY_RECOMPUTE_WITHOUT_OUTPUT) != 0 ||
                    ((parts & TY_RECOMPUTE_FFN) != 0 && op->n_weights == 0);
    }
}

/* Parts that no layer has would be ignored. */
static int check_set(const struct ty_layout *layout, uint32_t set, const struct ty_section *section,
                     const struct ty_arch *arch, struct ty_err *err)
{
    const bool experts = ty_arch_is_moe(arch);
    const struct {
        uint32_t part;
        bool there;
        const char *word, *lacks;
    } rows[] = {
        {TY_RECOMPUTE_MLA_UP, ty_arch_is_latent(arch), "mla_up",
         "no latent attention (model.kv_latent is 0)"},
        {TY_RECOMPUTE_MOE_ACT, experts, "moe_act", "no experts (model.experts is 0)"},
        {TY_RECOMPUTE_MOE, experts, "moe", "no experts (model.experts is 0)"},
        {TY_RECOMPUTE_SHARED, experts && arch->shared_ffn > 0, "shared_experts",
         "no shared experts (model.shared_ffn is 0)"},
        {TY_RECOMPUTE_MLP, !experts || ty_arch_has_dense(arch), "mlp",
         "no dense layers (model.dense_layers is 0)"},
    };
    int rc = 0;
    for (size_t i = 0; i < TY_COUNT(rows) && set != TY_RECOMPUTE_FULL; i++) {
        if ((set & rows[i].part) != 0 && !rows[i].there) {
            rc = ty_check_first(rc, ty_check_fail(section, ty_layout_recompute_key(layout), err,
                                                  "%s: the model has %s; leave it out",
                                                  rows[i].word, rows[i].lacks));
        }
    }
    return rc;
}

static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const bool narrow = ty_dtype_is_narrow(arch->dtype);
    int rc = 0;
    (void)gpus;
    if (layout->activation_bits > 0 && (narrow || ty_layout_is_mesh(layout))) {
        rc = ty_check_fail(section, "activation_bits", err, "%d: %s; write 16",
                           layout->activation_bits,
                           narrow ? "fp8 training keeps 8 bits already (model.dtype)"
                                  : "not on a grid of tensor ranks (layout.tensor_scheme)");
    }
    for (uint32_t i = 0; i < layout->n_modes; i++) {
        rc = ty_check_first(rc, check_set(layout, layout->mode[i], section, arch, err));
    }
    return rc;
}

const struct ty_parallel ty_parallel_recompute = {.check = check, .around = around};
