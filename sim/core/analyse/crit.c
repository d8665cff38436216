/* crit.c - walks the critical path back from the last task. */
#include "sim/core/analyse/crit.h"
#include "sim/core/program/peers.h"

/* A task under the walker's finger. */
struct spot {
    uint32_t gang, member, pass, op;
};

struct walker {
    const struct ty_timeline *t;
    const struct ty_program *p;
};

static const struct ty_pass *pass_at(const struct walker *w, const struct spot *s)
{
    return &ty_gang_passes(w->p, &w->p->gangs[s->gang])[s->pass];
}

static const struct ty_op *op_at(const struct walker *w, const struct spot *s)
{
    return &ty_pass_ops(w->p, pass_at(w, s))[s->op];
}

static ty_ps start_of(const struct walker *w, const struct spot *s)
{
    return ty_timeline_starts(w->t, &w->p->gangs[s->gang],
                              pass_at(w, s)->first_op + s->op)[s->member];
}

static ty_ps dur_of(const struct walker *w, const struct spot *s)
{
    return ty_timeline_dur(w->t, &w->p->gangs[s->gang], op_at(w, s),
                           (uint64_t)pass_at(w, s)->first_op + s->op, s->member);
}

/* Moves to the operation issued before; false at the first. */
static bool back(const struct walker *w, struct spot *s)
{
    while (s->op == 0) {
        if (s->pass == 0) {
            return false;
        }
        s->pass--;
        s->op = w->p->blocks[pass_at(w, s)->block].n_ops;
    }
    s->op--;
    return true;
}

/* The latest operation before `from` on a stream (event TY_NO_EVENT), or that records an event. */
static bool find_before(const struct walker *w, struct spot from, uint8_t stream, uint8_t event,
                        struct spot *out)
{
    while (back(w, &from)) {
        const struct ty_op *op = op_at(w, &from);
        if (event == TY_NO_EVENT ? op->stream == stream : op->record == event) {
            *out = from;
            return true;
        }
    }
    return false;
}

/* The operation of another gang that takes part in the same meeting. */
static bool find_meeting(const struct walker *w, const struct spot *s, uint32_t gang,
                         struct spot *out)
{
    assert(gang < w->p->n_gangs && op_at(w, s)->sync == TY_SYNC_MEET);
    const uint32_t slot = ty_op_slot(w->p, pass_at(w, s), op_at(w, s));
    const uint16_t step = pass_at(w, s)->step;
    const struct ty_gang *g = &w->p->gangs[gang];
    const uint32_t member = s->member < g->n_ranks ? s->member : 0; /* smaller: they all meet */
    for (uint32_t i = g->n_passes; i > 0; i--) {
        struct spot at = {gang, member, i - 1, 0};
        const struct ty_pass *pass = pass_at(w, &at);
        for (; pass->step == step && at.op < w->p->blocks[pass->block].n_ops; at.op++) {
            if (op_at(w, &at)->sync == TY_SYNC_MEET &&
                ty_op_slot(w->p, pass, op_at(w, &at)) == slot) {
                *out = at;
                return true;
            }
        }
    }
    return false;
}

/* Whether a pass sends the message of a slot, and where. */
static bool sends(const struct walker *w, struct spot at, uint32_t seq, uint32_t slot,
                  struct spot *out)
{
    const struct ty_pass *pass = pass_at(w, &at);
    const bool may = pass->seq == seq || pass->seq2 == seq;
    for (; may && at.op < w->p->blocks[pass->block].n_ops; at.op++) {
        if (op_at(w, &at)->sync == TY_SYNC_SEND && ty_op_slot(w->p, pass, op_at(w, &at)) == slot) {
            *out = at;
            return true;
        }
    }
    return false;
}

/* The send of the message that an operation receives, of the first who sends to it. Gangs have
 * about as many passes, in about the same order, so it is looked for around the place of the
 * receive, farther and farther away. */
static bool find_send(const struct walker *w, const struct spot *s, struct spot *out)
{
    const uint32_t slot = ty_op_slot(w->p, pass_at(w, s), op_at(w, s));
    const uint32_t from = w->p->channels[op_at(w, s)->link].from;
    const uint32_t seq = ty_op_seq(pass_at(w, s), op_at(w, s));
    const uint32_t n = w->p->gangs[from].n_passes, middle = s->pass < n ? s->pass : n;
    const uint32_t member = ty_op_peers(w->p, op_at(w, s), s->member).first;
    for (uint32_t far = 0; far < n; far++) {
        const struct spot after = {from, member, middle + far, 0};
        const struct spot before = {from, member, middle - far - 1, 0};
        if ((far < n - middle && sends(w, after, seq, slot, out)) ||
            (far < middle && sends(w, before, seq, slot, out))) {
            return true;
        }
    }
    return false;
}

static bool ends_at(const struct walker *w, const struct spot *s, ty_ps when)
{
    return start_of(w, s) + dur_of(w, s) == when;
}

/* Of those who send to a member whoever was ready at `when`; false: nobody. */
static bool latest_send(const struct walker *w, const struct spot *s, ty_ps when, struct spot *send)
{
    assert(op_at(w, s)->sync == TY_SYNC_RECV);
    const struct ty_peers from = ty_op_peers(w->p, op_at(w, s), s->member);
    for (uint32_t i = 0; i < from.n; i++) {
        send->member = from.first + i;
        if (ends_at(w, send, when)) {
            return true;
        }
    }
    return false;
}

/* What held this member's operation back until `when`. */
static bool own_cause(const struct walker *w, const struct spot *s, ty_ps when, struct spot *out,
                      ty_ps *delay)
{
    const struct ty_op *op = op_at(w, s);
    *delay = 0;
    if (find_before(w, *s, op->stream, TY_NO_EVENT, out) && ends_at(w, out, when)) {
        return true;
    }
    for (uint32_t k = 0; k < TY_WAITS && op->wait[k] != TY_NO_EVENT; k++) {
        if (find_before(w, *s, 0, op->wait[k], out) && ends_at(w, out, when)) {
            return true;
        }
    }
    if (op->sync == TY_SYNC_RECV && find_send(w, s, out)) {
        *delay = w->p->channels[op->link].delay;
        return latest_send(w, s, when - *delay, out);
    }
    return false;
}

/* Who of a gang starts an operation together with one of its members. */
static struct ty_group together(const struct walker *w, const struct ty_op *op, uint32_t gang)
{
    return op->sync == TY_SYNC_GROUP ? w->p->groups[op->link]
           : op->sync == TY_SYNC_MEET
               ? ty_meet_group(w->p, &w->p->meets[op->link], w->p->gangs[gang].n_ranks)
               : (struct ty_group){NULL, 1, 1};
}

/* The same for the members of a group. */
static bool group_cause(const struct walker *w, struct spot s, const struct ty_op *op, ty_ps when,
                        struct spot *out, ty_ps *delay)
{
    if (own_cause(w, &s, when, out, delay)) {
        return true;
    }
    const struct ty_group g = together(w, op, s.gang);
    const uint32_t first = ty_group_first(&g, s.member);
    for (uint32_t i = 0; g.count > 1 && i < g.count; i++) {
        s.member = first + i * g.stride;
        if (own_cause(w, &s, when, out, delay)) {
            return true;
        }
    }
    return false;
}

static bool cause(const struct walker *w, const struct spot *s, struct spot *out, ty_ps *delay)
{
    const struct ty_op *op = op_at(w, s);
    const ty_ps when = start_of(w, s);
    if (group_cause(w, *s, op, when, out, delay)) {
        return true;
    }
    for (uint32_t gang = 0; op->sync == TY_SYNC_MEET && gang < w->p->n_gangs; gang++) {
        struct spot other;
        if (find_meeting(w, s, gang, &other) && group_cause(w, other, op, when, out, delay)) {
            return true;
        }
    }
    return false;
}

/* A task that ends last. */
static bool find_last(const struct walker *w, struct spot *out)
{
    for (uint32_t g = 0; g < w->p->n_gangs; g++) {
        const struct ty_gang *gang = &w->p->gangs[g];
        struct spot s = {g, 0, gang->n_passes, 0};
        for (uint32_t back_off = 0; back_off < 4096 && back(w, &s); back_off++) {
            for (s.member = 0; s.member < gang->n_ranks; s.member++) {
                if (ends_at(w, &s, w->t->makespan)) {
                    *out = s;
                    return true;
                }
            }
            s.member = 0;
        }
    }
    return false;
}

static struct ty_crit_task task_at(const struct walker *w, const struct spot *s, ty_ps delay)
{
    return (struct ty_crit_task){s->gang,        s->member,    s->pass, s->op,
                                 start_of(w, s), dur_of(w, s), delay};
}

bool ty_critical_cause(const struct ty_timeline *timeline, const struct ty_crit_task *task,
                       struct ty_crit_task *out)
{
    const struct walker w = {.t = timeline, .p = timeline->program};
    const struct spot at = {task->gang, task->member, task->pass, task->op};
    struct spot before;
    ty_ps delay = 0;
    if (start_of(&w, &at) == 0 || !cause(&w, &at, &before, &delay)) {
        return false;
    }
    *out = task_at(&w, &before, delay);
    return true;
}

bool ty_critical_recorder(const struct ty_timeline *timeline, const struct ty_crit_task *task,
                          uint8_t event, struct ty_crit_task *out)
{
    const struct walker w = {.t = timeline, .p = timeline->program};
    const struct spot at = {task->gang, task->member, task->pass, task->op};
    struct spot before;
    if (!find_before(&w, at, 0, event, &before)) {
        return false;
    }
    *out = task_at(&w, &before, 0);
    return true;
}

int ty_critical_path(const struct ty_timeline *timeline, ty_crit_fn *visit, void *arg,
                     struct ty_err *err)
{
    const struct walker w = {.t = timeline, .p = timeline->program};
    struct spot at, before;
    ty_ps delay = 0;
    if (timeline->makespan == 0) {
        return 0;
    }
    if (!find_last(&w, &at)) {
        return ty_fail(err, TY_EBUG, "critical path: nothing ends at the end of the run");
    }
    for (;;) {
        const struct ty_crit_task task = task_at(&w, &at, delay);
        visit(arg, &task);
        if (task.start == 0) {
            return 0;
        }
        if (!cause(&w, &at, &before, &delay)) {
            return ty_fail(err, TY_EBUG, "critical path: %s on rank %u has no cause",
                           w.p->kinds[op_at(&w, &at)->kind].name,
                           (unsigned)w.p->gangs[at.gang].rank_of[at.member]);
        }
        assert(start_of(&w, &before) <= task.start);
        at = before;
    }
}
