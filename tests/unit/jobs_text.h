/* jobs_text.h - pieces of run files with several jobs, and the plans of the others. */
#ifndef TY_TESTS_JOBS_TEXT_H
#define TY_TESTS_JOBS_TEXT_H

#include "sim/run/jobs.h"
#include "tests/common/quick_run.h"
#include "tests/unit/suite.h"

#define SETS(...) ((const char *const[]){__VA_ARGS__, NULL})

#define CLUSTER(nics) "cluster: {preset: dgx-a100-80g, nodes: 4, nics_per_node: " nics "}\n"
#define MODEL                                                                                      \
    "model: {preset: llama-7b, layers: 4, sequence: 1024}\n"                                       \
    "framework: {overlap_grad_reduce: true}\n"

/* Its own two nodes each. */
static const char apart[] =
    CLUSTER("8") MODEL "layout: {nodes: 0-1, tensor: 2, pipeline: 2, global_batch: 32, zero: 1}\n"
                       "jobs:\n"
                       "  - name: b\n"
                       "    model: {layers: 6}\n"
                       "    layout: {nodes: 2-3, tensor: 4, pipeline: 1}\n";
static const char first[] =
    CLUSTER("8") MODEL "layout: {nodes: 0-1, tensor: 2, pipeline: 2, global_batch: 32, zero: 1}\n";

/* The i-th of the jobs beside the run file's own. */
static inline const struct ty_other_job *other(const struct quick_run *q, uint32_t i)
{
    ck_assert_ptr_nonnull(q->run->jobs);
    ck_assert_uint_lt(i, q->run->jobs->n);
    return &q->run->jobs->other[i];
}

#endif
