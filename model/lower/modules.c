/* modules.c - ZeRO-3 that gathers matrix by matrix, as DeepSpeed does.
 *
 *     data comm   AG qkv  AG proj  AG up, down  |  AG qkv ...
 *     compute             qkv      core proj    |  up  down  ...
 *
 * A pass uses matrices in an order that is known beforehand: it is issued once to a sink that only
 * notes them. When the computation of one begins, what it lacks is gathered. Then the next ones
 * are gathered ahead, gather_prefetch parameters at once, until gather_live are whole. All of that
 * waits for what was computed before. A matrix is given up after its use, unless it is used again
 * before gather_reuse others, or those ahead were chosen while it was there. What its forward
 * leaves whole a backward right behind it finds.
 *
 * Matrices of gather_persistent parameters and less are never gathered. A bias is
 * gathered with its matrix, the experts of a layer are one.
 *
 * Source: microsoft/DeepSpeed runtime/zero/partitioned_param_coordinator.py (03aecee8):
 * fetch_sub_module, release_sub_module. */
#include "model/lower/offload.h"

#include <assert.h>

/* A use of a matrix, in the order of use. */
struct use {
    double params;
    uint32_t matrix; /* its number in the stage */
    uint16_t layer;
    uint8_t group; /* enum ty_comm_group */
    bool starts;   /* it is the first of its computation */
};

/* A gather: issued when use `at` begins, for use `first` and others behind it. */
struct gather {
    uint32_t at, first;
    double params;
};

struct ty_modules {
    struct use *use; /* [n] */
    uint32_t n, room, begun;
    uint32_t passed;                   /* uses of the forward pass before this backward */
    struct gather *gather;             /* [n_gathers] in the order of issue */
    uint32_t n_gathers, issued, first; /* issued first by this pass */
    struct ty_lowering *l;
    struct ty_issuer issuer; /* while uses are noted: */
    const struct ty_unit *unit;
    uint32_t number, op; /* of the unit; 1 + the operator noted last */
    enum ty_op_pass pass;
};

/* ---- uses ---- */

static bool is_gathered(const struct ty_lowering *l, const struct ty_weight *weight)
{
    return weight->params - weight->beside > l->in->layout->framework.gather_persistent &&
           ty_lower_is_shared(l, (enum ty_comm_group)weight->group);
}

/* Whether an operator begins to compute with its weights: rounds and pieces go on. */
static bool begins(struct ty_modules *m, const struct ty_unit *unit, uint32_t op,
                   enum ty_op_pass pass)
{
    const bool same = m->unit == unit && m->op == op + 1 && m->pass == pass;
    m->unit = unit;
    m->op = op + 1;
    m->pass = pass;
    return !same && (pass == TY_OP_FORWARD || pass == TY_OP_RECOMPUTE || pass == TY_OP_DGRAD ||
                     pass == TY_OP_INPUT);
}

static void note(void *to, uint32_t i, enum ty_op_pass pass, uint32_t nth)
{
    struct ty_modules *m = to;
    const struct ty_unit_op *op = &m->issuer.ops->op[i];
    const bool back = pass == TY_OP_DGRAD || pass == TY_OP_INPUT;
    bool starts = true;
    (void)nth;
    if (!begins(m, m->unit, i, pass)) {
        return;
    }
    for (uint32_t k = 0; k < op->n_weights; k++) {
        const uint32_t w = back ? op->n_weights - 1 - k : k;
        if (is_gathered(m->l, &op->weights[w]) && m->n < m->room) {
            m->use[m->n++] = (struct use){
                .params = op->weights[w].params,
                .matrix = (m->number * TY_UNIT_OPS + i) * TY_OP_WEIGHTS + w,
                .layer = m->unit->layer,
                .group = op->weights[w].group,
                .starts = starts,
            };
            starts = false;
        }
    }
}

static void pass_over(void *to, const struct ty_issuer_comm *comm)
{
    (void)to, (void)comm;
}

static void hide_nothing(void *to)
{
    (void)to;
}

static const struct ty_issuer_sink notes = {note, pass_over, hide_nothing};

static void note_pass(struct ty_modules *m, const struct ty_vstage *v, enum ty_phase phase)
{
    ty_issuer_part_fn *issue = phase == TY_PHASE_FORWARD    ? ty_issuer_forward
                               : phase == TY_PHASE_BACKWARD ? ty_issuer_backward
                                                            : ty_issuer_input;
    const bool back = phase != TY_PHASE_FORWARD;
    for (uint32_t i = 0; i < 2 * v->n_units; i++) {
        const uint32_t at = back ? 2 * v->n_units - 1 - i : i;
        const struct ty_unit *unit = &v->units[at / 2];
        if (at % 2 < unit->n_parts) {
            m->number = at / 2;
            m->op = m->unit == unit ? m->op : 0;
            m->unit = unit;
            issue(&m->issuer, &m->l->prices->units->kind[unit->kind], unit->part[at % 2].part);
        }
    }
    m->op = 0;
    m->unit = NULL;
}

/* ---- what is gathered when ---- */

/* Whether a matrix is used again before so many other parameters are. */
static bool is_near(const struct ty_modules *m, uint32_t use, uint32_t until, double reuse)
{
    double passed = 0;
    for (uint32_t k = use + 1; k < m->n && (passed < reuse || k < until); k++) {
        if (m->use[k].matrix == m->use[use].matrix) {
            return true;
        }
        passed += m->use[k].params;
    }
    return false;
}

/* Takes what comes next in the order of use, from *next on, as far as it is not there. Returns how
 * many parameters are gathered. */
static double gather_ahead(struct ty_modules *m, uint32_t use, uint32_t *next, double most,
                           bool *whole)
{
    struct gather ahead = {.at = use};
    uint8_t group = 0;
    const uint32_t end = use < m->passed ? m->passed : m->n; /* of its pass */
    for (; *next < end && ahead.params < most; ++*next) {
        const struct use *u = &m->use[*next];
        if (!whole[u->matrix] && ahead.params > 0 && u->group != group) {
            break;
        }
        if (!whole[u->matrix]) {
            ahead.first = ahead.params > 0 ? ahead.first : *next;
            ahead.params += u->params;
            group = u->group;
            whole[u->matrix] = true;
        }
    }
    if (ahead.params > 0) {
        m->gather[m->n_gathers++] = ahead;
    }
    return ahead.params;
}

/* Gathers that a use finds issued and not yet used. */
static uint32_t count_ahead(const struct ty_modules *m, uint32_t use)
{
    uint32_t n = 0;
    while (n < m->n_gathers && m->gather[m->n_gathers - 1 - n].first > use) {
        n++;
    }
    return n;
}

static void plan(struct ty_modules *m, bool *whole)
{
    const struct ty_framework *f = &m->l->in->layout->framework;
    double live = 0;
    uint32_t next = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct use *u = &m->use[i];
        if (!whole[u->matrix]) {
            m->gather[m->n_gathers++] = (struct gather){i, i, u->params};
            whole[u->matrix] = true;
            live += u->params;
        }
        next = next > i ? next : i + 1;
        const double room = f->gather_live - live;
        if (count_ahead(m, i) < TY_PREFETCH_MAX) {
            live += gather_ahead(m, i, &next, room < f->gather_prefetch ? room : f->gather_prefetch,
                                 whole);
        }
        if (!is_near(m, i, next, f->gather_reuse)) {
            whole[u->matrix] = false;
            live -= u->params;
        }
    }
}

/* ---- the pass ---- */

static size_t count_weights(const struct ty_lowering *l, const struct ty_vstage *v)
{
    size_t n = 0;
    for (uint32_t u = 0; u < v->n_units; u++) {
        const struct ty_unit_ops *ops = &l->prices->units->kind[v->units[u].kind];
        for (uint32_t i = 0; i < ops->n; i++) {
            n += ops->op[i].n_weights;
        }
    }
    return n;
}

void ty_lower_modules_begin(struct ty_lowering *l, const struct ty_block_want *want)
{
    const struct ty_layout *layout = l->in->layout;
    l->emit.modules = NULL;
    if (!ty_layout_gathers_modules(layout) || layout->home.parameters != TY_HOME_GPU ||
        want->found == TY_FOUND_ALL) {
        return;
    }
    const size_t matrices = (size_t)want->v->n_units * TY_UNIT_OPS * TY_OP_WEIGHTS;
    const size_t uses = 3 * count_weights(l, want->v); /* forward, again, backward */
    struct ty_modules *m = ty_arena_array(l->arena, struct ty_modules, 1);
    bool *whole = ty_arena_array(l->arena, bool, matrices);
    struct use *use = ty_arena_array(l->arena, struct use, uses);
    struct gather *gather = ty_arena_array(l->arena, struct gather, 2 * uses);
    if (m == NULL || whole == NULL || use == NULL || gather == NULL) {
        ty_build_no_memory(&l->b);
        return;
    }
    *m = (struct ty_modules){.use = use, .room = (uint32_t)uses, .gather = gather, .l = l};
    m->issuer = (struct ty_issuer){
        .sink = &notes, .to = m, .layout = layout, .woven = want->woven, .second = false};
    if (want->found == TY_FOUND_LAST) {
        note_pass(m, want->v, TY_PHASE_FORWARD);
        m->passed = m->begun = m->n;
    }
    note_pass(m, want->v, want->phase);
    plan(m, whole);
    while (m->first < m->n_gathers && m->gather[m->first].at < m->passed) {
        m->first++; /* the forward's own */
    }
    m->issued = m->first;
    l->emit.modules = m;
}

static void issue(struct ty_lowering *l, struct ty_modules *m, uint32_t i)
{
    const struct gather *g = &m->gather[i];
    const struct use *u = &m->use[g->first];
    const enum ty_comm_group group = (enum ty_comm_group)u->group;
    const struct ty_priced_comm what =
        ty_price_gather(l->in->layout, group, TY_PHASE_FORWARD, g->params);
    const uint8_t waits[] = {TY_EVENT_COMPUTE, TY_EVENT_REPLICATED};
    ty_lower_collective(l, group, ty_lower_group_kind(l, &what), u->layer, TY_PART_NONE,
                        (uint8_t)(TY_EVENT_GATHER + i % (TY_PREFETCH_MAX + 1)), waits,
                        ty_lower_is_hybrid(l) && i == m->first ? 2 : 1);
}

void ty_lower_use(struct ty_lowering *l, uint32_t op, enum ty_op_pass pass)
{
    struct ty_modules *m = l->emit.modules;
    if (m == NULL || !begins(m, l->emit.unit, op, pass)) {
        return;
    }
    const struct ty_unit_op *is = &l->prices->units->kind[l->emit.unit->kind].op[op];
    uint32_t n = 0, needed = UINT32_MAX;
    for (uint32_t k = 0; k < is->n_weights; k++) {
        n += is_gathered(l, &is->weights[k]);
    }
    assert(m->begun + n <= m->n && (n == 0 || m->use[m->begun].starts));
    m->begun += n;
    for (; n > 0 && m->issued < m->n_gathers && m->gather[m->issued].at < m->begun; m->issued++) {
        issue(l, m, m->issued);
    }
    for (uint32_t i = m->first; n > 0 && i < m->issued; i++) { /* on one stream: the last */
        const uint32_t first = m->gather[i].first;
        needed = first >= m->begun - n && first < m->begun ? i : needed;
    }
    if (needed != UINT32_MAX) {
        ty_lower_need(l, (uint8_t)(TY_EVENT_GATHER + needed % (TY_PREFETCH_MAX + 1)));
    }
}

bool ty_lower_gather_modules(struct ty_lowering *l, const struct ty_unit *unit, uint8_t event,
                             const uint8_t *waits, uint32_t n_waits)
{
    const struct ty_unit_ops *ops = &l->prices->units->kind[unit->kind];
    bool any = false;
    for (uint32_t i = 0; i < ops->n && ty_layout_gathers_modules(l->in->layout); i++) {
        for (uint32_t k = 0; k < ops->op[i].n_weights; k++) {
            const struct ty_weight *weight = &ops->op[i].weights[k];
            const enum ty_comm_group group = (enum ty_comm_group)weight->group;
            if (is_gathered(l, weight)) {
                const struct ty_priced_comm what =
                    ty_price_gather(l->in->layout, group, TY_PHASE_FORWARD, weight->params);
                ty_lower_collective(l, group, ty_lower_group_kind(l, &what), unit->layer,
                                    TY_PART_NONE, event, waits, n_waits);
                any = true;
            }
        }
    }
    return any;
}
