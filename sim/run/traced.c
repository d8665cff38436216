/* traced.c - a trace of others on a cluster, as a run: every rank is a stage of its own. */
#include "sim/exchange/read/plan.h"
#include "sim/run/run.h"
#include "sim/base/noise.h"
#include "topology/exceptions.h"

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

int ty_run_lower_traced(const struct ty_config *config, const struct ty_cluster *cluster,
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
