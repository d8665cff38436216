/* mismatch.c - compares what partners of messages and collectives issue.
 *
 * All messages and meetings are listed once, gang by gang in the order of issue. The lists of the
 * two sides of a communicator are then walked side by side: messages that only one side knows are
 * passed over, so that one missing message does not make all later ones look out of order. */
#include "sim/core/deadlock/mismatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY   UINT32_MAX
#define ROUNDING 1e-12 /* of bytes that are dealt to members */

/* Operations with partners in another gang. */
struct list {
    struct ty_op_ref *at;
    uint32_t n;
};

struct search {
    const struct ty_program *p;
    struct ty_mismatch *out;
    struct ty_arena *arena;
    int code;                   /* TY_ENOMEM: not all findings are kept */
    struct list all;            /* by gang, in the order of issue */
    uint32_t *first_of;         /* [n_gangs + 1] into `all` */
    struct ty_op_ref *sent;     /* [n_slots] who sends a message; gang == NOBODY: nobody */
    struct ty_op_ref *taken;    /* [n_slots] who receives it, or who met first */
    uint32_t *comm;             /* [n_channels] communicator of a channel */
    struct list *sends, *recvs; /* [n_channels] by communicator */
    uint32_t n_comms;
};

static uint32_t slot_of(const struct search *s, struct ty_op_ref at)
{
    return ty_op_slot(s->p, ty_op_ref_pass(s->p, at), ty_op_ref_op(s->p, at));
}

static const struct ty_kind *kind_of(const struct search *s, struct ty_op_ref at)
{
    return &s->p->kinds[ty_op_ref_op(s->p, at)->kind];
}

/* Notes a disagreement, and what is barred. */
static void note(struct search *s, enum ty_disagreement what, uint32_t nth, struct ty_op_ref a,
                 struct ty_op_ref b, enum ty_bar bar)
{
    struct ty_finding *f = ty_arena_array(s->arena, struct ty_finding, 1);
    if (f == NULL) {
        s->code = TY_ENOMEM;
        return;
    }
    *f = (struct ty_finding){s->out->last, what, nth, a, b};
    s->out->last = f;
    s->out->barred[slot_of(s, b)] |= (uint8_t)bar;
    s->out->n++;
}

/* ---- lists ---- */

/* Fills the list of all operations with partners in another gang. count_of[n_blocks]: how many such
 * a block has, so that the rest of it, and blocks without any, are not looked through. */
static void fill_list(struct search *s, const uint32_t *count_of)
{
    for (uint32_t g = 0; g < s->p->n_gangs; g++) {
        const struct ty_gang *gang = &s->p->gangs[g];
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(s->p, gang)[i];
            const struct ty_op *ops = ty_pass_ops(s->p, pass);
            uint32_t left = count_of[pass->block];
            for (uint32_t k = 0; left > 0; k++) {
                if (ops[k].sync >= TY_SYNC_MEET) {
                    s->all.at[s->all.n++] = (struct ty_op_ref){g, i, k};
                    left--;
                }
            }
        }
        s->first_of[g + 1] = s->all.n;
    }
}

static int list_all(struct search *s, struct ty_arena *arena)
{
    const struct ty_program *p = s->p;
    uint32_t *count_of = ty_arena_array(arena, uint32_t, (size_t)p->n_blocks + 1);
    size_t n = 0;
    for (uint32_t b = 0; count_of != NULL && b < p->n_blocks; b++) {
        for (uint32_t k = 0; k < p->blocks[b].n_ops; k++) {
            count_of[b] += p->ops[p->blocks[b].first + k].sync >= TY_SYNC_MEET;
        }
    }
    for (uint32_t i = 0; count_of != NULL && i < p->n_passes; i++) {
        n += count_of[p->passes[i].block];
    }
    s->all.at = ty_arena_array(arena, struct ty_op_ref, n + 1);
    s->first_of = ty_arena_array(arena, uint32_t, (size_t)p->n_gangs + 1);
    if (count_of == NULL || s->all.at == NULL || s->first_of == NULL) {
        return TY_ENOMEM;
    }
    fill_list(s, count_of);
    return 0;
}

/* ---- messages ---- */

struct sorted {
    const struct ty_channel *channel;
    uint32_t index;
};

static int compare(const void *x, const void *y)
{
    const struct ty_channel *a = ((const struct sorted *)x)->channel;
    const struct ty_channel *b = ((const struct sorted *)y)->channel;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    if (a->to != b->to) {
        return a->to < b->to ? -1 : 1;
    }
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : (a > b) - (a < b);
}

/* Numbers communicators: channels with equal ends and names share one. */
static int number_comms(struct search *s, struct ty_arena *arena)
{
    const struct ty_program *p = s->p;
    struct sorted *row = ty_arena_array(arena, struct sorted, (size_t)p->n_channels + 1);
    s->comm = ty_arena_array(arena, uint32_t, (size_t)p->n_channels + 1);
    if (row == NULL || s->comm == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < p->n_channels; i++) {
        row[i] = (struct sorted){&p->channels[i], i};
    }
    if (p->n_channels > 0) {
        qsort(row, p->n_channels, sizeof(*row), compare);
    }
    for (uint32_t i = 0; i < p->n_channels; i++) {
        s->n_comms += i == 0 || compare(&row[i - 1], &row[i]) != 0;
        s->comm[row[i].index] = s->n_comms - 1;
    }
    return 0;
}

/* The lists of both sides of each communicator, empty, with room for their messages. */
static int make_lists(struct search *s, struct ty_arena *arena)
{
    const struct ty_program *p = s->p;
    struct ty_op_ref *rows = ty_arena_array(arena, struct ty_op_ref, (size_t)s->all.n + 1);
    s->sends = ty_arena_array(arena, struct list, (size_t)s->n_comms + 1);
    s->recvs = ty_arena_array(arena, struct list, (size_t)s->n_comms + 1);
    s->sent = ty_arena_array(arena, struct ty_op_ref, (size_t)p->n_slots + 1);
    s->taken = ty_arena_array(arena, struct ty_op_ref, (size_t)p->n_slots + 1);
    if (rows == NULL || s->sends == NULL || s->recvs == NULL || s->sent == NULL ||
        s->taken == NULL) {
        return TY_ENOMEM;
    }
    memset(s->sent, 0xff, p->n_slots * sizeof(*s->sent)); /* NOBODY */
    memset(s->taken, 0xff, p->n_slots * sizeof(*s->taken));
    for (uint32_t i = 0; i < s->all.n; i++) {
        const struct ty_op *op = ty_op_ref_op(p, s->all.at[i]);
        if (op->sync != TY_SYNC_MEET) {
            (op->sync == TY_SYNC_SEND ? s->sends : s->recvs)[s->comm[op->link]].n++;
        }
    }
    for (uint32_t c = 0; c < s->n_comms; c++) {
        s->sends[c].at = rows;
        s->recvs[c].at = rows + s->sends[c].n;
        rows += s->sends[c].n + s->recvs[c].n;
        s->sends[c].n = s->recvs[c].n = 0;
    }
    return 0;
}

/* Deals the messages out to both sides of their communicators; notes those issued twice. */
static int deal(struct search *s, struct ty_arena *arena)
{
    const int rc = make_lists(s, arena);
    for (uint32_t i = 0; i < s->all.n && rc == 0; i++) {
        const struct ty_op_ref at = s->all.at[i];
        const struct ty_op *op = ty_op_ref_op(s->p, at);
        if (op->sync == TY_SYNC_MEET) {
            continue;
        }
        const bool send = op->sync == TY_SYNC_SEND;
        struct ty_op_ref *before = &(send ? s->sent : s->taken)[slot_of(s, at)];
        struct list *list = &(send ? s->sends : s->recvs)[s->comm[op->link]];
        list->at[list->n++] = at;
        if (before->gang != NOBODY) {
            note(s, TY_DISAGREE_REPEATED, list->n, *before, at, send ? TY_BAR_SEND : TY_BAR_RECV);
        } else {
            *before = at;
        }
    }
    return rc;
}

/* Of all members together, as gangs may be of different size. */
static double bytes_of_all(const struct search *s, struct ty_op_ref at)
{
    return kind_of(s, at)->bytes * s->p->gangs[at.gang].n_ranks;
}

/* The first disagreement of one communicator. Messages of a trace have tags, which say which
 * receive a send is for, whatever the order. */
static void compare_sides(struct search *s, uint32_t comm)
{
    const struct list *sends = &s->sends[comm], *recvs = &s->recvs[comm];
    uint32_t i = 0, k = 0;
    while (i < sends->n) {
        const struct ty_op_ref send = sends->at[i];
        if (s->taken[slot_of(s, send)].gang == NOBODY) {
            note(s, TY_DISAGREE_UNRECEIVED, i + 1, send, send, TY_BAR_SEND);
            return;
        }
        while (k < recvs->n && s->sent[slot_of(s, recvs->at[k])].gang == NOBODY) {
            k++; /* a deadlock */
        }
        if (k == recvs->n) {
            return; /* repeated sends, noted already */
        }
        const struct ty_op_ref recv = s->p->traced ? s->taken[slot_of(s, send)] : recvs->at[k];
        if (slot_of(s, recv) != slot_of(s, send)) {
            note(s, TY_DISAGREE_ORDER, i + 1, send, recv, TY_BAR_RECV);
            return;
        }
        const double out = bytes_of_all(s, send), in = bytes_of_all(s, recv);
        if (fabs(out - in) > ROUNDING * out) {
            note(s, TY_DISAGREE_SIZE, i + 1, send, recv, TY_BAR_RECV);
            return;
        }
        i++;
        k++;
    }
}

/* ---- meetings ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_collective(const struct ty_kind *a, const struct ty_kind *b)
{
    return same_text(a->name, b->name) && same_text(a->group, b->group) && a->ranks == b->ranks &&
           !(a->bytes < b->bytes || a->bytes > b->bytes);
}

/* Number of a collective among those of its communicator on its own gang, from 1. */
static uint32_t number_of(const struct search *s, struct ty_op_ref issue)
{
    const char *name = s->p->meets[ty_op_ref_op(s->p, issue)->link].name;
    uint32_t n = 0;
    for (uint32_t i = s->first_of[issue.gang]; i < s->first_of[issue.gang + 1]; i++) {
        const struct ty_op_ref at = s->all.at[i];
        const struct ty_op *op = ty_op_ref_op(s->p, at);
        n += op->sync == TY_SYNC_MEET && same_text(s->p->meets[op->link].name, name);
        if (at.pass == issue.pass && at.op == issue.op) {
            break;
        }
    }
    return n;
}

/* How two gangs differ about one meeting. */
static enum ty_disagreement difference(const struct search *s, struct ty_op_ref a,
                                       struct ty_op_ref b)
{
    const struct ty_kind *want = kind_of(s, a);
    const char *name = s->p->meets[ty_op_ref_op(s->p, a)->link].name;
    for (uint32_t i = s->first_of[b.gang]; i < s->first_of[b.gang + 1]; i++) {
        const struct ty_op_ref at = s->all.at[i];
        const struct ty_op *op = ty_op_ref_op(s->p, at);
        const bool later = at.pass > b.pass || (at.pass == b.pass && at.op > b.op);
        if (later && op->sync == TY_SYNC_MEET && same_text(s->p->meets[op->link].name, name) &&
            same_collective(want, kind_of(s, at))) {
            return TY_DISAGREE_SWAPPED;
        }
    }
    return same_text(want->name, kind_of(s, b)->name) ? TY_DISAGREE_BYTES : TY_DISAGREE_KIND;
}

/* The next meeting of gang g from *i on that bears the stamp; NULL: none. */
static const struct ty_op_ref *next_shared(const struct search *s, uint32_t g, uint32_t *i,
                                           const uint32_t *mark, uint32_t stamp)
{
    for (; *i < s->first_of[g + 1]; ++*i) {
        const struct ty_op_ref *at = &s->all.at[*i];
        if (ty_op_ref_op(s->p, *at)->sync == TY_SYNC_MEET && mark[slot_of(s, *at)] == stamp) {
            return at;
        }
    }
    return NULL;
}

static void stamp_meets(const struct search *s, uint32_t g, uint32_t *mark, uint32_t from,
                        uint32_t to)
{
    for (uint32_t i = s->first_of[g]; i < s->first_of[g + 1]; i++) {
        if (ty_op_ref_op(s->p, s->all.at[i])->sync == TY_SYNC_MEET) {
            uint32_t *slot = &mark[slot_of(s, s->all.at[i])];
            *slot = *slot == from ? to : *slot;
        }
    }
}

/* Two gangs must come to the meetings that they share in one order, each of them once, with one
 * mind. mark[n_slots]: 0, or a stamp of an earlier pair. */
static void compare_gangs(struct search *s, uint32_t g, uint32_t h, uint32_t *mark)
{
    uint32_t i = s->first_of[g], k = s->first_of[h], nth = 0;
    stamp_meets(s, g, mark, 0, 1);
    stamp_meets(s, h, mark, 1, 2);
    for (;; i++, k++) {
        const struct ty_op_ref *a = next_shared(s, g, &i, mark, 2);
        const struct ty_op_ref *b = next_shared(s, h, &k, mark, 2);
        nth++;
        if (a == NULL || b == NULL) {
            break;
        }
        if (slot_of(s, *a) != slot_of(s, *b)) {
            note(s, TY_DISAGREE_CROSSED, nth, *a, *b, TY_BAR_MEET);
            s->out->barred[slot_of(s, *a)] |= TY_BAR_MEET;
            break;
        }
        if (!same_collective(kind_of(s, *a), kind_of(s, *b))) {
            note(s, difference(s, *a, *b), number_of(s, *a), *a, *b, TY_BAR_MEET);
            break;
        }
    }
    stamp_meets(s, h, mark, 2, 0);
    stamp_meets(s, g, mark, 1, 0);
}

/* Every gang against the first one at each of its meetings: agreement is transitive. */
static int compare_meetings(struct search *s, struct ty_arena *arena)
{
    uint32_t *mark = ty_arena_array(arena, uint32_t, (size_t)s->p->n_slots + 1);
    uint32_t *seen =
        ty_arena_array(arena, uint32_t, (size_t)s->p->n_gangs + 1); /* by gang g, of h */
    if (mark == NULL || seen == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t h = 0; h < s->p->n_gangs; h++) {
        for (uint32_t i = s->first_of[h]; i < s->first_of[h + 1]; i++) {
            const struct ty_op_ref at = s->all.at[i];
            if (ty_op_ref_op(s->p, at)->sync != TY_SYNC_MEET) {
                continue;
            }
            struct ty_op_ref *first = &s->taken[slot_of(s, at)];
            if (first->gang == NOBODY) {
                *first = at;
            } else if (first->gang == h) {
                note(s, TY_DISAGREE_REPEATED, ty_op_ref_pass(s->p, at)->step + 1u, *first, at,
                     TY_BAR_MEET);
            } else if (seen[first->gang] != h) {
                seen[first->gang] = h;
                compare_gangs(s, first->gang, h, mark);
            }
        }
    }
    return 0;
}

/* The first member of a meeting that never issues it; NOBODY: all do. */
static uint32_t absent_from(const struct search *s, struct ty_op_ref at)
{
    const struct ty_meet *meet = &s->p->meets[ty_op_ref_op(s->p, at)->link];
    for (uint32_t i = 0; i < meet->n_gangs; i++) {
        const uint32_t g = meet->gangs[i];
        uint32_t k = s->first_of[g];
        while (k < s->first_of[g + 1] && (ty_op_ref_op(s->p, s->all.at[k])->sync != TY_SYNC_MEET ||
                                          slot_of(s, s->all.at[k]) != slot_of(s, at))) {
            k++;
        }
        if (k == s->first_of[g + 1]) {
            return g;
        }
    }
    return NOBODY;
}

/* Each gang's first meeting that lacks members, as number in `all`; NOBODY: none. Only where a
 * meeting says who they are. */
static uint32_t *first_lacking(const struct search *s, struct ty_arena *arena)
{
    uint32_t *came = ty_arena_array(arena, uint32_t, (size_t)s->p->n_slots + 1);
    uint32_t *first = ty_arena_array(arena, uint32_t, (size_t)s->p->n_gangs + 1);
    if (came == NULL || first == NULL) {
        return NULL;
    }
    memset(first, 0xff, s->p->n_gangs * sizeof(*first));
    for (uint32_t i = 0; i < s->all.n; i++) {
        came[slot_of(s, s->all.at[i])] += ty_op_ref_op(s->p, s->all.at[i])->sync == TY_SYNC_MEET;
    }
    for (uint32_t i = s->all.n; i > 0; i--) {
        const struct ty_op_ref at = s->all.at[i - 1];
        const struct ty_op *op = ty_op_ref_op(s->p, at);
        if (op->sync == TY_SYNC_MEET && s->p->meets[op->link].gangs != NULL &&
            came[slot_of(s, at)] < s->p->meets[op->link].n_gangs) {
            first[at.gang] = i - 1;
        }
    }
    return first;
}

/* A member that does not come, and issues instead what others do not come to, means another group.
 * (One that issues nothing instead is a deadlock.) The first one only: what follows it on either
 * side is out of step. */
static int compare_groups(struct search *s, struct ty_arena *arena)
{
    const uint32_t *first = first_lacking(s, arena);
    for (uint32_t g = 0; first != NULL && g < s->p->n_gangs; g++) {
        const uint32_t absent = first[g] == NOBODY ? NOBODY : absent_from(s, s->all.at[first[g]]);
        if (absent != NOBODY && first[absent] != NOBODY) {
            const struct ty_op_ref a = s->all.at[first[g]], b = s->all.at[first[absent]];
            note(s, TY_DISAGREE_GROUP, number_of(s, a), a, b, TY_BAR_MEET);
            s->out->barred[slot_of(s, a)] |= TY_BAR_MEET;
            break;
        }
    }
    return first == NULL ? TY_ENOMEM : 0;
}

/* ---- the whole ---- */

int ty_mismatch_find(struct ty_mismatch *out, const struct ty_program *p, struct ty_arena *arena,
                     struct ty_err *err)
{
    struct search s = {.p = p, .out = out, .arena = arena};
    *out = (struct ty_mismatch){.barred = ty_arena_array(arena, uint8_t, (size_t)p->n_slots + 1)};
    int rc = out->barred == NULL ? TY_ENOMEM : list_all(&s, arena);
    if (rc == 0) {
        rc = number_comms(&s, arena);
    }
    if (rc == 0) {
        rc = deal(&s, arena);
    }
    for (uint32_t c = 0; rc == 0 && c < s.n_comms; c++) {
        compare_sides(&s, c);
    }
    if (rc == 0) {
        rc = compare_meetings(&s, arena);
    }
    if (rc == 0) {
        rc = compare_groups(&s, arena);
    }
    return rc < 0 || s.code < 0 ? ty_fail_memory(err) : 0;
}
