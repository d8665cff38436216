/* lower_block.c - whole passes: the forward, the backward and the optimizer step of a stage.
 *
 * ZeRO-3 gathers the parameters of a unit while the unit before it computes: the gather is issued
 * first and waits until everything up to the unit before that has been computed, so that two
 * gathered units exist at a time. Gradients are reduced as soon as the last unit of a bucket has
 * its own; the stream of the data group does that while the backward goes on. */
#include "model/lower_internal.h"

/* ---- pieces ---- */

static uint32_t begin_block(struct ty_lowering *l, const struct ty_block *block)
{
    l->n_need = 0;
    const int index = ty_build_block(&l->b, block);
    return index < 0 ? 0 : (uint32_t)index;
}

static void receive(struct ty_lowering *l, int back, uint16_t channel)
{
    if (channel == TY_NONE) {
        return;
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = l->comm.recv[back];
    op.stream = TY_STREAM_RECV;
    op.sync = TY_SYNC_RECV;
    op.link = channel;
    op.record = TY_EVENT_RECV;
    ty_lower_emit(l, op, NULL, 0);
    ty_lower_need(l, TY_EVENT_RECV);
}

static void send(struct ty_lowering *l, int back, uint16_t channel)
{
    if (channel == TY_NONE) {
        return;
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = l->comm.send[back];
    op.stream = TY_STREAM_SEND;
    op.sync = TY_SYNC_SEND;
    op.link = channel;
    const uint8_t waits[] = {TY_EVENT_COMPUTE, TY_EVENT_TENSOR};
    ty_lower_emit(l, op, waits, ty_lower_has_tensor(l) && !back ? 2 : 1);
}

/* A collective of the data group. */
static void data(struct ty_lowering *l, uint16_t kind, uint16_t layer, uint8_t wait,
                 uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_DATA;
    op.sync = TY_SYNC_GROUP;
    op.link = l->data_group;
    op.record = record;
    op.layer = layer;
    ty_lower_emit(l, op, &wait, 1);
}

static uint8_t gather_event(uint32_t turn)
{
    return turn % 2 == 0 ? TY_EVENT_GATHER_EVEN : TY_EVENT_GATHER_ODD;
}

static void gather(struct ty_lowering *l, const struct ty_unit *unit, uint32_t turn)
{
    if (unit->gather != TY_NONE) {
        data(l, unit->gather, unit->layer, TY_EVENT_COMPUTE, gather_event(turn));
    }
}

static void need_gathered(struct ty_lowering *l, const struct ty_unit *unit, uint32_t turn)
{
    if (unit->gather != TY_NONE) {
        ty_lower_need(l, gather_event(turn));
    }
}

static bool reduces(const struct ty_lowering *l, bool last)
{
    return l->zero->reduce_every || last;
}

static void reduce(struct ty_lowering *l, const struct ty_unit *unit)
{
    if (unit->reduce != TY_NONE) {
        data(l, unit->reduce, unit->layer, TY_EVENT_COMPUTE, TY_EVENT_REDUCED);
    }
}

static bool is_head_stage(const struct ty_vstage *v)
{
    return v->n_units > 0 && v->units[v->n_units - 1].kind == TY_UNIT_HEAD;
}

/* ---- memory ---- */

static void fill_memory(const struct ty_lowering *l, const struct ty_vstage *v,
                        struct ty_block *forward, struct ty_block *backward)
{
    const struct ty_arch *arch = l->in->arch;
    const struct ty_layout *layout = l->in->layout;
    const double layer = ty_memory_layer_activations(arch, layout);
    double held = 0, transient_f = 0;
    for (uint32_t i = 0; i < v->n_units; i++) {
        switch (v->units[i].kind) {
        case TY_UNIT_EMBEDDING:
            held += ty_memory_embedding_activations(arch, layout);
            break;
        case TY_UNIT_LAYER:
            held += layer;
            break;
        case TY_UNIT_HEAD:
            held += ty_memory_head_activations(arch, layout);
            transient_f = ty_memory_logits(arch, layout);
            break;
        }
    }
    const double again = ty_memory_layer_recomputed(arch, layout);
    forward->acquire_B = held;
    backward->release_B = held;
    forward->transient_B = transient_f;
    forward->transient_what = transient_f > 0 ? "logits" : NULL;
    backward->transient_B = transient_f > again ? transient_f : again;
    backward->transient_what = transient_f > again ? "logits"
                               : again > 0         ? "recomputed layer"
                                                   : NULL;
}

/* ---- blocks ---- */

uint32_t ty_lower_forward(struct ty_lowering *l, const struct ty_vstage *v)
{
    struct ty_block block = {.n_ops = 0}, other = {.n_ops = 0};
    fill_memory(l, v, &block, &other);
    const uint32_t index = begin_block(l, &block);
    receive(l, 0, v->act_in);
    if (l->zero->gather_after_step && l->in->layout->data > 1) {
        ty_lower_need(l, TY_EVENT_PARAMS);
    }
    gather(l, &v->units[0], 0);
    for (uint32_t i = 0; i < v->n_units; i++) {
        if (i + 1 < v->n_units) {
            gather(l, &v->units[i + 1], i + 1);
        }
        need_gathered(l, &v->units[i], i);
        ty_lower_unit_forward(l, &v->units[i]);
    }
    send(l, 0, v->act_out);
    return index;
}

uint32_t ty_lower_backward(struct ty_lowering *l, const struct ty_vstage *v, bool last)
{
    struct ty_block block = {.n_ops = 0}, other = {.n_ops = 0};
    fill_memory(l, v, &other, &block);
    const uint32_t index = begin_block(l, &block), n = v->n_units;
    /* what the forward gathered last is still there on the stage that turns around */
    const bool kept = is_head_stage(v);
    receive(l, 1, v->grad_in);
    if (is_head_stage(v) && ty_lower_has_tensor(l)) {
        ty_lower_need(l, TY_EVENT_TENSOR); /* the loss */
    }
    if (!kept) {
        gather(l, &v->units[n - 1], 0);
    }
    for (uint32_t turn = 0; turn < n; turn++) {
        const struct ty_unit *unit = &v->units[n - 1 - turn];
        if (turn + 1 < n) {
            gather(l, unit - 1, turn + 1);
        }
        if (turn > 0 || !kept) {
            need_gathered(l, unit, turn);
        }
        ty_lower_unit_backward(l, unit);
        if (reduces(l, last) && l->in->layout->overlap_grad_reduce) {
            reduce(l, unit);
        }
    }
    send(l, 1, v->grad_out);
    if (reduces(l, last) && !l->in->layout->overlap_grad_reduce) {
        for (uint32_t i = n; i > 0; i--) {
            reduce(l, &v->units[i - 1]);
        }
    }
    return index;
}

/* A collective that spans pipeline ranks. */
static void meet(struct ty_lowering *l, uint16_t kind, uint16_t link, uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_DATA;
    op.sync = TY_SYNC_MEET;
    op.link = link;
    op.record = record;
    const uint8_t waits[] = {TY_EVENT_COMPUTE, TY_EVENT_REDUCED};
    ty_lower_emit(l, op, waits, 2);
}

/* Gradients of norms (sequence parallelism) and of tied embeddings, the gradient norm that all
 * ranks wait for, the optimizer, and the parameters back to those who hold none. */
uint32_t ty_lower_step(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    const uint32_t index = begin_block(l, &(struct ty_block){.n_ops = 0});
    const bool ends = l->rank == 0 || l->rank == l->shape.p - 1;
    if (ty_lower_has_tensor(l) && l->in->layout->sequence_parallel) {
        struct ty_op op = TY_OP_INIT;
        op.kind = l->comm.norm_grads;
        op.stream = TY_STREAM_TENSOR;
        op.sync = TY_SYNC_GROUP;
        op.link = l->tensor_group;
        op.record = TY_EVENT_TENSOR;
        const uint8_t waits[] = {TY_EVENT_COMPUTE};
        ty_lower_emit(l, op, waits, 1);
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
    if (l->tied_meet != TY_NONE && ends) {
        meet(l, l->comm.tied, l->tied_meet, TY_EVENT_REDUCED);
    }
    ty_lower_need(l, TY_EVENT_REDUCED);
    if (l->norm_meet != TY_NONE) {
        meet(l, l->comm.grad_norm, l->norm_meet, TY_EVENT_NORM);
        ty_lower_need(l, TY_EVENT_NORM);
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = l->optimizer;
    op.stream = TY_STREAM_COMPUTE;
    op.record = TY_EVENT_COMPUTE;
    ty_lower_emit(l, op, l->need, l->n_need);
    l->n_need = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = v[s]->n_units; i > 0; i--) {
            const struct ty_unit *unit = &v[s]->units[i - 1];
            if (unit->regain != TY_NONE) {
                data(l, unit->regain, unit->layer, TY_EVENT_COMPUTE, TY_EVENT_PARAMS);
            }
        }
    }
    return index;
}
