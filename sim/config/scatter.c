/* scatter.c - the kinds of runs, and how far off runs of each were. */
#include "sim/config/scatter.h"

#include <string.h>

#include "sim/config/config.h"

/* Parts of it, by their squares: of a run by itself, and of runs of a model. Within sweeps of
 * layouts seventeen sets scattered by 7 %, between sets by 5 %. */
#define EACH   0.8
#define SHARED 0.6

/* Members of the sets below: types of GEMMs (16 bit and more, or 8 and 4), models without and with
 * experts, frameworks, one node or more, tokens that a replica trains on in a step. */
enum {
    ANY = TY_VOLTA | TY_AMPERE | TY_HOPPER | TY_BLACKWELL,
    WIDE = 1,
    NARROW = 2,
    DENSE = 1,
    SPARSE = 2,
    NVIDIA = 1,
    PYTORCH = 2,
    SMALL = 1,
    LARGE = 2,
    FEW = 1,
    MANY = 2,
    BOTH = 3
};

static const struct kind {
    const char *name;
    unsigned gpu, bits, model, stack, size, tokens; /* sets of these */
    double scatter;                                 /* in all */
} kinds[] = {
    /* what nine of ten runs need, rounded up to half a percent; errors of guesses come on top */
    {"128 GPUs or more, 8,192 tokens a replica at most", ANY, BOTH, BOTH, BOTH, BOTH, FEW, 0.455},
    {"experts on Blackwell", TY_BLACKWELL, BOTH, SPARSE, BOTH, BOTH, BOTH, 0.14},
    {"experts", ANY, BOTH, SPARSE, BOTH, BOTH, BOTH, 0.115},
    /* guess: no run was published */
    {"V100 and older", TY_VOLTA, BOTH, DENSE, BOTH, BOTH, BOTH, 0.15},
    {"dense models in PyTorch on Hopper and newer", TY_HOPPER | TY_BLACKWELL, BOTH, DENSE, PYTORCH,
     BOTH, BOTH, 0.11},
    {"dense models in PyTorch on A100", TY_AMPERE, BOTH, DENSE, PYTORCH, BOTH, BOTH, 0.07},
    {"dense models in fp8 or NVFP4 on one node", ANY, NARROW, DENSE, NVIDIA, SMALL, BOTH, 0.055},
    {"dense models in fp8 or NVFP4", ANY, NARROW, DENSE, NVIDIA, LARGE, BOTH, 0.06},
    {"dense models on one node of A100", TY_AMPERE, WIDE, DENSE, NVIDIA, SMALL, BOTH, 0.125},
    {"dense models in 16 bit", ANY, BOTH, BOTH, BOTH, BOTH, BOTH, 0.09},
};

bool ty_framework_is_pytorch(const char *framework)
{
    static const char *const names[] = {"fsdp",
                                        "torchtitan",
                                        "nanotron",
                                        "ddp",
                                        "llama3",
                                        "deepspeed-zero3",
                                        "deepspeed-zero3-2021"};
    bool found = false;
    for (size_t i = 0; i < TY_COUNT(names); i++) {
        found = found || strcmp(framework, names[i]) == 0;
    }
    return found;
}

struct ty_traits ty_traits_of(const struct ty_config *config)
{
    const double *peak = config->cluster.gpu.peak;
    const int dtype = config->arch.dtype;
    return (struct ty_traits){
        .generation = peak[TY_DTYPE_NVFP4] > 0  ? TY_BLACKWELL
                      : peak[TY_DTYPE_FP8] > 0  ? TY_HOPPER
                      : peak[TY_DTYPE_BF16] > 0 ? TY_AMPERE
                                                : TY_VOLTA,
        .bits = dtype == TY_DTYPE_NVFP4 ? 4
                : dtype == TY_DTYPE_FP8 ? 8
                                        : 16,
        .experts = config->arch.experts > 0,
        .pytorch = ty_framework_is_pytorch(config->layout.framework.preset),
    };
}

/* So few on so many GPUs that what happens once a step, such as waiting for others, is not small
 * beside a pass: five runs, and three that were scored blind. Adapters have little to exchange. */
#define FEW_TOKENS 8192.0
#define MANY_GPUS  128.0

static unsigned tokens_of(const struct ty_config *config)
{
    const double tokens = (double)config->layout.global_batch * config->arch.sequence;
    const double gpus = (double)config->cluster.nodes * config->cluster.gpus_per_node;
    const bool few = gpus >= MANY_GPUS && tokens <= FEW_TOKENS * config->layout.data;
    return few && config->arch.lora.rank == 0 ? FEW : MANY;
}

struct ty_scatter ty_scatter_of(const struct ty_config *config)
{
    const struct ty_uncertainty_options *o = &config->uncertainty;
    const struct ty_traits is = ty_traits_of(config);
    const unsigned bits = is.bits < 16 ? NARROW : WIDE, model = is.experts ? SPARSE : DENSE,
                   stack = is.pytorch ? PYTORCH : NVIDIA,
                   size = config->cluster.nodes == 1 ? SMALL : LARGE, tokens = tokens_of(config);
    const struct kind *k = kinds;
    while ((k->gpu & is.generation) == 0 || (k->bits & bits) == 0 || (k->model & model) == 0 ||
           (k->stack & stack) == 0 || (k->size & size) == 0 || (k->tokens & tokens) == 0) {
        k++; /* the last one takes all */
    }
    const bool stated = o->scatter > 0 && o->shared_scatter > 0;
    return (struct ty_scatter){
        .kind = stated ? NULL : k->name,
        .each = o->scatter > 0 ? o->scatter : k->scatter * EACH,
        .shared = o->shared_scatter > 0 ? o->shared_scatter : k->scatter * SHARED,
    };
}
