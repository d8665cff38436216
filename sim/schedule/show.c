/* show.c - `trainyard schedule`: a pipeline schedule by itself, for people and for
 * scripts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/orders/csv.h"
#include "model/orders/text.h"
#include "sim/base/text.h"
#include "sim/cli_api.h"
#include "sim/config/options.h"
#include "sim/document/json.h"
#include "sim/schedule/passes.h"
#include "sim/schedule/run.h"
#include "traces/view/gantt.h"

/* ---- the columns of an executed schedule ---- */

/* A pass is a row. Of two that overlap each has a row, and both the time of the slot that they
 * share. */

/* The columns while they are filled. */
struct columns {
    double *start, *duration;
    uint16_t *micro_batch, *stage;
    uint8_t *slice, *direction, *half;
    char *phase;
};

static bool make_columns(struct columns *c, struct ty_arena *arena, size_t n)
{
    *c = (struct columns){ty_arena_array(arena, double, n),   ty_arena_array(arena, double, n),
                          ty_arena_array(arena, uint16_t, n), ty_arena_array(arena, uint16_t, n),
                          ty_arena_array(arena, uint8_t, n),  ty_arena_array(arena, uint8_t, n),
                          ty_arena_array(arena, uint8_t, n),  ty_arena_array(arena, char, n)};
    return c->start != NULL && c->duration != NULL && c->micro_batch != NULL && c->stage != NULL &&
           c->slice != NULL && c->direction != NULL && c->half != NULL && c->phase != NULL;
}

static enum ty_slot_half half_of(const struct ty_rank_slots *order, uint32_t i)
{
    if (i > 0 && order->slot[i - 1].paired) {
        return TY_SLOT_SECOND;
    }
    return order->slot[i].paired && i + 1 < order->n ? TY_SLOT_FIRST : TY_SLOT_WHOLE;
}

static void put_pass(const struct columns *c, size_t row, const struct ty_rank_slots *order,
                     uint32_t i)
{
    const struct ty_slot *slot = &order->slot[i];
    c->micro_batch[row] = slot->mb;
    c->stage[row] = slot->stage;
    c->slice[row] = slot->slice;
    c->direction[row] = slot->direction;
    c->phase[row] = ty_phase_letter((enum ty_phase)slot->phase);
    c->half[row] = (uint8_t)half_of(order, i);
}

/* The computations of a rank, in their order, from a row on. */
static void fill_rank(const struct columns *c, size_t row, const struct ty_sched_run *r,
                      uint32_t rank, struct ty_sched_rank_times *times)
{
    const struct ty_rank_slots *order = &r->slots.rank[rank];
    struct ty_span_cursor cursor = ty_spans_of(&r->timeline, rank);
    struct ty_span span;
    ty_ps first_half = 0;
    *times = (struct ty_sched_rank_times){.first = r->timeline.makespan};
    for (uint32_t i = 0; ty_span_next(&cursor, &span);) {
        if (span.op->stream != TY_STREAM_COMPUTE) {
            continue;
        }
        put_pass(c, row, order, i);
        c->start[row] = ty_sched_units(span.start);
        c->duration[row] = ty_sched_units(span.dur);
        if (c->half[row] == TY_SLOT_FIRST) {
            first_half = span.dur;
        } else if (c->half[row] == TY_SLOT_SECOND) {
            c->start[row] = c->start[row - 1];
            c->duration[row - 1] = c->duration[row] = ty_sched_units(first_half + span.dur);
        }
        times->busy += span.dur;
        times->first = span.start < times->first ? span.start : times->first;
        times->last = span.start + span.dur;
        row++;
        i++;
    }
}

/* Fills all but public.figures of a zeroed object. Release in any case. */
static int sched_passes_fill(struct ty_sched_passes *passes, const struct ty_sched_run *r,
                             struct ty_err *err)
{
    struct ty_arena *arena = &passes->arena;
    const uint32_t p = r->shape.p;
    uint32_t *first = ty_arena_array(arena, uint32_t, (size_t)p + 1);
    passes->ranks = ty_arena_array(arena, struct ty_sched_rank_times, p);
    if (first == NULL || passes->ranks == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t rank = 0; rank < p; rank++) {
        first[rank + 1] = first[rank] + r->slots.rank[rank].n;
    }
    struct columns c;
    if (!make_columns(&c, arena, first[p])) {
        return ty_fail_memory(err);
    }
    for (uint32_t rank = 0; rank < p; rank++) {
        fill_rank(&c, first[rank], r, rank, &passes->ranks[rank]);
    }
    passes->public = (struct ty_schedule_passes){.n = first[p],
                                                 .start = c.start,
                                                 .duration = c.duration,
                                                 .micro_batch = c.micro_batch,
                                                 .stage = c.stage,
                                                 .phase = c.phase,
                                                 .slice = c.slice,
                                                 .direction = c.direction,
                                                 .half = c.half,
                                                 .first = first,
                                                 .n_ranks = p};
    return 0;
}

static bool splits(const struct ty_sched_run *r)
{
    for (uint32_t i = 0; i < r->slots.rank[0].n; i++) {
        if (r->slots.rank[0].slot[i].phase == TY_PHASE_WGRAD) {
            return true;
        }
    }
    return false;
}

/* "1f1b, 4 stages, 8 micro-batches, tF = 1, tB = 2, message delay 0" */
static void sched_describe(const struct ty_sched_run *r, struct ty_text *t)
{
    char a[TY_JSON_NUMBER], b[TY_JSON_NUMBER], c[TY_JSON_NUMBER];
    ty_text_add(t, "%s, %u stage%s, %u micro-batch%s", r->name, (unsigned)r->shape.p,
                r->shape.p == 1 ? "" : "s", (unsigned)r->shape.m, r->shape.m == 1 ? "" : "es");
    if (r->shape.v > 1) {
        ty_text_add(t, ", %u chunks per stage", (unsigned)r->shape.v);
    }
    if (r->shape.slices > 1) {
        ty_text_add(t, ", %u slices", (unsigned)r->shape.slices);
    }
    if (r->sched != NULL && r->sched->reduced != NULL && r->shape.v * r->shape.slices == 1) {
        ty_text_add(t, ", 1 %s (as %s)", r->sched->sliced ? "slice" : "chunk per stage",
                    r->sched->reduced);
    }
    if (r->shape.group != 0 && r->sched != NULL && !r->sched->grouped) {
        ty_text_add(t, ", no groups (%u is ignored)", (unsigned)r->shape.group);
    }
    ty_text_add(t, ", tF = %s, ", ty_json_number(r->times.forward, a));
    if (splits(r)) {
        ty_text_add(t, "tI = %s, tW = %s", ty_json_number(r->times.input, a),
                    ty_json_number(r->times.weight, b));
    } else {
        ty_text_add(t, "tB = %s", ty_json_number(r->times.backward, b));
    }
    ty_text_add(t, ", message delay %s", ty_json_number(r->times.edge, c));
}

/* ---- pictures ---- */

/* "1f1b, p = 4, m = 8"; with others, which have them, too, the name. */
static void add_title(const struct ty_sched_run *r, bool alone, struct ty_text *out)
{
    ty_text_add(out, "%s", r->name);
    if (alone) {
        ty_text_add(out, ", p = %u, m = %u", (unsigned)r->shape.p, (unsigned)r->shape.m);
    }
    if (r->shape.v > 1) {
        ty_text_add(out, ", v = %u", (unsigned)r->shape.v);
    }
    if (r->shape.slices > 1) {
        ty_text_add(out, ", %u slices", (unsigned)r->shape.slices);
    }
}

/* Titles are kept in one arena: a panel borrows its own. */
static int add_panels(const struct ty_sched_run *const *runs, uint32_t n,
                      struct ty_svg_panel *panels, struct ty_text *about, struct ty_arena *arena)
{
    for (uint32_t i = 0; i < n; i++) {
        struct ty_text title = {.data = NULL};
        add_title(runs[i], n == 1, &title);
        const char *kept = title.failed ? NULL : ty_arena_strndup(arena, title.data, title.len);
        ty_text_release(&title);
        if (kept == NULL) {
            return TY_ENOMEM;
        }
        panels[i] = (struct ty_svg_panel){.timeline = &runs[i]->timeline, .title = kept};
        ty_text_add(about, i == 0 ? "" : "; ");
        sched_describe(runs[i], about);
    }
    return 0;
}

int ty_sched_svg(const struct ty_sched_run *const *runs, uint32_t n,
                 const struct ty_schedule_options *options, struct ty_text *out, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_text about = {.data = NULL};
    struct ty_svg svg = {.n_panels = n, .unit = TY_SCHED_UNIT_PS};
    struct ty_svg_panel *panels = ty_arena_array(&arena, struct ty_svg_panel, n);
    int rc =
        ty_svg_style_read(&svg.style, options->svg_width, options->palette, options->bubbles, err);
    if (rc == 0) {
        rc = panels == NULL ? TY_ENOMEM : add_panels(runs, n, panels, &about, &arena);
        rc = about.failed ? TY_ENOMEM : rc;
        rc = rc == 0 ? 0 : ty_fail_memory(err);
    }
    if (rc == 0) {
        svg.panels = panels;
        svg.about = about.data;
        rc = ty_svg(&svg, out, err);
    }
    ty_text_release(&about);
    ty_arena_release(&arena);
    return rc;
}

/* Why the formula and the simulation differ, in words. */
static void put_verdict(const struct ty_sched_run *r, const struct ty_sched_summary *s,
                        struct ty_text *t)
{
    if (s->holds) {
        return;
    }
    if (!s->in_domain) {
        ty_text_add(t, ", claimed for %s only", r->sched->domain);
    } else if (r->times.edge > 0) {
        ty_text_add(t, ", without message delays");
    } else {
        ty_text_add(t, ", which does not hold here");
    }
}

static void write_summary(const struct ty_sched_run *r, const struct ty_sched_summary *s,
                          struct ty_text *t)
{
    char a[TY_JSON_NUMBER], b[TY_JSON_NUMBER];
    ty_text_add(t, "\nmakespan %s", ty_json_number(s->makespan, a));
    if (s->formula > 0) {
        ty_text_add(t, "; formula %s = %s", r->sched->formula, ty_json_number(s->formula, b));
        put_verdict(r, s, t);
    }
    if (s->max_rank_span < s->makespan) {
        ty_text_add(t, "; longest span of a rank %s", ty_json_number(s->max_rank_span, a));
    }
    ty_text_add(t, "\nbubble %.2f %% of the makespan, %.2f %% over ideal\nheld at most: ",
                100 * s->bubble_fraction, 100 * s->bubble_over_ideal);
    for (uint32_t rank = 0; rank < r->shape.p; rank++) {
        if (rank == 8 && r->shape.p > 9) {
            ty_text_add(t, ", ...");
            break;
        }
        ty_text_add(t, "%s%u", rank == 0 ? "" : ", ",
                    (unsigned)ty_slots_peak(&r->slots.rank[rank], TY_PHASE_WGRAD));
    }
    const bool pieces = r->shape.v > 1 || r->shape.slices > 1;
    const bool one = r->shape.p == 1 && ty_slots_peak(&r->slots.rank[0], TY_PHASE_WGRAD) == 1;
    ty_text_add(t, pieces ? " micro-batch pieces" : one ? " micro-batch" : " micro-batches");
    ty_text_add(t, s->weight_copies > 1 ? "; up to %u weight copies\n" : "\n",
                (unsigned)s->weight_copies);
}

static int write_gantt(const struct ty_sched_run *r, uint32_t width, struct ty_text *t,
                       struct ty_err *err)
{
    struct ty_sched_summary s;
    const struct ty_gantt options = {.width = width, .unit = TY_SCHED_UNIT_PS};
    ty_sched_summarise(r, &s);
    sched_describe(r, t);
    ty_text_add(t, "\n\n");
    const int rc = ty_gantt(&r->timeline, &options, t, err);
    write_summary(r, &s, t);
    return rc;
}

/* ---- for scripts ---- */

/* One slot: an atom, or the two of a pair. Returns how many atoms it took. */
static uint32_t put_slot(const struct ty_rank_slots *order, uint32_t i, struct ty_json *j)
{
    char a[32], b[32], both[68];
    const struct ty_slot *slot = &order->slot[i];
    ty_slot_text(slot, a, sizeof(a));
    if (!slot->paired || i + 1 >= order->n) {
        ty_json_text(j, NULL, a);
        return 1;
    }
    (void)snprintf(both, sizeof(both), "(%s|%s)", a, ty_slot_text(slot + 1, b, sizeof(b)));
    ty_json_text(j, NULL, both);
    return 2;
}

/* A number for each slot of a rank. */
static void put_times(const struct ty_schedule_passes *c, uint32_t rank, const char *key,
                      const double *times, struct ty_json *j)
{
    ty_json_array(j, key);
    for (uint32_t i = c->first[rank]; i < c->first[rank + 1]; i++) {
        if (c->half[i] != TY_SLOT_SECOND) {
            ty_json_real(j, NULL, times[i]);
        }
    }
    ty_json_end(j);
}

static void put_rank(const struct ty_sched_run *r, const struct ty_sched_passes *passes,
                     uint32_t rank, bool lists, struct ty_json *j)
{
    const struct ty_rank_slots *order = &r->slots.rank[rank];
    const struct ty_sched_rank_times *t = &passes->ranks[rank];
    ty_json_object(j, NULL);
    ty_json_whole(j, "rank", rank);
    if (lists) {
        ty_json_array(j, "actions");
        for (uint32_t i = 0; i < order->n;) {
            i += put_slot(order, i, j);
        }
        ty_json_end(j);
        put_times(&passes->public, rank, "start", passes->public.start, j);
        put_times(&passes->public, rank, "duration", passes->public.duration, j);
    }
    ty_json_real(j, "busy", ty_sched_units(t->busy));
    ty_json_real(j, "fill", ty_sched_units(t->first));
    ty_json_real(j, "stall", ty_sched_units(t->last - t->first - t->busy));
    ty_json_real(j, "drain", ty_sched_units(r->timeline.makespan - t->last));
    ty_json_whole(j, "peak_rel_I", ty_slots_peak(order, TY_PHASE_DGRAD));
    ty_json_whole(j, "peak_rel_W", ty_slots_peak(order, TY_PHASE_WGRAD));
    ty_json_end(j);
}

static void put_formula(const struct ty_sched_run *r, const struct ty_sched_summary *s,
                        struct ty_json *j)
{
    if (s->formula <= 0) {
        ty_json_text(j, "formula", NULL);
        return;
    }
    ty_json_object(j, "formula");
    ty_json_text(j, "expression", r->sched->formula);
    ty_json_real(j, "value", s->formula);
    ty_json_bool(j, "holds", s->holds);
    ty_json_end(j);
}

/* `lists`: with what each rank does when. */
static void put_json(const struct ty_sched_run *r, const struct ty_sched_passes *passes, bool lists,
                     struct ty_text *t)
{
    struct ty_json j = ty_json_to_text(t);
    struct ty_sched_summary s;
    ty_sched_summarise(r, &s);
    ty_json_object(&j, NULL);
    ty_json_lines(&j);
    ty_json_text(&j, "schedule", r->name);
    ty_json_whole(&j, "p", r->shape.p);
    ty_json_whole(&j, "m", r->shape.m);
    ty_json_whole(&j, "v", r->shape.v);
    ty_json_real(&j, "makespan", s.makespan);
    ty_json_real(&j, "max_rank_span", s.max_rank_span);
    ty_json_real(&j, "bubble_fraction", s.bubble_fraction);
    ty_json_real(&j, "bubble_over_ideal", s.bubble_over_ideal);
    put_formula(r, &s, &j);
    ty_json_whole(&j, "weight_copies", s.weight_copies);
    ty_json_whole(&j, "messages", s.messages);
    ty_json_array(&j, "ranks");
    ty_json_lines(&j);
    for (uint32_t rank = 0; rank < r->shape.p; rank++) {
        put_rank(r, passes, rank, lists, &j);
    }
    ty_json_end(&j);
    ty_json_end(&j);
    ty_text_bytes(t, "\n", 1);
}

static int write_json(const struct ty_sched_run *r, struct ty_text *t, struct ty_err *err)
{
    struct ty_sched_passes passes = {.ranks = NULL};
    const int rc = sched_passes_fill(&passes, r, err);
    if (rc == 0) {
        put_json(r, &passes, true, t);
    }
    ty_arena_release(&passes.arena);
    return rc;
}

static int show(const struct ty_sched_run *r, const struct ty_schedule_options *options,
                const char *format, struct ty_text *t, struct ty_err *err)
{
    if (strcmp(format, "gantt") == 0) {
        return write_gantt(r, options->width, t, err);
    }
    if (strcmp(format, "svg") == 0) {
        return ty_sched_svg(&r, 1, options, t, err);
    }
    if (strcmp(format, "csv") == 0) {
        return ty_slots_write_csv(&r->slots, t, err);
    }
    if (strcmp(format, "slots") == 0) {
        ty_slots_write_text(&r->slots, t);
        return 0;
    }
    return write_json(r, t, err);
}

static int check_format(const char *format, struct ty_err *err)
{
    const bool known = strcmp(format, "gantt") == 0 || strcmp(format, "svg") == 0 ||
                       strcmp(format, "slots") == 0 || strcmp(format, "csv") == 0 ||
                       strcmp(format, "json") == 0;
    return known ? 0
                 : ty_fail(err, TY_EUSAGE,
                           "--format %s: unknown; write gantt, svg, slots, csv, json or html",
                           format);
}

int ty_schedule_show(const struct ty_schedule_options *options, char **text, struct ty_err *err)
{
    const char *format = options->format != NULL ? options->format : "gantt";
    struct ty_sched_run run = {.sched = NULL};
    struct ty_text t = {.data = NULL};
    *text = NULL;
    int rc = check_format(format, err);
    if (rc == 0) {
        rc = ty_sched_run(&run, options, err);
    }
    if (rc == 0) {
        rc = show(&run, options, format, &t, err);
    }
    if (rc == 0) {
        *text = ty_text_take(&t);
        rc = *text != NULL ? 0 : ty_fail_memory(err);
    }
    ty_text_release(&t);
    ty_sched_run_release(&run);
    return rc;
}

static int make_passes(struct ty_sched_passes *passes, const struct ty_sched_run *run,
                       struct ty_err *err)
{
    struct ty_text t = {.data = NULL};
    int rc = sched_passes_fill(passes, run, err);
    if (rc == 0) {
        put_json(run, passes, false, &t);
        passes->public.figures = t.failed ? NULL : ty_arena_strndup(&passes->arena, t.data, t.len);
        rc = passes->public.figures != NULL ? 0 : ty_fail_memory(err);
    }
    ty_text_release(&t);
    return rc;
}

int ty_schedule_passes(const struct ty_schedule_options *options, bool shared,
                       struct ty_schedule_passes **out, struct ty_err *err)
{
    struct ty_sched_run run = {.sched = NULL};
    double pieces;
    *out = NULL;
    int rc = shared ? ty_sched_run_shared(&run, options, options->name, &pieces, err)
                    : ty_sched_run(&run, options, err);
    struct ty_sched_passes *passes = rc == 0 ? calloc(1, sizeof(*passes)) : NULL;
    if (rc == 0) {
        rc = passes != NULL ? make_passes(passes, &run, err) : ty_fail_memory(err);
    }
    ty_sched_run_release(&run);
    if (rc < 0) {
        ty_schedule_passes_free(passes != NULL ? &passes->public : NULL);
        return rc;
    }
    *out = &passes->public;
    return 0;
}

void ty_schedule_passes_free(struct ty_schedule_passes *public)
{
    if (public != NULL) {
        struct ty_sched_passes *passes = (struct ty_sched_passes *)(void *)public;
        ty_arena_release(&passes->arena);
        free(passes);
    }
}
