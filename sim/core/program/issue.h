/* issue.h - the operations of a gang in issue order: pass by pass, those of the block of each.
 *
 *     for (struct ty_issue at = ty_issue_of(program, gang); ty_issue_next(&at);) {
 *         at.pass, at.op, at.ordinal
 *     }
 *
 * Each stands for all members: its starts are a row of the timeline (ty_timeline_starts). */
#ifndef TY_CORE_PROGRAM_ISSUE_H
#define TY_CORE_PROGRAM_ISSUE_H

#include "sim/core/program/program.h"

struct ty_issue {
    const struct ty_program *program;
    const struct ty_gang *gang;
    const struct ty_pass *pass; /* the operation at hand: its pass, */
    const struct ty_op *op;     /* itself, */
    uint64_t ordinal;           /* and its number within the gang */
    uint32_t next_pass, left;   /* passes begun; operations of this one still to come */
};

/* Before the first operation of a gang. */
static inline struct ty_issue ty_issue_of(const struct ty_program *program,
                                          const struct ty_gang *gang)
{
    return (struct ty_issue){.program = program, .gang = gang};
}

/* To the next one; false at the end. */
static inline bool ty_issue_next(struct ty_issue *at)
{
    if (at->left > 0) {
        at->left--;
        at->op++;
        at->ordinal++;
        return true;
    }
    while (at->next_pass < at->gang->n_passes) {
        at->pass = &ty_gang_passes(at->program, at->gang)[at->next_pass++];
        const uint32_t n = at->program->blocks[at->pass->block].n_ops;
        if (n > 0) {
            assert(at->pass->first_op + n <= at->gang->n_ops);
            at->op = ty_pass_ops(at->program, at->pass);
            at->ordinal = at->pass->first_op;
            at->left = n - 1;
            return true;
        }
    }
    return false;
}

/* Whether a gang issues an operation of a meeting. */
static inline bool ty_gang_meets(const struct ty_program *program, const struct ty_gang *gang,
                                 uint32_t meet)
{
    for (struct ty_issue at = ty_issue_of(program, gang); ty_issue_next(&at);) {
        if (at.op->sync == TY_SYNC_MEET && at.op->link == meet) {
            return true;
        }
    }
    return false;
}

#endif
