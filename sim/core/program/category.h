/* category.h - what kinds of work there are, where they run and what they look like.
 *
 * Closed lists, one row each (X-macros): enum, words and colours cannot drift apart. */
#ifndef TY_CORE_PROGRAM_CATEGORY_H
#define TY_CORE_PROGRAM_CATEGORY_H

/* The streams of one rank: what a CUDA program would create. Tasks of one stream never overlap.
 * id, name, thread id in traces */
#define TY_STREAMS(X)                                                                              \
    X(COMPUTE, "compute", 11)                                                                      \
    X(TENSOR, "tensor comm", 12)                                                                   \
    X(DATA, "data comm", 13)                                                                       \
    X(SEND, "pipeline send", 14)                                                                   \
    X(RECV, "pipeline recv", 15)                                                                   \
    X(REPLICA, "replica comm", 16)                                                                 \
    X(CONTEXT, "context comm", 17)

enum ty_stream {
#define X(id, name, tid) TY_STREAM_##id,
    TY_STREAMS(X)
#undef X
    TY_N_STREAMS
};

/* What a task is for. id, trace category, reserved Catapult colour, breakdown bucket when the
 * compute stream is busy with it (see enum ty_bucket). Colours: chosen from the names Catapult
 * reserves; Perfetto colours by slice name instead. */
#define TY_CATEGORIES(X)                                                                           \
    X(FORWARD, "compute.forward", "thread_state_running", COMPUTE_FORWARD)                         \
    X(BACKWARD, "compute.backward", "rail_response", COMPUTE_BACKWARD)                             \
    X(DGRAD, "compute.dgrad", "thread_state_runnable", COMPUTE_BACKWARD)                           \
    X(WGRAD, "compute.wgrad", "cq_build_running", COMPUTE_BACKWARD)                                \
    X(RECOMPUTE, "compute.recompute", "cq_build_passed", RECOMPUTE)                                \
    X(OPTIMIZER, "optimizer", "rail_load", OPTIMIZER)                                              \
    X(OTHER, "compute.other", "generic_work", COMPUTE_OTHER)                                       \
    X(COMM_TENSOR, "comm.tp", "thread_state_iowait", EXPOSED_TENSOR)                               \
    X(COMM_DATA, "comm.dp", "thread_state_unknown", EXPOSED_DATA)                                  \
    X(COMM_PIPELINE, "comm.pp", "thread_state_uninterruptible", EXPOSED_PIPELINE)                  \
    X(COMM_CONTEXT, "comm.cp", "thread_state_iowait", EXPOSED_CONTEXT)                             \
    X(COMM_EXPERT, "comm.ep", "rail_animation", EXPOSED_EXPERT)

enum ty_category {
#define X(id, name, cname, bucket) TY_CAT_##id,
    TY_CATEGORIES(X)
#undef X
    TY_N_CATEGORIES
};

/* Where the time of a rank's compute stream goes; the buckets sum to the makespan. */
#define TY_BUCKETS(X)                                                                              \
    X(COMPUTE_FORWARD, "compute_forward")                                                          \
    X(COMPUTE_BACKWARD, "compute_backward")                                                        \
    X(RECOMPUTE, "recompute")                                                                      \
    X(OPTIMIZER, "optimizer")                                                                      \
    X(COMPUTE_OTHER, "compute_other")                                                              \
    X(EXPOSED_TENSOR, "exposed_tensor")                                                            \
    X(EXPOSED_PIPELINE, "exposed_pipeline")                                                        \
    X(EXPOSED_DATA, "exposed_data")                                                                \
    X(EXPOSED_CONTEXT, "exposed_context")                                                          \
    X(EXPOSED_EXPERT, "exposed_expert")                                                            \
    X(BUBBLE_FILL, "bubble_fill")                                                                  \
    X(BUBBLE_STALL, "bubble_stall")                                                                \
    X(BUBBLE_DRAIN, "bubble_drain")

enum ty_bucket {
#define X(id, name) TY_BUCKET_##id,
    TY_BUCKETS(X)
#undef X
    TY_N_BUCKETS
};

/* What a pass of a schedule is: letter in schedule text, word that names its slice in a trace,
 * category of that slice. */
#define TY_PHASES(X)                                                                               \
    X(FORWARD, 'F', "forward", FORWARD)                                                            \
    X(BACKWARD, 'B', "backward", BACKWARD)                                                         \
    X(DGRAD, 'I', "dgrad", DGRAD)                                                                  \
    X(WGRAD, 'W', "wgrad", WGRAD)                                                                  \
    X(STEP, 'S', "optimizer step", OPTIMIZER)                                                      \
    X(OTHER, 'O', "other", OTHER) /* measured, and nobody said what it is */

enum ty_phase {
#define X(id, letter, word, category) TY_PHASE_##id,
    TY_PHASES(X)
#undef X
    TY_N_PHASES
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

const char *ty_stream_name(enum ty_stream stream);
unsigned ty_stream_tid(enum ty_stream stream); /* its thread id in traces */
const char *ty_category_name(enum ty_category category);
const char *ty_bucket_name(enum ty_bucket bucket);
const char *ty_phase_word(enum ty_phase phase);
char ty_phase_letter(enum ty_phase phase);
const char *ty_memory_name(enum ty_memory_kind kind);
enum ty_category ty_phase_category(enum ty_phase phase);

/* The bucket of time spent on a category: busy for computation, exposed for communication. */
enum ty_bucket ty_category_bucket(enum ty_category category);

#endif
