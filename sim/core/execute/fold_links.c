/* fold_links.c - links of a folded program: cells of links that are used alike. See fold.h.
 *
 * Colours are 64-bit hashes of multisets, summed so that order does not matter: a link's of its
 * capacity and of the (kind, rate) of every flow that uses it, a flow's of the (colour, rate) of
 * its links. Flows of one kind must have one colour. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/core/execute/fold.h"
#include "sim/core/program/owners.h"

struct folder {
    const struct ty_program *p;
    struct ty_program *out;
    const struct ty_owner *owner; /* [n_kinds] */
    uint64_t *colour;             /* [n_links] */
    struct cell *cell;            /* [n_links]: one row a colour */
    double *Bps;                  /* [n_links]: scratch of fold_flows */
    bool *stands;                 /* [n_links]: for a cell */
    uint32_t n_cells;
};

struct cell {
    uint64_t colour;
    uint32_t link; /* one that stands for all */
};

typedef bool flow_fn(struct folder *f, uint32_t kind, const struct ty_flow *flow, void *arg);

/* Visits each flow of a kind once; false: `visit` said so. */
static bool each_flow(struct folder *f, uint32_t kind, flow_fn *visit, void *arg)
{
    const struct ty_owner *owner = &f->owner[kind];
    if (owner->gang == TY_NO_GANG) {
        return true;
    }
    for (uint32_t i = 0; i < f->p->gangs[owner->gang].n_ranks; i++) {
        if (ty_owner_is_first(f->p, owner, i) &&
            !visit(f, kind, ty_kind_flow(f->p, &f->p->kinds[kind], i), arg)) {
            return false;
        }
    }
    return true;
}

static bool colour_links(struct folder *f, uint32_t kind, const struct ty_flow *flow, void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < flow->n_uses; i++) {
        const struct ty_use *use = &f->p->uses[flow->first_use + i];
        f->colour[use->link] += ty_hash4(kind, ty_bits(use->Bps), 1, 0);
    }
    return true;
}

/* What a flow looks like: the first of a kind, and all others must look like it. */
struct look {
    uint64_t colour;
    bool known;
};

static bool compare(struct folder *f, uint32_t kind, const struct ty_flow *flow, void *arg)
{
    struct look *look = arg;
    uint64_t colour = ty_hash4(kind, ty_bits(flow->weight), flow->lead, 2);
    for (uint32_t i = 0; i < flow->n_uses; i++) {
        const struct ty_use *use = &f->p->uses[flow->first_use + i];
        colour += ty_hash4(f->colour[use->link], ty_bits(use->Bps), 3, 0);
    }
    const bool same = !look->known || look->colour == colour;
    *look = (struct look){colour, true};
    return same;
}

static bool alike(struct folder *f)
{
    for (uint32_t k = 0; k < f->p->n_kinds; k++) {
        struct look look = {.known = false};
        if (!each_flow(f, k, compare, &look)) {
            return false;
        }
    }
    return true;
}

static int by_colour(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    if (x->colour != y->colour) {
        return x->colour < y->colour ? -1 : 1;
    }
    return x->link < y->link ? -1 : x->link > y->link;
}

static int by_link(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    return x->link < y->link ? -1 : x->link > y->link;
}

/* One link per colour, in the order of the links that stand for them. */
static void make_cells(struct folder *f)
{
    for (uint32_t l = 0; l < f->p->n_links; l++) {
        f->cell[l] = (struct cell){f->colour[l], l};
    }
    qsort(f->cell, f->p->n_links, sizeof(*f->cell), by_colour);
    for (uint32_t l = 0; l < f->p->n_links; l++) {
        if (f->n_cells == 0 || f->cell[f->n_cells - 1].colour != f->cell[l].colour) {
            f->cell[f->n_cells++] = f->cell[l];
        }
    }
    qsort(f->cell, f->n_cells, sizeof(*f->cell), by_link);
}

static bool take(struct folder *f, uint32_t kind, const struct ty_flow *flow, void *arg)
{
    (void)kind;
    (void)arg;
    for (uint32_t i = 0; i < flow->n_uses; i++) {
        const struct ty_use *use = &f->p->uses[flow->first_use + i];
        f->Bps[use->link] += f->stands[use->link] ? use->Bps : 0;
    }
    return true;
}

/* What all flows of a kind together take of each link that stands for a cell. */
static void fold_flow(struct folder *f, struct ty_builder *b, uint32_t kind)
{
    struct ty_flow flow = f->p->flows[f->p->kinds[kind].first_flow - 1];
    flow.first_use = f->out->n_uses;
    flow.n_uses = 0;
    each_flow(f, kind, take, NULL);
    for (uint32_t c = 0; c < f->n_cells; c++) {
        double *Bps = &f->Bps[f->cell[c].link];
        if (*Bps > 0) {
            ty_build_use(b, &(struct ty_use){c, *Bps});
            flow.n_uses++;
        }
        *Bps = 0;
    }
    f->out->kinds[kind].first_flow = f->out->n_flows + 1;
    ty_build_flow(b, &flow);
}

static int fold_all(struct folder *f, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_link *links = ty_arena_array(arena, struct ty_link, (size_t)f->n_cells + 1);
    struct ty_builder b = {.program = f->out, .arena = arena, .err = err};
    if (links == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t c = 0; c < f->n_cells; c++) {
        links[c] = f->p->links[f->cell[c].link];
        f->stands[f->cell[c].link] = true;
    }
    f->out->links = links;
    f->out->n_links = f->n_cells;
    f->out->flows = NULL;
    f->out->uses = NULL;
    f->out->n_flows = f->out->n_uses = 0;
    for (uint32_t k = 0; k < f->p->n_kinds; k++) {
        f->out->kinds[k].first_flow = 0;
        if (f->owner[k].gang != TY_NO_GANG) {
            fold_flow(f, &b, k);
        }
    }
    return b.code;
}

static bool prepare(struct folder *f, struct ty_arena *arena)
{
    const size_t n = (size_t)f->p->n_links + 1;
    f->colour = ty_arena_array(arena, uint64_t, n);
    f->cell = ty_arena_array(arena, struct cell, n);
    f->Bps = ty_arena_array(arena, double, n);
    f->stands = ty_arena_array(arena, bool, n);
    f->out->kinds = ty_arena_array(arena, struct ty_kind, (size_t)f->p->n_kinds + 1);
    if (!f->colour || !f->cell || !f->Bps || !f->stands || !f->out->kinds) {
        return false;
    }
    memcpy(f->out->kinds, f->p->kinds, f->p->n_kinds * sizeof(*f->p->kinds));
    for (uint32_t l = 0; l < f->p->n_links; l++) {
        f->colour[l] = ty_hash4(ty_bits(f->p->links[l].capacity), 4, 0, 0);
    }
    return true;
}

int ty_program_fold_links(struct ty_program *folded, const struct ty_program *p, bool *same,
                          struct ty_arena *arena, struct ty_err *err)
{
    struct folder f = {.p = p, .out = folded};
    *same = false;
    const int rc = ty_owners_find(&f.owner, p, arena, err);
    if (rc < 0) {
        return rc;
    }
    if (!prepare(&f, arena)) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        each_flow(&f, k, colour_links, NULL);
    }
    if (!alike(&f)) {
        return 0;
    }
    *same = true;
    make_cells(&f);
    return fold_all(&f, arena, err);
}
