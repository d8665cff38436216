/* remarks.c - what is right about a configuration and still may not be what was meant.
 *
 * A preset lies below the values of the run file, also one that --set or an overlay names: who
 * changes the preset of a file that spells out one of its keys changes less than they may think.
 * And keys that are set together may not be what either of them is usually meant for. */
#include "sim/config/load.h"

#include <stdio.h>

#include "sim/base/text.h"
#include "sim/cli_api.h"

/* Whether a run file has a value of its own for a key: nobody asks for others' preset values. */
static bool is_in_a_file(const struct ty_config *c, const struct ty_section *s, const char *key)
{
    for (size_t i = 0; i < c->n_docs; i++) {
        if (ty_node_child(ty_node_child(c->docs[i].root, s->name), key)) {
            return true;
        }
    }
    return false;
}

int ty_loader_keep_preset_values(struct ty_loader *l)
{
    struct ty_config *c = l->config;
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *s = &c->sections[i];
        struct ty_preset_value *values =
            ty_arena_array(&c->arena, struct ty_preset_value, s->n_fields);
        if (!values) {
            return ty_fail_memory(l->err);
        }
        c->preset_values[i] = values;
        for (uint32_t k = 0; k < s->n_fields; k++) {
            char text[TY_CONFIG_VALUE];
            if (s->origins[k].kind == TY_ORIGIN_PRESET && is_in_a_file(c, s, s->fields[k].key)) {
                values[k].preset = s->origins[k].name;
                values[k].text = ty_arena_printf(
                    &c->arena, "%s", ty_field_format(s, &s->fields[k], text, sizeof(text)));
            }
        }
    }
    return 0;
}

/* The number of the file a value stands in, the run file being 0; those of --set are above all. */
static size_t strength(const struct ty_config *c, const struct ty_origin *origin)
{
    size_t i = c->n_docs;
    if (origin->kind == TY_ORIGIN_FILE) {
        for (i = 0; i < c->n_docs && strcmp(c->docs[i].file, origin->at.file) != 0; i++) {}
    }
    return i;
}

/* Whether the preset that a value replaced was asked for by a source stronger than the value's. */
static bool is_later(const struct ty_config *c, const struct ty_section *s, const char *preset,
                     const struct ty_origin *value, const char **key)
{
    static const char *const keys[] = {"preset", "gpu", "huggingface"};
    for (size_t i = 0; i < TY_COUNT(keys); i++) {
        const struct ty_field *field = ty_section_field(s, keys[i]);
        const struct ty_origin *from = field ? ty_field_origin(s, field) : NULL;
        if (from && (from->kind == TY_ORIGIN_COMMAND || from->kind == TY_ORIGIN_FILE) &&
            strcmp(*(const char *const *)((const char *)s->base + field->offset), preset) == 0 &&
            strength(c, from) > strength(c, value)) {
            *key = keys[i];
            return true;
        }
    }
    return false;
}

static void remark(struct ty_text *out, const struct ty_config *c, const struct ty_section *s,
                   uint32_t k, const struct ty_preset_value *had)
{
    const struct ty_origin *origin = &s->origins[k];
    const char *key = NULL;
    char value[TY_CONFIG_VALUE], from[256];
    if (!had->preset || !had->text || origin->kind != TY_ORIGIN_FILE ||
        !is_later(c, s, had->preset, origin, &key) ||
        strcmp(ty_field_format(s, &s->fields[k], value, sizeof(value)), had->text) == 0) {
        return;
    }
    ty_text_add(out,
                "%s: %s.%s stays %s, although %s.%s is now %s (%s): keys of a file override "
                "presets; to change it, too, --set %s.%s=...\n",
                ty_origin_format(origin, from, sizeof(from)), s->name, s->fields[k].key, value,
                s->name, key, had->preset, had->text, s->name, s->fields[k].key);
}

/* In a sweep over schedules one group goes with all of them, so that this is no mistake. */
static void remark_group(struct ty_text *out, const struct ty_config *c)
{
    const struct ty_section *s = &c->sections[TY_SECTION_SCHEDULE];
    const struct ty_sched *sched = ty_sched_of(&c->schedule);
    char from[256];
    if (c->schedule.group != 0 && !sched->grouped) {
        ty_text_add(
            out, "%s: schedule.group is ignored: %s has no groups of micro-batches\n",
            ty_origin_format(ty_field_origin(s, ty_section_field(s, "group")), from, sizeof(from)),
            sched->name);
    }
}

/* A schedule of pieces whose number nobody gave, and one that a single piece makes another one. */
static void remark_pieces(struct ty_text *out, const struct ty_config *c)
{
    const struct ty_section *s = &c->sections[TY_SECTION_SCHEDULE];
    const struct ty_sched *sched = ty_sched_of(&c->schedule);
    const bool slices = sched->sliced;
    const char *key = slices ? "slices" : "chunks";
    const uint32_t given = slices ? c->schedule.slices : c->schedule.chunks;
    const uint32_t few = slices ? sched->auto_slices : sched->auto_chunks;
    const char *what = slices ? "slices of a sequence" : "virtual stages per rank";
    const bool is_auto = c->was_blank[TY_SECTION_SCHEDULE][ty_section_field(s, key) - s->fields];
    const char *from_key = is_auto ? "name" : key;
    char from[256];
    if (sched->reduced == NULL || (!is_auto && given > 1)) {
        return;
    }
    ty_origin_format(ty_field_origin(s, ty_section_field(s, from_key)), from, sizeof(from));
    if (is_auto) {
        ty_text_add(out, "%s: schedule.%s is auto: %s with %u %s; schedule.%s: %u says so\n", from,
                    key, sched->name, (unsigned)few, what, key, (unsigned)few);
    } else {
        ty_text_add(out,
                    "%s: schedule.%s is 1, which makes %s the same as %s; with %u %s write %u\n",
                    from, key, sched->name, sched->reduced, (unsigned)few, what, (unsigned)few);
    }
}

/* A stack is a set of habits, and what is sharded is no part of it; who says FSDP means ZeRO-3. */
static void remark_sharding(struct ty_text *out, const struct ty_config *c)
{
    static const struct {
        const char *preset;
        int from, to; /* ZeRO stages that it does not go with */
        const char *text;
    } rows[] = {
        {"fsdp", 0, 1, "nothing is sharded; FULL_SHARD is layout.zero 3, SHARD_GRAD_OP 2"},
        {"ddp", 1, 3, "PyTorch's DDP shards nothing, which is layout.zero 0"},
    };
    const struct ty_section *s = &c->sections[TY_SECTION_FRAMEWORK];
    const char *preset = c->layout.framework.preset;
    char from[256];
    for (size_t i = 0; preset != NULL && i < TY_COUNT(rows); i++) {
        const int zero = (int)c->layout.zero;
        if (strcmp(preset, rows[i].preset) == 0 && zero >= rows[i].from && zero <= rows[i].to) {
            ty_text_add(out, "%s: framework.preset is %s and layout.zero is %d: %s\n",
                        ty_origin_format(ty_field_origin(s, ty_section_field(s, "preset")), from,
                                         sizeof(from)),
                        preset, zero, rows[i].text);
        }
    }
}

/* Shared experts that run during exchanges, in a model that has none. */
static void remark_shared(struct ty_text *out, const struct ty_config *c)
{
    const struct ty_section *s = &c->sections[TY_SECTION_FRAMEWORK];
    const struct ty_origin *from = ty_field_origin(s, ty_section_field(s, "shared_overlap"));
    char where[256];
    if (c->layout.framework.shared_overlap && c->arch.shared_ffn == 0 &&
        from->kind != TY_ORIGIN_PRESET) {
        ty_text_add(out,
                    "%s: framework.shared_overlap is ignored: the model has no shared experts "
                    "(model.shared_ffn is 0)\n",
                    ty_origin_format(from, where, sizeof(where)));
    }
}

int ty_config_remarks(const struct ty_config *config, char **text, struct ty_err *err)
{
    struct ty_text out = {.data = NULL};
    for (int i = 0; i < TY_N_SECTIONS; i++) {
        const struct ty_section *s = &config->sections[i];
        for (uint32_t k = 0; k < s->n_fields && config->preset_values[i]; k++) {
            remark(&out, config, s, k, &config->preset_values[i][k]);
        }
    }
    remark_group(&out, config);
    remark_pieces(&out, config);
    remark_sharding(&out, config);
    remark_shared(&out, config);
    ty_text_add(&out, "%s", config->model_remarks != NULL ? config->model_remarks : "");
    *text = ty_text_take(&out);
    return *text ? 0 : ty_fail_memory(err);
}
