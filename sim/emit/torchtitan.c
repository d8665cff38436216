/* torchtitan.c - a TOML file of torchtitan, as its job configuration was before it became Python
 * (February 2026; the fields keep their names there). Sources: sim/import/torchtitan/rows.c. */
#include "sim/emit/emit.h"

#include <string.h>

#include "sim/base/compiler.h"

/* Models that it has a row of, by the name of a preset. */
static void emit_model(struct ty_emission *e)
{
    static const struct {
        const char *preset, *name, *flavor;
    } rows[] = {
        {"llama3-8b", "llama3", "8B"},          {"llama3-70b", "llama3", "70B"},
        {"llama3-405b", "llama3", "405B"},      {"deepseek-v2-lite", "deepseek_v3", "16B"},
        {"deepseek-v3", "deepseek_v3", "671B"},
    };
    const struct ty_arch *a = &e->config->arch;
    ty_text_add(e->out, "\n[model]\n");
    if (a->dtype == TY_DTYPE_FP8) {
        ty_text_add(e->out, "converters = [\"float8\"]\n");
    }
    for (size_t i = 0; a->preset != NULL && i < TY_COUNT(rows); i++) {
        if (strcmp(rows[i].preset, a->preset) == 0) {
            ty_text_add(e->out, "name = \"%s\"\nflavor = \"%s\"\n", rows[i].name, rows[i].flavor);
            return;
        }
    }
    TY_EMIT_UNSAID(e,
                   "section model: add a flavor of dim %u, n_layers %u, n_heads %u, n_kv_heads "
                   "%u, inner width %u, vocabulary %u\n",
                   (unsigned)a->hidden, (unsigned)a->layers, (unsigned)a->heads,
                   (unsigned)a->kv_heads, (unsigned)a->ffn, (unsigned)a->vocabulary);
}

/* Without a pipeline a rank gets a micro-batch at a time and accumulates; with one it gets all of
 * its share, which the pipeline cuts. */
static void emit_training(struct ty_emission *e)
{
    const struct ty_config *c = e->config;
    const struct ty_layout *l = &c->layout;
    const uint32_t passes = l->pipeline > 1 ? l->micro_batches : 1;
    ty_text_add(e->out, "\n[training]\n");
    ty_text_add(e->out, "local_batch_size = %u\n", (unsigned)(l->micro_batch * passes));
    ty_text_add(e->out, "global_batch_size = %u\n", (unsigned)l->global_batch);
    ty_text_add(e->out, "seq_len = %u\n", (unsigned)c->arch.sequence);
    ty_text_add(e->out, "mixed_precision_param = \"%s\"\n",
                c->arch.dtype == TY_DTYPE_FP32 ? "float32" : "bfloat16");
    ty_text_add(e->out, "mixed_precision_reduce = \"%s\"\n",
                l->framework.reduce_fp32 ? "float32" : "bfloat16");
    if (c->arch.dtype == TY_DTYPE_FP16) {
        TY_EMIT_UNSAID(e, "model.dtype fp16\n");
    }
}

static void emit_pipeline(struct ty_emission *e)
{
    static const struct {
        const char *schedule, *word;
    } rows[] = {
        {"gpipe", "GPipe"},
        {"1f1b", "1F1B"},
        {"interleaved", "Interleaved1F1B"},
        {"bfs", "LoopedBFS"},
        {"interleaved-zb", "InterleavedZeroBubble"},
        {"zb-v", "ZBVZeroBubble"},
        {"dualpipev", "DualPipeV"},
    };
    const struct ty_config *c = e->config;
    const struct ty_layout *l = &c->layout;
    const struct ty_sched *sched = ty_sched_of(&c->schedule);
    const uint32_t stages = l->pipeline * ty_sched_chunks(&c->schedule);
    char value[TY_EMIT_VALUE];
    ty_text_add(e->out, "pipeline_parallel_degree = %u\n", (unsigned)l->pipeline);
    if (l->pipeline == 1) {
        return;
    }
    const char *word = NULL;
    for (size_t i = 0; i < TY_COUNT(rows); i++) {
        word = strcmp(rows[i].schedule, sched->name) == 0 ? rows[i].word : word;
    }
    if (word != NULL) {
        ty_text_add(e->out, "pipeline_parallel_schedule = \"%s\"\n", word);
    } else {
        TY_EMIT_UNSAID(e, "schedule.name %s\n", sched->name);
    }
    ty_text_add(e->out, "pipeline_parallel_microbatch_size = %u\n", (unsigned)l->micro_batch);
    if (l->stage_layers.n > 0 || c->arch.layers % stages != 0) {
        TY_EMIT_UNSAID(e,
                       "layout.stage_layers %s: it deals layers by ..._layers_per_stage, and "
                       "..._first_stage_less_layers and ..._last_stage_less_layers\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "stage_layers", value));
    } else {
        ty_text_add(e->out,
                    "pipeline_parallel_layers_per_stage = %u\n"
                    "pipeline_parallel_first_stage_less_layers = 0\n"
                    "pipeline_parallel_last_stage_less_layers = 0\n",
                    (unsigned)(c->arch.layers / stages));
    }
}

static void emit_data(struct ty_emission *e)
{
    const struct ty_layout *l = &e->config->layout;
    const bool sharded = l->zero >= 2;
    const uint32_t replicas = sharded ? ty_layout_replicas(l) : l->data;
    ty_text_add(e->out, "data_parallel_replicate_degree = %u\n", (unsigned)replicas);
    ty_text_add(e->out, "data_parallel_shard_degree = %u\n", (unsigned)(l->data / replicas));
    if (sharded) {
        const bool always = l->zero == 3 && ty_layout_does(l, l->framework.reshard_after_forward);
        ty_text_add(e->out, "fsdp_reshard_after_forward = \"%s\"\n", always ? "always" : "never");
    } else if (l->zero == 1 && l->data > 1) {
        TY_EMIT_UNSAID(
            e, "layout.zero 1: it shares gradients and weights, too (2 or 3), or nothing\n");
    }
}

static void emit_parallelism(struct ty_emission *e)
{
    const struct ty_config *c = e->config;
    const struct ty_layout *l = &c->layout;
    ty_text_add(e->out, "\n[parallelism]\n");
    emit_data(e);
    ty_text_add(e->out, "tensor_parallel_degree = %u\n", (unsigned)l->tensor);
    if (ty_layout_is_mesh(l)) {
        TY_EMIT_UNSAID(e, "layout.tensor_scheme %s: it cuts products in one dimension\n",
                       ty_scheme_words[l->tensor_scheme].name);
    } else if (l->tensor > 1 && !l->sequence_parallel) {
        TY_EMIT_UNSAID(e,
                       "layout.sequence_parallel false: its tensor ranks share sequences, too\n");
    }
    if (l->tensor > 1 && l->framework.overlap_tensor_products) {
        ty_text_add(e->out, "enable_async_tensor_parallel = true\n");
    }
    ty_text_add(e->out, "context_parallel_degree = %u\n", (unsigned)l->context);
    if (l->context > 1) {
        const bool gathers = l->context_method == TY_CONTEXT_ALL_GATHER;
        ty_text_add(e->out, "context_parallel_rotate_method = \"%s\"\n",
                    gathers ? "allgather" : "alltoall");
    }
    if (ty_arch_is_moe(&c->arch)) {
        ty_text_add(e->out, "expert_parallel_degree = %u\nexpert_tensor_parallel_degree = %u\n",
                    (unsigned)l->expert, (unsigned)l->expert_tensor);
    }
    emit_pipeline(e);
}

static void emit_recompute(struct ty_emission *e)
{
    const uint32_t bits = e->config->layout.recompute;
    char value[TY_EMIT_VALUE];
    if (e->config->layout.recompute_layers.n > 0) {
        TY_EMIT_UNSAID(e, "layout.recompute_layers %s: a stage recomputes all of its layers\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "recompute_layers", value));
    }
    ty_text_add(e->out, "\n[activation_checkpoint]\nmode = \"%s\"\n",
                bits == TY_RECOMPUTE_FULL ? "full" : "none");
    if (bits != TY_RECOMPUTE_FULL && bits != TY_RECOMPUTE_NONE) {
        TY_EMIT_UNSAID(e, "layout.recompute %s: its selective mode keeps every second product\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "recompute", value));
    }
}

static void emit(struct ty_emission *e)
{
    char order[TY_EMIT_VALUE];
    const struct ty_word_list *axes = &e->config->layout.order;
    ty_emit_head(e, "torchrun");
    emit_model(e);
    emit_training(e);
    emit_parallelism(e);
    emit_recompute(e);
    if (axes->item[0] != TY_AXIS_TENSOR || axes->item[TY_N_AXES - 1] != TY_AXIS_PIPELINE) {
        TY_EMIT_UNSAID(e, "layout.order %s: ranks are numbered tensor, context, data, pipeline\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "order", order));
    }
}

const struct ty_emitter ty_emit_torchtitan = {
    .name = "torchtitan",
    .title = "torchtitan",
    .doc = "a TOML file of torchtitan",
    .emit = emit,
};
