/* figures.h - what an executed run comes to, and a table of all that is one number.
 *
 * A row of the table is all there is to say of a figure: its name, unit and meaning, how a run has
 * it, and where it is shown, by which words. Reports, ty_run_figure, sweeps, the page and
 * `trainyard list figures` read the rows; a new figure is a new row (figure_rows.c). */
#ifndef TY_RUN_FIGURES_H
#define TY_RUN_FIGURES_H

#include "sim/run/run.h"

/* Of a step: waits of less are the rounding of other times, and nobody is shown them. */
#define TY_STEP_NOISE 1e-5

/* Traffic of one kind of group per step, all ranks together. */
struct ty_traffic {
    const char *group; /* "tp", "dp", "pp", ... */
    double nvlink_B, net_B;
};
#define TY_TRAFFIC_MAX 16
struct ty_figures {
    const struct ty_run *run; /* of which they are */
    double step_s, tokens_per_s, tokens_per_s_per_gpu;
    double model_tflops_per_gpu, mfu, mfu_causal, hfu, hfu_causal;
    double bubble_s, bubble_fraction, bubble_over_ideal, ideal_s;
    struct ty_fleet_figures fleet;
    double bucket_s[TY_N_BUCKETS]; /* per step, mean over ranks */
    double expert_wait_s;          /* of exposed_expert: for the slowest rank of the group */
    double expert_imbalance;       /* fullest rank of a group over the mean, mean over groups
                                    * and layers */
    double expert_dropped;         /* share of rows above framework.capacity */
    struct ty_traffic traffic[TY_TRAFFIC_MAX];
    uint32_t n_traffic;
    double peak_rss_B; /* of this process so far */
};

/* The figures of an executed run. */
void ty_run_figures(const struct ty_run *run, struct ty_figures *out);
/* The same without traffic, for which all operations are looked at. */
void ty_run_numbers(const struct ty_run *run, struct ty_figures *out);

/* ---- those that are one number ---- */

/* Units, and how a page and a list of figures name them. */
#define TY_FIGURE_UNITS(X)                                                                         \
    X(SECONDS, "s")                                                                                \
    X(BYTES, "bytes")                                                                              \
    X(COUNT, "count")                                                                              \
    X(TFLOPS, "TFLOP/s")                                                                           \
    X(SHARE, "share")                                                                              \
    X(DAYS, "days")                                                                                \
    X(MONEY, "money")                                                                              \
    X(MORE, "share more")                                                                          \
    X(FACTOR, "factor")

enum ty_figure_unit {
#define X(id, word) TY_FIGURE_##id,
    TY_FIGURE_UNITS(X)
#undef X
};

/* Where figures are shown. */
enum ty_figure_place {
    TY_IN_JSON,  /* of `run`, and of the page */
    TY_IN_TABLE, /* of `run`, for people */
    TY_IN_PAGE,  /* its table */
    TY_IN_SWEEP, /* columns of the table that it writes */
    TY_IN_BEST,  /* columns of the rows that it shows */
    TY_N_FIGURE_PLACES
};

struct ty_figure_row {
    const char *name; /* in JSON, of ty_run_figure and a sweep's column; NULL: for people only */
    const char *doc;  /* what it is */
    enum ty_figure_unit unit;
    int8_t better; /* when it grows: 1 that is good, -1 it is not, 0 neither */
    bool asked;    /* there only when the run file asks for it, else 0 */
    /* Shown there where `at` is not 0, in rising order, the earlier row first; under which label,
     * where it is not the name. */
    struct {
        uint8_t at;
        const char *label;
    } in[TY_N_FIGURE_PLACES];
    size_t offset; /* of a double in struct ty_figures, unless there is `value` */
    double (*value)(const struct ty_figures *figures);
    /* What stands behind it in the table for people; false: neither does the row stand there. */
    bool (*note)(const struct ty_figures *figures, char *buf, size_t size);
};
#define TY_FIGURES_MAX 40u

extern const struct ty_figure_row ty_figure_table[];
extern const uint32_t ty_n_figures;

/* Those shown at a place, in order, into rows[TY_FIGURES_MAX]; returns how many. */
uint32_t ty_figure_rows(enum ty_figure_place place, const struct ty_figure_row **rows);

/* The one of that name; NULL. */
const struct ty_figure_row *ty_figure_row(const char *name);

double ty_figure_value(const struct ty_figure_row *row, const struct ty_figures *figures);

/* A value with its unit; as a cell of a column, whose head says the unit. Return buf. */
char *ty_figure_words(enum ty_figure_unit unit, double value, char *buf, size_t size);
char *ty_figure_cell(enum ty_figure_unit unit, double value, char *buf, size_t size);

const char *ty_figure_unit_word(enum ty_figure_unit unit);

#endif
