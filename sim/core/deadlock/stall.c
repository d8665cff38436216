/* stall.c - finds the operation at which each stream of a stuck program stands.
 *
 * Most programs finish when every gang simply executes what it issues in that order, whatever the
 * stream, and that is tried first. Where it leads nowhere, streams go round what stands on others
 * (fronts.h). */
#include "sim/core/deadlock/stall.h"

#include <string.h>

struct walk {
    const struct ty_program *p;
    const uint8_t *barred;
    struct ty_stall *stall;
    struct ty_stop *stop; /* [n_gangs] where it is */
    uint32_t *waiting;    /* [n_gangs] slot it waits for; TY_NO_SLOT: none that may still happen */
    bool *met;            /* [n_gangs] it has arrived at the meeting it stands before */
    bool *queued;         /* [n_gangs] on the stack */
    uint32_t *ready;      /* [n_gangs] stack of gangs that may run */
    uint32_t n_ready;
};

static void make_ready(struct walk *w, uint32_t gang)
{
    if (!w->queued[gang]) {
        w->queued[gang] = true;
        w->ready[w->n_ready++] = gang;
    }
}

static void wake(struct walk *w, uint32_t gang, uint32_t slot)
{
    assert(gang < w->p->n_gangs);
    if (w->waiting[gang] == slot) {
        w->waiting[gang] = TY_NO_SLOT;
        make_ready(w, gang);
    }
}

/* Brings a gang to a meeting; true when all are there. */
static bool meet(struct walk *w, uint32_t gang, const struct ty_op *op, uint32_t slot)
{
    const struct ty_meet *m = &w->p->meets[op->link];
    uint32_t *arrived = &w->stall->arrived[slot];
    if (!w->met[gang]) {
        w->met[gang] = true;
        assert(*arrived < m->n_gangs);
        ++*arrived;
        for (uint32_t g = 0; g < w->p->n_gangs && *arrived == m->n_gangs; g++) {
            wake(w, g, slot);
        }
    }
    if (*arrived < m->n_gangs || ty_is_barred(w->barred, slot, TY_BAR_MEET)) {
        w->waiting[gang] = slot;
        return false;
    }
    w->met[gang] = false;
    return true;
}

/* Passes one operation; false when the gang has to wait. */
static bool pass_op(struct walk *w, uint32_t gang, const struct ty_pass *pass,
                    const struct ty_op *op)
{
    if (op->sync == TY_SYNC_LOCAL || op->sync == TY_SYNC_GROUP) {
        return true;
    }
    const uint32_t slot = ty_op_slot(w->p, pass, op);
    if (op->sync == TY_SYNC_MEET) {
        return meet(w, gang, op, slot);
    }
    if (op->sync == TY_SYNC_RECV) {
        if (w->stall->arrived[slot] > 0 && !ty_is_barred(w->barred, slot, TY_BAR_RECV)) {
            return true;
        }
        w->waiting[gang] = slot;
        return false;
    }
    if (ty_is_barred(w->barred, slot, TY_BAR_SEND)) {
        return false;
    }
    assert(op->sync == TY_SYNC_SEND && slot < w->p->n_slots);
    w->stall->arrived[slot] = 1;
    wake(w, w->p->channels[op->link].to, slot);
    return true;
}

static void run(struct walk *w, uint32_t g)
{
    const struct ty_gang *gang = &w->p->gangs[g];
    struct ty_stop *at = &w->stop[g];
    for (; at->pass < gang->n_passes; at->pass++, at->op = 0) {
        const struct ty_pass *pass = &ty_gang_passes(w->p, gang)[at->pass];
        const struct ty_op *ops = ty_pass_ops(w->p, pass);
        for (; at->op < w->p->blocks[pass->block].n_ops; at->op++) {
            if (!pass_op(w, g, pass, &ops[at->op])) {
                return;
            }
        }
    }
}

/* Whether all gangs are at their end. */
static bool finished(const struct walk *w)
{
    bool all = true;
    for (uint32_t g = 0; g < w->p->n_gangs; g++) {
        all = all && w->stop[g].pass >= w->p->gangs[g].n_passes;
    }
    return all;
}

/* Gangs with a stream that is not at its end. */
static uint32_t count_stuck(const struct ty_stall *stall, const struct ty_program *p)
{
    uint32_t n = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        bool stuck = false;
        for (uint32_t i = g * p->n_lanes; i < (g + 1) * p->n_lanes; i++) {
            stuck = stuck || !ty_front_is_over(p, i, &stall->front[i].at);
        }
        n += stuck;
    }
    return n;
}

int ty_stall_find(struct ty_stall *stall, const struct ty_program *p, const uint8_t *barred,
                  struct ty_arena *arena)
{
    const size_t gangs = (size_t)p->n_gangs + 1;
    struct walk w = {.p = p, .barred = barred, .stall = stall};
    *stall = (struct ty_stall){.arrived = ty_arena_array(arena, uint32_t, (size_t)p->n_slots + 1)};
    w.stop = ty_arena_array(arena, struct ty_stop, gangs);
    w.waiting = ty_arena_array(arena, uint32_t, gangs);
    w.met = ty_arena_array(arena, bool, gangs);
    w.queued = ty_arena_array(arena, bool, gangs);
    w.ready = ty_arena_array(arena, uint32_t, gangs);
    if (w.stop == NULL || stall->arrived == NULL || w.waiting == NULL || w.met == NULL ||
        w.queued == NULL || w.ready == NULL) {
        return TY_ENOMEM;
    }
    memset(w.waiting, 0xff, gangs * sizeof(*w.waiting)); /* TY_NO_SLOT */
    for (uint32_t g = p->n_gangs; g > 0; g--) {
        make_ready(&w, g - 1);
    }
    while (w.n_ready > 0) {
        const uint32_t g = w.ready[--w.n_ready];
        w.queued[g] = false;
        run(&w, g);
    }
    if (finished(&w)) {
        return 0;
    }
    struct ty_fronts fronts = {.p = p, .barred = barred, .arrived = stall->arrived};
    const int rc = ty_fronts_run(&fronts, w.stop, w.met, arena);
    assert(rc < 0 || fronts.front != NULL);
    stall->front = fronts.front;
    stall->n_stuck = rc == 0 ? count_stuck(stall, p) : 0;
    if (stall->n_stuck == 0) {
        stall->front = NULL;
    }
    return rc;
}

/* Whether a gang stands before an operation, and has arrived there if it is a meeting. */
static bool stands_at(const struct ty_stall *stall, const struct ty_program *p, struct ty_op_ref at)
{
    const struct ty_op *op = ty_op_ref_op(p, at);
    const struct ty_front *front = &stall->front[at.gang * p->n_lanes + op->lane];
    return front->at.pass == at.pass && front->at.op == at.op &&
           (op->sync == TY_SYNC_MEET ? front->met : front->slot != TY_NO_SLOT);
}

bool ty_stall_reaches(const struct ty_stall *stall, const struct ty_program *p,
                      const struct ty_finding *f)
{
    const struct ty_op *op = ty_op_ref_op(p, f->b);
    if (stall->front == NULL) {
        return false;
    }
    switch (f->what) {
    case TY_DISAGREE_REPEATED: /* neither time is better than the other */
        return stands_at(stall, p, f->a) || stands_at(stall, p, f->b);
    case TY_DISAGREE_CROSSED:
    case TY_DISAGREE_GROUP:
        return stands_at(stall, p, f->a) && stands_at(stall, p, f->b);
    default:
        return stands_at(stall, p, f->b) &&
               (op->sync != TY_SYNC_MEET ||
                stall->arrived[ty_op_slot(p, ty_op_ref_pass(p, f->b), op)] >=
                    p->meets[op->link].n_gangs);
    }
}

const struct ty_finding *ty_stall_disagreement(const struct ty_stall *stall,
                                               const struct ty_program *p,
                                               const struct ty_mismatch *mismatch)
{
    const struct ty_finding *first = NULL;
    for (const struct ty_finding *f = mismatch->last; f != NULL; f = f->before) {
        const bool earlier = first == NULL || f->b.pass < first->b.pass ||
                             (f->b.pass == first->b.pass && f->b.gang <= first->b.gang);
        first = earlier && ty_stall_reaches(stall, p, f) ? f : first;
    }
    return first;
}
