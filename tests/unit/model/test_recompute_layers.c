/* test_recompute_layers.c - some layers of a stage run again, others do not. */
#include <stdio.h>
#include <string.h>

#include "sim/run/bill.h"
#include "tests/common/quick_run.h"
#include "tests/unit/model_case.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Stages of four layers. */
static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                            "model: {preset: llama-7b, sequence: 8192, layers: 8}\n"
                            "layout: {tensor: 2, pipeline: 2, global_batch: 8}\n"
                            "framework: {preset: ideal}\n";

/* A dense layer, then experts. */
static const char sparse[] = "cluster: {preset: dgx-h100, nodes: 1}\n"
                             "model: {preset: deepseek-v2-lite, layers: 8}\n"
                             "layout: {pipeline: 2, expert: 4, global_batch: 16}\n";

static double peak(const struct quick_run *q, uint32_t stage)
{
    struct ty_bill bill;
    ty_run_bill(q->run, stage, &bill);
    return bill.total_B;
}

static void demand_equal(const struct quick_run *a, const struct quick_run *b)
{
    ck_assert_uint_eq(a->run->lowered.program.n_tasks, b->run->lowered.program.n_tasks);
    ck_assert_double_eq(a->figures.step_s, b->figures.step_s);
    ck_assert_double_eq(a->figures.hfu, b->figures.hfu);
    for (uint32_t s = 0; s < a->run->lowered.program.n_gangs; s++) {
        ck_assert_double_eq(peak(a, s), peak(b, s));
    }
}

/* No layers are as no recomputation, all layers as what layout.recompute says of all. */
TEST(none_and_all_are_as_before)
{
    static const struct {
        const char *yaml, *set, *mode;
    } rows[] = {{small, "schedule.name=1f1b", "layout.recompute=full"},
                {small, "schedule.name=1f1b", "layout.recompute=norm+mlp"},
                {small, "schedule.name=interleaved", "layout.recompute=full"},
                {small, "schedule.name=zb-1p", "layout.recompute=full"},
                {small, "schedule.name=dualpipev", "layout.recompute=selective"},
                {small, "layout.zero=3", "layout.recompute=full"},
                {small, "framework.recompute_head=true", "layout.recompute=full"},
                {small, "model.mtp=1", "layout.recompute=full"},
                {small, "framework.layer_floor=20 ms", "layout.recompute=full"},
                {sparse, "schedule.name=1f1b", "layout.recompute=full"},
                {sparse, "schedule.name=zb-1p", "layout.recompute=norm+moe_act"},
                {sparse, "run.routing=zipf:1", "layout.recompute=moe"}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run none = quick_run(rows[i].yaml, NULL, SETS(rows[i].set));
        struct quick_run zero = quick_run(
            rows[i].yaml, NULL, SETS(rows[i].set, rows[i].mode, "layout.recompute_layers=0"));
        struct quick_run mode = quick_run(rows[i].yaml, NULL, SETS(rows[i].set, rows[i].mode));
        struct quick_run all = quick_run(
            rows[i].yaml, NULL, SETS(rows[i].set, rows[i].mode, "layout.recompute_layers=8"));
        demand_equal(&zero, &none);
        demand_equal(&all, &mode);
        ck_assert_double_lt(none.figures.step_s, mode.figures.step_s);
        quick_run_free(&none);
        quick_run_free(&zero);
        quick_run_free(&mode);
        quick_run_free(&all);
    }
}

/* Two micro-batches are in flight on the first of two stages. One layer more that runs again keeps
 * its input alone, twice. It needs the rest while it runs, but then the last layer has been freed:
 * only where all four run again it comes on top. */
TEST(each_layer_gives_up_what_it_kept)
{
    double step[5], held[5];
    for (int n = 0; n <= 4; n++) {
        char layers[48];
        (void)snprintf(layers, sizeof(layers), "layout.recompute_layers=%d", n);
        struct quick_run q =
            quick_run(small, NULL,
                      SETS("layout.recompute=full", layers, "framework.recompute_head=false",
                           "cluster.fragmentation=0"));
        step[n] = q.figures.step_s;
        held[n] = peak(&q, 0);
        quick_run_free(&q);
    }
    const double given = (held[0] - held[4]) / 7; /* 2 x 4 given up, and 1 brought back */
    ck_assert_double_gt(given, 0);
    for (int n = 1; n <= 4; n++) {
        const double expected = held[0] - 2 * n * given + (n == 4 ? given : 0);
        ck_assert_double_eq_tol(held[n], expected, 1);
        ck_assert_double_lt(step[n - 1], step[n]);
        ck_assert_double_gt(held[n - 1], held[n]);
    }
}

/* Picoseconds that run again before the backward of micro-batch 0, by layer. */
static void again(const struct quick_run *q, ty_ps layer[8])
{
    const struct ty_program *p = &q->run->lowered.program;
    memset(layer, 0, 8 * sizeof(*layer));
    for (uint32_t i = 0; i < p->n_passes; i++) {
        const struct ty_op *ops = ty_pass_ops(p, &p->passes[i]);
        for (uint32_t k = 0; k < p->blocks[p->passes[i].block].n_ops && p->passes[i].mb == 0; k++) {
            const struct ty_kind *kind = &p->kinds[ops[k].kind];
            layer[ops[k].layer < 8 ? ops[k].layer : 0] +=
                kind->category == TY_CAT_RECOMPUTE ? kind->dur : 0;
        }
    }
}

/* In the order in which they are written, from the first layer of each virtual stage on. */
TEST(layers_of_a_stage_run_again_in_different_ways)
{
    static const struct {
        const char *schedule, *layers;
        char mode[9]; /* of each layer: f full, s selective */
    } rows[] = {
        {"schedule.name=1f1b", "layout.recompute_layers=[full:1+selective:2,2]", "fss-ff--"},
        {"schedule.name=1f1b", "layout.recompute_layers=[selective:3,none:1+full:2]", "sss--ff-"},
        {"schedule.name=interleaved", "layout.recompute_layers=[2,selective:1+full:1,1,0]",
         "ffsff---"},
        {"schedule.name=zb-1p", "layout.recompute_layers=full:1+core_attn:1", "fs--fs--"}};
    struct quick_run full = quick_run(small, NULL, SETS("layout.recompute=full"));
    struct quick_run core = quick_run(small, NULL, SETS("layout.recompute=selective"));
    ty_ps all[8], some[8];
    again(&full, all);
    again(&core, some);
    ck_assert_int_gt(some[0], 0);
    ck_assert_int_gt(all[0], some[0]);
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct quick_run q =
            quick_run(small, NULL, SETS("layout.recompute=full", rows[i].schedule, rows[i].layers));
        ty_ps layer[8];
        again(&q, layer);
        for (int k = 0; k < 8; k++) {
            const char mode = rows[i].mode[k];
            ck_assert_int_eq(layer[k], mode == 'f' ? all[k] : mode == 's' ? some[k] : 0);
        }
        quick_run_free(&q);
    }
    quick_run_free(&full);
    quick_run_free(&core);
}

/* The lines of a bill add up to the fullest moment of the passes. */
TEST(bills_of_mixed_stages_add_up)
{
    static const char *const schedules[] = {"schedule.name=1f1b", "schedule.name=zb-1p",
                                            "schedule.name=interleaved", "schedule.name=gpipe"};
    static const char *const layers[] = {"layout.recompute_layers=1", "layout.recompute_layers=3",
                                         "layout.recompute_layers=selective:1+full:1"};
    for (size_t i = 0; i < TY_COUNT(schedules) * TY_COUNT(layers); i++) {
        struct quick_run q =
            quick_run((i + i / 4) % 2 == 0 ? small : sparse, NULL,
                      SETS("layout.recompute=full", schedules[i % 4], layers[i / 4],
                           "cluster.fragmentation=0", "cluster.reserve=1 GB"));
        for (uint32_t s = 0; s < 2; s++) {
            const struct ty_program *p = &q.run->lowered.program;
            struct ty_gang_memory memory;
            struct ty_bill bill;
            ty_memory_profile(p, &p->gangs[s], &memory);
            ty_run_bill(q.run, s, &bill);
            ck_assert_double_eq_tol(bill.total_B, memory.peak_B + 1e9, 1);
        }
        quick_run_free(&q);
    }
}

TEST(mistakes_are_told)
{
    static const struct {
        const char *layout, *message;
    } rows[] = {
        {"recompute_layers: 4", "4: layout.recompute is none; write there which parts of these "
                                "layers to recompute, or full:4 here"},
        {"recompute: full, recompute_layers: [4, 3, 2]",
         "3 numbers for pipeline x schedule.chunks = 4 stages; write 4, or one for all of them"},
        {"recompute: full, recompute_layers: [4, 3, 2, 9]",
         "9 layers of stage 3, which has 8; write at most 8"},
        {"recompute_layers: [full:1+norm:1, ffn:1, mlp:1, 0]",
         "more than 3 different sets of parts, of a model with so many kinds of layers; write at "
         "most 3 beside none"},
        {"recompute_layers: moe:2",
         "moe: the model has no experts (model.experts is 0); leave it out"},
        {"recompute_layers: full", "no number behind the last word (full); "},
        {"recompute_layers: \"full:\"", "not a whole number (); "},
        {"recompute_layers: full:1+norm:1+ffn:1+mlp:1+full:1", "too many sets of words ("},
        {"recompute_layers: none+full:2", "given beside others (none); "},
        {"recompute_layers: 4+3", "unknown word (4); "},
        {"recompute_layers: -1", "too small (-1); "}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        char text[160], wanted[256];
        model_case_begin(&c, 4);
        ck_assert_int_eq(model_read(&c, "llama-7b", "{}"), 0);
        (void)snprintf(text, sizeof(text), "{pipeline: 4, global_batch: 32, %s}", rows[i].layout);
        (void)snprintf(wanted, sizeof(wanted), "layout.recompute_layers: %s", rows[i].message);
        ck_assert_int_eq(layout_read(&c, text, 1), TY_EINPUT);
        ck_assert_msg(strstr(c.err.text, wanted) != NULL, "%s", c.err.text);
        ck_assert_uint_eq(c.err.n, 1);
        model_case_release(&c);
    }
}

/* As it was written, but for words that say the same. */
TEST(counts_are_written_as_they_are_read)
{
    static const char *const rows[][2] = {
        {"4", "[4]"},
        {"auto", "auto"},
        {"[4, 3, 2, 0]", "[4, 3, 2, 0]"},
        {"full:2+core_attn:3", "[full:2+selective:3]"},
        {"[norm+mlp:2, none:1+full:1, 0, 0]", "[norm+mlp:2, none:1+full:1, 0, 0]"}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct model_case c;
        char text[160], written[160];
        model_case_begin(&c, 4);
        ck_assert_int_eq(model_read(&c, "llama-7b", "{}"), 0);
        (void)snprintf(text, sizeof(text),
                       "{pipeline: 4, global_batch: 32, recompute: full, recompute_layers: %s}",
                       rows[i][0]);
        ck_assert_int_eq(layout_read(&c, text, 1), 0);
        ck_assert_str_eq(ty_field_format(&c.layout_section,
                                         ty_section_field(&c.layout_section, "recompute_layers"),
                                         written, sizeof(written)),
                         rows[i][1]);
        model_case_release(&c);
    }
}

TY_SUITE("recompute_layers")
