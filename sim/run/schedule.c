/* schedule.c - `trainyard schedule`: a pipeline schedule by itself, for people and for scripts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/sched_program.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/core/execute.h"
#include "sim/core/stats.h"
#include "sim/trainyard.h"
#include "traces/gantt.h"

#define UNIT_PS 1000000u /* one unit of --times; six decimals are exact */

struct sched_run {
    const struct ty_sched *sched;
    struct ty_sched_shape shape;
    struct ty_sched_times times;
    struct ty_arena arena;
    struct ty_program program;
    struct ty_timeline timeline;
    struct ty_stats stats;
};

/* ---- reading ---- */

/* One "K=number" of --times. */
static int parse_time(const char *text, size_t n, struct ty_sched_times *times,
                      struct ty_err *err)
{
    char part[48];
    snprintf(part, sizeof(part), "%.*s", (int)(n < sizeof(part) ? n : sizeof(part) - 1), text);
    double *target = strncmp(part, "F=", 2) == 0   ? &times->forward
                     : strncmp(part, "B=", 2) == 0 ? &times->backward
                     : strncmp(part, "C=", 2) == 0 ? &times->edge
                                                   : NULL;
    if (target == NULL) {
        return ty_fail(err, TY_EUSAGE,
                       "--times %s: unknown time; F is the forward, B the backward of a virtual "
                       "stage, C the delay of a message, such as F=1,B=2,C=0",
                       part);
    }
    char why[160];
    double value;
    if (ty_quantity_parse(part + 2, TY_DIM_COUNT, &value, why, sizeof(why)) < 0 || value < 0 ||
        value > 1e9) {
        return ty_fail(err, TY_EUSAGE, "--times %s: write a number from 0 to 1e9", part);
    }
    *target = value;
    return 0;
}

static int parse_times(const char *text, struct ty_sched_times *times, struct ty_err *err)
{
    *times = (struct ty_sched_times){.forward = 1, .backward = 2, .edge = 0};
    while (text != NULL && *text != '\0') {
        const char *comma = strchr(text, ',');
        const size_t n = comma != NULL ? (size_t)(comma - text) : strlen(text);
        const int rc = parse_time(text, n, times, err);
        if (rc < 0) {
            return rc;
        }
        text = comma != NULL ? comma + 1 : NULL;
    }
    return 0;
}

static int find_schedule(const char *name, const struct ty_sched **out, struct ty_err *err)
{
    const char *names[32] = {NULL};
    size_t n = 0;
    for (; ty_schedules[n] != NULL && n < TY_COUNT(names); n++) {
        names[n] = ty_schedules[n]->name;
    }
    *out = ty_sched_find(name);
    if (*out != NULL) {
        return 0;
    }
    ty_fail(err, TY_EUSAGE, "unknown schedule (%s); see trainyard list schedules", name);
    const char *near = ty_nearest(name, names, n);
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

/* Micro-batches are numbered in 16 bits; the other bound keeps the whole below 2^28 passes. */
static int check_shape(const struct ty_schedule_options *o, struct ty_err *err)
{
    if (o->pipeline == 0 || o->pipeline > 4096) {
        return ty_fail(err, TY_EUSAGE, "-p %u: write 1 to 4096 pipeline ranks",
                       (unsigned)o->pipeline);
    }
    if (o->micro_batches == 0 || o->micro_batches > 65535) {
        return ty_fail(err, TY_EUSAGE, "-m %u: write 1 to 65535 micro-batches",
                       (unsigned)o->micro_batches);
    }
    return 0;
}

/* ---- execution ---- */

static ty_ps units(double x)
{
    return (ty_ps)llround(x * UNIT_PS);
}

static double in_units(ty_ps t)
{
    return (double)t / UNIT_PS;
}

static int execute(struct sched_run *r, struct ty_err *err)
{
    const struct ty_sched_durations d = {units(r->times.forward), units(r->times.backward),
                                         units(r->times.edge)};
    int rc = ty_sched_program(&r->program, r->sched, &r->shape, &d, &r->arena, err);
    rc = rc < 0 ? rc : ty_timeline_init(&r->timeline, &r->program, err);
    rc = rc < 0 ? rc : ty_sweep(&r->timeline, err);
    return rc < 0 ? rc : ty_stats_compute(&r->stats, &r->timeline, &r->arena, err);
}

struct summary {
    double makespan, max_rank_span, busy; /* units; busy: mean over ranks */
    double formula;
    bool holds;
};

static void summarise(const struct sched_run *r, struct summary *s)
{
    *s = (struct summary){.makespan = in_units(r->timeline.makespan)};
    for (uint32_t rank = 0; rank < r->shape.p; rank++) {
        struct ty_span_cursor cursor = ty_spans_of(&r->timeline, rank);
        struct ty_span span;
        ty_ps first = UINT64_MAX, last = 0;
        while (ty_span_next(&cursor, &span)) {
            if (span.op->stream == TY_STREAM_COMPUTE) {
                first = span.start < first ? span.start : first;
                last = span.start + span.dur;
                s->busy += in_units(span.dur) / r->shape.p;
            }
        }
        if (first < last && in_units(last - first) > s->max_rank_span) {
            s->max_rank_span = in_units(last - first);
        }
    }
    s->formula = r->sched->makespan(&r->shape, &r->times);
    s->holds = fabs(s->formula - s->makespan) <= 1e-9 * s->makespan;
}

/* ---- formats ---- */

/* A ratio; nothing over nothing is nothing. */
static double over(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static int write_gantt(const struct sched_run *r, uint32_t width, struct ty_text *t,
                       struct ty_err *err)
{
    struct summary s;
    summarise(r, &s);
    const struct ty_gantt options = {.width = width, .unit = UNIT_PS};
    char a[TY_JSON_NUMBER], b[TY_JSON_NUMBER], c[TY_JSON_NUMBER];
    ty_text_add(t, "%s, %u stages, %u micro-batches, tF = %s, tB = %s, message delay %s\n\n",
                r->sched->name, (unsigned)r->shape.p, (unsigned)r->shape.m,
                ty_json_number(r->times.forward, a), ty_json_number(r->times.backward, b),
                ty_json_number(r->times.edge, c));
    const int rc = ty_gantt(&r->timeline, &options, t, err);
    ty_text_add(t, "\nmakespan %s; formula %s = %s%s\n", ty_json_number(s.makespan, a),
                r->sched->formula, ty_json_number(s.formula, b),
                s.holds                ? ""
                : r->times.edge > 0    ? " (without message delays)"
                                       : " (does not hold here)");
    ty_text_add(t, "bubble %.2f %% of the makespan, %.2f %% over ideal; held at most: ",
                100 * over(s.makespan - s.busy, s.makespan), 100 * over(s.makespan - s.busy, s.busy));
    for (uint32_t rank = 0; rank < r->shape.p; rank++) {
        if (rank == 8 && r->shape.p > 9) {
            ty_text_add(t, ", ...");
            break;
        }
        ty_text_add(t, "%s%u", rank == 0 ? "" : ", ", (unsigned)r->stats.memory[rank].peak_held);
    }
    ty_text_add(t, " micro-batches\n");
    return rc;
}

static void write_slots(const struct sched_run *r, struct ty_text *t)
{
    char buf[32];
    for (uint32_t rank = 0; rank < r->shape.p; rank++) {
        const struct ty_gang *gang = &r->program.gangs[rank];
        ty_text_add(t, "rank %u:", (unsigned)rank);
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(&r->program, gang)[i];
            const struct ty_slot slot = {.mb = pass->mb, .stage = pass->stage,
                                         .phase = pass->phase};
            ty_text_add(t, " %s", ty_slot_text(&slot, buf, sizeof(buf)));
        }
        ty_text_add(t, "\n");
    }
}

static void write_json_rank(const struct sched_run *r, uint32_t rank, struct ty_text *t)
{
    const struct ty_gang *gang = &r->program.gangs[rank];
    char buf[TY_JSON_NUMBER];
    ty_text_add(t, "%s\n    {\"rank\": %u, \"actions\": [", rank == 0 ? "" : ",", (unsigned)rank);
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(&r->program, gang)[i];
        const struct ty_slot slot = {.mb = pass->mb, .stage = pass->stage, .phase = pass->phase};
        ty_text_add(t, "%s\"%s\"", i == 0 ? "" : ", ", ty_slot_text(&slot, buf, sizeof(buf)));
    }
    ty_text_add(t, "], \"start\": [");
    struct ty_span_cursor cursor = ty_spans_of(&r->timeline, rank);
    struct ty_span span;
    ty_ps busy = 0;
    bool first = true;
    while (ty_span_next(&cursor, &span)) {
        if (span.op->stream == TY_STREAM_COMPUTE) {
            ty_text_add(t, "%s%s", first ? "" : ", ", ty_json_number(in_units(span.start), buf));
            busy += span.dur;
            first = false;
        }
    }
    const unsigned held = (unsigned)r->stats.memory[rank].peak_held;
    ty_text_add(t, "], \"busy\": %s, \"peak_rel_I\": %u, \"peak_rel_W\": %u}",
                ty_json_number(in_units(busy), buf), held, held);
}

static void write_json(const struct sched_run *r, struct ty_text *t)
{
    struct summary s;
    char a[TY_JSON_NUMBER], b[TY_JSON_NUMBER];
    summarise(r, &s);
    ty_text_add(t, "{\n  \"schedule\": \"%s\",\n  \"p\": %u,\n  \"m\": %u,\n  \"v\": %u,\n",
                r->sched->name, (unsigned)r->shape.p, (unsigned)r->shape.m, (unsigned)r->shape.v);
    ty_text_add(t, "  \"makespan\": %s,\n  \"max_rank_span\": %s,\n",
                ty_json_number(s.makespan, a), ty_json_number(s.max_rank_span, b));
    ty_text_add(t, "  \"bubble_fraction\": %s,\n  \"bubble_over_ideal\": %s,\n",
                ty_json_number(over(s.makespan - s.busy, s.makespan), a),
                ty_json_number(over(s.makespan - s.busy, s.busy), b));
    ty_text_add(t, "  \"formula\": {\"expression\": \"%s\", \"value\": %s, \"holds\": %s},\n",
                r->sched->formula, ty_json_number(s.formula, a), s.holds ? "true" : "false");
    ty_text_add(t, "  \"ranks\": [");
    for (uint32_t rank = 0; rank < r->shape.p; rank++) {
        write_json_rank(r, rank, t);
    }
    ty_text_add(t, "\n  ]\n}\n");
}

static int show(struct sched_run *r, const struct ty_schedule_options *o, struct ty_text *t,
                struct ty_err *err)
{
    const char *format = o->format != NULL ? o->format : "gantt";
    int rc = check_shape(o, err);
    rc = rc < 0 ? rc : find_schedule(o->name, &r->sched, err);
    rc = rc < 0 ? rc : parse_times(o->times, &r->times, err);
    if (rc < 0) {
        return rc;
    }
    if (strcmp(format, "gantt") != 0 && strcmp(format, "slots") != 0 &&
        strcmp(format, "json") != 0) {
        return ty_fail(err, TY_EUSAGE, "unknown format (%s); use gantt, slots or json", format);
    }
    r->shape = (struct ty_sched_shape){o->pipeline, o->micro_batches, 1};
    rc = execute(r, err);
    if (rc < 0) {
        return rc;
    }
    if (strcmp(format, "gantt") == 0) {
        return write_gantt(r, o->width, t, err);
    }
    if (strcmp(format, "slots") == 0) {
        write_slots(r, t);
    } else {
        write_json(r, t);
    }
    return 0;
}

int ty_schedule_show(const struct ty_schedule_options *options, char **text, struct ty_err *err)
{
    struct sched_run r = {.sched = NULL};
    struct ty_text t = {.data = NULL};
    *text = NULL;
    int rc = show(&r, options, &t, err);
    if (rc == 0) {
        *text = ty_text_take(&t);
        rc = *text != NULL ? 0 : ty_fail(err, TY_ENOMEM, "out of memory");
    }
    ty_text_release(&t);
    ty_timeline_release(&r.timeline);
    ty_arena_release(&r.arena);
    return rc;
}
