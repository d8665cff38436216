/* edges.c - lists the messages between virtual stages. */
#include "model/schedule/edges.h"

static uint16_t add(struct ty_builder *b, const char *name, uint32_t from, uint32_t to,
                    uint32_t n_seq, ty_ps delay)
{
    const struct ty_channel channel = {
        .name = name, .from = from, .to = to, .n_seq = n_seq, .delay = delay};
    const int index = from == to ? (int)TY_NONE : ty_build_channel(b, &channel);
    return index < 0 ? TY_NONE : (uint16_t)index;
}

int ty_sched_edges_build(struct ty_sched_edges *edges, struct ty_builder *b,
                         enum ty_sched_placement placement, const struct ty_sched_shape *shape,
                         uint32_t n_seq, ty_ps delay)
{
    const uint32_t stages = ty_sched_stages(shape), pipes = ty_sched_directions(placement);
    edges->stages = stages;
    edges->act = ty_arena_array(b->arena, uint16_t, (size_t)pipes * stages);
    edges->grad = ty_arena_array(b->arena, uint16_t, (size_t)pipes * stages);
    if (edges->act == NULL || edges->grad == NULL) {
        return ty_fail_memory(b->err);
    }
    for (uint32_t d = 0; d < pipes; d++) {
        uint16_t *act = edges->act + (size_t)d * stages, *grad = edges->grad + (size_t)d * stages;
        act[0] = grad[stages - 1] = TY_NONE;
        for (uint32_t k = 0; k + 1 < stages; k++) {
            const uint32_t here = ty_sched_owner(placement, shape, d, k);
            const uint32_t next = ty_sched_owner(placement, shape, d, k + 1);
            act[k + 1] = add(b, "act", here, next, n_seq, delay);
            grad[k] = add(b, "grad", next, here, n_seq, delay);
        }
    }
    return 0;
}

struct ty_stage_edges ty_sched_edges_of(const struct ty_sched_edges *edges, uint32_t direction,
                                        uint32_t stage)
{
    const uint16_t *act = edges->act + (size_t)direction * edges->stages;
    const uint16_t *grad = edges->grad + (size_t)direction * edges->stages;
    return (struct ty_stage_edges){
        .act_in = act[stage],
        .act_out = stage + 1 < edges->stages ? act[stage + 1] : TY_NONE,
        .grad_in = grad[stage],
        .grad_out = stage > 0 ? grad[stage - 1] : TY_NONE,
    };
}
