/* row_text.c - names the keys of a point and formats their values. */
#include "sim/plan/search/row_text.h"

#include "sim/base/check.h"

#include <stdio.h>
#include <string.h>

static const struct {
    enum ty_section_index section;
    const char *key;
} keys[TY_PLAN_N_KEYS] = {
#define X(id, section, key) [TY_PLAN_##id] = {TY_SECTION_##section, key},
    TY_PLAN_AXES(X)
#undef X
        [TY_PLAN_N_AXES] = {TY_SECTION_FRAMEWORK, "preset"},
};

const char *ty_plan_key_name(uint32_t i, char buf[TY_PLAN_VALUE])
{
    assert(i < TY_PLAN_N_KEYS);
    (void)snprintf(buf, TY_PLAN_VALUE, "%s.%s", ty_config_section_name(keys[i].section),
                   keys[i].key);
    return buf;
}

bool ty_plan_key_is_plain(uint32_t i)
{
    return i != TY_PLAN_TENSOR_SCHEME && i != TY_PLAN_OFFLOAD && i != TY_PLAN_SCHEDULE &&
           i != TY_PLAN_RECOMPUTE && i != TY_PLAN_ORDER && i != TY_PLAN_N_AXES;
}

bool ty_plan_key_applies(const struct ty_plan_space *space, uint32_t i)
{
    return (i != TY_PLAN_EXPERT && i != TY_PLAN_EXPERT_TENSOR) ||
           ty_arch_is_moe(&space->base->arch);
}

bool ty_plan_key_is_told(const struct ty_plan_space *space, uint32_t i)
{
    return !ty_plan_axis_is_rare((int)i) || space->axis[i].searched;
}

uint32_t ty_plan_key_number(const struct ty_plan_point *point, uint32_t i)
{
    const uint32_t numbers[TY_PLAN_N_KEYS] = {
        [TY_PLAN_TENSOR] = point->tensor,
        [TY_PLAN_TENSOR_SCHEME] = point->tensor_scheme,
        [TY_PLAN_TENSOR_DEPTH] = point->tensor_depth,
        [TY_PLAN_CONTEXT] = point->context,
        [TY_PLAN_PIPELINE] = point->pipeline,
        [TY_PLAN_DATA] = point->data,
        [TY_PLAN_EXPERT] = point->expert,
        [TY_PLAN_EXPERT_TENSOR] = point->expert_tensor,
        [TY_PLAN_MICRO_BATCH] = point->micro_batch,
        [TY_PLAN_SCHEDULE] = point->schedule,
        [TY_PLAN_CHUNKS] = point->chunks,
        [TY_PLAN_OFFLOAD] = point->offload,
        [TY_PLAN_ZERO] = point->zero,
        [TY_PLAN_RECOMPUTE] = point->recompute,
        [TY_PLAN_SEQUENCE_PARALLEL] = point->sequence_parallel,
        [TY_PLAN_ORDER] = point->order,
        [TY_PLAN_N_AXES] = point->zero, /* the framework follows from it, or is the same in all */
    };
    return numbers[i];
}

const char *ty_plan_key_short(uint32_t i, char buf[TY_PLAN_VALUE])
{
    ty_plan_key_name(i, buf);
    char *dot = strchr(buf, '.');
    assert(dot != NULL);
    if (i == TY_PLAN_SCHEDULE || i == TY_PLAN_N_AXES) {
        *dot = '\0';
        return buf;
    }
    return dot + 1;
}

char *ty_plan_key_value(const struct ty_plan_space *space, const struct ty_plan_point *point,
                        uint32_t i, char buf[TY_PLAN_VALUE])
{
    struct ty_layout layout = {.tensor = 0};
    struct ty_sched_options schedule = {.name = point->schedule, .chunks = point->chunks};
    struct ty_section section = space->base->sections[keys[i].section];
    ty_plan_set_layout(space, point, &layout);
    section.base = keys[i].section == TY_SECTION_LAYOUT     ? (void *)&layout
                   : keys[i].section == TY_SECTION_SCHEDULE ? (void *)&schedule
                                                            : (void *)&layout.framework;
    return ty_field_format(&section, ty_section_field(&section, keys[i].key), buf, TY_PLAN_VALUE);
}
