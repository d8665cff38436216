/* bill.h - what fills a GPU of a pipeline stage at its fullest moment, and whether it fits. */
#ifndef TY_RUN_BILL_H
#define TY_RUN_BILL_H

#include "sim/run/run.h"

/* A plan that leaves less than this share of the memory free is called tight: measured peaks lie up
 * to 5.5 % above predicted ones (Llama 3 on B200, SimuMax), and the outcomes that memory decides at
 * all are wrong between 3.0 % free and 2.3 % short (Hagemann et al. 2023). See
 * docs/internals/model.md. */
#define TY_FITS_TIGHT 0.05

/* With less free than this an allocator that splits blocks may free some and allocate them again in
 * every step. See "Does it fit" in docs/internals/model.md for the runs. */
#define TY_RETRY_FREE 10737418240.0 /* 10 GiB */

enum ty_verdict {
    TY_VERDICT_FITS,
    TY_VERDICT_TIGHT,
    TY_VERDICT_SHORT
};

/* What an item is the sum of: parts held for a while, parts of what runs, or nothing finer. */
enum ty_bill_life {
    TY_BILL_FIXED,
    TY_BILL_HELD,
    TY_BILL_TRANSIENT
};

#define TY_BILL_ITEMS 14u
#define TY_BILL_NOTE  120u
struct ty_bill_item {
    const char *what;
    double bytes;
    enum ty_bill_life life;
    char note[TY_BILL_NOTE]; /* what it is made of; "" */
};

/* A tensor of the activations: in so many layers of micro-batches (one of embedding or head). */
struct ty_bill_part {
    const char *what;
    double bytes;    /* all together */
    double each_B;   /* of one of them; 0: they differ, of layers of several kinds */
    uint32_t copies; /* layers times micro-batches that hold it */
    enum ty_unit_kind unit;
    enum ty_tensor_life life;
    bool transient; /* part of the item of what runs, else of the activations */
    bool all;       /* every unit of every micro-batch held has it */
};

struct ty_bill {
    double total_B;
    double capacity_B; /* memory of the smallest GPU of the stage ... */
    uint32_t node;     /* ... and the first node that has such */
    uint32_t n;
    struct ty_bill_item item[TY_BILL_ITEMS];
    uint32_t n_parts;
    struct ty_bill_part part[TY_TENSORS_MAX]; /* most bytes first */
    uint32_t held;              /* micro-batches (or pieces of them) held at that moment */
    const struct ty_pass *pass; /* what runs then */
    enum ty_peak_kind kind;     /* and which part of it */
    bool head;                  /* the pass is of the stage with the head */
    enum ty_unit_kind layer;    /* of which kind it is */
    uint32_t layer_number;      /* TY_PEAK_LAYER: the one that runs backward; of a whole backward
                                 * the first of that kind, when nothing has been freed yet */
};
void ty_run_bill(const struct ty_run *run, uint32_t stage, struct ty_bill *out);
double ty_run_peak_B(const struct ty_run *run, uint32_t stage); /* its total */

/* Micro-batches, or slices of them, whose activations a virtual stage holds when pass `peak` of its
 * rank runs: all that its forward has kept, and what waits for the second half of a split
 * backward. */
struct ty_held {
    uint32_t kept, waiting;
};
struct ty_held ty_run_held(const struct ty_run *run, const struct ty_gang *gang, uint32_t stage,
                           const struct ty_pass *peak);

/* The forward pass whose activations have been held longest at the moment of a stage's bill. NULL:
 * none are. */
const struct ty_pass *ty_run_held_since(const struct ty_run *run, uint32_t stage,
                                        const struct ty_bill *bill);

/* From when until when a tensor is there, in words: "from its forward to its backward". */
const char *ty_tensor_life_words(enum ty_tensor_life life);

/* The bill of the stage that needs most of its GPUs' memory; returns the stage. */
uint32_t ty_run_fullest(const struct ty_run *run, struct ty_bill *out);

/* Whether what a GPU needs, such as a bill's total_B, can be had from its capacity, and in words:
 * "fits", "tight", "does not fit". */
enum ty_verdict ty_memory_verdict(double need_B, double capacity_B);
/* That of a whole run, whose fullest GPU has this bill: what is off the GPUs counts, too. */
enum ty_verdict ty_run_verdict(const struct ty_run *run, const struct ty_bill *fullest);
const char *ty_verdict_word(enum ty_verdict verdict);

#endif
