/* carriers.c - see carriers.h. */
#include "sim/import/megatron/carriers.h"

#include <string.h>

#include "sim/base/path.h"
#include "sim/import/megatron/megatron.h"

static bool is_yaml(const char *path)
{
    return ty_path_ends(path, ".yaml") || ty_path_ends(path, ".yml");
}

/* Whether a script has had its turn, because another one sources it. */
static bool was_read(const struct ty_shell *sh, const struct ty_draft_file *file)
{
    for (uint32_t i = 0; i < sh->n_files; i++) {
        if (sh->files[i] == file) {
            return true;
        }
    }
    return false;
}

/* The first script starts the job; the others are there to be sourced. */
void ty_carriers_read(struct ty_draft *d, struct ty_shell *sh, struct ty_flags *flags)
{
    const struct ty_draft_file *script = NULL;
    for (uint32_t i = 0; i < d->n_files && d->code == 0; i++) {
        const char *path = d->files[i].path;
        if (is_yaml(path)) {
            ty_carriers_yaml(d, &d->files[i], flags);
        } else if (!ty_path_ends(path, ".json") && script == NULL) {
            script = &d->files[i];
            const struct ty_draft_from from = {.word = ty_path_name(path)};
            ty_carriers_script(d, script, ty_megatron_rows, "Megatron-LM, such as --num-layers", sh,
                               flags);
            ty_draft_notice_gpu(d, from.word, &from);
        }
    }
    for (uint32_t i = 0; i < d->n_files && d->code == 0 && script != NULL; i++) {
        const struct ty_draft_file *file = &d->files[i];
        if (!is_yaml(file->path) && !ty_path_ends(file->path, ".json") && !was_read(sh, file)) {
            const struct ty_draft_from from = {.word = ty_path_name(file->path)};
            ty_draft_remark(d, &from, "nothing in %s reads it", ty_path_name(script->path));
        }
    }
}
