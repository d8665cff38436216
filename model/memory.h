/* memory.h - bytes a rank holds: states by ZeRO stage, activations by what is kept. */
#ifndef TY_MODEL_MEMORY_H
#define TY_MODEL_MEMORY_H

#include "model/layout.h"

/* Bytes of weights, gradients and optimizer state for `params` parameters of one rank's model
 * part. Source: Rajbhandari et al. 2020 (ZeRO): 16 P, 4 P + 12 P/N, 2 P + 14 P/N, 16 P/N for
 * 16-bit gradients; fp32 gradients add 2 B per parameter of the gradient term. */
struct ty_state_bytes {
    double weights, grads, optimizer;
};
struct ty_state_bytes ty_memory_states(const struct ty_layout *layout, double params);

/* Activations that one micro-batch leaves behind in one layer until its backward, per rank.
 * Source: Korthikanti et al. 2022, table 2, extended to SwiGLU, RMSNorm and flash attention. */
double ty_memory_layer_activations(const struct ty_arch *arch, const struct ty_layout *layout);

/* What a layer needs while its backward runs beyond what was kept: the recomputed activations. */
double ty_memory_layer_recomputed(const struct ty_arch *arch, const struct ty_layout *layout);

/* Kept until the backward by the embedding (dropout mask, token ids) and by the head (inputs of the
 * final norm and of the output matrix, probabilities). */
double ty_memory_embedding_activations(const struct ty_arch *arch, const struct ty_layout *layout);
double ty_memory_head_activations(const struct ty_arch *arch, const struct ty_layout *layout);

/* What loss and head need besides while they run: the logits, a copy of them in 32 bit, the
 * gradient of the logits. Transient. */
double ty_memory_logits(const struct ty_arch *arch, const struct ty_layout *layout);

/* Communication buffers a rank always holds: the gradient bucket, ZeRO-3's gathered layers (current
 * and prefetched) and their gradients. `layer_params`: parameters of one layer on this rank, before
 * sharding. 0 without replicas. */
double ty_memory_buffers(const struct ty_layout *layout, double layer_params);

/* Bytes of a weight or an activation. Products in fp8 take and give tensors kept in 16 bit. */
double ty_dtype_bytes(enum ty_dtype dtype);

/* Bytes of a gradient, kept and on the wire. */
double ty_memory_grad_bytes(const struct ty_layout *layout);

#endif
