/* pass_times.c - passes as they were executed, see pass_times.h. */
#include "sim/run/pass_times.h"

#include <math.h>
#include <string.h>

/* Mean time of a stage's passes by phase, from the first operation to the last, s: on the GPU of
 * the stage that computes longest, as the others wait for it. */
struct pass_times {
    double mean[TY_N_PHASES];
    uint32_t n[TY_N_PHASES];
};

/* The program whose times there are: of all ranks, or of one of each gang. */
static const struct ty_program *executed(const struct ty_run *run)
{
    return ty_run_is_folded(run) ? run->timeline.program : &run->lowered.program;
}

static uint32_t slowest_member(const struct ty_run *run, const struct ty_gang *gang)
{
    ty_ps most = 0;
    uint32_t slowest = 0;
    for (uint32_t i = 0; gang->n_ranks > 1 && i < gang->n_ranks; i++) {
        const ty_ps busy = run->stats.rank[gang->rank_of[i]].stream_busy[TY_STREAM_COMPUTE];
        slowest = busy > most ? i : slowest;
        most = busy > most ? busy : most;
    }
    return slowest;
}

/* From the first operation of a pass on the compute stream of a member to the last, ps. */
static ty_ps pass_time(const struct ty_run *run, const struct ty_gang *gang,
                       const struct ty_pass *pass, uint32_t member)
{
    const struct ty_program *p = executed(run);
    const struct ty_op *ops = ty_pass_ops(p, pass);
    ty_ps first = UINT64_MAX, last = 0;
    for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
        if (ops[k].stream == TY_STREAM_COMPUTE) {
            const uint64_t ordinal = (uint64_t)pass->first_op + k;
            const ty_ps start = ty_timeline_starts(&run->timeline, gang, ordinal)[member];
            first = start < first ? start : first;
            last = start + ty_timeline_dur(&run->timeline, gang, &ops[k], ordinal, member);
        }
    }
    return first < last ? last - first : 0;
}

static struct pass_times pass_times_of(const struct ty_run *run, uint32_t stage)
{
    const struct ty_program *p = executed(run);
    const struct ty_gang *gang = &p->gangs[stage];
    const uint32_t member = slowest_member(run, gang);
    struct pass_times times = {.mean = {0}};
    for (uint32_t i = 0; i < gang->n_passes; i++) {
        const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
        const ty_ps time = pass_time(run, gang, pass, member);
        if (time > 0) {
            times.mean[pass->phase] += ty_s_from_ps(time);
            times.n[pass->phase] += !pass->resumed;
        }
    }
    for (uint32_t k = 0; k < TY_N_PHASES; k++) {
        times.mean[k] /= times.n[k] > 0 ? times.n[k] : 1;
    }
    return times;
}

void ty_stage_work(const struct ty_run *run, double *work)
{
    const struct ty_program *p = executed(run);
    const uint32_t stages = p->n_gangs * ty_sched_chunks(&run->config->schedule);
    const double rounds = (double)run->config->layout.micro_batches * p->n_steps;
    for (uint32_t s = 0; s < stages; s++) {
        work[s] = 0;
    }
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        const uint32_t member = slowest_member(run, gang);
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
            if (pass->phase != TY_PHASE_STEP) {
                work[pass->stage] += ty_s_from_ps(pass_time(run, gang, pass, member)) / rounds;
            }
        }
    }
}

/* Where the parts of passes are added up. */
struct parts {
    const struct ty_timeline *timeline;
    double *work, *layer;
    uint32_t n_layers;
    uint32_t *forwards; /* [virtual stages] */
};

static void add_parts(const struct parts *out, const struct ty_gang *gang,
                      const struct ty_pass *pass, uint32_t member)
{
    const struct ty_program *p = out->timeline->program;
    const struct ty_op *ops = ty_pass_ops(p, pass);
    ty_ps last = UINT64_MAX;
    for (uint32_t k = 0; k < p->blocks[pass->block].n_ops; k++) {
        if (ops[k].stream != TY_STREAM_COMPUTE) {
            continue;
        }
        const uint64_t ordinal = (uint64_t)pass->first_op + k;
        const ty_ps start = ty_timeline_starts(out->timeline, gang, ordinal)[member];
        const ty_ps end = start + ty_timeline_dur(out->timeline, gang, &ops[k], ordinal, member);
        const double seconds = ty_s_from_ps(end - (last < start ? last : start));
        *(ops[k].layer < out->n_layers ? &out->layer[ops[k].layer] : &out->work[pass->stage]) +=
            seconds;
        last = end;
    }
    out->forwards[pass->stage] += pass->phase == TY_PHASE_FORWARD && !pass->resumed;
}

void ty_layer_work(const struct ty_run *run, double *work, double *layer)
{
    const struct ty_config *c = run->config;
    const struct ty_program *p = run->timeline.program;
    const uint32_t stages = c->layout.stages;
    uint32_t forwards[TY_LIST_MAX] = {0};
    const struct parts out = {&run->timeline, work, layer, c->arch.layers, forwards};
    memset(work, 0, stages * sizeof(*work));
    memset(layer, 0, c->arch.layers * sizeof(*layer));
    for (uint32_t g = 0; g < p->n_gangs; g++) {
        const struct ty_gang *gang = &p->gangs[g];
        const uint32_t member = slowest_member(run, gang);
        for (uint32_t i = 0; i < gang->n_passes; i++) {
            const struct ty_pass *pass = &ty_gang_passes(p, gang)[i];
            if (pass->phase != TY_PHASE_STEP) {
                add_parts(&out, gang, pass, member);
            }
        }
    }
    for (uint32_t s = 0; s < stages; s++) {
        const struct ty_layers own = ty_layout_layers(&c->layout, &c->arch, stages, s);
        work[s] /= forwards[s];
        for (uint32_t i = 0; i < own.count; i++) {
            layer[own.first + i] /= forwards[s];
        }
    }
}

struct ty_stage_times ty_stage_times_of(const struct ty_run *run)
{
    const uint32_t p = run->lowered.program.n_gangs;
    struct ty_stage_times out = {.mean = {.overlap = -1}};
    for (uint32_t s = 0; s < p; s++) {
        const struct pass_times t = pass_times_of(run, s);
        const double split = t.mean[TY_PHASE_DGRAD] + t.mean[TY_PHASE_WGRAD];
        const double back = t.n[TY_PHASE_BACKWARD] > 0 ? t.mean[TY_PHASE_BACKWARD] : split;
        const double work = t.mean[TY_PHASE_FORWARD] + back;
        out.mean.forward += t.mean[TY_PHASE_FORWARD] / p;
        out.mean.backward += back / p;
        out.mean.input += t.mean[TY_PHASE_DGRAD] / p;
        out.mean.weight += t.mean[TY_PHASE_WGRAD] / p;
        out.work += work / p;
        out.slowest = work > out.most ? s : out.slowest;
        out.most = work > out.most ? work : out.most;
    }
    return out;
}

double ty_stage_times_uneven(const struct ty_run *run, const struct ty_stage_times *times)
{
    return (times->most - times->work) * ty_stage_times_rounds(run);
}

uint32_t ty_stage_times_rounds(const struct ty_run *run)
{
    const struct ty_sched_options *schedule = &run->config->schedule;
    return run->config->layout.micro_batches * ty_sched_chunks(schedule) *
           ty_sched_slices(schedule);
}

double ty_stage_times_evaluation(const struct ty_run *run, uint32_t sequences)
{
    const struct ty_layout *l = &run->config->layout;
    const uint32_t slices = ty_sched_slices(&run->config->schedule);
    const double rounds = ceil((double)sequences / l->micro_batch / l->data) * slices;
    double through = 0, most = 0;
    for (uint32_t s = 0; s < run->lowered.program.n_gangs; s++) {
        const double forward = pass_times_of(run, s).mean[TY_PHASE_FORWARD];
        through += forward;
        most = forward > most ? forward : most;
    }
    return ty_sched_chunks(&run->config->schedule) * (through + (rounds - 1) * most);
}

double ty_stage_times_formula(const struct ty_run *run, const struct ty_stage_times *times)
{
    const struct ty_sched *sched = ty_sched_of(&run->config->schedule);
    struct ty_sched_shape shape = ty_sched_shape_of(
        &run->config->schedule, run->config->layout.pipeline, run->config->layout.micro_batches);
    /* without a flush: all steps, one behind the other */
    const uint32_t steps = sched->asynchronous ? run->lowered.program.n_steps : 1;
    shape.m *= steps;
    return sched->makespan(&shape, &times->mean) / steps;
}
