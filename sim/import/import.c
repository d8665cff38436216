/* import.c - `trainyard import` of jobs: files, a reader, the run file. */
#include <string.h>

#include "sim/base/file.h"
#include "sim/base/number_text.h"
#include "sim/base/utf8.h"
#include "sim/document/yaml.h"
#include "sim/import/draft.h"

#define NAMES 256u

const struct ty_importer *const ty_importers[] = {
    &ty_import_megatron, &ty_import_deepspeed,  &ty_import_torchtitan,
    &ty_import_nanotron, &ty_import_accelerate, &ty_import_huggingface,
    &ty_import_nemo,     &ty_import_neox,       NULL};

static const struct ty_importer *find(const char *form, struct ty_err *err)
{
    char names[NAMES] = "";
    for (size_t i = 0; ty_importers[i] != NULL; i++) {
        if (strcmp(ty_importers[i]->name, form) == 0) {
            return ty_importers[i];
        }
        const size_t n = strlen(names);
        (void)ty_snprintf(names + n, sizeof(names) - n, ", %s", ty_importers[i]->name);
    }
    ty_fail(err, TY_EUSAGE, "unknown form (%s); write one of kineto%s, then FILE...", form, names);
    return NULL;
}

/* --env NAME=VALUE; positional arguments of a script are called 1, 2, ... */
static int check_env(const struct ty_import_job_options *options, struct ty_err *err)
{
    for (size_t i = 0; i < options->n_env; i++) {
        if (strchr(options->env[i], '=') == NULL || options->env[i][0] == '=') {
            return ty_fail(err, TY_EUSAGE, "--env %s: no NAME=VALUE; write one, such as NNODES=4",
                           options->env[i]);
        }
    }
    return 0;
}

static int hand_over(struct ty_draft *d, const char *title, char **run_file, char **notes)
{
    struct ty_text text = {.data = NULL}, told = {.data = NULL};
    ty_draft_write(d, title, &text);
    ty_draft_notes(d, &told);
    *run_file = ty_text_take(&text);
    *notes = ty_text_take(&told);
    int rc =
        *run_file != NULL && *notes != NULL ? ty_draft_check(d, *run_file) : ty_fail_memory(d->err);
    if (rc < 0) {
        ty_text_free(*run_file);
        ty_text_free(*notes);
        *run_file = *notes = NULL;
    }
    return rc;
}

int ty_draft_import(const struct ty_import_job_options *options, struct ty_arena *arena,
                    struct ty_draft_file *files, uint32_t n_files, char **run_file, char **notes,
                    struct ty_err *err)
{
    struct ty_draft d = {
        .arena = arena, .err = err, .options = options, .files = files, .n_files = n_files};
    const struct ty_importer *importer = find(options->form, err);
    if (importer == NULL) {
        return TY_EUSAGE;
    }
    for (uint32_t i = 0; i < n_files; i++) {
        const int rc = ty_utf8_check(files[i].path, files[i].text, files[i].len, err);
        if (rc < 0) {
            return rc;
        }
        if (strlen(files[i].text) != files[i].len) {
            return ty_fail(err, TY_EINPUT, "%s: no text: it has a zero byte", files[i].path);
        }
    }
    d.gpus_from = (struct ty_draft_from){.word = files[0].path};
    importer->read(&d);
    if (d.code == 0) {
        ty_draft_settle(&d);
    }
    return d.code < 0 ? d.code : hand_over(&d, importer->title, run_file, notes);
}

int ty_import_job(const struct ty_import_job_options *options, char **run_file, char **notes,
                  struct ty_err *err)
{
    struct ty_arena arena = {.head = NULL};
    *run_file = *notes = NULL;
    if (find(options->form, err) == NULL || check_env(options, err) < 0) {
        return TY_EUSAGE;
    }
    struct ty_draft_file *files = ty_arena_array(&arena, struct ty_draft_file, options->n_paths);
    int rc = files != NULL ? 0 : ty_fail_memory(err);
    for (size_t i = 0; i < options->n_paths && rc == 0; i++) {
        files[i].path = options->paths[i];
        rc = ty_file_read(&arena, options->paths[i], TY_YAML_MAX_BYTES, &files[i].text,
                          &files[i].len, err);
    }
    if (rc == 0) {
        rc = ty_draft_import(options, &arena, files, (uint32_t)options->n_paths, run_file, notes,
                             err);
    }
    ty_arena_release(&arena);
    return rc;
}
