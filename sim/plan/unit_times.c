/* unit_times.c - a clock that hears how a unit is issued (model/issue) and knows when each
 * operation ends at the earliest.
 *
 * The clock starts when the last computation before the unit ends and what the unit receives is
 * there. A collective that waits for neither, before anything is computed, may be over by then: it
 * takes no time. */
#include "sim/plan/unit_times.h"

#include <assert.h>
#include <math.h>

#include "model/issue/issue.h"

static const uint8_t stream_of[TY_N_COMM_GROUPS] = {
#define X(id, name, stream, category) [TY_GROUP_##id] = TY_STREAM_##stream,
    TY_COMM_GROUPS(X)
#undef X
};

struct clock {
    struct ty_issuer issuer;
    const struct ty_unit_play *play;
    double compute; /* when the computation issued last ends */
    double bare;    /* all computation so far */
    double stream[TY_N_STREAMS], event[TY_EVENTS];
    bool late; /* collectives before the first computation were over long ago */
    /* Collectives of tensor ranks that were issued since the last computation: those that record
     * `beside_event`, and what they take. */
    uint8_t beside_event;
    double beside;
};

/* When all events are there that the next computation waits for, and the one before is over. */
static double needed(const struct clock *c)
{
    double at = c->compute;
    for (uint32_t i = 0; i < c->issuer.n_need; i++) {
        at = fmax(at, c->event[c->issuer.need[i]]);
    }
    return at;
}

/* Whether the next computation waits for nothing that is recorded behind the collectives beside it
 * on their stream, or on another: then none of them begins before it. */
static bool begins_first(const struct clock *c)
{
    bool first = true;
    for (uint32_t i = 0; i < c->issuer.n_need; i++) {
        const uint8_t event = c->issuer.need[i];
        first = first && event != c->beside_event &&
                (event == TY_EVENT_TENSOR || event == TY_EVENT_REGATHER);
    }
    return first;
}

/* A computation of `ps` from `start` on and the collectives beside it, none of which begins before
 * it, are both over by the time that their event stands for, as whoever waits for that waits for
 * the computation, too. With s lost beside them, D the time of the computation and T that of both,
 * D >= ps + s (beside + D - T) and T >= D, so that T >= ps + s beside, wherever they lie. Durations
 * are rounded twice. */
static void join(struct clock *c, double start, double ps)
{
    const double end = start + ps + floor(c->play->slows * c->beside) - 2;
    c->event[c->beside_event] = fmax(c->event[c->beside_event], end);
    c->stream[TY_STREAM_TENSOR] = fmax(c->stream[TY_STREAM_TENSOR], end);
}

static void compute(void *to, uint32_t i, enum ty_op_pass pass, uint32_t nth)
{
    struct clock *c = to;
    const struct ty_op_times *times = &c->play->op[i];
    const double ps = nth == 0 ? times->ps[pass] : times->next[pass];
    if (nth == 0 && ps <= 0 && c->play->ops->op[i].pieces.n > 0) {
        return; /* pieces leave nothing */
    }
    const double start = needed(c);
    assert(ps >= 0 && start >= c->compute);
    c->compute = start + ps;
    c->bare += ps;
    if (c->beside > 0 && begins_first(c)) {
        join(c, start, ps);
    }
    c->beside = 0;
    c->issuer.n_need = 0;
}

static void collective(void *to, const struct ty_issuer_comm *comm)
{
    struct clock *c = to;
    const bool early = c->bare <= 0; /* nothing has been computed yet */
    double ps = c->play->comm[comm->op][comm->slot], ready = c->compute;
    if (comm->after == TY_AFTER_COMPUTE && early) {
        return;
    }
    if (comm->after == TY_AFTER_NOTHING) {
        ready = 0;
    } else if (comm->after == TY_AFTER_INPUT && ty_layout_is_mesh(c->issuer.layout)) {
        ready = needed(c);
    }
    double *stream = &c->stream[stream_of[comm->group]];
    ps = c->late && early && (comm->after != TY_AFTER_NOTHING || *stream <= 0) ? 0 : ps;
    assert(ps >= 0 && comm->record < TY_EVENTS);
    *stream = fmax(*stream, ready) + ps;
    c->event[comm->record] = *stream;
    if (comm->group == TY_GROUP_TENSOR && comm->slot >= TY_COMM_PLACE) { /* copies slow nothing */
        c->beside = ps + (comm->record == c->beside_event ? c->beside : 0);
        c->beside_event = comm->record;
    }
}

/* ---- passes ---- */

static struct clock clock_of(const struct ty_unit_play *play, bool late)
{
    static const struct ty_issuer_sink sink = {.compute = compute, .collective = collective};
    return (struct clock){
        .issuer = {.sink = &sink, .layout = play->layout}, .play = play, .late = late};
}

static struct ty_unit_time time_of(const struct clock *c)
{
    return (struct ty_unit_time){.through = needed(c), .busy = c->compute, .bare = c->bare};
}

/* Parts of a unit in forward order. */
static uint32_t list_parts(const struct ty_unit_ops *ops, enum ty_part part[2])
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < ops->n; i++) {
        if (i == 0 || ops->op[i].part != ops->op[i - 1].part) {
            assert(n < 2);
            part[n++] = ops->op[i].part;
        }
    }
    return n;
}

static struct ty_unit_time backwards(const struct ty_unit_play *play, ty_issuer_part_fn *issue)
{
    struct clock c = clock_of(play, false);
    enum ty_part part[2];
    c.issuer.to = &c;
    for (uint32_t n = list_parts(play->ops, part); n > 0; n--) {
        issue(&c.issuer, play->ops, part[n - 1]);
    }
    return time_of(&c);
}

static void time_parts(const struct ty_unit_play *play, struct ty_part_time *out)
{
    struct clock all = clock_of(play, false);
    enum ty_part part[2];
    double begin = 0;
    all.issuer.to = &all;
    for (uint32_t n = list_parts(play->ops, part); n > 0; n--) {
        struct clock late = clock_of(play, true);
        late.issuer.to = &late;
        ty_issuer_backward(&late.issuer, play->ops, part[n - 1]);
        ty_issuer_backward(&all.issuer, play->ops, part[n - 1]);
        out[n - 1] = (struct ty_part_time){.through = needed(&all) - begin,
                                           .busy = all.compute - begin,
                                           .late_through = needed(&late),
                                           .late_busy = late.compute};
        begin = needed(&all);
    }
}

void ty_unit_times(const struct ty_unit_play *play, struct ty_unit_times *out)
{
    struct clock c = clock_of(play, false);
    enum ty_part part[2];
    const uint32_t n = list_parts(play->ops, part);
    c.issuer.to = &c;
    for (uint32_t i = 0; i < n; i++) {
        ty_issuer_forward(&c.issuer, play->ops, part[i]);
    }
    out->forward = time_of(&c);
    out->backward = backwards(play, ty_issuer_backward);
    out->input = backwards(play, ty_issuer_input);
    out->weight = backwards(play, ty_issuer_weight);
    time_parts(play, out->part);
}
