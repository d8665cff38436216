/* select.h - which ranks a trace shows, and in which order. */
#ifndef TY_RUN_SELECT_H
#define TY_RUN_SELECT_H

#include "sim/run/run.h"

/* Above this many ranks a trace shows one data-parallel replica unless told otherwise. */
#define TY_SELECT_ALL_BELOW 32u

struct ty_selection {
    uint32_t *ranks; /* [n] in display order; owned by the arena */
    uint32_t n;
    bool by_rule; /* nobody chose: the rule above left ranks out */
};

/* `text`: "all", "0-15,64", "dp=0", "tp=0,dp=0" (dimensions tp, cp, dp, pp; of experts ep, etp,
 * edp), "one-per-stage", "slowest:8" (most compute time); NULL or "": by rule. `order`: "rank",
 * "stage" (default) or "node". TY_EUSAGE with a message for anything else, and for a selection that
 * shows nobody. */
int ty_select_ranks(const struct ty_run *run, const char *text, const char *order,
                    struct ty_arena *arena, struct ty_selection *out, struct ty_err *err);

#endif
