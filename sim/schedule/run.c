/* run.c - options of `trainyard schedule` to an executed program. */
#include "sim/schedule/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/orders/text.h"
#include "sim/base/file.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/core/deadlock/mismatch.h"
#include "sim/core/execute/execute.h"
#include "sim/run/limits.h"

/* ---- reading ---- */

static int find_schedule(const char *name, const struct ty_sched **out, struct ty_err *err)
{
    const char *names[32] = {NULL};
    size_t n = 0;
    for (; n < TY_COUNT(names) && ty_schedules[n] != NULL; n++) {
        names[n] = ty_schedules[n]->name;
    }
    *out = ty_sched_find(name);
    if (*out != NULL) {
        return 0;
    }
    ty_fail(err, TY_EUSAGE, "unknown schedule (%s); \"trainyard list schedules\" shows all", name);
    const char *near = ty_nearest(name, names, n);
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

static int sizes_missing(const struct ty_schedule_options *o, struct ty_err *err)
{
    const char *what = "-p and -m are missing; write how many pipeline ranks and micro-batches, "
                       "such as -p 4 -m 8";
    if (o->micro_batches != 0) {
        what = "-p is missing; write how many pipeline ranks, such as -p 4";
    } else if (o->pipeline != 0) {
        what = "-m is missing; write how many micro-batches, such as -m 8";
    }
    return ty_fail(err, TY_EUSAGE, "%s", what);
}

/* Micro-batches are numbered in 16 bits. */
static int check_shape(const struct ty_schedule_options *o, struct ty_err *err)
{
    if (o->pipeline == 0 || o->micro_batches == 0) {
        return sizes_missing(o, err);
    }
    if (o->pipeline > 4096) {
        return ty_fail(err, TY_EUSAGE, "-p %u: too many pipeline ranks; write 1 to 4096",
                       (unsigned)o->pipeline);
    }
    if (o->micro_batches > 65535) {
        return ty_fail(err, TY_EUSAGE, "-m %u: too many micro-batches; write 1 to 65535",
                       (unsigned)o->micro_batches);
    }
    if (o->chunks > 64) {
        return ty_fail(err, TY_EUSAGE, "-v %u: too many virtual stages per rank; write 1 to 64",
                       (unsigned)o->chunks);
    }
    if (o->slices > 255) {
        return ty_fail(err, TY_EUSAGE, "--slices %u: too many slices of a sequence; write 1 to 255",
                       (unsigned)o->slices);
    }
    return 0;
}

/* ---- memory ---- */

/* A slot, its pass and what is shown of it; the times of a computation and of both ends of a
 * message, and when this arrives. A weight gradient has no message. */
#define SHOWN_B  24.0
#define WEIGHT_B (sizeof(struct ty_slot) + sizeof(struct ty_pass) + SHOWN_B + sizeof(ty_ps))
#define PIECE_B  (2 * (WEIGHT_B + 3 * sizeof(ty_ps))) /* a forward and a backward */
#define LARGE_B  (256.0 * 1024 * 1024)

static struct ty_sched_shape shape_of(const struct ty_schedule_options *o,
                                      const struct ty_sched *sched)
{
    return (struct ty_sched_shape){.p = o->pipeline,
                                   .m = o->micro_batches,
                                   .v = ty_sched_chunks_of(sched, o->chunks),
                                   .group = o->group,
                                   .slices = ty_sched_slices_of(sched, o->slices)};
}

static double pieces_of(const struct ty_sched_shape *s)
{
    return (double)s->p * s->m * s->v * s->slices;
}

/* `weights`: separate weight gradients. */
static int check_memory(const struct ty_sched_run *r, double weights, struct ty_err *err)
{
    const double pieces = pieces_of(&r->shape);
    char what[96], count[64];
    (void)snprintf(what, sizeof(what), "%s of %s forward passes", r->name,
                   ty_words_count(pieces, count, sizeof(count)));
    return ty_limit_check(NULL, what, pieces * PIECE_B + weights * WEIGHT_B, 0,
                          "take fewer micro-batches (-m), ranks (-p) or chunks (-v)", err);
}

int ty_schedule_advice(const struct ty_schedule_options *o, char **advice, struct ty_err *err)
{
    const struct ty_sched *sched = ty_sched_find(o->name);
    char count[64], size[64];
    struct ty_text t = {.data = NULL};
    *advice = NULL;
    if (sched == NULL) { /* a file is as large as it is */
        return 0;
    }
    const struct ty_sched_shape shape = shape_of(o, sched);
    const double pieces = pieces_of(&shape), need = pieces * PIECE_B;
    if (need <= LARGE_B) {
        return 0;
    }
    ty_text_add(&t, "%s of %s forward passes takes about %s or more", sched->name,
                ty_words_count(pieces, count, sizeof(count)),
                ty_words_bytes(need, size, sizeof(size)));
    *advice = ty_text_take(&t);
    return *advice != NULL ? 0 : ty_fail_memory(err);
}

/* ---- execution ---- */

static ty_ps to_ps(double units)
{
    return (ty_ps)llround(units * TY_SCHED_UNIT_PS);
}

/* Durations of unequal stages: factors[n] of those that all have. */
static int stretch(struct ty_sched_run *r, const double *factors, uint32_t n,
                   struct ty_sched_durations *d, struct ty_err *err)
{
    const double whole[TY_N_PHASES] = {[TY_PHASE_FORWARD] = r->times.forward,
                                       [TY_PHASE_BACKWARD] = r->times.backward,
                                       [TY_PHASE_DGRAD] = r->times.input,
                                       [TY_PHASE_WGRAD] = r->times.weight};
    for (int phase = 0; phase < TY_N_PHASES; phase++) {
        ty_ps *own = ty_arena_array(&r->arena, ty_ps, n);
        if (own == NULL) {
            return ty_fail_memory(err);
        }
        for (uint32_t i = 0; i < n; i++) {
            own[i] = to_ps(whole[phase] * factors[i]);
        }
        d->of_stage[phase] = own;
    }
    return 0;
}

/* --stages into the durations. */
static int read_stages(struct ty_sched_run *r, const char *text, bool shared,
                       struct ty_sched_durations *d, struct ty_err *err)
{
    const uint32_t n = ty_sched_stages(&r->shape);
    double *factors;
    const int rc = ty_sched_factors_read("--stages", text, n, shared, &r->arena, &factors, err);
    if (rc < 0) {
        return rc;
    }
    if (d->overlap != UINT64_MAX) {
        return ty_fail(err, TY_EUSAGE,
                       "--stages with FB= in --times: an overlapped slot has one duration then; "
                       "leave out one of the two");
    }
    return stretch(r, factors, n, d, err);
}

static int execute(struct ty_sched_run *r, const char *stages, bool shared, struct ty_err *err)
{
    const struct ty_sched_times *t = &r->times;
    struct ty_sched_durations d = {
        .forward = to_ps(t->forward),
        .backward = to_ps(t->backward),
        .input = to_ps(t->input),
        .weight = to_ps(t->weight),
        .overlap = t->overlap < 0 ? UINT64_MAX : to_ps(t->overlap),
        .edge = to_ps(t->edge),
    };
    int rc = stages != NULL ? read_stages(r, stages, shared, &d, err) : 0;
    if (rc == 0) {
        rc = ty_sched_program_of(&r->program, r->placement, &r->shape, &r->slots, &d, &r->arena,
                                 err);
    }
    if (rc == 0) {
        rc = ty_timeline_init(&r->timeline, &r->program, err);
    }
    struct ty_mismatch mismatch;
    if (rc == 0 && r->sched == NULL) { /* a file may have messages in different orders */
        rc = ty_mismatch_find(&mismatch, &r->program, &r->arena, err);
        r->timeline.mismatch = &mismatch;
    }
    if (rc == 0) {
        rc = ty_sweep(&r->timeline, err);
    }
    r->timeline.mismatch = NULL;
    return rc == 0 ? ty_stats_compute(&r->stats, &r->timeline, &r->arena, err) : rc;
}

/* Passes of a piece take their share; the delay of a message stays. */
static void divide(struct ty_sched_times *t, double pieces)
{
    t->forward /= pieces;
    t->backward /= pieces;
    t->input /= pieces;
    t->weight /= pieces;
    t->overlap /= pieces;
}

/* A name that is a file's, and no schedule's. */
static bool is_file(const char *name)
{
    return ty_sched_find(name) == NULL && (strcmp(name, "-") == 0 || strchr(name, '/') != NULL ||
                                           strchr(name, '.') != NULL || access(name, R_OK) == 0);
}

/* Orders of the user's own; sizes are what the file says. */
static int read_file(struct ty_sched_run *r, const struct ty_schedule_options *o,
                     struct ty_err *err)
{
    const char *text = o->text;
    size_t len = text != NULL ? strlen(text) : 0;
    struct ty_slots_file file;
    int rc =
        text != NULL ? 0 : ty_file_read(&r->arena, o->name, TY_SLOTS_MAX_BYTES, &text, &len, err);
    if (rc == 0) {
        rc = ty_slots_read(&file, o->name, text, len, &r->arena, err);
    }
    if (rc == 0) {
        rc = ty_slots_check_between(file.placement, &file.shape, &file.slots, &file.marks, err);
    }
    if (rc < 0) {
        return rc;
    }
    for (uint32_t i = 0; i < file.slots.p; i++) {
        if (file.slots.rank[i].n_colls > 0) {
            return ty_fail(err, TY_EINPUT,
                           "%s: rank %u issues collectives, which take no time that `schedule` "
                           "knows; leave them out, or use `trainyard run`",
                           o->name, (unsigned)i);
        }
    }
    r->name = ty_arena_strndup(&r->arena, o->name, strlen(o->name));
    r->placement = file.placement;
    r->shape = file.shape;
    r->slots = file.slots;
    if (r->name == NULL) {
        return ty_fail_memory(err);
    }
    if ((o->pipeline != 0 && o->pipeline != r->shape.p) ||
        (o->micro_batches != 0 && o->micro_batches != r->shape.m)) {
        return ty_fail(err, TY_EUSAGE, "%s has %u ranks and %u micro-batches; leave out -p and -m",
                       o->name, (unsigned)r->shape.p, (unsigned)r->shape.m);
    }
    return 0;
}

static int generate(struct ty_sched_run *r, const struct ty_schedule_options *o, struct ty_err *err)
{
    int rc = check_shape(o, err);
    if (rc == 0) {
        rc = find_schedule(o->name, &r->sched, err);
    }
    if (rc < 0) {
        return rc;
    }
    r->name = r->sched->name;
    r->placement = r->sched->placement;
    r->shape = shape_of(o, r->sched);
    rc = check_memory(r, 0, err);
    if (rc == 0) {
        rc = ty_sched_slots(r->sched, &r->shape, &r->times, &r->slots, &r->arena, err);
    }
    double slots = 0;
    for (uint32_t rank = 0; rc == 0 && rank < r->shape.p; rank++) {
        slots += r->slots.rank[rank].n;
    }
    return rc == 0 ? check_memory(r, slots - 2 * pieces_of(&r->shape), err) : rc;
}

static int run_pieces(struct ty_sched_run *r, const struct ty_schedule_options *o, double pieces,
                      bool shared, struct ty_err *err)
{
    *r = (struct ty_sched_run){.sched = NULL};
    int rc = ty_sched_times_read("--times", o->times, &r->times, err);
    divide(&r->times, pieces);
    if (rc == 0) {
        rc = o->text != NULL || is_file(o->name) ? read_file(r, o, err) : generate(r, o, err);
    }
    return rc == 0 ? execute(r, o->stages, shared, err) : rc;
}

int ty_sched_run(struct ty_sched_run *r, const struct ty_schedule_options *o, struct ty_err *err)
{
    return run_pieces(r, o, 1, false, err);
}

/* The chunks and slices that were given are of those schedules that can have them. */
int ty_sched_run_shared(struct ty_sched_run *r, const struct ty_schedule_options *o,
                        const char *name, double *pieces, struct ty_err *err)
{
    struct ty_schedule_options own = *o;
    const struct ty_sched *sched = ty_sched_find(name);
    own.name = name;
    if (sched == NULL) { /* a file: its times are of one virtual stage */
        own.chunks = own.slices = 1;
    } else {
        own.chunks = ty_sched_chunks_of(sched, sched->chunks > 0 ? 0 : o->chunks);
        own.slices = ty_sched_slices_of(sched, sched->sliced ? o->slices : 0);
    }
    *pieces = (double)own.chunks * own.slices;
    return run_pieces(r, &own, *pieces, true, err);
}

void ty_sched_run_release(struct ty_sched_run *r)
{
    ty_timeline_release(&r->timeline);
    ty_arena_release(&r->arena);
}

/* ---- summary ---- */

/* A ratio; nothing over nothing is nothing. */
static double over(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void add_rank(const struct ty_sched_run *r, uint32_t rank, struct ty_sched_summary *s)
{
    struct ty_span_cursor cursor = ty_spans_of(&r->timeline, rank);
    struct ty_span span;
    ty_ps first = UINT64_MAX, last = 0, busy = 0;
    while (ty_span_next(&cursor, &span)) {
        if (span.op->stream == TY_STREAM_COMPUTE) {
            first = span.start < first ? span.start : first;
            last = span.start + span.dur;
            busy += span.dur;
        }
        s->messages += span.op->sync == TY_SYNC_SEND;
    }
    s->busy += ty_sched_units(busy) / r->shape.p;
    if (first < last && ty_sched_units(last - first) > s->max_rank_span) {
        s->max_rank_span = ty_sched_units(last - first);
    }
    const struct ty_rank_slots *slots = &r->slots.rank[rank];
    const uint32_t input = ty_slots_peak(slots, TY_PHASE_DGRAD);
    const uint32_t weight = ty_slots_peak(slots, TY_PHASE_WGRAD);
    const uint32_t copies = r->sched != NULL && r->sched->weight_copies != NULL
                                ? r->sched->weight_copies(&r->shape, rank)
                                : 1;
    s->peak_input = input > s->peak_input ? input : s->peak_input;
    s->peak_weight = weight > s->peak_weight ? weight : s->peak_weight;
    s->weight_copies = copies > s->weight_copies ? copies : s->weight_copies;
}

void ty_sched_summarise(const struct ty_sched_run *r, struct ty_sched_summary *s)
{
    *s = (struct ty_sched_summary){.makespan = ty_sched_units(r->timeline.makespan)};
    for (uint32_t rank = 0; rank < r->shape.p; rank++) {
        add_rank(r, rank, s);
    }
    s->bubble_fraction = over(s->makespan - s->busy, s->makespan);
    s->bubble_over_ideal = over(s->makespan - s->busy, s->busy);
    if (r->sched != NULL && r->sched->makespan != NULL) {
        s->formula = r->sched->makespan(&r->shape, &r->times);
        s->in_domain = r->sched->in_domain == NULL || r->sched->in_domain(&r->shape, &r->times);
        s->holds = fabs(s->formula - s->makespan) <= 1e-9 * s->makespan;
    }
}
