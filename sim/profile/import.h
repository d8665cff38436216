/* import.h - what a measured profile says, in the words of the simulator.
 *
 *     struct ty_profile ── operators ──> samples: a kernel of the table, its time
 *                       ── colls ──────> samples: a collective, its time
 *                       ── lanes ──────> what GPUs did when: busy, exposed, idle
 *     samples ── table ──> rows of the table; ── report, json ──> the summary
 *
 * A row says what was certain. What was not is counted by reason, and told. */
#ifndef TY_PROFILE_IMPORT_H
#define TY_PROFILE_IMPORT_H

#include "model/kernel/operators.h"
#include "sim/base/arena.h"
#include "sim/base/text.h"
#include "sim/profile/read/profile.h"
#include "sim/profile/read/store.h"

/* What computation is for: id, word. */
#define TY_IMPORT_KINDS(X)                                                                         \
    X(GEMM, "matrix products")                                                                     \
    X(ATTENTION, "attention")                                                                      \
    X(NORM, "norm")                                                                                \
    X(ACTIVATION, "activation")                                                                    \
    X(EMBEDDING, "embedding")                                                                      \
    X(LOSS, "loss")                                                                                \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(ELEMENTWISE, "elementwise and copies")                                                       \
    X(REST, "other")

enum ty_import_kind {
#define X(id, word) TY_IMPORT_##id,
    TY_IMPORT_KINDS(X)
#undef X
    TY_IMPORT_N_KINDS
};

/* Why a kernel is not in the table: id, sentence. */
#define TY_IMPORT_REASONS(X)                                                                       \
    X(TOLD, "")                                                                                    \
    X(NO_OP, "which operator launched it is not recorded (record ProfilerActivity.CPU too)")       \
    X(OWN_KERNEL, "trainyard writes no operators of the host, and no shapes")                      \
    X(NO_SHAPES, "no shapes (record with record_shapes=True)")                                     \
    X(NO_ROW, "the table has no row for it")                                                       \
    X(NO_ROLE, "unknown whether forward, input gradient or weight gradient")                       \
    X(NO_CAUSAL, "unknown whether causal")                                                         \
    X(NO_TYPE, "of a type the table does not have")                                                \
    X(ODD_SHAPE, "of another form than rows of the table")                                         \
    X(NO_PARTNER, "its other half is not recorded as often")                                       \
    X(NO_SIZE, "no size (newer versions of PyTorch record it)")                                    \
    X(NO_GROUP, "the ranks of its group are not recorded")                                         \
    X(NO_END, "the file of the other end is missing")                                              \
    X(ALONE, "in a group of one")

enum ty_import_reason {
#define X(id, text) TY_IMPORT_##id,
    TY_IMPORT_REASONS(X)
#undef X
    TY_IMPORT_N_REASONS
};

/* What two samples have in common that are of one row. Compared by bytes: zero-initialise. */
#define TY_IMPORT_COLL 100 /* added to enum ty_coll */
#define TY_IMPORT_DIMS 6u
struct ty_import_key {
    int32_t op; /* enum ty_operator, or TY_IMPORT_COLL + enum ty_coll */
    int32_t role, kernel, dtype;
    /* matmul: m, n, k; attention: batch, sequence, heads, kv_heads, head_dim, causal; collective:
     * ranks, nodes, bytes; others: elements */
    uint64_t dim[TY_IMPORT_DIMS];
    uint32_t part, parts; /* of several kernels that are one row only together, from 0; else 0, 1 */
};

struct ty_import_sample {
    struct ty_import_key key;
    int64_t ns;       /* what the row takes */
    int64_t gpu_ns;   /* of all GPUs that were recorded: what it accounts for */
    uint32_t members; /* of a collective, whose files there are; else 1 */
    uint32_t name;    /* text: of its operator or kernel */
};

struct ty_import_row {
    struct ty_import_key key;
    double time_us;
    uint32_t samples, members; /* members: of each sample */
    int64_t gpu_ns;
};

/* Kernels of one name that are not in the table. */
struct ty_import_left {
    uint32_t name, reason; /* text of the profile; enum ty_import_reason */
    uint32_t count;
    int64_t gpu_ns;
    bool communication;
};

/* By the definitions of Holistic Trace Analysis, in nanoseconds. */
#define TY_IMPORT_LANES(X)                                                                         \
    X(span)                                                                                        \
    X(busy)                                                                                        \
    X(compute)                                                                                     \
    X(communication)                                                                               \
    X(overlap)                                                                                     \
    X(exposed)                                                                                     \
    X(memory_only)                                                                                 \
    X(idle)

struct ty_import_lanes {
#define X(name) int64_t name;
    TY_IMPORT_LANES(X)
#undef X
};

/* A kind of collective among groups of one reach, as the summary shows it. */
struct ty_import_traffic {
    int coll;              /* enum ty_profile_coll */
    uint32_t desc;         /* text: "tp" */
    uint32_t ranks, nodes; /* nodes 0: not known */
    uint32_t count;        /* kernels of all ranks */
    int64_t gpu_ns;
    double bytes;               /* of all kernels; 0: not known */
    double best_ns, best_bytes; /* per collective: sums of the shortest over its members */
};

struct ty_import {
    struct ty_arena arena;
    const struct ty_profile *profile;
    uint32_t gpus_per_node;
    const char *steps; /* as asked for, or NULL: all; see ty_import_kernel_chosen */

    struct ty_import_sample *samples;
    uint32_t n_samples, cap_samples;
    struct ty_import_left *left;
    uint32_t n_left, cap_left;
    struct ty_import_traffic *traffic;
    uint32_t n_traffic, cap_traffic;
    struct ty_profile_store lefts, traffics; /* by what tells them apart: numbers from 1 */
    int64_t kind_ns[TY_IMPORT_N_KINDS];
    int64_t class_ns[TY_PROFILE_N_CLASSES]; /* sums over kernels of all ranks */
    uint64_t n_kernels;
    struct ty_import_lanes *lanes; /* [n_ranks] */

    struct ty_import_row *rows; /* [n_rows], by key */
    uint32_t n_rows;
    struct ty_err *err;
};

/* True when the kernel is of a step that was asked for. */
bool ty_import_kernel_chosen(const struct ty_import *im, uint32_t rank,
                             const struct ty_profile_kernel *k);

int ty_import_add_sample(struct ty_import *im, const struct ty_import_sample *sample);
int ty_import_add_left(struct ty_import *im, uint32_t name, enum ty_import_reason reason,
                       bool communication, int64_t gpu_ns, uint32_t count);

/* Whether an operator is one of the table, and which (operators.c). */
struct ty_import_recorded {
    const struct ty_profile *profile;
    const struct ty_profile_rank *rank;
    const uint32_t *kernel_of; /* [n_ops] one of those that an operator launched, or NONE */
};

/* FLOPs of an operator that is a matrix product whose shapes were recorded; else 0. */
double ty_import_product_flops(const struct ty_profile *profile, const struct ty_profile_rank *rank,
                               uint32_t op);

int ty_import_operators(struct ty_import *im); /* operators.c */
int ty_import_collectives(struct ty_import *im);
/* Time that the table accounts for. table.c */
void ty_import_coverage(const struct ty_import *im, int64_t *compute_ns, int64_t *communication_ns);

/* Of a kind of traffic, by the shortest of the members; 0: not known. colls.c */
double ty_import_bus_Bps(const struct ty_import_traffic *traffic);

/* Steps that were asked for of which only a part is in the files, and of how many. import.c */
void ty_import_count_steps(const struct ty_import *im, uint32_t *cut, uint32_t *all);

extern const char *const ty_import_kind_words[TY_IMPORT_N_KINDS];
extern const char *const ty_import_reasons[TY_IMPORT_N_REASONS];

/* The table, as `cluster.operators` reads it. table.c */
/* The summary. report.c, json.c */
void ty_import_put_report(const struct ty_import *im, struct ty_text *text);

#endif
