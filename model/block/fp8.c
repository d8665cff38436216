/* fp8.c - what products in fp8 and NVFP4 need around them: casts of what they read.
 *
 *     forward    input to fp8, and weights once a step
 *     backward   gradient of the result to fp8, for both gradients
 *
 * Weight gradients sum over rows, and Hopper's fp8 products along rows of memory only, so a second,
 * transposed copy is written with each (Transformer Engine, cast_transpose; blocks of 1 x 128 need
 * one for their scales whatever the GPU). With framework.fp8_recipe current the largest value of a
 * tensor is looked for before its cast. Router, attention core and, without framework.fp8_head, the
 * head stay in 16 bit. Where tensor ranks gather a tensor it is cast in shares before, and
 * transposed whole; the same of rows that are sent to experts in fp8. Not modelled: that the gather
 * then moves half of the bytes, and reductions of largest values over ranks, a few bytes.
 *
 * Blackwell's products read fp8 along either dimension (Transformer Engine,
 * non_tn_fp8_gemm_supported: compute capability 10), so that with one scale a tensor one copy does
 * (cluster.fp8_reads_both). Scales of blocks follow a dimension: MXFP8, 32 elements with 8
 * bits, and NVFP4, 16 with 8 and one of a tensor, write a copy each for rows and for columns.
 * NVFP4 (arXiv 2509.25149; Transformer Engine, NVFP4BlockScaling): the copy of columns of inputs
 * and gradients, which weight gradients sum along, goes through a Hadamard transform of 16;
 * gradients are rounded at random in the same kernels; weights have blocks of 16 x 16 and are not
 * transformed. */
#include <math.h>

#include "model/block/maker.h"

#define E5M6_B (0.5 + TY_FP8_B) /* of 12 bits with such a scale */

static void cast(const struct ty_block_maker *b, struct ty_unit_op *op, int variant,
                 double elements, double backward)
{
    ty_block_elementwise(b, op, TY_OPERATOR_CAST, variant, elements);
    op->kernel[op->n_kernels - 1].gradients = backward / elements;
}

bool ty_block_is_narrow(const struct ty_block_maker *b)
{
    return ty_unit_is_head(b->kind)
               ? b->layout->framework.fp8_head
               : ty_dtype_is_narrow(b->arch->dtype) && ty_unit_is_layer(b->kind) &&
                     !ty_arch_is_wide(b->arch, b->layer);
}

int ty_block_product_dtype(const struct ty_block_maker *b)
{
    const bool wide = ty_dtype_is_narrow(b->arch->dtype) && !ty_block_is_narrow(b);
    return wide ? TY_DTYPE_BF16 : b->arch->dtype;
}

bool ty_block_is_mx(const struct ty_block_maker *b)
{
    return ty_block_product_dtype(b) == TY_DTYPE_FP8 &&
           b->layout->framework.fp8_recipe == TY_FP8_MX;
}

bool ty_block_casts(const struct ty_block_maker *b)
{
    return ty_block_is_narrow(b) && b->layout->framework.fp8_recipe != TY_FP8_NONE;
}

static bool is_fp4(const struct ty_block_maker *b)
{
    return b->arch->dtype == TY_DTYPE_NVFP4;
}

/* Whether tensors are written once, for all products that read them. */
static bool one_copy(const struct ty_block_maker *b)
{
    const struct ty_framework *framework = &b->layout->framework;
    return !is_fp4(b) && framework->fp8_reads_both &&
           (framework->fp8_recipe == TY_FP8_DELAYED || framework->fp8_recipe == TY_FP8_CURRENT);
}

double ty_block_fp8_shares(const struct ty_block_maker *b, double own, double all)
{
    const double e = ty_dtype_bytes(TY_DTYPE_FP8), n = is_fp4(b) ? TY_FP4_B : TY_FP8_B;
    return one_copy(b) ? own : (own * (e + n) + all * 2 * n) / (e + 2 * n);
}

/* Inputs of NVFP4 products: a look for the largest values, as they are and transformed, then a copy
 * of rows and one of columns, transformed. */
static void cast_fp4(const struct ty_block_maker *b, struct ty_unit_op *op, double in, double out)
{
    cast(b, op, TY_CAST_AMAX, in, out);
    cast(b, op, TY_CAST_QUANTIZE, in, out);
    if (!op->frozen) { /* weight gradients alone sum along columns */
        cast(b, op, TY_CAST_HADAMARD, in, out);
    }
}

void ty_block_fp8_weights(const struct ty_block_maker *b, struct ty_unit_op *op, double weights)
{
    const double steps = b->layout->zero < 3 ? fmax(b->layout->micro_batches, 1) : 1;
    if (b->layout->framework.fp8_weights || !ty_block_casts(b)) {
        return;
    }
    if (is_fp4(b)) { /* blocks of 16 x 16 are the same ones of columns: none is transformed */
        cast(b, op, TY_CAST_AMAX, weights / steps, 0);
    }
    /* gathered weights are cast in every pass */
    cast(b, op, one_copy(b) ? TY_CAST_QUANTIZE : TY_CAST_BOTH, weights / steps, 0);
}

void ty_block_fp8(const struct ty_block_maker *b, struct ty_unit_op *op, double in, double out,
                  double weights)
{
    if (!ty_block_casts(b)) {
        return;
    }
    if (is_fp4(b)) {
        cast_fp4(b, op, in, out);
    } else {
        if (b->layout->framework.fp8_recipe == TY_FP8_CURRENT) {
            cast(b, op, TY_CAST_AMAX, in, out);
        }
        cast(b, op, one_copy(b) || op->frozen ? TY_CAST_QUANTIZE : TY_CAST_BOTH, in, out);
    }
    ty_block_fp8_weights(b, op, weights);
}

void ty_block_fp8_linear(const struct ty_block_maker *b, struct ty_unit_op *op, double in,
                         double out)
{
    const double own = b->shard.own_tokens, all = b->shard.tokens;
    const double part = own < all ? ty_block_fp8_shares(b, own, all) : all;
    const bool column = op->column && op->n_kernels == 0, row = op->row && !column;
    ty_block_fp8(b, op, in * (column ? part : all), out * (row ? part : all), in * out);
}

double ty_block_operand_bytes(const struct ty_block_maker *b)
{
    return ty_block_casts(b) && b->layout->framework.fp8_activations
               ? is_fp4(b) ? TY_FP4_B : TY_FP8_B
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
