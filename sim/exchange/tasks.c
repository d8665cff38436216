/* tasks.c - what one rank did, as a graph: tasks in the order in which they began, each with the
 * tasks that it waited for (tasks.h). */
#include "sim/exchange/tasks.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const struct ty_task *x = a, *y = b;
    const int order = TY_ORDER(x->span.start, y->span.start);
    return order != 0 ? order : TY_ORDER(x->span.ordinal, y->span.ordinal);
}

static int grow(struct ty_task_list *list, uint32_t n)
{
    if (list->sends == NULL) {
        list->sends = calloc(list->timeline->program->n_slots + 1u, sizeof(*list->sends));
        if (list->sends == NULL) {
            return TY_ENOMEM;
        }
    }
    if (n <= list->cap) {
        return 0;
    }
    free(list->task);
    free(list->place);
    list->task = malloc(n * sizeof(*list->task));
    list->place = malloc(n * sizeof(*list->place));
    list->cap = n;
    return list->task != NULL && list->place != NULL ? 0 : TY_ENOMEM;
}

static void add_after(struct ty_task_list *list, struct ty_task *t, uint32_t ordinal)
{
    struct ty_task *other = &list->task[ordinal];
    t->after[t->n_after++] = ordinal;
    other->awaited = other->awaited || other->span.op->lane != t->span.op->lane;
}

/* Both ends of a message may be one rank, where a stage is followed by another of its own. */
static void join_own(struct ty_task_list *list, struct ty_task *t)
{
    const struct ty_program *p = list->timeline->program;
    const struct ty_op *op = t->span.op;
    t->own = (op->sync == TY_SYNC_SEND || op->sync == TY_SYNC_RECV) &&
             p->channels[op->link].from == p->channels[op->link].to;
    if (t->own && op->sync == TY_SYNC_SEND) {
        list->sends[ty_op_slot(p, t->span.pass, op)] = t->span.ordinal;
    } else if (t->own) {
        add_after(list, t, list->sends[ty_op_slot(p, t->span.pass, op)]);
    }
}

/* In the order of issue: which ordinals a task waits for. */
static void issue(struct ty_task_list *list)
{
    uint32_t last[TY_MAX_STREAMS], recorded[TY_EVENTS];
    struct ty_span_cursor cursor = ty_spans_of(list->timeline, list->rank);
    for (uint32_t i = 0; i < TY_MAX_STREAMS; i++) {
        last[i] = TY_TASK_NONE;
    }
    for (uint32_t i = 0; i < TY_EVENTS; i++) {
        recorded[i] = TY_TASK_NONE;
    }
    list->n = 0;
    for (struct ty_span span; ty_span_next(&cursor, &span); list->n++) {
        struct ty_task *t = &list->task[list->n];
        *t = (struct ty_task){.span = span, .before = last[span.op->lane], .sent = TY_TASK_NONE};
        for (uint32_t w = 0; w < TY_WAITS && span.op->wait[w] != TY_NO_EVENT; w++) {
            const uint32_t event = recorded[span.op->wait[w]];
            if (event != TY_TASK_NONE && event != t->before) {
                add_after(list, t, event);
            }
        }
        join_own(list, t);
        last[span.op->lane] = span.ordinal;
        if (span.op->record != TY_NO_EVENT) {
            recorded[span.op->record] = span.ordinal;
        }
    }
}

/* Ordinals become numbers in the order of time. */
static void renumber(struct ty_task_list *list)
{
    uint32_t sent = TY_TASK_NONE;
    qsort(list->task, list->n, sizeof(*list->task), by_start);
    for (uint32_t i = 0; i < list->n; i++) {
        list->place[list->task[i].span.ordinal] = i;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        struct ty_task *t = &list->task[i];
        t->before = t->before != TY_TASK_NONE ? list->place[t->before] : t->before;
        for (uint32_t k = 0; k < t->n_after; k++) {
            t->after[k] = list->place[t->after[k]];
        }
        const uint8_t sync = t->span.op->sync;
        if (sync != TY_SYNC_LOCAL && sync != TY_SYNC_RECV && !t->own) {
            t->sent = sent;
            sent = i;
        }
    }
}

int ty_task_list_fill(struct ty_task_list *list, const struct ty_timeline *timeline, uint32_t rank,
                      struct ty_err *err)
{
    const struct ty_seat seat = ty_program_seat(timeline->program, rank);
    list->timeline = timeline;
    list->rank = rank;
    list->gang = seat.gang;
    list->member = seat.member;
    if (grow(list, timeline->program->gangs[seat.gang].n_ops + 1) < 0) {
        return ty_fail_memory(err);
    }
    issue(list);
    renumber(list);
    return 0;
}

void ty_task_list_release(struct ty_task_list *list)
{
    free(list->task);
    free(list->place);
    free(list->sends);
    *list = (struct ty_task_list){.n = 0};
}
