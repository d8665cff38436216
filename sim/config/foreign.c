/* foreign.c - readers of this library for programs that read and write files of other stacks: YAML
 * as a tree with places, the model of a Hugging Face config.json, whether an overlay loads, and a
 * configuration with what follows from it. */
#include <string.h>

#include "model/arch.h"
#include "model/layout.h"
#include "model/schedule/schedule.h"
#include "sim/base/text.h"
#include "sim/config/config.h"
#include "sim/document/json.h"
#include "sim/document/yaml.h"
#include "sim/trainyard.h"

/* ---- trees ---- */

static void put_map(struct ty_text *t, const struct ty_node *map);

/* Recursion is as deep as a document may be, TY_YAML_MAX_DEPTH. */
static void put_node(struct ty_text *t, const struct ty_node *node)
{
    ty_text_add(t, "[%u,%u,", (unsigned)node->line, (unsigned)node->col);
    if (node->kind == TY_NODE_MAP) {
        put_map(t, node);
    } else if (node->kind == TY_NODE_LIST) {
        ty_text_add(t, "[");
        for (const struct ty_node *item = node->first; item != NULL; item = item->next) {
            put_node(t, item);
            ty_text_add(t, "%s", item->next != NULL ? "," : "");
        }
        ty_text_add(t, "]");
    } else if (node->text == NULL) {
        ty_text_add(t, "null");
    } else {
        ty_json_put(t, node->text);
    }
    ty_text_add(t, node->quoted ? ",true]" : ",false]");
}

static void put_map(struct ty_text *t, const struct ty_node *map)
{
    ty_text_add(t, "{");
    for (const struct ty_node *child = map->first; child != NULL; child = child->next) {
        ty_json_put(t, child->key);
        ty_text_add(t, ":[%u,%u,", (unsigned)child->key_line, (unsigned)child->key_col);
        put_node(t, child);
        ty_text_add(t, "]%s", child->next != NULL ? "," : "");
    }
    ty_text_add(t, "}");
}

int ty_foreign_tree(const char *name, const char *text, char **json, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_text t = {.data = NULL};
    struct ty_doc doc;
    *json = NULL;
    int rc = ty_doc_parse_foreign(&doc, &arena, name, text, strlen(text), err);
    if (rc == 0) {
        ty_text_add(&t, "[");
        if (doc.root != NULL) {
            put_node(&t, doc.root);
        } else {
            ty_text_add(&t, "null");
        }
        if (doc.again != NULL) {
            ty_text_add(&t, ",[%u,%u,", (unsigned)doc.again->key_line,
                        (unsigned)doc.again->key_col);
            ty_json_put(&t, doc.again->key);
            ty_text_add(&t, "]");
        }
        ty_text_add(&t, "]");
        *json = ty_text_take(&t);
        rc = *json != NULL ? 0 : ty_fail_memory(err);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- models ---- */

int ty_foreign_model(const char *path, char **lines, char **remarks, struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_huggingface found;
    *lines = *remarks = NULL;
    int rc = ty_arch_huggingface(&arena, path, &found, err);
    if (rc == 0) {
        struct ty_text text = {.data = NULL}, told = {.data = NULL};
        ty_text_add(&text, "%s", found.text);
        ty_text_add(&told, "%s", found.remarks != NULL ? found.remarks : "");
        *lines = ty_text_take(&text);
        *remarks = ty_text_take(&told);
        rc = *lines != NULL && *remarks != NULL ? 0 : ty_fail_memory(err);
    }
    ty_arena_release(&arena);
    return rc;
}

/* ---- overlays ---- */

int ty_foreign_overlay(const char *name, const char *text, struct ty_err *err)
{
    struct ty_config config;
    struct ty_doc doc;
    int rc = ty_config_init(&config, err);
    if (rc == 0) {
        rc = ty_doc_parse(&doc, &config.arena, name, text, strlen(text), err);
    }
    for (size_t i = 0; rc == 0 && i < TY_N_SECTIONS; i++) {
        const struct ty_value_source source = {
            .doc = &doc, .kind = TY_ORIGIN_FILE, .name = doc.file};
        const struct ty_node *map = ty_node_child(doc.root, config.sections[i].name);
        rc = map != NULL ? ty_section_apply(&config.sections[i], &source, map, &config.arena, err)
                         : 0;
    }
    ty_arena_release(&config.arena);
    return rc;
}

/* ---- configurations ---- */

static void put_number(struct ty_text *t, const char *name, double value)
{
    ty_text_add(t, ", \"%s\": %.17g", name, value);
}

/* A 1 for each layer with experts, else a 0. */
static void put_layers(struct ty_text *t, const struct ty_arch *arch)
{
    ty_text_add(t, ", \"expert_layers\": \"");
    for (uint32_t i = 0; i < arch->layers; i++) {
        ty_text_add(t, ty_arch_has_experts(arch, i) ? "1" : "0");
    }
    ty_text_add(t, "\"");
}

/* What follows from keys, as the simulator takes it. */
static void put_derived(struct ty_text *t, const struct ty_config *config)
{
    static const char *const device[] = {
        [TY_HOME_GPU] = "none", [TY_HOME_CPU] = "cpu", [TY_HOME_NVME] = "nvme"};
    const struct ty_arch *a = &config->arch;
    const struct ty_layout *l = &config->layout;
    char digest[TY_DIGEST_TEXT], tensor[TY_WIDTHS_TEXT], data[TY_WIDTHS_TEXT];
    ty_text_add(t, "{\"digest\": \"%s\"", ty_config_digest_text(config, digest));
    put_number(t, "ranks", l->ranks);
    put_number(t, "replicas", ty_layout_replicas(l));
    put_number(t, "shards", ty_layout_shards(l));
    put_number(t, "micro_batches", l->micro_batches);
    put_number(t, "chunks", ty_sched_chunks(&config->schedule));
    put_number(t, "group", config->schedule.group);
    put_number(t, "bucket", l->framework.bucket);
    put_number(t, "bucket_params", ty_layout_bucket_params(l));
    put_number(t, "overlap_grad_reduce", ty_layout_does(l, l->framework.overlap_grad_reduce));
    put_number(t, "reduce_fp32", l->framework.reduce_fp32);
    put_number(t, "capacity", l->framework.capacity);
    put_number(t, "offload_share", l->home.share);
    put_number(t, "rotary", a->rotary);
    put_number(t, "dropout", a->dropout);
    put_number(t, "positions", a->positions);
    put_number(t, "norms", a->norms);
    put_number(t, "expert_ffn", a->expert_ffn);
    put_number(t, "expert_groups", a->expert_groups);
    put_number(t, "group_limit", a->group_limit);
    put_number(t, "head_value", a->head_value);
    put_number(t, "window", a->window);
    put_number(t, "offloaded", ty_layout_is_offloaded(l));
    ty_text_add(t, ", \"schedule\": \"%s\"", ty_sched_of(&config->schedule)->name);
    ty_text_add(t, ", \"home_optimizer\": \"%s\"", device[l->home.optimizer]);
    ty_text_add(t, ", \"home_parameters\": \"%s\"", device[l->home.parameters]);
    ty_text_add(t, ", \"home_activations\": \"%s\"", device[l->home.activations]);
    put_layers(t, a);
    if (l->unlike) {
        ty_text_add(t, ", \"unlike\": \"tensor %s, data %s\"", ty_layout_tensor_text(l, tensor),
                    ty_layout_data_text(l, data));
    }
    ty_text_add(t, "}");
}

static void put_keys(struct ty_text *t, const struct ty_config *config)
{
    const char *before = "";
    ty_text_add(t, "{");
    for (size_t i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *section = &config->sections[i];
        for (uint32_t k = 0; k < section->n_fields; k++) {
            char value[TY_CONFIG_VALUE];
            ty_text_add(t, "%s\"%s.%s\": ", before, section->name, section->fields[k].key);
            ty_json_put(t, ty_field_format(section, &section->fields[k], value, sizeof(value)));
            before = ", ";
        }
    }
    ty_text_add(t, "}");
}

int ty_foreign_values(const char *name, const char *text, char **json, struct ty_err *err)
{
    const struct ty_source source = {.path = name, .text = text};
    struct ty_config *config = NULL;
    struct ty_text t = {.data = NULL};
    *json = NULL;
    int rc = ty_config_read(&config, &source, err);
    if (rc == 0) {
        ty_text_add(&t, "[");
        put_keys(&t, config);
        ty_text_add(&t, ", ");
        put_derived(&t, config);
        ty_text_add(&t, "]");
        *json = ty_text_take(&t);
        rc = *json != NULL ? 0 : ty_fail_memory(err);
    }
    ty_config_free(config);
    return rc;
}
