/* test_optimizers.c - optimizers beside Adam: states, traffic, and Newton-Schulz iterations, by
 * hand. */
#include "model/block/optimizer.h"

#include "tests/unit/model_case.h"

static void optimizer_case(struct model_case *c, const char *layout, int optimizer)
{
    model_case(c, 1, "llama-7b", "vocabulary: 32000", layout);
    c->layout.framework.optimizer = optimizer;
}

/* Master weight of 4 B; a byte and 4/256 for each of two states; nothing but rows and columns;
 * one moment. A rank of eight has an eighth. */
TEST(states_are_those_of_the_optimizer)
{
    static const double bytes[] = {[TY_ADAM] = 12,
                                   [TY_ADAM_8BIT] = 4 + 2.03125,
                                   [TY_ADAFACTOR] = 4,
                                   [TY_SGD] = 8,
                                   [TY_MUON] = 8};
    for (int i = TY_ADAM; i <= TY_MUON; i++) {
        struct model_case c;
        optimizer_case(&c, "{zero: 1, global_batch: 8}", i);
        ck_assert_double_eq(ty_memory_states(&c.layout, 8e9, 0).optimizer, 1e9 * bytes[i]);
        ck_assert_double_eq(ty_memory_ends(&c.layout, 8e9), i == TY_MUON ? 4e9 : 0);
        c.layout.zero = 0;
        ck_assert_double_eq(ty_memory_states(&c.layout, 1e9, 0).optimizer, 1e9 * bytes[i]);
        ck_assert_double_eq(ty_memory_ends(&c.layout, 1e9), i == TY_MUON ? 4e9 : 0);
    }
}

/* States read and written, 16-bit weight written, 16-bit gradient read, Adafactor's twice (4 B
 * more); framework operators as optimizer.c counts them, in proportion to states. */
TEST(a_step_moves_what_the_optimizer_reads_and_writes)
{
    static const double fused[] = {[TY_ADAM] = 28,
                                   [TY_ADAM_8BIT] = 2 * 6.03125 + 4,
                                   [TY_ADAFACTOR] = 16,
                                   [TY_SGD] = 20,
                                   [TY_MUON] = 20};
    static const double operators[] = {[TY_ADAM] = 98,
                                       [TY_ADAM_8BIT] = 2 * 6.03125 + 4,
                                       [TY_ADAFACTOR] = 94,
                                       [TY_SGD] = 50,
                                       [TY_MUON] = 62};
    for (int i = TY_ADAM; i <= TY_MUON; i++) {
        struct model_case c;
        optimizer_case(&c, "{zero: 0, global_batch: 8}", i);
        const double byte = 1e9 / (0.8 * 2039e9), start = 2e-6;
        assert_near(ty_optimizer_cost(&c.cluster.gpu, &c.layout, 1e9, 0).seconds,
                    fused[i] * byte + start, 1e-12);
        c.layout.framework.fused_optimizer = false;
        assert_near(ty_optimizer_cost(&c.cluster.gpu, &c.layout, 1e9, 0).seconds,
                    operators[i] * byte + start, 1e-12);
    }
}

static struct ty_muon muon_of(const struct model_case *c, uint32_t layers)
{
    struct ty_units units;
    const uint32_t count[TY_N_UNIT_KINDS] = {[TY_UNIT_LAYER] = layers};
    ty_units_make(&units, &c->arch, &c->layout);
    return ty_muon_of(&c->cluster.gpu, &c->layout, &units, count);
}

/* Of an m x k matrix, m the smaller: five times 2 m m k, 2 m m m and 2 m m k. */
static double iterations(double m, double k)
{
    return 5 * (4 * m * m * k + 2 * m * m * m);
}

/* qkv, proj, gate and up as one matrix, down. */
static double layer_flops(void)
{
    const double h = 4096, f = 11008;
    return iterations(h, 3 * h) + iterations(h, h) + iterations(h, 2 * f) + iterations(h, f);
}
#define LAYER_MATRICES (4096.0 * 4096 * 4 + 3.0 * 4096 * 11008)

TEST(replicas_without_zero_orthogonalize_everything)
{
    struct model_case c;
    optimizer_case(&c, "{zero: 0, global_batch: 8}", TY_MUON);
    const struct ty_muon all = muon_of(&c, 3);
    assert_near(all.work.flops, 3 * layer_flops(), 1e-12);
    ck_assert_double_eq(all.tensor_B[0] + all.data_B[0] + all.tensor_B[1] + all.data_B[1], 0);
    ck_assert_double_ge(all.work.seconds, all.work.flops / 312e12); /* no faster than the GPU */
    c.layout.framework.optimizer = TY_SGD;
    ck_assert_double_eq(muon_of(&c, 3).work.flops, 0);
}

/* Tensor ranks gather whole matrices, in 16 bit, and all do all of them. */
TEST(tensor_ranks_gather_matrices)
{
    struct model_case c;
    optimizer_case(&c, "{tensor: 4, zero: 0, global_batch: 8}", TY_MUON);
    const struct ty_muon all = muon_of(&c, 1);
    assert_near(all.work.flops, layer_flops(), 1e-12);
    assert_near(all.tensor_B[0], 2 * LAYER_MATRICES, 1e-12);
    ck_assert_double_eq(all.data_B[0], 0);
}

/* A matrix larger than a bucket is shared by all eight, and all need it; of buckets of a billion a
 * rank has an eighth, and of one matrix the rest. */
TEST(a_shard_needs_all_of_the_matrices_it_touches)
{
    struct model_case c;
    optimizer_case(&c, "{zero: 1, global_batch: 8}", TY_MUON);
    c.layout.framework.bucket = 1024;
    assert_near(muon_of(&c, 1).work.flops, layer_flops(), 1e-12);
    assert_near(muon_of(&c, 1).data_B[0], 2 * LAYER_MATRICES, 1e-12);
    c.layout.framework.bucket = 2e9; /* at 2 B */
    const double h = 4096, f = 11008, size[] = {3 * h * h, h * h, 2 * h * f, h * f};
    double bytes = 0;
    for (size_t i = 0; i < TY_COUNT(size); i++) {
        bytes += 2 * size[i] * (1.0 / 8 + size[i] / 1e9);
    }
    assert_near(muon_of(&c, 1).data_B[0], bytes, 1e-12);
}

TEST(with_zero_3_each_matrix_has_one_owner)
{
    struct model_case c;
    optimizer_case(&c, "{zero: 3, global_batch: 8}", TY_MUON);
    assert_near(muon_of(&c, 2).work.flops, 2 * layer_flops() / 8, 1e-12);
    assert_near(muon_of(&c, 2).data_B[0], 2 * 2 * LAYER_MATRICES / 8, 1e-12);
    const double some = muon_of(&c, 2).work.seconds; /* no rank has less than one matrix */
    ck_assert_double_lt(some, 2 * muon_of(&c, 1).work.seconds);
}

TY_SUITE("optimizers")
