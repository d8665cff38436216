/* formats.c - the table of trace formats, and the format that a target names. */
#include <stdio.h>
#include <string.h>

#include "sim/base/text.h"
#include "traces/out/writer.h"

const struct ty_trace_format *const ty_trace_formats[] = {
#define X(id) &ty_trace_##id,
    TY_TRACE_FORMATS(X)
#undef X
        NULL,
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

int ty_trace_target(const char *whose, const char *target, const struct ty_trace_format **format,
                    const char **path, struct ty_err *err)
{
    const char *colon = strchr(target, ':');
    const char *names[TY_COUNT(ty_trace_formats) - 1];
    const size_t n = TY_COUNT(names);
    char list[160] = "";
    for (size_t i = 0; i < n; i++) {
        names[i] = ty_trace_formats[i]->name;
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i == 0 ? "" : ", ",
                 names[i]);
    }
    if (colon == NULL || colon[1] == '\0') {
        return ty_fail(err, TY_EUSAGE, "%s %s: not FORMAT:PATH; write it like chrome:step.json",
                       whose, target);
    }
    char name[32];
    snprintf(name, sizeof(name), "%.*s", (int)(colon - target), target);
    *path = colon + 1;
    *format = ty_trace_format(name);
    if (*format != NULL) {
        return 0;
    }
    ty_fail(err, TY_EUSAGE, "%s %s: unknown format (%s); write one of %s", whose, target, name,
            list);
    const char *near = ty_nearest(name, names, n);
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}
