/* fuzz_slots.c - any bytes as a schedule file: what is accepted is written as slots text, which is
 * accepted, too, and written the same. */
#include <stdlib.h>
#include <string.h>

#include "model/orders/text.h"
#include "tests/fuzz/fuzz.h"

static char *written(const struct ty_slots_file *file)
{
    struct ty_text text = {.data = NULL};
    ty_slots_write_text(&file->slots, &text);
    return ty_text_take(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    char *text = fuzz_text(data, size);
    struct ty_err err = TY_ERR_NONE;
    struct ty_slots_file file, again;
    const int rc = ty_slots_read(&file, "slots", text, size, &arena, &err);
    fuzz_check(rc, &err);
    if (rc == 0) {
        const int between =
            ty_slots_check_between(file.placement, &file.shape, &file.slots, &file.marks, &err);
        fuzz_check(between, &err);
        char *once = written(&file);
        FUZZ_DEMAND(once != NULL);
        FUZZ_DEMAND(ty_slots_read(&again, "again", once, strlen(once), &arena, &err) == 0);
        char *twice = written(&again);
        FUZZ_DEMAND(twice != NULL && strcmp(once, twice) == 0);
        free(once);
        free(twice);
    }
    free(text);
    ty_arena_release(&arena);
    return 0;
}
