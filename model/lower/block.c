/* block.c - whole passes: the forward, the backward and the optimizer step of a stage.
 *
 * Parts of units in their order, messages before and after, and what replicas say to each other in
 * between. */
#include <math.h>

#include "model/issue/pass.h"
#include "model/lower/offload.h"

/* ---- collectives of replicas ----
 *
 * What replicas say to each other: gathers of parameters, reductions of gradients.
 *
 *     data comm   AG1 AG2      AG3      ...  |  AG3     AG2  RS4     AG1  RS3  ...
 *     compute         F1       F2       F3   |  B4           B3           B2
 *
 * ZeRO-3 gathers the parameters of a unit while units before it compute: `prefetch` gathers are in
 * flight or unused next to the unit at work. A gather is issued when a unit begins and waits until
 * everything before that unit has been computed, so that no more than 1 + prefetch units exist
 * whole. One reduction may be under way while the next unit computes; then the computation waits,
 * because gradients would pile up (as PyTorch FSDP2 does, FSDPParamGroup.post_backward; of ZeRO-2
 * the next bucket). With ZeRO-3 it also waits for the last one of a pass. Gathers and reductions
 * share a communicator and a stream: they take turns in the order of issue.
 *
 * ZeRO-1 and -2 may gather updated parameters in the first forward of a step, bucket by bucket. All
 * are on their way as soon as the optimizer is done, on every stage, whenever its first message
 * comes (Megatron-LM's align_param_gather); a part of a layer waits for its own.
 * Experts have buckets and gathers of their own, among the ranks that have the same experts:
 * another communicator, but the stream is that of the data group, so that they take turns with the
 * rest (those of PyTorch FSDP do; Megatron-LM's may share the links instead).
 * Stages that keep whole gradients reduce a bucket when it closes; the stream of the data group
 * does that while the backward goes on. */

/* Events that they take turns in, less one: they wait for nothing but each other. */
#define REGAINS_AHEAD 1u

static void data_after(struct ty_lowering *l, uint8_t group, uint16_t kind, uint16_t layer,
                       uint8_t record, const uint8_t *waits, uint32_t n_waits)
{
    if (kind == TY_NONE) { /* with nobody */
        return;
    }
    ty_lower_collective(l, (enum ty_comm_group)group, kind, layer, TY_PART_NONE, record, waits,
                        n_waits);
}

/* After what was computed before it in the order of issue. */
static void data(struct ty_lowering *l, uint8_t group, uint16_t kind, uint16_t layer,
                 uint8_t record)
{
    const uint8_t waits[] = {TY_EVENT_COMPUTE, ty_issuer_grads_event(l->in->layout)};
    data_after(l, group, kind, layer, record, waits, ty_lower_is_mesh(l) ? 2 : 1);
}

static bool shards_params(const struct ty_lowering *l)
{
    return l->zero->gather_in_passes && ty_layout_moves_grads(l->in->layout);
}

/* ---- parameters ---- */

static bool lower_regains_late(const struct ty_lowering *l)
{
    return l->zero->gather_after_step && l->in->layout->framework.overlap_param_gather &&
           ty_layout_has_copies(l->in->layout) && !l->sched->asynchronous &&
           !ty_lower_updates_away(l);
}

static void lower_need_params(struct ty_lowering *l, const struct ty_block_want *want)
{
    if (ty_lower_is_delayed(l) && !want->edge) { /* an update is under way, of the next ones */
        return;
    }
    if (ty_lower_brings_back(l)) {
        ty_lower_need(l, TY_EVENT_FETCHED);
    }
    if (l->zero->gather_after_step && ty_layout_has_copies(l->in->layout) &&
        !lower_regains_late(l)) {
        ty_lower_need(l, TY_EVENT_PARAMS);
    }
}

static bool regaining(const struct ty_lowering *l, const struct ty_block_want *want)
{
    return want->phase == TY_PHASE_FORWARD && want->edge && lower_regains_late(l);
}

static void lower_wait_resident_grads(struct ty_lowering *l)
{
    if (l->here.chunks.updates) {
        ty_lower_need(l, ty_lower_is_hybrid(l) ? TY_EVENT_REPLICATED : TY_EVENT_STAYED);
    }
}

static void lower_need_reduced(struct ty_lowering *l)
{
    if (shards_params(l)) {
        ty_lower_need(l, ty_lower_reduced_event(l));
    }
    lower_wait_resident_grads(l);
}

/* Number of the place that comes `nth` in the order of use. */
static uint32_t place(const struct ty_gathers *g, uint32_t nth)
{
    const uint32_t places = 2 * g->want->v->n_units;
    return g->want->phase == TY_PHASE_FORWARD ? nth : places - 1 - nth;
}

/* Whether updated parameters of a part come back: not those that a rank shares with nobody. */
static bool regains(const struct ty_unit_part *part)
{
    bool any = false;
    for (uint32_t i = 0; i < part->n_buckets; i++) {
        any = any || part->bucket[i].regain != TY_NONE;
    }
    return any;
}

/* Whether a part waits for a gather of its own. */
static bool gathers_at(const struct ty_lowering *l, const struct ty_gathers *g, uint32_t at)
{
    const struct ty_vstage *v = g->want->v;
    const struct ty_unit *unit = &v->units[at / 2];
    const uint32_t k = at % 2;
    if (regaining(l, g->want)) {
        return k < unit->n_parts && regains(&unit->part[k]);
    }
    if ((unit->gather == TY_NONE && unit->gather_experts == TY_NONE &&
         !ty_lower_fetches(g->want, at / 2)) ||
        g->want->found == TY_FOUND_ALL ||
        (g->want->found == TY_FOUND_LAST && at / 2 == v->n_units - 1)) {
        return false;
    }
    return k == (g->want->phase == TY_PHASE_FORWARD ? 0 : unit->n_parts - 1);
}

static void issue_gather(struct ty_lowering *l, struct ty_gathers *g, uint32_t at)
{
    const struct ty_unit *unit = &g->want->v->units[at / 2];
    const struct ty_unit_part *part = &unit->part[at % 2];
    const uint8_t event = (uint8_t)(TY_EVENT_GATHER + g->issued % (g->ahead + 1));
    if (!regaining(l, g->want)) {
        /* reductions of the pass before come first: those of the group on this very stream */
        uint8_t waits[3] = {ty_lower_fetch(l, g->want, at / 2, event)};
        uint32_t n = 1;
        if (g->issued == 0 && ty_lower_is_hybrid(l)) {
            waits[n++] = TY_EVENT_REPLICATED;
        }
        if (g->issued == 0 && ty_lower_brings_back(l)) {
            waits[n++] = TY_EVENT_FETCHED;
        }
        data_after(l, TY_GROUP_DATA, unit->gather, unit->layer, event, waits, n);
        data_after(l, TY_GROUP_EXPERT_DATA, unit->gather_experts, unit->layer, event, waits, n);
        const bool any = unit->gather != TY_NONE || unit->gather_experts != TY_NONE ||
                         ty_lower_gather_modules(l, unit, event, waits, n);
        if (!any && waits[0] != event) {
            ty_lower_join(l, TY_STREAM_DATA, event, waits, n); /* others of its stage gather */
        }
    } else {
        const uint8_t updated = TY_EVENT_PARAMS;
        for (uint32_t i = part->n_buckets; i > 0; i--) { /* forward order */
            data_after(l, part->bucket[i - 1].group, part->bucket[i - 1].regain, unit->layer, event,
                       &updated, 1);
        }
    }
    g->issued++;
}

/* Issues what comes next in the order of use until `n` gathers are issued. */
static void issue_until(struct ty_lowering *l, struct ty_gathers *g, uint32_t n)
{
    for (; g->issued < n && g->at < 2 * g->want->v->n_units; g->at++) {
        const uint32_t at = place(g, g->at);
        if (gathers_at(l, g, at)) {
            issue_gather(l, g, at);
        }
    }
}

void ty_lower_gather_begin(struct ty_lowering *l, struct ty_gathers *g,
                           const struct ty_block_want *want)
{
    *g = (struct ty_gathers){.want = want};
    g->ahead = regaining(l, want) ? REGAINS_AHEAD : ty_layout_whole_units(l->in->layout) - 1;
    issue_until(l, g, g->ahead);
    ty_lower_modules_begin(l, want);
    if (want->found == TY_FOUND_ALL || ty_layout_gathers_modules(l->in->layout)) {
        /* a gather would come after them on its stream */
        lower_need_reduced(l);
    }
}

void ty_lower_gather(struct ty_lowering *l, struct ty_gathers *g, uint32_t at)
{
    if (gathers_at(l, g, at)) {
        issue_until(l, g, g->used + g->ahead + 1);
        ty_lower_need(l, (uint8_t)(TY_EVENT_GATHER + g->used % (g->ahead + 1)));
        g->used++;
    }
}

void ty_lower_regain_bucket(struct ty_lowering *l, const struct ty_grad_bucket *bucket,
                            uint16_t layer)
{
    const uint8_t waits[] = {TY_EVENT_COMPUTE, TY_EVENT_FETCHED};
    data_after(l, bucket->group, bucket->regain, layer, TY_EVENT_PARAMS, waits,
               ty_lower_updates_away(l) ? 2 : 1);
}

static void lower_gather_updated_params(struct ty_lowering *l, const struct ty_vstage *const *v,
                                        uint32_t n)
{
    if (!l->zero->gather_after_step || !ty_layout_has_copies(l->in->layout) ||
        lower_regains_late(l) || (ty_lower_updates_away(l) && !ty_lower_is_delayed(l))) {
        return;
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t at = 2 * v[s]->n_units; at > 0; at--) {
            const struct ty_unit *unit = &v[s]->units[(at - 1) / 2];
            const struct ty_unit_part *part = &unit->part[(at - 1) % 2];
            for (uint32_t i = 0; i < part->n_buckets; i++) {
                ty_lower_regain_bucket(l, &part->bucket[i], unit->layer);
            }
        }
    }
}

/* ---- gradients ---- */

static enum ty_reduces reduces(const struct ty_lowering *l)
{
    return ty_layout_reduces(l->in->layout);
}

/* Without overlap what is added up over a step waits for the last backward of the rank, whichever
 * chunk that is of (Megatron-LM's finalize_model_grads). Stages of ZeRO-3 wait for their own
 * (torch.distributed.pipelining, stage.py). */
static bool reduces_at_the_end(const struct ty_lowering *l)
{
    return ty_layout_reduces_late(l->in->layout) && !l->zero->gather_in_passes &&
           reduces(l) == TY_REDUCES_LAST;
}

static bool lower_is_reducing(const struct ty_lowering *l, const struct ty_block_want *want)
{
    /* slices of a sequence add up locally; backwards visit them from the last to the first */
    const bool every = ty_layout_reduces(l->in->layout) == TY_REDUCES_EVERY &&
                       !l->sched->whole_chunks && want->slice == 0;
    return every || (want->edge && !reduces_at_the_end(l));
}

static void lower_need_run_reduced(struct ty_lowering *l)
{
    if (l->in->layout->zero == 2 && reduces(l) == TY_REDUCES_RUN) {
        ty_lower_need(l, ty_lower_reduced_event(l));
    }
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
    /* shards that stay meet those of other replicas after the sums of the grid */
    const bool stay = ty_lower_is_gemini(l) && ty_lower_is_hybrid(l);
    const uint8_t waits[] = {TY_EVENT_COMPUTE, ty_lower_reduced_event(l), TY_EVENT_TENSOR,
                             stay ? (uint8_t)TY_EVENT_REPLICATED
                                  : ty_issuer_grads_event(l->in->layout)};
    ty_lower_emit(l, op, waits, ty_lower_is_mesh(l) || stay ? 4 : 3);
}

/* Returns what tells that all have summed it. */
static uint8_t reduce_bucket(struct ty_lowering *l, const struct ty_grad_bucket *bucket,
                             uint16_t layer, uint8_t event)
{
    const bool stays = bucket->down == TY_NONE;
    const uint8_t own = stays ? event : (uint8_t)TY_EVENT_SUMMED;
    data(l, bucket->group, bucket->reduce, layer, own);
    /* shards meet those of the other replicas once their own group has summed them */
    const uint8_t made =
        ty_lower_is_mesh(l) ? ty_issuer_grads_event(l->in->layout) : (uint8_t)TY_EVENT_COMPUTE;
    uint8_t summed = bucket->reduce != TY_NONE ? own : made;
    data_after(l, TY_GROUP_REPLICA, bucket->replicate, layer, TY_EVENT_REPLICATED, &summed, 1);
    summed = bucket->replicate != TY_NONE ? (uint8_t)TY_EVENT_REPLICATED : summed;
    if (!stays) {
        ty_lower_stash(l, bucket, layer, summed, event);
    }
    return summed;
}

static void lower_reduce(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u, uint32_t k)
{
    const struct ty_unit *unit = &v->units[u];
    const struct ty_unit_part *part = &unit->part[k];
    uint8_t summed = TY_EVENT_COMPUTE;
    if (part->n_buckets == 0) {
        return;
    }
    for (uint32_t i = 0; i < part->n_buckets; i++) {
        const struct ty_grad_bucket *bucket = &part->bucket[i];
        summed = reduce_bucket(l, bucket, unit->layer, bucket->event);
    }
    const bool at_once = ty_pass_reduces_at_once(l->in->layout);
    if (at_once) {
        ty_lower_need(l, summed);
    }
    if (ty_pass_piles_up(l->in->layout) && (ty_lower_updates_away(l) || !at_once)) {
        ty_lower_need(l, part->bucket[part->n_buckets - 1].before);
    }
}

static void lower_reduce_late(struct ty_lowering *l, const struct ty_vstage *v)
{
    for (uint32_t at = 2 * v->n_units; at > 0; at--) {
        lower_reduce(l, v, (at - 1) / 2, (at - 1) % 2);
    }
}

static void lower_reduce_rest(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    for (uint32_t s = n; s > 0 && reduces_at_the_end(l); s--) {
        lower_reduce_late(l, v[s - 1]);
    }
}

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

/* Bytes of a slice that the forward of a stage keeps, and those between the halves of a split
 * backward. */
struct kept {
    double all, waiting;
};

static struct kept kept_of(const struct ty_lowering *l, const struct ty_vstage *v,
                           const struct ty_tensors *tensors)
{
    struct kept kept = {0, 0};
    for (uint32_t i = 0; i < v->n_units; i++) {
        kept.all += ty_tensors_sum(tensors, v->units[i].kind, TY_LIFE_KEPT);
        kept.waiting += ty_tensors_waiting(tensors, v->units[i].kind);
    }
    kept.all /= l->shape.slices;
    kept.waiting /= l->shape.slices;
    return kept;
}

/* What a pass takes and gives back. The first half of a split backward leaves what the second needs
 * of what was kept, and gradients. What recomputation brings back is needed layer by layer. */
static struct ty_block memory_of(const struct ty_lowering *l, const struct ty_block_want *want)
{
    struct ty_block block = {.n_ops = 0};
    struct ty_tensors tensors;
    ty_memory_tensors(l->prices->units, &tensors);
    const struct kept kept = kept_of(l, want->v, &tensors);
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
        block.acquire_B = kept.all;
        break;
    case TY_PHASE_BACKWARD:
        block.release_B = kept.all;
        break;
    case TY_PHASE_DGRAD:
        block.acquire_B = fmax(kept.waiting - kept.all, 0);
        block.release_B = fmax(kept.all - kept.waiting, 0);
        break;
    case TY_PHASE_WGRAD:
        block.release_B = kept.waiting;
        break;
    default:
        break;
    }
    block.transient_B = peak.bytes / l->shape.slices;
    block.transient_B -= want->phase == TY_PHASE_DGRAD ? block.acquire_B : 0;
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
    lower_need_params(l, want);
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
    const bool reducing = whole && lower_is_reducing(l, want);
    const bool late = ty_layout_reduces_late(l->in->layout);
    struct ty_gathers gathers;
    if (want->partner == NULL) {
        receive(l, 1, v->edges.grad_in, false);
    }
    need_loss(l, v);
    begin_pass(l, want);
    if (reducing) {
        lower_need_run_reduced(l);
    }
    ty_lower_gather_begin(l, &gathers, want);
    for (uint32_t u = v->n_units; u > 0; u--) {
        const struct ty_unit *unit = &v->units[u - 1];
        ty_lower_bring_back(l, v, u - 1);
        for (uint32_t k = unit->n_parts; k > 0; k--) {
            ty_lower_gather(l, &gathers, 2 * (u - 1) + k - 1);
            ty_lower_part(l, unit, unit->part[k - 1].part, issue);
            if (reducing && !late) {
                lower_reduce(l, v, u - 1, k - 1);
            }
        }
    }
    if (want->partner != NULL) {
        put_send(l, 0, want->partner->edges.act_out, true);
    }
    put_send(l, 1, v->edges.grad_out, false);
    if (reducing && late) {
        lower_reduce_late(l, v);
    }
}

/* Whether the input part of a stage computes anything: that of the embedding alone does not. */
static bool has_input_part(const struct ty_lowering *l, const struct ty_vstage *v)
{
    for (uint32_t u = 0; u < v->n_units; u++) {
        const struct ty_unit_ops *ops = &l->prices->units->kind[v->units[u].kind];
        for (uint32_t i = 0; i < ops->n; i++) {
            if (!ops->op[i].first && ty_op_has_backward(&ops->op[i])) {
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
    const bool reducing = lower_is_reducing(l, want);
    const bool late = ty_layout_reduces_late(l->in->layout);
    if (v->edges.grad_in != TY_NONE && !has_input_part(l, v)) {
        ty_lower_need(l, l->here.comm.gather[1] != TY_NONE ? TY_EVENT_TENSOR : TY_EVENT_RECV);
    }
    begin_pass(l, want);
    lower_need_reduced(l);
    if (reducing) {
        lower_need_run_reduced(l);
    }
    for (uint32_t u = v->n_units; u > 0; u--) {
        const struct ty_unit *unit = &v->units[u - 1];
        ty_lower_bring_back(l, v, u - 1); /* again: the input part left no room for it */
        for (uint32_t k = unit->n_parts; k > 0; k--) {
            ty_lower_part(l, unit, unit->part[k - 1].part, ty_issuer_weight);
            if (reducing && !late) {
                lower_reduce(l, v, u - 1, k - 1);
            }
        }
    }
    if (reducing && late) {
        lower_reduce_late(l, v);
    }
}

uint32_t ty_lower_block(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_block block = memory_of(l, want);
    const uint32_t index = ty_lower_begin(l, &block);
    const bool slot = want->woven || want->partner != NULL;
    l->emit.kinds = &l->here.gpus->slice[want->slice + (slot ? l->shape.slices : 0)];
    l->emit.packed = ty_lower_is_packed(l) ? ty_lower_packed(l, want->pack) : NULL;
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
        want->edge = want->edge && (lower_regains_late(l) || ty_lower_is_delayed(l));
    } else if (ty_lower_homes(l)->optimizer != TY_HOME_NVME && !l->here.chunks.spills) {
        /* else those of the last backward go on to drives */
        want->edge = lower_is_reducing(l, want);
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

/* Matrices come together, one group after the other, and are orthogonalized (Muon). */
static void orthogonalize(struct ty_lowering *l, uint8_t reduced)
{
    for (uint32_t i = 0; i < TY_MUON_GROUPS; i++) {
        if (l->here.comm.muon[i] != TY_NONE) {
            const uint8_t event = i % 2 == 0 ? TY_EVENT_TENSOR : TY_EVENT_NORM;
            const uint8_t waits[] = {TY_EVENT_COMPUTE, reduced};
            ty_lower_collective(l, ty_muon_groups[i], l->here.comm.muon[i], TY_NONE, TY_PART_NONE,
                                event, waits, 2);
            ty_lower_need(l, event);
        }
    }
    if (l->here.orthogonalize != TY_NONE) {
        ty_lower_compute(l, l->here.orthogonalize, TY_NONE, TY_PART_NONE, TY_EVENT_COMPUTE);
    }
}

/* framework.step_overhead, behind what the host updates in this step. */
static void wait_for_host(struct ty_lowering *l)
{
    if (l->here.host == TY_NONE) {
        return;
    }
    if (ty_lower_updates_away(l) && !ty_lower_is_delayed(l)) {
        ty_lower_need(l, TY_EVENT_UPDATED);
    }
    ty_lower_compute(l, l->here.host, TY_NONE, TY_PART_NONE, TY_EVENT_COMPUTE);
}

/* Gradients that no backward has reduced, those of norms (sequence parallelism) and of tied
 * embeddings, the gradient norm that all ranks wait for, the optimizer, and the parameters back to
 * those who hold none. */
uint32_t ty_lower_step(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    const uint32_t index = ty_lower_begin(l, &(struct ty_block){.n_ops = 0});
    const bool ends = l->here.rank == 0 || l->here.rank == l->shape.p - 1;
    l->emit.last = true;
    lower_reduce_rest(l, v, n);
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
    lower_wait_resident_grads(l);
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
    orthogonalize(l, reduced);
    if (ty_lower_homes(l)->share < 1 || l->here.chunks.updates) {
        ty_lower_compute(l, l->here.optimizer, TY_NONE, TY_PART_NONE,
                         lower_regains_late(l) ? TY_EVENT_PARAMS : TY_EVENT_COMPUTE);
    }
    if (!ty_lower_is_delayed(l)) {
        ty_lower_update(l, v, n);
    }
    wait_for_host(l);
    lower_gather_updated_params(l, v, n);
    return index;
}
