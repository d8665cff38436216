/* layout_stages.c - which layers a virtual stage has, and which of them run again. */
#include <stdio.h>

#include "model/check.h"
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
    return (struct ty_layers){.first = stage * even + before,
                              .count = stage == others ? last : even + more};
}

static struct ty_layers stretch(const struct ty_layout *layout, const struct ty_arch *arch,
                                uint32_t stages, uint32_t stage)
{
    struct ty_layers layers = {.first = 0};
    if (layout->stage_layers.n == stages) {
        for (uint32_t s = 0; s < stage; s++) {
            layers.first += layout->stage_layers.item[s];
        }
        layers.count = layout->stage_layers.item[stage];
        return layers;
    }
    if (layout->framework.stage_split == TY_STAGE_SPLIT_MODULES && stages > 1) {
        const uint32_t begin = layer_of_module(arch, stages, stage);
        return (struct ty_layers){.first = begin,
                                  .count = layer_of_module(arch, stages, stage + 1) - begin};
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
        return (struct ty_layers){.count = even + on_first};
    }
    const uint32_t before = stage - 1 < with_one ? stage - 1 : with_one;
    layers.first = stage * even + on_first + before;
    layers.count = even + (stage <= with_one ? 1 : 0);
    return layers;
}

/* ---- which of them run again ---- */

/* Bits of what so many layers repeat. */
static uint32_t set_of(const struct ty_layout *layout, uint32_t set)
{
    return set == TY_COUNTS_PLAIN ? layout->recompute : set;
}

/* What a virtual stage is to repeat; NULL: nobody counts. */
static const struct ty_counts *counts_of(const struct ty_layout *layout, uint32_t stage)
{
    const struct ty_counts_list *list = &layout->recompute_layers;
    return list->n == 0 ? NULL : &list->item[list->n == 1 ? 0 : stage];
}

static uint32_t mode_number(const struct ty_layout *layout, uint32_t set)
{
    uint32_t mode = 0;
    while (mode < layout->n_modes && layout->mode[mode] != set) {
        mode++;
    }
    return mode;
}

struct ty_layers ty_layout_layers(const struct ty_layout *layout, const struct ty_arch *arch,
                                  uint32_t stages, uint32_t stage)
{
    struct ty_layers layers = stretch(layout, arch, stages, stage);
    const struct ty_counts *counts = counts_of(layout, stage);
    uint32_t sum = 0;
    for (uint32_t i = 0; counts != NULL && i < counts->n; i++) {
        struct ty_layer_run *run = &layers.run[layers.n_runs++];
        *run = (struct ty_layer_run){counts->item[i].n,
                                     mode_number(layout, set_of(layout, counts->item[i].set))};
        sum += run->n;
        if (layers.count > 0 && sum >= layers.count) { /* all, and what stands behind them */
            run->n = UINT32_MAX;
            break;
        }
    }
    return layers;
}

uint32_t ty_layers_mode(const struct ty_layers *layers, uint32_t i)
{
    for (uint32_t k = 0; k < layers->n_runs; k++) {
        if (i < layers->run[k].n) {
            return layers->run[k].mode;
        }
        i -= layers->run[k].n;
    }
    return 0;
}

uint32_t ty_layout_mode(const struct ty_layout *layout, uint32_t mode)
{
    return layout->recompute_layers.n == 0 ? layout->recompute : layout->mode[mode];
}

uint32_t ty_layout_last_mode(const struct ty_layout *layout, const struct ty_arch *arch)
{
    if (layout->recompute_layers.n == 0) {
        return layout->recompute;
    }
    const struct ty_layers last =
        ty_layout_layers(layout, arch, layout->stages, layout->stages - 1);
    return ty_layout_mode(layout, ty_layers_mode(&last, last.count));
}

uint32_t ty_layout_repeats(const struct ty_layout *layout)
{
    uint32_t set = ty_layout_mode(layout, 0);
    for (uint32_t i = 1; i < layout->n_modes; i++) {
        set |= layout->mode[i];
    }
    return set;
}

const char *ty_layout_recompute_key(const struct ty_layout *layout)
{
    return layout->recompute_layers.n == 0 ? "recompute" : "recompute_layers";
}

/* ---- checks ---- */

static uint32_t most_modes(const struct ty_arch *arch)
{
    const uint32_t room = TY_LAYER_KINDS / ty_arch_layer_kinds(arch);
    return room < TY_RECOMPUTE_MODES ? room : TY_RECOMPUTE_MODES;
}

int ty_layout_find_modes(struct ty_layout *layout, const struct ty_section *section,
                         const struct ty_arch *arch, struct ty_err *err)
{
    const struct ty_counts_list *list = &layout->recompute_layers;
    const uint32_t most = most_modes(arch);
    layout->n_modes = 1;
    layout->mode[0] = list->n == 0 ? layout->recompute : TY_RECOMPUTE_NONE;
    for (uint32_t i = 0; i < list->n; i++) {
        for (uint32_t k = 0; k < list->item[i].n; k++) {
            const uint32_t set = set_of(layout, list->item[i].item[k].set);
            if (mode_number(layout, set) < layout->n_modes) {
                continue;
            }
            if (layout->n_modes == most) {
                return ty_check_fail(section, "recompute_layers", err,
                                     "more than %u different sets of parts, of a model with so "
                                     "many kinds of layers; write at most %u beside none",
                                     (unsigned)(most - 1), (unsigned)(most - 1));
            }
            layout->mode[layout->n_modes++] = set;
        }
    }
    return 0;
}

/* One stage's: they are there, and there is something to repeat. */
static int check_counts(const struct ty_layout *layout, const struct ty_section *section,
                        const struct ty_arch *arch, uint32_t stage, struct ty_err *err)
{
    const struct ty_counts *counts = counts_of(layout, stage);
    const uint32_t have = stretch(layout, arch, layout->stages, stage).count;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < counts->n; i++) {
        sum += counts->item[i].n;
        if (counts->item[i].set == TY_COUNTS_PLAIN && counts->item[i].n > 0 &&
            layout->recompute == TY_RECOMPUTE_NONE) {
            return ty_check_fail(section, "recompute_layers", err,
                                 "%u: layout.recompute is none; write there what of these layers "
                                 "is computed again, or full:%u here",
                                 (unsigned)counts->item[i].n, (unsigned)counts->item[i].n);
        }
    }
    if (layout->recompute_layers.n > 1 && sum > have) {
        return ty_check_fail(section, "recompute_layers", err,
                             "%llu layers of stage %u, which has %u; write at most %u",
                             (unsigned long long)sum, (unsigned)stage, (unsigned)have,
                             (unsigned)have);
    }
    return 0;
}

int ty_layout_check_recompute(const struct ty_layout *layout, const struct ty_section *section,
                              const struct ty_arch *arch, struct ty_err *err)
{
    const uint32_t n = layout->recompute_layers.n;
    int rc = 0;
    if (n > 1 && n != layout->stages) {
        return ty_check_fail(section, "recompute_layers", err,
                             "%u numbers for pipeline x schedule.chunks = %u stages; write %u, or "
                             "one for all of them",
                             (unsigned)n, (unsigned)layout->stages, (unsigned)layout->stages);
    }
    for (uint32_t stage = 0; stage < n && rc == 0; stage++) {
        rc = check_counts(layout, section, arch, stage, err);
    }
    return rc;
}
