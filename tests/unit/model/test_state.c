/* test_state.c - blocks that keep a state: FLOPs of their scans and products, the share of a tensor
 * rank, what ranks of a sequence say. Figures: a layer each of 16 heads of 64 with keys of 128. */
#include <string.h>

#include "model/parallel.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define S         4096.0
#define H         1024.0

static const char layers[] =
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "model: {layers: 4, hidden: 1024, heads: 16, vocabulary: 32000, sequence: 4096, mlp: swiglu,\n"
    "  norm_kind: rmsnorm, attention: flash3, layer_pattern: [G-, K-, L-, '*-'], state_heads: 16,\n"
    "  state_head_dim: 64, state_size: 128, state_conv: 4, state_rank: 128}\n"
    "layout: {global_batch: 8}\n"
    "framework: {preset: ideal}\n";
static const char channels[] =
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "model: {layers: 4, hidden: 1024, heads: 16, vocabulary: 32000, sequence: 4096, mlp: swiglu,\n"
    "  norm_kind: rmsnorm, attention: flash3, layer_pattern: [S-, C-, S-, '*-'],\n"
    "  state_heads: 2048, state_head_dim: 1, state_groups: 1, state_size: 16, state_conv: 4,\n"
    "  state_rank: 64}\n"
    "layout: {global_batch: 8}\n"
    "framework: {preset: ideal}\n";

static const struct ty_unit_op *op_of(const struct quick_run *q, uint32_t kind, const char *name)
{
    const struct ty_unit_ops *layer = &q->run->lowered.units->kind[TY_UNIT_LAYER + kind];
    for (uint32_t i = 0; i < layer->n; i++) {
        if (strcmp(layer->op[i].name, name) == 0) {
            return &layer->op[i];
        }
    }
    ck_abort_msg("no %s", name);
    return NULL;
}

static struct ty_op_costs cost_of(const struct quick_run *q, const struct ty_unit_op *op)
{
    struct ty_op_costs cost;
    ty_op_price(op, &q->run->config->layout, &q->run->config->cluster.gpu, &cost);
    return cost;
}

/* Sums of the tables of scan.c, by hand. */
TEST(scans_do_what_their_kernels_do)
{
    const double state = 16 * 64 * 128.0;
    const struct {
        double states, scores, weighed, chunk;
    } rows[] = {{6, 6, 4, 64}, {6, 6, 4, 64}, {4, 2, 2, 256}, {8, 10, 8, 16}};
    struct quick_run q = quick_run(
        layers, NULL, SETS("model.layer_pattern=[G-, K-, L-, R-]", "model.first_rank=32"));
    for (uint32_t i = 0; i < TY_COUNT(rows); i++) {
        const double expected =
            S * (rows[i].states * state +
                 rows[i].chunk * 16 * (rows[i].scores * 128 + rows[i].weighed * 64));
        ck_assert_double_eq_tol(cost_of(&q, op_of(&q, i, "scan")).forward.flops, expected, 1);
    }
    quick_run_free(&q);
    q = quick_run(channels, NULL, NULL);
    ck_assert_double_eq_tol(cost_of(&q, op_of(&q, 0, "scan")).forward.flops, S * 23 * 2048 * 16, 1);
    ck_assert_double_eq_tol(cost_of(&q, op_of(&q, 0, "state select")).forward.flops,
                            2 * S * 2048 * (96 + 64), 1);
    ck_assert_double_eq_tol(cost_of(&q, op_of(&q, 1, "state in")).forward.flops, 2 * S * H * 3 * H,
                            1);
    quick_run_free(&q);
}

/* Mixes of a token and the one before it, six and one, and what the first layer lacks. */
TEST(rwkv_mixes_a_token_with_the_one_before)
{
    struct quick_run q = quick_run(
        layers, NULL, SETS("model.layer_pattern=R- R-", "model.first_rank=32", "layout.tensor=2"));
    const struct ty_unit_op *in = op_of(&q, 0, "state in"), *mlp = op_of(&q, 0, "mlp core");
    const double latents = 128 - 32 / 4.0;
    ck_assert_double_eq(in->weights[0].params, H * 3 * 512);
    ck_assert_double_eq(in->weights[1].params, H * latents);
    ck_assert_double_eq(in->weights[2].params, 512 * latents);
    ck_assert_double_eq(in->weights[3].params, 6 * H);
    ck_assert(in->weights[3].whole);
    ck_assert_double_eq(mlp->weights[mlp->n_weights - 1].params, H);
    ck_assert_double_eq(in->kernel[in->n_kernels - 1].elements, 5 * S * H);
    ck_assert_double_eq(mlp->kernel[mlp->n_kernels - 1].elements, 2.5 * S * H);
    quick_run_free(&q);
}

/* Two sets of weights, four uses: half of a layer's weights in each, which a token meets all. */
TEST(layers_share_weights_and_adapt_them)
{
    const char *const sets[] = {"model.layer_pattern='*-M*-M*-M*-M'",
                                "model.layers=12",
                                "model.shared_blocks=2",
                                "model.shared_rank=8",
                                "model.shared_qkv=true",
                                "model.head_dim=128",
                                "layout.tensor=2",
                                NULL};
    struct quick_run q = quick_run(layers, NULL, sets);
    const struct ty_unit_op *wide = op_of(&q, 0, "qkv"), *few = op_of(&q, 0, "adapters");
    const struct ty_unit_op *mlp = op_of(&q, 1, "mlp core"), *out = op_of(&q, 1, "shared out");
    ck_assert_double_eq(wide->kernel[0].matmul.in, 2 * H);
    ck_assert_double_eq(wide->width[0], 2 * H);
    ck_assert_double_eq(wide->weights[0].params, 2 * H * 3 * H / 2);
    ck_assert_double_eq(ty_op_active_params(wide, &q.run->config->arch), 2 * H * 3 * H);
    ck_assert_double_eq(few->weights[0].params, 3 * 2 * H * 8);
    ck_assert_double_eq(few->weights[1].params, 3 * 8 * H);
    ck_assert(few->weights[0].whole);
    ck_assert_double_eq(mlp->weights[0].params, H * 4 * H / 2);
    ck_assert_double_eq(out->weights[0].params, H * H);
    ck_assert_double_eq(op_of(&q, 2, "state in")->uses, 0);
    quick_run_free(&q);
}

/* Heads are shared, latents are not; sums over channels are brought together. */
TEST(tensor_ranks_share_heads_and_channels)
{
    struct quick_run q = quick_run(layers, NULL, SETS("layout.tensor=4"));
    ck_assert_double_eq(op_of(&q, 1, "scan")->kernel[0].scan.heads, 4);
    ck_assert_double_eq(op_of(&q, 1, "state in")->weights[1].params, H * 128);
    ck_assert(op_of(&q, 1, "state in")->weights[1].whole);
    ck_assert_double_eq(op_of(&q, 1, "state in")->weights[2].params, 128 * 256);
    quick_run_free(&q);
    q = quick_run(channels, NULL, SETS("layout.tensor=4"));
    const struct ty_unit_op *select = op_of(&q, 0, "state select");
    ck_assert_double_eq(op_of(&q, 0, "scan")->kernel[0].scan.heads, 512);
    ck_assert_double_eq(op_of(&q, 0, "scan")->kernel[0].scan.groups, 1);
    ck_assert_double_eq(select->comms[TY_AFTER_FORWARD].item[0].bytes, 2 * S * (64 + 32));
    ck_assert_double_eq(select->comms[TY_BEFORE_DGRAD].item[0].bytes, 2 * S * (64 + 32));
    ck_assert_double_eq(op_of(&q, 1, "state out")->kernel[0].matmul.in, H / 4);
    quick_run_free(&q);
}

/* States of every rank, 4 bytes an element, two chunks each. */
TEST(context_ranks_hand_states_on)
{
    struct quick_run q = quick_run(layers, NULL, SETS("layout.context=2"));
    for (uint32_t i = 0; i < 3; i++) {
        const struct ty_unit_op *op = op_of(&q, i, "scan");
        ck_assert_double_eq(op->comms[TY_BEFORE_FORWARD].item[0].bytes, 4 * 2 * 2 * 16 * 64 * 128);
    }
    quick_run_free(&q);
    q = quick_run(channels, NULL, SETS("layout.context=2"));
    ck_assert_double_eq(op_of(&q, 0, "scan")->comms[TY_BEFORE_FORWARD].item[0].bytes,
                        4 * 2 * 2 * 2048 * 16);
    ck_assert_uint_eq(op_of(&q, 1, "gate")->comms[TY_BEFORE_FORWARD].n, 0);
    quick_run_free(&q);
}

/* Blocks side by side are one part of a layer, which has two: they run, and their backward needs
 * what both need. */
TEST(blocks_side_by_side_are_one_part)
{
    struct quick_run q =
        quick_run(layers, NULL, SETS("model.layer_pattern='G*- G*- G*- *-'", "layout.zero=2"));
    const struct ty_unit_ops *layer = &q.run->lowered.units->kind[TY_UNIT_LAYER];
    uint32_t parts = 1, needs = 0;
    for (uint32_t i = 1; i < layer->n; i++) {
        parts += layer->op[i].part != layer->op[i - 1].part;
    }
    for (uint32_t i = 0; i < layer->n_saved; i++) {
        needs += layer->saved[i].part == TY_PART_STATE;
    }
    ck_assert_uint_eq(parts, 2);
    ck_assert_uint_eq(needs, 0);
    quick_run_free(&q);
}

/* Rows of experts are as wide as their latent, and so is what is sent. */
TEST(experts_with_a_latent_send_latents)
{
    static const char experts[] =
        "cluster: {preset: dgx-h100, nodes: 1}\n"
        "model: {layers: 2, hidden: 1024, heads: 16, vocabulary: 32000, sequence: 4096,\n"
        "  experts: 16, experts_per_token: 2, expert_ffn: 512, shared_ffn: 512}\n"
        "layout: {expert: 8, global_batch: 8}\n"
        "framework: {preset: ideal}\n";
    struct quick_run q = quick_run(experts, NULL, SETS("model.expert_latent=256"));
    const struct ty_unit_op *down = op_of(&q, 0, "latent down"), *up = op_of(&q, 0, "latent up");
    ck_assert_double_eq(op_of(&q, 0, "experts")->weights[0].params, 2 * 256 * 512);
    ck_assert_double_eq(op_of(&q, 0, "permute")->kernel[0].permute.width, 256);
    ck_assert_double_eq(down->kernel[0].matmul.out, 256);
    ck_assert_double_eq(up->kernel[0].matmul.in, 256);
    ck_assert_double_eq(up->weights[0].params, 256 * H);
    const double latent = q.run->lowered.units->kind[TY_UNIT_LAYER].n;
    quick_run_free(&q);
    q = quick_run(experts, NULL, NULL);
    ck_assert_double_eq(q.run->lowered.units->kind[TY_UNIT_LAYER].n, latent - 2);
    quick_run_free(&q);
}

TY_SUITE("state")
