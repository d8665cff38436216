/* space.c - which axes a plan searches: those that the run file leaves open or --over names; and
 * what a point means as a configuration. */
#include "sim/plan/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/check.h"
#include "model/offload.h"
#include "model/parallel/kinds.h"
#include "sim/base/check.h"
#include "sim/config/setting.h"
#include "sim/config/vary.h"
#include "sim/sweep/sweep_table.h"

static const struct ty_plan_axis rows[TY_PLAN_N_AXES] = {
#define X(id, section_, key_) [TY_PLAN_##id] = {.section = TY_SECTION_##section_, .key = (key_)},
    TY_PLAN_AXES(X)
#undef X
};

/* ---- values ---- */

/* The number of an order among those of the space. */
static uint32_t order_of(const struct ty_plan_space *space, const struct ty_word_list *wanted)
{
    uint32_t i = 0;
    while (i < space->n_orders &&
           memcmp(space->order[i].item, wanted->item, sizeof(wanted->item)) != 0) {
        i++;
    }
    return i;
}

/* The coordinate that sections filled in the usual way have. */
static uint32_t value_of(const struct ty_plan_space *space, enum ty_plan_axis_index axis,
                         const struct ty_layout *layout, const struct ty_sched_options *schedule)
{
    switch (axis) {
    case TY_PLAN_TENSOR:
        return layout->tensor;
    case TY_PLAN_TENSOR_SCHEME:
        return (uint32_t)layout->tensor_scheme;
    case TY_PLAN_TENSOR_DEPTH:
        return layout->tensor_depth;
    case TY_PLAN_CONTEXT:
        return layout->context;
    case TY_PLAN_PIPELINE:
        return layout->pipeline;
    case TY_PLAN_DATA:
        return layout->data;
    case TY_PLAN_EXPERT:
        return layout->expert;
    case TY_PLAN_EXPERT_TENSOR:
        return layout->expert_tensor;
    case TY_PLAN_MICRO_BATCH:
        return layout->micro_batch;
    case TY_PLAN_SCHEDULE:
        return (uint32_t)schedule->name;
    case TY_PLAN_CHUNKS:
        return schedule->chunks;
    case TY_PLAN_OFFLOAD:
        return (uint32_t)layout->offload;
    case TY_PLAN_ZERO:
        return layout->zero;
    case TY_PLAN_RECOMPUTE:
        return layout->recompute;
    case TY_PLAN_SEQUENCE_PARALLEL:
        return layout->sequence_parallel;
    case TY_PLAN_ORDER:
        return order_of(space, &layout->order);
    case TY_PLAN_N_AXES:
        break;
    }
    return 0;
}

/* All orders of the axes, the usual one first: words are numbered as it has them. */
static int make_orders(struct ty_plan_space *space, struct ty_arena *arena, struct ty_err *err)
{
    static const uint32_t factorial[TY_N_AXES] = {1, 1, 2, 6};
    struct ty_word_list *order = ty_arena_array(arena, struct ty_word_list, 4 * factorial[3]);
    if (order == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t i = 0; i < 4 * factorial[3]; i++) {
        int left[TY_N_AXES] = {TY_AXIS_TENSOR, TY_AXIS_CONTEXT, TY_AXIS_DATA, TY_AXIS_PIPELINE};
        uint32_t rest = i;
        order[i].n = TY_N_AXES;
        for (uint32_t k = 0; k < TY_N_AXES; k++) {
            const uint32_t among = TY_N_AXES - 1 - k, at = rest / factorial[among];
            order[i].item[k] = left[at];
            assert(at <= among);
            memmove(left + at, left + at + 1, (among - at) * sizeof(left[0]));
            rest %= factorial[among];
        }
    }
    space->order = order;
    space->n_orders = 4 * factorial[3];
    return 0;
}

/* ---- the run file ---- */

static bool is_given(const struct ty_config *base, enum ty_section_index section, const char *key)
{
    const struct ty_section *s = &base->sections[section];
    const struct ty_field *field = ty_section_field(s, key);
    const struct ty_origin *origin = ty_field_origin(s, field);
    const bool blank = field->blank != NULL && base->was_blank[section][field - s->fields];
    return (origin->kind == TY_ORIGIN_FILE || origin->kind == TY_ORIGIN_COMMAND) &&
           !origin->searched && !blank;
}

static int give(struct ty_plan_axis *axis, uint32_t value, struct ty_arena *arena,
                struct ty_err *err)
{
    uint32_t *one = ty_arena_array(arena, uint32_t, 1);
    if (one == NULL) {
        return ty_fail_memory(err);
    }
    *one = value;
    axis->value = one;
    axis->n = 1;
    axis->searched = false;
    return 0;
}

/* Axes as the run file leaves them. A schedule of the user's own has a name and chunks; a scheme
 * and what lives off the GPU are the run file's, or the usual ones, unless --over asks. */
static int read_axes(struct ty_plan_space *space, struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_config *base = space->base;
    const bool own = base->schedule.custom != NULL;
    int rc = 0;
    for (int i = 0; i < TY_PLAN_N_AXES && rc == 0; i++) {
        struct ty_plan_axis *axis = &space->axis[i];
        *axis = rows[i];
        axis->searched = true;
        if (is_given(base, axis->section, axis->key) || ty_plan_axis_is_rare(i)) {
            rc = give(axis,
                      value_of(space, (enum ty_plan_axis_index)i, &base->layout, &base->schedule),
                      arena, err);
        } else if (own && axis->section == TY_SECTION_SCHEDULE) {
            rc = give(axis, i == TY_PLAN_CHUNKS ? base->schedule.custom->shape.v : 0, arena, err);
        }
    }
    return rc;
}

/* ---- --over ---- */

static int unknown_axis(const char *key, struct ty_err *err)
{
    const char *names[TY_PLAN_N_AXES], *meant = key;
    char name[TY_PLAN_N_AXES][48], hint[TY_SUGGESTION];
    for (int i = 0; i < TY_PLAN_N_AXES; i++) {
        (void)snprintf(name[i], sizeof(name[i]), "%s.%s", ty_config_section_name(rows[i].section),
                       rows[i].key);
        names[i] = name[i];
        meant = strcmp(key, rows[i].key) == 0 ? name[i] : meant;
    }
    return ty_fail(
        err, TY_EUSAGE,
        "--over %.80s: a plan searches tensor, tensor_scheme, tensor_depth, context, "
        "pipeline, data, expert, "
        "expert_tensor, micro_batch, offload, zero, recompute, sequence_parallel and order of "
        "layout, name and chunks of schedule; \"trainyard sweep\" takes any key%s",
        key, ty_suggestion(meant, names, TY_PLAN_N_AXES, hint));
}

static enum ty_plan_axis_index find_axis(const char *key)
{
    int i = 0;
    for (; i < TY_PLAN_N_AXES; i++) {
        const char *section = ty_config_section_name(rows[i].section);
        const size_t n = strlen(section);
        if (strncmp(key, section, n) == 0 && key[n] == '.' &&
            strcmp(key + n + 1, rows[i].key) == 0) {
            break;
        }
    }
    return (enum ty_plan_axis_index)i;
}

/* One value, read as --set would. */
static int read_value(struct ty_plan_space *space, enum ty_plan_axis_index axis, const char *key,
                      const char *text, struct ty_config *blank, uint32_t *value,
                      struct ty_err *err)
{
    struct ty_setting setting = {.field = NULL};
    char words[512];
    (void)snprintf(words, sizeof(words), "%s=%s", key, text);
    int rc = ty_setting_parse(&setting, blank, "--over", words, err);
    if (rc == 0) {
        const struct ty_value_source from = {&setting.doc, TY_ORIGIN_COMMAND, setting.doc.file};
        rc = ty_field_apply(&blank->sections[setting.section], setting.field, &from,
                            setting.doc.root, &blank->arena, err);
    }
    if (rc == 0) {
        *value = value_of(space, axis, &blank->layout, &blank->schedule);
    }
    return rc;
}

/* Values are searched as often as they are listed, and equal rows would fill the best. */
static int check_values(const struct ty_plan_axis *axis, const struct ty_sweep_list *list,
                        struct ty_err *err)
{
    for (uint32_t i = 1; i < axis->n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (axis->value[k] == axis->value[i]) {
                return ty_fail(err, TY_EUSAGE, "--over %s: %s is there twice; keep one", list->key,
                               list->value[i]);
            }
        }
    }
    return 0;
}

/* seen: bits of the axes that have been listed, this one after it. */
static int check_axis(enum ty_plan_axis_index index, const char *key, uint32_t *seen,
                      struct ty_err *err)
{
    if (index == TY_PLAN_N_AXES) {
        return unknown_axis(key, err);
    }
    if ((*seen >> index & 1) != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--over %s is given twice; write all its values in one, such as %s=1,2", key,
                       key);
    }
    *seen |= 1u << index;
    return 0;
}

/* Whether a list leaves its values to the search: auto, or all schedules. Either stands alone. */
static int read_open(const struct ty_sweep_list *list, bool schedules, bool *open, bool *all,
                     struct ty_err *err)
{
    *open = *all = false;
    for (uint32_t i = 0; i < list->n; i++) {
        const bool every = schedules && strcmp(list->value[i], "all") == 0;
        if (!every && strcmp(list->value[i], "auto") != 0) {
            continue;
        }
        if (list->n > 1) {
            return ty_fail(err, TY_EUSAGE,
                           "--over %s: %s leaves its values to the search; leave it or the others "
                           "out",
                           list->key, list->value[i]);
        }
        *open = true;
        *all = every;
    }
    return 0;
}

/* "layout=auto": as if the run file had fixed no key of the section, but for those that are
 * searched only where --over names them. */
static int free_section(struct ty_plan_space *space, const struct ty_sweep_list *list,
                        struct ty_err *err)
{
    bool any = false;
    for (int i = 0; i < TY_PLAN_N_AXES; i++) {
        struct ty_plan_axis *axis = &space->axis[i];
        if (strcmp(list->key, rows[i].key) == 0) {
            return unknown_axis(list->key, err);
        }
        if (strcmp(list->key, ty_config_section_name(axis->section)) == 0) {
            any = true;
            axis->searched = !ty_plan_axis_is_rare(i);
            axis->n = axis->searched ? 0 : axis->n;
        }
    }
    return any && list->n == 1 && strcmp(list->value[0], "auto") == 0
               ? 0
               : ty_fail(err, TY_EUSAGE,
                         "%s: not a section that a plan searches; write layout or schedule",
                         list->key);
}

static int read_list(struct ty_plan_space *space, const char *over, struct ty_arena *arena,
                     struct ty_config *blank, uint32_t *seen, struct ty_err *err)
{
    struct ty_sweep_list list = {.n = 0};
    int rc = ty_sweep_list(&list, over, arena, err);
    if (rc < 0) {
        return rc;
    }
    if (strchr(list.key, '.') == NULL) {
        return free_section(space, &list, err);
    }
    const enum ty_plan_axis_index index = find_axis(list.key);
    rc = check_axis(index, list.key, seen, err);
    if (rc < 0) {
        return rc;
    }
    struct ty_plan_axis *axis = &space->axis[index];
    bool open, all;
    rc = read_open(&list, index == TY_PLAN_SCHEDULE, &open, &all, err);
    if (rc < 0) {
        return rc;
    }
    assert(index < TY_PLAN_N_AXES && list.n > 0);
    axis->searched = true;
    axis->n = 0;
    if (space->base->schedule.custom != NULL && axis->section == TY_SECTION_SCHEDULE) {
        return ty_fail(err, TY_EUSAGE,
                       "--over %s: the run file has a schedule of its own (schedule.file); leave "
                       "one of the two out",
                       list.key);
    }
    if (open) {
        space->all_schedules = space->all_schedules || all;
        return 0;
    }
    uint32_t *value = ty_arena_array(arena, uint32_t, list.n);
    if (value == NULL) {
        return ty_fail_memory(err);
    }
    axis->value = value;
    for (uint32_t i = 0; i < list.n && rc == 0; i++) {
        rc = read_value(space, index, list.key, list.value[i], blank, &value[i], err);
        axis->n += rc == 0;
    }
    return rc < 0 ? rc : check_values(axis, &list, err);
}

static int read_over(struct ty_plan_space *space, const char *const *over, size_t n,
                     struct ty_arena *arena, struct ty_err *err)
{
    struct ty_config blank = {.run = {.steps = 0}};
    uint32_t seen = 0;
    int rc = ty_config_init(&blank, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = read_list(space, over[i], arena, &blank, &seen, err);
    }
    ty_arena_release(&blank.arena);
    /* schemes without a depth that anybody gave: each with those it can have */
    struct ty_plan_axis *depth = &space->axis[TY_PLAN_TENSOR_DEPTH];
    if (space->axis[TY_PLAN_TENSOR_SCHEME].searched && !depth->searched &&
        !is_given(space->base, TY_SECTION_LAYOUT, "tensor_depth")) {
        depth->searched = true;
        depth->n = 0;
    }
    return rc;
}

/* ---- the stack ---- */

/* Where none is named it follows from the ZeRO stage, and brings its habits. */
static int read_framework(struct ty_plan_space *space, const struct ty_source *source,
                          uint32_t zero, struct ty_arena *arena, struct ty_err *err)
{
    struct ty_source own = *source;
    struct ty_config *config = NULL;
    const char **sets = ty_arena_array(arena, const char *, source->n_sets + 1);
    if (sets == NULL) {
        return ty_fail_memory(err);
    }
    for (size_t i = 0; i < source->n_sets; i++) {
        sets[i] = source->sets[i];
    }
    assert(zero < TY_PLAN_ZEROS);
    sets[own.n_sets++] = ty_arena_printf(arena, "layout.zero=%u", (unsigned)zero);
    own.sets = sets;
    int rc = sets[source->n_sets] != NULL ? ty_config_read_open(&config, &own, err)
                                          : ty_fail_memory(err);
    if (rc == 0) { /* its name is a preset's or the file's, which are not this copy's */
        const char *name = config->layout.framework.preset;
        space->framework[zero] = config->given.layout.framework;
        name = ty_arena_strndup(arena, name, strlen(name));
        space->framework[zero].preset = name;
        rc = name == NULL ? ty_fail_memory(err) : 0;
    }
    ty_config_free(config);
    return rc;
}

static int read_frameworks(struct ty_plan_space *space, const struct ty_source *source,
                           struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_config *base = space->base;
    const bool named = ty_check_given(&base->sections[TY_SECTION_FRAMEWORK], "preset");
    const char *own = base->layout.framework.preset;
    int rc = 0;
    for (uint32_t z = 0; z < TY_PLAN_ZEROS && rc == 0; z++) {
        space->framework[z] = base->given.layout.framework;
        if (!named && strcmp(ty_offload_framework(base->layout.offload, z), own) != 0) {
            rc = read_framework(space, source, z, arena, err);
        }
    }
    return rc;
}

/* ---- the space ---- */

/* A point of the space if there is one: given values, the first that are listed, else 1 and none.
 * What is wrong with it is wrong with all of them. */
static struct ty_plan_point first_point(const struct ty_plan_space *space)
{
    uint32_t value[TY_PLAN_N_AXES];
    const struct ty_config *base = space->base;
    for (int i = 0; i < TY_PLAN_N_AXES; i++) {
        value[i] = space->axis[i].n > 0 ? space->axis[i].value[0] : i <= TY_PLAN_MICRO_BATCH;
    }
    const bool shares = ty_arch_is_moe(&base->arch) && value[TY_PLAN_TENSOR] > 1;
    if (space->axis[TY_PLAN_TENSOR_SCHEME].n == 0) {
        value[TY_PLAN_TENSOR_SCHEME] = TY_TENSOR_1D;
    }
    if (space->axis[TY_PLAN_SCHEDULE].n == 0) {
        value[TY_PLAN_SCHEDULE] = (uint32_t)base->schedule.name;
    }
    return (struct ty_plan_point){
        .tensor = value[TY_PLAN_TENSOR],
        .tensor_scheme = (uint8_t)value[TY_PLAN_TENSOR_SCHEME],
        .tensor_depth = value[TY_PLAN_TENSOR_DEPTH],
        .context = value[TY_PLAN_CONTEXT],
        .pipeline = value[TY_PLAN_PIPELINE],
        .data = space->axis[TY_PLAN_DATA].n > 0 ? value[TY_PLAN_DATA] : 0,
        .expert = value[TY_PLAN_EXPERT],
        .expert_tensor = value[TY_PLAN_EXPERT_TENSOR],
        .micro_batch = value[TY_PLAN_MICRO_BATCH],
        .schedule = (uint16_t)value[TY_PLAN_SCHEDULE],
        .chunks = (uint16_t)value[TY_PLAN_CHUNKS],
        .offload = (uint8_t)value[TY_PLAN_OFFLOAD],
        .zero = (uint8_t)value[TY_PLAN_ZERO],
        .recompute = value[TY_PLAN_RECOMPUTE],
        .sequence_parallel = value[TY_PLAN_SEQUENCE_PARALLEL] != 0 || shares,
        .order = (uint8_t)value[TY_PLAN_ORDER],
    };
}

/* Returns whether neighbours differ: equal points would be equal rows. */
static bool points_differ(const struct ty_plan_space *space)
{
    bool differ = true;
    for (uint32_t i = 1; i < space->n_points; i++) {
        differ =
            differ && memcmp(&space->point[i - 1], &space->point[i], sizeof(*space->point)) != 0;
    }
    return differ;
}

/* Makes --over the place of the values that it gives, for messages: not the run file. */
static int place_over(struct ty_config *config, const char *over, struct ty_arena *arena)
{
    char key[48];
    (void)snprintf(key, sizeof(key), "%.*s", (int)strcspn(over, "="), over);
    const enum ty_plan_axis_index axis = find_axis(key);
    if (axis == TY_PLAN_N_AXES) {
        return 0;
    }
    struct ty_section *section = &config->sections[rows[axis].section];
    const struct ty_field *field = ty_section_field(section, rows[axis].key);
    struct ty_origin *origins = ty_arena_array(arena, struct ty_origin, section->n_fields);
    const char *place = ty_arena_printf(arena, "--over %s", over);
    if (origins == NULL || place == NULL) {
        return TY_ENOMEM;
    }
    memcpy(origins, section->origins, section->n_fields * sizeof(*origins));
    origins[field - section->fields] =
        (struct ty_origin){.kind = TY_ORIGIN_COMMAND, .at = {.file = place, .line = 1}};
    section->origins = origins;
    return 0;
}

static int fail_empty(const struct ty_plan_space *space, const char *const *over, size_t n_over,
                      struct ty_arena *arena, struct ty_err *err)
{
    struct ty_layout layout;
    struct ty_sched_options schedule;
    const struct ty_plan_point point = first_point(space);
    struct ty_plan_space asked = *space;
    struct ty_config *config = ty_arena_array(arena, struct ty_config, 1);
    int rc = config != NULL ? 0 : TY_ENOMEM;
    if (rc == 0) {
        *config = *space->base;
        asked.base = config;
    }
    for (size_t i = 0; i < n_over && rc == 0; i++) {
        rc = place_over(config, over[i], arena);
    }
    if (rc < 0) {
        return ty_fail_memory(err);
    }
    rc = ty_plan_complete(&asked, &point, &layout, &schedule, err);
    if (rc < 0) {
        ty_hint(err, "of all layouts that a plan may try none is legal with what is given");
        return rc;
    }
    return ty_fail(err, TY_EINPUT,
                   "no layout is legal with what is given; leave out keys of layout or schedule, "
                   "or give more values");
}

int ty_plan_space(struct ty_plan_space *space, const struct ty_config *base,
                  const struct ty_source *source, const char *const *over, size_t n_over,
                  struct ty_arena *arena, struct ty_err *err)
{
    *space = (struct ty_plan_space){.base = base};
    if (base->n_jobs > 0) {
        return ty_fail_at(err, TY_EINPUT, &base->jobs[0].at,
                          "jobs: a plan searches the layout of one job that has its cluster for "
                          "itself; leave the others out");
    }
    if (base->given.layout.stage_tensor.n + base->given.layout.stage_data.n > 0) {
        return ty_check_fail(&base->sections[TY_SECTION_LAYOUT],
                             base->given.layout.stage_tensor.n > 0 ? "stage_tensor" : "stage_data",
                             err,
                             "a plan searches layouts whose stages are of one shape; write auto");
    }
    if (ty_config_read(&space->own, source, NULL) < 0) {
        space->own = NULL;
    }
    int rc = make_orders(space, arena, err);
    if (rc == 0) {
        rc = read_axes(space, arena, err);
    }
    if (rc == 0) {
        rc = read_over(space, over, n_over, arena, err);
    }
    if (rc == 0) {
        rc = read_frameworks(space, source, arena, err);
    }
    if (rc == 0) {
        rc = ty_plan_walk(space, err);
    }
    TY_DEBUG_CHECK(rc < 0 || points_differ(space));
    return rc == 0 && space->n_points == 0 ? fail_empty(space, over, n_over, arena, err) : rc;
}

void ty_plan_space_release(struct ty_plan_space *space)
{
    free(space->point);
    ty_config_free(space->own);
    space->point = NULL;
    space->own = NULL;
}

/* ---- a point as a configuration ---- */

void ty_plan_set_layout(const struct ty_plan_space *space, const struct ty_plan_point *point,
                        struct ty_layout *layout)
{
    assert(point->zero < TY_PLAN_ZEROS && point->order < space->n_orders);
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
    ty_plan_set_layout(space, point, layout);
    set_schedule(point, schedule);
    schedule->slices = ty_sched_slices(schedule);
    schedule->overlaps = layout->framework.expert_overlap;
    layout->ends_together = ty_sched_of(schedule)->placement != TY_PLACE_LOOPED;
    int rc = ty_layout_finish(layout, section, &base->arch, &base->cluster,
                              ty_sched_chunks(schedule), err);
    if (rc == 0) {
        rc = ty_layout_check_slices(layout, section, &base->arch, schedule->slices, err);
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
    ty_plan_set_layout(space, point, &config->layout);
    set_schedule(point, &config->schedule);
}

int ty_plan_apply(const struct ty_plan_space *space, const struct ty_plan_point *point,
                  struct ty_config *config, struct ty_err *err)
{
    ty_plan_vary(space, point, config);
    return ty_config_complete(config, err);
}
