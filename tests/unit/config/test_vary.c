/* test_vary.c - variants of a configuration are what the file with their values is. */
#include "sim/config/vary.h"

#include <stdio.h>

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
    (void)ty_config_load(&config, path, sets, n, err);
    temp_dir_remove(&dir);
    return config;
}

/* Layouts right and wrong: a variant has the digest, or the message, of a file with its values. */
START_TEST(a_variant_is_what_its_values_make_of_the_file)
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
END_TEST

TY_SUITE("vary", a_variant_is_what_its_values_make_of_the_file)
