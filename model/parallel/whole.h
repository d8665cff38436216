/* whole.h - parameters and FLOPs of a whole model, counted on a rank that has it all.
 *
 * FLOPs are those that utilisation counts: one convention, whatever a GPU really executes.
 *
 * PaLM (Chowdhery et al. 2022, appendix B) counts 6 for each parameter and token, with the input
 * and the output matrix both, also when they are one, without the final norm and positions; and
 * what has no parameters by its operators: attention in full, as if it were not causal. Of routed
 * experts those count that a token goes to.
 * `causal` counts half of the attention; and of models with experts, latent attention or modules
 * that predict further tokens matrix products instead of parameters, without the router's, as
 * Megatron-LM does and publications about them do (training.py, num_floating_point_operations).
 * Adapters are no part of the model: neither their parameters nor their FLOPs count. Frozen
 * weights count 2 less, for they have no weight gradient: 4 N + 12 L a d s with adapters;
 * operators below all that is trained have no gradients at all and count their forward.
 * What recomputation repeats is counted in the same way, so that HFU is never below MFU: layers
 * that run again whole by their parameters, parts of them by their products.
 *
 * All are NaN where memory is exhausted. */
#ifndef TY_MODEL_PARALLEL_WHOLE_H
#define TY_MODEL_PARALLEL_WHOLE_H

#include "model/block/block.h"

/* The units of a rank that has the whole model; with recomputation and habits of `like`, unless
 * that is NULL. */
void ty_units_make_whole(struct ty_units *units, const struct ty_arch *arch,
                         const struct ty_layout *like);

/* Of the whole model, counted from the matrices; a GPT layer has 12 h^2 + 13 h (Narayanan et al.
 * 2021). Embedding: input matrix and positions; head: final norm and untied output matrix. */
double ty_arch_layer_params(const struct ty_arch *arch); /* mean over layers */
double ty_arch_embedding_params(const struct ty_arch *arch);
double ty_arch_head_params(const struct ty_arch *arch);
double ty_arch_params(const struct ty_arch *arch);
/* Those that are not frozen, with adapters, which matrices that are one share. */
double ty_arch_trained_params(const struct ty_arch *arch, const struct ty_layout *layout);
/* Those that a token meets: of routed experts its own. With the input embedding or, unless that is
 * the output matrix as well, without: publications do either. */
double ty_arch_active_params(const struct ty_arch *arch, bool embedding);

/* Whether causal FLOPs are those of products. */
static inline bool ty_flops_by_work(const struct ty_arch *arch)
{
    return ty_arch_is_moe(arch) || ty_arch_is_latent(arch) || arch->mtp > 0 || arch->n_patterns > 0;
}

/* Model FLOPs per token of a training step: 6 N + 12 L a d s; of MFU. */
double ty_flops_model(const struct ty_arch *arch, bool causal);

/* How a training stack counts the FLOPs of which it prints MFU or TFLOP/s; 12 L a d s is attention
 * in full. */
enum ty_flops_convention {
    TY_FLOPS_PALM,       /* as above; of stacks that print none */
    TY_FLOPS_MEGATRON,   /* products with half of attention, without the router's */
    TY_FLOPS_SC21,       /* products with attention in full, 4/3 of it with any recomputation */
    TY_FLOPS_NANOTRON,   /* products with attention in full */
    TY_FLOPS_TORCHTITAN, /* 6 (N without the input matrix and positions) + 12 L a d s */
    TY_N_FLOPS_CONVENTIONS
};
extern const char *const ty_flops_convention_words[TY_N_FLOPS_CONVENTIONS];
extern const char *const ty_flops_convention_docs[TY_N_FLOPS_CONVENTIONS]; /* what it counts */

/* That of a stack, by framework.preset. */
enum ty_flops_convention ty_flops_convention(const char *preset);

/* FLOPs per token of a training step by that convention; some count recomputation in. */
double ty_flops_counted(const struct ty_arch *arch, enum ty_flops_convention convention,
                        bool recomputes);

/* FLOPs per token of forwards that layout.recompute repeats; with those above, of HFU. What an
 * attention kernel computes again for itself is none of them. */
double ty_flops_repeated(const struct ty_arch *arch, const struct ty_layout *layout, bool causal);

#endif
