/* cmd_export.c - `trainyard export`: runs a file, and writes what its ranks do. */
#include "sim/cli/cli.h"

/* What is wrong with the words alone. Prints and returns 2. */
static int check_words(const struct cli_options *o)
{
    if (o->n_operands < 2) {
        cli_say("trainyard export: FILE is missing\nusage: trainyard export chakra|goal FILE -o "
                "FOLDER [OPTION]...\n");
        return 2;
    }
    if (o->output == NULL) {
        cli_say("trainyard export: where the files go is missing; write -o FOLDER\n");
        return 2;
    }
    return 0;
}

static struct ty_export_options export_options(const struct cli_options *o)
{
    return (struct ty_export_options){
        .format = o->operand, .folder = o->output, .ranks = o->ranks, .unit = o->unit};
}

static int write_files(const struct cli_options *o, const struct ty_run *run, struct ty_err *err)
{
    struct ty_export_options options = export_options(o);
    options.stop = cli_writing();
    char *note = NULL;
    const int rc = ty_run_export(run, &options, &note, err);
    cli_written(rc);
    if (rc == 0 && !o->quiet) {
        cli_say("%s\n", note);
    }
    ty_text_free(note);
    return rc;
}

int cmd_export(const struct cli_options *o)
{
    struct ty_config *config = NULL;
    struct ty_run *run = NULL;
    if (check_words(o) != 0) {
        return 2;
    }
    struct ty_err *err = ty_err_new();
    const struct ty_export_options options = export_options(o);
    int rc = ty_run_export_check(&options, err);
    rc = rc < 0 ? rc : cli_load(o, o->second, &config, err);
    rc = rc < 0 ? rc : ty_run_new(&run, config, err);
    rc = rc < 0 ? rc : cli_execute(o, run, false, err);
    rc = rc < 0 ? rc : write_files(o, run, err);
    const int status = rc == 0 && !ty_run_fits(run) ? 1 : 0;
    ty_run_free(run);
    ty_config_free(config);
    return cli_end(o, rc, err, status);
}
