/* stage_bytes.c - what fills a GPU of a pipeline stage at its fullest moment, for the ledger.
 *
 * Arguments are a run file, the number of a stage and keys with values; the answer has a line for
 * each item of the bill: bytes, and what it is. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/run/bill.h"
#include "sim/trainyard.h"

int main(int argc, char **argv)
{
    struct ty_err *err = ty_err_new();
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    if (argc < 3) {
        return 2;
    }
    int rc = ty_config_read(&config,
                            &(struct ty_source){.path = argv[1],
                                                .sets = (const char *const *)argv + 3,
                                                .n_sets = (size_t)argc - 3},
                            err);
    if (rc == 0) {
        rc = ty_run_new(&run, config, err);
    }
    if (rc == 0) {
        struct ty_bill bill;
        ty_run_bill(run, (uint32_t)strtoul(argv[2], NULL, 10), &bill);
        for (uint32_t i = 0; i < bill.n; i++) {
            printf("%.0f %s\n", bill.item[i].bytes, bill.item[i].what);
        }
    } else {
        fprintf(stderr, "%s\n", ty_err_text(err));
    }
    const int status = rc < 0 ? ty_err_exit_status(err) : 0;
    ty_run_free(run);
    ty_config_free(config);
    ty_err_free(err);
    return status;
}
