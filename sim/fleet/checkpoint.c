/* checkpoint.c - see checkpoint.h. */
#include "sim/fleet/checkpoint.h"

#include <math.h>

#include "model/block/memory.h"
#include "model/parallel/whole.h"

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

struct ty_fleet_checkpoint ty_fleet_checkpoint(const struct ty_run *run)
{
    const struct ty_layout *layout = &run->config->layout;
    const struct ty_program *p = &run->lowered.program;
    /* Weights as the model has them, unless the optimizer has better ones. */
    const double each = ty_memory_weight_bytes(layout) + ty_memory_optimizer_bytes(layout);
    struct ty_fleet_checkpoint c = {.bytes = each * ty_arch_params(&run->config->arch)};
    double sum = 0, most = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        sum += run->lowered.stage[g].params;
        most = fmax(most, run->lowered.stage[g].params);
    }
    c.gpu_bytes = c.bytes / ty_run_ranks(run) * most / (sum / p->n_gangs);
    c.copy_s = copy_s(run, c.gpu_bytes, each);
    c.store_s = c.bytes / run->config->fleet.checkpoint.storage_Bps;
    return c;
}

struct ty_fleet_options ty_fleet_resolve(const struct ty_run *run,
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
