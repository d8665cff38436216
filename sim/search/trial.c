/* trial.c - executes variants of a run on several threads, each into its own place of the array. */
#include "sim/search/trial.h"

#include <string.h>

#include "sim/base/pool.h"
#include "sim/run/figures.h"
#include "sim/sweep/row_run.h"

struct ty_config ty_trial_config(const struct ty_run *run)
{
    struct ty_config config = *run->config;
    if (run->sharing == TY_SHARING_ESTIMATED) { /* as with --engine sweep */
        config.run.engine = TY_ENGINE_SWEEP;
    }
    return config;
}

#define TASKS_LARGE 2e6 /* of a run whose noise is disabled */

bool ty_trial_disable_noise(struct ty_config *config, double tasks)
{
    const bool noisy = config->run.jitter > 0 || config->run.gpu_spread > 0 ||
                       config->run.slow_hosts > 0 || config->routing.method != TY_TOKENS_BALANCED;
    const bool disabled = noisy && tasks > TASKS_LARGE;
    if (disabled) {
        config->run.jitter = 0;
        config->run.gpu_spread = 0;
        config->run.slow_hosts = 0;
        config->routing = (struct ty_token_routing){.method = TY_TOKENS_BALANCED};
    }
    return disabled;
}

int ty_trial_step(const struct ty_config *config, double *step_s)
{
    struct ty_run *run;
    int rc = ty_run_plan(&run, config, NULL, NULL);
    if (rc == 0) {
        rc = ty_run_execute_folded(run, NULL);
    }
    if (rc == 0) {
        *step_s = ty_s_from_ps(run->timeline.makespan) / run->lowered.program.n_steps;
    }
    ty_run_free(run);
    return rc;
}

struct trials {
    struct ty_trial *const *trial;
    struct ty_memory_semaphore gate;
    struct ty_worker_pool workers;
};

static double most_held(const struct ty_run *run)
{
    const struct ty_sched_options *schedule = &run->config->schedule;
    uint32_t most = 0;
    for (uint32_t s = 0; s < run->lowered.program.n_gangs; s++) {
        const uint32_t held = run->stats.memory[s].peak_held;
        most = held > most ? held : most;
    }
    return (double)most / ty_sched_chunks(schedule) / ty_sched_slices(schedule);
}

static void see(const struct ty_run *run, void *arg)
{
    struct ty_trial *t = arg;
    struct ty_figures f;
    struct ty_bill bill;
    ty_run_numbers(run, &f);
    ty_run_fullest(run, &bill);
    t->step_s = f.step_s;
    t->tokens_per_s = f.tokens_per_s;
    t->bubble = f.bubble_fraction;
    for (int b = 0; b < TY_N_BUCKETS; b++) {
        const bool computes = run->lowered.program.words->buckets[b].pace == TY_PACE_COMPUTES;
        t->compute_s += computes ? f.bucket_s[b] : 0;
    }
    t->tensor_s = f.bucket_s[TY_BUCKET_EXPOSED_TENSOR];
    t->peak_B = bill.total_B;
    t->capacity_B = bill.capacity_B;
    t->verdict = ty_run_verdict(run, &bill);
    t->held = most_held(run);
}

static bool execute(void *arg, uint32_t i)
{
    struct trials *all = arg;
    struct ty_trial *t = all->trial[i];
    struct ty_run *run = NULL;
    struct ty_worker *worker = ty_worker_acquire(&all->workers);
    t->rc = worker == NULL ? TY_ENOMEM : ty_run_plan(&run, &t->config, worker->book, NULL);
    if (t->rc == 0) {
        t->rc = ty_row_execute(run, &all->gate, see, t, NULL);
    }
    if (worker != NULL) {
        ty_worker_release(&all->workers, worker);
    }
    return t->rc != TY_ENOMEM && !(all->gate.stop != NULL && *all->gate.stop != 0);
}

int ty_trials_execute(const struct ty_run *run, struct ty_trial *const *trial, uint32_t n,
                      struct ty_err *err)
{
    struct trials all = {.trial = trial};
    int rc = 0;
    ty_memory_semaphore_init(&all.gate);
    all.gate.stop = run->progress.stop;
    ty_worker_pool_init(&all.workers, NULL);
    ty_pool_run(0, n, run->threads, execute, &all);
    ty_worker_pool_release(&all.workers);
    ty_memory_semaphore_release(&all.gate);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        const int its = trial[i]->rc;
        if (its == TY_ENOMEM) {
            rc = ty_fail_memory(err);
        } else if (ty_progress_ends(&run->progress)) {
            rc = ty_progress_stopped(err);
        } else if (its == TY_EBUG || its == TY_EDEADLOCK) {
            rc = ty_fail(err, its, "a variant of this run ended with %s", ty_code_name(its));
        }
    }
    return rc;
}
