/* elementwise.c - kernels whose time is the bytes they move.
 *
 *     seconds = bytes / (share of memory_bandwidth) + kernel_overhead
 *
 * Bytes are the ideal ones, each tensor read or written once; the share is measured per kernel
 * (microsoft/vidur, tensors above 50 MB). e: bytes of an element, T tokens of the micro-batch. */
#include "model/kernels_internal.h"

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
/* Norm: backward moves twice what forward does: reads output gradient, input and statistics, writes
 * the input gradient, and sums the parameters' gradients in a second kernel. */
#define NORM_BACKWARD 2.0
/* Reads and writes of a tensor when framework operators rotate it: x cos and x' sin (read, write
 * each), x' made by a negation and a concatenation (half read and written; read, write), their sum
 * (two reads, a write). */
#define ROPE_UNFUSED 10.0

static struct ty_cost moved(const struct ty_cluster *cluster, double bytes, double share)
{
    return (struct ty_cost){bytes / (cluster->memory_bandwidth * share) + cluster->kernel_overhead,
                            0};
}

struct ty_cost ty_measured_or(const struct ty_cluster *cluster, int op, int role, int dtype,
                              int kernel, double elements, struct ty_cost model)
{
    const struct ty_operator_key key = {.op = op, .role = role, .dtype = dtype, .kernel = kernel};
    const double fixed = cluster->kernel_overhead;
    struct ty_operator_time measured;
    if (!ty_operators_find(cluster->operator_table, &key, elements, &measured)) {
        return model;
    }
    if (measured.at != elements) {
        const double there = fixed + (model.seconds - fixed) * measured.at / elements;
        measured.seconds *= model.seconds / there;
    }
    model.seconds = measured.seconds;
    return model;
}

static int direction(bool backward)
{
    return backward ? TY_ROLE_BACKWARD : TY_ROLE_FORWARD;
}

static struct ty_cost norm_of(const struct ty_cluster *cluster, const struct ty_arch *arch,
                              const struct ty_shard *shard, double elements, bool backward)
{
    const double passes = arch->norm == TY_FUSED ? cluster->norm_passes / shard->norm_speed
                                                 : cluster->norm_passes_unfused;
    /* a pass: the tensor is read and written once */
    const struct ty_cost model = moved(cluster, passes * 2 * shard->element_B * elements, 1);
    return ty_measured_or(cluster, TY_OPERATOR_NORM, direction(backward), shard->dtype, arch->norm,
                          elements, ty_cost_times(model, backward ? NORM_BACKWARD : 1));
}

struct ty_cost ty_norm(const struct ty_cluster *cluster, const struct ty_arch *arch,
                       const struct ty_shard *shard, bool backward)
{
    return norm_of(cluster, arch, shard, shard->norm_tokens * arch->hidden, backward);
}

/* Of q and of k, a kernel each; nothing without model.qk_norm. */
struct ty_cost ty_head_norms(const struct ty_cluster *cluster, const struct ty_arch *arch,
                             const struct ty_shard *shard, bool backward)
{
    const double head = shard->tokens * arch->head_dim;
    if (!arch->qk_norm) {
        return (struct ty_cost){0, 0};
    }
    return ty_cost_plus(norm_of(cluster, arch, shard, shard->heads * head, backward),
                        norm_of(cluster, arch, shard, shard->kv * head, backward));
}

/* Forward: two read, one written; with dropout the mask is written in the same kernel. Backward:
 * the branch's gradient joins the trunk's; dropout reads gradient and mask and writes one. */
struct ty_cost ty_residual(const struct ty_cluster *cluster, const struct ty_arch *arch,
                           const struct ty_shard *shard, bool backward)
{
    const double masked = backward ? 2 * shard->element_B + 1 : 1;
    const double bytes = 3 * shard->element_B + (arch->dropout > 0 ? masked : 0);
    const double elements = shard->norm_tokens * arch->hidden;
    return ty_measured_or(cluster, TY_OPERATOR_RESIDUAL, direction(backward), shard->dtype,
                          TY_ANY_KERNEL, elements,
                          moved(cluster, bytes * elements, cluster->add_efficiency));
}

/* Queries and keys are read and written, forward and backward; none with learned positions. */
struct ty_cost ty_rope(const struct ty_cluster *cluster, const struct ty_arch *arch,
                       const struct ty_shard *shard, bool backward)
{
    const double elements = shard->tokens * (shard->heads + shard->kv) * arch->head_dim;
    const double tensors = shard->fused_rotary ? 2 : ROPE_UNFUSED;
    const double share = shard->fused_rotary ? cluster->rope_efficiency : cluster->add_efficiency;
    if (arch->positions > 0) {
        return (struct ty_cost){0, 0};
    }
    return ty_measured_or(cluster, TY_OPERATOR_ROTARY, direction(backward), shard->dtype,
                          shard->fused_rotary ? TY_FUSED : TY_UNFUSED, elements,
                          moved(cluster, tensors * shard->element_B * elements, share));
}

/* Tensors that the activation reads and writes. In one kernel SwiGLU reads gate and up and writes
 * the product; as two, silu(gate) is written and read again. Backward, besides the inputs the
 * output's gradient is read and each input's gradient written; as two kernels: the product reads
 * three and writes two, silu reads two and writes one. GELU is one kernel; biases are fused. */
struct ty_cost ty_activation(const struct ty_cluster *cluster, const struct ty_arch *arch,
                             const struct ty_shard *shard, bool backward)
{
    const bool one = shard->fused_activation;
    const double elements = shard->tokens * shard->ffn;
    int kernel = TY_ACTIVATION_GELU;
    double tensors = backward ? 3 : 2;
    if (arch->mlp == TY_MLP_SWIGLU) {
        kernel = one ? TY_ACTIVATION_SWIGLU : TY_ACTIVATION_SWIGLU_UNFUSED;
        tensors = backward ? (one ? 5 : 8) : (one ? 3 : 5);
    }
    return ty_measured_or(
        cluster, TY_OPERATOR_ACTIVATION, direction(backward), shard->dtype, kernel, elements,
        moved(cluster, tensors * shard->element_B * elements, cluster->activation_efficiency));
}

/* Forward: rows are read and written; with dropout a mask too. Backward: the gradient is read, rows
 * of the table's gradient are read and written. */
struct ty_cost ty_embedding(const struct ty_cluster *cluster, const struct ty_arch *arch,
                            const struct ty_shard *shard, bool backward)
{
    const double bytes = (backward ? 3 : 2) * shard->element_B + (arch->dropout > 0 ? 1 : 0);
    const double elements = shard->tokens * arch->hidden;
    return ty_measured_or(cluster, TY_OPERATOR_EMBEDDING, direction(backward), shard->dtype,
                          TY_ANY_KERNEL, elements,
                          moved(cluster, bytes * elements, EMBEDDING_SHARE));
}

struct ty_cost ty_cross_entropy(const struct ty_cluster *cluster, const struct ty_shard *shard,
                                bool backward)
{
    const double bytes = backward ? LOSS_BACKWARD_B : LOSS_FORWARD_B;
    const double elements = shard->tokens * shard->vocabulary;
    return ty_measured_or(cluster, TY_OPERATOR_CROSS_ENTROPY, direction(backward), shard->dtype,
                          TY_ANY_KERNEL, elements, moved(cluster, bytes * elements, LOSS_SHARE));
}
