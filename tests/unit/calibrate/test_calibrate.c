/* test_calibrate.c - keys recovered from simulated measurements, through the public interface. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/run/figures.h"
#include "tests/unit/calibration.h"

static const char base[] = "cluster: {preset: dgx-a100-80g, nodes: 4}\n"
                           "model: {preset: llama-7b, layers: 8}\n"
                           "layout: {global_batch: 64, zero: 1}\n"
                           "run: {contention: false, engine: sweep}\n";

#define ROWS_MAX 64u
#define COLUMNS  "layout.tensor,layout.pipeline,layout.micro_batch,layout.recompute,model.sequence"

/* Layouts that tell the keys apart: tensor 1, 2, 8; pipeline 1, 4; micro-batches; recomputation. */
struct table {
    char cells[ROWS_MAX][80];
    double step_s[ROWS_MAX]; /* 0: not measured */
    uint32_t n;
};

static void make_table(struct table *t)
{
    static const int tensor[] = {1, 2, 8}, pipeline[] = {1, 4}, micro[] = {1, 2},
                     sequence[] = {1024, 4096};
    t->n = 0;
    for (int i = 0; i < 3 * 2 * 2 * 2; i++) {
        snprintf(t->cells[t->n++], sizeof(t->cells[0]), "%d,%d,%d,%s,%d", tensor[i % 3],
                 pipeline[i / 3 % 2], micro[i / 6 % 2], i % 2 != 0 ? "full" : "none",
                 sequence[i / 12]);
    }
}

/* The step time of a row under settings that end with NULL. */
static double simulate(const char *path, const char *cells, const char *with,
                       const char *const *sets)
{
    const char *names[] = {"layout.tensor", "layout.pipeline", "layout.micro_batch",
                           "layout.recompute", "model.sequence"};
    char text[5][64], copy[80];
    const char *all[16];
    size_t n = 0;
    while (sets != NULL && sets[n] != NULL) {
        all[n] = sets[n];
        n++;
    }
    snprintf(copy, sizeof(copy), "%s", cells);
    char *rest = copy;
    for (int k = 0; k < 5; k++) {
        char *end = rest + strcspn(rest, ",");
        snprintf(text[k], sizeof(text[k]), "%s=%.*s", names[k], (int)(end - rest), rest);
        rest = end + 1;
        all[n++] = text[k];
    }
    const struct ty_source source = {
        .path = path, .with = &with, .n_with = with != NULL ? 1 : 0, .sets = all, .n_sets = n};
    struct ty_err err = TY_ERR_NONE;
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    struct ty_figures figures = {.step_s = 0};
    ck_assert_msg(ty_config_read(&config, &source, &err) == 0 &&
                      ty_run_new(&run, config, &err) == 0 && ty_run_execute(run, NULL, &err) == 0,
                  "%s", err.text);
    ty_run_figures(run, &figures);
    ty_run_free(run);
    ty_config_free(config);
    return figures.step_s;
}

static void put_table(const struct place *p, const struct table *t)
{
    char text[ROWS_MAX * 160] = COLUMNS ",step_s,note\n";
    for (uint32_t i = 0; i < t->n; i++) {
        char line[160], time[32] = "";
        if (t->step_s[i] > 0) {
            snprintf(time, sizeof(time), "%.9g", t->step_s[i]);
        }
        snprintf(line, sizeof(line), "%s,%s,\"row, %u\"\n", t->cells[i], time, (unsigned)i);
        strcat(text, line);
    }
    put(p->rows, text);
}

static void enter(struct place *p)
{
    place_make(p, base);
}

static int calibrate(struct place *p, const char *fit, const char *group, double prior,
                     uint32_t jobs, struct ty_err *err)
{
    const struct ty_calibrate_options o = {.rows = p->rows,
                                           .measured = "step_s",
                                           .fit = fit,
                                           .group = group,
                                           .prior = prior,
                                           .jobs = jobs};
    return place_calibrate(p, &o, err);
}

/* Fills in the times of a machine with these settings, each off by its own noise. */
static void measure(const struct place *p, struct table *t, const char *const *sets, double noise)
{
    for (uint32_t i = 0; i < t->n; i++) {
        t->step_s[i] =
            simulate(p->run, t->cells[i], NULL, sets) * exp(noise * ty_noise_normal(7, i, 0, 0));
    }
    put_table(p, t);
}

TEST(known_values_are_recovered)
{
    static const char *const truth[] = {"cluster.derate=1.35", "cluster.nvlink_efficiency=0.5",
                                        "cluster.nic_efficiency=0.6", NULL};
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    measure(&p, &t, truth, 0);
    ck_assert_msg(calibrate(&p, "cluster.derate,cluster.nvlink_efficiency,cluster.nic_efficiency",
                            NULL, 0, 0, &err) == 0,
                  "%s", err.text);
    ck_assert_double_eq_tol(number(key_of(&p, "cluster.derate"), "value"), 1.35, 0.002);
    ck_assert_double_eq_tol(number(key_of(&p, "cluster.nvlink_efficiency"), "value"), 0.5, 0.002);
    ck_assert_double_eq_tol(number(key_of(&p, "cluster.nic_efficiency"), "value"), 0.6, 0.002);
    ck_assert(number(js_get(p.report, "before"), "mape") > 0.1);
    ck_assert(number(js_get(p.report, "after"), "mape") < 1e-4);
    ck_assert(number(js_get(p.report, "left_out"), "mape") < 1e-3);
    ck_assert(js_need(p.report, "groups")->n == 2); /* two lengths of sequence */
    place_remove(&p);
}

TEST(noise_comes_back_as_error_and_the_truth_lies_within_it)
{
    static const char *const truth[] = {"cluster.derate=1.35", "cluster.nvlink_efficiency=0.6",
                                        NULL};
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    measure(&p, &t, truth, 0.02);
    ck_assert_msg(calibrate(&p, "cluster.derate,cluster.nvlink_efficiency", NULL, 0.2, 0, &err) ==
                      0,
                  "%s", err.text);
    const struct js *derate = key_of(&p, "cluster.derate");
    const struct js *link = key_of(&p, "cluster.nvlink_efficiency");
    ck_assert(fabs(log(number(derate, "value") / 1.35)) < 3 * number(derate, "error"));
    ck_assert(fabs(log(number(link, "value") / 0.6)) < 3 * number(link, "error"));
    ck_assert(number(derate, "error") < 0.02 && number(derate, "error") > 0.001);
    const double noise = number(p.report, "residual_noise");
    ck_assert(noise > 0.01 && noise < 0.03);
    const double after = number(js_get(p.report, "after"), "mape");
    ck_assert(after > 0.008 && after < 0.025);
    /* and the overlay has it, to three digits */
    static struct ty_uncertain u;
    struct ty_config *config = machine(&p, p.overlay, NULL);
    memset(&u, 0, sizeof(u));
    ck_assert_int_eq(ty_uncertain_read(config, &u, &config->arena, &err), 0);
    ck_assert_str_eq(u.key[0].name, "cluster.derate");
    ck_assert_str_eq(u.key[0].why, "fitted to 24 rows");
    ck_assert_double_eq_tol(u.key[0].error / number(derate, "error"), 1, 0.006);
    ck_assert_double_eq_tol(u.key[1].error / number(link, "error"), 1, 0.006);
    const struct js *joint = js_need(p.report, "correlation_with_prior")->first->first->next;
    ck_assert_double_eq_tol(u.correlation[0][1], strtod(joint->raw, NULL), 6e-5);
    const double scatter = number(js_get(p.report, "scatter"), "each");
    ck_assert(fabs(config->uncertainty.scatter / scatter - 1) < 0.006 &&
              fabs(scatter - 0.02) < 0.006);
    ty_config_free(config);
    place_remove(&p);
}

/* Every step time under the overlay is that of the report's "after". */
TEST(a_run_with_the_overlay_gives_the_fitted_figures)
{
    static const char *const truth[] = {"cluster.derate=1.3", NULL};
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    measure(&p, &t, truth, 0.03);
    ck_assert_msg(calibrate(&p, "cluster.derate,cluster.nvlink_latency,framework.pass_overhead",
                            NULL, 0.2, 0, &err) == 0,
                  "%s", err.text);
    double sum = 0;
    for (uint32_t i = 0; i < t.n; i++) {
        char cell[32];
        snprintf(cell, sizeof(cell), "%.9g", t.step_s[i]);
        sum += fabs(simulate(p.run, t.cells[i], p.overlay, NULL) / strtod(cell, NULL) - 1);
    }
    const double after = number(js_get(p.report, "after"), "mape");
    ck_assert_double_eq_tol(sum / t.n, after, 1e-12);
    /* and a setting still beats it */
    static const char *const set[] = {"cluster.derate=1", NULL};
    ck_assert(simulate(p.run, t.cells[0], p.overlay, set) <
              0.9 * simulate(p.run, t.cells[0], p.overlay, NULL));
    place_remove(&p);
}

TEST(a_key_that_no_row_uses_is_not_identified)
{
    static const char *const truth[] = {"cluster.derate=1.2", NULL};
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    measure(&p, &t, truth, 0.01);
    ck_assert_msg(calibrate(&p, "cluster.derate,cluster.flash1_rate", NULL, 0.2, 0, &err) == 0,
                  "%s", err.text);
    const struct js *flash1 = key_of(&p, "cluster.flash1_rate");
    ck_assert(!is_identified(flash1));
    ck_assert(js_need(flash1, "data_error")->type == JS_NULL); /* infinite */
    ck_assert(number(flash1, "value") == number(flash1, "start"));
    ck_assert(js_is(js_get(flash1, "remark"),
                    "not identified by these data: no row's time depends on it"));
    ck_assert(is_identified(key_of(&p, "cluster.derate")));
    place_remove(&p);
}

/* A link that nobody knows: 20 % around its start would hold it, what the file states does not. */
TEST(what_the_run_file_states_of_a_key_is_its_prior)
{
    static const char *const truth[] = {"cluster.nic_bandwidth=40 Gb/s", NULL};
    static const char fit[] = "cluster.derate,cluster.nic_bandwidth";
    double value[2];
    for (int stated = 0; stated < 2; stated++) {
        struct place p;
        struct table t;
        struct ty_err err;
        enter(&p);
        make_table(&t);
        measure(&p, &t, truth, 0.02);
        if (stated) {
            char text[512];
            snprintf(text, sizeof(text),
                     "%suncertainty: {errors: [cluster.nic_bandwidth 100 %%]}\n", base);
            put(p.run, text);
        }
        ck_assert_msg(calibrate(&p, fit, NULL, 0.05, 0, &err) == 0, "%s", err.text);
        value[stated] = number(key_of(&p, "cluster.nic_bandwidth"), "value") / 5e9;
        place_remove(&p);
    }
    ck_assert(value[0] > 1.15);
    ck_assert_double_eq_tol(value[1], 1, 0.1);
}

/* Runs ten times too fast ask for a derate that no run file may have. */
TEST(a_value_beyond_its_bound_stays_there)
{
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    t.n = 6;
    measure(&p, &t, NULL, 0);
    for (uint32_t i = 0; i < t.n; i++) {
        t.step_s[i] *= 20;
    }
    put_table(&p, &t);
    ck_assert_msg(calibrate(&p, NULL, NULL, 0, 0, &err) == 0, "%s", err.text);
    const struct js *derate = key_of(&p, "cluster.derate");
    ck_assert(js_is(js_get(derate, "bound"), "upper"));
    ck_assert(number(derate, "value") > 9.9 && number(derate, "value") <= 10);
    place_remove(&p);
}

TEST(few_rows_fit_one_factor_and_many_fit_what_they_tell)
{
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    measure(&p, &t, NULL, 0.01);
    ck_assert_msg(calibrate(&p, NULL, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    ck_assert(key_of(&p, "cluster.derate") != NULL);
    ck_assert(key_of(&p, "cluster.norm_passes") != NULL);
    ck_assert(key_of(&p, "cluster.nvlink_efficiency") != NULL);
    ck_assert(key_of(&p, "cluster.norm_passes_unfused") == NULL); /* no row has such norms */
    for (uint32_t i = 19; i < t.n; i++) {
        t.step_s[i] = 0;
    }
    put_table(&p, &t);
    ck_assert_msg(calibrate(&p, NULL, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    ck_assert(js_need(p.report, "keys")->n == 1 && key_of(&p, "cluster.derate") != NULL);
    ck_assert(number(p.report, "rows_used") == 19);
    ck_assert(number(p.report, "rows_without_time") == 5);
    place_remove(&p);
}

/* Few rows fit derate alone, which takes what is due to another key: that is told; not when derate
 * alone is wrong. */
TEST(a_key_that_is_missing_from_the_choice_is_told)
{
    static const char *const one[] = {"cluster.derate=1.2", NULL};
    static const char *const two[] = {"cluster.derate=1.2", "cluster.nvlink_efficiency=0.5", NULL};
    for (int with_two = 0; with_two < 2; with_two++) {
        struct place p;
        struct table t;
        struct ty_err err;
        enter(&p);
        make_table(&t);
        t.n = 18;
        measure(&p, &t, with_two ? two : one, 0.01);
        ck_assert_msg(calibrate(&p, NULL, NULL, 0.2, 0, &err) == 0, "%s", err.text);
        ck_assert(js_need(p.report, "keys")->n == 1);
        const struct js *asked = js_need(p.report, "asked_for")->first;
        ck_assert_msg((asked != NULL) == (with_two != 0), "%d", with_two);
        bool found = false;
        for (; asked != NULL; asked = asked->next) {
            if (js_is(js_get(asked, "key"), "cluster.nvlink_efficiency")) {
                found = true;
                ck_assert(number(asked, "p") < 1e-3 && number(asked, "f") > 10);
            }
        }
        ck_assert(found == (with_two != 0));
        place_remove(&p);
    }
}

TEST(rows_that_cannot_run_are_counted_and_passed_over)
{
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    t.n = 4;
    measure(&p, &t, NULL, 0);
    snprintf(t.cells[1], sizeof(t.cells[1]), "3,1,1,none,1024");
    put_table(&p, &t);
    ck_assert_msg(calibrate(&p, NULL, NULL, 0.2, 0, &err) == 0, "%s", err.text);
    ck_assert(number(p.report, "rows_used") == 3 && number(p.report, "rows_failed") == 1);
    const struct js *first = js_need(p.report, "failed")->first;
    ck_assert(first != NULL && strncmp(first->raw, "row 3: layout.tensor: 3 does not", 32) == 0);
    place_remove(&p);
}

TEST(groups_are_left_out_and_one_group_says_so)
{
    static const char *const truth[] = {"cluster.derate=1.3", NULL};
    struct place p;
    struct table t;
    struct ty_err err;
    enter(&p);
    make_table(&t);
    measure(&p, &t, truth, 0);
    for (uint32_t i = 0; i < 12; i++) {
        t.step_s[i] *= 1.1; /* short sequences are slower than the model knows */
    }
    put_table(&p, &t);
    ck_assert_msg(calibrate(&p, "cluster.derate", NULL, 0, 0, &err) == 0, "%s", err.text);
    const double after = number(js_get(p.report, "after"), "mape");
    const double out = number(js_get(p.report, "left_out"), "mape");
    ck_assert(out > 1.5 * after); /* training error flatters */
    ck_assert_double_eq_tol(out, 0.1, 0.02);
    ck_assert_msg(calibrate(&p, "cluster.derate", "layout.tensor", 0, 0, &err) == 0, "%s",
                  err.text);
    ck_assert(js_need(p.report, "groups")->n == 3);
    if (suite_whole()) {
        ck_assert_msg(calibrate(&p, "cluster.derate", "note", 0, 0, &err) == 0, "%s", err.text);
        ck_assert(js_need(p.report, "groups")->n == 24); /* in twelve fits */
    }
    t.n = 12;
    put_table(&p, &t);
    ck_assert_msg(calibrate(&p, "cluster.derate", NULL, 0, 0, &err) == 0, "%s", err.text);
    ck_assert(js_need(p.report, "groups")->n == 1);
    ck_assert(js_need(p.report, "left_out")->type == JS_NULL);
    place_remove(&p);
}

TEST(threads_change_nothing)
{
    const char *fit = "cluster.derate";
    struct place p;
    struct table t;
    struct ty_err err;
    size_t n;
    enter(&p);
    make_table(&t);
    measure(&p, &t, NULL, 0.02);
    ck_assert_msg(calibrate(&p, fit, NULL, 0.2, 1, &err) == 0, "%s", err.text);
    char *one = file_text(p.overlay, &n);
    ck_assert_msg(calibrate(&p, fit, NULL, 0.2, 5, &err) == 0, "%s", err.text);
    char *five = file_text(p.overlay, &n);
    ck_assert_str_eq(one, five);
    free(one);
    free(five);
    place_remove(&p);
}

TEST(mistakes_have_their_message)
{
    static const struct {
        const char *fit, *group, *table, *message;
        int code;
    } rows[] = {
        {"cluster.derat", NULL, "layout.tensor,step_s\n1,2\n", "did you mean \"cluster.derate\"?",
         TY_EUSAGE},
        {"clutser.derate", NULL, "layout.tensor,step_s\n1,2\n", "did you mean \"cluster.derate\"?",
         TY_EUSAGE},
        {"cluster.sms", NULL, "layout.tensor,step_s\n1,2\n", "cannot be fitted; name a time",
         TY_EUSAGE},
        {"cluster.derate,", NULL, "layout.tensor,step_s\n1,2\n", "no such key", TY_EUSAGE},
        {"cluster.derate,cluster.derate", NULL, "layout.tensor,step_s\n1,2\n", "named twice",
         TY_EUSAGE},
        {"cluster.derate", NULL, "cluster.derate,step_s\n1,2\n", "sets it row by row", TY_EUSAGE},
        {"cluster.nvls_efficiency", NULL, "layout.tensor,step_s\n1,2\n", "starts at 0", TY_EINPUT},
        {NULL, "modle", "model,step_s\na,2\n", "did you mean \"model\"?", TY_EUSAGE},
        {NULL, NULL, "layout.tensor,steps\n1,2\n", "did you mean \"steps\"?", TY_EUSAGE},
        {NULL, NULL, "layout.tensr,step_s\n1,2\n", "did you mean \"layout.tensor\"?", TY_EINPUT},
        {NULL, NULL, "layout.tensor,step_s\n1,fast\n", "rows.csv:2:3: step_s: not a time (fast)",
         TY_EINPUT},
        {NULL, NULL, "layout.tensor,step_s\n1,2\n1,-3\n",
         "rows.csv:3:3: step_s: not above zero (-3)", TY_EINPUT},
        {NULL, NULL, "layout.tensor,step_s\n1,\n2,\n", "no row has a time", TY_EINPUT},
        {NULL, NULL, "layout.tensor,step_s\n3,1\n", "row 2: layout.tensor: 3 does not", TY_EINPUT},
        {NULL, NULL, "cluster.preset,step_s\ndgx-a100-80g,1\ndgx-h100,1\n",
         "in row 3; calibrate one machine and framework at a time", TY_EINPUT},
        {"cluster.derate,cluster.nic_efficiency", NULL, "layout.tensor,step_s\n1,1\n",
         "1 measured row cannot determine 2 keys", TY_EINPUT},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        struct place p;
        struct ty_err err;
        enter(&p);
        put(p.rows, rows[i].table);
        ck_assert_int_eq(calibrate(&p, rows[i].fit, rows[i].group, 0, 0, &err), rows[i].code);
        ck_assert_msg(strstr(err.text, rows[i].message) != NULL, "%s", err.text);
        place_remove(&p);
    }
}

TEST(a_time_may_have_a_unit)
{
    struct place p;
    struct ty_err err;
    enter(&p);
    put(p.rows, "layout.tensor,step_s\n1,2\n1,2000 ms\n1,2 s\n1, \n");
    ck_assert_msg(calibrate(&p, NULL, NULL, 0, 0, &err) == 0, "%s", err.text);
    ck_assert(number(p.report, "rows_used") == 3);
    ck_assert(number(js_get(p.report, "after"), "mape") < 1e-4);
    place_remove(&p);
}

TY_SUITE("calibrate")
