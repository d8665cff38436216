/* vocabulary.h - what the numbers in a program mean.
 *
 * Operations carry small numbers: their stream, category, part of a layer. What these are is up to
 * whoever builds the program (model/vocabulary.h for transformers): rows of tables that the program
 * points to, where the core and the writers of traces look everything up. By themselves they know
 *   - that stream 0 computes, and that one stream receives messages;
 *   - that time without computation is waited for communication or idle, and three kinds of idle
 *     time of a pipeline: before its first computation, between two, after the last;
 *   - phases. They are what a pipeline's schedule is about, whatever its stages hold: schedules are
 *     written, checked and drawn by them without any model, so they are no rows of a table. */
#ifndef TY_CORE_PROGRAM_VOCABULARY_H
#define TY_CORE_PROGRAM_VOCABULARY_H

#include <stdbool.h>
#include <stdint.h>

/* The most rows of a table. */
#define TY_MAX_STREAMS 16u
#define TY_MAX_BUCKETS 24u
#define TY_MAX_MEMORY  8u

/* ---- phases ---- */

/* What a pass of a schedule is: letter in schedule text, word that names its slice in a trace. */
#define TY_PHASES(X)                                                                               \
    X(FORWARD, 'F', "forward")                                                                     \
    X(BACKWARD, 'B', "backward")                                                                   \
    X(DGRAD, 'I', "dgrad")                                                                         \
    X(WGRAD, 'W', "wgrad")                                                                         \
    X(STEP, 'S', "optimizer step")                                                                 \
    X(OTHER, 'O', "other") /* measured, and nobody said what it is */

enum ty_phase {
#define X(id, letter, word) TY_PHASE_##id,
    TY_PHASES(X)
#undef X
    TY_N_PHASES
};

const char *ty_phase_word(enum ty_phase phase);
char ty_phase_letter(enum ty_phase phase);

/* ---- tables ---- */

enum {
    TY_STREAM_COMPUTE
}; /* of every vocabulary: its first stream */

/* What the operations of a stream belong to: traces of that detail or more show them. */
enum ty_grain {
    TY_GRAIN_MICRO_BATCH,
    TY_GRAIN_LAYER,
    TY_GRAIN_OPERATION
};

/* What a CUDA program would create. Operations of one stream of a rank never overlap. */
struct ty_stream_row {
    const char *name;
    uint8_t tid;   /* thread id in traces: ascending, from TY_FIRST_TID on */
    uint8_t grain; /* enum ty_grain */
};
#define TY_FIRST_TID 11u

/* What an operation is for. */
struct ty_category_row {
    const char *name;   /* in traces: "compute.forward" */
    const char *colour; /* reserved by Catapult; Perfetto colours by names of slices instead */
    const char *told;   /* name of a slice of which Perfetto takes the colour */
    uint8_t bucket;     /* of the time it takes, or that is waited for it */
    bool repeats;       /* what was computed before */
};

/* What a rank does in the time of a bucket: it waits for communication, or for other ranks. */
enum ty_pace {
    TY_PACE_COMPUTES,
    TY_PACE_WAITS,
    TY_PACE_IDLES
};

/* How pictures fill a stretch: in colour, in colours that everyone tells apart, and in print a path
 * in a tile of so many tenths of a millimetre, turned by so many degrees. */
struct ty_ink {
    const char *pale, *safe;
    const char *id, *path;
    uint8_t tile;
    int8_t turn;
    bool dotted;
    const char *line; /* of hatches in colour, as traces/page/colours.js has it; NULL: none */
};

/* Where the time of a rank's compute stream goes; the buckets sum to the makespan. */
struct ty_bucket_row {
    const char *name;       /* in breakdowns: "exposed_tensor" */
    uint8_t pace;           /* enum ty_pace */
    const char *short_name; /* of a stretch without computation: "exposed tensor" */
    uint8_t legend;         /* its place in legends, from 1 on; 0: none */
    struct ty_ink ink;
};

/* A part of a layer, for traces that nest: consecutive operations of one part and layer on the
 * compute stream form one slice. Number 0 is no part. */
struct ty_part_row {
    const char *name;
    const char *colour; /* that its slice asks Catapult for; NULL: none */
};

struct ty_vocabulary {
    const struct ty_stream_row *streams;
    const struct ty_category_row *categories;
    const struct ty_bucket_row *buckets; /* in the order in which breakdowns list them */
    const struct ty_part_row *parts;
    const char *const *memory; /* what fills a GPU */
    uint8_t n_streams, n_categories, n_buckets, n_parts, n_memory;

    uint8_t receives;   /* the stream on which messages are received, and nothing else is done */
    uint8_t closes;     /* the stream whose work may go on after the last computation ... */
    uint8_t closing;    /* ... which then waits: bucket */
    const char *closed; /* what is waited for there, in words */
    uint32_t beside;    /* streams of what is done off the GPU, bits: after the last computation it
                      * waits for these first ... */
    uint8_t besides;    /* ... in this bucket */
    uint8_t fill, stall, drain; /* buckets: bubbles before the first computation, between two, after
                                 * the last */
    uint8_t awaited; /* bucket: of it, waiting for the last member of a collective is told apart */
    uint8_t uneven;  /* bucket: the same of those of a program whose ranks have different work, and
                      * of the bucket `closing` */
    uint8_t message; /* bucket: messages between stages, which count as bubbles, too */
    uint8_t held;    /* the kind of memory that passes take and give back */
    uint8_t of_phase[TY_N_PHASES]; /* categories of slices of passes */
};

#endif
