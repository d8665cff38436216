/* mesh.h - tensor groups in more than one dimension, for the kind that they are (tensor.c). */
#ifndef TY_MODEL_PARALLEL_MESH_H
#define TY_MODEL_PARALLEL_MESH_H

#include "model/block/maker.h"

/* tensor_mesh.c: whether tensor groups can be such a grid; what it leaves of sequences and hidden
 * states. */
int ty_mesh_check(const struct ty_layout *layout, const struct ty_section *section,
                  const struct ty_arch *arch, uint32_t gpus, struct ty_err *err);
void ty_mesh_shard(const struct ty_mesh *mesh, struct ty_shard *shard);

/* tensor_2d.c, tensor_3d.c: what such a group does to an operator. */
void ty_mesh_2d_around(const struct ty_block_maker *b, const struct ty_mesh *mesh,
                       struct ty_unit_op *op);
void ty_mesh_3d_around(const struct ty_block_maker *b, const struct ty_mesh *mesh,
                       struct ty_unit_op *op);

#endif
