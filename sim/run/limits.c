/* limits.c - see limits.h. */
#include "sim/run/limits.h"

#include <stdio.h>

#include "sim/base/machine.h"
#include "sim/base/words.h"
#include "sim/core/execute/fold.h"

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

int ty_limit_check_plan(const struct ty_config *config, bool folded, struct ty_err *err)
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

/* What a report of a folded run keeps beside its columns: statistics of so many ranks. */
static double report_B(bool links, double ops, double ranks)
{
    return ranks * sizeof(struct ty_rank_stats) + (links ? REPORT_LINKS_B : REPORT_B) * ops;
}

int ty_limit_allow(const void *arg, const struct ty_lower_size *size, struct ty_err *err)
{
    const struct ty_limit_plan *plan = arg;
    const struct ty_config *c = plan->config;
    const bool links = c->run.contention && c->run.engine != (int)TY_ENGINE_SWEEP && size->flows;
    const double tasks = size->ops * size->members, executed = plan->folded ? size->ops : tasks;
    const bool varies = c->run.jitter > 0 || c->run.gpu_spread > 0 || c->run.slow_hosts > 0 ||
                        c->routing.method != TY_TOKENS_BALANCED;
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
