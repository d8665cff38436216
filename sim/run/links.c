/* links.c - see links.h. */
#include "sim/run/links.h"

struct ty_run_heat {
    struct ty_arena arena; /* of what follows */
    struct ty_heat heat;
    bool found;
};

struct ty_run_heat *ty_run_heat_new(struct ty_arena *arena)
{
    return ty_arena_array(arena, struct ty_run_heat, 1);
}

void ty_run_heat_forget(struct ty_run_heat *heat)
{
    if (heat != NULL) {
        ty_arena_release(&heat->arena);
        *heat = (struct ty_run_heat){.found = false};
    }
}

/* What was executed, all jobs; of a run that halted, what was issued of it. */
static const struct ty_program *executed(const struct ty_run *run)
{
    return run->all.program == &run->folded ? &run->lowered.program : run->all.program;
}

static int find_heat(const struct ty_run *run, struct ty_err *err)
{
    struct ty_heat *heat = &run->heat->heat;
    struct ty_arena *arena = &run->heat->arena;
    const struct ty_program *p = executed(run);
    const struct ty_contention *shared = &run->shared;
    struct ty_contention of_fold;
    int rc = ty_heat_init(heat, p, arena, err);
    heat->lockstep = run->lockstep;
    if (rc == 0 && shared->n_links > 0 && run->lockstep) {
        rc = ty_contention_find(&of_fold, &run->folded, arena, err);
        shared = &of_fold;
        p = &run->folded;
    }
    return rc < 0 ? rc : ty_heat_replay(heat, p, shared, &run->all, arena, err);
}

int ty_run_heat(const struct ty_run *run, const struct ty_heat **heat, struct ty_err *err)
{
    *heat = &run->heat->heat;
    if (run->heat->found) {
        return 0;
    }
    const int rc = find_heat(run, err);
    if (rc < 0) {
        ty_run_heat_forget(run->heat);
    }
    run->heat->found = rc == 0;
    return rc;
}
