/* huggingface.c - `trainyard import huggingface`: a config.json is a model; how it is trained is
 * said by options, or by files beside it (accelerate.c). */
#include "sim/import/huggingface.h"

#include <string.h>

#include "model/arch.h"
#include "sim/base/path.h"
#include "sim/import/trainer.h"

#define SEQUENCE "2048" /* guess: what scripts often cut texts to */

/* Lines of what nobody understands, "FILE:LINE:COL: key: ..." each. */
static void tell(struct ty_draft *d, const struct ty_draft_from *from, const char *lines)
{
    for (const char *line = lines; line != NULL && *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        ty_draft_remark(d, from, "%.*s", (int)n, line);
        line += n + (line[n] == '\n');
    }
}

void ty_huggingface_import(struct ty_draft *d, const struct ty_draft_file *file)
{
    struct ty_huggingface found;
    const struct ty_draft_from from = {.word = ty_path_name(file->path)};
    const int rc = ty_arch_huggingface(d->arena, file->path, &found, d->err);
    if (rc < 0) {
        d->code = d->code < 0 ? d->code : rc;
        return;
    }
    ty_words_set_lines(d, "model", &from, found.text);
    tell(d, &from, found.remarks);
    const char *length = ty_draft_env(d, "SEQ_LENGTH");
    const struct ty_draft_from said = {.word = length != NULL ? "--env SEQ_LENGTH" : "guess"};
    if (length != NULL) {
        ty_draft_set(d, "model.sequence", &said, "%s", length);
    } else if (ty_draft_get(d, "model.sequence") == NULL) {
        ty_draft_set(d, "model.sequence", &said, SEQUENCE);
    }
}

static void read_huggingface(struct ty_draft *d)
{
    if (d->n_files > 1) {
        const struct ty_draft_from from = {.word = d->files[1].path};
        ty_draft_refuse(d, &from,
                        "a second file; a config.json is all, write accelerate for one "
                        "with an accelerate file");
        return;
    }
    ty_huggingface_import(d, &d->files[0]);
    ty_trainer_batch(d, 0, NULL);
}

const struct ty_importer ty_import_huggingface = {
    .name = "huggingface", .title = "Hugging Face", .read = read_huggingface};
