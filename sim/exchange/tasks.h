/* tasks.h - what one rank did, as a graph: tasks in the order in which they began, each with the
 * tasks that it waited for.
 *
 * What a task waits for comes before it in that order: it ended before the task began, and of those
 * that begin together the one that was issued first comes first. Stream order and events of the
 * program are the edges; the times say in which order streams took their turns, for formats that
 * have one communication at a time. */
#ifndef TY_EXCHANGE_TASKS_H
#define TY_EXCHANGE_TASKS_H

#include "sim/core/program/timeline.h"

#define TY_TASK_NONE UINT32_MAX

struct ty_task {
    struct ty_span span;
    uint32_t before;               /* the task before it on its stream, or TY_TASK_NONE */
    uint32_t after[TY_WAITS + 1u]; /* [n_after] tasks whose events it waits for; of a message from
                                    * itself the send, too */
    uint32_t n_after;
    uint32_t sent; /* of a communication other than a receive: the one that began before it */
    bool own;      /* a message to itself or from there: nobody else is concerned */
    bool awaited;  /* some task on another stream waits for it */
};

struct ty_task_list {
    const struct ty_timeline *timeline;
    uint32_t rank, gang, member;
    struct ty_task *task; /* [n] */
    uint32_t n;
    uint32_t *place; /* [cap] scratch: number of a task by its ordinal */
    uint32_t *sends; /* [slots of the program] ordinals of messages to itself */
    uint32_t cap;
};

/* The tasks of a rank in place of those that the list had. Zero-initialise it before the first.
 * TY_ENOMEM with a message. */
int ty_task_list_fill(struct ty_task_list *list, const struct ty_timeline *timeline, uint32_t rank,
                      struct ty_err *err);
void ty_task_list_release(struct ty_task_list *list);

#endif
