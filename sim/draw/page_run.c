/* page_run.c - the figures of a run for a page: JSON in seconds, bytes and shares, idle times in
 * whole picoseconds. What a run that halted cannot say is left out. */
#include "sim/draw/page.h"

#include <stdio.h>

#include "sim/core/program/say.h"
#include "sim/run/bill.h"
#include "sim/run/gpus.h"
#include "sim/run/pass_times.h"
#include "sim/report/links.h"
#include "sim/report/table.h"
#include "sim/config/stack.h"
#include "sim/run/together.h"

/* ---- members of objects ---- */

static void put_key(struct ty_out *out, const char *key)
{
    ty_out_printf(out, "\"%s\":", key);
}

static void put_text(struct ty_out *out, const char *key, const char *value)
{
    put_key(out, key);
    if (value == NULL) {
        ty_out_str(out, "null");
    } else {
        ty_out_html_json_string(out, value);
    }
    ty_out_str(out, ",");
}

static void put_number(struct ty_out *out, const char *key, double x)
{
    put_key(out, key);
    ty_out_json_number(out, x);
    ty_out_str(out, ",");
}

static void put_whole(struct ty_out *out, const char *key, uint64_t x)
{
    put_key(out, key);
    ty_out_u64(out, x);
    ty_out_str(out, ",");
}

/* ---- who it is ---- */

static int put_head(struct ty_out *out, const struct ty_run *run, struct ty_err *err)
{
    const struct ty_config *c = run->config;
    struct ty_text t = {.data = NULL};
    char digest[20], stack[TY_STACK_WORDS];
    ty_report_head(run, &t);
    (void)snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)ty_config_digest(c));
    char *text = ty_text_take(&t);
    if (text == NULL) {
        return ty_fail_memory(err);
    }
    put_text(out, "head", text);
    ty_text_free(text);
    put_text(out, "model", c->arch.name);
    put_text(out, "cluster", c->cluster.preset);
    put_text(out, "stack", ty_stack_words(c, stack));
    put_text(out, "schedule", ty_sched_of(&c->schedule)->name);
    put_text(out, "engine", run->engine);
    put_text(out, "sharing", ty_sharing_words[run->sharing]);
    put_text(out, "digest", digest);
    put_whole(out, "seed", c->run.seed);
    put_whole(out, "tensor", c->layout.tensor);
    put_whole(out, "pipeline", c->layout.pipeline);
    put_whole(out, "data", c->layout.data);
    put_whole(out, "context", c->layout.context);
    put_whole(out, "micro_batches", c->layout.micro_batches);
    put_whole(out, "chunks", ty_sched_chunks(&c->schedule));
    put_whole(out, "steps", run->lowered.program.n_steps);
    put_whole(out, "ranks", ty_together_ranks(run));
    put_whole(out, "tasks", run->all.program->n_tasks);
    put_whole(out, "makespan_ps", run->all.makespan);
    ty_out_printf(out, "\"lockstep\":%s,\n", run->lockstep ? "true" : "false");
    return 0;
}

/* ---- figures ---- */

static void put_figures(struct ty_out *out, const struct ty_run *run)
{
    struct ty_figures f;
    ty_run_figures(run, &f);
    ty_out_str(out, "\"figures\":{");
    put_number(out, "step_time_s", f.step_s);
    put_number(out, "tokens_per_s", f.tokens_per_s);
    put_number(out, "tokens_per_s_per_gpu", f.tokens_per_s_per_gpu);
    put_number(out, "model_tflops_per_gpu", f.model_tflops_per_gpu);
    put_number(out, "mfu", f.mfu);
    put_number(out, "mfu_causal", f.mfu_causal);
    put_number(out, "hfu", f.hfu);
    put_number(out, "hfu_causal", f.hfu_causal);
    put_number(out, "bubble_fraction", f.bubble_fraction);
    put_number(out, "bubble_over_ideal", f.bubble_over_ideal);
    put_number(out, "ideal_s", f.ideal_s);
    for (const struct ty_figure_row *row = ty_figure_rows; row->name != NULL; row++) {
        if (row->asked && ty_figure(&f, row) > 0) {
            put_number(out, row->name, ty_figure(&f, row));
        }
    }
    ty_out_str(out, "\"breakdown\":{");
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        put_key(out, ty_bucket_name((enum ty_bucket)b));
        ty_out_json_number(out, f.bucket_s[b]);
        ty_out_str(out, b + 1 < TY_N_BUCKETS ? "," : "},\"traffic\":[");
    }
    for (uint32_t i = 0; i < f.n_traffic; i++) {
        ty_out_str(out, i == 0 ? "[" : ",[");
        ty_out_html_json_string(out, f.traffic[i].group);
        ty_out_str(out, ",");
        ty_out_json_number(out, f.traffic[i].nvlink_B);
        ty_out_str(out, ",");
        ty_out_json_number(out, f.traffic[i].net_B);
        ty_out_str(out, "]");
    }
    ty_out_str(out, "]},\n");
}

/* What is published of the schedule, with the passes as they were. */
static void put_formula(struct ty_out *out, const struct ty_run *run)
{
    const struct ty_sched *sched = ty_sched_of(&run->config->schedule);
    const struct ty_layout *l = &run->config->layout;
    const struct ty_stage_times st = ty_stage_times_of(run);
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&run->config->schedule, l->pipeline, l->micro_batches);
    ty_out_str(out, "\"formula\":{");
    put_number(out, "forward_s", st.mean.forward);
    put_number(out, "backward_s", st.mean.backward);
    put_number(out, "input_s", st.mean.input);
    put_number(out, "weight_s", st.mean.weight);
    put_number(out, "slowest_over_mean", st.work > 0 ? st.most / st.work : 1);
    put_whole(out, "slowest", st.slowest);
    put_number(out, "uneven_s", ty_stage_times_uneven(run, &st));
    put_whole(out, "slices", shape.slices);
    if (sched->makespan != NULL) {
        const bool domain = sched->in_domain == NULL || sched->in_domain(&shape, &st.mean);
        put_number(out, "makespan_s", ty_stage_times_formula(run, &st));
        put_text(out, "domain", sched->domain != NULL ? sched->domain : "equal stages");
        put_text(out, "in_domain", domain ? "yes" : "no");
    }
    put_text(out, "source", sched->source);
    put_key(out, "expression");
    ty_out_html_json_string(out, sched->makespan != NULL ? sched->formula : "");
    ty_out_str(out, "},\n");
}

/* ---- stages ---- */

static void put_bill(struct ty_out *out, const struct ty_bill *bill)
{
    put_number(out, "capacity", bill->capacity_B);
    put_number(out, "total", bill->total_B);
    put_text(out, "verdict", ty_verdict_word(ty_bill_verdict(bill, bill->capacity_B)));
    put_whole(out, "held", bill->held);
    put_text(out, "during", ty_phase_word((enum ty_phase)bill->pass->phase));
    put_whole(out, "during_mb", bill->pass->mb);
    ty_out_str(out, "\"bill\":[");
    for (uint32_t i = 0; i < bill->n; i++) {
        ty_out_str(out, i == 0 ? "[" : ",[");
        ty_out_html_json_string(out, bill->item[i].what);
        ty_out_str(out, ",");
        ty_out_json_number(out, bill->item[i].bytes);
        ty_out_str(out, ",");
        ty_out_html_json_string(out, bill->item[i].note);
        ty_out_str(out, "]");
    }
    ty_out_str(out, "]");
}

/* "0-9, 40-49": layers of each virtual stage. */
static void put_layers(struct ty_out *out, const struct ty_stage_plan *plan)
{
    put_key(out, "layers");
    ty_out_str(out, "\"");
    for (uint32_t i = 0; i < plan->n_chunks; i++) {
        const struct ty_layers *c = &plan->chunk[i];
        ty_out_printf(out, "%s%u-%u", i == 0 ? "" : ", ", (unsigned)c->first,
                      (unsigned)(c->first + c->count - 1));
    }
    ty_out_str(out, "\",");
}

static void put_stages(struct ty_out *out, const struct ty_run *run)
{
    const struct ty_program *p = &run->lowered.program;
    ty_out_str(out, "\"stages\":[");
    for (uint32_t s = 0; s < p->n_gangs; s++) {
        struct ty_bill bill;
        ty_run_bill(run, s, &bill);
        ty_out_str(out, s == 0 ? "{" : ",\n{");
        put_layers(out, &run->lowered.stage[s]);
        put_whole(out, "ranks", p->gangs[s].n_ranks);
        put_number(out, "params", run->lowered.stage[s].params);
        put_bill(out, &bill);
        ty_out_str(out, "}");
    }
    ty_out_str(out, "],\n");
}

/* ---- rows ---- */

/* What a rank that can never finish stands at; nothing for others. */
static void put_stuck(struct ty_out *out, const struct ty_run *run, uint32_t rank)
{
    const struct ty_pass *pass;
    const struct ty_seat seat = ty_program_seat(run->all.program, rank);
    const struct ty_op *op = ty_timeline_stuck(&run->all, seat.gang, &pass);
    char text[2 * TY_SAY + 8], a[TY_SAY], b[TY_SAY];
    if (op != NULL) {
        const struct ty_program *whole = run->all.halt->whole;
        (void)snprintf(text, sizeof(text), "%s: %s", ty_say_pass(whole, pass, a),
                       ty_say_op(whole, pass, op, b));
        put_text(out, "stuck", text);
    }
}

static void put_row(struct ty_out *out, const struct ty_run *run, uint32_t rank)
{
    const struct ty_located at = ty_together_locate(run, rank);
    const struct ty_grid *grid = &at.run->lowered.grid;
    const struct ty_seat seat = ty_program_seat(&at.run->lowered.program, at.rank);
    const struct ty_gang *gang = &at.run->lowered.program.gangs[seat.gang];
    const struct ty_rank_stats *stats = &at.run->stats.rank[at.rank];
    const struct ty_gang_memory *memory = &at.run->stats.memory[seat.gang];
    uint32_t coord[TY_N_AXES];
    struct ty_bill bill;
    ty_run_bill(at.run, seat.gang, &bill);
    ty_grid_coords(grid, at.rank, coord);
    put_text(out, "job", at.job);
    put_stuck(out, run, rank);
    put_whole(out, "rank", at.rank);
    put_whole(out, "stage", coord[TY_AXIS_PIPELINE]);
    put_whole(out, "dp", coord[TY_AXIS_DATA]);
    put_whole(out, "tp", coord[TY_AXIS_TENSOR]);
    put_whole(out, "cp", coord[TY_AXIS_CONTEXT]);
    put_whole(out, "node", ty_grid_node(grid, at.rank));
    put_whole(out, "gpu", ty_grid_gpu(grid, at.rank) % grid->gpus_per_node);
    put_number(out, "capacity", ty_run_gpu(at.run, at.rank)->gpu.memory);
    put_number(out, "peak", bill.total_B);
    put_number(out, "reserve", bill.total_B - memory->peak_B);
    put_whole(out, "peak_held", memory->peak_held);
    put_text(out, "transient_what", memory->transient_what);
    ty_out_str(out, "\"fixed\":[");
    for (uint32_t k = 0; k < TY_N_MEMORY; k++) {
        ty_out_str(out, k == 0 ? "" : ",");
        ty_out_json_number(out, gang->static_B[k]);
    }
    ty_out_str(out, "],\"buckets_ps\":[");
    for (uint32_t b = 0; b < TY_N_BUCKETS; b++) {
        ty_out_str(out, b == 0 ? "" : ",");
        ty_out_u64(out, stats->bucket[b]);
    }
    ty_out_str(out, "],\"busy_ps\":[");
    for (uint32_t s = 0; s < TY_N_STREAMS; s++) {
        ty_out_str(out, s == 0 ? "" : ",");
        ty_out_u64(out, stats->stream_busy[s]);
    }
    ty_out_str(out, "]");
}

static void put_rows(struct ty_out *out, const struct ty_run *run,
                     const struct ty_selection *selection)
{
    ty_out_str(out, "\"rows\":[");
    for (uint32_t i = 0; i < selection->n; i++) {
        ty_out_str(out, i == 0 ? "{" : ",\n{");
        put_row(out, run, selection->ranks[i]);
        ty_out_str(out, "}");
    }
    ty_out_str(out, "],\n");
}

int ty_page_put_run(struct ty_out *out, const struct ty_run *run,
                    const struct ty_selection *selection, bool variants, struct ty_err *err)
{
    struct ty_text links = {.data = NULL};
    int rc = put_head(out, run, err);
    put_stages(out, run);
    put_rows(out, run, selection);
    if (rc < 0 || ty_run_halted(run)) {
        return rc;
    }
    put_figures(out, run);
    put_formula(out, run);
    rc = variants ? ty_page_put_schedules(out, run, err) : 0;
    rc = rc < 0 ? rc : ty_report_links_json(run, &links, err); /* ends with a comma */
    if (rc == 0 && links.failed) {
        rc = ty_fail_memory(err);
    }
    if (rc == 0 && links.data != NULL) {
        ty_out_bytes(out, links.data, links.len);
    }
    ty_text_release(&links);
    return rc;
}
