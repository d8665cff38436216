/* passes.h - what the ranks of an executed schedule do when: columns, a row for every pass. */
#ifndef TY_SCHEDULE_PASSES_H
#define TY_SCHEDULE_PASSES_H

#include "sim/cli_api.h"
#include "sim/schedule/run.h"

/* What a rank does when. */
struct ty_sched_rank_times {
    ty_ps busy, first, last; /* how long it computes; from its first pass to its last */
};

struct ty_sched_passes {
    struct ty_schedule_passes public; /* first: what is handed out is a pointer to it */
    struct ty_arena arena;            /* owns the columns */
    struct ty_sched_rank_times *ranks;
};

#endif
