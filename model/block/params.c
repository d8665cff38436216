/* params.c - parameters, counted from the lists of operators. See block.h. */
#include "model/block/block.h"

static double sum_weights(const struct ty_unit_ops *unit, bool experts_only)
{
    double sum = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_unit_op *op = &unit->op[i];
        for (uint32_t k = 0; k < op->n_weights && (op->expert || !experts_only); k++) {
            sum += op->weights[k].params;
        }
    }
    return sum;
}

double ty_unit_params(const struct ty_unit_ops *unit)
{
    return sum_weights(unit, false);
}

double ty_unit_experts(const struct ty_unit_ops *unit)
{
    return sum_weights(unit, true);
}

double ty_stage_params(const struct ty_units *units, const struct ty_arch *arch,
                       const struct ty_layers *layers, bool first, bool last)
{
    uint32_t count[TY_N_UNIT_KINDS];
    double sum = 0;
    ty_layer_count(arch, layers, count);
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_HEAD; k++) {
        sum += count[k] * ty_unit_params(&units->kind[k]);
    }
    sum += first ? ty_unit_params(&units->kind[TY_UNIT_EMBEDDING]) : 0;
    return sum + (last ? ty_unit_params(&units->kind[TY_UNIT_HEAD]) : 0);
}

double ty_stage_experts(const struct ty_units *units, const struct ty_arch *arch,
                        const struct ty_layers *layers)
{
    uint32_t count[TY_N_UNIT_KINDS];
    double sum = 0;
    ty_layer_count(arch, layers, count);
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_HEAD; k++) {
        sum += count[k] * ty_unit_experts(&units->kind[k]);
    }
    return sum;
}

/* On one rank that has it all. */
static void make_whole(struct ty_units *units, const struct ty_arch *arch)
{
    static const struct ty_layout alone = {.tensor = 1,
                                           .context = 1,
                                           .pipeline = 1,
                                           .data = 1,
                                           .expert = 1,
                                           .expert_tensor = 1,
                                           .micro_batch = 1};
    ty_units_make(units, arch, &alone);
}

static double whole(const struct ty_arch *arch, enum ty_unit_kind kind)
{
    struct ty_units units;
    make_whole(&units, arch);
    return ty_unit_params(&units.kind[kind]);
}

static double layers(const struct ty_arch *arch, bool first, bool last)
{
    const struct ty_layers all = {0, arch->layers};
    struct ty_units units;
    make_whole(&units, arch);
    return ty_stage_params(&units, arch, &all, first, last);
}

double ty_arch_layer_params(const struct ty_arch *arch)
{
    return layers(arch, false, false) / arch->layers;
}

double ty_arch_embedding_params(const struct ty_arch *arch)
{
    return whole(arch, TY_UNIT_EMBEDDING);
}

double ty_arch_head_params(const struct ty_arch *arch)
{
    return whole(arch, TY_UNIT_HEAD);
}

double ty_arch_params(const struct ty_arch *arch)
{
    return layers(arch, true, true);
}
