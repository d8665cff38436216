/* run.c - configuration to program, program to timeline. */
#include "sim/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/base/clock.h"
#include "sim/base/noise.h"
#include "sim/cli_api.h"
#include "sim/core/deadlock/mismatch.h"
#include "sim/core/deadlock/stall.h"
#include "sim/core/execute/fold.h"
#include "sim/exchange/read/plan.h"
#include "sim/run/bill.h"
#include "sim/run/jobs.h"
#include "sim/run/limits.h"
#include "sim/run/links.h"
#include "sim/run/offload.h"
#include "sim/run/uneven.h"
#include "topology/exceptions.h"

/* ---- memory that a step leaves, for what lives in it off the GPU (layout.offload gemini) ---- */

/* Sums of many ranks are as exact as that. */
#define ROUNDING 1e-9

/* [stages] of layout.offload_room of the smallest GPU's memory what is left beside the peak of all
 * that is no chunk, activations and buffers, which is what `warm` holds, planned without room; and
 * of the memory of nodes as much as anyone wants. NULL: no memory. */
static struct ty_lower_room *run_spare_memory(const struct ty_run *warm, struct ty_arena *arena)
{
    const uint32_t n = warm->lowered.program.n_gangs;
    const double filled = warm->config->layout.offload_room;
    const double fragmentation = warm->config->cluster.overhead.fragmentation;
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
    const int rc = share == NULL ? ty_fail_memory(err) : ty_run_host_shares(run, share, err);
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

/* How often a virtual stage holds what its forward keeps, and what came back for its backward. */
static void count_held(const struct moment *at, uint32_t stage, int *kept, int *again)
{
    const struct ty_pass *pass = ty_gang_passes(&at->run->lowered.program, at->gang);
    *kept = *again = 0;
    for (; pass <= at->bill->pass; pass++) {
        const bool ends = pass < at->bill->pass && !pass->interrupted;
        if (pass->stage != stage) {
            continue;
        }
        *kept += pass->phase == TY_PHASE_FORWARD && !pass->resumed;
        *kept -= ends && (pass->phase == TY_PHASE_BACKWARD || pass->phase == TY_PHASE_WGRAD);
        *again += pass->phase == TY_PHASE_DGRAD && !pass->interrupted;
        *again -= ends && pass->phase == TY_PHASE_WGRAD;
    }
}

static struct layer layer_at(const struct moment *at, uint32_t number)
{
    const struct ty_bill *bill = at->bill;
    const struct ty_config *c = at->run->config;
    const uint32_t stage = stage_of(at, number);
    const struct ty_layers layers = ty_layout_layers(&c->layout, &c->arch, at->stages, stage);
    const enum ty_unit_kind kind = ty_layer_kind(&c->arch, &layers, number - layers.first);
    const bool whole = bill->pass->phase == TY_PHASE_BACKWARD;
    const bool runs =
        bill->pass->stage == stage && bill->kind == TY_PEAK_LAYER && bill->layer == kind;
    struct layer out = {.held = 0};
    int kept, again;
    count_held(at, stage, &kept, &again);
    for (uint32_t i = 0; i < at->tensors.n; i++) {
        const struct ty_tensor *x = &at->tensors.item[i];
        const double bytes = x->unit == kind ? x->routed / at->slices : 0;
        if (x->life == TY_LIFE_KEPT || (x->life == TY_LIFE_RECOMPUTED && !whole)) {
            out.held += bytes * (x->life == TY_LIFE_KEPT ? kept : again);
        } else if (runs) {
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
               : ty_fail(err, TY_EUSAGE, "%s needs a model, and a workload of others has none",
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
        .allow = limit != NULL ? ty_limit_allow : NULL,
        .allow_arg = limit,
        .cluster = cluster,
        .fabric = &c->fabric,
        .arch = &c->arch,
        .layout = &c->layout,
        .schedule = &c->schedule,
        .routing = &c->routing,
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
    rc = rc < 0 ? rc : ty_run_find_offload(run, err);
    rc = rc < 0 || room == NULL ? rc : run_host_rooms(run, room, &small, err);
    if (rc == 0 && small) {
        rc = make_program(run, limit, book, window, err);
        rc = rc < 0 ? rc : ty_run_find_offload(run, err);
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
    run->link_load = ty_run_link_load_new(&run->arena);
    int rc = run->link_load != NULL ? 0 : ty_fail_memory(err);
    if (rc == 0) {
        rc = ty_limit_check_plan(config, limit->folded, err);
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
           c->routing.method == TY_TOKENS_BALANCED;
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
                     "deadlock: %u of %u pipeline ranks can never finish; `trainyard run` tells "
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
