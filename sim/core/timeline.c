/* timeline.c - columns of a timeline, and walking one rank's tasks. */
#include "sim/core/timeline.h"

#include <stdlib.h>
#include <string.h>

static ty_ps *column(uint64_t n)
{
    if (n > SIZE_MAX / sizeof(ty_ps)) {
        return NULL;
    }
    return malloc(n == 0 ? 1 : (size_t)n * sizeof(ty_ps));
}

static int no_memory(const struct ty_program *program, struct ty_err *err)
{
    return ty_fail(err, TY_ENOMEM, "no memory for a timeline of %llu tasks",
                   (unsigned long long)program->n_tasks);
}

int ty_timeline_init(struct ty_timeline *timeline, const struct ty_program *program,
                     struct ty_err *err)
{
    *timeline = (struct ty_timeline){.program = program, .start = column(program->n_tasks)};
    if (timeline->start == NULL) {
        return no_memory(program, err);
    }
    const int rc = ty_program_varies(program) ? ty_timeline_keep_durations(timeline, err) : 0;
    if (rc < 0) {
        ty_timeline_release(timeline);
    }
    return rc;
}

int ty_timeline_keep_durations(struct ty_timeline *timeline, struct ty_err *err)
{
    if (timeline->dur == NULL) {
        timeline->dur = column(timeline->program->n_tasks);
    }
    return timeline->dur == NULL ? no_memory(timeline->program, err) : 0;
}

void ty_timeline_release(struct ty_timeline *timeline)
{
    free(timeline->start);
    free(timeline->dur);
    ty_arena_release(&timeline->arena);
    *timeline = (struct ty_timeline){.program = NULL};
}

struct ty_seat ty_program_seat(const struct ty_program *program, uint32_t rank)
{
    for (uint32_t g = 0; g < program->n_gangs; g++) {
        const struct ty_gang *gang = &program->gangs[g];
        for (uint32_t i = 0; i < gang->n_ranks; i++) {
            if (gang->rank_of[i] == rank) {
                return (struct ty_seat){.gang = g, .member = i};
            }
        }
    }
    return (struct ty_seat){.gang = UINT32_MAX, .member = UINT32_MAX};
}

struct ty_span_cursor ty_spans_of(const struct ty_timeline *timeline, uint32_t rank)
{
    const struct ty_seat seat = ty_program_seat(timeline->program, rank);
    return (struct ty_span_cursor){
        .timeline = timeline,
        .gang = &timeline->program->gangs[seat.gang],
        .member = seat.member,
    };
}

bool ty_span_next(struct ty_span_cursor *cursor, struct ty_span *span)
{
    const struct ty_program *p = cursor->timeline->program;
    const struct ty_gang *gang = cursor->gang;
    const struct ty_pass *passes = ty_gang_passes(p, gang);
    while (cursor->pass < gang->n_passes &&
           cursor->op >= p->blocks[passes[cursor->pass].block].n_ops) {
        cursor->pass++;
        cursor->op = 0;
    }
    if (cursor->pass >= gang->n_passes) {
        return false;
    }
    span->pass = &passes[cursor->pass];
    span->op = &ty_pass_ops(p, span->pass)[cursor->op];
    span->kind = &p->kinds[span->op->kind];
    span->ordinal = span->pass->first_op + cursor->op;
    span->start = ty_timeline_starts(cursor->timeline, gang, span->ordinal)[cursor->member];
    span->dur = ty_timeline_dur(cursor->timeline, gang, span->op, span->ordinal, cursor->member);
    cursor->op++;
    return true;
}
