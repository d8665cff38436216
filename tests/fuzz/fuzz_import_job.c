/* fuzz_import_job.c - any bytes as the script of a job: nothing of it is run, what is accepted is a
 * run file that loads, and what is refused is the script's fault. */
#include "sim/import/draft.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const forms[] = {"megatron", "deepspeed"};
    char *text = fuzz_text(data, size);
    for (size_t i = 0; i < TY_COUNT(forms); i++) {
        struct ty_arena arena = {.head = NULL};
        struct ty_err err = TY_ERR_NONE;
        const struct ty_import_job_options options = {.form = forms[i], .gpus = 64};
        struct ty_draft_file file = {.path = "-", .text = text, .len = size};
        char *run_file = NULL, *notes = NULL;
        const int rc = ty_draft_import(&options, &arena, &file, 1, &run_file, &notes, &err);
        fuzz_check(rc, &err);
        FUZZ_DEMAND((rc == 0) == (run_file != NULL));
        ty_text_free(run_file);
        ty_text_free(notes);
        ty_arena_release(&arena);
    }
    free(text);
    return 0;
}
