/* operators.c - kernels timed alone as observations: the rows of an operator table.
 *
 * Each stands next to the model's own time of that kernel, without `derate` and `gemm_sustained`,
 * which are what a training step takes longer than its kernels alone. */
#include <math.h>

#include "model/block/block.h"
#include "model/kernel/operators.h"
#include "sim/calibrate/calibrate.h"

#define ROWS_ASKED 256u /* reading the run file takes as long as some hundred kernels (guess) */

/* All that a kernel's time can tell, by what a step spends on it. Rates of the hardware (peaks,
 * memory_bandwidth) are multiplied by efficiencies and cannot be told from them. */
static const char *const keys[] = {
    "cluster.gemm_efficiency",
    "cluster.gemm_overhead",
    "cluster.wgrad_slowdown",
    "cluster.flash2_rate",
    "cluster.flash3_rate",
    "cluster.flash1_rate",
    "cluster.norm_passes",
    "cluster.add_efficiency",
    "cluster.activation_efficiency",
    "cluster.rope_efficiency",
    "cluster.kernel_overhead",
    "cluster.norm_passes_unfused",
    "cluster.optimizer_efficiency",
    "cluster.flash2_half",
    "cluster.flash3_half",
    "cluster.flash1_half",
    "cluster.gemm_ramp",
    "cluster.fp8_ramp",
    "cluster.wgrad_result",
    "cluster.gemm_load",
    "cluster.l2_bandwidth",
    NULL,
};

/* A measured kernel: a point of a curve of the table. */
struct kernel {
    const struct ty_operator_key *key;
    double size;
};

struct table {
    struct ty_operators operators;
    struct kernel *kernel; /* by observation */
};

static const struct kernel *kernel_of(const struct ty_calibration *c, uint32_t row)
{
    return &((const struct table *)c->data)->kernel[row];
}

static int read_table(struct ty_calibration *c)
{
    struct ty_config *config = NULL;
    struct table *table = ty_arena_array(&c->arena, struct table, 1);
    int rc = table == NULL ? ty_fail_memory(c->err) : ty_cal_parts_open(c, &config);
    if (rc == 0) {
        rc = ty_operators_load(&table->operators, c->options->operators, &c->arena, c->err);
    }
    if (rc == 0) {
        rc = ty_operators_check_gpu(&table->operators, config->cluster.gpu_preset, c->err);
    }
    ty_config_free(config);
    if (rc == 0) {
        rc = ty_cal_room(c, table->operators.n_rows);
    }
    if (rc < 0) {
        return rc;
    }
    table->kernel = ty_arena_array(&c->arena, struct kernel, (size_t)c->n_observed + 1);
    if (table->kernel == NULL) {
        return ty_fail_memory(c->err);
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < table->operators.n; i++) {
        const struct ty_operator_curve *curve = &table->operators.curve[i];
        for (uint32_t k = 0; k < curve->curve.n; k++) {
            table->kernel[n] = (struct kernel){&curve->key, curve->curve.x[k]};
            c->measured[n++] = exp(curve->curve.log_y[k]);
        }
    }
    c->data = table;
    return 0;
}

static int seconds_of(const struct ty_calibration *c, const struct ty_config *config, uint32_t row,
                      double *seconds, struct ty_err *err)
{
    const struct kernel *kernel = kernel_of(c, row);
    struct ty_cost cost;
    if (!ty_operator_cost(&config->cluster.gpu, &config->arch, &config->layout, kernel->key,
                          kernel->size, &cost)) {
        return ty_fail(err, TY_EINPUT, "this GPU has no rate for it (cluster.peak_%s)",
                       ty_dtype_words[kernel->key->dtype].name);
    }
    *seconds = cost.seconds;
    return 0;
}

static int answer(const struct ty_calibration *c, const struct ty_cal_question *q,
                  struct ty_err *err)
{
    return ty_cal_parts_answer(c, q, seconds_of, err);
}

/* ---- words ---- */

/* Kernels of one weight matrix, forward and backward, whatever the tokens; heads of one shape;
 * else a decade of sizes of one operator. What is left out must have others of its kind. */
static const char *group(struct ty_calibration *c, uint32_t row)
{
    const struct kernel *kernel = kernel_of(c, row);
    const struct ty_operator_key *key = kernel->key;
    const char *op = ty_operator_name(key->op);
    const char *kind = ty_operator_kernel_name(key->op, key->kernel);
    switch (key->op) {
    case TY_OPERATOR_MATMUL:
        return ty_arena_printf(&c->arena, "%s %.0f x %.0f", op, fmin(key->dim[0], key->dim[1]),
                               fmax(key->dim[0], key->dim[1]));
    case TY_OPERATOR_ATTENTION:
        return ty_arena_printf(&c->arena, "%s%s%s, sequence %.0f, heads %.0f", op,
                               kind[0] != '\0' ? " " : "", kind, key->dim[0], key->dim[1]);
    default:
        return ty_arena_printf(&c->arena, "%s%s%s, 1e%.0f elements", op, kind[0] != '\0' ? " " : "",
                               kind, floor(log10(kernel->size)));
    }
}

static const char *name(struct ty_calibration *c, uint32_t row)
{
    char words[TY_OPERATOR_WORDS], sizes[TY_OPERATOR_WORDS];
    const struct kernel *kernel = kernel_of(c, row);
    return ty_arena_printf(&c->arena, "%s, %s", ty_operator_words(kernel->key, words),
                           ty_operator_sizes(kernel->key, kernel->size, sizes));
}

static const char *title(struct ty_calibration *c)
{
    return c->options->operators;
}

const struct ty_cal_source ty_cal_operators = {
    .option = "operators",
    .times = "kernel's time",
    .rows = "kernels",
    .one = "kernel",
    .grouped = "weight matrix, shape of attention, or operator and decade of elements",
    .rows_asked = ROWS_ASKED,
    .keys = keys,
    .keys_are_all = true,
    .read = read_table,
    .answer = answer,
    .group = group,
    .name = name,
    .title = title,
};
