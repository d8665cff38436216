/* vocabulary.c - the tables of vocabulary.h as data. */
#include "model/vocabulary.h"

#include <stddef.h>

static const struct ty_stream_row streams[] = {{"compute", TY_FIRST_TID, TY_GRAIN_OPERATION},
#define X(id, name, tid, grain) {name, tid, TY_GRAIN_##grain},
                                               TY_STREAMS(X)
#undef X
};

static const struct ty_category_row categories[] = {
#define X(id, name, colour, told, bucket, repeats)                                                 \
    {name, colour, told, TY_BUCKET_##bucket, repeats},
    TY_CATEGORIES(X)
#undef X
};

static const struct ty_bucket_row buckets[] = {
#define X(id, name, pace, ...) {name, TY_PACE_##pace, __VA_ARGS__},
    TY_BUCKETS(X)
#undef X
};

static const struct ty_part_row parts[] = {
#define X(id, name, colour) {name, colour},
    TY_PARTS(X)
#undef X
};

static const char *const memory[] = {
#define X(id, name) name,
    TY_MEMORY(X)
#undef X
};

#define WORDS                                                                                      \
    .streams = streams, .categories = categories, .buckets = buckets, .parts = parts,              \
    .memory = memory, .n_streams = TY_N_STREAMS, .n_categories = TY_N_CATEGORIES,                  \
    .n_parts = TY_N_PARTS, .n_memory = TY_N_MEMORY, .receives = TY_STREAM_RECV,                    \
    .closes = TY_STREAM_DATA, .closing = TY_BUCKET_EXPOSED_DATA, .closed = "data communication",   \
    .beside =                                                                                      \
        1u << TY_STREAM_H2D | 1u << TY_STREAM_D2H | 1u << TY_STREAM_NVME | 1u << TY_STREAM_HOST,   \
    .besides = TY_BUCKET_EXPOSED_OFFLOAD, .fill = TY_BUCKET_BUBBLE_FILL,                           \
    .stall = TY_BUCKET_BUBBLE_STALL, .drain = TY_BUCKET_BUBBLE_DRAIN,                              \
    .awaited = TY_BUCKET_EXPOSED_EXPERT, .uneven = TY_BUCKET_EXPOSED_UNEVEN,                       \
    .message = TY_BUCKET_EXPOSED_PIPELINE, .held = TY_MEM_ACTIVATIONS,                             \
    .of_phase = {[TY_PHASE_FORWARD] = TY_CAT_FORWARD, [TY_PHASE_BACKWARD] = TY_CAT_BACKWARD,       \
                 [TY_PHASE_DGRAD] = TY_CAT_DGRAD,     [TY_PHASE_WGRAD] = TY_CAT_WGRAD,             \
                 [TY_PHASE_STEP] = TY_CAT_OPTIMIZER,  [TY_PHASE_OTHER] = TY_CAT_OTHER},

const struct ty_vocabulary ty_transformer_words = {WORDS.n_buckets = TY_N_BUCKETS - 1};
const struct ty_vocabulary ty_uneven_words = {WORDS.n_buckets = TY_N_BUCKETS};
