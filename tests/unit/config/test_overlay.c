/* test_overlay.c - overlays: files between the run file and --set. */
#include "sim/config/config.h"

#include <stdio.h>

#include "sim/cli_api.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char base[] = "cluster: {preset: dgx-a100-80g, nodes: 2, derate: 1.5}\n"
                           "model: {preset: llama-30b}\n"
                           "layout: {tensor: 4, pipeline: 2, global_batch: 64}\n";

static struct temp_dir dir;

static void put(const char *name, const char *text, char path[192])
{
    snprintf(path, 192, "%s", temp_dir_file(&dir, name));
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Reads the base under two overlays (the second may be NULL) and a setting (may be NULL). */
static int read_with(struct ty_config **config, const char *first, const char *second,
                     const char *set, struct ty_err *err)
{
    char path[192], one[192], two[192];
    temp_dir_make(&dir);
    put("run.yaml", base, path);
    put("one.yaml", first, one);
    put("two.yaml", second != NULL ? second : "", two);
    const char *const with[] = {one, two};
    const struct ty_source source = {.path = path,
                                     .with = with,
                                     .n_with = second != NULL ? 2 : 1,
                                     .sets = &set,
                                     .n_sets = set != NULL ? 1 : 0};
    *err = (struct ty_err)TY_ERR_NONE;
    const int rc = ty_config_read(config, &source, err);
    temp_dir_remove(&dir);
    return rc;
}

TEST(a_group_that_the_schedule_has_no_use_for_is_told)
{
    const struct {
        const char *name, *said;
    } rows[] = {
        {"interleaved, chunks: 2", ""},
        {"1f1b", "--set: schedule.group is ignored: 1f1b has no groups of "
                 "micro-batches\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ty_err err;
        struct ty_config *c;
        char *text, with[64];
        snprintf(with, sizeof(with), "schedule: {name: %s}\n", rows[i].name);
        ck_assert_int_eq(read_with(&c, with, NULL, "schedule.group=2", &err), 0);
        ck_assert_int_eq(ty_config_remarks(c, &text, &err), 0);
        ck_assert_str_eq(text, rows[i].said);
        ty_text_free(text);
        ty_config_free(c);
    }
}

TEST(a_schedule_of_pieces_says_how_many_where_nobody_did)
{
    const struct {
        const char *schedule, *said;
        uint32_t chunks, slices;
    } rows[] = {
        {"interleaved",
         "one.yaml:1: schedule.chunks is auto: interleaved with 2 virtual stages per rank; "
         "schedule.chunks: 2 says so\n",
         2, 1},
        {"interleaved-zb",
         "one.yaml:1: schedule.chunks is auto: interleaved-zb with 2 virtual stages per rank; "
         "schedule.chunks: 2 says so\n",
         2, 1},
        {"bfs, chunks: 1",
         "one.yaml:1: schedule.chunks is 1, which makes bfs the same as gpipe; with 2 virtual "
         "stages per rank write 2\n",
         1, 1},
        {"seq1f1b",
         "one.yaml:1: schedule.slices is auto: seq1f1b with 4 slices of a sequence; "
         "schedule.slices: 4 says so\n",
         1, 4},
        {"seq1f1b, slices: 1",
         "one.yaml:1: schedule.slices is 1, which makes seq1f1b the same as 1f1b; with 4 slices of "
         "a sequence write 4\n",
         1, 1},
        {"interleaved, chunks: 4", "", 4, 1},
        {"zb-v", "", 2, 1},
        {"1f1b", "", 1, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ty_err err;
        struct ty_config *c;
        char *text, with[96];
        snprintf(with, sizeof(with), "schedule: {name: %s}\n", rows[i].schedule);
        ck_assert_int_eq(read_with(&c, with, NULL, "layout.pipeline=2", &err), 0);
        ck_assert_int_eq(ty_config_remarks(c, &text, &err), 0);
        const char *said = strstr(text, rows[i].said);
        ck_assert_msg(said != NULL && strlen(said) == strlen(rows[i].said), "%s", text);
        ck_assert_uint_eq(ty_sched_chunks(&c->schedule), rows[i].chunks);
        ck_assert_uint_eq(ty_sched_slices(&c->schedule), rows[i].slices);
        ty_text_free(text);
        ty_config_free(c);
    }
}

TEST(a_stack_without_its_sharding_is_told)
{
    const struct {
        const char *set, *said;
    } rows[] = {
        {"layout.zero=3", ""},
        {"layout.zero=2", ""},
        {"layout.zero=0", "one.yaml:1: framework.preset is fsdp and layout.zero is 0: nothing is "
                          "sharded; FULL_SHARD is layout.zero 3, SHARD_GRAD_OP 2\n"},
        {"framework.preset=ddp", ""},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_err err;
        struct ty_config *c;
        char *text;
        ck_assert_int_eq(read_with(&c, "framework: {preset: fsdp}\n", NULL, rows[i].set, &err), 0);
        ck_assert_int_eq(ty_config_remarks(c, &text, &err), 0);
        const size_t all = strlen(text), said = strlen(rows[i].said);
        ck_assert_msg(all >= said && strcmp(text + all - said, rows[i].said) == 0, "%s", text);
        ck_assert_msg((said > 0) == (strstr(text, "layout.zero is") != NULL), "%s", text);
        ty_text_free(text);
        ty_config_free(c);
    }
}

TEST(keys_that_stay_over_a_later_preset_are_told)
{
    struct ty_err err;
    struct ty_config *c;
    char *text;
    ck_assert_int_eq(read_with(&c, "cluster: {gpu: h100-sxm, memory_bandwidth: 3 TB/s}\n",
                               "cluster: {preset: dgx-h100}\n", NULL, &err),
                     0);
    ck_assert_int_eq(ty_config_remarks(c, &text, &err), 0);
    const char *first = strstr(text, "one.yaml:1: cluster.memory_bandwidth stays 3 TB/s");
    ck_assert_msg(first == NULL, "the overlay named that GPU itself: %s", text);
    ty_text_free(text);
    ty_config_free(c);

    ck_assert_int_eq(read_with(&c, "cluster: {memory_bandwidth: 3 TB/s}\n",
                               "cluster: {gpu: h100-sxm}\n", "cluster.preset=dgx-h100", &err),
                     0);
    ck_assert_int_eq(ty_config_remarks(c, &text, &err), 0);
    ck_assert_ptr_nonnull(strstr(text,
                                 "one.yaml:1: cluster.memory_bandwidth stays 3 TB/s, although "
                                 "cluster.gpu is now h100-sxm (3.35 TB/s)"));
    ck_assert_ptr_nonnull(strstr(text, "run.yaml:1: cluster.derate stays"));
    ty_text_free(text);
    ty_config_free(c);
}

TEST(an_overlay_beats_the_file_and_yields_to_later_ones_and_to_set)
{
    struct ty_err err;
    struct ty_config *c;
    ck_assert_int_eq(read_with(&c, "cluster: {derate: 1.2, norm_passes: 5, nic_efficiency: 50 %}\n",
                               "cluster: {norm_passes: 6}\n", "cluster.nic_efficiency=0.7", &err),
                     0);
    ck_assert(c->cluster.gpu.derate == 1.2);
    ck_assert(c->cluster.gpu.norm_passes == 6);
    ck_assert(c->cluster.net.nic_efficiency == 0.7);
    const struct ty_section *s = &c->sections[TY_SECTION_CLUSTER];
    char text[256];
    ty_origin_format(ty_field_origin(s, ty_section_field(s, "derate")), text, sizeof(text));
    ck_assert_ptr_nonnull(strstr(text, "one.yaml:1"));
    ty_config_free(c);
}

/* A preset named by an overlay replaces that of the file and lies below the file's values. */
TEST(an_overlay_can_choose_presets)
{
    struct ty_err err;
    struct ty_config *c;
    ck_assert_int_eq(read_with(&c, "cluster: {preset: dgx-h100}\nmodel: {preset: llama-13b}\n",
                               NULL, "layout.pipeline=4", &err),
                     0);
    ck_assert_str_eq(c->cluster.gpu_preset, "h100-sxm");
    ck_assert_uint_eq(c->arch.layers, 40);
    ck_assert(c->cluster.gpu.derate == 1.5);
    ck_assert_uint_eq(c->layout.pipeline, 4);
    ty_config_free(c);
}

TEST(mistakes_in_an_overlay_have_their_place_in_it)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"cluster:\n  derat: 1.2\n", "one.yaml:2:3: cluster.derat: unknown key; hint: did you mean "
                                     "\"derate\"?"},
        {"clustr: {derate: 1.2}\n", "one.yaml:1:1: clustr: unknown section"},
        {"", "one.yaml: an empty file; write sections and the keys that differ"},
        {"[1, 2]\n", "one.yaml:1:1: a list where sections are due"},
        {"cluster: {nodes: 0}\n", "one.yaml:1:18: cluster.nodes: too small (0)"},
        /* what does not fit together is reported where the stronger value stands */
        {"layout: {tensor: 3}\n", "one.yaml:1:18: layout.tensor: 3 does not divide model.heads"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_err err;
        struct ty_config *c;
        ck_assert_int_eq(read_with(&c, rows[i].text, NULL, NULL, &err), TY_EINPUT);
        ck_assert_msg(strstr(err.text, rows[i].message) != NULL, "%s", err.text);
    }
}

TY_SUITE("overlay")
