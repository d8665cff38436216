/* derive.c - what values leave open, and checks that need more than one of them; see load.h. */
#include "sim/config/load.h"

#include "model/check.h"
#include "model/parallel/kinds.h"
#include "sim/config/measured.h"
#include "sim/config/placement.h"
#include "topology/exceptions.h"

/* Checks of the cluster that need more than one value. */
static void check_cluster(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    if (!c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(l, TY_SECTION_CLUSTER,
                       ty_cluster_check(&c->cluster, &c->sections[TY_SECTION_CLUSTER], l->err));
    }
    if (!c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(
            l, TY_SECTION_CLUSTER,
            ty_exceptions_read(&c->cluster, &c->sections[TY_SECTION_CLUSTER], &c->arena, l->err));
    }
    if (!c->failed[TY_SECTION_CLUSTER]) {
        ty_loader_note(l, TY_SECTION_CLUSTER, ty_measured_load(c, l->err));
    }
    if (!c->failed[TY_SECTION_CLUSTER] && !c->failed[TY_SECTION_FABRIC]) {
        ty_loader_note(
            l, TY_SECTION_FABRIC,
            ty_fabric_check(&c->fabric, &c->cluster, &c->sections[TY_SECTION_FABRIC], l->err));
    }
}

/* Whether all that the layout is made of is right so far. */
static bool layout_stands(const struct ty_config *c)
{
    return !c->failed[TY_SECTION_CLUSTER] && !c->failed[TY_SECTION_MODEL] &&
           !c->failed[TY_SECTION_LAYOUT] && !c->failed[TY_SECTION_SCHEDULE];
}

/* What other sections may not say beside stages of different shape. */
static int check_unlike(const struct ty_config *c, struct ty_err *err)
{
    const char *key = c->layout.stage_tensor.n > 0 ? "stage_tensor" : "stage_data";
    const struct ty_section *section = &c->sections[TY_SECTION_LAYOUT];
    const char *what = c->schedule.custom != NULL ? "an order of your own (schedule.file)"
                       : c->run.jitter > 0        ? "run.jitter"
                                                  : NULL;
    return !c->layout.unlike || what == NULL
               ? 0
               : ty_check_fail(section, key, err,
                               "stages of different shape are not known beside %s; leave it out, "
                               "or write auto here",
                               what);
}

/* Checks of the layout that need more than one value. */
static void check_layout(struct ty_loader *l)
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
        ty_loader_note(l, TY_SECTION_LAYOUT, check_unlike(c, l->err));
        ty_loader_note(l, TY_SECTION_LAYOUT, ty_placement_load(c, l->err));
        c->schedule.updates_away = c->layout.home.optimizer != TY_HOME_GPU;
        ty_loader_note(l, TY_SECTION_SCHEDULE,
                       ty_sched_finish(&c->schedule, &c->sections[TY_SECTION_SCHEDULE],
                                       c->layout.pipeline, c->layout.micro_batches,
                                       c->arch.sequence, l->err));
    }
}

/* Values that are left to a plan, where none is being made. */
static void refuse_left(struct ty_loader *l, const bool *anew)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *s = &l->config->sections[i];
        for (uint32_t k = 0; anew[i] && k < s->n_fields; k++) {
            if (s->origins[k].searched) {
                ty_loader_note(
                    l, (enum ty_section_index)i,
                    ty_fail_at(l->err, TY_EINPUT, &s->origins[k].at,
                               "%s.%s: auto: \"trainyard plan\" with this file finds the "
                               "best value; write it, or leave the key out for %s",
                               s->name, s->fields[k].key, s->fields[k].fallback));
            }
        }
    }
}

/* Instead, for a plan: on which GPUs the job sits, which no layout changes. */
static void find_gpus(struct ty_loader *l)
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

/* Of what is derived for the first time. */
static void keep_given(struct ty_config *c, const bool *anew)
{
    if (anew[TY_SECTION_CLUSTER]) {
        c->given.cluster = c->cluster;
        c->given.fabric = c->fabric;
    }
    if (anew[TY_SECTION_MODEL]) {
        c->given.arch = c->arch;
    }
    c->given.layout = c->layout;
    c->given.schedule = c->schedule;
}

void ty_loader_check(struct ty_loader *l, const bool *anew)
{
    struct ty_config *c = l->config;
    keep_given(c, anew);
    if (!l->open) {
        refuse_left(l, anew);
    }
    if (anew[TY_SECTION_CLUSTER]) {
        check_cluster(l);
    }
    if (ty_config_is_traced(c)) {
        ty_loader_workload(l);
        ty_loader_output(l);
        return;
    }
    if (anew[TY_SECTION_MODEL]) {
        ty_loader_name_model(l);
    }
    if (anew[TY_SECTION_MODEL] && !c->failed[TY_SECTION_MODEL]) {
        ty_loader_note(l, TY_SECTION_MODEL,
                       ty_arch_finish(&c->arch, &c->sections[TY_SECTION_MODEL], l->err));
    }
    (l->open ? find_gpus : check_layout)(l);
    if (anew[TY_SECTION_MODEL] || anew[TY_SECTION_RUN]) {
        ty_loader_routing(l);
    }
    if (anew[TY_SECTION_OUTPUT]) {
        ty_loader_output(l);
    }
    if (anew[TY_SECTION_FLEET]) {
        ty_loader_note(
            l, TY_SECTION_FLEET,
            ty_fleet_check(&c->fleet, &c->sections[TY_SECTION_FLEET], &c->arena, l->err));
    }
    if (l->code == 0) { /* of values that stand */
        ty_loader_note(l, TY_SECTION_UNCERTAINTY, ty_uncertain_check(c, l->err));
    }
}
