/* size.c - how large a program is going to be, told while it is small.
 *
 * All steps of a pipeline rank run the same blocks, so those of the first tell how many operations
 * there will be. Whoever lowers may stop it there (struct ty_lower_input, allow); else there is
 * room for the passes of all ranks and steps in one piece, where an array that doubles would leave
 * its smaller selves behind. */
#include "model/lower/internal.h"

int ty_lower_estimate_size(struct ty_lowering *l, uint32_t first, uint32_t steps)
{
    const struct ty_program *p = l->b.program;
    const double made = p->n_passes - first;
    uint64_t sum = 0;
    for (uint32_t i = first; i < p->n_passes; i++) {
        sum += p->blocks[p->passes[i].block].n_ops;
    }
    const double ops = (double)sum;
    l->size.ops += ops * steps;
    l->size.most = ops * steps > l->size.most ? ops * steps : l->size.most;
    l->size.passes += made * steps;
    const double copies = ty_sched_directions(l->sched->placement);
    l->size.share += l->out->stage[l->here.rank].n_layers / (copies * l->in->arch->layers);
    l->size.members = (l->like == NULL ? l->members : l->most_members) * l->out->window.times;
    l->size.flows = p->n_flows > 0;
    const int rc = l->in->allow != NULL ? l->in->allow(l->in->allow_arg, &l->size, l->b.err) : 0;
    /* every rank has about as many; what is lacking grows as it always does */
    const double all = l->size.passes / (l->here.rank + 1.0) * l->shape.p - p->n_passes;
    return rc < 0 || l->here.rank > 0 ? rc : ty_build_reserve(&l->b, all > 0 ? (size_t)all : 0);
}
