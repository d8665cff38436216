/* cut.c - what is left of a timeline when its execution could not finish.
 *
 * Every gang stops somewhere in its order. What it issued before is kept as a program of its own:
 * the same kinds, links and numbers, fewer passes, and where a pass was cut, a shorter block. The
 * columns of start times need no mark for tasks that never started: nothing refers to them. */
#include <string.h>

#include "sim/core/timeline.h"

/* The passes that a gang began, the last of them as far as it got. */
static void keep_gang(struct ty_program *cut, const struct ty_program *whole, uint32_t g,
                      struct ty_stop stop)
{
    struct ty_gang *gang = &cut->gangs[g];
    const struct ty_pass *passes = ty_gang_passes(whole, &whole->gangs[g]);
    gang->first_pass = cut->n_passes;
    gang->n_passes = stop.pass;
    if (stop.pass > 0) {
        memcpy(cut->passes + cut->n_passes, passes, stop.pass * sizeof(*passes));
    }
    if (stop.pass < whole->gangs[g].n_passes) {
        gang->n_ops = passes[stop.pass].first_op + stop.op;
    }
    if (stop.pass < whole->gangs[g].n_passes && stop.op > 0) {
        struct ty_block *block = &cut->blocks[cut->n_blocks];
        *block = whole->blocks[passes[stop.pass].block];
        block->n_ops = stop.op;
        block->release_B = 0; /* at an end that never comes */
        cut->passes[cut->n_passes + stop.pass] = passes[stop.pass];
        cut->passes[cut->n_passes + stop.pass].block = cut->n_blocks++;
        gang->n_passes++;
    }
    cut->n_passes += gang->n_passes;
}

int ty_timeline_cut(struct ty_timeline *timeline, const struct ty_stop *stop,
                    struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_program *whole = timeline->program;
    const size_t gangs = whole->n_gangs;
    struct ty_program *cut = ty_arena_array(arena, struct ty_program, 1);
    struct ty_halt *halt = ty_arena_array(arena, struct ty_halt, 1);
    struct ty_stop *stops = ty_arena_array(arena, struct ty_stop, gangs + 1);
    struct ty_gang *gang = ty_arena_array(arena, struct ty_gang, gangs + 1);
    struct ty_pass *pass = ty_arena_array(arena, struct ty_pass, (size_t)whole->n_passes + 1);
    struct ty_block *block = ty_arena_array(arena, struct ty_block, whole->n_blocks + gangs + 1);
    if (cut == NULL || halt == NULL || stops == NULL || gang == NULL || pass == NULL ||
        block == NULL) {
        return ty_fail_memory(err);
    }
    *cut = *whole;
    memcpy(stops, stop, gangs * sizeof(*stop));
    memcpy(gang, whole->gangs, gangs * sizeof(*gang));
    memcpy(block, whole->blocks, whole->n_blocks * sizeof(*block));
    cut->gangs = gang;
    cut->passes = pass;
    cut->blocks = block;
    cut->n_passes = 0;
    for (uint32_t g = 0; g < gangs; g++) {
        keep_gang(cut, whole, g, stop[g]);
    }
    *halt = (struct ty_halt){.whole = whole, .stop = stops};
    timeline->program = cut;
    timeline->halt = halt;
    timeline->makespan = ty_timeline_end(timeline, 0, whole->n_gangs);
    return 0;
}

const struct ty_op *ty_timeline_stuck(const struct ty_timeline *timeline, uint32_t gang,
                                      const struct ty_pass **pass)
{
    if (timeline->halt == NULL) {
        return NULL;
    }
    const struct ty_program *whole = timeline->halt->whole;
    const struct ty_stop stop = timeline->halt->stop[gang];
    if (stop.pass >= whole->gangs[gang].n_passes) {
        return NULL;
    }
    *pass = &ty_gang_passes(whole, &whole->gangs[gang])[stop.pass];
    return &ty_pass_ops(whole, *pass)[stop.op];
}
