/* flops.h - FLOPs as utilisation counts them: one convention, whatever a GPU really executes.
 *
 * PaLM (Chowdhery et al. 2022, appendix B) counts 6 for each parameter and token, with the input
 * and the output matrix both, also when they are one, without the final norm and positions; and
 * attention in full, as if it were not causal. `causal` counts half of the attention. What
 * recomputation repeats is counted in the same way, so that HFU is never below MFU. */
#ifndef TY_MODEL_FLOPS_H
#define TY_MODEL_FLOPS_H

#include "model/block/block.h"

/* Model FLOPs per token of a training step: 6 N + 12 L a d s; of MFU. */
double ty_flops_model(const struct ty_arch *arch, bool causal);

/* FLOPs per token of forwards that layout.recompute repeats; with those above, of HFU. What an
 * attention kernel computes again for itself is none of them. */
double ty_flops_repeated(const struct ty_arch *arch, const struct ty_layout *layout, bool causal);

#endif
