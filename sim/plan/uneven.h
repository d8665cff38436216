/* uneven.h - what unequal stages add to the best of a space.
 *
 * Layouts of a space deal layers evenly and repeat the same in all of them; of these the search
 * proves the best. Here layouts are dealt anew (stages.h) in the order of what no cut of them can
 * be faster than (cuts.h), those that do not fit evenly among them, until that is no faster than
 * the best that is known, or so many have been looked at. What is found is simulated and fits; the
 * least of these bounds says how much faster any cut of any layout may be. Where few cuts of a
 * layout may be faster they are bounded and simulated one by one; where none is left, what is known
 * is exact. */
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
    uint32_t layouts;   /* whose layers can be dealt; */
    uint32_t left_out;  /* of them, those of which no bound is known; */
    double bound_s;     /* no cut of the others is faster, whatever its layers repeat */
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
