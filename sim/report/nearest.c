/* nearest.c - the measured runs most like a run, out of the benchmark's (docs/benchmark.md).
 *
 * Distance adds up what decides errors: one for every factor of two in parameters, half of it in
 * GPUs, and fixed parts for another GPU, type, framework, or experts (guesses; they only rank). */
#include "sim/report/nearest.h"

#include <math.h>
#include <string.h>

#include "model/parallel/whole.h"
#include "sim/base/number_text.h"
#include "sim/config/scatter.h"

#define SHOWN  2u
#define COLUMN 22 /* as in table.c */

/* Words of the table. */
enum {
    VOLTA = TY_VOLTA,
    AMPERE = TY_AMPERE,
    HOPPER = TY_HOPPER,
    BLACKWELL = TY_BLACKWELL
};

static const struct measured {
    const char *set, *gpu, *framework;
    double params;
    uint32_t gpus;
    int generation; /* enum ty_generation */
    uint32_t bits;
    int experts;
    uint32_t runs;
    double error, worst;
} table[] = {
#include "sim/report/nearest_rows.h"
};

static double framework_distance(const char *a, const char *b)
{
    return strcmp(a, b) == 0                                          ? 0
           : ty_framework_is_pytorch(a) == ty_framework_is_pytorch(b) ? 0.5
                                                                      : 2;
}

static double distance(const struct measured *m, const struct ty_config *c, double params)
{
    const struct ty_traits is = ty_traits_of(c);
    const bool same_gpu =
        c->cluster.gpu_preset != NULL && strcmp(m->gpu, c->cluster.gpu_preset) == 0;
    double d = fabs(log2(m->params / params));
    d += 0.5 * fabs(log2((double)m->gpus / ty_cluster_gpus(&c->cluster)));
    d += same_gpu ? 0 : m->generation == (int)is.generation ? 1 : 4;
    d += m->bits == is.bits ? 0 : 2;
    d += (m->experts != 0) == is.experts ? 0 : 4;
    return d + framework_distance(m->framework, c->layout.framework.preset);
}

/* The nearest rows, the best one first. */
static uint32_t find(const struct ty_run *run, const struct measured *near[SHOWN])
{
    const struct ty_config *c = run->config;
    double at[SHOWN];
    uint32_t n = 0;
    if (c->workload.job != NULL || run->jobs != NULL) {
        return 0;
    }
    const double params = ty_arch_params(&c->arch);
    for (size_t i = 0; i < TY_COUNT(table); i++) {
        const double d = distance(&table[i], c, params);
        uint32_t k = n < SHOWN ? n++ : SHOWN;
        for (; k > 0 && d < at[k - 1]; k--) {
            if (k < SHOWN) {
                at[k] = at[k - 1];
                near[k] = near[k - 1];
            }
        }
        if (k < SHOWN) {
            at[k] = d;
            near[k] = &table[i];
        }
    }
    return n;
}

static const char *type_word(uint32_t bits)
{
    return bits == 16 ? "16 bit" : bits == 8 ? "fp8" : "NVFP4";
}

/* "8.03B", "345M" */
static const char *size_word(double params, char *buf, size_t size)
{
    const bool billions = params >= 1e9;
    (void)ty_snprintf(buf, size, "%.3g%s", params / (billions ? 1e9 : 1e6), billions ? "B" : "M");
    return buf;
}

void ty_report_nearest(const struct ty_run *run, struct ty_text *t)
{
    const struct measured *near[SHOWN];
    const uint32_t n = find(run, near);
    for (uint32_t i = 0; i < n; i++) {
        const struct measured *m = near[i];
        char params[32];
        ty_text_add(t, i == 0 ? "nearest measured" : "");
        ty_text_pad(t, COLUMN);
        ty_text_add(t, "%+.1f %%", 100 * m->error);
        ty_text_pad(t, COLUMN + 16);
        ty_text_add(t, "%s: %u run%s of %s on %u %s, %s, %s", m->set, (unsigned)m->runs,
                    m->runs == 1 ? "" : "s", size_word(m->params, params, sizeof(params)),
                    (unsigned)m->gpus, m->gpu, type_word(m->bits), m->framework);
        if (m->runs > 1) {
            ty_text_add(t, "; worst %+.1f %%", 100 * m->worst);
        }
        ty_text_add(t, "\n");
    }
}

void ty_report_nearest_json(const struct ty_run *run, struct ty_json *j)
{
    const struct measured *near[SHOWN];
    const uint32_t n = find(run, near);
    if (n == 0) {
        return;
    }
    ty_json_array(j, "nearest_measured");
    ty_json_rows(j);
    for (uint32_t i = 0; i < n; i++) {
        const struct measured *m = near[i];
        ty_json_object(j, NULL);
        ty_json_text(j, "set", m->set);
        ty_json_text(j, "gpu", m->gpu);
        ty_json_whole(j, "gpus", m->gpus);
        ty_json_real(j, "parameters", m->params);
        ty_json_whole(j, "bits", m->bits);
        ty_json_bool(j, "experts", m->experts != 0);
        ty_json_text(j, "framework", m->framework);
        ty_json_whole(j, "runs", m->runs);
        ty_json_real(j, "error", m->error);
        ty_json_real(j, "worst_error", m->worst);
        ty_json_end(j);
    }
    ty_json_end(j);
}
