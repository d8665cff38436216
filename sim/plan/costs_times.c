/* costs_times.c - the least times of collectives, and of units of a micro-batch on a rank. */
#include <math.h>
#include <string.h>

#include "model/parallel/kinds.h"
#include "sim/plan/costs_internal.h"

static double ps_of(double seconds)
{
    ty_ps ps = 0;
    return ty_ps_from_s(seconds, &ps) < 0 ? 0 : (double)ps;
}

static double alone_ps(const struct ty_cluster *cluster, enum ty_coll coll, double bytes,
                       const struct ty_reach *at, const struct ty_exchange *exchange, double calls)
{
    struct ty_reach reach = *at;
    struct ty_coll_cost cost;
    reach.root = TY_ROOT_EACH;
    if (exchange != NULL) {
        ty_exchange_cost(cluster, exchange, &reach, &cost);
    } else {
        ty_coll_cost(cluster, NULL, coll, bytes, &reach, &cost);
    }
    double least = ty_coll_seconds(&cost);
    if (reach.sharing > 1) { /* the library chooses once */
        const struct ty_coll_algorithm *chosen = cost.algorithm;
        reach.sharing = 1;
        if (exchange != NULL) {
            ty_exchange_cost(cluster, exchange, &reach, &cost);
        } else {
            ty_coll_cost(cluster, chosen, coll, bytes, &reach, &cost);
        }
        least = fmin(least, ty_coll_seconds(&cost));
    }
    return ps_of(least * calls * cluster->collectives.derate);
}

static double least_ps(const struct ty_plan_costs *costs, const struct ty_plan_group *group,
                       enum ty_coll coll, double bytes, const struct ty_exchange *exchange,
                       double calls)
{
    double least = INFINITY;
    if (group == NULL || group->n > TY_PLAN_REACHES) {
        return 0;
    }
    for (uint32_t k = 0; k < group->n; k++) {
        least = fmin(
            least, alone_ps(&costs->base->cluster, coll, bytes, &group->reach[k], exchange, calls));
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
    const double ps = least_ps(costs, group, coll, bytes, NULL, 1);
    double *own = ty_arena_array(&costs->arena, double, 1);
    if (own != NULL) {
        *own = ps;
        (void)ty_plan_map_add(&costs->prices, &key, own, &costs->arena, NULL);
    }
    return ps;
}

static double move_ps(const struct ty_plan_costs *costs, const struct ty_plan_grid *grid,
                      const struct ty_op_move *move)
{
    return move->bytes > 0 ? least_ps(costs, grid->group[move->group], (enum ty_coll)move->coll,
                                      move->bytes, NULL, 1)
                           : 0;
}

static void price_moves(const struct ty_plan_costs *costs, const struct ty_plan_grid *grid,
                        const struct ty_unit_op *op, double *out)
{
    for (enum ty_direction way = TY_FORWARD; way <= TY_WGRAD; way++) {
        for (uint32_t i = 0; i < TY_STEP_BLOCKS; i++) {
            out[TY_COMM_BLOCK + (uint32_t)way * TY_STEP_BLOCKS + i] =
                move_ps(costs, grid, &op->steps.block[way][i]);
        }
        out[TY_COMM_SUM + (uint32_t)way] = move_ps(costs, grid, &op->steps.sum[way]);
    }
    for (uint32_t i = 0; i < TY_OP_GRADS; i++) {
        out[TY_COMM_GRAD + i] = move_ps(costs, grid, &op->grad[i]);
    }
}

static double copy_ps(const struct ty_plan_costs *costs, const struct ty_plan_group *group,
                      const struct ty_op_pieces *pieces)
{
    double least = INFINITY;
    if (pieces->n == 0 || group == NULL || group->n > TY_PLAN_REACHES) {
        return 0;
    }
    for (uint32_t k = 0; k < group->n; k++) {
        struct ty_reach reach = group->reach[k];
        least = fmin(least, ps_of(ty_op_share_seconds(&costs->base->cluster, pieces, &reach)));
        reach.sharing = 1;
        least = fmin(least, ps_of(ty_op_share_seconds(&costs->base->cluster, pieces, &reach)));
    }
    return least;
}

static void price_comms(const struct ty_plan_costs *costs, const struct ty_plan_grid *grid,
                        const struct ty_unit_ops *ops, double out[][TY_OP_COMMS])
{
    for (uint32_t i = 0; i < ops->n; i++) {
        if (ops->op[i].steps.n > 0 || ops->op[i].grad[0].bytes > 0) {
            price_moves(costs, grid, &ops->op[i], out[i]);
        }
        out[i][TY_COMM_SHARE] = out[i][TY_COMM_SHARE + 1] =
            copy_ps(costs, grid->group[TY_GROUP_TENSOR], &ops->op[i].pieces);
        const struct ty_op_rounds *rounds = &ops->op[i].rounds;
        const double bytes[4] = {rounds->forward_B, rounds->first_B, rounds->middle_B,
                                 rounds->last_B};
        for (uint32_t k = 0; k < 4; k++) {
            out[i][TY_COMM_ROUND + k] = rounds->n > 0
                                            ? least_ps(costs, grid->group[rounds->group],
                                                       TY_COLL_SEND_RECV, bytes[k], NULL, 1)
                                            : 0;
        }
        for (enum ty_comm_place place = 0; place < TY_N_COMM_PLACES; place++) {
            const struct ty_op_comms *comms = &ops->op[i].comms[place];
            for (uint32_t k = 0; k < comms->n; k++) {
                const struct ty_op_comm *comm = &comms->item[k];
                out[i][ty_comm_place(place, k)] =
                    least_ps(costs, grid->group[comm->group], (enum ty_coll)comm->coll, comm->bytes,
                             comm->exchange.tokens > 0 ? &comm->exchange : NULL, comm->calls);
            }
        }
    }
}

static double lesser(double least, struct ty_cost cost)
{
    return fmin(least, ps_of(cost.seconds));
}

/* Where nodes have GPUs of several kinds: of each operator the least. */
static void add_costs(const struct ty_unit_ops *ops, const struct ty_unit_costs *costs,
                      struct ty_op_times *least)
{
    for (uint32_t i = 0; i < ops->n; i++) {
        const struct ty_unit_op *op = &ops->op[i];
        const bool rounds = op->rounds.n > 0;
        const bool pieces = op->pieces.n > 0;
        const struct ty_op_costs *c = rounds || pieces  ? &costs->first[i]
                                      : op->steps.n > 0 ? &costs->next[i]
                                                        : &costs->op[i];
        const struct ty_cost whole = rounds ? c->dgrad : ty_cost_plus(c->dgrad, c->wgrad);
        struct ty_op_times *t = &least[i];
        for (enum ty_op_pass pass = 0; pass < TY_N_OP_PASSES; pass++) {
            const bool both = pass == TY_OP_DGRAD    ? !ty_issuer_splits_wgrad(op)
                              : pass == TY_OP_WEIGHT ? op->first
                                                     : false;
            t->ps[pass] = lesser(t->ps[pass], both ? whole : ty_op_cost(c, pass));
            if (rounds || pieces) {
                t->next[pass] = lesser(t->next[pass], ty_op_cost(&costs->next[i], pass));
            }
        }
    }
}

/* What pricing needs. */
struct pricing {
    struct ty_plan_costs *costs;
    const struct ty_layout *layout;
    const struct ty_plan_grid *grid;
    const struct ty_reach *reach[TY_N_COMM_GROUPS];
    const struct ty_units *part; /* of a slice */
    uint32_t slices;
};

/* Costs of a slice's units on a GPU, as model/lower/compute.c works them out. */
static void price_units(const struct pricing *p, const struct ty_gpu *gpu,
                        struct ty_unit_costs unit[TY_N_UNIT_KINDS],
                        struct ty_unit_costs whole[TY_N_UNIT_KINDS])
{
    const struct ty_units *units = p->costs->units, *part = p->part;
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        ty_unit_price(&part->kind[u], p->layout, gpu, &unit[u]);
        if (ty_unit_is_layer(u)) {
            struct ty_unit_waits waits;
            ty_unit_waits(&part->kind[u], p->layout, &p->costs->base->cluster, p->reach, &waits);
            ty_unit_host(&part->kind[u], p->layout, gpu, &waits, &unit[u]);
        }
        if (p->slices > 1) {
            ty_unit_price(&units[0].kind[u], p->layout, gpu, &whole[u]);
        }
    }
}

/* Generators are told the times of the slowest GPU. */
static void note_mean(const struct pricing *p, const struct ty_unit_costs *unit,
                      struct ty_plan_times *out)
{
    const struct ty_layer_costs mean =
        ty_layer_mean(p->costs->units, &p->costs->base->arch, p->layout, unit);
    struct ty_sched_times *t = &out->generator;
    if (mean.forward.seconds + mean.input.seconds + mean.weight.seconds >
        t->forward + t->input + t->weight) {
        *t = (struct ty_sched_times){.forward = mean.forward.seconds,
                                     .input = mean.input.seconds,
                                     .weight = mean.weight.seconds};
    }
}

/* What computation beside collectives of tensor ranks loses at least. */
static double least_slow(const struct pricing *p)
{
    const struct ty_cluster *cluster = &p->costs->base->cluster;
    const struct ty_plan_group *group = p->grid->group[TY_GROUP_TENSOR];
    double least = cluster->nvlink.overlap_slowdown;
    for (uint32_t k = 0; k < group->n && k < TY_PLAN_REACHES; k++) {
        least = group->reach[k].nodes > 1 ? fmin(least, cluster->net.overlap_slowdown) : least;
    }
    return group->n > TY_PLAN_REACHES ? 0 : least;
}

/* The least that operators take on any GPU of the layout. least[slices] */
static void time_operators(const struct pricing *p,
                           struct ty_op_times least[][TY_N_UNIT_KINDS][TY_UNIT_OPS],
                           struct ty_plan_times *out)
{
    const struct ty_units *part = p->part;
    struct ty_unit_costs unit[TY_N_UNIT_KINDS], whole[TY_N_UNIT_KINDS];
    out->host_ps = INFINITY;
    for (uint32_t g = 0; g < TY_GENERATIONS_MAX; g++) {
        if (!p->grid->used[g]) {
            continue;
        }
        const struct ty_gpu *gpu = &ty_exceptions_cluster(&p->costs->base->cluster, g)->gpu;
        price_units(p, gpu, unit, whole);
        out->host_ps =
            fmin(out->host_ps, ps_of(p->layout->framework.pass_overhead / gpu->host_speed));
        note_mean(p, unit, out);
        for (uint32_t q = 0; q < p->slices; q++) {
            for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
                if (p->slices > 1 && u >= TY_UNIT_LAYER && u < TY_UNIT_HEAD) {
                    ty_unit_slice(&part->kind[u], &whole[u], q, p->slices, &unit[u]);
                }
                add_costs(&part->kind[u], &unit[u], least[q][u]);
            }
        }
    }
}

static void time_units(const struct pricing *p, struct ty_plan_times *out)
{
    const struct ty_units *part = p->part;
    struct ty_op_times least[TY_PLAN_SLICES][TY_N_UNIT_KINDS][TY_UNIT_OPS];
    double *each = least[0][0][0].ps;
    const size_t n = sizeof(least[0]) / sizeof(*each);
    for (size_t i = 0; i < p->slices * n; i++) {
        each[i] = INFINITY;
    }
    time_operators(p, least, out);
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        double comm[TY_UNIT_OPS][TY_OP_COMMS];
        price_comms(p->costs, p->grid, &part->kind[u], comm);
        for (uint32_t q = 0; q < p->slices; q++) {
            const struct ty_unit_play play = {.ops = &part->kind[u],
                                              .op = least[q][u],
                                              .comm = (const double(*)[TY_OP_COMMS])comm,
                                              .layout = p->layout,
                                              .slows = least_slow(p)};
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
    struct ty_units *units = costs->units;
    struct pricing p = {.costs = costs,
                        .layout = layout,
                        .grid = grid,
                        .part = slices > 1 ? &units[1] : units,
                        .slices = slices};
    if (layer->times != NULL) {
        return layer->times;
    }
    layer->times = new_times(&costs->arena, slices);
    if (layer->times == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        p.reach[g] = grid->group[g] != NULL ? &grid->group[g]->first : NULL;
    }
    ty_units_make(units, &costs->base->arch, layout);
    if (slices > 1) {
        const struct ty_arch part = ty_arch_slice(&costs->base->arch, slices);
        ty_units_make(&units[1], &part, layout);
    }
    time_units(&p, layer->times);
    return layer->times;
}
