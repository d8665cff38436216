/* config.c - loading a run file.
 *
 * Order: the file, its overlays and every --set are parsed; presets are looked up; then values are
 * applied from the weakest source to the strongest (GPU preset, cluster preset; Hugging Face file
 * or model preset; file; overlays; --set), defaults fill what is left, and the modules check and
 * derive. A section with a wrong value is not checked further, the others are: one load reports
 * what it can. */
#include "sim/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/orders/text.h"
#include "sim/base/curve.h"
#include "sim/base/file.h"
#include "sim/base/text.h"
#include "sim/config/jobs.h"
#include "sim/config/load.h"
#include "sim/config/setting.h"
#include "sim/cli_api.h"

static const struct {
    const char *name, *doc;
} labels[] = {
#define X(id, name, doc) {name, doc},
    TY_SECTIONS(X)
#undef X
};

const char *ty_config_section_name(enum ty_section_index section)
{
    return labels[section].name;
}

void ty_config_point(struct ty_config *config)
{
    void *const base[] = {
        [TY_SECTION_CLUSTER] = &config->cluster,
        [TY_SECTION_FABRIC] = &config->fabric,
        [TY_SECTION_MODEL] = &config->arch,
        [TY_SECTION_LAYOUT] = &config->layout,
        [TY_SECTION_FRAMEWORK] = &config->layout.framework,
        [TY_SECTION_SCHEDULE] = &config->schedule,
        [TY_SECTION_WORKLOAD] = &config->workload,
        [TY_SECTION_RUN] = &config->run,
        [TY_SECTION_FLEET] = &config->fleet,
        [TY_SECTION_UNCERTAINTY] = &config->uncertainty,
        [TY_SECTION_MEASURED] = &config->measured,
        [TY_SECTION_OUTPUT] = &config->output,
    };
    for (size_t i = 0; i < TY_N_SECTIONS; i++) {
        config->sections[i].base = base[i];
    }
}

int ty_config_init(struct ty_config *config, struct ty_err *err)
{
    ty_gsl_quiet(); /* here, for nothing is done without a configuration */
    *config = (struct ty_config){.arena = {0}};
    const struct ty_section tables[] = {
        [TY_SECTION_CLUSTER] = {.fields = ty_cluster_fields, .n_fields = ty_n_cluster_fields},
        [TY_SECTION_FABRIC] = {.fields = ty_fabric_fields, .n_fields = ty_n_fabric_fields},
        [TY_SECTION_MODEL] = {.fields = ty_arch_fields, .n_fields = ty_n_arch_fields},
        [TY_SECTION_LAYOUT] = {.fields = ty_layout_fields, .n_fields = ty_n_layout_fields},
        [TY_SECTION_FRAMEWORK] = {.fields = ty_framework_fields, .n_fields = ty_n_framework_fields},
        [TY_SECTION_SCHEDULE] = {.fields = ty_sched_fields, .n_fields = ty_n_sched_fields},
        [TY_SECTION_WORKLOAD] = {.fields = ty_workload_fields, .n_fields = ty_n_workload_fields},
        [TY_SECTION_RUN] = {.fields = ty_run_fields, .n_fields = ty_n_run_fields},
        [TY_SECTION_FLEET] = {.fields = ty_fleet_fields, .n_fields = ty_n_fleet_fields},
        [TY_SECTION_UNCERTAINTY] = {.fields = ty_uncertainty_fields,
                                    .n_fields = ty_n_uncertainty_fields},
        [TY_SECTION_MEASURED] = {.fields = ty_measured_fields, .n_fields = ty_n_measured_fields},
        [TY_SECTION_OUTPUT] = {.fields = ty_output_fields, .n_fields = ty_n_output_fields},
    };
    for (size_t i = 0; i < TY_N_SECTIONS; i++) {
        struct ty_section *section = &config->sections[i];
        *section = tables[i];
        section->name = labels[i].name;
        section->doc = labels[i].doc;
        section->synonyms = ty_config_synonyms;
        section->origins = ty_arena_array(&config->arena, struct ty_origin, section->n_fields);
        config->was_blank[i] = ty_arena_array(&config->arena, bool, section->n_fields);
        if (!section->origins || !config->was_blank[i]) {
            return ty_fail_memory(err);
        }
    }
    ty_config_point(config);
    return 0;
}

enum ty_section_index ty_config_section(const char *name, size_t len)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        if (strlen(labels[i].name) == len && memcmp(labels[i].name, name, len) == 0) {
            return (enum ty_section_index)i;
        }
    }
    return TY_N_SECTIONS;
}

const struct ty_field *ty_config_field(const struct ty_config *config, const char *name,
                                       enum ty_section_index *section)
{
    const char *dot = strchr(name, '.');
    *section = dot != NULL ? ty_config_section(name, (size_t)(dot - name)) : TY_N_SECTIONS;
    return *section != TY_N_SECTIONS ? ty_section_field(&config->sections[*section], dot + 1)
                                     : NULL;
}

/* Reports a section that does not exist, with the nearest one as a hint. */
static int config_unknown_section(const char *name, const struct ty_place *at, struct ty_err *err)
{
    const char *names[TY_N_SECTIONS + 1] = {[TY_N_SECTIONS] = "jobs"};
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        names[i] = labels[i].name;
    }
    char hint[TY_SUGGESTION];
    return ty_fail_at(
        err, TY_EINPUT, at,
        "%.60s: unknown section; write one of cluster, fabric, model, layout, "
        "framework, schedule, workload, run, fleet, uncertainty, measured, output, jobs%s",
        name, ty_suggestion(name, names, TY_N_SECTIONS + 1, hint));
}

/* ---- "section.key=value" of the command line ---- */

/* The key is looked up in the tables of the run file, the value is read as YAML, and places count
 * from the start of the text. */

/* Reports what stands where sections are due: a key outside its section, or nothing
 * that there is. */
static int setting_outside(const struct ty_config *config, const char *key,
                           const struct ty_place *at, struct ty_err *err)
{
    const char *found[TY_N_SECTIONS];
    char list[160] = "";
    size_t n = 0, len = 0;
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        if (ty_section_field(&config->sections[i], key)) {
            found[n++] = config->sections[i].name;
        }
    }
    for (size_t i = 0; i < n && len < sizeof(list); i++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
                                i == 0       ? ""
                                : i + 1 == n ? " or "
                                             : ", ",
                                found[i]);
    }
    return n == 0 ? config_unknown_section(key, at, err)
                  : ty_fail_at(err, TY_EINPUT, at,
                               "%.60s: a key outside its section; indent it under %s", key, list);
}

/* Finds the field that "section.key" names, or reports why there is none. */
static int setting_find(struct ty_config *config, struct ty_setting *setting, const char *key,
                        const struct ty_place *at, struct ty_err *err)
{
    const char *dot = strchr(key, '.');
    setting->section = ty_config_section(key, dot ? (size_t)(dot - key) : strlen(key));
    if (!dot) {
        for (int i = 0; i < TY_N_SECTIONS; i++) {
            if (ty_section_field(&config->sections[i], key)) {
                return ty_fail_at(err, TY_EINPUT, at,
                                  "%.60s: a key without its section; hint: did you mean \"%s.%s\"?",
                                  key, config->sections[i].name, key);
            }
        }
        if (strcmp(key, TY_JOBS_KEY) == 0) {
            return ty_fail_at(err, TY_EINPUT, at,
                              "jobs: a list of the run file; write it there, or in an overlay "
                              "(--with)");
        }
        return ty_fail_at(
            err, TY_EINPUT, at, "%.60s: %s; write section.key=value, such as layout.tensor=8", key,
            setting->section < TY_N_SECTIONS ? "a section, not a key" : "unknown key");
    }
    if (setting->section == TY_N_SECTIONS) {
        const char *name = ty_arena_strndup(&config->arena, key, (size_t)(dot - key));
        return config_unknown_section(name ? name : key, at, err);
    }
    const struct ty_section *section = &config->sections[setting->section];
    const struct ty_field *field = ty_section_field(section, dot + 1);
    if (!field) {
        struct ty_place key_at = *at;
        key_at.col += (uint32_t)(dot - key) + 1;
        return ty_section_unknown(section, dot + 1, &key_at, err);
    }
    setting->field = field;
    return 0;
}

int ty_setting_parse(struct ty_setting *setting, struct ty_config *config, const char *option,
                     const char *text, struct ty_err *err)
{
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    const char *begin = ty_text_trim(text, &n); /* blanks at its ends are no part of a key */
    if (n == 0) {
        return ty_fail(err, TY_EUSAGE, "%s %.80s: not KEY=VALUE; write it like %s layout.tensor=8",
                       option, text, option);
    }
    const char *own = ty_arena_strndup(&config->arena, text, strlen(text));
    const char *key = ty_arena_strndup(&config->arena, begin, n);
    const char *file = own ? ty_arena_printf(&config->arena, "%s %s", option, own) : NULL;
    if (!file || !own || !key) {
        return ty_fail_memory(err);
    }
    const struct ty_place at = {
        .file = file, .source = own, .line = 1, .col = (uint32_t)(begin - text) + 1};
    int rc = setting_find(config, setting, key, &at, err);
    if (rc < 0) {
        return rc;
    }
    const size_t from = (size_t)(equals - text) + 1;
    rc = ty_doc_parse_value(&setting->doc, &config->arena, file, own, from, err);
    if (rc == 0 && !setting->doc.root) {
        struct ty_node *nothing = ty_arena_array(&config->arena, struct ty_node, 1);
        if (!nothing) {
            return ty_fail_memory(err);
        }
        *nothing = (struct ty_node){.line = 1, .col = (uint32_t)from + 1, .text = ""};
        setting->doc.root = nothing;
    }
    if (rc < 0) {
        setting->field = NULL;
        config->failed[setting->section] = true;
    }
    return rc;
}

int ty_loader_settings(struct ty_loader *l, const struct ty_source *source)
{
    const size_t n = source->n_sets, plain = n - source->n_against;
    l->settings = ty_arena_array(&l->config->arena, struct ty_setting, n);
    if (!l->settings) {
        return ty_fail_memory(l->err);
    }
    l->n_settings = n;
    int code = 0;
    for (size_t i = 0; i < n; i++) {
        const int rc =
            ty_setting_parse(&l->settings[i], l->config, i < plain ? "--set" : "--against-set",
                             source->sets[i], l->err);
        code = code < 0 ? code : rc;
    }
    return code;
}

/* ---- values ---- */

static bool remember(struct ty_config *config, const char *path)
{
    if (config->n_inputs == config->cap_inputs) {
        const size_t cap = config->cap_inputs > 0 ? 2 * config->cap_inputs : 8;
        const char **larger = ty_arena_array(&config->arena, const char *, cap);
        if (!larger) {
            return false;
        }
        for (size_t i = 0; i < config->n_inputs; i++) {
            larger[i] = config->inputs[i];
        }
        config->inputs = larger;
        config->cap_inputs = cap;
    }
    config->inputs[config->n_inputs++] = path;
    return true;
}

const char *ty_config_beside(struct ty_config *config, const struct ty_place *given_at,
                             const char *path)
{
    const char *file = config->docs[0].file;
    for (size_t i = 0; i < config->n_docs; i++) {
        file = config->docs[i].file == given_at->file ? given_at->file : file;
    }
    const char *slash = strrchr(file, '/');
    const char *found = path[0] == '/' || !slash ? path
                                                 : ty_arena_printf(&config->arena, "%.*s/%s",
                                                                   (int)(slash - file), file, path);
    return found && remember(config, found) ? found : NULL;
}

const char *ty_config_input(const struct ty_config *config, size_t i)
{
    if (i < config->n_docs) {
        return config->docs[i].file;
    }
    i -= config->n_docs;
    if (i < config->n_inputs) {
        return config->inputs[i];
    }
    i -= config->n_inputs;
    for (uint32_t j = 0; j < config->n_jobs; j++) {
        const struct ty_config *job = config->jobs[j].config;
        const size_t n = job != NULL ? job->n_docs + job->n_inputs : 0;
        if (i < n) {
            return ty_config_input(job, i);
        }
        i -= n;
    }
    return NULL;
}

static bool is_nothing(const struct ty_node *node)
{
    return node->kind == TY_NODE_SCALAR && !node->quoted && (!node->text || !node->text[0]);
}

/* The sections that a key outside may belong to: what they lack may stand there. */
static void lacks_key(struct ty_config *config, const char *key)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        config->failed[i] = config->failed[i] || ty_section_field(&config->sections[i], key);
    }
}

static void doc_apply(struct ty_loader *l, const struct ty_doc *doc)
{
    struct ty_config *config = l->config;
    for (const struct ty_node *node = doc->root->first; node; node = node->next) {
        const struct ty_place at = ty_node_key_place(doc, node);
        const enum ty_section_index i = ty_config_section(node->key, strlen(node->key));
        if (strcmp(node->key, TY_JOBS_KEY) == 0) {
            continue; /* jobs.c reads it, when the rest is known */
        }
        if (i == TY_N_SECTIONS) {
            const int rc = setting_outside(config, node->key, &at, l->err);
            l->code = l->code < 0 ? l->code : rc;
            l->misspelt = true;
            lacks_key(config, node->key);
        } else if (!is_nothing(node)) {
            const struct ty_value_source file = {doc, TY_ORIGIN_FILE, doc->file};
            ty_loader_note(
                l, i, ty_section_apply(&config->sections[i], &file, node, &config->arena, l->err));
        }
    }
}

static void settings_apply(struct ty_loader *l)
{
    for (size_t i = 0; i < l->n_settings; i++) {
        const struct ty_setting *s = &l->settings[i];
        if (s->field) {
            const struct ty_value_source command = {&s->doc, TY_ORIGIN_COMMAND, s->doc.file};
            ty_loader_note(l, s->section,
                           ty_field_apply(&l->config->sections[s->section], s->field, &command,
                                          s->doc.root, &l->config->arena, l->err));
        }
    }
}

/* Whether a section may be left out, as a trace says what it would. */
static bool is_traced(const struct ty_config *config, int section)
{
    return ty_config_is_traced(config) &&
           (section == TY_SECTION_MODEL || section == TY_SECTION_LAYOUT);
}

/* Defaults, then what must be given. */
static void complete(struct ty_loader *l)
{
    struct ty_config *config = l->config;
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const enum ty_section_index index = (enum ty_section_index)i;
        const struct ty_section *section = &config->sections[i];
        ty_loader_note(l, index, ty_section_defaults(section, &config->arena, l->err));
        if (section->at.line == 0 && l->misspelt) {
            config->failed[i] = true; /* it may be there under the wrong name */
        }
        if (!config->failed[i] && !is_traced(config, i)) {
            ty_loader_note(l, index, ty_section_require(section, l->err));
        }
        for (uint32_t k = 0; k < section->n_fields; k++) {
            config->was_blank[i][k] = ty_field_is_blank(section, &section->fields[k]);
        }
    }
}

/* What is wrong between ranks that are right by themselves is kept, and told by whoever executes:
 * there it is a deadlock, with more to be said about it than the file shows. */
static int keep_fault(struct ty_loader *l, struct ty_sched_custom *custom,
                      const struct ty_slots_file *file)
{
    struct ty_err *found = ty_err_new();
    if (found == NULL) {
        return ty_fail_memory(l->err);
    }
    int rc =
        ty_slots_check_between(file->placement, &file->shape, &file->slots, &file->marks, found);
    const char *text = ty_err_text(found);
    if (rc == TY_EINPUT || rc == TY_EDEADLOCK) {
        custom->fault = ty_arena_strndup(&l->config->arena, text, strlen(text));
        rc = custom->fault == NULL ? ty_fail_memory(l->err) : 0;
    } else if (rc < 0) {
        rc = ty_fail(l->err, rc, "%s", text);
    }
    ty_err_free(found);
    return rc;
}

/* A path has no line break, and an order ends with one. */
static int read_order(struct ty_config *c, const struct ty_place *at, const char **name,
                      const char **text, size_t *len, struct ty_err *err)
{
    const char *file = c->schedule.file;
    *text = file;
    *len = strlen(file);
    if (strchr(file, '\n') != NULL) {
        const char *place = at->file != NULL ? at->file : "--set";
        *name = ty_arena_printf(&c->arena, "%s: schedule.file", place);
        return *name != NULL ? 0 : ty_fail_memory(err);
    }
    *name = ty_config_beside(c, at, file);
    return *name != NULL ? ty_file_read(&c->arena, *name, TY_SLOTS_MAX_BYTES, text, len, err)
                         : ty_fail_memory(err);
}

/* The user's own schedule. */
static void schedule_file(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    const struct ty_section *section = &c->sections[TY_SECTION_SCHEDULE];
    const struct ty_place at = ty_section_place(section, "file");
    struct ty_sched_custom *custom = ty_arena_array(&c->arena, struct ty_sched_custom, 1);
    size_t len = 0;
    struct ty_slots_file file;
    int rc = custom ? read_order(c, &at, &custom->name, &custom->text, &len, l->err)
                    : ty_fail_memory(l->err);
    if (rc == 0) {
        rc = ty_slots_read(&file, custom->name, custom->text, len, &c->arena, l->err);
    }
    if (rc == 0) {
        rc = keep_fault(l, custom, &file);
    }
    ty_loader_note(l, TY_SECTION_SCHEDULE, rc);
    if (rc < 0) {
        ty_hint_named(l->err, "schedule.file", &at);
        return;
    }
    custom->sched = (struct ty_sched){.name = "file", .placement = file.placement};
    custom->shape = file.shape;
    custom->slots = file.slots;
    c->schedule.custom = custom;
}

/* Where each section begins, in the first file that has it. */
static void find_sections(struct ty_config *c)
{
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        struct ty_section *section = &c->sections[i];
        section->at = (struct ty_place){.file = c->docs[0].file};
        for (size_t k = 0; k < c->n_docs && section->at.line == 0; k++) {
            const struct ty_node *node = ty_node_child(c->docs[k].root, labels[i].name);
            section->at = node ? ty_node_key_place(&c->docs[k], node) : section->at;
        }
    }
}

int ty_loader_docs(struct ty_loader *l, const struct ty_source *source)
{
    struct ty_config *c = l->config;
    c->n_docs = 1 + source->n_with;
    c->docs = ty_arena_array(&c->arena, struct ty_doc, c->n_docs);
    if (!c->docs) {
        return ty_fail_memory(l->err);
    }
    int rc = ty_loader_doc(l, &c->docs[0], source->path, source->text, false);
    for (size_t i = 0; i < source->n_with && rc == 0; i++) {
        rc = ty_loader_doc(l, &c->docs[i + 1], source->with[i], NULL, true);
    }
    return rc;
}

void ty_loader_fill(struct ty_loader *l)
{
    find_sections(l->config);
    ty_loader_presets(l);
    const int rc = ty_loader_keep_preset_values(l);
    l->code = l->code < 0 ? l->code : rc;
    for (size_t i = 0; i < l->config->n_docs; i++) {
        doc_apply(l, &l->config->docs[i]);
    }
    settings_apply(l);
    l->filled = l->code;
    complete(l);
    if (l->config->schedule.file && !l->config->failed[TY_SECTION_SCHEDULE]) {
        schedule_file(l);
    }
    bool all[TY_N_SECTIONS];
    memset(all, true, sizeof(all));
    ty_loader_check(l, all);
}

int ty_loader_read(struct ty_loader *l, const struct ty_source *source)
{
    int rc = ty_config_init(l->config, l->err);
    if (rc == 0) {
        rc = ty_loader_docs(l, source);
    }
    if (rc < 0) {
        return rc;
    }
    const int set_rc = ty_loader_settings(l, source);
    l->code = l->code < 0 ? l->code : set_rc;
    const int jobs_rc = ty_jobs_find(l);
    l->code = l->code < 0 ? l->code : jobs_rc;
    ty_loader_fill(l);
    const int load_rc = ty_jobs_load(l, source);
    return l->code < 0 ? l->code : load_rc;
}

static int read_source(struct ty_config **config, const struct ty_source *source, bool open,
                       struct ty_err *err)
{
    *config = NULL;
    struct ty_loader l = {.config = calloc(1, sizeof(struct ty_config)), .err = err, .open = open};
    if (!l.config) {
        return ty_fail_memory(err);
    }
    const int rc = ty_loader_read(&l, source);
    if (rc < 0) {
        ty_config_free(l.config);
        return rc;
    }
    *config = l.config;
    return 0;
}

int ty_config_read(struct ty_config **config, const struct ty_source *source, struct ty_err *err)
{
    return read_source(config, source, false, err);
}

int ty_config_read_open(struct ty_config **config, const struct ty_source *source,
                        struct ty_err *err)
{
    return read_source(config, source, true, err);
}

void ty_config_free(struct ty_config *config)
{
    if (config) {
        for (uint32_t i = 0; i < config->n_jobs; i++) {
            ty_config_free(config->jobs[i].config);
        }
        struct ty_arena arena = config->arena;
        ty_arena_release(&arena);
        free(config);
    }
}
