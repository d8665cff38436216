/* meshes.h - stages on submeshes of different shape: Alpa's question, asked of a space.
 *
 * Layers are cut into stages and the GPUs into parts of nodes or whole nodes, one for each stage;
 * inside it some share matrices, the others the batch. For each number of sequences that a
 * micro-batch of the space has, and each way to recompute, the chain program (chain.h) finds the
 * best of all cuts and shapes where costs add up: seconds and bytes of a layer in a scheme from an
 * execution of the model on such a part of the machine alone, and what is between stages from the
 * thinner end of it. Those that promise most are simulated as stages of different shape; what their
 * bills find too full gets less room, and is asked again. */
#ifndef TY_PLAN_MESHES_H
#define TY_PLAN_MESHES_H

#include "sim/plan/chain.h"
#include "sim/plan/uneven.h"

/* Adds to what dealing layers anew has found (uneven.h), in the same words. *step_s: of the best
 * that is known. At most `most` cuts are simulated. TY_EUSAGE
 * where there are more GPUs than the program takes. Nothing is found of models with several kinds
 * of layers, and where the run file deals them. */
int ty_plan_meshes(const struct ty_plan_space *space, double *step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err);

/* ---- between its two files ---- */

#define TY_MESH_GROUPS  16u /* of layers that are cut between: Alpa has 6 to 16 */
#define TY_MESH_SCHEMES 96u
#define TY_MESH_GPUS    128u /* beyond, the program takes minutes */

/* What the chain is asked of: a micro-batch of so many sequences, in the words of a point. */
struct ty_mesh_chain {
    const struct ty_plan_space *space;
    const struct ty_plan_point *point; /* its schedule, ZeRO, recomputation */
    uint32_t sequences, micro_batches, gpus, node, groups;
    double room; /* share of what a bill leaves that is dealt */
    struct ty_chain_scheme scheme[TY_MESH_SCHEMES];
    struct ty_mesh_cost {
        uint32_t tensor, data;
        double layer_s, ends_s; /* of a micro-batch, forward and backward */
        double kept_B, brief_B, loss_B, states_B, embedding_B, head_B, room_B;
    } cost[TY_MESH_SCHEMES];
    uint32_t n_schemes;
};

/* mesh_costs.c: prices all schemes. 0, or why not. */
int ty_mesh_price(struct ty_mesh_chain *m, struct ty_err *err);
/* Layers before group g. */
uint32_t ty_mesh_layers(const struct ty_mesh_chain *m, uint32_t group);
/* As struct ty_chain has them. */
double ty_mesh_stage(const void *arg, uint32_t from, uint32_t to, uint32_t scheme, uint32_t behind);
double ty_mesh_between(const void *arg, uint32_t at, uint32_t used, uint32_t before,
                       uint32_t after);

#endif
