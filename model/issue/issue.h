/* issue.h - the order in which a rank issues the kernels and collectives of a unit.
 *
 * The order is written once, in unit.c, and told to a sink. model/lower is the sink that appends
 * operations to a program; sim/plan is the sink that keeps a clock (sim/plan/clock.c) and so knows
 * the least time that a unit takes. Neither knows an order of its own.
 *
 * A sink hears of an operator by its number in the list of its unit, of a kernel by the pass of the
 * operator (enum ty_op_pass), of a collective by its slot (model/price/price.h).
 * Computation runs on one stream, collectives on those of their groups, each in the order of issue.
 * Across streams operations wait for events (events.h): a kernel for all events in `need`, which
 * it takes out of the list; a collective for what enum ty_issuer_after says. */
#ifndef TY_ISSUE_H
#define TY_ISSUE_H

#include "model/issue/events.h"
#include "model/price/price.h"

/* What a collective waits for besides those before it on its stream. */
enum ty_issuer_after {
    TY_AFTER_NOTHING,
    TY_AFTER_COMPUTE, /* all computation so far, and `behind` */
    TY_AFTER_INPUT    /* all computation so far, and what the next computation needs of it: what the
                       * pass has received; between ranks of a grid everything */
};

struct ty_issuer_comm {
    uint32_t op, slot;
    uint8_t group; /* enum ty_comm_group */
    uint8_t after;
    uint8_t behind; /* an event; TY_NO_EVENT: none */
    uint8_t record; /* an event */
};

struct ty_issuer_sink {
    /* A kernel, in a round or a piece: nth = 0 is the first round, the rest of an operator in
     * pieces, or all of it, others are further rounds or any piece. Empties `need`. A rest that
     * does not exist is left out. */
    void (*compute)(void *to, uint32_t op, enum ty_op_pass pass, uint32_t nth);
    void (*collective)(void *to, const struct ty_issuer_comm *comm);
    /* Woven passes: the collectives just issued are to be hidden by what the other half issues. */
    void (*hide)(void *to);
};

/* A unit, or several of a pass, being issued. */
struct ty_issuer {
    const struct ty_issuer_sink *sink;
    void *to; /* the sink's */
    const struct ty_layout *layout;
    const struct ty_unit_ops *ops;
    bool woven;  /* one half of a woven pair (lower/pair.c): weight gradients are put off, ... */
    bool second; /* ... and with events of its own */
    uint8_t need[TY_EVENTS]; /* [n_need] events that the next computation waits for, as recorded */
    uint32_t n_need;
    struct {
        uint32_t op, gathered; /* gathered: events that it waits for, bits */
    } weight[TY_UNIT_OPS];     /* [n_weights] gradients that were put off */
    uint32_t n_weights;
};

/* The event by which the half at hand records or awaits `event`. */
static inline uint8_t ty_issuer_event(const struct ty_issuer *is, uint8_t event)
{
    return is->second && event < TY_EVENT_HALF ? event + TY_EVENT_HALF : event;
}
/* The next computation waits for `event`, as last recorded when it is issued. */
void ty_issuer_need(struct ty_issuer *is, uint8_t event);
/* The same of an event of either half of a pair. */
void ty_issuer_need_exactly(struct ty_issuer *is, uint8_t event);

/* The operators of a part of a unit. */
typedef void ty_issuer_part_fn(struct ty_issuer *is, const struct ty_unit_ops *ops,
                               enum ty_part part);
void ty_issuer_forward(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part);
void ty_issuer_backward(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part);
void ty_issuer_input(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part);
void ty_issuer_weight(struct ty_issuer *is, const struct ty_unit_ops *ops, enum ty_part part);

/* Recorded when weight gradients made so far are those of the whole tensor group. */
uint8_t ty_issuer_grads_event(const struct ty_layout *layout);

/* Whether a woven backward of a unit is cut behind some collective. */
bool ty_issuer_cuts(const struct ty_unit_ops *ops, const struct ty_layout *layout);

#endif
