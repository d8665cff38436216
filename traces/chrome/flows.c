/* flows.c - arrows from sends to receives.
 *
 * An arrow leaves one nanosecond before the send ends (at the end it would bind to the slice that
 * follows) and arrives at the start of the receive, bound to the enclosing slice. Both slices must
 * be in the file, with a length. */
#include "sim/core/program/peers.h"
#include "traces/chrome/chrome.h"

/* One end of a flow on one gang. */
struct side {
    const struct ty_view_shown *shown;
    struct ty_view_extent extent;
    uint32_t tid;
};

static struct side side_of(const struct ty_chrome *c, uint32_t gang, const struct ty_view_end *end)
{
    const struct ty_program *p = c->view.program;
    const struct ty_op *op = &ty_pass_ops(p, &p->passes[end->pass])[end->op];
    return (struct side){.shown = &c->view.shown[gang],
                         .extent = ty_view_end_extent(&c->view, gang, end),
                         .tid = p->words->streams[op->stream].tid};
}

static bool clip_side(const struct ty_chrome *c, const struct side *side, uint32_t member,
                      uint64_t *s, uint64_t *e)
{
    return ty_view_clip(&c->view, side->extent.start[member],
                        ty_view_extent_end(&side->extent, member), s, e);
}

/* `,\n{"name":"act 3","cat":"p2p",`: the part that both events of all members share. */
static size_t put_head(const struct ty_channel *channel, uint16_t mb, char head[TY_CHROME_LINE])
{
    char *p = ty_put_str(head, ",\n{\"name\":\"");
    p = ty_view_put_name(p, channel->name, TY_VIEW_NAME);
    *p++ = ' ';
    p = ty_put_u64(p, mb);
    return (size_t)(ty_put_str(p, "\",\"cat\":\"p2p\",\"id\":") - head);
}

static void put_event(struct ty_chrome *c, const char *head, size_t n, uint64_t id, const char *ph,
                      const struct side *side, uint32_t member, uint64_t ns)
{
    char *p = ty_out_room(c->out, TY_CHROME_LINE);
    p = ty_put_blocks(p, head, n);
    p = ty_put_u64(p, id);
    p = ty_put_str(p, ph);
    p = ty_put_u64(p, TY_CHROME_PID0 + (uint64_t)side->shown->gang->rank_of[member]);
    p = ty_put_str(p, ",\"tid\":");
    p = ty_put_u64(p, side->tid);
    p = ty_put_str(p, ",\"ts\":");
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

/* From a member to one of those it sends to: the time of the slot numbers the arrow. */
static void put_arrow(struct ty_chrome *c, const char *head, size_t n, uint64_t id,
                      const struct side *from, uint32_t sender, const struct side *to,
                      uint32_t receiver)
{
    uint64_t s, e, s2, e2;
    if (to->shown->slot[receiver] == TY_VIEW_NONE || !clip_side(c, from, sender, &s, &e) ||
        !clip_side(c, to, receiver, &s2, &e2)) {
        return;
    }
    put_event(c, head, n, id, ",\"ph\":\"s\",\"pid\":", from, sender, e - 1);
    put_event(c, head, n, id, ",\"ph\":\"f\",\"bp\":\"e\",\"pid\":", to, receiver, s2);
}

static void put_message(struct ty_chrome *c, const struct ty_channel *channel, uint32_t slot,
                        const struct ty_view_end *send, const struct ty_view_end *recv)
{
    char head[TY_CHROME_LINE];
    const struct side from = side_of(c, channel->from, send);
    const struct side to = side_of(c, channel->to, recv);
    const struct ty_pass *pass = &c->view.program->passes[send->pass];
    const size_t n =
        put_head(channel, ty_op_mb(pass, &ty_pass_ops(c->view.program, pass)[send->op]), head);
    const uint32_t senders = from.shown->gang->n_ranks, receivers = to.shown->gang->n_ranks;
    const uint32_t wide = senders > receivers ? senders : receivers;
    for (uint32_t i = 0; i < from.shown->n; i++) {
        const struct ty_peers times = ty_peers_of(from.shown->member[i], senders, wide);
        for (uint32_t k = times.first; k < times.first + times.n; k++) {
            put_arrow(c, head, n, (uint64_t)slot * c->view.program->slot_width + k + 1, &from,
                      from.shown->member[i], &to, k / (wide / receivers));
        }
    }
}

int ty_chrome_flows(struct ty_chrome *c)
{
    const struct ty_program *p = c->view.program;
    struct ty_view_ends ends;
    if (ty_view_ends(&c->view, &ends) != 0) {
        return TY_ENOMEM;
    }
    for (uint32_t i = 0; i < p->n_channels; i++) {
        const struct ty_channel *channel = &p->channels[i];
        for (uint32_t seq = 0; seq < channel->n_seq; seq++) {
            const uint32_t slot = channel->first_slot + seq;
            if (ends.send[slot].pass != TY_VIEW_NONE && ends.recv[slot].pass != TY_VIEW_NONE) {
                put_message(c, channel, slot, &ends.send[slot], &ends.recv[slot]);
            }
        }
    }
    return 0;
}
