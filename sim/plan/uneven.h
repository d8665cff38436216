/* uneven.h - what unequal stages add to the best of a space.
 *
 * Layouts of a space deal layers evenly and repeat the same in all of them; of these the search
 * proves the best. Here layouts are dealt anew (stages.h) in the order of what their even form
 * cannot be faster than without recomputation, those that do not fit evenly among them, until that
 * is no faster than the best that is known, or so many have been looked at. So the result is
 * simulated and fits, but nobody proves that it is the best of all cuts of all layouts. */
#ifndef TY_PLAN_UNEVEN_H
#define TY_PLAN_UNEVEN_H

#include "sim/plan/space.h"
#include "sim/plan/stages.h"

struct ty_plan_uneven {
    bool found;     /* something faster than what was known: */
    uint32_t point; /* of the space; its recomputation is that of */
    struct ty_plan_stages stages;
    uint32_t dealt;     /* layouts that were dealt anew, and */
    uint32_t simulated; /* executions that it took */
    struct {
        const char *name, *value; /* "layout.stage_layers", "[10, 11, 11, 8]" */
    } key[8];                     /* [n_keys] what is not as its point has it */
    uint32_t n_keys;
};

/* What is found as keys of a run file: of its configuration. */
int ty_plan_uneven_word(const struct ty_config *config, struct ty_plan_uneven *out,
                        struct ty_arena *arena, struct ty_err *err);

/* The value of a key; NULL: it is as the point has it. */
const char *ty_plan_uneven_value(const struct ty_plan_uneven *uneven, const char *section,
                                 const char *key);
/* Whether an axis, or what is told behind them, has another value than its point. */
bool ty_plan_uneven_replaces(const struct ty_plan_uneven *uneven, const struct ty_plan_space *space,
                             uint32_t axis);

/* step_s: of the best that is known; HUGE_VAL: none. At most `most` layouts. Lists are the
 * arena's. *stop not 0: no more layouts; or NULL. */
int ty_plan_uneven(const struct ty_plan_space *space, double step_s, uint32_t most,
                   const volatile int *stop, struct ty_plan_uneven *out, struct ty_arena *arena,
                   struct ty_err *err);

#endif
