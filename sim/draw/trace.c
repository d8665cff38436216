/* trace.c - a run handed to a trace writer: what it shows, its size limit, the file. What was
 * issued of a run that deadlocked is one, too, and says so. */
#include "sim/draw/trace.h"

#include <stdio.h>
#include <string.h>

#include "model/parallel.h"
#include "sim/base/number_text.h"
#include "sim/base/path.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/run/figures.h"
#include "sim/cli_api.h"
#include "sim/run/gpus.h"
#include "sim/run/jobs.h"
#include "sim/run/links.h"

/* ---- names ---- */

/* ---- labels ---- */

/* " ep3", " ep3 etp1": of a rank that shares experts. */
static void put_expert(const struct ty_run *run, uint32_t rank, char *text, size_t size)
{
    const struct ty_layout *layout = &run->config->layout;
    const struct ty_expert_place at = ty_expert_place(layout, &run->lowered.grid, rank);
    int n = 0;
    text[0] = '\0';
    if (layout->expert > 1) {
        n = ty_snprintf(text, size, " ep%u", (unsigned)at.expert);
    }
    if (layout->expert_tensor > 1) {
        ty_snprintf(text + n, size - (size_t)n, " etp%u", (unsigned)at.tensor);
    }
}

/* "rank 12 · pp1 dp0 tp4 · node1/gpu4": coordinates in the order a person looks for them; ranks of
 * other jobs have the name of the job before and count within it */
const char *ty_trace_rank_name(void *arg, uint32_t rank)
{
    struct ty_trace_labels *l = arg;
    const struct ty_located at = ty_run_jobs_locate(l->run, rank);
    const struct ty_grid *grid = &at.run->lowered.grid;
    uint32_t coord[TY_N_AXES];
    ty_grid_coords(grid, at.rank, coord);
    char context[24] = "", expert[32];
    if (at.run->config->workload.job != NULL) {
        ty_snprintf(l->name, sizeof(l->name), "%s%srank %u · node%u/gpu%u",
                    at.job != NULL ? at.job : "", at.job != NULL ? " " : "", (unsigned)at.rank,
                    (unsigned)ty_grid_node(grid, at.rank),
                    (unsigned)(ty_grid_gpu(grid, at.rank) % grid->gpus_per_node));
        return l->name;
    }
    if (grid->size[TY_AXIS_CONTEXT] > 1) {
        (void)snprintf(context, sizeof(context), " cp%u", (unsigned)coord[TY_AXIS_CONTEXT]);
    }
    put_expert(at.run, at.rank, expert, sizeof(expert));
    ty_snprintf(l->name, sizeof(l->name), "%s%srank %u · pp%u dp%u%s tp%u%s · node%u/gpu%u",
                at.job != NULL ? at.job : "", at.job != NULL ? " " : "", (unsigned)at.rank,
                (unsigned)coord[TY_AXIS_PIPELINE], (unsigned)coord[TY_AXIS_DATA], context,
                (unsigned)coord[TY_AXIS_TENSOR], expert, (unsigned)ty_grid_node(grid, at.rank),
                (unsigned)(ty_grid_gpu(grid, at.rank) % grid->gpus_per_node));
    return l->name;
}

/* " · layers 8-15 40-47" of the virtual stages of a rank, as long as there is room. */
static void put_layers(const struct ty_program *p, uint32_t rank, char *text, size_t size)
{
    const struct ty_gang *gang = &p->gangs[ty_program_seat(p, rank).gang];
    size_t n = 0;
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        const struct ty_op *ops = ty_pass_ops(p, pass);
        unsigned low = TY_NONE, high = 0;
        if (pass->phase != TY_PHASE_FORWARD || pass->mb != 0 || pass->step != 0) {
            continue;
        }
        for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
            if (ops[k].layer != TY_NONE && ops[k].stream == TY_STREAM_COMPUTE) {
                low = ops[k].layer < low ? ops[k].layer : low;
                high = ops[k].layer > high ? ops[k].layer : high;
            }
        }
        if (low != TY_NONE && n + 32 < size) {
            n += (size_t)snprintf(text + n, size - n, low == high ? "%s %u" : "%s %u-%u",
                                  n == 0 ? " · layers" : "", low, high);
        }
    }
}

const char *ty_trace_rank_label(void *arg, uint32_t rank)
{
    struct ty_trace_labels *l = arg;
    const struct ty_located at = ty_run_jobs_locate(l->run, rank);
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
    int n = ty_snprintf(l->label, sizeof(l->label), "stage %u/%u · bubble %.1f %%",
                        (unsigned)coord[TY_AXIS_PIPELINE], (unsigned)grid->size[TY_AXIS_PIPELINE],
                        100 * bubble / ty_s_from_ps(at.run->timeline.makespan));
    put_layers(&at.run->lowered.program, at.rank, l->label + n, sizeof(l->label) - (size_t)n);
    return l->label;
}

/* ---- metadata ---- */

static void text(struct ty_trace_figures *m, const char *key, const char *value)
{
    if (value != NULL && m->n < TY_TRACE_META_MAX) {
        m->row[m->n++] = (struct ty_meta){.key = key, .text = value};
    }
}

static void number(struct ty_trace_figures *m, const char *key, double value)
{
    if (m->n < TY_TRACE_META_MAX) {
        m->row[m->n++] = (struct ty_meta){.key = key, .number = value};
    }
}

/* Figures of the whole, or that there are none. */
static void fill_figures(struct ty_trace_figures *m, const struct ty_run *run)
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

/* Whether it is a tensor collective of layers: one whose slices need not tell their size. */
static bool of_layers(const struct ty_program *p, uint32_t kind)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        if (p->ops[i].kind == kind && p->ops[i].stream == TY_STREAM_TENSOR &&
            p->ops[i].layer != TY_NONE) {
            return true;
        }
    }
    return false;
}

/* "tp all-reduce ring 33554432 B; dp all-gather ring": what slices need not repeat. */
static void put_algorithms(struct ty_trace_figures *m, const struct ty_program *p)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->n_kinds; i++) {
        const struct ty_kind *kind = &p->kinds[i];
        char one[128];
        if (kind->group == NULL || kind->algorithm == NULL) {
            continue;
        }
        int len = snprintf(one, sizeof(one), "%s %s %s", kind->group, kind->name, kind->algorithm);
        if (of_layers(p, i) && len > 0 && (size_t)len < sizeof(one)) {
            len += ty_snprintf(one + len, sizeof(one) - (size_t)len, " %.0f B", kind->bytes);
        }
        if (strstr(m->algorithms, one) == NULL && n + (size_t)len + 3 < sizeof(m->algorithms)) {
            n += (size_t)snprintf(m->algorithms + n, sizeof(m->algorithms) - n, "%s%s",
                                  n > 0 ? "; " : "", one);
        }
    }
}

/* Of all stages: a number, or the list of them. */
static void width(struct ty_trace_figures *m, const char *key, uint32_t one, const char *words)
{
    if (words[0] == '[') {
        text(m, key, words);
    } else {
        number(m, key, one);
    }
}

static void trace_fill(struct ty_trace_figures *m, const struct ty_run *run)
{
    const struct ty_config *c = run->config;
    ty_config_digest_text(c, m->digest);
    snprintf(m->seed, sizeof(m->seed), "%llu", (unsigned long long)c->run.seed);
    text(m, "generator", "trainyard");
    text(m, "version", TRAINYARD_VERSION);
    text(m, "config_digest", m->digest);
    text(m, "seed", m->seed);
    text(m, "schedule", ty_sched_of(&c->schedule)->name);
    text(m, "model", c->arch.name);
    text(m, "cluster", c->cluster.preset);
    ty_run_gpu_words(run, m->gpus, sizeof(m->gpus));
    text(m, "gpu", ty_run_n_generations(run) > 1 ? m->gpus : ty_run_gpu(run, 0)->gpu_preset);
    number(m, "gpus", c->layout.ranks);
    width(m, "tp", c->layout.tensor, ty_layout_tensor_text(&c->layout, m->tensor));
    if (ty_layout_is_mesh(&c->layout)) {
        text(m, "tp_scheme", ty_scheme_words[c->layout.tensor_scheme].name);
    }
    if (c->layout.context > 1) {
        number(m, "cp", c->layout.context);
    }
    if (c->layout.expert_data > 0) {
        number(m, "ep", c->layout.expert);
        number(m, "etp", c->layout.expert_tensor);
    }
    number(m, "pp", c->layout.pipeline);
    width(m, "dp", c->layout.data, ty_layout_data_text(&c->layout, m->data));
    number(m, "zero", c->layout.zero);
    number(m, "micro_batches", c->layout.micro_batches);
    if (run->jobs != NULL) {
        number(m, "jobs", run->jobs->n + 1);
    }
    number(m, "steps", run->lowered.program.n_steps);
    put_algorithms(m, &run->lowered.program);
    text(m, "algorithms", m->algorithms[0] != '\0' ? m->algorithms : NULL);
    fill_figures(m, run);
}

/* ---- size ---- */

/* What would be asked for instead; NULL: as it is. `what` is what the user types. */
struct candidate {
    const char *what, *ranks, *detail, *steps, *counters, *args;
};

static const struct candidate candidates[] = {
    {.what = "--args short", .args = "short"},
    {.what = "--counters memory", .counters = "memory"},
    {.what = "--args none", .args = "none"},
    {.what = "--steps 0", .steps = "0"},
    {.what = "--ranks dp=0", .ranks = "dp=0"},
    {.what = "--ranks one-per-stage", .ranks = "one-per-stage"},
    {.what = "--detail layer", .detail = "layer"},
    {.what = "--detail microbatch", .detail = "microbatch"},
    {.what = "--detail stage", .detail = "stage"},
    {.what = "--ranks one-per-stage --steps 0", .ranks = "one-per-stage", .steps = "0"},
    {.what = "--ranks one-per-stage --detail microbatch",
     .ranks = "one-per-stage",
     .detail = "microbatch"},
    {.what = "--ranks one-per-stage --detail stage --counters memory",
     .ranks = "one-per-stage",
     .detail = "stage",
     .counters = "memory"},
};

#define WINDOW_SHARE 0.5 /* guess: the beginning of a step may be twice as busy as its mean */

static int request_of_run(const void *arg, const struct ty_trace_options *options,
                          struct ty_arena *arena, struct ty_trace *trace, struct ty_err *err)
{
    struct ty_selection selection = {.n = 0};
    return ty_trace_request(arg, options, arena, trace, &selection, err);
}

static struct ty_trace_asked trace_asked_run(const struct ty_run *run)
{
    return (struct ty_trace_asked){.request = request_of_run,
                                   .arg = run,
                                   .n_steps = run->lowered.program.n_steps,
                                   .limit = run->config->output.trace_limit};
}

static double estimate(const struct ty_trace_format *format, const struct ty_trace *trace)
{
    return format->estimate != NULL ? format->estimate(trace) : 0;
}

/* Bytes of the trace with other options; negative: it cannot be asked for. */
static double try_options(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                          const struct ty_trace *trace, const struct ty_trace_options *options)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_trace other = *trace;
    const bool ok = asked->request(asked->arg, options, &arena, &other, NULL) == 0;
    const double bytes = ok ? estimate(format, &other) : -1;
    ty_arena_release(&arena);
    return bytes;
}

static struct ty_trace_options with(const struct ty_trace_options *options,
                                    const struct candidate *c)
{
    struct ty_trace_options o = *options;
    o.ranks = c->ranks != NULL ? c->ranks : o.ranks;
    o.detail = c->detail != NULL ? c->detail : o.detail;
    o.counters = c->counters != NULL ? c->counters : o.counters;
    o.args = c->args != NULL ? c->args : o.args;
    if (c->steps != NULL) {
        o.steps = c->steps;
        o.window = NULL;
    }
    return o;
}

/* Finer detail than there is, or steps of a run that has one, are no way out. */
static bool lessens(const struct ty_trace_asked *asked, const struct ty_trace *trace,
                    const struct candidate *c)
{
    int detail;
    return (c->steps == NULL || asked->n_steps > 1) &&
           (c->detail == NULL || !ty_word_value(ty_detail_words, c->detail, &detail) ||
            detail < (int)trace->detail);
}

/* A stretch from the beginning of what is shown, of few ranks, that fits by its share, where
 * nothing else does. */
static double try_window(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                         const struct ty_trace *trace, const struct ty_trace_options *options,
                         double limit, char *what, size_t size)
{
    const ty_ps end = trace->timeline->makespan;
    const ty_ps to = trace->window_to < end ? trace->window_to : end;
    const double from_s = ty_s_from_ps(trace->window_from);
    const double length_s = ty_s_from_ps(to) - from_s;
    struct ty_trace_options o = *options;
    o.ranks = "one-per-stage";
    const double whole = try_options(asked, format, trace, &o);
    for (double share = WINDOW_SHARE * limit / whole; share > 1e-6; share /= 4) {
        char window[64];
        ty_snprintf(window, sizeof(window), "%.4gs:%.4gs", from_s, from_s + share * length_s);
        o.window = window;
        o.steps = NULL;
        const double bytes = try_options(asked, format, trace, &o);
        if (bytes >= 0 && bytes <= limit) {
            snprintf(what, size, "--ranks one-per-stage --window %s", window);
            return bytes;
        }
    }
    return -1;
}

/* trace_size.c: what to add to the options so that the trace has at most `limit` bytes, into
 * what[]. Returns its size then; negative: nothing helps. */
static double trace_fitting(const struct ty_trace_asked *asked,
                            const struct ty_trace_format *format, const struct ty_trace *trace,
                            const struct ty_trace_options *options, double limit, char *what,
                            size_t size)
{
    for (size_t i = 0; i < TY_COUNT(candidates); i++) {
        const struct candidate *c = &candidates[i];
        const struct ty_trace_options o = with(options, c);
        const double bytes = lessens(asked, trace, c) ? try_options(asked, format, trace, &o) : -1;
        if (bytes >= 0 && bytes <= limit) {
            snprintf(what, size, "%s", c->what);
            return bytes;
        }
    }
    return trace->timeline->makespan > 0
               ? try_window(asked, format, trace, options, limit, what, size)
               : -1;
}

int ty_trace_check_size(const struct ty_trace_asked *asked, const struct ty_trace_format *format,
                        const struct ty_trace *trace, const struct ty_trace_options *options,
                        struct ty_err *err)
{
    const double limit = asked->limit;
    const double bytes = options->force ? 0 : estimate(format, trace);
    char a[64], b[64], c[64], what[96];
    if (bytes <= limit) {
        return 0;
    }
    const double less = trace_fitting(asked, format, trace, options, limit, what, sizeof(what));
    ty_words_bytes(bytes, a, sizeof(a));
    ty_words_bytes(limit, b, sizeof(b));
    if (less < 0) {
        return ty_fail(err, TY_ELIMIT,
                       "the %s trace of %u ranks would have about %s, more than "
                       "output.trace_limit (%s), which is too little for any; raise it, or insist "
                       "with --force",
                       format->name, (unsigned)trace->n_ranks, a, b);
    }
    return ty_fail(err, TY_ELIMIT,
                   "the %s trace of %u ranks would have about %s, more than output.trace_limit "
                   "(%s); %s makes it about %s, or insist with --force",
                   format->name, (unsigned)trace->n_ranks, a, b, what,
                   ty_words_bytes(less, c, sizeof(c)));
}

/* ---- the trace ---- */

#define LARGE_B (256.0 * 1024 * 1024) /* what viewers in a browser take without complaint */

/* The node of every rank of every job; NULL: no memory. */
static const uint32_t *nodes_of_ranks(const struct ty_run *run, struct ty_arena *arena)
{
    const uint32_t n = ty_run_jobs_ranks(run);
    uint32_t *out = ty_arena_array(arena, uint32_t, n);
    for (uint32_t r = 0; out != NULL && r < n; r++) {
        const struct ty_located at = ty_run_jobs_locate(run, r);
        out[r] = ty_grid_node(&at.run->lowered.grid, at.rank);
    }
    return out;
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
    ty_text_add(&t, "%s trace: %s (%s", format->name, path,
                ty_words_bytes((double)bytes, size, sizeof(size)));
    if (ty_run_halted(run)) {
        ty_text_add(&t, "; incomplete: what ran before the deadlock");
    }
    if (selection->by_rule && strcmp(format->name, "digest") != 0) { /* a digest is of all */
        ty_text_add(&t, "; %u of %u ranks: replica dp=0, choose others with --ranks",
                    (unsigned)selection->n, (unsigned)ty_run_jobs_ranks(run));
    }
    ty_text_add(&t, ")");
    return ty_text_take(&t);
}

/* By rank; NULL: no memory for it. */
static const double *capacities(const struct ty_run *run, struct ty_arena *arena)
{
    const uint32_t n = ty_run_jobs_ranks(run);
    double *bytes = ty_arena_array(arena, double, n);
    for (uint32_t rank = 0; bytes != NULL && rank < n; rank++) {
        const struct ty_located at = ty_run_jobs_locate(run, rank);
        bytes[rank] = ty_run_capacity(at.run, at.rank);
    }
    return bytes;
}

/* Rows of the experts of each rank over their mean, where ranks differ in them. */
static int find_expert_load(const struct ty_run *run, struct ty_trace *trace,
                            struct ty_arena *arena, struct ty_err *err)
{
    const struct ty_program *p = &run->lowered.program;
    const uint32_t n_layers = run->config->arch.layers + run->config->arch.mtp;
    struct ty_trace_layers *layers = ty_arena_array(arena, struct ty_trace_layers, 1);
    double **of = ty_arena_alloc(arena, n_layers, sizeof(*of));
    if (layers == NULL || of == NULL) {
        return ty_fail_memory(err);
    }
    for (uint32_t g = 0; g < p->n_gangs && run->jobs == NULL; g++) {
        const struct ty_stage_plan *stage = &run->lowered.stage[g];
        for (uint32_t k = 0; k < stage->n_loads; k++) {
            const struct ty_layer_load *load = &stage->load[k];
            double **value = &of[load->layer]; /* two-way schedules have it in two gangs */
            *value = *value != NULL ? *value : ty_arena_array(arena, double, p->n_ranks);
            if (*value == NULL) {
                return ty_fail_memory(err);
            }
            for (uint32_t i = 0; i < p->gangs[g].n_ranks; i++) {
                (*value)[p->gangs[g].rank_of[i]] = load->rows[i] / load->mean;
            }
            trace->layers = layers;
        }
    }
    *layers = (struct ty_trace_layers){"expert load", "rows over mean", "dispatch",
                                       (const double *const *)of, n_layers};
    return 0;
}

/* For the formats and counters that show it. */
static int find_link_load(const struct ty_run *run, const struct ty_trace_format *format,
                          struct ty_trace *trace, struct ty_err *err)
{
    const bool wanted = trace->counters == TY_COUNTERS_ALL || trace->counters == TY_COUNTERS_NET;
    return wanted && format->links ? ty_run_link_load(run, &trace->link_load, err) : 0;
}

/* A trace as it is asked for, before it is written. */
struct prepared {
    const struct ty_trace_format *format;
    const char *path;
    struct ty_selection selection;
    struct ty_trace_labels labels;
    struct ty_trace_figures figures;
    struct ty_timeline planned; /* of a run that was not executed: its program alone */
    struct ty_stats all;        /* of several jobs */
    struct ty_trace trace;
};

static int prepare(struct prepared *p, const struct ty_run *run, const char *target,
                   const struct ty_trace_options *options, struct ty_arena *arena,
                   struct ty_err *err)
{
    const bool executed = run->executed || ty_run_halted(run);
    *p = (struct prepared){.labels = {.run = run}, .planned = {.program = &run->lowered.program}};
    p->trace = (struct ty_trace){.timeline = executed ? &run->all : &p->planned,
                                 .stats = &run->stats,
                                 .rank_name = ty_trace_rank_name,
                                 .rank_label = ty_trace_rank_label,
                                 .arg = &p->labels,
                                 .node_of = nodes_of_ranks(run, arena),
                                 .capacity_B = capacities(run, arena)};
    if (p->trace.node_of == NULL || p->trace.capacity_B == NULL) {
        return ty_fail_memory(err);
    }
    int rc = ty_trace_target("--trace", target, &p->format, &p->path, err);
    if (rc == 0) {
        rc = ty_trace_request(run, options, arena, &p->trace, &p->selection, err);
    }
    if (rc < 0 || !executed) {
        return rc;
    }
    rc = find_link_load(run, p->format, &p->trace, err);
    rc = rc == 0 ? find_expert_load(run, &p->trace, arena, err) : rc;
    if (rc == 0 && run->jobs != NULL) {
        p->trace.stats = &p->all;
        rc = ty_stats_compute(&p->all, &run->all, arena, err);
    }
    if (rc == 0) {
        trace_fill(&p->figures, run);
        p->trace.meta = p->figures.row;
        p->trace.n_meta = p->figures.n;
    }
    return rc;
}

static int run_trace(const struct ty_run *run, const char *target,
                     const struct ty_trace_options *options, struct ty_arena *arena, char **note,
                     struct ty_err *err)
{
    const struct ty_trace_asked asked = trace_asked_run(run);
    struct prepared p;
    uint64_t bytes = 0;
    int rc = prepare(&p, run, target, options, arena, err);
    if (rc == 0) {
        rc = ty_trace_check_size(&asked, p.format, &p.trace, options, err);
    }
    if (rc == 0) {
        p.trace.progress = options->progress;
        p.trace.progress_arg = options->progress_arg;
        p.trace.threads = run->threads;
        rc = ty_trace_write(p.format, &p.trace, p.path, options->stop, &bytes, err);
    }
    if (rc == 0 && note != NULL) {
        *note = make_note(run, &p.selection, p.format, p.path, bytes);
    }
    return rc;
}

int ty_run_trace_size(const struct ty_run *run, const char *target,
                      const struct ty_trace_options *options, double *bytes, char **advice,
                      struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    const struct ty_trace_asked asked = trace_asked_run(run);
    struct prepared p;
    char what[96], a[64], b[64];
    *bytes = 0;
    *advice = NULL;
    options = options != NULL ? options : &ty_trace_no_options;
    int rc = ty_run_check_planned(run, "a trace", err);
    rc = rc < 0 ? rc : prepare(&p, run, target, options, &arena, err);
    if (rc == 0 && p.format->estimate != NULL) {
        *bytes = p.format->estimate(&p.trace);
    }
    if (rc == 0 && *bytes > LARGE_B) {
        struct ty_text t = {.data = NULL};
        const double less =
            trace_fitting(&asked, p.format, &p.trace, options, LARGE_B, what, sizeof(what));
        ty_text_add(&t, "the %s trace will have about %s%s, much for a viewer", p.format->name,
                    ty_words_bytes(*bytes, a, sizeof(a)),
                    ty_path_ends(p.path, ".gz") ? " unpacked" : "");
        if (less >= 0) {
            ty_text_add(&t, "; %s makes it about %s", what, ty_words_bytes(less, b, sizeof(b)));
        }
        *advice = ty_text_take(&t);
    }
    ty_arena_release(&arena);
    return rc;
}

/* Of a program that was not executed, what the trace may have over its estimate: idle time and use
 * of links are not known; measured. */
#define PLANNED_MOST 2.5
#define CHEAP_S      0.3 /* an execution after which the size is known and not only its least */

/* Refuses a trace that is too large whatever the execution does, before much time is spent on it. A
 * part of the run may be small, and so may be what comes before a deadlock. */
static int check_planned_size(const struct ty_run *run, const char *target,
                              const struct ty_trace_options *options, struct ty_arena *arena,
                              struct ty_err *err)
{
    const struct ty_trace_asked asked = trace_asked_run(run);
    struct prepared p;
    char a[64], b[64], what[96];
    double seconds, memory_B;
    ty_run_cost(run, false, &seconds, &memory_B);
    if (seconds < CHEAP_S || run->executed || run->jobs != NULL || options->force ||
        options->window != NULL || options->steps != NULL || run->config->schedule.custom != NULL) {
        return 0;
    }
    const int rc = prepare(&p, run, target, options, arena, err);
    const double bytes = rc == 0 ? estimate(p.format, &p.trace) : 0;
    if (bytes <= asked.limit || trace_fitting(&asked, p.format, &p.trace, options,
                                              asked.limit / PLANNED_MOST, what, sizeof(what)) < 0) {
        return rc; /* what could be asked for instead is known after the execution */
    }
    return ty_fail(err, TY_ELIMIT,
                   "the %s trace of %u ranks would have at least about %s, more than "
                   "output.trace_limit (%s); %s makes it small enough, or insist with --force",
                   p.format->name, (unsigned)p.trace.n_ranks, ty_words_bytes(bytes, a, sizeof(a)),
                   ty_words_bytes(asked.limit, b, sizeof(b)), what);
}

int ty_run_trace_check(const struct ty_run *run, const char *target,
                       const struct ty_trace_options *options, struct ty_err *err)
{
    const struct ty_trace_format *format;
    const char *path;
    struct ty_arena arena = {.head = NULL};
    struct ty_trace trace = {.n_ranks = 0};
    struct ty_selection selection = {.n = 0};
    options = options != NULL ? options : &ty_trace_no_options;
    int rc = target == NULL ? 0 : ty_run_check_planned(run, "a trace", err);
    rc = rc < 0 || target == NULL ? rc : ty_trace_target("--trace", target, &format, &path, err);
    if (rc == 0) {
        rc = ty_trace_request(run, options, &arena, &trace, &selection, err);
    }
    if (rc == 0 && target != NULL) {
        rc = ty_trace_write_check(format, &trace, path, err);
        rc = rc < 0 ? rc : check_planned_size(run, target, options, &arena, err);
    }
    ty_arena_release(&arena);
    return rc;
}

int ty_run_trace(const struct ty_run *run, const char *target,
                 const struct ty_trace_options *options, char **note, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    if (note != NULL) {
        *note = NULL;
    }
    int rc = ty_run_check_ranks(run, "a trace", true, err);
    if (rc < 0) {
        return rc;
    }
    options = options != NULL ? options : &ty_trace_no_options;
    rc = run_trace(run, target, options, &arena, note, err);
    ty_arena_release(&arena);
    return rc;
}
