/* cut.c - what is left of a timeline when its execution could not finish.
 *
 * Every stream of a gang stops somewhere in its order. What it executed before is kept as a program
 * of its own: the same kinds, links and order of issue, fewer passes, and where only some of a pass
 * was executed, a shorter block. Whatever an operation waited for was executed, so that events mean
 * what they did. Start times are moved together, so that readers meet no holes. */
#include <string.h>

#include "sim/base/check.h"
#include "sim/core/program/timeline.h"

struct cutter {
    const struct ty_program *whole;
    const struct ty_halt *halt;
    struct ty_program *cut;
    uint32_t *made; /* [n_blocks of whole] 1 + the last shorter block made of each; 0: none */
};

/* The first operation that each lane of a gang did not execute. */
static const struct ty_stop *fronts_of(const struct cutter *c, uint32_t gang)
{
    return c->halt->front + (size_t)gang * c->whole->n_lanes;
}

static bool has_run(const struct ty_stop *front, const struct ty_op *op, uint32_t pass, uint32_t k)
{
    const struct ty_stop *at = &front[op->lane];
    return pass < at->pass || (pass == at->pass && k < at->op);
}

/* Operations of a pass that were executed; *computed is false when some computation was not. */
static uint32_t count_run(const struct cutter *c, const struct ty_stop *front,
                          const struct ty_pass *pass, uint32_t number, bool *computed)
{
    const struct ty_op *ops = ty_pass_ops(c->whole, pass);
    uint32_t n = 0;
    *computed = true;
    for (uint32_t k = 0; k < c->whole->blocks[pass->block].n_ops; k++) {
        const bool run = has_run(front, &ops[k], number, k);
        n += run;
        *computed = *computed && (run || ops[k].stream != TY_STREAM_COMPUTE);
    }
    return n;
}

/* Whether a shorter block has just what was executed of a pass. */
static bool is_same(const struct cutter *c, uint32_t block, const struct ty_stop *front,
                    const struct ty_pass *pass, uint32_t number, uint32_t n)
{
    const struct ty_op *ops = ty_pass_ops(c->whole, pass);
    const struct ty_block *made = &c->cut->blocks[block];
    const struct ty_op *kept = c->cut->ops + made->first;
    bool same = made->n_ops == n;
    for (uint32_t k = 0; same && k < c->whole->blocks[pass->block].n_ops; k++) {
        if (has_run(front, &ops[k], number, k)) {
            same =
                kept < c->cut->ops + made->first + n && memcmp(kept, &ops[k], sizeof(*kept)) == 0;
            kept++;
        }
    }
    return same;
}

/* The block with what was executed of a pass: neighbours often share one. */
static uint32_t shorter_block(struct cutter *c, const struct ty_stop *front,
                              const struct ty_pass *pass, uint32_t number, uint32_t n,
                              bool computed)
{
    const struct ty_block *whole = &c->whole->blocks[pass->block];
    const struct ty_op *ops = ty_pass_ops(c->whole, pass);
    uint32_t *made = &c->made[pass->block];
    if (*made > 0 && is_same(c, *made - 1, front, pass, number, n)) {
        return *made - 1;
    }
    struct ty_program *cut = c->cut;
    struct ty_block *block = &cut->blocks[cut->n_blocks];
    *block = *whole;
    block->first = cut->n_ops;
    block->n_ops = n;
    block->release_B = computed ? whole->release_B : 0; /* at an end that never comes */
    for (uint32_t k = 0; k < whole->n_ops; k++) {
        if (has_run(front, &ops[k], number, k)) {
            cut->ops[cut->n_ops++] = ops[k];
        }
    }
    *made = ++cut->n_blocks;
    return cut->n_blocks - 1;
}

/* Room that shorter blocks and their operations may take. */
static void measure(const struct cutter *c, size_t *blocks, size_t *ops)
{
    *blocks = c->whole->n_blocks;
    *ops = c->whole->n_ops;
    for (uint32_t g = 0; g < c->whole->n_gangs; g++) {
        const struct ty_gang *gang = &c->whole->gangs[g];
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(c->whole, gang)[i];
            bool computed;
            const uint32_t n = count_run(c, fronts_of(c, g), pass, i, &computed);
            const bool some = n > 0 && n < c->whole->blocks[pass->block].n_ops;
            *blocks += some;
            *ops += some ? n : 0;
        }
    }
}

/* The passes of a gang of which something was executed. */
static void keep_gang(struct cutter *c, uint32_t g)
{
    struct ty_program *cut = c->cut;
    const struct ty_gang *whole = &c->whole->gangs[g];
    struct ty_gang *gang = &cut->gangs[g];
    gang->first_pass = cut->n_passes;
    gang->first_task = cut->n_tasks;
    gang->n_ops = 0;
    for (uint32_t i = 0; i < whole->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(c->whole, whole)[i];
        const struct ty_stop *front = fronts_of(c, g);
        bool computed;
        const uint32_t n = count_run(c, front, pass, i, &computed);
        if (n > 0) {
            struct ty_pass *kept = &cut->passes[cut->n_passes++];
            *kept = *pass;
            kept->first_op = gang->n_ops;
            if (n < c->whole->blocks[pass->block].n_ops) {
                kept->block = shorter_block(c, front, pass, i, n, computed);
            }
            gang->n_ops += n;
        }
    }
    gang->n_passes = cut->n_passes - gang->first_pass;
    assert(gang->n_ops <= whole->n_ops);
    cut->n_tasks += (uint64_t)gang->n_ops * gang->n_ranks;
}

/* A copy of the program with room for what is shorter; false: no memory. */
static bool make_room(struct cutter *c, struct ty_arena *arena)
{
    const struct ty_program *whole = c->whole;
    size_t blocks, ops;
    measure(c, &blocks, &ops);
    struct ty_program *cut = ty_arena_array(arena, struct ty_program, 1);
    struct ty_gang *gang = ty_arena_array(arena, struct ty_gang, (size_t)whole->n_gangs + 1);
    struct ty_pass *pass = ty_arena_array(arena, struct ty_pass, (size_t)whole->n_passes + 1);
    struct ty_block *block = ty_arena_array(arena, struct ty_block, blocks + 1);
    struct ty_op *op = ty_arena_array(arena, struct ty_op, ops + 1);
    c->made = ty_arena_array(arena, uint32_t, (size_t)whole->n_blocks + 1);
    if (cut == NULL || gang == NULL || pass == NULL || block == NULL || op == NULL ||
        c->made == NULL) {
        return false;
    }
    memcpy(gang, whole->gangs, whole->n_gangs * sizeof(*gang));
    memcpy(block, whole->blocks, whole->n_blocks * sizeof(*block));
    memcpy(op, whole->ops, whole->n_ops * sizeof(*op));
    *cut = *whole;
    cut->gangs = gang;
    cut->passes = pass;
    cut->blocks = block;
    cut->ops = op;
    cut->n_passes = 0;
    cut->n_tasks = 0;
    c->cut = cut;
    return true;
}

static struct ty_halt *copy_halt(const struct ty_halt *halt, const struct ty_program *whole,
                                 struct ty_arena *arena)
{
    const size_t gangs = whole->n_gangs, fronts = gangs * whole->n_lanes;
    struct ty_halt *out = ty_arena_array(arena, struct ty_halt, 1);
    struct ty_stop *stop = ty_arena_array(arena, struct ty_stop, gangs + 1);
    struct ty_stop *front = ty_arena_array(arena, struct ty_stop, fronts + 1);
    if (out == NULL || stop == NULL || front == NULL) {
        return NULL;
    }
    memcpy(stop, halt->stop, gangs * sizeof(*stop));
    memcpy(front, halt->front, fronts * sizeof(*front));
    *out = (struct ty_halt){.whole = whole, .stop = stop, .front = front};
    return out;
}

int ty_timeline_cut_program(struct ty_timeline *timeline, const struct ty_halt *halt,
                            struct ty_arena *arena, struct ty_err *err)
{
    struct cutter c = {.whole = timeline->program};
    c.halt = copy_halt(halt, c.whole, arena);
    if (c.halt == NULL || !make_room(&c, arena)) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < c.whole->n_gangs; g++) {
        keep_gang(&c, g);
    }
    timeline->program = c.cut;
    timeline->halt = c.halt;
    return 0;
}

/* Moves what was executed, n_left values, to the front of a column. */
static void gather(ty_ps *column, const struct ty_program *whole, const struct ty_halt *halt,
                   uint64_t n_left)
{
    ty_ps *to = column;
    for (uint32_t g = 0; g < whole->n_gangs; g++) {
        const struct ty_gang *gang = &whole->gangs[g];
        const ty_ps *from = column + gang->first_task;
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(whole, gang)[i];
            const struct ty_op *ops = ty_pass_ops(whole, pass);
            for (uint32_t k = 0; k < whole->blocks[pass->block].n_ops; k++) {
                if (has_run(halt->front + (size_t)g * whole->n_lanes, &ops[k], i, k)) {
                    assert(to <= from);
                    memmove(to, from, gang->n_ranks * sizeof(*to));
                    to += gang->n_ranks;
                }
                from += gang->n_ranks;
            }
        }
    }
    assert((uint64_t)(to - column) == n_left);
    (void)n_left;
}

int ty_timeline_cut(struct ty_timeline *timeline, const struct ty_halt *halt,
                    struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_program *whole = timeline->program;
    const int rc = ty_timeline_cut_program(timeline, halt, arena, err);
    if (rc < 0) {
        return rc;
    }
    gather(timeline->start, whole, timeline->halt, timeline->program->n_tasks);
    if (timeline->dur != NULL) {
        gather(timeline->dur, whole, timeline->halt, timeline->program->n_tasks);
    }
    timeline->makespan = ty_timeline_end(timeline, 0, whole->n_gangs);
    TY_DEBUG_CHECK(ty_timeline_is_ordered(timeline));
    return 0;
}

bool ty_timeline_halts(const struct ty_timeline *timeline, uint32_t gang)
{
    const struct ty_pass *pass;
    return ty_timeline_blocked_op(timeline, gang, &pass) != NULL;
}

const struct ty_op *ty_timeline_blocked_op(const struct ty_timeline *timeline, uint32_t gang,
                                           const struct ty_pass **pass)
{
    if (timeline->halt == NULL) {
        return NULL;
    }
    const struct ty_program *whole = timeline->halt->whole;
    assert(gang < whole->n_gangs);
    const struct ty_stop stop = timeline->halt->stop[gang];
    if (stop.pass >= whole->gangs[gang].n_passes) {
        return NULL;
    }
    *pass = &ty_gang_passes(whole, &whole->gangs[gang])[stop.pass];
    return &ty_pass_ops(whole, *pass)[stop.op];
}
