/* activation_bytes.c - bytes of activations that a micro-batch leaves in one layer, for the ledger.
 *
 * Every argument is a run file; the answer is one line for each. */
#include <stdio.h>

#include "model/block/memory.h"
#include "model/parallel/kinds.h"
#include "sim/config/config.h"
#include "sim/trainyard.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct ty_err *err = ty_err_new();
        struct ty_config *config = NULL;
        const int rc = ty_config_read(&config, &(struct ty_source){.path = argv[i]}, err);
        if (rc < 0) {
            fprintf(stderr, "%s\n", ty_err_text(err));
        } else {
            struct ty_units units;
            struct ty_tensors tensors;
            ty_units_make(&units, &config->arch, &config->layout);
            ty_memory_tensors(&units, &tensors);
            printf("%.0f\n", ty_tensors_sum(&tensors, TY_UNIT_LAYER, TY_LIFE_KEPT));
        }
        const int status = rc < 0 ? ty_err_exit_status(err) : 0;
        ty_config_free(config);
        ty_err_free(err);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}
