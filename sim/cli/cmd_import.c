/* cmd_import.c - `trainyard import kineto`. */
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"

/* The summary goes to standard output, unless the table does. */
static int print(const struct cli_options *o, const char *report, const char *table,
                 struct ty_err *err)
{
    if (o->output != NULL && strcmp(o->output, "-") == 0) {
        fputs(report, stderr);
        fputs(table, stdout);
        return 0;
    }
    const int rc = o->output != NULL ? cli_write_text(table, o->output, err) : 0;
    if (rc == 0) {
        fputs(report, stdout);
    }
    return rc;
}

/* The table may not take the place of a profile. */
static int check_output(const struct cli_options *o)
{
    for (size_t i = 1; i < o->n_operands && o->output != NULL; i++) {
        if (cli_overwrites(o->output, o->operands[i])) {
            return cli_fail_overwrites(o, o->output);
        }
    }
    return 0;
}

int cmd_import(const struct cli_options *o)
{
    uint32_t gpus_per_node = 0;
    if (strcmp(o->operand, "kineto") != 0) {
        cli_say("trainyard import: unknown form (%s); write kineto FILE...\n", o->operand);
        return 2;
    }
    if (o->n_operands < 2) {
        cli_say("trainyard import: FILE is missing\nusage: trainyard import kineto FILE... "
                "[OPTION]...\n");
        return 2;
    }
    if (o->gpus_per_node != NULL &&
        cli_number(o, "--gpus-per-node", o->gpus_per_node, &gpus_per_node) != 0) {
        return 2;
    }
    if (check_output(o) != 0) {
        return 2;
    }
    struct ty_err *err = ty_err_new();
    const struct ty_import_options options = {.paths = o->operands + 1,
                                              .n_paths = o->n_operands - 1,
                                              .gpus_per_node = gpus_per_node,
                                              .steps = o->steps,
                                              .stats = o->stats};
    char *report = NULL, *table = NULL;
    int rc = cli_check_path(o->output, err);
    if (rc == 0) {
        rc = ty_import_kineto(&options, &report, &table, err);
    }
    if (rc == 0) {
        rc = print(o, report, table, err);
    }
    ty_text_free(report);
    ty_text_free(table);
    return cli_end(o, rc, err, 0);
}
