/* stages.c - partitions the layers of one layout: costs, the exact program, simulated neighbours.
 *
 * The even layout is executed once in each mode. The time of a stage's pass is split among its
 * layers (ty_layer_work). Layers of a kind count with their mean; the rest is the stage's own. The
 * operator lists give the bytes that a layer keeps and brings back. What a stage needs apart from
 * its layers is the memory estimate of the even layout, less the share of its layers. */
#include "sim/plan/stages.h"

#include <math.h>
#include <string.h>

#include "model/block/memory.h"
#include "model/parallel/kinds.h"
#include "sim/base/check.h"
#include "sim/run/bill.h"
#include "sim/run/deal.h"
#include "sim/run/figures.h"
#include "sim/run/pass_times.h"
#include "sim/run/run.h"

#define EXECUTIONS_MAX 64u /* of neighbours of a partition, at most */
/* A neighbour is simulated if its objective is at most this much times the best one: shared links,
 * which the objective leaves out, may be worth 1 %. */
#define WORTH_A_TRY 1.01

/* The partition problem of a layout. Its stages are pipeline ranks, which may have several virtual
 * stages. */
struct problem {
    struct ty_deal deal;
    const struct ty_config *config;
    uint32_t mode[TY_DEAL_MODES]; /* [deal.n_modes] enum ty_recompute */
    uint32_t owner[TY_LIST_MAX];  /* [layout.stages] rank of a virtual stage */
    double overhead;              /* bytes reserved for each byte in use: 1 + fragmentation */
    double usable;                /* share of the memory, without the margin */
    struct ty_deal_kind kind[TY_LAYER_KINDS];
    struct ty_deal_stage stage[TY_LIST_MAX];
    uint8_t *layer; /* [model.layers] */
};

void ty_plan_stages_set(const struct ty_plan_stages *stages, struct ty_config *config)
{
    struct ty_layout *l = &config->layout;
    l->recompute = stages->recompute;
    l->recompute_layers = stages->recompute_layers;
    l->stage_layers = stages->stage_layers;
    if (stages->stage_tensor.n > 0) {
        l->pipeline = stages->stage_tensor.n;
        l->stage_tensor = stages->stage_tensor;
        l->stage_data = stages->stage_data;
        l->tensor = stages->stage_tensor.item[0];
        l->data = stages->stage_data.item[0];
        l->shard = config->given.layout.shard;
        l->micro_batch = stages->micro_batch;
    }
}

int ty_plan_stages_apply(const struct ty_plan_stages *stages, struct ty_config *config,
                         struct ty_err *err)
{
    const struct ty_section *section = &config->sections[TY_SECTION_LAYOUT];
    struct ty_layout *l = &config->layout;
    ty_plan_stages_set(stages, config);
    return ty_layout_finish(l, section, &config->arch, &config->cluster,
                            ty_sched_chunks(&config->schedule), err);
}

/* ---- seconds of an execution, bytes of a memory estimate ---- */

/* Executes the even layout with all layers in a mode. Returns 1 if the model has no such mode. */
static int execute(const struct ty_config *config, uint32_t mode, struct ty_price_book *book,
                   struct ty_config *even, struct ty_run **run, struct ty_err *err)
{
    const struct ty_plan_stages plain = {.recompute = mode};
    *even = *config;
    *run = NULL;
    if (ty_plan_stages_apply(&plain, even, NULL) < 0) {
        return 1;
    }
    const int rc = ty_run_plan(run, even, book, err);
    return rc < 0 ? rc : ty_run_execute_folded(*run, err);
}

static uint32_t kind_of(const struct ty_arch *arch, uint32_t layer)
{
    const struct ty_layers one = {.first = layer, .count = 1};
    return (uint32_t)ty_layer_kind(arch, &one, 0) - TY_UNIT_LAYER;
}

/* Numbers the kinds that the model has, without gaps. */
static void find_kinds(struct problem *p)
{
    const struct ty_arch *arch = &p->config->arch;
    uint8_t number[TY_LAYER_KINDS];
    memset(number, UINT8_MAX, sizeof(number));
    for (uint32_t i = 0; i < arch->layers; i++) {
        const uint32_t kind = kind_of(arch, i);
        number[kind] = number[kind] == UINT8_MAX ? (uint8_t)p->deal.n_kinds++ : number[kind];
        p->layer[i] = number[kind];
    }
}

/* ---- a mode ---- */

static double states_of(const struct ty_run *run, const struct ty_unit_ops *unit)
{
    const struct ty_state_bytes x =
        ty_memory_states(&run->config->layout, ty_unit_trained_params(unit), ty_unit_experts(unit));
    return x.weights * run->lowered.stage[0].weight_copies + x.grads + x.optimizer +
           ty_memory_frozen(&run->config->layout, ty_unit_frozen_bytes(unit, false),
                            ty_unit_frozen_bytes(unit, true));
}

/* Notes seconds, their mean over a kind, and bytes of layers. */
static void note_layers(struct problem *p, const struct ty_run *run, const double *layer)
{
    const struct ty_arch *arch = &p->config->arch;
    const struct ty_units *units = run->lowered.units;
    const uint32_t mode = p->deal.n_modes;
    uint32_t n[TY_LAYER_KINDS] = {0};
    struct ty_tensors tensors;
    ty_memory_tensors(units, &tensors);
    for (uint32_t i = 0; i < arch->layers; i++) {
        const enum ty_unit_kind unit = TY_UNIT_LAYER + (enum ty_unit_kind)kind_of(arch, i);
        struct ty_deal_kind *kind = &p->kind[p->layer[i]];
        const double before = n[p->layer[i]]++;
        kind->seconds[mode] = (kind->seconds[mode] * before + layer[i]) / (before + 1);
        if (before > 0) {
            continue;
        }
        kind->kept_B[mode] = ty_tensors_sum(&tensors, unit, TY_LIFE_KEPT);
        kind->again_B[mode] = ty_tensors_sum(&tensors, unit, TY_LIFE_RECOMPUTED);
        kind->waiting_B[mode] = ty_tensors_waiting(&tensors, unit);
        kind->states_B = states_of(run, &units->kind[unit]);
    }
}

/* ---- stages ---- */

static bool splits(const struct ty_run *run, uint32_t rank)
{
    const struct ty_gang *gang = &run->lowered.program.gangs[rank];
    const struct ty_pass *pass = ty_gang_passes(&run->lowered.program, gang);
    uint32_t i = 0;
    while (i < gang->n_passes && pass[i].phase != TY_PHASE_DGRAD) {
        i++;
    }
    return i < gang->n_passes;
}

/* Adds a virtual stage to its rank's stage of the problem. */
static void note_stage(struct problem *p, const struct ty_run *run, uint32_t s,
                       const struct ty_bill *bill, double seconds)
{
    const struct ty_config *c = p->config;
    const uint32_t slices = ty_sched_slices(&c->schedule), rank = p->owner[s];
    const uint32_t last = c->layout.stages - 1, chunks = c->layout.stages / c->layout.pipeline;
    struct ty_deal_stage *stage = &p->stage[rank];
    assert(rank < c->layout.pipeline);
    const struct ty_held held = ty_run_held(run, &run->lowered.program.gangs[rank], s, bill->pass);
    const struct ty_layers own = ty_layout_layers(&run->config->layout, &c->arch, last + 1, s);
    const double kept = (double)held.kept / slices; /* micro-batches */
    const double waiting = (double)held.waiting / slices;
    for (uint32_t i = own.first; i < own.first + own.count; i++) {
        const struct ty_deal_kind *kind = &p->kind[p->layer[i]];
        stage->room_B += kind->states_B + kept * kind->kept_B[0] + waiting * kind->waiting_B[0];
    }
    stage->seconds += seconds;
    stage->held += kept / chunks;
    stage->waiting += waiting / chunks;
    stage->turns = splits(run, rank) ? 1.0 / slices / chunks : 0;
    stage->least += s > 0 && s < last;
}

/* Bytes in use only while the loss runs, not while layers run backward. By then the head has given
 * up its own activations, too. */
static double spare_of(const struct ty_run *run, const struct ty_bill *bill)
{
    struct ty_tensors tensors;
    double most = 0, loss = 0;
    ty_memory_tensors(run->lowered.units, &tensors);
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_MTP; k++) {
        most = fmax(most, ty_tensors_sum(&tensors, k, TY_LIFE_BACKWARD));
    }
    most += 2 * ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_BUFFERED);
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        loss += bill->part[i].transient ? bill->part[i].bytes : 0;
    }
    return bill->kind == TY_PEAK_LOSS
               ? fmax(0, loss + ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_KEPT) - most)
               : 0;
}

static void note_stages(struct problem *p, const struct ty_run *run, const double *work)
{
    const struct ty_config *c = p->config;
    p->overhead = 1 + ty_memory_fragmentation(&c->cluster, &c->layout);
    for (uint32_t rank = 0; rank < c->layout.pipeline; rank++) {
        struct ty_bill bill;
        ty_run_bill(run, rank, &bill);
        p->stage[rank].spare_B = spare_of(run, &bill);
        p->stage[rank].room_B = (p->usable * bill.capacity_B - bill.total_B) / p->overhead;
        for (uint32_t s = 0; s < c->layout.stages; s++) {
            if (p->owner[s] == rank) {
                note_stage(p, run, s, &bill, work[s]);
            }
        }
    }
}

/* ---- all ---- */

static void begin(struct problem *p, const struct ty_config *config)
{
    const struct ty_layout *l = &config->layout;
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&config->schedule, l->pipeline, l->micro_batches);
    const enum ty_sched_placement placement = ty_sched_of(&config->schedule)->placement;
    for (uint32_t s = 0; s < l->stages; s++) {
        p->owner[s] = ty_sched_owner(placement, &shape, 0, s);
    }
    find_kinds(p);
    p->deal.layer = p->layer;
    p->deal.n_layers = config->arch.layers;
    p->deal.kind = p->kind;
    p->deal.stage = p->stage;
    p->deal.n_stages = l->pipeline;
    /* chunks shorten warm-up and cool-down by their number */
    p->deal.rounds = (double)l->stages / l->pipeline * l->micro_batches - 1;
}

/* Executes the layout in each mode that the model has and fills in the problem. Adds the number of
 * executions to *executed. */
static int find_costs(struct problem *p, const struct ty_config *config, double margin,
                      const uint32_t *mode, uint32_t n_modes, struct ty_price_book *book,
                      uint32_t *executed, struct ty_arena *arena, struct ty_err *err)
{
    *p = (struct problem){.config = config,
                          .usable = 1 - margin,
                          .layer = ty_arena_array(arena, uint8_t, config->arch.layers)};
    double *layer = ty_arena_array(arena, double, config->arch.layers);
    double *work = ty_arena_array(arena, double, config->layout.stages);
    int rc = 0;
    if (p->layer == NULL || layer == NULL || work == NULL) {
        return ty_fail_memory(err);
    }
    begin(p, config);
    for (uint32_t k = 0; k < n_modes && p->deal.n_modes < TY_DEAL_MODES && rc == 0; k++) {
        struct ty_config even;
        struct ty_run *run;
        rc = execute(config, mode[k], book, &even, &run, err);
        if (rc == 0) {
            ty_layer_work(run, work, layer);
            note_layers(p, run, layer);
            if (p->deal.n_modes == 0) {
                note_stages(p, run, work);
            }
            assert(p->deal.n_kinds > 0 && p->deal.n_kinds <= TY_LAYER_KINDS);
            p->mode[p->deal.n_modes++] = mode[k];
            ++*executed;
        }
        ty_run_free(run);
        rc = rc > 0 ? 0 : rc;
    }
    return rc;
}

/* ---- a partition as keys of a layout ---- */

struct search {
    const struct problem *problem;
    struct ty_deal_stage *stage; /* [ranks] with less room where a memory estimate was too large */
    struct ty_deal deal;         /* the problem's, with these stages */
    struct ty_price_book *book;
    struct ty_deal_share *best; /* [ranks] of out */
    double objective;           /* of the exact program's partition */
    struct ty_plan_stages *out;
    struct ty_arena *arena;
    struct ty_err *err;
};

/* Spreads the layers of a rank over its virtual stages as evenly as possible. The later stages,
 * which hold fewer micro-batches, get the remainder. */
static void spread_layers(const struct problem *p, uint32_t rank, uint32_t layers, uint32_t *out)
{
    const uint32_t stages = p->config->layout.stages;
    for (uint32_t s = 0; s < stages; s++) {
        if (p->owner[s] == rank) {
            out[s] = s > 0 && s + 1 < stages;
            assert(layers >= out[s]);
            layers -= out[s];
        }
    }
    while (layers-- > 0) {
        uint32_t least = stages;
        for (uint32_t s = stages; s > 0; s--) {
            const bool mine = p->owner[s - 1] == rank;
            least = mine && (least == stages || out[s - 1] < out[least]) ? s - 1 : least;
        }
        assert(least < stages);
        out[least]++;
    }
}

/* Spreads the recomputed layers of a rank: first over its first virtual stages, which hold most. */
static void spread_again(const struct problem *p, uint32_t rank, const struct ty_deal_share *share,
                         const uint32_t *layers, struct ty_counts *out)
{
    uint32_t k = 0, left = share->n_again > 0 ? share->again[0].n : 0;
    for (uint32_t s = 0; s < p->config->layout.stages; s++) {
        if (p->owner[s] != rank) {
            continue;
        }
        struct ty_counts *counts = &out[s];
        uint32_t room = layers[s];
        while (room > 0 && k < share->n_again) {
            const uint32_t n = left < room ? left : room;
            assert(counts->n < TY_COUNT(counts->item));
            counts->item[counts->n].set = p->mode[share->again[k].mode];
            counts->item[counts->n].n = n;
            counts->n += n > 0;
            room -= n;
            left -= n;
            if (left == 0 && ++k < share->n_again) {
                left = share->again[k].n;
            }
        }
        if (counts->n == 0) { /* 0 */
            counts->item[0].set = TY_COUNTS_PLAIN;
            counts->item[0].n = 0;
            counts->n = 1;
        }
    }
}

/* Returns layout.recompute: the one mode that all counts have; the first mode where no layer is
 * counted; none where counts have several modes. */
static uint32_t plain_mode(const struct problem *p, const struct ty_counts *counts)
{
    const uint32_t n = p->config->layout.stages;
    uint32_t mode = TY_COUNTS_PLAIN;
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t i = 0; i < counts[s].n; i++) {
            const uint32_t set = counts[s].item[i].set;
            if (set != TY_COUNTS_PLAIN && mode != TY_COUNTS_PLAIN && set != mode) {
                return TY_RECOMPUTE_NONE;
            }
            mode = set != TY_COUNTS_PLAIN ? set : mode;
        }
    }
    return mode == TY_COUNTS_PLAIN ? p->mode[0] : mode;
}

static bool is_even(const struct ty_config *config, const uint32_t *layers)
{
    const uint32_t stages = config->layout.stages;
    struct ty_layout even = config->layout;
    bool same = true;
    even.stage_layers = (struct ty_uint_list){0};
    for (uint32_t s = 0; s < stages; s++) {
        same = same && ty_layout_layers(&even, &config->arch, stages, s).count == layers[s];
    }
    return same;
}

/* Returns whether stages have all layers of the model, and recompute no more than they have. */
static bool is_whole(const struct ty_config *config, const uint32_t *layers,
                     const struct ty_counts *counts)
{
    uint32_t sum = 0;
    bool whole = true;
    for (uint32_t s = 0; s < config->layout.stages; s++) {
        uint32_t again = 0;
        for (uint32_t i = 0; i < counts[s].n; i++) {
            again += counts[s].item[i].n;
        }
        whole = whole && again <= layers[s];
        sum += layers[s];
    }
    return whole && sum == config->arch.layers;
}

/* Writes a partition as keys. */
static int word(struct search *x, const struct ty_deal_share *share, struct ty_plan_stages *out)
{
    const struct problem *p = x->problem;
    const uint32_t stages = p->config->layout.stages;
    uint32_t *layers = ty_arena_array(x->arena, uint32_t, stages);
    struct ty_counts *counts = ty_arena_array(x->arena, struct ty_counts, stages);
    bool any = false, all = true;
    if (layers == NULL || counts == NULL) {
        return ty_fail_memory(x->err);
    }
    for (uint32_t r = 0; r < p->deal.n_stages; r++) {
        spread_layers(p, r, share[r].layers, layers);
        spread_again(p, r, &share[r], layers, counts);
        any = any || share[r].n_again > 0;
    }
    TY_DEBUG_CHECK(is_whole(p->config, layers, counts));
    *out = (struct ty_plan_stages){.recompute = plain_mode(p, counts)};
    for (uint32_t s = 0; s < stages; s++) {
        for (uint32_t i = 0; i < counts[s].n; i++) {
            const bool plain = counts[s].item[i].set == out->recompute;
            counts[s].item[i].set = plain ? TY_COUNTS_PLAIN : counts[s].item[i].set;
        }
        all = all && counts[s].item[0].set == TY_COUNTS_PLAIN && counts[s].item[0].n == layers[s];
    }
    if (any && !all) {
        out->recompute_layers = (struct ty_counts_list){stages, counts};
    }
    if (!is_even(p->config, layers)) {
        out->stage_layers = (struct ty_uint_list){stages, layers};
    }
    return 0;
}

/* ---- simulation ---- */

/* Returns whether all stages fit. With `learn`, takes missing bytes from the room of a stage. */
static bool fit(struct search *x, const struct ty_run *run, bool learn)
{
    bool fits = true;
    for (uint32_t r = 0; r < x->deal.n_stages; r++) {
        struct ty_bill bill;
        ty_run_bill(run, r, &bill);
        const double over = bill.total_B - x->problem->usable * bill.capacity_B;
        if (over > 0) {
            const double lacks = over / x->problem->overhead;
            x->stage[r].room_B -= learn ? lacks : 0;
            fits = false;
        }
    }
    return fits;
}

static void keep(struct search *x, const struct ty_run *run, struct ty_plan_stages *one,
                 const struct ty_deal_share *share)
{
    struct ty_figures figures;
    struct ty_bill bill;
    ty_run_figures(run, &figures);
    assert(figures.step_s > 0);
    if (x->out->found && figures.step_s >= x->out->step_s) {
        return;
    }
    ty_run_fullest(run, &bill);
    one->found = true;
    one->step_s = figures.step_s;
    one->peak_B = bill.total_B;
    one->capacity_B = bill.capacity_B;
    one->simulated = x->out->simulated;
    *x->out = *one;
    memcpy(x->best, share, x->deal.n_stages * sizeof(*share));
}

/* Returns 1 if the partition does not fit. */
static int simulate(struct search *x, const struct ty_deal_share *share, bool learn)
{
    struct ty_plan_stages one;
    struct ty_run *run = NULL;
    struct ty_config config = *x->problem->config;
    int rc = word(x, share, &one);
    if (rc == 0) {
        rc = ty_plan_stages_apply(&one, &config, x->err);
    }
    if (rc == 0) {
        rc = ty_run_plan(&run, &config, x->book, x->err);
    }
    if (rc == 0 && !fit(x, run, learn)) {
        rc = 1;
    }
    if (rc == 0) {
        rc = ty_run_execute_folded(run, x->err);
        x->out->simulated++;
    }
    if (rc == 0) {
        keep(x, run, &one, share);
    }
    ty_run_free(run);
    return rc;
}

/* ---- neighbours ---- */

/* Moves a layer from one rank to another. Returns false if that is not worth a simulation. */
static bool move(const struct search *x, uint32_t from, uint32_t to, struct ty_deal_share *share)
{
    uint32_t first = 0;
    double most = 0, sum = 0;
    if (share[from].layers <= x->deal.stage[from].least) {
        return false;
    }
    share[from].layers--;
    share[to].layers++;
    for (uint32_t r = 0; r < x->deal.n_stages; r++) {
        uint64_t steps = 0;
        const uint32_t end = first + share[r].layers;
        const double w = ty_deal_least(&x->deal, r, first, end, &share[r], &steps);
        most = fmax(most, w);
        sum += w;
        first = end;
    }
    assert(first == x->deal.n_layers);
    return x->deal.rounds * most + sum <= WORTH_A_TRY * x->objective;
}

/* Moves a layer over each boundary, either way, from the best on until none is better. */
static int try_neighbours(struct search *x, struct ty_deal_share *share)
{
    const uint32_t n = x->deal.n_stages;
    int rc = 0;
    bool better = true;
    while (better && rc >= 0) {
        better = false;
        for (uint32_t i = 0; i + 1 < 2 * n && rc >= 0; i++) {
            const uint32_t a = i / 2, b = a + 1;
            if (b >= n || x->out->simulated >= EXECUTIONS_MAX) {
                continue;
            }
            const double before = x->out->step_s;
            memcpy(share, x->best, n * sizeof(*share));
            if (move(x, i % 2 == 0 ? a : b, i % 2 == 0 ? b : a, share)) {
                rc = simulate(x, share, false);
                better = better || x->out->step_s < before;
            }
        }
    }
    return rc < 0 ? rc : 0;
}

/* Recomputes one layer fewer: the bytes of the problem are rounded up. */
static int try_fewer(struct search *x, struct ty_deal_share *share)
{
    const uint32_t n = x->deal.n_stages;
    int rc = 0;
    for (uint32_t r = 0; r < n && rc >= 0; r++) {
        memcpy(share, x->best, n * sizeof(*share));
        if (share[r].n_again > 0 && x->out->simulated < EXECUTIONS_MAX) {
            assert(share[r].again[share[r].n_again - 1].n > 0);
            share[r].n_again -= --share[r].again[share[r].n_again - 1].n == 0;
            rc = simulate(x, share, false);
        }
    }
    return rc < 0 ? rc : 0;
}

/* ---- all ---- */

/* Finds the best partition that also fits by the memory estimate of its layout. */
static int find(struct search *x)
{
    for (uint32_t i = 0; i <= 2 * x->deal.n_stages; i++) {
        struct ty_deal_result result;
        int rc = ty_deal(&x->deal, &result, x->arena);
        if (rc < 0) {
            return ty_fail_memory(x->err);
        }
        if (!result.fits) {
            return 0;
        }
        assert(result.most > 0 && result.most <= result.sum);
        x->objective = x->deal.rounds * result.most + result.sum;
        rc = simulate(x, result.share, true);
        if (rc <= 0) {
            return rc;
        }
    }
    return 0;
}

static bool can_deal(const struct ty_config *config, const struct problem *p)
{
    const uint32_t chunks = config->layout.stages / config->layout.pipeline;
    return chunks == 1 || p->deal.n_kinds == 1;
}

static int improve(struct search *x, struct ty_deal_share *share)
{
    const int rc = x->out->found ? try_neighbours(x, share) : 0;
    return rc == 0 && x->out->found ? try_fewer(x, share) : rc;
}

int ty_plan_stages(const struct ty_config *config, double margin, const uint32_t *mode,
                   uint32_t n_modes, struct ty_price_book *book, struct ty_plan_stages *out,
                   struct ty_arena *arena, struct ty_err *err)
{
    struct problem *problem = ty_arena_array(arena, struct problem, 1);
    *out = (struct ty_plan_stages){.found = false};
    if (ty_sched_directions(ty_sched_of(&config->schedule)->placement) > 1 ||
        config->schedule.custom != NULL || config->layout.stages > TY_LIST_MAX) {
        return 0;
    }
    int rc = problem == NULL ? ty_fail_memory(err)
                             : find_costs(problem, config, margin, mode, n_modes, book,
                                          &out->simulated, arena, err);
    if (rc < 0 || !can_deal(config, problem)) {
        return rc;
    }
    const uint32_t n = problem->deal.n_stages;
    struct search x = {.problem = problem,
                       .stage = ty_arena_array(arena, struct ty_deal_stage, n),
                       .deal = problem->deal,
                       .book = book,
                       .best = ty_arena_array(arena, struct ty_deal_share, n),
                       .out = out,
                       .arena = arena,
                       .err = err};
    struct ty_deal_share *share = ty_arena_array(arena, struct ty_deal_share, n);
    if (x.stage == NULL || x.best == NULL || share == NULL) {
        return ty_fail_memory(err);
    }
    memcpy(x.stage, problem->stage, n * sizeof(*x.stage));
    x.deal.stage = x.stage;
    rc = find(&x);
    rc = rc < 0 ? rc : improve(&x, share);
    out->found = out->found && (out->stage_layers.n > 0 || out->recompute_layers.n > 0);
    return rc;
}
