/* fuzz_operators.c - any bytes as a table of measured kernels: every row that is kept is found
 * again, and takes a time. */
#include "model/kernel/operators.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    struct ty_operators table = {.n = 0};
    const int rc = ty_operators_load(&table, fuzz_file(data, size), &arena, &err);
    fuzz_check(rc, &err);
    for (uint32_t i = 0; rc == 0 && i < table.n; i++) {
        struct ty_operator_time time;
        char words[TY_OPERATOR_WORDS];
        FUZZ_DEMAND(ty_operators_find(&table, &table.curve[i].key, 1000, &time));
        FUZZ_DEMAND(time.seconds > 0 && time.seconds < 1e18);
        FUZZ_DEMAND(ty_operator_words(&table.curve[i].key, words)[0] != '\0');
    }
    ty_arena_release(&arena);
    return 0;
}
