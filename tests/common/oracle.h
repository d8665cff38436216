/* oracle.h - what a program does, worked out the slow way, and what can be said where it halts.
 *
 * Every task is looked at again and again until none can start any more. A task starts when those
 * it needs have ended, by the words of sim/core/program/program.h; nothing is shared with the
 * executors or with the autopsy but the program and the words for gangs, passes and operations. */
#ifndef TY_TESTS_ORACLE_H
#define TY_TESTS_ORACLE_H

#include <string.h>

#include "sim/core/program/timeline.h"

/* One operation of a gang. */
struct oracle_op {
    const struct ty_pass *pass;
    const struct ty_op *op;
    uint32_t gang, number;
    uint32_t need[1 + TY_WAITS], n_need; /* operations of the gang, by number */
    uint32_t sender;                     /* RECV: of its message, as index into ops; ORACLE_NONE */
    bool refused;                        /* partners mean something else by it */
    bool done;                           /* on all members; the oracle finds they are alike in it */
    bool arrived;                        /* MEET: nothing but partners is missing */
    ty_ps *start, *end;                  /* [members] */
};
#define ORACLE_NONE UINT32_MAX

/* A stream that waits for others for ever. */
struct oracle_stand {
    uint32_t op; /* index into ops */
    char line[1600];
    bool may_be_refused; /* a meeting whose partners stand at other ones */
};

struct oracle {
    const struct ty_program *p;
    struct oracle_op *ops; /* gang after gang, in the order of issue */
    uint32_t n_ops, *first;
    uint32_t n_stuck; /* gangs */
    ty_ps last;       /* when the last of them moved */
    bool refused;     /* some stand at what their partners mean otherwise, all of whom are there */
    struct oracle_stand *stand; /* [n_stands] */
    uint32_t n_stands;
};

/* matched: messages and collectives are matched by the order of issue, as communicators do it, and
 * what two sides mean differently stops both; else by number. Owned by the arena. */
void oracle_make(struct oracle *o, const struct ty_program *p, bool matched,
                 struct ty_arena *arena);

/* What is wrong with an execution; NULL: nothing. Its timeline, cut or whole, has just the tasks
 * that the oracle has, in the order of issue and at its times. Or of a report: its head, the places
 * where streams stand and what each waits for, and that circles are circles. */
const char *oracle_check_timeline(const struct oracle *o, const struct ty_timeline *t);
const char *oracle_check_report(const struct oracle *o, const char *text);

/* ---- between its two files ---- */

void oracle_find_stands(struct oracle *o, struct ty_arena *arena);

static inline bool oracle_same(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static inline const struct ty_kind *oracle_kind(const struct oracle *o, const struct oracle_op *x)
{
    return &o->p->kinds[x->op->kind];
}

static inline bool oracle_is_meeting(const struct oracle_op *x, const struct oracle_op *y)
{
    return x->op->sync == TY_SYNC_MEET && y->op->sync == TY_SYNC_MEET &&
           x->op->link == y->op->link && x->pass->step == y->pass->step;
}

static inline bool oracle_needs_done(const struct oracle *o, const struct oracle_op *x)
{
    for (uint32_t i = 0; i < x->n_need; i++) {
        if (!o->ops[o->first[x->gang] + x->need[i]].done) {
            return false;
        }
    }
    return true;
}

static inline ty_ps oracle_later(ty_ps a, ty_ps b)
{
    return a > b ? a : b;
}

#endif
