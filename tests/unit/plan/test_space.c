/* test_space.c - the space of a plan: its size, and that its points are legal and no others. */
#include "sim/plan/space.h"

#include <stdio.h>

#include "sim/config/vary.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-13b}\n"
                            "layout: {global_batch: 8}\n";

/* A space of a run file's text. */
struct made {
    struct ty_config *base;
    struct ty_plan_space space;
    struct ty_arena arena;
    struct temp_dir dir;
    struct ty_err err;
    int rc;
};

static void make(struct made *m, const char *text, const char *const *over, size_t n_over,
                 const char *const *sets, size_t n_sets)
{
    temp_dir_make(&m->dir);
    const char *path = temp_dir_file(&m->dir, "run.yaml");
    const struct ty_source source = {.path = path, .sets = sets, .n_sets = n_sets};
    FILE *out = fopen(path, "w");
    ck_assert(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
    m->arena = (struct ty_arena){.head = NULL};
    m->space = (struct ty_plan_space){.n_points = 0};
    ty_err_init(&m->err);
    m->rc = ty_config_read_open(&m->base, &source, &m->err);
    if (m->rc == 0) {
        m->rc = ty_plan_space(&m->space, m->base, &source, over, n_over, &m->arena, &m->err);
    }
}

static void drop(struct made *m)
{
    ty_plan_space_release(&m->space);
    ty_arena_release(&m->arena);
    ty_config_free(m->base);
    temp_dir_remove(&m->dir);
}

/* Rules of the frameworks that a script has which counts such grids (PTD-P, Narayanan et al. 2021):
 * with chunks whole groups of micro-batches, and as many layers in every stage. */
static uint32_t count_usual(const struct ty_plan_space *space)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < space->n_points; i++) {
        const struct ty_plan_point *p = &space->point[i];
        n += p->chunks == 1 || (p->micro_batches % p->pipeline == 0 &&
                                space->base->arch.layers % (p->pipeline * p->chunks) == 0);
    }
    return n;
}

TEST(the_grids_of_three_models_have_as_many_layouts_as_counted_elsewhere)
{
    static const struct {
        const char *text;
        uint32_t usual;
    } rows[] = {
        {"cluster: {preset: dgx-a100-80g, nodes: 8}\n"
         "model: {layers: 40, heads: 40, hidden: 5120, sequence: 2048, vocabulary: 51200}\n"
         "layout: {global_batch: 2048}\nframework: {zero_in_pipeline: 1}\n",
         9688},
        {"cluster: {preset: dgx-a100-80g, nodes: 32}\n"
         "model: {layers: 80, heads: 64, hidden: 8192, sequence: 2048, vocabulary: 51200}\n"
         "layout: {global_batch: 2048}\nframework: {zero_in_pipeline: 1}\n",
         21528},
        {"cluster: {preset: dgx-a100-80g, nodes: 128}\n"
         "model: {layers: 96, heads: 96, hidden: 12288, sequence: 2048, vocabulary: 51200}\n"
         "layout: {global_batch: 1536}\nframework: {zero_in_pipeline: 1}\n",
         25648},
    };
    static const char *const over[] = {"layout.order=[tensor, context, data, pipeline]"};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct made m;
        make(&m, rows[i].text, over, 1, NULL, 0);
        ck_assert_msg(m.rc == 0, "%s", m.err.text);
        ck_assert_uint_eq(count_usual(&m.space), rows[i].usual);
        drop(&m);
    }
}

static void sets_of(const struct made *m, const struct ty_plan_point *p, char set[12][96])
{
    char recompute[64], order[64];
    struct ty_config c;
    ck_assert_int_eq(ty_plan_apply(&m->space, p, &c, NULL), 0);
    const struct ty_section *s = &c.sections[TY_SECTION_LAYOUT];
    ty_field_format(s, ty_section_field(s, "recompute"), recompute, sizeof(recompute));
    ty_field_format(s, ty_section_field(s, "order"), order, sizeof(order));
    ty_config_drop(&c);
    const struct {
        const char *key;
        uint32_t value;
    } numbers[] = {{"layout.tensor", p->tensor},
                   {"layout.context", p->context},
                   {"layout.pipeline", p->pipeline},
                   {"layout.expert", p->expert},
                   {"layout.expert_tensor", p->expert_tensor},
                   {"layout.micro_batch", p->micro_batch},
                   {"schedule.chunks", p->chunks},
                   {"layout.zero", p->zero}};
    for (size_t i = 0; i < TY_COUNT(numbers); i++) {
        (void)snprintf(set[i], 96, "%s=%u", numbers[i].key, (unsigned)numbers[i].value);
    }
    (void)snprintf(set[8], 96, "schedule.name=%s", ty_schedules[p->schedule]->name);
    (void)snprintf(set[9], 96, "layout.recompute=%s", recompute);
    (void)snprintf(set[10], 96, "layout.sequence_parallel=%s",
                   p->sequence_parallel ? "true" : "false");
    (void)snprintf(set[11], 96, "layout.order=%s", order);
}

/* The stack included, which follows from the ZeRO stage where none is named. */
TEST(a_point_is_the_run_file_with_its_values)
{
    struct made m;
    make(&m, small, NULL, 0, NULL, 0);
    ck_assert_msg(m.rc == 0, "%s", m.err.text);
    ck_assert_uint_gt(m.space.n_points, 1000);
    uint32_t stacks = 0;
    for (uint32_t i = 0; i < m.space.n_points; i += 37) {
        char set[12][96];
        const char *sets[12];
        struct ty_config *whole, c;
        sets_of(&m, &m.space.point[i], set);
        for (size_t k = 0; k < 12; k++) {
            sets[k] = set[k];
        }
        ck_assert_msg(ty_config_read(&whole,
                                     &(struct ty_source){
                                         .path = m.base->docs[0].file, .sets = sets, .n_sets = 12},
                                     &m.err) == 0,
                      "%s", m.err.text);
        ck_assert_int_eq(ty_plan_apply(&m.space, &m.space.point[i], &c, &m.err), 0);
        ck_assert_uint_eq(ty_config_digest(&c), ty_config_digest(whole));
        ck_assert_str_eq(c.layout.framework.preset, whole->layout.framework.preset);
        ck_assert_uint_eq(c.layout.micro_batches, m.space.point[i].micro_batches);
        ck_assert_uint_eq(c.layout.data, m.space.point[i].data);
        stacks |= 1u << (c.layout.framework.preset[0] == 'f');
        ty_config_drop(&c);
        ty_config_free(whole);
    }
    ck_assert_uint_eq(stacks, 3);
    drop(&m);
}

TEST(a_key_that_is_given_is_fixed_and_auto_opens_it)
{
    static const char given[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                                "model: {preset: llama-13b}\n"
                                "layout: {tensor: 4, zero: auto, global_batch: 8}\n"
                                "schedule: {name: 1f1b}\n";
    static const char *const opened[] = {"layout.tensor=auto"};
    struct made m, n;
    bool other_zero = false, other_tensor = false;
    make(&m, given, NULL, 0, NULL, 0);
    ck_assert_msg(m.rc == 0, "%s", m.err.text);
    for (uint32_t i = 0; i < m.space.n_points; i++) {
        const struct ty_plan_point *p = &m.space.point[i];
        ck_assert_uint_eq(p->tensor, 4);
        ck_assert_str_eq(ty_schedules[p->schedule]->name, "1f1b");
        other_zero = other_zero || p->zero == 3;
    }
    ck_assert(other_zero);
    make(&n, given, NULL, 0, opened, 1);
    for (uint32_t i = 0; i < n.space.n_points; i++) {
        other_tensor = other_tensor || n.space.point[i].tensor == 8;
    }
    ck_assert(other_tensor);
    drop(&m);
    drop(&n);
}

/* A grid of ranks asks something of the micro-batch, which comes after it. */
TEST(grids_of_ranks_have_their_micro_batches)
{
    struct made m;
    bool grid = false;
    make(&m,
         "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
         "model: {preset: llama-13b}\n"
         "layout: {tensor_scheme: 2d, global_batch: 32}\n"
         "schedule: {name: 1f1b}\n",
         NULL, 0, NULL, 0);
    ck_assert_msg(m.rc == 0, "%s", m.err.text);
    for (uint32_t i = 0; i < m.space.n_points; i++) {
        const struct ty_plan_point *p = &m.space.point[i];
        ck_assert_msg(p->tensor == 1 || p->tensor == 4 || p->tensor == 16, "%u",
                      (unsigned)p->tensor);
        ck_assert_uint_eq(p->micro_batch % (p->tensor == 16 ? 4 : p->tensor == 4 ? 2 : 1), 0);
        grid = grid || p->tensor == 16;
    }
    ck_assert(grid);
    drop(&m);
}

/* As `sweep` would list them: every scheme and depth, those that `check` takes. */
TEST(schemes_are_searched_where_that_is_asked_for)
{
    static const char *const over[] = {"layout.tensor=1,8,16", "layout.tensor_scheme=auto",
                                       "layout.sequence_parallel=auto"};
    static const char *const few[] = {"layout.tensor=16", "layout.tensor_scheme=2.5d,2d",
                                      "layout.tensor_depth=1,4"};
    static const char text[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                               "model: {preset: llama-13b, heads: 32, hidden: 4096}\n"
                               "layout: {global_batch: 16, micro_batch: 16, zero: 0,\n"
                               "  recompute: none, context: 1, pipeline: 1,\n"
                               "  order: [tensor, context, data, pipeline]}\n"
                               "schedule: {name: 1f1b}\n";
    struct made m;
    make(&m, text, over, TY_COUNT(over), NULL, 0);
    ck_assert_msg(m.rc == 0, "%s", m.err.text);
    uint32_t schemes[4] = {0}, depth4 = 0;
    for (uint32_t i = 0; i < m.space.n_points; i++) {
        const struct ty_plan_point *p = &m.space.point[i];
        ck_assert(p->tensor_depth == 1 || p->tensor_scheme == TY_TENSOR_25D);
        ck_assert(p->tensor > 1 || p->tensor_scheme == TY_TENSOR_1D);
        ck_assert(!p->sequence_parallel || p->tensor_scheme == TY_TENSOR_1D);
        schemes[p->tensor_scheme]++;
        depth4 += p->tensor_depth == 4;
    }
    /* data 1 takes the batch of 16: tensor 16 in lines (with and without sequence parallelism), as
     * 4 x 4 and 2 x 2 x 4 */
    ck_assert_uint_eq(schemes[TY_TENSOR_1D], 2);
    ck_assert_uint_eq(schemes[TY_TENSOR_2D], 1);
    ck_assert_uint_eq(schemes[TY_TENSOR_25D], 1);
    ck_assert_uint_eq(schemes[TY_TENSOR_3D], 0);
    ck_assert_uint_eq(depth4, 1);
    drop(&m);
    make(&m, text, few, TY_COUNT(few), NULL, 0);
    ck_assert_msg(m.rc == 0, "%s", m.err.text);
    ck_assert_uint_eq(m.space.n_points, 3); /* 2.5d with 1 and 4 grids, 2d */
    drop(&m);
}

/* Orders that differ by axes of one rank alone are one. */
TEST(orders_are_those_that_place_ranks_differently)
{
    static const char *const over[] = {"layout.tensor=2",
                                       "layout.pipeline=4",
                                       "layout.zero=0",
                                       "layout.micro_batch=1",
                                       "layout.recompute=none",
                                       "schedule.name=1f1b",
                                       "layout.sequence_parallel=false"};
    struct made m;
    make(&m, small, over, TY_COUNT(over), NULL, 0);
    ck_assert_uint_eq(m.space.n_points, 6); /* of tensor, data and pipeline */
    drop(&m);
}

/* An answer may not be slower than the file because its own recomputation is no candidate. */
TEST(candidates_have_what_the_file_has)
{
    static const char *const over[] = {"layout.recompute=auto"};
    struct made m;
    uint32_t own = 0;
    make(&m,
         "cluster: {preset: dgx-a100-80g, nodes: 2}\nmodel: {preset: llama-13b}\n"
         "layout: {tensor: 2, pipeline: 1, global_batch: 8, recompute: norm+mlp}\n",
         over, 1, NULL, 0);
    ck_assert_int_eq(m.rc, 0);
    for (uint32_t i = 0; i < m.space.n_points; i++) {
        own += m.space.point[i].recompute == m.space.own->layout.recompute;
    }
    ck_assert_uint_gt(own, 0);
    ck_assert_uint_lt(own, m.space.n_points);
    drop(&m);
}

/* A section is searched as if the file had fixed none of it; single keys still can be. */
TEST(a_section_is_freed)
{
    static const char fixed[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                                "model: {preset: llama-13b}\n"
                                "layout: {tensor: 2, pipeline: 2, micro_batch: 1, zero: 1,\n"
                                "  recompute: none, global_batch: 8}\nschedule: {name: 1f1b}\n";
    static const char *const over[] = {"layout=auto", "layout.micro_batch=1", "schedule=auto"};
    struct made open, freed;
    make(&open, small, &over[1], 1, NULL, 0);
    make(&freed, fixed, over, 3, NULL, 0);
    ck_assert_int_eq(freed.rc, 0);
    ck_assert_uint_eq(freed.space.n_points, open.space.n_points);
    drop(&open);
    drop(&freed);
}

/* Chunks of one rank are no pipeline: Megatron-LM has no such mode. */
TEST(nothing_is_interleaved_without_a_pipeline)
{
    static const char *const over[] = {"layout.pipeline=1,2", "schedule.name=1f1b,interleaved"};
    struct made m;
    uint32_t both = 0;
    make(&m, small, over, 2, NULL, 0);
    ck_assert_int_eq(m.rc, 0);
    for (uint32_t i = 0; i < m.space.n_points; i++) {
        const struct ty_plan_point *p = &m.space.point[i];
        ck_assert(p->pipeline > 1 || p->chunks == 1);
        both += p->pipeline > 1 && p->chunks > 1;
    }
    ck_assert_uint_gt(both, 0);
    drop(&m);
    static const char *const alone[] = {"layout.pipeline=1", "schedule.name=1f1b,interleaved"};
    make(&m, small, alone, 2, NULL, 0);
    ck_assert_int_eq(m.rc, 0);
    ck_assert_uint_gt(m.space.n_points, 0);
    for (uint32_t i = 0; i < m.space.n_points; i++) {
        ck_assert_uint_eq(m.space.point[i].chunks, 1);
    }
    drop(&m);
}

TEST(what_cannot_be_is_said)
{
    static const struct {
        const char *text, *over, *says;
    } rows[] = {
        {small, "layout.tensr=1,2", "did you mean \"layout.tensor\""},
        {small, "framework.bucket=1 MB", "\"trainyard sweep\" takes any key"},
        {small, "layout.tensor=1,x", "not a whole number (x)"},
        {small, "layout.tensor", "not KEY=V1,V2"},
        {small, "layout.tensor=3", "layout.tensor: 3 does not divide"},
        {"cluster: {preset: dgx-a100-80g, nodes: 2}\nmodel: {preset: llama-13b}\n"
         "layout: {data: 3, global_batch: 8}\n",
         NULL, "run.yaml:3:16: layout.data: tensor x context"},
        {"cluster: {preset: dgx-a100-80g, nodes: 2}\nmodel: {preset: llama-13b}\n"
         "layout: {global_batch: 8, nodes: [0]}\njobs: [{name: other}]\n",
         NULL, "jobs: a plan searches the layout of one job"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct made m;
        make(&m, rows[i].text, &rows[i].over, rows[i].over != NULL, NULL, 0);
        ck_assert_int_lt(m.rc, 0);
        ck_assert_msg(strstr(m.err.text, rows[i].says) != NULL, "%s", m.err.text);
        drop(&m);
    }
}

TY_SUITE("space")
