/* test_vary.c - variants of a configuration are what the file with their values is. */
#include "sim/config/vary.h"

#include <stdio.h>

#include "sim/base/noise.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char file[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                           "model: {preset: llama-30b}\n"
                           "layout: {tensor: 4, pipeline: 2, global_batch: 64}\n";

static struct temp_dir dir;

static struct ty_config *read_with(const char *text, const char *const *sets, size_t n,
                                   struct ty_err *err)
{
    struct ty_config *config = NULL;
    temp_dir_make(&dir);
    const char *path = temp_dir_file(&dir, "run.yaml");
    FILE *out = fopen(path, "w");
    ck_assert(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
    ty_err_init(err);
    (void)ty_config_read(&config, &(struct ty_source){.path = path, .sets = sets, .n_sets = n},
                         err);
    temp_dir_remove(&dir);
    return config;
}

/* Layouts right and wrong: a variant has the digest, or the message, of a file with its values. */
TEST(a_variant_is_what_its_values_make_of_the_file)
{
    static const uint32_t degree[] = {1, 2, 3, 8}, schedule[] = {0, 1, 3, 7, 16};
    struct ty_err err, own;
    uint32_t right = 0, wrong = 0;
    struct ty_config *base = read_with(file, NULL, 0, &err);
    ck_assert_ptr_nonnull(base);
    for (size_t i = 0; i < TY_COUNT(degree) * TY_COUNT(degree) * TY_COUNT(schedule); i++) {
        const uint32_t tensor = degree[i % 4], pipeline = degree[i / 4 % 4],
                       name = schedule[i / 16];
        char set[3][64];
        (void)snprintf(set[0], sizeof(set[0]), "layout.tensor=%u", (unsigned)tensor);
        (void)snprintf(set[1], sizeof(set[1]), "layout.pipeline=%u", (unsigned)pipeline);
        (void)snprintf(set[2], sizeof(set[2]), "schedule.name=%s", ty_sched_words[name].name);
        const char *const sets[] = {set[0], set[1], set[2]};
        struct ty_config *whole = read_with(file, sets, 3, &err);
        struct ty_config c;
        ty_config_vary(&c, base);
        c.layout.tensor = tensor;
        c.layout.pipeline = pipeline;
        c.schedule.name = (int)name;
        ty_err_init(&own);
        const int rc = ty_config_complete(&c, &own);
        ck_assert_int_eq(rc == 0, whole != NULL);
        if (rc == 0) {
            ck_assert_uint_eq(ty_config_digest(&c), ty_config_digest(whole));
            ck_assert_uint_eq(c.layout.data, whole->layout.data);
            ck_assert_uint_eq(c.layout.micro_batches, whole->layout.micro_batches);
            right++;
        } else {
            wrong++;
        }
        ty_config_drop(&c);
        ty_config_free(whole);
    }
    ck_assert_uint_gt(right, 20);
    ck_assert_uint_gt(wrong, 20);
    ty_config_free(base);
}

/* The configuration of some settings, as it shows itself; "": it is wrong, and err says why. */
static void show(struct ty_config *config, int rc, char *text, size_t size)
{
    char *all = NULL;
    text[0] = '\0';
    if (rc == 0) {
        struct ty_err err;
        ty_err_init(&err);
        ck_assert_int_eq(ty_config_show(config, &all, &err), 0);
        (void)snprintf(text, size, "%016llx\n%s", (unsigned long long)ty_config_digest(config),
                       all);
        ty_text_free(all);
    }
    ty_config_free(config);
}

/* Settings of any kind, right and wrong. */
static const char *const settings[] = {
    "layout.tensor=1",
    "layout.tensor=3",
    "layout.tensor=x",
    " layout.tensor = 2",
    "layout.pipeline=4",
    "layout.pipeline=1",
    "layout.data=auto",
    "layout.tensor=auto",
    "layout.data=3",
    "layout.zero=1",
    "layout.zero=3",
    "layout.zero=9",
    "layout.zero =3",
    "layout.micro_batch=2",
    "layout.global_batch=100",
    "layout.nodes=[0-1]",
    "layout.stage_layers=[20, 40]",
    "layout.order=[tensor, pipeline, data, context]",
    "layout.recompute=norm+core_attn",
    "layout.recompute=[norm, core_attn]",
    "schedule.name=interleaved",
    "schedule.name=zb-v",
    "schedule.chunks=2",
    "schedule.name=none",
    "schedule.file=nothere",
    "model.preset=llama-7b",
    "model.preset=lama",
    "model.sequence=4096",
    "model.heads=7",
    "model.experts=8",
    "model.name=mine",
    "cluster.preset=dgx-h100",
    "cluster.nodes=4",
    "cluster.nodes=0",
    "cluster.derate=1.5",
    "cluster.gpu=h100-sxm-80g",
    "cluster.gpus_per_node=64",
    "fabric.preset=nope",
    "fabric.oversubscription=2",
    "framework.preset=torchtitan",
    "framework.preset=nemo",
    "framework.rack_pipelines=true",
    "framework.bucket=50 MB",
    "framework.expert_overlap=true",
    "run.contention=false",
    "run.routing=zipf 1",
    "run.jitter=0.1",
    "run.jitter=-1",
    "output.trace=chrome:x.json",
    "output.trace=nothing:x",
    "uncertainty.errors=[\"cluster.derate 5 %\"]",
    "uncertainty.errors=[layout.tensor]",
    "fleet.price=2",
    "nothing=1",
    "layout.nothing=1",
    "layout=1",
    "jobs=none",
};

/* In any order one after the other: each row is what the file says when it is read with them, in
 * every value, origin and message. How many rows are right. */
static uint32_t check_rows(const char *text, uint32_t n)
{
    struct ty_err err, own;
    uint32_t right = 0;
    static char want[65536], got[65536];
    temp_dir_make(&dir);
    char path[192];
    (void)snprintf(path, sizeof(path), "%s", temp_dir_file(&dir, "run.yaml"));
    FILE *out = fopen(path, "w");
    ck_assert(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
    const char *const first[] = {"run.seed=5", "layout.tensor=2"};
    const struct ty_source source = {.path = path, .sets = first, .n_sets = 2};
    struct ty_config_bases *bases = ty_config_bases_new(&source);
    ck_assert_ptr_nonnull(bases);
    for (uint32_t i = 0; i < n; i++) {
        const char *sets[2 + 4] = {first[0], first[1]};
        const size_t more = ty_hash4(i, 1, 0, 0) % 4 + (i > 4);
        for (size_t k = 0; k < more && k < 4; k++) {
            sets[2 + k] = settings[ty_hash4(i, 2, k, 0) % TY_COUNT(settings)];
        }
        const size_t n_more = more < 4 ? more : 4;
        struct ty_config *whole = NULL, *row = NULL;
        ty_err_init(&err);
        ty_err_init(&own);
        const int rc = ty_config_read(
            &whole, &(struct ty_source){.path = path, .sets = sets, .n_sets = 2 + n_more}, &err);
        const int rc2 = ty_config_bases_read(&row, bases, sets + 2, n_more, &own);
        ck_assert_int_eq(rc, rc2);
        ck_assert_str_eq(err.text, own.text);
        show(whole, rc, want, sizeof(want));
        show(row, rc2, got, sizeof(got));
        ck_assert_str_eq(want, got);
        right += rc == 0;
    }
    ty_config_bases_free(bases);
    temp_dir_remove(&dir);
    return right;
}

static const char racks[] = "cluster: {preset: gb200-nvl72, gpus_per_node: 64, nodes: 2}\n"
                            "model: {preset: llama-30b}\n"
                            "layout: {tensor: 2, pipeline: 4, global_batch: 64, "
                            "sequence_parallel: true}\n"
                            "framework: {preset: nemo}\n";

/* framework.rack_pipelines: of dense models on racks, where the file says nothing. */
TEST(a_framework_orders_the_ranks_of_a_rack)
{
    static const struct {
        const char *set;
        int third;
    } rows[] = {{"run.seed=5", TY_AXIS_PIPELINE},
                {"cluster.gpus_per_node=16", TY_AXIS_DATA},
                {"model.preset=mixtral-8x7b", TY_AXIS_DATA},
                {"framework.preset=megatron-bridge", TY_AXIS_DATA},
                {"layout.order=[tensor, context, data, pipeline]", TY_AXIS_DATA}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_err err;
        struct ty_config *config = read_with(racks, &rows[i].set, 1, &err);
        ck_assert_msg(config != NULL, "%s", err.text);
        ck_assert_int_eq(config->layout.order.item[2], rows[i].third);
        ty_config_free(config);
    }
}

TEST(a_row_of_settings_is_what_reading_the_file_with_them_gives)
{
    static const char wrong[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                                "model: {preset: llama-30b}\n"
                                "layout: {tensor: 4, pipeline: 3, global_batch: 64}\n";
    static const char lacking[] = "cluster: {preset: dgx-a100-80g}\n"
                                  "layout: {pipeline: 2}\n";
    static const char misspelt[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                                   "modl: {preset: llama-30b}\n";
    static const char left[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                               "model: {preset: llama-30b}\n"
                               "layout: {tensor: auto, pipeline: 2, global_batch: 64}\n";
    static const char broken[] = "cluster: {preset: dgx-a100-80g\n";
    const uint32_t n = suite_part(8000, 8);
    const uint32_t right = check_rows(file, n);
    ck_assert(right > n / 10 && right < n - n / 10);
    ck_assert_uint_gt(check_rows(wrong, n / 4), 0);
    ck_assert_uint_gt(check_rows(left, n / 4), 0);
    ck_assert_uint_gt(check_rows(racks, n / 4), 0);
    (void)check_rows(lacking, n / 4);
    ck_assert_uint_eq(check_rows(misspelt, n / 20), 0);
    ck_assert_uint_eq(check_rows(broken, n / 20), 0);
}

TY_SUITE("vary")
