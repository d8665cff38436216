/* calibrate.h - a calibration in progress: what its parts share.
 *
 * Whatever was measured, it is a list of observations: a time, and an evaluator that says what the
 * model makes of it under given settings. That seam is struct ty_cal_source, and nothing behind it
 * knows which kind it works on:
 *
 *     steps.c         rows of a table of runs, each simulated
 *     operators.c     kernels of an operator table    } parts of a machine,
 *     collectives.c   sizes of logs of nccl-tests     } parts.c
 *
 * rows.c asks the evaluator, first as things stand and then while fitting,
 * calibrate.c chooses keys, fits and judges; report.c writes what was found, and the overlay. */
#ifndef TY_CALIBRATE_CALIBRATE_H
#define TY_CALIBRATE_CALIBRATE_H

#include "sim/calibrate/fit.h"
#include "sim/config/config.h"
#include "sim/trainyard.h"

/* A key that is fitted. */
struct ty_cal_key {
    const char *name; /* "cluster.derate" */
    enum ty_section_index section;
    const struct ty_field *field;
    double start, value; /* base unit; value is what the overlay's text says */
    double prior;        /* the error that the run file or a preset states of it; 0: none */
    char text[64];       /* as the overlay writes it */
};

/* An observation that has a time and that the model can answer. */
struct ty_cal_row {
    uint32_t row;   /* as the source counts */
    uint32_t group; /* index into ty_calibration.group */
    uint32_t fold;  /* rows that are left out together: group, or several when there are many */
    double measured_s, before_s, after_s, left_out_s;
};

/* Relative errors of the model's times. */
struct ty_cal_error {
    uint32_t n;
    double mape, median, p90, bias; /* of |simulated / measured - 1|; bias without the bars */
};

#define TY_CAL_SHOWN 5u  /* messages of rows that could not run */
#define TY_CAL_FOLDS 12u /* more groups than that are left out several at a time: each is a fit */

struct ty_calibration;

/* What the model is asked: its times of some observations. */
struct ty_cal_question {
    const uint32_t *rows; /* [n_rows] */
    uint32_t n_rows;
    const char *const *sets; /* [n_sets] "section.key=value", stronger than all others */
    size_t n_sets;
    double *seconds; /* [n_rows] the answer, above zero */
    /* Also where the keys stand, in the base unit, and the seed; NULL: not asked. */
    struct ty_cal_stand *stand;
};

struct ty_cal_stand {
    double value[TY_FIT_MAX];
    double error[TY_FIT_MAX]; /* stated; 0: none */
    uint64_t seed;
};

/* A kind of measurements. */
struct ty_cal_source {
    const char *option;  /* "rows": its name on the command line and in JSON */
    const char *times;   /* "step time", as in "error of the step time" */
    const char *rows;    /* "rows": what observations are called */
    const char *one;     /* "row" */
    bool steps;          /* what they are off by is what a step is off by */
    const char *grouped; /* by what they are grouped unless --group says */
    bool may_lack_times; /* an observation may have none */
    uint32_t rows_asked; /* most in one question while fitting */
    /* Keys fitted without --fit, the most important first; below rows_for_all observations only
     * the first of them. */
    const char *const *keys; /* ends with NULL */
    uint32_t rows_for_all;
    /* The list has every key that could matter: those that the data do not identify are put back
     * where they started, and the others fitted again. Else it has those that such data are known
     * to tell, and the prior holds them where these rows do not. */
    bool keys_are_all;

    /* Reads what the options name; fills n_observed and measured. */
    int (*read)(struct ty_calibration *c);
    /* Lets go of what the arena does not own, where c->data is set. NULL: nothing. */
    void (*forget)(struct ty_calibration *c);
    /* The evaluator. May be called on several threads at once. Any row that cannot be answered
     * fails the question. */
    int (*answer)(const struct ty_calibration *c, const struct ty_cal_question *q,
                  struct ty_err *err);
    /* What observations that are left out together have in common, and what a message calls one.
     * Owned by c->arena; NULL without memory. */
    const char *(*group)(struct ty_calibration *c, uint32_t row);
    const char *(*name)(struct ty_calibration *c, uint32_t row);
    /* What they are compared with: "measured.csv, column step_s". Owned by c->arena. */
    const char *(*title)(struct ty_calibration *c);
    /* Whether the observations themselves set a key, so that it cannot be fitted; NULL: none. */
    bool (*sets_key)(const struct ty_calibration *c, const char *key);
};

extern const struct ty_cal_source ty_cal_steps, ty_cal_operators, ty_cal_collectives;

struct ty_calibration {
    const struct ty_calibrate_options *options;
    struct ty_err *err;
    struct ty_arena arena;
    const struct ty_cal_source *source;
    void *data;         /* of the source */
    const char *title;  /* what is compared */
    const char *unused; /* measured tables of the run file that are set aside; NULL: none */

    struct ty_cal_key key[TY_FIT_MAX];
    uint32_t n_keys;
    bool chosen;                          /* by us, not by --fit */
    const char *unidentified[TY_FIT_MAX]; /* [n_unidentified] they matter, but are left */
    uint32_t n_unidentified;

    /* Keys that could be fitted and were not, and what the residuals say of each. */
    struct ty_cal_key other[TY_FIT_MAX];
    struct ty_fit_demand demand[TY_FIT_MAX];
    uint32_t n_others;
    double left[2]; /* standard deviation of the residuals, and with those that are asked for */

    double *measured; /* [n_observed] s; 0: has none */
    uint32_t n_observed;
    struct ty_cal_row *rows; /* [n_rows], in the order of the source */
    uint32_t n_rows;
    uint32_t n_empty, n_failed, n_shown;
    const char *failed[TY_CAL_SHOWN]; /* [n_shown] "row 7: layout.tensor: ..." */
    uint64_t seed;

    const char **group;         /* [n_groups] names */
    uint32_t n_groups, n_folds; /* n_folds < 2: nothing was left out */

    struct ty_fit fit;
    struct ty_cal_error before, after, left_out;
};

/* rows.c: room for n observations, with measured zero. */
int ty_cal_room(struct ty_calibration *c, uint32_t n);

/* Asks for every observation with a time as things stand, keeps those that are answered, with their
 * time before the fit, their group, and the starts of the keys. */
int ty_cal_first_pass(struct ty_calibration *c);

/* Where the keys of c stand in a run file that was read. 0 or TY_ENOMEM. */
int ty_cal_locate_keys(const struct ty_calibration *c, const struct ty_config *config,
                       struct ty_cal_stand *stand, struct ty_err *err);

/* A ty_fit_predict whose arg is the calibration and whose rows are observations. */
int ty_cal_predict(void *arg, const uint32_t *rows, uint32_t n_rows, const double *points,
                   uint32_t n_points, double *times, struct ty_err *err);

/* parts.c: observations of parts of a machine, each asked for by itself. */

/* Seconds by the model of what a run file describes, with its own measured tables set aside.
 * Returns 0, or fails with the reason. */
typedef int ty_cal_part_fn(const struct ty_calibration *c, const struct ty_config *config,
                           uint32_t row, double *seconds, struct ty_err *err);

/* Answers for every row of the question, the run file read once. */
int ty_cal_parts_answer(const struct ty_calibration *c, const struct ty_cal_question *q,
                        ty_cal_part_fn *part, struct ty_err *err);

/* The run file as it stands, to be freed; notes which measured tables it names. */
int ty_cal_parts_open(struct ty_calibration *c, struct ty_config **config);

/* What rows of a group have in common, in words. */
static inline const char *ty_cal_grouped(const struct ty_calibration *c)
{
    return c->options->group != NULL ? c->options->group : c->source->grouped;
}

/* Keys whose estimates are correlated by more than this are known together only. */
#define TY_CAL_ALIKE 0.9

/* Of calibrations that lack no key this share tells one. */
#define TY_CAL_ALARMS 0.01

/* Errors of before_s, after_s or left_out_s (offset in struct ty_cal_row) over a group, or over all
 * rows (UINT32_MAX). */
int ty_cal_error_of(const struct ty_calibration *c, size_t offset, uint32_t group,
                    struct ty_cal_error *out);

/* Key k is not identified when the data alone leave a larger relative error than this. */
double ty_cal_limit(const struct ty_calibration *c, uint32_t k);

/* What is to be said about key k: "", "at its upper bound (100 %)", "not identified by these data:
 * no row's time depends on it". Returns buf. */
char *ty_cal_remark(const struct ty_calibration *c, uint32_t k, char *buf, size_t size);

/* report.c */
struct ty_text;
void ty_cal_report(const struct ty_calibration *c, struct ty_text *text);
void ty_cal_report_json(const struct ty_calibration *c, struct ty_text *text);
void ty_cal_overlay(const struct ty_calibration *c, struct ty_text *text);

#endif
