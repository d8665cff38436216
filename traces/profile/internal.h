/* internal.h - shared by the parts of the reader of PyTorch profiles. */
#ifndef TY_TRACES_PROFILE_INTERNAL_H
#define TY_TRACES_PROFILE_INTERNAL_H

#include "sim/base/arena.h"
#include "traces/profile/profile.h"

/* ---- texts (text.c) ---- */

struct ty_profile_store {
    struct ty_arena arena;
    const char **text; /* [n_texts] */
    uint32_t *slot;    /* [n_slots] open addressing: number of a text, 0 when empty */
    uint32_t n_texts, cap_texts, n_slots;
};

int ty_profile_store_init(struct ty_profile_store *store);
void ty_profile_store_release(struct ty_profile_store *store);

/* The number of a text, the same for equal ones; 0 for an empty one; TY_PROFILE_NONE when memory is
 * exhausted. */
uint32_t ty_profile_intern(struct ty_profile_store *store, const char *text, size_t len);

/* ---- one file while it is read ---- */

/* A kernel before it is known who launched it. */
struct ty_profile_launch {
    int64_t external, correlation; /* 0: none */
};

/* A call of the CUDA runtime or driver. */
struct ty_profile_call {
    int64_t correlation, external, start_ns;
    uint32_t thread;
};

struct ty_profile_pg {
    uint32_t name, desc, n;
    uint32_t *ranks; /* the arena's */
    bool whole;      /* n of them */
};

#define TY_PROFILE_STEPS 65536 /* most numbers of steps that kernels themselves can name */

struct ty_profile_file {
    struct ty_profile_rank rank;        /* kernels, comms, ops, steps as they came */
    struct ty_profile_launch *launches; /* [n_kernels] */
    int64_t *externals;                 /* [n_ops] */
    struct ty_profile_call *calls;
    struct ty_profile_pg *pgs;     /* of distributedInfo */
    uint32_t *pg_names, *pg_ranks; /* [n_comms]: texts, until groups are known */
    uint32_t *pg_descs;
    uint32_t cap_kernels, cap_launches, cap_comms, cap_ops, cap_externals, cap_steps;
    uint32_t n_calls, cap_calls, n_pgs, cap_pgs, cap_names, cap_ranks, cap_descs;
    int64_t base_ns;
    bool has_rank, own;
};

/* Reads one file. json.c */
int ty_profile_parse(struct ty_profile_file *file, struct ty_profile_store *store, const char *path,
                     struct ty_err *err);

/* Operators into nests, kernels to operators, phases and steps; drops what launched nothing.
 * link.c */
int ty_profile_link(struct ty_profile_file *file, const struct ty_profile_store *store,
                    struct ty_err *err);

/* ---- groups (groups.c) ---- */

/* The groups of a profile by name and ranks, while files are read. */
struct ty_profile_groups {
    struct ty_profile *profile;
    struct ty_profile_store *store;
    uint32_t *slots; /* [size] 1 + the number of a group, 0: free; at most half full */
    uint32_t size, cap_groups;
};

/* Numbers the groups of the file's communications among those of the profile. 0, TY_ENOMEM, or
 * TY_ELIMIT with a message. */
int ty_profile_find_groups(struct ty_profile_groups *groups, struct ty_profile_file *file,
                           struct ty_err *err);
void ty_profile_groups_release(struct ty_profile_groups *groups);

/* ---- words (words.c) ---- */

enum ty_profile_coll ty_profile_coll_of(const char *said, const char *kernel, const char *op);
uint8_t ty_profile_element_bytes(const char *dtype);
enum ty_profile_class ty_profile_class_of(const char *kernel);
/* Of a communication that is linked to its operator: what it is and how much it carries, where
 * PyTorch did not write that on the kernel. sizes.c */
void ty_profile_name_comm(struct ty_profile_rank *rank, const struct ty_profile_store *store,
                          struct ty_profile_kernel *kernel);

/* The phase that a word of trainyard's own traces means. */
enum ty_profile_phase ty_profile_phase_of(const char *word);

#endif
