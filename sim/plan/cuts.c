/* cuts.c - see cuts.h.
 *
 * A time T is beaten by some cut only if stages can be dealt layers one after the other so that
 * every chain through each of them is shorter. Of a chain the forwards of other stages are what
 * their layers take, wherever these are cut; the backwards of stages before are the least sum
 *
 *     g(s, j) = min over i of g(s - 1, i) + up(s, i, j)     of i for which no chain through stage s
 *                                                           is longer than T
 *
 * and those of stages behind the least sum without T. So T is too little where g of all layers is
 * not finite, and bisection finds the least that is not too little. */
#include "sim/plan/cuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/plan/cuts_internal.h"

#define CLOSE     1e-6    /* of the bound: how far bisection goes */
#define WALK_MOST 200000u /* stages of cuts that are looked at one after the other */

struct solver {
    const struct ty_cut *cut;
    bool equal;               /* layers: what a stage repeats depends on how many it has */
    double **extra, **update; /* [stages x (layers + 1)] of a stage from a layer on: once() */
    const struct ty_plan_traffic ***traffic; /* the same */
    uint32_t *count;                         /* [layers + 1][kinds] of the layers before */
    struct ty_deal_hull **hull;              /* [deals x stages] */
    double *g;                               /* [stages + 1][layers + 1] */
    double *behind; /* the same: backwards of the stages from one on, from a layer on */
    double *down;   /* [stages + 1] forwards of the stages before, beside layers */
    struct ty_arena *arena;
    bool no_memory;
};

/* ps of a stage with layers [from, to). */
typedef double stage_fn(struct solver *x, uint32_t s, uint32_t from, uint32_t to);

static size_t at(const struct solver *x, uint32_t stage, uint32_t layer)
{
    return (size_t)stage * (x->cut->n_layers + 1) + layer;
}

/* ---- what has to run again ---- */

static const struct ty_deal_hull *hull_of(struct solver *x, uint32_t deal, uint32_t s)
{
    struct ty_deal_hull **hull = &x->hull[deal * x->cut->n_stages + s];
    if (*hull == NULL) {
        *hull = ty_arena_array(x->arena, struct ty_deal_hull, 1);
        x->no_memory = x->no_memory || *hull == NULL;
        if (*hull != NULL) {
            ty_deal_hull(&x->cut->deal[deal], s, *hull);
        }
    }
    return *hull;
}

static double relaxed(struct solver *x, uint32_t deal, uint32_t s, uint32_t from, uint32_t to)
{
    const struct ty_deal *d = &x->cut->deal[deal];
    const struct ty_deal_hull *hull = hull_of(x, deal, s);
    uint32_t n[TY_LAYER_KINDS] = {0};
    for (uint32_t k = 0; k < d->n_kinds; k++) {
        n[k] = x->count[(size_t)to * d->n_kinds + k] - x->count[(size_t)from * d->n_kinds + k];
    }
    return hull != NULL ? ty_deal_relaxed(hull, n) : 0;
}

/* ---- replicas ---- */

static const struct ty_plan_traffic *traffic_of(struct solver *x, uint32_t s, uint32_t from,
                                                uint32_t to)
{
    static const struct ty_plan_traffic none = {0};
    const struct ty_plan_traffic ***row = &x->traffic[at(x, s, x->equal ? 0 : from)];
    const uint32_t i = x->equal ? to - from : to;
    if (*row == NULL) {
        *row = ty_arena_alloc(x->arena, x->cut->n_layers + (size_t)1, sizeof(**row));
    }
    if (*row != NULL && (*row)[i] == NULL) {
        (*row)[i] = ty_cut_traffic(x->cut, s, from, to);
    }
    x->no_memory = x->no_memory || *row == NULL || (*row)[i] == NULL;
    return x->no_memory ? &none : (*row)[i];
}

static double backward_of(const struct solver *x, uint32_t s, uint32_t from, uint32_t to)
{
    const double *time = x->cut->time[TY_PHASE_BACKWARD];
    return x->cut->stage[s].own[TY_PHASE_BACKWARD] + time[to] - time[from];
}

/* What a backward takes at least as it waits for its reductions, beyond what it computes. */
static double waiting(struct solver *x, uint32_t s, uint32_t from, uint32_t to)
{
    const bool waits = x->cut->replicas != NULL && x->cut->replicas->waits;
    const double piled = waits ? traffic_of(x, s, from, to)->piled : 0;
    return piled > 0 ? fmax(0, x->cut->stage[s].with_send + piled - backward_of(x, s, from, to))
                     : 0;
}

/* Behind the last backward of a rank. */
static double exposed(struct solver *x, uint32_t s, uint32_t from, uint32_t to, double more)
{
    const struct ty_cut_replicas *r = x->cut->replicas;
    if (r == NULL || r->look.order->split) {
        return 0;
    }
    const struct ty_plan_traffic *t = traffic_of(x, s, from, to);
    if (r->late && (!r->waits || t->piled <= 0)) {
        return t->reduce;
    }
    const double ends = r->waits && t->piled > 0 ? t->piled + t->piled_exposed : t->reduced;
    return fmax(0, x->cut->stage[s].alone + ends - backward_of(x, s, from, to) - more);
}

/* All reductions of a stage, one after the other. */
static double stream_of(struct solver *x, uint32_t s, uint32_t from, uint32_t to)
{
    const struct ty_cut_replicas *r = x->cut->replicas;
    if (r == NULL || r->passes <= 0) {
        return 0;
    }
    const struct ty_plan_traffic *t = traffic_of(x, s, from, to);
    return r->passes * (t->reduce + (r->gathers ? t->regain : 0));
}

/* ---- stages ---- */

/* What layers of a stage repeat at least so that it fits at every moment; HUGE_VAL: it does not.
 * Equal layers repeat whole ones. */
static double repeated(struct solver *x, uint32_t s, uint32_t from, uint32_t to)
{
    double most = 0;
    uint64_t steps = 0;
    for (uint32_t i = 0; i < x->cut->n_deals && from < to; i++) {
        const double one = x->equal ? ty_deal_least(&x->cut->deal[i], s, from, to, NULL, &steps)
                                    : relaxed(x, i, s, from, to);
        most = fmax(most, one);
    }
    return most;
}

/* What it takes more than its layers at their least. */
static double more_of(struct solver *x, uint32_t s, uint32_t from, uint32_t to)
{
    return fmax(repeated(x, s, from, to), waiting(x, s, from, to));
}

/* The optimizer of a stage, beyond that of a mean one. */
static double update_of(struct solver *x, uint32_t s, uint32_t from, uint32_t to)
{
    return x->cut->replicas == NULL
               ? 0
               : ty_cut_update(x->cut, s, from, to, traffic_of(x, s, from, to));
}

/* Worked out once: rows of ps, plus 1; 0: it is not known yet. */
static double once(struct solver *x, double **rows, stage_fn *ask, uint32_t s, uint32_t from,
                   uint32_t to)
{
    double **row = &rows[at(x, s, x->equal ? 0 : from)];
    if (*row == NULL) {
        *row = ty_arena_array(x->arena, double, x->cut->n_layers + 1);
        x->no_memory = x->no_memory || *row == NULL;
    }
    if (x->no_memory) {
        return HUGE_VAL;
    }
    double *one = &(*row)[x->equal ? to - from : to];
    if (*one == 0) {
        *one = 1 + ask(x, s, from, to);
    }
    return *one - 1;
}

static double extra(struct solver *x, uint32_t s, uint32_t from, uint32_t to)
{
    return once(x, x->extra, more_of, s, from, to);
}

/* ---- chains ---- */

/* On the way up through a stage. */
static double up_of(const struct solver *x, uint32_t s, uint32_t from, uint32_t to, double more)
{
    return x->cut->stage[s].up + x->cut->up[to] - x->cut->up[from] + more;
}

/* Forwards of stages [s, end), which have layers [from, to). */
static double down_of(const struct solver *x, uint32_t s, uint32_t end, uint32_t from, uint32_t to)
{
    const double *time = x->cut->time[TY_PHASE_FORWARD];
    return x->down[end] - x->down[s] + time[to] - time[from];
}

static double chain_of(struct solver *x, const struct ty_cut_chain *chain, uint32_t s,
                       uint32_t from, uint32_t to, double more)
{
    const struct ty_cut *cut = x->cut;
    const struct ty_cut_stage *stage = &cut->stage[s];
    const double behind = chain->behind == 0 ? 0
                                             : down_of(x, s + 1, cut->n_stages, to, cut->n_layers) +
                                                   x->behind[at(x, s + 1, to)];
    double sum = down_of(x, 0, s, 0, from) + chain->behind * behind +
                 chain->down * down_of(x, s, s + 1, from, to) +
                 chain->up * up_of(x, s, from, to, more) +
                 (chain->leaves ? x->g[at(x, s, from)] + stage->after
                                : stage->after_none + exposed(x, s, from, to, more));
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
        const double again = phase == TY_PHASE_BACKWARD || phase == TY_PHASE_DGRAD ? more : 0;
        sum += chain->n[phase] *
               (stage->own[phase] + cut->time[phase][to] - cut->time[phase][from] + again);
    }
    return sum;
}

/* ---- cuts ---- */

/* The least backwards of the last stages. */
static void sum_behind(struct solver *x)
{
    const uint32_t n = x->cut->n_layers, p = x->cut->n_stages;
    for (uint32_t j = 0; j <= n; j++) {
        x->behind[at(x, p, j)] = j == n ? 0 : HUGE_VAL;
    }
    for (uint32_t s = p; s-- > 0;) {
        for (uint32_t i = 0; i <= n; i++) {
            double *least = &x->behind[at(x, s, i)];
            *least = HUGE_VAL;
            for (uint32_t j = i + x->cut->stage[s].least; j <= n; j++) {
                const double more = extra(x, s, i, j);
                if (more >= HUGE_VAL) {
                    break;
                }
                *least = fmin(*least, up_of(x, s, i, j, more) + x->behind[at(x, s + 1, j)]);
            }
        }
    }
}

/* Whether no chain through a stage is longer. *grows: one is, and is with more layers, too. */
static bool is_within(struct solver *x, uint32_t s, uint32_t from, uint32_t to, double more,
                      double ps, bool *grows)
{
    const struct ty_cut_stage *stage = &x->cut->stage[s];
    bool within = stream_of(x, s, from, to) <= ps;
    ps -= once(x, x->update, update_of, s, from, to);
    *grows = !within;
    for (uint32_t i = 0; i < stage->n_chains && within; i++) {
        within = chain_of(x, &stage->chain[i], s, from, to, more) <= ps;
        *grows = !within && stage->chain[i].behind == 0;
    }
    return within;
}

/* Whether some cut may take no longer. */
static bool may_take(struct solver *x, double ps)
{
    const uint32_t n = x->cut->n_layers, p = x->cut->n_stages;
    for (size_t i = 0; i < at(x, p, n) + 1; i++) {
        x->g[i] = HUGE_VAL;
    }
    x->g[0] = 0;
    for (uint32_t s = 0; s < p; s++) {
        for (uint32_t i = 0; i <= n; i++) {
            const double before = x->g[at(x, s, i)];
            bool ends = before >= HUGE_VAL;
            const uint32_t least = i + x->cut->stage[s].least;
            for (uint32_t j = s + 1 == p && least <= n ? n : least; j <= n && !ends; j++) {
                const double more = extra(x, s, i, j);
                ends = more >= HUGE_VAL;
                if (!ends && x->behind[at(x, s + 1, j)] < HUGE_VAL &&
                    is_within(x, s, i, j, more, ps, &ends)) {
                    double *g = &x->g[at(x, s + 1, j)];
                    *g = fmin(*g, before + up_of(x, s, i, j, more));
                }
            }
        }
    }
    return x->g[at(x, p, n)] < HUGE_VAL;
}

/* The least time that is not too little, from below; up to `limit`. */
static double bisect(struct solver *x, double limit)
{
    double low = 0, high = 1;
    if (!may_take(x, 1e300)) {
        return HUGE_VAL;
    }
    if (limit < HUGE_VAL && !may_take(x, limit)) {
        return limit;
    }
    while (!may_take(x, high)) {
        low = high;
        high *= 2;
    }
    while (high - low > CLOSE * high) {
        const double middle = (low + high) / 2;
        *(may_take(x, middle) ? &high : &low) = middle;
    }
    return low;
}

static int begin(struct solver *x)
{
    const struct ty_cut *cut = x->cut;
    const size_t states = at(x, cut->n_stages, cut->n_layers) + 1;
    const uint32_t kinds = cut->n_deals > 0 ? cut->deal[0].n_kinds : 1;
    x->equal = kinds == 1;
    x->extra = ty_arena_array(x->arena, double *, states);
    x->update = ty_arena_array(x->arena, double *, states);
    x->traffic = ty_arena_alloc(x->arena, states, sizeof(*x->traffic));
    x->g = ty_arena_array(x->arena, double, states);
    x->behind = ty_arena_array(x->arena, double, states);
    x->down = ty_arena_array(x->arena, double, cut->n_stages + 1);
    x->count = ty_arena_array(x->arena, uint32_t, (cut->n_layers + (size_t)1) * kinds);
    x->hull =
        ty_arena_array(x->arena, struct ty_deal_hull *, cut->n_deals * (size_t)cut->n_stages + 1);
    if (x->extra == NULL || x->update == NULL || x->traffic == NULL || x->g == NULL ||
        x->behind == NULL || x->down == NULL || x->count == NULL || x->hull == NULL) {
        return TY_ENOMEM;
    }
    for (uint32_t s = 0; s < cut->n_stages; s++) {
        x->down[s + 1] = x->down[s] + cut->stage[s].down;
    }
    for (uint32_t i = 0; i < cut->n_layers && cut->n_deals > 0; i++) {
        memcpy(&x->count[(i + (size_t)1) * kinds], &x->count[i * (size_t)kinds],
               kinds * sizeof(*x->count));
        x->count[(i + (size_t)1) * kinds + cut->deal[0].layer[i]]++;
    }
    return 0;
}

/* ---- one after the other ---- */

struct walk {
    struct solver *x;
    double limit;
    ty_plan_cut_fn *each;
    void *arg;
    uint32_t *layers, *again; /* [n_stages] of the stages before */
    uint32_t steps;
    bool ends;
};

static void walk_stage(struct walk *w, uint32_t s, uint32_t from, double before);

/* A stage with layers [from, to), of which the first `again` run again. */
static void walk_on(struct walk *w, uint32_t s, uint32_t from, uint32_t to, double more)
{
    struct solver *x = w->x;
    bool grows;
    w->layers[s] = to - from;
    w->ends = w->ends || ++w->steps > WALK_MOST;
    if (!w->ends && is_within(x, s, from, to, more, w->limit, &grows)) {
        walk_stage(w, s + 1, to, x->g[at(x, s, from)] + up_of(x, s, from, to, more));
    }
}

/* All counts of layers that may fit. */
static void walk_counts(struct walk *w, uint32_t s, uint32_t from, uint32_t to)
{
    const struct ty_deal *deal = &w->x->cut->deal[0];
    const double least = repeated(w->x, s, from, to), waits = waiting(w->x, s, from, to);
    double more = 0;
    for (uint32_t n = 0; n <= to - from && least < HUGE_VAL && !w->ends; n++) {
        more += n > 0 ? deal->kind[deal->layer[from + n - 1]].seconds[1] : 0;
        w->again[s] = n;
        if (more >= least * (1 - CLOSE)) {
            walk_on(w, s, from, to, fmax(more, waits));
        }
        if (deal->n_modes == 1) {
            break;
        }
    }
}

static void walk_stage(struct walk *w, uint32_t s, uint32_t from, double before)
{
    struct solver *x = w->x;
    const struct ty_cut *cut = x->cut;
    if (s == cut->n_stages) {
        w->ends = !w->each(w->arg, w->layers, w->again);
        return;
    }
    const bool last = s + 1 == cut->n_stages;
    for (uint32_t to = last ? cut->n_layers : from + cut->stage[s].least;
         to <= cut->n_layers && !w->ends; to++) {
        x->g[at(x, s, from)] = before;
        if (x->behind[at(x, s + 1, to)] < HUGE_VAL) {
            walk_counts(w, s, from, to);
        }
    }
}

int ty_cut_least(const struct ty_cut *cut, double limit_ps, double *ps, struct ty_arena *arena)
{
    struct solver x = {.cut = cut, .arena = arena};
    if (cut->n_stages == 0) {
        *ps = fmin(cut->mean, limit_ps);
        return 0;
    }
    if (begin(&x) < 0) {
        return TY_ENOMEM;
    }
    sum_behind(&x);
    *ps = bisect(&x, limit_ps);
    return x.no_memory ? TY_ENOMEM : 0;
}

int ty_plan_cuts_bound(struct ty_plan_costs *costs, const struct ty_plan_space *space,
                       const struct ty_plan_point *point, const struct ty_plan_modes *modes,
                       double limit_s, double *seconds, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_cut cut;
    bool known = false;
    *seconds = 0;
    int rc = costs->known ? ty_cut_make(costs, space, point, modes, limit_s * 1e12, &cut, &known,
                                        &arena, err)
                          : 0;
    if (rc == 0 && known) {
        const double limit = limit_s * 1e12 - cut.rest;
        double ps = 0;
        rc = ty_cut_least(&cut, limit, &ps, &arena) < 0 ? ty_fail_memory(err) : 0;
        *seconds = ps < limit ? (ps + cut.rest) * 1e-12 : ps >= HUGE_VAL ? ps : limit_s;
    }
    ty_arena_release(&arena);
    return rc;
}

/* *all: none was left out. */
static int walk_all(const struct ty_cut *cut, double limit_ps, ty_plan_cut_fn *each, void *arg,
                    bool *all, struct ty_arena *arena)
{
    struct solver x = {.cut = cut, .arena = arena};
    struct walk w = {.x = &x, .each = each, .arg = arg, .limit = limit_ps};
    w.layers = ty_arena_array(arena, uint32_t, cut->n_stages);
    w.again = ty_arena_array(arena, uint32_t, cut->n_stages);
    if (begin(&x) < 0 || w.layers == NULL || w.again == NULL) {
        return TY_ENOMEM;
    }
    sum_behind(&x);
    walk_stage(&w, 0, 0, 0);
    *all = !w.ends;
    return x.no_memory ? TY_ENOMEM : 0;
}

int ty_plan_cuts_each(struct ty_plan_costs *costs, const struct ty_plan_space *space,
                      const struct ty_plan_point *point, const struct ty_plan_modes *modes,
                      double limit_s, ty_plan_cut_fn *each, void *arg, bool *all,
                      struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_cut cut;
    bool known = false;
    const double limit = limit_s * 1e12;
    int rc = ty_cut_make(costs, space, point, modes, limit, &cut, &known, &arena, err);
    *all = rc == 0 && known && cut.mean + cut.rest >= limit; /* there are none */
    if (rc == 0 && known && cut.n_stages > 0 && cut.n_deals > 0 && cut.deal[0].n_modes <= 2) {
        rc = walk_all(&cut, limit - cut.rest, each, arg, all, &arena);
        rc = rc < 0 ? ty_fail_memory(err) : 0;
    }
    ty_arena_release(&arena);
    return rc;
}
