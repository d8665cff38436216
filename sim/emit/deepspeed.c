/* deepspeed.c - DeepSpeed's JSON and the flags of Megatron-DeepSpeed that go with it: DeepSpeed
 * itself has no words for models and pipelines. Sources: those of sim/import/megatron. */
#include "sim/emit/emit.h"

#include <string.h>

static const char *truth(bool yes)
{
    return yes ? "true" : "false";
}

/* ---- the JSON ---- */

/* What lives beside the GPU. It prefetches by bytes, not by units: stage3_prefetch_bucket_size. */
static void emit_offload(struct ty_emission *e)
{
    const struct ty_layout *l = &e->config->layout;
    const struct ty_homes *home = &l->home;
    static const char *const device[] = {
        [TY_HOME_GPU] = "none", [TY_HOME_CPU] = "cpu", [TY_HOME_NVME] = "nvme"};
    if (home->optimizer != TY_HOME_GPU) {
        ty_text_add(e->out,
                    ",\n    \"offload_optimizer\": {\"device\": \"%s\", \"pin_memory\": true, "
                    "\"ratio\": %g}",
                    device[home->optimizer], home->share);
    }
    if (home->parameters != TY_HOME_GPU) {
        ty_text_add(e->out, ",\n    \"offload_param\": {\"device\": \"%s\", \"pin_memory\": true}",
                    device[home->parameters]);
    }
    if (home->optimizer == TY_HOME_NVME && l->zero < 3) {
        TY_EMIT_UNSAID(e, "layout.offload_optimizer nvme: only with layout.zero 3\n");
    }
    if (l->offload == TY_OFFLOAD_GEMINI) {
        TY_EMIT_UNSAID(e, "layout.offload gemini: it keeps all of it on the host\n");
    }
    if (home->activations != TY_HOME_GPU) {
        TY_EMIT_UNSAID(e, "layout.offload_activations: activation_checkpointing.cpu_checkpointing "
                          "sends checkpoints only\n");
    }
    if (l->offload_delay) {
        TY_EMIT_UNSAID(e, "layout.offload_delay: its update is not delayed\n");
    }
}

static void emit_zero(struct ty_emission *e)
{
    const struct ty_layout *l = &e->config->layout;
    const struct ty_framework *f = &l->framework;
    ty_text_add(e->out, "  \"zero_optimization\": {\n    \"stage\": %u", (unsigned)l->zero);
    if (l->zero > 0) {
        ty_text_add(e->out, ",\n    \"overlap_comm\": %s",
                    truth(ty_layout_does(l, f->overlap_grad_reduce)));
        ty_text_add(e->out, ",\n    \"reduce_scatter\": %s", truth(f->reduce_scatter));
        ty_text_add(e->out, ",\n    \"reduce_bucket_size\": %.0f", ty_layout_bucket_params(l));
    }
    emit_offload(e);
    if (l->zero == 3 && ty_layout_replicas(l) > 1) {
        ty_text_add(e->out, ",\n    \"mics_shard_size\": %u", (unsigned)ty_layout_shards(l));
    } else if (ty_layout_replicas(l) > 1) {
        TY_EMIT_UNSAID(e, "layout.shard %u: stages below 3 share among all replicas\n",
                       (unsigned)l->shard);
    }
    ty_text_add(e->out, "\n  },\n");
}

static void emit_json(struct ty_emission *e)
{
    const struct ty_config *c = e->config;
    const struct ty_layout *l = &c->layout;
    const int dtype = c->arch.dtype;
    ty_text_add(e->out, "cat > ds_config.json <<'JSON'\n{\n");
    ty_text_add(e->out, "  \"train_batch_size\": %u,\n", (unsigned)l->global_batch);
    ty_text_add(e->out, "  \"train_micro_batch_size_per_gpu\": %u,\n", (unsigned)l->micro_batch);
    ty_text_add(e->out, "  \"gradient_accumulation_steps\": %u,\n", (unsigned)l->micro_batches);
    emit_zero(e);
    ty_text_add(e->out, "  \"bf16\": {\"enabled\": %s},\n",
                truth(dtype == TY_DTYPE_BF16 || dtype == TY_DTYPE_FP8));
    ty_text_add(e->out, "  \"fp16\": {\"enabled\": %s},\n", truth(dtype == TY_DTYPE_FP16));
    ty_text_add(e->out, "  \"communication_data_type\": \"%s\"\n}\nJSON\n",
                l->framework.reduce_fp32 ? "fp32"
                : dtype == TY_DTYPE_FP16 ? "fp16"
                                         : "bf16");
    if (dtype == TY_DTYPE_FP8) {
        TY_EMIT_UNSAID(e, "model.dtype fp8\n");
    }
}

/* ---- the flags ---- */

static void emit_context(struct ty_emission *e)
{
    const struct ty_layout *l = &e->config->layout;
    char method[TY_EMIT_VALUE];
    if (l->context == 1) {
        return;
    }
    if (l->context_method == TY_CONTEXT_ULYSSES) {
        TY_EMIT_FLAG(e, "--ds-sequence-parallel-size %u\n", (unsigned)l->context);
    } else {
        TY_EMIT_UNSAID(e, "layout.context %u by %s: its sequence parallelism is ulysses\n",
                       (unsigned)l->context,
                       ty_emit_value(e, TY_SECTION_LAYOUT, "context_method", method));
    }
}

static void emit_experts(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    const struct ty_layout *l = &e->config->layout;
    TY_EMIT_FLAG(e, "--num-experts %u\n", (unsigned)a->experts);
    TY_EMIT_FLAG(e, "--topk %u\n", (unsigned)a->experts_per_token);
    TY_EMIT_FLAG(e, "--expert-interval 1\n");
    TY_EMIT_FLAG(e, "--moe-expert-parallel-size %u\n", (unsigned)l->expert);
    if (a->expert_ffn != a->ffn || a->shared_ffn > 0 || ty_arch_has_dense(a)) {
        TY_EMIT_UNSAID(e, "model.expert_ffn, shared_ffn, dense_layers: experts are as wide as the "
                          "MLP, and in every layer\n");
    }
    if (l->expert_tensor > 1) {
        TY_EMIT_UNSAID(e, "layout.expert_tensor %u\n", (unsigned)l->expert_tensor);
    }
}

static void emit_recompute(struct ty_emission *e)
{
    const uint32_t bits = e->config->layout.recompute;
    char value[TY_EMIT_VALUE];
    if (e->config->layout.recompute_layers.n > 0) {
        TY_EMIT_UNSAID(e, "layout.recompute_layers %s: a stage recomputes all of its layers\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "recompute_layers", value));
    }
    if (bits == TY_RECOMPUTE_FULL) {
        TY_EMIT_FLAG(e, "--checkpoint-activations\n");
        TY_EMIT_FLAG(e, "--deepspeed-activation-checkpointing\n");
    } else if (bits == TY_RECOMPUTE_CORE) {
        TY_EMIT_FLAG(e, "--recompute-granularity selective\n");
    } else if (bits != TY_RECOMPUTE_NONE) {
        TY_EMIT_UNSAID(e, "layout.recompute %s: it knows full and selective\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "recompute", value));
    }
}

static void emit_pipeline(struct ty_emission *e)
{
    const struct ty_config *c = e->config;
    const struct ty_sched *sched = ty_sched_of(&c->schedule);
    char value[TY_EMIT_VALUE];
    if (c->layout.pipeline == 1) {
        TY_EMIT_FLAG(e, "--no-pipeline-parallel\n");
        return;
    }
    if (strcmp(sched->name, "1f1b") != 0) {
        TY_EMIT_UNSAID(e, "schedule.name %s: its pipeline is 1f1b\n", sched->name);
    }
    if (c->layout.stage_layers.n > 0) {
        TY_EMIT_UNSAID(e, "layout.stage_layers %s\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "stage_layers", value));
    }
}

/* Its tokenizer says how many words there are; rows are padded to whole multiples of the flag times
 * the tensor ranks, which must not add any. */
static void emit_vocabulary(struct ty_emission *e)
{
    const uint32_t rows = e->config->arch.vocabulary, tensor = e->config->layout.tensor;
    uint32_t unit = 128; /* as it is by itself */
    while (unit > 1 && rows % (unit * tensor) != 0) {
        unit /= 2;
    }
    if (unit < 128) {
        TY_EMIT_FLAG(e, "--make-vocab-size-divisible-by %u\n", (unsigned)unit);
    }
}

static void emit(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    ty_emit_head(e, "torchrun");
    ty_text_add(e->out, "# with a tokenizer of %u words, or as many fewer as padding adds\n",
                (unsigned)a->vocabulary);
    emit_json(e);
    ty_text_add(e->out, "DEEPSPEED_ARGS=(\n");
    TY_EMIT_FLAG(e, "--deepspeed\n");
    TY_EMIT_FLAG(e, "--deepspeed_config ds_config.json\n");
    TY_EMIT_FLAG(e, "--zero-stage %u\n", (unsigned)e->config->layout.zero);
    ty_emit_transformer(e);
    TY_EMIT_FLAG(e, "--normalization %s\n", a->norm_kind == TY_NORM_RMS ? "rmsnorm" : "layernorm");
    emit_vocabulary(e);
    if ((uint64_t)a->head_dim * a->heads != a->hidden && !ty_arch_is_latent(a)) {
        TY_EMIT_FLAG(e, "--kv-channels %u\n", (unsigned)a->head_dim);
    }
    if (a->kv_heads != a->heads) {
        TY_EMIT_FLAG(e, "--num-key-value-heads %u\n", (unsigned)a->kv_heads);
    }
    if (a->attention >= TY_ATTENTION_FLASH1) {
        TY_EMIT_FLAG(e, "--use-flash-attn-v2\n");
    }
    emit_context(e);
    if (ty_arch_is_moe(a)) {
        emit_experts(e);
    }
    emit_pipeline(e);
    emit_recompute(e);
    ty_text_add(e->out, ")\n");
    if (ty_arch_is_latent(a)) {
        TY_EMIT_UNSAID(e, "model.kv_latent: latent attention\n");
    }
    if (a->mtp > 0) {
        TY_EMIT_UNSAID(e, "model.mtp %u\n", (unsigned)a->mtp);
    }
}

const struct ty_emitter ty_emit_deepspeed = {
    .name = "deepspeed",
    .title = "DeepSpeed",
    .doc = "DeepSpeed's JSON, and flags of Megatron-DeepSpeed",
    .habits = {"megatron-deepspeed"},
    .offloads = true,
    .emit = emit,
};
