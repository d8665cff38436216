/* run.c - configuration to program, program to timeline. */
#include "sim/run/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/base/clock.h"
#include "sim/base/machine.h"
#include "sim/base/noise.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/core/deadlock/mismatch.h"
#include "sim/core/deadlock/stall.h"
#include "sim/core/execute/fold.h"
#include "sim/core/execute/shorten.h"
#include "sim/exchange/read/plan.h"
#include "sim/run/bill.h"
#include "sim/run/jobs.h"
#include "sim/run/limits.h"
#include "sim/run/links.h"
#include "sim/run/offload.h"
#include "sim/run/uneven.h"
#include "topology/exceptions.h"

/* ---- limits of this machine ---- */

#define SHARE       0.8 /* of the machine's memory: the rest is for the system and others */
#define LITTLE      (32.0 * 1024 * 1024) /* B */
#define PASS_MARKS  5.0  /* B of a pass while orders are made: model/lower/lower.c */
#define LINK_LOAD_B 60.0 /* of an operation of one rank, where ranks differ; measured, see docs */
/* Of an operation of one rank of each gang, where that is all that is executed: what a report keeps
 * while it looks at shared links, and else; measured. */
#define REPORT_LINKS_B 18.0
#define REPORT_B       5.0
#define GPU_B          200.0 /* of the plan of a GPU: links, ranks, groups; least measured */

static const char remedy[] =
    "simulate fewer run.steps, a smaller layout.global_batch (of sequences, not "
    "tokens), or larger micro-batches";

/* What is so little is not asked for: sweeps make thousands of small runs a second. */
static bool is_little(double given, double need)
{
    return given <= 0 && need <= LITTLE;
}

static double given_limit(const struct ty_config *config)
{
    return config != NULL ? config->run.memory_limit : 0;
}

bool ty_limit_allows(const struct ty_config *config, double need)
{
    const double given = given_limit(config);
    return is_little(given, need) ||
           need <= (given > 0 ? given : SHARE * ty_machine_memory().bytes);
}

int ty_limit_check(const struct ty_config *config, const char *what, double need, double held,
                   const char *how, struct ty_err *err)
{
    if (ty_limit_allows(config, need + held)) {
        return 0;
    }
    const struct ty_machine_memory machine = ty_machine_memory();
    const double given = given_limit(config);
    const double limit = given > 0 ? given : SHARE * machine.bytes;
    char a[64], b[64], c[64], beside[128] = "", of[160] = "run.memory_limit";
    if (held > 0) {
        (void)snprintf(beside, sizeof(beside), " beside the %s that are taken already",
                       ty_words_bytes(held, c, sizeof(c)));
    }
    if (given <= 0) {
        (void)snprintf(of, sizeof(of), "80 %% of %s", machine.of);
    }
    return ty_fail(err, TY_ELIMIT, "%s would take about %s%s, more than %s (%s); %s%s", what,
                   ty_words_bytes(need, a, sizeof(a)), beside, of,
                   ty_words_bytes(limit, b, sizeof(b)), how,
                   config != NULL ? ", or raise run.memory_limit" : "");
}

/* The same of a program that is yet to be made, and of its timeline: the least that both take. */
static int limit_check_plan(const struct ty_config *config, bool folded, struct ty_err *err)
{
    const struct ty_layout *layout = &config->layout;
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&config->schedule, layout->pipeline, layout->micro_batches);
    const double members = ty_layout_most_members(layout);
    /* a forward and a backward of every micro-batch, in which every layer is one operation at
     * least; schedules that split the backward have more */
    const double pieces = 2.0 * config->run.steps * shape.m * shape.slices;
    const double passes = pieces * shape.p * shape.v, tasks = pieces * config->arch.layers;
    const double need =
        passes * sizeof(struct ty_pass) + tasks * (folded ? 1 : members) * sizeof(ty_ps) +
        members * shape.p * GPU_B +
        passes / config->run.steps * (3 * sizeof(struct ty_slot) / 2.0 + PASS_MARKS);
    char what[96], count[64];
    (void)snprintf(what, sizeof(what), "a run of %s tasks at least",
                   ty_words_count(tasks * members, count, sizeof(count)));
    return ty_limit_check(config, what, need, 0, remedy, err);
}

/* Columns of a timeline: starts, and durations where they are not those of the program. */
static double columns_B(bool varies, bool links)
{
    return varies || links ? 2 * sizeof(ty_ps) : sizeof(ty_ps);
}

/* What a report of a folded run keeps next to its columns: statistics of so many ranks. */
static double report_B(bool links, double ops, double ranks)
{
    return ranks * sizeof(struct ty_rank_stats) + (links ? REPORT_LINKS_B : REPORT_B) * ops;
}

static int limit_allow(const void *arg, const struct ty_lower_size *size, struct ty_err *err)
{
    const struct ty_limit_plan *plan = arg;
    const struct ty_config *c = plan->config;
    const bool links = c->run.contention && c->run.engine != (int)TY_ENGINE_SWEEP && size->flows;
    const double tasks = size->ops * size->members, executed = plan->folded ? size->ops : tasks;
    const bool varies = c->run.jitter > 0 || c->run.gpu_spread > 0 || c->run.slow_hosts > 0 ||
                        c->routing.method != TY_TOKENS_BALANCED || c->packing.n > 0;
    const double loads = links && varies && !plan->folded ? LINK_LOAD_B * size->most : 0;
    const double report = plan->report ? report_B(links, size->ops, 0) : 0;
    const double held =
        size->passes * sizeof(struct ty_pass) + executed * columns_B(varies, links) + report;
    char what[96], count[64];
    if (ty_limit_allows(c, held + loads)) {
        return 0;
    }
    (void)snprintf(what, sizeof(what), "a run of about %s tasks",
                   ty_words_count(tasks / size->share, count, sizeof(count)));
    return ty_limit_check(c, what, held / size->share + loads, 0, remedy, err);
}

double ty_limit_execution_B(const struct ty_config *config, const struct ty_program *p,
                            const struct ty_limit_use *use)
{
    const bool shares = config->run.contention && use->engine != TY_ENGINE_SWEEP;
    const bool varies = ty_program_varies(p), links = shares && p->n_flows > 0;
    double ops = 0, most = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        ops += p->gangs[g].n_ops;
        most = p->gangs[g].n_ops > most ? p->gangs[g].n_ops : most;
    }
    const double columns = columns_B(varies, links);
    const double of_fold = links && ty_program_folds(p) ? columns * ops : 0;
    const double of_loads = links && varies ? LINK_LOAD_B * most : 0;
    const bool alike = !config->layout.unlike && config->workload.job == NULL;
    const double report = use->report ? report_B(links, ops, alike ? p->n_gangs : p->n_ranks) : 0;
    return use->folded ? columns * ops + report
                       : columns * (double)p->n_tasks + (of_fold > of_loads ? of_fold : of_loads);
}

int ty_limit_check_program(const struct ty_config *config, const struct ty_program *p,
                           const struct ty_limit_use *use, struct ty_err *err)
{
    char what[96], count[64];
    (void)snprintf(what, sizeof(what), "a run of %s tasks",
                   ty_words_count((double)p->n_tasks * (use->times > 0 ? use->times : 1), count,
                                  sizeof(count)));
    return ty_limit_check(config, what, use->plan + ty_limit_execution_B(config, p, use), use->held,
                          remedy, err);
}

/* ---- memory and drives of nodes ----
 *
 * The memory and the drives of a node, and what its ranks keep there.
 *
 * Ranks of several stages share a node: what it holds is the sum over all of them. */

static void add_states(struct ty_offload_memory *bill, const struct ty_state_bytes *s)
{
    bill->weights_B += s->weights;
    bill->grads_B += s->grads;
    bill->optimizer_B += s->optimizer;
    bill->total_B += s->weights + s->grads + s->optimizer;
    bill->ranks++;
}

/* A rank of a stage joins its node. */
static void add_rank(struct ty_offload_memory node[TY_N_OFFLOAD_TIERS],
                     const struct ty_stage_plan *plan, struct ty_offload_memory *activations)
{
    add_states(&node[TY_OFFLOAD_HOST], &plan->away.host);
    add_states(&node[TY_OFFLOAD_NVME], &plan->away.nvme);
    node[TY_OFFLOAD_HOST].pinned_B += plan->pinned_B;
    node[TY_OFFLOAD_HOST].total_B += plan->pinned_B;
    activations->activations_B += plan->stashed_B;
    activations->total_B += plan->stashed_B;
}

static void add_ranks(const struct ty_run *run,
                      struct ty_offload_memory (*node)[TY_N_OFFLOAD_TIERS])
{
    const struct ty_grid *grid = &run->lowered.grid;
    const bool far = run->config->layout.home.activations == TY_HOME_NVME;
    for (uint32_t rank = 0; rank < grid->n_ranks; rank++) {
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(grid, rank, coord);
        struct ty_offload_memory *own = node[ty_grid_node(grid, rank)];
        add_rank(own, &run->lowered.stage[coord[TY_AXIS_PIPELINE]],
                 &own[far ? TY_OFFLOAD_NVME : TY_OFFLOAD_HOST]);
    }
}

/* Of both tiers, into run->away; NULL where nothing is kept there. 0 or TY_ENOMEM. */
static int run_find_offload(struct ty_run *run, struct ty_err *err)
{
    const struct ty_cluster *cluster = &run->config->cluster;
    const uint32_t nodes = ty_grid_nodes(&run->lowered.grid);
    if (!ty_layout_is_offloaded(&run->config->layout)) {
        return 0;
    }
    struct ty_offload_memory(*node)[TY_N_OFFLOAD_TIERS] = calloc(nodes, sizeof(*node));
    run->away = ty_arena_array(&run->arena, struct ty_offload_memory, TY_N_OFFLOAD_TIERS);
    if (node == NULL || run->away == NULL) {
        free(node);
        return ty_fail_memory(err);
    }
    add_ranks(run, node);
    for (uint32_t i = 0; i < nodes; i++) {
        for (int tier = 0; tier < TY_N_OFFLOAD_TIERS; tier++) {
            node[i][tier].node = i;
            if (node[i][tier].total_B > run->away[tier].total_B) {
                run->away[tier] = node[i][tier];
            }
        }
    }
    free(node);
    run->away[TY_OFFLOAD_HOST].tier = "host";
    run->away[TY_OFFLOAD_HOST].key = "cluster.host.memory";
    run->away[TY_OFFLOAD_HOST].capacity_B = cluster->host.memory;
    run->away[TY_OFFLOAD_NVME].tier = "nvme";
    run->away[TY_OFFLOAD_NVME].key = "cluster.nvme.capacity";
    run->away[TY_OFFLOAD_NVME].capacity_B = cluster->nvme.capacity;
    return 0;
}

/* Of the states that ranks of each stage have in the memory of their nodes, the share that there is
 * room for on all of these: 0..1 into share[stages]. 0 or TY_ENOMEM. */
static int run_host_shares(const struct ty_run *run, double *share, struct ty_err *err)
{
    const struct ty_grid *grid = &run->lowered.grid;
    struct ty_offload_memory(*node)[TY_N_OFFLOAD_TIERS] =
        calloc(ty_grid_nodes(grid), sizeof(*node));
    if (node == NULL) {
        return ty_fail_memory(err);
    }
    add_ranks(run, node);
    for (uint32_t stage = 0; stage < run->lowered.program.n_gangs; stage++) {
        share[stage] = 1;
    }
    for (uint32_t rank = 0; rank < grid->n_ranks; rank++) {
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(grid, rank, coord);
        const struct ty_offload_memory *host = &node[ty_grid_node(grid, rank)][TY_OFFLOAD_HOST];
        const double states = host->weights_B + host->grads_B + host->optimizer_B;
        const double room = run->config->cluster.host.memory - (host->total_B - states);
        double *own = &share[coord[TY_AXIS_PIPELINE]];
        *own = states > 0 ? fmin(*own, fmax(0, room / states)) : *own;
    }
    free(node);
    return 0;
}

const struct ty_offload_memory *ty_run_offload_short(const struct ty_run *run)
{
    for (int tier = 0; run->away != NULL && tier < TY_N_OFFLOAD_TIERS; tier++) {
        if (run->away[tier].total_B > run->away[tier].capacity_B) {
            return &run->away[tier];
        }
    }
    return NULL;
}

/* ---- loads of links ---- */

struct ty_run_link_load {
    struct ty_arena arena; /* of what follows */
    struct ty_link_load load;
    struct ty_timeline times; /* of a timeline that was shortened: all of them */
    bool found;
};

/* Where a run keeps it; NULL: no memory. */
static struct ty_run_link_load *run_link_load_new(struct ty_arena *arena)
{
    return ty_arena_array(arena, struct ty_run_link_load, 1);
}

void ty_run_link_load_forget(struct ty_run_link_load *load)
{
    if (load != NULL) {
        ty_arena_release(&load->arena);
        ty_timeline_release(&load->times);
        *load = (struct ty_run_link_load){.found = false};
    }
}

const struct ty_timeline *ty_run_link_times(const struct ty_run *run)
{
    return run->all.whole != NULL ? &run->link_load->times : &run->all;
}

static int find_times(const struct ty_run *run, struct ty_err *err)
{
    struct ty_timeline *times = &run->link_load->times;
    if (run->all.whole == NULL) {
        return 0;
    }
    const int rc = ty_timeline_init(times, run->all.whole, err);
    return rc < 0 ? rc : ty_timeline_lengthen(times, &run->all, err);
}

static int find_link_load(const struct ty_run *run, struct ty_err *err)
{
    struct ty_link_load *load = &run->link_load->load;
    struct ty_arena *arena = &run->link_load->arena;
    const struct ty_program *p = ty_run_program(run);
    const struct ty_contention *shared = &run->shared;
    struct ty_contention of_fold;
    int rc = ty_link_load_init(load, p, arena, err);
    load->lockstep = run->lockstep;
    load->twins = run->n_twins;
    if (rc == 0 && shared->n_links > 0 && run->lockstep) {
        rc = ty_contention_find(&of_fold, &run->folded, arena, err);
        shared = &of_fold;
        p = &run->folded;
    }
    if (rc == 0) {
        rc = find_times(run, err);
    }
    return rc < 0 ? rc : ty_link_load_replay(load, p, shared, ty_run_link_times(run), arena, err);
}

int ty_run_link_load(const struct ty_run *run, const struct ty_link_load **load, struct ty_err *err)
{
    *load = &run->link_load->load;
    if (run->link_load->found) {
        return 0;
    }
    const int rc = find_link_load(run, err);
    if (rc < 0) {
        ty_run_link_load_forget(run->link_load);
    }
    run->link_load->found = rc == 0;
    return rc;
}

/* ---- memory that a step leaves, for what lives in it off the GPU (layout.offload gemini) ---- */

/* Sums of many ranks are as exact as that. */
#define ROUNDING 1e-9

/* [stages] of layout.offload_room of the smallest GPU's memory what is left next to the peak of all
 * that is no chunk, activations and buffers, which is what `warm` holds, planned without room; and
 * of the memory of nodes as much as anyone wants. NULL: no memory. */
static struct ty_lower_room *run_spare_memory(const struct ty_run *warm, struct ty_arena *arena)
{
    const uint32_t n = warm->lowered.program.n_gangs;
    const double filled = warm->config->layout.offload_room;
    const double fragmentation =
        ty_memory_fragmentation(&warm->config->cluster, &warm->config->layout);
    struct ty_lower_room *room = ty_arena_array(arena, struct ty_lower_room, n);
    for (uint32_t stage = 0; room != NULL && stage < n; stage++) {
        struct ty_bill bill;
        ty_run_bill(warm, stage, &bill);
        const double left = filled * bill.capacity_B - bill.total_B;
        room[stage].gpu_B = fmax(0, left) / (1 + fragmentation);
        room[stage].host_B = INFINITY;
    }
    return room;
}

/* Where nodes with drives are too small for the chunks of a plan: what each rank has of them, all
 * in proportion to what they want. *small: some are. 0 or TY_ENOMEM. */
static int run_host_rooms(const struct ty_run *run, struct ty_lower_room *room, bool *small,
                          struct ty_err *err)
{
    const uint32_t n = run->lowered.program.n_gangs;
    *small = false;
    if (run->config->cluster.nvme.capacity <= 0 || ty_run_offload_short(run) == NULL) {
        return 0;
    }
    double *share = calloc(n, sizeof(*share));
    const int rc = share == NULL ? ty_fail_memory(err) : run_host_shares(run, share, err);
    for (uint32_t stage = 0; rc == 0 && stage < n; stage++) {
        const struct ty_state_bytes *s = &run->lowered.stage[stage].away.host;
        if (share[stage] < 1) {
            room[stage].host_B =
                (1 - ROUNDING) * share[stage] * (s->weights + s->grads + s->optimizer);
            *small = true;
        }
    }
    free(share);
    return rc;
}

/* ---- unequal stages ---- */

/* Bytes of the rows of a layer with experts at the moment of the bill, with a balanced load. */
struct layer {
    double held;      /* from forwards to backwards */
    double brief;     /* while the layer runs backward; 0: it does not, */
    double with_room; /* and of what there is more room for than that */
};

struct moment {
    const struct ty_run *run;
    const struct ty_gang *gang;
    const struct ty_bill *bill;
    struct ty_tensors tensors;
    uint32_t stages, slices;
};

/* The virtual stage of a layer; further modules are on the last. */
static uint32_t stage_of(const struct moment *at, uint32_t layer)
{
    const struct ty_config *c = at->run->config;
    uint32_t stage = 0;
    while (stage + 1 < at->stages) {
        const struct ty_layers own = ty_layout_layers(&c->layout, &c->arch, at->stages, stage);
        if (layer < own.first + own.count) {
            break;
        }
        stage++;
    }
    return stage;
}

static struct layer layer_at(const struct moment *at, uint32_t number)
{
    const struct ty_bill *bill = at->bill;
    const struct ty_config *c = at->run->config;
    const uint32_t stage = stage_of(at, number);
    const struct ty_layers layers = ty_layout_layers(&c->layout, &c->arch, at->stages, stage);
    const enum ty_unit_kind kind = ty_layer_kind(&c->arch, &layers, number - layers.first);
    const bool here = bill->pass->stage == stage;
    const bool runs = here && bill->kind == TY_PEAK_LAYER && bill->layer == kind;
    const bool behind = here && bill->pass->phase == TY_PHASE_DGRAD && number > bill->layer_number;
    struct ty_held held = ty_run_held(at->run, at->gang, stage, bill->pass);
    struct layer out = {.held = 0};
    held.kept -= behind;
    held.waiting += behind;
    for (uint32_t i = 0; i < at->tensors.n; i++) {
        const struct ty_tensor *x = &at->tensors.item[i];
        const double bytes = x->unit == kind ? x->routed / at->slices : 0;
        out.held += bytes * (x->life == TY_LIFE_KEPT ? held.kept : 0);
        out.held += bytes * (ty_tensor_waits(x) ? held.waiting : 0);
        if (x->life != TY_LIFE_KEPT && x->life != TY_LIFE_WEIGHT && runs) {
            *(x->bytes > x->routed ? &out.with_room : &out.brief) += bytes;
        }
    }
    return out;
}

/* The member that holds most. `layers`: [n_loads] */
static void find_fullest(const struct moment *at, const struct ty_stage_plan *plan,
                         const struct layer *layers, struct ty_uneven *out)
{
    const double room = at->run->config->layout.framework.dispatch_buffer;
    for (uint32_t m = 0; m < at->gang->n_ranks; m++) {
        double held = 0, rows = 0, brief = 0;
        for (uint32_t i = 0; i < plan->n_loads; i++) {
            const struct layer *layer = &layers[i];
            const double load = plan->load[i].rows[m] / plan->load[i].mean;
            held += layer->held;
            rows += layer->held * load;
            brief =
                fmax(brief, layer->brief * (load - 1) + layer->with_room * fmax(load - room, 0));
        }
        if (m == 0 || rows - held + brief > out->bytes) {
            *out = (struct ty_uneven){.bytes = rows - held + brief,
                                      .rank = at->gang->rank_of[m],
                                      .load = held > 0 ? rows / held : 1};
        }
    }
}

static int find_stage(const struct ty_run *run, uint32_t stage, struct ty_uneven *out,
                      struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_config *c = run->config;
    const struct ty_stage_plan *plan = &run->lowered.stage[stage];
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&c->schedule, c->layout.pipeline, c->layout.micro_batches);
    struct ty_bill bill;
    struct moment at = {.run = run,
                        .gang = &run->lowered.program.gangs[stage],
                        .bill = &bill,
                        .stages = ty_sched_stages(&shape),
                        .slices = shape.slices};
    struct layer *layers = ty_arena_array(arena, struct layer, (size_t)plan->n_loads + 1);
    if (layers == NULL) {
        return ty_fail_memory(err);
    }
    ty_run_bill(run, stage, &bill);
    ty_memory_tensors(run->lowered.units, &at.tensors);
    for (uint32_t i = 0; i < plan->n_loads; i++) {
        layers[i] = layer_at(&at, plan->load[i].layer);
    }
    *out = (struct ty_uneven){.bytes = 0};
    find_fullest(&at, plan, layers, out);
    return 0;
}

/* Of every stage, into run->uneven; NULL where all ranks get as much. 0 or TY_ENOMEM. */
static int run_find_uneven(struct ty_run *run, struct ty_err *err)
{
    const uint32_t n = run->lowered.program.n_gangs;
    struct ty_arena scratch = {.head = NULL};
    struct ty_uneven *all = NULL;
    bool any = false;
    for (uint32_t s = 0; s < n; s++) {
        any = any || run->lowered.stage[s].n_loads > 0;
    }
    if (!any) {
        return 0;
    }
    all = ty_arena_array(&run->arena, struct ty_uneven, n);
    int rc = all != NULL ? 0 : ty_fail_memory(err);
    for (uint32_t s = 0; s < n && rc == 0; s++) {
        rc = find_stage(run, s, &all[s], &scratch, err);
    }
    ty_arena_release(&scratch);
    run->uneven = rc == 0 ? all : NULL; /* bills until here were those of mean ranks */
    return rc;
}

/* ---- jobs of others ---- */

/* Factors of GPUs that are slower than the cluster's; NULL: none is. */
static int find_slow(struct ty_traced_plan *plan, const struct ty_run_options *o)
{
    const struct ty_cluster *cluster = plan->cluster;
    const bool given = cluster->exceptions != NULL && cluster->exceptions->gpu_speed != NULL;
    if (!given && o->slow_hosts <= 0) {
        return 0;
    }
    double *slow = ty_arena_array(plan->arena, double, plan->job->n_ranks);
    for (uint32_t rank = 0; slow != NULL && rank < plan->job->n_ranks; rank++) {
        slow[rank] =
            ty_noise_slow_host(o->slow_hosts, o->slow_by, o->seed, rank / cluster->gpus_per_node) /
            ty_exceptions_gpu_speed(cluster, rank);
    }
    plan->slow_of = slow;
    return slow != NULL ? 0 : ty_fail_memory(plan->err);
}

/* traced.c: the same where a trace of others takes the place of a model. */
static int run_lower_traced(const struct ty_config *config, const struct ty_cluster *cluster,
                            struct ty_lowered *out, struct ty_arena *arena, struct ty_err *err)
{
    static const int order[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA,
                                         TY_AXIS_PIPELINE};
    struct ty_traced_plan plan = {.job = config->workload.job,
                                  .cluster = cluster,
                                  .jitter = {.seed = config->run.seed,
                                             .cv = config->run.jitter,
                                             .spread = config->run.gpu_spread,
                                             .group = TY_NONE},
                                  .arena = arena,
                                  .err = err};
    const uint32_t n = plan.job->n_ranks;
    const uint32_t size[TY_N_AXES] = {
        [TY_AXIS_TENSOR] = 1, [TY_AXIS_CONTEXT] = 1, [TY_AXIS_DATA] = 1, [TY_AXIS_PIPELINE] = n};
    *out = (struct ty_lowered){.window = TY_WINDOW_ALL,
                               .stage = ty_arena_array(arena, struct ty_stage_plan, n)};
    if (out->stage == NULL) {
        return ty_fail_memory(err);
    }
    ty_grid_init(&out->grid, size, order, cluster->gpus_per_node);
    int rc = ty_fabric_build(&out->fabric, cluster, &config->fabric, 0, false, arena, err);
    rc = rc < 0 ? rc : find_slow(&plan, &config->run);
    rc = rc < 0 ? rc : ty_traced_meet(&plan);
    rc = rc < 0 ? rc : ty_traced_order(&plan);
    return rc < 0 ? rc : ty_traced_program(&plan, &out->fabric, &out->program);
}

int ty_run_check_model(const struct ty_run *run, const char *what, struct ty_err *err)
{
    return run->config->workload.job == NULL
               ? 0
               : ty_fail(err, TY_EUSAGE, "%s needs a model, and an imported workload has none",
                         what);
}

/* ---- the run ---- */

/* For a debug build, of a program whose gangs have all their members: stages may have different
 * numbers of them. */
static bool all_match(const struct ty_program *program)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_mismatch mismatch;
    const bool found = ty_mismatch_find(&mismatch, program, &arena, NULL) == 0 && mismatch.n > 0;
    ty_arena_release(&arena);
    return !found;
}

static int lower(const struct ty_config *c, const struct ty_cluster *cluster,
                 const struct ty_limit_plan *limit, struct ty_price_book *book, bool window,
                 const struct ty_lower_room *room, struct ty_lowered *out, struct ty_arena *arena,
                 struct ty_err *err)
{
    if (c->workload.job != NULL) {
        return run_lower_traced(c, cluster, out, arena, err);
    }
    const struct ty_lower_input in = {
        .book = book,
        .room = room,
        .allow = limit != NULL ? limit_allow : NULL,
        .allow_arg = limit,
        .cluster = cluster,
        .fabric = &c->fabric,
        .arch = &c->arch,
        .layout = &c->layout,
        .schedule = &c->schedule,
        .routing = &c->routing,
        .packing = &c->packing,
        .steps = c->run.steps,
        .messages = c->run.detail == TY_RUN_STEPS,
        .tiers = ty_run_jobs_tiers(c),
        .window = window,
        .told = limit != NULL && limit->report,
        .seed = c->run.seed,
        .jitter = c->run.jitter,
        .gpu_spread = c->run.gpu_spread,
        .slow_hosts = c->run.slow_hosts,
        .slow_by = c->run.slow_by,
    };
    const int rc = ty_lower(out, &in, arena, err);
    TY_DEBUG_CHECK(rc < 0 || !out->program.matched || all_match(&out->program));
    return rc;
}

int ty_run_lower(const struct ty_config *config, const struct ty_cluster *cluster,
                 struct ty_lowered *out, struct ty_arena *arena, struct ty_err *err)
{
    return lower(config, cluster, NULL, NULL, false, NULL, out, arena, err);
}

void ty_run_stop(struct ty_run *run, const volatile int *stop)
{
    run->progress.stop = stop;
}

void ty_run_threads(struct ty_run *run, uint32_t threads)
{
    run->threads = threads;
}

int ty_run_make_whole(struct ty_run *run, struct ty_err *err)
{
    const struct ty_limit_plan limit = {.config = run->config, .folded = true};
    return run->lowered.window.times == 1
               ? 0
               : lower(run->config, &run->config->cluster, &limit, NULL, false, run->room,
                       &run->lowered, &run->arena, err);
}

/* The program, and what the fullest ranks hold. */
static int make_program(struct ty_run *run, const struct ty_limit_plan *limit,
                        struct ty_price_book *book, bool window, struct ty_err *err)
{
    int rc = lower(run->config, &run->config->cluster, limit, book, window, run->room,
                   &run->lowered, &run->arena, err);
    if (rc == 0 && !ty_program_folds(&run->lowered.program)) {
        rc = ty_run_make_whole(run, err);
    }
    return rc < 0 ? rc : run_find_uneven(run, err);
}

/* What every node and GPU holds. Where a warm-up has been made and nodes turn out to be too small,
 * once more, with drives. */
static int make_fitting(struct ty_run *run, struct ty_lower_room *room,
                        const struct ty_limit_plan *limit, struct ty_price_book *book, bool window,
                        struct ty_err *err)
{
    bool small = false;
    run->room = room;
    int rc = make_program(run, limit, book, window, err);
    rc = rc < 0 ? rc : run_find_offload(run, err);
    rc = rc < 0 || room == NULL ? rc : run_host_rooms(run, room, &small, err);
    if (rc == 0 && small) {
        rc = make_program(run, limit, book, window, err);
        rc = rc < 0 ? rc : run_find_offload(run, err);
    }
    return rc;
}

/* What there is room for, where that is asked for. */
static int warm_up(struct ty_run *run, const struct ty_limit_plan *limit,
                   struct ty_price_book *book, bool window, struct ty_lower_room **room,
                   struct ty_err *err)
{
    struct ty_run warm = {.config = run->config};
    *room = NULL;
    if (run->config->layout.offload != TY_OFFLOAD_GEMINI) {
        return 0;
    }
    int rc = make_program(&warm, limit, book, window, err);
    if (rc == 0) {
        *room = run_spare_memory(&warm, &run->arena);
        rc = *room == NULL ? ty_fail_memory(err) : 0;
    }
    ty_arena_release(&warm.arena);
    return rc;
}

/* `limit`: of what is going to be executed; `window`: of ranks that others repeat, if they do. */
static int plan(struct ty_run **out, const struct ty_limit_plan *limit, struct ty_price_book *book,
                bool window, struct ty_err *err)
{
    const struct ty_config *config = limit->config;
    const double t0 = ty_wall_s();
    struct ty_lower_room *room = NULL;
    struct ty_run *run = calloc(1, sizeof(*run));
    *out = NULL;
    if (run == NULL) {
        return ty_fail_memory(err);
    }
    run->config = config;
    run->link_load = run_link_load_new(&run->arena);
    int rc = run->link_load != NULL ? 0 : ty_fail_memory(err);
    if (rc == 0) {
        rc = limit_check_plan(config, limit->folded, err);
    }
    rc = rc < 0 ? rc : warm_up(run, limit, book, window, &room, err);
    rc = rc < 0 ? rc : make_fitting(run, room, limit, book, window, err);
    rc = rc < 0 || config->n_jobs == 0 ? rc : ty_run_jobs_new(run, err);
    if (rc < 0) {
        ty_run_free(run);
        return rc;
    }
    run->plan_s = ty_wall_s() - t0;
    *out = run;
    return 0;
}

int ty_run_plan(struct ty_run **out, const struct ty_config *config, struct ty_price_book *book,
                struct ty_err *err)
{
    const struct ty_limit_plan limit = {.config = config, .folded = true};
    return plan(out, &limit, book, config->n_jobs == 0, err);
}

/* Whether ranks may turn out to be alike, as far as the run file alone can tell. */
static bool may_fold(const struct ty_config *c)
{
    return c->n_jobs == 0 && c->run.jitter <= 0 && c->run.gpu_spread <= 0 &&
           c->run.slow_hosts <= 0 && c->run.detail != TY_RUN_STEPS &&
           c->routing.method == TY_TOKENS_BALANCED && c->packing.n == 0;
}

static int make(struct ty_run **out, const struct ty_config *config, bool window,
                struct ty_err *err)
{
    const bool folded = may_fold(config);
    const struct ty_limit_plan limit = {.config = config, .folded = folded, .report = folded};
    int rc = plan(out, &limit, NULL, window && folded, err);
    if (rc == 0) {
        const struct ty_program *p = &(*out)->lowered.program;
        const struct ty_limit_use use = {.engine = (enum ty_engine)config->run.engine,
                                         .folded = folded && ty_program_folds(p),
                                         .report = true,
                                         .times = (*out)->lowered.window.times,
                                         .plan = (double)(*out)->arena.total};
        rc = ty_limit_check_program(config, p, &use, err);
    }
    if (rc < 0) {
        ty_run_free(*out);
        *out = NULL;
    }
    return rc;
}

int ty_run_new(struct ty_run **out, const struct ty_config *config, struct ty_err *err)
{
    return make(out, config, false, err);
}

int ty_run_outline(struct ty_run **out, const struct ty_config *config, struct ty_err *err)
{
    return make(out, config, config->output.trace.n == 0, err);
}

int ty_run_check_planned(const struct ty_run *run, const char *what, struct ty_err *err)
{
    return run->lowered.window.times == 1
               ? 0
               : ty_fail(err, TY_EUSAGE, "%s needs a plan of every rank; this one is an outline",
                         what);
}

void ty_run_free(struct ty_run *run)
{
    if (run == NULL) {
        return;
    }
    ty_run_link_load_forget(run->link_load);
    ty_run_jobs_free(run->jobs);
    ty_timeline_release(&run->all);
    ty_arena_release(&run->arena);
    free(run);
}

static int fault_of(const struct ty_run *run, struct ty_err *err)
{
    const struct ty_sched_custom *custom = run->config->schedule.custom;
    if (custom == NULL || custom->fault == NULL) {
        return 0;
    }
    struct ty_arena arena = {.head = NULL};
    struct ty_stall stall;
    int rc = ty_stall_find(&stall, &run->lowered.program, NULL, &arena);
    if (rc == 0) {
        rc = stall.n_stuck > 0 ? TY_EDEADLOCK : TY_EINPUT;
    }
    ty_arena_release(&arena);
    return rc == TY_ENOMEM ? ty_fail_memory(err) : ty_fail(err, rc, "%s", custom->fault);
}

int ty_run_schedule_fault(const struct ty_run *run, struct ty_err *err)
{
    int code = fault_of(run, err);
    for (uint32_t i = 0; run->jobs != NULL && i < run->jobs->n; i++) {
        const int rc = fault_of(run->jobs->other[i].run, err);
        code = code < 0 ? code : rc;
    }
    return code;
}

static bool any_custom(const struct ty_run *run)
{
    bool any = run->config->schedule.custom != NULL;
    for (uint32_t i = 0; run->jobs != NULL && i < run->jobs->n; i++) {
        any = any || run->jobs->other[i].config.schedule.custom != NULL;
    }
    return any;
}

int ty_run_schedule_check(const struct ty_run *run, struct ty_err *err)
{
    const struct ty_program *program =
        run->jobs != NULL ? &run->jobs->program : &run->lowered.program;
    struct ty_arena arena = {.head = NULL};
    struct ty_mismatch mismatch;
    struct ty_stall stall;
    char text[TY_MISMATCH_TEXT];
    int rc = ty_run_schedule_fault(run, err);
    if (rc < 0 || !any_custom(run)) {
        return rc;
    }
    rc = ty_mismatch_find(&mismatch, program, &arena, err);
    if (rc == 0 && ty_stall_find(&stall, program, ty_mismatch_bars(&mismatch), &arena) < 0) {
        rc = ty_fail_memory(err);
    }
    const struct ty_finding *f = rc == 0 ? ty_stall_disagreement(&stall, program, &mismatch) : NULL;
    if (f != NULL) {
        rc = ty_fail(err, TY_EDEADLOCK, "mismatch: %s", ty_mismatch_say(program, f, text));
    } else if (rc == 0 && stall.n_stuck > 0) {
        rc = ty_fail(err, TY_EDEADLOCK,
                     "deadlock: %u of %u pipeline ranks can never finish; `trainyard run` shows "
                     "what they wait for",
                     (unsigned)stall.n_stuck, (unsigned)program->n_gangs);
    }
    ty_arena_release(&arena);
    return rc;
}

const char *ty_config_stats_format(const struct ty_config *config)
{
    return config->output.stats == TY_STATS_JSON ? "json" : "table";
}

const char *ty_config_trace(const struct ty_config *config, size_t i)
{
    return i < config->output.trace.n ? config->output.trace.item[i] : NULL;
}
