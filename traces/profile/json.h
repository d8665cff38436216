/* json.h - the state of a profile's reader between two tokens. */
#ifndef TY_TRACES_PROFILE_JSON_H
#define TY_TRACES_PROFILE_JSON_H

#include "traces/profile/memory.h"

#include "traces/profile/internal.h"

/* What of an event is read: id, key. Of the event itself, then of its args. */
#define TY_PROFILE_EVENT_KEYS(X)                                                                   \
    X(PH, "ph")                                                                                    \
    X(CAT, "cat")                                                                                  \
    X(NAME, "name")                                                                                \
    X(TID, "tid")                                                                                  \
    X(TS, "ts")                                                                                    \
    X(DUR, "dur")
#define TY_PROFILE_ARG_KEYS(X)                                                                     \
    X(EXTERNAL, "External id")                                                                     \
    X(CORRELATION, "correlation")                                                                  \
    X(STREAM, "stream")                                                                            \
    X(DEVICE, "device")                                                                            \
    X(SEQUENCE, "Sequence number")                                                                 \
    X(FWD_THREAD, "Fwd thread id")                                                                 \
    X(DIMS, "Input Dims")                                                                          \
    X(TYPES, "Input type")                                                                         \
    X(VALUES, "Concrete Inputs")                                                                   \
    X(STRIDES, "Input Strides")                                                                    \
    X(COLL, "Collective name")                                                                     \
    X(IN_NELEMS, "In msg nelems")                                                                  \
    X(OUT_NELEMS, "Out msg nelems")                                                                \
    X(GROUP_SIZE, "Group size")                                                                    \
    X(DTYPE, "dtype")                                                                              \
    X(PG_NAME, "Process Group Name")                                                               \
    X(PG_DESC, "Process Group Description")                                                        \
    X(PG_RANKS, "Process Group Ranks")                                                             \
    X(SRC, "Src Rank")                                                                             \
    X(DST, "Dst Rank")                                                                             \
    X(SEQ, "Seq")                                                                                  \
    X(PHASE, "phase") /* of trainyard's own files ... */                                           \
    X(STEP, "step")   /* ... the same */

enum ty_profile_key {
#define X(id, key) TY_KEY_##id,
    TY_PROFILE_EVENT_KEYS(X)
    TY_PROFILE_ARG_KEYS(X)
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

/* Where in the document a token is. */
enum ty_profile_where {
    TY_IN_START,
    TY_IN_TOP,
    TY_IN_INFO,
    TY_IN_GROUPS,
    TY_IN_GROUP,
    TY_IN_RANKS,
    TY_IN_DEVICES,
    TY_IN_DEVICE,
    TY_IN_EVENTS,
    TY_IN_EVENT,
    TY_IN_ARGS,
    TY_IN_LIST,
    TY_IN_END
};

/* Keys outside of events: id, place, key. */
#define TY_PROFILE_OTHER_KEYS(X)                                                                   \
    X(TRACE_EVENTS, TY_IN_TOP, "traceEvents")                                                      \
    X(DISTRIBUTED, TY_IN_TOP, "distributedInfo")                                                   \
    X(DEVICES, TY_IN_TOP, "deviceProperties")                                                      \
    X(OWN, TY_IN_TOP, "trainyard")                                                                 \
    X(BASE, TY_IN_TOP, "baseTimeNanoseconds")                                                      \
    X(RANK, TY_IN_INFO, "rank")                                                                    \
    X(WORLD, TY_IN_INFO, "world_size")                                                             \
    X(PG_CONFIG, TY_IN_INFO, "pg_config")                                                          \
    X(GROUP_NAME, TY_IN_GROUP, "pg_name")                                                          \
    X(GROUP_DESC, TY_IN_GROUP, "pg_desc")                                                          \
    X(GROUP_SIZE, TY_IN_GROUP, "pg_size")                                                          \
    X(GROUP_RANKS, TY_IN_GROUP, "ranks")                                                           \
    X(GPU, TY_IN_DEVICE, "name")                                                                   \
    X(ARGS, TY_IN_EVENT, "args")

enum ty_profile_other_key {
    TY_KEY_FIRST_OTHER = TY_N_KEYS,
#define X(id, place, key) TY_OTHER_##id,
    TY_PROFILE_OTHER_KEYS(X)
#undef X
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

struct ty_profile_thread {
    char text[24]; /* of its tid */
};

struct ty_profile_reader {
    struct ty_profile_file *file;
    struct ty_profile_store *store;
    const char *path;
    struct ty_err *err;
    yajl_handle yajl;
    struct ty_profile_memory memory; /* yajl's */
    int code;                        /* of what stopped it */

    /* Where in the file: `chunk` is being parsed, of which the first `counted` bytes are in
     * line and col. */
    const unsigned char *chunk;
    uint64_t chunk_at, last_value_at;
    size_t chunk_len, counted;
    uint32_t line, col;

    /* Where in the document. */
    uint8_t where;  /* enum ty_profile_where */
    uint32_t skip;  /* depth within a value that is not read; 0: not in one */
    uint32_t depth; /* of all */
    uint32_t list;  /* depth within a list that is kept as text */
    int key;        /* enum ty_profile_key, or of the place; -1: not read */
    bool seen_events, seen_info;

    /* The event being read. */
    struct ty_profile_field field[TY_N_KEYS];
    char *scratch;
    uint32_t scratch_n, scratch_cap;
    uint32_t event_line, event_col;
    uint64_t event; /* its number in traceEvents */
    uint8_t cat;
    bool complete; /* ph is X */

    struct ty_profile_thread *threads;
    uint32_t n_threads, cap_threads, last_thread;
    uint8_t key_slot[256]; /* args by hash of their key: enum ty_profile_key, 255 none */
};

extern const yajl_callbacks ty_profile_callbacks; /* json.c; the context is the reader */

/* The key of a value that is read, TY_KEY_ of an event or TY_OTHER_; -1: any other.
 * keys.c */
int ty_profile_find_key(const struct ty_profile_reader *r, const unsigned char *key, size_t n);
void ty_profile_make_keys(struct ty_profile_reader *r);

/* stream.c: lines and columns are counted up to the token that yajl is behind. */
void ty_profile_count(struct ty_profile_reader *r);

/* Reports something wrong there; stops the reader. Returns 0. */
int ty_profile_fail_here(struct ty_profile_reader *r, const char *message);

/* Reports something wrong at the current event, or in its key; stops the reader. Returns 0. */
int ty_profile_wrong_event(struct ty_profile_reader *r, int key, const char *format, ...)
    TY_PRINTF(3, 4);
int ty_profile_no_memory(struct ty_profile_reader *r);

/* The event is complete: keep what is needed of it. 0 stops the reader. event.c */
int ty_profile_event_end(struct ty_profile_reader *r);
enum ty_profile_event_cat ty_profile_cat_of(const char *text, size_t len);

/* A whole number; false: not one, or out of range. event.c */
bool ty_profile_integer(const char *text, int64_t *out);

#define TY_PROFILE_MAX_NS ((int64_t)1 << 62)

#endif
