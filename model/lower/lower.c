/* lower.c - the outline: gangs, links, blocks, and the order of passes.
 *
 * Members of a gang are numbered tensor rank first, then context, then data rank, whatever the
 * order of the grid: groups inside a gang are then (stride, count) pairs. */
#include "model/lower/internal.h"

#include <math.h>
#include <string.h>

#include "model/lower/offload.h"
#include "model/lower/stages.h"
#include "model/lower/window.h"
#include "sim/base/noise.h"

/* ---- groups of ranks, and meetings of pipeline ranks ----
 *
 * Who talks to whom: groups of ranks, and meetings of pipeline ranks. */

static uint16_t index16(int index)
{
    return index < 0 ? 0 : (uint16_t)index;
}

/* A group of the gang, of which the program may have a part. Returns its index. */
static uint16_t add_group(struct ty_lowering *l, struct ty_group group)
{
    const uint32_t parts = ty_lower_parts(l, &group);
    group.count /= parts;
    group.stride =
        l->window.seen != NULL && group.count == 1 ? 1 : group.stride; /* far from nobody */
    const uint16_t index = index16(ty_build_group(&l->b, &group));
    if (l->window.seen != NULL) { /* those of layouts, and two for norms */
        l->out->window.spread[index] = parts > 1;
    }
    return index;
}

/* Pipeline ranks of different shape sum the norm over all ranks. */
static uint16_t meeting_of_all(struct ty_lowering *l, const char *name)
{
    const struct ty_meet meet = {
        .name = name, .group = TY_NONE, .n_gangs = l->shape.p, .n_members = l->out->grid.n_ranks};
    return l->in->schedule->barrier && !l->sched->asynchronous
               ? index16(ty_build_meet(&l->b, &meet))
               : TY_NONE;
}

/* Where a norm is summed over n neighbours of every pipeline rank. */
static uint16_t norm_meeting(struct ty_lowering *l, const char *name, uint32_t n)
{
    if (l->shapes.shape != NULL) {
        return meeting_of_all(l, name);
    }
    const uint16_t group = add_group(l, (struct ty_group){"world", 1, n});
    if (n * l->shape.p == 1 || !l->in->schedule->barrier || l->sched->asynchronous) {
        return TY_NONE;
    }
    return index16(ty_build_meet(
        &l->b, &(struct ty_meet){.name = name, .group = group, .n_gangs = l->shape.p}));
}

/* Whom the gradient norm is summed over: shards differ between ranks, copies do not. That of
 * experts is a sum of its own, over the ranks that have one copy of them. */
static void norm_meetings(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const uint32_t copy = layout->tensor * ty_layout_shards(layout);
    l->links.norm_meet = norm_meeting(l, "gradient norm", layout->zero > 0 ? copy : layout->tensor);
    l->links.expert_norm_meet =
        ty_layout_experts_apart(layout)
            ? norm_meeting(l, "gradient norm of experts",
                           layout->zero > 0 ? copy : layout->expert * layout->expert_tensor)
            : TY_NONE;
}

static void lower_groups(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        const struct ty_comm_span span = ty_comm_span(layout, &l->out->grid, g);
        if (g >= TY_GROUP_CONTEXT && span.count == 1) { /* of a kind that is not there */
            l->links.group[g].link = TY_NONE;
            continue;
        }
        const bool shard = g == TY_GROUP_DATA && ty_layout_replicas(layout) > 1;
        const struct ty_group group = {shard ? "shard" : ty_comm_group_name(g), span.stride,
                                       span.count};
        l->links.group[g].link = add_group(l, group);
        l->links.group[g].times = ty_lower_parts(l, &group);
    }
}

static void lower_meets(struct ty_lowering *l)
{
    norm_meetings(l);
    l->links.tied_meet = TY_NONE;
    /* a tied embedding, and one that predicts further tokens, has two homes where first and last
     * stage sit on different ranks */
    if ((l->in->arch->tied || l->in->arch->mtp > 0) && l->shape.p > 1 &&
        !ty_arch_freezes(l->in->arch, TY_FREEZE_EMBEDDING) &&
        l->sched->placement == TY_PLACE_LOOPED) {
        l->links.tied_meet = index16(ty_build_meet(
            &l->b,
            &(struct ty_meet){.name = "tied embedding gradients", .group = TY_NONE, .n_gangs = 2}));
    }
}

bool ty_lower_is_shared(const struct ty_lowering *l, enum ty_comm_group group)
{
    const uint16_t link = l->links.group[group].link;
    return link != TY_NONE && l->b.program->groups[link].count * l->links.group[group].times > 1;
}

/* Two-way schedules: rank r and rank p - 1 - r hold the same two stages. */
static int lower_mirrors(struct ty_lowering *l)
{
    const uint32_t p = l->shape.p;
    if (l->sched->placement != TY_PLACE_TWO_WAY) {
        return 0;
    }
    l->links.mirror_meet = ty_arena_array(l->arena, uint16_t, p);
    if (l->links.mirror_meet == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t r = 0; r < p / 2; r++) {
        l->links.mirror_meet[r] = l->links.mirror_meet[p - 1 - r] = index16(ty_build_meet(
            &l->b,
            &(struct ty_meet){.name = "gradients of both copies", .group = TY_NONE, .n_gangs = 2}));
    }
    return 0;
}

static int lower_reaches(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_comm_span shard = ty_comm_span(layout, &l->out->grid, TY_GROUP_DATA);
    const unsigned all = (1u << TY_N_AXES) - 1;
    l->links.norm_at = ty_grid_reaches(
        &shard.grid, layout->zero > 0 || l->shapes.shape != NULL ? all : all & ~shard.dims,
        l->window.seen, l->arena);
    bool ok = l->links.norm_at != NULL;
    if (l->links.expert_norm_meet != TY_NONE) {
        l->links.expert_norm_at = layout->zero > 0
                                      ? l->links.norm_at
                                      : ty_comm_expert_copies(layout, &l->out->grid, l->arena);
        ok = ok && l->links.expert_norm_at != NULL;
    }
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        if (l->links.group[g].link != TY_NONE) {
            l->links.group[g].at =
                ty_comm_reaches(layout, &l->out->grid, g, l->window.seen, l->arena);
            ok = ok && l->links.group[g].at != NULL;
        }
    }
    return ok ? 0 : ty_fail_memory(l->b.err);
}

/* ---- shapes ---- */

/* ---- shapes of pipeline ranks ----
 *
 * Shapes of pipeline ranks, and where groups of equal members of several of them lie.
 *
 * A pipeline rank of another shape has other costs, groups, members. Whoever lowers a rank looks at
 * l->in->layout and what else struct ty_lowering has of it; where shapes differ that is taken up
 * before each rank (ty_lower_begin_stage), and none of them knows that there are others. */

static uint32_t find_shape(struct ty_lowering *l, uint32_t rank)
{
    const struct ty_layout own = ty_layout_of_stage(l->in->layout, rank);
    uint32_t k = 0;
    while (k < l->shapes.n && (l->shapes.shape[k].layout.tensor != own.tensor ||
                               l->shapes.shape[k].layout.data != own.data)) {
        k++;
    }
    if (k == l->shapes.n) {
        struct ty_lower_stage_shape *shape = &l->shapes.shape[l->shapes.n++];
        shape->layout = own;
        shape->layout.unlike = false;
        shape->in = *l->in;
        shape->in.layout = &shape->layout;
        shape->in.book = NULL; /* it has room for one */
        shape->members = own.tensor * own.data;
    }
    return k;
}

static int lower_find_stage_shapes(struct ty_lowering *l)
{
    if (!l->in->layout->unlike) {
        return 0;
    }
    l->shapes.shape = ty_arena_array(l->arena, struct ty_lower_stage_shape, l->shape.p);
    l->shapes.of = ty_arena_array(l->arena, uint32_t, l->shape.p);
    if (l->shapes.shape == NULL || l->shapes.of == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t r = 0; r < l->shape.p; r++) {
        l->shapes.of[r] = find_shape(l, r);
    }
    return 0;
}

/* What struct ty_lowering has of a shape. */
static void keep(const struct ty_lowering *l, struct ty_lower_stage_shape *shape)
{
    memcpy(shape->group, l->links.group, sizeof(shape->group));
    shape->prices = l->prices;
    shape->mix = l->gpus.mix;
    shape->n_mixes = l->gpus.n;
    shape->gpus = l->here.gpus;
}

static int lower_price_stage_shapes(struct ty_lowering *l)
{
    const struct ty_lower_input *in = l->in;
    int rc = 0;
    if (l->shapes.n > 0) {
        keep(l, &l->shapes.shape[0]); /* the first stage's, which has been priced */
    }
    for (uint32_t k = 1; k < l->shapes.n && rc == 0; k++) {
        l->in = &l->shapes.shape[k].in;
        l->members = l->shapes.shape[k].members;
        lower_groups(l);
        rc = ty_lower_price(l);
        if (rc == 0) {
            keep(l, &l->shapes.shape[k]);
        }
    }
    l->in = in;
    return rc;
}

static void lower_begin_stage(struct ty_lowering *l)
{
    if (l->shapes.shape == NULL) {
        return;
    }
    const struct ty_lower_stage_shape *shape = &l->shapes.shape[l->shapes.of[l->here.rank]];
    l->in = &shape->in;
    l->members = shape->members;
    memcpy(l->links.group, shape->group, sizeof(l->links.group));
    l->prices = shape->prices;
    l->gpus.mix = shape->mix;
    l->gpus.n = shape->n_mixes;
    l->here.gpus = shape->gpus;
    /* kinds of other members are not compared with its own */
    l->gpus.first_slowed = l->b.program->n_kinds;
    memset(l->gpus.slowed_by_overlap, 0, sizeof(l->gpus.slowed_by_overlap));
}

/* Takes up that of l->here.rank, and notes what lowering it has added. */
static void lower_end_stage(struct ty_lowering *l)
{
    if (l->shapes.shape != NULL) {
        keep(l, &l->shapes.shape[l->shapes.of[l->here.rank]]);
    }
}

/* ---- messages ---- */

struct ty_peers ty_lower_peers(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    const struct ty_layout *other = ty_lower_layout_of(l, pipeline_rank);
    return ty_lower_alike(l, l->here.rank, pipeline_rank)
               ? (struct ty_peers){member, 1}
               : ty_peers_of(member, l->members, ty_layout_members(other, 0));
}

uint32_t ty_lower_member_gpu(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    const struct ty_layout *layout = ty_lower_layout_of(l, pipeline_rank);
    uint32_t coord[TY_N_AXES];
    coord[TY_AXIS_TENSOR] = member % layout->tensor;
    coord[TY_AXIS_CONTEXT] = member / layout->tensor % layout->context;
    coord[TY_AXIS_DATA] = member / (layout->tensor * layout->context);
    coord[TY_AXIS_PIPELINE] = pipeline_rank;
    return ty_grid_gpu(&l->out->grid, ty_grid_rank(&l->out->grid, coord));
}

/* Parts that stay in the node and those that leave it go at once. What several members send to one
 * goes through its port, of which each has a part; with the links to itself, all. */
void ty_lower_message_cost(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank,
                           double bytes, bool alone, struct ty_coll_cost *out)
{
    const struct ty_peers to = ty_lower_peers(l, member, pipeline_rank);
    const uint32_t gpus = l->out->grid.gpus_per_node;
    const uint32_t node = ty_grid_node(&l->out->grid, l->here.rank_of[member]);
    const uint32_t others = ty_layout_members(ty_lower_layout_of(l, pipeline_rank), 0);
    const double senders = alone || l->members < others ? 1 : l->members / others;
    uint32_t n[2] = {0, 0}; /* parts that leave the node, that stay */
    for (uint32_t i = 0; i < to.n; i++) {
        n[ty_lower_member_gpu(l, to.first + i, pipeline_rank) / gpus == node]++;
    }
    *out = (struct ty_coll_cost){.latency_s = 0};
    for (int same = 0; same < 2; same++) {
        struct ty_coll_cost part;
        if (n[same] > 0) {
            (alone ? ty_p2p_cost_alone : ty_p2p_cost)(l->in->cluster, same, bytes * n[same] / to.n,
                                                      &part);
            part.latency_s = fmax(part.latency_s, out->latency_s);
            part.transfer_s = fmax(part.transfer_s * (same ? senders : 1), out->transfer_s);
            part.nvlink_B += out->nvlink_B;
            part.net_B += out->net_B;
            *out = part;
        }
    }
}

/* ---- equal members ---- */

uint32_t ty_lower_gpu_on(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    const struct ty_grid *grid = &l->out->grid;
    uint32_t coord[TY_N_AXES];
    ty_grid_coords(grid, l->here.rank_of[member], coord);
    coord[TY_AXIS_PIPELINE] = pipeline_rank;
    return ty_grid_gpu(grid, ty_grid_rank(grid, coord));
}

static uint32_t lower_node_on(const struct ty_lowering *l, uint32_t member, uint32_t pipeline_rank)
{
    return ty_lower_gpu_on(l, member, pipeline_rank) / l->out->grid.gpus_per_node;
}

struct places {
    const struct ty_lowering *l;
    const struct ty_stages *stages;
    uint32_t *seen;             /* [nodes]: members of the group at hand; all 0 between groups */
    uint32_t *inside, *leaving; /* [nodes]: groups that stay on the node, that touch it and leave */
};

/* Calls `visit` once for each node of a member's group; a node that was visited has no members. */
static void each_node(struct places *p, uint32_t member, struct ty_reach *reach,
                      void (*visit)(struct places *, uint32_t node, struct ty_reach *))
{
    for (uint32_t s = 0; s < p->stages->n; s++) {
        p->seen[lower_node_on(p->l, member, p->stages->rank[s])]++;
    }
    for (uint32_t s = 0; s < p->stages->n; s++) {
        const uint32_t node = lower_node_on(p->l, member, p->stages->rank[s]);
        if (p->seen[node] > 0) {
            visit(p, node, reach);
            p->seen[node] = 0;
        }
    }
}

static void measure(struct places *p, uint32_t node, struct ty_reach *reach)
{
    const uint32_t mine = p->seen[node];
    reach->nodes++;
    reach->per_node = mine > reach->per_node ? mine : reach->per_node;
    reach->fewest = reach->fewest == 0 || mine < reach->fewest ? mine : reach->fewest;
}

static void touch(struct places *p, uint32_t node, struct ty_reach *reach)
{
    (reach->nodes > 1 ? p->leaving : p->inside)[node]++;
}

static void share(struct places *p, uint32_t node, struct ty_reach *reach)
{
    const uint32_t groups = p->leaving[node] + (reach->nodes > 1 ? 0 : p->inside[node]);
    reach->sharing = groups > reach->sharing ? groups : reach->sharing;
}

const struct ty_reach *ty_lower_stages_reaches(struct ty_lowering *l,
                                               const struct ty_stages *stages)
{
    const uint32_t nodes = ty_grid_nodes(&l->out->grid);
    struct ty_reach *out = ty_arena_array(l->arena, struct ty_reach, l->members);
    uint32_t *count = ty_arena_array(l->arena, uint32_t, (size_t)3 * nodes);
    if (out == NULL || count == NULL) {
        return NULL;
    }
    struct places p = {l, stages, count, count + nodes, count + (size_t)2 * nodes};
    for (uint32_t i = 0; i < l->members; i++) {
        out[i] = (struct ty_reach){.ranks = stages->n};
        each_node(&p, i, &out[i], measure);
        each_node(&p, i, &out[i], touch);
    }
    for (uint32_t i = 0; i < l->members; i++) {
        each_node(&p, i, &out[i], share);
    }
    return out;
}

static void sizes_of(const struct ty_layout *layout, uint32_t pipeline, uint32_t size[TY_N_AXES])
{
    size[TY_AXIS_TENSOR] = layout->tensor;
    size[TY_AXIS_CONTEXT] = layout->context;
    size[TY_AXIS_DATA] = layout->data;
    size[TY_AXIS_PIPELINE] = pipeline;
}

static int make_grid(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const uint32_t p = layout->pipeline, node = l->in->cluster->gpus_per_node;
    uint32_t(*size)[TY_N_AXES] = ty_arena_alloc(l->arena, p, sizeof(*size));
    int rc = 0;
    if (size == NULL) {
        return ty_fail_memory(l->b.err);
    }
    if (l->shapes.shape == NULL) {
        sizes_of(layout, p, size[0]);
        ty_grid_init(&l->out->grid, size[0], layout->order.item, node);
    } else {
        for (uint32_t s = 0; s < p; s++) {
            sizes_of(ty_lower_layout_of(l, s), 1, size[s]);
        }
        rc = ty_grid_init_stages(&l->out->grid, (const uint32_t(*)[TY_N_AXES])size, p,
                                 layout->order.item, node, l->arena);
    }
    l->out->grid.gpu_of = layout->gpu_of;
    return rc == 0 ? 0 : ty_fail_memory(l->b.err);
}

static int make_fabric(struct ty_lowering *l)
{
    const int rc = ty_fabric_build(&l->out->fabric, l->in->cluster, l->in->fabric,
                                   l->window.n_nodes, l->in->tiers, l->arena, l->b.err);
    l->out->program.links = l->out->fabric.links;
    l->out->program.n_links = l->out->fabric.n_links;
    return rc;
}

/* Global ranks of the members of the current pipeline rank. */
static void fill_ranks(const struct ty_lowering *l, uint32_t *rank_of)
{
    const struct ty_layout *layout = l->in->layout;
    for (uint32_t i = 0; i < l->members; i++) {
        uint32_t coord[TY_N_AXES];
        coord[TY_AXIS_TENSOR] = i % layout->tensor;
        coord[TY_AXIS_CONTEXT] = i / layout->tensor % layout->context;
        coord[TY_AXIS_DATA] = i / (layout->tensor * layout->context);
        coord[TY_AXIS_PIPELINE] = l->here.rank;
        rank_of[i] = ty_grid_rank(&l->out->grid, coord);
    }
}

/* ---- one pipeline rank ---- */

bool ty_lower_is_mine(const struct ty_lowering *l, uint32_t k)
{
    const uint32_t stages = ty_sched_stages(&l->shape);
    return ty_sched_owner(l->sched->placement, &l->shape, k / stages, k % stages) == l->here.rank;
}

static int plan_stage(struct ty_lowering *l, struct ty_stage_plan *plan)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_arch *arch = l->in->arch;
    const uint32_t stages = ty_sched_stages(&l->shape);
    struct ty_stage_params sum = {.all = 0};
    uint32_t own[TY_N_UNIT_KINDS];
    plan->chunk = ty_arena_array(l->arena, struct ty_layers, ty_lower_n_vstages(l));
    if (plan->chunk == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t k = 0; k < ty_lower_n_vstages(l); k++) {
        if (ty_lower_is_mine(l, k)) {
            const struct ty_layers layers = ty_layout_layers(layout, arch, stages, k % stages);
            plan->chunk[plan->n_chunks++] = layers;
            plan->n_layers += layers.count;
            const struct ty_stage_params params = ty_stage_params(
                l->prices->units, arch, &layers, k % stages == 0, k % stages == stages - 1);
            ty_stage_params_add(&sum, &params, 1);
            ty_stage_count(arch, &layers, k % stages == 0, k % stages == stages - 1, own);
            for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
                plan->count[u] += own[u];
            }
        }
    }
    plan->params = sum.all;
    plan->experts = sum.experts;
    plan->whole = sum.whole;
    plan->ends = sum.ends;
    plan->frozen = sum.frozen;
    /* the copies of two-way schedules are stages of their own and counted already */
    plan->weight_copies = l->sched->weight_copies == NULL || l->sched->placement == TY_PLACE_TWO_WAY
                              ? 1
                              : l->sched->weight_copies(&l->shape, l->here.rank);
    plan->units = l->prices->units;
    plan->placeholders_B =
        ty_memory_placeholders(&plan->units->placeholders, ty_unit_kinds_of(plan->count));
    plan->states = ty_memory_states(layout, plan->params, plan->experts);
    plan->states.optimizer += ty_memory_ends(layout, plan->ends);
    plan->expert_states = ty_memory_states(layout, plan->experts, plan->experts);
    plan->away = ty_memory_offloaded(layout, plan->params, plan->experts);
    plan->states.weights *= plan->weight_copies;
    plan->expert_states.weights *= plan->weight_copies;
    ty_memory_frozen_away(layout, sum.frozen_B, sum.frozen_experts_B, &plan->away);
    plan->states.weights += ty_memory_frozen(layout, sum.frozen_B, sum.frozen_experts_B);
    plan->expert_states.weights +=
        ty_memory_frozen(layout, sum.frozen_experts_B, sum.frozen_experts_B);
    return 0;
}

/* Ranks of the program: those of the window are numbered without holes. */
static const uint32_t *own_ranks(struct ty_lowering *l)
{
    uint32_t *rank_of = l->here.rank_of;
    if (l->window.seen == NULL) {
        return rank_of;
    }
    rank_of = ty_arena_array(l->arena, uint32_t, l->members);
    for (uint32_t i = 0; rank_of != NULL && i < l->members; i++) {
        rank_of[i] = l->here.rank * l->members + i;
    }
    if (rank_of == NULL) {
        ty_build_no_memory(&l->b);
    }
    return rank_of;
}

static void make_gang(struct ty_lowering *l, const struct ty_stage_plan *plan)
{
    struct ty_gang gang = {.n_ranks = l->members, .rank_of = own_ranks(l)};
    gang.name = ty_arena_printf(l->arena, "stage %u", (unsigned)l->here.rank);
    gang.static_B[TY_MEM_WEIGHTS] = plan->states.weights;
    gang.static_B[TY_MEM_GRADS] = plan->states.grads + plan->placeholders_B;
    gang.static_B[TY_MEM_OPTIMIZER] = plan->states.optimizer;
    gang.static_B[TY_MEM_ACTIVATIONS] = plan->buffers_B;
    ty_build_gang(&l->b, &gang);
}

static int make_vstages(struct ty_lowering *l, const struct ty_vstage **mine, uint32_t *n)
{
    const uint32_t stages = ty_sched_stages(&l->shape);
    for (uint32_t k = 0; k < ty_lower_n_vstages(l); k++) {
        if (!ty_lower_is_mine(l, k)) {
            continue;
        }
        struct ty_vstage *v = &l->vstage[k];
        v->number = k;
        v->edges = ty_sched_edges_of(&l->links.edges, k / stages, k % stages);
        const int rc = ty_lower_units(l, k % stages, v);
        if (rc < 0) {
            return rc;
        }
        mine[(*n)++] = v;
    }
    return 0;
}

/* Bytes of what is whole for a while on a rank with these stages. */
static double buffers(struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    struct ty_grad_stage *stage = ty_arena_array(l->arena, struct ty_grad_stage, n + 1);
    for (uint32_t i = 0; stage != NULL && i < n; i++) {
        stage[i] = (struct ty_grad_stage){v[i]->kinds, v[i]->n_units};
    }
    if (stage == NULL) {
        ty_build_no_memory(&l->b);
        return 0;
    }
    const struct ty_whole whole =
        ty_grads_whole(&l->prices->grads, l->in->layout, stage, n, l->sched->whole_chunks);
    return ty_memory_buffers(l->in->layout, &whole);
}

/* The block that the allocator loses on a rank with these stages. */
static double split_block(const struct ty_lowering *l, const struct ty_vstage *const *v, uint32_t n)
{
    struct ty_tensors tensors;
    uint32_t count[TY_N_UNIT_KINDS] = {0};
    if (!l->prices->units->splits) {
        return 0;
    }
    ty_memory_tensors(l->prices->units, &tensors);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t u = 0; u < v[i]->n_units; u++) {
            count[v[i]->kinds[u]]++;
        }
    }
    return ty_memory_split(&tensors, count) / l->shape.slices;
}

static int lower_rank(struct ty_lowering *l, const struct ty_slots *slots)
{
    const size_t blocks = (size_t)ty_lower_n_vstages(l) * TY_N_PHASES * l->shape.slices * 2 *
                          TY_N_FOUND * l->n_partners * l->n_packs;
    struct ty_stage_plan *plan = &l->out->stage[l->here.rank];
    const struct ty_vstage **mine = ty_arena_alloc(l->arena, ty_lower_n_vstages(l), sizeof(*mine));
    uint32_t n_mine = 0;
    l->here.rank_of = ty_arena_array(l->arena, uint32_t, l->members);
    l->here.block =
        l->here.block != NULL ? l->here.block : ty_arena_array(l->arena, uint32_t, blocks);
    l->here.like = l->here.like != NULL ? l->here.like : ty_arena_array(l->arena, uint32_t, blocks);
    if (mine == NULL || l->here.rank_of == NULL || l->here.block == NULL || l->here.like == NULL) {
        return ty_fail_memory(l->b.err);
    }
    memset(l->here.block, 0xff, blocks * sizeof(*l->here.block));
    memset(l->here.like, 0xff, blocks * sizeof(*l->here.like));
    l->here.pairs = NULL;
    l->here.own_first_block = l->b.program->n_blocks;
    fill_ranks(l, l->here.rank_of);
    int rc = plan_stage(l, plan);
    ty_lower_gemini_begin(l, plan);
    if (rc == 0) {
        rc = ty_lower_gpus(l);
    }
    if (rc == 0) {
        rc = ty_lower_rank_kinds(l);
    }
    if (rc == 0) {
        rc = make_vstages(l, mine, &n_mine);
    }
    if (rc == 0) {
        plan->buffers_B = buffers(l, mine, n_mine) + ty_lower_stash_buffers(l, mine, n_mine);
        plan->split_B = split_block(l, mine, n_mine);
        plan->pinned_B = ty_lower_pinned(l, ty_lower_homes(l), mine, n_mine);
        if (l->in->layout->home.activations == TY_HOME_NVME) { /* out and in */
            plan->pinned_B += 2 * ty_lower_stash_buffers(l, mine, n_mine);
        }
        ty_lower_gemini(l, &slots->rank[l->here.rank], mine, n_mine, plan);
    }
    make_gang(l, plan);
    const uint32_t first = l->b.program->n_passes;
    rc = rc < 0 ? rc
                : ty_lower_passes(l, &slots->rank[l->here.rank], ty_lower_step(l, mine, n_mine));
    plan->stashed_B =
        rc < 0 ? 0
               : ty_lower_stashed(l, &l->b.program->passes[first], l->b.program->n_passes - first);
    return rc;
}

/* Computation of a rank on a slow GPU, or of a slow host, takes longer. */
static int set_slow(struct ty_lowering *l)
{
    const struct ty_cluster *cluster = l->in->cluster;
    const uint32_t n = l->out->grid.n_ranks;
    const bool given = cluster->exceptions != NULL && cluster->exceptions->gpu_speed != NULL;
    if (!given && l->in->slow_hosts <= 0) {
        return 0;
    }
    double *slow = ty_arena_array(l->arena, double, n);
    if (slow == NULL) {
        return ty_fail_memory(l->b.err);
    }
    bool any = false;
    for (uint32_t rank = 0; rank < n; rank++) {
        slow[rank] = ty_noise_slow_host(l->in->slow_hosts, l->in->slow_by, l->in->seed,
                                        ty_grid_node(&l->out->grid, rank)) /
                     ty_exceptions_gpu_speed(cluster, ty_grid_gpu(&l->out->grid, rank));
        any = any || slow[rank] > 1;
    }
    l->out->program.slow_of = any ? slow : NULL;
    return 0;
}

static void set_jitter(struct ty_lowering *l)
{
    l->out->program.jitter = (struct ty_jitter){.seed = l->in->seed,
                                                .cv = l->in->jitter,
                                                .spread = l->in->gpu_spread,
                                                .group = l->links.group[TY_GROUP_TENSOR].link};
}

/* Groups, where they lie, and what all of it costs. */
static int find_costs(struct ty_lowering *l)
{
    lower_groups(l);
    lower_meets(l);
    int rc = make_fabric(l);
    rc = rc < 0 ? rc : lower_reaches(l);
    rc = rc < 0 ? rc : ty_lower_price(l);
    if (rc == 0) {
        l->out->units = l->prices->units;
        rc = lower_price_stage_shapes(l);
    }
    return rc;
}

/* What all orders need: columns, ranks and groups, costs of collectives. */
static int prepare(struct ty_lowering *l)
{
    const struct ty_lower_input *in = l->in;
    l->out->stage = ty_arena_array(l->arena, struct ty_stage_plan, l->shape.p);
    l->vstage = ty_arena_array(l->arena, struct ty_vstage, ty_lower_n_vstages(l));
    l->cost_of = ty_arena_array(l->arena, struct ty_coll_cost, l->most_members);
    if (l->out->stage == NULL || l->vstage == NULL || l->cost_of == NULL) {
        return ty_fail_memory(l->b.err);
    }
    if (l->sched->updates_each && (in->arch->tied || in->arch->mtp > 0) && l->shape.p > 1) {
        return ty_fail(l->b.err, TY_EINPUT,
                       "schedule %s updates after every backward, and an embedding that first and "
                       "last stage have would make them meet each time; set %s, or use "
                       "pipedream-2bw",
                       l->sched->name,
                       in->arch->mtp == 0 ? "model.tied to false"
                       : in->arch->tied   ? "model.tied to false and model.mtp to 0"
                                          : "model.mtp to 0");
    }
    int rc = lower_find_stage_shapes(l);
    rc = rc < 0 ? rc : make_grid(l);
    rc = rc < 0 ? rc : ty_lower_window(l);
    return rc < 0 ? rc : find_costs(l);
}

/* The operations of all ranks, in the order of the schedule. */
static int lower_ranks(struct ty_lowering *l)
{
    struct ty_slots slots;
    int rc = ty_lower_orders(l, &slots);
    if (rc < 0) {
        return rc;
    }
    const bool paired = ty_slots_paired(&slots);
    l->weaves = paired && l->in->layout->framework.expert_overlap;
    l->n_partners = paired && !l->weaves ? ty_lower_n_vstages(l) + 1 : 1;
    l->n_packs = ty_lower_is_packed(l) ? l->in->steps * l->in->layout->micro_batches : 1;
    rc = lower_mirrors(l);
    if (rc == 0) {
        rc = ty_lower_own_groups(l, &slots);
    }
    if (rc == 0) {
        rc = ty_sched_edges_build(&l->links.edges, &l->b, l->sched->placement, &l->shape,
                                  l->shape.m * l->shape.slices * l->in->steps, 0);
    }
    for (l->here.rank = 0; l->here.rank < l->shape.p && rc == 0; l->here.rank++) {
        lower_begin_stage(l);
        rc = lower_rank(l, &slots);
        lower_end_stage(l);
    }
    return rc;
}

static int lower(struct ty_lowered *out, const struct ty_lower_input *in, bool *differs,
                 struct ty_arena *arena, struct ty_err *err)
{
    *out = (struct ty_lowered){.stage = NULL};
    struct ty_lowering l = {.in = in,
                            .arena = arena,
                            .out = out,
                            .sched = ty_sched_of(in->schedule),
                            .zero = &ty_zero_stages[in->layout->zero]};
    l.b = (struct ty_builder){.program = &out->program, .arena = arena, .err = err};
    l.shape = ty_sched_shape_of(in->schedule, in->layout->pipeline, in->layout->micro_batches);
    l.members = ty_layout_members(in->layout, 0);
    l.most_members = ty_layout_most_members(in->layout);
    out->program.matched = in->schedule->custom == NULL; /* else as users wrote it */
    out->program.n_steps = in->steps;
    out->program.uneven = ty_lower_is_packed(&l);
    out->program.words = out->program.uneven ? &ty_uneven_words : &ty_transformer_words;
    out->program.overlapping_steps = l.sched->asynchronous;
    int rc = prepare(&l);
    rc = rc < 0 ? rc : lower_ranks(&l);
    if (rc == 0) {
        rc = l.b.code;
    }
    *differs = l.window.differs;
    set_jitter(&l);
    if (rc == 0) {
        rc = set_slow(&l);
    }
    return rc == 0 ? ty_program_seal(&out->program, arena, err) : rc;
}

int ty_lower(struct ty_lowered *out, const struct ty_lower_input *in, struct ty_arena *arena,
             struct ty_err *err)
{
    struct ty_lower_input whole = *in;
    bool differs = false;
    const int rc = lower(out, in, &differs, arena, err);
    whole.window = false;
    return differs ? lower(out, &whole, &differs, arena, err) : rc;
}
