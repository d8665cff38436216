/* bill.c - the memory of a stage at its fullest moment, tensor by tensor.
 *
 * ty_memory_profile finds the moment; the passes up to it are counted once more, here by what they
 * hold: layers, embeddings, heads. Counts times the list of model/block/memory.c are the
 * activations, so that the names add up to the line they stand under. */
#include "sim/run/bill.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/base/words.h"
#include "sim/run/offload.h"
#include "sim/run/gpus.h"
#include "sim/run/uneven.h"

static void add_item(struct ty_bill *bill, const char *what, double bytes, enum ty_bill_life life,
                     const char *note)
{
    assert(bytes <= 0 || bill->n < TY_BILL_ITEMS);
    if (bytes > 0 && bill->n < TY_BILL_ITEMS) {
        struct ty_bill_item *item = &bill->item[bill->n++];
        item->what = what;
        item->bytes = bytes;
        item->life = life;
        (void)snprintf(item->note, sizeof(item->note), "%s", note);
        bill->total_B += bytes;
    }
}

/* ---- what is held ---- */

/* Units whose tensors are held: of forwards, and between the halves of a split backward. */
struct held {
    uint32_t kept[TY_N_UNIT_KINDS], waiting[TY_N_UNIT_KINDS];
};

struct stages {
    const struct ty_config *config;
    uint32_t n, slices; /* virtual stages of a direction */
};

static struct stages stages_of(const struct ty_run *run)
{
    const struct ty_config *c = run->config;
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&c->schedule, c->layout.pipeline, c->layout.micro_batches);
    return (struct stages){c, ty_sched_stages(&shape), shape.slices};
}

/* Units of a virtual stage. */
static struct ty_memory_stage units_of(const struct stages *s, const struct ty_pass *pass)
{
    const struct ty_config *c = s->config;
    struct ty_memory_stage stage = {.arch = &c->arch,
                                    .layers =
                                        ty_layout_layers(&c->layout, &c->arch, s->n, pass->stage),
                                    .head = pass->stage == s->n - 1};
    ty_stage_count(&c->arch, &stage.layers, pass->stage == 0, stage.head, stage.count);
    return stage;
}

/* The layer of a virtual stage that runs backward at a moment: of a whole backward the last of its
 * kind, of a split one the last that is not done with. 0: it has none. */
static uint32_t layer_of(const struct ty_memory_stage *stage, const struct ty_memory_peak *peak)
{
    const struct ty_layers *layers = &stage->layers;
    uint32_t n = layers->count, left = stage->count[peak->layer] - peak->done[peak->layer], own = 0;
    for (uint32_t i = 0; i < n; i++) {
        own += ty_layer_kind(stage->arch, layers, i) == peak->layer;
    }
    for (; n > 0; n--) {
        const bool is = ty_layer_kind(stage->arch, layers, n - 1) == peak->layer;
        if (is && own <= left) {
            break;
        }
        own -= is;
    }
    return n > 0 ? layers->first + n - 1 : 0;
}

/* Counts what is held when pass number `peak` of the gang runs. */
static struct held count_held(const struct ty_run *run, const struct stages *s,
                              const struct ty_gang *gang, uint32_t peak)
{
    struct held held = {.waiting = {0}};
    for (uint32_t i = 0; i <= peak; i++) {
        const struct ty_pass *pass = &ty_gang_passes(&run->lowered.program, gang)[i];
        const struct ty_memory_stage stage = units_of(s, pass);
        const uint32_t *count = stage.count;
        for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
            if (pass->phase == TY_PHASE_FORWARD) {
                held.kept[k] += pass->resumed ? 0 : count[k];
            } else if (pass->interrupted || i == peak || pass->phase == TY_PHASE_STEP) {
                continue; /* its last piece gives back, at its end */
            } else if (pass->phase == TY_PHASE_WGRAD) {
                held.waiting[k] -= count[k];
            } else {
                held.kept[k] -= count[k];
                held.waiting[k] += pass->phase == TY_PHASE_DGRAD ? count[k] : 0;
            }
        }
    }
    return held;
}

/* How often a tensor is there; *transient: while the pass runs only. */
static uint32_t copies_of(const struct ty_tensor *x, const struct held *held,
                          const struct ty_bill *bill, bool *transient)
{
    const bool layer = bill->kind == TY_PEAK_LAYER && x->unit == bill->layer;
    const uint32_t waiting = ty_tensor_waits(x) ? held->waiting[x->unit] : 0;
    *transient = false;
    switch (x->life) {
    case TY_LIFE_KEPT:
        return held->kept[x->unit] + waiting;
    case TY_LIFE_RECOMPUTED:
        *transient = waiting == 0;
        return waiting + layer;
    case TY_LIFE_WEIGHT:
        return waiting;
    case TY_LIFE_BACKWARD:
        *transient = true;
        return layer && ty_tensor_is_in(x, (enum ty_phase)bill->pass->phase);
    case TY_LIFE_BUFFERED:
        *transient = true;
        return bill->head ? bill->kind == TY_PEAK_LOSS ? 1 : 2 : 0; /* its own, too */
    case TY_LIFE_SPLIT:
    case TY_N_LIVES:
        return 0; /* a line of its own */
    case TY_LIFE_LOSS:
    case TY_LIFE_LOSS_BACKWARD:
        *transient = true; /* one head after the other */
        return bill->kind == TY_PEAK_LOSS && x->unit == TY_UNIT_HEAD &&
               x->life == ty_memory_loss_life((enum ty_phase)bill->pass->phase) &&
               ty_tensor_is_in(x, (enum ty_phase)bill->pass->phase);
    }
    return 0;
}

/* What is done with when the backward of a kind of layer runs. */
static void give_up(const struct ty_memory_stage *stage, enum ty_unit_kind layer, struct held *held)
{
    uint32_t done[TY_N_UNIT_KINDS] = {0};
    if (ty_unit_is_layer(layer)) {
        ty_memory_done(stage, layer, done);
    }
    done[TY_UNIT_HEAD] = stage->head;
    done[TY_UNIT_MTP_HEAD] = stage->count[TY_UNIT_MTP_HEAD];
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        held->kept[k] -= done[k];
    }
}

/* The same in the first half of a split backward: its second half will need some of it. */
static void put_off(const struct ty_memory_peak *peak, struct held *held)
{
    for (enum ty_unit_kind k = 0; k < TY_N_UNIT_KINDS; k++) {
        held->kept[k] -= peak->done[k];
        held->waiting[k] += peak->done[k];
    }
}

static int most_first(const void *a, const void *b)
{
    const struct ty_bill_part *x = a, *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return strcmp(x->what, y->what);
}

/* Layers of several kinds have tensors of one name. */
static void add_part(struct ty_bill *bill, const struct ty_bill_part *part)
{
    for (uint32_t i = 0; i < bill->n_parts; i++) {
        struct ty_bill_part *other = &bill->part[i];
        if (strcmp(other->what, part->what) == 0 && other->transient == part->transient &&
            ty_unit_is_layer(other->unit) && ty_unit_is_layer(part->unit)) {
            other->bytes += part->bytes;
            other->copies += part->copies;
            other->all = other->all && part->all;
            other->each_B = other->each_B == part->each_B ? part->each_B : 0;
            return;
        }
    }
    bill->part[bill->n_parts++] = *part;
}

/* Tensors at the fullest moment, and the two lines that they add up to. */
static void add_activations(const struct ty_run *run, const struct ty_gang *gang,
                            const struct ty_gang_memory *memory, struct ty_bill *bill)
{
    const struct stages s = stages_of(run);
    struct ty_tensors tensors;
    struct held held = count_held(run, &s, gang, memory->peak_pass);
    double kept = 0, transient = 0;
    uint32_t waiting = 0;
    ty_memory_tensors(run->lowered.stage[gang - run->lowered.program.gangs].units, &tensors);
    const struct ty_memory_stage stage = units_of(&s, bill->pass);
    const struct ty_memory_peak fullest =
        ty_memory_pass(&tensors, &stage, (enum ty_phase)bill->pass->phase);
    bill->head = stage.head;
    bill->kind = fullest.kind;
    bill->layer = fullest.layer;
    bill->layer_number = layer_of(&stage, &fullest);
    if (bill->kind == TY_PEAK_LAYER && bill->pass->phase == TY_PHASE_BACKWARD) {
        give_up(&stage, fullest.layer, &held);
    }
    put_off(&fullest, &held);
    for (uint32_t i = 0; i < tensors.n; i++) {
        const struct ty_tensor *x = &tensors.item[i];
        struct ty_bill_part part = {.what = x->name, .unit = x->unit, .life = x->life};
        part.copies = copies_of(x, &held, bill, &part.transient);
        part.all = part.copies == held.kept[x->unit] + held.waiting[x->unit];
        part.each_B = x->bytes / s.slices;
        part.bytes = part.each_B * part.copies;
        if (part.copies > 0) {
            *(part.transient ? &transient : &kept) += part.bytes;
            waiting += held.waiting[x->unit];
            add_part(bill, &part);
        }
    }
    qsort(bill->part, bill->n_parts, sizeof(bill->part[0]), most_first);
    const enum ty_phase phase = (enum ty_phase)bill->pass->phase;
    add_item(bill, "activations", kept, TY_BILL_HELD,
             waiting > 0 ? "each until the gradients that need it"
                         : "each from its forward to its backward");
    add_item(bill, memory->transient_what != NULL ? memory->transient_what : "temporary", transient,
             TY_BILL_TRANSIENT,
             ty_tensor_life_words(bill->kind == TY_PEAK_LOSS ? ty_memory_loss_life(phase)
                                                             : TY_LIFE_BACKWARD));
}

/* ---- the bill ---- */

/* Context and communicators, or the one number that the user gave for both. */
static void add_reserve(const struct ty_config *c, uint32_t stage, struct ty_bill *bill)
{
    const struct ty_layout layout = ty_layout_of_stage(&c->layout, stage);
    const char *name[TY_COMMUNICATORS_MAX];
    const uint32_t n = ty_layout_communicators(&layout, &c->arch, name);
    char note[TY_BILL_NOTE] = "";
    if (c->cluster.overhead.reserve > 0) {
        add_item(bill, "reserve", c->cluster.overhead.reserve, TY_BILL_FIXED, "cluster.reserve");
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = strlen(note);
        (void)snprintf(note + at, sizeof(note) - at, "%s%s", i == 0 ? "" : ", ", name[i]);
    }
    add_item(bill, "CUDA context", c->cluster.overhead.context, TY_BILL_FIXED, "");
    add_item(bill, "communicators", n * c->cluster.overhead.communicator, TY_BILL_FIXED, note);
}

/* Those of experts apart: other ranks share them. */
static void add_states(const struct ty_stage_plan *plan, struct ty_bill *bill)
{
    const struct ty_state_bytes *all = &plan->states, *experts = &plan->expert_states;
    add_item(bill, "weights", all->weights - experts->weights, TY_BILL_FIXED, "");
    add_item(bill, "expert weights", experts->weights, TY_BILL_FIXED, "");
    add_item(bill, "gradients", all->grads - experts->grads, TY_BILL_FIXED, "");
    add_item(bill, "expert gradients", experts->grads, TY_BILL_FIXED, "");
    add_item(bill, "placeholders of gradients", plan->placeholders_B, TY_BILL_FIXED,
             "one for each shape of matrix");
    add_item(bill, "optimizer", all->optimizer - experts->optimizer, TY_BILL_FIXED, "");
    add_item(bill, "expert optimizer", experts->optimizer, TY_BILL_FIXED, "");
}

/* What the fullest rank has that a mean one has not. */
static void add_uneven(const struct ty_run *run, uint32_t stage, struct ty_bill *bill)
{
    char note[TY_BILL_NOTE];
    if (run->uneven != NULL) {
        const struct ty_uneven *uneven = &run->uneven[stage];
        (void)ty_snprintf(note, sizeof(note), "rank %u: x %.2f of a balanced load",
                          (unsigned)uneven->rank, uneven->load);
        add_item(bill, "rows above the mean", uneven->bytes, TY_BILL_FIXED, note);
    }
}

static void add_lost(const struct ty_run *run, uint32_t stage, struct ty_bill *bill)
{
    const double split = run->lowered.stage[stage].split_B;
    const double share = ty_memory_fragmentation(&run->config->cluster, &run->config->layout);
    char note[TY_BILL_NOTE] = "", value[64];
    if (split > 0) {
        (void)snprintf(note, sizeof(note), "with a block of %s that is split",
                       ty_words_bytes(split, value, sizeof(value)));
    }
    add_item(bill, "fragmentation", ty_memory_lost(share, bill->total_B, split), TY_BILL_FIXED,
             note);
}

void ty_run_bill(const struct ty_run *run, uint32_t stage, struct ty_bill *out)
{
    const struct ty_program *p = &run->lowered.program;
    const struct ty_gang *gang = &p->gangs[stage];
    struct ty_gang_memory memory;
    ty_memory_profile(p, gang, &memory);
    if (run->config->workload.job != NULL) { /* nobody knows what it holds */
        *out = (struct ty_bill){.capacity_B = ty_run_memory(run, stage, &out->node)};
        return;
    }
    *out = (struct ty_bill){.held = memory.peak_held,
                            .pass = &ty_gang_passes(p, gang)[memory.peak_pass]};
    add_states(&run->lowered.stage[stage], out);
    add_activations(run, gang, &memory, out);
    add_uneven(run, stage, out);
    add_item(out, "communication buffers", gang->static_B[TY_MEM_ACTIVATIONS], TY_BILL_FIXED, "");
    add_lost(run, stage, out);
    add_reserve(run->config, stage, out);
    out->capacity_B = ty_run_memory(run, stage, &out->node);
}

double ty_run_peak_B(const struct ty_run *run, uint32_t stage)
{
    struct ty_bill bill;
    ty_run_bill(run, stage, &bill);
    return bill.total_B;
}

/* Whether so much is the larger share of its memory. */
static bool is_fuller(double total_B, double capacity_B, const struct ty_bill *than)
{
    return capacity_B == than->capacity_B ? total_B > than->total_B
                                          : total_B * than->capacity_B > than->total_B * capacity_B;
}

/* With one bill, for it takes 32 KiB. The first stage comes last, for it is mostly the fullest. */
uint32_t ty_run_fullest(const struct ty_run *run, struct ty_bill *out)
{
    const uint32_t n = run->lowered.program.n_gangs > 0 ? run->lowered.program.n_gangs : 1;
    uint32_t fullest = 0;
    double total_B = 0, capacity_B = 0;
    for (uint32_t s = n; s > 0; s--) {
        ty_run_bill(run, s - 1, out);
        if (s == n || !is_fuller(total_B, capacity_B, out)) {
            total_B = out->total_B;
            capacity_B = out->capacity_B;
            fullest = s - 1;
        }
    }
    if (fullest > 0) {
        ty_run_bill(run, fullest, out);
    }
    return fullest;
}

/* ---- since when, until when ---- */

static bool is_released(const struct ty_pass *forward, const struct ty_pass *end)
{
    for (const struct ty_pass *pass = forward; pass < end; pass++) {
        const bool frees = (pass->phase == TY_PHASE_BACKWARD || pass->phase == TY_PHASE_WGRAD) &&
                           !pass->interrupted;
        if (frees && pass->seq == forward->seq && pass->stage == forward->stage &&
            pass->direction == forward->direction) {
            return true;
        }
    }
    return false;
}

struct ty_held ty_run_held(const struct ty_run *run, const struct ty_gang *gang, uint32_t stage,
                           const struct ty_pass *peak)
{
    struct ty_held held = {0, 0};
    const struct ty_pass *pass = ty_gang_passes(&run->lowered.program, gang);
    for (; pass <= peak; pass++) {
        const bool ends = pass < peak && !pass->interrupted, first = pass->phase == TY_PHASE_DGRAD;
        if (pass->stage == stage) {
            held.kept += pass->phase == TY_PHASE_FORWARD && !pass->resumed;
            held.kept -= ends && (pass->phase == TY_PHASE_BACKWARD || first);
            held.waiting += ends && first;
            held.waiting -= ends && pass->phase == TY_PHASE_WGRAD;
        }
    }
    return held;
}

const struct ty_pass *ty_run_held_since(const struct ty_run *run, uint32_t stage,
                                        const struct ty_bill *bill)
{
    const struct ty_program *p = &run->lowered.program;
    const struct ty_pass *pass = ty_gang_passes(p, &p->gangs[stage]);
    for (; pass <= bill->pass; pass++) {
        if (pass->phase == TY_PHASE_FORWARD && !is_released(pass, bill->pass)) {
            return pass;
        }
    }
    return NULL;
}

const char *ty_tensor_life_words(enum ty_tensor_life life)
{
    static const char *const words[] = {
        [TY_LIFE_KEPT] = "from its forward to its backward",
        [TY_LIFE_RECOMPUTED] = "recomputed for its backward",
        [TY_LIFE_WEIGHT] = "until its weight gradients",
        [TY_LIFE_BACKWARD] = "while its layer runs backward",
        [TY_LIFE_LOSS] = "while the loss runs",
        [TY_LIFE_LOSS_BACKWARD] = "while the loss runs backward",
        [TY_LIFE_BUFFERED] = "until a later micro-batch's",
        [TY_LIFE_SPLIT] = "free",
    };
    return words[life];
}

/* ---- does it fit ---- */

enum ty_verdict ty_memory_verdict(double need_B, double capacity_B)
{
    if (need_B > capacity_B) {
        return TY_VERDICT_SHORT;
    }
    return capacity_B - need_B < TY_FITS_TIGHT * capacity_B ? TY_VERDICT_TIGHT : TY_VERDICT_FITS;
}

enum ty_verdict ty_run_verdict(const struct ty_run *run, const struct ty_bill *fullest)
{
    return ty_run_offload_short(run) != NULL
               ? TY_VERDICT_SHORT
               : ty_memory_verdict(fullest->total_B, fullest->capacity_B);
}

const char *ty_verdict_word(enum ty_verdict verdict)
{
    static const char *const words[] = {"fits", "tight", "does not fit"};
    return words[verdict];
}

bool ty_run_fits(const struct ty_run *run)
{
    struct ty_bill bill;
    ty_run_fullest(run, &bill);
    return bill.total_B <= bill.capacity_B && ty_run_offload_short(run) == NULL;
}

double ty_run_capacity(const struct ty_run *run, uint32_t rank)
{
    const struct ty_config *c = run->config;
    uint32_t at[TY_N_AXES];
    ty_grid_coords(&run->lowered.grid, rank, at);
    const struct ty_layout layout = ty_layout_of_stage(&c->layout, at[TY_AXIS_PIPELINE]);
    const char *name[TY_COMMUNICATORS_MAX];
    const uint32_t n = ty_layout_communicators(&layout, &c->arch, name);
    const double share = ty_memory_fragmentation(&c->cluster, &c->layout);
    return (ty_run_gpu(run, rank)->gpu.memory - ty_cluster_reserve(&c->cluster, n) -
            ty_memory_lost(share, 0, run->lowered.stage[at[TY_AXIS_PIPELINE]].split_B)) /
           (1 + share);
}
