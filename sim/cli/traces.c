/* traces.c - what options say of traces, for the commands that write some. */
#include <string.h>

#include "sim/cli/cli.h"

struct ty_trace_options cli_trace_options(const struct cli_options *o)
{
    return (struct ty_trace_options){.ranks = o->ranks,
                                     .detail = o->detail,
                                     .window = o->window,
                                     .order = o->order,
                                     .counters = o->counters,
                                     .steps = o->steps,
                                     .args = o->args,
                                     .flows = o->flows,
                                     .critical = o->critical,
                                     .width = o->width,
                                     .palette = o->palette,
                                     .bubbles = o->bubbles,
                                     .no_bubbles = o->no_bubbles,
                                     .force = o->force};
}

const char *cli_trace_path(const char *trace)
{
    const char *colon = strchr(trace, ':');
    return colon != NULL ? colon + 1 : trace;
}
