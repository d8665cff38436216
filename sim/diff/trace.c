/* trace.c - several runs as one timeline (sim/core/analyse/joined.h), for every trace format.
 *
 *     A rank 0   ########    run files' own jobs, all beginning at 0; ranks take turns: the first
 *     B rank 0   ######      that is shown of each run, the second of each, ...
 *     A rank 1    ########
 *     B rank 1    ######     Pictures have a panel for each run instead. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/core/analyse/joined.h"
#include "sim/diff/diff.h"
#include "sim/draw/trace.h"
#include "sim/run/figures.h"

#define META     8u
#define META_MAX (4 + TY_DIFF_RUNS_MAX * META)

/* Everything between the request and the writer. */
struct lanes {
    const struct ty_shown_run *runs;
    uint32_t n;
    struct ty_timeline all;
    struct ty_stats stats;
    struct ty_selection shown[TY_DIFF_RUNS_MAX]; /* ranks of each run, numbered within it */
    struct ty_svg_panel panel[TY_DIFF_RUNS_MAX];
    struct ty_meta meta[META_MAX];
    uint32_t n_meta;
    bool staged[TY_DIFF_RUNS_MAX]; /* of this run one rank of each stage is shown, unasked */
    char name[192], label[160];
    struct ty_arena arena;
};

/* ---- simulated or measured ---- */

static const struct ty_timeline *lanes_timeline(const struct lanes *l, uint32_t i)
{
    const struct ty_shown_run *run = &l->runs[i];
    return run->run != NULL ? &run->run->timeline : &run->recording->timeline;
}

static uint32_t n_ranks_of(const struct lanes *l, uint32_t i)
{
    const struct ty_shown_run *run = &l->runs[i];
    return run->run != NULL ? run->run->lowered.program.n_ranks : run->recording->n_ranks;
}

/* Of the i-th run: what is drawn of it, and whether it stopped halfway. */
static bool lanes_halted(const struct lanes *l, uint32_t i)
{
    return l->runs[i].run != NULL && ty_run_halted(l->runs[i].run);
}

/* The first run that is simulated; n: none is. */
static uint32_t first_simulated(const struct lanes *l)
{
    uint32_t i = 0;
    while (i < l->n && l->runs[i].run == NULL) {
        i++;
    }
    return i;
}

/* The first run that was measured; n: none was. */
static uint32_t first_measured(const struct lanes *l)
{
    uint32_t i = 0;
    while (i < l->n && l->runs[i].run != NULL) {
        i++;
    }
    return i;
}

/* What is not asked for is as the first run file says. */
static const struct ty_output_options *lanes_defaults(const struct lanes *l)
{
    static const struct ty_output_options none = {.trace_limit = 2e9, .detail = TY_DETAIL_LAYER};
    const uint32_t i = first_simulated(l);
    return i < l->n ? &l->runs[i].run->config->output : &none;
}

/* "A", or where one of two is measured, which of them this is. */
static const char *lanes_word(const struct lanes *l, uint32_t i, char buf[16])
{
    const bool both = l->n == 2 && (l->runs[0].run == NULL) != (l->runs[1].run == NULL);
    if (both) {
        return l->runs[i].run == NULL ? "measured" : "simulated";
    }
    snprintf(buf, 16, "%c%s", (char)('A' + i), l->runs[i].run == NULL ? " measured" : "");
    return buf;
}

/* ---- who is shown ---- */

/* Which run a rank of the whole is of; *rank becomes its number there. */
static uint32_t lanes_locate(const struct lanes *l, uint32_t *rank)
{
    uint32_t i = 0;
    while (i + 1 < l->n && *rank >= n_ranks_of(l, i)) {
        *rank -= n_ranks_of(l, i++);
    }
    return i;
}

static const char *lanes_rank_name(void *arg, uint32_t rank)
{
    struct lanes *l = arg;
    char name[160], word[16];
    const uint32_t i = lanes_locate(l, &rank);
    struct ty_trace_labels labels = {.run = l->runs[i].run};
    const struct ty_recording *r = l->runs[i].recording;
    if (r != NULL) {
        snprintf(name, sizeof(name), "rank %u", (unsigned)r->rank[rank]);
    } else if (l->staged[i]) {
        uint32_t coord[TY_N_AXES];
        ty_grid_coords(&l->runs[i].run->lowered.grid, rank, coord);
        snprintf(name, sizeof(name), "stage %u", (unsigned)coord[TY_AXIS_PIPELINE]);
    } else {
        snprintf(name, sizeof(name), "%s", ty_trace_rank_name(&labels, rank));
    }
    snprintf(l->name, sizeof(l->name), "%s %s", lanes_word(l, i, word), name);
    return l->name;
}

/* Of a struct ty_trace whose `arg` is the lanes. */
static const char *lanes_rank_label(void *arg, uint32_t rank)
{
    struct lanes *l = arg;
    const uint32_t i = lanes_locate(l, &rank);
    struct ty_trace_labels labels = {.run = l->runs[i].run};
    if (l->runs[i].recording != NULL) {
        const char *gpu = l->runs[i].recording->gpu[rank];
        return gpu[0] != '\0' ? gpu : "measured";
    }
    snprintf(l->label, sizeof(l->label), "%s", ty_trace_rank_label(&labels, rank));
    return l->label;
}

static bool grouped(const struct ty_trace_options *options)
{
    return options->order != NULL && strcmp(options->order, "run") == 0;
}

/* Of those, ranks of the run's own job that were measured, unless somebody chose. */
static int select_of(struct lanes *l, uint32_t i, const struct ty_trace_options *options,
                     const char *ranks, struct ty_err *err)
{
    const struct ty_run *run = l->runs[i].run;
    struct ty_selection *s = &l->shown[i];
    uint32_t n = 0;
    const int rc =
        ty_select_ranks(run, ranks, grouped(options) ? NULL : options->order, &l->arena, s, err);
    if (rc < 0) {
        ty_hint(err, "this is about %s", l->runs[i].name);
        return rc;
    }
    for (uint32_t k = 0; k < s->n; k++) {
        if (s->ranks[k] < n_ranks_of(l, i) &&
            (options->ranks != NULL ||
             ty_diff_was_measured(l->runs, l->n, n_ranks_of(l, i), s->ranks[k]))) {
            s->ranks[n++] = s->ranks[k];
        }
    }
    s->n = n;
    return 0;
}

/* Of a simulated run: unasked, one rank of each stage where a run file has stages. Where what is
 * shown by itself was not measured, all that was. */
static int select_simulated(struct lanes *l, uint32_t i, const struct ty_trace_options *options,
                            struct ty_err *err)
{
    const struct ty_config *config = l->runs[i].run->config;
    const char *ranks = options->ranks != NULL ? options->ranks : config->output.ranks;
    l->staged[i] = first_measured(l) == l->n && options->ranks == NULL && ranks[0] == '\0' &&
                   config->workload.job == NULL && l->runs[i].run->jobs == NULL;
    const int rc = select_of(l, i, options, l->staged[i] ? "one-per-stage" : ranks, err);
    return rc == 0 && l->shown[i].n == 0 && options->ranks == NULL
               ? select_of(l, i, options, "all", err)
               : rc;
}

/* Of a measured run: in the order of a simulated one of as many GPUs, else all. */
static int select_measured(struct lanes *l, uint32_t i, struct ty_err *err)
{
    const struct ty_recording *r = l->runs[i].recording;
    const uint32_t like = first_simulated(l);
    const bool same = like < l->n && r->world == n_ranks_of(l, like);
    struct ty_selection *s = &l->shown[i];
    *s =
        (struct ty_selection){.ranks = ty_arena_array(&l->arena, uint32_t, (size_t)r->n_ranks + 1)};
    if (s->ranks == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; same && k < l->shown[like].n; k++) {
        for (uint32_t m = 0; m < r->n_ranks; m++) {
            if (r->rank[m] == l->shown[like].ranks[k]) {
                s->ranks[s->n++] = m;
            }
        }
    }
    for (uint32_t m = 0; !same && m < r->n_ranks; m++) {
        s->ranks[s->n++] = m;
    }
    return 0;
}

/* Fills shown[]: 0, or TY_EUSAGE for ranks that a run does not have. */
static int lanes_select(struct lanes *l, const struct ty_trace_options *options, struct ty_err *err)
{
    int rc = 0;
    if (first_simulated(l) == l->n && options->ranks != NULL &&
        strcmp(options->ranks, "all") != 0) {
        return ty_fail(err, TY_EUSAGE,
                       "--ranks %s: profiles do not say who is who; compare with a run file, or "
                       "leave the other ranks' files out",
                       options->ranks);
    }
    for (uint32_t i = 0; i < l->n && rc == 0; i++) {
        rc = l->runs[i].run != NULL ? select_simulated(l, i, options, err) : 0;
    }
    for (uint32_t i = 0; i < l->n && rc == 0; i++) {
        rc = l->runs[i].run == NULL ? select_measured(l, i, err) : 0;
    }
    return rc;
}

/* The ranks of all runs as numbers of the whole, in display order. */
static int lanes_order(struct lanes *l, const struct ty_trace_options *options,
                       struct ty_trace *trace, struct ty_err *err)
{
    uint32_t first[TY_DIFF_RUNS_MAX] = {0}, total = 0, ranks = 0, longest = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        first[i] = ranks;
        ranks += n_ranks_of(l, i);
        total += l->shown[i].n;
        longest = l->shown[i].n > longest ? l->shown[i].n : longest;
    }
    uint32_t *order = ty_arena_array(&l->arena, uint32_t, (size_t)total + 1);
    if (order == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t k = 0; k < longest && !grouped(options); k++) {
        for (uint32_t i = 0; i < l->n; i++) {
            if (k < l->shown[i].n) {
                order[trace->n_ranks++] = first[i] + l->shown[i].ranks[k];
            }
        }
    }
    for (uint32_t i = 0; i < l->n && grouped(options); i++) {
        for (uint32_t k = 0; k < l->shown[i].n; k++) {
            order[trace->n_ranks++] = first[i] + l->shown[i].ranks[k];
        }
    }
    trace->ranks = order;
    return 0;
}

/* ---- the trace ---- */

/* ---- what is said of each ---- */

/* "run_b.step_time_us" */
static struct ty_meta *add_meta(struct lanes *l, uint32_t i, const char *key)
{
    struct ty_meta *meta = &l->meta[l->n_meta];
    meta->key = ty_arena_printf(&l->arena, "run_%c.%s", (char)('a' + i), key);
    l->n_meta += meta->key != NULL && l->n_meta + 1 < META_MAX;
    return meta;
}

static double step_s(const struct lanes *l, uint32_t i)
{
    return ty_s_from_ps(lanes_timeline(l, i)->makespan) / lanes_timeline(l, i)->program->n_steps;
}

static void describe(struct lanes *l, uint32_t i)
{
    const struct ty_run *run = l->runs[i].run;
    struct ty_figures f;
    add_meta(l, i, "name")->text = ty_path_shown(l->runs[i].name);
    if (run == NULL) {
        add_meta(l, i, "measured")->flag = true;
        add_meta(l, i, "steps")->number = lanes_timeline(l, i)->program->n_steps;
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

static void describe_all(struct lanes *l, struct ty_trace *trace)
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
static const char *remark(struct lanes *l, uint32_t i)
{
    char time[64];
    if (i == 0 || lanes_halted(l, 0) || lanes_halted(l, i)) {
        return NULL;
    }
    const double first = step_s(l, 0), change = step_s(l, i) - first;
    const bool steps =
        lanes_timeline(l, 0)->program->n_steps + lanes_timeline(l, i)->program->n_steps > 2;
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
static const char *difference(struct lanes *l, uint32_t i)
{
    const double first = ty_s_from_ps(lanes_timeline(l, 0)->makespan);
    const double change = ty_s_from_ps(lanes_timeline(l, i)->makespan) - first;
    char time[64];
    const bool steps =
        lanes_timeline(l, 0)->program->n_steps != lanes_timeline(l, i)->program->n_steps;
    if (i == 0 || steps || lanes_halted(l, 0) || lanes_halted(l, i) ||
        fabs(change) < 1e-6 * first) {
        return NULL;
    }
    return ty_arena_printf(&l->arena, "%s%s", change < 0 ? "−" : "+",
                           ty_words_seconds(fabs(change), time, sizeof(time)));
}

static void add_panels(struct lanes *l, struct ty_trace *trace)
{
    /* what is shown of a window says nothing of how long the runs are */
    const bool whole = trace->window_from == 0 && trace->window_to == UINT64_MAX;
    for (uint32_t i = 0; i < l->n; i++) {
        l->panel[i] = (struct ty_svg_panel){
            .timeline = lanes_timeline(l, i),
            .ranks = l->shown[i].ranks,
            .n_ranks = l->shown[i].n,
            .title = ty_arena_printf(&l->arena, "%c  %s%s", (char)('A' + i),
                                     ty_path_shown(l->runs[i].name),
                                     l->runs[i].run == NULL ? " (measured)" : ""),
            .remark = whole ? remark(l, i) : NULL,
            .difference = whole ? difference(l, i) : NULL};
    }
    trace->panels = l->panel;
    trace->n_panels = l->n;
}

/* ---- the request ---- */

/* "2-3" of every run: from when the first of them begins these steps to when the last ends them. */
static int find_steps(const struct lanes *l, const char *steps, struct ty_trace *trace,
                      struct ty_err *err)
{
    ty_ps from = UINT64_MAX, to = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        ty_ps begins = 0, ends = UINT64_MAX;
        const struct ty_run *run = l->runs[i].run;
        const int rc =
            run != NULL ? ty_trace_run_steps(run, steps, &begins, &ends, err)
                        : ty_trace_measured_steps(lanes_timeline(l, i), steps, &begins, &ends, err);
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

static int read_options(struct lanes *l, const struct ty_trace_options *options,
                        struct ty_trace *trace, struct ty_err *err)
{
    int rc = ty_trace_read_options(options, lanes_defaults(l), trace, err);
    if (rc == 0 && options->steps != NULL) {
        rc = find_steps(l, options->steps, trace, err);
    }
    return rc < 0 ? rc : lanes_select(l, options, err);
}

/* The k-th rank of each run; a format that stands for one job alone is refused. */
static int read_request(struct lanes *l, const char *target, const struct ty_trace_options *options,
                        struct ty_trace *trace, const struct ty_trace_format **format,
                        const char **path, struct ty_err *err)
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
    struct lanes other = *(const struct lanes *)arg;
    other.arena = *arena;
    trace->n_ranks = 0;
    int rc = read_options(&other, options, trace, err);
    if (rc == 0) {
        rc = lanes_order(&other, options, trace, err);
    }
    *arena = other.arena;
    return rc;
}

/* With as many steps as the shortest run has: more cannot be asked for. */
static struct ty_trace_asked asked_of(const struct lanes *l)
{
    uint32_t n_steps = UINT32_MAX;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct ty_run *run = l->runs[i].run;
        const uint32_t n =
            run != NULL ? run->lowered.program.n_steps : lanes_timeline(l, i)->program->n_steps;
        n_steps = n < n_steps ? n : n_steps;
    }
    return (struct ty_trace_asked){.request = request_again,
                                   .arg = l,
                                   .n_steps = n_steps,
                                   .limit = lanes_defaults(l)->trace_limit};
}

static const double *capacities(struct lanes *l)
{
    const uint32_t n = l->all.program->n_ranks;
    double *bytes = ty_arena_array(&l->arena, double, (size_t)n + 1);
    for (uint32_t r = 0; bytes != NULL && r < n; r++) {
        uint32_t rank = r;
        const uint32_t i = lanes_locate(l, &rank);
        bytes[r] = l->runs[i].run != NULL ? ty_run_capacity(l->runs[i].run, rank) : HUGE_VAL;
    }
    return bytes;
}

static int put_beside(struct lanes *l, struct ty_trace *trace, struct ty_err *err)
{
    struct ty_beside_part parts[TY_DIFF_RUNS_MAX];
    for (uint32_t i = 0; i < l->n; i++) {
        char word[16];
        parts[i].name = ty_arena_printf(&l->arena, "%s", lanes_word(l, i, word));
        parts[i].timeline = lanes_timeline(l, i);
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

static char *make_note(const struct lanes *l, const struct ty_trace *trace,
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

static int write_trace(struct lanes *l, const char *target, const struct ty_trace_options *options,
                       char **note, struct ty_err *err)
{
    const struct ty_trace_format *format = NULL;
    const char *path = NULL;
    struct ty_trace trace = {
        .rank_name = lanes_rank_name, .rank_label = lanes_rank_label, .arg = l};
    uint64_t bytes = 0;
    int rc = read_request(l, target, options, &trace, &format, &path, err);
    if (rc == 0) {
        rc = put_beside(l, &trace, err);
    }
    if (rc == 0) {
        rc = ty_trace_check_window(options->window, trace.window_from, l->all.makespan, err);
    }
    if (rc == 0) {
        rc = lanes_order(l, options, &trace, err);
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

int ty_diff_trace_check(const struct ty_shown_run *runs, size_t n, const char *target,
                        const struct ty_trace_options *options, struct ty_err *err)
{
    const struct ty_trace_format *format;
    const char *path;
    struct lanes l = {.runs = runs, .n = (uint32_t)n};
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

int ty_diff_trace(const struct ty_shown_run *runs, size_t n, const char *target,
                  const struct ty_trace_options *options, char **note, struct ty_err *err)
{
    struct lanes l = {.runs = runs, .n = (uint32_t)n};
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
