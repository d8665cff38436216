/* units.c - the parameters of a stage: units, their parts, and kinds for the buckets of their
 * gradients (model/block/buckets.h). */
#include "model/issue/pass.h"
#include "model/lower/offload.h"

#include <assert.h>

static void close_bucket(struct ty_lowering *l, struct ty_unit_part *part, enum ty_comm_group group,
                         double params, bool stays)
{
    assert(part->n_buckets < TY_COUNT(part->bucket));
    struct ty_grad_bucket *bucket = &part->bucket[part->n_buckets++];
    const struct ty_layout *layout = l->in->layout;
    const struct ty_priced_comm reduce = ty_price_reduce(layout, group, params);
    const struct ty_priced_comm regain = ty_price_gather(layout, group, TY_PHASE_STEP, params);
    bucket->group = (uint8_t)group;
    bucket->params = params;
    bucket->stays = stays;
    ty_lower_offload_bucket(l, bucket);
    const bool experts = group == TY_GROUP_EXPERT_DATA, shared = ty_lower_is_shared(l, group);
    const uint32_t shards = experts ? ty_layout_expert_shards(layout) : ty_layout_shards(layout);
    struct ty_priced_comm replicate = reduce;
    replicate.group = TY_GROUP_REPLICA;
    replicate.coll = TY_COLL_ALL_REDUCE;
    replicate.bytes = reduce.bytes / shards;
    bucket->reduce = shared ? ty_lower_group_kind(l, &reduce) : TY_NONE;
    bucket->replicate = ty_lower_is_hybrid(l) ? ty_lower_group_kind(l, &replicate) : TY_NONE;
    bucket->regain =
        shared && l->zero->gather_after_step ? ty_lower_group_kind(l, &regain) : TY_NONE;
}

struct closing {
    struct ty_lowering *l;
    struct ty_vstage *v;
};

static void bucket_of(void *arg, uint32_t unit, uint32_t part, enum ty_comm_group group,
                      double params)
{
    const struct closing *c = arg;
    close_bucket(c->l, &c->v->units[unit].part[part], group, params, false);
}

/* ZeRO-3: parameters that are gathered together, and reduced when a part has run backward. The kind
 * of the gather. */
static uint16_t share(struct ty_lowering *l, struct ty_unit *unit, uint32_t part,
                      enum ty_comm_group group)
{
    const struct ty_grad_unit *grads = &l->prices->grads.kind[unit->kind];
    const double params = ty_grads_gathered(grads, l->in->layout, group);
    const double trained = ty_grads_shared(grads, l->in->layout, group);
    if (params <= 0) {
        return TY_NONE;
    }
    const struct ty_priced_comm whole =
        ty_price_gather(l->in->layout, group, TY_PHASE_FORWARD, params);
    const uint16_t gather = ty_lower_is_shared(l, group) ? ty_lower_group_kind(l, &whole) : TY_NONE;
    if (trained > 0) {
        close_bucket(l, &unit->part[part], group, trained, unit->stays);
    }
    return gather;
}

static void make_unit(struct ty_lowering *l, struct ty_vstage *v, enum ty_unit_kind kind,
                      uint16_t layer)
{
    const struct ty_grad_unit *grads = &l->prices->grads.kind[kind];
    struct ty_unit *unit = &v->units[v->n_units];
    *unit = (struct ty_unit){
        .kind = kind, .layer = layer, .gather = TY_NONE, .gather_experts = TY_NONE};
    v->n_units++;
    for (unit->n_parts = 0; unit->n_parts < grads->n_parts; unit->n_parts++) {
        unit->part[unit->n_parts].part = grads->part[unit->n_parts];
    }
    unit->stays = ty_lower_stays(l, ty_lower_shard(l, unit));
    ty_lower_offload_unit(l, unit);
    if (l->zero->gather_in_passes && !ty_layout_gathers_modules(l->in->layout)) {
        /* kinds in the order of use */
        unit->gather = share(l, unit, 0, TY_GROUP_DATA);
        /* they are a module of their own, and done with before the rest is */
        unit->gather_experts = share(l, unit, unit->n_parts - 1, TY_GROUP_EXPERT_DATA);
    }
}

/* Those of even and odd buckets. */
static uint8_t event_of(bool stays, bool odd)
{
    const uint8_t even = stays ? TY_EVENT_STAYED : TY_EVENT_REDUCED;
    const uint8_t other = stays ? TY_EVENT_STAYED_ODD : TY_EVENT_REDUCED_ODD;
    return odd ? other : even;
}

/* Buckets take turns, from the last to the first. Before the first of a backward comes, as far as
 * this tells, another of its like. */
static void number_buckets(const struct ty_vstage *v)
{
    bool odd[2] = {false, false}; /* of those that leave the GPU, or of all; that stay */
    struct ty_grad_bucket *behind = NULL;
    for (uint32_t at = 0; at < 2 * v->n_units; at++) {
        struct ty_unit_part *part = &v->units[at / 2].part[at % 2];
        for (uint32_t i = part->n_buckets; i > 0; i--) {
            struct ty_grad_bucket *bucket = &part->bucket[i - 1];
            bucket->event = event_of(bucket->stays, odd[bucket->stays]);
            odd[bucket->stays] = !odd[bucket->stays];
            bucket->before = event_of(bucket->stays, odd[bucket->stays]);
            if (behind != NULL) {
                behind->before = bucket->event;
            }
            behind = bucket;
        }
    }
}

int ty_lower_units(struct ty_lowering *l, uint32_t stage, struct ty_vstage *v)
{
    const uint32_t stages = ty_sched_stages(&l->shape);
    const struct ty_layers layers = ty_layout_layers(l->in->layout, l->in->arch, stages, stage);
    const uint32_t most = ty_pass_units_most(l->in->arch, &layers);
    uint16_t *layer = ty_arena_array(l->arena, uint16_t, most);
    v->units = ty_arena_array(l->arena, struct ty_unit, most);
    v->kinds = ty_arena_array(l->arena, uint8_t, most);
    if (v->units == NULL || v->kinds == NULL || layer == NULL) {
        return ty_fail_memory(l->b.err);
    }
    const uint32_t n =
        ty_pass_units(l->in->arch, &layers, stage == 0, stage == stages - 1, v->kinds, layer);
    for (uint32_t i = 0; i < n; i++) {
        make_unit(l, v, (enum ty_unit_kind)v->kinds[i], layer[i]);
    }
    const struct ty_grad_stage own = {v->kinds, v->n_units};
    if (!l->zero->gather_in_passes || ty_layout_gathers_modules(l->in->layout)) {
        ty_grads_buckets(&l->prices->grads, l->in->layout, &own, bucket_of,
                         &(struct closing){l, v});
    }
    number_buckets(v);
    return ty_lower_route(l, v);
}
