/* trace.c - a run handed to a trace writer: what it shows, its size limit, the file. What was
 * issued of a run that deadlocked is one, too, and says so. */
#include "sim/draw/trace.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/path.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "sim/run/gpus.h"
#include "sim/run/jobs.h"
#include "sim/run/links.h"

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
        ty_trace_fill(&p->figures, run);
        p->trace.meta = p->figures.row;
        p->trace.n_meta = p->figures.n;
    }
    return rc;
}

static int run_trace(const struct ty_run *run, const char *target,
                     const struct ty_trace_options *options, struct ty_arena *arena, char **note,
                     struct ty_err *err)
{
    const struct ty_trace_asked asked = ty_trace_asked_run(run);
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
    const struct ty_trace_asked asked = ty_trace_asked_run(run);
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
            ty_trace_fitting(&asked, p.format, &p.trace, options, LARGE_B, what, sizeof(what));
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
