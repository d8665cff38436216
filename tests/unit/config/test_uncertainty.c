/* test_uncertainty.c - the section `uncertainty`: what counts of what files and presets say. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/config/config.h"
#include "sim/config/scatter.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

static const char base[] =
    "cluster: {preset: dgx-a100-80g, nodes: 2, derate: 1.5}\n"
    "model: {preset: llama-30b}\n"
    "layout: {tensor: 4, pipeline: 2, global_batch: 64, sequence_parallel: true}\n"
    "framework: {preset: megatron-lm}\n";

/* Reads the base, with `own` behind it, under an overlay and a setting (or NULL), and what may be
 * off. */
static int read_uncertain(struct ty_uncertain *u, const char *own, const char *overlay,
                          const char *set, struct ty_err *err)
{
    struct temp_dir dir;
    char path[192], one[192], text[2048];
    temp_dir_make(&dir);
    snprintf(path, sizeof(path), "%s", temp_dir_file(&dir, "run.yaml"));
    snprintf(one, sizeof(one), "%s", temp_dir_file(&dir, "one.yaml"));
    snprintf(text, sizeof(text), "%s%s", base, own);
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    file = fopen(one, "w");
    ck_assert(file != NULL && fputs(overlay != NULL ? overlay : "", file) >= 0 &&
              fclose(file) == 0);
    const char *const with[] = {one};
    const struct ty_source source = {
        .path = path, .with = with, .n_with = overlay != NULL, .sets = &set, .n_sets = set != NULL};
    struct ty_config *config = NULL;
    *err = (struct ty_err)TY_ERR_NONE;
    memset(u, 0, sizeof(*u));
    int rc = ty_config_read(&config, &source, err);
    rc = rc < 0 ? rc : ty_uncertain_read(config, u, &config->arena, err);
    for (uint32_t k = 0; k < u->n; k++) { /* they outlive the configuration as far as tests ask */
        static char names[TY_UNCERTAIN_KEYS][64];
        snprintf(names[k], sizeof(names[k]), "%s", u->key[k].name);
        u->key[k].name = names[k];
        u->key[k].why = NULL;
    }
    ty_config_free(config);
    temp_dir_remove(&dir);
    return rc;
}

static uint32_t at(const struct ty_uncertain *u, const char *name)
{
    uint32_t k = 0;
    while (k < u->n && strcmp(u->key[k].name, name) != 0) {
        k++;
    }
    return k;
}

static double error_of(const struct ty_uncertain *u, const char *name)
{
    const uint32_t k = at(u, name);
    return k < u->n ? u->key[k].error : 0;
}

static void good(struct ty_uncertain *u, const char *own, const char *overlay, const char *set)
{
    struct ty_err err;
    ck_assert_msg(read_uncertain(u, own, overlay, set, &err) == 0, "%s", err.text);
}

TEST(what_presets_call_a_guess_counts_until_somebody_knows_better)
{
    struct ty_uncertain u;
    good(&u, "", NULL, NULL);
    const uint32_t k = at(&u, "framework.norm_speed");
    ck_assert(k < u.n && u.key[k].guess && u.key[k].error == 0.3 && u.key[k].value == 2);
    ck_assert(error_of(&u, "cluster.nic_efficiency") == 0); /* measured, not guessed */
    good(&u, "", NULL, "framework.norm_speed=1.5");
    ck_assert(error_of(&u, "framework.norm_speed") == 0);
    good(&u, "uncertainty: {errors: [framework.norm_speed 4 %]}\n", NULL, NULL);
    ck_assert(error_of(&u, "framework.norm_speed") == 0.04);
    ck_assert(!u.key[at(&u, "framework.norm_speed")].guess);
    good(&u, "uncertainty: {guesses: false}\n", NULL, NULL);
    ck_assert(u.n == 0);
}

/* Of a key the strongest source counts, and a stronger value takes the error of a weaker away. */
TEST(an_error_is_of_the_value_it_stands_beside_or_above)
{
    static const char own[] =
        "uncertainty:\n  errors: [cluster.derate 3 %, cluster.nic_efficiency "
        "8 %]\n  correlations: [cluster.derate cluster.nic_efficiency -0.4]\n";
    struct ty_uncertain u;
    good(&u, own, NULL, NULL);
    const uint32_t a = at(&u, "cluster.derate"), b = at(&u, "cluster.nic_efficiency");
    ck_assert(u.key[a].error == 0.03 && u.key[a].value == 1.5);
    ck_assert(u.correlation[a][b] == -0.4 && u.correlation[b][a] == -0.4);
    ck_assert(u.correlation[a][a] == 1);
    /* an overlay adds its own, and of one key its own counts, without the correlation */
    good(&u, own,
         "cluster: {derate: 1.2}\nuncertainty: {errors: [cluster.derate 1 %, "
         "cluster.norm_passes 9 %]}\n",
         NULL);
    ck_assert(error_of(&u, "cluster.derate") == 0.01);
    ck_assert(error_of(&u, "cluster.norm_passes") == 0.09);
    ck_assert(error_of(&u, "cluster.nic_efficiency") == 0.08);
    ck_assert(u.correlation[at(&u, "cluster.derate")][at(&u, "cluster.nic_efficiency")] == 0);
    /* a value of --set is known; what is left keeps its place in the correlations, */
    good(&u, own, NULL, "cluster.derate=1.1");
    ck_assert(error_of(&u, "cluster.derate") == 0);
    ck_assert(error_of(&u, "cluster.nic_efficiency") == 0.08);
    /* and what takes the place of the other, a guess, is correlated with nothing */
    ck_assert(u.n > 1);
    for (uint32_t i = 0; i < u.n; i++) {
        for (uint32_t k = 0; k < u.n; k++) {
            ck_assert(u.correlation[i][k] == (i == k));
        }
    }
    /* unless its error comes with it */
    good(&u, own, NULL, "uncertainty.errors=[cluster.derate 20 %]");
    ck_assert(error_of(&u, "cluster.derate") == 0.2);
}

TEST(mistakes_have_their_message)
{
    static const struct {
        const char *own, *message;
    } rows[] = {
        {"errors: [cluster.derat 3 %]",
         "run.yaml:6:12: uncertainty.errors: cluster.derat: no such "
         "key; \"trainyard list keys\" shows all; hint: did you mean "
         "\"cluster.derate\"?"},
        {"errors: [model.attention 3 %]", "model.attention: a key without an error; name a time"},
        {"errors: [cluster.nodes 3 %]", "cluster.nodes: a key without an error"},
        {"errors: [cluster.derate -3 %]", "cluster.derate: its error is out of range"},
        {"errors: [cluster.derate 0 %]", "its error is out of range"},
        {"errors: [cluster.derate 300 %]", "write a share above 0 % and up to 200 %"},
        {"errors: [cluster.derate 0.1]", "cluster.derate: no error behind it (cluster.derate 0.1)"},
        {"errors: [cluster.derate]", "no error behind it"},
        {"errors: [\"\"]", "an empty entry"},
        {"errors: [run.jitter 10 %]", "run.jitter: its value is 0"},
        {"errors: [cluster.derate 3 %, cluster.derate 4 %]", "cluster.derate: named twice"},
        {"correlations: [cluster.derate cluster.norm_passes 0.1]",
         "cluster.derate: a key without an error; add it to uncertainty.errors"},
        {"errors: [cluster.derate 3 %, cluster.norm_passes 4 %]\n  correlations: [cluster.derate "
         "cluster.norm_passes 1.2]",
         "run.yaml:7:18: uncertainty.correlations: not a key and others with their correlations"},
        {"errors: [cluster.derate 3 %, cluster.norm_passes 4 %]\n  correlations: [cluster.derate "
         "cluster.norm_passes]",
         "not a key and others with their correlations"},
        {"errors: [cluster.derate 3 %, cluster.norm_passes 4 %, cluster.nic_efficiency 9 %]\n"
         "  correlations: [cluster.derate cluster.norm_passes 0.9 cluster.nic_efficiency 0.9,\n"
         "    cluster.norm_passes cluster.nic_efficiency -0.9]",
         "they contradict each other (not positive definite)"},
        {"scatter: -2 %", "scatter"},
        {"guesses: some", "true or false"},
        {"eror: [x]", "unknown key"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_uncertain u;
        struct ty_err err;
        char own[512];
        snprintf(own, sizeof(own), "uncertainty:\n  %s\n", rows[i].own);
        ck_assert_int_eq(read_uncertain(&u, own, NULL, NULL, &err), TY_EINPUT);
        ck_assert_msg(strstr(err.text, rows[i].message) != NULL, "%s", err.text);
    }
}

static struct ty_scatter scatter_of(const char *set)
{
    struct ty_config *config = NULL;
    struct ty_err err = TY_ERR_NONE;
    struct temp_dir dir;
    temp_dir_make(&dir);
    char path[192];
    snprintf(path, sizeof(path), "%s", temp_dir_file(&dir, "run.yaml"));
    FILE *file = fopen(path, "w");
    ck_assert(file != NULL && fputs(base, file) >= 0 && fclose(file) == 0);
    const struct ty_source source = {.path = path, .sets = &set, .n_sets = set != NULL};
    ck_assert_msg(ty_config_read(&config, &source, &err) == 0, "%s", err.text);
    const struct ty_scatter s = ty_scatter_of(config);
    ty_config_free(config);
    temp_dir_remove(&dir);
    return s;
}

TEST(scatter_is_that_of_published_runs_of_the_kind)
{
    const struct ty_scatter usual = scatter_of(NULL);
    ck_assert_str_eq(usual.kind, "dense models in 16 bit");
    ck_assert(usual.each > usual.shared && usual.shared > 0);
    ck_assert_str_eq(scatter_of("framework.preset=fsdp").kind, "dense models in PyTorch on A100");
    ck_assert_str_eq(scatter_of("cluster.preset=dgx-b200").kind, usual.kind);
    const struct ty_scatter sparse = scatter_of("model.preset=mixtral-8x7b");
    ck_assert(strcmp(sparse.kind, "experts") == 0 && sparse.each > usual.each);
    /* 64 sequences of 2,048 on 8 replicas, and on 64 of 512 GPUs */
    ck_assert_str_eq(scatter_of("cluster.nodes=8").kind, usual.kind);
    ck_assert(strstr(scatter_of("cluster.nodes=64").kind, "8,192 tokens") != NULL);
    const struct ty_scatter stated = scatter_of("uncertainty.scatter=3 %");
    ck_assert(stated.each == 0.03 && stated.shared == usual.shared);
}

TY_SUITE("uncertainty")
