/* test_config.c - configuration: sources and their order, every message, show, digest, errors. */
#include "sim/config/config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>

#include "sim/core/execute/execute.h"
#include "sim/trainyard.h"
#include "tests/unit/config_mistakes.h"
#include "tests/unit/suite.h"
#include "traces/out/writer.h"

static const char good[] = "cluster:\n"
                           "  preset: dgx-a100-80g\n"
                           "  nodes: 2\n"
                           "model:\n"
                           "  preset: llama-30b\n"
                           "layout:\n"
                           "  tensor: 4\n"
                           "  pipeline: 2\n"
                           "  global_batch: 64\n";

/* Each test runs in a folder of its own, so that messages begin with a short name. */
#define TEMPLATE "/tmp/ty-config-XXXXXX"
static char folder[] = TEMPLATE;
static bool in_folder;

static void enter_folder(void)
{
    if (!in_folder) {
        ck_assert_ptr_nonnull(mkdtemp(folder));
        ck_assert_int_eq(chdir(folder), 0);
        in_folder = true;
    }
}

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static int load_with(struct ty_config **config, const char *text, const char *const *sets, size_t n,
                     struct ty_err *err)
{
    enter_folder();
    put_file("run.yaml", text);
    *err = (struct ty_err)TY_ERR_NONE;
    const int rc = ty_config_read(
        config, &(struct ty_source){.path = "run.yaml", .sets = sets, .n_sets = n}, err);
    ck_assert_int_eq(unlink("run.yaml"), 0);
    return rc;
}

static void clean_up(void)
{
    ck_assert_int_eq(chdir("/tmp"), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    memcpy(folder, TEMPLATE, sizeof(folder)); /* for runs without fork */
    in_folder = false;
}

static struct ty_config *load(const char *text, const char *const *sets, size_t n)
{
    struct ty_err err;
    struct ty_config *config;
    const int rc = load_with(&config, text, sets, n, &err);
    ck_assert_msg(rc == 0, "%s", err.text);
    ck_assert_str_eq(err.text, "");
    return config;
}

/* Origin of a key, as text. */
static const char *origin(const struct ty_config *config, enum ty_section_index section,
                          const char *key)
{
    static char buf[200];
    const struct ty_section *s = &config->sections[section];
    return ty_origin_format(ty_field_origin(s, ty_section_field(s, key)), buf, sizeof(buf));
}

TEST(values_come_from_presets_file_and_defaults)
{
    struct ty_config *c = load(good, NULL, 0);
    ck_assert_uint_eq(c->cluster.nodes, 2);
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "nodes"), "run.yaml:3");
    ck_assert_uint_eq(c->cluster.gpus_per_node, 8);
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "gpus_per_node"), "preset dgx-a100-80g");
    ck_assert(c->cluster.gpu.peak[TY_DTYPE_BF16] == 312e12);
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "peak_bf16"), "preset a100-sxm-80g");
    ck_assert_uint_eq(c->arch.layers, 60);
    ck_assert_str_eq(origin(c, TY_SECTION_MODEL, "layers"), "preset llama-30b");
    ck_assert_uint_eq(c->layout.tensor, 4);
    ck_assert_uint_eq(c->layout.data, 2);
    ck_assert_str_eq(origin(c, TY_SECTION_LAYOUT, "data"), "default");
    ck_assert_uint_eq(c->schedule.chunks, 0);
    ck_assert_uint_eq(c->run.steps, 1);
    ck_assert_uint_eq(c->run.seed, 1);
    ck_assert(c->run.jitter == 0);
    ck_assert(c->run.gpu_spread == 0);
    ck_assert_int_eq(c->run.engine, TY_ENGINE_AUTO);
    ck_assert_int_eq(c->output.stats, TY_STATS_TABLE);
    ck_assert_uint_eq(c->output.trace.n, 0);
    ck_assert(c->output.trace_limit == 1073741824.0);
    ck_assert_int_eq(c->output.detail, TY_DETAIL_LAYER);
    ck_assert_str_eq(c->output.ranks, "");
    ty_config_free(c);
    clean_up();
}

TEST(the_stronger_source_wins)
{
    static const char text[] =
        "cluster: {preset: dgx-a100-80g, gpu: h100-sxm, nodes: 2, sms: 100}\n"
        "model: {preset: llama-30b, sequence: 4096}\n"
        "layout: {tensor: 1, global_batch: 64}\n";
    static const char *const sets[] = {"layout.tensor=4", "layout.tensor=2", "cluster.sms=99"};
    struct ty_config *c = load(text, sets, TY_COUNT(sets));
    /* the GPU of the file, not that of the cluster preset */
    ck_assert_str_eq(c->cluster.gpu_preset, "h100-sxm");
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "memory"), "preset h100-sxm");
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "nvlink_bandwidth"), "preset dgx-a100-80g");
    ck_assert_uint_eq(c->cluster.gpu.sms, 99);
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "sms"), "--set");
    ck_assert_uint_eq(c->arch.sequence, 4096);
    ck_assert_uint_eq(c->layout.tensor, 2); /* the last --set */
    ty_config_free(c);
    clean_up();
}

TEST(set_can_choose_presets_and_lists)
{
    static const char *const sets[] = {
        "cluster.preset=dgx-h100",
        "model.preset=llama-65b",
        "cluster.gpu=h200-sxm",
        "layout.order=[data, tensor, context, pipeline]",
        "output.trace=[chrome:a.json, csv:b]",
        "run.jitter=3 %",
        "cluster.nic_bandwidth=100 Gb/s",
    };
    struct ty_config *c = load(good, sets, TY_COUNT(sets));
    ck_assert_uint_eq(c->arch.layers, 80);
    ck_assert(c->cluster.nvlink.bandwidth == 450e9);
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "memory"), "preset h200-sxm");
    ck_assert_int_eq(c->layout.order.item[0], TY_AXIS_DATA);
    ck_assert_uint_eq(c->output.trace.n, 2);
    ck_assert_str_eq(c->output.trace.item[1], "csv:b");
    ck_assert(c->run.jitter == 0.03);
    ck_assert(c->cluster.net.nic_bandwidth == 12.5e9);
    ty_config_free(c);
    clean_up();
}

TEST(a_byte_order_mark_is_passed_over)
{
    char text[sizeof(good) + 8];
    (void)snprintf(text, sizeof(text), "\xEF\xBB\xBF%s", good);
    struct ty_config *c = load(text, NULL, 0);
    ck_assert_uint_eq(c->layout.tensor, 4);
    ck_assert_str_eq(origin(c, TY_SECTION_CLUSTER, "nodes"), "run.yaml:3"); /* places stay */
    ty_config_free(c);
    clean_up();
}

TEST(a_section_may_be_empty_and_values_may_be_aliases)
{
    struct ty_config *c = load("cluster: {preset: dgx-a100-80g, nodes: &two 2}\n"
                               "model: {preset: llama-30b}\n"
                               "layout: {tensor: 4, pipeline: *two, global_batch: 64}\n"
                               "run:\noutput: {}\n",
                               NULL, 0);
    ck_assert_uint_eq(c->layout.pipeline, 2);
    ty_config_free(c);
    clean_up();
}

TEST(a_hugging_face_file_lies_beside_the_run_file)
{
    static const char json[] =
        "{\"model_type\": \"llama\", \"num_hidden_layers\": 7, \"hidden_size\": 64,\n"
        " \"num_attention_heads\": 4, \"num_key_value_heads\": 4, \"intermediate_size\": 256,\n"
        " \"vocab_size\": 100, \"max_position_embeddings\": 32}\n";
    static const char text[] = "cluster: {preset: dgx-a100-80g, nodes: 1}\n"
                               "model: {huggingface: tiny.json, sequence: 32}\n"
                               "layout: {global_batch: 8}\n";
    char path[100];
    struct ty_err err = TY_ERR_NONE;
    struct ty_config *c;
    enter_folder();
    put_file("tiny.json", json);
    put_file("run.yaml", text);
    ck_assert_int_eq(chdir("/"), 0);
    (void)snprintf(path, sizeof(path), "%s/run.yaml", folder);
    ck_assert_msg(ty_config_read(&c, &(struct ty_source){.path = path}, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(c->arch.layers, 7);
    ck_assert_str_eq(origin(c, TY_SECTION_MODEL, "layers"), "preset tiny.json");
    ty_config_free(c);

    /* a preset on the command line replaces the file's choice */
    static const char *const sets[] = {"model.preset=llama-30b"};
    ck_assert_msg(
        ty_config_read(&c, &(struct ty_source){.path = path, .sets = sets, .n_sets = 1}, &err) == 0,
        "%s", err.text);
    ck_assert_uint_eq(c->arch.layers, 60);
    ty_config_free(c);

    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(unlink("tiny.json"), 0);
    ck_assert_int_eq(ty_config_read(&c, &(struct ty_source){.path = "run.yaml"}, &err), TY_EINPUT);
    ck_assert_str_eq(err.text, "tiny.json: cannot be opened (No such file or directory)\n"
                               "hint: the file is named by model.huggingface at run.yaml:2");
    ck_assert_int_eq(unlink("run.yaml"), 0);
    clean_up();
}

TEST(every_mistake_has_its_message)
{
    for (size_t i = 0; i < TY_COUNT(wrong); i++) {
        struct ty_config *config = (struct ty_config *)&folder; /* must become NULL */
        struct ty_err err;
        const int rc = load_with(&config, wrong[i].text, &wrong[i].set, wrong[i].set ? 1 : 0, &err);
        ck_assert_str_eq(err.text, wrong[i].message);
        ck_assert_int_eq(rc, wrong[i].code);
        ck_assert_ptr_null(config);
    }
    clean_up();
}

TEST(mistakes_of_all_sections_come_at_once)
{
    static const char *const sets[] = {"run.engine=fast"};
    struct ty_config *config;
    struct ty_err err;
    const int rc = load_with(&config,
                             "cluster:\n"
                             "  preset: dgx-a100-80g\n"
                             "  node: 32\n"
                             "  nic_bandwidth: 200\n"
                             "model:\n"
                             "  preset: llama-30b\n"
                             "layout:\n"
                             "  tensor: 4\n"
                             "  tensor: 8\n"
                             "  order: [tensor, data]\n"
                             "schedule:\n"
                             "  name: 1f2b\n",
                             sets, 1, &err);
    ck_assert_int_eq(rc, TY_EINPUT);
    ck_assert_uint_eq(err.n, 6);
    static const char *const parts[] = {
        "run.yaml:9:3: layout.tensor: duplicate key, first given on line 8; keep one\n"
        "      tensor: 8\n"
        "      ^\n",
        "run.yaml:3:3: cluster.node: unknown key; hint: did you mean \"nodes\"?\n"
        "      node: 32\n"
        "      ^\n",
        "run.yaml:4:18: cluster.nic_bandwidth: a bare number where a unit is due (200); write it "
        "like 300 GB/s or 200 Gb/s",
        "run.yaml:10:10: layout.order: not given (context); write each of tensor, context, data, "
        "pipeline once, like [tensor, context, data, pipeline]\n",
        "run.yaml:12:9: schedule.name: unknown word (1f2b); write one of ",
        "--set run.engine=fast: run.engine: unknown word (fast); write one of auto, sweep, "
        "events",
    };
    const char *at = err.text;
    for (size_t i = 0; i < TY_COUNT(parts); i++) {
        at = strstr(at, parts[i]);
        ck_assert_msg(at != NULL, "%s is not in its place in:\n%s", parts[i], err.text);
    }
    clean_up();
}

TEST(required_keys_are_asked_for_at_their_section)
{
    struct ty_config *config;
    struct ty_err err;
    ck_assert_int_eq(load_with(&config, CLUSTER MODEL "layout: {tensor: 4}\n", NULL, 0, &err),
                     TY_EINPUT);
    const char *where = "run.yaml:3:1: layout.global_batch: missing (";
    ck_assert_msg(strncmp(err.text, where, strlen(where)) == 0, "%s", err.text);
    ck_assert_int_eq(load_with(&config, CLUSTER MODEL, NULL, 0, &err), TY_EINPUT);
    where = "run.yaml: layout.global_batch: missing (";
    ck_assert_msg(strncmp(err.text, where, strlen(where)) == 0, "%s", err.text);
    clean_up();
}

TEST(twenty_mistakes_are_shown)
{
    char text[2000] = CLUSTER MODEL LAYOUT "run:\n";
    for (int i = 0; i < 25; i++) {
        const size_t len = strlen(text);
        (void)snprintf(text + len, sizeof(text) - len, "  unknown_key_%d: 1\n", i);
    }
    struct ty_config *config;
    struct ty_err err;
    ck_assert_int_eq(load_with(&config, text, NULL, 0, &err), TY_EINPUT);
    ck_assert_uint_eq(err.n, 20);
    ck_assert_str_eq(err.text + err.len, "\n5 more errors, not shown");
    clean_up();
}

TEST(show_has_every_value_and_its_origin)
{
    static const char *const sets[] = {"run.jitter=2 %"};
    static const char *const lines[] = {
        "\ncluster.preset                    dgx-a100-80g            # run.yaml:2\n",
        "\ncluster.nodes                     2                       # run.yaml:3\n",
        "\ncluster.nvlink_bandwidth          300 GB/s                # preset dgx-a100-80g\n",
        "\ncluster.peak_bf16                 312 TFLOP/s             # preset a100-sxm-80g\n",
        "\nmodel.huggingface                 -                       # not set\n",
        "\nmodel.hidden                      6656                    # preset llama-30b\n",
        "\nlayout.data                       2                       # derived (auto, default)\n",
        "\nlayout.order                      [tensor, context, data, pipeline] # default\n",
        "\nrun.jitter                        2 %                     # --set\n",
        "\nrun.gpu_spread                    none                    # default\n",
        "\noutput.trace                      []                      # default\n",
        "\noutput.ranks                      \"\"                      # default\n",
        "\noutput.trace_limit                1 GiB                   # default\n",
    };
    struct ty_config *c = load(good, sets, 1);
    char *text;
    ck_assert_int_eq(ty_config_show(c, &text, NULL), 0);
    char *shown = malloc(strlen(text) + 2);
    (void)snprintf(shown, strlen(text) + 2, "\n%s", text);
    for (size_t i = 0; i < TY_COUNT(lines); i++) {
        ck_assert_msg(strstr(shown, lines[i]) != NULL, "%s is not in\n%s", lines[i], text);
    }
    size_t n_lines = 0, n_fields = 0;
    for (const char *p = text; *p; p++) {
        n_lines += *p == '\n';
    }
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        n_fields += c->sections[i].n_fields;
    }
    ck_assert_uint_eq(n_lines, n_fields);
    free(shown);
    ty_text_free(text);
    ty_config_free(c);
    clean_up();
}

/* The key of that name. */

TEST(every_preset_is_applied_without_a_complaint)
{
    for (const struct ty_preset *p = ty_cluster_presets; p->name; p++) {
        char set[100];
        (void)snprintf(set, sizeof(set), "cluster.preset=%s", p->name);
        const char *const sets[] = {set, "model.dtype=fp16"}; /* which V100 has, too */
        struct ty_config *c = load("cluster: {nodes: 1}\n" MODEL "layout: {global_batch: 576}\n",
                                   sets, TY_COUNT(sets));
        ty_config_free(c);
    }
    for (const struct ty_preset *p = ty_arch_presets; p->name; p++) {
        char set[100];
        (void)snprintf(set, sizeof(set), "model.preset=%s", p->name);
        const char *const sets[] = {set};
        struct ty_config *c =
            load("cluster: {preset: dgx-a100-80g}\nlayout: {global_batch: 64}\n", sets, 1);
        ty_config_free(c);
    }
    clean_up();
}

static uint64_t digest_of(const char *text, const char *set)
{
    struct ty_config *c = load(text, &set, set ? 1 : 0);
    const uint64_t digest = ty_config_digest(c);
    ty_config_free(c);
    return digest;
}

TEST(the_digest_depends_on_values_and_nothing_else)
{
    const uint64_t digest = digest_of(good, NULL);
    static const char *const same[] = {
        "layout.tensor=4",                    /* another origin */
        "layout.data=2",                      /* what auto gives */
        "cluster.nvlink_bandwidth=2400 Gb/s", /* what the preset says, in another unit */
        "output.stats=json",                  /* how it is shown */
        "output.trace=[chrome:x.json]",
        "run.seed=1",
    };
    static const char *const other[] = {
        "run.seed=2",
        "run.steps=2",
        "run.jitter=1 %",
        "layout.order=[data, tensor, context, pipeline]",
        "layout.global_batch=128",
        "schedule.name=gpipe",
        "model.sequence=4096",
        "cluster.nvlink_latency=38.0000000001 us",
    };
    for (size_t i = 0; i < TY_COUNT(same); i++) {
        ck_assert_msg(digest_of(good, same[i]) == digest, "%s", same[i]);
    }
    for (size_t i = 0; i < TY_COUNT(other); i++) {
        ck_assert_msg(digest_of(good, other[i]) != digest, "%s", other[i]);
    }
    clean_up();
}

TEST(public_errors_carry_text_and_exit_status)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *config;
    ck_assert_str_eq(ty_err_text(err), "");
    ck_assert_int_eq(ty_err_exit_status(err), 0);
    ck_assert_int_lt(
        ty_config_read(&config, &(struct ty_source){.path = "/nonexistent/run.yaml"}, err), 0);
    ck_assert_str_eq(ty_err_text(err),
                     "/nonexistent/run.yaml: cannot be opened (No such file or directory)");
    ck_assert_int_eq(ty_err_exit_status(err), 3);
    ty_err_free(err);
    ck_assert_int_lt(
        ty_config_read(&config, &(struct ty_source){.path = "/nonexistent/run.yaml"}, NULL), 0);
    ty_config_free(NULL);
}

TEST(with_a_configuration_gsl_ends_no_process)
{
    struct ty_config config;
    struct ty_err err = {0};
    ck_assert_int_eq(ty_config_init(&config, &err), 0);
    ck_assert_msg(gsl_set_error_handler_off() != NULL,
                  "a handler of its own, not GSL's that aborts");
    ty_arena_release(&config.arena);
}

TY_SUITE("config")
