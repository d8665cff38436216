/* fold_twins.c - one member for several neighbours that cannot differ, where not all are alike. See
 * fold.h.
 *
 * A class is the flows of a kind by members that are twins. Colours are 64-bit hashes of multisets,
 * summed so that order does not matter: a link's of its capacity and of the (class, rate) of every
 * flow that uses it, a flow's of the (colour, rate) of its links; flows of a class must have one
 * colour. No two flows of a class may use one link: then what a link is asked for is added up from
 * the same numbers in the folded program, and speeds are the same to the bit. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/noise.h"
#include "sim/core/execute/fold.h"
#include "sim/core/program/owners.h"

/* ---- who are twins ---- */

/* Whether every group takes twins together, or none of them with another. */
static bool splits_groups(const struct ty_program *p, uint32_t twins)
{
    bool splits = false;
    for (uint32_t g = 0; g < p->n_groups; g++) {
        const struct ty_group *group = &p->groups[g];
        const bool together = group->stride == 1 && group->count % twins == 0;
        splits = splits || !(together || group->count == 1 || group->stride % twins == 0);
    }
    return splits;
}

static bool equal_in_twins(const ty_ps *of, uint32_t n, uint32_t twins)
{
    bool equal = true;
    for (uint32_t i = 0; of != NULL && i < n; i++) {
        equal = equal && of[i] == of[i - i % twins];
    }
    return equal;
}

static bool cannot_differ(const struct ty_program *p, uint32_t n, uint32_t twins)
{
    if (n % twins != 0 || splits_groups(p, twins)) {
        return false;
    }
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        if (!equal_in_twins(p->kinds[k].dur_of, n, twins) ||
            !equal_in_twins(p->kinds[k].alone_of, n, twins)) {
            return false;
        }
    }
    if (p->jitter.cv > 0) {
        const uint16_t group = p->jitter.group;
        return group != TY_NONE && p->groups[group].stride == 1 &&
               p->groups[group].count % twins == 0;
    }
    return true;
}

uint32_t ty_program_twins(const struct ty_program *p)
{
    uint32_t most = 1;
    if (p->n_scripts > 0 || p->n_tenants > 0 || p->slow_of != NULL || p->jitter.spread > 0 ||
        p->n_gangs == 0) {
        return 1;
    }
    const uint32_t n = p->gangs[0].n_ranks;
    for (uint32_t g = 1; g < p->n_gangs; g++) {
        if (p->gangs[g].n_ranks != n) {
            return 1;
        }
    }
    for (uint32_t g = 0; g < p->n_groups; g++) {
        const struct ty_group *group = &p->groups[g];
        if (group->stride == 1 && group->count > most && cannot_differ(p, n, group->count)) {
            most = group->count;
        }
    }
    return most;
}

/* ---- one for all of them ---- */

/* Of members `twins` apart. */
static const ty_ps *fold_times(const ty_ps *of, uint32_t n, uint32_t twins, struct ty_arena *arena,
                               bool *failed)
{
    ty_ps *out = of == NULL ? NULL : ty_arena_array(arena, ty_ps, (size_t)n / twins + 1);
    *failed = *failed || (of != NULL && out == NULL);
    for (uint32_t i = 0; out != NULL && i < n / twins; i++) {
        out[i] = of[i * twins];
    }
    return out;
}

/* Times that are given member by member. */
static bool fold_kinds(struct ty_program *out, const struct ty_program *p, uint32_t twins,
                       struct ty_arena *arena)
{
    const uint32_t n = p->gangs[0].n_ranks;
    out->kinds = ty_arena_array(arena, struct ty_kind, (size_t)p->n_kinds + 1);
    bool failed = out->kinds == NULL;
    for (uint32_t k = 0; !failed && k < p->n_kinds; k++) {
        out->kinds[k] = p->kinds[k];
        out->kinds[k].dur_of = fold_times(p->kinds[k].dur_of, n, twins, arena, &failed);
        out->kinds[k].alone_of = fold_times(p->kinds[k].alone_of, n, twins, arena, &failed);
    }
    return !failed;
}

static struct ty_group fold_group(const struct ty_group *g, uint32_t twins)
{
    if (g->stride == 1 || g->count == 1) {
        return (struct ty_group){g->name, 1, g->count > twins ? g->count / twins : 1};
    }
    return (struct ty_group){g->name, g->stride / twins, g->count};
}

int ty_program_fold_twins(struct ty_program *out, const struct ty_program *p, uint32_t twins,
                          struct ty_arena *arena, struct ty_err *err)
{
    uint32_t *ranks = ty_arena_array(arena, uint32_t, (size_t)p->n_ranks / twins + 1);
    *out = *p;
    out->gangs = ty_arena_array(arena, struct ty_gang, (size_t)p->n_gangs + 1);
    out->groups = ty_arena_array(arena, struct ty_group, (size_t)p->n_groups + 1);
    if (ranks == NULL || out->gangs == NULL || out->groups == NULL ||
        !fold_kinds(out, p, twins, arena)) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < p->n_groups; g++) {
        out->groups[g] = fold_group(&p->groups[g], twins);
    }
    /* of what the seal numbers and checks, only this depends on the size of a gang */
    out->n_ranks = 0;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        struct ty_gang *gang = &out->gangs[g];
        *gang = p->gangs[g];
        gang->n_ranks /= twins;
        gang->first_task /= twins;
        gang->rank_of = &ranks[out->n_ranks];
        for (uint32_t i = 0; i < gang->n_ranks; i++, out->n_ranks++) {
            ranks[out->n_ranks] = out->n_ranks;
        }
    }
    out->n_tasks /= twins;
    out->slot_width /= twins;
    return 0;
}

/* ---- their links ---- */

struct cell {
    uint64_t colour;
    uint32_t link; /* one that stands for all */
};

/* Where the uses of a flow went, by where they begin in the whole program. */
struct moved {
    bool is;
    uint32_t first, n;
};

struct folder {
    const struct ty_program *p;
    struct ty_program *out;
    const struct ty_owner *owner; /* [n_kinds] */
    uint32_t twins;
    uint64_t *colour;   /* [n_links] */
    uint32_t *user;     /* [n_links]: number of the class that used it last */
    uint32_t n_classes; /* numbered so far */
    struct cell *cell;  /* [n_links]: one row a colour, by links */
    uint32_t *cell_of;  /* [n_links] */
    uint32_t n_cells;
    struct moved *moved; /* [n_uses] */
};

static uint32_t members_of(const struct folder *f, uint32_t kind)
{
    const uint32_t gang = f->owner[kind].gang;
    return gang == TY_NO_GANG ? 0 : f->p->gangs[gang].n_ranks;
}

static const struct ty_use *uses_of(const struct folder *f, const struct ty_flow *flow)
{
    return f->p->uses + flow->first_use;
}

/* Colours the links of a kind; false: two flows of a class use one. */
static bool colour_links(struct folder *f, uint32_t kind)
{
    for (uint32_t i = 0; i < members_of(f, kind); i++) {
        f->n_classes += i % f->twins == 0;
        if (!ty_owner_is_first(f->p, &f->owner[kind], i)) {
            continue;
        }
        const struct ty_flow *flow = ty_kind_flow(f->p, &f->p->kinds[kind], i);
        const struct ty_use *use = uses_of(f, flow);
        for (uint32_t u = 0; u < flow->n_uses; u++) {
            if (f->user[use[u].link] == f->n_classes) {
                return false;
            }
            f->user[use[u].link] = f->n_classes;
            f->colour[use[u].link] += ty_hash4(kind, i / f->twins, ty_bits(use[u].Bps), 1);
        }
    }
    return true;
}

static uint64_t colour_of(const struct folder *f, const struct ty_flow *flow)
{
    uint64_t colour = ty_hash4(ty_bits(flow->weight), flow->lead, ty_bits(flow->idle), 2);
    colour += flow->port_idle > 0 ? ty_hash4(ty_bits(flow->port_idle), 4, 0, 0) : 0;
    for (uint32_t u = 0; u < flow->n_uses; u++) {
        const struct ty_use *use = &uses_of(f, flow)[u];
        colour += ty_hash4(f->colour[use->link], ty_bits(use->Bps), 3, 0);
    }
    return colour;
}

/* Whether flows of each class look alike. */
static bool alike(const struct folder *f, uint32_t kind)
{
    uint64_t colour = 0;
    for (uint32_t i = 0; i < members_of(f, kind); i++) {
        if (ty_owner_is_first(f->p, &f->owner[kind], i)) {
            const uint64_t own = colour_of(f, ty_kind_flow(f->p, &f->p->kinds[kind], i));
            if (i % f->twins != 0 && own != colour) {
                return false;
            }
            colour = own;
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
    return (x->link > y->link) - (x->link < y->link);
}

/* One link per colour, in the order of the colours. */
static void make_cells(struct folder *f)
{
    for (uint32_t l = 0; l < f->p->n_links; l++) {
        f->cell[l] = (struct cell){f->colour[l], l};
    }
    qsort(f->cell, f->p->n_links, sizeof(*f->cell), by_colour);
    for (uint32_t l = 0; l < f->p->n_links; l++) {
        const struct cell cell = f->cell[l];
        if (f->n_cells == 0 || f->cell[f->n_cells - 1].colour != cell.colour) {
            f->cell[f->n_cells++] = cell;
        }
        f->cell_of[cell.link] = f->n_cells - 1;
    }
}

static int by_link(const void *a, const void *b)
{
    const struct ty_use *x = a, *y = b;
    return (x->link > y->link) - (x->link < y->link);
}

/* The uses of a flow, each cell once. */
static struct moved move_uses(struct folder *f, struct ty_builder *b, const struct ty_flow *flow)
{
    struct moved to = {.is = true, .first = f->out->n_uses};
    for (uint32_t u = 0; u < flow->n_uses; u++) {
        const struct ty_use *use = &uses_of(f, flow)[u];
        ty_build_use(b, &(struct ty_use){f->cell_of[use->link], use->Bps});
    }
    if (b->code < 0 || flow->n_uses == 0) {
        return to;
    }
    struct ty_use *uses = f->out->uses + to.first;
    qsort(uses, flow->n_uses, sizeof(*uses), by_link);
    for (uint32_t u = 0; u < flow->n_uses; u++) {
        if (to.n == 0 || uses[to.n - 1].link != uses[u].link) {
            uses[to.n++] = uses[u];
        }
    }
    f->out->n_uses = to.first + to.n;
    return to;
}

static void fold_flows(struct folder *f, struct ty_builder *b, uint32_t kind)
{
    const struct ty_kind *whole = &f->p->kinds[kind];
    f->out->kinds[kind].first_flow = members_of(f, kind) > 0 ? f->out->n_flows + 1 : 0;
    for (uint32_t i = 0; i < members_of(f, kind); i += f->twins) {
        struct ty_flow flow = *ty_kind_flow(f->p, whole, i);
        struct moved *moved = &f->moved[flow.first_use];
        if (!moved->is) {
            *moved = move_uses(f, b, &flow);
        }
        flow.first_use = moved->first;
        flow.n_uses = flow.n_uses > 0 ? moved->n : 0;
        ty_build_flow(b, &flow);
    }
}

static bool prepare(struct folder *f, struct ty_arena *arena)
{
    const size_t n = (size_t)f->p->n_links + 1;
    f->colour = ty_arena_array(arena, uint64_t, n);
    f->user = ty_arena_array(arena, uint32_t, n);
    f->cell = ty_arena_array(arena, struct cell, n);
    f->cell_of = ty_arena_array(arena, uint32_t, n);
    f->moved = ty_arena_array(arena, struct moved, (size_t)f->p->n_uses + 1);
    if (!f->colour || !f->user || !f->cell || !f->cell_of || !f->moved) {
        return false;
    }
    for (uint32_t l = 0; l < f->p->n_links; l++) {
        f->colour[l] = ty_hash4(ty_bits(f->p->links[l].capacity), 4, 0, 0);
    }
    return true;
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
    }
    f->out->links = links;
    f->out->n_links = f->n_cells;
    f->out->flows = NULL;
    f->out->uses = NULL;
    f->out->n_flows = f->out->n_uses = 0;
    for (uint32_t k = 0; k < f->p->n_kinds; k++) {
        fold_flows(f, &b, k);
    }
    return b.code;
}

int ty_program_fold_twin_links(struct ty_program *folded, const struct ty_program *p,
                               uint32_t twins, bool *same, struct ty_arena *arena,
                               struct ty_err *err)
{
    struct folder f = {.p = p, .out = folded, .twins = twins};
    const int rc = ty_owners_find(&f.owner, p, arena, err);
    if (rc < 0) {
        return rc;
    }
    if (!prepare(&f, arena)) {
        return ty_fail_memory(err);
    }
    *same = true;
    for (uint32_t k = 0; k < p->n_kinds && *same; k++) {
        *same = colour_links(&f, k);
    }
    for (uint32_t k = 0; k < p->n_kinds && *same; k++) {
        *same = alike(&f, k);
    }
    if (!*same) {
        return 0;
    }
    make_cells(&f);
    return fold_all(&f, arena, err);
}
