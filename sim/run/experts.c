/* experts.c - which expert rank the others wait for, layer by layer (experts.h). */
#include "sim/run/experts.h"

#include "model/parallel.h"

static struct ty_expert_layer of_load(const struct ty_run *run, uint32_t stage,
                                      const struct ty_layer_load *load)
{
    const struct ty_gang *gang = &run->lowered.program.gangs[stage];
    struct ty_expert_layer at = {.layer = load->layer, .dropped = load->dropped};
    uint32_t member = 0;
    at.load = ty_layer_load_most(load, gang->n_ranks, &member);
    at.rank = gang->rank_of[member];
    at.expert = ty_expert_place(&run->config->layout, &run->lowered.grid, at.rank).expert;
    at.waited_s = at.layer < run->stats.n_layers
                      ? run->stats.layer_waited_s[at.layer] / run->lowered.program.n_steps
                      : 0;
    return at;
}

const struct ty_expert_layer *ty_run_expert_layers(const struct ty_run *run, uint32_t *n,
                                                   struct ty_arena *arena)
{
    const uint32_t most = run->config->arch.layers + run->config->arch.mtp;
    struct ty_expert_layer *item = ty_arena_array(arena, struct ty_expert_layer, most + 1);
    *n = 0;
    for (uint32_t layer = 0; item != NULL && layer < most; layer++) {
        bool found = false;
        for (uint32_t s = 0; s < run->config->layout.pipeline; s++) {
            const struct ty_stage_plan *plan = &run->lowered.stage[s];
            for (uint32_t i = 0; i < plan->n_loads; i++) {
                if (plan->load[i].layer != layer) {
                    continue;
                }
                const struct ty_expert_layer at = of_load(run, s, &plan->load[i]);
                item[*n] = !found || at.load > item[*n].load ? at : item[*n];
                found = true;
            }
        }
        *n += found;
    }
    return item;
}
