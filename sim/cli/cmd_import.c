/* cmd_import.c - `trainyard import`: jobs of other stacks, and profiles (kineto). */
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

/* What is written may not take the place of what is read. */
static int check_output(const struct cli_options *o)
{
    for (size_t i = 1; i < o->n_operands && o->output != NULL; i++) {
        if (cli_overwrites(o->output, o->operands[i])) {
            return cli_fail_overwrites(o, o->output);
        }
    }
    return 0;
}

/* Options that the other form has. */
static int refuse_options(const struct cli_options *o, bool job)
{
    const struct {
        const char *name;
        bool given, of_jobs;
    } options[] = {
        {"--gpus", o->gpus != NULL, true},
        {"--cluster", o->cluster != NULL, true},
        {"--env", o->env.n > 0, true},
        {"--run", o->run_of_log != NULL, true},
        {"--gpus-per-node", o->gpus_per_node != NULL, false},
        {"--steps", o->steps != NULL, false},
        {"--stats", o->stats != NULL, false},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].given && options[i].of_jobs != job) {
            cli_say("trainyard import: %s does nothing for %s; leave it out\n", options[i].name,
                    o->operand);
            return 2;
        }
    }
    return 0;
}

static int import_profiles(const struct cli_options *o)
{
    uint32_t gpus_per_node = 0;
    if (o->gpus_per_node != NULL &&
        cli_number(o, "--gpus-per-node", o->gpus_per_node, &gpus_per_node) != 0) {
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

/* Files of other stacks are read by a program in Python, which takes the place of this one. */
static int import_job(const struct cli_options *o)
{
    uint32_t gpus;
    if (o->gpus != NULL && cli_number(o, "--gpus", o->gpus, &gpus) != 0) {
        return 2;
    }
    struct ty_err *err = ty_err_new();
    const int rc = cli_check_path(o->output, err);
    if (rc < 0) {
        return cli_end(o, rc, err, 0);
    }
    ty_err_free(err);
    return cli_run_import(o->words);
}

int cmd_import(const struct cli_options *o)
{
    const bool job = strcmp(o->operand, "kineto") != 0;
    if (o->n_operands < 2) {
        cli_say("trainyard import: FILE is missing\nusage: trainyard import FORMAT FILE... "
                "[OPTION]...\n");
        return 2;
    }
    if (refuse_options(o, job) != 0 || check_output(o) != 0) {
        return 2;
    }
    return job ? import_job(o) : import_profiles(o);
}
