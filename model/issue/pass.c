/* pass.c - the units of a virtual stage, in the order of a forward pass. */
#include "model/issue/pass.h"

#include <assert.h>

struct list {
    uint8_t *kind;
    uint16_t *layer;
    uint32_t n;
};

static void add(struct list *list, enum ty_unit_kind kind, uint32_t layer)
{
    assert(kind < TY_N_UNIT_KINDS && (layer == TY_NONE) == !ty_unit_is_layer(kind));
    if (list->layer != NULL) {
        list->layer[list->n] = (uint16_t)layer;
    }
    list->kind[list->n++] = (uint8_t)kind;
}

uint32_t ty_pass_units(const struct ty_arch *arch, const struct ty_layers *layers, bool first,
                       bool last, uint8_t *kind, uint16_t *layer)
{
    struct list list = {kind, layer, 0};
    if (first) {
        add(&list, TY_UNIT_EMBEDDING, TY_NONE);
    }
    for (uint32_t i = 0; i < layers->count; i++) {
        add(&list, ty_layer_kind(arch, layers, i), layers->first + i);
    }
    for (uint32_t i = 0; i < arch->mtp && last; i++) { /* predict further tokens */
        add(&list, TY_UNIT_MTP, TY_NONE);
        add(&list, ty_layer_kind(arch, layers, layers->count + i), arch->layers + i);
        add(&list, TY_UNIT_MTP_HEAD, TY_NONE);
    }
    if (last) {
        add(&list, TY_UNIT_HEAD, TY_NONE);
    }
    assert(list.n <= ty_pass_units_most(arch, layers));
    return list.n;
}
