/* layout_mesh.c - the grid that the ranks of a tensor group are. */
#include "model/check.h"
#include "model/layout.h"

uint32_t ty_root(uint32_t n, uint32_t power)
{
    uint32_t root = 0;
    for (uint64_t s = 1; s * s * (power == 3 ? s : 1) <= n; s++) {
        root = (uint32_t)s;
    }
    return root;
}

struct ty_mesh ty_layout_mesh(const struct ty_layout *layout)
{
    const uint32_t ranks = layout->tensor;
    uint32_t side = ranks, depth = 1;
    if (!ty_layout_is_mesh(layout)) {
        return (struct ty_mesh){TY_TENSOR_1D, ranks, 1, 1};
    }
    switch ((enum ty_tensor_scheme)layout->tensor_scheme) {
    case TY_TENSOR_1D:
        break;
    case TY_TENSOR_2D:
        side = ty_root(ranks, 2);
        break;
    case TY_TENSOR_25D:
        depth = layout->tensor_depth;
        side = ty_root(ranks / depth, 2);
        break;
    case TY_TENSOR_3D:
        depth = side = ty_root(ranks, 3);
        break;
    }
    side = side > 0 ? side : 1; /* of a depth that is refused */
    const bool cube = layout->tensor_scheme == TY_TENSOR_3D;
    return (struct ty_mesh){(enum ty_tensor_scheme)layout->tensor_scheme, side, depth,
                            cube ? side * side : side};
}

bool ty_mesh_deals(const struct ty_layout *layout)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    return !ty_layout_is_mesh(layout) || layout->micro_batch % ty_mesh_parts(&mesh) == 0;
}

int ty_mesh_check_batch(const struct ty_layout *layout, const struct ty_section *section,
                        struct ty_err *err)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const uint32_t b = ty_mesh_parts(&mesh);
    return ty_mesh_deals(layout)
               ? 0
               : ty_check_fail(section, "micro_batch", err,
                               "%u: tensor_scheme %s deals sequences to %u parts of a tensor group "
                               "of %u; try %u",
                               (unsigned)layout->micro_batch,
                               ty_scheme_words[layout->tensor_scheme].name, (unsigned)b,
                               (unsigned)layout->tensor,
                               (unsigned)(layout->micro_batch / b + 1) * b);
}
