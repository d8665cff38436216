/* vocabulary.h - the words of programs that train transformers: streams, categories, buckets, parts
 * of layers, kinds of memory. One row each: numbers, names and looks cannot drift apart.
 *
 * A kind of parallelism adds its rows here; what no program uses costs nothing.
 * What the columns mean is said in sim/core/program/vocabulary.h. */
#ifndef TY_MODEL_VOCABULARY_H
#define TY_MODEL_VOCABULARY_H

#include "sim/core/program/vocabulary.h"

/* Streams next to TY_STREAM_COMPUTE: id, name, thread id in traces, grain. Rows, columns and depth
 * are those of a tensor group in more than one dimension. */
#define TY_STREAMS(X)                                                                              \
    X(TENSOR, "tensor comm", 12, LAYER)                                                            \
    X(DATA, "data comm", 13, MICRO_BATCH)                                                          \
    X(SEND, "pipeline send", 14, MICRO_BATCH)                                                      \
    X(RECV, "pipeline recv", 15, MICRO_BATCH)                                                      \
    X(REPLICA, "replica comm", 16, MICRO_BATCH)                                                    \
    X(CONTEXT, "context comm", 17, LAYER)                                                          \
    X(EXPERT, "expert comm", 18, LAYER)                                                            \
    X(ROW, "row comm", 19, LAYER)                                                                  \
    X(COLUMN, "column comm", 20, LAYER)                                                            \
    X(DEPTH, "depth comm", 21, LAYER)                                                              \
    X(H2D, "h2d", 22, LAYER)                                                                       \
    X(D2H, "d2h", 23, LAYER)                                                                       \
    X(NVME, "nvme", 24, LAYER)                                                                     \
    X(HOST, "host", 25, LAYER)

enum ty_stream {
    TY_STREAM_FIRST = TY_STREAM_COMPUTE,
#define X(id, ...) TY_STREAM_##id,
    TY_STREAMS(X)
#undef X
    TY_N_STREAMS
};

/* What an operation is for: id, name in traces, colour, whose colour Perfetto takes, bucket, and
 * whether it repeats what was computed before.
 *
 * Perfetto hashes each word to a hue (google/perfetto, ui/src/components/colorizer.ts): 126, 208,
 * 296, 328, 328 and 164 for computation; 44, 88, 304, 343, 264 for communication; 248 for a bubble.
 * The words of the two gradients are those whose hues, next to the green of a forward, stay apart
 * without one kind of cones: tests/cli/native.py computes it. */
#define TY_CATEGORIES(X)                                                                           \
    X(FORWARD, "compute.forward", "thread_state_running", "forward", COMPUTE_FORWARD, false)       \
    X(BACKWARD, "compute.backward", "rail_response", "backward", COMPUTE_BACKWARD, false)          \
    X(DGRAD, "compute.dgrad", "thread_state_runnable", "input gradient", COMPUTE_BACKWARD, false)  \
    X(WGRAD, "compute.wgrad", "cq_build_running", "grad weight", COMPUTE_BACKWARD, false)          \
    X(RECOMPUTE, "compute.recompute", "cq_build_passed", "recompute", RECOMPUTE, true)             \
    X(OPTIMIZER, "optimizer", "rail_load", "optimizer step", OPTIMIZER, false)                     \
    X(OTHER, "compute.other", "generic_work", "other", COMPUTE_OTHER, false)                       \
    X(COMM_TENSOR, "comm.tp", "thread_state_iowait", "tensor comm", EXPOSED_TENSOR, false)         \
    X(COMM_DATA, "comm.dp", "thread_state_unknown", "data comm", EXPOSED_DATA, false)              \
    X(COMM_PIPELINE, "comm.pp", "thread_state_uninterruptible", "p2p", EXPOSED_PIPELINE, false)    \
    X(COMM_CONTEXT, "comm.cp", "olive", "context comm", EXPOSED_CONTEXT, false)                    \
    X(COMM_EXPERT, "comm.ep", "rail_animation", "expert comm", EXPOSED_EXPERT, false)              \
    X(OFFLOAD, "offload", "rail_idle", "offload", EXPOSED_OFFLOAD, false)                          \
    X(HOST, "host", "rail_load", "host", EXPOSED_OFFLOAD, false)

enum ty_category {
#define X(id, ...) TY_CAT_##id,
    TY_CATEGORIES(X)
#undef X
    TY_N_CATEGORIES
};

/* Where the time of a rank goes, as breakdowns list it: id, name, pace, short name, place in
 * legends, ink. The last is there in programs whose ranks have different work. */
#define TY_BUCKETS(X)                                                                              \
    X(COMPUTE_FORWARD, "compute_forward", COMPUTES, TY_INK_NONE)                                   \
    X(COMPUTE_BACKWARD, "compute_backward", COMPUTES, TY_INK_NONE)                                 \
    X(RECOMPUTE, "recompute", COMPUTES, TY_INK_NONE)                                               \
    X(OPTIMIZER, "optimizer", COMPUTES, TY_INK_NONE)                                               \
    X(COMPUTE_OTHER, "compute_other", COMPUTES, TY_INK_NONE)                                       \
    X(EXPOSED_TENSOR, "exposed_tensor", WAITS, "exposed tensor", 5,                                \
      {"#ffd199", "#d9bfa8", "tensor", "M0 6h12", 12, 45, false, "#e07b00"})                       \
    X(EXPOSED_PIPELINE, "exposed_pipeline", WAITS, "exposed p2p", 4,                               \
      {"#e0cad2", "#dcd3ea", "p2p", "M0 6h12", 12, -45, false, "#b67d8f"})                         \
    X(EXPOSED_DATA, "exposed_data", WAITS, "exposed data", 8,                                      \
      {"#e5d3c5", "#c9dccf", "data", "M0 6h12M6 0v12", 12, 0, false, "#b07a50"})                   \
    X(EXPOSED_CONTEXT, "exposed_context", WAITS, "exposed context", 6,                             \
      {"#d9e0b4", "#d5d8b8", "context", "M0 6h12", 12, 30, false, "#e09020"})                      \
    X(EXPOSED_EXPERT, "exposed_expert", WAITS, "exposed expert", 7,                                \
      {"#fbc1bd", "#e0c4c4", "expert", "M0 6h12", 12, 60, false, "#d33a30"})                       \
    X(EXPOSED_OFFLOAD, "exposed_offload", WAITS, "exposed offload", 9,                             \
      {"#cfe0e8", "#d0d8dc", "offload", "M0 6h12", 12, 75, false, "#3a7f9c"})                      \
    X(BUBBLE_FILL, "bubble_fill", IDLES, "fill", 1,                                                \
      {"#e7ebf2", "#f1f1f1", "fill", "M2 2h.01M9 9h.01", 14, 0, true, "#8e7cc3"})                  \
    X(BUBBLE_STALL, "bubble_stall", IDLES, "stall", 2,                                             \
      {"#f3dddb", "#cdcdcd", "stall", "M0 5h10", 10, 0, false, "#d9534f"})                         \
    X(BUBBLE_DRAIN, "bubble_drain", IDLES, "drain", 3,                                             \
      {"#efe8d8", "#e0e0e0", "drain", "M5 0v10", 10, 0, false, "#6b8fa3"})                         \
    X(EXPOSED_UNEVEN, "exposed_uneven", WAITS, "uneven work", 10,                                  \
      {"#e3d0f0", "#e2d6e6", "uneven", "M0 6h12", 12, 15, false, "#8b4fb0"})

/* Of time that is never waited: looks like nothing. */
#define TY_INK_NONE                                                                                \
    "idle", 0,                                                                                     \
    {                                                                                              \
        "#eee", "#eee", "", NULL, 0, 0, false, NULL                                                \
    }

enum ty_bucket {
#define X(id, ...) TY_BUCKET_##id,
    TY_BUCKETS(X)
#undef X
    TY_N_BUCKETS
};

/* Parts of a layer: id, name, colour of its slice. Two pinks that nobody tells apart are what
 * Catapult makes of "attention" and "mlp": the latter asks for another. */
#define TY_PARTS(X)                                                                                \
    X(NONE, "", NULL)                                                                              \
    X(ATTENTION, "attention", NULL)                                                                \
    X(MLP, "mlp", "yellow")                                                                        \
    X(EMBEDDING, "embedding", NULL)                                                                \
    X(HEAD, "head", NULL)                                                                          \
    X(MOE, "moe", "olive")                                                                         \
    X(MTP, "mtp", NULL)                                                                            \
    X(STATE, "state", NULL)

enum ty_part {
#define X(id, ...) TY_PART_##id,
    TY_PARTS(X)
#undef X
    TY_N_PARTS
};

/* What fills a GPU's memory. */
#define TY_MEMORY(X)                                                                               \
    X(WEIGHTS, "weights")                                                                          \
    X(GRADS, "grads")                                                                              \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(ACTIVATIONS, "activations")

enum ty_memory_kind {
#define X(id, name) TY_MEM_##id,
    TY_MEMORY(X)
#undef X
    TY_N_MEMORY
};

/* All of these. */
extern const struct ty_vocabulary ty_transformer_words;
/* And the last bucket, for programs whose ranks have different work. */
extern const struct ty_vocabulary ty_uneven_words;

#endif
