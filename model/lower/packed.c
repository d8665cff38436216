/* packed.c - micro-batches of packed documents (run.lengths): their attention lasts as long as
 * those ask for, on each data rank its own.
 *
 * Everything else is alike, so a micro-batch has blocks of its own that differ from others in the
 * kinds of attention cores only, with durations data rank by data rank:
 *
 *     data rank 0   qkv | core ------ | proj        qkv | core -- | proj
 *     data rank 1   qkv | core -- | proj            qkv | core ---- | proj
 *                   micro-batch 0                   micro-batch 1
 *
 * Kinds that all share are priced for the documents of all sequences together (ty_arch.packed), of
 * which a micro-batch has more or fewer. */
#include <string.h>

#include "model/lower/internal.h"

bool ty_lower_is_packed(const struct ty_lowering *l)
{
    return l->in->packing != NULL && l->in->packing->n > 0;
}

/* The operator of a unit whose pairs depend on documents. */
static uint32_t core_of(const struct ty_unit_ops *ops)
{
    for (uint32_t i = 0; i < ops->n; i++) {
        if (ops->op[i].kernel[0].op == TY_OPERATOR_ATTENTION && ops->op[i].n_kernels > 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* Costs of all members in a micro-batch. Returns their work over that of as many mean ones. */
static double price_members(struct ty_lowering *l, const struct ty_unit_op *op, uint32_t pack,
                            const struct ty_routed_scratch *s)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_gpu_mix *mix = l->here.gpus;
    const uint32_t each = l->members / layout->data, m = layout->micro_batches;
    double work = 0;
    for (uint32_t i = 0; i < l->members; i++) {
        const uint32_t g = mix->generation != NULL ? mix->generation[i] : mix->used[0];
        const bool again =
            i % each != 0 && (mix->generation == NULL || mix->generation[i - 1] == g);
        const struct ty_pack documents =
            ty_packing_micro_batch(l->in->packing, layout, pack / m, pack % m, i / each);
        const struct ty_pack *all = l->in->packing->all;
        const uint32_t w = op->kernel[0].attention.window > 0;
        work += documents.pairs[w] / documents.sequences / (all->pairs[w] / all->sequences);
        if (again) {
            s->mean[i] = s->mean[i - 1];
            s->now[i] = s->now[i - 1];
            continue;
        }
        const struct ty_gpu *gpu = &ty_exceptions_cluster(l->in->cluster, g)->gpu;
        struct ty_unit_op own = *op;
        for (uint32_t n = 0; n < own.n_kernels; n++) {
            if (own.kernel[n].op == TY_OPERATOR_ATTENTION) {
                ty_pack_core(all, &documents, layout->context, &own.kernel[n].attention);
            }
        }
        ty_op_price(op, layout, gpu, &s->mean[i]);
        ty_op_price(&own, layout, gpu, &s->now[i]);
    }
    return work / l->members;
}

/* Of some kernels of an operator: kinds in a slot of its own, and in an overlapped one. */
static void kinds_of_part(struct ty_lowering *l, const struct ty_unit_op *op, uint32_t from,
                          uint32_t to, uint32_t pack, const struct ty_routed_scratch *s,
                          uint16_t alone[TY_N_OP_PASSES], uint16_t overlapped[TY_N_OP_PASSES])
{
    struct ty_unit_op part = *op;
    part.n_kernels = to - from;
    memmove(part.kernel, op->kernel + from, part.n_kernels * sizeof(*part.kernel));
    const double work = price_members(l, &part, pack, s);
    ty_lower_kinds_like(l, op, 1, work, s, alone);
    ty_lower_kinds_like(l, op, l->in->schedule->overlap_cost, work, s, overlapped);
}

const struct ty_packed_kinds *ty_lower_packed(struct ty_lowering *l, uint32_t pack)
{
    struct ty_gpu_mix *mix = &l->gpus.mix[l->here.gpus - l->gpus.mix];
    if (mix->packed == NULL) {
        mix->packed = ty_arena_array(l->arena, struct ty_packed_kinds *, l->n_packs);
    }
    if (mix->packed != NULL && mix->packed[pack] != NULL) {
        return mix->packed[pack];
    }
    const struct ty_routed_scratch *s = ty_lower_scratch(l);
    struct ty_packed_kinds *k = ty_arena_array(l->arena, struct ty_packed_kinds, 1);
    if (s == NULL || mix->packed == NULL || k == NULL) {
        ty_build_no_memory(&l->b);
        return NULL;
    }
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        const struct ty_unit_ops *ops = &l->prices->units->kind[u];
        const uint32_t i = k->op[u] = core_of(ops);
        if (i == UINT32_MAX) {
            continue;
        }
        const struct ty_unit_op *op = &ops->op[i];
        const uint32_t first = op->rounds.n > 0 ? op->rounds.n_first : op->n_kernels;
        for (uint32_t q = 0; q < 2; q++) {
            k->slice[q][u] = mix->slice[q].op[u][i];
        }
        kinds_of_part(l, op, 0, first, pack, s, k->slice[0][u].kind, k->slice[1][u].kind);
        if (op->rounds.n > 0) { /* all alike but the first */
            kinds_of_part(l, op, first, op->n_kernels, pack, s, k->slice[0][u].next,
                          k->slice[1][u].next);
        }
    }
    mix->packed[pack] = k;
    return k;
}
