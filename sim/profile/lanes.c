/* lanes.c - when the GPU of a rank was busy, and with what.
 *
 * By the definitions of Holistic Trace Analysis (docs/source/features/temporal_breakdown.rst,
 * comm_comp_overlap.rst): idle while no kernel runs between its first and its last one; computing
 * while a kernel that is neither communication nor memory runs. Exposed is communication beside
 * which nothing computes. */
#include "sim/profile/import.h"

#define CLASS(class) (1u << TY_PROFILE_##class)

/* How long any kernel of some classes runs; kernels come in order of start. */
struct cover {
    unsigned classes;
    int64_t sum, to;
};

static void add(struct cover *cover, const struct ty_profile_kernel *k)
{
    const int64_t end = k->start_ns + k->dur_ns;
    const int64_t from = k->start_ns > cover->to ? k->start_ns : cover->to;
    if ((cover->classes >> k->class & 1u) != 0) {
        cover->sum += end > from ? end - from : 0;
        cover->to = end > cover->to ? end : cover->to;
    }
}

static void measure(struct ty_import *im, uint32_t r, struct ty_import_lanes *l)
{
    const struct ty_profile_rank *rank = &im->profile->ranks[r];
    struct cover compute = {CLASS(COMPUTE), 0, INT64_MIN};
    struct cover communication = {CLASS(COMMUNICATION), 0, INT64_MIN};
    struct cover both = {CLASS(COMPUTE) | CLASS(COMMUNICATION), 0, INT64_MIN};
    struct cover any = {both.classes | CLASS(MEMORY), 0, INT64_MIN};
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        if (!ty_import_kernel_chosen(im, r, k)) {
            continue;
        }
        add(&compute, k);
        add(&communication, k);
        add(&both, k);
        add(&any, k);
        first = k->start_ns < first ? k->start_ns : first;
        im->n_kernels++;
        im->class_ns[k->class] += k->dur_ns;
    }
    *l = (struct ty_import_lanes){
        .span = any.to > first ? any.to - first : 0,
        .busy = any.sum,
        .compute = compute.sum,
        .communication = communication.sum,
        .overlap = compute.sum + communication.sum - both.sum,
        .exposed = both.sum - compute.sum,
        .memory_only = any.sum - both.sum,
    };
    l->idle = l->span - l->busy;
}

int ty_import_measure_lanes(struct ty_import *im)
{
    im->lanes = ty_arena_array(&im->arena, struct ty_import_lanes, im->profile->n_ranks);
    if (im->lanes == NULL) {
        return ty_fail_memory(im->err);
    }
    for (uint32_t r = 0; r < im->profile->n_ranks; r++) {
        measure(im, r, &im->lanes[r]);
    }
    return 0;
}
