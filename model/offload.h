/* offload.h - states that do not live on the GPU: which, where, what that needs of a layout.
 *
 * Two choices, where the optimizer (with the gradients it reads) and the 16-bit parameters live,
 * and presets that are sets of them:
 *
 *                        optimizer  parameters  layout.zero
 *     zero-offload       cpu        gpu         2     (Ren et al. 2021)
 *     zero3-offload      cpu        cpu         3     (Rajbhandari et al. 2021)
 *     zero-infinity      nvme       nvme        3     (the same)
 *     gemini             cpu        cpu         3     (Colossal-AI, Li et al. 2021): or the GPU, as
 *                                                     far as it has room, or nvme, where the
 *                                                     host has none
 *
 * What a rank moves a step: X = 2 bytes for each parameter of its part of the model, N data ranks,
 * k micro-batches, share s of the optimizer that is not on the GPU (Twin-Flow):
 *
 *     optimizer   s X/N down, bucket by bucket as gradients are reduced; where parameters stay on
 *                 the GPU s X/N up, chunk by chunk behind the update
 *     parameters  X/N up in every forward and every backward, fetched `depth` units ahead; the rest
 *                 of a unit comes by all-gather
 *     activations (layout.offload_activations) what a forward keeps down, unit by unit, and up in
 *                 its backward in reverse order; two units of it are on the GPU. On drives: on to
 *                 them behind that, and back two units ahead, through two buffers either way */
#ifndef TY_MODEL_OFFLOAD_H
#define TY_MODEL_OFFLOAD_H

#include "model/layout.h"

extern const struct ty_word ty_offload_words[], ty_home_words[], ty_stash_words[];

/* The keys of the layout: rows of ty_layout_fields. ROW: as there. */
#define TY_OFFLOAD_ROWS(ROW)                                                                       \
    ROW(offload, WORD, .late = true, .words = ty_offload_words, .fallback = "none",                \
        .doc = "an offload system: it sets the next two keys where they are auto, and "            \
               "layout.zero where it is not given"),                                               \
        ROW(offload_optimizer, WORD, .late = true, .words = ty_home_words, .fallback = "auto",     \
            .doc = "where the optimizer's state and gradients are kept and the update runs"),      \
        ROW(offload_parameters, WORD, .late = true, .words = ty_home_words, .fallback = "auto",    \
            .doc = "where 16-bit parameters are kept between uses"),                               \
        ROW(offload_activations, WORD, .late = true, .words = ty_stash_words, .fallback = "gpu",   \
            .doc = "where activations are kept for the backward pass"),                            \
        ROW(offload_share, QUANTITY, .late = true, .dim = TY_DIM_RATIO, .max = 1,                  \
            .fallback = "100 %",                                                                   \
            .doc = "share of the optimizer not on the GPU (Twin-Flow, ZeRO-Offload++)"),           \
        ROW(offload_depth, UINT, .late = true, .min = 1, .max = 1 + TY_PREFETCH_MAX,               \
            .fallback = "3",                                                                       \
            .doc = "units of a model on their way to the GPU or in use there; 1: no "              \
                   "overlap"),                                                                     \
        ROW(offload_delay, BOOL, .late = true, .fallback = "false",                                \
            .doc = "the update runs beside the next step, whose parameters are one step old "      \
                   "(ZeRO-Offload's delayed parameter update)"),                                   \
        ROW(offload_room, QUANTITY, .late = true, .dim = TY_DIM_RATIO, .max = 1,                   \
            .fallback = "90 %",                                                                    \
            .doc = "share of a GPU that gemini fills (Colossal-AI's steady_cuda_cap_ratio)")

/* Derives where things live, and layout.zero where it was not given and a preset needs more of it;
 * checks that they can. `frozen`: some weights are not trained. */
int ty_offload_finish(struct ty_layout *layout, const struct ty_section *section, bool frozen,
                      struct ty_err *err);

/* What can be said once the data ranks are known. */
int ty_offload_check(const struct ty_layout *layout, const struct ty_section *section,
                     struct ty_err *err);

/* The least layout.zero of a system. */
uint32_t ty_offload_zero(int system);

/* framework.preset of a job that names none: one for all layouts, so that comparing two of them
 * compares nothing else. Only where parameters are sharded, which that stack does not do, it is
 * fsdp, or the framework that the offload system belongs to. */
const char *ty_offload_framework(int system, uint32_t zero);

#endif
