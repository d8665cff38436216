/* cluster_preset.h - a cluster section for tests: presets and a text, as the run file would give.
 *
 * Applied lowest first: the GPU preset, the cluster preset, the text, the defaults. */
#ifndef TY_TESTS_CLUSTER_PRESET_H
#define TY_TESTS_CLUSTER_PRESET_H

#include <stdio.h>
#include <string.h>

#include "topology/cluster.h"

#include "tests/unit/suite.h"

#define CLUSTER_KEYS_MAX 128u

struct cluster_case {
    struct ty_cluster cluster;
    struct ty_origin origins[CLUSTER_KEYS_MAX];
    struct ty_section section;
    struct ty_arena arena;
    struct ty_err err;
};

static inline const struct ty_preset *preset_named(const struct ty_preset *presets,
                                                   const char *name)
{
    while (presets->name != NULL && strcmp(presets->name, name) != 0) {
        presets++;
    }
    ck_assert_msg(presets->name != NULL, "no preset %s", name);
    return presets;
}

static inline void cluster_begin(struct cluster_case *c)
{
    memset(c, 0, sizeof(*c));
    ck_assert_uint_le(ty_n_cluster_fields, CLUSTER_KEYS_MAX);
    c->section = (struct ty_section){
        .name = "cluster",
        .fields = ty_cluster_fields,
        .n_fields = ty_n_cluster_fields,
        .base = &c->cluster,
        .origins = c->origins,
    };
}

static inline void cluster_apply(struct cluster_case *c, enum ty_origin_kind kind, const char *name,
                                 const char *text)
{
    struct ty_doc doc;
    int rc = ty_doc_parse(&doc, &c->arena, name, text, strlen(text), &c->err);
    if (rc == 0) {
        const struct ty_value_source source = {&doc, kind, name};
        rc = ty_section_apply(&c->section, &source, doc.root, &c->arena, &c->err);
    }
    ck_assert_msg(rc == 0, "%s: %s", name, c->err.text);
}

static inline void cluster_apply_gpu(struct cluster_case *c, const char *name)
{
    const struct ty_preset *preset = preset_named(ty_gpu_presets, name);
    cluster_apply(c, TY_ORIGIN_PRESET, name, ty_preset_text(ty_gpu_presets, preset, &c->arena));
}

/* Finishes the section: defaults and checks. Returns what ty_cluster_check says. */
static inline int cluster_end(struct cluster_case *c)
{
    const int rc = ty_section_defaults(&c->section, &c->arena, &c->err);
    ck_assert_msg(rc == 0, "%s", c->err.text);
    return ty_cluster_check(&c->cluster, &c->section, &c->err);
}

/* The cluster preset of that name with `text` over it (may be NULL). */
static inline struct ty_cluster cluster_preset(const char *name, const char *text)
{
    static const char gpu_key[] = "gpu: ";
    struct cluster_case c;
    char gpu[64];
    const struct ty_preset *preset = preset_named(ty_cluster_presets, name);
    const char *named = strstr(preset->text, gpu_key);
    ck_assert_ptr_nonnull(named);
    ck_assert_int_eq(sscanf(named + sizeof(gpu_key) - 1, "%63s", gpu), 1);
    cluster_begin(&c);
    cluster_apply_gpu(&c, gpu);
    cluster_apply(&c, TY_ORIGIN_PRESET, name, preset->text);
    if (text != NULL) {
        cluster_apply(&c, TY_ORIGIN_FILE, "test.yaml", text);
    }
    ck_assert_msg(cluster_end(&c) == 0, "%s: %s", name, c.err.text);
    const struct ty_cluster cluster = c.cluster;
    ty_arena_release(&c.arena);
    return cluster;
}

#endif
