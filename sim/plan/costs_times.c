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
    struct ty_arena scratch = {.head = NULL};
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
    const int rc = ty_prices_make(&prices, &of, costs->units, &scratch, err);
    if (rc == 0) {
        time_units(costs, grid, &prices, layer->times);
    }
    ty_arena_release(&scratch);
    return rc < 0 ? NULL : layer->times;
}
