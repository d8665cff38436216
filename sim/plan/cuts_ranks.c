/* cuts_ranks.c - what ranks have room for, wherever layers are cut, and what all of them take.
 *
 * Memory leaves no less to the layers of a stage than a bill would find, at the fullest moment in
 * each phase. Where ranks have several chunks, slices or directions, no chain through one of them
 * says much; the longest takes no less than all do in the mean. */
#include <math.h>
#include <string.h>

#include "sim/plan/cuts_internal.h"

#define ROUNDING 1e-9 /* of a GPU's memory: sums in another order than those of a bill */

static double least_bytes(const struct ty_cut_maker *m, uint32_t unit, enum ty_tensor_life life)
{
    double least = INFINITY;
    for (uint32_t k = 0; k < m->n_modes; k++) {
        least = fmin(least, ty_cut_bytes(m, k, unit, life));
    }
    return least;
}

/* While a pass runs, of a stage with some layer: memory.h. What a recomputed layer frees behind it
 * is not counted where it is the last of its stage. */
static double brief_of(const struct ty_cut_maker *m, uint32_t s, uint32_t phase)
{
    const bool last = s + 1 == m->cut->n_stages, backward = phase == TY_PHASE_BACKWARD;
    double layer = INFINITY, kept = 0;
    if (phase == TY_PHASE_WGRAD) {
        return 0;
    }
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        for (uint32_t k = 0; k < m->n_modes; k++) {
            const double again = backward ? m->kind[i].again_B[k] : 0;
            layer = fmin(layer, ty_cut_bytes(m, k, m->unit_of[i], TY_LIFE_BACKWARD) + again);
        }
    }
    for (uint32_t k = 0; k < m->n_modes && last && backward; k++) {
        kept = fmax(kept, ty_cut_bytes(m, k, TY_UNIT_HEAD, TY_LIFE_KEPT) +
                              m->arch->mtp * ty_cut_bytes(m, k, TY_UNIT_MTP_HEAD, TY_LIFE_KEPT));
    }
    layer = phase == TY_PHASE_FORWARD ? 0 : layer - kept;
    return last ? fmax(layer,
                       least_bytes(m, TY_UNIT_HEAD, ty_memory_loss_life((enum ty_phase)phase)))
                : fmax(layer, 0);
}

/* The moment at which most is held while a pass of a phase runs; NULL: there is none. */
static const struct ty_plan_moment *fullest(const struct ty_plan_held *held, uint32_t phase)
{
    const struct ty_plan_moment *most = NULL;
    for (uint32_t i = 0; i < held->n_moments; i++) {
        const struct ty_plan_moment *x = &held->moment[i];
        if (x->phase == phase && (most == NULL || x->kept[0] > most->kept[0])) {
            most = x;
        }
    }
    return most;
}

static double buffers_of(const struct ty_cut_maker *m, const uint8_t *unit, uint32_t n)
{
    const struct ty_grad_stage stage = {unit, n};
    const struct ty_whole none = {0, 0, 0, 0};
    const struct ty_whole whole = m->layout.zero < 2
                                      ? none
                                      : ty_grads_whole(m->mode[0]->grads, &m->layout, &stage, 1,
                                                       m->look.order->sched->whole_chunks);
    return ty_memory_buffers(&m->layout, &whole);
}

/* What of sharded states is whole for a while, with one layer in a stage; in the only one, all. */
static double least_buffers(const struct ty_cut_maker *m, uint32_t s)
{
    uint8_t *unit = m->unit_list, behind[TY_CUT_OWN];
    const uint32_t first = s == 0, n = ty_cut_own(m, s, behind);
    double least = HUGE_VAL;
    unit[0] = TY_UNIT_EMBEDDING;
    if (m->cut->n_stages == 1) {
        memcpy(&unit[1], m->unit, m->cut->n_layers);
        memcpy(&unit[1 + m->cut->n_layers], &behind[1], n - 1);
        return buffers_of(m, unit, n + m->cut->n_layers);
    }
    for (uint32_t k = 0; k < m->n_kinds; k++) {
        unit[first] = m->unit_of[k];
        memcpy(&unit[first + 1], &behind[first], n - first);
        least = fmin(least, buffers_of(m, unit, n + 1));
    }
    return least;
}

/* Of a rank's GPUs, for what is dealt. */
static double room_of(const struct ty_cut_maker *m, uint32_t rank)
{
    const struct ty_cluster *cluster = &m->costs->base->cluster;
    const char *name[TY_COMMUNICATORS_MAX];
    const uint32_t n_names = ty_layout_communicators(&m->layout, m->arch, name);
    return (m->look.grid->memory_B[rank] * (1 + ROUNDING) - ty_cluster_reserve(cluster, n_names)) /
           (1 + cluster->overhead.fragmentation);
}

static void note_room(const struct ty_cut_maker *m, uint32_t s, uint32_t phase,
                      struct ty_deal_stage *stage)
{
    const struct ty_plan_moment *moment = fullest(&m->look.order->held[s], phase);
    uint8_t unit[TY_CUT_OWN];
    const uint32_t n = ty_cut_own(m, s, unit);
    stage->held = moment != NULL ? moment->kept[0] : 0;
    stage->again = moment != NULL ? moment->again[0] : 0;
    stage->spare_B = HUGE_VAL;
    stage->room_B =
        room_of(m, s) - least_buffers(m, s) - (moment != NULL ? brief_of(m, s, phase) : 0);
    for (uint32_t i = 0; i < n; i++) {
        stage->room_B -= ty_cut_states(m, unit[i]) +
                         stage->held * least_bytes(m, unit[i], TY_LIFE_KEPT) +
                         stage->again * least_bytes(m, unit[i], TY_LIFE_RECOMPUTED);
    }
}

int ty_cut_rooms(struct ty_cut_maker *m)
{
    struct ty_cut *cut = m->cut;
    struct ty_deal_kind *kind = ty_arena_array(m->arena, struct ty_deal_kind, m->n_kinds);
    if (kind == NULL) {
        return ty_fail_memory(m->err);
    }
    memcpy(kind, m->kind, m->n_kinds * sizeof(*kind));
    for (uint32_t phase = 0; phase < TY_PLAN_PHASES && !m->look.order->paired; phase++) {
        struct ty_deal_stage *stage = ty_arena_array(m->arena, struct ty_deal_stage, cut->n_stages);
        if (stage == NULL) {
            return ty_fail_memory(m->err);
        }
        for (uint32_t s = 0; s < cut->n_stages; s++) {
            note_room(m, s, phase, &stage[s]);
        }
        cut->deal[cut->n_deals++] = (struct ty_deal){.layer = m->kind_of,
                                                     .n_layers = cut->n_layers,
                                                     .kind = kind,
                                                     .n_kinds = m->n_kinds,
                                                     .n_modes = m->n_modes,
                                                     .stage = stage,
                                                     .n_stages = cut->n_stages};
    }
    return 0;
}

/* Micro-batches that a rank holds of every layer at some moment, wherever in its chunks that is. */
static double held_of_all(const struct ty_plan_held *held)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < held->n_moments; i++) {
        uint32_t least = held->moment[i].kept[0];
        for (uint32_t c = 1; c < held->n_stages; c++) {
            least = held->moment[i].kept[c] < least ? held->moment[i].kept[c] : least;
        }
        most = least > most ? least : most;
    }
    return most;
}

int ty_cut_rank_rooms(struct ty_cut_maker *m)
{
    const struct ty_plan_order *order = m->look.order;
    const uint32_t p = order->shape.p;
    if (m->n_kinds > 1 || order->paired || order->sched->steered ||
        ty_sched_directions(order->sched->placement) > 1) {
        return 0;
    }
    struct ty_deal_stage *stage = ty_arena_array(m->arena, struct ty_deal_stage, p);
    struct ty_deal_kind *kind = ty_arena_array(m->arena, struct ty_deal_kind, 1);
    if (stage == NULL || kind == NULL) {
        return ty_fail_memory(m->err);
    }
    *kind = m->kind[0];
    for (uint32_t r = 0; r < p; r++) {
        stage[r].held = held_of_all(&order->held[r]) / order->shape.slices;
        stage[r].spare_B = HUGE_VAL;
        stage[r].room_B = room_of(m, r);
        for (uint32_t c = 0; c < order->rank[r].n_chunks; c++) {
            uint8_t unit[TY_CUT_OWN];
            const uint32_t n = ty_cut_own(m, order->rank[r].stage[c], unit);
            for (uint32_t i = 0; i < n; i++) {
                stage[r].room_B -= ty_cut_states(m, unit[i]);
            }
        }
    }
    m->cut->deal[m->cut->n_deals++] = (struct ty_deal){.layer = m->kind_of,
                                                       .n_layers = m->cut->n_layers,
                                                       .kind = kind,
                                                       .n_kinds = 1,
                                                       .n_modes = m->n_modes,
                                                       .stage = stage,
                                                       .n_stages = p};
    return 0;
}

/* ---- the work of all ranks ---- */

/* Of a unit, all passes of a micro-batch: the least of both kinds of backward. */
static double all_passes(const struct ty_cut_maker *m, uint32_t unit)
{
    double sum[TY_PLAN_PHASES] = {0};
    for (uint32_t q = 0; q < m->look.order->shape.slices; q++) {
        for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
            double least = INFINITY;
            for (uint32_t k = 0; k < m->n_modes; k++) {
                least = fmin(least, ty_cut_ps(m, k, unit, phase, q));
            }
            sum[phase] += least;
        }
    }
    return sum[TY_PHASE_FORWARD] +
           fmin(sum[TY_PHASE_BACKWARD], sum[TY_PHASE_DGRAD] + sum[TY_PHASE_WGRAD]);
}

/* What is behind the last computation of any pass, at most. */
static double most_of_all(const struct ty_cut_maker *m)
{
    double most = 0;
    for (uint32_t unit = 0; unit < TY_N_UNIT_KINDS; unit++) {
        for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
            most = fmax(most, ty_cut_behind(m, unit, phase));
        }
    }
    return most;
}

/* Before a rank's first pass, and behind its last one where that is a whole backward: a micro-batch
 * through the stages before all of its own, with a layer each but the first. */
static double around(const struct ty_cut_maker *m, const struct ty_plan_rank *rank)
{
    const struct ty_plan_order *order = m->look.order;
    const bool up = !order->split && !order->sched->steered;
    uint32_t first = rank->stage[0];
    double ps = 0, least[2] = {INFINITY, INFINITY};
    for (uint32_t k = 1; k < rank->n_chunks; k++) {
        first = rank->stage[k] < first ? rank->stage[k] : first;
    }
    for (uint32_t i = 0; i < m->n_kinds; i++) {
        least[0] = fmin(least[0], ty_cut_least_ps(m, m->unit_of[i], TY_PHASE_FORWARD));
        least[1] = fmin(least[1], ty_cut_least_ps(m, m->unit_of[i], TY_PHASE_BACKWARD) -
                                      ty_cut_behind(m, m->unit_of[i], TY_PHASE_BACKWARD));
    }
    for (uint32_t s = 0; s < first && order->shape.slices == 1; s++) {
        const struct ty_plan_message sent = ty_plan_message(&m->look, &m->messages, s);
        ps += (1 + up) * (sent.send + sent.behind) + (s > 0 ? least[0] + up * least[1] : 0) - 2;
    }
    return ps;
}

/* Equal layers dealt to ranks in any way: where all fit, and the ranks repeat least in all. *ps
 * HUGE_VAL: they do not fit. */
int ty_cut_repeated(const struct ty_cut_maker *m, double *ps)
{
    const uint32_t n = m->cut->n_layers, p = m->look.order->shape.p;
    const struct ty_deal *deal = &m->cut->deal[0];
    double *least = ty_arena_array(m->arena, double, n + 1), *more;
    *ps = 0;
    if (m->cut->n_deals == 0) {
        return 0;
    }
    more = ty_arena_array(m->arena, double, n + 1);
    if (least == NULL || more == NULL) {
        return ty_fail_memory(m->err);
    }
    for (uint32_t k = 1; k <= n; k++) {
        least[k] = HUGE_VAL;
    }
    for (uint32_t r = 0; r < p; r++) {
        uint64_t steps = 0;
        for (uint32_t k = 0; k <= n; k++) {
            more[k] = ty_deal_least(deal, r, 0, k, NULL, &steps);
        }
        for (uint32_t k = n + 1; k-- > 0;) {
            double best = HUGE_VAL;
            for (uint32_t own = 0; own <= k && more[own] < HUGE_VAL; own++) {
                best = fmin(best, least[k - own] + more[own]);
            }
            least[k] = best;
        }
    }
    *ps = least[n];
    return 0;
}

static double passes_of(const struct ty_plan_order *order, const struct ty_plan_rank *rank)
{
    double n = 0;
    for (uint32_t i = 0; i < rank->n_marks; i++) {
        for (uint32_t k = rank->mark[i].work; k < rank->mark[i].work_end; k++) {
            n += rank->work[k].n + ty_plan_more(order, rank, i);
        }
    }
    return n;
}

/* The longest rank takes no less than all do in the mean. */
double ty_cut_mean(const struct ty_cut_maker *m, double repeated)
{
    const struct ty_plan_order *order = m->look.order;
    const double host = m->layout.pipeline > 1 ? m->times[0]->host_ps : 0;
    const double each = host - most_of_all(m) - 1; /* of a pass */
    uint8_t unit[TY_CUT_OWN];
    double micro_batch = repeated;
    for (uint32_t i = 0; i < m->arch->layers; i++) {
        micro_batch += all_passes(m, m->unit[i]);
    }
    for (uint32_t e = 0; e < (m->cut->n_stages > 1 ? 2 : 1); e++) {
        const uint32_t n = ty_cut_own(m, e == 0 ? 0 : m->cut->n_stages - 1, unit);
        for (uint32_t i = 0; i < n; i++) {
            micro_batch += all_passes(m, unit[i]);
        }
    }
    double sum = order->shape.m * micro_batch;
    for (uint32_t r = 0; r < order->shape.p; r++) {
        sum += around(m, &order->rank[r]) + each * passes_of(order, &order->rank[r]);
    }
    return sum / order->shape.p;
}
