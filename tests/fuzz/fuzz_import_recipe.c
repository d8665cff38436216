/* fuzz_import_recipe.c - any bytes as the settings of a job. The first line says whose they are,
 * "nemo"; a line "=== NAME" begins a file. What is accepted is a run file that loads, and what is
 * refused is the files' fault. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define FILES_MAX 3u

/* The files of a text, which is cut at its separators. */
static uint32_t cut(char *text, struct ty_draft_file *files)
{
    static const char mark[] = "\n=== ";
    uint32_t n = 0;
    char *at = strstr(text, mark);
    while (at != NULL && n < FILES_MAX) {
        char *name = at + strlen(mark), *line = strchr(name, '\n');
        *at = '\0';
        if (line == NULL) {
            break;
        }
        at = strstr(line, mark);
        files[n++] = (struct ty_draft_file){.path = name, .text = at == line ? "" : line + 1};
        *line = '\0';
    }
    if (at != NULL) {
        *at = '\0';
    }
    for (uint32_t i = 0; i < n; i++) {
        files[i].len = strlen(files[i].text);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const forms[] = {"torchtitan", "nemo",        "nanotron", "neox",
                                        "accelerate", "huggingface", "deepspeed"};
    char *text = fuzz_text(data, size);
    struct ty_draft_file files[FILES_MAX];
    const uint32_t n = cut(text, files);
    for (size_t i = 0; n > 0 && i < TY_COUNT(forms); i++) {
        if (strcmp(text, forms[i]) == 0) {
            fuzz_import(forms[i], files, n);
        }
    }
    free(text);
    return 0;
}
