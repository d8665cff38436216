/* stats.h - where the time went: every picosecond of every compute stream gets one bucket.
 *
 * A gap before a task is charged to what the task waited for: a collective or a message in flight
 * (the bucket of its category), or a neighbour that had not produced the message yet (fill before a
 * rank's first pass of a step, stall later). Waiting for the other stages at a meeting, and for the
 * end, is drain; where there are no other stages, and while the stream runs on that closes a step,
 * it is the vocabulary's `closing`. The buckets of a rank sum to the makespan exactly. */
#ifndef TY_CORE_ANALYSE_STATS_H
#define TY_CORE_ANALYSE_STATS_H

#include "sim/core/program/timeline.h"

struct ty_rank_stats {
    ty_ps bucket[TY_MAX_BUCKETS];
    ty_ps stream_busy[TY_MAX_STREAMS];
    ty_ps waited; /* of the bucket `awaited`: for the last member of a collective */
};

struct ty_gang_memory {
    double peak_B;             /* static + activations at the fullest moment, per rank */
    double peak_activations_B; /* of which activations, transient part included */
    double transient_B;        /* of which transient */
    const char *transient_what;
    uint32_t peak_held; /* forward passes whose activations are held at the peak */
    uint32_t peak_pass; /* pass within the gang at which it happens */
};

struct ty_stats {
    ty_ps makespan;
    uint32_t n_ranks;
    uint32_t likes;                  /* so many ranks have one row of these in common: */
    struct ty_rank_stats *rank;      /* [n_ranks / likes], by rank of the program */
    struct ty_gang_memory *memory;   /* [n_gangs] */
    double bucket_s[TY_MAX_BUCKETS]; /* mean over ranks, seconds */
    double bubble_s;         /* idle for the pipeline: fill, stall, drain, exposed messages; mean */
    double flops, energy_uJ; /* of n_ranks: executed, drawn by kernels */
    double waited_s;         /* mean over ranks of struct ty_rank_stats.waited */
    double *layer_waited_s;  /* [n_layers] of that, for collectives of each layer */
    uint32_t n_layers;       /* 1 + the last that an operation is of */
};

/* Memory of a gang's ranks along its order of passes. Needs no execution. */
void ty_memory_profile(const struct ty_program *p, const struct ty_gang *gang,
                       struct ty_gang_memory *out);

/* Analyses a finished timeline. Columns are owned by the arena. */
int ty_stats_compute(struct ty_stats *stats, const struct ty_timeline *timeline,
                     struct ty_arena *arena, struct ty_err *err);

/* The same, to the bit, where members of a gang do everything at the same times (fold.h): one of
 * them is looked at for all. The timeline is of `whole`, or of its fold. */
int ty_stats_compute_alike(struct ty_stats *stats, const struct ty_program *whole,
                           const struct ty_timeline *timeline, struct ty_arena *arena,
                           struct ty_err *err);

/* For whom the one member of each gang of a folded program stands, in the order of ranks: so many
 * ranks in a row of the first gang, as many of the second, ...; and all that so many times. */
struct ty_stand_in {
    uint32_t row, times;
};

/* The same, to the bit, in the timeline of a fold, without a row for each rank. */
int ty_stats_compute_folded(struct ty_stats *stats, const struct ty_timeline *timeline,
                            struct ty_stand_in of, struct ty_arena *arena, struct ty_err *err);

/* The same where so many neighbours in each gang do (ty_program_twins), on so many threads; 0: one
 * per core. */
int ty_stats_compute_twins(struct ty_stats *stats, const struct ty_timeline *timeline,
                           uint32_t twins, uint32_t threads, struct ty_arena *arena,
                           struct ty_err *err);

/* A stretch in which a rank's compute stream was idle; gaps.h walks them. */
struct ty_gap {
    ty_ps start, dur;
    ty_ps waited;                 /* of dur: until the last member of a collective was ready ... */
    uint16_t layer;               /* ... of this layer; TY_NONE */
    uint8_t bucket;               /* enum ty_bucket */
    const struct ty_pass *before; /* the pass that waited; NULL: idle until the end */
    const struct ty_op *op;       /* the operation that waited; NULL: idle until the end */
    uint8_t event;                /* event it waited for last; TY_NO_EVENT: none */
    uint32_t times;               /* it comes, others like it that were left out included */
};

#endif
