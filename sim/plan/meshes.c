/* meshes.c - see meshes.h. */
#include "sim/plan/meshes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config/vary.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"

#define TIGHTER 0.95 /* of the room, when a bill finds too little of it: guess */
#define TRIES   4u

/* A chain that was solved. */
struct solved {
    struct ty_mesh_chain *chain;
    struct ty_chain_result cut;
    double seconds; /* that the chain says of a step */
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

/* Whether stages of a point's kind can be of different shape. */
static bool can(const struct ty_plan_point *p)
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
    struct ty_mesh_chain *m = x->chain;
    const struct ty_chain chain = {.n_layers = m->groups,
                                   .n_devices = m->gpus,
                                   .n_stages = m->groups,
                                   .scheme = m->scheme,
                                   .n_schemes = m->n_schemes,
                                   .rounds = m->micro_batches - 1,
                                   .stage = ty_mesh_stage,
                                   .between = ty_mesh_between,
                                   .arg = m};
    struct ty_arena arena = {.head = NULL};
    const int rc = ty_chain(&chain, &x->cut, &arena);
    x->seconds = rc == 0 && x->cut.fits ? chain.rounds * x->cut.most + x->cut.sum : HUGE_VAL;
    if (rc == 0 && x->cut.fits) { /* the tables of the program go */
        struct ty_chain_stage *stage = ty_arena_array(f->arena, struct ty_chain_stage, m->groups);
        if (stage != NULL) {
            memcpy(stage, x->cut.stage, x->cut.n_stages * sizeof(*stage));
        }
        x->cut.stage = stage;
    }
    ty_arena_release(&arena);
    return rc < 0 || (x->cut.fits && x->cut.stage == NULL) ? ty_fail_memory(f->err) : 0;
}

/* What a point asks, unless another has. */
static int ask(struct finding *f, const struct ty_plan_point *p)
{
    const struct ty_config *base = f->space->base;
    struct solved *x = &f->all[f->n];
    if (!can(p) || is_known(f, p)) {
        return 0;
    }
    *x = (struct solved){.chain = ty_arena_array(f->arena, struct ty_mesh_chain, 1)};
    if (x->chain == NULL) {
        return ty_fail_memory(f->err);
    }
    const uint32_t layers = base->arch.layers;
    *x->chain = (struct ty_mesh_chain){.space = f->space,
                                       .point = p,
                                       .sequences = p->micro_batch * p->data,
                                       .micro_batches = p->micro_batches,
                                       .gpus = ty_plan_gpus(f->space),
                                       .node = base->cluster.gpus_per_node,
                                       .groups = layers < TY_MESH_GROUPS ? layers : TY_MESH_GROUPS,
                                       .room = 1};
    f->n++;
    const int rc = ty_mesh_price(x->chain, f->err);
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

/* ---- simulated ---- */

/* A cut as keys. */
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
        const struct ty_mesh_cost *cost = &x->chain->cost[stage->scheme];
        layers[s] =
            ty_mesh_layers(x->chain, group + stage->layers) - ty_mesh_layers(x->chain, group);
        tensor[s] = cost->tensor;
        data[s] = cost->data;
        group += stage->layers;
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

/* 1: it does not fit. */
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
    if (ty_config_complete(&config, NULL) == 0) { /* else no layout: ends that share weights */
        rc = ty_run_plan(&run, &config, NULL, f->err);
        rc = rc == 0 && !ty_run_fits(run) ? 1 : rc;
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

/* With less room as long as a bill finds too little. */
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

/* Whether costs are those of one kind of layer, and nobody has dealt them. */
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
    if (ty_plan_gpus(space) > TY_MESH_GPUS) {
        return ty_fail(err, TY_EUSAGE,
                       "--meshes: parts of %u GPUs are looked at, at most, and there are %u; leave "
                       "it out",
                       TY_MESH_GPUS, (unsigned)ty_plan_gpus(space));
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
