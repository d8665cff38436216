/* test_tensor_schemes.c - tensor parallelism in 2, 2.5 and 3 dimensions, beside its closed forms.
 *
 * M tokens of a micro-batch, products of K x N; q: side of the grid, d: depth. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/block/memory.h"
#include "model/parallel/kinds.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define E         2.0 /* bytes of an element */

/* A GPT of two layers without biases, whose dimensions every side up to 8 divides. */
static const char gpt[] = "cluster: {preset: dgx-a100-80g, nodes: 1, gpus_per_node: 1}\n"
                          "model: {layers: 2, hidden: 705600, heads: 840, ffn: 1411200,\n"
                          "  bias: false, dropout: 0, sequence: 16, vocabulary: 1680}\n"
                          "layout: {micro_batch: 70560, global_batch: 70560}\n"
                          "framework: {preset: ideal}\n";

/* The lists of operators of a layout that needs no machine. */
static struct ty_units *make(const struct quick_run *q, enum ty_tensor_scheme scheme, uint32_t side,
                             uint32_t depth, const struct ty_layout *like)
{
    static struct ty_units units;
    struct ty_layout layout = like != NULL ? *like : q->config->layout;
    layout.tensor_scheme = (int)scheme;
    layout.tensor_depth = depth;
    layout.tensor = side * side * (scheme == TY_TENSOR_3D ? side : depth);
    ty_units_make(&units, &q->config->arch, &layout);
    return &units;
}

static const struct ty_unit_op *op_of(const struct ty_units *units, const char *name)
{
    const struct ty_unit_ops *layer = &units->kind[TY_UNIT_LAYER];
    for (uint32_t i = 0; i < layer->n; i++) {
        if (strcmp(layer->op[i].name, name) == 0) {
            return &layer->op[i];
        }
    }
    ck_abort_msg("no operator %s", name);
    return NULL;
}

/* ---- bytes ---- */

/* What a rank receives of a collective among n ranks: chains and rings pass every byte on once. */
static double received(uint8_t coll, double bytes, double n)
{
    return (coll == TY_COLL_ALL_REDUCE ? 2 : 1) * bytes * (n - 1) / n;
}

struct both {
    double forward, backward;
};

/* Elements that a rank receives for an operator. */
static struct both moved(const struct ty_unit_op *op, double q, double d)
{
    struct both sum = {0, 0};
    for (enum ty_comm_place place = 0; place < TY_N_COMM_PLACES; place++) {
        double *at = place <= TY_AFTER_FORWARD ? &sum.forward : &sum.backward;
        for (uint32_t i = 0; i < op->comms[place].n; i++) {
            *at += received(op->comms[place].item[i].coll, op->comms[place].item[i].bytes, q) / E;
        }
    }
    for (enum ty_direction pass = TY_FORWARD; pass <= TY_WGRAD; pass++) {
        double *at = pass == TY_FORWARD ? &sum.forward : &sum.backward;
        const struct ty_op_move *sums = &op->steps.sum[pass];
        for (uint32_t i = 0; i < TY_STEP_BLOCKS; i++) {
            const struct ty_op_move *block = &op->steps.block[pass][i];
            *at += op->steps.n * received(block->coll, block->bytes, q) / E;
        }
        *at += op->steps.n * received(sums->coll, sums->bytes, q) / E;
    }
    for (uint32_t i = 0; i < TY_OP_GRADS; i++) {
        const double n = op->grad[i].group == TY_GROUP_DEPTH ? d : q;
        sum.backward += received(op->grad[i].coll, op->grad[i].bytes, n) / E;
    }
    return sum;
}

static void demand(const struct ty_units *units, const char *name, double q, double d,
                   struct both formula)
{
    const struct both got = moved(op_of(units, name), q, d);
    ck_assert_msg(fabs(got.forward - formula.forward) <= 1e-12 * formula.forward,
                  "%s on %g x %g x %g forward: %.17g and %.17g", name, q, q, d, got.forward,
                  formula.forward);
    ck_assert_msg(fabs(got.backward - formula.backward) <= 1e-12 * formula.backward,
                  "%s on %g x %g x %g backward: %.17g and %.17g", name, q, q, d, got.backward,
                  formula.backward);
}

/* M, K and N differ, and so do the products of a layer. */
TEST(every_product_moves_what_its_formula_says)
{
    struct quick_run run = quick_run(gpt, NULL, NULL);
    const double M = 70560.0 * 16, h = 705600, f = 1411200;
    const struct {
        const char *name;
        double K, N;
    } rows[] = {{"qkv", h, 3 * h}, {"proj", h, h}, {"up", h, f}, {"down", f, h}};
    struct ty_layout gather = run.config->layout, again = gather;
    gather.summa = TY_SUMMA_GATHER;
    again.keep_gathered = false;
    for (uint32_t side = 2; side <= 8; side++) {
        for (size_t i = 0; i < TY_COUNT(rows); i++) {
            const double q = side, MK = M * rows[i].K, KN = rows[i].K * rows[i].N;
            const double MN = M * rows[i].N, flat = (q - 1) / (q * q), cube = flat / q;
            for (uint32_t depth = 1; depth <= 4; depth++) {
                const double d = depth;
                const struct both formula = {flat * (MK / d + KN),
                                             flat * (2 * MK / d + 2 * KN) +
                                                 2 * (d - 1) / d * KN / (q * q)};
                demand(make(&run, TY_TENSOR_25D, side, depth, NULL), rows[i].name, q, d, formula);
                demand(make(&run, TY_TENSOR_25D, side, depth, &gather), rows[i].name, q, d,
                       formula);
            }
            const struct both formula = {cube * (MK + KN + MN), cube * (MK + KN + MN)};
            const struct both more = {formula.forward, formula.backward + cube * (MK + KN)};
            demand(make(&run, TY_TENSOR_3D, side, 1, NULL), rows[i].name, q, 1, formula);
            demand(make(&run, TY_TENSOR_3D, side, 1, &again), rows[i].name, q, 1, more);
        }
    }
    quick_run_free(&run);
}

/* Elements over h that the products of a layer move. */
static double of_layer(const struct ty_units *units, double h, double q, double d)
{
    static const char *const names[] = {"qkv", "proj", "up", "down"};
    double sum = 0;
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        const struct both one = moved(op_of(units, names[i]), q, d);
        sum += one.forward + one.backward;
    }
    return sum / h;
}

TEST(a_layer_of_gpt_moves_what_the_closed_forms_say)
{
    struct quick_run run = quick_run(gpt, NULL, SETS("model.ffn=2822400"));
    const double T = 70560.0 * 16, h = 705600;
    for (uint32_t side = 2; side <= 8; side++) {
        const double q = side;
        for (uint32_t depth = 1; depth <= 4; depth++) {
            const double d = depth, formula = 3 * (q - 1) / (q * q) * (7 * T / d + 12 * h) +
                                              24 * (d - 1) / d * h / (q * q);
            const struct ty_units *units = make(&run, TY_TENSOR_25D, side, depth, NULL);
            ck_assert_double_eq_tol(of_layer(units, h, q, d), formula, 1e-12 * formula);
        }
        const double formula = 2 * (q - 1) / (q * q * q) * (16 * T + 12 * h);
        const struct ty_units *units = make(&run, TY_TENSOR_3D, side, 1, NULL);
        ck_assert_double_eq_tol(of_layer(units, h, q, 1), formula, 1e-12 * formula);
    }
    quick_run_free(&run);
}

/* Handbook of the schemes, section 4: elements over h at h = 12,288, of 8 and 64 ranks. */
TEST(a_layer_of_gpt3_moves_what_the_table_says)
{
    static const struct {
        enum ty_tensor_scheme scheme;
        uint32_t side, depth;
        double few, many; /* 2,048 tokens; 16,384 */
    } rows[] = {
        {TY_TENSOR_25D, 2, 2, 152832, 190464}, {TY_TENSOR_3D, 2, 1, 45056, 102400},
        {TY_TENSOR_2D, 8, 1, 53088, 86016},    {TY_TENSOR_25D, 4, 4, 98784, 112896},
        {TY_TENSOR_3D, 4, 1, 16896, 38400},
    };
    struct quick_run run = quick_run("cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                                     "model: {preset: gpt3-175b, layers: 1, bias: false}\n"
                                     "layout: {global_batch: 8}\n",
                                     NULL, NULL);
    struct ty_layout few = run.config->layout, many = few;
    many.micro_batch = 8;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const double q = rows[i].side, d = rows[i].depth, h = 12288;
        const struct ty_units *units =
            make(&run, rows[i].scheme, rows[i].side, rows[i].depth, &few);
        ck_assert_double_eq_tol(of_layer(units, h, q, d), rows[i].few, 1e-6);
        units = make(&run, rows[i].scheme, rows[i].side, rows[i].depth, &many);
        ck_assert_double_eq_tol(of_layer(units, h, q, d), rows[i].many, 1e-6);
    }
    quick_run_free(&run);
}

/* ---- what a program moves ---- */

/* Bytes that a rank sends for one layer and one micro-batch over groups, of two layers more. */
static double sent(const char *const *sets, const char *const *groups)
{
    static const char text[] =
        "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
        "model: {layers: %d, hidden: 2048, heads: 16, bias: false, dropout: 0, sequence: 512,\n"
        "  vocabulary: 51200}\n"
        "layout: {micro_batch: 4, global_batch: 12}\n";
    double bytes[2] = {0, 0};
    uint32_t ranks = 0;
    for (int i = 0; i < 2; i++) {
        char yaml[sizeof(text) + 8];
        (void)snprintf(yaml, sizeof(yaml), text, 2 + 2 * i);
        struct quick_run q = quick_run(yaml, NULL, sets);
        for (size_t g = 0; groups[g] != NULL; g++) {
            bytes[i] += quick_run_traffic(&q, groups[g]);
        }
        ranks = q.run->lowered.program.n_ranks;
        quick_run_free(&q);
    }
    return (bytes[1] - bytes[0]) / 2 / 3 / ranks;
}

static void demand_sent(double got, double formula)
{
    ck_assert_double_eq_tol(got, formula, 1e-9 * formula);
}

/* Layer norms besides: 2D sums of x and x^2 over rows, forward and backward, scale and shift over
 * columns; 3D both sums at once, scale and shift over two groups. */
TEST(programs_move_what_their_lists_say)
{
    static const char *const four[] = {"cluster.gpus_per_node=4"};
    static const char *const rows[] = {"tp row", NULL}, *const columns[] = {"tp column", NULL};
    static const char *const inner[] = {"tp input", "tp output", NULL};
    static const char *const weight[] = {"tp weight", NULL}, *const depth[] = {"tp depth", NULL};
    static const char *const forms[] = {"layout.summa=broadcast", "layout.summa=gather"};
    const double M = 4 * 512, h = 2048, q = 2;
    for (size_t i = 0; i < TY_COUNT(forms); i++) {
        const char *const *flat = SETS(four[0], "layout.tensor=4", "layout.tensor_scheme=2d",
                                       forms[i], "schedule.name=zb-1p");
        demand_sent(sent(flat, rows),
                    E * (q - 1) / (q * q) * 3 * 7 * M * h + E * 2 * 4 * 2 * (q - 1) / q * M / q);
        demand_sent(sent(flat, columns),
                    E * (q - 1) / (q * q) * 3 * 12 * h * h + E * 2 * 4 * (q - 1) / q * h / q);
        const char *const *grids =
            SETS("layout.tensor=8", "layout.tensor_scheme=2.5d", "layout.tensor_depth=2", forms[i]);
        demand_sent(sent(grids, depth), E * (12 * h * h + 4 * h) / (q * q));
    }
    const char *const *cube = SETS("layout.tensor=8", "layout.tensor_scheme=3d");
    demand_sent(sent(cube, weight),
                E * (q - 1) / (q * q * q) * 2 * 12 * h * h + E * 4 * 2 * (q - 1) / q * h / q);
    demand_sent(sent(cube, inner), E * (q - 1) / (q * q * q) * 2 * 16 * M * h +
                                       E * 2 * 2 * 2 * 2 * (q - 1) / q * M / (q * q) +
                                       E * 4 * 2 * (q - 1) / q * h / q);
}

/* Of a layer 12 h^2 / p, of d grids 12 h^2 / q^2, over two replicas (16-bit gradients). */
TEST(replicas_share_what_a_rank_has)
{
    static const char *const data[] = {"dp", NULL};
    static const struct {
        const char *set[4];
        double parts;
    } rows[] = {
        {{"layout.tensor=4", "layout.tensor_scheme=1d"}, 4},
        {{"layout.tensor=4", "layout.tensor_scheme=2d"}, 4},
        {{"layout.tensor=8", "layout.tensor_scheme=2.5d", "layout.tensor_depth=2",
          "cluster.nodes=2"},
         4},
        {{"layout.tensor=8", "layout.tensor_scheme=3d", "cluster.nodes=2"}, 8},
    };
    const double h = 2048, norms = 4 * h; /* counted as shared evenly */
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const char *const *set = rows[i].set;
        const double bytes = sent(SETS("layout.global_batch=24", "framework.grad_dtype=model",
                                       set[0], set[1], set[2], set[3]),
                                  data);
        demand_sent(3 * bytes, E * (12 * h * h + norms) / rows[i].parts);
    }
}

/* ---- shapes and memory ---- */

/* Products at their real shapes: all FLOPs of a product are there, on q^2 d or q^3 ranks. */
TEST(products_are_as_large_as_their_blocks)
{
    struct quick_run run = quick_run(gpt, NULL, NULL);
    const double M = 70560.0 * 16, K = 705600, N = 1411200;
    for (uint32_t side = 2; side <= 8; side++) {
        const double q = side;
        const struct ty_unit_op *flat = op_of(make(&run, TY_TENSOR_25D, side, 3, NULL), "up");
        ck_assert_uint_eq(flat->steps.n, side);
        ck_assert_double_eq_tol(flat->kernel[0].matmul.rows, M / q / 3, 1e-9 * M);
        ck_assert_double_eq(flat->kernel[0].matmul.in, K / q);
        ck_assert_double_eq(flat->kernel[0].matmul.out, N / q);
        const struct ty_unit_op *cube = op_of(make(&run, TY_TENSOR_3D, side, 1, NULL), "up");
        ck_assert_uint_eq(cube->steps.n, 0);
        ck_assert_double_eq_tol(cube->kernel[0].matmul.rows, M / q, 1e-9 * M);
        ck_assert_double_eq(cube->kernel[0].matmul.in, K / q);
        ck_assert_double_eq(cube->kernel[0].matmul.out, N / q);
    }
    quick_run_free(&run);
}

static double kept(const struct ty_units *units, const char *name)
{
    const struct ty_unit_ops *layer = &units->kind[TY_UNIT_LAYER];
    double sum = 0;
    for (uint32_t i = 0; i < layer->n_saved; i++) {
        const struct ty_saved *x = &layer->saved[i];
        sum += x->life == TY_LIFE_KEPT && strcmp(x->name, name) == 0 ? x->bytes : 0;
    }
    return sum / E;
}

TEST(memory_is_that_of_the_table)
{
    struct quick_run run = quick_run(gpt, NULL, NULL);
    const double M = 70560.0 * 16, h = 705600, f = 1411200, all = 4 * h * h + 2 * h * f;
    struct ty_layout again = run.config->layout;
    again.keep_gathered = false;
    for (uint32_t side = 2; side <= 8; side++) {
        const double q = side, plane = q * q, cube = q * q * q;
        const struct ty_units *units = make(&run, TY_TENSOR_25D, side, 2, NULL);
        const double norms = 4 * h; /* scale and shift of two */
        ck_assert_double_eq_tol(ty_unit_params(&units->kind[TY_UNIT_LAYER]), (all + norms) / plane,
                                1e-12 * all);
        ck_assert_double_eq_tol(kept(units, "inputs of q, k, v"), M * h / (plane * 2), 1e-6);
        units = make(&run, TY_TENSOR_3D, side, 1, NULL);
        ck_assert_double_eq_tol(ty_unit_params(&units->kind[TY_UNIT_LAYER]), (all + norms) / cube,
                                1e-12 * all);
        ck_assert_double_eq_tol(kept(units, "gathered weights"), all / plane, 1e-12 * all);
        /* with what a rank has of them anyway: inputs of qkv, proj, up and down */
        ck_assert_double_eq_tol(kept(units, "gathered input") + M * (3 * h + f) / cube,
                                M * (3 * h + f) / plane, 1e-9 * M * h);
        units = make(&run, TY_TENSOR_3D, side, 1, &again);
        ck_assert_double_eq(kept(units, "gathered weights"), 0);
        ck_assert_double_eq(kept(units, "gathered input"), 0);
        ck_assert_double_eq_tol(kept(units, "inputs of q, k, v"), M * h / cube, 1e-6);
    }
    quick_run_free(&run);
}

/* ---- ranks ---- */

/* Stride and size of groups among tensor ranks: 2.5D j + q (i + q k); 3D output groups side by
 * side, q apart the input groups. */
TEST(groups_are_those_of_the_libraries)
{
    static const struct {
        int scheme;
        uint32_t tensor, depth;
        uint32_t group[TY_N_COMM_GROUPS][2]; /* stride, ranks; 0: not there */
    } rows[] = {
        {TY_TENSOR_2D, 16, 1, {[TY_GROUP_ROW] = {1, 4}, [TY_GROUP_COLUMN] = {4, 4}}},
        {TY_TENSOR_25D,
         12,
         3,
         {[TY_GROUP_ROW] = {1, 2}, [TY_GROUP_COLUMN] = {2, 2}, [TY_GROUP_DEPTH] = {4, 3}}},
        {TY_TENSOR_3D,
         27,
         1,
         {[TY_GROUP_OUTPUT] = {1, 3}, [TY_GROUP_INPUT] = {3, 3}, [TY_GROUP_WEIGHT] = {9, 3}}},
        {TY_TENSOR_1D, 8, 1, {[TY_GROUP_ROW] = {0, 0}}},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_layout layout = {.tensor = rows[i].tensor,
                                         .tensor_scheme = rows[i].scheme,
                                         .tensor_depth = rows[i].depth,
                                         .context = 1,
                                         .pipeline = 1,
                                         .data = 2};
        static const int order[] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA,
                                    TY_AXIS_PIPELINE};
        const uint32_t size[] = {rows[i].tensor, 1, 2, 1};
        struct ty_grid grid;
        ty_grid_init(&grid, size, order, 8);
        for (enum ty_comm_group g = TY_GROUP_ROW; g <= TY_GROUP_OUTPUT; g++) {
            const struct ty_comm_span span = ty_comm_span(&layout, &grid, g);
            const uint32_t *want = rows[i].group[g];
            ck_assert_uint_eq(span.count, want[1] > 0 ? want[1] : 1);
            ck_assert(want[1] == 0 || span.stride == want[0]);
        }
    }
}

TY_SUITE("tensor_schemes")
