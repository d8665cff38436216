/* meshes.c - prices stages on each part of the machine, solves the chain, simulates the best.
 *
 * A scheme is a part of the machine and how its GPUs share a layer. Each scheme is executed once:
 * the whole model as one stage on that many GPUs, for two micro-batches. What a pass takes apart
 * from layers counts for the last stage. What a step takes apart from passes, the optimizer and
 * gradients, is divided among all layers and micro-batches. */
#include "sim/plan/meshes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/block/memory.h"
#include "sim/base/check.h"
#include "sim/config/vary.h"
#include "sim/plan/chain.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "sim/run/pass_times.h"

#define MESH_GROUPS  16u /* of layers, between which stages end. Alpa has 6 to 16 */
#define MESH_SCHEMES 96u
#define MESH_GPUS    128u /* with more, the program takes minutes */
#define TIGHTER      0.95 /* of the room, where a memory estimate was too large. Guess */
#define TRIES        4u   /* of a partition, each with less room */

/* The chain of one micro-batch size, with the schedule, ZeRO and recomputation of a point. */
struct chain {
    const struct ty_plan_space *space;
    const struct ty_plan_point *point;
    uint32_t sequences, micro_batches; /* sequences of a micro-batch; micro-batches of a step */
    uint32_t gpus, node, groups;       /* GPUs of the job and of a node; groups of layers */
    double room;                       /* share of the free memory that stages may use */
    struct ty_chain_scheme scheme[MESH_SCHEMES];
    struct scheme_cost {
        uint32_t tensor, data;
        double layer_s, ends_s; /* a layer and all else, forward and backward of a micro-batch */
        double kept_B, brief_B, loss_B, states_B, embedding_B, head_B, room_B;
    } cost[MESH_SCHEMES];
    uint32_t n_schemes;
};

/* ---- what a scheme costs ---- */

/* Layers before a group. */
static uint32_t layers_before(const struct chain *m, uint32_t group)
{
    assert(group <= m->groups);
    return (uint32_t)((uint64_t)group * m->space->base->arch.layers / m->groups);
}

/* Executes the model as one stage on `gpus` GPUs alone. Returns 1 if the layout is not legal. */
static int execute(const struct chain *m, uint32_t gpus, uint32_t tensor, struct ty_config *config,
                   struct ty_run **run, struct ty_err *err)
{
    struct ty_plan_point point = *m->point;
    assert(gpus % tensor == 0 && m->sequences % (gpus / tensor) == 0);
    point.tensor = tensor;
    point.pipeline = 1;
    point.data = 0;
    point.micro_batch = m->sequences / (gpus / tensor);
    *run = NULL;
    ty_plan_vary(m->space, &point, config);
    config->layout.n_gpus = gpus;
    config->layout.nodes = config->layout.gpus = (struct ty_string_list){0};
    config->layout.rank_file = NULL;
    config->layout.global_batch = 2 * m->sequences;
    if (ty_config_complete(config, NULL) < 0) {
        return 1;
    }
    const int rc = ty_run_plan(run, config, NULL, err);
    return rc < 0 ? rc : ty_run_execute_folded(*run, err);
}

static double states_of(const struct ty_run *run, enum ty_unit_kind unit)
{
    const double params = ty_unit_params(&run->lowered.units->kind[unit]);
    const struct ty_state_bytes x = ty_memory_states(&run->config->layout, params, 0);
    const double ends = ty_unit_is_end(unit) ? ty_memory_ends(&run->config->layout, params) : 0;
    return x.weights + x.grads + x.optimizer + ends;
}

static int note(struct chain *m, const struct ty_run *run, uint32_t gpus, struct ty_arena *arena)
{
    const struct ty_layout *layout = &run->config->layout;
    const uint32_t layers = run->config->arch.layers;
    struct scheme_cost *c = &m->cost[m->n_schemes];
    struct ty_tensors tensors;
    double *layer = ty_arena_array(arena, double, layers), ends;
    if (layer == NULL) {
        return TY_ENOMEM;
    }
    ty_memory_tensors(run->lowered.units, &tensors);
    ty_layer_work(run, &ends, layer);
    double sum = 0;
    for (uint32_t i = 0; i < layers; i++) {
        sum += layer[i];
    }
    const double step_s = ty_s_from_ps(run->timeline.makespan) / run->lowered.program.n_steps;
    const double rest = fmax(0, step_s - 2 * (ends + sum)) / layers / m->micro_batches;
    *c = (struct scheme_cost){
        .tensor = layout->tensor,
        .data = layout->data,
        .layer_s = sum / layers + rest,
        .ends_s = ends,
        .kept_B = ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_KEPT),
        .brief_B = ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_BACKWARD) +
                   ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_RECOMPUTED),
        .loss_B = ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_LOSS_BACKWARD) +
                  ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_KEPT) +
                  ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_BUFFERED),
        .states_B = states_of(run, TY_UNIT_LAYER),
        .embedding_B = states_of(run, TY_UNIT_EMBEDDING),
        .head_B = states_of(run, TY_UNIT_HEAD),
        .room_B = (1 - m->space->margin) * ty_run_capacity(run, 0) -
                  run->lowered.program.gangs[0].static_B[TY_MEM_ACTIVATIONS]};
    assert(c->layer_s > 0);
    m->scheme[m->n_schemes++].devices = gpus;
    return 0;
}

static int price(struct chain *m, uint32_t gpus, uint32_t tensor, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_config config;
    struct ty_run *run;
    if (m->sequences % (gpus / tensor) != 0 || m->n_schemes == MESH_SCHEMES) {
        return 0;
    }
    int rc = execute(m, gpus, tensor, &config, &run, err);
    rc = rc == 0 && note(m, run, gpus, &arena) < 0 ? ty_fail_memory(err) : rc;
    ty_run_free(run);
    ty_config_drop(&config);
    ty_arena_release(&arena);
    return rc < 0 ? rc : 0;
}

/* Prices all schemes. Shapes are powers of two of a node's GPUs, or whole nodes. Matrices are
 * shared inside a node only. */
static int price_schemes(struct chain *m, struct ty_err *err)
{
    int rc = 0;
    for (uint32_t gpus = 1; gpus <= m->gpus && rc == 0; gpus = 2 * gpus <= m->node ? 2 * gpus
                                                               : gpus < m->node    ? m->node
                                                                                : gpus + m->node) {
        for (uint32_t tensor = 1; tensor <= gpus && tensor <= m->node && rc == 0; tensor *= 2) {
            if (gpus % tensor == 0) {
                rc = price(m, gpus, tensor, err);
            }
        }
    }
    return rc;
}

/* Seconds of layer groups [from, to) as one stage (struct ty_chain). */
static double stage_seconds(const void *arg, uint32_t from, uint32_t to, uint32_t scheme,
                            uint32_t behind)
{
    const struct chain *m = arg;
    const struct scheme_cost *c = &m->cost[scheme];
    assert(from < to && scheme < m->n_schemes && behind > 0);
    const bool first = from == 0, last = to == m->groups;
    const uint32_t layers = layers_before(m, to) - layers_before(m, from);
    const double bytes = layers * (c->states_B + behind * c->kept_B) +
                         (first ? c->embedding_B : 0) + (last ? c->head_B : 0) +
                         fmax(c->brief_B, last ? c->loss_B : 0);
    return bytes > m->room * c->room_B ? HUGE_VAL : layers * c->layer_s + (last ? c->ends_s : 0);
}

static bool divide(uint32_t a, uint32_t b)
{
    return a % b == 0 || b % a == 0;
}

/* Seconds between two stages (struct ty_chain): hidden states forward and their gradients backward,
 * in slices over the thinner end. A part of a node does not lie across two nodes, and neighbours of
 * different shape have to divide each other. */
static double seconds_between(const void *arg, uint32_t at, uint32_t used, uint32_t before,
                              uint32_t after)
{
    const struct chain *m = arg;
    const struct ty_cluster *cluster = &m->space->base->cluster;
    const struct ty_arch *arch = &m->space->base->arch;
    const uint32_t a = m->scheme[before].devices, b = m->scheme[after].devices;
    const uint32_t fewer = a < b ? a : b;
    assert(before < m->n_schemes && after < m->n_schemes && used <= m->gpus);
    (void)at;
    if (!divide(a, b) || !divide(m->cost[before].data, m->cost[after].data) ||
        used % (b < m->node ? b : m->node) != 0) {
        return HUGE_VAL;
    }
    const double bytes = 2.0 * ty_dtype_bytes((enum ty_dtype)arch->dtype) * m->sequences *
                         arch->sequence * arch->hidden;
    const double nics = cluster->net.nics * cluster->net.nic_bandwidth;
    return used % m->node == 0 ? bytes / (nics * ((fewer + m->node - 1) / m->node))
                               : bytes / (cluster->nvlink.bandwidth * fewer);
}

/* ---- the chains ---- */

struct solved {
    struct chain *chain;
    struct ty_chain_result cut;
    double seconds; /* of a step, by the chain program */
};

struct finding {
    const struct ty_plan_space *space;
    struct solved *all;
    uint32_t n;
    double *step_s;
    struct ty_plan_uneven *out;
    struct ty_arena *arena;
    struct ty_err *err;
};

/* Returns whether stages of different shape can have the schedule and axes of a point. */
static bool can_differ(const struct ty_plan_point *p)
{
    const struct ty_sched_options options = {.name = p->schedule, .chunks = p->chunks};
    const struct ty_sched *sched = ty_sched_of(&options);
    return sched->placement == TY_PLACE_LOOPED && !sched->asynchronous && p->chunks <= 1 &&
           p->context == 1 && p->expert == 1 && p->tensor_scheme == TY_TENSOR_1D &&
           p->offload == TY_OFFLOAD_NONE && !p->sequence_parallel && p->order == 0;
}

static bool is_known(const struct finding *f, const struct ty_plan_point *p)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const struct ty_plan_point *q = f->all[i].chain->point;
        if (f->all[i].chain->sequences == p->micro_batch * p->data && q->zero == p->zero &&
            q->recompute == p->recompute && q->schedule == p->schedule) {
            return true;
        }
    }
    return false;
}

static int solve(struct finding *f, struct solved *x)
{
    struct chain *m = x->chain;
    const struct ty_chain chain = {.n_layers = m->groups,
                                   .n_devices = m->gpus,
                                   .n_stages = m->groups,
                                   .scheme = m->scheme,
                                   .n_schemes = m->n_schemes,
                                   .rounds = m->micro_batches - 1,
                                   .stage = stage_seconds,
                                   .between = seconds_between,
                                   .arg = m};
    struct ty_arena arena = {.head = NULL};
    const int rc = ty_chain(&chain, &x->cut, &arena);
    x->seconds = rc == 0 && x->cut.fits ? chain.rounds * x->cut.most + x->cut.sum : HUGE_VAL;
    if (rc == 0 && x->cut.fits) { /* the program's tables are released */
        struct ty_chain_stage *stage = ty_arena_array(f->arena, struct ty_chain_stage, m->groups);
        if (stage != NULL) {
            memcpy(stage, x->cut.stage, x->cut.n_stages * sizeof(*stage));
        }
        x->cut.stage = stage;
    }
    ty_arena_release(&arena);
    return rc < 0 || (x->cut.fits && x->cut.stage == NULL) ? ty_fail_memory(f->err) : 0;
}

/* Solves the chain of a point, unless an equal one is solved. */
static int ask(struct finding *f, const struct ty_plan_point *p)
{
    const struct ty_config *base = f->space->base;
    struct solved *x = &f->all[f->n];
    if (!can_differ(p) || is_known(f, p)) {
        return 0;
    }
    *x = (struct solved){.chain = ty_arena_array(f->arena, struct chain, 1)};
    if (x->chain == NULL) {
        return ty_fail_memory(f->err);
    }
    const uint32_t layers = base->arch.layers;
    *x->chain = (struct chain){.space = f->space,
                               .point = p,
                               .sequences = p->micro_batch * p->data,
                               .micro_batches = p->micro_batches,
                               .gpus = ty_plan_gpus(f->space),
                               .node = base->cluster.gpus_per_node,
                               .groups = layers < MESH_GROUPS ? layers : MESH_GROUPS,
                               .room = 1};
    f->n++;
    const int rc = price_schemes(x->chain, f->err);
    return rc < 0 ? rc : solve(f, x);
}

static int soonest(const void *a, const void *b)
{
    const struct solved *x = a, *y = b;
    return x->seconds < y->seconds ? -1
           : x->seconds > y->seconds
               ? 1
               : (x->chain->point > y->chain->point) - (x->chain->point < y->chain->point);
}

/* ---- simulation ---- */

/* Writes a partition as keys. */
static int word(struct finding *f, const struct solved *x, struct ty_plan_stages *out)
{
    const uint32_t n = x->cut.n_stages;
    uint32_t *layers = ty_arena_array(f->arena, uint32_t, n);
    uint32_t *tensor = ty_arena_array(f->arena, uint32_t, n);
    uint32_t *data = ty_arena_array(f->arena, uint32_t, n);
    if (layers == NULL || tensor == NULL || data == NULL) {
        return ty_fail_memory(f->err);
    }
    for (uint32_t s = 0, group = 0; s < n; s++) {
        const struct ty_chain_stage *stage = &x->cut.stage[s];
        const struct scheme_cost *cost = &x->chain->cost[stage->scheme];
        layers[s] = layers_before(x->chain, group + stage->layers) - layers_before(x->chain, group);
        tensor[s] = cost->tensor;
        data[s] = cost->data;
        group += stage->layers;
        assert(group <= x->chain->groups);
    }
    *out = (struct ty_plan_stages){.recompute = x->chain->point->recompute,
                                   .stage_layers = {n, layers},
                                   .stage_tensor = {n, tensor},
                                   .stage_data = {n, data},
                                   .micro_batch = x->chain->sequences / data[0]};
    return 0;
}

static int keep(struct finding *f, const struct solved *x, const struct ty_run *run,
                struct ty_plan_stages *stages)
{
    struct ty_figures figures;
    struct ty_bill bill;
    ty_run_numbers(run, &figures);
    assert(figures.step_s > 0);
    if (figures.step_s >= *f->step_s) {
        return 0;
    }
    ty_run_fullest(run, &bill);
    *f->step_s = stages->step_s = figures.step_s;
    stages->peak_B = bill.total_B;
    stages->capacity_B = bill.capacity_B;
    stages->found = f->out->found = true;
    f->out->point = (uint32_t)(x->chain->point - f->space->point);
    f->out->stages = *stages;
    return ty_plan_uneven_word(run->config, f->out, f->arena, f->err);
}

static bool has_room(const struct ty_plan_space *space, const struct ty_run *run)
{
    struct ty_bill bill;
    ty_run_fullest(run, &bill);
    return ty_run_fits(run) && !ty_plan_is_tight(space, bill.total_B, bill.capacity_B);
}

/* Returns 1 if the partition does not fit. */
static int simulate(struct finding *f, const struct solved *x)
{
    struct ty_plan_stages stages;
    struct ty_config config;
    struct ty_run *run = NULL;
    int rc = word(f, x, &stages);
    if (rc < 0) {
        return rc;
    }
    ty_plan_vary(f->space, x->chain->point, &config);
    ty_plan_stages_set(&stages, &config);
    if (ty_config_complete(&config, NULL) == 0) { /* not legal where the ends share weights */
        rc = ty_run_plan(&run, &config, NULL, f->err);
        rc = rc == 0 && !has_room(f->space, run) ? 1 : rc;
        if (rc == 0) {
            rc = ty_run_execute_folded(run, f->err);
            f->out->simulated++;
        }
        rc = rc == 0 ? keep(f, x, run, &stages) : rc;
    }
    ty_run_free(run);
    ty_config_drop(&config);
    return rc;
}

/* Simulates a partition, solved again with less room while it does not fit. */
static int try_cut(struct finding *f, struct solved *x)
{
    int rc = simulate(f, x);
    for (uint32_t i = 1; i < TRIES && rc == 1; i++) {
        x->chain->room *= TIGHTER;
        rc = solve(f, x);
        rc = rc == 0 && x->cut.fits ? simulate(f, x) : rc;
    }
    f->out->dealt++;
    return rc < 0 ? rc : 0;
}

/* Returns whether all layers are of one kind and the run file does not partition them. */
static bool is_asked(const struct ty_plan_space *space)
{
    const struct ty_layout *given = &space->base->given.layout;
    const struct ty_arch *arch = &space->base->arch;
    return given->stage_layers.n == 0 && given->recompute_layers.n == 0 && !ty_arch_is_moe(arch) &&
           ty_arch_layer_kinds(arch) == 1 && arch->mtp == 0;
}

static bool stops(const volatile int *stop)
{
    return stop != NULL && *stop != 0;
}

int ty_plan_meshes(const struct ty_plan_space *space, double *step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    struct finding f = {.space = space, .step_s = step_s, .out = out, .arena = arena, .err = err};
    int rc = 0;
    if (ty_plan_gpus(space) > MESH_GPUS) {
        return ty_fail(err, TY_EUSAGE,
                       "--meshes: parts of %u GPUs are looked at, at most, and there are %u; leave "
                       "it out",
                       MESH_GPUS, (unsigned)ty_plan_gpus(space));
    }
    if (!is_asked(space)) {
        return 0;
    }
    f.all = ty_arena_array(arena, struct solved, (size_t)space->n_points + 1);
    if (f.all == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < space->n_points && rc == 0 && !stops(stop); i++) {
        rc = ask(&f, &space->point[i]);
    }
    qsort(f.all, f.n, sizeof(*f.all), soonest);
    for (uint32_t i = 0; i < f.n && i < most && rc == 0 && !stops(stop); i++) {
        rc = f.all[i].seconds < HUGE_VAL ? try_cut(&f, &f.all[i]) : 0;
    }
    return rc;
}
