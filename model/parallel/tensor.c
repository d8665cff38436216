/* tensor.c - tensor parallelism in one dimension (Shoeybi et al. 2019).
 *
 * Ranks have whole heads, and columns of one product after whose rows comes the next: the result of
 * the second is a sum over them, and so is the input gradient of the first. Logits stay sharded; of
 * each token the 32-bit maximum, target logit and sum of exponentials are reduced (section 3).
 * Without framework.parallel_loss they are gathered, and every rank computes the whole loss. */
#include <math.h>

#include "model/parallel/mesh.h"
#include "model/check.h"

static void shard(const struct ty_arch *arch, const struct ty_layout *layout,
                  struct ty_shard *shard)
{
    const struct ty_mesh mesh = ty_layout_mesh(layout);
    const double t = mesh.side;
    shard->heads = arch->heads / t;
    shard->kv_heads = fmax(arch->kv_heads / t, 1); /* shared by several when there are fewer */
    shard->ffn = arch->ffn / t;
    shard->vocabulary = arch->vocabulary / t;
    shard->ranks = t * mesh.cut;
    shard->cut = mesh.cut;
    shard->hidden = arch->hidden;
    if (mesh.scheme != TY_TENSOR_1D) {
        ty_mesh_shard(&mesh, shard);
    }
}

static void around(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const struct ty_op_comm sum = {
        .group = TY_GROUP_TENSOR, .coll = TY_COLL_ALL_REDUCE, .bytes = ty_block_hidden_bytes(b)};
    if (b->layout->tensor == 1) {
        return;
    }
    if (ty_layout_is_mesh(b->layout)) {
        const struct ty_mesh mesh = ty_layout_mesh(b->layout);
        (mesh.scheme == TY_TENSOR_3D ? ty_mesh_3d_around : ty_mesh_2d_around)(b, &mesh, op);
        return;
    }
    if (op->column && (op->joined & TY_JOINED_INPUT) == 0) {
        ty_block_column_comm(b, op, TY_AFTER_DGRAD, TY_COLL_ALL_REDUCE, op->n_reduces);
    }
    if (op->loss) {
        struct ty_op_comm loss = sum;
        loss.calls = 3;
        loss.bytes = 4 * b->shard.tokens;
        ty_block_comm(op, TY_AFTER_FORWARD, &loss, 1);
    }
    if (op->gathers > 0) { /* its gradient is cut, which takes nobody else */
        struct ty_op_comm whole = sum;
        whole.coll = TY_COLL_ALL_GATHER;
        whole.bytes = b->shard.tokens * op->gathers * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
        ty_block_comm(op, TY_AFTER_FORWARD, &whole, 1);
    }
    if (op->row && (op->joined & TY_JOINED_RESULT) == 0) {
        ty_block_comm(op, TY_AFTER_FORWARD, &sum, 1);
    }
}

/* ---- what must divide what ---- */

/* Whether one tensor rank of t gets whole heads and equal shares. With fewer key and value heads
 * than ranks, each of those heads is kept by t / kv_heads ranks. */
static bool tensor_divides(const struct ty_arch *arch, uint32_t t)
{
    return arch->heads % t == 0 && arch->ffn % t == 0 &&
           (arch->kv_heads % t == 0 || t % arch->kv_heads == 0);
}

static struct ty_numbers candidates_of(const struct ty_layout *layout, const struct ty_arch *arch,
                                       uint32_t gpus)
{
    struct ty_numbers list = {.n = 0};
    const uint64_t rest = (uint64_t)layout->context * layout->pipeline;
    for (uint32_t t = 1; t <= arch->heads; t++) {
        if (tensor_divides(arch, t) && gpus % (t * rest) == 0) {
            ty_numbers_add(&list, t);
        }
    }
    for (uint32_t t = 1; list.n == 0 && t <= arch->heads; t++) {
        if (tensor_divides(arch, t)) {
            ty_numbers_add(&list, t);
        }
    }
    return list;
}

static int check(const struct ty_layout *layout, const struct ty_section *section,
                 const struct ty_arch *arch, uint32_t gpus, struct ty_err *err)
{
    const uint32_t t = layout->tensor;
    uint32_t of;
    if (layout->tensor_scheme != TY_TENSOR_1D || layout->tensor_depth > 1) {
        return arch->block == TY_BLOCK_PARALLEL && t > 1
                   ? ty_check_fail(
                         section, "tensor_scheme", err,
                         "%s: known of layers whose blocks follow each other; write 1d, or "
                         "model.block: serial",
                         ty_scheme_words[layout->tensor_scheme].name)
                   : ty_mesh_check(layout, section, arch, gpus, err);
    }
    const char *undivided = ty_tensor_undivided(arch, t, &of);
    if (undivided == NULL) {
        return 0;
    }
    const struct ty_numbers candidates = candidates_of(layout, arch, gpus);
    return ty_check_fail(section, "tensor", err, "%u does not divide %s (%u); try %s", (unsigned)t,
                         undivided, (unsigned)of, candidates.text);
}

const struct ty_parallel ty_parallel_tensor = {.check = check, .shard = shard, .around = around};
