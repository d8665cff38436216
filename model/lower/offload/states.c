/* states.c - states that live off the GPU: who moves what, and when.
 *
 *     d2h     |      g4  g3  g2  g1                         gradients, as buckets are reduced
 *     compute | ... B4  B3  B2  B1
 *     host    |                      A4  A3  A2  A1         the update, chunk by chunk
 *     h2d     |                          p4  p3  p2  p1     updated parameters
 *
 * (Ren et al. 2021, figure 4.) A chunk is a bucket of gradients: what was reduced together is
 * updated together. With the optimizer on NVMe the drive reads chunk i + 1 before it writes chunk
 * i, so three buffers are enough: one is read into, one updated, one written from
 *
 *     nvme    | r4 r3    w4 r2    w3 r1    w2 w1
 *     host    |    A4       A3       A2 A1
 *
 * (Rajbhandari et al. 2021, section 5.2). Parameters that live off the GPU come before every
 * use, unit by unit: read from the drive, over the GPU's own PCIe link, and the shards of all ranks
 * by all-gather (section 6.1, bandwidth-centric partitioning); how far ahead is a matter of
 * block.c. A fetch waits for the whole update of the step before.
 *
 * A delayed update (Ren et al. 2021, section 5.2) is issued at the beginning of the next step, and
 * runs during all of it: what it brings is waited for at the beginning of the one after that. */
#include "model/lower/offload.h"

#include <math.h>

/* ---- transfers and work of the host ----
 *
 * What moves between a GPU, the memory of its node and its drives, and what the
 * processors of the node do.
 *
 * What ranks share (the link of a few GPUs, memory, drives, processors) are links like any
 * (topology/fabric/tiers.h). Where links are not followed, all ranks of a node do the same at the
 * same time, and each has its part. */

/* Ranks on the node of the first one, of all stages. */
static uint32_t node_ranks(struct ty_lowering *l)
{
    const struct ty_grid *grid = &l->out->grid;
    uint32_t n = l->node_ranks;
    for (uint32_t rank = 0; rank < grid->n_ranks && l->node_ranks == 0; rank++) {
        n += ty_grid_node(grid, rank) == ty_grid_node(grid, 0);
    }
    l->node_ranks = n;
    return n;
}

/* Durations: alone, and next to the same of all ranks of the node, which divide what they share. */
static uint16_t add(struct ty_lowering *l, struct ty_kind *kind, struct ty_tier_move move,
                    double shared_Bps)
{
    const struct ty_program *p = l->b.program;
    for (uint32_t k = l->here.first_kind; k < p->n_kinds; k++) {
        const struct ty_kind *known = &p->kinds[k];
        if (known->name == kind->name && known->group == kind->group &&
            known->phase == kind->phase && !(known->bytes < kind->bytes) &&
            !(known->bytes > kind->bytes)) {
            return (uint16_t)k;
        }
    }
    const double alone_Bps = ty_tiers_alone_Bps(&l->out->fabric, move);
    kind->dur = ty_lower_ps(l, kind->bytes / fmin(shared_Bps, alone_Bps));
    kind->alone = ty_lower_ps(l, kind->bytes / alone_Bps);
    ty_lower_tier_flows(l, kind, move);
    return ty_lower_add_kind(l, kind);
}

static uint16_t lower_transfer_kind(struct ty_lowering *l, const char *name, enum ty_phase phase,
                                    double bytes, enum ty_tier from, enum ty_tier to)
{
    static const char *const ways[][3] = {[TY_TIER_GPU] = {NULL, "d2h", NULL},
                                          [TY_TIER_HOST] = {"h2d", NULL, "write"},
                                          [TY_TIER_NVME] = {NULL, "read", NULL}};
    const struct ty_host *host = &l->in->cluster->host;
    const struct ty_nvme *nvme = &l->in->cluster->nvme;
    const double ranks = node_ranks(l), memory = host->bandwidth / ranks;
    const double rate = from == TY_TIER_NVME ? nvme->read / ranks
                        : to == TY_TIER_NVME ? nvme->write / ranks
                                             : host->link / fmin(host->gpus_per_link, ranks);
    struct ty_kind kind = {.name = name,
                           .category = TY_CAT_OFFLOAD,
                           .phase = (uint8_t)phase,
                           .group = ways[from][to],
                           .bytes = bytes};
    return add(l, &kind, (struct ty_tier_move){from, to}, fmin(rate, memory));
}

/* What moves between memories, for each member, and what the processors of a
 * node do for it: they update `params` parameters. */
static uint16_t lower_host_kind(struct ty_lowering *l, const char *name, double params)
{
    const struct ty_tier_move update = {TY_TIER_HOST, TY_TIER_HOST};
    struct ty_kind kind = {.name = name,
                           .category = TY_CAT_HOST,
                           .phase = TY_PHASE_STEP,
                           .group = "host",
                           .bytes = TY_HOST_UPDATE_B * params};
    return add(l, &kind, update, ty_tiers_alone_Bps(&l->out->fabric, update) / node_ranks(l));
}

/* ---- drives of Gemini ----
 *
 * Gemini: what the memory of a node has no room for lives on its drives.
 *
 * A rank's part of that memory (sim/run/rooms.h) keeps what crosses a drive most often for its
 * bytes; the rest goes:
 *
 *     1. the optimizer's state, chunk by chunk, as many as have to: it is read and written once in
 *        a step, 2 bytes for each of room. The order of updates repeats, and in such an order what
 *        was used last is used again latest: Belady's rule keeps the same chunks in every step, so
 *        which they are is settled beforehand.
 *     2. where that is not enough, 16-bit parameters: read for every use that does not find them on
 *        the GPU, and written once. In their place are gradients between backward and update, which
 *        are written and read, too: 4 bytes and more for each of room.
 *
 * Chunks that go are spread evenly over those of the rank: the drives read and write some while the
 * processors update others, and the depth of prefetching hides a read behind units that need none.
 * Buffers in between are those of a system that has everything on drives. */

/* Parameters of a rank whose optimizer's state goes, and of these, those whose 16 bits go. */
struct going {
    double states, weights;
};

/* `extra` bytes for each parameter are gradients, which stay. */
static struct going find_going(const struct ty_lowering *l, const struct ty_vstage *const *v,
                               uint32_t n, double away, double extra)
{
    const double state = ty_memory_optimizer_bytes(l->in->layout);
    const double weight = ty_memory_weight_bytes(l->in->layout);
    struct ty_homes to = *ty_lower_homes(l);
    struct going going = {0, 0};
    double short_B = (state + weight + extra) * away - l->in->room[l->here.rank].host_B;
    if (short_B <= 0) {
        return going;
    }
    to.optimizer = TY_HOME_NVME;
    const double buffers_B = ty_lower_pinned(l, &to, v, n);
    going.states = (short_B + buffers_B) / state;
    if (going.states <= away) {
        return going;
    }
    to.parameters = TY_HOME_NVME;
    short_B += ty_lower_pinned(l, &to, v, n) - state * away;
    return (struct going){away, fmin(away, short_B / weight)};
}

/* Chunks so far, and those of them that went: never fewer than their share. */
struct spread {
    double share, all, gone;
};

static bool goes(struct spread *s, double params)
{
    s->all += params;
    const bool is = s->gone < s->share * s->all;
    s->gone += is ? params : 0;
    return is;
}

/* What a rank has of the parameters of a bucket; of a unit. */
static double lower_bucket_shard(const struct ty_lowering *l, const struct ty_grad_bucket *bucket)
{
    const struct ty_layout *layout = l->in->layout;
    return bucket->params / (bucket->group == TY_GROUP_EXPERT_DATA ? ty_layout_expert_shards(layout)
                                                                   : ty_layout_shards(layout));
}

static void lower_offload_far(struct ty_lowering *l, struct ty_grad_bucket *bucket,
                              struct ty_lower_far far)
{
    if (far.grads_B > 0) {
        bucket->spill = lower_transfer_kind(l, "gradients", TY_PHASE_BACKWARD, far.grads_B,
                                            TY_TIER_HOST, TY_TIER_NVME);
    }
    if (far.state_B + far.grads_B > 0) {
        bucket->read = lower_transfer_kind(l, "optimizer state", TY_PHASE_STEP,
                                           far.state_B + far.grads_B, TY_TIER_NVME, TY_TIER_HOST);
    }
    if (far.state_B + far.weights_B > 0) {
        bucket->write =
            lower_transfer_kind(l, "optimizer state", TY_PHASE_STEP, far.state_B + far.weights_B,
                                TY_TIER_HOST, TY_TIER_NVME);
    }
}

/* Parameters of a unit's shard, frozen ones by their bytes: what comes before each use. */
static double brought(const struct ty_lowering *l, const struct ty_unit *unit)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_grad_unit *grads = &l->prices->grads.kind[unit->kind];
    return ty_grads_gathered(grads, layout, TY_GROUP_DATA) / ty_layout_shards(layout) +
           ty_grads_gathered(grads, layout, TY_GROUP_EXPERT_DATA) / ty_layout_expert_shards(layout);
}

static void lower_offload_read(struct ty_lowering *l, struct ty_unit *unit)
{
    const double bytes = ty_memory_weight_bytes(l->in->layout) * brought(l, unit);
    unit->read =
        lower_transfer_kind(l, "parameters", TY_PHASE_FORWARD, bytes, TY_TIER_NVME, TY_TIER_HOST);
}

/* `grads`: bytes for each parameter that go with its 16 bits. */
static void send(struct ty_lowering *l, struct ty_unit *unit, bool weights, double grads)
{
    const double state = ty_memory_optimizer_bytes(l->in->layout);
    const double weight = ty_memory_weight_bytes(l->in->layout);
    for (uint32_t k = 0; k < unit->n_parts; k++) {
        for (uint32_t i = 0; i < unit->part[k].n_buckets; i++) {
            const double params = lower_bucket_shard(l, &unit->part[k].bucket[i]);
            lower_offload_far(l, &unit->part[k].bucket[i],
                              (struct ty_lower_far){state * params, weights ? grads * params : 0,
                                                    weights ? weight * params : 0});
        }
    }
    if (weights) {
        lower_offload_read(l, unit);
    }
}

static void bill(const struct ty_lowering *l, struct going gone, double buffers_B,
                 struct ty_stage_plan *plan)
{
    const double states_B = ty_memory_optimizer_bytes(l->in->layout) * gone.states;
    const double weights_B = ty_memory_weight_bytes(l->in->layout) * gone.weights;
    plan->away.nvme.optimizer = states_B;
    plan->away.host.optimizer = fmax(0, plan->away.host.optimizer - states_B);
    plan->away.nvme.weights = weights_B;
    plan->away.host.weights = fmax(0, plan->away.host.weights - weights_B);
    plan->pinned_B += buffers_B;
}

void ty_lower_drives(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n,
                     struct ty_stage_plan *plan)
{
    const double away = plan->away.host.weights / ty_memory_weight_bytes(l->in->layout);
    const double grads = plan->away.host.grads > 0 ? 0 : TY_MOVED_BYTES;
    struct ty_homes to = *ty_lower_homes(l);
    if (l->in->room == NULL || away <= 0) {
        return;
    }
    const struct going going = find_going(l, v, n, away, TY_MOVED_BYTES - grads);
    struct spread states = {.share = going.states / away},
                  weights = {.share = going.weights / away};
    for (uint32_t s = 0; s < n && going.states > 0; s++) {
        for (uint32_t u = 0; u < v[s]->n_units; u++) {
            struct ty_unit *unit = &v[s]->units[u];
            const double params = unit->stays ? 0 : ty_lower_shard(l, unit);
            if (params > 0 && goes(&states, params)) {
                send(l, unit, goes(&weights, params), grads);
            }
        }
    }
    l->here.chunks.spills = weights.gone > 0 && grads > 0;
    to.optimizer = states.gone > 0 ? TY_HOME_NVME : to.optimizer;
    to.parameters = weights.gone > 0 ? TY_HOME_NVME : to.parameters;
    bill(l, (struct going){states.gone, weights.gone}, ty_lower_pinned(l, &to, v, n), plan);
}

bool ty_lower_is_delayed(const struct ty_lowering *l)
{
    return l->in->layout->offload_delay;
}

/* ---- kinds ---- */

double ty_lower_shard(const struct ty_lowering *l, const struct ty_unit *unit)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_grad_unit *grads = &l->prices->grads.kind[unit->kind];
    return ty_grads_shared(grads, layout, TY_GROUP_DATA) / ty_layout_shards(layout) +
           ty_grads_shared(grads, layout, TY_GROUP_EXPERT_DATA) / ty_layout_expert_shards(layout);
}

double ty_lower_pinned(const struct ty_lowering *l, const struct ty_homes *home,
                       const struct ty_vstage *const *v, uint32_t n)
{
    double chunk = 0, most = 0;
    for (uint32_t s = 0; s < n && ty_lower_updates_away(l); s++) {
        for (uint32_t u = 0; u < v[s]->n_units; u++) {
            const struct ty_unit *unit = &v[s]->units[u];
            most = fmax(most, brought(l, unit));
            for (uint32_t k = 0; k < unit->n_parts; k++) {
                for (uint32_t i = 0; i < unit->part[k].n_buckets; i++) {
                    chunk = fmax(chunk, lower_bucket_shard(l, &unit->part[k].bucket[i]));
                }
            }
        }
    }
    return ty_memory_pinned(l->in->layout, home, chunk, most);
}

void ty_lower_offload_bucket(struct ty_lowering *l, struct ty_grad_bucket *bucket)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_homes *home = &layout->home;
    const double params = home->share * lower_bucket_shard(l, bucket);
    const double grads_B = TY_MOVED_BYTES * params;
    const double weights_B = ty_memory_weight_bytes(layout) * params;
    const double state_B = ty_memory_optimizer_bytes(layout) * params;
    const bool drive = home->optimizer == TY_HOME_NVME;
    bucket->down = bucket->spill = bucket->read = bucket->update = bucket->write = bucket->up =
        TY_NONE;
    if (home->optimizer == TY_HOME_GPU || bucket->stays) {
        return;
    }
    bucket->down =
        lower_transfer_kind(l, "gradients", TY_PHASE_BACKWARD, grads_B, TY_TIER_GPU, TY_TIER_HOST);
    bucket->update = lower_host_kind(l, "host optimizer", params);
    lower_offload_far(
        l, bucket,
        (struct ty_lower_far){.state_B = drive ? state_B : 0,
                              .grads_B = drive ? grads_B : 0,
                              .weights_B = home->parameters == TY_HOME_NVME ? weights_B : 0});
    if (home->parameters == TY_HOME_GPU) {
        bucket->up = lower_transfer_kind(l, "parameters", TY_PHASE_STEP, weights_B, TY_TIER_HOST,
                                         TY_TIER_GPU);
    }
}

static void put(struct ty_lowering *l, uint16_t kind, enum ty_stream stream, uint16_t layer,
                uint8_t record, const uint8_t *waits, uint32_t n_waits)
{
    struct ty_op op = TY_OP_INIT;
    if (kind == TY_NONE) {
        return;
    }
    op.kind = kind;
    op.stream = (uint8_t)stream;
    op.layer = layer;
    op.record = record;
    ty_lower_emit(l, op, waits, n_waits);
}

/* From a drive to the node's memory, where the unit before the last one has left its buffer. */
static void recall(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u)
{
    const uint8_t waits[] = {TY_EVENT_COMPUTE, TY_EVENT_STOWED, TY_EVENT_STOWED_ODD,
                             (uint8_t)(TY_EVENT_BACK + u % 2)};
    put(l, v->units[u].recall, TY_STREAM_NVME, v->units[u].layer, TY_EVENT_RECALLED, waits, 4);
}

void ty_lower_offload_unit(struct ty_lowering *l, struct ty_unit *unit)
{
    const struct ty_layout *layout = l->in->layout;
    const double bytes = ty_memory_weight_bytes(layout) * brought(l, unit);
    const double kept = ty_memory_kept(&l->prices->units->kind[unit->kind]) / l->shape.slices;
    unit->read = unit->fetch = unit->stash = unit->stow = unit->recall = unit->back = TY_NONE;
    if (layout->home.activations != TY_HOME_GPU && kept > 0) {
        unit->stash = lower_transfer_kind(l, "activations", TY_PHASE_FORWARD, kept, TY_TIER_GPU,
                                          TY_TIER_HOST);
        unit->back = lower_transfer_kind(l, "activations", TY_PHASE_BACKWARD, kept, TY_TIER_HOST,
                                         TY_TIER_GPU);
    }
    if (layout->home.activations == TY_HOME_NVME && kept > 0) {
        unit->stow = lower_transfer_kind(l, "activations", TY_PHASE_FORWARD, kept, TY_TIER_HOST,
                                         TY_TIER_NVME);
        unit->recall = lower_transfer_kind(l, "activations", TY_PHASE_BACKWARD, kept, TY_TIER_NVME,
                                           TY_TIER_HOST);
    }
    if (layout->home.parameters == TY_HOME_GPU || bytes <= 0 || unit->stays) {
        return;
    }
    unit->fetch =
        lower_transfer_kind(l, "parameters", TY_PHASE_FORWARD, bytes, TY_TIER_HOST, TY_TIER_GPU);
    if (layout->home.parameters == TY_HOME_NVME) {
        lower_offload_read(l, unit);
    }
}

/* ---- operations ---- */

void ty_lower_stash(struct ty_lowering *l, const struct ty_grad_bucket *bucket, uint16_t layer,
                    uint8_t summed, uint8_t record)
{
    put(l, bucket->down, TY_STREAM_D2H, layer, record, &summed, 1);
    if (l->emit.last) {
        put(l, bucket->spill, TY_STREAM_NVME, layer, TY_NO_EVENT, &record, 1);
    }
}

uint8_t ty_lower_fetch(struct ty_lowering *l, const struct ty_block_want *want, uint32_t u,
                       uint8_t record)
{
    const struct ty_unit *unit = &want->v->units[u];
    const uint8_t own = ty_layout_has_copies(l->in->layout) ? (uint8_t)TY_EVENT_FETCHED : record;
    const uint8_t from[] = {TY_EVENT_COMPUTE, TY_EVENT_UPDATED}, read = TY_EVENT_READ;
    if (!ty_lower_fetches(want, u)) {
        return TY_EVENT_COMPUTE;
    }
    put(l, unit->read, TY_STREAM_NVME, unit->layer, TY_EVENT_READ, from, 2);
    if (unit->read != TY_NONE) {
        put(l, unit->fetch, TY_STREAM_H2D, unit->layer, own, &read, 1);
    } else {
        put(l, unit->fetch, TY_STREAM_H2D, unit->layer, own, from, 2);
    }
    return own;
}

/* ---- activations ---- */

void ty_lower_stash_room(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u)
{
    if (v->units[u].stash != TY_NONE) {
        ty_lower_need(l, (uint8_t)(TY_EVENT_STASHED + u % 2));
    }
}

void ty_lower_stash_kept(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u)
{
    const struct ty_unit *unit = &v->units[u];
    const uint8_t stashed = (uint8_t)(TY_EVENT_STASHED + u % 2);
    const uint8_t stowed = (uint8_t)(TY_EVENT_STOWED + u % 2);
    const uint8_t waits[] = {TY_EVENT_COMPUTE, stowed}; /* its buffer is free again */
    put(l, unit->stash, TY_STREAM_D2H, unit->layer, stashed, waits, unit->stow != TY_NONE ? 2 : 1);
    put(l, unit->stow, TY_STREAM_NVME, unit->layer, stowed, &stashed, 1);
}

static void bring(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u)
{
    const struct ty_unit *unit = &v->units[u];
    const uint8_t waits[] = {TY_EVENT_COMPUTE, TY_EVENT_STASHED, TY_EVENT_STASHED_ODD};
    const uint8_t recalled[] = {TY_EVENT_COMPUTE, TY_EVENT_RECALLED};
    const bool far = unit->recall != TY_NONE;
    put(l, unit->back, TY_STREAM_H2D, unit->layer, (uint8_t)(TY_EVENT_BACK + u % 2),
        far ? recalled : waits, far ? 2 : 3);
}

void ty_lower_bring_back(struct ty_lowering *l, const struct ty_vstage *v, uint32_t u)
{
    if (u + 1 == v->n_units) {
        recall(l, v, u);
        bring(l, v, u);
        if (u > 0) {
            recall(l, v, u - 1);
        }
    }
    if (u > 0) {
        bring(l, v, u - 1);
    }
    if (u > 1) {
        recall(l, v, u - 2);
    }
    if (v->units[u].back != TY_NONE) {
        ty_lower_need(l, (uint8_t)(TY_EVENT_BACK + u % 2));
    }
}

double ty_lower_stash_buffers(const struct ty_lowering *l, const struct ty_vstage *const *v,
                              uint32_t n)
{
    double most = 0;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t u = 0; u < v[s]->n_units; u++) {
            most = fmax(most, ty_memory_kept(&l->prices->units->kind[v[s]->units[u].kind]));
        }
    }
    return l->prices->units->stashed ? 2 * most / l->shape.slices : 0;
}

/* Bytes that a forward of a virtual stage keeps. */
static double kept_of(const struct ty_lowering *l, const struct ty_pass *pass)
{
    const struct ty_vstage *v =
        &l->vstage[pass->direction * ty_sched_stages(&l->shape) + pass->stage];
    double sum = 0;
    for (uint32_t u = 0; u < v->n_units; u++) {
        sum += ty_memory_kept(&l->prices->units->kind[v->units[u].kind]) / l->shape.slices;
    }
    return sum;
}

double ty_lower_stashed(const struct ty_lowering *l, const struct ty_pass *pass, uint32_t n)
{
    double now = 0, most = 0;
    for (uint32_t i = 0; i < n && l->prices->units->stashed; i++) {
        const bool last = pass[i].phase == TY_PHASE_BACKWARD || pass[i].phase == TY_PHASE_WGRAD;
        now += pass[i].phase == TY_PHASE_FORWARD ? kept_of(l, &pass[i])
               : last                            ? -kept_of(l, &pass[i])
                                                 : 0;
        most = fmax(most, now);
    }
    return most;
}

/* ---- the update ---- */

/* Buckets of all stages, in the order in which they are reduced. */
struct chunks {
    const struct ty_vstage *const *v;
    uint32_t n, stage, at, bucket; /* next one */
};

static const struct ty_grad_bucket *next_chunk(struct chunks *c, uint16_t *layer)
{
    for (; c->stage < c->n; c->stage++, c->at = 0) {
        const struct ty_vstage *v = c->v[c->stage];
        for (; c->at < 2 * v->n_units; c->at++, c->bucket = 0) {
            const uint32_t at = 2 * v->n_units - 1 - c->at;
            const struct ty_unit_part *part = &v->units[at / 2].part[at % 2];
            if (c->bucket < part->n_buckets) {
                *layer = v->units[at / 2].layer;
                return &part->bucket[c->bucket++];
            }
        }
    }
    return NULL;
}

/* The next one whose state is on a drive is read. */
static void read_ahead(struct ty_lowering *l, struct chunks *chunks)
{
    uint16_t layer = TY_NONE;
    const struct ty_grad_bucket *chunk = next_chunk(chunks, &layer);
    while (chunk != NULL && chunk->read == TY_NONE) {
        chunk = next_chunk(chunks, &layer);
    }
    if (chunk != NULL) {
        put(l, chunk->read, TY_STREAM_NVME, layer, TY_EVENT_READ, NULL, 0);
    }
}

/* Its gradients are there, and the norm of all of them is known. */
static void update(struct ty_lowering *l, const struct ty_grad_bucket *chunk, uint16_t layer)
{
    const uint8_t waits[] = {TY_EVENT_REDUCED, TY_EVENT_NORM, TY_EVENT_READ};
    put(l, chunk->update, TY_STREAM_HOST, layer, TY_EVENT_UPDATED, waits,
        chunk->read != TY_NONE ? 3 : 2);
}

/* What becomes of it once it is updated: on the GPU the shards of all ranks come together. */
static void give_back(struct ty_lowering *l, const struct ty_grad_bucket *chunk, uint16_t layer)
{
    const uint8_t updated = TY_EVENT_UPDATED;
    put(l, chunk->up, TY_STREAM_H2D, layer, TY_EVENT_FETCHED, &updated, 1);
    if (!ty_lower_is_delayed(l)) {
        ty_lower_regain_bucket(l, chunk, layer);
    }
}

void ty_lower_update(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    struct chunks chunks = {.v = v, .n = n}, ahead = chunks;
    const uint8_t updated = TY_EVENT_UPDATED;
    const struct ty_grad_bucket *chunk;
    uint16_t layer = TY_NONE;
    if (!ty_lower_updates_away(l)) {
        return;
    }
    read_ahead(l, &ahead);
    while ((chunk = next_chunk(&chunks, &layer)) != NULL) {
        update(l, chunk, layer);
        if (chunk->read != TY_NONE) { /* read before the one at hand is written */
            read_ahead(l, &ahead);
        }
        put(l, chunk->write, TY_STREAM_NVME, layer, TY_NO_EVENT, &updated, 1);
        give_back(l, chunk, layer);
    }
}
