/* run.c - configuration to program, program to timeline. */
#include "sim/run/run.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/check.h"
#include "sim/base/clock.h"
#include "sim/core/deadlock/mismatch.h"
#include "sim/core/deadlock/stall.h"
#include "sim/core/execute/fold.h"
#include "sim/run/offload.h"
#include "sim/run/jobs.h"
#include "sim/run/limits.h"
#include "sim/run/links.h"
#include "sim/run/rooms.h"
#include "sim/run/uneven.h"

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
        return ty_run_lower_traced(c, cluster, out, arena, err);
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

void ty_run_progress(struct ty_run *run, ty_progress_fn *progress, void *arg)
{
    run->progress.tell = progress;
    run->progress.arg = arg;
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
    return rc < 0 ? rc : ty_run_find_uneven(run, err);
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
    rc = rc < 0 || room == NULL ? rc : ty_run_host_rooms(run, room, &small, err);
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
        *room = ty_run_spare_memory(&warm, &run->arena);
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
