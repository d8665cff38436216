/* bound.c - the longest chain of operations that wait for each other, each at its shortest.
 *
 * Of every rank chains are followed that begin with the first micro-batch on its way down the
 * pipeline, go on with all that the rank does between two places of its order, and end with the
 * last micro-batch on its way back up:
 *
 *     arrival of a first pass  +  work of the rank from there to a last pass  +  what comes after
 *
 * and the longest counts. What a rank does are computations one after the other, with collectives
 * between them that they wait for. Behind the last of them are gradients that no backward is left
 * to hide, the norm that all ranks wait for, the optimizer, and weights on their way back. */
#include "sim/plan/bound.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/issue/pass.h"
#include "model/zero.h"
#include "sim/plan/costs_internal.h"
#include "sim/run/run.h"

/* ---- collectives of replicas ----
 *
 * What the replicas of a stage say to each other, each collective at its
 * shortest, one after the other on the stream that they share. */

struct traffic_key {
    const struct ty_plan_layer *layer;
    const struct ty_plan_type *type;
    const struct ty_plan_group *data, *experts, *replicas;
    uint32_t zero, framework, alike, shards, expert_shards, late, waits;
};

/* Which reduction a computation waits for, once buckets have closed before it. */
enum waits {
    NO_REDUCTION,
    LAST_BUT_ONE, /* one may be under way */
    LAST
};

/* A backward of a stage, part by part, and its buckets as they close. Times count from its
 * start. */
struct closing {
    struct ty_plan_costs *costs;
    const struct ty_layout *layout;
    const struct ty_plan_grid *grid;
    const struct ty_plan_layer *layer;
    const struct ty_plan_type *type;
    enum waits waits;
    uint32_t unit, part;  /* played last: from the last part of the last unit on */
    double through, busy; /* the end of the part played last, and of what it computes */
    double awaited; /* what the next part waits for, but for computations, is over; 0: nothing */
    double reduced; /* all buckets so far are */
    double reduce, regain;       /* of all of them */
    double reduce_ps, regain_ps; /* of the bucket at hand */
};

static void price_bucket(struct closing *c, enum ty_comm_group group, double params)
{
    const struct ty_zero *zero = &ty_zero_stages[c->layout->zero];
    const struct ty_priced_comm reduce = ty_price_reduce(c->layout, group, params);
    const struct ty_priced_comm gather = ty_price_gather(c->layout, group, TY_PHASE_STEP, params);
    const struct ty_plan_group *at = c->grid->group[group];
    c->reduce_ps = ty_plan_collective_ps(c->costs, at, reduce.coll, reduce.bytes);
    const bool all = zero->gather_in_passes && !ty_layout_gathers_modules(c->layout);
    c->regain_ps = zero->gather_after_step || all /* of modules some are always there */
                       ? ty_plan_collective_ps(c->costs, at, gather.coll, gather.bytes)
                       : 0;
}

/* What computes waits; what does not lets the next part wait. */
static void play_part(struct closing *c, const struct ty_part_time *time)
{
    const bool waits = time->late_busy > 0;
    assert(time->through >= time->busy && time->late_through >= time->late_busy);
    c->busy = c->through + time->busy;
    c->through += time->through;
    if (waits) {
        c->busy = ty_plan_larger(c->busy, c->awaited + time->late_busy);
        c->through = ty_plan_larger(c->through, c->awaited + time->late_through);
        c->awaited = 0;
    }
}

/* Plays what comes before the end of a part. */
static void play_until(struct closing *c, uint32_t unit, uint32_t part)
{
    while (c->unit > unit || c->part > part) {
        if (c->part == 0) {
            c->part = c->layer->grads->kind[c->type->unit[--c->unit]].n_parts;
        }
        c->part--;
        play_part(c, &c->layer->times->unit[c->type->unit[c->unit]][0].part[c->part]);
    }
}

/* A bucket closes once its part has run backward: the first part of a unit with the unit, its last
 * one before the rest of it. */
static void close_bucket(void *arg, uint32_t unit, uint32_t part, enum ty_comm_group group,
                         double params)
{
    struct closing *c = arg;
    const double before = c->reduced;
    price_bucket(c, group, params);
    play_until(c, unit, part);
    assert(c->unit == unit && c->part == part); /* buckets close from the last part to the first */
    c->reduced = ty_plan_larger(c->reduced, c->busy) + c->reduce_ps;
    c->awaited = c->waits == NO_REDUCTION ? 0 : c->waits == LAST ? c->reduced : before;
    c->reduce += c->reduce_ps;
    c->regain += c->regain_ps;
}

static struct closing walk(const struct closing *start, enum waits waits)
{
    struct closing c = *start;
    const struct ty_grad_stage stage = {c.type->unit, c.type->n_units};
    c.waits = waits;
    c.unit = c.type->n_units;
    ty_grads_buckets(c.layer->grads, c.layout, &stage, close_bucket, &c);
    play_until(&c, 0, 0);
    return c;
}

/* What leaves the GPU is not looked at. */
static enum waits waits_of(const struct ty_layout *layout)
{
    if (layout->home.share > 0 || ty_layout_reduces(layout) != TY_REDUCES_EVERY) {
        return NO_REDUCTION;
    }
    return ty_pass_reduces_at_once(layout) ? LAST
           : ty_pass_piles_up(layout)      ? LAST_BUT_ONE
                                           : NO_REDUCTION;
}

/* NULL: no memory. */
static const struct ty_plan_traffic *traffic_of(struct ty_plan_costs *costs,
                                                const struct ty_layout *layout,
                                                const struct ty_plan_look *look,
                                                const struct ty_plan_type *type, struct ty_err *err)
{
    const struct ty_plan_grid *grid = look->grid;
    const struct ty_plan_layer *layer = look->layer;
    struct traffic_key key;
    memset(&key, 0, sizeof(key));
    key.layer = layer;
    key.type = type;
    key.data = grid->group[TY_GROUP_DATA];
    key.experts = grid->group[TY_GROUP_EXPERT_DATA];
    key.replicas = grid->group[TY_GROUP_REPLICA];
    key.zero = layout->zero;
    key.alike = ty_layout_alike(layout);
    key.shards = ty_layout_shards(layout);
    key.expert_shards = ty_layout_expert_shards(layout);
    key.late = ty_layout_reduces_late(layout);
    key.waits = waits_of(layout);
    costs->traffics.key_size = sizeof(key);
    if (ty_plan_framework(costs, &layout->framework, &key.framework, err) < 0) {
        return NULL;
    }
    struct ty_plan_traffic *out = ty_plan_map_find(&costs->traffics, &key);
    if (out != NULL) {
        return out;
    }
    out = ty_arena_array(&costs->arena, struct ty_plan_traffic, 1);
    if (out == NULL) {
        (void)ty_fail_memory(err);
        return NULL;
    }
    const struct closing start = {
        .costs = costs, .layout = layout, .grid = grid, .layer = layer, .type = type};
    const struct closing c = walk(&start, NO_REDUCTION);
    out->reduce = c.reduce;
    out->regain = c.regain;
    assert(c.through >= c.busy && c.reduced >= c.reduce);
    out->exposed = key.late ? c.reduce : ty_plan_larger(c.reduced - c.through, 0);
    if (key.waits != NO_REDUCTION) {
        const struct closing piled = walk(&start, key.waits);
        out->piled = piled.busy;
        out->piled_exposed = ty_plan_larger(piled.reduced - piled.busy, 0);
    }
    return ty_plan_map_add(&costs->traffics, &key, out, &costs->arena, err) < 0 ? NULL : out;
}

/* What the replicas of stages say, whose layer's times were asked for: [stages],
 * until it is asked for again. */
static int plan_traffics(struct ty_plan_costs *costs, const struct ty_layout *layout,
                         const struct ty_plan_look *look, const struct ty_plan_traffic *const **out,
                         struct ty_err *err)
{
    const uint32_t n = ty_sched_stages(&look->order->shape);
    const struct ty_plan_type *const *type = look->deal->stage;
    if (costs->n_traffic < n) {
        costs->traffic = ty_arena_alloc(&costs->arena, n, sizeof(*costs->traffic));
        costs->n_traffic = costs->traffic == NULL ? 0 : n;
    }
    if (costs->traffic == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t s = 0; s < n; s++) {
        costs->traffic[s] = s > 0 && type[s] == type[s - 1]
                                ? costs->traffic[s - 1]
                                : traffic_of(costs, layout, look, type[s], err);
        if (costs->traffic[s] == NULL) {
            return TY_ENOMEM;
        }
    }
    *out = costs->traffic;
    return 0;
}

/* Of a layout's messages: bytes on the way and latency, in a node and between nodes. */
struct messages {
    double send_near, send_far, latency_near, latency_far;
    double gather; /* of a message that is sent in parts */
    bool waits;    /* the next pass waits until a message has left */
};

/* One between a virtual stage and the next. */
struct message {
    double send, behind; /* latency, and the gather */
    bool any;            /* false: both stages are on one rank */
};

/* ---- messages ---- */

/* Whether a message between neighbouring stages stays on its node, leaves it, or is none: bits. */
static uint32_t hop(const struct ty_plan_look *look, uint32_t stage)
{
    const struct ty_plan_order *order = look->order;
    const uint32_t p = order->shape.p;
    uint32_t bits = 0;
    for (uint32_t d = 0; d < ty_sched_directions(order->sched->placement); d++) {
        const uint32_t a = ty_sched_owner(order->sched->placement, &order->shape, d, stage);
        const uint32_t b = ty_sched_owner(order->sched->placement, &order->shape, d, stage + 1);
        bits |= a == b ? 0 : look->grid->hop[b == (a + 1) % p ? a : b];
    }
    return bits;
}

static double least_of(uint32_t bits, double near, double far)
{
    const double least = (bits & TY_PLAN_NEAR) != 0 ? near : INFINITY;
    assert(near >= 0 && far >= 0 && bits <= (TY_PLAN_NEAR | TY_PLAN_FAR));
    return bits == 0 ? 0 : (bits & TY_PLAN_FAR) != 0 ? fmin(least, far) : least;
}

static void price_messages(struct ty_plan_costs *costs, const struct ty_layout *layout,
                           const struct ty_plan_look *look, struct messages *out)
{
    const struct ty_cluster *cluster = &costs->base->cluster;
    const bool gathers = ty_pass_gathers_messages(layout, true);
    const bool parts = layout->sequence_parallel || gathers;
    const double bytes = look->layer->hidden_B / (parts ? layout->tensor : 1);
    struct ty_coll_cost near, far;
    ty_p2p_cost_alone(cluster, true, bytes, &near);
    ty_p2p_cost_alone(cluster, false, bytes, &far);
    *out = (struct messages){
        .send_near = floor(near.transfer_s * 1e12),
        .send_far = floor(far.transfer_s * 1e12),
        .latency_near = floor(near.latency_s * 1e12),
        .latency_far = floor(far.latency_s * 1e12),
        .gather = gathers ? ty_plan_collective_ps(costs, look->grid->group[TY_GROUP_TENSOR],
                                                  TY_COLL_ALL_GATHER, look->layer->hidden_B)
                          : 0,
        .waits = !look->order->paired && ty_pass_waits_for_send(layout, look->order->shape.v)};
}

static struct message message_after(const struct ty_plan_look *look,
                                    const struct messages *messages, uint32_t stage)
{
    const uint32_t bits = hop(look, stage);
    const struct messages *m = messages;
    return (struct message){.send = least_of(bits, m->send_near, m->send_far),
                            .behind = least_of(bits, m->latency_near, m->latency_far) +
                                      (bits != 0 ? m->gather : 0),
                            .any = bits != 0};
}

/* ---- replicas ---- */

/* ZeRO-3: whether every forward has to gather before it begins, as nothing is left of the pass
 * before. */
static bool gathers_anew(const struct ty_layout *layout, const struct ty_plan_order *order)
{
    const struct ty_framework *f = &layout->framework;
    return layout->zero == 3 && !order->sched->whole_chunks &&
           ty_layout_does(layout, f->reshard_after_forward) &&
           ty_layout_does(layout, f->reshard_after_backward);
}

/* Whether passes of a slot run over each other, or are to take less than one after the other. */
static bool weaves(const struct ty_plan_costs *costs, const struct ty_layout *layout,
                   const struct ty_plan_order *order)
{
    return order->paired &&
           (layout->framework.expert_overlap || costs->base->schedule.overlap_cost < 1);
}

/* Whether every whole backward of a stage reduces what it makes, and waits for it. */
static bool waits_for_grad_reduce(const struct ty_plan_order *order)
{
    return !order->paired && !order->split && !order->sched->whole_chunks &&
           order->shape.slices == 1;
}

/* Whether updated weights come back in the next forward; behind the optimizer. */
static bool regains_late(const struct ty_layout *layout)
{
    return ty_zero_stages[layout->zero].gather_after_step &&
           layout->framework.overlap_param_gather && ty_layout_has_copies(layout);
}

static bool regains(const struct ty_layout *layout)
{
    return ty_zero_stages[layout->zero].gather_after_step && !regains_late(layout);
}

/* ---- behind the passes ---- */

/* The sum of gradients of an embedding that the first and the last rank share; 0: they share none,
 * or the rank is another one. */
static double tied_ps(struct ty_plan_costs *costs, const struct ty_layout *layout,
                      const struct ty_plan_look *look, uint32_t rank)
{
    const struct ty_arch *arch = &costs->base->arch;
    const struct ty_plan_order *order = look->order;
    const uint32_t last = order->shape.p - 1;
    if ((!arch->tied && arch->mtp == 0) || last == 0 ||
        order->sched->placement != TY_PLACE_LOOPED || (rank != 0 && rank != last)) {
        return 0;
    }
    const double bytes =
        (double)arch->vocabulary * arch->hidden / layout->tensor * ty_memory_grad_bytes(layout);
    return ty_plan_collective_ps(costs, look->grid->ends, TY_COLL_ALL_REDUCE, bytes);
}

/* The norm of all gradients; negative: ranks do not wait for each other. */
static double norm_ps(struct ty_plan_costs *costs, const struct ty_layout *layout,
                      const struct ty_plan_grid *grid)
{
    const uint32_t shard = layout->tensor * ty_layout_shards(layout);
    const uint32_t n = layout->zero > 0 ? shard : layout->tensor;
    if (n * layout->pipeline == 1 || !costs->base->schedule.barrier) {
        return -1;
    }
    return ty_plan_collective_ps(costs, grid->norm, TY_COLL_ALL_REDUCE, 4);
}

/* The optimizer of a rank on its fastest GPU. */
static double optimizer_ps(const struct ty_plan_costs *costs, const struct ty_layout *layout,
                           const struct ty_plan_grid *grid, double params, double experts)
{
    double least = INFINITY;
    for (uint32_t g = 0; g < TY_GENERATIONS_MAX; g++) {
        if (grid->used[g]) {
            const struct ty_gpu *gpu = &ty_exceptions_cluster(&costs->base->cluster, g)->gpu;
            least = fmin(least, ty_optimizer_cost(gpu, layout, params, experts).seconds);
        }
    }
    return floor(least * 1e12);
}

/* ---- a layout ---- */

/* Of a pass of a virtual stage. */
struct pass {
    double work;    /* of the rank, until its next pass can begin */
    double through; /* until what it makes is with the stage that waits for it */
    double alone;   /* its computation; 0: it has none, and nothing waits for what it gets */
};
#define PASS_TIMES 3u

/* A layout, looked up, and what its chains are made of. Times in ps. */
struct chains {
    struct ty_plan_costs *costs;
    const struct ty_layout *layout;
    struct ty_plan_look look;
    const struct ty_plan_stage *const *stage;     /* [stages] */
    const struct ty_plan_traffic *const *traffic; /* [stages] */
    const struct ty_plan_rank *rank;              /* the one at hand */
    uint32_t stages, slices, back; /* back: phase of what the stage before waits for */
    struct pass *pass;             /* [stages][slices][phases] */
    double *arrival[2]; /* [stages][slices] of the first forward, the first backward: to it */
    double *tail[2];    /* the same of the last: from its start to the end of all passes */
    struct messages messages;
    bool piles; /* backwards wait for reductions of their own */
    bool woven; /* passes of a slot run over each other, or take less than one after the other */
};

static struct pass *pass_of(const struct chains *c, uint32_t stage, uint32_t slice, uint32_t phase)
{
    assert(stage < c->stages && slice < c->slices && phase < TY_PLAN_PHASES);
    return &c->pass[(stage * c->slices + slice) * TY_PLAN_PHASES + phase];
}

/* ---- passes ---- */

/* Where the passes of a slot run over each other, what is known to last is computation alone. Those
 * that run one after the other last as long as any, unless a slot is to take less. */
static double least_time(const struct chains *c, const struct ty_unit_time *time, bool through)
{
    const double stretch = fmin(1, c->costs->base->schedule.overlap_cost);
    return c->woven  ? floor(time->bare * stretch * (1 - 1e-9))
           : through ? time->through
                     : time->busy;
}

/* Of its rank: a backward may wait for reductions of its own. */
static double least_work(const struct chains *c, uint32_t stage, uint32_t slice, uint32_t phase)
{
    const double own = least_time(c, ty_plan_time(c->stage[stage], phase, slice), false);
    return c->piles && phase == TY_PHASE_BACKWARD ? ty_plan_larger(own, c->traffic[stage]->piled)
                                                  : own;
}

static void time_passes(struct chains *c)
{
    const double host = c->layout->pipeline > 1 ? c->look.layer->times->host_ps : 0;
    for (uint32_t s = 0; s < c->stages; s++) {
        const struct message none = {0, 0, false};
        const struct message down =
            s + 1 < c->stages ? message_after(&c->look, &c->messages, s) : none;
        const struct message up = s > 0 ? message_after(&c->look, &c->messages, s - 1) : none;
        for (uint32_t q = 0; q < c->slices; q++) {
            for (uint32_t phase = 0; phase < TY_PLAN_PHASES; phase++) {
                const struct ty_unit_time *time = ty_plan_time(c->stage[s], phase, q);
                const struct message sent = phase == TY_PHASE_FORWARD ? down
                                            : phase == c->back        ? up
                                                                      : none;
                /* what a message brings, and the loss, waits for the sum at the end of a forward */
                const bool sums = phase == TY_PHASE_FORWARD && (sent.any || s + 1 == c->stages);
                const double work = least_work(c, s, q, phase);
                const double whole =
                    least_time(c, ty_plan_time(c->stage[s], TY_PHASE_BACKWARD, q), false);
                const double through = sums                      ? least_time(c, time, true)
                                       : phase == TY_PHASE_DGRAD ? fmin(work, whole)
                                                                 : work;
                *pass_of(c, s, q, phase) =
                    (struct pass){.alone = host + work,
                                  .work = host + work + (c->messages.waits ? sent.send : 0),
                                  .through = host + through + sent.send + sent.behind};
            }
        }
    }
}

/* Work of the rank at hand on its slowest GPU: what passes compute takes longer, behind which their
 * collectives may hide. It holds until passes are timed again. */
static void slow_down(struct chains *c, double slower)
{
    for (uint32_t k = 0; k < c->rank->n_chunks; k++) {
        const uint32_t s = c->rank->stage[k];
        for (uint32_t i = 0; i < c->slices * TY_PLAN_PHASES; i++) {
            struct pass *pass = &pass_of(c, s, 0, 0)[i];
            const uint32_t phase = i % TY_PLAN_PHASES, q = i / TY_PLAN_PHASES;
            const double work = least_work(c, s, q, phase);
            const double bare = c->woven ? work : ty_plan_time(c->stage[s], phase, q)->bare;
            const double slow = pass->alone - work + floor(slower * bare * (1 - 1e-9));
            pass->work = ty_plan_larger(pass->work, slow); /* which no message adds to */
        }
    }
}

/* ---- chains of a micro-batch ---- */

/* When what a pass that starts at `at` makes is with the stage that waits for it. A pass without
 * computation makes nothing. */
static double pass_on(const struct pass *pass, double at)
{
    return pass->alone > 0 ? at + pass->through : 0;
}

/* How soon it can be with each stage, on its way down and up. regain[stages]: when updated weights
 * are back, which its first forward waits for. */
static void follow_first(struct chains *c, const double *regain)
{
    for (uint32_t q = 0; q < c->slices; q++) {
        double at = 0;
        for (uint32_t s = 0; s < c->stages; s++) {
            double *down = &c->arrival[0][s * c->slices];
            at = q > 0 ? ty_plan_larger(at,
                                        down[q - 1] + pass_of(c, s, q - 1, TY_PHASE_FORWARD)->work)
                       : at;
            down[q] = at;
            at = ty_plan_larger(pass_on(pass_of(c, s, q, TY_PHASE_FORWARD), at), regain[s]);
        }
        for (uint32_t s = c->stages; s > 0; s--) {
            c->arrival[1][(s - 1) * c->slices + q] = at;
            at = pass_on(pass_of(c, s - 1, q, c->back), at);
        }
    }
}

/* Where backwards are of two parts, the weight gradients of the first stage come behind what its
 * own predecessor would wait for. Whole ones that are among them may hide more. */
static double weights_left(const struct chains *c, uint32_t q)
{
    const double input = pass_of(c, 0, q, c->back)->through;
    const double parts = input + pass_of(c, 0, q, TY_PHASE_WGRAD)->work;
    const double whole = pass_of(c, 0, q, TY_PHASE_BACKWARD)->through;
    return c->back == TY_PHASE_DGRAD ? ty_plan_larger(fmin(parts, whole) - input, 0) : 0;
}

/* From the start of a pass to the end, when `left` is what comes after it in the stage that waits;
 * negative: nobody does. */
static double to_end(const struct pass *pass, double left)
{
    return pass->alone == 0 ? -1 : left < 0 ? pass->alone : pass->through + left;
}

/* What has to come after it has begun a pass. after: behind the last pass of the first stage. */
static void follow_last(struct chains *c, double after)
{
    for (uint32_t q = 0; q < c->slices; q++) {
        double left = after + weights_left(c, q);
        for (uint32_t s = 0; s < c->stages; s++) {
            left = to_end(pass_of(c, s, q, c->back), left);
            c->tail[1][s * c->slices + q] = ty_plan_larger(left, 0);
        }
        for (uint32_t s = c->stages; s > 0; s--) {
            left = to_end(pass_of(c, s - 1, q, TY_PHASE_FORWARD), left);
            c->tail[0][(s - 1) * c->slices + q] = ty_plan_larger(left, 0);
        }
    }
}

/* ---- a rank ---- */

static double work_before(const struct chains *c, uint32_t i_mark)
{
    const struct ty_plan_mark *mark = &c->rank->mark[i_mark];
    const uint32_t more = ty_plan_more(c->look.order, c->rank, i_mark);
    double sum = 0;
    for (uint32_t i = mark->work; i < mark->work_end; i++) {
        const struct ty_plan_work *work = &c->rank->work[i];
        const uint32_t chunk = work->pass / (c->slices * TY_PLAN_PHASES);
        const uint32_t rest = work->pass % (c->slices * TY_PLAN_PHASES);
        const struct pass *pass = &pass_of(c, c->rank->stage[chunk], 0, 0)[rest];
        assert(chunk < c->rank->n_chunks && pass->work >= 0);
        sum += (work->n + more) * pass->work;
    }
    return sum;
}

/* The longest chain through a rank, to the end of all passes and `after` its own. */
static double longest(const struct chains *c, const double *regain, double after)
{
    double head = 0, work = 0, most = 0; /* head: least start, less the work before it */
    const struct ty_plan_rank *rank = c->rank;
    for (uint32_t i = 0; i + 1 < rank->n_marks; i++) {
        const struct ty_plan_mark *mark = &rank->mark[i];
        const uint32_t stage = rank->stage[mark->chunk], at = stage * c->slices + mark->slice;
        const int way = mark->phase == TY_PHASE_FORWARD ? 0 : 1;
        work += work_before(c, i);
        if (mark->phase == TY_PHASE_WGRAD ||
            pass_of(c, stage, mark->slice, mark->phase)->alone == 0) {
            continue;
        }
        if (mark->first) {
            const double first = pass_of(c, stage, mark->slice, mark->phase)->work;
            head = ty_plan_larger(head, c->arrival[way][at] - work);
            head = way == 0 ? ty_plan_larger(head, regain[stage] - work - first) : head;
        } else {
            most = ty_plan_larger(most, head + work + c->tail[way][at]);
        }
    }
    work += work_before(c, rank->n_marks - 1);
    const double send = ty_plan_larger(c->messages.send_near, c->messages.send_far);
    return ty_plan_larger(most, head + work - (c->messages.waits ? send : 0) + after);
}

/* ---- behind the passes ---- */

/* Of what is in a rank: parameters, and traffic of its stages. */
struct holdings {
    double params, experts, whole;
    double reduce, exposed, regain; /* ps */
};

static void look_at_rank(const struct chains *c, uint32_t r, struct holdings *out)
{
    const struct ty_plan_rank *rank = &c->look.order->rank[r];
    const struct ty_plan_mark *end = &rank->mark[rank->n_marks > 1 ? rank->n_marks - 2 : 0];
    *out = (struct holdings){0, 0, 0, 0, 0, 0};
    for (uint32_t k = 0; k < rank->n_chunks; k++) {
        const uint32_t s = rank->stage[k];
        const struct ty_plan_traffic *traffic = c->traffic[s];
        out->params += c->stage[s]->params.all;
        out->experts += c->stage[s]->params.experts;
        out->whole += c->stage[s]->params.whole;
        out->reduce += traffic->reduce;
        out->regain += traffic->regain;
        if (end->chunk == k) {
            out->exposed =
                c->piles && traffic->piled > 0 ? traffic->piled_exposed : traffic->exposed;
        }
    }
    if (ty_layout_reduces_late(c->layout) && c->layout->zero < 3) { /* of all its stages */
        out->exposed = ty_layout_reduces(c->layout) == TY_REDUCES_LAST ? out->reduce : out->exposed;
    }
}

/* Between a rank's last pass and the norm of all gradients. */
static double after_passes(const struct chains *c, uint32_t r, const struct holdings *rank)
{
    const struct ty_layout *layout = c->layout;
    const double grad = ty_memory_grad_bytes(layout);
    double after = rank->exposed;
    if (layout->sequence_parallel && layout->tensor > 1 && rank->whole > 0) {
        after = ty_plan_larger(after,
                               ty_plan_collective_ps(c->costs, c->look.grid->group[TY_GROUP_TENSOR],
                                                     TY_COLL_ALL_REDUCE, rank->whole * grad));
    }
    return after + tied_ps(c->costs, layout, &c->look, r);
}

/* All that gathers and reductions of a rank take of the stream that they share, where every pass
 * has some. */
static double stream_ps(const struct chains *c, const struct holdings *rank)
{
    const struct ty_plan_order *order = c->look.order;
    const double m = order->shape.m / ty_sched_directions(order->sched->placement);
    if (ty_layout_reduces(c->layout) != TY_REDUCES_EVERY || c->look.order->sched->whole_chunks) {
        return 0;
    }
    return m * (rank->reduce + (gathers_anew(c->layout, c->look.order) ? rank->regain : 0));
}

/* ---- the bound ---- */

/* Over all ranks. */
struct ends {
    double passes;      /* until all of them know that they can update */
    double most, least; /* updates of the ranks */
};

static void find_ends(struct chains *c, const double *regain, struct ends *out)
{
    const uint32_t p = c->look.order->shape.p;
    const uint32_t first =
        ty_sched_owner(c->look.order->sched->placement, &c->look.order->shape, 0, 0);
    const bool gathers = regains(c->layout);
    struct holdings rank;
    *out = (struct ends){.least = INFINITY};
    look_at_rank(c, first, &rank);
    follow_first(c, regain);
    follow_last(c, after_passes(c, first, &rank));
    for (uint32_t r = 0; r < p; r++) {
        look_at_rank(c, r, &rank);
        c->rank = &c->look.order->rank[r];
        const double update =
            optimizer_ps(c->costs, c->layout, c->look.grid, rank.params, rank.experts) +
            (gathers ? rank.regain : 0);
        const double slower = c->look.grid->slower[r];
        if (slower > 1) {
            slow_down(c, slower);
        }
        out->passes = ty_plan_larger(out->passes, longest(c, regain, after_passes(c, r, &rank)));
        if (slower > 1) {
            time_passes(c);
        }
        out->passes = ty_plan_larger(out->passes, stream_ps(c, &rank));
        out->most = ty_plan_larger(out->most, update);
        out->least = fmin(out->least, update);
    }
}

static int make_chains(struct chains *c, double **regain, struct ty_err *err)
{
    const uint32_t n = c->stages * c->slices;
    const size_t need = (size_t)n * (4 + PASS_TIMES * TY_PLAN_PHASES) + c->stages;
    if (c->costs->n_times < need) {
        c->costs->times = ty_arena_array(&c->costs->arena, double, need);
        c->costs->n_times = c->costs->times == NULL ? 0 : need;
    }
    if (c->costs->times == NULL) {
        return ty_fail_memory(err);
    }
    double *at = c->costs->times;
    _Static_assert(sizeof(struct pass) == PASS_TIMES * sizeof(double), "passes among times");
    c->pass = (struct pass *)at;
    at += (size_t)n * PASS_TIMES * TY_PLAN_PHASES;
    for (int k = 0; k < 2; k++) {
        c->arrival[k] = at + (size_t)(2 * k) * n;
        c->tail[k] = at + (size_t)(2 * k + 1) * n;
    }
    *regain = at + (size_t)4 * n;
    for (uint32_t s = 0; s < c->stages; s++) {
        (*regain)[s] = regains_late(c->layout) ? c->traffic[s]->regain : 0;
    }
    return 0;
}

int ty_plan_bound(struct ty_plan_costs *costs, const struct ty_layout *layout,
                  const struct ty_sched_options *schedule, double *seconds, struct ty_err *err)
{
    double *regain = NULL;
    *seconds = 0;
    if (costs->low != NULL && !ty_sched_of(schedule)->steered) { /* else the order is another */
        return ty_plan_bound(costs->low, layout, schedule, seconds, err);
    }
    if (!costs->known) {
        return 0;
    }
    struct chains c = {.costs = costs, .layout = layout, .back = TY_PHASE_BACKWARD};
    int rc = ty_plan_look(costs, layout, schedule, &c.look, err);
    if (rc < 0 || c.look.order == NULL || c.look.order->shape.slices > TY_PLAN_SLICES) {
        return rc;
    }
    c.stages = ty_sched_stages(&c.look.order->shape);
    c.slices = c.look.order->shape.slices;
    c.back = c.look.order->split ? TY_PHASE_DGRAD : TY_PHASE_BACKWARD;
    const struct ty_plan_times *times =
        ty_plan_times(costs, layout, c.look.grid, c.look.layer, c.slices, err);
    rc = times == NULL ? TY_ENOMEM : ty_plan_sums(costs, &c.look, times, &c.stage, err);
    rc = rc < 0 ? rc : plan_traffics(costs, layout, &c.look, &c.traffic, err);
    rc = rc < 0 ? rc : make_chains(&c, &regain, err);
    c.piles = waits_for_grad_reduce(c.look.order);
    c.woven = weaves(costs, layout, c.look.order);
    if (rc < 0) {
        return rc;
    }
    price_messages(costs, layout, &c.look, &c.messages);
    time_passes(&c);
    struct ends ends;
    find_ends(&c, regain, &ends);
    const double norm = norm_ps(costs, layout, c.look.grid);
    const bool one = costs->base->run.steps == 1 && norm >= 0;
    const double ps = ends.passes + ty_plan_larger(norm, 0) + (one ? ends.most : ends.least);
    assert(ends.passes >= 0 && ends.least <= ends.most && ps >= 0);
    *seconds = ty_s_from_ps((ty_ps)ps);
    return 0;
}

int ty_plan_check(struct ty_plan_costs *costs, const struct ty_run *run, struct ty_err *err)
{
    const struct ty_config *config = run->config;
    const double step = ty_s_from_ps(run->timeline.makespan) / config->run.steps;
    double bound;
    const int rc = ty_plan_bound(costs, &config->layout, &config->schedule, &bound, err);
    if (rc < 0 || bound <= step) {
        return rc;
    }
    return ty_fail(err, TY_EBUG, "plan: a bound of %.12g s, and the step takes %.12g s", bound,
                   step);
}
