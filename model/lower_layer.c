/* lower_layer.c - the operations of one unit (embedding, layer, head), forward and backward, by
 * parts: the attention and the MLP of a layer, because gradients of one are reduced, and weights
 * gathered, while the other computes.
 *
 *     forward   norm [AG] qkv attention proj AR|RS   norm [AG] mlp AR|RS
 *     backward  [AG] mlp-dgrad AR|RS || mlp-wgrad, norm, [AG] proj, attention,
 *               qkv-dgrad AR|RS || qkv-wgrad, norm
 *
 * AR: all-reduce of tensor parallelism (Shoeybi et al. 2019); with sequence parallelism an
 * all-gather before and a reduce-scatter after (Korthikanti et al. 2022, section 4.2.2), and the
 * saved shard of the input is gathered again for the weight gradient, beside the input gradient.
 * || : the weight gradient does not wait for the collective. */
#include "model/lower_internal.h"

void ty_lower_need(struct ty_lowering *l, uint8_t event)
{
    uint32_t n = 0;
    for (; n < TY_WAITS && n < l->n_need; n++) {
        if (l->need[n] == event) {
            return;
        }
    }
    if (n == TY_WAITS) {
        ty_build_note(&l->b, ty_fail(l->b.err, TY_EBUG,
                                     "lowering: a computation waits for more than %u events",
                                     (unsigned)TY_WAITS));
        return;
    }
    l->need[n] = event;
    l->n_need = n + 1;
}

void ty_lower_emit(struct ty_lowering *l, struct ty_op op, const uint8_t *waits, uint32_t n_waits)
{
    for (uint32_t i = 0; i < TY_WAITS; i++) {
        op.wait[i] = i < n_waits ? waits[i] : TY_NO_EVENT;
    }
    ty_build_op(&l->b, &op);
}

/* A computation: waits for what is needed, and is waited for by what follows. */
static void compute(struct ty_lowering *l, uint16_t kind, uint16_t layer, enum ty_part part)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_COMPUTE;
    op.record = TY_EVENT_COMPUTE;
    op.layer = layer;
    op.part = (uint8_t)part;
    ty_lower_emit(l, op, l->need, l->n_need);
    l->n_need = 0;
}

/* The host's share of a pass: after the message it waits for, before the first kernel. */
void ty_lower_host(struct ty_lowering *l, enum ty_phase phase)
{
    if (l->kinds->host[phase] != TY_NONE) {
        compute(l, l->kinds->host[phase], TY_NONE, TY_PART_NONE);
    }
}

/* A tensor collective on what has been computed so far, or on what just arrived. */
static void tensor(struct ty_lowering *l, uint16_t kind, uint16_t layer, enum ty_part part,
                   uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_TENSOR;
    op.sync = TY_SYNC_GROUP;
    op.link = l->tensor_group;
    op.record = record;
    op.layer = layer;
    op.part = (uint8_t)part;
    uint8_t waits[TY_WAITS] = {TY_EVENT_COMPUTE};
    uint32_t n = 1;
    for (uint32_t i = 0; i < l->n_need && n < TY_WAITS; i++) {
        if (l->need[i] == TY_EVENT_RECV) {
            waits[n++] = TY_EVENT_RECV;
        }
    }
    ty_lower_emit(l, op, waits, n);
}

static bool sequence_parallel(const struct ty_lowering *l)
{
    return ty_lower_has_tensor(l) && l->in->layout->sequence_parallel;
}

/* Before a column-parallel product: with sequence parallelism the whole sequence is needed. The
 * gather of what a message brought has waited for the message, so where an operation's waits are
 * taken it stands for both. */
static void enter(struct ty_lowering *l, int back, uint16_t layer, enum ty_part part)
{
    if (!sequence_parallel(l)) {
        return;
    }
    tensor(l, l->comm.all_gather[back], layer, part, TY_EVENT_TENSOR);
    for (uint32_t i = 0; l->n_need == TY_WAITS && i < TY_WAITS; i++) {
        if (l->need[i] == TY_EVENT_RECV) {
            l->need[i] = TY_EVENT_TENSOR;
            return;
        }
    }
    ty_lower_need(l, TY_EVENT_TENSOR);
}

/* How often the input gradient of column-parallel layers is reduced: once for each matrix that is
 * a layer of its own. */
uint32_t ty_lower_reduces(const struct ty_lowering *l, enum ty_part part)
{
    const struct ty_framework *framework = &l->in->layout->framework;
    const bool gated = l->in->arch->mlp == TY_MLP_SWIGLU;
    return part == TY_PART_ATTENTION && !framework->fused_qkv       ? 3
           : part == TY_PART_MLP && gated && !framework->fused_gate ? 2
                                                                    : 1;
}

/* After a row-parallel product (backward: after the input gradient of a column-parallel one): the
 * partial sums meet. `wait`: the next computation needs them. */
static void leave(struct ty_lowering *l, int back, uint16_t layer, enum ty_part part, bool wait)
{
    if (!ty_lower_has_tensor(l)) {
        return;
    }
    for (uint32_t i = back ? ty_lower_reduces(l, part) : 1; i > 0; i--) {
        tensor(l, sequence_parallel(l) ? l->comm.reduce_scatter[back] : l->comm.all_reduce[back],
               layer, part, TY_EVENT_TENSOR);
    }
    if (wait) {
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
}

/* Input gradient, its collective, and the weight gradient beside it. */
static void backward_column(struct ty_lowering *l, uint16_t dgrad, uint16_t wgrad, uint16_t layer,
                            enum ty_part part)
{
    const bool sp = sequence_parallel(l);
    if (sp) {
        tensor(l, l->comm.all_gather[1], layer, part, TY_EVENT_REGATHER);
    }
    compute(l, dgrad, layer, part);
    leave(l, 1, layer, part, !l->in->layout->framework.overlap_tensor_reduce);
    if (sp) {
        ty_lower_need(l, TY_EVENT_REGATHER);
    }
    compute(l, wgrad, layer, part);
    if (ty_lower_has_tensor(l)) {
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
}

static void attention_forward(struct ty_lowering *l, const uint16_t *kind, uint16_t layer)
{
    compute(l, kind[TY_LAYER_NORM1], layer, TY_PART_ATTENTION);
    enter(l, 0, layer, TY_PART_ATTENTION);
    compute(l, kind[TY_LAYER_QKV], layer, TY_PART_ATTENTION);
    compute(l, kind[TY_LAYER_ATTENTION], layer, TY_PART_ATTENTION);
    compute(l, kind[TY_LAYER_PROJ], layer, TY_PART_ATTENTION);
    leave(l, 0, layer, TY_PART_ATTENTION, true);
}

static void mlp_forward(struct ty_lowering *l, const uint16_t *kind, uint16_t layer)
{
    compute(l, kind[TY_LAYER_NORM2], layer, TY_PART_MLP);
    enter(l, 0, layer, TY_PART_MLP);
    compute(l, kind[TY_LAYER_MLP], layer, TY_PART_MLP);
    leave(l, 0, layer, TY_PART_MLP, true);
}

/* What the recompute mode repeats before the backward of a layer. */
static void layer_recompute(struct ty_lowering *l, uint16_t layer)
{
    switch ((enum ty_recompute)l->in->layout->recompute) {
    case TY_RECOMPUTE_NONE:
        break;
    case TY_RECOMPUTE_SELECTIVE:
        compute(l, l->kinds->recompute[TY_LAYER_ATTENTION], layer, TY_PART_ATTENTION);
        break;
    case TY_RECOMPUTE_FFN:
        enter(l, 0, layer, TY_PART_MLP);
        compute(l, l->kinds->recompute[TY_LAYER_MLP], layer, TY_PART_MLP);
        break;
    case TY_RECOMPUTE_FULL:
        attention_forward(l, l->kinds->recompute, layer);
        mlp_forward(l, l->kinds->recompute, layer);
        break;
    }
}

static void mlp_backward(struct ty_lowering *l, uint16_t layer)
{
    layer_recompute(l, layer);
    enter(l, 1, layer, TY_PART_MLP);
    backward_column(l, l->kinds->dgrad[TY_LAYER_MLP], l->kinds->wgrad[TY_LAYER_MLP], layer,
                    TY_PART_MLP);
    compute(l, l->kinds->dgrad[TY_LAYER_NORM2], layer, TY_PART_MLP);
}

static void attention_backward(struct ty_lowering *l, uint16_t layer)
{
    enter(l, 1, layer, TY_PART_ATTENTION);
    compute(l, l->kinds->dgrad[TY_LAYER_PROJ], layer, TY_PART_ATTENTION);
    compute(l, l->kinds->dgrad[TY_LAYER_ATTENTION], layer, TY_PART_ATTENTION);
    backward_column(l, l->kinds->dgrad[TY_LAYER_QKV], l->kinds->wgrad[TY_LAYER_QKV], layer,
                    TY_PART_ATTENTION);
    compute(l, l->kinds->dgrad[TY_LAYER_NORM1], layer, TY_PART_ATTENTION);
}

/* The input gradients alone: what the stage before waits for. */
static void mlp_input(struct ty_lowering *l, uint16_t layer)
{
    const uint16_t *kind = l->kinds->input;
    layer_recompute(l, layer);
    enter(l, 1, layer, TY_PART_MLP);
    compute(l, kind[TY_LAYER_MLP], layer, TY_PART_MLP);
    leave(l, 1, layer, TY_PART_MLP, true);
    compute(l, kind[TY_LAYER_NORM2], layer, TY_PART_MLP);
}

static void attention_input(struct ty_lowering *l, uint16_t layer)
{
    const uint16_t *kind = l->kinds->input;
    enter(l, 1, layer, TY_PART_ATTENTION);
    compute(l, kind[TY_LAYER_PROJ], layer, TY_PART_ATTENTION);
    compute(l, kind[TY_LAYER_ATTENTION], layer, TY_PART_ATTENTION);
    compute(l, kind[TY_LAYER_QKV], layer, TY_PART_ATTENTION);
    leave(l, 1, layer, TY_PART_ATTENTION, true);
    compute(l, kind[TY_LAYER_NORM1], layer, TY_PART_ATTENTION);
}

/* A weight gradient whose saved input is sharded gathers it first. */
static void weight(struct ty_lowering *l, uint16_t kind, bool column, uint16_t layer,
                   enum ty_part part)
{
    if (column && sequence_parallel(l)) {
        tensor(l, l->comm.all_gather[1], layer, part, TY_EVENT_REGATHER);
        ty_lower_need(l, TY_EVENT_REGATHER);
    }
    compute(l, kind, layer, part);
}

void ty_lower_part_forward(struct ty_lowering *l, enum ty_part part, uint16_t layer)
{
    switch (part) {
    case TY_PART_EMBEDDING:
        compute(l, l->kinds->embedding[0], layer, part);
        leave(l, 0, layer, part, true);
        break;
    case TY_PART_ATTENTION:
        attention_forward(l, l->kinds->forward, layer);
        break;
    case TY_PART_MLP:
        mlp_forward(l, l->kinds->forward, layer);
        break;
    case TY_PART_HEAD:
        enter(l, 0, layer, part);
        compute(l, l->kinds->head_forward, layer, part);
        if (ty_lower_has_tensor(l)) {
            tensor(l, l->comm.loss, layer, part, TY_EVENT_TENSOR);
            ty_lower_need(l, TY_EVENT_TENSOR);
        }
        break;
    default:
        break;
    }
}

void ty_lower_part_backward(struct ty_lowering *l, enum ty_part part, uint16_t layer)
{
    switch (part) {
    case TY_PART_EMBEDDING:
        enter(l, 1, layer, part);
        compute(l, l->kinds->embedding[1], layer, part);
        break;
    case TY_PART_ATTENTION:
        attention_backward(l, layer);
        break;
    case TY_PART_MLP:
        mlp_backward(l, layer);
        break;
    case TY_PART_HEAD:
        backward_column(l, l->kinds->head_dgrad, l->kinds->head_wgrad, layer, part);
        break;
    default:
        break;
    }
}

void ty_lower_part_input(struct ty_lowering *l, enum ty_part part, uint16_t layer)
{
    switch (part) {
    case TY_PART_ATTENTION:
        attention_input(l, layer);
        break;
    case TY_PART_MLP:
        mlp_input(l, layer);
        break;
    case TY_PART_HEAD:
        compute(l, l->kinds->head_input, layer, part);
        leave(l, 1, layer, part, true);
        break;
    default: /* nothing comes before the embedding */
        break;
    }
}

void ty_lower_part_weight(struct ty_lowering *l, enum ty_part part, uint16_t layer)
{
    const uint16_t *kind = l->kinds->weight;
    switch (part) {
    case TY_PART_EMBEDDING:
        enter(l, 1, layer, part);
        compute(l, l->kinds->embedding_weight, layer, part);
        break;
    case TY_PART_ATTENTION:
        weight(l, kind[TY_LAYER_PROJ], false, layer, part);
        weight(l, kind[TY_LAYER_QKV], true, layer, part);
        break;
    case TY_PART_MLP:
        weight(l, kind[TY_LAYER_MLP], true, layer, part);
        break;
    case TY_PART_HEAD:
        weight(l, l->kinds->head_weight, true, layer, part);
        break;
    default:
        break;
    }
}
