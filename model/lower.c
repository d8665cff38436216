/* lower.c - the outline: gangs, links, blocks, and the order of passes.
 *
 * Members of a gang are numbered tensor rank first, then context, then data rank, whatever the
 * order of the grid: groups inside a gang are then (stride, count) pairs. */
#include "model/lower_internal.h"

#include <string.h>

static int out_of_memory(const struct ty_lowering *l)
{
    return ty_fail(l->b.err, TY_ENOMEM, "lowering: out of memory");
}

static uint16_t index16(int index)
{
    return index < 0 ? 0 : (uint16_t)index;
}

static uint32_t virtual_stages(const struct ty_lowering *l)
{
    return l->shape.p * l->shape.v;
}

static void make_grid(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    uint32_t size[TY_N_AXES] = {0};
    size[TY_AXIS_TENSOR] = layout->tensor;
    size[TY_AXIS_CONTEXT] = layout->context;
    size[TY_AXIS_DATA] = layout->data;
    size[TY_AXIS_PIPELINE] = layout->pipeline;
    ty_grid_init(&l->out->grid, size, layout->order.item, l->in->cluster->gpus_per_node);
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
        coord[TY_AXIS_PIPELINE] = l->rank;
        rank_of[i] = ty_grid_rank(&l->out->grid, coord);
    }
}

/* ---- links ---- */

static void make_groups(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const uint32_t model = layout->tensor * layout->context;
    l->tensor_group = index16(ty_build_group(&l->b, &(struct ty_group){"tp", 1, layout->tensor}));
    l->data_group = index16(ty_build_group(&l->b, &(struct ty_group){"dp", model, layout->data}));
    /* whom the gradient norm is summed over: shards differ between data ranks, copies do not */
    const uint32_t norm = layout->zero > 0 ? l->members : model;
    l->world_group = index16(ty_build_group(&l->b, &(struct ty_group){"world", 1, norm}));
    l->norm_meet = l->tied_meet = TY_NONE;
    if (norm * l->shape.p > 1) {
        l->norm_meet = index16(ty_build_meet(
            &l->b, &(struct ty_meet){"gradient norm", l->world_group, l->shape.p, 0}));
    }
    if (l->in->arch->tied && l->shape.p > 1) {
        l->tied_meet = index16(ty_build_meet(
            &l->b, &(struct ty_meet){"tied embedding gradients", TY_NONE, 2, 0}));
    }
}

static int make_channels(struct ty_lowering *l)
{
    const uint32_t stages = virtual_stages(l);
    l->act_channel = ty_arena_array(l->arena, uint16_t, stages);
    l->grad_channel = ty_arena_array(l->arena, uint16_t, stages);
    if (l->act_channel == NULL || l->grad_channel == NULL) {
        return out_of_memory(l);
    }
    memset(l->act_channel, 0xff, stages * sizeof(uint16_t));
    memset(l->grad_channel, 0xff, stages * sizeof(uint16_t));
    const uint32_t n_seq = l->shape.m * l->in->steps;
    for (uint32_t k = 0; k + 1 < stages; k++) {
        const uint32_t here = ty_sched_owner(&l->shape, k);
        const uint32_t next = ty_sched_owner(&l->shape, k + 1);
        l->act_channel[k + 1] = index16(ty_build_channel(
            &l->b, &(struct ty_channel){.name = "act", .from = here, .to = next, .n_seq = n_seq}));
        l->grad_channel[k] = index16(ty_build_channel(
            &l->b, &(struct ty_channel){.name = "grad", .from = next, .to = here, .n_seq = n_seq}));
    }
    return 0;
}

/* ---- one pipeline rank ---- */

static void plan_stage(struct ty_lowering *l, struct ty_stage_plan *plan)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_arch *arch = l->in->arch;
    const uint32_t stages = virtual_stages(l);
    for (uint32_t k = l->rank; k < stages; k += l->shape.p) {
        const struct ty_layers layers = ty_layout_layers(layout, arch, stages, k);
        plan->layers.first = k == l->rank ? layers.first : plan->layers.first;
        plan->layers.count += layers.count;
        plan->params += ty_layout_stage_params(layout, arch, stages, k);
    }
    plan->states = ty_memory_states(layout, plan->params);
    plan->buffers_B = ty_memory_buffers(layout, ty_layout_layer_params(layout, arch));
    plan->layer_activations_B = ty_memory_layer_activations(arch, layout);
}

static void make_gang(struct ty_lowering *l, const struct ty_stage_plan *plan)
{
    struct ty_gang gang = {.n_ranks = l->members, .rank_of = l->rank_of};
    gang.name = ty_arena_printf(l->arena, "stage %u", (unsigned)l->rank);
    gang.static_B[TY_MEM_WEIGHTS] = plan->states.weights;
    gang.static_B[TY_MEM_GRADS] = plan->states.grads;
    gang.static_B[TY_MEM_OPTIMIZER] = plan->states.optimizer;
    gang.static_B[TY_MEM_ACTIVATIONS] = plan->buffers_B;
    ty_build_gang(&l->b, &gang);
}

static int make_vstage(struct ty_lowering *l, uint32_t k, struct ty_vstage *v)
{
    const uint32_t stages = virtual_stages(l);
    const int rc = ty_lower_units(l, k, v);
    if (rc < 0) {
        return rc;
    }
    v->act_in = l->act_channel[k];
    v->act_out = k + 1 < stages ? l->act_channel[k + 1] : TY_NONE;
    v->grad_in = l->grad_channel[k];
    v->grad_out = k > 0 ? l->grad_channel[k - 1] : TY_NONE;
    v->forward = ty_lower_forward(l, v);
    v->backward = ty_lower_backward(l, v, false);
    v->backward_reduce = ty_lower_backward(l, v, true);
    return 0;
}

/* The last backward of each virtual stage is the one that reduces. */
static bool is_last_backward(const struct ty_slot *slots, uint32_t n, uint32_t i)
{
    for (uint32_t k = i + 1; k < n; k++) {
        if (slots[k].phase == TY_PHASE_BACKWARD && slots[k].stage == slots[i].stage) {
            return false;
        }
    }
    return true;
}

static int make_passes(struct ty_lowering *l, uint32_t step_block)
{
    const struct ty_sched *sched = ty_schedules[l->in->schedule->name];
    const uint32_t n = sched->order(&l->shape, l->rank, NULL);
    struct ty_slot *slots = ty_arena_array(l->arena, struct ty_slot, n);
    if (slots == NULL) {
        return out_of_memory(l);
    }
    sched->order(&l->shape, l->rank, slots);
    for (uint32_t step = 0; step < l->in->steps; step++) {
        for (uint32_t i = 0; i < n; i++) {
            const struct ty_vstage *v = &l->vstage[slots[i].stage];
            const bool forward = slots[i].phase == TY_PHASE_FORWARD;
            const bool last = !forward && is_last_backward(slots, n, i);
            ty_build_pass(&l->b, &(struct ty_pass){
                                     .block = forward ? v->forward
                                              : last  ? v->backward_reduce
                                                      : v->backward,
                                     .seq = step * l->shape.m + slots[i].mb,
                                     .mb = slots[i].mb,
                                     .stage = slots[i].stage,
                                     .step = (uint16_t)step,
                                     .phase = slots[i].phase});
        }
        ty_build_pass(&l->b, &(struct ty_pass){.block = step_block,
                                               .stage = (uint16_t)l->rank,
                                               .step = (uint16_t)step,
                                               .phase = TY_PHASE_STEP});
    }
    return 0;
}

static int lower_rank(struct ty_lowering *l)
{
    struct ty_stage_plan *plan = &l->out->stage[l->rank];
    const struct ty_vstage **mine = ty_arena_alloc(l->arena, l->shape.v, sizeof(*mine));
    l->rank_of = ty_arena_array(l->arena, uint32_t, l->members);
    if (mine == NULL || l->rank_of == NULL) {
        return out_of_memory(l);
    }
    fill_ranks(l, l->rank_of);
    plan_stage(l, plan);
    int rc = ty_lower_rank_kinds(l);
    make_gang(l, plan);
    for (uint32_t c = 0; c < l->shape.v && rc == 0; c++) {
        const uint32_t k = c * l->shape.p + l->rank;
        rc = make_vstage(l, k, &l->vstage[k]);
        mine[c] = &l->vstage[k];
        if (rc == 0 && !l->b.failed) {
            const struct ty_block *f = &l->b.program->blocks[l->vstage[k].forward];
            const struct ty_block *b = &l->b.program->blocks[l->vstage[k].backward];
            plan->pass_activations_B += f->acquire_B;
            plan->transient_B = f->transient_B > plan->transient_B ? f->transient_B
                                                                   : plan->transient_B;
            plan->transient_B = b->transient_B > plan->transient_B ? b->transient_B
                                                                   : plan->transient_B;
        }
    }
    if (rc < 0) {
        return rc;
    }
    return make_passes(l, ty_lower_step(l, mine, l->shape.v));
}

static void set_jitter(struct ty_lowering *l)
{
    l->out->program.jitter = (struct ty_jitter){.seed = l->in->seed,
                                                .cv = l->in->jitter,
                                                .spread = l->in->gpu_spread,
                                                .group = l->tensor_group};
}

int ty_lower(struct ty_lowered *out, const struct ty_lower_input *in, struct ty_arena *arena,
             struct ty_err *err)
{
    *out = (struct ty_lowered){.stage = NULL};
    struct ty_lowering l = {.in = in, .arena = arena, .out = out,
                            .zero = &ty_zero_stages[in->layout->zero]};
    l.b = (struct ty_builder){.program = &out->program, .arena = arena, .err = err};
    l.shape = (struct ty_sched_shape){in->layout->pipeline, in->layout->micro_batches,
                                      in->schedule->chunks};
    l.members = in->layout->tensor * in->layout->context * in->layout->data;
    out->program.n_steps = in->steps;
    out->stage = ty_arena_array(arena, struct ty_stage_plan, l.shape.p);
    l.vstage = ty_arena_array(arena, struct ty_vstage, virtual_stages(&l));
    if (out->stage == NULL || l.vstage == NULL) {
        return out_of_memory(&l);
    }
    make_grid(&l);
    make_groups(&l);
    ty_lower_compute_kinds(&l);
    int rc = make_channels(&l);
    for (l.rank = 0; l.rank < l.shape.p && rc == 0; l.rank++) {
        rc = lower_rank(&l);
    }
    if (rc == 0 && l.b.failed) {
        rc = err != NULL && err->code < 0 ? err->code : TY_EINPUT;
    }
    set_jitter(&l);
    return rc == 0 ? ty_program_seal(&out->program, arena, err) : rc;
}
