/* presets.c - the presets a configuration starts from.
 *
 * Their names are looked up in all sources before any value is applied, the strongest source
 * deciding: a preset named by --set replaces that of the file and still lies below the file's
 * values. */
#include "sim/config/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/offload.h"
#include "sim/base/path.h"

#define NAMES_MAX 128 /* presets looked at for a hint */

/* A value the user gave, before anything is applied: of the last --set, else of the last file. */
struct given {
    const char *text; /* NULL: not given, or no single word */
    struct ty_place at;
    size_t strength; /* number of the file, all settings above */
};

static struct given given(const struct ty_loader *l, enum ty_section_index section, const char *key)
{
    const struct ty_section *s = &l->config->sections[section];
    const struct ty_field *field = ty_section_field(s, key);
    const char *blank = field && field->blank ? field->blank : "";
    const struct ty_doc *doc = NULL;
    const struct ty_node *node = NULL;
    size_t strength = 0;
    for (size_t i = 0; i < l->config->n_docs; i++) {
        const struct ty_node *found = ty_node_child(
            ty_node_child(l->config->docs[i].root, ty_config_section_name(section)), key);
        if (found) {
            doc = &l->config->docs[i];
            node = found;
            strength = i;
        }
    }
    for (size_t i = 0; i < l->n_settings; i++) {
        const struct ty_setting *setting = &l->settings[i];
        if (setting->field && setting->section == section &&
            strcmp(setting->field->key, key) == 0) {
            doc = &setting->doc;
            node = setting->doc.root;
            strength = l->config->n_docs;
        }
    }
    const bool usable = node && node->kind == TY_NODE_SCALAR && node->text &&
                        node->text[0] != '\0' && strcmp(node->text, blank) != 0;
    return (struct given){
        .text = usable ? node->text : NULL,
        .at = node ? ty_node_place(doc, node) : (struct ty_place){.line = 0},
        .strength = strength,
    };
}

/* A catalogue of presets, and how users see it. */
struct catalogue {
    enum ty_section_index section;
    const struct ty_preset *presets; /* ends with a NULL name */
    const char *key, *list;          /* "preset"; "trainyard list ..." */
};

static const struct ty_preset *preset_find(struct ty_loader *l, const struct catalogue *catalogue,
                                           const struct given *wanted)
{
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (const struct ty_preset *p = catalogue->presets; p->name; p++) {
        if (strcmp(p->name, wanted->text) == 0) {
            return p;
        }
        if (n < NAMES_MAX) {
            names[n++] = p->name;
        }
    }
    char hint[TY_SUGGESTION];
    ty_loader_note(l, catalogue->section,
                   ty_fail_at(l->err, TY_EINPUT, &wanted->at,
                              "%s.%s: unknown preset (%.60s); \"trainyard list %s\" shows all%s",
                              l->config->sections[catalogue->section].name, catalogue->key,
                              wanted->text, catalogue->list,
                              ty_suggestion(wanted->text, names, n, hint)));
    return NULL;
}

/* The text of a preset as a document; without a root where it cannot be read. */
static struct ty_doc preset_parse(struct ty_loader *l, enum ty_section_index section,
                                  const char *name, const char *text)
{
    struct ty_arena *arena = &l->config->arena;
    struct ty_doc doc = {.root = NULL};
    const char *file = ty_arena_printf(arena, "preset %s", name);
    const int rc = ty_doc_parse(&doc, arena, file ? file : name, text, strlen(text), l->err);
    if (rc < 0) {
        doc.root = NULL;
    }
    ty_loader_note(l, section, rc);
    return doc;
}

static void doc_apply(struct ty_loader *l, enum ty_section_index section, const char *name,
                      const struct ty_doc *doc)
{
    if (doc->root) {
        const struct ty_value_source preset = {doc, TY_ORIGIN_PRESET, name};
        ty_loader_note(l, section,
                       ty_section_apply(&l->config->sections[section], &preset, doc->root,
                                        &l->config->arena, l->err));
    }
}

static void text_apply(struct ty_loader *l, enum ty_section_index section, const char *name,
                       const char *text)
{
    const struct ty_doc doc = preset_parse(l, section, name, text);
    doc_apply(l, section, name, &doc);
}

/* A preset of a catalogue, with those that it starts from, as a document. */
static struct ty_doc preset_doc(struct ty_loader *l, const struct catalogue *catalogue,
                                const struct ty_preset *preset)
{
    const char *text = ty_preset_text(catalogue->presets, preset, &l->config->arena);
    if (text == NULL) {
        ty_loader_note(l, catalogue->section, ty_fail_memory(l->err));
        return (struct ty_doc){.root = NULL};
    }
    return preset_parse(l, catalogue->section, preset->name, text);
}

static void preset_apply(struct ty_loader *l, const struct catalogue *catalogue,
                         const struct ty_preset *preset)
{
    const struct ty_doc doc = preset_doc(l, catalogue, preset);
    doc_apply(l, catalogue->section, preset->name, &doc);
}

/* A cluster's values lie over those of its GPU, which it may name itself. */
static void cluster_presets(struct ty_loader *l)
{
    static const struct catalogue clusters = {TY_SECTION_CLUSTER, ty_cluster_presets, "preset",
                                              "clusters"};
    static const struct catalogue gpus = {TY_SECTION_CLUSTER, ty_gpu_presets, "gpu", "gpus"};
    const struct given wanted = given(l, TY_SECTION_CLUSTER, "preset");
    struct given gpu_wanted = given(l, TY_SECTION_CLUSTER, "gpu");
    struct ty_doc doc = {.root = NULL};
    const struct ty_preset *cluster = wanted.text ? preset_find(l, &clusters, &wanted) : NULL;
    if (cluster) {
        doc = preset_doc(l, &clusters, cluster);
    }
    const struct ty_node *named = doc.root ? ty_node_child(doc.root, "gpu") : NULL;
    if (named && !gpu_wanted.text) {
        gpu_wanted = (struct given){.text = named->text};
    }
    const struct ty_preset *gpu = gpu_wanted.text ? preset_find(l, &gpus, &gpu_wanted) : NULL;
    if (gpu) {
        preset_apply(l, &gpus, gpu);
    }
    if (cluster) {
        doc_apply(l, TY_SECTION_CLUSTER, cluster->name, &doc);
    }
}

static void fabric_preset(struct ty_loader *l)
{
    static const struct catalogue fabrics = {TY_SECTION_FABRIC, ty_fabric_presets, "preset",
                                             "fabrics"};
    const struct given wanted = given(l, TY_SECTION_FABRIC, "preset");
    const struct ty_preset *preset = wanted.text ? preset_find(l, &fabrics, &wanted) : NULL;
    if (preset) {
        preset_apply(l, &fabrics, preset);
    }
}

/* That of a layout that names none, by the ZeRO stage that it asks for, itself or by a system that
 * is made of it. */
static const char *implied_framework(struct ty_loader *l)
{
    const struct given zero = given(l, TY_SECTION_LAYOUT, "zero");
    const struct given offload = given(l, TY_SECTION_LAYOUT, "offload");
    int system = TY_OFFLOAD_NONE;
    if (offload.text != NULL) {
        (void)ty_word_value(ty_offload_words, offload.text, &system);
    }
    return ty_offload_framework(system, zero.text != NULL ? (uint32_t)strtoul(zero.text, NULL, 10)
                                                          : ty_offload_zero(system));
}

/* Left out, it is the one that can do what the layout asks for. */
static void framework_preset(struct ty_loader *l)
{
    static const struct catalogue frameworks = {TY_SECTION_FRAMEWORK, ty_framework_presets,
                                                "preset", "frameworks"};
    struct given wanted = given(l, TY_SECTION_FRAMEWORK, "preset");
    if (!wanted.text) {
        wanted.text = implied_framework(l);
    }
    const struct ty_preset *preset = preset_find(l, &frameworks, &wanted);
    if (preset == NULL) {
        return;
    }
    preset_apply(l, &frameworks, preset);
    const struct ty_preset *layout = ty_preset_find(ty_framework_layouts, preset->name);
    if (layout != NULL) {
        text_apply(l, TY_SECTION_LAYOUT, layout->name, layout->text);
    }
}

static void model_presets(struct ty_loader *l)
{
    static const struct catalogue models = {TY_SECTION_MODEL, ty_arch_presets, "preset", "models"};
    struct given wanted = given(l, TY_SECTION_MODEL, "preset");
    struct given json = given(l, TY_SECTION_MODEL, "huggingface");
    if (wanted.strength != json.strength) { /* the stronger source beats the weaker */
        *(wanted.strength > json.strength ? &json.text : &wanted.text) = NULL;
    }
    if (wanted.text && json.text) {
        ty_loader_note(
            l, TY_SECTION_MODEL,
            ty_fail_at(l->err, TY_EINPUT, &json.at,
                       "model.huggingface: a second source of the model (%.60s); keep this or "
                       "model.preset, not both",
                       json.text));
        return;
    }
    if (wanted.text) {
        const struct ty_preset *preset = preset_find(l, &models, &wanted);
        if (preset) {
            preset_apply(l, &models, preset);
        }
    } else if (json.text) {
        struct ty_huggingface model = {NULL, NULL};
        const char *path = ty_config_beside(l->config, &json.at, json.text);
        const int rc = path ? ty_arch_huggingface(&l->config->arena, path, &model, l->err)
                            : ty_fail_memory(l->err);
        ty_loader_note(l, TY_SECTION_MODEL, rc);
        if (rc < 0) {
            ty_hint_named(l->err, "model.huggingface", &json.at);
        } else {
            text_apply(l, TY_SECTION_MODEL, json.text, model.text);
            l->config->model_remarks = model.remarks;
        }
    }
}

void ty_loader_name_model(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    const struct ty_section *section = &c->sections[TY_SECTION_MODEL];
    const struct ty_origin *layers = ty_field_origin(section, ty_section_field(section, "layers"));
    const char *file = layers->kind == TY_ORIGIN_FILE ? layers->name : c->docs[0].file;
    const char *base = ty_path_name(file);
    if (c->arch.name != NULL) {
        return;
    }
    if (c->arch.preset != NULL) {
        c->arch.name = c->arch.preset;
    } else if (strcmp(file, "<stdin>") == 0) {
        c->arch.name = "model";
    } else {
        c->arch.name = ty_arena_strndup(&c->arena, base, ty_path_stem(base));
    }
    ty_loader_note(l, TY_SECTION_MODEL, c->arch.name != NULL ? 0 : ty_fail_memory(l->err));
}

void ty_loader_presets(struct ty_loader *l)
{
    cluster_presets(l);
    fabric_preset(l);
    model_presets(l);
    framework_preset(l);
}
