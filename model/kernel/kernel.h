/* kernel.h - a kernel as data, and the seconds and FLOPs it takes on one GPU.
 *
 * Whoever describes a model writes kernels down; what they cost is looked up here, in the GPU's
 * table of measured ones (operators.h) or in a model of each.
 * Times are those of kernel benchmarks: `derate` is for whoever puts kernels together. */
#ifndef TY_MODEL_KERNEL_H
#define TY_MODEL_KERNEL_H

#include "model/kernel/operators.h"

struct ty_cost {
    double seconds;
    double flops;  /* of matrix products, as the hardware executes them (causal attention: half) */
    double joules; /* beyond an active GPU's; of kernels in a step */
};

static inline struct ty_cost ty_cost_plus(struct ty_cost a, struct ty_cost b)
{
    return (struct ty_cost){a.seconds + b.seconds, a.flops + b.flops, a.joules + b.joules};
}

/* Takes `factor` times as long for the same work. */
static inline struct ty_cost ty_cost_times(struct ty_cost a, double factor)
{
    return (struct ty_cost){a.seconds * factor, a.flops, a.joules};
}

/* Which pass a kernel runs in. A kernel without weights does its whole backward for the input
 * gradient. */
enum ty_direction {
    TY_FORWARD,
    TY_DGRAD,
    TY_WGRAD
};

/* Bytes of an element in fp8, with a 32-bit scale for each 128 (DeepSeek-V3, section 3.3.2). */
#define TY_FP8_B (1 + 4 / 128.0)
/* In MXFP8, with a scale of 8 bits for each 32, it is as much. In NVFP4 an element has 4 bits, and
 * 16 have a scale of 8; the second scale is one of a tensor (arXiv 2509.25149). */
#define TY_FP4_B (0.5 + 1 / 16.0)

/* Bytes of an element in so many bits, with a 16-bit scale and zero for each 256 (Chen et al. 2021,
 * ActNN: groups of 256). */
#define TY_GROUP_BYTES(bits) ((bits) / 8.0 + 4 / 256.0)

/* rows x in, times in x out. */
struct ty_matmul {
    double rows, in, out;
};

/* Products with weights of their own on rows of their own: those of the experts that a rank has. */
struct ty_grouped {
    double groups;
    double rows; /* of all groups together */
    double in, out;
    const double *group_rows; /* [groups], borrowed; NULL: as many in each group */
    double sum_B;             /* of a weight's gradient when the product adds it to those of earlier
                   * micro-batches, as price.c finds; 0: it writes it only */
};

/* Rows of tokens in the order of experts, a row for each expert that a token goes to; unpermute is
 * the way back, a sum over a token's rows. */
struct ty_permute {
    double tokens, rows; /* on either side; the same: they are sorted only */
    double width;
    double expert_B; /* of an element on the way to the experts; 0: as the type has it */
};

struct ty_attention_core {
    double sequences, tokens; /* of a micro-batch; each sequence, of which keys and values are */
    double queries;           /* tokens of each that look at them; 0: all */
    double heads, kv_heads;   /* of this rank */
    double head_dim;          /* of queries and keys ... */
    double value_dim;         /* ... and of values; 0: the same */
    double window;            /* keys that a query sees; 0: all before it */
    bool full;                /* flash kernels compute the masked half too */
    bool narrow;              /* unfused: the softmax is in the type of the scores, not in 32 bit */
    bool fp8;                 /* flash: queries, keys and values are fp8 */
    bool unmasked; /* every query sees every key: a part of a sequence next to another one */
    bool chosen;   /* the keys of a window are anywhere, others for every query */
};

/* Which recurrence a scan works out, in chunks of tokens. */
enum ty_scan_rule {
    TY_SCAN_MAMBA2, /* Dao and Gu 2024, section 6 */
    TY_SCAN_DELTA,  /* gated delta rule (Yang et al. 2024b, section 3) */
    TY_SCAN_KDA,    /* the same with a decay for each channel of keys (arXiv 2510.26692) */
    TY_SCAN_LINEAR, /* linear attention with a fixed decay (Qin et al. 2024, Lightning Attention) */
    TY_SCAN_SELECTIVE, /* Mamba-1 (Gu and Dao 2023), token by token */
    TY_SCAN_RWKV,      /* the generalised delta rule (Peng et al. 2025, RWKV-7) */
    TY_N_SCAN_RULES
};

/* Layers that keep a state of key x value for each head. */
struct ty_scan {
    double sequences, tokens;
    double heads, groups; /* of this rank; those that have keys and queries of their own */
    double key, value;    /* widths */
    double chunk;         /* tokens */
};

/* An indexer: of the keys before it a query keeps those whose scores are largest, and these scores
 * learn the weights that heads of attention give to such keys. */
struct ty_index {
    double sequences, tokens;       /* of keys */
    double queries;                 /* of each sequence; 0: all */
    double heads, width, chosen;    /* of the indexer; keys that a query keeps */
    double teachers, teacher_width; /* heads of attention on this rank; of their keys */
};

struct ty_update {
    double params;     /* of this rank */
    double gradient_B; /* bytes of a gradient that is kept */
    double step_B;     /* optimizer: bytes a step moves for a parameter */
};

/* What one rank works on in one micro-batch. */
struct ty_kernel {
    enum ty_operator op;
    int dtype;    /* enum ty_dtype of what it reads; accumulation, optimizer: of kept gradients */
    int variant;  /* which implementation: `kernel` of struct ty_operator_key */
    bool dropout; /* attention, residual, embedding: it makes and applies masks */
    bool mx;      /* matmul, grouped, attention: operands have a scale for 32 elements */
    double speed; /* norm: over the GPU's own, where it is fused */
    double gradients; /* merge, cast: elements of the backward pass, for each of the forward;
                       * convolution: times that it is made again there */
    union {
        struct ty_matmul matmul;
        struct ty_grouped grouped;
        struct ty_permute permute; /* permute, unpermute */
        struct ty_attention_core attention;
        struct ty_scan scan;
        struct ty_index index;
        struct ty_update update; /* accumulation, optimizer */
        double elements;         /* the others; router: scores, one for a token and an expert */
    };
};

static inline bool ty_kernel_is_product(const struct ty_kernel *kernel)
{
    return kernel->op == TY_OPERATOR_MATMUL || kernel->op == TY_OPERATOR_GROUPED;
}

/* Seconds on an idle GPU: as measured, where the GPU's table has it, else by the model. Zero for a
 * weight gradient of what has no weights. Optimizer and accumulation: TY_WGRAD. */
struct ty_cost ty_kernel_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              enum ty_direction direction);

/* Bytes that the forward of a kernel has to read and write at least: each tensor once. */
double ty_kernel_bytes(const struct ty_gpu *gpu, const struct ty_kernel *kernel);

/* What a kernel in a step draws beyond an active GPU, J: its FLOPs by type and its bytes, up to
 * what the board may. */
double ty_kernel_joules(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                        enum ty_direction direction, const struct ty_cost *cost);

/* Share of its full rate that a flash kernel reaches with x heads of 4096 tokens on the GPU
 * (x = sequences heads s / 4096); 1 at 64 and above. */
double ty_attention_occupancy(double x, bool backward);

#endif
