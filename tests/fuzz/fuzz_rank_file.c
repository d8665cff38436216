/* fuzz_rank_file.c - any bytes as a rank file: what is accepted gives every rank a GPU of its
 * own. */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "topology/rank_file.h"

#define RANKS 8
#define GPUS  16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ty_rank_file_shape shape = {
        .n_ranks = RANKS, .nodes = 4, .gpus_per_node = GPUS / 4};
    struct ty_arena arena = {.head = NULL};
    char *text = fuzz_text(data, size);
    struct ty_err err = TY_ERR_NONE;
    const uint32_t *gpu_of = NULL;
    const int rc = ty_rank_file_read(&gpu_of, &shape, "ranks", text, size, &arena, &err);
    fuzz_check(rc, &err);
    unsigned taken = 0;
    for (uint32_t r = 0; rc == 0 && r < RANKS; r++) {
        FUZZ_DEMAND(gpu_of[r] < GPUS && (taken >> gpu_of[r] & 1u) == 0);
        taken |= 1u << gpu_of[r];
    }
    free(text);
    ty_arena_release(&arena);
    return 0;
}
