/* gpus.c - kinds of computation, with the durations that the GPUs of a gang give them.
 *
 * Nodes may have GPUs of different generations, so members of a gang may differ, and gangs may:
 *
 *     stage 0   A A A A   durations of A for all
 *     stage 1   A A B B   member by member
 *     stage 2   A A B B   the kinds of stage 1 once more
 *
 * Costs are worked out once per generation (compute.c), kinds made once per mix of them. */
#include "model/lower/internal.h"

#include <assert.h>
#include <string.h>

_Static_assert(sizeof(struct ty_compute_costs) % sizeof(struct ty_cost) == 0, "costs only");

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
                               enum ty_phase phase, const struct ty_cost *cost, size_t stride)
{
    const struct ty_gpu_mix *mix = l->here.gpus;
    struct ty_kind kind = {.name = name, .category = (uint8_t)category, .phase = (uint8_t)phase};
    ty_ps dur[TY_GENERATIONS_MAX] = {0};
    for (uint32_t k = 0; k < mix->n_used; k++) {
        dur[k] = ty_lower_ps(l, cost[mix->used[k] * stride].seconds);
    }
    kind.flops = cost[mix->used[0] * stride].flops;
    ty_lower_durations(l, dur, &kind);
    return ty_lower_add_kind(l, &kind);
}

uint16_t ty_lower_optimizer_kind(struct ty_lowering *l, double params)
{
    struct ty_cost cost[TY_GENERATIONS_MAX] = {{0, 0}};
    for (uint32_t k = 0; k < l->here.gpus->n_used; k++) {
        const uint32_t g = l->here.gpus->used[k];
        cost[g] =
            ty_adam_cost(&ty_exceptions_cluster(l->in->cluster, g)->gpu, l->in->layout, params);
    }
    return ty_lower_compute_kind(l, "optimizer step", TY_CAT_OPTIMIZER, TY_PHASE_STEP, cost, 1);
}

/* ---- the kinds of a slice ---- */

static uint16_t kind(struct ty_lowering *l, const char *name, enum ty_category category,
                     enum ty_phase phase, const struct ty_cost *cost)
{
    const size_t row = sizeof(struct ty_compute_costs) / sizeof(struct ty_cost);
    return ty_lower_compute_kind(l, name, category, phase, cost, (size_t)2 * l->shape.slices * row);
}

/* What traces call an operator in a pass. */
static uint16_t pass_kind(struct ty_lowering *l, const struct ty_unit_op *op, enum ty_op_pass pass,
                          const struct ty_cost *cost)
{
    switch (pass) {
    case TY_OP_FORWARD:
        return kind(l, op->name, TY_CAT_FORWARD, TY_PHASE_FORWARD, cost);
    case TY_OP_RECOMPUTE:
        return kind(l, op->name, TY_CAT_RECOMPUTE, TY_PHASE_BACKWARD, cost);
    case TY_OP_DGRAD:
        return kind(l, op->backward, TY_CAT_BACKWARD, TY_PHASE_BACKWARD, cost);
    case TY_OP_WGRAD:
        return kind(l, op->weight, TY_CAT_BACKWARD, TY_PHASE_BACKWARD, cost);
    case TY_OP_INPUT:
        return kind(l, op->backward, TY_CAT_DGRAD, TY_PHASE_DGRAD, cost);
    default:
        return kind(l, op->weight, TY_CAT_WGRAD, TY_PHASE_WGRAD, cost);
    }
}

/* Passes that consist of rounds or pieces where the operator does. */
static const enum ty_op_pass parted[] = {TY_OP_FORWARD, TY_OP_RECOMPUTE, TY_OP_DGRAD, TY_OP_INPUT};

/* All passes of one operator, in one piece, of its first round or of each of its steps; whole: both
 * gradients as one, where they are. */
static struct ty_op_kinds op_kinds(struct ty_lowering *l, const struct ty_unit_op *op,
                                   const struct ty_op_costs *cost, const struct ty_cost *whole)
{
    struct ty_op_kinds k;
    memset(&k, 0xff, sizeof(k)); /* TY_NONE */
    k.apart = 0;
    const bool split = ty_issuer_splits_wgrad(op);
    k.kind[TY_OP_FORWARD] = pass_kind(l, op, TY_OP_FORWARD, &cost->forward);
    if (op->again != 0) {
        k.kind[TY_OP_RECOMPUTE] = pass_kind(l, op, TY_OP_RECOMPUTE, &cost->recompute);
    }
    k.kind[TY_OP_DGRAD] = pass_kind(l, op, TY_OP_DGRAD, split ? &cost->dgrad : whole);
    if (split) {
        k.kind[TY_OP_WGRAD] = pass_kind(l, op, TY_OP_WGRAD, &cost->wgrad);
    }
    if (!op->first) {
        k.kind[TY_OP_INPUT] = pass_kind(l, op, TY_OP_INPUT, &cost->input);
    }
    if (op->weight != NULL) {
        k.kind[TY_OP_WEIGHT] = pass_kind(l, op, TY_OP_WEIGHT, op->first ? whole : &cost->weight);
    }
    return k;
}

/* Takes the work of a kind from the members that have none in round `round` of an uneven ring:
 * those at earlier places of it. */
static void idle_early(struct ty_lowering *l, uint16_t number, const struct ty_unit_op *op,
                       uint32_t round)
{
    struct ty_kind *kind = &l->b.program->kinds[number];
    const struct ty_group *ring = &l->b.program->groups[l->group[op->rounds.group].link];
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
}

/* Kinds of the second round and those after it: one for all, or one each where members differ in
 * how many rounds they have work. */
static void round_kinds(struct ty_lowering *l, const struct ty_unit_op *op,
                        const struct ty_op_costs *next, struct ty_op_kinds *k)
{
    const uint32_t n = op->rounds.uneven ? op->rounds.n - 1 : 1;
    k->apart = op->rounds.uneven ? TY_COUNT(parted) : 0;
    for (uint32_t round = 1; round <= n; round++) {
        uint16_t kinds[TY_COUNT(parted)];
        for (size_t i = 0; i < TY_COUNT(parted); i++) {
            kinds[i] = pass_kind(l, op, parted[i], &(&next->forward)[parted[i]]);
            k->next[parted[i]] = round == 1 ? kinds[i] : k->next[parted[i]];
        }
        for (size_t i = 0; op->rounds.uneven && i < TY_COUNT(kinds) && l->b.code == 0; i++) {
            idle_early(l, kinds[i], op, round);
        }
    }
}

/* Kinds of each piece of a product, and of what comes behind the last one. */
static struct ty_op_kinds piece_kinds(struct ty_lowering *l, const struct ty_unit_op *op,
                                      const struct ty_op_costs *rest,
                                      const struct ty_op_costs *piece)
{
    struct ty_op_kinds k = op_kinds(l, op, rest, NULL);
    for (size_t i = 0; i < TY_COUNT(parted); i++) {
        const enum ty_op_pass pass = parted[i];
        if (ty_issuer_in_pieces(op, pass)) {
            k.next[pass] = pass_kind(l, op, pass, &(&piece->forward)[pass]);
            k.kind[pass] = ty_op_cost(rest, pass).seconds > 0 ? k.kind[pass] : TY_NONE;
        }
    }
    return k;
}

static void unit_kinds(struct ty_lowering *l, const struct ty_compute_costs *c,
                       struct ty_compute_kinds *k)
{
    for (enum ty_unit_kind u = 0; u < TY_N_UNIT_KINDS; u++) {
        for (uint32_t i = 0; i < l->units->kind[u].n; i++) {
            const struct ty_unit_op *op = &l->units->kind[u].op[i];
            if (op->steps.n > 0) {
                k->op[u][i] = op_kinds(l, op, &c->next[u][i], NULL);
            } else if (op->pieces.n > 0) {
                k->op[u][i] = piece_kinds(l, op, &c->first[u][i], &c->next[u][i]);
            } else if (op->rounds.n == 0) {
                k->op[u][i] = op_kinds(l, op, &c->op[u][i], &c->whole[u][i]);
            } else {
                k->op[u][i] = op_kinds(l, op, &c->first[u][i], &c->first[u][i].dgrad);
                round_kinds(l, op, &c->next[u][i], &k->op[u][i]);
            }
        }
    }
}

static void host_kinds(struct ty_lowering *l, const struct ty_compute_costs *c,
                       struct ty_compute_kinds *k)
{
    static const struct {
        enum ty_phase phase;
        enum ty_category category;
    } rows[] = {{TY_PHASE_FORWARD, TY_CAT_FORWARD},
                {TY_PHASE_BACKWARD, TY_CAT_BACKWARD},
                {TY_PHASE_DGRAD, TY_CAT_DGRAD},
                {TY_PHASE_WGRAD, TY_CAT_WGRAD}};
    const bool none = l->in->layout->framework.pass_overhead <= 0 || l->shape.p == 1;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        k->host[rows[i].phase] =
            none ? TY_NONE : kind(l, "host", rows[i].category, rows[i].phase, &c->host);
    }
}

static void slice_kinds(struct ty_lowering *l, uint32_t q, struct ty_compute_kinds *k)
{
    const struct ty_compute_costs *c = &l->costs[q];
    unit_kinds(l, c, k);
    host_kinds(l, c, k);
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
        slice_kinds(l, q, &mix->slice[q]);
        mix->slice[n + q] = mix->slice[q];
        if (l->in->schedule->overlap_cost != 1) {
            slice_kinds(l, n + q, &mix->slice[n + q]);
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
    if (l->mix == NULL) {
        l->mix = ty_arena_array(l->arena, struct ty_gpu_mix, l->shape.p);
    }
    if (l->mix == NULL) {
        return ty_fail_memory(l->b.err);
    }
    struct ty_gpu_mix *mix = &l->mix[l->n_mixes]; /* given up again when there is one like it */
    if (!one && mix->generation == NULL) {
        mix->generation = ty_arena_array(l->arena, uint8_t, l->members);
    }
    if (!one && mix->generation == NULL) {
        return ty_fail_memory(l->b.err);
    }
    if (one && l->n_mixes > 0) {
        return 0;
    }
    look(l, mix);
    for (uint32_t i = 0; i < l->n_mixes; i++) {
        if (memcmp(l->mix[i].generation, mix->generation, l->members) == 0) {
            l->here.gpus = &l->mix[i];
            return 0;
        }
    }
    l->n_mixes++;
    const int rc = mix_kinds(l, mix);
    l->first_slowed = l->n_mixes == 1 ? l->b.program->n_kinds : l->first_slowed;
    return rc;
}
