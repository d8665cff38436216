/* read.h - shared by the parts of the reader of PyTorch profiles. */
#ifndef TY_PROFILE_READ_READ_H
#define TY_PROFILE_READ_READ_H

#include <setjmp.h>
#include <yajl/yajl_parse.h>

#include "sim/profile/read/profile.h"
#include "sim/profile/read/store.h"

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

/* A process group as distributedInfo lists it, or a communication names it. */
struct ty_profile_pg {
    uint32_t name, desc, n;
    uint32_t *ranks; /* the arena's */
    bool whole;      /* n of them */
};

/* Texts of a communication, until groups are known. */
struct ty_profile_named {
    uint32_t name, desc, ranks;
};

#define TY_PROFILE_STEPS 65536 /* most numbers of steps that kernels themselves can name */

struct ty_profile_file {
    struct ty_profile_rank rank;        /* kernels, comms, ops, steps as they came */
    struct ty_profile_launch *launches; /* [n_kernels] */
    struct ty_profile_named *named;     /* [n_comms] */
    struct ty_profile_call *calls;
    struct ty_profile_pg *pgs; /* of distributedInfo */
    uint32_t *cuts;            /* numbers of steps of which only a part is there */
    uint32_t n_calls, n_pgs, n_cuts;
    uint32_t cap_kernels, cap_launches, cap_comms, cap_named, cap_ops, cap_steps, cap_calls,
        cap_pgs, cap_cuts;
    int64_t base_ns;
    bool has_rank, own;
};

/* Reads one file. stream.c */
int ty_profile_parse(struct ty_profile_file *file, struct ty_profile_store *store, const char *path,
                     struct ty_err *err);

/* Operators into nests, kernels to operators, phases and steps; drops what launched nothing.
 * link.c */
int ty_profile_link(struct ty_profile_file *file, const struct ty_profile_store *store,
                    struct ty_err *err);

/* ---- the document ---- */

/* Where a token is: id, what it lies in, its key there (NONE: any), whether it is a list. What has
 * no row is passed over with all that is in it. */
#define TY_PROFILE_PLACES(X)                                                                       \
    X(TOP, START, NONE, false)                                                                     \
    X(EVENTS, TOP, TRACE_EVENTS, true)                                                             \
    X(EVENT, EVENTS, NONE, false)                                                                  \
    X(ARGS, EVENT, ARGS, false)                                                                    \
    X(INFO, TOP, DISTRIBUTED, false)                                                               \
    X(GROUPS, INFO, PG_CONFIG, true)                                                               \
    X(GROUP, GROUPS, NONE, false)                                                                  \
    X(RANKS, GROUP, RANKS, true)                                                                   \
    X(DEVICES, TOP, DEVICES, true)                                                                 \
    X(DEVICE, DEVICES, NONE, false)                                                                \
    X(CUT, TOP, CUT, true)

enum ty_profile_place {
    TY_IN_START,
#define X(id, outer, key, list) TY_IN_##id,
    TY_PROFILE_PLACES(X)
#undef X
    TY_IN_LIST, /* of an argument, kept as text */
    TY_IN_END
};

/* Keys that are read: id, place, key. Fields of an event are kept until it ends. */
#define TY_PROFILE_FIELDS(X)                                                                       \
    X(PH, EVENT, "ph")                                                                             \
    X(CAT, EVENT, "cat")                                                                           \
    X(NAME, EVENT, "name")                                                                         \
    X(TID, EVENT, "tid")                                                                           \
    X(TS, EVENT, "ts")                                                                             \
    X(DUR, EVENT, "dur")                                                                           \
    X(EXTERNAL, ARGS, "External id")                                                               \
    X(EXTERNAL_1_11, ARGS, "external id") /* up to PyTorch 1.11 */                                 \
    X(CORRELATION, ARGS, "correlation")                                                            \
    X(STREAM, ARGS, "stream")                                                                      \
    X(DEVICE, ARGS, "device")                                                                      \
    X(SEQUENCE, ARGS, "Sequence number")                                                           \
    X(FWD_THREAD, ARGS, "Fwd thread id")                                                           \
    X(DIMS, ARGS, "Input Dims")                                                                    \
    X(TYPES, ARGS, "Input type")                                                                   \
    X(VALUES, ARGS, "Concrete Inputs")                                                             \
    X(STRIDES, ARGS, "Input Strides")                                                              \
    X(COLL, ARGS, "Collective name")                                                               \
    X(IN_NELEMS, ARGS, "In msg nelems")                                                            \
    X(OUT_NELEMS, ARGS, "Out msg nelems")                                                          \
    X(GROUP_SIZE, ARGS, "Group size")                                                              \
    X(DTYPE, ARGS, "dtype")                                                                        \
    X(PG_NAME, ARGS, "Process Group Name")                                                         \
    X(PG_DESC, ARGS, "Process Group Description")                                                  \
    X(PG_RANKS, ARGS, "Process Group Ranks")                                                       \
    X(SRC, ARGS, "Src Rank")                                                                       \
    X(DST, ARGS, "Dst Rank")                                                                       \
    X(SEQ, ARGS, "Seq")                                                                            \
    X(PHASE, ARGS, "phase") /* of trainyard's own files ... */                                     \
    X(STEP, ARGS, "step")   /* ... the same */

#define TY_PROFILE_OTHER_KEYS(X)                                                                   \
    X(ARGS, EVENT, "args")                                                                         \
    X(TRACE_EVENTS, TOP, "traceEvents")                                                            \
    X(DISTRIBUTED, TOP, "distributedInfo")                                                         \
    X(DEVICES, TOP, "deviceProperties")                                                            \
    X(OWN, TOP, "trainyard")                                                                       \
    X(CUT, TOP, "trainyardCutSteps")                                                               \
    X(BASE, TOP, "baseTimeNanoseconds")                                                            \
    X(RANK, INFO, "rank")                                                                          \
    X(WORLD, INFO, "world_size")                                                                   \
    X(PG_CONFIG, INFO, "pg_config")                                                                \
    X(LISTED_NAME, GROUP, "pg_name")                                                               \
    X(LISTED_DESC, GROUP, "pg_desc")                                                               \
    X(LISTED_SIZE, GROUP, "pg_size")                                                               \
    X(RANKS, GROUP, "ranks")                                                                       \
    X(GPU, DEVICE, "name")

enum ty_profile_key {
    TY_KEY_NONE = -1,
#define X(id, place, key) TY_KEY_##id,
    TY_PROFILE_FIELDS(X) TY_N_FIELDS,
    TY_KEY_LAST_FIELD = TY_N_FIELDS - 1,
    TY_PROFILE_OTHER_KEYS(X)
#undef X
    TY_N_KEYS
};

enum ty_profile_value {
    TY_VALUE_NONE,
    TY_VALUE_NUMBER,
    TY_VALUE_STRING,
    TY_VALUE_LIST,
    TY_VALUE_OTHER, /* null, a truth value, an object */
};

/* Text of a value: scratch + from, zero-terminated. */
struct ty_profile_field {
    uint32_t from;
    uint8_t kind; /* enum ty_profile_value */
};

/* What happens to an event depends on its category. */
enum ty_profile_event_cat {
    TY_EVENT_UNKNOWN,
    TY_EVENT_KERNEL,
    TY_EVENT_COPY,
    TY_EVENT_OP,
    TY_EVENT_ANNOTATION,
    TY_EVENT_CALL,
    TY_EVENT_NOTHING, /* known by name as not wanted */
};

#define TY_YAJL_BLOCKS 16u /* it has seven, and one for what it says of an error */

/* The reader between two tokens. */
struct ty_profile_reader {
    struct ty_profile_file *file;
    struct ty_profile_store *store;
    const char *path;
    struct ty_err *err;
    int code; /* of what stopped it */

    yajl_handle yajl;
    void *block[TY_YAJL_BLOCKS]; /* its memory; NULL: free */
    jmp_buf no_memory;

    /* Where in the file: `chunk` is being parsed, of which the first `counted` bytes are in
     * line and col. */
    const unsigned char *chunk;
    uint64_t chunk_at, last_value_at;
    size_t chunk_len, counted;
    uint32_t line, col;

    /* Where in the document. */
    uint8_t where;  /* enum ty_profile_place */
    uint32_t seen;  /* a bit for each place */
    uint32_t skip;  /* depth within a value that is not read; 0: not in one */
    uint32_t depth; /* of all */
    uint32_t list;  /* depth within a list that is kept as text */
    int key;        /* enum ty_profile_key */

    /* The event being read. */
    struct ty_profile_field field[TY_N_FIELDS];
    char *scratch;
    uint32_t scratch_n, scratch_cap;
    uint32_t event_line, event_col;
    uint64_t event; /* its number in traceEvents */
    uint8_t cat;    /* enum ty_profile_event_cat */
    bool complete;  /* ph is X */

    uint8_t key_slot[256]; /* keys by hash: enum ty_profile_key, 255 none */
};

extern const yajl_callbacks ty_profile_callbacks; /* json.c; the context is the reader */
void ty_profile_make_keys(struct ty_profile_reader *r);

/* stream.c: lines and columns are counted up to the token that yajl is behind. */
void ty_profile_count(struct ty_profile_reader *r);

/* Report something wrong there, at the current event or its key (TY_KEY_NONE: no key), or that
 * memory is exhausted; stop the reader. Return 0. */
int ty_profile_fail_here(struct ty_profile_reader *r, const char *format, ...) TY_PRINTF(2, 3);
int ty_profile_wrong_event(struct ty_profile_reader *r, int key, const char *format, ...)
    TY_PRINTF(3, 4);
int ty_profile_no_memory(struct ty_profile_reader *r);

/* The event is complete: keep what is needed of it. 0 stops the reader. event.c */
int ty_profile_event_end(struct ty_profile_reader *r);
enum ty_profile_event_cat ty_profile_cat_of(const char *text);

/* A whole number; false: not one, or out of range. event.c */
bool ty_profile_integer(const char *text, size_t n, int64_t *out);

#define TY_PROFILE_MAX_NS ((int64_t)1 << 62)

/* ---- groups ---- */

/* The groups of a profile by name and ranks, while files are read. */
struct ty_profile_groups {
    struct ty_profile *profile;
    struct ty_profile_store *store;
    uint32_t
        *of_text; /* [n_of_text] 1 + the number of a group, by the text of its name and ranks */
    uint32_t n_of_text, cap_groups;
};

/* ---- what names mean (words.c) ---- */

enum ty_profile_coll ty_profile_coll_of(const char *said, const char *kernel, const char *op);
uint8_t ty_profile_element_bytes(const char *dtype);
enum ty_profile_class ty_profile_class_of(const char *kernel);
enum ty_profile_phase ty_profile_phase_of(const char *word); /* of trainyard's own traces */

#endif
