/* kernel.c - looks up and computes the time of one kernel on one GPU. */
#include "model/kernel/kernel_internal.h"

/* ---- kernels whose time is the bytes they move ---- */

/*
 *     seconds = bytes / share * ((1 - hit) / memory_bandwidth + hit / l2_bandwidth)
 *               + kernel_overhead
 *     hit = near / (1 + (touched / l2)^2)
 *
 * Bytes are the ideal ones, each tensor read or written once; the share is measured per kernel. Of
 * a small tensor the L2 cache still has what the kernel before has written, and holds what this one
 * writes: `touched` are the bytes that go through it, `near` the part of them that was not left in
 * memory since the forward pass. Fitted to microsoft/vidur, which times kernels in the order of a
 * layer, as a step runs them: additions and norms of 2 to 200 MB. Kernels that do not reach half of
 * memory_bandwidth there wait for their instructions: their rate is the same in the cache and out
 * of it, and near is 0. e: bytes of an element. */

/* Share of memory_bandwidth of gathers and scatters of embedding rows; vidur: 300 of 2039 GB/s on
 * A100, 550 of 3350 on H100. */
#define EMBEDDING_SHARE 0.15
/* Of the loss over a sharded vocabulary (MooreThreads/SimuMax, A100). */
#define LOSS_SHARE 0.81
/* Bytes per logit. Forward: 16-bit logit read, its 32-bit copy written, read for the maximum and
 * for the exponentials. Backward: probability read, gradient written in 16 bit, read to scale.
 * Implementations range from 6 (fused) to 24 in all. */
#define LOSS_FORWARD_B  14.0
#define LOSS_BACKWARD_B 8.0
/* Of torch.nn.functional.cross_entropy on a 32-bit copy, and an arg-max for the accuracy beside it.
 * Forward: the copy (2 read, 4 written), log_softmax (4, 4), arg-max (2). Backward: the gradient of
 * nll_loss (4 written), that of log_softmax (8 read, 4 written), the cast to 16 bit (4, 2). */
#define LOSS_UNFUSED_FORWARD_B  16.0
#define LOSS_UNFUSED_BACKWARD_B 22.0
/* Bytes per element of a merge, besides reading the partial result. In one kernel a 32-bit sum is
 * read and written. By operators, out - sigmoid(lse' - lse) (out - out'): out' is copied to 32 bit
 * (written), the difference reads two and writes one, its product with the weight reads and writes
 * one, the sum reads two and writes one (zhuzilin/ring-flash-attention, pytorch/pytorch). Gradients
 * are added in one kernel. */
#define MERGE_B         8.0
#define MERGE_UNFUSED_B 36.0
/* Norm: backward moves twice what forward does: reads output gradient, input and statistics, writes
 * the input gradient, and sums the parameters' gradients in a second kernel. */
#define NORM_BACKWARD 2.0
/* Reads and writes of a tensor when framework operators rotate it: x cos and x' sin (read, write
 * each), x' made by a negation and a concatenation (half read and written; read, write), their sum
 * (two reads, a write). */
#define ROPE_UNFUSED 10.0
/* Rows of tokens in the order of experts and back, in one kernel: sums of a published trace of
 * DeepSeek-V3 on H800, 4096 tokens of 64 ranks (deepseek-ai/profile-data): 192 us for 465 MB in fp8
 * and 318 us for 902 MB. By framework operators: MooreThreads/SimuMax. */
#define PERMUTE_SHARE         0.72
#define UNPERMUTE_SHARE       0.85
#define PERMUTE_UNFUSED_SHARE 0.19
/* Of a score, from logits to probabilities and the map of who goes where: some twenty passes of
 * framework operators in 32 bit and a top-k that reads its rows several times, about 0.3 ms of 4096
 * tokens and 256 experts on H100; in one kernel a sixth (guess, both). Going backward there is no
 * top-k (guess: half). */
#define ROUTER_B         160.0
#define ROUTER_UNFUSED_B 960.0
#define ROUTER_BACKWARD  0.5
/* Bytes of an Adam step per parameter. One kernel: master weight and two moments read and written
 * (24 where they are 32 bit), 16-bit weight written (2), gradient read. Framework operators on
 * 32-bit shards, each a pass over memory, others in proportion: clipping (norm 4, scale 8), decay
 * (8), first moment (12), second moment (8, 12), square root, division, epsilon (8 each), update
 * (16), 16-bit copy (6). */
#define ADAM_WEIGHT_B  2.0
#define ADAM_UNFUSED_B 98.0
#define ADAM_STATE_B   12.0

/* What a kernel moves for each of its elements, and the share of the bandwidth it does it at. */
struct traffic {
    double bytes, share;
    double touched, near; /* bytes of an element in the cache at once; part of them: see above */
    double kernels;       /* of a fixed time each */
};

/* Of no use to the cache: tensors are too large, or the kernel waits for something else. */
static struct traffic streamed(double bytes, double share)
{
    return (struct traffic){bytes, share, 0, 0, 1};
}

/* A pass: the tensor is read and written once. The efficiency is in the number of passes. Backward
 * the input comes from memory; of three tensors two are near. Framework operators write what they
 * work out in 32 bit. */
static struct traffic norm(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                           bool backward)
{
    const bool fused = kernel->variant == TY_FUSED;
    const double passes = fused ? gpu->norm_passes / kernel->speed : gpu->norm_passes_unfused;
    const double tensor_B = fused ? e : 4;
    return backward ? (struct traffic){NORM_BACKWARD * passes * 2 * e, 1, 3 * tensor_B, 2.0 / 3,
                                       NORM_BACKWARD}
                    : (struct traffic){passes * 2 * e, 1, 2 * tensor_B, 1, 1};
}

/* Forward: two read, one written; with dropout the mask is written in the same kernel. Backward:
 * the branch's gradient joins the trunk's; dropout reads gradient and mask and writes one. */
static struct traffic residual(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                               bool backward)
{
    const double masked = backward ? 2 * e + 1 : 1;
    return (struct traffic){3 * e + (kernel->dropout ? masked : 0), gpu->add_efficiency, 3 * e, 1,
                            1};
}

/* Queries and keys are read and written, forward and backward. */
static struct traffic rotary(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e)
{
    return kernel->variant == TY_FUSED
               ? streamed(2 * e, gpu->rope_efficiency)
               : (struct traffic){ROPE_UNFUSED * e, gpu->add_efficiency, 2 * e, 1, 1};
}

/* Tensors that the activation reads and writes. In one kernel SwiGLU reads gate and up and writes
 * the product; as two, silu(gate) is written and read again. Backward, besides the inputs the
 * output's gradient is read and each input's gradient written; as two kernels: the product reads
 * three and writes two, silu reads two and writes one. GELU is one kernel; biases are fused. */
static struct traffic activation(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                                 bool backward)
{
    static const struct {
        double forward, backward;
    } tensors[] = {[TY_ACTIVATION_GELU] = {2, 3},
                   [TY_ACTIVATION_SWIGLU] = {3, 5},
                   [TY_ACTIVATION_SWIGLU_REMADE] = {3, 6},
                   [TY_ACTIVATION_SWIGLU_UNFUSED] = {5, 8}};
    const double n =
        backward ? tensors[kernel->variant].backward : tensors[kernel->variant].forward;
    return streamed(n * e, gpu->activation_efficiency);
}

/* Forward: rows are read and written; with dropout a mask too. Backward: the gradient is read, rows
 * of the table's gradient are read and written. */
static struct traffic embedding(const struct ty_kernel *kernel, double e, bool backward)
{
    return streamed((backward ? 3 : 2) * e + (kernel->dropout ? 1 : 0), EMBEDDING_SHARE);
}

/* A partial output is added to what other keys gave, in 32 bit, each by its weight; going backward
 * partial gradients of queries, keys and values are. */
static struct traffic merge(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                            bool backward)
{
    const double forward = e + (kernel->variant == TY_FUSED ? MERGE_B : MERGE_UNFUSED_B);
    return streamed(backward ? kernel->gradients * (e + MERGE_B) : forward, gpu->add_efficiency);
}

/* Of an element of a row that is moved; the token's own is read or written once for all of them.
 * Going backward the way is the other one. */
static struct traffic permute(const struct ty_kernel *kernel, double e, bool backward)
{
    const struct ty_permute *x = &kernel->permute;
    const bool to_experts = (kernel->op == TY_OPERATOR_PERMUTE) != backward;
    const double element_B = to_experts && x->expert_B > 0 ? x->expert_B : e;
    const double fused = to_experts ? PERMUTE_SHARE : UNPERMUTE_SHARE;
    const double tokens = x->rows > 0 ? x->tokens / x->rows : 0; /* of a row */
    return streamed((1 + tokens) * element_B,
                    kernel->variant == TY_FUSED ? fused : PERMUTE_UNFUSED_SHARE);
}

static struct traffic router(const struct ty_kernel *kernel, bool backward)
{
    const double bytes = kernel->variant == TY_FUSED ? ROUTER_B : ROUTER_UNFUSED_B;
    return streamed((backward ? ROUTER_BACKWARD : 1) * bytes, 1);
}

static struct traffic cast(const struct ty_gpu *gpu, const struct ty_kernel *kernel, double e,
                           bool backward)
{
    const double bytes[] = {[TY_CAST_QUANTIZE] = e + TY_FP8_B,
                            [TY_CAST_BOTH] = e + 2 * TY_FP8_B,
                            [TY_CAST_TRANSPOSE] = 2 * TY_FP8_B,
                            [TY_CAST_DEQUANTIZE] = TY_FP8_B + e,
                            [TY_CAST_AMAX] = e};
    const double times = backward ? kernel->gradients : 1;
    struct traffic traffic = streamed(times * bytes[kernel->variant], gpu->activation_efficiency);
    traffic.kernels = times > 0; /* of weights nothing is cast going backward */
    return traffic;
}

/* With sharded logits, or of framework operators. */
static struct traffic loss(const struct ty_kernel *kernel, bool backward)
{
    const bool apart = kernel->variant == TY_UNFUSED;
    const double forward = apart ? LOSS_UNFUSED_FORWARD_B : LOSS_FORWARD_B;
    const double back = apart ? LOSS_UNFUSED_BACKWARD_B : LOSS_BACKWARD_B;
    return streamed(backward ? back : forward, LOSS_SHARE);
}

static struct traffic traffic_of(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                 bool backward)
{
    const double e = ty_dtype_bytes((enum ty_dtype)kernel->dtype);
    switch (kernel->op) {
    case TY_OPERATOR_NORM:
        return norm(gpu, kernel, e, backward);
    case TY_OPERATOR_RESIDUAL:
        return residual(gpu, kernel, e, backward);
    case TY_OPERATOR_ROTARY:
        return rotary(gpu, kernel, e);
    case TY_OPERATOR_ACTIVATION:
        return activation(gpu, kernel, e, backward);
    case TY_OPERATOR_MERGE:
        return merge(gpu, kernel, e, backward);
    case TY_OPERATOR_EMBEDDING:
        return embedding(kernel, e, backward);
    case TY_OPERATOR_PERMUTE:
    case TY_OPERATOR_UNPERMUTE:
        return permute(kernel, e, backward);
    case TY_OPERATOR_ROUTER:
        return router(kernel, backward);
    case TY_OPERATOR_CAST:
        return cast(gpu, kernel, e, backward);
    default:
        return loss(kernel, backward);
    }
}

/* Share of a kernel's bytes that the L2 cache serves: none by one that is slower than memory. */
static double hits(const struct ty_gpu *gpu, const struct traffic *traffic, double elements)
{
    if (gpu->l2 <= 0 || gpu->l2_bandwidth <= gpu->memory_bandwidth) {
        return 0;
    }
    const double full = traffic->touched * elements / gpu->l2;
    return traffic->near / (1 + full * full);
}

static double modelled(const struct ty_gpu *gpu, const struct traffic *traffic, double elements)
{
    const double hit = hits(gpu, traffic, elements);
    const double cached = hit > 0 ? hit / gpu->l2_bandwidth : 0;
    return traffic->bytes * elements / traffic->share *
               ((1 - hit) / gpu->memory_bandwidth + cached) +
           traffic->kernels * gpu->kernel_overhead;
}

/* A kernel over so many elements as the GPU's table has it, else by the model; beyond the sizes of
 * the table, as many times the nearest as the model says. */
static struct ty_cost measured_or_modelled(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                           enum ty_operator_role role,
                                           const struct traffic *traffic, double elements)
{
    const struct ty_operator_key key = {
        .op = kernel->op, .role = role, .dtype = kernel->dtype, .kernel = kernel->variant};
    const double model = modelled(gpu, traffic, elements);
    struct ty_operator_time measured;
    if (!ty_operators_find(gpu->operator_table, &key, elements, &measured)) {
        return (struct ty_cost){model, 0};
    }
    if (measured.at != elements) {
        measured.seconds *= model / modelled(gpu, traffic, measured.at);
    }
    return (struct ty_cost){measured.seconds, 0};
}

static double elements_of(const struct ty_kernel *kernel)
{
    const bool moves = kernel->op == TY_OPERATOR_PERMUTE || kernel->op == TY_OPERATOR_UNPERMUTE;
    return moves ? kernel->permute.rows * kernel->permute.width : kernel->elements;
}

static double elementwise_bytes(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const double elements = elements_of(kernel);
    return elements > 0 ? traffic_of(gpu, kernel, false).bytes * elements : 0;
}

static struct ty_cost elementwise_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                                       bool backward)
{
    const struct traffic traffic = traffic_of(gpu, kernel, backward);
    return measured_or_modelled(gpu, kernel, backward ? TY_ROLE_BACKWARD : TY_ROLE_FORWARD,
                                &traffic, elements_of(kernel));
}

/* Accumulation: a 16-bit result is read, the gradients of earlier micro-batches are read and their
 * sum written. */
static struct ty_cost update_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const struct ty_update *x = &kernel->update;
    const bool adam = kernel->op == TY_OPERATOR_OPTIMIZER;
    const double weight_B = x->in_place ? 2 * ADAM_WEIGHT_B : ADAM_WEIGHT_B;
    const double fused_B = 2 * x->state_B + weight_B + x->gradient_B;
    const double step_B =
        kernel->variant == TY_FUSED ? fused_B : ADAM_UNFUSED_B * x->state_B / ADAM_STATE_B;
    const struct traffic traffic = adam ? streamed(step_B, gpu->optimizer_efficiency)
                                        : streamed(2 + 2 * x->gradient_B, gpu->add_efficiency);
    return measured_or_modelled(gpu, kernel, adam ? TY_ROLE_STEP : TY_ROLE_WGRAD, &traffic,
                                x->params);
}

struct ty_cost ty_kernel_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction)
{
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return ty_matmul_cost(gpu, kernel, direction);
    case TY_OPERATOR_GROUPED:
        return ty_grouped_cost(gpu, kernel, direction);
    case TY_OPERATOR_ACCUMULATION:
    case TY_OPERATOR_OPTIMIZER:
        return update_cost(gpu, kernel);
    default:
        break;
    }
    if (direction == TY_WGRAD) {
        return (struct ty_cost){0, 0};
    }
    return kernel->op == TY_OPERATOR_ATTENTION
               ? ty_attention_cost(gpu, kernel, direction == TY_DGRAD)
               : elementwise_cost(gpu, kernel, direction == TY_DGRAD);
}

/* Queries and output, keys and values; scores where they go through memory are not counted. */
static double attention_bytes(const struct ty_attention_core *x, double e)
{
    const double queries = x->queries > 0 ? x->queries : x->tokens;
    const double both = x->head_dim + (x->value_dim > 0 ? x->value_dim : x->head_dim);
    return e * x->sequences * both * (queries * x->heads + x->tokens * x->kv_heads);
}

double ty_kernel_bytes(const struct ty_gpu *gpu, const struct ty_kernel *kernel)
{
    const double e = ty_dtype_bytes((enum ty_dtype)kernel->dtype);
    const struct ty_matmul *m = &kernel->matmul;
    const struct ty_grouped *g = &kernel->grouped;
    switch (kernel->op) {
    case TY_OPERATOR_MATMUL:
        return e * (m->rows * m->in + m->in * m->out + m->rows * m->out);
    case TY_OPERATOR_GROUPED:
        return e * (g->rows * g->in + g->groups * g->in * g->out + g->rows * g->out);
    case TY_OPERATOR_ATTENTION:
        return attention_bytes(&kernel->attention, e);
    default:
        return elementwise_bytes(gpu, kernel);
    }
}
