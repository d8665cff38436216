/* data.c - what replicas say to each other: gathers of parameters, reductions of gradients.
 *
 *     data comm   AG1 AG2      AG3      ...  |  AG3     AG2  RS4     AG1  RS3  ...
 *     compute         F1       F2       F3   |  B4           B3           B2
 *
 * ZeRO-3 gathers the parameters of a unit while units before it compute: `prefetch` gathers are in
 * flight or unused beside the unit at work. A gather is issued when a unit begins and waits until
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
#include "model/issue/pass.h"
#include "model/lower/offload.h"

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

bool ty_lower_regains_late(const struct ty_lowering *l)
{
    return l->zero->gather_after_step && l->in->layout->framework.overlap_param_gather &&
           ty_layout_has_copies(l->in->layout) && !l->sched->asynchronous &&
           !ty_lower_updates_away(l);
}

void ty_lower_need_params(struct ty_lowering *l, const struct ty_block_want *want)
{
    if (ty_lower_is_delayed(l) && !want->edge) { /* an update is under way, of the next ones */
        return;
    }
    if (ty_lower_brings_back(l)) {
        ty_lower_need(l, TY_EVENT_FETCHED);
    }
    if (l->zero->gather_after_step && ty_layout_has_copies(l->in->layout) &&
        !ty_lower_regains_late(l)) {
        ty_lower_need(l, TY_EVENT_PARAMS);
    }
}

static bool regaining(const struct ty_lowering *l, const struct ty_block_want *want)
{
    return want->phase == TY_PHASE_FORWARD && want->edge && ty_lower_regains_late(l);
}

void ty_lower_wait_resident_grads(struct ty_lowering *l)
{
    if (l->here.chunks.updates) {
        ty_lower_need(l, ty_lower_is_hybrid(l) ? TY_EVENT_REPLICATED : TY_EVENT_STAYED);
    }
}

void ty_lower_need_reduced(struct ty_lowering *l)
{
    if (shards_params(l)) {
        ty_lower_need(l, ty_lower_reduced_event(l));
    }
    ty_lower_wait_resident_grads(l);
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
        if (unit->gather == TY_NONE && unit->gather_experts == TY_NONE && waits[0] != event) {
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
    if (want->found == TY_FOUND_ALL) { /* a gather would come after them on its stream */
        ty_lower_need_reduced(l);
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

void ty_lower_gather_updated_params(struct ty_lowering *l, const struct ty_vstage *const *v,
                                    uint32_t n)
{
    if (!l->zero->gather_after_step || !ty_layout_has_copies(l->in->layout) ||
        ty_lower_regains_late(l) || (ty_lower_updates_away(l) && !ty_lower_is_delayed(l))) {
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

bool ty_lower_is_reducing(const struct ty_lowering *l, const struct ty_block_want *want)
{
    /* slices of a sequence add up locally; backwards visit them from the last to the first */
    const bool every = ty_layout_reduces(l->in->layout) == TY_REDUCES_EVERY &&
                       !l->sched->whole_chunks && want->slice == 0;
    return every || (want->edge && !reduces_at_the_end(l));
}

void ty_lower_need_run_reduced(struct ty_lowering *l)
{
    if (l->in->layout->zero == 2 && reduces(l) == TY_REDUCES_RUN) {
        ty_lower_need(l, ty_lower_reduced_event(l));
    }
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

void ty_lower_reduce(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u, uint32_t k)
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

void ty_lower_reduce_late(struct ty_lowering *l, const struct ty_vstage *v)
{
    for (uint32_t at = 2 * v->n_units; at > 0; at--) {
        ty_lower_reduce(l, v, (at - 1) / 2, (at - 1) % 2);
    }
}

void ty_lower_reduce_rest(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    for (uint32_t s = n; s > 0 && reduces_at_the_end(l); s--) {
        ty_lower_reduce_late(l, v[s - 1]);
    }
}
