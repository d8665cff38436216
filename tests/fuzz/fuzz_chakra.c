/* fuzz_chakra.c - any bytes as the Chakra execution trace of one of two ranks. */
#include <stdlib.h>

#include "sim/exchange/read/traced.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    uint32_t ranks[] = {0, 1};
    struct ty_traced_rank rank[2] = {{.file = "t.0.et"}, {.file = "t.1.et"}};
    struct ty_traced_group groups[] = {{ranks, 2}, {ranks, 2}};
    struct ty_traced job = {
        .name = "t", .rank = rank, .group = groups, .n_ranks = 2, .n_groups = 2};
    char *text = fuzz_text(data, size);
    const int rc = ty_traced_parse_chakra(&job, 1, text, size, &arena, &err);
    fuzz_check(rc, &err);
    for (uint32_t i = 0; rc == 0 && i < rank[1].n; i++) {
        const struct ty_traced_node *n = &rank[1].node[i];
        FUZZ_DEMAND(n->name != NULL && n->bytes >= 0 && n->peer < 2 && n->group < 2);
        for (uint32_t k = 0; k < n->n_deps; k++) {
            FUZZ_DEMAND(rank[1].dep[n->first_dep + k] < rank[1].n);
        }
    }
    free(text);
    ty_arena_release(&arena);
    return 0;
}
