/* test_power.c - the power of a node beside MLPerf's meters (fine-tuning of Llama 2 70B, v4.0 and
 * v5.0, medians of the samples), and what it follows. */
#include "sim/run/power.h"

#include <math.h>

#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char lora[] =
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "model: {preset: llama2-70b, attention: flash3, dtype: fp8, sequence: 8192,\n"
    "        lora: {rank: 16, targets: [qkv, proj], dropout: 10 %, all_to_all: true, fused: "
    "false}}\n"
    "layout: {tensor: 4, sequence_parallel: true, zero: 1, global_batch: 8}\n"
    "framework: {preset: nemo, fp8_recipe: delayed, fp8_activation_input: true,\n"
    "            fp8_weights: true, fp8_attention: true, overlap_tensor_products: true}\n";

static double power(const char *const *sets)
{
    const struct quick_run q = quick_run(lora, NULL, sets);
    const double watts = ty_run_node_power(q.run, q.figures.step_s);
    struct quick_run free_it = q;
    quick_run_free(&free_it);
    return watts;
}

TEST(nodes_draw_what_meters_read)
{
    const double h100 = power(SETS("cluster.nodes=1"));
    ck_assert_msg(fabs(h100 / 7264 - 1) < 0.07, "%g W, metered 7264 W", h100);
    const double b200 =
        power(SETS("cluster.preset=dgx-b200", "layout.tensor=1",
                   "framework.overlap_tensor_products=false", "layout.sequence_parallel=false"));
    ck_assert_msg(fabs(b200 / 9630 - 1) < 0.05, "%g W, metered 9630 W", b200);
}

TEST(waiting_draws_less_and_nothing_more_than_the_data_sheet)
{
    const double one = power(SETS("cluster.nodes=1"));
    const double waits = power(SETS("layout.tensor=8", "layout.pipeline=8", "cluster.nodes=8"));
    ck_assert(waits < 0.9 * one && waits > 2600);
    ck_assert(power(SETS("cluster.node_power=5 kW")) == 5000);
    ck_assert(power(SETS("cluster.idle_power=none")) == 0);
}

TY_SUITE("power")
