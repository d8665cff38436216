/* steps.c - step times as observations: a table of runs, each simulated as a whole. */
#include <string.h>

#include "sim/calibrate/calibrate.h"
#include "sim/run/figures.h"
#include "sim/sweep/inputs.h"

#define NAMES_MAX 256u /* columns looked at for a hint */
/* Fitted to 10 layouts of Hagemann et al. 2023, seven keys predict the others to 8.4 %, to 20 of
 * them to 6.4 %; one factor alone to 7.8 %. */
#define ROWS_FOR_ALL 20u

/* What step times can tell, with enough of them: fits to 352 layouts of Hagemann et al. 2023 have
 * relative errors of 3 % (compute), 10 % (norms), 11 to 17 % (links), 21 % (FlashAttention 1).
 * Kernel overheads, latencies and the rate of FlashAttention 2 come out with errors of 46 to 170 %
 * and stay what they are. The host times matter for small models only, where 1440 runs of vTrain
 * give them to 1 %. */
static const char *const keys[] = {
    "cluster.derate",          "cluster.norm_passes",         "cluster.norm_passes_unfused",
    "cluster.flash1_rate",     "cluster.nvlink_efficiency",   "cluster.nvlink_pair_efficiency",
    "cluster.nic_efficiency",  "cluster.exchange_efficiency", "framework.layer_floor",
    "framework.pass_overhead", "framework.dispatch_sync",     NULL,
};

struct steps {
    struct ty_sweep_table table;
    struct ty_row_source runs;
    struct ty_worker_pool workers;
    uint32_t measured_column, group_column; /* group_column UINT32_MAX: equal model.* cells */
};

static const struct steps *steps_of(const struct ty_calibration *c)
{
    return c->data;
}

/* ---- columns ---- */

static int find_column(const struct ty_calibration *c, const char *option, const char *name,
                       uint32_t *column)
{
    const struct ty_csv *csv = &steps_of(c)->table.csv;
    const char *names[NAMES_MAX];
    uint32_t n = 0;
    for (uint32_t k = 0; k < csv->n_columns; k++) {
        if (strcmp(ty_csv_header(csv, k), name) == 0) {
            *column = k;
            return 0;
        }
        if (n < NAMES_MAX) {
            names[n++] = ty_csv_header(csv, k);
        }
    }
    const char *near = ty_nearest(name, names, n);
    ty_fail(c->err, TY_EUSAGE, "%s %.80s: %s has no such column; name one of its header", option,
            name, c->options->rows);
    if (near != NULL) {
        ty_hint(c->err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

/* A measured time: seconds, or a number with a unit of time. */
static int read_time(const struct ty_calibration *c, uint32_t row, double *out)
{
    const uint32_t column = steps_of(c)->measured_column;
    const struct ty_csv *csv = &steps_of(c)->table.csv;
    const char *cell = ty_csv_cell(csv, row, column);
    char why[256];
    const bool read = ty_quantity_parse(cell, TY_DIM_COUNT, out, why, sizeof(why)) == 0 ||
                      ty_quantity_parse(cell, TY_DIM_SECONDS, out, why, sizeof(why)) == 0;
    if (read && *out > 0) {
        return 0;
    }
    const struct ty_place at = ty_csv_place(csv, row + 1, column);
    return ty_fail_at(c->err, TY_EINPUT, &at, "%s: %s (%.40s); %s", c->options->measured,
                      read ? "not above zero" : "not a time", cell,
                      read ? "leave a run without a time empty"
                           : "write seconds, such as 21.3, or 21300 ms, or leave it empty");
}

static int read_times(struct ty_calibration *c)
{
    const struct steps *steps = steps_of(c);
    const uint32_t n = steps->table.csv.n_rows;
    int code = ty_cal_room(c, n);
    for (uint32_t row = 0; row < n && c->measured != NULL; row++) {
        const char *cell = ty_csv_cell(&steps->table.csv, row, steps->measured_column);
        if (cell[strspn(cell, " \t")] == '\0') {
            c->n_empty++;
            continue;
        }
        const int rc = read_time(c, row, &c->measured[row]);
        code = code < 0 ? code : rc;
    }
    if (code == 0 && c->n_empty == n) {
        code = ty_fail(c->err, TY_EINPUT, "%s: no row has a time in column %s", c->options->rows,
                       c->options->measured);
    }
    return code;
}

static int read_table(struct ty_calibration *c)
{
    const struct ty_calibrate_options *o = c->options;
    struct steps *steps = ty_arena_array(&c->arena, struct steps, 1);
    if (steps == NULL) {
        return ty_fail_memory(c->err);
    }
    c->data = steps;
    steps->runs = (struct ty_row_source){
        .source = o->source, .table = &steps->table, .workers = &steps->workers};
    ty_worker_pool_init(&steps->workers, &steps->runs.source);
    int rc = ty_sweep_table(&steps->table, o->rows, NULL, 0, &c->arena, c->err);
    if (rc == 0) {
        rc = ty_rows_spare(&steps->runs, o->output, c->err);
    }
    if (rc == 0) {
        rc = find_column(c, "--measured", o->measured, &steps->measured_column);
    }
    if (rc == 0 && steps->table.is_key[steps->measured_column]) {
        rc = ty_fail(c->err, TY_EUSAGE,
                     "--measured %s: a key of the run file; name the column of measured step times",
                     o->measured);
    }
    steps->group_column = UINT32_MAX;
    rc =
        rc < 0 || o->group == NULL ? rc : find_column(c, "--group", o->group, &steps->group_column);
    return rc < 0 ? rc : read_times(c);
}

/* ---- one row ---- */

/* What the rows of a group have in common: a cell, or all cells of model.*. */
static const char *group_name(struct ty_calibration *c, uint32_t row)
{
    const struct steps *steps = steps_of(c);
    const struct ty_csv *csv = &steps->table.csv;
    if (steps->group_column != UINT32_MAX) {
        return ty_csv_cell(csv, row, steps->group_column);
    }
    const char *name = "";
    for (uint32_t k = 0; k < csv->n_columns && name != NULL; k++) {
        if (steps->table.is_key[k] && strncmp(ty_csv_header(csv, k), "model.", 6) == 0) {
            name = ty_arena_printf(&c->arena, "%s%s%s", name, name[0] != '\0' ? " " : "",
                                   ty_csv_cell(csv, row, k));
        }
    }
    return name;
}

static const char *row_name(struct ty_calibration *c, uint32_t row)
{
    return ty_arena_printf(&c->arena, "row %u", (unsigned)row + 2);
}

static const char *title(struct ty_calibration *c)
{
    return ty_arena_printf(&c->arena, "%s, column %s", c->options->rows, c->options->measured);
}

static bool sets_key(const struct ty_calibration *c, const char *key)
{
    const struct ty_csv *csv = &steps_of(c)->table.csv;
    for (uint32_t k = 0; k < csv->n_columns; k++) {
        if (strcmp(ty_csv_header(csv, k), key) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the evaluator ---- */

struct look {
    const struct ty_calibration *c;
    double *seconds;
    struct ty_cal_stand *stand;
    struct ty_err *err;
    int rc;
};

static void see(const struct ty_run *run, void *arg)
{
    struct look *look = arg;
    struct ty_figures figures;
    ty_run_numbers(run, &figures);
    *look->seconds = figures.step_s;
    if (look->stand != NULL) {
        look->rc = ty_cal_locate_keys(look->c, run->config, look->stand, look->err);
    }
}

static int answer(const struct ty_calibration *c, const struct ty_cal_question *q,
                  struct ty_err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < q->n_rows && rc == 0; i++) {
        struct look look = {c, &q->seconds[i], q->stand, err, 0};
        rc = ty_row_run(&steps_of(c)->runs, q->rows[i], q->sets, q->n_sets, see, &look, err);
        rc = rc < 0 ? rc : look.rc;
    }
    return rc;
}

static void forget(struct ty_calibration *c)
{
    struct steps *steps = c->data;
    ty_worker_pool_release(&steps->workers);
}

const struct ty_cal_source ty_cal_steps = {
    .option = "rows",
    .times = "step time",
    .rows = "rows",
    .one = "row",
    .steps = true,
    .grouped = "equal model.* columns",
    .may_lack_times = true,
    .rows_asked = 1,
    .keys = keys,
    .rows_for_all = ROWS_FOR_ALL,
    .read = read_table,
    .forget = forget,
    .answer = answer,
    .group = group_name,
    .name = row_name,
    .title = title,
    .sets_key = sets_key,
};
