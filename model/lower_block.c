/* lower_block.c - whole passes: the forward, the backward and the optimizer step of a stage.
 *
 * ZeRO-3 gathers the parameters of a unit while the unit before it computes: the gather is issued
 * first and waits until everything up to the unit before that has been computed, so that two
 * gathered units exist at a time. ZeRO-1 and -2 may gather updated parameters so in the first
 * forward of a step, bucket by bucket. Gradients are reduced as soon as the last unit of a bucket has
 * its own; the stream of the data group does that while the backward goes on. */
#include "model/lower_internal.h"

/* ---- pieces ---- */

static uint32_t begin_block(struct ty_lowering *l, const struct ty_block *block)
{
    l->n_need = 0;
    const int index = ty_build_block(&l->b, block);
    return index < 0 ? 0 : (uint32_t)index;
}

/* Which neighbour a pipeline rank is: 0 the next, 1 the previous. */
static int peer_of(const struct ty_lowering *l, uint32_t rank)
{
    return rank == (l->rank + 1) % l->shape.p ? 0 : 1;
}

static void receive(struct ty_lowering *l, int back, uint16_t channel, bool second)
{
    if (channel == TY_NONE) {
        return;
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = l->comm.recv[back][peer_of(l, l->b.program->channels[channel].from)];
    op.stream = TY_STREAM_RECV;
    op.sync = TY_SYNC_RECV;
    op.link = channel;
    op.second = second;
    op.record = TY_EVENT_RECV;
    ty_lower_emit(l, op, NULL, 0);
    ty_lower_need(l, TY_EVENT_RECV);
}

static void send(struct ty_lowering *l, int back, uint16_t channel, bool second)
{
    if (channel == TY_NONE) {
        return;
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = l->comm.send[back][peer_of(l, l->b.program->channels[channel].to)];
    op.stream = TY_STREAM_SEND;
    op.sync = TY_SYNC_SEND;
    op.link = channel;
    op.second = second;
    op.record = l->in->layout->framework.overlap_p2p ? TY_NO_EVENT : TY_EVENT_SENT;
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

/* Parameters updated by the last step come back during the first forward of this one. */
static bool regains_late(const struct ty_lowering *l)
{
    return l->zero->gather_after_step && l->in->layout->framework.overlap_param_gather &&
           l->in->layout->data > 1 && !l->sched->asynchronous;
}

/* Kind of the gather that a unit waits for in this pass, of its own parameters or of the bucket
 * that begins with it; TY_NONE: none. */
static uint16_t gather_of(const struct ty_lowering *l, const struct ty_block_want *want,
                          const struct ty_unit *unit)
{
    if (want->phase == TY_PHASE_FORWARD && want->edge && regains_late(l)) {
        return unit->regain;
    }
    return want->found == TY_FOUND_ALL ? TY_NONE : unit->gather;
}

/* Gathers what unit `from` (forward order) or the next one after it waits for. */
static void gather_next(struct ty_lowering *l, const struct ty_block_want *want, uint32_t from,
                        uint32_t turn)
{
    const struct ty_vstage *v = want->v;
    while (from < v->n_units && gather_of(l, want, &v->units[from]) == TY_NONE) {
        from++;
    }
    if (from < v->n_units) {
        const struct ty_unit *unit = &v->units[from];
        data(l, gather_of(l, want, unit), unit->layer, TY_EVENT_COMPUTE, gather_event(turn));
    }
}

/* The same on the way back, where every unit is gathered alone. */
static void gather(struct ty_lowering *l, const struct ty_block_want *want,
                   const struct ty_unit *unit, uint32_t turn)
{
    if (gather_of(l, want, unit) != TY_NONE) {
        data(l, unit->gather, unit->layer, TY_EVENT_COMPUTE, gather_event(turn));
    }
}

static void need_gathered(struct ty_lowering *l, const struct ty_unit *unit, uint32_t turn)
{
    if (unit->gather != TY_NONE) {
        ty_lower_need(l, gather_event(turn));
    }
}

/* Slices of a sequence add up locally; backwards visit them from the last to the first. */
static bool reduces(const struct ty_lowering *l, const struct ty_block_want *want)
{
    const bool every = l->zero->reduce_every && !l->sched->whole_chunks && want->slice == 0;
    return every || want->edge;
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

/* What comes before the computation of a pass: the last message has left, where messages block,
 * and the host is ready. */
static void begin_pass(struct ty_lowering *l, const struct ty_block_want *want)
{
    if (!l->in->layout->framework.overlap_p2p && l->shape.p > 1) {
        ty_lower_need(l, TY_EVENT_SENT);
    }
    ty_lower_host(l, want->phase);
}

/* ---- memory ---- */

/* Tensors of one life in all units of a stage, by slice. */
static double all_units(const struct ty_lowering *l, const struct ty_vstage *v,
                        const struct ty_tensors *tensors, enum ty_tensor_life life)
{
    double sum = 0;
    for (uint32_t i = 0; i < v->n_units; i++) {
        sum += ty_tensors_sum(tensors, v->units[i].kind, life);
    }
    return sum / l->shape.slices;
}

/* What a pass takes and gives back. What recomputation brings back a split backward needs until its
 * weight part has run; a whole one needs it layer by layer. */
static struct ty_block memory_of(const struct ty_lowering *l, const struct ty_block_want *want)
{
    struct ty_block block = {.n_ops = 0};
    struct ty_tensors tensors;
    ty_memory_tensors(l->in->arch, l->in->layout, &tensors);
    const double held = all_units(l, want->v, &tensors, TY_LIFE_KEPT);
    const double again = all_units(l, want->v, &tensors, TY_LIFE_RECOMPUTED);
    const struct ty_memory_peak peak =
        ty_memory_pass(&tensors, want->phase, is_head_stage(want->v));
    switch (want->phase) {
    case TY_PHASE_FORWARD:
        block.acquire_B = held;
        break;
    case TY_PHASE_BACKWARD:
        block.release_B = held;
        break;
    case TY_PHASE_DGRAD:
        block.acquire_B = again;
        break;
    case TY_PHASE_WGRAD:
        block.release_B = held + again;
        break;
    default:
        break;
    }
    block.transient_B = peak.bytes / l->shape.slices;
    block.transient_what = peak.kind == TY_PEAK_LOSS    ? "logits"
                           : peak.kind == TY_PEAK_LAYER ? "backward of a layer"
                                                        : NULL;
    return block;
}

/* ---- passes ---- */

static void forward(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_vstage *v = want->v;
    if (l->zero->gather_after_step && l->in->layout->data > 1 && !regains_late(l)) {
        ty_lower_need(l, TY_EVENT_PARAMS);
    }
    receive(l, 0, v->edges.act_in, false);
    if (want->partner != NULL) {
        receive(l, 1, want->partner->edges.grad_in, true);
    }
    begin_pass(l, want);
    uint32_t turn = 0;
    gather_next(l, want, 0, turn);
    for (uint32_t i = 0; i < v->n_units; i++) {
        if (gather_of(l, want, &v->units[i]) != TY_NONE) {
            gather_next(l, want, i + 1, turn + 1);
            ty_lower_need(l, gather_event(turn++));
        }
        ty_lower_unit_forward(l, &v->units[i]);
    }
    if (want->partner == NULL) {
        send(l, 0, v->edges.act_out, false);
    }
}

static void reduce_all(struct ty_lowering *l, const struct ty_vstage *v)
{
    for (uint32_t i = v->n_units; i > 0; i--) {
        reduce(l, &v->units[i - 1]);
    }
}

/* A backward, whole or its input part: unit after unit from the last. */
static void backward(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_vstage *v = want->v;
    const uint32_t n = v->n_units;
    const bool whole = want->phase == TY_PHASE_BACKWARD;
    const bool reducing = whole && reduces(l, want);
    const bool overlap = l->in->layout->framework.overlap_grad_reduce;
    /* what a forward just before gathered last is still there */
    const bool kept = want->found == TY_FOUND_LAST;
    if (want->partner == NULL) {
        receive(l, 1, v->edges.grad_in, false);
    }
    if (is_head_stage(v) && ty_lower_has_tensor(l)) {
        ty_lower_need(l, TY_EVENT_TENSOR); /* the loss */
    }
    begin_pass(l, want);
    if (!kept) {
        gather(l, want, &v->units[n - 1], 0);
    }
    for (uint32_t turn = 0; turn < n; turn++) {
        const struct ty_unit *unit = &v->units[n - 1 - turn];
        if (turn + 1 < n) {
            gather(l, want, unit - 1, turn + 1);
        }
        if (turn > 0 || !kept) {
            need_gathered(l, unit, turn);
        }
        (whole ? ty_lower_unit_backward : ty_lower_unit_input)(l, unit);
        if (reducing && overlap) {
            reduce(l, unit);
        }
    }
    if (want->partner != NULL) {
        send(l, 0, want->partner->edges.act_out, true);
    }
    send(l, 1, v->edges.grad_out, false);
    if (reducing && !overlap) {
        reduce_all(l, v);
    }
}

/* The weight part of a split backward. */
static void weights(struct ty_lowering *l, const struct ty_block_want *want)
{
    const bool reducing = reduces(l, want), overlap = l->in->layout->framework.overlap_grad_reduce;
    begin_pass(l, want);
    for (uint32_t i = want->v->n_units; i > 0; i--) {
        const struct ty_unit *unit = &want->v->units[i - 1];
        ty_lower_unit_weight(l, unit);
        if (reducing && overlap) {
            reduce(l, unit);
        }
    }
    if (reducing && !overlap) {
        reduce_all(l, want->v);
    }
}

uint32_t ty_lower_block(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_block block = memory_of(l, want);
    const uint32_t index = begin_block(l, &block);
    l->kinds = &l->slice[want->slice + (want->partner != NULL ? l->shape.slices : 0)];
    switch (want->phase) {
    case TY_PHASE_FORWARD:
        forward(l, want);
        break;
    case TY_PHASE_WGRAD:
        weights(l, want);
        break;
    default:
        backward(l, want);
        break;
    }
    ty_lower_overlap(l, index);
    return index;
}

/* ---- the step ---- */

/* A collective that spans pipeline ranks. */
static void meet(struct ty_lowering *l, uint16_t kind, uint16_t link, uint8_t record)
{
    struct ty_op op = TY_OP_INIT;
    op.kind = kind;
    op.stream = TY_STREAM_DATA;
    op.sync = TY_SYNC_MEET;
    op.link = link;
    op.record = record;
    const uint8_t waits[] = {TY_EVENT_COMPUTE, TY_EVENT_REDUCED, TY_EVENT_TENSOR};
    ty_lower_emit(l, op, waits, 3);
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
    if (l->mirror_meet != NULL) {
        meet(l, l->comm.mirror, l->mirror_meet[l->rank], TY_EVENT_REDUCED);
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
            if (unit->regain != TY_NONE && !regains_late(l)) {
                data(l, unit->regain, unit->layer, TY_EVENT_COMPUTE, TY_EVENT_PARAMS);
            }
        }
    }
    return index;
}
