/* fuzz_huggingface.c - any bytes as a Hugging Face config.json: what is accepted is text of a model
 * section. */
#include "model/arch.h"
#include "sim/document/yaml.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    struct ty_huggingface out;
    const int rc = ty_arch_huggingface(&arena, fuzz_file(data, size), &out, &err);
    fuzz_check(rc, &err);
    if (rc == 0) {
        struct ty_doc doc;
        FUZZ_DEMAND(ty_doc_parse(&doc, &arena, "model", out.text, strlen(out.text), &err) == 0);
    }
    ty_arena_release(&arena);
    return 0;
}
