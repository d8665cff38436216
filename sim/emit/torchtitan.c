/* torchtitan.c - a TOML file of torchtitan, as its job configuration was before it became Python
 * (February 2026; the fields keep their names there). Sources: sim/import/torchtitan/rows.c. */
#include "sim/emit/emit.h"

#include <string.h>

#include "sim/base/compiler.h"
#include "sim/emit/torchtitan_flavors.h"

/* ---- the model ---- */

/* Whether a line of a flavor, "heads: 32", is what the model is. */
static bool says(const struct ty_emission *e, const char *line)
{
    char key[32], value[TY_EMIT_VALUE];
    const size_t n = strcspn(line, ":"), all = strcspn(line, "\n");
    if (n >= sizeof(key) || n + 2 > all) {
        return false;
    }
    memcpy(key, line, n);
    key[n] = '\0';
    ty_emit_value(e, TY_SECTION_MODEL, key, value);
    return strlen(value) == all - n - 2 && strncmp(line + n + 2, value, all - n - 2) == 0;
}

static bool has(const char *lines, const char *key)
{
    return strstr(lines, key) != NULL;
}

static bool is_flavor(const struct ty_emission *e, const struct ty_titan_flavor *f)
{
    const struct ty_arch *a = &e->config->arch;
    bool same = has(f->lines, "experts: ") == ty_arch_is_moe(a) &&
                has(f->lines, "kv_latent: ") == ty_arch_is_latent(a) &&
                has(f->lines, "qk_norm: ") == (a->qk_norm != 0);
    for (const char *line = f->lines; same && *line != '\0'; line += strcspn(line, "\n") + 1) {
        same = says(e, line);
    }
    return same;
}

static void emit_model(struct ty_emission *e)
{
    const struct ty_arch *a = &e->config->arch;
    const bool mx = e->config->layout.framework.fp8_recipe == TY_FP8_BLOCKS;
    ty_text_add(e->out, "\n[model]\n");
    if (a->dtype == TY_DTYPE_FP8) {
        ty_text_add(e->out, "converters = [\"%s\"]\n", mx ? "mx" : "float8");
    }
    for (const struct ty_titan_flavor *f = ty_titan_flavors; f->name != NULL; f++) {
        if (is_flavor(e, f)) {
            ty_text_add(e->out, "name = \"%s\"\nflavor = \"%s\"\n", f->name, f->flavor);
            return;
        }
    }
    TY_EMIT_UNSAID(e,
                   "section model: add a flavor of dim %u, n_layers %u, n_heads %u, n_kv_heads "
                   "%u, inner width %u, vocabulary %u\n",
                   (unsigned)a->hidden, (unsigned)a->layers, (unsigned)a->heads,
                   (unsigned)a->kv_heads, (unsigned)a->ffn, (unsigned)a->vocabulary);
}

/* ---- how it is trained ---- */

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
    if (l->framework.master_dtype == TY_STATE_NONE) {
        ty_text_add(e->out, "dtype = \"bfloat16\"\n");
    }
    if (c->arch.dtype == TY_DTYPE_FP16) {
        TY_EMIT_UNSAID(e, "model.dtype fp16\n");
    }
}

/* ---- the pipeline ---- */

#define LESS_MAX 16u /* layers that a stage may have less */

/* Layers of a stage where first and last count as so many more, as torchtitan deals them. */
static uint32_t dealt(uint32_t layers, uint32_t stages, uint32_t s, uint32_t first, uint32_t last)
{
    const uint32_t units = layers + first + last;
    const uint32_t n = units / stages + (s < units % stages);
    const uint32_t less = (s == 0 ? first : 0) + (s + 1 == stages ? last : 0);
    return n > less ? n - less : 0;
}

static bool deals_so(const struct ty_layout *l, uint32_t layers, uint32_t stages, uint32_t first,
                     uint32_t last)
{
    for (uint32_t s = 0; s < stages; s++) {
        const uint32_t is = l->stage_layers.n > 0 ? l->stage_layers.item[s] : layers / stages;
        if (dealt(layers, stages, s, first, last) != is) {
            return false;
        }
    }
    return true;
}

/* Its words for stages; false: there are none. */
static bool emit_stages(struct ty_emission *e, uint32_t stages)
{
    const struct ty_config *c = e->config;
    const uint32_t layers = c->arch.layers;
    for (uint32_t k = 0; k < LESS_MAX * LESS_MAX; k++) {
        const uint32_t first = k / LESS_MAX, last = k % LESS_MAX, units = layers + first + last;
        const uint32_t each = (units + stages - 1) / stages;
        if ((c->layout.stage_layers.n == 0 && layers % stages != 0) ||
            (units + each - 1) / each != stages ||
            !deals_so(&c->layout, layers, stages, first, last)) {
            continue;
        }
        ty_text_add(e->out,
                    "pipeline_parallel_layers_per_stage = %u\n"
                    "pipeline_parallel_first_stage_less_layers = %u\n"
                    "pipeline_parallel_last_stage_less_layers = %u\n",
                    (unsigned)each, (unsigned)first, (unsigned)last);
        return true;
    }
    return false;
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
    if (!emit_stages(e, stages)) {
        TY_EMIT_UNSAID(e,
                       "layout.stage_layers %s: it deals layers by ..._layers_per_stage, and "
                       "..._first_stage_less_layers and ..._last_stage_less_layers\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "stage_layers", value));
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
        const int habit = l->zero == 3 ? l->framework.reshard_after_forward : TY_HABIT_FALSE;
        ty_text_add(e->out, "fsdp_reshard_after_forward = \"%s\"\n",
                    habit == TY_HABIT_TRUE    ? "always"
                    : habit == TY_HABIT_FALSE ? "never"
                                              : "default");
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
        if (l->expert > 1 && l->framework.dispatcher >= TY_DISPATCHER_DEEPEP) {
            ty_text_add(e->out, "expert_parallel_comm_backend = \"%s\"\n",
                        l->framework.dispatcher == TY_DISPATCHER_DEEPEP ? "deepep" : "hybridep");
        }
    }
    emit_pipeline(e);
}

/* One of how many layers runs again, where each virtual stage repeats so many; 0: no such. */
static uint32_t period_of(const struct ty_config *c)
{
    const struct ty_layout *l = &c->layout;
    const uint32_t stages = l->pipeline * ty_sched_chunks(&c->schedule);
    const uint32_t each = c->arch.layers / stages;
    const struct ty_counts *only = l->recompute_layers.n == 1 ? &l->recompute_layers.item[0] : NULL;
    const uint32_t all =
        only != NULL && only->n == 1 && only->item[0].set == TY_COUNTS_PLAIN ? only->item[0].n : 0;
    for (uint32_t period = 2; all > 0 && period <= each; period++) {
        if ((each + period - 1) / period == all) {
            return period;
        }
    }
    return 0;
}

static void emit_recompute(struct ty_emission *e)
{
    const struct ty_config *c = e->config;
    const uint32_t bits = c->layout.recompute, period = period_of(c);
    const uint32_t op = ty_arch_is_moe(&c->arch)
                            ? TY_RECOMPUTE_FFN | TY_RECOMPUTE_NORM | TY_RECOMPUTE_MOE_ACT
                            : TY_RECOMPUTE_FFN;
    char value[TY_EMIT_VALUE];
    ty_text_add(e->out, "\n[activation_checkpoint]\n");
    if (bits == TY_RECOMPUTE_FULL && period > 0) {
        ty_text_add(e->out, "mode = \"selective\"\nselective_ac_option = \"%u\"\n",
                    (unsigned)period);
        return;
    }
    if (bits == op) {
        ty_text_add(e->out, "mode = \"selective\"\nselective_ac_option = \"op\"\n");
    } else {
        ty_text_add(e->out, "mode = \"%s\"\n", bits == TY_RECOMPUTE_FULL ? "full" : "none");
    }
    if (c->layout.recompute_layers.n > 0) {
        TY_EMIT_UNSAID(e, "layout.recompute_layers %s: it is one of so many layers, or all\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "recompute_layers", value));
    }
    if (bits != TY_RECOMPUTE_FULL && bits != TY_RECOMPUTE_NONE) {
        TY_EMIT_UNSAID(e, "layout.recompute %s: its selective mode%s keeps every second product\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "recompute", value),
                       bits == op ? ", the nearest," : "");
    }
}

static void emit_stack(struct ty_emission *e)
{
    const struct ty_framework *f = &e->config->layout.framework;
    if (f->fused_activation && f->fused_rotary) {
        ty_text_add(e->out, "\n[compile]\nenable = true\n");
    }
    if (!f->fused_optimizer) {
        ty_text_add(e->out, "\n[optimizer]\nimplementation = \"foreach\"\n");
    }
    if (e->config->arch.dtype == TY_DTYPE_FP8 && f->fp8_weights) {
        ty_text_add(e->out, "\n[float8]\nenable_fsdp_float8_all_gather = true\n");
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
    emit_stack(e);
    if (axes->item[0] != TY_AXIS_TENSOR || axes->item[TY_N_AXES - 1] != TY_AXIS_PIPELINE) {
        TY_EMIT_UNSAID(e, "layout.order %s: ranks are numbered tensor, context, data, pipeline\n",
                       ty_emit_value(e, TY_SECTION_LAYOUT, "order", order));
    }
}

const struct ty_emitter ty_emit_torchtitan = {
    .name = "torchtitan",
    .title = "torchtitan",
    .doc = "a TOML file of torchtitan",
    .habits = {"torchtitan", "fsdp"},
    .emit = emit,
};
