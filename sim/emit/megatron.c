/* megatron.c - flags of Megatron-LM, as they were in August 2026 (sources, some of them memory:
 * sim/import/megatron/rows.c). Defaults are written out where forgetting one changes the job. */
#include "sim/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/compiler.h"

/* ---- what Megatron-LM and its forks share ---- */

static void emit_shape(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    TY_EMIT_FLAG(e, "--num-layers %u\n", (unsigned)a->layers);
    TY_EMIT_FLAG(e, "--hidden-size %u\n", (unsigned)a->hidden);
    TY_EMIT_FLAG(e, "--num-attention-heads %u\n", (unsigned)a->heads);
    TY_EMIT_FLAG(e, "--ffn-hidden-size %u\n", (unsigned)a->ffn);
    TY_EMIT_FLAG(e, "--seq-length %u\n", (unsigned)a->sequence);
    TY_EMIT_FLAG(e, "--max-position-embeddings %u\n",
                 (unsigned)(a->positions > 0 ? a->positions : a->sequence));
    TY_EMIT_FLAG(e, "--position-embedding-type %s\n",
                 a->positions > 0 ? "learned_absolute"
                 : a->rotary > 0  ? "rope"
                                  : "none");
    if (a->positions == 0 && a->rotary > 0 && a->rotary < 1) {
        TY_EMIT_FLAG(e, "--rotary-percent %g\n", a->rotary);
    }
    if (a->mlp == TY_MLP_SWIGLU) {
        TY_EMIT_FLAG(e, "--swiglu\n");
    }
    if (!a->tied) {
        TY_EMIT_FLAG(e, "--untie-embeddings-and-output-weights\n");
    }
    if ((a->bias & TY_BIAS_PROJ) == 0) {
        TY_EMIT_FLAG(e, "--disable-bias-linear\n");
    }
    TY_EMIT_FLAG(e, "--hidden-dropout %g\n", a->dropout);
    TY_EMIT_FLAG(e, "--attention-dropout %g\n", a->dropout);
}

/* Which has its flags for two norms of a layer and for a scale of all heads, or none. */
static void tell_shape(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    char value[TY_EMIT_VALUE];
    const struct {
        const char *key;
        bool unsaid;
    } rows[] = {
        {"norm_kind", a->norm_kind > TY_NORM_RMS},
        {"norms", a->norms == 4},
        {"qk_norm_kind", a->qk_norm && a->qk_norm_kind != TY_QK_NORM_HEAD},
        {"embedding_norm", a->embedding_norm},
        {"head_bias", a->head_bias},
        {"full_layers", a->full_layers.n > 0},
    };
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        if (rows[i].unsaid) {
            TY_EMIT_UNSAID(e, "model.%s %s\n", rows[i].key,
                           ty_emit_value(e, TY_SECTION_MODEL, rows[i].key, value));
        }
    }
}

static void emit_degrees(struct ty_emission *e)
{
    const struct ty_layout *l = &e->config->layout;
    TY_EMIT_FLAG(e, "--tensor-model-parallel-size %u\n", (unsigned)l->tensor);
    if (ty_layout_is_mesh(l)) {
        TY_EMIT_UNSAID(e, "layout.tensor_scheme %s: it cuts products in one dimension\n",
                       ty_scheme_words[l->tensor_scheme].name);
    }
    TY_EMIT_FLAG(e, "--pipeline-model-parallel-size %u\n", (unsigned)l->pipeline);
    if (l->sequence_parallel && l->tensor > 1) {
        TY_EMIT_FLAG(e, "--sequence-parallel\n");
    }
    TY_EMIT_FLAG(e, "--micro-batch-size %u\n", (unsigned)l->micro_batch);
    TY_EMIT_FLAG(e, "--global-batch-size %u\n", (unsigned)l->global_batch);
}

static void emit_dtype(struct ty_emission *e)
{
    const int dtype = e->config->arch.dtype;
    if (dtype == TY_DTYPE_FP16) {
        TY_EMIT_FLAG(e, "--fp16\n");
    } else if (dtype != TY_DTYPE_FP32) {
        TY_EMIT_FLAG(e, "--bf16\n");
    }
}

void ty_emit_transformer(struct ty_emission *e)
{
    emit_shape(e);
    tell_shape(e);
    emit_degrees(e);
    emit_dtype(e);
}

/* ---- Megatron-LM ---- */

static void emit_attention(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    const bool flash =
        a->attention != TY_ATTENTION_UNFUSED && a->attention != TY_ATTENTION_FUSED_SOFTMAX;
    TY_EMIT_FLAG(e, "--normalization %s\n", a->norm_kind == TY_NORM_RMS ? "RMSNorm" : "LayerNorm");
    TY_EMIT_FLAG(e, "--attention-backend %s\n", flash ? "flash" : "unfused");
    if (a->attention == TY_ATTENTION_UNFUSED) {
        TY_EMIT_FLAG(e, "--no-masked-softmax-fusion\n");
    }
    if (ty_arch_is_latent(a)) {
        TY_EMIT_FLAG(e, "--multi-latent-attention\n");
        if (a->query_latent > 0) {
            TY_EMIT_FLAG(e, "--q-lora-rank %u\n", (unsigned)a->query_latent);
        }
        TY_EMIT_FLAG(e, "--kv-lora-rank %u\n", (unsigned)a->kv_latent);
        TY_EMIT_FLAG(e, "--qk-head-dim %u\n", (unsigned)a->head_dim);
        TY_EMIT_FLAG(e, "--qk-pos-emb-head-dim %u\n", (unsigned)a->head_rope);
        TY_EMIT_FLAG(e, "--v-head-dim %u\n", (unsigned)a->head_value);
        return;
    }
    if (a->head_dim * a->heads != a->hidden) {
        TY_EMIT_FLAG(e, "--kv-channels %u\n", (unsigned)a->head_dim);
    }
    if (a->kv_heads != a->heads) {
        TY_EMIT_FLAG(e, "--group-query-attention\n");
        TY_EMIT_FLAG(e, "--num-query-groups %u\n", (unsigned)a->kv_heads);
    }
    if ((a->bias & TY_BIAS_ATTENTION) == TY_BIAS_QKV) {
        TY_EMIT_FLAG(e, "--add-qkv-bias\n");
    }
    if (a->qk_norm) {
        TY_EMIT_FLAG(e, "--qk-layernorm\n");
    }
}

/* Stretches of layers without and with experts, as a Python expression. */
static void emit_layer_freq(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    struct ty_text list = {.data = NULL};
    for (uint32_t i = 0, n = 0; i < a->layers; i += n) {
        const bool experts = ty_arch_has_experts(a, i);
        n = 1;
        while (i + n < a->layers && ty_arch_has_experts(a, i + n) == experts) {
            n++;
        }
        ty_text_add(&list, "%s[%d]*%u", i > 0 ? "+" : "", experts, (unsigned)n);
    }
    char *text = ty_text_take(&list);
    TY_EMIT_FLAG(e, "--moe-layer-freq '(%s)'\n", text != NULL ? text : "");
    free(text);
}

static void emit_experts(struct ty_emission *e)
{
    static const char *const dispatchers[] = {
        [TY_DISPATCHER_ALL_TO_ALL] = "alltoall",
        [TY_DISPATCHER_ALL_GATHER] = "allgather",
        [TY_DISPATCHER_DEEPEP] = "flex",
        [TY_DISPATCHER_HYBRIDEP] = "flex",
    };
    const struct ty_arch *a = &e->config->arch;
    const struct ty_layout *l = &e->config->layout;
    const struct ty_framework *f = &l->framework;
    TY_EMIT_FLAG(e, "--num-experts %u\n", (unsigned)a->experts);
    TY_EMIT_FLAG(e, "--moe-router-topk %u\n", (unsigned)a->experts_per_token);
    TY_EMIT_FLAG(e, "--moe-ffn-hidden-size %u\n", (unsigned)a->expert_ffn);
    if (a->shared_ffn > 0) {
        TY_EMIT_FLAG(e, "--moe-shared-expert-intermediate-size %u\n", (unsigned)a->shared_ffn);
    }
    if (ty_arch_has_dense(a)) {
        emit_layer_freq(e);
    }
    if (a->expert_groups > 1) {
        TY_EMIT_FLAG(e, "--moe-router-num-groups %u\n", (unsigned)a->expert_groups);
        TY_EMIT_FLAG(e, "--moe-router-group-topk %u\n", (unsigned)a->group_limit);
    }
    if (a->router_bias) { /* it asks for the sigmoid */
        TY_EMIT_FLAG(e, "--moe-router-score-function sigmoid\n");
        TY_EMIT_FLAG(e, "--moe-router-enable-expert-bias\n");
    }
    TY_EMIT_FLAG(e, "--expert-model-parallel-size %u\n", (unsigned)l->expert);
    TY_EMIT_FLAG(e, "--expert-tensor-parallel-size %u\n", (unsigned)l->expert_tensor);
    TY_EMIT_FLAG(e, "--moe-token-dispatcher-type %s\n", dispatchers[f->dispatcher]);
    if (f->dispatcher >= TY_DISPATCHER_DEEPEP) {
        TY_EMIT_FLAG(e, "--moe-flex-dispatcher-backend %s\n",
                     f->dispatcher == TY_DISPATCHER_DEEPEP ? "deepep" : "hybridep");
    }
    if (f->fused_experts) {
        TY_EMIT_FLAG(e, "--moe-grouped-gemm\n");
    }
    if (f->fused_permute) {
        TY_EMIT_FLAG(e, "--moe-permute-fusion\n");
    }
    if (f->fused_router) {
        TY_EMIT_FLAG(e, "--moe-router-fusion\n");
    }
    if (f->shared_overlap) {
        TY_EMIT_FLAG(e, "--moe-shared-expert-overlap\n");
    }
    if (f->expert_overlap) {
        TY_EMIT_FLAG(e, "--overlap-moe-expert-parallel-comm\n");
    }
    if (f->capacity > 0) {
        TY_EMIT_FLAG(e, "--moe-expert-capacity-factor %g\n", f->capacity);
        if (f->pad_to_capacity) {
            TY_EMIT_FLAG(e, "--moe-pad-expert-input-to-capacity\n");
        }
    }
}

/* The grid of ranks: Megatron-LM knows two orders. */
static void emit_order(struct ty_emission *e)
{
    const struct ty_word_list *order = &e->config->layout.order;
    char value[TY_EMIT_VALUE];
    const bool inner = order->item[0] == TY_AXIS_TENSOR && order->item[1] == TY_AXIS_CONTEXT;
    if (inner && order->item[2] == TY_AXIS_PIPELINE) {
        TY_EMIT_FLAG(e, "--use-tp-pp-dp-mapping\n");
    } else if (!inner) {
        TY_EMIT_UNSAID(e, "layout.order %s: ranks are numbered tensor, context, data, pipeline\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "order", value));
    }
}

static void emit_context(struct ty_emission *e)
{
    static const char *const methods[] = {
        [TY_CONTEXT_ZIGZAG] = "p2p",           [TY_CONTEXT_RING] = "p2p",
        [TY_CONTEXT_ALL_GATHER] = "allgather", [TY_CONTEXT_ULYSSES] = "a2a",
        [TY_CONTEXT_HYBRID] = "a2a+p2p",
    };
    const struct ty_layout *l = &e->config->layout;
    if (l->context > 1) {
        TY_EMIT_FLAG(e, "--context-parallel-size %u\n", (unsigned)l->context);
        TY_EMIT_FLAG(e, "--cp-comm-type %s\n", methods[l->context_method]);
        if (l->context_method == TY_CONTEXT_RING) {
            TY_EMIT_UNSAID(e, "layout.context_method ring: its p2p deals chunks as zigzag does\n");
        }
    }
}

/* Layers of each virtual stage: stages behind each other, a bar between two. */
static void emit_stage_layers(struct ty_emission *e)
{
    const struct ty_uint_list *layers = &e->config->layout.stage_layers;
    struct ty_text t = {.data = NULL};
    for (uint32_t s = 0; s < layers->n; s++) {
        ty_text_add(&t, "%s%s", s > 0 ? "|" : "", s == 0 ? "E" : "");
        if (layers->item[s] > 0) {
            ty_text_add(&t, "t*%u", (unsigned)layers->item[s]);
        }
        if (s + 1 == layers->n) {
            ty_text_add(&t, "%sL", e->config->arch.mtp > 0 ? "m" : "");
        }
    }
    if (t.len > 0) {
        ty_text_add(e->out, "    --pipeline-model-parallel-layout '%s'\n", t.data);
    }
    e->out->failed = e->out->failed || t.failed;
    ty_text_release(&t);
}

static void emit_schedule(struct ty_emission *e)
{
    const struct ty_config *c = e->config;
    const struct ty_layout *l = &c->layout;
    const struct ty_sched *sched = ty_sched_of(&c->schedule);
    const uint32_t chunks = ty_sched_chunks(&c->schedule);
    if (l->pipeline == 1) {
        return;
    }
    emit_stage_layers(e);
    if (strcmp(sched->name, "interleaved") == 0) {
        if (l->stage_layers.n == 0) { /* a layout says so by itself */
            TY_EMIT_FLAG(e, "--num-virtual-stages-per-pipeline-rank %u\n", (unsigned)chunks);
        }
        if (c->schedule.group > 0 && c->schedule.group != l->pipeline) {
            TY_EMIT_FLAG(e, "--microbatch-group-size-per-vp-stage %u\n",
                         (unsigned)c->schedule.group);
        }
        if (!ty_emit_overlaps_p2p(c)) {
            TY_EMIT_FLAG(e, "--no-overlap-p2p-communication\n");
        }
    } else if (strcmp(sched->name, "1f1b") != 0) {
        TY_EMIT_UNSAID(e, "schedule.name %s: its pipelines are 1f1b and interleaved\n",
                       sched->name);
    }
}

/* layout.recompute_layers: one number for all stages is its method block. Whether that was said. */
static bool emit_recompute_layers(struct ty_emission *e)
{
    const struct ty_layout *l = &e->config->layout;
    const struct ty_counts_list *list = &l->recompute_layers;
    char value[TY_EMIT_VALUE];
    bool alike = list->n > 0 && l->recompute == TY_RECOMPUTE_FULL;
    for (uint32_t s = 0; s < list->n; s++) {
        const struct ty_counts *own = &list->item[s];
        alike = alike && own->n == 1 && own->item[0].set == TY_COUNTS_PLAIN &&
                own->item[0].n == list->item[0].item[0].n;
    }
    if (alike) {
        TY_EMIT_FLAG(e, "--recompute-granularity full\n");
        TY_EMIT_FLAG(e, "--recompute-method block\n");
        TY_EMIT_FLAG(e, "--recompute-num-layers %u\n", (unsigned)list->item[0].item[0].n);
    } else if (list->n > 0) {
        TY_EMIT_UNSAID(e,
                       "layout.recompute_layers %s: stages recompute fully, as many layers "
                       "each\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "recompute_layers", value));
    }
    return list->n > 0;
}

static void emit_recompute(struct ty_emission *e)
{
    static const struct {
        uint32_t bit;
        const char *module;
    } modules[] = {
        {TY_RECOMPUTE_CORE, "core_attn"},
        {TY_RECOMPUTE_NORM, "layernorm"},
        {TY_RECOMPUTE_MLA_UP, "mla_up_proj"},
        {TY_RECOMPUTE_MOE_ACT, "moe_act"},
        {TY_RECOMPUTE_MLP, "mlp"},
        {TY_RECOMPUTE_MOE, "moe"},
        {TY_RECOMPUTE_SHARED, "shared_experts"},
    };
    const uint32_t bits = e->config->layout.recompute;
    char list[TY_EMIT_VALUE] = "";
    if (emit_recompute_layers(e)) {
        return;
    }
    if (bits == TY_RECOMPUTE_FULL) {
        TY_EMIT_FLAG(e, "--recompute-granularity full\n");
        TY_EMIT_FLAG(e, "--recompute-method uniform\n");
        TY_EMIT_FLAG(e, "--recompute-num-layers 1\n");
        return;
    }
    for (size_t i = 0; i < TY_COUNT(modules); i++) {
        if ((bits & modules[i].bit) != 0) {
            const size_t n = strlen(list);
            snprintf(list + n, sizeof(list) - n, " %s", modules[i].module);
        }
    }
    if (list[0] != '\0') {
        TY_EMIT_FLAG(e, "--recompute-granularity selective\n");
        TY_EMIT_FLAG(e, "--recompute-modules%s\n", list);
    }
    if ((bits & TY_RECOMPUTE_FFN) != 0) {
        TY_EMIT_UNSAID(e,
                       "layout.recompute ffn: it recomputes the whole MLP (mlp) or none of it\n");
    }
}

static void emit_sharding(struct ty_emission *e)
{
    static const char *const strategies[] = {"no_shard", "optim", "optim_grads",
                                             "optim_grads_params"};
    const struct ty_layout *l = &e->config->layout;
    if (l->zero == 1) {
        TY_EMIT_FLAG(e, "--use-distributed-optimizer\n");
        if (ty_layout_replicas(l) > 1) {
            TY_EMIT_FLAG(e, "--num-distributed-optimizer-instances %u\n",
                         (unsigned)ty_layout_replicas(l));
        }
    } else if (l->zero > 1) {
        TY_EMIT_FLAG(e, "--use-distributed-optimizer\n"); /* which the next one asks for */
        TY_EMIT_FLAG(e, "--use-megatron-fsdp\n");
        TY_EMIT_FLAG(e, "--data-parallel-sharding-strategy %s\n", strategies[l->zero]);
    }
    if (l->framework.overlap_tensor_products && l->sequence_parallel && l->tensor > 1) {
        TY_EMIT_FLAG(e, "--tp-comm-overlap\n");
    }
    if (ty_layout_does(l, l->framework.overlap_grad_reduce)) {
        TY_EMIT_FLAG(e, "--overlap-grad-reduce\n");
    }
    if (l->zero > 0 && l->framework.overlap_param_gather) {
        TY_EMIT_FLAG(e, "--overlap-param-gather\n");
    }
    if (l->framework.bucket > 0) { /* bytes at 16 bit; the flag counts parameters */
        TY_EMIT_FLAG(e, "--ddp-bucket-size %.0f\n", l->framework.bucket / 2);
    }
}

static void emit_precision(struct ty_emission *e)
{
    const struct ty_config *c = e->config;
    const struct ty_framework *f = &c->layout.framework;
    if (c->arch.dtype == TY_DTYPE_FP8) {
        TY_EMIT_FLAG(e, "--fp8-format %s\n", f->fp8_recipe == TY_FP8_BLOCKS ? "e4m3" : "hybrid");
        TY_EMIT_FLAG(e, "--fp8-recipe %s\n",
                     f->fp8_recipe == TY_FP8_BLOCKS    ? "blockwise"
                     : f->fp8_recipe == TY_FP8_CURRENT ? "tensorwise"
                                                       : "delayed");
        if (f->fp8_weights) {
            TY_EMIT_FLAG(e, "--fp8-param-gather\n");
        }
    }
    if (!f->reduce_fp32 && c->arch.dtype != TY_DTYPE_FP32) {
        TY_EMIT_FLAG(e, "--grad-reduce-in-bf16\n");
    }
    if (f->fused_loss) {
        TY_EMIT_FLAG(e, "--cross-entropy-loss-fusion\n");
    }
    if (!f->fused_accumulation) {
        TY_EMIT_FLAG(e, "--no-gradient-accumulation-fusion\n");
    }
}

/* Rows of the embedding, which tensor ranks share evenly. */
static void emit_vocabulary(struct ty_emission *e)
{
    const uint32_t words = e->config->arch.vocabulary, tensor = e->config->layout.tensor;
    const uint32_t rows = (words + tensor - 1) / tensor * tensor;
    TY_EMIT_FLAG(e, "--padded-vocab-size %u\n", (unsigned)rows);
    if (rows != words) {
        TY_EMIT_UNSAID(e, "model.vocabulary %u: %u tensor ranks share whole rows, %u\n",
                       (unsigned)words, (unsigned)tensor, (unsigned)rows);
    }
}

static void emit(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    ty_emit_head(e, "torchrun");
    ty_text_add(e->out, "MEGATRON_ARGS=(\n");
    ty_emit_transformer(e);
    emit_vocabulary(e);
    emit_attention(e);
    emit_context(e);
    if (ty_arch_is_moe(a)) {
        emit_experts(e);
    }
    if (a->mtp > 0) {
        TY_EMIT_FLAG(e, "--mtp-num-layers %u\n", (unsigned)a->mtp);
    }
    emit_order(e);
    emit_schedule(e);
    emit_recompute(e);
    emit_sharding(e);
    emit_precision(e);
    ty_text_add(e->out, ")\n");
    if (a->window > 0) {
        TY_EMIT_UNSAID(e, "model.window %u\n", (unsigned)a->window);
    }
}

const struct ty_emitter ty_emit_megatron = {
    .name = "megatron",
    .title = "Megatron-LM",
    .doc = "flags of Megatron-LM, as an array of bash",
    .habits = {"megatron-lm", "megascale", "deepseek"},
    .emit = emit,
};
