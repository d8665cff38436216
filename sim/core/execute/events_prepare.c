/* events_prepare.c - the program as lanes see it, and the tables of a run. */
#include <string.h>

#include "sim/core/execute/events_internal.h"
#include "sim/core/program/owners.h"

/* Whether an operation of the compute stream takes no link and slows nobody down. */
static bool only_computes(const struct ty_program *p, const struct ty_op *op)
{
    const struct ty_kind *kind = &p->kinds[op->kind];
    return op->sync == TY_SYNC_LOCAL && kind->first_flow == 0 && kind->slows <= 0;
}

/* Whether somebody waits for the event that an operation of a block records, and not for a later
 * record of it; behind the block anybody may. Into heard[operations of the block]. */
static void find_heard(const struct ty_program *p, const struct ty_block *block, uint32_t *heard)
{
    bool waited[TY_EVENTS + 1];
    memset(waited, true, sizeof(waited));
    for (uint32_t k = block->n_ops; k > 0; k--) {
        const struct ty_op *op = &p->ops[block->first + k - 1];
        if (op->record != TY_NO_EVENT) {
            heard[k - 1] = waited[op->record];
            waited[op->record] = false;
        }
        for (uint32_t w = 0; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
            waited[op->wait[w]] = true;
        }
    }
}

/* How many operations follow each computation of a block. */
static void index_followers(struct ty_events *q, uint32_t b)
{
    const struct ty_lane_ops *list = &q->of_block[(size_t)b * q->n_lanes];
    const uint32_t first = q->p->blocks[b].first;
    uint32_t *heard = q->follow + first, after = 0; /* each is read before it is overwritten */
    find_heard(q->p, &q->p->blocks[b], heard);
    for (uint32_t i = list->n; i > 0; i--) {
        const uint32_t k = q->lane_op[list->first + i - 1];
        const struct ty_op *op = &q->p->ops[first + k];
        const bool follows = after > 0 && only_computes(q->p, op) && heard[k] == 0;
        const bool waits = op->wait[0] != TY_NO_EVENT || !only_computes(q->p, op);
        q->follow[first + k] = follows ? after : 0;
        after = waits ? 0 : 1 + q->follow[first + k];
    }
    for (uint32_t k = 0; k < q->p->blocks[b].n_ops; k++) {
        q->follow[first + k] = q->p->ops[first + k].lane == 0 ? q->follow[first + k] : 0;
    }
}

/* Lists of each block's operations by lane, how many records precede each wait, and how many there
 * are of each event: records[n_blocks][TY_EVENTS], of zeros. */
static void index_blocks(struct ty_events *q, uint32_t *records)
{
    uint32_t used = 0;
    for (uint32_t b = 0; b < q->p->n_blocks; b++) {
        const struct ty_block *block = &q->p->blocks[b];
        uint32_t *count = records + (size_t)b * TY_EVENTS;
        for (uint32_t k = 0; k < block->n_ops; k++) {
            const struct ty_op *op = &q->p->ops[block->first + k];
            for (uint32_t w = 0; w < TY_WAITS && op->wait[w] != TY_NO_EVENT; w++) {
                q->need[(size_t)(block->first + k) * TY_WAITS + w] = count[op->wait[w]];
            }
            if (op->record != TY_NO_EVENT) {
                count[op->record]++;
            }
        }
        for (uint32_t l = 0; l < q->n_lanes; l++) {
            struct ty_lane_ops *list = &q->of_block[(size_t)b * q->n_lanes + l];
            list->first = used;
            for (uint32_t k = 0; k < block->n_ops; k++) {
                if (q->p->ops[block->first + k].lane == l) {
                    q->lane_op[used++] = k;
                }
            }
            list->n = used - list->first;
        }
        index_followers(q, b);
    }
}

static void index_passes(struct ty_events *q, const uint32_t *records)
{
    for (uint32_t g = 0; g < q->p->n_gangs; g++) {
        const struct ty_gang *gang = &q->p->gangs[g];
        for (uint32_t i = 1; i < gang->n_passes; i++) {
            const size_t index = gang->first_pass + i;
            const uint32_t *of = records + (size_t)q->p->passes[index - 1].block * TY_EVENTS;
            uint32_t *base = q->base + index * TY_EVENTS;
            const uint32_t *before = base - TY_EVENTS; /* of the first pass: zeros */
            for (uint32_t e = 0; e < TY_EVENTS; e++) {
                base[e] = before[e] + of[e];
            }
        }
    }
}

static bool make_columns(struct ty_events *q, size_t slots, struct ty_arena *arena)
{
    const struct ty_program *p = q->p;
    const size_t ranks = p->n_ranks;
    const size_t lanes = ranks * q->n_lanes;
    q->queue.row = ty_arena_array(arena, struct ty_ev, lanes + 1);
    q->queue.at = ty_arena_array(arena, uint32_t, lanes + 1);
    q->lane = ty_arena_array(arena, struct ty_lane, lanes);
    q->first_rank = ty_arena_array(arena, uint32_t, p->n_gangs);
    q->recorded = ty_arena_array(arena, uint32_t, ranks * TY_EVENTS);
    q->of_block = ty_arena_array(arena, struct ty_lane_ops, (size_t)p->n_blocks * q->n_lanes);
    q->lane_op = ty_arena_array(arena, uint32_t, p->n_ops);
    q->follow = ty_arena_array(arena, uint32_t, (size_t)p->n_ops + 1);
    q->need = ty_arena_array(arena, uint32_t, (size_t)p->n_ops * TY_WAITS);
    q->base = ty_arena_array(arena, uint32_t, (size_t)p->n_passes * TY_EVENTS);
    q->arrival = ty_arena_array(arena, ty_ps, slots);
    q->joined = ty_arena_array(arena, uint32_t, (size_t)p->n_groups * q->n_lanes * ranks);
    q->meeting = ty_arena_array(arena, uint32_t, slots);
    q->chain = ty_arena_array(arena, uint32_t, slots);
    const void *const columns[] = {
        q->queue.row, q->queue.at, q->lane, q->first_rank, q->recorded, q->of_block, q->lane_op,
        q->follow,    q->need,     q->base, q->arrival,    q->joined,   q->meeting,  q->chain,
    };
    for (size_t i = 0; i < TY_COUNT(columns); i++) {
        if (columns[i] == NULL) {
            return false;
        }
    }
    return true;
}

static int make_tables(struct ty_events *q, struct ty_arena *arena)
{
    const struct ty_program *p = q->p;
    const size_t slots = (size_t)p->n_slots * p->slot_width;
    uint32_t *records = ty_arena_array(arena, uint32_t, (size_t)p->n_blocks * TY_EVENTS + 1);
    if (records == NULL || !make_columns(q, slots, arena)) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0, rank = 0; g < p->n_gangs; g++) {
        q->first_rank[g] = rank;
        for (uint32_t i = 0; i < p->gangs[g].n_ranks; i++, rank++) {
            for (uint32_t l = 0; l < q->n_lanes; l++) {
                struct ty_lane *lane = &q->lane[rank * q->n_lanes + l];
                lane->at = (struct ty_at){.gang = &p->gangs[g], .member = i, .rank = rank};
                lane->number = (uint8_t)l;
            }
        }
    }
    memset(q->arrival, 0xff, slots * sizeof(*q->arrival)); /* TY_NEVER */
    memset(q->chain, 0xff, slots * sizeof(*q->chain));     /* TY_NO_LANE */
    index_blocks(q, records);
    index_passes(q, records);
    return 0;
}

/* Durations of one operation that varies with `factor`, or does not: NULL. */
static void draw_op(const struct ty_events *q, const struct ty_kind *kind, const double *factor,
                    uint32_t n, ty_ps *dur)
{
    for (uint32_t r = 0; r < n; r++) {
        const ty_ps nominal =
            q->shared != NULL ? ty_kind_alone(kind, r) : ty_kind_duration(kind, r);
        dur[r] = factor != NULL ? ty_jittered(nominal, factor[r]) : nominal;
    }
}

/* Durations that vary, into the column of the timeline. Operations of a layer share factors. It
 * ends early where somebody stops the run, which its caller has to look at. */
static int draw_durations(struct ty_events *q, struct ty_arena *arena)
{
    const struct ty_program *p = q->p;
    double *factor = ty_arena_array(arena, double, p->slot_width + 1);
    if (factor == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        ty_ps *dur = q->timeline->dur + gang->first_task;
        for (uint32_t i = 0; i < gang->n_passes && !ty_progress_ends(&q->timeline->progress); i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
            const struct ty_op *ops = ty_pass_ops(p, pass);
            uint32_t drawn = UINT32_MAX; /* layer */
            for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++, dur += gang->n_ranks) {
                const bool compute = ops[k].stream == TY_STREAM_COMPUTE;
                if (compute && drawn != ops[k].layer) {
                    ty_program_factors(p, gang, i, ops[k].layer, factor);
                    drawn = ops[k].layer;
                }
                draw_op(q, &p->kinds[ops[k].kind], compute ? factor : NULL, gang->n_ranks, dur);
            }
        }
    }
    return 0;
}

static int make_shared(struct ty_events *q, struct ty_arena *arena)
{
    const struct ty_contention *c = q->shared;
    const size_t lanes = (size_t)q->p->n_ranks * q->n_lanes;
    q->maxmin = ty_maxmin_new(c->links, c->n_links, c->max_flows, c->max_uses, arena);
    q->work = ty_arena_array(arena, struct ty_work, lanes);
    q->slows = ty_arena_array(arena, double, lanes);
    q->lane_of_flow = ty_arena_array(arena, uint32_t, (size_t)c->max_flows + 1);
    q->flow_of_lane = ty_arena_array(arena, uint32_t, lanes);
    if (q->maxmin == NULL || q->work == NULL || q->slows == NULL || q->lane_of_flow == NULL ||
        q->flow_of_lane == NULL) {
        return TY_ENOMEM;
    }
    memset(q->flow_of_lane, 0xff, lanes * sizeof(*q->flow_of_lane));
    return 0;
}

/* Room for what has arrived, for the longest script of each first member of a group. */
static int make_players(struct ty_events *q, struct ty_arena *arena)
{
    const struct ty_program *p = q->p;
    const size_t lanes = (size_t)p->n_ranks * q->n_lanes;
    q->meter = ty_link_meter_new(q->timeline, q->shared, arena);
    q->player = ty_arena_array(arena, struct ty_player, lanes);
    q->arrived = ty_arena_array(arena, uint8_t *, lanes * p->n_groups + 1);
    uint32_t *most = ty_arena_array(arena, uint32_t, lanes * p->n_groups + 1);
    const struct ty_owner *owner;
    if (q->meter == NULL || q->player == NULL || q->arrived == NULL || most == NULL ||
        ty_owners_find(&owner, p, arena, NULL) < 0) {
        return TY_ENOMEM;
    }
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        const uint32_t gang = owner[k].gang;
        if (p->kinds[k].script == 0 || gang == TY_NO_GANG) {
            continue;
        }
        const uint32_t n = p->scripts[p->kinds[k].script - 1].n;
        for (uint32_t i = 0; i < p->gangs[gang].n_ranks; i++) {
            const size_t lane = lanes * owner[k].group +
                                (size_t)(q->first_rank[gang] + i) * q->n_lanes + owner[k].lane;
            most[lane] = ty_owner_is_first(p, &owner[k], i) && n > most[lane] ? n : most[lane];
        }
    }
    for (size_t lane = 0; lane < lanes * p->n_groups; lane++) {
        if (most[lane] > 0) {
            q->arrived[lane] = ty_arena_array(arena, uint8_t, most[lane]);
            if (q->arrived[lane] == NULL) {
                return TY_ENOMEM;
            }
        }
    }
    return 0;
}

int ty_events_prepare(struct ty_events *q, struct ty_arena *arena)
{
    int rc = make_tables(q, arena);
    if (rc == 0 && q->shared != NULL) {
        rc = make_shared(q, arena);
    }
    if (rc == 0 && q->shared != NULL && !ty_program_varies(q->p)) {
        rc = ty_events_replay_prepare(q, arena);
    }
    if (rc == 0 && q->shared != NULL && q->p->n_scripts > 0) {
        rc = make_players(q, arena);
    }
    return rc == 0 && ty_program_varies(q->p) ? draw_durations(q, arena) : rc;
}
