/* test_uneven.c - what unequal stages add to the best of a space. */
#include "sim/plan/meshes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/config/vary.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

struct made {
    struct ty_config *base;
    struct ty_plan_space space;
    struct ty_arena arena;
    struct ty_err err;
};

static void make(struct made *m, const char *text, const char *const *over, size_t n_over)
{
    struct temp_dir dir;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "run.yaml");
    const struct ty_source source = {.path = path};
    FILE *out = fopen(path, "w");
    ck_assert(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
    *m = (struct made){.base = NULL};
    ty_err_init(&m->err);
    ck_assert_msg(ty_config_read_open(&m->base, &source, &m->err) == 0, "%s", m->err.text);
    ck_assert_msg(ty_plan_space(&m->space, m->base, &source, over, n_over, &m->arena, &m->err) == 0,
                  "%s", m->err.text);
    temp_dir_remove(&dir);
}

static void drop(struct made *m)
{
    ty_plan_space_release(&m->space);
    ty_arena_release(&m->arena);
    ty_config_free(m->base);
}

/* Step time of a point, and with stages of its own; HUGE_VAL: it does not fit. */
static double step_of(struct made *m, uint32_t point, const struct ty_plan_stages *stages)
{
    struct ty_config config;
    struct ty_run *run;
    struct ty_bill bill;
    struct ty_figures figures;
    ck_assert_int_eq(ty_plan_apply(&m->space, &m->space.point[point], &config, &m->err), 0);
    if (stages != NULL) {
        ck_assert_int_eq(ty_plan_stages_apply(stages, &config, &m->err), 0);
    }
    ck_assert_int_eq(ty_run_new(&run, &config, &m->err), 0);
    ck_assert_int_eq(ty_run_execute(run, NULL, &m->err), 0);
    ty_run_figures(run, &figures);
    ty_run_fullest(run, &bill);
    ty_run_free(run);
    ty_config_drop(&config);
    return bill.total_B > bill.capacity_B ? HUGE_VAL : figures.step_s;
}

static double best_of(struct made *m)
{
    double best = HUGE_VAL;
    for (uint32_t i = 0; i < m->space.n_points; i++) {
        best = fmin(best, step_of(m, i, NULL));
    }
    return best;
}

static const char tight[] = "cluster: {preset: dgx-a100-80g, nodes: 1, reserve: 72 GB}\n"
                            "model: {preset: llama-7b, sequence: 4096, layers: 16}\n"
                            "layout: {tensor: 2, global_batch: 32, zero: 0, order: [tensor, "
                            "context, data, pipeline], sequence_parallel: false}\n"
                            "schedule: {name: 1f1b}\n";
static const char *const over[] = {"layout.pipeline=1,2,4", "layout.micro_batch=1,2",
                                   "layout.recompute=none,full"};

/* Memory is short: counts between none and all are faster than all layouts of the space. */
TEST(counts_beat_the_best_of_the_space)
{
    struct made m;
    struct ty_plan_uneven out;
    make(&m, tight, over, TY_COUNT(over));
    const double even = best_of(&m);
    ck_assert_msg(ty_plan_uneven(&m.space, even, 16, NULL, &out, &m.arena, &m.err) == 0, "%s",
                  m.err.text);
    ck_assert(out.found);
    ck_assert_double_lt(out.stages.step_s, 0.8 * even); /* 2.97 s, 2.35 s */
    ck_assert_double_eq(step_of(&m, out.point, &out.stages), out.stages.step_s);
    drop(&m);
}

/* The least of a point's cuts into two stages and counts of both, simulated. */
static double best_cut(struct made *m, uint32_t point, uint32_t layers)
{
    double best = HUGE_VAL;
    for (uint32_t first = 0; first <= layers; first++) {
        for (uint32_t a = 0; a <= first; a++) {
            for (uint32_t b = 0; b <= layers - first; b++) {
                uint32_t own[] = {first, layers - first};
                struct ty_counts counts[] = {{.n = 1}, {.n = 1}};
                counts[0].item[0].set = a > 0 ? TY_RECOMPUTE_FULL : TY_COUNTS_PLAIN;
                counts[0].item[0].n = a;
                counts[1].item[0].set = b > 0 ? TY_RECOMPUTE_FULL : TY_COUNTS_PLAIN;
                counts[1].item[0].n = b;
                const struct ty_plan_stages stages = {.stage_layers = {2, own},
                                                      .recompute_layers = {2, counts}};
                best = fmin(best, step_of(m, point, &stages));
            }
        }
    }
    return best;
}

/* Brute force over all partitions and counts finds nothing that is 1 % faster. */
TEST(what_is_found_is_near_the_best_of_all_partitions)
{
    static const char *const axes[] = {"layout.micro_batch=1,2", "layout.recompute=none,full",
                                       "schedule.name=gpipe,1f1b,zb-1p"};
    static const char *const reserves[] = {"79.6", "80.2", "80.8"};
    uint32_t faster = 0;
    for (size_t i = 0; i < TY_COUNT(reserves); i++) {
        struct made m;
        struct ty_plan_uneven out;
        char text[512];
        (void)snprintf(text, sizeof(text),
                       "cluster: {preset: dgx-a100-80g, nodes: 1, reserve: %s GB}\n"
                       "model: {preset: llama-7b, sequence: 4096, layers: 6}\n"
                       "layout: {tensor: 4, pipeline: 2, global_batch: 8, zero: 0, order: [tensor, "
                       "context, data, pipeline], sequence_parallel: false}\n",
                       reserves[i]);
        make(&m, text, axes, TY_COUNT(axes));
        const double even = best_of(&m);
        double best = even;
        for (uint32_t k = 0; k < m.space.n_points; k++) {
            if (m.space.point[k].recompute == TY_RECOMPUTE_NONE) {
                best = fmin(best, best_cut(&m, k, 6));
            }
        }
        ck_assert_int_eq(ty_plan_uneven(&m.space, even, 99, NULL, &out, &m.arena, &m.err), 0);
        const double found = out.found ? out.stages.step_s : even;
        ck_assert_double_ge(found, best);
        ck_assert_double_le(found, 1.01 * best);
        faster += found < even;
        drop(&m);
    }
    ck_assert_uint_ge(faster, 1);
}

/* No more layouts than asked for, none when stopped, and none that cannot be faster. */
TEST(it_ends_where_it_should)
{
    struct made m;
    struct ty_plan_uneven out;
    const volatile int stop = 1;
    make(&m, tight, over, TY_COUNT(over));
    ck_assert_int_eq(ty_plan_uneven(&m.space, HUGE_VAL, 1, NULL, &out, &m.arena, &m.err), 0);
    ck_assert_uint_eq(out.dealt, 1);
    ck_assert_int_eq(ty_plan_uneven(&m.space, HUGE_VAL, 16, &stop, &out, &m.arena, &m.err), 0);
    ck_assert_uint_eq(out.dealt, 0);
    ck_assert_int_eq(ty_plan_uneven(&m.space, 1e-3, 16, NULL, &out, &m.arena, &m.err), 0);
    ck_assert_uint_eq(out.dealt, 0);
    ck_assert(!out.found);
    drop(&m);
}

/* Ten layers on six GPUs: no even number of stages is good, seven layers on four of them and three
 * on two are. */
TEST(stages_of_different_width_beat_the_best_of_the_space)
{
    static const char six[] =
        "cluster: {preset: dgx1-v100, nodes: 1, memory: 15 GiB}\n"
        "model: {preset: gpt3-2.7b, hidden: 2048, layers: 10, sequence: 1024, dtype: fp16, "
        "attention: unfused, tied: false}\n"
        "layout: {gpus: [0-5], global_batch: 64, recompute: full, zero: 0, sequence_parallel: "
        "false, order: [tensor, context, data, pipeline]}\n"
        "schedule: {name: 1f1b}\n";
    static const char *const axes[] = {"layout.tensor=1,2", "layout.pipeline=3,6",
                                       "layout.micro_batch=1,2,4"};
    const volatile int stop = 1;
    struct made m;
    struct ty_plan_uneven out = {.found = false};
    make(&m, six, axes, TY_COUNT(axes));
    const double even = best_of(&m);
    double step_s = even;
    ck_assert_int_eq(ty_plan_meshes(&m.space, &step_s, 4, &stop, &out, &m.arena, &m.err), 0);
    ck_assert(!out.found);
    ck_assert_msg(ty_plan_meshes(&m.space, &step_s, 4, NULL, &out, &m.arena, &m.err) == 0, "%s",
                  m.err.text);
    ck_assert(out.found);
    ck_assert_uint_le(out.dealt, 4);
    ck_assert_double_lt(step_s, 0.97 * even); /* 1.42 s, 1.36 s */
    ck_assert_double_eq(out.stages.step_s, step_s);
    ck_assert_double_eq(step_of(&m, out.point, &out.stages), step_s);
    ck_assert_str_eq(ty_plan_uneven_value(&out, "layout", "stage_layers"), "[8, 2]");
    ck_assert_str_eq(ty_plan_uneven_value(&out, "layout", "stage_data"), "[4, 2]");
    drop(&m);
}

TY_SUITE("uneven")
