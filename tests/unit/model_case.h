/* model_case.h - model and layout sections for tests, and a GPU spelled out.
 *
 * Sections are read from text as a run file would give them; the GPU is filled by hand, so that
 * presets may improve without moving these tests. */
#ifndef TY_TESTS_MODEL_CASE_H
#define TY_TESTS_MODEL_CASE_H

#include <string.h>

#include "model/block/memory.h"

#include "model/parallel/kinds.h"
#include "tests/unit/suite.h"

#define MODEL_KEYS_MAX 96u

static inline double us(double seconds)
{
    return seconds * 1e6;
}

struct model_case {
    struct ty_arch arch;
    struct ty_layout layout;
    struct ty_cluster cluster;
    struct ty_section model_section, layout_section;
    struct ty_origin model_origins[MODEL_KEYS_MAX], layout_origins[MODEL_KEYS_MAX];
    struct ty_arena arena;
    struct ty_err err;
};

/* A100 SXM 80 GB. Kernel figures: microsoft/vidur and Dao-AILab/flash-attention charts, as in
 * topology/gpu_presets.c; derate, wave term and floor off, so that sums are those of benchmarks. */
static inline struct ty_cluster a100(uint32_t nodes)
{
    struct ty_cluster c = {
        .collectives.derate = 1,
        .nodes = nodes,
        .gpus_per_node = 8,
    };
    c.gpu = (struct ty_gpu){
        .peak = {[TY_DTYPE_BF16] = 312e12, [TY_DTYPE_FP16] = 312e12, [TY_DTYPE_FP32] = 19.5e12},
        .memory = 79.15 * 1073741824,
        .memory_bandwidth = 2039e9,
        .sms = 108,
        .gemm_efficiency = 0.724,
        .gemm_overhead = 10e-6,
        .wgrad_slowdown = 1.05,
        .gemm_sustained = 1,
        .add_efficiency = 0.88,
        .activation_efficiency = 0.49,
        .rope_efficiency = 0.42,
        .norm_passes = 3.09,
        .norm_passes_unfused = 16.2,
        .kernel_overhead = 2e-6,
        .optimizer_efficiency = 0.8,
        .derate = 1,
        .host_speed = 1,
    };
    c.gpu.attention[TY_ATTENTION_FLASH1] = (struct ty_attention_curve){81e12, 273};
    c.gpu.attention[TY_ATTENTION_FLASH2] = (struct ty_attention_curve){194e12, 485};
    c.gpu.attention[TY_ATTENTION_FLASH3] = (struct ty_attention_curve){194e12, 485};
    return c;
}

static inline void model_case_begin(struct model_case *c, uint32_t nodes)
{
    memset(c, 0, sizeof(*c));
    ck_assert_uint_le(ty_n_arch_fields, MODEL_KEYS_MAX);
    ck_assert_uint_le(ty_n_layout_fields, MODEL_KEYS_MAX);
    c->cluster = a100(nodes);
    c->layout.framework = (struct ty_framework){.fused_accumulation = true,
                                                .overlap_grad_reduce = TY_HABIT_TRUE,
                                                .zero_in_pipeline = 3,
                                                .fused_qkv = true,
                                                .fused_gate = true,
                                                .overlap_tensor_reduce = true,
                                                .overlap_p2p = TY_OVERLAP_P2P_TRUE,
                                                .fused_activation = true,
                                                .keep_product = true,
                                                .fused_rotary = true,
                                                .fused_merge = true,
                                                .fused_optimizer = true,
                                                .parallel_loss = true,
                                                .regather_inputs = true,
                                                .norm_speed = 1};
    c->model_section = (struct ty_section){.name = "model",
                                           .fields = ty_arch_fields,
                                           .n_fields = ty_n_arch_fields,
                                           .base = &c->arch,
                                           .origins = c->model_origins};
    c->layout_section = (struct ty_section){.name = "layout",
                                            .fields = ty_layout_fields,
                                            .n_fields = ty_n_layout_fields,
                                            .base = &c->layout,
                                            .origins = c->layout_origins};
}

static inline int section_apply(struct model_case *c, const struct ty_section *section,
                                enum ty_origin_kind kind, const char *name, const char *text)
{
    struct ty_doc doc;
    const int rc = ty_doc_parse(&doc, &c->arena, name, text, strlen(text), &c->err);
    if (rc < 0 || doc.root == NULL) {
        return rc;
    }
    const struct ty_value_source source = {&doc, kind, name};
    return ty_section_apply(section, &source, doc.root, &c->arena, &c->err);
}

static inline const struct ty_preset *model_preset(const char *name)
{
    const struct ty_preset *preset = ty_arch_presets;
    while (preset->name != NULL && strcmp(preset->name, name) != 0) {
        preset++;
    }
    ck_assert_msg(preset->name != NULL, "no preset %s", name);
    return preset;
}

/* Preset (or NULL), text over it, defaults, checks. */
static inline int model_read(struct model_case *c, const char *preset, const char *text)
{
    int rc = 0;
    if (preset != NULL) {
        rc = section_apply(c, &c->model_section, TY_ORIGIN_PRESET, preset,
                           model_preset(preset)->text);
    }
    rc = rc < 0 ? rc : section_apply(c, &c->model_section, TY_ORIGIN_FILE, "run.yaml", text);
    rc = rc < 0 ? rc : ty_section_defaults(&c->model_section, &c->arena, &c->err);
    return rc < 0 ? rc : ty_arch_finish(&c->arch, &c->model_section, &c->err);
}

static inline int layout_read(struct model_case *c, const char *text, uint32_t chunks)
{
    int rc = section_apply(c, &c->layout_section, TY_ORIGIN_FILE, "run.yaml", text);
    rc = rc < 0 ? rc : ty_section_defaults(&c->layout_section, &c->arena, &c->err);
    return rc < 0 ? rc
                  : ty_layout_finish(&c->layout, &c->layout_section, &c->arch, &c->cluster, chunks,
                                     &c->err);
}

/* All of it; must succeed. Releases the arena: strings of the sections are gone. */
static inline void model_case(struct model_case *c, uint32_t nodes, const char *preset,
                              const char *model, const char *layout)
{
    model_case_begin(c, nodes);
    ck_assert_msg(model_read(c, preset, model) == 0, "%s", c->err.text);
    ck_assert_msg(layout_read(c, layout, 1) == 0, "%s", c->err.text);
    ty_arena_release(&c->arena);
}

static inline void model_case_release(struct model_case *c)
{
    ty_arena_release(&c->arena);
}

/* |value - expected| <= tolerance * |expected| */
#define assert_near(value, expected, tolerance)                                                    \
    do {                                                                                           \
        const double near_value = (value), near_expected = (expected);                             \
        const double near_off =                                                                    \
            near_value > near_expected ? near_value - near_expected : near_expected - near_value;  \
        ck_assert_msg(near_off <= (tolerance)*near_expected, "%s: %.9g, expected %.9g within %g",  \
                      #value, near_value, near_expected, (double)(tolerance));                     \
    } while (0)

#endif
