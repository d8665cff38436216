/* writer.c - what several formats ask of a trace. */
#include "traces/out/writer.h"

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
