/* cmd_sweep.c - `trainyard sweep`. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

int cmd_sweep(const struct cli_options *o)
{
    struct ty_sweep_options s = {.path = o->operand, .rows = o->rows, .output = o->output,
                                 .resume = o->resume, .over = o->over.item, .n_over = o->over.n,
                                 .with = o->with.item, .n_with = o->with.n,
                                 .sets = o->set.item, .n_sets = o->set.n};
    if (o->jobs != NULL && cli_number("--jobs", o->jobs, &s.jobs) != 0) {
        return 2;
    }
    if (o->output != NULL && strcmp(o->output, "-") != 0 &&
        (cli_same_file(o->output, o->operand) ||
         (o->rows != NULL && cli_same_file(o->output, o->rows)))) {
        fprintf(stderr, "trainyard sweep: %s would overwrite what it reads\n", o->output);
        return 2;
    }
    struct ty_err *err = ty_err_new();
    if (ty_sweep_rows(&s, err) < 0) {
        return cli_fail(err);
    }
    ty_err_free(err);
    return 0;
}
