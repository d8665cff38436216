/* scan.c - recurrences over a sequence, worked out in chunks of tokens.
 *
 * A layer with a state S (key x value, for each head) decays it, adds k v^T for every token and
 * reads q S. Token by token that is no work for tensor cores; so a sequence is cut into chunks of c
 * tokens: within a chunk tokens look at each other as in attention, c x c scores, and across chunks
 * only states are handed on (Dao and Gu 2024, section 6; Yang et al. 2024).
 *
 * Implementations are a handful of kernels one after the other, the same ones in every one of its
 * layers. A row has what one of them does for each token: FLOPs over heads x key x value, over
 * scores (chunk x key) and over what they weigh (chunk x value), and bytes of an element of what it
 * reads and writes: values and gradients like them (heads x value), keys and queries (groups x
 * key), scores (groups x chunk), states (heads x key x value, one a chunk). Products and memory
 * work side by side in a kernel, and kernels follow each other. Those that go from chunk to chunk
 * have as many blocks as heads have columns of values, which may leave SMs idle. */
#include <math.h>

#include "model/kernel/kernel_internal.h"

/* Columns of values that a block of a sequential kernel has (flash-linear-attention: BV 64). */
#define BLOCK_COLUMNS 64.0

struct step {
    double state, scores, weighed;           /* FLOPs */
    double value_B, key_B, score_B, state_B; /* bytes, of a 16-bit type */
    bool sequential;
};

#define STEPS 12u
struct steps {
    struct step forward[STEPS], backward[STEPS]; /* up to one without bytes */
    bool by_head; /* every head has scores of its own, whoever shares keys */
    bool vector;  /* by no tensor core: at VECTOR_RATE of the peak in 32 bit */
};

/* One element of a state of Mamba-1 and one token: an exponential, which takes 16 FLOPs' time of an
 * SM (16 of them a clock, 256 FLOPs), and 7 FLOPs. Half of the peak: a guess. */
#define VECTOR_RATE 0.5

/* Mamba-2: mamba_ssm, ssd_combined.py and what it calls. States and scores are in 32 bit. */
static const struct steps rules[TY_N_SCAN_RULES] = {
    [TY_SCAN_MAMBA2] = {.forward = {{2, 0, 0, 2, 2, 0, 4, false},    /* states of chunks */
                                    {0, 0, 0, 0, 0, 0, 6, false},    /* handed on */
                                    {0, 2, 0, 0, 4, 4, 0, false},    /* scores, of B and C */
                                    {2, 0, 1, 6, 2, 4, 2, false}},   /* outputs, gated */
                        .backward = {{0, 0, 0, 8, 0, 0, 0, false},   /* of the gate */
                                     {2, 0, 0, 2, 2, 0, 4, false},   /* states again, */
                                     {0, 0, 0, 0, 0, 0, 8, false},   /* handed on, */
                                     {0, 2, 0, 0, 4, 4, 0, false},   /* and scores */
                                     {2, 0, 0, 2, 2, 0, 4, false},   /* gradients of states */
                                     {0, 0, 0, 0, 0, 0, 12, false},  /* handed back */
                                     {2, 0, 1, 8, 2, 4, 4, false},   /* of x */
                                     {2, 0, 0, 2, 6, 0, 4, false},   /* of B by states, */
                                     {2, 0, 0, 2, 6, 0, 4, false},   /* of C by states, */
                                     {0, 0, 1, 4, 0, 4, 0, false},   /* of scores, */
                                     {0, 0, 1, 4, 0, 4, 0, false},   /* of decays, */
                                     {0, 4, 0, 0, 12, 4, 0, false}}, /* of B and C by scores */
                        .by_head = false},
    /* Gated delta rule: flash-linear-attention, gated_delta_rule/chunk.py and what it calls. Keys
     * that queries share are repeated for each head; scores within a chunk are inverted. */
    [TY_SCAN_DELTA] = {.forward = {{0, 2, 0, 0, 2, 4, 0, false},   /* k k^T */
                                   {0, 0, 0, 0, 0, 6, 0, false},   /* its inverse */
                                   {0, 2, 2, 4, 4, 2, 0, false},   /* w and u of it */
                                   {4, 0, 0, 4, 4, 0, 2, true},    /* states, chunk by chunk */
                                   {2, 2, 2, 4, 4, 0, 2, false}},  /* outputs */
                       .backward = {{0, 2, 2, 4, 4, 2, 0, false},  /* w and u again, */
                                    {4, 0, 0, 4, 4, 0, 2, true},   /* and states */
                                    {0, 2, 2, 4, 4, 0, 0, false},  /* of values within chunks */
                                    {6, 0, 0, 6, 6, 0, 2, true},   /* of states, chunk by chunk */
                                    {6, 4, 2, 6, 14, 0, 4, false}, /* of q, k, w and decays */
                                    {0, 6, 4, 6, 8, 6, 0, false}}, /* of w, u and the inverse */
                       .by_head = true},
    /* Kimi delta attention: flash-linear-attention, kda/chunk.py and what it calls. Decays are as
     * wide as keys, in 32 bit. */
    [TY_SCAN_KDA] = {.forward = {{0, 0, 0, 0, 6, 0, 0, false},    /* decays, summed up */
                                 {0, 4, 0, 0, 8, 6, 0, false},    /* q k^T and k k^T */
                                 {0, 0, 0, 0, 0, 6, 0, false},    /* the inverse of it */
                                 {0, 2, 2, 4, 12, 2, 0, false},   /* w, u and decayed keys */
                                 {4, 0, 0, 4, 4, 0, 2, true},     /* states, chunk by chunk */
                                 {2, 0, 2, 4, 6, 2, 2, false}},   /* outputs */
                     .backward = {{0, 2, 2, 4, 12, 2, 0, false},  /* w and u again, */
                                  {4, 0, 0, 4, 4, 0, 2, true},    /* and states */
                                  {0, 0, 4, 6, 0, 4, 0, false},   /* of values within chunks */
                                  {6, 0, 0, 6, 6, 0, 2, true},    /* of states */
                                  {6, 2, 2, 10, 24, 4, 4, false}, /* of q, k, w and decays */
                                  {0, 8, 0, 0, 24, 8, 0, false},  /* of q and k in chunks */
                                  {0, 0, 0, 0, 10, 0, 0, false}}, /* of decays, summed up */
                     .by_head = true},
    /* Lightning attention 2 (MiniMax-01): blocks on the diagonal, states in 32 bit, summed up, and
     * what they give to the other blocks. */
    [TY_SCAN_LINEAR] = {.forward = {{0, 2, 2, 4, 4, 0, 0, false},
                                    {2, 0, 0, 2, 2, 0, 4, false},
                                    {0, 0, 0, 0, 0, 0, 8, false},
                                    {2, 0, 0, 4, 2, 0, 4, false}},
                        .backward = {{0, 6, 4, 6, 8, 0, 0, false}, /* within blocks */
                                     {2, 0, 0, 2, 2, 0, 4, false}, /* states again */
                                     {0, 0, 0, 0, 0, 0, 8, false},
                                     {2, 0, 0, 2, 4, 0, 4, false}, /* of q */
                                     {2, 0, 0, 2, 2, 0, 4, false}, /* of states, */
                                     {0, 0, 0, 0, 0, 0, 8, false},
                                     {4, 0, 0, 6, 6, 0, 4, false}}, /* of k and v */
                        .by_head = true},
    /* mamba_ssm, selective_scan: one kernel each way, which reads x, steps and gate and writes the
     * output twice; backward the states come again. */
    [TY_SCAN_SELECTIVE] = {.forward = {{23, 0, 0, 10, 4, 0, 0, false}},
                           .backward = {{60, 0, 0, 18, 12, 0, 0, false}},
                           .vector = true},
    /* RWKV-7: flash-linear-attention, generalized_delta_rule/dplr/chunk.py and its calls. Decays
     * are as wide as keys, in 32 bit; states lose a and gain b. Backward all is made again. */
    [TY_SCAN_RWKV] = {.forward = {{0, 0, 0, 0, 10, 0, 0, false},   /* decays, summed up */
                                  {0, 8, 0, 0, 24, 12, 0, false},  /* q and a with k and b */
                                  {0, 0, 0, 0, 0, 8, 0, false},    /* the inverse of a b^T */
                                  {0, 2, 4, 4, 4, 8, 0, false},    /* w and u of it */
                                  {6, 0, 0, 6, 6, 0, 2, true},     /* states, chunk by chunk */
                                  {2, 0, 4, 6, 2, 4, 2, false}},   /* outputs */
                      .backward = {{0, 0, 0, 0, 10, 0, 0, false},  /* decays, */
                                   {0, 8, 0, 0, 24, 12, 0, false}, /* scores, */
                                   {0, 0, 0, 0, 0, 8, 0, false},   /* their inverse, */
                                   {0, 2, 4, 4, 4, 8, 0, false},   /* w and u again, */
                                   {6, 0, 0, 6, 6, 0, 2, true},    /* and states */
                                   {0, 0, 6, 8, 0, 10, 0, false},  /* of values within chunks */
                                   {6, 0, 0, 6, 6, 0, 2, true},    /* of states */
                                   {2, 0, 2, 4, 2, 2, 2, false},   /* of v */
                                   {8, 0, 0, 8, 14, 0, 4, false},  /* of q, k, w and b by states */
                                   {0, 4, 6, 8, 6, 16, 0, false},  /* of w, u and the inverse */
                                   {0, 16, 0, 0, 36, 16, 0, false}}, /* of all in chunks */
                      .by_head = true},
};

static double share_of_sms(const struct ty_gpu *gpu, const struct ty_scan *x)
{
    const double blocks = x->sequences * x->heads * ceil(x->value / BLOCK_COLUMNS);
    return gpu->sms > 0 ? fmin(1, blocks / gpu->sms) : 1;
}

static double rate_of(const struct ty_gpu *gpu, const struct ty_kernel *kernel, bool vector)
{
    return vector ? gpu->peak[TY_DTYPE_FP32] * VECTOR_RATE
           : kernel->dtype == TY_DTYPE_FP32
               ? gpu->peak[TY_DTYPE_FP32] * gpu->scan_efficiency
               : fmax(gpu->peak[TY_DTYPE_BF16], gpu->peak[TY_DTYPE_FP16]) * gpu->scan_efficiency;
}

static struct ty_cost cost_of(const struct ty_gpu *gpu, const struct ty_kernel *kernel,
                              const struct step *step, const struct steps *rule)
{
    const struct ty_scan *x = &kernel->scan;
    const double groups = rule->by_head ? x->heads : x->groups,
                 e = kernel->dtype == TY_DTYPE_FP32 ? 2 : 1;
    const double tokens = x->sequences * x->tokens;
    const double state = x->heads * x->key * x->value;
    const double flops = tokens * (step->state * state + step->scores * groups * x->chunk * x->key +
                                   step->weighed * x->heads * x->chunk * x->value);
    const double bytes = tokens * e *
                         (step->value_B * x->heads * x->value + step->key_B * groups * x->key +
                          step->score_B * groups * x->chunk + step->state_B * state / x->chunk);
    const double sms = step->sequential ? share_of_sms(gpu, x) : 1;
    const double compute = flops / rate_of(gpu, kernel, rule->vector);
    const double memory = bytes / (gpu->memory_bandwidth * gpu->activation_efficiency);
    return (struct ty_cost){.seconds = fmax(compute, memory) / sms + gpu->kernel_overhead,
                            .flops = flops};
}

struct ty_cost ty_scan_cost(const struct ty_gpu *gpu, const struct ty_kernel *kernel, bool backward)
{
    const struct steps *rule = &rules[kernel->variant];
    const struct step *step = backward ? rule->backward : rule->forward;
    struct ty_cost sum = {0};
    for (uint32_t i = 0;
         i < STEPS && step[i].value_B + step[i].key_B + step[i].score_B + step[i].state_B > 0;
         i++) {
        sum = ty_cost_plus(sum, cost_of(gpu, kernel, &step[i], rule));
    }
    return sum;
}

double ty_scan_bytes(const struct ty_kernel *kernel)
{
    const struct ty_scan *x = &kernel->scan;
    const double e = ty_dtype_bytes((enum ty_dtype)kernel->dtype);
    return e * x->sequences * x->tokens * 2 * (x->heads * x->value + x->groups * x->key);
}
