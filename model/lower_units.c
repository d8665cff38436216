/* lower_units.c - the parameters of a stage: units, their parts, and the buckets of gradients.
 *
 * Gradients become known in reverse order of use, matrix by matrix. A bucket takes whole matrices
 * and closes as soon as it holds as much as it should (PyTorch's DistributedDataParallel, whose
 * first bucket is small so that reduction begins early; Megatron-LM does the same with one size).
 * It is reduced when the part of the layer that it closes in, attention or MLP, has run its
 * backward. What is left when the first parameter is reached, the embedding as a rule, is the last
 * bucket: no computation is left that could hide it. ZeRO-3 reduces unit by unit, as it gathers. */
#include "model/lower_internal.h"

static double unit_params(const struct ty_lowering *l, enum ty_unit_kind kind)
{
    const struct ty_arch *arch = l->in->arch;
    switch (kind) {
    case TY_UNIT_EMBEDDING:
        return ty_arch_embedding_params(arch) / l->in->layout->tensor;
    case TY_UNIT_LAYER:
        return ty_layout_layer_params(l->in->layout, arch);
    case TY_UNIT_HEAD:
        break;
    }
    return ty_layout_head_params(l->in->layout, arch);
}

/* The MLP of a layer in the order its gradients become known: down, up (and gate), norm. Biases
 * travel with their matrix. */
static uint32_t mlp_pieces(const struct ty_lowering *l, double piece[TY_PIECES])
{
    const struct ty_arch *arch = l->in->arch;
    const double t = l->in->layout->tensor;
    const bool gated = arch->mlp == TY_MLP_SWIGLU;
    const uint32_t matrices = gated && !l->in->layout->framework.fused_gate ? 2 : 1;
    uint32_t n = 0;
    piece[n++] = ty_arch_down_params(arch) / t;
    for (uint32_t i = 0; i < matrices; i++) {
        piece[n++] = ty_arch_up_params(arch) / t / matrices;
    }
    piece[n++] = ty_arch_norm_params(arch) / t;
    return n;
}

/* Attention: output projection, v, k and q (or one matrix of all three; norms of their heads travel
 * with them), norm. */
static uint32_t attention_pieces(const struct ty_lowering *l, double layer, double piece[TY_PIECES])
{
    const struct ty_arch *arch = l->in->arch;
    const double t = l->in->layout->tensor, q = ty_arch_q_params(arch) / t;
    const double norm = ty_arch_norm_params(arch) / t;
    const double proj = ty_arch_proj_params(arch) / t;
    double mlp[TY_PIECES], qkv = layer - proj - norm;
    uint32_t n = 0;
    for (uint32_t i = mlp_pieces(l, mlp); i > 0; i--) {
        qkv -= mlp[i - 1];
    }
    piece[n++] = proj;
    if (!l->in->layout->framework.fused_qkv) {
        piece[n++] = (qkv - q) / 2;
        piece[n++] = (qkv - q) / 2;
        piece[n++] = q;
    } else {
        piece[n++] = qkv;
    }
    piece[n++] = norm;
    return n;
}

static uint32_t pieces_of(const struct ty_lowering *l, const struct ty_unit *unit,
                          enum ty_part part, double piece[TY_PIECES])
{
    const double norm = ty_arch_norm_params(l->in->arch) / l->in->layout->tensor;
    switch (part) {
    case TY_PART_ATTENTION:
        return attention_pieces(l, unit->params, piece);
    case TY_PART_MLP:
        return mlp_pieces(l, piece);
    case TY_PART_HEAD: /* the output matrix, unless it is the input's, and the final norm */
        piece[0] = unit->params - norm;
        piece[1] = norm;
        return 2;
    default:
        piece[0] = unit->params;
        return 1;
    }
}

static void close_bucket(struct ty_lowering *l, struct ty_unit_part *part, double params)
{
    struct ty_grad_bucket *bucket = &part->bucket[part->n_buckets++];
    const bool whole = l->zero->gather_after_step && !l->in->layout->framework.reduce_scatter;
    const double bytes = params * (l->in->layout->framework.reduce_fp32 ? 4 : 2);
    bucket->reduce = ty_lower_data_kind(l, whole ? TY_COLL_ALL_REDUCE : l->zero->reduce,
                                        TY_PHASE_BACKWARD, bytes);
    bucket->replicate = ty_lower_is_hybrid(l)
                            ? ty_lower_replica_kind(l, bytes / ty_layout_shards(l->in->layout))
                            : TY_NONE;
    bucket->regain = l->zero->gather_after_step
                         ? ty_lower_data_kind(l, TY_COLL_ALL_GATHER, TY_PHASE_STEP, params * 2)
                         : TY_NONE;
}

/* Units from the last to the first, matrices in the order of their gradients. */
static void make_buckets(struct ty_lowering *l, struct ty_vstage *v)
{
    const double rest = ty_layout_bucket_params(l->in->layout);
    double limit = ty_layout_first_bucket_params(l->in->layout), held = 0;
    for (uint32_t u = v->n_units; u > 0; u--) {
        struct ty_unit *unit = &v->units[u - 1];
        for (uint32_t k = unit->n_parts; k > 0; k--) {
            struct ty_unit_part *part = &unit->part[k - 1];
            double piece[TY_PIECES];
            const uint32_t n = pieces_of(l, unit, part->part, piece);
            for (uint32_t i = 0; i < n; i++) {
                const bool last = u == 1 && k == 1 && i == n - 1;
                held += piece[i];
                if (held > 0 && (last || held >= limit)) {
                    close_bucket(l, part, held);
                    held = 0;
                    limit = rest;
                }
            }
        }
    }
}

static void make_unit(struct ty_lowering *l, struct ty_unit *unit, enum ty_unit_kind kind,
                      uint16_t layer)
{
    *unit = (struct ty_unit){.kind = kind, .layer = layer, .gather = TY_NONE, .n_parts = 1};
    unit->params = unit_params(l, kind);
    unit->part[0].part = kind == TY_UNIT_EMBEDDING ? TY_PART_EMBEDDING
                         : kind == TY_UNIT_HEAD    ? TY_PART_HEAD
                                                   : TY_PART_ATTENTION;
    if (kind == TY_UNIT_LAYER) {
        unit->part[unit->n_parts++].part = TY_PART_MLP;
    }
    if (l->zero->gather_in_passes && l->in->layout->data > 1) {
        unit->gather =
            ty_lower_data_kind(l, TY_COLL_ALL_GATHER, TY_PHASE_FORWARD, unit->params * 2);
        close_bucket(l, &unit->part[0], unit->params);
    }
}

int ty_lower_units(struct ty_lowering *l, uint32_t stage, struct ty_vstage *v)
{
    const uint32_t stages = ty_sched_stages(&l->shape);
    const struct ty_layers layers = ty_layout_layers(l->in->layout, l->in->arch, stages, stage);
    v->units = ty_arena_array(l->arena, struct ty_unit, layers.count + 2);
    if (v->units == NULL) {
        return ty_fail_memory(l->b.err);
    }
    if (stage == 0) {
        make_unit(l, &v->units[v->n_units++], TY_UNIT_EMBEDDING, TY_NONE);
    }
    for (uint32_t i = 0; i < layers.count; i++) {
        make_unit(l, &v->units[v->n_units++], TY_UNIT_LAYER, (uint16_t)(layers.first + i));
    }
    if (stage == stages - 1) {
        make_unit(l, &v->units[v->n_units++], TY_UNIT_HEAD, TY_NONE);
    }
    if (l->in->layout->data > 1 && !l->zero->gather_in_passes) {
        make_buckets(l, v);
    }
    return 0;
}

double ty_lower_most_params(const struct ty_vstage *const *v, uint32_t n, uint32_t window)
{
    double most = 0, all = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = 0; i < v[s]->n_units; i++) {
            double sum = 0;
            for (uint32_t k = i; k < v[s]->n_units && k - i < window; k++) {
                sum += v[s]->units[k].params;
            }
            most = sum > most ? sum : most;
            all += v[s]->units[i].params;
        }
    }
    return window == 0 ? all : most;
}
