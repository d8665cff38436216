/* replicas.h - runs of sixteen replicas of a small model, and the spans of their ranks. */
#ifndef TY_TESTS_REPLICAS_H
#define TY_TESTS_REPLICAS_H

#include <stdio.h>
#include <string.h>

#include "model/parallel/whole.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SPANS_MAX 20000u

/* One micro-batch on each of 16 ranks. */
static const char small[] = "cluster: {preset: dgx-a100-80g, nodes: 2}\n"
                            "model: {preset: llama-7b, sequence: 2048}\n"
                            "layout: {global_batch: 16}\n"
                            "framework: {preset: ideal}\n";

static inline struct quick_run run(const char *const *sets)
{
    return quick_run(small, NULL, sets);
}

static inline double exposed(const struct quick_run *q)
{
    return q->figures.bucket_s[TY_BUCKET_EXPOSED_DATA];
}

/* Bytes of the 16-bit parameters. */
static inline double X(const struct quick_run *q)
{
    return 2 * ty_arch_params(&q->config->arch);
}

static inline double head_bytes(const struct quick_run *q)
{
    return 2 * ty_arch_head_params(&q->config->arch);
}

/* Spans of a rank in issue order whose name is `name` (NULL: any) in passes of a phase
 * (TY_N_PHASES: any). */
static inline uint32_t spans_of_rank(const struct quick_run *q, uint32_t rank, const char *name,
                                     enum ty_phase phase, struct ty_span *out)
{
    struct ty_span_cursor cursor = ty_spans_of(&q->run->timeline, rank);
    struct ty_span span;
    uint32_t n = 0;
    while (ty_span_next(&cursor, &span)) {
        if ((name == NULL || strcmp(span.kind->name, name) == 0) &&
            (phase == TY_N_PHASES || span.pass->phase == phase)) {
            ck_assert_uint_lt(n, SPANS_MAX);
            out[n++] = span;
        }
    }
    return n;
}

static inline uint32_t spans_of(const struct quick_run *q, const char *name, enum ty_phase phase,
                                struct ty_span *out)
{
    return spans_of_rank(q, 0, name, phase, out);
}

static inline ty_ps end_of(const struct ty_span *span)
{
    return span->start + span->dur;
}

static struct ty_span span[SPANS_MAX];

#endif
