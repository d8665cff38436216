/* torchtitan.c - `trainyard import torchtitan`: a TOML file, and where it names a model that is not
 * known here, the model's config.json. */
#include "sim/import/torchtitan/torchtitan.h"

#include <string.h>

#include "sim/base/path.h"
#include "sim/import/huggingface.h"

/* ---- layouts of the file before 2025 ---- */

/* Words that moved to [parallelism], whatever section they stand in. */
static const char *const moved[] = {
    "data_parallel_replicate_degree", "data_parallel_shard_degree",
    "fsdp_reshard_after_forward",     "tensor_parallel_degree",
    "disable_loss_parallel",          "enable_async_tensor_parallel",
    "pipeline_parallel_degree",       "pipeline_parallel_schedule",
    "pipeline_parallel_schedule_csv", "pipeline_parallel_microbatches",
    "pipeline_parallel_split_points", "context_parallel_degree",
    "context_parallel_rotate_method", "enable_compiled_autograd",
};
static const struct {
    const char *old, *name;
} renamed[] = {
    {"training.batch_size", "training.local_batch_size"},
    {"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
    {"training.compile", "compile.enable"},
    {"training.enable_fp8_linear", "float8.enable_float8_linear"},
    {"training.enable_float8_linear", "float8.enable_float8_linear"},
};

/* Names as they are today; where a word stands keeps what it was called there. */
static void rename_words(struct ty_flags *words)
{
    for (uint32_t w = 0; w < words->n; w++) {
        struct ty_flag *word = &words->item[w];
        const char *tail = strchr(word->name, '.');
        const bool old_section =
            ty_text_begins(word->name, "training.") || ty_text_begins(word->name, "experimental.");
        for (size_t i = 0; i < TY_COUNT(renamed); i++) {
            if (strcmp(word->name, renamed[i].old) == 0) {
                word->name = renamed[i].name;
            }
        }
        for (size_t i = 0; old_section && i < TY_COUNT(moved); i++) {
            if (strcmp(tail + 1, moved[i]) == 0) {
                word->name = ty_draft_text(words->draft, "parallelism.%s", moved[i]);
            }
        }
    }
}

/* ---- types ---- */

static bool is_float32(const char *type)
{
    return strcmp(type, "float32") == 0;
}

/* fp8 is on by a converter, or by the switch of 2024; a section of settings alone does nothing. */
static void import_fp8(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const bool mx = ty_words_list(words, "model.converters", "mx") ||
                    ty_words_list(words, "model.converters", "quantize.linear.mx");
    const bool converted = mx || ty_words_list(words, "model.converters", "float8") ||
                           ty_words_list(words, "model.converters", "quantize.linear.float8");
    const char *way = ty_flags_text(words, "training.fp8_linear", ""); /* "dynamic", of 2024 */
    const char *word = converted        ? "model.converters"
                       : way[0] != '\0' ? "training.fp8_linear"
                                        : "float8.enable_float8_linear";
    if (!converted && way[0] == '\0' && !ty_words_true(words, word, false)) {
        return;
    }
    const struct ty_draft_from from = ty_flags_from(words, word, "");
    ty_draft_set(d, "model.dtype", &from, "fp8");
    if (mx) {
        ty_draft_set(d, "framework.fp8_recipe", &from, "mxfp8");
    }
    static const char *const gathers[] = {"quantize.linear.float8.enable_fsdp_float8_all_gather",
                                          "float8.enable_fsdp_float8_all_gather"};
    for (size_t i = 0; i < TY_COUNT(gathers); i++) {
        if (ty_words_true(words, gathers[i], false)) {
            const struct ty_draft_from gather = ty_flags_from(words, gathers[i], "");
            ty_draft_set(d, "framework.fp8_weights", &gather, "true");
        }
    }
}

static void import_types(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const char *param = ty_flags_text(words, "training.mixed_precision_param", "bfloat16");
    const char *reduce = ty_flags_text(words, "training.mixed_precision_reduce", "float32");
    const char *master = ty_flags_text(words, "training.dtype", "float32");
    struct ty_draft_from from =
        ty_flags_from(words, "training.mixed_precision_param", TY_TITAN_RULE);
    ty_draft_set(d, "model.dtype", &from, is_float32(param) ? "fp32" : "bf16");
    from = ty_flags_from(words, "training.mixed_precision_reduce", TY_TITAN_RULE);
    ty_draft_set(d, "framework.reduce_dtype", &from, is_float32(reduce) ? "fp32" : "model");
    if (!is_float32(master)) {
        from = ty_flags_from(words, "training.dtype", "");
        ty_draft_set(d, "framework.master_dtype", &from, "none");
        ty_draft_set(d, "framework.moment_dtype", &from, "bf16");
    }
    import_fp8(words);
}

/* ---- the stack ---- */

static void import_stack(struct ty_flags *words)
{
    struct ty_draft *d = words->draft;
    const struct ty_draft_from stack = {.word = "torchtitan"};
    ty_draft_set(d, "framework.preset", &stack, "torchtitan");
    const bool model = ty_flags_find(words, "compile.components") == NULL ||
                       ty_words_list(words, "compile.components", "model");
    if (ty_words_true(words, "compile.enable", false) && model) {
        static const char *const fused[] = {"framework.fused_activation", "framework.fused_rotary"};
        const struct ty_draft_from from = ty_flags_from(words, "compile.enable", "");
        for (size_t i = 0; i < TY_COUNT(fused); i++) {
            ty_draft_set(d, fused[i], &from, "true");
        }
    }
    if (ty_words_true(words, "parallelism.enable_async_tensor_parallel", false)) {
        const struct ty_draft_from from =
            ty_flags_from(words, "parallelism.enable_async_tensor_parallel", "");
        ty_draft_set(d, "framework.overlap_tensor_reduce", &from, "true");
        ty_draft_set(d, "framework.overlap_tensor_products", &from, "true");
    }
    if (ty_words_true(words, "parallelism.disable_loss_parallel", false)) {
        const struct ty_draft_from from =
            ty_flags_from(words, "parallelism.disable_loss_parallel", "");
        ty_draft_set(d, "framework.parallel_loss", &from, "false");
    }
    const char *update = ty_flags_text(words, "optimizer.implementation", "fused");
    if (strcmp(update, "fused") != 0 || !ty_words_true(words, "optimizer.fused", true)) {
        const struct ty_draft_from from = ty_flags_from(
            words, strcmp(update, "fused") != 0 ? "optimizer.implementation" : "optimizer.fused",
            "");
        ty_draft_set(d, "framework.fused_optimizer", &from, "false");
    }
    const char *optimizer = ty_flags_text(words, "optimizer.name", "AdamW");
    if (!ty_text_begins(optimizer, "Adam")) {
        const struct ty_draft_from from = ty_flags_from(words, "optimizer.name", "");
        ty_draft_remark(d, &from, "%s: states and update are those of Adam", optimizer);
    }
}

static void import_norm(struct ty_flags *words)
{
    const char *type = ty_flags_text(words, "model.norm_type", "rmsnorm");
    if (ty_flags_find(words, "model.norm_type") != NULL) {
        const struct ty_draft_from from = ty_flags_from(words, "model.norm_type", "");
        ty_draft_set(words->draft, "model.norm_kind", &from, "%s",
                     strstr(type, "rms") != NULL ? "rmsnorm" : "layernorm");
    }
}

static void read_torchtitan(struct ty_draft *d)
{
    struct ty_flags words = {.draft = d};
    const struct ty_draft_file *settings = NULL;
    for (uint32_t i = 0; i < d->n_files; i++) {
        if (ty_path_ends(d->files[i].path, ".json")) {
            ty_huggingface_import(d, &d->files[i]);
        } else if (ty_words_read(&words, &d->files[i]) != NULL) {
            settings = &d->files[i];
        }
    }
    if (d->code < 0) {
        return;
    }
    if (settings == NULL) {
        const struct ty_draft_from from = {.word = d->files[0].path};
        ty_draft_refuse(d, &from, "no TOML file of torchtitan; write one, such as train.toml");
        return;
    }
    rename_words(&words);
    ty_titan_model(&words);
    const struct ty_draft_from sequence = ty_flags_from(&words, "training.seq_len", TY_TITAN_RULE);
    ty_draft_set(d, "model.sequence", &sequence, "%u",
                 (unsigned)ty_flags_count(&words, "training.seq_len", 2048));
    import_norm(&words);
    import_types(&words);
    ty_words_world(d, "NGPU", settings);
    ty_titan_layout(&words);
    import_stack(&words);
    ty_flags_apply(&words, ty_titan_rows, NULL);
}

const struct ty_importer ty_import_torchtitan = {
    .name = "torchtitan", .title = "torchtitan", .read = read_torchtitan};
