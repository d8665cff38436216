/* list.c - `trainyard list`: what can be named in a run file, from the tables that read it. */
#include <string.h>

#include "model/arch.h"
#include "model/framework.h"
#include "model/sched.h"
#include "sim/base/text.h"
#include "sim/run/config.h"
#include "sim/trainyard.h"
#include "topology/fabric.h"
#include "traces/writer.h"

#define COLUMN 20

static void line(struct ty_text *t, const char *name, const char *summary, const char *source)
{
    ty_text_add(t, "%s", name);
    ty_text_pad(t, COLUMN);
    ty_text_add(t, "%s", summary);
    if (source != NULL && source[0] != '\0') {
        ty_text_add(t, " [%s]", source);
    }
    ty_text_add(t, "\n");
}

static void presets(struct ty_text *t, const struct ty_preset *row)
{
    for (; row->name != NULL; row++) {
        line(t, row->name, row->summary, row->source);
    }
}

static void list_models(struct ty_text *t)
{
    presets(t, ty_arch_presets);
}

static void list_gpus(struct ty_text *t)
{
    presets(t, ty_gpu_presets);
}

static void list_frameworks(struct ty_text *t)
{
    presets(t, ty_framework_presets);
}

static void list_clusters(struct ty_text *t)
{
    presets(t, ty_cluster_presets);
}

static void list_fabrics(struct ty_text *t)
{
    presets(t, ty_fabric_presets);
}

static void list_schedules(struct ty_text *t)
{
    for (size_t i = 0; ty_schedules[i] != NULL; i++) {
        line(t, ty_schedules[i]->name, ty_schedules[i]->summary, ty_schedules[i]->source);
    }
}

static void list_collectives(struct ty_text *t)
{
    for (size_t i = 0; ty_coll_algorithms[i] != NULL; i++) {
        line(t, ty_coll_algorithms[i]->name, ty_coll_algorithms[i]->summary,
             ty_coll_algorithms[i]->source);
    }
}

static void list_formats(struct ty_text *t)
{
    for (size_t i = 0; ty_trace_formats[i] != NULL; i++) {
        line(t, ty_trace_formats[i]->name, ty_trace_formats[i]->summary, NULL);
    }
}

int ty_list(const char *what, char **text, struct ty_err *err)
{
    static const struct {
        const char *name;
        void (*list)(struct ty_text *);
    } lists[] = {
        {"schedules", list_schedules},
        {"models", list_models},
        {"gpus", list_gpus},
        {"clusters", list_clusters},
        {"fabrics", list_fabrics},
        {"frameworks", list_frameworks},
        {"collectives", list_collectives},
        {"formats", list_formats},
    };
    const char *names[TY_COUNT(lists) + 2];
    *text = NULL;
    if (strcmp(what, "keys") == 0) {
        return ty_config_keys(text, err);
    }
    if (strcmp(what, "schema") == 0) {
        return ty_config_schema(text, err);
    }
    names[TY_COUNT(lists)] = "keys";
    names[TY_COUNT(lists) + 1] = "schema";
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        names[i] = lists[i].name;
        if (strcmp(what, names[i]) == 0) {
            struct ty_text t = {.data = NULL};
            lists[i].list(&t);
            *text = ty_text_take(&t);
            return *text != NULL ? 0 : ty_fail(err, TY_ENOMEM, "out of memory");
        }
    }
    ty_fail(err, TY_EUSAGE,
            "cannot list \"%s\"; use schedules, models, gpus, clusters, fabrics, frameworks, "
            "collectives, formats, keys or schema",
            what);
    const char *near = ty_nearest(what, names, TY_COUNT(names));
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}
