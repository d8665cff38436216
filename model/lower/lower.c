/* lower.c - the outline: gangs, links, blocks, and the order of passes.
 *
 * Members of a gang are numbered tensor rank first, then context, then data rank, whatever the
 * order of the grid: groups inside a gang are then (stride, count) pairs. */
#include "model/lower/internal.h"
#include "model/lower/offload.h"
#include "model/lower/stages.h"
#include "model/lower/window.h"
#include "sim/base/noise.h"

#include <string.h>

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
            plan->params += params.all;
            plan->experts += params.experts;
            plan->whole += params.whole;
        }
    }
    /* the copies of two-way schedules are stages of their own and counted already */
    plan->weight_copies = l->sched->weight_copies == NULL || l->sched->placement == TY_PLACE_TWO_WAY
                              ? 1
                              : l->sched->weight_copies(&l->shape, l->here.rank);
    plan->units = l->prices->units;
    plan->states = ty_memory_states(layout, plan->params, plan->experts);
    plan->expert_states = ty_memory_states(layout, plan->experts, plan->experts);
    plan->away = ty_memory_offloaded(layout, plan->params, plan->experts);
    plan->states.weights *= plan->weight_copies;
    plan->expert_states.weights *= plan->weight_copies;
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
    gang.static_B[TY_MEM_GRADS] = plan->states.grads;
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

static int lower_rank(struct ty_lowering *l, const struct ty_slots *slots)
{
    const size_t blocks = (size_t)ty_lower_n_vstages(l) * TY_N_PHASES * l->shape.slices * 2 *
                          TY_N_FOUND * l->n_partners;
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
    ty_lower_groups(l);
    ty_lower_meets(l);
    int rc = make_fabric(l);
    rc = rc < 0 ? rc : ty_lower_reaches(l);
    rc = rc < 0 ? rc : ty_lower_price(l);
    if (rc == 0) {
        l->out->units = l->prices->units;
        rc = ty_lower_price_stage_shapes(l);
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
    int rc = ty_lower_find_stage_shapes(l);
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
    rc = ty_lower_mirrors(l);
    if (rc == 0) {
        rc = ty_lower_own_groups(l, &slots);
    }
    if (rc == 0) {
        rc = ty_sched_edges_build(&l->links.edges, &l->b, l->sched->placement, &l->shape,
                                  l->shape.m * l->shape.slices * l->in->steps, 0);
    }
    for (l->here.rank = 0; l->here.rank < l->shape.p && rc == 0; l->here.rank++) {
        ty_lower_begin_stage(l);
        rc = lower_rank(l, &slots);
        ty_lower_end_stage(l);
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
    out->program.words = &ty_transformer_words;
    out->program.matched = in->schedule->custom == NULL; /* else as users wrote it */
    out->program.n_steps = in->steps;
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
