/* fleet.c - a whole training on a fleet of nodes: the step of a run, and the days around it
 * (fleet.h). */
#include "sim/fleet/fleet.h"

#include <math.h>

#include "model/block/memory.h"
#include "model/check.h"
#include "model/parallel/whole.h"
#include "sim/base/compiler.h"
#include "sim/fleet/worth.h"
#include "sim/run/pass_times.h"

/* ---- checkpoints ---- */

/* Seconds in which a GPU's share of states comes together in the memory of its host: what the GPU
 * has over PCIe, and of what waits on the host already a copy in that memory, as the optimizer goes
 * on. */
static double copy_s(const struct ty_run *run, double gpu_B, double each)
{
    const struct ty_layout *layout = &run->config->layout;
    const struct ty_host *host = &run->config->cluster.host;
    const double given = run->config->fleet.checkpoint.copy_Bps;
    const double weights =
        layout->home.parameters == TY_HOME_GPU ? ty_memory_weight_bytes(layout) : 0;
    const double optimizer = (1 - layout->home.share) * ty_memory_optimizer_bytes(layout);
    const double leaves = gpu_B * (weights + optimizer) / each;
    const double memory_Bps = host->bandwidth / run->config->cluster.gpus_per_node;
    return leaves / (given > 0 ? given : host->link / host->gpus_per_link) +
           2 * (gpu_B - leaves) / memory_Bps; /* read and written */
}

/* Parameters of a checkpoint, those that are trained and others: with adapters these alone are
 * written (PEFT, save_pretrained; Megatron-Bridge), else frozen weights, too. */
static double written(const struct ty_run *run, double *frozen)
{
    const struct ty_config *c = run->config;
    const double trained = ty_arch_trained_params(&c->arch, &c->layout);
    *frozen =
        c->arch.frozen != 0 && c->arch.lora.rank == 0 ? ty_arch_params(&c->arch) - trained : 0;
    return c->arch.frozen != 0 ? trained : ty_arch_params(&c->arch);
}

static struct ty_fleet_checkpoint fleet_checkpoint(const struct ty_run *run)
{
    const struct ty_layout *layout = &run->config->layout;
    const struct ty_program *p = &run->lowered.program;
    /* Weights as the model has them, unless the optimizer has better ones. */
    const double each = ty_memory_weight_bytes(layout) + ty_memory_optimizer_bytes(layout);
    double frozen, sum = 0, most = 0;
    struct ty_fleet_checkpoint c = {.bytes = each * written(run, &frozen)};
    c.bytes += ty_memory_weight_bytes(layout) * frozen;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        sum += run->lowered.stage[g].params;
        most = fmax(most, run->lowered.stage[g].params);
    }
    c.gpu_bytes = c.bytes / ty_run_ranks(run) * most / (sum / p->n_gangs);
    c.copy_s = copy_s(run, c.gpu_bytes, each);
    c.store_s = c.bytes / run->config->fleet.checkpoint.storage_Bps;
    return c;
}

/* The options with stall and durability of a checkpoint worked out where its stall is auto: written
 * while work goes on it stops the job for the copy, and is durable once it is stored; else it stops
 * the job for both. */
static struct ty_fleet_options fleet_resolve(const struct ty_run *run,
                                             const struct ty_fleet_checkpoint *checkpoint)
{
    struct ty_fleet_options o = run->config->fleet;
    if (o.checkpoint.stall_s > 0) {
        return o;
    }
    o.checkpoint.stall_s = checkpoint->copy_s + (o.checkpoint.async ? 0 : checkpoint->store_s);
    if (o.checkpoint.async && !(o.checkpoint.durable_after_s > 0)) {
        o.checkpoint.durable_after_s = checkpoint->store_s;
    }
    return o;
}

/* ---- the figures ---- */

/* A line through the cold restarts of 16,384 and 98,304 GPUs (200 and 900 s; FT-HSDP, arXiv
 * 2602.00277); at 22,000 and 65,536 it is within 20 %. */
#define RESTART_S         90.0
#define RESTART_S_PER_GPU 9e-3

/* How long a restart from storage takes. */
static double fleet_restart_s(const struct ty_fleet_options *o, uint32_t gpus)
{
    return o->restart_s > 0 ? o->restart_s : RESTART_S + RESTART_S_PER_GPU * gpus;
}

static void add_cause(struct ty_days *d, const char *name, double per_day, double wait_s,
                      bool drained, bool leaves)
{
    d->cause[d->n_causes++] =
        (struct ty_days_cause){name, per_day / TY_DAY_S, wait_s, drained, leaves};
    d->rate += per_day / TY_DAY_S;
}

/* Failures of so many nodes, by cause, and those of the job. */
static void add_causes(struct ty_days *d, const struct ty_fleet_options *o, uint32_t nodes)
{
    const double wait_s = o->detect_s + o->replace_s;
    const bool leaves = d->replicas.n > 0;
    for (uint32_t i = 0; i < o->n_causes; i++) {
        const struct ty_fleet_cause *c = &o->cause[i];
        add_cause(d, c->name, c->per_1000_node_days / 1000 * nodes, c->detect_s + c->replace_s,
                  c->drained, leaves);
    }
    if (o->n_causes == 0) {
        const double per_day = o->failures_per_1000_node_days / 1000 * nodes;
        add_cause(d, "nodes", per_day * o->drained, wait_s, true, leaves);
        add_cause(d, "nodes, healed", per_day * (1 - o->drained), wait_s, false, leaves);
    }
    add_cause(d, "job", o->job_failures_per_day, wait_s, false, false);
    d->evicts = o->stragglers.per_1000_node_days > 0 && o->stragglers.evict;
    if (d->evicts) { /* known already: nothing is left to detect */
        const double rate = d->rate;
        add_cause(d, "slow host, evicted", o->stragglers.per_1000_node_days / 1000 * nodes,
                  o->replace_s, true, leaves);
        d->rate = rate;
    }
}

static struct ty_slow slow_of(const struct ty_fleet_options *o, uint32_t nodes)
{
    return (struct ty_slow){
        .rate = o->stragglers.per_1000_node_days / 1000 * nodes / TY_DAY_S,
        .lost = o->stragglers.slow_by / (1 + o->stragglers.slow_by),
        .found_s = o->stragglers.evict ? o->stragglers.found_s : INFINITY,
        .drift = log1p(o->stragglers.drift_per_day) / TY_DAY_S,
    };
}

/* What leaves at a time, of a job with room for two of them. */
static struct ty_replicas replicas_of(const struct ty_fleet_options *o, uint32_t nodes,
                                      uint32_t gpus)
{
    const uint32_t n = o->elastic.nodes > 0 ? nodes / o->elastic.nodes : 0;
    if (n < 2) {
        return (struct ty_replicas){.n = 0};
    }
    return (struct ty_replicas){.n = n,
                                .nodes = o->elastic.nodes,
                                .least = (uint32_t)fmax(ceil(o->elastic.least * n), 1),
                                .restart_s = fleet_restart_s(o, gpus / n),
                                .regroup_s = o->elastic.regroup_s};
}

static struct ty_days days_of(const struct ty_fleet_options *o, uint32_t nodes, uint32_t gpus)
{
    const double restart_s = fleet_restart_s(o, gpus);
    const bool stops = o->planned.per_day > 0;
    struct ty_days d = {
        .shape = o->failure_shape,
        .stall_s = o->checkpoint.memory_stall_s,
        .store_every = o->checkpoint.store_every,
        .store_stall_s = o->checkpoint.stall_s,
        .durable_after_s = o->checkpoint.durable_after_s,
        .from_memory = o->checkpoint.from_memory,
        .restart_s = restart_s,
        .memory_restart_s = o->memory_restart_s > 0 ? o->memory_restart_s : restart_s,
        .repair_s = o->repair_s,
        .spares = o->spares,
        .planned_every_s = stops ? TY_DAY_S / o->planned.per_day - o->planned.each_s : 0,
        .planned_s = stops ? o->planned.each_s : 0,
        .evaluation = o->evaluation.share,
        .replicas = replicas_of(o, nodes, gpus),
        .slow = slow_of(o, nodes),
    };
    add_causes(&d, o, nodes);
    return d;
}

/* Failures a second that stop the whole job, or take replicas; `wait_s` is the mean of them. */
static double rate_of(const struct ty_days *d, bool leaves, double *wait_s)
{
    double rate = 0, sum = 0;
    for (uint32_t i = 0; i < d->n_causes; i++) {
        if (d->cause[i].leaves == leaves) {
            rate += d->cause[i].rate;
            sum += d->cause[i].rate * d->cause[i].wait_s;
        }
    }
    *wait_s = rate > 0 ? sum / rate : 0;
    return rate;
}

/* Nodes in repair at a time, if there were never too few. */
static double load_of(const struct ty_days *d)
{
    double rate = 0;
    for (uint32_t i = 0; i < d->n_causes; i++) {
        rate += d->cause[i].drained ? d->cause[i].rate : 0;
    }
    return rate * d->repair_s;
}

static struct ty_renewal renewal_of(const struct ty_days *d)
{
    double wait_s;
    const double rate = rate_of(d, false, &wait_s);
    return (struct ty_renewal){
        .rate = rate,
        .every_s = d->every_s,
        .stall_s = d->store_stall_s,
        .durable_after_s = d->durable_after_s,
        .wait_s = wait_s,
        .restart_s = d->restart_s,
        .stops = d->planned_every_s > 0 ? 1 / d->planned_every_s : 0,
        .store_every = d->store_every,
        .memory_stall_s = d->stall_s,
        .from_memory = d->from_memory,
        .memory_restart_s = d->memory_restart_s,
    };
}

/* The shortest interval at which a checkpoint is durable before the next one to storage ends. */
static double shortest(const struct ty_days *d)
{
    return (d->durable_after_s - d->store_stall_s) / d->store_every - d->stall_s;
}

#define ROUNDS 20u /* until nodes in repair and the time in which nodes fail agree */

/* An elastic job: what its whole failures leave of the time, in `share`, is shared with replicas
 * that leave and return. */
static void share_with_replicas(struct ty_fleet_job *job)
{
    const struct ty_days *d = &job->days;
    double *share = job->share;
    const double on = share[TY_FLEET_WORK] + share[TY_FLEET_CHECKPOINT] + share[TY_FLEET_LOST];
    job->elastic.rate = rate_of(d, true, &job->elastic.wait_s);
    struct ty_replicas_mean mean = {.running = 1, .there = 1};
    double all = 1, detect = 0, regroup = 0, waits = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        /* Nothing fails while others are looked for; they come nearer all the same. */
        const double works = on / (1 + (detect + regroup) / (1 - share[TY_FLEET_PLANNED]));
        mean = ty_replicas_mean(&d->replicas, job->elastic.rate * d->replicas.restart_s * works,
                                job->load * on / all * mean.there, d->spares);
        const double fail = job->elastic.rate * mean.there; /* a second of work */
        detect = on * fail * job->elastic.wait_s;
        regroup = on * fail * 2 * d->replicas.regroup_s;
        waits = on * (1 - mean.running) / mean.running;
        all = 1 + (detect + regroup + waits) / (1 - share[TY_FLEET_PLANNED]);
    }
    for (int i = 0; i < TY_N_FLEET_STATES; i++) {
        const bool works = i == TY_FLEET_WORK || i == TY_FLEET_CHECKPOINT || i == TY_FLEET_LOST;
        share[i] *= works ? mean.there / all : i == TY_FLEET_PLANNED ? 1 : 1 / all;
    }
    job->elastic.detect = detect / all;
    job->elastic.restart = regroup / all;
    job->elastic.replicas = (waits + on * (1 - mean.there)) / all;
    share[TY_FLEET_DETECT] += job->elastic.detect;
    share[TY_FLEET_RESTART] += job->elastic.restart;
    share[TY_FLEET_REPLICAS] = job->elastic.replicas;
}

/* What slow steps lose of the work that is kept. */
static void share_with_slow(struct ty_fleet_job *job)
{
    const struct ty_days *d = &job->days;
    const double kept = job->share[TY_FLEET_WORK];
    const struct ty_slow_shares s =
        ty_slow_mean(&d->slow, &job->renewal, d->evicts && d->replicas.n == 0);
    job->share[TY_FLEET_SLOW] = kept * s.hosts;
    job->share[TY_FLEET_DRIFT] = kept * s.drift;
    job->share[TY_FLEET_WORK] -= kept * (s.hosts + s.drift);
}

/* Evaluations come after so many steps: of the work that is kept they are a share. */
static void share_with_evaluation(struct ty_fleet_job *job)
{
    job->share[TY_FLEET_EVALUATION] = job->days.evaluation * job->share[TY_FLEET_WORK];
    job->share[TY_FLEET_WORK] -= job->share[TY_FLEET_EVALUATION];
}

void ty_fleet_job(const struct ty_fleet_options *options, uint32_t nodes, uint32_t gpus,
                  struct ty_fleet_job *job)
{
    *job = (struct ty_fleet_job){.days = days_of(options, nodes, gpus)};
    struct ty_days *d = &job->days;
    job->renewal = renewal_of(d);
    d->every_s = options->checkpoint.every_s > 0
                     ? options->checkpoint.every_s
                     : fmax(ty_best_interval(&job->renewal), shortest(d));
    job->renewal.every_s = d->every_s;
    job->load = load_of(d);

    const struct ty_renewal_shares r = ty_renewal_shares(&job->renewal);
    const double planned = d->planned_s / (d->planned_every_s + d->planned_s);
    const double stops = d->planned_s > 0 ? planned : 0;
    const bool never = d->spares == TY_FLEET_SPARES_ENOUGH || d->replicas.n > 0;
    const double waits = never ? 0 : ty_erlang_loss(d->spares + 1, job->load);
    const double rest = (1 - stops) * (1 - waits);
    const double share[TY_N_FLEET_STATES] = {
        [TY_FLEET_WORK] = rest * r.goodput,
        [TY_FLEET_CHECKPOINT] = rest * r.checkpoints,
        [TY_FLEET_LOST] = rest * r.lost_work,
        [TY_FLEET_DETECT] = rest * r.wait,
        [TY_FLEET_RESTART] = rest * r.restart,
        [TY_FLEET_SPARES] = (1 - stops) * waits,
        [TY_FLEET_PLANNED] = stops,
    };
    memcpy(job->share, share, sizeof(share));
    if (d->replicas.n > 0) {
        share_with_replicas(job);
    }
    share_with_slow(job);
    share_with_evaluation(job);
}

double ty_fleet_cause_share(const struct ty_fleet_job *job, const struct ty_days_cause *cause)
{
    if (!(cause->rate > 0)) {
        return 0;
    }
    const bool leaves = cause->leaves;
    const double rate = leaves ? job->elastic.rate : job->renewal.rate;
    const double mean_s = leaves ? job->elastic.wait_s : job->renewal.wait_s;
    const double detect =
        leaves ? job->elastic.detect : job->share[TY_FLEET_DETECT] - job->elastic.detect;
    const double others =
        leaves ? job->elastic.restart + job->elastic.replicas
               : job->share[TY_FLEET_LOST] + job->share[TY_FLEET_RESTART] - job->elastic.restart;
    return cause->rate / rate * (others + (mean_s > 0 ? detect * cause->wait_s / mean_s : 0));
}

/* What one takes, and its share of the time of steps. */
static int find_evaluation(const struct ty_run *run, struct ty_fleet *f, struct ty_err *err)
{
    const uint32_t every = f->options.evaluation.every, n = f->options.evaluation.sequences;
    if ((every > 0) != (n > 0)) {
        return ty_check_fail(&run->config->sections[TY_SECTION_FLEET],
                             n > 0 ? "evaluation.sequences" : "evaluation.every", err,
                             "%u: an evaluation has a number of sequences every so many steps; "
                             "give fleet.evaluation.%s, too",
                             (unsigned)(n > 0 ? n : every), n > 0 ? "every" : "sequences");
    }
    const double s = n > 0 ? ty_stage_times_evaluation(run, n) : 0;
    f->options.evaluation.s = s;
    f->options.evaluation.share = n > 0 ? s / (s + every * f->step.step_s) : 0;
    return 0;
}

/* What cannot be, of values that are right by themselves. */
static int check(const struct ty_run *run, const struct ty_fleet_job *job, struct ty_err *err)
{
    const struct ty_section *section = &run->config->sections[TY_SECTION_FLEET];
    const struct ty_days *d = &job->days;
    int rc = 0;
    if (d->every_s < shortest(d)) {
        rc = ty_check_fail(section, "checkpoint.durable_after", err,
                           "%g s, and the next checkpoint to storage is complete after %g s; give "
                           "checkpoint.every of %g s or more, or auto",
                           d->durable_after_s,
                           d->store_every * (d->every_s + d->stall_s) + d->store_stall_s,
                           shortest(d));
    }
    if (d->planned_s > 0 && d->planned_every_s <= 0) {
        rc = ty_check_fail(section, "planned.per_day", err,
                           "%g stops of %g s fill the day; give fewer, or shorter ones",
                           TY_DAY_S / (d->planned_every_s + d->planned_s), d->planned_s);
    }
    if (d->from_memory > 0 && d->store_every == 1) {
        rc = ty_check_fail(section, "checkpoint.from_memory", err,
                           "%g of the failures are healed from memory, and every checkpoint goes "
                           "to storage; give checkpoint.store_every of 2 or more",
                           d->from_memory);
    }
    return rc;
}

void ty_fleet_resized(const struct ty_fleet *f, double gpus, struct ty_fleet_job *job)
{
    struct ty_fleet_options o = f->options;
    o.spares = TY_FLEET_SPARES_ENOUGH;
    o.checkpoint.every_s = 0;
    ty_fleet_job(&o, (uint32_t)ceil(gpus / f->run->config->cluster.gpus_per_node), (uint32_t)gpus,
                 job);
}

/* How many nodes leave at a time; not all of them can be one replica. */
static int find_replicas(const struct ty_run *run, struct ty_fleet *f, struct ty_err *err)
{
    const struct ty_section *section = &run->config->sections[TY_SECTION_FLEET];
    const struct ty_layout *l = &run->config->layout;
    if (f->options.elastic.on && l->unlike) {
        return ty_check_fail(section, "elastic", err,
                             "true, and which nodes are a replica is not known of stages of "
                             "different shape (layout.stage_tensor, layout.stage_data); write "
                             "false");
    }
    const uint32_t n = f->options.elastic.on ? ty_replicas_of(run) : 1;
    if (n == 0) {
        return ty_fail_memory(err);
    }
    f->options.elastic.nodes = f->options.elastic.on ? f->nodes / n : 0;
    if (!f->options.elastic.on || n > 1) {
        return 0;
    }
    if (l->data == 1) {
        return ty_check_fail(section, "elastic", err,
                             "true, and there is one replica; give layout.data of 2 or more");
    }
    return ty_check_fail(section, "elastic", err,
                         "true, and no replica can leave: the %u data ranks keep one copy of all "
                         "states, or share nodes; give layout.zero 0, or layout.shard of fewer "
                         "ranks, on nodes of their own",
                         (unsigned)l->data);
}

int ty_fleet_work_out(const struct ty_run *run, double days, uint32_t histories, uint32_t threads,
                      const struct ty_progress *progress, struct ty_fleet *fleet,
                      struct ty_err *err)
{
    const struct ty_cluster *cluster = &run->config->cluster;
    struct ty_fleet *f = fleet;
    *f = (struct ty_fleet){.run = run, .played_days = days, .histories = histories};
    f->gpus = ty_run_ranks(run);
    f->nodes = (f->gpus + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
    ty_run_numbers(run, &f->step);
    f->checkpoint = fleet_checkpoint(run);
    if (isnan(f->checkpoint.bytes) || isnan(f->step.mfu)) { /* see whole.h: no memory */
        return ty_fail_memory(err);
    }
    f->options = fleet_resolve(run, &f->checkpoint);
    const struct ty_fleet_options *options = &f->options;
    int rc = find_replicas(run, f, err);
    rc = rc < 0 ? rc : find_evaluation(run, f, err);
    if (rc < 0) {
        return rc;
    }
    ty_fleet_job(options, f->nodes, f->gpus, &f->job);
    rc = check(run, &f->job, err);
    if (rc < 0) {
        return rc;
    }
    const double goodput = f->job.share[TY_FLEET_WORK];
    f->spares = f->options.spares == TY_FLEET_SPARES_ENOUGH ? 0 : f->options.spares;
    f->goodput_mfu = f->step.mfu * goodput;
    f->tokens_per_day = f->step.tokens_per_s * goodput * TY_DAY_S;
    f->days_for_tokens = options->tokens / f->tokens_per_day;
    f->gpu_hours = f->days_for_tokens * 24 * f->gpus;
    f->cost =
        f->days_for_tokens * 24 * options->price * (f->gpus + f->spares * cluster->gpus_per_node);
    rc = ty_days_mean(&f->job.days, days * TY_DAY_S, run->config->run.seed, histories, threads,
                      progress, &f->played);
    return rc == TY_EIO ? ty_progress_stopped(err) : rc < 0 ? ty_fail_memory(err) : 0;
}

/* ---- what a change would be worth ---- */

#define LEAST 1e-6 /* of goodput that is worth a line */

typedef void change_fn(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus);

static void found_sooner(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)gpus;
    o->detect_s = fmax(o->detect_s - 60, 0);
    for (uint32_t i = 0; i < o->n_causes; i++) {
        cause[i].detect_s = fmax(cause[i].detect_s - 60, 0);
    }
}

static void restarts_sooner(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause;
    o->restart_s = fleet_restart_s(o, gpus) / 2;
    o->memory_restart_s /= 2;
}

static void stalls_less(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->checkpoint.stall_s /= 2;
    o->checkpoint.memory_stall_s /= 2;
}

static void stores_faster(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->checkpoint.durable_after_s /= 2;
}

static void more_spares(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->spares += o->spares < TY_FLEET_SPARES_ENOUGH - 2 ? 2 : 0;
}

static void fails_less(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)gpus;
    o->failures_per_1000_node_days *= 0.9;
    for (uint32_t i = 0; i < o->n_causes; i++) {
        cause[i].per_1000_node_days *= 0.9;
    }
}

static void stops_less(struct ty_fleet_options *o, struct ty_fleet_cause *cause, uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->planned.per_day /= 2;
}

static void slow_found_sooner(struct ty_fleet_options *o, struct ty_fleet_cause *cause,
                              uint32_t gpus)
{
    (void)cause, (void)gpus;
    o->stragglers.found_s /= 2;
}

static double goodput(const struct ty_fleet *f, change_fn *change)
{
    struct ty_fleet_options o = f->options;
    struct ty_fleet_cause cause[TY_DAYS_CAUSES];
    struct ty_fleet_job job;
    if (o.n_causes > 0) {
        memcpy(cause, o.cause, o.n_causes * sizeof(cause[0]));
        o.cause = cause;
    }
    change(&o, cause, f->gpus);
    ty_fleet_job(&o, f->nodes, f->gpus, &job);
    return job.share[TY_FLEET_WORK];
}

uint32_t ty_fleet_changes(const struct ty_fleet *f, struct ty_fleet_change change[TY_FLEET_CHANGES])
{
    static const struct {
        const char *what;
        change_fn *change;
    } rows[] = {
        {"a minute less to find a failure", found_sooner},
        {"restarts in half the time", restarts_sooner},
        {"checkpoints that stop the job for half as long", stalls_less},
        {"checkpoints that are durable in half the time", stores_faster},
        {"two more spare nodes", more_spares},
        {"a tenth fewer failures of nodes", fails_less},
        {"half as many planned stops", stops_less},
        {"slow hosts found in half the time", slow_found_sooner},
    };
    uint32_t n = 0;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double gain = goodput(f, rows[i].change) - f->job.share[TY_FLEET_WORK];
        uint32_t at = n;
        for (; gain > LEAST && at > 0 && change[at - 1].gain < gain; at--) {
            change[at] = change[at - 1];
        }
        if (gain > LEAST) {
            change[at] = (struct ty_fleet_change){rows[i].what, gain};
            n++;
        }
    }
    return n;
}
