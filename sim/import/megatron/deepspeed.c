/* deepspeed.c - `trainyard import deepspeed`: a script of Megatron-DeepSpeed with the JSON that it
 * writes or names, or a JSON alone, which is half a job.
 *
 * Flags say what the model is and how it is laid out, the JSON how states are shared, in which type
 * and in which batch. Sources: notes on DeepSpeed's config.py and zero/config.py (edaa7221). */
#include "sim/import/megatron/deepspeed.h"

#include <string.h>

#include "sim/base/path.h"
#include "sim/import/megatron/carriers.h"

/* The JSON of a script: a file that it writes or that was given, by the value of a flag. */
static void find_json(struct ty_draft *d, struct ty_shell *sh, struct ty_flags *flags,
                      struct ty_deepspeed *j)
{
    const struct ty_flag *flag = ty_flags_find(flags, "--deepspeed-config");
    const char *path = flag != NULL && flag->n_values > 0 ? flag->values[0].text : NULL;
    const struct ty_shell_text *text = NULL;
    if (path != NULL && sh->n_files > 0) {
        const struct ty_shell_mark mark = {.line = 0};
        text = ty_shell_file_text(sh, path, mark);
    }
    if (text != NULL) {
        j->file = ty_path_name(path);
        j->text = text;
        return;
    }
    for (uint32_t i = 0; i < d->n_files; i++) {
        if (ty_path_ends(d->files[i].path, ".json")) {
            j->file = d->files[i].path;
            j->plain = d->files[i].text;
            return;
        }
    }
    if (path != NULL) {
        ty_draft_remark(d, &flag->from,
                        "%s is neither written by the script nor given: how states "
                        "are shared is not known; name it, too",
                        path);
    }
}

/* DeepSpeed's ZeRO replaces what flags of Megatron-LM say. */
static void import_stage(struct ty_megatron *m)
{
    struct ty_flags *f = &m->flags;
    if (ty_flags_has(f, "--zero-stage") && !ty_flags_has(f, "--use-distributed-optimizer")) {
        ty_flags_set_count(f, "--zero-stage", "layout.zero");
    }
}

/* Without a batch in flags or JSON it follows from the replicas, which no word says. */
static void note_steps(struct ty_flags *flags)
{
    const struct ty_flag *steps = ty_flags_find(flags, TY_DEEPSPEED_STEPS);
    if (steps != NULL && steps->n_values > 0 &&
        ty_flags_find(flags, "--global-batch-size") == NULL) {
        ty_draft_remark(flags->draft, &steps->from,
                        "%s: the batch is micro-batch x this x replicas; say it with "
                        "layout.global_batch",
                        steps->values[0].text);
    }
}

static void read_job(struct ty_draft *d, struct ty_megatron *m, struct ty_shell *sh)
{
    struct ty_deepspeed json = {.draft = d, .shell = sh, .flags = &m->flags};
    find_json(d, sh, &m->flags, &json);
    ty_megatron_world(m);
    ty_carriers_variables(d, sh);
    ty_deepspeed_open(&json);
    ty_deepspeed_batch(&json);
    note_steps(&m->flags);
    ty_megatron_import(m);
    import_stage(m);
    ty_deepspeed_import(&json);
}

/* Whether a file is more than the JSON. */
static bool has_script(const struct ty_draft *d)
{
    for (uint32_t i = 0; i < d->n_files; i++) {
        if (!ty_path_ends(d->files[i].path, ".json")) {
            return true;
        }
    }
    return false;
}

static void read_deepspeed(struct ty_draft *d)
{
    struct ty_megatron m = {.draft = d, .flags = {.draft = d}, .deepspeed = true};
    struct ty_shell sh = {.draft = d};
    if (has_script(d)) {
        ty_carriers_read(d, &sh, &m.flags);
        if (d->code == 0) {
            read_job(d, &m, &sh);
        }
        return;
    }
    struct ty_deepspeed json = {.draft = d, .shell = &sh, .flags = &m.flags};
    find_json(d, &sh, &m.flags, &json);
    ty_deepspeed_open(&json);
    ty_deepspeed_batch(&json);
    note_steps(&m.flags);
    ty_deepspeed_import(&json);
}

const struct ty_importer ty_import_deepspeed = {
    .name = "deepspeed", .title = "DeepSpeed", .read = read_deepspeed};
