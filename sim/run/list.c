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
#include "sim/cli_api.h"
#include "topology/fabric/fabric.h"
#include "traces/out/writer.h"

#define COLUMN      20
#define FIGURE_UNIT 25
#define FIGURE_DOC  35
#define PRESET_NOTE 35
#define PRESETS_MAX 128 /* in a catalogue that a mistyped name is compared with */

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

/* What a config.json may be of, and what is refused. */
static void list_families(struct ty_text *t)
{
    const char *about = NULL, *name = NULL;
    for (size_t i = 0; (name = ty_arch_family(i, &about)) != NULL; i++) {
        line(t, name, about, NULL);
    }
    ty_text_add(t, "\nothers, where all keys are llama's; refused are\n\n");
    for (size_t i = 0; (name = ty_arch_refused_families(i, &about)) != NULL; i++) {
        ty_text_add(t, "%s: %s\n", name, about);
    }
}

static int take(struct ty_text *t, char **text, struct ty_err *err)
{
    *text = ty_text_take(t);
    return *text != NULL ? 0 : ty_fail_memory(err);
}

static int no_file(char **text, struct ty_err *err)
{
    *text = NULL;
    return ty_fail(err, TY_EUSAGE, "of which run file? write list layer FILE or list ranks FILE");
}

/* What can be listed: entries, or what another file writes, or presets of a section. */
static const struct catalogue {
    const char *name, *about;
    void (*list)(struct ty_text *);
    int (*other)(char **text, struct ty_err *err);
    const char *section;
    const struct ty_preset *presets;
    const struct ty_field *fields; /* of a section that a preset alone makes up; else NULL */
    const uint32_t *n_fields;
} lists[] = {
    {"schedules", "pipeline schedules", .list = list_schedules},
    {"models", "presets of model.preset", .section = "model", .presets = ty_arch_presets},
    {"families", "model_type of config.json files for model.huggingface", .list = list_families},
    {"gpus", "presets of cluster.gpu", .section = "cluster", .presets = ty_gpu_presets},
    {"clusters", "presets of cluster.preset", .section = "cluster", .presets = ty_cluster_presets},
    {"fabrics", "presets of fabric.preset", .section = "fabric", .presets = ty_fabric_presets},
    {"frameworks", "training frameworks, presets of framework.preset", .section = "framework",
     .presets = ty_framework_presets, .fields = ty_framework_fields,
     .n_fields = &ty_n_framework_fields},
    {"collectives", "algorithms of collectives", .list = list_collectives},
    {"formats", "of traces", .list = list_formats},
    {"figures", "of a run that are one number each, with their units", .list = list_figures},
    {"keys", "of the run file, a line each; keys SECTION or keys KEY: all about them",
     .list = NULL},
    {"schema", "a JSON schema of the run file, for editors", .other = ty_config_schema},
    {"layer", "layer FILE: operators of a run file's layers, shapes to times", .other = no_file},
    {"ranks", "ranks FILE: which rank is in which group, on which GPU of which node",
     .other = no_file},
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

/* The names of the catalogues. */
static int list_lists(char **text, struct ty_err *err)
{
    struct ty_text t = {.data = NULL};
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        line(&t, lists[i].name, lists[i].about, NULL);
    }
    return take(&t, text, err);
}

static int list_entries(const char *what, char **text, struct ty_err *err)
{
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        if (strcmp(what, lists[i].name) != 0) {
            continue;
        }
        if (lists[i].other != NULL) {
            return lists[i].other(text, err);
        }
        struct ty_text t = {.data = NULL};
        if (lists[i].presets != NULL) {
            presets(&t, lists[i].presets);
        } else {
            lists[i].list(&t);
        }
        return take(&t, text, err);
    }
    return unknown(what, err);
}

/* A preset as the section of a run file, and the defaults of keys that it leaves alone. */
static void write_preset(struct ty_text *t, const struct catalogue *c, const struct ty_preset *row,
                         const char *text)
{
    ty_text_add(t, "# %s: %s [%s]\n%s:\n", row->name, row->summary, row->source, c->section);
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        ty_text_add(t, "  %.*s\n", (int)strcspn(at, "\n"), at);
    }
    for (uint32_t i = 0; c->fields != NULL && i < *c->n_fields; i++) {
        if (ty_preset_line(text, c->fields[i].key) == NULL) {
            ty_text_add(t, "  %s: %s", c->fields[i].key, c->fields[i].fallback);
            ty_text_pad(t, PRESET_NOTE);
            ty_text_add(t, "# default\n");
        }
    }
}

static int unknown_preset(const struct catalogue *c, const char *name, struct ty_err *err)
{
    const char *names[PRESETS_MAX];
    size_t n = 0;
    while (n < PRESETS_MAX && c->presets[n].name != NULL) {
        names[n] = c->presets[n].name;
        n++;
    }
    ty_fail(err, TY_EUSAGE, "%s: not one of the %s; trainyard list %s has all", name, c->name,
            c->name);
    const char *near = ty_nearest(name, names, n);
    if (near != NULL) {
        ty_hint(err, "did you mean \"%s\"?", near);
    }
    return TY_EUSAGE;
}

static int list_preset(const char *what, const char *name, char **text, struct ty_err *err)
{
    for (size_t i = 0; i < TY_COUNT(lists); i++) {
        if (strcmp(what, lists[i].name) != 0 || lists[i].presets == NULL) {
            continue;
        }
        const struct ty_preset *row = ty_preset_find(lists[i].presets, name);
        if (row == NULL) {
            return unknown_preset(&lists[i], name, err);
        }
        struct ty_text t = {.data = NULL};
        struct ty_arena arena = {.head = NULL};
        const char *all = ty_preset_text(lists[i].presets, row, &arena);
        if (all != NULL) {
            write_preset(&t, &lists[i], row, all);
        }
        ty_arena_release(&arena);
        return all != NULL ? take(&t, text, err) : ty_fail_memory(err);
    }
    return ty_fail(err, TY_EUSAGE,
                   "%s is one word too many; a second one goes with keys, layer and the catalogues "
                   "of presets",
                   name);
}

int ty_list(const char *what, const char *name, char **text, struct ty_err *err)
{
    *text = NULL;
    if (what == NULL) {
        return list_lists(text, err);
    }
    if (strcmp(what, "keys") == 0) {
        return ty_list_keys(name, text, err);
    }
    return name != NULL ? list_preset(what, name, text, err) : list_entries(what, text, err);
}
