/* gpus.c - kinds of computation, with the durations that the GPUs of a gang give them.
 *
 * Nodes may have GPUs of different generations, so members of a gang may differ, and gangs may:
 *
 *     stage 0   A A A A   durations of A for all
 *     stage 1   A A B B   member by member
 *     stage 2   A A B B   the kinds of stage 1 once more
 *
 * Prices are worked out once per generation (model/price), kinds made once per mix of them. */
#include "model/lower/internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

int ty_lower_price(struct ty_lowering *l)
{
    struct ty_price_list of = {.cluster = l->in->cluster,
                               .arch = l->in->arch,
                               .layout = l->in->layout,
                               .slices = l->shape.slices};
    struct ty_prices *prices = ty_arena_array(l->arena, struct ty_prices, 1);
    struct ty_units *units = ty_price_book_units(l->in->book, of.slices > 1 ? 2 : 1, l->arena);
    if (prices == NULL || units == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        of.reach[g] = l->links.group[g].at;
    }
    const bool one = ty_exceptions_n_generations(of.cluster) == 1;
    of.used[0] = one;
    for (uint32_t rank = 0; !one && rank < l->out->grid.n_ranks; rank++) {
        of.used[ty_lower_generation(l, rank)] = true;
    }
    l->prices = prices;
    return ty_prices_make(prices, &of, units, l->arena, l->b.err);
}

uint32_t ty_lower_generation(const struct ty_lowering *l, uint32_t rank)
{
    return ty_exceptions_generation(l->in->cluster, ty_grid_node(&l->out->grid, rank));
}

/* ---- one kind ---- */

void ty_lower_durations(struct ty_lowering *l, const ty_ps *dur, struct ty_kind *kind)
{
    const struct ty_gpu_mix *mix = l->here.gpus;
    ty_ps of[TY_GENERATIONS_MAX];
    bool equal = true;
    assert(mix->n_used > 0);
    for (uint32_t k = 0; k < mix->n_used; k++) {
        of[mix->used[k]] = dur[k];
        equal = equal && dur[k] == dur[0];
    }
    kind->dur = dur[0];
    kind->dur_of = NULL;
    if (equal) {
        return;
    }
    ty_ps *table = ty_arena_array(l->arena, ty_ps, l->members);
    for (uint32_t i = 0; table != NULL && i < l->members; i++) {
        table[i] = of[mix->generation[i]];
    }
    kind->dur_of = table;
    if (table == NULL) {
        ty_build_no_memory(&l->b);
    }
}

uint16_t ty_lower_compute_kind(struct ty_lowering *l, const char *name, enum ty_category category,
                               enum ty_phase phase, const struct ty_cost *cost)
{
    const struct ty_gpu_mix *mix = l->here.gpus;
    struct ty_kind kind = {.name = name, .category = (uint8_t)category, .phase = (uint8_t)phase};
    ty_ps dur[TY_GENERATIONS_MAX] = {0};
    for (uint32_t k = 0; k < mix->n_used; k++) {
        dur[k] = ty_lower_ps(l, cost[mix->used[k]].seconds);
    }
    kind.flops = cost[mix->used[0]].flops;
    kind.energy_uJ = rint(1e6 * cost[mix->used[0]].joules);
    ty_lower_durations(l, dur, &kind);
    return ty_lower_add_kind(l, &kind);
}

uint16_t ty_lower_optimizer_kind(struct ty_lowering *l, double params)
{
    struct ty_cost cost[TY_GENERATIONS_MAX] = {{0}};
    for (uint32_t k = 0; k < l->here.gpus->n_used; k++) {
        const uint32_t g = l->here.gpus->used[k];
        cost[g] =
            ty_update_cost(&ty_exceptions_cluster(l->in->cluster, g)->gpu, l->in->layout, params);
    }
    return ty_lower_compute_kind(l, "optimizer step", TY_CAT_OPTIMIZER, TY_PHASE_STEP, cost);
}

uint16_t ty_lower_host_kind(struct ty_lowering *l)
{
    const double updates = l->sched->updates_each ? l->shape.m : 1;
    const double seconds = l->in->layout->framework.step_overhead / updates;
    struct ty_cost cost[TY_GENERATIONS_MAX];
    for (uint32_t g = 0; g < TY_GENERATIONS_MAX; g++) {
        cost[g] = (struct ty_cost){.seconds = seconds};
    }
    return seconds <= 0 ? TY_NONE
                        : ty_lower_compute_kind(l, "host", TY_CAT_OPTIMIZER, TY_PHASE_STEP, cost);
}

/* ---- the kinds of a slice ---- */

/* Operators of a kind of unit, in a slice; by: what layers take in a slot in which a forward and a
 * backward overlap, over what they take alone. Ends are at the edges of a pipeline and do not
 * stretch. */
struct pricing {
    struct ty_lowering *l;
    struct ty_price_at at;
    double by;
};

/* A pass of an operator, as traces call it. */
static uint16_t pass_kind(const struct pricing *p, enum ty_op_pass pass, uint32_t nth)
{
    static const struct {
        enum ty_category category;
        enum ty_phase phase;
    } rows[TY_N_OP_PASSES] = {[TY_OP_FORWARD] = {TY_CAT_FORWARD, TY_PHASE_FORWARD},
                              [TY_OP_RECOMPUTE] = {TY_CAT_RECOMPUTE, TY_PHASE_BACKWARD},
                              [TY_OP_DGRAD] = {TY_CAT_BACKWARD, TY_PHASE_BACKWARD},
                              [TY_OP_WGRAD] = {TY_CAT_BACKWARD, TY_PHASE_BACKWARD},
                              [TY_OP_INPUT] = {TY_CAT_DGRAD, TY_PHASE_DGRAD},
                              [TY_OP_WEIGHT] = {TY_CAT_WGRAD, TY_PHASE_WGRAD}};
    const struct ty_unit_op *op = &p->l->prices->units->kind[p->at.unit].op[p->at.op];
    const bool forward = pass == TY_OP_FORWARD || pass == TY_OP_RECOMPUTE;
    const bool weight = pass == TY_OP_WGRAD || pass == TY_OP_WEIGHT;
    struct ty_cost cost[TY_GENERATIONS_MAX] = {{0}};
    struct ty_price_at at = p->at;
    at.pass = pass;
    at.nth = nth;
    for (uint32_t k = 0; k < p->l->here.gpus->n_used; k++) {
        at.generation = p->l->here.gpus->used[k];
        cost[at.generation] = ty_price_pass(p->l->prices, &at, p->by);
    }
    return ty_lower_compute_kind(p->l,
                                 forward  ? op->name
                                 : weight ? op->weight
                                          : op->backward,
                                 rows[pass].category, rows[pass].phase, cost);
}

/* Passes that consist of rounds or pieces where the operator does. */
static const enum ty_op_pass parted[] = {TY_OP_FORWARD, TY_OP_RECOMPUTE, TY_OP_DGRAD, TY_OP_INPUT};

/* Takes the work of a kind from the members that have none in round `round` of an uneven ring:
 * those at earlier places of it. */
static void idle_early(struct ty_lowering *l, uint16_t number, const struct ty_unit_op *op,
                       uint32_t round)
{
    struct ty_kind *kind = &l->b.program->kinds[number];
    const struct ty_group *ring = &l->b.program->groups[l->links.group[op->rounds.group].link];
    ty_ps *dur = ty_arena_array(l->arena, ty_ps, l->members);
    for (uint32_t i = 0; dur != NULL && i < l->members; i++) {
        dur[i] = ty_group_position(ring, i) >= round ? ty_kind_duration(kind, i) : 0;
    }
    if (dur == NULL) {
        ty_build_no_memory(&l->b);
        return;
    }
    kind->dur_of = dur;
    kind->flops *= (double)(op->rounds.n - round) / op->rounds.n;
    kind->energy_uJ = rint(kind->energy_uJ * (op->rounds.n - round) / op->rounds.n);
}

/* Kinds of the second round and those after it: one for all, or one each where members differ in
 * how many rounds they have work. */
static void round_kinds(const struct pricing *p, const struct ty_unit_op *op, struct ty_op_kinds *k)
{
    const uint32_t n = op->rounds.uneven ? op->rounds.n - 1 : 1;
    k->apart = op->rounds.uneven ? TY_COUNT(parted) : 0;
    for (uint32_t round = 1; round <= n; round++) {
        uint16_t kinds[TY_COUNT(parted)];
        for (size_t i = 0; i < TY_COUNT(parted); i++) {
            kinds[i] = pass_kind(p, parted[i], round);
            k->next[parted[i]] = round == 1 ? kinds[i] : k->next[parted[i]];
        }
        for (size_t i = 0; op->rounds.uneven && i < TY_COUNT(kinds) && p->l->b.code == 0; i++) {
            idle_early(p->l, kinds[i], op, round);
        }
    }
}

/* Kinds of each piece of a product; of what comes behind the last one some may be nothing. */
static void piece_kinds(const struct pricing *p, const struct ty_unit_op *op, struct ty_op_kinds *k)
{
    struct ty_price_at at = p->at;
    at.generation = p->l->here.gpus->used[0];
    for (size_t i = 0; i < TY_COUNT(parted); i++) {
        at.pass = parted[i];
        if (ty_op_in_pieces(op, at.pass)) {
            const bool rest = ty_price_pass(p->l->prices, &at, p->by).seconds > 0;
            k->next[at.pass] = pass_kind(p, at.pass, 1);
            k->kind[at.pass] = rest ? k->kind[at.pass] : TY_NONE;
        }
    }
}

/* All passes of one operator. */
static void op_kinds(const struct pricing *p, const struct ty_unit_op *op, struct ty_op_kinds *k)
{
    const bool has[TY_N_OP_PASSES] = {
        [TY_OP_FORWARD] = true,     [TY_OP_RECOMPUTE] = op->again != 0,
        [TY_OP_DGRAD] = true,       [TY_OP_WGRAD] = ty_op_splits_wgrad(op),
        [TY_OP_INPUT] = !op->first, [TY_OP_WEIGHT] = op->weight != NULL};
    static const enum ty_op_pass order[] = {TY_OP_FORWARD, TY_OP_RECOMPUTE, TY_OP_DGRAD,
                                            TY_OP_WGRAD,   TY_OP_INPUT,     TY_OP_WEIGHT};
    memset(k, 0xff, sizeof(*k)); /* TY_NONE */
    k->apart = 0;
    for (size_t i = 0; i < TY_COUNT(order); i++) {
        k->kind[order[i]] = has[order[i]] ? pass_kind(p, order[i], 0) : TY_NONE;
    }
    if (op->rounds.n > 0) {
        round_kinds(p, op, k);
    } else if (op->pieces.n > 0) {
        piece_kinds(p, op, k);
    }
}

static void host_kinds(struct ty_lowering *l, struct ty_compute_kinds *k)
{
    static const struct {
        enum ty_phase phase;
        enum ty_category category;
    } rows[] = {{TY_PHASE_FORWARD, TY_CAT_FORWARD},
                {TY_PHASE_BACKWARD, TY_CAT_BACKWARD},
                {TY_PHASE_DGRAD, TY_CAT_DGRAD},
                {TY_PHASE_WGRAD, TY_CAT_WGRAD}};
    const bool none = l->in->layout->framework.pass_overhead <= 0 || l->shape.p == 1;
    struct ty_cost cost[TY_GENERATIONS_MAX] = {{0}};
    for (uint32_t g = 0; g < TY_GENERATIONS_MAX; g++) {
        cost[g].seconds = l->prices->host_s[g];
    }
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        k->host[rows[i].phase] =
            none ? TY_NONE
                 : ty_lower_compute_kind(l, "host", rows[i].category, rows[i].phase, cost);
    }
}

static void slice_kinds(struct ty_lowering *l, uint32_t q, double by, struct ty_compute_kinds *k)
{
    struct pricing p = {.l = l, .at = {.slice = q}, .by = by};
    for (p.at.unit = 0; p.at.unit < TY_N_UNIT_KINDS; p.at.unit++) {
        const struct ty_unit_ops *ops = &l->prices->units->kind[p.at.unit];
        for (p.at.op = 0; p.at.op < ops->n; p.at.op++) {
            op_kinds(&p, &ops->op[p.at.op], &k->op[p.at.unit][p.at.op]);
        }
    }
    host_kinds(l, k);
}

static int mix_kinds(struct ty_lowering *l, struct ty_gpu_mix *mix)
{
    const uint32_t n = l->shape.slices;
    mix->slice = ty_arena_array(l->arena, struct ty_compute_kinds, (size_t)2 * n);
    if (mix->slice == NULL) {
        return ty_fail_memory(l->b.err);
    }
    l->here.gpus = mix;
    for (uint32_t q = 0; q < n; q++) {
        slice_kinds(l, q, 1, &mix->slice[q]);
        mix->slice[n + q] = mix->slice[q];
        if (l->in->schedule->overlap_cost != 1) {
            slice_kinds(l, q, l->in->schedule->overlap_cost, &mix->slice[n + q]);
        }
    }
    return 0;
}

/* ---- mixes ---- */

/* What GPUs the members have. Of those with one kind of GPU the first stands for all; of an
 * uneven ring the last, which has work in every round. */
static void look(const struct ty_lowering *l, struct ty_gpu_mix *mix)
{
    const struct ty_layout *layout = l->in->layout;
    const bool last = layout->context > 1 && layout->context_method == TY_CONTEXT_RING;
    uint32_t place[TY_GENERATIONS_MAX];
    bool seen[TY_GENERATIONS_MAX] = {false};
    mix->n_used = 0;
    for (uint32_t i = 0; i < l->members; i++) {
        const uint32_t g = ty_lower_generation(l, l->here.rank_of[i]);
        if (mix->generation != NULL) {
            mix->generation[i] = (uint8_t)g;
        }
        if (!seen[g]) {
            seen[g] = true;
            place[g] = mix->n_used;
            mix->used[mix->n_used] = (uint8_t)g;
            mix->member[mix->n_used++] = i;
        } else if (last) {
            mix->member[place[g]] = i;
        }
    }
}

int ty_lower_gpus(struct ty_lowering *l)
{
    const bool one = ty_exceptions_n_generations(l->in->cluster) == 1;
    if (l->gpus.mix == NULL) {
        l->gpus.mix = ty_arena_array(l->arena, struct ty_gpu_mix, l->shape.p);
    }
    if (l->gpus.mix == NULL) {
        return ty_fail_memory(l->b.err);
    }
    struct ty_gpu_mix *mix = &l->gpus.mix[l->gpus.n]; /* given up again when there is one like it */
    if (!one && mix->generation == NULL) {
        mix->generation = ty_arena_array(l->arena, uint8_t, l->members);
    }
    if (!one && mix->generation == NULL) {
        return ty_fail_memory(l->b.err);
    }
    if (one && l->gpus.n > 0) {
        return 0;
    }
    look(l, mix);
    for (uint32_t i = 0; i < l->gpus.n; i++) {
        if (memcmp(l->gpus.mix[i].generation, mix->generation, l->members) == 0) {
            l->here.gpus = &l->gpus.mix[i];
            return 0;
        }
    }
    l->gpus.n++;
    const int rc = mix_kinds(l, mix);
    l->gpus.first_slowed = l->gpus.n == 1 ? l->b.program->n_kinds : l->gpus.first_slowed;
    return rc;
}
