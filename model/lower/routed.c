/* routed.c - layers whose experts have different loads (run.routing): the rows that routing brings
 * to each member of a pipeline rank, and the kinds that follow from them.
 *
 * Kinds of operations are shared by all layers of a kind. Where routing is uneven those of routed
 * operators, and of what brings rows to them and back, are made again for every layer, with
 * durations member by member: what a rank's experts take for the rows that they get, and what the
 * fullest rank of a group takes for an exchange, which all of the group take part in. Everything
 * else stays as it is, and what waits for whom comes out of that.
 *
 * Where the host sets the pace (host.c) a kernel lasts at least as long as its launch. */
#include "model/lower/internal.h"

#include <math.h>
#include <string.h>

_Static_assert(sizeof(struct ty_op_costs) % sizeof(struct ty_cost) == 0, "costs only");

/* ---- loads ----
 *
 * Members of a gang are groups that hold all experts of a layer once, expert-tensor ranks next to
 * each other; expert rank r of a group has the r-th stretch of experts (model/parallel/expert.c):
 *
 *     member      0 1 | 2 3 | 4 5 | 6 7 | ...        expert-tensor 2, expert 4
 *     experts     0 1 | 2 3 | 4 5 | 6 7 |            of 8
 *     group       0                     | 1 ...
 *
 * A group's tokens are its own, so loads of groups differ by chance, those of ranks by popularity,
 * too. With a capacity what is above it is dropped; padded to it, all experts work alike. */

/* Whether ranks may have different loads. */
static bool is_routed(const struct ty_lowering *l)
{
    const struct ty_token_routing *routing = l->in->routing;
    return routing != NULL && routing->method != TY_TOKENS_BALANCED && ty_arch_is_moe(l->in->arch);
}

/* Rows of an expert that are kept; *dropped: sum of those that are not. */
static double kept(const struct ty_lowering *l, double rows, double mean, double *dropped)
{
    const struct ty_framework *f = &l->in->layout->framework;
    /* as each sender counts: ceil(c k T / E) of its rows (Megatron-LM's get_capacity) */
    const double senders = (double)l->in->layout->expert * l->in->layout->expert_tensor;
    const double room = f->capacity > 0 ? senders * ceil(f->capacity * mean / senders) : rows;
    *dropped += rows > room ? rows - room : 0;
    return f->pad_to_capacity && f->capacity > 0 ? room : fmin(rows, room);
}

/* The rows of one group's experts, and of its members. */
static int load_group(struct ty_lowering *l, struct ty_layer_load *load, uint32_t group)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_arch *arch = l->in->arch;
    const uint32_t ranks = layout->expert * layout->expert_tensor;
    const uint32_t n = arch->experts, local = n / layout->expert;
    const struct ty_routed who = {
        .seed = l->in->seed,
        .layer = load->layer,
        .group = l->here.rank * (l->members / ranks) + group,
        .experts = n,
        .top_k = arch->experts_per_token,
        .rows = round(l->prices->part->shard.own_tokens * ranks) * arch->experts_per_token,
    };
    double *rows = &load->expert_rows[(size_t)group * n], dropped = 0;
    const int rc = ty_token_routing_rows(l->in->routing, &who, rows, l->b.err);
    for (uint32_t e = 0; e < n && rc == 0; e++) {
        rows[e] = kept(l, rows[e], who.rows / n, &dropped);
    }
    for (uint32_t i = 0; i < ranks && rc == 0; i++) {
        const uint32_t first = i / layout->expert_tensor * local;
        for (uint32_t e = first; e < first + local; e++) {
            load->rows[group * ranks + i] += rows[e];
        }
    }
    load->mean = l->prices->part->shard.expert_rows;
    load->dropped += dropped / who.rows / (l->members / ranks);
    return rc;
}

static int find_load(struct ty_lowering *l, uint32_t layer, struct ty_layer_load *load)
{
    const uint32_t ranks = l->in->layout->expert * l->in->layout->expert_tensor;
    const uint32_t groups = l->members / ranks;
    *load = (struct ty_layer_load){.layer = layer};
    load->rows = ty_arena_array(l->arena, double, l->members);
    load->expert_rows = ty_arena_array(l->arena, double, (size_t)groups * l->in->arch->experts);
    if (load->rows == NULL || load->expert_rows == NULL) {
        return ty_fail_memory(l->b.err);
    }
    int rc = 0;
    for (uint32_t g = 0; g < groups && rc == 0; g++) {
        rc = load_group(l, load, g);
    }
    return rc;
}

const double *ty_layer_load_experts(const struct ty_layer_load *load,
                                    const struct ty_layout *layout, uint32_t experts,
                                    uint32_t member)
{
    const uint32_t ranks = layout->expert * layout->expert_tensor;
    const uint32_t place = member % ranks / layout->expert_tensor;
    return &load->expert_rows[(size_t)(member / ranks) * experts +
                              (size_t)place * (experts / layout->expert)];
}

double ty_layer_load_most(const struct ty_layer_load *load, uint32_t members, uint32_t *where)
{
    *where = 0;
    for (uint32_t i = 1; i < members; i++) {
        *where = load->rows[i] > load->rows[*where] ? i : *where;
    }
    return load->rows[*where] / load->mean;
}

/* ---- computation ---- */

/* An operator with the rows of one member: `share` of the mean, `experts` by expert. */
static struct ty_unit_op with_rows(const struct ty_unit_op *op, double share, const double *experts)
{
    struct ty_unit_op out = *op;
    for (uint32_t i = 0; i < out.n_kernels; i++) {
        struct ty_kernel *kernel = &out.kernel[i];
        switch (kernel->op) {
        case TY_OPERATOR_MATMUL:
            kernel->matmul.rows *= share;
            break;
        case TY_OPERATOR_GROUPED:
            kernel->grouped.rows *= share;
            kernel->grouped.group_rows = experts;
            break;
        case TY_OPERATOR_PERMUTE:
        case TY_OPERATOR_UNPERMUTE:
            kernel->permute.rows *= share;
            kernel->permute.tokens *= share;
            break;
        default:
            kernel->elements *= share;
            break;
        }
    }
    return out;
}

/* Seconds of one pass with other rows: `base` is what it takes with mean ones, in a layer of which
 * the host may set the pace, `mean` and `now` what its kernels alone take. */
static double with_host(double base, double mean, double now)
{
    return base > mean + 1e-12 ? fmax(now, base) : now;
}

/* Costs of every member, from those of the mean rank on its GPU. */
static void price_members(const struct ty_lowering *l, const struct ty_unit_op *op,
                          const struct ty_layer_load *load, struct ty_op_costs *mean,
                          struct ty_op_costs *out)
{
    const struct ty_gpu_mix *mix = l->here.gpus;
    uint32_t before = UINT32_MAX;
    for (uint32_t m = 0; m < l->members; m++) {
        const uint32_t g = mix->generation != NULL ? mix->generation[m] : mix->used[0];
        const struct ty_gpu *gpu = &ty_exceptions_cluster(l->in->cluster, g)->gpu;
        if (m % l->in->layout->expert_tensor != 0 && g == before) { /* the same experts */
            out[m] = out[m - 1];
            mean[m] = mean[m - 1];
            continue;
        }
        const struct ty_unit_op other =
            with_rows(op, load->rows[m] / load->mean,
                      ty_layer_load_experts(load, l->in->layout, l->in->arch->experts, m));
        ty_op_price(&other, l->in->layout, gpu, &out[m]);
        if (g == before) {
            mean[m] = mean[m - 1];
        } else {
            ty_op_price(op, l->in->layout, gpu, &mean[m]);
        }
        before = g;
    }
}

/* The kind like `base` with a duration for each member, or it. `at`: which of the costs, and a
 * second that comes on top of it; negative: none. */
static uint16_t kind_like(struct ty_lowering *l, uint16_t base, double by, double work,
                          const int at[2], const struct ty_routed_scratch *s)
{
    if (base == TY_NONE) {
        return base;
    }
    struct ty_kind kind = l->b.program->kinds[base];
    ty_ps *dur = ty_arena_array(l->arena, ty_ps, l->members);
    bool as_base = true, equal = true;
    for (uint32_t m = 0; dur != NULL && m < l->members; m++) {
        double mean = 0, now = 0;
        for (uint32_t i = 0; i < 2 && at[i] >= 0; i++) {
            mean += by * (&s->mean[m].forward)[at[i]].seconds;
            now += by * (&s->now[m].forward)[at[i]].seconds;
        }
        const ty_ps was = ty_kind_duration(&kind, m);
        dur[m] = ty_lower_ps(l, with_host(ty_s_from_ps(was), mean, now));
        as_base = as_base && dur[m] == was;
        equal = equal && dur[m] == dur[0];
    }
    if (dur == NULL) {
        ty_build_no_memory(&l->b);
    }
    if (dur == NULL || as_base) {
        return base;
    }
    kind.dur = dur[0];
    kind.dur_of = equal ? NULL : dur;
    kind.flops *= work;
    kind.energy_uJ = rint(kind.energy_uJ * work);
    return ty_lower_add_kind(l, &kind);
}

void ty_lower_kinds_like(struct ty_lowering *l, const struct ty_unit_op *op, double by, double work,
                         const struct ty_routed_scratch *s, uint16_t kind[TY_N_OP_PASSES])
{
    const bool split = ty_op_splits_wgrad(op);
    const struct {
        enum ty_op_pass pass;
        int at[2];
    } rows[] = {
        {TY_OP_FORWARD, {TY_OP_FORWARD, -1}},
        {TY_OP_RECOMPUTE, {TY_OP_RECOMPUTE, -1}},
        {TY_OP_DGRAD, {TY_OP_DGRAD, split ? -1 : TY_OP_WGRAD}},
        {TY_OP_WGRAD, {TY_OP_WGRAD, -1}},
        {TY_OP_INPUT, {TY_OP_INPUT, -1}},
        {TY_OP_WEIGHT, {op->first ? TY_OP_DGRAD : TY_OP_WEIGHT, op->first ? TY_OP_WGRAD : -1}}};
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        kind[rows[i].pass] = kind_like(l, kind[rows[i].pass], by, work, rows[i].at, s);
    }
}

/* ---- exchanges ---- */

/* The largest load of a rank and of a node, over the mean, among the ranks that exchange rows with
 * a member; not its own. */
static struct ty_member_load load_around(const struct ty_lowering *l,
                                         const struct ty_layer_load *load, uint32_t member)
{
    const struct ty_group *g = &l->b.program->groups[l->links.group[TY_GROUP_EXPERT].link];
    const uint32_t first = ty_group_first(g, member);
    struct ty_member_load out = {.own = 0};
    for (uint32_t i = 0; i < g->count; i++) {
        const uint32_t a = first + i * g->stride;
        const uint32_t node = ty_grid_node(&l->out->grid, l->here.rank_of[a]);
        double rows = 0, n = 0;
        for (uint32_t k = 0; k < g->count; k++) {
            const uint32_t b = first + k * g->stride;
            const bool same = ty_grid_node(&l->out->grid, l->here.rank_of[b]) == node;
            rows += same ? load->rows[b] : 0;
            n += same;
        }
        out.rank = fmax(out.rank, load->rows[a] / load->mean);
        out.node = fmax(out.node, rows / (n * load->mean));
    }
    return out;
}

static const struct ty_member_load *loads_around(struct ty_lowering *l,
                                                 const struct ty_layer_load *load)
{
    const bool alone = l->links.group[TY_GROUP_EXPERT].link == TY_NONE;
    struct ty_member_load *out =
        alone ? NULL : ty_arena_array(l->arena, struct ty_member_load, l->members);
    for (uint32_t m = 0; out != NULL && m < l->members; m++) {
        const struct ty_group *g = &l->b.program->groups[l->links.group[TY_GROUP_EXPERT].link];
        const uint32_t first = ty_group_first(g, m);
        out[m] = first < m ? out[first] : load_around(l, load, m);
        out[m].own = load->rows[m] / load->mean;
    }
    if (!alone && out == NULL) {
        ty_build_no_memory(&l->b);
    }
    return out;
}

/* What brings rows to experts or back; not what every rank gets of every token, nor counts. */
static bool moves_rows(const struct ty_priced_comm *what)
{
    return what->exchange != NULL || what->group == TY_GROUP_EXPERT_TENSOR;
}

static void comm_kinds(struct ty_lowering *l, const struct ty_unit_op *op,
                       const struct ty_member_load *loads, uint16_t kind[TY_OP_COMMS])
{
    for (uint32_t slot = TY_COMM_PLACE; slot < TY_COMM_STEP && loads != NULL; slot++) {
        struct ty_priced_comm what;
        if (ty_price_slot(op, slot, &what) && moves_rows(&what)) {
            kind[slot] = ty_lower_loaded_kind(l, &what, kind[slot], loads);
        }
    }
}

/* ---- layers ---- */

struct ty_routed_scratch *ty_lower_scratch(struct ty_lowering *l)
{
    struct ty_routed_scratch *s = &l->routed;
    if (s->now == NULL) {
        s->mean = ty_arena_array(l->arena, struct ty_op_costs, l->members);
        s->now = ty_arena_array(l->arena, struct ty_op_costs, l->members);
    }
    if (s->mean == NULL || s->now == NULL) {
        ty_build_no_memory(&l->b);
        return NULL;
    }
    return s;
}

/* Where overlapped slots take longer, they have kinds of their own. */
static void layer_kinds(struct ty_lowering *l, enum ty_unit_kind u,
                        const struct ty_layer_load *load, struct ty_routed_kinds *k)
{
    const struct ty_unit_ops *ops = &l->prices->part->kind[u];
    const struct ty_member_load *loads = loads_around(l, load);
    const struct ty_routed_scratch *s = ty_lower_scratch(l);
    const uint32_t n = l->shape.slices;
    const double by = l->in->schedule->overlap_cost;
    for (uint32_t i = 0; i < ops->n && s != NULL && l->b.code == 0; i++) {
        comm_kinds(l, &ops->op[i], loads, k->comm[i]);
        if (ops->op[i].routed) {
            price_members(l, &ops->op[i], load, s->mean, s->now);
        }
        for (uint32_t q = 0; q < 2 * n && ops->op[i].routed; q++) {
            if (q > 0 && (q < n || by == 1)) { /* slices differ in attention only */
                k->slice[q][i] = k->slice[0][i];
            } else if (q > n) {
                k->slice[q][i] = k->slice[n][i];
            } else {
                ty_lower_kinds_like(l, &ops->op[i], q < n ? 1 : by, 1, s, k->slice[q][i].kind);
            }
        }
    }
}

static int route(struct ty_lowering *l, struct ty_unit *unit, struct ty_layer_load *load)
{
    const uint32_t n = 2 * l->shape.slices;
    struct ty_routed_kinds *k = ty_arena_array(l->arena, struct ty_routed_kinds, 1);
    const int rc = find_load(l, unit->layer, load);
    if (k != NULL) {
        k->slice = ty_arena_alloc(l->arena, n, sizeof(*k->slice));
    }
    if (rc < 0 || k == NULL || k->slice == NULL) {
        return rc < 0 ? rc : ty_fail_memory(l->b.err);
    }
    for (uint32_t q = 0; q < n; q++) {
        memcpy(k->slice[q], l->here.gpus->slice[q].op[unit->kind], sizeof(k->slice[q]));
    }
    memcpy(k->comm, l->here.comm.op[unit->kind], sizeof(k->comm));
    layer_kinds(l, unit->kind, load, k);
    unit->routed = k;
    unit->load = load;
    return l->b.code;
}

int ty_lower_route(struct ty_lowering *l, struct ty_vstage *v)
{
    struct ty_stage_plan *plan = &l->out->stage[l->here.rank];
    if (!is_routed(l)) {
        return 0;
    }
    if (plan->load == NULL) {
        plan->load = ty_arena_array(l->arena, struct ty_layer_load,
                                    (size_t)plan->n_layers + l->in->arch->mtp);
    }
    if (plan->load == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t i = 0; i < v->n_units; i++) {
        const struct ty_unit *unit = &v->units[i];
        if (ty_unit_is_layer(unit->kind) && ty_arch_has_experts(l->in->arch, unit->layer)) {
            const int rc = route(l, &v->units[i], &plan->load[plan->n_loads++]);
            if (rc < 0) {
                return rc;
            }
        }
    }
    return 0;
}
