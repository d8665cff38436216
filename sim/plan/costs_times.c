/* costs_times.c - the least times of collectives, and of units of a micro-batch on a rank. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/issue/issue.h"
#include "model/parallel/kinds.h"
#include "sim/plan/costs_internal.h"
#include "sim/plan/unit_times.h"

/* ---- the clock of a unit ----
 *
 * A clock that hears how a unit is issued (model/issue) and knows when each
 * operation ends at the earliest.
 *
 * The clock starts when the last computation before the unit ends and what the unit receives is
 * there. A collective that waits for neither, before anything is computed, may be over by then: it
 * takes no time. */

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

/* Whether the next computation waits for nothing that is recorded behind the collectives next to it
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

/* A computation of `ps` from `start` on and the collectives next to it, none of which begins before
 * it, are both over by the time that their event stands for, as whoever waits for that waits for
 * the computation, too. With s lost during them, C their time, D the time of the computation and T
 * that of both, D >= ps + s (C + D - T) and T >= D, so that T >= ps + s C, wherever they lie.
 * Durations are rounded twice. */
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

static void ty_unit_times(const struct ty_unit_play *play, struct ty_unit_times *out)
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

static double ps_of(double seconds)
{
    ty_ps ps = 0;
    return ty_ps_from_s(seconds, &ps) < 0 ? 0 : (double)ps;
}

/* The least that a collective takes on any group, with others on its links or alone. */
static double least_ps(const struct ty_plan_costs *costs, const struct ty_plan_group *group,
                       const struct ty_priced_comm *comm)
{
    const struct ty_cluster *cluster = &costs->base->cluster;
    double least = INFINITY;
    if (group == NULL || group->n > TY_PLAN_REACHES) {
        return 0;
    }
    for (uint32_t k = 0; k < group->n; k++) {
        struct ty_reach reach = group->reach[k];
        struct ty_coll_cost cost;
        reach.root = TY_ROOT_EACH;
        for (int alone = 0; alone < (reach.sharing > 1 ? 2 : 1); alone++) {
            least = fmin(least, ps_of(ty_price_comm(cluster, comm, &reach, alone == 1, &cost)));
        }
    }
    return least;
}

struct price_key {
    const struct ty_plan_group *group;
    double bytes;
    uint64_t coll;
};

/* A price that cannot be kept is worked out again. */
double ty_plan_collective_ps(struct ty_plan_costs *costs, const struct ty_plan_group *group,
                             enum ty_coll coll, double bytes)
{
    const struct price_key key = {group, bytes, coll};
    costs->prices.key_size = sizeof(key);
    const double *known = ty_plan_map_find(&costs->prices, &key);
    if (known != NULL) {
        return *known;
    }
    const struct ty_priced_comm comm = {.coll = coll, .bytes = bytes, .calls = 1};
    const double ps = least_ps(costs, group, &comm);
    double *own = ty_arena_array(&costs->arena, double, 1);
    if (own != NULL) {
        *own = ps;
        (void)ty_plan_map_add(&costs->prices, &key, own, &costs->arena, NULL);
    }
    return ps;
}

static void price_comms(const struct ty_plan_costs *costs, const struct ty_plan_grid *grid,
                        const struct ty_unit_ops *ops, double out[][TY_OP_COMMS])
{
    for (uint32_t i = 0; i < ops->n; i++) {
        for (uint32_t slot = 0; slot < TY_OP_COMMS; slot++) {
            struct ty_priced_comm comm;
            if (ty_price_slot(&ops->op[i], slot, &comm)) {
                out[i][slot] = least_ps(costs, grid->group[comm.group], &comm);
            }
        }
    }
}

static double lesser(double least, struct ty_cost cost)
{
    return fmin(least, ps_of(cost.seconds));
}

/* The least that the operators of a unit take in a slice, on any GPU of the layout. */
static void time_operators(const struct ty_prices *prices, uint32_t slice, enum ty_unit_kind unit,
                           struct ty_op_times *out)
{
    struct ty_price_at at = {.slice = slice, .unit = unit};
    for (at.op = 0; at.op < prices->part->kind[unit].n; at.op++) {
        const struct ty_unit_op *op = &prices->part->kind[unit].op[at.op];
        const bool further = op->rounds.n > 0 || op->pieces.n > 0;
        for (at.pass = 0; at.pass < TY_N_OP_PASSES; at.pass++) {
            double least[2] = {INFINITY, INFINITY};
            for (at.generation = 0; at.generation < TY_GENERATIONS_MAX; at.generation++) {
                for (at.nth = 0; at.nth < (further ? 2 : 1) && prices->of.used[at.generation];
                     at.nth++) {
                    least[at.nth] = lesser(least[at.nth], ty_price_pass(prices, &at, 1));
                }
            }
            out[at.op].ps[at.pass] = least[0];
            out[at.op].next[at.pass] = least[1];
        }
    }
}

/* What computation loses at least while collectives of tensor ranks run. */
static double least_slow(const struct ty_plan_costs *costs, const struct ty_plan_grid *grid)
{
    const struct ty_cluster *cluster = &costs->base->cluster;
    const struct ty_plan_group *group = grid->group[TY_GROUP_TENSOR];
    double least = cluster->nvlink.overlap_slowdown;
    for (uint32_t k = 0; k < group->n && k < TY_PLAN_REACHES; k++) {
        least = group->reach[k].nodes > 1 ? fmin(least, cluster->net.overlap_slowdown) : least;
    }
    return group->n > TY_PLAN_REACHES ? 0 : least;
}

static void time_units(const struct ty_plan_costs *costs, const struct ty_plan_grid *grid,
                       const struct ty_prices *prices, struct ty_plan_times *out)
{
    out->host_ps = INFINITY;
    for (uint32_t g = 0; g < TY_GENERATIONS_MAX; g++) {
        out->host_ps =
            prices->of.used[g] ? fmin(out->host_ps, ps_of(prices->host_s[g])) : out->host_ps;
    }
    out->generator = (struct ty_sched_times){.forward = prices->layer.forward.seconds,
                                             .input = prices->layer.input.seconds,
                                             .weight = prices->layer.weight.seconds};
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        double comm[TY_UNIT_OPS][TY_OP_COMMS];
        struct ty_op_times op[TY_UNIT_OPS];
        const struct ty_unit_play play = {.ops = &prices->part->kind[u],
                                          .op = op,
                                          .comm = (const double(*)[TY_OP_COMMS])comm,
                                          .layout = prices->of.layout,
                                          .slows = least_slow(costs, grid)};
        price_comms(costs, grid, play.ops, comm);
        for (uint32_t q = 0; q < prices->of.slices; q++) {
            time_operators(prices, q, u, op);
            ty_unit_times(&play, &out->unit[u][q]);
        }
    }
}

static struct ty_plan_times *new_times(struct ty_arena *arena, uint32_t slices)
{
    struct ty_plan_times *times = ty_arena_array(arena, struct ty_plan_times, 1);
    struct ty_unit_times *unit =
        ty_arena_array(arena, struct ty_unit_times, (size_t)TY_N_UNIT_KINDS * slices);
    if (times == NULL || unit == NULL) {
        return NULL;
    }
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        times->unit[u] = unit + (size_t)u * slices;
    }
    return times;
}

const struct ty_plan_times *ty_plan_times(struct ty_plan_costs *costs,
                                          const struct ty_layout *layout,
                                          const struct ty_plan_grid *grid,
                                          struct ty_plan_layer *layer, uint32_t slices,
                                          struct ty_err *err)
{
    struct ty_price_list of = {.cluster = &costs->base->cluster,
                               .arch = &costs->base->arch,
                               .layout = layout,
                               .slices = slices};
    struct ty_prices prices;
    if (layer->times != NULL) {
        return layer->times;
    }
    layer->times = new_times(&costs->arena, slices);
    if (layer->times == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    memcpy(of.used, grid->used, sizeof(of.used));
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        of.reach[g] = grid->group[g] != NULL ? &grid->group[g]->first : NULL;
    }
    const int rc = ty_prices_make(&prices, &of, costs->units, &costs->scratch, err);
    if (rc == 0) {
        time_units(costs, grid, &prices, layer->times);
    }
    ty_arena_reset(&costs->scratch);
    return rc < 0 ? NULL : layer->times;
}
