/* test_sparse_kernels.c - kernels of experts and of latent attention. */
#include "model/kernel/kernel_internal.h"
#include "tests/unit/kernel_table.h"
#include "tests/unit/model_case.h"
#include "tests/unit/priced.h"

/* ---- products in groups ---- */

static struct ty_kernel grouped(double groups, double rows, const double *group_rows)
{
    return (struct ty_kernel){.op = TY_OPERATOR_GROUPED,
                              .dtype = TY_DTYPE_BF16,
                              .variant = TY_GROUPED_ONE,
                              .grouped = {groups, rows, 5120, 3072, group_rows, 0}};
}

/* Anchor 8 of the issue that brought experts: a layer of one expert is the dense layer. */
TEST(one_group_is_a_plain_product)
{
    const struct ty_cluster cluster = a100(1);
    for (enum ty_direction d = TY_FORWARD; d <= TY_WGRAD; d++) {
        struct ty_kernel one = grouped(1, 616, NULL);
        const struct ty_kernel plain = {.op = TY_OPERATOR_MATMUL,
                                        .dtype = TY_DTYPE_BF16,
                                        .variant = TY_ANY_KERNEL,
                                        .matmul = {616, 5120, 3072}};
        one.grouped.sum_B = 4;
        const struct ty_cost a = ty_kernel_cost(&cluster.gpu, &one, d);
        const struct ty_cost b = ty_kernel_cost(&cluster.gpu, &plain, d);
        ck_assert_double_eq(a.seconds, b.seconds);
        ck_assert_double_eq(a.flops, b.flops);
    }
}

/* Rows of a group fill tiles of 128 of their own. */
TEST(a_group_pays_for_whole_tiles)
{
    static const double even[] = {256, 256}, uneven[] = {1, 511}, none[] = {0, 512};
    const struct ty_cluster cluster = a100(1);
    const double *const rows[] = {even, none, uneven};
    double seconds[3];
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct ty_kernel kernel = grouped(2, 512, rows[i]);
        const struct ty_cost cost = ty_kernel_cost(&cluster.gpu, &kernel, TY_FORWARD);
        seconds[i] = cost.seconds - cluster.gpu.gemm_overhead;
        ck_assert_double_eq(cost.flops, 2 * 512.0 * 5120 * 3072);
    }
    ck_assert_double_eq(seconds[0], seconds[1]);
    assert_near(seconds[2], 5.0 / 4 * seconds[0], 1e-12);
}

/* 8 bytes a weight where it is added in 32 bit, 2 where it is only written: products of experts do
 * not hide them all, a plain one does. */
TEST(short_weight_gradients_wait_for_what_they_write)
{
    struct ty_cluster cluster = a100(1);
    const double weights = 4096.0 * 4096;
    cluster.gpu.peak[TY_DTYPE_FP8] = 2 * cluster.gpu.peak[TY_DTYPE_BF16];
    cluster.gpu.wgrad_result = 0.5;
    const struct {
        enum ty_dtype dtype;
        double groups, bytes;
    } rows[] = {{TY_DTYPE_FP8, 2, 2 * 6}, {TY_DTYPE_BF16, 4, 4 * 6}, {TY_DTYPE_BF16, 1, 0}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_kernel kernel = {.op = TY_OPERATOR_GROUPED,
                                   .dtype = rows[i].dtype,
                                   .variant = TY_GROUPED_CALLS,
                                   .grouped = {rows[i].groups, 16384, 4096, 4096, NULL, 0}};
        const double writes = ty_kernel_cost(&cluster.gpu, &kernel, TY_WGRAD).seconds;
        kernel.grouped.sum_B = 4;
        const double adds = ty_kernel_cost(&cluster.gpu, &kernel, TY_WGRAD).seconds;
        assert_near(adds - writes + 1, 1 + 1.05 * 0.5 * rows[i].bytes * weights / 2039e9, 1e-12);
    }
}

/* The ramp of a product in fp8 is its own. */
TEST(tiles_in_fp8_have_a_ramp_of_their_own)
{
    struct ty_cluster cluster = a100(1);
    cluster.gpu.peak[TY_DTYPE_FP8] = 2 * cluster.gpu.peak[TY_DTYPE_BF16];
    cluster.gpu.gemm_overhead = 0;
    cluster.gpu.fp8_ramp = 0;
    const double k = 2048;
    const double plain =
        ty_gemm_cost(&cluster.gpu, TY_DTYPE_FP8, TY_FORWARD, 1, 8192, 8192, k).seconds;
    cluster.gpu.fp8_ramp = 700;
    const double ramp =
        ty_gemm_cost(&cluster.gpu, TY_DTYPE_FP8, TY_FORWARD, 1, 8192, 8192, k).seconds;
    assert_near(ramp, plain * (k + 700) / k, 1e-12);
}

/* ---- attention ---- */

/* DeepSeek-V3: keys of 128 and 64 with positions, values of 128. Of the five products of a backward
 * three are as wide as keys. */
TEST(values_may_be_narrower_than_keys)
{
    const struct ty_cluster cluster = a100(1);
    const struct ty_kernel kernel = {.op = TY_OPERATOR_ATTENTION,
                                     .dtype = TY_DTYPE_BF16,
                                     .variant = TY_ATTENTION_FLASH2,
                                     .attention = {.sequences = 1,
                                                   .tokens = 4096,
                                                   .heads = 128,
                                                   .kv_heads = 128,
                                                   .head_dim = 192,
                                                   .value_dim = 128}};
    const double pairs = 128 * 4096.0 * 4096 / 2;
    ck_assert_double_eq(ty_kernel_cost(&cluster.gpu, &kernel, TY_FORWARD).flops,
                        2 * pairs * (192 + 128));
    assert_near(ty_kernel_cost(&cluster.gpu, &kernel, TY_DGRAD).flops,
                2 * pairs * (3 * 192 + 2 * 128), 1e-12);
    ck_assert_double_eq(ty_kernel_bytes(&cluster.gpu, &kernel), 2 * 4096 * 128 * 2 * (192.0 + 128));
}

/* ---- elementwise ---- */

/* Rows of the published trace of DeepSeek-V3: 4096 tokens, of which 30147 came to a rank that has
 * 32768 of their copies, 192 us to the experts in fp8 and 318 us back in 16 bit. 1 %: rounding of
 * the shares. Going backward each is the other. */
TEST(rows_are_moved_by_their_bytes)
{
    struct ty_cluster cluster = a100(1);
    cluster.gpu.kernel_overhead = 0;
    cluster.gpu.memory_bandwidth = 3.35e12;
    struct ty_kernel kernel = {.op = TY_OPERATOR_PERMUTE,
                               .dtype = TY_DTYPE_BF16,
                               .variant = TY_FUSED,
                               .permute = {30147, 32768, 7168, 1 + 4 / 128.0}};
    const double there = us(ty_kernel_cost(&cluster.gpu, &kernel, TY_FORWARD).seconds);
    const double back = us(ty_kernel_cost(&cluster.gpu, &kernel, TY_DGRAD).seconds);
    assert_near(there, 192, 0.01);
    assert_near(back, 318.5, 0.01);
    kernel.op = TY_OPERATOR_UNPERMUTE;
    ck_assert_double_eq(us(ty_kernel_cost(&cluster.gpu, &kernel, TY_FORWARD).seconds), back);
    ck_assert_double_eq(us(ty_kernel_cost(&cluster.gpu, &kernel, TY_DGRAD).seconds), there);
    kernel.variant = TY_UNFUSED;
    assert_near(us(ty_kernel_cost(&cluster.gpu, &kernel, TY_FORWARD).seconds), back * 0.85 / 0.19,
                1e-12);
    kernel.permute.rows = kernel.permute.tokens = 0; /* to experts that nobody asks */
    ck_assert_double_eq(ty_kernel_cost(&cluster.gpu, &kernel, TY_FORWARD).seconds, 0);
}

/* ---- measured ---- */

/* Kernels of experts and of latent attention: columns of their own, and a row for all kernels. */
TEST(rows_of_sparse_models_are_found)
{
    static const double uneven[] = {1, 1023};
    struct ty_arena arena = {0};
    const struct ty_operators table = kernel_table(
        "op,role,kernel,dtype,m,n,k,groups,batch,sequence,heads,kv_heads,head_dim,causal,"
        "value_dim,elements,time_us\n"
        "grouped,forward,one,bf16,1024,4096,8192,2,,,,,,,,,100\n"
        "attention,forward,flash3,bf16,,,,,1,4096,8,8,192,true,128,,200\n"
        "attention,forward,flash3,bf16,,,,,1,4096,8,8,128,true,,,300\n"
        "cast,forward,transpose,fp8,,,,,,,,,,,,1000,400\n"
        "permute,backward,fused,bf16,,,,,,,,,,,,8000,500\n",
        &arena);
    const struct ty_kernel kernels[] = {
        {.op = TY_OPERATOR_GROUPED,
         .variant = TY_GROUPED_ONE,
         .grouped = {.groups = 2, .rows = 1024, .in = 8192, .out = 4096}},
        {.op = TY_OPERATOR_ATTENTION,
         .variant = TY_ATTENTION_FLASH3,
         .attention = {1, 4096, 0, 8, 8, 192, 128, 0, false, false}},
        {.op = TY_OPERATOR_ATTENTION,
         .variant = TY_ATTENTION_FLASH3,
         .attention = {1, 4096, 0, 8, 8, 128, 128, 0, false, false}},
        {.op = TY_OPERATOR_CAST,
         .dtype = TY_DTYPE_FP8,
         .variant = TY_CAST_TRANSPOSE,
         .elements = 1000},
        {.op = TY_OPERATOR_PERMUTE, .variant = TY_FUSED, .permute = {400, 1000, 8, 0}},
    };
    struct ty_cluster cluster = a100(1);
    cluster.gpu.operator_table = &table;
    for (size_t i = 0; i < TY_COUNT(kernels); i++) {
        const enum ty_direction direction = i == 4 ? TY_DGRAD : TY_FORWARD;
        assert_near(us(ty_kernel_cost(&cluster.gpu, &kernels[i], direction).seconds),
                    100.0 * ((double)i + 1), 1e-12);
    }
    /* a table has equal groups; others take as much longer as by the model: 9 tiles for 8 */
    struct ty_kernel groups = kernels[0];
    groups.grouped.group_rows = uneven;
    cluster.gpu.gemm_overhead = 0;
    assert_near(us(ty_kernel_cost(&cluster.gpu, &groups, TY_FORWARD).seconds), 100 * 9.0 / 8, 1e-9);
    ty_arena_release(&arena);
}

TY_SUITE("sparse_kernels")
