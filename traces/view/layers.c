/* layers.c - a number that ranks have layer by layer, over time: see struct ty_trace_layers. One
 * value per change. */
#include <string.h>

#include "traces/view/view.h"

struct told {
    struct ty_view *v;
    const struct ty_view_shown *shown;
    uint64_t *last; /* [shown->n] in thousandths; UINT64_MAX: none yet */
    ty_view_layers_fn *visit;
    void *arg;
};

/* One operation: its value on every shown member, where it begins inside the window. */
static void tell(const struct told *k, const double *of, const ty_ps *start)
{
    for (uint32_t i = 0; i < k->shown->n; i++) {
        const uint32_t m = k->shown->member[i];
        const uint64_t value = (uint64_t)(of[k->shown->gang->rank_of[m]] * 1e3 + 0.5);
        const uint64_t ns = start[m] / 1000;
        if (value != k->last[i] && ns >= k->v->from_ns && ns <= k->v->to_ns) {
            k->visit(k->arg, k->shown, i, ns, value);
            k->last[i] = value;
        }
    }
}

static void tell_pass(const struct told *k, const struct ty_pass *pass)
{
    const struct ty_trace_layers *layers = k->v->trace->layers;
    const struct ty_program *p = k->v->program;
    const struct ty_op *op = ty_pass_ops(p, pass);
    for (uint32_t i = 0; i < p->blocks[pass->block].n_ops; i++) {
        const uint32_t layer = op[i].layer;
        if (layer < layers->n_layers && layers->of[layer] != NULL &&
            strcmp(p->kinds[op[i].kind].name, layers->operation) == 0) {
            tell(k, layers->of[layer],
                 ty_timeline_starts(k->v->trace->timeline, k->shown->gang, pass->first_op + i));
        }
    }
}

int ty_view_layers(struct ty_view *v, ty_view_layers_fn *visit, void *arg)
{
    struct told k = {.v = v, .visit = visit, .arg = arg};
    if (v->trace->layers == NULL) {
        return 0;
    }
    k.last = ty_arena_array(&v->arena, uint64_t, v->largest);
    for (uint32_t g = 0; g < v->program->n_gangs && k.last != NULL; g++) {
        k.shown = &v->shown[g];
        for (uint32_t i = 0; i < k.shown->n; i++) {
            k.last[i] = UINT64_MAX;
        }
        for (uint32_t n = 0; n < k.shown->gang->n_passes && k.shown->n > 0; n++) {
            tell_pass(&k, &ty_gang_passes(v->program, k.shown->gang)[n]);
        }
    }
    return k.last != NULL ? 0 : TY_ENOMEM;
}
