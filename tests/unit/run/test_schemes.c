/* test_schemes.c - `explain` tries the tensor schemes that ranks allow: as fast as runs of their
 * own, with the bytes that the lists of operators say, and what to type for each. */
#include "sim/search/schemes.h"

#include <math.h>
#include <string.h>

#include "model/block/block.h"
#include "model/parallel/kinds.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char gpt[] = "cluster: {preset: dgx-a100-80g, nodes: 8}\n"
                          "model: {layers: 4, hidden: 4096, heads: 64, sequence: 1024,\n"
                          "  bias: false, vocabulary: 51200}\n"
                          "layout: {tensor: 64, micro_batch: 16, global_batch: 32}\n";

static struct ty_err err;

static void find(const struct quick_run *q, struct ty_schemes *all, struct ty_arena *arena)
{
    ck_assert_msg(ty_run_schemes(q->run, all, arena, &err) == 0, "%s", err.text);
}

static const struct ty_scheme *named(const struct ty_schemes *all, const char *name)
{
    for (uint32_t i = 0; i < all->n; i++) {
        if (strcmp(all->item[i].name, name) == 0) {
            return &all->item[i];
        }
    }
    ck_abort_msg("no scheme %s among %u", name, (unsigned)all->n);
    return NULL;
}

TEST(all_grids_of_the_ranks_are_tried_and_the_fastest_is_first)
{
    struct quick_run q = quick_run(gpt, NULL, SETS("layout.sequence_parallel=true"));
    struct ty_arena arena = {.head = NULL};
    struct ty_schemes all;
    find(&q, &all, &arena);
    ck_assert_uint_eq(all.n, 6);
    ck_assert_ptr_null(all.refused);
    ck_assert_str_eq(all.item[all.own].name, "1d, sequence_parallel");
    ck_assert_uint_eq(all.item[all.own].change.n, 0);
    ck_assert(all.item[all.own].trial.step_s == q.figures.step_s);
    ck_assert_str_eq(named(&all, "2d, 8 x 8")->change.set[0], "layout.tensor_scheme=2d");
    ck_assert_str_eq(named(&all, "2.5d, 4 x 4 x 4")->change.set[1], "layout.tensor_depth=4");
    /* sequences are dealt to 2 x 16 */
    ck_assert_uint_eq(named(&all, "2.5d, 2 x 2 x 16")->trial.config.layout.micro_batch, 32);
    ck_assert_uint_eq(named(&all, "3d, 4 x 4 x 4")->trial.config.layout.micro_batch, 16);
    for (uint32_t i = 1; i < all.n; i++) {
        ck_assert_double_le(all.item[i - 1].trial.step_s, all.item[i].trial.step_s);
    }
    ty_arena_release(&arena);
    quick_run_free(&q);
}

TEST(a_scheme_takes_what_a_run_with_its_keys_takes)
{
    struct quick_run q = quick_run(gpt, NULL, SETS("layout.tensor_scheme=2d"));
    struct ty_arena arena = {.head = NULL};
    struct ty_schemes all;
    find(&q, &all, &arena);
    ck_assert_str_eq(all.item[all.own].name, "2d, 8 x 8");
    for (uint32_t i = 0; i < all.n; i++) {
        const char *sets[TY_CHANGE_SETS + 2] = {"layout.tensor_scheme=2d"};
        for (uint32_t k = 0; k < all.item[i].change.n; k++) {
            sets[1 + k] = all.item[i].change.set[k];
        }
        struct quick_run own = quick_run(gpt, NULL, sets);
        ck_assert_msg(own.figures.step_s == all.item[i].trial.step_s, "%s", all.item[i].name);
        /* sums over one member and over all differ in the last digits */
        ck_assert_double_eq_tol(own.figures.bucket_s[TY_BUCKET_EXPOSED_TENSOR],
                                all.item[i].trial.tensor_s, 1e-9 * own.figures.step_s);
        quick_run_free(&own);
    }
    ty_arena_release(&arena);
    quick_run_free(&q);
}

/* What a rank receives of a collective of n ranks. */
static double received(uint8_t coll, double bytes, double n)
{
    return (coll == TY_COLL_ALL_REDUCE ? 2 : 1) * bytes * (n - 1) / n;
}

static bool is_product(const struct ty_unit_op *op)
{
    return op->kernel[op->n_kernels - 1].op == TY_OPERATOR_MATMUL;
}

/* For the products of a layer and a micro-batch, as the lists have it. */
static double of_lists(const struct ty_config *c)
{
    static struct ty_units units;
    const struct ty_mesh mesh = ty_layout_mesh(&c->layout);
    const double q = mesh.side, d = mesh.depth;
    const bool line = mesh.scheme == TY_TENSOR_1D; /* products of it have theirs around them */
    double sum = 0;
    ty_units_make(&units, &c->arch, &c->layout);
    for (uint32_t i = 0; i < units.kind[TY_UNIT_LAYER].n; i++) {
        const struct ty_unit_op *op = &units.kind[TY_UNIT_LAYER].op[i];
        for (uint32_t p = 0; (line || is_product(op)) && p < TY_N_COMM_PLACES; p++) {
            for (uint32_t k = 0; k < op->comms[p].n; k++) {
                sum += received(op->comms[p].item[k].coll, op->comms[p].item[k].bytes, q);
            }
        }
        for (uint32_t pass = TY_FORWARD; pass <= TY_WGRAD; pass++) {
            for (uint32_t k = 0; k < TY_STEP_BLOCKS; k++) {
                const struct ty_op_move *block = &op->steps.block[pass][k];
                sum += op->steps.n * received(block->coll, block->bytes, q);
            }
            sum += op->steps.n * received(op->steps.sum[pass].coll, op->steps.sum[pass].bytes, q);
        }
        for (uint32_t k = 0; is_product(op) && k < TY_OP_GRADS; k++) {
            const double n = op->grad[k].group == TY_GROUP_DEPTH ? d : q;
            sum += received(op->grad[k].coll, op->grad[k].bytes, n);
        }
    }
    return sum;
}

TEST(closed_forms_are_the_bytes_of_the_operators)
{
    static const char *const variant[] = {"layout.summa=broadcast", "layout.summa=gather",
                                          "layout.keep_gathered=false"};
    for (size_t v = 0; v < TY_COUNT(variant); v++) {
        struct quick_run q = quick_run(gpt, NULL, SETS(variant[v]));
        struct ty_arena arena = {.head = NULL};
        struct ty_schemes all;
        find(&q, &all, &arena);
        for (uint32_t i = 0; i < all.n; i++) {
            const struct ty_config *c = &all.item[i].trial.config;
            const double expected = of_lists(c) * 4 * c->layout.micro_batches;
            ck_assert_msg(fabs(all.item[i].received_B - expected) < 1e-12 * expected,
                          "%s: %.17g and %.17g", all.item[i].name, all.item[i].received_B,
                          expected);
        }
        ty_arena_release(&arena);
        quick_run_free(&q);
    }
}

TEST(what_cannot_be_is_said_and_two_ranks_are_no_grid)
{
    struct quick_run q = quick_run(
        gpt, NULL, SETS("layout.tensor=8", "model.kv_heads=1", "layout.global_batch=128"));
    struct ty_arena arena = {.head = NULL};
    struct ty_schemes all;
    find(&q, &all, &arena);
    ck_assert_uint_eq(all.n, 2); /* in one dimension keys can be copied */
    ck_assert_msg(strncmp(all.refused, "layout.tensor: 8: ", 18) == 0, "%s", all.refused);
    ck_assert_ptr_nonnull(strstr(all.refused, "must divide model.kv_heads (1)"));
    quick_run_free(&q);
    q = quick_run(gpt, NULL, SETS("layout.tensor=2", "layout.global_batch=512"));
    find(&q, &all, &arena);
    ck_assert_uint_eq(all.n, 0);
    ck_assert_ptr_null(all.refused);
    ty_arena_release(&arena);
    quick_run_free(&q);
}

/* As in the pictures of docs/guides/tensor.md: one GPU a node, no NVLink, no latency. */
TEST(a_network_may_be_flat_and_without_latency)
{
    static const char flat[] =
        "cluster: {nodes: 64, gpus_per_node: 1, memory: 80 GB, memory_bandwidth: 2 TB/s,\n"
        "  peak_bf16: 312 TFLOP/s, peak_fp32: 19 TFLOP/s, nic_bandwidth: 200 Gb/s,\n"
        "  net_step: 0 s, net_tree_step: 0 s, net_latency: 0 s, net_ll: false}\n"
        "model: {layers: 2, hidden: 4096, heads: 64, sequence: 1024, vocabulary: 51200}\n"
        "layout: {tensor: 64, micro_batch: 16, global_batch: 16}\n";
    struct quick_run q = quick_run(flat, NULL, NULL);
    struct ty_arena arena = {.head = NULL};
    struct ty_schemes all;
    find(&q, &all, &arena);
    ck_assert_uint_eq(all.n, 5); /* 2 x 2 x 16 needs 32 sequences */
    ty_arena_release(&arena);
    quick_run_free(&q);
}

/* Products that take no time, a NIC a rank: the broadcasts of a step in rows and columns meet. One
 * flow stands for chains from every root; message by message it is that of the first. */
TEST(rows_and_columns_share_nics)
{
    static const char flat[] =
        "cluster: {nodes: 16, gpus_per_node: 1, memory: 1 TB, memory_bandwidth: 1 PB/s,\n"
        "  peak_bf16: 1 EFLOP/s, peak_fp32: 1 EFLOP/s, gemm_overhead: 0 s, kernel_overhead: 0 s,\n"
        "  nic_bandwidth: 200 Gb/s, net_step: 0 s, net_tree_step: 0 s, net_latency: 0 s,\n"
        "  net_ll: false}\n"
        "model: {layers: 2, hidden: 4096, heads: 64, sequence: 1024, vocabulary: 65536,\n"
        "  bias: false, dropout: 0}\n"
        "layout: {tensor: 16, tensor_scheme: 2d, micro_batch: 16, global_batch: 16}\n"
        "framework: {preset: ideal}\n";
    struct quick_run flows = quick_run(flat, NULL, NULL);
    struct quick_run messages = quick_run(flat, NULL, SETS("run.detail=steps"));
    struct quick_run apart = quick_run(flat, NULL, SETS("run.contention=false"));
    ck_assert_double_gt(flows.figures.step_s, 1.2 * apart.figures.step_s);
    ck_assert_double_eq_tol(flows.figures.step_s, messages.figures.step_s,
                            0.05 * flows.figures.step_s);
    quick_run_free(&flows);
    quick_run_free(&messages);
    quick_run_free(&apart);
}

TY_SUITE("schemes")
