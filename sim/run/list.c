/* list.c - `trainyard list`: what can be named in a run file, and what comes out of a run, from the
 * tables that read and write it. */
#include <stdlib.h>
#include <string.h>

#include "model/arch.h"
#include "model/framework.h"
#include "model/schedule/schedule.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/run/figures.h"
#include "sim/trainyard.h"
#include "topology/fabric/fabric.h"
#include "traces/out/writer.h"

#define COLUMN      20
#define FIGURE_UNIT 25
#define FIGURE_DOC  35

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

static void list_figures(struct ty_text *t)
{
    for (uint32_t i = 0; i < ty_n_figures; i++) {
        const struct ty_figure_row *row = &ty_figure_table[i];
        if (row->name != NULL) {
            ty_text_add(t, "%s", row->name);
            ty_text_pad(t, FIGURE_UNIT);
            ty_text_add(t, "%s", ty_figure_unit_word(row->unit));
            ty_text_pad(t, FIGURE_DOC);
            ty_text_add(t, "%s\n", row->doc);
        }
    }
}

static int take(struct ty_text *t, char **text, struct ty_err *err)
{
    *text = ty_text_take(t);
    return *text != NULL ? 0 : ty_fail_memory(err);
}

static int keys(char **text, struct ty_err *err)
{
    return ty_list_keys(NULL, text, err);
}

static int no_file(char **text, struct ty_err *err)
{
    *text = NULL;
    return ty_fail(err, TY_EUSAGE, "layer: of which run file? write list layer FILE");
}

/* What can be listed: entries, or what another file writes. */
static const struct {
    const char *name, *about;
    void (*list)(struct ty_text *);
    int (*other)(char **text, struct ty_err *err);
} lists[] = {
    {"schedules", "orders of forwards and backwards in a pipeline", list_schedules, NULL},
    {"models", "presets of model.preset", list_models, NULL},
    {"gpus", "presets of cluster.gpu", list_gpus, NULL},
    {"clusters", "presets of cluster.preset", list_clusters, NULL},
    {"fabrics", "presets of fabric.preset", list_fabrics, NULL},
    {"frameworks", "training stacks, presets of framework.preset", list_frameworks, NULL},
    {"collectives", "algorithms of collectives", list_collectives, NULL},
    {"formats", "of traces", list_formats, NULL},
    {"figures", "of a run that are one number each, with their units", list_figures, NULL},
    {"keys", "of the run file, a line each; keys SECTION or keys KEY: all about them", NULL, keys},
    {"schema", "a JSON schema of the run file, for editors", NULL, ty_config_schema},
    {"layer", "layer FILE: operators of a run file's layers, shapes to times", NULL, no_file},
};

const char *ty_list_name(size_t i, const char **about)
{
    if (about != NULL) {
        *about = i < TY_COUNT(lists) ? lists[i].about : NULL;
    }
    return i < TY_COUNT(lists) ? lists[i].name : NULL;
}

static int unknown(const char *what, struct ty_err *err)
{
    const char *names[TY_COUNT(lists)];
    struct ty_text all = {.data = NULL};
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        names[i] = lists[i].name;
        ty_text_add(&all, "%s%s", i == 0 ? "" : i + 1 < TY_COUNT(lists) ? ", " : " or ", names[i]);
    }
    char *text = ty_text_take(&all);
    ty_fail(err, TY_EUSAGE, "%s: no such list; write %s", what, text != NULL ? text : "keys");
    free(text);
    const char *near = ty_nearest(what, names, TY_COUNT(names));
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

int ty_list(const char *what, char **text, struct ty_err *err)
{
    *text = NULL;
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        if (strcmp(what, lists[i].name) != 0) {
            continue;
        }
        if (lists[i].other != NULL) {
            return lists[i].other(text, err);
        }
        struct ty_text t = {.data = NULL};
        lists[i].list(&t);
        return take(&t, text, err);
    }
    return unknown(what, err);
}
