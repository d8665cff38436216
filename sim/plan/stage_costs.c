/* stage_costs.c - the deal of a layout: seconds from executions, bytes from bills.
 *
 * The even layout is executed once in each mode. What a pass of a stage takes is split among its
 * layers (ty_layer_work); layers of a kind count with their mean, what is left is the stage's own.
 * Of bytes the lists of operators say what a layer keeps and brings back; what a stage needs beside
 * its layers is what its bill says of the even layout, less what they take of it. */
#include <math.h>
#include <string.h>

#include "model/block/memory.h"
#include "sim/plan/stages_internal.h"
#include "sim/run/bill.h"
#include "sim/run/pass_times.h"

/* The even layout with all layers in a mode; 1: the model has no such mode. */
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

/* Numbers the kinds that there are without holes. */
static void find_kinds(struct ty_stage_problem *p)
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
        ty_memory_states(&run->config->layout, ty_unit_params(unit), ty_unit_experts(unit));
    return x.weights * run->lowered.stage[0].weight_copies + x.grads + x.optimizer;
}

/* What a run says of layers: seconds, their mean over a kind; bytes. */
static void note_layers(struct ty_stage_problem *p, const struct ty_run *run, const double *layer)
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
        kind->states_B = states_of(run, &units->kind[unit]);
    }
}

/* ---- stages ---- */

struct ty_stage_held ty_stage_held(const struct ty_run *run, uint32_t rank, uint32_t stage,
                                   const struct ty_pass *peak)
{
    const struct ty_program *program = &run->lowered.program;
    const struct ty_pass *pass = ty_gang_passes(program, &program->gangs[rank]);
    struct ty_stage_held held = {0, 0};
    for (; pass <= peak; pass++) {
        const bool ends = pass < peak && !pass->interrupted;
        if (pass->stage != stage) {
            continue;
        }
        held.kept += pass->phase == TY_PHASE_FORWARD && !pass->resumed;
        held.kept -= ends && (pass->phase == TY_PHASE_BACKWARD || pass->phase == TY_PHASE_WGRAD);
        held.again += pass->phase == TY_PHASE_DGRAD && !pass->interrupted;
        held.again -= ends && pass->phase == TY_PHASE_WGRAD;
    }
    return held;
}

/* One virtual stage of a rank, whose bill is known: into the rank's stage of the deal. */
static void note_stage(struct ty_stage_problem *p, const struct ty_run *run, uint32_t s,
                       const struct ty_bill *bill, double seconds)
{
    const struct ty_config *c = p->config;
    const uint32_t slices = ty_sched_slices(&c->schedule), rank = p->owner[s];
    const uint32_t last = c->layout.stages - 1, chunks = c->layout.stages / c->layout.pipeline;
    struct ty_deal_stage *stage = &p->stage[rank];
    const struct ty_stage_held held = ty_stage_held(run, rank, s, bill->pass);
    const struct ty_layers own = ty_layout_layers(&run->config->layout, &c->arch, last + 1, s);
    p->held[s] = (double)held.kept / slices;
    for (uint32_t i = own.first; i < own.first + own.count; i++) {
        const struct ty_deal_kind *kind = &p->kind[p->layer[i]];
        stage->room_B += kind->states_B + p->held[s] * kind->kept_B[0];
    }
    stage->seconds += seconds;
    stage->held += p->held[s] / chunks;
    stage->again += (double)held.again / slices / chunks;
    stage->least += s > 0 && s < last;
}

/* What is there for a moment while the loss runs, but not when layers run backward: the head's own
 * is given up, too. */
static double spare_of(const struct ty_run *run, const struct ty_bill *bill)
{
    struct ty_tensors tensors;
    double most = 0, loss = 0;
    ty_memory_tensors(run->lowered.units, &tensors);
    for (enum ty_unit_kind k = TY_UNIT_LAYER; k < TY_UNIT_MTP; k++) {
        most = fmax(most, ty_tensors_sum(&tensors, k, TY_LIFE_BACKWARD));
    }
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        loss += bill->part[i].transient ? bill->part[i].bytes : 0;
    }
    return bill->kind == TY_PEAK_LOSS
               ? fmax(0, loss + ty_tensors_sum(&tensors, TY_UNIT_HEAD, TY_LIFE_KEPT) - most)
               : 0;
}

static void note_stages(struct ty_stage_problem *p, const struct ty_run *run, const double *work)
{
    const struct ty_config *c = p->config;
    p->overhead = 1 + c->cluster.overhead.fragmentation;
    for (uint32_t rank = 0; rank < c->layout.pipeline; rank++) {
        struct ty_bill bill;
        ty_run_bill(run, rank, &bill);
        p->stage[rank].spare_B = spare_of(run, &bill);
        p->stage[rank].room_B = (bill.capacity_B - bill.total_B) / p->overhead;
        for (uint32_t s = 0; s < c->layout.stages; s++) {
            if (p->owner[s] == rank) {
                note_stage(p, run, s, &bill, work[s]);
            }
        }
    }
}

/* ---- all ---- */

static void begin(struct ty_stage_problem *p, const struct ty_config *config)
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
    /* with chunks fill and drain last as many times less */
    p->deal.rounds = (double)l->stages / l->pipeline * l->micro_batches - 1;
}

int ty_stage_costs(struct ty_stage_problem *p, const struct ty_config *config, const uint32_t *mode,
                   uint32_t n_modes, struct ty_price_book *book, uint32_t *executed,
                   struct ty_arena *arena, struct ty_err *err)
{
    *p = (struct ty_stage_problem){.config = config,
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
            p->mode[p->deal.n_modes++] = mode[k];
            ++*executed;
        }
        ty_run_free(run);
        rc = rc > 0 ? 0 : rc;
    }
    return rc;
}
