/* events_steps.c - collectives played message by message; see script.h. */
#include <string.h>

#include "sim/base/compiler.h"
#include "sim/core/execute/events_internal.h"

#define AHEAD 4u /* messages: more than a cache line has */

static bool all_arrived(const struct ty_events *q, const struct ty_player *player,
                        const struct ty_message *m)
{
    for (uint32_t i = 0; i < m->n_after; i++) {
        if (player->arrived[q->p->afters[m->first_after + i]] == 0) {
            return false;
        }
    }
    return true;
}

/* Fetches what the message after this one needs: hundreds of members send in turn, so that by then
 * it has left the nearest cache. */
static void prefetch_next(const struct ty_events *q, const struct ty_player *player,
                          const struct ty_message *m)
{
    const uint32_t left = player->end - player->next;
    if (left > AHEAD) {
        TY_PREFETCH(m + AHEAD);
    }
    if (left > 1 && m[1].n_after > 0) {
        TY_PREFETCH(player->arrived + q->p->afters[m[1].first_after]);
    }
}

/* Sends the next message of a lane if nothing is missing for it. */
static void send_next(struct ty_events *q, uint32_t lane)
{
    struct ty_player *player = &q->player[lane];
    if (player->sending || player->next == player->end) {
        return;
    }
    const struct ty_message *m = &q->p->messages[player->script->first + player->next];
    if (all_arrived(q, player, m)) {
        player->sending = true;
        q->lane[lane].state = TY_LANE_RUNNING;
        ty_events_begin(q, lane, &player->flows[m->pair], m->alone);
        prefetch_next(q, player, m);
    }
}

void ty_events_play(struct ty_events *q, uint32_t leader, const struct ty_group *g)
{
    const struct ty_at *at = &q->lane[leader].at;
    const struct ty_kind *kind = &q->p->kinds[at->op->kind];
    const struct ty_script *script = &q->p->scripts[kind->script - 1];
    const uint32_t *send = q->p->sends + script->first_send;
    const uint32_t lanes = g->stride * q->n_lanes;
    uint8_t *arrived = q->arrived[(size_t)at->op->link * q->p->n_ranks * q->n_lanes + leader];
    memset(arrived, 0, script->n);
    for (uint32_t i = 0; i < g->count; i++) {
        q->player[leader + i * lanes] = (struct ty_player){
            .script = script,
            .flows = q->shared->flows + ty_script_flow(q->p, kind, g, at->member),
            .arrived = arrived,
            .next = send[i],
            .end = send[i + 1],
        };
    }
    for (uint32_t m = 0; m < script->n; m++) {
        q->player[leader + q->p->messages[script->first + m].to * lanes].missing++;
    }
    for (uint32_t i = 0; i < g->count; i++) {
        send_next(q, leader + i * lanes);
    }
}

static bool is_over(const struct ty_player *player)
{
    return player->next == player->end && player->missing == 0;
}

/* The lane of another position of the same group. */
static uint32_t lane_of(const struct ty_events *q, uint32_t lane, uint32_t position)
{
    const struct ty_at *at = &q->lane[lane].at;
    const struct ty_group *g = &q->p->groups[at->op->link];
    return lane + (position - ty_group_position(g, at->member)) * g->stride * q->n_lanes;
}

void ty_events_message_over(struct ty_events *q, uint32_t lane, uint32_t over[2])
{
    struct ty_player *player = &q->player[lane];
    const uint32_t message = player->next++;
    const uint32_t to = lane_of(q, lane, q->p->messages[player->script->first + message].to);
    assert(player->sending && player->arrived[message] == 0 && q->player[to].missing > 0);
    ty_events_flow_over(q, lane);
    player->sending = false;
    player->arrived[message] = 1;
    q->player[to].missing--;
    send_next(q, lane);
    send_next(q, to);
    over[0] = over[1] = TY_NO_LANE;
    uint32_t n = 0;
    if (is_over(player)) {
        over[n++] = lane;
    }
    if (to != lane && is_over(&q->player[to])) {
        over[n++] = to;
    }
}
