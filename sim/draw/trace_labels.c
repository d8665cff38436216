/* trace_labels.c - what a trace calls the ranks of a run, and the figures it carries. */
#include <stdio.h>
#include <string.h>

#include "model/parallel.h"
#include "sim/base/number_text.h"
#include "sim/draw/trace.h"
#include "sim/run/figures.h"
#include "sim/run/gpus.h"
#include "sim/run/jobs.h"

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

void ty_trace_fill(struct ty_trace_figures *m, const struct ty_run *run)
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
