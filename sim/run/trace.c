/* trace.c - a run handed to a trace writer: labels, metadata, selection, size limit. What was issued
 * of a run that deadlocked is one, too, and says so. */
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "sim/run/gpus.h"
#include "sim/run/links.h"
#include "sim/run/select.h"
#include "sim/run/together.h"
#include "sim/run/words.h"
#include "traces/writer.h"

/* ---- labels ---- */

struct labels {
    const struct ty_run *run;
    char name[128], label[128];
};

/* "rank 12 · pp1 dp0 tp4 · node1/gpu4": coordinates in the order a person looks for them; ranks of
 * other jobs have the name of the job before and count within it */
static const char *rank_name(void *arg, uint32_t rank)
{
    struct labels *l = arg;
    const struct ty_located at = ty_together_locate(l->run, rank);
    const struct ty_grid *grid = &at.run->lowered.grid;
    uint32_t coord[TY_N_AXES];
    ty_grid_coords(grid, at.rank, coord);
    snprintf(l->name, sizeof(l->name), "%s%srank %u · pp%u dp%u tp%u · node%u/gpu%u",
             at.job != NULL ? at.job : "", at.job != NULL ? " " : "", (unsigned)at.rank,
             (unsigned)coord[TY_AXIS_PIPELINE], (unsigned)coord[TY_AXIS_DATA],
             (unsigned)coord[TY_AXIS_TENSOR], (unsigned)ty_grid_node(grid, at.rank),
             (unsigned)(ty_grid_gpu(grid, at.rank) % grid->gpus_per_node));
    return l->name;
}

static const char *rank_label(void *arg, uint32_t rank)
{
    struct labels *l = arg;
    const struct ty_located at = ty_together_locate(l->run, rank);
    const struct ty_grid *grid = &at.run->lowered.grid;
    const ty_ps *bucket = at.run->stats.rank[at.rank].bucket;
    const double bubble =
        ty_s_from_ps(bucket[TY_BUCKET_BUBBLE_FILL] + bucket[TY_BUCKET_BUBBLE_STALL] +
                     bucket[TY_BUCKET_BUBBLE_DRAIN] + bucket[TY_BUCKET_EXPOSED_PIPELINE]);
    uint32_t coord[TY_N_AXES];
    ty_grid_coords(grid, at.rank, coord);
    if (at.run->timeline.halt != NULL) { /* the bubble grows for ever */
        snprintf(l->label, sizeof(l->label), "stage %u/%u · incomplete",
                 (unsigned)coord[TY_AXIS_PIPELINE], (unsigned)grid->size[TY_AXIS_PIPELINE]);
        return l->label;
    }
    snprintf(l->label, sizeof(l->label), "stage %u/%u · bubble %.1f %%",
             (unsigned)coord[TY_AXIS_PIPELINE], (unsigned)grid->size[TY_AXIS_PIPELINE],
             100 * bubble / ty_s_from_ps(at.run->timeline.makespan));
    return l->label;
}

/* ---- metadata ---- */

#define META_MAX 32
struct meta {
    struct ty_meta row[META_MAX];
    uint32_t n;
    char digest[32], seed[24], gpus[512];
};

static void text(struct meta *m, const char *key, const char *value)
{
    if (value != NULL && m->n < META_MAX) {
        m->row[m->n++] = (struct ty_meta){.key = key, .text = value};
    }
}

static void number(struct meta *m, const char *key, double value)
{
    if (m->n < META_MAX) {
        m->row[m->n++] = (struct ty_meta){.key = key, .number = value};
    }
}

/* Figures of the whole, or that there are none. */
static void fill_figures(struct meta *m, const struct ty_run *run)
{
    struct ty_figures f;
    if (ty_run_halted(run)) {
        m->row[m->n++] = (struct ty_meta){.key = "incomplete", .flag = true};
        return;
    }
    ty_run_figures(run, &f);
    number(m, "step_time_us", f.step_s * 1e6);
    number(m, "bubble_fraction", f.bubble_fraction);
    number(m, "mfu_palm", f.mfu);
    number(m, "hfu", f.hfu);
}

static void fill_meta(struct meta *m, const struct ty_run *run)
{
    const struct ty_config *c = run->config;
    snprintf(m->digest, sizeof(m->digest), "%016llx",
             (unsigned long long)ty_config_digest(run->config));
    snprintf(m->seed, sizeof(m->seed), "%llu", (unsigned long long)c->run.seed);
    text(m, "generator", "trainyard");
    text(m, "version", TRAINYARD_VERSION);
    text(m, "config_digest", m->digest);
    text(m, "seed", m->seed);
    text(m, "schedule", ty_sched_of(&c->schedule)->name);
    text(m, "model", c->arch.preset);
    text(m, "cluster", c->cluster.preset);
    ty_run_gpu_words(run, m->gpus, sizeof(m->gpus));
    text(m, "gpu", ty_run_n_generations(run) > 1 ? m->gpus : ty_run_gpu(run, 0)->gpu);
    number(m, "gpus", c->layout.ranks);
    number(m, "tp", c->layout.tensor);
    number(m, "pp", c->layout.pipeline);
    number(m, "dp", c->layout.data);
    number(m, "zero", c->layout.zero);
    number(m, "micro_batches", c->layout.micro_batches);
    if (run->together != NULL) {
        number(m, "jobs", run->together->n + 1);
    }
    number(m, "steps", run->lowered.program.n_steps);
    fill_figures(m, run);
}

/* ---- the request ---- */

/* "1.5 s:2 s"; either side may be empty. */
static int parse_window(const char *window, ty_ps *from, ty_ps *to, struct ty_err *err)
{
    *from = 0;
    *to = UINT64_MAX;
    if (window == NULL || window[0] == '\0') {
        return 0;
    }
    const char *colon = strchr(window, ':');
    if (colon == NULL) {
        return ty_fail(err, TY_EUSAGE, "--window %s: write FROM:TO, such as 1.5s:2s", window);
    }
    for (int side = 0; side < 2; side++) {
        const char *s = side == 0 ? window : colon + 1;
        const size_t n = side == 0 ? (size_t)(colon - window) : strlen(s);
        char part[64], why[256];
        double seconds;
        if (n == 0) {
            continue;
        }
        snprintf(part, sizeof(part), "%.*s", (int)(n < sizeof(part) ? n : sizeof(part) - 1), s);
        if (ty_quantity_parse(part, TY_DIM_SECONDS, &seconds, why, sizeof(why)) < 0) {
            return ty_fail(err, TY_EUSAGE, "--window %s: %s", window, why);
        }
        if (ty_ps_from_s(seconds, side == 0 ? from : to) < 0) {
            return ty_fail(err, TY_EUSAGE, "--window %s: times start at zero", window);
        }
    }
    return *from < *to ? 0
                       : ty_fail(err, TY_EUSAGE, "--window %s: it ends before it begins", window);
}

static int parse_detail(const char *name, int fallback, enum ty_detail *out, struct ty_err *err)
{
    int value = fallback;
    if (name != NULL && !ty_word_value(ty_detail_words, name, &value)) {
        return ty_fail(err, TY_EUSAGE, "unknown detail (%s); use stage, microbatch, layer or op",
                       name);
    }
    *out = (enum ty_detail)value;
    return 0;
}

static int parse_counters(const char *name, int fallback, enum ty_counters *out, struct ty_err *err)
{
    int value = fallback;
    if (name != NULL && !ty_word_value(ty_counters_words, name, &value)) {
        return ty_fail(err, TY_EUSAGE, "unknown counters (%s); use all, memory, net or none", name);
    }
    *out = (enum ty_counters)value;
    return 0;
}

/* The node of every rank of every job; NULL: no memory. */
static const uint32_t *nodes_of_ranks(const struct ty_run *run, struct ty_arena *arena)
{
    const uint32_t n = ty_together_ranks(run);
    uint32_t *out = ty_arena_array(arena, uint32_t, n);
    for (uint32_t r = 0; out != NULL && r < n; r++) {
        const struct ty_located at = ty_together_locate(run, r);
        out[r] = ty_grid_node(&at.run->lowered.grid, at.rank);
    }
    return out;
}

/* "FORMAT:PATH" */
static int parse_target(const char *target, const struct ty_trace_format **format,
                        const char **path, struct ty_err *err)
{
    const char *colon = strchr(target, ':');
    const char *names[16] = {NULL};
    size_t n = 0;
    char list[160] = "";
    for (; ty_trace_formats[n] != NULL && n < TY_COUNT(names); n++) {
        names[n] = ty_trace_formats[n]->name;
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", n == 0 ? "" : ", ",
                 names[n]);
    }
    if (colon == NULL || colon[1] == '\0') {
        return ty_fail(err, TY_EUSAGE, "trace %s: write FORMAT:PATH, such as chrome:step.json",
                       target);
    }
    char name[32];
    snprintf(name, sizeof(name), "%.*s", (int)(colon - target), target);
    *path = colon + 1;
    *format = ty_trace_format(name);
    if (*format != NULL) {
        return 0;
    }
    ty_fail(err, TY_EUSAGE, "trace %s: unknown format (%s); use %s", target, name, list);
    const char *near = ty_nearest(name, names, n);
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

static int check_size(const struct ty_run *run, const struct ty_trace_format *format,
                      const struct ty_trace *trace, bool force, struct ty_err *err)
{
    const double limit = run->config->output.trace_limit;
    const double size = format->estimate != NULL ? format->estimate(trace) : 0;
    char a[64], b[64];
    if (force || size <= limit) {
        return 0;
    }
    return ty_fail(err, TY_ELIMIT,
                   "the %s trace of %u ranks would have about %s, more than output.trace_limit "
                   "(%s); show fewer ranks (--ranks one-per-stage)%s or a window (--window "
                   "0s:1s), or insist with --force",
                   format->name, (unsigned)trace->n_ranks, ty_words_bytes(size, a, sizeof(a)),
                   ty_words_bytes(limit, b, sizeof(b)),
                   format->per_rank ? "" : ", less detail (--detail microbatch)");
}

/* What the user should know about the file: where it is, and which ranks it shows. */
static char *make_note(const struct ty_run *run, const struct ty_selection *selection,
                       const struct ty_trace_format *format, const char *path, uint64_t bytes)
{
    struct ty_text t = {.data = NULL};
    char size[64];
    if (strcmp(path, "-") == 0) {
        return NULL;
    }
    ty_text_add(&t, "%s trace: %s (%s%s", format->name, path,
                ty_words_bytes((double)bytes, size, sizeof(size)),
                strlen(path) > 3 && strcmp(path + strlen(path) - 3, ".gz") == 0
                    ? " before compression"
                    : "");
    if (ty_run_halted(run)) {
        ty_text_add(&t, "; incomplete: what ran before the deadlock");
    }
    if (selection->by_rule && strcmp(format->name, "digest") != 0) { /* a digest is of all */
        ty_text_add(&t, "; %u of %u ranks: replica dp=0, choose others with --ranks",
                    (unsigned)selection->n, (unsigned)ty_together_ranks(run));
    }
    ty_text_add(&t, ")");
    return ty_text_take(&t);
}

/* What the options ask for, into the trace and the selection. */
static int read_options(const struct ty_run *run, const struct ty_trace_options *options,
                        struct ty_arena *arena, struct ty_trace *trace,
                        struct ty_selection *selection, struct ty_err *err)
{
    const char *ranks = options->ranks != NULL ? options->ranks : run->config->output.ranks;
    int rc = parse_window(options->window, &trace->window_from, &trace->window_to, err);
    rc = rc < 0 ? rc
                : parse_detail(options->detail, run->config->output.detail, &trace->detail, err);
    rc = rc < 0 ? rc
                : parse_counters(options->counters, run->config->output.counters, &trace->counters,
                                 err);
    trace->svg = run->config->output.svg;
    rc = rc < 0 ? rc : ty_svg_style_read(&trace->svg, options->width, options->palette,
                                         options->bubbles, err);
    rc = rc < 0 ? rc : ty_select_ranks(run, ranks, options->order, arena, selection, err);
    trace->ranks = selection->ranks;
    trace->n_ranks = selection->n;
    trace->bubbles = !options->no_bubbles;
    return rc;
}

/* By rank; NULL: no memory for it. */
static const double *capacities(const struct ty_run *run, struct ty_arena *arena)
{
    const uint32_t n = ty_together_ranks(run);
    double *bytes = ty_arena_array(arena, double, n);
    for (uint32_t rank = 0; bytes != NULL && rank < n; rank++) {
        const struct ty_located at = ty_together_locate(run, rank);
        bytes[rank] = ty_run_capacity(at.run, at.rank);
    }
    return bytes;
}

/* For the formats and counters that show it. */
static int find_heat(const struct ty_run *run, const struct ty_trace_format *format,
                     struct ty_trace *trace, struct ty_err *err)
{
    const bool wanted = trace->counters == TY_COUNTERS_ALL || trace->counters == TY_COUNTERS_NET;
    return wanted && format->links ? ty_run_heat(run, &trace->heat, err) : 0;
}

static int run_trace(const struct ty_run *run, const char *target,
                     const struct ty_trace_options *options, struct ty_arena *arena, char **note,
                     struct ty_err *err)
{
    const struct ty_trace_format *format = NULL;
    const char *path = NULL;
    struct ty_selection selection = {.n = 0};
    struct labels labels = {.run = run};
    struct meta meta = {.n = 0};
    struct ty_trace trace = {.timeline = &run->all,
                             .stats = &run->stats,
                             .rank_name = rank_name,
                             .rank_label = rank_label,
                             .arg = &labels,
                             .node_of = nodes_of_ranks(run, arena),
                             .capacity_B = capacities(run, arena)};
    int rc = trace.node_of != NULL && trace.capacity_B != NULL
                 ? parse_target(target, &format, &path, err)
                 : ty_fail(err, TY_ENOMEM, "out of memory");
    rc = rc < 0 ? rc : read_options(run, options, arena, &trace, &selection, err);
    rc = rc < 0 ? rc : find_heat(run, format, &trace, err);
    if (rc < 0) {
        return rc;
    }
    struct ty_stats all;
    if (run->together != NULL) {
        trace.stats = &all;
        rc = ty_stats_compute(&all, &run->all, arena, err);
        if (rc < 0) {
            return rc;
        }
    }
    fill_meta(&meta, run);
    trace.meta = meta.row;
    trace.n_meta = meta.n;
    uint64_t bytes = 0;
    rc = check_size(run, format, &trace, options->force, err);
    rc = rc < 0 ? rc : ty_trace_write(format, &trace, path, options->stop, &bytes, err);
    if (rc == 0 && note != NULL) {
        *note = make_note(run, &selection, format, path, bytes);
    }
    return rc;
}

int ty_run_trace_check(const struct ty_run *run, const char *target,
                       const struct ty_trace_options *options, struct ty_err *err)
{
    const struct ty_trace_format *format;
    const char *path;
    struct ty_arena arena = {.head = NULL};
    struct ty_trace trace = {.n_ranks = 0};
    struct ty_selection selection = {.n = 0};
    int rc = target == NULL ? 0 : parse_target(target, &format, &path, err);
    rc = rc < 0 ? rc : read_options(run, options, &arena, &trace, &selection, err);
    ty_arena_release(&arena);
    return rc;
}

int ty_run_trace(const struct ty_run *run, const char *target,
                 const struct ty_trace_options *options, char **note, struct ty_err *err)
{
    static const struct ty_trace_options none = {.ranks = NULL};
    struct ty_arena arena = {.head = NULL};
    if (note != NULL) {
        *note = NULL;
    }
    if (!run->executed && !ty_run_halted(run)) {
        return ty_fail(err, TY_EUSAGE, "a trace needs an executed run");
    }
    const int rc = run_trace(run, target, options != NULL ? options : &none, &arena, note, err);
    ty_arena_release(&arena);
    return rc;
}
