/* stages.c - see stages.h: the deal, what it looks like as a layout, and its simulation. */
#include "sim/plan/stages.h"

#include <math.h>
#include <string.h>

#include "model/parallel/kinds.h"
#include "sim/plan/stages_internal.h"
#include "sim/run/bill.h"
#include "sim/run/figures.h"

#define EXECUTIONS_MAX 64u  /* of neighbours of what was found */
#define WORTH_A_TRY    1.01 /* estimated objective over the best: what shared links may be worth */

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

/* ---- a deal as a layout ---- */

struct search {
    const struct ty_stage_problem *problem;
    struct ty_deal_stage *stage; /* [ranks]: less room where a bill says so */
    struct ty_deal deal;         /* with these */
    struct ty_price_book *book;
    struct ty_deal_share *best; /* [ranks] of out */
    double objective;           /* of the deal that was found first */
    struct ty_plan_stages *out;
    struct ty_arena *arena;
    struct ty_err *err;
};

/* Layers of the virtual stages of a rank: as even as they can be, the later ones with more, which
 * hold fewer micro-batches. */
static void spread_layers(const struct ty_stage_problem *p, uint32_t rank, uint32_t layers,
                          uint32_t *out)
{
    const uint32_t stages = p->config->layout.stages;
    for (uint32_t s = 0; s < stages; s++) {
        if (p->owner[s] == rank) {
            out[s] = s > 0 && s + 1 < stages;
            layers -= out[s];
        }
    }
    while (layers-- > 0) {
        uint32_t least = stages;
        for (uint32_t s = stages; s > 0; s--) {
            const bool mine = p->owner[s - 1] == rank;
            least = mine && (least == stages || out[s - 1] < out[least]) ? s - 1 : least;
        }
        out[least]++;
    }
}

/* Those that run again first where most is held: on the first of its virtual stages. */
static void spread_again(const struct ty_stage_problem *p, uint32_t rank,
                         const struct ty_deal_share *share, const uint32_t *layers,
                         struct ty_counts *out)
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

/* Whether all counts are of one mode: then layout.recompute says which; where none are, that all
 * layers have. */
static uint32_t plain_mode(const struct ty_stage_problem *p, const struct ty_counts *counts)
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

/* The keys of a deal. */
static int word(struct search *x, const struct ty_deal_share *share, struct ty_plan_stages *out)
{
    const struct ty_stage_problem *p = x->problem;
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

/* ---- a deal simulated ---- */

/* Whether all stages fit. `learn`: takes the room that a bill lacks from its stage. */
static bool fit(struct search *x, const struct ty_run *run, bool learn)
{
    bool fits = true;
    for (uint32_t r = 0; r < x->deal.n_stages; r++) {
        struct ty_bill bill;
        ty_run_bill(run, r, &bill);
        if (bill.total_B > bill.capacity_B) {
            const double lacks = (bill.total_B - bill.capacity_B) / x->problem->overhead;
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

/* 1: it does not fit. */
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

/* ---- its neighbours ---- */

/* Shares of two ranks anew, with a layer from the one to the other; false: it cannot be. */
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
    return x->deal.rounds * most + sum <= WORTH_A_TRY * x->objective;
}

/* A layer over each boundary, either way, from the best on until none is better. */
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

/* One layer fewer that runs again: bytes of a deal are rounded up. */
static int try_fewer(struct search *x, struct ty_deal_share *share)
{
    const uint32_t n = x->deal.n_stages;
    int rc = 0;
    for (uint32_t r = 0; r < n && rc >= 0; r++) {
        memcpy(share, x->best, n * sizeof(*share));
        if (share[r].n_again > 0 && x->out->simulated < EXECUTIONS_MAX) {
            share[r].n_again -= --share[r].again[share[r].n_again - 1].n == 0;
            rc = simulate(x, share, false);
        }
    }
    return rc < 0 ? rc : 0;
}

/* ---- all ---- */

/* The deal that fits by the bill of its layout, too. */
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
        x->objective = x->deal.rounds * result.most + result.sum;
        rc = simulate(x, result.share, true);
        if (rc <= 0) {
            return rc;
        }
    }
    return 0;
}

static bool can_deal(const struct ty_config *config, const struct ty_stage_problem *p)
{
    const uint32_t chunks = config->layout.stages / config->layout.pipeline;
    return chunks == 1 || p->deal.n_kinds == 1;
}

int ty_plan_stages(const struct ty_config *config, const uint32_t *mode, uint32_t n_modes,
                   struct ty_price_book *book, struct ty_plan_stages *out, struct ty_arena *arena,
                   struct ty_err *err)
{
    struct ty_stage_problem problem;
    *out = (struct ty_plan_stages){.found = false};
    if (ty_sched_directions(ty_sched_of(&config->schedule)->placement) > 1 ||
        config->schedule.custom != NULL || config->layout.stages > TY_LIST_MAX) {
        return 0;
    }
    int rc = ty_stage_costs(&problem, config, mode, n_modes, book, &out->simulated, arena, err);
    if (rc < 0 || !can_deal(config, &problem)) {
        return rc;
    }
    const uint32_t n = problem.deal.n_stages;
    struct search x = {.problem = &problem,
                       .stage = ty_arena_array(arena, struct ty_deal_stage, n),
                       .deal = problem.deal,
                       .book = book,
                       .best = ty_arena_array(arena, struct ty_deal_share, n),
                       .out = out,
                       .arena = arena,
                       .err = err};
    struct ty_deal_share *share = ty_arena_array(arena, struct ty_deal_share, n);
    if (x.stage == NULL || x.best == NULL || share == NULL) {
        return ty_fail_memory(err);
    }
    memcpy(x.stage, problem.stage, n * sizeof(*x.stage));
    x.deal.stage = x.stage;
    rc = find(&x);
    if (rc == 0 && out->found) {
        rc = try_neighbours(&x, share);
    }
    if (rc == 0 && out->found) {
        rc = try_fewer(&x, share);
    }
    out->found = out->found && (out->stage_layers.n > 0 || out->recompute_layers.n > 0);
    return rc;
}
