/* trace.c - several runs as one timeline (sim/core/analyse/beside.h), for every trace format.
 *
 *     A rank 0   ########    run files' own jobs, all beginning at 0; ranks take turns: the first
 *     B rank 0   ######      that is shown of each run, the second of each, ...
 *     A rank 1    ########
 *     B rank 1    ######     Pictures have a panel for each run instead. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/core/analyse/beside.h"
#include "sim/diff/diff.h"
#include "sim/diff/lanes.h"
#include "sim/run/figures.h"

/* ---- what is said of each ---- */

/* "run_b.step_time_us" */
static struct ty_meta *add_meta(struct ty_lanes *l, uint32_t i, const char *key)
{
    struct ty_meta *meta = &l->meta[l->n_meta];
    meta->key = ty_arena_printf(&l->arena, "run_%c.%s", (char)('a' + i), key);
    l->n_meta += meta->key != NULL && l->n_meta + 1 < TY_LANES_META_MAX;
    return meta;
}

static double step_s(const struct ty_lanes *l, uint32_t i)
{
    return ty_s_from_ps(ty_lanes_timeline(l, i)->makespan) /
           ty_lanes_timeline(l, i)->program->n_steps;
}

static void describe(struct ty_lanes *l, uint32_t i)
{
    const struct ty_run *run = l->runs[i].run;
    struct ty_figures f;
    add_meta(l, i, "name")->text = l->runs[i].name;
    if (run == NULL) {
        add_meta(l, i, "measured")->flag = true;
        add_meta(l, i, "steps")->number = ty_lanes_timeline(l, i)->program->n_steps;
        add_meta(l, i, "step_time_us")->number = step_s(l, i) * 1e6;
        return;
    }
    add_meta(l, i, "schedule")->text = ty_sched_of(&run->config->schedule)->name;
    add_meta(l, i, "model")->text = run->config->arch.name;
    add_meta(l, i, "steps")->number = run->lowered.program.n_steps;
    if (ty_run_halted(run)) {
        add_meta(l, i, "incomplete")->flag = true;
        return;
    }
    ty_run_figures(run, &f);
    add_meta(l, i, "step_time_us")->number = f.step_s * 1e6;
    add_meta(l, i, "bubble_fraction")->number = f.bubble_fraction;
    add_meta(l, i, "mfu_palm")->number = f.mfu;
}

static void describe_all(struct ty_lanes *l, struct ty_trace *trace)
{
    l->meta[l->n_meta++] = (struct ty_meta){.key = "generator", .text = "trainyard"};
    l->meta[l->n_meta++] = (struct ty_meta){.key = "version", .text = TRAINYARD_VERSION};
    l->meta[l->n_meta++] = (struct ty_meta){.key = "runs", .number = l->n};
    for (uint32_t i = 0; i < l->n; i++) {
        describe(l, i);
    }
    trace->meta = l->meta;
    trace->n_meta = l->n_meta;
}

/* "−134 ms, −10.9 %", of a step against the first run; NULL: that is it, or one of them stopped. */
static const char *remark(struct ty_lanes *l, uint32_t i)
{
    char time[64];
    if (i == 0 || ty_lanes_halted(l, 0) || ty_lanes_halted(l, i)) {
        return NULL;
    }
    const double first = step_s(l, 0), change = step_s(l, i) - first;
    const bool steps =
        ty_lanes_timeline(l, 0)->program->n_steps + ty_lanes_timeline(l, i)->program->n_steps > 2;
    if (fabs(change) < 1e-6 * first) {
        return "as long";
    }
    const char *sign = change < 0 ? "−" : "+";
    const double size = fabs(change);
    return ty_arena_printf(&l->arena, "%s%s, %s%.1f %%%s", sign,
                           ty_words_seconds(size, time, sizeof(time)), sign, 100 * size / first,
                           steps ? " a step" : "");
}

/* "−134 ms" of the whole runs; NULL as above, and where they have different numbers of steps. */
static const char *difference(struct ty_lanes *l, uint32_t i)
{
    const double first = ty_s_from_ps(ty_lanes_timeline(l, 0)->makespan);
    const double change = ty_s_from_ps(ty_lanes_timeline(l, i)->makespan) - first;
    char time[64];
    const bool steps =
        ty_lanes_timeline(l, 0)->program->n_steps != ty_lanes_timeline(l, i)->program->n_steps;
    if (i == 0 || steps || ty_lanes_halted(l, 0) || ty_lanes_halted(l, i) ||
        fabs(change) < 1e-6 * first) {
        return NULL;
    }
    return ty_arena_printf(&l->arena, "%s%s", change < 0 ? "−" : "+",
                           ty_words_seconds(fabs(change), time, sizeof(time)));
}

static void add_panels(struct ty_lanes *l, struct ty_trace *trace)
{
    /* what is shown of a window says nothing of how long the runs are */
    const bool whole = trace->window_from == 0 && trace->window_to == UINT64_MAX;
    for (uint32_t i = 0; i < l->n; i++) {
        l->panel[i] = (struct ty_svg_panel){
            .timeline = ty_lanes_timeline(l, i),
            .ranks = l->shown[i].ranks,
            .n_ranks = l->shown[i].n,
            .title = ty_arena_printf(&l->arena, "%c  %s%s", (char)('A' + i), l->runs[i].name,
                                     l->runs[i].run == NULL ? " (measured)" : ""),
            .remark = whole ? remark(l, i) : NULL,
            .difference = whole ? difference(l, i) : NULL};
    }
    trace->panels = l->panel;
    trace->n_panels = l->n;
}

/* ---- the request ---- */

/* "2-3" of every run: from when the first of them begins these steps to when the last ends them. */
static int find_steps(const struct ty_lanes *l, const char *steps, struct ty_trace *trace,
                      struct ty_err *err)
{
    ty_ps from = UINT64_MAX, to = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        ty_ps begins = 0, ends = UINT64_MAX;
        const struct ty_run *run = l->runs[i].run;
        const int rc = run != NULL ? ty_trace_run_steps(run, steps, &begins, &ends, err)
                                   : ty_trace_measured_steps(ty_lanes_timeline(l, i), steps,
                                                             &begins, &ends, err);
        if (rc < 0) {
            ty_hint(err, "this is about %s", l->runs[i].name);
            return rc;
        }
        from = begins < from ? begins : from;
        to = ends > to ? ends : to;
    }
    trace->window_from = from;
    trace->window_to = to;
    return 0;
}

static int read_options(struct ty_lanes *l, const struct ty_trace_options *options,
                        struct ty_trace *trace, struct ty_err *err)
{
    int rc = ty_trace_read_options(options, ty_lanes_defaults(l), trace, err);
    if (rc == 0 && options->steps != NULL) {
        rc = find_steps(l, options->steps, trace, err);
    }
    return rc < 0 ? rc : ty_lanes_select(l, options, err);
}

/* The k-th rank of each run; a format that stands for one job alone is refused. */
static int read_request(struct ty_lanes *l, const char *target,
                        const struct ty_trace_options *options, struct ty_trace *trace,
                        const struct ty_trace_format **format, const char **path,
                        struct ty_err *err)
{
    int rc = target == NULL ? 0 : ty_trace_target("--trace", target, format, path, err);
    if (rc == 0 && target != NULL && (*format)->per_rank) {
        return ty_fail(err, TY_EUSAGE,
                       "--trace %s: %s readers take all files of a folder for one run; write each "
                       "run by itself (trainyard run), or both as chrome:FILE",
                       target, (*format)->name);
    }
    return rc < 0 ? rc : read_options(l, options, trace, err);
}

/* The same runs with other options, for what would make the file smaller. */
static int request_again(const void *arg, const struct ty_trace_options *options,
                         struct ty_arena *arena, struct ty_trace *trace, struct ty_err *err)
{
    struct ty_lanes other = *(const struct ty_lanes *)arg;
    other.arena = *arena;
    trace->n_ranks = 0;
    int rc = read_options(&other, options, trace, err);
    if (rc == 0) {
        rc = ty_lanes_order(&other, options, trace, err);
    }
    *arena = other.arena;
    return rc;
}

/* With as many steps as the shortest run has: more cannot be asked for. */
static struct ty_trace_asked asked_of(const struct ty_lanes *l)
{
    uint32_t n_steps = UINT32_MAX;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct ty_run *run = l->runs[i].run;
        const uint32_t n =
            run != NULL ? run->lowered.program.n_steps : ty_lanes_timeline(l, i)->program->n_steps;
        n_steps = n < n_steps ? n : n_steps;
    }
    return (struct ty_trace_asked){.request = request_again,
                                   .arg = l,
                                   .n_steps = n_steps,
                                   .limit = ty_lanes_defaults(l)->trace_limit};
}

static const double *capacities(struct ty_lanes *l)
{
    const uint32_t n = l->all.program->n_ranks;
    double *bytes = ty_arena_array(&l->arena, double, (size_t)n + 1);
    for (uint32_t r = 0; bytes != NULL && r < n; r++) {
        uint32_t rank = r;
        const uint32_t i = ty_lanes_locate(l, &rank);
        bytes[r] = l->runs[i].run != NULL ? ty_run_capacity(l->runs[i].run, rank) : HUGE_VAL;
    }
    return bytes;
}

static int put_beside(struct ty_lanes *l, struct ty_trace *trace, struct ty_err *err)
{
    struct ty_beside_part parts[TY_DIFF_RUNS_MAX];
    for (uint32_t i = 0; i < l->n; i++) {
        char word[16];
        parts[i].name = ty_arena_printf(&l->arena, "%s", ty_lanes_word(l, i, word));
        parts[i].timeline = ty_lanes_timeline(l, i);
        if (parts[i].name == NULL) {
            return ty_fail_memory(err);
        }
    }
    int rc = ty_timeline_beside(&l->all, parts, l->n, &l->arena, err);
    if (rc == 0) {
        rc = ty_stats_compute(&l->stats, &l->all, &l->arena, err);
    }
    if (rc < 0) {
        return rc;
    }
    trace->timeline = &l->all;
    trace->stats = &l->stats;
    trace->capacity_B = capacities(l);
    return trace->capacity_B != NULL ? 0 : ty_fail_memory(err);
}

static char *make_note(const struct ty_lanes *l, const struct ty_trace *trace,
                       const struct ty_trace_format *format, const char *path, uint64_t bytes)
{
    struct ty_text t = {.data = NULL};
    char size[64];
    bool by_rule = false;
    for (uint32_t i = 0; i < l->n; i++) {
        by_rule = by_rule || l->shown[i].by_rule;
    }
    if (strcmp(path, "-") == 0) {
        return NULL;
    }
    ty_text_add(&t, "%s trace: %s (%s, %u runs%s", format->name, path,
                ty_words_bytes((double)bytes, size, sizeof(size)), (unsigned)l->n,
                l->all.halt != NULL ? "; incomplete: what ran before the deadlock" : "");
    if (by_rule) {
        ty_text_add(&t, "; %u of %u ranks: replica dp=0, choose others with --ranks",
                    (unsigned)trace->n_ranks, (unsigned)l->all.program->n_ranks);
    }
    ty_text_add(&t, ")");
    return ty_text_take(&t);
}

static int write_trace(struct ty_lanes *l, const char *target,
                       const struct ty_trace_options *options, char **note, struct ty_err *err)
{
    const struct ty_trace_format *format = NULL;
    const char *path = NULL;
    struct ty_trace trace = {
        .rank_name = ty_lanes_rank_name, .rank_label = ty_lanes_rank_label, .arg = l};
    uint64_t bytes = 0;
    int rc = read_request(l, target, options, &trace, &format, &path, err);
    if (rc == 0) {
        rc = put_beside(l, &trace, err);
    }
    if (rc == 0) {
        rc = ty_trace_check_window(options->window, trace.window_from, l->all.makespan, err);
    }
    if (rc == 0) {
        rc = ty_lanes_order(l, options, &trace, err);
    }
    if (rc < 0) {
        return rc;
    }
    describe_all(l, &trace);
    add_panels(l, &trace);
    trace.progress = options->progress;
    trace.progress_arg = options->progress_arg;
    const struct ty_trace_asked asked = asked_of(l);
    rc = ty_trace_check_size(&asked, format, &trace, options, err);
    if (rc == 0) {
        rc = ty_trace_write(format, &trace, path, options->stop, &bytes, err);
    }
    if (rc == 0 && note != NULL) {
        *note = make_note(l, &trace, format, path, bytes);
    }
    return rc;
}

int ty_diff_trace_check(const struct ty_diff_run *runs, size_t n, const char *target,
                        const struct ty_trace_options *options, struct ty_err *err)
{
    const struct ty_trace_format *format;
    const char *path;
    struct ty_lanes l = {.runs = runs, .n = (uint32_t)n};
    struct ty_trace trace = {.n_ranks = 0};
    if (n > TY_DIFF_RUNS_MAX) {
        return ty_fail(err, TY_EUSAGE, "a trace shows up to %u runs", TY_DIFF_RUNS_MAX);
    }
    options = options != NULL ? options : &ty_trace_no_options;
    int rc = read_request(&l, target, options, &trace, &format, &path, err);
    if (rc == 0 && target != NULL) {
        rc = ty_trace_write_check(format, &trace, path, err);
    }
    ty_arena_release(&l.arena);
    return rc;
}

int ty_diff_trace(const struct ty_diff_run *runs, size_t n, const char *target,
                  const struct ty_trace_options *options, char **note, struct ty_err *err)
{
    struct ty_lanes l = {.runs = runs, .n = (uint32_t)n};
    if (note != NULL) {
        *note = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const struct ty_run *run = runs[i].run;
        if (n > TY_DIFF_RUNS_MAX) {
            return ty_fail(err, TY_EUSAGE, "a trace is of up to %u runs", TY_DIFF_RUNS_MAX);
        }
        const int rc = run != NULL ? ty_run_check_ranks(run, "a trace", true, err) : 0;
        if (rc < 0) {
            return rc;
        }
    }
    options = options != NULL ? options : &ty_trace_no_options;
    const int rc = write_trace(&l, target, options, note, err);
    ty_timeline_release(&l.all);
    ty_arena_release(&l.arena);
    return rc;
}
