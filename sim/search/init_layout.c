/* init_layout.c - a layout that fits and that a practitioner would start from.
 *
 * In the usual order (Narayanan et al. 2021, section 3): as few GPUs to a copy of the model as its
 * memory lets, since every cut costs communication; of these, tensor ranks first, for which a node
 * has NVLink, and pipeline stages for what a node cannot hold; the rest are replicas, which share
 * the optimizer's state. Recomputation only where no cut fits without, for it costs a part of the
 * forward or all of it.
 *
 * Models with experts are cut otherwise: their matrices are narrow, and rows that leave the node
 * cost more than anything else. So experts are dealt to the ranks of a node, or to all of a stage
 * where that does not fit, at most two tensor ranks are tried before more, and what is cheap to
 * make anew is not kept where that spares GPUs: it costs 1 or 2 %, twice the stages more. (Of 12
 * to 48 layouts of DeepSeek-V3 on 2048 H800, Qwen3-235B on 256 and Mixtral 8x7B on 64 H100 that
 * gives the fastest.)
 *
 * Then the micro-batch grows while there is memory, and enough of them to
 * keep the pipeline full. Whether a layout fits is asked of the plan of the very file that would be
 * written. */
#include "sim/base/number_text.h"
#include "sim/run/bill.h"
#include "sim/run/run.h"
#include "sim/search/init.h"

#define TENSOR_MOST      8u /* beyond, matrices are too narrow for a GPU, on any machine we know */
#define TENSOR_SPARSE    2u /* the same where the wide ones are experts' */
#define MICRO_BATCH_MOST 8u
#define PER_STAGE        4u /* micro-batches for each stage: idle a fifth at most */

static int fits(const struct ty_init_job *job)
{
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_bill bill;
    int rc = ty_init_read(job, &config, NULL); /* nobody asks why a cut cannot be */
    if (rc == 0) {
        rc = ty_run_plan(&run, config, NULL, NULL);
    }
    if (rc == 0) {
        ty_run_fullest(run, &bill);
        rc = ty_run_verdict(run, &bill) == TY_VERDICT_FITS;
        ty_run_free(run);
    } else {
        rc = rc == TY_ENOMEM ? rc : 0;
    }
    ty_config_free(config);
    return rc;
}

static uint32_t replicas(const struct ty_init_job *job)
{
    return job->nodes * job->per_node / (job->tensor * job->pipeline);
}

/* Micro-batches that a pipeline should have. */
static uint32_t enough(const struct ty_init_job *job)
{
    return job->pipeline > 1 ? PER_STAGE * job->pipeline : 1;
}

/* A power of two of micro-batches for every replica: as many tokens as wanted, or more. */
static void choose_batch(struct ty_init_job *job)
{
    const double wanted = job->batch_tokens / ((double)job->sequence * replicas(job));
    uint32_t each = 1;
    while (each < enough(job) || each < wanted) {
        each *= 2;
    }
    job->global_batch = each * replicas(job);
}

/* The widest tensor group among `ranks` to a copy that stays in a node and divides the heads. */
static uint32_t widest(const struct ty_init_job *job, uint32_t ranks)
{
    uint32_t tensor = TENSOR_MOST;
    while (ranks % tensor != 0 || job->per_node % tensor != 0 || job->heads % tensor != 0) {
        tensor /= 2;
    }
    return tensor;
}

/* Most ranks among which experts can be dealt, at most so many. */
static uint32_t deal(const struct ty_init_job *job, uint32_t most)
{
    const uint32_t stage = job->nodes * job->per_node / job->pipeline;
    uint32_t n = stage < most ? stage : most;
    while (n > 1 && (stage % n != 0 || job->experts % n != 0)) {
        n--;
    }
    return n;
}

/* A layout of so many stages, with experts shared by few ranks or by many. */
static int deal_and_fit(struct ty_init_job *job)
{
    const uint32_t many = job->experts > 0 ? deal(job, job->experts) : 1;
    job->expert = job->experts > 0 ? deal(job, job->per_node) : 1;
    int rc = fits(job);
    if (rc == 0 && many > job->expert) {
        job->expert = many;
        rc = fits(job);
    }
    return rc;
}

static int grow_micro_batch(struct ty_init_job *job)
{
    int rc = 1;
    while (rc > 0 && 2 * job->micro_batch <= MICRO_BATCH_MOST &&
           job->global_batch / replicas(job) >= 2 * job->micro_batch * enough(job)) {
        job->micro_batch *= 2;
        rc = fits(job);
        job->micro_batch /= rc > 0 ? 1 : 2;
    }
    return rc < 0 ? rc : 1;
}

/* Cuts in the usual order; each with experts shared by few ranks or by many. */
static int cut(struct ty_init_job *job, bool recomputes)
{
    static const char *const modes[] = {"none", "selective", "full"};
    const uint32_t gpus = job->nodes * job->per_node;
    int rc = 0;
    for (size_t i = 0; i < (recomputes ? TY_COUNT(modes) : 1) && rc == 0; i++) {
        for (uint32_t ranks = 1; ranks <= gpus && rc == 0; ranks++) {
            if (gpus % ranks != 0) {
                continue;
            }
            job->recompute = modes[i];
            job->runs_again = i > 0;
            job->tensor = widest(job, ranks);
            job->pipeline = ranks / job->tensor;
            job->micro_batch = 1;
            choose_batch(job);
            rc = job->pipeline <= job->layers ? deal_and_fit(job) : 0;
        }
    }
    return rc;
}

/* A copy of a model with experts on so many ranks, as few as possible of them tensor ranks. */
static int cut_sparse(struct ty_init_job *job, uint32_t ranks, uint32_t most_experts)
{
    const char *const modes[] = {"none", job->latent ? "norm+mla_up+moe_act" : "norm+moe_act"};
    int rc = 0;
    for (job->tensor = 1; job->tensor <= TENSOR_SPARSE && rc == 0;) {
        job->pipeline = ranks / job->tensor;
        const bool possible = ranks % job->tensor == 0 && job->per_node % job->tensor == 0 &&
                              job->heads % job->tensor == 0 && job->pipeline <= job->layers;
        for (size_t i = 0; i < TY_COUNT(modes) && possible && rc == 0; i++) {
            job->recompute = modes[i];
            job->micro_batch = 1;
            choose_batch(job);
            job->expert = deal(job, most_experts);
            rc = fits(job);
        }
        job->tensor *= rc == 0 ? 2 : 1;
    }
    return rc;
}

static int few_tensor_ranks(struct ty_init_job *job)
{
    const uint32_t gpus = job->nodes * job->per_node, most[] = {job->per_node, job->experts};
    int rc = 0;
    job->runs_again = false;
    for (size_t i = 0; i < TY_COUNT(most) && rc == 0; i++) {
        for (uint32_t ranks = 1; ranks <= gpus && rc == 0; ranks++) {
            rc = gpus % ranks == 0 ? cut_sparse(job, ranks, most[i]) : 0;
        }
    }
    return rc;
}

int ty_init_layout(struct ty_init_job *job, bool recomputes, struct ty_err *err)
{
    const bool sparse = job->experts > 0;
    int rc = sparse ? few_tensor_ranks(job) : 0;
    rc = rc == 0 && (recomputes || !sparse) ? cut(job, recomputes) : rc;
    rc = rc > 0 ? grow_micro_batch(job) : rc;
    return rc < 0 ? ty_fail_memory(err) : rc;
}
