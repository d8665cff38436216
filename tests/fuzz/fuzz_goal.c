/* fuzz_goal.c - any bytes as a GOAL schedule, text or binary, and what is accepted as a program. */
#include <stdlib.h>
#include <string.h>

#include "sim/exchange/read/waits.h"
#include "tests/fuzz/fuzz.h"

/* Waits name nodes that are issued before. */
static void check_waits(const struct ty_traced *job, uint32_t rank, const uint32_t *order)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_traced_waits waits;
    const uint32_t n = job->rank[rank].n;
    FUZZ_DEMAND(ty_traced_find_waits(&waits, &job->rank[rank], order, &arena) == 0);
    bool *issued = ty_arena_array(&arena, bool, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t node = waits.issue[i];
        FUZZ_DEMAND(node < n && !issued[node]);
        for (uint32_t k = waits.first[node]; k < waits.first[node + 1]; k++) {
            FUZZ_DEMAND(issued[waits.wait[k] & ~TY_TRACED_START]);
        }
        issued[node] = true;
    }
    ty_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ty_arena arena = {.head = NULL};
    struct ty_err err = TY_ERR_NONE;
    struct ty_traced job = {.name = "job.goal"};
    char *text = fuzz_text(data, size);
    int rc = ty_traced_parse_goal(&job, text, size, 1000, &arena, &err);
    fuzz_check(rc, &err);
    const struct ty_cluster cluster = {
        .nodes = 1,
        .gpus_per_node = job.n_ranks,
        .gpu = {.memory_bandwidth = 1e12},
        .nvlink = {.bandwidth = 1e11, .efficiency = 1, .pair_efficiency = 1, .p2p_efficiency = 1}};
    struct ty_traced_plan plan = {.job = &job, .cluster = &cluster, .arena = &arena, .err = &err};
    if (rc == 0 && job.n_ranks < 100) {
        rc = ty_traced_meet(&plan);
        rc = rc < 0 ? rc : ty_traced_order(&plan);
        fuzz_check(rc, &err);
        for (uint32_t r = 0; rc == 0 && r < job.n_ranks; r++) {
            check_waits(&job, r, plan.rank[r].order);
        }
    }
    free(text);
    ty_arena_release(&arena);
    return 0;
}
