/* point.c - from coordinates to a configuration. */
#include "model/parallel/kinds.h"
#include "sim/config/vary.h"
#include "sim/plan/space.h"

static void set_layout(const struct ty_plan_space *space, const struct ty_plan_point *point,
                       struct ty_layout *layout)
{
    layout->framework = space->framework[point->zero];
    layout->tensor = point->tensor;
    layout->tensor_scheme = point->tensor_scheme;
    layout->tensor_depth = point->tensor_depth;
    layout->context = point->context;
    layout->pipeline = point->pipeline;
    layout->data = point->data;
    layout->expert = point->expert;
    layout->expert_tensor = point->expert_tensor;
    layout->micro_batch = point->micro_batch;
    layout->offload = point->offload;
    layout->zero = point->zero;
    layout->recompute = point->recompute;
    layout->sequence_parallel = point->sequence_parallel;
    layout->order = space->order[point->order];
}

static void set_schedule(const struct ty_plan_point *point, struct ty_sched_options *schedule)
{
    if (schedule->custom == NULL) {
        schedule->name = point->schedule;
        schedule->chunks = point->chunks;
    }
}

int ty_plan_complete(const struct ty_plan_space *space, const struct ty_plan_point *point,
                     struct ty_layout *layout, struct ty_sched_options *schedule,
                     struct ty_err *err)
{
    const struct ty_config *base = space->base;
    const struct ty_section *section = &base->sections[TY_SECTION_LAYOUT];
    *layout = base->layout;
    *schedule = base->schedule;
    set_layout(space, point, layout);
    set_schedule(point, schedule);
    schedule->slices = ty_sched_slices(schedule);
    schedule->overlaps = layout->framework.expert_overlap;
    layout->ends_together = ty_sched_of(schedule)->placement != TY_PLACE_LOOPED;
    int rc = ty_layout_finish(layout, section, &base->arch, &base->cluster,
                              ty_sched_chunks(schedule), err);
    if (rc == 0) {
        rc = ty_layout_check_slices(layout, section, schedule->slices, err);
    }
    schedule->updates_away = layout->home.optimizer != TY_HOME_GPU;
    return rc < 0
               ? rc
               : ty_sched_finish(schedule, &base->sections[TY_SECTION_SCHEDULE], layout->pipeline,
                                 layout->micro_batches, base->arch.sequence, err);
}

void ty_plan_vary(const struct ty_plan_space *space, const struct ty_plan_point *point,
                  struct ty_config *config)
{
    ty_config_vary(config, space->base);
    set_layout(space, point, &config->layout);
    set_schedule(point, &config->schedule);
}

int ty_plan_apply(const struct ty_plan_space *space, const struct ty_plan_point *point,
                  struct ty_config *config, struct ty_err *err)
{
    ty_plan_vary(space, point, config);
    return ty_config_complete(config, err);
}
