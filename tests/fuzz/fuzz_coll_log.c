/* fuzz_coll_log.c - any bytes as what nccl-tests printed: sizes that grow, times that are times. */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "topology/collectives/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    char *text = fuzz_text(data, size);
    struct ty_err err = TY_ERR_NONE;
    struct ty_coll_log log = {.n = 0};
    const int rc = ty_coll_log_read(&log, "all_reduce.log", text, size, &arena, &err);
    fuzz_check(rc, &err);
    for (uint32_t i = 0; rc == 0 && i < log.n; i++) {
        FUZZ_DEMAND(log.time_s[i] > 0 && log.size_B[i] > 0);
        FUZZ_DEMAND(i == 0 || log.size_B[i] > log.size_B[i - 1]);
    }
    FUZZ_DEMAND(rc < 0 || (log.n >= 2 && log.ranks > 0 && log.nodes > 0));
    free(text);
    ty_arena_release(&arena);
    return 0;
}
