/* stall.c - see stall.h. */
#include "sim/core/stall.h"

#include <string.h>

#define NO_SLOT UINT32_MAX

struct walk {
    const struct ty_program *p;
    const uint8_t *barred;
    struct ty_stall *stall;
    uint32_t *waiting; /* [n_gangs] slot it waits for; NO_SLOT: none that may still happen */
    bool *met;         /* [n_gangs] it has arrived at the meeting it stands before */
    bool *queued;      /* [n_gangs] on the stack */
    uint32_t *ready;   /* [n_gangs] stack of gangs that may run */
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
    if (w->waiting[gang] == slot) {
        w->waiting[gang] = NO_SLOT;
        make_ready(w, gang);
    }
}

static bool is_barred(const struct walk *w, uint32_t slot, enum ty_bar bar)
{
    return w->barred != NULL && (w->barred[slot] & bar) != 0;
}

/* Brings a gang to a meeting; true when all are there. */
static bool meet(struct walk *w, uint32_t gang, const struct ty_op *op, uint32_t slot)
{
    const struct ty_meet *m = &w->p->meets[op->link];
    uint32_t *arrived = &w->stall->arrived[slot];
    if (!w->met[gang]) {
        w->met[gang] = true;
        ++*arrived;
        for (uint32_t g = 0; g < w->p->n_gangs && *arrived == m->n_gangs; g++) {
            wake(w, g, slot);
        }
    }
    if (*arrived < m->n_gangs || is_barred(w, slot, TY_BAR_MEET)) {
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
        if (w->stall->arrived[slot] > 0 && !is_barred(w, slot, TY_BAR_RECV)) {
            return true;
        }
        w->waiting[gang] = slot;
        return false;
    }
    if (is_barred(w, slot, TY_BAR_SEND)) {
        return false;
    }
    w->stall->arrived[slot] = 1;
    wake(w, w->p->channels[op->link].to, slot);
    return true;
}

static void run(struct walk *w, uint32_t g)
{
    const struct ty_gang *gang = &w->p->gangs[g];
    struct ty_stop *at = &w->stall->stop[g];
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

int ty_stall_find(struct ty_stall *stall, const struct ty_program *p, const uint8_t *barred,
                  struct ty_arena *arena)
{
    const size_t gangs = (size_t)p->n_gangs + 1;
    struct walk w = {.p = p, .barred = barred, .stall = stall};
    *stall = (struct ty_stall){.stop = ty_arena_array(arena, struct ty_stop, gangs),
                               .arrived = ty_arena_array(arena, uint32_t, (size_t)p->n_slots + 1)};
    w.waiting = ty_arena_array(arena, uint32_t, gangs);
    w.met = ty_arena_array(arena, bool, gangs);
    w.queued = ty_arena_array(arena, bool, gangs);
    w.ready = ty_arena_array(arena, uint32_t, gangs);
    if (stall->stop == NULL || stall->arrived == NULL || w.waiting == NULL || w.met == NULL ||
        w.queued == NULL || w.ready == NULL) {
        return TY_ENOMEM;
    }
    memset(w.waiting, 0xff, gangs * sizeof(*w.waiting)); /* NO_SLOT */
    for (uint32_t g = p->n_gangs; g > 0; g--) {
        make_ready(&w, g - 1);
    }
    while (w.n_ready > 0) {
        const uint32_t g = w.ready[--w.n_ready];
        w.queued[g] = false;
        run(&w, g);
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        stall->n_stuck += stall->stop[g].pass < p->gangs[g].n_passes;
    }
    return 0;
}
