/* layout_replicas.c - what data ranks share, in how many bytes and when they reduce gradients. */
#include "model/layout.h"
#include "model/zero.h"

uint32_t ty_layout_alike(const struct ty_layout *layout)
{
    return layout->data * layout->context;
}

uint32_t ty_layout_shards(const struct ty_layout *layout)
{
    return (layout->shard == 0 ? layout->data : layout->shard) * layout->context;
}

uint32_t ty_layout_replicas(const struct ty_layout *layout)
{
    return ty_layout_alike(layout) / ty_layout_shards(layout);
}

uint32_t ty_layout_expert_shards(const struct ty_layout *layout)
{
    return layout->expert_data == 0 ? 1 : layout->expert_data / ty_layout_replicas(layout);
}

double ty_layout_shard(const struct ty_layout *layout, double params, double experts)
{
    return (params - experts) / ty_layout_shards(layout) +
           experts / ty_layout_expert_shards(layout);
}

bool ty_layout_has_copies(const struct ty_layout *layout)
{
    return ty_layout_alike(layout) > 1 || layout->expert_data > 1;
}

bool ty_layout_experts_apart(const struct ty_layout *layout)
{
    return layout->expert_data > 0 &&
           (layout->expert > 1 || layout->expert_tensor != layout->tensor);
}

double ty_layout_bucket_params(const struct ty_layout *layout)
{
    if (layout->framework.bucket > 0) {
        return layout->framework.bucket / 2;
    }
    if (layout->zero == 0) {
        return 25 * 1048576.0 / 2;
    }
    const uint32_t ranks = ty_layout_alike(layout);
    return ranks > 40 ? 1e6 * ranks : 40e6;
}

double ty_layout_first_bucket_params(const struct ty_layout *layout)
{
    if (layout->framework.first_bucket > 0) {
        return layout->framework.first_bucket / 2;
    }
    const bool by_rule = layout->zero == 0 && layout->framework.bucket <= 0;
    return by_rule ? 1048576.0 / 2 : ty_layout_bucket_params(layout);
}

enum ty_reduces ty_layout_reduces(const struct ty_layout *layout)
{
    const int when = layout->framework.sync_every;
    if (when == TY_SYNC_EVERY_RUN) {
        return TY_REDUCES_RUN;
    }
    const bool every = when == TY_SYNC_EVERY_AUTO ? ty_zero_stages[layout->zero].reduce_every
                                                  : ty_layout_does(layout, when);
    return every ? TY_REDUCES_EVERY : TY_REDUCES_LAST;
}

bool ty_layout_reduces_late(const struct ty_layout *layout)
{
    const bool whole = layout->zero < 2 || ty_layout_reduces(layout) != TY_REDUCES_EVERY;
    return whole && !ty_layout_does(layout, layout->framework.overlap_grad_reduce);
}

bool ty_layout_adds_up(const struct ty_layout *layout)
{
    return layout->micro_batches > 1 || ty_layout_reduces_late(layout);
}
