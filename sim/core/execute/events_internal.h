/* events_internal.h - the state of the executor with a queue; see events.c. */
#ifndef TY_CORE_EXECUTE_EVENTS_INTERNAL_H
#define TY_CORE_EXECUTE_EVENTS_INTERNAL_H

#include "sim/core/deadlock/mismatch.h"
#include "sim/core/execute/contention.h"
#include "sim/core/execute/evq.h"
#include "sim/core/execute/link_meter.h"
#include "sim/core/execute/maxmin.h"
#include "sim/core/program/timeline.h"

#define TY_NEVER     UINT64_MAX
#define TY_NO_LANE   UINT32_MAX
#define TY_CLOCK_END ((ty_ps)1 << 62) /* as of check_clock, program.c */

enum ty_lane_state {
    TY_LANE_IDLE,    /* stands before its next operation */
    TY_LANE_JOINED,  /* and has joined its partners */
    TY_LANE_ASLEEP,  /* its message is on the way: the event is its arrival */
    TY_LANE_LEADING, /* the latency of its flow passes: the event is that it may move bytes */
    TY_LANE_RUNNING, /* the event is its end, or that of the lane that stands for it */
    TY_LANE_DONE
};

/* Whose tasks end with that of a lane. */
enum ty_lane_ends {
    TY_ENDS_ITSELF,
    TY_ENDS_GROUP,
    TY_ENDS_MEETING, /* the lanes chained to it */
    TY_ENDS_MESSAGE, /* nobody's: one of its messages is sent */
};

/* The operation a lane stands before or runs: found once, looked at often. */
struct ty_at {
    const struct ty_gang *gang;
    const struct ty_pass *pass;
    const struct ty_op *op;
    uint64_t task;
    uint32_t member, rank; /* rank: the number that lanes are counted by */
};

struct ty_lane {
    struct ty_at at;
    uint32_t pass,
        pos;          /* of `at`: pass within the gang, position in the block's list of the lane */
    uint32_t ahead;   /* operations behind it that follow without a gap and end with its event */
    uint32_t replays; /* operations of its rank behind it that are copied and end with its event */
    uint32_t chain;   /* next lane at the same meeting */
    uint8_t state;    /* enum ty_lane_state */
    uint8_t ends;     /* enum ty_lane_ends */
    uint8_t blocked;  /* event that was missing at the last look */
    uint8_t number;   /* among the lanes of its rank */
};

/* Operations of a block that run on one lane. */
struct ty_lane_ops {
    uint32_t first, n;
};

/* Work that does not run at one speed from start to end: a flow, or computation during one. */
struct ty_work {
    double left;  /* ps at full speed */
    double speed; /* 0: it has not begun */
    ty_ps since;  /* when `left` was true */
};

/* A member in the middle of a collective that is played message by message. */
struct ty_player {
    const struct ty_script *script;
    const struct ty_flow *flows; /* [n_pairs] of its group, on contended links */
    uint8_t *arrived;            /* [messages]: shared by its group */
    uint32_t next, end;          /* the message it sends, or sends next; after its last */
    uint32_t missing;            /* messages that have not arrived */
    bool sending;
};

/* A stretch of a block that nothing outside of its rank has a part in. */
struct ty_replay {
    uint32_t end;                    /* its last operation */
    uint32_t lanes, events;          /* bits: on which it has operations; that it records */
    uint32_t records[TY_EVENTS];     /* of the block before that operation */
    uint32_t issued[TY_MAX_STREAMS]; /* [n_lanes] operations of the block up to it */
    /* when it was played, or is being, with nothing to disturb it */
    bool played;
    uint32_t from;       /* operation */
    uint32_t lane, pass; /* whose, in which pass of its gang */
    uint64_t task;       /* of the first operation of that pass */
};

struct ty_events {
    struct ty_timeline *timeline;
    const struct ty_program *p;
    struct ty_evq queue;
    ty_ps now;
    uint32_t n_done;

    /* per lane: rank number here is first_rank[gang] + member, lane = rank * n_lanes + number */
    uint32_t n_lanes; /* of a rank */
    struct ty_lane *lane;
    uint32_t *first_rank; /* [n_gangs] */
    uint32_t *recorded;   /* [ranks][TY_EVENTS]: how often each event has happened */

    /* the program, seen by lane */
    struct ty_lane_ops *of_block; /* [n_blocks][n_lanes] */
    uint32_t *lane_op;            /* operation numbers within their block */
    uint32_t *follow; /* [n_ops]: so many computations follow it without a wait, and nobody else
                       * waits for the end of any but the last */
    uint32_t *need;   /* [n_ops][TY_WAITS]: records within the block before the operation */
    uint32_t *base;   /* [n_passes][TY_EVENTS]: records before the pass */

    /* partners */
    ty_ps *arrival;    /* [n_slots][slot_width]: messages */
    uint32_t *joined;  /* [n_groups][n_lanes][ranks]: members that stand at a group's operation */
    uint32_t *meeting; /* [n_slots][slot_width]: lanes that stand at a meeting */
    uint32_t *chain;   /* [n_slots][slot_width]: one of them, or TY_NO_LANE */
    const uint8_t *barred; /* [n_slots] of enum ty_bar, or NULL */

    /* shared links and GPUs; NULL: durations are fixed */
    const struct ty_contention *shared;
    struct ty_maxmin *maxmin;
    struct ty_work *work;   /* [lanes]: of the flow a lane stands for; compute lanes: computation */
    double *slows;          /* [lanes]: share of computation's speed that its collective takes */
    uint32_t *lane_of_flow; /* [max_flows] */
    uint32_t *flow_of_lane; /* [lanes] */
    struct ty_replay *replay; /* [1 + n_replays]; NULL: durations differ from time to time */
    uint32_t n_replays;
    uint32_t *replay_of;         /* [n_ops]: whose rest begins with an operation; 0: none */
    uint32_t quiet;              /* bits: lanes that wait for no events and slow nobody down */
    uint8_t recorder[TY_EVENTS]; /* lane that records an event */
    struct ty_link_meter *meter; /* NULL: no collective is played */
    struct ty_player *player;    /* [lanes]; NULL: no collective is played */
    uint8_t *
        *arrived; /* [n_groups][lanes]: of the group of that kind that a lane is the first of */
};

/* events_prepare.c: tables of a run; 0 or TY_ENOMEM. Durations under jitter are drawn first: they
 * are functions of identity, not of order. */
int ty_events_prepare(struct ty_events *q, struct ty_arena *arena);

/* Moves a lane past passes in which its stream has nothing (more) to do, to the next operation. */
void ty_events_settle(struct ty_events *q, uint32_t lane);
/* Looks whether an idle lane can start its next operation, and starts it. */
void ty_events_look(struct ty_events *q, uint32_t lane);

/* Tasks whose speed changes while they run. Only where q->shared is set. */

/* The flow of an operation that has one. */
static inline const struct ty_flow *ty_events_own_flow(const struct ty_events *q,
                                                       const struct ty_at *at)
{
    return &q->shared->flows[q->p->kinds[at->op->kind].first_flow - 1 + at->member];
}

/* The flow on contended links that a lane stands for when it starts this; NULL: none. */
static inline const struct ty_flow *ty_events_flow(const struct ty_events *q,
                                                   const struct ty_at *at)
{
    const struct ty_kind *kind = &q->p->kinds[at->op->kind];
    if (q->shared == NULL || kind->first_flow == 0 || kind->script != 0) {
        return NULL;
    }
    const struct ty_flow *flow = ty_events_own_flow(q, at);
    return flow->n_uses == 0 ? NULL : flow;
}

/* events_replay.c: what is like the last time. Only where q->shared is set, and q->replay. */

/* 0 or TY_ENOMEM. */
int ty_events_replay_prepare(struct ty_events *q, struct ty_arena *arena);
/* A computation starts now. True: with all that can be replayed with it, which is in the timeline;
 * the lane's event is its end. */
bool ty_events_replay(struct ty_events *q, uint32_t lane, const struct ty_at *at);
/* The last of these ends now: the lane, and the others of its rank, stand at what they run then. */
void ty_events_replay_over(struct ty_events *q, uint32_t lane);

#endif
