/* report.c - the reports of trainyard.h, as text. */
#include <string.h>

#include "sim/base/words.h"
#include "sim/report/table.h"
#include "sim/run/jobs.h"

/* Hands over what was written, unless that ended with an error. */
static int hand_over(int rc, struct ty_text *t, char **text, struct ty_err *err)
{
    if (rc < 0) {
        ty_text_release(t);
        return rc;
    }
    *text = ty_text_take(t);
    return *text != NULL ? 0 : ty_fail_memory(err);
}

typedef int write_fn(const struct ty_run *run, struct ty_text *text, struct ty_err *err);

static const struct {
    const char *name;
    write_fn *write;
} formats[] = {{"table", ty_report_table}, {"json", ty_report_json}};

int ty_run_report_check(const char *format, struct ty_err *err)
{
    for (size_t i = 0; i < TY_COUNT(formats); i++) {
        if (strcmp(format, formats[i].name) == 0) {
            return (int)i;
        }
    }
    return ty_fail(err, TY_EUSAGE, "--stats %s: unknown; write table or json", format);
}

static int write_report(const struct ty_run *run, write_fn *write, char **text, struct ty_err *err)
{
    struct ty_text t = {.data = NULL};
    if (!run->executed) {
        return ty_fail(err, TY_EUSAGE, "a report needs an executed run");
    }
    return hand_over(write(run, &t, err), &t, text, err);
}

int ty_run_report(const struct ty_run *run, const char *format, char **text, struct ty_err *err)
{
    *text = NULL;
    const int index = ty_run_report_check(format, err);
    return index < 0 ? index : write_report(run, formats[index].write, text, err);
}

int ty_run_report_brief(const struct ty_run *run, char **text, struct ty_err *err)
{
    *text = NULL;
    return write_report(run, ty_report_brief, text, err);
}

/* What the simulator itself would need: the timeline column and the program. */
static void describe_simulator(const struct ty_run *run, struct ty_text *t)
{
    const struct ty_program *p = run->jobs != NULL ? &run->jobs->program : &run->lowered.program;
    const double bytes = ty_run_timeline_B(p) * run->lowered.window.times;
    char tasks[64], size[64];
    ty_text_add(
        t, "\nto simulate: %s tasks in %u passes from %u blocks; timeline %s\n",
        ty_words_count((double)p->n_tasks * run->lowered.window.times, tasks, sizeof(tasks)),
        (unsigned)p->n_passes, (unsigned)p->n_blocks, ty_words_bytes(bytes, size, sizeof(size)));
}

/* The traces of the run file, and about how large they will be. */
static int describe_traces(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    const char *trace;
    int rc = 0;
    for (size_t i = 0; (trace = ty_config_trace(run->config, i)) != NULL && rc == 0; i++) {
        double bytes;
        char size[64], *advice = NULL;
        rc = ty_run_trace_size(run, trace, NULL, &bytes, &advice, err);
        ty_text_add(t, "trace %s: %s%s\n", trace, bytes > 0 ? "about " : "small",
                    bytes > 0 ? ty_words_bytes(bytes, size, sizeof(size)) : "");
        if (bytes > run->config->output.trace_limit) {
            ty_text_add(t, "  more than output.trace_limit: run will refuse it\n");
        }
        if (advice != NULL) {
            ty_text_add(t, "  %s\n", advice);
        }
        ty_text_free(advice);
    }
    return rc;
}

static int describe(const struct ty_run *run, struct ty_text *t, struct ty_err *err)
{
    ty_report_head(run, t);
    if (run->config->workload.job != NULL) {
        ty_report_fabric(run, t);
        describe_simulator(run, t);
        return describe_traces(run, t, err);
    }
    ty_text_add(t, "parameters held by a GPU before data-parallel sharding\n");
    for (uint32_t s = 0; s < run->lowered.program.n_gangs; s++) {
        char params[64];
        ty_text_add(t, "  stage %u", (unsigned)s);
        ty_text_pad(t, 12);
        ty_text_add(t, "%s\n",
                    ty_words_count(run->lowered.stage[s].params, params, sizeof(params)));
    }
    int rc = ty_report_memory(run, t, err);
    if (rc < 0) {
        return rc;
    }
    ty_report_fabric(run, t);
    rc = ty_report_measured(run, t, err);
    if (rc < 0) {
        return rc;
    }
    ty_report_jobs_describe(run, t);
    describe_simulator(run, t);
    return run->jobs == NULL ? describe_traces(run, t, err) : 0;
}

int ty_run_describe(const struct ty_run *run, char **text, struct ty_err *err)
{
    struct ty_text t = {.data = NULL};
    *text = NULL;
    const int fault = ty_run_schedule_check(run, err);
    return fault < 0 ? fault : hand_over(describe(run, &t, err), &t, text, err);
}
