/* maker.c - the pieces that lists of operators are put together from. */
#include "model/block/maker.h"

#include <assert.h>
#include <math.h>

struct ty_unit_op *ty_block_op(struct ty_block_maker *b, enum ty_part part, const char *name,
                               const char *backward, const char *weight)
{
    assert(b->out->n < TY_UNIT_OPS);
    struct ty_unit_op *op = &b->out->op[b->out->n++];
    *op = (struct ty_unit_op){
        .name = name, .backward = backward, .weight = weight, .part = part, .n_reduces = 1};
    op->frozen = ty_block_freezes(b, part);
    return op;
}

void ty_block_kernel(struct ty_unit_op *op, const struct ty_kernel *kernel)
{
    assert(op->n_kernels < TY_OP_KERNELS);
    op->kernel[op->n_kernels++] = *kernel;
}

void ty_block_elementwise(const struct ty_block_maker *b, struct ty_unit_op *op,
                          enum ty_operator kind, int variant, double elements)
{
    ty_block_kernel(op, &(struct ty_kernel){.op = kind,
                                            .dtype = b->arch->dtype,
                                            .variant = variant,
                                            .dropout = b->arch->dropout > 0,
                                            .speed = b->layout->framework.norm_speed,
                                            .elements = elements});
}

void ty_block_norm(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    ty_block_elementwise(b, op, TY_OPERATOR_NORM, b->arch->norm,
                         b->shard.own_tokens * b->shard.hidden);
    ty_block_weight(op, "norm", ty_arch_norm_params(b->arch) / b->shard.ranks);
    ty_block_beside(op, b->arch->norm_kind == TY_NORM_LAYER ? b->arch->hidden / b->shard.ranks : 0);
}

void ty_block_product(const struct ty_block_maker *b, struct ty_unit_op *op, double rows, double in,
                      double out)
{
    ty_block_kernel(op, &(struct ty_kernel){.op = TY_OPERATOR_MATMUL,
                                            .dtype = ty_block_product_dtype(b),
                                            .mx = ty_block_is_mx(b),
                                            .variant = TY_ANY_KERNEL,
                                            .matmul = {rows, in, out}});
}

void ty_block_linear(const struct ty_block_maker *b, struct ty_unit_op *op, double in,
                     const double *out, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += out[i];
    }
    ty_block_fp8_linear(b, op, in, sum);
    for (uint32_t i = 0; i < n; i++) {
        ty_block_product(b, op, b->shard.tokens, in, out[i]);
    }
}

void ty_block_weight(struct ty_unit_op *op, const char *name, double params)
{
    assert(op->n_weights < TY_OP_WEIGHTS);
    op->weights[op->n_weights++] = (struct ty_weight){.name = name, .params = params};
}

void ty_block_beside(struct ty_unit_op *op, double params)
{
    op->weights[op->n_weights - 1].beside = params;
}

void ty_block_whole_weight(struct ty_unit_op *op, const char *name, double params)
{
    ty_block_weight(op, name, params);
    op->weights[op->n_weights - 1].whole = true;
}

static void put_saved(const struct ty_block_maker *b, struct ty_saved saved)
{
    if (saved.bytes > 0) {
        assert(b->out->n_saved < TY_UNIT_SAVED);
        b->out->saved[b->out->n_saved++] = saved;
    }
}

static struct ty_saved kept(uint32_t made, uint32_t kernel, uint32_t used, const char *name,
                            double bytes)
{
    return (struct ty_saved){.name = name,
                             .life = TY_LIFE_KEPT,
                             .bytes = bytes,
                             .made = made,
                             .used = used,
                             .kernel = kernel};
}

static struct ty_saved needed(enum ty_tensor_life life, enum ty_part part, const char *name,
                              double bytes)
{
    return (struct ty_saved){.name = name,
                             .life = life,
                             .part = part,
                             .bytes = bytes,
                             .made = TY_INPUT,
                             .used = TY_INPUT};
}

void ty_block_keep(const struct ty_block_maker *b, uint32_t made, uint32_t used, const char *name,
                   double bytes)
{
    put_saved(b, kept(made, 0, used, name, bytes));
}

void ty_block_keep_of(const struct ty_block_maker *b, uint32_t made, uint32_t kernel, uint32_t used,
                      const char *name, double bytes)
{
    put_saved(b, kept(made, kernel, used, name, bytes));
}

void ty_block_keep_input(const struct ty_block_maker *b, uint32_t made, uint32_t kernel,
                         uint32_t used, const char *name, double bytes)
{
    struct ty_saved input = kept(made, kernel, used, name, bytes);
    input.weight = true;
    put_saved(b, input);
}

void ty_block_need(const struct ty_block_maker *b, enum ty_tensor_life life, enum ty_part part,
                   const char *name, double bytes)
{
    put_saved(b, needed(life, part, name, bytes));
}

void ty_block_need_most(const struct ty_block_maker *b, enum ty_part part, const char *name,
                        double bytes)
{
    for (uint32_t i = 0; i < b->out->n_saved; i++) {
        struct ty_saved *x = &b->out->saved[i];
        if (x->life == TY_LIFE_BACKWARD && x->part == part && x->name == name) {
            x->bytes = fmax(x->bytes, bytes);
            return;
        }
    }
    ty_block_need(b, TY_LIFE_BACKWARD, part, name, bytes);
}

/* Autograd makes it in the type of the weight, whoever adds it up; Megatron-LM, whose product has
 * added it up already, gives autograd an empty one (tensor_parallel/layers.py, grad_weight). Where
 * gradients are kept in shards, whole ones are counted with the buffers. */
void ty_block_need_wgrad(const struct ty_block_maker *b, enum ty_tensor_life life,
                         const struct ty_unit_op *op, const char *name)
{
    double most = 0;
    for (uint32_t i = 0; i < op->n_weights && !op->frozen; i++) {
        most = fmax(most, op->weights[i].params);
    }
    const bool stays = ty_layout_has_placeholders(b->layout) && life == TY_LIFE_BACKWARD;
    struct ty_saved wgrad =
        needed(life, op->part, name, b->layout->zero < 2 && !stays ? 2 * most : 0);
    wgrad.weight = true;
    put_saved(b, wgrad);
}

/* Bytes of the gradient of what a product gives, as its weight gradient reads it. */
static double result_gradient(const struct ty_block_maker *b, const struct ty_kernel *product)
{
    const bool grouped = product->op == TY_OPERATOR_GROUPED;
    const double elements = grouped ? product->grouped.rows * product->grouped.out
                                    : product->matmul.rows * product->matmul.out;
    return elements * (ty_dtype_is_narrow(product->dtype)
                           ? ty_block_operand_bytes(b)
                           : ty_dtype_bytes((enum ty_dtype)product->dtype));
}

/* Of the products of an operator. The result of one that is added to another's has the gradient of
 * that. */
static double result_gradients(const struct ty_block_maker *b, const struct ty_unit_op *op)
{
    double sum = 0, last = 0;
    for (uint32_t k = 0; k < op->n_kernels; k++) {
        if (ty_kernel_is_product(&op->kernel[k])) {
            last = result_gradient(b, &op->kernel[k]);
            sum += last;
        }
    }
    return (op->joined & TY_JOINED_RESULT) != 0 ? sum - last : sum;
}

void ty_block_hold_gradients(const struct ty_block_maker *b)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const char *const name = b->kind == TY_UNIT_EMBEDDING ? "gradients of the embedding's results"
                             : b->kind == TY_UNIT_MTP     ? "gradients of MTP results"
                             : ty_unit_is_head(b->kind)   ? "gradients of the head's results"
                                                          : "gradients of results";
    double sum = 0, routed = 0;
    for (uint32_t i = 0; i < b->out->n; i++) {
        const struct ty_unit_op *op = &b->out->op[i];
        if (op->weight != NULL && !op->frozen) {
            *(op->expert ? &routed : &sum) +=
                op->first ? b->shard.own_tokens * b->shard.hidden * e : result_gradients(b, op);
        }
    }
    ty_block_need(b, TY_LIFE_WEIGHT, TY_PART_NONE, name, sum);
    struct ty_saved results =
        needed(TY_LIFE_WEIGHT, TY_PART_NONE, "gradients of experts' results", routed);
    results.routed = routed;
    put_saved(b, results);
}

bool ty_block_overlaps_products(const struct ty_block_maker *b)
{
    return b->layout->framework.overlap_tensor_products && b->layout->sequence_parallel &&
           b->layout->tensor > 1 && !ty_layout_is_mesh(b->layout) && ty_unit_is_layer(b->kind);
}

double ty_block_hidden_bytes(const struct ty_block_maker *b)
{
    return b->shard.tokens * b->shard.hidden * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
}

double ty_block_row_bytes(const struct ty_block_maker *b, bool to_experts)
{
    const bool fp8 = to_experts && b->layout->framework.dispatch_dtype == TY_DISPATCH_FP8;
    return ty_arch_row_width(b->arch) *
           (fp8 ? TY_FP8_B : ty_dtype_bytes((enum ty_dtype)b->arch->dtype));
}

double ty_block_input_bytes(const struct ty_block_maker *b)
{
    const bool again = b->layout->framework.regather_inputs;
    return (again ? b->shard.own_tokens : b->shard.tokens) * b->shard.hidden *
           ty_block_operand_bytes(b);
}

void ty_block_comm(struct ty_unit_op *op, enum ty_comm_place place, const struct ty_op_comm *comm,
                   uint32_t times)
{
    struct ty_op_comms *comms = &op->comms[place];
    assert(comms->n < TY_PLACE_COMMS);
    struct ty_op_comm *at = &comms->item[comms->n++];
    *at = *comm;
    at->calls = comm->calls > 0 ? comm->calls : 1;
    at->times = (uint8_t)times;
}

void ty_block_grad(struct ty_unit_op *op, struct ty_op_move move)
{
    uint32_t n = 0;
    while (op->grad[n].bytes > 0) {
        n++;
        assert(n < TY_OP_GRADS);
    }
    op->grad[n] = move;
}

void ty_block_column_comm(const struct ty_block_maker *b, struct ty_unit_op *op,
                          enum ty_comm_place place, enum ty_coll coll, uint32_t times)
{
    const double token = b->shard.tokens * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    struct ty_op_comm comm = {
        .group = TY_GROUP_TENSOR, .coll = (uint8_t)coll, .bytes = ty_block_hidden_bytes(b)};
    if (op->width[0] <= 0) {
        ty_block_comm(op, place, &comm, times);
        return;
    }
    for (uint32_t i = 0; i < TY_COUNT(op->width) && op->width[i] > 0; i++) {
        comm.bytes = token * op->width[i];
        ty_block_comm(op, place, &comm, 1);
    }
}
