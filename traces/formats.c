/* formats.c - the table of trace formats (a new format is a file and a row), and what several of
 * them ask of a trace. */
#include "traces/writer.h"

const struct ty_trace_format *const ty_trace_formats[] = {
    &ty_trace_chrome, &ty_trace_perfetto, &ty_trace_kineto, &ty_trace_csv,
    &ty_trace_gantt,  &ty_trace_svg,      &ty_trace_digest, NULL,
};

const struct ty_trace_format *ty_trace_format(const char *name)
{
    for (size_t i = 0; ty_trace_formats[i] != NULL; i++) {
        if (strcmp(ty_trace_formats[i]->name, name) == 0) {
            return ty_trace_formats[i];
        }
    }
    return NULL;
}

double ty_trace_window_share(const struct ty_trace *trace)
{
    const ty_ps makespan = trace->timeline->makespan;
    const ty_ps to = trace->window_to < makespan ? trace->window_to : makespan;
    if (makespan == 0) {
        return 1;
    }
    return to > trace->window_from ? (double)(to - trace->window_from) / (double)makespan : 0;
}

void ty_trace_put_meta(struct ty_out *out, const struct ty_meta *meta)
{
    if (meta->text != NULL) {
        ty_out_json_string(out, meta->text);
    } else if (meta->flag) {
        ty_out_str(out, "true");
    } else {
        ty_out_json_number(out, meta->number);
    }
}
