/* import_lanes.c - when the GPU of a rank was busy, and with what.
 *
 * By the definitions of Holistic Trace Analysis (docs/source/features/temporal_breakdown.rst,
 * comm_comp_overlap.rst): idle while no kernel runs between its first and its last one; computing
 * while a kernel that is neither communication nor memory runs. Exposed is communication beside
 * which nothing computes. */
#include "sim/profile/import.h"

#define COMPUTE       (1u << TY_PROFILE_COMPUTE)
#define COMMUNICATION (1u << TY_PROFILE_COMMUNICATION)
#define MEMORY        (1u << TY_PROFILE_MEMORY)

/* How long any kernel of these classes runs; kernels are in order of start. */
static int64_t covered(const struct ty_import *im, uint32_t r, unsigned classes)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    int64_t sum = 0, to = INT64_MIN;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        if ((classes >> k->class & 1u) == 0 || !ty_import_kernel_chosen(im, r, k)) {
            continue;
        }
        const int64_t end = k->start_ns + k->dur_ns, from = k->start_ns > to ? k->start_ns : to;
        sum += end > from ? end - from : 0;
        to = end > to ? end : to;
    }
    return sum;
}

static int64_t span(const struct ty_import *im, uint32_t r)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        if (ty_import_kernel_chosen(im, r, k)) {
            first = k->start_ns < first ? k->start_ns : first;
            last = k->start_ns + k->dur_ns > last ? k->start_ns + k->dur_ns : last;
        }
    }
    return last > first ? last - first : 0;
}

static void add_sums(struct ty_import *im, uint32_t r)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        if (ty_import_kernel_chosen(im, r, k)) {
            im->n_kernels++;
            *(k->class == TY_PROFILE_COMPUTE         ? &im->compute_ns
              : k->class == TY_PROFILE_COMMUNICATION ? &im->communication_ns
                                                     : &im->memory_ns) += k->dur_ns;
        }
    }
}

int ty_import_measure_lanes(struct ty_import *im)
{
    im->lanes = ty_arena_array(&im->arena, struct ty_import_lanes, im->profile->n_ranks);
    if (im->lanes == NULL) {
        return ty_fail_memory(im->err);
    }
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        struct ty_import_lanes *l = &im->lanes[r];
        const int64_t both = covered(im, r, COMPUTE | COMMUNICATION);
        l->span = span(im, r);
        l->busy = covered(im, r, COMPUTE | COMMUNICATION | MEMORY);
        l->compute = covered(im, r, COMPUTE);
        l->communication = covered(im, r, COMMUNICATION);
        l->overlap = l->compute + l->communication - both;
        l->exposed = both - l->compute;
        l->memory_only = l->busy - both;
        l->idle = l->span - l->busy;
        add_sums(im, r);
    }
    return 0;
}
