/* deadlock.c - who waits for whom, in words: the causes and circles of an autopsy, then those that
 * wait behind them. */
#include "sim/core/deadlock/deadlock.h"

#include <stdio.h>
#include <string.h>

#include "sim/core/deadlock/autopsy.h"

#define CAUSES_MAX   3u /* circles and missing partners told */
#define CIRCLE_LINES 8u /* streams of one circle told; of each of several: half as many */
#define BEHIND_LINES 4u /* streams behind them told one by one */

struct report {
    const struct ty_program *p; /* whole */
    const struct ty_mismatch *mismatch;
    struct ty_autopsy graph;
    bool *told; /* [n_fronts] */
    struct ty_err *err;
};

static const struct ty_pass *pass_at(const struct report *r, uint32_t front)
{
    return ty_op_ref_pass(r->p, ty_autopsy_issue(&r->graph, front));
}

static const struct ty_op *op_at(const struct report *r, uint32_t front)
{
    return ty_op_ref_op(r->p, ty_autopsy_issue(&r->graph, front));
}

/* Whether there is a line for a front, and none yet. */
static bool is_left(const struct report *r, uint32_t front)
{
    return ty_wait_is_told(&r->graph.wait[front]) && !r->told[front];
}

/* "grad of micro-batch 0 (32 MiB, group pp)", or "gradient norm: all-reduce (4 B), 3 of 4 have
 * come to it". */
static void say_wanted(const struct report *r, uint32_t front, char *buf, size_t size)
{
    char what[TY_SAY];
    const struct ty_op *op = op_at(r, front);
    ty_say_op(r->p, pass_at(r, front), op, what);
    if (op->sync == TY_SYNC_MEET) {
        const struct ty_meet *meet = &r->p->meets[op->link];
        const uint32_t slot = r->graph.stall.front[front].slot;
        const char *group = r->p->kinds[op->kind].group; /* where it is the name, it is in `what` */
        const bool named = group == NULL || strcmp(group, meet->name) != 0;
        snprintf(buf, size, "%.80s%s%s, %u of %u have come to it", named ? meet->name : "",
                 named ? ": " : "", what, (unsigned)r->graph.stall.arrived[slot],
                 (unsigned)meet->n_gangs);
    } else {
        snprintf(buf, size, "%s", what);
    }
}

static void say_reason(const struct report *r, uint32_t front, char *buf, size_t size)
{
    const struct ty_wait *w = &r->graph.wait[front];
    const struct ty_op *op = op_at(r, front);
    const bool meets = op->sync == TY_SYNC_MEET;
    char wanted[3 * TY_SAY], where[TY_SAY];
    say_wanted(r, front, wanted, sizeof(wanted));
    switch ((enum ty_why)w->why) {
    case TY_WHY_WAITS:
        ty_say_pass(r->p, ty_op_ref_pass(r->p, w->at), where);
        if (meets) {
            snprintf(buf, size, "waits in %s, for %.64s, which comes in %s", wanted,
                     r->p->gangs[w->at.gang].name, where);
        } else {
            snprintf(buf, size, "waits for %s from %.64s, which sends it in %s", wanted,
                     r->p->gangs[w->at.gang].name, where);
        }
        break;
    case TY_WHY_NEVER_SENT:
        snprintf(buf, size, "waits for %s from %.64s, which never sends it", wanted,
                 r->p->gangs[r->p->channels[op->link].from].name);
        break;
    case TY_WHY_NO_PARTNER:
        if (w->absent != TY_NOBODY) {
            snprintf(buf, size, "waits in %s, and %.64s never comes", wanted,
                     r->p->gangs[w->absent].name);
        } else {
            snprintf(buf, size, "waits in %s, and %u never come%s", wanted, (unsigned)w->missing,
                     w->missing == 1 ? "s" : "");
        }
        break;
    case TY_WHY_MISMATCHED:
    case TY_WHY_BEHIND:
    case TY_WHY_FINISHED:
        snprintf(buf, size, "%s %s",
                 meets                      ? "issues"
                 : op->sync == TY_SYNC_SEND ? "sends"
                                            : "receives",
                 wanted);
        break;
    }
}

/* One line: where a stream stands, and what it waits for. */
static void tell(struct report *r, uint32_t front)
{
    char name[TY_SAY], pass[TY_SAY], reason[6 * TY_SAY];
    const struct ty_op *op = op_at(r, front);
    r->told[front] = true;
    say_reason(r, front, reason, sizeof(reason));
    (void)ty_fail(r->err, TY_EDEADLOCK, "  %s stands at %s, %s stream: %s",
                  ty_say_gang(r->p, ty_front_gang(r->p, front), name),
                  ty_say_pass(r->p, pass_at(r, front), pass), ty_stream_name(r->p, op->stream),
                  reason);
}

/* The circle of n streams through `front`, the middle of a long one left out. */
static void tell_circle(struct report *r, uint32_t front, uint32_t n, uint32_t lines)
{
    (void)ty_fail(r->err, TY_EDEADLOCK,
                  n == 1 ? "one waits for itself:"
                         : "%u wait in a circle, each for the next and the last for the first:",
                  (unsigned)n);
    for (uint32_t i = 0; i < n; i++, front = r->graph.wait[front].next) {
        if (n <= lines || i + 2 < lines || i + 1 == n) {
            tell(r, front);
        } else {
            r->told[front] = true;
            if (i + 2 == lines) {
                (void)ty_fail(r->err, TY_EDEADLOCK, "  and so on through %u more to",
                              (unsigned)(n - lines + 1));
            }
        }
    }
}

/* Those that wait behind what was told. */
static void tell_behind(struct report *r, uint32_t lines)
{
    char first[TY_SAY], last[TY_SAY];
    uint32_t n = 0, low = 0, high = 0;
    for (uint32_t i = 0; i < r->graph.n_fronts; i++) {
        if (is_left(r, i)) {
            low = n++ == 0 ? i : low;
            high = i;
        }
    }
    if (n > lines) {
        (void)ty_fail(r->err, TY_EDEADLOCK, "%u more wait behind these, from %s to %s", (unsigned)n,
                      ty_say_gang(r->p, ty_front_gang(r->p, low), first),
                      ty_say_gang(r->p, ty_front_gang(r->p, high), last));
    } else if (n > 0) {
        (void)ty_fail(r->err, TY_EDEADLOCK,
                      "%s behind these:", n == 1 ? "one waits" : "others wait");
        for (uint32_t i = low; i <= high; i++) {
            if (is_left(r, i)) {
                tell(r, i);
            }
        }
    }
}

/* One cause, under a head unless the line above is of the same sort. */
static void tell_cause(struct report *r, uint32_t front, const char **head)
{
    const char *own = r->graph.wait[front].why == TY_WHY_MISMATCHED ? "what cannot be matched:"
                                                                    : "what never comes:";
    if (*head != own) {
        (void)ty_fail(r->err, TY_EDEADLOCK, "%s", own);
    }
    *head = own;
    tell(r, front);
}

static void tell_all(struct report *r)
{
    const uint32_t n_ends = r->graph.n_ends;
    const uint32_t lines = n_ends > 1 ? CIRCLE_LINES / 2 : CIRCLE_LINES;
    uint32_t told = 0;
    const char *head = NULL;
    for (uint32_t i = 0; i < r->graph.n_fronts && told < CAUSES_MAX; i++) {
        uint32_t n = 0;
        const uint32_t end =
            ty_wait_is_told(&r->graph.wait[i]) ? ty_autopsy_follow(&r->graph, i, &n) : TY_NOBODY;
        if (end == TY_NOBODY) {
            continue;
        }
        told++;
        if (n > 0) {
            tell_circle(r, end, n, lines);
            head = NULL;
        } else {
            tell_cause(r, end, &head);
        }
    }
    if (n_ends > told) {
        (void)ty_fail(r->err, TY_EDEADLOCK, "and %u more circles or partners that never come",
                      (unsigned)(n_ends - told));
    }
    tell_behind(r, n_ends > 1 ? 1 : BEHIND_LINES);
}

/* "deadlock: 16 of 64 ranks can never finish; the last of them moved at 1.5 ms" */
static void tell_how_many(struct report *r, const struct ty_timeline *t)
{
    uint32_t ranks = 0;
    ty_ps last = 0;
    char when[64];
    for (uint32_t g = 0; g < r->p->n_gangs; g++) {
        if (ty_timeline_halts(t, g)) {
            const ty_ps end = ty_timeline_end(t, g, 1);
            ranks += r->p->gangs[g].n_ranks;
            last = end > last ? end : last;
        }
    }
    (void)ty_fail(r->err, TY_EDEADLOCK, "deadlock: %u of %u ranks can never finish; %s%s",
                  (unsigned)ranks, (unsigned)r->p->n_ranks,
                  last > 0 ? "the last of them moved at " : "none of them ever moved",
                  last == 0
                      ? ""
                      : ty_quantity_format(ty_s_from_ps(last), TY_DIM_SECONDS, when, sizeof(when)));
}

/* The first disagreement that somebody came to; else they stop before it. */
static void tell_mismatch(struct report *r)
{
    const struct ty_finding *f =
        r->mismatch == NULL ? NULL : ty_stall_disagreement(&r->graph.stall, r->p, r->mismatch);
    char text[TY_MISMATCH_TEXT], more[48] = "";
    if (f != NULL) {
        if (r->mismatch->n > 1) {
            snprintf(more, sizeof(more), "; the first of %u", (unsigned)r->mismatch->n);
        }
        (void)ty_fail(r->err, TY_EDEADLOCK, "mismatch: %s%s", ty_mismatch_say(r->p, f, text), more);
    }
}

/* ---- the whole ---- */

/* Cuts the timeline to what was executed, and notes where each gang stands. */
static int cut(const struct report *r, struct ty_timeline *timeline, struct ty_arena *arena)
{
    const struct ty_autopsy *a = &r->graph;
    struct ty_halt halt = {.whole = r->p};
    halt.stop = ty_arena_array(arena, struct ty_stop, (size_t)r->p->n_gangs + 1);
    halt.front = ty_arena_array(arena, struct ty_stop, (size_t)a->n_fronts + 1);
    if (halt.stop == NULL || halt.front == NULL) {
        return ty_fail_memory(r->err);
    }
    for (uint32_t g = 0; g < r->p->n_gangs; g++) {
        halt.stop[g] = ty_autopsy_stop(a, g);
    }
    for (uint32_t i = 0; i < a->n_fronts; i++) {
        halt.front[i] = a->stall.front[i].at;
    }
    return ty_timeline_cut(timeline, &halt, &timeline->arena, r->err);
}

static int examine(struct report *r, struct ty_timeline *timeline, struct ty_arena *arena)
{
    int rc = ty_autopsy_make(&r->graph, r->p, r->mismatch, arena);
    r->told = rc < 0 ? NULL : ty_arena_array(arena, bool, (size_t)r->graph.n_fronts + 1);
    if (r->told == NULL) {
        return ty_fail_memory(r->err);
    }
    if (r->graph.stall.n_stuck == 0) {
        return ty_fail(r->err, TY_EBUG, "deadlock: execution halts where nobody has to wait");
    }
    rc = cut(r, timeline, arena);
    if (rc < 0) {
        return rc;
    }
    tell_mismatch(r);
    tell_how_many(r, timeline);
    tell_all(r);
    return TY_EDEADLOCK;
}

int ty_deadlock_report(struct ty_timeline *timeline, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct report r = {.p = timeline->program, .mismatch = timeline->mismatch, .err = err};
    const int rc = examine(&r, timeline, &arena);
    ty_arena_release(&arena);
    return rc;
}
