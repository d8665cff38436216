/* mismatch_say.c - what partners mean differently, in words. */
#include <stdio.h>

#include "sim/core/deadlock/mismatch.h"

/* "stage 0 (ranks 0-7) sends act of micro-batch 3 (32 MiB, group pp) in forward 3" */
static char *say_side(const struct ty_program *p, struct ty_op_ref at, char *buf, size_t size)
{
    char gang[TY_SAY], what[TY_SAY], where[TY_SAY];
    static const char *const verbs[] = {
        [TY_SYNC_MEET] = "issues", [TY_SYNC_SEND] = "sends", [TY_SYNC_RECV] = "receives"};
    const struct ty_op *op = ty_op_ref_op(p, at);
    const struct ty_pass *pass = ty_op_ref_pass(p, at);
    snprintf(buf, size, "%s %s %s in %s", ty_say_gang(p, at.gang, gang), verbs[op->sync],
             ty_say_op(p, pass, op, what), ty_say_pass(p, pass, where));
    return buf;
}

char *ty_mismatch_say(const struct ty_program *p, const struct ty_finding *f,
                      char buf[TY_MISMATCH_TEXT])
{
    static const char *const ends[] = {
        [TY_DISAGREE_ORDER] = "; messages between two ranks are matched in the order of issue",
        [TY_DISAGREE_SIZE] = "; both sides must mean equally many bytes",
        [TY_DISAGREE_UNRECEIVED] = ", which is never received",
        [TY_DISAGREE_REPEATED] = " again",
        [TY_DISAGREE_KIND] = "; all members must issue the same collective",
        [TY_DISAGREE_SWAPPED] = "; collectives must be issued in the same order by all members",
        [TY_DISAGREE_BYTES] = "; all members must mean equally many bytes",
        [TY_DISAGREE_CROSSED] = "; collectives must be issued in the same order by all members",
        [TY_DISAGREE_GROUP] = "; all members must name the same group",
    };
    const struct ty_op *op = ty_op_ref_op(p, f->b);
    const bool one = f->what == TY_DISAGREE_UNRECEIVED || f->what == TY_DISAGREE_REPEATED;
    char a[4 * TY_SAY], b[4 * TY_SAY], where[TY_SAY];
    if (op->sync == TY_SYNC_MEET) {
        const char *name = p->meets[ty_op_ref_op(p, f->a)->link].name;
        snprintf(where, sizeof(where), "collective %u of %.80s", (unsigned)f->nth,
                 f->what == TY_DISAGREE_CROSSED ? "those that two stages share" : name);
    } else {
        const struct ty_channel *c = &p->channels[op->link];
        snprintf(where, sizeof(where), "message %u of %.40s from %.40s to %.40s", (unsigned)f->nth,
                 c->name, p->gangs[c->from].name, p->gangs[c->to].name);
    }
    snprintf(buf, TY_MISMATCH_TEXT, "%s: %s%s%s%s", where,
             say_side(p, f->what == TY_DISAGREE_REPEATED ? f->b : f->a, a, sizeof(a)),
             one ? "" : ", ", one ? "" : say_side(p, f->b, b, sizeof(b)), ends[f->what]);
    return buf;
}
