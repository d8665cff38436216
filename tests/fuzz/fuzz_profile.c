/* fuzz_profile.c - any bytes as a PyTorch profile: what is accepted has kernels in order that refer
 * to what is there, and a summary. */
#include "sim/profile/read/profile.h"
#include "sim/trainyard.h"
#include "tests/fuzz/fuzz.h"

static void check_rank(const struct ty_profile *profile, const struct ty_profile_rank *rank)
{
    for (uint32_t i = 0; i < rank->n_kernels; i++) {
        const struct ty_profile_kernel *k = &rank->kernels[i];
        FUZZ_DEMAND(k->dur_ns >= 0 && (i == 0 || k->start_ns >= k[-1].start_ns));
        FUZZ_DEMAND(k->name < ty_profile_texts(profile));
        FUZZ_DEMAND(k->op == TY_PROFILE_NONE || k->op < rank->n_ops);
        FUZZ_DEMAND(k->comm == TY_PROFILE_NONE || k->comm < rank->n_comms);
        FUZZ_DEMAND(k->step == TY_PROFILE_NONE || k->step < rank->n_steps);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    struct ty_err err = TY_ERR_NONE;
    struct ty_profile *profile = NULL;
    const int rc = ty_profile_read(&profile, &path, 1, &err);
    fuzz_check(rc, &err);
    for (uint32_t r = 0; rc == 0 && r < profile->n_ranks; r++) {
        check_rank(profile, &profile->ranks[r]);
    }
    ty_profile_free(profile);
    return 0;
}
