/* link_load.c - bytes on links, counted by kinds of operations. See link_load.h. */
#include "sim/core/analyse/link_load.h"

#include <assert.h>

/* ---- operations of blocks ---- */

static size_t list_of(const struct ty_program *p, uint32_t block, uint32_t lane)
{
    return (size_t)block * p->n_lanes + lane;
}

/* Calls for every operation with flows of every block. */
static void each_op(struct ty_link_load *h,
                    void (*visit)(struct ty_link_load *h, size_t list, uint32_t k))
{
    const struct ty_program *p = h->program;
    for (uint32_t b = 0; b < p->n_blocks; b++) {
        for (uint32_t k = 0; k < p->blocks[b].n_ops; k++) {
            const struct ty_op *op = &p->ops[p->blocks[b].first + k];
            if (p->kinds[op->kind].first_flow != 0) {
                visit(h, list_of(p, b, op->lane), k);
            }
        }
    }
}

/* Lists are laid out by counting sort: list i is counted at i + 2, so that after adding up it
 * begins at [i + 1], and at [i] once all is kept. */
static void count_op(struct ty_link_load *h, size_t list, uint32_t k)
{
    (void)k;
    h->first_op[list + 2]++;
}

static void keep_op(struct ty_link_load *h, size_t list, uint32_t k)
{
    h->op[h->first_op[list + 1]++] = k;
}

static int list_ops(struct ty_link_load *h, struct ty_arena *arena)
{
    const size_t lists = (size_t)h->program->n_blocks * h->program->n_lanes;
    h->first_op = ty_arena_array(arena, uint32_t, lists + 2);
    if (h->first_op == NULL) {
        return TY_ENOMEM;
    }
    each_op(h, count_op);
    for (size_t i = 2; i < lists + 2; i++) {
        h->first_op[i] += h->first_op[i - 1];
    }
    /* the blocks of a program that was cut overlap: together they may have more operations */
    h->op = ty_arena_array(arena, uint32_t, (size_t)h->first_op[lists + 1] + 1);
    if (h->op == NULL) {
        return TY_ENOMEM;
    }
    each_op(h, keep_op);
    return 0;
}

/* ---- executions ---- */

static void count_times(struct ty_link_load *h)
{
    const struct ty_program *p = h->program;
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        for (uint32_t i = 0; i < p->gangs[g].n_passes; i++) {
            const uint32_t b = ty_gang_passes(p, &p->gangs[g])[i].block;
            const struct ty_op *ops = p->ops + p->blocks[b].first;
            const uint32_t end = h->first_op[list_of(p, b + 1, 0)];
            for (uint32_t k = h->first_op[list_of(p, b, 0)]; k < end; k++) {
                const uint16_t kind = ops[h->op[k]].kind;
                h->times[kind] += h->owner[kind].gang == g;
            }
        }
    }
}

/* ---- parts of links ---- */

typedef void part_fn(struct ty_link_load *h, const struct ty_link_load_part *part, uint32_t link);

/* What a flow moves in so many seconds at full speed. */
static void flow_parts(struct ty_link_load *h, uint32_t kind, uint32_t member,
                       const struct ty_flow *flow, double s, part_fn *visit)
{
    for (uint32_t u = 0; u < flow->n_uses; u++) {
        const struct ty_use *use = &h->program->uses[flow->first_use + u];
        visit(h,
              &(struct ty_link_load_part){kind, member,
                                          ty_use_moves(flow, use, h->program->links) * s},
              use->link);
    }
}

static double moves_for(const struct ty_flow *flow, ty_ps alone)
{
    return alone > flow->lead ? ty_s_from_ps(alone - flow->lead) : 0;
}

/* All messages that a member sends in a collective, those to the same one together. */
static void message_parts(struct ty_link_load *h, uint32_t kind, uint32_t member, part_fn *visit)
{
    const struct ty_program *p = h->program;
    const struct ty_group *g = &p->groups[h->owner[kind].group];
    struct ty_sender sender = ty_script_sender(p, &p->kinds[kind], g, member);
    while (ty_sender_next(&sender)) {
        assert(p->flows != NULL);
        const struct ty_flow *flow = &p->flows[sender.flow];
        double s = 0;
        for (uint32_t m = sender.first; m < sender.end; m++) {
            s += moves_for(flow, sender.messages[m].alone);
        }
        flow_parts(h, kind, member, flow, s, visit);
    }
}

/* Visits every use of every flow that a member stands for. */
static void each_part(struct ty_link_load *h, part_fn *visit)
{
    const struct ty_program *p = h->program;
    for (uint32_t k = 0; k < p->n_kinds; k++) {
        const struct ty_owner *owner = &h->owner[k];
        const uint32_t members = owner->gang == TY_NO_GANG ? 0 : p->gangs[owner->gang].n_ranks;
        for (uint32_t i = 0; i < members; i++) {
            const struct ty_flow *flow = ty_kind_flow(p, &p->kinds[k], i);
            if (flow == NULL) {
                message_parts(h, k, i, visit);
            } else if (ty_owner_is_first(p, owner, i)) {
                const double s = moves_for(flow, ty_kind_alone(&p->kinds[k], i));
                flow_parts(h, k, i, flow, s, visit);
            }
        }
    }
}

static void count_part(struct ty_link_load *h, const struct ty_link_load_part *part, uint32_t link)
{
    h->first_part[link + 2]++;
    h->bytes[link] += part->bytes * (double)h->times[part->kind];
}

static void keep_part(struct ty_link_load *h, const struct ty_link_load_part *part, uint32_t link)
{
    h->part[h->first_part[link + 1]++] = *part;
}

static int list_parts(struct ty_link_load *h, struct ty_arena *arena)
{
    const uint32_t n = h->program->n_links;
    each_part(h, count_part);
    for (uint32_t l = 2; l <= n + 1; l++) {
        h->first_part[l] += h->first_part[l - 1];
    }
    h->part = ty_arena_array(arena, struct ty_link_load_part, (size_t)h->first_part[n + 1] + 1);
    if (h->part == NULL) {
        return TY_ENOMEM;
    }
    each_part(h, keep_part);
    return 0;
}

int ty_link_load_init(struct ty_link_load *load, const struct ty_program *p, struct ty_arena *arena,
                      struct ty_err *err)
{
    *load = (struct ty_link_load){.program = p};
    const int rc = ty_owners_find(&load->owner, p, arena, err);
    if (rc < 0) {
        return rc;
    }
    load->times = ty_arena_array(arena, uint64_t, (size_t)p->n_kinds + 1);
    load->bytes = ty_arena_array(arena, double, (size_t)p->n_links + 1);
    load->first_part = ty_arena_array(arena, uint32_t, (size_t)p->n_links + 2);
    if (load->times == NULL || load->bytes == NULL || load->first_part == NULL ||
        list_ops(load, arena) < 0) {
        return ty_fail_memory(err);
    }
    count_times(load);
    return list_parts(load, arena) < 0 ? ty_fail_memory(err) : 0;
}
