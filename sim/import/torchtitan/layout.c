/* layout.c - degrees, batch, pipeline and recomputation of torchtitan. */
#include "sim/import/torchtitan/torchtitan.h"

#include <string.h>
#include <strings.h>

#include "sim/base/number_text.h"
#include "sim/document/fields.h"

#define PARALLEL(word) "parallelism." word

/* ---- replicas ---- */

struct degrees {
    uint32_t tensor, pipeline, context;
    uint32_t replicate, shard; /* 0: not known */
    bool rest;                 /* shard is what is left of the world */
};

static uint32_t set_degree(struct ty_flags *words, const char *word, const char *key)
{
    const struct ty_draft_from from = ty_flags_from(words, word, TY_TITAN_RULE);
    const uint32_t n = ty_flags_count(words, word, 1);
    ty_draft_set(words->draft, key, &from, "%u", (unsigned)n);
    return n;
}

/* data_parallel_shard_degree -1 is what others leave; where it is a number the world follows. */
static struct degrees read_degrees(struct ty_flags *words)
{
    static const char shard[] = PARALLEL("data_parallel_shard_degree");
    struct ty_draft *d = words->draft;
    struct degrees g = {
        .tensor = set_degree(words, PARALLEL("tensor_parallel_degree"), "layout.tensor"),
        .pipeline = set_degree(words, PARALLEL("pipeline_parallel_degree"), "layout.pipeline"),
        .context = set_degree(words, PARALLEL("context_parallel_degree"), "layout.context"),
        .replicate = ty_flags_count(words, PARALLEL("data_parallel_replicate_degree"), 1),
    };
    const double given = ty_flags_real(words, shard, -1);
    const uint64_t others = (uint64_t)g.tensor * g.pipeline * g.context * g.replicate;
    g.rest = given < 0;
    if (!g.rest) {
        g.shard = ty_flags_count(words, shard, 1);
        const uint64_t world = others * g.shard;
        const struct ty_draft_from from = ty_flags_from(words, shard, "");
        if (d->options->gpus > 0 && d->options->gpus != world) {
            ty_draft_refuse(d, &from,
                            "the degrees make %llu GPUs, --gpus says %u; leave the "
                            "option out, or write -1 here for the rest",
                            (unsigned long long)world, (unsigned)d->options->gpus);
        } else if (world > 0 && world < UINT32_MAX) {
            d->gpus = (uint32_t)world;
            d->gpus_from = from;
        }
    } else if (others > 0 && ty_words_gpus(d) > 0 && ty_words_gpus(d) % others == 0) {
        g.shard = (uint32_t)(ty_words_gpus(d) / others);
    } else {
        d->gpus_from = d->gpus > 0 ? d->gpus_from : ty_flags_from(words, shard, TY_TITAN_RULE);
        d->no_world = "the launcher says it (NGPU)";
    }
    return g;
}

/* FSDP shares weights, gradients and states (ZeRO-3) unless its group is one rank: plain DDP. */
static void import_sharding(struct ty_flags *words, const struct degrees *g)
{
    struct ty_draft *d = words->draft;
    const struct ty_draft_from from =
        ty_flags_from(words, PARALLEL("data_parallel_shard_degree"), TY_TITAN_RULE);
    const bool shared = g->rest || g->shard > 1;
    ty_draft_set(d, "layout.zero", &from, shared ? "3" : "0");
    if (!shared) {
        return;
    }
    if (g->replicate > 1 && g->shard > 0) {
        const struct ty_draft_from many =
            ty_flags_from(words, PARALLEL("data_parallel_replicate_degree"), "");
        ty_draft_set(d, "layout.shard", &many, "%u", (unsigned)g->shard);
        ty_draft_explain(d, "layout.shard", "of each of %u groups", (unsigned)g->replicate);
    }
    const char *reshard = ty_flags_text(words, PARALLEL("fsdp_reshard_after_forward"), "default");
    const struct ty_draft_from keep =
        ty_flags_from(words, PARALLEL("fsdp_reshard_after_forward"), TY_TITAN_RULE);
    ty_draft_set(d, "framework.reshard_after_forward", &keep, "%s",
                 strcmp(reshard, "always") == 0  ? "true"
                 : strcmp(reshard, "never") == 0 ? "false"
                                                 : "no-pipeline");
    if (ty_words_true(words, "training.enable_cpu_offload", false)) {
        const struct ty_draft_from away = ty_flags_from(words, "training.enable_cpu_offload", "");
        ty_draft_set(d, "layout.offload_parameters", &away, "cpu");
        ty_draft_set(d, "layout.offload_optimizer", &away, "cpu");
    }
}

/* ---- other ranks ---- */

static void import_groups(struct ty_flags *words, const struct degrees *g)
{
    struct ty_draft *d = words->draft;
    if (g->tensor > 1) {
        const struct ty_draft_from from =
            ty_flags_from(words, PARALLEL("tensor_parallel_degree"), "");
        ty_draft_set(d, "layout.sequence_parallel", &from, "true");
        ty_draft_explain(d, "layout.sequence_parallel", "tensor ranks always share sequences");
    }
    if (g->context > 1) {
        static const char rotate[] = PARALLEL("context_parallel_rotate_method");
        const char *method = ty_flags_text(words, rotate, "allgather");
        const struct ty_draft_from from = ty_flags_from(words, rotate, TY_TITAN_RULE);
        ty_draft_set(d, "layout.context_method", &from, "%s",
                     strcmp(method, "allgather") == 0 ? "all-gather" : "zigzag");
    }
    if (ty_draft_get(d, "model.experts") == NULL) {
        return;
    }
    static const char within[] = PARALLEL("expert_tensor_parallel_degree");
    const uint32_t expert = set_degree(words, PARALLEL("expert_parallel_degree"), "layout.expert");
    const struct ty_draft_from from = ty_flags_from(words, within, TY_TITAN_RULE);
    if (expert > 1) {
        static const char how[] = PARALLEL("expert_parallel_comm_backend");
        const char *backend = ty_flags_text(words, how, "standard");
        const struct ty_draft_from exchange = ty_flags_from(words, how, TY_TITAN_MEMORY);
        ty_draft_set(d, "layout.expert_tensor", &from, "%u",
                     (unsigned)ty_flags_count(words, within, 1));
        ty_draft_set(d, "framework.dispatcher", &exchange, "%s",
                     strcmp(backend, "standard") == 0 ? "alltoall" : backend);
    } else {
        ty_draft_set(d, "layout.expert_tensor", &from, "%u", (unsigned)g->tensor);
        ty_draft_explain(d, "layout.expert_tensor", "without expert ranks tensor ranks cut them");
    }
}

/* ---- the batch ---- */

static void import_batch(struct ty_flags *words, const struct degrees *g)
{
    struct ty_draft *d = words->draft;
    static const char local_word[] = "training.local_batch_size";
    const char *size_word = PARALLEL("pipeline_parallel_microbatch_size");
    const uint32_t local = ty_flags_count(words, local_word, 8);
    const double global = ty_flags_real(words, "training.global_batch_size", -1);
    const struct ty_draft_from from = ty_flags_from(words, local_word, TY_TITAN_RULE);
    const uint64_t step = (uint64_t)local * g->replicate * g->shard;
    uint32_t micro = local;
    if (g->pipeline > 1) {
        const uint32_t cut = ty_flags_count(words, PARALLEL("pipeline_parallel_microbatches"), 0);
        micro = cut > 0 && local % cut == 0 ? local / cut : ty_flags_count(words, size_word, 1);
        const struct ty_draft_from by = ty_flags_from(
            words, cut > 0 ? PARALLEL("pipeline_parallel_microbatches") : size_word, TY_TITAN_RULE);
        ty_draft_set(d, "layout.micro_batch", &by, "%u", (unsigned)micro);
        ty_draft_explain(d, "layout.micro_batch", "a pipeline cuts the local batch of %u",
                         (unsigned)local);
    } else {
        ty_draft_set(d, "layout.micro_batch", &from, "%u", (unsigned)local);
    }
    if (global > 0) {
        const struct ty_draft_from all = ty_flags_from(words, "training.global_batch_size", "");
        ty_draft_set(d, "layout.global_batch", &all, "%.0f", global);
        if (g->pipeline > 1 && step > 0 && global > (double)step) {
            ty_draft_remark(d, &all,
                            "gradients of %.0f local batches add up, and the pipeline "
                            "drains between them; here it does not",
                            global / (double)step);
        }
    } else if (step > 0) {
        ty_draft_set(d, "layout.global_batch", &from, "%llu", (unsigned long long)step);
        ty_draft_explain(d, "layout.global_batch", "of each of %u replicas",
                         (unsigned)(g->replicate * g->shard));
    }
}

/* ---- the pipeline ---- */

/* ["layers.4", "layers.20"]: the layers before each point, and those behind the last one. "": none
 * that can be read. */
static const char *split_layers(struct ty_flags *words, uint32_t layers, uint32_t *stages)
{
    const struct ty_flag *points = ty_flags_get(words, PARALLEL("pipeline_parallel_split_points"));
    const char *list = "";
    uint32_t before = 0;
    *stages = 1;
    for (uint32_t i = 0; points != NULL && i < points->n_values; i++) {
        const char *at = points->values[i].text + strcspn(points->values[i].text, "0123456789");
        uint32_t layer = 0;
        if (!ty_scan_number(&at, NULL, layers, &layer) || *at != '\0' || layer < before) {
            return "";
        }
        list = ty_draft_text(words->draft, "%s%u, ", list, (unsigned)(layer - before));
        before = layer;
        ++*stages;
    }
    return *stages == 1 ? ""
                        : ty_draft_text(words->draft, "%s%u", list, (unsigned)(layers - before));
}

static const struct schedule {
    const char *word, *name;
    uint32_t stages; /* of a rank, where layers_per_stage does not say */
} schedules[] = {
    {"1F1B", "1f1b", 1},
    {"GPipe", "gpipe", 1},
    {"Interleaved1F1B", "interleaved", 2},
    {"FlexibleInterleaved1F1B", "interleaved", 2},
    {"LoopedBFS", "bfs", 2},
    {"InterleavedZeroBubble", "interleaved-zb", 2},
    {"ZBVZeroBubble", "zb-v", 2},
    {"DualPipeV", "dualpipev", 2},
};

/* Layers of every virtual stage: embedding and head count as layers of the first and the last. */
static const char *stage_layers(struct ty_draft *d, uint32_t layers, uint32_t first, uint32_t last,
                                uint32_t stages)
{
    const uint32_t units = layers + first + last;
    const char *list = "";
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t n = units / stages + (s < units % stages);
        const uint32_t less = (s == 0 ? first : 0) + (s + 1 == stages ? last : 0);
        n = n > less ? n - less : 0;
        list = ty_draft_text(d, "%s%s%u", list, s > 0 ? ", " : "", (unsigned)n);
    }
    return list;
}

static void import_stages(struct ty_flags *words, uint32_t pipeline, const struct schedule *s)
{
    static const char per_stage[] = PARALLEL("pipeline_parallel_layers_per_stage");
    static const char less[] = PARALLEL("pipeline_parallel_first_stage_less_layers");
    struct ty_draft *d = words->draft;
    const uint32_t layers = ty_draft_count(d, "model.layers", 0);
    const uint32_t first = ty_flags_count(words, less, 1);
    const uint32_t last =
        ty_flags_count(words, PARALLEL("pipeline_parallel_last_stage_less_layers"), 1);
    const uint32_t each = ty_flags_count(words, per_stage, 0);
    const uint64_t units = (uint64_t)layers + first + last;
    uint32_t cuts;
    const char *split = split_layers(words, layers, &cuts);
    const uint64_t stages = split[0] != '\0' ? cuts
                            : each > 0       ? (units + each - 1) / each
                                             : (uint64_t)pipeline * s->stages;
    struct ty_draft_from from = ty_flags_from(words, per_stage, TY_TITAN_RULE);
    if (stages % pipeline != 0 || stages > TY_LIST_MAX) {
        ty_draft_refuse(d, &from,
                        "%llu stages cannot be dealt to %u pipeline ranks; leave it out for %u, or "
                        "write how many of the %llu layers, embedding and head counted, each has",
                        (unsigned long long)stages, (unsigned)pipeline,
                        (unsigned)(pipeline * s->stages), (unsigned long long)units);
        return;
    }
    if (stages / pipeline > 1) {
        ty_draft_set(d, "schedule.chunks", &from, "%u", (unsigned)(stages / pipeline));
    }
    if (split[0] != '\0') {
        from = ty_flags_from(words, PARALLEL("pipeline_parallel_split_points"), "");
        ty_draft_set(d, "layout.stage_layers", &from, "[%s]", split);
        return;
    }
    if (ty_flags_find(words, less) != NULL) {
        from = ty_flags_from(words, less, "");
    }
    ty_draft_set(d, "layout.stage_layers", &from, "[%s]",
                 stage_layers(d, layers, first, last, (uint32_t)stages));
    ty_draft_explain(d, "layout.stage_layers", "embedding and head count as %u and %u",
                     (unsigned)first, (unsigned)last);
}

static void import_pipeline(struct ty_flags *words, uint32_t pipeline)
{
    static const char word[] = PARALLEL("pipeline_parallel_schedule");
    static const char csv[] = PARALLEL("pipeline_parallel_schedule_csv");
    struct ty_draft *d = words->draft;
    const char *given = ty_flags_text(words, word, "1F1B");
    const struct ty_draft_from from = ty_flags_from(words, word, TY_TITAN_RULE);
    const struct schedule *found = NULL;
    if (pipeline <= 1) {
        return;
    }
    if (ty_flags_text(words, csv, "")[0] != '\0') {
        const struct ty_draft_from file = ty_flags_from(words, csv, "");
        ty_draft_refuse(d, &file,
                        "an order of one's own: import without this line, then name "
                        "the file by schedule.file");
        return;
    }
    for (size_t i = 0; i < TY_COUNT(schedules); i++) {
        found = strcasecmp(given, schedules[i].word) == 0 ? &schedules[i] : found;
    }
    if (found == NULL) {
        ty_draft_refuse(d, &from,
                        "no such schedule is known (%s); trainyard list schedules has "
                        "those that are",
                        given);
        return;
    }
    ty_draft_set(d, "schedule.name", &from, "%s", found->name);
    import_stages(words, pipeline, found);
}

/* ---- recomputation ---- */

static void import_recompute(struct ty_flags *words)
{
    static const char word[] = "activation_checkpoint.mode";
    static const char option[] = "activation_checkpoint.selective_ac_option";
    struct ty_draft *d = words->draft;
    const char *mode = ty_flags_text(words, word, "selective");
    const char *kind = ty_flags_text(words, option, "2");
    const struct ty_draft_from from = ty_flags_from(words, word, TY_TITAN_MEMORY);
    const struct ty_draft_from by = ty_flags_from(words, option, TY_TITAN_MEMORY);
    if (strcmp(mode, "none") == 0 || strcmp(mode, "full") == 0) {
        ty_draft_set(d, "layout.recompute", &from, "%s", mode);
    } else if (strcmp(mode, "memory_budget") == 0) {
        ty_draft_remark(d, &from, "what the compiler recomputes is its choice: nothing is here");
        ty_draft_set(d, "layout.recompute", &from, "none");
    } else if (strcmp(mode, "selective") != 0) {
        ty_draft_refuse(d, &from, "'%s' is none of none, full, selective", mode);
    } else if (strcmp(kind, "op") == 0) {
        const bool experts = ty_draft_get(d, "model.experts") != NULL;
        const char *parts = experts ? "[ffn, norm, moe_act]" : "ffn";
        ty_draft_set(d, "layout.recompute", &by, "%s", parts);
        ty_draft_explain(d, "layout.recompute",
                         "the nearest to op, by which every second product "
                         "runs again");
        ty_draft_remark(d, &by,
                        "op keeps attention and every second product; no key does: recompute %s, "
                        "by which %s run again, is the nearest, and a guess",
                        parts, experts ? "gate and up, norms and activations" : "gate and up");
    } else {
        const uint32_t period = ty_flags_count(words, option, 2);
        const uint32_t pipeline = ty_draft_count(d, "layout.pipeline", 1);
        const uint32_t layers = ty_draft_count(d, "model.layers", 0);
        const uint32_t stages = pipeline * ty_draft_count(d, "schedule.chunks", 1);
        ty_draft_set(d, "layout.recompute", &by, "full");
        if (period > 1 && stages > 0) {
            ty_draft_set(d, "layout.recompute_layers", &by, "[%u]",
                         (unsigned)((layers / stages + period - 1) / period));
            ty_draft_explain(d, "layout.recompute_layers", "one of %u layers", (unsigned)period);
        }
    }
}

void ty_titan_layout(struct ty_flags *words)
{
    const struct degrees g = read_degrees(words);
    import_sharding(words, &g);
    import_groups(words, &g);
    import_batch(words, &g);
    import_pipeline(words, g.pipeline);
    import_recompute(words);
}
