/* times.c - durations as users write them: F=1,B=2 of passes, and factors of unequal stages. */
#include <stdio.h>
#include <string.h>

#include "model/schedule/schedule.h"
#include "sim/base/units.h"

/* Its members. */
static const struct {
    const char *key;
    size_t offset;
} time_keys[] = {
    {"F", offsetof(struct ty_sched_times, forward)},
    {"B", offsetof(struct ty_sched_times, backward)},
    {"I", offsetof(struct ty_sched_times, input)},
    {"W", offsetof(struct ty_sched_times, weight)},
    {"FB", offsetof(struct ty_sched_times, overlap)},
    {"C", offsetof(struct ty_sched_times, edge)},
};

/* One "K=number". */
static int parse_time(const char *key, const char *text, size_t n, struct ty_sched_times *times,
                      struct ty_err *err)
{
    char part[48];
    snprintf(part, sizeof(part), "%.*s", (int)(n < sizeof(part) ? n : sizeof(part) - 1), text);
    const size_t name = strcspn(part, "=");
    for (size_t i = 0; i < TY_COUNT(time_keys) && part[name] == '='; i++) {
        if (strlen(time_keys[i].key) != name || strncmp(part, time_keys[i].key, name) != 0) {
            continue;
        }
        char why[160];
        double value;
        if (ty_quantity_parse(part + name + 1, TY_DIM_COUNT, &value, why, sizeof(why)) < 0 ||
            value < 0 || value > 1e9) {
            return ty_fail(err, TY_EUSAGE,
                           "%s %s: not a number from 0 to 1e9; write one, such as F=1", key, part);
        }
        memcpy((char *)times + time_keys[i].offset, &value, sizeof(value));
        return 0;
    }
    return ty_fail(err, TY_EUSAGE,
                   "%s %s: unknown time; F is the forward, B the backward of a virtual stage "
                   "(I its input part, W its weight part), FB an overlapped slot, C the delay of a "
                   "message, such as F=1,B=2,I=1,W=1,C=0",
                   key, part);
}

int ty_sched_times_read(const char *key, const char *text, struct ty_sched_times *times,
                        struct ty_err *err)
{
    *times = (struct ty_sched_times){
        .forward = 1, .backward = -1, .input = -1, .weight = -1, .overlap = -1};
    for (const char *at = text; at != NULL;) {
        const char *comma = strchr(at, ',');
        const size_t n = comma != NULL ? (size_t)(comma - at) : strlen(at);
        const int rc = parse_time(key, at, n, times, err);
        if (rc < 0) {
            return rc;
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    const double both = times->backward < 0 ? 2 : times->backward;
    if (times->input < 0) {
        times->input = times->weight < 0 ? both / 2 : both - times->weight;
    }
    if (times->weight < 0) {
        times->weight = times->backward < 0 ? times->input : both - times->input;
    }
    if (times->backward < 0) {
        times->backward = times->input + times->weight;
    }
    if (times->input < 0 || times->weight < 0) {
        return ty_fail(err, TY_EUSAGE,
                       "%s %s: I or W is more than B; they are the parts of a backward, B = I + "
                       "W",
                       key, text);
    }
    return 0;
}

/* As many as there are; *n. */
static int read_factors(const char *key, const char *text, struct ty_arena *arena, double **factors,
                        uint32_t *n, struct ty_err *err)
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
                           "%s %s: not a factor from 0 to 1000; write one, such as 1.5", key, part);
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

int ty_sched_factors_read(const char *key, const char *text, uint32_t n, bool shared,
                          struct ty_arena *arena, double **factors, struct ty_err *err)
{
    double *given;
    uint32_t k;
    const int rc = read_factors(key, text, arena, &given, &k, err);
    if (rc < 0) {
        return rc;
    }
    if (k != n && !shared) {
        return ty_fail(err, TY_EUSAGE,
                       "%s %s: give a factor for each of the %u virtual stages, in the order "
                       "in which a micro-batch visits them",
                       key, text, (unsigned)n);
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
