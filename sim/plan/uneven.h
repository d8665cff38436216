/* uneven.h - what unequal stages add to the best layout of a space.
 *
 * The layouts of a space have even stages, and recompute the same in all layers. The search proves
 * the best of these. Afterwards the layers of the most promising layouts are repartitioned
 * (stages.h), layouts that do not fit evenly among them. A layout promises what the bound of its
 * even form says. One whose memory is short promises what it takes once it recomputes enough of its
 * layers, by interpolation. Whatever is found was simulated and fits; nothing is proven of layouts
 * and partitions that were not tried. */
#ifndef TY_PLAN_UNEVEN_H
#define TY_PLAN_UNEVEN_H

#include "sim/plan/space.h"
#include "sim/plan/stages.h"

struct ty_plan_uneven {
    bool found;                   /* a layout faster than the fastest before */
    uint32_t point;               /* index of the point that it changes */
    struct ty_plan_stages stages; /* its stages and what they recompute */
    uint32_t dealt;               /* layouts that were repartitioned */
    uint32_t simulated;           /* executions that this took */
    struct {
        const char *name, *value; /* "layout.stage_layers", "[10, 11, 11, 8]" */
    } key[8];                     /* [n_keys] keys whose values differ from the point's */
    uint32_t n_keys;
};

/* Writes the keys of what was found, from its configuration. */
int ty_plan_uneven_word(const struct ty_config *config, struct ty_plan_uneven *out,
                        struct ty_arena *arena, struct ty_err *err);

/* Returns the value of a key, or NULL where it is the point's. */
const char *ty_plan_uneven_value(const struct ty_plan_uneven *uneven, const char *section,
                                 const char *key);

/* Returns whether an axis has another value than in the point. */
bool ty_plan_uneven_replaces(const struct ty_plan_uneven *uneven, const struct ty_plan_space *space,
                             uint32_t axis);

/* Repartitions the layers of at most `most` layouts. step_s is the fastest step so far, or
 * HUGE_VAL. Stops early once *stop is not 0; `stop` may be NULL. Lists in *out are the arena's. */
int ty_plan_uneven(const struct ty_plan_space *space, double step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err);

#endif
