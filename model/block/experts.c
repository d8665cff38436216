/* experts.c - a mixture of experts in the place of an MLP (Shazeer et al. 2017).
 *
 * A router sends every token to top_k of E experts; shared ones see all of them. With one expert
 * there is nothing to choose: that is an MLP. Where rows go to other ranks depends on the stack,
 * >> dispatch and << combine (model/parallel/dispatch.c):
 *
 *     alltoall      router  permute >>  experts <<  unpermute
 *     the others    router >>  permute  experts  unpermute <<  sum
 *
 * The first puts rows in the order of experts on the rank that they come from, and of those that
 * arrive again, as they come source by source; the others when they have arrived. Shared experts
 * come before the router or, with framework.shared_overlap, one half during dispatch, the other
 * next to combine. They are a tensor-parallel MLP, while a tensor rank routes its own tokens: sums
 * of attention are scattered, and not gathered again.
 *
 * With model.expert_latent rows are latents: a matrix h x l makes them of a rank's own tokens
 * before they leave, and one l x h makes hidden states of what comes back; both are on all
 * tensor ranks (Megatron-LM, moe_latent_size).
 *
 * Kept, e bytes an element: scores of the router 4 E of a token; of a row what the first product
 * reads e h, what it gives and what the activation makes of that, 3 e f_e with a gate, and where
 * probabilities scale what the second product gives (framework.scale_activation false), that, e h.
 * Source: NVIDIA/Megatron-LM, megatron/core/transformer/moe. */
#include "model/block/maker.h"

/* What is kept of an MLP's inside. */
struct inner {
    const char *gate, *up, *silu, *product, *activation;
};
static const struct inner of_experts = {"experts' gate", "experts' up", "experts' silu(gate)",
                                        "experts' gated output", "experts' activation"};
static const struct inner of_shared = {"shared gate", "shared up", "shared silu(gate)",
                                       "shared gated output", "shared activation"};

/* Matrices that the first product is made of: gate and up may be one. */
static uint32_t n_first(const struct ty_block_maker *b)
{
    return ty_arch_is_gated(b->arch) && !b->layout->framework.fused_gate ? 2 : 1;
}

static bool sends_permuted(const struct ty_block_maker *b)
{
    return b->layout->framework.dispatcher == TY_DISPATCHER_ALL_TO_ALL;
}

/* Tensors of `rows` rows that operator `made` leaves for `used`. */
static void keep_inner(const struct ty_block_maker *b, const struct inner *name, uint32_t made,
                       uint32_t used, double rows, double width)
{
    uint32_t activation = 0;
    const struct ty_kernel *kernels = b->out->op[made].kernel;
    while (kernels[activation].op != TY_OPERATOR_ACTIVATION) {
        activation++;
    }
    const uint32_t first = activation;
    const bool clamped = kernels[first].variant == TY_ACTIVATION_CLAMP;
    activation += clamped;
    const double elements = rows * width;
    const double inner = elements * ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const double read = elements * ty_block_cache_bytes(b);
    const int kernel = ty_activation_of(b->arch, &b->layout->framework);
    const bool gate = ty_arch_is_gated(b->arch), remade = kernel == TY_ACTIVATION_SWIGLU_REMADE;
    const bool unfused = kernel == TY_ACTIVATION_SWIGLU_UNFUSED;
    ty_block_keep(b, made, made, name->gate, gate ? read : 0);
    ty_block_keep(b, made, made, name->up, read);
    ty_block_keep_of(b, made, first, made, "clamped gate and up", clamped ? 2 * inner : 0);
    ty_block_keep_of(b, made, activation, made, name->silu, unfused ? inner : 0);
    const double input = ty_block_kept_input(b, &b->out->op[used], TY_TARGET_DOWN, elements,
                                             elements * ty_block_operand_bytes(b));
    ty_block_keep_input(b, made, activation, used, gate ? name->product : name->activation,
                        remade ? 0 : input);
    ty_block_need(b, TY_LIFE_WEIGHT, TY_PART_NONE, name->product, remade ? input : 0);
}

/* ---- shared experts ---- */

static void shared_up(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const double h = b->arch->hidden, f = b->shard.shared_ffn;
    const double bias = (b->arch->bias & TY_BIAS_MLP) != 0 ? f : 0;
    const uint32_t n = n_first(b);
    const double matrices = ty_arch_is_gated(b->arch) ? 2 : 1, out[] = {matrices / n * f, f};
    op->column = true;
    op->n_reduces = n;
    ty_block_linear(b, op, h, out, n);
    ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION,
                         ty_activation_of(b->arch, &b->layout->framework), b->shard.tokens * f);
    ty_block_weight(op, n == 2 ? "shared gate" : "shared up", matrices / n * (h * f + bias));
    if (n == 2) {
        ty_block_weight(op, "shared up", h * f + bias);
    }
}

static void shared_down(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const double h = b->arch->hidden, f = b->shard.shared_ffn, out[] = {h};
    const double bias = (b->arch->bias & TY_BIAS_MLP) != 0 ? h / b->shard.ranks : 0;
    op->row = true;
    ty_block_linear(b, op, f, out, 1);
    ty_block_weight(op, "shared down", f * h + bias);
    if (b->arch->shared_gate) { /* one column: nothing next to the products */
        ty_block_whole_weight(op, "shared scale", h);
    }
}

static struct ty_unit_op *shared_op(struct ty_block_maker *b, const char *name,
                                    const char *backward, const char *weight)
{
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MOE, name, backward, weight);
    op->overlaps_comm = b->layout->framework.shared_overlap;
    op->recompute = TY_RECOMPUTE_SHARED | TY_RECOMPUTE_MOE;
    return op;
}

/* Whole, before anything is routed. */
static void shared(struct ty_block_maker *b)
{
    if (b->arch->shared_ffn > 0 && !b->layout->framework.shared_overlap) {
        struct ty_unit_op *op =
            shared_op(b, "shared experts", "shared experts dgrad", "shared experts wgrad");
        shared_up(b, op);
        shared_down(b, op);
        keep_inner(b, &of_shared, b->out->n - 1, b->out->n - 1, b->shard.tokens,
                   b->shard.shared_ffn);
    }
}

/* One half during dispatch, the other next to combine. */
static uint32_t shared_up_beside(struct ty_block_maker *b)
{
    if (b->arch->shared_ffn > 0 && b->layout->framework.shared_overlap) {
        shared_up(b, shared_op(b, "shared up", "shared up dgrad", "shared up wgrad"));
        /* the router has kept this rank's part of it */
        const bool gathered = b->shard.tokens > b->shard.own_tokens;
        ty_block_keep_input(
            b, b->out->n - 1, 0, b->out->n - 1, "inputs of the shared experts",
            gathered && !b->layout->framework.regather_inputs ? ty_block_input_bytes(b) : 0);
    }
    return b->out->n - 1;
}

static void shared_down_beside(struct ty_block_maker *b, uint32_t up)
{
    if (b->arch->shared_ffn > 0 && b->layout->framework.shared_overlap) {
        shared_down(b, shared_op(b, "shared down", "shared down dgrad", "shared down wgrad"));
        keep_inner(b, &of_shared, up, b->out->n - 1, b->shard.tokens, b->shard.shared_ffn);
    }
}

/* What they give is added to what the others gave, and the gate scales it. */
static void add_shared(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    if (b->arch->shared_ffn > 0) {
        ty_block_elementwise(b, op, TY_OPERATOR_RESIDUAL, TY_ANY_KERNEL,
                             b->shard.own_tokens * b->arch->hidden);
    }
}

/* ---- routed experts ---- */

static void router(struct ty_block_maker *b, uint8_t role)
{
    const double h = b->arch->hidden, experts = b->arch->experts, own = b->shard.own_tokens;
    const bool fused = b->layout->framework.fused_router,
               narrow = ty_dtype_is_narrow(b->arch->dtype);
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_MOE, "router", "router backward", "router wgrad");
    op->frozen = ty_arch_freezes(b->arch, TY_FREEZE_ROUTER);
    ty_block_kernel(op, &(struct ty_kernel){.op = TY_OPERATOR_MATMUL,
                                            .dtype = narrow ? TY_DTYPE_BF16 : b->arch->dtype,
                                            .variant = TY_ANY_KERNEL,
                                            .matmul = {own, h, experts}});
    ty_block_elementwise(b, op, TY_OPERATOR_ROUTER, fused ? TY_FUSED : TY_UNFUSED, own * experts);
    ty_block_whole_weight(op, "router", (h + (b->arch->router_bias ? 1 : 0)) * experts);
    ty_block_keep(b, b->out->n - 1, b->out->n - 1, "router scores", 4 * own * experts);
    op->recompute = TY_RECOMPUTE_MOE;
    op->rows = role;
}

/* Tokens of which rows are made or to which they are added up: of this rank or, where each node or
 * rank gets a token once, those that come to it. */
static double tokens_here(const struct ty_block_maker *b)
{
    const double ranks = (double)b->layout->expert * b->layout->expert_tensor;
    const struct ty_exchange tokens = {.experts = b->arch->experts,
                                       .top_k = b->arch->experts_per_token,
                                       .groups = b->arch->expert_groups,
                                       .group_limit = b->arch->group_limit};
    return sends_permuted(b) || ranks == 1 ? b->shard.own_tokens
                                           : b->shard.own_tokens * b->layout->expert_tensor *
                                                 ty_exchange_copies(&tokens, b->layout->expert);
}

/* Rows made of tokens, or tokens of rows: its number. */
static uint32_t move(struct ty_block_maker *b, enum ty_operator kind, uint8_t role)
{
    const bool back = kind == TY_OPERATOR_UNPERMUTE;
    const double rows = sends_permuted(b) ? b->shard.sent_rows : b->shard.expert_rows;
    const double width = ty_arch_row_width(b->arch);
    struct ty_unit_op *op = ty_block_op(b, TY_PART_MOE, back ? "unpermute" : "permute",
                                        back ? "unpermute backward" : "permute backward", NULL);
    ty_block_kernel(op, &(struct ty_kernel){
                            .op = kind,
                            .dtype = b->arch->dtype,
                            .variant = b->layout->framework.fused_permute ? TY_FUSED : TY_UNFUSED,
                            .permute = {.tokens = tokens_here(b),
                                        .rows = rows,
                                        .width = width,
                                        .expert_B = ty_block_row_bytes(b, true) / width}});
    op->routed = !sends_permuted(b);
    op->recompute = TY_RECOMPUTE_MOE;
    op->rows = role;
    return b->out->n - 1;
}

/* Rows that come source by source are put together by expert, and back. */
static void sort(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const bool several = (double)b->layout->expert * b->layout->expert_tensor > 1;
    const double rows = b->shard.expert_rows;
    if (sends_permuted(b) && several && b->shard.experts > 1) {
        ty_block_kernel(op, &(struct ty_kernel){.op = TY_OPERATOR_PERMUTE,
                                                .dtype = b->arch->dtype,
                                                .variant = TY_FUSED,
                                                .permute = {rows, rows, ty_arch_row_width(b->arch),
                                                            .expert_B = 0}});
    }
}

/* One kernel has both products of experts and what is between them. */
static bool is_one_mlp(const struct ty_block_maker *b)
{
    return b->layout->framework.fused_expert_mlp && b->layout->framework.fused_experts;
}

/* cuDNN's fused products in MXFP8 are as fast as those with one scale a tensor: 2.92 PFLOP/s on
 * GB200 and 3.32 on GB300, Transformer Engine's calls 2.62 and 2.96 (NVIDIA/cudnn-frontend, experts
 * of 4096 tokens, 8192 wide). */
static void grouped(const struct ty_block_maker *b, struct ty_unit_op *op, double in, double out)
{
    const bool one = b->layout->framework.fused_experts;
    ty_block_kernel(op, &(struct ty_kernel){.op = TY_OPERATOR_GROUPED,
                                            .dtype = ty_block_product_dtype(b),
                                            .mx = ty_block_is_mx(b) && !is_one_mlp(b),
                                            .variant = one ? TY_GROUPED_ONE : TY_GROUPED_CALLS,
                                            .grouped = {.groups = b->shard.experts,
                                                        .rows = b->shard.expert_rows,
                                                        .in = in,
                                                        .out = out}});
}

static void expert_weights(const struct ty_block_maker *b, struct ty_unit_op *op)
{
    const double n = b->shard.experts, h = ty_arch_row_width(b->arch), f = b->shard.expert_ffn;
    const bool biased = (b->arch->bias & TY_BIAS_MLP) != 0;
    const double matrix = n * (h * f + (biased ? f : 0));
    const double down = n * (f * h + (biased ? h / b->layout->expert_tensor : 0));
    if (n_first(b) == 2) {
        ty_block_weight(op, "experts' gate", matrix);
        ty_block_weight(op, "experts' up", matrix);
    } else {
        ty_block_weight(op, "experts' up", (ty_arch_is_gated(b->arch) ? 2 : 1) * matrix);
    }
    ty_block_weight(op, "experts' down", down);
}

/* Tensors from number `first` on are as large as what comes to the rank's experts, with room for so
 * many times a balanced load. */
static void follow_routing(const struct ty_block_maker *b, uint32_t first, double room)
{
    for (uint32_t i = first; i < b->out->n_saved; i++) {
        b->out->saved[i].routed = b->out->saved[i].bytes / room;
    }
}

static uint32_t products(struct ty_block_maker *b, uint8_t role)
{
    const double h = ty_arch_row_width(b->arch), f = b->shard.expert_ffn,
                 rows = b->shard.expert_rows;
    const double e = ty_dtype_bytes((enum ty_dtype)b->arch->dtype);
    const uint32_t n = n_first(b), number = b->out->n;
    const double matrices = ty_arch_is_gated(b->arch) ? 2 : 1;
    const bool narrow = b->layout->framework.dispatch_dtype == TY_DISPATCH_FP8;
    const double arrives =
        narrow ? ty_block_fp8_shares(b, b->shard.own_tokens * h, rows * h) : rows * h;
    struct ty_unit_op *op =
        ty_block_op(b, TY_PART_MOE, "experts", "experts dgrad", "experts wgrad");
    op->recompute = TY_RECOMPUTE_MOE | TY_RECOMPUTE_MOE_ACT;
    op->expert = op->routed = true;
    op->rows = role;
    sort(b, op);
    const bool one = is_one_mlp(b);
    ty_block_fp8(b, op, arrives, one ? arrives : rows * matrices * f,
                 b->shard.experts * h * matrices * f);
    for (uint32_t i = 0; i < n; i++) {
        grouped(b, op, h, matrices / n * f);
    }
    if (b->arch->expert_clamp && !b->layout->framework.fused_experts) {
        ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION, TY_ACTIVATION_CLAMP,
                             matrices * rows * f);
    }
    ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION,
                         ty_activation_of(b->arch, &b->layout->framework), one ? 0 : rows * f);
    if (one) { /* what is between the products is done by them */
        ty_block_fp8_weights(b, op, b->shard.experts * f * h);
    } else {
        ty_block_fp8(b, op, rows * f, arrives, b->shard.experts * f * h);
    }
    grouped(b, op, f, h);
    if (!one && (b->arch->bias & TY_BIAS_MLP) != 0) { /* compiled by Automodel's grouped_mm */
        const bool compiled = b->layout->framework.fused_experts;
        ty_block_elementwise(b, op, TY_OPERATOR_ACTIVATION,
                             compiled ? TY_ACTIVATION_GELU : TY_ACTIVATION_EXPERT_BIAS, rows * h);
    }
    sort(b, op);
    expert_weights(b, op);
    const uint32_t first = b->out->n_saved;
    keep_inner(b, &of_experts, number, number, rows, f);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_MOE, "gradients in the experts",
                  (matrices + 1) * rows * f * e);
    follow_routing(b, first, 1);
    ty_block_need_wgrad(b, TY_LIFE_BACKWARD, op, "gradient of an expert matrix");
    return number;
}

/* ---- latents ---- */

static bool is_latent(const struct ty_block_maker *b)
{
    return b->arch->expert_latent > 0;
}

/* From hidden states to latents, or back, with what shared experts give. */
static void latent(struct ty_block_maker *b, bool up, uint8_t role)
{
    const double h = b->arch->hidden, l = b->arch->expert_latent, own = b->shard.own_tokens;
    struct ty_unit_op *op =
        up ? ty_block_op(b, TY_PART_MOE, "latent up", "latent up dgrad", "latent up wgrad")
           : ty_block_op(b, TY_PART_MOE, "latent down", "latent down dgrad", "latent down wgrad");
    op->recompute = TY_RECOMPUTE_MOE;
    op->rows = role;
    ty_block_fp8(b, op, own * (up ? l : h), own * (up ? h : l), h * l);
    ty_block_product(b, op, own, up ? l : h, up ? h : l);
    ty_block_whole_weight(op, up ? "latent up" : "latent down", h * l);
    if (up) {
        const uint32_t at = b->out->n - 1;
        add_shared(b, op);
        ty_block_keep_input(b, at - 1, 0, at, "latents of the experts",
                            own * l * ty_block_operand_bytes(b));
    }
}

/* ---- lists ---- */

/* What goes from one to the other, and room on the way: for as many rows as the busiest rank
 * gets. */
static void rows_of(const struct ty_block_maker *b, uint32_t permute, uint32_t experts,
                    uint32_t unpermute)
{
    const double row = ty_block_row_bytes(b, false), rows = row * b->shard.expert_rows;
    const double elements = b->shard.expert_rows * ty_arch_row_width(b->arch);
    const bool late = !b->layout->framework.scale_activation;
    const uint32_t first = b->out->n_saved;
    ty_block_keep_input(b, permute, 0, experts, "rows of the experts",
                        ty_block_kept_input(b, &b->out->op[experts], TY_TARGET_FC1, elements,
                                            elements * ty_block_operand_bytes(b)));
    ty_block_keep(b, experts, unpermute, "outputs of the experts", late ? rows : 0);
    follow_routing(b, first, 1);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_MOE, "gradients of rows that leave",
                  row * b->shard.sent_rows);
    ty_block_need(b, TY_LIFE_BACKWARD, TY_PART_MOE, "gradients of rows that arrive",
                  rows * b->layout->framework.dispatch_buffer);
    follow_routing(b, b->out->n_saved - 1, b->layout->framework.dispatch_buffer);
}

static void permuted_first(struct ty_block_maker *b)
{
    router(b, 0);
    if (is_latent(b)) {
        latent(b, false, 0);
    }
    const uint32_t permute = move(b, TY_OPERATOR_PERMUTE, TY_ROWS_LEAVE);
    const uint32_t up = shared_up_beside(b);
    const uint32_t experts = products(b, TY_ROWS_ARRIVE | TY_ROWS_RETURN);
    shared_down_beside(b, up);
    const uint32_t unpermute = move(b, TY_OPERATOR_UNPERMUTE, TY_ROWS_HOME);
    if (is_latent(b)) {
        latent(b, true, 0);
    } else {
        add_shared(b, &b->out->op[unpermute]);
    }
    rows_of(b, permute, experts, unpermute);
}

static void permuted_there(struct ty_block_maker *b)
{
    router(b, is_latent(b) ? 0 : TY_ROWS_LEAVE);
    if (is_latent(b)) {
        latent(b, false, TY_ROWS_LEAVE);
    }
    const uint32_t up = shared_up_beside(b);
    const uint32_t permute = move(b, TY_OPERATOR_PERMUTE, TY_ROWS_ARRIVE);
    const uint32_t experts = products(b, 0);
    const uint32_t unpermute = move(b, TY_OPERATOR_UNPERMUTE, TY_ROWS_RETURN);
    shared_down_beside(b, up);
    if (is_latent(b)) {
        latent(b, true, TY_ROWS_HOME);
    } else if (b->arch->shared_ffn > 0) {
        struct ty_unit_op *sum = ty_block_op(b, TY_PART_MOE, "sum", "sum backward", NULL);
        sum->recompute = TY_RECOMPUTE_MOE;
        sum->rows = TY_ROWS_HOME;
        add_shared(b, sum);
    }
    rows_of(b, permute, experts, unpermute);
}

void ty_block_experts(struct ty_block_maker *b)
{
    shared(b);
    (sends_permuted(b) ? permuted_first : permuted_there)(b);
}
