/* test_indexer.c - attention to keys that an indexer chooses, or to blocks of them. Figures:
 * DeepSeek-V3.2, 8192 tokens: 64 heads of 128 choose 2048 keys; 128 heads look at 576 of a latent
 * and read 512. */
#include <string.h>

#include "model/parallel.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define S         8192.0
#define CHOSEN    (S * (2048 - 2048 * 2048 / (2 * S))) /* pairs: the first queries have fewer */

static const char two[] =
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "model: {preset: deepseek-v3.2, attention: flash3, mtp: 0, layers: 4, sequence: 8192}\n"
    "layout: {expert: 8, global_batch: 8}\n"
    "framework: {preset: ideal}\n";

/* 32 heads in 4 groups select 8 blocks of 64 tokens. */
static const char native[] =
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "model: {layers: 4, hidden: 2048, heads: 32, kv_heads: 4, head_dim: 64, vocabulary: 32000,\n"
    "  sequence: 8192, attention: flash3, sparse_topk: 8}\n"
    "layout: {global_batch: 8}\n"
    "framework: {preset: ideal}\n";

/* Of layers with experts, where there are any. */
static const struct ty_unit_op *op_of(const struct quick_run *q, const char *name)
{
    const bool experts = ty_arch_is_moe(&q->run->config->arch);
    const struct ty_unit_ops *layer = &q->run->lowered.units->kind[TY_UNIT_LAYER + experts];
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

static double pairs(double window)
{
    return S * (window - window * window / (2 * S));
}

/* A key for every 16 tokens, 8 blocks of 64, 512 tokens before: keys and values of each. */
TEST(a_query_sees_compressed_selected_and_near_keys)
{
    struct quick_run q = quick_run(native, NULL, NULL);
    const struct ty_unit_op *core = op_of(&q, "attention core"), *qkv = op_of(&q, "qkv");
    const struct ty_unit_op *compress = op_of(&q, "compress"), *select = op_of(&q, "select blocks");
    const double near = pairs(512), chosen = pairs(8 * 64), all = S * S / 16 / 2;
    ck_assert_double_eq_tol(cost_of(&q, core).forward.flops,
                            2 * 32 * 2 * 64 * (near + chosen + all), 1);
    ck_assert_double_eq_tol(cost_of(&q, select).forward.flops, 2 * 32 * 64 * all, 1);
    ck_assert(!ty_op_has_backward(select));
    ck_assert_double_eq(qkv->weights[0].params, 2048.0 * (32 * (64 + 3) + 2 * 3 * 4 * 64));
    ck_assert_double_eq(compress->weights[0].params, 32 * 64 * 64 + 32 * 64);
    ck_assert_double_eq_tol(cost_of(&q, compress).forward.flops,
                            2 * 2 * (S / 16 * 4) * (32 * 64) * 64, 1);
    quick_run_free(&q);
}

/* Context ranks gather what is compressed, and keys and values of the other two. */
TEST(context_ranks_gather_what_queries_choose_from)
{
    struct quick_run q =
        quick_run(native, NULL, SETS("layout.context=4", "layout.context_method=all-gather"));
    const struct ty_unit_op *core = op_of(&q, "attention core"),
                            *select = op_of(&q, "select blocks");
    const double keys = 2 * S * 4 * 64;
    ck_assert_double_eq(select->comms[TY_BEFORE_FORWARD].item[0].bytes, keys / 16);
    ck_assert_uint_eq(select->comms[TY_BEFORE_DGRAD].n, 0);
    ck_assert_double_eq(core->comms[TY_BEFORE_FORWARD].item[0].bytes, keys * (4 + 1 / 16.0));
    ck_assert_double_eq(core->kernel[0].attention.queries, S / 4);
    ck_assert_double_eq(core->kernel[0].attention.tokens, S / 16);
    ck_assert_double_eq(core->kernel[1].attention.tokens, S);
    ck_assert_double_eq(core->kernel[2].attention.queries, S / 4);
    quick_run_free(&q);
}

TEST(chosen_keys_are_what_a_core_works_on)
{
    struct quick_run q = quick_run(two, NULL, NULL);
    const struct ty_op_costs core = cost_of(&q, op_of(&q, "attention core"));
    const struct ty_op_costs index = cost_of(&q, op_of(&q, "index"));
    ck_assert_double_eq_tol(core.forward.flops, 2 * CHOSEN * 128 * (576 + 512), 1);
    ck_assert_double_eq_tol(core.dgrad.flops, 2 * CHOSEN * 128 * (3 * 576 + 2 * 512), 1);
    ck_assert_double_eq_tol(index.forward.flops, 2 * 64 * 128 * S * S / 2 + 2 * CHOSEN * 128 * 576,
                            1);
    ck_assert_double_eq_tol(index.dgrad.flops, 3 * 2 * 64 * 128 * CHOSEN, 1);
    /* FlashMLA's README: 640 TFLOP/s on H800 */
    ck_assert_double_eq_tol(core.forward.flops / core.forward.seconds / 1e12, 607, 5);
    quick_run_free(&q);
}

/* Hidden states and latents come in detached: the indexer has no input gradients, nor a frozen one
 * anything that runs backward. */
TEST(nothing_learns_through_an_indexer)
{
    struct quick_run q = quick_run(two, NULL, NULL);
    const struct ty_unit_op *op = op_of(&q, "indexer");
    const struct ty_op_costs cost = cost_of(&q, op);
    ck_assert_double_gt(cost.wgrad.flops, 0);
    ck_assert_double_eq(cost.dgrad.flops, 0);
    quick_run_free(&q);
    q = quick_run(two, NULL, SETS("model.lora.rank=16"));
    ck_assert(!ty_op_has_backward(op_of(&q, "indexer")));
    ck_assert(!ty_op_has_backward(op_of(&q, "index")));
    quick_run_free(&q);
}

/* Each tensor rank has all of the indexer and half of the heads; weights of keys are summed up. */
TEST(tensor_ranks_share_heads_and_repeat_the_indexer)
{
    struct quick_run q = quick_run(
        two, NULL, SETS("layout.tensor=2", "layout.sequence_parallel=true", "layout.expert=8"));
    const struct ty_unit_op *index = op_of(&q, "index"), *indexer = op_of(&q, "indexer");
    ck_assert_double_eq(op_of(&q, "attention core")->kernel[0].attention.heads, 64);
    ck_assert_double_eq(index->kernel[0].index.heads, 64);
    ck_assert_double_eq(index->kernel[0].index.teachers, 64);
    ck_assert_uint_eq(index->comms[TY_AFTER_FORWARD].n, 1);
    ck_assert_double_eq(index->comms[TY_AFTER_FORWARD].item[0].bytes, 4 * S * 2048);
    ck_assert_uint_eq(indexer->comms[TY_BEFORE_FORWARD].n, 2);
    ck_assert_double_eq(indexer->comms[TY_BEFORE_FORWARD].item[0].bytes, 2 * S * 7168);
    ck_assert_double_eq(indexer->comms[TY_BEFORE_FORWARD].item[1].bytes, 2 * S * 1536);
    ck_assert_uint_eq(indexer->comms[TY_AFTER_DGRAD].n, 0);
    quick_run_free(&q);
}

/* Ranks that share a sequence gather the keys of the indexer and one latent for all heads. */
TEST(context_ranks_gather_keys_and_latents)
{
    struct quick_run q =
        quick_run(two, NULL, SETS("layout.context=2", "layout.context_method=all-gather"));
    const struct ty_unit_op *index = op_of(&q, "index"), *core = op_of(&q, "attention core");
    ck_assert_double_eq(index->kernel[0].index.queries, S / 2);
    ck_assert_double_eq(index->kernel[0].index.tokens, S);
    ck_assert_double_eq(index->comms[TY_BEFORE_FORWARD].item[0].bytes, 2 * S * 128);
    ck_assert_double_eq(core->comms[TY_BEFORE_FORWARD].item[0].bytes, 2 * S * 576);
    ck_assert_double_eq(core->comms[TY_AFTER_DGRAD].item[0].bytes, 2 * S * 576);
    const struct ty_op_costs half = cost_of(&q, core);
    ck_assert_double_eq_tol(half.forward.flops, CHOSEN * 128 * (576 + 512), 1);
    quick_run_free(&q);
}

TY_SUITE("indexer")
