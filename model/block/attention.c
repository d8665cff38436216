/* attention.c - attention with grouped key and value heads (Ainslie et al. 2023).
 *
 *     qkv  h x (a + 2 kv) d, rotary embedding    core  scores, softmax, values    proj  a d x h
 *
 * and, where model.qk_norm says so, a norm on q and on k before rotation: of width d on every head,
 * or of all heads at once, whose sums over tensor ranks, 4 bytes a token, are left out.
 * Latent attention has other operators in the place of qkv, and values of a width of
 * their own. An attention sink is one more logit a head, which costs a number and no time.
 *
 * Kept, bytes per token of e bytes an element: q, k, v  e (a + 2 kv) d; the output  e a d; scores
 * in memory: probabilities e a s, with dropout the dropped ones and a mask (e + 1) a s, made of
 * framework operators the 32-bit result of the softmax as well, 4 a s; flash attention: logarithms
 * of the sums of exponentials, 4 a. Source: Korthikanti et al. 2022, table 2. */
#include "model/block/maker.h"
#include "model/packing.h"

/* ---- multi-head latent attention ---- */

/* What gives q, k and v, expanded (DeepSeek-V2, section 2.1):
 *
 *     mla down   h x r_q, h x (r_kv + d_r); a norm of each latent
 *     mla up     r_q x a (d_n + d_r), r_kv x a (d_n + d_v); rotary embedding of the d_r of q, and
 *                of those of k, which are one for all heads
 *
 * Training computes keys and values of every head; the absorbed form, which scores against the
 * latent, has 3.4 times the products and pays for decoding only, and where an indexer chooses the
 * keys of each query (indexer.c): then all heads read the same. Without a query latent q comes
 * from the hidden states, h x a (d_n + d_r), in `mla up`. That operator runs again where a layer
 * recomputes its up-projections, and what it has made need not be kept.
 *
 * Tensor ranks have whole heads of the up-projections. The others are on all of them, on the tokens
 * that a rank has outside the products, and latents instead of hidden states are brought together
 * before the up-projections (Megatron-LM, multi_latent_attention.py, mode "duplicated").
 *
 * Kept, elements per token: latents before and after their norms 2 (r_q + r_kv) + d_r; queries,
 * keys with their position part, values a (2 (d_n + d_r) + d_v). */

/* Widths of queries and values in the core, and heads that have keys of their own. */
struct core_shape {
    double q, v, kv_heads;
};

static struct core_shape core_shape(const struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    if (ty_arch_is_indexed(arch)) {
        return (struct core_shape){(double)arch->kv_latent + arch->head_rope, arch->kv_latent, 1};
    }
    return (struct core_shape){ty_arch_query_width(arch), ty_arch_value_width(arch),
                               b->shard.kv_heads};
}

static void latent_norm(const struct ty_block_maker *b, struct ty_unit_op *op, double width)
{
    ty_block_elementwise(b, op, TY_OPERATOR_NORM, b->arch->norm, b->shard.own_tokens * width);
}

/* Norms of latents travel with their matrices. */
static void down(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double h = arch->hidden, own = b->shard.own_tokens;
    const double q = arch->query_latent, kv = arch->kv_latent, rope = arch->head_rope;
    const double rows = h + ((arch->bias & TY_BIAS_QKV) != 0 ? 1.0 : 0.0);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "mla down", "mla down dgrad", "mla down wgrad");
    op->recompute = TY_RECOMPUTE_NORM;
    ty_block_fp8(b, op, own * h, own * (q + kv + rope), h * (q + kv + rope));
    if (q > 0) {
        ty_block_product(b, op, own, h, q);
        latent_norm(b, op, q);
        ty_block_whole_weight(op, "q down", rows * q + q);
    }
    ty_block_product(b, op, own, h, kv + rope);
    latent_norm(b, op, kv);
    ty_block_whole_weight(op, "kv down", rows * (kv + rope) + kv);
}

/* The fused kernels of latent attention turn by sines that are scaled already (Megatron-LM,
 * multi_latent_attention.py, get_cached_cos_sin). */
int ty_rotary_of(const struct ty_arch *arch, const struct ty_framework *framework)
{
    const bool scales = arch->rotary_scaled && !ty_arch_is_latent(arch);
    return framework->fused_rotary && !scales ? TY_FUSED : TY_UNFUSED;
}

static void up(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double heads = b->shard.heads, tokens = b->shard.tokens;
    const double from = arch->query_latent > 0 ? arch->query_latent : arch->hidden;
    const double q = heads * ty_arch_query_width(arch);
    const double kv = heads * ((double)arch->head_dim + arch->head_value);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "mla up", "mla up dgrad", "mla up wgrad");
    op->recompute = TY_RECOMPUTE_MLA_UP;
    op->column = true;
    op->width[0] = from;
    op->width[1] = (double)arch->kv_latent + arch->head_rope;
    ty_block_fp8(b, op, tokens * (from + arch->kv_latent), tokens * (q + kv),
                 from * q + arch->kv_latent * kv);
    ty_block_product(b, op, tokens, from, q);
    ty_block_product(b, op, tokens, arch->kv_latent, kv);
    if (arch->positions == 0 && arch->head_rope > 0) {
        ty_block_elementwise(b, op, TY_OPERATOR_ROTARY, ty_rotary_of(arch, &b->layout->framework),
                             tokens * (heads + 1) * arch->head_rope);
    }
    ty_block_weight(op, "q up", from * q);
    ty_block_weight(op, "kv up", arch->kv_latent * kv);
}

/* which operator gives q, k and v */
static uint32_t block_latent(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const bool again = b->layout->framework.regather_inputs;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), rope = arch->head_rope;
    const double latents = (double)arch->query_latent + arch->kv_latent;
    const double own = e * b->shard.own_tokens, all = e * b->shard.tokens;
    const struct core_shape core = core_shape(b);
    const bool indexed = ty_arch_is_indexed(arch);
    const double heads =
        indexed ? (b->shard.heads + 1) * core.q : b->shard.heads * (2.0 * core.q + core.v);
    const uint32_t first = b->out->n;
    down(b);
    if (indexed) {
        ty_block_indexer(b);
    }
    up(b);
    const uint32_t at = b->out->n - 1;
    ty_block_keep(b, first, first, "inputs of the latents' norms", own * (latents + rope));
    const double latent = (again ? own : all) / e * ty_block_operand_bytes(b);
    const uint32_t norm = b->out->op[first].n_kernels - 1;
    ty_block_keep_input(b, first, norm - 2, at, "latent of q",
                        ty_block_kept_input(b, &b->out->op[at], TY_TARGET_Q,
                                            b->shard.tokens * arch->query_latent,
                                            latent * arch->query_latent));
    ty_block_keep_input(b, first, norm, at, "latent of k and v",
                        ty_block_kept_input(b, &b->out->op[at], TY_TARGET_K | TY_TARGET_V,
                                            b->shard.tokens * arch->kv_latent,
                                            latent * arch->kv_latent));
    ty_block_keep(b, at, at + 1, "q, k, v", all * heads);
    return at;
}

static bool is_flash(const struct ty_arch *arch)
{
    return arch->attention >= TY_ATTENTION_FLASH1;
}

static bool casts_core(const struct ty_block_maker *b)
{
    return b->layout->framework.fp8_attention && ty_block_is_narrow(b) && is_flash(b->arch) &&
           !ty_arch_is_indexed(b->arch);
}

static bool rotates(const struct ty_arch *arch)
{
    return arch->positions == 0 && arch->rotary > 0;
}

/* Norms of heads travel with their matrix. A bias belongs to its head: k's and v's are kept whole
 * by every rank that has the head. */
struct matrices {
    double q, kv, norm; /* with its norm; without; that of keys */
};

/* Scales of the norm of so many heads on this rank: one set for all of them, or one each. */
static double norm_params(const struct ty_block_maker *b, double heads)
{
    const double d = b->arch->head_dim, one = d / b->shard.ranks;
    if (!b->arch->qk_norm) {
        return 0;
    }
    switch ((enum ty_qk_norm)b->arch->qk_norm_kind) {
    case TY_QK_NORM_HEAD:
        return one;
    case TY_QK_NORM_LAYER:
        return 2 * one;
    case TY_QK_NORM_WHOLE:
        return heads * d;
    case TY_QK_NORM_PLAIN:
        break;
    }
    return 0;
}

/* Columns that queries are made in, with gates: of the output, or of what a query sees. */
static double query_columns(const struct ty_block_maker *b)
{
    const double d = b->arch->head_dim, gates = b->arch->sparse_topk > 0 ? 3 : 0;
    return b->shard.heads * (b->arch->attention_gate ? 2 * d : d + gates);
}

static struct matrices matrices(const struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const double d = arch->head_dim;
    const double bias = (arch->bias & TY_BIAS_QKV) != 0 ? 1.0 : 0.0;
    const double rows = (arch->hidden + bias) / b->shard.cut;
    return (struct matrices){query_columns(b) * rows + norm_params(b, b->shard.heads),
                             ty_block_branches(arch) * b->shard.kv_heads * d * rows,
                             norm_params(b, b->shard.kv_heads)};
}

static void weights(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const struct matrices w = matrices(b);
    const bool biased = (b->arch->bias & TY_BIAS_QKV) != 0;
    const double d = biased ? b->arch->head_dim / b->shard.cut : 0;
    const double q = b->shard.heads * d, kv = b->shard.kv_heads * d;
    if (op->n_reduces == 1) {
        ty_block_weight(op, "qkv", w.q + w.kv + w.norm + w.kv);
        ty_block_beside(op, q + 2 * kv);
        return;
    }
    ty_block_weight(op, "q", w.q);
    ty_block_beside(op, q);
    ty_block_weight(op, "k", w.kv + w.norm);
    ty_block_beside(op, kv);
    ty_block_weight(op, "v", w.kv);
    ty_block_beside(op, kv);
}

/* What becomes of queries and keys before the core. */
static void norms_and_rotation(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const struct ty_arch *arch = b->arch;
    const double d = arch->head_dim;
    if (arch->qk_norm) { /* of q and of k, a kernel each */
        const double head = b->shard.tokens * d;
        ty_block_elementwise(b, op, TY_OPERATOR_NORM, arch->norm, b->shard.heads * head);
        ty_block_elementwise(b, op, TY_OPERATOR_NORM, arch->norm, b->shard.kv_heads * head);
    }
    if (rotates(arch)) {
        ty_block_elementwise(b, op, TY_OPERATOR_ROTARY, ty_rotary_of(arch, &b->layout->framework),
                             b->shard.tokens * (b->shard.heads + b->shard.kv_heads) * d *
                                 arch->rotary);
    }
}

/* On a grid of ranks every product is an operator. */
static void qkv_on_grid(struct ty_block_maker *b)
{
    const struct matrices w = matrices(b);
    const double d = b->arch->head_dim, q = b->shard.heads * d, kv = b->shard.kv_heads * d;
    const bool fused = b->layout->framework.fused_qkv;
    const bool biased = (b->arch->bias & TY_BIAS_QKV) != 0;
    const struct {
        const char *name, *backward, *weight;
        double columns, params;
    } rows[] = {{"qkv", "qkv dgrad", "qkv wgrad", q + 2 * kv, w.q + w.kv + w.norm + w.kv},
                {"q", "q dgrad", "q wgrad", q, w.q},
                {"k", "k dgrad", "k wgrad", kv, w.kv + w.norm},
                {"v", "v dgrad", "v wgrad", kv, w.kv}};
    for (uint32_t i = fused ? 0 : 1; i < (fused ? 1u : TY_COUNT(rows)); i++) {
        struct ty_unit_op *op =
            ty_block_op(b, TY_PART_ATTENTION, rows[i].name, rows[i].backward, rows[i].weight);
        op->column = true;
        op->bias = biased ? rows[i].columns : 0;
        ty_block_linear(b, op, b->shard.hidden, &rows[i].columns, 1);
        ty_block_weight(op, rows[i].name, rows[i].params);
    }
}

/* Returns the operator that gives q, k and v. */
static uint32_t qkv(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const bool fused = b->layout->framework.fused_qkv;
    const double d = arch->head_dim, heads = b->shard.kv_heads * ty_block_branches(arch);
    const double kv = heads * d, wide = query_columns(b);
    const double apart[] = {wide, kv, kv}, together[] = {wide + 2 * kv};
    if (ty_layout_is_mesh(b->layout)) {
        qkv_on_grid(b);
        if (arch->qk_norm || rotates(arch)) {
            norms_and_rotation(
                b, ty_block_op(b, TY_PART_ATTENTION, "rotary", "rotary backward", NULL));
        }
    } else {
        struct ty_unit_op *op = ty_block_op(b, TY_PART_ATTENTION, "qkv", "qkv dgrad", "qkv wgrad");
        op->column = true;
        op->n_reduces = fused ? 1 : 3;
        ty_block_linear(b, op, arch->hidden, fused ? together : apart, fused ? 1 : 3);
        norms_and_rotation(b, op);
        weights(b, op);
    }
    const uint32_t at = b->out->n - 1;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype), token = b->shard.tokens * e;
    ty_block_keep(b, at, at + 1, "q, k, v",
                  (casts_core(b) ? TY_FP8_B / e : 1) * token * (b->shard.heads + 2 * heads) * d);
    ty_block_keep(b, at, at, "inputs of q's and k's norms",
                  arch->qk_norm ? token * (b->shard.heads + b->shard.kv_heads) * d : 0);
    return at;
}

/* Queries, keys and values are cast before the core, and the gradient of its output. */
static void cast_core(const struct ty_block_maker *b, struct ty_unit_op *before)
{
    const double value = ty_arch_value_width(b->arch), width = ty_arch_query_width(b->arch);
    const double keys = b->shard.kv_heads * (width + value), queries = b->shard.heads * width;
    if (casts_core(b)) {
        ty_block_elementwise(b, before, TY_OPERATOR_CAST, TY_CAST_QUANTIZE,
                             b->shard.tokens * (queries + keys));
        before->kernel[before->n_kernels - 1].dtype = TY_DTYPE_FP8;
        before->kernel[before->n_kernels - 1].gradients = b->shard.heads * value / (queries + keys);
    }
}

static void core(struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const bool window = ty_arch_has_window(arch, b->layer), latent = ty_arch_is_latent(arch);
    const bool chosen = ty_arch_is_indexed(arch);
    const struct core_shape x = core_shape(b);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "attention core", "attention core backward", NULL);
    op->host_s = b->layout->framework.attention_sync;
    op->recompute = TY_RECOMPUTE_CORE;
    ty_block_kernel(op, &(struct ty_kernel){.op = TY_OPERATOR_ATTENTION,
                                            .dtype = arch->dtype,
                                            .mx = ty_block_is_mx(b),
                                            .variant = arch->attention,
                                            .dropout = arch->dropout > 0,
                                            .attention = {.sequences = b->shard.sequences,
                                                          .tokens = b->shard.sequence,
                                                          .narrow = !arch->softmax_in_fp32,
                                                          .heads = b->shard.heads,
                                                          .kv_heads = x.kv_heads,
                                                          .head_dim = x.q,
                                                          .value_dim = latent ? x.v : 0,
                                                          .window = chosen   ? arch->index_topk
                                                                    : window ? arch->window
                                                                             : 0,
                                                          .chosen = chosen,
                                                          .full = arch->full_attention,
                                                          .fp8 = casts_core(b)}});
    if (arch->sparse_topk > 0) {
        ty_block_three_cores(b, op);
    }
    if (arch->packed != NULL) {
        ty_pack_core(NULL, arch->packed, b->shard.context, &op->kernel[0].attention);
    }
    if (arch->sinks) {
        ty_block_weight(op, "sinks", b->shard.heads);
    }
}

static void proj(struct ty_block_maker *b)
{
    const double h = b->arch->hidden, out[] = {b->shard.hidden};
    const double q = b->shard.heads * ty_arch_value_width(b->arch);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_ATTENTION, "proj", "proj backward", "proj wgrad");
    op->row = true;
    if (b->arch->attention_gate) {
        ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION, TY_ACTIVATION_SWIGLU,
                             b->shard.tokens * q);
    }
    ty_block_linear(b, op, q, out, 1);
    const bool bias = (b->arch->bias & TY_BIAS_PROJ) != 0;
    op->bias = bias ? b->shard.hidden : 0;
    ty_block_weight(op, "proj", q * h / b->shard.cut + (bias ? h / b->shard.ranks : 0));
    ty_block_beside(op, bias ? h / b->shard.ranks : 0);
}

/* What the backward pass of the core finds, and what it makes while it runs. */
static void scores(const struct ty_block_maker *b, uint32_t core)
{
    const struct ty_arch *arch = b->arch;
    const struct ty_shard *x = &b->shard;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype);
    const double all = x->tokens * x->heads * x->sequence;
    const bool drop = arch->dropout > 0;
    const bool wide = arch->attention == TY_ATTENTION_UNFUSED && arch->softmax_in_fp32 && e < 4;
    if (is_flash(arch)) {
        ty_block_keep(b, core, core, "softmax statistics",
                      ty_block_branches(arch) * x->tokens * 4 * x->heads);
        return;
    }
    ty_block_keep(b, core, core, "attention probabilities", e * all);
    ty_block_keep(b, core, core, "attention probabilities in 32 bit", wide ? 4 * all : 0);
    ty_block_keep(b, core, core, "dropped probabilities", drop ? e * all : 0);
    ty_block_keep(b, core, core, "dropout masks of scores", drop ? all : 0);
}

static void gradients(const struct ty_block_maker *b)
{
    const struct ty_arch *arch = b->arch;
    const struct ty_shard *x = &b->shard;
    const double e = ty_dtype_bytes((enum ty_dtype)arch->dtype);
    const struct core_shape d = core_shape(b);
    const double all = x->tokens * x->heads * x->sequence;
    const bool wide = arch->attention == TY_ATTENTION_UNFUSED && arch->softmax_in_fp32 && e < 4;
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_ATTENTION, "gradients of q, k, v and output",
                  x->tokens * e * (x->heads + ty_block_branches(arch) * d.kv_heads) * (d.q + d.v));
    if (is_flash(arch)) {
        const bool keys = ty_arch_is_indexed(arch);
        ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_ATTENTION,
                      keys ? "32-bit sums of keys' gradients" : "32-bit sums of q's gradient",
                      x->tokens * 4 * (keys ? 1 : x->heads) * d.q);
        return;
    }
    /* of the probabilities, 16 bit; framework operators: of the 32-bit softmax's result and
     * input */
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_ATTENTION, "gradients of scores",
                  wide ? (e + 8) * all : 2 * e * all);
}

/* What the core gives, for its backward, the gate and proj. Where heads are scattered over ranks of
 * a sequence, gate and proj read what comes back from the exchange behind the core (Transformer
 * Engine since 2.8; autograd of DeepSpeed's _SeqAllToAll). */
static void keep_output(const struct ty_block_maker *b, uint32_t keys, uint32_t core)
{
    const struct ty_output_bytes bytes = ty_block_output_bytes(b);
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double output = b->shard.tokens * b->shard.heads * ty_arch_value_width(b->arch);
    const double gate = b->arch->attention_gate ? e : 0;
    const uint32_t proj = core + 1;
    const bool trained = ty_block_kept_input(b, &b->out->op[proj], TY_TARGET_PROJ, 1, 1) > 0;
    const bool reads = trained && bytes.proj <= 0 && gate <= 0;
    const bool moved = ty_layout_scatters_heads(b->layout);
    (reads && !moved ? ty_block_keep_input : ty_block_keep_of)(
        b, core, 0, moved ? core : proj, "attention output", output * bytes.core);
    (reads ? ty_block_keep_input : ty_block_keep_of)(b, proj, 0, proj,
                                                     "attention output, exchanged",
                                                     moved && (reads || gate > 0) ? output * e : 0);
    ty_block_keep_input(b, proj, 0, proj, "attention output in fp8",
                        b->out->op[proj].frozen ? 0 : output * bytes.proj);
    ty_block_keep(b, keys, proj, "gate of attention", output * gate);
    (trained ? ty_block_keep_input : ty_block_keep_of)(b, proj, 0, proj, "attention output, gated",
                                                       output * gate);
}

void ty_block_attention(struct ty_block_maker *b)
{
    const struct ty_shard *x = &b->shard;
    const uint32_t first = b->out->n;
    const uint32_t keys = ty_arch_is_latent(b->arch) ? block_latent(b) : qkv(b);
    cast_core(b, &b->out->op[keys]);
    if (b->arch->sparse_topk > 0) {
        ty_block_compress(b);
    }
    const uint32_t made = b->out->n - 1; /* before the core */
    core(b);
    proj(b);
    if (ty_arch_is_indexed(b->arch)) {
        ty_block_keep_input(b, made + 1, 0, made + 1, "attention output over latents",
                            ty_dtype_bytes((enum ty_dtype)b->arch->dtype) * x->tokens * x->heads *
                                b->arch->kv_latent);
    }
    ty_block_keep(b, made + 1, made + 1, "outputs of the three",
                  b->arch->sparse_topk > 0
                      ? 3 * x->tokens * x->heads * ty_arch_value_width(b->arch) *
                            ty_block_output_bytes(b).core
                      : 0);
    keep_output(b, keys, made + 1);
    scores(b, made + 1);
    gradients(b);
    const bool latent = ty_arch_is_latent(b->arch);
    ty_block_need_wgrad(b, TY_LIFE_BACKWARD, &b->out->op[latent ? keys : first],
                        latent ? "gradient of an up-projection" : "gradient of the qkv matrix");
}
