/* chrome_flows.c - arrows from sends to receives.
 *
 * An arrow leaves one nanosecond before the send ends (at the end it would bind to the slice that
 * follows) and arrives at the start of the receive, bound to the enclosing slice. Both slices must
 * be in the file, with a length. The id is the slot of the message and the member: unique, known
 * without a table. */
#include "traces/chrome.h"

/* Where a message leaves or arrives: a pass of the program and an operation of its block. */
struct end {
    uint32_t pass, op;
};

/* One end of a flow on one gang: rows of starts and durations. */
struct side {
    const struct ty_chrome_cast *cast;
    const ty_ps *starts, *durs;
    ty_ps dur;
    uint32_t tid;
};

static void index_ends(const struct ty_chrome *c, struct end *sends, struct end *recvs)
{
    const struct ty_program *p = c->program;
    for (uint32_t i = 0; i < p->n_passes; i++) {
        const struct ty_pass *pass = &p->passes[i];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            const bool message = ops[k].sync == TY_SYNC_SEND || ops[k].sync == TY_SYNC_RECV;
            if (message && ty_chrome_shows(c->trace->detail, &ops[k])) {
                struct end *ends = ops[k].sync == TY_SYNC_SEND ? sends : recvs;
                ends[ty_op_slot(p, pass, &ops[k])] = (struct end){i, k};
            }
        }
    }
}

static struct side side_of(const struct ty_chrome *c, uint32_t gang, const struct end *end)
{
    const struct ty_pass *pass = &c->program->passes[end->pass];
    const struct ty_op *op = &ty_pass_ops(c->program, pass)[end->op];
    const uint64_t ordinal = (uint64_t)pass->first_op + end->op;
    struct side side = {.cast = &c->casts[gang], .tid = ty_chrome_tid(op->stream)};
    side.starts = ty_timeline_starts(c->timeline, side.cast->gang, ordinal);
    side.durs = ty_chrome_durations(c, side.cast->gang, op, ordinal, &side.dur);
    return side;
}

static bool clip_side(const struct ty_chrome *c, const struct side *side, uint32_t member,
                      uint64_t *s, uint64_t *e)
{
    const ty_ps start = side->starts[member];
    return ty_chrome_clip(c, start, start + (side->durs != NULL ? side->durs[member] : side->dur),
                          s, e);
}

/* `,\n{"name":"act 3","cat":"p2p",`: the part that both events of all members share. */
static size_t put_head(const struct ty_channel *channel, uint16_t mb, char head[TY_CHROME_LINE])
{
    char *p = ty_put_str(head, ",\n{\"name\":\"");
    p = ty_chrome_put_name(p, channel->name, TY_CHROME_NAME);
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
    p = ty_put_u64(p, TY_CHROME_PID0 + (uint64_t)side->cast->gang->rank_of[member]);
    p = ty_put_str(p, ",\"tid\":");
    p = ty_put_u64(p, side->tid);
    p = ty_put_str(p, ",\"ts\":");
    p = ty_put_ns_as_us(p, ns);
    *p++ = '}';
    ty_out_advance(c->out, p);
}

static void put_message(struct ty_chrome *c, const struct ty_channel *channel, uint32_t slot,
                        const struct end *send, const struct end *recv)
{
    char head[TY_CHROME_LINE];
    const struct side from = side_of(c, channel->from, send);
    const struct side to = side_of(c, channel->to, recv);
    const struct ty_pass *pass = &c->program->passes[send->pass];
    const size_t n =
        put_head(channel, ty_op_mb(pass, &ty_pass_ops(c->program, pass)[send->op]), head);
    for (uint32_t i = 0; i < from.cast->n; i++) {
        const uint32_t m = from.cast->member[i];
        uint64_t s, e, s2, e2;
        if (to.cast->slot[m] == TY_CHROME_NONE || !clip_side(c, &from, m, &s, &e) ||
            !clip_side(c, &to, m, &s2, &e2)) {
            continue;
        }
        const uint64_t id = (uint64_t)slot * c->program->slot_width + m + 1;
        put_event(c, head, n, id, ",\"ph\":\"s\",\"pid\":", &from, m, e - 1);
        put_event(c, head, n, id, ",\"ph\":\"f\",\"bp\":\"e\",\"pid\":", &to, m, s2);
    }
}

int ty_chrome_flows(struct ty_chrome *c)
{
    const struct ty_program *p = c->program;
    struct end *ends = ty_arena_array(&c->arena, struct end, 2 * (size_t)p->n_slots);
    if (ends == NULL) {
        return TY_ENOMEM;
    }
    for (size_t i = 0; i < 2 * (size_t)p->n_slots; i++) {
        ends[i].pass = TY_CHROME_NONE;
    }
    struct end *sends = ends, *recvs = ends + p->n_slots;
    index_ends(c, sends, recvs);
    for (uint32_t i = 0; i < p->n_channels; i++) {
        const struct ty_channel *channel = &p->channels[i];
        for (uint32_t seq = 0; seq < channel->n_seq; seq++) {
            const uint32_t slot = channel->first_slot + seq;
            if (sends[slot].pass != TY_CHROME_NONE && recvs[slot].pass != TY_CHROME_NONE) {
                put_message(c, channel, slot, &sends[slot], &recvs[slot]);
            }
        }
    }
    return 0;
}
