/* timeline.c - columns of a timeline, and walking one rank's tasks. */
#include "sim/core/program/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/machine.h"
#include "sim/core/program/issue.h"

int ty_progress_stopped(struct ty_err *err)
{
    return ty_fail(err, TY_EIO, "stopped before the step was executed");
}

static ty_ps *column(uint64_t n)
{
    if (n > SIZE_MAX / sizeof(ty_ps)) {
        return NULL;
    }
    ty_ps *column = malloc(n == 0 ? 1 : (size_t)n * sizeof(*column));
    if (column != NULL) {
        ty_machine_huge_pages(column, (size_t)n * sizeof(*column));
    }
    return column;
}

int ty_timeline_init(struct ty_timeline *timeline, const struct ty_program *program,
                     struct ty_err *err)
{
    assert(program->n_lanes > 0); /* it is sealed */
    *timeline = (struct ty_timeline){.program = program, .start = column(program->n_tasks)};
    if (timeline->start == NULL) {
        return ty_fail_memory(err);
    }
    const int rc = ty_program_varies(program) ? ty_timeline_keep_durations(timeline, err) : 0;
    if (rc < 0) {
        ty_timeline_release(timeline);
    }
    return rc;
}

int ty_timeline_keep_durations(struct ty_timeline *timeline, struct ty_err *err)
{
    assert(timeline->program != NULL);
    if (timeline->dur == NULL) {
        timeline->dur = column(timeline->program->n_tasks);
    }
    return timeline->dur == NULL ? ty_fail_memory(err) : 0;
}

void ty_timeline_release(struct ty_timeline *timeline)
{
    free(timeline->start);
    free(timeline->dur);
    ty_arena_release(&timeline->arena);
    *timeline = (struct ty_timeline){.program = NULL};
}

bool ty_timeline_is_ordered(const struct ty_timeline *t)
{
    const struct ty_program *p = t->program;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        for (uint32_t m = 0; m < gang->n_ranks; m++) {
            ty_ps until[TY_MAX_STREAMS] = {0};
            for (struct ty_issue at = ty_issue_of(p, gang); ty_issue_next(&at);) {
                const ty_ps start = ty_timeline_starts(t, gang, at.ordinal)[m];
                if (start < until[at.op->lane]) {
                    return false;
                }
                until[at.op->lane] = start + ty_timeline_dur(t, gang, at.op, at.ordinal, m);
                if (until[at.op->lane] > t->makespan) {
                    return false;
                }
            }
        }
    }
    return true;
}

struct ty_stop ty_stream_front(const struct ty_program *p, const struct ty_stop *fronts,
                               uint32_t gang, uint8_t stream)
{
    assert(gang < p->n_gangs);
    for (uint32_t l = 0; l < p->n_lanes; l++) {
        if (p->stream_of[l] == stream) {
            return fronts[(size_t)gang * p->n_lanes + l];
        }
    }
    return (struct ty_stop){.pass = p->gangs[gang].n_passes}; /* nothing is on it */
}

/* The latest end of an operation on any member. */
static ty_ps op_end(const struct ty_timeline *t, const struct ty_gang *gang, const struct ty_op *op,
                    uint64_t ordinal)
{
    const ty_ps *start = ty_timeline_starts(t, gang, ordinal);
    ty_ps end = 0;
    for (uint32_t i = 0; i < gang->n_ranks; i++) {
        const ty_ps over = start[i] + ty_timeline_dur(t, gang, op, ordinal, i);
        end = over > end ? over : end;
    }
    return end;
}

/* Passes of a gang from the last back, until every stream has shown its last operation: streams
 * work in order. */
static ty_ps gang_end(const struct ty_timeline *t, const struct ty_gang *gang)
{
    const struct ty_program *p = t->program;
    bool seen[TY_MAX_STREAMS] = {false};
    uint32_t n_seen = 0;
    ty_ps end = 0;
    for (uint32_t i = gang->n_passes; i > 0 && n_seen < p->n_lanes; i--) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i - 1];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        for (uint32_t k = p->blocks[pass->block].n_ops; k > 0; k--) {
            const struct ty_op *op = &ops[k - 1];
            if (!seen[op->lane]) {
                const ty_ps over = op_end(t, gang, op, (uint64_t)pass->first_op + k - 1);
                end = over > end ? over : end;
                seen[op->lane] = true;
                n_seen++;
            }
        }
    }
    return end;
}

ty_ps ty_timeline_end(const struct ty_timeline *timeline, uint32_t first, uint32_t n)
{
    assert(first + n <= timeline->program->n_gangs);
    ty_ps end = 0;
    for (uint32_t g = first; g < first + n; g++) {
        const ty_ps over = gang_end(timeline, &timeline->program->gangs[g]);
        end = over > end ? over : end;
    }
    return end;
}

void ty_timeline_step_ends(const struct ty_timeline *t, ty_ps *end)
{
    const struct ty_program *p = t->program;
    memset(end, 0, p->n_steps * sizeof(*end));
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
            assert(pass->step < p->n_steps);
            const struct ty_op *ops = ty_pass_ops(p, pass);
            for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
                const ty_ps over = op_end(t, gang, &ops[k], (uint64_t)pass->first_op + k);
                end[pass->step] = over > end[pass->step] ? over : end[pass->step];
            }
        }
    }
    for (uint32_t s = 1; s < p->n_steps; s++) {
        end[s] = end[s] > end[s - 1] ? end[s] : end[s - 1];
    }
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
    assert(seat.gang < timeline->program->n_gangs); /* some gang has the rank */
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
