/* state.c - blocks that keep a state in place of keys: of Mamba, delta nets, linear attention, and
 * short convolutions, whose state is a few tokens.
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
 * KIMI DELTA ATTENTION  (arXiv 2510.26692; modeling_kimi_linear.py)
 *
 *     state in    h x (2 g n + a p + a + r), r x a p: q, k, v, strengths, and latents of gates and
 *                 of decays, one for each channel; the convolution as above
 *     scan        the delta rule; a norm of every head, gated
 *
 * LINEAR ATTENTION  (MiniMax-01; modeling_minimax.py)
 *
 *     state in    h x (2 g n + 2 a p): q, k, v through SiLU, a gate
 *     scan        with a fixed decay; a norm of all heads
 *
 * MAMBA-1  (Gu and Dao 2023; modeling_jamba.py): a channels, p = 1, one key and query for all
 *
 *     state in    h x 2 a: x, z; a short convolution of x
 *     state select    a x (r + 2 n), r x a: decays, B and C, from x
 *     scan        one kernel, gated
 *
 * RWKV-7  (Peng et al. 2025, arXiv 2503.14456; flash-linear-attention, layers/rwkv7.py), a p = h
 *
 *     state in    six mixes of each token and the one before it; h x 3 a p: r, k, v; latents of
 *                 decays, of how fast each channel learns, of how much it takes of the first
 *                 layer's values, and of the gate: h x r, r x a p
 *     scan        the generalised delta rule; a norm of every head with scale and shift, gated
 *
 * Between them run some ten kernels, each of which keeps what it gives. The MLP behind it reads a
 * mix of its own. Values of the first layer are not sent to other stages here.
 *
 * SHORT CONVOLUTION  (modeling_lfm2.py)
 *
 *     state in    h x 3 h: B, C, x; B x, and its convolution
 *     gate        by C
 *
 * Tensor ranks have whole heads and their groups, or channels; latents are on all of them.
 *
 * Ranks that share a sequence each work out the
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
    double inner;       /* channels that leave the block */
    double in;          /* columns of the product that reads hidden states */
    double low;         /* further ones that every tensor rank has: latents; `inner` come of them */
    double first;       /* of these, what the first layer lacks, spread over all */
    double activated;   /* columns that an activation works on first */
    double conv, taps;  /* channels of the short convolution; parameters of each */
    bool remade;        /* what that gives is not kept */
    double select;      /* columns that its result is read by: latents, keys and queries */
    double norm, heads; /* parameters beside: of the norm, and others that heads have */
    bool gates;         /* what gates does is all, no scan */
    uint32_t shifts;    /* mixes of a token and the one before it */
    enum ty_scan_rule rule;
    double chunk; /* of its kernels */
};

/* Sizes of scans: columns of values, of keys. */
static struct mixer scan_of(const struct ty_block_maker *b, enum ty_layer_block block, double inner,
                            double keys)
{
    const struct ty_arch *arch = b->arch;
    const double heads = b->shard.state_heads, one = arch->state_head_dim / b->shard.ranks;
    switch ((uint32_t)block) {
    case TY_HAS_DELTA:
        return (struct mixer){.in = 2 * keys + 2 * inner + 2 * heads,
                              .conv = 2 * keys + inner,
                              .taps = arch->state_conv,
                              .norm = one,
                              .heads = 2 * heads, /* A and the bias of dt */
                              .rule = TY_SCAN_DELTA,
                              .chunk = 64}; /* chunk_gated_delta_rule */
    case TY_HAS_KDA:
        return (struct mixer){.in = 2 * keys + inner + heads,
                              .low = arch->state_rank,
                              .conv = 2 * keys + inner,
                              .taps = arch->state_conv,
                              .norm = one,
                              .heads = heads + inner, /* A; biases of decays */
                              .rule = TY_SCAN_KDA,
                              .chunk = 64}; /* chunk_kda */
    case TY_HAS_LINEAR:
        return (struct mixer){.in = 2 * keys + 2 * inner,
                              .activated = 2 * keys + inner,
                              .norm = inner,
                              .rule = TY_SCAN_LINEAR,
                              .chunk = 256}; /* lightning_attn2.py, BLOCK */
    case TY_HAS_SELECTIVE:
        return (struct mixer){.in = 2 * inner,
                              .conv = inner,
                              .taps = arch->state_conv + 1, /* and a bias */
                              .remade = true,
                              .select = arch->state_rank + 2.0 * arch->state_size,
                              .heads = inner * (arch->state_size + 1.0), /* A, D */
                              .rule = TY_SCAN_SELECTIVE,
                              .chunk = 2048}; /* of what a block loads at once */
    case TY_HAS_RWKV: {
        const double others = 1 - 1.0 / arch->layers; /* than the first, spread over all */
        return (struct mixer){.in = 3 * inner,
                              .low = arch->state_rank,
                              .first = arch->first_rank / (double)arch->layers,
                              .activated = 9 * inner,
                              .shifts = 6,
                              .norm = 2 * inner,
                              .heads = (5 + others) * inner, /* biases of w, a, v; k_k, k_a, r_k */
                              .rule = TY_SCAN_RWKV,
                              .chunk = 16}; /* ChunkDPLRDeltaRuleFunction */
    }
    default:
        break;
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

static struct mixer mixer_of(const struct ty_block_maker *b, enum ty_layer_block block)
{
    const struct ty_arch *arch = b->arch;
    const double channels = arch->hidden / b->shard.ranks;
    if (block == TY_HAS_CONVOLUTION) {
        return (struct mixer){.inner = channels,
                              .in = 3 * channels,
                              .activated = channels,
                              .conv = channels,
                              .taps = arch->state_conv,
                              .gates = true};
    }
    const double inner = b->shard.state_heads * arch->state_head_dim;
    struct mixer m = scan_of(b, block, inner, b->shard.state_groups * arch->state_size);
    m.inner = inner;
    return m;
}

/* The shift reads and writes hidden states; the mixes read both and are written. */
void ty_block_shift(struct ty_block_maker *b, uint32_t at, uint32_t n)
{
    struct ty_unit_op *op = &b->out->op[at];
    const double h = b->shard.tokens * b->arch->hidden;
    ty_block_elementwise(b, op, TY_OPERATOR_CONVOLUTION, TY_ANY_KERNEL, h * (n + 4) / 2);
    ty_block_whole_weight(op, "shares of the token before", n * b->arch->hidden);
    ty_block_keep_input(b, at, 0, at, "tokens, those before them, and mixes of both",
                        h * ty_dtype_bytes((enum ty_dtype)b->arch->dtype) * (n + 1));
}

static void state_in(struct ty_block_maker *b, const struct mixer *m)
{
    const double h = b->arch->hidden, out[] = {m->in + m->low};
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_STATE, "state in", "state in dgrad", "state in wgrad");
    op->column = true;
    ty_block_linear(b, op, h, out, 1);
    ty_block_weight(op, "state in", h * m->in);
    if (m->low > 0) {
        ty_block_product(b, op, b->shard.tokens, m->low, m->inner);
        ty_block_whole_weight(op, "state latents", h * (m->low - m->first));
        ty_block_weight(op, "state gates", (m->low - m->first) * m->inner);
    }
    if (m->activated > 0) {
        ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION,
                             m->gates ? TY_ACTIVATION_SWIGLU : TY_ACTIVATION_GELU,
                             b->shard.tokens * m->activated);
    }
    if (m->conv > 0 && b->arch->state_conv > 0) {
        ty_block_elementwise(b, op, TY_OPERATOR_CONVOLUTION, TY_ANY_KERNEL,
                             b->shard.tokens * m->conv);
        op->kernel[op->n_kernels - 1].gradients = m->remade ? 1 : 0;
        ty_block_weight(op, "convolution", m->conv * m->taps);
    }
    if (m->shifts > 0) {
        ty_block_shift(b, b->out->n - 1, m->shifts);
    }
}

/* What the convolution gives chooses its own decays, keys and queries: sums over channels, and so
 * over tensor ranks, of which decays come; and a norm of each (Jamba). */
static void state_select(struct ty_block_maker *b, const struct mixer *m)
{
    const double rank = b->arch->state_rank, tokens = b->shard.tokens;
    const struct ty_op_comm sums = {.group = TY_GROUP_TENSOR,
                                    .coll = TY_COLL_ALL_REDUCE,
                                    .name = "decays, keys and queries",
                                    .bytes = tokens * m->select *
                                             ty_dtype_bytes((enum ty_dtype)b->arch->dtype)};
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_STATE, "state select", "state select dgrad", "state select wgrad");
    ty_block_product(b, op, b->shard.tokens, m->inner, m->select);
    ty_block_elementwise(b, op, TY_OPERATOR_NORM, b->arch->norm, tokens * m->select);
    ty_block_product(b, op, b->shard.tokens, rank, m->inner);
    ty_block_weight(op, "state select", m->inner * m->select);
    ty_block_whole_weight(op, "norms of these", m->select);
    ty_block_weight(op, "state decays", (rank + 1) * m->inner);
    if (b->layout->tensor > 1) {
        ty_block_comm(op, TY_AFTER_FORWARD, &sums, 1);
        ty_block_comm(op, TY_BEFORE_DGRAD, &sums, 1);
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
    if (m->norm > 0) {
        ty_block_elementwise(b, op, TY_OPERATOR_NORM, arch->norm, b->shard.tokens * m->inner);
    }
    ty_block_weight(op, "heads", m->heads);
    ty_block_weight(op, "gated norm", m->norm);
}

/* A gate in place of a scan. */
static void gate(struct ty_block_maker *b, const struct mixer *m)
{
    struct ty_unit_op *op = ty_block_op(b, TY_PART_STATE, "gate", "gate backward", NULL);
    ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION, TY_ACTIVATION_SWIGLU,
                         b->shard.tokens * m->inner);
}

static void state_out(struct ty_block_maker *b, const struct mixer *m)
{
    const double out[] = {b->shard.hidden};
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_STATE, "state out", "state out dgrad", "state out wgrad");
    op->row = true;
    ty_block_linear(b, op, m->inner, out, 1);
    ty_block_weight(op, "state out", m->inner * b->arch->hidden);
}

void ty_block_state(struct ty_block_maker *b, enum ty_layer_block block)
{
    const struct mixer m = mixer_of(b, block);
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double token = b->shard.tokens * e;
    const uint32_t first = b->out->n;
    state_in(b, &m);
    if (m.select > 0) {
        state_select(b, &m);
    }
    const uint32_t at = b->out->n;
    (m.gates ? gate : scan)(b, &m);
    state_out(b, &m);
    ty_block_keep(b, first, at, m.gates ? "inputs of the gates" : "inputs of the scan",
                  token * (m.in + m.low));
    ty_block_keep(b, first, at, "gates and decays", m.low > 0 ? 2 * token * m.inner : 0);
    ty_block_keep(b, first, at, "activated", token * m.activated);
    ty_block_keep(b, first, at, "result of the convolution", m.remade ? 0 : token * m.conv);
    ty_block_keep(b, at - 1, at, "decays, keys and queries",
                  m.select > 0 ? token * (m.select + m.inner) : 0);
    ty_block_keep(b, at, at, "outputs of the scan", m.gates ? 0 : token * m.inner);
    ty_block_keep_input(b, at, m.norm > 0 ? 1 : 0, at + 1, m.norm > 0 ? "scan, normed" : "gated",
                        ty_block_kept_input(b, &b->out->op[at + 1], TY_TARGET_OUT,
                                            token / e * m.inner,
                                            token / e * m.inner * ty_block_operand_bytes(b)));
    const double selects = m.select > 0 ? m.inner + b->arch->state_rank : 0;
    ty_block_need(b, TY_LIFE_WEIGHT, TY_PART_NONE, "inputs of inner matrices",
                  b->out->op[first].frozen ? 0 : token * (m.low + selects));
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_STATE, "gradients in the scan",
                  token * (m.in + m.conv + 2 * m.inner));
    ty_block_need_wgrad(b, TY_LIFE_BACKWARD, &b->out->op[first], "gradient of the state's matrix");
}
