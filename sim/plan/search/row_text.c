/* row_text.c - see row_text.h. */
#include "sim/plan/search/row_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/document/json.h"
#include "sim/sweep/sweep_line.h"

#define VALUES_SHOWN 12u
#define VALUES_MOST  256u /* of a key: divisors of a batch */

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
    (void)snprintf(buf, TY_PLAN_VALUE, "%s.%s", ty_config_section_name(keys[i].section),
                   keys[i].key);
    return buf;
}

bool ty_plan_key_is_plain(uint32_t i)
{
    return i != TY_PLAN_TENSOR_SCHEME && i != TY_PLAN_OFFLOAD && i != TY_PLAN_SCHEDULE &&
           i != TY_PLAN_RECOMPUTE && i != TY_PLAN_ORDER && i != TY_PLAN_N_AXES;
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
        [TY_PLAN_N_AXES] = point->zero, /* the stack follows from it, or is one */
    };
    return numbers[i];
}

bool ty_plan_key_varies(const struct ty_plan_space *space, uint32_t i)
{
    const uint32_t first = ty_plan_key_number(&space->point[0], i);
    bool varies = false;
    for (uint32_t k = 1; k < space->n_points && !varies; k++) {
        varies = ty_plan_key_number(&space->point[k], i) != first;
    }
    return varies;
}

const char *ty_plan_key_short(uint32_t i, char buf[TY_PLAN_VALUE])
{
    ty_plan_key_name(i, buf);
    char *dot = strchr(buf, '.');
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

/* ---- all that were searched ---- */

/* Different values of a key, each with a point that has it. */
struct values {
    uint32_t n;
    struct {
        uint32_t number, result;
        const struct ty_plan_point *point;
    } of[VALUES_MOST];
};

/* Keeps the smallest, in their order. */
static void add_value(struct values *v, uint32_t key, uint32_t result,
                      const struct ty_plan_point *point)
{
    const uint32_t number = ty_plan_key_number(point, key);
    uint32_t at = v->n;
    while (at > 0 && v->of[at - 1].number > number) {
        at--;
    }
    if ((at > 0 && v->of[at - 1].number == number) || at == VALUES_MOST) {
        return;
    }
    v->n += v->n < VALUES_MOST;
    memmove(&v->of[at + 1], &v->of[at], (v->n - at - 1) * sizeof(v->of[0]));
    v->of[at].number = number;
    v->of[at].result = result;
    v->of[at].point = point;
}

/* Of all points of all numbers of GPUs. Outer axes rarely change from one point to the next. */
static void find_values(const struct ty_plan_answer *a, uint32_t key, struct values *v)
{
    *v = (struct values){.n = 0};
    for (uint32_t r = 0; r < a->n_results; r++) {
        const struct ty_plan_space *space = &a->result[r].space;
        uint32_t last = 0;
        for (uint32_t i = 0; i < space->n_points; i++) {
            const uint32_t number = ty_plan_key_number(&space->point[i], key);
            if (i == 0 || number != last) {
                add_value(v, key, r, &space->point[i]);
            }
            last = number;
        }
    }
}

uint32_t ty_plan_key_values(struct ty_text *t, const struct ty_plan_answer *a, uint32_t key)
{
    struct values values;
    char value[TY_PLAN_VALUE];
    find_values(a, key, &values);
    const bool many = ty_plan_key_is_plain(key) && values.n > VALUES_SHOWN;
    for (uint32_t i = 0; i < values.n; i++) {
        if (many && i == VALUES_SHOWN - 1) {
            ty_text_add(t, ", ...");
            i = values.n - 1;
        }
        ty_text_add(t, "%s%s", i > 0 ? ", " : "",
                    ty_plan_key_value(&a->result[values.of[i].result].space, values.of[i].point,
                                      key, value));
    }
    return values.n;
}

/* ---- rows.csv ---- */

#define FIGURES(X)                                                                                 \
    X(step_time_s, step_s)                                                                         \
    X(tokens_per_s, tokens_per_s)                                                                  \
    X(mfu, mfu)                                                                                    \
    X(bubble_fraction, bubble_fraction)                                                            \
    X(peak_memory_bytes, peak_B)                                                                   \
    X(capacity_bytes, capacity_B)

void ty_plan_csv_head(struct ty_text *t, const struct ty_plan_space *space)
{
    char name[TY_PLAN_VALUE];
    ty_text_add(t, "row,gpus");
    for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
        if (ty_plan_key_is_told(space, i)) {
            ty_text_add(t, ",%s", ty_plan_key_name(i, name));
        }
    }
#define X(name, member) ty_text_add(t, "," #name);
    FIGURES(X)
#undef X
    ty_text_add(t, ",fullest_stage");
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        ty_text_add(t, ",%s", ty_transformer_words.buckets[b].name);
    }
    ty_text_add(t, "\n");
}

/* The number of a row, and its layout. */
static void put_inputs(struct ty_text *t, const struct ty_plan_result *result, uint32_t number)
{
    const struct ty_plan_point *point = &result->space.point[number - result->first];
    char value[TY_PLAN_VALUE];
    ty_text_add(t, "%" PRIu32 ",%" PRIu32, number + 1, ty_plan_gpus(&result->space));
    for (uint32_t i = 0; i < TY_PLAN_N_KEYS; i++) {
        if (ty_plan_key_is_told(&result->space, i)) {
            ty_text_add(t, ",");
            ty_sweep_line_cell(t, ty_plan_key_value(&result->space, point, i, value));
        }
    }
}

void ty_plan_csv_row(struct ty_text *t, const struct ty_plan_result *result,
                     const struct ty_plan_row *row)
{
    char number[TY_JSON_NUMBER];
    put_inputs(t, result, row->row);
#define X(name, member) ty_text_add(t, ",%s", ty_json_number(row->member, number));
    FIGURES(X)
#undef X
    ty_text_add(t, ",%" PRIu32, row->stage);
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        ty_text_add(t, ",%s", ty_json_number(row->bucket_s[b], number));
    }
    ty_text_add(t, "\n");
}

/* The number behind a comma. */
static bool read_number(const char **at, double *value)
{
    char *end = NULL;
    if (**at != ',') {
        return false;
    }
    *value = ty_strtod(*at + 1, &end);
    const bool any = end > *at + 1;
    *at = end;
    return any;
}

bool ty_plan_csv_read(const char *line, const struct ty_plan_result *result, uint32_t number,
                      struct ty_plan_row *row)
{
    struct ty_text inputs = {.data = NULL};
    double stage = 0;
    put_inputs(&inputs, result, number);
    bool good = !inputs.failed && strncmp(line, inputs.data, inputs.len) == 0;
    const char *at = line + (good ? inputs.len : 0);
    ty_text_release(&inputs);
    *row =
        (struct ty_plan_row){.row = number, .point = result->space.point[number - result->first]};
#define X(name, member) good = good && read_number(&at, &row->member);
    FIGURES(X)
#undef X
    good = good && read_number(&at, &stage);
    row->stage = (uint32_t)stage;
    for (uint32_t b = 0; b < TY_N_BUCKETS && good; b++) {
        good = read_number(&at, &row->bucket_s[b]);
    }
    return good && strcmp(at, "\n") == 0;
}
