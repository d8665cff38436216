/* accelerate.c - `trainyard import accelerate`: the YAML that `accelerate config` writes, the JSON
 * of DeepSpeed that it names, and the config.json of the model. Sources: notes on accelerate
 * (16cb6eb8) and its templates; fp8_config, dynamo_config, degrees of Megatron-LM and all defaults
 * are from memory. */
#include <string.h>
#include <strings.h>

#include "sim/base/path.h"
#include "sim/import/flag_rows.h"
#include "sim/import/huggingface.h"
#include "sim/import/megatron/deepspeed.h"
#include "sim/import/megatron/trainer_script.h"
#include "sim/import/trainer.h"

#define RULE           "default of accelerate, from memory"
#define FSDP(word)     "fsdp_config.fsdp_" word
#define DEGREE(word)   "parallelism_config.parallelism_config_" word "_size"
#define DS(word)       "deepspeed_config." word
#define MEGATRON(word) "megatron_lm_config.megatron_lm_" word

static const struct ty_flag_row rows[] = {
    TAKEN("distributed_type"),
    TAKEN("num_processes"),
    TAKEN("num_machines"),
    TAKEN("mixed_precision"),
    TAKEN("gradient_accumulation_steps"),
    TAKEN(FSDP("sharding_strategy")),
    TAKEN(FSDP("reshard_after_forward")),
    TAKEN(FSDP("version")),
    TAKEN(FSDP("offload_params")),
    TAKEN(FSDP("activation_checkpointing")),
    IDLE("fsdp_config.*"),
    TAKEN("parallelism_config.*"),
    TAKEN(DS("zero_stage")),
    TAKEN(DS("gradient_accumulation_steps")),
    TAKEN(DS("offload_optimizer_device")),
    TAKEN(DS("offload_param_device")),
    TAKEN(DS("deepspeed_config_file")),
    NO_KEY(DS("deepspeed_hostfile"), "nodes by name: their number is num_machines"),
    IDLE(DS("deepspeed_*")),
    IDLE(DS("gradient_clipping")),
    IDLE(DS("offload_optimizer_nvme_path")),
    IDLE(DS("offload_param_nvme_path")),
    IDLE(DS("zero3_*")),
    TAKEN(MEGATRON("tp_degree")),
    TAKEN(MEGATRON("pp_degree")),
    TAKEN(MEGATRON("num_micro_batches")),
    TAKEN(MEGATRON("sequence_parallelism")),
    TAKEN(MEGATRON("recompute_activations")),
    TAKEN(MEGATRON("use_distributed_optimizer")),
    IDLE(MEGATRON("gradient_clipping")),
    TAKEN("fp8_config.*"),
    NO_KEY("dynamo_config.*", "the compiler fuses kernels of its choice"),
    IDLE("compute_environment"),
    IDLE("debug"),
    IDLE("downcast_bf16"),
    IDLE("enable_cpu_affinity"),
    IDLE("gpu_ids"),
    IDLE("machine_rank"),
    IDLE("main_process_*"),
    IDLE("main_training_function"),
    IDLE("rdzv_*"),
    IDLE("same_network"),
    IDLE("tpu_*"),
    IDLE("use_cpu"),
    IDLE("ipex_config.*"),
    IDLE("commands"),
    IDLE("command_file"),
    LAST,
};

/* ---- the world ---- */

static void import_world(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const struct ty_flag *all = ty_flags_get(words, "num_processes");
    if (d->gpus > 0) { /* a launcher said it */
        return;
    }
    if (all == NULL) {
        d->no_world = "no num_processes";
        return;
    }
    d->gpus = ty_flags_count(words, "num_processes", 0);
    d->gpus_from = all->from;
    const uint32_t machines = ty_flags_count(words, "num_machines", 1);
    if (machines > 1 && d->gpus % machines == 0) {
        d->per_node = d->gpus / machines;
    }
}

/* ---- types ---- */

static void import_types(struct ty_flags *words)
{
    static const char word[] = "mixed_precision";
    const char *type = ty_flags_text(words, word, NULL);
    const struct ty_draft_from from = ty_flags_from(words, word, RULE);
    if (type == NULL || ty_draft_get(words->draft, "model.dtype") != NULL) {
        return; /* the JSON of DeepSpeed counts */
    }
    if (strcasecmp(type, "no") == 0 || strcasecmp(type, "false") == 0) { /* YAML 1.1 reads no so */
        ty_draft_set(words->draft, "model.dtype", &from, "fp32");
    } else {
        ty_draft_set(words->draft, "model.dtype", &from, "%s", type);
    }
}

/* ---- FSDP ---- */

static const struct {
    const char *number, *word, *zero;
    bool hybrid; /* among the GPUs of a node, and copies of that */
} strategies[] = {
    {"1", "FULL_SHARD", "3", false},        {"2", "SHARD_GRAD_OP", "2", false},
    {"3", "NO_SHARD", "0", false},          {"4", "HYBRID_SHARD", "3", true},
    {"5", "HYBRID_SHARD_ZERO2", "2", true},
};

static void import_strategy(struct ty_flags *words)
{
    static const char word[] = FSDP("sharding_strategy");
    static const char reshard[] = FSDP("reshard_after_forward");
    struct ty_draft *d = words->draft;
    const char *given = ty_flags_text(words, word, NULL);
    if (given == NULL) { /* version 2 has true or false for it, version 1 the same words */
        const char *keep = ty_flags_text(words, reshard, "true");
        given = strcasecmp(keep, "false") == 0  ? "SHARD_GRAD_OP"
                : strcasecmp(keep, "true") == 0 ? "FULL_SHARD"
                                                : keep;
    }
    const struct ty_draft_from from =
        ty_flags_from(words, ty_flags_find(words, word) != NULL ? word : reshard, RULE);
    for (size_t i = 0; i < TY_COUNT(strategies); i++) {
        if (strcasecmp(given, strategies[i].word) == 0 ||
            strcmp(given, strategies[i].number) == 0) {
            ty_draft_set(d, "layout.zero", &from, "%s", strategies[i].zero);
            if (strategies[i].hybrid) {
                ty_draft_set(d, "layout.shard", &from, "%u",
                             (unsigned)(d->per_node > 0 ? d->per_node : 8));
                ty_draft_explain(d, "layout.shard", "the GPUs of a node");
            }
            return;
        }
    }
    ty_draft_refuse(d, &from,
                    "'%s' is no way of sharding; write FULL_SHARD, SHARD_GRAD_OP, "
                    "NO_SHARD, HYBRID_SHARD or HYBRID_SHARD_ZERO2",
                    given);
}

/* Parameters, gradients and the update on the host; parameters that are kept after the forward do
 * not go back there. */
static void import_away(struct ty_flags *words)
{
    static const char word[] = FSDP("offload_params");
    struct ty_draft *d = words->draft;
    const struct ty_draft_from from = ty_flags_from(words, word, "");
    if (!ty_words_true(words, word, false)) {
        return;
    }
    ty_draft_set(d, "layout.offload_optimizer", &from, "cpu");
    if (ty_draft_is(d, "layout.zero", "3")) {
        ty_draft_set(d, "layout.offload_parameters", &from, "cpu");
    } else {
        ty_draft_remark(d, &from,
                        "parameters that are kept after a forward stay on the GPU here; "
                        "the optimizer alone is on the host");
    }
}

static void import_fsdp(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const struct ty_draft_from from = ty_flags_from(words, "distributed_type", "");
    ty_draft_set(d, "framework.preset", &from, "fsdp");
    import_strategy(words);
    import_away(words);
    if (ty_flags_find(words, FSDP("activation_checkpointing")) != NULL) {
        const struct ty_draft_from again =
            ty_flags_from(words, FSDP("activation_checkpointing"), "");
        ty_draft_set(d, "layout.recompute", &again, "%s",
                     ty_words_true(words, FSDP("activation_checkpointing"), false) ? "full"
                                                                                   : "none");
    }
}

/* ---- grids of ranks ---- */

static void import_degrees(struct ty_flags *words)
{
    static const struct {
        const char *word, *key;
    } degrees[] = {{DEGREE("tp"), "layout.tensor"},
                   {DEGREE("cp"), "layout.context"},
                   {DEGREE("sp"), "layout.context"}};
    struct ty_draft *d = words->draft;
    for (size_t i = 0; i < TY_COUNT(degrees); i++) {
        if (ty_flags_count(words, degrees[i].word, 1) > 1) {
            ty_flags_set_count(words, degrees[i].word, degrees[i].key);
        }
    }
    const uint32_t copies = ty_flags_count(words, DEGREE("dp_replicate"), 1);
    const uint32_t shard = ty_flags_count(words, DEGREE("dp_shard"), 1);
    if (copies > 1 && shard > 1) {
        const struct ty_draft_from from = ty_flags_from(words, DEGREE("dp_shard"), "");
        ty_draft_set(d, "layout.shard", &from, "%u", (unsigned)shard);
        ty_draft_explain(d, "layout.shard", "of each of %u groups", (unsigned)copies);
    } else if (copies > 1) {
        const struct ty_draft_from from = ty_flags_from(words, DEGREE("dp_replicate"), "");
        ty_draft_set(d, "layout.zero", &from, "0");
    }
}

/* ---- DeepSpeed ---- */

/* The JSON that the file names decides over batch, types and stage; what it leaves to the trainer
 * is "auto". */
static void open_json(struct ty_flags *words, struct ty_deepspeed *json,
                      const struct ty_draft_file *settings)
{
    static const char word[] = DS("deepspeed_config_file");
    struct ty_draft *d = words->draft;
    const char *path = ty_flags_text(words, word, NULL);
    if (path == NULL) {
        return;
    }
    const struct ty_draft_from from = ty_flags_from(words, word, "");
    const struct ty_draft_file *file = ty_draft_named(d, settings, path);
    if (file == NULL) {
        ty_draft_refuse(d, &from, "%s is not beside this file; name it as a further file", path);
        return;
    }
    json->file = file->path;
    json->plain = file->text;
    ty_deepspeed_open(json);
}

static bool is_auto(const struct ty_flags *words, const char *name)
{
    const struct ty_flag *word = ty_flags_find(words, name);
    return word == NULL || word->n_values == 0 || strcmp(word->values[0].text, "auto") == 0;
}

static void set_away(struct ty_flags *words, const char *name, const char *key)
{
    const char *device = is_auto(words, name) ? "none" : ty_flags_text(words, name, "none");
    if (strcmp(device, "none") != 0) {
        const struct ty_draft_from from = ty_flags_from(words, name, "");
        ty_draft_set(words->draft, key, &from, "%s", device);
    }
}

/* What the YAML says, and the JSON that it names, which counts. */
static void import_deepspeed(struct ty_flags *words, struct ty_deepspeed *json)
{
    static const char stage[] = DS("zero_stage");
    struct ty_draft *d = words->draft;
    const struct ty_draft_from stack = ty_flags_from(words, "distributed_type", "");
    ty_draft_set(d, "framework.preset", &stack, "megatron-deepspeed");
    if (json->doc.root == NULL || !is_auto(words, stage)) {
        const struct ty_draft_from from = ty_flags_from(words, stage, RULE);
        ty_draft_set(d, "layout.zero", &from, "%u", (unsigned)ty_flags_count(words, stage, 2));
    }
    set_away(words, DS("offload_optimizer_device"), "layout.offload_optimizer");
    set_away(words, DS("offload_param_device"), "layout.offload_parameters");
    ty_deepspeed_batch(json);
    ty_deepspeed_import(json);
}

/* ---- Megatron-LM ---- */

static void import_megatron(struct ty_flags *words)
{
    static const struct {
        const char *word, *key, *yes, *no;
    } switches[] = {
        {MEGATRON("sequence_parallelism"), "layout.sequence_parallel", "true", "false"},
        {MEGATRON("recompute_activations"), "layout.recompute", "selective", "none"},
        {MEGATRON("use_distributed_optimizer"), "layout.zero", "1", "0"},
    };
    struct ty_draft *d = words->draft;
    const struct ty_draft_from stack = ty_flags_from(words, "distributed_type", "");
    ty_draft_set(d, "framework.preset", &stack, "megatron-lm");
    ty_flags_set_count(words, MEGATRON("tp_degree"), "layout.tensor");
    ty_flags_set_count(words, MEGATRON("pp_degree"), "layout.pipeline");
    for (size_t i = 0; i < TY_COUNT(switches); i++) {
        const struct ty_draft_from from = ty_flags_from(words, switches[i].word, RULE);
        ty_draft_set(d, switches[i].key, &from, "%s",
                     ty_words_true(words, switches[i].word, false) ? switches[i].yes
                                                                   : switches[i].no);
    }
    if (ty_draft_count(d, "layout.tensor", 1) == 1) { /* one rank is no group */
        const struct ty_draft_from from = ty_flags_from(words, switches[0].word, RULE);
        ty_draft_set(d, "layout.sequence_parallel", &from, "false");
    }
}

/* Times that a GPU works before an update; 0: no file says it. */
static uint32_t accumulation(struct ty_flags *words, struct ty_flags *json)
{
    static const char *const names[] = {DS("gradient_accumulation_steps"),
                                        MEGATRON("num_micro_batches"),
                                        "gradient_accumulation_steps"};
    if (ty_flags_find(json, TY_DEEPSPEED_STEPS) != NULL) {
        return ty_flags_count(json, TY_DEEPSPEED_STEPS, 0);
    }
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        if (!is_auto(words, names[i])) {
            return ty_flags_count(words, names[i], 0);
        }
    }
    return 0;
}

/* Of batch, micro-batch and accumulation what the JSON leaves out follows. */
static void import_batch(struct ty_flags *words, struct ty_flags *json, struct ty_flags *script)
{
    static const char batch_flag[] = "--global-batch-size", micro_flag[] = "--micro-batch-size";
    struct ty_draft *d = words->draft;
    const uint32_t steps = accumulation(words, json);
    const bool micro = ty_flags_find(json, micro_flag) != NULL;
    const bool all = ty_flags_find(json, batch_flag) != NULL;
    if (!micro && !all) {
        ty_trainer_batch(d, steps, script);
        return;
    }
    const uint64_t each = (uint64_t)ty_trainer_replicas(d) * (steps > 0 ? steps : 1);
    const uint64_t batch =
        all ? ty_flags_count(json, batch_flag, 0) : each * ty_flags_count(json, micro_flag, 0);
    const uint64_t one =
        micro ? ty_flags_count(json, micro_flag, 0) : (each > 0 ? batch / each : 0);
    const struct ty_draft_from from = ty_flags_from(json, all ? batch_flag : micro_flag, "");
    if (one > 0 && batch > 0) {
        ty_draft_set(d, "layout.micro_batch", &from, "%llu", (unsigned long long)one);
        ty_draft_set(d, "layout.global_batch", &from, "%llu", (unsigned long long)batch);
    }
}

/* ---- all of it ---- */

static void import_settings(struct ty_flags *words, const struct ty_draft_file *file,
                            struct ty_flags *script)
{
    struct ty_draft *d = words->draft;
    struct ty_flags batch = {.draft = d};
    struct ty_deepspeed json = {.draft = d, .flags = &batch};
    const char *type = ty_flags_text(words, "distributed_type", "NO");
    const struct ty_draft_from from = ty_flags_from(words, "distributed_type", RULE);
    import_world(words);
    import_degrees(words);
    if (strcasecmp(type, "FSDP") == 0) {
        import_fsdp(words);
    } else if (strcasecmp(type, "DEEPSPEED") == 0) {
        open_json(words, &json, file);
        import_deepspeed(words, &json);
    } else if (strcasecmp(type, "MEGATRON_LM") == 0) {
        import_megatron(words);
    } else if (strcasecmp(type, "MULTI_GPU") == 0 || strcasecmp(type, "NO") == 0) {
        ty_draft_set(d, "framework.preset", &from, "ddp");
        ty_draft_set(d, "layout.zero", &from, "0");
    } else {
        ty_draft_refuse(d, &from, "%s is not read; FSDP, DEEPSPEED, MEGATRON_LM and MULTI_GPU are",
                        type);
    }
    import_types(words);
    ty_trainer_flags(script);
    if (ty_draft_get(d, "model.layers") != NULL) {
        import_batch(words, &batch, script);
    } else {
        const struct ty_draft_from none = {.word = ty_path_name(file->path)};
        ty_draft_remark(d, &none,
                        "no model and no batch are in it: name the model's config.json behind it "
                        "for a whole run file");
        ty_draft_remark(d, &d->gpus_from, "%u GPUs: how many is left to the run file it goes with",
                        (unsigned)d->gpus);
    }
    ty_flags_apply(words, rows, NULL);
}

/* A config.json is the model's; other JSON is DeepSpeed's, and read where it is named. */
static void read_json(struct ty_draft *d, const struct ty_draft_file *file)
{
    struct ty_doc *doc = ty_words_doc(d, file);
    if (doc != NULL && (ty_node_child(doc->root, "model_type") != NULL ||
                        ty_node_child(doc->root, "architectures") != NULL)) {
        ty_huggingface_import(d, file);
    }
}

static void read_accelerate(struct ty_draft *d)
{
    struct ty_flags words = {.draft = d}, flags = {.draft = d};
    const struct ty_draft_file *settings = NULL, *script = NULL;
    for (uint32_t i = 0; i < d->n_files; i++) {
        const struct ty_draft_file *file = &d->files[i];
        if (ty_path_ends(file->path, ".json")) {
            read_json(d, file);
        } else if (ty_path_ends(file->path, ".sh") || ty_path_ends(file->path, ".slurm") ||
                   ty_path_ends(file->path, ".sbatch")) {
            script = file;
        } else {
            settings = ty_words_read(&words, file) != NULL ? file : settings;
        }
    }
    const struct ty_draft_from from = {.word = d->files[0].path};
    if (script != NULL && d->code == 0) {
        ty_trainer_script(d, script, &flags, &words);
        settings = settings != NULL ? settings : script;
    }
    if (d->code < 0) {
        return;
    }
    if (settings == NULL) {
        ty_draft_refuse(d, &from,
                        "no YAML that accelerate config writes, and no script (.sh) that starts "
                        "the Trainer; name one, too");
        return;
    }
    import_settings(&words, settings, &flags);
}

const struct ty_importer ty_import_accelerate = {
    .name = "accelerate", .title = "Accelerate", .read = read_accelerate};
