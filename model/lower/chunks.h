/* chunks.h - Gemini: what a pipeline rank knows of its chunks (offload/gemini.c). */
#ifndef TY_MODEL_LOWER_CHUNKS_H
#define TY_MODEL_LOWER_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What some passes have to bring. */
struct ty_lower_pattern {
    struct ty_lower_pattern *next;
    const bool *miss; /* [n] */
    uint32_t n;
};

/* A block of passes that bring the same; see place_of in passes.c. */
struct ty_lower_brought {
    struct ty_lower_brought *next;
    const bool *miss;
    size_t place;
    uint32_t block;
};

struct ty_lower_chunks {
    double spare_B;                    /* room for states that stay, next to all parameters */
    bool updates;                      /* there are such: the GPU updates them */
    bool spills;                       /* gradients of some go on to drives */
    const bool **miss;                 /* [passes of a step]: what each has to bring; NULL: all */
    struct ty_lower_pattern *patterns; /* those, each once */
    struct ty_lower_brought *brought;  /* blocks made so far */
};

#endif
