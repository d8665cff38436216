/* page_run.c - the figures of a run for a page: JSON in seconds, bytes and shares, idle times in
 * whole picoseconds. What a run that halted cannot say is left out. */
#include "sim/report/page/page.h"

#include <stdio.h>

#include "model/parallel.h"
#include "sim/base/compiler.h"
#include "sim/base/words.h"
#include "sim/cli_api.h"
#include "sim/config/stack.h"
#include "sim/core/program/say.h"
#include "sim/report/experts.h"
#include "sim/report/links.h"
#include "sim/report/table.h"
#include "sim/run/bill.h"
#include "sim/run/gpus.h"
#include "sim/run/jobs.h"
#include "sim/run/pass_times.h"

/* ---- who it is ---- */

static int put_head(struct ty_json *j, const struct ty_run *run, struct ty_err *err)
{
    const struct ty_config *c = run->config;
    struct ty_text t = {.data = NULL};
    char digest[TY_DIGEST_TEXT], stack[TY_STACK_WORDS];
    ty_report_head(run, &t);
    char *text = ty_text_take(&t);
    if (text == NULL) {
        return ty_fail_memory(err);
    }
    ty_json_line(j, 0);
    ty_json_text(j, "head", text);
    ty_text_free(text);
    ty_json_text(j, "model", c->arch.name);
    ty_json_text(j, "cluster", c->cluster.preset);
    ty_json_text(j, "stack", ty_stack_words(c, stack));
    ty_json_text(j, "schedule", ty_sched_of(&c->schedule)->name);
    ty_json_text(j, "engine", run->engine);
    ty_json_text(j, "sharing", ty_sharing_words[run->sharing]);
    ty_json_text(j, "digest", ty_config_digest_text(c, digest));
    ty_json_whole(j, "seed", c->run.seed);
    /* of stages of different shape the largest */
    const uint32_t *size = run->lowered.grid.size;
    ty_json_whole(j, "tensor", c->layout.unlike ? size[TY_AXIS_TENSOR] : c->layout.tensor);
    ty_json_whole(j, "pipeline", c->layout.pipeline);
    ty_json_whole(j, "data", c->layout.unlike ? size[TY_AXIS_DATA] : c->layout.data);
    ty_json_whole(j, "context", c->layout.context);
    ty_json_whole(j, "expert", c->layout.expert);
    ty_json_whole(j, "expert_tensor", c->layout.expert_tensor);
    ty_json_whole(j, "micro_batches", c->layout.micro_batches);
    ty_json_whole(j, "chunks", ty_sched_chunks(&c->schedule));
    ty_json_whole(j, "steps", run->lowered.program.n_steps);
    ty_json_whole(j, "ranks", ty_run_jobs_ranks(run));
    ty_json_whole(j, "tasks", run->all.program->n_tasks);
    ty_json_whole(j, "makespan_ps", run->all.makespan);
    ty_json_bool(j, "lockstep", run->lockstep);
    return 0;
}

/* ---- figures ---- */

static void put_traffic(struct ty_json *j, const struct ty_figures *f)
{
    ty_json_array(j, "traffic");
    for (uint32_t i = 0; i < f->n_traffic; i++) {
        ty_json_array(j, NULL);
        ty_json_text(j, NULL, f->traffic[i].group);
        ty_json_real(j, NULL, f->traffic[i].nvlink_B);
        ty_json_real(j, NULL, f->traffic[i].net_B);
        ty_json_end(j);
    }
    ty_json_end(j);
}

static void put_figures(struct ty_json *j, const struct ty_run *run)
{
    struct ty_figures f;
    ty_run_figures(run, &f);
    ty_json_line(j, 0);
    ty_json_object(j, "figures");
    ty_report_figures_json(&f, j);
    ty_json_object(j, "breakdown");
    for (uint32_t b = 0; b < run->lowered.program.words->n_buckets; b++) {
        ty_json_real(j, ty_transformer_words.buckets[b].name, f.bucket_s[b]);
    }
    ty_json_end(j);
    put_traffic(j, &f);
    ty_json_end(j);
}

/* What is published of the schedule, with the passes as they were. */
static void put_formula(struct ty_json *j, const struct ty_run *run)
{
    const struct ty_sched *sched = ty_sched_of(&run->config->schedule);
    const struct ty_layout *l = &run->config->layout;
    const struct ty_stage_times st = ty_stage_times_of(run);
    const struct ty_sched_shape shape =
        ty_sched_shape_of(&run->config->schedule, l->pipeline, l->micro_batches);
    ty_json_line(j, 0);
    ty_json_object(j, "formula");
    ty_json_real(j, "forward_s", st.mean.forward);
    ty_json_real(j, "backward_s", st.mean.backward);
    ty_json_real(j, "input_s", st.mean.input);
    ty_json_real(j, "weight_s", st.mean.weight);
    ty_json_real(j, "slowest_over_mean", st.work > 0 ? st.most / st.work : 1);
    ty_json_whole(j, "slowest", st.slowest);
    ty_json_real(j, "uneven_s", ty_stage_times_uneven(run, &st));
    ty_json_whole(j, "slices", shape.slices);
    if (sched->makespan != NULL) {
        const bool domain = ty_sched_in_domain(&run->config->schedule, &shape, &st.mean);
        ty_json_real(j, "makespan_s", ty_stage_times_formula(run, &st));
        ty_json_text(j, "domain", sched->domain != NULL ? sched->domain : "equal stages");
        ty_json_text(j, "in_domain", domain ? "yes" : "no");
    }
    ty_json_text(j, "source", sched->source);
    ty_json_text(j, "expression", sched->makespan != NULL ? sched->formula : "");
    ty_json_end(j);
}

/* ---- stages ---- */

static void put_bill(struct ty_json *j, const struct ty_bill *bill)
{
    ty_json_real(j, "capacity", bill->capacity_B);
    ty_json_real(j, "total", bill->total_B);
    ty_json_text(j, "verdict", ty_verdict_word(ty_memory_verdict(bill->total_B, bill->capacity_B)));
    ty_json_whole(j, "held", bill->held);
    ty_json_text(j, "during", ty_phase_word((enum ty_phase)bill->pass->phase));
    ty_json_whole(j, "during_mb", bill->pass->mb);
    ty_json_array(j, "bill");
    for (uint32_t i = 0; i < bill->n; i++) {
        ty_json_array(j, NULL);
        ty_json_text(j, NULL, bill->item[i].what);
        ty_json_real(j, NULL, bill->item[i].bytes);
        ty_json_text(j, NULL, bill->item[i].note);
        ty_json_end(j);
    }
    ty_json_end(j);
}

/* "0-9, 40-49": layers of each virtual stage. */
static void put_layers(struct ty_json *j, const struct ty_stage_plan *plan)
{
    struct ty_out *out = j->to;
    ty_json_key(j, "layers");
    ty_out_str(out, "\"");
    for (uint32_t i = 0; i < plan->n_chunks; i++) {
        char range[32];
        ty_out_printf(
            out, "%s%s", i == 0 ? "" : ", ",
            ty_words_range(plan->chunk[i].first, plan->chunk[i].count, range, sizeof(range)));
    }
    ty_out_str(out, "\"");
}

static void put_stages(struct ty_json *j, const struct ty_run *run)
{
    const struct ty_program *p = &run->lowered.program;
    ty_json_line(j, 0);
    ty_json_array(j, "stages");
    ty_json_rows(j);
    for (uint32_t s = 0; s < p->n_gangs; s++) {
        struct ty_bill bill;
        ty_run_bill(run, s, &bill);
        ty_json_object(j, NULL);
        put_layers(j, &run->lowered.stage[s]);
        ty_json_whole(j, "ranks", p->gangs[s].n_ranks);
        ty_json_real(j, "params", run->lowered.stage[s].params);
        put_bill(j, &bill);
        ty_json_end(j);
    }
    ty_json_end(j);
}

/* ---- rows ---- */

/* What a rank that can never finish stands at; nothing for others. */
static void put_stuck(struct ty_json *j, const struct ty_run *run, uint32_t rank)
{
    const struct ty_pass *pass;
    const struct ty_seat seat = ty_program_seat(run->all.program, rank);
    const struct ty_op *op = ty_timeline_blocked_op(&run->all, seat.gang, &pass);
    char text[2 * TY_SAY + 8], a[TY_SAY], b[TY_SAY];
    if (op != NULL) {
        const struct ty_program *whole = run->all.halt->whole;
        (void)snprintf(text, sizeof(text), "%s: %s", ty_say_pass(whole, pass, a),
                       ty_say_op(whole, pass, op, b));
        ty_json_text(j, "stuck", text);
    }
}

static void put_row(struct ty_json *j, const struct ty_run *run, uint32_t rank)
{
    const struct ty_located at = ty_run_jobs_locate(run, rank);
    const struct ty_grid *grid = &at.run->lowered.grid;
    const struct ty_seat seat = ty_program_seat(&at.run->lowered.program, at.rank);
    const struct ty_gang *gang = &at.run->lowered.program.gangs[seat.gang];
    const struct ty_rank_stats *stats = &at.run->stats.rank[at.rank];
    const struct ty_gang_memory *memory = &at.run->stats.memory[seat.gang];
    uint32_t coord[TY_N_AXES];
    struct ty_bill bill;
    ty_run_bill(at.run, seat.gang, &bill);
    ty_grid_coords(grid, at.rank, coord);
    const struct ty_expert_place expert = ty_expert_place(&at.run->config->layout, grid, at.rank);
    ty_json_object(j, NULL);
    ty_json_text(j, "job", at.job);
    put_stuck(j, run, rank);
    ty_json_whole(j, "rank", at.rank);
    ty_json_whole(j, "stage", coord[TY_AXIS_PIPELINE]);
    ty_json_whole(j, "dp", coord[TY_AXIS_DATA]);
    ty_json_whole(j, "tp", coord[TY_AXIS_TENSOR]);
    ty_json_whole(j, "cp", coord[TY_AXIS_CONTEXT]);
    ty_json_whole(j, "ep", expert.expert);
    ty_json_whole(j, "etp", expert.tensor);
    ty_json_whole(j, "node", ty_grid_node(grid, at.rank));
    ty_json_whole(j, "gpu", ty_grid_gpu(grid, at.rank) % grid->gpus_per_node);
    ty_json_real(j, "capacity", ty_run_gpu(at.run, at.rank)->gpu.memory);
    ty_json_real(j, "peak", bill.total_B);
    ty_json_real(j, "reserve", bill.total_B - memory->peak_B);
    ty_json_whole(j, "peak_held", memory->peak_held);
    ty_json_text(j, "transient_what", memory->transient_what);
    ty_json_array(j, "fixed");
    for (uint32_t k = 0; k < TY_N_MEMORY; k++) {
        ty_json_real(j, NULL, gang->static_B[k]);
    }
    ty_json_end(j);
    ty_json_array(j, "buckets_ps");
    for (uint32_t b = 0; b < at.run->lowered.program.words->n_buckets; b++) {
        ty_json_whole(j, NULL, stats->bucket[b]);
    }
    ty_json_end(j);
    ty_json_array(j, "busy_ps");
    const struct ty_program *p = &at.run->lowered.program;
    for (uint32_t l = 0; l < p->n_lanes; l++) {
        ty_json_whole(j, NULL, stats->stream_busy[p->stream_of[l]]);
    }
    ty_json_end(j);
    ty_json_end(j);
}

static void put_rows(struct ty_json *j, const struct ty_run *run,
                     const struct ty_selection *selection)
{
    ty_json_line(j, 0);
    ty_json_array(j, "rows");
    ty_json_rows(j);
    for (uint32_t i = 0; i < selection->n; i++) {
        put_row(j, run, selection->ranks[i]);
    }
    ty_json_end(j);
}

/* As `run --stats json` has it. */
static int put_links(struct ty_json *j, const struct ty_run *run, struct ty_err *err)
{
    j->tight = false;
    ty_json_line(j, 2);
    const int rc = ty_report_links_json(run, j, err);
    j->tight = true;
    return rc;
}

/* ---- weeks ---- */

/* Whether the run file asks about more than this step. */
static bool asks_for_weeks(const struct ty_config *c)
{
    for (uint32_t i = 0; i < ty_n_fleet_fields; i++) {
        const struct ty_origin *origin =
            ty_field_origin(&c->sections[TY_SECTION_FLEET], &ty_fleet_fields[i]);
        if (origin->kind >= TY_ORIGIN_FILE) {
            return true;
        }
    }
    return false;
}

static int put_fleet(struct ty_json *j, const struct ty_run *run, struct ty_err *err)
{
    static const char *const forms[][2] = {{"report", "json"}, {"svg", "svg"}};
    int rc = 0;
    if (!asks_for_weeks(run->config)) {
        return 0;
    }
    ty_json_line(j, 0);
    ty_json_object(j, "fleet");
    for (size_t i = 0; i < TY_COUNT(forms) && rc == 0; i++) {
        const struct ty_fleet_request request = {.form = forms[i][1]};
        char *text = NULL;
        rc = ty_run_fleet(run, &request, &text, err);
        ty_json_text(j, forms[i][0], text != NULL ? text : "");
        ty_text_free(text);
    }
    ty_json_end(j);
    return rc;
}

int ty_page_put_run(struct ty_json *j, const struct ty_run *run,
                    const struct ty_selection *selection, bool variants, struct ty_err *err)
{
    int rc = put_head(j, run, err);
    put_stages(j, run);
    put_rows(j, run, selection);
    rc = rc < 0 ? rc : ty_report_places_page(j, run, err);
    if (rc < 0 || ty_run_halted(run)) {
        return rc;
    }
    put_figures(j, run);
    put_formula(j, run);
    ty_json_line(j, 0);
    rc = ty_report_experts_json(run, j, err);
    rc = rc < 0 ? rc : put_fleet(j, run, err);
    if (rc == 0 && variants) {
        rc = ty_page_put_schedules(j, run, err);
    }
    return rc < 0 ? rc : put_links(j, run, err);
}
