/* run_file.c - the schedule of a run file, as options of `trainyard schedule`. */
#include "sim/base/err.h"
#include "sim/config/config.h"
#include "sim/cli_api.h"

int ty_schedule_of(const struct ty_config *config, struct ty_schedule_options *options,
                   struct ty_err *err)
{
    const struct ty_sched_options *s = &config->schedule;
    const char *path = config->docs[0].file;
    if (config->workload.job != NULL) {
        return ty_fail(err, TY_EINPUT,
                       "%s: what it runs is in a trace (section workload), which has no schedule; "
                       "draw it by \"trainyard run\" with --trace",
                       path);
    }
    if (ty_sched_pairs(s)) {
        return ty_fail(err, TY_EINPUT,
                       "%s: framework.expert_overlap pairs passes of this schedule; draw it by "
                       "\"trainyard run\" with --trace, or set framework.expert_overlap: false",
                       path);
    }
    *options = (struct ty_schedule_options){.times = s->times, .stages = s->stages};
    if (s->custom != NULL) {
        options->name = s->custom->name;
        options->text = s->custom->text;
        return 0;
    }
    options->name = ty_sched_of(s)->name;
    options->pipeline = config->layout.pipeline;
    options->micro_batches = config->layout.micro_batches;
    options->chunks = ty_sched_chunks(s);
    options->group = s->group;
    options->slices = ty_sched_slices(s);
    return 0;
}
