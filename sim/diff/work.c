/* work.c - what a measured step worked on.
 *
 * A profile does not say what was trained: tokens and MFU are those of the run file beside it, if
 * that has as many GPUs and nothing tells of other work. Two things do: an MFU above 1, and matrix
 * products (whose shapes PyTorch records with record_shapes=True) of more FLOPs than a whole step
 * of the run has. Fewer prove nothing, since attention and kernels of others have no shapes. */
#include <math.h>
#include <stdlib.h>

#include "sim/diff/diff.h"
#include "sim/run/gpus.h"
#include "sim/profile/import.h"

#define MORE 1.1 /* of FLOPs: a vocabulary that was padded, a head that was computed twice */

/* Of the products of one rank in the steps that count. `seen` is [n_ops], false. */
static double products_of(const struct ty_recording *r, const struct ty_profile_rank *rank,
                          bool *seen)
{
    double flops = 0;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        const bool counts = k->op != TY_PROFILE_NONE && k->class == TY_PROFILE_COMPUTE &&
                            (!r->marked || k->step != TY_PROFILE_NONE);
        if (counts && !seen[k->op]) {
            seen[k->op] = true;
            flops += ty_import_product_flops(r->profile, rank, k->op);
        }
    }
    return flops;
}

/* FLOPs of the recorded matrix products of a GPU in a step; 0: no shapes. Negative: no memory. */
static double recorded_flops(const struct ty_diff_side *side)
{
    const struct ty_recording *r = side->from->recording;
    const uint32_t n_ranks = r->n_ranks - (r->marked ? r->n_unmarked : 0);
    double flops = 0;
    for (uint32_t i = 0; i < r->profile->n_ranks; i++) {
        const struct ty_profile_rank *rank = &r->profile->ranks[i];
        bool *seen = calloc((size_t)rank->n_ops + 1, sizeof(*seen));
        if (seen == NULL) {
            return -1;
        }
        flops += products_of(r, rank, seen);
        free(seen);
    }
    return n_ranks > 0 ? flops / ((double)n_ranks * side->n_steps) : 0;
}

int ty_diff_assume_work(struct ty_diff *d, struct ty_diff_side *side)
{
    const double recorded = recorded_flops(side);
    if (recorded < 0) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < d->n && isnan(side->tokens); i++) {
        const struct ty_diff_side *from = &d->side[i];
        struct ty_figures f;
        if (from->from->run == NULL || from->n_gpus != side->n_gpus) {
            continue;
        }
        ty_run_figures(from->from->run, &f);
        const double planned = f.hfu * ty_run_peak(from->from->run) * from->step_s;
        const double mfu = from->mfu * from->step_s / side->step_s;
        if (mfu > 1 || recorded > MORE * planned) {
            side->unlike = side->unlike != 0 ? side->unlike : from->letter;
            side->unlike_mfu = mfu;
            side->unlike_flops = planned > 0 ? recorded / planned : 0;
            continue;
        }
        side->tokens = from->tokens;
        side->tokens_per_s = side->tokens / side->step_s;
        side->mfu = mfu;
        side->assumed = from->letter;
    }
    return 0;
}
