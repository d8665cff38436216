/* layout.c - degrees, batch, sharding and recomputation. */
#include <string.h>

#include "sim/base/number_text.h"
#include "sim/import/megatron/megatron.h"

#define RULE "default of Megatron-LM"

/* ---- degrees ---- */

static void import_context(struct ty_megatron *m)
{
    static const struct {
        const char *word, *method;
    } methods[] = {
        {"p2p", "zigzag"}, {"a2a", "ulysses"}, {"allgather", "all-gather"}, {"a2a+p2p", "hybrid"}};
    struct ty_flags *f = &m->flags;
    if (ty_flags_count(f, "--ds-sequence-parallel-size", 1) > 1) {
        const struct ty_draft_from from = ty_flags_from(f, "--ds-sequence-parallel-size", RULE);
        ty_flags_set_count(f, "--ds-sequence-parallel-size", "layout.context");
        ty_draft_set(m->draft, "layout.context_method", &from, "ulysses");
        return;
    }
    ty_flags_set_count(f, "--context-parallel-size", "layout.context");
    if (ty_draft_count(m->draft, "layout.context", 1) == 1) {
        return;
    }
    const char *type = ty_flags_text(f, "--cp-comm-type", "p2p");
    const struct ty_flag *flag = ty_flags_find(f, "--cp-comm-type");
    const struct ty_draft_from from = ty_flags_from(f, "--cp-comm-type", RULE);
    for (size_t i = 0; i < TY_COUNT(methods); i++) {
        if (strcmp(type, methods[i].word) == 0) {
            ty_draft_set(m->draft, "layout.context_method", &from, "%s", methods[i].method);
        }
    }
    for (uint32_t i = 1; flag != NULL && i < flag->n_values; i++) {
        if (strcmp(flag->values[i].text, type) != 0) {
            ty_draft_remark(m->draft, &from, "layers differ; all are as the first, %s", type);
            break;
        }
    }
}

static void import_expert_degrees(struct ty_megatron *m)
{
    static const char *const names[] = {"--expert-model-parallel-size",
                                        "--moe-expert-parallel-size"};
    struct ty_flags *f = &m->flags;
    if (ty_draft_get(m->draft, "model.experts") == NULL) {
        return;
    }
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        ty_flags_set_count(f, names[i], "layout.expert");
    }
    if (!m->deepspeed) { /* experts are cut like everything else, unless it is said */
        const struct ty_draft_from from =
            ty_flags_from(f, "--expert-tensor-parallel-size", "as --tensor-model-parallel-size");
        ty_draft_set(m->draft, "layout.expert_tensor", &from, "%u",
                     (unsigned)ty_flags_count(f, "--expert-tensor-parallel-size",
                                              ty_draft_count(m->draft, "layout.tensor", 1)));
    }
    if (ty_flags_has(f, "--moe-expert-model-parallelism")) {
        const struct ty_draft_from from = ty_flags_from(f, "--moe-expert-model-parallelism", RULE);
        ty_draft_remark(m->draft, &from,
                        "over how many ranks experts are shared is megablocks' choice; say it with "
                        "layout.expert");
    }
}

static void import_degrees(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    ty_flags_set_count(f, "--model-parallel-size", "layout.tensor");
    ty_flags_set_count(f, "--tensor-model-parallel-size", "layout.tensor");
    ty_flags_set_count(f, "--pipeline-model-parallel-size", "layout.pipeline");
    import_context(m);
    import_expert_degrees(m);
    if (ty_flags_has(f, "--sequence-parallel")) {
        const struct ty_draft_from from = ty_flags_from(f, "--sequence-parallel", RULE);
        const bool on = ty_draft_count(m->draft, "layout.tensor", 1) > 1;
        ty_draft_set(m->draft, "layout.sequence_parallel", &from, "%s", on ? "true" : "false");
        if (!on) {
            ty_draft_explain(m->draft, "layout.sequence_parallel", "off, as one rank is a group");
        }
    } else if (ty_draft_count(m->draft, "layout.tensor", 1) > 1) {
        const struct ty_draft_from from = {.word = RULE};
        ty_draft_set(m->draft, "layout.sequence_parallel", &from, "false");
    }
    if (ty_flags_has(f, "--use-tp-pp-dp-mapping")) {
        const struct ty_draft_from from = ty_flags_from(f, "--use-tp-pp-dp-mapping", RULE);
        ty_draft_set(m->draft, "layout.order", &from, "[tensor, context, pipeline, data]");
    }
}

/* Replicas, as far as the world is known; else 0. */
static uint32_t replicas(const struct ty_megatron *m)
{
    const struct ty_draft *d = m->draft;
    const uint32_t gpus = d->options->gpus > 0 ? d->options->gpus : d->gpus;
    const uint64_t each = (uint64_t)ty_draft_count(d, "layout.tensor", 1) *
                          ty_draft_count(d, "layout.context", 1) *
                          ty_draft_count(d, "layout.pipeline", 1);
    return each > 0 && gpus % each == 0 ? (uint32_t)(gpus / each) : 0;
}

/* ---- the batch ---- */

/* Tokens of the whole training, where they are said; else more than there are. */
static double tokens_of(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const double sequence = ty_draft_count(m->draft, "model.sequence", 1);
    const struct ty_flag *samples = ty_flags_find(f, "--train-samples");
    if (samples == NULL || samples->n_values == 0 || samples->values[0].doubt != NULL) {
        return 1e30;
    }
    return sequence * ty_flags_real(f, "--train-samples", 1e30);
}

/* One of "0:384 200B:768": tokens, and the batch from there on. False: it is none. */
static bool read_step(const char **at, double *tokens, uint32_t *batch)
{
    static const char prefixes[] = "KMBT";
    char *end;
    *at += strspn(*at, " ");
    *tokens = ty_strtod(*at, &end);
    const char *prefix = *end != '\0' ? strchr(prefixes, *end) : NULL;
    for (const char *p = prefixes; prefix != NULL && p <= prefix; p++) {
        *tokens *= 1000;
    }
    end += prefix != NULL;
    if (end == *at || *end != ':') {
        return false;
    }
    *at = end + 1;
    return ty_scan_number(at, NULL, UINT32_MAX, batch) && (**at == ' ' || **at == '\0');
}

/* "0:384 200B:768 400B:1152": the batch grows; the last one that this training comes to counts. */
static void import_steps(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const struct ty_draft_from from = ty_flags_from(f, "--step-batch-size-schedule", RULE);
    const struct ty_flag *flag = ty_flags_get(f, "--step-batch-size-schedule");
    if (flag == NULL) {
        return;
    }
    if (ty_flags_has(f, "--global-batch-size")) {
        ty_draft_remark(m->draft, &from,
                        "Megatron-LM refuses it together with --global-batch-size, which counts "
                        "here");
        return;
    }
    const char *text = "";
    for (uint32_t i = 0; i < flag->n_values; i++) {
        text = ty_draft_text(m->draft, "%s%s%s", text, i > 0 ? " " : "", flag->values[i].text);
    }
    const double all = tokens_of(m);
    uint32_t batch = 0;
    const char *at = text;
    do {
        double tokens;
        uint32_t next;
        if (!read_step(&at, &tokens, &next)) {
            ty_draft_refuse(m->draft, &from,
                            "'%s' is no list of TOKENS:BATCH, such as 0:384 "
                            "200B:768",
                            text);
            return;
        }
        batch = batch == 0 || tokens < all ? next : batch;
    } while (*at != '\0');
    ty_draft_set(m->draft, "layout.global_batch", &from, "%u", (unsigned)batch);
    ty_draft_remark(m->draft, &from, "%s: the batch grows; it is the last one that %s, %u", text,
                    all < 1e30 ? "--train-samples come to" : "there is", (unsigned)batch);
}

static void import_batch(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    ty_flags_set_count(f, "--batch-size", "layout.micro_batch");
    ty_flags_set_count(f, "--micro-batch-size", "layout.micro_batch");
    if (ty_draft_get(m->draft, "layout.micro_batch") == NULL) {
        const struct ty_draft_from from = {.word = "--micro-batch-size"};
        ty_draft_refuse(m->draft, &from, "no file says it");
    }
    ty_flags_set_count(f, "--global-batch-size", "layout.global_batch");
    import_steps(m);
    const struct ty_flag *ramp = ty_flags_get(f, "--rampup-batch-size");
    if (ramp != NULL && ramp->n_values > 0) {
        ty_draft_remark(m->draft, &ramp->from,
                        "the batch grows from %s; it is the last one, --global-batch-size",
                        ramp->values[0].text);
    }
    const uint32_t n = replicas(m);
    if (ty_draft_get(m->draft, "layout.global_batch") == NULL && n > 0) {
        const struct ty_draft_from from = {.word = "--micro-batch-size for every replica"};
        ty_draft_set(m->draft, "layout.global_batch", &from, "%llu",
                     (unsigned long long)n * ty_draft_count(m->draft, "layout.micro_batch", 1));
    }
}

/* ---- sharding ---- */

static void import_fsdp(struct ty_megatron *m, const char *flag)
{
    static const char *const strategies[] = {"no_shard", "optim", "optim_grads",
                                             "optim_grads_params"};
    struct ty_flags *f = &m->flags;
    const bool torch = strcmp(flag, "--use-torch-fsdp2") == 0;
    const char *strategy =
        torch ? strategies[3]
              : ty_flags_text(f, "--data-parallel-sharding-strategy", strategies[3]);
    const struct ty_draft_from from = ty_flags_from(f, flag, RULE);
    for (unsigned i = 0; i < TY_COUNT(strategies); i++) {
        if (strcmp(strategy, strategies[i]) == 0) {
            ty_draft_set(m->draft, "layout.zero", &from, "%u", i);
        }
    }
}

static void import_sharding(struct ty_megatron *m)
{
    static const char *const fsdp[] = {"--use-torch-fsdp2", "--use-megatron-fsdp",
                                       "--use-custom-fsdp"};
    struct ty_flags *f = &m->flags;
    const bool shared = ty_flags_has(f, "--use-distributed-optimizer");
    const struct ty_draft_from from = ty_flags_from(f, "--use-distributed-optimizer", RULE);
    ty_draft_set(m->draft, "layout.zero", &from, shared ? "1" : "0");
    for (size_t i = 0; i < TY_COUNT(fsdp); i++) {
        if (ty_flags_has(f, fsdp[i])) {
            import_fsdp(m, fsdp[i]);
        }
    }
    const uint32_t instances = ty_flags_count(f, "--num-distributed-optimizer-instances", 1);
    const uint32_t n = replicas(m);
    if (instances > 1 && n > 0) {
        const struct ty_draft_from many =
            ty_flags_from(f, "--num-distributed-optimizer-instances", RULE);
        ty_draft_set(m->draft, "layout.shard", &many, "%u", (unsigned)(n / instances));
    }
}

/* ---- recomputation ---- */

static const struct {
    const char *module, *part;
} modules[] = {
    {"core_attn", "core_attn"},
    {"layernorm", "norm"},
    {"mla_up_proj", "mla_up"},
    {"moe_act", "moe_act"},
    {"mlp", "mlp"},
    {"moe", "moe"},
    {"shared_experts", "shared_experts"},
};

static void import_modules(struct ty_megatron *m, const struct ty_draft_from *from)
{
    const struct ty_flag *flag = ty_flags_get(&m->flags, "--recompute-modules");
    const char *list = "";
    for (uint32_t v = 0; flag != NULL && v < flag->n_values; v++) {
        const char *part = NULL;
        for (size_t i = 0; i < TY_COUNT(modules); i++) {
            part = strcmp(modules[i].module, flag->values[v].text) == 0 ? modules[i].part : part;
        }
        if (part == NULL) {
            ty_draft_remark(m->draft, &flag->from, "%s is no part of a layer here: it is kept",
                            flag->values[v].text);
            continue;
        }
        list = ty_draft_text(m->draft, "%s%s%s", list, list[0] != '\0' ? ", " : "", part);
    }
    if (flag == NULL) {
        ty_draft_set(m->draft, "layout.recompute", from, "selective");
    } else if (list[0] != '\0') {
        ty_draft_set(m->draft, "layout.recompute", &flag->from,
                     strchr(list, ',') != NULL ? "[%s]" : "%s", list);
    }
}

static void import_full(struct ty_megatron *m, const struct ty_draft_from *from)
{
    struct ty_flags *f = &m->flags;
    const char *method = ty_flags_text(
        f, "--recompute-method", ty_flags_text(f, "--activations-checkpoint-method", "uniform"));
    static const char *const counts[] = {
        "--recompute-num-layers", "--activations-checkpoint-num-layers", "--checkpoint-num-layers"};
    const char *flag = counts[0];
    for (size_t i = 0; i < TY_COUNT(counts); i++) {
        flag = ty_flags_has(f, counts[i]) ? counts[i] : flag;
    }
    const uint32_t n = ty_flags_count(f, flag, 1);
    const struct ty_draft_from count = ty_flags_from(f, flag, RULE);
    ty_draft_set(m->draft, "layout.recompute", from, "full");
    if (strcmp(method, "block") == 0) {
        ty_draft_set(m->draft, "layout.recompute_layers", &count, "[%u]", (unsigned)n);
    } else if (n > 1) {
        ty_draft_remark(m->draft, &count,
                        "%u layers run again together; here each keeps its input, and runs alone",
                        (unsigned)n);
    }
}

static void import_recompute(struct ty_megatron *m)
{
    static const char *const always[] = {"--checkpoint-activations",
                                         "--deepspeed-activation-checkpointing",
                                         "--activations-checkpoint-method"};
    struct ty_flags *f = &m->flags;
    const char *granularity = ty_flags_text(f, "--recompute-granularity", NULL);
    struct ty_draft_from from = ty_flags_from(f, "--recompute-granularity", RULE);
    for (size_t i = 0; i < TY_COUNT(always) && granularity == NULL; i++) {
        if (ty_flags_has(f, always[i])) {
            granularity = "full";
            from = ty_flags_from(f, always[i], RULE);
        }
    }
    if (granularity == NULL && ty_flags_has(f, "--recompute-activations")) {
        granularity = "selective";
        from = ty_flags_from(f, "--recompute-activations", RULE);
    }
    if (granularity != NULL && strcmp(granularity, "full") == 0) {
        import_full(m, &from);
    } else if (granularity != NULL && strcmp(granularity, "selective") == 0) {
        import_modules(m, &from);
    } else if (granularity != NULL) {
        ty_draft_refuse(m->draft, &from, "'%s' is neither full nor selective", granularity);
    }
}

void ty_megatron_layout(struct ty_megatron *m)
{
    import_degrees(m);
    import_batch(m);
    import_sharding(m);
    import_recompute(m);
}
