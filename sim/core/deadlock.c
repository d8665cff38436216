/* deadlock.c - who waits for whom, in words.
 *
 * Every gang that cannot go on stands before one operation. It waits for one other gang, or for
 * something that will never be: a message that nobody sends, a partner that does not come, an
 * operation that its partners issue differently. Following the arrows from any gang ends in such
 * a cause, or runs into a circle; all others merely wait behind one of these.
 *
 *     stage 3 ──> stage 2 ──> stage 0 ──> stage 1          a circle of two,
 *                               ^            │             and two that wait behind it
 *                               └────────────┘
 */
#include "sim/core/deadlock.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/say.h"
#include "sim/core/stall.h"

#define NOBODY       UINT32_MAX
#define CAUSES_MAX   3u /* circles and missing partners told */
#define CIRCLE_LINES 8u /* gangs of one circle told; of each of several: half as many */
#define BEHIND_LINES 4u /* gangs behind them told one by one */

enum why {
    FINISHED,
    WAITS,      /* for another gang, which has an operation `at` that would help */
    NEVER_SENT, /* the message */
    NO_PARTNER, /* a meeting of more gangs than ever come */
    MISMATCHED, /* barred by the mismatch */
};

struct wait {
    uint8_t why;
    bool told;
    uint32_t next;      /* WAITS: gang; NO_PARTNER: the only one that is missing, or NOBODY */
    struct ty_issue at; /* WAITS: what that gang has still to issue */
    uint32_t missing;   /* NO_PARTNER: gangs */
    uint32_t seen;      /* search that passed here, 1 + its first gang; 0: none */
};

/* Who still comes to a meeting; looked up once. */
struct comers {
    bool known;
    uint32_t n;         /* gangs that stand there or will come */
    struct ty_issue at; /* where the first of those that will come issues it; gang NOBODY: none */
};

struct autopsy {
    const struct ty_program *p; /* whole */
    struct ty_stall stall;
    const uint8_t *barred;
    struct wait *wait;     /* [n_gangs] */
    struct comers *comers; /* [meetings: n_meets x n_steps], from the first slot of a meeting */
    uint32_t first_meeting;
    struct ty_err *err;
};

static const struct ty_pass *pass_at(const struct autopsy *a, uint32_t gang)
{
    const struct ty_gang *g = &a->p->gangs[gang];
    return &ty_gang_passes(a->p, g)[a->stall.stop[gang].pass];
}

static const struct ty_op *op_at(const struct autopsy *a, uint32_t gang)
{
    return &ty_pass_ops(a->p, pass_at(a, gang))[a->stall.stop[gang].op];
}

/* ---- the graph ---- */

/* Where a gang has still to issue an operation of that slot and kind; false: nowhere. */
static bool find_issue(const struct autopsy *a, uint32_t gang, enum ty_sync sync, uint32_t slot,
                       struct ty_issue *at)
{
    const struct ty_gang *g = &a->p->gangs[gang];
    const struct ty_stop stop = a->stall.stop[gang];
    for (uint32_t i = stop.pass; i < g->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(a->p, g)[i];
        const struct ty_op *ops = ty_pass_ops(a->p, pass);
        for (uint32_t k = i == stop.pass ? stop.op : 0; k < a->p->blocks[pass->block].n_ops; k++) {
            if (ops[k].sync == sync && ty_op_slot(a->p, pass, &ops[k]) == slot) {
                *at = (struct ty_issue){gang, i, k};
                return true;
            }
        }
    }
    return false;
}

static const struct comers *comers_of(struct autopsy *a, uint32_t slot)
{
    struct comers *c = &a->comers[slot - a->first_meeting];
    if (c->known) {
        return c;
    }
    *c = (struct comers){.known = true, .at = {.gang = NOBODY}};
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        struct ty_issue at;
        if (!find_issue(a, g, TY_SYNC_MEET, slot, &at)) {
            continue;
        }
        const struct ty_stop stop = a->stall.stop[g];
        const bool there = at.pass == stop.pass && at.op == stop.op;
        c->n++;
        c->at = there || c->at.gang != NOBODY ? c->at : at;
    }
    return c;
}

/* The only member that never comes to a meeting; NOBODY: there are more, or it is not known who. */
static uint32_t absent_from(const struct autopsy *a, const struct ty_meet *meet, uint32_t slot)
{
    uint32_t absent = NOBODY;
    for (uint32_t i = 0; meet->gangs != NULL && i < meet->n_gangs; i++) {
        struct ty_issue at;
        if (!find_issue(a, meet->gangs[i], TY_SYNC_MEET, slot, &at)) {
            if (absent != NOBODY) {
                return NOBODY;
            }
            absent = meet->gangs[i];
        }
    }
    return absent;
}

static void look_at_meeting(struct autopsy *a, struct wait *w, const struct ty_meet *meet,
                            uint32_t slot)
{
    const struct comers *c = comers_of(a, slot);
    if (c->n < meet->n_gangs || c->at.gang == NOBODY) {
        w->why = NO_PARTNER;
        w->missing = meet->n_gangs - c->n;
        w->next = w->missing == 1 ? absent_from(a, meet, slot) : NOBODY;
    } else {
        w->why = WAITS;
        w->next = c->at.gang;
        w->at = c->at;
    }
}

/* What a gang waits for. */
static void look(struct autopsy *a, uint32_t gang)
{
    struct wait *w = &a->wait[gang];
    *w = (struct wait){.why = FINISHED, .next = NOBODY};
    if (a->stall.stop[gang].pass >= a->p->gangs[gang].n_passes) {
        return;
    }
    static const uint8_t bars[] = {
        [TY_SYNC_MEET] = TY_BAR_MEET, [TY_SYNC_SEND] = TY_BAR_SEND, [TY_SYNC_RECV] = TY_BAR_RECV};
    const struct ty_op *op = op_at(a, gang);
    const uint32_t slot = ty_op_slot(a->p, pass_at(a, gang), op);
    if (a->barred != NULL && (a->barred[slot] & bars[op->sync]) != 0) {
        w->why = MISMATCHED;
    } else if (op->sync == TY_SYNC_MEET) {
        look_at_meeting(a, w, &a->p->meets[op->link], slot);
    } else if (find_issue(a, a->p->channels[op->link].from, TY_SYNC_SEND, slot, &w->at)) {
        w->why = WAITS;
        w->next = w->at.gang;
    } else {
        w->why = NEVER_SENT;
    }
}

/* Follows the arrows from a gang to where they end: a cause, or the lowest gang of a circle, and
 * how many are in it (0: a cause). NOBODY: another search has been there. */
static uint32_t follow(const struct autopsy *a, uint32_t start, uint32_t *n)
{
    uint32_t g = start;
    while (a->wait[g].seen == 0) {
        a->wait[g].seen = start + 1;
        if (a->wait[g].why != WAITS) {
            *n = 0;
            return g;
        }
        g = a->wait[g].next;
    }
    if (a->wait[g].seen != start + 1) {
        return NOBODY;
    }
    uint32_t lowest = g;
    *n = 0;
    for (uint32_t at = g; *n == 0 || at != g; at = a->wait[at].next) {
        lowest = at < lowest ? at : lowest;
        ++*n;
    }
    return lowest;
}

/* ---- words ---- */

/* "grad of micro-batch 0 (32 MiB, group pp)", or "gradient norm: all-reduce (4 B), 3 of 4 have
 * come to it". */
static void say_wanted(const struct autopsy *a, uint32_t gang, char *buf, size_t size)
{
    char what[TY_SAY];
    const struct ty_op *op = op_at(a, gang);
    ty_say_op(a->p, pass_at(a, gang), op, what);
    if (op->sync == TY_SYNC_MEET) {
        const struct ty_meet *meet = &a->p->meets[op->link];
        const uint32_t slot = ty_op_slot(a->p, pass_at(a, gang), op);
        const char *group = a->p->kinds[op->kind].group; /* where it is the name, it is in `what` */
        const bool named = group == NULL || strcmp(group, meet->name) != 0;
        snprintf(buf, size, "%.80s%s%s, %u of %u have come to it", named ? meet->name : "",
                 named ? ": " : "", what, (unsigned)a->stall.arrived[slot],
                 (unsigned)meet->n_gangs);
    } else {
        snprintf(buf, size, "%s", what);
    }
}

static void say_reason(const struct autopsy *a, uint32_t gang, char *buf, size_t size)
{
    const struct wait *w = &a->wait[gang];
    const struct ty_op *op = op_at(a, gang);
    const bool meets = op->sync == TY_SYNC_MEET;
    char wanted[3 * TY_SAY], where[TY_SAY];
    say_wanted(a, gang, wanted, sizeof(wanted));
    switch ((enum why)w->why) {
    case WAITS:
        ty_say_pass(a->p, ty_issue_pass(a->p, w->at), where);
        if (meets) {
            snprintf(buf, size, "waits in %s, for %.64s, which comes in %s", wanted,
                     a->p->gangs[w->next].name, where);
        } else {
            snprintf(buf, size, "waits for %s from %.64s, which sends it in %s", wanted,
                     a->p->gangs[w->next].name, where);
        }
        break;
    case NEVER_SENT:
        snprintf(buf, size, "waits for %s from %.64s, which never sends it", wanted,
                 a->p->gangs[a->p->channels[op->link].from].name);
        break;
    case NO_PARTNER:
        if (w->next != NOBODY) {
            snprintf(buf, size, "waits in %s, and %.64s never comes", wanted,
                     a->p->gangs[w->next].name);
        } else {
            snprintf(buf, size, "waits in %s, and %u never come%s", wanted, (unsigned)w->missing,
                     w->missing == 1 ? "s" : "");
        }
        break;
    case MISMATCHED:
    case FINISHED:
        snprintf(buf, size, "%s %s",
                 meets                      ? "issues"
                 : op->sync == TY_SYNC_SEND ? "sends"
                                            : "receives",
                 wanted);
        break;
    }
}

/* One line: where a gang stands, and what it waits for. */
static void tell(struct autopsy *a, uint32_t gang)
{
    char name[TY_SAY], pass[TY_SAY], reason[6 * TY_SAY];
    const struct ty_op *op = op_at(a, gang);
    a->wait[gang].told = true;
    say_reason(a, gang, reason, sizeof(reason));
    (void)ty_fail(a->err, TY_EDEADLOCK, "  %s stands at %s, %s stream: %s",
                  ty_say_gang(a->p, gang, name), ty_say_pass(a->p, pass_at(a, gang), pass),
                  ty_stream_name((enum ty_stream)op->stream), reason);
}

/* The circle of n gangs through `gang`, the middle of a long one left out. */
static void tell_circle(struct autopsy *a, uint32_t gang, uint32_t n, uint32_t lines)
{
    (void)ty_fail(a->err, TY_EDEADLOCK,
                  n == 1 ? "one waits for itself:"
                         : "%u wait in a circle, each for the next and the last for the first:",
                  (unsigned)n);
    for (uint32_t i = 0; i < n; i++, gang = a->wait[gang].next) {
        if (n <= lines || i + 2 < lines || i + 1 == n) {
            tell(a, gang);
        } else {
            a->wait[gang].told = true;
            if (i + 2 == lines) {
                (void)ty_fail(a->err, TY_EDEADLOCK, "  and so on through %u more to",
                              (unsigned)(n - lines + 1));
            }
        }
    }
}

/* Those that wait behind what was told. */
static void tell_behind(struct autopsy *a, uint32_t lines)
{
    char first[TY_SAY], last[TY_SAY];
    uint32_t n = 0, low = 0, high = 0;
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        if (a->wait[g].why != FINISHED && !a->wait[g].told) {
            low = n++ == 0 ? g : low;
            high = g;
        }
    }
    if (n > lines) {
        (void)ty_fail(a->err, TY_EDEADLOCK, "%u more wait behind %s, from %s to %s", (unsigned)n,
                      "these", ty_say_gang(a->p, low, first), ty_say_gang(a->p, high, last));
    } else if (n > 0) {
        (void)ty_fail(a->err, TY_EDEADLOCK, "%s behind %s:", n == 1 ? "one waits" : "others wait",
                      "these");
        for (uint32_t g = low; g <= high; g++) {
            if (a->wait[g].why != FINISHED && !a->wait[g].told) {
                tell(a, g);
            }
        }
    }
}

/* One cause, under a head unless the line above is of the same sort. */
static void tell_cause(struct autopsy *a, uint32_t gang, const char **head)
{
    const char *own =
        a->wait[gang].why == MISMATCHED ? "what cannot be matched:" : "what never comes:";
    if (*head != own) {
        (void)ty_fail(a->err, TY_EDEADLOCK, "%s", own);
    }
    *head = own;
    tell(a, gang);
}

static void tell_all(struct autopsy *a, uint32_t n_causes)
{
    const uint32_t lines = n_causes > 1 ? CIRCLE_LINES / 2 : CIRCLE_LINES;
    uint32_t told = 0;
    const char *head = NULL;
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        a->wait[g].seen = 0;
    }
    for (uint32_t g = 0; g < a->p->n_gangs && told < CAUSES_MAX; g++) {
        uint32_t n = 0;
        const uint32_t end = a->wait[g].why == FINISHED ? NOBODY : follow(a, g, &n);
        if (end == NOBODY) {
            continue;
        }
        told++;
        if (n > 0) {
            tell_circle(a, end, n, lines);
            head = NULL;
        } else {
            tell_cause(a, end, &head);
        }
    }
    if (n_causes > told) {
        (void)ty_fail(a->err, TY_EDEADLOCK, "and %u more circles or partners that never come",
                      (unsigned)(n_causes - told));
    }
    tell_behind(a, n_causes > 1 ? 1 : BEHIND_LINES);
}

/* ---- the whole ---- */

/* "deadlock: 16 of 64 ranks can never finish; the last of them moved at 1.5 ms" */
static void tell_how_many(struct autopsy *a, const struct ty_timeline *t)
{
    uint32_t ranks = 0;
    ty_ps last = 0;
    char when[64];
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        if (a->wait[g].why != FINISHED) {
            const ty_ps end = ty_timeline_end(t, g, 1);
            ranks += a->p->gangs[g].n_ranks;
            last = end > last ? end : last;
        }
    }
    (void)ty_fail(a->err, TY_EDEADLOCK, "deadlock: %u of %u ranks can never finish; %s%s",
                  (unsigned)ranks, (unsigned)a->p->n_ranks,
                  last > 0 ? "the last of them moved at " : "none of them ever moved",
                  last == 0
                      ? ""
                      : ty_quantity_format(ty_s_from_ps(last), TY_DIM_SECONDS, when, sizeof(when)));
}

static int prepare(struct autopsy *a, struct ty_arena *arena)
{
    const struct ty_program *p = a->p;
    const size_t meetings = (size_t)p->n_meets * p->n_steps;
    a->wait = ty_arena_array(arena, struct wait, (size_t)p->n_gangs + 1);
    a->comers = ty_arena_array(arena, struct comers, meetings + 1);
    a->first_meeting = p->n_slots - (uint32_t)meetings;
    return a->wait == NULL || a->comers == NULL ? TY_ENOMEM
                                                : ty_stall_find(&a->stall, p, a->barred, arena);
}

static int examine(struct autopsy *a, struct ty_timeline *timeline,
                   const struct ty_mismatch *mismatch, struct ty_arena *arena)
{
    int rc = prepare(a, arena);
    if (rc < 0) {
        return ty_fail_memory(a->err);
    }
    if (a->stall.n_stuck == 0) {
        return ty_fail(a->err, TY_EBUG, "deadlock: execution halts where nobody has to wait");
    }
    rc = ty_timeline_cut(timeline, a->stall.stop, &timeline->arena, a->err);
    if (rc < 0) {
        return rc;
    }
    uint32_t n_causes = 0;
    bool reached = false;
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        look(a, g);
    }
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        uint32_t n;
        n_causes += a->wait[g].why != FINISHED && follow(a, g, &n) != NOBODY;
        reached = reached || a->wait[g].why == MISMATCHED;
    }
    if (reached) { /* else they stop before it */
        char more[48] = "";
        assert(mismatch != NULL); /* that is how they were barred */
        if (mismatch->n > 1) {
            snprintf(more, sizeof(more), "; the first of %u", (unsigned)mismatch->n);
        }
        (void)ty_fail(a->err, TY_EDEADLOCK, "mismatch: %s%s", mismatch->text, more);
    }
    tell_how_many(a, timeline);
    tell_all(a, n_causes);
    return TY_EDEADLOCK;
}

int ty_deadlock_report(struct ty_timeline *timeline, const struct ty_mismatch *mismatch,
                       struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    if (timeline->halt != NULL) { /* an executor halted already, without the mismatch */
        timeline->program = timeline->halt->whole;
    }
    struct autopsy a = {
        .p = timeline->program, .barred = mismatch != NULL ? mismatch->barred : NULL, .err = err};
    const int rc = examine(&a, timeline, mismatch, &arena);
    ty_arena_release(&arena);
    return rc;
}
