/* traced.c - a trace of others on a cluster, as a run: every rank is a stage of its own. */
#include "sim/exchange/read/plan.h"
#include "sim/run/run.h"

int ty_run_lower_traced(const struct ty_config *config, const struct ty_cluster *cluster,
                        struct ty_lowered *out, struct ty_arena *arena, struct ty_err *err)
{
    static const int order[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA,
                                         TY_AXIS_PIPELINE};
    struct ty_traced_plan plan = {
        .job = config->workload.job, .cluster = cluster, .arena = arena, .err = err};
    const uint32_t n = plan.job->n_ranks;
    const uint32_t size[TY_N_AXES] = {
        [TY_AXIS_TENSOR] = 1, [TY_AXIS_CONTEXT] = 1, [TY_AXIS_DATA] = 1, [TY_AXIS_PIPELINE] = n};
    *out = (struct ty_lowered){.times = 1, .stage = ty_arena_array(arena, struct ty_stage_plan, n)};
    if (out->stage == NULL) {
        return ty_fail_memory(err);
    }
    ty_grid_init(&out->grid, size, order, cluster->gpus_per_node);
    int rc = ty_fabric_build(&out->fabric, cluster, &config->fabric, 0, false, arena, err);
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
