/* params.c - parameters, counted from the lists of operators. See block.h. */
#include <string.h>

#include "model/block/block.h"

enum which {
    ALL,     /* frozen or not; */
    TRAINED, /* of those that are trained, all, */
    EXPERTS,
    WHOLE /* on all tensor ranks, but for norms of hidden states */
};

static double sum_weights(const struct ty_unit_ops *unit, enum which which)
{
    double sum = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_unit_op *op = &unit->op[i];
        for (uint32_t k = 0; k < op->n_weights && (which == ALL || !op->frozen); k++) {
            const bool counts = which == EXPERTS ? op->expert
                                : which == WHOLE ? op->weights[k].whole
                                                 : true;
            sum += counts ? op->weights[k].params : 0;
        }
    }
    return sum;
}

double ty_unit_params(const struct ty_unit_ops *unit)
{
    return sum_weights(unit, ALL);
}

double ty_unit_trained_params(const struct ty_unit_ops *unit)
{
    return sum_weights(unit, TRAINED);
}

double ty_unit_experts(const struct ty_unit_ops *unit)
{
    return sum_weights(unit, EXPERTS);
}

double ty_unit_frozen_bytes(const struct ty_unit_ops *unit, bool experts)
{
    double sum = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        const struct ty_unit_op *op = &unit->op[i];
        for (uint32_t k = 0; k < op->n_weights && op->frozen && (op->expert || !experts); k++) {
            sum += op->weights[k].params * op->stored_B;
        }
    }
    return sum;
}

double ty_op_active_params(const struct ty_unit_op *op, const struct ty_arch *arch)
{
    const double share = op->expert     ? (double)arch->experts_per_token / arch->experts
                         : op->uses > 0 ? op->uses
                                        : 1;
    double sum = 0;
    for (uint32_t k = 0; k < op->n_weights; k++) {
        sum += share * op->weights[k].params;
    }
    return sum;
}

double ty_unit_active_params(const struct ty_unit_ops *unit, const struct ty_arch *arch)
{
    double sum = 0;
    for (uint32_t i = 0; i < unit->n; i++) {
        sum += ty_op_active_params(&unit->op[i], arch);
    }
    return sum;
}

/* The layers of a stage by their kinds. */
static void layer_count(const struct ty_arch *arch, const struct ty_layers *layers,
                        uint32_t count[TY_N_UNIT_KINDS])
{
    memset(count, 0, TY_N_UNIT_KINDS * sizeof(*count));
    for (uint32_t i = 0; i < layers->count; i++) {
        count[ty_layer_kind(arch, layers, i)]++;
    }
}

void ty_stage_count(const struct ty_arch *arch, const struct ty_layers *layers, bool first,
                    bool last, uint32_t count[TY_N_UNIT_KINDS])
{
    layer_count(arch, layers, count);
    count[TY_UNIT_EMBEDDING] = first;
    count[TY_UNIT_HEAD] = last;
    if (last) {
        count[ty_layer_kind(arch, layers, layers->count)] += arch->mtp;
        count[TY_UNIT_MTP] = count[TY_UNIT_MTP_HEAD] = arch->mtp;
    }
}

/* Those of all stages; where nobody counts who runs again, all layers are one stretch. */
static void add_stages(const struct ty_arch *arch, const struct ty_layout *layout, bool ends,
                       uint32_t count[TY_N_UNIT_KINDS])
{
    const uint32_t stages = layout->recompute_layers.n == 0 ? 1 : layout->stages;
    memset(count, 0, TY_N_UNIT_KINDS * sizeof(*count));
    for (uint32_t s = 0; s < stages; s++) {
        const struct ty_layers layers = ty_layout_layers(layout, arch, stages, s);
        uint32_t own[TY_N_UNIT_KINDS];
        layer_count(arch, &layers, own);
        if (ends) {
            ty_stage_count(arch, &layers, s == 0, s == stages - 1, own);
        }
        for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
            count[k] += own[k];
        }
    }
}

void ty_model_layers(const struct ty_arch *arch, const struct ty_layout *layout,
                     uint32_t count[TY_N_UNIT_KINDS])
{
    add_stages(arch, layout, false, count);
}

void ty_model_count(const struct ty_arch *arch, const struct ty_layout *layout,
                    uint32_t count[TY_N_UNIT_KINDS])
{
    add_stages(arch, layout, true, count);
}

static double sum_stage(const struct ty_units *units, const uint32_t count[TY_N_UNIT_KINDS],
                        enum which which)
{
    double sum = 0;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        sum += count[k] * sum_weights(&units->kind[k], which);
    }
    return sum;
}

/* Those of layers, one behind the embedding, three for each module that predicts a further token.
 * That of the head is left out: one more among those of its stage. */
static double norms(const struct ty_arch *arch, const uint32_t count[TY_N_UNIT_KINDS])
{
    double n = 3.0 * count[TY_UNIT_MTP] + (arch->embedding_norm ? count[TY_UNIT_EMBEDDING] : 0);
    for (uint32_t k = 0; k < TY_LAYER_KINDS; k++) {
        const uint32_t of = count[TY_UNIT_LAYER + k];
        n += of > 0 ? (double)of * ty_arch_layer_norms(arch, ty_kind_first(arch, TY_UNIT_LAYER + k))
                    : 0;
    }
    return arch->norm_kind == TY_NORM_LAYER_PLAIN || ty_arch_freezes(arch, TY_FREEZE_NORM)
               ? 0
               : n * arch->hidden;
}

struct ty_stage_params ty_count_params(const struct ty_units *units, const struct ty_arch *arch,
                                       const uint32_t count[TY_N_UNIT_KINDS])
{
    struct ty_stage_params sum = {.all = sum_stage(units, count, TRAINED),
                                  .experts = sum_stage(units, count, EXPERTS),
                                  .whole = sum_stage(units, count, WHOLE) + norms(arch, count)};
    sum.frozen = sum_stage(units, count, ALL) - sum.all;
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        const struct ty_unit_ops *unit = &units->kind[k];
        sum.ends += ty_unit_is_end(k) ? count[k] * ty_unit_trained_params(unit) : 0;
        sum.frozen_B += count[k] * ty_unit_frozen_bytes(unit, false);
        sum.frozen_experts_B += count[k] * ty_unit_frozen_bytes(unit, true);
    }
    return sum;
}

void ty_stage_params_add(struct ty_stage_params *sum, const struct ty_stage_params *other,
                         double times)
{
    sum->all += times * other->all;
    sum->experts += times * other->experts;
    sum->whole += times * other->whole;
    sum->ends += times * other->ends;
    sum->frozen += times * other->frozen;
    sum->frozen_B += times * other->frozen_B;
    sum->frozen_experts_B += times * other->frozen_experts_B;
}

struct ty_stage_params ty_stage_params(const struct ty_units *units, const struct ty_arch *arch,
                                       const struct ty_layers *layers, bool first, bool last)
{
    uint32_t count[TY_N_UNIT_KINDS];
    ty_stage_count(arch, layers, first, last, count);
    return ty_count_params(units, arch, count);
}
