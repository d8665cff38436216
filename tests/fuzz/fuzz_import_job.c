/* fuzz_import_job.c - any bytes as the script of a job: nothing of it is run, what is accepted is a
 * run file that loads, and what is refused is the script's fault. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const forms[] = {"megatron", "deepspeed"};
    char *text = fuzz_text(data, size);
    for (size_t i = 0; i < TY_COUNT(forms); i++) {
        struct ty_draft_file file = {.path = "-", .text = text, .len = size};
        fuzz_import(forms[i], &file, 1);
    }
    free(text);
    return 0;
}
