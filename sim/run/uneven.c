/* uneven.c - see uneven.h. */
#include "sim/run/uneven.h"

#include <math.h>

#include "sim/run/bill.h"

/* Bytes of the rows of a layer with experts at the moment of the bill, with a balanced load. */
struct layer {
    double held;      /* from forwards to backwards */
    double brief;     /* while the layer runs backward; 0: it does not, */
    double with_room; /* and of what there is more room for than that */
};

struct moment {
    const struct ty_run *run;
    const struct ty_gang *gang;
    const struct ty_bill *bill;
    struct ty_tensors tensors;
    uint32_t stages, slices;
};

/* The virtual stage of a layer; further modules are on the last. */
static uint32_t stage_of(const struct moment *at, uint32_t layer)
{
    const struct ty_config *c = at->run->config;
    uint32_t stage = 0;
    while (stage + 1 < at->stages) {
        const struct ty_layers own = ty_layout_layers(&c->layout, &c->arch, at->stages, stage);
        if (layer < own.first + own.count) {
            break;
        }
        stage++;
    }
    return stage;
}

/* How often a virtual stage holds what its forward keeps, and what came back for its backward. */
static void count_held(const struct moment *at, uint32_t stage, int *kept, int *again)
{
    const struct ty_pass *pass = ty_gang_passes(&at->run->lowered.program, at->gang);
    *kept = *again = 0;
    for (; pass <= at->bill->pass; pass++) {
        const bool ends = pass < at->bill->pass && !pass->interrupted;
        if (pass->stage != stage) {
            continue;
        }
        *kept += pass->phase == TY_PHASE_FORWARD && !pass->resumed;
        *kept -= ends && (pass->phase == TY_PHASE_BACKWARD || pass->phase == TY_PHASE_WGRAD);
        *again += pass->phase == TY_PHASE_DGRAD && !pass->interrupted;
        *again -= ends && pass->phase == TY_PHASE_WGRAD;
    }
}

static struct layer layer_at(const struct moment *at, uint32_t number)
{
    const struct ty_bill *bill = at->bill;
    const struct ty_config *c = at->run->config;
    const uint32_t stage = stage_of(at, number);
    const struct ty_layers layers = ty_layout_layers(&c->layout, &c->arch, at->stages, stage);
    const enum ty_unit_kind kind = ty_layer_kind(&c->arch, &layers, number - layers.first);
    const bool whole = bill->pass->phase == TY_PHASE_BACKWARD;
    const bool runs =
        bill->pass->stage == stage && bill->kind == TY_PEAK_LAYER && bill->layer == kind;
    struct layer out = {.held = 0};
    int kept, again;
    count_held(at, stage, &kept, &again);
    for (uint32_t i = 0; i < at->tensors.n; i++) {
        const struct ty_tensor *x = &at->tensors.item[i];
        const double bytes = x->unit == kind ? x->routed / at->slices : 0;
        if (x->life == TY_LIFE_KEPT || (x->life == TY_LIFE_RECOMPUTED && !whole)) {
            out.held += bytes * (x->life == TY_LIFE_KEPT ? kept : again);
        } else if (runs) {
            *(x->bytes > x->routed ? &out.with_room : &out.brief) += bytes;
        }
    }
    return out;
}

/* The member that holds most. `layers`: [n_loads] */
static void find_fullest(const struct moment *at, const struct ty_stage_plan *plan,
                         const struct layer *layers, struct ty_uneven *out)
{
    const double room = at->run->config->layout.framework.dispatch_buffer;
    for (uint32_t m = 0; m < at->gang->n_ranks; m++) {
        double held = 0, rows = 0, brief = 0;
        for (uint32_t i = 0; i < plan->n_loads; i++) {
            const struct layer *layer = &layers[i];
            const double load = plan->load[i].rows[m] / plan->load[i].mean;
            held += layer->held;
            rows += layer->held * load;
            brief =
                fmax(brief, layer->brief * (load - 1) + layer->with_room * fmax(load - room, 0));
        }
        if (m == 0 || rows - held + brief > out->bytes) {
            *out = (struct ty_uneven){.bytes = rows - held + brief,
                                      .rank = at->gang->rank_of[m],
                                      .load = held > 0 ? rows / held : 1};
        }
    }
}

static int find_stage(const struct ty_run *run, uint32_t stage, struct ty_uneven *out,
                      struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_config *c = run->config;
    const struct ty_stage_plan *plan = &run->lowered.stage[stage];
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&c->schedule, c->layout.pipeline, c->layout.micro_batches);
    struct ty_bill bill;
    struct moment at = {.run = run,
                        .gang = &run->lowered.program.gangs[stage],
                        .bill = &bill,
                        .stages = ty_sched_stages(&shape),
                        .slices = shape.slices};
    struct layer *layers = ty_arena_array(arena, struct layer, (size_t)plan->n_loads + 1);
    if (layers == NULL) {
        return ty_fail_memory(err);
    }
    ty_run_bill(run, stage, &bill);
    ty_memory_tensors(run->lowered.units, &at.tensors);
    for (uint32_t i = 0; i < plan->n_loads; i++) {
        layers[i] = layer_at(&at, plan->load[i].layer);
    }
    *out = (struct ty_uneven){.bytes = 0};
    find_fullest(&at, plan, layers, out);
    return 0;
}

int ty_run_find_uneven(struct ty_run *run, struct ty_err *err)
{
    const uint32_t n = run->lowered.program.n_gangs;
    struct ty_arena scratch = {.head = NULL};
    struct ty_uneven *all = NULL;
    bool any = false;
    for (uint32_t s = 0; s < n; s++) {
        any = any || run->lowered.stage[s].n_loads > 0;
    }
    if (!any) {
        return 0;
    }
    all = ty_arena_array(&run->arena, struct ty_uneven, n);
    int rc = all != NULL ? 0 : ty_fail_memory(err);
    for (uint32_t s = 0; s < n && rc == 0; s++) {
        rc = find_stage(run, s, &all[s], &scratch, err);
    }
    ty_arena_release(&scratch);
    run->uneven = rc == 0 ? all : NULL; /* bills until here were those of mean ranks */
    return rc;
}
