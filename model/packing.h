/* packing.h - documents in sequences (run.lengths, run.packing): whose attention costs how much.
 *
 * A sequence of model.sequence tokens holds whole documents, and a token looks at those of its own
 * document only. A document of n tokens has n^2 / 2 pairs of a query and a key, so sequences that
 * are as full differ in work:
 *
 *     |      4096      |   8.4 M pairs      |1024|1024|1024|1024|   2.1 M pairs
 *
 * Everything but attention works on all tokens of a sequence, those that are left empty included:
 * micro-batches keep their shape (NVIDIA-NeMo pads packed sequences to one size).
 *
 *     fixed:N            every document has N tokens
 *     uniform:MIN:MAX    all lengths between are as frequent
 *     lognormal:MEAN:CV  log-normal of that mean and coefficient of variation; what is longer than
 *                        a sequence is cut off there, as loaders do
 *     file:PATH          one length a line; documents are drawn from them
 *
 *     first_fit          each document, in the order of the draw, goes to the first sequence with
 *                        room (first_fit_shuffle of NVIDIA-NeMo; sequences are those with the
 *                        smallest numbers of twice as many)
 *     balanced           documents of a step, the longest first, go to the sequence with the fewest
 *                        pairs so far, or else to the one with most room; what fits nowhere waits
 *                        for the next step (Wang et al. 2025, WLB-LLM, section 4.1). Then sequences
 *                        are dealt by their pairs, so that data ranks and micro-batches get as many
 */
#ifndef TY_MODEL_PACKING_H
#define TY_MODEL_PACKING_H

#include "model/kernel/kernel.h"
#include "model/layout.h"

enum ty_lengths_method {
    TY_LENGTHS_WHOLE, /* a sequence is one document */
    TY_LENGTHS_FIXED,
    TY_LENGTHS_UNIFORM,
    TY_LENGTHS_LOGNORMAL,
    TY_LENGTHS_FILE,
};

/* What a user writes. */
struct ty_lengths {
    enum ty_lengths_method method;
    double first, second; /* N; MIN, MAX; MEAN, CV */
    const char *path;     /* TY_LENGTHS_FILE, and what was read: */
    const uint32_t *of;   /* [n] */
    uint32_t n;
};

enum ty_packing_method {
    TY_PACKING_FIRST_FIT,
    TY_PACKING_BALANCED,
};
extern const struct ty_word ty_packing_words[];

/* Some sequences together. Pairs are of one head: without a window, and with model.window. */
struct ty_pack {
    double sequences, documents, tokens;
    double pairs[2];
};

struct ty_packing {
    const struct ty_pack *sequence; /* [n] of a step side by side, those of the next behind them */
    uint32_t n;                     /* 0: sequences are documents */
    uint32_t batch;                 /* of a step */
    bool balanced;                  /* those of a step by falling pairs */
    const struct ty_pack *all;      /* of them together */
};

struct ty_packing_order {
    uint64_t seed;
    uint32_t steps, batch;     /* sequences of each */
    uint32_t sequence, window; /* tokens; 0: none */
    int method;                /* enum ty_packing_method */
};

/* Reads `text`, of which the path is borrowed; lengths above `sequence` are refused. */
int ty_lengths_read(struct ty_lengths *lengths, const char *text, uint32_t sequence,
                    const struct ty_place *at, struct ty_err *err);

/* Reads a file, the numbers of which are lengths from 1 to `sequence`. */
int ty_lengths_load(struct ty_lengths *lengths, const char *path, uint32_t sequence,
                    struct ty_arena *arena, struct ty_err *err);

/* A hash of what was read from a file; 0: nothing. */
uint64_t ty_lengths_digest(const struct ty_lengths *lengths);

/* Draws documents and packs them. Owned by the arena. 0 or TY_ENOMEM. */
int ty_packing_make(struct ty_packing *out, const struct ty_lengths *lengths,
                    const struct ty_packing_order *order, struct ty_arena *arena,
                    struct ty_err *err);

/* The micro-batch of a data rank in a step. */
struct ty_pack ty_packing_micro_batch(const struct ty_packing *packing,
                                      const struct ty_layout *layout, uint32_t step, uint32_t mb,
                                      uint32_t data);

/* The most pairs of a micro-batch over the mean. */
double ty_packing_slowest(const struct ty_packing *packing, const struct ty_layout *layout,
                          uint32_t steps);

/* A kernel for the documents of `from` (NULL: whole sequences) becomes one for those of `to`: of
 * equal documents, as many tokens and pairs. Of ranks that share a sequence, `context` of them,
 * each has two of 2 n chunks of every document (the THD format of Transformer Engine); the few
 * tokens that documents are padded by for that are left out. */
void ty_pack_core(const struct ty_pack *from, const struct ty_pack *to, double context,
                  struct ty_attention_core *core);

/* What a layout may not say where sequences are packed. 0, or TY_EINPUT with a message. */
int ty_packing_check(const struct ty_layout *layout, const struct ty_section *section,
                     uint32_t slices, struct ty_err *err);

#endif
