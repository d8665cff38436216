/* stack.c - what flags say of the training stack, the section `framework`, and of states
 * beside the GPU. A flag's absence counts, too: presets are of published recipes, which set
 * most. */
#include <string.h>

#include "sim/import/megatron/megatron.h"

#define RULE   "default of Megatron-LM"
#define MEMORY RULE ", from memory"

/* Gradients: bf16 accumulates and reduces in 32 bits unless it is told otherwise, fp16 does not. */
static void import_gradients(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const char *main_grads = ty_flags_text(f, "--main-grads-dtype", "fp32");
    const bool half = ty_flags_has(f, "--grad-reduce-in-bf16") || strcmp(main_grads, "fp32") != 0;
    const bool asked = ty_flags_has(f, "--accumulate-allreduce-grads-in-fp32");
    const bool wide = !half && (asked || ty_flags_has(f, "--bf16"));
    const struct ty_draft_from from = ty_flags_from(
        f,
        half ? (ty_flags_find(f, "--grad-reduce-in-bf16") != NULL ? "--grad-reduce-in-bf16"
                                                                  : "--main-grads-dtype")
             : "--accumulate-allreduce-grads-in-fp32",
        RULE);
    ty_draft_set(m->draft, "framework.grad_dtype", &from, wide ? "fp32" : "model");
}

static void import_overlap(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const bool reduce = ty_flags_has(f, "--overlap-grad-reduce");
    const struct ty_draft_from from = ty_flags_from(f, "--overlap-grad-reduce", RULE);
    ty_draft_set(m->draft, "framework.overlap_grad_reduce", &from, reduce ? "true" : "false");
    if (!ty_draft_is(m->draft, "layout.zero", "0")) {
        const bool gather = ty_flags_has(f, "--overlap-param-gather");
        const struct ty_draft_from other = ty_flags_from(f, "--overlap-param-gather", RULE);
        ty_draft_set(m->draft, "framework.overlap_param_gather", &other, gather ? "true" : "false");
    }
    if (ty_flags_has(f, "--ddp-bucket-size")) { /* it counts parameters, the key 16-bit bytes */
        const struct ty_draft_from bucket = ty_flags_from(f, "--ddp-bucket-size", RULE);
        ty_draft_set(m->draft, "framework.bucket", &bucket, "%.0f B",
                     2 * ty_flags_real(f, "--ddp-bucket-size", 0));
    }
}

static void import_states(struct ty_megatron *m)
{
    static const char *const moments[] = {"--exp-avg-dtype", "--exp-avg-sq-dtype"};
    struct ty_flags *f = &m->flags;
    for (size_t i = 0; i < TY_COUNT(moments); i++) {
        const char *type = ty_flags_text(f, moments[i], NULL);
        if (type != NULL && strcmp(type, "fp32") != 0) {
            const struct ty_draft_from from = ty_flags_from(f, moments[i], RULE);
            ty_draft_set(m->draft, "framework.moment_dtype", &from, "%s",
                         strcmp(type, "fp8") == 0 ? "fp8" : "bf16");
        }
    }
    const char *master = ty_flags_text(f, "--main-params-dtype", "fp32");
    if (strcmp(master, "fp32") != 0) {
        const struct ty_draft_from from = ty_flags_from(f, "--main-params-dtype", RULE);
        ty_draft_set(m->draft, "framework.master_dtype", &from, "bf16");
    }
    if (ty_flags_has(f, "--optimizer-cpu-offload") || ty_flags_has(f, "--cpu-optimizer")) {
        const char *flag = ty_flags_find(f, "--optimizer-cpu-offload") != NULL
                               ? "--optimizer-cpu-offload"
                               : "--cpu-optimizer";
        const struct ty_draft_from from = ty_flags_from(f, flag, RULE);
        const struct ty_draft_from part = ty_flags_from(f, "--optimizer-offload-fraction", MEMORY);
        ty_draft_set(m->draft, "layout.offload_optimizer", &from, "cpu");
        ty_draft_set(m->draft, "layout.offload_share", &part, "%g",
                     ty_flags_real(f, "--optimizer-offload-fraction", 1));
    }
    const char *optimizer = ty_flags_text(f, "--optimizer", "adam");
    if (strcmp(optimizer, "adam") != 0 && strcmp(optimizer, "adamw") != 0) {
        const struct ty_draft_from from = ty_flags_from(f, "--optimizer", RULE);
        ty_draft_remark(m->draft, &from, "%s: states and update are those of Adam", optimizer);
    }
}

static void import_fp8(struct ty_megatron *m)
{
    static const struct {
        const char *word, *recipe;
    } recipes[] = {{"delayed", "delayed"},
                   {"tensorwise", "current"},
                   {"blockwise", "blockwise"},
                   {"mxfp8", "mxfp8"}};
    struct ty_flags *f = &m->flags;
    const char *given = ty_flags_text(f, "--fp8-recipe", "delayed");
    const struct ty_draft_from from = ty_flags_from(f, "--fp8-recipe", MEMORY);
    if (!ty_draft_is(m->draft, "model.dtype", "fp8")) {
        return;
    }
    for (size_t i = 0; i < TY_COUNT(recipes); i++) {
        if (strcmp(given, recipes[i].word) == 0) {
            ty_draft_set(m->draft, "framework.fp8_recipe", &from, "%s", recipes[i].recipe);
            return;
        }
    }
    ty_draft_remark(m->draft, &from, "%s: no such way of casting here; it is delayed", given);
}

void ty_megatron_stack(struct ty_megatron *m)
{
    const struct ty_draft_from stack = {.word =
                                            m->deepspeed ? "Megatron-DeepSpeed" : "Megatron-LM"};
    ty_draft_set(m->draft, "framework.preset", &stack, "%s",
                 m->deepspeed ? "megatron-deepspeed" : "megatron-lm");
    if (!m->deepspeed) { /* there the JSON says it */
        import_gradients(m);
        import_overlap(m);
    }
    import_states(m);
    import_fp8(m);
}
