/* work.c - what a measured step worked on.
 *
 * A profile does not say what was trained: tokens and MFU are those of the run file beside it, if
 * that has as many GPUs and nothing tells of other work. Two things do: an MFU above 1, and matrix
 * products (whose shapes PyTorch records with record_shapes=True) of more FLOPs than a whole step
 * of the run has. Fewer prove nothing, since attention and kernels of others have no shapes. */
#include <math.h>

#include "sim/diff/diff.h"
#include "sim/run/figures.h"
#include "sim/run/gpus.h"

#define MORE 1.1 /* of FLOPs: a vocabulary that was padded, a head that was computed twice */

/* FLOPs of the recorded matrix products of a GPU in a step; 0: no shapes. */
static double recorded_flops(const struct ty_diff_side *side)
{
    const struct ty_recording *r = side->from->recording;
    const uint32_t n_ranks = r->n_ranks - (r->marked ? r->n_unmarked : 0);
    return n_ranks > 0 ? r->product_flops / ((double)n_ranks * side->n_steps) : 0;
}

void ty_diff_assume_work(struct ty_diff *d, struct ty_diff_side *side)
{
    const double recorded = recorded_flops(side);
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
}
