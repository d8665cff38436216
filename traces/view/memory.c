/* memory.c - the memory of each rank over time.
 *
 * Activations are taken when a pass starts and given back when it ends; weights, gradients and
 * optimizer state stay. There is one value per change: what ends and what starts in the same
 * nanosecond is one change. */
#include "traces/view/view.h"

/* A member's last change: not told before time moves on. */
struct pending {
    uint64_t ns;
    uint64_t kB, told_kB; /* activations */
    bool any;             /* something was told */
};

struct counters {
    struct ty_view *v;
    const struct ty_view_shown *shown;
    struct pending *pending; /* [shown->n] */
    ty_view_memory_fn *visit;
    void *arg;
};

static uint64_t to_kB(double bytes)
{
    return bytes > 0 ? (uint64_t)(bytes / 1e3 + 0.5) : 0;
}

uint64_t ty_view_fixed_kB(const struct ty_gang *gang, uint32_t kind)
{
    return to_kB(gang->static_B[kind]);
}

/* Tells the change that waits, at the window's start when it happened before. */
static void flush(struct counters *k, uint32_t i)
{
    struct pending *now = &k->pending[i];
    if (now->any && now->kB == now->told_kB) {
        return;
    }
    k->visit(k->arg, k->shown, i, now->ns, now->kB);
    now->told_kB = now->kB;
    now->any = true;
}

/* Activations are `kB` from `t` on. */
static void change(struct counters *k, uint32_t i, ty_ps t, uint64_t kB)
{
    struct pending *now = &k->pending[i];
    uint64_t ns = t / 1000;
    if (ns > k->v->to_ns) {
        return;
    }
    ns = ns < k->v->from_ns ? k->v->from_ns : ns;
    if (ns > now->ns) {
        flush(k, i);
        now->ns = ns;
    }
    now->kB = kB;
}

static void tell_gang(struct counters *k)
{
    struct ty_view *v = k->v;
    const struct ty_gang *gang = k->shown->gang;
    const double fixed = gang->static_B[v->program->words->held];
    double held = 0;
    for (uint32_t i = 0; i < k->shown->n; i++) {
        k->pending[i] = (struct pending){.ns = v->from_ns, .kB = to_kB(fixed)};
    }
    for (uint32_t n = 0; n < gang->n_passes; n++) {
        const struct ty_pass *pass = &ty_gang_passes(v->program, gang)[n];
        const struct ty_block *block = &v->program->blocks[pass->block];
        struct ty_view_extent extent;
        const uint64_t during = to_kB(fixed + held + block->acquire_B + block->transient_B);
        held += block->acquire_B - block->release_B;
        const uint64_t after = to_kB(fixed + held);
        if (!ty_view_pass_extent(v, gang, pass, &extent)) {
            continue;
        }
        for (uint32_t i = 0; i < k->shown->n; i++) {
            const uint32_t m = k->shown->member[i];
            change(k, i, extent.start[m], during);
            change(k, i, ty_view_extent_end(&extent, m), after);
        }
    }
    for (uint32_t i = 0; i < k->shown->n; i++) {
        flush(k, i);
    }
}

int ty_view_memory(struct ty_view *v, ty_view_memory_fn *visit, void *arg)
{
    struct pending *pending = ty_arena_array(&v->arena, struct pending, v->largest);
    struct counters k = {.v = v, .pending = pending, .visit = visit, .arg = arg};
    for (uint32_t g = 0; g < v->program->n_gangs && pending != NULL; g++) {
        k.shown = &v->shown[g];
        if (k.shown->n > 0 && !ty_view_observed(v->program, k.shown->gang)) {
            tell_gang(&k);
        }
    }
    return pending != NULL ? 0 : TY_ENOMEM;
}
