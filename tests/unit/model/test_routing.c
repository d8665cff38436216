/* test_routing.c - how tokens are spread over experts: published tables of imbalance, laws that
 * hold for every draw, and files of loads. */
#include "model/routing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/compiler.h"
#include "tests/unit/suite.h"
#include "tests/unit/temp_dir.h"

#define EXPERTS_MAX 256u

/* What is asked of many layers: an expert group of `ranks` over `experts`, tokens of each rank. */
struct group {
    uint32_t ranks, experts, top_k;
    double tokens;
};

static struct ty_token_routing routing_of(const char *text)
{
    struct ty_token_routing routing;
    struct ty_err err = TY_ERR_NONE;
    ck_assert_msg(ty_token_routing_read(&routing, text, &(struct ty_place){.file = "t"}, &err) == 0,
                  "%s", err.text);
    return routing;
}

static void rows_of(const struct ty_token_routing *routing, const struct group *g, uint32_t layer,
                    uint32_t group, double *rows)
{
    const struct ty_routed who = {
        .seed = 1,
        .layer = layer,
        .group = group,
        .experts = g->experts,
        .top_k = g->top_k,
        .rows = g->tokens * g->ranks * g->top_k,
    };
    struct ty_err err = TY_ERR_NONE;
    ck_assert_int_eq(ty_token_routing_rows(routing, &who, rows, &err), 0);
}

/* The largest load of a rank over the mean. */
static double imbalance(const struct group *g, const double *rows)
{
    const uint32_t local = g->experts / g->ranks;
    double most = 0, all = 0;
    for (uint32_t r = 0; r < g->ranks; r++) {
        double load = 0;
        for (uint32_t e = 0; e < local; e++) {
            load += rows[r * local + e];
        }
        all += load;
        most = load > most ? load : most;
    }
    return most * g->ranks / all;
}

/* The mean over layers of `of`, and how far it may be off by chance: three standard errors. */
static double mean_of(const char *text, const struct group *g, uint32_t layers,
                      double of(const struct group *, const double *), double *error)
{
    const struct ty_token_routing routing = routing_of(text);
    double sum = 0, squares = 0, rows[EXPERTS_MAX];
    for (uint32_t layer = 0; layer < layers; layer++) {
        rows_of(&routing, g, layer, 0, rows);
        const double x = of(g, rows);
        sum += x;
        squares += x * x;
    }
    const double mean = sum / layers;
    *error = 3 * sqrt(fmax(0, squares / layers - mean * mean) / layers);
    return mean;
}

/* handbook: simulated, with an error of its own, which its digits and a percent or two cover. Many
 * tokens, so that only popularity counts; top-1, so that no share is too large. */
TEST(the_largest_load_is_that_of_published_tables)
{
    static const struct group groups[] = {
        {8, 8, 1, 1e5}, {8, 64, 1, 1e5}, {8, 128, 1, 1e5}, {32, 128, 1, 1e5}, {64, 256, 1, 1e4}};
    static const struct {
        const char *text;
        double x[TY_COUNT(groups)]; /* 0: not in the table */
    } rows[] = {
        {"dirichlet:0.1", {1.15, 1.05, 1.04, 1.11, 1.12}},
        {"dirichlet:0.2", {1.30, 1.10, 1.07, 1.21, 1.25}},
        {"dirichlet:0.32", {1.49, 1.17, 1.12, 1.36, 1.40}},
        {"dirichlet:0.5", {1.83, 1.26, 1.18, 1.59, 1.68}},
        {"dirichlet:1.0", {2.66, 1.56, 1.38, 2.28, 2.55}},
        {"zipf:0.1", {0, 0, 1.04, 0, 1.16}},
        {"zipf:0.2", {0, 0, 1.09, 0, 1.38}},
        {"zipf:0.3", {0, 0, 1.14, 0, 1.72}},
        {"zipf:0.5", {0, 0, 1.30, 0, 2.81}},
        {"zipf:1", {0, 0, 2.25, 0, 11}},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        for (size_t g = 0; g < TY_COUNT(groups); g++) {
            double error = 0;
            if (rows[i].x[g] > 0) {
                const double x = mean_of(rows[i].text, &groups[g], 400, imbalance, &error);
                ck_assert_msg(fabs(x - rows[i].x[g]) < error + 0.005 + 0.02 * rows[i].x[g],
                              "%s, EP%u, E %u: %.3f, published %.2f", rows[i].text,
                              (unsigned)groups[g].ranks, (unsigned)groups[g].experts, x,
                              rows[i].x[g]);
            }
        }
    }
}

/* 1 + z / sqrt(k T), z the mean of the largest of ep independent normals: 1.424, 2.388. What one
 * rank has more the others have less, which makes up for the (1 - 1 / ep) of a multinomial
 * variance. */
TEST(blind_choice_differs_by_chance_only)
{
    static const struct {
        struct group g;
        double z;
    } rows[] = {{{8, 256, 8, 4096}, 1.4236}, {{64, 256, 8, 4096}, 2.3880}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        const struct group *g = &rows[i].g;
        double error = 0;
        const double x = mean_of("uniform", g, 500, imbalance, &error);
        const double closed = 1 + rows[i].z / sqrt(g->top_k * g->tokens);
        ck_assert_msg(fabs(x - closed) < error + 1e-4, "EP%u: %.5f for %.5f", (unsigned)g->ranks, x,
                      closed);
    }
}

/* The share of rows above `capacity` times the mean, by expert. */
static double above(const struct group *g, const double *rows, double capacity)
{
    double all = 0, dropped = 0;
    for (uint32_t e = 0; e < g->experts; e++) {
        all += rows[e];
    }
    const double room = capacity * all / g->experts;
    for (uint32_t e = 0; e < g->experts; e++) {
        dropped += rows[e] > room ? rows[e] - room : 0;
    }
    return dropped / all;
}
static double above_mean(const struct group *g, const double *rows)
{
    return above(g, rows, 1);
}
static double above_quarter(const struct group *g, const double *rows)
{
    return above(g, rows, 1.25);
}

TEST(what_a_capacity_drops_is_that_of_published_tables)
{
    static const struct {
        const char *text;
        double at_1, at_1_25;
    } rows[] = {{"dirichlet:0.1", 0.04, 0},
                {"dirichlet:0.2", 0.08, 0.013},
                {"dirichlet:0.32", 0.124, 0.045},
                {"dirichlet:0.5", 0.195, 0.108},
                {"dirichlet:1.0", 0.366, 0.284}};
    static const struct group g = {8, 128, 1, 1e5};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        double error = 0;
        const double one = mean_of(rows[i].text, &g, 100, above_mean, &error);
        ck_assert_msg(fabs(one - rows[i].at_1) < error + 0.005, "%s: %.4f", rows[i].text, one);
        const double more = mean_of(rows[i].text, &g, 100, above_quarter, &error);
        ck_assert_msg(fabs(more - rows[i].at_1_25) < error + 0.005, "%s: %.4f", rows[i].text, more);
    }
}

static double sum_of(const double *rows, uint32_t n)
{
    double sum = 0;
    for (uint32_t e = 0; e < n; e++) {
        sum += rows[e];
    }
    return sum;
}

TEST(every_row_goes_to_one_expert)
{
    static const char *const texts[] = {"balanced",     "uniform",   "dirichlet:0.01",
                                        "dirichlet:10", "zipf:0.01", "zipf:10"};
    static const struct group groups[] = {{1, 1, 1, 1}, {2, 4, 2, 3}, {8, 256, 8, 4096}};
    double rows[EXPERTS_MAX];
    for (size_t i = 0; i < TY_COUNT(texts); i++) {
        const struct ty_token_routing routing = routing_of(texts[i]);
        for (size_t g = 0; g < TY_COUNT(groups); g++) {
            const double all = groups[g].tokens * groups[g].ranks * groups[g].top_k;
            for (uint32_t layer = 0; layer < 50; layer++) {
                rows_of(&routing, &groups[g], layer, 0, rows);
                ck_assert_double_eq(sum_of(rows, groups[g].experts), all);
                for (uint32_t e = 0; e < groups[g].experts; e++) {
                    ck_assert_double_ge(rows[e], 0);
                    ck_assert(i == 0 || rows[e] == floor(rows[e]));
                    ck_assert(i > 0 || rows[e] == all / groups[g].experts);
                }
            }
        }
    }
}

static double share_of(const char *text, uint32_t experts, uint32_t top_k, double *share)
{
    const struct ty_token_routing routing = routing_of(text);
    const struct ty_routed who = {.seed = 3, .experts = experts, .top_k = top_k};
    double most = 0;
    ck_assert_int_eq(ty_token_routing_shares(&routing, &who, share, NULL), 0);
    for (uint32_t e = 0; e < experts; e++) {
        most = share[e] > most ? share[e] : most;
    }
    ck_assert_double_eq_tol(sum_of(share, experts), 1, 1e-12);
    return most;
}

/* Of 128 experts with shares like 1 / n the first has 0.184; eight experts a token, 0.125. */
TEST(more_rows_than_a_generator_counts_are_spread_alike)
{
    static const struct group g = {8, 64, 8, 1e9};
    const struct ty_token_routing routing = routing_of("uniform");
    double rows[EXPERTS_MAX];
    rows_of(&routing, &g, 0, 0, rows);
    for (uint32_t e = 0; e < g.experts; e++) {
        ck_assert_double_eq_tol(rows[e], 1e9, 1e6);
    }
}

TEST(no_expert_gets_more_rows_than_there_are_tokens)
{
    double share[EXPERTS_MAX], capped[EXPERTS_MAX];
    ck_assert_double_eq_tol(share_of("zipf:1", 128, 1, share), 0.1840, 1e-4);
    ck_assert_double_eq(share_of("zipf:1", 128, 8, capped), 0.125);
    for (uint32_t e = 0; e < 128; e++) { /* the others keep their proportions */
        ck_assert(share[e] > 0.18 ||
                  fabs(capped[e] / share[e] - (1 - 0.125) / (1 - 0.1840)) < 1e-4);
    }
    ck_assert_double_eq_tol(share_of("zipf:10", 8, 8, share), 0.125, 1e-12);
    ck_assert_double_eq_tol(share_of("zipf:10", 8, 4, share), 0.25, 1e-12);
}

TEST(draws_belong_to_a_seed_a_layer_and_a_group)
{
    static const struct group g = {8, 64, 8, 4096};
    const struct ty_token_routing routing = routing_of("dirichlet:0.5");
    struct ty_routed who = {.seed = 1, .layer = 5, .experts = 64, .top_k = 8, .rows = 8 * 8 * 4096};
    double first[64], again[64], share[64];
    rows_of(&routing, &g, 5, 0, first);
    rows_of(&routing, &g, 4, 0, again);
    ck_assert_int_ne(memcmp(first, again, sizeof(first)), 0);
    rows_of(&routing, &g, 5, 0, again);
    ck_assert_int_eq(memcmp(first, again, sizeof(first)), 0);
    who.seed = 2;
    ck_assert_int_eq(ty_token_routing_rows(&routing, &who, again, NULL), 0);
    ck_assert_int_ne(memcmp(first, again, sizeof(first)), 0);
    /* another group has other tokens of the same taste: counts a few standard deviations apart */
    who.seed = 1;
    ck_assert_int_eq(ty_token_routing_shares(&routing, &who, share, NULL), 0);
    rows_of(&routing, &g, 5, 1, again);
    ck_assert_int_ne(memcmp(first, again, sizeof(first)), 0);
    for (uint32_t e = 0; e < 64; e++) {
        ck_assert_double_lt(fabs(first[e] - who.rows * share[e]), 5 * sqrt(who.rows * share[e]));
        ck_assert_double_lt(fabs(again[e] - who.rows * share[e]), 5 * sqrt(who.rows * share[e]));
    }
}

TEST(a_word_that_is_wrong_is_told_with_what_would_be_right)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"unifrom", "t: run.routing: unknown (unifrom); write balanced, uniform, dirichlet:CV, "
                    "zipf:S or file:PATH; hint: did you mean \"uniform\"?"},
        {"uniform:2", "t: run.routing: uniform takes nothing more (uniform:2); write uniform"},
        {"dirichlet", "t: run.routing: dirichlet without a coefficient of variation; write it like "
                      "dirichlet:0.5"},
        {"zipf:", "t: run.routing: zipf without an exponent; write it like zipf:0.3"},
        {"zipf:20", "t: run.routing: zipf: out of range (20); write an exponent from 0.01 to 10, "
                    "such as zipf:0.3"},
        {"dirichlet:0", "t: run.routing: dirichlet: out of range (0); write a coefficient of "
                        "variation from 0.01 to 10, such as dirichlet:0.5"},
        {"dirichlet:much",
         "t: run.routing: dirichlet: not a number (much); write it like dirichlet:0.5"},
        {"file:", "t: run.routing: file without a path; write it like file:loads.csv"},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_token_routing routing;
        struct ty_err err = TY_ERR_NONE;
        ck_assert_int_eq(
            ty_token_routing_read(&routing, rows[i].text, &(struct ty_place){.file = "t"}, &err),
            TY_EINPUT);
        ck_assert_str_eq(err.text, rows[i].message);
    }
}

/* ---- files ---- */

static int load(const char *text, struct ty_token_routing *routing, struct ty_arena *arena,
                struct ty_err *err)
{
    static const struct ty_token_routing_shape shape = {
        .first_layer = 1, .n_layers = 2, .experts = 2};
    struct temp_dir dir;
    temp_dir_make(&dir);
    FILE *file = fopen(temp_dir_file(&dir, "loads.csv"), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    *routing = routing_of("file:loads.csv");
    const int rc = ty_token_routing_load(routing, dir.file, &shape, arena, err);
    temp_dir_remove(&dir);
    return rc;
}

TEST(a_file_of_loads_is_taken_as_it_is)
{
    static const struct group g = {2, 2, 1, 1000}, both = {2, 2, 2, 1000};
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    struct ty_token_routing routing;
    double rows[2];
    ck_assert_msg(
        load("load,layer,expert\n30,2,1\n10,2,0\n0.75,1,0\n.25,1,1\n", &routing, &arena, &err) == 0,
        "%s", err.text);
    for (uint32_t group = 0; group < 2; group++) {
        rows_of(&routing, &g, 1, group, rows);
        ck_assert_double_eq(rows[0], 1500);
        rows_of(&routing, &g, 2, group, rows);
        ck_assert_double_eq(rows[0], 500);
    }
    ck_assert_uint_ne(ty_token_routing_digest(&routing), 0);
    /* all tokens go to both experts, even where the file knows of one */
    ck_assert_int_eq(
        load("layer,expert,load\n1,0,1\n1,1,0\n2,0,1\n2,1,1\n", &routing, &arena, &err), 0);
    rows_of(&routing, &both, 1, 0, rows);
    ck_assert(rows[0] == 2000 && rows[1] == 2000);
    ty_arena_release(&arena);
}

TEST(a_file_that_is_wrong_is_told_with_line_and_column)
{
#define HEAD "layer,expert,load\n"
    static const struct {
        const char *text, *message; /* behind the path */
    } rows[] = {
        {"layer,expert\n1,0\n", ":1:1: no column load; loads need the columns layer, expert, load"},
        {HEAD "1,0,1\n1,1,1\n2,0,1\n", ":4:1: the file ends without expert 1 of layer 2 (1 of 2 "
                                       "are missing); write one with load "
                                       "0 for an expert without tokens"},
        {HEAD "1,0,1\n1,1,1\n", ":3:1: the file ends without layer 2; layers 1 to 2 need 2 rows "
                                "each"},
        {HEAD "0,0,1\n", ":2:1: layer: there is none of that number (0); those with loads are 1 to "
                         "2"},
        {HEAD "1,2,1\n",
         ":2:3: expert: there is none of that number (2); those with loads are 0 to "
         "1"},
        {HEAD "1,1,-1\n", ":2:5: load: not a number from 0 on (-1); write a share or a count of "
                          "tokens"},
        {HEAD "1,1,1\n1,1,2\n", ":3:1: expert 1 of layer 1 is there twice, first in line 2; keep "
                                "one"},
        {HEAD "1,0,0\n1,1,0\n2,0,1\n2,1,1\n",
         ":2:5: the loads of layer 1 sum to 0; write numbers whose sum is above 0, and a number"},
        {HEAD "1,0,1e308\n1,1,1e308\n2,0,1\n2,1,1\n",
         ":2:5: the loads of layer 1 sum to inf; write numbers whose sum is above 0, and a number"},
        {"layer,expert,load,name\n1,0,1,x\n",
         ":1:19: unknown column (name); write the columns layer, expert, load"},
    };
#undef HEAD
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_err err = TY_ERR_NONE;
        struct ty_token_routing routing;
        ck_assert_int_eq(load(rows[i].text, &routing, &arena, &err), TY_EINPUT);
        const char *said = strstr(err.text, "loads.csv");
        ck_assert_ptr_nonnull(said);
        said += strlen("loads.csv");
        ck_assert_msg(strncmp(said, rows[i].message, strlen(rows[i].message)) == 0, "%s", err.text);
        ty_arena_release(&arena);
    }
}

TY_SUITE("routing")
