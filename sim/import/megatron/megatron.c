/* megatron.c - `trainyard import megatron`: a script of flags, the model_config.yaml of a
 * functional test (MODEL_ARGS), or a file for --yaml-cfg. */
#include "sim/import/megatron/megatron.h"

#include <string.h>

#include "sim/base/path.h"
#include "sim/document/yaml.h"
#include "sim/import/megatron/carriers.h"

/* What is no decoder of equal layers. */
static void refuse_others(struct ty_megatron *m)
{
    static const struct {
        const char *flag, *why;
    } others[] = {
        {"--encoder-num-layers", "encoders (T5, BERT) are not known; only decoders are"},
        {"--decoder-num-layers", "encoders (T5, BERT) are not known; only decoders are"},
        {"--decoder-seq-length", "encoders (T5, BERT) are not known; only decoders are"},
        {"--hybrid-override-pattern", "Mamba layers are not known; only transformers are"},
        {"--hybrid-layer-pattern", "Mamba layers are not known; only transformers are"},
        {"--hybrid-attention-ratio", "Mamba layers are not known; only transformers are"},
        {"--is-hybrid-model", "Mamba layers are not known; only transformers are"},
        {"--heterogeneous-layers-config-path", "layers that differ are not known"},
        {"--experimental-attention-variant", "such attention is not known"},
    };
    for (size_t i = 0; i < TY_COUNT(others); i++) {
        const struct ty_flag *flag = ty_flags_find(&m->flags, others[i].flag);
        if (flag != NULL) {
            ty_draft_refuse(m->draft, &flag->from, "%s", others[i].why);
        }
    }
    const struct ty_flag *spec = ty_flags_find(&m->flags, "--spec");
    if (spec != NULL) {
        ty_draft_remark(m->draft, &spec->from,
                        "layers of a module of one's own: they are the usual ones here");
    }
}

void ty_megatron_import(struct ty_megatron *m)
{
    static const char trainer[] = "--per-device-train-batch-size";
    if (ty_flags_find(&m->flags, trainer) != NULL) {
        const struct ty_draft_from from = ty_flags_from(&m->flags, trainer, "");
        ty_draft_refuse(m->draft, &from,
                        "a flag of the Trainer of transformers; trainyard import accelerate reads "
                        "scripts that start it");
        return;
    }
    refuse_others(m);
    ty_megatron_model(m);
    ty_megatron_experts(m);
    ty_megatron_layout(m);
    ty_megatron_vocabulary(m);
    ty_flags_apply(&m->flags, ty_megatron_rows, ty_megatron_idle_rows);
    ty_megatron_stages(m);
    ty_megatron_stack(m);
}

static void read_megatron(struct ty_draft *d)
{
    struct ty_megatron m = {.draft = d, .flags = {.draft = d}};
    struct ty_shell sh = {.draft = d};
    ty_carriers_read(d, &sh, &m.flags);
    if (d->code == 0) {
        ty_megatron_world(&m);
        ty_carriers_variables(d, &sh);
        ty_megatron_import(&m);
    }
}

const struct ty_importer ty_import_megatron = {
    .name = "megatron", .title = "Megatron-LM", .read = read_megatron};
