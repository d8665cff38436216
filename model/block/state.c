/* state.c - blocks that keep a state in place of keys: Mamba-2 and gated delta nets.
 *
 * MAMBA-2  (Dao and Gu 2024)
 *
 *     state in    h x (2 a p + 2 g n + a): z, x, B, C, dt; a short convolution of x, B and C
 *     scan        the recurrence in chunks, a heads of p and g groups of n; a gate by z, a norm
 *     state out   a p x h
 *
 * GATED DELTA NET  (Yang et al. 2024b; Qwen3-Next, modeling_qwen3_next.py) in the same operators:
 *
 *     state in    h x (2 g n + 2 a p + 2 a): q, k, v, z, and of each head a decay and a strength; a
 *                 short convolution of q, k and v without bias
 *     scan        the delta rule in chunks; a norm of every head, one scale for all, gated by z
 *
 * Tensor ranks have whole heads and their groups. Ranks that share a sequence each work out the
 * states that their own tokens leave, hand them round (a p n of 4 bytes) and go on from those
 * before them; where heads are scattered instead (ulysses), what goes in and comes out is. The few
 * tokens that the convolution needs of a neighbour are left out.
 *
 * Kept, e bytes an element: what the first product gives, e (2 a p + 2 g n + a); the output of the
 * scan, which the norm reads, and of the norm, which the last product reads. What the convolution
 * gives is made again (mamba_ssm, mamba_split_conv1d_scan_combined). Source: NVIDIA/Megatron-LM,
 * megatron/core/ssm/mamba_mixer.py. */
#include "model/block/maker.h"

/* What a kind of block has on this rank. */
struct mixer {
    double in;          /* columns of the product that reads hidden states */
    double conv, taps;  /* channels of the short convolution; parameters of each */
    bool remade;        /* what that gives is not kept */
    double norm, heads; /* parameters beside: of the norm, and others that heads have */
    enum ty_scan_rule rule;
    double chunk; /* of its kernels */
};

static struct mixer mixer_of(const struct ty_block_maker *b, enum ty_layer_block block)
{
    const struct ty_arch *arch = b->arch;
    const double heads = b->shard.state_heads, inner = heads * arch->state_head_dim;
    const double keys = b->shard.state_groups * arch->state_size;
    if (block == TY_HAS_DELTA) {
        return (struct mixer){.in = 2 * keys + 2 * inner + 2 * heads,
                              .conv = 2 * keys + inner,
                              .taps = arch->state_conv,
                              .norm = arch->state_head_dim / b->shard.ranks,
                              .heads = 2 * heads, /* A and the bias of dt */
                              .rule = TY_SCAN_DELTA,
                              .chunk = 64}; /* chunk_gated_delta_rule */
    }
    return (struct mixer){.in = 2 * inner + 2 * keys + heads,
                          .conv = inner + 2 * keys,
                          .taps = arch->state_conv + 1, /* and a bias */
                          .remade = true,
                          .norm = inner,
                          .heads = 3 * heads, /* A, D and the bias of dt */
                          .rule = TY_SCAN_MAMBA2,
                          .chunk = 128}; /* mamba_mixer.py, chunk_size */
}

static double inner_of(const struct ty_block_maker *b)
{
    return b->shard.state_heads * b->arch->state_head_dim;
}

static void state_in(struct ty_block_maker *b, const struct mixer *m)
{
    const double h = b->arch->hidden;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_STATE, "state in", "state in dgrad", "state in wgrad");
    op->column = true;
    ty_block_linear(b, op, h, &m->in, 1);
    ty_block_weight(op, "state in", h * m->in);
    if (b->arch->state_conv > 0) {
        ty_block_elementwise(b, op, TY_OPERATOR_CONVOLUTION, TY_ANY_KERNEL,
                             b->shard.tokens * m->conv);
        op->kernel[op->n_kernels - 1].gradients = m->remade ? 1 : 0;
        ty_block_weight(op, "convolution", m->conv * m->taps);
    }
}

static void scan(struct ty_block_maker *b, const struct mixer *m)
{
    const struct ty_arch *arch = b->arch;
    struct ty_unit_op *op = ty_block_op(b, TY_PART_STATE, "scan", "scan backward", NULL);
    ty_block_kernel(op,
                    &(struct ty_kernel){
                        .op = TY_OPERATOR_SCAN,
                        .dtype = arch->dtype,
                        .variant = (int)m->rule,
                        .scan = {.sequences = b->shard.sequences,
                                 .tokens = b->shard.sequence,
                                 .heads = b->shard.state_heads,
                                 .groups = b->shard.state_groups,
                                 .key = arch->state_size,
                                 .value = arch->state_head_dim,
                                 .chunk = arch->state_chunk > 0 ? arch->state_chunk : m->chunk}});
    ty_block_elementwise(b, op, TY_OPERATOR_NORM, arch->norm, b->shard.tokens * inner_of(b));
    ty_block_weight(op, "heads", m->heads);
    ty_block_weight(op, "gated norm", m->norm);
}

static void state_out(struct ty_block_maker *b)
{
    const double out[] = {b->shard.hidden}, inner = inner_of(b);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_STATE, "state out", "state out dgrad", "state out wgrad");
    op->row = true;
    ty_block_linear(b, op, inner, out, 1);
    ty_block_weight(op, "state out", inner * b->arch->hidden);
}

void ty_block_state(struct ty_block_maker *b, enum ty_layer_block block)
{
    const struct mixer m = mixer_of(b, block);
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double token = b->shard.tokens * e, inner = inner_of(b);
    const uint32_t first = b->out->n;
    state_in(b, &m);
    scan(b, &m);
    state_out(b);
    ty_block_keep(b, first, first + 1, "inputs of the scan", token * m.in);
    ty_block_keep(b, first, first + 1, "result of the convolution", m.remade ? 0 : token * m.conv);
    ty_block_keep(b, first + 1, first + 1, "outputs of the scan", token * inner);
    ty_block_keep_of(b, first + 1, 1, first + 2, "scan, normed",
                     ty_block_kept_input(b, &b->out->op[first + 2], TY_TARGET_OUT,
                                         token / e * inner,
                                         token / e * inner * ty_block_operand_bytes(b)));
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_STATE, "gradients in the scan",
                  token * (m.in + m.conv + 2 * inner));
    ty_block_need_wgrad(b, TY_LIFE_BACKWARD, &b->out->op[first], "gradient of the state's matrix");
}
