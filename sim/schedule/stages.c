/* stages.c - the factors of --stages: how many times as long each virtual stage takes. */
#include <stdio.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/schedule/run.h"

/* As many as there are; *n. */
static int read_factors(const char *text, struct ty_arena *arena, double **factors, uint32_t *n,
                        struct ty_err *err)
{
    *n = 1;
    for (const char *at = text; *at != '\0'; at++) {
        *n += *at == ',';
    }
    *factors = ty_arena_array(arena, double, *n);
    if (*factors == NULL) {
        return ty_fail_memory(err);
    }
    const char *at = text;
    for (uint32_t i = 0; i < *n; i++) {
        char part[32], why[160];
        const size_t len = strcspn(at, ",");
        (void)snprintf(part, sizeof(part), "%.*s", (int)len, at);
        if (len >= sizeof(part) ||
            ty_quantity_parse(part, TY_DIM_COUNT, &(*factors)[i], why, sizeof(why)) < 0 ||
            !((*factors)[i] >= 0) || (*factors)[i] > 1e3) {
            return ty_fail(err, TY_EUSAGE,
                           "--stages %s: not a factor from 0 to 1000; write one, such as 1.5",
                           part);
        }
        at += len + 1;
    }
    return 0;
}

/* The factor of part i of n of a model of which given[k] are those of k parts: the mean of what it
 * covers. In steps of 1 / (n k) of the model. */
static double mean_factor(const double *given, uint32_t k, uint32_t i, uint32_t n)
{
    const uint64_t from = (uint64_t)i * k, to = from + k;
    double sum = 0;
    for (uint64_t at = from; at < to;) {
        const uint64_t next = (at / n + 1) * n, end = next < to ? next : to;
        sum += given[at / n] * (double)(end - at);
        at = end;
    }
    return sum / k;
}

int ty_sched_stage_factors(const char *text, uint32_t n, bool shared, struct ty_arena *arena,
                           double **factors, struct ty_err *err)
{
    double *given;
    uint32_t k;
    const int rc = read_factors(text, arena, &given, &k, err);
    if (rc < 0) {
        return rc;
    }
    if (k != n && !shared) {
        return ty_fail(err, TY_EUSAGE,
                       "--stages %s: give a factor for each of the %u virtual stages, in the order "
                       "in which a micro-batch visits them",
                       text, (unsigned)n);
    }
    *factors = k == n ? given : ty_arena_array(arena, double, n);
    if (*factors == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < n && k != n; i++) {
        (*factors)[i] = mean_factor(given, k, i, n);
    }
    return 0;
}
