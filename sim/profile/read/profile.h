/* profile.h - what PyTorch's profiler recorded of some ranks, kept so far as GPUs are concerned.
 *
 *     files ── stream, json (zlib, yajl) ── event ──> kernels, operators, marks of a rank
 *           ── link: who launched what, in which phase and step ──> struct ty_profile
 *
 * A file is read as it streams by; what stays is a record for each kernel, and one for each
 * operator of the host that launched any, or has one inside it that did. Times are nanoseconds from
 * the earliest base of all files, by the clocks of the machines: ranks on different machines may be
 * off by whatever their clocks are.
 *
 * The form is that of pytorch/kineto, libkineto/src/output_json.cpp; what PyTorch's own part of it
 * (operators and their arguments) looks like is written down from memory. 58 of 66 public profiles
 * (V100 to B200, MI210 to MI300X) are accepted; none is part of the tests. */
#ifndef TY_PROFILE_READ_PROFILE_H
#define TY_PROFILE_READ_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/base/text.h"

#define TY_PROFILE_NONE UINT32_MAX

/* Classes as Holistic Trace Analysis has them. */
enum ty_profile_class {
    TY_PROFILE_COMPUTE,
    TY_PROFILE_COMMUNICATION,
    TY_PROFILE_MEMORY, /* copies and fills by the driver */
    TY_PROFILE_N_CLASSES
};

/* id, word */
#define TY_PROFILE_COLLECTIVES(X)                                                                  \
    X(NONE, "")                                                                                    \
    X(ALL_REDUCE, "all-reduce")                                                                    \
    X(ALL_GATHER, "all-gather")                                                                    \
    X(REDUCE_SCATTER, "reduce-scatter")                                                            \
    X(ALL_TO_ALL, "all-to-all")                                                                    \
    X(BROADCAST, "broadcast")                                                                      \
    X(SEND, "send")                                                                                \
    X(RECV, "recv")                                                                                \
    X(SEND_RECV, "send-recv") /* several messages in one kernel */                                 \
    X(OTHER, "other")         /* reduce, gather, scatter, barrier, or not told */

enum ty_profile_coll {
#define X(id, word) TY_PROFILE_COLL_##id,
    TY_PROFILE_COLLECTIVES(X)
#undef X
    TY_PROFILE_N_COLLS
};

enum ty_profile_phase {
    TY_PROFILE_OTHER, /* not recorded, or none of these: clipping of gradients, say */
    TY_PROFILE_FORWARD,
    TY_PROFILE_RECOMPUTE,
    TY_PROFILE_BACKWARD,
    TY_PROFILE_OPTIMIZER
};

/* A kernel, a copy or a fill on a GPU: 40 bytes. */
struct ty_profile_kernel {
    int64_t start_ns, dur_ns;
    uint32_t name;   /* ty_profile_text */
    uint32_t op;     /* that launched it, in `ops` of its rank; or TY_PROFILE_NONE */
    uint32_t comm;   /* in `comms` of its rank, or TY_PROFILE_NONE */
    uint32_t step;   /* in `steps` of its rank: in which it was launched; or TY_PROFILE_NONE */
    uint32_t stream; /* the number CUDA gave it */
    uint8_t class;   /* enum ty_profile_class */
    uint8_t coll;    /* enum ty_profile_coll; NONE unless it communicates */
    uint8_t phase;   /* enum ty_profile_phase */
    uint8_t device;  /* of the process; nearly always one per rank */
};
_Static_assert(sizeof(struct ty_profile_kernel) == 40, "kernels are many");

/* What PyTorch says of a communication; 0 and TY_PROFILE_NONE where it does not. */
struct ty_profile_comm {
    uint64_t in_nelems, out_nelems; /* of one rank */
    uint64_t seq;                   /* the same on all members, among those of the group */
    uint32_t group;                 /* in `groups` of the profile, or TY_PROFILE_NONE */
    uint32_t group_size;
    uint32_t src, dst; /* of messages: as PyTorch writes them */
    uint32_t name;     /* "_allgather_base", 0: not said */
    uint8_t element_B; /* bytes of an element; 0: not said, or a type not known */
    bool has_size, has_seq;
};

/* An operator of the host (cpu_op, user_annotation), by which kernels were launched. */
struct ty_profile_op {
    int64_t start_ns, dur_ns;
    int64_t external; /* by which kernels name it; 0: none */
    int64_t sequence; /* of autograd, -1: none */
    uint32_t name;
    uint32_t dims;    /* "[[8,4096],[4096,512],[]]", of its arguments; 0: shapes not recorded */
    uint32_t types;   /* "c10::BFloat16\nfloat\nScalar\n": a line an argument; 0: not recorded */
    uint32_t values;  /* of arguments that are no tensors, a line each ("Concrete Inputs"); 0 */
    uint32_t strides; /* as dims; 0: not recorded */
    uint32_t parent;  /* that encloses it, in `ops`; or TY_PROFILE_NONE */
    uint32_t forward; /* an operator of autograd's backward: what it is the backward of; or NONE */
    uint32_t thread : 27; /* text of its tid; beyond a hundred million texts two may be one */
    uint32_t phase : 3;   /* enum ty_profile_phase */
    bool annotation : 1, has_fwd_thread : 1;
};
#define TY_PROFILE_THREADS ((1u << 27) - 1)
_Static_assert(sizeof(struct ty_profile_op) == 64, "operators are many");

/* A ProfilerStep#N of the host. */
struct ty_profile_step {
    int64_t start_ns, end_ns;
    uint32_t number;
    bool cut; /* of trainyard: only a part of it was written, or executed */
};

/* A process group. The same group of several files is one when its name and ranks are. */
struct ty_profile_group {
    uint32_t name, desc;   /* 0: none */
    const uint32_t *ranks; /* [n], ascending; NULL: not all of them are known */
    uint32_t n;            /* members, known or not */
};

struct ty_profile_rank {
    const char *file;
    uint32_t rank, world;              /* world 0: not said */
    const char *gpu;                   /* name of its device, "" when not said */
    struct ty_profile_kernel *kernels; /* [n_kernels], by start */
    struct ty_profile_comm *comms;     /* [n_comms] */
    struct ty_profile_op *ops;         /* [n_ops], by thread and start, parents before children */
    struct ty_profile_step *steps;     /* [n_steps], by start */
    uint32_t n_kernels, n_comms, n_ops, n_steps;
    uint32_t n_unlinked; /* computing kernels whose operator was not found */
    uint32_t n_overlaps; /* kernels that begin before the one before them on their stream ends */
    uint64_t json_B;     /* characters read */
};

struct ty_profile_store;

struct ty_profile {
    struct ty_profile_rank *ranks; /* [n_ranks], by rank */
    struct ty_profile_group *groups;
    uint32_t n_ranks, n_groups;
    uint32_t world; /* ranks of the run: as the files say, else the largest rank and one */
    bool world_told;
    bool own;                       /* trainyard's own files */
    int64_t base_ns;                /* since 1970 where files say; times count from it */
    struct ty_profile_store *store; /* owns texts and arrays */
};

/* Reads files, and folders with .json and .json.gz files. A rank is what distributedInfo says,
 * else the number behind "rank" in the file's name, else the place in the list. Wrong files are
 * reported with line and column. */
int ty_profile_read(struct ty_profile **profile, const char *const *paths, size_t n,
                    struct ty_err *err);
void ty_profile_free(struct ty_profile *profile);

/* A text by number; 0 is "". How many there are. */
const char *ty_profile_text(const struct ty_profile *profile, uint32_t text);
uint32_t ty_profile_texts(const struct ty_profile *profile);

extern const char *const ty_profile_coll_words[TY_PROFILE_N_COLLS];

/* The i-th argument of a text of dims, or of a list in it when `inner` is not TY_PROFILE_NONE:
 * how many dimensions, written to dim[0 .. 8); -1: there is none, it is a list, or has more. A
 * scalar has 0, as has what is no tensor. */
#define TY_PROFILE_DIMS 8u
int ty_profile_dims(const char *dims, uint32_t i, uint32_t inner, uint64_t dim[TY_PROFILE_DIMS]);

/* How many elements the i-th argument has, all tensors of a list together, of which one without
 * dimensions counts `scalar`; 0: it is no tensor, or has more than there can be. */
uint64_t ty_profile_elements(const char *dims, uint32_t i, uint64_t scalar);

/* The i-th line of a text of types or values, cut to fit; "" when there is none. Returns buf. */
char *ty_profile_line(const char *lines, uint32_t i, char *buf, size_t cap);

/* Makes room for one more element in an array from the heap of n; false when memory is
 * exhausted. */
bool ty_profile_grow(void *array, uint32_t n, uint32_t *cap, size_t size); /* by its address */
#define TY_PROFILE_GROW(array, n, cap) ty_profile_grow(&(array), n, &(cap), sizeof(*(array)))

#endif
