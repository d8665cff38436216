/* autopsy.c - follows who waits for whom until the chain closes or ends. */
#include "sim/core/deadlock/autopsy.h"

/* Whether the operation at x is issued before that at y. */
static bool is_before(struct ty_stop x, struct ty_stop y)
{
    return x.pass < y.pass || (x.pass == y.pass && x.op < y.op);
}

/* The first operation of a gang that was not executed. */
static struct ty_stop first_left(const struct ty_autopsy *a, uint32_t gang)
{
    const struct ty_front *front = &a->stall.front[(size_t)gang * a->p->n_lanes];
    struct ty_stop first = front[0].at;
    for (uint32_t s = 1; s < a->p->n_lanes; s++) {
        first = is_before(front[s].at, first) ? front[s].at : first;
    }
    return first;
}

/* Where a gang has still to execute an operation of that slot and kind; false: nowhere. */
static bool find_issue(const struct ty_autopsy *a, uint32_t gang, enum ty_sync sync, uint32_t slot,
                       struct ty_op_ref *at)
{
    const struct ty_gang *g = &a->p->gangs[gang];
    const struct ty_front *front = &a->stall.front[(size_t)gang * a->p->n_lanes];
    const struct ty_stop first = first_left(a, gang);
    for (uint32_t i = first.pass; i < g->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(a->p, g)[i];
        const struct ty_op *ops = ty_pass_ops(a->p, pass);
        for (uint32_t k = i == first.pass ? first.op : 0; k < a->p->blocks[pass->block].n_ops;
             k++) {
            if (ops[k].sync == sync && ty_op_slot(a->p, pass, &ops[k]) == slot &&
                !is_before((struct ty_stop){i, k}, front[ops[k].lane].at)) {
                *at = (struct ty_op_ref){gang, i, k};
                return true;
            }
        }
    }
    return false;
}

static uint32_t front_of(const struct ty_autopsy *a, struct ty_op_ref at)
{
    return at.gang * a->p->n_lanes + ty_op_ref_op(a->p, at)->lane;
}

static const struct ty_comers *comers_of(struct ty_autopsy *a, uint32_t slot)
{
    assert(slot >= a->first_meeting && slot < a->p->n_slots);
    struct ty_comers *c = &a->comers[slot - a->first_meeting];
    if (c->known) {
        return c;
    }
    *c = (struct ty_comers){.known = true, .at = {.gang = TY_NOBODY}};
    for (uint32_t g = 0; g < a->p->n_gangs; g++) {
        struct ty_op_ref at;
        if (!find_issue(a, g, TY_SYNC_MEET, slot, &at)) {
            continue;
        }
        const struct ty_front *front = &a->stall.front[front_of(a, at)];
        const bool there = front->met && front->at.pass == at.pass && front->at.op == at.op;
        c->n++;
        c->at = there || c->at.gang != TY_NOBODY ? c->at : at;
    }
    return c;
}

/* The only member that never comes to a meeting; TY_NOBODY: there are more, or it is not known. */
static uint32_t absent_from(const struct ty_autopsy *a, const struct ty_meet *meet, uint32_t slot)
{
    uint32_t absent = TY_NOBODY;
    for (uint32_t i = 0; meet->gangs != NULL && i < meet->n_gangs; i++) {
        struct ty_op_ref at;
        if (!find_issue(a, meet->gangs[i], TY_SYNC_MEET, slot, &at)) {
            if (absent != TY_NOBODY) {
                return TY_NOBODY;
            }
            absent = meet->gangs[i];
        }
    }
    return absent;
}

static void look_at_meeting(struct ty_autopsy *a, struct ty_wait *w, const struct ty_meet *meet,
                            uint32_t slot)
{
    const struct ty_comers *c = comers_of(a, slot);
    if (c->n < meet->n_gangs || c->at.gang == TY_NOBODY) {
        w->why = TY_WHY_NO_PARTNER;
        assert(c->n <= meet->n_gangs);
        w->missing = meet->n_gangs - c->n;
        w->absent = w->missing == 1 ? absent_from(a, meet, slot) : TY_NOBODY;
    } else {
        w->why = TY_WHY_WAITS;
        w->at = c->at;
    }
}

/* What a front waits for. */
static void look(struct ty_autopsy *a, uint32_t i)
{
    struct ty_wait *w = &a->wait[i];
    const struct ty_front *front = &a->stall.front[i];
    *w = (struct ty_wait){.why = TY_WHY_FINISHED, .next = TY_NOBODY, .absent = TY_NOBODY};
    if (ty_front_is_over(a->p, i, &front->at)) {
        return;
    }
    if (front->behind != TY_IN_NO_LANE) {
        w->why = TY_WHY_BEHIND;
        w->next = i - i % a->p->n_lanes + front->behind;
        return;
    }
    assert(front->slot < a->p->n_slots);
    const struct ty_op *op = ty_op_ref_op(a->p, ty_autopsy_issue(a, i));
    if (a->unmatched[front->slot]) {
        w->why = TY_WHY_MISMATCHED;
    } else if (op->sync == TY_SYNC_MEET) {
        look_at_meeting(a, w, &a->p->meets[op->link], front->slot);
    } else if (find_issue(a, a->p->channels[op->link].from, TY_SYNC_SEND, front->slot, &w->at)) {
        w->why = TY_WHY_WAITS;
    } else {
        w->why = TY_WHY_NEVER_SENT;
    }
}

/* An arrow to a stream that is behind another leads on to that one. It ends, since events are
 * waited for in the order of issue. */
static void look_at_all(struct ty_autopsy *a)
{
    for (uint32_t i = 0; i < a->n_fronts; i++) {
        look(a, i);
    }
    for (uint32_t i = 0; i < a->n_fronts; i++) {
        struct ty_wait *w = &a->wait[i];
        if (w->why == TY_WHY_WAITS) {
            w->next = front_of(a, w->at);
            while (a->wait[w->next].why == TY_WHY_BEHIND) {
                w->next = a->wait[w->next].next;
            }
        }
    }
}

uint32_t ty_autopsy_follow(const struct ty_autopsy *a, uint32_t start, uint32_t *n)
{
    uint32_t i = start;
    while (a->wait[i].seen == 0) {
        a->wait[i].seen = start + 1;
        if (a->wait[i].why != TY_WHY_WAITS) {
            *n = 0;
            return i;
        }
        assert(a->wait[i].next < a->n_fronts);
        i = a->wait[i].next;
    }
    if (a->wait[i].seen != start + 1) {
        return TY_NOBODY;
    }
    uint32_t lowest = i;
    *n = 0;
    for (uint32_t at = i; *n == 0 || at != i; at = a->wait[at].next) {
        lowest = at < lowest ? at : lowest;
        ++*n;
    }
    return lowest;
}

/* Marks all causes and circles. */
static void find_ends(struct ty_autopsy *a)
{
    for (uint32_t i = 0; i < a->n_fronts; i++) {
        uint32_t n = 0;
        uint32_t end = ty_wait_is_told(&a->wait[i]) ? ty_autopsy_follow(a, i, &n) : TY_NOBODY;
        a->n_ends += end != TY_NOBODY;
        for (uint32_t k = 0; end != TY_NOBODY && k < (n == 0 ? 1 : n); k++) {
            a->wait[end].is_end = true;
            end = n == 0 ? end : a->wait[end].next;
        }
    }
}

struct ty_stop ty_autopsy_stop(const struct ty_autopsy *a, uint32_t gang)
{
    struct ty_stop stop = {.pass = a->p->gangs[gang].n_passes};
    bool is_end = false;
    for (uint32_t i = gang * a->p->n_lanes; i < (gang + 1) * a->p->n_lanes; i++) {
        const struct ty_wait *w = &a->wait[i];
        const struct ty_stop at = a->stall.front[i].at;
        if (ty_wait_is_told(w) &&
            (w->is_end > is_end || (w->is_end == is_end && is_before(at, stop)))) {
            stop = at;
            is_end = w->is_end;
        }
    }
    return stop;
}

/* Marks the messages and meetings whose two sides have come to a disagreement. */
static void mark_unmatched(struct ty_autopsy *a, const struct ty_mismatch *mismatch)
{
    const struct ty_program *p = a->p;
    const struct ty_finding *f = mismatch == NULL ? NULL : mismatch->last;
    for (; f != NULL; f = f->before) {
        const bool reached = ty_stall_reaches(&a->stall, p, f);
        const struct ty_op_ref side[] = {f->b, f->a};
        const bool meets = ty_op_ref_op(p, f->b)->sync == TY_SYNC_MEET;
        for (size_t i = 0; reached && i < (meets ? 2 : 1); i++) {
            a->unmatched[ty_op_slot(p, ty_op_ref_pass(p, side[i]), ty_op_ref_op(p, side[i]))] =
                true;
        }
    }
}

static void forget(struct ty_autopsy *a)
{
    for (uint32_t i = 0; i < a->n_fronts; i++) {
        a->wait[i].seen = 0;
    }
}

int ty_autopsy_make(struct ty_autopsy *a, const struct ty_program *p,
                    const struct ty_mismatch *mismatch, struct ty_arena *arena)
{
    size_t meetings = 0;
    for (uint32_t i = 0; i < p->n_meets; i++) {
        meetings += ty_meet_instances(p, &p->meets[i]);
    }
    *a = (struct ty_autopsy){.p = p, .n_fronts = p->n_gangs * p->n_lanes};
    const int rc = ty_stall_find(&a->stall, p, ty_mismatch_bars(mismatch), arena);
    if (rc < 0 || a->stall.n_stuck == 0) {
        return rc;
    }
    a->wait = ty_arena_array(arena, struct ty_wait, (size_t)a->n_fronts + 1);
    a->comers = ty_arena_array(arena, struct ty_comers, meetings + 1);
    a->unmatched = ty_arena_array(arena, bool, (size_t)p->n_slots + 1);
    a->first_meeting = p->n_slots - (uint32_t)meetings;
    if (a->wait == NULL || a->comers == NULL || a->unmatched == NULL) {
        return TY_ENOMEM;
    }
    mark_unmatched(a, mismatch);
    look_at_all(a);
    find_ends(a);
    forget(a);
    return 0;
}
