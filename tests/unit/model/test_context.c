/* test_context.c - ranks that share a sequence. Figures: heads of Llama-3-8B, 131072 tokens, 8
 * ranks; K: bytes of the keys on a rank, A: of the queries. */
#include <string.h>

#include "model/parallel.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define K         33554432.0
#define A         134217728.0
#define CONTEXT   8u

static const char eight[] = "cluster: {preset: dgx-h100, nodes: 1}\n"
                            "model: {preset: llama3-8b, sequence: 131072, layers: 2}\n"
                            "layout: {context: 8, global_batch: 1}\n"
                            "framework: {preset: ideal}\n";

static const char *const methods[] = {"layout.context_method=zigzag", "layout.context_method=ring",
                                      "layout.context_method=all-gather",
                                      "layout.context_method=ulysses",
                                      "layout.context_method=hybrid"};

/* The operator in which ranks of a sequence meet. */
static const struct ty_unit_op *core_of(const struct quick_run *q)
{
    const struct ty_unit_ops *layer = &q->run->lowered.units->kind[TY_UNIT_LAYER];
    for (uint32_t i = 0; i < layer->n; i++) {
        if (layer->op[i].kernel[0].op == TY_OPERATOR_ATTENTION) {
            return &layer->op[i];
        }
    }
    ck_abort_msg("no attention");
    return NULL;
}

/* ---- bytes ---- */

/* Of a layer, sent by one rank: what collectives before and after a pass say, and its rounds. */
static double sent_around(const struct ty_unit_op *op, enum ty_comm_place from,
                          enum ty_comm_place to, double ranks)
{
    double sum = 0;
    for (enum ty_comm_place place = from; place <= to; place++) {
        for (uint32_t i = 0; i < op->comms[place].n; i++) {
            const struct ty_op_comm *comm = &op->comms[place].item[i];
            sum += comm->times * comm->bytes * (ranks - 1) / ranks;
        }
    }
    return sum;
}

static double sent_in_rounds(const struct ty_op_rounds *r, bool back)
{
    if (r->n == 0) {
        return 0;
    }
    return back ? r->first_B + (r->n - 2.0) * r->middle_B + r->last_B : (r->n - 1.0) * r->forward_B;
}

TEST(methods_send_what_the_formulas_say)
{
    static const struct {
        const char *method, *inner;
        double around, forward, backward; /* ranks of the collectives; bytes */
    } rows[] = {
        {"layout.context_method=zigzag", NULL, 1, 2 * K * 7, 4 * K * 7},
        {"layout.context_method=ring", NULL, 1, 2 * K * 7, 4 * K * 7},
        {"layout.context_method=all-gather", NULL, 8, 2 * K * 7, 4 * K * 7},
        {"layout.context_method=ulysses", NULL, 8, (2 * A + 2 * K) * 7 / 8,
         (2 * A + 2 * K) * 7 / 8},
        {"layout.context_method=hybrid", "layout.context_inner=4", 4,
         (2 * A + 2 * K) * 3 / 4 + 2 * K, (2 * A + 2 * K) * 3 / 4 + 4 * K},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q = quick_run(eight, NULL, SETS(rows[i].method, rows[i].inner));
        const struct ty_unit_op *op = core_of(&q);
        const double forward =
            sent_around(op, TY_BEFORE_FORWARD, TY_AFTER_FORWARD, rows[i].around) +
            sent_in_rounds(&op->rounds, false);
        const double backward = sent_around(op, TY_BEFORE_DGRAD, TY_AFTER_DGRAD, rows[i].around) +
                                sent_in_rounds(&op->rounds, true);
        ck_assert_double_eq(forward, rows[i].forward);
        ck_assert_double_eq(backward, rows[i].backward);
        const double all = quick_run_traffic(&q, "cp") + quick_run_traffic(&q, "cp heads") +
                           quick_run_traffic(&q, "cp ring");
        ck_assert_double_eq_tol(all, CONTEXT * 2 * (forward + backward), 1e-6 * all);
        quick_run_free(&q);
    }
}

/* ---- work ---- */

static double attention_flops(const struct quick_run *q, enum ty_category category, bool *equal)
{
    const struct ty_program *p = &q->run->lowered.program;
    double sum = 0;
    *equal = true;
    for (uint32_t i = 0; i < p->n_passes; i++) {
        const struct ty_block *block = &p->blocks[p->passes[i].block];
        for (uint32_t k = 0; k < block->n_ops; k++) {
            const struct ty_kind *kind = &p->kinds[ty_pass_ops(p, &p->passes[i])[k].kind];
            if (kind->category == category && strstr(kind->name, "attention core") != NULL) {
                sum += kind->flops;
                *equal = *equal && kind->dur_of == NULL;
            }
        }
    }
    return sum * p->n_ranks;
}

/* 2 b s^2 a d, and 2.5 times that, whoever does it. */
TEST(methods_share_the_work_of_a_sequence)
{
    const double s = 131072, whole = 2 * s * s * 32 * 128 * 2;
    for (size_t i = 0; i < TY_COUNT(methods); i++) {
        struct quick_run q = quick_run(eight, NULL, SETS(methods[i]));
        bool equal;
        ck_assert_double_eq_tol(attention_flops(&q, TY_CAT_FORWARD, &equal), whole, 1e-9 * whole);
        ck_assert_msg(equal == (i != 1), "%s", methods[i]);
        ck_assert_double_eq_tol(attention_flops(&q, TY_CAT_BACKWARD, &equal), 2.5 * whole,
                                1e-8 * whole);
        quick_run_free(&q);
    }
}

/* The last rank of a plain ring has 2 n - 1 half squares where the mean is n, and all wait. */
TEST(a_plain_ring_waits_for_its_last_rank)
{
    static const char *const degree[] = {"layout.context=2", "layout.context=4",
                                         "layout.context=8"};
    for (uint32_t i = 0; i < TY_COUNT(degree); i++) {
        const double n = 2u << i;
        const char *const fast[] = {degree[i],
                                    "cluster.nvlink_overlap_slowdown=0",
                                    "cluster.nvlink_bandwidth=90 TB/s",
                                    "layout.global_batch=4",
                                    methods[1],
                                    NULL};
        struct quick_run ring = quick_run(eight, "sweep", fast);
        const struct ty_unit_op *op = core_of(&ring);
        struct ty_unit_costs costs;
        ty_unit_price(&ring.run->lowered.units->kind[TY_UNIT_LAYER], &ring.config->layout,
                      &ring.config->cluster.gpu, &costs);
        const uint32_t at = (uint32_t)(op - ring.run->lowered.units->kind[TY_UNIT_LAYER].op);
        ck_assert_double_eq_tol(costs.op[at].forward.flops / costs.first[at].forward.flops / n,
                                (2 * n - 1) / n, 1e-12);
        /* in time, too, but for what merging takes */
        const double waited = ring.figures.bucket_s[TY_BUCKET_EXPOSED_CONTEXT];
        const double mine = ring.figures.step_s - waited;
        ck_assert_double_gt(waited, 0.15 * mine);
        quick_run_free(&ring);
    }
}

/* ---- overlap ---- */

/* Messages are hidden behind a round once the tokens of a rank are many: then nothing is gained by
 * faster links. */
TEST(hidden_messages_cost_nothing)
{
    const char *const plain[] = {"cluster.nvlink_overlap_slowdown=0", NULL};
    const char *const fast[] = {"cluster.nvlink_overlap_slowdown=0",
                                "cluster.nvlink_bandwidth=900 GB/s", NULL};
    struct quick_run a = quick_run(eight, "sweep", plain), b = quick_run(eight, "sweep", fast);
    ck_assert_double_eq(a.figures.bucket_s[TY_BUCKET_EXPOSED_CONTEXT], 0);
    const double gradients =
        a.figures.bucket_s[TY_BUCKET_EXPOSED_DATA] - b.figures.bucket_s[TY_BUCKET_EXPOSED_DATA];
    ck_assert_double_eq_tol(a.figures.step_s, b.figures.step_s + gradients, 1e-9);
    const char *const slow[] = {"cluster.nvlink_overlap_slowdown=0",
                                "cluster.nvlink_bandwidth=9 GB/s", NULL};
    struct quick_run c = quick_run(eight, "sweep", slow);
    ck_assert_double_gt(c.figures.bucket_s[TY_BUCKET_EXPOSED_CONTEXT], 0);
    quick_run_free(&a);
    quick_run_free(&b);
    quick_run_free(&c);
}

/* Both executors, every method, with tensor and pipeline ranks, sharded weights, recomputation and
 * a split backward: the same times, and buckets that add up. */
TEST(methods_go_with_other_kinds)
{
    static const char *const with[] = {"layout.tensor=2", "layout.pipeline=2", "layout.zero=3",
                                       "layout.recompute=selective", "schedule.name=zb-1p"};
    for (size_t i = 0; i < TY_COUNT(methods) * TY_COUNT(with); i++) {
        const char *const sets[] = {
            methods[i / TY_COUNT(with)], with[i % TY_COUNT(with)],        "layout.context=4",
            "layout.global_batch=4",     "layout.sequence_parallel=true", NULL};
        quick_run_demand_same(eight, sets);
    }
}

/* What a computation waits for, all at once: the message before it, tensor ranks, parameters that
 * are gathered, gradients that are reduced. */
TEST(everything_can_be_waited_for)
{
    static const char *const recompute[] = {"layout.recompute=none", "layout.recompute=selective",
                                            "layout.recompute=full"};
    for (size_t i = 0; i < TY_COUNT(methods) * TY_COUNT(recompute); i++) {
        const char *const sets[] = {methods[i % TY_COUNT(methods)],
                                    recompute[i / TY_COUNT(methods)],
                                    "layout.tensor=2",
                                    "layout.context=2",
                                    "layout.zero=3",
                                    "layout.global_batch=4",
                                    "framework.preset=fsdp",
                                    NULL};
        struct quick_run q = quick_run(eight, NULL, sets);
        ck_assert_double_gt(q.figures.step_s, 0);
        quick_run_free(&q);
    }
}

/* Kernels that compute masked scores leave out no round: the same work as in any other method. */
TEST(full_kernels_have_whole_rounds)
{
    double flops[TY_COUNT(methods)];
    for (size_t i = 0; i < TY_COUNT(methods); i++) {
        struct quick_run q = quick_run(eight, NULL, SETS(methods[i], "model.full_attention=true"));
        bool equal;
        flops[i] = attention_flops(&q, TY_CAT_FORWARD, &equal);
        ck_assert(equal);
        ck_assert_double_eq_tol(flops[i], flops[0], 1e-9 * flops[0]);
        quick_run_free(&q);
    }
}

/* What messages slow beside them, estimated beforehand, is what comes out when it is simulated,
 * also where GPUs differ and a ring leaves some without work. */
TEST(estimated_slowdowns_are_those_of_the_simulation)
{
    static const char two[] = "cluster: {preset: dgx-h100, nodes: 2}\n"
                              "model: {preset: llama3-8b, sequence: 131072, layers: 2}\n"
                              "layout: {context: 16, global_batch: 1}\n"
                              "framework: {preset: ideal}\n";
    static const char *const other[] = {"run.seed=1",
                                        "cluster.exceptions=[nodes 0 with a100-sxm-80g]"};
    for (size_t i = 0; i < 2 * TY_COUNT(other); i++) {
        const char *const sets[] = {methods[i % 2], other[i / 2], NULL};
        struct quick_run a = quick_run(two, "events", sets), b = quick_run(two, NULL, sets);
        ck_assert_double_eq_tol(a.figures.step_s, b.figures.step_s, 0.005 * b.figures.step_s);
        quick_run_free(&a);
        quick_run_free(&b);
    }
}

/* ---- groups and states ---- */

/* Lists the ranks of the group of rank 0: those that differ from it in the group's axes alone. */
static uint32_t group_of_rank_0(const struct ty_comm_span *span, uint32_t n_ranks, uint32_t *ranks)
{
    uint32_t n = 0;
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        uint32_t coord[TY_N_AXES];
        bool in = true;
        ty_grid_coords(&span->grid, rank, coord);
        for (unsigned axis = 0; axis < TY_N_AXES; axis++) {
            in = in && (coord[axis] == 0 || (span->dims >> axis & 1) != 0);
        }
        if (in) {
            ranks[n++] = rank;
        }
    }
    return n;
}

TEST(groups_are_those_of_megatron)
{
    const uint32_t size[TY_N_AXES] = {2, 2, 2, 2};
    const int order[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA, TY_AXIS_PIPELINE};
    const struct ty_layout layout = {
        .tensor = 2, .context = 2, .context_inner = 1, .data = 2, .pipeline = 2, .shard = 2};
    struct ty_grid grid;
    uint32_t ranks[16];
    ty_grid_init(&grid, size, order, 8);
    const struct ty_comm_span context = ty_comm_span(&layout, &grid, TY_GROUP_CONTEXT);
    ck_assert_uint_eq(group_of_rank_0(&context, 16, ranks), 2);
    ck_assert(ranks[0] == 0 && ranks[1] == 2);
    const struct ty_comm_span data = ty_comm_span(&layout, &grid, TY_GROUP_DATA);
    ck_assert_uint_eq(group_of_rank_0(&data, 16, ranks), 4);
    ck_assert(ranks[0] == 0 && ranks[1] == 2 && ranks[2] == 4 && ranks[3] == 6);
}

/* States are shared by data and context ranks alike. */
TEST(context_ranks_share_states)
{
    const char *const data[] = {"layout.zero=1", "layout.context=1", "layout.tensor=2",
                                "layout.global_batch=4", NULL};
    const char *const both[] = {"layout.zero=1", "layout.context=2", "layout.tensor=2",
                                "layout.global_batch=4", NULL};
    struct quick_run a = quick_run(eight, NULL, data), b = quick_run(eight, NULL, both);
    ck_assert_double_eq(a.run->lowered.stage[0].states.optimizer,
                        b.run->lowered.stage[0].states.optimizer);
    ck_assert_double_eq(quick_run_traffic(&a, "dp"), quick_run_traffic(&b, "dp"));
    quick_run_free(&a);
    quick_run_free(&b);
}

/* A rank alone with its sequences knows no method. */
TEST(one_context_rank_is_none)
{
    struct quick_run plain =
        quick_run(eight, NULL, SETS("layout.context=1", "layout.global_batch=8"));
    for (size_t i = 0; i < TY_COUNT(methods); i++) {
        struct quick_run q = quick_run(eight, NULL,
                                       SETS("layout.context=1", "layout.global_batch=8", methods[i],
                                            "layout.context_inner=2"));
        ck_assert_uint_eq(q.run->lowered.program.n_ops, plain.run->lowered.program.n_ops);
        ck_assert_double_eq(q.figures.step_s, plain.figures.step_s);
        quick_run_free(&q);
    }
    quick_run_free(&plain);
}

TY_SUITE("context")
