/* links.c - see links.h. */
#include "sim/run/links.h"

#include "sim/core/execute/shorten.h"

struct ty_run_link_load {
    struct ty_arena arena; /* of what follows */
    struct ty_link_load load;
    struct ty_timeline times; /* of a timeline that was shortened: all of them */
    bool found;
};

struct ty_run_link_load *ty_run_link_load_new(struct ty_arena *arena)
{
    return ty_arena_array(arena, struct ty_run_link_load, 1);
}

void ty_run_link_load_forget(struct ty_run_link_load *load)
{
    if (load != NULL) {
        ty_arena_release(&load->arena);
        ty_timeline_release(&load->times);
        *load = (struct ty_run_link_load){.found = false};
    }
}

const struct ty_timeline *ty_run_link_times(const struct ty_run *run)
{
    return run->all.whole != NULL ? &run->link_load->times : &run->all;
}

static int find_times(const struct ty_run *run, struct ty_err *err)
{
    struct ty_timeline *times = &run->link_load->times;
    if (run->all.whole == NULL) {
        return 0;
    }
    const int rc = ty_timeline_init(times, run->all.whole, err);
    return rc < 0 ? rc : ty_timeline_lengthen(times, &run->all, err);
}

static int find_link_load(const struct ty_run *run, struct ty_err *err)
{
    struct ty_link_load *load = &run->link_load->load;
    struct ty_arena *arena = &run->link_load->arena;
    const struct ty_program *p = ty_run_program(run);
    const struct ty_contention *shared = &run->shared;
    struct ty_contention of_fold;
    int rc = ty_link_load_init(load, p, arena, err);
    load->lockstep = run->lockstep;
    load->twins = run->n_twins;
    if (rc == 0 && shared->n_links > 0 && run->lockstep) {
        rc = ty_contention_find(&of_fold, &run->folded, arena, err);
        shared = &of_fold;
        p = &run->folded;
    }
    if (rc == 0) {
        rc = find_times(run, err);
    }
    return rc < 0 ? rc : ty_link_load_replay(load, p, shared, ty_run_link_times(run), arena, err);
}

int ty_run_link_load(const struct ty_run *run, const struct ty_link_load **load, struct ty_err *err)
{
    *load = &run->link_load->load;
    if (run->link_load->found) {
        return 0;
    }
    const int rc = find_link_load(run, err);
    if (rc < 0) {
        ty_run_link_load_forget(run->link_load);
    }
    run->link_load->found = rc == 0;
    return rc;
}
