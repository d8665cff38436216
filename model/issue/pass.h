/* pass.h - what the passes of a stage consist of, and what they wait for besides the order inside
 * their units: rules that lowering and the bound of a plan follow alike. */
#ifndef TY_ISSUE_PASS_H
#define TY_ISSUE_PASS_H

#include "model/block/block.h"

/* The most units that a stage of so many layers has. */
static inline uint32_t ty_pass_units_most(const struct ty_arch *arch,
                                          const struct ty_layers *layers)
{
    return layers->count + 3 * arch->mtp + 2;
}
/* The units of a virtual stage in forward order: their kinds (enum ty_unit_kind) and the global
 * numbers of layers, TY_NONE for what is no layer; layer NULL: nobody asks. Returns how many. */
uint32_t ty_pass_units(const struct ty_arch *arch, const struct ty_layers *layers, bool first,
                       bool last, uint8_t *kind, uint16_t *layer);

/* Whether the computation behind a bucket waits for its reduction: without overlap a gradient that
 * is kept in shards only has no place to wait. */
static inline bool ty_pass_reduces_at_once(const struct ty_layout *layout)
{
    return !ty_layout_does(layout, layout->framework.overlap_grad_reduce) &&
           !ty_layout_reduces_late(layout);
}
/* Whether whole buckets would pile up, so that only one reduction may be under way: the computation
 * behind a bucket waits for the bucket before (as PyTorch FSDP2 does,
 * FSDPParamGroup.post_backward). */
static inline bool ty_pass_piles_up(const struct ty_layout *layout)
{
    return (layout->zero == 3 && ty_layout_moves_grads(layout)) ||
           (layout->zero == 2 && ty_layout_reduces(layout) == TY_REDUCES_EVERY);
}

/* Whether a message holds up the next pass of a rank with so many chunks. */
static inline bool ty_pass_waits_for_send(const struct ty_layout *layout, uint32_t chunks)
{
    const int overlap = layout->framework.overlap_p2p;
    return overlap == TY_OVERLAP_P2P_FALSE || (overlap == TY_OVERLAP_P2P_AUTO && chunks == 1);
}
/* Whether messages are sent in parts that do not stay parts: as the framework does it, and between
 * stages of different shape always. */
static inline bool ty_pass_gathers_messages(const struct ty_layout *layout, bool alike)
{
    return layout->tensor > 1 && !ty_layout_is_mesh(layout) && !layout->sequence_parallel &&
           (layout->framework.scatter_gather_p2p || !alike) && layout->pipeline > 1;
}

#endif
