/* layout_stages.c - which layers a virtual stage has. */
#include "model/layout.h"

/* Of embedding, layers, final norm and head, dealt evenly, what is left over to the first stages:
 * the first layer behind where a stage begins. */
static uint32_t layer_of_module(const struct ty_arch *arch, uint32_t stages, uint32_t stage)
{
    const uint32_t even = (arch->layers + TY_LAYOUT_MODULES) / stages;
    const uint32_t left = (arch->layers + TY_LAYOUT_MODULES) % stages;
    const uint32_t module = stage * even + (stage < left ? stage : left);
    const uint32_t layer = module > 0 ? module - 1 : 0;
    return layer < arch->layers ? layer : arch->layers;
}

/* What predicts further tokens runs behind the last layer: each module is a layer and another run
 * of the head, and the head counts as a layer, too. The last stage has as many layers fewer. */
static struct ty_layers before_modules(const struct ty_arch *arch, uint32_t stages, uint32_t stage)
{
    const uint32_t tail = 2 * arch->mtp + 1, share = (arch->layers + tail) / stages;
    const uint32_t last = share > tail ? share - tail : 0, others = stages - 1;
    const uint32_t even = (arch->layers - last) / others, left = (arch->layers - last) % others;
    const uint32_t before = stage == 0 ? 0 : stage - 1 < left ? stage - 1 : left;
    const uint32_t more = stage > 0 && stage <= left ? 1 : 0;
    return (struct ty_layers){stage * even + before, stage == others ? last : even + more};
}

struct ty_layers ty_layout_layers(const struct ty_layout *layout, const struct ty_arch *arch,
                                  uint32_t stages, uint32_t stage)
{
    struct ty_layers layers = {0, 0};
    if (layout->stage_layers.n == stages) {
        for (uint32_t s = 0; s < stage; s++) {
            layers.first += layout->stage_layers.item[s];
        }
        layers.count = layout->stage_layers.item[stage];
        return layers;
    }
    if (layout->framework.stage_split == TY_STAGE_SPLIT_MODULES && stages > 1) {
        const uint32_t begin = layer_of_module(arch, stages, stage);
        return (struct ty_layers){begin, layer_of_module(arch, stages, stage + 1) - begin};
    }
    if (arch->mtp > 0 && stages > 1) {
        return before_modules(arch, stages, stage);
    }
    /* One more for stages 1, 2, ...; the first stage (embedding) only when all others but the last
     * have one; the last (head) never. */
    const uint32_t even = arch->layers / stages, left = arch->layers % stages;
    const uint32_t inner = stages > 2 ? stages - 2 : 0;
    const uint32_t with_one = left < inner ? left : inner;
    const uint32_t on_first = left > with_one ? 1 : 0;
    if (stage == 0) {
        return (struct ty_layers){0, even + on_first};
    }
    const uint32_t before = stage - 1 < with_one ? stage - 1 : with_one;
    layers.first = stage * even + on_first + before;
    layers.count = even + (stage <= with_one ? 1 : 0);
    return layers;
}
