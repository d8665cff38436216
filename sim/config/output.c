/* output.c - the traces that are asked for, see load.h. */
#include "sim/config/load.h"
#include "traces/out/writer.h"

void ty_loader_output(struct ty_loader *l)
{
    const struct ty_config *c = l->config;
    struct ty_place at = ty_section_place(&c->sections[TY_SECTION_OUTPUT], "trace");
    for (uint32_t i = 0; i < c->output.trace.n && !c->failed[TY_SECTION_OUTPUT]; i++) {
        const struct ty_trace_format *format;
        const char *path;
        struct ty_err why;
        ty_err_init(&why);
        if (ty_trace_target("output.trace:", c->output.trace.item[i], &format, &path, &why) < 0) {
            at.line = c->output.trace.at[i].line;
            at.col = c->output.trace.at[i].col;
            ty_loader_note(l, TY_SECTION_OUTPUT,
                           ty_fail_at(l->err, TY_EINPUT, &at, "%s", why.text));
        }
    }
}
