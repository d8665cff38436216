/* execute.c - a planned run through an executor: which one, for which ranks, with what shared.
 *
 * What cannot finish is executed as far as it goes: its timeline says where it halted. */
#include <string.h>

#include "model/check.h"
#include "sim/base/clock.h"
#include "sim/base/machine.h"
#include "sim/cli_api.h"
#include "sim/core/deadlock/mismatch.h"
#include "sim/core/execute/contention.h"
#include "sim/core/execute/execute.h"
#include "sim/core/execute/fold.h"
#include "sim/core/execute/shorten.h"
#include "sim/run/jobs.h"
#include "sim/run/limits.h"
#include "sim/run/links.h"

#define SIDE_BY_SIDE 1000000u /* tasks whose statistics, some milliseconds, are worth threads */

const char *const ty_sharing_words[] = {
    [TY_SHARING_NONE] = "none",
    [TY_SHARING_SIMULATED] = "simulated",
    [TY_SHARING_ESTIMATED] = "estimated",
};

static int choose_engine(const struct ty_run *run, const char *name, enum ty_engine *engine,
                         struct ty_err *err)
{
    int value = run->config->run.engine;
    if (ty_word_read("--engine", name, ty_engine_words, &value, err) < 0) {
        return TY_EUSAGE;
    }
    *engine = (enum ty_engine)value;
    return 0;
}

/* What can be shared, as far as the run file lets it be. */
static int find_shared(struct ty_run *run, const struct ty_program *program,
                       struct ty_contention *out, struct ty_err *err)
{
    *out = (struct ty_contention){.n_links = 0};
    return run->config->run.contention ? ty_contention_find(out, program, &run->arena, err) : 0;
}

/* How many links that is, of the whole cluster. */
static int count_shared(struct ty_run *run, const struct ty_program *program, struct ty_err *err)
{
    const struct ty_window *window = &run->lowered.window;
    return window->times > 1 && run->shared.flows != NULL
               ? ty_contention_count(&run->n_shared_links, &run->shared, program, window->spread,
                                     window->times, &run->arena, err)
               : 0;
}

/* Whether links or GPUs are shared at all; whether it takes the queue to find out how. */
static bool any_shared(const struct ty_run *run)
{
    return run->n_shared_links > 0 || ty_contention_any(&run->shared);
}

static bool matters(const struct ty_run *run)
{
    return run->n_shared_links > 0 || ty_contention_matters(&run->shared);
}

/* What can be shared under the engine asked for; `told`: all of it, as somebody is going to ask. */
static int look_for_shared(struct ty_run *run, const struct ty_program *whole,
                           enum ty_engine engine, bool told, struct ty_err *err)
{
    run->shared = (struct ty_contention){.n_links = 0};
    int rc = engine != TY_ENGINE_SWEEP ? find_shared(run, whole, &run->shared, err) : 0;
    run->n_shared_links = run->shared.n_links;
    rc = rc < 0 || !told ? rc : count_shared(run, whole, err);
    if (rc == 0 && run->config->run.detail == TY_RUN_STEPS &&
        (engine == TY_ENGINE_SWEEP || !run->config->run.contention)) {
        return ty_check_fail(&run->config->sections[TY_SECTION_RUN], "detail", err,
                             "steps needs engine events (or auto) and run.contention: true; "
                             "without, a collective is the time of its closed form");
    }
    return rc;
}

/* AUTO is the sweep where it can be proved that nothing is shared. */
static int resolve(struct ty_run *run, const struct ty_program *whole, const char *name, bool told,
                   enum ty_engine *engine, struct ty_err *err)
{
    int rc = choose_engine(run, name, engine, err);
    rc = rc < 0 ? rc : look_for_shared(run, whole, *engine, told, err);
    if (rc < 0) {
        return rc;
    }
    const enum ty_engine asked = *engine;
    if (*engine == TY_ENGINE_AUTO) {
        *engine = matters(run) ? TY_ENGINE_EVENTS : TY_ENGINE_SWEEP;
    }
    run->engine = *engine == TY_ENGINE_EVENTS ? "events" : "sweep";
    run->sharing = !run->config->run.contention || asked == TY_ENGINE_SWEEP ? TY_SHARING_ESTIMATED
                   : any_shared(run)                                        ? TY_SHARING_SIMULATED
                                                                            : TY_SHARING_NONE;
    return 0;
}

static int execute_timeline(struct ty_timeline *timeline, enum ty_engine engine,
                            const struct ty_contention *shared, struct ty_err *err)
{
    if (engine == TY_ENGINE_SWEEP) {
        return ty_sweep(timeline, err);
    }
    return ty_contention_matters(shared) ? ty_events_shared(timeline, shared, err)
                                         : ty_events(timeline, err);
}

/* Partners who mean different things would not be noticed by an executor, and are taken to stop
 * there: *found, the arena's; NULL: nobody does. */
static int look_for_mismatch(const struct ty_mismatch **found, const struct ty_program *program,
                             struct ty_arena *arena, struct ty_err *err)
{
    *found = NULL;
    if (program->matched) {
        return 0;
    }
    struct ty_mismatch *mismatch = ty_arena_array(arena, struct ty_mismatch, 1);
    *found = mismatch;
    return mismatch != NULL ? ty_mismatch_find(mismatch, program, arena, err) : ty_fail_memory(err);
}

/* One program with its own timeline, or why there is no use. */
static int execute_one(const struct ty_program *program, struct ty_timeline *timeline,
                       enum ty_engine engine, const struct ty_contention *shared,
                       const struct ty_progress *progress, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    int rc = ty_timeline_init(timeline, program, err);
    timeline->progress = *progress;
    if (rc == 0) {
        rc = look_for_mismatch(&timeline->mismatch, program, &arena, err);
    }
    if (rc == 0) {
        rc = execute_timeline(timeline, engine, shared, err);
    }
    timeline->progress = (struct ty_progress){.tell = NULL}; /* as long as this call */
    timeline->mismatch = NULL;
    ty_arena_release(&arena);
    return rc;
}

/* The folded program, or the passes of it that do not only repeat others; that is tried as if it
 * were nothing: what fails is told of the whole. */
static int execute_folded(struct ty_run *run, struct ty_timeline *timeline, enum ty_engine engine,
                          const struct ty_contention *shared, struct ty_err *err)
{
    struct ty_shortening *s = ty_arena_array(&run->arena, struct ty_shortening, 1);
    const struct ty_program *program;
    int rc = s == NULL ? ty_fail_memory(err) : ty_shorten_begin(s, &run->folded, &run->arena, err);
    while (rc == 0 && ty_shorten_next(s, &program, NULL) > 0) {
        rc = execute_one(program, timeline, engine, shared, &run->progress, NULL);
        if (rc == 0) {
            rc = ty_shorten_holds(s, timeline, err);
        }
        if (rc > 0) {
            return 0;
        }
        ty_timeline_release(timeline);
    }
    return rc == TY_ENOMEM
               ? ty_fail_memory(err)
               : execute_one(&run->folded, timeline, engine, shared, &run->progress, err);
}

/* One member of each gang for all of them; *folds is false where members can differ. */
static int execute_fold(struct ty_run *run, const struct ty_program *whole, enum ty_engine engine,
                        struct ty_timeline *timeline, bool *folds, struct ty_err *err)
{
    const bool links = engine == TY_ENGINE_EVENTS && ty_contention_matters(&run->shared);
    struct ty_contention shared = {.n_links = 0};
    *folds = ty_program_folds(whole);
    int rc = *folds ? ty_program_fold(&run->folded, whole, &run->arena, err) : 0;
    if (rc == 0 && *folds && links) {
        rc = ty_program_fold_links(&run->folded, whole, folds, &run->arena, err);
    }
    if (rc == 0 && *folds && links) {
        rc = find_shared(run, &run->folded, &shared, err);
    }
    return rc < 0 || !*folds ? rc : execute_folded(run, timeline, engine, &shared, err);
}

/* Between two parts of an execution. */
static int check_stop(const struct ty_run *run, struct ty_err *err)
{
    return ty_progress_ends(&run->progress) ? ty_progress_stopped(err) : 0;
}

/* A timeline of the folded program for all ranks. */
static int unfold(struct ty_run *run, const struct ty_program *whole,
                  const struct ty_timeline *folded, struct ty_err *err)
{
    struct ty_timeline all = {.program = NULL};
    int rc = check_stop(run, err);
    rc = rc < 0 ? rc : ty_timeline_init(&run->all, whole, err);
    if (rc == 0 && folded->whole != NULL) {
        rc = ty_timeline_init(&all, folded->whole, err);
        if (rc == 0) {
            rc = ty_timeline_lengthen(&all, folded, err);
        }
    }
    if (rc == 0) {
        rc = ty_timeline_unfold(&run->all, folded->whole != NULL ? &all : folded, err);
    }
    ty_timeline_release(&all);
    return rc;
}

/* One of all twins, and then its times for each; *n 1: there are none, or the links of one are not
 * those of another. */
static int execute_twins(struct ty_run *run, const struct ty_program *whole, enum ty_engine engine,
                         uint32_t *n, struct ty_err *err)
{
    struct ty_contention shared;
    struct ty_timeline one = {.program = NULL};
    bool alike = false;
    *n = ty_program_twins(whole);
    int rc = *n > 1 ? ty_program_fold_twins(&run->folded, whole, *n, &run->arena, err) : 0;
    if (rc == 0 && *n > 1) {
        rc = ty_program_fold_twin_links(&run->folded, whole, *n, &alike, &run->arena, err);
    }
    *n = alike ? *n : 1;
    if (rc < 0 || *n == 1) {
        return rc;
    }
    rc = find_shared(run, &run->folded, &shared, err);
    if (rc == 0) {
        rc = execute_one(&run->folded, &one, engine, &shared, &run->progress, err);
    }
    if (rc == 0) {
        rc = ty_timeline_init(&run->all, whole, err);
    }
    if (rc == 0) {
        rc = ty_timeline_unfold(&run->all, &one, err);
    }
    ty_timeline_release(&one);
    return rc;
}

/* Members that differ. The queue visits one of those that are twins, which the sweep does nearly as
 * fast as copying; what fails is told of all ranks. */
static int execute_members(struct ty_run *run, const struct ty_program *whole,
                           enum ty_engine engine, struct ty_err *err)
{
    int rc = 0;
    if (engine == TY_ENGINE_EVENTS && ty_contention_matters(&run->shared)) {
        rc = execute_twins(run, whole, engine, &run->n_twins, NULL);
        if (rc == TY_ENOMEM) {
            return ty_fail_memory(err);
        }
        if (rc == 0 && run->n_twins > 1) {
            return 0;
        }
        run->n_twins = 1;
    } else {
        run->n_twins = ty_program_twins(whole);
    }
    ty_timeline_release(&run->all);
    return execute_one(whole, &run->all, engine, &run->shared, &run->progress, err);
}

/* Every rank. The queue visits one member of each gang where that is enough; the sweep is as fast
 * as copying. */
static int execute_whole(struct ty_run *run, const struct ty_program *whole, enum ty_engine engine,
                         struct ty_err *err)
{
    struct ty_timeline one = {.program = NULL};
    bool folds = false;
    int rc = 0;
    if (engine == TY_ENGINE_EVENTS && ty_contention_matters(&run->shared)) {
        rc = execute_fold(run, whole, engine, &one, &folds, NULL);
        run->lockstep = rc == 0 && folds;
    } else {
        run->lockstep = ty_program_folds(whole);
    }
    if (rc == TY_ENOMEM) {
        rc = ty_fail_memory(err);
    } else if (rc == 0 && folds) {
        rc = unfold(run, whole, &one, err);
    } else { /* a fold that fails is told of all ranks */
        rc = execute_members(run, whole, engine, err);
    }
    ty_timeline_release(&one);
    return rc;
}

bool ty_run_halted(const struct ty_run *run)
{
    return run->all.halt != NULL;
}

int ty_run_check_ranks(const struct ty_run *run, const char *what, bool halted, struct ty_err *err)
{
    if (!run->executed && !(halted && ty_run_halted(run))) {
        return ty_fail(err, TY_EUSAGE, "%s needs an executed run", what);
    }
    return ty_run_is_folded(run)
               ? ty_fail(err, TY_EUSAGE, "%s needs every rank; this run was executed for figures",
                         what)
               : 0;
}

/* For whom the one member of each pipeline rank stands; none: ranks do not follow a grid of equal
 * pipeline ranks. */
static struct ty_stand_in stand_in(const struct ty_run *run)
{
    const struct ty_grid *grid = &run->lowered.grid;
    const uint32_t row = grid->stride[TY_AXIS_PIPELINE];
    return run->config->workload.job != NULL || grid->stage != NULL
               ? (struct ty_stand_in){0, 0}
               : (struct ty_stand_in){row, grid->n_ranks / (row * grid->size[TY_AXIS_PIPELINE])};
}

/* Of members who do everything at the same times one is looked at, for as many of them as `whole`
 * has, or, NULL, as the job has. */
static int compute_stats(struct ty_run *run, const struct ty_program *whole, uint32_t threads,
                         struct ty_err *err)
{
    const struct ty_timeline *t = &run->timeline;
    const bool many = t->program->n_tasks / run->n_twins > SIDE_BY_SIDE;
    run->counted = run->lockstep && whole != NULL ? whole : t->program;
    if (whole == NULL) {
        return ty_stats_compute_folded(&run->stats, t, stand_in(run), &run->arena, err);
    }
    return run->lockstep ? ty_stats_compute_alike(&run->stats, whole, t, &run->arena, err)
                         : ty_stats_compute_twins(&run->stats, t, run->n_twins, many ? threads : 1,
                                                  &run->arena, err);
}

/* Figures of a timeline, of `whole` or its fold, or, NULL, of one that stands for the job; those of
 * one that halted serve its trace. Runs that are executed `next to` others leave the processors to
 * them. */
static int finish(struct ty_run *run, const struct ty_program *whole, bool beside, int rc,
                  struct ty_err *err)
{
    rc = rc < 0 ? rc : check_stop(run, err);
    if (rc == 0 || ty_run_halted(run)) {
        const int stats = compute_stats(run, whole, beside ? 1 : run->threads, err);
        rc = rc == 0 ? stats : rc;
    }
    run->executed = rc == 0;
    return rc;
}

static void begin(struct ty_run *run)
{
    ty_run_link_load_forget(run->link_load);
    ty_timeline_release(&run->all);
    run->n_twins = 1;
    run->timeline = run->all;
    run->executed = run->is_folded = false;
}

int ty_run_execute_program(struct ty_run *run, const struct ty_program *whole, const char *name,
                           struct ty_err *err)
{
    enum ty_engine engine = TY_ENGINE_AUTO;
    begin(run);
    int rc = resolve(run, whole, name, true, &engine, err);
    if (rc == 0) {
        rc = execute_whole(run, whole, engine, err);
    }
    run->timeline = run->all;
    return rc;
}

/* All jobs; `alone`: as in ty_run_jobs_execute. */
static int execute_jobs(struct ty_run *run, const char *name, bool alone, struct ty_err *err)
{
    const double t0 = ty_wall_s();
    enum ty_engine engine;
    begin(run);
    int rc = choose_engine(run, name, &engine, err);
    const int fault = rc < 0 ? rc : ty_run_schedule_fault(run, err);
    if (fault < 0 && fault != TY_EDEADLOCK) {
        return fault;
    }
    rc = run->jobs != NULL ? ty_run_jobs_execute(run, name, alone, err)
                           : ty_run_execute_program(run, &run->lowered.program, name, err);
    rc = finish(run, run->timeline.program, !alone, rc, err);
    run->execute_s = ty_wall_s() - t0;
    run->executed = rc == 0 && fault == 0;
    return rc < 0 ? rc : fault;
}

/* Other runs of this process may hold what there is, and another engine may take more than that of
 * the run file, for which there was enough when the run was made. */
static int check_memory(const struct ty_run *run, enum ty_engine engine, bool folded,
                        struct ty_err *err)
{
    const double own = (double)run->arena.total, held = ty_machine_held();
    const struct ty_limit_use use = {.engine = engine,
                                     .folded = folded,
                                     .report = true,
                                     .times = run->lowered.window.times,
                                     .plan = own,
                                     .held = held > own ? held - own : 0};
    return ty_limit_check_program(run->config, &run->lowered.program, &use, err);
}

#define TASK_S   12e-9 /* of a task and its statistics where links are not shared; measured */
#define SHARED_S 85e-9 /* of one in the queue of events, where ranks differ; measured */

void ty_run_cost(const struct ty_run *run, bool figures, double *seconds, double *bytes)
{
    const struct ty_program *p = &run->lowered.program;
    const struct ty_config *c = run->config;
    const struct ty_limit_use use = {.engine = (enum ty_engine)c->run.engine,
                                     .folded = figures && ty_program_folds(p),
                                     .report = true};
    const bool queue = c->run.contention && c->run.engine != (int)TY_ENGINE_SWEEP;
    double tasks = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        tasks += (double)p->gangs[g].n_ops * (use.folded ? 1 : p->gangs[g].n_ranks);
    }
    *seconds = tasks * (queue && p->n_flows > 0 && ty_program_varies(p) ? SHARED_S : TASK_S);
    *bytes = (double)run->arena.total + ty_limit_execution_B(c, p, &use);
}

static int execute_all(struct ty_run *run, const char *name, struct ty_err *err)
{
    enum ty_engine engine;
    int rc = choose_engine(run, name, &engine, err);
    if (rc < 0) {
        return rc;
    }
    begin(run); /* what an earlier execution holds is not next to this one */
    rc = ty_run_make_whole(run, err);
    rc = rc < 0 ? rc : check_memory(run, engine, false, err);
    return rc < 0 ? rc : execute_jobs(run, name, true, err);
}

/* For figures; `each`: sums over ranks are rounded as if every one had come in its turn. Tasks of a
 * program that does not fold are those of every rank. */
static int execute_figures(struct ty_run *run, const char *name, bool each, struct ty_err *err)
{
    const struct ty_program *whole = &run->lowered.program;
    enum ty_engine engine = TY_ENGINE_AUTO;
    bool folds = false;
    begin(run);
    int rc = resolve(run, whole, name, each, &engine, err);
    if (rc < 0) {
        return rc;
    }
    rc = execute_fold(run, whole, engine, &run->all, &folds, NULL);
    if (rc == TY_ENOMEM) { /* all ranks come to figures that differ in their last digit */
        return ty_fail_memory(err);
    }
    if (rc < 0) {
        return execute_all(run, name, err); /* a fold that fails is told of all ranks */
    }
    if (!folds && run->lowered.window.times > 1) {
        rc = ty_run_make_whole(run, err);
        return rc < 0 ? rc : execute_figures(run, name, each, err);
    }
    if (!folds) {
        const struct ty_limit_use use = {.engine = engine, .plan = (double)run->arena.total};
        rc = ty_limit_check_program(run->config, whole, &use, err);
        rc = rc < 0 ? rc : execute_members(run, whole, engine, err);
    }
    run->timeline = run->all;
    run->lockstep = run->is_folded = folds;
    if (folds && each && stand_in(run).row > 0) {
        return finish(run, NULL, false, rc, err);
    }
    /* members count as often as there are, where gangs are of different size */
    const bool count = each || run->config->layout.unlike;
    return finish(run, folds && count ? whole : run->all.program, !each, rc, err);
}

static int execute_for_figures(struct ty_run *run, const char *name, struct ty_err *err)
{
    const double t0 = ty_wall_s();
    enum ty_engine engine;
    int rc = choose_engine(run, name, &engine, err);
    /* the timeline of jobs is unfolded for the parts of it; a wrong schedule file is told of */
    if (rc < 0 || run->jobs != NULL || ty_run_schedule_fault(run, NULL) < 0) {
        return rc < 0 ? rc : execute_all(run, name, err);
    }
    begin(run); /* what an earlier execution holds is not next to this one */
    rc = check_memory(run, engine, ty_program_folds(&run->lowered.program), err);
    rc = rc < 0 ? rc : execute_figures(run, name, true, err);
    run->execute_s = ty_wall_s() - t0;
    return rc;
}

int ty_run_execute(struct ty_run *run, const struct ty_execute_options *options, struct ty_err *err)
{
    if (options == NULL) {
        return execute_all(run, NULL, err);
    }
    run->threads = options->threads;
    run->suggest_s = options->suggest_s;
    run->progress = (struct ty_progress){
        .tell = options->progress, .arg = options->progress_arg, .stop = options->stop};
    const int rc = options->figures ? execute_for_figures(run, options->engine, err)
                                    : execute_all(run, options->engine, err);
    run->progress.tell = NULL;
    return rc;
}

int ty_run_execute_folded(struct ty_run *run, struct ty_err *err)
{
    const int fault = ty_run_schedule_fault(run, NULL);
    if (fault == TY_ENOMEM) {
        return ty_fail_memory(err);
    }
    if (run->jobs != NULL || fault < 0) {
        return execute_jobs(run, NULL, false, err);
    }
    const int rc = execute_figures(run, NULL, false, err);
    if (ty_run_is_folded(run)) { /* every member counts */
        run->stats.flops *= (double)ty_run_ranks(run) / run->stats.n_ranks;
    }
    return rc;
}
