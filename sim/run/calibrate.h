/* calibrate.h - a calibration in progress: what its parts share.
 *
 * calibrate_rows.c reads which rows have a measured time and runs them once, calibrate_keys.c
 * decides what is fitted, calibrate.c fits and judges, calibrate_report.c and calibrate_overlay.c
 * write. */
#ifndef TY_RUN_CALIBRATE_H
#define TY_RUN_CALIBRATE_H

#include "sim/run/fit.h"
#include "sim/run/row_run.h"

/* A key that is fitted. */
struct ty_cal_key {
    const char *name; /* "cluster.derate" */
    enum ty_section_index section;
    const struct ty_field *field;
    double start, value; /* base unit; value is what the overlay's text says */
    char text[64];       /* as the overlay writes it */
};

/* A row that has a measured time and could be simulated. */
struct ty_cal_row {
    uint32_t row;   /* of the table */
    uint32_t group; /* index into ty_calibration.group */
    uint32_t fold;  /* rows that are left out together: group, or several when there are many */
    double measured_s, before_s, after_s, left_out_s;
};

/* Relative errors of simulated step times. */
struct ty_cal_error {
    uint32_t n;
    double mape, median, p90, bias; /* of |simulated / measured - 1|; bias without the bars */
};

#define TY_CAL_SHOWN 5u  /* messages of rows that could not run */
#define TY_CAL_FOLDS 12u /* more groups than that are left out several at a time: each is a fit */

struct ty_calibration {
    const struct ty_calibrate_options *options;
    struct ty_err *err;
    struct ty_arena arena;
    struct ty_sweep_table table;
    struct ty_row_source source;
    uint32_t measured_column, group_column; /* group_column UINT32_MAX: equal model.* cells */

    struct ty_cal_key key[TY_FIT_MAX];
    uint32_t n_keys;
    bool chosen; /* by us, not by --fit */

    struct ty_cal_row *rows; /* [n_rows], in the order of the table */
    uint32_t n_rows;
    double *measured; /* [rows of the table] s; 0: empty */
    uint32_t n_empty, n_failed, n_shown;
    const char *failed[TY_CAL_SHOWN]; /* [n_shown] "row 7: layout.tensor: ..." */
    uint64_t seed;

    const char **group;         /* [n_groups] names */
    uint32_t n_groups, n_folds; /* n_folds < 2: nothing was left out */

    struct ty_fit fit;
    struct ty_cal_error before, after, left_out;
};

/* calibrate_rows.c: reads the table; finds columns; fills measured. */
int ty_cal_read(struct ty_calibration *c);

/* Runs every row with a measured time as it is, keeps those that can run, with their time before
 * the fit, their group, and the starts of the keys. */
int ty_cal_first_pass(struct ty_calibration *c);

/* A ty_fit_predict whose arg is the calibration and whose rows are those of the table. */
int ty_cal_predict(void *arg, const uint32_t *rows, uint32_t n_rows, const double *points,
                   uint32_t n_points, double *times, struct ty_err *err);

/* calibrate_keys.c: the keys of --fit, or all that may be chosen from; then, with starts known, the
 * choice. */
int ty_cal_keys(struct ty_calibration *c);
int ty_cal_choose(struct ty_calibration *c);

/* Rounds the fitted value to what the overlay will say. */
int ty_cal_key_round(struct ty_cal_key *key, double value, struct ty_err *err);

/* The fit of all rows but those of one fold (UINT32_MAX: all rows). Owned by c->arena. */
int ty_cal_problem(struct ty_calibration *c, uint32_t without, struct ty_fit_problem *problem);

/* Errors of before_s, after_s or left_out_s (offset in struct ty_cal_row) over a group, or over all
 * rows (UINT32_MAX). */
int ty_cal_error_of(const struct ty_calibration *c, size_t offset, uint32_t group,
                    struct ty_cal_error *out);

/* A key is not identified when the data alone leave a larger relative error than this. */
double ty_cal_limit(const struct ty_calibration *c);

/* What is to be said about key k: "", "at its upper bound (100 %)", "not identified by these data",
 * "no effect on these rows". Returns buf. */
char *ty_cal_remark(const struct ty_calibration *c, uint32_t k, char *buf, size_t size);

/* calibrate_report.c and calibrate_overlay.c */
struct ty_text;
void ty_cal_report(const struct ty_calibration *c, struct ty_text *text);
void ty_cal_report_json(const struct ty_calibration *c, struct ty_text *text);
void ty_cal_overlay(const struct ty_calibration *c, struct ty_text *text);

#endif
