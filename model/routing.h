/* routing.h - how the tokens of a layer are spread over its experts (run.routing).
 *
 * An expert is popular for a layer and a seed: its share of all rows (a token makes one for each of
 * its experts). Every group of ranks that holds all experts once has tokens of its own, so counts
 * of one popularity. Like jitter (sim/base/noise.h) both depend on who asks, never on when.
 *
 *     balanced      every expert gets the same number of rows, as benchmarks force it
 *     uniform       every token picks its experts blindly: counts are multinomial
 *     dirichlet:CV  shares of experts vary by CV: Dirichlet with alpha = 1 / CV^2; then multinomial
 *     zipf:S        the n-th most popular expert has a share like n^-S, in an order of its own in
 *                   every layer; then multinomial
 *     file:PATH     loads by layer and expert, taken as they are
 *
 * A token picks an expert once: whatever was asked for, no share exceeds 1 / top_k. What is above
 * goes to the others as their shares are. */
#ifndef TY_MODEL_ROUTING_H
#define TY_MODEL_ROUTING_H

#include "sim/base/arena.h"
#include "sim/base/err.h"

enum ty_token_routing_method {
    TY_TOKENS_BALANCED,
    TY_TOKENS_UNIFORM,
    TY_TOKENS_DIRICHLET,
    TY_TOKENS_ZIPF,
    TY_TOKENS_FILE,
};

/* Of layers first .. first + n - 1, those that have experts. */
struct ty_token_routing_shape {
    uint32_t first_layer, n_layers, experts;
};

struct ty_token_routing {
    enum ty_token_routing_method method;
    double spread;                       /* coefficient of variation, or exponent */
    const char *path;                    /* TY_TOKENS_FILE, and what was read: */
    struct ty_token_routing_shape shape; /* n_layers 0: not yet */
    const double *share;                 /* [n_layers][experts], 1 in sum for each layer */
};

/* What a user writes. `at` is where; the path is borrowed. */
int ty_token_routing_read(struct ty_token_routing *routing, const char *text,
                          const struct ty_place *at, struct ty_err *err);

/* Reads the loads of a file: CSV with a header and columns layer, expert, load, in any order.
 * Layers count from 0, those without experts too; a layer's loads are shares of their sum, so any
 * unit will do. Every expert of the layers of `shape` has a row. */
int ty_token_routing_load(struct ty_token_routing *routing, const char *path,
                          const struct ty_token_routing_shape *shape, struct ty_arena *arena,
                          struct ty_err *err);

/* Whose rows are asked for. */
struct ty_routed {
    uint64_t seed;
    uint32_t layer, group; /* one of the groups that hold the experts of the layer once */
    uint32_t experts, top_k;
    double rows; /* of all experts of the group */
};

/* The share of each expert, [experts], 1 in sum; the group does not count. 0 or TY_ENOMEM. */
int ty_token_routing_shares(const struct ty_token_routing *routing, const struct ty_routed *who,
                            double *share, struct ty_err *err);

/* The rows of each expert, [experts], `rows` in sum: whole numbers where they are drawn. 0 or
 * TY_ENOMEM. */
int ty_token_routing_rows(const struct ty_token_routing *routing, const struct ty_routed *who,
                          double *rows, struct ty_err *err);

/* A hash of what was read from a file; 0: nothing. */
uint64_t ty_token_routing_digest(const struct ty_token_routing *routing);

#endif
