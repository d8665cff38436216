/* passes.c - an order of slots becomes passes, and each pass gets its block: made for the first of
 * those that are alike. */
#include "model/lower/offload.h"

struct ty_block_want ty_lower_want(const struct ty_lowering *l, const struct ty_slot *slot,
                                   bool edge, enum ty_found found)
{
    return (struct ty_block_want){.v = &l->vstage[ty_lower_vstage_of(l, slot)],
                                  .phase = (enum ty_phase)slot->phase,
                                  .slice = slot->slice,
                                  .edge = edge,
                                  .found = found};
}

/* Where a block is remembered: [vstage][phase][slice][edge][found][partner + 1][pack]. */
static size_t place_of(const struct ty_lowering *l, const struct ty_slot *slot,
                       const struct ty_slot *partner, const struct ty_block_want *want)
{
    const uint32_t other = partner == NULL ? 0 : ty_lower_vstage_of(l, partner) + 1;
    size_t index = ty_lower_vstage_of(l, slot) * TY_N_PHASES + slot->phase;
    index = ((index * l->shape.slices + slot->slice) * 2 + want->edge) * TY_N_FOUND + want->found;
    return (index * l->n_partners + other) * l->n_packs + want->pack;
}

/* What is special about a pass of an order. */
struct special {
    bool edge;
    enum ty_found found;
    uint32_t pack;
    const bool *miss;
};

static struct ty_block_want want_of(const struct ty_lowering *l, const struct ty_slot *slot,
                                    const struct special *special)
{
    struct ty_block_want want = ty_lower_want(l, slot, special->edge, special->found);
    want.pack = special->pack;
    want.miss = special->miss;
    return want;
}

/* The block of a pass that brings some of its parameters: that of one that brings the same, or a
 * new one. `place`: where it would be remembered if it brought all. */
static uint32_t block_that_brings(struct ty_lowering *l, const struct ty_block_want *want,
                                  size_t place)
{
    struct ty_lower_brought *b = l->here.chunks.brought;
    while (b != NULL && (b->miss != want->miss || b->place != place)) {
        b = b->next;
    }
    if (b != NULL) {
        return b->block;
    }
    b = ty_arena_array(l->arena, struct ty_lower_brought, 1);
    if (b == NULL) {
        ty_build_no_memory(&l->b);
        return 0;
    }
    *b = (struct ty_lower_brought){l->here.chunks.brought, want->miss, place,
                                   ty_lower_block(l, want)};
    l->here.chunks.brought = b;
    return b->block;
}

/* Blocks are shared by all passes that are alike. Those that differ in nothing but what does not
 * matter in this layout are made once, and copied. */
static uint32_t block_of(struct ty_lowering *l, const struct ty_slot *slot,
                         const struct ty_slot *partner, const struct special *special)
{
    struct ty_block_want want = want_of(l, slot, special);
    const size_t place = place_of(l, slot, partner, &want);
    uint32_t *block = &l->here.block[place];
    if (*block != UINT32_MAX) {
        return *block;
    }
    want.partner = partner == NULL ? NULL : &l->vstage[ty_lower_vstage_of(l, partner)];
    ty_lower_plain(l, &want);
    if (want.miss != NULL) {
        return block_that_brings(l, &want, place);
    }
    uint32_t *like = &l->here.like[place_of(l, slot, partner, &want)];
    *block = *like != UINT32_MAX ? ty_lower_again(l, *like) : ty_lower_block(l, &want);
    *like = *block;
    return *block;
}

/* ---- passes ---- */

/* Orders of all ranks, over all steps where a schedule does not flush. */
int ty_lower_orders(struct ty_lowering *l, struct ty_slots *slots)
{
    struct ty_sched_shape shape = l->shape;
    const struct ty_layer_costs *layer = &l->prices->layer;
    const double layers = (double)l->in->arch->layers / ty_sched_stages(&shape);
    const struct ty_sched_times times = {
        .forward = layer->forward.seconds * layers,
        .backward = (layer->input.seconds + layer->weight.seconds) * layers,
        .input = layer->input.seconds * layers,
        .weight = layer->weight.seconds * layers,
        .overlap = -1};
    if (l->in->schedule->custom != NULL) {
        *slots = l->in->schedule->custom->slots;
        return 0;
    }
    if (l->sched->asynchronous) {
        shape.m *= l->in->steps;
    }
    const int rc = ty_sched_slots(l->sched, &shape, &times, slots, l->arena, l->b.err);
    if (rc == 0 && ty_sched_pairs(l->in->schedule)) {
        ty_slots_pair(slots);
    }
    return rc;
}

/* All of it but its block. */
static struct ty_pass pass_of(const struct ty_lowering *l, const struct ty_slot *slot,
                              uint32_t step)
{
    const uint32_t m = l->shape.m, q = l->shape.slices;
    /* micro-batches of the second direction are numbered after those of the first */
    const uint32_t base = slot->direction * (m / 2);
    return (struct ty_pass){.seq = (step * m + slot->mb) * q + slot->slice,
                            .mb = (uint16_t)(base + slot->mb % m),
                            .stage = slot->stage,
                            .step = (uint16_t)(step + slot->mb / m),
                            .phase = slot->phase,
                            .direction = slot->direction};
}

static void add_pass(struct ty_lowering *l, const struct ty_slot *slot,
                     const struct ty_slot *partner, uint32_t step, const struct special *special)
{
    const uint32_t m = l->shape.m, q = l->shape.slices;
    struct ty_pass pass = pass_of(l, slot, step);
    pass.block = block_of(l, slot, partner, special);
    if (partner != NULL) {
        pass.seq2 = (step * m + partner->mb) * q + partner->slice;
        pass.mb2 = (uint16_t)(partner->direction * (m / 2) + partner->mb % m);
    }
    ty_build_pass(&l->b, &pass);
}

static void add_step(struct ty_lowering *l, uint32_t block, uint32_t step)
{
    ty_build_pass(&l->b, &(struct ty_pass){.block = block,
                                           .stage = (uint16_t)l->here.rank,
                                           .step = (uint16_t)step,
                                           .phase = TY_PHASE_STEP});
}

/* A forward and a backward over each other. */
static void add_pair(struct ty_lowering *l, const struct ty_slot *slot, uint32_t step,
                     const struct special special[2])
{
    const struct ty_block_want want[] = {want_of(l, &slot[0], &special[0]),
                                         want_of(l, &slot[1], &special[1])};
    struct ty_pass pass[] = {pass_of(l, &slot[0], step), pass_of(l, &slot[1], step)};
    ty_lower_pair(l, want, pass);
}

/* A slot: a pass, or a pair of them. */
static void add_slot(struct ty_lowering *l, const struct ty_slot *slot, bool pair, uint32_t step,
                     const struct special special[2])
{
    if (pair && l->weaves) {
        add_pair(l, slot, step, special);
        return;
    }
    add_pass(l, &slot[0], pair ? &slot[1] : NULL, step, &special[0]);
    if (pair) {
        add_pass(l, &slot[1], &slot[0], step, &special[1]);
    }
}

/* Whose documents a pass works on; weight gradients are alike. */
static uint32_t pack_of(const struct ty_lowering *l, const struct ty_slot *slot, uint32_t step)
{
    const struct ty_pass pass = pass_of(l, slot, step);
    return l->n_packs == 1 || slot->phase == TY_PHASE_WGRAD
               ? 0
               : pass.step * l->in->layout->micro_batches + pass.mb;
}

/* Of `n` passes, one or a pair, from number i on. */
static void find_special(const struct ty_lowering *l, const struct ty_rank_slots *order,
                         uint32_t step, const bool *edge, const enum ty_found *found, uint32_t i,
                         uint32_t n, struct special special[2])
{
    for (uint32_t k = 0; k < n; k++) {
        special[k] =
            (struct special){ty_lower_is_edge(l, order, edge, i + k), found[i + k],
                             pack_of(l, &order->slot[i + k], step),
                             l->here.chunks.miss != NULL ? l->here.chunks.miss[i + k] : NULL};
    }
}

/* How large the program is going to be, known after the passes of a rank's first step, which begin
 * at `first`: all steps run the same blocks. Whoever lowers may stop it there (struct
 * ty_lower_input, allow); else there is room for the passes of all ranks and steps in one piece,
 * where an array that doubles would leave its smaller selves behind. */
static int estimate_size(struct ty_lowering *l, uint32_t first, uint32_t steps)
{
    const struct ty_program *p = l->b.program;
    const double made = p->n_passes - first;
    uint64_t sum = 0;
    for (uint32_t i = first; i < p->n_passes; i++) {
        sum += p->blocks[p->passes[i].block].n_ops;
    }
    const double ops = (double)sum;
    l->size.ops += ops * steps;
    l->size.most = ops * steps > l->size.most ? ops * steps : l->size.most;
    l->size.passes += made * steps;
    const double copies = ty_sched_directions(l->sched->placement);
    l->size.share += l->out->stage[l->here.rank].n_layers / (copies * l->in->arch->layers);
    l->size.members =
        (l->shapes.shape == NULL ? l->members : l->most_members) * l->out->window.times;
    l->size.flows = p->n_flows > 0;
    const int rc = l->in->allow != NULL ? l->in->allow(l->in->allow_arg, &l->size, l->b.err) : 0;
    /* every rank has about as many; what is lacking grows as it always does */
    const double all = l->size.passes / (l->here.rank + 1.0) * l->shape.p - p->n_passes;
    return rc < 0 || l->here.rank > 0 ? rc : ty_build_reserve(&l->b, all > 0 ? (size_t)all : 0);
}

/* The order of one step, or of all steps of a schedule without flush. An asynchronous schedule
 * updates after the last backward of each step (PipeDream-2BW), or after every one (PipeDream,
 * whose steps are single micro-batches). */
int ty_lower_passes(struct ty_lowering *l, const struct ty_rank_slots *order, uint32_t block)
{
    const uint32_t steps = l->sched->asynchronous ? 1 : l->in->steps;
    const bool *edge = ty_lower_edges(l, order, l->shape.m);
    const enum ty_found *found = edge == NULL ? NULL : ty_lower_gathered_at_pass(l, order, edge);
    const uint32_t first = l->b.program->n_passes;
    int rc = found == NULL ? ty_fail_memory(l->b.err) : ty_build_reserve(&l->b, order->n + 1);
    for (uint32_t step = 0; step < steps && rc == 0; step++) {
        ty_lower_own_begin(l);
        for (uint32_t i = 0; i < order->n; i++) {
            const struct ty_slot *slot = &order->slot[i];
            const bool pair = slot->paired && i + 1 < order->n;
            struct special special[2] = {{.edge = false}};
            find_special(l, order, step, edge, found, i, pair ? 2 : 1, special);
            add_slot(l, slot, pair, step, special);
            i += pair ? 1 : 0;
            ty_lower_own(l, order, i + 1);
            if (l->sched->asynchronous && edge[i] && slot->phase != TY_PHASE_FORWARD) {
                add_step(l, block, slot->mb / l->shape.m);
            }
        }
        if (!l->sched->asynchronous) {
            add_step(l, block, step);
        }
        rc = step == 0 ? estimate_size(l, first, steps) : 0;
    }
    return rc;
}
