/* test_alpa.c - plans that Alpa found for GPT on its machine, beside those of the chain program.
 *
 * Costs are the simulator's: GPUs of a stage, part of a node or so many nodes, execute the whole
 * model in every scheme, and what a pass takes is split among its layers. Alpa's plans, layers and
 * GPUs of each stage, are those of its artifact for Zheng et al., OSDI 2022, section 8, Apache-2.0;
 * throughputs those of figure 7: eight V100 of 16 GB a node, 25 Gb/s between nodes, layers computed
 * again. Which GPUs of a stage share matrices is not published; the best way is taken. Scores are
 * normalised in 16 bit, as JAX does with what is given in 16 bit. */
#include <math.h>
#include <stdio.h>

#include "model/block/memory.h"
#include "sim/run/bill.h"
#include "sim/run/pass_times.h"
#include "sim/plan/chain.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SCHEMES_MAX 32u
#define STAGES_MAX  16u
#define NODE        8u
#define NIC_Bps     3.125e9 /* 25 Gb/s */
#define NVLINK_Bps                                                                                 \
    48e9 /* AWS: P3 instances, two links between most pairs: 2 x 25 GB/s, less headers */

struct alpa {
    const char *shape;
    double hidden;
    double pflops, within; /* of figure 7; by how much costs of its plan differ: kernels of V100 are
                            * guesses, without tiles, so that narrow products are too fast */
    double hidden_pflops;  /* that the figure's frame may hide of its bar */
    double
        off; /* by how much a simulation of what the program finds may differ: for 39B it has nine
                 * stages, each boundary between nodes, and 1F1B no slack for messages both ways */
    uint32_t layers, groups, gpus, micro_batches, n_stages; /* layers are cut in equal groups */
    struct {
        uint32_t groups, gpus;
    } stage[STAGES_MAX];
};

#define SAME4(l, g)                                                                                \
    {l, g}, {l, g}, {l, g},                                                                        \
    {                                                                                              \
        l, g                                                                                       \
    }
static const struct alpa plans[] = {
    {"hidden: 2048, layers: 24, heads: 32",
     2048,
     0.1615,
     0.12,
     0.03,
     0.04,
     24,
     6,
     4,
     128,
     2,
     {{3, 2}, {3, 2}}},
    {"hidden: 2560, layers: 32, heads: 32",
     2560,
     0.4743,
     0.05,
     0,
     0.04,
     32,
     8,
     8,
     128,
     3,
     {{2, 2}, {2, 2}, {4, 4}}},
    {"hidden: 4096, layers: 32, heads: 32",
     4096,
     0.9384,
     0.05,
     0,
     0.04,
     32,
     8,
     16,
     64,
     2,
     {{4, 8}, {4, 8}}},
    {"hidden: 5120, layers: 48, heads: 40",
     5120,
     1.8971,
     0.05,
     0,
     0.04,
     48,
     16,
     32,
     128,
     4,
     {SAME4(4, 8)}},
    {"hidden: 8192, layers: 48, heads: 64",
     8192,
     3.6327,
     0.14,
     0,
     0.11,
     48,
     16,
     64,
     1024,
     16,
     {SAME4(1, 4), SAME4(1, 4), SAME4(1, 4), SAME4(1, 4)}},
};

static uint32_t sequences(const struct alpa *a)
{
    return 1024 / a->micro_batches; /* of a micro-batch */
}

static struct quick_run execute(const struct alpa *a, uint32_t gpus, uint32_t batch,
                                const char *layout)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "cluster: {preset: dgx1-v100, nodes: %u, nics_per_node: 1, nic_bandwidth: 25 "
                   "Gb/s, memory: 15.78 GiB}\n"
                   "model: {preset: gpt3-2.7b, %s, vocabulary: 51200, sequence: 1024, dtype: fp16, "
                   "attention: unfused, "
                   "softmax_in_fp32: false, tied: false}\n"
                   "layout: {gpus: [0-%u], global_batch: %u, recompute: full, %s}\n"
                   "framework: {overlap_p2p: true}\n",
                   (unsigned)((gpus + NODE - 1) / NODE), a->shape,
                   (unsigned)(gpus < NODE ? gpus : NODE) - 1, (unsigned)batch, layout);
    return quick_run(text, NULL, NULL);
}

/* ---- costs ---- */

/* Of a layer and the ends of the model in a scheme. */
struct costs {
    uint32_t tensor, data;
    double layer_s, ends_s; /* of a micro-batch */
    double kept_B, brief_B, loss_B, states_B, embedding_B, head_B, room_B;
};

struct machine {
    const struct alpa *plan;
    struct ty_chain_scheme scheme[SCHEMES_MAX];
    struct costs costs[SCHEMES_MAX];
    uint32_t n;
};

static double states(const struct quick_run *q, enum ty_unit_kind unit)
{
    const double params = ty_unit_params(&q->run->lowered.units->kind[unit]);
    const struct ty_state_bytes x = ty_memory_states(&q->config->layout, params, 0);
    return x.weights + x.grads + x.optimizer;
}

static void price(struct machine *m, uint32_t gpus, uint32_t tensor)
{
    const struct alpa *a = m->plan;
    const uint32_t data = gpus / tensor, batch = sequences(a);
    char layout[96];
    double work[1], layer[64];
    if (batch % data != 0) {
        return;
    }
    (void)snprintf(layout, sizeof(layout), "tensor: %u, micro_batch: %u, zero: %d",
                   (unsigned)tensor, (unsigned)(batch / data), data > 1 ? 1 : 0);
    struct quick_run q = execute(a, gpus, 2 * batch, layout);
    struct ty_tensors tensors;
    struct costs *c = &m->costs[m->n];
    ty_memory_tensors(q.run->lowered.units, &tensors);
    ty_layer_work(q.run, work, layer);
    const double passes = 2 * (work[0] + a->layers * layer[1]);
    /* what a step has beside its passes, optimizer and gradients, is shared by all of them */
    const double rest = (q.figures.step_s - passes) / a->layers / a->micro_batches;
    *c = (struct costs){.tensor = tensor,
                        .data = data,
                        .layer_s = layer[1] + rest,
                        .ends_s = work[0],
                        .kept_B = ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_KEPT),
                        .brief_B = ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_BACKWARD) +
                                   ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_RECOMPUTED),
                        .loss_B = ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_LOSS_BACKWARD) +
                                  ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_KEPT),
                        .states_B = states(&q, TY_UNIT_LAYER),
                        .embedding_B = states(&q, TY_UNIT_EMBEDDING),
                        .head_B = states(&q, TY_UNIT_HEAD),
                        .room_B = ty_run_capacity(q.run, 0) -
                                  q.run->lowered.program.gangs[0].static_B[TY_MEM_ACTIVATIONS]};
    m->scheme[m->n++].devices = gpus;
    quick_run_free(&q);
}

/* Shapes: 1, 2, 4 or 8 GPUs of a node, or whole nodes. Matrices are shared inside a node. */
static void price_all(struct machine *m)
{
    for (uint32_t gpus = 1; gpus <= m->plan->gpus; gpus = gpus < NODE ? 2 * gpus : gpus + NODE) {
        for (uint32_t tensor = 1; tensor <= gpus && tensor <= NODE; tensor *= 2) {
            if (gpus % tensor == 0 && m->n < SCHEMES_MAX) {
                price(m, gpus, tensor);
            }
        }
    }
}

static double stage(const void *arg, uint32_t from, uint32_t to, uint32_t scheme, uint32_t behind)
{
    const struct machine *m = arg;
    const struct costs *c = &m->costs[scheme];
    const bool first = from == 0, last = to == m->plan->groups;
    const uint32_t layers = (to - from) * (m->plan->layers / m->plan->groups);
    const double bytes = layers * (c->states_B + behind * c->kept_B) +
                         (first ? c->embedding_B : 0) + (last ? c->head_B : 0) +
                         fmax(c->brief_B, last ? c->loss_B : 0);
    return bytes > c->room_B ? HUGE_VAL : layers * c->layer_s + (last ? c->ends_s : 0);
}

/* Every GPU sends its slice, and those behind gather the whole, which is hidden: hidden states
 * forward, gradients backward, over the thinner end. */
static double between(const void *arg, uint32_t at, uint32_t used, uint32_t before, uint32_t after)
{
    const struct machine *m = arg;
    const double bytes = 2 * 2.0 * sequences(m->plan) * 1024 * m->plan->hidden;
    const uint32_t a = m->scheme[before].devices, b = m->scheme[after].devices;
    const uint32_t fewer = a < b ? a : b, n = m->costs[before].data, k = m->costs[after].data;
    (void)at;
    if ((a % b != 0 && b % a != 0) || (n % k != 0 && k % n != 0) ||
        used % (b < NODE ? b : NODE) != 0) {
        return HUGE_VAL; /* slices do not fit, or a part of a node lies across two */
    }
    return used % NODE == 0 ? bytes / (NIC_Bps * fmax(1, fewer / NODE))
                            : bytes / (NVLINK_Bps * fewer);
}

/* ---- plans ---- */

/* Alpa's layers and GPUs, in the best schemes; *scheme: which. */
static double of_alpa(const struct machine *m, uint32_t scheme[STAGES_MAX])
{
    const struct alpa *a = m->plan;
    double most = 0, sum = 0;
    uint32_t from = 0;
    for (uint32_t s = 0; s < a->n_stages; s++) {
        double least = HUGE_VAL;
        for (uint32_t k = 0; k < m->n; k++) {
            const double w = m->scheme[k].devices == a->stage[s].gpus
                                 ? stage(m, from, from + a->stage[s].groups, k, a->n_stages - s)
                                 : HUGE_VAL;
            if (w < least) {
                least = w;
                scheme[s] = k;
            }
        }
        from += a->stage[s].groups;
        most = fmax(most, least);
        sum += least;
    }
    for (uint32_t s = 1, used = 0; s < a->n_stages; s++) {
        used += a->stage[s - 1].gpus;
        sum += between(m, 0, used, scheme[s - 1], scheme[s]);
    }
    return (a->micro_batches - 1) * most + sum;
}

static uint32_t put(char *list, uint32_t at, size_t size, uint32_t stage, uint32_t number)
{
    return at +
           (uint32_t)snprintf(list + at, size - at, "%s%u", stage > 0 ? "," : "", (unsigned)number);
}

/* Seconds of a plan that is simulated in full, its stages of different shape: it takes as long as
 * it was said to. */
static double simulate(const struct machine *m, const struct ty_chain_stage *stages, uint32_t n,
                       double expected, double within)
{
    char layout[512], layers[128], tensor[128], data[128];
    for (uint32_t s = 0, a = 0, b = 0, c = 0; s < n; s++) {
        const struct costs *own = &m->costs[stages[s].scheme];
        a = put(layers, a, sizeof(layers), s, stages[s].layers * m->plan->layers / m->plan->groups);
        b = put(tensor, b, sizeof(tensor), s, own->tensor);
        c = put(data, c, sizeof(data), s, own->data);
    }
    (void)snprintf(layout, sizeof(layout),
                   "pipeline: %u, micro_batch: %u, zero: 1, stage_layers: [%s], "
                   "stage_tensor: [%s], stage_data: [%s]",
                   (unsigned)n, (unsigned)(sequences(m->plan) / m->costs[stages[0].scheme].data),
                   layers, tensor, data);
    struct quick_run q = execute(m->plan, m->plan->gpus, 1024, layout);
    const double step_s = q.figures.step_s;
    ck_assert_double_eq_tol(step_s, expected, within * expected);
    quick_run_free(&q);
    return step_s;
}

/* As Alpa counts them: of matrices and attention, those of layers twice forward. */
static double flops(const struct alpa *a)
{
    const double h = a->hidden, tokens = 1024.0 * 1024;
    return tokens * h * (96 * a->layers * h * (1 + 1024 / (6 * h)) + 6 * 51200);
}

TEST(alpas_plans_are_found_or_beaten)
{
    for (size_t i = 0; i < TY_COUNT(plans); i++) {
        const struct alpa *a = &plans[i];
        struct machine m = {.plan = a};
        struct ty_arena arena = {.head = NULL};
        struct ty_chain_result found;
        struct ty_chain_stage as[STAGES_MAX];
        uint32_t scheme[STAGES_MAX] = {0};
        price_all(&m);
        const struct ty_chain chain = {.n_layers = a->groups,
                                       .n_devices = a->gpus,
                                       .n_stages = STAGES_MAX,
                                       .scheme = m.scheme,
                                       .n_schemes = m.n,
                                       .rounds = a->micro_batches - 1,
                                       .stage = stage,
                                       .between = between,
                                       .arg = &m};
        ck_assert_int_eq(ty_chain(&chain, &found, &arena), 0);
        const double alpa = of_alpa(&m, scheme), best = chain.rounds * found.most + found.sum;
        ck_assert(found.fits);
        ck_assert_double_le(best, alpa * (1 + 1e-9));
        ck_assert_double_gt(best, 0.94 * alpa);
        const double pflops = flops(a) / alpa / 1e15;
        ck_assert_double_ge(pflops, (1 - a->within) * a->pflops);
        ck_assert_double_le(pflops, (1 + a->within) * (a->pflops + a->hidden_pflops));
        for (uint32_t s = 0; s < a->n_stages; s++) {
            as[s] = (struct ty_chain_stage){a->stage[s].groups, scheme[s]};
        }
        const double own = simulate(&m, found.stage, found.n_stages, best, a->off);
        ck_assert_double_le(own, (1.01 + a->off) * simulate(&m, as, a->n_stages, alpa, 0.04));
        ty_arena_release(&arena);
    }
}

TY_SUITE("alpa")
