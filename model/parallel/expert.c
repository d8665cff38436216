/* expert.c - expert parallelism: ranks share the experts of a layer.
 *
 * Experts are laid over the ranks of a pipeline stage by a grid of their own, whatever tensor,
 * context and data parallelism do with the rest of the layer (Megatron-LM's parallel folding):
 * neighbours have parts of the same experts (layout.expert_tensor), then come those that have other
 * experts (layout.expert), then those that have the same (expert-data ranks). */
#include "model/block/block_internal.h"
#include "model/check.h"

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const bool apart = op->expert && ty_layout_experts_apart(b->layout);
    for (uint32_t i = 0; i < op->n_weights && apart; i++) {
        op->weights[i].group = TY_GROUP_EXPERT_DATA;
    }
}

/* ---- what must divide what ---- */

static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const struct {
        const char *key;
        uint32_t value;
    } rows[] = {{"expert", layout->expert}, {"expert_tensor", layout->expert_tensor}};
    int rc = 0;
    (void)arch;
    (void)gpus;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (rows[i].value > 1) {
            rc = ty_check_first(rc, ty_check_fail(section, rows[i].key, err,
                                                  "%u: expert parallelism is not simulated yet in "
                                                  "this version; write 1",
                                                  (unsigned)rows[i].value));
        }
    }
    return rc;
}

const struct ty_parallel ty_parallel_expert = {.check = check, .around = around};
