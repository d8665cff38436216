/* fp8.c - what products in fp8 need around them: casts of what they read.
 *
 *     forward    input to fp8, and weights once a step
 *     backward   gradient of the result to fp8, for both gradients
 *
 * Weight gradients sum over rows, and Hopper's fp8 products along rows of memory only, so a second,
 * transposed copy is written with each (Transformer Engine, cast_transpose; blocks of 1 x 128 need
 * one for their scales whatever the GPU). With framework.fp8_recipe current the largest value of a
 * tensor is looked for before its cast. Head, router and attention core stay in 16 bit. Where
 * tensor ranks gather a tensor it is cast in shares before, and transposed whole; the same of rows
 * that are sent to experts in fp8. Not modelled: that the gather then moves half of the bytes, and
 * reductions of largest values over ranks, a few bytes. */
#include <math.h>

#include "model/block/maker.h"

#define E5M6_B (0.5 + TY_FP8_B) /* of 12 bits with such a scale */

double ty_block_fp8_shares(double own, double all)
{
    const double e = ty_dtype_bytes(TY_DTYPE_FP8);
    return (own * (e + TY_FP8_B) + all * 2 * TY_FP8_B) / (e + 2 * TY_FP8_B);
}

static void cast(const struct ty_block_maker *b, struct ty_unit_op *op, int variant,
                 double elements, double backward)
{
    ty_block_elementwise(b, op, TY_OPERATOR_CAST, variant, elements);
    op->kernel[op->n_kernels - 1].gradients = backward / elements;
}

int ty_block_product_dtype(const struct ty_block_maker *b)
{
    const bool wide = b->arch->dtype == TY_DTYPE_FP8 && !ty_unit_is_layer(b->kind);
    return wide ? TY_DTYPE_BF16 : b->arch->dtype;
}

bool ty_block_casts(const struct ty_block_maker *b)
{
    return b->arch->dtype == TY_DTYPE_FP8 && ty_unit_is_layer(b->kind) &&
           b->layout->framework.fp8_recipe != TY_FP8_NONE;
}

void ty_block_fp8(const struct ty_block_maker *b, struct ty_unit_op *op, double in, double out,
                  double weights)
{
    const struct ty_framework *framework = &b->layout->framework;
    const double steps = b->layout->zero < 3 ? fmax(b->layout->micro_batches, 1) : 1;
    if (!ty_block_casts(b)) {
        return;
    }
    if (framework->fp8_recipe == TY_FP8_CURRENT) {
        cast(b, op, TY_CAST_AMAX, in, out);
    }
    cast(b, op, TY_CAST_BOTH, in, out);
    if (!framework->fp8_weights) { /* gathered weights are cast in every pass */
        cast(b, op, TY_CAST_BOTH, weights / steps, 0);
    }
}

void ty_block_fp8_linear(const struct ty_block_maker *b, struct ty_unit_op *op, double in,
                         double out)
{
    const double own = b->shard.own_tokens, all = b->shard.tokens;
    const double part = own < all ? ty_block_fp8_shares(own, all) : all;
    const bool column = op->column && op->n_kernels == 0, row = op->row && !column;
    ty_block_fp8(b, op, in * (column ? part : all), out * (row ? part : all), in * out);
}

double ty_block_operand_bytes(const struct ty_block_maker *b)
{
    return ty_block_casts(b) && b->layout->framework.fp8_activations
               ? TY_FP8_B
               : ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
}

double ty_block_cache_bytes(const struct ty_block_maker *b)
{
    return ty_block_casts(b) && b->layout->framework.fp8_cache
               ? TY_FP8_B
               : ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
}

struct ty_output_bytes ty_block_output_bytes(const struct ty_block_maker *b)
{
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double operand = ty_block_operand_bytes(b);
    if (ty_block_casts(b) && b->layout->framework.fp8_cache) {
        return (struct ty_output_bytes){.core = E5M6_B};
    }
    return (struct ty_output_bytes){.core = e, .proj = operand < e ? operand : 0};
}
