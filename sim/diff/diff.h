/* diff.h - two or more runs aligned: where the time went in each.
 *
 *     runs --diff_side--> figures, parts of a step, kinds of operations        one side a run
 *          --diff_keys, diff_pair--> what differs between the first and another
 *          --diff_table, diff_json--> text;   --diff_trace--> one timeline
 *
 * Parts of a step are means over GPUs and sum to its time, so their differences sum to the
 * difference of the step times. */
#ifndef TY_DIFF_DIFF_H
#define TY_DIFF_DIFF_H

#include "model/vocabulary.h"
#include "sim/profile/recording.h"
#include "sim/run/run.h"
#include "sim/sweep/band.h"

#define TY_DIFF_RUNS_MAX 8u

/* A kind of operation: what all kinds of the program with this name and group took that go into the
 * same part of a step when they are not hidden. */
struct ty_diff_kind {
    const char *name, *group; /* group NULL: it is no communication */
    uint8_t bucket;           /* enum ty_bucket */
    double count, seconds;    /* of a step, mean over GPUs */
};

struct ty_diff_side {
    const struct ty_shown_run *from;
    const struct ty_timeline *timeline; /* of the run file's own job, or measured */
    double expert_wait_s;               /* of a step, for the last rank of exchanges of experts */
    const char *stack;                  /* its framework.preset; NULL: measured */
    char letter;                        /* 'A' the first */
    char assumed;                       /* measured: the run whose work it is taken to do; 0 */
    char unlike;                        /* measured: a run that does other work; 0 */
    double unlike_mfu, unlike_flops;    /* its MFU if it did; its products, of the run's FLOPs */
    uint32_t n_gpus, n_steps;
    const bool *counted; /* [ranks of the timeline] those that means are over; NULL: all */
    uint32_t n_counted;
    double step_s, tokens, tokens_per_s, mfu, idle; /* tokens of a step; idle: share of it */
    double peak_B; /* of the fullest stage, and which that is; what is not known is NAN */
    uint32_t stage;
    bool fits;
    double part_s[TY_N_BUCKETS];
    struct ty_diff_kind *kind; /* [n_kinds], each once */
    uint32_t n_kinds;
};

/* By part, name, group: an order in which both sides can be walked. Of qsort. */
int ty_diff_kind_order(const void *a, const void *b);

/* Whether every recording of a job of that many ranks has this one: only such ranks of its
 * simulations are compared. */
bool ty_diff_was_measured(const struct ty_shown_run *runs, size_t n, uint32_t n_ranks,
                          uint32_t rank);

/* A key whose values differ. */
struct ty_diff_key {
    const char *key, *a, *b; /* as a user would write them */
    bool given;              /* in a run file or on the command line of one of them, or both */
};

struct ty_diff_part {
    const char *name;
    double a, b; /* s */
};

/* A kind that either side has; a side without it counts none. */
struct ty_diff_both {
    struct ty_diff_kind a, b;
};

/* What differs between two sides: all sorted by how much, the greatest first. */
struct ty_diff_pair {
    const struct ty_diff_side *a, *b;
    struct ty_diff_key *key; /* [n_keys], given ones first */
    uint32_t n_keys, n_given;
    struct ty_diff_part part[TY_N_BUCKETS];
    uint32_t n_parts; /* those that either side has */
    struct ty_diff_both *kind;
    uint32_t n_kinds;
    bool observed;          /* some run is measured: parts are those that can be observed */
    bool lumped;            /* of a measured one no phase is known: all computation is one part */
    const char *remark[12]; /* [n_remarks] what a reader must know before comparing */
    uint32_t n_remarks;
};

/* a, b, observed and lumped are set. */
int ty_diff_pair(struct ty_diff_pair *pair, struct ty_arena *arena, struct ty_err *err);

/* All sides, and the others against the first. */
struct ty_diff {
    bool observed, lumped; /* as in struct ty_diff_pair */
    struct ty_diff_side side[TY_DIFF_RUNS_MAX];
    struct ty_diff_pair pair[TY_DIFF_RUNS_MAX]; /* [n], the first one is empty */
    uint32_t n;
};

/* Compares b's step with a's as far as their bands tell, into *gap. False: one has no band. */
bool ty_diff_gap(const struct ty_diff_side *a, const struct ty_diff_side *b,
                 struct ty_band_gap *gap);

struct ty_text;
void ty_diff_table(const struct ty_diff *diff, struct ty_text *text);

#endif
