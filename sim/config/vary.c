/* vary.c - see vary.h. */
#include "sim/config/vary.h"

#include "sim/config/load.h"
#include "sim/config/placement.h"

/* Whether all that the layout is made of is right so far. */
static bool layout_stands(const struct ty_config *c)
{
    return !c->failed[TY_SECTION_CLUSTER] && !c->failed[TY_SECTION_MODEL] &&
           !c->failed[TY_SECTION_LAYOUT] && !c->failed[TY_SECTION_SCHEDULE];
}

void ty_loader_layout(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    c->schedule.slices = ty_sched_slices(&c->schedule);
    c->schedule.overlaps = c->layout.framework.expert_overlap;
    c->layout.ends_together = ty_sched_of(&c->schedule)->placement != TY_PLACE_LOOPED;
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_claim(c, l->err));
    }
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT,
                       ty_layout_finish(&c->layout, &c->sections[TY_SECTION_LAYOUT], &c->arch,
                                        &c->cluster, ty_sched_chunks(&c->schedule), l->err));
    }
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT,
                       ty_layout_check_slices(&c->layout, &c->sections[TY_SECTION_LAYOUT],
                                              c->schedule.slices, l->err));
    }
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_load(c, l->err));
        ty_loader_note(l, TY_SECTION_SCHEDULE,
                       ty_sched_finish(&c->schedule, &c->sections[TY_SECTION_SCHEDULE],
                                       c->layout.pipeline, c->layout.micro_batches,
                                       c->arch.sequence, l->err));
    }
}

void ty_loader_open(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (layout_stands(c)) {
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_claim(c, l->err));
    }
    if (layout_stands(c)) {
        c->layout.ranks = c->layout.n_gpus > 0 ? c->layout.n_gpus : ty_cluster_gpus(&c->cluster);
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_load(c, l->err));
    }
}

void ty_config_vary(struct ty_config *out, const struct ty_config *base)
{
    *out = *base;
    out->layout = base->given.layout;
    out->schedule = base->given.schedule;
    out->cap_inputs = out->n_inputs; /* what is added to the list is not the base's */
    out->arena = (struct ty_arena){.head = NULL};
    ty_config_point(out);
}

int ty_config_complete(struct ty_config *config, struct ty_err *err)
{
    struct ty_loader l = {.config = config, .err = err};
    ty_loader_layout(&l);
    if (l.code == 0) { /* of values that stand */
        ty_loader_note(&l, TY_SECTION_UNCERTAINTY, ty_uncertain_check(config, err));
    }
    return l.code;
}

void ty_config_drop(struct ty_config *config)
{
    ty_arena_release(&config->arena);
}
