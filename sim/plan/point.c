/* point.c - from coordinates to a configuration. */
#include "sim/plan/space.h"

static void set_layout(const struct ty_plan_space *space, const struct ty_plan_point *point,
                       struct ty_layout *layout)
{
    *layout = space->base->layout;
    layout->framework = space->framework[point->zero];
    layout->tensor = point->tensor;
    layout->context = point->context;
    layout->pipeline = point->pipeline;
    layout->data = point->data;
    layout->expert = point->expert;
    layout->expert_tensor = point->expert_tensor;
    layout->micro_batch = point->micro_batch;
    layout->zero = point->zero;
    layout->recompute = point->recompute;
    layout->sequence_parallel = point->sequence_parallel;
    layout->order = space->order[point->order];
}

static void set_schedule(const struct ty_plan_space *space, const struct ty_plan_point *point,
                         const struct ty_framework *framework, struct ty_sched_options *schedule)
{
    *schedule = space->base->schedule;
    schedule->overlaps = framework->expert_overlap;
    if (schedule->custom == NULL) {
        schedule->name = point->schedule;
        schedule->chunks = point->chunks;
    }
    schedule->slices = ty_sched_slices(schedule);
}

int ty_plan_complete(const struct ty_plan_space *space, const struct ty_plan_point *point,
                     struct ty_layout *layout, struct ty_sched_options *schedule,
                     struct ty_err *err)
{
    const struct ty_config *base = space->base;
    const struct ty_section *section = &base->sections[TY_SECTION_LAYOUT];
    set_layout(space, point, layout);
    set_schedule(space, point, &layout->framework, schedule);
    layout->ends_together = ty_sched_of(schedule)->placement != TY_PLACE_LOOPED;
    int rc = ty_layout_finish(layout, section, &base->arch, &base->cluster,
                              ty_sched_chunks(schedule), err);
    if (rc == 0) {
        rc = ty_layout_check_slices(layout, section, schedule->slices, err);
    }
    return rc < 0
               ? rc
               : ty_sched_finish(schedule, &base->sections[TY_SECTION_SCHEDULE], layout->pipeline,
                                 layout->micro_batches, base->arch.sequence, err);
}

int ty_plan_apply(const struct ty_plan_space *space, const struct ty_plan_point *point,
                  struct ty_config *config, struct ty_err *err)
{
    *config = *space->base;
    return ty_plan_complete(space, point, &config->layout, &config->schedule, err);
}
