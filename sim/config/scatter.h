/* scatter.h - how far step times of runs like this one were off: the scatter that no key explains,
 * by kind of run.
 *
 * The kinds differ in what decides the error of shipped presets on published runs: experts or not,
 * the generation of the GPU, the type of its GEMMs, who wrote the kernels, one node or many. Each
 * row of the table has the scatter with which bands of 90 % hold nine of ten of its measured runs;
 * tests/ledger/bands.py finds it again and leaves runs and whole sets out (accuracy.md). */
#ifndef TY_CONFIG_SCATTER_H
#define TY_CONFIG_SCATTER_H

#include "sim/config/uncertainty.h"

enum ty_generation {
    TY_VOLTA = 1,
    TY_AMPERE = 2,
    TY_HOPPER = 4,
    TY_BLACKWELL = 8
};

/* What decides the error of a run; what a GPU can do tells its generation. */
struct ty_traits {
    enum ty_generation generation;
    uint32_t bits; /* of GEMMs: 4, 8, or 16 and more */
    bool experts, pytorch;
};
struct ty_traits ty_traits_of(const struct ty_config *config);

/* Frameworks whose runs are off as PyTorch's own are, by gathers of parameters and kernels that are
 * not fused; not Megatron's and its kin. */
bool ty_framework_is_pytorch(const char *framework);

struct ty_scatter {
    const char *kind;    /* of runs, in words; NULL: the run file states both numbers */
    double each, shared; /* of a run by itself; of runs of one model on one machine */
};

/* Of a complete configuration: what it states, else of the first kind that it is one of. */
struct ty_scatter ty_scatter_of(const struct ty_config *config);

#endif
