/* cuts_costs.c - what the chains of a layout are made of, whatever its layers are cut into. Where a
 * unit takes less, or keeps less, in one mode than in another, the least counts. */
#include <math.h>
#include <string.h>

#include "sim/plan/cuts_internal.h"

/* ---- units ---- */

static const struct ty_unit_time *time_of(const struct ty_cut_maker *m, uint32_t mode,
                                          uint32_t unit, uint32_t phase, uint32_t slice)
{
    const struct ty_unit_times *t = &m->times[mode]->unit[unit][slice];
    const struct ty_unit_time *const times[TY_PLAN_PHASES] = {
        [TY_PHASE_FORWARD] = &t->forward,
        [TY_PHASE_BACKWARD] = &t->backward,
        [TY_PHASE_DGRAD] = &t->input,
        [TY_PHASE_WGRAD] = &t->weight,
    };
    return times[phase];
}

/* In a slot with another pass, computation alone is known: bound.c. */
double ty_cut_ps(const struct ty_cut_maker *m, uint32_t mode, uint32_t unit, uint32_t phase,
                 uint32_t slice)
{
    const struct ty_unit_time *time = time_of(m, mode, unit, phase, slice);
    const double stretch = fmin(1, m->costs->base->schedule.overlap_cost);
    return m->look.order->paired ? time->bare * stretch * (1 - 1e-9) : time->through;
}

static double ps_of(const struct ty_cut_maker *m, uint32_t mode, uint32_t unit, uint32_t phase)
{
    return ty_cut_ps(m, mode, unit, phase, 0);
}

double ty_cut_least_ps(const struct ty_cut_maker *m, uint32_t unit, uint32_t phase)
{
    double least = INFINITY;
    for (uint32_t k = 0; k < m->n_modes; k++) {
        least = fmin(least, ps_of(m, k, unit, phase));
    }
    return least;
}

/* What is behind a unit's last computation, at most. */
double ty_cut_behind(const struct ty_cut_maker *m, uint32_t unit, uint32_t phase)
{
    double most = 0;
    for (uint32_t k = 0; k < m->n_modes && !m->look.order->paired; k++) {
        for (uint32_t q = 0; q < m->look.order->shape.slices; q++) {
            const struct ty_unit_time *time = time_of(m, k, unit, phase, q);
            most = fmax(most, time->through - time->busy);
        }
    }
    return most;
}

/* Until the stage before can go on: of a backward in two parts the first, unless all of a whole
 * one takes less. */
static double up_ps(const struct ty_cut_maker *m, uint32_t mode, uint32_t unit)
{
    const double whole = ps_of(m, mode, unit, TY_PHASE_BACKWARD);
    return m->back == TY_PHASE_DGRAD ? fmin(whole, ps_of(m, mode, unit, TY_PHASE_DGRAD)) : whole;
}

/* What a stage has beside layers. Returns how many units. */
uint32_t ty_cut_own(const struct ty_cut_maker *m, uint32_t stage, uint8_t unit[TY_CUT_OWN])
{
    const struct ty_layers behind = {.first = m->arch->layers};
    uint32_t n = 0;
    if (stage == 0) {
        unit[n++] = TY_UNIT_EMBEDDING;
    }
    for (uint32_t i = 0; i < m->arch->mtp && stage + 1 == m->cut->n_stages; i++) {
        unit[n++] = TY_UNIT_MTP;
        unit[n++] = (uint8_t)ty_layer_kind(m->arch, &behind, i);
        unit[n++] = TY_UNIT_MTP_HEAD;
    }
    if (stage + 1 == m->cut->n_stages) {
        unit[n++] = TY_UNIT_HEAD;
    }
    return n;
}

double ty_cut_bytes(const struct ty_cut_maker *m, uint32_t mode, uint32_t unit,
                    enum ty_tensor_life life)
{
    const struct ty_plan_layer *layer = m->mode[mode];
    double sum = 0;
    for (uint32_t i = 0; i < layer->n_tensors; i++) {
        const struct ty_tensor *x = &layer->tensor[i];
        sum += x->unit == unit && x->life == life ? x->bytes : 0;
    }
    return sum;
}

double ty_cut_states(const struct ty_cut_maker *m, uint32_t unit)
{
    const struct ty_stage_params *p = &m->mode[0]->unit[unit].params;
    const struct ty_state_bytes x = ty_memory_states(&m->layout, p->all, p->experts);
    return x.weights + x.grads + x.optimizer;
}

/* ---- layers ---- */

static void find_kinds(struct ty_cut_maker *m)
{
    for (uint32_t i = 0; i < m->arch->layers; i++) {
        const struct ty_layers one = {.first = i, .count = 1};
        const uint8_t unit = (uint8_t)ty_layer_kind(m->arch, &one, 0);
        uint32_t kind = 0;
        while (kind < m->n_kinds && m->unit_of[kind] != unit) {
            kind++;
        }
        m->unit_of[kind] = unit;
        m->n_kinds += kind == m->n_kinds;
        m->unit[i] = unit;
        m->kind_of[i] = (uint8_t)kind;
    }
}

/* What a layer takes more in a mode than in the one that takes least, whether a whole backward or
 * its first part repeats it. */
static void note_kinds(struct ty_cut_maker *m)
{
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        struct ty_deal_kind *kind = &m->kind[i];
        const uint32_t unit = m->unit_of[i];
        double up = INFINITY;
        for (uint32_t k = 0; k < m->n_modes; k++) {
            up = fmin(up, up_ps(m, k, unit));
        }
        kind->states_B = ty_cut_states(m, unit);
        for (uint32_t k = 0; k < m->n_modes; k++) {
            double more = up_ps(m, k, unit) - up;
            more = fmin(more, ps_of(m, k, unit, TY_PHASE_BACKWARD) -
                                  ty_cut_least_ps(m, unit, TY_PHASE_BACKWARD));
            if (m->back == TY_PHASE_DGRAD) {
                more = fmin(more, ps_of(m, k, unit, TY_PHASE_DGRAD) -
                                      ty_cut_least_ps(m, unit, TY_PHASE_DGRAD));
            }
            kind->seconds[k] = fmax(more, 0);
            kind->kept_B[k] = ty_cut_bytes(m, k, unit, TY_LIFE_KEPT);
            kind->again_B[k] = ty_cut_bytes(m, k, unit, TY_LIFE_RECOMPUTED);
        }
    }
}

static int sum_layers(struct ty_cut_maker *m)
{
    struct ty_cut *cut = m->cut;
    const uint32_t n = cut->n_layers;
    for (uint32_t phase = 0; phase <= TY_PLAN_PHASES; phase++) {
        const bool up = phase == TY_PLAN_PHASES;
        double *sum = ty_arena_array(m->arena, double, n + 1);
        if (sum == NULL) {
            return ty_fail_memory(m->err);
        }
        *(up ? &cut->up : &cut->time[phase]) = sum;
        for (uint32_t i = 0; i < n; i++) {
            double least = up ? INFINITY : ty_cut_least_ps(m, m->unit[i], phase);
            for (uint32_t k = 0; k < m->n_modes && up; k++) {
                least = fmin(least, up_ps(m, k, m->unit[i]));
            }
            sum[i + 1] = sum[i] + least;
        }
    }
    return 0;
}

/* ---- stages: time ---- */

/* Collectives behind the last computation of a pass, at most: of its last unit forward, its first
 * one backward, whatever its layers are. */
static double most_at_end(const struct ty_cut_maker *m, uint32_t stage, uint32_t phase)
{
    const bool first = stage == 0, last = stage + 1 == m->cut->n_stages;
    uint8_t unit[TY_CUT_OWN];
    const uint32_t n = ty_cut_own(m, stage, unit);
    double most = 0;
    if (phase == TY_PHASE_FORWARD ? last : first) {
        return ty_cut_behind(m, unit[phase == TY_PHASE_FORWARD ? n - 1 : 0], phase);
    }
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        most = fmax(most, ty_cut_behind(m, m->unit_of[i], phase));
    }
    for (uint32_t i = 0; i < n; i++) {
        most = fmax(most, ty_cut_behind(m, unit[i], phase));
    }
    return most;
}

static void time_stage(const struct ty_cut_maker *m, uint32_t s, struct ty_cut_stage *stage)
{
    const bool last = s + 1 == m->cut->n_stages;
    const struct ty_plan_message none = {0, 0, false};
    const struct ty_plan_message down = last ? none : ty_plan_message(&m->look, &m->messages, s);
    const struct ty_plan_message up =
        s == 0 ? none : ty_plan_message(&m->look, &m->messages, s - 1);
    const double host = m->layout.pipeline > 1 ? m->times[0]->host_ps : 0;
    const double floors = m->look.order->paired ? 1 : 0; /* of a slot's pass */
    uint8_t unit[TY_CUT_OWN];
    const uint32_t n = ty_cut_own(m, s, unit);
    double through[TY_PLAN_PHASES], ups = 0;
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
        through[phase] = host - floors;
        for (uint32_t i = 0; i < n; i++) {
            through[phase] += ty_cut_least_ps(m, unit[i], phase);
        }
        stage->own[phase] = through[phase] - most_at_end(m, s, phase);
    }
    for (uint32_t i = 0; i < n; i++) {
        double least = INFINITY;
        for (uint32_t k = 0; k < m->n_modes; k++) {
            least = fmin(least, up_ps(m, k, unit[i]));
        }
        ups += least;
    }
    const double behind = fmax(most_at_end(m, s, TY_PHASE_BACKWARD), most_at_end(m, s, m->back));
    stage->down = (down.any || last ? through[TY_PHASE_FORWARD] : stage->own[TY_PHASE_FORWARD]) +
                  down.send + down.behind;
    stage->up = host - floors + ups - behind + up.send + up.behind;
    stage->alone = host;
    stage->with_send = host + (m->messages.waits ? up.send : 0);
    if (m->messages.waits) {
        stage->own[TY_PHASE_FORWARD] += down.send;
        stage->own[m->back] += up.send;
    }
}

/* ---- stages: chains ---- */

struct head {
    uint32_t before[TY_PLAN_PHASES];
    bool up;
};

static void add_chain(struct ty_cut_stage *stage, const struct head *head, const uint32_t *done,
                      uint32_t down, uint32_t up, uint32_t behind, bool leaves)
{
    if (stage->n_chains < TY_CUT_CHAINS) {
        struct ty_cut_chain *chain = &stage->chain[stage->n_chains++];
        *chain = (struct ty_cut_chain){.down = down, .up = up, .behind = behind, .leaves = leaves};
        for (uint32_t i = 0; i < TY_PLAN_PHASES; i++) {
            chain->n[i] = done[i] - head->before[i];
        }
    }
}

/* Between every place of which it is known how soon it is reached, and every one of which it is
 * known what comes behind it. The first backward comes when a micro-batch is down and up again;
 * from the last forward one has to go down and up. */
static void find_chains(const struct ty_plan_order *order, uint32_t s, struct ty_cut_stage *stage)
{
    const struct ty_plan_rank *rank = &order->rank[s];
    uint32_t done[TY_PLAN_PHASES] = {0}, n = 0;
    struct head head[TY_PLAN_PHASES];
    for (uint32_t i = 0; i < rank->n_marks; i++) {
        const struct ty_plan_mark *mark = &rank->mark[i];
        const bool end = i + 1 == rank->n_marks, back = mark->phase != TY_PHASE_FORWARD;
        for (uint32_t k = mark->work; k < mark->work_end; k++) {
            done[rank->work[k].pass] += rank->work[k].n + ty_plan_more(order, rank, i);
        }
        if (!end && (mark->phase == TY_PHASE_WGRAD || mark->first)) {
            if (mark->phase != TY_PHASE_WGRAD) {
                memcpy(head[n].before, done, sizeof(done));
                head[n++].up = back;
            }
            continue;
        }
        for (uint32_t h = 0; h < n; h++) {
            const uint32_t up = head[h].up;
            if (end) {
                add_chain(stage, &head[h], done, up, 0, up, false);
            } else {
                add_chain(stage, &head[h], done, up + !back, 1, up + !back, true);
            }
        }
    }
}

static int make_stages(struct ty_cut_maker *m)
{
    struct ty_cut *cut = m->cut;
    const double send = fmax(m->messages.send_near, m->messages.send_far);
    cut->stage = ty_arena_array(m->arena, struct ty_cut_stage, cut->n_stages);
    if (cut->stage == NULL) {
        return ty_fail_memory(m->err);
    }
    for (uint32_t s = 0; s < cut->n_stages; s++) {
        struct ty_cut_stage *stage = &cut->stage[s];
        time_stage(m, s, stage);
        find_chains(m->look.order, s, stage);
        stage->least = s > 0 && s + 1 < cut->n_stages;
        stage->after = ty_plan_tied_ps(m->costs, &m->layout, &m->look, 0);
        stage->after_none =
            ty_plan_tied_ps(m->costs, &m->layout, &m->look, s) - (m->messages.waits ? send : 0);
    }
    return 0;
}

/* ---- all ---- */

/* Norm, and the optimizer of the fullest rank, which has no less than its share. */
static double rest_of(const struct ty_cut_maker *m)
{
    const struct ty_plan_grid *grid = m->look.grid;
    const double norm = ty_plan_norm_ps(m->costs, &m->layout, grid);
    const uint32_t ends[2] = {0, m->cut->n_stages - 1};
    double params = 0, experts = 0;
    if (norm < 0 || m->costs->base->run.steps > 1) {
        return fmax(norm, 0);
    }
    for (uint32_t i = 0; i < m->arch->layers; i++) {
        params += m->mode[0]->unit[m->unit[i]].params.all;
        experts += m->mode[0]->unit[m->unit[i]].params.experts;
    }
    for (uint32_t e = 0; e < (ends[1] > 0 ? 2 : 1); e++) {
        uint8_t unit[TY_CUT_OWN];
        const uint32_t n = ty_cut_own(m, ends[e], unit);
        for (uint32_t i = 0; i < n; i++) {
            params += m->mode[0]->unit[unit[i]].params.all;
            experts += m->mode[0]->unit[unit[i]].params.experts;
        }
    }
    const uint32_t p = m->look.order->shape.p;
    m->cut->update = ty_plan_optimizer_ps(m->costs, &m->layout, grid, params / p, experts / p);
    return norm + m->cut->update;
}

/* ---- replicas ---- */

const struct ty_plan_traffic *ty_cut_traffic(const struct ty_cut *cut, uint32_t s, uint32_t from,
                                             uint32_t to)
{
    const struct ty_cut_replicas *r = cut->replicas;
    const struct ty_layers layers = {.first = from, .count = to - from};
    const struct ty_plan_type *type =
        ty_plan_type(r->costs, &layers, s == 0, s + 1 == cut->n_stages, NULL);
    return type == NULL ? NULL : ty_plan_traffic(r->costs, &r->layout, &r->look, type, NULL);
}

double ty_cut_update(const struct ty_cut *cut, uint32_t s, uint32_t from, uint32_t to,
                     const struct ty_plan_traffic *traffic)
{
    const struct ty_cut_replicas *r = cut->replicas;
    const struct ty_layers layers = {.first = from, .count = to - from};
    const struct ty_plan_type *type =
        ty_plan_type(r->costs, &layers, s == 0, s + 1 == cut->n_stages, NULL);
    const struct ty_plan_stage *stage =
        type == NULL ? NULL : ty_plan_stage(r->costs, r->look.layer, type, NULL);
    if (stage == NULL || cut->update <= 0) {
        return 0;
    }
    const double optimizer = ty_plan_optimizer_ps(r->costs, &r->layout, r->look.grid,
                                                  stage->params.all, stage->params.experts);
    return fmax(0, optimizer + (r->regains ? traffic->regain : 0) - cut->update);
}

/* In the first mode: where layers repeat more, reductions end no sooner. */
static int make_replicas(struct ty_cut_maker *m)
{
    const struct ty_plan_order *order = m->look.order;
    const bool every =
        ty_layout_reduces(&m->layout) == TY_REDUCES_EVERY && !order->sched->whole_chunks;
    if (!ty_layout_moves_grads(&m->layout)) {
        return 0;
    }
    m->cut->replicas = ty_arena_array(m->arena, struct ty_cut_replicas, 1);
    if (m->cut->replicas == NULL) {
        return ty_fail_memory(m->err);
    }
    *m->cut->replicas = (struct ty_cut_replicas){.costs = m->costs,
                                                 .layout = m->layout,
                                                 .look = m->look,
                                                 .waits = ty_plan_waits_for_grad_reduce(order),
                                                 .late = ty_layout_reduces_late(&m->layout),
                                                 .passes = every ? order->shape.m : 0,
                                                 .gathers = ty_plan_gathers_anew(&m->layout, order),
                                                 .regains = ty_plan_regains(&m->layout)};
    return 0;
}

/* The layout at hand before the modes that were looked at. 0 as well where nothing is known. */
static int look_at(struct ty_cut_maker *m, const struct ty_sched_options *schedule)
{
    const int rc = ty_plan_look(m->costs, &m->layout, schedule, &m->look, m->err);
    if (rc < 0 || m->look.order == NULL || m->look.order->shape.slices > TY_PLAN_SLICES) {
        return rc;
    }
    memmove(&m->mode[1], &m->mode[0], m->n_modes * sizeof(m->mode[0]));
    memmove(&m->times[1], &m->times[0], m->n_modes * sizeof(m->times[0]));
    m->n_modes++;
    m->mode[0] = m->look.layer;
    m->times[0] = ty_plan_times(m->costs, &m->layout, m->look.grid, m->look.layer,
                                m->look.order->shape.slices, m->err);
    return m->times[0] == NULL ? TY_ENOMEM : 0;
}

/* Modes that the model has. The first comes last: an order that durations steer is kept until the
 * next one is asked for. */
static int look_at_modes(struct ty_cut_maker *m, const struct ty_plan_space *space,
                         const struct ty_plan_point *point, const struct ty_plan_modes *modes)
{
    int rc = 0;
    for (uint32_t k = modes->n; k > 0 && rc == 0; k--) {
        struct ty_plan_point one = *point;
        struct ty_sched_options schedule;
        one.recompute = modes->mode[k - 1];
        if (ty_plan_complete(space, &one, &m->layout, &schedule, NULL) == 0) {
            rc = look_at(m, &schedule);
        }
    }
    return rc;
}

/* Orders of one chunk do not depend on how long passes last. */
static bool is_chain(const struct ty_plan_order *order)
{
    return order->shape.v == 1 && order->shape.slices == 1 && !order->sched->steered &&
           ty_sched_directions(order->sched->placement) == 1;
}

/* The work of all ranks, and what they repeat. *ends: nothing else is asked. */
static int bound_mean(struct ty_cut_maker *m, double limit_ps, bool *ends)
{
    struct ty_cut *cut = m->cut;
    const bool chain = is_chain(m->look.order);
    double repeated = 0;
    int rc = 0;
    cut->mean = ty_cut_mean(m, 0);
    if (cut->mean + cut->rest < limit_ps && !chain) {
        rc = ty_cut_rank_rooms(m);
        rc = rc < 0 ? rc : ty_cut_repeated(m, &repeated);
        cut->mean = rc < 0 ? 0 : ty_cut_mean(m, repeated);
    }
    *ends = cut->mean + cut->rest >= limit_ps || !chain;
    return rc;
}

static int make(struct ty_cut_maker *m, double limit_ps)
{
    struct ty_cut *cut = m->cut;
    bool ends = false;
    m->back = m->look.order->split ? TY_PHASE_DGRAD : TY_PHASE_BACKWARD;
    m->unit = ty_arena_array(m->arena, uint8_t, cut->n_layers);
    m->kind_of = ty_arena_array(m->arena, uint8_t, cut->n_layers);
    m->unit_list = ty_arena_array(m->arena, uint8_t, cut->n_layers + TY_CUT_OWN);
    if (m->unit == NULL || m->kind_of == NULL || m->unit_list == NULL) {
        return ty_fail_memory(m->err);
    }
    ty_plan_messages(m->costs, &m->layout, &m->look, &m->messages);
    cut->n_stages = ty_sched_stages(&m->look.order->shape);
    find_kinds(m);
    note_kinds(m);
    cut->rest = rest_of(m);
    int rc = bound_mean(m, limit_ps, &ends);
    if (rc < 0 || ends) {
        cut->n_stages = 0;
        return rc;
    }
    rc = sum_layers(m);
    rc = rc < 0 ? rc : make_stages(m);
    rc = rc < 0 ? rc : ty_cut_rooms(m);
    return rc < 0 ? rc : make_replicas(m);
}

int ty_cut_make(struct ty_plan_costs *costs, const struct ty_plan_space *space,
                const struct ty_plan_point *point, const struct ty_plan_modes *modes,
                double limit_ps, struct ty_cut *out, bool *known, struct ty_arena *arena,
                struct ty_err *err)
{
    const struct ty_arch *arch = &costs->base->arch;
    struct ty_cut_maker m = {.costs = costs, .arch = arch, .cut = out, .arena = arena, .err = err};
    *out = (struct ty_cut){.n_layers = arch->layers};
    const int rc = look_at_modes(&m, space, point, modes);
    *known = rc == 0 && m.n_modes > 0;
    return *known ? make(&m, limit_ps) : rc;
}
