/* nemo.c - `trainyard import nemo`: YAML of the launcher, of a run (run_config.yaml) or of
 * neuronx-distributed-training; a recipe in Python; and a model's config.json beside them. */
#include "sim/import/nemo/nemo.h"

#include <string.h>

#include "model/arch.h"
#include "sim/base/path.h"

static void read_model(struct ty_megatron *m, const struct ty_draft_file *file)
{
    struct ty_huggingface found;
    const struct ty_draft_from from = {.word = ty_path_name(file->path)};
    const int rc = ty_arch_huggingface(m->draft->arena, file->path, &found, m->draft->err);
    if (rc < 0) {
        m->draft->code = rc;
        return;
    }
    ty_nemo_lines(m, found.text, &from);
}

/* Inner width: NeMo's default is 4 h, of gated MLPs, too; Megatron-LM's flag cuts these. */
static void widen(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    const struct ty_flag *hidden = ty_flags_find(f, "--hidden-size");
    if (ty_flags_find(f, "--ffn-hidden-size") == NULL && hidden != NULL) {
        static const struct ty_draft_from from = {
            .word = "default of NeMo, from memory: 4 hidden_size"};
        const uint32_t width = ty_flags_count(f, "--hidden-size", 0);
        const uint32_t before = f->n;
        ty_flags_put(f, "--ffn-hidden-size", &from, NULL);
        if (f->n > before) {
            ty_flags_value(f, ty_draft_text(m->draft, "%llu", 4ull * width), NULL);
        }
    }
}

/* Whether a word ends in a field: "cfg.model.moe_permute_fusion". */
static bool says(const struct ty_flags *words, const char *field)
{
    for (uint32_t i = 0; i < words->n; i++) {
        const char *point = strrchr(words->item[i].name, '.');
        if (strcmp(point != NULL ? point + 1 : words->item[i].name, field) == 0) {
            return true;
        }
    }
    return false;
}

/* What recipes leave to the functions they call. */
static void suppose(struct ty_megatron *m, const struct ty_flags *words)
{
    static const struct {
        const char *flag, *unless, *with; /* with: of models that have this flag; NULL: of all */
        const char *field;                /* that says it is not so */
    } habits[] = {
        {"--bf16", "--fp16", NULL, "bf16"},
        {"--use-distributed-optimizer", NULL, NULL, "use_distributed_optimizer"},
        {"--moe-grouped-gemm", NULL, "--num-experts", "moe_grouped_gemm"},
        {"--moe-permute-fusion", NULL, "--num-experts", "moe_permute_fusion"},
    };
    static const struct ty_draft_from from = {.word = "as NeMo's recipes have it, from memory"};
    const struct ty_flags *f = &m->flags;
    for (size_t i = 0; i < TY_COUNT(habits); i++) {
        const bool other = habits[i].unless != NULL && ty_flags_find(f, habits[i].unless) != NULL;
        const bool meant = habits[i].with == NULL || ty_flags_find(f, habits[i].with) != NULL;
        if (meant && !other && ty_flags_find(f, habits[i].flag) == NULL &&
            !says(words, habits[i].field)) {
            ty_flags_put(&m->flags, habits[i].flag, &from, NULL);
            ty_draft_remark(m->draft, &from, "%s, which no line here says", habits[i].flag);
        }
    }
}

/* The model that a recipe only names, unless a config.json says it: the first that is known. */
static void name_model(struct ty_megatron *m, const struct ty_flags *words)
{
    for (uint32_t i = 0; i < words->n && ty_flags_find(&m->flags, "--num-layers") == NULL; i++) {
        if (strcmp(words->item[i].name, TY_NEMO_MODEL) == 0) {
            ty_nemo_named(m, words->item[i].values[0].text, &words->item[i].from);
        }
    }
}

/* neuronx-distributed-training: the sizes are in a config.json that the file names. */
static void ask_for_model(struct ty_megatron *m, const struct ty_flags *words)
{
    const struct ty_flag *path = ty_flags_find(words, "model.model_config");
    if (path != NULL && path->n_values > 0 && ty_flags_find(words, "model.hidden_size") == NULL &&
        ty_flags_find(&m->flags, "--hidden-size") == NULL) {
        ty_draft_refuse(m->draft, &path->from, "the model is in %s; name it as a further file",
                        path->values[0].text);
    }
}

static void read_nemo(struct ty_draft *d)
{
    struct ty_megatron m = {.draft = d, .flags = {.draft = d}};
    struct ty_flags words = {.draft = d};
    bool python = false;
    for (uint32_t i = 0; i < d->n_files; i++) {
        if (ty_path_ends(d->files[i].path, ".json")) {
            read_model(&m, &d->files[i]);
        }
    }
    for (uint32_t i = 0; i < d->n_files; i++) {
        const struct ty_draft_file *file = &d->files[i];
        if (ty_path_ends(file->path, ".py")) {
            python = true;
            ty_nemo_python(&words, file);
        } else if (!ty_path_ends(file->path, ".json")) {
            const struct ty_doc *doc = ty_words_read(&words, file);
            if (doc != NULL) {
                ty_nemo_resolve(&words, doc);
            }
        }
    }
    if (d->code < 0) {
        return;
    }
    name_model(&m, &words);
    ask_for_model(&m, &words);
    if (d->code < 0) {
        return;
    }
    ty_nemo_words(&m, &words);
    if (python) {
        suppose(&m, &words);
    }
    widen(&m);
    ty_megatron_world(&m);
    ty_megatron_import(&m);
}

const struct ty_importer ty_import_nemo = {.name = "nemo", .title = "NeMo", .read = read_nemo};
