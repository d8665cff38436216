/* optimizer.h - optimizers (framework.optimizer): what each keeps of a parameter, and does in a
 * step. A new one is a row of optimizer.c and a word in framework.c. */
#ifndef TY_MODEL_OPTIMIZER_H
#define TY_MODEL_OPTIMIZER_H

#include "model/block/block.h"

struct ty_optimizer {
    double moments;     /* of a parameter, of framework.moment_dtype each */
    double state_B;     /* bytes it keeps besides */
    double again_B;     /* one kernel: bytes moved besides states, weight and gradient; */
    double operators_B; /* framework operators: bytes moved in all, with states in 32 bit; 0: it is
                         * one kernel always */
    bool matrices;      /* orthogonalizes what it keeps of matrices; the rest of the model has two
                    * moments, those of Adam */
};
const struct ty_optimizer *ty_optimizer_of(const struct ty_layout *layout);

/* Bytes that a step moves for a parameter; of matrices, without what is below. */
double ty_optimizer_traffic(const struct ty_layout *layout);

/* What orthogonalizing takes of a rank in a step, [1] for matrices of experts: bytes that tensor
 * ranks gather, bytes that those who share states gather (ZeRO-1, -2) or exchange, there and back
 * (ZeRO-3). */
struct ty_muon {
    struct ty_cost work;
    double tensor_B[2], data_B[2];
    double longest_s; /* of one matrix: no rank takes less */
};

/* Who gathers and exchanges it: tensor_B and data_B in turns. */
#define TY_MUON_GROUPS 4
extern const enum ty_comm_group ty_muon_groups[TY_MUON_GROUPS];

/* Of a stage of so many units; zeros for an optimizer that has no need of it. */
struct ty_muon ty_muon_of(const struct ty_gpu *gpu, const struct ty_layout *layout,
                          const struct ty_units *units, const uint32_t count[TY_N_UNIT_KINDS]);

#endif
