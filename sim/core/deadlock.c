/* deadlock.c - who waits for what, in words. */
#include "sim/core/deadlock.h"

#include <stdio.h>

/* "backward 3" of a pass. */
static void pass_words(const struct ty_pass *pass, char *buf, size_t size)
{
    if (pass->phase == TY_PHASE_STEP) {
        snprintf(buf, size, "%s", ty_phase_word(TY_PHASE_STEP));
        return;
    }
    snprintf(buf, size, "%s %u", ty_phase_word((enum ty_phase)pass->phase), (unsigned)pass->mb);
}

/* True when the gang still has to issue the send of this message. */
static bool will_send(const struct ty_program *p, uint32_t gang, const struct ty_stop *stop,
                      uint16_t channel, uint32_t seq)
{
    const struct ty_gang *g = &p->gangs[gang];
    for (uint32_t i = stop[gang].pass; i < g->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, g)[i];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            if (ops[k].sync == TY_SYNC_SEND && ops[k].link == channel &&
                ty_op_seq(pass, &ops[k]) == seq) {
                return true;
            }
        }
    }
    return false;
}

static void reason(const struct ty_program *p, const struct ty_stop *stop, const uint32_t *arrived,
                   const struct ty_pass *pass, const struct ty_op *op, char *buf, size_t size)
{
    if (op->sync == TY_SYNC_RECV) {
        const struct ty_channel *c = &p->channels[op->link];
        const char *from = p->gangs[c->from].name;
        const bool later = will_send(p, c->from, stop, op->link, ty_op_seq(pass, op));
        snprintf(buf, size, "message %s %u of %s, %s", c->name, (unsigned)ty_op_mb(pass, op), from,
                 later ? "which stands behind what it waits for itself" : "which is never sent");
    } else if (op->sync == TY_SYNC_MEET) {
        const uint32_t slot = ty_op_slot(p, pass, op);
        snprintf(buf, size, "%s: %u of %u gangs have arrived", p->meets[op->link].name,
                 (unsigned)arrived[slot], (unsigned)p->meets[op->link].n_gangs);
    } else {
        snprintf(buf, size, "an operation that stands behind one that cannot start");
    }
}

int ty_deadlock_report(const struct ty_program *p, const struct ty_stop *stop,
                       const uint32_t *arrived, struct ty_err *err)
{
    uint32_t stuck = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        stuck += stop[g].pass < p->gangs[g].n_passes;
    }
    ty_fail(err, TY_EDEADLOCK, "deadlock: %u of %u gangs of ranks can never finish",
            (unsigned)stuck, (unsigned)p->n_gangs);
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        if (stop[g].pass >= gang->n_passes) {
            continue;
        }
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[stop[g].pass];
        const struct ty_op *op = &ty_pass_ops(p, pass)[stop[g].op];
        char what[64], why[256];
        pass_words(pass, what, sizeof(what));
        reason(p, stop, arrived, pass, op, why, sizeof(why));
        ty_fail(err, TY_EDEADLOCK, "%s (rank %u%s), %s, %s stream, %s: waits for %s", gang->name,
                (unsigned)gang->rank_of[0], gang->n_ranks > 1 ? " and its gang" : "", what,
                ty_stream_name((enum ty_stream)op->stream), p->kinds[op->kind].name, why);
    }
    return TY_EDEADLOCK;
}
