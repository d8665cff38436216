/* mesh.h - tensor groups in more than one dimension, for the kind that they are (tensor.c). */
#ifndef TY_MODEL_PARALLEL_MESH_H
#define TY_MODEL_PARALLEL_MESH_H

#include "model/block/maker.h"

/* tensor_2d.c, tensor_3d.c: what such a group does to an operator. */
void ty_mesh_2d_around(const struct ty_block_maker *b, const struct ty_mesh *mesh,
                       struct ty_unit_op *op);
void ty_mesh_3d_around(const struct ty_block_maker *b, const struct ty_mesh *mesh,
                       struct ty_unit_op *op);

#endif
