/* block.c - whole passes: the forward, the backward and the optimizer step of a stage.
 *
 * Parts of units in their order, messages before and after, and what replicas say to each other in
 * between (data.c). */
#include "model/issue/pass.h"
#include "model/lower/offload.h"

/* ---- pieces ---- */

/* Which neighbour a pipeline rank is: 0 the next, 1 the previous. */
static int peer_of(const struct ty_lowering *l, uint32_t rank)
{
    return rank == (l->here.rank + 1) % l->shape.p ? 0 : 1;
}

static void receive(struct ty_lowering *l, int back, uint16_t channel, bool second)
{
    if (channel == TY_NONE) {
        return;
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = l->here.comm.recv[back][peer_of(l, l->b.program->channels[channel].from)];
    op.stream = TY_STREAM_RECV;
    op.sync = TY_SYNC_RECV;
    op.link = channel;
    op.second = second;
    op.record = TY_EVENT_RECV;
    ty_lower_emit(l, op, NULL, 0);
    ty_lower_need(l, TY_EVENT_RECV); /* first: until it is there nothing waits for the gather */
    if (l->here.comm.gather[back] != TY_NONE) {
        const uint8_t waits[] = {TY_EVENT_RECV};
        ty_lower_collective(l, TY_GROUP_TENSOR, l->here.comm.gather[back], TY_NONE, TY_PART_NONE,
                            TY_EVENT_TENSOR, waits, 1);
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
}

static void put_send(struct ty_lowering *l, int back, uint16_t channel, bool second)
{
    if (channel == TY_NONE) {
        return;
    }
    struct ty_op op = TY_OP_INIT;
    op.kind = l->here.comm.send[back][peer_of(l, l->b.program->channels[channel].to)];
    op.stream = TY_STREAM_SEND;
    op.sync = TY_SYNC_SEND;
    op.link = channel;
    op.second = second;
    op.record = ty_pass_waits_for_send(l->in->layout, l->shape.v) ? TY_EVENT_SENT : TY_NO_EVENT;
    /* forward what comes last may be a sum, or rows that come home */
    uint8_t waits[TY_WAITS] = {TY_EVENT_COMPUTE};
    uint32_t n = 1;
    if (ty_lower_has_tensor(l) && (!back || ty_lower_is_mesh(l))) { /* on a grid norms sum up */
        waits[n++] = TY_EVENT_TENSOR;
    }
    if (ty_lower_is_mesh(l)) {
        waits[n++] = TY_EVENT_COLUMN;
    }
    if (ty_arch_is_moe(l->in->arch) && !back) {
        waits[n++] = TY_EVENT_EXPERT;
    }
    ty_lower_emit(l, op, waits, n);
}

static bool is_head_stage(const struct ty_vstage *v)
{
    return v->n_units > 0 && v->units[v->n_units - 1].kind == TY_UNIT_HEAD;
}

/* What comes before the computation of a pass: the last message has left, where messages block,
 * and the host is ready. */
static void begin_pass(struct ty_lowering *l, const struct ty_block_want *want)
{
    if (ty_pass_waits_for_send(l->in->layout, l->shape.v) && l->shape.p > 1) {
        ty_lower_need(l, TY_EVENT_SENT);
    }
    const uint16_t host = l->emit.kinds->host[want->phase];
    if (host != TY_NONE) { /* after the message it waits for, before the first kernel */
        ty_lower_compute(l, host, TY_NONE, TY_PART_NONE, TY_EVENT_COMPUTE);
    }
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
    ty_memory_tensors(l->prices->units, &tensors);
    const double held = all_units(l, want->v, &tensors, TY_LIFE_KEPT);
    const double again = all_units(l, want->v, &tensors, TY_LIFE_RECOMPUTED);
    const uint32_t stages = ty_sched_stages(&l->shape);
    struct ty_memory_stage stage = {
        .arch = l->in->arch,
        .layers = ty_layout_layers(l->in->layout, l->in->arch, stages, want->v->number % stages),
        .head = is_head_stage(want->v)};
    for (uint32_t i = 0; i < want->v->n_units; i++) {
        stage.count[want->v->units[i].kind]++;
    }
    const struct ty_memory_peak peak = ty_memory_pass(&tensors, &stage, want->phase);
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
    struct ty_gathers gathers;
    ty_lower_need_params(l, want);
    receive(l, 0, v->edges.act_in, false);
    if (want->partner != NULL) {
        receive(l, 1, want->partner->edges.grad_in, true);
    }
    begin_pass(l, want);
    ty_lower_gather_begin(l, &gathers, want);
    for (uint32_t u = 0; u < v->n_units; u++) {
        const struct ty_unit *unit = &v->units[u];
        ty_lower_stash_room(l, v, u);
        for (uint32_t k = 0; k < unit->n_parts; k++) {
            ty_lower_gather(l, &gathers, 2 * u + k);
            ty_lower_part(l, unit, unit->part[k].part, ty_issuer_forward);
            if (u + k == 0 && want->edge && ty_lower_is_delayed(l)) {
                ty_lower_update(l, &v, 1);
            }
        }
        ty_lower_stash_kept(l, v, u);
    }
    if (want->partner == NULL) {
        put_send(l, 0, v->edges.act_out, false);
    }
}

/* Tensor ranks have said what the loss needs. */
static void need_loss(struct ty_lowering *l, const struct ty_vstage *v)
{
    if (is_head_stage(v) && ty_lower_has_tensor(l)) {
        ty_lower_need_either(l, TY_EVENT_TENSOR);
    }
    if (is_head_stage(v) && ty_lower_is_mesh(l)) {
        ty_lower_need(l, TY_EVENT_COLUMN);
    }
}

/* A backward, whole or its input part: part after part from the last. */
static void backward(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_vstage *v = want->v;
    const bool whole = want->phase == TY_PHASE_BACKWARD;
    ty_issuer_part_fn *issue = whole ? ty_issuer_backward : ty_issuer_input;
    const bool reducing = whole && ty_lower_is_reducing(l, want);
    const bool late = ty_layout_reduces_late(l->in->layout);
    struct ty_gathers gathers;
    if (want->partner == NULL) {
        receive(l, 1, v->edges.grad_in, false);
    }
    need_loss(l, v);
    begin_pass(l, want);
    if (reducing) {
        ty_lower_need_run_reduced(l);
    }
    ty_lower_gather_begin(l, &gathers, want);
    for (uint32_t u = v->n_units; u > 0; u--) {
        const struct ty_unit *unit = &v->units[u - 1];
        ty_lower_bring_back(l, v, u - 1);
        for (uint32_t k = unit->n_parts; k > 0; k--) {
            ty_lower_gather(l, &gathers, 2 * (u - 1) + k - 1);
            ty_lower_part(l, unit, unit->part[k - 1].part, issue);
            if (reducing && !late) {
                ty_lower_reduce(l, v, u - 1, k - 1);
            }
        }
    }
    if (want->partner != NULL) {
        put_send(l, 0, want->partner->edges.act_out, true);
    }
    put_send(l, 1, v->edges.grad_out, false);
    if (reducing && late) {
        ty_lower_reduce_late(l, v);
    }
}

/* Whether the input part of a stage computes anything: that of the embedding alone does not. */
static bool has_input_part(const struct ty_lowering *l, const struct ty_vstage *v)
{
    for (uint32_t u = 0; u < v->n_units; u++) {
        const struct ty_unit_ops *ops = &l->prices->units->kind[v->units[u].kind];
        for (uint32_t i = 0; i < ops->n; i++) {
            if (!ops->op[i].first) {
                return true;
            }
        }
    }
    return false;
}

/* The weight part of a split backward: behind its input part, and where that computes nothing,
 * behind the message that it was for. */
static void weights(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_vstage *v = want->v;
    const bool reducing = ty_lower_is_reducing(l, want);
    const bool late = ty_layout_reduces_late(l->in->layout);
    if (v->edges.grad_in != TY_NONE && !has_input_part(l, v)) {
        ty_lower_need(l, l->here.comm.gather[1] != TY_NONE ? TY_EVENT_TENSOR : TY_EVENT_RECV);
    }
    begin_pass(l, want);
    ty_lower_need_reduced(l);
    if (reducing) {
        ty_lower_need_run_reduced(l);
    }
    for (uint32_t u = v->n_units; u > 0; u--) {
        const struct ty_unit *unit = &v->units[u - 1];
        ty_lower_bring_back(l, v, u - 1); /* again: the input part left no room for it */
        for (uint32_t k = unit->n_parts; k > 0; k--) {
            ty_lower_part(l, unit, unit->part[k - 1].part, ty_issuer_weight);
            if (reducing && !late) {
                ty_lower_reduce(l, v, u - 1, k - 1);
            }
        }
    }
    if (reducing && late) {
        ty_lower_reduce_late(l, v);
    }
}

uint32_t ty_lower_block(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_block block = memory_of(l, want);
    const uint32_t index = ty_lower_begin(l, &block);
    const bool slot = want->woven || want->partner != NULL;
    l->emit.kinds = &l->here.gpus->slice[want->slice + (slot ? l->shape.slices : 0)];
    l->emit.issuer.woven = want->woven;
    l->emit.issuer.second = want->woven && want->phase == TY_PHASE_FORWARD;
    l->emit.last = want->edge;
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
    if (!want->woven) { /* else with the other half */
        ty_lower_overlap(l, &index, 1);
    }
    return index;
}

void ty_lower_plain(const struct ty_lowering *l, struct ty_block_want *want)
{
    const struct ty_vstage *v = want->v;
    const bool given_up = /* every pass fetches all but what never leaves */
        ty_lower_homes(l)->parameters != TY_HOME_GPU && want->found == TY_FOUND_LAST &&
        !(v->n_units > 0 && v->units[v->n_units - 1].stays);
    want->found = l->zero->gather_in_passes && !given_up ? want->found : TY_FOUND_NONE;
    if (want->phase == TY_PHASE_FORWARD) {
        want->edge = want->edge && (ty_lower_regains_late(l) || ty_lower_is_delayed(l));
    } else if (ty_lower_homes(l)->optimizer != TY_HOME_NVME && !l->here.chunks.spills) {
        /* else those of the last backward go on to drives */
        want->edge = ty_lower_is_reducing(l, want);
    }
}

uint32_t ty_lower_again(struct ty_lowering *l, uint32_t block)
{
    const struct ty_block like = l->b.program->blocks[block];
    const uint32_t index = ty_lower_begin(l, &like);
    for (uint32_t i = 0; i < like.n_ops && l->b.code == 0; i++) {
        const struct ty_op op = l->b.program->ops[like.first + i];
        uint32_t behind = 0;
        for (uint32_t k = 0; k < TY_WAITS; k++) {
            behind |= op.wait[k] != TY_NO_EVENT ? 1u << op.wait[k] : 0;
        }
        if (op.record != TY_NO_EVENT) {
            l->emit.behind[op.record] = behind;
        }
        ty_build_op(&l->b, &op);
    }
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
    /* shards that stay meet those of other replicas after the sums of the grid */
    const bool stay = ty_lower_is_gemini(l) && ty_lower_is_hybrid(l);
    const uint8_t waits[] = {TY_EVENT_COMPUTE, ty_lower_reduced_event(l), TY_EVENT_TENSOR,
                             stay ? (uint8_t)TY_EVENT_REPLICATED
                                  : ty_issuer_grads_event(l->in->layout)};
    ty_lower_emit(l, op, waits, ty_lower_is_mesh(l) || stay ? 4 : 3);
}

/* Recorded when gradients have met those of other pipeline ranks. What leaves the GPU is reduced
 * when it has left, on another stream; that of meetings tells when they are over, too. */
static uint8_t met_event(const struct ty_lowering *l)
{
    return ty_lower_updates_away(l) ? TY_EVENT_NORM : TY_EVENT_REDUCED;
}

/* One collective of the user's own; the optimizer waits for it. */
uint32_t ty_lower_meeting(struct ty_lowering *l, uint16_t kind, uint16_t link)
{
    const uint32_t index = ty_lower_begin(l, &(struct ty_block){.n_ops = 0});
    meet(l, kind, link, met_event(l));
    return index;
}

/* Gradients that no backward has reduced, those of norms (sequence parallelism) and of tied
 * embeddings, the gradient norm that all ranks wait for, the optimizer, and the parameters back to
 * those who hold none. */
uint32_t ty_lower_step(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    const uint32_t index = ty_lower_begin(l, &(struct ty_block){.n_ops = 0});
    const bool ends = l->here.rank == 0 || l->here.rank == l->shape.p - 1;
    l->emit.last = true;
    ty_lower_reduce_rest(l, v, n);
    if (ty_lower_has_tensor(l) && l->here.comm.norm_grads != TY_NONE) {
        const uint8_t waits[] = {TY_EVENT_COMPUTE};
        ty_lower_collective(l, TY_GROUP_TENSOR, l->here.comm.norm_grads, TY_NONE, TY_PART_NONE,
                            TY_EVENT_TENSOR, waits, 1);
        ty_lower_need(l, TY_EVENT_TENSOR);
    }
    if (l->links.tied_meet != TY_NONE && ends) {
        meet(l, l->here.comm.tied, l->links.tied_meet, met_event(l));
    }
    if (l->links.mirror_meet != NULL) {
        meet(l, l->here.comm.mirror, l->links.mirror_meet[l->here.rank], met_event(l));
    }
    ty_lower_need(l, ty_lower_reduced_event(l));
    ty_lower_wait_resident_grads(l);
    if (ty_lower_is_mesh(l)) {
        ty_lower_need(l, ty_issuer_grads_event(l->in->layout));
    }
    const uint16_t norms[][2] = {{l->links.norm_meet, l->here.comm.grad_norm},
                                 {l->links.expert_norm_meet, l->here.comm.expert_norm}};
    uint8_t reduced = met_event(l);
    for (size_t i = 0; i < TY_COUNT(norms); i++) {
        if (norms[i][0] != TY_NONE) { /* on the stream of the data group, after all it reduced */
            meet(l, norms[i][1], norms[i][0], TY_EVENT_NORM);
            reduced = TY_EVENT_NORM;
        }
    }
    ty_lower_need(l, reduced);
    if (ty_lower_homes(l)->share < 1 || l->here.chunks.updates) {
        ty_lower_compute(l, l->here.optimizer, TY_NONE, TY_PART_NONE,
                         ty_lower_regains_late(l) ? TY_EVENT_PARAMS : TY_EVENT_COMPUTE);
    }
    if (!ty_lower_is_delayed(l)) {
        ty_lower_update(l, v, n);
    }
    ty_lower_gather_updated_params(l, v, n);
    return index;
}
