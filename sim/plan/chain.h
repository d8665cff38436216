/* chain.h - stages on submeshes of different shape: the outer program of Alpa.
 *
 * A chain of layers is cut into stages, and the devices of a cluster into submeshes, one for each
 * stage: parts of a node, or whole nodes. Of all cuts, shapes, and ways to share the work inside a
 * stage (schemes: how many of its devices share each matrix, the others the batch), the one with
 * the least
 *
 *     rounds x (seconds of the longest stage) + (seconds of all stages, and between them)
 *
 * (Zheng et al., "Alpa", OSDI 2022, equation 2). A stage has room for as many micro-batches as it
 * and the stages behind it are: 1F1B. What is published of Alpa is held next to it
 * (test_alpa.c). */
#ifndef TY_PLAN_CHAIN_H
#define TY_PLAN_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/arena.h"
#include "sim/base/err.h"

/* A scheme of a stage: a shape, and how it is used. */
struct ty_chain_scheme {
    uint32_t devices;
};

struct ty_chain {
    uint32_t n_layers, n_devices;
    uint32_t n_stages;                    /* at most */
    const struct ty_chain_scheme *scheme; /* [n_schemes] */
    uint32_t n_schemes;
    double rounds;
    /* Seconds of layers [from, to) in a scheme, forward and backward of a micro-batch, on the first
     * of `behind` stages that are left; HUGE_VAL: it does not fit. */
    double (*stage)(const void *arg, uint32_t from, uint32_t to, uint32_t scheme, uint32_t behind);
    /* Of what leaves layer `at` - 1 in one scheme and comes to the next in another, both ways: that
     * one's devices are those before number `used`. */
    double (*between)(const void *arg, uint32_t at, uint32_t used, uint32_t before, uint32_t after);
    const void *arg;
};

struct ty_chain_stage {
    uint32_t layers, scheme;
};
struct ty_chain_result {
    bool fits;                    /* false: there is no such plan, */
    struct ty_chain_stage *stage; /* [n_stages] of the best: the arena's */
    uint32_t n_stages;
    double most, sum;  /* seconds: of the longest stage; of all, with what is between them */
    uint32_t ceilings; /* that were solved */
};

/* All devices are used. TY_ENOMEM. */
int ty_chain(const struct ty_chain *chain, struct ty_chain_result *out, struct ty_arena *arena);

#endif
