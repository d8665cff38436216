/* operators.h - kernels as somebody timed them, in place of the models of kernel.h.
 *
 * A table is a CSV file, a row a measured kernel (docs/reference/formats.md). Rows that differ only
 * in how much they work on (tokens of a product, sequences of an attention, elements of the rest)
 * form a curve. Inside it times are read off; beyond its ends the nearest time is scaled by what
 * the model says of both. Times are those of isolated kernels: `derate` comes on top, as on a
 * model's.
 *
 * A row may be a collective instead: those are handed on to topology/collectives/measured.h. */
#ifndef TY_MODEL_OPERATORS_H
#define TY_MODEL_OPERATORS_H

#include "sim/base/curve.h"
#include "topology/collectives/coll.h"

/* id, name in the table */
#define TY_OPERATORS(X)                                                                            \
    X(MATMUL, "matmul")                                                                            \
    X(GROUPED, "grouped")                                                                          \
    X(ATTENTION, "attention")                                                                      \
    X(NORM, "norm")                                                                                \
    X(ACTIVATION, "activation")                                                                    \
    X(SCAN, "scan")                                                                                \
    X(INDEX, "index")                                                                              \
    X(CONVOLUTION, "convolution")                                                                  \
    X(ROTARY, "rotary")                                                                            \
    X(RESIDUAL, "residual")                                                                        \
    X(SCALE, "scale")                                                                              \
    X(MERGE, "merge")                                                                              \
    X(PERMUTE, "permute")                                                                          \
    X(UNPERMUTE, "unpermute")                                                                      \
    X(ROUTER, "router")                                                                            \
    X(CAST, "cast")                                                                                \
    X(EMBEDDING, "embedding")                                                                      \
    X(CROSS_ENTROPY, "cross-entropy")                                                              \
    X(ACCUMULATION, "accumulation")                                                                \
    X(OPTIMIZER, "optimizer")

enum ty_operator {
#define X(id, name) TY_OPERATOR_##id,
    TY_OPERATORS(X)
#undef X
    TY_N_OPERATORS
};

/* id, name in the table */
#define TY_OPERATOR_ROLES(X)                                                                       \
    X(FORWARD, "forward")                                                                          \
    X(BACKWARD, "backward")                                                                        \
    X(DGRAD, "dgrad")                                                                              \
    X(WGRAD, "wgrad")                                                                              \
    X(STEP, "step")

enum ty_operator_role {
#define X(id, name) TY_ROLE_##id,
    TY_OPERATOR_ROLES(X)
#undef X
    TY_N_ROLES
};

#define TY_ANY_KERNEL    (-1)
#define TY_OPERATOR_DIMS 6u

enum ty_fusion {
    TY_UNFUSED,
    TY_FUSED,
    TY_OTHER_OPTIMIZER /* than Adam, of which tables tell nothing */
};

enum ty_loss_kernel {
    TY_LOSS_APART = TY_UNFUSED, /* framework operators on gathered columns */
    TY_LOSS_FUSED = TY_FUSED,
    TY_LOSS_METRIC /* the same operators, without a backward */
};                 /* and of sharded columns TY_ANY_KERNEL */

enum ty_activation_kernel {
    TY_ACTIVATION_GELU,
    TY_ACTIVATION_SWIGLU,         /* one kernel */
    TY_ACTIVATION_SWIGLU_REMADE,  /* the same; backward it writes the product again */
    TY_ACTIVATION_SWIGLU_UNFUSED, /* silu, then a product */
    TY_ACTIVATION_EXPERT_BIAS,    /* a row of each expert times what the router gave, added */
    TY_ACTIVATION_CLAMP           /* gate and up are limited, each by itself, and joined again */
};

enum ty_grouped_kernel {
    TY_GROUPED_CALLS, /* a product for each group, on few streams (Transformer Engine, cuBLAS) */
    TY_GROUPED_ONE    /* all groups in one launch (CUTLASS, DeepGEMM) */
};

/* Between 16 bit and fp8 with a scale for each 128 elements, or NVFP4. */
enum ty_cast_kernel {
    TY_CAST_QUANTIZE,   /* 16 bit read, fp8 written */
    TY_CAST_BOTH,       /* the same, and written a second time for products that sum over rows */
    TY_CAST_TRANSPOSE,  /* fp8 read and written anew, for such products */
    TY_CAST_DEQUANTIZE, /* fp8 read, 16 bit written */
    TY_CAST_AMAX,       /* 16 bit read for its largest value */
    TY_CAST_8BIT,       /* 16 bit read, 8 written for the backward, which does the reverse */
    TY_CAST_4BIT,       /* the same of 4 bits */
    TY_CAST_HADAMARD    /* 16 bit read, transformed and written for products that sum over rows */
};

/* What two kernels must have in common for one to stand for the other. */
struct ty_operator_key {
    int op, role;
    int dtype; /* enum ty_dtype */
    /* attention: enum ty_attention; norm, rotary, merge, permute, unpermute, router, optimizer:
     * enum ty_fusion; cross-entropy: ty_loss_kernel; activation: ty_activation_kernel; grouped:
     * ty_grouped_kernel; cast: ty_cast_kernel; others, and rows that stand for all kernels of
     * their operator: TY_ANY_KERNEL */
    int kernel;
    /* matmul, grouped: n, k (wgrad: the smaller and the larger of m, n), groups (matmul: 0);
     * attention: sequence, heads, kv_heads, head_dim, 1 if causal, value_dim where it is another
     * (0: the same); else zeros */
    double dim[TY_OPERATOR_DIMS];
};

struct ty_operator_curve {
    struct ty_operator_key key;
    struct ty_curve curve; /* seconds over m (wgrad: k) of all groups, batch or elements */
};

/* A row that is a collective: as nccl-tests mean its size (coll.h). */
struct ty_operator_coll {
    enum ty_coll coll;
    uint32_t ranks, nodes;
    double bytes, seconds;
    uint32_t number;  /* of the CSV row, header 0 */
    uint32_t members; /* whose times are known: with less than `ranks` it may hold waiting; 0: not
                       * said */
};

/* A GPU that rows of a table were measured on. */
struct ty_operator_gpu {
    const char *name;
    uint32_t n_rows;
    struct ty_place at; /* of the first */
};
#define TY_OPERATOR_GPUS 4u /* told apart; real tables have one */

/* A time from the table; `at` differs from what was asked for beyond the ends of the curve. */
struct ty_operator_time {
    double seconds, at;
};

/* Told of every kernel that is looked up; `found` is NULL when the model has to do. */
typedef void ty_operator_note_fn(void *arg, const struct ty_operator_key *key, double size,
                                 const struct ty_operator_time *found);

struct ty_operators {
    const char *file;
    struct ty_operator_curve *curve; /* [n], sorted by key */
    uint32_t n, n_rows;
    const struct ty_operator_coll *coll; /* [n_colls], by collective, ranks, nodes, bytes */
    uint32_t n_colls;
    struct ty_operator_gpu gpu[TY_OPERATOR_GPUS]; /* [n_gpus], of rows that say it */
    uint32_t n_gpus;
    ty_operator_note_fn *note; /* NULL: nobody */
    void *note_arg;
};

const char *ty_operator_name(int op);
const char *ty_operator_role_name(int role);

/* The word of a kernel, "" for TY_ANY_KERNEL and operators that know none. */
const char *ty_operator_kernel_name(int op, int kernel);

/* What its curve is over: "m". */
const char *ty_operator_size_name(const struct ty_operator_key *key);

/* A kernel in the words of its columns: "matmul forward" and "m 4096, n 5120, k 1536". Return
 * buf. */
#define TY_OPERATOR_WORDS 160
char *ty_operator_words(const struct ty_operator_key *key, char buf[TY_OPERATOR_WORDS]);
char *ty_operator_sizes(const struct ty_operator_key *key, double size,
                        char buf[TY_OPERATOR_WORDS]);

/* Reads a table. All wrong cells are reported, by line and column. Owned by the arena. */
int ty_operators_load(struct ty_operators *table, const char *path, struct ty_arena *arena,
                      struct ty_err *err);

/* Refuses a table that was measured on another GPU than that name (NULL: it has none) says. 0 or
 * TY_EINPUT. */
int ty_operators_check_gpu(const struct ty_operators *table, const char *gpu, struct ty_err *err);

/* Of its collectives, those whose times may hold waiting for members that were not recorded. */
uint32_t ty_operators_waiting(const struct ty_operators *table);

/* The key of a product; *size gets what its curve is over. groups: 0 of a plain one, else m (wgrad:
 * k) is that of all groups together. */
struct ty_operator_key ty_operator_product(int role, int dtype, double groups, double m, double n,
                                           double k, double *size);

/* True when the table (may be NULL) has the kernel. */
bool ty_operators_find(const struct ty_operators *table, const struct ty_operator_key *key,
                       double size, struct ty_operator_time *found);

/* The order of the keys in a table. */
int ty_operator_key_compare(const struct ty_operator_key *a, const struct ty_operator_key *b);

#endif
