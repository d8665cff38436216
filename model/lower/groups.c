/* groups.c - who talks to whom: groups of ranks, and meetings of pipeline ranks. */
#include "model/lower/window.h"

static uint16_t index16(int index)
{
    return index < 0 ? 0 : (uint16_t)index;
}

/* A group of the gang, of which the program may have a part. Returns its index. */
static uint16_t add_group(struct ty_lowering *l, struct ty_group group)
{
    const uint32_t parts = ty_lower_parts(l, &group);
    group.count /= parts;
    group.stride =
        l->window.seen != NULL && group.count == 1 ? 1 : group.stride; /* far from nobody */
    const uint16_t index = index16(ty_build_group(&l->b, &group));
    if (l->window.seen != NULL) { /* those of layouts, and two for norms */
        l->out->window.spread[index] = parts > 1;
    }
    return index;
}

/* Pipeline ranks of different shape sum the norm over all ranks. */
static uint16_t meeting_of_all(struct ty_lowering *l, const char *name)
{
    const struct ty_meet meet = {
        .name = name, .group = TY_NONE, .n_gangs = l->shape.p, .n_members = l->out->grid.n_ranks};
    return l->in->schedule->barrier && !l->sched->asynchronous
               ? index16(ty_build_meet(&l->b, &meet))
               : TY_NONE;
}

/* Where a norm is summed over n neighbours of every pipeline rank. */
static uint16_t norm_meeting(struct ty_lowering *l, const char *name, uint32_t n)
{
    if (l->shapes.shape != NULL) {
        return meeting_of_all(l, name);
    }
    const uint16_t group = add_group(l, (struct ty_group){"world", 1, n});
    if (n * l->shape.p == 1 || !l->in->schedule->barrier || l->sched->asynchronous) {
        return TY_NONE;
    }
    return index16(ty_build_meet(
        &l->b, &(struct ty_meet){.name = name, .group = group, .n_gangs = l->shape.p}));
}

/* Whom the gradient norm is summed over: shards differ between ranks, copies do not. That of
 * experts is a sum of its own, over the ranks that have one copy of them. */
static void norm_meetings(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const uint32_t copy = layout->tensor * ty_layout_shards(layout);
    l->links.norm_meet = norm_meeting(l, "gradient norm", layout->zero > 0 ? copy : layout->tensor);
    l->links.expert_norm_meet =
        ty_layout_experts_apart(layout)
            ? norm_meeting(l, "gradient norm of experts",
                           layout->zero > 0 ? copy : layout->expert * layout->expert_tensor)
            : TY_NONE;
}

void ty_lower_groups(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        const struct ty_comm_span span = ty_comm_span(layout, &l->out->grid, g);
        if (g >= TY_GROUP_CONTEXT && span.count == 1) { /* of a kind that is not there */
            l->links.group[g].link = TY_NONE;
            continue;
        }
        const bool shard = g == TY_GROUP_DATA && ty_layout_replicas(layout) > 1;
        const struct ty_group group = {shard ? "shard" : ty_comm_group_name(g), span.stride,
                                       span.count};
        l->links.group[g].link = add_group(l, group);
        l->links.group[g].times = ty_lower_parts(l, &group);
    }
}

void ty_lower_meets(struct ty_lowering *l)
{
    norm_meetings(l);
    l->links.tied_meet = TY_NONE;
    /* a tied embedding, and one that predicts further tokens, has two homes where first and last
     * stage sit on different ranks */
    if ((l->in->arch->tied || l->in->arch->mtp > 0) && l->shape.p > 1 &&
        l->sched->placement == TY_PLACE_LOOPED) {
        l->links.tied_meet = index16(ty_build_meet(
            &l->b,
            &(struct ty_meet){.name = "tied embedding gradients", .group = TY_NONE, .n_gangs = 2}));
    }
}

bool ty_lower_is_shared(const struct ty_lowering *l, enum ty_comm_group group)
{
    const uint16_t link = l->links.group[group].link;
    return link != TY_NONE && l->b.program->groups[link].count * l->links.group[group].times > 1;
}

/* Two-way schedules: rank r and rank p - 1 - r hold the same two stages. */
int ty_lower_mirrors(struct ty_lowering *l)
{
    const uint32_t p = l->shape.p;
    if (l->sched->placement != TY_PLACE_TWO_WAY) {
        return 0;
    }
    l->links.mirror_meet = ty_arena_array(l->arena, uint16_t, p);
    if (l->links.mirror_meet == NULL) {
        return ty_fail_memory(l->b.err);
    }
    for (uint32_t r = 0; r < p / 2; r++) {
        l->links.mirror_meet[r] = l->links.mirror_meet[p - 1 - r] = index16(ty_build_meet(
            &l->b,
            &(struct ty_meet){.name = "gradients of both copies", .group = TY_NONE, .n_gangs = 2}));
    }
    return 0;
}

int ty_lower_reaches(struct ty_lowering *l)
{
    const struct ty_layout *layout = l->in->layout;
    const struct ty_comm_span shard = ty_comm_span(layout, &l->out->grid, TY_GROUP_DATA);
    const unsigned all = (1u << TY_N_AXES) - 1;
    l->links.norm_at = ty_grid_reaches(
        &shard.grid, layout->zero > 0 || l->shapes.shape != NULL ? all : all & ~shard.dims,
        l->window.seen, l->arena);
    bool ok = l->links.norm_at != NULL;
    if (l->links.expert_norm_meet != TY_NONE) {
        l->links.expert_norm_at = layout->zero > 0
                                      ? l->links.norm_at
                                      : ty_comm_expert_copies(layout, &l->out->grid, l->arena);
        ok = ok && l->links.expert_norm_at != NULL;
    }
    for (enum ty_comm_group g = 0; g < TY_N_COMM_GROUPS; g++) {
        if (l->links.group[g].link != TY_NONE) {
            l->links.group[g].at =
                ty_comm_reaches(layout, &l->out->grid, g, l->window.seen, l->arena);
            ok = ok && l->links.group[g].at != NULL;
        }
    }
    return ok ? 0 : ty_fail_memory(l->b.err);
}
